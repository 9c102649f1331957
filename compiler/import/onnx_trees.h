/* SPDX-License-Identifier: MIT */
/* Ensembles of decision trees of ai.onnx.ml, as its versions say them, and what is computed of them. */
#ifndef COMPILER_IMPORT_ONNX_TREES_H
#define COMPILER_IMPORT_ONNX_TREES_H

#include "compiler/import/onnx_ml.h"

/* in the order of opset 5 */
enum tree_mode { TREE_LEQ, TREE_LT, TREE_GTE, TREE_GT, TREE_EQ, TREE_NEQ, TREE_MEMBER };
enum tree_aggregate { TREE_AVERAGE, TREE_SUM, TREE_MIN, TREE_MAX };

struct tree_node {
        int64_t feature;
        union scalar split;             /* f */
        int mode;                       /* any but MEMBER, which becomes a chain of EQ */
        bool missing;                   /* NaN goes where true goes */
        int64_t next[2];                /* where false, where true: a node, or ~ of a leaf */
};

struct forest {
        struct tree_node *nodes;
        int64_t node_count, leaf_count, tree_count, targets;
        int64_t *roots;                 /* nodes, or ~ of leaves */
        int64_t *first;                 /* [leaves + 1]: a leaf's votes begin here */
        int64_t *target;                /* [votes]: for whom */
        union scalar *weight;           /* [votes]: f */
        int aggregate, post;
        struct value *base;             /* [targets] to add, or NULL */
        bool wants_spoken;              /* then spoken is made: <N x targets x bool>, whether there was a vote */
        struct value *spoken;
};

/* an attribute that must be there, of *count integers; -1: however many, then *count says */
bool onnx_tree_integers(struct onnx_import *im, struct onnx_node *n, const char *name, int64_t *count,
                        const int64_t **values);
/* Scores <N x targets> in x's wide type for x [N, features]; checks features, and that there are no
 * cycles. NULL after an error. Before the transform. */
struct value *onnx_forest(struct onnx_import *im, const struct onnx_node *n, struct value *x, struct forest *f);

#endif
