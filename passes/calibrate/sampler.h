/* SPDX-License-Identifier: MIT */
/* Samples of the model's inputs that a pass may look at: with --calibrate beside what writes code,
 * pass_context has a sampler. compiler/sampler.c is what runs functions on them. */
#ifndef PASSES_CALIBRATE_SAMPLER_H
#define PASSES_CALIBRATE_SAMPLER_H

#include "passes/calibrate/calibration.h"

/* Told of a value: some of its elements after the other, from number `from` on; of one within a
 * loop or branch as often as it was computed. False: no more. */
typedef bool (*sampled_take)(void *context, int64_t sample, int value, int64_t from,
                             const void *data, int64_t count);

struct sampled;                         /* a program that gives values of a function */
struct sampler {
        void *runner;
        /* One that gives these values of the module's first function and its regions, which is
         * as it was before `layout`; the module stays as it is, but for number and scratch of
         * its values and operations, and may change afterwards. NULL after an error. */
        struct sampled *(*begin)(void *runner, const struct module *m, struct value *const *values,
                                 int count);
        int64_t (*count)(const struct sampled *s);        /* of samples */
        /* Runs it on all samples, in their order. False after an error, or where `take` says so. */
        bool (*run)(struct sampled *s, sampled_take take, void *context);
        void (*end)(struct sampled *s);                   /* NULL is fine */
        /* what --calibrate would write of the module, which stays as above; NULL after an error */
        const struct calibration *(*ranges)(void *runner, const struct module *m);
};

#endif
