/* SPDX-License-Identifier: MIT */
/* Streams of machines that activate, by one of small memories: values that stay, those that do not fit, FIFOs, awaits; and what the verifier
 * finds. */
#include "stream_harness.h"

#include "ir/loop/stream.h"

enum { ROWS = 8, LANES = 16, LAYERS = 6 };

/* 28 rows of values: three of ROWS, and a half; a FIFO of three blocks */
static const struct machine small = {
        .name = "small", .doc = "for this test", .batch = 1, .block_in = LANES, .block_out = LANES,
        .memories = {
                { "ub", 28 * LANES, 1, LANES, 8, 0 },
                { "fifo", 3 * LANES * LANES, LANES, LANES, 8, 1, .fifo = true },
                { "acc", 16 * LANES * 4, 1, LANES, 32, -1 },
                { "par", 4 * LANES * 4, 1, LANES, 32, 0 },
        },
        .inputs = 0, .weights = 1, .sums = 2, .leaves = 0, .stored = 0, .lists = -1, .activates = true, .parameters = 3,
        .stages = { "host", "weights", "multiply", "activate" },
        .stage_count = 4, .compute = 2, .store = 0, .activate = 3, .awaits = true,
        .limits = { .counters = 2, .count = 64, .list = 1, .apart = 1, .rows = 28, .immediate_bits = 32, .shift = 31 },
        .cycles = { .beat_bytes = 1, .weight_bytes = 1 },
};
static const struct machine *const small_machines[] = { &small, NULL };

static void bench_open_small(struct bench *b)
{
        bench_open(b);
        loop_library_machines(b->library, small_machines);
}

/* ---- values ---- */

/* Layer n reads two values, multiplies each by a block, and makes value n + 1; rows of a tile: 2, 4 or 8. */
static void add_values_layer(struct text *t, int n, int tile)
{
        const int all = ROWS * LANES;
        text_add(t, "stream @l%d(%%a: in i8[%d], %%b: in i8[%d], %%w: in i8[%d], %%p: in i32[%d], %%y: out i8[%d]) on small {\n", n, all, all,
                 2 * LANES * LANES, 2 * LANES, all);
        text_add(t, "alloc %%x : i8[%d] in ub\ntransfer %%x[0] = %%a[0] rows 1 by %d step 0\nalloc %%z : i8[%d] in ub\n"
                    "transfer %%z[0] = %%b[0] rows 1 by %d step 0\nalloc %%o : i8[%d] in ub\n", all, ROWS, all, ROWS, all);
        text_add(t, "alloc %%q : i32[%d] in par\ntransfer %%q[0] = %%p[0] rows 1 by 2 step 0\n", 2 * LANES);
        text_add(t, "for %%r = 0 to %d step %d {\nalloc %%s : i32[%d] in acc\n", ROWS, tile, tile * LANES);
        for (int k = 0; k < 2; k++)
                text_add(t, "if true {\nalloc %%f%d : i8[%d] in fifo\ntransfer %%f%d[0] = %%w[%d] rows 1 by 1 step 0\n"
                            "for %%i%d = 0 to %d { product %%s[%%i%d * 16] %s %%%c[(%%r + %%i%d) * 16] * %%f%d[0] }\n}\n",
                         k, LANES * LANES, k, k * LANES * LANES, k, tile, k, k ? "+=" : "=", k ? 'z' : 'x', k, k);
        text_add(t, "for %%m = 0 to %d { activate %%s[%%m * 16] = %%s[%%m * 16] add %d shr 1 within -2147483648, 2147483647 }\n", tile, n * 100 - 200);
        text_add(t, "for %%n = 0 to %d { activate %%o[(%%r + %%n) * 16] = %%s[%%n * 16] by %%q[0] shr lanes within %d, 127 }\n}\n", tile, -n - 100);
        text_add(t, "transfer %%y[0] = %%o[0] rows 1 by %d step 0\n}\n", ROWS);
}

/* a chain of layers whose second operands are values of long ago; the last value, and perhaps another, go out */
static void write_values(struct text *t, uint64_t *random)
{
        const int all = ROWS * LANES;
        text_add(t, "loop 4\nprogram \"p\" source \"\"\nbuffer @v0 : i8[%d] input \"v0\"\nbuffer @w : i8[%d] input \"w\"\nbuffer @p : i32[%d] input \"p\"\n",
                 all, 2 * LANES * LANES, 2 * LANES);
        const int out = (int)((random_next(random) >> 20) % LAYERS);
        for (int n = 1; n <= LAYERS; n++)
                text_add(t, n == LAYERS || n == out ? "buffer @v%d : i8[%d] output \"v%d\"\n" : "buffer @v%d : i8[%d] workspace\n", n, all, n);
        for (int n = 0; n < LAYERS; n++)
                add_values_layer(t, n, 2 << (random_next(random) >> 20) % 3);
        text_add(t, "main {\n");
        for (int n = 0; n < LAYERS; n++)
                text_add(t, "call @l%d(@v%d, @v%d, @w, @p, @v%d)\n", n, n, (int)((random_next(random) >> 20) % (uint64_t)(n / 2 + 1)), n + 1);
        text_add(t, "}\n");
}

/* the outputs of a program, one behind the other */
static void interpret(struct bench *b, struct loop_program *p, const void *const *inputs, signed char *out)
{
        void *outputs[2] = { out, out + ROWS * LANES };
        struct interp *interp = interp_new(p, false, 0, &b->diag);
        if (!interp || interp_run(interp, (const void **)(uintptr_t)inputs, outputs, UINT64_C(1) << 32, NULL))
                fail_msg("%s", bench_said(b));
        interp_free(interp);
}

static void count_transfers(struct loop_stmt *s, void *count)
{
        *(int *)count += s->kind == STMT_TRANSFER && !loop_transfer_loads(s);
}

static void test_values(void **state)
{
        (void)state;
        int spilled = 0, kept = 0;
        for (uint64_t seed = 0; seed < 40; seed++) {
                uint64_t random = RANDOM_START + seed * 977;
                struct bench b;
                struct text text = { 0 };
                bench_open_small(&b);
                write_values(&text, &random);
                signed char v[ROWS * LANES], w[2 * LANES * LANES], one[2 * ROWS * LANES] = { 0 }, other[2 * ROWS * LANES] = { 0 };
                int32_t par[2 * LANES];
                for (size_t k = 0; k < sizeof v; k++)
                        v[k] = (signed char)(random_next(&random) >> 24);
                for (size_t k = 0; k < sizeof w; k++)
                        w[k] = (signed char)(random_next(&random) >> 24);
                for (int k = 0; k < 2 * LANES; k++)
                        par[k] = k < LANES ? (int32_t)(random_next(&random) >> 20) % 5000 : (int32_t)((random_next(&random) >> 20) % 9);
                const void *inputs[] = { v, w, par };
                interpret(&b, bench_parse(&b, &text), inputs, one);
                struct loop_program *p = bench_parse(&b, &text);
                int outputs = 0, stores = 0;
                bench_passes(&b, p, "join");
                for (struct loop_buffer *x = p->buffers; x; x = x->next)
                        outputs += x->space == SPACE_OUTPUT;
                loop_block_walk(p->kernels->body, count_transfers, NULL, &stores);
                assert_null(p->kernels->next);
                spilled += stores - outputs;
                kept += LAYERS - stores;
                interpret(&b, p, inputs, other);
                assert_memory_equal(one, other, sizeof one);
                bench_passes(&b, p, "overlap,flatten,select_instructions,tokens");
                p = bench_again(&b, p);
                memset(other, 0, sizeof other);
                interpret(&b, p, inputs, other);
                assert_memory_equal(one, other, sizeof one);
                text_free(&text);
                bench_close(&b);
        }
        if (kept < 100 || spilled < 10)
                fail_msg("%d kept, %d spilled", kept, spilled);
}

/* ---- hazards by hand ---- */

static const char stream[] =
        "loop 4\nprogram \"p\" source \"\"\nbuffer @x : i8[64] input \"x\"\nbuffer @w : i8[1024] input \"w\"\nbuffer @p : i32[32] input \"p\"\n"
        "buffer @y : i8[64] output \"y\"\n"
        "stream @s(%x: in i8[64], %w: in i8[1024], %p: in i32[32], %y: inout i8[64]) on small {\n"
        "alloc %ub : i8[448] in ub at 0\nalloc %fifo : i8[768] in fifo at 0\nalloc %acc : i32[256] in acc at 0\nalloc %par : i32[64] in par at 0\n"
        "transfer %ub[0] = %x[0] rows 1 by 2 step 0\n"
        "transfer %par[0] = %p[0] rows 1 by 2 step 0\n"
        "transfer %fifo[0] = %w[0] rows 1 by 1 step 0\n"
        "transfer %fifo[256] = %w[256] rows 1 by 1 step 0\n"
        "await host 1 in multiply\n"
        "product %acc[0] = %ub[0] * %fifo[0]\n"
        "product %acc[0] += %ub[16] * %fifo[256]\n"
        "await multiply 2 in activate\n"
        "await host 2 in activate\n"
        "activate %ub[32] = %acc[0] by %par[0] shr lanes within -128, 127\n"
        "await activate 1 in host\n"
        "transfer %y[0] = %ub[32] rows 1 by 1 step 0\n"
        "}\nmain {\ncall @s(@x, @w, @p, @y)\n}\n";

static const struct { const char *from, *to, *said; } mistakes[] = {
        { "loop 4", "loop 4", NULL },
        { "await host 1 in multiply\n", "", "a race with statement 1, of stage host" },
        { "await multiply 2 in activate\n", "", "a race with statement" },
        { "await multiply 2 in activate\n", "await multiply 1 in activate\n", "of stage multiply" },
        { "await host 2 in activate\n", "", "a race with statement 2, of stage host" },
        { "await activate 1 in host\n", "", "of stage activate" },
        { "await activate 1 in host\n", "await activate 2 in host\n", "statement 2 of activate, does not stand before it" },
        { "await activate 1 in host\n", "await host 1 in host\n", "a stage of small does not wait so" },
        { "await activate 1 in host\n", "await activate 0 in host\n", "a number of statements is out of range" },
        { "await activate 1 in host\n", "push activate to host\n", "small has no tokens" },
        { "* %fifo[256]\n", "* %fifo[0]\n", "1 elements are left in a FIFO" },
        { "* %fifo[0]\n", "* %fifo[256]\n", "element 1 of fifo is neither the one in use nor the next" },
        { "%fifo[256] = %w", "%fifo[512] = %w", "element 2 of fifo is not the next that has room" },
        { "%fifo[256] = %w[256] rows 1 by 1", "%fifo[256] = %w[256] rows 1 by 2", "element 1 of fifo is not the next" },
        { "transfer %y[0] = %ub[32] rows", "transfer %y[0] = %acc[0] rows", "acc is not in ub" },
        { "transfer %par[0] = %p[0] rows", "transfer %acc[0] = %p[0] rows", "nothing is loaded into acc" },
        { "product %acc[0] =", "reset %acc[0]\nproduct %acc[0] =", "small has no resets" },
        { "product %acc[0] =", "apply %acc[0] add 1\nproduct %acc[0] =", "a bad operation" },
        { "by %par[0] shr lanes", "shr lanes", "numbers of an activation that small has not" },
        { "shr lanes", "shr 32", "an amount is out of range" },
        { "within -128, 127", "within -129, 127", "numbers of an activation" },
        { "within -128, 127", "within 3, 2", "numbers of an activation" },
        { "within -128, 127", "within -128", "want ','" },
        { "by %par[0] shr", "by %par[48] shr", "3 to 4 of par, which has 4" },
        { "activate %ub[32]", "activate %ub[448]", "28 to 28 of ub, which has 28" },
        { "activate %ub[32]", "activate %par[32]", "par is not in ub" },
        { "activate %ub[32] = %acc[0]", "activate %ub[32] = %ub[0]", "ub is not in acc" },
};

static void test_mistakes(void **state)
{
        (void)state;
        for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
                struct bench b;
                struct text text = { 0 };
                const char *at = strstr(stream, mistakes[k].from), *said = mistakes[k].said;
                assert_non_null(at);
                bench_open_small(&b);
                text_add(&text, "%.*s%s%s", (int)(at - stream), stream, mistakes[k].to, at + strlen(mistakes[k].from));
                struct loop_program *p = loop_parse(b.arena, text.data, text.length, NULL, NULL, b.library, &b.diag);
                if (said ? p || !strstr(bench_said(&b), said) : !p)
                        fail_msg("want '%s', got '%s' for\n%s", said ? said : "", bench_said(&b), mistakes[k].to);
                if (p)
                        bench_again(&b, p);
                text_free(&text);
                bench_close(&b);
        }
}

/* what another machine has, and this one: VTA neither replaces, activates nor awaits */
static void test_others(void **state)
{
        (void)state;
        static const char head[] = "loop 4\nprogram \"p\" source \"\"\nbuffer @x : i8[64] input \"x\"\nstream @s(%x: in i8[64]) on vta {\n"
                                   "alloc %inp : i8[16] in inp\nalloc %wgt : i8[256] in wgt\nalloc %acc : i32[16] in acc\n";
        static const char *const rows[][2] = { { "product %acc[0] = %inp[0] * %wgt[0]", "products of vta add up" },
                                               { "activate %inp[0] = %acc[0] within 0, 1", "vta does not activate" },
                                               { "await load 1 in compute", "a stage of vta does not wait so" } };
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
                struct bench b;
                struct text text = { 0 };
                bench_open(&b);
                text_add(&text, "%s%s\n}\nmain {\ncall @s(@x)\n}\n", head, rows[k][0]);
                assert_null(loop_parse(b.arena, text.data, text.length, NULL, NULL, b.library, &b.diag));
                if (!strstr(bench_said(&b), rows[k][1]))
                        fail_msg("want '%s', got '%s'", rows[k][1], bench_said(&b));
                text_free(&text);
                bench_close(&b);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_values), cmocka_unit_test(test_mistakes), cmocka_unit_test(test_others) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
