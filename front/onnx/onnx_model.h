/* SPDX-License-Identifier: MIT */
/* This is the importer's own state: the model as a whole, scopes of names, functions, the node at
 * hand. The files that walk graphs share it; importers of operators need only onnx.h.
 *
 * Each of these files calls those above it alone; importers of operators stand behind them, and are
 * called through rows.
 *
 *   onnx_names.c      names, domains, opsets; rows by the names of operators
 *   onnx_report.c     messages about nodes, the list of what is not supported, limits
 *   onnx_scope.c      scopes of names, nesting
 *   onnx_external.c   tensor data in other files; onnx_tensor.c: tensors
 *   onnx_sparse.c     sparse tensors
 *   onnx_attribute.c  checked access to attributes; onnx_scales.c: operands that are scales
 *   onnx_sequence.c   values that are lists of values
 *   onnx_texts.c      values that are texts
 *   onnx_declare.c    what the file says about the types of values
 *   onnx_options.c    --dim and --input
 *   onnx_bind.c       inputs of the graph; --seed
 *   onnx_order.c      which node needs which: topological order, needed nodes
 *   onnx_channel_block.c  blocks of channels in weights that onnxruntime reordered
 *   onnx_implied.c    shapes that follow from declarations of later values
 *   onnx_function.c   functions of the model: the graph of calls, attributes of a call
 *   onnx_define.c     operators that the caller defines
 *   onnx_counted.c    extents that a run's data say; onnx_stack.c: sequences of which only a run
 *                     knows the length
 *   onnx_graph.c      nodes one after the other, calls of functions, subgraphs
 *   onnx_body.c       bodies of loops; onnx_grown.c: what they carry that grows
 *   onnx_op_*.c       importers; of control flow: onnx_control.c, onnx_unrolled.c, onnx_loop.c,
 *                     onnx_scan.c
 *   onnx_rows.c       the table of importers
 *   onnx_facts.c      what a model says of itself
 *   onnx_model.c      the entry point: header checks, inputs, outputs, the module */
#ifndef FRONT_ONNX_ONNX_MODEL_H
#define FRONT_ONNX_ONNX_MODEL_H

#include "base/sha256.h"
#include "front/onnx/onnx.h"

enum { PORTS_MAX = 65000 };             /* There are at most so many inputs, and outputs; a function
                                         * holds 65,536 arguments. */

typedef ProtobufCBinaryData bytes_t;    /* It is { len, data }, the type of any text field. */

/* This is what a file says about the type of a value. */
struct onnx_declaration {
        enum element element;
        int rank;                       /* Where it is -1 the shape is not stated. */
        int64_t *dims;                  /* There are rank extents; -1 stands for an open
                                         * one. */
        dim_t *symbols;                 /* There are rank of them: the symbol of an open one that a
                                         * run gives, else DIM_NONE. */
        const char **names;             /* There are rank of them: what an open one is called, or
                                         * NULL. */
        const struct type *type;        /* It is NULL where an extent is open, or the type cannot be
                                         * stored. */
        bool binding;                   /* Another shape is an error, not a warning. */
        bool contradicted;              /* The warning was printed. */
        bool of_call;                   /* It is that of a call's output, for the function's result;
                                         * it is checked where the call is. */
};

/* A name is in one of these states. */
enum onnx_state {
        NAME_KNOWN,
        NAME_ABSENT,                    /* It is an optional input that a call leaves out. */
        NAME_UNKNOWN                    /* It is the result of a node that is not supported. */
};
struct onnx_entry {
        enum onnx_state state;
        bool initializer;
        struct value *value;            /* It is the value of a known name. */
        const char *unsupported;        /* With NAME_UNKNOWN, it is the line that the first use adds
                                         * to the list; where it is NULL the list has it already. */
};

/* A scope has the names of one graph. An inner graph sees those of the graphs around it; the body
 * of a function does not. */
struct onnx_scope {
        struct onnx_scope *parent;
        struct map *names;              /* It maps bytes to struct onnx_entry. */
        struct map *declared;           /* It maps bytes to struct onnx_declaration; NULL stands for
                                         * an empty map. */
};

struct onnx_function {
        const Onnx__FunctionProto *proto;
        const char *name;               /* It has been through text_safe. */
        struct map *opsets;             /* It maps domains to int. */
        int64_t nodes;                  /* It is onnx_node_work of its body with all calls expanded,
                                         * at most INT64_MAX / 4. */
        int depth;                      /* Calls in its body nest so deep. */
        int *order, count;              /* It is the order of its nodes, NULL before the first
                                         * call. */
        int waiting;                    /* It is the number of calls in its body to functions whose
                                         * size is unknown. */
        bool surveyed;                  /* Its unsupported nodes are listed. */
        bool defined;                   /* --define brought it. */
        const bytes_t *long_data;       /* These are the data of large tensors of its file. */
};

/* A frame is the call of a function that is being expanded. The outermost frame is the model
 * itself. */
struct onnx_frame {
        const struct onnx_frame *caller;
        const struct onnx_function *function;     /* It is NULL in the main graph. */
        const Onnx__NodeProto *call;
        struct map *opsets;             /* It maps domains to int. */
};

/* This is an extent that --dim or --input binds. */
struct onnx_binding {
        const char *term;               /* It is this term over others, and the next three members
                                         * say nothing; or NULL. */
        int64_t extent;                 /* Where a run gives it, this is its upper bound. */
        bool at_run;
        int64_t least;
        bool used;                      /* Some input has the dimension. */
        const char *origin;             /* It is the option, for messages. */
};

/* These are the nodes of the innermost graph or function, in the order of their import. */
struct onnx_walk {
        Onnx__NodeProto *const *nodes;
        const int *order;               /* It lists the numbers of `count` nodes. */
        int count;
        int next;                       /* It is the position in the order behind the node at
                                         * hand. */
};

/* This is the loop whose body is being imported. */
struct onnx_iteration {
        const struct onnx_iteration *outer;
        struct value *number;           /* It is the number of the iteration, from 0 on, an
                                         * integer. */
};

/* The functions of a file of --define, with the data of its large tensors. */
struct onnx_library {
        const Onnx__ModelProto *proto;
        const bytes_t *long_data;
        struct onnx_library *next;
};

/* A function of a text of --define as it stands there, in the module `of` with its symbols. */
struct onnx_definition {
        const struct import_definition *file;
        const struct module *of;
        const struct function *stated;
        struct map *bound;              /* It maps what symbols stand for to the function in the
                                         * module that is imported. */
        const char *symbol;             /* A C function of this name stands for it; NULL: none
                                         * does. */
        struct onnx_definition *next;   /* This one has the same name, and comes later. */
};

/* This is the state of the walk over a model. */
struct onnx_model {
        const Onnx__ModelProto *proto;  /* Functions that --define brought come first. */
        struct onnx_library *libraries; /* They are of these files. */
        struct map *redefined;          /* It has "domain NUL operator" of their functions. */
        struct map *definitions;        /* It maps names to struct onnx_definition. */
        struct module **defining;       /* The definitions are of these modules. */
        int defining_count;
        struct function **bound;        /* These lists are the functions of the texts with their
                                         * symbols bound, outside of the module's own list. */
        int bound_count;
        struct map *rows;               /* It is the map that onnx_rows_map makes. */
        struct map *functions;          /* It maps "domain NUL name NUL overload" to struct
                                         * onnx_function. */
        struct map *dims;               /* It maps symbols to struct onnx_binding. */
        struct map *shapes;             /* It maps inputs to their --input options. */
        struct map *asked;              /* It has the symbols whose option an error asked for
                                         * already. */
        const char *command;            /* It is the command that would bind all open dimensions; it
                                         * is NULL while nobody has asked for it. */
        const struct onnx_frame *frame; /* It is the innermost frame. */
        struct onnx_walk walk;
        const struct onnx_iteration *iteration;   /* The innermost loop is in this iteration; it is
                                                   * NULL outside of loops. */
        struct value *seed;             /* It is a u64, the seed of random numbers. */
        int64_t draws;                  /* So many nodes have had random numbers of that seed so
                                         * far. */
        int nesting;                    /* Subgraphs and functions nest so deep now. */
        bool skip;                      /* The node at hand is not supported; without it, a failure
                                         * is an error of the model. */
        bool contradicted;              /* Some value is not what the file declares it to be. */
        bool guessed;                   /* The warning of a bound that nobody stated was printed. */
        const Onnx__NodeProto *origin;  /* It is the node at hand, before references to attributes
                                         * were filled in. */
        struct map *hiding;             /* These names hide an outer one, and were warned of. */
        struct map *listed;             /* These nodes are listed as unsupported, by address. */
        struct onnx_omitted *omitted, **omitted_end;      /* Further nodes of these operators are
                                                           * counted instead of listed. */
        struct op *counted;             /* It is the last operation charged against the limits. */
        int64_t operations;             /* So many were built so far; one of many operands counts as
                                         * several. */
        int64_t held;                   /* It is onnx_node_work of all nodes of the file, those of
                                         * functions and subgraphs included. */
        int64_t nodes;                  /* It is onnx_node_work of the nodes imported so far, those
                                         * of expanded functions included. */
        struct map *text_bytes;         /* These options --text-bytes were of use. */
        int channel_block;              /* It is what onnx_channel_block found, or 0 while nobody
                                         * has asked. */
        int64_t items;                  /* So many items of sequences were copied so far. */
        struct sha256 sha;              /* It digests external data, then the file. */
        const bytes_t *long_data;       /* These are the data of large tensors, where they lie in
                                         * the file. */
        struct map *files;              /* These are files with external data (onnx_external.c). */
        void (*dependency)(void *context, const char *path);
        void *dependency_context;
};

/* ---- onnx_names.c ---- */

bytes_t onnx_bytes(const char *text);
/* Returns the text with a NUL at its end. Names that stand for values have no NUL within. */
char *onnx_string(struct arena *arena, bytes_t text);
/* Returns the domain, where "ai.onnx" becomes "". */
bytes_t onnx_domain(bytes_t domain);
/* Returns the version that the frame imports, or 0 where it does not import the domain. */
int onnx_opset(const struct onnx_import *im, bytes_t domain);

/* These are the rows of one operator, for all opsets. */
struct onnx_row_list { const struct onnx_row *row; struct onnx_row_list *next; };
/* Returns a map from "domain NUL operator" to struct onnx_row_list. */
struct map *onnx_rows_map(struct arena *arena, const struct onnx_row *rows, int count);
const struct onnx_row_list *onnx_rows_of(const struct onnx_import *im, const Onnx__NodeProto *node);
/* Notes that a function of --define stands for the operator. */
void onnx_redefine(struct onnx_import *im, bytes_t domain, bytes_t op);
/* Returns the first of the functions in texts that stand for the node's operator, or NULL. */
struct onnx_definition *onnx_definition_find(const struct onnx_import *im,
                                             const Onnx__NodeProto *node);
/* Returns the row whose importer makes the node, or NULL, also where --define defines it. */
const struct onnx_row *onnx_row_find(const struct onnx_import *im, const Onnx__NodeProto *node);
/* Visits the names of values that attributes of the node state: those of a Gradient. */
void onnx_each_named(const Onnx__NodeProto *node, void (*visit)(void *context, bytes_t name),
                     void *context);

/* ---- onnx_report.c ---- */

#define SAFE(im, name) text_safe((im)->arena, (const char *)(name).data, (name).len)

/* Returns "node 'conv1' (Conv)", or "node of output 'y' (Conv)". */
const char *onnx_node_text(struct onnx_import *im, const Onnx__NodeProto *node);
/* Reports an error of the model that is not one of a node; returns false. */
bool onnx_error(struct onnx_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* Reports "WHAT is more than the limit of N (raise it with --limit NAME=N)"; returns false. */
bool onnx_over_limit(struct onnx_import *im, const char *what, const char *limit, int64_t value);
/* Returns whether `count` operations, or things that cost as much as one, are within --limit nodes
 * and expansion; it is an error if not. */
bool onnx_within_work(struct onnx_import *im, const char *what, int64_t count);
/* Returns how many operations a node is charged as, beside those that it becomes: 1, and 1 more for
 * every 32 names, numbers of attributes and words of tensors that it has. */
int64_t onnx_node_work(const Onnx__NodeProto *node);
const char *onnx_unsupported_text(struct onnx_import *im, const Onnx__NodeProto *node,
                                  const char *why);
/* These add a line to the list of what is not supported: about a node (which also sets skip), about
 * anything, about the first use of an unknown name. */
void onnx_list_node(struct onnx_import *im, const Onnx__NodeProto *node, const char *why);
void onnx_list(struct onnx_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
void onnx_list_entry(struct onnx_import *im, struct onnx_entry *e);
/* Ends the list with how many nodes were left out of it. */
void onnx_list_end(struct onnx_import *im);

/* ---- onnx_scope.c ---- */

struct onnx_scope *onnx_scope_new(struct onnx_import *im, struct onnx_scope *parent);
/* Returns the innermost entry of that name, or NULL. */
struct onnx_entry *onnx_scope_find(const struct onnx_scope *scope, bytes_t name);
/* Gives the entry a name. It is an error where the name is empty or has a NUL, or this scope has it
 * already. A name of an outer scope is hidden from here on, with a warning. Messages say `what` it
 * is, "input" or "output", and the node that it belongs to, which may be NULL. */
bool onnx_scope_define(struct onnx_import *im, struct onnx_scope *scope, bytes_t name,
                       struct onnx_entry entry, const char *what, const Onnx__NodeProto *node);
/* Between the two calls, operations are built in `region`; then where they were built before. */
struct onnx_region { struct region *region; struct op *counted; int known; };
struct onnx_region onnx_region_enter(struct onnx_import *im, struct region *region);
void onnx_region_leave(struct onnx_import *im, struct onnx_region outer);
/* onnx_enter opens one level of nesting, and returns false after an error beyond the limit. */
bool onnx_enter(struct onnx_import *im);
void onnx_leave(struct onnx_import *im);

/* ---- onnx_declare.c ---- */

/* Returns the tensor type that the file states for a value, or NULL where it states another one, or
 * none. */
const Onnx__TypeProto__Tensor *onnx_tensor_type(const Onnx__ValueInfoProto *v);
/* Reads a tensor type into *d; `what` is what has it, for errors. */
bool onnx_read_tensor_type(struct onnx_import *im, const char *what,
                           const Onnx__TypeProto__Tensor *t, struct onnx_declaration *d);
/* Returns the static type, once all dims are known, or NULL where it is open, too large, or of
 * elements without storage. */
const struct type *onnx_static_type(struct onnx_import *im, const struct onnx_declaration *d);
/* Does the same where some extents are symbols that a run gives. */
const struct type *onnx_bound_type(struct onnx_import *im, const struct onnx_declaration *d);
/* Returns the declared type as messages have it: "<? x 3 x f32>". */
char *onnx_declared_text(struct onnx_import *im, const struct onnx_declaration *d);
/* Adds the declarations of a list of values to scope->declared. */
bool onnx_declare(struct onnx_import *im, struct onnx_scope *scope,
                  Onnx__ValueInfoProto *const *values, size_t count);
/* Declares the outputs of the function that the scope is of, as its call's are declared. */
void onnx_declare_results(struct onnx_import *im, struct onnx_scope *scope,
                          const struct onnx_node *call, const Onnx__FunctionProto *f);
/* Returns what the file declares about a value, or NULL. */
struct onnx_declaration *onnx_declaration(const struct onnx_scope *scope, bytes_t name);
/* Is the symbol an extent of an input? Then its caller says its value. */
bool onnx_is_given(struct onnx_import *im, int symbol);
/* Do declared outputs of the node have extents of names that no input has, and that nothing has
 * counted? A run counts them, and tells them by these names. */
bool onnx_names_extents(struct onnx_import *im, const Onnx__NodeProto *node);
/* Checks the declaration of value `name`, a `what` ("output") of type t. Another element type is an
 * error. Another shape is a warning, and the computed one counts: exporters declare wrong shapes
 * (PyTorch's, of the states of an LSTM), and other programs read such files. */
bool onnx_check_declared(struct onnx_import *im, const char *what, bytes_t name,
                         struct onnx_declaration *d, const struct type *t);

/* ---- onnx_options.c ---- */

/* Reads --dim and --input into model->dims and model->shapes. */
bool onnx_read_options(struct onnx_import *im);
/* Checks that each --dim names an extent of the file, or one that the run of a node counts. */
bool onnx_check_dims_used(struct onnx_import *im);

/* ---- onnx_bind.c ---- */

const char *onnx_kind_text(const Onnx__TypeProto *t);     /* Returns what a type is, as "a
                                                           * sequence". */
/* Returns the dimension of a name that --dim or --input binds, or that is a term over such names
 * (onnx_terms.c); DIM_NONE: it is open. depth: so many terms hold the name. */
dim_t onnx_bound_dim(struct onnx_import *im, const char *name, size_t length, int depth);
/* Makes all inputs of the graph that are no initializers arguments of f, or those alone whose names
 * `needed` has, unless it is NULL. */
bool onnx_bind_inputs(struct onnx_import *im, struct onnx_scope *scope, struct function *f,
                      const Onnx__GraphProto *g, struct map *needed);
/* Adds the inputs of a step of training (--train), which are no names of the model. */
bool onnx_bind_step(struct onnx_import *im, struct function *f);
/* Sets model->seed as --seed says, behind the inputs of the model, of which it becomes one where
 * the option asks for that. */
bool onnx_bind_seed(struct onnx_import *im, struct onnx_scope *scope, struct function *f);
/* Checks that a node needs the seed, if --seed gives one. */
bool onnx_check_seed_used(struct onnx_import *im);

/* ---- onnx_scales.c ---- */

/* Checks the node's constant operands that are scales or zero points, as onnx_scales.def has
 * them. */
bool onnx_check_scales(struct onnx_import *im, const struct onnx_node *n);

/* ---- onnx_order.c ---- */

struct onnx_wiring {
        struct arena *arena;            /* It is its own arena, which onnx_wiring_free frees. */
        Onnx__NodeProto *const *nodes;
        int count;                      /* There are so many nodes. */
        struct map *producers;          /* It maps names to struct onnx_producer. */
        struct onnx_reads *reads;       /* These are, for each node, the names that it and its
                                         * subgraphs read. */
        bool *needed;                   /* It says which nodes are needed; where it is NULL all
                                         * are. */
};
/* Returns NULL after an error: two nodes make one value. */
struct onnx_wiring *onnx_wiring_new(struct onnx_import *im, Onnx__NodeProto *const *nodes,
                                    size_t count);
void onnx_wiring_free(struct onnx_wiring *w);
/* Keeps only the nodes that the wanted names need. `names` gets all wanted names, and all that the
 * kept nodes read. */
void onnx_wiring_prune(struct onnx_wiring *w, const bytes_t *wanted, int count, struct map *names);
/* Returns the numbers of the needed nodes, *count of them, each behind the nodes that it reads
 * from, else in the file's order. Returns NULL after an error: an undefined name, or a cycle. */
int *onnx_wiring_order(struct onnx_import *im, const struct onnx_wiring *w,
                       const struct onnx_scope *scope, int *count);
/* Returns the same for nodes all of which are needed. */
int *onnx_order(struct onnx_import *im, Onnx__NodeProto *const *nodes, size_t node_count,
                int *count);

/* ---- onnx_implied.c ---- */

/* Returns the declared type of a value that has the shape of the named result of the node at hand,
 * or NULL where none is found. rank is that of the named result, -1 where it is unknown. */
const struct type *onnx_implied(struct onnx_import *im, bytes_t name, int rank);

/* ---- onnx_graph.c ---- */

/* Defines the graph's initializers whose names `needed` has, or all where it is NULL. */
bool onnx_initializers(struct onnx_import *im, struct onnx_scope *scope, const Onnx__GraphProto *g,
                       struct map *needed);
/* Imports nodes into the current region and scope, in this order. */
bool onnx_nodes(struct onnx_import *im, Onnx__NodeProto *const *nodes, const int *order, int count);
/* Returns whether outputs[first..first + count) of g are tensors. Others are listed as unsupported:
 * only a run tells whether, or how often, g is run. */
bool onnx_want_tensors(struct onnx_import *im, const Onnx__GraphProto *g,
                       struct value *const *outputs, int first, int count);

/* ---- onnx_bind.c, onnx_facts.c: for --info and errors ---- */

/* Returns the type as the value is declared, "i32 <N x 2048>". */
const char *onnx_type_text(struct onnx_import *im, const Onnx__ValueInfoProto *v);
/* Returns the user's --dim and --input, and options that would bind all open dimensions to 1. */
const char *onnx_binding_command(struct onnx_import *im);
void onnx_facts(struct onnx_import *im, struct model_facts *facts);
bool onnx_is_initializer(const struct onnx_scope *scope, bytes_t name);

/* ---- onnx_define.c ---- */

/* Reads the functions of a text. Returns false after an error. */
bool onnx_define_text(struct onnx_import *im, const struct import_definition *file);
void onnx_define_free(struct onnx_import *im);            /* It frees what was read. */
/* Builds what a function computes, d or one behind it, in place of the node. Returns false after an
 * error. */
bool onnx_defined(struct onnx_import *im, struct onnx_node *n, struct onnx_definition *d);

/* ---- onnx_define_symbol.c ---- */

/* Marks the functions that C functions stand for. Returns false after an error. */
bool onnx_define_symbols(struct onnx_import *im);
/* Builds the call of d's C function, whose meaning is f, on these arguments. Returns NULL after an
 * error. */
struct op *onnx_define_external(struct onnx_import *im, struct onnx_node *n,
                                const struct onnx_definition *d, struct function *f,
                                const struct bound_symbol *symbols, int symbol_count,
                                struct value *const *arguments);

/* ---- onnx_function.c ---- */

/* Reads the imported opsets `of` ("the model", a function) into a map from domains to int. */
bool onnx_opsets(struct onnx_import *im, struct map **opsets, Onnx__OperatorSetIdProto *const *list,
                 size_t count, const char *of);
/* Reads the functions of --define's files and the model's; checks that none calls itself, and that
 * all nodes, with calls expanded, are within the limits. */
bool onnx_functions(struct onnx_import *im);
struct onnx_function *onnx_function_find(struct onnx_import *im, const Onnx__NodeProto *node);
/* Checks a call's attributes, and how many inputs and outputs it has. */
bool onnx_check_call(struct onnx_import *im, const struct onnx_node *n,
                     const Onnx__FunctionProto *f);
/* Returns the node with references to attributes replaced by those of the call, the node itself
 * where it has none, or NULL after an error. */
const Onnx__NodeProto *onnx_resolve_attributes(struct onnx_import *im, const Onnx__NodeProto *node);

/* ---- onnx_tensor.c, onnx_sparse.c, onnx_external.c ---- */

/* These read as onnx_tensor does. Where the tensor is well-formed, but its type not supported,
 * *value is NULL and *why says so. */
bool onnx_sparse_read(struct onnx_import *im, const Onnx__SparseTensorProto *t, const char *what,
                      struct value **value, const char **why);
bool onnx_tensor_read(struct onnx_import *im, const Onnx__TensorProto *t, const char *what,
                      struct value **value, const char **why);
/* Returns exactly `bytes` bytes of t's external data, in the module's arena, or NULL after an
 * error. */
const void *onnx_external(struct onnx_import *im, const Onnx__TensorProto *t, const char *what,
                          size_t bytes);

/* ---- onnx_attribute.c ---- */

/* Checks that names differ, and that types are stated and true. */
bool onnx_attributes_check(struct onnx_import *im, const Onnx__NodeProto *node);
/* Checks that an accessor asked for each attribute. */
bool onnx_attributes_used(struct onnx_import *im, const struct onnx_node *n);

#endif
