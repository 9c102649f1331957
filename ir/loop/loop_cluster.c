/* SPDX-License-Identifier: MIT */
/* Places in memory of a cluster: which block has an element, and where in its own part. A place is
 * a sum; terms that are multiples of a block's part say which block, and the others lie within the
 * part, as their bounds prove. */
#include "ir/loop/loop_bounds.h"
#include "ir/loop/loop_grid.h"

enum { DEPTH_MAX = 100 };

int64_t loop_cluster_blocks(const struct loop_stmt *cluster)
{
        for (const struct loop_stmt *s = cluster->body->first; s; s = s->next)
                if (s->kind == STMT_FOR && s->for_kind == FOR_GPU_BLOCK)
                        return s->b->literal.i;
        return 0;
}

struct place { struct arena *arena; int64_t part; struct loop_expr *block, *within; };

static void add(struct place *p, struct loop_expr **sum, struct loop_expr *more)
{
        *sum = *sum ? loop_op(p->arena, LOOP_ADD, *sum, more, NULL) : more;
}

static void add_term(struct place *p, struct loop_expr *e, int depth)
{
        int64_t value;
        if (e->op == LOOP_ADD && depth < DEPTH_MAX) {
                add_term(p, e->args[0], depth + 1);
                add_term(p, e->args[1], depth + 1);
        } else if (loop_is_int(e, &value) && value >= 0) {
                add(p, &p->block, loop_index(p->arena, value / p->part));
                add(p, &p->within, loop_index(p->arena, value % p->part));
        } else if (e->op == LOOP_MUL && loop_is_int(e->args[1], &value) && value % p->part == 0) {
                add(p, &p->block,
                    loop_op(p->arena, LOOP_MUL, e->args[0], loop_index(p->arena, value / p->part),
                            NULL));
        } else {
                add(p, &p->within, e);
        }
}

bool loop_cluster_place(struct arena *arena, const struct loop_bounds *bounds,
                        const struct loop_expr *index, int64_t part, int64_t span,
                        struct loop_expr **block, struct loop_expr **within)
{
        struct place p = { .arena = arena, .part = part };
        if (index->type.lanes != 1 || part < 1)
                return false;
        add_term(&p, (struct loop_expr *)(uintptr_t)index, 0);
        *block = p.block ? p.block : loop_index(arena, 0);
        *within = p.within ? p.within : loop_index(arena, 0);
        const struct loop_range r = loop_bounds_of(bounds, *within);
        return r.low >= 0 && r.high <= part - span;
}
