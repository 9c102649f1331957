/* SPDX-License-Identifier: MIT */
/* ONNX import, inside: what the files of this room share. The room's door is onnx_import
 * (front/import.h).
 *
 *   onnx_wire.c       iterative scan of the bytes before protobuf-c unpacks them: depth, lengths, counts, wire types
 *   onnx_tensor.c     TensorProto -> constant; onnx_external.c: its data in another file
 *   onnx_model.h      the model, its graphs and functions: onnx_model.c, onnx_bind.c, onnx_order.c, onnx_graph.c,
 *                     onnx_function.c, onnx_report.c
 *   onnx_attribute.c  checked access to attributes
 *   onnx_ops.def      one row per framework operator and opset range
 *   onnx_op_*.c       importers: what a node says is checked and decoded; its meaning is a call of
 *                     front/compose, or a few lines
 *
 * Nothing here recurses on input depth without a limit, and nothing of a model reaches a message
 * but through text_safe. */
#ifndef FRONT_ONNX_ONNX_H
#define FRONT_ONNX_ONNX_H

#include "front/import.h"
#include "front/compose/compose.h"
#include "ir/tensor/tensor.h"
#include "passes/pass.h"

#include "onnx.pb-c.h"                  /* generated from onnx.proto; text fields are bytes */

struct onnx_import {
        struct module *m;
        struct builder b;               /* region and location are set for the node at hand; folds
                                         * as it builds */
        struct compose *c;              /* over b: what operators mean; its errors are those of the
                                         * node at hand */
        struct onnx_node *node;         /* at hand; NULL: none */
        struct diag *diag;
        struct pass_context *context;   /* of the folder; limits */
        const struct import_options *options;
        struct map *unsupported;        /* what was listed already */
        int unsupported_count;
        struct arena *arena;            /* lives as long as the import */
        struct onnx_scope *scope;       /* innermost names */
        struct onnx_model *model;       /* onnx_model.h */
};

/* A node as its importer sees it. The importer sets outputs[0..output_count) for every output it
 * defines. */
struct onnx_node {
        const char *name, *op, *domain; /* text_safe */
        int opset;                      /* of its domain */
        int input_count, output_count;  /* trailing absent ones not counted */
        struct value **inputs;          /* NULL: absent ("") */
        struct value **outputs;         /* room for output_count; NULL: not supported, which is an error where it is needed */
        const char *lacking;            /* why some are, for that error; or NULL */
        const struct type **declared;   /* per output: static type the model states, or NULL */
        const bool *wanted;             /* per output: named by the node ("" is not) */
        const struct onnx_row *row;     /* NULL: a call of a model's function */
        const Onnx__NodeProto *proto;   /* attribute references of a function's body filled in */
        unsigned char *attribute_used;  /* per attribute; an attribute that no accessor asked for is
                                         * an error */
};

/* One row of onnx_ops.def. */
struct onnx_row {
        const char *domain, *op;        /* "" is ai.onnx */
        int since, until;               /* opset range, inclusive; until 999: newest */
        int inputs_min, inputs_max;     /* 999: any */
        int outputs_max;
        bool (*import)(struct onnx_import *im, struct onnx_node *n);
        int variant;                    /* for the importer: an opcode, a reducer,
                                         * ... */
        unsigned lists;                 /* a bit for each input that may be a sequence or an optional */
};
int onnx_rows(const struct onnx_row **rows);              /* the table, for --help-ops; how many */
static inline int onnx_variant(const struct onnx_node *n) { return n->row->variant; }

/* Errors about node n: "node 'conv1' (Conv): ...". Both return false. onnx_unsupported adds to the
 * list that is printed once and the node's outputs count as unknown; the rest of the graph is still
 * examined. */
bool onnx_invalid(struct onnx_import *im, const struct onnx_node *n, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
bool onnx_unsupported(struct onnx_import *im, const struct onnx_node *n, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
void onnx_warning(struct onnx_import *im, const struct onnx_node *n, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Attributes. Each returns false after one error (wrong type, given twice); an absent one gives the
 * preset. */
bool onnx_has(const struct onnx_node *n, const char *name);       /* does not count as use */
bool onnx_int(struct onnx_import *im, struct onnx_node *n, const char *name, int64_t preset,
              int64_t *value);
bool onnx_float(struct onnx_import *im, struct onnx_node *n, const char *name, float preset,
                float *value);
/* *values: NULL and *count 0 when absent; points into the model */
bool onnx_ints(struct onnx_import *im, struct onnx_node *n, const char *name,
               const int64_t **values, int *count);
bool onnx_floats(struct onnx_import *im, struct onnx_node *n, const char *name,
                 const float **values, int *count);
/* one of a NULL-terminated list; *which is its index; absent: preset */
bool onnx_choice(struct onnx_import *im, struct onnx_node *n, const char *name,
                 const char *const *names, int preset, int *which);
/* of a sparse tensor, made dense; an error when absent */
bool onnx_sparse_attribute(struct onnx_import *im, struct onnx_node *n, const char *name, struct value **constant);
/* *constant: NULL when absent */
bool onnx_tensor_attribute(struct onnx_import *im, struct onnx_node *n, const char *name,
                           struct value **constant);
const Onnx__GraphProto *onnx_graph_attribute(struct onnx_import *im, struct onnx_node *n,
                                             const char *name);

/* TensorProto to constant; external data through the options' rules. NULL after one error that
 * names the tensor. */
struct value *onnx_tensor(struct onnx_import *im, const Onnx__TensorProto *t, const char *what);

/* Imports a subgraph's nodes into region (arguments bound to its inputs); yields its outputs. */
bool onnx_subgraph(struct onnx_import *im, const Onnx__GraphProto *g, struct region *region,
                   struct value *const *arguments, int argument_count);
/* The same nodes straight into the current region (a branch known at compile time);
 * outputs[output_count] are set. */
bool onnx_inline_graph(struct onnx_import *im, const Onnx__GraphProto *g,
                       struct value *const *arguments, int argument_count, struct value **outputs,
                       int output_count);
/* The same as one of many, which is charged as nodes are. */
bool onnx_repeat_graph(struct onnx_import *im, const Onnx__GraphProto *g, struct value *const *arguments, int argument_count,
                       struct value **outputs, int output_count);

/* ---- sequences and optionals (onnx_sequence.c) ---- */

/* Their values are of TYPE_SEQUENCE, or of TYPE_OPTIONAL for one without a value, and no operation makes or takes them: they
 * are lists of what is known while the graph is imported. Rows of ONNX_LIST_OP may have such inputs. NULL after an error. */
struct value *onnx_sequence_new(struct onnx_import *im, enum element e, struct value *const *items, int count);
struct value *onnx_absent_new(struct onnx_import *im, enum element e, bool sequence);        /* an optional tensor, or sequence */
struct value *const *onnx_sequence_items(const struct value *v, int *count);           /* of an optional: none */

/* What protobuf-c unpacks: the same messages, without fields that are unknown and without tensors'
 * raw_data of CONSTANT_LARGE bytes and more. These are listed, where they lie in the file; their
 * tensors have long_data, which is an index. */
struct onnx_image {
        struct arena *arena;            /* of the list */
        struct text bytes;              /* text_free it */
        ProtobufCBinaryData *long_data;
        size_t long_count;
};
/* Scan before unpacking as `message`: false after one error. Constant stack, one pass. */
bool onnx_wire_check(const unsigned char *bytes, size_t length,
                     const ProtobufCMessageDescriptor *message, const struct limits *limits,
                     struct onnx_image *image, struct diag *diag);

/* ONNX's text (onnx_text.c): the same model as a protobuf, in *wire (text_free it); false after one
 * error */
bool onnx_is_text(const unsigned char *bytes, size_t length);
bool onnx_text_read(const unsigned char *bytes, size_t length, const struct limits *limits, struct text *wire, struct diag *diag);

/* ---- helpers of importers (onnx_helpers.c) ---- */

/* axis in [-rank, rank) made positive; false after one error */
bool onnx_axis(struct onnx_import *im, const struct onnx_node *n, int64_t axis, int rank,
               int *result);
/* a constant integer operand of rank 0 or 1 (int32 or int64); *known false when it is a run-time
 * value */
bool onnx_operand_ints(struct onnx_import *im, const struct onnx_node *n, int input,
                       int64_t *values, int room, int *count, bool *known);

#endif
