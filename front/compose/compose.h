/* SPDX-License-Identifier: MIT */
/* This room says in Tensor IR what operators of frameworks mean. A reader of a model format decodes
 * a node into values and parameter structs and calls a function of this room for its meaning;
 * nothing here knows a format, its attributes or its graphs (front/compose/README.md).
 *
 *   compose.h             the context of a call, and shorthands over the tensor builder
 *   compose_arithmetic.h  short names of arithmetic, for operators that are formulas
 *   compose_*.h           families of operators
 *
 * A function returns the value that it made, or NULL (or false) after one error. A NULL operand
 * gives NULL without a further message, so a sequence of calls is tested once, at its end. */
#ifndef FRONT_COMPOSE_COMPOSE_H
#define FRONT_COMPOSE_COMPOSE_H

#include "base/diag.h"
#include "ir/tensor/tensor.h"
#include "passes/pass.h"

/* This is the largest stride, pad, extent of a kernel and the like that a model may state. */
enum { NUMBER_MAX = INT32_MAX };

struct compose {
        struct module *m;
        struct builder *b;              /* It is the caller's builder; its region and location are
                                         * those of the operator at hand. */
        struct arena *arena;            /* Messages and lists lie here; it lives as long as the
                                         * import. */
        const struct limits *limits;
        bool exact;                     /* It says whether --exact is given: then results follow the
                                         * standard's reference where runtimes differ from it. */
        /* It is called for each error, with EXIT_INVALID or EXIT_UNSUPPORTED. The text says what is
         * wrong with the operator at hand; the caller puts the operator's name before it. */
        void (*error)(void *caller, enum exit_code code, const char *text);
        void *caller;                   /* It is the first argument of error. */
};

/* Sets up c and its builder, which folds constants, for an import into m. */
void compose_begin(struct compose *c, struct builder *b, struct module *m, struct arena *arena,
                   struct pass_context *context,
                   void (*error)(void *caller, enum exit_code code, const char *text),
                   void *caller);

/* These report one error about the operator at hand, and return false. */
bool compose_invalid(struct compose *c, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
bool compose_unsupported(struct compose *c, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* Returns the text of a type for messages, as "<1 x 3 x f32>". */
static inline const char *compose_text(const struct compose *c, const struct type *t)
{
        return type_text(c->arena, c->m, t);
}

static inline enum element value_element(const struct value *v) { return v->type->element; }
static inline int value_rank(const struct value *v) { return v->type->rank; }
static inline int64_t value_extent(const struct value *v, int i) { return type_extent(v->type, i); }
static inline int64_t compose_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t compose_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- types of results (compose.c) ---- */

/* Returns a type of extents that a model's numbers made, or NULL after an error where the rank, an
 * extent or the bytes pass a limit. */
const struct type *compose_type(struct compose *c, enum element e, int rank, const dim_t *dims);
const struct type *compose_type_static(struct compose *c, enum element e, int rank,
                                       const int64_t *extents);
/* Sets *count to how many elements these extents have. Returns false after the same errors, where
 * each element counts as a byte. */
bool compose_elements(struct compose *c, int rank, const int64_t *extents, int64_t *count);
/* Broadcasts the values to each other, as numpy does. Returns false after an error, whose text
 * calls them operand 0, operand 1, ... */
bool compose_broadcast(struct compose *c, struct value **values, int count);

/* ---- element-wise (compose.c) ---- */

struct value *compose_unary(struct compose *c, enum opcode code, struct value *x);
/* Broadcasts x and y to each other first. The caller has checked that their shapes fit. */
struct value *compose_binary(struct compose *c, enum opcode code, struct value *x, struct value *y);
/* Returns x op number. */
struct value *compose_with(struct compose *c, enum opcode code, struct value *x, double number);
/* Returns number op x. */
struct value *compose_from(struct compose *c, enum opcode code, double number, struct value *x);
/* Returns x where the condition holds, else y; all three are broadcast to each other. */
struct value *compose_select(struct compose *c, struct value *condition, struct value *x,
                             struct value *y);
/* Returns x, or y where x is less than 0. */
struct value *compose_below_zero(struct compose *c, struct value *x, struct value *y);
/* Returns a scalar of element e with this value, exact for every integer. */
struct value *compose_integer(struct compose *c, enum element e, int64_t number);

/* ---- shapes (compose.c) ---- */

struct value *compose_reshape(struct compose *c, struct value *x, int rank, const dim_t *dims);
struct value *compose_transpose(struct compose *c, struct value *x, const int64_t *perm);
/* Returns what x has at one index of the axis, which vanishes. */
struct value *compose_pick(struct compose *c, struct value *x, int axis, int64_t index);
/* Returns v broadcast to the shape of `to`, in which dimension k of v becomes dims[k]; v keeps
 * its element. */
struct value *compose_spread(struct compose *c, struct value *v, const struct type *to,
                             const int64_t *dims);
/* Returns v, one number or one for each index of the axis, broadcast to the shape of `to`. */
struct value *compose_along(struct compose *c, struct value *v, const struct type *to, int axis);
/* Returns v broadcast to the matrix, or matrices, `to`. v is one number, one for each index of
 * dimension `line` (-1: none), or of a shape that broadcasts to it. The error's text begins with
 * `what`: "the bias is". */
struct value *compose_per_line(struct compose *c, const char *what, struct value *v,
                               const struct type *to, int line);
/* Returns v, of one element, as a scalar of element e; the error's text begins with `what`: "the
 * scale". */
struct value *compose_one_number(struct compose *c, const char *what, struct value *v,
                                 enum element e);
/* Returns the `extent` elements of x along the axis from `start` on, and all along the other
 * axes. */
struct value *compose_part(struct compose *c, struct value *x, int axis, int64_t start,
                           int64_t extent);
/* Does the same where a run may give the extent. */
struct value *compose_span(struct compose *c, struct value *x, int axis, int64_t start,
                           dim_t extent);
/* Returns x, cut to `extent` along the axis, or filled up with zeros behind its end. */
struct value *compose_fitted(struct compose *c, struct value *x, int axis, int64_t extent);
/* Returns the extent as an i64. */
struct value *compose_extent(struct compose *c, dim_t extent);
/* Returns the extents as <rank x i64>. */
struct value *compose_extents(struct compose *c, int rank, const dim_t *dims);
/* Returns the numbers 0, 1, ..., count - 1. */
struct value *compose_iota(struct compose *c, enum element e, int64_t count);

/* ---- reductions (compose_reduce.c) ---- */

/* Reduces x along the axes; without axes it returns x itself. The accumulator is an element, or
 * E_COMPUTE. */
struct value *compose_reduce(struct compose *c, enum reducer kind, struct value *x,
                             const int64_t *axes, int count, int accumulator);
/* Returns the first (or last) position of the maximum (or minimum) along the axis, as i32 or, for
 * long axes, i64; the axis vanishes. NaN counts as the maximum, and as the minimum. */
struct value *compose_arg_reduce(struct compose *c, struct value *x, enum reducer kind, int axis,
                                 bool last);
/* The first returns a reduced value broadcast to the shape that it was reduced from (`full`), the
 * second one with its axes kept as dimensions of extent 1. */
struct value *compose_unreduce(struct compose *c, struct value *reduced, const struct type *full,
                               const int64_t *axes, int count);
struct value *compose_keep(struct compose *c, struct value *reduced, const struct type *full,
                           const int64_t *axes, int count);
/* Returns how many elements of x lie along the axes, as a scalar of type e. */
struct value *compose_count(struct compose *c, struct value *x, const int64_t *axes, int count,
                            enum element e);
/* Returns the mean over the axes, in the wide type of x. */
struct value *compose_mean(struct compose *c, struct value *x, const int64_t *axes, int count);
/* Sets axes to first, ..., rank - 1, and returns how many these are. */
int compose_axes_from(int first, int rank, int64_t *axes);

/* ---- products of matrices (compose_matmul.c) ---- */

/* Returns the product of a and b, whose first `batch` dimensions correspond to each other; one
 * dimension of each is contracted. */
struct value *compose_dot(struct compose *c, struct value *a, struct value *b, int batch,
                          int contract_a, int contract_b, int accumulator);
/* Multiplies as numpy.matmul does, operands of one element type: a of rank 1 is a row, b of rank 1
 * a column, and batches are broadcast to each other. */
struct value *compose_matmul(struct compose *c, struct value *a, struct value *b);
struct value *compose_matmul_as(struct compose *c, struct value *a, struct value *b,
                                int accumulator);

/* ---- conversions, also to and from types that nothing computes in (compose_convert.c) ---- */

/* Returns x converted to e; a number that is too large for a narrow float becomes the largest. */
struct value *compose_cast(struct compose *c, struct value *x, enum element e);
/* Returns the type that sequences of operations are computed in: f32 for f16 and bf16, else e. */
enum element compose_wide_element(enum element e);
struct value *compose_wide(struct compose *c, struct value *x);

enum compose_round { ROUND_UP, ROUND_DOWN, ROUND_NEAREST };
struct compose_conversion {
        bool saturate;                  /* In floats of 8 bits, a number that is too large becomes
                                         * the largest one, not infinity or NaN. */
        enum compose_round round;       /* It says which power of 2 a number becomes in f8e8m0. */
};
struct value *compose_convert(struct compose *c, struct value *x, enum element to,
                              const struct compose_conversion *how);
/* Returns the type that operations compute in to which e converts without loss: f32, i8 or u8 for
 * types that none computes in, else e. */
enum element compose_plain_element(enum element e);
/* Returns the extent less a number, as a scalar of the float e. */
struct value *compose_extent_less(struct compose *c, enum element e, dim_t extent, int fewer);
/* Returns x's bits as another type of equal size. */
struct value *compose_as_bits(struct compose *c, struct value *x, enum element to);
/* Returns how many bits a number has. One of less than 8 bits has a byte of its own in memory,
 * while a model packs as many as fit into a byte. */
int compose_narrow_bits(enum element e);
/* Finds the range of an integer type of less than 8 bits; returns false for other types. */
bool compose_integer_range(enum element e, double *least, double *most);

/* ---- loops (compose_loop.c) ---- */

/* These are the parts that a loop is made of; struct op_loop says more about them. */
struct compose_loop_parts {
        struct value *trip;             /* It is an i64 that says how many iterations there are;
                                         * where it is NULL there are `steps`. */
        struct value *go;               /* It is a bool that says whether the loop goes on; where it
                                         * is NULL it does. */
        struct value *const *first;     /* These [carried] are the values before the first
                                         * iteration. */
        struct value *const *scans;     /* An iteration reads a row of each of these [scanned]. */
        int64_t steps;                  /* The loop has at most so many iterations. */
        int carried, scanned;
        int stacked;                    /* So many results are made of a row for each iteration. */
        const int64_t *scan_backward;   /* Where scan_backward[scanned] is not 0, rows are read from
                                         * the last on; NULL stands for zeros. */
        const int64_t *stack_backward;  /* Where stack_backward[stacked] is not 0, rows are written
                                         * from the last on; NULL stands for zeros. */
};
struct compose_loop {
        struct op *op;
        struct compose_loop_parts parts;
        dim_t extent;                   /* Scanned values have so many rows, as a run says. NONE:
                                         * they have `steps`. */
        struct value *last;             /* It is the number of the last of `extent` rows, an i64. */
        struct value *number;           /* It is the number of the iteration. */
        struct value *held;             /* These [carried] are the carried values in the region. */
        struct value **rows;            /* These [scanned] are the rows in the region. */
        struct value **stacks;          /* These [stacked] are the results made of rows, once the
                                         * loop is closed. */
        struct region *outer;           /* The region that the loop stands in. */
};
/* Between the two calls, operations are built in the loop's region. The yielded values are `go`
 * where the loop has it, the next carried values, and the rows of stacks. A NULL among them is an
 * error that was reported. Where yielded is NULL the body is given up: the result is false, and
 * operations are built in the outer region again. Where a run gives how many rows the scanned
 * values have, at most `steps`, there are as many iterations, trip is NULL, and stacks have as many
 * rows. */
bool compose_loop_open(struct compose *c, const struct compose_loop_parts *parts,
                       struct compose_loop *loop);
bool compose_loop_close(struct compose *c, struct compose_loop *loop, struct value *const *yielded);

#endif
