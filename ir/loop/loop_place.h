/* SPDX-License-Identifier: MIT */
/* A place is a subscript as a sum of terms and a number, so that neighbours in memory are
 * recognized. */
#ifndef IR_LOOP_LOOP_PLACE_H
#define IR_LOOP_LOOP_PLACE_H

#include "ir/loop/loop.h"

enum { PLACE_TERMS_MAX = 12 };

/* index = terms[0] + .. + terms[count - 1] + constant. known is false where there are more terms
 * than fit, or the index is a vector; the other fields are not set then. */
struct loop_place {
        const struct loop_expr *terms[PLACE_TERMS_MAX];
        int count;
        int64_t constant;
        bool known;
};

struct loop_place loop_place_of(const struct loop_expr *index);
/* Is b the place of the element `distance` behind a? Returns false where that cannot be told from
 * the sums. */
bool loop_place_follows(const struct loop_place *a, const struct loop_place *b, int64_t distance);

#endif
