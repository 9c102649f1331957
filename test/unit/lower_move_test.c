/* SPDX-License-Identifier: MIT */
/* The lowering of operations that move elements, against loops over every index of the result. */
#include "test/unit/lower_harness.h"

/* ---- shapes ---- */

static void test_reshape(void **state)
{
        (void)state;
        static const struct { int a_rank; dim_t a[4]; int b_rank; dim_t b[4]; } cases[] = {
                { 2, { 4, 6 }, 1, { 24 } },         { 1, { 24 }, 3, { 2, 3, 4 } },
                { 3, { 2, 3, 4 }, 3, { 4, 3, 2 } }, { 0, { 0 }, 2, { 1, 1 } },
                { 2, { 1, 1 }, 0, { 0 } },          { 4, { 1, 6, 1, 4 }, 3, { 2, 3, 4 } },
                { 2, { 0, 5 }, 3, { 3, 0, 2 } },    { 3, { 2, 6, 5 }, 4, { 2, 2, 3, 5 } },
        };
        for (size_t c = 0; c < COUNT(cases); c++)
                for (size_t k = 0; k < COUNT(all_types); k++) {
                        struct fixture *x = fixture_new();
                        const struct type *t =
                                type_tensor(x->m, all_types[k], cases[c].a_rank, cases[c].a);
                        struct array a = array_random(x, t, -100, 100);
                        struct value *y =
                                build_reshape(&x->b, input(x, a), cases[c].b_rank, cases[c].b);
                        struct array want = {
                                type_tensor(x->m, all_types[k], cases[c].b_rank, cases[c].b), a.data
                        };
                        check(x, y, want);
                }
}

/* A reshape between a transpose and a broadcast: the flat position has to be taken apart. */
static void test_reshape_of_computed(void **state)
{
        (void)state;
        struct fixture *x = fixture_new();
        struct array a = array_random(x, TYPE(x, E_I32, 3, 8), -50, 50);
        struct value *t = build_transpose(&x->b, input(x, a), INTS(1, 0));
        struct value *r = build_reshape(&x->b, t, DIMS(2, 4, 3));
        struct value *u = build_transpose(&x->b, r, INTS(2, 0, 1));
        struct array want = array_new(x, TYPE(x, E_I32, 3, 2, 4));
        for (int64_t i = 0; i < 3; i++)
                for (int64_t j = 0; j < 8; j++)
                        copy_element(want, i * 8 + j, a, i * 8 + j);
        check(x, u, want);
}

static void test_transpose(void **state)
{
        (void)state;
        static const int64_t perms[][4] = { { 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 0, 2, 3, 1 },
                                            { 0, 3, 1, 2 }, { 1, 0, 3, 2 }, { 2, 0, 1, 3 } };
        static const dim_t shapes[][4] = {
                { 2, 3, 4, 5 }, { 1, 3, 1, 5 }, { 2, 0, 4, 5 }, { 1, 1, 1, 7 }
        };
        for (size_t p = 0; p < COUNT(perms); p++)
                for (size_t s = 0; s < COUNT(shapes); s++) {
                        struct fixture *x = fixture_new();
                        struct array a =
                                array_random(x, type_tensor(x->m, E_I16, 4, shapes[s]), -999, 999);
                        struct attr *at = attrs(x, OP_transpose);
                        attr_set_ints(x->m, at, OP_transpose, "perm", perms[p], 4);
                        struct value *y =
                                apply(x, OP_transpose, at, NULL, 1, input(x, a), NULL, NULL);
                        struct array want = array_new(x, y->type);
                        for (int64_t i = 0; i < type_elements(y->type); i++) {
                                int64_t yi[4], ai[4];
                                index_of(y->type, i, yi);
                                for (int d = 0; d < 4; d++)
                                        ai[perms[p][d]] = yi[d];
                                copy_element(want, i, a, position_of(a.type, ai));
                        }
                        check(x, y, want);
                }
}

static void test_broadcast(void **state)
{
        (void)state;
        static const struct {
                int rank;
                dim_t from[4];
                int to_rank;
                dim_t to[4];
                int64_t dims[4];
        } cases[] = {
                { 1, { 3 }, 4, { 2, 3, 4, 5 }, { 1 } },
                { 0, { 0 }, 2, { 3, 4 }, { 0 } },
                { 2, { 2, 5 }, 4, { 2, 3, 4, 5 }, { 0, 3 } },
                { 4, { 2, 1, 4, 1 }, 4, { 2, 3, 4, 5 }, { 0, 1, 2, 3 } },
                { 3, { 3, 1, 1 }, 4, { 1, 3, 4, 5 }, { 1, 2, 3 } },
                { 1, { 1 }, 3, { 2, 2, 2 }, { 0 } },
                { 2, { 3, 4 }, 2, { 3, 4 }, { 0, 1 } },
                { 1, { 4 }, 2, { 0, 4 }, { 1 } },
                { 2, { 4, 5 }, 4, { 2, 3, 4, 5 }, { 2, 3 } },
        };
        for (size_t c = 0; c < COUNT(cases); c++) {
                struct fixture *x = fixture_new();
                struct array a = array_random(
                        x, type_tensor(x->m, E_U16, cases[c].rank, cases[c].from), 0, 999);
                const struct type *to = type_tensor(x->m, E_U16, cases[c].to_rank, cases[c].to);
                struct attr *at = attrs(x, OP_broadcast);
                attr_set_ints(x->m, at, OP_broadcast, "dims", cases[c].dims, cases[c].rank);
                struct value *y = apply(x, OP_broadcast, at, to, 1, input(x, a), NULL, NULL);
                struct array want = array_new(x, to);
                for (int64_t i = 0; i < type_elements(to); i++) {
                        int64_t yi[4], ai[4];
                        index_of(to, i, yi);
                        for (int k = 0; k < a.type->rank; k++)
                                ai[k] = dim_is(a.type->dims[k], 1) ? 0 : yi[cases[c].dims[k]];
                        copy_element(want, i, a, position_of(a.type, ai));
                }
                check(x, y, want);
        }
}

/* ---- slice ---- */

static struct value *slice(struct fixture *x, struct array a, const dim_t *size,
                           const int64_t *starts, const int64_t *steps, bool constant)
{
        int rank = a.type->rank;
        struct value *from = operand(x, array_ints(x, starts, rank), constant);
        struct value *step = operand(x, array_ints(x, steps, rank), constant);
        return apply(x, OP_slice, NULL, type_tensor(x->m, a.type->element, rank, size), 3,
                     input(x, a), from, step);
}

static void test_slice(void **state)
{
        (void)state;
        static const struct { dim_t shape[3], size[3]; int64_t starts[3], steps[3]; } cases[] = {
                { { 4, 5, 6 }, { 2, 5, 6 }, { 1, 0, 0 }, { 1, 1, 1 } },
                { { 4, 5, 6 }, { 4, 2, 3 }, { 0, 3, 5 }, { 1, 1, -2 } },
                { { 4, 5, 6 }, { 1, 2, 6 }, { 3, 2, 0 }, { 1, 1, 1 } },
                { { 4, 5, 6 }, { 4, 5, 6 }, { 3, 4, 5 }, { -1, -1, -1 } },
                { { 4, 5, 6 }, { 1, 1, 1 }, { 3, 0, 2 }, { 9, -9, 7 } },
                { { 4, 5, 6 }, { 2, 0, 6 }, { 1, 0, 0 }, { 1, 1, 1 } },
                { { 1, 1, 8 }, { 1, 1, 4 }, { 0, 0, 4 }, { 1, 1, 1 } },
                { { 1, 4, 3 }, { 1, 2, 3 }, { 0, 1, 0 }, { 1, 2, 1 } },
        };
        for (size_t c = 0; c < COUNT(cases); c++)
                for (int constant = 0; constant < 2; constant++) {
                        struct fixture *x = fixture_new();
                        struct array a =
                                array_random(x, type_tensor(x->m, E_F16, 3, cases[c].shape), -9, 9);
                        struct value *y = slice(x, a, cases[c].size, cases[c].starts,
                                                cases[c].steps, constant);
                        struct array want = array_new(x, y->type);
                        for (int64_t i = 0; i < type_elements(y->type); i++) {
                                int64_t at[3];
                                index_of(y->type, i, at);
                                for (int d = 0; d < 3; d++)
                                        at[d] = cases[c].starts[d] + at[d] * cases[c].steps[d];
                                copy_element(want, i, a, position_of(a.type, at));
                        }
                        check(x, y, want);
                }
}

static void test_slice_fails(void **state)
{
        (void)state;
        static const struct { int64_t start, step; dim_t size; } cases[] = {
                { -1, 1, 2 },
                { 5, 1, 1 },
                { 0, 1, 6 },
                { 2, 2, 3 },
                { 0, -1, 2 },
                { INT64_MIN, 1, 1 },
                { 0, INT64_MAX, 3 },
                { INT64_MAX, INT64_MIN, 5 },
                { 0, INT64_C(1) << 62, 5 },
                { INT64_C(1) << 32, 1, 1 },
                { 4, INT64_MIN, 2 },
        };
        for (size_t c = 0; c < COUNT(cases); c++) {
                struct fixture *x = fixture_new();
                struct array a = array_random(x, TYPE(x, E_I32, 5), -9, 9);
                check_fails(x, slice(x, a, &cases[c].size, &cases[c].start, &cases[c].step, false),
                            FAILED_INDEX);
        }
}

/* ---- pad ---- */

/* index of x that position i of the padded dimension shows, -1 outside, as numpy.pad does it with what negative amounts leave */
static int64_t padded(int64_t mode, int64_t i, int64_t low, int64_t extent, int64_t size)
{
        if (low < 0)
                return mode || i < extent + low ? padded(mode, i, 0, extent + low, size) - low : -1;
        if (mode && size - low < extent)
                return padded(mode, i, low, size - low, size);
        int64_t j = i - low;
        if (j >= 0 && j < extent)
                return j;
        switch (mode) {
        case 0: return -1;
        case 1:
                if (extent == 1)
                        return 0;
                while (j < 0 || j >= extent)
                        j = j < 0 ? -j : 2 * (extent - 1) - j;
                return j;
        case 2: return j < 0 ? 0 : extent - 1;
        default:
                while (j < 0)
                        j += extent;
                return j % extent;
        }
}

static struct value *pad(struct fixture *x, struct array a, struct array value, const dim_t *size,
                         const int64_t *low, int64_t mode, bool constant)
{
        struct attr *at = attrs(x, OP_pad);
        attr_set(at, OP_pad, "mode", mode);
        return apply(x, OP_pad, at, type_tensor(x->m, a.type->element, a.type->rank, size), 3,
                     input(x, a), operand(x, value, constant),
                     operand(x, array_ints(x, low, a.type->rank), constant));
}

static void check_pad(enum element e, int64_t mode, const dim_t *shape, const dim_t *size,
                      const int64_t *low, bool constant, bool computed)
{
        struct fixture *x = fixture_new();
        struct array a = array_random(x, type_tensor(x->m, e, 2, shape), -99, 99);
        struct array value = array_new(x, SCALAR(x, e));
        put(value, 0, 7);
        struct value *y;
        struct array want = array_new(x, type_tensor(x->m, e, 2, size)), source = a;
        if (computed) { /* what is padded has statements of its own: a sum over three copies */
                struct array wide = array_random(x, TYPE(x, e, shape[0], 3, shape[1]), -9, 9);
                source = array_new(x, a.type);
                for (int64_t i = 0; i < dim_extent(shape[0]) * dim_extent(shape[1]); i++) {
                        int64_t sum = 0;
                        for (int k = 0; k < 3; k++)
                                sum += (int64_t)number(wide, (i / dim_extent(shape[1]) * 3 + k) * dim_extent(shape[1]) +
                                                                     i % dim_extent(shape[1]));
                        put(source, i, sum);
                }
                struct attr *at = attrs(x, OP_pad);
                attr_set(at, OP_pad, "mode", mode);
                y = build_reduce(&x->b, REDUCE_sum, input(x, wide), INTS(1), 1);
                y = apply(x, OP_pad, at, want.type, 3, y, operand(x, value, constant),
                          operand(x, array_ints(x, low, 2), constant));
        } else {
                y = pad(x, a, value, size, low, mode, constant);
        }
        for (int64_t i = 0; i < type_elements(y->type); i++) {
                int64_t yi[2], xi[2];
                index_of(y->type, i, yi);
                for (int d = 0; d < 2; d++)
                        xi[d] = padded(mode, yi[d], low[d], dim_extent(shape[d]), dim_extent(size[d]));
                if (xi[0] < 0 || xi[1] < 0)
                        copy_element(want, i, value, 0);
                else
                        copy_element(want, i, source, position_of(a.type, xi));
        }
        check(x, y, want);
}

static void test_pad(void **state)
{
        (void)state;
        static const struct { dim_t shape[2], size[2]; int64_t low[2]; } cases[] = {
                { { 3, 4 }, { 5, 7 }, { 1, 2 } },   { { 3, 4 }, { 3, 4 }, { 0, 0 } },
                { { 3, 4 }, { 20, 4 }, { 9, 0 } },  { { 1, 4 }, { 4, 15 }, { 2, 4 } },
                { { 3, 4 }, { 2, 2 }, { -1, -2 } }, { { 3, 4 }, { 4, 3 }, { 2, -1 } },
                { { 2, 1 }, { 9, 4 }, { 0, 3 } },   { { 3, 4 }, { 0, 5 }, { -1, 1 } },
                { { 3, 4 }, { 1, 9 }, { -2, 0 } },  { { 3, 5 }, { 6, 5 }, { 3, 0 } },
                { { 5, 4 }, { 9, 6 }, { 7, -1 } },  { { 5, 4 }, { 9, 7 }, { -3, 4 } },
                { { 5, 3 }, { 3, 8 }, { 2, -2 } },
        };
        for (size_t c = 0; c < COUNT(cases); c++)
                for (int64_t mode = 0; mode < 4; mode++)
                        for (int constant = 0; constant < 2; constant++) {
                                enum element e =
                                        all_types[(c + (size_t)mode) % (COUNT(all_types) - 1)];
                                check_pad(e, mode, cases[c].shape, cases[c].size, cases[c].low,
                                          constant, false);
                                check_pad(e, mode, cases[c].shape, cases[c].size, cases[c].low,
                                          constant, true);
                        }
        check_pad(E_BOOL, 0, (dim_t[]){ 2, 2 }, (dim_t[]){ 3, 3 }, INTS(1, 1), true, false);
        check_pad(E_I32, 0, (dim_t[]){ 0, 2 }, (dim_t[]){ 3, 3 }, INTS(1, 1), true, false);
        check_pad(E_I32, 0, (dim_t[]){ 0, 2 }, (dim_t[]){ 3, 3 }, INTS(1, 1), false, false);
}

static void test_pad_fails(void **state)
{
        (void)state;
        /* the last two leave nothing to pad with */
        static const int64_t lows[] = { INT64_MIN, INT64_MAX, -4, 6, INT64_C(1) << 40, -3, 5 };
        for (size_t k = 0; k < COUNT(lows); k++)
                for (int64_t mode = k < COUNT(lows) - 2 ? 0 : 1; mode < 4; mode++) {
                        struct fixture *x = fixture_new();
                        struct array a = array_random(x, TYPE(x, E_F32, 3), -9, 9),
                                     value = array_new(x, SCALAR(x, E_F32));
                        check_fails(x, pad(x, a, value, (dim_t[]){ 5 }, &lows[k], mode, false),
                                    FAILED_EXTENT);
                }
}

/* ---- concat ---- */

static void test_concat(void **state)
{
        (void)state;
        for (int count = 1; count <= 9; count += count < 3 ? 1 : 3)
                for (int axis = 0; axis < 3; axis++)
                        for (int computed = 0; computed < 2; computed++) {
                                struct fixture *x = fixture_new();
                                struct array parts[9];
                                struct value *values[9];
                                dim_t dims[3] = { axis == 2 ? 2 : 1, 3, 4 };
                                for (int k = 0; k < count; k++) {
                                        dims[axis] = dim_of(k == 2 ? 0 : k % 3 + 1);
                                        parts[k] = array_random(x, type_tensor(x->m, E_I8, 3, dims),
                                                                -99, 99);
                                        values[k] = operand(x, parts[k], k == 4);
                                        if (computed && k % 2) {
                                                values[k] = build_unary(&x->b, OP_neg, values[k]);
                                                for (int64_t i = 0;
                                                     i < type_elements(parts[k].type); i++)
                                                        put(parts[k], i,
                                                            (int64_t)number(parts[k], i));
                                        }
                                }
                                struct value *y = build_concat(&x->b, values, count, axis);
                                struct array want = array_new(x, y->type);
                                int64_t offset = 0;
                                for (int k = 0; k < count; k++) {
                                        for (int64_t i = 0; i < type_elements(parts[k].type); i++) {
                                                int64_t at[3];
                                                index_of(parts[k].type, i, at);
                                                at[axis] += offset;
                                                int64_t n = (int64_t)number(parts[k], i);
                                                put(want, position_of(y->type, at),
                                                    computed && k % 2 ? -n : n);
                                        }
                                        offset += type_extent(parts[k].type, axis);
                                }
                                check(x, y, want);
                        }
}

/* Hundreds of loops: every one has a name that C can have (i386 is not one). */
static void test_concat_many(void **state)
{
        (void)state;
        enum { COUNT_MANY = 400 };
        struct fixture *x = fixture_new();
        struct array a = array_random(x, TYPE(x, E_I32, 2, 1), -9, 9);
        struct value *v = input(x, a), *parts[COUNT_MANY];
        struct array want = array_new(x, TYPE(x, E_I32, 2, COUNT_MANY));
        for (int k = 0; k < COUNT_MANY; k++) {
                parts[k] = v;
                copy_element(want, k, a, 0);
                copy_element(want, COUNT_MANY + k, a, 1);
        }
        check(x, build_concat(&x->b, parts, COUNT_MANY, 1), want);
}

/* A concat that is not stored as it is: each element chooses its operand. */
static void test_concat_inside(void **state)
{
        (void)state;
        struct fixture *x = fixture_new();
        struct array a = array_random(x, TYPE(x, E_I32, 3, 2), -9, 9),
                     b = array_random(x, TYPE(x, E_I32, 3, 4), -9, 9);
        struct array c = array_random(x, TYPE(x, E_I32, 3, 5, 2), -9, 9);
        struct value *parts[] = { input(x, a), input(x, b),
                                  build_reduce(&x->b, REDUCE_max, input(x, c), INTS(2), 1) };
        struct value *y = build_unary(&x->b, OP_neg, build_concat(&x->b, parts, 3, 1));
        struct array want = array_new(x, TYPE(x, E_I32, 3, 11));
        for (int64_t i = 0; i < 3; i++)
                for (int64_t j = 0; j < 11; j++) {
                        double n = j < 2 ? number(a, i * 2 + j) : j < 6 ? number(b, i * 4 + j - 2) : 0;
                        if (j >= 6) {
                                double p = number(c, (i * 5 + j - 6) * 2),
                                       q = number(c, (i * 5 + j - 6) * 2 + 1);
                                n = p > q ? p : q;
                        }
                        put(want, i * 11 + j, -(int64_t)n);
                }
        check(x, y, want);
}

/* ---- gathers ---- */

static const enum element index_types[] = { E_I64, E_I32, E_I8, E_U8, E_U64 };

static struct array random_indices(struct fixture *x, const struct type *t, int64_t extent)
{
        return array_random(x, t, -extent, extent - 1);
}

static int64_t wrapped(struct array indices, int64_t at, int64_t extent)
{
        int64_t i = (int64_t)number(indices, at);
        return i < 0 ? i + extent : i;
}

static void check_gather(enum element e, int axis, int rank, bool constant)
{
        struct fixture *x = fixture_new();
        struct array a = array_random(x, TYPE(x, E_BF16, 3, 4, 5), -99, 99);
        const struct type *it = type_tensor(x->m, e, rank, (dim_t[]){ 2, 3 });
        struct array indices = random_indices(x, it, type_extent(a.type, axis));
        struct attr *at = attrs(x, OP_gather);
        attr_set(at, OP_gather, "axis", axis);
        struct value *v = input(x, a);
        struct value *y = apply(x, OP_gather, at, NULL, 2, v, operand(x, indices, constant), NULL);
        struct array want = array_new(x, y->type);
        for (int64_t i = 0; i < type_elements(y->type); i++) {
                int64_t yi[5], xi[3];
                index_of(y->type, i, yi);
                for (int d = 0; d < 3; d++)
                        if (d != axis)
                                xi[d] = yi[d < axis ? d : d - 1 + rank];
                xi[axis] = wrapped(indices, position_of(it, yi + axis), type_extent(a.type, axis));
                copy_element(want, i, a, position_of(a.type, xi));
        }
        check(x, y, want);
}

static void test_gather(void **state)
{
        (void)state;
        for (size_t k = 0; k < COUNT(index_types); k++)
                for (int axis = 0; axis < 3; axis++)
                        for (int rank = 0; rank < 3; rank++)
                                for (int constant = 0; constant < 2; constant++)
                                        check_gather(index_types[k], axis, rank, constant);
}

static void test_neighbours(void **state)
{
        (void)state;
        enum { ROWS = 3, POSITIONS = 7 };
        for (int64_t count = 1; count <= POSITIONS; count += 2) {
                struct fixture *x = fixture_new();
                struct array a = array_random(x, TYPE(x, E_I8, ROWS, POSITIONS, 1), -99, 99);
                struct attr *at = attrs(x, OP_neighbours);
                attr_set(at, OP_neighbours, "count", count);
                struct value *y = apply(x, OP_neighbours, at, NULL, 1, input(x, a), NULL, NULL);
                struct array want = array_new(x, y->type);
                const int64_t made = POSITIONS - count + 1;
                for (int64_t i = 0; i < ROWS * made * count; i++)
                        copy_element(want, i, a,
                                     i / count / made * POSITIONS + i / count % made + i % count);
                check(x, y, want);
        }
}

/* Compares rows of panels with the formula of their layout; group: channels of a word. */
static void check_gather_panels(int64_t rows, int64_t columns, int64_t group, bool constant)
{
        enum { VECTORS = 2, LANES = 4, PANEL = VECTORS * LANES };
        struct fixture *x = fixture_new();
        const int64_t words = divide_up(columns, group);
        struct array w = array_random(x,
                                      type_tensor(x->m, E_BF16, 6,
                                                  (dim_t[]){ dim_of(divide_up(rows, PANEL)),
                                                             dim_of(1), dim_of(1), dim_of(words),
                                                             dim_of(VECTORS),
                                                             dim_of(LANES * group) }),
                                      -99, 99);
        struct array indices = random_indices(x, TYPE(x, E_I64, 3, 2), rows);
        struct attr *at = attrs(x, OP_gather_panels);
        attr_set(at, OP_gather_panels, "rows", rows);
        attr_set(at, OP_gather_panels, "columns", columns);
        attr_set(at, OP_gather_panels, "group", group);
        struct value *v = input(x, w);
        struct value *y =
                apply(x, OP_gather_panels, at, NULL, 2, v, operand(x, indices, constant), NULL);
        struct array want = array_new(x, y->type);
        for (int64_t i = 0; i < type_elements(y->type); i++) {
                const int64_t k = i % columns, r = wrapped(indices, i / columns, rows);
                copy_element(want, i, w,
                             ((r / PANEL * words + k / group) * VECTORS + r % PANEL / LANES) *
                                             LANES * group +
                                     r % LANES * group + k % group);
        }
        check(x, y, want);
}

static void test_gather_panels(void **state)
{
        (void)state;
        static const int64_t sizes[][3] = { { 8, 4, 1 }, { 23, 5, 1 }, { 17, 5, 2 }, { 1, 1, 4 } };
        for (size_t k = 0; k < COUNT(sizes); k++)
                for (int constant = 0; constant < 2; constant++)
                        check_gather_panels(sizes[k][0], sizes[k][1], sizes[k][2], constant);
}

static void test_gather_elements(void **state)
{
        (void)state;
        static const dim_t shapes[][2] = { { 3, 4 }, { 5, 4 }, { 3, 2 }, { 1, 1 }, { 3, 7 } };
        for (int axis = 0; axis < 2; axis++)
                for (size_t s = 0; s < COUNT(shapes); s++) {
                        if (dim_extent(shapes[s][1 - axis]) > (axis ? 3 : 4))
                                continue;
                        struct fixture *x = fixture_new();
                        struct array a = array_random(x, TYPE(x, E_F64, 3, 4), -99, 99);
                        struct array indices = random_indices(
                                x, type_tensor(x->m, E_I32, 2, shapes[s]), type_extent(a.type, axis));
                        struct attr *at = attrs(x, OP_gather_elements);
                        attr_set(at, OP_gather_elements, "axis", axis);
                        struct value *y = apply(x, OP_gather_elements, at, NULL, 2, input(x, a),
                                                input(x, indices), NULL);
                        struct array want = array_new(x, y->type);
                        for (int64_t i = 0; i < type_elements(y->type); i++) {
                                int64_t xi[2];
                                index_of(y->type, i, xi);
                                xi[axis] = wrapped(indices, i, type_extent(a.type, axis));
                                copy_element(want, i, a, position_of(a.type, xi));
                        }
                        check(x, y, want);
                }
}

static void check_gather_nd(int batch, int width, bool constant)
{
        struct fixture *x = fixture_new();
        struct array a = array_random(x, TYPE(x, E_I32, 2, 3, 4), -99, 99);
        struct array indices = array_new(x, TYPE(x, E_I64, 2, 5, width));
        for (int64_t i = 0; i < 10 * width; i++) {
                int64_t n = type_extent(a.type, batch + i % width);
                put(indices, i, random_between(-n, n - 1));
        }
        struct attr *at = attrs(x, OP_gather_nd);
        attr_set(at, OP_gather_nd, "batch_dims", batch);
        struct value *v = input(x, a), *iv = operand(x, indices, constant);
        struct value *y = apply(x, OP_gather_nd, at, NULL, 2, v, iv, NULL);
        struct array want = array_new(x, y->type);
        for (int64_t i = 0; i < type_elements(y->type); i++) {
                int64_t yi[5], xi[3];
                index_of(y->type, i, yi);
                int64_t tuple = (yi[0] * 5 + yi[1]) * width;
                for (int d = 0; d < 3; d++)
                        if (d < batch)
                                xi[d] = yi[d];
                        else if (d < batch + width)
                                xi[d] = wrapped(indices, tuple + d - batch, type_extent(a.type, d));
                        else
                                xi[d] = yi[2 + d - batch - width];
                copy_element(want, i, a, position_of(a.type, xi));
        }
        check(x, y, want);
}

static void test_gather_nd(void **state)
{
        (void)state;
        for (int batch = 0; batch < 2; batch++)
                for (int width = 1; width <= 3 - batch; width++)
                        for (int constant = 0; constant < 2; constant++)
                                check_gather_nd(batch, width, constant);
}

static void test_gather_fails(void **state)
{
        (void)state;
        static const int64_t wrong[] = {
                3, -4, INT64_MAX, INT64_MIN, INT64_C(1) << 32, (INT64_C(1) << 32) + 1
        };
        for (size_t k = 0; k < COUNT(wrong); k++)
                for (int computed = 0; computed < 2; computed++) {
                        struct fixture *x = fixture_new();
                        struct array a = array_random(x, TYPE(x, E_F32, 3, 2), -9, 9);
                        struct value *indices = input(x, array_ints(x, INTS(0, wrong[k]), 2));
                        if (computed)
                                indices = build_unary(&x->b, OP_neg,
                                                      build_unary(&x->b, OP_neg, indices));
                        check_fails(x, build_gather(&x->b, input(x, a), indices, 0), FAILED_INDEX);
                }
        struct fixture *x = fixture_new();       /* nothing to gather from */
        struct array a = array_random(x, TYPE(x, E_F32, 0, 2), -9, 9);
        check_fails(x, build_gather(&x->b, input(x, a), input(x, array_ints(x, INTS(0, 0), 2)), 0),
                    FAILED_INDEX);
}

static void test_iota(void **state)
{
        (void)state;
        for (size_t k = 0; k < COUNT(number_types); k++)
                for (int axis = 0; axis < 3; axis++) {
                        struct fixture *x = fixture_new();
                        struct value *y =
                                build_iota(&x->b, TYPE(x, number_types[k], 2, 3, 4), axis);
                        struct array want = array_new(x, y->type);
                        for (int64_t i = 0; i < 24; i++) {
                                int64_t at[3];
                                index_of(y->type, i, at);
                                put(want, i, at[axis]);
                        }
                        check(x, y, want);
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_reshape),         cmocka_unit_test(test_reshape_of_computed),
                cmocka_unit_test(test_transpose),       cmocka_unit_test(test_broadcast),
                cmocka_unit_test(test_slice),           cmocka_unit_test(test_slice_fails),
                cmocka_unit_test(test_pad),             cmocka_unit_test(test_pad_fails),
                cmocka_unit_test(test_concat),          cmocka_unit_test(test_concat_inside),
                cmocka_unit_test(test_concat_many),
                cmocka_unit_test(test_gather),          cmocka_unit_test(test_gather_elements),
                cmocka_unit_test(test_neighbours),
                cmocka_unit_test(test_gather_panels),
                cmocka_unit_test(test_gather_nd),       cmocka_unit_test(test_gather_fails),
                cmocka_unit_test(test_iota),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
