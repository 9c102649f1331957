/* SPDX-License-Identifier: MIT */
/* convolve_packed by warp-group MMA, by which four warps multiply as one (contract_warps.c): a
 * block has one panel, and each of its warps the positions of one row of a fragment. An iteration
 * is a line of eight words, for each position and each output; words of a line are swizzled
 * (ir/loop/loop_tiles.h), so that the same word of eight lines lies in eight banks, for the copies
 * that write lines and for the MMA that reads them.
 *
 *      iteration t   wait for its copies
 *                    start its MMA, and settle all MMA but this, which goes on while
 *                    the copies of iteration t + stages - 2 are started
 *
 * All warps have then settled the MMA that read the stage of iteration t + stages - 2. Lanes copy
 * the operands; weights that are swizzled in memory already come by bulk copies (`bulk`).
 *
 * The sums leave the fragments a few vectors at a time, because shared memory has no room for all
 * of them beside the stages. */
#include "engines/grid/warps.h"
#include "ir/tensor/packed_multiply.h"

/* ---- what fits ---- */

/* Returns how many vectors of a warp's sums leave their fragments at a time. */
static int part_of(const struct warp_tile *t)
{
        int part = t->vectors * t->lanes < GRID_LANES ? t->vectors : GRID_LANES / t->lanes;
        while (t->vectors % part)
                part--;
        return part;
}

int64_t group_tile_out(const struct warp_tile *t)
{
        enum { PAD = 8 };               /* A row is padded by this many elements, so that four rows
                                         * of a fragment lie in different banks. */
        return part_of(t) * t->lanes + PAD;
}

int64_t group_tile_shared(const struct warp_tile *t)
{
        enum { ALIGN = 1024 };          /* Stages are aligned to this many bytes, those of eight
                                         * lines; up to as many may be lost before them. */
        const int64_t stages = t->stages * (warps_x_stage(t) + warps_w_stage(t)) * t->bytes + ALIGN;
        if (t->parts > 1)
                return stages + (t->cluster ? round_up(warp_tile_part(t) * 4, ALIGN) : 0);
        return stages + round_up(t->rows * group_tile_out(t) * 4, STORAGE_ALIGN) * t->warps;
}

int group_tile_registers(const struct warp_tile *t)
{
        enum { PLACES = 64 };           /* For subscripts and the epilogue, nvcc 13 needs at most
                                         * this many registers. */
        return t->vectors * t->rows * t->lanes / GRID_LANES + PLACES;
}

bool group_tile_of(const struct op *op, const struct target *target, const struct schedule_grid *s,
                   struct warp_tile *t)
{
        /* There are at least this many stages: for the MMA that is started, the one that may still
         * be under way, and the copies. */
        enum { STAGES = 3 };
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        const struct multiply *m = packed_multiply(op, target, SUMS_IN_TILES);
        if (!m || !multiply_by_warp_group(m))
                return false;
        int64_t iterations =
                type_elements(w) / type_extent(w, 0) / packed_panel(x, w) / m->channels;
        *t = (struct warp_tile){ .positions = s->tile,
                                 .warps = s->warps,
                                 .panels = 1,
                                 .stages = s->stages,
                                 .words = MULTIPLY_SWIZZLE,
                                 .parts = s->parts,
                                 .across = 1,
                                 .rows = m->positions / MULTIPLY_WARPS,
                                 .vectors = (int)type_extent(w, w->rank - 2),
                                 .lanes = m->outputs,
                                 .group = m->channels / MULTIPLY_SWIZZLE,
                                 .bytes = element_info[x->element].bytes,
                                 .warp_group = true,
                                 .bulk = s->bulk && op_int(op, "crossed") &&
                                         target_gpu(target)->bulk_copies };
        t->cluster = t->positions > 0 && warp_tile_clusters(t, target, group_tile_shared(t));
        return s->depth == m->channels && s->panels == 1 && t->positions > 0 &&
               t->positions % m->positions == 0 && t->positions == t->warps * t->rows &&
               iterations % t->parts == 0 && t->stages >= STAGES &&
               t->vectors * t->lanes <= MULTIPLY_WIDE && t->warps <= GRID_WARPS_MAX &&
               group_tile_shared(t) <= GRID_SHARED_MAX;
}

/* ---- sums ---- */

static void copy_iteration(struct warps *w, struct loop_expr *iteration)
{
        struct emit *e = w->s.e;
        if (w->tile.bulk)
                warps_run_w(w, iteration);
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, warps_count(w));
        warps_copy_x(w, warp, iteration);
        if (!w->tile.bulk)
                warps_copy_w(w, warp, iteration);
        emit_end(e);
}

static void add_product(struct warps *w, struct loop_expr *iteration)
{
        struct loop_tiles *t = &warps_add_product(w, NULL, iteration)->tiles;
        t->swizzle = MULTIPLY_SWIZZLE;
        t->warp_group = true;
}

void groups_add_up(struct warps *w)
{
        struct emit *e = w->s.e;
        const int ahead = w->tile.stages - 2;
        const int64_t iterations = w->iterations / w->tile.parts,
                      first = iterations < ahead ? iterations : ahead;
        warps_copy_first(w, first);
        for (int64_t i = first; i < ahead; i++)
                warps_add(w, STMT_COMMIT, 0);   /* The batch is empty, and only counted by waits. */
        struct loop_expr *iteration = emit_for(e, "iteration", number(e, 0), number(e, iterations));
        warps_add(w, STMT_WAIT, ahead - 1);
        add_product(w, warps_iteration(w, iteration));
        warps_add(w, STMT_SETTLE, 1);
        if (iterations > ahead) {
                struct loop_expr *next = emit_let(e, "next", plus(e, iteration, number(e, ahead)));
                emit_if(e, warps_less(w, next, iterations));
                copy_iteration(w, warps_iteration(w, next));
                emit_end(e);
        }
        warps_add(w, STMT_COMMIT, 0);
        emit_end(e);
        warps_add(w, STMT_SETTLE, 0);
        warps_add(w, STMT_WAIT, 0);
}

/* Writes the results of 16 positions of a warp, from vector `first` on. */
static void write_rows(struct warps *w, struct loop_expr *warp, struct loop_expr *sums_at,
                       int first)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int width = part_of(t) * t->lanes, lanes = width < GRID_LANES ? width : GRID_LANES;
        const bool some = warps_are_partial(w),
                   few = w->outputs % ((int64_t)t->vectors * t->lanes) != 0;
        struct loop_expr *row = emit_for(e, "row", number(e, 0), number(e, t->rows));
        struct loop_expr *p =
                emit_let(e, "p", plus(e, plus(e, w->position, warps_row(w, warp)), row));
        if (some)
                emit_if(e, warps_there(w, p));
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, lanes);
        struct loop_expr *o = plus(e, times(e, w->panel, t->vectors * t->lanes),
                                   plus(e, number(e, first * t->lanes), lane));
        o = emit_let(e, "o", o);
        if (few)
                emit_if(e, warps_less(w, o, w->outputs));
        struct loop_expr *at = plus(e, sums_at, plus(e, times(e, row, group_tile_out(t)), lane));
        warps_write_output(w, o, p, loop_load(e->arena, w->out, at));
        for (int closes = 2 + few + some; closes > 0; closes--)
                emit_end(e);
}

void groups_write_results(struct warps *w)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int part = part_of(t);
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, warps_count(w));
        struct loop_expr *at = emit_let(e, "sums_at", times(e, warp, t->rows * group_tile_out(t)));
        for (int first = 0; first < t->vectors; first += part) {
                struct loop_stmt *s = warps_add(w, STMT_UNLOAD, 0);
                s->variable = w->sums;
                s->buffer = w->out;
                s->a = at;
                s->tiles = warps_shape(w);
                s->tiles.column = first;
                s->tiles.columns = part < t->vectors ? part : 0;
                s->tiles.step = group_tile_out(t);
                if (!warps_write_words(w, warp, at, 0, first * t->lanes, part * t->lanes))
                        write_rows(w, warp, at, first);
        }
        emit_end(e);
}
