/* SPDX-License-Identifier: MIT */
/* A stage sees a stream as its next instruction, and when it can start. The simulator walks a
 * stream in any legal order, at time 0; the cycle model walks it by time. */
#ifndef CODEGEN_MACHINES_MACHINE_WALK_H
#define CODEGEN_MACHINES_MACHINE_WALK_H

#include "codegen/machines/instruction_set.h"

/* `busy` is the cycles for which its stage is busy. */
struct instruction_times { int64_t start, end, busy; };
struct walk_next {
        struct instruction instruction;
        struct order order;
        int64_t number;                 /* -1: the stage has no more instructions. */
        struct instruction_times times; /* The blocks that it has done so far had these times. */
};
/* This is a queue of times; those before `first` have been taken. */
struct walk_times { int64_t *at, first, count, room; };

struct walk {
        const struct isa *isa;
        const unsigned char *bytes;     /* It holds `count` instructions. */
        int64_t count;
        struct walk_next next[MACHINE_STAGES];
        int64_t free[MACHINE_STAGES];   /* At this time the stage can start its next instruction. */
        struct walk_times tokens[ISA_QUEUES];
        struct walk_times ends[MACHINE_STAGES];   /* Each of the stage's instructions that are done
                                                   * ended at this time. */
        struct walk_times there, room;  /* At these times each block is in the FIFO, and its place
                                         * is free again. */
        int64_t part;                   /* The instruction under way has put this many blocks. */
        int64_t bus;                    /* At this time the read bus is free. */
        int64_t shifted, begun;         /* At these times the last block is in the array, and its
                                         * first product began. */
};

/* Begins a walk. `memory` is the bytes of memory, -1 where addresses are not checked. Returns false
 * after an EXIT_INVALID error: an instruction that nothing can run. */
bool walk_begin(struct walk *w, const struct isa *isa, const unsigned char *bytes, int64_t count,
                int64_t memory, struct diag *diag);
void walk_end(struct walk *w);
/* Returns when the stage's next instruction, or its next block, can start; -1: it has none, or
 * waits. */
int64_t walk_start(const struct walk *w, int stage);
/* Starts the stage's next instruction, or block, at `start`, with its cost (NULL: it takes no
 * time). Returns false where its stage continues with the next block. *times covers the whole
 * instruction. */
bool walk_go(struct walk *w, int stage, int64_t start, const struct cost *cost,
             struct instruction_times *times);
/* These are checked where no stage can start: walk_is_done, that no stage waits for ever;
 * walk_is_empty, that no token and no block is left. Both return false after an EXIT_INVALID
 * error. */
bool walk_is_done(const struct walk *w, struct diag *diag);
bool walk_is_empty(const struct walk *w, struct diag *diag);

#endif
