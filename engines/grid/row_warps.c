/* SPDX-License-Identifier: MIT */
/* Writes products of few rows, as a decoder's steps have them (GEMV): weights are read once, 16
 * bytes a lane, as fast as memory gives them.
 *
 *     a block: a panel of 8 outputs              lanes of a warp: 4 words by 8 outputs
 *       warp 0   words 0 .. 23
 *       warp 1   words 24 .. 47
 *       ..
 *
 * A word is 16 bytes of an output's weights, loaded straight from memory; x is in shared memory.
 * Each lane adds up in registers. The lanes of a warp are added up when the sums leave the
 * registers; in the end lanes add up the sums of all warps, in order, and compute the epilogue. */
#include "engines/grid/grid_engine.h"
#include "engines/grid/row_warps.h"

#include "engines/grid/warps.h"
#include "ir/tensor/packed_multiply.h"

static int64_t words_of(const struct op *op)
{
        return type_extent(op_operand(op, 1)->type, op_operand(op, 1)->type->rank - 3);
}

bool row_tile_of(const struct op *op, const struct target *target, const struct schedule_grid *s,
                 struct row_tile *t)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type,
                          *y = op_result(op)->type;
        const struct multiply *m = packed_multiply(op, target, SUMS_OF_ROWS);
        if (!m || x->rank != 4 || w->rank != 6 || !dim_is(x->dims[0], 1) ||
            !dim_is(x->dims[1], 1) || op_int(op, "groups") != 1 || !dim_is(w->dims[1], 1) ||
            !dim_is(w->dims[2], 1) || !dim_is(w->dims[4], 1) || !dim_is(y->dims[1], 1) ||
            !dim_equal(x->dims[2], y->dims[2]))
                return false;
        *t = (struct row_tile){ .rows = (int)type_extent(y, 2),
                                .warps = s->warps,
                                .words = s->depth / m->channels,
                                .multiply = m };
        const int64_t shared =
                type_extent(y, 2) * type_extent(x, 3) * element_info[x->element].bytes +
                (int64_t)t->warps * type_extent(y, 2) * m->outputs * 4;
        return dim_is(y->dims[2], s->tile) && t->rows <= ROW_WARPS_MOST &&
               t->warps <= GRID_WARPS_MAX && t->words > 0 && t->words <= TILE_MAX &&
               s->depth % multiply_row(m) == 0 &&
               words_of(op) % ((int64_t)t->warps * t->words) == 0 && shared <= GRID_SHARED_MAX &&
               m->channels * element_info[x->element].bytes == COPY_BYTES;
}

/* ---- the kernel ---- */

/* w is first, because functions of struct warps get a pointer to it. */
struct few_rows { struct warps w; struct row_tile t; int64_t channels; };

static struct loop_stmt *add(struct few_rows *r, enum loop_stmt_kind kind)
{
        return loop_append(r->w.s.arena, r->w.s.e->scope->block, kind);
}

static void copy_x(struct few_rows *r, struct loop_expr *warp)
{
        struct emit *e = r->w.s.e;
        const int group = r->t.multiply->channels;
        const int64_t words = r->channels / group, count = r->t.rows * words,
                      all = (int64_t)r->t.warps * GRID_LANES;
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES);
        struct loop_expr *own = emit_let(e, "thread", plus(e, times(e, warp, GRID_LANES), lane));
        struct loop_expr *i = emit_for(e, "i", number(e, 0), number(e, divide_up(count, all)));
        struct loop_expr *word = emit_let(e, "word", plus(e, times(e, i, all), own));
        const bool some = count % all != 0;
        if (some)
                emit_if(e, warps_less(&r->w, word, count));
        struct loop_expr *row =
                r->t.rows > 1 ? emit_op_int(e, LOOP_DIV, word, words) : number(e, 0);
        struct loop_expr *c =
                times(e, r->t.rows > 1 ? emit_op_int(e, LOOP_REM, word, words) : word, group);
        struct loop_expr *place =
                plus(e, r->w.s.x_start, plus(e, times(e, row, r->w.s.x.stride[2]), c));
        emit_copy(e, r->w.xs, times(e, word, group), r->w.s.xs, place, NULL, group);
        for (int closes = 2 + some; closes > 0; closes--)
                emit_end(e);
}

static struct loop_stmt *on_sums(struct few_rows *r, enum loop_stmt_kind kind,
                                 struct loop_buffer *buffer, struct loop_expr *at)
{
        struct loop_stmt *s = add(r, kind);
        s->variable = r->w.sums;
        s->buffer = buffer;
        s->a = at;
        s->tiles = (struct loop_tiles){ .positions = r->t.rows, .vectors = 1, .rows = 1 };
        return s;
}

static void add_up(struct few_rows *r, struct loop_expr *block)
{
        struct emit *e = r->w.s.e;
        const struct multiply *m = r->t.multiply;
        const int64_t iterations = words_of(r->w.s.op) / ((int64_t)r->t.warps * r->t.words),
                      panel = words_of(r->w.s.op) * m->outputs * m->channels;
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, r->t.warps);
        struct loop_expr *iteration = emit_for(e, "iteration", number(e, 0), number(e, iterations));
        struct loop_expr *first = emit_let(
                e, "first", times(e, plus(e, times(e, iteration, r->t.warps), warp), r->t.words));
        struct loop_stmt *s = on_sums(r, STMT_MULTIPLY, r->w.xs, times(e, first, m->channels));
        s->weights = r->w.s.ws;
        s->b = plus(e, times(e, block, panel), times(e, first, (int64_t)m->outputs * m->channels));
        s->tiles.depth = r->t.words;
        s->tiles.group = m->channels;
        s->tiles.step = r->channels;
        s->tiles.jump = r->channels;
        s->function = state_product(&r->w.s);
        emit_end(e);
        on_sums(r, STMT_UNLOAD, r->w.out, times(e, warp, r->t.rows * m->outputs))->tiles.step =
                m->outputs;
        emit_end(e);
}

static void write_results(struct few_rows *r, struct loop_expr *block)
{
        struct emit *e = r->w.s.e;
        const int outputs = r->t.multiply->outputs, sums = r->t.rows * outputs;
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, r->t.warps);
        emit_if(e, warps_less(&r->w, warp, 1));
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, sums);
        struct loop_expr *o = emit_let(
                e, "o", plus(e, times(e, block, outputs), emit_op_int(e, LOOP_REM, lane, outputs)));
        struct loop_expr *p = r->t.rows > 1
                                      ? emit_let(e, "p", emit_op_int(e, LOOP_DIV, lane, outputs))
                                      : number(e, 0);
        const bool some = r->w.outputs % outputs != 0;
        if (some)
                emit_if(e, warps_less(&r->w, o, r->w.outputs));
        struct loop_expr *sum = loop_load(e->arena, r->w.out, lane);
        for (int i = 1; i < r->t.warps; i++)
                sum = plus(
                        e, sum,
                        loop_load(e->arena, r->w.out, plus(e, lane, number(e, (int64_t)i * sums))));
        warps_write_output(&r->w, o, p, sum);
        for (int closes = 3 + some; closes > 0; closes--)
                emit_end(e);
}

static bool write_blocks(struct kernel_state *s)
{
        struct few_rows *r = (struct few_rows *)s;
        struct emit *e = s->e;
        const struct multiply *m = r->t.multiply;
        struct loop_expr *block = emit_grid(e, "b", FOR_GPU_BLOCK, s->panels);
        struct loop_type type = LOOP_VECTOR(m->sum, m->outputs);
        type.tile = true;
        r->w.group = number(e, 0);
        r->w.sums = emit_var(e, "acc", type, NULL);
        r->w.sums->rows = r->t.rows;
        r->w.sums->columns = 1;
        r->w.sums->warps = r->t.warps;
        r->w.xs = warps_shared(&r->w, "xs", s->xs->element, r->t.rows * r->channels);
        r->w.out =
                warps_shared(&r->w, "sums", m->sum, (int64_t)r->t.warps * r->t.rows * m->outputs);
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, r->t.warps);
        copy_x(r, warp);
        emit_end(e);
        add(r, STMT_COMMIT);
        add(r, STMT_WAIT);
        add_up(r, block);
        write_results(r, block);
        emit_end(e);
        return warps_move_values_in(e->scope->block);
}

struct kernel_state *row_warps_prepare(const struct kernel_state *common)
{
        const struct op *op = common->op;
        struct few_rows *r = ARENA_NEW(common->arena, struct few_rows);
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        r->w.s = *common;
        if (!row_tile_of(op, common->target, common->grid, &r->t) || common->prologue ||
            common->pad || common->pool || common->border ||
            common->x.stride[common->rank - 1] != 1)
                return NULL;
        r->w.s.multiply = r->t.multiply;
        r->w.s.write_all = write_blocks;
        state_spatial(&r->w.s, 2);
        r->w.groups = 1;
        r->w.outputs = op_int(op, "block");
        r->w.positions = r->w.of_image = r->t.rows;
        r->w.images = 1;
        r->w.s.panels = type_extent(w, 0);
        r->channels = type_extent(x, 3);
        const int64_t aligned = r->w.s.x.offset | (r->t.rows > 1 ? r->w.s.x.stride[2] : 0);
        const bool whole = op_int(op, "channels") == words_of(op) * r->t.multiply->channels &&
                           r->channels == op_int(op, "channels");
        return whole && aligned % r->t.multiply->channels == 0 ? &r->w.s : NULL;
}
