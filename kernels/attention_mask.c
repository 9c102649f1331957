/* SPDX-License-Identifier: MIT */
/* Finds which columns a mask hides, as far as the compiler knows: causal masks, and windows that
 * slide along the rows.
 *
 *      columns ->        x x . . . .     visible: columns row + low .. row + high
 * rows x x x . . . (here low = -1, high = 1; a causal mask has no low)
 *                        . x x x . .
 *
 * A mask is added to the scores (-inf, or -1e9 and less, hides), or a select chooses between the
 * scores and such a number. It is a constant, or computed by comparing indices. The share of a
 * hidden column is exp(-inf) = 0, so the column need not be computed. A finite number hides only
 * where every row has a visible column and nothing else is added; otherwise all scores of a row
 * could be as low. */
#include <math.h>

#include "kernels/attention.h"

enum { ROW = 2, COLUMN = 3, DEPTH_MAX = 24, SCAN_MAX = 1 << 22 };
static const double HIDDEN = -1e9;

/* This is known of a mask: the band of visible columns, whether it hides with a finite number, and
 * whether some rows have no visible column. */
struct mask { struct band band; bool finite, empty_rows; };

/* A view says which dimensions of a value are the rows and the columns; -1: all rows (or columns)
 * are alike. The value is alike along all other dimensions. */
struct view { const struct value *v; int row, column; };

enum { FAR = ATTENTION_FAR };
static const struct band everything = { -FAR, FAR, 0, { 0 }, { 0 } };

/* Intersects both bands. A band that repeats after another number of rows than the first one, or is
 * shifted by another one, is ignored. */
static void narrow(struct band *band, struct band other)
{
        const bool all = band->low == -FAR && band->high == FAR;
        if ((other.rows && band->rows && !dim_equal(other.turn, band->turn)) ||
            (!all && !dim_equal(other.shift, band->shift)))
                return;
        band->shift = other.shift;
        band->turn = other.rows ? other.turn : band->turn;
        band->rows = other.rows ? other.rows : band->rows;
        band->low = other.low > band->low ? other.low : band->low;
        band->high = other.high < band->high ? other.high : band->high;
}

/* ---- where an element comes from ---- */

static bool view_broadcast(struct view *view)
{
        const struct op *op = view->v->op;
        const struct value *x = op_operand(op, 0);
        const int64_t *dims = op_ints(op, "dims", NULL);
        struct view next = { x, -1, -1 };
        for (int d = 0; d < x->type->rank; d++) {
                if (dim_is(x->type->dims[d], 1))
                        continue;
                if (dims[d] == view->row)
                        next.row = d;
                else if (dims[d] == view->column)
                        next.column = d;
                else
                        return false;
        }
        *view = next;
        return true;
}

/* Does dimension k of a reshape's result join dimension d of its operand, whose extent a run gives,
 * and the one before it? */
static bool joins(const struct op *op, int k, int d)
{
        const struct type *from = op_operand(op, 0)->type, *to = op_result(op)->type;
        return d > 0 && !dim_is_static(from->dims[d]) && dim_is_static(from->dims[d - 1]) &&
               dim_equal(to->dims[k], dim_binary(op_module(op), DIM_MUL, from->dims[d - 1],
                                                 from->dims[d]));
}

/* Looks through a reshape. The columns must stay the last dimension. The rows must stay the
 * dimension before it, or several groups of rows become one (heads that share keys). */
static bool view_reshape(struct view *view)
{
        const struct value *x = op_operand(view->v->op, 0);
        const struct type *from = x->type, *to = view->v->type;
        struct view next = { x, -1, -1 };
        int d = from->rank - 1;
        for (int k = to->rank - 1; k >= 0 && (k >= view->row || k >= view->column); k--) {
                if (dim_is(to->dims[k], 1))
                        continue;
                while (d > 0 && dim_is(from->dims[d], 1))
                        d--;
                bool row = k == view->row;
                if (d < 0 || (!row && k != view->column) ||
                    (row && dim_is_static(to->dims[k]) && dim_is_static(from->dims[d])
                             ? type_extent(to, k) % type_extent(from, d)
                             : !dim_equal(to->dims[k], from->dims[d]) &&
                                       !(row && joins(view->v->op, k, d))))
                        return false;
                *(row ? &next.row : &next.column) = d--;
        }
        *view = next;
        return true;
}

/* Looks through moves, and into the fusions that make the value. */
static bool view_source(struct view *view)
{
        for (int depth = 0; view->v->kind == VALUE_RESULT; depth++) {
                const struct op *op = view->v->op;
                bool good = depth < DEPTH_MAX;
                if (op->code == OP_fusion)
                        view->v = op_operand(op->regions[0]->last, view->v->index);
                else if (op->code == OP_broadcast)
                        good = good && view_broadcast(view);
                else if (op->code == OP_reshape)
                        good = good && view_reshape(view);
                else
                        return true;
                if (!good)
                        return false;
        }
        return view->v->kind == VALUE_CONSTANT;
}

static struct view view_operand(const struct view *view, int operand)
{
        return (struct view){ op_operand(view->v->op, operand), view->row, view->column };
}

/* ---- indices that are compared ---- */

/* An index is row * r + column * c + start + base, where a run gives the base. */
struct affine { double row, column, start; int64_t rows; dim_t turn, base; };

static bool affine_of(struct view view, struct affine *a, int depth);

static bool affine_of_iota(struct view view, struct affine *a)
{
        int64_t axis = op_int(view.v->op, "axis");
        a->row = axis == view.row;
        a->column = axis == view.column;
        a->turn = a->row != 0 ? view.v->type->dims[view.row] : dim_of(0);
        a->rows = dim_bound(op_module(view.v->op), a->turn);
        return a->row + a->column == 1;
}

static bool affine_of_cast(struct view view, struct affine *a, int depth)
{
        enum element from = op_operand(view.v->op, 0)->type->element, to = view.v->type->element;
        return element_is_integer(from) && element_info[to].bytes >= 4 &&
               affine_of(view_operand(&view, 0), a, depth);
}

static bool is_first_of_rows(const struct affine *a)
{
        return a->row == 1 && a->column == 0 && a->start == 0 && dim_is(a->base, 0);
}

static bool is_constant(const struct affine *a)
{
        return a->row == 0 && a->column == 0 && dim_is(a->base, 0);
}

/* Handles a remainder: the rows repeat, as those of heads that share keys do. */
static bool affine_again(struct view view, struct affine *a, int depth)
{
        struct affine turn;
        if (!affine_of(view_operand(&view, 0), a, depth) ||
            !affine_of(view_operand(&view, 1), &turn, depth) || !is_first_of_rows(a) ||
            !is_constant(&turn) || turn.start < 1 || a->rows % (int64_t)turn.start ||
            !dim_is_static(a->turn))
                return false;
        a->rows = (int64_t)turn.start;
        a->turn = dim_of(a->rows);
        return true;
}

static bool affine_sum(struct view view, struct affine *a, double sign, int depth)
{
        struct affine x, y;
        if (!affine_of(view_operand(&view, 0), &x, depth) ||
            !affine_of(view_operand(&view, 1), &y, depth))
                return false;
        const bool both = !dim_is(x.base, 0) && !dim_is(y.base, 0);
        *a = (struct affine){ x.row + sign * y.row, x.column + sign * y.column,
                              x.start + sign * y.start, x.rows ? x.rows : y.rows,
                              x.rows ? x.turn : y.turn, dim_is(x.base, 0) ? y.base : x.base };
        return !both && (sign > 0 || dim_is(y.base, 0)) &&
               (!x.rows || !y.rows || dim_equal(x.turn, y.turn));
}

static bool affine_of_extent(struct view view, struct affine *a)
{
        a->base = op_operand(view.v->op, 0)->type->dims[op_int(view.v->op, "axis")];
        return true;
}

static bool affine_of(struct view view, struct affine *a, int depth)
{
        if (depth == DEPTH_MAX || !view_source(&view))
                return false;
        *a = (struct affine){ .base = dim_of(0) };
        if (view.v->kind == VALUE_CONSTANT)
                return value_is_splat(view.v, &a->start);
        switch (view.v->op->code) {
        case OP_iota: return affine_of_iota(view, a);
        case OP_cast: return affine_of_cast(view, a, depth + 1);
        case OP_extent: return affine_of_extent(view, a);
        case OP_rem: case OP_mod: return affine_again(view, a, depth + 1);
        case OP_add: return affine_sum(view, a, 1, depth + 1);
        case OP_sub: return affine_sum(view, a, -1, depth + 1);
        default: return false;
        }
}

/* Finds the band in which x < y (strict) or x <= y. */
static bool band_of_order(struct view x, struct view y, bool strict, struct band *band)
{
        struct affine a, b;
        if (!affine_of(x, &a, 0) || !affine_of(y, &b, 0))
                return false;
        double column = a.column - b.column, start = a.start - b.start + strict;
        if (fabs(column) != 1 || a.row - b.row != -column || fabs(start) > 1e9 ||
            start != floor(start))
                return false;
        if (a.rows && b.rows && !dim_equal(a.turn, b.turn))
                return false;
        if (!dim_is(column > 0 ? a.base : b.base, 0))
                return false;
        *band = everything;                     /* The condition is column * (c - r - shift) + start
                                                 * <= 0. */
        band->shift = column > 0 ? b.base : a.base;
        band->rows = a.rows ? a.rows : b.rows;
        band->turn = a.rows ? a.turn : b.turn;
        if (column > 0)
                band->high = -(int64_t)start;
        else
                band->low = (int64_t)start;
        return true;
}

/* ---- constants ---- */

static bool is_visible(const struct view *view, int64_t at, double hidden, struct mask *mask)
{
        union scalar s = constant_element(view->v->constant, at);
        if (view->v->type->element == E_BOOL)
                return s.u != (hidden != 0);
        if (s.f <= hidden)
                mask->finite |= !isinf(s.f);
        return !(s.f <= hidden);
}

/* Reads the band off a constant mask. `hidden` is the largest number that hides or, for truth
 * values, the one that hides. */
static bool scan(const struct view *view, const struct type *scores, double hidden,
                 struct mask *mask)
{
        const struct type *t = view->v->type;
        if (!type_is_static(t) || !type_is_static(scores))
                return false;
        int64_t columns = type_extent(scores, COLUMN), row_stride = 0, column_stride = 0,
                stride = 1;
        int64_t rows = dim_extent(view->row < 0 ? scores->dims[ROW] : t->dims[view->row]);
        if (type_elements(t) > SCAN_MAX || (double)rows * (double)columns > SCAN_MAX)
                return false;
        for (int d = t->rank - 1; d >= 0; stride *= type_extent(t, d--)) {
                row_stride = d == view->row ? stride : row_stride;
                column_stride = d == view->column ? stride : column_stride;
        }
        struct band band = { FAR, -FAR, rows, dim_of(rows), dim_of(0) };
        for (int64_t r = 0; r < rows; r++) {
                int64_t first = 0, last = columns - 1;
                while (first < columns &&
                       !is_visible(view, r * row_stride + first * column_stride, hidden, mask))
                        first++;
                while (last > first &&
                       !is_visible(view, r * row_stride + last * column_stride, hidden, mask))
                        last--;
                mask->empty_rows |= first == columns;
                if (first == columns)
                        continue;
                band.low = first - r < band.low ? first - r : band.low;
                band.high = last - r > band.high ? last - r : band.high;
        }
        narrow(&mask->band, band);
        return true;
}

/* ---- masks ---- */

/* Narrows the mask's band to the elements where a truth value is `when`. */
static bool find_condition(struct view view, bool when, const struct type *scores,
                           struct mask *mask, int depth)
{
        struct band band;
        if (depth == DEPTH_MAX || !view_source(&view))
                return false;
        if (view.v->kind == VALUE_CONSTANT)
                return view.v->type->element == E_BOOL && scan(&view, scores, !when, mask);
        enum opcode code = view.v->op->code;
        struct view x = view.v->op->operand_count ? view_operand(&view, 0) : view;
        struct view y = view.v->op->operand_count > 1 ? view_operand(&view, 1) : view;
        switch (code) {
        case OP_not: return find_condition(x, !when, scores, mask, depth + 1);
        case OP_cast: return find_condition(x, when, scores, mask, depth + 1);
        case OP_select: {               /* It chooses between two truth values. */
                double one, other;
                if (!value_is_splat(y.v, &one) || view.v->op->operand_count < 3 ||
                    !value_is_splat(op_operand(view.v->op, 2), &other) || !one == !other)
                        return false;
                return find_condition(x, when == (one != 0), scores, mask, depth + 1);
        }
        case OP_and: case OP_or: {
                if (when != (code == OP_and))
                        return false;
                bool one = find_condition(x, when, scores, mask, depth + 1);
                return find_condition(y, when, scores, mask, depth + 1) || one;
        }
        case OP_lt: case OP_le: case OP_gt: case OP_ge: {
                bool less = code == OP_lt || code == OP_le,
                     strict = (code == OP_lt || code == OP_gt) == when;
                bool good = less == when ? band_of_order(x, y, strict, &band)
                                         : band_of_order(y, x, strict, &band);
                if (good)
                        narrow(&mask->band, band);
                return good;
        }
        default: return false;
        }
}

static bool is_hidden(const struct value *v, struct mask *mask)
{
        double number;
        if (!value_is_splat(v, &number) || !(number <= HIDDEN))
                return false;
        mask->finite |= !isinf(number);
        return true;
}

/* Returns which operand of the select hides, 1 or 2; -1: both or neither. */
static int hidden_side(const struct op *select, struct mask *mask)
{
        bool x = is_hidden(op_operand(select, 1), mask), y = is_hidden(op_operand(select, 2), mask);
        return x == y ? -1 : x ? 1 : 2;
}

/* Narrows the mask by a value that is added to the scores. */
static bool find_added(struct view view, const struct type *scores, struct mask *mask)
{
        if (!view_source(&view))
                return false;
        if (view.v->kind == VALUE_CONSTANT)
                return element_is_float(view.v->type->element) && scan(&view, scores, HIDDEN, mask);
        if (view.v->op->code != OP_select)
                return false;
        int side = hidden_side(view.v->op, mask);
        return side > 0 && find_condition(view_operand(&view, 0), side == 2, scores, mask, 0);
}

/* ---- the scores ---- */

/* Finds the mask that op applies to the scores x. */
static bool find_mask(const struct op *op, const struct value *x, struct mask *mask)
{
        const struct type *t = x->type;
        int other = op_operand(op, 0) == x;
        if (op->code == OP_add)
                return find_added((struct view){ op_operand(op, other), ROW, COLUMN }, t, mask);
        if (op->code != OP_select || op_operand(op, 0) == x)
                return false;
        int side = hidden_side(op, mask);
        return side > 0 && op_operand(op, 3 - side) == x &&
               find_condition((struct view){ op_operand(op, 0), ROW, COLUMN }, side == 2, t, mask,
                              0);
}

/* Do scores of -inf stay -inf after op? *alone: op reads no other tensor, so finite masks keep
 * hiding as well. */
static bool stays_hidden(const struct op *op, const struct value *x, bool *alone)
{
        double number;
        int other = op_operand(op, 0) == x;
        struct mask mask = { .finite = false };
        bool splat = op->operand_count == 2 && value_is_splat(op_operand(op, other), &number);
        *alone = splat && isfinite(number);
        if (op->code == OP_select) {
                int side = hidden_side(op, &mask);
                return side > 0 && op_operand(op, 3 - side) == x && !mask.finite;
        }
        if (op->code == OP_mul || op->code == OP_div)
                return *alone && number > 0 && (op->code == OP_mul || other == 1);
        return op->code == OP_add;
}

struct band attention_band_open(const struct attention *a)
{
        struct band exact = everything, finite = everything;
        bool others = false;            /* This is set where something else than finite masks is
                                         * applied to the scores. */
        int finite_masks = 0;
        for (const struct value *x = op_result(a->first); x != a->scores;) {
                const struct op *op = x->uses->user;
                struct mask mask = { .band = everything };
                bool alone;
                if (find_mask(op, x, &mask)) {
                        narrow(mask.finite ? &finite : &exact, mask.band);
                        finite_masks += mask.finite;
                        others |= !mask.finite || mask.empty_rows;
                } else if (stays_hidden(op, x, &alone)) {
                        others |= !alone;
                } else {
                        exact = finite = everything;
                        others = true;
                }
                x = op_result(op);
        }
        const struct module *m = op_module(a->first);
        const dim_t all = a->scores->type->dims[ROW];
        int64_t rows = dim_bound(m, all),
                last_column = dim_bound(m, a->scores->type->dims[COLUMN]) - 1;
        bool all_see = finite.low <= finite.high && finite.high >= 0 &&
                       finite.rows - 1 + finite.low <= last_column;
        if (finite_masks == 1 && !others && all_see)
                narrow(&exact, finite);
        if (!exact.rows || rows % exact.rows)
                exact = (struct band){ -FAR, FAR, rows, all, dim_of(0) };
        return exact;
}

struct band attention_band(const struct attention *a)
{
        const struct band band = attention_band_open(a);
        const dim_t all = a->scores->type->dims[ROW];
        if (dim_is(band.shift, 0) && (dim_is_static(band.turn) || dim_equal(band.turn, all)))
                return band;
        return (struct band){ -FAR, FAR, dim_bound(op_module(a->first), all), all, dim_of(0) };
}
