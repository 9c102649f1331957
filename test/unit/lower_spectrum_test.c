/* SPDX-License-Identifier: MIT */
/* Fourier transforms against sums over all elements in double. */
#include <math.h>

#include "ir/tensor/spectrum.h"
#include "test/unit/lower_harness.h"

static const double turn = 6.283185307179586477;

/* the complex value at index of x, 0 beyond its parts; of a half (folded to n along axis) the
 * mirror image where index is behind it */
static void value_at(struct array x, int64_t *index, int axis, int64_t n, double *re, double *im)
{
        const int last = x.type->rank - 1;
        const int64_t at = index[axis], parts = type_extent(x.type, last);
        const bool mirrored = n && at > n / 2;
        if (mirrored)
                index[axis] = n - at;
        index[last] = 0;
        *re = number(x, position_of(x.type, index));
        index[last] = parts - 1;
        *im = parts == 2 ? (mirrored ? -1 : 1) * number(x, position_of(x.type, index)) : 0;
        index[axis] = at;
}

/* one axis of the transform, all of the spectrum, in double: x <.. n .. parts> to y <.. m .. 2> */
static struct array along(struct fixture *f, struct array x, int axis, bool inverse, int64_t length, int64_t kept)
{
        dim_t dims[RANK_MAX];
        memcpy(dims, x.type->dims, sizeof(dim_t) * (size_t)x.type->rank);
        const int64_t n = length ? length : type_extent(x.type, axis);
        dims[axis] = dim_of(kept);
        dims[x.type->rank - 1] = dim_of(2);
        struct array y = array_new(f, type_tensor(f->m, E_F64, x.type->rank, dims));
        double *cosine = malloc((size_t)n * 2 * sizeof *cosine), *sine = cosine + n;
        for (int64_t k = 0; k < n; k++) {
                cosine[k] = cos(turn * (double)k / (double)n);
                sine[k] = sin(turn * (double)k / (double)n) * (inverse ? 1 : -1);
        }
        for (int64_t i = 0; i < type_elements(y.type); i += 2) {
                int64_t index[RANK_MAX];
                index_of(y.type, i, index);
                const int64_t k = index[axis];
                double sum[2] = { 0, 0 }, re, im;
                for (int64_t j = 0; j < n; j++) {
                        index[axis] = j;
                        value_at(x, index, axis, length, &re, &im);
                        const double c = cosine[j * k % n], s = sine[j * k % n];
                        sum[0] += re * c - im * s;
                        sum[1] += re * s + im * c;
                }
                for (int part = 0; part < 2; part++)
                        ((double *)(void *)y.data)[i + part] = sum[part] / (inverse ? (double)n : 1);
        }
        free(cosine);
        return y;
}

struct example {
        int axes[2], count, parts;
        bool inverse, half;
        int64_t length;
        int moved;                      /* the parts are dimension moved - 1; 0: the last one */
};

/* the elements of the result lie within 4e-7 log2(n) of the largest (of f64: 1e-15 log2(n)) */
static void compare_near(struct array got, struct array want, double elements, const char *form)
{
        const int64_t parts = type_extent(got.type, got.type->rank - 1);
        double largest = 0, most = got.type->element == E_F32 ? 4e-7 : 1e-15;
        for (int64_t i = 0; i < type_elements(want.type); i++)
                largest = fmax(largest, fabs(number(want, i)));
        most *= largest * fmax(1, log2(elements));
        for (int64_t i = 0; i < type_elements(got.type); i++) {
                const double w = number(want, parts == 2 ? i : 2 * i), g = number(got, i);
                if (fabs(g - w) <= most)
                        continue;
                fprintf(stderr, "%s: %g elements: element %lld is %.9g, want %.9g\n", form, elements, (long long)i, g, w);
                fail();
        }
}

static void check_spectrum(enum element e, int rank, const dim_t *dims, const struct example *s, bool fused)
{
        struct fixture *f = fixture_new();
        dim_t all[RANK_MAX];
        memcpy(all, dims, (size_t)rank * sizeof *dims);
        all[rank] = dim_of(s->parts);
        struct array x = array_random(f, type_tensor(f->m, e, rank + 1, all), -9, 9), want = x, got[2];
        double elements = 1;
        for (int step = 0; step < s->count; step++) {
                const int number = s->inverse ? step : s->count - 1 - step, axis = s->axes[number];
                const bool half = s->half && number == s->count - 1;
                const int64_t n = half && s->length ? s->length : type_extent(want.type, axis);
                want = along(f, want, axis, s->inverse, half ? s->length : 0, half && !s->inverse ? n / 2 + 1 : n);
                elements *= (double)n;
        }
        const int parts = s->moved ? s->moved - 1 : rank;
        int64_t there[RANK_MAX], back[RANK_MAX];
        struct spectrum_request request = {
                .count = s->count, .inverse = s->inverse, .half = s->half, .length = s->length, .parts = s->moved - 1
        };
        for (int i = 0; i < s->count; i++)
                request.axes[i] = s->axes[i] + (s->axes[i] >= parts);
        for (int d = 0; d <= rank; d++) {
                there[d] = d < parts ? d : d == parts ? rank : d - 1;
                back[there[d]] = d;
        }
        struct value *v = input(f, x), *values[1];
        if (fused)
                v = build_unary(&f->b, OP_neg, build_unary(&f->b, OP_neg, v));
        values[0] = build_spectrum(&f->b, build_transpose(&f->b, v, there), &request);
        values[0] = build_transpose(&f->b, values[0], back);
        yield_all(f, values, 1);
        for (int form = 0; form < (fused ? 3 : 2); form++) {
                if (form == 2)
                        fuse_all(f);
                struct loop_program *p = lower(f, form == 1, false);
                assert_int_equal(run_program(f, p, got), 0);
                compare_near(got[0], want, elements, form == 2 ? "fused" : "apart");
        }
        fixture_free(f);
}

/* a line of every length to 300, and longer ones: prime, of prime factors, of powers */
static void test_lengths(void **state)
{
        static const int more[] = { 307, 311, 337, 343, 360, 384, 400, 420, 441, 480, 500, 507, 509, 510, 512, 521, 529, 540, 561, 567,
                                    576, 600, 605, 625, 640, 661, 675, 720, 729, 750, 768, 800, 840, 847, 900, 961, 997, 1001, 1009, 1024 };
        (void)state;
        for (int n = 1; n <= 300 + (int)COUNT(more); n++) {
                const int length = n <= 300 ? n : more[n - 301];
                const struct example s = { { 1 }, 1, 2 - n % 3 / 2, n % 2, false, 0, 0 };
                check_spectrum(E_F32, 2, (dim_t[]){ 1, length }, &s, false);
        }
}

static void test_halves(void **state)
{
        static const int lengths[] = { 1, 2, 3, 4, 5, 8, 9, 16, 17, 30, 34, 96, 97, 128 };
        (void)state;
        for (size_t k = 0; k < COUNT(lengths); k++)
                for (int inverse = 0; inverse < 2; inverse++)
                        for (int parts = 1; parts < 3; parts++) {
                                const int n = lengths[k];
                                const struct example s = { { 1 }, 1, parts, inverse, true, inverse ? n : 0, 0 };
                                for (int rows = 1; rows < 30; rows += 9)
                                        check_spectrum(k % 2 ? E_F32 : E_F64, 2, (dim_t[]){ rows, inverse ? n / 2 + 1 : n }, &s, rows == 1);
                        }
}

/* lines side by side, of each kind: before the axis, behind it, fewer and more than are done at a time */
static void test_axes(void **state)
{
        static const int extents[] = { 1, 2, 5, 16, 17, 40 };
        (void)state;
        for (int axis = 0; axis < 3; axis++)
                for (size_t a = 0; a < COUNT(extents); a++)
                        for (size_t b = 0; b < COUNT(extents); b++) {
                                const struct example s = { { axis }, 1, 2, (a + b) % 2, false, 0, 0 };
                                dim_t dims[3] = { extents[a], extents[b], extents[b] };
                                dims[axis] = dim_of(a % 2 ? 19 : 12);
                                check_spectrum(E_F32, 3, dims, &s, a == b);
                        }
}

static void test_two_axes(void **state)
{
        static const int extents[][2] = { { 1, 1 }, { 2, 3 }, { 4, 16 }, { 17, 8 }, { 12, 19 }, { 30, 5 } };
        static const int axes[][2] = { { 1, 2 }, { 2, 1 }, { 0, 2 }, { 0, 1 } };
        (void)state;
        for (size_t k = 0; k < COUNT(extents); k++)
                for (size_t i = 0; i < COUNT(axes); i++)
                        for (int mode = 0; mode < 8; mode++) {
                                const int a = extents[k][0], b = extents[k][1];
                                const bool inverse = mode & 1, half = mode & 2;
                                const struct example s = { { axes[i][0], axes[i][1] }, 2, mode & 4 ? 1 : 2, inverse, half, inverse && half ? b : 0, 0 };
                                dim_t dims[3] = { 3, 3, 3 };
                                dims[axes[i][0]] = dim_of(a);
                                dims[axes[i][1]] = dim_of(inverse && half ? b / 2 + 1 : b);
                                check_spectrum(k % 2 ? E_F32 : E_F64, 3, dims, &s, k == 2);
                        }
}

/* parts before, between and behind the axes, and dimensions before, between and behind those */
static void test_parts(void **state)
{
        static const int extents[] = { 2, 6, 3, 20 };
        (void)state;
        for (int moved = 1; moved < 6; moved++)
                for (int a = 0; a < 4; a++)
                        for (int b = 0; b < 4; b++)
                                for (int mode = 0; mode < 4; mode++) {
                                        const bool inverse = mode & 1, half = mode & 2;
                                        dim_t dims[4];
                                        for (int d = 0; d < 4; d++)
                                                dims[d] = dim_of(extents[d]);
                                        const int length = 2 * extents[b] - 2;
                                        const struct example s = { { a == b ? b : a, b }, a == b ? 1 : 2, 2, inverse, half, inverse && half ? length : 0, moved };
                                        check_spectrum(E_F32, 4, dims, &s, false);
                                }
}

/* a table is the same as its formula says, to the last place but one of double */
static void test_roots(void **state)
{
        (void)state;
        for (int64_t n = 1; n < 600; n += 3)
                for (int64_t k = -n; k < 2 * n; k++) {
                        double c, s;
                        const double angle = turn * (double)(k % n) / (double)n;
                        spectrum_root(k, n, &c, &s);
                        assert_true(fabs(c - cos(angle)) < 3e-15 && fabs(s - sin(angle)) < 3e-15);
                        assert_true(fabs(c * c + s * s - 1) < 5e-16);
                }
}

/* factors of 2 to 16 where they do, else a convolution, no longer than a power of two would be */
static void test_plans(void **state)
{
        (void)state;
        for (int64_t n = 1; n < 5000; n++) {
                const struct spectrum_plan p = spectrum_plan(n);
                int64_t product = 1, rest = n;
                for (int i = 0; i < p.passes; i++) {
                        assert_in_range(p.radix[i], 2, SPECTRUM_RADIX_MAX);
                        product *= p.radix[i];
                }
                for (int64_t k = 2; k <= 13; k++)
                        while (rest % k == 0)
                                rest /= k;
                assert_int_equal(product, p.size);
                assert_int_equal(spectrum_is_convolved(&p), rest > 1);
                assert_true(p.size == n || (p.size >= 2 * n - 1 && p.size < 4 * n));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lengths), cmocka_unit_test(test_halves), cmocka_unit_test(test_axes),
                cmocka_unit_test(test_two_axes), cmocka_unit_test(test_parts),
                cmocka_unit_test(test_roots), cmocka_unit_test(test_plans),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
