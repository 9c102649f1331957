/* SPDX-License-Identifier: MIT */
/* The meter says how long a stream takes, by a model in whole cycles, exact by definition, for
 * comparing streams. The machine says what an instruction costs (struct cost); its page has the
 * formulas.
 *
 *     fetched(k) = fetch_latency + bytes of an instruction / beat_bytes * (k + 1)
 *                  for instruction k, in program order
 *
 *     free    start + busy; for an instruction that uses the read bus, which all stages share:
 *             bus = max(start + latency, bus) + its cycles on the bus, and
 *             free = max(bus, start + busy)
 *     end     free + fill
 *
 * An instruction starts when its stage is free of the one before it, it is fetched, and its tokens
 * are there; a token is there at the end of the instruction that gave it. An instruction that waits
 * until another stage has done some number of instructions ends at that time. A block for the FIFO
 * starts when there is room for it. The array has the block `change` cycles after three things: the
 * block has arrived, the preceding block is in the array, and the first product by that one has
 * begun. Then the place of the block is free again, and products by it start. Of the stages whose
 * next instruction can start, the one that starts first goes first; of equal ones the stage that
 * computes, then the one of the lowest number. */
#ifndef CODEGEN_MACHINES_METER_H
#define CODEGEN_MACHINES_METER_H

#include "codegen/machines/machine_walk.h"

/* Bytes are read from outside, read for a FIFO, or written there. */
enum { METER_LOADED, METER_WEIGHTS, METER_STORED };
struct meter {
        int64_t cycles;
        /* `busy` is the cycles for which its stage is busy. */
        struct meter_class { int64_t count, steps, bytes, busy; } classes[ISA_CLASSES];
        int64_t moved[3];               /* This many bytes are moved, by METER_... */
        int64_t bus;                    /* The read bus is occupied for this many cycles, without
                                         * latency. */
        int64_t serial;                 /* The instructions take this many cycles one after the
                                         * other. */
        int64_t places;                 /* This many places of lists are resident together. */
};

/* Runs the model. `times` gets the times of each instruction, or is NULL. Returns false after an
 * EXIT_INVALID error: bytes that are no instruction, or an instruction that waits for ever. */
bool meter_run(const struct isa *isa, const unsigned char *bytes, int64_t count, struct meter *m,
               struct instruction_times *times, struct diag *diag);
/* Counts an instruction that ran at these times. */
void meter_add(const struct isa *isa, const struct instruction *i, struct instruction_times times,
               struct meter *m);
/* Returns the steps of products divided by all cycles, 0 to 1. */
double meter_utilization(const struct isa *isa, const struct meter *m);
/* Returns the name of the unit that takes most of the cycles; "waiting" where all take less than
 * half. */
const char *meter_bound(const struct isa *isa, const struct meter *m);
/* Returns the share of a whole, in per cent. */
static inline double meter_share(int64_t part, int64_t whole)
{
        return whole ? 100.0 * (double)part / (double)whole : 0;
}

#endif
