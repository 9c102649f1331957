/* SPDX-License-Identifier: MIT */
/* LLVM's linker in this process: it puts objects into pages that are written first, and executable
 * then. */
#include <string.h>

#include "codegen/llvm/llvm_writer.h"
#include "runtime/dnncc_runtime.h"

static bool report(struct diag *diag, LLVMErrorRef error)
{
        if (!error)
                return true;
        char *said = llvm.GetErrorMessage(error);
        diag_error(diag, EXIT_UNSUPPORTED, "--jit: LLVM cannot load code here: %s", said);
        llvm.DisposeErrorMessage(said);
        return false;
}

typedef void any_function(void);

static bool define(struct llvm_linked *l, LLVMOrcJITDylibRef library, const char *name,
                   any_function *function, struct diag *diag)
{
        uintptr_t at;
        memcpy(&at, &function, sizeof at);      /* ISO C has no conversion to a number. */
        __typeof__(*(LLVMOrcCSymbolMapPairs)NULL) symbol = {
                .Name = llvm.OrcLLJITMangleAndIntern(l->jit, name),
                .Sym = { .Address = at,
                         .Flags = { .GenericFlags = LLVMJITSymbolGenericFlagsExported } },
        };
        return report(diag, llvm.OrcJITDylibDefine(library, llvm.OrcAbsoluteSymbols(&symbol, 1)));
}

/* Gives code the functions of this process that it may call, whatever the program exports: the
 * runtime's, and what watches it. */
static bool define_process(struct llvm_linked *l, LLVMOrcJITDylibRef library,
                           const struct llvm_watch *watch, struct diag *diag)
{
        return define(l, library, "dnncc_parallel", (any_function *)dnncc_parallel, diag) &&
               (!watch || !watch->after ||
                define(l, library, LLVM_WATCH, (any_function *)watch->after, diag));
}

/* Makes the linker, which puts each object into pages of its own and tells GDB of it, as of a
 * library that is loaded. */
static LLVMOrcObjectLayerRef new_linker(void *context, LLVMOrcExecutionSessionRef session,
                                        const char *triple)
{
        (void)context;
        (void)triple;
        LLVMOrcObjectLayerRef linker =
                llvm.OrcCreateRTDyldObjectLinkingLayerWithSectionMemoryManager(session);
        llvm.OrcRTDyldObjectLinkingLayerRegisterJITEventListener(
                linker, llvm.CreateGDBRegistrationListener());
        return linker;
}

static bool begin_linking(struct llvm_linked *l, struct diag *diag)
{
        LLVMOrcLLJITBuilderRef builder = llvm.OrcCreateLLJITBuilder();
        llvm.OrcLLJITBuilderSetObjectLinkingLayerCreator(builder, new_linker, NULL);
        if (report(diag, llvm.OrcCreateLLJIT(&l->jit, builder)))
                return true;
        l->jit = NULL;
        return false;
}

/* Functions of the C library that LLVM calls are this process's. */
static bool open_process(struct llvm_linked *l, LLVMOrcJITDylibRef library,
                         const struct llvm_watch *watch, struct diag *diag)
{
        LLVMOrcDefinitionGeneratorRef process;
        if (!report(diag, llvm.OrcCreateDynamicLibrarySearchGeneratorForProcess(
                                  &process, llvm.OrcLLJITGetGlobalPrefix(l->jit), NULL, NULL)))
                return false;
        llvm.OrcJITDylibAddGenerator(library, process);
        return define_process(l, library, watch, diag);
}

/* Copies objects, which the linker takes. */
static LLVMMemoryBufferRef *copy_objects(struct arena *arena, const struct llvm_objects *objects)
{
        LLVMMemoryBufferRef *copies =
                arena_array(arena, (size_t)objects->count + 1, sizeof *copies);
        for (int i = 0; i < objects->count; i++)
                copies[i] = llvm.CreateMemoryBufferWithMemoryRangeCopy(
                        llvm.GetBufferStart(objects->items[i]),
                        llvm.GetBufferSize(objects->items[i]), "");
        return copies;
}

/* Links objects, which it takes. */
static bool link_objects(struct llvm_linked *l, struct llvm_objects *objects,
                         const struct llvm_watch *watch, struct diag *diag)
{
        LLVMOrcJITTargetAddress address = 0;
        if (!begin_linking(l, diag))
                return false;
        LLVMOrcJITDylibRef library = llvm.OrcLLJITGetMainJITDylib(l->jit);
        bool fine = open_process(l, library, watch, diag);
        while (objects->count && fine)
                fine = report(diag, llvm.OrcLLJITAddObjectFile(l->jit, library,
                                                               objects->items[--objects->count]));
        if (!fine || !report(diag, llvm.OrcLLJITLookup(l->jit, &address, LLVM_MAIN)))
                return false;
        /* ISO C has no conversion from a number to a function. */
        uintptr_t at = (uintptr_t)address;
        memcpy(&l->main, &at, sizeof at);
        return true;
}

bool llvm_link(struct llvm_linked *l, struct arena *arena, struct llvm_objects *objects,
               const struct llvm_options *options, struct diag *diag)
{
        const int count = objects->count;
        LLVMMemoryBufferRef *copies = options->perf_map ? copy_objects(arena, objects) : NULL;
        const bool fine = link_objects(l, objects, options->watch, diag);
        if (fine && copies)
                llvm_map_objects(l->jit, copies, count, diag);
        for (int i = 0; i < count && copies; i++)
                llvm.DisposeMemoryBuffer(copies[i]);
        return fine;
}

void llvm_unlink(struct llvm_linked *l)
{
        LLVMErrorRef error = l->jit ? llvm.OrcDisposeLLJIT(l->jit) : NULL;
        if (error)
                llvm.DisposeErrorMessage(llvm.GetErrorMessage(error));
}
