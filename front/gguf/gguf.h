/* SPDX-License-Identifier: MIT */
/* All files of this room share this: the state of an import, parameters of the network, errors. The
 * entry point is gguf_import (front/import.h).
 *
 *   gguf_file.c       reads the file; gguf_values.c: what its keys stand for
 *   gguf_report.c     errors
 *   gguf_parameters.c what metadata say of the network
 *   gguf_weights.c    tensors as constants, products by them
 *   gguf_network.c    the network, by front/compose
 *   gguf_vocabulary.c the texts of tokens (--info=tokens)
 *   gguf_facts.c      what a model says of itself (--info)
 *   gguf_model.c      options, ports, the door
 *
 * A file calls files above it in this list. Text of a model reaches a message through text_safe
 * alone. */
#ifndef FRONT_GGUF_GGUF_H
#define FRONT_GGUF_GGUF_H

#include "front/compose/compose.h"
#include "front/gguf/gguf_file.h"
#include "front/import.h"

struct gguf_architecture {
        const char *name;
        bool pairs, scaled;
        int activation, period, window, large;  /* They are as gguf_architectures.def says. */
        double base;
};

struct gguf_parameters {
        const struct gguf_architecture *architecture;
        int64_t layers, width, heads, groups, size, values;     /* values: the size of a head's
                                                                 * values. */
        int64_t context;                /* The model was trained for so many positions. */
        int64_t tokens;                 /* The vocabulary has so many. */
        int64_t turned;                 /* So many of a head's elements are turned. */
        int64_t window;                 /* Layers with a window see so many keys. */
        double base, local_base;        /* Angles: base ^ (-2 i / turned); local: of layers with a
                                         * window. */
        double factor;                  /* Positions are divided by it, but in layers with a
                                         * window. */
        double epsilon, attention_softcap, final_softcap, scale;
};

struct gguf_import {
        struct module *m;
        struct builder b;
        struct compose *c;              /* It builds the meaning of operators with b. */
        struct gguf_file file;
        struct diag *diag;
        struct pass_context *context;
        const struct import_options *options;
        struct arena *arena;            /* It lives as long as the import. */
        struct gguf_parameters p;
        const char *at;                 /* It is the name of the tensor or the layer at hand, safe
                                         * to print, or NULL. */
        dim_t steps, past;              /* N, the tokens of a run, and P, those before it. */
};

/* ---- errors (gguf_report.c); all return false ---- */

bool gguf_invalid(struct gguf_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
bool gguf_unsupported(struct gguf_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
bool gguf_usage(struct gguf_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* ---- metadata (gguf_parameters.c) ---- */

/* Reads im->p. Returns false after an error. */
bool gguf_read_parameters(struct gguf_import *im);
/* Returns the architecture's row, or NULL after an error. */
const struct gguf_architecture *gguf_architecture_of(struct gguf_import *im);
/* Has the layer a window? */
bool gguf_is_local(const struct gguf_parameters *p, int64_t layer);

/* ---- weights (gguf_weights.c) ---- */

/* Lists all tensors whose type is not supported. */
bool gguf_check_types(struct gguf_import *im);
/* Returns the tensor "blk.LAYER.NAME", or "NAME" where layer is -1, marked as used; NULL: there is
 * none. */
struct gguf_tensor *gguf_tensor_find(struct gguf_import *im, int64_t layer, const char *name);
/* Returns a vector of floats, f32 [extent], or NULL after an error. */
struct value *gguf_vector(struct gguf_import *im, struct gguf_tensor *t, int64_t extent);
/* Returns x, f32 [1, steps, inner], times the matrix NAME.weight, plus NAME.bias where it is there:
 * [1, steps, outputs]. NULL: after an error. */
struct value *gguf_product(struct gguf_import *im, struct value *x, int64_t layer, const char *name,
                           int64_t outputs);
/* The same by a tensor that is found, without bias. */
struct value *gguf_product_by(struct gguf_import *im, struct value *x, struct gguf_tensor *t,
                              int64_t outputs);
/* Returns rows of the matrix, f32 [1, steps, width]. */
struct value *gguf_rows(struct gguf_import *im, struct gguf_tensor *t, struct value *indices,
                        int64_t width);

/* ---- the network (gguf_network.c) ---- */

struct gguf_network {
        struct value *ids;              /* The tokens, i64 [1, steps]. */
        struct value **past, **present; /* Keys and values of layer i are at 2 i and 2 i + 1, f32
                                         * [1, groups, rows, size]; past: NULL where there are
                                         * none. */
        struct value *hidden;           /* f32 [1, steps, width] behind the last norm. */
        struct value *logits;           /* f32 [1, 1, tokens], of the last step. */
        struct value *all_logits;       /* f32 [1, steps, tokens], where they are asked for. */
        bool wants_all;
};
bool gguf_network(struct gguf_import *im, struct gguf_network *n);

/* ---- what a model says of itself (gguf_vocabulary.c, gguf_facts.c) ---- */

/* Returns the vocabulary, or NULL where the file has none of a kind that is known. */
const struct model_vocabulary *gguf_vocabulary(struct gguf_import *im, struct arena *arena);

void gguf_facts(struct gguf_import *im, struct model_facts *facts, const struct function *f);

#endif
