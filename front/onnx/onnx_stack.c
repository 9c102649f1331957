/* SPDX-License-Identifier: MIT */
/* Sequences and optionals of which only a run knows how many items there are, or their shapes. */
#include "front/onnx/onnx_stack.h"

#include <string.h>

#include "base/size.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_model.h"

/* ---- forms ---- */

static bool is_counted_dim(struct onnx_import *im, dim_t d)
{
        return type_is_counted(im->m, type_tensor(im->m, E_U8, 1, &d));
}

/* Adds an item of type t. Extents that a run counts are not known outside of their region. */
static void add_item(struct onnx_import *im, struct onnx_form *form, const struct type *t)
{
        const int rank = form->known && form->rank > t->rank ? form->rank : t->rank;
        for (int d = 0; d < rank; d++) {
                const dim_t a = d < t->rank ? t->dims[d] : dim_of(1),
                            b = !form->known ? a : d < form->rank ? form->dims[d] : dim_of(1);
                const bool here = d < t->rank && (!form->known || d < form->rank);
                if (here && dim_equal(a, b) && !(form->differ >> d & 1) && !is_counted_dim(im, a)) {
                        form->dims[d] = a;
                        continue;
                }
                form->dims[d] = dim_of(compose_max(dim_bound(im->m, a), dim_bound(im->m, b)));
                form->differ |= 1u << d;
        }
        form->ranks |= form->known && form->rank != t->rank;
        form->rank = rank;
        form->known = true;
}

struct onnx_form onnx_form_of(struct onnx_import *im, const struct value *v)
{
        const struct onnx_stack *s = onnx_stack_of(v);
        const struct type *inner = v->type->kind == TYPE_OPTIONAL ? v->type->of : v->type;
        struct onnx_form form = { .is_optional = v->type->kind == TYPE_OPTIONAL,
                                  .is_sequence = inner->kind == TYPE_SEQUENCE,
                                  .room = 1 };
        form.element = form.is_sequence ? inner->of->element : inner->element;
        if (v->type->kind == TYPE_TENSOR) {
                add_item(im, &form, v->type);
        } else if (s) {
                const struct type *t = s->rows->type;
                form.room = type_extent(t, 0);
                form.rank = t->rank - 1;
                form.differ = s->differ;
                for (int d = 0; d < form.rank; d++) {
                        const bool counted = is_counted_dim(im, t->dims[d + 1]);
                        form.dims[d] = counted ? dim_of(dim_bound(im->m, t->dims[d + 1]))
                                               : t->dims[d + 1];
                        form.differ |= (unsigned)counted << d;
                }
                form.ranks = s->ranks;
                form.held = s->held;
                form.grown = s->grown;
                form.known = true;
        } else {
                int count;
                struct value *const *items = onnx_sequence_items(v, &count);
                for (int i = 0; i < count; i++)
                        add_item(im, &form, items[i]->type);
                form.room = form.is_sequence ? count : 1;
        }
        return form;
}

bool onnx_form_join(struct onnx_import *im, struct onnx_node *n, struct onnx_form *form,
                    const struct onnx_form *other)
{
        if (form->is_sequence != other->is_sequence || form->element != other->element)
                return onnx_invalid(im, n, "it makes a %s of %s and a %s of %s in one place",
                                    form->is_sequence ? "sequence" : "tensor",
                                    element_info[form->element].text,
                                    other->is_sequence ? "sequence" : "tensor",
                                    element_info[other->element].text);
        if (!element_is_stored(form->element))
                return onnx_unsupported(im, n, "a sequence of %s whose items only a run tells",
                                        element_info[form->element].text);
        form->is_optional |= other->is_optional;
        form->room = compose_max(form->room, other->room);
        form->held |= other->held;
        form->grown = form->grown > other->grown ? form->grown : other->grown;
        if (!other->known)
                return true;
        const unsigned differ = form->differ | other->differ;
        const bool ranks = form->ranks | other->ranks;
        add_item(im, form, type_tensor(im->m, other->element, other->rank, other->dims));
        for (int d = 0; d < form->rank; d++)
                if (differ >> d & 1)
                        form->dims[d] = dim_of(dim_bound(im->m, form->dims[d]));
        form->differ |= differ;
        form->ranks |= ranks;
        if (form->rank < RANK_MAX)
                return true;
        return onnx_unsupported(im, n, "a sequence of items of rank %d, at most %d is supported "
                                       "where a run tells its length", form->rank, RANK_MAX - 1);
}

bool onnx_form_equal(const struct onnx_form *a, const struct onnx_form *b)
{
        bool same = a->known == b->known && a->element == b->element && a->rank == b->rank &&
                    a->differ == b->differ && a->ranks == b->ranks && a->room == b->room &&
                    a->is_optional == b->is_optional && a->is_sequence == b->is_sequence;
        for (int d = 0; d < a->rank && same; d++)
                same = dim_equal(a->dims[d], b->dims[d]);
        return same;
}

/* ---- items as rows ---- */

static struct value *integer(struct onnx_import *im, int64_t number)
{
        return compose_integer(im->c, E_I64, number);
}

/* Returns x, of no larger extents, filled up to these with the number behind its end. */
static struct value *filled(struct onnx_import *im, struct value *x, int rank, const dim_t *dims,
                            double number)
{
        static const int64_t low[RANK_MAX];
        if (!x)
                return NULL;
        const struct type *to = compose_type(im->c, value_element(x), rank, dims);
        if (!to || to == x->type)
                return to ? x : NULL;
        return compose_pad(im->c, x, build_scalar(&im->b, value_element(x), number),
                           constant_ints(im->m, low, rank), PAD_CONSTANT, to);
}

/* Sets dims to the room, and the form's dimensions. */
static void row_dims(const struct onnx_form *form, int64_t room, dim_t dims[RANK_MAX])
{
        dims[0] = dim_of(room);
        memcpy(dims + 1, form->dims, (size_t)form->rank * sizeof *dims);
}

static struct value *row_of(struct onnx_import *im, struct value *item,
                            const struct onnx_form *form)
{
        dim_t dims[RANK_MAX];
        row_dims(form, 1, dims);
        dim_t own[RANK_MAX] = { dim_of(1) };
        for (int d = 0; d < form->rank; d++)
                own[1 + d] = d < value_rank(item) ? item->type->dims[d] : dim_of(1);
        return filled(im, compose_reshape(im->c, item, form->rank + 1, own), form->rank + 1, dims,
                      0);
}

/* Returns the extents of items of type t, <1 x rank>. */
static struct value *shape_of(struct onnx_import *im, const struct type *t,
                              const struct onnx_form *form)
{
        const dim_t dims[] = { dim_of(1), dim_of(form->rank) };
        return filled(im,
                      compose_reshape(im->c, compose_extents(im->c, t->rank, t->dims), 2,
                                      (const dim_t[]){ dim_of(1), dim_of(t->rank) }),
                      2, dims, -1);
}

/* Makes a stack of items. */
static bool stack_items(struct onnx_import *im, struct value *const *items, int count,
                        const struct onnx_form *form, struct onnx_stack *s)
{
        struct value **rows = arena_array(im->arena, (size_t)count + 1, sizeof *rows),
                     **shapes = arena_array(im->arena, (size_t)count + 1, sizeof *shapes);
        dim_t dims[RANK_MAX];
        int parts = count;
        for (int i = 0; i < count; i++) {
                rows[i] = row_of(im, items[i], form);
                shapes[i] = form->differ ? shape_of(im, items[i]->type, form) : NULL;
                if (!rows[i] || (form->differ && !shapes[i]))
                        return false;
        }
        if (form->room > count) {
                row_dims(form, form->room - count, dims);
                const struct type *t = compose_type(im->c, form->element, form->rank + 1, dims);
                struct value *zero = build_scalar(&im->b, form->element, 0);
                if (!t)
                        return false;
                dims[1] = dim_of(form->rank);
                rows[parts] = compose_spread(im->c, zero, t, NULL);
                shapes[parts++] = constant_number(im->m, type_tensor(im->m, E_I64, 2, dims), 0);
        }
        row_dims(form, form->room, dims);
        s->rows = parts ? build_concat(&im->b, rows, parts, 0) : NULL;
        s->shapes = form->differ && parts ? build_concat(&im->b, shapes, parts, 0) : NULL;
        s->count = integer(im, count);
        return s->rows && (s->shapes || !form->differ) &&
               compose_type(im->c, form->element, form->rank + 1, dims);
}

/* Brings a stack to a form that has room for it. */
static bool stack_again(struct onnx_import *im, const struct onnx_stack *from,
                        const struct onnx_form *form, struct onnx_stack *s)
{
        const struct type *t = from->rows->type;
        const dim_t table[] = { dim_of(form->room), dim_of(form->rank) };
        dim_t own[RANK_MAX], dims[RANK_MAX];
        *s = *from;
        row_dims(form, form->room, dims);
        for (int d = 0; d <= form->rank; d++)
                own[d] = d < t->rank ? t->dims[d] : dim_of(1);
        s->rows = filled(im, compose_reshape(im->c, from->rows, form->rank + 1, own),
                         form->rank + 1, dims, 0);
        if (form->differ && !from->shapes) {
                struct value *shape = compose_extents(im->c, t->rank - 1, t->dims + 1);
                dim_t all[] = { t->dims[0], dim_of(t->rank - 1) };
                s->shapes = compose_spread(im->c, shape, type_tensor(im->m, E_I64, 2, all),
                                           (const int64_t[]){ 1 });
        }
        if (form->differ)
                s->shapes = filled(im, s->shapes, 2, table, -1);
        return s->rows && (s->shapes || !form->differ);
}

/* Makes a stack of the form, of a tensor, a sequence or an optional. */
static bool as_form(struct onnx_import *im, struct value *v, const struct onnx_form *form,
                    struct onnx_stack *s)
{
        const struct onnx_stack *from = onnx_stack_of(v);
        int count = 1;
        struct value *const *items = &v;
        *s = (struct onnx_stack){ 0 };
        if (!from && v->type->kind != TYPE_TENSOR)
                items = onnx_sequence_items(v, &count);
        if (!(from ? stack_again(im, from, form, s) : stack_items(im, items, count, form, s)))
                return false;
        s->differ = form->differ;
        s->ranks = form->ranks;
        if (form->is_optional && form->is_sequence && !s->present)
                s->present = compose_integer(im->c, E_BOOL, v->type->kind != TYPE_OPTIONAL);
        return true;
}

static struct value *stacked(struct onnx_import *im, const struct onnx_form *form,
                             const struct onnx_stack *s)
{
        const struct type *of = type_scalar(im->m, form->element);
        struct onnx_sequence *list;
        if (form->is_sequence)
                of = type_wrap(im->m, TYPE_SEQUENCE, of);
        list = onnx_sequence_share(im, form->is_optional ? type_wrap(im->m, TYPE_OPTIONAL, of) : of,
                                   NULL, 0);
        list->stack = arena_copy(im->arena, s, sizeof *s);
        return &list->value;
}

/* ---- through regions ---- */

static bool has_presence(const struct onnx_form *form)
{
        return form->is_optional && form->is_sequence;
}

int onnx_form_parts(const struct onnx_form *form)
{
        return form->known ? 2 + has_presence(form) + (form->differ != 0) : 1;
}

bool onnx_form_spread(struct onnx_import *im, struct onnx_node *n, struct value *v,
                      const struct onnx_form *form, struct value *parts[STACK_PARTS])
{
        struct onnx_stack s;
        struct onnx_form same = *form;
        int count = 2;
        if (!form->known)
                return (parts[0] = compose_integer(im->c, E_BOOL, 0)) != NULL;
        if (!onnx_form_join(im, n, &same, form) || !as_form(im, v, form, &s))
                return false;
        parts[0] = s.count;
        parts[1] = s.rows;
        if (form->differ)
                parts[count++] = s.shapes;
        if (has_presence(form))
                parts[count++] = s.present;
        return true;
}

struct value *onnx_form_gather(struct onnx_import *im, const struct onnx_form *form,
                               struct value *const *parts)
{
        struct onnx_stack s = { .differ = form->differ,
                                .ranks = form->ranks,
                                .held = form->held,
                                .grown = form->grown };
        int count = 2;
        if (!form->known)
                return form->is_optional
                               ? onnx_absent_new(im, form->element, form->is_sequence)
                               : onnx_sequence_new(im, form->element, NULL, 0);
        s.count = parts[0];
        s.rows = parts[1];
        if (form->differ)
                s.shapes = parts[count++];
        if (has_presence(form))
                s.present = parts[count++];
        return stacked(im, form, &s);
}

/* ---- operators ---- */

static int64_t room_of(const struct onnx_stack *s) { return type_extent(s->rows->type, 0); }

/* Returns the position as a number from 0 on and below `end` (<i64>), where negative ones count
 * from the count; `bad` stands for one that is none. */
static struct value *placed(struct onnx_import *im, struct onnx_node *n, struct value *at,
                            struct value *count, struct value *end, int64_t bad)
{
        struct compose *c = im->c;
        at = compose_one_number(c, "the position", at, value_element(at));
        if (!at)
                return NULL;
        if (element_info[value_element(at)].class == CLASS_FLOAT || value_element(at) == E_BOOL) {
                onnx_invalid(im, n, "the position is %s, want an integer",
                             compose_text(c, at->type));
                return NULL;
        }
        at = compose_cast(c, at, E_I64);
        at = compose_below_zero(c, at, add(c, at, count));
        struct value *below = compose_binary(c, OP_lt, at, end);
        struct value *good = both(c, below, compose_with(c, OP_ge, at, 0));
        return compose_select(c, good, at, integer(im, bad));
}

/* Takes rows of all parts. */
static bool take_rows(struct onnx_import *im, struct onnx_stack *s, struct value *numbers)
{
        s->rows = s->rows && numbers ? build_gather(&im->b, s->rows, numbers, 0) : NULL;
        if (s->shapes && s->rows)
                s->shapes = build_gather(&im->b, s->shapes, numbers, 0);
        return s->rows && (s->shapes || !s->differ);
}

/* Joins two stacks of one form. */
static bool join_rows(struct onnx_import *im, struct onnx_stack *s, const struct onnx_stack *more)
{
        s->rows = build_concat(&im->b, (struct value *[]){ s->rows, more->rows }, 2, 0);
        if (s->shapes)
                s->shapes = build_concat(&im->b, (struct value *[]){ s->shapes, more->shapes }, 2,
                                         0);
        return s->rows && (s->shapes || !s->differ);
}

/* Puts the row behind the last one. Where there is no room for it, the run fails. */
static bool append(struct onnx_import *im, struct onnx_stack *s, const struct onnx_stack *row)
{
        struct value *at = compose_reshape(im->c, s->count, 2,
                                           (const dim_t[]){ dim_of(1), dim_of(1) });
        s->rows = compose_scatter(im->c, s->rows, at, row->rows, -1, SCATTER_REPLACE);
        if (s->shapes)
                s->shapes = compose_scatter(im->c, s->shapes, at, row->shapes, -1,
                                            SCATTER_REPLACE);
        return s->rows && (s->shapes || !s->differ);
}

/* Puts the row at a position, and those from there on one further. */
static bool insert_at(struct onnx_import *im, struct onnx_node *n, struct onnx_stack *s,
                      const struct onnx_stack *row, struct value *at)
{
        struct compose *c = im->c;
        const int64_t room = room_of(s);
        struct value *numbers = compose_iota(c, E_I64, room);
        struct value *end = compose_with(c, OP_min, plus(c, s->count, 1), (double)room);
        if (s->held)                    /* A full stack takes none. */
                end = compose_select(c, compose_with(c, OP_lt, s->count, (double)room), end,
                                     integer(im, 0));
        at = placed(im, n, at, s->count, end, room + 1);
        struct value *behind = compose_cast(c, compose_binary(c, OP_gt, numbers, at), E_I64);
        struct value *from = sub(c, numbers, behind);
        from = compose_select(c, compose_binary(c, OP_eq, numbers, at), integer(im, room), from);
        /* There are room + 1 rows, so that this number is none. */
        from = compose_select(c, compose_with(c, OP_gt, at, (double)room), integer(im, room + 1),
                              from);
        return from && join_rows(im, s, row) && take_rows(im, s, from);
}

struct value *onnx_stack_insert(struct onnx_import *im, struct onnx_node *n, struct value *list,
                                struct value *item, struct value *at)
{
        const struct onnx_stack *from = onnx_stack_of(list);
        struct onnx_form form = onnx_form_of(im, list), one = onnx_form_of(im, item);
        struct onnx_stack s, row;
        one.is_sequence = true;
        form.room += !from || !from->held;
        if (!onnx_form_join(im, n, &form, &one) || !as_form(im, list, &form, &s))
                return NULL;
        one = form;
        one.room = 1;
        if (!as_form(im, item, &one, &row) ||
            !(at ? insert_at(im, n, &s, &row, at) : append(im, &s, &row)))
                return NULL;
        s.count = plus(im->c, s.count, 1);
        s.grown += from && from->held;
        return s.count ? stacked(im, &form, &s) : NULL;
}

/* Returns a sequence as a stack, which has items in some run; false after an error. */
static bool open_items(struct onnx_import *im, struct onnx_node *n, struct value *list,
                       struct onnx_form *form, struct onnx_stack *s)
{
        *form = onnx_form_of(im, list);
        if (!form->known || !form->room)
                return onnx_invalid(im, n, "the sequence is empty");
        return onnx_form_join(im, n, form, form) && as_form(im, list, form, s);
}

struct value *onnx_stack_erase(struct onnx_import *im, struct onnx_node *n, struct value *list,
                               struct value *at)
{
        struct compose *c = im->c;
        struct onnx_form form;
        struct onnx_stack s;
        if (!open_items(im, n, list, &form, &s))
                return NULL;
        struct value *numbers = compose_iota(c, E_I64, form.room);
        at = placed(im, n, at ? at : integer(im, -1), s.count, s.count, form.room);
        struct value *behind = compose_cast(c, compose_binary(c, OP_ge, numbers, at), E_I64);
        struct value *from = compose_with(c, OP_min, add(c, numbers, behind),
                                          (double)(form.room - 1));
        from = compose_select(c, compose_with(c, OP_ge, at, (double)form.room),
                              integer(im, form.room), from);
        if (!from || !take_rows(im, &s, from))
                return NULL;
        s.count = plus(c, s.count, -1);
        return s.count ? stacked(im, &form, &s) : NULL;
}

/* Returns the item at a number of a row: as much of the row as its shape says. */
static struct value *item_of(struct onnx_import *im, struct onnx_node *n,
                             const struct onnx_stack *s, struct value *number)
{
        struct value *item = number ? build_gather(&im->b, s->rows, number, 0) : NULL;
        struct value *shape =
                item && s->shapes ? build_gather(&im->b, s->shapes, number, 0) : NULL;
        if (s->ranks) {
                onnx_unsupported(im, n, "only a run tells which item it is, and items differ in "
                                        "rank");
                return NULL;
        }
        for (int d = 0; item && d < value_rank(item); d++) {
                if (!(s->differ >> d & 1))
                        continue;
                dim_t extent = onnx_counted(im, n, 0, d, compose_pick(im->c, shape, 0, d),
                                            value_extent(item, d));
                if (dim_equal(extent, DIM_NONE))
                        return NULL;
                item = onnx_first(im, item, d, extent);
        }
        return item;
}

struct value *onnx_stack_at(struct onnx_import *im, struct onnx_node *n, struct value *list,
                            struct value *at)
{
        struct onnx_form form;
        struct onnx_stack s;
        if (!open_items(im, n, list, &form, &s))
                return NULL;
        if (!onnx_stack_of(list) && !form.differ) {     /* Each row is an item, which is checked. */
                at = compose_one_number(im->c, "the position", at, value_element(at));
                return at ? build_gather(&im->b, s.rows, at, 0) : NULL;
        }
        return item_of(im, n, &s, placed(im, n, at, s.count, s.count, form.room));
}

/* Returns the items' rows, cut to the extents of the first item in all dimensions in which they may
 * differ, but for the axis, unless that is a fresh one. A run in which an item has others fails. */
static struct value *alike(struct onnx_import *im, struct onnx_node *n, const struct onnx_stack *s,
                           int axis, bool fresh)
{
        struct compose *c = im->c;
        struct value *rows = s->rows, *good = NULL;
        const unsigned differ = fresh ? s->differ : s->differ & ~(1u << axis);
        if (!differ)
                return rows;
        struct value *numbers = compose_iota(c, E_I64, room_of(s));
        struct value *beyond = compose_binary(c, OP_ge, numbers, s->count);
        for (int d = 0; d < value_rank(rows) - 1; d++) {
                if (!(differ >> d & 1))
                        continue;
                struct value *column = compose_pick(c, s->shapes, 1, d);
                struct value *of_first = compose_pick(c, column, 0, 0);
                struct value *same = either(c, compose_binary(c, OP_eq, column, of_first), beyond);
                good = good ? both(c, good, same) : same;
        }
        good = compose_reduce(c, REDUCE_min, compose_cast(c, good, E_I64), (const int64_t[]){ 0 },
                              1, E_COMPUTE);
        /* Row 0 is the first of one row; row 1 is none. */
        struct value *first = compose_part(c, s->shapes, 0, 0, 1);
        first = first ? build_gather(&im->b, first, compose_from(c, OP_sub, 1, good), 0) : NULL;
        for (int d = 0; first && rows && d < value_rank(s->rows) - 1; d++) {
                if (!(differ >> d & 1))
                        continue;
                dim_t extent = onnx_counted(im, n, 0, d + (fresh && d >= axis),
                                            compose_pick(c, first, 0, d),
                                            value_extent(s->rows, d + 1));
                rows = dim_equal(extent, DIM_NONE) ? NULL : onnx_first(im, rows, d + 1, extent);
        }
        return first ? rows : NULL;
}

/* Returns rows with dimension 0 moved to `axis`, behind those in front of it. */
static struct value *rows_to(struct onnx_import *im, struct value *rows, int axis)
{
        int64_t perm[RANK_MAX];
        for (int d = 0; rows && d < value_rank(rows); d++)
                perm[d] = d < axis ? d + 1 : d == axis ? 0 : d;
        return compose_transpose(im->c, rows, perm);
}

/* Returns the elements along the axis that are there, of rows that lie one after the other. */
static struct value *packed(struct onnx_import *im, struct onnx_node *n, const struct onnx_stack *s,
                            struct value *x, int axis)
{
        struct compose *c = im->c;
        const int64_t room = room_of(s), extent = value_extent(s->rows, axis + 1);
        const struct type *t = type_tensor(im->m, E_I64, 2,
                                           (const dim_t[]){ dim_of(room), dim_of(extent) });
        struct value *extents = compose_pick(c, s->shapes, 1, axis);
        extents = compose_spread(c, extents, t, (const int64_t[]){ 0 });
        struct value *there = compose_binary(c, OP_lt, build_iota(&im->b, t, 1), extents);
        there = both(c, there, compose_binary(c, OP_lt, build_iota(&im->b, t, 0), s->count));
        there = compose_reshape(c, there, 1, (const dim_t[]){ dim_of(room * extent) });
        struct value *positions =
                there ? onnx_positions(im, n, there, value_element(x), value_rank(x), axis) : NULL;
        return positions ? build_gather(&im->b, x, positions, axis) : NULL;
}

struct value *onnx_stack_concat(struct onnx_import *im, struct onnx_node *n, struct value *list,
                                int axis, bool fresh)
{
        struct compose *c = im->c;
        const struct onnx_stack *s = onnx_stack_of(list);
        dim_t dims[RANK_MAX], count;
        if (s->ranks) {
                onnx_unsupported(im, n, "items of the sequence differ in rank");
                return NULL;
        }
        struct value *rows = rows_to(im, alike(im, n, s, axis, fresh), axis);
        if (!rows)
                return NULL;
        if (fresh || !(s->differ >> axis & 1)) {
                count = onnx_counted(im, n, 0, axis, s->count, room_of(s));
                rows = dim_equal(count, DIM_NONE) ? NULL : onnx_first(im, rows, axis, count);
                if (!rows || fresh)
                        return rows;
        }
        const int rank = value_rank(rows) - 1;
        for (int d = 0; d < rank; d++)
                dims[d] = rows->type->dims[d + (d > axis)];
        dims[axis] = dim_binary(im->m, DIM_MUL, rows->type->dims[axis], rows->type->dims[axis + 1]);
        if (dim_equal(dims[axis], DIM_NONE)) {
                onnx_unsupported(im, n, "the items are too large");
                return NULL;
        }
        rows = compose_reshape(c, rows, rank, dims);
        return rows && s->differ >> axis & 1 ? packed(im, n, s, rows, axis) : rows;
}

/* ---- SplitToSequence ---- */

/* Returns x with the axis filled up to `extent` elements. */
static struct value *filled_along(struct onnx_import *im, struct value *x, int axis, int64_t extent)
{
        dim_t dims[RANK_MAX];
        memcpy(dims, x->type->dims, (size_t)value_rank(x) * sizeof *dims);
        dims[axis] = dim_of(extent);
        return filled(im, x, value_rank(x), dims, 0);
}

/* Returns <room x rank x i64>: the extents of x, but along the axis those of the parts. */
static struct value *part_shapes(struct onnx_import *im, const struct value *x, int axis,
                                 struct value *extents, int64_t room)
{
        struct value *columns[RANK_MAX];
        const dim_t dims[] = { dim_of(room), dim_of(1) };
        for (int d = 0; d < value_rank(x); d++) {
                struct value *v = d == axis ? extents : compose_extent(im->c, x->type->dims[d]);
                const struct type *t = type_tensor(im->m, E_I64, 2, dims);
                columns[d] = d == axis ? compose_reshape(im->c, v, 2, dims)
                                       : compose_spread(im->c, v, t, NULL);
                if (!columns[d])
                        return NULL;
        }
        return build_concat(&im->b, columns, value_rank(x), 1);
}

/* Sets the parts of x of `each` elements, at most `most` of each and `room` parts. */
static bool cut_parts(struct onnx_import *im, struct value *x, int axis, struct value *each,
                      int64_t most, int64_t room, struct onnx_stack *s)
{
        struct compose *c = im->c;
        const dim_t dims[] = { dim_of(room), dim_of(most) };
        const struct type *t = type_tensor(im->m, E_I64, 2, dims);
        const int64_t extent = dim_bound(im->m, x->type->dims[axis]);
        int64_t perm[RANK_MAX];
        struct value *part = build_iota(&im->b, t, 0), *place = build_iota(&im->b, t, 1);
        struct value *from = add(c, mul(c, part, each), place);
        struct value *inside = compose_binary(c, OP_lt, place, each);
        inside = both(c, inside, compose_with(c, OP_lt, from, (double)extent));
        from = compose_select(c, inside, from, integer(im, extent));
        x = filled_along(im, x, axis, extent + 1);      /* Behind the last element are zeros. */
        struct value *rows = x && from ? build_gather(&im->b, x, from, axis) : NULL;
        for (int d = 0; rows && d < value_rank(rows); d++)
                perm[d] = d == 0 ? axis : d <= axis ? d - 1 : d;
        s->rows = compose_transpose(c, rows, perm);
        return s->rows != NULL;
}

struct value *onnx_stack_split(struct onnx_import *im, struct onnx_node *n, struct value *x,
                               int axis, struct value *each, bool drops)
{
        struct compose *c = im->c;
        const struct type *t = x->type;
        const int64_t extent = dim_bound(im->m, t->dims[axis]);
        struct onnx_form form = { .is_sequence = true, .element = t->element };
        struct onnx_stack s = { 0 };
        int64_t size = 1, room = extent, perm[RANK_MAX];
        if (drops)
                each = integer(im, 1);
        bool known = value_is_constant(each);
        if (known && (size = constant_element(each->constant, 0).i) < 1) {
                onnx_invalid(im, n, "parts of extent %lld", (long long)size);
                return NULL;
        }
        size = known ? compose_min(size, compose_max(extent, 1)) : extent;
        room = onnx_length_most(im, n, 0, known ? divide_up(extent, size) : extent);
        int64_t bytes = element_info[t->element].bytes;
        for (int d = 0; d < t->rank; d++)
                if (!int_mul(bytes, d == axis ? size : dim_bound(im->m, t->dims[d]), &bytes))
                        bytes = INT64_MAX;
        if (room > 0 && bytes > im->context->limits.tensor_bytes / room) {
                onnx_unsupported(im, n,
                                 "up to %lld parts of %lld bytes each are more than the limit of "
                                 "%lld: bound their number by --dim %s_count=0..16",
                                 (long long)room, (long long)bytes,
                                 (long long)im->context->limits.tensor_bytes,
                                 SAFE(im, n->proto->output[0]));
                return NULL;
        }
        struct value *all = compose_extent(c, t->dims[axis]), *stated = each;
        each = clamp(c, each, 1, (double)compose_max(extent, 1));
        /* Parts of no elements are more than there is room for. */
        struct value *number = compose_select(c, compose_with(c, OP_ge, stated, 1),
                                              divide(c, plus(c, add(c, all, each), -1), each),
                                              integer(im, room + 1));
        dim_t count = room < 0 ? DIM_NONE : onnx_counted(im, n, 0, 0, number, room);
        if (dim_equal(count, DIM_NONE))
                return NULL;
        s.count = compose_extent(c, count);
        if (drops) {
                for (int d = 0; d < t->rank; d++)
                        perm[d] = d == 0 ? axis : d <= axis ? d - 1 : d;
                x = filled_along(im, x, axis, extent);
                s.rows = compose_transpose(c, x, perm);
                if (s.rows && room < extent)
                        s.rows = compose_part(c, s.rows, 0, 0, room);
                return s.rows ? stacked(im, &form, &s) : NULL;
        }
        if (!cut_parts(im, x, axis, each, size, room, &s))
                return NULL;
        struct value *begin = mul(c, compose_iota(c, E_I64, room), each);
        struct value *rest = compose_with(c, OP_max, sub(c, all, begin), 0);
        s.shapes = part_shapes(im, x, axis, compose_binary(c, OP_min, rest, each), room);
        s.differ = 1u << axis;
        return s.shapes ? stacked(im, &form, &s) : NULL;
}

/* ---- optionals ---- */

struct value *onnx_stack_present(struct onnx_import *im, const struct value *v)
{
        const struct onnx_stack *s = onnx_stack_of(v);
        return s->present ? s->present : compose_with(im->c, OP_ge, s->count, 1);
}

struct value *onnx_stack_element(struct onnx_import *im, struct onnx_node *n, struct value *v)
{
        struct onnx_form form = onnx_form_of(im, v);
        struct onnx_stack s = *onnx_stack_of(v);
        if (!form.is_sequence)
                return item_of(im, n, &s, placed(im, n, integer(im, 0), s.count, s.count, 1));
        struct value *absent = compose_cast(im->c, inverse(im->c, s.present), E_I64),
                     *counts = compose_reshape(im->c, s.count, 1, (const dim_t[]){ dim_of(1) });
        s.count = absent && counts ? build_gather(&im->b, counts, absent, 0) : NULL;
        s.present = NULL;
        form.is_optional = false;
        return s.count ? stacked(im, &form, &s) : NULL;
}

/* ---- outputs of the model ---- */

bool onnx_stack_output(struct onnx_import *im, const char *name, const struct value *v,
                       struct value **rows, struct value **shapes)
{
        const struct onnx_stack *s = onnx_stack_of(v);
        dim_t count = onnx_counted_as(im, arena_printf(im->arena, "%s_count", name), s->count,
                                      room_of(s));
        if (dim_equal(count, DIM_NONE))
                return false;
        *rows = onnx_first(im, s->rows, 0, count);
        *shapes = s->shapes ? onnx_first(im, s->shapes, 0, count) : NULL;
        return *rows && (*shapes || !s->shapes);
}
