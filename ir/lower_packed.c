/* Lowering of contractions over blocked tensors: as plain sums, block by block. How they are really
 * computed is a schedule's business (kernels/). */
#include "ir/lower_emit.h"
#include "ir/ops.h"

struct sum { struct loop_variable *variable; enum element accumulator; int opened; };

static struct sum open_sum(struct emit *e, const struct op *op)
{
        struct sum sum = { .accumulator = emit_accumulator(op) };
        sum.variable = emit_var(e, "sum", LOOP_TYPE(sum.accumulator),
                                emit_number(e, sum.accumulator, 0));
        return sum;
}

/* the loops over the window: *wi its offsets, *xi the positions in x */
static void open_windows(struct emit *e, const struct op *op, int window, struct sum *sum,
                         struct loop_expr *const *index, struct loop_expr **wi,
                         struct loop_expr **xi)
{
        int spatial = op_operand(op, 0)->type->rank - 3;
        for (int d = 0; d < spatial; d++) {
                struct tap tap = emit_tap_of(op, 2 + d);
                sum->opened += emit_tap(e, &tap, emit_spatial_suffix(e, d, spatial), index[2 + d],
                                        &wi[window + d], &xi[2 + d]);
        }
}

static struct loop_expr *close_sum(struct emit *e, const struct op *op, struct sum *sum,
                                   struct loop_expr *const *xi, struct loop_expr *const *wi)
{
        struct loop_expr *a = emit_as(e, sum->accumulator, op_operand(op, 0), xi);
        struct loop_expr *b = emit_as(e, sum->accumulator, op_operand(op, 1), wi);
        struct loop_expr *before = loop_use(e->arena, sum->variable);
        emit_set(e, sum->variable, emit_op(e, LOOP_ADD, before, emit_op(e, LOOP_MUL, a, b)));
        while (sum->opened-- > 0)
                emit_end(e);
        return loop_cast(e->arena, op_result(op)->type->element, loop_use(e->arena, sum->variable));
}

struct loop_expr *element_convolve_packed(struct emit *e, const struct op *op, int result,
                                          struct loop_expr *const *index)
{
        (void)result;
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        const struct type *y = op_result(op)->type;
        if (!type_elements(x))
                return emit_number(e, y->element, 0);
        int64_t groups = op_int(op, "groups"), channels = op_int(op, "channels");
        int64_t inner = x->dims[x->rank - 1], vectors = w->dims[w->rank - 2],
                pair = packed_group(x, w), lanes = packed_lanes(x, w);
        int64_t blocks = y->dims[1] / groups, panels = w->dims[0] / groups;
        struct loop_expr *group = emit_op_int(e, LOOP_DIV, index[1], blocks);
        struct loop_expr *wi[RANK_MAX], *xi[RANK_MAX];
        /* number of the vector in the group, and the lane in it */
        struct loop_expr *block = emit_op_int(e, LOOP_REM, index[1], blocks),
                         *l = index[x->rank - 1];
        int64_t all = op_int(op, "block");
        struct loop_expr *vector = emit_op_int(e, LOOP_MUL, block, all / lanes);
        wi[w->rank - 1] = l;
        if (all != lanes) {             /* a last block of another size is the only one */
                vector = emit_op(e, LOOP_ADD, all % lanes ? emit_int(e, 0) : vector,
                                 emit_op_int(e, LOOP_DIV, l, lanes));
                wi[w->rank - 1] = emit_op_int(e, LOOP_REM, l, lanes);
        }
        wi[w->rank - 2] = emit_op_int(e, LOOP_REM, vector, vectors);
        wi[0] = emit_op(e, LOOP_ADD, emit_op_int(e, LOOP_MUL, group, panels),
                        emit_op_int(e, LOOP_DIV, vector, vectors));
        struct sum sum = open_sum(e, op);
        struct loop_expr *c = emit_for(e, "c", emit_int(e, 0),
                                       emit_int(e, divide_up(channels, inner)));
        wi[1] = c;
        xi[0] = index[0];
        xi[1] = emit_op(e, LOOP_ADD, emit_op_int(e, LOOP_MUL, group, w->dims[1]), c);
        sum.opened = 2;
        open_windows(e, op, 2, &sum, index, wi, xi);
        struct loop_expr *left = emit_op(e, LOOP_SUB, emit_int(e, channels),
                                         emit_op_int(e, LOOP_MUL, c, inner));
        if (channels % inner == 0)
                left = emit_int(e, inner);
        xi[x->rank - 1] = emit_for(e, "i", emit_int(e, 0), emit_op_int(e, LOOP_MIN, left, inner));
        wi[w->rank - 3] = emit_op_int(e, LOOP_DIV, xi[x->rank - 1], pair);
        if (pair > 1)
                wi[w->rank - 1] =
                        emit_op(e, LOOP_ADD, emit_op_int(e, LOOP_MUL, wi[w->rank - 1], pair),
                                emit_op_int(e, LOOP_REM, xi[x->rank - 1], pair));
        return close_sum(e, op, &sum, xi, wi);
}

struct loop_expr *element_convolve_lanes(struct emit *e, const struct op *op, int result,
                                         struct loop_expr *const *index)
{
        (void)result;
        const struct type *x = op_operand(op, 0)->type;
        if (!type_elements(x))
                return emit_number(e, op_result(op)->type->element, 0);
        struct loop_expr *wi[RANK_MAX] = { index[1] }, *xi[RANK_MAX] = { index[0], index[1] };
        wi[x->rank - 2] = xi[x->rank - 1] = index[x->rank - 1];
        struct sum sum = open_sum(e, op);
        open_windows(e, op, 1, &sum, index, wi, xi);
        return close_sum(e, op, &sum, xi, wi);
}
