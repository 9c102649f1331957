/* SPDX-License-Identifier: MIT */
/* Ensembles of decision trees. */
#ifndef FRONT_COMPOSE_COMPOSE_FOREST_H
#define FRONT_COMPOSE_COMPOSE_FOREST_H

#include "front/compose/compose.h"

/* what a node asks: feature <= split, <, >=, >, ==, != */
enum compose_tree_mode { TREE_LEQ, TREE_LT, TREE_GTE, TREE_GT, TREE_EQ, TREE_NEQ };
enum compose_tree_aggregate { TREE_AVERAGE, TREE_SUM, TREE_MIN, TREE_MAX };

struct compose_tree_node {
        int64_t feature;                /* the column of x that is compared */
        union scalar split;             /* f: what with */
        int mode;                       /* enum compose_tree_mode */
        bool missing;                   /* NaN goes where true goes */
        int64_t next[2];                /* the ways of false and true: a node, or ~ of a leaf */
};

struct compose_forest {
        struct compose_tree_node *nodes;
        int64_t node_count, leaf_count, tree_count;
        int64_t targets;                /* how many targets votes have: columns of the result */
        int64_t *roots;                 /* [trees]: nodes, or ~ of leaves */
        int64_t *first;                 /* [leaves + 1]: the vote that a leaf's votes begin with */
        int64_t *target;                /* [votes]: the target of each */
        union scalar *weight;           /* [votes]: f */
        int aggregate;                  /* how votes combine: enum compose_tree_aggregate */
        struct value *base;             /* [targets], added to the result; or NULL */
        bool wants_spoken;              /* asks for `spoken` */
        struct value *spoken;           /* result: <N x targets x bool>, whether there was a vote */
};
/* Scores <N x targets> in x's wide type for x [N, features]. Changes the nodes' modes. An error
 * where a feature is not there, or a tree comes back to one of its nodes. */
struct value *compose_forest(struct compose *c, struct value *x, struct compose_forest *f);

#endif
