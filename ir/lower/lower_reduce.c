/* SPDX-License-Identifier: MIT */
/* Lowering of reductions along axes: each element of the result has an accumulator, with loops over
 * the axes in ascending order. */
#include <math.h>
#include <string.h>

#include "ir/lower/lower_emit.h"
#include "ir/tensor/ops.h"

/* ---- reducers ---- */

static union scalar limit(enum element element, bool high)
{
        int bits = 8 * element_info[element].bytes;
        switch (element_info[element].class) {
        case CLASS_FLOAT: return (union scalar){ .f = high ? INFINITY : -INFINITY };
        case CLASS_UINT: return (union scalar){ .u = high ? ~UINT64_C(0) >> (64 - bits) : 0 };
        case CLASS_BOOL: return (union scalar){ .u = high };
        default: break;
        }
        int64_t highest = (int64_t)(~UINT64_C(0) >> (65 - bits));
        return (union scalar){ .i = high ? highest : -highest - 1 };
}

struct loop_expr *emit_identity(struct emit *e, enum reducer kind, enum element element,
                                enum element compute)
{
        const char *identity = reducer_info[kind].identity;
        if (!strcmp(identity, "lowest") || !strcmp(identity, "highest"))
                return loop_literal(e->arena, LOOP_TYPE(compute),
                                    limit(element, !strcmp(identity, "highest")));
        return emit_number(e, compute, identity[0] - '0');
}

/* ---- reduce ---- */

/* The elements of x that become the element at `index` of the result lie at one index, or from ..
 * to - 1. */
struct span { struct loop_expr *from[RANK_MAX], *to[RANK_MAX]; };

/* Joins neighbours that both vanish (but for extents of 1 between them) into one loop over all of
 * their elements, unless x needs their indices apart. */
static void join_neighbours(struct emit *e, const struct op *op, const bool *reduced,
                            struct span *span)
{
        const struct type *x = op_operand(op, 0)->type;
        unsigned splits = emit_local(e, op_operand(op, 0))->splits;
        struct loop_expr *joined = emit_int(e, 1);
        for (int d = 0, before = -1; d < x->rank; d++) {
                if (dim_is(x->dims[d], 1))
                        continue;
                unsigned between =
                        before < 0 ? 0 : (splits >> (before + 1)) & ((1u << (d - before)) - 1);
                bool joins = before >= 0 && reduced[d] && reduced[before] && !between;
                struct loop_expr *extent = emit_extent(e, x, d);
                joined = joins ? emit_op(e, LOOP_MUL, joined, extent) : extent;
                if (joins) {
                        span->from[before] = emit_int(e, 0);
                        span->to[before] = NULL;
                        span->to[d] = joined;
                }
                before = d;
        }
}

/* Finds the span for known axes: the kept dimensions are the result's, or have its elements in
 * another shape. */
static void span_known(struct emit *e, const struct op *op, const int64_t *axes, int count,
                       struct loop_expr *const *index, struct span *span)
{
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type;
        bool reduced[RANK_MAX] = { false };
        for (int i = 0; i < count; i++)
                reduced[axes[i] < 0 ? axes[i] + x->rank : axes[i]] = true;
        dim_t dims[RANK_MAX];
        struct loop_expr *kept[RANK_MAX];
        int rank = 0;
        for (int d = 0; d < x->rank; d++)
                if (!reduced[d])
                        dims[rank++] = x->dims[d];
        emit_reindex(e, y->rank, y->dims, index, rank, dims, kept);
        rank = 0;
        for (int d = 0; d < x->rank; d++) {
                span->from[d] = reduced[d] ? emit_int(e, 0) : kept[rank++];
                span->to[d] = reduced[d] ? emit_extent(e, x, d) : NULL;
        }
        join_neighbours(e, op, reduced, span);
}

struct axes { struct loop_expr *reduced[RANK_MAX], *stride[RANK_MAX]; };

/* Returns axes that are known only at run time. Before all loops, a set of bits is computed for the
 * dimensions that vanish, and strides for where in the result an index of the others lies. */
static const struct axes *run_time_axes(struct emit *e, const struct op *op)
{
        void **state = emit_state(e, op);
        if (*state)
                return *state;
        struct axes *axes = *state = ARENA_NEW(e->arena, struct axes);
        const struct value *operand = op_operand(op, 1);
        const struct type *x = op_operand(op, 0)->type;
        struct scope *saved = emit_prologue(e);
        struct loop_variable *set =
                emit_var(e, "vanish", LOOP_TYPE(E_I64), emit_number(e, E_I64, 0));
        struct loop_expr *k =
                emit_for(e, "k", emit_int(e, 0), emit_elements(e, operand->type));
        struct loop_expr *axis = emit_let(e, "axis", emit_compute(e, operand, &k));
        emit_fail_if(e,
                     emit_op(e, LOOP_OR, emit_op_int(e, LOOP_LT, axis, -x->rank),
                             emit_op_int(e, LOOP_GE, axis, x->rank)),
                     FAIL_EXTENT);
        struct loop_expr *wrapped = loop_op(e->arena, LOOP_SELECT, emit_op_int(e, LOOP_LT, axis, 0),
                                            emit_op_int(e, LOOP_ADD, axis, x->rank), axis);
        struct loop_expr *bit =
                emit_let(e, "bit", emit_op(e, LOOP_SHL, emit_number(e, E_I64, 1), wrapped));
        struct loop_expr *twice = emit_op(e, LOOP_AND, loop_use(e->arena, set), bit);
        emit_fail_if(e, emit_op_int(e, LOOP_NE, twice, 0), FAIL_EXTENT);
        emit_set(e, set, emit_op(e, LOOP_OR, loop_use(e->arena, set), bit));
        emit_end(e);
        struct loop_expr *stride = emit_int(e, 1);
        for (int d = x->rank - 1; d >= 0; d--) {
                struct loop_expr *mask =
                        emit_op_int(e, LOOP_AND, loop_use(e->arena, set), INT64_C(1) << d);
                axes->reduced[d] = emit_let(e, "reduced", emit_op_int(e, LOOP_NE, mask, 0));
                axes->stride[d] = stride;
                struct loop_expr *next = emit_op(e, LOOP_MUL, stride, emit_extent(e, x, d));
                stride = emit_let(e, "stride",
                                  loop_op(e->arena, LOOP_SELECT, axes->reduced[d], stride, next));
        }
        emit_fail_if(e, emit_op(e, LOOP_NE, stride, emit_elements(e, op_result(op)->type)),
                     FAIL_EXTENT);
        emit_resume(e, saved);
        return axes;
}

static void span_run_time(struct emit *e, const struct op *op, struct loop_expr *const *index,
                          struct span *span)
{
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type;
        const struct axes *axes = run_time_axes(e, op);
        struct loop_expr *p = emit_let_early(e, "p", emit_position(e, y->rank, y->dims, index));
        for (int d = 0; d < x->rank; d++) {
                struct loop_expr *reduced = axes->reduced[d], *zero = emit_int(e, 0);
                struct loop_expr *i = emit_op(e, LOOP_DIV, p, axes->stride[d]);
                i = emit_op(e, LOOP_REM, i, emit_extent(e, x, d));
                i = emit_let_early(e, "from", loop_op(e->arena, LOOP_SELECT, reduced, zero, i));
                struct loop_expr *one_more = emit_op_int(e, LOOP_ADD, i, 1);
                struct loop_expr *all = emit_extent(e, x, d);
                span->from[d] = i;
                span->to[d] = emit_let_early(e, "to", loop_op(e->arena, LOOP_SELECT, reduced, all,
                                                              one_more));
        }
}

struct loop_expr *element_reduce(struct emit *e, const struct op *op, int result,
                                 struct loop_expr *const *index)
{
        const struct value *x = op_operand(op, 0);
        enum reducer kind = (enum reducer)op_int(op, "kind");
        enum element to = op->results[result].type->element, accumulator = op_accumulator(op);
        struct loop_expr *identity = emit_identity(e, kind, to, accumulator), *at[RANK_MAX];
        int64_t known[RANK_MAX];
        int count;
        struct span span;
        if (value_ints(op_operand(op, 1), known, RANK_MAX, &count))
                span_known(e, op, known, count, index, &span);
        else
                span_run_time(e, op, index, &span);
        if (type_is_empty(x->type))
                return loop_cast(e->arena, to, identity);
        const char *name = kind == REDUCE_sum ? "sum" : kind == REDUCE_prod ? "product" : "best";
        struct loop_variable *so_far = emit_var(e, name, LOOP_TYPE(accumulator), identity);
        for (int d = 0; d < x->type->rank; d++)
                at[d] = span.to[d] ? emit_for(e, "k", span.from[d], span.to[d]) : span.from[d];
        struct loop_expr *args[] = { loop_use(e->arena, so_far),
                                     emit_as(e, accumulator, x, at) };
        emit_set(e, so_far, emit_formula(e, reducer_info[kind].formula, args, 2));
        for (int d = 0; d < x->type->rank; d++)
                if (span.to[d])
                        emit_end(e);
        return loop_cast(e->arena, to, loop_use(e->arena, so_far));
}
