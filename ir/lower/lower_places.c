/* SPDX-License-Identifier: MIT */
/* Lowering of a whole function decides where its values lie.
 *
 * A value lies in a buffer of its own or in part of another one (a view). Places are given from the
 * last operation to the first, so that a result's place can become its operand's:
 *
 *      %1 = add(%a, %b)            writes where %3 lies, from 0 on
 *      %2 = mul(%a, %b)            writes where %3 lies, behind %1
 *      %3 = concat(%1, %2)         does nothing; lies in the output
 *      yield(%3)
 *
 * This is right because every value is computed once in its region, and every element of a buffer
 * belongs to one value, and to other names for it. An operand takes its result's place only when
 * both are of the same region (so that the other branch of an if cannot overwrite it), and only
 * when it has no place yet: not as an input, constant, output, or part of another concat. Other
 * readers of the operand read the same bytes. A place that spans several values is live from the
 * first write to the last read of any view of it; the plan pass sees that through the root.
 *
 * The values that a loop carries are the exception: every iteration writes their places again.
 * lower_control.c decides which values may lie there. */
#include <string.h>

#include "ir/lower/lower_module.h"
#include "ir/tensor/amounts.h"
#include "ir/tensor/relation.h"

/* ---- places ---- */

void set_place(struct lowering *l, struct value *v, struct place *place)
{
        if (!v->scratch) {
                ARENA_GROW(l->marks, l->placed, l->placed_count);
                l->placed[l->placed_count++] = v;
        }
        v->scratch = place;
}

static struct place *place_at(struct lowering *l, struct loop_buffer *buffer)
{
        struct place *place = ARENA_NEW(l->marks, struct place);
        *place = (struct place){ .buffer = buffer };
        return place;
}

const struct type *type_at_bound(struct module *m, const struct type *t)
{
        dim_t dims[RANK_MAX];
        for (int d = 0; d < t->rank; d++)
                dims[d] = dim_of(dim_bound(m, t->dims[d]));
        return type_tensor(m, t->element, t->rank, dims);
}

struct place *place_new(struct lowering *l, const struct value *v)
{
        struct loop_buffer *b = loop_buffer_add(l->p, "t", v->type->element,
                                                type_most_elements(l->m, v->type), SPACE_WORKSPACE);
        b->type = type_at_bound(l->m, v->type);
        b->location = v->kind == VALUE_RESULT ? v->op->location : NULL;
        return place_at(l, b);
}

/* Returns a part of a place; views refer to buffers, never to views. */
struct place *place_part(struct lowering *l, const struct value *v, const struct place *whole,
                         int64_t offset)
{
        struct place *part = place_at(l, whole->buffer);
        int64_t before, elements = type_most_elements(l->m, v->type);
        struct loop_buffer *root = loop_buffer_root(whole->buffer, &before);
        *part = *whole;
        if (whole->moving) {
                part->from += offset;
        } else if (before + offset == 0 && root->extent == elements) {
                part->buffer = root;
        } else {
                struct loop_buffer *b =
                        loop_buffer_add(l->p, "t", v->type->element, elements, SPACE_VIEW);
                b->type = type_at_bound(l->m, v->type);
                b->view_of = root;
                b->view_offset = before + offset;
                part->buffer = b;
        }
        return part;
}

struct place *place_row(struct lowering *l, const struct place *whole, const struct moving *along,
                        int64_t from)
{
        struct moving *moving = ARENA_NEW(l->marks, struct moving);
        struct place *row = place_at(l, whole->buffer);
        *moving = *along;
        moving->outer = whole->moving;
        row->moving = moving;
        row->from = whole->from + from;
        return row;
}

static struct loop_buffer *constant_buffer(struct lowering *l, struct value *v)
{
        const struct constant *c = v->constant;
        struct loop_buffer *b =
                loop_buffer_add(l->p, c->name ? c->name : "constant", v->type->element,
                                type_most_elements(l->m, v->type), SPACE_CONSTANT);
        b->type = type_at_bound(l->m, v->type);
        b->data = constant_data(c);
        b->splat = c->kind == CONSTANT_SPLAT;
        return b;
}

struct place *place_for(struct lowering *l, struct value *v)
{
        if (!place_of(v))
                set_place(l, v,
                          v->kind == VALUE_CONSTANT ? place_at(l, constant_buffer(l, v))
                                                    : place_new(l, v));
        return place_of(v);
}

/* ---- comparing and reading ---- */

static bool moves_alike(const struct moving *a, const struct moving *b)
{
        for (; a && b; a = a->outer, b = b->outer)
                if (a->number != b->number || a->stride != b->stride || a->last != b->last ||
                    !dim_equal(a->pitch, b->pitch))
                        return false;
        return a == b;
}

bool place_is(const struct place *a, const struct place *b, int64_t offset)
{
        int64_t p, q;
        return loop_buffer_root(a->buffer, &p) == loop_buffer_root(b->buffer, &q) &&
               moves_alike(a->moving, b->moving) && p + a->from == q + b->from + offset;
}

bool place_overlaps(const struct place *a, int64_t elements, const struct place *b,
                    int64_t other_elements)
{
        int64_t p, q;
        if (loop_buffer_root(a->buffer, &p) != loop_buffer_root(b->buffer, &q))
                return false;
        if (!moves_alike(a->moving, b->moving))
                return true;
        p += a->from;
        q += b->from;
        return p < q + other_elements && q < p + elements;
}

struct loop_expr *place_offset(struct lowering *l, const struct place *p)
{
        struct arena *arena = l->p->arena;
        struct loop_expr *offset = loop_index(arena, p->from);
        for (const struct moving *m = p->moving; m; m = m->outer) {
                int64_t stride = m->stride < 0 ? -m->stride : m->stride;
                const bool open = !dim_is(m->pitch, 0);
                struct loop_expr *rows = loop_use(arena, m->number);
                if (open && m->stride < 0)
                        rows = loop_op(arena, LOOP_SUB, loop_index(arena, m->last), rows, NULL);
                rows = loop_op(arena, LOOP_MUL, rows, loop_index(arena, stride), NULL);
                if (open)
                        rows = loop_op(arena, LOOP_MUL, rows, dim_in_main(l, m->pitch), NULL);
                offset = m->stride < 0 && !open ? loop_op(arena, LOOP_SUB, offset, rows, NULL)
                                       : loop_op(arena, LOOP_ADD, rows, offset, NULL);
        }
        return p->moving ? offset : NULL;
}

/* Returns v where it is an extent, or a term of these; else NULL. */
static struct loop_expr *extent_in_main(struct lowering *l, struct value *v)
{
        struct amount amounts[AMOUNTS_MAX];
        int count;
        return value_amounts(l->m, v, amounts, &count) && count == 1 && amounts[0].term
                       ? dim_in_main(l, amounts[0].dim)
                       : NULL;
}

struct loop_expr *place_index(struct lowering *l, struct value *v)
{
        struct loop_expr *extent = extent_in_main(l, v);
        return extent ? extent : loop_cast(l->p->arena, E_INDEX, place_scalar(l, v));
}

struct loop_expr *place_scalar(struct lowering *l, struct value *v)
{
        struct arena *arena = l->p->arena;
        struct loop_expr *extent = extent_in_main(l, v);
        if (extent)
                return loop_cast(arena, v->type->element, extent);
        if (value_is_constant(v))
                return loop_literal(arena, LOOP_TYPE(v->type->element),
                                    constant_element(v->constant, 0));
        const struct place *p = place_for(l, v);
        struct loop_expr *offset = place_offset(l, p);
        return loop_load(arena, p->buffer, offset ? offset : loop_index(arena, 0));
}

/* ---- views ---- */

/* Does a broadcast have more elements than its operand, in some run? */
static bool repeats(const struct op *op)
{
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type;
        const int64_t *dims = op_ints(op, "dims", NULL);
        bool taken[RANK_MAX] = { false };
        if (type_is_static(x) && type_is_static(y))
                return type_elements(x) != type_elements(y);
        for (int k = 0; k < x->rank; k++)
                taken[dims[k]] = dim_equal(x->dims[k], y->dims[dims[k]]);
        for (int d = 0; d < y->rank; d++)
                if (!taken[d] && !dim_is(y->dims[d], 1))
                        return true;
        return false;
}

bool is_stack(const struct op *op)
{
        for (int i = 0; i < op->operand_count; i++)
                if (op_operand(op, i) && !type_is_static(op_operand(op, i)->type))
                        return false;
        return op_is_stack(op);
}

/* Are the result's elements the operand's, all of them and in order? */
bool is_same_elements(const struct op *op)
{
        struct relation r;
        const struct value *x = op->operand_count ? op_operand(op, 0) : NULL;
        if (op->code != OP_reshape && op->code != OP_broadcast && op->code != OP_transpose)
                return false;
        if (!relation_of(op, 0, &r) || (op->code == OP_broadcast && repeats(op)))
                return false;
        for (int k = 0, before = -1; k < x->type->rank && !r.in_order; k++) {
                if (dim_is(x->type->dims[k], 1))
                        continue;
                if (r.along[k].from < before)
                        return false;
                before = r.along[k].from;
        }
        return true;
}

/* Is op a slice of consecutive elements? It takes a part of one dimension, and the result's extents
 * before that are 1. */
bool is_consecutive(const struct op *op, int64_t *offset)
{
        struct relation r;
        if (op->code != OP_slice || !relation_moves(op, &r))
                return false;
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type;
        const struct module *m = op_module(op);
        int64_t stride = 1;             /* -1: only a run knows it. */
        bool cut = false;
        *offset = 0;
        for (int d = x->rank - 1; d >= 0; d--) {
                if (!dim_is(y->dims[d], 1) && (cut || r.along[d].scale != 1))
                        return false;
                cut |= !dim_equal(y->dims[d], x->dims[d]);
                if (r.along[d].low && stride < 0)
                        return false;
                *offset += r.along[d].low * stride;
                stride = stride < 0 || !dim_is_static(x->dims[d]) ? -1 : stride * type_extent(x, d);
        }
        return *offset + type_most_elements(m, y) <= type_most_elements(m, x);
}

bool can_take_place(const struct value *v, const struct op *user)
{
        return v->kind == VALUE_RESULT && !place_of(v) && v->op->region == user->region;
}

/* Places a stack whose operands lie one after the other already, as part of a larger value: so the
 * stack lies there, too. */
static bool take_row(struct lowering *l, const struct op *op)
{
        struct value *y = op_result(op);
        struct loop_buffer *row = NULL;
        int64_t first = 0, offset = 0;
        if (place_of(y))
                return false;
        for (int k = 0; k < op->operand_count; k++) {
                const struct value *x = op_operand(op, k);
                int64_t at = 0;
                struct place *place = place_of(x);
                struct loop_buffer *root =
                        place && !place->moving ? loop_buffer_root(place->buffer, &at) : NULL;
                if (!root || !type_elements(x->type) ||
                    (row && (root != row || at != first + offset)))
                        return false;
                first = row ? first : at;
                row = root;
                offset += type_elements(x->type);
        }
        set_place(l, y, place_part(l, y, place_at(l, row), first));
        return true;
}

/* Finds places of op's operands that follow from its results' places. For a result without a place
 * that is a view of its operand it does nothing yet: see lower_op. */
static void place_operands(struct lowering *l, struct op *op)
{
        struct value *y = op->result_count ? op_result(op) : NULL;
        if (!l->options->views || !y || type_is_empty(y->type))
                return;
        if (is_same_elements(op) && place_of(y) && can_take_place(op_operand(op, 0), op))
                set_place(l, op_operand(op, 0), place_part(l, op_operand(op, 0), place_of(y), 0));
        if (!is_stack(op) || take_row(l, op))
                return;
        int64_t offset = 0;
        struct place *whole = place_for(l, y);
        for (int k = 0; k < op->operand_count; k++) {
                struct value *x = op_operand(op, k);
                if (type_elements(x->type) && can_take_place(x, op))
                        set_place(l, x, place_part(l, x, whole, offset));
                offset += type_elements(x->type);
        }
}

void place_yields(struct lowering *l, const struct region *region, struct place *const *targets)
{
        const struct op *yield = region->last;
        for (int i = 0; i < yield->operand_count; i++) {
                struct value *v = op_operand(yield, i);
                if (targets[i] && can_take_place(v, yield))
                        set_place(l, v, targets[i]);
        }
        place_region(l, region);
}

void place_region(struct lowering *l, const struct region *region)
{
        for (struct op *op = region->last; op; op = op->previous) {
                if (op->code == OP_if)
                        place_if(l, op);
                else if (op->code == OP_loop)
                        place_loop(l, op);
                else
                        place_operands(l, op);
        }
}
