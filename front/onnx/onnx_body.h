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

/* Texts are carried as bytes of one width. Where each iteration makes them longer by as much as the
 * one before, that is what they have after the last one. */
struct onnx_carried_texts {
        int64_t width;                  /* Each has so many bytes; 0: they are no texts. */
        int64_t first;                  /* Before the first iteration they have so many, */
        int64_t more;                   /* and so many more after an iteration. */
        bool enough;                    /* The width is enough for all iterations. */
};
struct onnx_carried_texts onnx_carried_texts(const struct value *first);
/* Returns texts that the body yields as bytes of the width, in a loop of at most `most` iterations
 * (-1: that is not known). Where they do not fit, sets a larger width and *wider, and returns NULL:
 * the body is to be imported anew. */
struct value *onnx_body_texts(struct onnx_import *im, struct onnx_carried_texts *t, int64_t most,
                              const struct value *texts, bool *wider);

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
