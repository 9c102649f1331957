/* SPDX-License-Identifier: MIT */
/* The interpreter's edges: buffers and where they lie, subscripts out of range, steps, threads, floats as double. */
#include "test/unit/interp_harness.h"

/* ---- buffers ---- */

static const char memory[] =
        " workspace 64 align 16 live 48\n"
        "buffer @x : f32[8] input \"x\"\n"
        "buffer @c : f32[1000000] constant = splat 3.0\n"
        "buffer @part : f32[4] view @c + 999990\n"
        "buffer @flag : bool[4] constant = hex \"00010001\"\n"
        "buffer @t : f32[8] workspace offset 32\n"
        "buffer @same : f32[8] workspace offset 32\n"
        "buffer @half : f32[4] view @t + 4\n"
        "buffer @y : f32[9] output \"y\"\n"
        "kernel @twice(%x: in f32[8] class 1, %y: out f32[8] class 1) {\n"
        "  for %i = 0 to 8 {\n"
        "    store %y[%i] = %x[%i] * 2.0\n"
        "  }\n"
        "}\n"
        "kernel @mix(%t: in f32[4], %c: in f32[1000000], %p: in f32[4], %f: in bool[4], %y: out f32[9]) {\n"
        "  alloc %a : f32[4] stack\n"
        "  for %i = 0 to 4 {\n"
        "    store %a[3 - %i] = %t[%i]\n"
        "  }\n"
        "  for %i2 = 0 to 4 {\n"
        "    store %y[%i2] = %a[%i2] + select(%f[%i2], %p[%i2], 0.0)\n"
        "  }\n"
        "  store %y[4] = %c[999999]\n"
        "  var %s : f32 = 0.0\n"
        "  for %i3 = 0 to 1000 {\n"
        "    set %s = %s + %c[%i3 * 1000]\n"
        "  }\n"
        "  store %y[5] = %s\n"
        "  store %y[6] = sum_lanes(%c<4>[16])\n"
        "}\n"
        "main {\n  call @twice(@x, @t)\n  call @twice(@same, @same)\n  call @mix(@half, @c, @part, @flag, @y)\n}\n";

static void test_memory(void **state)
{
        (void)state;
        float x[8], y[9];
        fill(x, 8, 9);
        const void *inputs[] = { x };
        void *outputs[] = { y };
        assert_int_equal(run_text(memory, inputs, outputs), INTERP_OK);
        for (int i = 0; i < 4; i++)
                assert_true(y[i] == x[7 - i] * 4 + (i & 1 ? 3 : 0));
        assert_true(y[4] == 3 && y[5] == 3000 && y[6] == 12);
}

/* what nobody wrote is not zero: workspace and stack begin as garbage, in every run */
static const char fresh[] = "buffer @t : i32[4] workspace\n"
                            "buffer @y : i32[3] output \"y\"\n"
                            "kernel @k(%t: inout i32[4], %y: out i32[3]) {\n"
                            "  store %y[0] = %t[2]\n"
                            "  store %t[2] = 5\n"
                            "  for %i = 1 to 3 {\n"
                            "    alloc %a : i32[1] stack\n"
                            "    store %y[%i] = %a[0]\n"
                            "    store %a[0] = 7\n"
                            "  }\n"
                            "}\n"
                            "main {\n  call @k(@t, @y)\n}\n";

static void test_fresh_memory(void **state)
{
        (void)state;
        struct harness h;
        harness_open(&h);
        struct interp *interp = interp_new(harness_parse(&h, fresh), false, 0, &h.diag);
        int32_t y[3];
        void *outputs[] = { y };
        for (int run = 0; run < 2; run++) {
                assert_int_equal(interp_run(interp, NULL, outputs, 0, NULL), INTERP_OK);
                for (int k = 0; k < 3; k++)
                        assert_int_equal(y[k], (int32_t)0xa5a5a5a5);
        }
        interp_free(interp);
        harness_close(&h);
}

static void test_memory_budget(void **state)
{
        (void)state;
        struct harness h;
        harness_open(&h);
        struct loop_program *p = harness_parse(&h, "buffer @t : f64[1000] workspace\nmain {\n}\n");
        assert_null(interp_new(p, false, 7999, &h.diag));
        assert_int_equal(h.diag.code, EXIT_BUDGET);
        assert_int_equal(h.diag.errors, 1);
        interp_free(interp_new(p, false, 8064, &h.diag));
        assert_int_equal(h.diag.errors, 1);
        p = harness_parse(
                &h, "buffer @t : f64[1000000000000] workspace\nbuffer @u : f64[1000000000000] workspace\nmain {\n}\n");
        assert_null(interp_new(p, true, UINT64_C(1) << 40, &h.diag));
        int errors = h.diag.errors;
        p = harness_parse(&h, "buffer @c : f32[1000000000000] constant = splat 2.0\nmain {\n}\n");
        interp_free(interp_new(p, true, 64, &h.diag)); /* a splat stays one element */
        assert_int_equal(h.diag.errors, errors);
        harness_close(&h);
}

/* ---- subscripts out of range ---- */

static int run_kernel(const char *body, const float *x, float *y)
{
        struct text text = { 0 };
        text_add(&text,
                 "buffer @x : f32[16] input \"x\"\nbuffer @y : f32[16] output \"y\"\n"
                 "kernel @k(%%x: in f32[16], %%y: out f32[16], %%n: index) {\n%s}\n"
                 "main {\n  call @k(@x, @y; index(@x[0]))\n}\n",
                 body);
        const void *inputs[] = { x };
        void *outputs[] = { y };
        int code = run_text(text.data, inputs, outputs);
        text_free(&text);
        return code;
}

static void test_bounds(void **state)
{
        (void)state;
        static const struct {
                const char *body;
                int good, bad;
        } rows[] = {
                { "  store %y[0] = %x[%n]\n", 15, 16 },
                { "  store %y[0] = %x[%n]\n", 0, -1 },
                { "  store %y[%n] = 1.0\n", 15, 16 },
                { "  store %y[%n] = 1.0\n", 0, -1 },
                { "  store %y[%n * 1152921504606846976] = 1.0\n", 0, 1 },
                { "  for %i = 0 to 4 {\n    store %y[%i * %n] = %x[%i]\n  }\n", 5, 6 },
                { "  var %s : f32 = 0.0\n  for %i = 0 to %n {\n    set %s = %s + %x[%i] * %x[15 - %i]\n  }\n  store "
                  "%y[0] = %s\n",
                  16, 17 },
                { "  var %s : f32 = 0.0\n  for %i = 0 to %n {\n    for %j = 0 to %n {\n      set %s = %s + %x[%i * 3 + "
                  "%j]\n    }\n  }\n"
                  "  store %y[0] = %s\n",
                  4, 5 },
                { "  var %s : f32 = 0.0\n  for %i = %n to 8 {\n    set %s = %s + %x[%i]\n  }\n  store %y[0] = %s\n", 0,
                  -1 },
                { "  let %v : f32x8 = %x<8>[%n]\n  store %y[0] = %v\n", 8, 9 },
                { "  let %v : f32x8 = %x<8>[%n]\n  store %y[0] = %v\n", 0, -1 },
                { "  store %y[%n] = %x<8>[0]\n", 8, 9 },
                { "  store %y[ramp<4>(%n, 2)] = %x<4>[0]\n", 9, 10 },
                { "  store %y[0] = %x[ramp<4>(%n, -2)]\n", 6, 5 },
                { "  store %y[0] = %x<8>[%n, ramp<8>(%n, 1) < splat<8>(16)]\n", 14, -1 },
                { "  alloc %a : f32[5] stack\n  store %a[%n] = 1.0\n  store %y[0] = %a[%n]\n", 4, 5 },
        };
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
                for (int bad = 0; bad < 2; bad++) {
                        /* in memory of their exact size, for the sanitizers */
                        float *x = memory_alloc(64), *y = memory_alloc(64);
                        x[0] = (float)(bad ? rows[k].bad : rows[k].good);
                        int code = run_kernel(rows[k].body, x, y);
                        if (code != (bad ? INTERP_OUT_OF_RANGE : INTERP_OK))
                                fail_msg("code %d, n = %g in\n%s", code, (double)x[0], rows[k].body);
                        free(x);
                        free(y);
                }
}

/* the plan's own mistakes show: what is used beyond the workspace is out of range */
static void test_bad_plan(void **state)
{
        (void)state;
        struct harness h;
        harness_open(&h);
        struct loop_program *p =
                harness_parse(&h, " workspace 64 align 16 live 48\nbuffer @t : f32[8] workspace offset 32\n"
                                  "buffer @y : f32[8] output \"y\"\n"
                                  "kernel @k(%t: inout f32[8], %y: out f32[8]) {\n"
                                  "  for %i = 0 to 8 {\n    store %t[%i] = 1.0\n  }\n}\n"
                                  "main {\n  call @k(@t, @y)\n}\n");
        p->buffers->offset = 36;
        float y[8];
        void *outputs[] = { y };
        assert_int_equal(harness_run(&h, p, false, false, NULL, outputs), INTERP_OUT_OF_RANGE);
        harness_close(&h);
}

/* ---- steps ---- */

static int run_steps(const char *body, uint64_t max_steps, uint64_t *steps)
{
        struct harness h;
        harness_open(&h);
        struct text text = { 0 };
        text_add(&text,
                 "buffer @x : f32[4] input \"x\"\nbuffer @y : f32[4] output \"y\"\nkernel @k(%%x: in f32[4], %%y: "
                 "inout f32[4]) {\n%s}\n"
                 "main {\n  call @k(@x, @y)\n}\n",
                 body);
        struct interp *interp = interp_new(harness_parse(&h, text.data), false, 0, &h.diag);
        float x[4] = { 1, 2, 3, 4 }, y[4] = { 0 };
        const void *inputs[] = { x };
        void *outputs[] = { y };
        int code = interp_run(interp, inputs, outputs, max_steps, steps);
        interp_free(interp);
        text_free(&text);
        harness_close(&h);
        return code;
}

static void test_steps(void **state)
{
        (void)state;
        static const char *const endless[] = {
                "  while true {\n  }\n",
                "  for %i = 0 to 4611686018427387904 {\n  }\n",
                "  for %i2 = 0 to 4611686018427387904 {\n    store %y[%i2 & 3] = 1.0\n  }\n",
                "  var %s : f32 = 0.0\n  for %i = 0 to 4611686018427387904 {\n    set %s = %s + %x[0] * %x[1]\n  }\n  "
                "store %y[0] = %s\n",
                "  var %s : f32 = 0.0\n  for %i = 0 to 4294967296 {\n    for %j = 0 to 4294967296 {\n      set %s = %s "
                "+ %x[2]\n    }\n  }\n"
                "  store %y[0] = %s\n",
                "  for %i3 = 0 to 1000000000 {\n    alloc %a : f32[1000000] stack\n    store %a[3] = 1.0\n  }\n",
        };
        uint64_t steps;
        for (size_t k = 0; k < sizeof endless / sizeof *endless; k++) {
                assert_int_equal(run_steps(endless[k], 100000, &steps), INTERP_OUT_OF_STEPS);
                assert_true(steps <= 3 * 100000);
        }
        static const char counted[] = "  for %i = 0 to 1000 {\n    store %y[%i % 4] = %x[%i / 250] + exp(%x[0])\n  }\n";
        assert_int_equal(run_steps(counted, 0, &steps), INTERP_OK);
        assert_true(steps >= 10000 && steps <= 200000);
        uint64_t needed = steps;
        assert_int_equal(run_steps("  alloc %a : f32[1000000] stack\n  store %a[3] = 1.0\n", 0, &steps), INTERP_OK);
        assert_true(steps >= 50000 && steps <= 100000);
        assert_int_equal(run_steps("  var %s : f32 = 0.0\n  for %i = 0 to 1000 {\n    set %s = %s + %x[2]\n  }\n  "
                                   "store %y[0] = %s\n",
                                   0, &steps),
                         INTERP_OK);
        assert_true(steps >= 1000 && steps <= 2000);
        assert_int_equal(run_steps(counted, needed, &steps), INTERP_OK);
        assert_int_equal(run_steps(counted, needed / 2, &steps), INTERP_OUT_OF_STEPS);
}

/* ---- grids ---- */

static const char grid[] = "buffer @x : f32[128] input \"x\"\n"
                           "buffer @n : i32[1] input \"n\"\n"
                           "buffer @y : f32[128] output \"y\"\n"
                           "kernel @k(%x: in f32[128], %n: in i32[1], %y: inout f32[128]) {\n"
                           "  for %b = 0 to 2 gpu_block {\n"
                           "    alloc %s : f32[64] shared\n"
                           "    for %turn = 0 to 3 {\n"
                           "      for %w = 0 to 2 gpu_warp {\n"
                           "        let %at : index = %b * 64 + %w * 32\n"
                           "        let %own : f32x32 = %x<32>[%at]\n"
                           "        store %s[%w * 32] = %own * splat<32>(f32(%turn))\n"
                           "      }\n"
                           "      for %v = 0 to 2 gpu_warp {\n"
                           "        store %y[%b * 64 + %v * 32] = %s[ramp<32>(63 - %v * 32, -1)]\n"
                           "      }\n"
                           "    }\n"
                           "  }\n"
                           "  for %c = 0 to 128 gpu_block {\n"
                           "    for %u = 0 to 1 gpu_warp {\n"
                           "      alloc %one : f32[1] stack\n"
                           "      if %n[0] > 3 {\n"
                           "        fail INDEX\n"
                           "      }\n"
                           "      store %one[0] = %y[%c]\n"
                           "      store %y[%c] = %one[0] + 1\n"
                           "    }\n"
                           "  }\n"
                           "}\n"
                           "main {\n  call @k(@x, @n, @y)\n}\n";

static void test_grid(void **state)
{
        (void)state;
        float x[128], y[128];
        int32_t n = 3;
        fill(x, 128, 4);
        const void *inputs[] = { x, &n };
        void *outputs[] = { y };
        assert_int_equal(run_text(grid, inputs, outputs), INTERP_OK);
        for (int i = 0; i < 128; i++)
                assert_true(y[i] == x[i / 64 * 64 + 63 - i % 64] * 2 + 1);
        n = 4;
        assert_int_equal(run_text(grid, inputs, outputs), -3);
}

/* ---- floats as double ---- */

static const char doubles[] = " workspace 32 align 16 live 16\n"
                              "buffer @x : f32[4] input \"x\"\n"
                              "buffer @h : f16[4] input \"h\"\n"
                              "buffer @n : i32[4] input \"n\"\n"
                              "buffer @c : f32[2] constant = [0.1, 3.0]\n"
                              "buffer @s : f32[1000] constant = splat 0.1\n"
                              "buffer @t : f32[4] workspace offset 16\n"
                              "buffer @v : f32[2] view @t + 2\n"
                              "buffer @y : f32[12] output \"y\"\n"
                              "buffer @k : f16[4] output \"k\"\n"
                              "buffer @m : i32[4] output \"m\"\n"
                              "kernel @first(%x: in f32[4], %t: out f32[4]) {\n"
                              "  for %i = 0 to 4 {\n    store %t[%i] = %x[%i] + 1e-09\n  }\n"
                              "}\n"
                              "kernel @second(%x: in f32[4], %h: in f16[4], %n: in i32[4], %c: in f32[2], %s: in "
                              "f32[1000], %v: in f32[2], %y: out f32[12], "
                              "%k: out f16[4], %m: out i32[4]) {\n"
                              "  var %sum : f32 = 0.0\n"
                              "  for %i = 0 to 1000 {\n    set %sum = %sum + %s[%i]\n  }\n"
                              "  store %y[0] = %sum\n"
                              "  store %y[1] = %c[0] * %c[1]\n"
                              "  store %y[2] = %v[0]\n"
                              "  store %y[3] = exp(%x[1])\n"
                              "  store %y[4] = f32(f64(%x[0]) / 3.0)\n"
                              "  store %y[5] = bits_f32(bits_u32(%c[0] * %c[1]) + 1)\n"
                              "  store %y[6] = f32(f16(%c[0] * %c[1]))\n"
                              "  store %y[7] = f32(%n[0])\n"
                              "  store %y[8] = %x<4>[0]\n"
                              "  for %i2 = 0 to 4 {\n"
                              "    store %k[%i2] = f16(f32(%h[%i2]) / 3.0)\n"
                              "    store %m[%i2] = i32(%x[%i2] * 1000000.0)\n"
                              "  }\n"
                              "}\n"
                              "main {\n  call @first(@x, @t)\n  call @second(@x, @h, @n, @c, @s, @v, @y, @k, @m)\n}\n";

static void test_doubles(void **state)
{
        (void)state;
        float x[] = { 1, 1.5f, 0.1f, -3 };
        uint16_t half[] = { 0x3c00, 0x4000, 0xc200, 0x7c00 };
        int32_t n[] = { 16777217, 0, 0, 0 }, m[4];
        double y[12], k[4];
        const void *inputs[] = { x, half, n };
        void *outputs[] = { y, k, m };
        double tenth = (double)0.1f;
        struct harness h;
        harness_open(&h);
        struct loop_program *p = harness_parse(&h, doubles);
        for (int plain = 0; plain < 2; plain++) {
                memset(y, 0, sizeof y);
                assert_int_equal(harness_run(&h, p, plain, true, inputs, outputs), INTERP_OK);
                double sum = 0;
                for (int i = 0; i < 1000; i++)
                        sum += tenth;
                assert_true(y[0] == sum && y[1] == tenth * 3 && y[2] == tenth + (double)1e-9f);
                assert_true(fabs(y[3] - exp(1.5)) <= 1e-15 * exp(1.5));
                assert_true(y[4] == 1.0 / 3 && y[6] == tenth * 3 && y[7] == 16777217.0);
                assert_true(y[5] == (double)nextafterf((float)(tenth * 3), 1));
                for (int i = 0; i < 4; i++)
                        assert_true(y[8 + i] == (double)x[i]);
                assert_true(k[0] == 1.0 / 3 && k[1] == 2.0 / 3 && k[2] == -1 && k[3] == (double)INFINITY);
                assert_true(m[0] == 1000000 && m[1] == 1500000 && m[2] == 100000 && m[3] == -3000000);
        }
        harness_close(&h);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_memory),        cmocka_unit_test(test_fresh_memory),
                cmocka_unit_test(test_memory_budget), cmocka_unit_test(test_bounds),
                cmocka_unit_test(test_bad_plan),      cmocka_unit_test(test_steps),
                cmocka_unit_test(test_grid),       cmocka_unit_test(test_doubles),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
