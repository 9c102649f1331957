/* SPDX-License-Identifier: MIT */
/* The machine that code is for, in LLVM's words: of the target's row, of a triple that is asked
 * for, or this processor. */
#include <ctype.h>
#include <string.h>

#include "codegen/llvm/llvm_writer.h"

struct processor_words {
        const char *word, *initialize, *intrinsics, *features, *floats, *abi;
};
static const struct processor_words processors[] = {
#define PROCESSOR(word, initialize, intrinsics, features, floats, abi)                             \
        { word, initialize, intrinsics, features, floats, abi },
#include "codegen/llvm/llvm_processors.def"
};
enum { PROCESSORS = sizeof processors / sizeof *processors };

static const struct processor_words *processor_of(const char *triple)
{
        for (int i = 0; i < PROCESSORS; i++)
                if (!strncmp(triple, processors[i].word, strlen(processors[i].word)))
                        return &processors[i];
        return NULL;
}

/* ---- triples ---- */

/* Returns words of triples that this LLVM makes code for. */
static const char *known_words(struct llvm_writer *w)
{
        const char *words = "";
        for (int i = 0; i < PROCESSORS; i++)
                if (llvm_initialize(processors[i].initialize))
                        words = arena_printf(w->arena, "%s%s%s", words, *words ? ", " : "",
                                             processors[i].word);
        return words;
}

/* Is it two to five words of letters, digits, _ and . behind hyphens? */
static bool is_triple(const char *text)
{
        int words = 1;
        for (const char *p = text; *p; p++) {
                if (!isalnum((unsigned char)*p) && !strchr("_.-", *p))
                        return false;
                words += *p == '-';
                if (*p == '-' && (p == text || p[1] == '-' || !p[1]))
                        return false;
        }
        return *text && words > 1 && words < 6 && strlen(text) < 100;
}

/* Returns it with a word in each place, from which LLVM reads it: armv7-unknown-linux-gnueabihf of
 * armv7-linux-gnueabihf. */
static const char *normal(struct llvm_writer *w, const char *triple)
{
        char *text = llvm.NormalizeTargetTriple(triple);
        const char *copy = arena_string(w->arena, text);
        llvm.DisposeMessage(text);
        return copy;
}

/* Returns the triple that code is for, or NULL after an error. */
static const char *triple_of(struct llvm_writer *w)
{
        const char *asked = w->triple, *own = target_triple(w->target);
        const char *triple = asked ? asked : own;
        if (!triple)
                llvm_fail(w, EXIT_USAGE,
                          "target %s is for any processor: --triple says for which one code is "
                          "made, as --triple=x86_64-unknown-linux-gnu, or thumbv7em-none-eabi",
                          w->target->name);
        else if (!is_triple(triple))
                llvm_fail(w, EXIT_USAGE,
                          "--triple wants words as in aarch64-unknown-linux-gnu, not '%s'",
                          text_argument(w->arena, triple));
        else if (!processor_of(triple) || !llvm_initialize(processor_of(triple)->initialize))
                llvm_fail(w, EXIT_UNSUPPORTED,
                          "this LLVM makes no code for the triple %s; those for which it does "
                          "begin with %s",
                          triple, known_words(w));
        else if (asked && own &&
                 strcmp(processor_of(own)->initialize, processor_of(asked)->initialize))
                llvm_fail(w, EXIT_USAGE,
                          "--triple=%s is another processor than target %s is for (%s)", asked,
                          w->target->name, own);
        return w->failed ? NULL : normal(w, triple);
}

static bool ends_in(const char *text, const char *end)
{
        const size_t length = strlen(text), tail = strlen(end);
        return length >= tail && !strcmp(text + length - tail, end);
}

/* Is there no operating system? Then code lies where it is linked to, and is to be small. */
static bool is_bare(const char *triple)
{
        return strstr(triple, "-none") || strstr(triple, "-elf");
}

/* ---- features ---- */

/* Adds "+avx2,+fma" of "avx2,fma". */
static const char *with_features(struct arena *arena, const char *features, const char *words)
{
        while (words && *words) {
                const int length = (int)strcspn(words, ",");
                features = arena_printf(arena, "%s%s+%.*s", features, *features ? "," : "", length,
                                        words);
                words += length + (words[length] == ',');
        }
        return features;
}

/* CPU names that LLVM has from these versions on; others it has had for longer than dnncc asks. An
 * older one goes by the features alone. */
static const struct { const char *cpu; int version; } since[] = {
        { "znver4", 16 }, { "graniterapids", 16 }, { "znver5", 19 },
};

static const char *known_cpu(const char *cpu)
{
        for (size_t i = 0; i < sizeof since / sizeof *since; i++)
                if (cpu && !strcmp(since[i].cpu, cpu) && llvm_version() < since[i].version)
                        return "";
        return cpu ? cpu : "";
}

/* ---- machines ---- */

static LLVMTargetMachineRef machine_new(struct llvm_writer *w, const char *triple,
                                        enum llvm_level level)
{
        char *wrong = NULL;
        LLVMTargetRef target;
        LLVMTargetMachineRef machine = NULL;
        const bool is_risc_v = !strcmp(processor_of(triple)->initialize, "RISCV");
        if (llvm.GetTargetFromTriple(triple, &target, &wrong))
                llvm_fail(w, EXIT_UNSUPPORTED, "LLVM: %s", wrong);
        else
                machine = llvm.CreateTargetMachine(
                        target, triple, w->cpu, w->features,
                        level == LLVM_LEVEL_FAST ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault,
                        w->is_bare ? LLVMRelocStatic : LLVMRelocPIC,
                        is_risc_v ? LLVMCodeModelMedium : LLVMCodeModelSmall);
        if (wrong)
                llvm.DisposeMessage(wrong);
        if (!machine && !w->failed)
                llvm_fail(w, EXIT_UNSUPPORTED, "LLVM has no %s with %s", triple, w->features);
        return machine;
}

/* Notes the layout of data, and what follows from it. */
static void use_layout(struct llvm_writer *w, LLVMTargetMachineRef machine, const char *triple)
{
        LLVMTargetDataRef layout = llvm.CreateTargetDataLayout(machine);
        const bool is_big = llvm.ByteOrder(layout) == LLVMBigEndian;
        llvm.SetTarget(w->module, triple);
        llvm.SetModuleDataLayout(w->module, layout);
        w->index_bits = 8 * (int)llvm.PointerSize(layout);
        if (is_big != w->target->big_endian)
                llvm_fail(w, EXIT_USAGE,
                          "--triple=%s is %s-endian, and target %s is not: --target=%s is", triple,
                          is_big ? "big" : "little", w->target->name,
                          is_big ? "generic-be" : "generic");
        llvm.DisposeTargetData(layout);
}

/* Notes what the machine is called, in LLVM's words. Returns its triple; NULL after an error. */
static const char *name_machine(struct llvm_writer *w, bool here)
{
        char *own = here ? llvm.GetDefaultTargetTriple() : NULL;
        const char *triple = own ? arena_string(w->arena, own) : triple_of(w);
        const struct target *t = w->target;
        if (own)
                llvm.DisposeMessage(own);
        const struct processor_words *words = triple ? processor_of(triple) : NULL;
        if (triple && (!words || !llvm_initialize(words->initialize)))
                llvm_fail(w, EXIT_UNSUPPORTED, "this LLVM makes no code for %s", triple);
        if (w->failed)
                return NULL;
        const char *features = target_features(t) ? target_features(t) : target_attribute(t);
        w->cpu = known_cpu(target_cpu(t));
        w->features = with_features(w->arena, "", words->features);
        if (ends_in(triple, "hf"))
                w->features = with_features(w->arena, w->features, words->floats);
        w->features = with_features(w->arena, w->features, features);
        w->abi = target_abi(t) ? target_abi(t) : words->abi;
        w->intrinsics = words->intrinsics;
        w->is_bare = is_bare(triple);
        return triple;
}

LLVMTargetMachineRef llvm_machine(struct llvm_writer *w, enum llvm_level level, bool here)
{
        const char *triple = name_machine(w, here);
        LLVMTargetMachineRef machine = triple ? machine_new(w, triple, level) : NULL;
        if (machine)
                use_layout(w, machine, triple);
        return machine;
}

const char *llvm_identity(struct arena *arena, const struct target *t,
                          const struct llvm_options *options, struct diag *diag)
{
        struct llvm_writer w = { .arena = arena, .target = t, .diag = diag };
        const char *triple = name_machine(&w, true);
        return triple ? arena_printf(arena, "LLVM %d, %s, %s, %s, level %d, %d threads",
                                     llvm_version(), triple, w.cpu, w.features,
                                     (int)options->level, options->threads)
                      : NULL;
}
