/* SPDX-License-Identifier: MIT */
/* Attention by blocks of warps: a block of the grid for a group (a head) and some of its rows.
 *
 *     queries of the block           keys, values: `keys` of them at a time, two such blocks in shared memory,
 *         +---------+                the next one copied while this one is multiplied
 *         | warp 0  |
 *         | warp 1  |                for each block of keys, a warp with its rows:
 *         | ..      |                        scores = q k'         in fragments, then in shared memory of its own
 *         +---------+                        best, shares          by lanes; shares rounded to what is multiplied
 *                                            sums = sums * exp(best before - best) + shares v       in fragments
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
        *t = (struct attention_tile){ .rows = s->tile, .warps = s->warps, .keys = s->keys, .depth = (int)x->dims[COLUMN],
                                      .width = (int)op_result(a->second)->type->dims[COLUMN], .fragment = m->positions,
                                      .lanes = m->outputs, .group = m->group, .bytes = element_info[m->x.memory].bytes };
        const int of_warp = t->rows / t->warps;
        return t->rows > 0 && t->rows % t->warps == 0 && of_warp % t->fragment == 0 && of_warp <= GRID_LANES && t->warps <= GRID_WARPS_MAX &&
               t->group * t->bytes == COPY_BYTES && t->keys % multiply_row(m) == 0 && t->keys % (t->lanes * GRID_LANES / of_warp) == 0 &&
               t->depth % multiply_row(m) == 0 && t->width % t->lanes == 0 && t->keys / t->lanes <= TILE_MAX &&
               t->width / t->lanes <= TILE_MAX && t->depth / t->group <= TILE_MAX && t->keys / t->group <= TILE_MAX &&
               attention_tile_shared(t) <= GRID_SHARED_MAX;
}

enum { PAD = 8 };

/* elements of a row in shared memory: shares; scores and sums */
static int64_t share_row(const struct attention_tile *t) { return t->keys + t->group; }
static int64_t score_row(const struct attention_tile *t) { return (t->keys > t->width ? t->keys : t->width) + PAD; }

int64_t attention_tile_shared(const struct attention_tile *t)
{
        enum { ALLOCATIONS = 9, ALIGN = 128 };
        int64_t operands = t->rows * (query_row(t) + share_row(t)) + STAGES * (int64_t)t->keys * (t->depth + t->width);
        return operands * t->bytes + (t->rows * (score_row(t) + 3) + 2 * GRID_LANES * t->warps) * 4 + ALLOCATIONS * ALIGN;
}

int attention_tile_registers(const struct attention_tile *t)
{
        enum { PLACES = 92, PARTS = 120, MOST = 255 };         /* subscripts, element functions, operands of products; in parts */
        const int sums = t->rows / t->warps * (t->keys + t->width) / GRID_LANES, all = sums + PLACES + (t->bytes == sizeof(float) ? PARTS : 0);
        return all < MOST || sums + PLACES > MOST ? all : MOST;   /* there is room for parts of fewer at a time */
}

/* ---- the kernel ---- */

static int rows_of_warp(const struct block *b) { return b->t.rows / b->t.warps; }
static struct loop_expr *load(struct block *b, struct loop_buffer *from, struct loop_expr *at) { return loop_load(b->e->arena, from, at); }

static struct loop_expr *exponential(struct block *b, struct loop_expr *x) { return emit_formula(b->e, op_info[OP_exp].formula, &x, 1); }

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

/* the warp's rows of x, so far apart, by the block of keys in w */
static void multiply(struct block *b, struct loop_variable *sums, struct loop_buffer *x, int64_t row, struct loop_buffer *w, int depth, bool across)
{
        struct emit *e = b->e;
        struct loop_stmt *s = on_tile(b, STMT_MULTIPLY, sums, x, times(e, b->warp, rows_of_warp(b) * row));
        s->weights = w;
        s->b = times(e, emit_op_int(e, LOOP_REM, b->number, STAGES), w->extent / STAGES);
        s->tiles.depth = depth / b->t.group;
        s->tiles.group = b->t.group;
        s->tiles.step = row;
        s->tiles.jump = b->t.fragment * row;
        s->tiles.across = across;
        s->function = loop_library_find(e->library, b->multiply->body, b->multiply->x.word);
}

static void unload(struct block *b, struct loop_variable *sums)
{
        on_tile(b, STMT_UNLOAD, sums, b->scores.buffer, times(b->e, b->warp, rows_of_warp(b) * score_row(&b->t)))->tiles.step = score_row(&b->t);
}

/* ---- rows, by lanes ---- */

/* rows of a warp have so many lanes each, which take turns on the columns */
static int lanes_of_row(const struct block *b) { return GRID_LANES / rows_of_warp(b); }

struct lane { struct loop_expr *row, *at, *index[RANK]; int opened; };

/* Opens a loop over lanes: of which row a lane is, and where what is known of it lies. */
static struct lane begin_lanes(struct block *b, int lanes)
{
        struct emit *e = b->e;
        const int of_row = lanes / rows_of_warp(b);
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, lanes);
        struct lane l = { .row = lane, .opened = 1 };
        if (of_row > 1)
                l.row = emit_let(e, "row", emit_op_int(e, LOOP_DIV, lane, of_row));
        l.at = emit_let(e, "at", plus(e, times(e, b->warp, rows_of_warp(b)), l.row));
        l.index[0] = number(e, 0);
        l.index[GROUP] = b->group;
        l.index[ROW] = emit_let(e, "r", plus(e, b->first, l.at));
        l.index[COLUMN] = of_row > 1 ? emit_op_int(e, LOOP_REM, lane, of_row) : number(e, 0);         /* its first one */
        if (rows_of(b) % b->t.rows) {
                emit_if(e, less(b, l.index[ROW], rows_of(b)));
                l.opened++;
        }
        return l;
}

static void end_lanes(struct block *b, const struct lane *l)
{
        for (int i = 0; i < l->opened; i++)
                emit_end(b->e);
}

/* memory of a lane */
static struct loop_buffer *new_values(struct block *b, enum element element, int count)
{
        struct loop_buffer *values = ARENA_NEW(b->e->arena, struct loop_buffer);
        *values = (struct loop_buffer){ .name = emit_name(b->e, "values"), .element = element, .extent = count, .space = SPACE_STACK,
                                        .offset = -1, .access = ACCESS_INOUT };
        add(b, STMT_ALLOC)->buffer = values;
        return values;
}

/* Columns of a lane in the block of keys, several at a time: what is stored of one may be what the next one loads, for all that a
 * compiler knows, so each loads and computes before any stores. */
struct columns { struct loop_expr *first; int turns, together; struct loop_buffer *values; };

/* Opens a loop over them. */
static struct columns begin_columns(struct block *b)
{
        enum { MOST = 8 };
        struct emit *e = b->e;
        struct columns c = { .turns = b->t.keys / lanes_of_row(b), .together = MOST };
        while (c.turns % c.together)
                c.together--;
        c.values = new_values(b, E_F32, c.together);
        c.first = times(e, emit_for(e, "i", number(e, 0), number(e, c.turns / c.together)), c.together);
        return c;
}

/* Opens a loop over those that are together: its number among them; *column: in the block. Lanes of different rows are at different
 * ones, so that eight rows lie in banks of their own. */
static struct loop_expr *each_column(struct block *b, const struct lane *l, const struct columns *c, struct loop_expr **column)
{
        struct emit *e = b->e;
        enum { ROWS_OF_PAD = GRID_LANES / PAD };
        struct loop_expr *u = emit_grid(e, "u", FOR_UNROLL, c->together);
        struct loop_expr *i = plus(e, plus(e, c->first, u), emit_op_int(e, LOOP_DIV, l->row, ROWS_OF_PAD));
        *column = emit_let(e, "column", plus(e, times(e, emit_op_int(e, LOOP_REM, i, c->turns), lanes_of_row(b)), l->index[COLUMN]));
        return u;
}

static struct loop_expr *part_at(struct block *b, struct loop_expr *at, int i)
{
        return plus(b->e, times(b->e, at, lanes_of_row(b)), number(b->e, i));
}

/* what of lanes of a row is joined */
static struct loop_expr *joined(struct block *b, struct loop_buffer *parts, enum loop_opcode op, struct loop_expr *at)
{
        struct loop_expr *all = load(b, parts, part_at(b, at, 0));
        for (int i = 1; i < lanes_of_row(b); i++)
                all = emit_op(b->e, op, all, load(b, parts, part_at(b, at, i)));
        return all;
}

/* scores as the fusion has them, and a lane's largest one */
static void write_scores(struct block *b)
{
        struct emit *e = b->e;
        struct lane l = begin_lanes(b, GRID_LANES);
        struct loop_variable *best = emit_var(e, "most", LOOP_TYPE(E_F32), load(b, b->best, l.at));
        struct columns c = begin_columns(b);
        struct loop_expr *column, *u = each_column(b, &l, &c, &column), *index[RANK] = { l.index[0], l.index[GROUP], l.index[ROW], NULL };
        index[COLUMN] = emit_let(e, "key", plus(e, b->key_at, column));
        const bool some = columns_of(b) % b->t.keys != 0;
        struct loop_variable *score = NULL;
        if (some) {
                score = emit_var(e, "score", LOOP_TYPE(E_F32), float_number(b, -INFINITY));
                emit_if(e, less(b, index[COLUMN], columns_of(b)));
        }
        struct loop_expr *x = emit_element(e, b->a.scores, index);
        if (some) {
                emit_set(e, score, x);
                emit_end(e);
        }
        emit_store(e, c.values, u, some ? loop_use(e->arena, score) : x);
        emit_end(e);
        u = each_column(b, &l, &c, &column);
        x = emit_let(e, "score", load(b, c.values, u));
        emit_store(e, b->scores.buffer, plus(e, times(e, l.at, score_row(&b->t)), column), x);
        emit_set(e, best, emit_op(e, LOOP_MAX, loop_use(e->arena, best), x));
        emit_end(e);
        emit_end(e);
        emit_store(e, b->parts, plus(e, times(e, l.at, lanes_of_row(b)), l.index[COLUMN]), loop_use(e->arena, best));
        end_lanes(b, &l);
}

static void write_shares(struct block *b)
{
        struct emit *e = b->e;
        struct lane l = begin_lanes(b, GRID_LANES);
        struct loop_expr *best = emit_let(e, "best", joined(b, b->parts, LOOP_MAX, l.at));
        struct loop_variable *sum = emit_var(e, "sum", LOOP_TYPE(E_F32), float_number(b, 0));
        struct columns c = begin_columns(b);
        struct loop_expr *column, *u = each_column(b, &l, &c, &column), *at = plus(e, times(e, l.at, score_row(&b->t)), column);
        emit_store(e, c.values, u, exponential(b, minus(e, load(b, b->scores.buffer, at), best)));
        emit_end(e);
        u = each_column(b, &l, &c, &column);
        struct loop_expr *share = emit_let(e, "share", load(b, c.values, u));
        emit_store(e, b->shares, plus(e, times(e, l.at, share_row(&b->t)), column), loop_cast(e->arena, b->shares->element, share));
        emit_set(e, sum, plus(e, loop_use(e->arena, sum), share));
        emit_end(e);
        emit_end(e);
        emit_store(e, b->part_sums, plus(e, times(e, l.at, lanes_of_row(b)), l.index[COLUMN]), loop_use(e->arena, sum));
        end_lanes(b, &l);
}

/* what is known of a row, and what its sums so far are brought to the largest score by */
static void write_rows(struct block *b)
{
        struct emit *e = b->e;
        struct lane l = begin_lanes(b, rows_of_warp(b));
        struct loop_expr *best = emit_let(e, "best", joined(b, b->parts, LOOP_MAX, l.at));
        struct loop_expr *factor = emit_let(e, "factor", exponential(b, minus(e, load(b, b->best, l.at), best)));
        struct loop_expr *before = emit_op(e, LOOP_MUL, load(b, b->sum.buffer, l.at), factor);
        emit_store(e, b->sum.buffer, l.at, plus(e, before, joined(b, b->part_sums, LOOP_ADD, l.at)));
        emit_store(e, b->best, l.at, best);
        emit_store(e, b->factor, l.at, factor);
        end_lanes(b, &l);
}

/* ---- a block ---- */

/* blocks of keys that some row of the block sees: *from, *to */
static void find_blocks(struct block *b, struct loop_expr **from, struct loop_expr **to)
{
        struct emit *e = b->e;
        const int64_t columns = columns_of(b), all = divide_up(columns, b->t.keys);
        const bool low = b->band.low > 1 - b->band.rows, high = b->band.high < columns - 1;
        *from = number(e, 0);
        *to = number(e, all);
        if (!low && !high)
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
                *from = emit_let(e, "from_block", minimum(e, emit_op_int(e, LOOP_DIV, least, b->t.keys), number(e, all)));
        }
        if (high) {
                struct loop_expr *most = maximum(e, plus(e, end, number(e, b->band.high + b->t.keys - 1)), number(e, 0));
                *to = emit_let(e, "to_block", minimum(e, emit_op_int(e, LOOP_DIV, most, b->t.keys), number(e, all)));
        }
}

static void begin_block(struct block *b, struct loop_expr *from, struct loop_expr *to)
{
        struct emit *e = b->e;
        b->warp = emit_grid(e, "warp", FOR_GPU_WARP, b->t.warps);
        attention_copy_queries(b);
        emit_if(e, emit_op(e, LOOP_LT, from, to));
        attention_copy_keys(b, from);
        attention_copy_values(b, from);
        emit_end(e);
        struct lane l = begin_lanes(b, rows_of_warp(b));
        emit_store(e, b->best, l.at, float_number(b, -FLT_MAX));
        emit_store(e, b->sum.buffer, l.at, float_number(b, 0));
        end_lanes(b, &l);
        emit_end(e);
        wait_for_all(b);
}

static struct loop_variable *new_tile(struct block *b, const char *name, int outputs)
{
        struct loop_type type = LOOP_VECTOR(E_F32, b->t.lanes);
        type.tile = true;
        struct loop_variable *v = emit_var(b->e, name, type, NULL);
        v->rows = rows_of_warp(b);
        v->columns = outputs / b->t.lanes;
        v->warps = b->t.warps;
        return v;
}

static void write_keys(struct block *b, struct loop_expr *from, struct loop_expr *to)
{
        struct emit *e = b->e;
        const struct attention_tile *t = &b->t;
        b->number = emit_for(e, "block", from, to);
        b->key_at = emit_let(e, "first_key", times(e, b->number, t->keys));
        b->scores.start = minus(e, times(e, b->first, -score_row(t)), b->key_at);
        b->tile = new_tile(b, "tile", t->keys);
        b->warp = emit_grid(e, "warp", FOR_GPU_WARP, t->warps);
        multiply(b, b->tile, b->qs, query_row(t), b->ks, t->depth, false);
        unload(b, b->tile);
        struct loop_expr *next = emit_let(e, "next", plus(e, b->number, number(e, 1)));
        emit_local(e, op_result(b->a.first))->place = &b->scores;
        write_scores(b);
        write_shares(b);
        write_rows(b);
        on_tile(b, STMT_SCALE, b->acc, b->factor, times(e, b->warp, rows_of_warp(b)));
        multiply(b, b->acc, b->shares, share_row(t), b->vs, t->keys, true);
        emit_if(e, emit_op(e, LOOP_LT, next, to));
        attention_copy_keys(b, next);
        attention_copy_values(b, next);
        emit_end(e);
        emit_end(e);
        wait_for_all(b);
        emit_end(e);
}

/* Results that a lane makes before it stores any: of `rows` rows, every 32nd element. */
struct results { int rows, elements, lanes; struct loop_expr *lane, *row, *values_at, *index[RANK]; int opened; };

/* Opens loops over them: one of them. */
static void each_result(struct block *b, struct results *r)
{
        struct emit *e = b->e;
        struct loop_expr *i = emit_grid(e, "i", FOR_UNROLL, r->rows), *k = emit_grid(e, "k", FOR_UNROLL, r->elements);
        r->values_at = plus(e, times(e, i, r->elements), k);
        r->opened = 2;
        r->index[0] = number(e, 0);
        r->index[GROUP] = b->group;
        r->index[ROW] = emit_let(e, "r", plus(e, plus(e, b->first, times(e, b->warp, rows_of_warp(b))), plus(e, r->row, i)));
        r->index[COLUMN] = emit_let(e, "d", plus(e, times(e, k, r->lanes), r->lane));
        if (rows_of(b) % b->t.rows) {
                emit_if(e, less(b, r->index[ROW], rows_of(b)));
                r->opened++;
        }
        if (b->t.width % r->lanes) {
                emit_if(e, less(b, r->index[COLUMN], b->t.width));
                r->opened++;
        }
}

static void end_result(struct block *b, const struct results *r)
{
        for (int i = 0; i < r->opened; i++)
                emit_end(b->e);
}

/* what the fusion makes of sums */
static void write_results(struct block *b)
{
        enum { MOST = 32 };
        struct emit *e = b->e;
        const struct access *y = &b->a.y;
        struct results r = { .lanes = b->t.width < GRID_LANES ? b->t.width : GRID_LANES, .rows = rows_of_warp(b) };
        r.elements = (int)divide_up(b->t.width, r.lanes);
        while (r.rows > 1 && (r.rows * r.elements > MOST || rows_of_warp(b) % r.rows))
                r.rows--;
        b->warp = emit_grid(e, "warp", FOR_GPU_WARP, b->t.warps);
        unload(b, b->acc);
        emit_local(e, b->a.sum)->place = &b->sum;
        emit_local(e, op_result(b->a.second))->place = &b->products;
        r.lane = emit_grid(e, "lane", FOR_GPU_LANE, r.lanes);
        struct loop_buffer *values = new_values(b, b->result->element, r.rows * r.elements);
        r.row = times(e, emit_for(e, "rows", number(e, 0), number(e, rows_of_warp(b) / r.rows)), r.rows);
        each_result(b, &r);
        emit_store(e, values, r.values_at, emit_element(e, b->a.result, r.index));
        end_result(b, &r);
        each_result(b, &r);
        const struct emit_place to = { .buffer = b->result, .start = number(e, y->offset),
                                       .stride = { 0, y->stride[GROUP], y->stride[ROW], y->stride[COLUMN] } };
        emit_store(e, b->result, emit_at(e, &to, RANK, r.index), load(b, values, r.values_at));
        end_result(b, &r);
        for (int closes = 3; closes > 0; closes--)
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
        const int64_t row = score_row(t);
        b->qs = shared(b, "qs", element, t->rows * query_row(t));
        b->ks = shared(b, "ks", element, STAGES * (int64_t)t->keys * t->depth);
        b->vs = shared(b, "vs", element, STAGES * (int64_t)t->keys * t->width);
        b->shares = shared(b, "shares", element, t->rows * share_row(t));
        b->scores = (struct emit_place){ .buffer = shared(b, "scores", E_F32, t->rows * row), .stride = { 0, 0, row, 1 } };
        b->products = (struct emit_place){ .buffer = b->scores.buffer, .start = times(b->e, b->first, -row), .stride = { 0, 0, row, 1 } };
        b->best = shared(b, "bests", E_F32, t->rows);
        b->sum = (struct emit_place){ .buffer = shared(b, "sums", E_F32, t->rows), .start = times(b->e, b->first, -1) };
        const struct type *sum = b->a.sum->type;
        int d = sum->rank - 1;
        while (d > 0 && sum->dims[d] == 1)
                d--;
        b->sum.stride[d] = 1;
        b->factor = shared(b, "factors", E_F32, t->rows);
        b->parts = shared(b, "parts", E_F32, (int64_t)GRID_LANES * t->warps);
        b->part_sums = shared(b, "part_sums", E_F32, (int64_t)GRID_LANES * t->warps);
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
        find_blocks(&b, &from, &to);
        begin_block(&b, from, to);
        write_keys(&b, from, to);
        write_results(&b);
        emit_end(e);
        return warps_move_values_in(e->scope->block) && !e->failed;
}
