/* SPDX-License-Identifier: MIT */
/* Encoders of streams share this: they visit statements in order, and append instructions whose
 * numbers must fit their fields. */
#ifndef CODEGEN_MACHINES_STREAM_ENCODER_H
#define CODEGEN_MACHINES_STREAM_ENCODER_H

#include "codegen/machines/machine_program.h"
#include "codegen/machines/machines.h"
#include "ir/loop/stream_flat.h"

/* A stage has this many instructions; after[k] is how many of them its first k statements took. */
struct encoder_stage { int64_t instructions, *after, statements; };

struct stream_encoder {
        const struct isa *isa;
        const struct loop_function *f;
        const int64_t *addresses;       /* Its parameters have these addresses. */
        struct arena *arena;
        struct diag *diag;
        struct instruction *out;
        int64_t count;
        struct encoder_stage stages[MACHINE_STAGES];      /* They are for machines that have await
                                                           * statements. */
        bool failed;
};

/* Reports an error, if it is the first. */
void encoder_fail(struct stream_encoder *e, enum exit_code code, const char *what);
/* Appends an instruction; fails where a field does not hold its number. */
void encoder_put(struct stream_encoder *e, struct instruction i);
/* Returns the address of element `at` of a parameter. */
int64_t encoder_address(const struct stream_encoder *e, const struct loop_buffer *b, int64_t at);
/* Calls `put` for each flat statement; other statements fail, and allocs are skipped. */
void encoder_statements(struct stream_encoder *e,
                        void (*put)(struct stream_encoder *e, const struct flat_step *step));

/* Returns how many instructions an await statement waits for; fails where the statement that it
 * waits for does not stand before it. */
int64_t encoder_awaited(struct stream_encoder *e, const struct loop_stmt *await);

/* The first loops of a nest become the two counters of an instruction, outer and inner: how often
 * they run, and what each adds to an operand. */
struct step_counters { int64_t counts[2], add[2][OPERANDS]; };
/* The fields of an operand that are a row ROWS (isa_rows.h). */
#define ENCODER_ROWS(name, step, counters, operand)                                                \
        .name = (step)->at[operand], .name##_row = (counters).add[0][operand],                     \
        .name##_column = (counters).add[1][operand]
struct step_counters encoder_counters(struct stream_encoder *e, const struct flat_step *step,
                                      int loops);

/* Writes the code. Returns false where encoding failed, or the code takes more than a launch may
 * have. */
bool encoder_write(struct stream_encoder *e, struct machine_code *code);

#endif
