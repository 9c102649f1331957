/* SPDX-License-Identifier: MIT */
/* A stream in whole numbers: its statements when its loops are run. */
#ifndef IR_LOOP_STREAM_FLAT_H
#define IR_LOOP_STREAM_FLAT_H

#include "ir/loop/stream.h"

enum { NEST_MAX = 16, OPERANDS = 3 };

/* A loop around a step, and what an iteration adds to each place. */
struct nest_loop { int64_t count, add[OPERANDS]; enum loop_for_kind kind; };

/* A flat_step is a statement of a flat stream. Places are of `buffer`, `source` and `weights`, in
 * elements where they are in a memory of the machine, else in numbers. */
struct flat_step {
        const struct loop_stmt *s;              /* The step is this statement, inside of its
                                                 * loops. */
        struct nest_loop loops[NEST_MAX];       /* The loops begin with the outermost. */
        int loop_count;
        int64_t at[OPERANDS];
        int64_t rows, columns, pad[4];          /* The three are of TRANSFER. */
};

/* The struct has the values of a function's variables, by their numbers (loop_number_variables),
 * and the places of its allocs. */
struct flat_state { int64_t *values, *places; };

/* Reads a nest or a statement: its bounds and places must be affine in the loops' variables, whose
 * bounds are constants, with all else known from `state` (NULL: nothing is). Returns false if they
 * are not. */
bool flat_step_read(const struct machine *m, const struct loop_stmt *s,
                    const struct flat_state *state, struct flat_step *step);
/* Finds the value of an index. Returns false if it is not known. */
bool flat_value(const struct loop_expr *e, const struct flat_state *state, int64_t *value);
/* Writes a flat stream anew; variables are named by a letter and a number, as no parameter is. */
struct flat_writer {
        struct arena *arena;
        const struct loop_function *f;
        struct loop_block *out;
        /* Places are in these whole memories. */
        struct loop_buffer *memories[MACHINE_MEMORIES];
        char letter;
        int number;
};
/* Appends the statement with its loops. */
void flat_step_write(struct flat_writer *w, const struct flat_step *step);
static inline struct loop_buffer *flat_operand(const struct loop_stmt *s, int k)
{
        return k == 0 ? s->buffer : k == 1 ? s->source : s->weights;
}
/* Returns how many elements of an operand each step touches. */
static inline int64_t flat_operand_elements(const struct loop_stmt *s, int k)
{
        return k == 2 && s->kind == STMT_ACTIVATE && s->activation->lanes ? 2 : 1;
}
/* Finds the whole memories that a flat stream declares in front, NULL where it does not. Returns
 * false if it is not flat. */
bool flat_memories(const struct loop_function *f, struct loop_buffer *memories[MACHINE_MEMORIES]);

/* A visitor is told what a step touches: elements of a memory of the machine, or (memory -1)
 * numbers of a buffer outside of it. */
struct flat_visitor {
        void (*visit)(void *context, const struct loop_buffer *b, int64_t first, int64_t count,
                      bool writes);
        void *context;
};
void flat_step_visit(const struct machine *m, const struct flat_step *step,
                     const struct flat_visitor *visitor);

#endif
