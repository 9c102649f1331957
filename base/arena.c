/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/diag.h"
#include "base/size.h"

enum { BLOCK_BYTES = 64 * 1024, BLOCK_BYTES_MAX = 4 * 1024 * 1024, ALIGNMENT = 16 };

struct block {
        struct block *next;
        size_t used, size;
        _Alignas(ALIGNMENT) unsigned char data[];
};

struct arena {
        struct block *blocks;           /* The first block is the one being filled. */
        size_t bytes;
};

void (*memory_cleanup)(void);

static _Thread_local jmp_buf *watch;

jmp_buf *memory_watch(jmp_buf *out)
{
        jmp_buf *before = watch;
        watch = out;
        return before;
}

void memory_exhausted(void)
{
        if (watch)
                longjmp(*watch, 1);
        diag_error(&(struct diag){ 0 }, EXIT_BUDGET, "out of memory");
        if (memory_cleanup)
                memory_cleanup();
        exit(EXIT_BUDGET);
}

/* Asks for large pages for large blocks, where the system offers them: first touching 100 MB in
 * small ones takes 0.2 s. */
static void advise_large(void *block, size_t bytes)
{
#ifdef MADV_HUGEPAGE
        enum { LARGE = 2 * 1024 * 1024, PAGE = 4096 };
        if (bytes >= LARGE)
                madvise((void *)(((uintptr_t)block + PAGE - 1) & ~(uintptr_t)(PAGE - 1)),
                        bytes - PAGE, MADV_HUGEPAGE);
#else
        (void)block, (void)bytes;
#endif
}

void *memory_alloc(size_t bytes)
{
        void *block = calloc(1, bytes ? bytes : 1);
        if (!block)
                memory_exhausted();
        advise_large(block, bytes);
        return block;
}

void *memory_resize(void *block, size_t bytes)
{
        void *moved = realloc(block, bytes ? bytes : 1);
        if (!moved)
                memory_exhausted();
        return moved;
}

struct arena *arena_new(void)
{
        return memory_alloc(sizeof(struct arena));
}

void arena_free(struct arena *arena)
{
        if (!arena)
                return;
        for (struct block *b = arena->blocks, *next; b; b = next) {
                next = b->next;
                free(b);
        }
        free(arena);
}

/* Returns the size of the next block: blocks grow with what the arena has given. */
static size_t block_bytes(const struct arena *arena)
{
        size_t bytes = BLOCK_BYTES;
        while (bytes < BLOCK_BYTES_MAX && bytes < arena->bytes / 4)
                bytes *= 2;
        return bytes;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
        size_t rounded;
        if (!size_add(bytes, ALIGNMENT - 1, &rounded))
                memory_exhausted();
        rounded &= ~(size_t)(ALIGNMENT - 1);
        struct block *b = arena->blocks;
        if (!b || b->size - b->used < rounded) {
                size_t size = rounded > BLOCK_BYTES / 4 ? rounded : block_bytes(arena), total;
                if (!size_add(size, sizeof *b, &total))
                        memory_exhausted();
                struct block *fresh = memory_alloc(total);
                fresh->size = size;
                if (b && size == rounded) {             /* A large block stands by itself: b goes on
                                                         * being filled. */
                        fresh->next = b->next;
                        b->next = fresh;
                } else {
                        fresh->next = b;
                        arena->blocks = fresh;
                }
                b = fresh;
        }
        void *data = b->data + b->used;
        b->used += rounded;
        arena->bytes += rounded;
        return data;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
        size_t bytes;
        if (!size_mul(count, size, &bytes))
                memory_exhausted();
        return arena_alloc(arena, bytes);
}

void *arena_copy(struct arena *arena, const void *data, size_t bytes)
{
        void *copy = arena_alloc(arena, bytes);
        if (bytes)
                memcpy(copy, data, bytes);
        return copy;
}

char *arena_string(struct arena *arena, const char *text)
{
        return arena_copy(arena, text, strlen(text) + 1);
}

char *arena_vprintf(struct arena *arena, const char *format, va_list list)
{
        va_list again;
        va_copy(again, list);
        int length = vsnprintf(NULL, 0, format, list);
        char *text = arena_alloc(arena, (size_t)(length < 0 ? 0 : length) + 1);
        if (length > 0)
                vsnprintf(text, (size_t)length + 1, format, again);
        va_end(again);
        return text;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        char *text = arena_vprintf(arena, format, list);
        va_end(list);
        return text;
}

void *arena_grow(struct arena *arena, void *array, size_t count, size_t size)
{
        if (count & (count - 1) || count == 1)          /* The array is full only at 0, 2, 4, 8,
                                                         * ... */
                return array;
        size_t wanted = count ? 2 * count : 2;
        void *grown = arena_array(arena, wanted, size);
        if (count)
                memcpy(grown, array, count * size);
        return grown;
}

size_t arena_bytes(const struct arena *arena)
{
        return arena->bytes;
}
