/* SPDX-License-Identifier: MIT */
/* The pass quantize decides which values are kept in bytes (quantize_bytes.c), with which steps
 * (quantize_scales.c), and what layers are made of (quantize_layers.c). */
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
        bool layers;                    /* The policy is for pass_quantize; else for
                                         * pass_quantize_products. */
        const struct calibration *calibration;  /* Layers take this calibration; NULL: the one that
                                                 * the context's sampler makes. */
        bool dynamic;                   /* Products by constant weights multiply bytes. */
        const struct weights_type *weights;     /* Weights have this type; NULL: s8. Weights of
                                                 * layers have no zero points, nor blocks. */
        int64_t block;                  /* This many numbers of an output share a step; 0: all
                                         * do. */
        bool one_step;                  /* All weights of a layer share one step. */
        enum observer observer;
        struct scheme scheme;               /* Activations have this scheme. */
        bool steps[STEP_COUNT];
        bool first, last;               /* The first layer, or the last one, stays in floats. */
        const char *const *keep_float;  /* Nodes or values have these names. */
        int keep_float_count;
        const bool *state_results;      /* These results of the function are next values of state,
                                         * which stay in floats; NULL: none are. */
        struct quantized_ports *ports;  /* The list is --quantize-port, or NULL. */
        /* kept is called for each layer that stays in floats; it may be NULL. */
        void (*kept)(void *runner, const struct op *op, const char *why);
        void *runner;
};

/* Returns the largest number that a layer's weight can be. */
static inline int quantize_largest_weight(const struct quantize_policy *p)
{
        return (1 << (p->weights ? p->weights->bits - 1 : 7)) - 1;
}
/* These functions set the default steps, and those of a comma-separated list: names, or names with
 * + or - in front. quantize_steps_parse returns false if a name is unknown; *name points at it. */
void quantize_steps_preset(bool steps[STEP_COUNT]);
bool quantize_steps_parse(const char *list, bool steps[STEP_COUNT], const char **name);
/* Returns a step that the list asks for and that learns from samples; NULL: none does. */
const char *quantize_steps_learning(const char *list);
void quantize_steps_help(void);         /* Prints the steps on standard output. */

/* Returns, for each of `count` known values, whether --keep-float names it (keep_float.c). NULL
 * after an error: a name fits no value. */
const bool *keep_float_find(struct arena *arena, const struct quantize_policy *policy,
                            const struct calibrated *known, int count, struct diag *diag);

/* ---- one run of the pass ---- */

struct site;
struct layer {
        struct op *op;                  /* A layer is a convolve or dot of floats. */
        const char *obstacle;           /* The text says why the layer is not quantized, as a part
                                         * of a sentence; NULL: it is quantized. */
        struct site *x;                 /* The layer reads this site as operand 0. */
        bool both;                      /* The layer is a product of two activations. */
};

/* A site is a value of floats whose shape is known. */
struct site {
        struct value *value;
        struct layer *layer;            /* The value is the result of this layer; NULL: of none. */
        const char *name;               /* Its name in the calibration; NULL: it depends on no
                                         * input. */
        const struct range *range;      /* Its numbers have this range, or NULL. */
        struct site *root;              /* This value is stored in the end, computed from the site's
                                         * element by element; a site is its own root where it is
                                         * stored. */
        struct site *sum;               /* The sums of this contraction alone reach the site without
                                         * being stored; NULL: there is no such one. */
        struct site *same;              /* The next site has the same step, towards the one that
                                         * stands for all of these; NULL: this one does. */
        int members;                    /* The site stands for this many other sites. */
        struct extent extent;           /* All that have its step lie in this extent, in the site
                                         * that stands for them. */
        struct affine affine;           /* The members have this step, in the same site. */
        bool keep;                      /* --keep-float: its operation works on floats. */
        bool unfit;                     /* Some of its numbers are not finite. */
        bool unseen;                    /* The value is in a loop or branch that no sample ran. */
        bool pinned;                    /* The value is decoded from bytes of the model, in steps of
                                         * their own. */
        bool cut;                       /* The value is stored in bytes though a kernel could go on
                                         * with it. */
        bool norm;                      /* The value is computed from sums of rows that are spread
                                         * over the rows. */
        bool reduced, spread;           /* reduced: the value is computed from a reduction; spread:
                                         * the reduction has been spread. */
        bool bytes;                     /* Its readers, layers and operations on bytes, read it
                                         * decoded from bytes. */
        bool carried;                   /* Its operation works on bytes. */
        struct value *decoded;          /* Its readers read this decoded value. */
};

struct quantizing {
        struct function *f;
        struct module *m;
        struct pass_context *context;
        const struct quantize_policy *policy;
        const struct calibration *calibration;
        struct arena *arena;
        struct site *sites;             /* Arguments come first, then results, in order: each site
                                         * comes before its readers, but for values that loops
                                         * carry. */
        int site_count;
        struct layer *layers;           /* The layers come in order. */
        int layer_count;
        struct value **scaled;          /* These products scale channels, on floats (equalize.h). */
        int scaled_count;
        int byte_count;                 /* This many values are in bytes. */
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
/* Is this operand of the layer quantized? It is if it is x, or the other one where that is no
 * constant. */
static inline bool layer_reads(const struct layer *l, int operand)
{
        return l && !l->obstacle && (operand == 0 || (operand == 1 && l->both));
}

/* Makes site_of valid again, after the sampler has used the scratch of values. */
void quantize_remember_sites(struct quantizing *q);

/* An operation may do this to bytes. */
enum carrying {
        CARRY_NONE,                     /* The operation works on floats. */
        CARRY_MAP,                      /* The operation computes element by element. */
        CARRY_MOVE,                     /* The operation hands on some of its operands' numbers, and
                                         * perhaps 0. */
        CARRY_SUM                       /* The operation adds its operands' numbers up. */
};
enum carrying quantize_carrying(const struct op *op);
/* Returns this as far as the kind of operation tells (carrying.def); *when: the further condition,
 * or "". */
enum carrying quantize_carrying_of(enum opcode code, const char **when);

/* Finds the sites' norm. */
void quantize_find_norms(struct quantizing *q);
/* Chooses which values are in bytes: sites' bytes and carried, from the layers that are
 * quantized. */
void quantize_choose_bytes(struct quantizing *q);
/* Chooses the steps of values in bytes. Returns false after an error. */
bool quantize_choose_scales(struct quantizing *q);
const struct affine *quantize_affine(struct site *s);
/* Puts bytes into the graph where they were chosen. Returns false after an error. */
bool quantize_insert(struct quantizing *q);

/* Returns why a convolve or dot of floats cannot be quantized, by its weights, its shape, and g,
 * the scheme of x; NULL: it can. */
const char *quantize_obstacle(const struct layer *l, const struct scheme *g);
/* Writes the weights and the bias of a layer whose x is decoded; it may still find an obstacle. m:
 * what samples show of its rows, or NULL. */
bool quantize_layer(struct quantizing *q, struct layer *l, const struct moments *m);

#endif
