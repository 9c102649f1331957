/* Schedules: how a contraction is computed, as data, and the lowerings that follow them.
 *
 * What an operation means is its canonical lowering (ir/lower.h). A schedule says how to reach the
 * same sums fast: register tile, unrolling, the order of loops, what is prefetched, what runs in
 * parallel. It is text on the operation (op->schedule), written by the schedule pass, by --tune or
 * by the user, and read back here:
 *
 *      rows=2 columns=7 vectors=2 unroll=4 prefetch=1 row_tasks=2
 *
 * schedule.def lists the words; what stands behind a semicolon says why, for the reader. A
 * scheduled lowering writes Loop IR directly: register tiles, vectors of the target's own width,
 * fma, `parallel` outermost. It takes in the fusion around the contraction: on operand x moves that
 * are strides (slice, transpose, reshape), behind it any element-wise epilogue, and at the end
 * moves again (a pad is a store into the middle and a fill of the halo). */
#ifndef SCHEDULE_SCHEDULE_H
#define SCHEDULE_SCHEDULE_H

#include "ir/lower.h"
#include "ir/target.h"
#include "ir/tensor.h"

struct schedule {
#define FIELD(name, preset, least, most, doc) int name;
#include "schedule/schedule.def"
};

/* ---- text (schedule.c) ---- */

struct schedule schedule_preset(void);
/* false after one error (EXIT_INVALID) that names op, or none: diag may be NULL */
bool schedule_parse(const struct op *op, struct schedule *schedule, struct diag *diag);
const char *schedule_text(struct arena *arena, const struct schedule *schedule);

/* ---- choice (choose.c, kernels.c) ---- */

struct schedule_machine { const struct target *target; int threads; };
/* A good schedule for a contraction: the one of least predicted time. *why: for the reader, in
 * arena; left as it is where there is nothing to say. */
struct schedule schedule_for(const struct op *contraction, const struct schedule_machine *machine,
                             struct arena *arena, const char **why);
/* Cycles to hand work to threads that spin, and to hear that it is done; until the first bytes come
 * from another core's second cache, and bytes in a cycle from then on; of work that is worth
 * sharing: 1 us, with what it reads (waking a thread costs the caller 10 to 15, but then it is
 * awake for the kernels that follow). */
#define SCHEDULE_HAND_OFF 2000.0
#define SCHEDULE_FOREIGN_FIRST 2000.0
#define SCHEDULE_FOREIGN 3.0
#define SCHEDULE_WORTH_CYCLES 4000.0
/* What threads share: rows of tiles by panels; cycles of one core for them, without reading the
 * weights; bytes of the operands, and of what is gathered from them first. */
struct schedule_work { int64_t rows, panels; double cycles, weights, operand, gathered; };
/* Tasks, so that the slowest thread is done soonest (share.c); as many as there are threads, or
 * one. The cycles it then takes. */
double schedule_share(struct schedule *s, const struct op *op, const struct schedule_work *work,
                      const struct schedule_machine *machine);
/* The spatial dimensions of a convolve_packed can run as one: nothing in its fusion tells them
 * apart. */
bool schedule_can_flatten(const struct op *contraction);

/* Cycles that Winograd's algorithm over tiles of `tile` (2 or 4) rows and columns is predicted to
 * save of a convolution by 3 x 3 windows; 0: too few for what it costs. (choose_winograd.c) */
double schedule_winograd_gain(const struct op *packed, int tile,
                              const struct schedule_machine *machine);
/* and how many vectors of 16 outputs a panel of its weights has, of so many in all */
int64_t schedule_winograd_vectors(int64_t vectors);

/* What --tune tries (moves.c): *s with move number `move` made; false where that changes nothing or
 * cannot be followed. */
extern const int schedule_move_count;
bool schedule_move(const struct op *op, const struct schedule_machine *machine, int move,
                   struct schedule *s);

/* ---- lowering (kernels.c) ---- */

/* what a scheduled lowering could write of a fusion's region (or, region NULL, of op): its
 * contraction, or NULL */
struct op *schedule_contraction(const struct region *region, struct op *op);
/* Can a kernel be written so? */
bool schedule_accepts(const struct op *kernel, const struct lower_options *options,
                      const struct loop_library *library, struct diag *diag);
/* bytes of the memory of its own that a kernel of one result then has while it runs */
int64_t schedule_scratch(const struct op *kernel, const struct lower_options *options,
                         const struct loop_library *library, struct diag *diag);
/* Kernels of contractions that have a schedule; for lower_options.scheduled. */
extern const struct kernel_scheduler schedule_kernels;

#endif
