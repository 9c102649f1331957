/* SPDX-License-Identifier: MIT */
#include "ir/lower/spectrum_emit.h"

#include "ir/lower/lower_emit.h"

/* ---- arithmetic in which NULL is 0, and negations go into sums ---- */

static struct loop_expr *named(struct emit *e, struct loop_expr *value)
{
        return value && value->op != LOOP_NEG ? emit_let(e, "t", value) : value;
}

static struct loop_expr *negated(struct emit *e, struct loop_expr *a)
{
        return !a                  ? NULL
               : a->op == LOOP_NEG ? a->args[0]
                                   : loop_op(emit_arena(e), LOOP_NEG, a, NULL, NULL);
}

static struct loop_expr *plus(struct emit *e, struct loop_expr *a, struct loop_expr *b)
{
        if (!a || !b)
                return a ? a : b;
        if (b->op == LOOP_NEG)
                return emit_op(e, LOOP_SUB, a, b->args[0]);
        return a->op == LOOP_NEG ? emit_op(e, LOOP_SUB, b, a->args[0]) : emit_op(e, LOOP_ADD, a, b);
}

static struct loop_expr *minus(struct emit *e, struct loop_expr *a, struct loop_expr *b)
{
        return plus(e, a, negated(e, b));
}

static struct loop_expr *times(struct emit *e, struct loop_expr *a, struct loop_expr *b)
{
        return a && b ? emit_op(e, LOOP_MUL, a, b) : NULL;
}

static struct loop_expr *scaled(struct emit *e, struct loop_expr *a, double by)
{
        return a ? emit_op(e, LOOP_MUL, a, loop_float(emit_arena(e), a->type.element, by)) : NULL;
}

/* Names the real part first. */
static struct complex_expr number(struct emit *e, struct loop_expr *re, struct loop_expr *im)
{
        struct complex_expr x = { named(e, re), NULL };
        x.im = named(e, im);
        return x;
}

static struct complex_expr sum(struct emit *e, struct complex_expr a, struct complex_expr b)
{
        return number(e, plus(e, a.re, b.re), plus(e, a.im, b.im));
}

static struct complex_expr difference(struct emit *e, struct complex_expr a, struct complex_expr b)
{
        return number(e, minus(e, a.re, b.re), minus(e, a.im, b.im));
}

struct complex_expr spectrum_product(struct emit *e, struct complex_expr a, struct complex_expr b)
{
        return number(e, minus(e, times(e, a.re, b.re), times(e, a.im, b.im)),
                      plus(e, times(e, a.re, b.im), times(e, a.im, b.re)));
}

/* Returns a exp(-2 pi i k / n). */
static struct complex_expr turned(struct emit *e, struct complex_expr a, int k, int n)
{
        double c, s;
        k %= n;
        spectrum_root(k, n, &c, &s);
        if (k == 0)
                return a;
        if (4 * k == n)
                return (struct complex_expr){ a.im, negated(e, a.re) };
        if (2 * k == n)
                return (struct complex_expr){ negated(e, a.re), negated(e, a.im) };
        if (4 * k == 3 * n)
                return (struct complex_expr){ negated(e, a.im), a.re };
        if (8 * k % n == 0) { /* Both parts of the root have one magnitude. */
                struct loop_expr *sums = plus(e, a.re, a.im), *rest = minus(e, a.im, a.re);
                const bool first = 8 * k == n || 8 * k == 5 * n;
                return number(e, scaled(e, first ? sums : rest, first ? c : s),
                              scaled(e, first ? rest : sums, c));
        }
        return number(e, plus(e, scaled(e, a.re, c), scaled(e, a.im, s)),
                      minus(e, scaled(e, a.im, c), scaled(e, a.re, s)));
}

/* ---- transforms ---- */

/* Writes that of an odd prime: x[j] and x[n - j] meet in sums and differences, whose real factors
 * are the cosines and sines. */
static void write_prime(struct emit *e, int n, const struct complex_expr *x, struct complex_expr *y)
{
        struct complex_expr sums[SPECTRUM_RADIX_MAX / 2], differences[SPECTRUM_RADIX_MAX / 2];
        const int half = n / 2;
        y[0] = x[0];
        for (int j = 1; j <= half; j++) {
                sums[j - 1] = sum(e, x[j], x[n - j]);
                differences[j - 1] = difference(e, x[j], x[n - j]);
                y[0] = sum(e, y[0], sums[j - 1]);
        }
        for (int k = 1; k <= half; k++) {
                struct complex_expr even = x[0], odd = { NULL, NULL };
                for (int j = 1; j <= half; j++) {
                        double c, s;
                        spectrum_root(j * k, n, &c, &s);
                        even.re = named(e, plus(e, even.re, scaled(e, sums[j - 1].re, c)));
                        even.im = named(e, plus(e, even.im, scaled(e, sums[j - 1].im, c)));
                        odd.re = named(e, plus(e, odd.re, scaled(e, differences[j - 1].re, s)));
                        odd.im = named(e, plus(e, odd.im, scaled(e, differences[j - 1].im, s)));
                }
                const struct complex_expr turn = { odd.im, negated(e, odd.re) };
                y[k] = sum(e, even, turn);
                y[n - k] = difference(e, even, turn);
        }
}

void spectrum_emit(struct emit *e, int radix, const struct complex_expr *x, struct complex_expr *y)
{
        const int a = spectrum_radix_factor(radix), b = radix / a;
        struct complex_expr from[SPECTRUM_RADIX_MAX] = { { NULL, NULL } }, to[SPECTRUM_RADIX_MAX],
                            middle[SPECTRUM_RADIX_MAX];
        if (radix == 1) {
                y[0] = x[0];
                return;
        }
        if (radix == 2) {
                y[0] = sum(e, x[0], x[1]);
                y[1] = difference(e, x[0], x[1]);
                return;
        }
        if (b == 1) {
                write_prime(e, radix, x, y);
                return;
        }
        const bool coprime = spectrum_radix_is_coprime(a, b);
        /* With j = b j1 + j2, k = k1 + a k2: transforms of a over j1, twiddles, of b over j2.
         * Without common factors j = b j1 + a j2 modulo a b, with k1 = k mod a and k2 = k mod b,
         * needs none (I. J. Good, The interaction algorithm and practical Fourier analysis, 1958).
         */
        for (int j = 0; j < b; j++) {
                for (int i = 0; i < a; i++)
                        from[i] = x[coprime ? (b * i + a * j) % radix : b * i + j];
                spectrum_emit(e, a, from, to);
                for (int k = 0; k < a; k++)
                        middle[k * b + j] = coprime ? to[k] : turned(e, to[k], j * k, radix);
        }
        for (int k = 0; k < a; k++) {
                spectrum_emit(e, b, middle + k * b, to);
                for (int i = 0; i < radix && coprime; i++)
                        if (i % a == k)
                                y[i] = to[i % b];
                for (int i = 0; i < b && !coprime; i++)
                        y[k + a * i] = to[i];
        }
}
