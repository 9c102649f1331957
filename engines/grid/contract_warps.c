/* SPDX-License-Identifier: MIT */
/* Writes convolve_packed with sums in fragments of warps (MMA): a block of the grid computes a tile
 * of positions by panels of outputs.
 *
 *                    panels of w
 *                  +-----+-----+
 *        tile of   | w 0 | w 2 |      a warp's sums: tile / warps positions by one panel
 *      positions   +-----+-----+
 *                  | w 1 | w 3 |      2 (warps) x 2 (panels) warps
 *                  +-----+-----+
 *
 * The channels to add up are split into iterations of `depth` channels at one offset of the window.
 * The operands of `stages` iterations lie in shared memory (a multistage pipeline): while one
 * iteration is multiplied, those of the next ones are copied, 16 bytes a lane.
 *
 * - x: rows of `depth` channels of a position, copied straight from x (implicit GEMM). If the
 *   offsets of a row of the window follow each other in memory, they count as channels. Zeros stand
 *   after the last position and where a border around x is. A row is padded by 16 bytes, so that
 *   eight rows begin in different banks.
 * - w: the words of a panel for an iteration, which follow each other in w, because weights are
 *   packed in the order of the iterations. A schedule may ask for bulk copies of them (`bulk`).
 *
 * A residual that the epilogue adds to the sums is copied into shared memory as well, after the
 * operands of the first iterations.
 *
 * If there are fewer tiles than multiprocessors, `parts` blocks share the channels of a tile
 * (split-K). If they can be a cluster, their sums go to distributed shared memory, and each block
 * adds up a share of them, in order, and computes its epilogue. Otherwise the sums go to memory of
 * the kernel's own, and a second phase does both. If a later kernel reduces over rows of the
 * results, the blocks that have all outputs of a tile can be one cluster, too
 * (warps_row_clusters.c); if it reduces over all positions of an image, blocks that have them all
 * do it (warps_pool.c).
 *
 * Positions of all images follow each other, so only the last tile may have fewer. Sums leave the
 * fragments 16 positions at a time, through shared memory of the warp; each lane then computes the
 * epilogue of neighbouring outputs. */
#include "engines/grid/grid_engine.h"
#include "engines/grid/warps.h"

#include "engines/grid/warp_cost.h"
#include "ir/tensor/packed_multiply.h"

struct loop_stmt *warps_add(struct warps *w, enum loop_stmt_kind kind, int code)
{
        struct loop_stmt *s = loop_append(w->s.arena, w->s.e->scope->block, kind);
        s->code = code;
        return s;
}

/* ---- sums ---- */

int warps_count(const struct warps *w) { return w->tile.warps * w->tile.panels; }

/* Returns the first position of a warp: warp w has row w % warps of positions, and panel w /
 * warps. */
struct loop_expr *warps_row(struct warps *w, struct loop_expr *warp)
{
        const struct warp_tile *t = &w->tile;
        if (t->warps == 1)
                return number(w->s.e, 0);
        struct loop_expr *row =
                t->panels > 1 ? emit_op_int(w->s.e, LOOP_REM, warp, t->warps) : warp;
        return times(w->s.e, row, t->positions / t->warps);
}

struct loop_expr *warps_panel(struct warps *w, struct loop_expr *warp)
{
        return w->tile.panels > 1 ? emit_op_int(w->s.e, LOOP_DIV, warp, w->tile.warps)
                                  : number(w->s.e, 0);
}

struct loop_tiles warps_shape(const struct warps *w)
{
        const struct warp_tile *t = &w->tile;
        return (struct loop_tiles){ .positions = t->positions / t->warps, .vectors = t->vectors,
                                    .rows = t->rows };
}

void warps_split_position(struct warps *w, struct loop_expr *p, struct loop_expr **along,
                          struct loop_expr **image)
{
        struct emit *e = w->s.e;
        for (int d = w->s.spatial_count - 1; d >= 0; d--) {
                const int64_t extent = w->s.spatial[d].extent;
                const bool last = !d && w->images == 1;
                along[d] = last ? p : emit_let(e, "i", emit_op_int(e, LOOP_REM, p, extent));
                p = last ? number(e, 0) : emit_let(e, "p", emit_op_int(e, LOOP_DIV, p, extent));
        }
        *image = w->images == 1 ? number(e, 0) : p;
}

struct loop_expr *warps_stage(struct warps *w, struct loop_expr *iteration, int64_t size)
{
        return times(w->s.e, emit_op_int(w->s.e, LOOP_REM, iteration, w->tile.stages), size);
}

struct loop_stmt *warps_add_product(struct warps *w, struct loop_expr *warp,
                                    struct loop_expr *iteration)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        struct loop_stmt *s = warps_add(w, STMT_MULTIPLY, 0);
        s->variable = w->sums;
        s->buffer = w->xs;
        s->weights = w->ws;
        s->a = warps_stage(w, iteration, warps_x_stage(t));
        s->b = warps_stage(w, iteration, warps_w_stage(t));
        if (warp) {
                s->a = plus(e, s->a, times(e, warps_row(w, warp), warp_tile_row(t)));
                s->b = plus(e, s->b, times(e, warps_panel(w, warp), warps_w_panel(t)));
        }
        s->tiles = warps_shape(w);
        s->tiles.depth = t->words;
        s->tiles.group = t->group;
        s->tiles.step = warp_tile_row(t);
        s->tiles.jump = t->rows * warp_tile_row(t);
        s->function = state_product(&w->s);
        return s;
}

struct loop_expr *warps_iteration(struct warps *w, struct loop_expr *i)
{
        struct emit *e = w->s.e;
        return w->tile.parts > 1
                       ? emit_let(e, "of_all",
                                  plus(e, times(e, w->part, w->iterations / w->tile.parts), i))
                       : i;
}

/* Starts the copies of the first `count` iterations. On devices with programmatic dependent launch,
 * constant weights are copied before all else, because the kernel need not wait for the launch in
 * front to read them. They are a batch of their own, which no wait counts. */
void warps_copy_first(struct warps *w, int64_t count)
{
        struct emit *e = w->s.e;
        const bool dependent = target_has_dependent_launch(w->s.target) &&
                               (w->computed || value_is_constant(op_operand(w->s.op, 1)));
        for (int both = !dependent; both < 2; both++) {
                const bool of_w = !both || !dependent, bulk = of_w && w->tile.bulk;
                struct loop_expr *iteration =
                        warps_iteration(w, emit_for(e, "stage", number(e, 0), number(e, count)));
                if (bulk)
                        warps_run_w(w, iteration);
                if (both || !bulk) {
                        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, warps_count(w));
                        if (both)
                                warps_copy_x(w, warp, iteration);
                        if (of_w && !bulk)
                                warps_copy_w(w, warp, iteration);
                        emit_end(e);
                }
                if (both)
                        warps_add(w, STMT_COMMIT, 0);
                emit_end(e);
                if (!both)
                        warps_add(w, STMT_COMMIT, 0);
        }
}

static void add_up(struct warps *w)
{
        struct emit *e = w->s.e;
        const int ahead = w->tile.stages - 1;
        const int64_t iterations = w->iterations / w->tile.parts;
        int64_t first = iterations < ahead ? iterations : ahead;
        warps_copy_first(w, first);
        if (w->added) {                 /* The residual is committed with iteration `ahead`, so no
                                         * earlier iteration waits for it. */
                warps_copy_added(w, emit_grid(e, "warp", FOR_GPU_WARP, warps_count(w)));
                emit_end(e);
        }
        for (int64_t i = first; i < ahead; i++)
                warps_add(w, STMT_COMMIT, 0);         /* The batch is empty, and only counted by
                                                       * waits. */
        warps_add(w, STMT_WAIT, ahead - 1);
        struct loop_expr *iteration = emit_for(e, "iteration", number(e, 0), number(e, iterations)),
                         *of_all = warps_iteration(w, iteration);
        /* Copies for a later iteration are under way while this one is multiplied. */
        struct loop_expr *next = iterations > ahead
                                         ? emit_let(e, "next", plus(e, iteration, number(e, ahead)))
                                         : NULL;
        if (next && w->tile.bulk) {
                emit_if(e, warps_less(w, next, iterations));
                warps_run_w(w, warps_iteration(w, next));
                emit_end(e);
        }
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, warps_count(w));
        if (next) {
                emit_if(e, warps_less(w, next, iterations));
                next = warps_iteration(w, next);
                warps_copy_x(w, warp, next);
                if (!w->tile.bulk)
                        warps_copy_w(w, warp, next);
                emit_end(e);
        }
        warps_add_product(w, warp, of_all);
        emit_end(e);
        if (iterations > 1) {           /* Another iteration follows, which needs its operands. */
                warps_add(w, STMT_COMMIT, 0);
                warps_add(w, STMT_WAIT, ahead - 1);
        }
        emit_end(e);
        if (w->added)                   /* No iteration after the first ones has waited for the
                                         * residual. */
                warps_add(w, STMT_COMMIT, 0);
        warps_add(w, STMT_WAIT, 0);
}

/* ---- the kernel ---- */

static struct loop_buffer *alloc(struct warps *w, const char *name, enum element element,
                                 int64_t extent, enum loop_space space)
{
        struct loop_buffer *b = ARENA_NEW(w->s.arena, struct loop_buffer);
        *b = (struct loop_buffer){ .name = emit_name(w->s.e, name),
                                   .element = element,
                                   .extent = extent,
                                   .space = space,
                                   .offset = -1,
                                   .access = ACCESS_INOUT };
        loop_append(w->s.arena, w->s.e->scope->block, STMT_ALLOC)->buffer = b;
        return b;
}

struct loop_buffer *warps_shared(struct warps *w, const char *name, enum element element,
                                 int64_t extent)
{
        return alloc(w, name, element, extent, SPACE_SHARED);
}

/* Returns the panels of a band. Blocks that run at the same time share what they read through L2,
 * so the tiles of a group, `across` by `down`, are numbered in bands: the width of a band is chosen
 * such that as many tiles as there are multiprocessors read the fewest bytes. */
static int64_t band_of(const struct warps *w, int64_t across, int64_t down)
{
        const struct warp_tile *t = &w->tile;
        const struct gpu *g = target_gpu(w->s.target);
        const int64_t running = g && g->multiprocessors ? g->multiprocessors : across * down,
                      width = (int64_t)t->panels * t->vectors * t->lanes;
        int64_t best = across, least = INT64_MAX;
        for (int64_t band = across; band >= 1 && across * down > running; band--) {
                const int64_t under = divide_up(running, band), rows = under < down ? under : down;
                const int64_t lines = rows * t->positions + divide_up(running, rows) * width;
                if (across % band || lines >= least)
                        continue;
                least = lines;
                best = band;
        }
        return best;
}

/* Returns the tiles of a panel. */
static struct loop_expr *tiles_down(struct warps *w)
{
        struct emit *e = w->s.e;
        const int size = w->tile.positions;
        return w->open ? emit_op_int(e, LOOP_DIV, plus(e, w->open, number(e, size - 1)), size)
                       : number(e, divide_up(w->positions, size));
}

/* Computes which tile a block computes: numbers go over the panels of a band, then over positions,
 * bands and groups. If the blocks side by side are a cluster, `block` is the number of the
 * cluster. */
static void place_block(struct warps *w, struct loop_expr *block)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int64_t across = divide_up(w->s.panels, t->panels),
                      most = divide_up(w->positions, t->positions), band = band_of(w, across, most);
        struct loop_expr *down = tiles_down(w);
        struct loop_expr *in_band = NULL;
        if (t->row_clusters) {
                w->panel = emit_let(
                        e, "first_panel",
                        times(e, emit_op_int(e, LOOP_DIV, w->number, t->parts), t->panels));
        } else {
                in_band = emit_op_int(e, LOOP_REM, block, band);
                block = emit_op_int(e, LOOP_DIV, block, band);
        }
        w->position =
                emit_let(e, "first", times(e, emit_op(e, LOOP_REM, block, down), t->positions));
        block = emit_op(e, LOOP_DIV, block, down);
        if (in_band && band < across) {
                in_band = plus(e, times(e, emit_op_int(e, LOOP_REM, block, across / band), band),
                               in_band);
                block = emit_op_int(e, LOOP_DIV, block, across / band);
        }
        if (in_band)
                w->panel = emit_let(e, "first_panel", times(e, in_band, t->panels));
        w->group = emit_let(e, "group", emit_op_int(e, LOOP_REM, block, w->groups));
}

int64_t warp_tile_count(const struct warp_tile *t, int64_t groups, int64_t positions,
                        int64_t panels)
{
        return groups * divide_up(positions, t->positions) * divide_up(panels, t->panels);
}

static bool move_values_in(struct loop_block *body, int behind)
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
        struct loop_block *block = last->body;
        /* The last loop over blocks stands in the cluster. */
        if (last->for_kind == FOR_GPU_CLUSTER) {
                int loops_left = -1 - behind;
                for (last = block->first; last; last = last->next)
                        loops_left += last->kind == STMT_FOR;
                for (last = block->first; last->kind != STMT_FOR || loops_left-- > 0;)
                        last = last->next;
                block = last->body;
        }
        *values.end = block->first;
        block->first = values.first;
        body->first = loops.first;
        body->end = loops.end;
        return true;
}

bool warps_move_values_in(struct loop_block *body) { return move_values_in(body, 0); }

/* Opens the loop over the blocks of a cluster, which are numbered across * parts + part. */
static void open_members(struct warps *w, const char *name)
{
        const struct warp_tile *t = &w->tile;
        w->number = w->part = emit_grid(w->s.e, name, FOR_GPU_BLOCK, warp_tile_members(t));
        if (t->row_clusters)
                w->part = emit_let(w->s.e, "part",
                                   emit_op_int(w->s.e, LOOP_REM, w->number, t->parts));
}

/* Opens the loops over blocks, or over clusters and their blocks; returns the number of the tile,
 * or of the cluster. */
static struct loop_expr *open_blocks(struct warps *w)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        struct loop_expr *tile, *down = tiles_down(w);
        const int64_t of_row = w->groups * divide_up(w->s.panels, t->panels);
        if (t->cluster) {
                tile = emit_grid_open(e, "tile", FOR_GPU_CLUSTER,
                                      times(e, down, of_row / t->across));
                w->partial = alloc(w, "partial", w->s.multiply->sum,
                                   warp_tile_members(t) * warp_tile_part(t), SPACE_CLUSTER);
                open_members(w, t->row_clusters ? "member" : "part");
                return tile;
        }
        if (t->parts > 1)
                w->partial = emit_scratch(e, "partial", w->s.multiply->sum, warps_partial_size(w));
        struct loop_expr *tiles = times(e, down, of_row),
                         *block = emit_grid_open(e, "b", FOR_GPU_BLOCK, times(e, tiles, t->parts));
        if (t->parts == 1)
                return block;
        w->part = emit_let(e, "part", emit_op(e, LOOP_DIV, block, tiles));
        return emit_op(e, LOOP_REM, block, tiles);
}

/* Ends the loop over blocks, and writes what follows it if several blocks have parts of a sum or of
 * a row. */
static void write_behind(struct warps *w, struct loop_expr *tile)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        if (t->cluster && t->parts > 1) {
                emit_end(e);
                open_members(w, t->row_clusters ? "member" : "share");
                place_block(w, tile);
        }
        if (t->cluster || t->fused_pool)
                warps_join_share(w);
        if (t->fused_pool)
                warps_write_pool(w);
        emit_end(e);
        if (t->row_clusters) {
                open_members(w, "member");
                place_block(w, tile);
                warps_write_rows(w);
                emit_end(e);
        }
        if (t->cluster)
                emit_end(e);
        else if (t->parts > 1)
                warps_join_parts(w);
}

static bool write_blocks(struct kernel_state *s)
{
        struct warps *w = (struct warps *)s;
        struct emit *e = s->e;
        const struct warp_tile *t = &w->tile;
        struct loop_expr *tile = open_blocks(w);
        place_block(w, tile);
        struct loop_type type = LOOP_VECTOR(s->multiply->sum, t->lanes);
        type.tile = true;
        w->sums = emit_var(e, "acc", type, NULL);
        w->sums->rows = t->positions / t->warps;
        w->sums->columns = t->vectors;
        w->sums->warps = warps_count(w);
        w->xs = warps_shared(w, "xs", s->xs->element, t->stages * warps_x_stage(t));
        w->ws = warps_shared(w, "ws", element_storage(op_operand(s->op, 1)->type->element),
                             t->stages * warps_w_stage(t));
        if (t->added) {
                const struct value *added = warps_added(s->op);
                w->added = warps_shared(w, "added", element_storage(added->type->element),
                                        t->positions * warp_tile_added_row(t));
        }
        if (t->fused_pool && !t->cluster) {
                w->partial = warps_shared(w, "results", s->multiply->sum, warp_tile_part(t));
                w->number = w->part = number(e, 0);
        }
        if (t->parts == 1 && !t->row_clusters && !t->fused_pool)
                w->out = warps_shared(w, "sums", s->multiply->sum,
                                      warps_count(w) * t->rows * warp_tile_out(t));
        (t->warp_group ? groups_add_up : add_up)(w);
        (t->cluster || t->fused_pool ? warps_leave_part
         : t->parts > 1              ? warps_write_partial
         : t->warp_group             ? groups_write_results
                                     : warps_write_results)(w);
        write_behind(w, tile);
        return move_values_in(e->scope->block, t->row_clusters);
}

/* Returns how many positions a run gives; NULL: their number is constant. */
static struct loop_expr *positions_open(struct warps *w)
{
        struct emit *e = w->s.e;
        const struct type *y = op_result(w->s.op)->type;
        const dim_t row = y->dims[w->s.rank - 2];
        return !dim_is_static(y->dims[0])
                       ? times(e, emit_dim_in_scalars(e, y->dims[0]), w->of_image)
               : !dim_is_static(row) ? emit_dim_in_scalars(e, row)
                                     : NULL;
}

struct kernel_state *warps_prepare(const struct kernel_state *common)
{
        const struct op *op = common->op;
        const struct target *target = common->target;
        struct warps *w = ARENA_NEW(common->arena, struct warps);
        const struct type *x = op_operand(op, 0)->type, *wt = op_operand(op, 1)->type;
        w->s = *common;
        struct schedule_grid words = *common->grid;
        words.fused_pool &= common->pool != NULL;       /* Without a pool the results are stored. */
        if ((!warp_tile_of(op, target, &words, &w->tile) &&
             !group_tile_of(op, target, &words, &w->tile)) ||
            common->prologue || common->pad || common->x.stride[common->rank - 1] != 1 ||
            (common->pool && !w->tile.fused_pool))
                return NULL;
        w->s.multiply = packed_multiply(op, target, SUMS_IN_TILES);
        if (common->pool && common->result->type->element != w->s.multiply->sum)
                return NULL;
        w->s.write_all = write_blocks;
        w->computed = warps_computed(op, target);
        state_spatial(&w->s, 2);
        w->groups = op_int(op, "groups");
        w->blocks = type_extent(wt, 1);
        w->inner = (w->tile.warp_group ? type_extent(wt, wt->rank - 3) : warps_inner_words(op)) *
                   packed_group(x, wt) / w->tile.group;
        w->outputs = type_extent(op_result(op)->type, 1) / w->groups * op_int(op, "block");
        w->panel_size = type_elements(wt) / type_extent(wt, 0);
        w->s.panels = type_extent(wt, 0) / w->groups;
        /* This many offsets of the window count as channels. */
        const int64_t deeper =
                w->inner * w->tile.group / (type_extent(wt, wt->rank - 3) * packed_group(x, wt));
        if (deeper > 1)
                w->s.spatial[w->s.spatial_count - 1].window = 1;
        w->iterations = w->blocks * w->inner / w->tile.words;
        w->images = dim_bound(op_module(op), x->dims[0]);
        w->of_image = 1;
        if (!dim_is_static(x->dims[0]) && w->images == 1)
                w->images = 2;          /* There may be none, so it is counted. */
        int64_t aligned = w->s.x.offset | (w->images > 1 ? w->s.x.stride[0] : 0) |
                          (type_extent(x, 1) > 1 ? w->s.x.stride[1] : 0);
        for (int d = 0; d < w->s.spatial_count; d++) {
                const struct spatial *dim = &w->s.spatial[d];
                w->iterations *= dim->window;
                w->of_image *= dim->extent;
                aligned |=
                        (dim->extent > 1 ? dim->x_step : 0) | (dim->window > 1 ? dim->x_window : 0);
        }
        w->positions = w->images * w->of_image;
        w->open = positions_open(w);
        if (w->tile.row_clusters && !warps_have_rows(w))
                warp_tile_apart(&w->tile, target);
        /* Words are copied whole, so x must have all channels of the last word, and each row must
         * begin at a whole word. */
        bool whole = op_int(op, "channels") * deeper == w->blocks * w->inner * w->tile.group;
        return whole && aligned % w->tile.group == 0 && w->positions > 0 && w->iterations > 0
                       ? &w->s
                       : NULL;
}
