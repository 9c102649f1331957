/* SPDX-License-Identifier: MIT */
/* Warps that multiply sums together, as attention does (engines/grid/attention_warp_groups.c): transposed words in lines, several products under way, of which
 * each settle lets some be done. */
#include "test/unit/interp_harness.h"

enum { ROWS = 64, CHANNELS = 64, KEYS = 16, TURNS = 3, OUTPUTS = 64 };

/* y = sum over turns of half(x k' + 1) v: the scores of a turn, while those of the turn before are multiplied; what stands for a settle may be changed */
static void kernel(struct text *text, const char *settle, const char *last)
{
        static const char scores[] = "%%%s += %%xs[0] * %%ks[%s * 1024] by add_product rows 16 depth 8 group 8 step 64 jump 1024 swizzle 8 warp_group\n";
        static const char lanes[] = "for %%w%d = 0 to 4 gpu_warp {\nfor %%l%d = 0 to 32 gpu_lane {\nalloc %%own%d : f32[8] stack\n"
                                    "take %%own%d = %%%s lane %%l%d rows 16\nfor %%i%d = 0 to 8 unroll {\nstore %%own%d[%%i%d] = %%own%d[%%i%d] + %s\n}\n"
                                    "give %%%s = %%own%d lane %%l%d rows 16\n}\n}\n";
        text_add(text,
                 "buffer @x : f16[4096] input \"x\"\nbuffer @k : f16[3072] input \"k\"\nbuffer @v : f16[3072] input \"v\"\nbuffer @y : f32[4096] output \"y\"\n"
                 "kernel @a(%%x: in f16[4096], %%k: in f16[3072], %%v: in f16[3072], %%y: out f32[4096]) {\n"
                 "  for %%b = 0 to 1 gpu_block {\n"
                 "    var %%acc : f32x8tile[16][8] warps 4\n"
                 "    var %%shares : f32x8tile[16][2] warps 4\n"
                 "    var %%first : f32x8tile[16][2] warps 4\n"
                 "    alloc %%xs : f16[4096] shared\n    alloc %%ks : f16[3072] shared\n    alloc %%vs : f16[3072] shared\n"
                 "    copy %%xs[0] = %%x[0] of 4096\n    copy %%ks[0] = %%k[0] of 3072\n    copy %%vs[0] = %%v[0] of 3072\n"
                 "    commit\n    wait 0\n    multiply ");
        text_add(text, scores, "first", "0");
        text_add(text, "settle 0\n");
        text_add(text, lanes, 0, 0, 0, 0, "first", 0, 0, 0, 0, 0, 0, "1.0", "shares", 0, 0);
        text_add(text, "for %%t = 1 to 3 {\nvar %%scores : f32x8tile[16][2] warps 4\nmultiply ");
        text_add(text, scores, "scores", "%t");
        text_add(text, "multiply %%acc += %%shares * %%vs[(%%t - 1) * 1024] by add_product rows 16 depth 2 group 8 swizzle 8 warp_group transposed\n%s\n", settle);
        text_add(text, lanes, 1, 1, 1, 1, "scores", 1, 1, 1, 1, 1, 1, "1.0", "scores", 1, 1);
        text_add(text, "%s\n", last);
        text_add(text, lanes, 2, 2, 2, 2, "scores", 2, 2, 2, 2, 2, 2, "0.0", "shares", 2, 2);
        text_add(text,
                 "}\nmultiply %%acc += %%shares * %%vs[2048] by add_product rows 16 depth 2 group 8 swizzle 8 warp_group transposed\nsettle 0\n"
                 "for %%u = 0 to 4 gpu_warp {\nunload %%y[%%u * 1024] = %%acc rows 16\n}\n}\n}\nmain {\n  call @a(@x, @k, @v, @y)\n}\n");
}

static double number(int i, int kind) { return (i * (7 + kind) + i / 64 * 5) % 5 - 2; }

/* element c of line l: word c / 8 at c / 8 ^ l % 8 */
static int in_line(int l, int c) { return l * 64 + (c / 8 ^ l % 8) * 8 + c % 8; }

static double half(double x)
{
        uint16_t bits;
        element_store(E_F16, &bits, 0, (union scalar){ .f = x });
        return element_load(E_F16, &bits, 0).f;
}

static bool is_right(const float *y)
{
        for (int p = 0; p < ROWS; p++)
                for (int o = 0; o < OUTPUTS; o++) {
                        double sum = 0;
                        for (int key = 0; key < TURNS * KEYS; key++) {
                                double score = 0;
                                for (int c = 0; c < CHANNELS; c++)
                                        score += number(in_line(p, c), 0) * number(in_line(key, c), 1);
                                sum += half(score + 1) * number(in_line(key, o), 2);
                        }
                        if (y[p * OUTPUTS + o] != (float)sum)
                                return false;
                }
        return true;
}

static void test_both_executions(void **state)
{
        (void)state;
        static uint16_t x[ROWS * CHANNELS], k[TURNS * KEYS * CHANNELS], v[TURNS * KEYS * OUTPUTS];
        static float y[ROWS * OUTPUTS];
        for (int i = 0; i < ROWS * CHANNELS; i++)
                element_store(E_F16, x, (size_t)i, (union scalar){ .f = number(i, 0) });
        for (int i = 0; i < TURNS * KEYS * CHANNELS; i++) {
                element_store(E_F16, k, (size_t)i, (union scalar){ .f = number(i, 1) });
                element_store(E_F16, v, (size_t)i, (union scalar){ .f = number(i, 2) });
        }
        for (int mode = 0; mode < 4; mode++) {
                const struct interp_options options = { .late = mode & 1, .plain = mode & 2 };
                struct harness h;
                struct text text = { 0 };
                harness_open(&h);
                kernel(&text, "settle 1", "settle 0");
                struct loop_program *p = harness_parse(&h, text.data);
                memset(y, 0, sizeof y);
                assert_int_equal(harness_run_with(&h, p, options, (const void *[]){ x, k, v }, (void *[]){ y }), INTERP_OK);
                assert_true(is_right(y));
                text_free(&text);
                harness_close(&h);
        }
}

static void test_text(void **state)
{
        (void)state;
        struct harness h;
        struct text text = { 0 }, first = { 0 }, second = { 0 };
        harness_open(&h);
        kernel(&text, "settle 1", "settle 0");
        loop_print(&first, harness_parse(&h, text.data), NULL);
        struct loop_program *p = loop_parse(h.arena, first.data, first.length, NULL, NULL, h.library, &h.diag);
        if (!p || !loop_verify(p, &h.diag))
                fail_msg("%s", harness_said(&h));
        loop_print(&second, p, NULL);
        assert_string_equal(first.data, second.data);
        assert_non_null(strstr(first.data, "multiply %acc += %shares * %vs[2048] by add_product rows 16 depth 2 group 8 swizzle 8 warp_group transposed\n"));
        text_free(&text);
        text_free(&first);
        text_free(&second);
        harness_close(&h);
}

/* what stands for a settle, or for a line of the text, and what is said of it */
static const struct { const char *settle, *last, *from, *to, *message; } wrong[] = {
        { "settle 2", "settle 0", NULL, NULL, "%scores is touched before its products are settled" },
        { "settle 1", "settle 1", NULL, NULL, "%shares is touched before its products are settled" },
        { "settle 1", "", NULL, NULL, "%shares is touched before its products are settled" },
        { "", "settle 0", NULL, NULL, "%scores is touched before its products are settled" },
        { "settle 1", "settle 0", "multiply %acc += %shares * %vs[2048]", "multiply %acc += %first * %vs[2048]", NULL },
        { "settle 1", "settle 0", "group 8 swizzle 8 warp_group transposed\nsettle 0", "group 8 warp_group transposed\nsettle 0", "sums are multiplied by a warp, without lines" },
        { "settle 1", "settle 0", "group 8 swizzle 8 warp_group transposed\nsettle 0", "group 8 swizzle 8 transposed\nsettle 0", "is of warps, and of none of them here" },
        { "settle 1", "settle 0", "group 8 swizzle 8 warp_group transposed\nsettle 0", "group 8 swizzle 8 warp_group\nsettle 0", "by a warp group, in transposed lines" },
        { "settle 1", "settle 0", "group 8 swizzle 8 warp_group transposed\nsettle 0", "group 8 swizzle 4 warp_group transposed\nsettle 0", "lines of 4 words, 2 deep, for 8 lanes" },
        { "settle 1", "settle 0", "depth 2 group 8 swizzle 8 warp_group transposed\nsettle 0", "depth 4 group 4 swizzle 8 warp_group transposed\nsettle 0", "transposed lines, of 8 words" },
        { "settle 1", "settle 0", "swizzle 8 warp_group transposed\nsettle 0\nfor", "swizzle 8 warp_group transposed\nfor", "%acc is touched before its products are settled" },
};

static void test_wrong(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                struct harness h;
                struct text text = { 0 }, changed = { 0 };
                harness_open(&h);
                text_add(&text, "loop 4\nprogram \"test\" source \"\"\n");
                kernel(&text, wrong[i].settle, wrong[i].last);
                const char *at = wrong[i].from ? strstr(text.data, wrong[i].from) : text.data;
                assert_non_null(at);
                text_add(&changed, "%.*s%s%s", (int)(at - text.data), text.data, wrong[i].to ? wrong[i].to : "", at + (wrong[i].from ? strlen(wrong[i].from) : 0));
                struct loop_program *p = loop_parse(h.arena, changed.data, changed.length, NULL, NULL, h.library, &h.diag);
                const bool accepted = p && loop_verify(p, &h.diag);
                if (accepted != !wrong[i].message || (wrong[i].message && !strstr(harness_said(&h), wrong[i].message)))
                        fail_msg("number %zu: %s\nwant %s", i, harness_said(&h), wrong[i].message ? wrong[i].message : "nothing");
                text_free(&text);
                text_free(&changed);
                harness_close(&h);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_both_executions), cmocka_unit_test(test_text), cmocka_unit_test(test_wrong) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
