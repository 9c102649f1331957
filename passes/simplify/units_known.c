/* SPDX-License-Identifier: MIT */
/* Finds which units are numbers, whatever the inputs are (units.h): a filter of zeros gives zeros,
 * and what is computed of such numbers alone is a number, which the canonical lowering evaluates.
 * A product by zero is taken for zero. */
#include "passes/simplify/units.h"

#include <math.h>
#include <string.h>

enum { OPERANDS_MAX = 4 }; /* Element-wise operations have fewer operands. */

bool units_is_zero(const struct units *u, int64_t id)
{
        return u->state[id] == NUMBER_KNOWN && units_number(u, id) == 0;
}

float units_number(const struct units *u, int64_t id)
{
        float x;
        memcpy(&x, &u->bits[id], sizeof x);
        return u->state[id] == NUMBER_KNOWN ? x : NAN;
}

static void set_number(struct units *u, int64_t id, float x)
{
        u->bits[id] = 0;
        memcpy(&u->bits[id], &x, sizeof x);
        u->state[id] = NUMBER_KNOWN;
}

bool units_sees_inside(const struct op *op)
{
        int count;
        const int64_t *pads = op_ints(op, "pads", &count);
        bool inside = op_all_ones(op, "input_dilations");
        for (int i = 0; i < count; i++)
                inside = inside && pads[i] <= 0;
        return inside;
}

/* ---- constants, contractions ---- */

/* Marks the indices of a constant at which all elements are the same bytes. */
static void know_constant(struct units *u, const struct member *m)
{
        const struct constant *c = m->v->constant;
        const size_t bytes = (size_t)element_info[m->v->type->element].bytes;
        int64_t outer, inner;
        units_around(m->v->type, m->dim, &outer, &inner);
        for (int64_t i = 0; i < m->extent && outer * inner > 0; i++) {
                const char *first = (const char *)constant_data(c), *at;
                bool same = true;
                if (c->kind != CONSTANT_SPLAT)
                        first += (size_t)(i * inner) * bytes;
                for (int64_t k = 0; k < outer * inner && same && c->kind != CONSTANT_SPLAT; k++) {
                        at = (const char *)constant_data(c) +
                             (size_t)((k / inner * m->extent + i) * inner + k % inner) * bytes;
                        same = !memcmp(at, first, bytes);
                }
                u->state[m->first + i] = same ? NUMBER_KNOWN : NUMBER_VARIES;
                memcpy(&u->bits[m->first + i], first, bytes);
        }
}

static void know_filters(struct units *u, const struct op *op, const struct member *made)
{
        bool *zero = arena_array(u->arena, (size_t)made->extent, sizeof *zero);
        units_zeros(op_operand(op, 1)->constant, units_weights_dim(op, true), zero);
        for (int64_t i = 0; i < made->extent; i++)
                if (zero[i])
                        set_number(u, made->first + i, 0);
}

/* ---- what moves or combines the elements of an index ---- */

struct linking {
        struct units *u;
        const struct op *op;
        int64_t from, to;
};

static void link_number(void *context, int64_t from, int64_t to)
{
        struct linking *l = context;
        struct units *u = l->u;
        from += l->from;
        to += l->to;
        if (u->state[to] == NUMBER_UNSET) {
                u->state[to] = u->state[from] == NUMBER_KNOWN ? NUMBER_KNOWN : NUMBER_VARIES;
                u->bits[to] = u->bits[from];
        } else if (u->state[from] != NUMBER_KNOWN || u->bits[from] != u->bits[to]) {
                u->state[to] = NUMBER_VARIES;
        }
}

static void know_by_links(struct units *u, const struct op *op, const struct member *result)
{
        for (int i = 0; i < op->operand_count; i++) {
                const struct member *m = units_operand(u, op, i);
                struct linking l = { .u = u, .op = op, .to = result->first };
                l.from = m ? m->first : 0;
                if (m)
                        units_links(u, op, i, link_number, &l);
        }
}

/* A pad puts its value at indices of its own, and among the elements of others. */
static void know_pad(struct units *u, const struct op *op, const struct member *result)
{
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type;
        const struct value *value = op_operand(op, 1);
        const bool known = value && value_is_constant(value);
        int64_t lows[RANK_MAX];
        int count;
        bool plain = value_ints(op_operand(op, 2), lows, RANK_MAX, &count);
        uint64_t bits = 0;
        if (known)
                memcpy(&bits, constant_data(value->constant),
                       (size_t)element_info[value->type->element].bytes);
        for (int d = 0; d < y->rank; d++)
                plain = plain &&
                        (d == result->dim || (lows[d] == 0 && dim_equal(x->dims[d], y->dims[d])));
        know_by_links(u, op, result);
        for (int64_t i = result->first; i < result->first + result->extent; i++) {
                if (u->state[i] == NUMBER_UNSET && known) {
                        u->state[i] = NUMBER_KNOWN;
                        u->bits[i] = bits;
                } else if (!plain && !(known && u->bits[i] == bits)) {
                        u->state[i] = NUMBER_VARIES;
                }
        }
}

/* Has each window of a pool an element of x? */
static bool has_elements(const struct op *op)
{
        const struct type *x = op_operand(op, 0)->type;
        bool some = !type_is_empty(x);
        if (op->code == OP_reduce)
                return type_is_static(x) && some;
        const int64_t *pads = op_ints(op, "pads", NULL), *window = op_ints(op, "window", NULL);
        for (int d = 0; d < x->rank; d++)
                some = some && pads[d] < window[d] && pads[x->rank + d] < window[d];
        return some && op_all_ones(op, "dilations");
}

/* Sums of zeros are zero, and a maximum or minimum of equal numbers is that number. */
static void know_reduced(struct units *u, const struct op *op, const struct member *result)
{
        const int64_t kind = op_int(op, "kind");
        const bool keeps = (kind == REDUCE_max || kind == REDUCE_min) && has_elements(op);
        know_by_links(u, op, result);
        for (int64_t i = result->first; i < result->first + result->extent; i++)
                if (!keeps && !(kind == REDUCE_sum && units_is_zero(u, i)))
                        u->state[i] = NUMBER_VARIES;
}

/* A channel that is a number gives a number where its window sees nothing else. */
static void know_depthwise(struct units *u, const struct op *op, const struct member *result)
{
        const struct constant *w = op_operand(op, 1)->constant;
        const struct member *x = units_operand(u, op, 0);
        const bool inside = units_sees_inside(op);
        int64_t outer, inner;
        bool *zero = arena_array(u->arena, (size_t)result->extent, sizeof *zero);
        units_zeros(w, 0, zero);
        units_around(w->value.type, 0, &outer, &inner);
        for (int64_t i = 0; i < result->extent; i++) {
                const int64_t from = x->first + i / (result->extent / x->extent);
                if (zero[i] || units_is_zero(u, from)) {
                        set_number(u, result->first + i, 0);
                } else if (inside && u->state[from] == NUMBER_KNOWN) {
                        double sum = 0;
                        for (int64_t k = 0; k < inner; k++)
                                sum += (double)constant_float(w, i * inner + k);
                        set_number(u, result->first + i, (float)(sum * units_number(u, from)));
                }
        }
}

/* ---- element-wise operations ---- */

/* Returns the constant of the numbers of m, with zeros where they are unknown. */
static struct value *numbers_of(struct units *u, const struct member *m)
{
        const enum element e = m->v->type->element;
        const size_t bytes = (size_t)element_info[e].bytes;
        char *data = memset(constant_room(u->m, (size_t)m->extent * bytes), 0,
                            (size_t)m->extent * bytes);
        for (int64_t i = 0; i < m->extent; i++)
                if (u->state[m->first + i] == NUMBER_KNOWN)
                        memcpy(data + (size_t)i * bytes, &u->bits[m->first + i], bytes);
        return constant_dense(u->m, type_static(u->m, e, 1, &m->extent), data, NULL);
}

/* Computes op on the numbers of its operands. Returns a constant, or NULL. */
static struct value *evaluated(struct units *u, struct builder *b, const struct op *op,
                               struct member *const *operands)
{
        struct region side = { .function = u->region->function };
        struct builder aside = { .m = u->m,
                                 .region = &side,
                                 .diag = b->diag,
                                 .fold = b->fold,
                                 .fold_context = b->fold_context };
        const struct member *result = units_result(u, op);
        struct value *numbers[OPERANDS_MAX];
        for (int i = 0; i < op->operand_count; i++)
                numbers[i] = numbers_of(u, operands[i]);
        struct value *y =
                value_build(&aside, op->code, numbers, op->operand_count, op->attrs,
                            type_static(u->m, op_result(op)->type->element, 1, &result->extent));
        if (!y || value_is_constant(y))
                return y;
        op_erase(y->op);
        return NULL;
}

/* Takes the numbers of y, a constant, for indices all of whose operands are numbers. */
static void take_numbers(struct units *u, const struct member *result, const struct constant *y,
                         const bool *known)
{
        const size_t bytes = (size_t)element_info[y->value.type->element].bytes;
        for (int64_t i = 0; i < result->extent; i++) {
                const size_t at = y->kind != CONSTANT_SPLAT ? (size_t)i * bytes : 0;
                if (!known[i])
                        continue;
                u->state[result->first + i] = NUMBER_KNOWN;
                memcpy(&u->bits[result->first + i], (const char *)constant_data(y) + at, bytes);
        }
}

static void know_elementwise(struct units *u, struct builder *b, const struct op *op,
                             const struct member *result)
{
        struct member *operands[OPERANDS_MAX];
        bool *known = arena_array(u->arena, (size_t)result->extent, sizeof *known), any = false;
        if (op->operand_count > OPERANDS_MAX)
                return;
        for (int k = 0; k < op->operand_count; k++)
                if (!(operands[k] = units_operand(u, op, k)))
                        return;
        for (int64_t i = 0; i < result->extent; i++) {
                bool zero = false;
                known[i] = true;
                for (int k = 0; k < op->operand_count; k++) {
                        const int64_t id = operands[k]->first + i;
                        known[i] = known[i] && u->state[id] == NUMBER_KNOWN;
                        zero |= op->code == OP_mul && units_is_zero(u, id);
                }
                any |= known[i];
                if (zero)
                        set_number(u, result->first + i, 0);
        }
        struct value *y = any ? evaluated(u, b, op, operands) : NULL;
        if (y)
                take_numbers(u, result, y->constant, known);
}

void units_know(struct units *u, struct builder *b)
{
        for (int i = 0; i < u->member_count; i++)
                if (value_is_constant(u->members[i]->v) && !u->members[i]->pinned)
                        know_constant(u, u->members[i]);
        for (int i = 0; i < u->op_count; i++) {
                const struct op *op = u->ops[i];
                const struct member *result = units_result(u, op);
                if (!result || result->pinned)
                        continue;
                if (units_made(u, op))
                        know_filters(u, op, result);
                else if (units_is_depthwise(op))
                        know_depthwise(u, op, result);
                else if (op_info[op->code].traits & TRAIT_ELEMENTWISE)
                        know_elementwise(u, b, op, result);
                else if (op->code == OP_pad)
                        know_pad(u, op, result);
                else if (op->code == OP_reduce || op->code == OP_reduce_window)
                        know_reduced(u, op, result);
                else
                        know_by_links(u, op, result);
        }
}
