/* SPDX-License-Identifier: MIT */
/* Programs of several entries: their text, what the verifier holds of them, and that each runs by itself. */
#include "ir/interp/interp.h"
#include "test/unit/loop_harness.h"

/* two entries share a kernel and a constant; each has ports and a workspace of its own */
#define HEAD "loop 5\nprogram \"two\" source \"\" passes \"plan\" workspace 64 align 64 live 32\n"
#define ENTRIES "entry @prefill workspace 64 live 32\nentry @step workspace 16 live 8\n"
#define BUFFERS                                                                                    \
        "buffer @x : f32[4] input \"x\" shape <4>\n"                                               \
        "buffer @y : f32[4] output \"y\" shape <4>\n"                                              \
        "buffer @h : f32[4] workspace offset 32\n"                                                 \
        "buffer @x_2 : f32[4] input \"x\" entry 1 shape <4>\n"                                     \
        "buffer @y_2 : f32[4] output \"y\" entry 1 shape <4>\n"                                    \
        "buffer @h_2 : f32[4] workspace entry 1 offset 0\n"                                        \
        "buffer @c : f32[4] constant = [1.0, 2.0, 3.0, 4.0]\n"
#define KERNELS                                                                                    \
        "kernel @add(%a: in f32[4], %b: in f32[4], %y: out f32[4]) {\n"                            \
        "  for %i = 0 to 4 {\n    store %y[%i] = %a[%i] + %b[%i]\n  }\n}\n"
#define PREFILL "main @prefill {\n  call @add(@x, @c, @h)\n  call @add(@h, @c, @y)\n}\n"
#define STEP "main @step {\n  call @add(@x_2, @c, @h_2)\n  call @add(@h_2, @x_2, @y_2)\n}\n"
#define TEXT HEAD ENTRIES BUFFERS KERNELS PREFILL STEP

static void test_round_trip(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        struct loop_program *p = parse_well(&b, TEXT);
        assert_string_equal(print(&b, p), TEXT);
        assert_int_equal(p->entry_count, 2);
        assert_string_equal(p->entries[1].name, "step");
        assert_int_equal(loop_workspace_size(p), 64);
        assert_int_equal(loop_live_peak(p), 32);
        /* the only entry of a program may have a name, too; "main" needs no line */
        static const char one[] =
                "loop 5\nprogram \"one\" source \"\"\nentry @step\nmain @step {\n}\n";
        assert_string_equal(print(&b, parse_well(&b, one)), one);
        assert_string_equal(
                print(&b, parse_well(&b, "loop 1\nprogram \"one\" source \"\"\nmain {\n}\n")),
                "loop 1\nprogram \"one\" source \"\"\nmain {\n}\n");
        bench_close(&b);
}

static void run_entry(struct bench *b, const struct loop_program *p, int entry, bool as_double,
                      const double wanted[4])
{
        const float x[4] = { 10, 20, 30, 40 };
        double room[4];
        const void *inputs[] = { x };
        void *outputs[] = { room };
        struct interp *interp = interp_new_entry(p, entry, as_double, 0, &b->diag);
        assert_non_null(interp);
        assert_int_equal(interp_run(interp, inputs, outputs, 0, NULL), INTERP_OK);
        for (int i = 0; i < 4; i++)
                assert_true((as_double ? room[i] : (double)((float *)room)[i]) == wanted[i]);
        interp_free(interp);
}

static void test_each_runs(void **state)
{
        (void)state;
        static const double prefill[4] = { 12, 24, 36, 48 }, step[4] = { 21, 42, 63, 84 };
        struct bench b;
        bench_open(&b);
        struct loop_program *p = parse_well(&b, TEXT);
        for (int as_double = 0; as_double < 2; as_double++) {
                run_entry(&b, p, 0, as_double, prefill);
                run_entry(&b, p, 1, as_double, step);
        }
        bench_close(&b);
}

static void test_mistakes(void **state)
{
        (void)state;
        static const struct {
                const char *text, *said;
        } cases[] = {
                { HEAD "entry @a workspace 64 live 32\nentry @a workspace 16 live 8\n",
                  "two entries are called a" },
                { HEAD "entry @a workspace 16 live 32\n",
                  "the workspace is not that of the largest entry" },
                { HEAD ENTRIES "buffer @x : f32[4] input \"x\" entry 2\n", "2" },
                { HEAD ENTRIES BUFFERS KERNELS STEP PREFILL,
                  "this is main of step, want that of prefill" },
                { HEAD ENTRIES BUFFERS KERNELS PREFILL, "main" },
                { HEAD ENTRIES BUFFERS KERNELS PREFILL
                  "main @step {\n  call @add(@x, @c, @y_2)\n}\n",
                  "no buffer of the program" },
                { HEAD ENTRIES BUFFERS KERNELS PREFILL
                  "main @step {\n  call @add(@x_2, @c, @h)\n}\n",
                  "no buffer of the program" },
                { HEAD ENTRIES "buffer @h : f32[8] workspace entry 1 offset 0\nmain @prefill "
                               "{\n}\nmain @step {\n}\n",
                  "h lies outside its region" },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct bench b;
                bench_open(&b);
                if (parse(&b, cases[i].text) || !strstr(said(&b), cases[i].said))
                        fail_msg("want '%s', found '%s'", cases[i].said, said(&b));
                bench_close(&b);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_round_trip),
                cmocka_unit_test(test_each_runs),
                cmocka_unit_test(test_mistakes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
