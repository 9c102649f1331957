/* SPDX-License-Identifier: MIT */
/* The rule of simplify.def that takes away transposes on both sides of operations that do not mind
 * the order of dimensions:
 *
 *   transpose(g(transpose x)) = g x
 *
 * g is made of element-wise operations, slices, pads and concats, and of values that reductions
 * compute once per row and broadcasts spread over the row again: a softmax or a norm along
 * channels, or a rotary embedding, which exporters put between two transposes; or the pad of a
 * convolution whose operand has its channels last, before and after. */
#include "passes/simplify/simplify.h"

enum { BETWEEN_MAX = 24 };

struct between {
        struct value *v, *moved;        /* moved is the same value before the transposes. */
        int reads;                      /* It has this many readers between the transposes. */
        bool outer;                     /* The operand is a broadcast of a value from outside the
                                         * transposes, which others may read, too. */
};

struct around {
        struct builder *b;
        const struct type *type;        /* The last transpose reads this type. */
        int64_t at[RANK_MAX];           /* Dimension d is this dimension before the transposes. */
        struct between seen[BETWEEN_MAX];
        int count;
        bool undone;                    /* A transpose that the last one cancels has been met. */
};

static bool collect(struct around *a, struct value *v);

static struct between *find(struct around *a, const struct value *v)
{
        for (int i = 0; i < a->count; i++)
                if (a->seen[i].v == v)
                        return &a->seen[i];
        return NULL;
}

static bool is_inside(const struct around *a, const struct value *v)
{
        return v->kind == VALUE_RESULT && v->op->region == a->b->region;
}

static bool is_computed(const struct around *a, const struct value *v)
{
        return is_inside(a, v) && op_info[v->op->code].traits & TRAIT_ELEMENTWISE;
}

static bool is_known_slice(const struct value *v)
{
        return op_is(v, OP_slice) && value_is_constant(op_operand(v->op, 1)) &&
               value_is_constant(op_operand(v->op, 2));
}

static bool is_known_pad(const struct value *v)
{
        return op_is(v, OP_pad) && value_is_constant(op_operand(v->op, 2));
}

static unsigned large_dims(const struct type *t)
{
        unsigned dims = 0;
        for (int d = 0; d < t->rank; d++)
                dims |= (unsigned)(!dim_is(t->dims[d], 1)) << d;
        return dims;
}

/* Are these dimensions in the same order before the transposes? */
static bool keeps_order(const struct around *a, unsigned dims)
{
        int64_t last = -1;
        for (int d = 0; d < a->type->rank; d++)
                if (dims >> d & 1) {
                        if (a->at[d] < last)
                                return false;
                        last = a->at[d];
                }
        return true;
}

static bool collect_reduce(struct around *a, const struct op *reduce)
{
        unsigned axes, large = large_dims(a->type);
        return type_same_dims(op_operand(reduce, 0)->type, a->type) &&
               simplify_axes(reduce, &axes) && axes & large && keeps_order(a, axes & large) &&
               keeps_order(a, large & ~axes) && collect(a, op_operand(reduce, 0));
}

/* Collects v, which has one element per row, if it is made of values between the transposes; if
 * not, it stays as it is. */
static bool collect_row(struct around *a, struct value *v)
{
        struct between *known = find(a, v);
        const struct around before = *a;
        bool reduces = op_is(v, OP_reduce), found = false;
        if (known)
                return known->reads++, true;
        if (a->count == BETWEEN_MAX || !(reduces || is_computed(a, v) || op_is(v, OP_reshape)))
                return false;
        a->seen[a->count++] = (struct between){ .v = v, .reads = 1 };
        for (int i = 0; i < v->op->operand_count && !reduces; i++)
                found |= collect_row(a, op_operand(v->op, i));
        if (!found && !(reduces && collect_reduce(a, v->op))) {
                *a = before;
                return false;
        }
        return true;
}

static bool cancels(const struct around *a, const struct value *v)
{
        if (!op_is(v, OP_transpose))
                return false;
        const int64_t *perm = op_ints(v->op, "perm", NULL);
        for (int d = 0; d < a->type->rank; d++)
                if (a->at[d] != perm[d])
                        return false;
        return true;
}

static unsigned spread_along(const struct op *broadcast)
{
        int count;
        const int64_t *onto = op_ints(broadcast, "dims", &count);
        unsigned dims = 0;
        for (int k = 0; k < count; k++)
                dims |= (unsigned)(!dim_is(op_operand(broadcast, 0)->type->dims[k], 1)) << onto[k];
        return dims;
}

/* Collects v, and all that it is made of up to transposes that cancel. Returns false if it cannot
 * be computed before the transposes. */
static bool collect(struct around *a, struct value *v)
{
        struct between *known = find(a, v);
        if (value_is_splat(v, NULL))
                return true;
        if (known)
                return known->reads++, true;
        if (cancels(a, v))
                return a->undone = true;
        bool spread = op_is(v, OP_broadcast) && keeps_order(a, spread_along(v->op));
        bool moves = is_known_slice(v) || is_known_pad(v);
        bool part = is_inside(a, v) && (moves || op_is(v, OP_concat));
        if (a->count == BETWEEN_MAX || !(spread || part || is_computed(a, v)))
                return false;
        struct between *here = &a->seen[a->count++];
        *here = (struct between){ .v = v, .reads = 1 };
        if (spread) {
                here->outer = !collect_row(a, op_operand(v->op, 0));
                return true;
        }
        int operands = moves ? 1 : v->op->operand_count;
        for (int i = 0; i < operands; i++)
                if (!collect(a, op_operand(v->op, i)))
                        return false;
        return true;
}

static bool is_alone(const struct around *a)
{
        for (int i = 0; i < a->count; i++) {
                int uses = 0;
                for (const struct use *u = a->seen[i].v->uses; u; u = u->next)
                        uses++;
                if (uses != a->seen[i].reads && !a->seen[i].outer)
                        return false;
        }
        return true;
}

/* ---- the same before the transposes ---- */

static struct value *move(struct around *a, struct value *v);

/* Puts the numbers of dimensions in the order that these have before the transposes. */
static void move_dims(const struct around *a, const int64_t *from, int64_t *to)
{
        for (int d = 0; d < a->type->rank; d++)
                to[a->at[d]] = from[d];
}

static void move_type_dims(const struct around *a, const struct type *t, dim_t *to)
{
        for (int d = 0; d < t->rank; d++)
                to[a->at[d]] = t->dims[d];
}

static const struct type *moved_type(const struct around *a, const struct type *t)
{
        dim_t dims[RANK_MAX];
        move_type_dims(a, t, dims);
        return type_tensor(a->b->m, t->element, t->rank, dims);
}

static struct value *move_reduce(struct around *a, const struct op *reduce)
{
        unsigned axes, moved = 0;
        simplify_axes(reduce, &axes);
        for (int d = 0; d < a->type->rank; d++)
                moved |= (axes >> d & 1) << a->at[d];
        const struct type *t = reduce->results[0].type;
        struct value *y = move(a, op_operand(reduce, 0));
        return y ? build_reshape(a->b, simplify_reduce(a->b, reduce, y, moved), t->rank, t->dims)
                 : NULL;
}

static struct value *move_row(struct around *a, struct value *v)
{
        struct between *known = find(a, v);
        struct value *operands[OPERAND_ROW_MAX];
        if (!known || known->moved)
                return known ? known->moved : v;
        const struct op *op = v->op;
        if (op->code == OP_reduce)
                return known->moved = move_reduce(a, op);
        a->b->location = op->location;
        for (int i = 0; i < op->operand_count; i++)
                if (!(operands[i] = move_row(a, op_operand(op, i))))
                        return NULL;
        return known->moved =
                       value_build(a->b, op->code, operands, op->operand_count, op->attrs, v->type);
}

static struct value *move_broadcast(struct around *a, const struct op *broadcast)
{
        int rank = 0;
        dim_t dims[RANK_MAX];
        int64_t to[RANK_MAX];
        const int64_t *onto = op_ints(broadcast, "dims", NULL);
        struct value *row = move_row(a, op_operand(broadcast, 0));
        for (int k = 0; row && k < row->type->rank; k++)
                if (!dim_is(row->type->dims[k], 1)) {
                        dims[rank] = row->type->dims[k];
                        to[rank++] = a->at[onto[k]];
                }
        return row ? build_broadcast(a->b, build_reshape(a->b, row, rank, dims),
                                     moved_type(a, broadcast->results[0].type), to)
                   : NULL;
}

static struct value *move_slice(struct around *a, const struct op *slice)
{
        int64_t starts[RANK_MAX], steps[RANK_MAX];
        dim_t sizes[RANK_MAX];
        int count;
        struct value *x = move(a, op_operand(slice, 0));
        int64_t given[RANK_MAX];
        value_ints(op_operand(slice, 1), given, RANK_MAX, &count);
        move_dims(a, given, starts);
        value_ints(op_operand(slice, 2), given, RANK_MAX, &count);
        move_dims(a, given, steps);
        move_type_dims(a, slice->results[0].type, sizes);
        return x ? build_slice(a->b, x, starts, steps, sizes) : NULL;
}

static struct value *move_pad(struct around *a, const struct op *pad)
{
        const struct type *t = pad->results[0].type;
        int64_t given[RANK_MAX], low[RANK_MAX];
        int count;
        value_ints(op_operand(pad, 2), given, RANK_MAX, &count);
        move_dims(a, given, low);
        struct value *operands[] = { move(a, op_operand(pad, 0)), op_operand(pad, 1),
                                     constant_ints(a->b->m, low, t->rank) };
        return operands[0] ? value_build(a->b, OP_pad, operands, 3, pad->attrs, moved_type(a, t))
                           : NULL;
}

/* Moves op operand by operand; a concat joins them along the same dimension, wherever that is
 * then. */
static struct value *move_operands(struct around *a, const struct op *op)
{
        struct value **operands =
                arena_array(a->b->m->arena, (size_t)op->operand_count, sizeof *operands);
        const struct attr *attrs = op->attrs;
        for (int i = 0; i < op->operand_count; i++)
                if (!(operands[i] = move(a, op_operand(op, i))))
                        return NULL;
        if (op->code == OP_concat) {
                struct attr *moved = attrs_new(a->b->m, OP_concat);
                attr_set(moved, OP_concat, "axis", a->at[op_int(op, "axis")]);
                attrs = moved;
        }
        return value_build(a->b, op->code, operands, op->operand_count, attrs, NULL);
}

static struct value *move(struct around *a, struct value *v)
{
        struct between *known = find(a, v);
        if (value_is_splat(v, NULL))
                return constant_splat(a->b->m, moved_type(a, v->type), constant_data(v->constant));
        if (!known)
                return op_operand(v->op, 0);    /* The operation is a transpose, whose operand is
                                                 * the moved value. */
        if (known->moved)
                return known->moved;
        switch (v->op->code) {
        case OP_broadcast: return known->moved = move_broadcast(a, v->op);
        case OP_slice: return known->moved = move_slice(a, v->op);
        case OP_pad: return known->moved = move_pad(a, v->op);
        default: return known->moved = move_operands(a, v->op);
        }
}

struct value *rewrite_transpose_around(struct builder *b, struct op *op,
                                       struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0);
        struct around a = { .b = b, .type = x->type };
        const int64_t *perm = op_ints(op, "perm", NULL);
        if (!type_is_bound(b->m, x->type) || type_is_empty(x->type))
                return NULL;
        for (int d = 0; d < x->type->rank; d++)
                a.at[perm[d]] = d;
        return collect(&a, x) && a.undone && a.count && is_alone(&a) ? move(&a, x) : NULL;
}
