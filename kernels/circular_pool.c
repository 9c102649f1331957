/* SPDX-License-Identifier: MIT */
/* Reduces rows as circular buffers pass them on, so that a global pool needs none of them later:
 *
 *      sums = identity
 *      for row:
 *        the row of x, in its circular buffer
 *        sums[channel] = combine(sums[channel], x[row, column, channel]), for all columns
 *      result[channel] = epilogue(sums[channel])
 *
 * Each sum is combined in the order of the canonical nest, rows first, so results are the same to
 * the bit. */
#include "kernels/circular_pool.h"

#include "base/size.h"
#include "ir/tensor/relation.h"

enum { FIRST_REDUCED = 2 };             /* Images and blocks of channels are not reduced. */

/* Finds which dimensions of its operand the reduction reduces, wholly. Returns false where it does
 * not reduce rows, or only parts. */
static bool find_reduced(struct circular_pool *pool)
{
        const struct op *op = pool->op;
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type;
        int64_t axes[RANK_MAX];
        int count = 0;
        pool->reduced = 0;
        if (op->code == OP_reduce) {
                if (!value_ints(op_operand(op, 1), axes, RANK_MAX, &count))
                        return false;
                for (int i = 0; i < count; i++)
                        pool->reduced |= 1u << axes[i];
        } else if (op->code == OP_reduce_window) {
                struct relation r;
                if (y->rank != x->rank || !relation_of(op, 0, &r) || r.in_order)
                        return false;
                for (int d = 0; d < x->rank; d++) {
                        const struct along *a = &r.along[d];
                        if (a->window == 1 && dim_equal(x->dims[d], y->dims[d]))
                                continue;
                        if (a->low || a->dilation != 1 || a->spread != 1 ||
                            !dim_is(y->dims[d], 1) || !dim_is(x->dims[d], a->window))
                                return false;
                        pool->reduced |= 1u << d;
                }
        }
        return pool->reduced >> FIRST_REDUCED & 1 && !(pool->reduced & ((1u << FIRST_REDUCED) - 1));
}

/* Does op compute its result element by element? */
static bool is_plain(const struct op *op)
{
        return op->result_count == 1 &&
               (op_info[op->code].traits & TRAIT_ELEMENTWISE || op->code == OP_broadcast);
}

/* Does op read a value that the region makes from `from` on and before `end`? */
static bool reads_between(const struct op *op, const struct op *from, const struct op *end)
{
        for (const struct op *other = from; other && other != end; other = other->next)
                for (int i = 0; i < op->operand_count; i++)
                        if (op_operand(op, i) == op_result(other))
                                return true;
        return false;
}

bool circular_pool_find(struct circular_pool *pool, const struct region *region,
                        struct value *rows, struct value *result)
{
        const struct op *first = rows->op->next;
        *pool = (struct circular_pool){ .rows = rows, .result = result };
        for (const struct op *op = first; op && op->code != OP_yield; op = op->next) {
                if (op->code == OP_reduce || op->code == OP_reduce_window) {
                        if (pool->op)
                                return false;
                        pool->op = op;
                        continue;
                }
                if (!is_plain(op))
                        return false;
                /* Before the reduction all is computed in the shape of the rows, and behind it of
                 * the reduction alone. */
                if (pool->op ? reads_between(op, rows->op, pool->op)
                             : !type_same_dims(op_result(op)->type, rows->type))
                        return false;
        }
        return pool->op && result->kind == VALUE_RESULT && result->op->region == region &&
               type_is_static(op_result(pool->op)->type) &&
               element_storage(op_result(pool->op)->type->element) == op_accumulator(pool->op) &&
               type_same_dims(op_operand(pool->op, 0)->type, rows->type) &&
               type_same_dims(op_result(pool->op)->type, result->type) && find_reduced(pool);
}

static int64_t sum_count(const struct circular_pool *pool)
{
        const struct type *y = op_result(pool->op)->type;
        return type_elements(y) / type_extent(y, 0);
}

int64_t circular_pool_bytes(const struct circular_pool *pool)
{
        return sum_count(pool) * element_info[op_accumulator(pool->op)].bytes;
}

void circular_pool_begin(struct circular_pool *pool, struct emit *e)
{
        const enum element accumulator = op_accumulator(pool->op);
        const enum reducer kind = (enum reducer)op_int(pool->op, "kind");
        const struct type *y = op_result(pool->op)->type;
        pool->sums = (struct emit_place){ .buffer = emit_scratch(e, "sums", accumulator,
                                                                 sum_count(pool)),
                                          .start = emit_int(e, 0) };
        int64_t stride = 1;
        for (int d = y->rank - 1; d > 0; d--) {
                pool->sums.stride[d] = stride;
                stride *= type_extent(y, d);
        }
        struct loop_expr *i = emit_for(e, "i", emit_int(e, 0), emit_int(e, sum_count(pool)));
        emit_store(e, pool->sums.buffer, i,
                   emit_identity(e, kind, op_result(pool->op)->type->element, accumulator));
        emit_end(e);
}

void circular_pool_row(struct circular_pool *pool, struct emit *e, struct loop_expr *image,
                       struct loop_expr *row)
{
        const struct type *x = pool->rows->type;
        const enum element accumulator = op_accumulator(pool->op);
        const bool keeps = pool->op->code == OP_reduce_window;
        struct loop_expr *index[RANK_MAX], *of[RANK_MAX];
        int kept = 0, opened = 0;
        for (int d = 0; d < x->rank; d++) {
                index[d] = d == 0               ? image
                           : d == FIRST_REDUCED ? row
                                                : emit_for(e, "i", emit_int(e, 0),
                                                           emit_int(e, type_extent(x, d)));
                opened += d != 0 && d != FIRST_REDUCED;
                if (!(pool->reduced >> d & 1))
                        of[kept++] = index[d];
                else if (keeps)
                        of[kept++] = emit_int(e, 0);
        }
        struct loop_expr *at = emit_at(e, &pool->sums, kept, of);
        struct loop_expr *args[] = { loop_load(e->arena, pool->sums.buffer, at),
                                     emit_as(e, accumulator, op_operand(pool->op, 0), index) };
        emit_store(e, pool->sums.buffer, at,
                   emit_formula(e, reducer_info[op_int(pool->op, "kind")].formula, args, 2));
        while (opened-- > 0)
                emit_end(e);
}

void circular_pool_end(struct circular_pool *pool, struct emit *e, struct loop_expr *image,
                       struct loop_buffer *result)
{
        const struct value *sum = op_result(pool->op);
        const struct type *y = sum->type;
        struct loop_expr *index[RANK_MAX];
        for (int d = 0; d < y->rank; d++)
                index[d] = d ? emit_for(e, "i", emit_int(e, 0), emit_int(e, type_extent(y, d)))
                             : image;
        emit_local(e, sum)->place = &pool->sums;
        emit_store(e, result, emit_position(e, y->rank, pool->result->type->dims, index),
                   emit_element(e, pool->result, index));
        for (int d = 1; d < y->rank; d++)
                emit_end(e);
}
