#include "codegen/targets.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "codegen/cpu.h"

#define TARGET(id) extern const struct target target_##id;
#include "codegen/targets.def"

static const struct target *const targets[] = {
#define TARGET(id) &target_##id,
#include "codegen/targets.def"
};
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

bool target_runs_here(const struct target *t)
{
        const char *attribute = target_attribute(t);
        return attribute ? cpu_has(attribute) : t == targets[0];
}

/* the last in the table that this processor can run */
static const struct target *native(void)
{
        const struct target *best = targets[0];
        for (int i = 0; i < TARGET_COUNT; i++)
                if (target_runs_here(targets[i]))
                        best = targets[i];
        return best;
}

const struct target *target_find(const char *name)
{
        if (!strcmp(name, "native"))
                return native();
        for (int i = 0; i < TARGET_COUNT; i++)
                if (!strcmp(targets[i]->name, name))
                        return targets[i];
        return NULL;
}

const struct target *target_at(int number)
{
        return number < TARGET_COUNT ? targets[number] : NULL;
}

void target_help(void)
{
        for (int i = 0; i < TARGET_COUNT; i++)
                printf("  %-16s %s\n", targets[i]->name, targets[i]->doc);
        printf("  %-16s the last of these that this processor can run: %s\n", "native", native()->name);
}
