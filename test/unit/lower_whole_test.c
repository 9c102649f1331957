/* SPDX-License-Identifier: MIT */
/* The lowering of operations that are computed all at once, against plain C. */
#include <math.h>

#include "test/unit/lower_harness.h"

/* ---- scatter ---- */

enum { REPLACE, SUM, PROD, MAX, MIN, KINDS };

static double joined(int kind, double x, double y)
{
        switch (kind) {
        case SUM: return x + y;
        case PROD: return x * y;
        case MAX: return x > y ? x : y;
        case MIN: return x < y ? x : y;
        default: return y;
        }
}

static struct array copied(struct fixture *x, struct array a)
{
        struct array b = array_new(x, a.type);
        for (int64_t i = 0; i < type_elements(a.type); i++)
                copy_element(b, i, a, i);
        return b;
}

static int64_t wrapped(struct array indices, int64_t at, int64_t extent)
{
        int64_t i = (int64_t)number(indices, at);
        return i < 0 ? i + extent : i;
}

static struct value *scatter(struct fixture *x, struct array a, struct value *indices, struct array updates, int kind, int axis)
{
        struct attr *at = attrs(x, OP_scatter);
        attr_set(at, OP_scatter, "kind", kind);
        attr_set(at, OP_scatter, "axis", axis);
        struct value *v = input(x, a);
        return apply(x, OP_scatter, at, NULL, 3, v, indices, input(x, updates));
}

static void check_scatter_tuples(enum element e, int kind, int width, bool constant)
{
        struct fixture *x = fixture_new();
        struct array a = array_random(x, TYPE(x, e, 3, 2, 4), -2, 2), want = copied(x, a);
        struct array indices = array_new(x, TYPE(x, E_I64, 5, 2, width));      /* some more than once */
        for (int64_t i = 0; i < 10 * width; i++) {
                int64_t n = type_extent(a.type, i % width);
                put(indices, i, random_between(-n, n - 1));
        }
        dim_t dims[5] = { 5, 2 }, slice = dim_of(1);
        for (int d = width; d < 3; d++)
                slice = dim_of(dim_extent(slice) * dim_extent(dims[2 + d - width] = a.type->dims[d]));
        struct array updates = array_random(x, type_tensor(x->m, e, 5 - width, dims), -2, 2);
        for (int64_t u = 0; u < 10; u++) {
                int64_t at = 0;
                for (int k = 0; k < width; k++)
                        at = at * type_extent(a.type, k) + wrapped(indices, u * width + k, type_extent(a.type, k));
                for (int64_t s = 0; s < dim_extent(slice); s++)
                        put(want, at * dim_extent(slice) + s, (int64_t)joined(kind, number(want, at * dim_extent(slice) + s), number(updates, u * dim_extent(slice) + s)));
        }
        struct value *iv = operand(x, indices, constant);
        check(x, scatter(x, a, iv, updates, kind, -1), want);
}

static void test_scatter_tuples(void **state)
{
        static const enum element types[] = { E_F32, E_F64, E_I32, E_I64, E_BF16 };
        (void)state;
        for (size_t k = 0; k < COUNT(types); k++)
                for (int kind = 0; kind < KINDS; kind++)
                        for (int width = 1; width <= 3; width++)
                                for (int constant = 0; constant < 2; constant++)
                                        check_scatter_tuples(types[k], kind, width, constant);
}

static void test_scatter_along(void **state)
{
        (void)state;
        static const dim_t shapes[][2] = { { 3, 4 }, { 5, 4 }, { 3, 2 }, { 1, 1 }, { 3, 7 }, { 0, 4 } };
        for (int kind = 0; kind < KINDS; kind++)
                for (int axis = 0; axis < 2; axis++)
                        for (size_t s = 0; s < COUNT(shapes); s++) {
                                if (dim_extent(shapes[s][1 - axis]) > (axis ? 3 : 4))
                                        continue;
                                struct fixture *x = fixture_new();
                                struct array a = array_random(x, TYPE(x, E_F64, 3, 4), -2, 2), want = copied(x, a);
                                int64_t extent = type_extent(a.type, axis);
                                struct array indices = array_random(x, type_tensor(x->m, E_I32, 2, shapes[s]), -extent, extent - 1);
                                struct array updates = array_random(x, type_tensor(x->m, E_F64, 2, shapes[s]), -2, 2);
                                for (int64_t i = 0; i < type_elements(updates.type); i++) {
                                        int64_t to[2];
                                        index_of(updates.type, i, to);
                                        to[axis] = wrapped(indices, i, type_extent(a.type, axis));
                                        int64_t at = position_of(a.type, to);
                                        put(want, at, (int64_t)joined(kind, number(want, at), number(updates, i)));
                                }
                                struct value *iv = input(x, indices);
                                check(x, scatter(x, a, iv, updates, kind, axis), want);
                        }
}

static void test_scatter_fails(void **state)
{
        (void)state;
        static const int64_t wrong[] = { 3, -4, INT64_MAX, INT64_MIN, INT64_C(1) << 32 };
        for (size_t k = 0; k < COUNT(wrong); k++)
                for (int along = 0; along < 2; along++) {
                        struct fixture *x = fixture_new();
                        struct array a = array_random(x, TYPE(x, E_F32, 3), -2, 2), updates = array_random(x, TYPE(x, E_F32, 2), -2, 2);
                        struct array indices = array_new(x, along ? TYPE(x, E_I64, 2) : TYPE(x, E_I64, 2, 1));
                        put(indices, 0, 1);
                        put(indices, 1, wrong[k]);
                        struct value *iv = input(x, indices);
                        check_fails(x, scatter(x, a, iv, updates, SUM, along ? 0 : -1), FAILED_INDEX);
                }
}

/* what scatter gives is read by the operation behind it, in its kernel and in one of their own */
static void test_scatter_inside(void **state)
{
        (void)state;
        struct fixture *x = fixture_new();
        struct array a = array_random(x, TYPE(x, E_F32, 4), -2, 2), updates = array_random(x, TYPE(x, E_F32, 3), -2, 2);
        struct array indices = array_new(x, TYPE(x, E_I64, 3)), want = array_new(x, a.type);
        struct value *v = input(x, a), *iv = input(x, indices), *u = input(x, updates);
        struct attr *at = attrs(x, OP_scatter);
        attr_set(at, OP_scatter, "kind", SUM);
        attr_set(at, OP_scatter, "axis", 0);
        for (int64_t i = 0; i < 3; i++)
                put(indices, i, i == 1 ? 3 : 0);
        for (int64_t i = 0; i < 4; i++)
                put(want, i, (int64_t)number(a, i));
        put(want, 0, (int64_t)(number(a, 0) - number(updates, 0) - number(updates, 2)));
        put(want, 3, (int64_t)(number(a, 3) - number(updates, 1)));
        struct value *y = apply(x, OP_scatter, at, NULL, 3, build_unary(&x->b, OP_neg, v), iv, u);
        check(x, build_unary(&x->b, OP_neg, y), want);
}

/* ---- argsort ---- */

/* that many elements of the line go before element i */
static int64_t rank_of(struct array a, const int64_t *line, int64_t count, int64_t i, bool descending)
{
        int64_t rank = 0;
        double x = number(a, line[i]);
        for (int64_t k = 0; k < count; k++) {
                double y = number(a, line[k]);
                bool same = x == y || (x != x && y != y), larger = x > y || (x != x && y == y);
                rank += same ? k < i : descending ? !larger : larger;
        }
        return rank;
}

static void check_argsort(struct fixture *x, struct array a, int axis, bool descending, int64_t kept)
{
        dim_t dims[3];
        memcpy(dims, a.type->dims, sizeof dims);
        int64_t count = dim_extent(dims[axis]);
        dims[axis] = dim_of(kept);
        const struct type *t = type_tensor(x->m, E_I64, 3, dims);
        struct array want = array_new(x, t);
        int64_t index[3], line[64];
        for (int64_t i = 0; i < type_elements(a.type); i++) {
                index_of(a.type, i, index);
                int64_t at = index[axis];
                for (index[axis] = 0; index[axis] < count; index[axis]++)
                        line[index[axis]] = position_of(a.type, index);
                index[axis] = rank_of(a, line, count, at, descending);
                if (index[axis] < kept)
                        put(want, position_of(t, index), at);
        }
        struct attr *attr = attrs(x, OP_argsort);
        attr_set(attr, OP_argsort, "axis", axis);
        attr_set(attr, OP_argsort, "descending", descending);
        check(x, apply(x, OP_argsort, attr, t, 1, input(x, a), NULL, NULL), want);
}

static void test_argsort(void **state)
{
        static const dim_t extents[] = { 1, 2, 3, 7, 8, 9, 33 };
        (void)state;
        for (size_t k = 0; k < COUNT(all_types); k++)
                for (size_t n = 0; n < COUNT(extents); n++)
                        for (int axis = 0; axis < 3; axis++) {
                                struct fixture *x = fixture_new();
                                dim_t dims[3] = { 2, 3, 2 };
                                dims[axis] = extents[n];
                                bool truths = all_types[k] == E_BOOL;
                                struct array a = array_random(x, type_tensor(x->m, all_types[k], 3, dims), truths ? 0 : -4, truths ? 1 : 9);
                                check_argsort(x, a, axis, (k + n) % 2, n % 3 ? dim_extent(extents[n]) : (dim_extent(extents[n]) + 1) / 2);
                        }
}

static void test_argsort_not_a_number(void **state)
{
        (void)state;
        for (int descending = 0; descending < 2; descending++) {
                struct fixture *x = fixture_new();
                struct array a = array_random(x, TYPE(x, E_F32, 1, 2, 20), -4, 4);
                float *data = (float *)(void *)a.data;
                data[3] = data[7] = data[22] = NAN;
                data[4] = INFINITY;
                data[5] = -INFINITY;
                data[9] = -0.0f;
                data[11] = 0.0f;
                check_argsort(x, a, 2, descending, 20);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_scatter_tuples), cmocka_unit_test(test_scatter_along), cmocka_unit_test(test_scatter_fails),
                cmocka_unit_test(test_scatter_inside), cmocka_unit_test(test_argsort), cmocka_unit_test(test_argsort_not_a_number),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
