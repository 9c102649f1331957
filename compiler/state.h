/* SPDX-License-Identifier: MIT */
/* Inside --state: an input whose next value is longer than itself. */
#ifndef COMPILER_STATE_H
#define COMPILER_STATE_H

#include "ir/tensor/tensor.h"

enum state_rows {
        STATE_APPENDED,
        STATE_NO_ROWS,                  /* The types do not differ in one extent alone, which a run
                                         * gives. */
        STATE_NOT_JOINED,               /* The output is not the input with rows behind it. */
        STATE_OTHER_ROWS,               /* The extent does not begin at 0, or grows otherwise by
                                         * another input. */
        STATE_FAILED                    /* An error was reported. */
};
/* Makes an input of P rows, and an output that is these and more, a memory of constant size to
 * which rows are appended, of which it has room[P]; P is a part of state from then on. Changes
 * nothing but where it returns STATE_APPENDED or STATE_FAILED. */
enum state_rows state_append(struct function *f, int input, int output, const int64_t *room,
                             struct diag *diag);
/* Makes an output the next value of the state that input `input` of another function is, of which
 * f has no input, or one without elements: f begins it anew. */
enum state_rows state_start(struct function *f, const struct function *other, int input, int output,
                            struct diag *diag);
/* Returns whether these are types of an input without rows and of an output with some. */
bool state_is_begun(const struct type *now, const struct type *then);
/* Returns the symbol of the rows of an input of this type, of which its next value has more, and
 * along which axis; -1: they are no such types. */
int state_symbol(const struct module *m, const struct type *now, const struct type *then,
                 int *axis);

#endif
