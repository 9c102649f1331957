/* SPDX-License-Identifier: MIT */
/* barriers: decides who waits after loops over warps and lanes of a kernel in grid form
 * (ir/loop/loop_grid.h).
 *
 *     for %w = 0 to 8 gpu_warp {                      for %w = 0 to 8 gpu_warp syncwarp {
 *       for %l = 0 to 32 gpu_lane {                     for %l = 0 to 32 gpu_lane nowait {
 *         store %best[%w * 32 + %l] = ..         ->       store %best[%w * 32 + %l] = ..
 *       }                                               }
 *     }                                               }
 *
 * Without this pass all warps of a block wait after each loop over warps, and a warp's lanes after
 * each loop over lanes. Nobody waits
 *
 * - after a phase's only loop over warps, which is not run again, and after the last statement of
 *   a phase's block;
 * - after a loop that only starts asynchronous copies, and before a wait for copies, which is a
 *   barrier itself;
 * - after a loop that touches no memory which outlives it.
 *
 * A warp's lanes wait only for each other after a loop that touches only shared memory of which
 * each warp has a part of its own (engines/grid/private_memory.h). The rewrite is exact: the
 * statements stay as they are. */
#include "engines/grid/private_memory.h"
#include "ir/loop/loop_grid.h"
#include "passes/pass.h"

struct phase {
        struct private_memory private_memory;
        bool meets;                     /* A loop over warps follows another one, or itself, so that
                                         * it may read memory that the earlier one wrote. */
        const struct loop_stmt *last;   /* This is the last one of the block's statements. */
        const struct loop_stmt *warp;   /* This loop over warps is being examined. */
        int count;                      /* This many loops got a weaker barrier. */
};

/* ---- memory that a loop over warps passes on ---- */

struct handing { const struct phase *phase; enum loop_barrier needs; };

static void hand(struct handing *h, const struct loop_buffer *b)
{
        const bool is_private =
                b->space == SPACE_SHARED && private_memory_has(&h->phase->private_memory, b);
        if (b->space == SPACE_STACK || b->space == SPACE_LANES)   /* Such memory ends with the
                                                                   * loop. */
                return;
        if (!is_private || h->needs == BARRIER_NONE)
                h->needs = is_private ? BARRIER_WARP : BARRIER_WHOLE;
}

/* Finds stores that another warp or lane may read. Copies do not count, because a wait stands after
 * them. */
static void find_store(struct loop_stmt *s, void *context)
{
        struct handing *h = context;
        if (s->kind == STMT_STORE || s->kind == STMT_UNLOAD || s->kind == STMT_SCALE)
                hand(h, s->buffer);
        else if (s->kind == STMT_MULTIPLY || s->kind == STMT_FAIL)
                h->needs = BARRIER_WHOLE;
}

/* Finds loads of shared memory, which the next loop may overwrite. */
static void find_load(struct loop_expr *e, void *context)
{
        if (e->op == LOOP_LOAD && e->buffer->space == SPACE_SHARED)
                hand(context, e->buffer);
}

static void find_other(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->kind != STMT_COPY && s->kind != STMT_FOR && s->kind != STMT_IF &&
                          s->kind != STMT_LET;
}

static bool copies_alone(struct loop_block *block)
{
        bool other = false;
        loop_block_walk(block, find_other, NULL, &other);
        return !other;
}

static enum loop_barrier warp_barrier(const struct phase *p, const struct loop_stmt *s)
{
        struct handing h = { p, BARRIER_NONE };
        if (!p->meets || s == p->last || copies_alone(s->body))
                return BARRIER_NONE;
        loop_block_walk(s->body, find_store, find_load, &h);
        const struct loop_stmt *next = s->next;
        while (next && next->kind == STMT_COMMIT)
                next = next->next;
        return next && next->kind == STMT_WAIT ? BARRIER_NONE : h.needs;
}

/* ---- memory that a loop over lanes passes on to the next such loop of the warp, or to itself
 * where the warp runs it again ---- */

static void find_kept(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->kind == STMT_STORE && s->buffer->space != SPACE_LANES;
}

struct reading { const struct loop_stmt *lanes; bool found; };

static void find_warps_load(struct loop_expr *e, void *context)
{
        struct reading *r = context;
        r->found |= e->op == LOOP_LOAD && private_to_warp(r->lanes, e->buffer);
}

/* Does the warp run `lanes` more than once? again: a loop stands around this block. */
static bool is_again(const struct loop_block *block, const struct loop_stmt *lanes, bool again)
{
        for (const struct loop_stmt *s = block->first; s; s = s->next) {
                const bool loop = s->kind == STMT_WHILE ||
                                  (s->kind == STMT_FOR && s->for_kind != FOR_GPU_LANE);
                if (s == lanes)
                        return again;
                if ((s->body && is_again(s->body, lanes, again || loop)) ||
                    (s->other && is_again(s->other, lanes, again)))
                        return true;
        }
        return false;
}

static enum loop_barrier lane_barrier(const struct phase *p, const struct loop_stmt *lanes)
{
        struct reading r = { .lanes = lanes };
        bool stores = false;
        loop_block_walk(lanes->body, find_kept, NULL, &stores);
        if (lanes->next && stores)
                return BARRIER_WHOLE;
        loop_block_walk(lanes->body, NULL, find_warps_load, &r);
        return r.found && is_again(p->warp->body, lanes, false) ? BARRIER_WHOLE : BARRIER_NONE;
}

/* ---- phases ---- */

static void set_barriers(struct phase *p, struct loop_block *block)
{
        for (struct loop_stmt *s = block->first; s; s = s->next) {
                const bool warps = s->kind == STMT_FOR && s->for_kind == FOR_GPU_WARP,
                           lanes = s->kind == STMT_FOR && s->for_kind == FOR_GPU_LANE;
                if (s->kind == STMT_FOR && s->for_kind == FOR_GPU_BLOCK)
                        for (p->last = s->body->first; p->last && p->last->next;)
                                p->last = p->last->next;
                if (warps)
                        p->warp = s;
                if (s->body)
                        set_barriers(p, s->body);
                if (s->other)
                        set_barriers(p, s->other);
                if (warps || lanes)
                        s->barrier = warps ? warp_barrier(p, s) : lane_barrier(p, s);
                p->count += s->barrier != BARRIER_WHOLE;
        }
}

/* Counts loops over warps; one that the block runs again counts as three. */
static void count_warp_loops(struct loop_stmt *s, void *context)
{
        int *count = context;
        if (s->kind == STMT_FOR && s->for_kind == FOR_GPU_WARP)
                ++*count;
        else if ((s->kind == STMT_FOR && !loop_for_is_phase(s->for_kind) &&
                  s->for_kind != FOR_GPU_LANE) ||
                 s->kind == STMT_WHILE)
                for (const struct loop_stmt *t = s->body->first; t; t = t->next)
                        if (t->kind == STMT_FOR && t->for_kind == FOR_GPU_WARP)
                                *count += 2;
}

static void find_warps(struct loop_stmt *s, void *context)
{
        if (s->kind == STMT_FOR && s->for_kind == FOR_GPU_WARP)
                *(int64_t *)context = s->b->literal.i;
}

static int set_in_phase(struct arena *scratch, const struct loop_function *f, struct loop_stmt *s)
{
        struct loop_stmt alone = *s;
        struct loop_block block = { .first = &alone, .end = &alone.next };
        struct phase p = { 0 };
        int64_t warps = 1;
        int warp_loops = 0;
        alone.next = NULL;
        loop_block_walk(&block, find_warps, NULL, &warps);
        loop_block_walk(&block, count_warp_loops, NULL, &warp_loops);
        p.meets = warp_loops > 1;
        p.private_memory = private_memory_find(scratch, f, &block, warps);
        set_barriers(&p, &block);
        return p.count;
}

int pass_barriers(struct loop_program *p, struct pass_context *context)
{
        int count = 0;
        (void)context;
        for (struct loop_function *f = p->kernels; f; f = f->next) {
                struct arena *scratch = arena_new();
                for (struct loop_stmt *s = loop_is_grid(f) ? f->body->first : NULL; s; s = s->next)
                        if (s->kind == STMT_FOR && loop_for_is_phase(s->for_kind))
                                count += set_in_phase(scratch, f, s);
                arena_free(scratch);
        }
        return count;
}
