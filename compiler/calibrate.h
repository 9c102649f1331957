/* SPDX-License-Identifier: MIT */
/* --calibrate and --merge: ranges of a model's tensors. */
#ifndef COMPILER_CALIBRATE_H
#define COMPILER_CALIBRATE_H

#include "compiler/driver.h"
#include "compiler/process.h"
#include "passes/calibrate/expose.h"
#include "passes/calibrate/sampler.h"

/* ---- calibrate.c ---- */

/* --calibrate: the module has been through pipeline_calibrated(); writes the ranges of its first
 * function */
bool calibrate(struct run *run);
/* The same without writing them: of a module of its own, which is used up. NULL after an error. */
const struct calibration *calibrate_module(struct run *run, struct module *m);
bool merge_ranges(struct run *run);     /* --merge; there is no model */

/* ---- observed.c: a program that gives all that is looked at ---- */

/* Told of each value in turn, some of its elements after the other: from number `from` on. What
 * lies within a loop or branch comes as often as it was computed, from 0 on each time. */
typedef bool (*observed_take)(void *context, int output, int64_t from, const void *data,
                              int64_t count);

struct observed {
        struct run *user;
        struct run run;                 /* a copy: what is compiled is not what the user asked
                                         * for */
        struct arena *arena;
        struct exposition exposed;
        int count;                      /* of values */
        unsigned char **flags;          /* [exposed.flag_count], of one run */
        int output_count;               /* flags, then values */
        const struct loop_buffer **outputs;
        int input_count;
        const struct loop_buffer **inputs;
        void *piece;                    /* elements on their way */
        /* by compiled code */
        const char *folder, *cc;
        struct command program;
        /* by the interpreter, where there is no compiler */
        struct interp *interp;
        void **memory;                  /* [output_count] */
};

/* A module becomes a program that gives these values of its first function. It is for this
 * processor (generic under --exact), and compiled by --cc. False after an error; to be ended
 * whatever comes. */
bool observed_begin(struct observed *o, struct run *run, struct module *m,
                    struct value *const *values, int count);
/* Runs it; sample: what messages call it. */
bool observed_run(struct observed *o, const char *sample, const void *const *inputs,
                  observed_take take, void *context);
bool observed_end(struct observed *o);

/* ---- sampler.c: the samples of --calibrate for passes ---- */

const struct sampler *sampler_new(struct run *run);

#endif
