/* SPDX-License-Identifier: MIT */
/* From Tensor IR to Loop IR: the canonical lowering.
 *
 * An operation's meaning is its element function (op_info[].element): the Loop IR expression for
 * one element of its result. The kernel of an operation, or of a fusion, is then: for every index
 * of the result, store the element. Inside a fusion a producer's element function is called in
 * place of a load, so any legal fusion is one loop nest without an intermediate buffer. The folder,
 * the interpreter and every printer run what comes out.
 *
 * lower_module decides which values become views (reshape, contiguous slice, operands of a concat
 * along the outermost axis), and the plan pass where buffers lie in the workspace. */
#ifndef IR_LOWER_LOWER_H
#define IR_LOWER_LOWER_H

#include "ir/loop/loop.h"
#include "ir/tensor/tensor.h"

struct kernel_scheduler;                /* The struct is in lower_emit.h. */
struct target;
struct lower_options {
        const struct target *target;    /* Scheduled kernels are for this target. */
        const struct kernel_scheduler *scheduler;         /* NULL: there are canonical kernels
                                                           * only. */
        bool unchecked;                 /* There are no run-time index checks. */
        int threads;                    /* The code may use this many threads; 0 and 1: one. */
        bool views;                     /* reshape, slice and concat are aliases (off at -O0). */
};

/* Is op a reduction of a tensor of that shape? Then *along is the set of dimensions that vanish,
 * but for extents of 1. */
bool rows_reduce(const struct op *op, const struct type *shape, unsigned *along);
/* Is v read by several operations, one of which makes what is reduced, as squares are for a norm?
 * Then a kernel of rows reads v as it is stored, rather than that v's kernel goes on with parts of
 * the norm. */
bool rows_normalize(const struct value *v);

/* Writes one kernel for op (any operation with an element function, or a fusion), and appends it to
 * p. Its parameters are one ACCESS_IN buffer per operand or capture that it reads at run time
 * (*inputs; splats are literals, known amounts are in the code), in order of first use, then one
 * ACCESS_OUT buffer per result (ACCESS_INOUT: it reads back what it stored there), then
 * ACCESS_INOUT buffers for its scratch. A parameter whose every read is at the very element being
 * stored shares a positive alias_class with that result: they may be one buffer. */
struct loop_function *lower_kernel(struct loop_program *p, const struct op *op,
                                   const struct lower_options *options, struct value ***inputs,
                                   int *input_count, struct diag *diag);

/* Gives a call of such a kernel its scratch: workspace buffers of its own, from
 * call->buffers[first] on. */
void lower_bind_scratch(struct loop_program *p, struct loop_stmt *call, int first);

/* Lowers the whole function: buffers, kernels (equal ones shared), main. Returns NULL after an
 * error. */
struct loop_program *lower_module(struct module *m, struct function *f,
                                  const struct loop_library *library,
                                  const struct lower_options *options, struct diag *diag);

/* ---- for element functions (lower_*.c) ---- */

struct emit;                            /* An emit is a kernel that is being written. */

/* Returns the element of v at index (one expression of type index per dimension, simple: a literal,
 * a variable, or cheap), in v's element type: a load, a literal of a splat, or the element function
 * of a fused producer. Repeats are shared. */
struct loop_expr *emit_element(struct emit *e, const struct value *v,
                               struct loop_expr *const *index);
/* Returns the same, converted to the compute type. */
struct loop_expr *emit_compute(struct emit *e, const struct value *v,
                               struct loop_expr *const *index);
struct loop_expr *emit_formula(struct emit *e, const char *formula, struct loop_expr *const *args,
                               int count);

struct arena *emit_arena(struct emit *e);
/* These functions write statements into the innermost open block; names are made unique in the
 * kernel. */
/* Returns a use of the variable; leaves are returned as they are. */
struct loop_expr *emit_let(struct emit *e, const char *name, struct loop_expr *value);
struct loop_variable *emit_var(struct emit *e, const char *name, struct loop_type type,
                               struct loop_expr *initial);
void emit_set(struct emit *e, struct loop_variable *v, struct loop_expr *value);
/* Opens a loop, and returns its variable; a literal 0 for a loop from 0 to 1. */
struct loop_expr *emit_for(struct emit *e, const char *name, struct loop_expr *from,
                           struct loop_expr *to);
/* Opens a block. */
void emit_if(struct emit *e, struct loop_expr *condition);
/* Closes the innermost for or if. */
void emit_end(struct emit *e);
/* Writes nothing when unchecked. */
void emit_fail_if(struct emit *e, struct loop_expr *condition, int code);

#endif
