/* SPDX-License-Identifier: MIT */
/* What the operator importers (onnx_op_*.c) share: shorthands over the tensor builder that take and
 * give values of the import, and the checks that every operator needs. A NULL operand gives NULL
 * without a further message, so a chain is tested once, where onnx_output stores its end. */
#ifndef FRONT_ONNX_ONNX_HELPERS_H
#define FRONT_ONNX_ONNX_HELPERS_H

#include "front/onnx/onnx.h"
#include "front/compose/compose_quantize.h"
#include "front/compose/compose_reduce.h"
#include "front/compose/compose_window.h"

/* the importers themselves */
#define ONNX_OP(domain, name, since, until, in_min, in_max, out_max, importer, variant)                                \
        bool importer(struct onnx_import *im, struct onnx_node *n);
#include "front/onnx/onnx_ops.def"

/* ---- operands and results ---- */

static inline struct value *onnx_input(const struct onnx_node *n, int i) /* NULL when absent */
{
        return i < n->input_count ? n->inputs[i] : NULL;
}
static inline bool onnx_wants(const struct onnx_node *n, int i)
{
        return i < n->output_count && n->wanted[i];
}
/* Defines output i where the node has it; false when v is NULL (the error was reported). */
static inline bool onnx_output(struct onnx_node *n, int i, struct value *v)
{
        if (i < n->output_count)
                n->outputs[i] = v;
        return v != NULL;
}

/* The declared type of an output, checked to be of element e (and of rank, unless -1). */
const struct type *onnx_declared_as(struct onnx_import *im, const struct onnx_node *n, int output,
                                    enum element e, int rank);
/* all of one element type; NULL entries are skipped */
bool onnx_same_element(struct onnx_import *im, const struct onnx_node *n,
                       struct value *const *values, int count);
/* The inputs in this set of bits are there: where a row asks for fewer, because optional ones stand
 * between them. */
bool onnx_want_inputs(struct onnx_import *im, const struct onnx_node *n, unsigned set);
/* input i is of a float type, of an integer type, or of type e */
bool onnx_want_float(struct onnx_import *im, const struct onnx_node *n, int i);
bool onnx_want_integer(struct onnx_import *im, const struct onnx_node *n, int i);
bool onnx_want_element(struct onnx_import *im, const struct onnx_node *n, int i, enum element e);
bool onnx_want_8_bit(struct onnx_import *im, const struct onnx_node *n, int i);   /* i8 or u8 */
bool onnx_want_rank(struct onnx_import *im, const struct onnx_node *n, int i, int least, int most);

/* constant indices, tuples of `width` entries, entry k in [-extents[k], extents[k]); others are
 * checked as the generated code runs */
bool onnx_indices_fit(struct onnx_import *im, const struct onnx_node *n,
                      const struct value *indices, const dim_t *extents, int64_t width);

/* input i holds one element (rank 0, or any rank of extents 1): as a scalar, NULL after an error */
struct value *onnx_scalar(struct onnx_import *im, const struct onnx_node *n, int i);
/* A constant operand of one integer or bool, or of numbers; *known false when it is a run-time
 * value. Absent: the preset. */
bool onnx_operand_int(struct onnx_import *im, const struct onnx_node *n, int input, int64_t preset,
                      int64_t *value, bool *known);
bool onnx_operand_numbers(struct onnx_import *im, const struct onnx_node *n, int input,
                          double *values, int room, int *count, bool *known);
/* an integer operand of rank 0 or 1 as a run-time <k x i64>; NULL after an error */
struct value *onnx_operand_vector(struct onnx_import *im, const struct onnx_node *n, int input);

/* Axes from an attribute (input < 0) or an operand: made positive, checked to differ, sorted. */
enum onnx_axes_state { AXES_ABSENT, AXES_KNOWN, AXES_RUNTIME };
struct onnx_axes {
        enum onnx_axes_state state;
        int count; /* of a run-time operand too */
        int64_t axes[RANK_MAX];
        struct value *operand; /* AXES_RUNTIME: <count x i64>, as given */
};
bool onnx_axes_read(struct onnx_import *im, struct onnx_node *n, int input, const char *attribute,
                    int rank, struct onnx_axes *axes);
/* the attribute itself, which counts as used from then on, or NULL; its type is not checked */
const Onnx__AttributeProto *onnx_attribute(struct onnx_node *n, const char *name);
/* an attribute that must be there */
bool onnx_int_required(struct onnx_import *im, struct onnx_node *n, const char *name,
                       int64_t *value);
/* an int attribute in [least, most] */
bool onnx_int_range(struct onnx_import *im, struct onnx_node *n, const char *name, int64_t preset,
                    int64_t least, int64_t most, int64_t *value);
/* a TensorProto.DataType number as a type this compiler can compute with */
bool onnx_element_number(struct onnx_import *im, const struct onnx_node *n, const char *what,
                         int64_t number, enum element *e);
/* accepted and without meaning for inference: is_test, consumed_inputs */
bool onnx_ignore(struct onnx_import *im, struct onnx_node *n, const char *name);

/* ---- convolution and pooling windows ---- */

/* Reads kernel_shape (checked against kernel unless NULL), strides, dilations, pads, auto_pad;
 * every number in its range. */
bool onnx_window_read(struct onnx_import *im, struct onnx_node *n, int rank, const int64_t *kernel,
                      bool dilations, struct compose_window *w);
/* the window over x, whose weights are w, and groups (onnx_op_conv.c) */
bool onnx_conv_read(struct onnx_import *im, struct onnx_node *n, const struct value *x,
                    const struct value *w, struct compose_window *window, int64_t *groups);
/* AveragePool of x (onnx_op_pool.c) */
struct value *onnx_average_pool(struct onnx_import *im, struct onnx_node *n, struct value *x);

/* ---- quantized tensors ---- */

/* Input `first` with its scale and zero point, which are the two inputs behind it. */
static inline struct compose_quantized onnx_quantized(const struct onnx_node *n, int first)
{
        return (struct compose_quantized){ onnx_input(n, first), onnx_input(n, first + 1),
                                           onnx_input(n, first + 2) };
}

#endif
