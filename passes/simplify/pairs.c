/* SPDX-License-Identifier: MIT */
/* The rule of simplify.def for what becomes of one or two bytes between quantizations by floats.
 *
 *      %1 = mul(cast(sub(cast(%x: u8) to=i32, 3)), 0.1)
 *      %2 = mul(cast(%y: u8), 0.04)              ->     %1 = mul(cast(%x), a)
 *      %3 = div(add(%1, %2), 0.07)                      %2 = add(mul(cast(%y), b), c)
 *      %4 = cast(add(round(%3), 17)) to=u8              %3 = cast(round(add(%1, %2))) to=u8
 *
 * Sums, differences, products and bounds of decoded bytes, encoded anew, are a polynomial
 *
 *      p(x, y) = c + a * x + b * y + k * x * y,         bounded perhaps,
 *
 * so division, decoding and zero points are numbers in it. In f32 it rounds otherwise than the graph
 * does; but there are no more than 65,536 pairs, and whether each of them keeps its byte is
 * simply tried. A pair that is off lies beside a half: of factors a few steps of f32 away, some have all
 * of them on the right side. Where none has (ties in which the graph's own roundings decide), the
 * graph stays as it is. */
#include "passes/simplify/simplify.h"

#include <math.h>
#include <string.h>

enum { BYTES = 256, OPS_MAX = 40, DEAR = 8 };   /* what a division costs, in additions */
enum { STEPS = 2, SHIFTS = 8 };                 /* factors and sums that are tried on either side */

/* bytes, spread perhaps */
struct leaf { struct value *bytes; struct op *spread; };

struct polynomial {
        double one, x, y, xy;
        double low, high;               /* in which it is kept; infinite: not at all */
};

struct formula {
        struct leaf leaves[2];
        int leaf_count, cost, visited;
        enum element to;
        struct value *root;             /* what is rounded and, moved by `zero`, cast */
        double zero;
        bool want_known;
        unsigned char want[BYTES][BYTES];       /* by x and y: the byte, counted from the least */
};

static bool is_byte(const struct value *v)
{
        return element_is_integer((enum element)v->type->element) &&
               element_info[v->type->element].bytes == 1;
}

/* the byte that is number i of its type */
static float byte_at(const struct leaf *l, int i)
{
        return (float)(l->bytes && l->bytes->type->element == E_I8 ? i - BYTES / 2 : i);
}

static int bytes_of(const struct leaf *l)
{
        return l->bytes ? BYTES : 1;
}

/* ---- what it is ---- */

static const struct polynomial unbounded = { .low = -INFINITY, .high = INFINITY };

static bool is_bounded(const struct polynomial *p)
{
        return p->low > -INFINITY || p->high < INFINITY;
}

static bool is_number(const struct polynomial *p)
{
        return !p->x && !p->y && !p->xy;
}

static bool take_leaf(struct formula *f, struct value *v, struct op *spread, struct polynomial *p)
{
        int i = 0;
        while (i < f->leaf_count && (f->leaves[i].bytes != v || f->leaves[i].spread != spread))
                i++;
        if (i == 2)
                return false;
        f->leaves[i] = (struct leaf){ v, spread };
        f->leaf_count += i == f->leaf_count;
        *(i ? &p->y : &p->x) = 1;
        return true;
}

static void scale(struct polynomial *p, double by)
{
        p->one *= by, p->x *= by, p->y *= by, p->xy *= by;
        p->low *= by, p->high *= by;
}

static bool add(struct polynomial *p, const struct polynomial *q, double sign)
{
        if (is_bounded(q) || (is_bounded(p) && !is_number(q)))
                return false;
        p->one += sign * q->one, p->x += sign * q->x, p->y += sign * q->y, p->xy += sign * q->xy;
        p->low += sign * q->one, p->high += sign * q->one;
        return true;
}

/* p of x alone by q of y alone, or either of them a number */
static bool multiply(struct polynomial *p, const struct polynomial *q)
{
        if (is_number(p) && !is_number(q)) {
                struct polynomial other = *p;
                *p = *q;
                return multiply(p, &other);
        }
        if (is_bounded(q) || (is_bounded(p) && !(is_number(q) && q->one > 0)))
                return false;
        if (is_number(q)) {
                scale(p, q->one);
                return true;
        }
        if (p->xy || q->xy || (p->x && q->x) || (p->y && q->y))
                return false;
        *p = (struct polynomial){ .one = p->one * q->one,
                                  .x = p->x * q->one + p->one * q->x,
                                  .y = p->y * q->one + p->one * q->y,
                                  .xy = p->x * q->y + p->y * q->x,
                                  .low = -INFINITY,
                                  .high = INFINITY };
        return true;
}

static bool bound(struct polynomial *p, enum opcode code, double c)
{
        if (code == OP_max) {
                p->low = fmax(p->low, c);
                p->high = fmax(p->high, c);
        } else {
                p->low = fmin(p->low, c);
                p->high = fmin(p->high, c);
        }
        return !isnan(c);
}

static bool combine(enum opcode code, struct polynomial *p, const struct polynomial *q)
{
        switch (code) {
        case OP_add: return add(p, q, 1);
        case OP_sub: return add(p, q, -1);
        case OP_mul: return multiply(p, q);
        case OP_div:
                if (!is_number(q) || !(q->one > 0))
                        return false;
                scale(p, 1 / q->one);
                return true;
        case OP_max:
        case OP_min: return is_number(q) && bound(p, code, q->one);
        default: return false;
        }
}

/* integers that i32 and f32 hold, whatever the bytes are */
static bool is_small(const struct polynomial *p)
{
        double most = fabs(p->one) + BYTES * (fabs(p->x) + fabs(p->y)) + BYTES * BYTES * fabs(p->xy);
        return most < 1 << 24;
}

/* v as such a polynomial; two bytes meet in values that nothing else reads */
static bool find_polynomial(struct formula *f, struct value *v, struct op *spread,
                            struct polynomial *p)
{
        double number;
        enum element e = (enum element)v->type->element;
        *p = unbounded;
        if (value_is_splat(v, &number)) {
                p->one = number;
                return true;
        }
        if (v->kind != VALUE_RESULT || f->visited++ >= OPS_MAX || (e != E_F32 && e != E_I32))
                return false;
        struct op *op = v->op;
        struct value *x = op->operand_count ? op_operand(op, 0) : NULL;
        if (op->code == OP_broadcast)
                return !spread && find_polynomial(f, x, op, p);
        f->cost += op->code == OP_div ? DEAR : 1;
        if (op->code == OP_cast && is_byte(x))
                return take_leaf(f, x, spread, p);
        if (op->code == OP_cast)
                return x->type->element == E_I32 && e == E_F32 &&
                       find_polynomial(f, x, spread, p) && is_small(p);
        struct polynomial q;
        return op->operand_count == 2 && find_polynomial(f, x, spread, p) &&
               find_polynomial(f, op_operand(op, 1), spread, &q) &&
               (is_number(p) || is_number(&q) || value_has_one_use(v) || v == f->root) &&
               combine(op->code, p, &q) && (e == E_F32 || is_small(p));
}

/* ---- whose rounding counts ---- */

/* or only moves what was computed so */
static bool is_arithmetic(const struct op *op)
{
        switch (op->code) {
        case OP_add: case OP_sub: case OP_mul: case OP_div: case OP_neg: case OP_max: case OP_min:
                return true;
        default: return op_info[op->code].traits & TRAIT_FREE;
        }
}

/* operands behind these say where to and which */
static int numbers_of(const struct op *op)
{
        bool one = op_info[op->code].traits & TRAIT_FREE && op->code != OP_concat;
        return one && op->operand_count ? 1 : op->operand_count;
}

/* left: how many operations are looked at */
static bool is_of_bytes(const struct value *v, int *left)
{
        if (value_is_constant(v))
                return true;
        if (v->kind != VALUE_RESULT || (*left)-- <= 0)
                return false;
        if (v->op->code == OP_cast) {
                const struct value *x = op_operand(v->op, 0);
                return is_byte(x) || (x->type->element == E_I32 && is_of_bytes(x, left));
        }
        bool all = is_arithmetic(v->op);
        for (int i = 0; i < numbers_of(v->op) && all; i++)
                all = is_of_bytes(op_operand(v->op, i), left);
        return all;
}

static bool becomes_whole(const struct value *v, int *left)
{
        bool found = false;
        for (const struct use *u = v->uses; u && !found && (*left)-- > 0; u = u->next)
                found = u->user->code == OP_round ||
                        (is_arithmetic(u->user) && becomes_whole(op_result(u->user), left));
        return found;
}

bool simplify_is_between_bytes(const struct op *op)
{
        const struct value *v = op_result(op);
        int above = OPS_MAX, below = OPS_MAX;
        return is_arithmetic(op) && v->type->element == E_F32 && is_of_bytes(v, &above) &&
               becomes_whole(v, &below);
}

bool simplify_is_average_of_bytes(const struct op *op)
{
        int above = OPS_MAX, below = OPS_MAX;
        return (op->code == OP_reduce || op->code == OP_reduce_window) &&
               op_int(op, "kind") == REDUCE_sum && is_of_bytes(op_operand(op, 0), &above) &&
               becomes_whole(op_result(op), &below);
}

/* ---- what it does to each pair ---- */

/* The graph's own operations, in its order, on whole numbers and f32 as they stand. */
static float value_of(const struct formula *f, const struct value *v, const struct op *spread,
                      const float pair[2])
{
        double number;
        if (value_is_splat(v, &number))
                return (float)number;
        const struct op *op = v->op;
        const struct value *x = op_operand(op, 0);
        if (op->code == OP_broadcast)
                return value_of(f, x, op, pair);
        if (op->code == OP_cast && is_byte(x))
                return pair[f->leaves[0].bytes != x || f->leaves[0].spread != spread];
        if (op->code == OP_cast)
                return value_of(f, x, spread, pair);
        float a = value_of(f, x, spread, pair), b = value_of(f, op_operand(op, 1), spread, pair);
        switch (op->code) {
        case OP_add: return a + b;
        case OP_sub: return a - b;
        case OP_mul: return a * b;
        case OP_div: return a / b;
        case OP_max: return a > b ? a : b;
        default: return a < b ? a : b;
        }
}

/* v rounded, moved and saturated, counted from the least of the type */
static int encoded(const struct formula *f, float v, float zero)
{
        float least = f->to == E_I8 ? -BYTES / 2 : 0, whole = rintf(v) + zero - least;
        return whole < 0 ? 0 : whole > BYTES - 1 ? BYTES - 1 : (int)whole;
}

/* false: for some pair it is no number */
static bool find_bytes(struct formula *f)
{
        for (int i = 0; i < bytes_of(&f->leaves[0]); i++)
                for (int k = 0; k < bytes_of(&f->leaves[1]); k++) {
                        float pair[2] = { byte_at(&f->leaves[0], i), byte_at(&f->leaves[1], k) };
                        float v = value_of(f, f->root, NULL, pair);
                        if (!isfinite(v))
                                return false;
                        f->want[i][k] = (unsigned char)encoded(f, v, (float)f->zero);
                }
        return true;
}

/* ---- the polynomial in f32 ---- */

/* x * a + (y * b + c), or (x - a) * (y - b) * k + c, kept between bounds, rounded, and moved by zero */
struct form {
        bool product;
        float a, b, c, k, low, high, zero;
};

/* what has been a pair that is off, mostly is */
struct hard { int count, pairs[16][2]; };

/* each operation by itself: nothing is contracted */
static float form_at(const struct form *g, float x, float y)
{
        if (g->product) {
                x -= g->a;
                y -= g->b;
                x *= y;
                x *= g->k;
        } else {
                x *= g->a;
                y *= g->b;
        }
        float rest = g->product ? 0 : y;
        rest += g->c;
        x += rest;
        x = x > g->low ? x : g->low;
        return x < g->high ? x : g->high;
}

static bool is_right(const struct formula *f, const struct form *g, int i, int k)
{
        float v = form_at(g, byte_at(&f->leaves[0], i), byte_at(&f->leaves[1], k));
        return encoded(f, v, g->zero) == f->want[i][k];
}

static bool is_always_right(const struct formula *f, const struct form *g, struct hard *h)
{
        enum { MOST = sizeof h->pairs / sizeof *h->pairs };
        for (int n = 0; n < h->count && n < MOST; n++)
                if (!is_right(f, g, h->pairs[n][0], h->pairs[n][1]))
                        return false;
        for (int i = 0; i < bytes_of(&f->leaves[0]); i++)
                for (int k = 0; k < bytes_of(&f->leaves[1]); k++)
                        if (!is_right(f, g, i, k)) {
                                int *pair = h->pairs[h->count++ % MOST];
                                pair[0] = i, pair[1] = k;
                                return false;
                        }
        return true;
}

/* number 0, 1, 2, 3, .. of 0, 1, -1, 2, .. */
static int step(int i)
{
        return i & 1 ? (i + 1) / 2 : -i / 2;
}

static float moved(float x, int steps)
{
        for (; steps > 0; steps--)
                x = nextafterf(x, INFINITY);
        for (; steps < 0; steps++)
                x = nextafterf(x, -INFINITY);
        return x;
}

/* the bounds that do something, of numbers that end in zero: infinite where saturation does it */
static void set_bounds(const struct formula *f, const struct polynomial *p, struct form *g)
{
        double least = f->to == E_I8 ? -BYTES / 2 : 0, shift = f->zero - g->zero;
        g->low = rint(p->low) + f->zero > least ? (float)(p->low + shift) : -INFINITY;
        g->high = rint(p->high) + f->zero < least + BYTES - 1 ? (float)(p->high + shift) : INFINITY;
}

static bool set_form(const struct formula *f, const struct polynomial *p, bool inside, struct form *g)
{
        double c = p->one + (inside ? f->zero : 0);
        *g = (struct form){ .product = p->xy != 0, .zero = inside ? 0 : (float)f->zero };
        set_bounds(f, p, g);
        if (!g->product) {
                g->a = (float)p->x, g->b = (float)p->y, g->c = (float)c;
                return true;
        }
        double x = rint(-p->y / p->xy), y = rint(-p->x / p->xy);
        g->a = (float)x, g->b = (float)y, g->k = (float)p->xy;
        g->c = (float)(c - x * y * p->xy);
        if (fabs(g->c - rintf(g->c)) < 1e-3)    /* a zero point that came through division */
                g->c = rintf(g->c);
        return fabs(x) <= BYTES && fabs(y) <= BYTES;
}

/* the first of some forms around g that is right for all pairs */
static bool find_form(const struct formula *f, struct form *g)
{
        const struct form first = *g;
        struct hard h = { 0 };
        for (int s = 0; s <= 2 * SHIFTS; s++)
                for (int i = 0; i <= 2 * STEPS; i++)
                        for (int k = 0; k <= 2 * STEPS; k++) {
                                *g = first;
                                g->c += (float)ldexp(step(s), -19);
                                if (g->product)
                                        g->k = moved(first.k, step(i));
                                else
                                        g->a = moved(first.a, step(i)), g->b = moved(first.b, step(k));
                                if (is_always_right(f, g, &h))
                                        return true;
                                if (g->product || f->leaf_count == 1)
                                        break;
                        }
        return false;
}

static int cost_of(const struct formula *f, const struct form *g)
{
        int bounds = (g->low > -INFINITY) + (g->high < INFINITY);
        int each = g->product ? (g->a != 0) + (g->b != 0) + 2
                              : (g->a != 1) + (f->leaf_count == 2 ? 1 + (g->b != 1) : 0);
        return f->leaf_count + each + (g->c != 0) + bounds + (g->zero != 0);
}

/* ---- writing it ---- */

static struct value *with(struct builder *b, enum opcode code, struct value *x, float number,
                          bool needed)
{
        return needed ? build_binary(b, code, x, build_like(b, x, number)) : x;
}

static struct value *leaf_value(struct builder *b, const struct formula *f, int i)
{
        const struct leaf *l = &f->leaves[i];
        struct value *x = build_cast(b, l->bytes, E_F32);
        return l->spread ? build_broadcast(b, x, f->root->type, op_ints(l->spread, "dims", NULL)) : x;
}

static struct value *write_form(struct builder *b, const struct formula *f, const struct form *g)
{
        struct value *x = leaf_value(b, f, 0), *y = f->leaf_count == 2 ? leaf_value(b, f, 1) : NULL;
        enum opcode first = g->product ? OP_sub : OP_mul;
        float none = g->product ? 0 : 1;
        x = with(b, first, x, g->a, g->a != none);
        y = y ? with(b, first, y, g->b, g->b != none) : NULL;
        if (g->product)
                x = with(b, OP_mul, build_binary(b, OP_mul, x, y), g->k, true);
        else if (y)
                x = build_binary(b, OP_add, x, with(b, OP_add, y, g->c, g->c != 0));
        if (g->product || !y)
                x = with(b, OP_add, x, g->c, g->c != 0);
        x = with(b, OP_max, x, g->low, g->low > -INFINITY);
        x = with(b, OP_min, x, g->high, g->high < INFINITY);
        x = build_unary(b, OP_round, x);
        return build_cast(b, with(b, OP_add, x, g->zero, g->zero != 0), f->to);
}

/* cast(round(root) + zero, t) */
static bool find_formula(struct op *op, struct formula *f, struct polynomial *p)
{
        struct value *x = op_operand(op, 0);
        *f = (struct formula){ .to = (enum element)op_result(op)->type->element };
        if (!is_byte(op_result(op)) || x->type->element != E_F32)
                return false;
        if (op_is(x, OP_add) && value_is_splat(op_operand(x->op, 1), &f->zero)) {
                x = op_operand(x->op, 0);
                f->cost++;
        }
        if (!op_is(x, OP_round) || f->zero != rint(f->zero) || fabs(f->zero) > BYTES)
                return false;
        f->root = op_operand(x->op, 0);
        return find_polynomial(f, f->root, NULL, p) && f->leaf_count && (p->x || p->y || p->xy);
}

struct value *rewrite_cast_pair(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct formula f;
        struct polynomial p;
        if (!find_formula(op, &f, &p))
                return NULL;
        for (int outside = 0; outside < 2; outside++) {
                struct form g;
                if (set_form(&f, &p, !outside, &g) && cost_of(&f, &g) < f.cost &&
                    (f.want_known || (f.want_known = find_bytes(&f))) && find_form(&f, &g))
                        return write_form(b, &f, &g);
        }
        return NULL;
}
