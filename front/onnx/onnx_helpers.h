/* SPDX-License-Identifier: MIT */
/* The importers of operators (onnx_op_*.c) share these helpers: operands and results, the checks
 * that every operator needs, axes, windows. The functions named want_ check an input that is there,
 * and accept an absent one; all return false, or NULL, after one error. */
#ifndef FRONT_ONNX_ONNX_HELPERS_H
#define FRONT_ONNX_ONNX_HELPERS_H

#include "front/onnx/onnx.h"
#include "front/compose/compose_packed.h"
#include "front/compose/compose_quantize.h"
#include "front/compose/compose_reduce.h"
#include "front/compose/compose_window.h"

/* Each row's importer has a prototype. */
#define ONNX_OP(domain, name, since, until, in_min, in_max, out_max, importer, variant) \
        bool importer(struct onnx_import *im, struct onnx_node *n);
#include "front/onnx/onnx_ops.def"

/* ---- operands and results ---- */

/* Returns input i, or NULL where it is absent. */
static inline struct value *onnx_input(const struct onnx_node *n, int i)
{
        return i < n->input_count ? n->inputs[i] : NULL;
}
/* Returns whether the node names the output. */
static inline bool onnx_wants(const struct onnx_node *n, int i)
{
        return i < n->output_count && n->wanted[i];
}
/* Defines output i where the node has it. Returns false where v is NULL, for which an error was
 * reported. */
static inline bool onnx_output(struct onnx_node *n, int i, struct value *v)
{
        if (i < n->output_count)
                n->outputs[i] = v;
        return v != NULL;
}

/* Returns the initializer that v is where derivatives by it may be asked for, or NULL. */
struct import_weight *onnx_weight(const struct onnx_import *im, const struct value *v);
/* Is a node that states a mode in training, as --training-mode has it? */
bool onnx_in_training(const struct onnx_import *im, bool stated);
/* Selects elements of any type: bits of floats of 8 bits, in which nothing computes. */
struct value *onnx_select(struct onnx_import *im, struct value *condition, struct value *x,
                          struct value *y);
/* Returns what a node makes, m.trained in a step of training, else m.inferred, or NULL after an
 * error. Without --train that is m.trained. */
struct value *onnx_by_mode(struct onnx_import *im, struct import_mode m);
/* Returns the type that the model declares for an output, which must be of element e, and of this
 * rank (-1: of any). */
const struct type *onnx_declared_as(struct onnx_import *im, const struct onnx_node *n, int output,
                                    enum element e, int rank);
/* Checks that the values are of one element type; NULL entries are skipped. */
bool onnx_same_element(struct onnx_import *im, const struct onnx_node *n,
                       struct value *const *values, int count);
/* Checks that the inputs whose bits are in the set are there. This is needed where optional inputs
 * stand between required ones, which a row cannot say. */
bool onnx_want_inputs(struct onnx_import *im, const struct onnx_node *n, unsigned set);
/* These check that input i is of a float type, of an integer type, of type e, of i8 or u8, of a
 * rank in [least, most]. */
bool onnx_want_float(struct onnx_import *im, const struct onnx_node *n, int i);
bool onnx_want_integer(struct onnx_import *im, const struct onnx_node *n, int i);
bool onnx_want_element(struct onnx_import *im, const struct onnx_node *n, int i, enum element e);
bool onnx_want_8_bit(struct onnx_import *im, const struct onnx_node *n, int i);
bool onnx_want_rank(struct onnx_import *im, const struct onnx_node *n, int i, int least, int most);

/* Checks that constant indices are in range: they are tuples of `width` entries, entry k in
 * [-extents[k], extents[k]). Those that only a run knows are checked by the generated code. */
bool onnx_indices_fit(struct onnx_import *im, const struct onnx_node *n,
                      const struct value *indices, const dim_t *extents, int64_t width);

/* Returns input i, which has one element and any rank, as a scalar. */
struct value *onnx_scalar(struct onnx_import *im, const struct onnx_node *n, int i);
/* These read the integer (or bool), or the numbers, of a constant operand. *known is false where
 * the operand is a run-time value. An absent operand gives the preset, or no numbers. */
bool onnx_operand_int(struct onnx_import *im, const struct onnx_node *n, int input, int64_t preset,
                      int64_t *value, bool *known);
bool onnx_operand_numbers(struct onnx_import *im, const struct onnx_node *n, int input,
                          double *values, int room, int *count, bool *known);
/* Returns an integer operand of rank 0 or 1 as a value <k x i64>. */
struct value *onnx_operand_vector(struct onnx_import *im, const struct onnx_node *n, int input);

/* Axes come from an attribute (input < 0) or an operand. */
enum onnx_axes_state { AXES_ABSENT, AXES_KNOWN, AXES_RUNTIME };
struct onnx_axes {
        enum onnx_axes_state state;
        int count;                      /* There are so many axes, in any state. */
        int64_t axes[RANK_MAX];         /* Where they are known, they are not negative, each is
                                         * there once, and they are sorted. */
        struct value *operand;          /* Where only a run knows the axes, it is <count x i64>, as
                                         * the model states them. */
};
bool onnx_axes_read(struct onnx_import *im, struct onnx_node *n, int input, const char *attribute,
                    int rank, struct onnx_axes *axes);

/* ---- attributes ---- */

/* Returns the attribute, or NULL. It counts as used from then on; its type is not checked. */
const Onnx__AttributeProto *onnx_attribute(struct onnx_node *n, const char *name);
/* Reads an integer; an absent attribute is an error. */
bool onnx_int_required(struct onnx_import *im, struct onnx_node *n, const char *name,
                       int64_t *value);
/* Reads an integer and checks that it is in [least, most]. */
bool onnx_int_range(struct onnx_import *im, struct onnx_node *n, const char *name, int64_t preset,
                    int64_t least, int64_t most, int64_t *value);
/* Finds the element type of a number of TensorProto.DataType, which errors call `what`. */
bool onnx_element_number(struct onnx_import *im, const struct onnx_node *n, const char *what,
                         int64_t number, enum element *e);
/* Accepts an attribute that means nothing for inference, as is_test and consumed_inputs do. */
bool onnx_ignore(struct onnx_import *im, struct onnx_node *n, const char *name);

/* ---- convolution and pooling windows ---- */

/* Reads kernel_shape, strides, dilations (where asked for), pads and auto_pad, and checks the range
 * of every number. `kernel` has the extents of the weights, which kernel_shape must repeat, or is
 * NULL. */
bool onnx_window_read(struct onnx_import *im, struct onnx_node *n, int rank, const int64_t *kernel,
                      bool dilations, struct compose_window *w);
/* Reads the window over x, whose weights are w, and the groups (onnx_op_conv.c). */
bool onnx_conv_read(struct onnx_import *im, struct onnx_node *n, const struct value *x,
                    const struct value *w, struct compose_window *window, int64_t *groups);
/* Returns x pooled as the attributes of AveragePool say (onnx_op_pool.c). */
struct value *onnx_average_pool(struct onnx_import *im, struct onnx_node *n, struct value *x);

/* ---- what operators of one family share ---- */

/* Reads the attribute update_rule of linear attention, and checks that decay and beta are there
 * where the rule has them, and there alone (onnx_op_attention.c). */
bool onnx_update_rule(struct onnx_import *im, struct onnx_node *n, const struct value *decay,
                      const struct value *beta);
/* Reads the attribute activation of causal convolutions: none, or silu, which is also called swish
 * (onnx_op_conv.c). */
bool onnx_silu(struct onnx_import *im, struct onnx_node *n, bool *silu);

/* ---- extents that a run's data say (onnx_counted.c) ---- */

/* Does the model say the static shape of the output, or imply it? */
bool onnx_is_declared(struct onnx_import *im, const struct onnx_node *n, int output, int rank);
/* Returns the extent of a dimension of an output: the value of `count`, one integer. It is a
 * counted symbol unless count is known; most: no run has a larger one, -1 where that is not known,
 * so that --dim has to bound it. DIM_NONE stands for an error. */
dim_t onnx_counted(struct onnx_import *im, struct onnx_node *n, int output, int dimension,
                   struct value *count, int64_t most);
/* Makes a run fail in which the flag, <bool>, holds. */
bool onnx_fail_if(struct onnx_import *im, struct onnx_node *n, struct value *flag);
/* Is the extent at most `most`? One that a run counts, and that may be more, is counted as no more
 * from here on: a run with more fails. */
bool onnx_counted_within(struct onnx_import *im, dim_t d, int64_t most);
/* Returns the extent that a run counts, at most `most`, where no node has it. */
dim_t onnx_counted_as(struct onnx_import *im, const char *name, struct value *count, int64_t most);
/* Returns how many items an output, a sequence, has at most: what --dim says, or `most`; -1 after
 * an error, as none of both is known (most is -1). */
int64_t onnx_length_most(struct onnx_import *im, struct onnx_node *n, int output, int64_t most);
/* Finds how many flags are true: constant flags are counted, else it is the extent that the model
 * declares for that dimension of output 0. */
bool onnx_how_many(struct onnx_import *im, struct onnx_node *n, const struct value *flags,
                   enum element e, int rank, int dimension, int64_t *count);
/* Returns the bound that --dim gives the dimension of an output, or -1 after an error. */
int64_t onnx_counted_most(struct onnx_import *im, struct onnx_node *n, int output, int dimension);
/* Returns element i of a vector, as a scalar: where it is put together from parts, that part. */
struct value *onnx_element(struct onnx_import *im, struct value *v, int64_t i);
/* Returns the extent of a dimension of an output that element i of a vector says: a number, a term,
 * or counted as onnx_counted says. */
dim_t onnx_extent_of(struct onnx_import *im, struct onnx_node *n, int output, int dimension,
                     struct value *v, int64_t i);
/* Sets parts[count], which lie one after the other along the axis of x, of the extents in `sizes`,
 * <at least count x i64>. They are outputs of the node, of which those that it does not name are
 * left out, or items of its only output. */
bool onnx_counted_parts(struct onnx_import *im, struct onnx_node *n, struct value *x, int axis,
                        struct value *sizes, int count, struct value **parts);
/* Returns the first elements of x along the axis, as many as `extent`. */
struct value *onnx_first(struct onnx_import *im, struct value *x, int axis, dim_t extent);
/* Returns the positions of the true ones of flags <n x bool>: known ones, as many as the model
 * declares, or counted ones. Their number is the extent of `dimension` of output 0, which is of
 * element e and of that rank. */
struct value *onnx_positions(struct onnx_import *im, struct onnx_node *n, struct value *flags,
                             enum element e, int rank, int dimension);

/* Returns the key of the next random numbers, which no other draw of the model has
 * (onnx_op_random.c). */
struct value *onnx_next_key(struct onnx_import *im);

/* ---- packed sequences (onnx_op_packed.c) ---- */

/* Reads operand i, the limits (i32) of sequences that have `rows` rows together. */
bool onnx_packed_read(struct onnx_import *im, struct onnx_node *n, int i, int64_t rows,
                      struct compose_packed *p);
/* Reads the attribute state_update_capacity, and operand i, which has a number for each sequence
 * where the capacity is not 0. *counts becomes these numbers, as i64, or NULL. */
bool onnx_captures_read(struct onnx_import *im, struct onnx_node *n, int i, int64_t sequences,
                        int64_t *capacity, struct value **counts);

/* ---- quantized tensors ---- */

/* Returns input `first` with its scale and zero point, which are the two inputs behind it. */
static inline struct compose_quantized onnx_quantized(const struct onnx_node *n, int first)
{
        return (struct compose_quantized){ onnx_input(n, first), onnx_input(n, first + 1),
                                           onnx_input(n, first + 2) };
}

#endif
