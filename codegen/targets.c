#include "codegen/targets.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define TARGET(id) extern const struct target target_##id;
#include "codegen/targets.def"

static const struct target *const targets[] = {
#define TARGET(id) &target_##id,
#include "codegen/targets.def"
};
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

const struct target *target_find(const char *name)
{
        for (int i = 0; i < TARGET_COUNT; i++)
                if (!strcmp(targets[i]->name, name))
                        return targets[i];
        return NULL;
}

void target_help(void)
{
        for (int i = 0; i < TARGET_COUNT; i++)
                printf("  %-16s %s\n", targets[i]->name, targets[i]->doc);
}
