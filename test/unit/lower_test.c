/* SPDX-License-Identifier: MIT */
/* The lowering of element-wise operations and of fusions, and its limits. */
#include <math.h>

#include "test/unit/lower_harness.h"

/* ---- element-wise ---- */

static double plus(double a, double b) { return a + b; }
static double minus(double a, double b) { return a - b; }
static double times(double a, double b) { return a * b; }
static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }
static double negative(double a, double b) { return b * 0 - a; }
static double magnitude(double a, double b) { return b * 0 + (a < 0 ? -a : a); }
static double is_equal(double a, double b) { return a == b; }
static double is_other(double a, double b) { return a != b; }
static double is_less(double a, double b) { return a < b; }
static double is_least(double a, double b) { return a <= b; }
static double bits_and(double a, double b) { return (double)((int64_t)a & (int64_t)b); }
static double bits_or(double a, double b) { return (double)((int64_t)a | (int64_t)b); }
static double bits_xor(double a, double b) { return (double)((int64_t)a ^ (int64_t)b); }

static const struct { enum opcode code; int arity; double (*f)(double a, double b); } formulas[] = {
        { OP_add, 2, plus },      { OP_sub, 2, minus },    { OP_mul, 2, times },
        { OP_max, 2, larger },    { OP_min, 2, smaller },  { OP_neg, 1, negative },
        { OP_abs, 1, magnitude }, { OP_eq, 2, is_equal },  { OP_ne, 2, is_other },
        { OP_lt, 2, is_less },    { OP_le, 2, is_least },  { OP_and, 2, bits_and },
        { OP_or, 2, bits_or },    { OP_xor, 2, bits_xor },
};

static bool has_domain(enum domain domain, enum element e)
{
        switch (domain) {
        case DOMAIN_NUMBER: return e != E_BOOL;
        case DOMAIN_FLOAT: return element_is_float(e);
        case DOMAIN_INTEGER: return element_is_integer(e);
        case DOMAIN_LOGIC: return !element_is_float(e);
        case DOMAIN_ANY: break;
        }
        return true;
}

static void test_formulas(void **state)
{
        (void)state;
        for (size_t c = 0; c < COUNT(formulas); c++)
                for (size_t k = 0; k < COUNT(all_types); k++) {
                        if (!has_domain(op_info[formulas[c].code].domain, all_types[k]))
                                continue;
                        struct fixture *x = fixture_new();
                        struct array a = array_random(x, TYPE(x, all_types[k], 2, 3, 4), -9, 9);
                        struct array b = array_random(x, TYPE(x, all_types[k], 2, 3, 4), -9, 9);
                        struct value *y = apply(x, formulas[c].code, NULL, NULL, formulas[c].arity,
                                                input(x, a),
                                                formulas[c].arity > 1 ? input(x, b) : NULL, NULL);
                        struct array want = array_new(x, y->type);
                        for (int64_t i = 0; i < 24; i++)
                                put(want, i, (int64_t)formulas[c].f(number(a, i), number(b, i)));
                        check(x, y, want);
                }
}

/* every row, every type it is for: the kernel is sound, and sharing a value changes nothing */
static void test_every_formula(void **state)
{
        (void)state;
        for (int code = 0; code < OPCODE_COUNT; code++)
                for (size_t k = 0; k < COUNT(all_types) && op_info[code].formula; k++) {
                        if (!has_domain(op_info[code].domain, all_types[k]))
                                continue;
                        struct fixture *x = fixture_new();
                        struct value *a =
                                input(x, array_random(x, TYPE(x, all_types[k], 5, 7), -4, 4));
                        struct value *b =
                                input(x, array_random(x, TYPE(x, all_types[k], 5, 7), -4, 4));
                        int arity = op_info[code].operand_count;
                        struct value *y =
                                apply(x, (enum opcode)code, NULL, NULL, arity, a, b, NULL);
                        struct value *z =
                                apply(x, (enum opcode)code, NULL, NULL, arity, b, a, NULL);
                        struct value *both = build_binary(&x->b, OP_max, y, z);
                        check_forms_agree(
                                x, (struct value *[]){ build_binary(&x->b, OP_min, both, y), y },
                                2);
                }
}

static void test_select(void **state)
{
        (void)state;
        for (size_t k = 0; k < COUNT(all_types); k++) {
                struct fixture *x = fixture_new();
                struct array c = array_random(x, TYPE(x, E_BOOL, 20), 0, 1);
                struct array a = array_random(x, TYPE(x, all_types[k], 20), -9, 9);
                struct array b = array_random(x, TYPE(x, all_types[k], 20), -9, 9),
                             want = array_new(x, a.type);
                for (int64_t i = 0; i < 20; i++)
                        copy_element(want, i, get(c, i).u ? a : b, i);
                struct value *cv = input(x, c), *av = input(x, a);
                check(x, build_select(&x->b, cv, av, input(x, b)), want);
        }
}

/* what the conversion of a number gives: saturated, wrapped, rounded, or != 0 */
static void put_converted(struct array to, int64_t i, struct array from)
{
        enum element s = from.type->element, d = to.type->element;
        union scalar v = get(from, i), out = { .u = 0 };
        int bits = 8 * element_info[d].bytes;
        bool is_signed = element_info[d].class == CLASS_SINT;
        if (element_is_float(d)) {
                out.f = number(from, i);
        } else if (d == E_BOOL) {
                out.u = number(from, i) != 0;
        } else if (!element_is_float(s)) {
                out = v;
        } else if (!isnan(v.f)) {
                double low = is_signed ? -ldexp(1, bits - 1) : 0,
                       high = ldexp(1, is_signed ? bits - 1 : bits);
                if (v.f >= high)
                        out.u = ~UINT64_C(0) >> (64 - bits + is_signed);
                else if (v.f <= low)
                        out.u = is_signed ? UINT64_C(1) << (bits - 1) : 0;
                else if (is_signed)
                        out.i = (int64_t)v.f;
                else
                        out.u = (uint64_t)v.f;
        }
        element_store(d, to.data, (size_t)i, out);
}

static void test_cast(void **state)
{
        (void)state;
        static const double specials[] = { 0.5,          -0.5, 127.5, 128,   -129,
                                           255.99,       300,  -1,    65504, 70000,
                                           2147483648.0, -3e9, 1e19,  -1e19, INFINITY,
                                           -INFINITY,    NAN,  0,     1,     2.75 };
        for (size_t s = 0; s < COUNT(all_types); s++)
                for (size_t d = 0; d < COUNT(all_types); d++) {
                        struct fixture *x = fixture_new();
                        struct array a =
                                array_random(x, TYPE(x, all_types[s], 20), -2000000, 2000000);
                        for (size_t i = 0; element_is_float(all_types[s]) && i < 20; i++)
                                element_store(all_types[s], a.data, i,
                                              (union scalar){ .f = specials[i] });
                        struct array want = array_new(x, TYPE(x, all_types[d], 20));
                        for (int64_t i = 0; i < 20; i++)
                                put_converted(want, i, a);
                        struct attr *at = attrs(x, OP_cast);
                        attr_set(at, OP_cast, "to", all_types[d]);
                        check(x, apply(x, OP_cast, at, NULL, 1, input(x, a), NULL, NULL), want);
                }
}

static void test_bitcast(void **state)
{
        (void)state;
        static const enum element pairs[][2] = { { E_F32, E_I32 },  { E_U32, E_F32 },
                                                 { E_F64, E_I64 },  { E_F16, E_U16 },
                                                 { E_I16, E_BF16 }, { E_I8, E_U8 },
                                                 { E_U64, E_F64 } };
        for (size_t k = 0; k < COUNT(pairs); k++) {
                struct fixture *x = fixture_new();
                struct array a = array_random(x, TYPE(x, pairs[k][0], 10), -100, 100);
                struct array want = { TYPE(x, pairs[k][1], 10), a.data };
                struct attr *at = attrs(x, OP_bitcast);
                attr_set(at, OP_bitcast, "to", pairs[k][1]);
                check(x, apply(x, OP_bitcast, at, NULL, 1, input(x, a), NULL, NULL), want);
        }
}

/* each f16 operation rounds, also where no buffer holds what it gives */
static void test_rounding(void **state)
{
        (void)state;
        struct fixture *x = fixture_new();
        struct array a = array_new(x, TYPE(x, E_F16, 1)), want = array_new(x, a.type);
        put(a, 0, 2048);
        put(want, 0, 2048);
        struct value *v = input(x, a), *one = build_like(&x->b, v, 1);
        struct value *y = build_binary(&x->b, OP_add, build_binary(&x->b, OP_add, v, one), one);
        check(x, y, want);
}

/* ---- random functions: fused, viewed and apart give the same bits ---- */

struct pool { struct fixture *x; struct value *values[64]; int count; };

static struct value *pick(struct pool *p) { return p->values[random_between(0, p->count - 1)]; }

static struct value *pick_like(struct pool *p, const struct value *v)
{
        for (int tries = 0; tries < 8; tries++) {
                struct value *w = pick(p);
                if (w->type == v->type)
                        return w;
        }
        return build_like(&p->x->b, (struct value *)(uintptr_t)v, 3);
}

static struct value *random_slice(struct builder *b, struct value *v)
{
        int64_t starts[RANK_MAX], steps[RANK_MAX], extents[RANK_MAX];
        dim_t sizes[RANK_MAX];
        for (int d = 0; d < v->type->rank; d++) {
                int64_t n = type_extent(v->type, d);
                extents[d] = random_between(1, n);
                steps[d] = extents[d] > 1 && extents[d] == n ? (random_between(0, 1) ? 1 : -1) : 1;
                starts[d] = steps[d] > 0 ? random_between(0, n - extents[d]) : n - 1;
        }
        dims_of(sizes, v->type->rank, extents);
        return build_slice(b, v, starts, steps, sizes);
}

/* Amounts that leave something of every dimension: what a mode goes around must be there. */
static struct value *random_pad(struct pool *p, struct value *v)
{
        int64_t low[RANK_MAX];
        dim_t size[RANK_MAX];
        for (int d = 0; d < v->type->rank; d++) {
                low[d] = random_between(type_extent(v->type, d) > 1 ? -1 : 0, 2) *
                         (random_between(0, 2) == 0);
                size[d] = dim_of(type_extent(v->type, d) + low[d] +
                          random_between(0, 2) * (random_between(0, 2) == 0));
                size[d] = dim_of(dim_extent(size[d]) < 1 ? 1 : dim_extent(size[d]));
        }
        struct attr *at = attrs(p->x, OP_pad);
        attr_set(at, OP_pad, "mode", random_between(0, 3));
        return apply(p->x, OP_pad, at, type_tensor(p->x->m, v->type->element, v->type->rank, size),
                     3, v, build_scalar(&p->x->b, v->type->element, 5),
                     constant_ints(p->x->m, low, v->type->rank));
}

static struct value *random_broadcast(struct pool *p, struct value *v)
{
        dim_t dims[RANK_MAX];
        int64_t onto[RANK_MAX];
        int rank = 0;
        for (int d = 0; d < v->type->rank; d++) {
                if (random_between(0, 2) == 0 && rank < 5)
                        dims[rank++] = dim_of(random_between(1, 3));
                onto[d] = rank;
                dims[rank++] = dim_of(dim_is(v->type->dims[d], 1) ? random_between(1, 3) : type_extent(v->type, d));
        }
        return build_broadcast(&p->x->b, v, type_tensor(p->x->m, v->type->element, rank, dims),
                               onto);
}

static struct value *random_permutation(struct pool *p, struct value *v)
{
        int64_t perm[RANK_MAX];
        for (int d = 0; d < v->type->rank; d++) {
                int other = (int)random_between(0, d);
                perm[d] = perm[other];
                perm[other] = d;
        }
        return build_transpose(&p->x->b, v, perm);
}

static struct value *random_reshape(struct pool *p, struct value *v)
{
        dim_t dims[RANK_MAX];
        int rank = 0;
        int64_t left = type_elements(v->type);
        for (int64_t f = 2; f <= left && rank < 5; f++)
                if (left % f == 0 && random_between(0, 1)) {
                        dims[rank++] = dim_of(f);
                        left /= f;
                }
        dims[rank++] = dim_of(left);
        return build_reshape(&p->x->b, v, rank, dims);
}

/* the product of two values of one type over one dimension, another one perhaps a batch */
static struct value *random_dot(struct pool *p, struct value *v)
{
        int rank = v->type->rank;
        if (!rank || rank > 3)
                return NULL;
        int64_t contract = random_between(0, rank - 1), batch = (contract + 1) % rank;
        int batches = rank > 1 && random_between(0, 1);
        struct attr *at = attrs(p->x, OP_dot);
        attr_set_ints(p->x->m, at, OP_dot, "contract_a", &contract, 1);
        attr_set_ints(p->x->m, at, OP_dot, "contract_b", &contract, 1);
        attr_set_ints(p->x->m, at, OP_dot, "batch_a", &batch, batches);
        attr_set_ints(p->x->m, at, OP_dot, "batch_b", &batch, batches);
        return apply(p->x, OP_dot, at, NULL, 2, v, pick_like(p, v), NULL);
}

static struct value *random_reduce(struct pool *p, struct value *v)
{
        int64_t axes[RANK_MAX];
        int count = 0;
        for (int d = 0; d < v->type->rank; d++)
                if (random_between(0, 1))
                        axes[count++] = d;
        return build_reduce(&p->x->b, (enum reducer)random_between(0, REDUCER_COUNT - 1), v, axes,
                            count);
}

static struct value *random_op(struct pool *p)
{
        struct builder *b = &p->x->b;
        struct value *v = pick(p);
        int rank = v->type->rank;
        static const enum opcode binary[] = { OP_add, OP_sub, OP_mul, OP_max, OP_min };
        switch (random_between(0, 12)) {
        case 0: return random_slice(b, v);
        case 1: return random_pad(p, v);
        case 2: return random_broadcast(p, v);
        case 3: return random_permutation(p, v);
        case 4: return random_reshape(p, v);
        case 5: {
                struct value *parts[] = { v, pick_like(p, v), v };
                return rank ? build_concat(b, parts, (int)random_between(1, 3),
                                           (int)random_between(0, rank - 1))
                            : NULL;
        }
        case 6: return random_reduce(p, v);
        case 7: {
                struct value *indices =
                        constant_ints(p->x->m, INTS(0, -1, 0), (int)random_between(1, 3));
                return rank ? build_gather(b, v, indices, (int)random_between(0, rank - 1)) : NULL;
        }
        case 8: return build_unary(b, random_between(0, 1) ? OP_neg : OP_abs, v);
        case 9: return random_dot(p, v);
        default: return build_binary(b, binary[random_between(0, 4)], v, pick_like(p, v));
        }
}

static void test_random_functions(void **state)
{
        (void)state;
        static const enum element types[] = { E_F32, E_I32, E_F16, E_U8 };
        for (int run = 0; run < 300; run++) {
                struct pool p = { .x = fixture_new() };
                enum element e = types[run % 4];
                p.values[p.count++] = input(p.x, array_random(p.x, TYPE(p.x, e, 2, 3, 4), -3, 3));
                p.values[p.count++] = input(p.x, array_random(p.x, TYPE(p.x, e, 2, 3, 4), -3, 3));
                p.values[p.count++] = operand(p.x, array_random(p.x, TYPE(p.x, e, 4), -3, 3), true);
                for (int i = 0; i < 12 && p.count < 16; i++) {
                        struct value *v = random_op(&p);
                        if (v && type_elements(v->type) <= 400 && v->type->rank <= 6)
                                p.values[p.count++] = v;
                }
                struct value *outputs[] = { p.values[p.count - 1], pick(&p), p.values[p.count / 2],
                                            pick(&p) };
                check_forms_agree(p.x, outputs, 4);
        }
}

/* ---- limits, and the folder's way in ---- */

/* Fusions that would write out too much in one kernel are taken apart. */
static void test_limits(void **state)
{
        (void)state;
        static const int lengths[] = { 3000, 40, 40 };
        for (int form = 0; form < 3; form++) {
                struct fixture *x = fixture_new();
                struct value *v = input(x, array_random(x, TYPE(x, E_F32, 4, 4), -3, 3));
                for (int i = 0; i < lengths[form]; i++) {
                        struct value *w;
                        if (form == 0) {        /* a long chain */
                                v = build_unary(&x->b, OP_neg, v);
                                continue;
                        }
                        if (form == 1) {        /* twice as many elements with each step */
                                w = build_transpose(&x->b, v, INTS(1, 0));
                                v = build_slice(&x->b, v, INTS(3, 3), INTS(-1, -1), v->type->dims);
                        } else {                /* loops in loops */
                                w = build_reduce(&x->b, REDUCE_sum, v, INTS(1), 1);
                                w = build_broadcast(&x->b, w, v->type, INTS(1));
                        }
                        v = build_binary(&x->b, OP_add, v, w);
                }
                check_forms_agree(x, &v, 1);
        }
}

static void test_lower_kernel(void **state)
{
        (void)state;
        struct fixture *x = fixture_new();
        struct array a = array_random(x, TYPE(x, E_F32, 4), -3, 3);
        struct value *c = constant_dense(x->m, a.type, a.data, "a");
        x->b.location = "layer1/conv, layer1/relu";
        struct value *y = build_binary(&x->b, OP_mul, c, build_like(&x->b, c, 2));
        struct loop_program *p = loop_program_new(x->m->arena, "one", library());
        struct lower_options options = { .views = false };
        struct value **inputs;
        int count;
        struct loop_function *kernel = lower_kernel(p, y->op, &options, &inputs, &count, &x->diag);
        assert_non_null(kernel);
        assert_ptr_equal(p->kernels, kernel);
        assert_int_equal(count, 1);
        assert_ptr_equal(inputs[0], c);
        assert_int_equal(kernel->buffer_count, 2);
        assert_string_equal(kernel->name, "layer1_conv");
        assert_string_equal(kernel->location, "layer1/conv, layer1/relu");
        assert_string_equal(kernel->summary, "mul -> <4 x f32>");
        assert_true(kernel->flops == 4);
        assert_true(loop_verify(p, &x->diag));
        fixture_free(x);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_formulas),        cmocka_unit_test(test_every_formula),
                cmocka_unit_test(test_select),          cmocka_unit_test(test_cast),
                cmocka_unit_test(test_bitcast),         cmocka_unit_test(test_rounding),
                cmocka_unit_test(test_random_functions), cmocka_unit_test(test_limits),
                cmocka_unit_test(test_lower_kernel),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
