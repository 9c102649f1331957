/* SPDX-License-Identifier: MIT */
/* Scheduled kernels: which lowering writes which operation, and what one may ask of them.
 *
 * What an operation means is its canonical lowering (ir/lower/lower.h); how it is computed may
 * be said by a schedule (ir/target/schedule.h), which a lowering of this folder follows. It
 * writes Loop IR directly: register tiles, vectors of the target's own width, fma, `parallel`
 * outermost. It takes in the fusion around the contraction: on operand x moves that are strides
 * (slice, transpose, reshape), behind it any element-wise epilogue, and at the end moves again
 * (a pad is a store into the middle and a fill of the halo). */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include "ir/lower/lower.h"
#include "ir/target/schedule.h"
#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

struct schedule_machine;                /* schedule/schedule_choice.h */
struct kernel_state;
/* The lowering of one contraction (kernel_state.h): what the states of all lowerings have is
 * filled in, and it fills in the rest. NULL where it cannot be scheduled so. */
typedef struct kernel_state *(*state_prepare)(const struct kernel_state *common);
/* A good schedule for op, with words in arena. */
typedef struct schedule (*schedule_choice)(const struct op *op,
                                           const struct schedule_machine *machine,
                                           struct arena *arena);

/* A row of an engine's lowerings (ir/target/engine.h); one that reads nothing ends them. */
struct lowering {
        enum opcode code;
        unsigned reads;                 /* elements of x: READS of each */
        /* NULL: all such operations */
        bool (*serves)(const struct op *op, const struct target *target);
        state_prepare prepare;          /* NULL: the engine's `kernel` writes such operations */
        schedule_choice choose;         /* NULL: the engine's `schedule` chooses */
        enum schedule_kind kind;        /* of the schedules that it follows; those of registers
                                         * where it is not said */
};
#define READS(element) (1u << E_##element)
/* what contractions of packed operands read (convolve_packed) */
#define CONTRACT_READS (READS(F32) | READS(BF16) | READS(F16) | READS(TF32) | READS(I8) | READS(U8) | READS(I16))

/* the first of the target's engine, or of its bases, that can write op; NULL: none */
const struct lowering *kernels_lowering(const struct op *op, const struct target *target);
/* There is one that can write such operations, of some elements. */
bool kernels_code(enum opcode code, const struct target *target);
/* The kernel state of the first lowering that can be scheduled as common->schedule says; NULL:
 * none. */
struct kernel_state *kernels_prepare(const struct kernel_state *common);
/* what a scheduled lowering could write of a fusion's region (or, region NULL, of op): its
 * contraction, or NULL */
struct op *kernels_contraction(const struct region *region, struct op *op,
                               const struct target *target);
/* Can a kernel be written so? */
bool kernels_accept(const struct op *kernel, const struct lower_options *options,
                    const struct loop_library *library, struct diag *diag);
/* bytes of the memory of its own that a kernel of one result then has while it runs */
int64_t kernels_scratch(const struct op *kernel, const struct lower_options *options,
                        const struct loop_library *library, struct diag *diag);
/* Kernels of operations that have a schedule; for lower_options.scheduler. */
extern const struct kernel_scheduler kernels_scheduler;

#endif
