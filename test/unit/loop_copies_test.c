/* SPDX-License-Identifier: MIT */
/* Asynchronous copies: their text, what the verifier demands of them, and that a kernel which waits as it must computes the
 * same whether they arrive at once or as late as may be. */
#include "test/unit/interp_harness.h"

enum { ROWS = 6, ROW = 64, STAGES = 3 };

/* y[b] = the sums of columns of x, rows of it through a circular buffer of stages; what stands for the wait may be changed */
static void circular(struct text *text, const char *wait, const char *last)
{
        text_add(text,
                 "buffer @x : f32[384] input \"x\"\n"
                 "buffer @y : f32[128] output \"y\"\n"
                 "kernel @k(%%x: in f32[384], %%y: out f32[128]) {\n"
                 "  for %%b = 0 to 2 gpu_block {\n"
                 "    alloc %%sums : f32[64] shared\n"
                 "    alloc %%circular : f32[192] shared\n"
                 "    for %%w = 0 to 2 gpu_warp {\n"
                 "      store %%sums[%%w * 32] = splat<32>(f32(%%b))\n"
                 "    }\n"
                 "    for %%s = 0 to 2 {\n"
                 "      for %%u = 0 to 2 gpu_warp {\n"
                 "        copy %%circular[ramp<8>(%%s * 64 + %%u * 32, 4)] = %%x[ramp<8>(%%s * 64 + %%u * 32, 4)] of 4\n"
                 "      }\n"
                 "      commit\n"
                 "    }\n"
                 "    for %%t = 0 to 6 {\n"
                 "      %s\n"
                 "      for %%v = 0 to 2 gpu_warp {\n"
                 "        let %%row : f32x32 = %%circular<32>[%%t %% 3 * 64 + %%v * 32]\n"
                 "        store %%sums[%%v * 32] = %%sums<32>[%%v * 32] + %%row\n"
                 "        let %%to : indexx8 = ramp<8>((%%t + 2) %% 3 * 64 + %%v * 32, 4)\n"
                 "        let %%from : indexx8 = ramp<8>(min(%%t + 2, 5) * 64 + %%v * 32, 4)\n"
                 "        copy %%circular[%%to] = %%x[%%from] of 4 mask splat<8>(%%t + 2 < 6)\n"
                 "      }\n"
                 "      commit\n"
                 "    }\n"
                 "    %s\n"
                 "    for %%z = 0 to 2 gpu_warp {\n"
                 "      store %%y[%%b * 64 + %%z * 32] = %%sums<32>[%%z * 32] + %%circular<32>[%%z * 32]\n"
                 "    }\n"
                 "  }\n"
                 "}\n"
                 "main {\n  call @k(@x, @y)\n}\n",
                 wait, last);
}

static int run_circular(const char *wait, struct interp_options options, float y[2 * ROW])
{
        struct harness h;
        struct text text = { 0 };
        float x[ROWS * ROW];
        fill(x, ROWS * ROW, 5);
        harness_open(&h);
        circular(&text, wait, "wait 0");
        struct loop_program *p = harness_parse(&h, text.data);
        int code = harness_run_with(&h, p, options, (const void *[]){ x }, (void *[]){ y });
        text_free(&text);
        harness_close(&h);
        return code;
}

static void expect_sums(float y[2 * ROW])
{
        float x[ROWS * ROW];
        fill(x, ROWS * ROW, 5);
        for (int i = 0; i < 2 * ROW; i++) {
                float sum = (float)(i / ROW);
                for (int r = 0; r < ROWS; r++)
                        sum += x[r * ROW + i % ROW];
                /* the first stage has the zeros of a copy that was masked: rows 6, 7 and 8 are not there */
                assert_true(y[i] == sum + 0.0f);
        }
}

/* two stages under way: a wait for all but one */
static void test_both_executions(void **state)
{
        (void)state;
        for (int mode = 0; mode < 4; mode++) {
                float y[2 * ROW] = { 0 };
                const struct interp_options options = { .late = mode & 1, .plain = mode & 2 };
                assert_int_equal(run_circular("wait 1", options, y), INTERP_OK);
                expect_sums(y);
                assert_int_equal(run_circular("wait 0", options, y), INTERP_OK);
                expect_sums(y);
        }
}

/* a wait for one group less reads what may not be there: only the late execution shows it */
static void test_a_wait_too_weak(void **state)
{
        (void)state;
        float y[2 * ROW] = { 0 };
        assert_int_equal(run_circular("wait 2", (struct interp_options){ 0 }, y), INTERP_OK);
        expect_sums(y);
        assert_int_equal(run_circular("wait 2", (struct interp_options){ .late = true }, y), INTERP_OK);
        assert_true(isnan(y[0]) && isnan(y[2 * ROW - 1]));
}

/* whole numbers, other widths, lanes that are masked */
static void test_elements(void **state)
{
        (void)state;
        static const char body[] =
                "buffer @x : i8[256] input \"x\"\nbuffer @h : f16[64] input \"h\"\nbuffer @y : i32[64] output \"y\"\n"
                "kernel @k(%x: in i8[256], %h: in f16[64], %y: out i32[64]) {\n"
                "  for %b = 0 to 1 gpu_block {\n"
                "    alloc %s : i8[256] shared\n    alloc %t : f16[64] shared\n"
                "    for %w = 0 to 1 gpu_warp {\n"
                "      let %lane : indexx32 = ramp<32>(0, 1)\n"
                "      copy %s[%lane * splat<32>(8)] = %x[ramp<32>(248, -8)] of 8 mask %lane % splat<32>(3) != splat<32>(0)\n"
                "      copy %t[ramp<32>(0, 2)] = %h[ramp<32>(0, 2)] of 2\n"
                "    }\n"
                "    commit\n    wait 0\n"
                "    for %v = 0 to 1 gpu_warp {\n"
                "      store %y[0] = i32(%s[ramp<32>(0, 8)]) + i32(%t<32>[0])\n"
                "      store %y[32] = i32(%s[ramp<32>(7, 8)]) + i32(%t<32>[32])\n"
                "    }\n"
                "  }\n}\nmain {\n  call @k(@x, @h, @y)\n}\n";
        int8_t x[256];
        uint16_t halves[64];
        for (int i = 0; i < 256; i++)
                x[i] = (int8_t)(i * 37);
        for (int i = 0; i < 64; i++)
                element_store(E_F16, halves, (size_t)i, (union scalar){ .f = i * 3 - 60 });
        for (int late = 0; late < 2; late++) {
                struct harness h;
                int32_t y[64] = { 0 };
                harness_open(&h);
                struct loop_program *p = harness_parse(&h, body);
                assert_int_equal(harness_run_with(&h, p, (struct interp_options){ .late = late },
                                                  (const void *[]){ x, halves }, (void *[]){ y }), INTERP_OK);
                for (int i = 0; i < 64; i++) {
                        int lane = i % 32, byte = lane % 3 ? x[248 - lane * 8 + (i < 32 ? 0 : 7)] : 0;
                        assert_int_equal(y[i], byte + i * 3 - 60);
                }
                harness_close(&h);
        }
}

static void test_text(void **state)
{
        (void)state;
        struct harness h;
        struct text text = { 0 }, first = { 0 }, second = { 0 };
        harness_open(&h);
        circular(&text, "wait 1", "wait 0");
        loop_print(&first, harness_parse(&h, text.data), NULL);
        struct loop_program *p = loop_parse(h.arena, first.data, first.length, NULL, NULL, h.library, &h.diag);
        if (!p || !loop_verify(p, &h.diag))
                fail_msg("%s", harness_said(&h));
        loop_print(&second, p, NULL);
        assert_string_equal(first.data, second.data);
        assert_non_null(strstr(first.data, "copy %circular[%to] = %x[%from] of 4 mask splat<8>(%t + 2 < 6)\n"));
        assert_non_null(strstr(first.data, "      commit\n"));
        assert_non_null(strstr(first.data, "      wait 1\n"));
        text_free(&text);
        text_free(&first);
        text_free(&second);
        harness_close(&h);
}

/* what stands in a block of 2 warps with %s and %t in shared memory */
static const struct { const char *body, *message; } wrong[] = {
        { "W copy %s[R] = %x[R] of 4 }", "under way at its end" },
        { "W copy %s[R] = %x[R] of 4 } commit", "under way at its end" },
        { "W copy %s[R] = %x[R] of 4 } wait 0", "under way at its end" },
        { "W copy %s[R] = %x[R] of 4 } commit wait 1", "under way at its end" },
        { "W copy %s[R] = %x[R] of 4 } commit W store %y[0] = %s<8>[0] } wait 0", "%s is read before" },
        { "W copy %s[R] = %x[R] of 4 } wait 0 W store %y[0] = %s<8>[0] } commit wait 0", "%s is read before" },
        { "W copy %s[R] = %x[R] of 4 store %y[0] = %s<8>[0] } commit wait 0", "%s is read before" },
        { "W copy %s[R] = %x[R] of 4 } commit wait 1 W store %s[0] = 1 } wait 0", "%s is written while" },
        { "for %j = 0 to 2 { W store %y[0] = %s<8>[0] copy %s[R] = %x[R] of 4 } commit } wait 0", "%s is read before" },
        { "for %j = 0 to 2 { if %j > 0 { wait 0 } W store %y[0] = %s<8>[0] copy %s[R] = %x[R] of 4 } commit } wait 0",
          "%s is read before" },
        { "W copy %s[R] = %x[R] of 4 } commit if %x[0] > 1 { wait 0 }", "under way at its end" },
        { "if %x[0] > 1 { W copy %s[R] = %x[R] of 4 } commit }", "under way at its end" },
        { "while %x[0] > 1 { W copy %s[R] = %x[R] of 4 } }", "under way at its end" },
        { "W commit }", "for all warps to do alike" },
        { "W wait 0 }", "for all warps to do alike" },
        { "copy %s[R] = %x[R] of 4", "a copy of a run of 4 f32" },
        { "copy %s[0] = %x[0] of 30", "a copy of a run of 30 f32" },
        { "copy %s[0] = %x[0] of 32", "under way at its end" },
        { "copy %s[0] = %x[0] of 32 commit W store %y[0] = %s<8>[0] } wait 0", "%s is read before" },
        { "W copy %s[0] = %x[0] of 32 } commit wait 0", "a lane has 4, 8 or 16 bytes" },
        { "W copy %s[R] = %x[R] of 3 } commit wait 0", "a lane has 4, 8 or 16 bytes" },
        { "W copy %s[R] = %x[R] of 8 } commit wait 0", "a lane has 4, 8 or 16 bytes" },
        { "W copy %s[R] = %x[ramp<4>(0, 4)] of 4 } commit wait 0", "is not of its lanes" },
        { "W copy %s[R] = %y[R] of 4 } commit wait 0", "y is only written" },
        { "W copy %s[R] = %z[R] of 4 } commit wait 0", "a copy of z, which may be written" },
        { "W copy %s[R] = %t[R] of 4 } commit wait 0", "a copy of t, which may be written" },
        { "W copy %y[R] = %x[R] of 4 } commit wait 0", "a copy into y, which is not shared" },
        { "W copy %s[R] = %i[R] of 4 } commit wait 0", "a copy of 4 i32 to f32" },
        { "for %a = 0 to 2 { wait 0 for %c = 0 to 2 { wait 0 for %d = 0 to 2 { wait 0 for %e = 0 to 2 { wait 0 "
          "for %f = 0 to 2 { wait 0 for %g = 0 to 2 { wait 0 for %h = 0 to 2 { wait 0 for %j = 0 to 2 { "
          "W copy %s[R] = %x[R] of 4 } commit } } } } } } } } wait 0", "in more than 6 loops" },
        { "wait 16", "groups is out of range" },
        { "W copy %s[R] = %x[R] of 4 mask R } commit wait 0", "" },
};

static void put_body(struct text *text, const char *body)
{
        for (int warps = 0; *body; body++) {
                if (*body == 'W')
                        text_add(text, "for %%w%d = 0 to 2 gpu_warp {", warps++);
                else if (*body == 'R')
                        text_add(text, "ramp<8>(0, 4)");
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
                text_add(&text, "loop 4\nprogram \"test\" source \"\"\n"
                         "kernel @k(%%x: in f32[64], %%y: out f32[64], %%z: inout f32[64], %%i: in i32[64]) {\n"
                         "for %%b = 0 to 2 gpu_block {\nalloc %%s : f32[64] shared\nalloc %%t : f32[64] shared\n");
                put_body(&text, wrong[i].body);
                text_add(&text, "\n}\n}\nmain {\n}\n");
                struct loop_program *p = loop_parse(h.arena, text.data, text.length, NULL, NULL, h.library, &h.diag);
                if ((p && loop_verify(p, &h.diag)) || !strstr(harness_said(&h), wrong[i].message))
                        fail_msg("%s: wanted '%s', got '%s'", wrong[i].body, wrong[i].message, harness_said(&h));
                text_free(&text);
                harness_close(&h);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_both_executions), cmocka_unit_test(test_a_wait_too_weak),
                cmocka_unit_test(test_elements),        cmocka_unit_test(test_text),
                cmocka_unit_test(test_wrong),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
