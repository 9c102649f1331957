/* SPDX-License-Identifier: MIT */
#include "codegen/machines/machines.h"

#include <stddef.h>
#include <string.h>

#define MACHINE(id, instructions, driver)                                                         \
        extern const struct machine machine_##id;                                                 \
        extern const struct instruction_set instructions;
#include "codegen/machines/machines.def"

const struct machine *const machines[] = {
#define MACHINE(id, instructions, driver) &machine_##id,
#include "codegen/machines/machines.def"
        NULL
};

static const struct {
        const struct instruction_set *set;
        const struct machine_driver *driver;
} rows[] = {
#define MACHINE(id, instructions, driver) { &instructions, driver },
#include "codegen/machines/machines.def"
};

/* Returns the row of a machine of any sizes; -1: the table has none of its name. */
static int row_of(const struct machine *m)
{
        for (int k = 0; machines[k]; k++)
                if (!strcmp(machines[k]->name, m->name))
                        return k;
        return -1;
}

const struct instruction_set *machine_instructions(const struct machine *m)
{
        const int row = row_of(m);
        return row < 0 ? NULL : rows[row].set;
}

const struct machine_driver *machine_driver(const struct machine *m)
{
        const int row = row_of(m);
        return row < 0 ? NULL : rows[row].driver;
}

const struct machine *machine_sized(struct arena *arena, const struct machine *machine,
                                    const char *sizes, struct diag *diag)
{
        const struct instruction_set *set = machine_instructions(machine);
        struct isa isa;
        if (!set || !set->resize || set->machine != machine) {
                diag_error(diag, EXIT_USAGE, "the sizes of machine %s cannot be changed",
                           machine->name);
                return NULL;
        }
        if (!isa_begin_sizes(&isa, set, sizes, diag))
                return NULL;
        struct machine *m = arena_copy(arena, &isa.machine, sizeof isa.machine);
        if (m->lists >= 0 && isa.depth[m->lists] < m->limits.list)
                m->limits.list = isa.depth[m->lists];
        return m;
}

const struct machine *const *machines_with(struct arena *arena, const struct machine *machine)
{
        const struct machine **all =
                arena_array(arena, sizeof machines / sizeof *machines, sizeof *all);
        for (size_t k = 0; machines[k]; k++)
                all[k] = strcmp(machines[k]->name, machine->name) ? machines[k] : machine;
        return all;
}
