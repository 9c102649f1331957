/* SPDX-License-Identifier: MIT */
/* An error, or --info, shows the command that would bind what a model leaves open: the model,
 * options that were given, and one option for each open dimension or input, as far as a line has
 * room for them.
 *
 *      dnncc m.onnx --dim batch=1 --input x=1x3x1x1 .. (2 more) */
#ifndef FRONT_ASKED_H
#define FRONT_ASKED_H

#include "base/text.h"

enum { ASKED_MAX = 8 };                 /* It has at most so many options for open dimensions and
                                         * inputs. */

struct asked {
        struct arena *arena;
        struct text text;               /* It is the command so far. */
        int count;                      /* It counts options for what is open, those left out
                                         * included. */
};

/* Begins the command. `model` is its path as the user gave it; NULL stands for "-". */
struct asked asked_begin(struct arena *arena, const char *model);
void asked_given(struct asked *a, const char *option, const char *const *words, int count);
void asked_add(struct asked *a, const char *option, const char *word);
/* Returns the command, in the arena. The struct is not to be used afterwards. */
const char *asked_end(struct asked *a);

#endif
