/* SPDX-License-Identifier: MIT */
/* What options say of a step of training (train_options.c), and what makes one of it (train.c). */
#ifndef COMPILER_TRAIN_H
#define COMPILER_TRAIN_H

#include "compiler/loss.h"
#include "front/import.h"
#include "ir/adjoint/optimizer.h"

/* What --grad-clip bounds: each element of a gradient, or the norm of all of them together. */
enum clip { CLIP_NOTHING, CLIP_VALUE, CLIP_NORM };

/* State: the name of the input that is it when a run begins, and of the output that is the next. */
struct kept { const char *name, *next; };
struct trained {
        struct value *value;
        struct value *next;             /* The model's value that a moment becomes; else NULL. */
        struct kept own, states[OPTIMIZER_STATES_MAX];
        struct kept mean, sum;          /* Of --ema, and of gradients that --accumulate adds up. */
};

struct training {
        struct run *run;
        struct arena *arena;
        struct module *m;
        struct function *f;             /* It is the model's. */
        struct training_loss loss;
        struct optimizer o;
        double rate;                    /* It is NAN where a run gives it. */
        enum clip clip;
        double bound;                   /* Gradients are clipped to it. */
        double ema;                     /* A mean of weights keeps this part of itself in a step; it
                                         * is NAN where there is no mean. */
        int64_t accumulate;             /* Weights change in each step of so many. */
        const struct import_training *nodes;    /* They are in training in a step. */
        struct map *modes;              /* It maps what such nodes make to their struct
                                         * import_mode. */
        struct trained *moments;        /* A step changes these moments of theirs. */
        int moment_count;
        struct trained *weights;
        int weight_count, states;       /* Each weight has so many states of the optimizer. */
        struct kept step;               /* It counts the steps. */
        const char *rate_name;          /* The input's, where a run gives the rate. */
        struct map *names;              /* Those that inputs and outputs have. */
};

/* Reads --train, --grad-clip, --ema and --accumulate. Returns false after an error. */
bool train_read_options(struct training *t);
/* Finds the weights: the initializers of floats that the loss depends on, as --update and --freeze
 * choose among them. A normalization is in training where both choose its moments. Returns false
 * after an error. */
bool train_find_weights(struct training *t);
/* Reports a mistake in the use of the option. Returns false. */
bool train_usage(const struct training *t, const char *option, const char *text);

#endif
