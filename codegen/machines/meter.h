/* SPDX-License-Identifier: MIT */
/* How long a stream takes: a model in whole cycles, exact by definition, for comparing streams.
 * What an instruction costs (struct cost) the machine says; its page has the formulas.
 *
 *     fetched(k) = fetch_latency + bytes of an instruction / beat_bytes * (k + 1)         instruction k, in program order
 *
 *     free    start + busy; on the read bus, which all stages share: bus = max(start + latency, bus) + what it takes of it, and
 *             free = max(bus, start + busy)
 *     end     free + fill
 *
 * An instruction starts when its stage is free of the one before it, it is fetched, and its tokens
 * are there, whose time is the end of what gave them. One that waits until another stage has done
 * so many ends when that is so. A block for the FIFO starts when there is room for it; the array
 * has it `change` cycles after it is there, the block before it is in the array, and that one's
 * first product has begun: then its place is free again, and products by it start. Of the stages
 * whose next instruction can start, the one that starts first goes first; equal: the one that
 * computes, then by number. */
#ifndef CODEGEN_MACHINES_METER_H
#define CODEGEN_MACHINES_METER_H

#include "codegen/machines/machine_walk.h"

enum { METER_LOADED, METER_WEIGHTS, METER_STORED };       /* read from outside, for a FIFO; and
                                                           * written there */
struct meter {
        int64_t cycles;
        /* busy: cycles of its stage */
        struct meter_class { int64_t count, steps, bytes, busy; } classes[ISA_CLASSES];
        int64_t moved[3];               /* bytes: METER_.. */
        int64_t bus;                    /* cycles that the read bus is taken, without latency */
        int64_t serial;                 /* instructions one after the other */
        int64_t places;                 /* of lists, resident together */
};

/* times: of each instruction, or NULL. False after an EXIT_INVALID error: no instruction, or one
 * that waits for ever. */
bool meter_run(const struct isa *isa, const unsigned char *bytes, int64_t count, struct meter *m,
               struct instruction_times *times, struct diag *diag);
/* Adds an instruction that ran at these times to what is counted. */
void meter_add(const struct isa *isa, const struct instruction *i, struct instruction_times times,
               struct meter *m);
/* steps of products of all cycles, 0 to 1 */
double meter_utilization(const struct isa *isa, const struct meter *m);
/* What takes most of the cycles, by name; "waiting" where all take less than half. */
const char *meter_bound(const struct isa *isa, const struct meter *m);
/* share of a whole, in per cent */
static inline double meter_share(int64_t part, int64_t whole)
{
        return whole ? 100.0 * (double)part / (double)whole : 0;
}

#endif
