/* SPDX-License-Identifier: MIT */
/* Constants inside kernels: a kernel of many buffers, as streams of rows are, names its constants
 * itself (inside.c).
 *
 *      static void conv(const i8 *x, const i8 *w, i8 *y) {
 *   ->
 *      static void conv(const i8 *x, i8 *y) {
 *              const i8 *const w = w1.values;
 *
 * Parameters beyond the first few lie on the stack, in the caller's frame, and often once more in
 * the kernel's own. */
#ifndef CODEGEN_INSIDE_H
#define CODEGEN_INSIDE_H

#include "ir/loop/loop.h"

/* Returns which kernels of the program may name constants. It lives in the arena, and the program's
 * calls are not to change meanwhile. */
struct inside;
const struct inside *inside_new(struct arena *arena, const struct loop_program *p);
/* Returns the constant that is the i-th buffer of f, where f names it itself if it has a name that
 * is the same in each run. NULL: the buffer is a parameter. */
struct loop_buffer *inside_constant(const struct inside *in, const struct loop_function *f, int i);

#endif
