/* SPDX-License-Identifier: MIT */
/* Loop IR in grid form: kernels for a machine of multiprocessors whose warps have 32 lanes. This
 * header is the definition; what else there is to Loop IR: ir/loop/loop.h.
 *
 * A kernel in grid form is a sequence of GPU_BLOCK loops, or GPU_CLUSTER loops, phases; all
 * iterations of one are done before the next one begins. Iterations of a GPU_BLOCK loop may run in
 * any order and at the same time, each on a multiprocessor; so may those of a GPU_WARP loop in it,
 * each on a warp, which is a core whose vectors have 32 lanes. The warps wait for each other at the
 * end of each GPU_WARP loop, where shared memory is handed on, and so the kernel stays a serial
 * program: what it means is what the loops do one iteration after the other.
 *
 *     for %b = 0 to 96 gpu_block {                   ; from 0 on in steps of 1, to a literal
 *       alloc %tile : f32[4096] shared               ; of the block: its warps see it
 *       for %k = 0 to %n {                           ; all warps alike: no store here, and loads only
 *         for %w = 0 to 4 gpu_warp {                 ; of what the kernel does not write
 *           store %tile[%w * 32] = ...
 *         }
 *         for %w = 0 to 4 gpu_warp {                 ; as many in all such loops of a block
 *           let %x : f32x32 = %tile<32>[(3 - %w) * 32]
 *           ...                                      ; sets no variable of the block
 *         }
 *       }
 *     }
 *
 * How many blocks a phase has, or clusters, may be an expression of the kernel's scalars, with
 * known bounds, which the host evaluates where it launches the phase. The rest is of literals:
 *
 *     kernel @relu(%x: in f32[4096], %y: out f32[4096]; %n: index) {
 *       for %b = 0 to (%n + 127) / 128 gpu_block {
 *
 * Blocks may stand in clusters, and a GPU_CLUSTER loop where else a phase's GPU_BLOCK loop does. It
 * holds allocs and GPU_BLOCK loops, whose iterations are the blocks of a cluster: on
 * multiprocessors that are neighbours, at the same time. They wait for each other at the end of
 * each of these loops, where memory of the cluster is handed on. Each block has an equal part of
 * that among its own shared memory: of b blocks, block k has elements k * extent / b and those
 * behind. It writes these alone, and reads all.
 *
 *     for %c = 0 to 24 gpu_cluster {
 *       alloc %sums : f32[4096] cluster
 *       for %k = 0 to 4 gpu_block {                  ; as many in all such loops of a cluster
 *         for %w = 0 to 2 gpu_warp {
 *           unload %sums[%k * 1024 + %w * 512] = %acc ..
 *         }
 *       }
 *       for %b = 0 to 4 gpu_block {
 *         ... %sums[%i] + %sums[1024 + %i]           ; each place so, with an %i that is within 0 to 1024 (verified)
 *
 * A register tile of the block may be `var %acc : f32x8tile[64][4] warps 4`: each warp has its own,
 * which lives on from one of their loops to the next. Only these touch it, and in iteration %w it
 * is that of warp %w.
 *
 * Memory on the stack is a warp's, declared in its loop.
 *
 * Iterations of a GPU_LANE loop in a GPU_WARP loop may run in any order and at the same time as
 * well, each on a lane of the warp: this is for statements on scalars, each lane going its own way.
 *
 *     for %l = 0 to 32 gpu_lane {
 *       let %i : index = (%b * 4 + %w) * 32 + %l
 *       if %i < 1000 {
 *         store %y[%i] = max(%x[%i], 0.0)
 *       }
 *     }
 *
 * Memory of a warp may be its lanes', which keep there, from one of their loops to the next, what
 * no other lane has to see: of 32 lanes, lane l has elements l * extent / 32 and those behind, and
 * touches these alone (verified).
 *
 *     alloc %kept : f32[768] lanes
 *     for %l = 0 to 32 gpu_lane {
 *       for %i = 0 to 24 unroll {
 *         store %kept[%l * 24 + %i] = %x[%i * 32 + %l]
 *
 * A GPU_LANE loop holds no vectors, its memory on the stack is the lane's, and it sets no variable
 * of the warp, but for the sums that it has of a warp's tile. A tile of 16 rows and 8 lanes lies in
 * the registers of 32 lanes, TILE_OWN of each: lane l has of rows l / 4 and l / 4 + 8 the columns l
 * % 4 * 2 and the next. So entry ((t * vectors + j) * 2 + h) * 2 + k of what it takes is acc{t * 16
 * + h * 8 + l / 4, j}[l % 4 * 2 + k].
 *
 *     for %l = 0 to 32 gpu_lane {
 *       alloc %own : f32[16] stack                 ; of f32x8tile[16][4]
 *       take %own = %acc lane %l rows 16
 *       for %i = 0 to 16 unroll {
 *         store %own[%i] = max(%own[%i], 0.0)
 *       }
 *       give %acc = %own lane %l rows 16
 *
 * Where no warp reads what another one stored, nobody has to wait, and where lanes of a warp hand
 * memory on among themselves, the warp's lanes wait alone; so too behind a loop over lanes. The
 * loops say so; a loop that says nothing has the whole barrier:
 *
 *     for %w = 0 to 4 gpu_warp syncwarp {
 *       for %l = 0 to 32 gpu_lane nowait {
 *
 * Elements that a lane loads or stores side by side may be one access, of 2 to COPY_BYTES elements
 * and at most COPY_BYTES bytes, at a multiple of as many elements in a buffer that begins at a
 * multiple of as many bytes in every call (for who makes the access to know). A vector so loaded is
 * used lane by lane:
 *
 *       let %word : f32x4 = %x<4>[%i * 4]
 *       store %y[%i * 2] = lane(%word, 0) + lane(%word, 1) vector 2
 *       store %y[%i * 2 + 1] = lane(%word, 2) + lane(%word, 3)
 *
 * A fail leaves the iteration, and the program ends with its code, after other iterations, and
 * phases, have run or not; so all fails of a kernel with more than one iteration have one code. The
 * kernel launches no tasks and has no other kind of parallel loop.
 *
 * ---- asynchronous copies into shared memory ----
 *
 * What a lane copies are 4, 8 or 16 bytes, whose places in both buffers are multiples of as many
 * elements.
 *
 *     copy %s[ramp<32>(0, 8)] = %x[ramp<32>(%i, 8)] of 8 mask %m
 *     commit
 *     wait 1
 *
 * They arrive at some time between the copy and the wait that lets its group not stand out: what
 * lies in the buffer until then is garbage, and both executions are legal that loop_copies.c writes
 * in plain statements, at once and as late as may be. Copies are for warps to make; commit and wait
 * stand outside of their loops, and are for what all warps of the block copied. On every way
 * through the kernel a wait stands between a copy and what reads its buffer; a buffer is stored to,
 * and ends, when nothing is under way into it (verified; that n is small enough is for who makes
 * the kernel to know). Sources are only read by the kernel.
 *
 * One that stands outside of the warps' loops is of a single run, whose bytes and both places are
 * multiples of 16:
 *
 *     copy %s[%stage * 8192] = %w[%iteration * 8192] of 8192
 *
 * ---- products of warp groups ----
 *
 * Where all warps of a block multiply as one, a multiply stands outside of their loops; the
 * positions of a warp's sums follow those of the warp before it.
 *
 *     var %acc : f32x8tile[16][32] warps 8
 *     multiply %acc += %xs[%i] * %ws[%k] by add_product rows 16 .. swizzle 8 warp_group
 *     settle 1
 *     settle 0
 *     for %w = 0 to 8 gpu_warp {
 *       unload %out[..] = %acc ..
 *
 * It is done at some time between the multiply and the settle that lets it not stand out, n being
 * of such multiplies: both executions are legal that loop_groups.c writes in plain statements, at
 * once and as late as may be. On every way through the kernel, sums are touched, and what was
 * multiplied of them, after a settle that lets their last product not stand out; an operand is
 * copied into after a settle, and stored to, and ends, after `settle 0` (verified).
 *
 * x may be sums of another tile here, too, where words of w lie transposed in lines:
 *
 *     multiply %acc += %shares * %vs[%k] by add_product rows 16 depth 16 group 8 swizzle 8 warp_group transposed
 *
 * ---- programmatic dependent launch ----
 *
 * A phase whose kernel waits itself may begin before the launch in front of it has ended. It
 * touches nothing but constants before `launch_wait`, which stands once in the statements of the
 * phase's first block loop (for who makes it to know), and behind which the next launch may begin.
 * What comes from memory meanwhile is a prefetch: to L2, of a whole run by the block, or of a
 * product's weights into the registers of a warp's lanes (`elements` of all lanes together, in the
 * order in which the multiply reads them).
 *
 *     for %w = 0 to 8 gpu_warp nowait {
 *       prefetch %w2[%w * 2048] 3 of 2048
 *     }
 *     prefetch %bias[0] 1 of 768
 *     launch_wait
 *     launch_dependents
 *     ..
 *       multiply %acc += %xs[%i] * %w2[%w * 2048] by add_product rows 1 depth 32 group 8 prefetched */
#ifndef IR_LOOP_LOOP_GRID_H
#define IR_LOOP_LOOP_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "ir/loop/loop.h"

/* These are the limits of a grid: blocks, blocks of a cluster, warps of a block, lanes of a warp,
 * bytes of a block's shared memory (verified; a target may have less). */
enum {
        GRID_BLOCKS_MAX = INT32_MAX,
        GRID_CLUSTER_MAX = 8,
        GRID_WARPS_MAX = 32,
        GRID_LANES = 32,
        GRID_SHARED_MAX = 232448
};
enum { COPY_BYTES = 16, COPY_GROUPS_MAX = 16, PRODUCTS_MAX = 16 };
enum { GRID_BULK_BYTES = 8 * COPY_GROUPS_MAX };           /* Groups of bulk copies arrive at this
                                                           * many bytes of shared memory, beside all
                                                           * else. */
enum { GRID_BLOCK_SHARED = 1024 };                       /* Every block takes this many bytes of a
                                                          * multiprocessor's shared memory beside
                                                          * its own (CUDA C Programming Guide,
                                                          * compute capability 8.0 on). */
/* Lanes have parts of tiles of so many rows and lanes; the next two are the lanes that share a row,
 * and the elements that each has of a vector. */
enum { TILE_OWN_ROWS = 16, TILE_OWN_LANES = 8, TILE_ROW_LANES = 4, TILE_OWN = 4 };

static inline bool loop_for_is_grid(enum loop_for_kind kind)
{
        return kind >= FOR_GPU_CLUSTER;
}
/* Is it memory of a block of a grid, by itself or as its part of a cluster's? An alloc is in such
 * memory, unless it is in a machine's. */
static inline bool loop_space_is_shared(enum loop_space space)
{
        return space == SPACE_SHARED || space == SPACE_CLUSTER;
}
static inline bool loop_space_is_kernels(enum loop_space space)
{
        return space == SPACE_STACK || space == SPACE_LANES || loop_space_is_shared(space);
}
/* Is it a loop over what a phase has? */
static inline bool loop_for_is_phase(enum loop_for_kind kind)
{
        return kind == FOR_GPU_BLOCK || kind == FOR_GPU_CLUSTER;
}
/* Is f in grid form? */
bool loop_is_grid(const struct loop_function *f);
/* Returns the most iterations that a phase has: as many as its literal says, or the bounds of the
 * scalars. INT64_MAX: nothing bounds them. */
int64_t loop_phase_most(const struct loop_stmt *phase);

/* Places in memory of a cluster (loop_cluster.c). Returns the number of blocks of a GPU_CLUSTER
 * loop; 0: it has none. */
int64_t loop_cluster_blocks(const struct loop_stmt *cluster);
/* Splits index into block * part + within, where 0 <= within and within + span <= part. Returns
 * false if bounds do not prove that. */
struct loop_bounds;
bool loop_cluster_place(struct arena *arena, const struct loop_bounds *bounds,
                        const struct loop_expr *index, int64_t part, int64_t span,
                        struct loop_expr **block, struct loop_expr **within);

/* COPY, COMMIT, WAIT, and the ALLOC of a buffer that is copied into, in statements on vectors: what
 * they do besides what they are (loop_copies.c). late NULL: copies arrive at once. Else they arrive
 * as late as they may, in f, whose body stands behind what loop_copies_begin returns, statement by
 * statement in order. */
struct loop_copies;
/* Returns NULL if there are no copies. */
struct loop_copies *loop_copies_late(struct arena *arena, const struct loop_function *f);
struct loop_block *loop_copies_begin(const struct loop_copies *late);
struct loop_block *loop_copies_expand(const struct loop_copies *late, struct arena *arena,
                                      const struct loop_stmt *s);
/* A MULTIPLY of a warp group, and SETTLE, in statements of each warp and others (loop_groups.c).
 * late: as above. */
struct loop_products;
/* Returns NULL if there are no such products. */
struct loop_products *loop_products_late(struct arena *arena, const struct loop_function *f);
struct loop_block *loop_products_begin(const struct loop_products *late);
struct loop_block *loop_products_expand(const struct loop_products *late, struct arena *arena,
                                        const struct loop_stmt *s);

#endif
