/* SPDX-License-Identifier: MIT */
/* Writes a program as a file that an application is linked with: --emit=llvm, bitcode, object and
 * asm. Text and bitcode are what is printed, before passes of LLVM; an object is made of what these
 * leave. */
#include <stdio.h>

#include "codegen/llvm/llvm_contract.h"

/* ---- what an object cannot have ---- */

/* Returns why the program has no object, or NULL. */
static const char *obstacle(const struct loop_program *p, const struct print_options *o)
{
        const struct target *t = o->target;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next)
                if (b->is_text)
                        return "has no texts, which model inputs or outputs are here";
        if (target_printer(t) != &c_printer || target_accelerator(t))
                return "is for processors, not for GPUs and accelerators";
        if (target_length(t))
                return "has no vector registers of any length";
        if (o->lesser_count)
                return "is for one target";
        return p->entries[0].record ? "has no runs in steps" : NULL;
}

/* ---- the module ---- */

static void at_entry(struct llvm_contract *c, int entry)
{
        struct llvm_writer *w = c->w;
        const struct loop_program *p = w->p;
        c->entry = entry;
        c->prefix = p->entry_count == 1 ? c->options->prefix
                                        : arena_printf(w->arena, "%s_%s", c->options->prefix,
                                                       p->entries[entry].name);
        c->inputs = llvm_ports(c, SPACE_INPUT);
        c->outputs = llvm_ports(c, SPACE_OUTPUT);
        c->states = llvm_ports(c, SPACE_STATE);
}

static void print_entry(struct llvm_contract *c, int entry)
{
        struct llvm_writer *w = c->w;
        at_entry(c, entry);
        llvm_run(c);
        if (!w->failed && c->options->descriptor)
                llvm_describe(c);
}

static void print(struct llvm_writer *w, void *contract)
{
        struct llvm_contract *c = contract;
        c->w = w;
        c->globals = map_new(w->arena);
        c->has_weights = c->options->weights == PRINT_WEIGHTS_FILE;
        w->contract = c;
        /* Their names are taken before others are. */
        for (int e = 0; e < w->p->entry_count; e++) {
                at_entry(c, e);
                llvm_declare_public(c);
        }
        for (int e = 0; e < w->p->entry_count && !w->failed; e++)
                print_entry(c, e);
        if (!w->failed && c->states.count)
                llvm_state_reset(c);
}

/* ---- files ---- */

static bool write_text(FILE *out, LLVMModuleRef module)
{
        char *text = llvm.PrintModuleToString(module);
        fputs(text, out);
        llvm.DisposeMessage(text);
        return true;
}

static bool write_buffer(FILE *out, LLVMMemoryBufferRef buffer)
{
        fwrite(llvm.GetBufferStart(buffer), 1, llvm.GetBufferSize(buffer), out);
        llvm.DisposeMemoryBuffer(buffer);
        return true;
}

static bool write_code(FILE *out, const struct llvm_module *m, LLVMCodeGenFileType type,
                       struct diag *diag)
{
        LLVMMemoryBufferRef buffer;
        char *said = NULL;
        if (!llvm.TargetMachineEmitToMemoryBuffer(m->machine, m->module, type, &said, &buffer)) {
                /* The buffer is this process's, of which LLVM hands out constant bytes. */
                if (type == LLVMObjectFile)
                        llvm_finish_object((char *)(uintptr_t)llvm.GetBufferStart(buffer),
                                           llvm.GetBufferSize(buffer), m->abi);
                return write_buffer(out, buffer);
        }
        diag_error(diag, EXIT_UNSUPPORTED, "LLVM makes no code: %s", said);
        llvm.DisposeMessage(said);
        return false;
}

static bool write_module(FILE *out, const struct llvm_module *m, const struct target *t,
                         enum llvm_format format, struct diag *diag)
{
        if (format == LLVM_FORMAT_TEXT)
                return write_text(out, m->module);
        if (format == LLVM_FORMAT_BITCODE)
                return write_buffer(out, llvm.WriteBitcodeToMemoryBuffer(m->module));
        char wrong[256];
        if (llvm_optimize(m->module, m->machine, t, LLVM_LEVEL_OBJECT, m->is_small, wrong,
                          sizeof wrong))
                return write_code(out, m,
                                  format == LLVM_FORMAT_OBJECT ? LLVMObjectFile : LLVMAssemblyFile,
                                  diag);
        diag_error(diag, EXIT_INTERNAL, "%s", wrong);
        return false;
}

bool llvm_emit(enum llvm_format format, FILE *out, FILE *header, const struct loop_program *p,
               const struct print_options *options, const char *triple, struct diag *diag)
{
        const char *why = obstacle(p, options);
        if (why) {
                diag_error(diag, EXIT_UNSUPPORTED, "an object %s", why);
                return false;
        }
        struct arena *arena = arena_new();
        struct c_interface interface = { .weights = NULL };
        struct llvm_contract contract = { .options = options, .interface = &interface };
        struct llvm_module m;
        bool fine = llvm_load(diag) &&
                    c_interface_print(header, p, options, arena, &interface, diag);
        fine = fine && llvm_module_of(&m, p, options->target, triple, options->threads, print,
                                      &contract, diag);
        if (fine) {
                fine = write_module(out, &m, options->target, format, diag);
                llvm_module_free(&m);
        }
        arena_free(arena);
        return fine;
}
