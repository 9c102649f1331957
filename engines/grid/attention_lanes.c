/* SPDX-License-Identifier: MIT */
/* In attention by blocks of warps, the lanes compute the softmax and the epilogue on the entries of
 * fragments that they own. Shared memory holds only what the four lanes of a row have found, in a
 * part that belongs to the warp. */
#include "engines/grid/attention_block.h"

#include <float.h>
#include <math.h>

static struct loop_expr *load(struct block *b, struct loop_buffer *from, struct loop_expr *at)
{
        return loop_load(b->e->arena, from, at);
}

static struct loop_expr *call(struct block *b, const char *function, struct loop_expr *const *args)
{
        return loop_call(b->e->arena, loop_library_find(b->e->library, function, E_F32), args);
}

/* Calls one of the library's exponential functions for x <= 0. */
static struct loop_expr *exponential(struct block *b, const char *function, struct loop_expr *x)
{
        return call(b, function, &x);
}

/* Returns the larger number. A NaN may be lost here; it stays in the score's share, and so in the
 * row's sum. */
static struct loop_expr *larger(struct block *b, struct loop_expr *x, struct loop_expr *y)
{
        struct loop_expr *const both[] = { x, y };
        return call(b, "larger", both);
}

static struct loop_expr *sum_of(struct block *b, struct loop_expr *x, struct loop_expr *y)
{
        return plus(b->e, x, y);
}

static struct loop_expr *float_number(struct block *b, double value)
{
        return loop_literal(b->e->arena, LOOP_TYPE(E_F32), (union scalar){ .f = value });
}

/* ---- entries of lanes ---- */

/* Opens a loop that gives each row of the warp a lane. Returns the row among those of all warps. */
static struct loop_expr *begin_lanes(struct block *b)
{
        struct loop_expr *lane = emit_grid(b->e, "lane", FOR_GPU_LANE, rows_of_warp(b));
        return emit_let(b->e, "at", plus(b->e, first_of_warp(b), lane));
}

/* Allocates an array in the registers of a lane. */
struct loop_buffer *attention_values(struct block *b, const char *name, enum element element,
                                     int64_t count)
{
        struct loop_buffer *values = ARENA_NEW(b->e->arena, struct loop_buffer);
        *values = (struct loop_buffer){ .name = emit_name(b->e, name),
                                        .element = element,
                                        .extent = count,
                                        .space = SPACE_STACK,
                                        .offset = -1,
                                        .access = ACCESS_INOUT };
        add(b, STMT_ALLOC)->buffer = values;
        return values;
}

/* A lane owns these entries of a tile. */
struct own {
        struct loop_variable *tile;
        struct loop_buffer *values;
        /* `lane` is the number of the lane, `first` its first row in each eight, `pair` its first
         * column. */
        struct loop_expr *lane, *first, *pair;
        struct loop_expr *i, *at, *row; /* `i` numbers the row among the lane's rows, `at` among the
                                         * rows of all warps, `row` in the result. */
};

static void move_own(struct block *b, enum loop_stmt_kind kind, const struct own *o)
{
        on_tile(b, kind, o->tile, o->values, o->lane);
}

/* Opens a loop over all lanes of the warp. */
static struct own begin_own(struct block *b, struct loop_variable *tile)
{
        struct emit *e = b->e;
        struct own o = { .tile = tile, .lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES) };
        o.values = attention_values(b, "own", E_F32,
                              (int64_t)tile->rows / TILE_OWN_ROWS * tile->columns * TILE_OWN);
        o.first = emit_let(e, "quad", emit_op_int(e, LOOP_DIV, o.lane, TILE_ROW_LANES));
        o.pair = emit_let(e, "pair", emit_op_int(e, LOOP_REM, o.lane, TILE_ROW_LANES));
        move_own(b, STMT_TAKE, &o);
        return o;
}

/* Opens a loop over the lane's rows. */
static void each_row(struct block *b, struct own *o)
{
        struct emit *e = b->e;
        const int step = TILE_OWN_ROWS / 2;
        o->i = emit_grid(e, "i", FOR_UNROLL, o->tile->rows / step);
        o->at = emit_let(e, "at",
                         plus(e, first_of_warp(b), plus(e, times(e, o->i, step), o->first)));
        o->row = emit_let(e, "r", plus(e, b->first, in_block(b, o->at)));
}

/* Opens a loop over the columns of one of the lane's rows. Returns the place of the entry, and its
 * column. */
static struct loop_expr *each_entry(struct block *b, const struct own *o, struct loop_expr **column)
{
        struct emit *e = b->e;
        struct loop_expr *c = emit_grid(e, "c", FOR_UNROLL, o->tile->columns * 2);
        struct loop_expr *vector = emit_op_int(e, LOOP_DIV, c, 2),
                         *second = emit_op_int(e, LOOP_REM, c, 2);
        struct loop_expr *of_rows =
                plus(e, times(e, emit_op_int(e, LOOP_DIV, o->i, 2), o->tile->columns), vector);
        *column = emit_let(
                e, "column",
                plus(e, times(e, vector, TILE_OWN_LANES), plus(e, times(e, o->pair, 2), second)));
        return emit_let(e, "entry",
                        plus(e, times(e, of_rows, TILE_OWN),
                             plus(e, times(e, emit_op_int(e, LOOP_REM, o->i, 2), 2), second)));
}

/* Opens the conditions that an entry's row and key exist, and returns their number. Where there are
 * any, *score is a variable that is -infinity outside of them. */
static int if_there(struct block *b, const struct own *o, struct loop_expr *key,
                    struct loop_variable **score)
{
        const bool rows = some_rows(b), keys = key && some_columns(b);
        if (score && (rows || keys))
                *score = emit_var(b->e, "score", LOOP_TYPE(E_F32), float_number(b, -INFINITY));
        if (rows)
                emit_if(b->e, is_row(b, o->row));
        if (keys)
                emit_if(b->e, is_column(b, key));
        return rows + keys;
}

/* Lets expressions of the fusion read v, computed before, at the place `entry` of the lane. */
static void place_own(struct block *b, const struct value *v, const struct own *o,
                      struct loop_expr *entry)
{
        b->entry = (struct emit_place){ .buffer = o->values, .start = entry };
        emit_local(b->e, v)->place = &b->entry;
}

static struct loop_expr *part_at(struct block *b, struct loop_expr *at, struct loop_expr *i)
{
        return plus(b->e, times(b->e, at, TILE_ROW_LANES), i);
}

/* Combines what the four lanes of a row have found. */
static struct loop_expr *joined(struct block *b, struct loop_buffer *parts,
                                struct loop_expr *(*join)(struct block *, struct loop_expr *,
                                                          struct loop_expr *),
                                struct loop_expr *at)
{
        struct loop_expr *all = load(b, parts, part_at(b, at, number(b->e, 0)));
        for (int i = 1; i < TILE_ROW_LANES; i++)
                all = join(b, all, load(b, parts, part_at(b, at, number(b->e, i))));
        return all;
}

/* Opens a loop over the lane's rows that loads what is known of each from shared memory into
 * registers. This is a loop of its own, because a compiler overlaps the loads only where all of
 * them precede the lane's first store to shared memory. */
static struct loop_buffer *begin_of_rows(struct block *b, struct own *o, const char *name,
                                         struct loop_expr *(*known)(struct block *,
                                                                    struct loop_expr *at))
{
        struct loop_buffer *of_rows =
                attention_values(b, name, E_F32, o->tile->rows / (TILE_OWN_ROWS / 2));
        each_row(b, o);
        emit_store(b->e, of_rows, o->i, known(b, o->at));
        emit_end(b->e);
        return of_rows;
}

/* Stores what the lane has found of its rows, for the other lanes of these rows. */
static void share_of_rows(struct block *b, struct own *o, struct loop_buffer *of_rows,
                          struct loop_buffer *parts)
{
        each_row(b, o);
        emit_store(b->e, parts, part_at(b, o->at, o->pair), load(b, of_rows, o->i));
        emit_end(b->e);
}

static struct loop_expr *best_before(struct block *b, struct loop_expr *at)
{
        return is_alone(b) ? float_number(b, -FLT_MAX) : load(b, b->best, at);
}
static struct loop_expr *best_of_lanes(struct block *b, struct loop_expr *at)
{
        return joined(b, b->parts, larger, at);
}

void attention_scores(struct block *b)
{
        struct emit *e = b->e;
        struct own o = begin_own(b, b->tile);
        struct loop_buffer *most = begin_of_rows(b, &o, "most", best_before);
        each_row(b, &o);
        struct loop_variable *best = emit_var(e, "best", LOOP_TYPE(E_F32), load(b, most, o.i));
        struct loop_expr *column, *entry = each_entry(b, &o, &column),
                                  *key = emit_let(e, "key", plus(e, b->key_at, column));
        struct loop_expr *const index[RANK] = { b->image, b->group, o.row, key };
        struct loop_variable *some = NULL;
        const int opened = if_there(b, &o, key, &some);
        place_own(b, op_result(b->a.first), &o, entry);
        struct loop_expr *score = emit_let(e, "score", emit_element(e, b->a.scores, index));
        if (some) {
                emit_set(e, some, score);
                score = loop_use(e->arena, some);
        }
        for (int i = 0; i < opened; i++)
                emit_end(e);
        emit_store(e, o.values, entry, score);
        emit_set(e, best, larger(b, loop_use(e->arena, best), score));
        emit_end(e);
        emit_store(e, most, o.i, loop_use(e->arena, best));
        emit_end(e);
        share_of_rows(b, &o, most, b->parts);
        move_own(b, STMT_GIVE, &o);
        emit_end(e);
}

void attention_shares(struct block *b)
{
        struct emit *e = b->e;
        struct own o = begin_own(b, b->tile);
        /* Shares that are rounded before they are multiplied need a less exact exponential. */
        const char *function = b->t.bytes < (int)sizeof(float) ? "exp_share" : "exp_negative";
        struct loop_buffer *bests = begin_of_rows(b, &o, "most", best_of_lanes),
                           *sums = attention_values(b, "sums", E_F32, bests->extent);
        each_row(b, &o);
        struct loop_expr *best = emit_let(e, "best", load(b, bests, o.i));
        struct loop_variable *sum = emit_var(e, "sum", LOOP_TYPE(E_F32), float_number(b, 0));
        struct loop_expr *column, *entry = each_entry(b, &o, &column);
        struct loop_expr *share = emit_let(
                e, "share", exponential(b, function, minus(e, load(b, o.values, entry), best)));
        emit_store(e, o.values, entry, share);
        emit_set(e, sum, plus(e, loop_use(e->arena, sum), share));
        emit_end(e);
        emit_store(e, sums, o.i, loop_use(e->arena, sum));
        emit_end(e);
        share_of_rows(b, &o, sums, b->part_sums);
        move_own(b, STMT_GIVE, &o);
        emit_end(e);
}

/* Updates what is known of each row, and the factor that rescales its earlier sums. */
void attention_rows(struct block *b)
{
        struct emit *e = b->e;
        struct loop_expr *at = begin_lanes(b);
        struct loop_expr *best = emit_let(e, "best", joined(b, b->parts, larger, at)),
                         *sum = joined(b, b->part_sums, sum_of, at);
        if (!is_alone(b)) {
                struct loop_expr *factor = emit_let(
                        e, "factor",
                        exponential(b, "exp_negative", minus(e, load(b, b->best, at), best)));
                sum = plus(e, emit_op(e, LOOP_MUL, load(b, b->sum.buffer, at), factor), sum);
                emit_store(e, b->factor, at, factor);
        }
        emit_store(e, b->sum.buffer, at, sum);
        emit_store(e, b->best, at, best);
        emit_end(e);
}

void attention_begin_rows(struct block *b)
{
        struct emit *e = b->e;
        struct loop_expr *at = begin_lanes(b);
        emit_store(e, b->best, at, float_number(b, -FLT_MAX));
        emit_store(e, b->sum.buffer, at, float_number(b, 0));
        emit_end(e);
}

void attention_give_shares(struct block *b)
{
        struct own o = begin_own(b, b->tile);
        o.tile = b->shares;
        move_own(b, STMT_GIVE, &o);
        emit_end(b->e);
}

/* ---- parts: warps that share keys ---- */

void attention_leave_part(struct block *b)
{
        struct emit *e = b->e;
        struct loop_expr *at = begin_lanes(b), *row = emit_let(e, "row", in_block(b, at)),
                         *best = load(b, b->best, row);
        for (int i = 1; i < b->t.parts; i++)
                best = larger(b, best,
                              load(b, b->best, plus(e, row, number(e, (int64_t)i * b->t.rows))));
        struct loop_expr *factor =
                emit_let(e, "factor",
                         exponential(b, "exp_negative",
                                     minus(e, load(b, b->best, at), emit_let(e, "best", best))));
        emit_store(e, b->factor, at, factor);
        emit_store(e, b->sum.buffer, at, emit_op(e, LOOP_MUL, load(b, b->sum.buffer, at), factor));
        emit_end(e);
        on_tile(b, STMT_SCALE, b->acc, b->factor, first_of_warp(b));
        on_tile(b, STMT_UNLOAD, b->acc, b->joined, times(e, first_of_warp(b), joined_row(&b->t)))
                ->tiles.step = joined_row(&b->t);
}

/* ---- results ---- */

static struct loop_expr *result_at(struct block *b, struct loop_expr *const *index)
{
        const struct access *y = &b->a.y;
        struct emit_place to = { .buffer = b->result, .start = number(b->e, y->offset) };
        for (int d = 0; d < RANK; d++) {
                to.stride[d] = y->stride[d];
                if (!access_is_known(y, d))
                        to.pitch[d] = times(b->e, emit_dim(b->e, y->pitch[d]), y->stride[d]);
        }
        return emit_at(b->e, &to, RANK, index);
}

/* Applies the epilogue to the sums and stores the results; a lane computes all of its results
 * before it stores the first. */
static void write_results(struct block *b)
{
        struct emit *e = b->e;
        begin_warps(b);
        struct own o = begin_own(b, b->acc);
        struct loop_buffer *values =
                attention_values(b, "values", b->result->element, o.values->extent);
        if (b->a.sum)
                emit_local(e, b->a.sum)->place = &b->sum;
        for (int stores = 0; stores < 2; stores++) {
                each_row(b, &o);
                struct loop_expr *sum =
                        b->a.sum || stores ? NULL
                                           : emit_let(e, "sum", load(b, b->sum.buffer, o.at));
                int opened = if_there(b, &o, NULL, NULL) + 2;
                struct loop_expr *d, *entry = each_entry(b, &o, &d),
                                     *const index[RANK] = { b->image, b->group, o.row, d };
                place_own(b, op_result(b->a.second), &o, entry);
                if (sum)
                        emit_store(e, o.values, entry,
                                   emit_op(e, LOOP_DIV, load(b, o.values, entry), sum));
                if (stores)
                        emit_store(e, b->result, result_at(b, index), load(b, values, entry));
                else
                        emit_store(e, values, entry, emit_element(e, b->a.result, index));
                while (opened--)
                        emit_end(e);
        }
        emit_end(e);
        emit_end(e);
}

/* Adds up the elements that all parts have at `at`, in order. */
static struct loop_expr *sum_of_parts(struct block *b, struct loop_buffer *parts,
                                      struct loop_expr *at)
{
        struct loop_expr *sum = load(b, parts, at);
        for (int i = 1; i < b->t.parts; i++)
                sum = plus(b->e, sum,
                           load(b, parts,
                                plus(b->e, at, number(b->e, i * (parts->extent / b->t.parts)))));
        return sum;
}

/* Combines the sums of all parts and stores the results; a lane has neighbouring results. */
static void join_parts(struct block *b)
{
        struct emit *e = b->e;
        enum { SIDE = 4 };
        const struct emit_place sum = b->sum;
        struct loop_expr *index[2], *results[SIDE];
        begin_warps(b);
        int opened =
                attention_share(b, 2, (const int64_t[]){ b->t.rows, b->t.width / SIDE }, index) + 1;
        struct loop_expr *at = emit_let(e, "at", index[0]),
                         *row = emit_let(e, "r", plus(e, b->first, at)),
                         *first = emit_let(e, "column", times(e, index[1], SIDE));
        if (some_rows(b)) {
                emit_if(e, is_row(b, row));
                opened++;
        }
        b->sum = (struct emit_place){ .buffer = attention_values(b, "total", E_F32, 1),
                                      .start = number(e, 0) };
        struct loop_expr *total = emit_let(e, "all", sum_of_parts(b, sum.buffer, at));
        emit_store(e, b->sum.buffer, number(e, 0), total);
        if (b->a.sum)
                emit_local(e, b->a.sum)->place = &b->sum;
        struct own o = { .values = attention_values(b, "own", E_F32, SIDE) };
        struct loop_expr *from = emit_let(e, "from",
                                          plus(e, times(e, at, joined_row(&b->t)), first)),
                         *sums[SIDE];
        for (int i = 0; i < SIDE; i++)
                sums[i] =
                        emit_let(e, "sum", sum_of_parts(b, b->joined, plus(e, from, number(e, i))));
        for (int i = 0; i < SIDE && !b->a.sum; i++)
                sums[i] = emit_let(e, "share", emit_op(e, LOOP_DIV, sums[i], total));
        for (int i = 0; i < SIDE; i++)
                emit_store(e, o.values, number(e, i), sums[i]);
        for (int i = 0; i < SIDE; i++) {
                struct loop_expr *const of[RANK] = { b->image, b->group, row,
                                                     plus(e, first, number(e, i)) };
                place_own(b, op_result(b->a.second), &o, number(e, i));
                results[i] = emit_let(e, "result", emit_element(e, b->a.result, of));
        }
        for (int i = 0; i < SIDE; i++) {
                struct loop_expr *const of[RANK] = { b->image, b->group, row,
                                                     plus(e, first, number(e, i)) };
                emit_store(e, b->result, result_at(b, of), results[i]);
        }
        while (opened--)
                emit_end(e);
}

void attention_results(struct block *b) { (b->t.parts > 1 ? join_parts : write_results)(b); }
