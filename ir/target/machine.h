/* SPDX-License-Identifier: MIT */
/* A machine is an accelerator that a processor hands work to: an array of multipliers with memories
 * of its own, which a stream of instructions fills, where a target (ir/target/target.h) has
 * registers and caches. There is one file for each in codegen/machines/. */
#ifndef IR_TARGET_MACHINE_H
#define IR_TARGET_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An element is what an instruction addresses: rows x columns numbers of `bits` bits, row by
 * row. */
struct machine_memory {
        const char *name;
        int64_t bytes;                  /* The whole memory has this many bytes; a power of two, as
                                         * are all numbers here. */
        int rows, columns, bits;
        int loader;                     /* The stage with this number fills the memory; -1: computed
                                         * elements do. */
        bool fifo;                      /* Elements are filled one after the other, and only the
                                         * array reads them, in that order: it takes the next one
                                         * where that is there, and there is room for another where
                                         * one was taken. */
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

/* A cycle model counts with these numbers; they are cycles where nothing else is said. */
struct machine_cycles {
        int beat_bytes;                 /* The bus moves this many bytes in a cycle. */
        int burst_beats;                /* A transfer is split at multiples of this many beats. */
        int load_latency, load_burst;   /* These cycles pass before the first beat, and for each
                                         * burst. */
        int store_latency, store_burst;
        int fetch_latency;              /* These cycles pass before the first instruction. */
        int product_fill, operation_fill;       /* These cycles pass before the pipelines are
                                                 * full. */
        int idle;                       /* An instruction that does nothing takes these cycles. */
        /* These fields are about the processor beside the machine. */
        double processor;               /* The processor has this many cycles in one of the
                                         * machine's; 0: they are not known, and the processor does
                                         * what the machine cannot. */
        int launch;                     /* The cycles until the machine is started, and until it is
                                         * known to be done, besides what it computes. */
        int clean_bytes;                /* The processor cleans this many bytes of its caches for
                                         * the machine in a cycle; 0: it need not clean any. */
        /* These fields are about machines that activate. */
        int weight_bytes;               /* The weights' memory reads this many bytes in a cycle;
                                         * beat_bytes is the host's link. */
        int change;                     /* The cycles until a block of weights in memory is in the
                                         * array, besides the products of the block before. */
};

/* Its instructions have these limits. */
struct machine_limits {
        int counters;                   /* An instruction has this many loops around a micro-op
                                         * list. */
        int64_t count;                  /* Each of them runs at most this often. */
        int64_t list;                   /* A micro-op list should have at most this many places, so
                                         * that all lists are resident together. */
        int apart;                      /* A step that reads or writes an element of sums comes at
                                         * least this many steps behind the one that wrote it. */
        int64_t rows, pad;              /* rows: the most rows of a transfer, elements of a row, and
                                         * elements from one row to the next; pad: the most rows, or
                                         * elements, of padding. */
        int immediate_bits, shift;      /* The number of an operation is signed and has this many
                                         * bits, and it shifts by at most this many. */
        int tokens;                     /* A queue holds this many tokens. */
};

enum { MACHINE_MEMORIES = 5, MACHINE_STAGES = 4 };

struct machine {
        const char *name, *doc;
        struct machine_memory memories[MACHINE_MEMORIES];
        int inputs, weights, sums;      /* The memories of what a step multiplies, and of what it
                                         * adds to. */
        int leaves;                     /* Transfers leave the machine from this memory. */
        int stored;                     /* The elements of this memory are like those that leave:
                                         * the low bits of sums. */
        int lists;                      /* Micro-op lists lie in this memory; -1: an instruction has
                                         * none. */
        /* The machine makes bytes of sums in its inputs' memory, where they are the next layer's
         * inputs: whole activations lie there, and stay. Its products may replace sums; it has no
         * other operations. */
        bool activates;
        int parameters;                 /* The memory of what is added to sums, and of amounts to
                                         * shift them by, element by element. */
        /* Stages run beside each other, each its own statements in order; neighbours pass
         * tokens. */
        const char *stages[MACHINE_STAGES];
        int stage_count, compute, store;          /* `compute` is the stage that multiplies and
                                                   * combines, `store` the one that stores. */
        int activate;                   /* This stage activates. */
        bool awaits;                    /* There are no tokens: any stage waits until another one
                                         * has done a number of statements. */
        int batch, block_in, block_out; /* A step multiplies batch x block_in by block_out x
                                         * block_in numbers. */
        struct machine_limits limits;
        struct machine_cycles cycles;
};

/* These functions return the number of a memory or stage by its name; -1: there is none. */
int machine_memory_find(const struct machine *m, const char *name, size_t length);
int machine_stage_find(const struct machine *m, const char *name, size_t length);

#endif
