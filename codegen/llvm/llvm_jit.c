/* SPDX-License-Identifier: MIT */
/* Runs a program in this process: its modules become objects in memory (llvm_units.c), which LLVM's
 * linker puts into pages that are written first, and executable then. */
#include <stdlib.h>
#include <string.h>

#include "codegen/llvm/llvm_writer.h"
#include "runtime/dnncc_runtime.h"

typedef int main_function(void *const *buffers, int64_t *extents);

struct llvm_jit {
        struct arena *arena;
        const struct loop_program *p;
        int entry;
        LLVMOrcLLJITRef jit;
        main_function *main;
        int buffer_count;
        void **constants;               /* [buffer_count], of splats the copy that was made. */
        void **places;                  /* [buffer_count], the addresses of buffers in a run. */
        /* The memory of a run: the workspace and regions of a planned program, else a block for
         * each buffer. */
        void *areas[REGIONS_MAX + 1], **blocks;
        int block_count;
        bool exhausted;
};

enum { MEMORY_ALIGN = 64 };

/* ---- code ---- */

static bool report(struct diag *diag, LLVMErrorRef error)
{
        if (!error)
                return true;
        char *said = llvm.GetErrorMessage(error);
        diag_error(diag, EXIT_UNSUPPORTED, "--jit: LLVM cannot load code here: %s", said);
        llvm.DisposeErrorMessage(said);
        return false;
}

/* Gives code the functions of this process that it may call, whatever the program exports: the
 * runtime's. */
static bool define_runtime(LLVMOrcLLJITRef jit, LLVMOrcJITDylibRef library, struct diag *diag)
{
        void (*const parallel)(void (*)(void *, int, int), void *, int) = dnncc_parallel;
        uintptr_t at;
        memcpy(&at, &parallel, sizeof at);      /* ISO C has no conversion to a number. */
        __typeof__(*(LLVMOrcCSymbolMapPairs)NULL) symbol = {
                .Name = llvm.OrcLLJITMangleAndIntern(jit, "dnncc_parallel"),
                .Sym = { .Address = at,
                         .Flags = { .GenericFlags = LLVMJITSymbolGenericFlagsExported } },
        };
        return report(diag, llvm.OrcJITDylibDefine(library, llvm.OrcAbsoluteSymbols(&symbol, 1)));
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

static bool begin_linking(struct llvm_jit *jit, struct diag *diag)
{
        LLVMOrcLLJITBuilderRef builder = llvm.OrcCreateLLJITBuilder();
        llvm.OrcLLJITBuilderSetObjectLinkingLayerCreator(builder, new_linker, NULL);
        if (report(diag, llvm.OrcCreateLLJIT(&jit->jit, builder)))
                return true;
        jit->jit = NULL;
        return false;
}

/* Functions of the C library that LLVM calls are this process's. */
static bool open_process(struct llvm_jit *jit, LLVMOrcJITDylibRef library, struct diag *diag)
{
        LLVMOrcDefinitionGeneratorRef process;
        if (!report(diag, llvm.OrcCreateDynamicLibrarySearchGeneratorForProcess(
                                  &process, llvm.OrcLLJITGetGlobalPrefix(jit->jit), NULL, NULL)))
                return false;
        llvm.OrcJITDylibAddGenerator(library, process);
        return define_runtime(jit->jit, library, diag);
}

/* Copies objects, which the linker takes. */
static LLVMMemoryBufferRef *copy_objects(struct llvm_jit *jit, const struct llvm_objects *objects)
{
        LLVMMemoryBufferRef *copies =
                arena_array(jit->arena, (size_t)objects->count + 1, sizeof *copies);
        for (int i = 0; i < objects->count; i++)
                copies[i] = llvm.CreateMemoryBufferWithMemoryRangeCopy(
                        llvm.GetBufferStart(objects->items[i]),
                        llvm.GetBufferSize(objects->items[i]), "");
        return copies;
}

/* Links objects, which it takes. */
static bool link_objects(struct llvm_jit *jit, struct llvm_objects *objects, struct diag *diag)
{
        LLVMOrcJITTargetAddress address = 0;
        if (!begin_linking(jit, diag))
                return false;
        LLVMOrcJITDylibRef library = llvm.OrcLLJITGetMainJITDylib(jit->jit);
        bool fine = open_process(jit, library, diag);
        while (objects->count && fine)
                fine = report(diag, llvm.OrcLLJITAddObjectFile(jit->jit, library,
                                                               objects->items[--objects->count]));
        if (!fine || !report(diag, llvm.OrcLLJITLookup(jit->jit, &address, LLVM_MAIN)))
                return false;
        /* ISO C has no conversion from a number to a function. */
        uintptr_t at = (uintptr_t)address;
        memcpy(&jit->main, &at, sizeof at);
        return true;
}

static bool load(struct llvm_jit *jit, struct llvm_objects *objects, bool is_mapped,
                 struct diag *diag)
{
        const int count = objects->count;
        LLVMMemoryBufferRef *copies = is_mapped ? copy_objects(jit, objects) : NULL;
        const bool fine = link_objects(jit, objects, diag);
        if (fine && is_mapped)
                llvm_map_objects(jit->jit, copies, count, diag);
        for (int i = 0; i < count && is_mapped; i++)
                llvm.DisposeMemoryBuffer(copies[i]);
        return fine;
}

/* ---- memory ---- */

static void *aligned(size_t bytes)
{
        void *block = NULL;
        if (posix_memalign(&block, 4096, bytes + 1))
                return NULL;
        return block;
}

/* Constants of one element that stand for many become many. */
static bool fill_constants(struct llvm_jit *jit)
{
        int k = 0;
        for (const struct loop_buffer *b = jit->p->buffers; b; b = b->next)
                jit->buffer_count += b->space != SPACE_VIEW;
        jit->constants =
                arena_array(jit->arena, (size_t)jit->buffer_count + 1, sizeof *jit->constants);
        for (const struct loop_buffer *b = jit->p->buffers; b; b = b->next) {
                if (b->space == SPACE_VIEW)
                        continue;
                if (b->space == SPACE_CONSTANT && b->splat) {
                        const size_t bytes = (size_t)element_info[b->element].bytes;
                        char *all = aligned((size_t)b->extent * bytes);
                        for (int64_t i = 0; all && i < b->extent; i++)
                                memcpy(all + (size_t)i * bytes, b->data, bytes);
                        if (!all)
                                return false;
                        jit->constants[k] = all;
                }
                k++;
        }
        return true;
}

static void *block_of(struct llvm_jit *jit, int64_t bytes)
{
        void *block = aligned((size_t)bytes);
        jit->exhausted |= !block;
        return block;
}

/* Gives what is neither a constant nor a port its memory, which stays from run to run. */
static bool place_own(struct llvm_jit *jit)
{
        const struct loop_program *p = jit->p;
        int k = 0;
        jit->places = arena_array(jit->arena, (size_t)jit->buffer_count + 1, sizeof *jit->places);
        jit->blocks = arena_array(jit->arena, (size_t)jit->buffer_count + 1, sizeof *jit->blocks);
        if (p->planned)
                jit->areas[0] = block_of(jit, p->entries[jit->entry].workspace_size);
        for (int r = 0; r < p->region_count && p->planned; r++)
                jit->areas[r + 1] = block_of(jit, p->regions[r].size);
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                if (b->space == SPACE_VIEW)
                        continue;
                if (b->space == SPACE_CONSTANT)
                        jit->places[k] =
                                jit->constants[k] ? jit->constants[k] : (void *)(uintptr_t)b->data;
                else if (b->space == SPACE_WORKSPACE && p->planned && b->offset >= 0)
                        jit->places[k] = (char *)jit->areas[b->region] + b->offset;
                else if (b->space == SPACE_WORKSPACE)
                        jit->places[k] = jit->blocks[jit->block_count++] =
                                block_of(jit, loop_buffer_bytes(b));
                k++;
        }
        return !jit->exhausted;
}

/* ---- objects ---- */

/* Copies what is kept into buffers of LLVM's. Returns whether there is any. */
static bool find_objects(struct llvm_objects *objects, struct arena *arena,
                         const struct llvm_store *store, const char *identity)
{
        struct llvm_bytes found[LLVM_OBJECTS_MAX];
        const int count = store->find(store->context, identity, found);
        objects->items = arena_array(arena, (size_t)count + 1, sizeof *objects->items);
        for (objects->count = 0; objects->count < count; objects->count++)
                objects->items[objects->count] = llvm.CreateMemoryBufferWithMemoryRangeCopy(
                        found[objects->count].bytes, found[objects->count].length, "");
        return count > 0;
}

static void keep_objects(const struct llvm_objects *objects, const struct llvm_store *store,
                         const char *identity)
{
        struct llvm_bytes made[LLVM_OBJECTS_MAX];
        for (int i = 0; i < objects->count; i++)
                made[i] = (struct llvm_bytes){ llvm.GetBufferStart(objects->items[i]),
                                               llvm.GetBufferSize(objects->items[i]) };
        store->keep(store->context, identity, made, objects->count);
}

/* Finds objects, or makes them. */
static bool take_objects(struct llvm_jit *jit, struct llvm_objects *objects,
                         const struct target *t, const struct llvm_options *options,
                         struct diag *diag)
{
        const struct llvm_store *store = options->store;
        const char *identity = store ? llvm_identity(jit->arena, t, options, diag) : NULL;
        if (store && !identity)
                return false;
        if (store && find_objects(objects, jit->arena, store, identity))
                return true;
        if (!llvm_objects(objects, jit->arena, jit->p, t, options, diag))
                return false;
        if (store)
                keep_objects(objects, store, identity);
        return true;
}

struct llvm_jit *llvm_jit_new(const struct loop_program *p, const struct target *t,
                              const struct llvm_options *options, struct diag *diag)
{
        struct arena *arena = arena_new();
        struct llvm_jit *jit = ARENA_NEW(arena, struct llvm_jit);
        *jit = (struct llvm_jit){ .arena = arena, .p = p, .entry = p->at };
        struct llvm_objects objects = { 0 };
        bool fine = llvm_load(diag) && take_objects(jit, &objects, t, options, diag) &&
                    load(jit, &objects, options->perf_map, diag);
        if (fine && (!fill_constants(jit) || !place_own(jit))) {
                diag_error(diag, EXIT_BUDGET, "--jit: no memory for constants and workspace");
                fine = false;
        }
        if (fine)
                return jit;
        llvm_objects_free(&objects);
        llvm_jit_free(jit);
        return NULL;
}

void llvm_jit_free(struct llvm_jit *jit)
{
        for (int k = 0; k < jit->buffer_count && jit->constants; k++)
                free(jit->constants[k]);
        for (int r = 0; r <= REGIONS_MAX; r++)
                free(jit->areas[r]);
        for (int k = 0; k < jit->block_count; k++)
                free(jit->blocks[k]);
        LLVMErrorRef error = jit->jit ? llvm.OrcDisposeLLJIT(jit->jit) : NULL;
        if (error)
                llvm.DisposeErrorMessage(llvm.GetErrorMessage(error));
        arena_free(jit->arena);
}

/* ---- a run ---- */

/* State is at the output's address, and begins as what is at the input's. */
static void *state_of(const struct loop_buffer *b, const void *input, void *output)
{
        if (input != output)
                memmove(output, input, (size_t)loop_buffer_bytes(b));
        return output;
}

/* Writes the addresses of the entry's ports. */
static void place_ports(struct llvm_jit *jit, const void *const *inputs, void *const *outputs)
{
        int k = 0, in = 0, out = 0;
        for (const struct loop_buffer *b = jit->p->buffers; b; b = b->next) {
                if (b->space == SPACE_VIEW)
                        continue;
                if (b->space == SPACE_STATE)
                        jit->places[k] = state_of(b, inputs[in++], outputs[out++]);
                else if (b->space == SPACE_INPUT && b->entry == jit->entry)
                        jit->places[k] = (void *)(uintptr_t)inputs[in++];
                else if (b->space == SPACE_OUTPUT && b->entry == jit->entry)
                        jit->places[k] = outputs[out++];
                k++;
        }
}

int llvm_jit_run(struct llvm_jit *jit, int64_t *extents, const void *const *inputs,
                 void *const *outputs)
{
        place_ports(jit, inputs, outputs);
        return jit->main(jit->places, extents);
}
