/* SPDX-License-Identifier: MIT */
/* The algebra of bytes between quantizations is about polynomials of one or two bytes
 * (formula.h). */
#include "passes/simplify/formula.h"

#include <math.h>

enum { OPS_MAX = 40, DEAR = 8 };        /* A formula has at most OPS_MAX operations; a division
                                         * costs as much as DEAR additions. */

static bool is_byte(const struct value *v)
{
        return element_is_integer(v->type->element) &&
               element_info[v->type->element].bytes == 1;
}

int formula_byte(const struct leaf *l, int i)
{
        return l->bytes && l->bytes->type->element == E_I8 ? i - BYTES / 2 : i;
}

int formula_byte_count(const struct leaf *l)
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

/* Multiplies p by q: x alone by y alone, or one of them a number. Returns false for other
 * products. */
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
        case OP_shl:
                if (!is_number(q) || q->one < 0 || q->one > 30)
                        return false;
                scale(p, ldexp(1, (int)q->one));
                return true;
        case OP_max:
        case OP_min: return is_number(q) && bound(p, code, q->one);
        default: return false;
        }
}

/* Are the numbers of p, whatever the bytes are, of at most so many bits beside the sign? */
static bool has_bits(const struct polynomial *p, int bits)
{
        double most =
                fabs(p->one) + BYTES * (fabs(p->x) + fabs(p->y)) + BYTES * BYTES * fabs(p->xy);
        return most < ldexp(1, bits);
}

/* Finds the numbers of a rescale that are the same in all places. */
static bool find_fixed(const struct op *op, struct fixed *fixed)
{
        double m, e;
        *fixed = fixed_of(op);
        if (!value_is_splat(op_operand(op, 1), &m) || !value_is_splat(op_operand(op, 2), &e))
                return false;
        fixed->m = (int32_t)m;
        fixed->e = fixed_exponent((int64_t)e);
        return fixed->m > 0;
}

/* Scales p as a rescale does, but for its roundings; bounds are those of its result. */
static void rescale(struct polynomial *p, const struct fixed *fixed)
{
        scale(p, fixed_slope(fixed));
        p->low = fmax(p->low, (double)(fixed->low - fixed->zero));
        p->high = fmin(p->high, (double)(fixed->high - fixed->zero));
}

static bool find_polynomial(struct formula *f, struct value *v, struct op *spread,
                            struct polynomial *p);

/* Finds a rescale of i32 to i32, without a zero point or bounds. */
static bool find_inner(struct formula *f, const struct op *op, struct op *spread,
                       struct polynomial *p)
{
        struct fixed fixed;
        if (!find_fixed(op, &fixed) || fixed.zero || fixed.low > INT32_MIN ||
            fixed.high < INT32_MAX || !find_polynomial(f, op_operand(op, 0), spread, p))
                return false;
        scale(p, fixed_slope(&fixed));
        return has_bits(p, 31);
}

/* Finds v as a polynomial of the bytes. */
static bool find_polynomial(struct formula *f, struct value *v, struct op *spread,
                            struct polynomial *p)
{
        double number;
        enum element e = v->type->element;
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
        f->cost += op->code == OP_div || op->code == OP_rescale ? DEAR : 1;
        if (op->code == OP_cast && is_byte(x))
                return take_leaf(f, x, spread, p);
        if (op->code == OP_cast)
                return x->type->element == E_I32 && e == E_F32 &&
                       find_polynomial(f, x, spread, p) && has_bits(p, 24);
        if (op->code == OP_rescale)
                return find_inner(f, op, spread, p);
        struct polynomial q;
        return op->operand_count == 2 && find_polynomial(f, x, spread, p) &&
               find_polynomial(f, op_operand(op, 1), spread, &q) &&
               (is_number(p) || is_number(&q) || f->shared || value_has_one_use(v) ||
                v == f->root) &&
               combine(op->code, p, &q) && (e == E_F32 || has_bits(p, 31));
}

/* ---- what it does to each pair ---- */

/* Computes v by the graph's own operations, in its order. Integers are exact in a double; what is
 * computed of two floats in doubles and rounded to f32 is what f32 makes of them. */
static double value_of(const struct formula *f, const struct value *v, const struct op *spread,
                       const double pair[2])
{
        double number;
        struct fixed fixed;
        if (value_is_splat(v, &number))
                return number;
        const struct op *op = v->op;
        const struct value *x = op_operand(op, 0);
        if (op->code == OP_broadcast)
                return value_of(f, x, op, pair);
        if (op->code == OP_cast && is_byte(x))
                return pair[f->leaves[0].bytes != x || f->leaves[0].spread != spread];
        const double a = value_of(f, x, spread, pair);
        if (op->code == OP_cast)
                return a;
        if (op->code == OP_rescale)
                return find_fixed(op, &fixed) ? (double)fixed_at(&fixed, (int64_t)a) : NAN;
        const double b = value_of(f, op_operand(op, 1), spread, pair);
        const bool whole = v->type->element == E_I32;
        switch (op->code) {
        case OP_add: return whole ? a + b : (double)(float)(a + b);
        case OP_sub: return whole ? a - b : (double)(float)(a - b);
        case OP_mul: return whole ? a * b : (double)(float)(a * b);
        case OP_div: return whole ? NAN : (double)(float)(a / b);
        case OP_shl: return ldexp(a, (int)b);
        case OP_max: return a > b ? a : b;
        default: return a < b ? a : b;
        }
}

int formula_encoded(const struct formula *f, float v, float zero)
{
        float least = f->to == E_I8 ? -BYTES / 2 : 0, whole = rintf(v) + zero - least;
        return whole < 0 ? 0 : whole > BYTES - 1 ? BYTES - 1 : (int)whole;
}

/* Returns what the last operation makes of the root's number. */
static int encoded(const struct formula *f, double v)
{
        if (f->is_fixed)
                return (int)fixed_at(&f->fixed, (int64_t)v) + (f->to == E_I8 ? BYTES / 2 : 0);
        return formula_encoded(f, (float)v, (float)f->zero);
}

bool formula_find_bytes(struct formula *f)
{
        for (int i = 0; i < formula_byte_count(&f->leaves[0]); i++)
                for (int k = 0; k < formula_byte_count(&f->leaves[1]); k++) {
                        const double pair[2] = { formula_byte(&f->leaves[0], i),
                                                 formula_byte(&f->leaves[1], k) };
                        const double v = value_of(f, f->root, NULL, pair);
                        if (!isfinite(v))
                                return false;
                        f->want[i][k] = (unsigned char)encoded(f, v);
                }
        return true;
}

/* ---- whole ---- */

/* Finds the formula of op = rescale(root). */
static bool find_rescaled(struct op *op, struct formula *f)
{
        struct polynomial *p = &f->p;
        f->root = op_operand(op, 0);
        f->is_fixed = true;
        f->cost = DEAR;
        if (!find_fixed(op, &f->fixed) || !find_polynomial(f, f->root, NULL, p) || is_bounded(p))
                return false;
        f->zero = (double)f->fixed.zero;
        rescale(p, &f->fixed);
        return f->leaf_count && (p->x || p->y || p->xy);
}

/* Finds the formula of op = cast(round(root) + zero, t), or rescale(root). */
bool formula_find(struct op *op, bool shared, struct formula *f)
{
        struct value *x = op_operand(op, 0);
        *f = (struct formula){ .to = op_result(op)->type->element, .shared = shared };
        struct polynomial *p = &f->p;
        if (!is_byte(op_result(op)))
                return false;
        if (op->code == OP_rescale)
                return find_rescaled(op, f);
        if (x->type->element != E_F32)
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

struct value *formula_leaf(struct builder *b, const struct formula *f, int i, enum element e)
{
        const struct leaf *l = &f->leaves[i];
        struct value *x = build_cast(b, l->bytes, e);
        return l->spread ? build_broadcast(b, x, f->root->type, op_ints(l->spread, "dims", NULL))
                         : x;
}
