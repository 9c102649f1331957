/* SPDX-License-Identifier: MIT */
/* --jit: a program is compiled by LLVM in this process, and run (codegen/llvm/). With --run=random
 * and --run=zeros the model runs on inputs that dnncc makes, however it runs:
 *
 *      output 'probabilities': f32 1 x 1000, mean 0.001, from 3.1e-07 to 0.0724
 *      compiled in 812.4 ms, ran in 31.20 ms
 */
#include "compiler/jit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "codegen/targets.h"
#include "compiler/cache.h"
#include "ir/loop/fail_codes.h"

/* ---- running ---- */

static bool is_possible(struct run *run, const struct loop_program *p, const struct target *t)
{
        const char *obstacle = p->entries[p->at].record ? "has no runs in steps yet" : NULL;
        if (obstacle)
                diag_error(&run->diag, EXIT_UNSUPPORTED, "--jit %s", obstacle);
        else if (!target_runs_here(t))
                diag_error(&run->diag, EXIT_UNSUPPORTED,
                           "--jit runs code here, and this processor is not for target %s",
                           t->name);
        return !obstacle && target_runs_here(t);
}

struct llvm_jit *jit_new(struct run *run, const struct loop_program *p, const struct target *t)
{
        return jit_watched(run, p, t, NULL);
}

struct llvm_jit *jit_watched(struct run *run, const struct loop_program *p, const struct target *t,
                             const struct llvm_watch *watch)
{
        if (!is_possible(run, p, t))
                return NULL;
        const struct llvm_options options = {
                .level = run->options.jit == JIT_FAST ? LLVM_LEVEL_FAST : LLVM_LEVEL_BEST,
                .threads = run->context.threads,
                .store = cache_code(run),
                .watch = watch,
                .perf_map = run->options.perf_map,
        };
        return llvm_jit_new(p, t, &options, &run->diag);
}

bool jit_run(struct run *run, const struct loop_program *p, const struct target *t,
             int64_t *extents, const void *const *inputs, void *const *outputs, int *code)
{
        const double start = clock_seconds();
        struct llvm_jit *jit = jit_new(run, p, t);
        if (!jit)
                return false;
        const double compiled = clock_seconds();
        *code = llvm_jit_run(jit, extents, inputs, outputs);
        const double ran = clock_seconds();
        llvm_jit_free(jit);
        if (run->options.run && drawn_inputs(run->options.run))
                printf("compiled in %.1f ms, ran in %.3f ms\n", 1e3 * (compiled - start),
                       1e3 * (ran - compiled));
        return true;
}

const char *jit_check(void *runner, struct loop_program *p, const struct target *t,
                      int64_t *extents, const void *const *inputs, void *const *outputs, int *code)
{
        struct run run = *(const struct run *)runner;
        run.diag = (struct diag){ .silent = true };
        run.options.run = NULL;
        return jit_run(&run, p, t, extents, inputs, outputs, code)
                       ? NULL
                       : "the interpreter takes too long, and LLVM could not compile it here";
}

/* ---- inputs and outputs ---- */

enum drawn_inputs drawn_inputs(const char *argument)
{
        return !strcmp(argument, "random")  ? DRAWN_RANDOM
               : !strcmp(argument, "zeros") ? DRAWN_ZEROS
                                            : DRAWN_NOT;
}

void *drawn_input(struct run *run, enum drawn_inputs how, int k, const struct loop_buffer *b)
{
        /* State begins as zeros. */
        return how == DRAWN_RANDOM && b->space == SPACE_INPUT
                       ? harness_drawn(run, k, b)
                       : arena_array(run->arena, (size_t)b->extent + 1,
                                     (size_t)element_info[b->element].bytes);
}

void drawn_output(const char *name, const struct loop_buffer *b, const int64_t *shape,
                  int64_t count, const void *data)
{
        const enum element e = b->element;
        double sum = 0, low = INFINITY, high = -INFINITY;
        int64_t numbers = 0;
        for (int64_t i = 0; i < count && !b->is_text; i++) {
                const union scalar s = element_load(e, data, (size_t)i);
                const double x = element_is_float(e)                   ? s.f
                                 : element_info[e].class == CLASS_SINT ? (double)s.i
                                                                       : (double)s.u;
                if (isnan(x))
                        continue;
                numbers++;
                sum += x;
                low = fmin(low, x);
                high = fmax(high, x);
        }
        printf("output '%s': %s", name, element_info[loop_buffer_element(b)].text);
        for (int d = 0; b->type && d < b->type->rank; d++)
                printf("%s%" PRId64, d ? " x " : " ", shape[d]);
        if (numbers)
                printf(", mean %.6g, from %.6g to %.6g", sum / (double)numbers, low, high);
        if (numbers < count && !b->is_text)
                printf(", %" PRId64 " of them NaN", count - numbers);
        puts("");
}
