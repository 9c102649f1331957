/* SPDX-License-Identifier: MIT */
/* Lowering of operations that move elements: the element of the result is an element of an operand,
 * at another index.
 *
 * Guards are choices, never arithmetic on what was read: an element outside its operand is not
 * loaded. */
#include "ir/lower/lower_emit.h"
#include "ir/tensor/ops.h"

static const struct type *operand_type(const struct op *op, int i)
{
        return op_operand(op, i)->type;
}

static struct loop_expr *zero(struct emit *e, enum element element)
{
        return loop_literal(e->arena, LOOP_TYPE(element_storage(element)),
                            (union scalar){ .u = 0 });
}

/* ---- shape ---- */

struct loop_expr *element_reshape(struct emit *e, const struct op *op, int result,
                                  struct loop_expr *const *index)
{
        const struct value *x = op_operand(op, 0);
        const struct type *from = op->results[result].type, *to = x->type;
        struct loop_expr *moved[RANK_MAX];
        if (emit_local(e, x)->splits)
                emit_reindex(e, from->rank, from->dims, index, to->rank, to->dims, moved);
        else                            /* This way needs no quotients. */
                emit_flat_index(e, to, emit_position(e, from->rank, from->dims, index), moved);
        return emit_element(e, x, moved);
}

struct loop_expr *element_transpose(struct emit *e, const struct op *op, int result,
                                    struct loop_expr *const *index)
{
        const int64_t *perm = op_ints(op, "perm", NULL);
        struct loop_expr *moved[RANK_MAX];
        for (int d = 0; d < op->results[result].type->rank; d++)
                moved[perm[d]] = index[d];
        return emit_element(e, op_operand(op, 0), moved);
}

struct loop_expr *element_broadcast(struct emit *e, const struct op *op, int result,
                                    struct loop_expr *const *index)
{
        (void)result;
        const int64_t *dims = op_ints(op, "dims", NULL);
        const struct type *x = operand_type(op, 0);
        struct loop_expr *moved[RANK_MAX];
        for (int k = 0; k < x->rank; k++)
                moved[k] = dim_is(x->dims[k], 1) ? emit_int(e, 0) : index[dims[k]];
        return emit_element(e, op_operand(op, 0), moved);
}

/* ---- slice ---- */

struct bounds { struct loop_expr *start[RANK_MAX], *step[RANK_MAX]; };

/* Checks 0 <= start < extent and 0 <= start + (size - 1) * step < extent, without overflow. */
static void check_bounds(struct emit *e, struct loop_expr *start, struct loop_expr *step,
                         struct loop_expr *size, struct loop_expr *extent)
{
        int64_t count;
        struct loop_expr *wrong = emit_op(e, LOOP_OR, emit_op_int(e, LOOP_LT, start, 0),
                                          emit_op(e, LOOP_GE, start, extent));
        emit_fail_if(e, wrong, FAIL_INDEX);
        if (loop_is_int(size, &count) && count < 2)
                return;
        struct loop_expr *least = emit_op(e, LOOP_SUB, emit_number(e, E_I64, 0), extent);
        wrong = emit_op(e, LOOP_OR, emit_op(e, LOOP_LE, step, least),
                        emit_op(e, LOOP_GE, step, extent));
        if (!loop_is_int(size, &count))
                wrong = emit_op(e, LOOP_AND, emit_op_int(e, LOOP_GT, size, 1), wrong);
        emit_fail_if(e, wrong, FAIL_INDEX);
        struct loop_expr *steps = emit_op_int(e, LOOP_SUB, size, 1);
        struct loop_expr *last = emit_op(e, LOOP_ADD, start, emit_op(e, LOOP_MUL, step, steps));
        last = emit_let(e, "last", last);
        wrong = emit_op(e, LOOP_OR, emit_op_int(e, LOOP_LT, last, 0),
                        emit_op(e, LOOP_GE, last, extent));
        emit_fail_if(e, wrong, FAIL_INDEX);
}

/* Returns the extent of a dimension as i64, as run-time amounts are. */
static struct loop_expr *extent_i64(struct emit *e, const struct type *t, int d)
{
        return dim_is_static(t->dims[d]) ? emit_number(e, E_I64, type_extent(t, d))
                                         : loop_cast(e->arena, E_I64, emit_extent(e, t, d));
}

/* Does a slice from a known start in steps of 1 stay inside x in every run that has elements of it?
 * Its extent is that of x, less `behind` elements at most. */
static bool stays_inside(struct emit *e, const struct op *op, int d, struct loop_expr *start,
                         struct loop_expr *step)
{
        dim_t x = operand_type(op, 0)->dims[d], y = op_result(op)->type->dims[d];
        int64_t first, by, behind = 0;
        if (!loop_is_int(start, &first) || !loop_is_int(step, &by) || by != 1 || first < 0)
                return false;
        const struct dim_expr *term = dim_is_static(y) ? NULL : dim_term(e->m, y);
        if (term && term->kind == DIM_SUB && dim_equal(term->a, x) && dim_is_static(term->b))
                behind = dim_extent(term->b);
        else if (!dim_equal(x, y))
                return first + dim_bound(e->m, y) <= dim_least(e->m, x);
        return first <= behind;
}

/* Checks the bounds of dimension d, in runs where the result has elements at all. */
static void check_slice(struct emit *e, const struct op *op, int d, struct loop_expr *start,
                        struct loop_expr *step)
{
        const struct type *x = operand_type(op, 0), *y = op_result(op)->type;
        bool some = true;               /* Has it elements in every run? */
        for (int k = 0; k < y->rank; k++)
                some = some && (dim_is_static(y->dims[k]) || dim_least(e->m, y->dims[k]) > 0);
        if (e->options->unchecked || (!type_is_static(y) && stays_inside(e, op, d, start, step)))
                return;
        if (!some)
                emit_if(e, emit_op_int(e, LOOP_GT, emit_elements(e, y), 0));
        check_bounds(e, start, step, extent_i64(e, y, d), extent_i64(e, x, d));
        if (!some)
                emit_end(e);
}

/* Returns slice bounds: known ones, or ones that are read and checked once before all loops. The
 * type rule has checked known ones. */
static const struct bounds *slice_bounds(struct emit *e, const struct op *op)
{
        void **state = emit_state(e, op);
        if (*state)
                return *state;
        struct bounds *b = *state = ARENA_NEW(e->arena, struct bounds);
        const struct value *starts = op_operand(op, 1), *steps = op_operand(op, 2);
        struct scope *saved = emit_prologue(e);
        for (int d = 0; d < operand_type(op, 0)->rank; d++) {
                const struct type *x = operand_type(op, 0);
                int64_t known, extent = dim_bound(e->m, x->dims[d]);
                struct loop_expr *start = emit_amount(e, "start", starts, d);
                struct loop_expr *step = emit_amount(e, "step", steps, d);
                check_slice(e, op, d, start, step);
                if (loop_is_int(start, &known) && (known < 0 || known >= extent))
                        /* The check above has failed. */
                        start = emit_number(e, E_I64, 0);
                b->start[d] = emit_let(e, "start", loop_cast(e->arena, E_INDEX, start));
                b->step[d] = emit_let(e, "step", loop_cast(e->arena, E_INDEX, step));
        }
        emit_resume(e, saved);
        return b;
}

struct loop_expr *element_slice(struct emit *e, const struct op *op, int result,
                                struct loop_expr *const *index)
{
        (void)result;
        const struct bounds *b = slice_bounds(e, op);
        struct loop_expr *moved[RANK_MAX];
        for (int d = 0; d < operand_type(op, 0)->rank; d++)
                moved[d] = emit_op(e, LOOP_ADD, emit_op(e, LOOP_MUL, index[d], b->step[d]),
                                   b->start[d]);
        return emit_element(e, op_operand(op, 0), moved);
}

/* ---- pad ---- */

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP };

/* Negative amounts crop first; what is padded then has `kept` elements, from `first` on. */
struct pad_amount { struct loop_expr *low, *first, *kept; };
struct pad_amounts { struct pad_amount dim[RANK_MAX]; };

/* Returns the amount in front. Amounts beyond the shapes make no sense, and their sums with an
 * index could overflow. */
static struct loop_expr *pad_low(struct emit *e, const struct op *op, int d)
{
        const struct type *x = operand_type(op, 0), *y = op_result(op)->type;
        int64_t extent = dim_bound(e->m, x->dims[d]), size = dim_bound(e->m, y->dims[d]), known;
        struct loop_expr *low = emit_amount(e, "low", op_operand(op, 2), d);
        struct loop_expr *wrong = emit_op(e, LOOP_OR, emit_op_int(e, LOOP_LT, low, -extent),
                                          emit_op_int(e, LOOP_GT, low, size));
        emit_fail_if(e, wrong, FAIL_EXTENT);
        if (loop_is_int(low, &known) && (known < -extent || known > size))
                low = emit_number(e, E_I64, 0); /* The check has failed; a 0 keeps numbers small. */
        return emit_let(e, "low", loop_cast(e->arena, E_INDEX, low));
}

static const struct pad_amounts *pad_amounts(struct emit *e, const struct op *op)
{
        void **state = emit_state(e, op);
        int64_t mode = op_int(op, "mode");
        if (*state)
                return *state;
        struct pad_amounts *amounts = *state = ARENA_NEW(e->arena, struct pad_amounts);
        struct scope *saved = emit_prologue(e);
        for (int d = 0; d < operand_type(op, 0)->rank; d++) {
                const struct type *x = operand_type(op, 0), *y = op_result(op)->type;
                struct pad_amount *a = &amounts->dim[d];
                a->low = pad_low(e, op, d);
                if (mode == PAD_CONSTANT || dim_is(x->dims[d], 0) || dim_is(y->dims[d], 0))
                        continue;
                struct loop_expr *extent = emit_extent(e, x, d), *size = emit_extent(e, y, d);
                struct loop_expr *less = emit_op(e, LOOP_SUB, emit_int(e, 0), a->low),
                                 *end = emit_op(e, LOOP_SUB, size, a->low);
                a->first = emit_let(e, "first", emit_op_int(e, LOOP_MAX, less, 0));
                end = emit_op(e, LOOP_MIN, end, extent);
                a->kept = emit_let(e, "kept", emit_op(e, LOOP_SUB, end, a->first));
                emit_fail_if(e, emit_op_int(e, LOOP_LT, a->kept, 1), FAIL_EXTENT);
        }
        emit_resume(e, saved);
        return amounts;
}

/* Returns a modulo n, which is never negative; `at_least`: a's least value, when all is known. */
static struct loop_expr *modulo(struct emit *e, struct loop_expr *a, struct loop_expr *n,
                                bool known, int64_t at_least)
{
        int64_t number = 1;
        known = known && loop_is_int(n, &number) && number > 0;
        if (known && at_least < 0)
                a = emit_op_int(e, LOOP_ADD, a, divide_up(-at_least, number) * number);
        struct loop_expr *m = emit_op(e, LOOP_REM, a, n);
        return known ? m : emit_op(e, LOOP_REM, emit_op(e, LOOP_ADD, m, n), n);
}

/* Brings j, an index of what is kept, inside; first, last: its bounds when known, with `extent`. */
static struct loop_expr *reflected(struct emit *e, struct loop_expr *j,
                                   const struct pad_amount *amount, bool known, int64_t extent,
                                   int64_t first, int64_t last)
{
        int64_t period = 2 * (extent - 1);
        struct loop_expr *turn =
                emit_op_int(e, LOOP_MUL, emit_op_int(e, LOOP_SUB, amount->kept, 1), 2);
        bool above = last >= extent || -first >= extent;
        if (known && !period)
                return emit_int(e, 0);
        /* There is one mirror on each side. */
        if (known && first >= -period && last <= period) {
                j = emit_let_early(e, "p", j);
                if (first < 0)
                        j = emit_op(e, LOOP_MAX, j, emit_op(e, LOOP_SUB, emit_int(e, 0), j));
        } else {
                j = modulo(e, j, turn, known, first);
                above = true;
        }
        j = emit_let_early(e, "p", j);
        if (above)
                j = emit_op(e, LOOP_MIN, j, emit_op(e, LOOP_SUB, turn, j));
        return j;
}

/* Brings j = i - low of one dimension into what is kept of 0 .. extent - 1. */
static struct loop_expr *pad_inside(struct emit *e, enum pad_mode mode, struct loop_expr *j,
                                    dim_t padded, const struct pad_amount *amount)
{
        int64_t low = 0, kept = 0, start = 0, size = dim_bound(e->m, padded);
        bool known = loop_is_int(amount->low, &low) && loop_is_int(amount->kept, &kept) &&
                     loop_is_int(amount->first, &start) && dim_is_static(padded);
        j = emit_op(e, LOOP_SUB, j, amount->first);
        /* These bounds of j hold when all is known. */
        int64_t first = -low - start, last = first + size - 1;
        bool below = !known || first < 0, above = !known || last >= kept;
        if (mode == PAD_EDGE && below)
                j = emit_op_int(e, LOOP_MAX, j, 0);
        if (mode == PAD_EDGE && above)
                j = emit_op(e, LOOP_MIN, j, emit_op_int(e, LOOP_SUB, amount->kept, 1));
        if (mode == PAD_WRAP && (below || above))
                j = modulo(e, j, amount->kept, known, first);
        if (mode == PAD_REFLECT && (below || above))
                j = reflected(e, j, amount, known, kept, first, last);
        j = emit_op(e, LOOP_ADD, j, amount->first);
        return below || above ? emit_let_early(e, "p", j) : j;
}

struct pad { const struct op *op; struct loop_expr *moved[RANK_MAX]; };

static struct loop_expr *pad_arm(struct emit *e, void *context, int inside)
{
        struct pad *pad = context;
        const struct value *x = op_operand(pad->op, 0), *value = op_operand(pad->op, 1);
        if (inside)
                return emit_element(e, x, pad->moved);
        return value ? emit_element(e, value, NULL) : zero(e, x->type->element);
}

struct loop_expr *element_pad(struct emit *e, const struct op *op, int result,
                              struct loop_expr *const *index)
{
        const struct type *x = operand_type(op, 0), *y = op->results[result].type;
        enum pad_mode mode = (enum pad_mode)op_int(op, "mode");
        const struct pad_amounts *amounts = pad_amounts(e, op);
        struct pad pad = { .op = op };
        struct loop_expr *inside =
                loop_literal(e->arena, LOOP_TYPE(E_BOOL), (union scalar){ .u = 1 });
        for (int d = 0; d < x->rank; d++) {
                const struct pad_amount *a = &amounts->dim[d];
                int64_t amount = 0;
                bool known = loop_is_int(a->low, &amount);
                struct loop_expr *j = emit_op(e, LOOP_SUB, index[d], a->low);
                if (dim_is(x->dims[d], 0))
                        inside = emit_op_int(e, LOOP_AND, inside, 0);
                if (a->kept)
                        j = pad_inside(e, mode, j, y->dims[d], a);
                if (mode == PAD_CONSTANT && (!known || amount > 0))
                        inside = emit_op(e, LOOP_AND, inside, emit_op_int(e, LOOP_GE, j, 0));
                int64_t more;           /* Loops of dimensions that nothing is put around may be
                                         * joined. */
                bool fits = known && dim_difference(e->m, y->dims[d], x->dims[d], &more) &&
                            more <= amount;
                if (mode == PAD_CONSTANT && !fits)
                        inside = emit_op(e, LOOP_AND, inside,
                                         emit_op(e, LOOP_LT, j, emit_extent(e, x, d)));
                pad.moved[d] = j;
        }
        return emit_choose(e, inside, pad_arm, &pad);
}

/* ---- concat ---- */

/* Operands first .. last - 1 begin at offsets[]; halving them keeps the choices shallow. */
struct concat {
        const struct op *op;
        struct loop_expr *const *offsets;
        struct loop_expr *const *index;
        int axis, first, last;
};

static struct loop_expr *concat_range(struct emit *e, const struct concat *c);

static struct loop_expr *concat_arm(struct emit *e, void *context, int low)
{
        struct concat half = *(const struct concat *)context;
        int middle = (half.first + half.last) / 2;
        if (low)
                half.last = middle;
        else
                half.first = middle;
        return concat_range(e, &half);
}

static struct loop_expr *concat_range(struct emit *e, const struct concat *c)
{
        if (c->last - c->first == 1) {
                const struct value *x = op_operand(c->op, c->first);
                struct loop_expr *moved[RANK_MAX];
                for (int d = 0; d < x->type->rank; d++)
                        moved[d] = c->index[d];
                if (dim_is(x->type->dims[c->axis], 0))
                        return zero(e, x->type->element);
                moved[c->axis] = emit_op(e, LOOP_SUB, moved[c->axis], c->offsets[c->first]);
                return emit_element(e, x, moved);
        }
        struct concat half = *c;
        struct loop_expr *low =
                emit_op(e, LOOP_LT, c->index[c->axis], c->offsets[(c->first + c->last) / 2]);
        return emit_choose(e, low, concat_arm, &half);
}

struct loop_expr *element_concat(struct emit *e, const struct op *op, int result,
                                 struct loop_expr *const *index)
{
        (void)result;
        struct concat c = { .op = op, .index = index, .axis = (int)op_int(op, "axis"),
                            .last = op->operand_count };
        struct loop_expr **offsets = *emit_state(e, op);
        if (!offsets) {
                offsets = arena_array(e->arena, (size_t)op->operand_count, sizeof *offsets);
                *emit_state(e, op) = offsets;
                struct scope *saved = emit_prologue(e);
                offsets[0] = emit_int(e, 0);
                for (int k = 1; k < op->operand_count; k++) {
                        struct loop_expr *before = emit_extent(e, operand_type(op, k - 1), c.axis);
                        offsets[k] =
                                emit_let(e, "behind", emit_op(e, LOOP_ADD, offsets[k - 1], before));
                }
                emit_resume(e, saved);
        }
        c.offsets = offsets;
        return concat_range(e, &c);
}

/* ---- gather ---- */

/* Fails if the operand has no elements to gather: any index is out of range then. */
static bool nothing_to_gather(struct emit *e, const struct op *op)
{
        if (!type_is_empty(operand_type(op, 0)))
                return false;
        struct scope *saved = emit_prologue(e);
        if (!*emit_state(e, op))
                emit_fail_if(e, loop_literal(e->arena, LOOP_TYPE(E_BOOL), (union scalar){ .u = 1 }),
                             FAIL_INDEX);
        *emit_state(e, op) = e;
        emit_resume(e, saved);
        return true;
}

struct loop_expr *element_gather(struct emit *e, const struct op *op, int result,
                                 struct loop_expr *const *index)
{
        const struct value *x = op_operand(op, 0), *indices = op_operand(op, 1);
        int axis = (int)op_int(op, "axis"), q = indices->type->rank;
        if (nothing_to_gather(e, op))
                return zero(e, op->results[result].type->element);
        struct loop_expr *moved[RANK_MAX];
        for (int d = 0; d < axis; d++)
                moved[d] = index[d];
        moved[axis] =
                emit_subscript(e, op, indices, index + axis, 0, 1, x->type->dims[axis]);
        for (int d = axis + 1; d < x->type->rank; d++)
                moved[d] = index[d - 1 + q];
        return emit_element(e, x, moved);
}

struct loop_expr *element_gather_elements(struct emit *e, const struct op *op, int result,
                                          struct loop_expr *const *index)
{
        const struct value *x = op_operand(op, 0);
        int axis = (int)op_int(op, "axis");
        if (nothing_to_gather(e, op))
                return zero(e, op->results[result].type->element);
        struct loop_expr *moved[RANK_MAX];
        for (int d = 0; d < x->type->rank; d++)
                moved[d] = d != axis ? index[d]
                                     : emit_subscript(e, op, op_operand(op, 1), index, 0, 1,
                                                      x->type->dims[d]);
        return emit_element(e, x, moved);
}

struct loop_expr *element_gather_nd(struct emit *e, const struct op *op, int result,
                                    struct loop_expr *const *index)
{
        const struct value *x = op_operand(op, 0), *indices = op_operand(op, 1);
        int batch = (int)op_int(op, "batch_dims"), outer = indices->type->rank - 1;
        int tuple = (int)type_extent(indices->type, outer);
        if (nothing_to_gather(e, op))
                return zero(e, op->results[result].type->element);
        struct loop_expr *moved[RANK_MAX], *at[RANK_MAX];
        for (int d = 0; d < outer; d++)
                at[d] = index[d];
        for (int d = 0; d < x->type->rank; d++) {
                if (d < batch) {
                        moved[d] = index[d];
                } else if (d < batch + tuple) {
                        at[outer] = emit_int(e, d - batch);
                        moved[d] = emit_subscript(e, op, indices, at, d - batch, tuple,
                                                  x->type->dims[d]);
                } else {
                        moved[d] = index[outer + d - batch - tuple];
                }
        }
        return emit_element(e, x, moved);
}
