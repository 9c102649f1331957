/* SPDX-License-Identifier: MIT */
/* All files of this room share this: the state of an import, a node as its importer sees it, and
 * errors, attributes, tensors and subgraphs. The entry point is onnx_import (front/import.h).
 *
 *   onnx_text.c       turns ONNX's text form into the bytes of a protobuf, which front/wire.c scans
 *                     before protobuf-c unpacks them: depth, lengths, counts, types
 *   onnx_model.h      lists the files that walk over the model
 *   onnx_ops.def      has one row for each operator and range of opsets
 *   onnx_op_*.c       are the importers, which check and decode a node, and call front/compose
 *
 * No function recurses on the depth of the input without a limit. Text of a model reaches a message
 * through text_safe alone. */
#ifndef FRONT_ONNX_ONNX_H
#define FRONT_ONNX_ONNX_H

#include "front/import.h"
#include "front/compose/compose.h"
#include "front/wire.h"
#include "ir/tensor/amounts.h"
#include "passes/pass.h"

#include "onnx.pb-c.h"                  /* It is generated from onnx.proto; text fields are
                                         * bytes. */

struct onnx_import {
        struct module *m;               /* The import makes this module. */
        struct builder b;               /* It folds as it builds; its region and location are those
                                         * of the node at hand. */
        struct compose *c;              /* It builds the meaning of operators with b; its errors
                                         * name the node at hand. */
        struct onnx_node *node;         /* It is the node at hand, or NULL. */
        struct diag *diag;
        struct pass_context *context;   /* It has the limits, and what folding needs. */
        const struct import_options *options;
        struct map *unsupported;        /* These are the lines of the list of what is not
                                         * supported. */
        int unsupported_count;          /* The list has so many lines. */
        struct arena *arena;            /* It lives as long as the import. */
        struct onnx_scope *scope;       /* The innermost scope of names. */
        struct onnx_model *model;       /* It is the state of the walk (onnx_model.h). */
};

/* This is a node as its importer sees it. The importer sets outputs[0..output_count) for every
 * output it defines. */
struct onnx_node {
        const char *name, *op, *domain; /* They have been through text_safe. */
        int opset;                      /* It is the version of the domain that the model
                                         * imports. */
        int input_count, output_count;  /* Absent ones at the end are not counted. */
        struct value **inputs;          /* There are input_count of them; NULL stands for an absent
                                         * one (""). */
        struct value **outputs;         /* There are output_count of them; an output that stays NULL
                                         * is not supported, which is an error where a node reads
                                         * it. */
        const struct type **declared;   /* It has for each output the static type that the model
                                         * states, or NULL. */
        const bool *wanted;             /* It says for each output whether the node names it. */
        const struct onnx_row *row;     /* Where it is NULL the node calls a function of the
                                         * model. */
        const Onnx__NodeProto *proto;   /* Its references to attributes of a function are filled
                                         * in. */
        unsigned char *attribute_used;  /* It says for each attribute whether an accessor asked for
                                         * it; an attribute that none asked for is an error. */
};

/* This is one row of onnx_ops.def. */
struct onnx_row {
        const char *domain, *op;        /* The domain "" is ai.onnx. */
        int since, until;               /* The range of opsets is inclusive; where until is 999 it
                                         * goes to the newest. */
        int inputs_min, inputs_max;     /* 999 stands for any number. */
        int outputs_max;
        bool (*import)(struct onnx_import *im, struct onnx_node *n);
        int variant;                    /* It tells the importer which operator it is, by an opcode,
                                         * a reducer and the like. */
        unsigned lists;                 /* Where bit i is set, input i may be a sequence or an
                                         * optional; where bit 31 is set, all from 31 on may. */
        int mapped;                     /* The result has the shape of this many operands, broadcast
                                         * to each other; at 0 it has another shape. */
};
int onnx_rows(const struct onnx_row **rows);              /* Sets *rows to the table, for --help-ops
                                                           * too, and returns how many there are. */
static inline int onnx_variant(const struct onnx_node *n) { return n->row->variant; }

/* These report errors about node n, "node 'conv1' (Conv): ...", and return false. onnx_unsupported
 * adds a line to the list that is printed at the end; the node's outputs become unknown, and the
 * rest of the graph is still examined. */
bool onnx_invalid(struct onnx_import *im, const struct onnx_node *n, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
bool onnx_unsupported(struct onnx_import *im, const struct onnx_node *n, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
void onnx_warning(struct onnx_import *im, const struct onnx_node *n, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Accessors of attributes return false after one error (wrong type, given twice). An absent
 * attribute gives the preset. */

/* Returns whether the attribute is there; this does not count as use. */
bool onnx_has(const struct onnx_node *n, const char *name);
/* Returns the attribute's ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__, UNDEFINED where it is not
 * there. */
int onnx_attribute_type(const struct onnx_node *n, const char *name);
bool onnx_int(struct onnx_import *im, struct onnx_node *n, const char *name, int64_t preset,
              int64_t *value);
bool onnx_float(struct onnx_import *im, struct onnx_node *n, const char *name, float preset,
                float *value);
/* Sets *values into the model; an absent attribute gives NULL, and 0 for *count. */
bool onnx_ints(struct onnx_import *im, struct onnx_node *n, const char *name,
               const int64_t **values, int *count);
bool onnx_floats(struct onnx_import *im, struct onnx_node *n, const char *name,
                 const float **values, int *count);
/* Sets *which to the index of the attribute's text in `names`, a list that ends with NULL. */
bool onnx_choice(struct onnx_import *im, struct onnx_node *n, const char *name,
                 const char *const *names, int preset, int *which);
/* Makes a sparse tensor a dense constant. An absent attribute is an error. */
bool onnx_sparse_attribute(struct onnx_import *im, struct onnx_node *n, const char *name,
                           struct value **constant);
/* An absent attribute gives NULL. */
bool onnx_tensor_attribute(struct onnx_import *im, struct onnx_node *n, const char *name,
                           struct value **constant);
const Onnx__GraphProto *onnx_graph_attribute(struct onnx_import *im, struct onnx_node *n,
                                             const char *name);

/* Returns a TensorProto as a constant. External data are read where the options allow it. Returns
 * NULL after one error, which names the tensor by `what`. */
struct value *onnx_tensor(struct onnx_import *im, const Onnx__TensorProto *t, const char *what);

/* Imports the nodes of a subgraph without inputs into the region, which yields the subgraph's
 * outputs. Where one is of texts, it yields their bytes, and texts[output] becomes true. Where one
 * is a sequence or an optional, that becomes lists[output], and the region yields a bool in its
 * place. */
bool onnx_subgraph(struct onnx_import *im, const Onnx__GraphProto *g, struct region *region,
                   bool *texts, struct value **lists);
/* Imports the same nodes into the current region, as for a branch that is known at compile time;
 * sets outputs[output_count]. */
bool onnx_inline_graph(struct onnx_import *im, const Onnx__GraphProto *g,
                       struct value *const *arguments, int argument_count, struct value **outputs,
                       int output_count);
/* Does the same for one of many copies; each is charged against the limits, as nodes are. */
bool onnx_repeat_graph(struct onnx_import *im, const Onnx__GraphProto *g,
                       struct value *const *arguments, int argument_count, struct value **outputs,
                       int output_count);

/* Returns how many channels lie side by side in weights of com.microsoft.nchwc: 8 or 16, or 0 where
 * neither the options nor the model say it (onnx_channel_block.c). */
int onnx_channel_block(struct onnx_import *im);

/* ---- sequences and optionals (onnx_sequence.c) ---- */

/* Their values are of TYPE_SEQUENCE, or of TYPE_OPTIONAL for an optional without a value. No
 * operation makes or reads them: they are lists of values, complete while the graph is imported.
 * Importers of rows ONNX_LIST_OP take such inputs. onnx_sequence_new returns NULL after an
 * error. */
struct value *onnx_sequence_new(struct onnx_import *im, enum element e, struct value *const *items,
                                int count);
/* Returns an optional tensor, or an optional sequence, without a value. */
struct value *onnx_absent_new(struct onnx_import *im, enum element e, bool sequence);
/* Returns a map of keys, i64 or texts, and as many values. A row that takes one has ONNX_MAPS for
 * its lists. */
enum { ONNX_MAPS = 1 | 1 << 30 };
struct value *onnx_map_new(struct onnx_import *im, struct value *keys, struct value *values);
bool onnx_is_map(const struct value *v);
/* Returns the items, and sets *count to their number; an optional has none. */
struct value *const *onnx_sequence_items(const struct value *v, int *count);

/* What a file of a model, or of a tensor, is (front/wire.h). */
extern const struct wire_format onnx_model_format, onnx_tensor_format;

/* onnx_text_read writes ONNX's text form (onnx_text.c) as the protobuf of the same model into
 * *wire, which the caller frees by text_free. It returns false after one error. */
bool onnx_is_text(const unsigned char *bytes, size_t length);
bool onnx_text_read(const unsigned char *bytes, size_t length, const struct limits *limits,
                    struct text *wire, struct diag *diag);

/* ---- helpers of importers (onnx_helpers.c) ---- */

/* Makes an axis of [-rank, rank) positive. Returns false after one error. */
bool onnx_axis(struct onnx_import *im, const struct onnx_node *n, int64_t axis, int rank,
               int *result);
/* Reads the numbers of an operand of rank 0 or 1, i32 or i64. *known is false where the operand is
 * a run-time value. */
bool onnx_operand_ints(struct onnx_import *im, const struct onnx_node *n, int input,
                       int64_t *values, int room, int *count, bool *known);
/* Reads the same where they may be terms over extents that a run gives; *count is 0 where they are
 * not known. */
bool onnx_operand_amounts(struct onnx_import *im, const struct onnx_node *n, int input,
                          struct amount amounts[AMOUNTS_MAX], int room, int *count, bool *known);

#endif
