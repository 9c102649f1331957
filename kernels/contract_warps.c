/* SPDX-License-Identifier: MIT */
/* Sums in fragments that warps have: a block of the grid for each tile of positions and panels.
 *
 *                    panels of w
 *                  +-----+-----+
 *        tile of   | w 0 | w 2 |      a warp's sums: tile / warps positions by one panel
 *      positions   +-----+-----+
 *                  | w 1 | w 3 |      2 (warps) x 2 (panels) warps
 *                  +-----+-----+
 *
 * What is added up is cut into turns of `depth` channels of one offset of the window. `stages` turns
 * lie in shared memory: while one is multiplied, the next ones are copied, 16 bytes a lane.
 *
 *     x   rows of `depth` channels of a position, straight from x, zeros behind the last position and
 *         where a border around x is; 16 bytes lie between two rows, so that eight of them begin in
 *         banks of their own
 *     w   a panel's words of a turn, which follow each other in w: the order of its memory is that of
 *         the turns
 *
 * Where tiles are too few for the machine, `parts` blocks share the turns of one. Their sums go to memory of the kernel's
 * own, and a second phase adds them up, in order, and makes of them what the fusion says.
 *
 * Nothing is gathered in memory: a product of matrices and a convolution differ in where a position's
 * row begins. The sums leave the fragments 16 positions at a time, through shared memory of the warp,
 * and each lane makes of a sum what the fusion says, neighbours along the outputs. */
#include "kernels/contract_warps.h"

#include "ir/relation.h"
#include "kernels/stage.h"

enum { LANES = 32 };                    /* of a warp */

struct warps {
        struct stage s;                 /* first: its functions get this */
        struct warp_tile tile;
        int64_t groups, blocks, inner;  /* in a group: blocks of x; words of a block */
        int64_t outputs, positions;     /* of a group; of an image */
        int64_t panel_size, turns;      /* turns: of a window */
        struct loop_variable *sums;
        struct loop_buffer *xs, *ws, *out;        /* in shared memory */
        /* of the block: image, group, first position, first panel of the group; its part of the turns */
        struct loop_expr *image, *group, *position, *panel, *part;
        struct loop_buffer *partial;    /* sums of all parts: [parts, images, groups, positions, outputs], whole tiles */
};

/* ---- what fits ---- */

int64_t warp_tile_row(const struct warp_tile *t) { return (t->words + 1) * t->group; }

static int64_t x_stage(const struct warp_tile *t) { return t->positions * warp_tile_row(t); }
static int64_t w_panel(const struct warp_tile *t)
{
        return (int64_t)t->words * t->vectors * t->lanes * t->group;
}
static int64_t w_stage(const struct warp_tile *t) { return t->panels * w_panel(t); }

int64_t warp_tile_out(const struct warp_tile *t)
{
        enum { PAD = 8 };               /* of a row: four rows of fragments in banks of their own */
        return (int64_t)t->vectors * t->lanes + PAD;
}

int64_t warp_tile_shared(const struct warp_tile *t)
{
        int warps = t->warps * t->panels;
        int64_t out = t->parts > 1 ? 0 : round_up((int64_t)t->rows * warp_tile_out(t) * 4, STORAGE_ALIGN) * warps;
        return t->stages * (x_stage(t) + w_stage(t)) * t->bytes + out;
}

int warp_tile_registers(const struct warp_tile *t)
{
        enum { PLACES = 76, OF_COPY = 4 };        /* subscripts, an epilogue, copies under way: no fewer than nvcc 13 takes */
        int rows = t->positions / t->warps / t->rows, lane = t->rows * t->lanes / LANES;
        int64_t words = (t->positions * (int64_t)t->words + w_stage(t) / t->group) / (t->warps * t->panels * LANES);
        return rows * t->vectors * lane + rows * 4 + t->vectors + OF_COPY * (int)words + PLACES;
}

bool warp_tile_of(const struct op *op, const struct target *target, const struct schedule *s,
                  struct warp_tile *t)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        const struct multiply *m =
                multiply_find(target, (enum element)x->element, (enum element)w->element, true,
                              (int)packed_lanes(x, w), (int)packed_group(x, w), 0);
        if (!m || m->x.place != PLACE_WARP)
                return false;
        int64_t inner = w->dims[w->rank - 3], turns = type_elements(w) / w->dims[0] / packed_panel(x, w) / s->depth;
        int bytes = element_info[x->element].bytes;
        *t = (struct warp_tile){ .positions = s->tile, .warps = s->warps, .panels = s->panels,
                                 .stages = s->stages, .words = s->depth / m->group, .parts = s->parts, .rows = m->positions,
                                 .vectors = (int)w->dims[w->rank - 2], .lanes = m->outputs,
                                 .group = m->group, .bytes = bytes };
        return t->positions > 0 && s->depth % multiply_row(m) == 0 && inner % t->words == 0 && turns % t->parts == 0 &&
               t->positions % (t->warps * m->positions) == 0 &&
               t->positions / t->warps <= TILE_MAX && t->words <= TILE_MAX &&
               t->warps * t->panels <= GRID_WARPS_MAX && m->group * bytes == COPY_BYTES &&
               warp_tile_shared(t) <= GRID_SHARED_MAX;
}

/* ---- copies ---- */

static struct loop_expr *less(struct warps *w, struct loop_expr *a, int64_t b)
{
        return emit_op(w->s.e, LOOP_LT, a, number(w->s.e, b));
}

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
                there = less(w, plus(e, place->channel, k), x->dims[last]);
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

static void add_copy(struct warps *w, struct loop_buffer *to, struct loop_expr *at,
                     struct loop_buffer *from, struct loop_expr *place, struct loop_expr *there)
{
        struct loop_stmt *s = loop_append(w->s.arena, w->s.e->scope->block, STMT_COPY);
        s->buffer = to;
        s->a = at;
        s->source = from;
        s->b = place;
        s->c = there;
        s->code = w->tile.group;
}

/* `count` words of 16 bytes, shared by all lanes of the block; each: of one of them */
static void share_words(struct warps *w, struct loop_expr *warp, int64_t count,
                        void (*each)(struct warps *w, struct loop_expr *word, struct loop_expr *turn),
                        struct loop_expr *turn)
{
        struct emit *e = w->s.e;
        int warps = w->tile.warps * w->tile.panels, all = warps * LANES;
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, LANES);
        struct loop_expr *own = warps == 1 ? lane : emit_let(e, "thread", plus(e, times(e, warp, LANES), lane));
        struct loop_expr *i = emit_for(e, "i", number(e, 0), number(e, divide_up(count, all)));
        struct loop_expr *word = emit_let(e, "word", plus(e, times(e, i, all), own));
        bool guard = count % all;
        if (guard)
                emit_if(e, less(w, word, count));
        each(w, word, turn);
        for (int closes = 2 + guard; closes > 0; closes--)
                emit_end(e);
}

static struct loop_expr *stage_of(struct warps *w, struct loop_expr *turn, int64_t size)
{
        return times(w->s.e, emit_op_int(w->s.e, LOOP_REM, turn, w->tile.stages), size);
}

static void copy_x(struct warps *w, struct loop_expr *word, struct loop_expr *turn)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        struct loop_expr *row = emit_let(e, "row", emit_op_int(e, LOOP_DIV, word, t->words)),
                         *k = emit_let(e, "k", times(e, emit_op_int(e, LOOP_REM, word, t->words), t->group)),
                         *p = emit_let(e, "p", plus(e, w->position, row));
        struct loop_expr *to = plus(e, plus(e, stage_of(w, turn, x_stage(t)), times(e, row, warp_tile_row(t))), k);
        struct loop_expr *image = plus(e, w->s.x_start,
                                       plus(e, times(e, w->image, w->s.x.stride[0]),
                                            times(e, w->group, w->blocks * w->s.x.stride[1])));
        struct place_in_x place;
        split_position(w, p, &place);
        split_turn(w, turn, &place);
        struct loop_expr *there = is_in_x(w, &place, k);
        if (w->positions % t->positions)
                there = both(w, there, less(w, p, w->positions));
        add_copy(w, w->xs, to, w->s.xs, plus(e, plus(e, image, k), place_in_x(w, &place)),
                 there ? emit_let(e, "there", there) : NULL);
}

static void copy_w(struct warps *w, struct loop_expr *word, struct loop_expr *turn)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        int64_t words = w_panel(t) / t->group;
        struct loop_expr *number_in = t->panels == 1 ? number(e, 0) : emit_let(e, "panel", emit_op_int(e, LOOP_DIV, word, words)),
                         *k = times(e, t->panels == 1 ? word : emit_op_int(e, LOOP_REM, word, words), t->group);
        struct loop_expr *panel = emit_let(e, "from_panel", plus(e, w->panel, number_in));
        struct loop_expr *of_all = plus(e, times(e, w->group, w->s.panels), panel);
        struct loop_expr *from = plus(e, plus(e, times(e, of_all, w->panel_size), times(e, turn, w_panel(t))), k);
        add_copy(w, w->ws, plus(e, stage_of(w, turn, w_stage(t)), times(e, word, t->group)), w->s.ws, from,
                 w->s.panels % t->panels ? less(w, panel, w->s.panels) : NULL);
}

static void copy_turn(struct warps *w, struct loop_expr *warp, struct loop_expr *turn)
{
        share_words(w, warp, (int64_t)w->tile.positions * w->tile.words, copy_x, turn);
        share_words(w, warp, w_stage(&w->tile) / w->tile.group, copy_w, turn);
}

static struct loop_stmt *add(struct warps *w, enum loop_stmt_kind kind, int code)
{
        struct loop_stmt *s = loop_append(w->s.arena, w->s.e->scope->block, kind);
        s->code = code;
        return s;
}

/* ---- sums ---- */

static int warps_of(const struct warps *w) { return w->tile.warps * w->tile.panels; }

/* warp number w has row w % warps of positions, and panel w / warps */
static struct loop_expr *row_of_warp(struct warps *w, struct loop_expr *warp)
{
        const struct warp_tile *t = &w->tile;
        if (t->warps == 1)
                return number(w->s.e, 0);
        struct loop_expr *row = t->panels > 1 ? emit_op_int(w->s.e, LOOP_REM, warp, t->warps) : warp;
        return times(w->s.e, row, t->positions / t->warps);
}

static struct loop_expr *panel_of_warp(struct warps *w, struct loop_expr *warp)
{
        return w->tile.panels > 1 ? emit_op_int(w->s.e, LOOP_DIV, warp, w->tile.warps) : number(w->s.e, 0);
}

static struct loop_tiles shape_of(const struct warps *w)
{
        const struct warp_tile *t = &w->tile;
        return (struct loop_tiles){ .positions = t->positions / t->warps, .vectors = t->vectors,
                                    .rows = t->rows };
}

static void add_product(struct warps *w, struct loop_expr *warp, struct loop_expr *turn)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        struct loop_stmt *s = add(w, STMT_MULTIPLY, 0);
        s->variable = w->sums;
        s->buffer = w->xs;
        s->weights = w->ws;
        s->a = plus(e, stage_of(w, turn, x_stage(t)), times(e, row_of_warp(w, warp), warp_tile_row(t)));
        s->b = plus(e, stage_of(w, turn, w_stage(t)), times(e, panel_of_warp(w, warp), w_panel(t)));
        s->tiles = shape_of(w);
        s->tiles.depth = t->words;
        s->tiles.group = t->group;
        s->tiles.step = warp_tile_row(t);
        s->tiles.jump = t->rows * warp_tile_row(t);
        s->function = stage_product(&w->s);
}

/* the turn of the window that is number i of the block */
static struct loop_expr *turn_of_block(struct warps *w, struct loop_expr *i)
{
        struct emit *e = w->s.e;
        return w->tile.parts > 1 ? emit_let(e, "of_all", plus(e, times(e, w->part, w->turns / w->tile.parts), i)) : i;
}

static void add_up(struct warps *w)
{
        struct emit *e = w->s.e;
        const int ahead = w->tile.stages - 1;
        const int64_t turns = w->turns / w->tile.parts;
        int64_t first = turns < ahead ? turns : ahead;
        struct loop_expr *stage = emit_for(e, "stage", number(e, 0), number(e, first));
        stage = turn_of_block(w, stage);
        copy_turn(w, emit_grid(e, "warp", FOR_GPU_WARP, warps_of(w)), stage);
        emit_end(e);
        add(w, STMT_COMMIT, 0);
        emit_end(e);
        for (int64_t i = first; i < ahead; i++)
                add(w, STMT_COMMIT, 0);         /* of nothing: waits count groups */
        add(w, STMT_WAIT, ahead - 1);
        struct loop_expr *turn = emit_for(e, "turn", number(e, 0), number(e, turns)), *of_all = turn_of_block(w, turn);
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, warps_of(w));
        add_product(w, warp, of_all);
        if (turns > ahead) {
                struct loop_expr *next = emit_let(e, "next", plus(e, turn, number(e, ahead)));
                emit_if(e, less(w, next, turns));
                copy_turn(w, warp, turn_of_block(w, next));
                emit_end(e);
        }
        emit_end(e);
        add(w, STMT_COMMIT, 0);
        add(w, STMT_WAIT, ahead - 1);
        emit_end(e);
        add(w, STMT_WAIT, 0);
}

/* ---- what becomes of them ---- */

/* output o of the group, position p: a lane's */
static void write_output(struct warps *w, struct loop_expr *o, struct loop_expr *p, struct loop_expr *sum)
{
        struct stage *s = &w->s;
        struct emit *e = s->e;
        struct loop_expr *index[RANK_MAX];
        int64_t block = op_int(s->op, "block"), blocks = op_result(s->op)->type->dims[1] / w->groups;
        index[0] = w->image;
        index[1] = times(e, w->group, blocks);
        if (blocks > 1)
                index[1] = emit_let(e, "block", plus(e, index[1], emit_op_int(e, LOOP_DIV, o, block)));
        const int first = s->rank - 1 - s->spatial_count;
        for (int d = 2; d < first; d++)
                index[d] = number(e, 0);
        for (int d = s->spatial_count - 1; d >= 0; d--) {
                int64_t extent = s->spatial[d].extent;
                index[first + d] = d ? emit_let(e, "i", emit_op_int(e, LOOP_REM, p, extent)) : p;
                p = d ? emit_let(e, "p", emit_op_int(e, LOOP_DIV, p, extent)) : p;
        }
        index[s->rank - 1] = blocks > 1 ? emit_let(e, "o", emit_op_int(e, LOOP_REM, o, block)) : o;
        sum = loop_cast(e->arena, s->sums->type->element, sum);
        struct loop_stmt *let = loop_append(e->arena, e->scope->block, STMT_LET);
        let->a = sum;
        let->variable = loop_variable_new(e->arena, emit_name(e, "sum"), sum->type, VARIABLE_LET);
        let->variable->number = e->scope->depth;
        emit_define(e, s->sums, index, let->variable);
        struct loop_expr *result = emit_element(e, s->result, index);
        struct loop_expr *to = plus(e, stage_y(s, index), index[s->rank - 1]);
        emit_store(e, s->ys, to, result);
        emit_mark_overlaps(e, e->scope->block, to);
}

static void write_row(struct warps *w, struct loop_expr *warp, struct loop_expr *sums_at, int part)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int width = t->vectors * t->lanes, lanes = width < LANES ? width : LANES;
        struct loop_expr *row = emit_for(e, "row", number(e, 0), number(e, t->rows));
        struct loop_expr *p = plus(e, plus(e, w->position, row_of_warp(w, warp)),
                                   plus(e, row, number(e, (int64_t)part * t->rows)));
        p = emit_let(e, "p", p);
        bool some = w->positions % t->positions != 0, few = w->outputs % ((int64_t)width * t->panels) != 0;
        if (some)
                emit_if(e, less(w, p, w->positions));
        struct loop_expr *half = emit_for(e, "part", number(e, 0), number(e, width / lanes));
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, lanes);
        struct loop_expr *in_panel = emit_let(e, "in_panel", plus(e, times(e, half, lanes), lane));
        struct loop_expr *panel = plus(e, w->panel, panel_of_warp(w, warp));
        struct loop_expr *o = emit_let(e, "o", plus(e, times(e, panel, width), in_panel));
        if (few)
                emit_if(e, less(w, o, w->outputs));
        struct loop_expr *at = plus(e, sums_at, plus(e, times(e, row, warp_tile_out(t)), in_panel));
        write_output(w, o, p, loop_load(e->arena, w->out, at));
        for (int closes = 3 + few + some; closes > 0; closes--)
                emit_end(e);
}

/* fragments number i of all panels' rows */
static void unload(struct warps *w, int i, struct loop_buffer *to, struct loop_expr *at, int64_t step)
{
        struct loop_stmt *s = add(w, STMT_UNLOAD, 0);
        s->variable = w->sums;
        s->buffer = to;
        s->a = at;
        s->tiles = shape_of(w);
        s->tiles.first = i * w->tile.rows;
        s->tiles.positions = w->tile.rows;
        s->tiles.step = step;
}

static int fragments(const struct warps *w) { return w->tile.positions / w->tile.warps / w->tile.rows; }

static void write_results(struct warps *w)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, warps_of(w));
        struct loop_expr *at = emit_let(e, "sums_at", times(e, warp, t->rows * warp_tile_out(t)));
        for (int i = 0; i < fragments(w); i++) {
                unload(w, i, w->out, at, warp_tile_out(t));
                write_row(w, warp, at, i);
        }
        emit_end(e);
}

/* ---- parts: of few tiles, blocks share the turns; behind them the parts of each sum are added up ---- */

static int64_t partial_row(const struct warps *w)
{
        return round_up(w->s.panels, w->tile.panels) * w->tile.vectors * w->tile.lanes;
}

static int64_t partial_positions(const struct warps *w) { return round_up(w->positions, w->tile.positions); }
static int64_t partial_images(const struct warps *w) { return op_operand(w->s.op, 0)->type->dims[0] * w->groups; }

/* output o of position p in the part that comes first */
static struct loop_expr *partial_at(struct warps *w, struct loop_expr *p, struct loop_expr *o)
{
        struct emit *e = w->s.e;
        struct loop_expr *image = plus(e, times(e, w->image, w->groups), w->group);
        return plus(e, times(e, plus(e, times(e, image, partial_positions(w)), p), partial_row(w)), o);
}

static void write_partial(struct warps *w)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int64_t size = partial_images(w) * partial_positions(w) * partial_row(w);
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, warps_of(w));
        struct loop_expr *panel = plus(e, w->panel, panel_of_warp(w, warp)), *p = plus(e, w->position, row_of_warp(w, warp));
        struct loop_expr *at = plus(e, times(e, w->part, size), partial_at(w, p, times(e, panel, t->vectors * t->lanes)));
        at = emit_let(e, "partial_at", at);
        for (int i = 0; i < fragments(w); i++)
                unload(w, i, w->partial, plus(e, at, number(e, i * t->rows * partial_row(w))), partial_row(w));
        emit_end(e);
}

static void join_parts(struct warps *w)
{
        enum { WARPS = 4 };
        struct emit *e = w->s.e;
        const int64_t size = partial_images(w) * partial_positions(w) * partial_row(w);
        const int64_t all = partial_images(w) * w->positions * w->outputs, of_block = (int64_t)WARPS * GRID_LANES;
        struct loop_expr *block = emit_grid(e, "b", FOR_GPU_BLOCK, divide_up(all, of_block));
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, WARPS), *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES);
        struct loop_expr *at = emit_let(e, "at", plus(e, times(e, plus(e, times(e, block, WARPS), warp), GRID_LANES), lane));
        const bool some = all % of_block != 0;
        if (some)
                emit_if(e, less(w, at, all));
        struct loop_expr *o = emit_let(e, "o", emit_op_int(e, LOOP_REM, at, w->outputs));
        at = emit_op_int(e, LOOP_DIV, at, w->outputs);
        struct loop_expr *p = emit_let(e, "p", emit_op_int(e, LOOP_REM, at, w->positions));
        at = emit_op_int(e, LOOP_DIV, at, w->positions);
        w->group = emit_let(e, "group", emit_op_int(e, LOOP_REM, at, w->groups));
        w->image = emit_let(e, "image", emit_op_int(e, LOOP_DIV, at, w->groups));
        struct loop_expr *from = emit_let(e, "partial_at", partial_at(w, p, o)), *sum = loop_load(e->arena, w->partial, from);
        for (int i = 1; i < w->tile.parts; i++)
                sum = emit_op(e, LOOP_ADD, sum, loop_load(e->arena, w->partial, plus(e, from, number(e, i * size))));
        write_output(w, o, p, sum);
        for (int closes = 3 + some; closes > 0; closes--)
                emit_end(e);
}

/* ---- the kernel ---- */

static struct loop_buffer *shared(struct warps *w, const char *name, enum element element, int64_t extent)
{
        struct loop_buffer *b = ARENA_NEW(w->s.arena, struct loop_buffer);
        *b = (struct loop_buffer){ .name = emit_name(w->s.e, name), .element = element, .extent = extent,
                                   .space = SPACE_SHARED, .offset = -1, .access = ACCESS_INOUT };
        loop_append(w->s.arena, w->s.e->scope->block, STMT_ALLOC)->buffer = b;
        return b;
}

/* the block's tile: panels of a group side by side, then positions, groups, images */
static void place_block(struct warps *w, struct loop_expr *block)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        int64_t across = divide_up(w->s.panels, t->panels), down = divide_up(w->positions, t->positions);
        w->panel = emit_let(e, "first_panel", times(e, emit_op_int(e, LOOP_REM, block, across), t->panels));
        block = emit_op_int(e, LOOP_DIV, block, across);
        w->position = emit_let(e, "first", times(e, emit_op_int(e, LOOP_REM, block, down), t->positions));
        block = emit_op_int(e, LOOP_DIV, block, down);
        w->group = emit_let(e, "group", emit_op_int(e, LOOP_REM, block, w->groups));
        w->image = emit_let(e, "image", emit_op_int(e, LOOP_DIV, block, w->groups));
}

int64_t warp_tile_count(const struct warp_tile *t, int64_t images, int64_t groups, int64_t positions, int64_t panels)
{
        return images * groups * divide_up(positions, t->positions) * divide_up(panels, t->panels);
}

/* What does not depend on the block stands in front of loops over blocks: values of the epilogue, which go into the last
 * of them. */
static bool move_values_in(struct loop_block *body)
{
        struct loop_block values = { .end = &values.first }, loops = { .end = &loops.first };
        struct loop_stmt *last = NULL;
        for (struct loop_stmt *s = body->first, *next; s; s = next) {
                struct loop_block *to = s->kind == STMT_FOR ? &loops : &values;
                if (s->kind != STMT_FOR && s->kind != STMT_LET)
                        return false;
                next = s->next;
                s->next = NULL;
                *to->end = s;
                to->end = &s->next;
                last = s->kind == STMT_FOR ? s : last;
        }
        if (!last)
                return false;
        *values.end = last->body->first;
        last->body->first = values.first;
        body->first = loops.first;
        body->end = loops.end;
        return true;
}

static bool write_blocks(struct stage *s)
{
        struct warps *w = (struct warps *)s;
        struct emit *e = s->e;
        const struct warp_tile *t = &w->tile;
        int64_t tiles = warp_tile_count(t, op_operand(s->op, 0)->type->dims[0], w->groups, w->positions, s->panels);
        if (t->parts > 1)
                w->partial = emit_scratch(e, "partial", s->multiply->sum, t->parts * partial_images(w) * partial_positions(w) * partial_row(w));
        struct loop_expr *block = emit_grid(e, "b", FOR_GPU_BLOCK, tiles * t->parts);
        if (t->parts > 1) {
                w->part = emit_let(e, "part", emit_op_int(e, LOOP_DIV, block, tiles));
                block = emit_op_int(e, LOOP_REM, block, tiles);
        }
        place_block(w, block);
        struct loop_type type = LOOP_VECTOR(s->multiply->sum, t->lanes);
        type.tile = true;
        w->sums = emit_var(e, "acc", type, NULL);
        w->sums->rows = t->positions / t->warps;
        w->sums->columns = t->vectors;
        w->sums->warps = warps_of(w);
        w->xs = shared(w, "xs", s->xs->element, t->stages * x_stage(t));
        w->ws = shared(w, "ws", s->ws->element, t->stages * w_stage(t));
        if (t->parts == 1)
                w->out = shared(w, "sums", s->multiply->sum, warps_of(w) * t->rows * warp_tile_out(t));
        add_up(w);
        (t->parts > 1 ? write_partial : write_results)(w);
        emit_end(e);
        if (t->parts > 1)
                join_parts(w);
        return move_values_in(e->scope->block);
}

struct stage *warps_prepare(const struct stage *common)
{
        const struct op *op = common->op;
        const struct target *target = common->e->options->target;
        struct warps *w = ARENA_NEW(common->arena, struct warps);
        const struct type *x = op_operand(op, 0)->type, *wt = op_operand(op, 1)->type;
        w->s = *common;
        if (!warp_tile_of(op, target, &common->schedule, &w->tile) || common->prologue || common->pad ||
            common->x.stride[common->rank - 1] != 1)
                return NULL;
        w->s.multiply = multiply_find(target, (enum element)x->element, (enum element)wt->element, true,
                                      w->tile.lanes, w->tile.group, 0);
        w->s.write_all = write_blocks;
        stage_spatial(&w->s, 2);
        w->groups = op_int(op, "groups");
        w->blocks = wt->dims[1];
        w->inner = wt->dims[wt->rank - 3];
        w->outputs = op_result(op)->type->dims[1] / w->groups * op_int(op, "block");
        w->panel_size = type_elements(wt) / wt->dims[0];
        w->s.panels = wt->dims[0] / w->groups;
        w->turns = w->blocks * w->inner / w->tile.words;
        w->positions = 1;
        int64_t aligned = w->s.x.offset | (x->dims[0] > 1 ? w->s.x.stride[0] : 0) | (x->dims[1] > 1 ? w->s.x.stride[1] : 0);
        for (int d = 0; d < w->s.spatial_count; d++) {
                const struct spatial *dim = &w->s.spatial[d];
                w->turns *= dim->window;
                w->positions *= dim->extent;
                aligned |= (dim->extent > 1 ? dim->x_step : 0) | (dim->window > 1 ? dim->x_window : 0);
        }
        /* channels behind the last are not there to be read; words are copied as a whole */
        bool whole = op_int(op, "channels") == w->blocks * w->inner * w->tile.group;
        return whole && aligned % w->tile.group == 0 && w->positions > 0 && w->turns > 0 ? &w->s : NULL;
}
