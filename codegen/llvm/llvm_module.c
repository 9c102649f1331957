/* SPDX-License-Identifier: MIT */
/* Modules of LLVM: a program as one, and what is done with it before code is made. */
#include <string.h>

#include "codegen/llvm/llvm_writer.h"

/* ---- modules ---- */

static bool verify(struct llvm_writer *w)
{
        char *said = NULL;
        const bool wrong = llvm.VerifyModule(w->module, LLVMReturnStatusAction, &said);
        if (wrong)
                llvm_fail(w, EXIT_INTERNAL, "LLVM refuses what was printed: %.400s", said);
        llvm.DisposeMessage(said);
        return !wrong;
}

/* The linker wants to know how functions are called where the triple does not say it. */
static void flag_abi(struct llvm_writer *w)
{
        static const char key[] = "target-abi";
        if (!*w->abi)
                return;
        LLVMMetadataRef value = llvm.MDStringInContext2(w->context, w->abi, strlen(w->abi));
        llvm.AddModuleFlag(w->module, LLVMModuleFlagBehaviorError, key, sizeof key - 1, value);
}

void llvm_module_free(struct llvm_module *m)
{
        llvm.DisposeModule(m->module);
        if (m->machine)
                llvm.DisposeTargetMachine(m->machine);
        llvm.ContextDispose(m->context);
}

/* Prints with a writer of which the fields that say what is printed are set. */
static bool print_module(struct llvm_module *m, struct llvm_writer *w, enum llvm_level level,
                         bool here, void (*print)(struct llvm_writer *w, void *context),
                         void *context)
{
        const struct loop_program *p = w->p;
        w->context = m->context = llvm.ContextCreate();
        w->module = m->module = llvm.ModuleCreateWithNameInContext(p->name ? p->name : "",
                                                                   w->context);
        w->at = llvm.CreateBuilderInContext(w->context);
        m->machine = llvm_machine(w, level, here);
        if (m->machine && !w->failed) {
                flag_abi(w);
                llvm_functions_of(w, print, context);
        }
        llvm.DisposeBuilder(w->at);
        m->is_small = w->is_bare;
        m->abi = w->abi;
        const bool fine = !w->failed && verify(w);
        if (!fine)
                llvm_module_free(m);
        return fine;
}

bool llvm_module_of(struct llvm_module *m, const struct loop_program *p, const struct target *t,
                    const char *triple, int threads,
                    void (*print)(struct llvm_writer *w, void *context), void *context,
                    struct diag *diag)
{
        struct arena *arena = arena_new();
        struct llvm_writer w = { .arena = arena,
                                 .p = p,
                                 .target = t,
                                 .diag = diag,
                                 .named = true,
                                 .threads = threads,
                                 .triple = triple };
        const bool fine = print_module(m, &w, LLVM_LEVEL_OBJECT, false, print, context);
        arena_free(arena);
        return fine;
}

bool llvm_module(struct llvm_module *m, const struct loop_program *p, const struct target *t,
                 const struct llvm_options *options, const struct llvm_unit *unit,
                 struct diag *diag)
{
        struct arena *arena = arena_new();
        struct llvm_writer w = { .arena = arena,
                                 .p = p,
                                 .target = t,
                                 .diag = diag,
                                 .named = unit->named,
                                 .unit = unit->number,
                                 .units = unit->units,
                                 .hooked = options->watch && options->watch->after,
                                 .threads = options->threads };
        const bool fine = print_module(m, &w, options->level, true, unit->print, unit->context);
        arena_free(arena);
        return fine;
}

/* The least passes that keep run time: docs/measurements/jit.md has what others cost. The printer
 * leaves nothing to take out of memory, to rotate or to inline; where the target has no vectors,
 * LLVM makes some. */
#define LEAST "early-cse<memssa>,simplifycfg"
static const char *passes_for(const struct target *t, enum llvm_level level, bool is_small)
{
        const bool is_object = level == LLVM_LEVEL_OBJECT,
                   has_vectors = target_vector_bytes(is_object ? target_widest(t) : t) > 0;
        if (is_object)
                return has_vectors ? "function(" LEAST "),constmerge,globaldce"
                       : is_small  ? "default<Os>"
                                   : "default<O2>";
        return has_vectors ? "function(" LEAST ")"
                           : "function(" LEAST ",loop-vectorize,instcombine)";
}

bool llvm_optimize(LLVMModuleRef module, LLVMTargetMachineRef machine, const struct target *t,
                   enum llvm_level level, bool is_small, char *wrong, size_t size)
{
        if (level == LLVM_LEVEL_FAST)
                return true;
        LLVMPassBuilderOptionsRef options = llvm.CreatePassBuilderOptions();
        LLVMErrorRef error =
                llvm.RunPasses(module, passes_for(t, level, is_small), machine, options);
        llvm.DisposePassBuilderOptions(options);
        if (error) {
                char *said = llvm.GetErrorMessage(error);
                snprintf(wrong, size, "LLVM's passes: %s", said);
                llvm.DisposeErrorMessage(said);
        }
        return !error;
}

static void print_process(struct llvm_writer *w, void *context)
{
        (void)context;
        llvm_print_main(w, LLVM_MAIN);
}

const char *llvm_text(struct arena *arena, const struct loop_program *p, const struct target *t,
                      struct diag *diag)
{
        struct llvm_module m;
        const struct llvm_options options = { .level = LLVM_LEVEL_FAST };
        const struct llvm_unit unit = { .named = true, .print = print_process };
        if (!llvm_load(diag) || !llvm_module(&m, p, t, &options, &unit, diag))
                return NULL;
        char *text = llvm.PrintModuleToString(m.module);
        const char *copy = arena_string(arena, text);
        llvm.DisposeMessage(text);
        llvm_module_free(&m);
        return copy;
}
