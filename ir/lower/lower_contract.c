/* SPDX-License-Identifier: MIT */
/* Lowering of contractions: each element of the result has one accumulator, which sums in row-major
 * order of the contracted dimensions. */
#include "ir/lower/lower_emit.h"
#include "ir/target/schedule.h"
#include "ir/tensor/ops.h"

static void add_product(struct emit *e, struct loop_variable *sum, struct loop_expr *a,
                        struct loop_expr *b)
{
        emit_set(e, sum, emit_op(e, LOOP_ADD, loop_use(e->arena, sum), emit_op(e, LOOP_MUL, a, b)));
}

static struct loop_variable *open_sum(struct emit *e, const struct op *op)
{
        enum element accumulator = op_accumulator(op);
        struct loop_variable *sum =
                emit_var(e, "sum", LOOP_TYPE(accumulator), emit_number(e, accumulator, 0));
        sum->schedule = schedule_scalar(op->schedule) ? op->schedule : NULL;
        return sum;
}

static struct loop_expr *close_sum(struct emit *e, const struct op *op, struct loop_variable *sum,
                                   int opened)
{
        while (opened-- > 0)
                emit_end(e);
        return loop_cast(e->arena, op_result(op)->type->element, loop_use(e->arena, sum));
}

static struct loop_expr *empty_sum(struct emit *e, const struct op *op)
{
        return emit_number(e, op_result(op)->type->element, 0);
}

/* ---- dot ---- */

/* Fills in index[] of one operand: its batch and contracted dimensions as named; the others take
 * the free indices in order. */
static int place_index(const struct op *op, int operand, struct loop_expr *const *batch,
                       struct loop_expr *const *contracted, struct loop_expr *const *free,
                       struct loop_expr **index)
{
        static const char *const batches[] = { "batch_a", "batch_b" };
        static const char *const contracts[] = { "contract_a", "contract_b" };
        int rank = op_operand(op, operand)->type->rank, count, taken = 0;
        for (int d = 0; d < rank; d++)
                index[d] = NULL;
        const int64_t *dims = op_ints(op, batches[operand], &count);
        for (int k = 0; k < count; k++)
                index[dims[k]] = batch[k];
        dims = op_ints(op, contracts[operand], &count);
        for (int k = 0; k < count; k++)
                index[dims[k]] = contracted[k];
        for (int d = 0; d < rank; d++)
                if (!index[d])
                        index[d] = free[taken++];
        return taken;
}

struct loop_expr *element_dot(struct emit *e, const struct op *op, int result,
                              struct loop_expr *const *index)
{
        (void)result;
        const struct value *a = op_operand(op, 0), *b = op_operand(op, 1);
        int batch, contract;
        op_ints(op, "batch_a", &batch);
        const int64_t *dims = op_ints(op, "contract_a", &contract);
        if (type_is_empty(a->type) || type_is_empty(b->type))
                return empty_sum(e, op);
        struct loop_variable *sum = contract ? open_sum(e, op) : NULL;
        struct loop_expr *k[RANK_MAX], *at[RANK_MAX], *bt[RANK_MAX];
        for (int i = 0; i < contract; i++)
                k[i] = emit_for(e, "k", emit_int(e, 0), emit_extent(e, a->type, (int)dims[i]));
        int free = place_index(op, 0, index, k, index + batch, at);
        place_index(op, 1, index, k, index + batch + free, bt);
        enum element accumulator = op_accumulator(op);
        struct loop_expr *x = emit_as(e, accumulator, a, at);
        struct loop_expr *y = emit_as(e, accumulator, b, bt);
        if (contract) {
                add_product(e, sum, x, y);
                return close_sum(e, op, sum, contract);
        }
        x = emit_op(e, LOOP_MUL, x, y);         /* The dot is an outer product. */
        return loop_cast(e->arena, op_result(op)->type->element, x);
}

/* ---- convolve ---- */

/* Adds the products of channel c of the group that begins at `first`. Returns the number of loops
 * that are open then. */
static int add_channel(struct emit *e, const struct op *op, struct loop_variable *sum,
                       struct loop_expr *const *index, struct loop_expr *first, struct loop_expr *c)
{
        const struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        struct loop_expr *xi[RANK_MAX] = { index[0], emit_op(e, LOOP_ADD, first, c) },
                         *wi[RANK_MAX] = { index[1], c };
        int spatial = x->type->rank - 2, opened = 0;
        for (int d = 0; d < spatial; d++) {
                struct tap tap = emit_tap_of(op, d + 2);
                opened += emit_tap(e, &tap, emit_spatial_suffix(e, d, spatial), index[d + 2],
                                   &wi[d + 2], &xi[d + 2]);
        }
        enum element accumulator = op_accumulator(op);
        struct loop_expr *xe = emit_as(e, accumulator, x, xi);
        struct loop_expr *we = emit_as(e, accumulator, w, wi);
        add_product(e, sum, xe, we);
        return opened;
}

struct loop_expr *element_convolve(struct emit *e, const struct op *op, int result,
                                   struct loop_expr *const *index)
{
        (void)result;
        const struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        const struct type *y = op_result(op)->type;
        int64_t groups = op_int(op, "groups"),
                channels = type_extent(w->type, 1); /* One group has this many channels. */
        if (type_is_empty(x->type) || type_is_empty(w->type))
                return empty_sum(e, op);
        struct loop_expr *first = emit_int(e, 0);       /* This is the first channel of x in the
                                                         * group. */
        if (groups > 1) {
                struct loop_expr *group =
                        emit_op_int(e, LOOP_DIV, index[1], type_extent(y, 1) / groups);
                first = emit_let_early(e, "c_from", emit_op_int(e, LOOP_MUL, group, channels));
        }
        struct loop_variable *sum = open_sum(e, op);
        struct loop_expr *c = emit_for(e, "c", emit_int(e, 0), emit_int(e, channels));
        int opened = add_channel(e, op, sum, index, first, c);
        return close_sum(e, op, sum, 1 + opened);
}
