/* SPDX-License-Identifier: MIT */
/* The record of a run in steps: a buffer of 64-bit words at the end of the workspace, which holds
 * where main and the kernel that it is in stopped. passes/steps.c makes it, codegen/c_step.c prints
 * the functions that read it.
 *
 *     word | mark | check | at | left  more  cells of the kernel .. | variables of main .. |
 *
 * A kernel that can stop takes the words from `left` on. It stops once `left`, the work that may
 * still be done, is 0 or less, sets `more` to 1, and goes on from its cells where it is called
 * again; when it is done, `more` and all cells are 0. */
#ifndef IR_LOOP_LOOP_RECORD_H
#define IR_LOOP_LOOP_RECORD_H

#include "ir/loop/loop.h"

enum record_word {
        RECORD_MARK,                    /* The build that it is of; 0: no run is under way. */
        RECORD_CHECK,                   /* A sum of the words behind it. */
        RECORD_AT,                      /* The place in main. */
        RECORD_KERNEL                   /* Here the kernel's words begin. */
};
enum record_cell { CELL_LEFT, CELL_MORE, CELL_FIRST };

/* So much is left where a run need not stop. */
#define RECORD_UNLIMITED (INT64_C(1) << 62)

/* Returns how many words the variables of an entry's main take: what it declares, the ends of its
 * loops, and the extents that it counts. */
int record_main_words(const struct loop_program *p, const struct loop_entry *entry);
/* Returns the number, counted from the first of main's words, of a variable that it declares, or of
 * an extent that it counts; -1: it has none. The end of a loop stands behind its variable. */
int record_main_word(const struct loop_program *p, const struct loop_entry *entry,
                     const struct loop_variable *v);
/* Returns whether the call's kernel can stop: it takes the entry's record, which begins before the
 * buffer that is an argument. The first call of main only clears the record. */
bool record_is_passed(const struct loop_entry *entry, const struct loop_stmt *call);

#endif
