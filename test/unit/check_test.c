/* SPDX-License-Identifier: MIT */
/* --check from the inside: a state that changes between before and after has a culprit, a reproducer and a message. */
#include "test/unit/tensor_bench.h"

#include <unistd.h>

#include "codegen/targets.h"
#include "passes/observe.h"

struct checked {
        struct bench bench;
        struct pipeline_state state;
        struct pipeline_options options;
        struct pass_context context;
        struct check *check;
};

static const char sums[] =
        HEAD "func @main(%x \"x\": <4 x f32>) -> (\"y\") {\n"
        "  %0 = mul(%x, 3.0) : <4 x f32>\n"
        "  %1 = add(%0, 0.5) : <4 x f32>\n"
        "  yield(%1)\n"
        "}\n";

static void open_check(struct checked *c, const char *text)
{
        *c = (struct checked){ 0 };
        bench_open(&c->bench);
        c->state.module = parse_well(&c->bench, text);
        c->context = (struct pass_context){ .diag = &c->bench.diag, .target = target_find("generic"), .limits = limits_preset,
                                            .library = loop_library_new(c->bench.arena, &c->bench.diag) };
        assert_int_equal(chdir("/tmp"), 0);
        c->check = check_begin(&c->state, &c->options, &c->context);
}

static void close_check(struct checked *c)
{
        check_end(c->check);
        module_free(c->state.module);
        bench_close(&c->bench);
}

/* the second operand of the first operation becomes another number */
static void change(struct checked *c, double number)
{
        struct op *op = c->state.module->functions->body.first;
        op_set_operand(op, 1, constant_number(c->state.module, op_operand(op, 1)->type, number));
}

static void test_culprit(void **state)
{
        struct checked c;
        (void)state;
        open_check(&c, sums);
        const struct pass *pass = pass_find("cse");
        check_before(c.check, &c.state, pass);
        assert_true(check_after(c.check, &c.state, pass));
        check_before(c.check, &c.state, pass);
        change(&c, 4);
        assert_false(check_after(c.check, &c.state, pass));
        assert_int_equal(c.bench.diag.code, EXIT_INTERNAL);
        assert_non_null(strstr(said(&c.bench), "bug in pass cse: --check: output 'y' element 0 is"));
        FILE *file = fopen("dnncc-check-cse.dnn", "r");         /* the state before it */
        char text[1024] = "";
        assert_non_null(file);
        assert_true(fread(text, 1, sizeof text - 1, file) > 0);
        fclose(file);
        unlink("dnncc-check-cse.dnn");
        assert_string_equal(text, sums);
        close_check(&c);
}

/* exact passes to the bit; others within 1e-4, or a few roundings of 16 bits where there are such */
static void test_tolerance(void **state)
{
        static const struct { const char *pass, *element; double factor; bool exact, fine; } table[] = {
                { "cse", "f32", 3.00001, false, false }, { "simplify", "f32", 3.00001, false, true },
                { "simplify", "f32", 3.00001, true, false }, { "simplify", "f32", 3.01, false, false },
                { "simplify", "f16", 3.006, false, true }, { "simplify", "f16", 3.1, false, false },
                { "simplify", "bf16", 3.05, false, true }, { "simplify", "bf16", 4, false, false },
                { "simplify", "i32", 4, false, false },
        };
        (void)state;
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
                struct checked c;
                char text[512];
                bool whole = table[i].element[0] == 'i';
                snprintf(text, sizeof text, HEAD "func @main(%%x \"x\": <9 x %s>) -> (\"y\") {\n  %%0 = mul(%%x, %s) : <9 x %s>\n"
                         "  yield(%%0)\n}\n", table[i].element, whole ? "3" : "3.0", table[i].element);
                open_check(&c, text);
                c.context.exact = table[i].exact;
                const struct pass *pass = pass_find(table[i].pass);
                check_before(c.check, &c.state, pass);
                change(&c, table[i].factor);
                bool fine = check_after(c.check, &c.state, pass);
                if (fine != table[i].fine)
                        fail_msg("row %zu", i);
                close_check(&c);
        }
        unlink("dnncc-check-cse.dnn");
        unlink("dnncc-check-simplify.dnn");
}

static int compiled;
static const char *run_compiled(void *runner, struct loop_program *p, const struct target *t, int64_t *extents,
                                const void *const *inputs, void *const *outputs, int *code)
{
        (void)runner, (void)p, (void)extents;
        assert_string_equal(t->name, "generic");
        memcpy(outputs[0], inputs[0], 4 * sizeof(float));
        *code = 0;
        return ++compiled == 3 ? "no compiler" : NULL;
}

static void test_budget(void **state)
{
        struct checked c;
        (void)state;
        open_check(&c, sums);
        check_end(c.check);
        c.context.limits.check_steps = 3;
        c.check = check_begin(&c.state, &c.options, &c.context);        /* skipped: nothing to compare with */
        const struct pass *pass = pass_find("cse");
        change(&c, 4);
        assert_true(check_after(c.check, &c.state, pass));
        check_end(c.check);
        c.options.run_compiled = run_compiled;
        c.check = check_begin(&c.state, &c.options, &c.context);
        assert_true(check_after(c.check, &c.state, pass));
        assert_int_equal(compiled, 2);
        assert_true(check_after(c.check, &c.state, pass));              /* said to be skipped */
        close_check(&c);
}

static void test_orders(void **state)
{
        struct history h = { 0 };
        const char *after;
        (void)state;
        for (const char *list = pipeline_passes(3); *list;) {           /* the default order is legal */
                const struct pass *pass = pass_next(&list);
                assert_non_null(pass);
                assert_null(history_objection(&h, pass, &after));
                history_add(&h, pass);
        }
        assert_non_null(history_objection(&h, pass_find("fold"), &after));
        assert_string_equal(after, "lower");
        h = (struct history){ 0 };
        history_add(&h, pass_find("strips"));
        assert_non_null(history_objection(&h, pass_find("schedule"), &after));
        assert_string_equal(after, "strips");
        assert_null(history_objection(&h, pass_find("simplify"), &after));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_culprit), cmocka_unit_test(test_tolerance), cmocka_unit_test(test_budget),
                cmocka_unit_test(test_orders),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
