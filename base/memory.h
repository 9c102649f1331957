/* SPDX-License-Identifier: MIT */
/* An arena is memory of one lifetime. Nothing is freed one by one; an arena frees all it gave at
 * once.
 *
 * Every allocation succeeds or the program ends: memory_exhausted() reports "out of memory",
 * removes unfinished output files and exits with EXIT_BUDGET. So no caller tests for NULL. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *arena);                     /* NULL is allowed. */

/* Returns zeroed memory, aligned to 16 bytes, valid until arena_free. */
void *arena_alloc(struct arena *arena, size_t bytes);
/* It checks count * size. */
void *arena_array(struct arena *arena, size_t count, size_t size);
void *arena_copy(struct arena *arena, const void *data, size_t bytes);
char *arena_string(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *arena, const char *format, va_list list);
size_t arena_bytes(const struct arena *arena);            /* Returns the sum of all it gave. */

/* ARENA_NEW(arena, struct op) is one zeroed object. ARENA_GROW makes room for one more at the end
 * of a growing array; capacities are powers of two, old storage stays in the arena. */
#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_GROW(arena, array, count) \
        ((array) = arena_grow((arena), (array), (size_t)(count), sizeof *(array)))
void *arena_grow(struct arena *arena, void *array, size_t count, size_t size);

/* This is storage outside arenas, for large short-lived blocks, which the caller frees. */
void *memory_alloc(size_t bytes);                         /* It is zeroed, and never NULL. */
void *memory_resize(void *block, size_t bytes);           /* It is never NULL. */
_Noreturn void memory_exhausted(void);

/* While `out` is set, memory_exhausted goes there by longjmp instead, in this thread: for programs
 * that go on without what they wanted. What was made since is lost. Returns what was set before,
 * which the caller sets again; NULL: nothing. */
jmp_buf *memory_watch(jmp_buf *out);

/* memory_exhausted calls it before it exits; the driver sets it to remove unfinished files. */
extern void (*memory_cleanup)(void);

#endif
