/* SPDX-License-Identifier: MIT */
/* Inside the lowering: a kernel while it is written, and helpers that several element functions
 * share. Only the lower*.c files and
 * scheduled lowerings (kernels/) include this; what others may use is in lower.h. */
#ifndef IR_LOWER_LOWER_EMIT_H
#define IR_LOWER_LOWER_EMIT_H

#include "ir/loop/fail_codes.h"
#include "ir/lower/lower.h"

/* A fused kernel writes its producers out where they are read. These bounds keep a hostile fusion
 * from growing without end; the fuse pass stays far below them. */
enum {
        EMIT_DEPTH_MAX = 400,           /* Producers of producers: it bounds the recursion of the
                                         * lowering. */
        EMIT_SCOPE_MAX = 80,            /* Nested blocks: it bounds the recursion of all later
                                         * passes. */
        EMIT_WORK_MAX = 20000,          /* This many elements are written out. */
        EMIT_INLINE_MAX = 24            /* An expression has this many nodes before it gets a
                                         * name. */
};

/* ---- scopes: the open blocks, innermost first ---- */

enum scope_kind {
        SCOPE_KERNEL, SCOPE_FOR, SCOPE_IF,
        SCOPE_ARM                       /* The scope is one side of a choice, which is not yet part
                                         * of the kernel. */
};

/* A scope is an open block. Its statement joins the parent's block when the scope closes: until
 * then statements that do not depend on the loop can still be put before it. */
struct scope {
        struct scope *parent;
        enum scope_kind kind;
        int depth;
        bool certain;                   /* The scope is a loop that runs at least once. */
        struct loop_block *block;
        struct loop_stmt *stmt;         /* NULL: there is nothing to join. */
        bool closed;
};

/* A memo is an element that has a name; it is valid until its scope closes. */
struct memo {
        bool computed;                  /* The element is in the compute type. */
        struct loop_expr **index;
        struct loop_variable *variable;
        const struct scope *scope;
        struct memo *next;
};

/* The elements of a value lie at start + index[d] * stride[d] + ...; pitch[d], where it is not
 * NULL, stands for a stride that only a run knows. */
struct emit_place {
        struct loop_buffer *buffer;
        struct loop_expr *start;
        int64_t stride[RANK_MAX];
        struct loop_expr *pitch[RANK_MAX];
};

/* The struct holds the last `kept` rows (along dimension `rows`) of one image of a value; with
 * `from`, they have `width` columns of another dimension from there on. */
struct emit_circular {
        struct loop_buffer *buffer;
        int rows, columns;
        int64_t kept, width;
        struct loop_expr *from;
};

/* A local has what is known of a value in the kernel. */
struct local {
        const struct value *value;
        bool inside;                    /* The value is computed here, not loaded. */
        int uses;                       /* The number of its uses by operations of this kernel. */
        const char *role;               /* The operand that it first stands for has this name. */
        struct memo *memos;
        unsigned splits;                /* A result computed here has these splits
                                         * (lower_splits.c). */
        struct loop_buffer *parameter;  /* Its parameter, once it has been loaded. */
        struct loop_expr *read;         /* The value was first loaded at this subscript, in this
                                         * nest. */
        int nest;
        bool mixed;                     /* The value is loaded at another subscript, too. */
        const struct emit_place *place;      /* The value has been computed, and lies there. */
        unsigned loops;                 /* These loops over the row need an element of the value
                                         * (lower_rows.c). */
        bool overlaps, elsewhere;       /* A scheduled kernel reads an element of it just before it
                                         * stores that element; or reads other ones. */
        const struct emit_circular *circular;   /* Elements that were computed before are read from
                                                 * there. */
        void *state;                    /* The operation with this first result has this state. */
};

/* Dimensions that share a loop; those between them have extent 1. */
struct loop_group { int first, last; struct loop_expr *extent; };

/* The struct describes the rows of a kernel whose elements are computed from reductions along the
 * row (lower_rows.c). */
struct rows {
        unsigned along;                 /* Each dimension of the result that lies along a row has a
                                         * bit; 0: there are no rows. */
        struct loop_group groups[RANK_MAX];       /* The groups are the loops over a row. */
        int group_count;
        const struct loop_variable *around[RANK_MAX];     /* The loops around these have the
                                                           * variables. */
        int around_count;
        const struct value *kept;       /* This value is computed once, and kept where the result
                                         * will be; NULL: none is. */
        struct emit_place place;             /* The place is where the result is stored. */
        struct loop_expr *row[RANK_MAX];          /* The row with this index is kept now. */
        const struct scope *scope;                /* The row is kept until this scope closes. */
        struct scope *from;
        int written;                    /* Code that keeps a row was written this often. */
};

struct emit {
        struct arena *arena;
        const struct loop_library *library;
        const struct lower_options *options;
        struct diag *diag;
        bool *too_large;                /* The flag is set instead of reporting that the kernel is
                                         * too large; NULL: that is reported. */
        bool failed;                    /* An error was reported; the kernel is thrown away. */
        const char *described;          /* Messages describe the kernel by this text. */
        struct local **locals;          /* The hash table finds the locals of values. */
        size_t local_room;
        const struct module *m;         /* The terms of dimensions are this module's. */
        struct loop_expr **terms;       /* [term_count], the values of terms of dimensions; NULL:
                                         * not needed so far. Symbols are scalar parameters of the
                                         * kernel. */
        int term_count;
        struct loop_bounds *bounds;     /* These terms lie between these numbers; NULL: there are
                                         * none. */
        int *symbols;                   /* [kernel->scalar_count], the symbols of the kernel's
                                         * scalar parameters. */
        struct loop_function *kernel;
        struct value **inputs;          /* The inputs are the values of the parameters, in order. */
        struct loop_buffer **parameters;
        int input_count;
        struct loop_buffer **results;   /* The results are those of the request, in order. */
        struct loop_buffer *whole;      /* The kernel's only operation stores this result itself
                                         * (lower_whole.c); NULL: there is none. */
        const struct value *updated;    /* It lies there already (struct kernel_request). */
        struct loop_buffer **scratch;    /* The scratch buffers are the parameters behind the
                                          * results. */
        int scratch_count;
        struct scope *scope, *outermost;
        struct name *names[128];
        int nest;                       /* The number of the loop nest being written. */
        int depth, work;
        struct rows rows;
};

/* ---- context (lower.c, lower_elements.c) ---- */

void emit_start(struct emit *e);                          /* The caller calls emit_start after
                                                           * arena, options, ... are set. */
/* Finds v, or adds it. */
struct local *emit_local(struct emit *e, const struct value *v);
const char *emit_name(struct emit *e, const char *stem);  /* Returns a name that is not yet in
                                                           * use in this kernel. */
/* Only the first error is reported. */
void emit_error(struct emit *e, enum exit_code code, const char *what);
/* Reports that the kernel computes too much, or lets the caller know where it has asked. */
void emit_too_large(struct emit *e);

/* Between emit_prologue and emit_resume of what that returned, statements go in front of all
 * others, and run once. emit_state returns where an operation keeps what it computed there; that is
 * NULL at first. */
struct scope *emit_prologue(struct emit *e);
void emit_resume(struct emit *e, struct scope *scope);
void **emit_state(struct emit *e, const struct op *op);
/* Makes scratch of the kernel's own for the length of a call: a parameter behind the results, read
 * and written. */
struct loop_buffer *emit_scratch(struct emit *e, const char *name, enum element element,
                                 int64_t elements);

void emit_store(struct emit *e, struct loop_buffer *buffer, struct loop_expr *position,
                struct loop_expr *value);
/* Of an operation whose elements are computed all together (lower_whole.c): where its result lies
 * from here on, and an element that lies there. */
struct loop_buffer *emit_place_whole(struct emit *e, const struct op *op);
struct loop_expr *emit_load_whole(struct emit *e, const struct op *op,
                                  struct loop_expr *const *index);
/* Decodes the image whose bytes, of this number, begin at what `load` reads, into a buffer of so
 * many pixels. */
void emit_image(struct emit *e, struct loop_buffer *to, const struct loop_expr *load,
                struct loop_expr *bytes, int pixels, int rows, int columns);
/* Writes a lane's copy of this many elements into shared memory. there: where it is false, zeros
 * are stored; NULL: it always copies. */
void emit_copy(struct emit *e, struct loop_buffer *to, struct loop_expr *at,
               struct loop_buffer *from, struct loop_expr *place, struct loop_expr *there,
               int elements);
/* From here until emit_resume, statements go out of the loops that index does not depend on, as far
 * as these run at least once. It serves values that may be read as soon as their index is known. */
struct scope *emit_outward(struct emit *e, int rank, struct loop_expr *const *index);
/* Can a variable of that scope be used here? */
bool emit_sees(const struct emit *e, const struct scope *scope);

/* Returns the element of v as another type; it goes through the compute type only where that makes
 * a difference. */
struct loop_expr *emit_as(struct emit *e, enum element to, const struct value *v,
                          struct loop_expr *const *index);

/* Writes a let of index arithmetic (no loads) in front of all loops and conditions that it does not
 * depend on; leaves are returned as they are. */
struct loop_expr *emit_let_early(struct emit *e, const char *name, struct loop_expr *value);

/* Returns condition ? arm(1) : arm(0), where only the chosen arm's loads and statements run: a
 * SELECT when neither has statements, else a variable set by an IF. */
typedef struct loop_expr *(*emit_arm)(struct emit *e, void *context, int arm);
struct loop_expr *emit_choose(struct emit *e, struct loop_expr *condition, emit_arm arm,
                              void *context);

/* ---- for scheduled kernels (kernels/) ---- */

/* Opens a loop of a grid, from 0 on, however often it runs, and returns its variable. */
struct loop_expr *emit_grid_open(struct emit *e, const char *name, enum loop_for_kind kind,
                                 struct loop_expr *count);
struct loop_expr *emit_grid(struct emit *e, const char *name, enum loop_for_kind kind,
                            int64_t count);
/* Sets the step and kind of the loop that emit_for has just opened (nothing when that left the loop
 * out). */
void emit_loop(struct emit *e, int64_t step, bool parallel);
/* Opens a block that is not part of the kernel yet, until emit_end: the caller puts its statements
 * somewhere. */
struct loop_block *emit_aside(struct emit *e);
/* Returns the parameter that v, computed elsewhere, is read from, at whatever index the caller
 * likes. */
struct loop_buffer *emit_parameter(struct emit *e, const struct value *v);
/* From here on, elements of v (computed in this kernel) are read from a circular buffer. */
void emit_read_circular(struct emit *e, const struct value *v,
                        const struct emit_circular *circular);
/* Returns where the element of v at index lies in it. */
struct loop_expr *emit_circular_position(struct emit *e, const struct value *v,
                                         const struct emit_circular *circular,
                                         struct loop_expr *const *index);
/* Marks the loads in a block that ends with a store to `at`: those with the same subscript may be
 * of the memory that is stored to, unless they are marked otherwise before or after. */
void emit_mark_overlaps(struct emit *e, const struct loop_block *block, const struct loop_expr *at);
/* Marks them in a block that ends with stores to all of these, behind all of its loads. */
void emit_mark_all_overlaps(struct emit *e, const struct loop_block *block,
                            struct loop_expr *const *at, int count);
/* Until the innermost scope closes, the element of v at index is `variable`. */
void emit_define(struct emit *e, const struct value *v, struct loop_expr *const *index,
                 struct loop_variable *variable);

/* These functions are short for operations. */
struct loop_expr *emit_op(struct emit *e, enum loop_opcode op, struct loop_expr *a,
                          struct loop_expr *b);
struct loop_expr *emit_op_int(struct emit *e, enum loop_opcode op, struct loop_expr *a, int64_t b);
/* Returns x % n for x >= 0: just %k where x is y * (a multiple of n) + %k, and %k a loop's variable
 * below n. */
struct loop_expr *emit_remainder(struct emit *e, struct loop_expr *x, int64_t n);
/* The number is of type index. */
struct loop_expr *emit_int(struct emit *e, int64_t value);
struct loop_expr *emit_number(struct emit *e, enum element element, int64_t value);

/* ---- extents (lower_index.c) ---- */

/* Returns the extent of a dimension as an index expression: a literal, or the value of a term over
 * the symbols that the kernel has as scalar parameters. */
struct loop_expr *emit_dim(struct emit *e, dim_t d);
struct loop_expr *emit_extent(struct emit *e, const struct type *t, int d);
/* Returns the same as emit_dim, without variables: over scalar parameters alone. */
struct loop_expr *emit_dim_in_scalars(struct emit *e, dim_t d);
/* Returns how many elements t has. */
struct loop_expr *emit_elements(struct emit *e, const struct type *t);

/* ---- positions (lower_index.c) ---- */

/* Returns the row-major position of index in dims. */
struct loop_expr *emit_position(struct emit *e, int rank, const dim_t *dims,
                                struct loop_expr *const *index);
struct emit_place emit_row_major(struct emit *e, struct loop_buffer *buffer, const struct type *t);
struct loop_expr *emit_at(struct emit *e, const struct emit_place *place, int rank,
                          struct loop_expr *const *index);
/* Finds the index that stands for a flat position where nothing splits the dimensions: all of it
 * goes to the last dimension that has more than one index. */
void emit_flat_index(struct emit *e, const struct type *t, struct loop_expr *position,
                     struct loop_expr **index);
/* Converts an index in one shape to an index in another of as many elements; dimensions that agree
 * pass through. */
void emit_reindex(struct emit *e, int rank, const dim_t *dims, struct loop_expr *const *index,
                  int to_rank, const dim_t *to_dims, struct loop_expr **to_index);

/* Returns entry k, an i64, of an operand that is a position or an amount; it is literal when
 * constant. Run-time ones are read in the prologue and get `name`; the caller checks them before it
 * makes an index of one. */
struct loop_expr *emit_amount(struct emit *e, const char *name, const struct value *v, int k);
/* Returns an index that data gives, in -extent..extent-1: it is checked, and negative ones wrap. In
 * tuples of `width` it is number entry. */
struct loop_expr *emit_subscript(struct emit *e, const struct op *op, const struct value *indices,
                                 struct loop_expr *const *index, int entry, int width,
                                 dim_t extent);

/* ---- windows (lower_window.c): convolve, reduce_window, arg_window ---- */

/* A tap describes one dimension of a window: at result position o and offset k it reads x at (o *
 * stride + k * dilation - low) / spread, where that divides and lies in x. Where only a run knows
 * the extents of x and of the positions, `of` is x's dimension, and extent and positions are -1;
 * ends: no window reaches behind x in any run, as far as terms tell. */
struct tap {
        int64_t extent, positions, window, stride, dilation, spread, low;
        dim_t of;
        bool ends;
};
/* Returns the tap of dimension d of operand 0, by op's relation. */
struct tap emit_tap_of(const struct op *op, int d);
/* Opens the loop over the offsets that can lie in x (and the test for the spread); *k is the
 * offset, *i the index in x. Returns how many scopes it opened. */
int emit_tap(struct emit *e, const struct tap *tap, const char *suffix, struct loop_expr *o,
             struct loop_expr **k, struct loop_expr **i);
/* Returns d, h or w. */
const char *emit_spatial_suffix(struct emit *e, int axis, int rank);

/* Returns the neutral element of a reducer for results of `element`, in compute type. */
struct loop_expr *emit_identity(struct emit *e, enum reducer kind, enum element element,
                                enum element compute);

/* ---- running sums (lower_window.c) ----
 *
 * running_axis returns the dimension along which every window of op reaches back to the first
 * element, so that each result is the one before with one element more, equal to the bit; -1: there
 * is none. Where the loop over it is innermost, running_begin stands before that loop and
 * running_next in it, before anything asks for the element at that index. */
int running_axis(const struct op *op);
void running_begin(struct emit *e, const struct op *op);
void running_next(struct emit *e, const struct op *op, struct loop_expr *const *index);

/* ---- loops side by side (lower_merge.c) ---- */

/* Merges reductions of the same row into one loop, in a kernel that is complete. */
void emit_merge_loops(struct loop_block *block);

/* ---- rows (lower_rows.c): softmax, norms ---- */

/* Finds the rows of a kernel that computes `result`, stored at place; emit->rows.along is 0 where
 * there are none. */
void rows_find(struct emit *e, const struct region *region, const struct value *result,
               const struct emit_place *place);
/* May the elements of `operand` lie where the result does, as far as the operations tell: is it not
 * read behind the first store? */
bool rows_end_with(struct emit *e, const struct region *region, const struct value *operand,
                   const struct value *result);
/* Puts loops over a row behind the others. Returns how many these others are. */
int rows_order(struct emit *e, struct loop_group *groups, int count);
/* Says that the loop of this index is now open around the row. */
void rows_stand_in(struct emit *e, const struct loop_expr *index);
/* These functions compute the element of emit->rows.kept at index. rows_begin returns whether its
 * row is not computed yet; it has then opened loops in which rows_end stores the value that it is
 * given at index *at. */
bool rows_begin(struct emit *e, struct loop_expr *const *index, struct loop_expr **at);
void rows_end(struct emit *e, struct loop_expr *const *at, struct loop_expr *value);
struct loop_expr *rows_load(struct emit *e, struct loop_expr *const *index);
/* May x, with as many elements of as many bytes, lie where y does? */
bool rows_may_overlap(const struct emit *e, const struct loop_buffer *x,
                      const struct loop_buffer *y);

/* Returns the splits of op's results, from those of its operands (lower_splits.c). */
unsigned op_splits(struct emit *e, const struct op *op);

/* ---- kernels (lower_kernel.c, lower_describe.c, lower_copy.c) ---- */

/* Is each nest a launch, of lanes that load while others wait? */
bool emit_is_launched(const struct emit *e);

/* A request names the values that a kernel computes: the results of a fusion's region, of one
 * operation, or (with neither) copies of values. */
struct kernel_request {
        const struct region *region;
        const struct op *op;
        struct value *const *results;
        int result_count;
        const struct module *m;         /* The results are of this module; NULL: the region or the
                                         * operation tells. */
        const struct value *updated;    /* This operand of `op`, a scatter, lies where the result
                                         * does: only what is scattered is written. NULL: none
                                         * does. */
        /* Should result number i of `made` lie where an input does, if it may? NULL: none
         * should. */
        bool (*lies_on)(const struct op *made, int i, const struct value *input);
        const struct op *made;
        bool *too_large;                /* The flag is set instead of reporting that the kernel is
                                         * too large; it may be NULL. */
        bool *refused;                  /* The flag is set where the scheduler cannot write the
                                         * kernel, which is then not written otherwise; it may be
                                         * NULL. */
};
/* Another way to write a kernel than by loops over its result: into buffer, its first result; the
 * others are emit->results. `write` returns false when it cannot, and then the kernel is begun
 * again without it. */
struct kernel_scheduler {
        bool (*wants)(const struct kernel_request *request, const struct target *target);
        bool (*write)(struct emit *e, const struct kernel_request *request,
                      struct loop_buffer *buffer);
};
/* Returns the module of what a kernel computes. */
const struct module *module_of_request(const struct kernel_request *request);
/* Makes the request of a fusion: its region and what that yields. */
void kernel_request_fusion(struct arena *arena, struct kernel_request *request,
                           const struct op *op);
/* Writes a kernel with memory of its own, in arena, which is not yet part of a program. Its scalar
 * parameters are extents: the `number` of each is that of its symbol in the module. Returns NULL
 * after an error. */
struct loop_function *kernel_write(struct arena *arena, const struct loop_library *library,
                                   const struct kernel_request *request,
                                   const struct lower_options *options, struct value ***inputs,
                                   int *input_count, struct diag *diag);
/* Returns the operations on floats, or the products of a contraction of any elements, of an
 * operation that is computed once. */
double op_flops(const struct op *op);
/* Sets name, location, summary and flops. */
void kernel_describe(struct arena *arena, struct loop_function *kernel,
                     const struct kernel_request *request);
/* Returns a deep copy, no two places of which share an expression. */
struct loop_function *kernel_copy(struct arena *arena, const struct loop_function *kernel);

#endif
