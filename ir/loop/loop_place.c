/* SPDX-License-Identifier: MIT */
/* Reads subscripts as sums: %i * 4 + %k + 3 has the terms %i * 4 and %k, and the constant 3. Terms
 * are compared in the order in which they stand. */
#include "ir/loop/loop_place.h"

enum { DEPTH_MAX = 40 };                /* Sums within sums are read to this depth; what lies deeper
                                         * is one term. */

static void add_terms(struct loop_place *p, const struct loop_expr *e, int depth)
{
        int64_t value;
        if (loop_is_int(e, &value))
                p->constant += value;
        else if (e->op == LOOP_ADD && depth < DEPTH_MAX) {
                add_terms(p, e->args[0], depth + 1);
                add_terms(p, e->args[1], depth + 1);
        } else if (p->count == PLACE_TERMS_MAX)
                p->known = false;
        else
                p->terms[p->count++] = e;
}

struct loop_place loop_place_of(const struct loop_expr *index)
{
        struct loop_place p = { .known = index->type.lanes == 1 };
        add_terms(&p, index, 0);
        return p;
}

bool loop_place_follows(const struct loop_place *a, const struct loop_place *b, int64_t distance)
{
        bool same = a->known && b->known && a->count == b->count &&
                    b->constant == a->constant + distance;
        for (int i = 0; same && i < a->count; i++)
                same = loop_expr_same(a->terms[i], b->terms[i]);
        return same;
}
