/* SPDX-License-Identifier: MIT */
/* Runs on inputs that dnncc makes (--run=random, --run=zeros), and through LLVM (--jit). */
#ifndef COMPILER_JIT_H
#define COMPILER_JIT_H

#include "codegen/llvm/llvm_printer.h"
#include "compiler/harness.h"

/* Compiles a planned program as the options say; NULL after an error. */
struct llvm_jit *jit_new(struct run *run, const struct loop_program *p, const struct target *t);

/* Runs a planned program that was compiled in this process, as compiled_run does. Returns false
 * after an error. */
bool jit_run(struct run *run, const struct loop_program *p, const struct target *t,
             int64_t *extents, const void *const *inputs, void *const *outputs, int *code);
/* Does the same for --check, as struct pipeline_options says; runner is the struct run. */
const char *jit_check(void *runner, struct loop_program *p, const struct target *t,
                      int64_t *extents, const void *const *inputs, void *const *outputs, int *code);

/* Compiles the entry at run->state.program->at, and runs it for `seconds`, for --bench. Returns
 * false after an error. */
struct jit_timing { double seconds; struct harness_times times; int code; };
bool jit_time(struct run *run, struct jit_timing *timing, const void *const *inputs,
              void *const *outputs);

/* Which inputs does the argument of --run ask for? */
enum drawn_inputs { DRAWN_NOT, DRAWN_RANDOM, DRAWN_ZEROS };
enum drawn_inputs drawn_inputs(const char *argument);
/* Returns input k of the entry at p->at, in the run's arena. */
void *drawn_input(struct run *run, enum drawn_inputs how, int k, const struct loop_buffer *b);
/* Prints a line about an output of so many elements: its type and shape, mean and extremes. */
void drawn_output(const char *name, const struct loop_buffer *b, const int64_t *shape,
                  int64_t count, const void *data);

#endif
