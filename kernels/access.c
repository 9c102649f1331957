#include "kernels/access.h"

static void row_major(const struct type *t, struct access *access)
{
        int64_t stride = 1;
        access->offset = 0;
        for (int d = t->rank - 1; d >= 0; d--) {
                access->stride[d] = stride;
                stride *= t->dims[d];
        }
}

/* Strides of a value with dims `from`, seen under other dims `to`: false when one would need two.
 * Runs of dimensions of equal product are matched; within a run the old ones must lie as one. */
static bool reshape_strides(const struct type *from, const struct type *to, int64_t *stride)
{
        int64_t old[RANK_MAX];
        for (int d = 0; d < from->rank; d++)
                old[d] = stride[d];
        int i = 0, j = 0;
        while (j < to->rank) {
                if (to->dims[j] == 1) {
                        stride[j++] = 0;
                        continue;
                }
                while (i < from->rank && from->dims[i] == 1)
                        i++;
                if (i == from->rank)
                        return false;
                int64_t a = from->dims[i], b = to->dims[j];
                int last_i = i, last_j = j;
                while (a != b) {
                        if (a < b && last_i + 1 < from->rank)
                                a *= from->dims[++last_i];
                        else if (a > b && last_j + 1 < to->rank)
                                b *= to->dims[++last_j];
                        else
                                return false;
                }
                int64_t step = old[last_i], extent = 1;
                for (int k = last_i; k >= i; k--) {     /* the old ones lie as one */
                        if (from->dims[k] != 1 && extent != 1 && old[k] != step * extent)
                                return false;
                        if (from->dims[k] != 1 && extent == 1)
                                step = old[k];
                        extent *= from->dims[k];
                }
                for (int k = last_j; k >= j; k--) {
                        stride[k] = step;
                        step *= to->dims[k];
                }
                i = last_i + 1;
                j = last_j + 1;
        }
        return true;
}

static bool is_inside(const struct region *region, const struct value *v)
{
        return region && v->kind == VALUE_RESULT && v->op->region == region;
}

bool access_read(const struct region *region, struct value *v, struct access *access)
{
        if (!is_inside(region, v)) {
                access->value = v;
                row_major(v->type, access);
                return v->kind != VALUE_CONSTANT || v->constant->kind == CONSTANT_DENSE;
        }
        const struct op *op = v->op;
        int64_t starts[RANK_MAX], steps[RANK_MAX], old[RANK_MAX];
        int count;
        if (!(op_info[op->code].traits & TRAIT_FREE) || !op->operand_count ||
            !access_read(region, op_operand(op, 0), access))
                return false;
        switch (op->code) {
        case OP_reshape:
                return reshape_strides(op_operand(op, 0)->type, v->type, access->stride);
        case OP_transpose:
                for (int d = 0; d < v->type->rank; d++)
                        old[d] = access->stride[op_ints(op, "perm", NULL)[d]];
                for (int d = 0; d < v->type->rank; d++)
                        access->stride[d] = old[d];
                return true;
        case OP_slice:
                if (!value_ints(op_operand(op, 1), starts, RANK_MAX, &count) ||
                    !value_ints(op_operand(op, 2), steps, RANK_MAX, &count))
                        return false;
                for (int d = 0; d < v->type->rank; d++) {
                        access->offset += starts[d] * access->stride[d];
                        access->stride[d] *= steps[d];
                }
                return true;
        default:
                return false;
        }
}

static bool is_halo(const struct op *op)
{
        int64_t low[RANK_MAX];
        int count;
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type;
        if (op->code != OP_pad || op_int(op, "mode") || !op_operand(op, 1) ||
            !value_is_splat(op_operand(op, 1), &(double){ 0 }) ||
            !value_ints(op_operand(op, 2), low, RANK_MAX, &count))
                return false;
        for (int d = 0; d < x->rank; d++)
                if (low[d] < 0 || low[d] + x->dims[d] > y->dims[d])
                        return false;
        return true;
}

bool access_store(const struct region *region, struct value *result, struct value **v,
                  struct access *access, struct op **pad)
{
        access->value = result;
        row_major(result->type, access);
        *pad = NULL;
        int64_t old[RANK_MAX];
        int count;
        for (*v = result; is_inside(region, *v); *v = op_operand((*v)->op, 0)) {
                struct op *op = (*v)->op;
                switch (op->code) {
                case OP_reshape:
                        if (!reshape_strides((*v)->type, op_operand(op, 0)->type, access->stride))
                                return false;
                        break;
                case OP_transpose:
                        for (int d = 0; d < (*v)->type->rank; d++)
                                old[op_ints(op, "perm", NULL)[d]] = access->stride[d];
                        for (int d = 0; d < (*v)->type->rank; d++)
                                access->stride[d] = old[d];
                        break;
                case OP_pad:
                        if (*pad || *v != result || !is_halo(op))
                                return false;
                        *pad = op;
                        value_ints(op_operand(op, 2), old, RANK_MAX, &count);
                        for (int d = 0; d < (*v)->type->rank; d++)
                                access->offset += old[d] * access->stride[d];
                        break;
                default:
                        return true;
                }
        }
        return true;
}
