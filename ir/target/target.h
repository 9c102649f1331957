/* SPDX-License-Identifier: MIT */
/* A target is a const struct: where it does not say something, its base does; `generic` says
 * everything. */
#ifndef IR_TARGET_TARGET_H
#define IR_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/element.h"
#include "ir/target/engine.h"
#include "ir/target/machine.h"
#include "ir/target/multiply.h"

struct machine;
struct portable;
struct overlay;
struct printer;                         /* The struct is in codegen/printer.h. */
struct rates;                           /* The struct is in ir/target/rates.h. */
struct capability;                      /* A capability is an operation on vectors
                                         * (ir/loop/capability.h). */

/* A kind of processor is described as in /proc/cpuinfo: on x86 by vendor, family and (displayed)
 * model, on ARM by implementer, architecture and part. */
struct processor {
        const char *vendor;             /* The vendor is "GenuineIntel" or "AuthenticAMD", for
                                         * instance; "0x41" is Arm. */
        int family, first, last;        /* The models, or parts, from first to last. */
};

/* A processor gets the shapes of its hardware tiles as bytes in memory, whose address CAN_TILES
 * (ir/loop/capability.h) has. */
enum { TILE_SHAPES_MAX = 256 };
struct tile_shapes {
        int bytes;                      /* There are this many bytes, at most TILE_SHAPES_MAX. */
        unsigned char first;            /* The first byte has this value. */
        int row_bytes_at, rows_at;      /* Tile 0's are here: the bytes of a row, the lower eight
                                         * bits first, and the rows in one byte. Those of the next
                                         * tiles follow. */
        int rows, row_bytes;            /* A tile has at most so many rows, and bytes in a row. */
};

/* The struct describes a processor's register that says how denormal numbers are treated. */
struct float_control {
        const char *name, *bits;        /* bits: those that make them count as 0; both are for
                                         * comments and for C. */
        const char *type;               /* A variable `control` of this type holds the register. */
        const char *read, *write;       /* These statements fill the variable, and put it back. */
};

/* The GPU description says what schedules and costs count on of a GPU, which runs kernels in grid
 * form. */
struct gpu {
        int multiprocessors;            /* The most common model of this capability has this
                                         * many. */
        double clock;                   /* The clock has this many cycles a second. */
        int warps;                      /* A multiprocessor holds this many warps at a time. */
        int registers;                  /* A multiprocessor has this many registers of 32 bits, for
                                         * all its warps. */
        int64_t shared_bytes;           /* A block may have at most this many bytes of shared
                                         * memory. */
        int64_t l2_bytes;               /* The second cache, which all multiprocessors share, has
                                         * this many bytes. */
        double l2_rate, memory_rate;    /* All multiprocessors together read so many bytes a second
                                         * from that cache, and from memory. */
        int cluster;                    /* A cluster has at most this many blocks; 0: there are no
                                         * clusters. */
        int clustered;                  /* Clusters of more than two blocks find room on this many
                                         * multiprocessors. */
        double cluster_rate;            /* All blocks together read this many bytes a second from
                                         * others' shared memory. */
        double launch;                  /* A launch in a graph takes this many seconds. */
        int capability;                 /* The code asks for this compute capability: 80 is 8.0. */
        bool bulk_copies;               /* The GPU copies runs of bytes into shared memory by itself
                                         * (cp.async.bulk). */
        bool dependent_launch;          /* A launch may begin before the one in front of it has
                                         * ended, and waits inside (programmatic dependent
                                         * launch). */
};

struct target {
        const char *name, *doc;
        const struct target *base;      /* Only generic has no base: NULL. */
        /* The list ends with { 0 }, and the target is native to these processors alone. NULL: the
         * target is an instruction set, native wherever its own `attribute` is, or all of its own
         * `machine` are; with neither, it is native to no processor. */
        const struct processor *processors;
        const struct engine *engine;    /* This engine computes; NULL: the base's. */
        const struct printer *printer;  /* This printer writes the code; NULL: the base's. */
        bool big_endian;                /* Constants are written as numbers, not as bytes. */
        int64_t workspace_align;        /* The workspace is aligned to this many bytes; 0: the
                                         * base's, but CACHE_LINE where registers are wide and
                                         * only generic says something. */
        const struct gpu *gpu;          /* This GPU runs kernels in grid form; NULL: the base's. */
        int64_t stack_bytes;            /* A kernel may put an array of at most this many bytes on
                                         * the stack; 0: the base's. */

        /* These fields are about vectors; 0, false and NULL: the base's. */
        int vector_bytes;               /* A vector register has this many bytes; generic has
                                         * none. */
        const char *length;             /* In C, in functions with the attribute, it is how many
                                         * bytes the processor's registers have, where they may be
                                         * fewer than vector_bytes; NULL: there are as many. */
        int vector_registers;
        uint32_t narrow;                /* Vectors compute with these element types of fewer than
                                         * four bytes as they are, a lane for each element: 1 <<
                                         * E_I8 | ... (passes/vectorize/narrow.c). */
        const struct target *wide;      /* The same processor with longer vectors, of several
                                         * registers each, which a schedule may ask for (`wide` of
                                         * schedule.def); this target is its base. NULL: there is
                                         * none, whatever the base has. */
        bool has_fma;                   /* The target has fma in one instruction; else fma is a
                                         * function of the library. */
        bool has_masks;                 /* Masked loads and stores cost nothing extra. */
        bool pointers;                  /* An address is of a register and another one or a number,
                                         * not of all three: so an iteration's places are reached by
                                         * pointers. */
        bool integers;                  /* Quantized layers make bytes of sums by integers alone,
                                         * unless an option says something else. */
        bool flushes;                   /* Arithmetic on vectors of f32 takes denormal numbers as
                                         * zeros, and returns zeros for them. */
        int64_t l1_bytes, l2_bytes;     /* A schedule may count on data caches of so many bytes in
                                         * each core. */
        int64_t l1_way_bytes;           /* Lines of the first one whose addresses differ by a
                                         * multiple of this are in one set; 0: nobody knows. */
        int line_bytes;                 /* A line of them has this many bytes. */
        const struct rates *rates;      /* The rates say what it costs to compute and to move
                                         * (ir/target/rates.h), as far as that is known better than
                                         * for the base. */
        const char *attribute;          /* Functions that hold vectors have this attribute:
                                         * target("attribute"). */
        const char *gcc_attribute;      /* The attribute is written like this for gcc, where clang
                                         * has other words, for the target itself. */
        const char *cpu;                /* LLVM has this name for the processor that code is
                                         * scheduled for; NULL: the base's, or any. */
        const char *triple;             /* Objects are for this one, in LLVM's words, where no other
                                         * is asked for; NULL: the base's. generic has none. */
        const char *features;           /* LLVM has these words for the instructions, separated by
                                         * commas, where they are not those of `attribute`; NULL:
                                         * the base's, or none. */
        const char *abi;                /* LLVM has this name for how functions are called, where
                                         * the triple does not say it; NULL: the base's. */
        const struct multiply *multiplies;        /* These are its own, best first; they end with a
                                                   * row without name, and the base's follow. */
        const struct tile_shapes *tile_shapes; /* The shapes are set where multiplies have hardware
                                                * tiles that need to be given their shapes. */
        const struct overlay *commands; /* Command text is for this overlay
                                         * (codegen/sections/sections.h); NULL: none. */
        const struct machine *accelerator; /* Streams are for this machine (ir/target/machine.h);
                                            * NULL: the target hands no work to any. */
        const char *machine;            /* This condition of the preprocessor holds for a compiler
                                         * for such a processor. */
        const char *compilers;          /* The words say the same for users of another compiler:
                                         * "gcc or clang for 64-bit x86"; or NULL. */
        const char *keep;               /* asm names a vector register by this constraint, where gcc
                                         * needs it (engines/vector/keep.c). */
        const char *gcc_optimize;       /* gcc must not do this to kernels with register tiles; it
                                         * has the form of #pragma GCC optimize, or is NULL. */
        const struct float_control *control; /* This register says how denormal numbers are treated;
                                              * NULL: there is none. */
        const char *include;            /* The header declares the intrinsics: "<immintrin.h>". */
        const struct portable *portable; /* With -DPREFIX_PORTABLE any compiler compiles the code:
                                          * rows of the header's functions in plain C
                                          * (codegen/c_spelling.h), which end with one without text;
                                          * NULL: that is not so. */
        const struct capability
                *capabilities; /* The rows say what the target can do with vectors: these are its
                                * own, which end with CAN_END; other rows are the base's. */
        size_t capability_bytes;        /* A row lies this many bytes behind the one before: the
                                         * rows of a printer have text behind them. */
};

/* target_FIELD returns what the target says, or its nearest base that says something. */
#define TARGET_FIELD(type, field)                                                                  \
        static inline type target_##field(const struct target *t)                                  \
        {                                                                                          \
                return t->field || !t->base ? t->field : target_##field(t->base);                  \
        }
TARGET_FIELD(const struct engine *, engine)
TARGET_FIELD(const struct printer *, printer)
TARGET_FIELD(const struct gpu *, gpu)
TARGET_FIELD(int64_t, stack_bytes)
TARGET_FIELD(int, vector_bytes)
TARGET_FIELD(const char *, length)
TARGET_FIELD(int, vector_registers)
TARGET_FIELD(uint32_t, narrow)
TARGET_FIELD(bool, has_fma)
TARGET_FIELD(bool, pointers)
TARGET_FIELD(bool, has_masks)
TARGET_FIELD(bool, flushes)
TARGET_FIELD(bool, integers)
TARGET_FIELD(int64_t, l1_bytes)
TARGET_FIELD(int64_t, l1_way_bytes)
TARGET_FIELD(int64_t, l2_bytes)
TARGET_FIELD(int, line_bytes)
TARGET_FIELD(const char *, attribute)
TARGET_FIELD(const char *, cpu)
TARGET_FIELD(const char *, triple)
TARGET_FIELD(const char *, features)
TARGET_FIELD(const char *, abi)
TARGET_FIELD(const struct tile_shapes *, tile_shapes)
TARGET_FIELD(const struct machine *, accelerator)
TARGET_FIELD(const struct overlay *, commands)
TARGET_FIELD(const char *, machine)
TARGET_FIELD(const char *, compilers)
TARGET_FIELD(const char *, keep)
TARGET_FIELD(const char *, gcc_optimize)
TARGET_FIELD(const struct float_control *, control)
TARGET_FIELD(const char *, include)
TARGET_FIELD(const struct portable *, portable)
#undef TARGET_FIELD

/* Has the target registers that small processors have not? Those of some hold a few lanes. */
enum { SMALL_REGISTER = 8, CACHE_LINE = 64 };
static inline bool target_has_wide_registers(const struct target *t)
{
        return target_vector_bytes(t) > SMALL_REGISTER;
}

/* Returns the bytes that the workspace is aligned to. */
static inline int64_t target_workspace_align(const struct target *t)
{
        const bool is_wide = target_has_wide_registers(t);
        while (t->base && !t->workspace_align)
                t = t->base;
        return t->base || !is_wide ? t->workspace_align : CACHE_LINE;
}

/* Returns the attribute in gcc's words; NULL: there is none. */
static inline const char *target_gcc_attribute(const struct target *t)
{
        while (t && !t->attribute)
                t = t->base;
        return !t ? NULL : t->gcc_attribute ? t->gcc_attribute : t->attribute;
}

/* Returns where the tables of all vectors that a program for it may have begin: its bases' are
 * behind. */
static inline const struct target *target_widest(const struct target *t)
{
        return t && t->wide ? t->wide : t;
}
/* Returns the target that a kernel is written for, whose schedule asks for wide vectors or not. */
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

/* Returns how many elements of type e a native vector computes with at a time: f32, i32, u32, and
 * types that are converted to them (i8, f16, ..., bool), one for every four bytes, 64-bit types one
 * for every eight, and types that the target's `narrow` has one for every of their own bytes. 1:
 * there are no vectors. */
static inline int target_lanes(const struct target *t, enum element e)
{
        int bytes = element_info[element_info[e].compute].bytes;
        bytes = target_is_narrow(t, e) ? element_info[e].bytes : bytes < 4 ? 4 : bytes;
        int lanes = target_vector_bytes(t) / bytes;
        return lanes > 1 ? lanes : 1;
}

/* Returns the elements of a cache line, and what the line's last vector lacks, where vectors do not
 * divide lines: rows that are padded to lines, and blocks of channels, are whole vectors. */
static inline int target_line(const struct target *t, enum element e)
{
        int line = target_line_bytes(t) / element_info[e].bytes, lanes = target_lanes(t, e);
        return lanes < line && line % lanes ? line + lanes - line % lanes : line;
}

/* Returns how many channels, or sums, lie side by side: as many as the machine's array takes, a
 * line of f32, or a vector that is longer. */
static inline int target_block(const struct target *t)
{
        if (target_accelerator(t))
                return target_accelerator(t)->block_out;
        int line = target_line(t, E_F32), lanes = target_lanes(t, E_F32);
        return lanes > line ? lanes : line;
}

#endif
