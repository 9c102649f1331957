/* SPDX-License-Identifier: MIT */
/* All trees of an ensemble are walked at once: a number for each row and tree says which node it is
 * at, and in a step it becomes that of the child. Leaves are nodes behind the others that lead to
 * themselves, so that the steps of the deepest tree do for all. */
#include "front/compose/compose_forest.h"

#include <math.h>

#include "base/size.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

/* ---- depth ---- */

/* On the way down a node's height is OPEN; a node that is met again is part of a cycle. */
enum { UNKNOWN = -1, OPEN = -2 };

static int64_t height_of(const int32_t *heights, int64_t next)
{
        return next < 0 ? 0 : heights[next];
}

/* Counts the steps from node `root` to the farthest leaf; returns false where there is a cycle. The
 * stack has room for all nodes. */
static bool depth_below(const struct compose_forest *f, int64_t root, int32_t *heights,
                        int64_t *stack, int64_t *depth)
{
        int64_t top = 0;

        if (root >= 0 && heights[root] == UNKNOWN)
                stack[top++] = root;
        while (top) {
                int64_t at = stack[top - 1];
                const int64_t *next = f->nodes[at].next;
                bool down = false;
                heights[at] = OPEN;
                for (int k = 0; k < 2 && !down; k++) {
                        if (next[k] >= 0 && heights[next[k]] == OPEN)
                                return false;
                        down = next[k] >= 0 && heights[next[k]] == UNKNOWN;
                        if (down)
                                stack[top++] = next[k];
                }
                if (!down) {
                        heights[at] = 1 + (int32_t)compose_max(height_of(heights, next[0]),
                                                               height_of(heights, next[1]));
                        top--;
                }
        }
        *depth = compose_max(*depth, height_of(heights, root));
        return true;
}

static bool forest_depth(struct compose *c, const struct compose_forest *f, int64_t *depth)
{
        int32_t *heights = arena_array(c->arena, (size_t)f->node_count + 1, sizeof *heights);
        int64_t *stack = arena_array(c->arena, (size_t)f->node_count + 1, sizeof *stack);

        *depth = 0;
        for (int64_t k = 0; k < f->node_count; k++)
                heights[k] = UNKNOWN;
        for (int64_t t = 0; t < f->tree_count; t++)
                if (!depth_below(f, f->roots[t], heights, stack, depth))
                        return compose_invalid(c, "tree %lld comes back to one of its nodes",
                                               (long long)t);
        return true;
}

/* ---- the walk ---- */

struct walk {
        struct value *x;                /* It is [N, features]. */
        struct value *feature, *split, *missing, *mode,
                *next[2]; /* These are tables; missing and mode may be NULL. */
        unsigned modes;                 /* There is a bit for each mode that occurs. */
};

/* Makes GTE, GT and NEQ the others with their ways exchanged. NaN, which fails all but NEQ, goes
 * where it went. */
static void simplify(struct compose_tree_node *node)
{
        static const int others[] = {
                [TREE_GTE] = TREE_LT, [TREE_GT] = TREE_LEQ, [TREE_NEQ] = TREE_EQ
        };

        if (node->mode != TREE_GTE && node->mode != TREE_GT && node->mode != TREE_NEQ)
                return;
        int64_t way = node->next[0];
        node->next[0] = node->next[1];
        node->next[1] = way;
        node->missing = node->mode == TREE_NEQ ? false : !node->missing;
        node->mode = others[node->mode];
}

/* A table has a number for each node and leaf. Leaves have 0, but lead to themselves. */
enum column { FEATURE, SPLIT, MISSING, MODE, FALSE_WAY, TRUE_WAY };

static struct value *column(struct compose *c, const struct compose_forest *f, enum element e,
                            enum column which)
{
        const int64_t count = f->node_count + f->leaf_count;
        const struct type *t = type_static(c->m, e, 1, &count);
        void *data = constant_room(c->m, (size_t)(count * element_info[e].bytes));

        for (int64_t k = 0; k < count; k++) {
                const struct compose_tree_node *node = k < f->node_count ? &f->nodes[k] : NULL;
                union scalar s = { .i = 0 };
                if (which == SPLIT && node)
                        s = node->split;
                else if (which == SPLIT)
                        s.f = 0;
                else if (which == FALSE_WAY || which == TRUE_WAY) {
                        int64_t next = node ? node->next[which == TRUE_WAY] : k;
                        s.i = next < 0 ? f->node_count + ~next : next;
                } else if (node) {
                        s.i = which == FEATURE ? node->feature
                              : which == MODE  ? node->mode
                                               : node->missing;
                }
                element_store(e, data, (size_t)k, s);
        }
        return constant_dense(c->m, t, data, NULL);
}

/* Returns whether x goes where true goes. */
static struct value *holds(struct compose *c, const struct walk *w, struct value *x,
                           struct value *split, struct value *at)
{
        static const enum opcode compare[] = {
                [TREE_LEQ] = OP_le, [TREE_LT] = OP_lt, [TREE_EQ] = OP_eq
        };
        struct value *so_far = NULL, *mode = w->mode ? build_gather(c->b, w->mode, at, 0) : NULL;

        for (int k = 0; k <= TREE_EQ; k++) {
                if (!(w->modes >> k & 1))
                        continue;
                struct value *here = compose_binary(c, compare[k], x, split);
                so_far = so_far ? compose_select(c, compose_with(c, OP_eq, mode, k), here, so_far)
                                : here;
        }
        if (!w->missing)
                return so_far;
        struct value *nan = compose_binary(c, OP_ne, x, x);
        nan = compose_binary(c, OP_and, nan, build_gather(c->b, w->missing, at, 0));
        return compose_binary(c, OP_or, so_far, nan);
}

/* Returns the children of the nodes `at`, <N x trees>, to which the walk goes. */
static struct value *step(struct compose *c, const struct walk *w, struct value *at)
{
        struct value *feature = at ? build_gather(c->b, w->feature, at, 0) : NULL;

        if (!feature)
                return NULL;
        struct value *x = compose_gather_elements(c, w->x, feature, 1);
        struct value *yes = holds(c, w, x, build_gather(c->b, w->split, at, 0), at);
        struct value *then = build_gather(c->b, w->next[1], at, 0);
        return compose_select(c, yes, then, build_gather(c->b, w->next[0], at, 0));
}

static struct value *walked(struct compose *c, const struct walk *w, struct value *at,
                            int64_t steps)
{
        const struct compose_loop_parts parts = { .steps = steps, .first = &at, .carried = 1 };
        struct compose_loop loop;

        if (at && steps > c->limits->unrolled_steps) {
                if (!compose_loop_open(c, &parts, &loop))
                        return NULL;
                struct value *next = step(c, w, &loop.held[0]);
                return compose_loop_close(c, &loop, &next) ? &loop.op->results[0] : NULL;
        }
        for (int64_t k = 0; k < steps; k++)
                at = step(c, w, at);
        return at;
}

/* ---- votes ---- */

enum { TABLE_ELEMENTS = 1 << 22, TABLE_RATIO = 16 };

/* Returns whether no leaf has more than one vote. Then tables say for which target the vote is and
 * how much it weighs; else one table says what each leaf gives each target. */
static bool are_single(const struct compose_forest *f)
{
        for (int64_t k = 0; k < f->leaf_count; k++)
                if (f->first[k + 1] - f->first[k] > 1)
                        return false;
        return true;
}

/* Returns whether some leaf has no vote for some target. */
static bool are_partial(const struct compose_forest *f)
{
        for (int64_t k = 0; k < f->leaf_count; k++)
                if (f->first[k + 1] == f->first[k])
                        return true;
        return f->targets > 1;
}

/* Returns the weight of each leaf's vote, or `none` where it has none. With `one`, a vote is 1,
 * whatever its weight. */
static struct value *single_weights(struct compose *c, const struct compose_forest *f,
                                    enum element e, bool one, double none)
{
        void *data = constant_room(c->m, (size_t)(f->leaf_count * element_info[e].bytes));

        for (int64_t k = 0; k < f->leaf_count; k++) {
                bool is_there = f->first[k] < f->first[k + 1];
                union scalar s = { .f = !is_there ? none : one ? 1 : f->weight[f->first[k]].f };
                element_store(e, data, (size_t)k, s);
        }
        return constant_dense(c->m, type_static(c->m, e, 1, &f->leaf_count), data, NULL);
}

static struct value *single_targets(struct compose *c, const struct compose_forest *f)
{
        int32_t *data = constant_room(c->m, (size_t)f->leaf_count * sizeof *data);

        for (int64_t k = 0; k < f->leaf_count; k++)
                data[k] = f->first[k] < f->first[k + 1] ? (int32_t)f->target[f->first[k]] : -1;
        return constant_dense(c->m, type_static(c->m, E_I32, 1, &f->leaf_count), data, NULL);
}

static double joined(enum reducer kind, double x, double y)
{
        return kind == REDUCE_sum ? x + y : (kind == REDUCE_min) == (x < y) ? x : y;
}

static struct value *all_weights(struct compose *c, const struct compose_forest *f, enum element e,
                                 bool one, enum reducer kind, double none)
{
        const dim_t dims[2] = { dim_of(f->leaf_count), dim_of(f->targets) };
        void *data = constant_room(
                c->m, (size_t)(dim_extent(dims[0]) * dim_extent(dims[1]) * element_info[e].bytes));

        for (int64_t k = 0; k < dim_extent(dims[0]) * dim_extent(dims[1]); k++)
                element_store(e, data, (size_t)k, (union scalar){ .f = none });
        for (int64_t leaf = 0; leaf < f->leaf_count; leaf++)
                for (int64_t k = f->first[leaf]; k < f->first[leaf + 1]; k++) {
                        size_t place = (size_t)(leaf * f->targets + f->target[k]);
                        double before = element_load(e, data, place).f;
                        element_store(e, data, place,
                                      (union scalar){ .f = joined(kind, before,
                                                                  one ? 1 : f->weight[k].f) });
                }
        return constant_dense(c->m, type_tensor(c->m, e, 2, dims), data, NULL);
}

/* Returns the votes of leaves <N x trees>, combined over the trees by `kind`: <N x targets>. With
 * `one`, a vote is 1, whatever its weight. */
static struct value *combined(struct compose *c, const struct compose_forest *f,
                              struct value *leaves, enum element e, enum reducer kind, bool one,
                              double none)
{
        static const int64_t over[] = { 0, 1 };
        struct value *said;

        if (!leaves)
                return NULL;
        if (!are_single(f)) {
                said = build_gather(c->b, all_weights(c, f, e, one, kind, none), leaves, 0);
        } else {
                const struct type *to = type_tensor(
                        c->m, e, 3,
                        (const dim_t[]){ dim_of(value_extent(leaves, 0)),
                                         dim_of(value_extent(leaves, 1)), dim_of(f->targets) });
                said = build_gather(c->b, single_weights(c, f, e, one, none), leaves, 0);
                said = compose_spread(c, said, to, over);
                if (f->targets > 1) {
                        struct value *whom = compose_spread(
                                c, build_gather(c->b, single_targets(c, f), leaves, 0), to, over);
                        struct value *here = whom ? compose_binary(c, OP_eq, whom,
                                                                   build_iota(c->b, whom->type, 2))
                                                  : NULL;
                        said = said ? compose_select(c, here, said, build_like(c->b, said, none))
                                    : NULL;
                }
        }
        return compose_reduce(c, kind, said, (const int64_t[]){ 1 }, 1, E_COMPUTE);
}

/* Returns whether there is a vote for a target. */
static struct value *spoken(struct compose *c, const struct compose_forest *f, struct value *leaves,
                            enum element e)
{
        return compose_with(c, OP_gt, combined(c, f, leaves, e, REDUCE_max, true, 0), 0);
}

static struct value *aggregated(struct compose *c, const struct compose_forest *f,
                                struct value *leaves, enum element e)
{
        struct value *y;

        if (f->aggregate == TREE_SUM || f->aggregate == TREE_AVERAGE) {
                y = combined(c, f, leaves, e, REDUCE_sum, false, 0);
                return f->aggregate == TREE_SUM || !y
                               ? y
                               : compose_with(c, OP_div, y, (double)f->tree_count);
        }
        if (f->aggregate == TREE_MIN)
                y = combined(c, f, leaves, e, REDUCE_min, false, (double)INFINITY);
        else
                y = combined(c, f, leaves, e, REDUCE_max, false, -(double)INFINITY);
        if (!are_partial(f) || !y)
                return y;
        /* A target without a vote has 0. */
        return compose_select(c, spoken(c, f, leaves, e), y, build_like(c->b, y, 0));
}

/* Checks that votes fit into tables. */
static bool votes_check(struct compose *c, const struct compose_forest *f)
{
        int64_t count, most = compose_max(TABLE_ELEMENTS, TABLE_RATIO * f->first[f->leaf_count]);

        if (are_single(f))
                return true;
        return (int_mul(f->leaf_count, f->targets, &count) && count <= most) ||
               compose_unsupported(c, "leaves with several votes, %lld of them for %lld targets",
                                   (long long)f->leaf_count, (long long)f->targets);
}

struct value *compose_forest(struct compose *c, struct value *x, struct compose_forest *f)
{
        const dim_t dims[2] = { dim_of(value_extent(x, 0)), dim_of(f->tree_count) };
        struct walk w = { .x = compose_wide(c, x) };
        bool missing = false;
        int64_t depth;

        for (int64_t k = 0; k < f->node_count; k++) {
                struct compose_tree_node *node = &f->nodes[k];
                if (node->feature < 0 || node->feature >= value_extent(x, 1)) {
                        compose_invalid(c, "node %lld asks for feature %lld of %lld", (long long)k,
                                        (long long)node->feature, (long long)value_extent(x, 1));
                        return NULL;
                }
                simplify(node);
                w.modes |= 1U << node->mode;
                missing |= node->missing;
        }
        if (f->node_count + f->leaf_count > INT32_MAX) {
                compose_unsupported(c, "%lld nodes", (long long)(f->node_count + f->leaf_count));
                return NULL;
        }
        enum element e = value_element(w.x);
        if (!forest_depth(c, f, &depth) || !votes_check(c, f) ||
            !compose_type(c, e, 3, (const dim_t[]){ dims[0], dims[1], dim_of(f->targets) }))
                return NULL;
        const struct type *places = type_tensor(c->m, E_I32, 2, dims);
        int32_t *roots = constant_room(c->m, (size_t)f->tree_count * sizeof *roots);
        for (int64_t t = 0; t < f->tree_count; t++)
                roots[t] = (int32_t)(f->roots[t] < 0 ? f->node_count + ~f->roots[t] : f->roots[t]);
        struct value *at = constant_dense(c->m, type_tensor(c->m, E_I32, 1, dims + 1), roots, NULL);
        at = compose_spread(c, at, places, (const int64_t[]){ 1 });
        if (depth) {
                w.feature = column(c, f, E_I32, FEATURE);
                w.split = column(c, f, e, SPLIT);
                w.missing = missing ? column(c, f, E_BOOL, MISSING) : NULL;
                w.mode = w.modes & (w.modes - 1) ? column(c, f, E_I8, MODE) : NULL;
                w.next[0] = column(c, f, E_I32, FALSE_WAY);
                w.next[1] = column(c, f, E_I32, TRUE_WAY);
                at = walked(c, &w, at, depth);
        }
        struct value *leaves = at ? plus(c, at, -(double)f->node_count) : NULL;
        struct value *y = aggregated(c, f, leaves, e);
        if (f->wants_spoken && !(f->spoken = spoken(c, f, leaves, e)))
                return NULL;
        return y && f->base ? add(c, y, compose_spread(c, f->base, y->type, (const int64_t[]){ 1 }))
                            : y;
}
