/* SPDX-License-Identifier: MIT */
/* Writes the copies of operands into shared memory, for products by fragments of warps
 * (contract_warps.c): 16 bytes a lane, or in bulk. */
#include "ir/tensor/relation.h"
#include "engines/grid/warps.h"

static struct loop_expr *both(struct warps *w, struct loop_expr *a, struct loop_expr *b)
{
        return !a ? b : emit_op(w->s.e, LOOP_AND, a, b);
}

/* In an iteration, x is read here for a position: the image, the position and the window's offset
 * along each dimension, the iteration's first channel in its block of channels, and that block. */
struct place_in_x {
        struct loop_expr *image, *position[RANK_MAX], *offset[RANK_MAX], *channel, *block;
};

static void split_iteration(struct warps *w, struct loop_expr *t, struct place_in_x *place)
{
        struct emit *e = w->s.e;
        int64_t words = w->inner / w->tile.words, row = (int64_t)w->tile.words * w->tile.group;
        struct loop_expr *i = t;
        if (words > 1 && w->iterations > words)
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

/* For one offset of the window, is each position in x equally far from the next one? */
static bool are_in_order(const struct warps *w)
{
        const struct kernel_state *s = &w->s;
        int64_t step = s->spatial_count ? s->spatial[s->spatial_count - 1].x_step : 0;
        bool order = s->spatial_count > 0;
        for (int d = s->spatial_count - 1; d >= 0; d--) {
                order &= (s->spatial[d].extent == 1 || s->spatial[d].x_step == step) &&
                         (!s->border || dim_equal(op_operand(s->border, 0)->type->dims[2 + d],
                                                  op_result(s->border)->type->dims[2 + d]));
                step *= s->spatial[d].extent;
        }
        return order && (w->images == 1 || s->x.stride[0] == step);
}

/* Has the window one offset only? */
static bool have_one_offset(const struct warps *w)
{
        bool one = !w->s.border;
        for (int d = 0; d < w->s.spatial_count; d++)
                one &= w->s.spatial[d].window == 1;
        return one;
}

/* Fills in image and position. If positions are equally far apart, the last dimension counts all of
 * them. */
static void place_position(struct warps *w, struct loop_expr *p, struct place_in_x *place)
{
        if (!are_in_order(w) || !have_one_offset(w)) {
                warps_split_position(w, p, place->position, &place->image);
                return;
        }
        place->image = number(w->s.e, 0);
        for (int d = 0; d < w->s.spatial_count; d++)
                place->position[d] = d + 1 < w->s.spatial_count ? number(w->s.e, 0) : p;
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

/* Does x have the word that begins at channel k of the iteration, rather than the border? NULL: x
 * has it always. */
static struct loop_expr *is_in_x(struct warps *w, const struct place_in_x *place,
                                 struct loop_expr *k)
{
        struct emit *e = w->s.e;
        struct loop_expr *there = NULL;
        int64_t lows[RANK_MAX];
        if (!w->s.border || !relation_surrounds(w->s.border, lows))
                return NULL;
        const int64_t *strides = op_ints(w->s.op, "strides", NULL),
                      *dilations = op_ints(w->s.op, "dilations", NULL);
        const struct type *x = op_operand(w->s.border, 0)->type,
                          *around = op_result(w->s.border)->type;
        const int last = x->rank - 1;
        if (type_extent(x, last) < type_extent(around, last))
                there = warps_less(w, plus(e, place->channel, k), type_extent(x, last));
        for (int d = 0; d < w->s.spatial_count; d++) {
                const int64_t low = lows[2 + d];
                if (dim_equal(around->dims[2 + d], x->dims[2 + d]))
                        continue;
                struct loop_expr *end = plus(e, emit_dim_in_scalars(e, x->dims[2 + d]),
                                             number(e, low));
                struct loop_expr *at = plus(e, times(e, place->position[d], strides[d]),
                                            times(e, place->offset[d], dilations[d]));
                at = emit_let(e, "at", at);
                if (low)
                        there = both(w, there, emit_op(e, LOOP_GE, at, number(e, low)));
                there = both(w, there, emit_op(e, LOOP_LT, at, end));
        }
        return there;
}

/* Opens the loop over lanes; returns the number of the lane in the block. */
static struct loop_expr *own_of(struct warps *w, struct loop_expr *warp)
{
        struct emit *e = w->s.e;
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES);
        return warps_count(w) == 1
                       ? lane
                       : emit_let(e, "thread", plus(e, times(e, warp, GRID_LANES), lane));
}

/* A lane copies this word of 16 bytes: its number among the words of the block, its unit (a row or
 * a panel) and its place in that. If the lanes of the block are a multiple of the words of a unit,
 * or the reverse, both are computed once for a lane, and its next word is a constant away. */
struct shared_word { struct loop_expr *number, *unit, *within; };

static void share_words(struct warps *w, struct loop_expr *warp, int64_t count, int64_t unit,
                        void (*each)(struct warps *w, const struct shared_word *word,
                                     struct loop_expr *iteration),
                        struct loop_expr *iteration)
{
        struct emit *e = w->s.e;
        const int64_t all = warps_count(w) * GRID_LANES;
        struct loop_expr *own = own_of(w, warp);
        struct loop_expr *first = all % unit ? NULL
                                             : emit_let(e, "first_unit",
                                                        emit_op_int(e, LOOP_DIV, own, unit)),
                         *within = all % unit ? NULL
                                              : emit_let(e, "within",
                                                         emit_op_int(e, LOOP_REM, own, unit));
        struct loop_expr *i = emit_for(e, "i", number(e, 0), number(e, divide_up(count, all)));
        struct shared_word word = { .number = emit_let(e, "word", plus(e, times(e, i, all), own)),
                                    .within = within };
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
        each(w, &word, iteration);
        for (int closes = 2 + guard; closes > 0; closes--)
                emit_end(e);
}

/* Returns the elements from the beginning of line `row` to its word n, which is swizzled
 * (ir/loop/loop_tiles.h). */
static struct loop_expr *place_in_line(struct warps *w, struct loop_expr *n, struct loop_expr *row)
{
        struct emit *e = w->s.e;
        if (w->tile.warp_group)
                n = emit_op(e, LOOP_XOR, n, emit_op_int(e, LOOP_REM, row, MULTIPLY_SWIZZLE));
        return times(e, n, w->tile.group);
}

/* This is a word of a row of the tile: p is the row's position; `from` and `to` are the word's
 * places in x and in shared memory; `there` says whether x has it, apart from the last position
 * (NULL: it does). */
struct row { struct loop_expr *p, *from, *to, *there; };

static struct row row_of(struct warps *w, struct loop_expr *row, struct loop_expr *n,
                         struct loop_expr *iteration)
{
        struct emit *e = w->s.e;
        struct loop_expr *k = emit_let(e, "k", times(e, n, w->tile.group)),
                         *p = emit_let(e, "p", plus(e, w->position, row));
        struct place_in_x place;
        place_position(w, p, &place);
        struct loop_expr *image = plus(e, w->s.x_start,
                                       plus(e, times(e, place.image, w->s.x.stride[0]),
                                            times(e, w->group, w->blocks * w->s.x.stride[1])));
        split_iteration(w, iteration, &place);
        return (struct row){ .p = p,
                             .from = plus(e, plus(e, image, k), place_in_x(w, &place)),
                             .to = plus(e,
                                        plus(e, warps_stage(w, iteration, warps_x_stage(&w->tile)),
                                             times(e, row, warp_tile_row(&w->tile))),
                                        place_in_line(w, n, row)),
                             .there = is_in_x(w, &place, k) };
}

static void copy_word(struct warps *w, const struct row *r, struct loop_expr *p,
                      struct loop_expr *to, struct loop_expr *from)
{
        struct emit *e = w->s.e;
        struct loop_expr *there = warps_are_partial(w)
                                          ? both(w, r->there, warps_there(w, p))
                                          : r->there;
        emit_copy(e, w->xs, to, w->s.xs, from, there ? emit_let(e, "there", there) : NULL,
                  w->tile.group);
}

static void copy_x(struct warps *w, const struct shared_word *word, struct loop_expr *iteration)
{
        const struct row r =
                row_of(w, emit_let(w->s.e, "row", word->unit), word->within, iteration);
        copy_word(w, &r, r.p, r.to, r.from);
}

/* A lane copies the same word of several rows, which are a constant apart both in x and in shared
 * memory. */
static void copy_rows(struct warps *w, struct loop_expr *warp, struct loop_expr *iteration)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int rows = warps_count(w) * GRID_LANES / t->words;
        struct loop_expr *own = own_of(w, warp);
        struct loop_expr *row = emit_let(e, "row", emit_op_int(e, LOOP_DIV, own, t->words));
        const struct row r = row_of(
                w, row, emit_let(e, "n", emit_op_int(e, LOOP_REM, own, t->words)), iteration);
        struct loop_expr *to = emit_let(e, "to", r.to), *from = emit_let(e, "from", r.from);
        struct loop_expr *i = emit_for(e, "i", number(e, 0),
                                       number(e, divide_up(t->positions, rows))),
                         *more = times(e, i, rows);
        const bool guard = t->positions % rows;
        if (guard)
                emit_if(e, warps_less(w, plus(e, row, more), t->positions));
        copy_word(w, &r, plus(e, r.p, more), plus(e, to, times(e, more, warp_tile_row(t))),
                  plus(e, from, times(e, more, w->s.spatial[w->s.spatial_count - 1].x_step)));
        for (int closes = 2 + guard; closes > 0; closes--)
                emit_end(e);
}

/* Returns the place in w of a panel's first word in an iteration. */
static struct loop_expr *place_in_w(struct warps *w, struct loop_expr *panel,
                                    struct loop_expr *iteration)
{
        struct emit *e = w->s.e;
        struct loop_expr *of_all = plus(e, times(e, w->group, w->s.panels), panel);
        return plus(e, times(e, of_all, w->panel_size),
                    times(e, iteration, warps_w_panel(&w->tile)));
}

static void copy_w(struct warps *w, const struct shared_word *word, struct loop_expr *iteration)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        struct loop_expr *number_in =
                                 t->panels == 1 ? number(e, 0) : emit_let(e, "panel", word->unit),
                         *k = times(e, t->panels == 1 ? word->number : word->within, t->group);
        struct loop_expr *panel = emit_let(e, "from_panel", plus(e, w->panel, number_in));
        struct loop_expr *from = plus(e, place_in_w(w, panel, iteration), k);
        struct loop_expr *to = times(e, word->number, t->group);
        /* A unit is a swizzle line. */
        if (t->warp_group && !op_int(w->s.op, "crossed"))
                to = plus(e, times(e, word->unit, warp_tile_row(t)),
                          place_in_line(w, word->within, word->unit));
        emit_copy(e, w->ws, plus(e, warps_stage(w, iteration, warps_w_stage(t)), to), w->s.ws, from,
                  w->s.panels % t->panels ? warps_less(w, panel, w->s.panels) : NULL, t->group);
}

/* Computes a word of w: all of its elements before the first is stored. */
static void compute_w(struct warps *w, const struct shared_word *word, struct loop_expr *iteration)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        struct loop_expr *index[RANK_MAX], *first = NULL, *values[COPY_BYTES];
        struct loop_expr *panel = t->panels == 1 ? number(e, 0) : word->unit,
                         *within = emit_let(e, "of_panel",
                                            t->panels == 1 ? word->number : word->within);
        struct loop_expr *column = emit_op_int(e, LOOP_REM, within, (int64_t)t->vectors * t->lanes);
        struct loop_expr *row = emit_op_int(e, LOOP_DIV, within, (int64_t)t->vectors * t->lanes);
        index[0] = emit_let(e, "o",
                            plus(e, times(e, plus(e, w->panel, panel),
                                          (int64_t)t->vectors * t->lanes),
                                 column));
        warps_split_word(w, w->computed->type, plus(e, times(e, iteration, t->words), row), index);
        const int last = w->computed->type->rank - 1;
        first = index[last];
        for (int c = 0; c < t->group; c++) {
                index[last] = plus(e, first, number(e, c));
                values[c] = emit_let(e, "w", emit_element(e, w->computed, index));
        }
        struct loop_expr *to = emit_let(e, "to",
                                        plus(e, warps_stage(w, iteration, warps_w_stage(t)),
                                             times(e, word->number, t->group)));
        for (int c = 0; c < t->group; c++)
                emit_store(e, w->ws, plus(e, to, number(e, c)), values[c]);
}

void warps_copy_x(struct warps *w, struct loop_expr *warp, struct loop_expr *iteration)
{
        const int all = warps_count(w) * GRID_LANES, words = w->tile.words;
        if (all % (w->tile.warp_group ? words * MULTIPLY_SWIZZLE : words) == 0 && are_in_order(w))
                copy_rows(w, warp, iteration);
        else
                share_words(w, warp, (int64_t)w->tile.positions * words, words, copy_x, iteration);
}

void warps_copy_w(struct warps *w, struct loop_expr *warp, struct loop_expr *iteration)
{
        const struct warp_tile *t = &w->tile;
        share_words(w, warp, warps_w_stage(t) / t->group,
                    t->warp_group ? t->words : warps_w_panel(t) / t->group,
                    w->computed ? compute_w : copy_w, iteration);
}

static void copy_added(struct warps *w, const struct shared_word *word, struct loop_expr *iteration)
{
        (void)iteration;
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const struct value *added = warps_added(w->s.op);
        const int each = COPY_BYTES / t->added, width = t->vectors * t->lanes;
        const int64_t block = op_int(w->s.op, "block"),
                      blocks = type_extent(added->type, 1) / w->groups;
        struct loop_expr *row = emit_let(e, "row", word->unit),
                         *column = emit_let(e, "column", times(e, word->within, each)),
                         *p = emit_let(e, "p", plus(e, w->position, row)),
                         *o = emit_let(e, "o", plus(e, times(e, w->panel, width), column)),
                         *there = NULL;
        if (warps_are_partial(w))
                there = warps_there(w, p);
        if (w->outputs % ((int64_t)width * t->panels))
                there = both(w, there, warps_less(w, o, w->outputs));
        struct loop_expr *line = p;
        if (type_extent(added->type, 1) > 1) {
                struct loop_expr *image =
                        w->images > 1 ? emit_op_int(e, LOOP_DIV, p, w->of_image) : number(e, 0);
                struct loop_expr *number_of =
                        plus(e, times(e, plus(e, times(e, image, w->groups), w->group), blocks),
                             emit_op_int(e, LOOP_DIV, o, block));
                line = plus(e, times(e, number_of, w->of_image),
                            w->images > 1 ? emit_op_int(e, LOOP_REM, p, w->of_image) : p);
        }
        struct loop_expr *from =
                plus(e, times(e, line, block), blocks > 1 ? emit_op_int(e, LOOP_REM, o, block) : o);
        emit_copy(e, w->added, plus(e, times(e, row, warp_tile_added_row(t)), column),
                  emit_parameter(e, added), from, there ? emit_let(e, "there", there) : NULL, each);
}

void warps_copy_added(struct warps *w, struct loop_expr *warp)
{
        const struct warp_tile *t = &w->tile;
        const int64_t across = (int64_t)t->panels * t->vectors * t->lanes * t->added / COPY_BYTES;
        share_words(w, warp, t->positions * across, across, copy_added, NULL);
}

void warps_run_w(struct warps *w, struct loop_expr *iteration)
{
        struct emit *e = w->s.e;
        const int64_t size = warps_w_panel(&w->tile);
        struct loop_expr *k = emit_for(e, "panel", number(e, 0), number(e, w->tile.panels));
        struct loop_expr *to =
                plus(e, warps_stage(w, iteration, warps_w_stage(&w->tile)), times(e, k, size));
        emit_copy(e, w->ws, to, w->s.ws, place_in_w(w, plus(e, w->panel, k), iteration), NULL,
                  (int)size);
        emit_end(e);
}
