/* SPDX-License-Identifier: MIT */
/* Records where a launch's parameters lie while it is measured, which of their bytes each part of
 * the launch moves, and how much of the machine's memories it uses. */
#ifndef CODEGEN_MACHINES_LAUNCH_MOVES_H
#define CODEGEN_MACHINES_LAUNCH_MOVES_H

#include "codegen/machines/machines.h"

struct launch_moves {
        const struct loop_function *stream;
        struct machine_measure *measure;
        /* The stream's parameters have these addresses, in bytes, one after the other from
         * PROGRAM_PAGE on; the last one ends at `end`. */
        int64_t *addresses, end;
        int64_t unit;                   /* A unit has this many bytes; for each it is known who
                                         * moved it. */
        int *moved[2];                  /* For each unit, the last part that read it (0) or wrote it
                                         * (1), counted from 1; 0: none has. */
};

/* Begins; `align` is the alignment of addresses, in bytes. */
void launch_moves_begin(struct launch_moves *m, const struct loop_function *stream,
                        struct machine_measure *measure, int64_t align, int64_t unit,
                        struct arena *arena);
/* Returns the parameter that lies at an address; NULL: none does. */
const struct loop_buffer *launch_moves_parameter(const struct launch_moves *m, int64_t address);
/* Records that part `part` of the measure, counted from 1, moves bytes from an address on, between
 * there and a memory of the machine. Bytes that are moved for the first time, in the part and in
 * the launch, are added to the least that these must move. Parts must come in order. */
void launch_moves_add(struct launch_moves *m, int part, int memory, int64_t from, int64_t bytes,
                      bool writes);
/* Records that a part touches a memory of the machine up to this byte. */
void launch_moves_use(const struct launch_moves *m, int part, int memory, int64_t bytes);

#endif
