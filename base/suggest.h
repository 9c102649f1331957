/* SPDX-License-Identifier: MIT */
/* A suggestion is what may be meant by a name that is none. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <stdbool.h>

#include "base/memory.h"

enum { SUGGEST_MOST = 8 };              /* A message lists at most so many names. */

/* These are the names that there are, of which one was wanted. Fill it by suggest_add, in any
 * order; texts must be fit for messages (base/text.h) and stay. */
struct suggest {
        struct arena *arena;
        const char *wanted;
        const char *near;               /* It is the nearest so far, or NULL. */
        int distance, count;
        const char *first[SUGGEST_MOST];          /* They are the first of all. */
        const char *related[SUGGEST_MOST];        /* They begin with what is wanted, or hold it. */
        int related_count;
};
struct suggest suggest_new(struct arena *arena, const char *wanted, size_t length);
void suggest_add(struct suggest *s, const char *name);
/* Returns the end of a message, marked as its hint (base/diag.h). It is ", did you mean 'target'?"
 * where a name differs in case, or by two letters at most (in names of three letters one, in
 * shorter ones none) that are missing, more, other, or two in the other order (optimal string
 * alignment: Damerau-Levenshtein without edits of what was swapped). It is ": there are 'a', 'b',
 * .. (9 more)" of names that hold the wanted one, else, where `all`, of all; else it is "". */
const char *suggest_text(const struct suggest *s, bool all);

/* Returns the same for an array of names. */
const char *suggest_of(struct arena *arena, const char *wanted, size_t length,
                       const char *const *names, int count);

#endif
