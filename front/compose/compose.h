/* SPDX-License-Identifier: MIT */
/* What operators of frameworks mean, as Tensor IR. A reader of a model format decodes a node into
 * values and parameter structs and calls a function of this room for its meaning; nothing here
 * knows a format, its attributes or its graphs (front/compose/README.md).
 *
 *   compose.h             the context of a call, and shorthands over the tensor builder
 *   compose_arithmetic.h  arithmetic in short, for operators that are formulas
 *   compose_*.h           families of operators
 *
 * A function returns the value that it made, or NULL (or false) after one error. A NULL operand
 * gives NULL without a further message, so a chain of calls is tested once, at its end. */
#ifndef FRONT_COMPOSE_COMPOSE_H
#define FRONT_COMPOSE_COMPOSE_H

#include "base/diag.h"
#include "ir/tensor/tensor.h"
#include "passes/pass.h"

/* the largest stride, pad, kernel, ... that a model may state */
enum { NUMBER_MAX = INT32_MAX };

struct compose {
        struct module *m;
        struct builder *b;              /* the caller's; its region and location are those of the
                                         * operator at hand */
        struct arena *arena;            /* of messages and lists; lives as long as the import */
        const struct limits *limits;
        bool exact;                     /* numbers of the standard's reference, where those of
                                         * runtimes differ (--exact) */
        /* Told of each error: EXIT_INVALID, or EXIT_UNSUPPORTED. The text says what is wrong with
         * the operator at hand, whose name the caller puts before it. */
        void (*error)(void *caller, enum exit_code code, const char *text);
        void *caller;
};

/* One error about the operator at hand. Both return false. */
bool compose_invalid(struct compose *c, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
bool compose_unsupported(struct compose *c, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

static inline enum element value_element(const struct value *v) { return v->type->element; }
static inline int value_rank(const struct value *v) { return v->type->rank; }
static inline int64_t value_extent(const struct value *v, int i) { return type_extent(v->type, i); }
static inline int64_t compose_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t compose_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- types of results (compose.c) ---- */

/* A type of extents that a model's numbers made: NULL after an error when the rank, an extent or
 * the bytes pass a limit. */
const struct type *compose_type(struct compose *c, enum element e, int rank, const dim_t *dims);
const struct type *compose_type_static(struct compose *c, enum element e, int rank,
                                       const int64_t *extents);
/* how many elements have such extents; false after the same errors, of a byte each */
bool compose_elements(struct compose *c, int rank, const int64_t *extents, int64_t *count);
/* The values over the shape of their numpy broadcast; false after an error, which numbers them as
 * operands. */
bool compose_broadcast(struct compose *c, struct value **values, int count);

/* ---- element-wise (compose.c) ---- */

struct value *compose_unary(struct compose *c, enum opcode code, struct value *x);
/* two operands are broadcast to each other (their shapes fit, or that is a bug of ours) */
struct value *compose_binary(struct compose *c, enum opcode code, struct value *x, struct value *y);
/* x op number */
struct value *compose_with(struct compose *c, enum opcode code, struct value *x, double number);
/* number op x */
struct value *compose_from(struct compose *c, enum opcode code, double number, struct value *x);
/* x where the condition holds, else y */
struct value *compose_select(struct compose *c, struct value *condition, struct value *x,
                             struct value *y);
/* x where it is 0 or more, or NaN; else y */
struct value *compose_below_zero(struct compose *c, struct value *x, struct value *y);
/* a scalar of element e with this value, exact for every integer */
struct value *compose_integer(struct compose *c, enum element e, int64_t number);

/* ---- shapes (compose.c) ---- */

struct value *compose_reshape(struct compose *c, struct value *x, int rank, const dim_t *dims);
/* v's dimensions become dims[k] of to's shape; v keeps its element */
struct value *compose_spread(struct compose *c, struct value *v, const struct type *to,
                             const int64_t *dims);
/* v is a scalar or [extent of axis]: over to's shape */
struct value *compose_along(struct compose *c, struct value *v, const struct type *to, int axis);
/* v over the matrix, or matrices, `to`: one number, one for each index of dimension `line` (-1:
 * none), or of a shape that broadcasts to it. The error's text begins with `what`: "the bias is". */
struct value *compose_per_line(struct compose *c, const char *what, struct value *v,
                               const struct type *to, int line);
/* v, of one element, as a scalar of element e; the error's text begins with `what`: "the scale" */
struct value *compose_one_number(struct compose *c, const char *what, struct value *v,
                                 enum element e);
/* `extent` of x along the axis, from `start` on; of each axis else all */
struct value *compose_part(struct compose *c, struct value *x, int axis, int64_t start,
                           int64_t extent);
/* x along axis, cut or filled with 0 to `extent` */
struct value *compose_fitted(struct compose *c, struct value *x, int axis, int64_t extent);
/* 0, 1, ..., count - 1 */
struct value *compose_iota(struct compose *c, enum element e, int64_t count);

/* ---- reductions (compose_reduce.c) ---- */

/* accumulator: an element, or E_COMPUTE; no axes: x itself */
struct value *compose_reduce(struct compose *c, enum reducer kind, struct value *x,
                             const int64_t *axes, int count, int accumulator);
/* the first (or last) position along the axis that holds the maximum (or minimum), of i32 or i64;
 * the axis vanishes. NaN is the maximum and the minimum. */
struct value *compose_arg_reduce(struct compose *c, struct value *x, enum reducer kind, int axis,
                                 bool last);
/* a reduced value back over the shape it was reduced from, or with the axes kept as extents 1 */
struct value *compose_unreduce(struct compose *c, struct value *reduced, const struct type *full,
                               const int64_t *axes, int count);
struct value *compose_keep(struct compose *c, struct value *reduced, const struct type *full,
                           const int64_t *axes, int count);
/* mean over axes, in the wide type of x */
struct value *compose_mean(struct compose *c, struct value *x, const int64_t *axes, int count);
/* first, ..., rank - 1; how many */
int compose_axes_from(int first, int rank, int64_t *axes);

/* ---- products of matrices (compose_matmul.c) ---- */

/* the first `batch` dimensions are shared, one dimension of each is contracted */
struct value *compose_dot(struct compose *c, struct value *a, struct value *b, int batch,
                          int contract_a, int contract_b, int accumulator);
/* numpy.matmul of operands of equal element type: 1-D ones are a row and a column, batches
 * broadcast */
struct value *compose_matmul(struct compose *c, struct value *a, struct value *b);
struct value *compose_matmul_as(struct compose *c, struct value *a, struct value *b,
                                int accumulator);

/* ---- conversions, also to and from types that nothing computes in (compose_convert.c) ---- */

/* to narrow floats: saturates */
struct value *compose_cast(struct compose *c, struct value *x, enum element e);
/* f16 and bf16 as f32: what chains of operations are computed in */
enum element compose_wide_element(enum element e);
struct value *compose_wide(struct compose *c, struct value *x);

enum compose_round { ROUND_UP, ROUND_DOWN, ROUND_NEAREST };
struct compose_conversion {
        bool saturate;                  /* to floats of 8 bits: what is too large becomes the
                                         * largest, not infinite or NaN */
        enum compose_round round;       /* to f8e8m0 */
};
struct value *compose_convert(struct compose *c, struct value *x, enum element to,
                              const struct compose_conversion *how);
/* what such a type is converted to without loss: f32, i8 or u8; any other: itself */
enum element compose_plain_element(enum element e);
/* the same bits as another type of equal size */
struct value *compose_as_bits(struct compose *c, struct value *x, enum element to);
/* of a number; such types are a byte each in memory, and as many in a model as fit into one */
int compose_narrow_bits(enum element e);
/* of integers below 8 bits; false: it is none */
bool compose_integer_range(enum element e, double *least, double *most);

/* ---- loops (compose_loop.c) ---- */

/* What a loop is made of, as struct op_loop says; lists of directions may be NULL: all forward. */
struct compose_loop_parts {
        struct value *trip, *go, *const *first, *const *scans;
        int64_t steps;
        int carried, scanned, stacked;
        const int64_t *scan_backward, *stack_backward;
};
struct compose_loop {
        struct op *op;
        struct value *number, *held, *rows;       /* arguments of its region */
        struct region *outer;           /* where the loop stands */
};
/* Between the two, what is built goes into the loop's region. yielded: go, where it has that, the
 * next carried values, rows of stacks; a NULL among them is an error that was reported. yielded
 * itself is NULL where the body was given up: false, and what is built goes to the outer region. */
bool compose_loop_open(struct compose *c, const struct compose_loop_parts *parts,
                       struct compose_loop *loop);
bool compose_loop_close(struct compose *c, struct compose_loop *loop, struct value *const *yielded);

#endif
