/* The interpreter on whole programs: loops, vectors, buffers, budgets, and floats that live as double. */
#include "test/unit/interp_harness.h"

#include <inttypes.h>

static int run_text(const char *text, const void *const *inputs, void *const *outputs)
{
        struct harness h;
        harness_open(&h);
        struct loop_program *p = harness_parse(&h, text);
        int code = harness_run(&h, p, false, false, inputs, outputs);
        assert_int_equal(code, harness_run(&h, p, true, false, inputs, outputs));
        harness_close(&h);
        return code;
}

static float noise(int i) { return (float)((i * 7919) % 1009) / 251.0f - 2.0f; }

static void fill(float *x, int count, int seed)
{
        for (int i = 0; i < count; i++)
                x[i] = noise(i + seed) * (i % 5 ? 1.0f : 1.0e-20f);
}

/* ---- loops against C, bit for bit ---- */

static const char convolution[] =
        "buffer @x : f32[972] input \"x\"\n"
        "buffer @w : f32[375] input \"w\"\n"
        "buffer @y : f32[243] output \"y\"\n"
        "kernel @conv(%x: in f32[972], %w: in f32[375], %y: out f32[243]) {\n"
        "  for %m = 0 to 3 {\n"
        "    for %i = 0 to 9 {\n"
        "      for %j = 0 to 9 {\n"
        "        var %sum : f32 = 0.125\n"
        "        for %c = 0 to 3 {\n"
        "          let %first : index = %c * 324\n"
        "          for %a = max(0, 2 - 2 * %i) to min(5, 20 - 2 * %i) {\n"
        "            let %row : index = %first + (2 * %i + %a - 2) * 18\n"
        "            for %b = max(0, 2 - 2 * %j) to min(5, 20 - 2 * %j) {\n"
        "              set %sum = %sum + %x[%row + 2 * %j + %b - 2] * %w[%m * 125 + %c * 25 + %a * 5 + %b]\n"
        "            }\n"
        "          }\n"
        "        }\n"
        "        store %y[%m * 81 + %i * 9 + %j] = %sum\n"
        "      }\n"
        "    }\n"
        "  }\n"
        "}\n"
        "main {\n  call @conv(@x, @w, @y)\n}\n";

static void test_convolution(void **state)
{
        (void)state;
        static float x[972], w[375], y[243], want[243];
        fill(x, 972, 1);
        fill(w, 375, 2);
        for (int m = 0; m < 3; m++)
                for (int i = 0; i < 9; i++)
                        for (int j = 0; j < 9; j++) {
                                volatile float sum = 0.125f;
                                for (int c = 0; c < 3; c++)
                                        for (int a = 0; a < 5; a++)
                                                for (int b = 0; b < 5; b++) {
                                                        int p = 2 * i + a - 2, q = 2 * j + b - 2;
                                                        if (p < 0 || q < 0 || p >= 18 || q >= 18)
                                                                continue;
                                                        volatile float product = x[c * 324 + p * 18 + q] * w[m * 125 + c * 25 + a * 5 + b];
                                                        sum = sum + product;
                                                }
                                want[m * 81 + i * 9 + j] = sum;
                        }
        const void *inputs[] = { x, w };
        void *outputs[] = { y };
        assert_int_equal(run_text(convolution, inputs, outputs), INTERP_OK);
        assert_memory_equal(y, want, sizeof y);
}

/* strides, steps, a downward walk, sums and maxima, an accumulation that is not a nest */
static const char reductions[] =
        "buffer @x : f32[600] input \"x\"\n"
        "buffer @u : u8[600] input \"u\"\n"
        "buffer @s : i8[600] input \"s\"\n"
        "buffer @y : f32[5] output \"y\"\n"
        "buffer @z : i32[3] output \"z\"\n"
        "kernel @k(%x: in f32[600], %u: in u8[600], %s: in i8[600], %y: out f32[5], %z: out i32[3]) {\n"
        "  var %a : f32 = 0.0\n"
        "  for %i = 0 to 20 step 3 {\n"
        "    for %j = 1 to 30 step 7 {\n"
        "      set %a = %x[599 - %i * 30 - %j] + %a\n"
        "    }\n"
        "  }\n"
        "  store %y[0] = %a\n"
        "  var %b : f32 = -inf\n"
        "  for %i2 = 0 to 600 {\n"
        "    set %b = max(%b, %x[%i2])\n"
        "  }\n"
        "  store %y[1] = %b\n"
        "  var %c : f32 = 0.0\n"
        "  for %i3 = 0 to 600 {\n"
        "    set %c = %c + %x[%i3 / 7] * %x[%i3 % 11]\n"
        "  }\n"
        "  store %y[2] = %c\n"
        "  var %d : f32 = 1.0\n"
        "  for %i4 = 5 to 5 {\n"
        "    set %d = %d + %x[%i4 - 2000] * %x[%i4]\n"
        "  }\n"
        "  store %y[3] = %d\n"
        "  var %e : f32 = 0.0\n"
        "  for %i5 = 0 to 40 {\n"
        "    for %j2 = %i5 to 15 {\n"
        "      set %e = %e + %x[%j2 * 40 + %i5]\n"
        "    }\n"
        "  }\n"
        "  store %y[4] = %e\n"
        "  var %f : i32 = 7\n"
        "  var %g : i32 = 0\n"
        "  var %h : i32 = 0\n"
        "  for %i6 = 0 to 600 {\n"
        "    set %f = %f + i32(%u[%i6]) * i32(%s[599 - %i6])\n"
        "  }\n"
        "  for %i7 = 0 to 600 {\n"
        "    set %g = %g + i32(%s[%i7]) * i32(%s[%i7])\n"
        "  }\n"
        "  for %i8 = 0 to 600 {\n"
        "    set %h = %h + (i32(%u[%i8]) - 128) * i32(%s[%i8])\n"
        "  }\n"
        "  store %z[0] = %f\n"
        "  store %z[1] = %g\n"
        "  store %z[2] = %h\n"
        "}\n"
        "main {\n  call @k(@x, @u, @s, @y, @z)\n}\n";

static void test_reductions(void **state)
{
        (void)state;
        static float x[600];
        static uint8_t u[600];
        static int8_t s[600];
        volatile float y[5] = { 0, -INFINITY, 0, 1, 0 };
        int32_t z[3] = { 7, 0, 0 };
        fill(x, 600, 3);
        for (int i = 0; i < 600; i++) {
                u[i] = (uint8_t)(i * 37);
                s[i] = (int8_t)(i * 91 - 128);
        }
        for (int i = 0; i < 20; i += 3)
                for (int j = 1; j < 30; j += 7)
                        y[0] = y[0] + x[599 - i * 30 - j];
        for (int i = 0; i < 600; i++) {
                y[1] = x[i] > y[1] ? x[i] : y[1];
                volatile float product = x[i / 7] * x[i % 11];
                y[2] = y[2] + product;
                z[0] += u[i] * s[599 - i];
                z[1] += s[i] * s[i];
                z[2] += (u[i] - 128) * s[i];
        }
        for (int i = 0; i < 40; i++)
                for (int j = i; j < 15; j++)
                        y[4] = y[4] + x[j * 40 + i];
        float got[5];
        int32_t got_z[3];
        const void *inputs[] = { x, u, s };
        void *outputs[] = { got, got_z };
        assert_int_equal(run_text(reductions, inputs, outputs), INTERP_OK);
        for (int k = 0; k < 5; k++)
                assert_true(got[k] == y[k]);
        assert_memory_equal(got_z, z, sizeof z);
}

/* ---- control flow ---- */

static const char control[] =
        "buffer @n : i64[4] input \"n\"\n"
        "buffer @y : i64[8] output \"y\"\n"
        "kernel @collatz(%n: in i64[4], %y: out i64[8], %at: index, %shift: index) {\n"
        "  var %x : i64 = %n[%at]\n"
        "  var %steps : i64 = 0\n"
        "  while %x != 1 & %x > 0 {\n"
        "    if %x % 2 == 0 {\n"
        "      set %x = %x / 2\n"
        "    } else {\n"
        "      let %old : i64 = %x\n"
        "      set %x = %x * 3\n"
        "      set %x = %x + 1 + 0 * %old\n"
        "    }\n"
        "    set %steps = %steps + 1\n"
        "  }\n"
        "  store %y[%at + %shift] = %steps\n"
        "}\n"
        "main {\n"
        "  for %i = 0 to 4 {\n"
        "    if @n[%i] == 27 | ~(@n[%i] < 100) {\n"
        "      call @collatz(@n, @y; %i, 0)\n"
        "    } else {\n"
        "      call @collatz(@n, @y; %i, 4)\n"
        "    }\n"
        "  }\n"
        "  if @n[0] == -1 {\n"
        "    fail EXTENT\n"
        "  }\n"
        "}\n";

static void test_control(void **state)
{
        (void)state;
        int64_t n[] = { 27, 6, 97, 837799 }, y[8] = { 0 };
        const void *inputs[] = { n };
        void *outputs[] = { y };
        assert_int_equal(run_text(control, inputs, outputs), INTERP_OK);
        assert_true(y[0] == 111 && y[5] == 8 && y[6] == 118 && y[3] == 524);
        n[0] = -1;
        assert_int_equal(run_text(control, inputs, outputs), -4);
}

/* a loop's end is computed once, its counter does not overflow, select evaluates one side */
static const char corners[] =
        "buffer @x : f32[4] input \"x\"\n"
        "buffer @y : f32[6] output \"y\"\n"
        "buffer @e : f32[0] output \"e\"\n"
        "kernel @k(%x: in f32[4], %y: out f32[6], %e: out f32[0]) {\n"
        "  var %n : index = 3\n"
        "  var %count : f32 = 0.0\n"
        "  for %i = 0 to %n {\n"
        "    set %n = %n + 10\n"
        "    set %count = %count + 1.0\n"
        "  }\n"
        "  store %y[0] = %count\n"
        "  set %count = 0.0\n"
        "  for %i2 = 9223372036854775800 to 9223372036854775807 step 5 {\n"
        "    set %count = %count + 1.0\n"
        "  }\n"
        "  store %y[1] = %count\n"
        "  for %i3 = 2 to 6 {\n"
        "    store %y[%i3] = select(%i3 >= 2 & %i3 < 4, %x[%i3], select(%i3 == 5, %x[%i3 - 5] + %x[%i3 - 4], 0.5))\n"
        "  }\n"
        "  for %i4 = 0 to 0 {\n"
        "    store %e[%i4] = 1.0\n"
        "  }\n"
        "}\n"
        "main {\n  call @k(@x, @y, @e)\n}\n";

static void test_corners(void **state)
{
        (void)state;
        float x[] = { 1, 2, 3, 4 }, y[6];
        const void *inputs[] = { x };
        void *outputs[] = { y, NULL };
        assert_int_equal(run_text(corners, inputs, outputs), INTERP_OK);
        assert_true(y[0] == 3 && y[1] == 2 && y[2] == 3 && y[3] == 4 && y[4] == 0.5f && y[5] == 3);
}

/* ---- vectors and tiles ---- */

static const char vectors[] =
        "buffer @x : f32[32] input \"x\"\n"
        "buffer @i : i32[16] input \"i\"\n"
        "buffer @y : f32[64] output \"y\"\n"
        "buffer @z : i32[32] output \"z\"\n"
        "kernel @k(%x: in f32[32], %i: in i32[16], %y: out f32[64], %z: out i32[32]) {\n"
        "  let %far : index = index(%i[0]) + 500\n"
        "  let %v : f32x8 = %x<8>[4]\n"
        "  let %r : indexx8 = ramp<8>(30, -4)\n"
        "  let %m : boolx8 = %r > splat<8>(12)\n"
        "  let %g : f32x8 = %x[%r]\n"
        "  store %y[0] = %v + %g * splat<8>(2.0)\n"
        "  store %y[8] = select(%m, %x[%r + splat<8>(1)], %v)\n"
        "  store %y[16] = 0.0:f32x8\n"
        "  store %y[ramp<8>(23, -1)] = %v mask %m\n"
        "  store %y[24] = %x<8>[28, %r >= splat<8>(18)]\n"
        "  store %y[32] = sum_lanes(%v * splat<8>(0.1))\n"
        "  store %y[33] = max_lanes(%g)\n"
        "  store %y[34] = min_lanes(%g)\n"
        "  store %y[35] = lane(%g, 3)\n"
        "  store %y[36] = sum_lanes(ramp<4>(0.5, 0.25))\n"
        "  store %y[37] = max_lanes(select(%m, splat<8>(nan), %g))\n"
        "  var %t : f32x4[2][3]\n"
        "  for %k = 0 to 3 {\n"
        "    set %t{0, 1} = %t{0, 1} + %x<4>[%k * 4]\n"
        "    set %t{1, 2} = fma(%t{0, 1}, splat<4>(2.0), %t{1, 2})\n"
        "  }\n"
        "  store %y[40] = %t{0, 1}\n"
        "  store %y[44] = %t{1, 2}\n"
        "  store %y[48] = %t{0, 0}\n"
        "  store %y[52] = select(%x[0] < 0.0:f32, %x<4>[%far], %x<4>[8])\n"
        "  store %y[56] = select(%m, splat<8>(select(%x[0] > 0.0:f32, %x[1], 2.0)), splat<8>(%x[2]))\n"
        "  let %q : i32x16 = %i<16>[0]\n"
        "  store %z[0] = %q / ramp<16>(-3:i32, 1) + (%q << (%q & splat<16>(33:i32)))\n"
        "  store %z[16] = sum_lanes(%q)\n"
        "  store %z[17] = min_lanes(bits_i32(bits_u32(%q)))\n"
        "  store %z[18] = i32(max_lanes(bits_u32(%q)))\n"
        "  store %z[19] = max_lanes(ramp<4>(2147483640:i32, 5))\n"
        "}\n"
        "main {\n  call @k(@x, @i, @y, @z)\n}\n";

static void test_vectors(void **state)
{
        (void)state;
        float x[32], y[64], want[64];
        int32_t q[16], z[32];
        fill(x, 32, 5);
        x[0] = 1;
        for (int l = 0; l < 16; l++)
                q[l] = (l * 1000003 - 5) * (l % 3 ? 1 : -1);
        for (int l = 0; l < 64; l++)
                y[l] = want[l] = (float)l;
        for (int l = 0; l < 8; l++) {
                int r = 30 - 4 * l;
                volatile float product = x[r] * 2;
                want[l] = x[4 + l] + product;
                want[8 + l] = r > 12 ? x[r + 1] : x[4 + l];
                want[23 - l] = r > 12 ? x[4 + l] : 0;
                want[24 + l] = r >= 18 ? x[28 + l] : 0;
                want[56 + l] = r > 12 ? x[1] : x[2];
        }
        volatile float part[8];
        for (int l = 0; l < 8; l++)
                part[l] = x[4 + l] * 0.1f;
        volatile float a = part[0] + part[4], b = part[1] + part[5], c = part[2] + part[6], d = part[3] + part[7];
        volatile float ac = a + c, bd = b + d;
        want[32] = ac + bd;
        want[33] = -INFINITY;
        want[34] = INFINITY;
        for (int l = 0; l < 8; l++) {
                want[33] = fmaxf(want[33], x[30 - 4 * l]);
                want[34] = fminf(want[34], x[30 - 4 * l]);
        }
        want[35] = x[18];
        want[36] = 3.5f;
        for (int l = 0; l < 4; l++) {
                volatile float first = 0, second = 0;
                for (int k = 0; k < 3; k++) {
                        first = first + x[4 * k + l];
                        second = fmaf(first, 2, second);
                }
                want[40 + l] = first;
                want[44 + l] = second;
                want[48 + l] = 0;
                want[52 + l] = x[8 + l];
        }
        const void *inputs[] = { x, q };
        void *outputs[] = { y, z };
        assert_int_equal(run_text(vectors, inputs, outputs), INTERP_OK);
        assert_true(isnan(y[37]));
        want[37] = y[37];
        for (int l = 0; l < 64; l++)
                if (memcmp(&y[l], &want[l], 4))
                        fail_msg("y[%d] is %g, want %g", l, (double)y[l], (double)want[l]);
        int64_t sum = 0;
        for (int l = 0; l < 16; l++) {
                int shift = q[l] & 33;
                uint32_t shifted = shift >= 0 && shift < 32 ? (uint32_t)q[l] << shift : 0;
                assert_int_equal((uint32_t)z[l], (uint32_t)(l == 3 ? 0 : q[l] / (l - 3)) + shifted);
                sum += q[l];
        }
        assert_int_equal(z[16], (int32_t)(uint32_t)sum);
        int32_t least = INT32_MAX;
        uint32_t most = 0;
        for (int l = 0; l < 16; l++) {
                least = q[l] < least ? q[l] : least;
                most = (uint32_t)q[l] > most ? (uint32_t)q[l] : most;
        }
        assert_int_equal(z[17], least);
        assert_int_equal(z[18], (int32_t)most);
        assert_int_equal(z[19], 2147483645);
}

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
static const char fresh[] =
        "buffer @t : i32[4] workspace\n"
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
        p = harness_parse(&h, "buffer @t : f64[1000000000000] workspace\nbuffer @u : f64[1000000000000] workspace\nmain {\n}\n");
        assert_null(interp_new(p, true, UINT64_C(1) << 40, &h.diag));
        harness_close(&h);
}

/* ---- subscripts out of range ---- */

static int run_kernel(const char *body, const float *x, float *y)
{
        struct text text = { 0 };
        text_add(&text, "buffer @x : f32[16] input \"x\"\nbuffer @y : f32[16] output \"y\"\n"
                        "kernel @k(%%x: in f32[16], %%y: out f32[16], %%n: index) {\n%s}\n"
                        "main {\n  call @k(@x, @y; index(@x[0]))\n}\n", body);
        const void *inputs[] = { x };
        void *outputs[] = { y };
        int code = run_text(text.data, inputs, outputs);
        text_free(&text);
        return code;
}

static void test_bounds(void **state)
{
        (void)state;
        static const struct { const char *body; int good, bad; } rows[] = {
                { "  store %y[0] = %x[%n]\n", 15, 16 },
                { "  store %y[0] = %x[%n]\n", 0, -1 },
                { "  store %y[%n] = 1.0\n", 15, 16 },
                { "  store %y[%n] = 1.0\n", 0, -1 },
                { "  store %y[%n * 1152921504606846976] = 1.0\n", 0, 1 },
                { "  for %i = 0 to 4 {\n    store %y[%i * %n] = %x[%i]\n  }\n", 5, 6 },
                { "  var %s : f32 = 0.0\n  for %i = 0 to %n {\n    set %s = %s + %x[%i] * %x[15 - %i]\n  }\n  store %y[0] = %s\n", 16, 17 },
                { "  var %s : f32 = 0.0\n  for %i = 0 to %n {\n    for %j = 0 to %n {\n      set %s = %s + %x[%i * 3 + %j]\n    }\n  }\n"
                  "  store %y[0] = %s\n", 4, 5 },
                { "  var %s : f32 = 0.0\n  for %i = %n to 8 {\n    set %s = %s + %x[%i]\n  }\n  store %y[0] = %s\n", 0, -1 },
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
        struct loop_program *p = harness_parse(&h, " workspace 64 align 16 live 48\nbuffer @t : f32[8] workspace offset 32\n"
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
        text_add(&text, "buffer @x : f32[4] input \"x\"\nbuffer @y : f32[4] output \"y\"\nkernel @k(%%x: in f32[4], %%y: inout f32[4]) {\n%s}\n"
                        "main {\n  call @k(@x, @y)\n}\n", body);
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
                "  var %s : f32 = 0.0\n  for %i = 0 to 4611686018427387904 {\n    set %s = %s + %x[0] * %x[1]\n  }\n  store %y[0] = %s\n",
                "  var %s : f32 = 0.0\n  for %i = 0 to 4294967296 {\n    for %j = 0 to 4294967296 {\n      set %s = %s + %x[2]\n    }\n  }\n"
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
        assert_int_equal(run_steps(counted, needed, &steps), INTERP_OK);
        assert_int_equal(run_steps(counted, needed / 2, &steps), INTERP_OUT_OF_STEPS);
}

/* ---- threads ---- */

static const char threads[] =
        "buffer @x : f32[64] input \"x\"\n"
        "buffer @y : f32[64] output \"y\"\n"
        "kernel @k(%x: in f32[64], %y: out f32[64]) {\n"
        "  for %b = 0 to 4 gpu_block {\n"
        "    alloc %s : f32[16] shared\n"
        "    for %u = 0 to 4 gpu_thread {\n"
        "      for %t = 0 to 4 gpu_thread {\n"
        "        let %at : index = %b * 16 + %u * 4\n"
        "        let %own : f32 = %x[%at + %t]\n"
        "        store %s[%u * 4 + %t] = %own * 2.0\n"
        "        barrier\n"
        "        store %y[%at + %t] = %s[15 - (%u * 4 + %t)]\n"
        "        barrier\n"
        "        store %s[%t * 4 + %u] = 0.0\n"
        "      }\n"
        "    }\n"
        "  }\n"
        "  for %i = 0 to 64 parallel {\n"
        "    barrier\n"
        "    prefetch %x[%i * 1000] 0\n"
        "  }\n"
        "}\n"
        "main {\n  call @k(@x, @y)\n}\n";

static void test_threads(void **state)
{
        (void)state;
        float x[64], y[64];
        fill(x, 64, 4);
        const void *inputs[] = { x };
        void *outputs[] = { y };
        assert_int_equal(run_text(threads, inputs, outputs), INTERP_OK);
        for (int i = 0; i < 64; i++)
                assert_true(y[i] == x[i / 16 * 16 + 15 - i % 16] * 2);
        static const char *const unsupported[] = {
                "    var %v : f32 = %x[%t]\n    barrier\n    store %y[%t] = %v\n",
                "    for %k = 0 to 2 {\n      barrier\n    }\n",
                "    alloc %a : f32[1] thread\n    store %a[0] = 1.0\n    barrier\n    store %y[%t] = %a[0]\n",
        };
        for (size_t k = 0; k < sizeof unsupported / sizeof *unsupported; k++) {
                struct harness h;
                harness_open(&h);
                struct text text = { 0 };
                text_add(&text, "buffer @x : f32[4] input \"x\"\nbuffer @y : f32[4] output \"y\"\nkernel @k(%%x: in f32[4], %%y: inout f32[4]) {\n"
                                "  for %%t = 0 to 4 gpu_thread {\n%s  }\n}\nmain {\n  call @k(@x, @y)\n}\n", unsupported[k]);
                assert_null(interp_new(harness_parse(&h, text.data), false, 0, &h.diag));
                assert_int_equal(h.diag.code, EXIT_UNSUPPORTED);
                assert_int_equal(h.diag.errors, 1);
                text_free(&text);
                harness_close(&h);
        }
}

/* ---- floats as double ---- */

static const char doubles[] =
        " workspace 64 align 16 live 48\n"
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
        "kernel @second(%x: in f32[4], %h: in f16[4], %n: in i32[4], %c: in f32[2], %s: in f32[1000], %v: in f32[2], %y: out f32[12], "
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
                cmocka_unit_test(test_convolution), cmocka_unit_test(test_reductions), cmocka_unit_test(test_control),
                cmocka_unit_test(test_corners), cmocka_unit_test(test_vectors), cmocka_unit_test(test_memory),
                cmocka_unit_test(test_fresh_memory), cmocka_unit_test(test_memory_budget), cmocka_unit_test(test_bounds),
                cmocka_unit_test(test_bad_plan), cmocka_unit_test(test_steps), cmocka_unit_test(test_threads),
                cmocka_unit_test(test_doubles),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
