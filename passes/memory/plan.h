/* SPDX-License-Identifier: MIT */
/* Reports what the plan knows of memory. */
#ifndef PASSES_MEMORY_PLAN_H
#define PASSES_MEMORY_PLAN_H

#include "passes/memory/place.h"

/* A resident is a buffer that is in use when most bytes are. */
struct plan_resident {
        const struct loop_buffer *buffer;
        int64_t bytes;
};

struct plan_facts {
        int64_t largest;                /* LB_op: the bytes that the statement which touches most
                                         * needs in any order. */
        int64_t live_peak;              /* LB_order: the largest sum of bytes in use, in this order
                                         * with this sharing. */
        int64_t best, best_found;       /* BEST: no order needs fewer bytes than `best`;
                                         * `best_found` is what the best known order needs. */
        int64_t size;                   /* PLAN: all regions have this many bytes. */
        bool proved;                    /* No placing takes fewer bytes (in one region). */
        const char *where;              /* These nodes of the model are computed when most bytes are
                                         * in use; or NULL. */
        struct plan_resident *residents;          /* The residents come with the largest first. */
        int resident_count;
};
/* Finds the facts of a planned program; shares: results may lie on operands. */
struct plan_facts plan_find_facts(struct arena *arena, struct loop_program *p, bool shares);
/* Returns what the plan of a program would take, in one region; *proved: no placing takes less. */
int64_t plan_size(struct loop_program *p, bool shares, enum place_effort effort, bool *proved);

#endif
