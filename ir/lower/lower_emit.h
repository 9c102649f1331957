/* SPDX-License-Identifier: MIT */
/* Inside the lowering: a kernel while it is written, and helpers that several element functions
 * share. Only the lower*.c files and
 * scheduled lowerings (kernels/) include this; what others may use is in lower.h. */
#ifndef IR_LOWER_EMIT_H
#define IR_LOWER_EMIT_H

#include "ir/loop/fail_codes.h"
#include "ir/lower/lower.h"

/* A fused kernel writes its producers out where they are read. These bounds keep a hostile fusion
 * from growing without end; the fuse pass stays far below them. */
enum {
        EMIT_DEPTH_MAX = 400,           /* producers of producers: bounds our recursion */
        EMIT_SCOPE_MAX = 80,            /* nested blocks: bounds everyone's recursion */
        EMIT_WORK_MAX = 20000,          /* elements written out */
        EMIT_INLINE_MAX = 24            /* nodes of an expression before it gets a name */
};

/* ---- scopes: the open blocks, innermost first ---- */

enum scope_kind {
        SCOPE_KERNEL, SCOPE_FOR, SCOPE_IF,
        SCOPE_ARM                       /* one side of a choice, not yet part of the kernel */
};

/* The statement of a scope joins its parent's block when the scope closes: until then statements
 * that do not depend on the loop can still be put before it. */
struct scope {
        struct scope *parent;
        enum scope_kind kind;
        int depth;
        bool certain;                   /* a loop that runs at least once */
        struct loop_block *block;
        struct loop_stmt *stmt;         /* NULL: nothing to join */
        bool closed;
};

/* An element that has a name: valid until its scope closes. */
struct memo {
        bool computed;                  /* in the compute type */
        struct loop_expr **index;
        struct loop_variable *variable;
        const struct scope *scope;
        struct memo *next;
};

/* where the elements of a value lie: start + index[d] * stride[d] + ... */
struct emit_place {
        struct loop_buffer *buffer;
        struct loop_expr *start;
        int64_t stride[RANK_MAX];
};

/* The last `kept` rows (a dimension) of one image of a value; with `from`, of another dimension
 * `width` columns from there on. */
struct emit_circular {
        struct loop_buffer *buffer;
        int rows, columns;
        int64_t kept, width;
        struct loop_expr *from;
};

/* What is known of a value in this kernel. */
struct local {
        const struct value *value;
        bool inside;                    /* computed here, not loaded */
        int uses;                       /* by operations of this kernel */
        const char *role;               /* name of the operand it first stands for */
        struct memo *memos;
        unsigned splits;                /* of a result computed here: see lower_splits.c */
        struct loop_buffer *parameter;  /* once loaded */
        struct loop_expr *read;         /* where it was first loaded, and in which nest */
        int nest;
        bool mixed;                     /* loaded elsewhere, too */
        const struct emit_place *place;      /* it has been computed, and lies there */
        unsigned loops;                 /* over the row that need an element: see lower_rows.c */
        bool overlaps, elsewhere;       /* a scheduled kernel reads an element just before it stores
                                         * it; or other ones */
        const struct emit_circular *circular;   /* elements computed before are read from there */
        void *state;                    /* of the operation with this first result */
};

/* dimensions that share a loop; those between them have extent 1 */
struct loop_group { int first, last; int64_t extent; };

/* The rows of a kernel that reduces along them what it computes their elements from: see
 * lower_rows.c. */
struct rows {
        unsigned along;                 /* dimensions of the result that lie along a row; 0: there
                                         * are no rows */
        struct loop_group groups[RANK_MAX];       /* the loops over a row */
        int group_count;
        const struct loop_variable *around[RANK_MAX];     /* variables of those around it */
        int around_count;
        const struct value *kept;       /* computed once, and kept where the result will be; or
                                         * NULL */
        struct emit_place place;             /* of the result */
        struct loop_expr *row[RANK_MAX];          /* which row is kept now, */
        const struct scope *scope;                /* until this closes */
        struct scope *from;
        int written;                    /* how often code that keeps a row was written */
};

struct emit {
        struct arena *arena;
        const struct loop_library *library;
        const struct lower_options *options;
        struct diag *diag;
        bool *too_large;                /* set instead of reporting that; NULL: reported */
        bool failed;                    /* an error was reported; what follows is thrown away */
        const char *described;          /* for messages */
        struct local **locals;          /* hash table by value */
        size_t local_room;
        struct loop_function *kernel;
        struct value **inputs;          /* of the parameters, in order */
        struct loop_buffer **parameters;
        int input_count;
        struct loop_buffer **results;   /* of the request, in order */
        struct loop_buffer *whole;      /* result of the kernel's only operation, which stores it
                                         * itself (lower_whole.c); or NULL */
        struct loop_buffer **scratch;    /* parameters behind the results */
        int scratch_count;
        struct scope *scope, *outermost;
        struct name *names[128];
        int nest;                       /* number of the loop nest being written */
        int depth, work;
        struct rows rows;
};

/* ---- context (lower.c) ---- */

void emit_start(struct emit *e);                          /* after arena, options, ... are set */
struct local *emit_local(struct emit *e, const struct value *v);          /* found or added */
const char *emit_name(struct emit *e, const char *stem);  /* not yet in use in this kernel */
void emit_error(struct emit *e, enum exit_code code, const char *what);   /* only the first one */

/* Statements that stand once, before everything else, between emit_prologue and emit_resume of what
 * it returned. emit_state: where an operation keeps what it computed there; NULL at first. */
struct scope *emit_prologue(struct emit *e);
void emit_resume(struct emit *e, struct scope *scope);
void **emit_state(struct emit *e, const struct op *op);
/* memory of the kernel's own for the length of a call: a parameter behind the results, read and
 * written */
struct loop_buffer *emit_scratch(struct emit *e, const char *name, enum element element,
                                 int64_t elements);

void emit_store(struct emit *e, struct loop_buffer *buffer, struct loop_expr *position,
                struct loop_expr *value);
/* a lane's copy of so many elements into shared memory; there: or zeros, NULL: always */
void emit_copy(struct emit *e, struct loop_buffer *to, struct loop_expr *at,
               struct loop_buffer *from, struct loop_expr *place, struct loop_expr *there,
               int elements);
/* From here until emit_resume, statements go out of the loops that index does not depend on, as far
 * as these run at least once. For what may be read as soon as its index is known. */
struct scope *emit_outward(struct emit *e, int rank, struct loop_expr *const *index);
/* what is bound there can be used here */
bool emit_sees(const struct emit *e, const struct scope *scope);

/* the element of v as another type; over the compute type only where that makes a difference */
struct loop_expr *emit_as(struct emit *e, enum element to, const struct value *v,
                          struct loop_expr *const *index);

/* a let of index arithmetic (no loads), before all loops and conditions it does not depend on;
 * leaves as they are */
struct loop_expr *emit_let_early(struct emit *e, const char *name, struct loop_expr *value);

/* condition ? arm(1) : arm(0), where only the chosen arm's loads and statements run: a SELECT when
 * neither has statements, else a variable set by an IF. */
typedef struct loop_expr *(*emit_arm)(struct emit *e, void *context, int arm);
struct loop_expr *emit_choose(struct emit *e, struct loop_expr *condition, emit_arm arm,
                              void *context);

/* ---- for scheduled kernels (kernels/) ---- */

/* Opens a loop of a grid, from 0 on, however often it runs; its variable. */
struct loop_expr *emit_grid(struct emit *e, const char *name, enum loop_for_kind kind,
                            int64_t count);
/* step and kind of the loop that emit_for has just opened (nothing when that left it out) */
void emit_loop(struct emit *e, int64_t step, bool parallel);
/* Opens a block that stands nowhere yet, until emit_end: the caller puts its statements
 * somewhere. */
struct loop_block *emit_aside(struct emit *e);
/* the parameter that v, computed elsewhere, is read from; wherever the caller likes */
struct loop_buffer *emit_parameter(struct emit *e, const struct value *v);
/* From here on, elements of v (computed in this kernel) are read from a circular buffer. */
void emit_read_circular(struct emit *e, const struct value *v,
                        const struct emit_circular *circular);
/* where the element of v at index is in it */
struct loop_expr *emit_circular_position(struct emit *e, const struct value *v,
                                         const struct emit_circular *circular,
                                         struct loop_expr *const *index);
/* Of the loads in a block that ends with a store of `at`: those of the same subscript may be of the
 * memory that is stored to, unless they are marked otherwise before or after. */
void emit_mark_overlaps(struct emit *e, const struct loop_block *block, const struct loop_expr *at);
/* ... that ends with stores of all these, behind all of its loads */
void emit_mark_all_overlaps(struct emit *e, const struct loop_block *block,
                            struct loop_expr *const *at, int count);
/* until the innermost scope closes, the element of v at index is `variable` */
void emit_define(struct emit *e, const struct value *v, struct loop_expr *const *index,
                 struct loop_variable *variable);

/* shorthands */
struct loop_expr *emit_op(struct emit *e, enum loop_opcode op, struct loop_expr *a,
                          struct loop_expr *b);
struct loop_expr *emit_op_int(struct emit *e, enum loop_opcode op, struct loop_expr *a, int64_t b);
struct loop_expr *emit_int(struct emit *e, int64_t value);                /* of type index */
struct loop_expr *emit_number(struct emit *e, enum element element, int64_t value);

/* ---- positions (lower.c) ---- */

/* row-major position of index in dims */
struct loop_expr *emit_position(struct emit *e, int rank, const dim_t *dims,
                                struct loop_expr *const *index);
struct emit_place emit_row_major(struct emit *e, struct loop_buffer *buffer, const struct type *t);
struct loop_expr *emit_at(struct emit *e, const struct emit_place *place, int rank,
                          struct loop_expr *const *index);
/* the index that stands for a flat position where nothing splits the dimensions: all of it in the
 * last one that has more than one index */
void emit_flat_index(struct emit *e, const struct type *t, struct loop_expr *position,
                     struct loop_expr **index);
/* index in one shape -> index in another of as many elements; dimensions that agree pass through */
void emit_reindex(struct emit *e, int rank, const dim_t *dims, struct loop_expr *const *index,
                  int to_rank, const dim_t *to_dims, struct loop_expr **to_index);

/* An operand that says where or how much: entry k, an i64, literal when constant. Run-time ones are
 * read in the prologue and get `name`; checks are the caller's, before it makes an index of it. */
struct loop_expr *emit_amount(struct emit *e, const char *name, const struct value *v, int k);
/* An index that data says, in -extent..extent-1: checked, negative ones wrapped. In tuples of
 * `width` it is number entry. */
struct loop_expr *emit_subscript(struct emit *e, const struct op *op, const struct value *indices,
                                 struct loop_expr *const *index, int entry, int width,
                                 int64_t extent);

/* ---- windows (lower_window.c): convolve, reduce_window, arg_window ---- */

/* One dimension: the window at result position o and offset k reads x at
 * (o * stride + k * dilation - low) / spread, where that divides and lies in x. */
struct tap { int64_t extent, positions, window, stride, dilation, spread, low; };
/* of dimension d of operand 0, as op's relation says */
struct tap emit_tap_of(const struct op *op, int d);
/* Opens the loop over the offsets that can lie in x (and the test for the spread); *k the offset,
 * *i the index in x. Returns how many scopes it opened. */
int emit_tap(struct emit *e, const struct tap *tap, const char *suffix, struct loop_expr *o,
             struct loop_expr **k, struct loop_expr **i);
const char *emit_spatial_suffix(struct emit *e, int axis, int rank);      /* d, h, w */

/* the neutral element of a reducer for results of `element`, in compute type */
struct loop_expr *emit_identity(struct emit *e, enum reducer kind, enum element element,
                                enum element compute);

/* ---- running sums (lower_window.c) ----
 *
 * The dimension along which every window of op reaches back to the first element, so that each
 * result is the one before with an element more, the same bits; -1: none. Where that runs
 * innermost, running_begin stands before its loop and running_next in it, before anything asks for
 * the element at that index. */
int running_axis(const struct op *op);
void running_begin(struct emit *e, const struct op *op);
void running_next(struct emit *e, const struct op *op, struct loop_expr *const *index);

/* ---- loops side by side (lower_merge.c) ---- */

/* reductions of the same row in one loop, in a kernel that is complete */
void emit_merge_loops(struct loop_block *block);

/* ---- rows (lower_rows.c): softmax, norms ---- */

/* the rows of a kernel that computes `result`, stored in place; emit->rows.along is 0 where there
 * are none */
void rows_find(struct emit *e, const struct region *region, const struct value *result,
               const struct emit_place *place);
/* what `operand` holds may lie where the result does, as far as the operations say: it is not read
 * behind what is stored first */
bool rows_end_with(struct emit *e, const struct region *region, const struct value *operand,
                   const struct value *result);
/* loops over a row go behind the others: how many these are */
int rows_order(struct emit *e, struct loop_group *groups, int count);
/* one that is now open around the row */
void rows_stand_in(struct emit *e, const struct loop_expr *index);
/* The element of emit->rows.kept at index. rows_begin: its row is not there yet, and loops are open
 * that store at the index *at what rows_end is given. */
bool rows_begin(struct emit *e, struct loop_expr *const *index, struct loop_expr **at);
void rows_end(struct emit *e, struct loop_expr *const *at, struct loop_expr *value);
struct loop_expr *rows_load(struct emit *e, struct loop_expr *const *index);
/* x, of as many elements of as many bytes, may lie where y does */
bool rows_may_overlap(const struct emit *e, const struct loop_buffer *x,
                      const struct loop_buffer *y);

/* splits of op's results, from those of its operands (lower_splits.c) */
unsigned op_splits(struct emit *e, const struct op *op);

/* ---- kernels (lower_kernel.c, lower_describe.c, lower_copy.c) ---- */

/* What a kernel computes: the results of a fusion's region, of one operation, or (neither) copies
 * of values. */
struct kernel_request {
        const struct region *region;
        const struct op *op;
        struct value *const *results;
        int result_count;
        bool *too_large;                /* set instead of reporting that it is; may be NULL */
        bool *refused;                  /* set where the scheduler cannot write it, instead of
                                         * writing it otherwise; may be NULL */
};
/* Another way to write a kernel than by loops over its result: into buffer, its first result;
 * others are emit->results. False when it cannot, and then the kernel is begun anew without it. */
struct kernel_scheduler {
        bool (*wants)(const struct kernel_request *request, const struct target *target);
        bool (*write)(struct emit *e, const struct kernel_request *request,
                      struct loop_buffer *buffer);
};
/* of a fusion: its region and what that yields */
void kernel_request_fusion(struct arena *arena, struct kernel_request *request,
                           const struct op *op);
/* A kernel of its own memory, in arena, not yet part of a program. NULL after an error. */
struct loop_function *kernel_write(struct arena *arena, const struct loop_library *library,
                                   const struct kernel_request *request,
                                   const struct lower_options *options, struct value ***inputs,
                                   int *input_count, struct diag *diag);
/* operations on floats, or products of a contraction of any elements, of an operation that is
 * computed once */
double op_flops(const struct op *op);
/* name, location, summary and flops */
void kernel_describe(struct arena *arena, struct loop_function *kernel,
                     const struct kernel_request *request);
/* a deep copy; no two places of it share an expression */
struct loop_function *kernel_copy(struct arena *arena, const struct loop_function *kernel);

#endif
