/* SPDX-License-Identifier: MIT */
/* The interpreter: runs a Loop IR program. It is the constant folder, the reference for --check and
 * --test.
 *
 * A program is compiled once to flat code over 64-bit slots, then run; no recursion, no libm beyond
 * sqrt, fma and conversions of the compiler itself, no allocation while running. */
#ifndef IR_INTERP_INTERP_H
#define IR_INTERP_INTERP_H

#include "ir/loop/loop.h"

struct interp;

/* Makes an interpreter. as_double: every float buffer and operation is in double precision: inputs
 * and constants are widened, outputs of float type are written as double, library functions of f32
 * are replaced by their f64 twins, conversions between float types do nothing, and bits of a float
 * are those of the number rounded to its type. Returns NULL after an error (EXIT_BUDGET when the
 * workspace is beyond max_bytes; 0 is no limit). */
struct interp *interp_new(const struct loop_program *p, bool as_double, uint64_t max_bytes,
                          struct diag *diag);
struct interp *interp_new_entry(const struct loop_program *p, int entry, bool as_double,
                                uint64_t max_bytes,
                                struct diag *diag); /* The program has several entries. */
void interp_free(struct interp *interp);

/* Sets the program's extents for the runs that follow, in their order, each within its bounds.
 * Until then they are at their upper bounds. */
void interp_set_extents(struct interp *interp, const int64_t *values);
/* Returns the values of the program's extents behind a run, counted ones among them. */
void interp_get_extents(const struct interp *interp, int64_t *values);

/* Negative results are the code of a FAIL. OUT_OF_RANGE: a subscript outside its buffer, a bug of
 * what made the program. */
enum { INTERP_OK = 0, INTERP_OUT_OF_STEPS = 1, INTERP_OUT_OF_RANGE = 2 };

/* inputs[] and outputs[] are the entry's, in the program's buffer order, state in both, which may
 * lie at one address (unless it is widened); they are aligned, with room for
 * their buffers' elements, of which a run uses the first ones, dense (loop_port_elements).
 * max_steps bounds executed instructions (0: there is no limit). *steps, if steps is not NULL,
 * receives how many were executed. */
int interp_run(struct interp *interp, const void *const *inputs, void *const *outputs,
               uint64_t max_steps, uint64_t *steps);

#endif
