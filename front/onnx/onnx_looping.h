/* SPDX-License-Identifier: MIT */
/* A Loop as its importer sees it: onnx_loop.c builds the operation, onnx_unrolled.c writes its
 * iterations out. */
#ifndef FRONT_ONNX_ONNX_LOOPING_H
#define FRONT_ONNX_ONNX_LOOPING_H

#include "front/onnx/onnx_body.h"
#include "front/onnx/onnx_grown.h"
#include "front/onnx/onnx_stack.h"

enum { PARTS_MAX = RANK_MAX + 1 };      /* A value is carried as so many at most. */

struct onnx_looping {
        const Onnx__GraphProto *body;
        struct value *trip, *go;        /* They are the node's operands; NULL stands for an absent
                                         * one. */
        int carried, stacked;           /* The stacked ones are those that are wanted, which[] among
                                         * all. */
        int *which;
        int64_t trips;                  /* The loop runs so often; -1 stands for unknown. */
        int counter;                    /* One more value is carried, behind the node's: how many
                                         * iterations there have been; 0: it is not. */
        struct onnx_form *forms;        /* [carried], of those that are no tensors: how they are
                                         * carried, */
        struct onnx_form *wanted;       /* [carried], and how the body yields them; */
        bool *is_list;                  /* [carried], where it is set. */
        int *at;                        /* [carried + 1], the number of the first part of each among
                                         * what the loop carries; the last one is how many these
                                         * are. */
        struct value **first;           /* [carried], the values before the first iteration. */
        bool maps;                      /* It is a SequenceMap: the body has the items of a number
                                         * for its inputs, and makes one for each carried list. */
        int64_t most;                   /* It runs no more often; -1: that is not known. */
        struct onnx_grown *grown;           /* [carried], of tensors whose extents change. */
        struct onnx_carried_texts *texts;       /* [carried]. */
        bool *is_text;                  /* [stacked], where rows are texts. */
        bool misfit;                    /* Forms or widths that the body yields are not those that
                                         * it was given. */
        bool longer;                    /* Texts have become longer. */
        const char *changed;            /* What is wrong where a value changes its type, or NULL: */
        int which_changed;              /* the number of the carried value, */
        const struct type *from, *to;   /* and its types before and behind an iteration. */
};

/* Returns a scalar of the loop as input `input` of the body reads it: <T>, or <1 x T> where the
 * body declares that. */
struct value *onnx_loop_argument(struct onnx_import *im, struct value *v,
                                 const Onnx__GraphProto *body, size_t input);
/* Returns a value of one element as a scalar, or NULL after an error. */
struct value *onnx_loop_scalar(struct onnx_import *im, struct onnx_node *n, struct value *v,
                               enum element e, const char *what);
/* Sets *number to a value that is a constant; else returns false. */
bool onnx_loop_constant(const struct value *v, int64_t *number);

/* Imports the iterations one after the other, and sets the outputs. Where only a run knows how many
 * there are, *runs becomes true. Returns false then, and after an error. */
bool onnx_loop_unrolled(struct onnx_import *im, struct onnx_node *n, const struct onnx_looping *l,
                        bool *runs);

#endif
