/* SPDX-License-Identifier: MIT */
/* units: channels that carry nothing leave.
 *
 *   %0 = convolve(%x, @a)   ; a's filter 1 is zero, or @b's weights for channel 1 are
 *   %1 = max(%0, 0.0)                      %0 = convolve(%x, @a without filter 1)
 *   %2 = convolve(%1, @b)          ->      %1 = max(%0, 0.0)
 *                                          %2 = convolve(%1, @b without channel 1)
 *
 * Which channels: those whose weights in the reader are all zeros, and those that are zero
 * themselves, for every input, because what makes them multiplies by zeros. They leave every
 * operation from the contraction that makes channels to the one that sums over them; relations say
 * which dimension of an operand these channels are (ir/tensor/relation.h). The zeros around an
 * image equal such a channel, so pads do not matter.
 *
 * Class D: a product by zero is a NaN where its other factor is not finite. Nothing is done where a
 * value between the two contractions has another reader, or is an output. */
#include "ir/tensor/relation.h"
#include "passes/simplify/simplify.h"

#include <string.h>

enum { UNITS_DEPTH = 64 };              /* The most operations between two contractions. */

/* ---- weights ---- */

/* Counts the elements of the dimensions in front of d, and of those behind it. */
static void count_around(const struct type *t, int d, int64_t *outer, int64_t *inner)
{
        *outer = *inner = 1;
        for (int k = 0; k < t->rank; k++)
                if (k != d)
                        *(k < d ? outer : inner) *= type_extent(t, k);
}

/* Marks the indices of dimension d at which all elements of a constant of f32 are zeros. */
static void zeros_along(const struct constant *c, int d, bool *zero)
{
        const struct type *t = c->value.type;
        const int64_t extent = type_extent(t, d);
        int64_t outer, inner;
        count_around(t, d, &outer, &inner);
        for (int64_t i = 0; i < extent; i++) {
                zero[i] = true;
                for (int64_t o = 0; o < outer && zero[i]; o++)
                        for (int64_t k = 0; k < inner && zero[i]; k++)
                                zero[i] = constant_float(c, (o * extent + i) * inner + k) == 0;
        }
}

static bool is_weights(const struct value *v)
{
        return value_is_constant(v) && v->type->element == E_F32;
}

/* ---- what leaves ---- */

struct units {
        struct builder *b;
        const bool *leaves;             /* [extent]: these indices of the dimension go. */
        int64_t extent, kept;           /* The dimension has this extent, and keeps so many. */
};

static const struct type *narrowed(struct units *u, const struct type *t, int d)
{
        dim_t dims[RANK_MAX];
        memcpy(dims, t->dims, sizeof dims[0] * (size_t)t->rank);
        dims[d] = dim_of(u->kept);
        return type_tensor(u->b->m, t->element, t->rank, dims);
}

static struct value *narrowed_constant(struct units *u, const struct constant *c, int d)
{
        const struct type *from = c->value.type, *to = narrowed(u, from, d);
        if (c->kind == CONSTANT_SPLAT)
                return constant_splat(u->b->m, to, c->data);
        int64_t outer, inner;
        count_around(from, d, &outer, &inner);
        const size_t bytes = (size_t)(inner * element_info[from->element].bytes);
        char *data = constant_room(u->b->m, (size_t)type_bytes(to)), *next = data;
        for (int64_t i = 0; i < outer * u->extent; i++) {
                if (u->leaves[i % u->extent])
                        continue;
                memcpy(next, (const char *)c->data + (size_t)i * bytes, bytes);
                next += bytes;
        }
        return constant_dense(u->b->m, to, data, c->name);
}

static bool is_depthwise(const struct op *op)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        int64_t groups = op_int(op, "groups");
        return groups > 1 && dim_is(x->dims[1], groups) && dim_is(w->dims[0], groups);
}

/* Do these units begin here, in the filters of a contraction? */
static bool begins(const struct value *v, int d)
{
        return op_is(v, OP_convolve) && d == 1 && op_int(v->op, "groups") == 1 &&
               is_weights(op_operand(v->op, 1));
}

/* Returns the dimension of the operand that has these units; -1: it has none of them; -2: they
 * cannot be followed into it. */
static int dimension_in(const struct op *op, int operand, int d)
{
        struct relation r;
        if (op->code == OP_convolve)
                return d == 1 && is_depthwise(op) && is_weights(op_operand(op, 1)) ? 1 - operand
                                                                                  : -2;
        if (!(op_info[op->code].traits & TRAIT_ELEMENTWISE) && op->code != OP_broadcast &&
            op->code != OP_reduce_window)
                return -2;
        int source = relation_source(op, operand, d);
        if (source >= 0)
                return source;
        return relation_of(op, operand, &r) && !r.in_order &&
                               !(relation_depends(op, operand) & 1u << d)
                       ? -1
                       : -2;
}

/* Can the units leave v? */
static bool can_leave(const struct value *v, int d, int depth)
{
        if (value_is_constant(v))
                return type_is_static(v->type) || v->constant->kind == CONSTANT_SPLAT;
        if (v->kind != VALUE_RESULT || !value_has_one_use(v) || depth > UNITS_DEPTH ||
            v->op->result_count != 1)
                return false;
        if (begins(v, d))
                return true;
        for (int i = 0; i < v->op->operand_count; i++) {
                if (!op_operand(v->op, i))
                        return false;
                int in = dimension_in(v->op, i, d);
                if (in == -2 || (in >= 0 && !can_leave(op_operand(v->op, i), in, depth + 1)))
                        return false;
        }
        return v->op->operand_count > 0;
}

/* Builds v without the units that leave. */
static struct value *without(struct units *u, struct value *v, int d)
{
        struct value *operands[4] = { NULL };
        struct attr attrs[ATTR_MAX];
        if (value_is_constant(v))
                return narrowed_constant(u, v->constant, d);
        struct op *op = v->op;
        if (op->operand_count > 4)
                return NULL;
        const struct op_info *info = &op_info[op->code];
        memcpy(attrs, op->attrs, sizeof attrs[0] * (size_t)info->attr_count);
        for (int i = 0; i < op->operand_count; i++) {
                int in = begins(v, d) ? i - 1 : dimension_in(op, i, d);
                operands[i] = in < 0 ? op_operand(op, i) : without(u, op_operand(op, i), in);
                if (!operands[i])
                        return NULL;
        }
        for (int i = 0; i < info->attr_count && op->code == OP_convolve; i++)
                if (!strcmp(info->attrs[i].name, "groups") && attrs[i].i > 1)
                        attrs[i].i = u->kept;
        return value_build(u->b, op->code, operands, op->operand_count, attrs,
                           narrowed(u, v->type, d));
}

/* ---- which units leave ---- */

/* Is a function of one operand zero at zero, or is one of two numbers, one of which is a splat? */
static bool keeps_zero(const struct op *op, int operand)
{
        double number;
        switch (op->code) {
        case OP_neg: case OP_abs: case OP_sqrt: case OP_tanh: case OP_erf: case OP_sin:
                return true;
        case OP_max:
                return value_is_splat(op_operand(op, 1 - operand), &number) && number <= 0;
        case OP_min:
                return value_is_splat(op_operand(op, 1 - operand), &number) && number >= 0;
        case OP_mul:
                return simplify_is_spread_constant(op_operand(op, 1 - operand));
        default:
                return false;
        }
}

/* Marks units of v that are zero whatever the inputs are. */
static void mark_zeros(const struct value *v, int d, int64_t extent, bool *zero, bool *room)
{
        memset(zero, 0, (size_t)extent * sizeof *zero);
        if (value_is_constant(v)) {
                if (v->constant->kind == CONSTANT_DENSE && v->type->element == E_F32)
                        zeros_along(v->constant, d, zero);
                return;
        }
        struct op *op = v->op;
        if (op->code == OP_convolve) {
                zeros_along(op_operand(op, 1)->constant, 0, zero);
                if (begins(v, d))
                        return;
                mark_zeros(op_operand(op, 0), 1, extent, room, room + extent);
                for (int64_t i = 0; i < extent; i++)
                        zero[i] |= room[i];
                return;
        }
        if (op->code == OP_broadcast || op->code == OP_reduce_window) {
                int in = dimension_in(op, 0, d);
                if (in >= 0 && (op->code == OP_broadcast || op_int(op, "kind") == REDUCE_sum))
                        mark_zeros(op_operand(op, 0), in, extent, zero, room);
                return;
        }
        if (op->code == OP_add || op->code == OP_sub) {
                mark_zeros(op_operand(op, 0), d, extent, zero, room);
                mark_zeros(op_operand(op, 1), d, extent, room, room + extent);
                for (int64_t i = 0; i < extent; i++)
                        zero[i] &= room[i];
                return;
        }
        for (int i = 0; i < op->operand_count; i++)
                if (op->operand_count <= 2 && keeps_zero(op, i) &&
                    !value_is_constant(op_operand(op, i))) {
                        mark_zeros(op_operand(op, i), d, extent, zero, room);
                        return;
                }
}

struct value *rewrite_convolve_units(struct builder *b, struct op *op,
                                     struct pass_context *context)
{
        struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        (void)context;
        if (op_int(op, "groups") != 1 || !is_weights(w) ||
            w->constant->kind != CONSTANT_DENSE || !can_leave(x, 1, 0))
                return NULL;
        int64_t extent = type_extent(w->type, 1);
        struct arena *arena = arena_new();
        struct value *y = NULL;
        bool *leaves = arena_alloc(arena, (size_t)extent * (UNITS_DEPTH + 3) * sizeof *leaves);
        bool *zero = leaves + extent;
        struct units u = { .b = b, .leaves = leaves, .extent = extent };
        zeros_along(w->constant, 1, leaves);
        mark_zeros(x, 1, extent, zero, zero + extent);
        for (int64_t i = 0; i < extent; i++) {
                leaves[i] |= zero[i];
                u.kept += !leaves[i];
        }
        if (u.kept < extent && u.kept) {
                struct value *fewer = without(&u, x, 1);
                struct value *operands[] = { fewer, narrowed_constant(&u, w->constant, 1) };
                y = fewer ? value_build(b, OP_convolve, operands, 2, op->attrs, op_result(op)->type)
                          : NULL;
        }
        arena_free(arena);
        return y;
}
