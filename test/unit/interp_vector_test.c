/* SPDX-License-Identifier: MIT */
/* Library functions of vectors: every lane as the function of that lane, bit for bit. */
#include "test/unit/interp_harness.h"

enum { VALUES = 64 };

/* ordinary and extreme values of any type, as bytes */
static void fill_bytes(enum element e, unsigned char *bytes, int seed)
{
        static const double special[] = { 0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 1e-40, 3e38, 1.5, -2.5, 100 };
        for (int i = 0; i < VALUES; i++) {
                union scalar v = { .u = (uint64_t)(i * 37 + seed) * UINT64_C(0x9e3779b97f4a7c15) >> (i % 64) };
                if (element_is_float(e))
                        v.f = i % 4 ? (double)noise(i * 31 + seed) * pow(10, i % 9 - 4)
                                    : special[(i / 4 + seed) % (int)(sizeof special / sizeof *special)];
                element_store(e, bytes, (size_t)i, v);
        }
}

/* the function on all values, `lanes` at a time */
static void run_function(struct harness *h, const struct loop_function *f, int lanes, bool plain, void *result)
{
        unsigned char data[3][VALUES * 8];
        const void *inputs[3];
        struct text text = { 0 };
        for (int i = 0; i < f->scalar_count; i++) {
                enum element e = (enum element)f->scalars[i]->type.element;
                text_add(&text, "buffer @x%d : %s[%d] input \"x%d\" shape <%d>\n", i, element_info[e].text, VALUES, i,
                         VALUES);
                fill_bytes(e, data[i], i * 7);
                inputs[i] = data[i];
        }
        const char *out = element_info[f->result.element].text;
        text_add(&text, "buffer @y : %s[%d] output \"y\" shape <%d>\nkernel @k(", out, VALUES, VALUES);
        for (int i = 0; i < f->scalar_count; i++)
                text_add(&text, "%%x%d: in %s[%d], ", i, element_info[f->scalars[i]->type.element].text, VALUES);
        text_add(&text, "%%y: out %s[%d]) {\n  for %%i = 0 to %d step %d {\n    store %%y[%%i] = %s(", out, VALUES,
                 VALUES, lanes, f->name);
        for (int i = 0; i < f->scalar_count; i++)
                text_add(&text, lanes > 1 ? "%s%%x%d<%d>[%%i]" : "%s%%x%d[%%i]", i ? ", " : "", i, lanes);
        text_add(&text, ")\n  }\n}\nmain {\n  call @k(");
        for (int i = 0; i < f->scalar_count; i++)
                text_add(&text, "@x%d, ", i);
        text_add(&text, "@y)\n}\n");
        void *outputs[] = { result };
        assert_int_equal(
                harness_run(h, harness_parse(h, text.data), plain, false, inputs, outputs), INTERP_OK);
        text_free(&text);
}

/* a NaN's bits are anyone's */
static bool same(enum element e, const void *a, const void *b)
{
        for (size_t i = 0; i < VALUES; i++) {
                union scalar x = element_load(e, a, i), y = element_load(e, b, i);
                if (element_is_float(e) ? !(x.f == y.f && signbit(x.f) == signbit(y.f)) && !(isnan(x.f) && isnan(y.f))
                                        : x.u != y.u)
                        return false;
        }
        return true;
}

/* a function that has vectors of its own for operands is not for more lanes */
static bool has_lanes(const struct loop_function *f)
{
        bool scalar = true;
        for (int i = 0; i < f->scalar_count; i++)
                scalar = scalar && f->scalars[i]->type.lanes == 1;
        return scalar;
}

static void test_library(void **state)
{
        (void)state;
        struct harness h;
        harness_open(&h);
        int count = 0;
        for (const struct loop_function *f = loop_library_first(h.library); f; f = f->next, count++)
                for (int lanes = 4; lanes <= 16 && has_lanes(f); lanes *= 2) {
                        uint64_t one[VALUES], many[VALUES], plain[VALUES];
                        enum element e = (enum element)f->result.element;
                        run_function(&h, f, 1, false, one);
                        run_function(&h, f, lanes, false, many);
                        run_function(&h, f, lanes, true, plain);
                        if (!same(e, one, many) || !same(e, one, plain))
                                fail_msg("%s of %s differs in %d lanes", f->name,
                                         element_info[f->scalars[0]->type.element].text, lanes);
                }
        assert_true(count > 50);
        harness_close(&h);
}

/* arguments that are a literal, a splat, a var and a call; into a var; beneath a select by mask */
static void test_places(void **state)
{
        (void)state;
        float x[8], y[32];
        fill(x, 8, 5);
        const void *inputs[] = { x };
        void *outputs[] = { y };
        assert_int_equal(run_text("buffer @x : f32[8] input \"x\" shape <8>\n"
                                  "buffer @y : f32[32] output \"y\" shape <32>\n"
                                  "kernel @k(%x: in f32[8], %y: out f32[32]) {\n"
                                  "  var %v : f32x8 = %x<8>[0]\n"
                                  "  let %m : boolx8 = %v > splat<8>(0.0)\n"
                                  "  set %v = exp(%v)\n"
                                  "  store %y[0] = %v\n"
                                  "  set %v = rem(pow(%v, 2.0), splat<8>(0.75))\n"
                                  "  store %y[8] = %v\n"
                                  "  store %y[16] = exp(1.0:f32x8)\n"
                                  "  store %y[24] = select(%m, log(%x<8>[0, %m]), abs(%v))\n"
                                  "}\nmain {\n  call @k(@x, @y)\n}\n",
                                  inputs, outputs),
                         INTERP_OK);
        for (int i = 0; i < 8; i++) {
                float power = y[i] * y[i], rest = fmodf(power, 0.75f);
                assert_true(fabsf(y[i] - expf(x[i])) <= 1e-6f * expf(x[i]));
                assert_true(fabsf(y[8 + i] - rest) <= 4e-6f * power || fabsf(y[8 + i] - rest) > 0.7499f);
                assert_true(fabsf(y[16 + i] - 2.7182817f) < 1e-6f);
                float want = x[i] > 0 ? logf(x[i]) : fabsf(y[8 + i]);
                assert_true(fabsf(y[24 + i] - want) <= 1e-6f * fabsf(want));
        }
}

/* Stages of interleaving as many as the lanes have bits transpose; in place, too. */
static void test_interleave(void **state)
{
        (void)state;
        float x[16], y[24];
        for (int i = 0; i < 16; i++)
                x[i] = (float)i;
        const void *inputs[] = { x };
        void *outputs[] = { y };
        assert_int_equal(run_text("buffer @x : f32[16] input \"x\" shape <16>\n"
                                  "buffer @y : f32[24] output \"y\" shape <24>\n"
                                  "kernel @k(%x: in f32[16], %y: out f32[24]) {\n"
                                  "  let %a : f32x4 = interleave_low(%x<4>[0], %x<4>[8])\n"
                                  "  let %b : f32x4 = interleave_high(%x<4>[0], %x<4>[8])\n"
                                  "  let %c : f32x4 = interleave_low(%x<4>[4], %x<4>[12])\n"
                                  "  let %d : f32x4 = interleave_high(%x<4>[4], %x<4>[12])\n"
                                  "  store %y[0] = interleave_low(%a, %c)\n"
                                  "  store %y[4] = interleave_high(%a, %c)\n"
                                  "  store %y[8] = interleave_low(%b, %d)\n"
                                  "  store %y[12] = interleave_high(%b, %d)\n"
                                  "  var %v : f32x8 = %x<8>[0]\n"
                                  "  set %v = interleave_high(%v, interleave_low(%v, %v))\n"
                                  "  store %y[16] = %v\n"
                                  "}\nmain {\n  call @k(@x, @y)\n}\n",
                                  inputs, outputs),
                         INTERP_OK);
        static const float last[] = { 4, 2, 5, 2, 6, 3, 7, 3 };
        for (int i = 0; i < 16; i++)
                assert_true(y[i] == x[i % 4 * 4 + i / 4]);
        for (int i = 0; i < 8; i++)
                assert_true(y[16 + i] == last[i]);
}

/* a multiply of words that are vectors: all products of lanes are added to one sum */
static void test_products_of_lanes(void **state)
{
        (void)state;
        int8_t x[32], w[32];
        int32_t y[2];
        for (int i = 0; i < 32; i++) {
                x[i] = (int8_t)(i * 37 - 128);
                w[i] = (int8_t)(i * 91 + 13);
        }
        x[31] = w[31] = -128;
        const void *inputs[] = { x, w };
        void *outputs[] = { y };
        assert_int_equal(run_text("buffer @x : i8[32] input \"x\" shape <32>\n"
                                  "buffer @w : i8[32] input \"w\" shape <32>\n"
                                  "buffer @y : i32[2] output \"y\" shape <2>\n"
                                  "kernel @k(%x: in i8[32], %w: in i8[32], %y: out i32[2]) {\n"
                                  "  for %i = 0 to 2 {\n"
                                  "    let %a : i8x16 = %x<16>[%i * 16]\n"
                                  "    store %y[%i] = dot_i8x16(2147483000:i32, %a, %w<16>[%i * 16])\n"
                                  "  }\n"
                                  "}\nmain {\n  call @k(@x, @w, @y)\n}\n",
                                  inputs, outputs),
                         INTERP_OK);
        for (int k = 0; k < 2; k++) {
                uint32_t sum = 2147483000;
                for (int i = 16 * k; i < 16 * k + 16; i++)
                        sum += (uint32_t)(x[i] * w[i]);
                assert_int_equal((uint32_t)y[k], sum);
        }
}

/* Arithmetic of vectors of narrow elements is that of the converted numbers, converted back. */
static void test_narrow(void **state)
{
        (void)state;
        static const char *const elements[] = { "i8", "u8", "i16", "u16", "f16", "bf16" },
                                 *const infix[] = { "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>" },
                                 *const comparisons[] = { "<", "<=", ">", ">=", "==", "!=" },
                                 *const calls[] = { "min", "max", "min_ordered", "max_ordered" };
        struct harness h;
        harness_open(&h);
        for (int t = 0; t < 6; t++) {
                struct text text = { 0 };
                enum element e;
                assert_true(element_from_text(elements[t], strlen(elements[t]), &e));
                const char *c = element_info[element_info[e].compute].text, *own = elements[t];
                int count = 0, truths = 0, floats = element_is_float(e);
                for (int k = 0; k < (floats ? 4 : 10); k++, count++)
                        text_add(&text, "    store %%y[%d + %%i] = %%a %s %%b\n    store %%z[%d + %%i] = %s(%s(%%a) %s %s(%%b))\n", count * VALUES,
                                 infix[k], count * VALUES, own, c, infix[k], c);
                for (int k = 0; k < 4; k++, count++)
                        text_add(&text, "    store %%y[%d + %%i] = %s(%%a, %%b)\n    store %%z[%d + %%i] = %s(%s(%s(%%a), %s(%%b)))\n",
                                 count * VALUES, calls[k], count * VALUES, own, calls[k], c, c);
                for (int k = 0; k < (floats ? 0 : 4); k++, count++)   /* there and back */
                        text_add(&text, "    store %%y[%d + %%i] = %s(%s(%%a))\n    store %%z[%d + %%i] = %s(%s(%s(%s(%%a))))\n", count * VALUES, own,
                                 elements[k], count * VALUES, own, k % 2 ? "u32" : "i32", elements[k], c);
                text_add(&text, "    store %%y[%d + %%i] = -%%a\n    store %%z[%d + %%i] = %s(-%s(%%a))\n", count * VALUES, count * VALUES, own, c);
                count++;
                for (int k = 0; k < 6; k++, truths++)
                        text_add(&text, "    store %%p[%d + %%i] = %%a %s %%b\n    store %%q[%d + %%i] = %s(%%a) %s %s(%%b)\n", truths * VALUES,
                                 comparisons[k], truths * VALUES, c, comparisons[k], c);
                char *body = arena_string(h.arena, text.data);
                text_free(&text);
                text_add(&text,
                         "buffer @x : %s[128] input \"x\" shape <128>\n"
                         "buffer @y : %s[%d] output \"y\" shape <%d>\nbuffer @z : %s[%d] output \"z\" shape <%d>\n"
                         "buffer @p : bool[%d] output \"p\" shape <%d>\nbuffer @q : bool[%d] output \"q\" shape <%d>\n"
                         "kernel @k(%%x: in %s[128], %%y: out %s[%d], %%z: out %s[%d], %%p: out bool[%d], %%q: out bool[%d]) {\n"
                         "  for %%i = 0 to 64 step 16 {\n    let %%a : %sx16 = %%x<16>[%%i]\n    let %%b : %sx16 = %%x<16>[%%i + 64]\n%s  }\n}\n"
                         "main {\n  call @k(@x, @y, @z, @p, @q)\n}\n",
                         own, own, count * VALUES, count * VALUES, own, count * VALUES, count * VALUES, truths * VALUES, truths * VALUES,
                         truths * VALUES, truths * VALUES, own, own, count * VALUES, own, count * VALUES, truths * VALUES, truths * VALUES, own, own,
                         body);
                static unsigned char x[2 * VALUES * 2], y[20 * VALUES * 2], z[20 * VALUES * 2], p[6 * VALUES], q[6 * VALUES];
                fill_bytes(e, x, 3);
                fill_bytes(e, x + VALUES * element_info[e].bytes, 11);
                const void *inputs[] = { x };
                void *outputs[] = { y, z, p, q };
                for (int plain = 0; plain < 2; plain++) {
                        assert_int_equal(harness_run(&h, harness_parse(&h, text.data), plain, false, inputs, outputs), INTERP_OK);
                        for (int k = 0; k < count; k++)
                                assert_true(same(e, y + k * VALUES * element_info[e].bytes, z + k * VALUES * element_info[e].bytes));
                        assert_memory_equal(p, q, (size_t)truths * VALUES);
                }
                text_free(&text);
        }
        harness_close(&h);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_narrow),
                cmocka_unit_test(test_library),
                cmocka_unit_test(test_places),
                cmocka_unit_test(test_interleave), cmocka_unit_test(test_products_of_lanes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
