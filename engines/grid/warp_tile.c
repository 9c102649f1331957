/* SPDX-License-Identifier: MIT */
/* The tile of a product by fragments of warps: what its operands and sums take of shared memory and
 * registers, whether blocks can be a cluster, and so whether a schedule fits. */
#include "engines/grid/grid_engine.h"
#include "engines/grid/warps.h"

#include "engines/grid/warp_cost.h"
#include "ir/tensor/packed_multiply.h"

int64_t warp_tile_row(const struct warp_tile *t) { return (t->words + !t->warp_group) * t->group; }

int64_t warps_x_stage(const struct warp_tile *t) { return t->positions * warp_tile_row(t); }
int64_t warps_w_panel(const struct warp_tile *t)
{
        return (int64_t)t->words * t->vectors * t->lanes * t->group;
}
int64_t warps_w_stage(const struct warp_tile *t) { return t->panels * warps_w_panel(t); }

int64_t warp_tile_out(const struct warp_tile *t)
{
        enum { PAD = 8 };               /* A row is padded by this many elements, so that four rows
                                         * of a fragment lie in different banks. */
        return t->warp_group ? group_tile_out(t) : (int64_t)t->vectors * t->lanes + PAD;
}

/* SUM_BYTES is the bytes of a sum; PART_ALIGN is the alignment, in bytes, of what lies after a
 * block's sums. */
enum { SUM_BYTES = 4, PART_ALIGN = 1024 };

int64_t warp_tile_part_row(const struct warp_tile *t)
{
        enum { PAD = 8 };               /* A row is padded by this many elements, as in
                                         * warp_tile_out. */
        return (int64_t)t->vectors * t->lanes + PAD;
}
int64_t warp_tile_part(const struct warp_tile *t)
{
        return t->panels * t->positions * warp_tile_part_row(t);
}

int64_t warp_tile_added_row(const struct warp_tile *t)
{
        /* All banks have BANKS bytes, half of them HALF: lanes read two rows of a panel at a time,
         * from different halves. */
        enum { BANKS = 128, HALF = 64 };
        const int64_t width = (int64_t)t->panels * t->vectors * t->lanes;
        return width + (t->added && width * t->added % BANKS == 0 ? HALF / t->added : 0);
}

static bool is_fused(const struct op *op)
{
        return op->region->owner && op->region->owner->code == OP_fusion;
}

/* Does the kernel read v from memory, rather than compute it? */
static bool is_from_memory(const struct op *op, const struct value *v)
{
        return !is_fused(op) || !value_is_inside(v, op->region);
}

const struct value *warps_added(const struct op *op)
{
        const struct type *y = op_result(op)->type;
        if (!is_fused(op))
                return NULL;
        for (const struct op *o = op->region->first; o; o = o->next)
                for (int i = 0; op_info[o->code].traits & TRAIT_ELEMENTWISE && i < o->operand_count;
                     i++) {
                        const struct value *v = op_operand(o, i);
                        if (is_from_memory(op, v) && v->kind != VALUE_CONSTANT &&
                            type_is_static(v->type) && type_same_dims(v->type, y))
                                return v;
                }
        return NULL;
}

/* Returns the bytes of an element of the residual, if lanes can copy it in words of COPY_BYTES;
 * otherwise 0. */
static int added_bytes(const struct op *op, const struct warp_tile *t)
{
        const struct value *v = warps_added(op);
        const int bytes = v ? element_info[v->type->element].bytes : 0,
                  width = t->vectors * t->lanes;
        const bool words = bytes == 2 || bytes == 4;
        return words && width % GRID_LANES == 0 && op_int(op, "block") * bytes % COPY_BYTES == 0 &&
                               type_extent(op_result(op)->type, 1) / op_int(op, "groups") *
                                               op_int(op, "block") * bytes % COPY_BYTES ==
                                       0
                       ? bytes
                       : 0;
}

int warp_tile_members(const struct warp_tile *t) { return t->parts * t->across; }

bool warp_tile_clusters(const struct warp_tile *t, const struct target *target, int64_t shared)
{
        const struct gpu *g = target_gpu(target);
        const int64_t share = (int64_t)t->positions / t->parts * t->panels * t->vectors * t->lanes;
        return g && warp_tile_members(t) > 1 && warp_tile_members(t) <= g->cluster &&
               t->positions % t->parts == 0 && share % (t->warps * t->panels * GRID_LANES) == 0 &&
               shared + round_up(warp_tile_part(t) * SUM_BYTES, PART_ALIGN) <= g->shared_bytes;
}

int64_t warps_row_length(const struct warp_tile *t) { return round_up(t->length, GRID_LANES); }

int64_t warp_tile_shared(const struct warp_tile *t)
{
        enum { ROW_SUMS = 1024 };       /* For each warp, this many bytes hold what else the
                                         * epilogue keeps of a row. */
        int warps = t->warps * t->panels;
        int64_t stages = t->stages * (warps_x_stage(t) + warps_w_stage(t)) * t->bytes +
                         (t->bulk ? GRID_BULK_BYTES : 0);
        stages += round_up(t->positions * warp_tile_added_row(t) * t->added, STORAGE_ALIGN);
        if (t->row_clusters)
                stages += warps * (warps_row_length(t) * SUM_BYTES + ROW_SUMS);
        if (t->parts > 1 || t->row_clusters || t->fused_pool)
                return stages + (t->cluster || t->fused_pool
                                         ? round_up(warp_tile_part(t) * SUM_BYTES, PART_ALIGN)
                                         : 0);
        return stages +
               round_up((int64_t)t->rows * warp_tile_out(t) * SUM_BYTES, STORAGE_ALIGN) * warps;
}

int warp_tile_registers(const struct multiply *m, const struct warp_tile *t)
{
        int rows = t->positions / t->warps / t->rows, lane = t->rows * t->lanes / GRID_LANES;
        int64_t words = (t->positions * (int64_t)t->words + warps_w_stage(t) / t->group) /
                        (t->warps * t->panels * GRID_LANES);
        return warps_registers(m, rows, t->vectors, lane, (int)words) + t->added;
}

void warp_tile_apart(struct warp_tile *t, const struct target *target)
{
        t->row_clusters = t->cluster = false;
        t->across = 1;
        t->cluster = warp_tile_clusters(t, target, warp_tile_shared(t));
}

/* Makes a cluster of the blocks that have all outputs of the tile's positions; if they cannot be
 * one, the tile has no whole rows. */
static void make_row_clusters(struct warp_tile *t, const struct op *op, const struct target *target)
{
        const struct type *y = op_result(op)->type, *w = op_operand(op, 1)->type;
        t->across = (int)divide_up(type_extent(w, 0), t->panels);
        t->length = type_extent(y, y->rank - 1);
        t->row_clusters = true;
        t->cluster = t->across <= GRID_CLUSTER_MAX && dim_is(y->dims[1], 1) &&
                     op_int(op, "groups") == 1 && t->vectors * t->lanes % GRID_LANES == 0 &&
                     warp_tile_clusters(t, target, warp_tile_shared(t));
        if (!t->cluster)
                warp_tile_apart(t, target);
}

/* Do all channels of all offsets of the window along its last dimension follow each other in x and
 * in w? Then they are taken as channels of a window without that dimension. */
static bool is_row_of_window(const struct op *op)
{
        const struct value *x = op_operand(op, 0);
        const struct type *w = op_operand(op, 1)->type;
        const int64_t channels = type_extent(w, w->rank - 3) * packed_group(x->type, w);
        int spatial;
        const int64_t *dilations = op_ints(op, "dilations", &spatial);
        return type_extent(w, w->rank - 4) > 1 && dim_is(w->dims[1], 1) &&
               op_int(op, "groups") == 1 && dilations[spatial - 1] == 1 &&
               op_int(op, "channels") == channels &&
               dim_is(x->type->dims[x->type->rank - 1], channels) && is_from_memory(op, x);
}

int64_t warps_inner_words(const struct op *op)
{
        const struct type *w = op_operand(op, 1)->type;
        return type_extent(w, w->rank - 3) *
               (is_row_of_window(op) ? type_extent(w, w->rank - 4) : 1);
}

bool warp_tile_of(const struct op *op, const struct target *target, const struct schedule_grid *s,
                  struct warp_tile *t)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        const struct multiply *m = packed_multiply(op, target, SUMS_IN_TILES);
        if (!m || m->x.source != SOURCE_WARP)
                return false;
        int64_t inner = warps_inner_words(op),
                iterations = type_elements(w) / type_extent(w, 0) / packed_panel(x, w) / s->depth;
        int bytes = element_info[x->element].bytes;
        *t = (struct warp_tile){ .positions = s->tile,
                                 .warps = s->warps,
                                 .panels = s->panels,
                                 .stages = s->stages,
                                 .words = s->depth / m->channels,
                                 .parts = s->parts,
                                 .rows = m->positions,
                                 .vectors = (int)type_extent(w, w->rank - 2),
                                 .lanes = m->outputs,
                                 .group = m->channels,
                                 .bytes = bytes,
                                 .across = 1 };
        const int64_t panels = type_extent(w, 0) / op_int(op, "groups");
        const bool computed = !is_from_memory(op, op_operand(op, 1));
        if (computed && (!warps_computed(op, target) || panels % t->panels))
                return false;
        t->bulk = s->bulk && !computed && target_gpu(target)->bulk_copies &&
                  panels % t->panels == 0;
        /* With parts or whole rows another phase adds the residual, which has other shared
         * memory. */
        t->added = t->parts > 1 || s->row_clusters ? 0 : added_bytes(op, t);
        if (t->positions > 0)
                warp_tile_apart(t, target);
        if (t->positions > 0 && s->row_clusters)
                make_row_clusters(t, op, target);
        t->fused_pool = t->positions > 0 && s->fused_pool && !t->row_clusters &&
                        (t->parts == 1 || t->cluster) && warp_tile_images(op, t) > 0 &&
                        t->panels * t->vectors * t->lanes % t->parts == 0;
        /* Sums of parts go through memory for a number of positions. */
        if (t->parts > 1 && !t->cluster && !op_is_static(op))
                return false;
        return t->positions > 0 && s->depth % multiply_row(m) == 0 && inner % t->words == 0 &&
               iterations % t->parts == 0 && t->positions % (t->warps * m->positions) == 0 &&
               t->positions / t->warps <= TILE_MAX && t->words <= TILE_MAX &&
               t->warps * t->panels <= GRID_WARPS_MAX && m->channels * bytes == COPY_BYTES &&
               warp_tile_shared(t) <= GRID_SHARED_MAX;
}
