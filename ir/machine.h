/* SPDX-License-Identifier: MIT */
/* A machine that a processor hands work to: an array of multipliers with memories of its own, which a stream of
 * instructions fills, where a target (ir/target.h) has registers and caches. One file in codegen/machines/ each. */
#ifndef IR_MACHINE_H
#define IR_MACHINE_H

#include <stdint.h>

/* An element is what an instruction addresses: rows x columns numbers of `bits` bits, row by row. */
struct machine_memory {
        const char *name;
        int64_t bytes;                  /* of the whole memory; a power of two, as all numbers here */
        int rows, columns, bits;
};
static inline int64_t machine_element_bytes(const struct machine_memory *m)
{
        return (int64_t)m->rows * m->columns * m->bits / 8;
}
static inline int64_t machine_depth(const struct machine_memory *m) { return m->bytes / machine_element_bytes(m); }

/* What a cycle model counts with; in cycles where nothing else is said. */
struct machine_cycles {
        int beat_bytes;                 /* that the bus moves in a cycle */
        int burst_beats;                /* a transfer is cut at multiples of so many */
        int load_latency, load_burst;   /* to the first beat; for each burst */
        int store_latency, store_burst;
        int fetch_latency;              /* of the first instruction */
        int product_fill, operation_fill;       /* of the pipelines */
        int idle;                       /* what an instruction takes that does nothing */
};

enum { MACHINE_MEMORIES = 5 };

struct machine {
        const char *name, *doc;
        struct machine_memory memories[MACHINE_MEMORIES];
        int batch, block_in, block_out; /* a step multiplies batch x block_in by block_out x block_in numbers */
        struct machine_cycles cycles;
};

#endif
