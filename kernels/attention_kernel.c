/* SPDX-License-Identifier: MIT */
/* This is the scheduled lowering of attention, and of any two products with operations on rows
 * between them:
 *
 *      scores = q k', scaled and masked      <groups x rows x columns>
 *      shares = softmax(scores)
 *      y      = shares v                     <groups x rows x depth>
 *
 * For each group (a head) and each block of its rows, the kernel computes the block's scores into
 * memory of its own, then row by row the shares in their place, then y of the block.
 *
 * The products are written by their own lowering (contract.h), a row of tiles at a time. The
 * operations between them are written by their element functions as loops over rows
 * (ir/lower/lower_rows.c), which the pass vectorize then vectorizes. A block of scores stays in the
 * second-level cache, and no workspace holds all scores. Where the result, not the shares, is
 * divided by the sum, the sums of a block are kept, too; where the second product reads bf16, a
 * rounded copy of the shares is kept.
 *
 * A softmax does not need whole rows: with the schedule word `keys`, a block of rows is computed
 * over one block of columns after the other. For each row the kernel keeps the largest score so
 * far, the sum of the shares and the products of shares and values, both relative to that score.
 * When a larger score appears, sum and products are multiplied by exp(old largest - new largest)
 * (Milakov and Gimelshein, arXiv 1805.02867; Dao et al., arXiv 2205.14135). Columns that the mask
 * hides from all rows of a block are skipped. The largest score starts as the lowest finite number,
 * not as -inf: so -inf - -inf is never computed, the share of a score of -inf is 0, and a row whose
 * scores are all -inf ends as 0 / 0, which is what a softmax makes of it.
 *
 * Three words of the second product's schedule count: strip (tiles of rows in a block; 0 means
 * all), keys, and row_tasks. */
#include "kernels/attention.h"

#include <float.h>
#include <math.h>

#include "kernels/contract.h"

enum { GROUP = 1, ROW = 2, COLUMN = 3, RANK = 4, LONG = 128 };

/* ---- the kernel ---- */

struct block {
        struct emit *e;
        struct attention a;
        const struct region *region;
        struct kernel_state *first, *second;
        int64_t width, rows;            /* The memory for a block has this many rows, of this many
                                         * elements. */
        int tasks;
        int64_t tiles;                  /* A block has this many tiles of rows. */
        int64_t keys;                   /* A block has this many columns, which are whole panels of
                                         * the first product; 0: blocks have whole rows. */
        struct emit_place scores, per_row;
        struct emit_place multiplied;   /* The second product reads this: the scores' memory, or the
                                         * memory of the rounded shares. */
        struct loop_expr *group, *from, *to;      /* The block has rows from..to of the group. */
        struct loop_expr *start;                  /* Row `from` of the group lies at row from +
                                                   * start of the memory. */
        /* With blocks of keys, these hold the largest score, the sum and the products of each
         * row. */
        struct emit_place best, sum, products;
        struct band band;
        struct loop_expr *panels, *key; /* The block of columns has this many panels of the first
                                         * product, and begins at this column. */
};

/* Returns the element type of the scores and of all that is computed from them, rounded shares
 * excepted. */
static enum element element_of(const struct block *b) { return b->a.scores->type->element; }

static int line_of(const struct block *b)
{
        return target_line(b->e->options->target, element_of(b));
}

/* Returns the elements of a row of the products of shares and values in memory. */
static int64_t depth_of(const struct block *b)
{
        return round_up(type_extent(op_result(b->a.second)->type, COLUMN), line_of(b));
}

static bool rounds(const struct block *b) { return b->a.multiplied != b->a.shares; }

/* Returns how many columns of rounded shares the second product reads at a time: a row of a
 * hardware tile, or an unrolled iteration of words. */
static int64_t read_at_once(const struct block *b)
{
        const struct target *target = b->e->options->target;
        const struct multiply *tile = contract_multiply(b->a.second, target, true),
                              *words = contract_multiply(b->a.second, target, false);
        return tile    ? multiply_row(tile)
               : words ? (int64_t)COUNTED_CHANNELS * words->channels
                       : COUNTED_CHANNELS;
}

/* Returns the columns of a row that the second product reads, with zeros up to a whole tile. */
static int64_t width_read(const struct block *b)
{
        if (!rounds(b))
                return b->width;
        return b->keys ? round_up(b->keys, read_at_once(b))
                       : type_extent(b->a.multiplied->type, COLUMN);
}

static struct kernel_state *prepare_product(struct block *b, const struct op *op)
{
        struct kernel_state common;
        bool first = op == b->a.first;
        if (!state_begin(&common, b->e, b->region, op))
                return NULL;
        common.schedule.row_tasks = b->tasks;
        common.schedule.panel_tasks = 1;
        common.schedule.flat = common.schedule.strip = 0;
        common.between = first || b->keys;
        common.adds = !first && b->keys;
        common.result = first ? b->a.scores : b->keys ? op_result(op) : b->a.result;
        common.y = (struct access){ .stride = { 0, 0, b->width, 1 } };
        common.x = (struct access){ .stride = { 0, 0, width_read(b), 1 } };
        if (first && !access_read(b->region, op_operand(op, 0), &common.x))
                return NULL;
        if (!first)
                common.y = b->keys ? (struct access){ .stride = { 0, 0, depth_of(b), 1 } } : b->a.y;
        if (common.y.stride[COLUMN] != 1)
                return NULL;
        struct kernel_state *s = kernels_prepare(&common);
        return s && s->spatial_count == 1 && !s->write_all ? s : NULL;
}

static int64_t columns_of_panel(const struct block *b)
{
        return packed_panel(op_operand(b->a.first, 0)->type, op_operand(b->a.first, 1)->type);
}

/* Returns the granularity of blocks of columns: they are whole panels of the first product and
 * begin where a tile of the second product may begin. */
static int64_t least_keys(const struct block *b)
{
        return rounds(b) ? round_up(columns_of_panel(b), read_at_once(b)) : columns_of_panel(b);
}

static bool prepare(struct block *b)
{
        int64_t columns = attention_columns(&b->a, b->e->options->target);
        const struct schedule_registers *schedule = schedule_registers(b->a.second->schedule);
        if (!schedule)
                return false;
        b->tiles = schedule->strip;
        b->tasks = schedule->row_tasks;
        b->keys = schedule->keys && b->a.sum
                          ? round_up(schedule->keys < columns ? schedule->keys : columns,
                                     least_keys(b))
                          : 0;
        /* The row is a cache line longer than its columns: rows that are a power of two apart would
         * map to few sets of the cache. */
        b->width = b->keys ? b->keys + line_of(b) : columns;
        b->band = attention_band(&b->a);
        b->first = prepare_product(b, b->a.first);
        b->second = b->first ? prepare_product(b, b->a.second) : NULL;
        if (!b->second)
                return false;
        const struct tiling *one = &b->first->column, *other = &b->second->column;
        if (!b->tiles || b->tiles > one->count)
                b->tiles = one->count;
        b->rows = b->tiles * one->size;
        /* Every task rewrites its numbers per row, so those of two tasks must not share a pair of
         * cache lines. */
        if (b->tasks > 1)
                b->rows = round_up(b->rows, 2 * line_of(b));
        return one->count == other->count && one->size == other->size && one->large == other->large;
}

/* Allocates one number for each row of a block; t is the type of a value with one number for each
 * of all rows. */
static struct emit_place row_memory(struct block *b, const char *name, const struct type *t)
{
        struct emit_place place = { .buffer = emit_scratch(b->e, name, element_of(b),
                                                          b->tasks * b->rows) };
        int row = t ? t->rank - 1 : 0;
        while (row > 0 && dim_is(t->dims[row], 1))
                row--;
        place.stride[row] = 1;
        return place;
}

static void find_memory(struct block *b, struct loop_buffer *result)
{
        struct emit *e = b->e;
        b->scores = (struct emit_place){ .buffer = emit_scratch(e, "scores", element_of(b),
                                                                b->tasks * b->rows * b->width),
                                         .stride = { 0, 0, b->width, 1 } };
        b->multiplied = b->scores;
        if (rounds(b))
                b->multiplied = (struct emit_place){
                        .buffer = emit_scratch(e, "shares", b->a.multiplied->type->element,
                                               b->tasks * b->rows * width_read(b)),
                        .stride = { 0, 0, width_read(b), 1 }
                };
        if (b->keys) {
                b->best = row_memory(b, "best", NULL);
                b->sum = row_memory(b, "sum", b->a.sum->type);
                b->products = (struct emit_place){ .buffer = emit_scratch(
                                                           e, "products", element_of(b),
                                                           b->tasks * b->rows * depth_of(b)),
                                                   .stride = { 0, 0, depth_of(b), 1 } };
        } else if (b->a.per_row) {
                b->per_row = row_memory(b, "per_row", b->a.per_row->type);
        }
        b->first->xs = emit_parameter(e, b->first->x.value);
        b->first->ws = emit_parameter(e, op_operand(b->a.first, 1));
        b->first->ys = b->scores.buffer;
        b->second->xs = b->multiplied.buffer;
        b->second->ws = emit_parameter(e, op_operand(b->a.second, 1));
        b->second->ys = b->keys ? b->products.buffer : result;
}

/* Computes the shares in the memory of the scores. */
static bool write_rows(struct block *b)
{
        struct emit *e = b->e;
        struct loop_expr *index[RANK] = { number(e, 0), b->group, NULL, NULL };
        int64_t columns = type_extent(b->a.scores->type, COLUMN),
                rows = type_extent(b->a.scores->type, ROW);
        emit_local(e, b->a.scores)->place = &b->scores;
        rows_find(e, b->region, b->a.shares, &b->scores);
        if (e->rows.along != 1u << COLUMN || !rows_end_with(e, b->region, b->a.scores, b->a.shares))
                return false;
        e->rows.groups[e->rows.group_count++] =
                (struct loop_group){ COLUMN, COLUMN, emit_int(e, columns) };
        index[ROW] = emit_for(e, "row", b->from, b->to);
        index[COLUMN] = emit_for(e, "j", number(e, 0), number(e, columns));
        struct loop_expr *share = emit_element(e, b->a.shares, index);
        emit_store(e, b->scores.buffer, emit_at(e, &b->scores, RANK, index), share);
        emit_end(e);
        emit_local(e, b->a.shares)->place = &b->scores;
        if (rounds(b)) {
                index[COLUMN] = emit_for(e, "j", number(e, 0),
                                         number(e, type_extent(b->a.multiplied->type, COLUMN)));
                struct loop_expr *rounded = emit_element(e, b->a.multiplied, index);
                emit_store(e, b->multiplied.buffer, emit_at(e, &b->multiplied, RANK, index),
                           rounded);
                emit_end(e);
        }
        if (b->a.per_row) {
                const struct type *t = b->a.per_row->type;
                struct loop_expr *at[RANK_MAX];
                emit_reindex(e, 2, (dim_t[]){ b->a.scores->type->dims[GROUP], dim_of(rows) },
                             index + GROUP, t->rank, t->dims, at);
                struct loop_expr *x = emit_element(e, b->a.per_row, at);
                emit_store(e, b->per_row.buffer, emit_at(e, &b->per_row, t->rank, at), x);
                emit_local(e, b->a.per_row)->place = &b->per_row;
        }
        emit_end(e);
        bool once = e->rows.written <= 1;       /* The memory of the scores holds one value only, so
                                                 * at most one may be written. */
        e->rows = (struct rows){ 0 };
        return once;
}

/* ---- blocks of columns ---- */

static struct loop_expr *load(struct block *b, const struct emit_place *place, struct loop_expr *at)
{
        return loop_load(b->e->arena, place->buffer, at);
}

static struct loop_expr *exponential(struct block *b, struct loop_expr *x)
{
        return emit_formula(b->e, op_info[OP_exp_flushed].formula, &x, 1);
}

static struct loop_expr *float_number(struct block *b, double value)
{
        return loop_literal(b->e->arena, LOOP_TYPE(element_of(b)), (union scalar){ .f = value });
}

/* Opens loops over pieces from..to of a row and over the columns of a piece, whose number is
 * constant. Returns the column. */
static struct loop_expr *each_column(struct block *b, struct loop_expr *from, struct loop_expr *to,
                                     int64_t piece)
{
        struct emit *e = b->e;
        struct loop_expr *part = emit_for(e, "part", from, to);
        struct loop_expr *j = emit_for(e, "j", number(e, 0), number(e, piece));
        return plus(e, times(e, part, piece), j);
}

static void end_columns(struct block *b)
{
        emit_end(b->e);
        emit_end(b->e);
}

/* Combines all elements of a row by `op`. Where rows are long, several partial results are combined
 * in turn, so that operations do not wait for each other. */
static void reduce_columns(struct block *b, struct loop_variable *result, enum loop_opcode op,
                           struct loop_expr *at)
{
        struct emit *e = b->e;
        int64_t panel = columns_of_panel(b), joined = LONG / panel;
        struct loop_expr *longs = emit_let(e, "whole", emit_op_int(e, LOOP_DIV, b->panels, joined));
        struct loop_expr *x =
                load(b, &b->scores,
                     plus(e, at, each_column(b, number(e, 0), longs, joined * panel)));
        emit_set(e, result, emit_op(e, op, loop_use(e->arena, result), x));
        end_columns(b);
        x = load(b, &b->scores,
                 plus(e, at, each_column(b, times(e, longs, joined), b->panels, panel)));
        emit_set(e, result, emit_op(e, op, loop_use(e->arena, result), x));
        end_columns(b);
}

static void begin_rows(struct block *b)
{
        struct emit *e = b->e;
        struct loop_expr *at = plus(e, emit_for(e, "row", b->from, b->to), b->start);
        emit_store(e, b->best.buffer, at, float_number(b, -FLT_MAX));
        emit_store(e, b->sum.buffer, at, float_number(b, 0));
        struct loop_expr *d = emit_for(e, "d", number(e, 0), number(e, depth_of(b)));
        emit_store(e, b->products.buffer, plus(e, times(e, at, depth_of(b)), d),
                   float_number(b, 0));
        emit_end(e);
        emit_end(e);
}

/* Sets the scores of the columns after the last one, in the last panel, to -infinity. */
static void hide_rest(struct block *b, struct loop_expr *at)
{
        struct emit *e = b->e;
        int64_t columns = type_extent(b->a.scores->type, COLUMN), panel = columns_of_panel(b);
        if (columns % panel == 0)
                return;
        struct loop_expr *end = times(e, b->panels, panel);
        struct loop_expr *j =
                emit_for(e, "j", minimum(e, minus(e, number(e, columns), b->key), end), end);
        emit_store(e, b->scores.buffer, plus(e, at, j), float_number(b, -INFINITY));
        emit_end(e);
}

/* Clears the rounded shares after the last panel, up to a whole tile. */
static void clear_rest(struct block *b, struct loop_expr *at)
{
        struct emit *e = b->e;
        int64_t panel = columns_of_panel(b), row = read_at_once(b);
        if (panel % row == 0)
                return;
        struct loop_expr *end = times(e, b->panels, panel),
                         *steps = emit_op_int(e, LOOP_DIV, plus(e, end, number(e, row - 1)), row);
        struct loop_expr *j = emit_for(e, "j", end, times(e, steps, row));
        emit_store(e, b->multiplied.buffer, plus(e, at, j),
                   loop_cast(e->arena, b->multiplied.buffer->element, float_number(b, 0)));
        emit_end(e);
}

/* Computes the shares of a block of columns, and their rounded copy, in the memory of the scores;
 * rescales the sums and products so far to the largest score now known. */
static void write_shares(struct block *b)
{
        struct emit *e = b->e;
        struct loop_expr *row =
                emit_let(e, "at", plus(e, emit_for(e, "row", b->from, b->to), b->start));
        struct loop_expr *at = emit_let(e, "first", times(e, row, b->width)),
                         *shares_at = times(e, row, width_read(b));
        hide_rest(b, at);
        struct loop_expr *before = emit_let(e, "before", load(b, &b->best, row));
        struct loop_variable *best = emit_var(e, "best", LOOP_TYPE(element_of(b)), before);
        reduce_columns(b, best, LOOP_MAX, at);
        struct loop_expr *scale =
                emit_let(e, "scale", exponential(b, minus(e, before, loop_use(e->arena, best))));
        struct loop_expr *column = each_column(b, number(e, 0), b->panels, columns_of_panel(b)),
                         *score_at = plus(e, at, column);
        struct loop_expr *share =
                exponential(b, minus(e, load(b, &b->scores, score_at), loop_use(e->arena, best)));
        share = emit_let(e, "share", share);
        emit_store(e, b->scores.buffer, score_at, share);
        if (rounds(b))
                emit_store(e, b->multiplied.buffer, plus(e, shares_at, column),
                           loop_cast(e->arena, b->multiplied.buffer->element, share));
        end_columns(b);
        if (rounds(b))
                clear_rest(b, shares_at);
        struct loop_expr *sum_before = emit_op(e, LOOP_MUL, load(b, &b->sum, row), scale);
        struct loop_variable *sum = emit_var(e, "sum", LOOP_TYPE(element_of(b)), sum_before);
        reduce_columns(b, sum, LOOP_ADD, at);
        emit_store(e, b->best.buffer, row, loop_use(e->arena, best));
        emit_store(e, b->sum.buffer, row, loop_use(e->arena, sum));
        struct loop_expr *d = emit_for(e, "d", number(e, 0), number(e, depth_of(b)));
        struct loop_expr *product = plus(e, times(e, row, depth_of(b)), d);
        emit_store(e, b->products.buffer, product,
                   emit_op(e, LOOP_MUL, load(b, &b->products, product), scale));
        emit_end(e);
        emit_end(e);
}

/* Writes the epilogue of the second product, which reads products and sums. */
static void finish_rows(struct block *b, struct loop_buffer *result)
{
        struct emit *e = b->e;
        const struct access *y = &b->a.y;
        struct loop_expr *index[RANK] = { number(e, 0), b->group, NULL, NULL };
        emit_local(e, b->a.sum)->place = &b->sum;
        emit_local(e, op_result(b->a.second))->place = &b->products;
        index[ROW] = emit_for(e, "row", b->from, b->to);
        index[COLUMN] =
                emit_for(e, "d", number(e, 0), number(e, type_extent(b->a.result->type, COLUMN)));
        const struct emit_place to = { .buffer = result,
                                       .start = access_start(e, y),
                                       .stride = { 0, y->stride[GROUP], y->stride[ROW],
                                                   y->stride[COLUMN] } };
        emit_store(e, result, emit_at(e, &to, RANK, index), emit_element(e, b->a.result, index));
        emit_end(e);
        emit_end(e);
}

/* Maps rows from..to to rows of the band, which repeats after band.rows rows. Where they cross its
 * end, the result is all rows of the band. */
static void find_band_rows(struct block *b, struct loop_expr **from, struct loop_expr **to)
{
        struct emit *e = b->e;
        int64_t rows = b->band.rows;
        struct loop_expr *last = emit_let(e, "last_row", minus(e, *to, number(e, 1)));
        struct loop_expr *within = emit_op(e, LOOP_EQ, emit_op_int(e, LOOP_DIV, *from, rows),
                                           emit_op_int(e, LOOP_DIV, last, rows));
        within = emit_let(e, "within", within);
        struct loop_expr *first = emit_op_int(e, LOOP_REM, *from, rows),
                         *end = plus(e, emit_op_int(e, LOOP_REM, last, rows), number(e, 1));
        *from = emit_let(e, "band_from",
                         loop_op(e->arena, LOOP_SELECT, within, first, number(e, 0)));
        *to = emit_let(e, "band_to", loop_op(e->arena, LOOP_SELECT, within, end, number(e, rows)));
}

/* Finds the panels *first..*end that contain a column visible from one of the rows. */
static void find_panels(struct block *b, struct loop_expr **first, struct loop_expr **end)
{
        struct emit *e = b->e;
        const struct type *t = b->a.scores->type;
        int64_t panel = columns_of_panel(b),
                panels = round_up(type_extent(t, COLUMN), panel) / panel;
        bool from_low = b->band.low > 1 - b->band.rows,
             to_high = b->band.high < type_extent(t, COLUMN) - 1;
        struct loop_expr *from = b->from, *to = b->to;
        if ((from_low || to_high) && b->band.rows < type_extent(t, ROW))
                find_band_rows(b, &from, &to);
        *first = number(e, 0);
        *end = number(e, panels);
        if (from_low) {
                struct loop_expr *low =
                        maximum(e, plus(e, from, number(e, b->band.low)), number(e, 0));
                int64_t least = least_keys(b);
                *first = emit_let(e, "first_panel",
                                  times(e, emit_op_int(e, LOOP_DIV, low, least), least / panel));
        }
        if (to_high) {
                struct loop_expr *high =
                        maximum(e, plus(e, to, number(e, b->band.high + panel - 1)), number(e, 0));
                *end = emit_let(e, "end_panel",
                                minimum(e, emit_op_int(e, LOOP_DIV, high, panel), *end));
        }
}

static bool write_key_blocks(struct block *b, struct loop_expr *tile, struct loop_expr *end,
                             struct loop_buffer *result)
{
        struct emit *e = b->e;
        int64_t panel = columns_of_panel(b), columns = type_extent(b->a.scores->type, COLUMN);
        struct loop_expr *first_panel, *end_panel;
        begin_rows(b);
        find_panels(b, &first_panel, &end_panel);
        struct loop_expr *from = emit_for(e, "panel", first_panel, end_panel);
        emit_loop(e, b->keys / panel, false);
        struct loop_expr *to =
                emit_let(e, "panels_end",
                         minimum(e, plus(e, from, number(e, b->keys / panel)), end_panel));
        b->panels = emit_let(e, "panels", minus(e, to, from));
        b->key = emit_let(e, "key", times(e, from, panel));
        struct loop_expr *last = minimum(e, times(e, to, panel), number(e, columns));
        b->first->y_start = minus(e, b->scores.start, b->key);
        b->second->first_channel = b->key;
        b->second->channels = emit_let(e, "keys", minus(e, last, b->key));
        bool good = b->first->write(b->first, tile, end, from, to);
        write_shares(b);
        good = good &&
               b->second->write(b->second, tile, end, number(e, 0), number(e, b->second->panels));
        emit_end(e);
        finish_rows(b, result);
        return good;
}

/* ---- blocks of rows ---- */

/* Returns the first row of a tile. */
static struct loop_expr *row_of(struct block *b, struct loop_expr *tile)
{
        struct emit *e = b->e;
        const struct tiling *tiling = &b->first->column;
        if (tiling->large == tiling->count)
                return minimum(e, times(e, tile, tiling->size), number(e, tiling->extent));
        return plus(e, times(e, tile, tiling->size - 1),
                    minimum(e, tile, number(e, tiling->large)));
}

static bool write_block(struct block *b, struct loop_expr *tile, struct loop_expr *end,
                        struct loop_expr *task, struct loop_buffer *result)
{
        struct emit *e = b->e;
        b->from = emit_let(e, "from_row", row_of(b, tile));
        b->to = emit_let(e, "to_row", row_of(b, end));
        b->start = emit_let(e, "first", minus(e, times(e, task, b->rows), b->from));
        b->per_row.start = b->sum.start = b->start;
        b->scores.start = b->multiplied.start = emit_let(e, "start", times(e, b->start, b->width));
        if (rounds(b))
                b->multiplied.start = emit_let(e, "shares_at", times(e, b->start, width_read(b)));
        b->first->group = b->second->group = b->group;
        b->first->image = b->second->image = number(e, 0);
        b->first->x_start = access_start(e, &b->first->x);
        b->first->y_start = b->scores.start;
        b->second->x_start = b->multiplied.start;
        b->first->task = b->second->task = task;
        b->second->y_start = access_start(e, &b->second->y);
        if (b->keys) {
                b->products.start = b->second->y_start =
                        emit_let(e, "products_at", times(e, b->start, depth_of(b)));
                return write_key_blocks(b, tile, end, result);
        }
        return b->first->write(b->first, tile, end, number(e, 0), number(e, b->first->panels)) &&
               write_rows(b) &&
               b->second->write(b->second, tile, end, number(e, 0), number(e, b->second->panels));
}

/* Returns the number of the next block of rows, alternately one from the front and one from the
 * back, so that the blocks of each task are about the same work even where a mask hides more
 * columns from some rows. */
static struct loop_expr *block_number(struct block *b, struct loop_expr *turn, int64_t blocks)
{
        struct emit *e = b->e;
        if (!b->keys || b->tasks == 1 || blocks == 1)
                return turn;
        struct loop_expr *half = emit_let(e, "half", emit_op_int(e, LOOP_DIV, turn, 2));
        struct loop_expr *odd = emit_op_int(e, LOOP_NE, emit_op_int(e, LOOP_REM, turn, 2), 0);
        return loop_op(e->arena, LOOP_SELECT, odd, minus(e, number(e, blocks - 1), half), half);
}

bool attention_kernel(struct emit *e, const struct kernel_request *request,
                      struct loop_buffer *buffer)
{
        struct block b = { .e = e, .region = request->region };
        if (!attention_find(request->region, request->results[0], &b.a))
                return false;
        if (target_engine(e->options->target)->attention)
                return target_engine(e->options->target)->attention(e, request, &b.a, buffer);
        if (!op_is_static(b.a.first) || !op_is_static(b.a.second))
                return attention_open(e, request, &b.a, buffer);
        if (!prepare(&b))
                return false;
        for (const struct op *op = b.region->first; op != b.region->last; op = op->next)
                /* Indices are not merged, because emit_place needs one per dimension. */
                emit_local(e, op_result(op))->splits = ~0u;
        find_memory(&b, buffer);
        int64_t tiles = b.first->column.count, blocks = divide_up(tiles, b.tiles);
        struct loop_expr *task = emit_for(e, "task", number(e, 0), number(e, b.tasks)), *from, *to;
        emit_loop(e, 1, b.tasks > 1);
        state_share(e, task, b.tasks, type_extent(b.a.scores->type, GROUP) * blocks, &from, &to);
        struct loop_expr *unit = emit_for(e, "unit", from, to);
        bool one = dim_is(b.a.scores->type->dims[GROUP], 1); /* Element functions then expect index
                                                              * 0. */
        b.group = one ? number(e, 0) : emit_let(e, "group", emit_op_int(e, LOOP_DIV, unit, blocks));
        struct loop_expr *turn =
                blocks > 1 ? emit_let(e, "turn", emit_op_int(e, LOOP_REM, unit, blocks))
                           : number(e, 0);
        struct loop_expr *in_group = block_number(&b, turn, blocks);
        struct loop_expr *tile = emit_let(e, "tile", times(e, in_group, b.tiles));
        struct loop_expr *end =
                emit_let(e, "end", minimum(e, plus(e, tile, number(e, b.tiles)), number(e, tiles)));
        bool good = write_block(&b, tile, end, task, buffer);
        emit_end(e);
        emit_end(e);
        return good && !e->failed;
}
