/* SPDX-License-Identifier: MIT */
/* A machine that a processor hands work to: an array of multipliers with memories of its own,
 * which a stream of instructions fills, where a target (ir/target/target.h) has registers and
 * caches. One file in codegen/machines/ each. */
#ifndef IR_MACHINE_H
#define IR_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An element is what an instruction addresses: rows x columns numbers of `bits` bits, row by
 * row. */
struct machine_memory {
        const char *name;
        int64_t bytes;                  /* of the whole memory; a power of two, as all numbers here
                                         * / */
        int rows, columns, bits;
        int loader;                     /* the stage that fills it; -1: what is computed does */
        bool fifo;                      /* elements are filled one after the other, and read in that
                                         * order, by the array alone: it takes the next one where it
                                         * is there, and room for another is where one was taken */
};
static inline int64_t machine_element_numbers(const struct machine_memory *m)
{
        return (int64_t)m->rows * m->columns;
}
static inline int64_t machine_element_bytes(const struct machine_memory *m)
{
        return (int64_t)m->rows * m->columns * m->bits / 8;
}
static inline int64_t machine_depth(const struct machine_memory *m)
{
        return m->bytes ? m->bytes / machine_element_bytes(m) : 0;
}

/* What a cycle model counts with; in cycles where nothing else is said. */
struct machine_cycles {
        int beat_bytes;                 /* that the bus moves in a cycle */
        int burst_beats;                /* a transfer is cut at multiples of so many */
        int load_latency, load_burst;   /* to the first beat; for each burst */
        int store_latency, store_burst;
        int fetch_latency;              /* of the first instruction */
        int product_fill, operation_fill;       /* of the pipelines */
        int idle;                       /* what an instruction takes that does nothing */
        /* the processor beside it */
        double processor;               /* cycles of it in one of the machine's; 0: unknown, and it
                                         * does what the machine cannot */
        int launch;                     /* until the machine is started, and until it is known to be
                                         * done, beside what it computes */
        int clean_bytes;                /* that the processor cleans of its caches for it in a
                                         * cycle; 0: it need not */
        /* of machines that activate */
        int weight_bytes;               /* that weights' memory reads in a cycle; beat_bytes: the
                                         * host's link */
        int change;                     /* until a block of weights that is there is in the array,
                                         * beside the products of the one before */
};

/* What its instructions can say. */
struct machine_limits {
        int counters;                   /* loops around a list of places that an instruction has */
        int64_t count;                  /* times that each runs at most */
        int64_t list;                   /* places that a list of them should have at most, all that
                                         * are resident together */
        int apart;                      /* steps from one that writes an element of sums to the next
                                         * that reads or writes it */
        int64_t rows, pad;              /* rows of a transfer, elements of one and from one to the
                                         * next; rows or elements of padding */
        int immediate_bits, shift;      /* of an operation: of a signed number, and the most to
                                         * shift by */
        int tokens;                     /* that a queue holds */
};

enum { MACHINE_MEMORIES = 5, MACHINE_STAGES = 4 };

struct machine {
        const char *name, *doc;
        struct machine_memory memories[MACHINE_MEMORIES];
        int inputs, weights, sums;      /* memories: what a step multiplies, what it adds to */
        int leaves;                     /* ... that transfers out of the machine are from */
        int stored;                     /* ... as which an element leaves: its low bits */
        int lists;                      /* ... of places where steps begin; -1: an instruction has
                                         * none */
        /* A machine that activates makes bytes of sums in its inputs' memory, where they are the
         * next layer's inputs: whole activations lie there, and stay. Its products may replace
         * sums; it has no other operations. */
        bool activates;
        int parameters;                 /* memory of what is added, and of amounts to shift by,
                                         * element by element of sums */
        /* Stages run beside each other, each its own statements in order; neighbours pass
         * tokens. */
        const char *stages[MACHINE_STAGES];
        int stage_count, compute, store;          /* who multiplies and combines; who stores */
        int activate;                   /* who activates */
        bool awaits;                    /* there are no tokens: any stage waits for as many
                                         * statements of any other one */
        int batch, block_in, block_out; /* a step multiplies batch x block_in by block_out x
                                         * block_in numbers */
        struct machine_limits limits;
        struct machine_cycles cycles;
};

/* by name; -1: none */
int machine_memory_find(const struct machine *m, const char *name, size_t length);
int machine_stage_find(const struct machine *m, const char *name, size_t length);

#endif
