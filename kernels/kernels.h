/* SPDX-License-Identifier: MIT */
/* This says which lowering writes which operation as a scheduled kernel, and how to ask for one.
 *
 * The meaning of an operation is its canonical lowering (ir/lower/lower.h); a schedule
 * (ir/target/schedule.h), which a lowering of this folder follows, may say how it is computed. The
 * lowering writes Loop IR directly: register tiles, vectors of the target's own width, fma,
 * `parallel` as the outermost loop. It also writes the fusion around the contraction: on operand x,
 * moves that are strides (slice, transpose, reshape); after the contraction, any element-wise
 * epilogue; at the end, moves again (a pad is a store into the middle and a fill of the halo). */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include "ir/lower/lower.h"
#include "ir/target/schedule.h"
#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

struct schedule_machine;                /* It is defined in schedule/schedule_choice.h. */
struct kernel_state;
/* Prepares the lowering of one contraction (kernel_state.h): copies the fields that all kernel
 * states have from `common`, and sets the rest. Returns NULL where it cannot be scheduled so. */
typedef struct kernel_state *(*state_prepare)(const struct kernel_state *common);
/* Returns a good schedule for op, with its words in `arena`. */
typedef struct schedule (*schedule_choice)(const struct op *op,
                                           const struct schedule_machine *machine,
                                           struct arena *arena);

/* A lowering is a row of an engine's lowerings (ir/target/engine.h); a row whose `reads` is 0 ends
 * the table. */
struct lowering {
        enum opcode code;
        unsigned reads;                 /* Operand x may have these elements, a READS bit each. */
        /* Can the lowering write op? NULL: it can write all such operations. */
        bool (*serves)(const struct op *op, const struct target *target);
        state_prepare prepare;          /* NULL: the engine's `kernel` writes such operations or, of
                                         * kind SCHEDULE_scalar, the canonical lowering and then the
                                         * pass jam. */
        schedule_choice choose;         /* NULL: the engine's `schedule` chooses. */
        /* Sets *s to schedule number n, from 0, of those that --tune tries. Returns false where
         * there are fewer. NULL: --tune makes moves of words (schedule/tune_moves.c). */
        bool (*candidate)(const struct op *op, const struct schedule_machine *machine, int n,
                          struct schedule *s);
        /* Can the lowering follow s for op? NULL: that is seen when the kernel is written. */
        bool (*follows)(const struct op *op, const struct schedule_machine *machine,
                        const struct schedule *s);
        /* A run may give the extents of images or, where `positions` is set, of positions along the
         * last spatial dimension as well. */
        bool images, positions;
        enum schedule_kind kind;        /* It follows schedules of this kind; by default, schedules
                                         * of registers. */
};
#define READS(element) (1u << E_##element)
#define READS_ALL (~0u)
/* Contractions of packed operands (convolve_packed) may read these elements. */
#define CONTRACT_READS (READS(F32) | READS(BF16) | READS(F16) | READS(TF32) | READS(I8) | READS(U8) | READS(I16))

/* Returns the first lowering of the target's engine, or of its bases, that can write op; NULL where
 * there is none. */
const struct lowering *kernels_lowering(const struct op *op, const struct target *target);
/* Is there a lowering for operations of this code, on any elements? */
bool kernels_code(enum opcode code, const struct target *target);
/* Is there one for operations of this code whose positions a run gives? */
bool kernels_open(enum opcode code, const struct target *target);
/* Returns the kernel state of the first lowering that can follow common->schedule; NULL where there
 * is none. */
struct kernel_state *kernels_prepare(const struct kernel_state *common);
/* Returns the contraction that a scheduled lowering could write in a fusion's region (with region
 * NULL: op itself), or NULL. */
struct op *kernels_contraction(const struct region *region, struct op *op,
                               const struct target *target);
/* Can a lowering write this kernel as it is scheduled? */
bool kernels_accept(const struct op *kernel, const struct lower_options *options,
                    const struct loop_library *library, struct diag *diag);
/* Returns the bytes of memory of its own that a kernel of one result needs while it runs. */
int64_t kernels_scratch(const struct op *kernel, const struct lower_options *options,
                        const struct loop_library *library, struct diag *diag);
/* Writes kernels whose operations have a schedule; for lower_options.scheduler. */
extern const struct kernel_scheduler kernels_scheduler;

#endif
