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

enum { PORTS_MAX = 65000 };             /* inputs, and outputs; ir/tensor/tensor.c holds 65,536 arguments */

typedef ProtobufCBinaryData bytes_t;    /* { len, data }: any text field */

/* What a file says about the type of a value. */
struct onnx_declaration {
        enum element element;
        int rank;                       /* -1: no shape given */
        int64_t *dims;                  /* extents; -1: open */
        const struct type *type;        /* when all is known and can be stored, else NULL */
        bool binding;                   /* another shape is an error, not a warning */
        bool contradicted;              /* which has been said */
};

/* What a name stands for. */
enum onnx_state { NAME_KNOWN, NAME_ABSENT, NAME_UNKNOWN };        /* absent: an optional input that a call leaves out */
struct onnx_entry {
        enum onnx_state state;
        bool initializer;
        struct value *value;            /* NAME_KNOWN */
        const char *unsupported;        /* NAME_UNKNOWN: said at the first use, or NULL when it was
                                         * said already */
};

/* One graph's names. Inner graphs see the outer ones; a function body sees none. */
struct onnx_scope {
        struct onnx_scope *parent;
        struct map *names;              /* bytes -> struct onnx_entry */
        struct map *declared;           /* bytes -> struct onnx_declaration; NULL: none */
};

struct onnx_function {
        const Onnx__FunctionProto *proto;
        const char *name;               /* text_safe */
        struct map *opsets;
        int64_t nodes;                  /* onnx_node_work with all calls expanded; saturates */
        int depth;                      /* of nested calls */
        int *order, count;              /* of its nodes; found at the first call */
        int waiting;                    /* calls in its body to functions of unknown size */
        bool surveyed;
};

/* The function call being expanded; the outermost one is the model itself. */
struct onnx_frame {
        const struct onnx_frame *caller;
        const struct onnx_function *function;     /* NULL: the main graph */
        const Onnx__NodeProto *call;
        struct map *opsets;             /* domain -> int */
};

/* One extent bound by --dim or --input. */
struct onnx_binding {
        int64_t extent;
        bool used;
        const char *origin;             /* the option, for messages */
};

struct onnx_model {
        const Onnx__ModelProto *proto;
        struct map *rows;               /* of onnx_rows_map */
        struct map *functions;          /* domain NUL name NUL overload -> struct onnx_function */
        struct map *dims;               /* symbol -> struct onnx_binding */
        struct map *shapes;             /* input -> its --input option */
        struct map *asked;              /* symbols whose option was asked for already */
        const char *command;            /* that would bind all that is open; NULL: not asked for yet */
        const struct onnx_frame *frame;
        int nesting;                    /* of subgraphs and functions at the moment */
        bool skip;                      /* the node at hand failed for want of support, not for an
                                         * error */
        bool contradicted;              /* a value is not what the file declares it to be */
        const Onnx__NodeProto *origin;  /* the node at hand, before attribute references were filled
                                         * in */
        struct map *hiding;             /* names that hide one outside, of which that was said */
        struct map *listed;             /* nodes listed as unsupported, by address */
        struct onnx_omitted *omitted, **omitted_end;      /* counted instead of listed */
        struct op *counted;             /* the last operation charged against the limits */
        int64_t operations;             /* built, those of many operands counted as several */
        int64_t held;                   /* onnx_node_work of all nodes of the file, those of functions and subgraphs, too */
        int64_t nodes;                  /* imported, functions expanded: the sum of onnx_node_work */
        int64_t items;                  /* of sequences, that were copied */
        struct sha256 sha;
        const bytes_t *long_data;       /* of tensors, as they lie in the file */
        struct map *files;              /* of external data; onnx_external.c */
        void (*dependency)(void *context, const char *path);
        void *dependency_context;
};

/* ---- onnx_names.c ---- */

bytes_t onnx_bytes(const char *text);
/* NUL-terminated; names that stand for values hold no NUL */
char *onnx_string(struct arena *arena, bytes_t text);
bytes_t onnx_domain(bytes_t domain);                      /* "ai.onnx" becomes "" */
int onnx_opset(const struct onnx_import *im, bytes_t domain);     /* 0: not imported */

/* the rows of one operator, whatever the opset */
struct onnx_row_list { const struct onnx_row *row; struct onnx_row_list *next; };
/* domain NUL operator -> struct onnx_row_list */
struct map *onnx_rows_map(struct arena *arena, const struct onnx_row *rows, int count);
const struct onnx_row_list *onnx_rows_of(const struct onnx_import *im, const Onnx__NodeProto *node);
/* the row that makes a node, or NULL */
const struct onnx_row *onnx_row_find(const struct onnx_import *im, const Onnx__NodeProto *node);

/* ---- onnx_report.c ---- */

#define SAFE(im, name) text_safe((im)->arena, (const char *)(name).data, (name).len)

/* "node 'conv1' (Conv)", or "node of output 'y' (Conv)" */
const char *onnx_node_text(struct onnx_import *im, const Onnx__NodeProto *node);
/* EXIT_INVALID about anything but a node; false */
bool onnx_error(struct onnx_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* "what is more than the limit of N (raise it with --limit name=N)"; false */
bool onnx_over_limit(struct onnx_import *im, const char *what, const char *limit, int64_t value);
/* whether so many operations, or what costs as much as one, are within --limit nodes and expansion;
 * an error if not */
bool onnx_within_work(struct onnx_import *im, const char *what, int64_t count);
/* How many operations importing a node is charged as, beside those that it becomes: 1, and 1 more for
 * every 32 names, numbers of attributes and words of tensors that the node holds */
int64_t onnx_node_work(const Onnx__NodeProto *node);
const char *onnx_unsupported_text(struct onnx_import *im, const Onnx__NodeProto *node, const char *why);
/* adds a line to the list of what is not supported; sets skip */
void onnx_list_node(struct onnx_import *im, const Onnx__NodeProto *node, const char *why);
void onnx_list(struct onnx_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
void onnx_list_entry(struct onnx_import *im, struct onnx_entry *e);       /* why a name is unknown, once */
void onnx_list_end(struct onnx_import *im);               /* the counts */

/* ---- onnx_scope.c ---- */

struct onnx_scope *onnx_scope_new(struct onnx_import *im, struct onnx_scope *parent);
/* innermost first; or NULL */
struct onnx_entry *onnx_scope_find(const struct onnx_scope *scope, bytes_t name);
/* false after an error: NUL in the name, or defined already in this scope. One that a scope around
 * defines is hidden from here on, with a warning. what: "input", "output", for the message, of node
 * unless NULL */
bool onnx_scope_define(struct onnx_import *im, struct onnx_scope *scope, bytes_t name,
                       struct onnx_entry entry, const char *what, const Onnx__NodeProto *node);
/* What is built goes into `region`, until it is left for where that was before. */
struct onnx_region { struct region *region; struct op *counted; };
struct onnx_region onnx_region_enter(struct onnx_import *im, struct region *region);
void onnx_region_leave(struct onnx_import *im, struct onnx_region outer);
bool onnx_enter(struct onnx_import *im);                  /* one level of nesting; false after a
                                                           * limit error */
void onnx_leave(struct onnx_import *im);

/* ---- onnx_bind.c ---- */

const char *onnx_kind_text(const Onnx__TypeProto *t);     /* "a sequence" */
bool onnx_read_options(struct onnx_import *im);           /* --dim and --input into model->dims and
                                                           * shapes */
/* The declarations of a list of values into scope->declared. */
bool onnx_declare(struct onnx_import *im, struct onnx_scope *scope,
                  Onnx__ValueInfoProto *const *values, size_t count);
/* All graph inputs that are not initializers become arguments of f. needed: names, or NULL for all.
 */
bool onnx_bind_inputs(struct onnx_import *im, struct onnx_scope *scope, struct function *f,
                      const Onnx__GraphProto *g, struct map *needed);
struct onnx_declaration *onnx_declaration(const struct onnx_scope *scope, bytes_t name);     /* or NULL */
/* d holds for value `name`, of type t; what: "output", ... Another element type is an error. Another
 * shape is a warning, and the computed one counts: exporters declare wrong ones (PyTorch's, of the
 * states of an LSTM), and other programs read such files. */
bool onnx_check_declared(struct onnx_import *im, const char *what, bytes_t name,
                         struct onnx_declaration *d, const struct type *t);

/* ---- onnx_scales.c ---- */

/* Whether the node's operands that are scales, where they are constant, are numbers to scale by, and
 * its zero points such (onnx_scales.def); asked of every node. */
bool onnx_check_scales(struct onnx_import *im, const struct onnx_node *n);

/* ---- onnx_order.c ---- */

struct onnx_wiring {
        struct arena *arena;            /* of its own */
        Onnx__NodeProto *const *nodes;
        int count;
        struct map *producers;          /* name -> struct onnx_producer */
        struct onnx_reads *reads;       /* per node: the names that it and its subgraphs read */
        bool *needed;                   /* per node; NULL: all */
};
/* NULL after an error: a value made twice. */
struct onnx_wiring *onnx_wiring_new(struct onnx_import *im, Onnx__NodeProto *const *nodes,
                                    size_t count);
void onnx_wiring_free(struct onnx_wiring *w);
/* Keeps only the nodes that the wanted names need; fills *names with every name they and wanted
 * refer to. */
void onnx_wiring_prune(struct onnx_wiring *w, const bytes_t *wanted, int count, struct map *names);
/* The nodes' numbers, producers first, in the file's order where that will do; *count of them. NULL
 * after an error: an undefined name, a cycle. */
int *onnx_wiring_order(struct onnx_import *im, const struct onnx_wiring *w,
                       const struct onnx_scope *scope, int *count);
/* the same for nodes of which all are needed */
int *onnx_order(struct onnx_import *im, Onnx__NodeProto *const *nodes, size_t node_count,
                int *count);

/* ---- onnx_graph.c ---- */

/* needed: names, or NULL for all; the others are not read */
bool onnx_initializers(struct onnx_import *im, struct onnx_scope *scope, const Onnx__GraphProto *g,
                       struct map *needed);
/* Imports nodes into the current region and scope, in this order. */
bool onnx_nodes(struct onnx_import *im, Onnx__NodeProto *const *nodes, const int *order, int count);
/* whether outputs[first..first + count) of g are tensors, where only a run tells whether, or how often, it is run; else listed */
bool onnx_want_tensors(struct onnx_import *im, const Onnx__GraphProto *g, struct value *const *outputs, int first, int count);
/* "i32 <N x 2048>", as it is declared */
const char *onnx_type_text(struct onnx_import *im, const Onnx__ValueInfoProto *v);
/* the user's --dim and --input, and those that would bind what is open, each extent being 1 */
const char *onnx_binding_command(struct onnx_import *im);
/* what the model says of itself (onnx_facts.c) */
void onnx_facts(struct onnx_import *im, struct model_facts *facts);
bool onnx_is_initializer(const struct onnx_scope *scope, bytes_t name);

/* ---- onnx_function.c ---- */

bool onnx_opsets(struct onnx_import *im, struct map **opsets, Onnx__OperatorSetIdProto *const *list,
                 size_t count, const char *of);
bool onnx_functions(struct onnx_import *im);              /* tables, acyclic calls, the node
                                                           * budget */
/* whether the node's attributes, inputs and outputs are some of the function */
bool onnx_check_call(struct onnx_import *im, const struct onnx_node *n,
                     const Onnx__FunctionProto *f);
struct onnx_function *onnx_function_find(struct onnx_import *im, const Onnx__NodeProto *node);
/* the node with attribute references replaced by the call's; node itself without any; NULL after an
 * error */
const Onnx__NodeProto *onnx_resolve_attributes(struct onnx_import *im, const Onnx__NodeProto *node);

/* ---- onnx_tensor.c, onnx_external.c ---- */

/* As onnx_tensor; *value NULL and *why set where the tensor is well-formed and its type not
 * supported. */
bool onnx_sparse_read(struct onnx_import *im, const Onnx__SparseTensorProto *t, const char *what, struct value **value, const char **why);
bool onnx_tensor_read(struct onnx_import *im, const Onnx__TensorProto *t, const char *what,
                      struct value **value, const char **why);
/* exactly `bytes` bytes of t's external data, in the module's arena; NULL after an error */
const void *onnx_external(struct onnx_import *im, const Onnx__TensorProto *t, const char *what,
                          size_t bytes);

/* ---- onnx_control.c ---- */

bool onnx_import_if(struct onnx_import *im, struct onnx_node *n);

/* ---- onnx_attribute.c ---- */

/* names differ, types are stated and true */
bool onnx_attributes_check(struct onnx_import *im, const Onnx__NodeProto *node);
bool onnx_attributes_used(struct onnx_import *im, const struct onnx_node *n);

#endif
