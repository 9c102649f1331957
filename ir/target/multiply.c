/* SPDX-License-Identifier: MIT */
#include "ir/target/multiply.h"

#include "ir/target/target.h"

const struct multiply *multiply_at(const struct target *t, int number)
{
        for (; t; t = t->base)
                for (const struct multiply *m = t->multiplies; m && m->name; m++)
                        if (!number--)
                                return m;
        return NULL;
}

const struct multiply *multiply_find(const struct target *t, enum element x, enum element w,
                                     bool tile, int lanes, int channels, int limit)
{
        const struct multiply *m;
        for (int i = 0; (m = multiply_at(t, i)); i++)
                if (m->x.memory == x && m->w.memory == w && (m->registers > 0) == tile &&
                    (!lanes || m->outputs == lanes) && (!channels || m->channels == channels) &&
                    multiply_is_right(m, limit) &&
                    (tile || m->streams || m->outputs == target_lanes(t, m->sum)))
                        return m;
        return NULL;
}

const struct multiply *multiply_find_rows(const struct target *t, enum element x, enum element w,
                                          int lanes, int channels)
{
        const struct multiply *m;
        for (int i = 0; (m = multiply_at(t, i)); i++)
                if (m->positions == 1 && multiply_in_warps(m) && m->x.memory == x &&
                    m->w.memory == w && m->outputs == lanes && m->channels == channels)
                        return m;
        return NULL;
}

int multiply_registers(const struct target *t)
{
        const struct multiply *m;
        for (int i = 0; (m = multiply_at(t, i)); i++)
                if (m->registers)
                        return m->registers;
        return 0;
}
