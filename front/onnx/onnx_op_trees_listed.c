/* SPDX-License-Identifier: MIT */
/* In TreeEnsembleRegressor and TreeEnsembleClassifier of ai.onnx.ml, nodes are listed with the
 * numbers of their tree and of themselves in it; leaves are nodes, too, and each may have votes for
 * several targets. */
#include "front/onnx/onnx_ml.h"
#include "front/compose/compose_forest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* This is a node's name, and where it is listed. */
struct named {
        int64_t tree, node, at;
};

struct listed {
        int64_t nodes, votes, targets;
        int post;                       /* It is an enum post_transform. */
        bool two;                       /* There are two classes; all votes are for `voted` of them,
                                         * so there is one target. */
        int64_t voted;
        const int64_t *trees, *names, *features, *ways[2],
                *missing;               /* There is one for each node; missing may be NULL. */
        const int64_t *vote_trees, *vote_nodes, *vote_targets;
        union scalar *splits, *weights;
        int *modes;                     /* The mode of a leaf is -1. */
        struct named *sorted;
        int64_t *places;                /* These [nodes] are a node of the forest, or ~ of a
                                         * leaf. */
};

static int by_name(const void *a, const void *b)
{
        const struct named *x = a, *y = b;

        if (x->tree != y->tree)
                return x->tree < y->tree ? -1 : 1;
        return (x->node > y->node) - (x->node < y->node);
}

static int64_t find(const struct listed *l, int64_t tree, int64_t node)
{
        const struct named key = { tree, node, 0 };
        const struct named *found = bsearch(&key, l->sorted, (size_t)l->nodes, sizeof key, by_name);

        return found ? found->at : -1;
}

/* Reads floats or, from opset 3 on, a tensor NAME_as_tensor. *values is NULL where neither is
 * there. */
static bool numbers(struct onnx_import *im, struct onnx_node *n, const char *name, int64_t *count,
                    union scalar **values)
{
        const char *tensor = arena_printf(im->arena, "%s_as_tensor", name);
        struct value *constant = NULL;
        const float *floats;
        int given;

        *values = NULL;
        if (!onnx_floats(im, n, name, &floats, &given) ||
            (n->opset >= 3 && !onnx_tensor_attribute(im, n, tensor, &constant)))
                return false;
        if (!floats && !constant) {
                *count = 0;
                return true;
        }
        if ((floats && constant) || (constant && !element_is_float(value_element(constant))))
                return onnx_invalid(im, n, "%s is %s, want floats", tensor,
                                    floats ? "there beside the other"
                                           : compose_text(im->c, constant->type));
        *count = constant ? type_elements(constant->type) : given;
        *values = arena_array(im->arena, (size_t)*count + 1, sizeof **values);
        for (int64_t k = 0; k < *count; k++)
                (*values)[k] = constant ? constant_element(constant->constant, k)
                                        : (union scalar){ .f = (double)floats[k] };
        return true;
}

/* It is a mode behind those of enum compose_tree_mode. */
enum { LEAF = TREE_NEQ + 1 };

static bool modes_read(struct onnx_import *im, struct onnx_node *n, struct listed *l)
{
        static const char *const words[] = { "BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                             "BRANCH_EQ",  "BRANCH_NEQ", "LEAF" };
        const Onnx__AttributeProto *a = onnx_attribute(n, "nodes_modes");

        if (!a || a->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS ||
            (int64_t)a->n_strings != l->nodes)
                return onnx_invalid(im, n, "nodes_modes are no STRINGS, or not %lld",
                                    (long long)l->nodes);
        l->modes = arena_array(im->arena, (size_t)l->nodes + 1, sizeof *l->modes);
        for (int64_t k = 0; k < l->nodes; k++) {
                int mode = 0;
                while (mode <= LEAF && (a->strings[k].len != strlen(words[mode]) ||
                                        memcmp(a->strings[k].data, words[mode], a->strings[k].len)))
                        mode++;
                if (mode > LEAF)
                        return onnx_invalid(im, n, "the mode of node %lld is none there is",
                                            (long long)k);
                l->modes[k] = mode == LEAF ? -1 : mode;
        }
        return true;
}

/* Makes the votes for two classes votes for one target. */
static bool one_voted(struct onnx_import *im, struct onnx_node *n, struct listed *l)
{
        l->voted = l->votes ? l->vote_targets[0] : 0;
        for (int64_t k = 0; k < l->votes; k++)
                if (l->vote_targets[k] < 0 || l->vote_targets[k] > 1)
                        return onnx_invalid(im, n, "a vote for class %lld of 2",
                                            (long long)l->vote_targets[k]);
                else if (l->vote_targets[k] != l->voted)
                        return onnx_unsupported(im, n, "votes for both of two classes");
        l->vote_targets = arena_array(im->arena, (size_t)l->votes + 1, sizeof *l->vote_targets);
        l->targets = 1;
        return true;
}

/* Reads the lists. The names of attributes about votes begin with `votes`. */
static bool listed_read(struct onnx_import *im, struct onnx_node *n, const char *votes,
                        struct listed *l)
{
        const char *trees = arena_printf(im->arena, "%s_treeids", votes),
                   *nodes = arena_printf(im->arena, "%s_nodeids", votes),
                   *ids = arena_printf(im->arena, "%s_ids", votes),
                   *weights = arena_printf(im->arena, "%s_weights", votes);
        union scalar *rates;
        int64_t count;

        l->nodes = l->votes = -1;
        if (!onnx_ml_integers(im, n, "nodes_treeids", &l->nodes, &l->trees) ||
            !onnx_ml_integers(im, n, "nodes_nodeids", &l->nodes, &l->names) ||
            !onnx_ml_integers(im, n, "nodes_featureids", &l->nodes, &l->features) ||
            !onnx_ml_integers(im, n, "nodes_falsenodeids", &l->nodes, &l->ways[0]) ||
            !onnx_ml_integers(im, n, "nodes_truenodeids", &l->nodes, &l->ways[1]) ||
            !onnx_ml_integers(im, n, trees, &l->votes, &l->vote_trees) ||
            !onnx_ml_integers(im, n, nodes, &l->votes, &l->vote_nodes) ||
            !onnx_ml_integers(im, n, ids, &l->votes, &l->vote_targets) ||
            (onnx_has(n, "nodes_missing_value_tracks_true") &&
             !onnx_ml_integers(im, n, "nodes_missing_value_tracks_true", &l->nodes, &l->missing)) ||
            !modes_read(im, n, l) || !numbers(im, n, "nodes_hitrates", &count, &rates) ||
            !numbers(im, n, "nodes_values", &count, &l->splits))
                return false;
        if (!l->nodes || count != l->nodes)
                return onnx_invalid(im, n, "%lld nodes with %lld values", (long long)l->nodes,
                                    (long long)count);
        if (!numbers(im, n, weights, &count, &l->weights))
                return false;
        if (count != l->votes)
                return onnx_invalid(im, n, "%lld votes with %lld weights", (long long)l->votes,
                                    (long long)count);
        if (l->two && !one_voted(im, n, l))
                return false;
        l->sorted = arena_array(im->arena, (size_t)l->nodes, sizeof *l->sorted);
        for (int64_t k = 0; k < l->nodes; k++)
                l->sorted[k] = (struct named){ l->trees[k], l->names[k], k };
        qsort(l->sorted, (size_t)l->nodes, sizeof *l->sorted, by_name);
        for (int64_t k = 1; k < l->nodes; k++)
                if (!by_name(&l->sorted[k - 1], &l->sorted[k]))
                        return onnx_invalid(im, n, "node %lld of tree %lld is there twice",
                                            (long long)l->sorted[k].node,
                                            (long long)l->sorted[k].tree);
        return true;
}

/* Sets numbers[k] to the node of the forest that node k of the list is, or to ~ of its leaf. The
 * first node that is listed of a tree is its root. */
static bool nodes_read(struct onnx_import *im, const struct onnx_node *n, const struct listed *l,
                       int64_t *numbers, struct compose_forest *f)
{
        f->nodes = arena_array(im->arena, (size_t)l->nodes, sizeof *f->nodes);
        f->roots = arena_array(im->arena, (size_t)l->nodes, sizeof *f->roots);
        for (int64_t k = 0; k < l->nodes; k++)
                numbers[k] = l->modes[k] < 0 ? ~f->leaf_count++ : f->node_count++;
        for (int64_t k = 0; k < l->nodes; k++) {
                if (l->modes[k] < 0)
                        continue;
                struct compose_tree_node *node = &f->nodes[numbers[k]];
                *node = (struct compose_tree_node){ l->features[k],
                                                    l->splits[k],
                                                    l->modes[k],
                                                    l->missing && l->missing[k] == 1,
                                                    { 0, 0 } };
                for (int way = 0; way < 2; way++) {
                        int64_t to = find(l, l->trees[k], l->ways[way][k]);
                        if (to < 0)
                                return onnx_invalid(im, n,
                                                    "node %lld of tree %lld leads to node %lld, "
                                                    "which is not there",
                                                    (long long)l->names[k], (long long)l->trees[k],
                                                    (long long)l->ways[way][k]);
                        node->next[way] = numbers[to];
                }
        }
        for (int64_t k = 0; k < l->nodes; k++) { /* They are sorted, so nodes of a tree are
                                                  * neighbours. */
                int64_t first = l->sorted[k].at;
                while (k + 1 < l->nodes && l->sorted[k + 1].tree == l->sorted[k].tree)
                        first = compose_min(first, l->sorted[++k].at);
                f->roots[f->tree_count++] = numbers[first];
        }
        return true;
}

/* Sorts votes by their leaf: counts them, then puts each in its place. */
static bool votes_read(struct onnx_import *im, const struct onnx_node *n, const struct listed *l,
                       const int64_t *numbers, struct compose_forest *f)
{
        int64_t *leaf = arena_array(im->arena, (size_t)l->votes + 1, sizeof *leaf), total = 0;

        f->targets = l->targets;
        f->first = arena_array(im->arena, (size_t)f->leaf_count + 2, sizeof *f->first);
        f->target = arena_array(im->arena, (size_t)l->votes + 1, sizeof *f->target);
        f->weight = arena_array(im->arena, (size_t)l->votes + 1, sizeof *f->weight);
        memset(f->first, 0, ((size_t)f->leaf_count + 2) * sizeof *f->first);
        for (int64_t k = 0; k < l->votes; k++) {
                int64_t at = find(l, l->vote_trees[k], l->vote_nodes[k]);
                if (at < 0 || numbers[at] >= 0 || l->vote_targets[k] < 0 ||
                    l->vote_targets[k] >= l->targets)
                        return onnx_invalid(im, n,
                                            "a vote of node %lld of tree %lld for target %lld of "
                                            "%lld, want one of a leaf",
                                            (long long)l->vote_nodes[k],
                                            (long long)l->vote_trees[k],
                                            (long long)l->vote_targets[k], (long long)l->targets);
                leaf[k] = ~numbers[at];
                f->first[leaf[k] + 1]++;
        }
        for (int64_t k = 0; k <= f->leaf_count; k++) {
                int64_t count = f->first[k + 1];
                f->first[k + 1] =
                        total; /* It is where the votes of leaf k go next, and in the end where they
                                * end. */
                total += count;
        }
        for (int64_t k = 0; k < l->votes; k++) {
                int64_t place = f->first[leaf[k] + 1]++;
                f->target[place] = l->vote_targets[k];
                f->weight[place] = l->weights[k];
        }
        return true;
}

/* Returns x in the type that trees compute in, or NULL after an error; reads the forest, and the
 * base values. */
static struct value *forest_read(struct onnx_import *im, struct onnx_node *n, const char *votes,
                                 struct listed *l, struct compose_forest *f)
{
        struct value *x = n->inputs[0];
        enum element e = value_element(x);
        union scalar *base;
        int64_t count;

        if (e != E_F32 && e != E_F64 && e != E_I64 && e != E_I32) {
                onnx_invalid(im, n, "operand 0 is of %s, want f32, f64, i64 or i32",
                             element_info[e].text);
                return NULL;
        }
        if (!onnx_want_rank(im, n, 0, 2, 2) || !onnx_ml_post(im, n, &l->post) ||
            !listed_read(im, n, votes, l) || !numbers(im, n, "base_values", &count, &base))
                return NULL;
        if (count && l->two && (count == 2 || l->voted)) {
                onnx_unsupported(
                        im, n,
                        "base values of two classes, unless it is one and votes are for the first");
                return NULL;
        }
        if (count && count != l->targets) {
                onnx_invalid(im, n, "%lld base values for %lld targets", (long long)count,
                             (long long)l->targets);
                return NULL;
        }
        l->places = arena_array(im->arena, (size_t)l->nodes, sizeof *l->places);
        if (!nodes_read(im, n, l, l->places, f) || !votes_read(im, n, l, l->places, f))
                return NULL;
        x = e == E_F32 ? x : compose_cast(im->c, x, E_F64); /* f64 has all i32. */
        if (x && count) {
                e = value_element(x);
                void *data = constant_room(im->m, (size_t)(count * element_info[e].bytes));
                for (int64_t k = 0; k < count; k++)
                        element_store(e, data, (size_t)k, base[k]);
                f->base = constant_dense(im->m, type_static(im->m, e, 1, &count), data, NULL);
        }
        return x;
}

bool onnx_import_tree_ensemble_regressor(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const aggregates[] = { "AVERAGE", "SUM", "MIN", "MAX", NULL };
        struct compose_forest f = { .base = NULL };
        struct listed l = { .missing = NULL };

        if (!onnx_int_range(im, n, "n_targets", 0, 1, NUMBER_MAX, &l.targets) ||
            !onnx_choice(im, n, "aggregate_function", aggregates, TREE_SUM, &f.aggregate))
                return false;
        struct value *x = forest_read(im, n, "target", &l, &f),
                     *y = x ? compose_forest(im->c, x, &f) : NULL;
        return onnx_output(n, 0, compose_cast(im->c, onnx_post_transform(im, y, l.post), E_F32));
}

/* ---- classes ---- */

/* Returns whether each class has a vote whatever x is: some tree has one for it in each of its
 * leaves. */
static bool are_spoken_of(struct onnx_import *im, const struct listed *l,
                          const struct compose_forest *f)
{
        struct tally {
                int64_t tree, leaf, leaves;
                bool sure;
        }; /* They are the last tree and leaf that have a vote for it. */
        struct tally *all = arena_array(im->arena, (size_t)l->targets, sizeof *all);
        int64_t sure = 0;

        for (int64_t k = 0; k < l->targets; k++)
                all[k] = (struct tally){ -1, -1, 0, false };
        for (int64_t first = 0, end; first < l->nodes; first = end) {
                int64_t leaves = 0;
                for (end = first; end < l->nodes && l->sorted[end].tree == l->sorted[first].tree;
                     end++)
                        leaves += l->places[l->sorted[end].at] < 0;
                for (int64_t k = first; k < end; k++) {
                        int64_t leaf = ~l->places[l->sorted[k].at];
                        for (int64_t v = leaf < 0 ? 0 : f->first[leaf];
                             leaf >= 0 && v < f->first[leaf + 1]; v++) {
                                struct tally *t = &all[f->target[v]];
                                t->leaves = t->tree != first ? 1 : t->leaves + (t->leaf != leaf);
                                t->tree = first;
                                t->leaf = leaf;
                                sure += !t->sure && t->leaves == leaves;
                                t->sure |= t->leaves == leaves;
                        }
                }
        }
        return sure == l->targets;
}

/* Reads two classes with votes for one alone, as onnxruntime and with it all exporters understand
 * them: the second is meant, where its score is above 1/2, or above 0 where some votes are
 * negative. Votes for class 1 leave the other without any: its score is 0. */
static bool two_classes(struct onnx_import *im, struct onnx_node *n, struct listed *l,
                        const struct ml_labels *labels)
{
        struct compose_forest f = { .aggregate = TREE_SUM };
        bool mixed = false;

        l->two = true;
        struct value *x = forest_read(im, n, "class", l, &f);
        if (!x)
                return false;
        if (l->voted && !are_spoken_of(im, l, &f))
                return onnx_unsupported(im, n,
                                        "two classes, and leaves without a vote for the second");
        for (int64_t k = 0; k < l->votes; k++)
                mixed |= l->weights[k].f < 0;
        struct value *y = compose_forest(im->c, x, &f), *scores = y;
        struct value *second = compose_with(im->c, OP_gt, y, mixed ? 0 : 0.5);
        second = second ? compose_reshape(im->c, second, 1, second->type->dims) : NULL;
        if (y && l->voted)
                scores = onnx_post_transform(
                        im,
                        build_concat(&im->b, (struct value *[]){ build_like(&im->b, y, 0), y }, 2,
                                     1),
                        l->post);
        else if (y)
                scores = onnx_ml_two(im, n, y, l->post, mixed);
        return onnx_ml_label(im, n, compose_cast(im->c, second, E_I32), labels) &&
               onnx_output(n, 1, compose_cast(im->c, scores, E_F32));
}

/* The results are the label of the class with the highest score, the first of equal ones, and all
 * scores. */
bool onnx_import_tree_ensemble_classifier(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_forest f = { .aggregate = TREE_SUM };
        struct listed l = { .missing = NULL };
        struct ml_labels labels;

        if (!onnx_ml_labels(im, n, "classlabels_int64s", &labels))
                return false;
        if (labels.count == 1)
                return onnx_unsupported(im, n, "one class");
        if (labels.count == 2)
                return two_classes(im, n, &l, &labels);
        l.targets = labels.count;
        struct value *x = forest_read(im, n, "class", &l, &f);
        if (!x)
                return false;
        f.wants_spoken = onnx_wants(n, 0) && !f.base && !are_spoken_of(im, &l, &f);
        struct value *y = compose_forest(im->c, x, &f), *best = y;
        if (y && f.wants_spoken)
                best = compose_select(im->c, f.spoken, y, build_like(&im->b, y, -(double)INFINITY));
        return onnx_ml_best(im, n, best, &labels) &&
               onnx_output(n, 1, compose_cast(im->c, onnx_post_transform(im, y, l.post), E_F32));
}
