/* SPDX-License-Identifier: MIT */
/* Private shared memory is buffers in shared memory of which each warp has a part that no other
 * warp touches, so that no warp has to wait for another one before it goes on.
 *
 *     for %w = 0 to 8 gpu_warp {
 *       for %l = 0 to 16 gpu_lane {
 *         let %at : index = %w * 16 + %l
 *         store %best[%at] = ...
 *
 * Here warp w has the 16 elements of %best from %w * 16 on.
 *
 * A subscript is taken as a sum of variables times numbers; lets that depend on the warp are
 * replaced by their definitions. Where a subscript is not known to stay within the warp's part, all
 * warps share the buffer: this includes sums of more than TERMS_MAX terms, and factors of TIMES_MAX
 * or more, which exceed every block's memory. */
#include "engines/grid/private_memory.h"

#include "ir/loop/loop_bounds.h"

enum { TERMS_MAX = 8, STEPS_MAX = 500, LETS_MAX = 1000, TIMES_MAX = 1 << 20 };

/* A subscript is `warps` times the warp's number + the sum of terms + a rest between low and
 * high. */
struct linear {
        int64_t warps;
        struct term { const struct loop_variable *variable; int64_t times; } terms[TERMS_MAX];
        int count;                      /* There are this many terms. */
        int64_t low, high;              /* The rest is between these bounds, both included. */
        /* This many expressions have been looked at. The number is bounded, because lets of lets
         * may name the warp any number of times. */
        int steps;
        bool known;                     /* Nothing is known of the subscript where this is false. */
};

struct search {
        struct arena *arena;
        const struct loop_bounds *bounds;
        int64_t warps;                  /* A block has this many warps. */
        const struct loop_variable *warp;         /* The loop over warps that is looked at has this
                                                   * variable. */
        const struct loop_stmt **lets;  /* It lists the lets whose values depend on the warp's
                                         * number. */
        int let_count;
        const struct loop_buffer **all; /* It lists the shared memory of the phase. */
        int all_count;
        const struct loop_buffer **others;        /* These buffers are not private, because a warp
                                                   * touches another one's part. */
        int other_count;
};

/* ---- subscripts ---- */

static const struct loop_stmt *let_of(const struct search *o, const struct loop_variable *v)
{
        for (int i = 0; i < o->let_count; i++)
                if (o->lets[i]->variable == v)
                        return o->lets[i];
        return NULL;
}

static void add_range(struct linear *l, const struct search *o, const struct loop_expr *e,
                      int64_t times)
{
        const struct loop_range r = loop_bounds_of(o->bounds, e);
        l->known &= r.low > INT32_MIN && r.high < INT32_MAX;
        if (!l->known)
                return;
        l->low += times * (times < 0 ? r.high : r.low);
        l->high += times * (times < 0 ? r.low : r.high);
}

static void add_variable(struct linear *l, const struct search *o, const struct loop_expr *e,
                         int64_t times)
{
        int i = 0;
        while (i < l->count && l->terms[i].variable != e->variable)
                i++;
        if (i == TERMS_MAX) {
                add_range(l, o, e, times);
                return;
        }
        if (i == l->count)
                l->terms[l->count++] = (struct term){ e->variable, 0 };
        l->terms[i].times += times;
}

static void add_expr(struct linear *l, const struct search *o, const struct loop_expr *e,
                     int64_t times)
{
        const struct loop_stmt *let = e->op == LOOP_VARIABLE ? let_of(o, e->variable) : NULL;
        int64_t factor;
        l->known &= l->steps++ < STEPS_MAX && times > -TIMES_MAX && times < TIMES_MAX;
        if (!l->known)
                return;
        if (let)
                add_expr(l, o, let->a, times);
        else if (e->op == LOOP_VARIABLE && e->variable == o->warp)
                l->warps += times;
        else if (e->op == LOOP_VARIABLE)
                add_variable(l, o, e, times);
        else if (e->op == LOOP_MUL && loop_is_int(e->args[1], &factor) && factor > -TIMES_MAX &&
                 factor < TIMES_MAX)
                add_expr(l, o, e->args[0], times * factor);
        else if (e->op == LOOP_ADD || e->op == LOOP_SUB) {
                add_expr(l, o, e->args[0], times);
                add_expr(l, o, e->args[1], e->op == LOOP_ADD ? times : -times);
        } else
                add_range(l, o, e, times);
}

/* Are `span` elements from `at` on within the warp's part of b? */
static bool is_own(const struct search *o, const struct loop_buffer *b, const struct loop_expr *at,
                   int64_t span)
{
        const int64_t warps = o->warps, part = b->extent / warps;
        struct linear l = { .known = at->type.lanes == 1 };
        if (!o->warp || b->extent % warps)
                return false;
        add_expr(&l, o, at, 1);
        for (int i = 0; i < l.count; i++) {
                struct loop_expr use = {
                        .op = LOOP_VARIABLE,
                        .type = LOOP_TYPE(E_INDEX),
                        .variable = (struct loop_variable *)(uintptr_t)l.terms[i].variable
                };
                if (l.terms[i].times)
                        add_range(&l, o, &use, l.terms[i].times);
        }
        return l.known && l.warps == part && l.low >= 0 && l.high + span <= part;
}

/* ---- accesses ---- */

static void touch(struct search *o, const struct loop_buffer *b, const struct loop_expr *at,
                  int64_t span)
{
        if (b->space != SPACE_SHARED || (at && is_own(o, b, at, span)))
                return;
        ARENA_GROW(o->arena, o->others, o->other_count);
        o->others[o->other_count++] = b;
}

static void look_at_expr(struct loop_expr *e, void *context)
{
        if (e->op == LOOP_LOAD)
                touch(context, e->buffer, e->args[0], (int64_t)e->type.lanes * loop_word_group(e));
}

struct naming { const struct search *search; bool found; };

static void find_warp(struct loop_expr *e, void *context)
{
        struct naming *n = context;
        n->found |= e->op == LOOP_VARIABLE &&
                    (e->variable == n->search->warp || let_of(n->search, e->variable));
}

static void look_at_let(struct search *o, struct loop_stmt *s)
{
        struct naming naming = { .search = o };
        if (s->variable->type.element != E_INDEX || s->variable->type.lanes != 1 ||
            o->let_count == LETS_MAX)
                /* A let that is not listed counts as any number within its bounds. */
                return;
        loop_expr_walk(s->a, find_warp, &naming);
        if (!naming.found)
                return;
        ARENA_GROW(o->arena, o->lets, o->let_count);
        o->lets[o->let_count++] = s;
}

static void look_at_stmt(struct loop_stmt *s, void *context)
{
        struct search *o = context;
        const struct loop_tiles *t = &s->tiles;
        switch (s->kind) {
        case STMT_FOR:
                o->warp = s->for_kind == FOR_GPU_WARP ? s->variable : o->warp;
                break;
        case STMT_LET: look_at_let(o, s); break;
        case STMT_ALLOC:
                if (s->buffer->space == SPACE_SHARED) {
                        ARENA_GROW(o->arena, o->all, o->all_count);
                        o->all[o->all_count++] = s->buffer;
                }
                break;
        case STMT_STORE: touch(o, s->buffer, s->a, s->b->type.lanes); break;
        case STMT_SCALE: touch(o, s->buffer, s->a, t->positions); break;
        case STMT_UNLOAD: {
                const int64_t row =
                        (int64_t)(t->columns ? t->columns : t->vectors) * s->variable->type.lanes;
                touch(o, s->buffer, s->a, (t->positions - 1) * (t->step ? t->step : row) + row);
                break;
        }
        default:
                for (int i = 0; i < 3; i++) {
                        const struct loop_buffer *const b = i == 0   ? s->buffer
                                                            : i == 1 ? s->weights
                                                                     : s->source;
                        if (b)
                                touch(o, b, NULL, 0);
                }
                break;
        }
}

static bool has(const struct loop_buffer *const *list, int count, const struct loop_buffer *b)
{
        for (int i = 0; i < count; i++)
                if (list[i] == b)
                        return true;
        return false;
}

static void find_alloc(struct loop_stmt *s, void *context)
{
        const struct loop_buffer **b = context;
        if (s->kind == STMT_ALLOC && s->buffer == *b)
                *b = NULL;
}

bool private_to_warp(const struct loop_stmt *lanes, const struct loop_buffer *b)
{
        if (b->space != SPACE_STACK)
                return false;
        loop_block_walk(lanes->body, find_alloc, NULL, &b);
        return b != NULL;
}

bool private_memory_has(const struct private_memory *m, const struct loop_buffer *b)
{
        return has(m->buffers, m->count, b);
}

struct private_memory private_memory_find(struct arena *arena, const struct loop_function *f,
                                          struct loop_block *phase, int64_t warps)
{
        struct search o = { .arena = arena, .bounds = loop_bounds_new(arena, f), .warps = warps };
        struct private_memory found = { 0 };
        loop_block_walk(phase, look_at_stmt, look_at_expr, &o);
        found.buffers = arena_array(arena, (size_t)o.all_count, sizeof *found.buffers);
        for (int i = 0; i < o.all_count; i++)
                if (!has(o.others, o.other_count, o.all[i]))
                        found.buffers[found.count++] = o.all[i];
        return found;
}
