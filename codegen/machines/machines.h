/* SPDX-License-Identifier: MIT */
/* This is the table of machines (ir/target/machine.h), and of their launches: a stream from the
 * passes on streams becomes instructions, a program, C code that gives these to the machine, and a
 * measure. */
#ifndef CODEGEN_MACHINES_MACHINES_H
#define CODEGEN_MACHINES_MACHINES_H

#include "codegen/machines/instruction_set.h"
#include "ir/loop/loop.h"

/* Ends with NULL. */
extern const struct machine *const machines[];
/* Returns the instruction set of a machine of any sizes; NULL: no machine has its name. */
const struct instruction_set *machine_instructions(const struct machine *m);

/* Returns the machine with other sizes, as dnncc-vta --sizes takes them. Returns NULL after an
 * EXIT_USAGE error: it cannot have these sizes, or none but its own. */
const struct machine *machine_sized(struct arena *arena, const struct machine *machine,
                                    const char *sizes, struct diag *diag);
/* Returns the table with one machine in place of that of its name. */
const struct machine *const *machines_with(struct arena *arena, const struct machine *machine);

/* ---- launches ---- */

/* A launch lies in memory as instructions, and lists of places in 32-bit words, all little
 * endian. */
struct machine_code {
        unsigned char *instructions, *lists;
        int64_t count, list_count;
        int64_t cycles;                 /* The machine's model predicts this many cycles. */
};

/* A driver is what a machine brings so that streams run on it. */
struct machine_driver {
        /* Encodes a flat stream with instructions and tokens; its parameters lie at `addresses`,
         * its lists at `lists`. Returns false after one error: EXIT_UNSUPPORTED where a field
         * cannot hold its number, EXIT_BUDGET for a stream longer than a launch may be. */
        bool (*encode)(const struct isa *isa, const struct loop_function *stream,
                       const int64_t *addresses, int64_t lists, struct arena *arena,
                       struct machine_code *code, struct diag *diag);
        int64_t align;                  /* A parameter's address is a multiple of this many bytes;
                                         * 0: what moves the parameter decides. */
        /* Prints a C function that changes an instruction's addresses from those it was compiled
         * for to those in memory:
         *     static void place(uint64_t words[], uint64_t workspace, uint64_t program)
         * NULL: addresses count bytes, each in one field. */
        void (*place)(const struct isa *isa, int64_t workspace_size, struct text *out);
};
extern const struct machine_driver vta_driver, unified_driver;
/* Returns the machine's driver; NULL: only programs run on it. */
const struct machine_driver *machine_driver(const struct machine *m);

/* A stream's parameter holds `content` before a launch, and `expected` after it; NULL: zeros, and
 * not known. constant: it never changes. */
struct launch_argument { const void *content, *expect; bool constant; };

/* Writes a launch with all it reads: as text, or as the file that executors take. Appends to out;
 * returns false after one error. */
bool machine_launch_write(const struct loop_function *stream,
                          const struct launch_argument *arguments, bool as_text, struct text *out,
                          struct diag *diag);
/* Makes the launch a program, whose contents are the caller's memory. */
struct machine_program;
bool machine_launch_program(struct machine_program *p, const struct loop_function *stream,
                            const struct launch_argument *arguments, struct arena *arena,
                            struct machine_code *code, struct diag *diag);
/* Encodes the launch as it lies in memory, with parameters and lists at these addresses. */
bool machine_encode(const struct loop_function *stream, const int64_t *addresses, int64_t lists,
                    struct arena *arena, struct machine_code *code, struct diag *diag);

/* The machine's model says this of a launch, or of the part of it that makes one result. */
struct machine_part {
        /* The part stores this parameter or, where values stay in the machine, multiplies by it as
         * weights; NULL for a whole launch. */
        const struct loop_buffer *result;
        int64_t cycles, serial;         /* `serial` is the cycles of the same instructions one after
                                         * the other. */
        int64_t products;               /* The array multiplies in this many cycles. */
        const char *bound;              /* This unit is busy for most of the cycles. */
        int64_t instructions, places;   /* `places` is the places of lists that are loaded. */
        int64_t loaded[MACHINE_MEMORIES], stored;          /* This many bytes are moved. */
        int64_t least[MACHINE_MEMORIES], least_stored;     /* This many bytes would be moved, if
                                                            * each were moved once. */
        int64_t used[MACHINE_MEMORIES];         /* Each memory is used up to this byte. */
};
struct machine_measure { struct machine_part whole, *parts; int part_count; };
bool machine_measure(const struct loop_function *stream, struct arena *arena,
                     struct machine_measure *measure, struct diag *diag);

/* ---- C that drives a machine (codegen/c_machine.c) ---- */

/* machine_align returns the alignment of a parameter's address, in bytes; machine_align_most that
 * of any parameter. */
int64_t machine_align(const struct loop_function *stream, const struct loop_buffer *parameter);
int64_t machine_align_most(const struct machine *m);

#endif
