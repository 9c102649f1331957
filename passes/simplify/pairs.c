/* SPDX-License-Identifier: MIT */
/* The rule of simplify.def for formulas: what a graph computes from one or two bytes between
 * quantizations by floats (formula.h).
 *
 *      %1 = mul(cast(sub(cast(%x: u8) to=i32, 3)), 0.1)
 *      %2 = mul(cast(%y: u8), 0.04)              ->     %1 = mul(cast(%x), a)
 *      %3 = div(add(%1, %2), 0.07)                      %2 = add(mul(cast(%y), b), c)
 *      %4 = cast(add(round(%3), 17)) to=u8              %3 = cast(round(add(%1, %2))) to=u8
 *
 * The polynomial of a formula has other forms, with fewer operations. In f32 they round otherwise
 * than the graph does; but there are at most 65,536 pairs, so each of them is tried. A pair whose
 * byte changes lies beside a half: among factors a few steps of f32 away, some have all pairs on
 * the right side. Where none has (ties in which the graph's own roundings decide), the graph stays
 * as it is. */
#include "passes/simplify/simplify.h"

#include "passes/simplify/formula.h"

#include <math.h>

enum { OPS_MAX = 40 };                          /* At most this many operations are looked at to
                                                 * find bytes. */
enum { STEPS = 2, SHIFTS = 8 };                 /* Factors up to STEPS, and sums up to SHIFTS, steps
                                                 * of f32 away on either side are tried. */

/* ---- whose rounding counts ---- */

static bool is_byte(const struct value *v)
{
        return element_is_integer(v->type->element) &&
               element_info[v->type->element].bytes == 1;
}

/* Does op compute by arithmetic, or only move what was computed so? */
static bool is_arithmetic(const struct op *op)
{
        switch (op->code) {
        case OP_add: case OP_sub: case OP_mul: case OP_div: case OP_neg: case OP_max: case OP_min:
                return true;
        default: return op_info[op->code].traits & TRAIT_FREE;
        }
}

/* Returns how many operands are numbers: the others say where to move, and which elements. */
static int numbers_of(const struct op *op)
{
        bool one = op_info[op->code].traits & TRAIT_FREE && op->code != OP_concat;
        return one && op->operand_count ? 1 : op->operand_count;
}

/* left: the number of operations that may still be looked at. */
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

/* ---- the polynomial in f32 ---- */

/* A form is x * a + (y * b + c), or (x - a) * (y - b) * k + c, kept between bounds, rounded, and
 * moved by zero. */
struct form {
        bool product;
        float a, b, c, k, low, high, zero;
};

/* Pairs that one form got wrong; most other forms get them wrong, too. */
struct hard { int count, pairs[16][2]; };

/* Each operation stands by itself, so that none is contracted to a multiply-add. */
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
        float v = form_at(g, (float)formula_byte(&f->leaves[0], i),
                          (float)formula_byte(&f->leaves[1], k));
        return formula_encoded(f, v, g->zero) == f->want[i][k];
}

static bool is_always_right(const struct formula *f, const struct form *g, struct hard *h)
{
        enum { MOST = sizeof h->pairs / sizeof *h->pairs };
        for (int n = 0; n < h->count && n < MOST; n++)
                if (!is_right(f, g, h->pairs[n][0], h->pairs[n][1]))
                        return false;
        for (int i = 0; i < formula_byte_count(&f->leaves[0]); i++)
                for (int k = 0; k < formula_byte_count(&f->leaves[1]); k++)
                        if (!is_right(f, g, i, k)) {
                                int *pair = h->pairs[h->count++ % MOST];
                                pair[0] = i, pair[1] = k;
                                return false;
                        }
        return true;
}

/* Returns number 0, 1, 2, 3, .. of 0, 1, -1, 2, .. */
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

/* Sets the bounds that have an effect, of numbers that end in zero; they are infinite where
 * saturation does the same. */
static void set_bounds(const struct formula *f, const struct polynomial *p, struct form *g)
{
        double least = f->to == E_I8 ? -BYTES / 2 : 0, shift = f->zero - g->zero;
        g->low = rint(p->low) + f->zero > least ? (float)(p->low + shift) : -INFINITY;
        g->high = rint(p->high) + f->zero < least + BYTES - 1 ? (float)(p->high + shift) : INFINITY;
}

static bool set_form(const struct formula *f, const struct polynomial *p, bool inside,
                     struct form *g)
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
        if (fabs(g->c - rintf(g->c)) < 1e-3)    /* A constant this close to a whole number is a zero
                                                 * point that went through a division. */
                g->c = rintf(g->c);
        return fabs(x) <= BYTES && fabs(y) <= BYTES;
}

/* Finds the first of the forms around g that is right for all pairs. */
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
                                        g->a = moved(first.a, step(i)),
                                        g->b = moved(first.b, step(k));
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

static struct value *write_form(struct builder *b, const struct formula *f, const struct form *g)
{
        struct value *x = formula_leaf(b, f, 0, E_F32),
                     *y = f->leaf_count == 2 ? formula_leaf(b, f, 1, E_F32) : NULL;
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

struct value *rewrite_rescale_pair(struct builder *b, struct op *op, struct pass_context *context)
{
        return rewrite_cast_pair(b, op, context);
}

struct value *rewrite_cast_pair(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct formula f;
        bool known = false;
        if (!formula_find(op, false, &f))
                return NULL;
        for (int outside = 0; outside < 2; outside++) {
                struct form g;
                if (set_form(&f, &f.p, !outside, &g) && cost_of(&f, &g) < f.cost &&
                    (known || (known = formula_find_bytes(&f))) && find_form(&f, &g) &&
                    cost_of(&f, &g) < f.cost)   /* The formula is still cheaper: the search may have
                                                 * moved c off zero. */
                        return write_form(b, &f, &g);
        }
        return NULL;
}
