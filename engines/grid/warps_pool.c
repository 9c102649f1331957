/* SPDX-License-Identifier: MIT */
/* Products whose tiles have all positions of an image: a reduction over these (a global pool) is
 * part of the kernel, so that it need not be launched. The results stay in shared memory, and each
 * lane goes over the positions of an output, in order. If blocks share the iterations of a tile as
 * a cluster, each makes the results of all positions for a share of the outputs:
 *
 *                      block 0       block 1
 *                    +-------------+-------------+
 *     position 0     |  lanes of   |  lanes of   |
 *     ..             |  block 0    |  block 1    |
 *     position 48    |  go down    |             |
 *                    +-------------+-------------+ */
#include "engines/grid/warps.h"

#include "ir/tensor/relation.h"

/* ---- what fits ---- */

int64_t warps_of_image(const struct op *op)
{
        const struct type *y = op_result(op)->type;
        int64_t positions = 1;
        for (int d = 2; d + 1 < y->rank; d++)
                positions *= type_extent(y, d);
        return positions;
}

bool warps_pools(const struct op *op, const struct op *pool)
{
        const struct type *y = op_result(op)->type;
        unsigned positions = 0, along;
        for (int d = 2; d + 1 < y->rank; d++)
                positions |= (unsigned)(type_extent(y, d) > 1) << d;
        return positions && pool->code == OP_reduce && rows_reduce(pool, y, &along) &&
               along == positions;
}

int64_t warp_tile_images(const struct op *op, const struct warp_tile *t)
{
        const int64_t of_image = warps_of_image(op);
        if (dim_is(op_result(op)->type->dims[0], 1))
                return t->positions >= of_image;
        return of_image && t->positions % of_image == 0 ? t->positions / of_image : 0;
}

int warp_tile_pool_outputs(const struct warp_tile *t)
{
        return t->panels * t->vectors * t->lanes / t->parts;
}

/* ---- the kernel ---- */

/* Sets where the block's results of a column lie, from the first position of an image of the tile
 * on. */
static void place_results(struct warps *w, struct loop_expr *image, struct loop_expr *column)
{
        struct kernel_state *s = &w->s;
        struct emit *e = s->e;
        const struct warp_tile *t = &w->tile;
        const int panel = t->vectors * t->lanes;
        struct loop_expr *first = times(e, image, w->of_image);
        if (t->panels > 1)
                first = plus(e, times(e, emit_op_int(e, LOOP_DIV, column, panel), t->positions),
                             first);
        first = plus(e, times(e, first, warp_tile_part_row(t)),
                     t->panels > 1 ? emit_op_int(e, LOOP_REM, column, panel) : column);
        w->kept = (struct emit_place){ w->partial,
                                       plus(e, times(e, w->number, warp_tile_part(t)),
                                            emit_let(e, "results_at", first)),
                                       { 0 }, { 0 } };
        int64_t step = warp_tile_part_row(t);
        for (int d = s->spatial_count - 1; d >= 0; d--) {
                w->kept.stride[s->rank - 1 - s->spatial_count + d] = step;
                step *= s->spatial[d].extent;
        }
        emit_local(e, s->result)->place = &w->kept;
}

/* Stores what the fusion computes from the reduction for output o of the group in an image. */
static void write_pool(struct warps *w, struct loop_expr *image, struct loop_expr *o)
{
        struct kernel_state *s = &w->s;
        struct emit *e = s->e;
        struct relation r;
        struct loop_expr *of_result[RANK_MAX], *index[RANK_MAX], *at = s->y_start;
        for (int d = 0; d < s->rank; d++)
                of_result[d] = number(e, 0);
        of_result[0] = image;
        warps_split_output(w, o, &of_result[1], &of_result[s->rank - 1]);
        relation_of(s->pool, 0, &r);
        for (int d = 0; d < op_result(s->pool)->type->rank; d++)
                index[d] = number(e, 0);
        for (int d = 0; d < s->rank; d++)
                if (r.along[d].kind == ALONG_AFFINE)
                        index[r.along[d].from] = of_result[d];
        for (int d = 0; d < s->pool_result->type->rank; d++)
                at = plus(e, at, times(e, index[d], s->y.stride[d]));
        struct loop_expr *value = emit_element(e, s->pool_result, index);
        emit_store(e, s->ys, at, value);
}

void warps_write_pool(struct warps *w)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int panel = t->vectors * t->lanes, width = warp_tile_pool_outputs(t),
                  at_once = warps_count(w) * GRID_LANES;
        const int64_t images = warp_tile_images(w->s.op, t), all = images * width;
        const bool few = w->outputs % (panel * t->panels) != 0,
                   some = warps_are_partial(w) && w->images > 1;
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, warps_count(w));
        struct loop_expr *iteration =
                emit_for(e, "iteration", number(e, 0), number(e, divide_up(all, at_once)));
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES);
        struct loop_expr *at = plus(e, times(e, iteration, at_once),
                                    plus(e, times(e, warp, GRID_LANES), lane)),
                         *image = number(e, 0);
        at = emit_let(e, "at", at);
        if (all % at_once)
                emit_if(e, warps_less(w, at, all));
        struct loop_expr *column =
                emit_let(e, "column",
                         plus(e, times(e, w->part, width), emit_op_int(e, LOOP_REM, at, width)));
        struct loop_expr *o = emit_let(e, "o", plus(e, times(e, w->panel, panel), column));
        if (few)
                emit_if(e, warps_less(w, o, w->outputs));
        if (images > 1)
                image = emit_let(
                        e, "in_tile",
                        minimum(e, emit_op_int(e, LOOP_DIV, at, width), number(e, images - 1)));
        place_results(w, image, column);
        if (w->images > 1)
                image = emit_let(
                        e, "image",
                        plus(e, emit_op_int(e, LOOP_DIV, w->position, w->of_image), image));
        if (some)
                emit_if(e, warps_less(w, image, w->images));
        write_pool(w, image, o);
        for (int closes = 3 + (all % at_once != 0) + few + some; closes > 0; closes--)
                emit_end(e);
}
