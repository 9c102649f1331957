/* SPDX-License-Identifier: MIT */
/* Products of warp groups: their text, what the verifier demands of them, and that a kernel which settles as it must computes
 * the same whether they are done at once or as late as may be. */
#include "test/unit/interp_harness.h"

enum { POSITIONS = 64, CHANNELS = 384, OUTPUTS = 16, TURN = 64, TURNS = CHANNELS / TURN };

/* y = x w: turns of 64 channels through 3 stages; in lines of 8 words; what stands for a settle may be changed */
static void kernel(struct text *text, const char *settle, const char *last)
{
        text_add(text,
                 "buffer @x : f16[24576] input \"x\"\nbuffer @w : f16[6144] input \"w\"\nbuffer @y : f32[1024] output \"y\"\n"
                 "kernel @k(%%x: in f16[24576], %%w: in f16[6144], %%y: out f32[1024]) {\n"
                 "  for %%b = 0 to 1 gpu_block {\n"
                 "    var %%acc : f32x8tile[16][2] warps 4\n"
                 "    alloc %%xs : f16[12288] shared\n"
                 "    alloc %%ws : f16[3072] shared\n"
                 "    for %%t = 0 to 7 {\n"
                 "      if %%t < 6 {\n"
                 "        for %%v = 0 to 4 gpu_warp {\n"
                 "          for %%lane = 0 to 32 gpu_lane {\n"
                 "            for %%i = 0 to 4 {\n"
                 "              let %%word : index = %%i * 128 + %%v * 32 + %%lane\n"
                 "              let %%row : index = %%word / 8\n"
                 "              copy %%xs[%%t %% 3 * 4096 + %%row * 64 + (%%word %% 8 ^ %%row %% 8) * 8] = "
                 "%%x[%%row * 384 + %%t * 64 + %%word %% 8 * 8] of 8\n"
                 "            }\n"
                 "          }\n"
                 "        }\n"
                 "        copy %%ws[%%t %% 3 * 1024] = %%w[%%t * 1024] of 1024\n"
                 "      }\n"
                 "      commit\n"
                 "      wait 1\n"
                 "      if %%t > 0 {\n"
                 "        multiply %%acc += %%xs[(%%t - 1) %% 3 * 4096] * %%ws[(%%t - 1) %% 3 * 1024] by add_product rows 16 depth 8 group 8 "
                 "step 64 jump 1024 swizzle 8 warp_group\n"
                 "        %s\n"
                 "      }\n"
                 "    }\n"
                 "    wait 0\n"
                 "    %s\n"
                 "    for %%u = 0 to 4 gpu_warp {\n"
                 "      unload %%y[%%u * 256] = %%acc rows 16 columns 0 to 1 step 16\n"
                 "      unload %%y[%%u * 256 + 8] = %%acc rows 16 columns 1 to 2 step 16\n"
                 "    }\n"
                 "  }\n}\nmain {\n  call @k(@x, @w, @y)\n}\n",
                 settle, last);
}

static double number(int i) { return i * 7 % 13 - 6; }

static void run(const char *settle, struct interp_options options, float y[POSITIONS * OUTPUTS])
{
        static uint16_t x[POSITIONS * CHANNELS], w[CHANNELS * OUTPUTS];
        struct harness h;
        struct text text = { 0 };
        for (int i = 0; i < POSITIONS * CHANNELS; i++)
                element_store(E_F16, x, (size_t)i, (union scalar){ .f = number(i + i / 384) });
        for (int i = 0; i < CHANNELS * OUTPUTS; i++)
                element_store(E_F16, w, (size_t)i, (union scalar){ .f = number(3 * i + i / 16) });
        harness_open(&h);
        kernel(&text, settle, "settle 0");
        struct loop_program *p = harness_parse(&h, text.data);
        assert_int_equal(harness_run_with(&h, p, options, (const void *[]){ x, w }, (void *[]){ y }), INTERP_OK);
        text_free(&text);
        harness_close(&h);
}

/* channel c of output o lies at [c / 64][o][c / 8 % 8 ^ o % 8][c % 8] */
static bool is_right(const float y[POSITIONS * OUTPUTS])
{
        for (int p = 0; p < POSITIONS; p++)
                for (int o = 0; o < OUTPUTS; o++) {
                        double sum = 0;
                        for (int c = 0; c < CHANNELS; c++) {
                                int i = p * CHANNELS + c, k = ((c / 64 * OUTPUTS + o) * 8 + (c / 8 % 8 ^ o % 8)) * 8 + c % 8;
                                sum += number(i + i / 384) * number(3 * k + k / 16);
                        }
                        if (y[p * OUTPUTS + o] != (float)sum)
                                return false;
                }
        return true;
}

static void test_both_executions(void **state)
{
        (void)state;
        static float y[POSITIONS * OUTPUTS];
        for (int mode = 0; mode < 4; mode++) {
                const struct interp_options options = { .late = mode & 1, .plain = mode & 2 };
                run("settle 0", options, y);
                assert_true(is_right(y));
                run("settle 1", options, y);
                assert_true(is_right(y));
        }
}

/* a stage is copied into while it is still to be multiplied: only the late execution shows it */
static void test_a_settle_too_weak(void **state)
{
        (void)state;
        static float y[POSITIONS * OUTPUTS];
        run("settle 2", (struct interp_options){ 0 }, y);
        assert_true(is_right(y));
        run("settle 3", (struct interp_options){ .late = true }, y);
        assert_false(is_right(y));
}

static void test_text(void **state)
{
        (void)state;
        struct harness h;
        struct text text = { 0 }, first = { 0 }, second = { 0 };
        harness_open(&h);
        kernel(&text, "settle 1", "settle 0");
        struct loop_program *q = harness_parse(&h, text.data);
        loop_print(&first, q, NULL);
        struct loop_program *p = loop_parse(h.arena, first.data, first.length, NULL, NULL, h.library, &h.diag);
        if (!p || !loop_verify(p, &h.diag))
                fail_msg("%s", harness_said(&h));
        loop_print(&second, p, NULL);
        assert_string_equal(first.data, second.data);
        assert_non_null(strstr(first.data, "step 64 jump 1024 swizzle 8 warp_group\n"));
        assert_non_null(strstr(first.data, "copy %ws[%t % 3 * 1024] = %w[%t * 1024] of 1024\n"));
        assert_non_null(strstr(first.data, "rows 16 columns 1 to 2 step 16\n"));
        assert_non_null(strstr(first.data, "settle 1\n"));
        text_free(&text);
        text_free(&first);
        text_free(&second);
        harness_close(&h);
}

/* whatever is said of a kernel is part of its digest */
static void test_digest(void **state)
{
        (void)state;
        static const char *const words[][2] = { { "settle 1", "settle 2" }, { "step 64", "step 72" },
                                                { "columns 1 to 2", "columns 0 to 1" }, { "of 1024", "of 128" } };
        for (int i = 0; i < 4; i++) {
                char hex[2][65];
                for (int k = 0; k < 2; k++) {
                        struct harness h;
                        struct text text = { 0 }, scratch = { 0 }, changed = { 0 };
                        harness_open(&h);
                        kernel(&text, "settle 1", "settle 0");
                        const char *at = strstr(text.data, words[i][0]);
                        assert_non_null(at);
                        text_add(&changed, "loop 4\nprogram \"test\" source \"\"\n%.*s%s%s", (int)(at - text.data), text.data, words[i][k],
                                 at + strlen(words[i][0]));
                        struct loop_program *p = loop_parse(h.arena, changed.data, changed.length, NULL, NULL, h.library, &h.diag);
                        if (!p)
                                fail_msg("%s", harness_said(&h));
                        loop_digest(p->kernels, &scratch, hex[k]);
                        text_free(&text);
                        text_free(&changed);
                        text_free(&scratch);
                        harness_close(&h);
                }
                assert_string_not_equal(hex[0], hex[1]);
        }
}

/* what stands in a block of 4 warps, with %acc, %xs and %ws; M: a product of a warp group, U: loads of its sums */
static const struct { const char *body, *message; } wrong[] = {
        { "M", "under way at its end" },
        { "M settle 1", "under way at its end" },
        { "M U settle 0", "%acc is touched before its products are settled" },
        { "M settle 1 U settle 0", "%acc is touched before its products are settled" },
        { "M C commit wait 0 settle 0", "%ws is copied into before products of it are settled" },
        { "for %j = 0 to 2 { C commit wait 0 M } settle 0", "%ws is copied into before products of it are settled" },
        { "for %j = 0 to 2 { if %j > 0 { settle 1 } C commit wait 0 M } settle 0", "%ws is copied into before products" },
        { "M settle 1 W store %ws[0] = 0.0 } settle 0", "%ws is written while products of it are under way" },
        { "C commit M settle 0 wait 0", "%ws is read before what is copied into it was waited for" },
        { "W M } settle 0", "%acc is not of all warps, which multiply together" },
        { "W settle 0 }", "for all warps to do alike" },
        { "N", "%acc is of warps, and of none of them here" },
        { "settle 16", "products is out of range" },
        { "L", "lines of 4 words, 8 deep, for 8 lanes" },
};

static void put_body(struct text *text, const char *body)
{
        static const char multiply[] = "multiply %acc += %xs[0] * %ws[0] by add_product rows 16 depth 8 group 8 step 64 jump 1024 swizzle 8";
        for (int warps = 0; *body; body++) {
                bool alone = (body[1] == ' ' || !body[1]);
                if (*body == 'W' && alone)
                        text_add(text, "for %%v%d = 0 to 4 gpu_warp {\n", warps++);
                else if (*body == 'M' && alone)
                        text_add(text, "%s warp_group\n", multiply);
                else if (*body == 'L' && alone)
                        text_add(text, "%.*s4 warp_group\n", (int)sizeof multiply - 2, multiply);
                else if (*body == 'N' && alone)
                        text_add(text, "%s\n", multiply);
                else if (*body == 'C' && alone)
                        text_add(text, "copy %%ws[0] = %%w[0] of 256\n");
                else if (*body == 'U' && alone)
                        text_add(text, "for %%v%d = 0 to 4 gpu_warp {\nunload %%y[%%v%d * 256] = %%acc rows 16\n}\n", warps, warps), warps++;
                else
                        text_add(text, "%c", *body);
        }
}

static void test_wrong(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                struct harness h;
                struct text text = { 0 };
                harness_open(&h);
                text_add(&text, "loop 4\nprogram \"test\" source \"\"\nbuffer @w : f16[256] input \"w\"\nbuffer @y : f32[1024] output \"y\"\n"
                                "kernel @k(%%w: in f16[256], %%y: out f32[1024]) {\n  for %%b = 0 to 1 gpu_block {\n"
                                "var %%acc : f32x8tile[16][2] warps 4\nalloc %%xs : f16[4096] shared\nalloc %%ws : f16[1024] shared\n");
                put_body(&text, wrong[i].body);
                text_add(&text, "\n}\n}\nmain {\n  call @k(@w, @y)\n}\n");
                struct loop_program *p = loop_parse(h.arena, text.data, text.length, NULL, NULL, h.library, &h.diag);
                if (p && loop_verify(p, &h.diag))
                        fail_msg("accepted: %s", wrong[i].body);
                if (!strstr(harness_said(&h), wrong[i].message))
                        fail_msg("%s\nfor\n%s\nwant %s", harness_said(&h), wrong[i].body, wrong[i].message);
                text_free(&text);
                harness_close(&h);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_both_executions), cmocka_unit_test(test_a_settle_too_weak), cmocka_unit_test(test_text),
                cmocka_unit_test(test_digest),          cmocka_unit_test(test_wrong),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
