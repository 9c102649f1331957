/* SPDX-License-Identifier: MIT */
/* A stream as its stages see it: the next instruction of each, and when it can start. The simulator
 * walks it in any legal order, at time 0; the cycle model by time. */
#ifndef CODEGEN_MACHINES_MACHINE_WALK_H
#define CODEGEN_MACHINES_MACHINE_WALK_H

#include "codegen/machines/instruction_set.h"

struct instruction_times { int64_t start, end, busy; };         /* busy: cycles of its stage */
struct walk_next {
        struct instruction instruction;
        struct order order;
        int64_t number;                 /* -1: the stage has no more */
        struct instruction_times times; /* of what it has done so far */
};
/* Times, first ones taken. */
struct walk_times { int64_t *at, first, count, room; };

struct walk {
        const struct isa *isa;
        const unsigned char *bytes;     /* count instructions */
        int64_t count;
        struct walk_next next[MACHINE_STAGES];
        int64_t free[MACHINE_STAGES];   /* when the stage can start the next one */
        struct walk_times tokens[ISA_QUEUES];
        struct walk_times ends[MACHINE_STAGES];   /* of its instructions that are done */
        struct walk_times there, room;  /* of blocks: in the FIFO; their places free again */
        int64_t part;                   /* blocks that the instruction under way has put */
        int64_t bus;                    /* when the read bus is free */
        int64_t shifted, begun;         /* the last block is in the array; its first product
                                         * began */
};

/* memory: bytes of it, -1 where addresses are not looked at. False after an EXIT_INVALID error: an
 * instruction that nothing can run. */
bool walk_begin(struct walk *w, const struct isa *isa, const unsigned char *bytes, int64_t count,
                int64_t memory, struct diag *diag);
void walk_end(struct walk *w);
/* When the stage's next instruction, or its next block, can start; -1: it has none, or waits. */
int64_t walk_start(const struct walk *w, int stage);
/* It starts then, and takes what it costs (NULL: nothing). False: its stage goes on with its next
 * block. times: of all of it. */
bool walk_go(struct walk *w, int stage, int64_t start, const struct cost *cost,
             struct instruction_times *times);
/* Where no stage can start, at the end: no stage waits for ever; no token and no block is left.
 * False after an EXIT_INVALID error. */
bool walk_is_done(const struct walk *w, struct diag *diag);
bool walk_is_empty(const struct walk *w, struct diag *diag);

#endif
