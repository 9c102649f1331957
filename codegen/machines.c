/* SPDX-License-Identifier: MIT */
#include "codegen/machines.h"

#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "codegen/unified/unified.h"
#include "codegen/vta/driver.h"

#define MACHINE(id, write, driver, codec, sized)                                                          \
        extern const struct machine machine_##id;                                                  \
        launch_writer write;
#include "codegen/machines.def"

const struct machine *const machines[] = {
#define MACHINE(id, write, driver, codec, sized) &machine_##id,
#include "codegen/machines.def"
        NULL
};

static launch_writer *const writers[] = {
#define MACHINE(id, write, driver, codec, sized) write,
#include "codegen/machines.def"
};

static const struct machine_driver *const drivers[] = {
#define MACHINE(id, write, driver, codec, sized) driver,
#include "codegen/machines.def"
};

static const struct program_codec *const codecs[] = {
#define MACHINE(id, write, driver, codec, sized) codec,
#include "codegen/machines.def"
};

const struct program_codec *machine_codec(int machine) { return codecs[machine]; }

const struct machine_driver *machine_driver(const struct machine *m)
{
        for (size_t k = 0; machines[k]; k++)
                if (!strcmp(machines[k]->name, m->name))        /* of any sizes */
                        return drivers[k];
        return NULL;
}

bool machine_launch_write(const struct loop_function *stream, const struct launch_argument *arguments, bool as_text, struct text *out,
                          struct diag *diag)
{
        for (size_t k = 0; machines[k]; k++)
                if (!strcmp(machines[k]->name, stream->machine->name))
                        return writers[k](stream, arguments, as_text, out, diag);
        diag_error(diag, EXIT_INTERNAL, "no programs can be written for machine %s", stream->machine->name);
        return false;
}

static machine_sizer *const sizers[] = {
#define MACHINE(id, write, driver, codec, sized) sized,
#include "codegen/machines.def"
};

const struct machine *machine_sized(struct arena *arena, const struct machine *machine, const char *sizes, struct diag *diag)
{
        for (size_t k = 0; machines[k]; k++)
                if (machines[k] == machine && sizers[k])
                        return sizers[k](arena, sizes, diag);
        diag_error(diag, EXIT_USAGE, "the sizes of machine %s cannot be changed", machine->name);
        return NULL;
}

const struct machine *const *machines_with(struct arena *arena, const struct machine *machine)
{
        const struct machine **all = arena_array(arena, sizeof machines / sizeof *machines, sizeof *all);
        for (size_t k = 0; machines[k]; k++)
                all[k] = strcmp(machines[k]->name, machine->name) ? machines[k] : machine;
        return all;
}
