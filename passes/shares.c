/* SPDX-License-Identifier: MIT */
/* shares: small shares of a softmax are 0.
 *
 *   %1 = reduce(%x, axes) kind=max                              (the same)
 *   %2 = broadcast(%1) ..
 *   %3 = sub(%x, %2)
 *   %4 = exp(%3)                          ->                    %4 = exp_flushed(%3)
 *   %5 = reduce(%4, axes) kind=sum
 *
 * A mask that adds -100 leaves shares of e^-100, which is below the normal numbers of f32: each
 * multiplication by one takes processors a hundred cycles. The largest share of a row is 1 before
 * it is divided by the sum, so what is left out is below 2^-115 of the result. Only where a sum
 * reads the exponentials, and where x less its largest is at most 0; not under --exact. */
#include "ir/lower/lower.h"
#include "passes/pass.h"

enum { DEPTH_MAX = 8 };

/* Returns the reduction that makes the largest of x's elements along some dimensions, of which v
 * is a reshape, or the larger one of that and others; or NULL. */
static const struct op *find_largest(const struct value *v, const struct value *x, int depth)
{
        if (v->kind != VALUE_RESULT || depth == DEPTH_MAX)
                return NULL;
        const struct op *op = v->op;
        if (op->code == OP_reduce)
                return op_operand(op, 0) == x && op_int(op, "kind") == REDUCE_max ? op : NULL;
        if (op->code != OP_reshape && op->code != OP_max)
                return NULL;
        const struct op *found = find_largest(op_operand(op, 0), x, depth + 1);
        return found || op->code == OP_reshape ? found
                                               : find_largest(op_operand(op, 1), x, depth + 1);
}

/* Does `spread`, a broadcast, give each element of x the number of its own row, where rows go along
 * these dimensions? Reshapes between keep the order, so it is enough that the other dimensions of x
 * are those that the broadcast's operand becomes. */
static bool spreads_rows(const struct op *spread, const struct type *x, unsigned along)
{
        const struct type *t = op_operand(spread, 0)->type;
        const int64_t *dims = op_ints(spread, "dims", NULL);
        int d = 0;
        for (int k = 0; k < t->rank; k++) {
                if (dim_is(t->dims[k], 1))
                        continue;
                while (d < dims[k] && (along & 1u << d || dim_is(x->dims[d], 1)))
                        d++;
                if (d != dims[k] || along & 1u << d || !dim_equal(t->dims[k], x->dims[d]))
                        return false;
                d++;
        }
        while (d < x->rank && (along & 1u << d || dim_is(x->dims[d], 1)))
                d++;
        return d == x->rank;
}

/* Is v a value less the largest one of its row? */
static bool is_at_most_zero(const struct value *v)
{
        unsigned along;
        if (!op_is(v, OP_sub) || !op_is(op_operand(v->op, 1), OP_broadcast))
                return false;
        const struct value *x = op_operand(v->op, 0);
        const struct op *spread = op_operand(v->op, 1)->op,
                        *largest = find_largest(op_operand(spread, 0), x, 0);
        return largest && rows_reduce(largest, x->type, &along) &&
               spreads_rows(spread, x->type, along);
}

static bool is_summed(const struct value *v)
{
        bool summed = false;
        for (const struct use *u = v->uses; u && !summed; u = u->next)
                summed = u->user->code == OP_reduce && op_int(u->user, "kind") == REDUCE_sum;
        return summed;
}

static int flush_region(struct region *region, struct pass_context *context)
{
        int flushed = 0;
        for (struct op *op = region->first, *next; op; op = next) {
                next = op->next;
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++)
                        flushed += flush_region(op->regions[i], context);
                if (op->code != OP_exp || !is_at_most_zero(op_operand(op, 0)) ||
                    !is_summed(op_result(op)))
                        continue;
                struct builder b = { .m = op_module(op), .region = region, .before = op,
                                     .location = op->location, .diag = context->diag };
                value_replace(op_result(op), build_unary(&b, OP_exp_flushed, op_operand(op, 0)));
                op_erase(op);
                flushed++;
        }
        return flushed;
}

int pass_shares(struct function *f, struct pass_context *context)
{
        const struct engine *engine = target_engine(context->target);
        return context->exact || !engine->vectors || engine->launches
                       ? 0
                       : flush_region(&f->body, context);
}
