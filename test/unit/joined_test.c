/* SPDX-License-Identifier: MIT */
/* Random graphs of convolutions, or products, of one operand: joined with their outputs side by side
 * (passes/layout/joined_outputs.c), they compute what they did, bit by bit.
 *
 *     joined_test [COUNT [FIRST SEED]]                   COUNT graphs (default: what check has)
 *
 * All numbers are small whole ones, so sums are exact in any order. Some contractions of a graph differ in their
 * windows, steps or pads, or end in other operations; what they make is an output, or is convolved, pooled,
 * concatenated or negated. Every set that may be joined is worth it (--limit joined_percent). */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/targets.h"
#include "ir/interp/interp.h"
#include "passes/pass.h"

enum { DEFAULT_COUNT = 400, PARTS_MAX = 6, PORTS_MAX = 8 };

static const struct loop_library *library;

/* ---- a graph from a seed ---- */

struct graph {
        uint64_t stream;
        struct text text, ends;         /* operations; names of the outputs */
        int next;                       /* the number of the next value */
        int64_t images, channels, size[2];
        int spatial;                    /* 0: a product of `images` rows */
};

static int pick(struct graph *g, int count)
{
        g->stream = g->stream * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (int)((g->stream >> 33) % (unsigned)count);
}

static void add_numbers(struct graph *g, int64_t count)
{
        text_add(&g->text, " [");
        for (int64_t i = 0; i < count; i++)
                text_add(&g->text, "%s%d", i ? ", " : "", pick(g, 7) - 3);
        text_add(&g->text, "]");
}

static const char *type(struct arena *arena, const struct graph *g, int64_t outputs, const int64_t *size)
{
        return !g->spatial       ? arena_printf(arena, "<%" PRId64 " x %" PRId64 " x f32>", g->images, outputs)
               : g->spatial == 1 ? arena_printf(arena, "<%" PRId64 " x %" PRId64 " x %" PRId64 " x f32>", g->images, outputs, size[0])
                                 : arena_printf(arena, "<%" PRId64 " x %" PRId64 " x %" PRId64 " x %" PRId64 " x f32>", g->images, outputs, size[0],
                                                size[1]);
}

/* adds a contraction of value x, of so many channels and that size, which becomes that of the result */
static void add_contraction(struct graph *g, const char *x, int64_t channels, int64_t outputs, int window, int stride, int pad, int64_t *size,
                            struct arena *arena)
{
        int64_t taps = 1;
        if (!g->spatial) {
                text_add(&g->text, "  %%%d = dot(%s, <%" PRId64 " x %" PRId64 " x f32>", g->next++, x, channels, outputs);
                add_numbers(g, channels * outputs);
                text_add(&g->text, ") contract_a=[1] contract_b=[0] : %s\n", type(arena, g, outputs, size));
                return;
        }
        text_add(&g->text, "  %%%d = convolve(%s, <%" PRId64 " x %" PRId64, g->next++, x, outputs, channels);
        for (int d = 0; d < g->spatial; d++, taps *= window) {
                text_add(&g->text, " x %d", window);
                size[d] = (size[d] + 2 * pad - window) / stride + 1;
        }
        text_add(&g->text, " x f32>");
        add_numbers(g, outputs * channels * taps);
        text_add(&g->text, ") strides=[%d%s] pads=[%d, %d%s] : %s\n", stride, g->spatial > 1 ? stride > 1 ? ", 2" : ", 1" : "", pad, pad,
                 g->spatial > 1 ? pad ? ", 1, 1" : ", 0, 0" : "", type(arena, g, outputs, size));
}

/* adds operations behind the last value, some of which are those of all parts of the graph */
static void add_chain(struct graph *g, int64_t outputs, const int64_t *size, bool alike, struct arena *arena)
{
        const char *t = type(arena, g, outputs, size);
        if (alike || pick(g, 2)) {
                text_add(&g->text, "  %%%d = broadcast(<%" PRId64 " x f32>", g->next++, outputs);
                add_numbers(g, outputs);
                text_add(&g->text, ") dims=[1] : %s\n  %%%d = add(%%%d, %%%d) : %s\n", t, g->next, g->next - 2, g->next - 1, t);
                g->next++;
        }
        if (alike ? pick(g, 4) : pick(g, 2)) {
                text_add(&g->text, "  %%%d = max(%%%d, 0.0) : %s\n", g->next, g->next - 1, t);
                g->next++;
        }
}

/* lets something read the last value: it is an output, or a part of one */
static void add_reader(struct graph *g, int64_t outputs, int64_t *size, struct arena *arena)
{
        const int last = g->next - 1, way = pick(g, 5);
        const char *t = type(arena, g, outputs, size), *x = arena_printf(arena, "%%%d", last);
        if (way == 1) {
                text_add(&g->text, "  %%%d = neg(%s) : %s\n", g->next++, x, t);
        } else if (way == 2) {
                add_contraction(g, x, outputs, 5, 1, 1, 0, size, arena);
        } else if (way == 3) {
                const int pad = g->spatial && size[0] > 2 && (g->spatial < 2 || size[1] > 2);
                add_contraction(g, x, outputs, 17, pad ? 3 : 1, 1, pad, size, arena);
        } else if (way == 4) {
                text_add(&g->text, "  %%%d = concat(%s, %s) axis=1 : %s\n", g->next++, x, x, type(arena, g, 2 * outputs, size));
        }
        text_add(&g->ends, "%s%%%d", g->ends.length ? ", " : "", g->next - 1);
}

static const char *program_of(uint64_t seed, struct arena *arena)
{
        static const int counts[] = { 1, 3, 4, 5, 8, 12, 16, 20, 32, 33, 48 }, channels[] = { 1, 3, 8, 16, 19, 32 };
        struct graph g = { .stream = seed * UINT64_C(0x2545f4914f6cdd1d) + 11 };
        pick(&g, 2);
        g.spatial = pick(&g, 3);
        g.images = g.spatial ? 1 + pick(&g, 2) : 1 + pick(&g, 9);
        g.channels = channels[pick(&g, 6)];
        const bool alike = pick(&g, 3) > 0;
        const int window = g.spatial && pick(&g, 2) ? 3 : 1, stride = g.spatial ? 1 + (pick(&g, 4) == 0) : 1, pad = window == 3 && pick(&g, 2);
        for (int d = 0; d < 2; d++)
                g.size[d] = 3 + pick(&g, 7);
        const int count = 2 + pick(&g, PARTS_MAX - 1);
        for (int k = 0; k < count; k++) {
                int64_t size[] = { g.size[0], g.size[1] };
                const int64_t outputs = counts[pick(&g, 11)];
                const bool other = g.spatial && pick(&g, 5) == 0;
                add_contraction(&g, "%x", g.channels, outputs, other ? 1 : window, stride, other ? 0 : pad, size, arena);
                add_chain(&g, outputs, size, alike, arena);
                add_reader(&g, outputs, size, arena);
        }
        struct text names = { 0 };
        for (int k = 0; k < count; k++)
                text_add(&names, "%s\"o%d\"", k ? ", " : "", k);
        const char *program = arena_printf(arena, "dnn 3\nmodule \"m\"\nfunc @main(%%x \"x\": %s) -> (%s) {\n%s  yield(%s)\n}\n",
                                           type(arena, &g, g.channels, g.size), names.data, g.text.data, g.ends.data);
        text_free(&names);
        text_free(&g.text);
        text_free(&g.ends);
        return program;
}

/* ---- running ---- */

/* what the module computes: the outputs one after the other */
static const float *run(struct arena *arena, struct module *m, int64_t *count, struct diag *diag)
{
        struct lower_options plain = { 0 };
        const struct loop_program *p = lower_module(m, m->functions, library, &plain, diag);
        const void *inputs[PORTS_MAX];
        void *outputs[PORTS_MAX];
        int ins = 0, outs = 0;
        *count = 0;
        for (const struct loop_buffer *b = p ? p->buffers : NULL; b; b = b->next)
                *count += b->space == SPACE_OUTPUT ? b->extent : 0;
        float *all = arena_array(arena, (size_t)*count + 1, sizeof *all), *at = all;
        for (const struct loop_buffer *b = p ? p->buffers : NULL; b; b = b->next) {
                if (b->space == SPACE_OUTPUT) {
                        outputs[outs++] = at;
                        at += b->extent;
                } else if (b->space == SPACE_INPUT) {
                        float *x = arena_array(arena, (size_t)b->extent, sizeof *x);
                        for (int64_t i = 0; i < b->extent; i++)
                                x[i] = (float)((i * 7 + i / 5) % 9 - 4);
                        inputs[ins++] = x;
                }
        }
        struct interp *interp = p ? interp_new(p, false, 0, diag) : NULL;
        const int code = interp ? interp_run(interp, inputs, outputs, 0, NULL) : 1;
        interp_free(interp);
        return code ? NULL : all;
}

static int contractions(struct module *m)
{
        int count = 0;
        for (const struct op *op = region_walk(&m->functions->body, NULL); op; op = region_walk(&m->functions->body, op))
                count += (op_info[op->code].traits & TRAIT_CONTRACTION) != 0;
        return count;
}

/* Returns how many contractions fewer there are; negative: a failure. */
static int check(uint64_t seed)
{
        static const char *const targets[] = { "x86-64-v3", "x86-64-v4", "x86-64", "aarch64" };
        struct diag diag = { .subject = "graph" };
        struct arena *arena = arena_new();
        const char *program = program_of(seed, arena), *target = targets[seed % 4];
        struct module *before = tensor_parse(program, strlen(program), NULL, NULL, &diag),
                      *after = tensor_parse(program, strlen(program), NULL, NULL, &diag);
        struct pass_context context = { .diag = &diag, .target = target_find(target), .library = library, .limits = limits_preset };
        int64_t n = 0, m = 0;
        int fewer = -1;
        context.limits.joined_percent = 1000000;
        if (before && after && pass_layout(after->functions, &context) >= 0 && tensor_verify(after, &diag) &&
            pass_simplify(after->functions, &context) >= 0 && tensor_verify(after, &diag)) {
                const float *x = run(arena, before, &n, &diag), *y = run(arena, after, &m, &diag);
                if (x && y && n == m && !memcmp(x, y, (size_t)n * sizeof *x))
                        fewer = contractions(before) - contractions(after);
        }
        if (fewer < 0)
                fprintf(stderr, "seed %" PRIu64 " for %s: other results, or none\n%s", seed, target, program);
        if (before)
                module_free(before);
        if (after)
                module_free(after);
        arena_free(arena);
        return fewer;
}

int main(int argc, char **argv)
{
        const int count = argc > 1 ? atoi(argv[1]) : DEFAULT_COUNT;
        const uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
        struct diag diag = { .subject = "library" };
        int failures = 0, joined = 0;
        library = loop_library_new(arena_new(), &diag);
        for (int k = 0; k < count; k++) {
                const int fewer = check(first + (uint64_t)k);
                failures += fewer < 0;
                joined += fewer > 0;
        }
        printf("graphs: %d, with fewer contractions: %d, failures: %d\n", count, joined, failures);
        return failures || joined < count / 2;
}
