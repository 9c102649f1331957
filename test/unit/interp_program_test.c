/* SPDX-License-Identifier: MIT */
/* The interpreter on whole programs: loops, control flow, strips, vectors and tiles, against the same in C. */
#include "test/unit/interp_harness.h"

#include <inttypes.h>

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
                                                        volatile float product = x[c * 324 + p * 18 + q] *
                                                                                 w[m * 125 + c * 25 + a * 5 + b];
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
        "buffer @y : f32[6] output \"y\"\n"
        "buffer @z : i32[4] output \"z\"\n"
        "kernel @k(%x: in f32[600], %u: in u8[600], %s: in i8[600], %y: out f32[6], %z: out i32[4]) {\n"
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
        "  var %p : f32 = 0.0\n"
        "  for %i9 = 0 to 600 {\n"
        "    set %p = %p + %x[%i9, %i9 % 3 == 0]\n"
        "  }\n"
        "  store %y[5] = %p\n"
        "  var %q : i32 = 1\n"
        "  for %j9 = 0 to 50 {\n"
        "    set %q = %q + i32(%u[index(%q & 255)]) * i32(%s[%j9])\n"
        "  }\n"
        "  store %z[3] = %q\n"
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
        volatile float y[6] = { 0, -INFINITY, 0, 1, 0, 0 };
        int32_t z[4] = { 7, 0, 0, 1 };
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
                if (i % 3 == 0)
                        y[5] = y[5] + x[i];
                if (i < 50)
                        z[3] += u[z[3] & 255] * s[i];
                z[0] += u[i] * s[599 - i];
                z[1] += s[i] * s[i];
                z[2] += (u[i] - 128) * s[i];
        }
        for (int i = 0; i < 40; i++)
                for (int j = i; j < 15; j++)
                        y[4] = y[4] + x[j * 40 + i];
        float got[6];
        int32_t got_z[4];
        const void *inputs[] = { x, u, s };
        void *outputs[] = { got, got_z };
        assert_int_equal(run_text(reductions, inputs, outputs), INTERP_OK);
        for (int k = 0; k < 6; k++)
                assert_true(got[k] == y[k]);
        assert_memory_equal(got_z, z, sizeof z);
}

/* ---- control flow ---- */

static const char control[] = "buffer @n : i64[4] input \"n\"\n"
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
        "buffer @y : f32[7] output \"y\"\n"
        "buffer @e : f32[0] output \"e\"\n"
        "kernel @k(%x: in f32[4], %y: out f32[7], %e: out f32[0]) {\n"
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
        "  set %count = 0.0\n"
        "  for %j = -9223372036854775807 to index(%x[3]) - 9223372036854775807 {\n"
        "    set %count = %count + %x[0] / 2.0\n"
        "  }\n"
        "  store %y[6] = %count\n"
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
        float x[] = { 1, 2, 3, 4 }, y[7];
        const void *inputs[] = { x };
        void *outputs[] = { y, NULL };
        assert_int_equal(run_text(corners, inputs, outputs), INTERP_OK);
        assert_true(y[0] == 3 && y[1] == 2 && y[2] == 3 && y[3] == 4 && y[4] == 0.5f && y[5] == 3 && y[6] == 2);
}

/* ---- strips ---- */

/* Sums in hardware tiles of a geometry that no target has: words of two i16, four outputs, the last
 * tile with one position less. */
static const char odd_tiles[] =
        "buffer @x : i16[31] input \"x\"\n"
        "buffer @w : i16[82] input \"w\"\n"
        "buffer @y : i32[24] output \"y\"\n"
        "kernel @k(%x: in i16[31], %w: in i16[82], %y: out i32[24]) {\n"
        "  tiles 3 by 2 rows 2 depth 5 lanes 4 word 4\n"
        "  var %acc : i32x4tile[3][2]\n"
        "  for %i = 0 to 2 {\n"
        "    multiply %acc += %x[%i] * %w[2 * %i] by add_product rows 2 depth 5 group 2 step 7 jump 20\n"
        "  }\n"
        "  unload %y[0] = %acc rows 2\n"
        "  tiles 0 by 0 rows 0 depth 0 lanes 0 word 0\n"
        "}\n"
        "main {\n  call @k(@x, @w, @y)\n}\n";

static void test_tiles_of_any_words(void **state)
{
        (void)state;
        enum { POSITIONS = 3, VECTORS = 2, LANES = 4, DEPTH = 5, GROUP = 2 };
        static const int at[POSITIONS] = { 0, 7, 20 };
        int16_t x[31], w[82];
        int32_t y[POSITIONS * VECTORS * LANES], want[POSITIONS * VECTORS * LANES] = { 0 };
        for (int i = 0; i < 31; i++)
                x[i] = (int16_t)(i % 7 ? i * 7919 : INT16_MIN);
        for (int i = 0; i < 82; i++)
                w[i] = (int16_t)(i % 5 ? i * 4099 : INT16_MIN);
        for (int turn = 0; turn < 2; turn++)
                for (int n = 0; n < POSITIONS * VECTORS * LANES; n++)
                        for (int c = 0; c < DEPTH * GROUP; c++) {
                                int p = n / (VECTORS * LANES), j = n / LANES % VECTORS, l = n % LANES;
                                int word = (c / GROUP * VECTORS + j) * LANES + l;
                                uint32_t a = (uint32_t)x[turn + at[p] + c],
                                         b = (uint32_t)w[2 * turn + word * GROUP + c % GROUP];
                                want[n] = (int32_t)((uint32_t)want[n] + a * b);
                        }
        assert_int_equal(run_text(odd_tiles, (const void *[]){ x, w }, (void *[]){ y }), INTERP_OK);
        assert_memory_equal(y, want, sizeof y);
}

/* Of floats, each channel of a word has a partial sum: even and odd ones are added up apart, then
 * joined, to the bit. */
static const char pairs[] =
        "buffer @x : bf16[80] input \"x\"\n"
        "buffer @w : bf16[160] input \"w\"\n"
        "buffer @y : f32[8] output \"y\"\n"
        "kernel @k(%x: in bf16[80], %w: in bf16[160], %y: out f32[8]) {\n"
        "  tiles 2 by 1 rows 2 depth 10 lanes 4 word 4\n"
        "  var %acc : f32x4tile[2][1]\n"
        "  for %i = 0 to 2 {\n"
        "    multiply %acc += %x[20 * %i] * %w[80 * %i] by add_product rows 2 depth 10 group 2 step 40 jump 0\n"
        "  }\n"
        "  unload %y[0] = %acc rows 2\n"
        "  tiles 0 by 0 rows 0 depth 0 lanes 0 word 0\n"
        "}\n"
        "main {\n  call @k(@x, @w, @y)\n}\n";

static float bf16_value(uint16_t x)
{
        uint32_t bits = (uint32_t)x << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        return value;
}

static void test_tiles_of_pairs(void **state)
{
        (void)state;
        enum { POSITIONS = 2, LANES = 4, DEPTH = 10, X = 80, W = 160 };
        uint16_t x[X], w[W];
        float y[POSITIONS * LANES], want[POSITIONS * LANES] = { 0 };
        for (int i = 0; i < X; i++)     /* of every size, subnormal ones too */
                x[i] = (uint16_t)(i % 9 ? 0x3c00 + i * 37 : i);
        for (int i = 0; i < W; i++)
                w[i] = (uint16_t)(0x3f00 + i * 91 + (i % 3 ? 0 : 0x8000));
        for (int turn = 0; turn < 2; turn++)
                for (int n = 0; n < POSITIONS * LANES; n++) {
                        float part[2] = { 0, 0 };
                        for (int c = 0; c < 2 * DEPTH; c++) {
                                float a = bf16_value(x[20 * turn + n / LANES * 40 + c]);
                                float b = bf16_value(w[80 * turn + (c / 2 * LANES + n % LANES) * 2 + c % 2]);
                                part[c % 2] = part[c % 2] + a * b;
                        }
                        want[n] = want[n] + (part[0] + part[1]);
                }
        assert_int_equal(run_text(pairs, (const void *[]){ x, w }, (void *[]){ y }), INTERP_OK);
        assert_memory_equal(y, want, sizeof y);
}

static const char strips[] =
        "buffer @x : f32[400] input \"x\"\n"
        "buffer @n : i32[100] input \"n\"\n"
        "buffer @y : f32[400] output \"y\"\n"
        "buffer @z : i32[100] output \"z\"\n"
        "buffer @s : f32[6] output \"s\"\n"
        "kernel @k(%x: in f32[400], %n: in i32[100], %y: out f32[400], %z: inout i32[100], %s: out f32[6]) {\n"
        "  for %i = 0 to 100 {\n"
        "    store %y[%i] = max(%x[%i] + %x[3 * %i + 1], 0.0) * %x[7]\n"
        "  }\n"
        "  for %i2 = 1 to 100 step 3 {\n"
        "    let %at : index = 299 - 2 * %i2\n"
        "    let %v : f32 = %x[%at + 5]\n"
        "    store %y[%at] = %v * 0.5 + f32(%i2)\n"
        "  }\n"
        "  for %i3 = 0 to 100 {\n"
        "    let %far : index = index(%n[%i3])\n"
        "    store %y[300 + %i3] = select(%far >= 0 & %far < 400, %x[%far] - %x[%i3 + (%far & 3)], exp(%x[%i3]))\n"
        "  }\n"
        "  for %i4 = 0 to 100 {\n"
        "    store %z[%i4] = %z[%i4] / %n[%i4] + i32(%x[%i4] * 100.0)\n"
        "  }\n"
        "  var %sum : f32 = 0.5\n"
        "  var %most : f32 = -inf\n"
        "  var %all : i32 = 0\n"
        "  for %i5 = 0 to 99 {\n"
        "    let %w : f32 = abs(%x[%i5 * 4])\n"
        "    set %sum = %w * %w + %sum\n"
        "    set %most = max(%most, -%w)\n"
        "    set %all = %all + %n[%i5] * %z[%i5]\n"
        "  }\n"
        "  store %s[0] = %sum\n"
        "  store %s[1] = %most\n"
        "  store %s[2] = f32(%all)\n"
        "  for %i6 = 0 to 100 {\n"
        "    store %s[3] = %x[%i6]\n"
        "    store %s[4 + %i6 / 50] = %x[%i6 + 1]\n"
        "  }\n"
        "}\n"
        "main {\n  call @k(@x, @n, @y, @z, @s)\n}\n";

static void test_strips(void **state)
{
        (void)state;
        static float x[400], y[400], want[400];
        int32_t n[100], z[100], want_z[100], all = 0;
        float s[6];
        fill(x, 400, 11);
        memset(want, 0xff, sizeof want);
        memset(y, 0xff, sizeof y);
        for (int i = 0; i < 100; i++) {
                n[i] = (i * 7919) % 500 - 50;
                z[i] = want_z[i] = i * 1000003;
        }
        for (int i = 0; i < 100; i++) {
                volatile float sum = x[i] + x[3 * i + 1];
                want[i] = (sum > 0 ? sum : 0) * x[7];
        }
        for (int i = 1; i < 100; i += 3) {
                volatile float half = x[299 - 2 * i + 5] * 0.5f;
                want[299 - 2 * i] = half + (float)i;
        }
        volatile float sum = 0.5f, most = -INFINITY;
        for (int i = 0; i < 100; i++) {
                if (n[i] >= 0 && n[i] < 400)
                        want[300 + i] = x[n[i]] - x[i + (n[i] & 3)];
                volatile float scaled = x[i] * 100;
                want_z[i] = (n[i] ? want_z[i] / n[i] : 0) + (int32_t)scaled;
                if (i == 99)
                        break;
                volatile float square = fabsf(x[4 * i]) * fabsf(x[4 * i]);
                sum = square + sum;
                most = most < -fabsf(x[4 * i]) ? -fabsf(x[4 * i]) : most;
                all = (int32_t)((uint32_t)all + (uint32_t)n[i] * (uint32_t)want_z[i]);
        }
        const void *inputs[] = { x, n };
        void *outputs[] = { y, z, s };
        struct harness h;
        harness_open(&h);
        const struct loop_program *p = harness_parse(&h, strips);
        for (int k = 0; k < 4; k++) {
                for (int i = 0; i < 100; i++)
                        z[i] = i * 1000003;
                struct interp_options options = { .plain = !k, .strip = k == 2 ? 7 : 0, .as_double = false };
                assert_int_equal(harness_run_with(&h, p, options, inputs, outputs), INTERP_OK);
                for (int i = 0; i < 100; i++)
                        if (n[i] < 0 || n[i] >= 400) {
                                assert_true(fabsf(y[300 + i] - expf(x[i])) <= 1e-6f * expf(x[i]));
                                want[300 + i] = y[300 + i];
                        }
                assert_memory_equal(y, want, sizeof y);
                assert_memory_equal(z, want_z, sizeof z);
                assert_true(s[0] == sum && s[1] == most && s[2] == (float)all && s[3] == x[99] && s[4] == x[50] &&
                            s[5] == x[100]);
        }
        harness_close(&h);
}

/* Parameters of one alias class: the same buffer, and one that overlaps, where each element depends on that before. */
static const char overlapping[] = "buffer @x : f32[101] input \"x\"\n"
                                  "buffer @t : f32[101] workspace\n"
                                  "buffer @first : f32[100] view @t + 0\n"
                                  "buffer @second : f32[100] view @t + 1\n"
                                  "buffer @y : f32[101] output \"y\"\n"
                                  "kernel @copy(%x: in f32[101], %y: out f32[101]) {\n"
                                  "  for %i = 0 to 101 {\n    store %y[%i] = %x[%i]\n  }\n"
                                  "}\n"
                                  "kernel @next(%x: in f32[100] class 1, %y: out f32[100] class 1) {\n"
                                  "  for %i = 0 to 100 {\n    store %y[%i] = %x[%i] * 0.5 + 1.0\n  }\n"
                                  "}\n"
                                  "main {\n"
                                  "  call @copy(@x, @t)\n"
                                  "  call @next(@first, @second)\n"
                                  "  call @next(@first, @first)\n"
                                  "  call @copy(@t, @y)\n"
                                  "}\n";

static void test_overlap(void **state)
{
        (void)state;
        float x[101], y[101];
        fill(x, 101, 13);
        const void *inputs[] = { x };
        void *outputs[] = { y };
        assert_int_equal(run_text(overlapping, inputs, outputs), INTERP_OK);
        for (int i = 0; i < 100; i++)
                x[i + 1] = x[i] * 0.5f + 1;
        for (int i = 0; i < 100; i++)
                x[i] = x[i] * 0.5f + 1;
        assert_memory_equal(x, y, sizeof y);
}

/* parts of buffers at offsets that main computes; the last one ends where its buffer does, or behind it */
static const char parts[] = "buffer @x : f32[12] input \"x\"\n"
                            "buffer @n : i64[1] input \"n\"\n"
                            "buffer @y : f32[12] output \"y\"\n"
                            "kernel @twice(%x: in f32[3], %y: out f32[3]) {\n"
                            "  for %i = 0 to 3 {\n    store %y[%i] = %x[%i] + %x[%i]\n  }\n"
                            "}\n"
                            "main {\n"
                            "  for %t = 0 to index(@n[0]) {\n"
                            "    call @twice(@x + %t * 3, @y + 9 - %t * 3)\n"
                            "  }\n"
                            "}\n";

static void test_parts(void **state)
{
        (void)state;
        float x[12], y[12];
        fill(x, 12, 5);
        for (int64_t n = 4; n <= 5; n++) {
                const void *inputs[] = { x, &n };
                void *outputs[] = { y };
                assert_int_equal(run_text(parts, inputs, outputs), n == 4 ? INTERP_OK : INTERP_OUT_OF_RANGE);
        }
        for (int i = 0; i < 12; i++)
                assert_true(y[9 - i / 3 * 3 + i % 3] == x[i] + x[i]);
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_convolution), cmocka_unit_test(test_reductions), cmocka_unit_test(test_control),
                cmocka_unit_test(test_corners),     cmocka_unit_test(test_tiles_of_any_words), cmocka_unit_test(test_tiles_of_pairs),
                cmocka_unit_test(test_strips),     cmocka_unit_test(test_overlap), cmocka_unit_test(test_parts),
                cmocka_unit_test(test_vectors),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
