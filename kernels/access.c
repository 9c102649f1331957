/* SPDX-License-Identifier: MIT */
#include "kernels/access.h"

#include <string.h>

#include "base/size.h"
#include "ir/target/schedule.h"
#include "ir/tensor/relation.h"

/* Returns the module of v; NULL: it is a constant. */
static struct module *module_of(const struct value *v)
{
        return v->kind == VALUE_RESULT     ? op_module(v->op)
               : v->kind == VALUE_ARGUMENT ? v->region->function->module
                                           : NULL;
}

static void row_major(const struct value *v, struct access *access)
{
        const struct type *t = v->type;
        int64_t stride = 1;
        dim_t pitch = dim_of(0);
        access->offset = 0;
        access->shift = dim_of(0);
        for (int d = t->rank - 1; d >= 0; d--) {
                access->stride[d] = stride;
                access->pitch[d] = pitch;
                if (dim_is_static(t->dims[d]))
                        stride *= type_extent(t, d);
                else
                        pitch = dim_is(pitch, 0) ? t->dims[d]
                                                 : dim_binary(module_of(v), DIM_MUL, pitch,
                                                              t->dims[d]);
        }
}

/* Computes the strides of a value with dims `from` when it is seen with dims `to`. Returns false
 * where a dimension of `to` would need two strides. Runs of dimensions of equal product are
 * matched; within a run the dimensions of `from` must be contiguous. */
static bool reshape_strides(const struct type *from, int rank, const dim_t *dims,
                            struct access *access)
{
        const struct access old = *access;
        int i = 0, j = 0;
        while (j < rank) {
                if (dim_is(dims[j], 1)) {
                        access->stride[j] = 0;
                        access->pitch[j++] = dim_of(0);
                        continue;
                }
                while (i < from->rank && dim_is(from->dims[i], 1))
                        i++;
                if (i == from->rank)
                        return false;
                if (!dim_is_static(dims[j])) {          /* An extent that a run gives stands for
                                                         * itself alone. */
                        if (!dim_equal(from->dims[i], dims[j]))
                                return false;
                        access->stride[j] = old.stride[i];
                        access->pitch[j++] = old.pitch[i++];
                        continue;
                }
                if (!dim_is_static(from->dims[i]))
                        return false;
                int64_t a = type_extent(from, i), b = dim_extent(dims[j]);
                int last_i = i, last_j = j;
                while (a != b) {
                        if (a < b && last_i + 1 < from->rank &&
                            dim_is_static(from->dims[last_i + 1]))
                                a *= type_extent(from, ++last_i);
                        else if (a > b && last_j + 1 < rank && dim_is_static(dims[last_j + 1]))
                                b *= dim_extent(dims[++last_j]);
                        else
                                return false;
                }
                int64_t step = old.stride[last_i], extent = 1;
                dim_t pitch = old.pitch[last_i];
                for (int k = last_i; k >= i; k--) {     /* All dimensions of the run in `from` must
                                                         * be contiguous. */
                        if (!dim_is(from->dims[k], 1) && extent != 1 &&
                            (old.stride[k] != step * extent || !dim_equal(old.pitch[k], pitch)))
                                return false;
                        if (!dim_is(from->dims[k], 1) && extent == 1) {
                                step = old.stride[k];
                                pitch = old.pitch[k];
                        }
                        extent *= type_extent(from, k);
                }
                for (int k = last_j; k >= j; k--) {
                        access->stride[k] = step;
                        access->pitch[k] = pitch;
                        step *= dim_extent(dims[k]);
                }
                i = last_i + 1;
                j = last_j + 1;
        }
        return true;
}

bool access_reshape(const struct type *from, int rank, const dim_t *dims, int64_t *stride)
{
        struct access access = { 0 };
        memcpy(access.stride, stride, (size_t)from->rank * sizeof *stride);
        if (!reshape_strides(from, rank, dims, &access))
                return false;
        memcpy(stride, access.stride, (size_t)rank * sizeof *stride);
        return true;
}

/* Moves the first element by `count` steps along dimension d. Returns false where a run gives the
 * step, and it is not forwards. */
static bool move_along(struct module *m, struct access *access, int d, int64_t count)
{
        int64_t by;
        if (!int_mul(count, access->stride[d], &by))
                return false;
        if (!by || access_is_known(access, d)) {
                access->offset += by;
                return true;
        }
        const dim_t more = by > 0 ? dim_binary(m, DIM_MUL, access->pitch[d], dim_of(by)) : DIM_NONE;
        access->shift = dim_binary(m, DIM_ADD, access->shift, more);
        return !dim_equal(access->shift, DIM_NONE);
}

static bool is_inside(const struct region *region, const struct value *v)
{
        return region && v->kind == VALUE_RESULT && v->op->region == region;
}

/* Is v computed row by row into a circular buffer of the kernel, from which it is then read? */
static bool is_circular(const struct value *v)
{
        const struct schedule_circular *words =
                v->kind == VALUE_RESULT ? schedule_circular(v->op->schedule) : NULL;
        return words && words->circular;
}

static bool read_through(const struct region *region, struct value *v, bool pads,
                         struct access *access)
{
        struct relation r;
        if (!is_inside(region, v) || is_circular(v)) {
                access->value = v;
                row_major(v, access);
                return v->kind != VALUE_CONSTANT || v->constant->kind != CONSTANT_SPLAT;
        }
        const struct op *op = v->op;
        int64_t lows[RANK_MAX];
        if (op->code == OP_reshape)
                return read_through(region, op_operand(op, 0), pads, access) &&
                       reshape_strides(op_operand(op, 0)->type, v->type->rank, v->type->dims,
                                       access);
        if (op->code == OP_neighbours) { /* From a channel to the next is a position. */
                if (!read_through(region, op_operand(op, 0), pads, access))
                        return false;
                const int last = v->type->rank - 1;
                access->stride[last] = access->stride[last - 1];
                access->pitch[last] = access->pitch[last - 1];
                return true;
        }
        if (pads && op->code == OP_pad && relation_surrounds_zeros(op, lows)) {
                for (int d = 0; d < v->type->rank; d++)
                        if (lows[d])
                                return false;
                return read_through(region, op_operand(op, 0), pads, access);
        }
        if (!relation_moves(op, &r) || !read_through(region, op_operand(op, 0), pads, access))
                return false;
        for (int k = 0; k < v->type->rank; k++)
                if (!move_along(op_module(op), access, k, r.along[k].low))
                        return false;
        const struct access old = *access;
        for (int k = 0; k < v->type->rank; k++) {
                const struct along *a = &r.along[k];
                access->stride[a->from] = a->scale * old.stride[k];
                access->pitch[a->from] = old.pitch[k];
        }
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
static bool store_through(const struct op *op, struct access *access)
{
        struct relation r;
        const struct access old = *access;
        bool good = true;
        relation_of(op, 0, &r);
        for (int k = 0; k < op_result(op)->type->rank; k++) {
                access->stride[k] = old.stride[r.along[k].from];
                access->pitch[k] = old.pitch[r.along[k].from];
                good &= move_along(op_module(op), access, k, -r.along[k].low);
        }
        return good;
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
        row_major(result, access);
        *pad = NULL;
        for (*v = result; is_inside(region, *v); *v = op_operand((*v)->op, 0)) {
                struct op *op = (*v)->op;
                switch (op->code) {
                case OP_reshape:
                        if (!reshape_strides((*v)->type, op_operand(op, 0)->type->rank,
                                             op_operand(op, 0)->type->dims, access))
                                return false;
                        break;
                case OP_pad:
                        if (*pad || *v != result || !is_halo(op) || !store_through(op, access))
                                return false;
                        *pad = op;
                        break;
                case OP_transpose:
                        if (!store_through(op, access))
                                return false;
                        break;
                default:
                        return true;
                }
        }
        return true;
}
