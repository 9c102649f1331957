/* SPDX-License-Identifier: MIT */
/* The writers of operations build a graph of nodes in memory, then export_file.c writes it down.
 * Only that file knows protobuf. */
#ifndef COMPILER_EXPORT_EXPORTER_H
#define COMPILER_EXPORT_EXPORTER_H

#include "compiler/export/export.h"

/* This is a value of the written graph. Names are unique in the whole model, subgraphs included. */
struct made {
        const char *name;
        const struct type *type;
        bool named;                     /* The name is final: it is that of an input, an output or
                                         * an initializer. */
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
        const char *op, *name, *domain; /* The domain is "" for that of ONNX. */
        struct made *const *inputs, **outputs; /* inputs[i] is NULL where an optional one is left
                                                * out. */
        int input_count, output_count;
        struct attribute *attributes, **attributes_end;
        struct node *next;
};

struct initializer {
        struct made *made;
        const void *data; /* They are as the file has them: types below 8 bits are packed. */
        int64_t bytes, offset; /* The offset is that in the data file. */
        const struct sparse *sparse; /* It is a sparse initializer, without data; or NULL. */
        struct initializer *next;
};

struct graph {
        const char *name;
        struct made **inputs, **outputs;
        int input_count, output_count;
        struct node *nodes, **nodes_end;
        int node_count;
};

/* A plan says how an operation is written, and the values that this takes: a form of
 * export_nodes.def may pass over operations that it writes itself. */
struct plan;
struct export
{
        struct arena *arena;
        struct module *m;
        struct diag *diag;
        struct map *names, *node_names; /* They are in use, with how often they were asked for; only
                                         * nodes' names come back when the model is read. */
        struct map *small;              /* These are initializers of few bytes, by type and
                                         * bytes. */
        struct initializer *initializers, **initializers_end;
        struct graph *graph;            /* Nodes go to its end. */
        struct node *last;              /* It is the one made last: attributes go there. */
        const struct op *op;            /* It is being written. */
        struct plan *plans;             /* op->number - PLANNED is an index into them. */
        int plan_count;
        int opset;                      /* The nodes so far need it. */
        const char *domain;             /* Some node has this domain, beside ONNX's; or it is
                                         * NULL. */
        const char *refused;            /* It is a list with ", " between, or NULL. */
        int refused_count;
};

/* This is one number for all of a tensor, or one for each index of an axis. */
struct per_axis {
        const struct value *source; /* Its rank is 0 or 1; where it is NULL `number` is meant. */
        double number;
        int axis; /* At -1 there is one number. */
};

enum { WANTED = 1, PLANNED = 2 };       /* These are values of op->number; 0 stands for an operation
                                         * that is not needed. */

struct plan {
        void (*write)(struct export *e, const struct op *op, const struct plan *plan);
        struct value **wants; /* They are to be written before. */
        int want_count;
        struct per_axis scale, zero, zero_w; /* Quantizations, and integer products, have these
                                              * scales and zero points. */
        struct per_axis bias;           /* It belongs to `product`, by which an addition is its
                                         * bias. */
        const struct op *product;
        int axis;                       /* Softmax has this axis. */
        double alpha, epsilon;          /* LeakyRelu has this alpha, and LayerNormalization this
                                         * epsilon. */
        double low, high;               /* Clip has these bounds. */
        bool has_low, has_high, has_bias;
        bool full;                      /* In an element-wise operation, the first operand is wanted
                                         * as it is, since no other has all extents; AveragePool
                                         * counts what is around, too. */
        int leading;                    /* It is the operand whose leading extents of 1 are written;
                                         * -1 stands for none. */
};

/* ---- export_graph.c ---- */

/* Returns what a value is called in the graph; a constant becomes an initializer. */
struct made *export_value(struct export *e, const struct value *v);
void export_result(struct export *e, const struct op *op, int result, struct made *made);
/* Writes the operations of a region at the end of e->graph; what it yields are further outputs of
 * the graph. */
void export_region(struct export *e, const struct region *region);
struct graph *export_graph_new(struct export *e, const char *name);
/* Says that the operation has no form in ONNX, and why. */
void export_refuse(struct export *e, const struct op *op, const char *why);

/* ---- export_build.c: nodes, names, initializers ---- */

/* Returns the first of names with ", " between, as letters, digits and _.:/-. */
char *export_plain(struct export *e, const char *text);
/* Returns the base, or the base with _2, _3, ... */
const char *export_name(struct export *e, struct map *names, const char *base);
bool export_name_take(struct export *e, const char *name); /* Takes the name as it is; returns false
                                                            * where it is in use. */
/* Returns what a constant that was made of others is called after: the name without the numbers
 * that it got on the way, so that it does not grow when the model is read and written again. */
const char *export_base(struct export *e, const char *name);
struct made *export_made(struct export *e, const char *base, const struct type *type);

/* Makes a node of one result, behind those there are; operands may end in NULLs. */
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
/* Makes one more output, of the last node. */
struct made *export_output(struct export *e, const struct type *type);
/* These set attributes, and the domain, of the last node. */
void export_domain(struct export *e, const char *domain);
void export_int(struct export *e, const char *name, int64_t value);
void export_float(struct export *e, const char *name, float value);
void export_ints(struct export *e, const char *name, const int64_t *values, int count);
void export_text(struct export *e, const char *name, const char *text);
void export_subgraph(struct export *e, const char *name, struct graph *graph);

/* These make initializers. Equal ones of few bytes are one. The name is made of `base`. */
struct made *export_constant(struct export *e, const struct constant *c);
/* The constant is no splat; `type` has its elements in another shape. */
struct made *export_constant_as(struct export *e, const char *base, const struct constant *c,
                                const struct type *type);
struct made *export_dense(struct export *e, const char *base, const struct type *type,
                          const void *data);
/* Returns an extent, <1 x i64>; of a term that a run gives, by Shape of an input. */
struct made *export_extent(struct export *e, dim_t dim);
/* Returns how many more elements one extent has than another, which is a number; negative:
 * fewer. */
int64_t export_more(struct export *e, dim_t to, dim_t from);
/* It is <count x i64>. */
struct made *export_numbers(struct export *e, const int64_t *values, int count);
struct made *export_scalar(struct export *e, enum element element, double number);
struct made *export_integer(struct export *e, enum element element, int64_t number);

/* These are shorthands, which return x itself where nothing changes. */
struct made *export_cast(struct export *e, struct made *x, enum element to);
struct made *export_reshape(struct export *e, struct made *x, int rank, const dim_t *dims);
struct made *export_transpose(struct export *e, struct made *x, const int64_t *perm);
struct made *export_expand(struct export *e, struct made *x, int rank, const dim_t *dims);
/* Takes a slice from starts, by steps, which are one for each dimension. */
struct made *export_slice(struct export *e, struct made *x, const int64_t *starts,
                          const int64_t *steps, const dim_t *dims);

/* Takes off what negative amounts say from `count` dimensions from `first` on; these amounts are 0
 * then. */
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

/* Finds v as numbers for each index of an axis, over a tensor. */
bool export_per_axis(struct export *e, const struct value *v, struct per_axis *p);
/* Makes them of type `element`; what has an axis is a list of `count` numbers (at 0: of as many as
 * there are), else a scalar. */
struct made *export_per_axis_made(struct export *e, const struct per_axis *p, enum element element,
                                  int64_t count);
bool export_per_axis_known(const struct per_axis *p);
double export_per_axis_number(const struct per_axis *p, int64_t i); /* The numbers are known. */
/* Finds the scale of what is decoded, behind moves that keep elements: one number, or one for each
 * index of an axis of v itself. */
bool export_decoded_scale(struct export *e, const struct value *v, struct per_axis *scale);
/* Returns x of x / count, or of x times what 1 / count is rounded to; else NULL. Read back, both
 * are the same after simplify. */
struct value *export_divided(const struct op *op, double *count);
/* Returns q of i32(q) - zero, i32(q) or q, of 8 bits; else NULL. */
struct value *export_centered(struct export *e, struct value *v, struct per_axis *zero);

/* ---- export_elementwise.c ---- */

void plan_elementwise(struct export *e, const struct op *op, struct plan *plan);
void write_one(struct export *e, const struct op *op, const struct plan *plan);

/* ---- export_reductions.c ---- */

/* Returns the element that a node computes a reduce or reduce_window in. */
enum element export_reduced_in(const struct op *op);

/* ---- the table ---- */

/* LONG_NUMBERS are floats, i32 and i64; COMPARED are numbers of which bools are made. */
enum element_set { ANY_ELEMENT, NUMBERS, FLOATS, LONG_NUMBERS, COMPARED };
struct node_row {
        const char *onnx; /* ONE sets it. */
        enum element_set set;
        void (*write)(struct export *e, const struct op *op, const struct plan *plan);
        const char *why; /* NONE sets it. */
};
extern const struct node_row export_rows[OPCODE_COUNT];

#endif
