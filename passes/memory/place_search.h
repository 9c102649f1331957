/* SPDX-License-Identifier: MIT */
#ifndef PASSES_MEMORY_PLACE_SEARCH_H
#define PASSES_MEMORY_PLACE_SEARCH_H

#include "passes/memory/place.h"

/* Looks for offsets that take less than *size, by branch and bound with a budget of steps; where it
 * finds some, it sets offsets and *size. Returns true if *size is then the least possible. */
bool place_search(const struct item *items, int count, int64_t bound, int64_t *size,
                  int64_t *offsets);

#endif
