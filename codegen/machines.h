/* SPDX-License-Identifier: MIT */
/* The table of machines (ir/target/machine.h), and their programs. */
#ifndef CODEGEN_MACHINES_H
#define CODEGEN_MACHINES_H

#include "base/diag.h"
#include "base/memory.h"
#include "base/text.h"
#include "ir/loop/loop.h"
#include "ir/target/machine.h"

struct program_codec;

extern const struct machine *const machines[];           /* NULL behind the last */
const struct program_codec *machine_codec(int machine);  /* by its number there */

/* What a stream's parameter holds before a launch and after it; NULL: zeros, and nobody says. constant: it is never anything else. */
struct launch_argument { const void *content, *expect; bool constant; };

/* A launch of a stream that the passes on streams made, with all it reads: as text, or as the file that executors take. Appends to out;
 * false after one error. */
typedef bool launch_writer(const struct loop_function *stream, const struct launch_argument *arguments, bool as_text, struct text *out,
                           struct diag *diag);
/* The machine with other sizes, as dnncc-vta --sizes has them; NULL after an EXIT_USAGE error: it has no such, or none at all. */
typedef const struct machine *machine_sizer(struct arena *arena, const char *sizes, struct diag *diag);
const struct machine *machine_sized(struct arena *arena, const struct machine *machine, const char *sizes, struct diag *diag);
/* the table with one machine in place of that of its name */
const struct machine *const *machines_with(struct arena *arena, const struct machine *machine);
launch_writer machine_launch_write;       /* of the stream's machine */

/* A launch as it lies in memory: instructions of so many 64-bit words each, lists of places of 32-bit words, all little endian. */
struct machine_code {
        const unsigned char *instructions, *lists;
        int64_t count, list_count;
        int64_t cycles;                 /* that the machine's model says it takes */
};

/* What the machine's model says of a launch, or of the part of it that makes one result. */
struct machine_part {
        const struct loop_buffer *result;         /* the parameter that it stores, or, where values stay in the machine, that has its weights; of a whole launch NULL */
        int64_t cycles, serial;         /* serial: the same instructions one after the other */
        int64_t products;               /* cycles in which the array multiplies */
        const char *bound;              /* what is busy for most of them */
        int64_t instructions, places;   /* places in lists that it loads */
        int64_t loaded[MACHINE_MEMORIES], stored;          /* bytes */
        int64_t least[MACHINE_MEMORIES], least_stored;     /* ... if each were moved once */
        int64_t used[MACHINE_MEMORIES];         /* bytes up to the last that is touched */
};
struct machine_measure { struct machine_part whole, *parts; int part_count; };

/* What C code that drives a machine consists of, where the machine has such code (codegen/c_machine.c). */
struct machine_driver {
        const char *name;               /* of the functions that whoever links the code gives: dnncc_NAME_launch, ..; and of DNNCC_NAME_TIMEOUT */
        int instruction_words;
        int64_t least, most;            /* the first address that memory may have, and the last and one */
        /* of a stream whose parameters lie at these addresses; lists: where they will */
        bool (*encode)(const struct loop_function *stream, const int64_t *addresses, int64_t lists, struct arena *arena,
                       struct machine_code *code, struct diag *diag);
        bool (*measure)(const struct loop_function *stream, struct arena *arena, struct machine_measure *measure, struct diag *diag);
        /* bytes that addresses of a parameter are a multiple of */
        int64_t (*align)(const struct loop_function *stream, const struct loop_buffer *parameter);
        int64_t (*align_most)(const struct machine *m);
        /* what an instruction says, for a comment */
        void (*explain)(const struct machine *m, const unsigned char *instruction, struct text *out);
        /* A C function that takes an instruction from addresses as they were compiled to those that memory has:
         *     static void place(uint64_t words[], uint64_t workspace, uint64_t program) */
        void (*place)(const struct machine *m, int64_t workspace_size, struct text *out);
};
/* NULL: there is no C for this machine */
const struct machine_driver *machine_driver(const struct machine *m);

#endif
