/* SPDX-License-Identifier: MIT */
/* The row of the words engine (words_engine.c) consists of these functions. */
#ifndef ENGINES_WORDS_WORDS_ENGINE_H
#define ENGINES_WORDS_WORDS_ENGINE_H

#include "schedule/choose.h"

struct schedule words_choose(const struct op *op, const struct schedule_machine *machine,
                             struct arena *arena);
struct schedule words_choose_lanes(const struct op *op, const struct schedule_machine *machine,
                                   struct arena *arena);

#endif
