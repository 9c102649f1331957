/* SPDX-License-Identifier: MIT */
/* Tensor IR: whole tensors in typed SSA form. This header is the definition; docs/ir.md is derived
 * from the tables.
 *
 *   module     functions and constants, one source (name and digest of the model)
 *   function   a region with arguments (the inputs) that ends in a yield (the outputs)
 *   region     arguments and a list of operations, the last a yield; nested ones see the values around them
 *   op         an operation: operands, results, attributes as its row in ops.def lists them, regions
 *   value      a result, a region argument, or a constant; knows its type and its uses
 *
 * Everything lives in the module's arena. Types are interned: equal types are equal pointers.
 *
 * Text form (tensor_print.c, tensor_parse.c; print(parse(print(m))) == print(m)):
 *
 *     dnn 3
 *     module "mnist" source "3f2a..." passes "simplify,fold"
 *     symbol N <= 64                                                   ; open; or: symbol N in [1, 64], an extent that a run gives;
 *                                                                      ; or: symbol K in [0, 64] counted, which the run finds out
 *     const @conv1_w : <8 x 1 x 5 x 5 x f32> = file 0                  ; or hex "...", or [1.0, 2.0],
 *                                                                      ; or sparse [7: 1.0, 9: 2.0], zero elsewhere
 *     func @main(%input "Input3": <1 x 1 x 28 x 28 x f32>) -> ("Plus214_Output_0") {
 *       %0 = convolve(%input, @conv1_w) strides=[1, 1] pads=[2, 2, 2, 2] : <1 x 8 x 28 x 28 x f32>    ; "conv1"
 *       %1 = max(%0, 0.0) : <1 x 8 x 28 x 28 x f32>
 *       yield(%1)
 *     }
 *
 * A function that is the code of @main for runs in which N is 16 says so in front of its body:
 * -> ("y") likely @main N = 16 {.
 *
 * The word `text` behind a port's name says that it is one of texts:
 * %x "words" text: <3 x 64 x u8>.
 * */
#ifndef IR_TENSOR_TENSOR_H
#define IR_TENSOR_TENSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/diag.h"
#include "base/memory.h"
#include "base/size.h"
#include "base/text.h"
#include "ir/element.h"
#include "ir/sparse.h"
#include "ir/tensor/types.h"

enum { NESTING_MAX = 128 };

/* The text form has this version. It rises when a text may mean something else than before, or
 * nothing: because a word of it (an operation, an attribute, a field of a schedule;
 * test/golden/dnn_words.txt) is gone or has another meaning. Older texts are read as long as they
 * hold only words that still exist, and errors in them name their version. Version 1 lasted until
 * fields of schedules for grids were renamed, version 2 until `circular`, `tile_batch`, `bulk`,
 * `row_clusters`, `fused_pool` and `warp_group` got their names; 3 is the present one. */
enum { TENSOR_VERSION = 3 };

/* ---- operations ---- */

enum opcode {
#define OP(name, ...) OP_##name,
#define EW(name, ...) OP_##name,
#define CMP(name, ...) OP_##name,
#include "ir/tensor/ops.def"
        OPCODE_COUNT
};

/* reduce and reduce_window combine two elements in one of these ways (reducers.def). */
enum reducer {
#define REDUCER(name, identity, formula, doc) REDUCE_##name,
#include "ir/tensor/reducers.def"
        REDUCER_COUNT
};
struct reducer_info { const char *name, *identity, *formula, *doc; };
extern const struct reducer_info reducer_info[REDUCER_COUNT];

enum trait {
        TRAIT_PURE = 1,                 /* The operation has no effect but its results. */
        TRAIT_ELEMENTWISE = 2,          /* result[i] = formula(operands[i]); operands and result
                                         * have equal dims. */
        TRAIT_COMMUTATIVE = 4,          /* Its first two operands commute. */
        TRAIT_REGION = 8,               /* The operation has regions. */
        TRAIT_TERMINATOR = 16,
        TRAIT_FREE = 32,                /* The operation moves elements and computes nothing:
                                         * reshape, broadcast, slice, ... */
        TRAIT_CONTRACTION = 64,         /* The operation does many multiply-adds per result: dot,
                                         * convolve. */
        TRAIT_REDUCTION = 128,          /* The operation reads several elements per result: reduce,
                                         * windows. */
        TRAIT_COSTLY = 256,             /* The operation is element-wise, and better kept than
                                         * computed twice. */
        TRAIT_WHOLE = 512               /* No element exists before all of them do: scatter,
                                         * argsort. */
};

enum { E_COMPUTE = -1 };                /* In an ELEMENT attribute it stands for the operand's
                                         * compute type. */
enum attr_kind { ATTR_INT, ATTR_INTS, ATTR_ENUM, ATTR_ELEMENT, ATTR_TEXT };
enum { ATTR_MAX = 10 };
struct attr_info {
        const char *name;
        enum attr_kind kind;
        int64_t preset;                 /* An INT, ENUM or ELEMENT, and every entry of INTS, has
                                         * this default; it is not printed. */
        const char *const *names;       /* An ENUM has these names, NULL-terminated. */
};
struct attr {
        int64_t i;                      /* An INT, ENUM or ELEMENT has its value here. */
        int count;                      /* INTS have this length; 0: all are preset, and the type
                                         * rule fills them in. */
        int64_t *ints;
        const char *text;               /* A TEXT is this identifier; it has no preset. */
};

enum operand_kind {
        OPERAND_TENSOR,
        OPERAND_SHAPE,
        OPERAND_VARIADIC,
        OPERAND_ANY_NUMBER,
        OPERAND_OPTIONAL
};
enum { OPERAND_ROW_MAX = 8 };
/* A VARIADIC operand comes last and is one or more; ANY_NUMBER comes last. */
struct operand_info { const char *name; enum operand_kind kind; };

/* LOGIC: bool and integers. */
enum domain { DOMAIN_NUMBER, DOMAIN_FLOAT, DOMAIN_INTEGER, DOMAIN_LOGIC, DOMAIN_ANY };

struct op;
struct emit;
struct relation;
struct sweep;
struct loop_expr;
enum { PARTIAL_MAX = 2 };
struct op_info {
        const char *name, *doc, *formula;       /* formula is that of an element-wise operation, in
                                                 * Loop IR syntax over x, y, z. */
        const char *partials[PARTIAL_MAX];      /* These are its partial derivatives by x and y, as
                                                 * expressions of element-wise operations
                                                 * (ir/adjoint/partial.c). */
        unsigned traits;
        enum domain domain;
        int operand_count, result_count, attr_count;
        const struct operand_info *operands;
        const char *const *results;
        const struct attr_info *attrs;
        const char *const *regions;             /* Its regions have these names. */
        int region_count;
        /* Computes the result types, or checks op->results[*].type where it cannot know them
         * (reshape, run-time operands). Before, results[*].type may be NULL (unknown). It fills in
         * empty INTS, and reports one EXIT_INVALID error on failure. */
        bool (*type_rule)(struct module *m, struct op *op, struct diag *diag);
        /* The element function: returns the element of result number `result` at `index` (one index
         * expression per dimension) as a Loop IR expression (lower.h). NULL for operations with
         * regions, and for yield. */
        struct loop_expr *(*element)(struct emit *e, const struct op *op, int result,
                                     struct loop_expr *const *index);
        /* Finds which elements of an operand an element of the result needs, for relation_of
         * (relation.h). */
        bool (*relation)(const struct op *op, int operand, struct relation *r);
        /* Builds what the derivatives by op's results add to those by its operands
         * (ir/adjoint/adjoint.h). */
        bool (*adjoint)(struct sweep *s, const struct op *op);
};
extern const struct op_info op_info[OPCODE_COUNT];
bool opcode_from_text(const char *name, size_t length, enum opcode *code);

enum value_kind { VALUE_RESULT, VALUE_ARGUMENT, VALUE_CONSTANT };
struct value {
        enum value_kind kind;
        const struct type *type;
        struct op *op;                  /* A result has this operation. */
        int index;                      /* The result or argument has this number. */
        struct region *region;          /* An argument has this region. */
        struct constant *constant;      /* A constant has its data here. */
        struct use *uses;               /* The uses are doubly linked, in no order. */
        const char *name;               /* The text has this name without %, or NULL; arguments and
                                         * kept values have one. */
        int number;                     /* Printers and passes may set the number. */
        void *scratch;                  /* A pass may set the pointer, and leaves NULL behind. */
};

struct use {
        struct value *value;
        struct op *user;
        int index;                      /* The operand has this number in user. */
        struct use *next, **previous;
};

struct op {
        enum opcode code;
        struct op *next, *previous;     /* These are its neighbours in its region. */
        struct region *region;
        int operand_count;
        struct use *operands;           /* operands[i].value may be NULL only for a missing optional
                                         * operand. */
        int result_count;
        struct value *results;          /* Its shape is [result_count]. */
        struct attr *attrs;             /* [op_info[code].attr_count], in the order of the row. */
        int region_count;
        struct region **regions;
        const char *location;           /* It came from these nodes of the model, text_safe,
                                         * separated by ", "; or NULL. */
        const struct schedule *schedule; /* The schedule says how the operation is computed
                                          * (ir/target/schedule.h); NULL: as it stands. */
        int number;                     /* Passes may set the number. */
        bool dead;                      /* The operation has been erased; its memory stays in the
                                         * arena. */
};

struct region {
        struct op *owner;               /* NULL: it is a function's body. */
        struct function *function;
        int argument_count, argument_room;
        struct value *arguments;        /* The arguments never move. */
        struct op *first, *last;        /* last is the yield, once that is built. */
};

/* A port of texts is a tensor of u8 whose last extent is the room of a text: its bytes, then zeros
 * to the end, at least one of them. What calls the code sees texts, and a shape without that extent
 * (docs/interface.md); for operations it is a tensor like any other. */
struct port {
        const char *name;               /* The model itself has this name for an output, of any
                                         * bytes but NUL. */
        bool is_text;
        const char *next;               /* An input may be state: the caller keeps it between runs,
                                         * and the output of this name, which has its type, is its
                                         * value in the next run. NULL: it is none. */
        bool grows;                     /* State may hold only its first rows along axis `along`,
                                         * `rows` of them: a symbol that is state, too. */
        int along;
        dim_t rows;
};
struct function;
/* Returns the input whose next value this output is, or -1. */
int function_state_of(const struct function *f, int output);
/* Returns the input of this name, or -1. */
int function_input(const struct function *f, const char *name);
/* Returns the output that is the next value of this input, or -1. */
int function_next_of(const struct function *f, int input);
/* Returns whether a tensor of this type may be a port of texts. */
bool type_holds_texts(const struct type *t);
/* A symbol that is state has this value in the next run. */
struct next_extent { int symbol; dim_t next; };
/* A symbol that a run gives has this extent. */
struct likely_extent { int symbol; int64_t extent; };
struct function {
        const char *name;
        struct region body;             /* Its arguments are the inputs; their own names are in
                                         * input_ports. */
        struct port *input_ports, *output_ports;
        int output_count;               /* The yield has this many operands. */
        struct next_extent *next_extents;         /* [next_count], the extents of state that a run
                                                   * of this function changes, each once. */
        int next_count;
        struct function *general;       /* The function is the code of that one for runs with the
                                         * extents likely[likely_count], and has its ports, with
                                         * these extents in their types; NULL: it is an entry. */
        struct likely_extent *likely;
        int likely_count;
        struct function *next;
        struct module *module;
        struct names *names;            /* The table has the names of arguments. */
};

/* Whoever asks for the data of a sparse constant gets it dense (constant_data). */
enum constant_kind { CONSTANT_DENSE, CONSTANT_SPLAT, CONSTANT_SPARSE };
struct constant {
        enum constant_kind kind;
        struct value value;             /* Operations have this value as operand. */
        const char *name;               /* The name is a unique identifier where the constant is
                                         * printed by name; it is given on creation, or by the
                                         * printer. */
        bool varies;                    /* Its derivatives are asked for: operations on it are not
                                         * folded while the model is read. */
        const void *held; /* Dense: type_bytes(type) bytes, little endian; splat: one
                                         * element. The constant does not own it, and it may lie at
                                         * any address. */
        struct sparse *sparse; /* Sparse: its positions and values; shared with constants
                                         * of other shapes. NULL: it is not. */
        struct constant *next;
};

/* Element `element` of v, in row-major order, is the value of d. */
struct known_amount { const struct value *v; int64_t element; dim_t d; };

struct module {
        struct arena *arena;
        struct store *store;            /* The store has the memory of large constants' data
                                         * (constant_room). */
        const char *name;               /* The model's file or graph has this name, text_safe. */
        char source[65];                /* The model and its external data have this SHA-256 in hex,
                                         * or "". */
        const char *command;            /* These options shaped the module so far; they are safe
                                         * text, "" at first. */
        const char *within;             /* The compiler did this to stay within --max-ram
                                         * (compiler/budget.c); "": nothing. */
        const char *passes_done;        /* The module went through these passes, separated by
                                         * commas; "" at first. */
        struct function *functions, **functions_end;      /* Entries stand first: what a compiled
                                                           * file is called by (struct
                                                           * loop_entry). Behind them stand the
                                                           * functions for likely extents, those
                                                           * with more of them first. */
        struct constant *constants, **constants_end;
        struct names *constant_names;
        struct map *types;              /* Interned types are found here. */
        struct symbol *symbols;
        int symbol_count;
        struct dim_expr *dims;
        int dim_count;
        struct known_amount *known;     /* These integers of a run are extents, as an importer found
                                         * while it counted them (amounts.h); */
        int known_count;                /* 0 once it has ended. */
        bool known_hidden;              /* They are not looked at now. */
        struct table *tables;           /* The pass layout notes here which constants it has packed
                                         * as panels (passes/layout/shared_tables.c); or NULL. */
        struct map *panels;             /* The pass layout notes here how it packs constants, for
                                         * functions behind the first; NULL: there is one function
                                         * alone. */
};

/* Returns the module's entry, for code that knows of one only; of several it is the first. */
static inline struct function *module_entry(const struct module *m) { return m->functions; }
/* Has the module several entries? */
static inline bool module_has_entries(const struct module *m)
{
        return m->functions && m->functions->next && !m->functions->next->general;
}

/* ---- building (tensor.c) ---- */

struct module *module_new(const char *name);
void module_free(struct module *m);
struct function *function_new(struct module *m, const char *name);
/* Makes a symbol a part of state, which has the value `next` after a run of f. Returns false where
 * it has another one already. */
bool function_keep(struct function *f, int symbol, dim_t next);
/* Makes f the code of `general` for runs in which the symbol has this extent. */
void function_expect(struct function *f, struct function *general, int symbol, int64_t extent);
/* Returns a dimension of f->general as f has it, whose likely extents are numbers. */
dim_t function_dim(const struct function *f, dim_t d);
/* Adds an input. name: the model's own; the argument's identifier is made from it. */
struct value *function_add_input(struct function *f, const char *name, const struct type *type);

/* These functions make constants. Their types have stored elements, and those of dense constants
 * are static. Dense data is not copied and must live as long as the module. A dense constant whose
 * elements are all equal becomes a splat. Equal small constants are not shared: CSE compares
 * contents. */
struct value *constant_dense(struct module *m, const struct type *type, const void *data,
                             const char *name);
/* Returns memory for the data of one constant, of `bytes` bytes with any contents. From
 * CONSTANT_LARGE bytes on, it is valid until the next sweep that finds no constant with this data:
 * between passes, and where a pass asks for it (module_drop_constants). */
enum { CONSTANT_LARGE = 16 * 1024 };
void *constant_room(struct module *m, size_t bytes);
/* Converts a constant of floats; each element is rounded once. */
struct value *constant_cast(struct module *m, const struct constant *c, enum element to);
struct value *constant_splat(struct module *m, const struct type *type, const void *element);
/* Makes a constant whose elements at the positions (sparse_first_wrong finds nothing wrong) have
 * these values, and are zero elsewhere. Neither is copied. It is a splat without any value, and
 * dense if no element is left out. */
struct value *constant_sparse(struct module *m, const struct type *type, int64_t count,
                              const int64_t *positions, const void *values, const char *name);
/* Makes a splat of value, converted to the type's element. */
struct value *constant_number(struct module *m, const struct type *type, double value);
/* Makes <count x i64>; the values are copied. */
struct value *constant_ints(struct module *m, const int64_t *values, int count);
/* Makes a constant of the extents of static dimensions. */
struct value *constant_dims(struct module *m, int rank, const dim_t *dims);
bool value_is_constant(const struct value *v);
/* *number: its element. */
bool value_is_splat(const struct value *v, double *number);
/* Finds the contents of a constant integer tensor of rank 0 or 1. Returns false when it is not
 * constant or too long for room. */
bool value_ints(const struct value *v, int64_t *ints, int room, int *count);
/* Brings constants to the state that their text reads back to: unused ones go, named ones come
 * first, a constant has a name if and only if it is printed by name, and only those names are
 * taken. That is done before printing and at the end of each pass, so that a run from a dump is the
 * same run. */
void module_settle_constants(struct module *m);
/* Makes memory that constants no longer use free again. It must not be called where the module has
 * a copy, which shares the data. */
void module_sweep_constants(struct module *m);
/* These functions do the same within a pass, between two rewrites, when much memory has been taken
 * since: weights are packed in the memory of those that were packed before. Constants without uses
 * go, so the pass may not keep any of them for later. */
bool module_wants_sweep(const struct module *m);
void module_drop_constants(struct module *m);
/* Returns the elements, type_bytes(type) bytes, or one of a splat, at any address. This makes a
 * sparse constant's dense tensor. */
static inline const void *constant_data(const struct constant *c)
{
        return c->kind == CONSTANT_SPARSE ? sparse_dense(c->sparse) : c->held;
}
/* Returns the bytes of the elements that are held: all, one of a splat, or positions and values. */
size_t constant_held_bytes(const struct constant *c);
union scalar constant_element(const struct constant *c, int64_t index);
/* Returns an element of a constant of f32. A model's own numbers lie where its file
 * has them, which may not be aligned for a float. */
static inline float constant_float(const struct constant *c, int64_t index)
{
        float x;
        memcpy(&x,
               (const char *)constant_data(c) +
                       (c->kind == CONSTANT_SPLAT ? 0 : index * (int64_t)sizeof x),
               sizeof x);
        return x;
}
/* These functions build a constant in one pass over it, whatever its size, under c's name (until
 * module_settle_constants, when c has not gone). constant_packed is transpose(reshape(pad(c, zeros
 * behind it, up to the extents padded), dims), perm), where each dimension of c becomes one or
 * several consecutive ones of dims; constant_sliced is slice, with a rank of at least 1 and
 * positive steps. */
struct value *constant_reshaped(struct module *m, const struct constant *c, int rank,
                                const dim_t *dims);
struct value *constant_packed(struct module *m, const struct constant *c, const dim_t *padded,
                              int rank, const dim_t *dims, const int64_t *perm);
struct value *constant_sliced(struct module *m, const struct constant *c, const int64_t *starts,
                              const int64_t *steps, const dim_t *dims);

/* A builder appends to a region, or inserts before an operation. When `fold` is set, every pure
 * operation whose operands are all constant is offered to it; a non-NULL answer replaces the
 * operation. */
struct builder {
        struct module *m;
        struct region *region;
        struct op *before;              /* NULL: operations go to the end. */
        const char *location;           /* Every built operation gets this location. */
        struct diag *diag;              /* Type errors are reported here. */
        struct value *(*fold)(struct builder *b, struct op *op, void *context);
        void *fold_context;
};

/* Returns a builder in front of op, with op's location; it folds nothing. */
static inline struct builder builder_before(struct op *op, struct diag *diag)
{
        return (struct builder){ .m = op->region->function->module,
                                 .region = op->region,
                                 .before = op,
                                 .location = op->location,
                                 .diag = diag };
}

/* Makes an operation; there is no other way. attrs: values in the row's order, or NULL for all
 * presets; types: the result types, or NULL where the type rule infers them. Returns NULL after one
 * error. */
struct op *op_build(struct builder *b, enum opcode code, struct value *const *operands,
                    int operand_count, const struct attr *attrs, const struct type *const *types,
                    int region_count);
/* Does the same for operations with regions that may have another number of results than their row:
 * fusion, if, loop. */
struct op *op_build_results(struct builder *b, enum opcode code, struct value *const *operands,
                            int operand_count, const struct attr *attrs,
                            const struct type *const *types, int result_count, int region_count);
/* Checks op against its row (operands, attributes, regions), then runs its type rule: result types
 * are filled in, or checked where given. An operation with regions must be inferred again when they
 * are full. Returns false after one error. */
bool op_infer(struct module *m, struct op *op, struct diag *diag);
/* Returns the result (perhaps folded) of an operation with one result; it is short for op_build. */
struct value *value_build(struct builder *b, enum opcode code, struct value *const *operands,
                          int operand_count, const struct attr *attrs, const struct type *type);
struct region *op_add_region(struct op *op, int index);   /* Adds an empty regions[index]. */
struct value *region_add_argument(struct region *region, const struct type *type, const char *name);
/* Reserves room for all arguments that a region will ever have; without it the first one takes room
 * for 65536 (a function's body) or 256. */
void region_reserve(struct region *region, int count);

/* These functions are short for value_build with the row's operands and attributes. A NULL operand
 * gives NULL, so a sequence of them needs one test at the end. */
struct value *build_unary(struct builder *b, enum opcode code, struct value *x);
/* x and y have equal types. */
struct value *build_binary(struct builder *b, enum opcode code, struct value *x, struct value *y);
struct value *build_select(struct builder *b, struct value *c, struct value *x, struct value *y);
/* Returns x itself when it has the type already. */
struct value *build_cast(struct builder *b, struct value *x, enum element to);
/* Returns x itself when it has the shape already. */
struct value *build_reshape(struct builder *b, struct value *x, int rank, const dim_t *dims);
/* Returns x itself when perm is the identity. */
struct value *build_transpose(struct builder *b, struct value *x, const int64_t *perm);
/* dims[k]: the result dimension that x's dimension k becomes. */
struct value *build_broadcast(struct builder *b, struct value *x, const struct type *to,
                              const int64_t *dims);
/* Broadcasts as numpy does: x's shape is aligned at the right end of `dims`, and extents are equal
 * or 1. Returns x itself when it has the shape already. */
struct value *build_broadcast_numpy(struct builder *b, struct value *x, int rank,
                                    const dim_t *dims);
struct value *build_slice(struct builder *b, struct value *x, const int64_t *starts,
                          const int64_t *steps, const dim_t *sizes);
struct value *build_concat(struct builder *b, struct value *const *xs, int count, int axis);
struct value *build_reduce(struct builder *b, enum reducer kind, struct value *x,
                           const int64_t *axes, int count);
struct value *build_gather(struct builder *b, struct value *x, struct value *indices, int axis);
struct value *build_iota(struct builder *b, const struct type *type, int axis);
/* Returns x's extent along axis as <i64>: a constant where it is static. */
struct value *build_extent(struct builder *b, struct value *x, int axis);
/* Gives the counted symbol the value of n, <i64>; returns the numbers below it. */
struct value *build_counted(struct builder *b, struct value *n, dim_t symbol);
/* Makes a constant of rank 0. */
struct value *build_scalar(struct builder *b, enum element e, double number);
/* Makes a splat of like's type. */
struct value *build_like(struct builder *b, struct value *like, double number);
/* Ends a region. In a function's body it also sets output_count, and names output_ports that have
 * no name. */
struct op *build_yield(struct builder *b, struct value *const *values, int count);

/* These functions read attributes by name; it is a bug in dnncc when the row has no such
 * attribute. */
int64_t op_int(const struct op *op, const char *name);
const char *op_text(const struct op *op, const char *name);
/* Returns the element type of op's sums. */
enum element op_accumulator(const struct op *op);
/* count may be NULL. */
const int64_t *op_ints(const struct op *op, const char *name, int *count);
/* Do all strides, dilations .. of that name have the value 1? */
bool op_all_ones(const struct op *op, const char *name);
/* Is op a convolution of each channel by itself? A channel may have several outputs. */
bool op_is_depthwise(const struct op *op);
bool op_is_stack(const struct op *op);     /* Is op a concat whose operands' elements lie one
                                            * operand after the other? */
void attr_set(struct attr *attrs, enum opcode code, const char *name, int64_t value);
void attr_set_ints(struct module *m, struct attr *attrs, enum opcode code, const char *name,
                   const int64_t *values, int count);
void attr_set_text(struct module *m, struct attr *attrs, enum opcode code, const char *name,
                   const char *text);
/* The values are copied. */
/* All attributes are preset. */
struct attr *attrs_new(struct module *m, enum opcode code);

/* Are all extents of its operands and results numbers? */
bool op_is_static(const struct op *op);
/* Are they but for dimension 0, of images, whose extents a run may give? */
bool op_is_static_inside(const struct op *op);
static inline struct module *op_module(const struct op *op) { return op->region->function->module; }
static inline struct value *op_operand(const struct op *op, int i) { return op->operands[i].value; }
static inline struct value *op_result(const struct op *op) { return &op->results[0]; }

/* These functions read the shape of the panels w of a convolve_packed that reads x: packed_group
 * returns how many channels of an output lie side by side, a word of its multiply; the others
 * return the outputs of a vector of words (ir/target/multiply.h), and of a panel. */
static inline int64_t packed_group(const struct type *x, const struct type *w)
{
        int64_t words = type_extent(w, w->rank - 3);
        return words ? type_extent(x, x->rank - 1) / words : 1;
}
static inline int64_t packed_lanes(const struct type *x, const struct type *w)
{
        return type_extent(w, w->rank - 1) / packed_group(x, w);
}
static inline int64_t packed_panel(const struct type *x, const struct type *w)
{
        return type_extent(w, w->rank - 2) * packed_lanes(x, w);
}
/* The fields describe the weights of a dot_blocks, by the shapes of its operands. Number k of a
 * block is in byte k % bytes, k / bytes * bits bits from the lowest; a panel has vectors * lanes
 * outputs, with `group` bytes of an output side by side, a word of a multiply. Scales may have
 * `outers` scales of their own for an output, and zeros as many minima. */
struct packed_bits {
        int64_t blocks, block, bytes, words, vectors, lanes, group, outers;
        int bits;
        bool minima;
};
/* Operands of dot_blocks. */
enum { BLOCKS_X, BLOCKS_W, BLOCKS_STEPS, BLOCKS_SUMS, BLOCKS_SCALES, BLOCKS_ZEROS, BLOCKS_OUTER,
       BLOCKS_MINIMA, BLOCKS_OPERANDS };

static inline struct packed_bits packed_bits_of(const struct op *op)
{
        const struct type *w = op_operand(op, 1)->type;
        struct packed_bits p = { .blocks = type_extent(w, 1),
                                 .words = type_extent(w, 2),
                                 .vectors = type_extent(w, 3),
                                 .lanes = type_extent(op_operand(op, 4)->type, 3) };
        p.block = type_extent(op_operand(op, 0)->type, 3) / p.blocks;
        p.group = type_extent(w, 4) / p.lanes;
        p.bytes = p.words * p.group;
        p.bits = (int)(8 * p.bytes / p.block);
        p.minima = op->operand_count > BLOCKS_MINIMA;
        if (op->operand_count > BLOCKS_OUTER)
                p.outers = type_extent(op_operand(op, BLOCKS_OUTER)->type, 1);
        return p;
}

/* ---- loops (tensor_loop.c) ---- */

/* The parts of a loop. A carried value is an operand (its first value), an argument, an operand of
 * the yield (its next value) and a result (its last value), all of one type; a scanned operand
 * gives each iteration a row of its outermost dimension; a stack is made of one row of each
 * iteration. Stacks and scanned operands have as many rows as the loop has steps. */
struct op_loop {
        struct value *trip, *go;        /* NULL: the loop has none. */
        int64_t steps;
        bool partial;                   /* Stacks may have rows that no iteration makes. */
        int carried, scanned, stacked;
        struct use *first, *scans;      /* The operands are the first values of carried ones, and
                                         * scanned ones. */
        struct value *number, *held, *rows;               /* The arguments are the iteration's
                                                           * number, carried values, rows. */
        struct value *last, *stacks;    /* The results are the last carried values, and stacks. */
        struct op *yield;
        struct use *next_go, *next, *stacked_rows;        /* The yield has these operands; next_go:
                                                           * NULL without go. */
};
struct op_loop op_loop(const struct op *op);    /* The loop's region must be complete. */
/* Returns the type of a stack, or of a scanned operand, of so many such rows. */
const struct type *type_of_stack(struct module *m, const struct type *row, int64_t steps);
/* The fields say which of its parts a loop keeps, what else it scans (forward, its rows behind the
 * others), and which results of its body's operations it stacks behind the others. */
struct op_loop_kept {
        bool go, *carried, *scanned, *stacked;
        struct value **more;
        int more_count;
        struct value **rows;
        int row_count;
};
/* Builds a loop in op's place that computes what is kept of op, in the region that op had. Results
 * that go must have no uses, and arguments that go none but in the yield. Returns NULL after an
 * error. */
struct op *op_loop_keep(struct op *op, const struct op_loop_kept *kept, struct diag *diag);
/* Returns a choice that keeps everything. */
struct op_loop_kept op_loop_all(struct arena *arena, const struct op_loop *loop);

/* ---- changing ---- */

void op_set_operand(struct op *op, int index, struct value *value);
void value_replace(struct value *old, struct value *new); /* Replaces the value in all uses. */
void op_erase(struct op *op);                             /* Its results must have no uses; its
                                                           * regions go with it. */
void op_move_before(struct op *op, struct op *where);     /* Moves between regions, too. */
bool value_has_one_use(const struct value *v);
int value_use_count(const struct value *v);
bool op_is(const struct value *v, enum opcode code);      /* Is v a result of such an operation? */
struct value *value_without_floor(struct value *v);       /* Returns x, where v is max(x, c) for
                                                           * a c of equal elements; else v. */
/* Returns the region where v is made; NULL: v is a constant. */
static inline struct region *value_region(const struct value *v)
{
        return v->kind == VALUE_RESULT     ? v->op->region
               : v->kind == VALUE_ARGUMENT ? v->region
                                           : NULL;
}
/* Is v made in region, or in a region inside it? */
bool value_is_inside(const struct value *v, const struct region *region);
/* Has t a dimension that depends on a symbol that an operation of the region counts? */
bool region_counts(const struct region *region, const struct type *t);
/* Builds a deep copy of op before b->before, with operands mapped through value->scratch where that
 * is set. */
struct op *op_clone(struct builder *b, const struct op *op);
/* Copies the arguments and operations of a region to an empty one. */
void region_clone(struct builder *b, const struct region *from, struct region *to);
/* Copies only the operations, to b's region: the scratch of from's arguments says what stands for
 * them, and is cleared. */
void region_clone_operations(struct builder *b, const struct region *from);
/* Returns a module like m, in memory of its own but for names, types and the data of constants,
 * which are m's: m must outlive it. */
struct module *module_copy(const struct module *m);
/* Returns the values used inside op's regions but defined outside them, in order of first use. */
struct value **op_captures(struct arena *arena, const struct op *op, int *count);
/* Walks over all operations of a region and those nested in it, each before those inside it: for
 * (op = region_walk(region, NULL); op; op = region_walk(region, op)). The meanings of external
 * functions are no part of the walk, but where the region is one; region_walk_all enters them. */
struct op *region_walk(const struct region *region, const struct op *last);
struct op *region_walk_all(const struct region *region, const struct op *last);
/* Is the region of op the inside of one kernel, which passes in front of lowering do not enter? */
static inline bool op_is_kernel(const struct op *op)
{
        return op->code == OP_fusion || op->code == OP_external;
}
/* Binds symbols to extents in all types of the module, then checks every type again; extents[i] < 0
 * leaves symbol i open. */
bool module_bind(struct module *m, const int64_t *extents, struct diag *diag);

/* ---- text and checks (tensor_print.c, tensor_parse.c, tensor_verify.c) ---- */

/* Large constants go beside the text (blob: the text names file_name and offsets, and bytes are
 * appended to *blob), inside it as hex (blob NULL), or nowhere, for reading (elide). */
struct tensor_print { struct text *blob; const char *file_name; bool elide; };
void tensor_print(struct text *out, struct module *m, const struct tensor_print *options);
/* Reads text back. read_blob(context, name, &bytes, &length) opens the constants' file; NULL: no
 * file is allowed. Input is hostile: any text gives a module or one EXIT_INVALID error. */
typedef bool (*blob_reader)(void *context, const char *name, const void **bytes, size_t *length);
struct module *tensor_parse(const char *text, size_t length, blob_reader read_blob, void *context,
                            struct diag *diag);
/* A symbol of a text stands for a dimension of the module that the text is read into. */
struct bound_symbol { const char *name; dim_t dim; };
/* Reads the functions of a text with their types, constants and symbols in m, `count` symbols as
 * they are bound; the text stands alone, without a file. Returns the functions as a list that is
 * not m's, or NULL after one EXIT_INVALID error. Each operation is checked, the whole is not: the
 * text was accepted by tensor_parse. */
struct function *tensor_parse_bound(struct module *m, const char *text, size_t length,
                                    const struct bound_symbol *bound, int count,
                                    struct diag *diag);
/* Verifies structure, dominance, types (every type rule again), and use lists. It reports
 * EXIT_INTERNAL errors. */
bool tensor_verify(struct module *m, struct diag *diag);

#endif
