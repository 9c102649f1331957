/* SPDX-License-Identifier: MIT */
/* Shared memory that warps have parts of: no warp touches another one's, so that nobody has to wait when one goes on.
 *
 *     for %w = 0 to 8 gpu_warp {
 *       for %l = 0 to 16 gpu_lane {
 *         let %at : index = %w * 16 + %l
 *         store %best[%at] = ...                 of 128 elements: %w times 16, and less than 16 more
 *
 * A place is a sum of variables times numbers, in which those that depend on the warp are looked through. What is not known to be a warp's own, is
 * others', too: sums of many terms, and numbers that no block's memory is as large as. */
#include "codegen/cuda_writer.h"
#include "ir/loop_bounds.h"

enum { TERMS_MAX = 8, STEPS_MAX = 500, LETS_MAX = 1000, TIMES_MAX = 1 << 20 };

struct linear {
        int64_t warps;                  /* times the number of the warp */
        struct term { const struct loop_variable *variable; int64_t times; } terms[TERMS_MAX];
        int count;
        int64_t low, high;              /* of the rest */
        int steps;                      /* that this took so far: lets of lets may name the warp as often as one likes */
        bool known;
};

struct owning {
        struct c_writer *w;
        const struct loop_bounds *bounds;
        const struct loop_variable *warp;
        const struct loop_stmt **lets;  /* that depend on it */
        int let_count;
        const struct loop_buffer **all, **others;         /* shared memory; what some warp touches that another one touches, too */
        int all_count, other_count;
};

/* ---- places ---- */

static const struct loop_stmt *let_of(const struct owning *o, const struct loop_variable *v)
{
        for (int i = 0; i < o->let_count; i++)
                if (o->lets[i]->variable == v)
                        return o->lets[i];
        return NULL;
}

static void add_range(struct linear *l, const struct owning *o, const struct loop_expr *e, int64_t times)
{
        const struct loop_range r = loop_bounds_of(o->bounds, e);
        l->known &= r.low > INT32_MIN && r.high < INT32_MAX;
        if (!l->known)
                return;
        l->low += times * (times < 0 ? r.high : r.low);
        l->high += times * (times < 0 ? r.low : r.high);
}

static void add_variable(struct linear *l, const struct owning *o, const struct loop_expr *e, int64_t times)
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

static void add_expr(struct linear *l, const struct owning *o, const struct loop_expr *e, int64_t times)
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
        else if (e->op == LOOP_MUL && loop_is_int(e->args[1], &factor) && factor > -TIMES_MAX && factor < TIMES_MAX)
                add_expr(l, o, e->args[0], times * factor);
        else if (e->op == LOOP_ADD || e->op == LOOP_SUB) {
                add_expr(l, o, e->args[0], times);
                add_expr(l, o, e->args[1], e->op == LOOP_ADD ? times : -times);
        } else
                add_range(l, o, e, times);
}

static bool is_own(const struct owning *o, const struct loop_buffer *b, const struct loop_expr *at, int64_t span)
{
        const int64_t warps = o->w->cuda->phase->warps, part = b->extent / warps;
        struct linear l = { .known = at->type.lanes == 1 };
        if (!o->warp || b->extent % warps)
                return false;
        add_expr(&l, o, at, 1);
        for (int i = 0; i < l.count; i++) {
                struct loop_expr use = { .op = LOOP_VARIABLE, .type = LOOP_TYPE(E_INDEX), .variable = (struct loop_variable *)(uintptr_t)l.terms[i].variable };
                if (l.terms[i].times)
                        add_range(&l, o, &use, l.terms[i].times);
        }
        return l.known && l.warps == part && l.low >= 0 && l.high + span <= part;
}

/* ---- who touches what ---- */

static void touch(struct owning *o, const struct loop_buffer *b, const struct loop_expr *at, int64_t span)
{
        if (b->space != SPACE_SHARED || (at && is_own(o, b, at, span)))
                return;
        ARENA_GROW(o->w->arena, o->others, o->other_count);
        o->others[o->other_count++] = b;
}

static void look_at_expr(struct loop_expr *e, void *context)
{
        if (e->op == LOOP_LOAD)
                touch(context, e->buffer, e->args[0], (int64_t)e->type.lanes * loop_word_group(e));
}

struct search { const struct owning *owning; bool found; };

static void find_warp(struct loop_expr *e, void *context)
{
        struct search *search = context;
        search->found |= e->op == LOOP_VARIABLE && (e->variable == search->owning->warp || let_of(search->owning, e->variable));
}

static void look_at_let(struct owning *o, struct loop_stmt *s)
{
        struct search search = { .owning = o };
        if (s->variable->type.element != E_INDEX || s->variable->type.lanes != 1 || o->let_count == LETS_MAX)
                return;                 /* one that is not listed is any number within its bounds */
        loop_expr_walk(s->a, find_warp, &search);
        if (!search.found)
                return;
        ARENA_GROW(o->w->arena, o->lets, o->let_count);
        o->lets[o->let_count++] = s;
}

static void look_at_stmt(struct loop_stmt *s, void *context)
{
        struct owning *o = context;
        const struct loop_tiles *t = &s->tiles;
        switch (s->kind) {
        case STMT_FOR:
                o->warp = s->for_kind == FOR_GPU_WARP ? s->variable : o->warp;
                break;
        case STMT_LET: look_at_let(o, s); break;
        case STMT_ALLOC:
                if (s->buffer->space == SPACE_SHARED) {
                        ARENA_GROW(o->w->arena, o->all, o->all_count);
                        o->all[o->all_count++] = s->buffer;
                }
                break;
        case STMT_STORE: touch(o, s->buffer, s->a, s->b->type.lanes); break;
        case STMT_SCALE: touch(o, s->buffer, s->a, t->positions); break;
        case STMT_UNLOAD: {
                const int64_t row = (int64_t)(t->columns ? t->columns : t->vectors) * s->variable->type.lanes;
                touch(o, s->buffer, s->a, (t->positions - 1) * (t->step ? t->step : row) + row);
                break;
        }
        default:
                for (int i = 0; i < 3; i++) {
                        const struct loop_buffer *const b = i == 0 ? s->buffer : i == 1 ? s->weights : s->source;
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

void cuda_own_find(struct c_writer *w, const struct loop_function *f, struct loop_block *phase)
{
        struct owning o = { .w = w, .bounds = loop_bounds_new(w->arena, f) };
        struct cuda_phase *to = w->cuda->phase;
        loop_block_walk(phase, look_at_stmt, look_at_expr, &o);
        to->own = arena_array(w->arena, (size_t)o.all_count, sizeof *to->own);
        for (int i = 0; i < o.all_count; i++)
                if (!has(o.others, o.other_count, o.all[i]))
                        to->own[to->own_count++] = o.all[i];
}

/* ---- who waits ---- */

struct handing { const struct cuda_phase *phase; enum cuda_handing found; };

static void hand(struct handing *h, const struct loop_buffer *b)
{
        const bool own = b->space == SPACE_SHARED && has(h->phase->own, h->phase->own_count, b);
        if (b->space == SPACE_STACK || b->space == SPACE_LANES)   /* which ends with the loop */
                return;
        if (!own || h->found == HANDS_NOTHING)
                h->found = own ? HANDS_TO_LANES : HANDS_TO_WARPS;
}

/* something others see, but for copies, which are waited for */
static void find_handed(struct loop_stmt *s, void *context)
{
        struct handing *h = context;
        if (s->kind == STMT_STORE || s->kind == STMT_UNLOAD || s->kind == STMT_SCALE)
                hand(h, s->buffer);
        else if (s->kind == STMT_MULTIPLY || s->kind == STMT_FAIL)
                h->found = HANDS_TO_WARPS;
}

static void find_shared(struct loop_expr *e, void *context)
{
        if (e->op == LOOP_LOAD && e->buffer->space == SPACE_SHARED)
                hand(context, e->buffer);
}

enum cuda_handing cuda_hands_on(const struct c_writer *w, const struct loop_stmt *s)
{
        struct handing h = { .phase = w->cuda->phase };
        loop_block_walk(s->body, find_handed, find_shared, &h);
        s = s->next;
        while (s && s->kind == STMT_COMMIT)
                s = s->next;
        return s && s->kind == STMT_WAIT ? HANDS_NOTHING : h.found;
}
