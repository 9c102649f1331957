/* SPDX-License-Identifier: MIT */
/* Modules of LLVM: a program as one, and what is done with it before code is made. */
#include <string.h>

#include "codegen/llvm/llvm_writer.h"

/* ---- the target in LLVM's words ---- */

/* The features of the target's attribute: "+avx2,+fma". */
static const char *features_of(struct arena *arena, const struct target *t)
{
        const char *words = target_attribute(t), *features = "";
        while (words && *words) {
                const int length = (int)strcspn(words, ",");
                features = arena_printf(arena, "%s%s+%.*s", features, *features ? "," : "", length,
                                        words);
                words += length + (words[length] == ',');
        }
        return features;
}

/* The processor that dnncc runs on, in the names of LLVM's functions. */
#if defined(__x86_64__) || defined(__i386__)
#define PROCESSOR "X86"
#elif defined(__aarch64__)
#define PROCESSOR "AArch64"
#elif defined(__arm__)
#define PROCESSOR "ARM"
#elif defined(__riscv)
#define PROCESSOR "RISCV"
#else
#define PROCESSOR "Native"
#endif

static LLVMTargetMachineRef machine_of(struct llvm_writer *w, enum llvm_level level)
{
        char *triple, *wrong = NULL;
        LLVMTargetRef target;
        if (!llvm_initialize(PROCESSOR)) {
                llvm_fail(w, EXIT_UNSUPPORTED, "this LLVM makes no code for %s", PROCESSOR);
                return NULL;
        }
        triple = llvm.GetDefaultTargetTriple();
        LLVMTargetMachineRef machine = NULL;
        if (llvm.GetTargetFromTriple(triple, &target, &wrong))
                llvm_fail(w, EXIT_UNSUPPORTED, "LLVM: %s", wrong);
        else
                machine = llvm.CreateTargetMachine(
                        target, triple, w->cpu, w->features,
                        level == LLVM_LEVEL_FAST ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault,
                                                   LLVMRelocPIC, LLVMCodeModelSmall);
        if (!machine)
                llvm_fail(w, EXIT_UNSUPPORTED, "LLVM has no %s with %s", triple, w->features);
        else
                llvm.SetTarget(w->module, triple);
        llvm.DisposeMessage(triple);
        if (wrong)
                llvm.DisposeMessage(wrong);
        return machine;
}

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

LLVMModuleRef llvm_module(const struct loop_program *p, const struct target *t,
                          const struct llvm_options *options, bool named,
                          LLVMContextRef *context, LLVMTargetMachineRef *of, struct diag *diag)
{
        if (!llvm_load(diag))
                return NULL;
        struct arena *arena = arena_new();
        struct llvm_writer w = {
                .arena = arena,
                .p = p,
                .target = t,
                .diag = diag,
                .named = named,
                .threads = options->threads,
        };
        w.cpu = target_cpu(t) ? target_cpu(t) : "";
        w.features = features_of(arena, t);
        w.context = *context = llvm.ContextCreate();
        w.module = llvm.ModuleCreateWithNameInContext(p->name ? p->name : "", w.context);
        w.at = llvm.CreateBuilderInContext(w.context);
        *of = machine_of(&w, options->level);
        if (*of) {
                LLVMTargetDataRef layout = llvm.CreateTargetDataLayout(*of);
                llvm.SetModuleDataLayout(w.module, layout);
                llvm.DisposeTargetData(layout);
                llvm_functions(&w, "dnncc_main");
        }
        llvm.DisposeBuilder(w.at);
        LLVMModuleRef module = w.module;
        if (w.failed || !verify(&w)) {
                llvm.DisposeModule(w.module);
                if (*of)
                        llvm.DisposeTargetMachine(*of);
                llvm.ContextDispose(w.context);
                module = NULL;
        }
        arena_free(arena);
        return module;
}

/* The least passes that keep run time: docs/measurements/jit.md has what others cost. The printer
 * leaves nothing to take out of memory, to rotate or to inline; where the target has no vectors,
 * LLVM makes some. */
static const char *passes_for(const struct target *t)
{
        return target_vector_bytes(t) ? "function(early-cse<memssa>,simplifycfg)"
                                      : "function(early-cse<memssa>,simplifycfg,loop-vectorize,"
                                        "instcombine)";
}

bool llvm_optimize(LLVMModuleRef module, LLVMTargetMachineRef machine, const struct target *t,
                   enum llvm_level level, struct diag *diag)
{
        if (level == LLVM_LEVEL_FAST)
                return true;
        LLVMPassBuilderOptionsRef options = llvm.CreatePassBuilderOptions();
        LLVMErrorRef error = llvm.RunPasses(module, passes_for(t), machine, options);
        llvm.DisposePassBuilderOptions(options);
        if (error) {
                char *said = llvm.GetErrorMessage(error);
                diag_error(diag, EXIT_INTERNAL, "LLVM's passes: %s", said);
                llvm.DisposeErrorMessage(said);
        }
        return !error;
}

const char *llvm_text(struct arena *arena, const struct loop_program *p, const struct target *t,
                      struct diag *diag)
{
        LLVMContextRef context;
        LLVMTargetMachineRef machine;
        const struct llvm_options options = { .level = LLVM_LEVEL_FAST };
        LLVMModuleRef module = llvm_module(p, t, &options, true, &context, &machine, diag);
        if (!module)
                return NULL;
        char *text = llvm.PrintModuleToString(module);
        const char *copy = arena_string(arena, text);
        llvm.DisposeMessage(text);
        llvm.DisposeModule(module);
        llvm.DisposeTargetMachine(machine);
        llvm.ContextDispose(context);
        return copy;
}
