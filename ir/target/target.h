/* SPDX-License-Identifier: MIT */
/* A target is a const struct: what it does not say, its base says; `generic` says everything. */
#ifndef IR_TARGET_H
#define IR_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/element.h"
#include "ir/target/engine.h"
#include "ir/target/machine.h"
#include "ir/target/multiply.h"

struct machine;
struct overlay;
struct printer;                         /* codegen/printer.h */
struct rates;                           /* ir/target/rates.h */
struct capability;                      /* ir/loop/capability.h: an operation on vectors */

/* A kind of processor as /proc/cpuinfo has it: on x86 vendor, family and (displayed) model, on ARM
 * implementer, architecture and part. */
struct processor {
        const char *vendor;             /* "GenuineIntel", "AuthenticAMD"; "0x41" (Arm) */
        int family, first, last;        /* models, or parts, from first to last */
};

/* How a processor is told the shapes of its hardware tiles: by bytes in memory, whose address
 * CAN_TILES (ir/loop/capability.h) has. */
enum { TILE_SHAPES_MAX = 256 };
struct tile_shapes {
        int bytes;                      /* of all, at most TILE_SHAPES_MAX */
        unsigned char first;            /* the first of them */
        int row_bytes_at, rows_at;      /* tile 0's: bytes of a row, the lower eight bits first;
                                         * rows in one byte. Those of the next tiles follow */
        int rows, row_bytes;            /* that a tile has at most */
};

/* A processor's register that says what becomes of denormal numbers. */
struct float_control {
        const char *name, *bits;        /* those that make them count as 0, for comments and in C */
        const char *type;               /* of a variable `control` that holds it */
        const char *read, *write;       /* the statements that fill it, and that put it back */
};

/* GPU description: what schedules and costs count on of a GPU, which runs kernels in grid form. */
struct gpu {
        int multiprocessors;            /* of the most common model of this capability */
        double clock;                   /* cycles a second */
        int warps;                      /* warps that a multiprocessor holds at a time */
        int registers;                  /* registers of 32 bits of a multiprocessor, for all its
                                         * warps */
        int64_t shared_bytes;           /* bytes of shared memory that a block may have at most */
        int64_t l2_bytes;               /* bytes of the second cache, which all multiprocessors
                                         * share */
        double l2_rate, memory_rate;    /* bytes a second that all multiprocessors read of it, and
                                         * of memory */
        int cluster;                    /* blocks of a cluster at most; 0: it has no clusters */
        int clustered;                  /* multiprocessors on which clusters of more than two blocks
                                         * find room */
        double cluster_rate;            /* bytes a second that all blocks read of others' shared
                                         * memory */
        double launch;                  /* seconds that a launch in a graph takes */
        int capability;                 /* compute capability that the code asks for: 80 is 8.0 */
        bool bulk_copies;               /* it copies runs of bytes into shared memory by itself
                                         * (cp.async.bulk) */
        bool dependent_launch;          /* a launch may begin before the one in front of it has
                                         * ended, and waits inside (programmatic dependent
                                         * launch) */
};

struct target {
        const char *name, *doc;
        const struct target *base;      /* NULL for generic */
        const struct processor *processors; /* ends with { 0 }: the target is native to these alone.
                                             * NULL: an instruction set, native wherever its own
                                             * `attribute` is, or all of its own `machine` are; to
                                             * no processor with neither */
        const struct engine *engine;    /* what computes; NULL: the base's */
        const struct printer *printer;  /* what writes the code; NULL: the base's */
        bool big_endian;                /* constants are written as numbers, not as bytes */
        int64_t workspace_align;        /* bytes; 0: the base's */
        const struct gpu *gpu;          /* the GPU that runs kernels in grid form; NULL: the
                                         * base's */
        int64_t stack_bytes;            /* largest array a kernel may put on the stack; 0: the
                                         * base's */

        /* vectors; 0, false and NULL: the base's */
        int vector_bytes;               /* of a register; none in generic */
        const char *length;             /* in C, of functions with the attribute: how many bytes the
                                         * processor's registers have, where they may be fewer than
                                         * vector_bytes; NULL: as many */
        int vector_registers;
        uint32_t narrow;                /* element types of fewer than four bytes that vectors
                                         * compute with as they are, a lane for each element:
                                         * 1 << E_I8 | ... (passes/vectorize/narrow.c) */
        const struct target *wide;      /* the same processor with longer vectors, of more registers
                                         * each, which a schedule may ask for (`wide` of
                                         * schedule.def); this is its base. NULL, whatever the base
                                         * has: none */
        bool has_fma;                   /* in one instruction; else fma is a function of the
                                         * library */
        bool has_masks;                 /* masked loads and stores at no extra cost */
        bool pointers;                  /* addresses are of a register and another one or a number,
                                         * not of all three: so an iteration's places stand behind
                                         * pointers */
        bool flushes;                   /* arithmetic on vectors of f32 takes denormal numbers for
                                         * zeros, and gives them as such */
        int64_t l1_bytes, l2_bytes;     /* data caches of one core: what a schedule may count on */
        int line_bytes;                 /* of a line of them */
        const struct rates *rates;      /* ir/target/rates.h: what it costs to compute and to move,
                                         * as far as it is known better than the base knows it */
        const char *attribute;          /* of functions that hold vectors: target("attribute") */
        const char *gcc_attribute;      /* the same in gcc's words, where clang has others; of the
                                         * target itself */
        const struct multiply *multiplies;        /* its own, best first; ends with a row without
                                                   * name; the base's are behind them */
        const struct tile_shapes *tile_shapes; /* where multiplies have hardware tiles that are told
                                                * their shapes */
        const struct overlay *commands; /* that command text is for (codegen/sections/sections.h);
                                         * NULL: none */
        const struct machine *accelerator; /* that streams are for (ir/target/machine.h); NULL: it
                                            * hands no work to any */
        const char *machine;            /* when the compiler is for such a processor, as a condition
                                         * of the preprocessor */
        const char *compilers;          /* the same in words, for who has another: "gcc or clang for
                                         * 64-bit x86"; or NULL */
        const char *keep;               /* asm constraint of a vector register, where gcc needs it:
                                         * engines/vector/keep.c */
        const char *gcc_optimize;       /* what gcc must not do to kernels with register tiles, as
                                         * #pragma GCC optimize says it; or NULL */
        const struct float_control *control; /* says what becomes of denormal numbers; NULL: nothing
                                              * does */
        const char *include;            /* the header of the intrinsics, "<immintrin.h>" */
        const struct capability
                *capabilities; /* what it can do with vectors: its own rows, which end with
                                * CAN_END; rows that are not here are the base's */
        size_t capability_bytes;        /* from a row to the next: those of a printer have text
                                         * behind them */
};

/* What the target says, or its nearest base that says something. */
#define TARGET_FIELD(type, field)                                                                  \
        static inline type target_##field(const struct target *t)                                  \
        {                                                                                          \
                return t->field || !t->base ? t->field : target_##field(t->base);                  \
        }
TARGET_FIELD(const struct engine *, engine)
TARGET_FIELD(const struct printer *, printer)
TARGET_FIELD(const struct gpu *, gpu)
TARGET_FIELD(int64_t, workspace_align)
TARGET_FIELD(int64_t, stack_bytes)
TARGET_FIELD(int, vector_bytes)
TARGET_FIELD(const char *, length)
TARGET_FIELD(int, vector_registers)
TARGET_FIELD(uint32_t, narrow)
TARGET_FIELD(bool, has_fma)
TARGET_FIELD(bool, pointers)
TARGET_FIELD(bool, has_masks)
TARGET_FIELD(bool, flushes)
TARGET_FIELD(int64_t, l1_bytes)
TARGET_FIELD(int64_t, l2_bytes)
TARGET_FIELD(int, line_bytes)
TARGET_FIELD(const char *, attribute)
TARGET_FIELD(const struct tile_shapes *, tile_shapes)
TARGET_FIELD(const struct machine *, accelerator)
TARGET_FIELD(const struct overlay *, commands)
TARGET_FIELD(const char *, machine)
TARGET_FIELD(const char *, compilers)
TARGET_FIELD(const char *, keep)
TARGET_FIELD(const char *, gcc_optimize)
TARGET_FIELD(const struct float_control *, control)
TARGET_FIELD(const char *, include)
#undef TARGET_FIELD

/* the attribute in gcc's words; NULL: none */
static inline const char *target_gcc_attribute(const struct target *t)
{
        while (t && !t->attribute)
                t = t->base;
        return !t ? NULL : t->gcc_attribute ? t->gcc_attribute : t->attribute;
}

/* where the tables of all vectors that a program for it may have begin: its bases' are behind */
static inline const struct target *target_widest(const struct target *t)
{
        return t && t->wide ? t->wide : t;
}
/* what a kernel is written for, whose schedule is so */
static inline const struct target *target_of_width(const struct target *t, bool wide)
{
        return wide ? target_widest(t) : t;
}

static inline bool target_has_dependent_launch(const struct target *t)
{
        return target_gpu(t) && target_gpu(t)->dependent_launch;
}

static inline bool target_is_narrow(const struct target *t, enum element e)
{
        return target_narrow(t) >> e & 1;
}

/* Elements of type e that a native vector computes with at a time: f32, i32, u32, and what is
 * converted to them (i8, f16, ..., bool) one for every four bytes, 64-bit types one for every
 * eight, those that the target's `narrow` has one for every of their own bytes. 1: no vectors. */
static inline int target_lanes(const struct target *t, enum element e)
{
        int bytes = element_info[element_info[e].compute].bytes;
        bytes = target_is_narrow(t, e) ? element_info[e].bytes : bytes < 4 ? 4 : bytes;
        int lanes = target_vector_bytes(t) / bytes;
        return lanes > 1 ? lanes : 1;
}

/* Elements of a cache line; of a line and what is missing of its last vector, where vectors do not
 * divide lines: rows that are padded to lines, and blocks of channels, are whole vectors. */
static inline int target_line(const struct target *t, enum element e)
{
        int line = target_line_bytes(t) / element_info[e].bytes, lanes = target_lanes(t, e);
        return lanes < line && line % lanes ? line + lanes - line % lanes : line;
}

/* channels, or sums, that lie side by side: what the machine's array takes, a line of f32, or a
 * vector that is longer */
static inline int target_block(const struct target *t)
{
        if (target_accelerator(t))
                return target_accelerator(t)->block_out;
        int line = target_line(t, E_F32), lanes = target_lanes(t, E_F32);
        return lanes > line ? lanes : line;
}

#endif
