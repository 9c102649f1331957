/* SPDX-License-Identifier: MIT */
/* Printers: what writes a planned program down, in a language that another compiler takes. A target
 * names its printer, or has its base's (struct target in ir/target/target.h); the driver knows
 * none by name. A new one is a const struct, a target that names it, and what these two need:
 * docs/adding-a-target.md. */
#ifndef CODEGEN_PRINTER_H
#define CODEGEN_PRINTER_H

#include <stdio.h>

#include "ir/loop/loop.h"
#include "ir/target/target.h"

/* Where constants of more than a few KB are. */
enum print_weights {
        PRINT_WEIGHTS_INLINE,           /* in the code */
        PRINT_WEIGHTS_INCBIN,           /* in a file of their own, which the assembler puts into the
                                         * object */
        PRINT_WEIGHTS_FILE              /* in a file of their own, which the caller hands to run */
};

/* A planned program, and the target it is for. */
struct print_program { struct loop_program *program; const struct target *target; };

/* A call of a kernel: the function, nodes of the model that it computes (or NULL), bytes that it
 * reads and writes, and of the workspace and regions in use meanwhile. */
struct print_kernel { const char *name, *nodes; double flops; int64_t bytes, workspace; };

/* A port of whole numbers: q stands for (q - zero) * scale. */
struct print_steps { const char *port; bool output; float scale; int zero; };

struct print_options {
        const char *prefix;             /* identifier every public symbol begins with */
        const char *header_name;        /* what the code includes; NULL: the header's text goes into
                                         * the code */
        const char *version;            /* of dnncc */
        const char *command;            /* options that shape the output, canonical order, safe
                                         * text */
        bool descriptor, unchecked;
        bool fast_libm;                 /* scalar mathematics by the C library */
        bool flush_denormals;           /* denormal numbers count as 0 while run computes; x86 */
        bool profile;                   /* run calls dnncc_profile before the first and after each
                                         * kernel call */
        const char *trace;              /* the file of a trace, for which there is a table of the
                                         * calls; NULL: none is */
        const struct print_kernel *kernels;       /* with trace: the calls, in the order of the text
                                                   * / */
        int kernel_count;
        int threads;                    /* parallel loops run on that many; 1 or less: as plain
                                         * loops */
        const struct target *target;
        const struct print_program *lesser;       /* the same model for lesser targets, the least
                                                   * first: run takes the best that fits. All have
                                                   * one printer. */
        int lesser_count;
        const struct print_steps *steps;        /* of ports that have some; the header says them */
        int step_count;
        enum print_weights weights;
        FILE *weights_file;             /* receives them, unless inline */
        const char *weights_name;       /* of that file, without a folder */
};

struct printer {
        const char *language;           /* of messages: "the output is C" */
        const char *suffix;             /* of the file's name: ".c" */
        /* Writes all; header may be NULL when header_name is. Constants may be large: they are to
         * be streamed. Write errors are left in the streams' error flags. What the printer has
         * nothing for it reports as unsupported: false after one error. */
        bool (*print)(FILE *code, FILE *header, const struct loop_program *p,
                      const struct print_options *options, struct diag *diag);
};

#endif
