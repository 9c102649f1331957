/* Prints a planned Loop IR program as C99 source and header: the contract is docs/interface.md. */
#ifndef CODEGEN_C_PRINTER_H
#define CODEGEN_C_PRINTER_H

#include <stdio.h>

#include "ir/loop.h"
#include "ir/target.h"

/* Where constants of more than a few KB are. */
enum c_weights {
        C_WEIGHTS_INLINE,               /* in the C file */
        C_WEIGHTS_INCBIN,               /* in a file of their own, which the assembler puts into the
                                         * object */
        C_WEIGHTS_FILE                  /* in a file of their own, which the caller hands to run */
};

/* A planned program, and the target it is for. */
struct c_program { struct loop_program *program; const struct target *target; };

struct c_options {
        const char *prefix;             /* identifier every public symbol begins with */
        const char *header_name;        /* what the C file includes; NULL: the header's text goes
                                         * into the C file */
        const char *version;            /* of dnncc */
        const char *command;            /* options that shape the output, canonical order, safe
                                         * text */
        bool descriptor, unchecked;
        bool fast_libm;                 /* scalar mathematics by the C library */
        bool flush_denormals;           /* denormal numbers count as 0 while run computes; x86 */
        bool profile;                   /* run calls dnncc_profile before the first and after each
                                         * kernel call */
        int threads;                    /* parallel loops run on that many; 1 or less: as plain
                                         * loops */
        const struct target *target;
        const struct c_program *lesser; /* the same model for lesser targets, the least first: run
                                         * takes the best that fits */
        int lesser_count;
        enum c_weights weights;
        FILE *weights_file;             /* receives them, unless inline */
        const char *weights_name;       /* of that file, without a folder */
};

/* Writes all; h may be NULL when header_name is NULL. Streams constants, so memory stays small.
 * Write errors are left in the streams' error flags. False after one error. */
bool c_print(FILE *c, FILE *h, const struct loop_program *p, const struct c_options *options,
             struct diag *diag);

#endif
