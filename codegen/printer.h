/* SPDX-License-Identifier: MIT */
/* A printer writes a planned program in a language that another compiler reads. A target names its
 * printer, or inherits its base's (struct target in ir/target/target.h); the driver knows none by
 * name. A new printer is a const struct, a target that names it, and what these two need: see
 * docs/adding-a-target.md. */
#ifndef CODEGEN_PRINTER_H
#define CODEGEN_PRINTER_H

#include <stdio.h>

#include "ir/loop/loop.h"
#include "ir/target/target.h"

/* Constants of more than a few KB are in one of these places. */
enum print_weights {
        PRINT_WEIGHTS_INLINE,           /* They are in the code. */
        PRINT_WEIGHTS_INCBIN,           /* They are in a file of their own, which the assembler puts
                                         * into the object. */
        PRINT_WEIGHTS_FILE              /* They are in a file of their own, which the caller gives
                                         * to run. */
};

/* A planned program, and the target it is for. */
struct print_program { struct loop_program *program; const struct target *target; };

/* It describes a call of a kernel: the function, the nodes of the model that it computes (or NULL),
 * the bytes that it reads and writes, and the bytes of the workspace and regions in use at that
 * time. */
struct print_kernel { const char *name, *nodes; double flops; int64_t bytes, workspace; };

/* In a quantized port, q stands for (q - zero) * scale. */
struct print_steps { const char *port; bool output; float scale; int zero; };

/* A test that code makes of itself: constants of the program, in the order of its inputs and
 * outputs, which nothing else reads. */
struct print_selftest { struct loop_buffer **inputs, **outputs; };

struct print_options {
        const char *prefix;             /* Every public symbol begins with this identifier. */
        const char *header_name;        /* The code includes this header; NULL: the header's text
                                         * goes into the code. */
        const char *version;            /* This is the version of dnncc. */
        const char *command;            /* These options determine the output, in canonical order,
                                         * as safe text. */
        bool descriptor, unchecked;
        bool meanings;                  /* C functions that the code calls (loop_function.external)
                                         * are defined weakly, by what they mean. */
        bool fast_libm;                 /* Scalar mathematics is computed by the C library. */
        bool flush_denormals;           /* On x86 only: denormal numbers count as 0 while run
                                         * computes. */
        const struct print_selftest *selftest;    /* NULL: there is none. */
        bool hook;                      /* run has hooks before and after each kernel call, which do
                                         * nothing by default. */
        bool profile;                   /* By default these hooks call dnncc_profile. */
        const char *trace;              /* A table of the calls is printed for this file of a trace;
                                         * NULL: there is none. */
        const struct print_kernel *kernels;       /* With `trace` it lists the calls, in the order
                                                   * of the text. */
        int kernel_count;
        int threads;                    /* Parallel loops run on this many threads; 1 or less: they
                                         * are plain loops. */
        const struct target *target;
        /* This is the same model for lesser targets, the least first: run takes the best that fits.
         * All have one printer. */
        const struct print_program *lesser;
        int lesser_count;
        const struct print_steps *steps;        /* They are the scales of ports that have some,
                                                 * which the header contains. */
        int step_count;
        enum print_weights weights;
        FILE *weights_file;             /* Receives the weights, unless they are inline. */
        const char *weights_name;       /* That file has this name, without a folder. */
};

struct printer {
        const char *language;           /* Messages call the language by this name: "the output is
                                         * C". */
        const char *suffix;             /* The file's name ends in this: ".c". */
        /* Writes everything; header may be NULL where header_name is. Constants may be large, so
         * they must be streamed. Write errors are left in the streams' error flags. What the
         * printer has no text for is reported as unsupported: it returns false after one error. */
        bool (*print)(FILE *code, FILE *header, const struct loop_program *p,
                      const struct print_options *options, struct diag *diag);
};

#endif
