/* SPDX-License-Identifier: MIT */
/* The exporter inside: a graph of nodes is built in memory by the writers of operations, then
 * export_file.c writes it down. Only that file knows protobuf. */
#ifndef COMPILER_EXPORT_EXPORTER_H
#define COMPILER_EXPORT_EXPORTER_H

#include "compiler/export/export.h"

/* A value of the written graph. Names are unique in the whole model, subgraphs included. */
struct made {
        const char *name;
        const struct type *type;
        bool named;                     /* the name is final: of an input, an output or an
                                         * initializer */
};

enum attribute_kind {
        ATTRIBUTE_INT,
        ATTRIBUTE_FLOAT,
        ATTRIBUTE_INTS,
        ATTRIBUTE_TEXT,
        ATTRIBUTE_GRAPH,
        ATTRIBUTE_TENSOR
};
struct attribute {
        const char *name;
        enum attribute_kind kind;
        int64_t i;
        float f;
        const int64_t *ints;
        int count;
        const char *text;
        struct graph *graph;
        struct initializer *tensor;
        struct attribute *next;
};

struct node {
        const char *op, *name, *domain; /* domain: "" for that of ONNX */
        struct made *const *inputs, **outputs; /* inputs[i] NULL: an optional one left out */
        int input_count, output_count;
        struct attribute *attributes, **attributes_end;
        struct node *next;
};

struct initializer {
        struct made *made;
        const void *data; /* as the file has them: types below 8 bits packed */
        int64_t bytes, offset; /* offset: in the data file */
        struct initializer *next;
};

struct graph {
        const char *name;
        struct made **inputs, **outputs;
        int input_count, output_count;
        struct node *nodes, **nodes_end;
        int node_count;
};

/* How an operation is written, and the values that takes: a form of export_nodes.def may pass over
 * operations that it writes itself. */
struct plan;
struct export
{
        struct arena *arena;
        struct module *m;
        struct diag *diag;
        struct map *names, *node_names; /* in use, with how often they were asked for; only nodes'
                                         * come back when the model is read */
        struct map *small;              /* initializers of few bytes, by type and bytes */
        struct initializer *initializers, **initializers_end;
        struct graph *graph;            /* nodes go to its end */
        struct node *last;              /* the one made last: attributes go there */
        const struct op *op;            /* being written */
        struct plan *plans;             /* op->number - PLANNED is an index */
        int plan_count;
        int opset;                      /* what the nodes so far need */
        const char *domain;             /* beside ONNX's, of some node; or NULL */
        const char *refused;            /* ", "-separated, or NULL */
        int refused_count;
};

/* One number for all of a tensor, or one for each index of an axis. */
struct per_axis {
        const struct value *source; /* rank 0 or 1; NULL: `number` */
        double number;
        int axis; /* -1: one number */
};

enum { WANTED = 1, PLANNED = 2 };       /* of op->number; 0: not needed */

struct plan {
        void (*write)(struct export *e, const struct op *op, const struct plan *plan);
        struct value **wants; /* what is to be written before */
        int want_count;
        struct per_axis scale, zero, zero_w; /* of quantizations, and of integer products */
        struct per_axis bias;           /* of `product`, by which an addition is its bias */
        const struct op *product;
        int axis;                       /* of Softmax */
        double alpha, epsilon;          /* of LeakyRelu, of LayerNormalization */
        double low, high;               /* of Clip */
        bool has_low, has_high, has_bias;
        bool full;                      /* of an element-wise one: the first operand is wanted as it
                                         * is, since no other has all extents; AveragePool: counts
                                         * what is around, too */
        int leading;                    /* the operand whose leading extents of 1 are written; -1:
                                         * none */
};

/* ---- export_graph.c ---- */

/* what a value is called in the graph; a constant becomes an initializer */
struct made *export_value(struct export *e, const struct value *v);
void export_result(struct export *e, const struct op *op, int result, struct made *made);
/* the operations of a region, at the end of e->graph; what it yields are further outputs of that */
void export_region(struct export *e, const struct region *region);
struct graph *export_graph_new(struct export *e, const char *name);
/* has no form in ONNX, and why */
void export_refuse(struct export *e, const struct op *op, const char *why);

/* ---- export_build.c: nodes, names, initializers ---- */

/* the first of ", "-separated names, as letters, digits and _.:/- */
char *export_plain(struct export *e, const char *text);
/* that, or with _2, _3, ... */
const char *export_name(struct export *e, struct map *names, const char *base);
bool export_name_take(struct export *e, const char *name); /* as it is; false: it is in use */
/* What a constant that was made of others is called after: the name without the numbers that it
 * got on the way, so that it does not grow when the model is read and written again. */
const char *export_base(struct export *e, const char *name);
struct made *export_made(struct export *e, const char *base, const struct type *type);

/* A node of one result, behind those there are; operands may end in NULLs. */
struct made *export_node(struct export *e, const char *op, const struct type *to,
                         struct made *const *operands, int count);
static inline struct made *export_unary(struct export *e, const char *op, const struct type *to,
                                        struct made *x)
{
        return export_node(e, op, to, (struct made *[]){ x }, 1);
}
static inline struct made *export_binary(struct export *e, const char *op, const struct type *to,
                                         struct made *x, struct made *y)
{
        return export_node(e, op, to, (struct made *[]){ x, y }, 2);
}
/* one more, of the last node */
struct made *export_output(struct export *e, const struct type *type);
/* of the last node */
void export_domain(struct export *e, const char *domain);
void export_int(struct export *e, const char *name, int64_t value);
void export_float(struct export *e, const char *name, float value);
void export_ints(struct export *e, const char *name, const int64_t *values, int count);
void export_text(struct export *e, const char *name, const char *text);
void export_subgraph(struct export *e, const char *name, struct graph *graph);

/* Initializers. Equal ones of few bytes are one. `base`: what its name is made of. */
struct made *export_constant(struct export *e, const struct constant *c);
struct made *export_dense(struct export *e, const char *base, const struct type *type,
                          const void *data);
struct made *export_numbers(struct export *e, const int64_t *values, int count); /* <count x i64> */
struct made *export_scalar(struct export *e, enum element element, double number);
struct made *export_integer(struct export *e, enum element element, int64_t number);

/* shorthands, which are x itself where nothing changes */
struct made *export_cast(struct export *e, struct made *x, enum element to);
struct made *export_reshape(struct export *e, struct made *x, int rank, const dim_t *dims);
struct made *export_transpose(struct export *e, struct made *x, const int64_t *perm);
struct made *export_expand(struct export *e, struct made *x, int rank, const dim_t *dims);
/* from starts, by steps, per dimension */
struct made *export_slice(struct export *e, struct made *x, const int64_t *starts,
                          const int64_t *steps, const dim_t *dims);

/* What negative amounts take off `count` dimensions from `first` on; these amounts are 0 then. */
struct made *export_crop(struct export *e, struct made *x, int first, int count, int64_t *low,
                         int64_t *high);

/* ---- export_forms.c ---- */

#define FORM(root, name, doc)                                                                                          \
        bool match_##name(struct export *e, const struct op *op, struct plan *plan);                                   \
        void write_##name(struct export *e, const struct op *op, const struct plan *plan);
#define ONE(...)
#define OWN(code, doc) void write_##code(struct export *e, const struct op *op, const struct plan *plan);
#define NONE(...)
#include "compiler/export/export_nodes.def"

/* v as numbers per index of an axis, over a tensor */
bool export_per_axis(struct export *e, const struct value *v, struct per_axis *p);
/* of type `element`; what has an axis is a list, of `count` numbers (0: as many as there are),
 * else a scalar */
struct made *export_per_axis_made(struct export *e, const struct per_axis *p, enum element element,
                                  int64_t count);
bool export_per_axis_known(const struct per_axis *p);
double export_per_axis_number(const struct per_axis *p, int64_t i); /* of known ones */
/* the scale of what is decoded, behind moves that keep elements: one number, or one for each index
 * of an axis of v itself */
bool export_decoded_scale(struct export *e, const struct value *v, struct per_axis *scale);
/* x / count, or x times what 1 / count is rounded to; x, or NULL. Read back, both are the same
 * after simplify. */
struct value *export_divided(const struct op *op, double *count);
/* i32(q) - zero, i32(q) or q, of 8 bits: q, or NULL */
struct value *export_centered(struct export *e, struct value *v, struct per_axis *zero);

/* ---- export_elementwise.c ---- */

void plan_elementwise(struct export *e, const struct op *op, struct plan *plan);
void write_one(struct export *e, const struct op *op, const struct plan *plan);

/* ---- export_reductions.c ---- */

/* what a node computes a reduce or reduce_window in */
enum element export_reduced_in(const struct op *op);

/* ---- the table ---- */

/* LONG_NUMBERS: floats, i32, i64; COMPARED: numbers of which bools are made */
enum element_set { ANY_ELEMENT, NUMBERS, FLOATS, LONG_NUMBERS, COMPARED };
struct node_row {
        const char *onnx; /* of ONE */
        enum element_set set;
        void (*write)(struct export *e, const struct op *op, const struct plan *plan);
        const char *why; /* of NONE */
};
extern const struct node_row export_rows[OPCODE_COUNT];

#endif
