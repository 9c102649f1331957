/* SPDX-License-Identifier: MIT */
/* Lowering of operations whose elements are computed all together: scatter, argsort, images. The
 * whole result is computed before everything else, where the kernel's result lies or, where another
 * operation of the kernel reads it, in scratch of the kernel. */
#include "ir/lower/lower_emit.h"
#include "ir/tensor/ops.h"

struct loop_buffer *emit_place_whole(struct emit *e, const struct op *op)
{
        const struct value *y = op_result(op);
        struct loop_buffer *b = e->whole;
        if (!b)
                b = emit_scratch(e, op_info[op->code].name, element_storage(y->type->element),
                                 type_most_elements(e->m, y->type));
        const struct emit_place place = emit_row_major(e, b, y->type);
        emit_local(e, y)->place = arena_copy(e->arena, &place, sizeof place);
        return b;
}

struct loop_expr *emit_load_whole(struct emit *e, const struct op *op,
                                  struct loop_expr *const *index)
{
        const struct emit_place *place = emit_local(e, op_result(op))->place;
        return loop_load(e->arena, place->buffer,
                         emit_at(e, place, op_result(op)->type->rank, index));
}

/* Opens loops over dimensions first to end - 1, or one loop for all of them where their indices are
 * not needed apart. Returns their number. */
static int open_loops(struct emit *e, const char *name, const dim_t *dims, int first, int end,
                      bool flat, struct loop_expr **index)
{
        struct loop_expr *all = emit_int(e, 1);
        for (int d = first; d < end; d++) {
                index[d] = emit_int(e, 0);
                all = emit_op(e, LOOP_MUL, all, emit_dim(e, dims[d]));
                if (!flat)
                        index[d] = emit_for(e, name, emit_int(e, 0), emit_dim(e, dims[d]));
        }
        if (!flat || first == end)
                return end - first;
        index[end - 1] = emit_for(e, name, emit_int(e, 0), all);
        return 1;
}

static void close_loops(struct emit *e, int count)
{
        while (count-- > 0)
                emit_end(e);
}

/* ---- scatter ---- */

static void copy_whole(struct emit *e, const struct value *x, struct loop_buffer *y)
{
        struct loop_expr *index[RANK_MAX];
        int opened = open_loops(e, "i", x->type->dims, 0, x->type->rank, !emit_local(e, x)->inside,
                                index);
        emit_store(e, y, emit_position(e, x->type->rank, x->type->dims, index),
                   emit_element(e, x, index));
        close_loops(e, opened);
}

/* Combines the element of updates at index with the one that lies at `at`. */
static void store_update(struct emit *e, const struct op *op, struct loop_buffer *y,
                         struct loop_expr *at, struct loop_expr *const *index)
{
        const struct value *updates = op_operand(op, 2);
        int64_t kind = op_int(op, "kind");
        if (!kind) {
                emit_store(e, y, at, emit_element(e, updates, index));
                return;
        }
        enum element compute = element_info[y->element].compute;
        struct loop_expr *args[] = { loop_cast(e->arena, compute, loop_load(e->arena, y, at)),
                                     emit_compute(e, updates, index) };
        struct loop_expr *joined = emit_formula(e, reducer_info[kind - 1].formula, args, 2);
        y->access = ACCESS_INOUT;
        emit_store(e, y, at, loop_cast(e->arena, y->element, joined));
}

/* Returns what v is made by, through fusions and changes of shape that repeat one number. */
static const struct value *made_by(const struct value *v)
{
        for (;;) {
                const struct op *op = v->kind == VALUE_RESULT ? v->op : NULL;
                if (op && op->code == OP_fusion && op->result_count == 1)
                        v = op_operand(op->regions[0]->last, 0);
                else if (op && (op->code == OP_reshape || op->code == OP_broadcast))
                        v = op_operand(op, 0);
                else
                        return v;
        }
}

/* Are the indices along the axis base, base + 1, ..: rows behind those of a state, or of any other
 * value? *base is the extent of that. Then no index is another one's, and all are known to exist
 * where the bounds say so. */
static bool is_behind(const struct emit *e, const struct op *op, dim_t *base)
{
        const struct value *x = op_operand(op, 0), *indices = op_operand(op, 1);
        const int axis = (int)op_int(op, "axis");
        const struct value *sum = indices;
        if (axis < 0)
                return false;
        while (op_is(sum, OP_fusion) && sum->op->result_count == 1)
                sum = op_operand(sum->op->regions[0]->last, 0);
        const bool one = dim_is(indices->type->dims[axis], 1);
        for (int i = 0; i < (one ? 1 : 2); i++) {
                if (!one && !op_is(sum, OP_add))
                        return false;
                const struct value *row = one ? NULL : op_operand(sum->op, i),
                                   *first = made_by(one ? indices : op_operand(sum->op, 1 - i));
                if ((row && (!op_is(row, OP_iota) || op_int(row->op, "axis") != axis)) ||
                    !op_is(first, OP_extent))
                        continue;
                const struct value *of = op_operand(first->op, 0);
                *base = of->type->dims[op_int(first->op, "axis")];
                return dim_is_static(x->type->dims[axis]) &&
                       dim_bound(e->m, *base) + dim_bound(e->m, indices->type->dims[axis]) <=
                               type_extent(x->type, axis);
        }
        return false;
}

/* Opens loops over the updates, and finds the index of each, and of its element in y. Returns their
 * number. */
static int open_updates(struct emit *e, const struct op *op, struct loop_expr **update,
                        struct loop_expr **to)
{
        const struct value *x = op_operand(op, 0), *indices = op_operand(op, 1),
                           *updates = op_operand(op, 2);
        int axis = (int)op_int(op, "axis"), rank = updates->type->rank,
            outer = indices->type->rank - 1;
        struct loop_expr *tuple[RANK_MAX];
        if (axis >= 0) {
                int opened = open_loops(e, "u", updates->type->dims, 0, rank, false, update);
                for (int d = 0; d < rank; d++) {
                        tuple[d] = dim_is(indices->type->dims[d], 1) ? emit_int(e, 0) : update[d];
                        to[d] = update[d];
                }
                dim_t base;
                to[axis] = is_behind(e, op, &base)
                                   ? emit_op(e, LOOP_ADD, update[axis], emit_dim(e, base))
                                   : emit_subscript(e, op, indices, tuple, 0, 1,
                                                    x->type->dims[axis]);
                return opened;
        }
        bool flat = !emit_local(e, indices)->inside && !emit_local(e, updates)->inside;
        int width = (int)type_extent(indices->type, outer),
            opened = open_loops(e, "u", indices->type->dims, 0, outer, flat, update);
        for (int d = 0; d < outer; d++)
                tuple[d] = update[d];
        for (int k = 0; k < width; k++) {
                tuple[outer] = emit_int(e, k);
                to[k] = emit_subscript(e, op, indices, tuple, k, width, x->type->dims[k]);
        }
        opened += open_loops(e, "i", updates->type->dims, outer, rank, flat, update);
        for (int d = outer; d < rank; d++)
                to[width + d - outer] = update[d];
        return opened;
}

struct loop_expr *element_scatter(struct emit *e, const struct op *op, int result,
                                  struct loop_expr *const *index)
{
        (void)result;
        const struct value *x = op_operand(op, 0);
        struct loop_expr *update[RANK_MAX], *to[RANK_MAX];
        struct loop_buffer *y = emit_place_whole(e, op);
        struct scope *saved = emit_prologue(e);
        if (e->updated != x)
                copy_whole(e, x, y);
        else
                y->access = ACCESS_INOUT;
        if (!type_is_empty(op_operand(op, 2)->type)) {
                int opened = open_updates(e, op, update, to);
                store_update(e, op, y, emit_position(e, x->type->rank, x->type->dims, to), update);
                close_loops(e, opened);
        }
        emit_resume(e, saved);
        return emit_load_whole(e, op, index);
}

/* ---- argsort ---- */

/* A line along the axis is sorted by merging ever longer stretches: its elements stay in `keys`,
 * the two halves of `order` take turns. Where few of it are asked for, `keys` and `order` hold only
 * these, and an element that goes before the last of them is inserted. */
struct sort {
        struct emit *e;
        const struct op *op;
        int axis;
        int64_t most;                   /* A line has at most so many elements. */
        struct loop_expr *count, *last; /* It has so many in this run; and the number of the last,
                                         * at least 0. */
        dim_t kept;                     /* The result's lines have so many. */
        struct loop_buffer *keys, *order, *y;
};

/* Does x go before y, whichever of them comes first in the line? */
static struct loop_expr *goes_before(const struct sort *s, struct loop_expr *x, struct loop_expr *y)
{
        bool descending = op_int(s->op, "descending"),
             may_be_nan = element_is_float(s->keys->element);
        struct loop_expr *args[] = { descending ? x : y, descending ? y : x };
        return emit_formula(s->e, may_be_nan ? "~(x <= y) & y == y" : "x > y", args, 2);
}

static struct loop_expr *key_of(const struct sort *s, struct loop_expr **index)
{
        return emit_compute(s->e, op_operand(s->op, 0), index);
}

static struct loop_expr *as_order(const struct sort *s, struct loop_expr *i)
{
        return loop_cast(s->e->arena, s->order->element, i);
}

/* ---- argsort by merging ---- */

/* Returns a key; where a stretch has ended, its last element stands in, and the caller checks that
 * first. */
static struct loop_expr *key_at(const struct sort *s, struct loop_expr *from, struct loop_expr *at)
{
        struct arena *arena = s->e->arena;
        struct loop_expr *within =
                emit_op(s->e, LOOP_ADD, from, emit_op(s->e, LOOP_MIN, at, s->last));
        return loop_load(arena, s->keys,
                         loop_cast(arena, E_INDEX, loop_load(arena, s->order, within)));
}

/* Writes one level of merges: every two stretches of `width` become one. */
static void merge_stretches(const struct sort *s, struct loop_expr *level)
{
        struct emit *e = s->e;
        struct loop_expr *n = s->count, *one = emit_int(e, 1);
        struct loop_expr *width = emit_let(e, "width", emit_op(e, LOOP_SHL, one, level));
        struct loop_expr *from =
                emit_let(e, "from",
                         emit_op_int(e, LOOP_MUL, emit_op_int(e, LOOP_REM, level, 2), s->most));
        struct loop_expr *into =
                emit_let(e, "into", emit_op(e, LOOP_SUB, emit_int(e, s->most), from));
        struct loop_expr *more =
                emit_op(e, LOOP_SHR, s->last, emit_op(e, LOOP_ADD, level, one));
        struct loop_expr *pair = emit_for(e, "pair", emit_int(e, 0),
                                          emit_let(e, "pairs", emit_op(e, LOOP_ADD, more, one)));
        struct loop_expr *first =
                emit_let(e, "first",
                         emit_op(e, LOOP_MUL, pair, emit_op_int(e, LOOP_MUL, width, 2)));
        struct loop_expr *middle =
                emit_let(e, "middle", emit_op(e, LOOP_MIN, emit_op(e, LOOP_ADD, first, width), n));
        struct loop_expr *end =
                emit_let(e, "end", emit_op(e, LOOP_MIN, emit_op(e, LOOP_ADD, middle, width), n));
        struct loop_variable *left = emit_var(e, "left", LOOP_TYPE(E_INDEX), first);
        struct loop_variable *right = emit_var(e, "right", LOOP_TYPE(E_INDEX), middle);
        struct loop_expr *a = loop_use(e->arena, left), *b = loop_use(e->arena, right);
        struct loop_expr *k = emit_for(e, "k", first, end);
        struct loop_expr *goes = emit_op(e, LOOP_AND, emit_op(e, LOOP_LT, b, end),
                                         goes_before(s, key_at(s, from, b), key_at(s, from, a)));
        goes = emit_let(e, "goes", emit_op(e, LOOP_OR, emit_op(e, LOOP_GE, a, middle), goes));
        struct loop_expr *at =
                emit_op(e, LOOP_ADD, from, loop_op(e->arena, LOOP_SELECT, goes, b, a));
        emit_store(e, s->order, emit_op(e, LOOP_ADD, into, k), loop_load(e->arena, s->order, at));
        struct loop_expr *step = emit_let(e, "step", loop_cast(e->arena, E_INDEX, goes));
        emit_set(e, left, emit_op(e, LOOP_ADD, a, emit_op(e, LOOP_SUB, one, step)));
        emit_set(e, right, emit_op(e, LOOP_ADD, b, step));
        close_loops(e, 2);
}

static int64_t levels_of(const struct sort *s)
{
        int64_t levels = 0;
        while (INT64_C(1) << levels < s->most)
                levels++;
        return levels;
}

/* Writes the merges. Returns where in `order` the result begins. */
static int64_t merge_line(const struct sort *s, struct loop_expr **index)
{
        struct emit *e = s->e;
        int64_t levels = levels_of(s);
        struct loop_expr *k = index[s->axis] =
                emit_for(e, "k", emit_int(e, 0), s->count);
        emit_store(e, s->keys, k, key_of(s, index));
        emit_store(e, s->order, k, as_order(s, k));
        emit_end(e);
        if (levels) {
                merge_stretches(s, emit_for(e, "level", emit_int(e, 0), emit_int(e, levels)));
                emit_end(e);
        }
        return levels % 2 * s->most;
}

/* ---- argsort by insertion ---- */

/* Inserts x, number i of the line, among the `held` elements so far, behind those that it does not
 * go before; the last one may drop out. */
static void insert(const struct sort *s, struct loop_expr *x, struct loop_expr *i,
                   struct loop_expr *held)
{
        struct emit *e = s->e;
        struct arena *arena = e->arena;
        struct loop_variable *before = emit_var(e, "before", LOOP_TYPE(E_INDEX), emit_int(e, 0));
        struct loop_expr *at = loop_use(arena, before), *one = emit_int(e, 1);
        struct loop_expr *k = emit_for(e, "k", emit_int(e, 0), held);
        struct loop_expr *stays =
                loop_op(arena, LOOP_NOT, goes_before(s, x, loop_load(arena, s->keys, k)), NULL,
                        NULL);
        emit_set(e, before, emit_op(e, LOOP_ADD, at, loop_cast(arena, E_INDEX, stays)));
        emit_end(e);
        const int64_t most = dim_extent(s->kept) - 1;
        struct loop_expr *last = emit_let(e, "last", emit_op_int(e, LOOP_MIN, held, most));
        k = emit_for(e, "k", emit_int(e, 0), emit_op(e, LOOP_SUB, last, at));
        struct loop_expr *to = emit_op(e, LOOP_SUB, last, k), *from = emit_op(e, LOOP_SUB, to, one);
        emit_store(e, s->keys, to, loop_load(arena, s->keys, from));
        emit_store(e, s->order, to, loop_load(arena, s->order, from));
        emit_end(e);
        emit_store(e, s->keys, at, x);
        emit_store(e, s->order, at, as_order(s, i));
}

static void insert_line(const struct sort *s, struct loop_expr **index)
{
        struct emit *e = s->e;
        const int64_t kept = dim_extent(s->kept);
        struct loop_expr *i = index[s->axis] =
                emit_for(e, "i", emit_int(e, 0), emit_int(e, kept));
        insert(s, emit_let(e, "x", key_of(s, index)), i, i);
        emit_end(e);
        i = index[s->axis] = emit_for(e, "i", emit_int(e, kept), s->count);
        struct loop_expr *x = emit_let(e, "x", key_of(s, index));
        emit_if(e, goes_before(s, x, loop_load(e->arena, s->keys, emit_int(e, kept - 1))));
        insert(s, x, i, emit_int(e, kept));
        emit_end(e);
        emit_end(e);
}

/* ---- argsort of truth values ---- */

/* Writes where the line has those that come first, then where it has the others, as far as the
 * result goes. */
static void part_line(struct emit *e, const struct op *op, struct loop_buffer *y, int axis,
                      struct loop_expr **index)
{
        const struct type *x = op_operand(op, 0)->type, *t = op_result(op)->type;
        struct loop_expr *kept = emit_dim(e, t->dims[axis]);
        struct loop_variable *next = emit_var(e, "next", LOOP_TYPE(E_INDEX), emit_int(e, 0));
        for (int others = 0; others < 2; others++) {
                struct loop_expr *at = loop_use(e->arena, next);
                if (others)
                        emit_if(e, emit_op(e, LOOP_LT, at, kept));
                struct loop_expr *i = index[axis] =
                        emit_for(e, "k", emit_int(e, 0), emit_dim(e, x->dims[axis]));
                struct loop_expr *goes = emit_compute(e, op_operand(op, 0), index);
                if (op_int(op, "descending") == others)
                        goes = loop_op(e->arena, LOOP_NOT, goes, NULL, NULL);
                emit_if(e, emit_op(e, LOOP_AND, goes, emit_op(e, LOOP_LT, at, kept)));
                index[axis] = at;
                emit_store(e, y, emit_position(e, t->rank, t->dims, index),
                           loop_cast(e->arena, E_I64, i));
                emit_set(e, next, emit_op_int(e, LOOP_ADD, at, 1));
                close_loops(e, others ? 3 : 2);
        }
}

/* ---- argsort ---- */

static void sort_line(const struct sort *s, struct loop_expr **index, bool inserts)
{
        struct emit *e = s->e;
        const struct type *t = op_result(s->op)->type;
        int64_t from = 0;
        if (inserts)
                insert_line(s, index);
        else
                from = merge_line(s, index);
        struct loop_expr *k = index[s->axis] =
                emit_for(e, "k", emit_int(e, 0), emit_dim(e, s->kept));
        struct loop_expr *number = loop_load(e->arena, s->order, emit_op_int(e, LOOP_ADD, k, from));
        emit_store(e, s->y, emit_position(e, t->rank, t->dims, index),
                   loop_cast(e->arena, E_I64, number));
        emit_end(e);
}

static void part_lines(struct emit *e, const struct op *op, int axis)
{
        const struct type *x = op_operand(op, 0)->type;
        const bool flat = !emit_local(e, op_operand(op, 0))->inside;
        struct loop_buffer *y = emit_place_whole(e, op);
        struct loop_expr *at[RANK_MAX];
        struct scope *saved = emit_prologue(e);
        int opened = open_loops(e, "i", x->dims, 0, axis, flat, at);
        opened += open_loops(e, "j", x->dims, axis + 1, x->rank, flat, at);
        part_line(e, op, y, axis, at);
        close_loops(e, opened);
        emit_resume(e, saved);
}

struct loop_expr *element_argsort(struct emit *e, const struct op *op, int result,
                                  struct loop_expr *const *index)
{
        enum { INSERTED_PER_LEVEL = 8 };          /* For up to this many elements for each level of
                                                   * merges, insertion is faster, even at its
                                                   * worst. */
        (void)result;
        const struct type *x = op_operand(op, 0)->type;
        int axis = (int)op_int(op, "axis");
        if (x->element == E_BOOL) {
                part_lines(e, op, axis);
                return emit_load_whole(e, op, index);
        }
        const dim_t count = x->dims[axis];
        struct sort s = { .e = e,
                          .op = op,
                          .axis = axis,
                          .most = dim_bound(e->m, count),
                          .count = emit_dim(e, count),
                          .kept = op_result(op)->type->dims[axis] };
        s.last = dim_is_static(count)
                         ? emit_int(e, s.most - 1)
                         : emit_op_int(e, LOOP_SUB, emit_op_int(e, LOOP_MAX, s.count, 1), 1);
        struct loop_expr *at[RANK_MAX];
        const int64_t kept = dim_bound(e->m, s.kept);
        bool inserts = dim_is_static(s.kept) && kept <= dim_least(e->m, count) &&
                       kept <= INSERTED_PER_LEVEL * levels_of(&s),
             flat = !emit_local(e, op_operand(op, 0))->inside;
        s.y = emit_place_whole(e, op);
        s.keys = emit_scratch(e, "keys", element_info[x->element].compute,
                              inserts ? kept : s.most);
        s.order = emit_scratch(e, "order", s.most <= INT32_MAX ? E_I32 : E_I64,
                               inserts ? kept : 2 * s.most);
        struct scope *saved = emit_prologue(e);
        int opened = open_loops(e, "i", x->dims, 0, axis, flat, at);
        opened += open_loops(e, "j", x->dims, axis + 1, x->rank, flat, at);
        sort_line(&s, at, inserts);
        close_loops(e, opened);
        emit_resume(e, saved);
        return emit_load_whole(e, op, index);
}

/* ---- images ---- */

/* Returns a load of the first byte of x, which lies in a buffer, dense. */
static struct loop_expr *first_byte(struct emit *e, const struct value *x)
{
        struct loop_expr *zero[RANK_MAX] = { emit_int(e, 0) };
        if (!emit_local(e, x)->inside) {
                struct loop_expr *load = emit_element(e, x, zero);
                if (load->op == LOOP_LOAD)
                        return load;
        }
        struct loop_buffer *bytes = emit_scratch(e, "bytes", element_storage(x->type->element),
                                                 type_most_elements(e->m, x->type));
        copy_whole(e, x, bytes);
        return loop_load(e->arena, bytes, zero[0]);
}

struct loop_expr *element_decode_image(struct emit *e, const struct op *op, int result,
                                       struct loop_expr *const *index)
{
        (void)result;
        const struct value *x = op_operand(op, 0);
        const struct type *y = op_result(op)->type;
        if (emit_is_launched(e))
                emit_error(e, EXIT_UNSUPPORTED, "a device decodes no images");
        struct loop_buffer *image = emit_place_whole(e, op);
        struct scope *saved = emit_prologue(e);
        struct loop_expr *load = first_byte(e, x);
        emit_image(e, image, load, emit_dim(e, x->type->dims[0]), (int)op_int(op, "pixels"),
                   (int)type_extent(y, 0), (int)type_extent(y, 1));
        emit_resume(e, saved);
        return emit_load_whole(e, op, index);
}
