/* SPDX-License-Identifier: MIT */
/* Random typed programs in Tensor IR, built in memory: one function, one to three inputs, a few dozen operations.
 *
 * A program is a seed and a mask of steps: step k draws from a stream of its own, so that a program without step k is much like
 * the program with it, and a failing one shrinks. Two pools:
 *
 *   whole   values are small whole numbers, kept so small that every sum and product is exact in its type: no legal order of
 *           passes may change one of them, whatever it does to rounding
 *   real    floats, continuous functions only, to be compared with the same program in double
 *
 * The steps are in random_steps.h. */
#ifndef TEST_RANDOM_PROGRAM_H
#define TEST_RANDOM_PROGRAM_H

#include "test/unit/random_steps.h"

enum { STEPS_MAX = 40, INPUTS_RANDOM = 3 };

static void random_inputs(struct generator *g)
{
        static const enum element whole[] = { E_F32, E_F32, E_F32, E_F32, E_F64, E_F16, E_BF16, E_I8, E_I32, E_I64, E_U8, E_U16, E_BOOL };
        static const dim_t extents[] = { 1, 2, 3, 4, 5, 7, 8, 14, 16, 17, 33 };
        g->element = g->real ? E_F32 : whole[pick(g, 12)];
        g->empties = chance(g, 10);
        for (int k = 0, count = 1 + pick(g, INPUTS_RANDOM); k < count; k++) {
                dim_t dims[RANK_MAX];
                int rank = 1 + pick(g, 4);
                bool image = chance(g, 50);
                int64_t elements = 1;
                rank = image ? 4 : rank;
                for (int i = 0; i < rank; i++) {
                        if (g->empties && chance(g, 20)) {
                                dims[i] = dim_of(elements = 0);
                                continue;
                        }
                        dims[i] = dim_of(image && i == 0 ? 1 + (chance(g, 20)) : dim_extent(extents[pick(g, chance(g, 50) ? 6 : 11)]));
                        if (elements * dim_extent(dims[i]) > ELEMENTS_MAX / 2)
                                dims[i] = dim_of(1);
                        elements *= dim_extent(dims[i]);
                }
                char name[16];
                snprintf(name, sizeof name, "in%d", k);
                enum element e = k && !g->real && chance(g, 20) ? whole[pick(g, 13)] : g->element;
                keep(g, function_add_input(g->f, name, type_of(g, e, rank, dims)), e == E_BOOL ? 1 : 4);
        }
}

/* steps [0, STEPS_MAX) whose bit in the mask is set; outputs: 1 to 3, or the last value alone */
static struct module *random_program(uint64_t seed, uint64_t mask, bool real, bool one_output, struct diag *diag)
{
        struct generator g = { .m = module_new("random"), .stream = seed, .real = real };
        g.f = function_new(g.m, "main");
        g.b = (struct builder){ .m = g.m, .region = &g.f->body, .diag = diag };
        random_inputs(&g);
        int steps = 3 + pick(&g, STEPS_MAX - 3);
        for (int k = 0; k < steps; k++) {
                g.stream = seed * 64 + (uint64_t)k + 1;
                random_next(&g.stream);
                if (mask >> k & 1)
                        random_step(&g);
        }
        g.stream = seed ^ UINT64_C(0x5555555555555555);
        struct value *outputs[3] = { g.values[g.count - 1].v };
        int count = 1;
        while (!one_output && count < 3 && chance(&g, 50))
                outputs[count++] = g.values[pick(&g, g.count)].v;
        static struct port ports[3] = {
                { .name = "out0" }, { .name = "out1" }, { .name = "out2" }
        };
        g.f->output_ports = ports;
        build_yield(&g.b, outputs, count);
        module_settle_constants(g.m);
        return g.m;
}

#endif
