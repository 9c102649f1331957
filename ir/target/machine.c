/* SPDX-License-Identifier: MIT */
#include "ir/target/machine.h"

#include <string.h>

static int is_called(const char *name, const char *text, size_t length)
{
        return strlen(name) == length && !memcmp(name, text, length);
}

int machine_memory_find(const struct machine *m, const char *name, size_t length)
{
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                if (m->memories[k].name && is_called(m->memories[k].name, name, length))
                        return k;
        return -1;
}

int machine_stage_find(const struct machine *m, const char *name, size_t length)
{
        for (int k = 0; k < m->stage_count; k++)
                if (is_called(m->stages[k], name, length))
                        return k;
        return -1;
}
