/* SPDX-License-Identifier: MIT */
/* The verifier of Loop IR checks kernels in grid form (ir/loop/loop_grid.h). Names, types and what
 * warps share of variables were checked with all the rest. */
#include "ir/loop/loop_bounds.h"
#include "ir/loop/loop_place.h"
#include "ir/loop/loop_verify.h"

/* The verifier knows this of the kernel so far. */
struct grid {
        struct verifier *v;
        struct loop_bounds *bounds;     /* NULL: they have not been needed yet. */
        int64_t blocks;                 /* The cluster has this many blocks; 0: that is not known
                                         * yet. */
        const struct loop_stmt *block;  /* This loop over blocks is looked at. */
        const struct loop_stmt *lane;   /* This loop over lanes is looked at; NULL: a statement is
                                         * the warp's. */
        int64_t shared;                 /* The block's shared memory takes this many bytes. */
        int64_t warps;                  /* The block has this many warps; 0: that is not known
                                         * yet. */
        int code;                       /* The code of its fails; 0: there is none yet. */
        bool codes, iterations;         /* There are several codes, or iterations. */
        bool failed;
};

bool verify_read_only(const struct loop_function *f, const struct loop_buffer *b)
{
        if (b->space != SPACE_PARAMETER || b->access != ACCESS_IN)
                return false;
        for (int i = 0; b->alias_class && i < f->buffer_count; i++)
                if (f->buffers[i]->alias_class == b->alias_class &&
                    f->buffers[i]->access != ACCESS_IN)
                        return false;
        return true;
}

static void check_load(struct loop_expr *e, void *context)
{
        struct grid *g = context;
        if (e->op == LOOP_LOAD && !verify_read_only(g->v->function, e->buffer))
                g->failed =
                        g->failed ||
                        !verify_error(g->v,
                                      "outside of its warps a block reads what the kernel writes");
}

static bool check_bounds(struct grid *g, const struct loop_stmt *s, const char *what, int64_t most)
{
        int64_t from, to;
        if (!loop_is_int(s->a, &from) || !loop_is_int(s->b, &to) || from != 0 || s->step != 1)
                return verify_error(g->v, "%s are not counted from 0 to a literal", what);
        return (to >= 1 && to <= most) ||
               verify_error(g->v, "%lld %s, want 1 to %lld", (long long)to, what, (long long)most);
}

static void find_other(struct loop_expr *e, void *found)
{
        *(bool *)found |= e->type.element != E_INDEX || e->op == LOOP_LOAD || e->op == LOOP_CALL ||
                          (e->op == LOOP_VARIABLE && e->variable->kind != VARIABLE_PARAMETER);
}

/* Checks how many blocks, or clusters, a phase has: a literal, or what its kernel's scalars say. */
static bool check_phase_bounds(struct grid *g, const struct loop_stmt *s, const char *what,
                               int64_t most)
{
        int64_t from;
        bool other = false;
        if (loop_is_int(s->b, &(int64_t){ 0 }))
                return check_bounds(g, s, what, most);
        loop_expr_walk(s->b, find_other, &other);
        if (!loop_is_int(s->a, &from) || from != 0 || s->step != 1 || other)
                return verify_error(g->v, "%s are not counted from 0 to a literal, or to what "
                                          "scalars of the kernel say", what);
        return loop_phase_most(s) <= most ||
               verify_error(g->v, "scalars do not say that there are at most %lld %s",
                            (long long)most, what);
}

/* ---- vectors of lanes: loads of neighbours, of which elements are taken, and stores side by
 * side ---- */

/* Checks an access of 2, 4, 8 or 16 elements of b, at most COPY_BYTES bytes, at a multiple of as
 * many. */
static bool check_vector(struct grid *g, const struct loop_buffer *b, const struct loop_expr *at,
                         int count)
{
        const bool power = count >= 2 && (count & (count - 1)) == 0;
        if (!power || b->element == E_BOOL || count * element_info[b->element].bytes > COPY_BYTES ||
            at->type.lanes != 1)
                return verify_error(g->v, "no access of %d elements of %s", count, b->name);
        if (!g->bounds)
                g->bounds = loop_bounds_new(g->v->arena, g->v->function);
        return loop_bounds_of(g->bounds, at).multiple % count == 0 ||
               verify_error(g->v,
                            "%d elements of %s are not known to begin at a multiple of as many",
                            count, b->name);
}

static bool is_vector(const struct loop_expr *e) { return e && e->type.lanes > 1; }

static void find_vector(struct loop_expr *e, void *found)
{
        for (int i = 0; i < e->arity; i++)
                *(bool *)found |= is_vector(e->args[i]) &&
                                  (e->op != LOOP_LANE || e->args[i]->op != LOOP_VARIABLE);
}

/* Checks what a lane loads at once. Returns false where a lane has no such vector. */
static bool check_loaded(struct grid *g, const struct loop_stmt *s)
{
        const struct loop_expr *e = s->a;
        return s->kind == STMT_LET && e->op == LOOP_LOAD && !e->args[1] && !e->group &&
               e->type.element == e->buffer->element &&
               check_vector(g, e->buffer, e->args[0], e->type.lanes);
}

/* Checks stores to neighbours, one behind the other. */
static bool check_stored(struct grid *g, const struct loop_stmt *first)
{
        const struct loop_place from = loop_place_of(first->a);
        const struct loop_stmt *s = first;
        for (int i = 0; i < first->vector; i++, s = s->next) {
                if (!s || s->kind != STMT_STORE || s->c || s->buffer != first->buffer ||
                    (i && s->vector))
                        return verify_error(g->v, "a vector of %d stores is not complete",
                                            first->vector);
                const struct loop_place at = loop_place_of(s->a);
                if (s->b->type.lanes != 1 || !loop_place_follows(&from, &at, i))
                        return verify_error(g->v, "stores of a vector are not side by side");
        }
        return check_vector(g, first->buffer, first->a, first->vector);
}

static bool check_lanes(struct grid *g, const struct loop_stmt *s);

/* ---- memory of lanes ---- */

static bool is_of_lanes(const struct loop_buffer *b) { return b && b->space == SPACE_LANES; }

/* Checks that it is a place of the lane's own. */
static bool check_lane_place(struct grid *g, const struct loop_buffer *b,
                             const struct loop_expr *at)
{
        struct loop_expr *lane, *within;
        if (!g->lane || g->lane->b->literal.i != GRID_LANES)
                return verify_error(g->v, "%s is touched outside of loops over %d lanes", b->name,
                                    GRID_LANES);
        if (!g->bounds)
                g->bounds = loop_bounds_new(g->v->arena, g->v->function);
        return (loop_cluster_place(g->v->arena, g->bounds, at, b->extent / GRID_LANES, 1, &lane,
                                   &within) &&
                lane->op == LOOP_VARIABLE && lane->variable == g->lane->variable) ||
               verify_error(g->v, "a place of %s is not known to be the lane's own", b->name);
}

static void check_lane_load(struct loop_expr *e, void *context)
{
        struct grid *g = context;
        if (e->op != LOOP_LOAD || !is_of_lanes(e->buffer) || g->failed)
                return;
        g->failed =
                e->type.lanes != 1 || e->group
                        ? !verify_error(g->v, "a load of several elements of %s", e->buffer->name)
                        : !check_lane_place(g, e->buffer, e->args[0]);
}

static bool check_lane_memory(struct grid *g, const struct loop_stmt *s)
{
        struct loop_expr *const exprs[] = { s->a, s->b, s->c };
        for (int i = 0; i < 3; i++)
                if (exprs[i])
                        loop_expr_walk(exprs[i], check_lane_load, g);
        if (g->failed ||
            (!is_of_lanes(s->buffer) && !is_of_lanes(s->weights) && !is_of_lanes(s->source)))
                return !g->failed;
        if (s->kind == STMT_ALLOC)
                return (!g->lane && s->buffer->extent && s->buffer->extent % GRID_LANES == 0) ||
                       verify_error(g->v, "%s is not a warp's, in equal parts of its lanes",
                                    s->buffer->name);
        return s->kind == STMT_STORE ? check_lane_place(g, s->buffer, s->a)
                                     : verify_error(g->v, "memory of lanes is stored to and loaded "
                                                          "from, one element at a time");
}

/* Checks a statement of a warp, or of a lane, alone; lane: its loop. */
static bool check_statement(struct grid *g, const struct loop_stmt *s, const struct loop_stmt *lane)
{
        const bool own = s->kind == STMT_TAKE || s->kind == STMT_GIVE;
        g->v->stmt = s;
        bool serial = s->kind != STMT_FOR || s->for_kind == FOR_SERIAL || s->for_kind == FOR_UNROLL,
             vectors = false;
        struct loop_expr *const exprs[] = { s->a, s->b, s->c };
        for (int i = 0; lane && i < 3; i++)
                if (exprs[i])
                        loop_expr_walk(exprs[i], find_vector, &vectors);
        const bool has_vector = lane && !own && s->variable && s->variable->type.lanes > 1;
        for (int i = 0; lane && i < 3; i++)
                vectors |= is_vector(exprs[i]) && !(has_vector && i == 0);
        if (vectors || (has_vector && !check_loaded(g, s)))
                return !g->v->failed &&
                       verify_error(g->v, "a lane has scalars, and vectors that it loads, only");
        if (s->vector &&
            (lane ? !check_stored(g, s) : !verify_error(g->v, "a vector of stores is a lane's")))
                return false;
        if (own && (!lane || s->a->variable != lane->variable || lane->b->literal.i != GRID_LANES))
                return verify_error(g->v, "a part of sums is not that of one of %d lanes",
                                    GRID_LANES);
        if (s->kind == STMT_COMMIT || s->kind == STMT_WAIT || s->kind == STMT_SETTLE ||
            s->kind == STMT_LAUNCH_WAIT || s->kind == STMT_LAUNCH_DEPENDENTS ||
            (s->kind == STMT_MULTIPLY && s->tiles.warp_group))
                return verify_error(g->v, "this is for all warps to do alike");
        if (!serial)
                return lane ? verify_error(g->v, "a lane has serial loops only")
                            : check_lanes(g, s);
        if (s->kind == STMT_ALLOC && loop_space_is_shared(s->buffer->space))
                return verify_error(g->v, "%s is shared, but by one warp", s->buffer->name);
        g->lane = lane;
        if (!check_lane_memory(g, s))
                return false;
        if (s->kind == STMT_FAIL && g->code && g->code != s->code)
                g->codes = true;
        if (s->kind == STMT_FAIL)
                g->code = s->code;
        return true;
}

static bool check_warp(struct grid *g, const struct loop_block *block, const struct loop_stmt *lane)
{
        for (const struct loop_stmt *s = block ? block->first : NULL; s; s = s->next) {
                bool lanes = s->kind == STMT_FOR && s->for_kind == FOR_GPU_LANE;
                if (!check_statement(g, s, lane) || !check_warp(g, s->body, lanes ? s : lane) ||
                    !check_warp(g, s->other, lane))
                        return false;
        }
        return true;
}

static bool check_lanes(struct grid *g, const struct loop_stmt *s)
{
        g->iterations |= !loop_is_int(s->b, &(int64_t){ 0 }) || s->b->literal.i > 1;
        return s->for_kind == FOR_GPU_LANE
                       ? check_bounds(g, s, "lanes", GRID_LANES)
                       : verify_error(g->v, "a warp has serial loops and loops over lanes only");
}

static bool check_warps(struct grid *g, const struct loop_stmt *s)
{
        if (!check_bounds(g, s, "warps", GRID_WARPS_MAX))
                return false;
        if (g->warps && g->warps != s->b->literal.i)
                return verify_error(g->v, "%lld warps, but %lld before", (long long)s->b->literal.i,
                                    (long long)g->warps);
        g->warps = s->b->literal.i;
        g->iterations |= g->warps > 1;
        return check_warp(g, s->body, NULL);
}

static bool check_shared(struct grid *g, const struct loop_buffer *b)
{
        if (b->space != SPACE_SHARED)
                return verify_error(g->v, "%s is of a warp, but declared outside of its loop",
                                    b->name);
        bool fits = b->extent <= GRID_SHARED_MAX;
        g->shared += fits ? storage_bytes(b->extent * element_info[b->element].bytes) : 0;
        return (fits && g->shared <= GRID_SHARED_MAX) ||
               verify_error(g->v, "a block shares more than %d bytes", GRID_SHARED_MAX);
}

static bool check_variable(struct grid *g, const struct loop_variable *x)
{
        if (x->warps && g->warps && x->warps != g->warps)
                return verify_error(g->v, "%d warps, but %lld before", x->warps,
                                    (long long)g->warps);
        g->warps = x->warps ? x->warps : g->warps;
        return true;
}

/* Checks what all warps of a block do alike. */
static bool check_block(struct grid *g, const struct loop_block *block)
{
        for (const struct loop_stmt *s = block ? block->first : NULL; s; s = s->next) {
                struct loop_expr *const exprs[] = { s->a, s->b, s->c };
                g->v->stmt = s;
                bool good = true;
                if (s->kind == STMT_FOR && s->for_kind == FOR_GPU_WARP) {
                        if (!check_warps(g, s))
                                return false;
                        continue;
                }
                for (int i = 0; i < 3; i++)
                        if (exprs[i])
                                loop_expr_walk(exprs[i], check_load, g);
                if (g->failed)
                        return false;
                switch (s->kind) {
                case STMT_FOR:
                        if (s->for_kind != FOR_SERIAL && s->for_kind != FOR_UNROLL)
                                return verify_error(
                                        g->v, "a block has serial loops and loops over warps only");
                        break;
                case STMT_ALLOC: good = check_shared(g, s->buffer); break;
                case STMT_VAR: good = check_variable(g, s->variable); break;
                case STMT_IF: case STMT_WHILE: case STMT_LET: case STMT_SET: break;
                case STMT_COMMIT: case STMT_WAIT: case STMT_SETTLE: case STMT_COPY: break;
                case STMT_PREFETCH:
                        good = s->code == 1 || verify_error(g->v, "a block prefetches to L2 only");
                        break;
                case STMT_LAUNCH_WAIT: case STMT_LAUNCH_DEPENDENTS:
                        good = block == g->block->body ||
                               verify_error(g->v, "a block waits for launches outside of its loops "
                                                  "and conditions");
                        break;
                case STMT_MULTIPLY:
                        good = s->tiles.warp_group ||
                               verify_error(g->v, "this is for a warp to do");
                        break;
                default: return verify_error(g->v, "this is for a warp to do");
                }
                if (!good || !check_block(g, s->body) || !check_block(g, s->other))
                        return false;
        }
        return true;
}

/* ---- clusters ---- */

/* Checks a place of a cluster's memory, of `span` elements; if it is written, it must be the
 * block's own. */
static bool check_cluster_place(struct grid *g, const struct loop_buffer *b,
                                const struct loop_expr *at, int64_t span, bool writes)
{
        struct loop_expr *block, *within;
        if (!g->block || !g->blocks)
                return verify_error(g->v, "%s is touched outside of its blocks", b->name);
        if (!g->bounds)
                g->bounds = loop_bounds_new(g->v->arena, g->v->function);
        if (!loop_cluster_place(g->v->arena, g->bounds, at, b->extent / g->blocks, span, &block,
                                &within))
                return verify_error(g->v, "a place of %s is not known to be one block's", b->name);
        const struct loop_range r = loop_bounds_of(g->bounds, block);
        if (r.low < 0 || r.high >= g->blocks)
                return verify_error(g->v, "a place of %s is no block's of the cluster", b->name);
        const bool own = g->blocks == 1 ||
                         (block->op == LOOP_VARIABLE && block->variable == g->block->variable);
        return !writes || own || verify_error(g->v, "%s is written in another block", b->name);
}

static bool is_of_cluster(const struct loop_buffer *b) { return b && b->space == SPACE_CLUSTER; }

static void check_cluster_load(struct loop_expr *e, void *context)
{
        struct grid *g = context;
        if (e->op != LOOP_LOAD || !is_of_cluster(e->buffer) || g->failed)
                return;
        g->failed =
                e->args[1] || e->args[0]->type.lanes != 1 || e->group
                        ? !verify_error(g->v, "a load of several elements of %s", e->buffer->name)
                        : !check_cluster_place(g, e->buffer, e->args[0], e->type.lanes, false);
}

static void check_cluster_stmt(struct loop_stmt *s, void *context)
{
        struct grid *g = context;
        if (g->failed || s->kind == STMT_ALLOC ||
            (!is_of_cluster(s->buffer) && !is_of_cluster(s->weights) && !is_of_cluster(s->source)))
                return;
        g->v->stmt = s;
        const struct loop_tiles *t = &s->tiles;
        const int64_t row =
                s->kind == STMT_UNLOAD
                        ? (int64_t)(t->columns ? t->columns : t->vectors) * s->variable->type.lanes
                        : 1;
        if (s->kind == STMT_UNLOAD)
                g->failed = !check_cluster_place(
                        g, s->buffer, s->a, (t->positions - 1) * (t->step ? t->step : row) + row,
                        true);
        else if (s->kind == STMT_STORE && s->b->type.lanes == 1)
                g->failed = !check_cluster_place(g, s->buffer, s->a, 1, true);
        else
                g->failed = !verify_error(g->v, "memory of a cluster is stored to, unloaded to and "
                                                "loaded from, one element at a time");
}

static bool check_cluster_memory(struct grid *g, const struct loop_buffer *b)
{
        const int64_t bytes = element_info[b->element].bytes;
        if (b->space != SPACE_CLUSTER)
                return verify_error(g->v, "%s is of a block, but declared outside of its loop",
                                    b->name);
        bool fits = b->extent <= GRID_CLUSTER_MAX * (int64_t)GRID_SHARED_MAX;
        if (!g->blocks || b->extent % g->blocks ||
            (fits && b->extent / g->blocks * bytes % STORAGE_ALIGN))
                return verify_error(g->v, "%s is not in equal parts of a multiple of %d bytes",
                                    b->name, STORAGE_ALIGN);
        g->shared += fits ? b->extent / g->blocks * bytes : 0;
        return (fits && g->shared <= GRID_SHARED_MAX) ||
               verify_error(g->v, "a block shares more than %d bytes", GRID_SHARED_MAX);
}

static bool check_phase_block(struct grid *g, const struct loop_stmt *s)
{
        struct loop_stmt alone = *s;
        struct loop_block block = { .first = &alone, .end = &alone.next };
        alone.next = NULL;
        g->block = s;
        loop_block_walk(&block, check_cluster_stmt, check_cluster_load, g);
        return !g->failed && check_block(g, s->body);
}

/* Checks a cluster: its memory, then its blocks. */
static bool check_cluster(struct grid *g, const struct loop_stmt *cluster)
{
        const int64_t blocks = loop_cluster_blocks(cluster);
        if (!check_phase_bounds(g, cluster, "clusters", GRID_BLOCKS_MAX / GRID_CLUSTER_MAX))
                return false;
        g->blocks = blocks;
        for (const struct loop_stmt *s = cluster->body->first; s; s = s->next) {
                g->v->stmt = s;
                if (s->kind == STMT_ALLOC) {
                        if (!check_cluster_memory(g, s->buffer))
                                return false;
                        continue;
                }
                if (s->kind != STMT_FOR || s->for_kind != FOR_GPU_BLOCK)
                        return verify_error(g->v,
                                            "a cluster has memory and loops over blocks only");
                if (!check_bounds(g, s, "blocks of a cluster", GRID_CLUSTER_MAX))
                        return false;
                if (s->b->literal.i != blocks)
                        return verify_error(g->v, "%lld blocks, but %lld before",
                                            (long long)s->b->literal.i, (long long)blocks);
                if (!check_phase_block(g, s))
                        return false;
        }
        g->iterations |= blocks > 1;
        return blocks > 0 || verify_error(g->v, "a cluster without blocks");
}

static void find_grid(struct loop_stmt *s, void *found)
{
        *(bool *)found |= (s->kind == STMT_FOR && loop_for_is_grid(s->for_kind)) ||
                          (s->kind == STMT_ALLOC &&
                           (loop_space_is_shared(s->buffer->space) || is_of_lanes(s->buffer))) ||
                          (s->kind == STMT_VAR && s->variable->warps) || s->kind == STMT_COPY ||
                          s->kind == STMT_COMMIT || s->kind == STMT_WAIT ||
                          s->kind == STMT_SETTLE ||
                          (s->kind == STMT_MULTIPLY && s->tiles.warp_group) ||
                          s->kind == STMT_TAKE || s->kind == STMT_GIVE ||
                          s->kind == STMT_LAUNCH_WAIT || s->kind == STMT_LAUNCH_DEPENDENTS;
}

bool verify_grid(struct verifier *v)
{
        const struct loop_function *f = v->function;
        bool found = false;
        loop_block_walk(f->body, find_grid, NULL, &found);
        if (!found)
                return true;
        v->stmt = NULL;
        if (f->kind != FUNCTION_KERNEL)
                return verify_error(v, "only kernels have a grid");
        struct grid g = { .v = v };
        for (const struct loop_stmt *s = f->body->first; s; s = s->next) {
                v->stmt = s;
                if (s->kind != STMT_FOR || !loop_for_is_phase(s->for_kind))
                        return verify_error(v, "a kernel in grid form has loops over blocks only");
                g.shared = g.warps = g.blocks = 0;
                if (s->for_kind == FOR_GPU_CLUSTER
                            ? !check_cluster(&g, s)
                            : !check_phase_bounds(&g, s, "blocks", GRID_BLOCKS_MAX) ||
                                      !check_phase_block(&g, s))
                        return false;
                g.iterations |= loop_phase_most(s) > 1 || s->next;
        }
        v->stmt = NULL;
        if (g.codes && g.iterations)
                return verify_error(
                        v, "it fails with two codes, and nobody would know which is first");
        return verify_copies(v);
}
