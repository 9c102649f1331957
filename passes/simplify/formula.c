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
        case OP_max:
        case OP_min: return is_number(q) && bound(p, code, q->one);
        default: return false;
        }
}

/* Do i32 and f32 hold the integers of p, whatever the bytes are? */
static bool is_small(const struct polynomial *p)
{
        double most =
                fabs(p->one) + BYTES * (fabs(p->x) + fabs(p->y)) + BYTES * BYTES * fabs(p->xy);
        return most < 1 << 24;
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
        f->cost += op->code == OP_div ? DEAR : 1;
        if (op->code == OP_cast && is_byte(x))
                return take_leaf(f, x, spread, p);
        if (op->code == OP_cast)
                return x->type->element == E_I32 && e == E_F32 &&
                       find_polynomial(f, x, spread, p) && is_small(p);
        struct polynomial q;
        return op->operand_count == 2 && find_polynomial(f, x, spread, p) &&
               find_polynomial(f, op_operand(op, 1), spread, &q) &&
               (is_number(p) || is_number(&q) || f->shared || value_has_one_use(v) ||
                v == f->root) &&
               combine(op->code, p, &q) && (e == E_F32 || is_small(p));
}

/* ---- what it does to each pair ---- */

/* Computes v by the graph's own operations, in its order, on integers and f32 as they stand. */
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

int formula_encoded(const struct formula *f, float v, float zero)
{
        float least = f->to == E_I8 ? -BYTES / 2 : 0, whole = rintf(v) + zero - least;
        return whole < 0 ? 0 : whole > BYTES - 1 ? BYTES - 1 : (int)whole;
}

bool formula_find_bytes(struct formula *f)
{
        for (int i = 0; i < formula_byte_count(&f->leaves[0]); i++)
                for (int k = 0; k < formula_byte_count(&f->leaves[1]); k++) {
                        float pair[2] = { (float)formula_byte(&f->leaves[0], i),
                                          (float)formula_byte(&f->leaves[1], k) };
                        float v = value_of(f, f->root, NULL, pair);
                        if (!isfinite(v))
                                return false;
                        f->want[i][k] = (unsigned char)formula_encoded(f, v, (float)f->zero);
                }
        return true;
}

/* ---- whole ---- */

/* Finds the formula of op = cast(round(root) + zero, t). */
bool formula_find(struct op *op, bool shared, struct formula *f)
{
        struct value *x = op_operand(op, 0);
        *f = (struct formula){ .to = op_result(op)->type->element, .shared = shared };
        struct polynomial *p = &f->p;
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

struct value *formula_leaf(struct builder *b, const struct formula *f, int i, enum element e)
{
        const struct leaf *l = &f->leaves[i];
        struct value *x = build_cast(b, l->bytes, e);
        return l->spread ? build_broadcast(b, x, f->root->type, op_ints(l->spread, "dims", NULL))
                         : x;
}
