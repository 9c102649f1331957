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
        struct launch_argument arguments[] = { { o.x, NULL, true }, { o.w, NULL, true }, { o.bias, NULL, false }, { NULL, compare ? o.y : NULL, false } };
        bench_launch(&b, p, arguments, 1, &launch);
        counts[0] += launch.code.count;
        counts[1] += launch.meter.places;
        text_free(&text);
        bench_close(&b);
        return launch.meter.cycles;
}

/* at most what streams written by hand take, and without halves a fifth more */
static void test_worked_figures(void **state)
{
        (void)state;
        int64_t sum = 0;
        for (size_t k = 0; k < sizeof worked / sizeof *worked; k++) {
                int64_t counts[2] = { 0 }, none[2] = { 0 };
                int64_t cycles = cycles_of(&worked[k].l, "overlap,flatten,select_instructions,tokens", true, counts);
                int64_t serial = cycles_of(&worked[k].l, "flatten,select_instructions,tokens", false, none);
                print_message("%-4s %7lld cycles, worked %7d, serial %7lld, %lld instructions, %lld micro-ops\n", worked[k].name, (long long)cycles,
                              worked[k].cycles, (long long)serial, (long long)counts[0], (long long)counts[1]);
                assert_true(cycles <= worked[k].cycles);
                assert_true(10 * serial >= 12 * cycles);
                sum += cycles * worked[k].times;
        }
        print_message("all 19: %lld, worked 7370107\n", (long long)sum);
        assert_true(sum <= 7370107);
}

/* ---- by chance ---- */

static int pick(uint64_t *random, int low, int high) { return low + (int)((random_next(random) >> 33) % (uint64_t)(high - low + 1)); }

/* tiles fit by a wide margin; sizes that a tile does not divide leave smaller ones at the edges */
static struct layer random_layer(uint64_t *random, int inputs, int size)
{
        struct layer l = { .size = size, .inputs = inputs, .outputs = pick(random, 1, 3), .kernel = pick(random, 1, 3), .stride = pick(random, 1, 2),
                           .shift = pick(random, 0, 12), .adds = pick(random, 0, 1), .reverse = pick(random, 0, 1) };
        l.pad = pick(random, 0, l.kernel / 2);
        if (l.kernel > size + 2 * l.pad)
                l.kernel = size;
        l.blocks = pick(random, 1, l.outputs);
        l.rows = pick(random, 1, least(4, layer_out(&l)));
        l.columns = pick(random, 1, 4);
        while (layer_out(&l) % l.columns)       /* widths are the same everywhere, so that sums lie alike */
                l.columns--;
        return l;
}

static void add_buffer(struct text *head, struct text *parameters, struct text *call, const char *name, const char *element, int count,
                       const char *space)
{
        text_add(head, "buffer @%s : %s[%d] %s", name, element, count, space);
        if (*space != 'w')
                text_add(head, " \"%s\"", name);
        text_add(head, "\n");
        text_add(parameters, "%s%%%s: %s %s[%d]", parameters->length ? ", " : "", name, *space == 'i' ? "in" : *space == 'o' ? "out" : "inout", element,
                 count);
        text_add(call, "%s@%s", call->length ? ", " : "", name);
}

/* a layer, or two of which the second reads what the first stored, in one stream */
static void random_program(struct text *t, uint64_t *random)
{
        struct text parameters = { 0 }, call = { 0 }, body = { 0 };
        struct layer one = random_layer(random, pick(random, 1, 2), pick(random, 3, 9));
        bool two = pick(random, 0, 1) && layer_out(&one) > 1;
        int out = layer_out(&one), y = one.outputs * out * out * 16;
        text_add(t, "loop 4\nprogram \"p\" source \"\"\n");
        add_buffer(t, &parameters, &call, "x", "i8", one.inputs * one.size * one.size * 16, "input");
        add_buffer(t, &parameters, &call, "w", "i8", one.outputs * one.inputs * one.kernel * one.kernel * 256, "input");
        add_buffer(t, &parameters, &call, "b", "i32", one.outputs * 16, "input");
        add_layer(&body, &one, 0, "%x", "%w", "%b", two ? "%z" : "%y");
        if (two) {
                struct layer next = random_layer(random, one.outputs, out);
                int last = layer_out(&next);
                add_buffer(t, &parameters, &call, "w1", "i8", next.outputs * next.inputs * next.kernel * next.kernel * 256, "input");
                add_buffer(t, &parameters, &call, "b1", "i32", next.outputs * 16, "input");
                add_buffer(t, &parameters, &call, "z", "i8", y, "workspace");
                add_layer(&body, &next, 1, "%z", "%w1", "%b1", "%y");
                y = next.outputs * last * last * 16;
        }
        add_buffer(t, &parameters, &call, "y", "i8", y, "output");
        text_add(t, "stream @s(%s) on vta {\n%s}\nmain {\ncall @s(%s)\n}\n", parameters.data, body.data, call.data);
        text_free(&parameters);
        text_free(&call);
        text_free(&body);
}

enum { STEPS = 200000000 };

static void interpret(struct bench *b, const struct loop_program *p, const void *const *inputs, void *y)
{
        struct interp *interp = interp_new(p, false, 0, &b->diag);
        if (!interp)
                fail_msg("%s", bench_said(b));
        assert_int_equal(interp_run(interp, inputs, &y, STEPS, NULL), INTERP_OK);
        interp_free(interp);
}

/* the program as it was, after each pass, and its instructions: all the same */
static void try_program(struct text *text, uint64_t *random)
{
        struct bench b;
        bench_open(&b);
        struct loop_program *p = bench_parse(&b, text);
        const struct loop_function *f = p->kernels;
        struct launch_argument arguments[8] = { { NULL, NULL, false } };
        const void *inputs[8] = { NULL };
        int count = 0, y = f->buffer_count - 1;
        for (int k = 0; k < f->buffer_count; k++) {
                size_t bytes = (size_t)f->buffers[k]->extent * (size_t)element_info[f->buffers[k]->element].bytes;
                unsigned char *data = arena_alloc(b.arena, bytes);
                for (size_t i = 0; i < bytes && f->buffers[k]->access == ACCESS_IN; i++)
                        data[i] = (unsigned char)(random_next(random) >> 40);
                if (f->buffers[k]->access == ACCESS_IN)
                        arguments[k].content = inputs[count++] = data;
        }
        size_t bytes = (size_t)f->buffers[y]->extent;
        unsigned char *expect = arena_alloc(b.arena, bytes), *got = arena_alloc(b.arena, bytes);
        interpret(&b, p, inputs, expect);
        const char *const passes_of[] = { "overlap", "flatten", "select_instructions", "tokens" };
        for (int k = (int)(random_next(random) >> 40) % 2; k < 4; k++) {        /* with contexts, or without */
                bench_passes(&b, p, passes_of[k]);
                p = bench_again(&b, p);
                memset(got, 0, bytes);
                interpret(&b, p, inputs, got);
                assert_memory_equal(expect, got, bytes);
        }
        arguments[y].expect = expect;
        struct launch launch;
        for (uint64_t seed = 0; seed < 3; seed++)
                bench_launch(&b, p, arguments, seed, &launch);
        bench_close(&b);
}

static int programs = 100;

static void test_random_programs(void **state)
{
        (void)state;
        uint64_t random = RANDOM_START;
        for (int k = 0; k < programs; k++) {
                struct text text = { 0 };
                random_program(&text, &random);
                try_program(&text, &random);
                text_free(&text);
        }
}

int main(int count, char **words)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_worked_figures),
                cmocka_unit_test(test_random_programs),
        };
        if (count > 1)
                programs = atoi(words[1]);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
