/* SPDX-License-Identifier: MIT */
/* TreeEnsembleRegressor of ai.onnx.ml: nodes are listed with the numbers of their tree and of themselves in it;
 * leaves are nodes, too, and each may have votes for several targets. */
#include "compiler/import/onnx_trees.h"

#include <stdlib.h>
#include <string.h>

/* a node's name, and where it is listed */
struct named {
        int64_t tree, node, at;
};

struct listed {
        int64_t nodes, votes, targets;
        const int64_t *trees, *names, *features, *ways[2], *missing; /* of nodes; missing may be NULL */
        const int64_t *vote_trees, *vote_nodes, *vote_targets;
        union scalar *splits, *weights;
        int *modes; /* LEAF: -1 */
        struct named *sorted;
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

/* an attribute of *count integers; -1: however many, then *count says */
static bool integers(struct onnx_import *im, struct onnx_node *n, const char *name, int64_t *count,
                     const int64_t **values)
{
        int given;

        if (!onnx_ints(im, n, name, values, &given))
                return false;
        if (!*values)
                return onnx_invalid(im, n, "attribute %s is missing", name);
        if (*count >= 0 && given != *count)
                return onnx_invalid(im, n, "%s has %d values, want %lld", name, given, (long long)*count);
        *count = given;
        return true;
}

/* Floats, or from opset 3 on a tensor NAME_as_tensor. *values: NULL where neither is there. */
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
        if ((floats && constant) || (constant && !element_is_float(onnx_element(constant))))
                return onnx_invalid(im, n, "%s is %s, want floats", tensor,
                                    floats ? "there beside the other" : type_text(im->arena, im->m, constant->type));
        *count = constant ? type_elements(constant->type) : given;
        *values = arena_array(im->arena, (size_t)*count + 1, sizeof **values);
        for (int64_t k = 0; k < *count; k++)
                (*values)[k] =
                        constant ? constant_element(constant->constant, k) : (union scalar){ .f = (double)floats[k] };
        return true;
}

static bool modes_read(struct onnx_import *im, struct onnx_node *n, struct listed *l)
{
        static const char *const words[] = { "BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                             "BRANCH_EQ",  "BRANCH_NEQ", "LEAF" };
        const Onnx__AttributeProto *a = onnx_attribute(n, "nodes_modes");

        if (!a || a->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS || (int64_t)a->n_strings != l->nodes)
                return onnx_invalid(im, n, "nodes_modes are no STRINGS, or not %lld", (long long)l->nodes);
        l->modes = arena_array(im->arena, (size_t)l->nodes + 1, sizeof *l->modes);
        for (int64_t k = 0; k < l->nodes; k++) {
                int mode = 0;
                while (mode <= TREE_MEMBER && (a->strings[k].len != strlen(words[mode]) ||
                                               memcmp(a->strings[k].data, words[mode], a->strings[k].len)))
                        mode++;
                if (mode > TREE_MEMBER)
                        return onnx_invalid(im, n, "the mode of node %lld is none there is", (long long)k);
                l->modes[k] = mode == TREE_MEMBER ? -1 : mode;
        }
        return true;
}

static bool listed_read(struct onnx_import *im, struct onnx_node *n, struct listed *l)
{
        union scalar *rates;
        int64_t count;

        l->nodes = l->votes = -1;
        if (!onnx_int_range(im, n, "n_targets", 0, 1, NUMBER_MAX, &l->targets) ||
            !integers(im, n, "nodes_treeids", &l->nodes, &l->trees) ||
            !integers(im, n, "nodes_nodeids", &l->nodes, &l->names) ||
            !integers(im, n, "nodes_featureids", &l->nodes, &l->features) ||
            !integers(im, n, "nodes_falsenodeids", &l->nodes, &l->ways[0]) ||
            !integers(im, n, "nodes_truenodeids", &l->nodes, &l->ways[1]) ||
            !integers(im, n, "target_treeids", &l->votes, &l->vote_trees) ||
            !integers(im, n, "target_nodeids", &l->votes, &l->vote_nodes) ||
            !integers(im, n, "target_ids", &l->votes, &l->vote_targets) ||
            (onnx_has(n, "nodes_missing_value_tracks_true") &&
             !integers(im, n, "nodes_missing_value_tracks_true", &l->nodes, &l->missing)) ||
            !modes_read(im, n, l) || !numbers(im, n, "nodes_hitrates", &count, &rates) ||
            !numbers(im, n, "nodes_values", &count, &l->splits))
                return false;
        if (!l->nodes || count != l->nodes)
                return onnx_invalid(im, n, "%lld nodes with %lld values", (long long)l->nodes, (long long)count);
        if (!numbers(im, n, "target_weights", &count, &l->weights))
                return false;
        if (count != l->votes)
                return onnx_invalid(im, n, "%lld votes with %lld weights", (long long)l->votes, (long long)count);
        l->sorted = arena_array(im->arena, (size_t)l->nodes, sizeof *l->sorted);
        for (int64_t k = 0; k < l->nodes; k++)
                l->sorted[k] = (struct named){ l->trees[k], l->names[k], k };
        qsort(l->sorted, (size_t)l->nodes, sizeof *l->sorted, by_name);
        for (int64_t k = 1; k < l->nodes; k++)
                if (!by_name(&l->sorted[k - 1], &l->sorted[k]))
                        return onnx_invalid(im, n, "node %lld of tree %lld is there twice",
                                            (long long)l->sorted[k].node, (long long)l->sorted[k].tree);
        return true;
}

/* numbers[k]: node k of the list in the forest, or ~ of its leaf; the first listed of a tree is its root */
static bool nodes_read(struct onnx_import *im, const struct onnx_node *n, const struct listed *l, int64_t *numbers,
                       struct forest *f)
{
        f->nodes = arena_array(im->arena, (size_t)l->nodes, sizeof *f->nodes);
        f->roots = arena_array(im->arena, (size_t)l->nodes, sizeof *f->roots);
        for (int64_t k = 0; k < l->nodes; k++)
                numbers[k] = l->modes[k] < 0 ? ~f->leaf_count++ : f->node_count++;
        for (int64_t k = 0; k < l->nodes; k++) {
                if (l->modes[k] < 0)
                        continue;
                struct tree_node *node = &f->nodes[numbers[k]];
                *node = (struct tree_node){
                        l->features[k], l->splits[k], l->modes[k], l->missing && l->missing[k] == 1, { 0, 0 }
                };
                for (int way = 0; way < 2; way++) {
                        int64_t to = find(l, l->trees[k], l->ways[way][k]);
                        if (to < 0)
                                return onnx_invalid(
                                        im, n, "node %lld of tree %lld leads to node %lld, which is not there",
                                        (long long)l->names[k], (long long)l->trees[k], (long long)l->ways[way][k]);
                        node->next[way] = numbers[to];
                }
        }
        for (int64_t k = 0; k < l->nodes; k++) { /* sorted: nodes of a tree are neighbours */
                int64_t first = l->sorted[k].at;
                while (k + 1 < l->nodes && l->sorted[k + 1].tree == l->sorted[k].tree)
                        first = onnx_min(first, l->sorted[++k].at);
                f->roots[f->tree_count++] = numbers[first];
        }
        return true;
}

/* votes by leaf: counted, then each to its place */
static bool votes_read(struct onnx_import *im, const struct onnx_node *n, const struct listed *l,
                       const int64_t *numbers, struct forest *f)
{
        int64_t *leaf = arena_array(im->arena, (size_t)l->votes + 1, sizeof *leaf), total = 0;

        f->targets = l->targets;
        f->first = arena_array(im->arena, (size_t)f->leaf_count + 2, sizeof *f->first);
        f->target = arena_array(im->arena, (size_t)l->votes + 1, sizeof *f->target);
        f->weight = arena_array(im->arena, (size_t)l->votes + 1, sizeof *f->weight);
        memset(f->first, 0, ((size_t)f->leaf_count + 2) * sizeof *f->first);
        for (int64_t k = 0; k < l->votes; k++) {
                int64_t at = find(l, l->vote_trees[k], l->vote_nodes[k]);
                if (at < 0 || numbers[at] >= 0 || l->vote_targets[k] < 0 || l->vote_targets[k] >= l->targets)
                        return onnx_invalid(
                                im, n, "a vote of node %lld of tree %lld for target %lld of %lld, want one of a leaf",
                                (long long)l->vote_nodes[k], (long long)l->vote_trees[k], (long long)l->vote_targets[k],
                                (long long)l->targets);
                leaf[k] = ~numbers[at];
                f->first[leaf[k] + 1]++;
        }
        for (int64_t k = 0; k <= f->leaf_count; k++) {
                int64_t count = f->first[k + 1];
                f->first[k + 1] = total; /* where the votes of leaf k go next; in the end, where they end */
                total += count;
        }
        for (int64_t k = 0; k < l->votes; k++) {
                int64_t place = f->first[leaf[k] + 1]++;
                f->target[place] = l->vote_targets[k];
                f->weight[place] = l->weights[k];
        }
        return true;
}

bool onnx_import_tree_ensemble_regressor(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const aggregates[] = { "AVERAGE", "SUM", "MIN", "MAX", NULL }, *const posts[] = {
                "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT", NULL
        };
        struct value *x = n->inputs[0];
        struct forest f = { .base = NULL };
        struct listed l = { .missing = NULL };
        union scalar *base;
        int64_t count;

        if (onnx_element(x) != E_F32 && onnx_element(x) != E_F64 && onnx_element(x) != E_I64 &&
            onnx_element(x) != E_I32)
                return onnx_invalid(im, n, "operand 0 is of %s, want f32, f64, i64 or i32",
                                    element_info[onnx_element(x)].text);
        if (!onnx_want_rank(im, n, 0, 2, 2) ||
            !onnx_choice(im, n, "aggregate_function", aggregates, TREE_SUM, &f.aggregate) ||
            !onnx_choice(im, n, "post_transform", posts, TREE_NONE, &f.post) || !listed_read(im, n, &l) ||
            !numbers(im, n, "base_values", &count, &base))
                return false;
        if (count && count != l.targets)
                return onnx_invalid(im, n, "%lld base values for %lld targets", (long long)count, (long long)l.targets);
        int64_t *places = arena_array(im->arena, (size_t)l.nodes, sizeof *places);
        if (!nodes_read(im, n, &l, places, &f) || !votes_read(im, n, &l, places, &f))
                return false;
        x = onnx_element(x) == E_F32 ? x : onnx_cast(im, x, E_F64); /* f64 has all i32 */
        if (x && count) {
                void *data = constant_room(im->m, (size_t)(count * element_info[onnx_element(x)].bytes));
                for (int64_t k = 0; k < count; k++)
                        element_store(onnx_element(x), data, (size_t)k, base[k]);
                f.base = constant_dense(im->m, type_tensor(im->m, onnx_element(x), 1, &count), data, NULL);
        }
        struct value *y = x ? onnx_forest(im, n, x, &f) : NULL;
        return onnx_output(n, 0, onnx_cast(im, onnx_tree_scores(im, y, f.post), E_F32));
}
