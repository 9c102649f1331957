/* SPDX-License-Identifier: MIT */
/* This is what the two files for C that drives a machine share, and what other files of the C
 * printer call. Nothing happens where main calls no stream. */
#ifndef CODEGEN_C_MACHINE_H
#define CODEGEN_C_MACHINE_H

#include "codegen/c_writer.h"
#include "codegen/machines/machine_program.h"
#include "codegen/machines/machines.h"

enum { C_PREPARED_BYTES = 64 };         /* struct prepared is not larger. */

struct c_argument {
        int64_t at, bytes;              /* The argument lies here, relative to the start of the
                                         * workspace or, in_program, of the program. */
        bool in_program, is_staged;
};

struct c_launch {
        struct loop_stmt *call;
        struct c_argument *arguments;
        struct machine_code code;
        int64_t lists_at, instructions_at;        /* They lie here in the program. */
        const char *name, *code_name, *lists_name;
};

struct c_machine_constant { struct loop_buffer *buffer; int64_t at; };

struct c_machine {
        const struct machine *machine;
        struct isa isa;
        /* Whoever links the code provides functions with this name: dnncc_NAME_launch, ..; it is
         * also in DNNCC_NAME_TIMEOUT. */
        const char *name;
        int64_t align;                  /* The workspace, the program, and everything in it are
                                         * aligned to this. */
        struct c_launch *launches;
        int launch_count;
        struct c_machine_constant *constants;
        int constant_count;
        int64_t program_size;
        char digest[65];                /* Its first 16 digits identify the instructions and the
                                         * model. */
};

/* ---- c_machine.c ---- */

/* Finds the launches, and encodes them. Returns false after an error. */
bool c_machine_begin(struct c_writer *w);
void c_machine_reserve(struct c_writer *w);
void c_machine_names(struct c_writer *w);
void c_machine_locals(struct c_writer *w);               /* Reserves names that variables of run
                                                          * must not have. */
void c_machine_call(struct c_writer *w, const struct loop_stmt *s);

/* ---- c_machine_text.c ---- */

/* Prints the functions that launch, and what they need. */
void c_machine_kernels(struct c_writer *w, struct text *out);
void c_machine_prepare(struct c_writer *w, struct text *out);
void c_machine_check(struct c_writer *w);                 /* Prints run's check that prepare was
                                                           * called. */
/* Print the parts of the header's comment: memory, and prepare. */
void c_machine_usage(struct c_writer *w, const char *weights);
void c_machine_rules(struct c_writer *w);
void c_machine_functions(struct c_writer *w);             /* Prints the declarations of prepare and
                                                           * of the five functions. */

#endif
