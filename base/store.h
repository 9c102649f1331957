/* SPDX-License-Identifier: MIT */
/* A store is memory for large data that is made anew again and again, and left behind. Its owner
 * says now and then what is still read (store_keep, for each piece); store_sweep then gives out the
 * rest once more. Memory that the process has had before costs nothing; fresh pages cost more than
 * what is written to them.
 *
 *     block   |xxxxxxx|  hole  |xxxx|hole|xxxxxxxxxxx|............|
 *             base                               used             end
 *
 *     x: given out and kept; .: never given out yet
 *
 * As with arenas, every allocation succeeds or the program ends. */
#ifndef BASE_STORE_H
#define BASE_STORE_H

#include <stdbool.h>
#include <stddef.h>

struct store;

struct store *store_new(void);
void store_free(struct store *store);                     /* NULL is allowed. */

/* Returns memory aligned to 64 bytes, holding anything, valid until a sweep that does not keep
 * it. */
void *store_alloc(struct store *store, size_t bytes);
/* A block of memory_alloc is the store's from now on; it is valid until the next sweep. */
void store_adopt(struct store *store, void *block, size_t bytes);
/* What is not the store's memory is not looked at. */
void store_keep(struct store *store, const void *data, size_t bytes);
void store_sweep(struct store *store);
/* Returns whether much was given out since the last sweep: the next one may find room for what
 * would else take fresh memory. */
bool store_is_due(const struct store *store);
/* Gives the pages of what was swept back to the system, which needs some for the files that are
 * written. */
void store_trim(struct store *store);
/* From now on everything is kept: there is another reader. */
void store_pin(struct store *store);

#endif
