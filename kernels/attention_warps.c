/* SPDX-License-Identifier: MIT */
/* Attention by blocks of warps: a block of the grid for a group (a head) and some of its rows.
 *
 *     queries of the block           keys, values: `keys` of them at a time, two such blocks in shared memory,
 *         +---------+                the next one copied while this one is multiplied
 *         | warp 0  |
 *         | warp 1  |                for each block of keys, a warp with its rows:
 *         | ..      |                        scores = q k'
 *         +---------+                        best, shares          by lanes, each of what it has of the scores
 *                                            sums = sums * exp(best before - best) + shares v
 *
 * Scores, shares and sums never leave the warp's fragments (`take`, `give`, products of sums: ir/loop.h); of a row, only what its
 * four lanes have found is in shared memory.
 *
 * The softmax goes from block to block of keys, as attention.c has it (Milakov and Gimelshein, arXiv 1805.02867; Dao, arXiv
 * 2307.08691), and blocks that the mask hides are left out as there. What becomes of scores and of sums the element
 * functions of the fusion say. Keys and values are read as they lie: a copy of 16 bytes puts words of keys where a product
 * has them, and words of values across. */
#include "kernels/attention_block.h"

#include <float.h>
#include <math.h>

/* ---- what fits ---- */

static const struct multiply *multiply_of(const struct op *op, const struct target *target)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        const struct multiply *m = multiply_find(target, (enum element)x->element, (enum element)w->element, true,
                                                 (int)packed_lanes(x, w), (int)packed_group(x, w), 0);
        return m && m->x.place == PLACE_WARP ? m : NULL;
}

bool attention_tile_of(const struct attention *a, const struct target *target, const struct schedule *s, struct attention_tile *t)
{
        const struct multiply *m = multiply_of(a->first, target);
        const struct type *x = op_operand(a->first, 0)->type, *scores = a->scores->type;
        if (!m || multiply_of(a->second, target) != m || m->sum != E_F32 || x->dims[GROUP] != scores->dims[GROUP] || x->dims[ROW] != scores->dims[ROW])
                return false;
        *t = (struct attention_tile){ .rows = s->tile, .warps = s->warps, .parts = s->parts, .keys = s->keys, .depth = (int)x->dims[COLUMN],
                                      .width = (int)op_result(a->second)->type->dims[COLUMN], .fragment = m->positions,
                                      .lanes = m->outputs, .group = m->group, .bytes = element_info[m->x.memory].bytes };
        const int of_warp = t->rows / t->warps;
        if (t->keys <= 0)
                return false;
        t->turns = divide_up(scores->dims[COLUMN], attention_tile_keys(t));
        return t->rows > 0 && t->rows % t->warps == 0 && of_warp % t->fragment == 0 && of_warp <= GRID_LANES && attention_tile_warps(t) <= GRID_WARPS_MAX &&
               t->group * t->bytes == COPY_BYTES && t->keys % multiply_row(m) == 0 && t->fragment == TILE_OWN_ROWS && t->lanes == TILE_OWN_LANES &&
               t->depth % multiply_row(m) == 0 && t->width % t->lanes == 0 && t->keys / t->lanes <= TILE_MAX &&
               t->width / t->lanes <= TILE_MAX && t->depth / t->group <= TILE_MAX && t->keys / t->group <= TILE_MAX &&
               attention_tile_shared(t) <= GRID_SHARED_MAX;
}

/* elements of a row of sums in shared memory: lanes of a fragment have banks of their own */
static int64_t joined_row(const struct attention_tile *t) { return round_up(t->width, 2 * TILE_OWN_LANES) + TILE_OWN_LANES; }

int64_t attention_tile_shared(const struct attention_tile *t)
{
        enum { ALLOCATIONS = 9, ALIGN = 128, OF_ROW = 3 + 2 * TILE_ROW_LANES };
        const int64_t operands = t->rows * query_row(t) + (int64_t)attention_tile_stages(t) * attention_tile_keys(t) * (t->depth + t->width), rows = (int64_t)t->rows * t->parts;
        return operands * t->bytes + rows * (OF_ROW + (t->parts > 1 ? joined_row(t) : 0)) * 4 + ALLOCATIONS * ALIGN;
}

/* ---- the kernel ---- */

static int rows_of_warp(const struct block *b) { return b->t.rows / b->t.warps; }
/* of all warps' rows, the warp's first one */
static struct loop_expr *first_of_warp(struct block *b) { return times(b->e, b->warp, rows_of_warp(b)); }
/* the row of the block that one of these is */
static struct loop_expr *in_block(struct block *b, struct loop_expr *at) { return b->t.parts > 1 ? emit_op_int(b->e, LOOP_REM, at, b->t.rows) : at; }
/* There is one turn: nothing is known of rows before it, and its values may come while scores are made. */
static bool is_alone(const struct block *b) { return b->t.turns == 1; }
static struct loop_expr *part_of_warp(struct block *b) { return emit_op_int(b->e, LOOP_DIV, b->warp, b->t.warps); }
static struct loop_expr *load(struct block *b, struct loop_buffer *from, struct loop_expr *at) { return loop_load(b->e->arena, from, at); }

static struct loop_expr *call(struct block *b, const char *function, struct loop_expr *const *args)
{
        return loop_call(b->e->arena, loop_library_find(b->e->library, function, E_F32), args);
}

/* of what is at most 0 */
static struct loop_expr *exponential(struct block *b, const char *function, struct loop_expr *x) { return call(b, function, &x); }

/* the larger one; NaN may be lost, which its share and so the sum of its row keeps */
static struct loop_expr *larger(struct block *b, struct loop_expr *x, struct loop_expr *y)
{
        struct loop_expr *const both[] = { x, y };
        return call(b, "larger", both);
}

static struct loop_expr *sum_of(struct block *b, struct loop_expr *x, struct loop_expr *y) { return plus(b->e, x, y); }

static struct loop_expr *float_number(struct block *b, double value)
{
        return loop_literal(b->e->arena, LOOP_TYPE(E_F32), (union scalar){ .f = value });
}

static void wait_for_all(struct block *b)
{
        add(b, STMT_COMMIT);
        add(b, STMT_WAIT);
}

/* ---- products ---- */

static struct loop_stmt *on_tile(struct block *b, enum loop_stmt_kind kind, struct loop_variable *sums, struct loop_buffer *buffer, struct loop_expr *at)
{
        struct loop_stmt *s = add(b, kind);
        s->variable = sums;
        s->buffer = buffer;
        s->a = at;
        s->tiles = (struct loop_tiles){ .positions = sums->rows, .vectors = sums->columns, .rows = b->t.fragment };
        return s;
}

/* sums += x by the block of keys in w, x being said by the caller */
static struct loop_stmt *multiply(struct block *b, struct loop_variable *sums, struct loop_buffer *x, struct loop_expr *at, struct loop_buffer *w, int depth)
{
        struct loop_stmt *s = on_tile(b, STMT_MULTIPLY, sums, x, at);
        s->weights = w;
        const int64_t stage = w->extent / b->stages;
        s->b = times(b->e, emit_op_int(b->e, LOOP_REM, b->number, b->stages), stage);
        if (b->t.parts > 1)
                s->b = plus(b->e, s->b, times(b->e, part_of_warp(b), stage / b->t.parts));
        s->tiles.depth = depth / b->t.group;
        s->tiles.group = b->t.group;
        s->function = loop_library_find(b->e->library, b->multiply->body, b->multiply->x.word);
        return s;
}

/* the warp's queries by keys */
static void multiply_keys(struct block *b)
{
        const int64_t row = query_row(&b->t);
        struct loop_stmt *s = multiply(b, b->tile, b->qs, times(b->e, in_block(b, first_of_warp(b)), row), b->ks, b->t.depth);
        s->tiles.step = row;
        s->tiles.jump = b->t.fragment * row;
}

/* shares by values */
static void multiply_values(struct block *b)
{
        multiply(b, b->acc, NULL, loop_use(b->e->arena, b->tile), b->vs, b->t.keys)->tiles.across = true;
}

/* ---- rows, by lanes ---- */

/* Opens a loop over the warp's rows, a lane each: which of all warps' rows it has. */
static struct loop_expr *begin_lanes(struct block *b)
{
        struct loop_expr *lane = emit_grid(b->e, "lane", FOR_GPU_LANE, rows_of_warp(b));
        return emit_let(b->e, "at", plus(b->e, first_of_warp(b), lane));
}

/* memory of a lane */
static struct loop_buffer *new_values(struct block *b, const char *name, enum element element, int64_t count)
{
        struct loop_buffer *values = ARENA_NEW(b->e->arena, struct loop_buffer);
        *values = (struct loop_buffer){ .name = emit_name(b->e, name), .element = element, .extent = count, .space = SPACE_STACK,
                                        .offset = -1, .access = ACCESS_INOUT };
        add(b, STMT_ALLOC)->buffer = values;
        return values;
}

/* What a lane has of a tile: entries of some rows, each at its place. */
struct own {
        struct loop_variable *tile;
        struct loop_buffer *values;
        struct loop_expr *lane, *first, *pair;            /* its number; its first row of eight, and column */
        struct loop_expr *i, *at, *row;                   /* number of its row, which of all warps' rows, of the result */
};

static void move_own(struct block *b, enum loop_stmt_kind kind, const struct own *o) { on_tile(b, kind, o->tile, o->values, o->lane); }

/* Opens a loop over all lanes. */
static struct own begin_own(struct block *b, struct loop_variable *tile)
{
        struct emit *e = b->e;
        struct own o = { .tile = tile, .lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES) };
        o.values = new_values(b, "own", E_F32, (int64_t)tile->rows / TILE_OWN_ROWS * tile->columns * TILE_OWN);
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
        o->at = emit_let(e, "at", plus(e, first_of_warp(b), plus(e, times(e, o->i, step), o->first)));
        o->row = emit_let(e, "r", plus(e, b->first, in_block(b, o->at)));
}

/* Opens a loop over columns of such a row: the entry's place; its column. */
static struct loop_expr *each_entry(struct block *b, const struct own *o, struct loop_expr **column)
{
        struct emit *e = b->e;
        struct loop_expr *c = emit_grid(e, "c", FOR_UNROLL, o->tile->columns * 2);
        struct loop_expr *vector = emit_op_int(e, LOOP_DIV, c, 2), *second = emit_op_int(e, LOOP_REM, c, 2);
        struct loop_expr *of_rows = plus(e, times(e, emit_op_int(e, LOOP_DIV, o->i, 2), o->tile->columns), vector);
        *column = emit_let(e, "column", plus(e, times(e, vector, TILE_OWN_LANES), plus(e, times(e, o->pair, 2), second)));
        return emit_let(e, "entry", plus(e, times(e, of_rows, TILE_OWN), plus(e, times(e, emit_op_int(e, LOOP_REM, o->i, 2), 2), second)));
}

/* Opens conditions, as many as it returns: under which an entry is of a row, and a key. *score: what it is elsewhere, where there are any. */
static int if_there(struct block *b, const struct own *o, struct loop_expr *key, struct loop_variable **score)
{
        const bool rows = rows_of(b) % b->t.rows, keys = key && columns_of(b) % attention_tile_keys(&b->t);
        if (score && (rows || keys))
                *score = emit_var(b->e, "score", LOOP_TYPE(E_F32), float_number(b, -INFINITY));
        if (rows)
                emit_if(b->e, less(b, o->row, rows_of(b)));
        if (keys)
                emit_if(b->e, less(b, key, columns_of(b)));
        return rows + keys;
}

/* v, computed before, is the entry at that place. */
static void place_own(struct block *b, const struct value *v, const struct own *o, struct loop_expr *entry)
{
        b->entry = (struct emit_place){ .buffer = o->values, .start = entry };
        emit_local(b->e, v)->place = &b->entry;
}

static struct loop_expr *part_at(struct block *b, struct loop_expr *at, struct loop_expr *i)
{
        return plus(b->e, times(b->e, at, TILE_ROW_LANES), i);
}

/* what of lanes of a row is joined */
static struct loop_expr *joined(struct block *b, struct loop_buffer *parts, struct loop_expr *(*join)(struct block *, struct loop_expr *, struct loop_expr *),
                                struct loop_expr *at)
{
        struct loop_expr *all = load(b, parts, part_at(b, at, number(b->e, 0)));
        for (int i = 1; i < TILE_ROW_LANES; i++)
                all = join(b, all, load(b, parts, part_at(b, at, number(b->e, i))));
        return all;
}

/* scores as the fusion has them, and a lane's largest one of each row */
static void write_scores(struct block *b)
{
        struct emit *e = b->e;
        struct own o = begin_own(b, b->tile);
        each_row(b, &o);
        struct loop_variable *best = emit_var(e, "most", LOOP_TYPE(E_F32), is_alone(b) ? float_number(b, -FLT_MAX) : load(b, b->best, o.at));
        struct loop_expr *column, *entry = each_entry(b, &o, &column), *key = emit_let(e, "key", plus(e, b->key_at, column));
        struct loop_expr *const index[RANK] = { number(e, 0), b->group, o.row, key };
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
        emit_store(e, b->parts, part_at(b, o.at, o.pair), loop_use(e->arena, best));
        emit_end(e);
        move_own(b, STMT_GIVE, &o);
        emit_end(e);
}

static void write_shares(struct block *b)
{
        struct emit *e = b->e;
        struct own o = begin_own(b, b->tile);
        each_row(b, &o);
        const char *function = b->t.bytes < (int)sizeof(float) ? "exp_share" : "exp_negative";      /* what is multiplied is rounded, or is not */
        struct loop_expr *best = emit_let(e, "best", joined(b, b->parts, larger, o.at));
        struct loop_variable *sum = emit_var(e, "sum", LOOP_TYPE(E_F32), float_number(b, 0));
        struct loop_expr *column, *entry = each_entry(b, &o, &column);
        struct loop_expr *share = emit_let(e, "share", exponential(b, function, minus(e, load(b, o.values, entry), best)));
        emit_store(e, o.values, entry, share);
        emit_set(e, sum, plus(e, loop_use(e->arena, sum), share));
        emit_end(e);
        emit_store(e, b->part_sums, part_at(b, o.at, o.pair), loop_use(e->arena, sum));
        emit_end(e);
        move_own(b, STMT_GIVE, &o);
        emit_end(e);
}

/* what is known of a row, and what its sums so far are brought to the largest score by */
static void write_rows(struct block *b)
{
        struct emit *e = b->e;
        struct loop_expr *at = begin_lanes(b);
        struct loop_expr *best = emit_let(e, "best", joined(b, b->parts, larger, at)), *sum = joined(b, b->part_sums, sum_of, at);
        if (!is_alone(b)) {
                struct loop_expr *factor = emit_let(e, "factor", exponential(b, "exp_negative", minus(e, load(b, b->best, at), best)));
                sum = plus(e, emit_op(e, LOOP_MUL, load(b, b->sum.buffer, at), factor), sum);
                emit_store(e, b->factor, at, factor);
        }
        emit_store(e, b->sum.buffer, at, sum);
        emit_store(e, b->best, at, best);
        emit_end(e);
        if (!is_alone(b))
                on_tile(b, STMT_SCALE, b->acc, b->factor, first_of_warp(b));
}

/* ---- a block ---- */

/* turns of keys that some row of the block sees: *from, *to */
static void find_turns(struct block *b, struct loop_expr **from, struct loop_expr **to)
{
        struct emit *e = b->e;
        const int64_t columns = columns_of(b), all = b->t.turns;
        const int keys = attention_tile_keys(&b->t);
        const bool low = b->band.low > 1 - b->band.rows, high = b->band.high < columns - 1;
        *from = number(e, 0);
        *to = number(e, all);
        if (all == 1 || (!low && !high))
                return;
        struct loop_expr *first = b->first, *end = minimum(e, plus(e, b->first, number(e, b->t.rows)), number(e, rows_of(b)));
        if (b->band.rows < rows_of(b)) {          /* it repeats: all of its rows where the block goes over its end */
                struct loop_expr *last = emit_let(e, "last_row", minus(e, end, number(e, 1)));
                struct loop_expr *within = emit_op(e, LOOP_EQ, emit_op_int(e, LOOP_DIV, first, b->band.rows), emit_op_int(e, LOOP_DIV, last, b->band.rows));
                within = emit_let(e, "within", within);
                first = emit_let(e, "band_from", loop_op(e->arena, LOOP_SELECT, within, emit_op_int(e, LOOP_REM, first, b->band.rows), number(e, 0)));
                end = plus(e, emit_op_int(e, LOOP_REM, last, b->band.rows), number(e, 1));
                end = emit_let(e, "band_to", loop_op(e->arena, LOOP_SELECT, within, end, number(e, b->band.rows)));
        }
        if (low) {
                struct loop_expr *least = maximum(e, plus(e, first, number(e, b->band.low)), number(e, 0));
                *from = emit_let(e, "from_turn", minimum(e, emit_op_int(e, LOOP_DIV, least, keys), number(e, all)));
        }
        if (high) {
                struct loop_expr *most = maximum(e, plus(e, end, number(e, b->band.high + keys - 1)), number(e, 0));
                *to = emit_let(e, "to_turn", minimum(e, emit_op_int(e, LOOP_DIV, most, keys), number(e, all)));
        }
}

static void begin_warps(struct block *b) { b->warp = emit_grid(b->e, "warp", FOR_GPU_WARP, attention_tile_warps(&b->t)); }

static void begin_block(struct block *b, struct loop_expr *from, struct loop_expr *to)
{
        struct emit *e = b->e;
        begin_warps(b);
        attention_copy_queries(b);
        emit_if(e, emit_op(e, LOOP_LT, from, to));
        attention_copy_keys(b, from);
        if (!is_alone(b))
                attention_copy_values(b, from);
        emit_end(e);
        if (!is_alone(b)) {
                struct loop_expr *at = begin_lanes(b);
                emit_store(e, b->best, at, float_number(b, -FLT_MAX));
                emit_store(e, b->sum.buffer, at, float_number(b, 0));
                emit_end(e);
        }
        emit_end(e);
        add(b, STMT_COMMIT);
        if (is_alone(b)) {
                begin_warps(b);
                attention_copy_values(b, from);
                emit_end(e);
                add(b, STMT_COMMIT);
        }
        add(b, STMT_WAIT)->code = is_alone(b);
}

static struct loop_variable *new_tile(struct block *b, const char *name, int outputs)
{
        struct loop_type type = LOOP_VECTOR(E_F32, b->t.lanes);
        type.tile = true;
        struct loop_variable *v = emit_var(b->e, name, type, NULL);
        v->rows = rows_of_warp(b);
        v->columns = outputs / b->t.lanes;
        v->warps = attention_tile_warps(&b->t);
        return v;
}

/* A warp that shares keys, all of which have been multiplied, brings its sums to the largest score of all, and leaves them to the others. */
static void leave_part(struct block *b)
{
        struct emit *e = b->e;
        struct loop_expr *at = begin_lanes(b), *row = emit_let(e, "row", in_block(b, at)), *best = load(b, b->best, row);
        for (int i = 1; i < b->t.parts; i++)
                best = larger(b, best, load(b, b->best, plus(e, row, number(e, (int64_t)i * b->t.rows))));
        struct loop_expr *factor = emit_let(e, "factor", exponential(b, "exp_negative", minus(e, load(b, b->best, at), emit_let(e, "best", best))));
        emit_store(e, b->factor, at, factor);
        emit_store(e, b->sum.buffer, at, emit_op(e, LOOP_MUL, load(b, b->sum.buffer, at), factor));
        emit_end(e);
        on_tile(b, STMT_SCALE, b->acc, b->factor, first_of_warp(b));
        on_tile(b, STMT_UNLOAD, b->acc, b->joined, times(e, first_of_warp(b), joined_row(&b->t)))->tiles.step = joined_row(&b->t);
}

static void write_turns(struct block *b, struct loop_expr *from, struct loop_expr *to)
{
        struct emit *e = b->e;
        const struct attention_tile *t = &b->t;
        b->number = emit_for(e, "turn", from, to);
        b->tile = new_tile(b, "tile", t->keys);
        begin_warps(b);
        if (!is_alone(b)) {
                struct loop_expr *next = emit_let(e, "next", plus(e, b->number, number(e, 1)));
                emit_if(e, emit_op(e, LOOP_LT, next, to));
                attention_copy_keys(b, next);
                attention_copy_values(b, next);
                emit_end(e);
        }
        b->key_at = times(e, b->number, attention_tile_keys(t));
        if (t->parts > 1)
                b->key_at = plus(e, b->key_at, times(e, part_of_warp(b), t->keys));
        b->key_at = emit_let(e, "first_key", b->key_at);
        multiply_keys(b);
        write_scores(b);
        write_shares(b);
        write_rows(b);
        if (is_alone(b)) {
                emit_end(e);
                add(b, STMT_WAIT);
                begin_warps(b);
        }
        multiply_values(b);
        if (is_alone(b) && t->parts > 1)
                leave_part(b);
        emit_end(e);
        if (!is_alone(b))
                wait_for_all(b);
        emit_end(e);
        if (!is_alone(b) && t->parts > 1) {
                begin_warps(b);
                leave_part(b);
                emit_end(e);
        }
}

static struct loop_expr *result_at(struct block *b, struct loop_expr *const *index)
{
        const struct access *y = &b->a.y;
        const struct emit_place to = { .buffer = b->result, .start = number(b->e, y->offset),
                                       .stride = { 0, y->stride[GROUP], y->stride[ROW], y->stride[COLUMN] } };
        return emit_at(b->e, &to, RANK, index);
}

/* what the fusion makes of sums: a lane makes all of its results before it stores any */
static void write_results(struct block *b)
{
        struct emit *e = b->e;
        begin_warps(b);
        struct own o = begin_own(b, b->acc);
        struct loop_buffer *values = new_values(b, "values", b->result->element, o.values->extent);
        emit_local(e, b->a.sum)->place = &b->sum;
        for (int stores = 0; stores < 2; stores++) {
                each_row(b, &o);
                int opened = if_there(b, &o, NULL, NULL) + 2;
                struct loop_expr *d, *entry = each_entry(b, &o, &d), *const index[RANK] = { number(e, 0), b->group, o.row, d };
                place_own(b, op_result(b->a.second), &o, entry);
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

/* of such memory, what all parts have of it, added up in order */
static struct loop_expr *sum_of_parts(struct block *b, struct loop_buffer *parts, struct loop_expr *at)
{
        struct loop_expr *sum = load(b, parts, at);
        for (int i = 1; i < b->t.parts; i++)
                sum = plus(b->e, sum, load(b, parts, plus(b->e, at, number(b->e, i * (parts->extent / b->t.parts)))));
        return sum;
}

/* what the fusion makes of all parts: a lane has results side by side */
static void join_parts(struct block *b)
{
        struct emit *e = b->e;
        enum { SIDE = 4 };
        const struct emit_place sum = b->sum;
        struct loop_expr *index[2], *results[SIDE];
        begin_warps(b);
        int opened = attention_share(b, 2, (const int64_t[]){ b->t.rows, b->t.width / SIDE }, index) + 1;
        struct loop_expr *at = emit_let(e, "at", index[0]), *row = emit_let(e, "r", plus(e, b->first, at)), *first = emit_let(e, "column", times(e, index[1], SIDE));
        if (rows_of(b) % b->t.rows) {
                emit_if(e, less(b, row, rows_of(b)));
                opened++;
        }
        b->sum = (struct emit_place){ .buffer = new_values(b, "total", E_F32, 1), .start = number(e, 0) };
        emit_store(e, b->sum.buffer, number(e, 0), sum_of_parts(b, sum.buffer, at));
        emit_local(e, b->a.sum)->place = &b->sum;
        struct own o = { .values = new_values(b, "own", E_F32, SIDE) };
        struct loop_expr *from = emit_let(e, "from", plus(e, times(e, at, joined_row(&b->t)), first)), *sums[SIDE];
        for (int i = 0; i < SIDE; i++)
                sums[i] = emit_let(e, "sum", sum_of_parts(b, b->joined, plus(e, from, number(e, i))));
        for (int i = 0; i < SIDE; i++)
                emit_store(e, o.values, number(e, i), sums[i]);
        for (int i = 0; i < SIDE; i++) {
                struct loop_expr *const of[RANK] = { number(e, 0), b->group, row, plus(e, first, number(e, i)) };
                place_own(b, op_result(b->a.second), &o, number(e, i));
                results[i] = emit_let(e, "result", emit_element(e, b->a.result, of));
        }
        for (int i = 0; i < SIDE; i++) {
                struct loop_expr *const of[RANK] = { number(e, 0), b->group, row, plus(e, first, number(e, i)) };
                emit_store(e, b->result, result_at(b, of), results[i]);
        }
        while (opened--)
                emit_end(e);
}

static struct loop_buffer *shared(struct block *b, const char *name, enum element element, int64_t extent)
{
        struct loop_buffer *s = ARENA_NEW(b->e->arena, struct loop_buffer);
        *s = (struct loop_buffer){ .name = emit_name(b->e, name), .element = element, .extent = extent,
                                   .space = SPACE_SHARED, .offset = -1, .access = ACCESS_INOUT };
        add(b, STMT_ALLOC)->buffer = s;
        return s;
}

static void find_memory(struct block *b)
{
        const struct attention_tile *t = &b->t;
        const enum element element = b->multiply->x.memory;
        b->qs = shared(b, "qs", element, t->rows * query_row(t));
        b->stages = attention_tile_stages(t);
        const int64_t keys = (int64_t)b->stages * attention_tile_keys(t), rows = (int64_t)t->rows * t->parts;
        b->ks = shared(b, "ks", element, keys * t->depth);
        b->vs = shared(b, "vs", element, keys * t->width);
        b->best = shared(b, "bests", E_F32, rows);
        b->sum = (struct emit_place){ .buffer = shared(b, "sums", E_F32, rows), .start = times(b->e, b->first, -1) };
        const struct type *sum = b->a.sum->type;
        int d = sum->rank - 1;
        while (d > 0 && sum->dims[d] == 1)
                d--;
        b->sum.stride[d] = 1;
        b->factor = is_alone(b) && t->parts == 1 ? NULL : shared(b, "factors", E_F32, rows);
        b->parts = shared(b, "parts", E_F32, rows * TILE_ROW_LANES);
        b->part_sums = shared(b, "part_sums", E_F32, rows * TILE_ROW_LANES);
        b->joined = t->parts > 1 ? shared(b, "joined", E_F32, rows * joined_row(t)) : NULL;
}

bool attention_warps_kernel(struct emit *e, const struct kernel_request *request, const struct attention *a, struct loop_buffer *buffer)
{
        struct block b = { .e = e, .a = *a, .result = buffer };
        const struct target *target = e->options->target;
        if (!a->second->schedule || !a->sum || !attention_tile_of(a, target, a->second->schedule, &b.t) || !attention_operands(&b, request->region))
                return false;
        b.multiply = multiply_of(a->first, target);
        b.band = attention_band(a);
        b.query = emit_parameter(e, b.q.value);
        b.key = emit_parameter(e, b.k.value);
        b.value = emit_parameter(e, b.v.value);
        for (const struct op *op = request->region->first; op != request->region->last; op = op->next)
                emit_local(e, op_result(op))->splits = ~0u;       /* indices stay apart: places need them so */
        const int64_t down = divide_up(rows_of(&b), b.t.rows);
        struct loop_expr *block = emit_grid(e, "b", FOR_GPU_BLOCK, down * a->scores->type->dims[GROUP]), *from, *to;
        struct loop_expr *turn = emit_op_int(e, LOOP_REM, block, down);
        if (b.band.high < columns_of(&b) - 1)             /* what sees most of the keys comes first */
                turn = minus(e, number(e, down - 1), turn);
        b.first = emit_let(e, "first", times(e, turn, b.t.rows));
        b.group = emit_let(e, "group", emit_op_int(e, LOOP_DIV, block, down));
        b.acc = new_tile(&b, "acc", b.t.width);
        find_memory(&b);
        find_turns(&b, &from, &to);
        begin_block(&b, from, to);
        write_turns(&b, from, to);
        (b.t.parts > 1 ? join_parts : write_results)(&b);
        emit_end(e);
        return warps_move_values_in(e->scope->block) && !e->failed;
}
