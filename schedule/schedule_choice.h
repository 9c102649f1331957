/* SPDX-License-Identifier: MIT */
/* The choice of schedules (ir/target/schedule.h) for a machine: by predicted time, in tasks that
 * threads share; and what --tune tries beside it. */
#ifndef SCHEDULE_SCHEDULE_CHOICE_H
#define SCHEDULE_SCHEDULE_CHOICE_H

#include "cost/threads_cost.h"
#include "ir/target/schedule.h"
#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

struct schedule_machine {
        const struct target *target;
        int threads;
        bool cold;                      /* constants come from memory in every run
                                         * (schedule_is_cold) */
        const struct stream_memo **memo;        /* of an accelerator's tiles
                                                 * (engines/stream/stream_memo.h); NULL: none is
                                                 * kept */
};
/* Does f read more constants than the target keeps in a cache from one run to the next
 * (engine->cold)? */
bool schedule_is_cold(const struct function *f, const struct target *target);
/* A good schedule for an operation, the one of least predicted time, which may say why; in arena.
 * NULL: nothing would follow it (schedule_choice.c: a table by operation). */
const struct schedule *schedule_for(const struct op *op, const struct schedule_machine *machine,
                                    struct arena *arena);
/* Tasks, so that the slowest thread is done soonest (share.c, which knows the `result` itself); as
 * many as there are threads, or one. The cycles it then takes. */
double schedule_share(struct schedule_registers *s, const struct op *op,
                      const struct shared_work *work, const struct schedule_machine *machine);
/* The spatial dimensions of a convolve_packed can run as one: nothing in its fusion tells them
 * apart. */
bool schedule_can_flatten(const struct op *contraction);

/* Cycles that Winograd's algorithm over tiles of `tile` (2 or 4) rows and columns is predicted to
 * save of a convolution by 3 x 3 windows; 0: too few for what it costs. (choose_winograd.c) */
double schedule_winograd_gain(const struct op *packed, int tile,
                              const struct schedule_machine *machine);
/* outputs of a line of its weights, whose vectors have so many; lines of a panel, of so many in
 * all */
int64_t schedule_winograd_line(int64_t lanes, const struct target *target);
int64_t schedule_winograd_panel(int64_t lines);

/* A product, before its weights are packed: channels of a sum, with the window's offsets;
 * matrix: its positions are the rows of a matrix, by constant weights. */
struct schedule_product { int64_t groups, positions, outputs, channels; bool matrix; };

/* What --tune tries (tune_moves.c): *s with move number `move` made; false where that changes
 * nothing or cannot be followed. */
extern const int schedule_move_count;
bool schedule_move(const struct op *op, const struct schedule_machine *machine, int move,
                   struct schedule *s);

#endif
