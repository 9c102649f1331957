/* SPDX-License-Identifier: MIT */
/* Streams: functions of Loop IR that a machine runs (ir/target/machine.h), statement by statement
 * in memories of its own.
 *
 *     stream @layer(%x: in i8[50176], %w: in i8[4096], %b: in i32[16], %y: out i8[50176]) on vta {
 *       for %r = 0 to 56 step 14 {
 *         alloc %a : i8[12544] in inp                 ; numbers, as everywhere; in a memory of the machine
 *         alloc %k : i8[256] in wgt
 *         alloc %s : i32[12544] in acc
 *         transfer %a[0] = %x[%r * 896] rows 14 by 56 step 896
 *         transfer %k[0] = %w[0] rows 1 by 1 step 256
 *         for %p = 0 to 784 {
 *           reset %s[%p * 16]
 *         }
 *         for %p = 0 to 784 {
 *           product %s[%p * 16] += %a[%p * 16] * %k[0]
 *         }
 *         for %p = 0 to 784 {
 *           apply %s[%p * 16] shr 8
 *         }
 *         transfer %y[%r * 896] = %s[0] rows 14 by 56 step 896
 *       }
 *     }
 *
 * The statements, in plain ones (loop_stream_expand writes these, and the interpreter runs them).
 * An element of a memory is rows x columns numbers, N of them; places in memories are multiples of
 * N, and so are places in other buffers that a transfer reaches; of what a statement touches, all
 * is within the buffers.
 *
 *     transfer %m[a] = %x[b] rows R by C step S pad T, B, L, W      into a memory; x holds the numbers that the memory does
 *             for r = 0 to T + R + B, c = 0 to L + C + W, n = 0 to N:
 *                     m[a + (r * (L + C + W) + c) * N + n] = x[b + (r - T) * S + (c - L) * N + n] within the rows and columns, else 0
 *     transfer %y[b] = %m[a] rows R by C step S       out of the memory of sums; y holds numbers of the memory `stored`
 *             for r = 0 to R, c = 0 to C, n = 0 to N:  y[b + r * S + c * N + n] = low bits of m[a + (r * C + c) * N + n]
 *     reset %s[a]                                     for n = 0 to N:  s[a + n] = 0
 *     product %s[a] += %i[b] * %w[c]                  for p = 0 to batch, o = 0 to block_out, k = 0 to block_in:
 *                                                             s[a + p * block_out + o] += i[b + p * block_in + k] * w[c + o * block_in + k]
 *     product %s[a] = %i[b] * %w[c]                   the same with 0 for s before, where the machine activates
 *     apply %s[a] OP %s[b]                            for n = 0 to N:  s[a + n] = s[a + n] OP s[b + n], read before written; OP: min, max, add
 *     apply %s[a] OP i                                for n = 0 to N:  s[a + n] = s[a + n] OP i, a literal; also shr, shl
 *     activate %i[a] = %s[b] by %p[c] add A shr S within L, H          of a machine that activates; also into %s
 *             for n = 0 to N:  i[a + n] = low bits of min(max((s[b + n] + p[c + n] + A) >> S, L), H)
 *             S may be `lanes`: p[c + N + n], the element behind; without `by` nothing is added but A; where L = H nothing is read
 *     push load to compute, pop load to compute       nothing: a token that the first stage gives when all its statements up to here are
 *                                                     done, and that the second waits for
 *     await host 3 in multiply                        nothing: the second waits until the first has done three statements of this stream,
 *                                                     awaits not counted; on machines that have no tokens
 *
 * Around them stand `for`, `if` and `let` of indices, which read no memory: all is known when the
 * stream is made. A statement belongs to a stage of the machine: a transfer into a memory to the
 * one that fills it, one out of it to `store`, all else to `compute`. What the statements mean one
 * after the other is what the stream means; that stages, which run beside each other, keep to that
 * is for tokens. A stream without any says nothing about order yet. One with tokens is flat: no
 * loops but instructions, one alloc for each whole memory (see below), and it is verified: any two
 * statements of different stages that touch one element (or 16 bytes outside of the machine), one
 * of them writing, are ordered by tokens, or awaits; no token is popped that is not there, none is
 * left, and queues do not overflow. A FIFO (ir/target/machine.h) orders itself: blocks of weights
 * are put into its elements in turn, and read in that order, all of them.
 *
 * Passes (engines/stream/) make instructions of it step by step, each in this same form:
 *
 *     overlap     alloc %a : i8[12544] in inp at 0, 1024     places in the memory, in elements, that executions take in turn
 *     flatten     transfer %inp[16384] = %x[12544] ..        no loops but those around a single step, no allocs but whole memories
 *     select_instructions
 *                 for %y = 0 to 14 count { for %x = 0 to 14 count { for %k = 0 to 3 list { product .. } } }
 *                 an instruction: at most as many counters as it has, outermost; inside them a list of places
 *     tokens      push, pop; or await
 * */
#ifndef IR_LOOP_STREAM_H
#define IR_LOOP_STREAM_H

#include "ir/loop/loop.h"
#include "ir/target/machine.h"

/* A place is numbers of a buffer from an index on. */
struct loop_place { struct loop_buffer *buffer; struct loop_expr *at; };

/* ---- building (stream_build.c) ---- */

/* Declares `elements` of a memory, for as long as the block runs. */
struct loop_buffer *loop_memory_alloc(struct arena *arena, struct loop_block *block,
                                      const char *name, const struct machine *machine, int memory,
                                      int64_t elements);
struct loop_stmt *loop_transfer(struct arena *arena, struct loop_block *block, struct loop_place to,
                                struct loop_place from, struct loop_expr *rows,
                                /* The transfer has no padding. */
                                struct loop_expr *columns, int64_t step);
struct loop_stmt *loop_reset(struct arena *arena, struct loop_block *block, struct loop_place sums);
struct loop_stmt *loop_product(struct arena *arena, struct loop_block *block,
                               struct loop_place sums, struct loop_place inputs,
                               struct loop_place weights);
struct loop_stmt *loop_apply(struct arena *arena, struct loop_block *block, enum loop_opcode op,
                             struct loop_place sums, struct loop_place other);
struct loop_stmt *loop_apply_immediate(struct arena *arena, struct loop_block *block,
                                       enum loop_opcode op, struct loop_place sums,
                                       int64_t immediate);
/* Where there are no parameters, their place has no buffer. */
struct loop_stmt *loop_activate(struct arena *arena, struct loop_block *block, struct loop_place to,
                                struct loop_place sums, struct loop_place parameters,
                                const struct loop_activation *activation);
struct loop_stmt *loop_await(struct arena *arena, struct loop_block *block, struct loop_queue queue,
                             int64_t statements);
/* Makes a push or a pop. */
struct loop_stmt *loop_token(struct arena *arena, struct loop_block *block,
                             enum loop_stmt_kind kind, struct loop_queue queue);

/* ---- what they are (stream_build.c) ---- */

/* Returns the element type of a memory's numbers; sums are i32. */
enum element loop_memory_element(const struct machine *m, int memory);
/* Is s a statement of compute or activate, around which an instruction may have loops? */
static inline bool loop_is_step(const struct loop_stmt *s)
{
        return s->kind == STMT_RESET || s->kind == STMT_PRODUCT || s->kind == STMT_APPLY ||
               s->kind == STMT_ACTIVATE;
}
static inline bool loop_is_of_stream(const struct loop_stmt *s)
{
        return s->kind >= STMT_TRANSFER && s->kind <= STMT_AWAIT;
}
/* TRANSFER: does it load into a memory of the machine? */
static inline bool loop_transfer_loads(const struct loop_stmt *s)
{
        return s->buffer->space == SPACE_MEMORY;
}
/* Returns the stage that a statement belongs to. */
int loop_stage_of(const struct machine *m, const struct loop_stmt *s);
/* Returns the word of an apply, "min", ..; NULL: there is no such operation. */
const char *loop_apply_word(int code);
/* Returns a statement of a stream as plain ones. */
struct loop_block *loop_stream_expand(struct arena *arena, const struct machine *m,
                                      const struct loop_stmt *s);

#endif
