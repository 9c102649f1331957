/* SPDX-License-Identifier: MIT */
/* Samples of the model's inputs that a pass may look at: where --calibrate stands beside what
 * writes code, pass_context has a sampler. compiler/sampler.c runs functions on the samples. */
#ifndef PASSES_CALIBRATE_SAMPLER_H
#define PASSES_CALIBRATE_SAMPLER_H

#include "passes/calibrate/calibration.h"

/* Receives a value, which has `total` elements in this sample, some of them after the other, from
 * number `from` on; a value within a loop or branch as often as it was computed. Returns false if
 * it wants no more. */
typedef bool (*sampled_take)(void *context, int64_t sample, int value, int64_t total, int64_t from,
                             const void *data, int64_t count);

struct sampled;                         /* A sampled is a program that gives values of a
                                         * function. */
struct sampler {
        void *runner;
        /* Returns a program that gives these values of the module's first function and its regions,
         * which has not been through `layout`. The module stays as it is, but for number and
         * scratch of its values and operations, and may change afterwards. NULL: there was an
         * error. */
        struct sampled *(*begin)(void *runner, const struct module *m, struct value *const *values,
                                 int count);
        int64_t (*count)(const struct sampled *s);        /* Returns the number of samples. */
        /* Runs the program on all samples, in their order. Returns false after an error, or if
         * `take` returns false. */
        bool (*run)(struct sampled *s, sampled_take take, void *context);
        void (*end)(struct sampled *s);                   /* s may be NULL. */
        /* Returns what --calibrate would write of the module, which stays as it is, as above; NULL:
         * there was an error. */
        const struct calibration *(*ranges)(void *runner, const struct module *m);
};

#endif
