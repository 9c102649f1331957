/* SPDX-License-Identifier: MIT */
/* Where a launch's parameters lie while it is measured, which of their bytes each part of the
 * launch moves, and how much of the machine's memories it uses. */
#ifndef CODEGEN_MACHINES_LAUNCH_MOVES_H
#define CODEGEN_MACHINES_LAUNCH_MOVES_H

#include "codegen/machines/machines.h"

struct launch_moves {
        const struct loop_function *stream;
        struct machine_measure *measure;
        int64_t *addresses, end;        /* bytes: of the stream's parameters, one behind the other
                                         * from PROGRAM_PAGE on; behind the last */
        int64_t unit;                   /* bytes of which is known who moved them */
        int *moved[2];                  /* of each unit, by 0 reads, 1 writes: the last part that
                                         * moved it, from 1 on; 0: none */
};

/* align: of addresses, in bytes */
void launch_moves_begin(struct launch_moves *m, const struct loop_function *stream,
                        struct machine_measure *measure, int64_t align, int64_t unit,
                        struct arena *arena);
/* the parameter that lies at an address; NULL: none does */
const struct loop_buffer *launch_moves_parameter(const struct launch_moves *m, int64_t address);
/* Part `part` of the measure, from 1 on, moves bytes from an address on, between there and a memory
 * of the machine: what of that is moved for the first time, in the part and in the launch, is added
 * to the least that it moves. Parts come in their order. */
void launch_moves_add(struct launch_moves *m, int part, int memory, int64_t from, int64_t bytes,
                      bool writes);
/* a part touches a memory of the machine up to these bytes */
void launch_moves_use(const struct launch_moves *m, int part, int memory, int64_t bytes);

#endif
