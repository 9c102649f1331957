/* SPDX-License-Identifier: MIT */
/* The body of a Loop or a Scan is a graph that fills the region of a loop node by node. */
#ifndef FRONT_ONNX_ONNX_BODY_H
#define FRONT_ONNX_ONNX_BODY_H

#include "front/onnx/onnx.h"

/* The operations in the region are charged apart. */
struct onnx_body {
        struct compose_loop loop;
        struct op *counted;             /* It is model->counted outside of the loop, */
        int known;                      /* and the module's known_count. */
};

/* These open and close the region as compose_loop_open and compose_loop_close do. */
bool onnx_body_open(struct onnx_import *im, const struct compose_loop_parts *parts,
                    struct onnx_body *body);
bool onnx_body_close(struct onnx_import *im, struct onnx_body *body, struct value *const *yielded);

/* Where an import has come to, so that what follows can be taken back. */
struct onnx_mark {
        struct builder b;
        struct onnx_scope *scope;
        const struct op *last;          /* It is the region's last operation. */
        struct onnx_model *model;       /* It is a copy. */
        int symbols, known;             /* They are the module's symbol_count and known_count. */
};
struct onnx_mark onnx_mark(struct onnx_import *im);
void onnx_take_back(struct onnx_import *im, const struct onnx_mark *mark);

/* Checks that inputs `from` and those behind it are there, and are of elements that are stored. */
bool onnx_body_inputs(struct onnx_import *im, struct onnx_node *n, int from);
/* Checks that the carried value of a number keeps its type. */
bool onnx_body_carried(struct onnx_import *im, struct onnx_node *n, const struct value *first,
                       const struct value *next, int number);
/* Checks that a row, of which a stack is made, has its extents from outside of the body at hand. */
bool onnx_body_row(struct onnx_import *im, struct onnx_node *n, const struct value *row,
                   int output);

#endif
