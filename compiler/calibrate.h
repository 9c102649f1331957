/* SPDX-License-Identifier: MIT */
/* --calibrate and --merge make and join ranges of a model's tensors. */
#ifndef COMPILER_CALIBRATE_H
#define COMPILER_CALIBRATE_H

#include "compiler/driver.h"
#include "compiler/process.h"
#include "compiler/samples.h"
#include "passes/calibrate/expose.h"
#include "passes/calibrate/sampler.h"

/* ---- calibrate.c ---- */

/* Does --calibrate: the module has been through pipeline_calibrated(); writes the ranges of its
 * first function. */
bool calibrate(struct run *run);
/* Returns the same without writing it, of a module of its own, which is used up; or NULL after an
 * error. */
const struct calibration *calibrate_module(struct run *run, struct module *m);
bool merge_ranges(struct run *run);     /* Does --merge; there is no model. */

/* ---- observed.c: a program that gives all values that are looked at ---- */

/* It is called for each value in turn, with some of its elements after the other: from number
 * `from` on. What lies within a loop or branch comes as often as it was computed, from 0 on each
 * time. */
typedef bool (*observed_take)(void *context, int output, int64_t from, const void *data,
                              int64_t count);

struct observed {
        struct run *user;
        struct run run;                 /* It is a copy: what is compiled is not what the user asked
                                         * for. */
        struct arena *arena;
        struct exposition exposed;
        int count;                      /* There are so many values. */
        unsigned char **flags;          /* They are the exposed.flag_count flags of one run. */
        int output_count;               /* The outputs are flags, then values. */
        const struct loop_buffer **outputs;
        int input_count;
        const struct loop_buffer **inputs;
        int64_t *extents;               /* The program's extents have these values in a run. */
        void *piece;                    /* It holds elements on their way. */
        /* Compiled code uses these. */
        const char *folder, *cc;
        struct command program;
        /* LLVM made code in this process (--jit, or there is no compiler), or, where there is
         * neither, the interpreter runs the program. */
        struct llvm_jit *jit;
        struct interp *interp;
        void **memory;                  /* There is one for each output, of both. */
};

/* Makes a module a program that gives these values of its first function. It is for this processor
 * (generic under --exact), and compiled by --cc or --jit. Returns false after an error;
 * observed_end has to be called whatever comes. Children of this process may run the program, too:
 * each starts it for itself. */
bool observed_begin(struct observed *o, struct run *run, struct module *m,
                    struct value *const *values, int count);
/* Runs the program; messages call the sample `sample`, which s has read. */
bool observed_run(struct observed *o, const char *sample, const struct samples *s,
                  const void *const *inputs, observed_take take, void *context);
/* These return the shape of value k as `take` is told of it, and how many elements it has. */
void observed_shape(const struct observed *o, int k, int64_t dims[RANK_MAX]);
int64_t observed_elements(const struct observed *o, int k);
bool observed_end(struct observed *o);

/* ---- sampler.c: the samples of --calibrate for passes ---- */

const struct sampler *sampler_new(struct run *run);

#endif
