/* SPDX-License-Identifier: MIT */
/* Runs a program in this process: its modules become objects in memory (llvm_units.c), which are
 * linked (llvm_link.c), and its buffers get memory. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "codegen/llvm/llvm_writer.h"

struct llvm_jit {
        struct arena *arena;
        const struct loop_program *p;
        int entry;
        struct llvm_linked linked;
        int buffer_count;
        char *copies;                   /* Of constants. */
        void **constants;               /* [buffer_count], the copy that was made, or NULL. */
        void **places;                  /* [buffer_count], the addresses of buffers in a run, and
                                         * what a watch is told. */
        bool is_timed;                  /* All memory lies on huge pages, and constants are
                                         * copied there. */
        /* The memory of a run: the workspace and regions of a planned program, else a block for
         * each buffer. */
        void *areas[REGIONS_MAX + 1], **blocks;
        int block_count;
        bool exhausted;
};

/* ---- memory ---- */

void *llvm_memory(size_t bytes)
{
        enum { HUGE_PAGE = 1 << 21 };
        void *block = NULL;
        if (posix_memalign(&block, HUGE_PAGE, bytes + 1))
                return NULL;
#ifdef MADV_HUGEPAGE
        madvise(block, bytes + 1, MADV_HUGEPAGE);
#endif
        return memset(block, 0, bytes + 1);
}

static void *aligned(const struct llvm_jit *jit, size_t bytes)
{
        enum { PAGE = 4096 };
        void *block = NULL;
        if (jit->is_timed)
                return llvm_memory(bytes);
        return posix_memalign(&block, PAGE, bytes + 1) ? NULL : block;
}

/* Returns what a copy of a constant takes; 0: it is read where it is. */
static int64_t copied_bytes(const struct llvm_jit *jit, const struct loop_buffer *b)
{
        return b->space == SPACE_CONSTANT && (b->splat || jit->is_timed)
                       ? round_up(loop_buffer_bytes(b), CACHE_LINE)
                       : 0;
}

/* Copies a constant; one element that stands for many becomes many. */
static void copy_constant(char *all, const struct loop_buffer *b)
{
        const size_t bytes = (size_t)element_info[b->element].bytes;
        if (!b->splat)
                memcpy(all, b->data, (size_t)loop_buffer_bytes(b));
        for (int64_t i = 0; i < b->extent && b->splat; i++)
                memcpy(all + (size_t)i * bytes, b->data, bytes);
}

static bool fill_constants(struct llvm_jit *jit)
{
        int64_t bytes = 0;
        int k = 0;
        for (const struct loop_buffer *b = jit->p->buffers; b; b = b->next) {
                jit->buffer_count += b->space != SPACE_VIEW;
                bytes += copied_bytes(jit, b);
        }
        jit->constants =
                arena_array(jit->arena, (size_t)jit->buffer_count + 1, sizeof *jit->constants);
        if (!bytes)
                return true;
        char *next = jit->copies = aligned(jit, (size_t)bytes);
        for (const struct loop_buffer *b = jit->p->buffers; b && next; b = b->next) {
                if (b->space == SPACE_VIEW)
                        continue;
                if (copied_bytes(jit, b)) {
                        copy_constant(next, b);
                        jit->constants[k] = next;
                        next += copied_bytes(jit, b);
                }
                k++;
        }
        return next != NULL;
}

static void *block_of(struct llvm_jit *jit, int64_t bytes)
{
        void *block = aligned(jit, (size_t)bytes);
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
        const bool hooked = options->watch && options->watch->after;
        const struct llvm_store *store = hooked ? NULL : options->store;
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
        *jit = (struct llvm_jit){
                .arena = arena, .p = p, .entry = p->at, .is_timed = options->watch != NULL
        };
        struct llvm_objects objects = { 0 };
        bool fine = llvm_load(diag) && take_objects(jit, &objects, t, options, diag) &&
                    llvm_link(&jit->linked, arena, &objects, options, diag);
        if (fine && (!fill_constants(jit) || !place_own(jit))) {
                diag_error(diag, EXIT_BUDGET, "--jit: no memory for constants and workspace");
                fine = false;
        }
        if (fine) {
                jit->places[jit->buffer_count] = options->watch ? options->watch->context : NULL;
                return jit;
        }
        llvm_objects_free(&objects);
        llvm_jit_free(jit);
        return NULL;
}

void llvm_jit_free(struct llvm_jit *jit)
{
        free(jit->copies);
        for (int r = 0; r <= REGIONS_MAX; r++)
                free(jit->areas[r]);
        for (int k = 0; k < jit->block_count; k++)
                free(jit->blocks[k]);
        llvm_unlink(&jit->linked);
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
        return jit->linked.main(jit->places, extents);
}
