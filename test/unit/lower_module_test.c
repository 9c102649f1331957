/* SPDX-License-Identifier: MIT */
/* The lowering of functions: how many loops, kernels and calls there are; where values lie. */
#include "test/unit/lower_harness.h"

/* ---- what is written ---- */

static void count_stmt(struct loop_stmt *s, void *context)
{
        int *counts = context;
        counts[s->kind]++;
}

/* how many statements of a kind the program's kernels hold */
static int statements(const struct loop_program *p, enum loop_stmt_kind kind)
{
        int counts[STMT_PREFETCH + 1] = { 0 };
        for (const struct loop_function *f = p->kernels; f; f = f->next)
                loop_block_walk(f->body, count_stmt, NULL, counts);
        return counts[kind];
}

static int kernels(const struct loop_program *p)
{
        int count = 0;
        for (const struct loop_function *f = p->kernels; f; f = f->next)
                count++;
        return count;
}

static int calls(const struct loop_program *p)
{
        int count = 0;
        for (const struct loop_stmt *s = loop_main(p)->body->first; s; s = s->next)
                count += s->kind == STMT_CALL;
        return count;
}

static struct value *bias_of(struct fixture *x, const struct type *t)
{
        struct value *b = input(x, array_random(x, TYPE(x, E_F32, t->dims[1]), -3, 3));
        return build_broadcast(&x->b, b, t, INTS(1));
}

static void test_loops_collapse(void **state)
{
        (void)state;
        struct fixture *x = fixture_new();       /* equal shapes, a splat and a reshape: one loop */
        struct value *a = input(x, array_random(x, TYPE(x, E_F32, 2, 3, 4), -3, 3));
        struct value *b = input(x, array_random(x, TYPE(x, E_F32, 24), -3, 3));
        struct value *sum = build_binary(&x->b, OP_add, a, build_reshape(&x->b, b, DIMS(2, 3, 4)));
        struct value *y = build_binary(&x->b, OP_max, sum, build_like(&x->b, sum, 0));
        yield_all(x, &y, 1);
        fuse_all(x);
        struct loop_program *p = lower(x, true, false);
        assert_int_equal(statements(p, STMT_FOR), 1);
        assert_int_equal(statements(p, STMT_LET), 0);
        assert_int_equal(p->kernels->buffers[0]->alias_class, 1);
        assert_int_equal(p->kernels->buffers[1]->alias_class, 0);
        assert_int_equal(p->kernels->buffers[2]->alias_class, 1);
        fixture_free(x);

        x = fixture_new();                       /* a bias for each channel: n, c, h * w */
        a = input(x, array_random(x, TYPE(x, E_F32, 2, 3, 4, 5), -3, 3));
        y = build_binary(&x->b, OP_add, a, bias_of(x, a->type));
        yield_all(x, &y, 1);
        fuse_all(x);
        p = lower(x, true, false);
        assert_int_equal(statements(p, STMT_FOR), 3);
        assert_int_equal(p->kernels->buffers[0]->alias_class, 1);
        fixture_free(x);

        x = fixture_new();                       /* the same with one image: c, h * w */
        a = input(x, array_random(x, TYPE(x, E_F32, 1, 3, 4, 5), -3, 3));
        y = build_binary(&x->b, OP_add, a, bias_of(x, a->type));
        yield_all(x, &y, 1);
        fuse_all(x);
        assert_int_equal(statements(lower(x, true, false), STMT_FOR), 2);
        fixture_free(x);
}

/* What is read elsewhere than it is stored shares no class: a transposed operand, a neighbour,
 * another size of element. */
static void test_alias_classes(void **state)
{
        (void)state;
        for (int form = 0; form < 4; form++) {
                struct fixture *x = fixture_new();
                struct value *a = input(x, array_random(x, TYPE(x, E_F32, 4, 4), -3, 3)), *y;
                if (form == 0)
                        y = build_binary(&x->b, OP_add, a, build_transpose(&x->b, a, INTS(1, 0)));
                else if (form == 1)
                        y = build_concat(&x->b, (struct value *[]){ a, a }, 2, 0);
                else if (form == 2)
                        y = build_cast(&x->b, a, E_F16);
                else
                        y = build_slice(&x->b, a, INTS(0, 0), INTS(1, 1), (dim_t[]){ 2, 4 });
                yield_all(x, &y, 1);
                fuse_all(x);
                struct loop_program *p = lower(x, false, false);
                for (int i = 0; i < p->kernels->buffer_count; i++)
                        assert_int_equal(p->kernels->buffers[i]->alias_class, 0);
                fixture_free(x);
        }
        struct fixture *x = fixture_new();       /* two results: each may lie on one operand */
        struct value *a = input(x, array_random(x, TYPE(x, E_F32, 4), -3, 3));
        struct value *b = input(x, array_random(x, TYPE(x, E_F32, 4), -3, 3));
        struct value *y[] = { build_binary(&x->b, OP_add, a, b),
                              build_binary(&x->b, OP_sub, a, b) };
        yield_all(x, y, 2);
        fuse_all(x);
        struct loop_buffer **parameters = lower(x, false, false)->kernels->buffers;
        assert_int_equal(parameters[0]->alias_class, parameters[2]->alias_class);
        assert_int_equal(parameters[1]->alias_class, parameters[3]->alias_class);
        assert_int_not_equal(parameters[0]->alias_class, parameters[1]->alias_class);
        fixture_free(x);
}

static void test_kernels_are_shared(void **state)
{
        (void)state;
        struct fixture *x = fixture_new();
        struct value *v = input(x, array_random(x, TYPE(x, E_F32, 4, 4), -3, 3));
        for (int i = 0; i < 10; i++) {
                struct array w = array_random(x, v->type, -3, 3);
                v = build_binary(&x->b, OP_add, build_unary(&x->b, OP_neg, v),
                                 constant_dense(x->m, w.type, w.data, "w"));
        }
        v = build_binary(&x->b, OP_add, v, build_like(&x->b, v, 2)); /* a literal: another kernel */
        yield_all(x, &v, 1);
        struct loop_program *p = lower(x, true, false);
        assert_int_equal(kernels(p), 3);
        assert_int_equal(calls(p), 21);
        fixture_free(x);
}

/* reshape, slice and concat cost nothing where they can be views */
static void test_views(void **state)
{
        (void)state;
        struct fixture *x = fixture_new();
        struct value *a = input(x, array_random(x, TYPE(x, E_F32, 4, 6), -3, 3));
        struct value *upper = build_slice(&x->b, a, INTS(2, 0), INTS(1, 1), (dim_t[]){ 1, 6 });
        struct value *parts[] = { build_unary(&x->b, OP_neg, upper),
                                  build_reshape(&x->b, build_unary(&x->b, OP_abs, upper),
                                                DIMS(1, 6)) };
        struct value *both = build_concat(&x->b, parts, 2, 0);
        struct value *y =
                build_transpose(&x->b, build_reshape(&x->b, both, DIMS(1, 12)), INTS(1, 0));
        yield_all(x, &y, 1);
        assert_int_equal(calls(lower(x, false, false)), 6);
        assert_int_equal(calls(lower(x, true, false)), 2);
        fixture_free(x);
}

/* an operand of a concat that is an input, a constant, an output, or there twice is copied */
static void test_view_copies(void **state)
{
        (void)state;
        struct fixture *x = fixture_new();
        struct array a = array_random(x, TYPE(x, E_I32, 1, 3), -9, 9),
                     c = array_random(x, TYPE(x, E_I32, 1, 3), -9, 9);
        struct value *in = input(x, a), *n = build_unary(&x->b, OP_neg, in),
                     *m = build_unary(&x->b, OP_abs, in);
        struct value *parts[] = { in, constant_dense(x->m, c.type, c.data, "c"), n, n, m };
        struct value *y = build_concat(&x->b, parts, 5, 0);
        struct array want[] = { array_new(x, y->type), array_new(x, a.type), a };
        for (int64_t i = 0; i < 3; i++) {
                int64_t v = (int64_t)number(a, i);
                put(want[0], i, v);
                put(want[0], 3 + i, (int64_t)number(c, i));
                put(want[0], 6 + i, -v);
                put(want[0], 9 + i, -v);
                put(want[0], 12 + i, v < 0 ? -v : v);
                put(want[1], i, -v);
        }
        check_all(x, (struct value *[]){ y, n, in }, want, 3);
}

/* outputs that are the same value, a constant, or a reshape of another one */
static void test_outputs(void **state)
{
        (void)state;
        struct fixture *x = fixture_new();
        struct array a = array_random(x, TYPE(x, E_I32, 2, 3), -9, 9), n = array_new(x, a.type);
        for (int64_t i = 0; i < 6; i++)
                put(n, i, -(int64_t)number(a, i));
        struct value *y = build_unary(&x->b, OP_neg, input(x, a)),
                     *flat = build_reshape(&x->b, y, DIMS(6));
        struct array wide = { TYPE(x, E_I32, 6), n.data }, seven = array_new(x, TYPE(x, E_I32, 2));
        put(seven, 0, 7);
        put(seven, 1, 7);
        struct value *sevens = build_like(&x->b, input(x, seven), 7);
        check_all(x, (struct value *[]){ y, flat, y, sevens, flat },
                  (struct array[]){ n, wide, n, seven, wide }, 5);
}

static void test_zero_elements(void **state)
{
        (void)state;
        struct fixture *x = fixture_new();
        struct array a = array_random(x, TYPE(x, E_F32, 0, 3), -9, 9),
                     zero = array_new(x, TYPE(x, E_F32, 3));
        struct value *v = build_unary(&x->b, OP_neg, input(x, a));
        struct value *y = build_reduce(&x->b, REDUCE_sum, v, INTS(0), 1);
        yield_all(x, (struct value *[]){ v, y }, 2);
        struct loop_program *p = lower(x, true, false);
        assert_int_equal(calls(p), 1);
        struct array got[2];
        assert_int_equal(run_program(x, p, got), 0);
        compare(p, got[1], zero, true, "zero");
        fixture_free(x);
}

static void test_port_names(void **state)
{
        (void)state;
        struct fixture *x = fixture_new();
        static const char *const names[] = { "workspace", "in put", "in/put", "", "for" };
        struct value *v = NULL;
        for (size_t i = 0; i < COUNT(names); i++)
                v = function_add_input(x->f, names[i], TYPE(x, E_F32, 2));
        yield_all(x, &v, 1);
        x->f->output_ports = (struct port[]){ { .name = "in put" } };
        struct loop_program *p = lower(x, false, false);
        int ports = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                assert_string_not_equal(b->name, "workspace");
                assert_string_equal(b->port, ports < 5 ? names[ports] : "in put");
                ports++;
        }
        assert_int_equal(ports, 6);
        fixture_free(x);
}

/* ---- if ---- */

static struct value *build_if(struct fixture *x, struct value *c, struct value *a, int depth)
{
        const struct type *types[] = { a->type };
        struct op *op = op_build(&x->b, OP_if, &c, 1, NULL, types, 2);
        assert_non_null(op);
        for (int i = 0; i < 2; i++) {
                struct fixture inside = *x;
                inside.b.region = op_add_region(op, i);
                struct value *v = build_unary(&inside.b, i ? OP_abs : OP_neg, a);
                if (depth)
                        v = build_if(&inside, c, v, depth - 1);
                else if (i)
                        v = a;          /* a value from outside is yielded as it is */
                build_yield(&inside.b, &v, 1);
        }
        return op_result(op);
}

static void test_if(void **state)
{
        (void)state;
        for (int c = 0; c < 2; c++)
                for (int depth = 0; depth < 3; depth++) {
                        struct fixture *x = fixture_new();
                        struct array a = array_random(x, TYPE(x, E_I32, 2, 3), -9, 9),
                                     flag = array_new(x, SCALAR(x, E_BOOL));
                        put(flag, 0, c);
                        struct value *cv = input(x, flag), *av = input(x, a);
                        struct value *parts[] = { build_if(x, cv, av, depth),
                                                  build_unary(&x->b, OP_neg, av) };
                        struct value *y = build_concat(&x->b, parts, 2, 0);
                        struct array want = array_new(x, y->type);
                        for (int64_t i = 0; i < 6; i++) {
                                int64_t v = (int64_t)number(a, i), n = v;
                                for (int d = 0; d <= depth; d++)
                                        n = c ? -n : d < depth ? (n < 0 ? -n : n) : n;
                                put(want, i, n);
                                put(want, 6 + i, -v);
                        }
                        x->keep_apart = true;
                        check(x, y, want);
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_loops_collapse),  cmocka_unit_test(test_alias_classes),
                cmocka_unit_test(test_kernels_are_shared), cmocka_unit_test(test_views),
                cmocka_unit_test(test_view_copies),     cmocka_unit_test(test_outputs),
                cmocka_unit_test(test_zero_elements),   cmocka_unit_test(test_port_names),
                cmocka_unit_test(test_if),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
