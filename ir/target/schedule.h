/* SPDX-License-Identifier: MIT */
/* Schedules: how an operation is computed, as data.
 *
 * An operation's meaning is its canonical lowering (ir/lower/lower.h). A schedule says how to reach
 * the same sums fast: the register tile, unrolling, the order of loops, what is prefetched, what
 * runs in parallel. schedule.def lists the words of each kind of schedule. Dumps, files of
 * schedules and the heads of kernels show as text the words that are not preset; the text behind a
 * semicolon tells the reader why:
 *
 *      rows=2 columns=7 vectors=2 prefetch=1 row_tasks=2; 1838 kcycles: 88 % products ...
 *
 * schedule/ chooses schedules, and kernels/ follows them. */
#ifndef IR_TARGET_SCHEDULE_H
#define IR_TARGET_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "base/text.h"

enum schedule_kind {
        SCHEDULE_registers,             /* There are tiles of sums in vector registers, or in
                                         * hardware tiles. */
        SCHEDULE_circular,              /* There are rows in circular buffers, inside a kernel. */
        SCHEDULE_grid,                  /* There are thread blocks. */
        SCHEDULE_stream,                /* There are instructions of an accelerator. */
        SCHEDULE_scalar,                /* There are sums of scalars, side by side. */
        SCHEDULE_KINDS
};

struct schedule_registers {
#define REGISTERS(name, ...) int name;
#include "ir/target/schedule.def"
};
struct schedule_circular {
#define CIRCULAR(name, ...) int name;
#include "ir/target/schedule.def"
};
struct schedule_grid {
#define GRID(name, ...) int name;
#include "ir/target/schedule.def"
};
struct schedule_stream {
#define STREAM(name, ...) int name;
#include "ir/target/schedule.def"
};
struct schedule_scalar {
#define SCALAR(name, ...) int name;
#include "ir/target/schedule.def"
};

/* The words describe register tiles. */
enum schedule_word {
#define REGISTERS(name, ...) WORD_##name,
#include "ir/target/schedule.def"
        WORD_COUNT
};

struct schedule {
        enum schedule_kind kind;        /* The kind says which member of the union is used. */
        union {
                struct schedule_registers registers;
                struct schedule_circular circular;
                struct schedule_grid grid;
                struct schedule_stream stream;
                struct schedule_scalar scalar;
        };
        const char *why;                /* The reason why it was chosen, as safe text, or NULL. */
};

/* Returns a schedule in which all words are preset. */
struct schedule schedule_preset(enum schedule_kind kind);
/* schedule_KIND returns its words; NULL where it is NULL or of another kind. schedule_of_KIND
 * returns a schedule of such words; why: as in struct schedule. */
#define SCHEDULE_OF_KIND(name)                                                                     \
        static inline const struct schedule_##name *schedule_##name(const struct schedule *s)      \
        {                                                                                          \
                return s && s->kind == SCHEDULE_##name ? &s->name : NULL;                          \
        }                                                                                          \
        static inline struct schedule schedule_of_##name(struct schedule_##name words,             \
                                                         const char *why)                          \
        {                                                                                          \
                return (struct schedule){ .kind = SCHEDULE_##name, .name = words, .why = why };    \
        }
SCHEDULE_OF_KIND(registers)
SCHEDULE_OF_KIND(circular)
SCHEDULE_OF_KIND(grid)
SCHEDULE_OF_KIND(stream)
SCHEDULE_OF_KIND(scalar)
/* Returns its words of register tiles, which are preset where it is of another kind. */
static inline struct schedule_registers schedule_tiles(const struct schedule *s)
{
        return (s->kind == SCHEDULE_registers ? *s : schedule_preset(SCHEDULE_registers)).registers;
}

/* Returns where the word's value is. */
int *schedule_word(struct schedule_registers *schedule, enum schedule_word word);
/* Does the lowering of such operations follow the word? */
bool schedule_has_word(const char *operation, enum schedule_word word);
/* Parses a schedule; schedule->why is part of the text. All words are of one kind, the first kind
 * that has them all. Returns false if no kind has the word at *wrong, up to a blank or the end,
 * besides the words before it. */
bool schedule_parse(const char *text, struct schedule *schedule, const char **wrong);
/* Are they of the same kind, with the same values of all words? */
bool schedule_equal(const struct schedule *a, const struct schedule *b);
/* These print and return the words alone; there is at least one. */
void schedule_print_words(struct text *out, const struct schedule *schedule);
const char *schedule_words(struct arena *arena, const struct schedule *schedule);
/* Prints words; why, the text that schedule_parse reads. */
void schedule_print(struct text *out, const struct schedule *schedule);
/* Returns a schedule for an operation, in arena, with words that it keeps. */
const struct schedule *schedule_keep(struct arena *arena, struct schedule schedule);

#endif
