/* SPDX-License-Identifier: MIT */
/* Random programs (random_program.h) compiled as dnncc does it, for targets that this processor has, and run by LLVM in this process: each gives
 * the bits of the interpreter, without LLVM's passes and with them.
 *
 *     llvm_random_test [COUNT [FIRST SEED]] */
#include <inttypes.h>
#include <stdio.h>

#include "codegen/llvm/llvm_printer.h"
#include "codegen/targets.h"
#include "ir/interp/interp.h"
#include "kernels/kernels.h"
#include "passes/manager.h"
#include "test/unit/random_program.h"

enum { DEFAULT_COUNT = 300, PORTS_MAX = 8, BEST_EVERY = 4 };

static const struct loop_library *library;

/* 0: equal; 1: not, and said; -1: the interpreter or the generator has no result */
static int beside(struct arena *arena, const struct loop_program *p, const struct target *t, uint64_t seed, enum llvm_level level, struct diag *diag)
{
        const void *inputs[PORTS_MAX];
        void *want[PORTS_MAX], *got[PORTS_MAX];
        const struct loop_buffer *ports[PORTS_MAX];
        int in = 0, out = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                if (b->space != SPACE_INPUT && b->space != SPACE_OUTPUT)
                        continue;
                unsigned char *bytes = arena_alloc(arena, (size_t)b->extent * 8 + 8);
                if (b->space == SPACE_OUTPUT) {
                        ports[out] = b;
                        want[out] = bytes;
                        got[out++] = arena_alloc(arena, (size_t)b->extent * 8 + 8);
                        continue;
                }
                uint64_t stream = seed + (uint64_t)in;
                for (int64_t i = 0; i < b->extent; i++) {
                        const uint64_t r = random_next(&stream);
                        union scalar s = { .i = (int64_t)(r % 9) - 4 };
                        if (element_is_float(b->element))
                                s.f = r % 97 == 0 ? NAN : r % 89 == 0 ? INFINITY : (double)(int64_t)(r >> 11) * 0x1p-50 - 4;
                        else if (element_info[b->element].class != CLASS_SINT)
                                s.u = b->element == E_BOOL ? r & 1 : r % 5;
                        element_store(b->element, bytes, (size_t)i, s);
                }
                inputs[in++] = bytes;
        }
        struct interp *interp = interp_new(p, false, 0, diag);
        if (!interp)
                return -1;
        const int code = interp_run(interp, inputs, want, 0, NULL);
        interp_free(interp);
        struct llvm_jit *jit = llvm_jit_new(p, t, &(struct llvm_options){ .level = level, .compilers = level == LLVM_LEVEL_BEST ? 3 : 1, .module_nodes = 1 }, diag);
        if (!jit)
                return 1;
        const int own = llvm_jit_run(jit, NULL, inputs, got);
        llvm_jit_free(jit);
        if (own != code) {
                fprintf(stderr, "the run ended with %d, the interpreter's with %d\n", own, code);
                return 1;
        }
        for (int k = 0; k < out && !code; k++)
                for (int64_t i = 0; i < ports[k]->extent; i++) {
                        const enum element e = ports[k]->element;
                        const size_t bytes = (size_t)element_info[e].bytes, at = (size_t)i * bytes;
                        const union scalar a = element_load(e, want[k], (size_t)i), b = element_load(e, got[k], (size_t)i);
                        if (!memcmp((char *)want[k] + at, (char *)got[k] + at, bytes) || (element_is_float(e) && isnan(a.f) && isnan(b.f)))
                                continue;
                        fprintf(stderr, "output %d element %" PRId64 " is %.9g, the interpreter says %.9g\n", k, i, b.f, a.f);
                        return 1;
                }
        return 0;
}

static uint64_t compared;                /* as many have a result */

static bool run_seed(uint64_t seed, const struct target *t, enum llvm_level level)
{
        struct diag diag = { .subject = "random", .verbosity = -1 };
        struct arena *arena = arena_new();
        struct pass_context context = {
                .diag = &diag, .target = t, .library = library, .limits = limits_preset, .threads = 1,
                .lower = { .target = t, .scheduler = &kernels_scheduler, .threads = 1, .views = true },
        };
        struct pipeline_state state = { .module = random_program(seed, ~UINT64_C(0), seed % 3 == 0, false, &diag) };
        const struct pipeline_options options = { .level = 2, .verify = true };
        int wrong = -1;
        if (!diag.errors && pipeline_run(&state, &options, &context) && state.program)
                wrong = beside(arena, state.program, t, seed, level, &diag);
        compared += wrong == 0;
        if (wrong > 0)
                fprintf(stderr, "seed %" PRIu64 " for %s by --jit=%s\n", seed, t->name, level == LLVM_LEVEL_FAST ? "fast" : "best");
        module_free(state.module);
        arena_free(arena);
        return wrong <= 0;
}

int main(int argc, char **argv)
{
        static const char *const targets[] = { "generic", "x86-64", "x86-64-v3", "x86-64-v4" };
        const uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : DEFAULT_COUNT, first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
        struct arena *arena = arena_new();
        struct diag diag = { .subject = "random" };
        uint64_t runs = 0;
        bool fine = (library = loop_library_new(arena, &diag)) != NULL;
        struct loop_program *empty = loop_program_new(arena, "empty", library);
        struct llvm_jit *jit = llvm_jit_new(empty, target_at(0), &(struct llvm_options){ .level = LLVM_LEVEL_FAST }, &diag);
        if (!jit) {
                puts("skipped: LLVM is missing, so no random program was compared with it");
                return 0;
        }
        llvm_jit_free(jit);
        for (uint64_t seed = first; seed < first + count; seed++) {
                const struct target *t = target_find(targets[seed % 4]);
                if (!t || !target_runs_here(t))
                        continue;
                fine &= run_seed(seed, t, seed / 4 % BEST_EVERY ? LLVM_LEVEL_FAST : LLVM_LEVEL_BEST);
                runs++;
        }
        fine &= compared * 10 >= runs * 9;
        printf("%" PRIu64 " of %" PRIu64 " random programs through LLVM %s\n", compared, runs, fine ? "give the interpreter's bits" : "alone do, or some DIFFER");
        arena_free(arena);
        return !fine;
}
