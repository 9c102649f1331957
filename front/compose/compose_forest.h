/* SPDX-License-Identifier: MIT */
/* This header has ensembles of decision trees. */
#ifndef FRONT_COMPOSE_COMPOSE_FOREST_H
#define FRONT_COMPOSE_COMPOSE_FOREST_H

#include "front/compose/compose.h"

/* A node asks whether its feature is <=, <, >=, >, == or != its split. */
enum compose_tree_mode { TREE_LEQ, TREE_LT, TREE_GTE, TREE_GT, TREE_EQ, TREE_NEQ };
enum compose_tree_aggregate { TREE_AVERAGE, TREE_SUM, TREE_MIN, TREE_MAX };

struct compose_tree_node {
        int64_t feature;                /* The column of x that is compared. */
        union scalar split;             /* Its f is what the feature is compared with. */
        int mode;                       /* It is an enum compose_tree_mode. */
        bool missing;                   /* NaN goes where true goes. */
        int64_t next[2];                /* The ways of false and true lead to a node, or are ~ of a
                                         * leaf. */
};

struct compose_forest {
        struct compose_tree_node *nodes;
        int64_t node_count, leaf_count, tree_count;
        int64_t targets;                /* Votes are for so many targets, which are the columns of
                                         * the result. */
        int64_t *roots;                 /* These [trees] are nodes, or ~ of leaves. */
        int64_t *first;                 /* These [leaves + 1] are the numbers of the vote that a
                                         * leaf's votes begin with. */
        int64_t *target;                /* These [votes] are the target of each vote. */
        union scalar *weight;           /* The f of these [votes] is the weight of each vote. */
        int aggregate;                  /* It says how votes combine, and is an enum
                                         * compose_tree_aggregate. */
        struct value *base;             /* It is [targets], added to the result; or NULL. */
        bool wants_spoken;              /* The caller asks for `spoken`. */
        struct value *spoken;           /* It is a result, <N x targets x bool>, which says whether
                                         * there was a vote. */
};
/* Returns scores <N x targets> in x's wide type for x [N, features]. It changes the nodes' modes.
 * It is an error where a feature is not there, or a tree comes back to one of its nodes. */
struct value *compose_forest(struct compose *c, struct value *x, struct compose_forest *f);

#endif
