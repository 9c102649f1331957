/* SPDX-License-Identifier: MIT */
/* Digests of kernels: the same for what differs in names alone, another for any other difference. */
#include "loop_harness.h"

/* two kernels, and texts in them with what else may stand there; NULL: another name, no difference */
static const char kernel[] =
        "loop 3 program \"p\" source \"\" "
        "kernel @k(%x: in u8[64], %y: inout f32[64] class 1, %z: in f32[64] class 1, %n: index, %f: f32) { "
        "let %a : f32 = %z[%n] "
        "let %b : f32 = %z[0] "
        "var %acc : f32x4[2][2] "
        "alloc %one : f32[8] stack "
        "alloc %two : f32[8] stack "
        "for %i = 0 to 8 step 2 unroll { "
        "let %w : u32x4 = %x<4 u32 of 4>[%i] "
        "let %p : f32x4 = %z<4>[%i, splat<4>(%i) < ramp<4>(0, 1)] "
        "set %acc{0, 1} = %p + f32(%w) "
        "store %one[%i] = exp(%a) * 0.5 "
        "if %n < 3 { store %y[%i] = %a streaming } else { fail INDEX } "
        "} "
        "while %n > 5 { prefetch %z[7] 0 } "
        "prefetch %z[3] 1 "
        "store %y[0] = lane(%acc{0, 1}, 2) - %two[0] + %f "
        "tiles 4 by 1 rows 2 depth 4 lanes 16 word 4 sums 0 to 4 x 4 to 5 w 5 to 7 "
        "var %sum : f32x16tile[4][1] in 0 to 2 "
        "multiply %sum += %z[0] * %one[0] by add_product rows 2 depth 4 group 1 step 8 jump 16 x 4 to 5 w 5 to 6 "
        "} "
        "kernel @grid(%g: in f32[64], %h: in f32[64]) { for %b = 0 to 1 gpu_block { "
        "alloc %s : f32[64] shared alloc %t : f32[64] shared for %v = 0 to 1 gpu_warp { "
        "copy %s[ramp<4>(0, 4)] = %g[ramp<4>(20, 4)] of 4 mask splat<4>(%b < 4) "
        "} commit wait 1 wait 0 } "
        "for %c = 0 to 1 gpu_cluster { alloc %r : f32[8] cluster for %k = 0 to 2 gpu_block { for %v2 = 0 to 1 gpu_warp { store %r[%k * 4] = 1 } } } } "
        "main { }";
static const struct { const char *here, *other; bool name; } differences[] = {
        { "%a", "%renamed", true },
        { "%acc", "%sums", true },
        { "%one", "%memory", true },
        { "%x", "%bytes", true },
        { "%f", "%factor", true },
        { "%x: in u8[64]", "%x: in i8[64]", false },
        { "%z: in f32[64] class 1", "%z: in f32[65] class 1", false },
        { "%z: in f32[64] class 1", "%z: in f32[64]", false },
        { "%y: inout", "%y: out", false },
        { "%n: index, %f: f32) {", "%n: index, %f: f32, %g: f32) {", false },
        { "%z[%n]", "%z[%n + 0 * %n]", false },
        { "exp(%a)", "exp(%b)", false },
        { "exp(%a)", "tanh(%a)", false },
        { "* 0.5", "* 0.25", false },
        { "* 0.5", "/ 0.5", false },
        { "%acc : f32x4[2][2]", "%acc : f32x4[3][2]", false },
        { "%acc : f32x4[2][2]", "%acc : f32x4[2][3]", false },
        { "set %acc{0, 1}", "set %acc{0, 0}", false },
        { "set %acc{0, 1}", "set %acc{1, 1}", false },
        { "lane(%acc{0, 1}", "lane(%acc{1, 1}", false },
        { "lane(%acc{0, 1}", "lane(%acc{0, 0}", false },
        { "%one : f32[8] stack", "%one : f32[9] stack", false },
        { "%two[0]", "%one[0]", false },
        { "to 8 step", "to 6 step", false },
        { "step 2", "step 4", false },
        { "unroll", "", false },
        { "%x<4 u32 of 4>", "%x<4 u32 of 2>", false },
        { ", splat<4>(%i) < ramp<4>(0, 1)]", "]", false },
        { "ramp<4>(0, 1)", "ramp<4>(0, 2)", false },
        { "streaming", "", false },
        { "fail INDEX", "fail EXTENT", false },
        { "if %n < 3 { store %y[%i] = %a streaming } else { fail INDEX }",
          "if %n < 3 { store %y[%i] = %a streaming fail INDEX }", false },
        { "prefetch %z[7] 0", "", false },
        { "%z[3] 1", "%z[3] 2", false },
        { "tiles 4 by 1 rows 2", "tiles 4 by 1 rows 4", false },
        { "word 4", "word 1", false },
        { "sums 0 to 4", "sums 0 to 3", false },
        { "w 5 to 7", "w 5 to 8", false },
        { "in 0 to 2", "in 2 to 4", false },
        { "w 5 to 6", "w 6 to 7", false },
        { "%z[0] * %one[0]", "%one[0] * %z[0]", false },
        { "step 8", "step 4", false },
        { "jump 16", "jump 32", false },
        { "copy %s", "copy %t", false },
        { "= %g[ramp<4>", "= %h[ramp<4>", false },
        { "ramp<4>(20, 4)", "ramp<4>(24, 4)", false },
        { ")] of 4", ")] of 2", false },
        { " mask splat<4>(%b < 4)", "", false },
        { "for %c = 0 to 1 gpu_cluster", "for %c = 0 to 2 gpu_cluster", false },
        { "store %r[%k * 4] = 1 } }", "} }", false },
        { "commit wait 1", "commit", false },
        { "wait 1", "wait 2", false },
};

static void replace(struct text *out, const char *text, const char *here, const char *other, bool all)
{
        size_t length = strlen(here);
        bool more = true;
        for (const char *p = text; *p;) {
                bool is_here = more && !strncmp(p, here, length);
                if (is_here && (!all || (p[length] != '_' && !(p[length] >= 'a' && p[length] <= 'z')))) {
                        text_add(out, "%s", other);
                        p += length;
                        more = all;
                } else {
                        text_add_bytes(out, p++, 1);
                }
        }
}

/* of both kernels, one behind the other */
enum { DIGITS = 64, DIGESTS = 2 * DIGITS + 1 };
static void digest_of(struct bench *b, const char *text, char hex[DIGESTS])
{
        struct text scratch = { 0 };
        const struct loop_function *first = parse_well(b, text)->kernels;
        loop_digest(first, &scratch, hex);
        loop_digest(first->next, &scratch, hex + DIGITS);
        text_free(&scratch);
}

static void test_digests(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        char whole[DIGESTS], digests[sizeof differences / sizeof *differences][DIGESTS];
        digest_of(&b, kernel, whole);
        for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
                struct text t = { 0 };
                replace(&t, kernel, differences[i].here, differences[i].other, differences[i].name);
                assert_string_not_equal(t.data, kernel);
                digest_of(&b, t.data, digests[i]);
                text_free(&t);
                if (!strcmp(digests[i], whole) != differences[i].name)
                        fail_msg("%s for %s: %s", differences[i].other, differences[i].here,
                                 differences[i].name ? "another digest" : "the same digest");
                for (size_t k = 0; k < i && !differences[i].name; k++)
                        assert_string_not_equal(digests[i], digests[k]);
        }
        bench_close(&b);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_digests) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
