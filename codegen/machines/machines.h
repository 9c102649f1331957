/* SPDX-License-Identifier: MIT */
/* The table of machines (ir/target/machine.h), and their launches: a stream that the passes on
 * streams made becomes instructions, a program, C code that hands these to the machine, and a
 * measure. */
#ifndef CODEGEN_MACHINES_MACHINES_H
#define CODEGEN_MACHINES_MACHINES_H

#include "codegen/machines/instruction_set.h"
#include "ir/loop/loop.h"

extern const struct machine *const machines[];           /* NULL behind the last */
/* of a machine of any sizes; NULL: nobody knows one of its name */
const struct instruction_set *machine_instructions(const struct machine *m);

/* The machine with other sizes, as dnncc-vta --sizes has them; NULL after an EXIT_USAGE error: it
 * has no such, or none at all. */
const struct machine *machine_sized(struct arena *arena, const struct machine *machine,
                                    const char *sizes, struct diag *diag);
/* the table with one machine in place of that of its name */
const struct machine *const *machines_with(struct arena *arena, const struct machine *machine);

/* ---- launches ---- */

/* A launch as it lies in memory: instructions, and lists of places of 32-bit words, all little
 * endian. */
struct machine_code {
        unsigned char *instructions, *lists;
        int64_t count, list_count;
        int64_t cycles;                 /* that the machine's model says it takes */
};

/* What a machine brings so that streams run on it. */
struct machine_driver {
        /* A flat stream with instructions and tokens, its parameters at these addresses, its lists
         * at another. False after one error: EXIT_UNSUPPORTED where a field does not hold what it
         * should, EXIT_BUDGET for a stream longer than a launch may be. */
        bool (*encode)(const struct isa *isa, const struct loop_function *stream,
                       const int64_t *addresses, int64_t lists, struct arena *arena,
                       struct machine_code *code, struct diag *diag);
        int64_t align;                  /* bytes that addresses of a parameter are a multiple of; 0:
                                         * of what moves it */
        /* A C function that takes an instruction from addresses as they were compiled to those that
         * memory has:
         *     static void place(uint64_t words[], uint64_t workspace, uint64_t program)
         * NULL: addresses count bytes, each in one field. */
        void (*place)(const struct isa *isa, int64_t workspace_size, struct text *out);
};
extern const struct machine_driver vta_driver, unified_driver;
/* NULL: nothing runs on it but programs */
const struct machine_driver *machine_driver(const struct machine *m);

/* What a stream's parameter holds before a launch and after it; NULL: zeros, and nobody says.
 * constant: it is never anything else. */
struct launch_argument { const void *content, *expect; bool constant; };

/* A launch with all it reads: as text, or as the file that executors take. Appends to out; false
 * after one error. */
bool machine_launch_write(const struct loop_function *stream,
                          const struct launch_argument *arguments, bool as_text, struct text *out,
                          struct diag *diag);
/* ... as a program. Contents are the caller's memory. */
struct machine_program;
bool machine_launch_program(struct machine_program *p, const struct loop_function *stream,
                            const struct launch_argument *arguments, struct arena *arena,
                            struct machine_code *code, struct diag *diag);
/* ... as it lies in memory: parameters and lists at these addresses. */
bool machine_encode(const struct loop_function *stream, const int64_t *addresses, int64_t lists,
                    struct arena *arena, struct machine_code *code, struct diag *diag);

/* What the machine's model says of a launch, or of the part of it that makes one result. */
struct machine_part {
        const struct loop_buffer *result;         /* the parameter that it stores, or, where values
                                                   * stay in the machine, that has its weights; of a
                                                   * whole launch NULL */
        int64_t cycles, serial;         /* serial: the same instructions one after the other */
        int64_t products;               /* cycles in which the array multiplies */
        const char *bound;              /* what is busy for most of them */
        int64_t instructions, places;   /* places in lists that it loads */
        int64_t loaded[MACHINE_MEMORIES], stored;          /* bytes */
        int64_t least[MACHINE_MEMORIES], least_stored;     /* ... if each were moved once */
        int64_t used[MACHINE_MEMORIES];         /* bytes up to the last that is touched */
};
struct machine_measure { struct machine_part whole, *parts; int part_count; };
bool machine_measure(const struct loop_function *stream, struct arena *arena,
                     struct machine_measure *measure, struct diag *diag);

/* ---- C that drives a machine (codegen/c_machine.c) ---- */

/* Bytes that addresses of a parameter are a multiple of; of any parameter. */
int64_t machine_align(const struct loop_function *stream, const struct loop_buffer *parameter);
int64_t machine_align_most(const struct machine *m);

#endif
