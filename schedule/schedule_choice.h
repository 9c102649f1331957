/* SPDX-License-Identifier: MIT */
/* Schedules (ir/target/schedule.h) are chosen for a machine by predicted time, in tasks that
 * threads share; this header also declares the changes that --tune tries. */
#ifndef SCHEDULE_SCHEDULE_CHOICE_H
#define SCHEDULE_SCHEDULE_CHOICE_H

#include "cost/threads_cost.h"
#include "ir/target/schedule.h"
#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

struct schedule_machine {
        const struct target *target;
        int threads;
        int strip_percent;              /* Strips gather parts of rows, where a kernel takes so
                                         * many percent longer then at most; 0: they gather whole
                                         * rows. */
        const struct lower_options *lower;      /* Kernels that are written to look at their
                                                 * nests have these options. */
        const struct loop_library *library;     /* Such kernels call these functions; NULL: no
                                                 * nest is looked at. */
        bool cold;                      /* Constants come from memory in every run
                                         * (schedule_is_cold). */
        bool compact;                   /* The goal is little code rather than speed. */
        /* It is the memo of an accelerator's tiles (engines/stream/stream_memo.h); NULL: none is
         * kept. */
        const struct stream_memo **memo;
};
/* Does f read more constants than the target keeps in a cache from one run to the next
 * (engine->cold)? */
bool schedule_is_cold(const struct function *f, const struct target *target);
/* Returns a good schedule for an operation, the one of least predicted time, which may contain the
 * reason; in `arena`. NULL: no lowering would follow a schedule (schedule_choice.c: a table by
 * operation). */
const struct schedule *schedule_for(const struct op *op, const struct schedule_machine *machine,
                                    struct arena *arena);
/* Chooses tasks so that the slowest thread is done soonest: as many as there are threads, or one
 * (share.c, which determines `result` itself). Returns the cycles that this takes. */
double schedule_share(struct schedule_registers *s, const struct op *op,
                      const struct shared_work *work, const struct schedule_machine *machine);
/* Can the spatial dimensions of a convolve_packed be iterated as one, because nothing in its fusion
 * distinguishes them? */
bool schedule_can_flatten(const struct op *contraction);

/* Returns the cycles of a convolve_packed with sums in vectors by the best schedule
 * (choose_packed.c). INFINITY: there is none. */
struct packed_work;
double packed_least_cycles(const struct packed_work *work, const struct target *target);

/* Returns the cycles that Winograd's algorithm by the transforms f is predicted to save for a
 * convolution; 0: fewer than it is worth. (choose_winograd.c) */
struct winograd_square;
double schedule_winograd_gain(const struct op *packed, const struct winograd_square *f,
                              const struct schedule_machine *machine);
/* schedule_winograd_line returns the outputs of a line of its weights, where vectors have `lanes`
 * lanes; schedule_winograd_panel returns the lines of a panel, where there are `lines` in all. */
int64_t schedule_winograd_line(int64_t lanes, const struct target *target);
int64_t schedule_winograd_panel(int64_t lines);

/* A product, before its weights are packed. channels is the products of a sum, with the window's
 * offsets; matrix: its positions are the rows of a matrix, multiplied by constant weights. */
struct schedule_product { int64_t groups, positions, outputs, channels; bool matrix; };

/* Makes move number `move`, of those that --tune tries (tune_moves.c), in *s. Returns false where
 * the move changes nothing or cannot be followed. */
extern const int schedule_move_count;
bool schedule_move(const struct op *op, const struct schedule_machine *machine, int move,
                   struct schedule *s);

#endif
