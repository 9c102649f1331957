/* SPDX-License-Identifier: MIT */
/* What type rules share. A rule sees an operation that fits its row (operand count and kinds,
 * attribute ranges); it checks the rest, fills in INTS, and sets or checks result types. All of
 * these report one error and return false or NULL. */
#ifndef IR_TENSOR_TYPE_RULES_H
#define IR_TENSOR_TYPE_RULES_H

#include "ir/tensor/ops.h"

enum { STEP_MAX = INT32_MAX };          /* The bound of strides, dilations, windows and pads. */

/* Reports "node 'conv1' (convolve): ..." or "convolve: ...". */
bool rule_fail(const struct op *op, struct diag *diag, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
bool rule_result(struct module *m, struct op *op, int result, const struct type *inferred,
                 struct diag *diag);
/* Sets or checks the only result, from the parts of its type. */
bool rule_shape(struct module *m, struct op *op, enum element e, int rank, const dim_t *dims,
                struct diag *diag);
/* Returns the given type of the only result: a tensor of element e (where e >= 0) and rank (where
 * rank >= 0). */
const struct type *rule_given(struct module *m, struct op *op, int e, int rank, struct diag *diag);
bool rule_axis(const struct op *op, int64_t axis, int rank, const char *name, struct diag *diag);
/* Checks operand 1, indices of something with this extent. */
bool rule_indices(struct module *m, const struct op *op, dim_t extent, struct diag *diag);
/* Returns an INTS attribute at its full length, with each entry in [least, most]. */
const int64_t *rule_ints(struct module *m, struct op *op, const char *name, int count,
                         int64_t least, int64_t most, struct diag *diag);
/* The same; a list of one stands for all entries. */
const int64_t *rule_ints_of_all(struct module *m, struct op *op, const char *name, int count,
                                int64_t least, int64_t most, struct diag *diag);
/* Checks for distinct numbers in [0, limit). */
bool rule_distinct(const struct op *op, const char *name, const int64_t *ints, int count, int limit,
                   struct diag *diag);
/* Checks that a SHAPE operand's length is `length`; *known: it is constant, and ints hold it. */
bool rule_operand_ints(const struct op *op, int operand, int length, int64_t *ints, bool *known,
                       struct diag *diag);
/* Sums take elements that are numbers; a reducer for which this is true also takes bool. */
static inline bool reducer_takes_any(enum reducer kind)
{
        return kind == REDUCE_max || kind == REDUCE_min;
}
bool rule_combines(const struct op *op, enum element e, bool any, struct diag *diag);
/* Checks the same, with the accumulator rules of ops.def; *e: the result's element. */
bool rule_accumulator(const struct op *op, enum element operand, bool any, enum element *e,
                      struct diag *diag);

/* Returns the number of positions of a window of extent `window` (dilated) over `x` (dilated)
 * elements; pads: low + high. */
dim_t rule_positions(struct module *m, dim_t x, int64_t window, int64_t stride, int64_t pads);

static inline const struct type *operand_type(const struct op *op, int i)
{
        return op->operands[i].value->type;
}
/* Returns text for messages. */
const char *rule_type(struct module *m, const struct type *t);
const char *rule_dim(struct module *m, dim_t d);

#endif
