/* SPDX-License-Identifier: MIT */
/* Products by blocks of warps: what is copied into shared memory, 16 bytes a lane, or as runs (contract_warps.c). */
#include "ir/relation.h"
#include "kernels/warps.h"

static struct loop_expr *both(struct warps *w, struct loop_expr *a, struct loop_expr *b)
{
        return !a ? b : emit_op(w->s.e, LOOP_AND, a, b);
}

/* Position p of the image, and turn t: positions and offsets of the window along each dimension, the first channel of
 * the turn, and where its block is. */
struct place_in_x { struct loop_expr *position[RANK_MAX], *offset[RANK_MAX], *channel, *block; };

static void split_position(struct warps *w, struct loop_expr *p, struct place_in_x *place)
{
        struct emit *e = w->s.e;
        for (int d = w->s.spatial_count - 1; d >= 0; d--) {
                int64_t extent = w->s.spatial[d].extent;
                place->position[d] = d ? emit_op_int(e, LOOP_REM, p, extent) : p;
                p = d ? emit_op_int(e, LOOP_DIV, p, extent) : p;
        }
}

static void split_turn(struct warps *w, struct loop_expr *t, struct place_in_x *place)
{
        struct emit *e = w->s.e;
        int64_t words = w->inner / w->tile.words, row = (int64_t)w->tile.words * w->tile.group;
        struct loop_expr *i = t;
        if (words > 1 && w->turns > words)
                i = emit_op_int(e, LOOP_REM, t, words);
        place->channel = words > 1 ? times(e, i, row) : number(e, 0);
        t = emit_op_int(e, LOOP_DIV, t, words);
        for (int d = w->s.spatial_count - 1; d >= 0; d--) {
                int64_t window = w->s.spatial[d].window;
                place->offset[d] = window > 1 ? emit_op_int(e, LOOP_REM, t, window) : number(e, 0);
                t = window > 1 ? emit_op_int(e, LOOP_DIV, t, window) : t;
        }
        place->block = w->blocks > 1 ? times(e, t, w->s.x.stride[1]) : number(e, 0);
}

static struct loop_expr *place_in_x(struct warps *w, const struct place_in_x *place)
{
        struct emit *e = w->s.e;
        struct loop_expr *at = plus(e, place->channel, place->block);
        for (int d = w->s.spatial_count - 1; d >= 0; d--)
                at = plus(e, at, plus(e, times(e, place->position[d], w->s.spatial[d].x_step),
                                      times(e, place->offset[d], w->s.spatial[d].x_window)));
        return at;
}

/* Does x have the word that begins at channel k of the turn, or is it in the border? NULL: there is none. */
static struct loop_expr *is_in_x(struct warps *w, const struct place_in_x *place, struct loop_expr *k)
{
        struct emit *e = w->s.e;
        struct loop_expr *there = NULL;
        int64_t lows[RANK_MAX];
        if (!w->s.border || !relation_surrounds(w->s.border, lows))
                return NULL;
        const int64_t *strides = op_ints(w->s.op, "strides", NULL), *dilations = op_ints(w->s.op, "dilations", NULL);
        const struct type *x = op_operand(w->s.border, 0)->type, *around = op_result(w->s.border)->type;
        const int last = x->rank - 1;
        if (x->dims[last] < around->dims[last])
                there = warps_less(w, plus(e, place->channel, k), x->dims[last]);
        for (int d = 0; d < w->s.spatial_count; d++) {
                int64_t low = lows[2 + d], extent = x->dims[2 + d];
                if (extent == around->dims[2 + d])
                        continue;
                struct loop_expr *at = plus(e, times(e, place->position[d], strides[d]),
                                            times(e, place->offset[d], dilations[d]));
                at = emit_let(e, "at", at);
                if (low)
                        there = both(w, there, emit_op(e, LOOP_GE, at, number(e, low)));
                there = both(w, there, emit_op(e, LOOP_LT, at, number(e, low + extent)));
        }
        return there;
}

/* the number of the lane in the block; opens the loop over lanes */
static struct loop_expr *own_of(struct warps *w, struct loop_expr *warp)
{
        struct emit *e = w->s.e;
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES);
        return warps_count(w) == 1 ? lane : emit_let(e, "thread", plus(e, times(e, warp, GRID_LANES), lane));
}

/* `count` words of 16 bytes, shared by all lanes of the block; each: of one of them */
static void share_words(struct warps *w, struct loop_expr *warp, int64_t count,
                        void (*each)(struct warps *w, struct loop_expr *word, struct loop_expr *turn),
                        struct loop_expr *turn)
{
        struct emit *e = w->s.e;
        const int all = warps_count(w) * GRID_LANES;
        struct loop_expr *own = own_of(w, warp);
        struct loop_expr *i = emit_for(e, "i", number(e, 0), number(e, divide_up(count, all)));
        struct loop_expr *word = emit_let(e, "word", plus(e, times(e, i, all), own));
        bool guard = count % all;
        if (guard)
                emit_if(e, warps_less(w, word, count));
        each(w, word, turn);
        for (int closes = 2 + guard; closes > 0; closes--)
                emit_end(e);
}

/* where word n of line `row` lies in its line, in elements (ir/loop.h) */
static struct loop_expr *place_in_line(struct warps *w, struct loop_expr *n, struct loop_expr *row)
{
        struct emit *e = w->s.e;
        if (w->tile.together)
                n = emit_op(e, LOOP_XOR, n, emit_op_int(e, LOOP_REM, row, MULTIPLY_LINE));
        return times(e, n, w->tile.group);
}

/* The words of a row of the tile: where number n of it lies, in x and in shared memory; does x have it (NULL: it does), but for the last
 * position, p being the row's? */
struct row { struct loop_expr *p, *from, *to, *there; };

static struct row row_of(struct warps *w, struct loop_expr *row, struct loop_expr *n, struct loop_expr *turn)
{
        struct emit *e = w->s.e;
        struct loop_expr *k = emit_let(e, "k", times(e, n, w->tile.group)), *p = emit_let(e, "p", plus(e, w->position, row));
        struct loop_expr *image = plus(e, w->s.x_start,
                                       plus(e, times(e, w->image, w->s.x.stride[0]),
                                            times(e, w->group, w->blocks * w->s.x.stride[1])));
        struct place_in_x place;
        split_position(w, p, &place);
        split_turn(w, turn, &place);
        return (struct row){ .p = p, .from = plus(e, plus(e, image, k), place_in_x(w, &place)),
                             .to = plus(e, plus(e, warps_stage(w, turn, warps_x_stage(&w->tile)), times(e, row, warp_tile_row(&w->tile))),
                                        place_in_line(w, n, row)),
                             .there = is_in_x(w, &place, k) };
}

static void copy_word(struct warps *w, const struct row *r, struct loop_expr *p, struct loop_expr *to, struct loop_expr *from)
{
        struct emit *e = w->s.e;
        struct loop_expr *there = w->positions % w->tile.positions ? both(w, r->there, warps_less(w, p, w->positions)) : r->there;
        emit_copy(e, w->xs, to, w->s.xs, from, there ? emit_let(e, "there", there) : NULL, w->tile.group);
}

static void copy_x(struct warps *w, struct loop_expr *word, struct loop_expr *turn)
{
        struct emit *e = w->s.e;
        struct loop_expr *row = emit_let(e, "row", emit_op_int(e, LOOP_DIV, word, w->tile.words));
        const struct row r = row_of(w, row, emit_op_int(e, LOOP_REM, word, w->tile.words), turn);
        copy_word(w, &r, r.p, r.to, r.from);
}

/* Is a position in x as far from the next as any other? */
static bool is_straight(const struct warps *w)
{
        const struct stage *s = &w->s;
        for (int d = 0; d < s->spatial_count; d++)
                if ((d && s->spatial[d - 1].x_step != s->spatial[d].extent * s->spatial[d].x_step) ||
                    (s->border && op_operand(s->border, 0)->type->dims[2 + d] != op_result(s->border)->type->dims[2 + d]))
                        return false;
        return s->spatial_count > 0;
}

/* A lane copies the same word of several rows, so many apart: as far in x, and in shared memory. */
static void copy_rows(struct warps *w, struct loop_expr *warp, struct loop_expr *turn)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int rows = warps_count(w) * GRID_LANES / t->words;
        struct loop_expr *own = own_of(w, warp);
        struct loop_expr *row = emit_let(e, "row", emit_op_int(e, LOOP_DIV, own, t->words));
        const struct row r = row_of(w, row, emit_let(e, "n", emit_op_int(e, LOOP_REM, own, t->words)), turn);
        struct loop_expr *to = emit_let(e, "to", r.to), *from = emit_let(e, "from", r.from);
        struct loop_expr *i = emit_for(e, "i", number(e, 0), number(e, divide_up(t->positions, rows))), *more = times(e, i, rows);
        const bool guard = t->positions % rows;
        if (guard)
                emit_if(e, warps_less(w, plus(e, row, more), t->positions));
        copy_word(w, &r, plus(e, r.p, more), plus(e, to, times(e, more, warp_tile_row(t))),
                  plus(e, from, times(e, more, w->s.spatial[w->s.spatial_count - 1].x_step)));
        for (int closes = 2 + guard; closes > 0; closes--)
                emit_end(e);
}

/* where a panel's words of a turn begin */
static struct loop_expr *place_in_w(struct warps *w, struct loop_expr *panel, struct loop_expr *turn)
{
        struct emit *e = w->s.e;
        struct loop_expr *of_all = plus(e, times(e, w->group, w->s.panels), panel);
        return plus(e, times(e, of_all, w->panel_size), times(e, turn, warps_w_panel(&w->tile)));
}

static void copy_w(struct warps *w, struct loop_expr *word, struct loop_expr *turn)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        int64_t words = warps_w_panel(t) / t->group;
        struct loop_expr *number_in = t->panels == 1 ? number(e, 0) : emit_let(e, "panel", emit_op_int(e, LOOP_DIV, word, words)),
                         *k = times(e, t->panels == 1 ? word : emit_op_int(e, LOOP_REM, word, words), t->group);
        struct loop_expr *panel = emit_let(e, "from_panel", plus(e, w->panel, number_in));
        struct loop_expr *from = plus(e, place_in_w(w, panel, turn), k);
        struct loop_expr *to = times(e, word, t->group);
        if (t->together && !op_int(w->s.op, "crossed")) {
                struct loop_expr *row = emit_op_int(e, LOOP_DIV, word, t->words);
                to = plus(e, times(e, row, warp_tile_row(t)), place_in_line(w, emit_op_int(e, LOOP_REM, word, t->words), row));
        }
        emit_copy(e, w->ws, plus(e, warps_stage(w, turn, warps_w_stage(t)), to), w->s.ws, from,
                  w->s.panels % t->panels ? warps_less(w, panel, w->s.panels) : NULL, t->group);
}

void warps_copy_x(struct warps *w, struct loop_expr *warp, struct loop_expr *turn)
{
        const int all = warps_count(w) * GRID_LANES, words = w->tile.words;
        if (all % (w->tile.together ? words * MULTIPLY_LINE : words) == 0 && is_straight(w))
                copy_rows(w, warp, turn);
        else
                share_words(w, warp, (int64_t)w->tile.positions * words, copy_x, turn);
}

void warps_copy_w(struct warps *w, struct loop_expr *warp, struct loop_expr *turn)
{
        share_words(w, warp, warps_w_stage(&w->tile) / w->tile.group, copy_w, turn);
}

void warps_run_w(struct warps *w, struct loop_expr *turn)
{
        struct emit *e = w->s.e;
        const int64_t size = warps_w_panel(&w->tile);
        struct loop_expr *k = emit_for(e, "panel", number(e, 0), number(e, w->tile.panels));
        struct loop_expr *to = plus(e, warps_stage(w, turn, warps_w_stage(&w->tile)), times(e, k, size));
        emit_copy(e, w->ws, to, w->s.ws, place_in_w(w, plus(e, w->panel, k), turn), NULL, (int)size);
        emit_end(e);
}
