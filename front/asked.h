/* SPDX-License-Identifier: MIT */
/* The command that would bind what a model leaves open, shown in errors and by --info: the model, options
 * that were given, and one for each dimension or input that is open, as far as a line has room.
 *
 *      dnncc m.onnx --dim batch=1 --input x=1x3x1x1 .. (2 more) */
#ifndef FRONT_ASKED_H
#define FRONT_ASKED_H

#include "base/text.h"

enum { ASKED_MAX = 8 };                 /* options for what is open that it lists */

struct asked { struct arena *arena; struct text text; int count; };

/* model: its path as the user gave it; NULL: "-" */
struct asked asked_begin(struct arena *arena, const char *model);
void asked_given(struct asked *a, const char *option, const char *const *words, int count);
void asked_add(struct asked *a, const char *option, const char *word);
/* in the arena; it is at its end then */
const char *asked_end(struct asked *a);

#endif
