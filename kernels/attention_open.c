/* SPDX-License-Identifier: MIT */
/* Attention of as many rows and keys as a run gives (attention.h): two products of matrices (dot)
 * with operations on rows between them.
 *
 *      for each image, and each group of it (a head)
 *        keys as panels [panel][channel][column], and values [column][channel], into memory of the
 *        kernel's own
 *        for each tile of rows
 *          queries                                     [row][channel]
 *          scores = queries * panels, epilogue         [row][column]     register tiles
 *          shares = softmax(scores), in their place                      loops over rows
 *          y = shares * values, epilogue                                 register tiles
 *
 * The operands are read by their element functions, so whatever moves them (heads that are a
 * dimension of rows, keys that several heads share) is part of the kernel. Values that lie one
 * behind the other, as those of a cache do, are not copied. All memory has room for
 * the bounds; the shapes of tiles are constants, and the last rows are in smaller tiles
 * (state_each_tile). The columns of the last panel that do not exist are computed, and have room in
 * a row of scores; what an epilogue reads for them is masked, where the target has no masks in a
 * loop of their own.
 * Where a mask hides the columns behind a row's own (is_causal), a tile ends with the last column
 * that one of its rows sees. */
#include "kernels/attention.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

#include "kernels/contract.h"

enum { IMAGE = 0, GROUP = 1, ROW = 2, COLUMN = 3, RANK = 4 };

/* Each task has such memory. */
struct memory { struct loop_buffer *buffer; struct loop_expr *at; };

struct block {
        struct kernel_state first, second;
        struct attention a;
        int64_t inner, depth;           /* A query has `inner` channels, a value `depth`. */
        int64_t panel, wide;            /* A panel has this many columns; a value takes `wide`
                                         * elements in memory. */
        bool in_place;                  /* Values are read where they lie, one behind the other. */
        struct access at_values;
        int64_t width;                  /* A row of scores takes this many elements. */
        int tasks;
        struct memory queries, keys, values, scores;
        struct memory inverse;          /* Where the rows are a softmax, the reciprocals of their
                                         * sums. */
        struct emit_place scored;       /* The scores of a tile lie here, by their index. */
        struct loop_expr *image, *group;        /* The loops are at this group of this image. */
        struct loop_expr *from, *to;    /* A tile has these rows. */
        struct loop_expr *all, *columns;        /* There are `all` columns, of which the rows of the
                                                 * tile see `columns`. */
        struct loop_expr *at, *left;    /* A panel begins at this column, behind which so many are
                                         * left; left is NULL where all of the panel are. */
};

/* ---- operands ---- */

/* Returns the element of an operand of a product at these indices of its free and its contracted
 * dimension. */
static struct loop_expr *element_of(struct block *b, const struct op *op, int operand,
                                    struct loop_expr *free, struct loop_expr *contracted)
{
        struct emit *e = b->first.e;
        struct loop_expr *index[RANK_MAX];
        const struct value *v = op_operand(op, operand);
        const int64_t *batch = op_ints(op, operand ? "batch_b" : "batch_a", NULL),
                      *contract = op_ints(op, operand ? "contract_b" : "contract_a", NULL);
        for (int d = 0; d < v->type->rank; d++)
                index[d] = free;
        index[batch[0]] = b->image;
        index[batch[1]] = b->group;
        index[contract[0]] = contracted;
        return emit_element(e, v, index);
}

static void store(struct block *b, const struct memory *memory, struct loop_expr *at,
                  struct loop_expr *value)
{
        emit_store(b->first.e, memory->buffer, plus(b->first.e, memory->at, at), value);
}

/* Do the values of a group lie one behind the other, in whole vectors? */
static bool lie_in_rows(struct block *b, const struct region *region)
{
        const struct op *op = b->a.second;
        struct access *at = &b->at_values;
        const int64_t *batch = op_ints(op, "batch_b", NULL),
                      column = *op_ints(op, "contract_b", NULL);
        const struct value *v = op_operand(op, 1);
        if (b->wide != b->depth || v->type->element != E_F32 ||
            !access_read(region, op_operand(op, 1), at) || at->value->type->element != E_F32 ||
            emit_local(b->first.e, at->value)->inside)
                return false;
        for (int d = 0; d < RANK; d++) {
                const bool outer = d == batch[0] || d == batch[1];
                const int64_t dense = d == column ? b->wide : 1;
                if (!access_is_known(at, d) || (!outer && at->stride[d] != dense))
                        return false;
        }
        return true;
}

/* Has the values read where they lie. */
static void find_values(struct block *b)
{
        struct emit *e = b->first.e;
        const struct access *at = &b->at_values;
        const int64_t *batch = op_ints(b->a.second, "batch_b", NULL);
        struct loop_expr *start = plus(e, access_start(e, at),
                                       plus(e, times(e, b->image, at->stride[batch[0]]),
                                            times(e, b->group, at->stride[batch[1]])));
        b->values = (struct memory){ emit_parameter(e, at->value),
                                     emit_let(e, "values_at", start) };
        b->second.ws = b->values.buffer;
}

/* Packs the first `count` keys of a panel. */
static void pack_panel(struct block *b, struct loop_expr *panel, struct loop_expr *count)
{
        struct emit *e = b->first.e;
        struct loop_expr *j = emit_for(e, "j", number(e, 0), count);
        struct loop_expr *d = emit_for(e, "d", number(e, 0), number(e, b->inner));
        struct loop_expr *at = plus(e, times(e, panel, b->inner * b->panel),
                                    plus(e, times(e, d, b->panel), j));
        struct loop_expr *column = plus(e, times(e, panel, b->panel), j);
        store(b, &b->keys, at, element_of(b, b->a.first, 1, column, d));
        emit_end(e);
        emit_end(e);
}

static void pack(struct block *b)
{
        struct emit *e = b->first.e;
        struct loop_expr *whole = emit_let(e, "whole", emit_op_int(e, LOOP_DIV, b->all, b->panel));
        pack_panel(b, emit_for(e, "panel", number(e, 0), whole), number(e, b->panel));
        emit_end(e);
        pack_panel(b, whole, minus(e, b->all, times(e, whole, b->panel)));
        if (b->in_place) {
                find_values(b);
                return;
        }
        struct loop_expr *c = emit_for(e, "c", number(e, 0), b->all);
        struct loop_expr *d = emit_for(e, "d", number(e, 0), number(e, b->depth));
        store(b, &b->values, plus(e, times(e, c, b->wide), d), element_of(b, b->a.second, 1, d, c));
        emit_end(e);
        emit_end(e);
}

static void copy_queries(struct block *b)
{
        struct emit *e = b->first.e;
        struct loop_expr *row = emit_for(e, "row", number(e, 0), minus(e, b->to, b->from));
        struct loop_expr *d = emit_for(e, "d", number(e, 0), number(e, b->inner));
        store(b, &b->queries, plus(e, times(e, row, b->inner), d),
              element_of(b, b->a.first, 0, plus(e, b->from, row), d));
        emit_end(e);
        emit_end(e);
}

/* ---- products ---- */

/* Returns the row of the tile at which the register tile that is being written begins. */
static struct loop_expr *row_of(const struct block *b, const struct kernel_state *s)
{
        return minus(s->e, s->position[0], b->from);
}

/* Returns the reciprocal of the sum of row number i of the register tile, in every lane. */
static struct loop_expr *inverse_of(struct block *b, int i)
{
        struct kernel_state *s = &b->second;
        struct loop_expr *at = plus(s->e, b->inverse.at, plus(s->e, row_of(b, s), number(s->e, i)));
        return loop_splat(s->arena, s->lanes, loop_load(s->arena, b->inverse.buffer, at));
}

/* Has vectors of scores stored whole: behind the columns of a row there is room for a panel. */
static void store_whole(struct loop_stmt *first)
{
        for (struct loop_stmt *s = first; s; s = s->next)
                if (s->kind == STMT_STORE)
                        s->c = NULL;
}

/* Adds up a register tile, and stores what its epilogue makes of it. `at` is the index of its first
 * lane in the last dimension of the result; `live` of its lanes exist, or b->left at run time. */
static bool write_tile(struct block *b, struct tile *t, const struct sum_loop *loop,
                       struct loop_expr *x_at, struct loop_expr *at, int live)
{
        struct kernel_state *s = t->s;
        struct emit *e = s->e;
        const struct schedule_registers schedule = s->schedule;
        s->schedule = tile_schedule(t);
        tile_open(t);
        tile_add(t, loop, 1, x_at, 0);
        tile_join(t);
        s->schedule = schedule;
        for (int i = 0; i < t->columns; i++)
                for (int j = 0; j < t->vectors; j++) {
                        struct loop_expr *index[RANK] = { b->image, b->group,
                                                          plus(e, s->position[0], number(e, i)) };
                        struct state_vector v = {
                                .value = s->result,
                                .index = index,
                                .sum = loop_tile_entry(s->arena, t->sums, i, j),
                                .part = { plus(e, at, number(e, j * s->lanes)),
                                          live - j * s->lanes, NULL }
                        };
                        if (s == &b->second && b->a.powers)
                                v.sum = emit_op(e, LOOP_MUL, v.sum, inverse_of(b, i));
                        if (b->left)
                                v.part.left = minus(e, b->left, number(e, j * s->lanes));
                        struct loop_expr *to = s == &b->first
                                                       ? emit_at(e, &b->scored, ROW + 1, index)
                                                       : state_y(s, index);
                        struct loop_stmt **written = e->scope->block->end;
                        if (!state_write_vector(s, &v, s->ys, to))
                                return false;
                        if (b->left)
                                store_whole(*written);
                }
        return true;
}

static bool write_scores(struct kernel_state *s, int rows, int columns)
{
        struct block *b = (struct block *)s;
        struct emit *e = s->e;
        const struct sum_loop loop = { .name = "i", .extent = b->inner, .x_step = 1,
                                       .number_step = 1 };
        struct tile t = { .s = s, .xs = b->queries.buffer, .rows = rows, .columns = columns,
                          .vectors = (int)b->panel / s->lanes, .column_step = b->inner,
                          .width = b->panel };
        struct loop_expr *x_at =
                emit_let(e, "x_at", plus(e, b->queries.at, times(e, row_of(b, s), b->inner)));
        t.w_base = emit_let(e, "w_at", plus(e, b->keys.at, times(e, b->at, b->inner)));
        return write_tile(b, &t, &loop, x_at, b->at, (int)b->panel);
}

/* Writes the results of a register tile, from element `first` of their depth on. */
static bool write_part(struct block *b, int rows, int columns, struct loop_expr *first, int live)
{
        struct kernel_state *s = &b->second;
        struct emit *e = s->e;
        const struct sum_loop loop = { .name = "c", .extent = b->width, .x_step = 1,
                                       .number_step = 1, .count = b->columns, .any = true };
        struct tile t = { .s = s, .xs = b->scores.buffer, .rows = rows, .columns = columns,
                          .vectors = divide_up(live, s->lanes), .column_step = b->width,
                          .width = b->wide };
        struct loop_expr *x_at =
                emit_let(e, "x_at", plus(e, b->scores.at, times(e, row_of(b, s), b->width)));
        t.w_base = emit_let(e, "w_at", plus(e, b->values.at, first));
        return write_tile(b, &t, &loop, x_at, first, live);
}

static bool write_results(struct kernel_state *s, int rows, int columns)
{
        struct block *b = (struct block *)((char *)s - offsetof(struct block, second));
        struct emit *e = s->e;
        const int most = s->schedule.vectors * s->lanes, rest = (int)(b->depth % most);
        const int64_t whole = b->depth / most;
        bool good = true;
        if (whole) {
                struct loop_expr *part = emit_for(e, "part", number(e, 0), number(e, whole));
                good = write_part(b, rows, columns, times(e, part, most), most);
                emit_end(e);
        }
        return good &&
               (!rest || write_part(b, rows, columns, number(e, whole * most), rest));
}

/* ---- columns that a mask hides ---- */

/* Sets the scores of the columns that no row of the tile sees to -infinity: their shares are 0. */
static void hide_columns(struct block *b)
{
        struct emit *e = b->first.e;
        const union scalar hidden = { .f = -INFINITY };
        if (b->columns == b->all)
                return;
        struct loop_expr *row = emit_for(e, "row", number(e, 0), minus(e, b->to, b->from));
        struct loop_expr *at = plus(e, b->scores.at, plus(e, times(e, row, b->width), b->columns));
        /* Behind a row there is room for a vector. */
        state_fill(&b->first, b->scores.buffer, at, minus(e, b->all, b->columns), b->first.lanes,
                   hidden);
        emit_end(e);
}

/* ---- rows that are a softmax ---- */

static struct loop_expr *float_number(struct block *b, double value)
{
        return loop_literal(b->first.arena, LOOP_TYPE(E_F32), (union scalar){ .f = value });
}

/* Opens loops over pieces from..to of a row, and over the columns of a piece, whose number is
 * constant. Returns the score of the column; `at` is where the row lies. */
static struct loop_expr *each_column(struct block *b, struct loop_expr *at, struct loop_expr *from,
                                     struct loop_expr *to, int64_t piece, struct loop_expr **place)
{
        struct emit *e = b->first.e;
        struct loop_expr *part = emit_for(e, "part", from, to);
        struct loop_expr *j = emit_for(e, "j", number(e, 0), number(e, piece));
        *place = plus(e, at, plus(e, times(e, part, piece), j));
        return loop_load(e->arena, b->scores.buffer, *place);
}

/* Combines the columns of whole panels of a row by `op`. */
static void reduce_columns(struct block *b, struct loop_variable *result, enum loop_opcode op,
                           struct loop_expr *at, struct loop_expr *panels)
{
        enum { LONG = 4 };              /* So many panels are combined at a time, so that operations
                                         * do not wait for each other. */
        struct emit *e = b->first.e;
        struct loop_expr *place,
                *longs = emit_let(e, "longs", emit_op_int(e, LOOP_DIV, panels, LONG));
        for (int rest = 0; rest < 2; rest++) {
                struct loop_expr *x =
                        rest ? each_column(b, at, times(e, longs, LONG), panels, b->panel, &place)
                             : each_column(b, at, number(e, 0), longs, LONG * b->panel, &place);
                emit_set(e, result, emit_op(e, op, loop_use(e->arena, result), x));
                emit_end(e);
                emit_end(e);
        }
}

/* Makes powers of the scores, in their place, of the columns that a row of the tile sees, and
 * stores the reciprocal of their sum: the results are multiplied by it. */
static void write_softmax(struct block *b)
{
        struct emit *e = b->first.e;
        struct loop_expr *more = plus(e, b->columns, number(e, b->panel - 1)), *place;
        struct loop_expr *panels = emit_let(e, "panels", emit_op_int(e, LOOP_DIV, more, b->panel));
        struct loop_expr *row = emit_for(e, "row", number(e, 0), minus(e, b->to, b->from));
        struct loop_expr *at = emit_let(e, "at", plus(e, b->scores.at, times(e, row, b->width)));
        struct loop_expr *j = emit_for(e, "j", b->columns, times(e, panels, b->panel));
        emit_store(e, b->scores.buffer, plus(e, at, j), float_number(b, -INFINITY));
        emit_end(e);
        /* Where all scores are -infinity, all powers are 0, and the results are 0 * 1 / 0. */
        struct loop_variable *best =
                emit_var(e, "best", LOOP_TYPE(E_F32), float_number(b, -FLT_MAX));
        reduce_columns(b, best, LOOP_MAX, at, panels);
        struct loop_expr *x = each_column(b, at, number(e, 0), panels, b->panel, &place);
        x = minus(e, x, loop_use(e->arena, best));
        emit_store(e, b->scores.buffer, place,
                   emit_formula(e, op_info[OP_exp_flushed].formula, &x, 1));
        emit_end(e);
        emit_end(e);
        struct loop_variable *sum = emit_var(e, "sum", LOOP_TYPE(E_F32), float_number(b, 0));
        reduce_columns(b, sum, LOOP_ADD, at, panels);
        store(b, &b->inverse, row,
              emit_op(e, LOOP_DIV, float_number(b, 1), loop_use(e->arena, sum)));
        emit_end(e);
}

/* ---- other rows ---- */

/* Computes the shares in the memory of the scores. */
static bool write_shares(struct block *b)
{
        struct emit *e = b->first.e;
        struct loop_expr *index[RANK] = { b->image, b->group };
        emit_local(e, b->a.scores)->place = &b->scored;
        rows_find(e, b->first.region, b->a.shares, &b->scored);
        if (e->rows.along != 1u << COLUMN ||
            !rows_end_with(e, b->first.region, b->a.scores, b->a.shares))
                return false;
        e->rows.groups[e->rows.group_count++] = (struct loop_group){ COLUMN, COLUMN, b->all };
        index[ROW] = emit_for(e, "row", b->from, b->to);
        index[COLUMN] = emit_for(e, "j", number(e, 0), b->all);
        struct loop_expr *share = emit_element(e, b->a.shares, index);
        emit_store(e, b->scores.buffer, emit_at(e, &b->scored, RANK, index), share);
        emit_end(e);
        emit_end(e);
        const bool once = e->rows.written <= 1; /* The memory holds one value only. */
        e->rows = (struct rows){ 0 };
        return once;
}

/* Sets how many columns the rows of a tile see. */
static void find_columns(struct block *b)
{
        struct emit *e = b->first.e;
        const struct band band = attention_band_open(&b->a);
        b->columns = b->all;
        if (band.high < 0 || band.high >= ATTENTION_FAR)
                return;
        const bool turns = !dim_equal(band.turn, b->a.scores->type->dims[ROW]);
        struct loop_expr *end = b->to;
        if (turns)
                end = emit_let(e, "in_turn",
                               plus(e, emit_op(e, LOOP_REM, minus(e, end, number(e, 1)),
                                               emit_dim(e, band.turn)),
                                    number(e, 1)));
        struct loop_expr *seen = plus(e, end, number(e, band.high));
        if (!dim_is(band.shift, 0))
                seen = plus(e, seen, emit_dim(e, band.shift));
        seen = minimum(e, seen, b->all);
        /* Where a turn ends within the tile, its last row sees all that any row does. */
        if (turns)
                seen = loop_op(e->arena, LOOP_SELECT,
                               emit_op(e, LOOP_GE, end, minus(e, b->to, b->from)), seen, b->all);
        b->columns = emit_let(e, "columns", seen);
}

/* Do the scores depend, beside the first product, on elements of other values, as on a mask's? */
static bool reads_others(const struct block *b)
{
        enum { MOST = 32 };
        const struct value *needed[MOST] = { b->a.scores };
        int count = 1;
        for (int k = 0; k < count; k++) {
                const struct value *v = needed[k];
                const bool inside = emit_local(b->first.e, v)->inside;
                if (!inside && !type_has_one(v->type))
                        return true;
                if (!inside || v->op == b->a.first)
                        continue;
                if (count + v->op->operand_count > MOST)
                        return true;
                for (int i = 0; i < v->op->operand_count; i++)
                        needed[count++] = op_operand(v->op, i);
        }
        return false;
}

/* Writes the scores of the panels from..to; `left`: the last of them may have fewer columns. */
static bool write_panels(struct block *b, struct loop_expr *tile, struct loop_expr *from,
                         struct loop_expr *to, bool left)
{
        struct emit *e = b->first.e;
        b->at = times(e, emit_for(e, "panel", from, to), b->panel);
        b->left = left ? emit_let(e, "left", minus(e, b->columns, b->at)) : NULL;
        bool good = state_each_tile(&b->first, tile, plus(e, tile, number(e, 1)), write_scores);
        emit_end(e);
        b->left = NULL;
        return good;
}

static bool write_all_scores(struct block *b, struct loop_expr *tile)
{
        struct emit *e = b->first.e;
        struct loop_expr *more = plus(e, b->columns, number(e, b->panel - 1)),
                         *all = emit_let(e, "panels", emit_op_int(e, LOOP_DIV, more, b->panel));
        const bool others = reads_others(b);
        if (!others || target_has_masks(b->first.target))
                return write_panels(b, tile, number(e, 0), all, others);
        struct loop_expr *whole =
                emit_let(e, "whole", emit_op_int(e, LOOP_DIV, b->columns, b->panel));
        return write_panels(b, tile, number(e, 0), whole, false) &&
               write_panels(b, tile, whole, all, true);
}

static bool write_rows(struct block *b, struct loop_expr *tile)
{
        struct emit *e = b->first.e;
        struct loop_expr *next = plus(e, tile, number(e, 1));
        const int size = b->first.column.size;
        b->from = emit_let(e, "first", times(e, tile, size));
        b->to = emit_let(e, "last", minimum(e, times(e, next, size), b->first.open));
        b->scored = (struct emit_place){ .buffer = b->scores.buffer,
                                         .start = minus(e, b->scores.at,
                                                        times(e, b->from, b->width)),
                                         .stride = { 0, 0, b->width, 1 } };
        find_columns(b);
        copy_queries(b);
        bool good = write_all_scores(b, tile);
        if (b->a.powers)
                write_softmax(b);
        else
                hide_columns(b);
        good = good && (b->a.powers || write_shares(b));
        return good && state_each_tile(&b->second, tile, next, write_results);
}

/* ---- the kernel ---- */

/* Fills in the state of a product. Its rows are the positions. */
static bool begin(struct block *b, struct kernel_state *s, struct emit *e,
                  const struct region *region, const struct op *op, struct value *result)
{
        if (!state_begin(s, e, region, op) || s->schedule.columns > TILE_MAX ||
            s->schedule.vectors > TILE_MAX)
                return false;
        const dim_t rows = b->a.scores->type->dims[ROW];
        s->spatial_count = 1;
        s->spatial[0].extent = dim_bound(e->m, rows);
        s->schedule.split = s->schedule.rows = 1;
        s->schedule.prefetch = 0;
        s->open = emit_dim(e, rows);
        s->few_rests = true;
        s->between = true;
        s->result = result;
        s->y = b->a.y;
        s->y_start = access_start(e, &s->y);
        state_tiling(s);
        return true;
}

/* Allocates memory of so many elements for each task. */
static struct memory allocate(struct block *b, const char *name, int64_t elements,
                              struct loop_expr *task)
{
        struct emit *e = b->first.e;
        const int64_t size = round_up(elements, 2 * target_line(b->first.target, E_F32));
        return (struct memory){ emit_scratch(e, name, E_F32, b->tasks * size),
                                times(e, task, size) };
}

static bool prepare(struct block *b, struct emit *e, const struct region *region)
{
        const struct op *first = b->a.first, *second = b->a.second;
        const struct value *queries = op_operand(first, 0);
        if (!begin(b, &b->first, e, region, first, b->a.scores) ||
            !begin(b, &b->second, e, region, second, b->a.result) || b->a.per_row ||
            b->a.multiplied != b->a.shares || b->second.y.stride[COLUMN] != 1 ||
            !access_is_known(&b->second.y, COLUMN))
                return false;
        const int lanes = b->first.lanes;
        b->inner = type_extent(queries->type, (int)*op_ints(first, "contract_a", NULL));
        b->depth = type_extent(op_result(second)->type, COLUMN);
        b->panel = (int64_t)b->first.schedule.vectors * lanes;
        b->wide = round_up(b->depth, lanes);
        b->in_place = lie_in_rows(b, region);
        b->all = emit_extent(e, b->a.scores->type, COLUMN);
        b->tasks = b->second.schedule.row_tasks;
        const int64_t most = dim_bound(e->m, b->a.scores->type->dims[COLUMN]);
        /* Rows that are a power of two apart would map to few sets of the cache. */
        b->width = round_up(most, b->panel) +
                   target_line(b->first.target, E_F32);
        return true;
}

bool attention_open(struct emit *e, const struct kernel_request *request,
                    const struct attention *a, struct loop_buffer *buffer)
{
        struct block b = { .a = *a };
        if (!prepare(&b, e, request->region))
                return false;
        for (const struct op *op = request->region->first; op != request->region->last;
             op = op->next)
                /* Indices are not merged, because emit_place needs one per dimension. */
                emit_local(e, op_result(op))->splits = ~0u;
        const int64_t groups = type_extent(a->scores->type, GROUP),
                      panels = divide_up(b.width, b.panel), size = b.first.column.size;
        struct loop_expr *task = emit_for(e, "task", number(e, 0), number(e, b.tasks)), *from, *to;
        emit_loop(e, 1, b.tasks > 1);
        b.keys = allocate(&b, "keys", panels * b.panel * b.inner, task);
        if (!b.in_place)
                b.values = allocate(&b, "values", b.width * b.wide, task);
        b.queries = allocate(&b, "queries", size * b.inner, task);
        b.scores = allocate(&b, "scores", size * b.width, task);
        b.inverse = allocate(&b, "inverse", b.a.powers ? size : 1, task);
        b.first.ws = b.keys.buffer;
        b.first.ys = b.scores.buffer;
        b.second.ws = b.values.buffer;
        b.second.ys = buffer;
        const bool one = dim_is(a->scores->type->dims[IMAGE], 1);       /* Element functions expect
                                                                         * index 0 then. */
        struct loop_expr *images = emit_extent(e, a->scores->type, IMAGE);
        state_share_of(e, task, b.tasks, times(e, images, groups), &from, &to);
        struct loop_expr *unit = emit_for(e, "group", from, to);
        b.image = one ? number(e, 0) : emit_let(e, "image", emit_op_int(e, LOOP_DIV, unit, groups));
        b.group = groups == 1 ? number(e, 0)
                  : one       ? unit
                              : emit_let(e, "head", emit_op_int(e, LOOP_REM, unit, groups));
        pack(&b);
        struct loop_expr *more = plus(e, b.first.open, number(e, size - 1));
        bool good = write_rows(&b, emit_for(e, "tile", number(e, 0),
                                            emit_op_int(e, LOOP_DIV, more, size)));
        for (int i = 0; i < 3; i++)
                emit_end(e);
        return good && !e->failed;
}
