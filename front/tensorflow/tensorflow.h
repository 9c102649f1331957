/* SPDX-License-Identifier: MIT */
/* All files of this room share this: the state of an import, graphs, nodes as importers see them,
 * errors. The entry point is tensorflow_import (front/import.h).
 *
 *   tensorflow.proto        messages of the formats
 *   tensorflow_rows.c       the rows of tensorflow_ops.def
 *   tensorflow_report.c     errors
 *   tensorflow_read.c       which file is a graph or a SavedModel; attributes; types
 *   tensorflow_tensor.c     constants
 *   tensorflow_bundle.c     tensors of the files of variables
 *   tensorflow_graph.c      graphs and functions: edges, and an order in which nodes can run
 *   tensorflow_variable.c   variables, and which tensor of the files each of them is
 *   tensorflow_node.c       nodes, by the importer of their row
 *   tensorflow_helpers.h    what importers share
 *   tensorflow_op_*.c       importers, which check and decode a node, and call front/compose
 *   tensorflow_facts.c      what a model says of itself (--info)
 *   tensorflow_signature.c  signatures: names of entries, of their inputs and outputs
 *   tensorflow_model.c      the door; inputs and outputs of functions
 *
 * Nothing recurses on the depth of the input but calls of functions, which --limit nesting bounds.
 * Text of a model reaches a message through text_safe alone. */
#ifndef FRONT_TENSORFLOW_TENSORFLOW_H
#define FRONT_TENSORFLOW_TENSORFLOW_H

#include "front/compose/compose.h"
#include "front/import.h"
#include "front/refusals.h"
#include "front/wire.h"

#include "tensorflow.pb-c.h"            /* It is generated from tensorflow.proto; text fields are
                                         * bytes. */

/* A node of any number of operands, or outputs, has at most so many. */
enum { TF_ANY = 65536 };

typedef ProtobufCBinaryData bytes_t;
static inline bool tf_same(bytes_t a, const char *text, size_t length)
{
        return a.len == length && (!length || !memcmp(a.data, text, length));
}

/* ---- rows (tensorflow_rows.c) ---- */

struct tf_import;
struct tf_node;
enum tf_kind {
        TF_IMPORTED,
        TF_DROPPED,                     /* It computes nothing: checks, prints, NoOp. */
        TF_HANDLES                      /* Operands and outputs may be handles of variables. */
};
struct tf_row {
        const char *name;
        enum tf_kind kind;
        int inputs_min, inputs_max;
        const char *outputs;            /* These are the names of outputs, with blanks between them;
                                         * one name may be that of a list. */
        bool (*import)(struct tf_import *im, struct tf_node *n);
        int variant;                    /* It tells the importer which operator it is. */
        bool each;                      /* The operator is element by element. */
};
/* Sets *rows to the table, for --help-ops too, and returns how many there are. */
int tf_rows(const struct tf_row **rows);
/* Returns the row of the operator, or NULL. */
const struct tf_row *tf_row_find(bytes_t op);
/* Returns the number of the output of this name, or -1. */
int tf_row_output(const struct tf_row *row, bytes_t name);

/* ---- graphs (tensorflow_graph.c) ---- */

/* An edge comes from an output of a node, or (node < 0) from argument -1 - node of a function. */
struct tf_source { int node, output; };

struct tf_graph_node {
        const Tf__Node *p;
        const struct tf_row *row;       /* NULL: there is none of its operator. */
        const char *name, *op;          /* They are safe to print. */
        struct tf_source *sources;      /* These are the operands, without control edges. */
        int source_count;
        int *controls;                  /* These nodes run before it. */
        int control_count;
};
/* This is the graph of a model, or of a function; it has edges once it is asked for. */
struct tf_graph {
        const char *name;               /* It is the function's name, safe to print; NULL: it is the
                                         * model's graph. */
        const Tf__Function *function;
        struct tf_graph_node *nodes;
        int count;
        struct map *numbers;            /* It maps names of nodes to their numbers and 1. */
        struct map *arguments;          /* It does so for arguments. */
        struct tf_source *results;      /* A function gives these; once it was asked for. */
        int *order;                     /* So the needed nodes can run, */
        int order_count;                /* as many as these; -1: it was not asked for. */
};

/* ---- the state of an import ---- */

struct tf_variable {
        const char *name, *safe;
        bytes_t key;                    /* The files have it under this key. */
        struct value *value;            /* NULL: nobody has read it yet. */
};
/* An operand, or an output. */
struct tf_tensor {
        struct value *value;
        struct tf_variable *variable;   /* It is the handle of this one. */
        const Tf__Tensor *texts;        /* It is a constant of texts. */
        bool made;                      /* The node made it, or was refused. */
};
struct tf_node {
        const struct tf_graph_node *g;
        const struct tf_row *row;
        int input_count;
        struct tf_tensor *inputs;
        struct tf_tensor *outputs;      /* They grow as the importer makes them. */
        int output_count;
};
/* A graph that is being built. */
struct tf_frame {
        struct tf_graph *graph;
        struct tf_tensor *arguments;
        struct tf_node *nodes;
        struct tf_frame *caller;
};

/* A signature's name of an input or output. */
struct tf_port {
        const char *name, *safe;
        const Tf__TensorInfo *info;
        struct tf_source source;
};
struct tf_signature {
        const char *name, *safe;        /* The file's name of it as a C identifier, which no other
                                         * one has, and safe to print. */
        struct tf_port *inputs, *outputs;
        int input_count, output_count;
};

struct tf_bundle;
struct tf_import {
        struct module *m;
        struct builder b;
        struct compose *c;              /* It builds the meaning of operators with b. */
        struct diag *diag;
        struct pass_context *context;
        const struct import_options *options;
        struct arena *arena;            /* It lives as long as the import. */
        const unsigned char *bytes;
        size_t length;
        const Tf__Graph *p;
        const Tf__MetaGraph *meta;      /* NULL: the file is a graph. */
        const ProtobufCBinaryData *long_data;
        struct tf_graph *graph;         /* It is the model's. */
        struct map *functions;          /* It maps names to struct tf_graph. */
        struct map *variables;          /* It maps names to struct tf_variable. */
        struct map *keys;               /* It maps names of nodes that are handles to the keys
                                         * (bytes_t) of their variables; NULL: nobody has asked. */
        struct tf_bundle *bundle;       /* NULL: the files of variables were not opened. */
        struct tf_signature *signatures;
        int signature_count;
        const struct tf_signature *signature;     /* NULL: the function is the graph. */
        struct value **feeds;           /* Placeholders of the model's graph are these inputs. */
        int open_inputs;                /* So many inputs have an open shape, */
        const char **asked;             /* and these options would bind it. */
        int asked_count;
        int64_t parameters;             /* Variables, and constants of floats, have so many
                                         * numbers. */
        struct map *fact_names;         /* --info has these names; NULL: none yet. */
        struct tf_frame *frame;         /* It is the graph at hand. */
        const struct tf_node *node;     /* It is the node at hand, or NULL. */
        int nesting;
        int64_t called;                 /* Nodes of all functions that were called. */
        struct refusals refusals;
        void (*dependency)(void *context, const char *path);
        void *dependency_context;
};

/* ---- errors (tensorflow_report.c); all return false ---- */

bool tf_error(struct tf_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* An error of the command. */
bool tf_usage(struct tf_import *im, const char *option, const char *text, const char *what);
/* An error of the node at hand. */
bool tf_invalid(struct tf_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* Adds a line about the node at hand to the list of what is not supported. */
bool tf_unsupported(struct tf_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
bool tf_over_limit(struct tf_import *im, const char *what, const char *limit, int64_t value);
const char *tf_safe(struct tf_import *im, bytes_t text);

/* ---- the file (tensorflow_read.c) ---- */

/* Reads im->bytes into im->p and im->meta. */
bool tf_read_file(struct tf_import *im);
/* Returns the element type of a number of the enum DataType, or false where there is none. */
bool tf_element(int64_t type, enum element *e);
enum { TF_STRING = 7, TF_RESOURCE = 20, TF_REFERENCE = 100 };
/* Returns the rank and sets extents, of which -1 is open; -1: the rank is open; -2 after an
 * error. */
int tf_extents(struct tf_import *im, const Tf__Shape *shape, int64_t *extents);

/* Returns an attribute, or NULL. */
const Tf__AttrValue *tf_attr(const struct tf_node *n, const char *name);
/* These return the preset where it is absent. */
int64_t tf_int(const struct tf_node *n, const char *name, int64_t preset);
double tf_float(const struct tf_node *n, const char *name, double preset);
bool tf_bool(const struct tf_node *n, const char *name, bool preset);
int64_t tf_type(const struct tf_node *n, const char *name, int64_t preset);
const Tf__AttrList *tf_list(const struct tf_node *n, const char *name);
/* Returns which of these words (a list that NULL ends) it is, `preset` where it is absent, -1 after
 * an error. */
int tf_word(struct tf_import *im, const struct tf_node *n, const char *name,
            const char *const *words, int preset);
/* Returns the name of a function, or NULL. */
const bytes_t *tf_function(const struct tf_node *n, const char *name);

/* ---- constants (tensorflow_tensor.c) ---- */

/* Returns a constant's value, or NULL after an error. */
struct value *tf_constant(struct tf_import *im, const Tf__Tensor *t, const char *name);

/* ---- files of variables (tensorflow_bundle.c) ---- */

/* Returns the tensor of this key, which has this name, or NULL after an error. */
struct value *tf_bundle_tensor(struct tf_import *im, bytes_t key, const char *name);
/* Finishes the digest of the files that were read. Returns false where there are none. */
bool tf_bundle_digest(struct tf_import *im, char hex[65]);
/* The module keeps what was read (`keep`), or it is freed. */
void tf_bundle_close(struct tf_import *im, bool keep);

/* ---- graphs (tensorflow_graph.c) ---- */

bool tf_read_graphs(struct tf_import *im);
/* Returns the function of this name, or NULL. */
struct tf_graph *tf_find_function(struct tf_import *im, bytes_t name);
/* Finds the node and output of an edge's text, "node:1" or, in a function, "node:y:0". */
bool tf_find_source(struct tf_import *im, struct tf_graph *g, bytes_t text, struct tf_source *s);
/* Finds the edges of all nodes. */
bool tf_link(struct tf_import *im, struct tf_graph *g);
/* Finds an order of the nodes that these need, and lists all their operators, and those of the
 * functions that they call, which no row is of. Returns false after an error. */
bool tf_order(struct tf_import *im, struct tf_graph *g, const struct tf_source *wanted, int count);

/* ---- variables (tensorflow_variable.c) ---- */

/* Returns the variable of a node that is a handle, or a variable of TensorFlow 1. */
struct tf_variable *tf_variable_of(struct tf_import *im, const struct tf_graph_node *n);
/* Returns its value, or NULL after an error. */
struct value *tf_read_variable(struct tf_import *im, struct tf_variable *v);

/* ---- nodes (tensorflow_node.c) ---- */

/* Builds the ordered nodes of a frame. */
bool tf_run(struct tf_import *im, struct tf_frame *frame);
/* Returns what an edge brings, or NULL. */
struct tf_tensor *tf_edge(struct tf_frame *frame, struct tf_source s);
/* Builds what the function makes of the arguments in the region at hand; results has as many as the
 * function. */
bool tf_call(struct tf_import *im, bytes_t name, struct tf_tensor *arguments, int count,
             struct tf_tensor **results, int *result_count);

/* ---- what a model says of itself (tensorflow_facts.c) ---- */

/* Adds the inputs and names of a function. */
void tf_function_facts(struct tf_import *im, const struct function *f, struct model_facts *facts);
/* Adds an output. */
void tf_output_facts(struct tf_import *im, const char *name, const struct tf_tensor *t,
                     struct model_facts *facts);
/* Adds what all functions have. */
void tf_facts(struct tf_import *im, struct model_facts *facts);

#endif
