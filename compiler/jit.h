/* SPDX-License-Identifier: MIT */
/* Runs on inputs that dnncc makes (--run=random, --run=zeros), and through LLVM (--jit). */
#ifndef COMPILER_JIT_H
#define COMPILER_JIT_H

#include "codegen/llvm/llvm_printer.h"
#include "compiler/harness.h"

/* Compiles a planned program as the options say; NULL after an error. */
struct llvm_jit *jit_new(struct run *run, const struct loop_program *p, const struct target *t);
struct llvm_jit *jit_watched(struct run *run, const struct loop_program *p, const struct target *t,
                             const struct llvm_watch *watch);

/* Runs a planned program that was compiled in this process, as compiled_run does. Returns false
 * after an error. */
bool jit_run(struct run *run, const struct loop_program *p, const struct target *t,
             int64_t *extents, const void *const *inputs, void *const *outputs, int *code);
/* Does the same for --check, as struct pipeline_options says; runner is the struct run. */
const char *jit_check(void *runner, struct loop_program *p, const struct target *t,
                      int64_t *extents, const void *const *inputs, void *const *outputs, int *code);

/* Programs in this process, which the harness times in place of those of C (jit_time.c). */
struct jit_programs *jit_programs_new(struct run *run);
void jit_programs_free(struct jit_programs *programs);
/* Says what the program would read from a file of that number. It is copied. */
bool jit_programs_input(struct jit_programs *programs, int file, const void *data, size_t bytes);
/* Makes code of the entry at of->state.program->at, and forgets what had the name. The run has to
 * live as long, or until the name is taken again. The others are as for harness_compile and
 * harness_run. These return false after an error. */
bool jit_program_compile(struct jit_programs *programs, const char *name, struct run *of,
                         int profiled, bool by_thread);
bool jit_program_time(const struct harness *h, const char *name, double seconds, int least,
                      bool peak, struct harness_times *times);

/* Which inputs does the argument of --run ask for? */
enum drawn_inputs { DRAWN_NOT, DRAWN_RANDOM, DRAWN_ZEROS };
enum drawn_inputs drawn_inputs(const char *argument);
/* Returns input k of the entry at p->at, in the run's arena. */
void *drawn_input(struct run *run, enum drawn_inputs how, int k, const struct loop_buffer *b);
/* Prints a line about an output of so many elements: its type and shape, mean and extremes. */
void drawn_output(const char *name, const struct loop_buffer *b, const int64_t *shape,
                  int64_t count, const void *data);

#endif
