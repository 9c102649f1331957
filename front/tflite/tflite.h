/* SPDX-License-Identifier: MIT */
/* All files of this room share this: the state of an import, tensors and nodes as importers see
 * them, errors. The entry point is tflite_import (front/import.h).
 *
 *   flatbuffer.c      reads tables of the file, as the rows of tflite_schema.def describe them
 *   tflite_tables.c   the descriptors made of these rows, and the rows of tflite_ops.def
 *   tflite_read.c     the tables of a model, its tensors
 *   tflite_weights.c  constants of 4 and 2 bits, sparse ones
 *   tflite_report.c   errors, and the list of what is not supported
 *   tflite_facts.c    what a model says of itself (--info)
 *   tflite_helpers.h  what importers share
 *   tflite_signature.c  signatures: which subgraph an entry is, what its ports are called
 *   tflite_node.c     nodes, by the importer of their row
 *   tflite_op_*.c     importers, which check and decode a node, and call front/compose
 *   tflite_model.c    the walk over the graph
 *
 * A file calls files above it in this list, and rows bring importers to the walk. Nothing recurses
 * on the depth of the input. Text of a model reaches a message through text_safe alone. */
#ifndef FRONT_TFLITE_TFLITE_H
#define FRONT_TFLITE_TFLITE_H

#include "base/sha256.h"
#include "front/compose/compose.h"
#include "front/import.h"
#include "front/refusals.h"
#include "front/tflite/flatbuffer.h"

/* ---- tables of the file (tflite_tables.c) ---- */

#define TFLITE_MEMBER_BOOL int64_t
#define TFLITE_MEMBER_I8 int64_t
#define TFLITE_MEMBER_U8 int64_t
#define TFLITE_MEMBER_I32 int64_t
#define TFLITE_MEMBER_U32 int64_t
#define TFLITE_MEMBER_U64 int64_t
#define TFLITE_MEMBER_F32 float
#define TFLITE_MEMBER_TABLE int64_t
#define TFLITE_MEMBER_TEXT struct flat_span
#define TFLITE_MEMBER_BYTES struct flat_span
#define TFLITE_MEMBER_U16S struct flat_span
#define TFLITE_MEMBER_I32S struct flat_span
#define TFLITE_MEMBER_I64S struct flat_span
#define TFLITE_MEMBER_F32S struct flat_span
#define TFLITE_MEMBER_TABLES struct flat_span
#define TABLE(name, option) struct tflite_##name {
#define FIELD(name, member, slot, kind, preset) TFLITE_MEMBER_##kind member;
#define END(name) };
#include "front/tflite/tflite_schema.def"

#define TABLE(name, option) extern const struct flat_info tflite_info_##name;
#include "front/tflite/tflite_schema.def"

/* These are numbers of the union BuiltinOptions, whose table 0 has no fields. */
enum tflite_options {
        TFLITE_OPTIONS_None = 0,
#define TABLE(name, option) TFLITE_OPTIONS_##name = option,
#include "front/tflite/tflite_schema.def"
};
/* Returns the descriptor of that number; NULL: the schema has none, or 0. */
const struct flat_info *tflite_options_info(int option);

/* ---- the state of an import ---- */

/* An operator of any number of operands, or outputs, has at most so many. */
enum { TFLITE_ANY = 4096 };

/* A tensor's numbers q stand for (q - zero) * scale. */
struct tflite_quantization {
        int count;                      /* So many scales there are: 0 (it is not quantized), 1, or
                                         * one for each index of a dimension. */
        const float *scales;
        const int64_t *zeros;           /* They are as many; a file without them means zeros. */
        int dimension;
};
struct tflite_tensor {
        const char *name;               /* It is the file's name as it stands, or tensor_N. */
        const char *safe;               /* It is the same, safe to print. */
        const struct type *type;        /* It is what the file declares; NULL: `refused` says why it
                                         * is not supported. */
        const char *refused;
        bool is_variable;
        bool is_handle;                 /* It is the handle of a variable, */
        struct tflite_variable *variable;         /* this one, once a node has said so. */
        struct tflite_quantization q;
        struct value *value;            /* NULL: no node has made it yet. */
        const char *input_name, *output_name; /* A signature calls it so; or NULL. */
        struct flat_span data;          /* Constants have bytes in the file. */
        int packed_bits;                /* A number has 4 bits there, or 2; 0: as
                                         * many as its type has. */
        int64_t sparsity;               /* Its table of levels begins there; 0: it has
                                         * none. */
        bool is_constant;
};

struct tflite_row;
struct tflite_node {
        const struct tflite_row *row;
        int number;                     /* It is the node's number in the graph. */
        int input_count, output_count;
        struct tflite_tensor **inputs;  /* NULL stands for an absent one. */
        struct tflite_tensor **outputs;
        struct tflite_tensor **intermediates;     /* These have scales alone. */
        int intermediate_count;
        const void *options;            /* It is the struct of the row's table of options. */
};

/* This is a subgraph of the model. */
struct tflite_graph {
        struct tflite_SubGraph table;
        struct tflite_tensor *tensors;
        int tensor_count;
        struct tflite_Operator *operators;
        int operator_count;
};

/* A name by which a program calls a subgraph. */
struct tflite_signature {
        const char *name, *safe; /* The file's name of it as a C identifier, which no other
                                         * one has, and safe to print. */
        struct tflite_SignatureDef table;
};

/* A variable that nodes read and assign by a handle. */
struct tflite_variable {
        const char *name, *safe;
        struct value *first; /* It is the constant that it begins with, or NULL, */
        int64_t first_graph; /* which this subgraph assigns. */
        struct value *value;            /* NULL: the function has neither read nor assigned it. */
        const char *next;               /* It is the name of the output; NULL: it is no state. */
        struct tflite_variable *after;  /* This is the next one that is state. */
        struct tflite_variable *known; /* This is the next one that the model has. */
};

struct tflite_import {
        struct module *m;
        struct builder b;
        struct compose *c;              /* It builds the meaning of operators with b. */
        struct flatbuffer file;
        struct diag *diag;
        struct pass_context *context;
        const struct import_options *options;
        struct arena *arena;            /* It lives as long as the import. */
        struct tflite_Model model;
        struct tflite_graph graph;      /* It is the subgraph at hand. */
        struct tflite_OperatorCode *codes;
        int code_count;
        int nesting;                    /* Calls of IF and WHILE that lead to it. */
        int64_t called;                 /* Operators and tensors of all subgraphs that calls
                                         * of IF and WHILE imported. */
        struct tflite_signature *signatures;
        int signature_count;
        const struct tflite_signature *signature; /* The function is this one; NULL: it is the
                                                   * first subgraph. */
        int64_t initializing; /* The subgraph at hand is this one, of a CALL_ONCE; or 0. */
        struct map *variables;          /* It maps names to struct tflite_variable. */
        struct tflite_variable *variables_known; /* It is the first of all. */
        struct tflite_variable *variable_list;    /* It is the first one with an input. */
        const struct tflite_node *node; /* It is the node at hand, or NULL. */
        struct refusals refusals;
        struct map *fact_names; /* --info has these names; NULL: none yet. */
};

/* This is a row of tflite_ops.def. */
struct tflite_row {
        int code;                       /* It is a number of the enum BuiltinOperator. */
        const char *name;
        int inputs_min, inputs_max, outputs_max;
        unsigned absent;                /* Where bit i is set, operand i may be absent. */
        int options;                    /* It is an enum tflite_options. */
        bool (*import)(struct tflite_import *im, struct tflite_node *n);
        int variant;                    /* It tells the importer which operator it is. */
        bool each;                      /* The operator is element by element. */
        bool handles;                   /* Operands and outputs may be handles of variables, and
                                         * there may be no output. */
};
/* Sets *rows to the table, for --help-ops too, and returns how many there are. */
int tflite_rows(const struct tflite_row **rows);
/* Returns the row of the operator, or NULL. */
const struct tflite_row *tflite_row_find(int64_t code);
/* Returns the number of the operator: of two fields, the one that the file's writer knew. */
int64_t tflite_code(const struct tflite_OperatorCode *code);
/* Returns the operator's name, imported or not; NULL: the schema has no such number. */
const char *tflite_code_name(int64_t code);
/* Returns what the operator is called: "CONV_2D", "custom.SignalWindow", "builtin.300". */
const char *tflite_code_text(struct tflite_import *im, const struct tflite_OperatorCode *code);

static inline int tflite_variant(const struct tflite_node *n) { return n->row->variant; }

/* ---- tables of the model (tflite_read.c) ---- */

/* Reads the model's tables but those of its subgraphs. */
bool tflite_read_model(struct tflite_import *im);
/* Makes this subgraph the one at hand, whose tensors `names` gets. */
bool tflite_read_subgraph(struct tflite_import *im, int64_t number, struct map *names);
/* Reads all tables of a vector into an array of their structs. */
void *tflite_read_tables(struct tflite_import *im, const struct flat_info *info,
                         const struct flat_span *tables, int *count);

/* ---- constants (tflite_weights.c) ---- */

/* Returns the numbers of a constant of 4 or 2 bits, or of a sparse one, as its type has them, or
 * NULL after an error. */
const unsigned char *tflite_expanded(struct tflite_import *im, const struct tflite_tensor *t);

/* ---- signatures (tflite_signature.c) ---- */

bool tflite_read_signatures(struct tflite_import *im);
/* Sets im->signature to the one that the options' function is named after. A model of several has
 * no other functions. */
bool tflite_find_signature(struct tflite_import *im);
/* Sets what the signature at hand calls inputs and outputs of the subgraph at hand. */
bool tflite_name_ports(struct tflite_import *im);
/* Has a signature an input of that name? */
bool tflite_signature_input(struct tflite_import *im, const char *name, size_t length);
/* Returns the first signature of the subgraph at hand: what it keeps by itself is theirs. */
const struct tflite_signature *tflite_first_signature(struct tflite_import *im);

/* ---- nodes (tflite_node.c) ---- */

/* Checks that the numbers are those of tensors of the subgraph at hand, or at least -1 where
 * `least` is that. */
bool tflite_tensor_numbers(struct tflite_import *im, const struct flat_span *numbers, int64_t least,
                           const char *what);
/* Lists all operators of the subgraph at hand that no row is of, each once. */
bool tflite_list_unknown(struct tflite_import *im);
/* Lists that the tensor is not supported. */
bool tflite_list_refused(struct tflite_import *im, const struct tflite_tensor *t);
/* Makes a constant's value, unless it has one. */
bool tflite_constant(struct tflite_import *im, struct tflite_tensor *t);
/* Imports node `number` of the subgraph at hand. */
bool tflite_import_node(struct tflite_import *im, int number);

/* ---- errors (tflite_report.c); all return false ---- */

/* An error of the file that is not one of a node. */
bool tflite_error(struct tflite_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* An error of the node at hand. */
bool tflite_invalid(struct tflite_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* Adds a line about the node at hand to the list of what is not supported. */
bool tflite_unsupported(struct tflite_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
bool tflite_over_limit(struct tflite_import *im, const char *what, const char *limit,
                       int64_t value);

/* ---- what a model says of itself (tflite_facts.c) ---- */

/* Adds the ports and names of the subgraph at hand, which is a function. */
void tflite_function_facts(struct tflite_import *im, struct model_facts *facts);
/* Adds what all subgraphs have. */
void tflite_facts(struct tflite_import *im, struct model_facts *facts);
/* Returns the element type of a number of the enum TensorType, or false where there is none. */
bool tflite_element(int64_t type, enum element *e);

#endif
