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

/* A word of 16 bytes of those that the lanes of a block share: its number, which unit of so many words has it, and where it is in that. Where
 * units or all lanes are whole multiples of each other, what a lane has of both is reckoned once, and its next word's places are a
 * constant away. */
struct shared_word { struct loop_expr *number, *unit, *within; };

static void share_words(struct warps *w, struct loop_expr *warp, int64_t count, int64_t unit,
                        void (*each)(struct warps *w, const struct shared_word *word, struct loop_expr *turn),
                        struct loop_expr *turn)
{
        struct emit *e = w->s.e;
        int64_t warps = w->tile.warps * w->tile.panels, all = warps * GRID_LANES;
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES);
        struct loop_expr *own = warps == 1 ? lane : emit_let(e, "thread", plus(e, times(e, warp, GRID_LANES), lane));
        struct loop_expr *first = all % unit ? NULL : emit_let(e, "first_unit", emit_op_int(e, LOOP_DIV, own, unit)),
                         *within = all % unit ? NULL : emit_let(e, "within", emit_op_int(e, LOOP_REM, own, unit));
        struct loop_expr *i = emit_for(e, "i", number(e, 0), number(e, divide_up(count, all)));
        struct shared_word word = { .number = emit_let(e, "word", plus(e, times(e, i, all), own)), .within = within };
        if (all % unit == 0) {
                word.unit = plus(e, times(e, i, all / unit), first);
        } else if (unit % all == 0) {
                word.unit = emit_op_int(e, LOOP_DIV, i, unit / all);
                word.within = plus(e, times(e, emit_op_int(e, LOOP_REM, i, unit / all), all), own);
        } else {
                word.unit = emit_op_int(e, LOOP_DIV, word.number, unit);
                word.within = emit_op_int(e, LOOP_REM, word.number, unit);
        }
        bool guard = count % all;
        if (guard)
                emit_if(e, warps_less(w, word.number, count));
        each(w, &word, turn);
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

static void copy_x(struct warps *w, const struct shared_word *word, struct loop_expr *turn)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        struct loop_expr *row = emit_let(e, "row", word->unit), *k = emit_let(e, "k", times(e, word->within, t->group)),
                         *p = emit_let(e, "p", plus(e, w->position, row));
        struct loop_expr *to = plus(e, plus(e, warps_stage(w, turn, warps_x_stage(t)), times(e, row, warp_tile_row(t))),
                                    place_in_line(w, word->within, row));
        struct loop_expr *image = plus(e, w->s.x_start,
                                       plus(e, times(e, w->image, w->s.x.stride[0]),
                                            times(e, w->group, w->blocks * w->s.x.stride[1])));
        struct place_in_x place;
        split_position(w, p, &place);
        split_turn(w, turn, &place);
        struct loop_expr *there = is_in_x(w, &place, k);
        if (w->positions % t->positions)
                there = both(w, there, warps_less(w, p, w->positions));
        emit_copy(e, w->xs, to, w->s.xs, plus(e, plus(e, image, k), place_in_x(w, &place)),
                  there ? emit_let(e, "there", there) : NULL, t->group);
}

/* where a panel's words of a turn begin */
static struct loop_expr *place_in_w(struct warps *w, struct loop_expr *panel, struct loop_expr *turn)
{
        struct emit *e = w->s.e;
        struct loop_expr *of_all = plus(e, times(e, w->group, w->s.panels), panel);
        return plus(e, times(e, of_all, w->panel_size), times(e, turn, warps_w_panel(&w->tile)));
}

static void copy_w(struct warps *w, const struct shared_word *word, struct loop_expr *turn)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        struct loop_expr *number_in = t->panels == 1 ? number(e, 0) : emit_let(e, "panel", word->unit),
                         *k = times(e, t->panels == 1 ? word->number : word->within, t->group);
        struct loop_expr *panel = emit_let(e, "from_panel", plus(e, w->panel, number_in));
        struct loop_expr *from = plus(e, place_in_w(w, panel, turn), k);
        struct loop_expr *to = times(e, word->number, t->group);
        if (t->together)                /* a unit is a line */
                to = plus(e, times(e, word->unit, warp_tile_row(t)), place_in_line(w, word->within, word->unit));
        emit_copy(e, w->ws, plus(e, warps_stage(w, turn, warps_w_stage(t)), to), w->s.ws, from,
                  w->s.panels % t->panels ? warps_less(w, panel, w->s.panels) : NULL, t->group);
}

void warps_copy_x(struct warps *w, struct loop_expr *warp, struct loop_expr *turn)
{
        share_words(w, warp, (int64_t)w->tile.positions * w->tile.words, w->tile.words, copy_x, turn);
}

void warps_copy_w(struct warps *w, struct loop_expr *warp, struct loop_expr *turn)
{
        const struct warp_tile *t = &w->tile;
        share_words(w, warp, warps_w_stage(t) / t->group, t->together ? t->words : warps_w_panel(t) / t->group, copy_w, turn);
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
