/* SPDX-License-Identifier: MIT */
/* A proof that iterations do not touch each other's memory.
 *
 * All accesses to memory that the loop writes, loads as well as stores, must have subscripts of the
 * form
 *
 *     c1 * i + c2 * j + .. + s + r,    low <= r <= high
 *
 * with the same constants c1, c2, .. and the same sum s of what is the same in all iterations. One
 * iteration then stays within high - low + one element; the iterations lie apart when the smaller
 * step is at least that wide, and each larger one at least as wide as all steps of the smaller ones
 * together:
 *
 *     |r---|        |r---|        |r---|               |r---|        |r---|        |r---|
 *     i, j          i, j+1        i, j+2               i+1, j        ...
 *
 * Everything is in bytes. A term without such a form (a subscript that data gives, a quotient)
 * becomes part of r if its bounds are known; else there is no proof. */
#include "passes/vectorize/independence.h"

#include "base/size.h"

enum { DEPTH_MAX = 60, TERMS_MAX = 6 };

struct form {
        bool known;
        int64_t steps[INDEPENDENT_LOOPS_MAX];     /* There is one for each loop. */
        /* These are variables, or products of variables, that are the same in all iterations. */
        struct { const struct loop_expr *of; int64_t factor; } terms[TERMS_MAX];
        int term_count;
        int64_t low, high;
};

/* Memory that is one buffer, or may be. */
struct written { struct form form; bool accessed; struct written *next; };

struct proof {
        struct arena *arena;
        const struct loop_bounds *bounds;
        struct loop_stmt *const *loops;
        int count;
        struct map *own;                /* The map has the variables and buffers declared in the
                                         * loop, each with its LET, or with the proof itself. */
        struct map *written;            /* The map finds a struct written by buffer or alias
                                         * class. */
        struct written *first;          /* The list of all begins here. */
        bool may_fail, failed;
};

static void *find(const struct map *map, const void *key)
{
        return map_get(map, (const char *)&key, sizeof key);
}
static void put(struct map *map, const void *key, void *value)
{
        map_set(map, (const char *)&key, sizeof key, value);
}

/* ---- subscripts ---- */

static struct form form_of_range(struct loop_range r)
{
        return (struct form){ .known = r.low != INT64_MIN && r.high != INT64_MAX,
                              .low = r.low,
                              .high = r.high };
}

static void add_term(struct form *f, const struct loop_expr *of, int64_t factor)
{
        for (int i = 0; i < f->term_count; i++)
                if (loop_expr_same(f->terms[i].of, of)) {
                        f->known &= int_add(f->terms[i].factor, factor, &f->terms[i].factor);
                        return;
                }
        if (f->term_count == TERMS_MAX) {
                f->known = false;
                return;
        }
        f->terms[f->term_count].of = of;
        f->terms[f->term_count++].factor = factor;
}

static struct form sum(struct form a, struct form b)
{
        a.known &= b.known;
        for (int k = 0; k < INDEPENDENT_LOOPS_MAX; k++)
                a.known &= int_add(a.steps[k], b.steps[k], &a.steps[k]);
        for (int i = 0; i < b.term_count; i++)
                add_term(&a, b.terms[i].of, b.terms[i].factor);
        a.known &= int_add(a.low, b.low, &a.low);
        a.known &= int_add(a.high, b.high, &a.high);
        return a;
}

static struct form product(struct form a, int64_t factor)
{
        int64_t low = factor < 0 ? a.high : a.low, high = factor < 0 ? a.low : a.high;
        for (int k = 0; k < INDEPENDENT_LOOPS_MAX; k++)
                a.known &= int_mul(a.steps[k], factor, &a.steps[k]);
        for (int i = 0; i < a.term_count; i++)
                a.known &= int_mul(a.terms[i].factor, factor, &a.terms[i].factor);
        a.known &= int_mul(low, factor, &a.low);
        a.known &= int_mul(high, factor, &a.high);
        return a;
}

static struct form form_of(const struct proof *p, const struct loop_expr *e, int depth);

static struct form form_of_variable(const struct proof *p, const struct loop_expr *e, int depth)
{
        const struct loop_variable *v = e->variable;
        for (int k = 0; k < p->count; k++)
                if (v == p->loops[k]->variable) {
                        struct form f = { .known = true };
                        f.steps[k] = p->loops[k]->step;
                        return sum(f, form_of(p, p->loops[k]->a, depth + 1));
                }
        struct form outside = { .known = true };
        const struct loop_stmt *let = find(p->own, v);
        if (!let) {
                add_term(&outside, e, 1);
                return outside;
        }
        return let->kind == STMT_LET ? form_of(p, let->a, depth + 1)
                                     : form_of_range(loop_bounds_of(p->bounds, e));
}

/* Is a product, or a part of one, of variables from outside of the loops? */
static bool is_outside(const struct proof *p, const struct loop_expr *e)
{
        if (e->op == LOOP_MUL)
                return is_outside(p, e->args[0]) && is_outside(p, e->args[1]);
        bool own = e->op == LOOP_VARIABLE && find(p->own, e->variable);
        return e->op == LOOP_LITERAL || (e->op == LOOP_VARIABLE && !own);
}

static struct form form_of_product(const struct proof *p, const struct loop_expr *e, int depth)
{
        int64_t factor;
        struct form outside = { .known = true };
        for (int i = 0; i < 2; i++)
                if (loop_is_int(e->args[i], &factor))
                        return product(form_of(p, e->args[1 - i], depth), factor);
        if (!is_outside(p, e))
                return form_of_range(loop_bounds_of(p->bounds, e));
        add_term(&outside, e, 1);
        return outside;
}

/* Returns the form of all lanes of a ramp. */
static struct form form_of_ramp(const struct proof *p, const struct loop_expr *e, int depth)
{
        int64_t step;
        struct form lanes = { .known = loop_is_int(e->args[1], &step) };
        if (lanes.known)
                *(step < 0 ? &lanes.low : &lanes.high) = step;
        return sum(form_of(p, e->args[0], depth), product(lanes, e->type.lanes - 1));
}

static struct form form_of(const struct proof *p, const struct loop_expr *e, int depth)
{
        /* Other arithmetic wraps. */
        if (e->type.element != E_INDEX || depth++ > DEPTH_MAX)
                return form_of_range(loop_bounds_of(p->bounds, e));
        switch (e->op) {
        case LOOP_VARIABLE: return form_of_variable(p, e, depth);
        case LOOP_ADD: return sum(form_of(p, e->args[0], depth), form_of(p, e->args[1], depth));
        case LOOP_SUB:
                return sum(form_of(p, e->args[0], depth),
                           product(form_of(p, e->args[1], depth), -1));
        case LOOP_MUL: return form_of_product(p, e, depth);
        case LOOP_SPLAT: return form_of(p, e->args[0], depth);
        case LOOP_RAMP: return form_of_ramp(p, e, depth);
        default: return form_of_range(loop_bounds_of(p->bounds, e));
        }
}

/* ---- accesses ---- */

static const void *memory_of(const struct loop_buffer *b)
{
        b = loop_buffer_root((struct loop_buffer *)(uintptr_t)b, NULL);
        return b->space == SPACE_PARAMETER && b->alias_class
                       ? (const void *)(uintptr_t)b->alias_class
                       : b;
}

static bool same_but_range(const struct form *a, const struct form *b)
{
        struct form difference = sum(*a, product(*b, -1));
        bool same = difference.known;
        for (int k = 0; k < INDEPENDENT_LOOPS_MAX; k++)
                same &= difference.steps[k] == 0;
        for (int i = 0; i < difference.term_count; i++)
                same &= difference.terms[i].factor == 0;
        return same;
}

/* Returns the number of lanes up to the last one that a mask lets through, where the mask is
 * ramp(0, 1) < count and something else. */
static int64_t lanes_of(const struct proof *p, const struct loop_expr *mask, int lanes, int depth)
{
        const struct loop_stmt *let =
                mask && mask->op == LOOP_VARIABLE ? find(p->own, mask->variable) : NULL;
        int64_t from, step;
        if (!mask || depth > DEPTH_MAX)
                return lanes;
        if (let && let->kind == STMT_LET)
                return lanes_of(p, let->a, lanes, depth + 1);
        if (mask->op == LOOP_AND) {
                int64_t a = lanes_of(p, mask->args[0], lanes, depth + 1),
                        b = lanes_of(p, mask->args[1], lanes, depth + 1);
                return a < b ? a : b;
        }
        const struct loop_expr *ramp = mask->args[0], *count = mask->args[1];
        if (mask->op != LOOP_LT || ramp->op != LOOP_RAMP || !loop_is_int(ramp->args[0], &from) ||
            !loop_is_int(ramp->args[1], &step) || from != 0 || step != 1 || count->op != LOOP_SPLAT)
                return lanes;
        struct loop_range r = loop_bounds_of(p->bounds, count->args[0]);
        return r.high > lanes ? lanes : r.high < 1 ? 1 : r.high;
}

/* Adds an access of `lanes` elements from index on, or of one at each lane of index. */
static void access_memory(struct proof *p, struct loop_buffer *b, const struct loop_expr *index,
                          int lanes, const struct loop_expr *mask)
{
        struct written *w = find(p->written, memory_of(b));
        if (!w)
                return;
        int64_t offset, bytes = element_info[b->element].bytes;
        loop_buffer_root(b, &offset);
        struct form f = form_of(p, index, 0);
        f.known &= int_add(f.low, offset, &f.low);
        f.known &= int_add(f.high, offset, &f.high);
        f.known &=
                int_add(f.high, index->type.lanes > 1 ? 1 : lanes_of(p, mask, lanes, 0), &f.high);
        f = product(f, bytes);
        if (!f.known || (w->accessed && !same_but_range(&w->form, &f))) {
                p->failed = true;
                return;
        }
        if (!w->accessed)
                w->form = f;
        w->accessed = true;
        w->form.low = f.low < w->form.low ? f.low : w->form.low;
        w->form.high = f.high > w->form.high ? f.high : w->form.high;
}

static void check_store(struct loop_stmt *s, void *context)
{
        if (s->kind == STMT_STORE)
                access_memory(context, s->buffer, s->a, s->b->type.lanes, s->c);
}

static void check_load(struct loop_expr *e, void *context)
{
        struct proof *p = context;
        if (e->op == LOOP_LOAD)
                access_memory(p, e->buffer, e->args[0], e->type.lanes * loop_word_group(e),
                              e->args[1]);
        else if (e->op == LOOP_TILE_ENTRY && !find(p->own, e->variable))
                p->failed = true;
}

/* ---- statements ---- */

static void find_own(struct loop_stmt *s, void *context)
{
        struct proof *p = context;
        switch (s->kind) {
        case STMT_FOR: case STMT_LET: case STMT_VAR: put(p->own, s->variable, s); break;
        case STMT_ALLOC: put(p->own, s->buffer, s); break;
        case STMT_FAIL: p->failed |= !p->may_fail; break;
        case STMT_CALL:
        case STMT_IMAGE:
        case STMT_TILES:
        case STMT_MULTIPLY:
        case STMT_UNLOAD:
        case STMT_SCALE:
        case STMT_TAKE:
        case STMT_GIVE:
        case STMT_COPY: case STMT_COMMIT: case STMT_WAIT: case STMT_SETTLE: p->failed = true; break;
        default: break;
        }
}

static void find_written(struct loop_stmt *s, void *context)
{
        struct proof *p = context;
        if (s->kind == STMT_SET && !find(p->own, s->variable))
                p->failed = true;
        if (s->kind != STMT_STORE || find(p->own, s->buffer) ||
            find(p->written, memory_of(s->buffer)))
                return;
        struct written *w = ARENA_NEW(p->arena, struct written);
        w->next = p->first;
        p->first = w;
        put(p->written, memory_of(s->buffer), w);
}

/* ---- the proof ---- */

static int64_t trip(const struct loop_stmt *s)
{
        int64_t from, to;
        if (!loop_is_int(s->a, &from) || !loop_is_int(s->b, &to))
                return -1;
        return to > from ? (to - from + s->step - 1) / s->step : 0;
}

static bool lie_apart(const struct proof *p, const struct form *f)
{
        int64_t width, reach;
        bool done[INDEPENDENT_LOOPS_MAX] = { false };
        if (!int_sub(f->high, f->low, &width))
                return false;
        /* The loop finds the smallest step that is left. */
        for (int round = 0; round < p->count; round++) {
                int smallest = -1;
                int64_t step = 0;
                for (int k = 0; k < p->count; k++) {
                        int64_t size = f->steps[k] < 0 ? -f->steps[k] : f->steps[k];
                        if (!done[k] && (smallest < 0 || size < step)) {
                                smallest = k;
                                step = size;
                        }
                }
                done[smallest] = true;
                if (p->count > 1 && trip(p->loops[smallest]) == 1)
                        continue;
                if (step < width)
                        return false;
                if (round + 1 < p->count && (!int_mul(step, trip(p->loops[smallest]) - 1, &reach) ||
                                             !int_add(reach, width, &width)))
                        return false;
        }
        return true;
}

bool loops_are_independent(const struct loop_bounds *bounds, struct loop_stmt *const *loops,
                           int count, bool may_fail)
{
        struct proof p = { .arena = arena_new(),
                           .bounds = bounds,
                           .loops = loops,
                           .count = count,
                           .may_fail = may_fail };
        struct loop_block *body = loops[0]->body;
        p.own = map_new(p.arena);
        p.written = map_new(p.arena);
        for (int k = 0; count > 1 && k < count; k++)
                p.failed |= trip(loops[k]) < 1;
        put(p.own, loops[0]->variable, loops[0]);
        loop_block_walk(body, find_own, NULL, &p);
        loop_block_walk(body, find_written, NULL, &p);
        loop_block_walk(body, check_store, check_load, &p);
        for (const struct written *w = p.first; w; w = w->next)
                p.failed = p.failed || !lie_apart(&p, &w->form);
        arena_free(p.arena);
        return !p.failed;
}
