/* SPDX-License-Identifier: MIT */
/* The largest element that a softmax subtracts, so that no exponential overflows. The result is the
 * same whatever number is subtracted:
 *
 *      m = reduce max x      z = x - spread(m)      e = exp(z)      s = reduce sum e
 *
 *      y = e / spread(s), or z - spread(log(s)), and nothing else reads m, z, e, s
 *
 * So what flows to m adds up to 0, and m counts as constant. */
#include "ir/adjoint/adjoint.h"

/* Is op a broadcast of the reduction's result, back along its axes? */
static bool is_spread(const struct op *op, const struct op *reduce)
{
        int64_t axes[RANK_MAX];
        int axis_count, dim_count, k = 0;
        uint32_t mask = 0;
        const int rank = op_operand(reduce, 0)->type->rank;
        if (op->code != OP_broadcast || op_result(op)->type != op_operand(reduce, 0)->type ||
            !value_ints(op_operand(reduce, 1), axes, RANK_MAX, &axis_count))
                return false;
        const int64_t *dims = op_ints(op, "dims", &dim_count);
        for (int i = 0; i < axis_count; i++)
                mask |= UINT32_C(1) << axes[i];
        for (int d = 0; d < rank; d++)
                if (!(mask >> d & 1) && (k == dim_count || dims[k++] != d))
                        return false;
        return k == dim_count;
}

static bool same_axes(const struct op *a, const struct op *b)
{
        int64_t axes[2][RANK_MAX];
        int count[2];
        return value_ints(op_operand(a, 1), axes[0], RANK_MAX, &count[0]) &&
               value_ints(op_operand(b, 1), axes[1], RANK_MAX, &count[1]) &&
               count[0] == count[1] &&
               !memcmp(axes[0], axes[1], (size_t)count[0] * sizeof *axes[0]);
}

static const struct op *maker(const struct value *v, enum opcode code)
{
        return v->kind == VALUE_RESULT && v->op->code == code ? v->op : NULL;
}

/* Is v the sum, or its logarithm, spread? */
static bool is_spread_sum(const struct value *v, const struct op *sum, bool logarithm)
{
        const struct op *spread = maker(v, OP_broadcast);
        const struct value *from = spread && is_spread(spread, sum) ? op_operand(spread, 0) : NULL;
        const struct op *log = from && logarithm ? maker(from, OP_log) : NULL;
        return from && (logarithm ? log && op_operand(log, 0) == op_result(sum)
                                  : from == op_result(sum));
}

/* Does use divide e by the spread sum, or subtract its spread logarithm from z? */
static bool is_end(const struct use *use, const struct op *sum, bool logarithm)
{
        return use->user->code == (logarithm ? OP_sub : OP_div) && !use->index &&
               is_spread_sum(op_operand(use->user, 1), sum, logarithm);
}

/* Do all readers of v, the sum or its logarithm, spread it for an end of the softmax of e or z? */
static bool ends(const struct value *v, const struct value *first, const struct op *sum,
                 bool logarithm)
{
        for (const struct use *use = v->uses; use; use = use->next) {
                if (use->user->code == OP_log && !logarithm)
                        continue;
                if (!is_spread(use->user, sum))
                        return false;
                for (const struct use *u = op_result(use->user)->uses; u; u = u->next)
                        if (u->user->code != (logarithm ? OP_sub : OP_div) || u->index != 1 ||
                            op_operand(u->user, 0) != first)
                                return false;
        }
        return true;
}

static const struct op *reader(const struct value *v, enum opcode code)
{
        for (const struct use *use = v->uses; use; use = use->next)
                if (use->user->code == code && !use->index)
                        return use->user;
        return NULL;
}

/* Is z read by softmax, and by its logarithm, over the axes of `max` alone? */
static bool is_softmax(const struct value *z, const struct op *max)
{
        const struct op *exp = reader(z, OP_exp);
        const struct op *sum = exp ? reader(op_result(exp), OP_reduce) : NULL;
        if (!sum || op_int(sum, "kind") != REDUCE_sum || !same_axes(sum, max) ||
            op_result(sum)->type != op_result(max)->type)
                return false;
        for (const struct use *use = z->uses; use; use = use->next)
                if (use->user != exp && !is_end(use, sum, true))
                        return false;
        for (const struct use *use = op_result(exp)->uses; use; use = use->next)
                if (use->user != sum && !is_end(use, sum, false))
                        return false;
        for (const struct use *use = op_result(sum)->uses; use; use = use->next)
                if (use->user->code == OP_log && !ends(op_result(use->user), z, sum, true))
                        return false;
        return ends(op_result(sum), op_result(exp), sum, false);
}

bool adjoint_is_shift(const struct op *op)
{
        const struct value *z = NULL;
        if (op->code != OP_reduce || op_int(op, "kind") != REDUCE_max)
                return false;
        for (const struct use *use = op_result(op)->uses; use; use = use->next) {
                if (!is_spread(use->user, op))
                        return false;
                for (const struct use *u = op_result(use->user)->uses; u; u = u->next) {
                        if (u->user->code != OP_sub || u->index != 1 ||
                            (z && z != op_result(u->user)))
                                return false;
                        z = op_result(u->user);
                }
        }
        return z && is_softmax(z, op);
}
