/* SPDX-License-Identifier: MIT */
/* Register tiles that each warp of a block has its own of: a product in hardware tiles, stages of its operands copied into
 * shared memory while others are multiplied, sums unloaded in parts. */
#include "test/unit/interp_harness.h"

enum { M = 32, N = 32, K = 64, GROUP = 8, STEP = 24 };

/* two warps of 16 x 32 sums; 16 channels a stage, rows of x 24 elements apart; w [K / 8][4][8][8] */
static const char product[] =
        "buffer @x : f16[2048] input \"x\"\n"
        "buffer @w : f16[2048] input \"w\"\n"
        "buffer @y : f32[1024] output \"y\"\n"
        "kernel @k(%x: in f16[2048], %w: in f16[2048], %y: out f32[1024]) {\n"
        "  for %b = 0 to 1 gpu_block {\n"
        "    var %acc : f32x8tile[16][4] warps 2\n"
        "    alloc %xs : f16[1536] shared\n"
        "    alloc %ws : f16[1024] shared\n"
        "    alloc %sums : f32[640] shared\n"
        "    for %t = 0 to 5 {\n"
        "      wait 0\n"
        "      for %v = 0 to 2 gpu_warp {\n"
        "        if %t > 0 {\n"
        "          multiply %acc += %xs[(%t + 1) % 2 * 768 + %v * 384] * %ws[(%t + 1) % 2 * 512] by add_product "
        "rows 16 depth 2 group 8 step 24 jump 384\n"
        "        }\n"
        "        if %t < 4 {\n"
        "          for %l = 0 to 32 gpu_lane {\n"
        "            let %row : index = %v * 16 + %l / 2\n"
        "            copy %xs[%t % 2 * 768 + %row * 24 + %l % 2 * 8] = %x[%row * 64 + %t * 16 + %l % 2 * 8] of 8\n"
        "            copy %ws[%t % 2 * 512 + (%v * 32 + %l) * 8] = %w[%t * 512 + (%v * 32 + %l) * 8] of 8\n"
        "          }\n"
        "        }\n"
        "      }\n"
        "      commit\n"
        "    }\n"
        "    wait 0\n"
        "    for %part = 0 to 2 {\n"
        "      for %u = 0 to 2 gpu_warp {\n"
        "        if %part == 0 {\n"
        "          unload %sums[%u * 320] = %acc rows 8 from 0 to 8 step 40\n"
        "        } else {\n"
        "          unload %sums[%u * 320] = %acc rows 8 from 8 to 16 step 40\n"
        "        }\n"
        "        for %r = 0 to 8 {\n"
        "          for %m = 0 to 32 gpu_lane {\n"
        "            store %y[(%u * 16 + %part * 8 + %r) * 32 + %m] = %sums[%u * 320 + %r * 40 + %m]\n"
        "          }\n"
        "        }\n"
        "      }\n"
        "    }\n"
        "  }\n"
        "}\n"
        "main {\n  call @k(@x, @w, @y)\n}\n";

static void test_product(void **state)
{
        (void)state;
        uint16_t x[M * K], w[K * N];
        float numbers[2][M * K], y[M * N];
        for (int i = 0; i < M * K; i++) {
                numbers[0][i] = (float)((i * 37) % 17 - 8);
                numbers[1][i] = (float)((i * 101) % 13 - 6);
                element_store(E_F16, x, (size_t)i, (union scalar){ .f = numbers[0][i] });
        }
        for (int k = 0; k < K; k++)
                for (int n = 0; n < N; n++)
                        element_store(E_F16, w, (size_t)(((k / GROUP * 4 + n / 8) * 8 + n % 8) * GROUP + k % GROUP),
                                      (union scalar){ .f = numbers[1][k * N + n] });
        for (int mode = 0; mode < 4; mode++) {
                struct harness h;
                harness_open(&h);
                memset(y, 0, sizeof y);
                struct loop_program *p = harness_parse(&h, product);
                const struct interp_options options = { .late = mode & 1, .plain = mode & 2 };
                assert_int_equal(harness_run_with(&h, p, options, (const void *[]){ x, w }, (void *[]){ y }), INTERP_OK);
                for (int m = 0; m < M; m++)
                        for (int n = 0; n < N; n++) {
                                float sum = 0;
                                for (int k = 0; k < K; k++)
                                        sum += numbers[0][m * K + k] * numbers[1][k * N + n];
                                assert_true(y[m * N + n] == sum);
                        }
                harness_close(&h);
        }
}

/* what is printed of it, to be freed, which reads back as it is printed */
static struct loop_program *read_back(struct harness *h, const char *source, struct text *printed)
{
        struct text again = { 0 };
        loop_print(printed, harness_parse(h, source), NULL);
        struct loop_program *p = loop_parse(h->arena, printed->data, printed->length, NULL, NULL, h->library, &h->diag);
        if (!p || !loop_verify(p, &h->diag))
                fail_msg("%s", harness_said(h));
        loop_print(&again, p, NULL);
        assert_string_equal(printed->data, again.data);
        text_free(&again);
        return p;
}

/* sums of two blocks of channels, the first ones scaled before the second are added; words of w transposed */
static const char scaled[] =
        "buffer @x : f16[256] input \"x\"\n"
        "buffer @w : f16[256] input \"w\"\n"
        "buffer @f : f32[16] input \"f\"\n"
        "buffer @y : f32[256] output \"y\"\n"
        "kernel @k(%x: in f16[256], %w: in f16[256], %f: in f32[16], %y: out f32[256]) {\n"
        "  for %b = 0 to 1 gpu_block {\n"
        "    var %acc : f32x8tile[16][2] warps 1\n"
        "    for %v = 0 to 1 gpu_warp {\n"
        "      multiply %acc += %x[0] * %w[0] by add_product rows 16 depth 1 group 8 step 16 jump 256 transposed\n"
        "      scale %acc by %f[0] rows 16\n"
        "      multiply %acc += %x[8] * %w[128] by add_product rows 16 depth 1 group 8 step 16 jump 256 transposed\n"
        "      unload %y[0] = %acc rows 16\n"
        "    }\n"
        "  }\n"
        "}\n"
        "main {\n  call @k(@x, @w, @f, @y)\n}\n";

static void test_scaled(void **state)
{
        (void)state;
        enum { ROWS = 16, OUTPUTS = 16 };
        uint16_t x[ROWS * 16], w[16 * OUTPUTS];
        float f[ROWS], y[ROWS * OUTPUTS], numbers[2][256];
        struct text first = { 0 };
        for (int i = 0; i < 256; i++) {
                numbers[0][i] = (float)((i * 37) % 17 - 8);
                numbers[1][i] = (float)((i * 101) % 13 - 6);
                element_store(E_F16, x, (size_t)i, (union scalar){ .f = numbers[0][i] });
        }
        for (int k = 0; k < 16; k++)
                for (int n = 0; n < OUTPUTS; n++)
                        element_store(E_F16, w, (size_t)(((k / 8 * 2 + n / 8) * 8 + k % 8) * 8 + n % 8), (union scalar){ .f = numbers[1][k * OUTPUTS + n] });
        for (int i = 0; i < ROWS; i++)
                f[i] = (float)(i % 5 - 2);
        struct harness h;
        harness_open(&h);
        struct loop_program *p = read_back(&h, scaled, &first);
        assert_int_equal(harness_run_with(&h, p, (struct interp_options){ 0 }, (const void *[]){ x, w, f }, (void *[]){ y }), INTERP_OK);
        for (int m = 0; m < ROWS; m++)
                for (int n = 0; n < OUTPUTS; n++) {
                        float sums[2] = { 0 };
                        for (int k = 0; k < 16; k++)
                                sums[k / 8] += numbers[0][m * 16 + k] * numbers[1][k * OUTPUTS + n];
                        assert_true(y[m * OUTPUTS + n] == sums[0] * f[m] + sums[1]);
                }
        text_free(&first);
        harness_close(&h);
}

/* lanes change what they have of two warps' sums, [32, 16], and store where it lies; then sums are rounded and multiplied: [32, 8] */
static const char owned[] =
        "buffer @x : f16[256] input \"x\"\n"
        "buffer @w : f16[128] input \"w\"\n"
        "buffer @v : f16[128] input \"v\"\n"
        "buffer @s : f32[512] output \"s\"\n"
        "buffer @y : f32[256] output \"y\"\n"
        "kernel @k(%x: in f16[256], %w: in f16[128], %v: in f16[128], %s: out f32[512], %y: out f32[256]) {\n"
        "  for %b = 0 to 1 gpu_block {\n"
        "    var %acc : f32x8tile[16][1] warps 2\n"
        "    var %tile : f32x8tile[16][2] warps 2\n"
        "    for %u = 0 to 2 gpu_warp {\n"
        "      multiply %tile += %x[%u * 128] * %w[0] by add_product rows 16 depth 1 group 8 step 8 jump 128 transposed\n"
        "      for %l = 0 to 32 gpu_lane {\n"
        "        alloc %own : f32[8] stack\n"
        "        take %own = %tile lane %l rows 16\n"
        "        for %i = 0 to 8 unroll {\n"
        "          let %row : index = %u * 16 + %i / 2 % 2 * 8 + %l / 4\n"
        "          let %column : index = %i / 4 * 8 + %l % 4 * 2 + %i % 2\n"
        "          let %more : f32 = %own[%i] + f32(%row * 16 + %column) / 3\n"
        "          store %own[%i] = %more\n"
        "          store %s[%row * 16 + %column] = %more\n"
        "        }\n"
        "        give %tile = %own lane %l rows 16\n"
        "      }\n"
        "      multiply %acc += %tile * %v[0] by add_product rows 16 depth 2 group 8 transposed\n"
        "      unload %y[%u * 128] = %acc rows 16\n"
        "    }\n"
        "  }\n"
        "}\n"
        "main {\n  call @k(@x, @w, @v, @s, @y)\n}\n";

static float rounded(float f)
{
        uint16_t half;
        element_store(E_F16, &half, 0, (union scalar){ .f = f });
        return (float)element_load(E_F16, &half, 0).f;
}

static void test_owned(void **state)
{
        (void)state;
        enum { ROWS = 32, SCORES = 16, DEPTH = 8, OUTPUTS = 8 };
        uint16_t x[ROWS * DEPTH], w[DEPTH * SCORES], v[SCORES * OUTPUTS];
        float numbers[3][256], s[ROWS * SCORES], y[ROWS * OUTPUTS];
        for (int i = 0; i < 256; i++) {
                numbers[0][i] = (float)((i * 37) % 17 - 8);
                numbers[1][i] = (float)((i * 101) % 13 - 6);
                numbers[2][i] = (float)((i * 53) % 11 - 5);
                element_store(E_F16, x, (size_t)i, (union scalar){ .f = numbers[0][i] });
        }
        for (int k = 0; k < DEPTH; k++)
                for (int n = 0; n < SCORES; n++)
                        element_store(E_F16, w, (size_t)((n / 8 * 8 + k) * 8 + n % 8), (union scalar){ .f = numbers[1][k * SCORES + n] });
        for (int i = 0; i < SCORES * OUTPUTS; i++)
                element_store(E_F16, v, (size_t)i, (union scalar){ .f = numbers[2][i] });
        for (int plain = 0; plain < 2; plain++) {
                struct harness h;
                struct text first = { 0 };
                harness_open(&h);
                struct loop_program *p = read_back(&h, owned, &first);
                const struct interp_options options = { .plain = plain };
                assert_int_equal(harness_run_with(&h, p, options, (const void *[]){ x, w, v }, (void *[]){ s, y }), INTERP_OK);
                for (int m = 0; m < ROWS; m++)
                        for (int n = 0; n < SCORES; n++) {
                                float sum = 0;
                                for (int k = 0; k < DEPTH; k++)
                                        sum += numbers[0][m * DEPTH + k] * numbers[1][k * SCORES + n];
                                assert_true(s[m * SCORES + n] == sum + (float)(m * SCORES + n) / 3);
                        }
                for (int m = 0; m < ROWS; m++)
                        for (int o = 0; o < OUTPUTS; o++) {
                                float parts[8] = { 0 }, sum;
                                for (int n = 0; n < SCORES; n++)
                                        parts[n % 8] += rounded(s[m * SCORES + n]) * numbers[2][n * OUTPUTS + o];
                                sum = parts[0];
                                for (int i = 1; i < 8; i++)
                                        sum += parts[i];
                                assert_true(y[m * OUTPUTS + o] == sum);
                        }
                text_free(&first);
                harness_close(&h);
        }
}

static void test_text(void **state)
{
        (void)state;
        struct harness h;
        struct text first = { 0 };
        harness_open(&h);
        read_back(&h, product, &first);
        assert_non_null(strstr(first.data, "var %acc : f32x8tile[16][4] warps 2\n"));
        assert_non_null(strstr(first.data, "= %acc rows 8 from 8 to 16 step 40\n"));
        text_free(&first);
        harness_close(&h);
}

/* A: the tiles of two warps; W: a loop over them; L: over lanes */
static const struct { const char *body, *message; } wrong[] = {
        { "A for %w = 0 to 3 gpu_warp { }", "3 warps, but 2 before" },
        { "for %w = 0 to 3 gpu_warp { } A", "2 warps, but 3 before" },
        { "A unload %s[0] = %acc rows 16", "is of warps, and of none of them here" },
        { "A W for %l = 0 to 32 gpu_lane { unload %s[0] = %acc rows 16 } }", "is shared by the iterations" },
        { "W var %acc : f32x8tile[16][1] warps 2 }", "register tiles of their block" },
        { "var %a : f32 warps 2", "register tiles of their block" },
        { "var %a : f32x8[2][2] warps 2 set %a{0, 0} = 1:f32x8", "is of warps, and of none of them here" },
        { "var %a : f32x8[2][2] warps 2 W for %l = 0 to 2 gpu_lane { store %s[0] = lane(%a{0, 0}, 0) } }", "is shared by the iterations" },
        { "var %a : f32x8[2][2] warps 33", "warps is out of range" },
        { "A W scale %acc by %h[0] rows 16 }", "are scaled by f16" },
        { "A W scale %acc by %s[0] rows 0 }", "" },
        { "A W unload %s[0] = %acc rows 16 from 0 to 17 }", "the end of positions is out of range" },
        { "A W unload %s[0] = %acc rows 16 from 8 to 16 }", "sums are no tiles" },
        { "A W take %s = %acc lane %w rows 16 }", "is shared by the iterations" },
        { "A W L take %s = %acc lane %l rows 16 } }", "not in memory of its own" },
        { "A W L alloc %o : f32[8] stack take %o = %acc lane %l rows 16 } }", "of another size" },
        { "A W L alloc %o : f32[4] stack take %o = %acc lane %w rows 16 } }", "not that of one of 32 lanes" },
        { "A W L alloc %o : f32[4] stack take %o = %acc lane %l + 1 rows 16 } }", "no variable of a loop" },
        { "A W L alloc %o : f32[4] stack take %o = %acc lane %l rows 8 } }", "lanes have no parts of these sums" },
        { "A W for %l = 0 to 16 gpu_lane { alloc %o : f32[4] stack take %o = %acc lane %l rows 16 } }", "not that of one of 32 lanes" },
        { "A W L alloc %o : i32[4] stack give %acc = %o lane %l rows 16 } }", "not in memory of its own" },
        { "A W L give %acc = %acc lane %l rows 16 } }", "only memory holds" },
        { "A W multiply %acc += %acc * %h[0] by add_product rows 16 depth 1 group 8 transposed }", "what is multiplied are no sums" },
        { "A var %t : f32x8tile[16][2] warps 2 W multiply %acc += %t * %h[0] by add_product rows 16 depth 1 group 8 transposed } ", "what is multiplied are no sums" },
        { "A var %t : f32x8tile[32][1] warps 2 W multiply %acc += %t * %h[0] by add_product rows 16 depth 1 group 8 transposed } ", "what is multiplied are no sums" },
        { "A var %t : f32x8tile[16][1] warps 2 W multiply %acc += %t * %h[0] by add_product rows 16 depth 1 group 8 step 8 jump 8 } ", "" },
        { "A W multiply %acc += %h[0] * %h[0] by add_product rows 16 depth 2 group 2 step 8 jump 128 } "
          "let %z : f32x8 = %acc{0, 0}", "" },
};

static void test_wrong(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                struct harness h;
                struct text text = { 0 };
                harness_open(&h);
                text_add(&text, "loop 4\nprogram \"test\" source \"\"\nkernel @k(%%h: in f16[512], %%y: out f32[64]) {\n"
                                "for %%b = 0 to 2 gpu_block {\nalloc %%s : f32[512] shared\n");
                for (const char *c = wrong[i].body; *c; c++)
                        if (*c == 'A')
                                text_add(&text, "var %%acc : f32x8tile[16][1] warps 2");
                        else if (*c == 'W')
                                text_add(&text, "for %%w = 0 to 2 gpu_warp {");
                        else if (*c == 'L')
                                text_add(&text, "for %%l = 0 to 32 gpu_lane {");
                        else
                                text_add(&text, "%c", *c);
                text_add(&text, "\n}\n}\nmain {\n}\n");
                struct loop_program *p = loop_parse(h.arena, text.data, text.length, NULL, NULL, h.library, &h.diag);
                if ((p && loop_verify(p, &h.diag)) || !strstr(harness_said(&h), wrong[i].message))
                        fail_msg("%s: wanted '%s', got '%s'", wrong[i].body, wrong[i].message, harness_said(&h));
                text_free(&text);
                harness_close(&h);
        }
}

/* the same digest but for the number of warps: another one */
static void test_digest(void **state)
{
        (void)state;
        char hex[2][65];
        for (int i = 0; i < 2; i++) {
                struct harness h;
                struct text text = { 0 }, scratch = { 0 };
                harness_open(&h);
                text_add(&text, "kernel @k(%%y: out f32[64]) {\n  for %%b = 0 to 1 gpu_block {\n"
                                "    var %%a : f32x8[1][1] warps %d\n  }\n}\nmain {\n}\n", i + 1);
                loop_digest(harness_parse(&h, text.data)->kernels, &scratch, hex[i]);
                text_free(&text);
                text_free(&scratch);
                harness_close(&h);
        }
        assert_string_not_equal(hex[0], hex[1]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_product), cmocka_unit_test(test_scaled), cmocka_unit_test(test_owned), cmocka_unit_test(test_text),
                cmocka_unit_test(test_wrong),   cmocka_unit_test(test_digest),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
