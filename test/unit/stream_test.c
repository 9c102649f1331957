/* SPDX-License-Identifier: MIT */
/* Streams: passes make instructions of loops that compute the same, in any order of the stages; and good ones. */
#include "stream_harness.h"

/* ---- ResNet-18's convolutions, by plain loops ---- */

static const struct worked { const char *name; struct layer l; int cycles, times; } worked[] = {
        { "C2", { 56, 4, 4, 3, 1, 1, 4, 14, 14, 8, true, false }, 532662, 4 },
        { "C3", { 56, 4, 8, 3, 2, 1, 8, 7, 14, 8, true, false }, 270035, 1 },
        { "C4", { 56, 4, 8, 1, 2, 0, 8, 7, 14, 8, true, false }, 71457, 1 },
        { "C5", { 28, 8, 8, 3, 1, 1, 4, 7, 28, 8, true, false }, 494137, 3 },
        { "C6", { 28, 8, 16, 3, 2, 1, 8, 7, 14, 8, true, false }, 250713, 1 },
        { "C7", { 28, 8, 16, 1, 2, 0, 8, 7, 14, 8, true, false }, 54207, 1 },
        { "C8", { 14, 16, 16, 3, 1, 1, 4, 14, 14, 8, true, false }, 475061, 3 },
        { "C9", { 14, 16, 32, 3, 2, 1, 8, 7, 7, 8, true, false }, 241639, 1 },
        { "C10", { 14, 16, 32, 1, 2, 0, 16, 7, 7, 8, true, false }, 43267, 1 },
        { "C11", { 7, 32, 32, 3, 1, 1, 8, 7, 7, 8, true, false }, 466849, 3 },
};

struct operands { int8_t *x, *w, *y; int32_t *bias; int x_count, w_count, b_count, y_count; };

static struct operands operands_of(struct arena *arena, const struct layer *l, uint64_t *random)
{
        int out = layer_out(l), taps = l->kernel * l->kernel;
        struct operands o = { .x_count = l->inputs * l->size * l->size * 16, .w_count = l->outputs * l->inputs * taps * 256,
                              .b_count = l->outputs * 16, .y_count = l->outputs * out * out * 16 };
        o.x = arena_alloc(arena, (size_t)o.x_count);
        o.w = arena_alloc(arena, (size_t)o.w_count);
        o.y = arena_alloc(arena, (size_t)o.y_count);
        o.bias = arena_array(arena, (size_t)o.b_count, sizeof *o.bias);
        for (int k = 0; k < o.x_count; k++)
                o.x[k] = (int8_t)(random_next(random) >> 40);
        for (int k = 0; k < o.w_count; k++)
                o.w[k] = (int8_t)(random_next(random) >> 40);
        for (int k = 0; k < o.b_count; k++)
                o.bias[k] = (int8_t)(random_next(random) >> 40);
        return o;
}

/* one result, by definition */
static int8_t result_of(const struct layer *l, const struct operands *o, int block, int y, int x, int lane)
{
        int32_t sum = 0;
        int taps = l->kernel * l->kernel;
        for (int i = 0; i < l->inputs; i++)
                for (int u = 0; u < taps; u++) {
                        int row = y * l->stride - l->pad + u / l->kernel, column = x * l->stride - l->pad + u % l->kernel;
                        if (row < 0 || column < 0 || row >= l->size || column >= l->size)
                                continue;
                        const int8_t *a = o->x + ((i * l->size + row) * l->size + column) * 16;
                        const int8_t *w = o->w + ((block * l->inputs + i) * taps + u) * 256 + lane * 16;
                        for (int k = 0; k < 16; k++)
                                sum += a[k] * w[k];
                }
        sum = (sum >> l->shift) + (l->adds ? o->bias[block * 16 + lane] : 0);
        return (int8_t)(sum < 0 ? 0 : sum > 127 ? 127 : sum);
}

static void compute(const struct layer *l, struct operands *o)
{
        int out = layer_out(l);
        for (int k = 0; k < o->y_count; k++)
                o->y[k] = result_of(l, o, k / 16 / out / out, k / 16 / out % out, k / 16 % out, k % 16);
}

static void add_program(struct text *t, const struct layer *l)
{
        struct operands n = { 0 };
        int out = layer_out(l), taps = l->kernel * l->kernel;
        n.x_count = l->inputs * l->size * l->size * 16;
        n.w_count = l->outputs * l->inputs * taps * 256;
        n.y_count = l->outputs * out * out * 16;
        text_add(t, "loop 4\nprogram \"p\" source \"\"\nbuffer @x : i8[%d] input \"x\"\nbuffer @w : i8[%d] input \"w\"\nbuffer @b : i32[%d] input \"b\"\n"
                    "buffer @y : i8[%d] output \"y\"\n", n.x_count, n.w_count, l->outputs * 16, n.y_count);
        text_add(t, "stream @layer(%%x: in i8[%d], %%w: in i8[%d], %%bias: in i32[%d], %%y: out i8[%d]) on vta {\n", n.x_count, n.w_count, l->outputs * 16,
                 n.y_count);
        add_layer(t, l, 0, "%x", "%w", "%bias", "%y");
        text_add(t, "}\nmain {\ncall @layer(@x, @w, @b, @y)\n}\n");
}

static int64_t cycles_of(const struct layer *l, const char *names, bool compare, int64_t counts[2])
{
        struct bench b;
        struct text text = { 0 };
        struct launch launch;
        uint64_t random = RANDOM_START;
        bench_open(&b);
        add_program(&text, l);
        struct loop_program *p = bench_parse(&b, &text);
        struct operands o = operands_of(b.arena, l, &random);
        if (compare)
                compute(l, &o);
        bench_passes(&b, p, names);
        struct vta_argument arguments[] = { { o.x, NULL }, { o.w, NULL }, { o.bias, NULL }, { NULL, compare ? o.y : NULL } };
        bench_launch(&b, p, arguments, 1, &launch);
        counts[0] += launch.code.count;
        counts[1] += launch.code.micro_op_most;
        text_free(&text);
        bench_close(&b);
        return launch.cycles.cycles;
}

/* at most what streams written by hand take, and without halves a fifth more */
static void test_worked_figures(void **state)
{
        (void)state;
        int64_t sum = 0;
        for (size_t k = 0; k < sizeof worked / sizeof *worked; k++) {
                int64_t counts[2] = { 0 }, none[2] = { 0 };
                int64_t cycles = cycles_of(&worked[k].l, "overlap,flatten,micro,tokens", true, counts);
                int64_t serial = cycles_of(&worked[k].l, "flatten,micro,tokens", false, none);
                print_message("%-4s %7lld cycles, worked %7d, serial %7lld, %lld instructions, %lld micro-ops\n", worked[k].name, (long long)cycles,
                              worked[k].cycles, (long long)serial, (long long)counts[0], (long long)counts[1]);
                assert_true(cycles <= worked[k].cycles);
                assert_true(10 * serial >= 12 * cycles);
                sum += cycles * worked[k].times;
        }
        print_message("all 19: %lld, worked 7370107\n", (long long)sum);
        assert_true(sum <= 7370107);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_worked_figures),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
