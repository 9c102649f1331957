/* SPDX-License-Identifier: MIT */
/* Loop IR: building and simplifying, the verifier of what is built, formulas, the library. */
#include "test/unit/loop_harness.h"

/* ---- built by hand, and wrong ---- */

static void test_verifier_of_built_programs(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        struct loop_program *p = loop_program_new(b.arena, "p", b.library);
        struct loop_function *k = loop_function_new(b.arena, FUNCTION_KERNEL, "k");
        loop_kernel_add(p, k);
        struct loop_buffer *y = loop_parameter_add(b.arena, k, "y", E_F32, 4, ACCESS_OUT);
        struct loop_stmt *s = loop_append(b.arena, k->body, STMT_STORE);
        s->buffer = y;
        s->a = loop_index(b.arena, 1);
        s->b = loop_float(b.arena, E_F32, 1);
        assert_true(loop_verify(p, &b.diag));
        s->b = loop_float(b.arena, E_F64, 1);
        assert_false(loop_verify(p, &b.diag));
        assert_int_equal(b.diag.code, EXIT_INTERNAL);
        assert_non_null(strstr(
                said(&b), "bug in Loop IR: k: f64 of the elements of y: in 'store %y[1] = 1.0'"));
        s->b = loop_float(b.arena, E_F32, 1);
        k->can_fail = true;
        assert_false(loop_verify(p, &b.diag));
        assert_non_null(strstr(said(&b), "it says it can fail, but cannot"));
        k->can_fail = false;
        k->summary = "evil */";
        assert_false(loop_verify(p, &b.diag));
        k->summary = NULL;
        s->b = loop_use(b.arena,
                        loop_variable_new(b.arena, "ghost", LOOP_TYPE(E_F32), VARIABLE_LET));
        assert_false(loop_verify(p, &b.diag));
        assert_non_null(strstr(said(&b), "%ghost is not in scope"));
        struct loop_expr *deep = loop_float(b.arena, E_F32, 1);
        for (int i = 0; i < EXPR_DEPTH_MAX; i++)
                deep = loop_op(b.arena, LOOP_NEG, deep, NULL, NULL);
        s->b = deep;
        assert_false(loop_verify(p, &b.diag));
        s->b = deep->args[0];
        assert_true(loop_verify(p, &b.diag));
        assert_non_null(parse(&b, print(&b, p))); /* the deepest that passes can be read back */
        bench_close(&b);
}

/* ---- simplification ---- */

static const struct { enum element e; const char *formula, *simple; } rules[] = {
        { E_INDEX, "(x + 1) + 2", "%x + 3" },           { E_INDEX, "2 + x", "%x + 2" },
        { E_INDEX, "(x + 5) - 7", "%x - 2" },           { E_INDEX, "(x - 2) + 2", "%x" },
        { E_INDEX, "x * 2 * 3", "%x * 6" },             { E_INDEX, "3 * x", "%x * 3" },
        { E_INDEX, "x * 1 + 0 * y", "%x" },             { E_INDEX, "(x + 1) + (y + 2)", "%x + %y + 3" },
        { E_INDEX, "(x + 3) - (y + 1)", "%x - %y + 2" },{ E_INDEX, "x - x", "0" },
        { E_INDEX, "(x + 1) - x", "1" },                { E_INDEX, "5 - (x + 2)", "3 - %x" },
        { E_INDEX, "x / 1 + x % 1", "%x" },             { E_INDEX, "x * 6 / 3", "%x * 2" },
        { E_INDEX, "x / 2 / 3", "%x / 6" },             { E_INDEX, "x * 6 % 3", "0" },
        { E_INDEX, "min(x, x)", "%x" },                 { E_INDEX, "max(min(7, 9), 8)", "8" },
        { E_INDEX, "min(min(x, 3), 5)", "min(%x, 3)" }, { E_INDEX, "max(max(x, 3), 5)", "max(%x, 5)" },
        { E_INDEX, "x - 2 >= 0", "%x >= 2" },           { E_INDEX, "x + 2 < 10", "%x < 8" },
        { E_INDEX, "1 < 2 & x < 3", "%x < 3" },         { E_INDEX, "x < 3 & 2 < 1", "false" },
        { E_INDEX, "x < 3 | 1 < 2", "true" },           { E_INDEX, "~(1 < 2) | x < 3", "%x < 3" },
        { E_INDEX, "select(1 < 2, x, y)", "%x" },       { E_INDEX, "select(x < y, x, x)", "%x" },
        { E_INDEX, "x == x", "true" },                  { E_INDEX, "x < x", "false" },
        { E_INDEX, "7 / 2 + -7 / 2 + 7 / 0", "0" },     { E_INDEX, "(x + 9223372036854775807) + 1", "%x + 9223372036854775807 + 1" },
        { E_I32, "2147483647 + 1", "-2147483648:i32" }, { E_I32, "-2147483648 / -1", "-2147483648:i32" },
        { E_I32, "x + 0", "%x" },                       { E_I32, "x + 1 + 2", "%x + 1 + 2" },
        { E_I32, "1 << 31 >> 31", "-1:i32" },           { E_I32, "1 << 32", "0:i32" },
        { E_I32, "-8 >> -1", "0:i32" },                 { E_I32, "-(-x)", "%x" },
        { E_I32, "-7 % 3", "-1:i32" },                  { E_I32, "-2147483648 % -1", "0:i32" },
        { E_U32, "0 - 1", "4294967295:u32" },           { E_U32, "4294967295 / 2 > 2147483646", "true" },
        { E_U64, "~0 >> 63", "1:u64" },                 { E_I64, "min(x, 3) & -1", "min(%x, 3)" },
        { E_F32, "x + 0", "%x + 0.0" },                 { E_F32, "x * 1 * 0", "%x * 1.0 * 0.0" },
        { E_F32, "1 + 2", "1.0 + 2.0" },                { E_F32, "x - x", "%x - %x" },
        { E_F64, "max(x, x)", "max(%x, %x)" },          { E_F64, "f32(x) * 0.5", "f32(%x) * 0.5" },
        { E_F64, "i32(2.75) + 1", NULL },               { E_BOOL, "x & true ^ false", "%x" },
        { E_I32, "65536 * 65537", "65536:i32" },        { E_I64, "12 & 10 ^ 6 | 1", "15:i64" },
        { E_I32, "-(-2147483648)", "-2147483648:i32" }, { E_I32, "7 / 0 + 7 % 0", "0:i32" },
        { E_U32, "7 % 4 + 7 / 0", "3:u32" },            { E_U32, "1 << 31 << 1", "0:u32" },
        { E_I32, "2 <= 2 & 3 >= 3", "true" },           { E_I32, "2 == 3 | 2 != 2", "false" },
        { E_I32, "-1 < 1", "true" },                    { E_U32, "4294967295 < 1", "false" },
        { E_I32, "0 / x + 0 % x", "0:i32" },            { E_I32, "x % 1 + (x ^ x)", "0:i32" },
        { E_I32, "x | 0", "%x" },                       { E_I32, "x & 0", "0:i32" },
        { E_I32, "x << 0 >> 0", "%x" },                 { E_I32, "min(x, x) - x", "0:i32" },
        { E_BOOL, "x | x", "%x" },                      { E_BOOL, "x ^ x", "false" },
        { E_BOOL, "max(true, false) & min(true, x)", "min(%x, true)" },
        { E_INDEX, "x * 4 / 3", "%x * 4 / 3" },         { E_INDEX, "5 + (x - 5)", "%x" },
        { E_F32, "f64(0.1)", "0.1:f64" },               { E_F32, "i32(x) + 1", "i32(%x) + 1" },
        { E_U32, "u32(u8(x & 15))", "%x & 15" },        { E_U32, "u32(u8(x & 511))", "u32(u8(%x & 511))" },
        { E_F32, "f32(i32(u8(x)))", "f32(i32(u8(%x)))" },
        { E_F32, "f32(i32(u8(round(x) + 125)) - 125)",
          "min_ordered(max_ordered(round(%x) + 125.0, 0.0), 255.0) - 125.0" },
        { E_F32, "f32(u8(round(x) + 0.5))", "f32(u8(round(%x) + 0.5))" },
};

static void test_simplification(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
                struct loop_type type = LOOP_TYPE(rules[i].e);
                struct loop_expr *args[] = {
                        loop_use(b.arena, loop_variable_new(b.arena, "x", type, VARIABLE_LET)),
                        loop_use(b.arena, loop_variable_new(b.arena, "y", type, VARIABLE_LET))
                };
                struct loop_expr *e =
                        loop_formula(b.arena, b.library, rules[i].formula, args, 2, &b.diag);
                if (!rules[i].simple) {
                        assert_null(e);
                        continue;
                }
                if (!e)
                        fail_msg("%s", said(&b));
                if (strcmp(print_expr(&b, e), rules[i].simple))
                        fail_msg("%s becomes %s, want %s", rules[i].formula, print_expr(&b, e),
                                 rules[i].simple);
        }
        bench_close(&b);
}

static void test_casts_of_literals(void **state)
{
        (void)state;
        static const struct {
                enum element from;
                double number;
                enum element to;
                const char *text;
        } casts[] = {
                { E_F32, 2.75, E_I32, "2:i32" },
                { E_F32, -2.75, E_I64, "-2:i64" },
                { E_F64, 1e30, E_I32, "2147483647:i32" },
                { E_F64, -1e30, E_I8, "-128:i8" },
                { E_F64, -5, E_U8, "0:u8" },
                { E_F64, 300, E_U8, "255:u8" },
                { E_F64, (double)NAN, E_I64, "0:i64" },
                { E_F64, 1e30, E_U64, "18446744073709551615:u64" },
                { E_I32, 300, E_U8, "44:u8" },
                { E_I32, -1, E_U64, "18446744073709551615:u64" },
                { E_I32, 7, E_BOOL, "true" },
                { E_F32, (double)NAN, E_BOOL, "true" },
                { E_F32, 0, E_BOOL, "false" },
                { E_I64, 7, E_F16, "7.0:f16" },
                { E_F64, 0.1, E_F32, "f32(0.1:f64)" },
                { E_I64, 16777217, E_F32, "f32(16777217:i64)" },
                { E_F32, 0.5, E_F64, "0.5:f64" },
                { E_BOOL, 1, E_F32, "1.0" },
        };
        struct bench b;
        bench_open(&b);
        for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
                bool is_float = element_is_float(casts[i].from);
                struct loop_expr *a =
                        is_float ? loop_float(b.arena, casts[i].from, casts[i].number)
                                 : loop_int(b.arena, casts[i].from, (int64_t)casts[i].number);
                assert_string_equal(print_expr(&b, loop_cast(b.arena, casts[i].to, a)),
                                    casts[i].text);
        }
        struct loop_expr *half =
                loop_use(b.arena, loop_variable_new(b.arena, "h", LOOP_TYPE(E_F16), VARIABLE_LET));
        assert_string_equal(print_expr(&b, loop_cast(b.arena, E_BF16, half)), "bf16(f32(%h))");
        bench_close(&b);
}

/* ---- formulas of the tables ---- */

static bool in_domain(enum domain domain, enum element e)
{
        bool is_float = e == E_F32 || e == E_F64;
        switch (domain) {
        case DOMAIN_NUMBER: return e != E_BOOL;
        case DOMAIN_FLOAT: return is_float;
        case DOMAIN_INTEGER: return !is_float && e != E_BOOL;
        case DOMAIN_LOGIC: return !is_float;
        default: return true;
        }
}

static const struct {
        const char *name, *formula;
        enum domain domain;
        int arity;
        bool compares;
} formulas[] = {
#define EW(name, arity, domain, traits, formula, partials, doc)                                    \
        { #name, formula, DOMAIN_##domain, arity, false },
#define CMP(name, arity, domain, traits, formula, doc)                                             \
        { #name, formula, DOMAIN_##domain, arity, true },
#include "ir/tensor/ops.def"
#define REDUCER(name, identity, formula, doc) { "reduce " #name, formula, DOMAIN_NUMBER, 2, false },
#include "ir/tensor/reducers.def"
};

static void test_formulas_of_the_tables(void **state)
{
        (void)state;
        static const enum element compute[] = { E_F32, E_F64, E_I32, E_I64, E_U32, E_U64, E_BOOL };
        struct bench b;
        bench_open(&b);
        for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
                for (size_t j = 0; j < sizeof compute / sizeof *compute; j++) {
                        struct loop_expr *args[3];
                        if (!in_domain(formulas[i].domain, compute[j]))
                                continue;
                        for (int k = 0; k < 3; k++)
                                args[k] = loop_use(b.arena, loop_variable_new(b.arena, "v",
                                                                              LOOP_TYPE(compute[j]),
                                                                              VARIABLE_LET));
                        struct loop_expr *e = loop_formula(b.arena, b.library, formulas[i].formula,
                                                           args, formulas[i].arity, &b.diag);
                        if (!e || e->type.element != (formulas[i].compares ? E_BOOL : compute[j]) ||
                            e->type.lanes != 1)
                                fail_msg("%s of %s: %s", formulas[i].name,
                                         element_info[compute[j]].text, said(&b));
                }
        bench_close(&b);
}

static void test_wrong_formulas(void **state)
{
        (void)state;
        static const char *const bad[] = { "", "x +", "x y", "z", "x + y)", "frob(x)", "x[0]", "%x",
                                           "max(x)", "i32(x) + x" };
        struct bench b;
        bench_open(&b);
        struct loop_expr *x =
                loop_use(b.arena, loop_variable_new(b.arena, "x", LOOP_TYPE(E_F32), VARIABLE_LET));
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                struct loop_expr *args[] = { x, x };
                b.diag.errors = 0;
                struct loop_expr *e = loop_formula(b.arena, b.library, bad[i], args, 2, &b.diag);
                if (e || b.diag.errors != 1 || b.diag.code != EXIT_INTERNAL)
                        fail_msg("formula '%s' passed", bad[i]);
        }
        bench_close(&b);
}

/* ---- the library ---- */

static void test_library_round_trips(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        struct text once = { 0 }, twice = { 0 };
        for (struct loop_function *f = loop_library_first(b.library); f; f = f->next)
                loop_print_function(&once, f);
        struct loop_function *again = loop_parse_library(b.arena, once.data, once.length, &b.diag);
        if (!again)
                fail_msg("%s", said(&b));
        for (struct loop_function *f = again; f; f = f->next)
                loop_print_function(&twice, f);
        assert_string_equal(once.data, twice.data);
        text_free(&once);
        text_free(&twice);
        bench_close(&b);
}

static void test_templates_and_literals(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        static const char text[] =
                "function twice(x: T) -> T where T in f64 i32 error \"exact\" spelling \"v_twice\" { ; comment\n"
                "  let k : T = T(2) var n : index = 3 set n = n + 1\n"
                "  for i = 0 to n { set n = n - i } while n > 0 { set n = n - 1 } if x > 1 { set n = 2 } else { set n = 3 }\n"
                "  return select(1 < 2, k * x, x) }\n"
                "function four(x: f64) -> f64 { return twice(twice(x)) + twice(1) }\n";
        struct loop_function *f = loop_parse_library(b.arena, text, sizeof text - 1, &b.diag);
        if (!f)
                fail_msg("%s", said(&b));
        struct text out = { 0 };
        loop_print_function(&out, f);
        loop_print_function(&out, f->next->next);
        static const char body[] =
                "  var %n : index = 3\n  set %n = %n + 1\n  for %i = 0 to %n {\n    set %n = %n - %i\n  }\n"
                "  while %n > 0 {\n    set %n = %n - 1\n  }\n  if %x > 1.0 {\n    set %n = 2\n  } else {\n"
                "    set %n = 3\n  }\n  return select(1.0 < 2.0, %k * %x, %x)\n}\n";
        struct text wanted = { 0 };
        text_add(&wanted,
                 "function twice(%%x: f64) -> f64 error \"exact\" spelling \"v_twice\" {\n  let "
                 "%%k : f64 = 2.0\n%s",
                 body);
        text_add(&wanted, "function four(%%x: f64) -> f64 {\n  return twice(twice(%%x)) + twice(1.0)\n}\n");
        assert_string_equal(out.data, wanted.data);
        assert_int_equal(f->next->result.element, E_I32);
        text_free(&out);
        text_free(&wanted);
        bench_close(&b);
}

/* A hardware tile is touched by functions with a spelling only; their bodies say what they do. */
static void test_tiles_and_vectors(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        static const char text[] =
                "function tile_zero(%n: index) -> f32x16tile error \"exact\" spelling \"tile_zero\" {\n"
                "  var %t : f32x16tile\n  return %t\n}\n"
                "function tile_add(%a: f32x16tile, %v: f32x16) -> f32x16tile spelling \"tile_add\" {\n"
                "  var %t : f32x16tile = %a\n  set %t = tile_zero(3)\n  return %t\n}\n";
        struct loop_function *f = loop_parse_library(b.arena, text, sizeof text - 1, &b.diag);
        if (!f)
                fail_msg("%s", said(&b));
        struct text out = { 0 };
        loop_print_function(&out, f);
        loop_print_function(&out, f->next);
        assert_string_equal(out.data, text);
        text_free(&out);
        static const char sum[] = "function f(a: f32x16tile) -> f32x16tile { return a + a }";
        assert_null(loop_parse_library(b.arena, sum, sizeof sum - 1, &b.diag));
        assert_non_null(strstr(said(&b), "+ is not for f32x16tile"));
        struct loop_expr *one = loop_float(b.arena, E_F32, 1), *i = loop_index(b.arena, 2);
        assert_ptr_equal(loop_splat(b.arena, 1, one), one);
        assert_string_equal(print_expr(&b, loop_splat(b.arena, 8, one)), "splat<8>(1.0)");
        assert_string_equal(print_expr(&b, loop_ramp(b.arena, 4, i, i)), "ramp<4>(2, 2)");
        bench_close(&b);
}

static void test_wrong_libraries(void **state)
{
        (void)state;
        static const struct { const char *text, *message;
        } bad[] = {
                { "function f(x: f32) -> f32 { return f(x) }", "no function f of f32" },
                { "function f(x: f32) -> f32 { return x } function f(x: f32) -> f32 { return x }",
                  "defined twice" },
                { "function f(x: f32) -> f32 { }", "ends with return" },
                { "function f(x: f32) -> f32 { return x let y : f32 = 1 }", "last statement" },
                { "function f(x: f32) -> f32 { if x > 0 { return x } return x }",
                  "last statement" },
                { "function f(a: f32, b: f32, c: f32, d: f32) -> f32 { return a }", "more than 3" },
                { "function f(x: f32) -> f64 { return x }", "the result is f32, want f64" },
                { "function f(x: T) -> T where T in { return x }", "want 'where T in TYPES'" },
                { "function f(x: f32) -> f32 { fail INDEX return x }", "cannot stand" },
                { "function f(x: f32) -> f32 { return g(x) } function g(x: f32) -> f32 { return x "
                  "}",
                  "no function g" },
                { "function f() -> f32 { return 1 }", "want a name" },
                { "function f(x: f32, y: i32) -> f32 { return x } "
                  "function g(x: f32) -> f32 { return f(x) }", "f has 1 arguments, want 2" },
                { "function f(x: f32, y: i32) -> f32 { return x } "
                  "function g(x: f32) -> f32 { return f(x, x) }", "argument 2 of f is f32, want i32" },
                { "function _f(x: f32) -> f32 { return x }", "cannot be a function's name" },
        };
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                struct bench b;
                bench_open(&b);
                struct loop_function *f =
                        loop_parse_library(b.arena, bad[i].text, strlen(bad[i].text), &b.diag);
                if (f || !strstr(said(&b), bad[i].message) || b.diag.errors != 1)
                        fail_msg("%s: wanted '%s', got '%s'", bad[i].text, bad[i].message,
                                 said(&b));
                bench_close(&b);
        }
}

/* Only what is needed, callees first. */
static void test_library_used(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        struct loop_program *p =
                parse_well(&b, "loop 1 program \"p\" source \"\" kernel @k(%y: out f32[1]) { "
                               "store %y[0] = exp(1.0) } main { }");
        int count;
        struct loop_function **used = loop_library_used(b.arena, p, &count);
        assert_true(count >= 1);
        assert_ptr_equal(used[count - 1], loop_library_find(b.library, "exp", E_F32));
        int all = 0;
        for (struct loop_function *f = loop_library_first(b.library); f; f = f->next)
                all++;
        assert_true(count < all);
        bench_close(&b);
}

/* ---- names and walks ---- */

static void count_statement(struct loop_stmt *s, void *context) { (void)s; ((int *)context)[0]++; }
static void count_load(struct loop_expr *e, void *context)
{
        ((int *)context)[1] += e->op == LOOP_LOAD;
}

static void test_names_and_walks(void **state)
{
        (void)state;
        struct bench b;
        bench_open(&b);
        struct loop_program *p = parse_well(&b, everything);
        int counts[2] = { 0, 0 };
        loop_block_walk(p->kernels->body, count_statement, count_load, counts);
        assert_int_equal(counts[0], 17);
        assert_int_equal(counts[1], 4);
        counts[0] = 0;
        loop_walk_mains(p, count_statement, NULL, counts);
        assert_int_equal(counts[0], 5);
        assert_string_equal(loop_buffer_add(p, "image", E_F32, 1, SPACE_WORKSPACE)->name,
                            "image_2");
        struct loop_function *k = loop_function_new(b.arena, FUNCTION_KERNEL, "image");
        loop_kernel_add(p, k);
        assert_string_equal(k->name, "image_3");
        bench_close(&b);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_verifier_of_built_programs),
                cmocka_unit_test(test_simplification),
                cmocka_unit_test(test_casts_of_literals),
                cmocka_unit_test(test_formulas_of_the_tables),
                cmocka_unit_test(test_wrong_formulas),
                cmocka_unit_test(test_library_round_trips),
                cmocka_unit_test(test_templates_and_literals),
                cmocka_unit_test(test_tiles_and_vectors),
                cmocka_unit_test(test_wrong_libraries),
                cmocka_unit_test(test_library_used),
                cmocka_unit_test(test_names_and_walks),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
