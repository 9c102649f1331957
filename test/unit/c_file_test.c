/* SPDX-License-Identifier: MIT */
/* The C printer, the file as a whole: what shares memory and names, headers, hostile names, what it
 * refuses. Programs are read from text, printed, compiled and run, as in c_printer_test.c. */
#include "c_harness.h"

/* ---- memory ---- */

/* The same workspace bytes are f32, then i32, then f64: no optimizer may exchange the stores and
 * loads. */
static void reused_workspace(void **state)
{
        (void)state;
        struct loop_program *p = parse(
                "loop 1\nprogram \"punning\" source \"\"\nworkspace 256 align 64 live 256\n"
                "buffer @x : f32[32] input \"x\"\nbuffer @y : f32[32] output \"y\"\nbuffer @z : f64[32] output \"z\"\n"
                "buffer @f : f32[32] workspace offset 0\nbuffer @i : i32[32] workspace offset 0\n"
                "buffer @d : f64[32] workspace offset 0\n"
                "kernel @one(%x: in f32[32], %f: out f32[32]) {\n  for %i = 0 to 32 {\n    store %f[%i] = %x[%i] * 2.0\n  }\n}\n"
                "kernel @two(%f: in f32[32], %y: out f32[32]) {\n  for %i = 0 to 32 {\n    store %y[%i] = %f[31 - %i]\n  }\n}\n"
                "kernel @three(%x: in f32[32], %i: out i32[32]) {\n  for %k = 0 to 32 {\n    store %i[%k] = i32(%x[%k])\n  }\n}\n"
                "kernel @four(%i: in i32[32], %y: inout f32[32]) {\n  for %k = 0 to 32 {\n"
                "    store %y[%k] = %y[%k] + f32(%i[%k])\n  }\n}\n"
                "kernel @five(%x: in f32[32], %d: out f64[32]) {\n  for %k = 0 to 32 {\n    store %d[%k] = f64(%x[%k])\n  }\n}\n"
                "kernel @six(%d: in f64[32], %z: out f64[32]) {\n  for %k = 0 to 32 {\n    store %z[%k] = %d[%k] / 3.0\n  }\n}\n"
                "main {\n  call @one(@x, @f)\n  call @two(@f, @y)\n  call @three(@x, @i)\n  call @four(@i, @y)\n"
                "  call @five(@x, @d)\n  call @six(@d, @z)\n  call @one(@x, @f)\n  call @four(@i, @y)\n}\n");
        float x[32];
        for (int i = 0; i < 32; i++)
                x[i] = (float)(i * i) / 7.0f - 9.0f;
        struct ports ports = { .inputs = { x }, .input_count = 1 };
        print(p, "model");
        compare(p, "model", &ports, "gcc -std=c99 -O3");
        compare(p, "model", &ports, "gcc -std=c99 -O3 -flto");
        compare(p, "model", &ports, "gcc -std=gnu11 -O3 -march=haswell -fstrict-aliasing");
        if (have("clang")) {
                compare(p, "model", &ports, "clang -std=c99 -O3");
                compare(p, "model", &ports, "clang -std=gnu11 -O3 -march=haswell");
        }
}

/* a * b + c is never contracted, whatever the machine, and helpers are still inlined */
static void no_contraction(void **state)
{
        (void)state;
        static const char *const compilers[] = {
                "gcc -std=gnu11 -O2 -march=haswell",   "gcc -std=gnu11 -O3 -march=haswell -flto",
                "gcc -std=c99 -O2 -march=haswell",     "clang -std=c99 -O2 -march=haswell",
                "clang -std=gnu11 -O3 -march=haswell",
        };
        struct loop_program *p = parse(
                "loop 1\nprogram \"fma\" source \"\"\nworkspace 0 align 1 live 0\n"
                "buffer @x : f32[64] input \"x\"\nbuffer @y : f32[64] output \"y\"\n"
                "kernel @k(%x: in f32[64], %y: out f32[64]) {\n  for %i = 0 to 64 {\n"
                "    store %y[%i] = max(%x[%i] * %x[63 - %i] + %x[%i], 0.25)\n  }\n}\nmain {\n  call @k(@x, @y)\n}\n");
        float x[64];
        for (int i = 0; i < 64; i++)
                x[i] = 1.0f + (float)i * 1.1920929e-7f * 1001.0f;
        struct ports ports = { .inputs = { x }, .input_count = 1 };
        print(p, "model");
        for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++)
                if (!strncmp(compilers[i], "gcc", 3) || have("clang"))
                        compare(p, "model", &ports, compilers[i]);
        assert_true(shell("cd %s && gcc -std=gnu11 -O2 -march=haswell -I. -S -o model.s model.c",
                          folder));
        const char *assembly = slurp("model.s");
        assert_null(strstr(assembly, "fmadd"));
        assert_null(strstr(assembly, "max_f32"));
        assert_false(shell("cd %s && gcc -O2 -ffast-math -I. -c -o /dev/null model.c 2>/dev/null",
                           folder));
}

static const char small_model[] =
        "loop 1\nprogram \"m\" source \"\"\nworkspace 64 align 64 live 64\n"
        "buffer @x : f32[4] input \"x\" shape <2 x 2>\nbuffer @s : i64[1] input \"s\" shape <>\n"
        "buffer @y : f64[4] output \"y\" shape <4>\nbuffer @t : f64[4] workspace offset 0\n"
        "kernel @k(%x: in f32[4], %s: in i64[1], %t: out f64[4]) {\n  for %i = 0 to 4 {\n"
        "    store %t[%i] = f64(%x[%i]) + f64(%s[0])\n  }\n}\n"
        "kernel @copy(%t: in f64[4], %y: out f64[4]) {\n  for %i = 0 to 4 {\n    store %y[%i] = %t[%i]\n  }\n}\n"
        "main {\n  call @k(@x, @s, @t)\n  call @copy(@t, @y)\n}\n";

static void bad_pointers(void **state)
{
        (void)state;
        struct loop_program *p = parse(small_model);
        print(p, "model");
        const struct dnncc_model_1 *model = load("model", "gcc -std=c99 -O2");
        assert_non_null(model);
        _Alignas(64) unsigned char workspace[128], x[32], s[16], y[64];
        memset(x, 0, sizeof x);
        memset(s, 0, sizeof s);
        for (int i = 0; i < 9; i++) {           /* right; each pointer NULL; each misaligned */
                unsigned char *pointers[] = { workspace, x, s, y };
                if (i)
                        pointers[(i - 1) % 4] = i <= 4 ? NULL : pointers[(i - 1) % 4] + 1;
                void *const regions[] = { pointers[0] };
                const void *const inputs[] = { pointers[1], pointers[2] };
                void *const outputs[] = { pointers[3] };
                assert_int_equal(model->run(regions, inputs, outputs, NULL), i == 0   ? 0
                                                                             : i <= 4 ? -1
                                                                                      : -2);
        }
        assert_int_equal(model->regions[0].size, 64);
        assert_int_equal(model->regions[0].align, 64);
        assert_int_equal(model->inputs[1].rank, 0);
        assert_int_equal(model->outputs[0].bytes, 32);
        assert_int_equal(model->outputs[0].type, 11);
        assert_string_equal(model->name, "m");
        struct print_options options = options_for("model");
        options.unchecked = true;
        assert_true(print_with(p, &options));
        assert_null(strstr(slurp("model.c"), "ERROR"));
        assert_non_null(load("model", "gcc -std=c99 -O2"));
}

/* ---- files ---- */

static void write_file(const char *name, const char *text)
{
        FILE *file = fopen(arena_printf(arena, "%s/%s", folder, name), "wb");
        assert_non_null(file);
        fputs(text, file);
        fclose(file);
}

static const char caller_text[] =
        "#include \"one.h\"\n#include \"two.h\"\n#include <stdio.h>\n"
        "ONE_WORKSPACE_DEFINE(w1);\nTWO_WORKSPACE_DEFINE(w2);\n"
        "int main(void)\n{\n"
        "        static float x[ONE_X_ELEMS] = { 1, 2, 3, 4 };\n"
        "        static int64_t s[ONE_S_ELEMS] = { 10 };\n"
        "        static double y1[ONE_Y_ELEMS], y2[TWO_Y_ELEMS];\n"
        "        static const int shape[] = ONE_X_SHAPE, scalar[] = ONE_S_SHAPE;\n"
        "        if (one_run(w1, x, s, y1) || two_run(w2, x, s, y2) || two_run(NULL, x, s, y2) != TWO_ERROR_NULL)\n"
        "                return 1;\n"
        "        if (ONE_S_RANK != 0 || ONE_X_RANK != 2 || shape[1] != 2 || scalar[0] != 0)\n                return 2;\n"
        "        if (one_describe()->inputs[1].rank != 0 || two_describe()->output_count != 1)\n                return 3;\n"
        "        return y1[3] == 14 && y2[0] == 11 ? 0 : 4;\n}\n";

static void two_models_in_one_program(void **state)
{
        (void)state;
        print(parse(small_model), "one");
        print(parse(small_model), "two");
        write_file("caller.c", caller_text);
        write_file("caller.cc", caller_text);
        assert_true(shell("cd %s && gcc -std=c99 %s -o caller caller.c one.c two.c && ./caller",
                          folder, STRICT));
        assert_true(shell("cd %s && gcc -c one.c two.c", folder));
        if (have("g++"))
                assert_true(shell(
                        "cd %s && for s in c++98 c++20; do g++ -std=$s -Wall -Wextra -Wpedantic -Wno-long-long "
                        "-Werror -o caller2 caller.cc one.o two.o && ./caller2 || exit 1; done",
                        folder));
        if (have("clang++"))
                assert_true(shell(
                        "cd %s && clang++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -o caller3 caller.cc one.o two.o && "
                        "./caller3",
                        folder));
        assert_true(shell(
                "cd %s && test \"$(nm -g --defined-only one.o | awk '{print $3}' | sort | tr '\\n' ' ')\" = "
                "'one_describe one_run '",
                folder));
}

static void one_file(void **state)
{
        (void)state;
        struct print_options options = options_for("whole");
        options.header_name = NULL;
        options.descriptor = false;
        assert_true(print_with(parse(small_model), &options));
        assert_true(
                shell("cd %s && gcc -std=c99 %s -c whole.c && test ! -s whole.h", folder, STRICT));
        assert_null(strstr(slurp("whole.c"), "describe"));
}

static void header_of_another_build(void **state)
{
        (void)state;
        struct print_options options = options_for("build");
        struct loop_program *p = parse(small_model);
        assert_true(print_with(p, &options));
        char *first_c = slurp("build.c"), *first_h = slurp("build.h");
        assert_true(print_with(p, &options));
        assert_string_equal(slurp("build.c"), first_c);         /* the same bytes again */
        assert_string_equal(slurp("build.h"), first_h);
        options.command = "-O1";
        assert_true(print_with(p, &options));
        assert_true(shell("cd %s && gcc -c build.c", folder));
        write_file("build.h", first_h);
        assert_false(shell("cd %s && gcc -c build.c 2>/dev/null", folder));
}

/* Names that mean something to C, to its headers, to macros of the file, or to one another. */
static void hostile_names(void **state)
{
        (void)state;
        struct loop_program *p = parse(
                "loop 1\nprogram \"m\" source \"\"\nworkspace 16 align 16 live 16\n"
                "buffer @workspac : f32[4] input \"workspace\"\nbuffer @status : f32[4] input \"*/ #error \\x22\\x0a\"\n"
                "buffer @memory : f32[4] input \"m\"\nbuffer @strtok : f32[4] constant = [1.0, 2.0, 3.0, 4.0]\n"
                "buffer @cosh : f32[4] constant = [1.0, 2.0, 3.0, 5.0]\nbuffer @a : f32[4] constant = [1.0, 2.0, 3.0, 6.0]\n"
                "buffer @INT32_MAX : f32[4] constant = [1.0, 2.0, 3.0, 7.0]\nbuffer @f32 : f32[4] output \"f32\"\n"
                "buffer @MODEL_ERROR_NULL : f32[4] output \"y\"\nbuffer @int_fast8_t : f32[4] workspace offset 0\n"
                "buffer @model_run : f32[4] constant = [1.0, 2.0, 3.0, 8.0]\n"
                "kernel @sinhf(%strtok: in f32[4], %max_f32: in f32[4], %rem_i32: out f32[4]) {\n"
                "  for %MODEL_ERROR_INDEX = 0 to 4 {\n    let %floorf : f32 = max(%strtok[%MODEL_ERROR_INDEX], 2.0)\n"
                "    let %sinhf : f32 = %floorf\n    let %INT64_MIN : f32 = %sinhf\n"
                "    store %rem_i32[%MODEL_ERROR_INDEX] = %INT64_MIN + %max_f32[%MODEL_ERROR_INDEX]\n  }\n}\n"
                "kernel @max_f32_2(%x: in f32[4], %y: out f32[4]) {\n  for %i = 0 to 4 {\n    store %y[%i] = %x[%i]\n  }\n}\n"
                "main {\n  call @sinhf(@workspac, @strtok, @int_fast8_t)\n  call @sinhf(@int_fast8_t, @cosh, @f32)\n"
                "  call @sinhf(@a, @INT32_MAX, @MODEL_ERROR_NULL)\n  call @sinhf(@status, @memory, @f32)\n"
                "  call @max_f32_2(@model_run, @int_fast8_t)\n}\n");
        float x[3][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 }, { 9, 10, 11, 12 } };
        struct ports ports = { .inputs = { x[0], x[1], x[2] }, .input_count = 3 };
        print(p, "model");
        compare(p, "model", &ports, "gcc -std=gnu11 -O2");
        if (have("clang"))
                compare(p, "model", &ports, "clang -std=gnu11 -O2");
        assert_null(strstr(slurp("model.h"), "#error"));
}

/* What cannot be printed is one error, and nothing is written. */
static void refusals(void **state)
{
        (void)state;
        FILE *nowhere = fopen("/dev/null", "w");
        struct loop_program *p = parse(small_model);
        struct print_options options = options_for("model");
        struct { const char *prefix, *header; bool planned; enum exit_code code; } cases[] = {
                { "1x", "model.h", true, EXIT_USAGE }, { "a b", "model.h", true, EXIT_USAGE },
                { "model", "a\"b.h", true, EXIT_USAGE }, { "model", "a\nb.h", true, EXIT_USAGE },
                { "model", "model.h", false, EXIT_INTERNAL },
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct diag refused = { .subject = "refused", .stream = nowhere };
                options.prefix = cases[i].prefix;
                options.header_name = cases[i].header;
                p->planned = cases[i].planned;
                assert_false(c_printer.print(nowhere, nowhere, p, &options, &refused));
                assert_int_equal(refused.errors, 1);
                assert_int_equal(refused.code, cases[i].code);
        }
        p = parse(
                "loop 1\nprogram \"v\" source \"\"\nworkspace 0 align 1 live 0\nbuffer @x : f32[8] input \"x\"\n"
                "buffer @y : f32[8] output \"y\"\nkernel @k(%x: in f32[8], %y: out f32[8]) {\n"
                "  let %v : f32x8 = %x[ramp<8>(0, 1)]\n  store %y[0] = sum_lanes(%v)\n}\nmain {\n  call @k(@x, @y)\n}\n");
        struct diag refused = { .subject = "refused", .stream = nowhere };
        options = options_for("model");
        assert_false(c_printer.print(nowhere, nowhere, p, &options, &refused));
        assert_int_equal(refused.errors, 1);
        assert_int_equal(refused.code, EXIT_UNSUPPORTED);
        fclose(nowhere);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(reused_workspace),
                cmocka_unit_test(no_contraction),
                cmocka_unit_test(bad_pointers),
                cmocka_unit_test(two_models_in_one_program),
                cmocka_unit_test(one_file),
                cmocka_unit_test(header_of_another_build),
                cmocka_unit_test(hostile_names),
                cmocka_unit_test(refusals),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
