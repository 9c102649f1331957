/* SPDX-License-Identifier: MIT */
/* Lowering of convolve_winograd: it is computed tile by tile, before everything else, into scratch
 * of the kernel. An element of the result is then one of these. */
#include "ir/lower/lower_emit.h"
#include "ir/tensor/ops.h"
#include "ir/lower/winograd_emit.h"

struct tiles {
        struct emit *e;
        const struct op *op;
        struct winograd_square f;
        int dims;                       /* Images have two spatial dimensions, signals one. */
        struct loop_buffer *v, *m, *y;  /* V [elements][channels] and M [elements] of one tile, and
                                         * Y of all tiles. */
        dim_t y_dims[RANK_MAX];         /* The extents of y are those of whole tiles. */
        struct loop_expr *image, *row, *column;           /* The subscripts are of the tile. */
        struct loop_expr *channel, *block, *lane;
};

static struct loop_expr *plus(struct tiles *t, struct loop_expr *a, struct loop_expr *b)
{
        return emit_op(t->e, LOOP_ADD, a, b);
}

/* Returns where row, column of the square are in buffer [elements][count] for number k. */
static struct loop_expr *place(struct tiles *t, int row, int column, int64_t count,
                               struct loop_expr *k)
{
        return plus(t, emit_int(t->e, (row * t->f.along[1].size + column) * count), k);
}

static int64_t channels_of(const struct op *op) { return type_extent(op_operand(op, 1)->type, 2); }

/* ---- the input's transform ---- */

static struct loop_expr *load_input(void *context, int row, int column)
{
        struct tiles *t = context;
        const struct value *x = op_operand(t->op, 0);
        int64_t inner = type_extent(x->type, x->type->rank - 1);
        const int64_t phases = winograd_phases(t->op), channels = channels_of(t->op) / phases;
        struct loop_expr *channel =
                phases > 1 ? emit_op_int(t->e, LOOP_REM, t->channel, channels) : t->channel;
        struct loop_expr *phase = phases > 1 ? emit_op_int(t->e, LOOP_DIV, t->channel, channels)
                                             : emit_int(t->e, 0);
        struct loop_expr *index[RANK_MAX] = { t->image,
                                              emit_op_int(t->e, LOOP_DIV, channel, inner) };
        struct loop_expr *at[WINOGRAD_DIMS] = { plus(t, t->row, emit_int(t->e, row)),
                                                plus(t, t->column, emit_int(t->e, column)) };
        const int64_t *strides = op_ints(t->op, "strides", NULL);
        for (int d = t->dims - 1; d >= 0; d--) {
                struct loop_expr *within = emit_op_int(t->e, LOOP_REM, phase, strides[d]);
                phase = emit_op_int(t->e, LOOP_DIV, phase, strides[d]);
                index[2 + d] = plus(t, emit_op_int(t->e, LOOP_MUL, at[WINOGRAD_DIMS - t->dims + d],
                                                   strides[d]),
                                    within);
        }
        index[2 + t->dims] = emit_op_int(t->e, LOOP_REM, channel, inner);
        return emit_element(t->e, x, index);
}

static bool store_input(void *context, int row, int column, struct loop_expr *value)
{
        struct tiles *t = context;
        emit_store(t->e, t->v, place(t, row, column, channels_of(t->op), t->channel), value);
        return true;
}

/* ---- products ---- */

/* Writes M of one output: a sum over channels for each element. */
static void write_products(struct tiles *t)
{
        struct emit *e = t->e;
        const struct value *w = op_operand(t->op, 1);
        int64_t vectors = type_extent(w->type, 3), lanes = type_extent(w->type, 4),
                elements = type_extent(w->type, 0), channels = channels_of(t->op);
        struct loop_expr *output = emit_op_int(e, LOOP_MUL, t->block, op_int(t->op, "block"));
        output = emit_let(e, "output", plus(t, output, t->lane));
        struct loop_expr *vector = emit_op_int(e, LOOP_DIV, output, lanes);
        struct loop_expr *element = emit_for(e, "e", emit_int(e, 0), emit_int(e, elements));
        struct loop_variable *sum = emit_var(e, "sum", LOOP_TYPE(w->type->element),
                                             emit_number(e, w->type->element, 0));
        struct loop_expr *c = emit_for(e, "c", emit_int(e, 0), emit_int(e, channels));
        struct loop_expr *index[] = { element, emit_op_int(e, LOOP_DIV, vector, vectors), c,
                                      emit_op_int(e, LOOP_REM, vector, vectors),
                                      emit_op_int(e, LOOP_REM, output, lanes) };
        struct loop_expr *at = plus(t, emit_op_int(e, LOOP_MUL, element, channels), c);
        struct loop_expr *product =
                emit_op(e, LOOP_MUL, loop_load(e->arena, t->v, at), emit_element(e, w, index));
        emit_set(e, sum, plus(t, loop_use(e->arena, sum), product));
        emit_end(e);
        emit_store(e, t->m, element, loop_use(e->arena, sum));
        emit_end(e);
}

/* ---- the output's transform ---- */

static struct loop_expr *load_product(void *context, int row, int column)
{
        struct tiles *t = context;
        return loop_load(t->e->arena, t->m, place(t, row, column, 1, emit_int(t->e, 0)));
}

static bool store_output(void *context, int row, int column, struct loop_expr *value)
{
        struct tiles *t = context;
        struct loop_expr *index[RANK_MAX] = { t->image, t->block };
        if (t->dims == WINOGRAD_DIMS)
                index[2] = plus(t, t->row, emit_int(t->e, row));
        index[1 + t->dims] = plus(t, t->column, emit_int(t->e, column));
        index[2 + t->dims] = t->lane;
        emit_store(t->e, t->y, emit_position(t->e, 3 + t->dims, t->y_dims, index), value);
        return true;
}

static struct loop_expr *open_loop(struct tiles *t, const char *name, struct loop_expr *extent)
{
        return emit_for(t->e, name, emit_int(t->e, 0), extent);
}

static void write_tiles(struct tiles *t)
{
        struct emit *e = t->e;
        const struct winograd *down = &t->f.along[0], *across = &t->f.along[1];
        const struct winograd_values input = { &down->input, &across->input, down->size,
                                               across->size, load_input,     store_input,
                                               t,            false };
        const struct winograd_values output = { &down->output, &across->output, down->tile,
                                                across->tile,  load_product,    store_output,
                                                t,             false };
        const dim_t last = t->y_dims[1 + t->dims];
        struct loop_expr *rows = t->dims < WINOGRAD_DIMS
                                         ? emit_int(e, 1)
                                         : emit_op_int(e, LOOP_DIV, emit_dim(e, t->y_dims[2]),
                                                       down->tile),
                         *columns = emit_op_int(e, LOOP_DIV, emit_dim(e, last), across->tile);
        t->image = open_loop(t, "n", emit_dim(e, t->y_dims[0]));
        t->row = emit_op_int(e, LOOP_MUL, open_loop(t, "i", rows), down->tile);
        t->column = emit_op_int(e, LOOP_MUL, open_loop(t, "j", columns), across->tile);
        t->channel = open_loop(t, "c", emit_int(e, channels_of(t->op)));
        winograd_emit(e, &input);
        emit_end(e);
        t->block = open_loop(t, "m", emit_dim(e, t->y_dims[1]));
        t->lane = open_loop(t, "l", emit_dim(e, t->y_dims[2 + t->dims]));
        write_products(t);
        winograd_emit(e, &output);
        for (int opened = 5; opened > 0; opened--)
                emit_end(e);
}

struct loop_expr *element_convolve_winograd(struct emit *e, const struct op *op, int result,
                                            struct loop_expr *const *index)
{
        (void)result;
        const struct type *y = op_result(op)->type;
        void **state = emit_state(e, op);
        struct tiles *t = *state;
        if (!t) {
                *state = t = ARENA_NEW(e->arena, struct tiles);
                *t = (struct tiles){
                        .e = e, .op = op, .f = winograd_of(op), .dims = winograd_dims(op)
                };
                const int64_t *tile = op_ints(op, "tile", NULL);
                int64_t all = 1;
                for (int d = 0; d < y->rank; d++) {
                        bool spatial = d >= 2 && d < 2 + t->dims;
                        t->y_dims[d] = spatial ? dim_round_up(op_module(op), y->dims[d],
                                                              (int)tile[d - 2])
                                               : y->dims[d];
                        all *= dim_bound(op_module(op), t->y_dims[d]);
                }
                t->v = emit_scratch(e, "transformed", y->element,
                                    t->f.elements * channels_of(op));
                t->m = emit_scratch(e, "products", y->element, t->f.elements);
                t->y = emit_scratch(e, "tiles", y->element, all);
                struct scope *scope = emit_prologue(e);
                write_tiles(t);
                emit_resume(e, scope);
        }
        return loop_load(e->arena, t->y, emit_position(e, y->rank, t->y_dims, index));
}
