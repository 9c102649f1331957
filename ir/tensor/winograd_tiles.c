/* SPDX-License-Identifier: MIT */
/* The generator of Winograd's transforms.
 *
 * Point p has the row prod (x - q) over the other points q in B^T, as coefficients of x^0 .. ; the
 * row of infinity is the product over all points. A^T has the powers of p, G has them divided by
 * prod (p - q). Rows of p and -p have in common R, the product without both: they are xR + pR and
 * xR - pR. Likewise columns p and -p of A^T differ in the signs of odd powers: there sums and
 * differences of two products are what all rows need. */
#include "ir/tensor/winograd_tiles.h"
#include "ir/tensor/ops.h"

/* ---- rationals ---- */

struct rational {
        int64_t n, d;
}; /* d > 0, without common factors */

static struct rational rational(int64_t n, int64_t d)
{
        int64_t a = n < 0 ? -n : n, b = d < 0 ? -d : d;
        while (b) {
                const int64_t rest = a % b;
                a = b;
                b = rest;
        }
        a = d < 0 ? -a : a;
        return (struct rational){ n / a, d / a };
}

static struct rational product(struct rational a, struct rational b)
{
        return rational(a.n * b.n, a.d * b.d);
}

static struct rational difference(struct rational a, struct rational b)
{
        return rational(a.n * b.d - b.n * a.d, a.d * b.d);
}

static double number(struct rational a) { return (double)a.n / (double)a.d; }

/* ---- points ---- */

/* But for 0 they come in pairs p, -p. */
static const struct rational points[] = { { 0, 1 },  { 1, 1 }, { -1, 1 }, { 2, 1 },
                                          { -2, 1 }, { 1, 2 }, { -1, 2 } };

/* Is this the first of a pair of which both are among `count` points? */
static bool begins_pair(int point, int count) { return point % 2 && point + 1 < count; }

/* The coefficients of a polynomial whose highest is 1. */
struct polynomial {
        struct rational c[WINOGRAD_SIZE_MAX + 1];
        int degree;
};

/* Returns prod (x - q) over the first `count` points but for two. */
static struct polynomial product_without(int count, int one, int other)
{
        struct polynomial p = { .c = { { 1, 1 } } };
        for (int i = 0; i < count; i++) {
                if (i == one || i == other)
                        continue;
                p.c[++p.degree] = rational(0, 1);
                for (int k = p.degree; k >= 0; k--)
                        p.c[k] = difference(k ? p.c[k - 1] : rational(0, 1),
                                            product(points[i], p.c[k]));
        }
        return p;
}

/* ---- lines ---- */

/* Returns the number of a + k * b, which may be there already. */
static int add_step(struct winograd_line *line, int a, int b, double k)
{
        for (int i = 0; i < line->step_count; i++) {
                const struct winograd_step *s = &line->steps[i];
                if (s->a == a && s->b == b && s->k == k)
                        return line->count + i;
        }
        line->steps[line->step_count] = (struct winograd_step){ a, b, k };
        return line->count + line->step_count++;
}

/* Returns the number of the sum of coefficients times values from `first` on. */
static int add_polynomial(struct winograd_line *line, const struct polynomial *p, int first)
{
        int sum = first + p->degree;
        for (int k = p->degree - 1; k >= 0; k--)
                if (p->c[k].n)
                        sum = add_step(line, sum, first + k, number(p->c[k]));
        return sum;
}

static void make_input(struct winograd *f)
{
        const int count = f->size - 1; /* points but for infinity */
        struct winograd_line *line = &f->input;
        *line = (struct winograd_line){ .count = f->size, .results = f->size };
        for (int i = 0; i < count; i++) {
                const bool pair = begins_pair(i, count);
                const struct polynomial p = product_without(count, i, pair ? i + 1 : i);
                if (!pair) {
                        line->result[i] = add_polynomial(line, &p, 0);
                        continue;
                }
                const int high = add_polynomial(line, &p, 1), low = add_polynomial(line, &p, 0);
                const double k = number(points[i]);
                line->result[i] = add_step(line, high, low, k);
                line->result[++i] = add_step(line, high, low, -k);
        }
        const struct polynomial p = product_without(count, -1, -1);
        line->result[count] = add_polynomial(line, &p, 0);
}

/* Adds k * value to *sum, which begins with a value whose factor is 1. */
static void add_term(struct winograd_line *line, int *sum, int value, double k)
{
        *sum = *sum < 0 ? value : add_step(line, *sum, value, k);
}

static void make_output(struct winograd *f)
{
        const int count = f->size - 1;
        struct winograd_line *line = &f->output;
        int sums[WINOGRAD_SIZE_MAX], differences[WINOGRAD_SIZE_MAX];
        double power[WINOGRAD_SIZE_MAX];
        *line = (struct winograd_line){ .count = f->size, .results = f->tile };
        for (int i = 1; i < count; i++) {
                const bool pair = begins_pair(i, count);
                power[i] = 1;
                sums[i] = pair ? add_step(line, i, i + 1, 1) : i;
                differences[i] = pair ? add_step(line, i, i + 1, -1) : i;
                i += pair;
        }
        for (int row = 0; row < f->tile; row++) {
                int sum = row == 0 && count ? 0 : -1;
                for (int i = 1; i < count; i++) {
                        add_term(line, &sum, row % 2 ? differences[i] : sums[i], power[i]);
                        power[i] *= number(points[i]);
                        i += begins_pair(i, count);
                }
                if (row + 1 == f->tile)
                        add_term(line, &sum, count, 1);
                line->result[row] = sum;
        }
}

static void make_weights(struct winograd *f)
{
        const int count = f->size - 1;
        for (int i = 0; i < count; i++) {
                struct rational x = rational(1, 1);
                for (int k = 0; k < count; k++)
                        if (k != i) {
                                const struct rational d = difference(points[i], points[k]);
                                x = product(x, rational(d.d, d.n));
                        }
                for (int k = 0; k < f->window; k++) {
                        f->weights[i][k] = number(x);
                        x = product(x, points[i]);
                }
        }
        f->weights[count][f->window - 1] = 1;
}

/* ---- what the rest asks for ---- */

bool winograd_find(int64_t tile, int64_t window, struct winograd *f)
{
        if (tile < 1 || window < 1 || tile > WINOGRAD_SIZE_MAX || window > WINOGRAD_WINDOW_MAX ||
            tile + window - 1 > WINOGRAD_SIZE_MAX || (tile > 1) != (window > 1))
                return false;
        *f = (struct winograd){ .tile = (int)tile,
                                .window = (int)window,
                                .size = (int)(tile + window - 1) };
        make_input(f);
        make_output(f);
        make_weights(f);
        return true;
}

bool winograd_find_square(const int64_t *tile, const int64_t *window, struct winograd_square *f)
{
        for (int d = 0; d < WINOGRAD_DIMS; d++)
                if (!winograd_find(tile[d], window[d], &f->along[d]))
                        return false;
        f->elements = f->along[0].size * f->along[1].size;
        return true;
}

int winograd_dims(const struct op *op) { return op_operand(op, 0)->type->rank - 3; }

struct winograd_square winograd_of(const struct op *op)
{
        const int64_t *tile = op_ints(op, "tile", NULL), *window = op_ints(op, "window", NULL);
        struct winograd_square f = { .elements = 0 };
        int64_t tiles[WINOGRAD_DIMS] = { 1, 1 }, windows[WINOGRAD_DIMS] = { 1, 1 };
        const int dims = winograd_dims(op);
        for (int d = 0; d < dims; d++) {
                tiles[WINOGRAD_DIMS - dims + d] = tile[d];
                windows[WINOGRAD_DIMS - dims + d] = window[d];
        }
        winograd_find_square(tiles, windows, &f);
        return f;
}

int64_t winograd_phases(const struct op *op)
{
        const int64_t *strides = op_ints(op, "strides", NULL);
        int64_t phases = 1;
        for (int d = 0; d < winograd_dims(op); d++)
                phases *= strides[d];
        return phases;
}

int winograd_forms(const int64_t *window, int64_t forms[][WINOGRAD_DIMS])
{
        enum { STEP = 2, SQUARE = 4, LINE = 6 }; /* Tiles have an even number of results. */
        const bool square = window[0] > 1 && window[1] > 1;
        const int64_t most = square ? SQUARE : LINE;
        int count = 0;
        if (window[0] == 1 && window[1] == 1)
                return 0;
        for (int64_t i = 0; i <= most; i += STEP)
                for (int64_t j = 0; j <= most; j += STEP) {
                        const int64_t tile[] = { i ? i : 1, j ? j : 1 };
                        struct winograd_square f;
                        if (!winograd_find_square(tile, window, &f))
                                continue;
                        forms[count][0] = tile[0];
                        forms[count++][1] = tile[1];
                }
        return count;
}

int winograd_steps(const struct winograd_line *down, const struct winograd_line *across)
{
        return across->count * down->step_count + down->results * across->step_count;
}

static double line_flops(const struct winograd_line *line)
{
        double flops = 0;
        for (int i = 0; i < line->step_count; i++)
                flops += line->steps[i].k == 1 || line->steps[i].k == -1 ? 1 : 2;
        return flops;
}

double winograd_flops(const struct winograd_line *down, const struct winograd_line *across)
{
        return across->count * line_flops(down) + down->results * line_flops(across);
}
