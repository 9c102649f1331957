/* SPDX-License-Identifier: MIT */
/* What encoders of streams share: statements one after the other, and instructions behind each
 * other that their fields hold. */
#ifndef CODEGEN_MACHINES_STREAM_ENCODER_H
#define CODEGEN_MACHINES_STREAM_ENCODER_H

#include "codegen/machines/machine_program.h"
#include "codegen/machines/machines.h"
#include "ir/loop/stream_flat.h"

/* of a stage: instructions, and how many of them its first so many statements took */
struct encoder_stage { int64_t instructions, *after, statements; };

struct stream_encoder {
        const struct isa *isa;
        const struct loop_function *f;
        const int64_t *addresses;       /* of its parameters */
        struct arena *arena;
        struct diag *diag;
        struct instruction *out;
        int64_t count;
        struct encoder_stage stages[MACHINE_STAGES];      /* of machines that await */
        bool failed;
};

/* one error, the first */
void encoder_fail(struct stream_encoder *e, enum exit_code code, const char *what);
/* Appends an instruction; fails where a field does not hold its number. */
void encoder_put(struct stream_encoder *e, struct instruction i);
/* where a number of a parameter lies */
int64_t encoder_address(const struct stream_encoder *e, const struct loop_buffer *b, int64_t at);
/* Each statement that is not flat fails, and allocs are none. */
void encoder_statements(struct stream_encoder *e,
                        void (*put)(struct stream_encoder *e, const struct flat_step *step));

/* Instructions that an await statement waits for; fails where it is for a statement that does not
 * stand before it. */
int64_t encoder_awaited(struct stream_encoder *e, const struct loop_stmt *await);

/* The first loops of a nest as an instruction's two counters, outer and inner: how often they run,
 * and what each adds to an operand. */
struct step_counters { int64_t counts[2], add[2][OPERANDS]; };
struct step_counters encoder_counters(struct stream_encoder *e, const struct flat_step *step,
                                      int loops);

/* As code. False where it failed, or takes more than a launch may have. */
bool encoder_write(struct stream_encoder *e, struct machine_code *code);

#endif
