/* SPDX-License-Identifier: MIT */
#include "base/store.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "base/size.h"

#ifdef __SANITIZE_ADDRESS__             /* The sanitizer finds readers of what was not kept. */
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

enum {
        ALIGNMENT = 64,
        BLOCK_BYTES = 32 * 1024 * 1024,
        PAGE_BYTES = 4096,
        DUE_BYTES = BLOCK_BYTES / 8,
        DUE_SHARE = 16
};

struct piece { unsigned char *at, *end; };
struct pieces { struct piece *list; size_t count, room; };
struct block { unsigned char *base, *used, *end; };

struct store {
        struct block *blocks;
        size_t block_count;
        struct pieces holes, kept;
        size_t room, given;             /* They count bytes in all blocks, and bytes given out since
                                         * the last sweep. */
        bool pinned;
};

struct store *store_new(void)
{
        return memory_alloc(sizeof(struct store));
}

void store_free(struct store *store)
{
        for (size_t i = 0; store && i < store->block_count; i++)
                free(store->blocks[i].base);
        if (store) {
                free(store->blocks);
                free(store->holes.list);
                free(store->kept.list);
        }
        free(store);
}

static unsigned char *aligned(unsigned char *p)
{
        return p + (-(uintptr_t)p & (ALIGNMENT - 1));
}

static void add_piece(struct pieces *pieces, unsigned char *at, unsigned char *end)
{
        if (pieces->count == pieces->room) {
                pieces->room = pieces->room ? 2 * pieces->room : 64;
                pieces->list = memory_resize(pieces->list, pieces->room * sizeof *pieces->list);
        }
        pieces->list[pieces->count++] = (struct piece){ at, end };
}

static struct block *add_block(struct store *store, void *base, size_t used, size_t bytes)
{
        unsigned char *p = base;
        store->blocks =
                memory_resize(store->blocks, (store->block_count + 1) * sizeof *store->blocks);
        store->blocks[store->block_count] = (struct block){ p, p + used, p + bytes };
        store->room += bytes;
        return &store->blocks[store->block_count++];
}

/* Takes the first `bytes` of what was never given out. */
static void *take_fresh(struct block *b, size_t bytes)
{
        unsigned char *at = aligned(b->used);
        if (at > b->end || (size_t)(b->end - at) < bytes)
                return NULL;
        b->used = at + bytes;
        return at;
}

void *store_alloc(struct store *store, size_t bytes)
{
        store->given += bytes;
        for (size_t i = 0; i < store->holes.count; i++) {
                struct piece *hole = &store->holes.list[i];
                unsigned char *at = hole->at;
                if ((size_t)(hole->end - at) < bytes)
                        continue;
                hole->at = aligned(at + bytes) < hole->end ? aligned(at + bytes) : hole->end;
                ASAN_UNPOISON_MEMORY_REGION(at, bytes);
                return at;
        }
        void *fresh = NULL;
        for (size_t i = 0; i < store->block_count && !fresh; i++)
                fresh = take_fresh(&store->blocks[i], bytes);
        if (fresh)
                return fresh;
        size_t room;
        if (!size_add(bytes, ALIGNMENT, &room))
                memory_exhausted();
        room = room < BLOCK_BYTES ? BLOCK_BYTES : room;
        return take_fresh(add_block(store, memory_alloc(room), 0, room), bytes);
}

void store_adopt(struct store *store, void *block, size_t bytes)
{
        add_block(store, block, bytes, bytes);
}

void store_pin(struct store *store)
{
        store->pinned = true;
}

void store_trim(struct store *store)
{
        for (size_t i = 0; i < store->holes.count; i++) {
                const struct piece *hole = &store->holes.list[i];
                unsigned char *from = hole->at + (-(uintptr_t)hole->at & (PAGE_BYTES - 1));
                uintptr_t to = (uintptr_t)hole->end & ~(uintptr_t)(PAGE_BYTES - 1);
                if ((uintptr_t)from < to)
                        madvise(from, to - (uintptr_t)from, MADV_DONTNEED);
        }
}

/* ---- sweeping ---- */

void store_keep(struct store *store, const void *data, size_t bytes)
{
        unsigned char *at = (unsigned char *)(uintptr_t)data;
        add_piece(&store->kept, at, at + bytes);
}

static int by_address(const void *a, const void *b)
{
        const struct piece *x = a, *y = b;
        return (x->at > y->at) - (x->at < y->at);
}

static int by_base(const void *a, const void *b)
{
        const struct block *x = a, *y = b;
        return (x->base > y->base) - (x->base < y->base);
}

static void add_hole(struct store *store, unsigned char *at, unsigned char *end)
{
        at = aligned(at);
        if (at >= end)
                return;
        add_piece(&store->holes, at, end);
        ASAN_POISON_MEMORY_REGION(at, (size_t)(end - at));
}

bool store_is_due(const struct store *store)
{
        return !store->pinned && store->given >= DUE_BYTES &&
               store->given >= store->room / DUE_SHARE;
}

/* Makes the holes what was given out of all blocks, less what is kept. */
void store_sweep(struct store *store)
{
        struct pieces *kept = &store->kept;
        size_t k = 0;
        store->given = 0;
        if (!store->pinned && store->block_count) {
                store->holes.count = 0;
                qsort(store->blocks, store->block_count, sizeof *store->blocks, by_base);
                if (kept->count)
                        qsort(kept->list, kept->count, sizeof *kept->list, by_address);
                for (const struct block *b = store->blocks; b < store->blocks + store->block_count;
                     b++) {
                        unsigned char *at = b->base;
                        for (; k < kept->count && kept->list[k].at < b->base; k++)
                                ;
                        for (; k < kept->count && kept->list[k].at < b->end; k++) {
                                add_hole(store, at, kept->list[k].at);
                                at = kept->list[k].end > at ? kept->list[k].end : at;
                        }
                        add_hole(store, at, b->used);
                }
        }
        kept->count = 0;
}
