/* SPDX-License-Identifier: MIT */
/* The importer's own state: the model as a whole, scopes of names, functions, the node at hand.
 * Shared by the files that walk graphs; importers of operators need only onnx.h.
 *
 * Each of these files calls those above it alone; importers of operators stand behind them, and are
 * called through rows.
 *
 *   onnx_names.c      names, domains, opsets; rows by the names of operators
 *   onnx_report.c     messages about nodes, the list of what is not supported, limits
 *   onnx_scope.c      scopes of names, nesting
 *   onnx_external.c   tensor data in other files; onnx_tensor.c: tensors
 *   onnx_sparse.c     sparse tensors, which become dense
 *   onnx_attribute.c  checked access to attributes; onnx_scales.c: operands that are scales
 *   onnx_sequence.c   values that are lists of values
 *   onnx_bind.c       types of values; --dim and --input
 *   onnx_order.c      which node needs which: topological order, needed nodes
 *   onnx_channel_block.c  blocks of channels in weights that onnxruntime reordered
 *   onnx_implied.c    shapes that follow from declarations of later values
 *   onnx_function.c   functions of the model: the graph of calls, attributes of a call
 *   onnx_graph.c      nodes one after the other, calls of functions, subgraphs
 *   onnx_op_*.c       importers, and those of control flow: onnx_control.c, onnx_loop.c
 *   onnx_rows.c       the table of importers
 *   onnx_facts.c      what a model says of itself
 *   onnx_model.c      the door: header checks, inputs, outputs, the module */
#ifndef FRONT_ONNX_ONNX_MODEL_H
#define FRONT_ONNX_ONNX_MODEL_H

#include "base/sha256.h"
#include "front/onnx/onnx.h"

enum { PORTS_MAX = 65000 };             /* inputs, and outputs; a function holds 65,536 arguments */

typedef ProtobufCBinaryData bytes_t;    /* { len, data }: any text field */

/* What a file says about the type of a value. */
struct onnx_declaration {
        enum element element;
        int rank;                       /* -1: the shape is not stated */
        int64_t *dims;                  /* [rank]: extents; -1: open */
        const struct type *type;        /* NULL: an extent is open, or the type cannot be stored */
        bool binding;                   /* another shape is an error, not a warning */
        bool contradicted;              /* the warning was printed */
};

/* What a name stands for. */
enum onnx_state {
        NAME_KNOWN,
        NAME_ABSENT,                    /* an optional input that a call leaves out */
        NAME_UNKNOWN                    /* the result of a node that is not supported */
};
struct onnx_entry {
        enum onnx_state state;
        bool initializer;
        struct value *value;            /* the value of a known name */
        const char *unsupported;        /* where NAME_UNKNOWN: the line that the first use adds to
                                         * the list; NULL: the list has it already */
};

/* The names of one graph. An inner graph sees those of the graphs around it; the body of a function
 * does not. */
struct onnx_scope {
        struct onnx_scope *parent;
        struct map *names;              /* bytes -> struct onnx_entry */
        struct map *declared;           /* bytes -> struct onnx_declaration; NULL: none */
};

struct onnx_function {
        const Onnx__FunctionProto *proto;
        const char *name;               /* after text_safe */
        struct map *opsets;             /* domain -> int */
        int64_t nodes;                  /* onnx_node_work of its body with all calls expanded, at
                                         * most INT64_MAX / 4 */
        int depth;                      /* how deep calls in its body nest */
        int *order, count;              /* the order of its nodes; NULL before the first call */
        int waiting;                    /* calls in its body to functions whose size is unknown */
        bool surveyed;                  /* its unsupported nodes are listed */
};

/* The call of a function that is being expanded. The outermost frame is the model itself. */
struct onnx_frame {
        const struct onnx_frame *caller;
        const struct onnx_function *function;     /* NULL: the main graph */
        const Onnx__NodeProto *call;
        struct map *opsets;             /* domain -> int */
};

/* An extent that --dim or --input binds. */
struct onnx_binding {
        int64_t extent;
        bool used;                      /* some input has the dimension */
        const char *origin;             /* the option, for messages */
};

/* The nodes of the innermost graph or function, in the order of their import. */
struct onnx_walk {
        Onnx__NodeProto *const *nodes;
        const int *order;               /* [count]: numbers of nodes */
        int count;
        int next;                       /* the place in the order behind the node at hand */
};

/* The loop whose body is being imported. */
struct onnx_iteration {
        const struct onnx_iteration *outer;
        struct value *number;           /* of the iteration, from 0 on; an integer */
};

/* The state of the walk over a model. */
struct onnx_model {
        const Onnx__ModelProto *proto;
        struct map *rows;               /* the rows, as onnx_rows_map maps them */
        struct map *functions;          /* domain NUL name NUL overload -> struct onnx_function */
        struct map *dims;               /* symbol -> struct onnx_binding */
        struct map *shapes;             /* input -> its --input option */
        struct map *asked;              /* symbols whose option an error asked for already */
        const char *command;            /* the command that would bind all open dimensions; NULL:
                                         * nobody asked for it yet */
        const struct onnx_frame *frame; /* innermost */
        struct onnx_walk walk;
        const struct onnx_iteration *iteration;   /* of the innermost loop; NULL: in none */
        struct value *seed;             /* u64: of random numbers */
        int64_t draws;                  /* nodes with random numbers of that seed so far */
        int nesting;                    /* how deep subgraphs and functions nest now */
        bool skip;                      /* the node at hand is not supported; without it, a failure
                                         * is an error of the model */
        bool contradicted;              /* some value is not what the file declares it to be */
        const Onnx__NodeProto *origin;  /* the node at hand, before references to attributes were
                                         * filled in */
        struct map *hiding;             /* names that hide an outer one, and were warned of */
        struct map *listed;             /* nodes listed as unsupported, by address */
        struct onnx_omitted *omitted, **omitted_end;      /* operators whose further nodes are
                                                           * counted instead of listed */
        struct op *counted;             /* the last operation charged against the limits */
        int64_t operations;             /* built so far; one of many operands counts as several */
        int64_t held;                   /* onnx_node_work of all nodes of the file, those of
                                         * functions and subgraphs included */
        int64_t nodes;                  /* onnx_node_work of the nodes imported so far, those of
                                         * expanded functions included */
        int channel_block;              /* what onnx_channel_block found; 0: nobody asked yet */
        int64_t items;                  /* items of sequences that were copied so far */
        struct sha256 sha;              /* the digest of external data, then of the file */
        const bytes_t *long_data;       /* data of large tensors, where they lie in the file */
        struct map *files;              /* files with external data: onnx_external.c */
        void (*dependency)(void *context, const char *path);
        void *dependency_context;
};

/* ---- onnx_names.c ---- */

bytes_t onnx_bytes(const char *text);
/* With a NUL at its end. Names that stand for values have no NUL within. */
char *onnx_string(struct arena *arena, bytes_t text);
/* "ai.onnx" becomes "". */
bytes_t onnx_domain(bytes_t domain);
/* The version that the frame imports; 0: it does not import the domain. */
int onnx_opset(const struct onnx_import *im, bytes_t domain);

/* The rows of one operator, for all opsets. */
struct onnx_row_list { const struct onnx_row *row; struct onnx_row_list *next; };
/* Returns a map: domain NUL operator -> struct onnx_row_list. */
struct map *onnx_rows_map(struct arena *arena, const struct onnx_row *rows, int count);
const struct onnx_row_list *onnx_rows_of(const struct onnx_import *im, const Onnx__NodeProto *node);
/* The row whose importer makes the node, or NULL. */
const struct onnx_row *onnx_row_find(const struct onnx_import *im, const Onnx__NodeProto *node);

/* ---- onnx_report.c ---- */

#define SAFE(im, name) text_safe((im)->arena, (const char *)(name).data, (name).len)

/* "node 'conv1' (Conv)", or "node of output 'y' (Conv)" */
const char *onnx_node_text(struct onnx_import *im, const Onnx__NodeProto *node);
/* An error of the model that is not one of a node; returns false. */
bool onnx_error(struct onnx_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* Reports "WHAT is more than the limit of N (raise it with --limit NAME=N)"; returns false. */
bool onnx_over_limit(struct onnx_import *im, const char *what, const char *limit, int64_t value);
/* Whether `count` operations, or things that cost as much as one, are within --limit nodes and
 * expansion; an error if not. */
bool onnx_within_work(struct onnx_import *im, const char *what, int64_t count);
/* How many operations a node is charged as, beside those that it becomes: 1, and 1 more for
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
/* The innermost entry of that name, or NULL. */
struct onnx_entry *onnx_scope_find(const struct onnx_scope *scope, bytes_t name);
/* Gives the entry a name. An error: the name is empty or has a NUL, or this scope has it already. A
 * name of an outer scope is hidden from here on, with a warning. what: "input", "output", for
 * messages, and the node that it belongs to, or NULL. */
bool onnx_scope_define(struct onnx_import *im, struct onnx_scope *scope, bytes_t name,
                       struct onnx_entry entry, const char *what, const Onnx__NodeProto *node);
/* Between the two, operations are built in `region`; then where they were built before. */
struct onnx_region { struct region *region; struct op *counted; };
struct onnx_region onnx_region_enter(struct onnx_import *im, struct region *region);
void onnx_region_leave(struct onnx_import *im, struct onnx_region outer);
/* One level of nesting; false after an error, beyond the limit. */
bool onnx_enter(struct onnx_import *im);
void onnx_leave(struct onnx_import *im);

/* ---- onnx_bind.c ---- */

const char *onnx_kind_text(const Onnx__TypeProto *t);     /* "a sequence" */
/* Reads --dim and --input into model->dims and model->shapes. */
bool onnx_read_options(struct onnx_import *im);
/* Adds the declarations of a list of values to scope->declared. */
bool onnx_declare(struct onnx_import *im, struct onnx_scope *scope,
                  Onnx__ValueInfoProto *const *values, size_t count);
/* Makes all inputs of the graph that are no initializers arguments of f. needed: their names; NULL:
 * all. */
bool onnx_bind_inputs(struct onnx_import *im, struct onnx_scope *scope, struct function *f,
                      const Onnx__GraphProto *g, struct map *needed);
/* What the file declares about a value, or NULL. */
struct onnx_declaration *onnx_declaration(const struct onnx_scope *scope, bytes_t name);
/* Checks the declaration of value `name`, a `what` ("output") of type t. Another element type is an
 * error. Another shape is a warning, and the computed one counts: exporters declare wrong shapes
 * (PyTorch's, of the states of an LSTM), and other programs read such files. */
bool onnx_check_declared(struct onnx_import *im, const char *what, bytes_t name,
                         struct onnx_declaration *d, const struct type *t);

/* Declares the outputs of the function that the scope is of, as its call's are declared. */
void onnx_declare_results(struct onnx_import *im, struct onnx_scope *scope,
                          const struct onnx_node *call, const Onnx__FunctionProto *f);

/* Sets model->seed as --seed says, behind the inputs of the model, of which it becomes one where
 * the option asks for that. */
bool onnx_bind_seed(struct onnx_import *im, struct onnx_scope *scope, struct function *f);

/* ---- onnx_scales.c ---- */

/* Checks the node's constant operands that are scales or zero points, as onnx_scales.def has
 * them. */
bool onnx_check_scales(struct onnx_import *im, const struct onnx_node *n);

/* ---- onnx_order.c ---- */

struct onnx_wiring {
        struct arena *arena;            /* its own, which onnx_wiring_free frees */
        Onnx__NodeProto *const *nodes;
        int count;                      /* how many nodes there are */
        struct map *producers;          /* name -> struct onnx_producer */
        struct onnx_reads *reads;       /* [count]: the names that a node and its subgraphs read */
        bool *needed;                   /* [count]; NULL: all nodes are needed */
};
/* NULL after an error: two nodes make one value. */
struct onnx_wiring *onnx_wiring_new(struct onnx_import *im, Onnx__NodeProto *const *nodes,
                                    size_t count);
void onnx_wiring_free(struct onnx_wiring *w);
/* Keeps the nodes alone that the wanted names need. `names` gets all wanted names, and all that the
 * kept nodes read. */
void onnx_wiring_prune(struct onnx_wiring *w, const bytes_t *wanted, int count, struct map *names);
/* The numbers of the needed nodes, *count of them, each behind the nodes that it reads from,
 * else in the file's order. NULL after an error: an undefined name, a cycle. */
int *onnx_wiring_order(struct onnx_import *im, const struct onnx_wiring *w,
                       const struct onnx_scope *scope, int *count);
/* The same for nodes all of which are needed. */
int *onnx_order(struct onnx_import *im, Onnx__NodeProto *const *nodes, size_t node_count,
                int *count);

/* ---- onnx_implied.c ---- */

/* Returns the declared type of a value that has the shape of the named result of the node at hand.
 * NULL: none is found. rank: of the named result; -1: unknown. */
const struct type *onnx_implied(struct onnx_import *im, bytes_t name, int rank);

/* ---- onnx_graph.c ---- */

/* needed: the names of initializers that are read; NULL: all */
bool onnx_initializers(struct onnx_import *im, struct onnx_scope *scope, const Onnx__GraphProto *g,
                       struct map *needed);
/* Imports nodes into the current region and scope, in this order. */
bool onnx_nodes(struct onnx_import *im, Onnx__NodeProto *const *nodes, const int *order, int count);
/* Whether outputs[first..first + count) of g are tensors. Others are listed as unsupported: only
 * a run tells whether, or how often, g is run. */
bool onnx_want_tensors(struct onnx_import *im, const Onnx__GraphProto *g,
                       struct value *const *outputs, int first, int count);

/* ---- onnx_bind.c, onnx_facts.c: for --info and errors ---- */

/* "i32 <N x 2048>", as the value is declared */
const char *onnx_type_text(struct onnx_import *im, const Onnx__ValueInfoProto *v);
/* The user's --dim and --input, and options that would bind all open dimensions to 1. */
const char *onnx_binding_command(struct onnx_import *im);
void onnx_facts(struct onnx_import *im, struct model_facts *facts);
bool onnx_is_initializer(const struct onnx_scope *scope, bytes_t name);

/* ---- onnx_function.c ---- */

/* Reads the imported opsets `of` ("the model", a function) into a map, domain -> int. */
bool onnx_opsets(struct onnx_import *im, struct map **opsets, Onnx__OperatorSetIdProto *const *list,
                 size_t count, const char *of);
/* Reads the model's functions; checks that none calls itself, and that all nodes, with calls
 * expanded, are within the limits. */
bool onnx_functions(struct onnx_import *im);
struct onnx_function *onnx_function_find(struct onnx_import *im, const Onnx__NodeProto *node);
/* Checks a call's attributes, and how many inputs and outputs it has. */
bool onnx_check_call(struct onnx_import *im, const struct onnx_node *n,
                     const Onnx__FunctionProto *f);
/* The node with references to attributes replaced by those of the call; the node itself where it
 * has none. NULL after an error. */
const Onnx__NodeProto *onnx_resolve_attributes(struct onnx_import *im, const Onnx__NodeProto *node);

/* ---- onnx_tensor.c, onnx_sparse.c, onnx_external.c ---- */

/* As onnx_tensor. Where the tensor is well-formed, but its type not supported, *value is NULL
 * and *why says so. */
bool onnx_sparse_read(struct onnx_import *im, const Onnx__SparseTensorProto *t, const char *what,
                      struct value **value, const char **why);
bool onnx_tensor_read(struct onnx_import *im, const Onnx__TensorProto *t, const char *what,
                      struct value **value, const char **why);
/* Exactly `bytes` bytes of t's external data, in the module's arena. NULL after an error. */
const void *onnx_external(struct onnx_import *im, const Onnx__TensorProto *t, const char *what,
                          size_t bytes);

/* ---- onnx_attribute.c ---- */

/* Checks that names differ, and that types are stated and true. */
bool onnx_attributes_check(struct onnx_import *im, const Onnx__NodeProto *node);
/* Checks that an accessor asked for each attribute. */
bool onnx_attributes_used(struct onnx_import *im, const struct onnx_node *n);

#endif
