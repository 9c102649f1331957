/* SPDX-License-Identifier: MIT */
#include "kernels/access.h"

#include <string.h>

#include "ir/tensor/relation.h"

static void row_major(const struct type *t, struct access *access)
{
        int64_t stride = 1;
        access->offset = 0;
        for (int d = t->rank - 1; d >= 0; d--) {
                access->stride[d] = stride;
                stride *= type_extent(t, d);
        }
}

/* Computes the strides of a value with dims `from` when it is seen with dims `to`. Returns false
 * where a dimension of `to` would need two strides. Runs of dimensions of equal product are
 * matched; within a run the dimensions of `from` must be contiguous. */
bool access_reshape(const struct type *from, int rank, const dim_t *dims, int64_t *stride)
{
        int64_t old[RANK_MAX];
        for (int d = 0; d < from->rank; d++)
                old[d] = stride[d];
        int i = 0, j = 0;
        while (j < rank) {
                if (dim_is(dims[j], 1)) {
                        stride[j++] = 0;
                        continue;
                }
                while (i < from->rank && dim_is(from->dims[i], 1))
                        i++;
                if (i == from->rank)
                        return false;
                int64_t a = type_extent(from, i), b = dim_extent(dims[j]);
                int last_i = i, last_j = j;
                while (a != b) {
                        if (a < b && last_i + 1 < from->rank)
                                a *= type_extent(from, ++last_i);
                        else if (a > b && last_j + 1 < rank)
                                b *= dim_extent(dims[++last_j]);
                        else
                                return false;
                }
                int64_t step = old[last_i], extent = 1;
                for (int k = last_i; k >= i; k--) {     /* All dimensions of the run in `from` must
                                                         * be contiguous. */
                        if (!dim_is(from->dims[k], 1) && extent != 1 && old[k] != step * extent)
                                return false;
                        if (!dim_is(from->dims[k], 1) && extent == 1)
                                step = old[k];
                        extent *= type_extent(from, k);
                }
                for (int k = last_j; k >= j; k--) {
                        stride[k] = step;
                        step *= dim_extent(dims[k]);
                }
                i = last_i + 1;
                j = last_j + 1;
        }
        return true;
}

static bool reshape_strides(const struct type *from, const struct type *to, int64_t *stride)
{
        return access_reshape(from, to->rank, to->dims, stride);
}

static bool is_inside(const struct region *region, const struct value *v)
{
        return region && v->kind == VALUE_RESULT && v->op->region == region;
}

static bool read_through(const struct region *region, struct value *v, bool pads,
                         struct access *access)
{
        struct relation r;
        int64_t stride[RANK_MAX];
        if (!is_inside(region, v)) {
                access->value = v;
                row_major(v->type, access);
                return v->kind != VALUE_CONSTANT || v->constant->kind == CONSTANT_DENSE;
        }
        const struct op *op = v->op;
        int64_t lows[RANK_MAX];
        if (op->code == OP_reshape)
                return read_through(region, op_operand(op, 0), pads, access) &&
                       reshape_strides(op_operand(op, 0)->type, v->type, access->stride);
        if (pads && op->code == OP_pad && relation_surrounds_zeros(op, lows)) {
                for (int d = 0; d < v->type->rank; d++)
                        if (lows[d])
                                return false;
                return read_through(region, op_operand(op, 0), pads, access);
        }
        if (!relation_moves(op, &r) || !read_through(region, op_operand(op, 0), pads, access))
                return false;
        for (int k = 0; k < v->type->rank; k++) {
                const struct along *a = &r.along[k];
                access->offset += a->low * access->stride[k];
                stride[a->from] = a->scale * access->stride[k];
        }
        memcpy(access->stride, stride, (size_t)v->type->rank * sizeof *stride);
        return true;
}

bool access_read(const struct region *region, struct value *v, struct access *access)
{
        return read_through(region, v, false, access);
}

bool access_read_inside(const struct region *region, struct value *v, struct access *access)
{
        return read_through(region, v, true, access);
}

/* Derives the strides of the operand of a transpose or a pad from those of its result. */
static void store_through(const struct op *op, struct access *access)
{
        struct relation r;
        int64_t stride[RANK_MAX];
        int rank = op_result(op)->type->rank;
        relation_of(op, 0, &r);
        for (int k = 0; k < rank; k++) {
                stride[k] = access->stride[r.along[k].from];
                access->offset -= r.along[k].low * stride[k];
        }
        memcpy(access->stride, stride, (size_t)rank * sizeof *stride);
}

static bool is_halo(const struct op *op)
{
        int64_t lows[RANK_MAX];
        return relation_surrounds(op, lows) && value_is_splat(op_operand(op, 1), NULL);
}

bool access_store(const struct region *region, struct value *result, struct value **v,
                  struct access *access, struct op **pad)
{
        access->value = result;
        row_major(result->type, access);
        *pad = NULL;
        for (*v = result; is_inside(region, *v); *v = op_operand((*v)->op, 0)) {
                struct op *op = (*v)->op;
                switch (op->code) {
                case OP_reshape:
                        if (!reshape_strides((*v)->type, op_operand(op, 0)->type, access->stride))
                                return false;
                        break;
                case OP_pad:
                        if (*pad || *v != result || !is_halo(op))
                                return false;
                        *pad = op;
                        store_through(op, access);
                        break;
                case OP_transpose:
                        store_through(op, access);
                        break;
                default:
                        return true;
                }
        }
        return true;
}
