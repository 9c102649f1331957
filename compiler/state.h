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
/* Where they are such an input and output, raises room[the input's symbol] to the most rows of the
 * output. */
void state_measure(const struct function *f, int input, int output, int64_t *room);

#endif
