/* SPDX-License-Identifier: MIT */
/* This file imports TreeEnsemble of ai.onnx.ml, opset 5. */
#include "front/onnx/onnx_ml.h"
#include "front/compose/compose_forest.h"

#include <math.h>
#include <string.h>

/* Reads integers as onnx_ml_integers does, and checks that they are in [least, most]. */
static bool integers(struct onnx_import *im, struct onnx_node *n, const char *name, int64_t *count,
                     int64_t least, int64_t most, const int64_t **values)
{
        if (!onnx_ml_integers(im, n, name, count, values))
                return false;
        for (int64_t k = 0; k < *count; k++)
                if ((*values)[k] < least || (*values)[k] > most)
                        return onnx_invalid(im, n, "%s holds %lld, want %lld to %lld", name,
                                            (long long)(*values)[k], (long long)least,
                                            (long long)most);
        return true;
}

/* Reads a tensor of `count` numbers (-1: any) of type e. *values is NULL where it is absent and not
 * required. */
static bool numbers(struct onnx_import *im, struct onnx_node *n, const char *name, int64_t count,
                    enum element e, bool required, struct value **values)
{
        if (!onnx_tensor_attribute(im, n, name, values))
                return false;
        if (!*values)
                return !required || onnx_invalid(im, n, "attribute %s is missing", name);
        const struct type *t = (*values)->type;
        return (t->element == e && (count < 0 || type_elements(t) == count)) ||
               onnx_invalid(im, n, "%s is %s, want %lld of %s", name, compose_text(im->c, t),
                            (long long)(count < 0 ? type_elements(t) : count),
                            element_info[e].text);
}

/* The node's attributes have these values. */
struct said {
        int64_t nodes, leaves, trees, targets;
        const int64_t *features, *ways[2], *is_leaf[2], *missing, *target_ids, *roots;
        struct value *modes, *splits, *weights, *members;
};

static bool said_read(struct onnx_import *im, struct onnx_node *n, struct said *s)
{
        static const char *const ways[2] = { "nodes_falsenodeids", "nodes_truenodeids" },
                                 *const leaves[2] = { "nodes_falseleafs", "nodes_trueleafs" };
        enum element e = value_element(n->inputs[0]);
        struct value *hitrates;

        s->nodes = s->leaves = s->trees = -1;
        if (!onnx_int_range(im, n, "n_targets", 0, 1, NUMBER_MAX, &s->targets) ||
            !integers(im, n, "nodes_featureids", &s->nodes, 0, NUMBER_MAX, &s->features) ||
            !integers(im, n, "leaf_targetids", &s->leaves, 0, s->targets - 1, &s->target_ids) ||
            !integers(im, n, "tree_roots", &s->trees, 0, s->nodes - 1, &s->roots) ||
            !numbers(im, n, "nodes_modes", s->nodes, E_U8, true, &s->modes) ||
            !numbers(im, n, "nodes_splits", s->nodes, e, true, &s->splits) ||
            !numbers(im, n, "leaf_weights", s->leaves, e, true, &s->weights) ||
            !numbers(im, n, "membership_values", -1, e, false, &s->members) ||
            !numbers(im, n, "nodes_hitrates", s->nodes, e, false, &hitrates))
                return false;
        for (int k = 0; k < 2; k++)
                if (!integers(im, n, leaves[k], &s->nodes, 0, 1, &s->is_leaf[k]) ||
                    !integers(im, n, ways[k], &s->nodes, 0, NUMBER_MAX, &s->ways[k]))
                        return false;
        s->missing = NULL;
        if (onnx_has(n, "nodes_missing_value_tracks_true") &&
            !integers(im, n, "nodes_missing_value_tracks_true", &s->nodes, 0, 1, &s->missing))
                return false;
        return s->trees > 0 || onnx_invalid(im, n, "tree_roots is empty");
}

/* It is a mode behind those of enum compose_tree_mode, which asks whether the feature is one of
 * several numbers. */
enum { TREE_MEMBER = TREE_NEQ + 1 };

static double number(const struct value *v, int64_t k)
{
        return constant_element(v->constant, k).f;
}

/* Makes a node that asks for one of several numbers a sequence of nodes that ask for one each.
 * *member is where the set begins, and is moved behind it. */
static bool chain(struct onnx_import *im, const struct onnx_node *n, const struct said *s,
                  struct compose_forest *f, struct compose_tree_node *node, int64_t *member)
{
        int64_t end = *member, count = s->members ? type_elements(s->members->type) : 0;
        const struct compose_tree_node whole = *node;

        while (end < count && !isnan(number(s->members, end)))
                end++;
        if (end == count)
                return onnx_invalid(im, n, "membership_values has fewer sets than nodes ask for");
        node->mode = TREE_EQ;
        node->split.f = (double)NAN;
        for (int64_t k = *member; k < end; k++) {
                if (k > *member) {
                        node->next[0] = f->node_count;
                        node = &f->nodes[f->node_count++];
                        *node = whole;
                        node->mode = TREE_EQ;
                }
                node->split.f = number(s->members, k);
        }
        *member = end + 1;
        return true;
}

static bool nodes_read(struct onnx_import *im, const struct onnx_node *n, const struct said *s,
                       struct compose_forest *f)
{
        int64_t members = s->members ? type_elements(s->members->type) : 0, member = 0;

        f->nodes = arena_array(im->arena, (size_t)(s->nodes + members + 1), sizeof *f->nodes);
        f->node_count = s->nodes;
        for (int64_t k = 0; k < s->nodes; k++) {
                struct compose_tree_node *node = &f->nodes[k];
                uint64_t mode = constant_element(s->modes->constant, k).u;
                if (mode > TREE_MEMBER)
                        return onnx_invalid(im, n, "nodes_modes holds %llu, want 0 to %d",
                                            (unsigned long long)mode, TREE_MEMBER);
                *node = (struct compose_tree_node){ .feature = s->features[k],
                                                    .mode = (int)mode,
                                                    .missing = s->missing && s->missing[k] };
                node->split.f = number(s->splits, k);
                for (int way = 0; way < 2; way++) {
                        int64_t to = s->ways[way][k],
                                count = s->is_leaf[way][k] ? s->leaves : s->nodes;
                        if (to >= count)
                                return onnx_invalid(im, n, "node %lld leads to %s %lld of %lld",
                                                    (long long)k,
                                                    s->is_leaf[way][k] ? "leaf" : "node",
                                                    (long long)to, (long long)count);
                        node->next[way] = s->is_leaf[way][k] ? ~to : to;
                }
                if (mode == TREE_MEMBER && !chain(im, n, s, f, node, &member))
                        return false;
        }
        return member == members ||
               onnx_invalid(im, n, "membership_values has more sets than nodes ask for");
}

static void leaves_read(struct onnx_import *im, const struct said *s, struct compose_forest *f)
{
        f->leaf_count = s->leaves;
        f->targets = s->targets;
        f->first = arena_array(im->arena, (size_t)s->leaves + 1, sizeof *f->first);
        f->target = arena_array(im->arena, (size_t)s->leaves + 1, sizeof *f->target);
        f->weight = arena_array(im->arena, (size_t)s->leaves + 1, sizeof *f->weight);
        for (int64_t k = 0; k < s->leaves; k++) {
                f->first[k] = k;
                f->target[k] = s->target_ids[k];
                f->weight[k].f = number(s->weights, k);
        }
        f->first[s->leaves] = s->leaves;
}

bool onnx_import_tree_ensemble(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int64_t aggregate, post;
        struct compose_forest f = { .base = NULL };
        struct said s;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 2, 2) ||
            !said_read(im, n, &s) ||
            !onnx_int_range(im, n, "aggregate_function", TREE_SUM, 0, TREE_MAX, &aggregate) ||
            !onnx_int_range(im, n, "post_transform", POST_NONE, 0, POST_PROBIT, &post) ||
            !nodes_read(im, n, &s, &f))
                return false;
        leaves_read(im, &s, &f);
        f.aggregate = (int)aggregate;
        f.tree_count = s.trees;
        f.roots = arena_array(im->arena, (size_t)s.trees, sizeof *f.roots);
        memcpy(f.roots, s.roots, (size_t)s.trees * sizeof *f.roots);
        struct value *y = compose_forest(im->c, x, &f);
        return onnx_output(
                n, 0, compose_cast(im->c, onnx_post_transform(im, y, (int)post), value_element(x)));
}
