/* SPDX-License-Identifier: MIT */
/* The pass quantize: which values are kept in bytes (quantize_bytes.c), with which steps
 * (quantize_steps.c), what layers are made of (quantize_layers.c). */
#ifndef PASSES_QUANTIZE_QUANTIZE_H
#define PASSES_QUANTIZE_QUANTIZE_H

#include "passes/pass.h"
#include "passes/calibrate/moments.h"
#include "passes/calibrate/sampler.h"
#include "passes/quantize/ports.h"
#include "passes/quantize/weights_types.h"

/* ---- what is asked for ---- */

enum quantize_step {
#define STEP(id, ...) STEP_##id,
#include "passes/quantize/quantize_steps.def"
        STEP_COUNT
};

struct quantize_policy {
        bool layers;                    /* it is for pass_quantize; else for pass_quantize_products
                                         * / */
        const struct calibration *calibration;  /* of layers; NULL: what the context's sampler sees
                                                 * / */
        bool dynamic;                   /* products by constant weights multiply bytes */
        const struct weights_type *weights;     /* NULL: s8; those of layers have no zero points,
                                                 * nor blocks */
        int64_t block;                  /* numbers of an output that share a step; 0: all */
        bool one_step;                  /* all weights of a layer share one */
        enum observer observer;
        struct scheme scheme;               /* of activations */
        bool steps[STEP_COUNT];
        bool first, last;               /* the first layer, the last one stays in floats */
        const char *const *keep_float;  /* nodes or values */
        int keep_float_count;
        struct quantized_ports *ports;  /* --quantize-port; or NULL */
        /* told of each layer that stays in floats; may be NULL */
        void (*kept)(void *runner, const struct op *op, const char *why);
        void *runner;
};

/* the largest number that a layer's weight can be */
static inline int quantize_largest_weight(const struct quantize_policy *p)
{
        return (1 << (p->weights ? p->weights->bits - 1 : 7)) - 1;
}
/* the default steps, and those of a comma list: names, or names with + or - in front. False: *name
 * points at what is none. */
void quantize_steps_preset(bool steps[STEP_COUNT]);
bool quantize_steps_parse(const char *list, bool steps[STEP_COUNT], const char **name);
/* one that the list asks for and that learns from samples; NULL: none does */
const char *quantize_steps_learning(const char *list);
void quantize_steps_help(void);         /* on standard output */

/* For each of `count` known values whether --keep-float names it (keep_float.c). NULL after an
 * error: a name is of none. */
const bool *keep_float_find(struct arena *arena, const struct quantize_policy *policy,
                            const struct calibrated *known, int count, struct diag *diag);

/* ---- one run of the pass ---- */

struct site;
struct layer {
        struct op *op;                  /* convolve or dot of floats */
        const char *obstacle;           /* to quantizing it, part of a sentence; NULL: it is
                                         * quantized */
        struct site *x;                 /* operand 0 */
        bool both;                      /* a product of two activations */
};

/* A value of floats whose shape is known. */
struct site {
        struct value *value;
        struct layer *layer;            /* whose result it is; or NULL */
        const char *name;               /* of the calibration; NULL: it depends on no input */
        const struct range *range;      /* or NULL */
        struct site *root;              /* what is stored in the end of what is computed of it,
                                         * element by element; itself: it is stored */
        struct site *sum;               /* of the one contraction whose sums reach it unstored; or
                                         * NULL */
        struct site *same;              /* has the same step: towards the one that stands for all;
                                         * NULL: it does */
        int members;                    /* that it stands for, but itself */
        struct extent extent;           /* of all that have its step; at the one that stands for
                                         * them */
        struct affine affine;           /* the same */
        bool keep;                      /* its operation works on floats: --keep-float */
        bool unfit;                     /* not all of its numbers are finite */
        bool unseen;                    /* of a loop or branch that no sample ran */
        bool pinned;                    /* decoded bytes of the model's own, in steps of its own */
        bool cut;                       /* stored in bytes though a kernel could go on with it */
        bool norm;                      /* made with sums of rows that are spread over them */
        bool reduced, spread;           /* made of a reduction; and spread */
        bool bytes;                     /* what reads it reads decoded bytes: layers, and what is in
                                         * bytes */
        bool carried;                   /* its operation works on bytes */
        struct value *decoded;          /* what they read */
};

struct quantizing {
        struct function *f;
        struct module *m;
        struct pass_context *context;
        const struct quantize_policy *policy;
        const struct calibration *calibration;
        struct arena *arena;
        struct site *sites;             /* arguments, then results, in order: each before what reads
                                         * it, but for what loops carry */
        int site_count;
        struct layer *layers;           /* in order */
        int layer_count;
        struct value **scaled;          /* products that scale channels, on floats (equalize.h) */
        int scaled_count;
        int byte_count;                 /* values in bytes */
};

static inline struct site *site_of(const struct value *v) { return v ? v->scratch : NULL; }
static inline struct site *site_of_op(const struct op *op)
{
        return op->result_count == 1 ? site_of(op_result(op)) : NULL;
}
static inline struct layer *layer_of(const struct op *op)
{
        struct site *s = site_of_op(op);
        return s ? s->layer : NULL;
}
/* the layer's quantized operands: x, and the other where it is no constant */
static inline bool layer_reads(const struct layer *l, int operand)
{
        return l && !l->obstacle && (operand == 0 || (operand == 1 && l->both));
}

/* site_of again, after the sampler has used the scratch of values */
void quantize_remember_sites(struct quantizing *q);

/* What an operation does to bytes. */
enum carrying {
        CARRY_NONE,                     /* works on floats */
        CARRY_MAP,                      /* element by element */
        CARRY_MOVE,                     /* hands on some of its operands' numbers, and perhaps 0 */
        CARRY_SUM                       /* adds them up */
};
enum carrying quantize_carrying(const struct op *op);
/* as far as the kind of operation says (carrying.def); *when: what more it asks for, or "" */
enum carrying quantize_carrying_of(enum opcode code, const char **when);

/* sites' norm */
void quantize_find_norms(struct quantizing *q);
/* Which values are in bytes: sites' bytes and carried, from the layers that are quantized. */
void quantize_choose_bytes(struct quantizing *q);
/* The steps of values in bytes. False after an error. */
bool quantize_choose_scales(struct quantizing *q);
const struct affine *quantize_affine(struct site *s);
/* Puts bytes into the graph where they were chosen. */
bool quantize_insert(struct quantizing *q);

/* NULL: a convolve or dot of floats can be quantized, as far as its weights and shape say, and
 * g, what x becomes */
const char *quantize_obstacle(const struct layer *l, const struct scheme *g);
/* weights and bias of a layer whose x is decoded; it may find an obstacle yet. m: what samples
 * show of its rows, or NULL */
bool quantize_layer(struct quantizing *q, struct layer *l, const struct moments *m);

#endif
