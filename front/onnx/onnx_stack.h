/* SPDX-License-Identifier: MIT */
/* Sequences whose length, or the shapes of whose items, only a run knows. Items are rows of a
 * stack, which has room for a bounded number of items of bounded extents:
 *
 *     rows <4 x 5 x f32>     shapes <4 x 1 x i64>   count 2     rest: three more sequences fit
 *       1 2 3 . .              3
 *       7 . . . .              1                                the items [1, 2, 3] and [7]
 *
 * An item lies at the beginning of its row. An optional tensor is a sequence of no item or one;
 * an optional sequence is a stack and a bool. Operations on stacks are ordinary ones of tensors, so
 * that the module has nothing of sequences, as it has nothing of lists (onnx_sequence.h). A
 * position that is none of the sequence's makes the run fail with INDEX. */
#ifndef FRONT_ONNX_ONNX_STACK_H
#define FRONT_ONNX_ONNX_STACK_H

#include "front/onnx/onnx_sequence.h"

/* This is what stacks that go through an If or a Loop have in common. */
struct onnx_form {
        bool known;                     /* Some item is there, so that rank and dims are known. */
        enum element element;
        int rank;                       /* It is the largest rank of an item. */
        dim_t dims[RANK_MAX];           /* It has for each dimension the extent of all items, or its
                                         * bound, a number. */
        unsigned differ;                /* Bit d is set where dims[d] is a bound. */
        bool ranks;                     /* Items differ in rank. Those of a lower one have extents
                                         * of 1 behind their last, for which `shapes` has -1. */
        int64_t room;                   /* There is room for so many items. */
        bool held;                      /* A loop carries it: there is room for no more; */
        int grown;                      /* and so many items came since the iteration began. */
        bool is_optional;               /* The value is an optional; */
        bool is_sequence;               /* and it is, or what it may hold is, a sequence. */
};

/* Returns the form of a tensor, a sequence or an optional. */
struct onnx_form onnx_form_of(struct onnx_import *im, const struct value *v);
/* Makes *form that of values of both forms. Returns false after an error: only one is a sequence,
 * or their elements differ. */
bool onnx_form_join(struct onnx_import *im, struct onnx_node *n, struct onnx_form *form,
                    const struct onnx_form *other);
bool onnx_form_equal(const struct onnx_form *a, const struct onnx_form *b);

/* A value of a form goes through regions as so many tensors: as a bool that says nothing where
 * nothing is known of its items. */
enum { STACK_PARTS = 4 };
int onnx_form_parts(const struct onnx_form *form);
/* Writes the parts of v, which is of the form or of one joined to it. Returns false after an
 * error. */
bool onnx_form_spread(struct onnx_import *im, struct onnx_node *n, struct value *v,
                      const struct onnx_form *form, struct value *parts[STACK_PARTS]);
/* Returns the value that the parts are of. An item for which there is no room in one that is held
 * makes the run fail. */
struct value *onnx_form_gather(struct onnx_import *im, const struct onnx_form *form,
                               struct value *const *parts);

/* Applies the body of a SequenceMap to each item, where only a run knows how many there are, and
 * sets the node's outputs (onnx_loop.c). */
bool onnx_map_at_run(struct onnx_import *im, struct onnx_node *n, const Onnx__GraphProto *body);

/* These are operators. Inputs are sequences, lists or stacks; `at` is a position, or NULL for the
 * last one, behind the last one. Each returns NULL after an error. */
struct value *onnx_stack_insert(struct onnx_import *im, struct onnx_node *n, struct value *list,
                                struct value *item, struct value *at);
struct value *onnx_stack_erase(struct onnx_import *im, struct onnx_node *n, struct value *list,
                               struct value *at);
/* Returns the item, which becomes output 0 of the node. */
struct value *onnx_stack_at(struct onnx_import *im, struct onnx_node *n, struct value *list,
                            struct value *at);
/* Returns the items one after the other along the axis, or, where fresh, along a new one. */
struct value *onnx_stack_concat(struct onnx_import *im, struct onnx_node *n, struct value *list,
                                int axis, bool fresh);
/* Returns parts of x along the axis, `each` (<i64>) elements each and the last one what is left;
 * where `drops`, the axis vanishes, and each is 1. */
struct value *onnx_stack_split(struct onnx_import *im, struct onnx_node *n, struct value *x,
                               int axis, struct value *each, bool drops);
/* Returns what an optional of a form holds; a run in which it holds nothing fails. */
struct value *onnx_stack_element(struct onnx_import *im, struct onnx_node *n, struct value *v);
/* Returns whether it holds something, <bool>. */
struct value *onnx_stack_present(struct onnx_import *im, const struct value *v);

/* As outputs of the model (docs/interface.md): the items that are there, <K x bounds>, and their
 * shapes <K x rank x i64>, or NULL where all are of one shape. K is called after `name`. Returns
 * false after an error. */
bool onnx_stack_output(struct onnx_import *im, const char *name, const struct value *v,
                       struct value **rows, struct value **shapes);

#endif
