/* SPDX-License-Identifier: MIT */
/* Schedules: how an operation is computed, as data.
 *
 * What an operation means is its canonical lowering (ir/lower/lower.h). A schedule says how to reach the
 * same sums fast: register tile, unrolling, the order of loops, what is prefetched, what runs in
 * parallel. schedule.def lists the words. Dumps, files of schedules and the heads of kernels have
 * them as text, those alone that are not as they are preset; what stands behind a semicolon says
 * why, for the reader:
 *
 *      rows=2 columns=7 vectors=2 prefetch=1 row_tasks=2; 1838 kcycles: 88 % products ...
 *
 * Who chooses schedules: schedule/. Who follows them: kernels/. */
#ifndef IR_SCHEDULE_H
#define IR_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "base/text.h"

enum schedule_word {
#define FIELD(name, preset, least, most, doc) WORD_##name,
#include "ir/target/schedule.def"
        WORD_COUNT
};

struct schedule {
#define FIELD(name, preset, least, most, doc) int name;
#include "ir/target/schedule.def"
        const char *why;                /* it was chosen: safe text, or NULL */
};

struct schedule schedule_preset(void);
/* the word of it */
int *schedule_word(struct schedule *schedule, enum schedule_word word);
/* Text of an arena, safe in comments; schedule->why is part of it. False: the schedule cannot say
 * what stands at *wrong, up to a blank or the end. */
bool schedule_parse(const char *text, struct schedule *schedule, const char **wrong);
/* in all words */
bool schedule_equal(const struct schedule *a, const struct schedule *b);
/* words alone; at least one */
const char *schedule_words(struct arena *arena, const struct schedule *schedule);
/* words; why: what schedule_parse reads */
void schedule_print(struct text *out, const struct schedule *schedule);
/* a schedule for an operation: in arena, with words that it keeps */
const struct schedule *schedule_keep(struct arena *arena, struct schedule schedule);

#endif
