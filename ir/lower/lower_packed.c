/* SPDX-License-Identifier: MIT */
/* Lowering of contractions over blocked tensors, as plain sums, block by block. Schedules say how
 * they are really computed (kernels/). */
#include "ir/lower/lower_emit.h"
#include "ir/target/multiply.h"
#include "ir/tensor/ops.h"

struct sum { struct loop_variable *variable; enum element accumulator; int opened; };

static struct sum open_sum(struct emit *e, const struct op *op)
{
        struct sum sum = { .accumulator = op_accumulator(op) };
        sum.variable = emit_var(e, "sum", LOOP_TYPE(sum.accumulator),
                                emit_number(e, sum.accumulator, 0));
        return sum;
}

/* Opens the loops over the window: *wi its offsets, *xi the positions in x. */
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
        if (type_is_empty(x))
                return emit_number(e, y->element, 0);
        int64_t groups = op_int(op, "groups"), channels = op_int(op, "channels");
        int64_t inner = type_extent(x, x->rank - 1), vectors = type_extent(w, w->rank - 2),
                pair = packed_group(x, w), lanes = packed_lanes(x, w);
        int64_t blocks = type_extent(y, 1) / groups, panels = type_extent(w, 0) / groups;
        struct loop_expr *group = emit_op_int(e, LOOP_DIV, index[1], blocks);
        struct loop_expr *wi[RANK_MAX], *xi[RANK_MAX];
        /* Block is the number of the vector in the group; the other is the lane in it. */
        struct loop_expr *block = emit_op_int(e, LOOP_REM, index[1], blocks),
                         *l = index[x->rank - 1];
        int64_t all = op_int(op, "block");
        struct loop_expr *vector = emit_op_int(e, LOOP_MUL, block, all / lanes);
        wi[w->rank - 1] = l;
        if (all != lanes) {             /* A last block of another size is the only one. */
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
        xi[1] = emit_op(e, LOOP_ADD, emit_op_int(e, LOOP_MUL, group, type_extent(w, 1)), c);
        sum.opened = 2;
        open_windows(e, op, 2, &sum, index, wi, xi);
        struct loop_expr *left = emit_op(e, LOOP_SUB, emit_int(e, channels),
                                         emit_op_int(e, LOOP_MUL, c, inner));
        if (channels % inner == 0)
                left = emit_int(e, inner);
        xi[x->rank - 1] = emit_for(e, "i", emit_int(e, 0), emit_op_int(e, LOOP_MIN, left, inner));
        wi[w->rank - 3] = emit_op_int(e, LOOP_DIV, xi[x->rank - 1], pair);
        if (pair > 1) {
                struct loop_expr *in_word = emit_op_int(e, LOOP_REM, xi[x->rank - 1], pair);
                if (op_int(op, "crossed")) {
                        const int64_t eighth = pair / MULTIPLY_SWIZZLE;
                        struct loop_expr *n = emit_op(
                                e, LOOP_XOR, emit_op_int(e, LOOP_DIV, in_word, eighth),
                                emit_op_int(e, LOOP_REM, wi[w->rank - 1], MULTIPLY_SWIZZLE));
                        in_word = emit_op(e, LOOP_ADD, emit_op_int(e, LOOP_MUL, n, eighth),
                                          emit_op_int(e, LOOP_REM, in_word, eighth));
                }
                wi[w->rank - 1] = emit_op(e, LOOP_ADD,
                                          emit_op_int(e, LOOP_MUL, wi[w->rank - 1], pair), in_word);
        }
        return close_sum(e, op, &sum, xi, wi);
}

struct loop_expr *element_neighbours(struct emit *e, const struct op *op, int result,
                                     struct loop_expr *const *index)
{
        (void)result;
        const struct value *x = op_operand(op, 0);
        const int last = x->type->rank - 1;
        struct loop_expr *at[RANK_MAX];
        memcpy(at, index, (size_t)last * sizeof *at);
        at[last - 1] = emit_op(e, LOOP_ADD, index[last - 1], index[last]);
        at[last] = emit_int(e, 0);
        return emit_element(e, op_operand(op, 0), at);
}

struct loop_expr *element_gather_panels(struct emit *e, const struct op *op, int result,
                                        struct loop_expr *const *index)
{
        (void)result;
        const struct value *w = op_operand(op, 0), *indices = op_operand(op, 1);
        const int64_t group = op_int(op, "group"), vectors = type_extent(w->type, 4),
                      lanes = type_extent(w->type, 5) / group;
        struct loop_expr *row = emit_subscript(e, op, indices, index, 0, 1,
                                               dim_of(op_int(op, "rows"))),
                         *column = index[indices->type->rank];
        struct loop_expr *lane = emit_op_int(e, LOOP_REM, row, lanes);
        if (group > 1)
                lane = emit_op(e, LOOP_ADD, emit_op_int(e, LOOP_MUL, lane, group),
                               emit_op_int(e, LOOP_REM, column, group));
        struct loop_expr *at[] = {
                emit_op_int(e, LOOP_DIV, row, vectors * lanes), emit_int(e, 0), emit_int(e, 0),
                emit_op_int(e, LOOP_DIV, column, group),
                emit_op_int(e, LOOP_REM, emit_op_int(e, LOOP_DIV, row, lanes), vectors), lane
        };
        return emit_element(e, w, at);
}

struct loop_expr *element_convolve_lanes(struct emit *e, const struct op *op, int result,
                                         struct loop_expr *const *index)
{
        (void)result;
        const struct type *x = op_operand(op, 0)->type;
        if (type_is_empty(x))
                return emit_number(e, op_result(op)->type->element, 0);
        struct loop_expr *wi[RANK_MAX] = { index[1] }, *xi[RANK_MAX] = { index[0], index[1] };
        wi[x->rank - 2] = xi[x->rank - 1] = index[x->rank - 1];
        struct sum sum = open_sum(e, op);
        open_windows(e, op, 1, &sum, index, wi, xi);
        return close_sum(e, op, &sum, xi, wi);
}

/* ---- dot_blocks ---- */

/* Returns the products of a block, added up: of the numbers that lie in one byte, byte after byte.
 * wi[2] and the last index: the byte in the weights; xi: the row of x; zero: numbers less it are
 * multiplied, as floats, or NULL. */
static struct loop_expr *block_products(struct emit *e, const struct op *op,
                                        const struct packed_bits *p, struct loop_expr **xi,
                                        struct loop_expr **wi, struct loop_expr *lane,
                                        struct loop_expr *zero)
{
        const enum element element = zero ? E_F32 : E_I32;
        struct loop_variable *sum =
                emit_var(e, "sum", LOOP_TYPE(element), emit_number(e, element, 0));
        struct loop_expr *first = emit_let(e, "first", emit_op_int(e, LOOP_MUL, wi[1], p->block)),
                         *i = emit_for(e, "i", emit_int(e, 0), emit_int(e, p->bytes));
        wi[2] = emit_op_int(e, LOOP_DIV, i, p->group);
        wi[4] = emit_op(e, LOOP_ADD, emit_op_int(e, LOOP_MUL, lane, p->group),
                        emit_op_int(e, LOOP_REM, i, p->group));
        struct loop_expr *byte = emit_let(e, "byte", emit_as(e, E_I32, op_operand(op, 1), wi));
        for (int k = 0; k < 8 / p->bits; k++) {
                xi[3] = emit_op(e, LOOP_ADD, emit_op(e, LOOP_ADD, first, i),
                                emit_int(e, k * p->bytes));
                struct loop_expr *w =
                        emit_op(e, LOOP_SHR, byte, emit_number(e, E_I32, k * p->bits));
                if (p->bits < 8)
                        w = emit_op(e, LOOP_AND, w, emit_number(e, E_I32, (1 << p->bits) - 1));
                if (zero)
                        w = emit_op(e, LOOP_SUB, loop_cast(e->arena, E_F32, w), zero);
                struct loop_expr *product =
                        emit_op(e, LOOP_MUL, emit_as(e, element, op_operand(op, 0), xi), w);
                emit_set(e, sum, emit_op(e, LOOP_ADD, loop_use(e->arena, sum), product));
        }
        emit_end(e);
        return loop_use(e->arena, sum);
}

struct loop_expr *element_dot_blocks(struct emit *e, const struct op *op, int result,
                                     struct loop_expr *const *index)
{
        enum { STEPS = 2, SUMS, SCALES, ZEROS };
        (void)result;
        const struct packed_bits p = packed_bits_of(op);
        struct loop_expr *o = index[3], *wi[RANK_MAX], *si[RANK_MAX],
                         *xi[RANK_MAX] = { index[0], index[1], index[2] },
                         *bi[RANK_MAX] = { index[0], index[1], index[2] };
        si[3] = emit_op_int(e, LOOP_REM, o, p.lanes);
        wi[0] = si[0] = emit_op_int(e, LOOP_DIV, o, p.lanes * p.vectors);
        wi[3] = si[2] = emit_op_int(e, LOOP_REM, emit_op_int(e, LOOP_DIV, o, p.lanes), p.vectors);
        struct loop_variable *sum =
                emit_var(e, "sum", LOOP_TYPE(E_F32), emit_number(e, E_F32, 0));
        wi[1] = si[1] = bi[3] = emit_for(e, "b", emit_int(e, 0), emit_int(e, p.blocks));
        const bool floats = op_operand(op, 0)->type->element == E_F32;
        const enum element element = floats ? E_F32 : E_I32;
        const struct value *zeros = op_operand(op, ZEROS);
        struct loop_expr *zero = zeros ? emit_as(e, element, zeros, si)
                                       : emit_number(e, element, op_int(op, "zero")),
                         *products =
                                 block_products(e, op, &p, xi, wi, si[3], floats ? zero : NULL),
                         *scale = emit_as(e, E_F32, op_operand(op, SCALES), si), *less = NULL;
        if (p.outers)
                si[1] = emit_op_int(e, LOOP_DIV, si[1], p.blocks / p.outers);
        if (p.outers)
                scale = emit_op(e, LOOP_MUL, emit_as(e, E_F32, op_operand(op, BLOCKS_OUTER), si),
                                scale);
        if (!floats) {
                struct loop_expr *sums = emit_as(e, E_I32, op_operand(op, SUMS), bi),
                                 *step = emit_as(e, E_F32, op_operand(op, STEPS), bi);
                if (p.minima) {
                        zero = emit_op(e, LOOP_MUL,
                                       emit_as(e, E_F32, op_operand(op, BLOCKS_MINIMA), si),
                                       loop_cast(e->arena, E_F32, zero));
                        less = emit_op(e, LOOP_MUL, step, loop_cast(e->arena, E_F32, sums));
                        less = emit_op(e, LOOP_MUL, less, zero);
                } else {
                        products = emit_op(e, LOOP_SUB, products, emit_op(e, LOOP_MUL, zero, sums));
                }
                products = loop_cast(e->arena, E_F32, products);
                scale = emit_op(e, LOOP_MUL, step, scale);
        }
        products = emit_op(e, LOOP_MUL, products, scale);
        if (less)
                products = emit_op(e, LOOP_SUB, products, less);
        emit_set(e, sum, emit_op(e, LOOP_ADD, loop_use(e->arena, sum), products));
        emit_end(e);
        return loop_use(e->arena, sum);
}
