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
 * Steps may be products with extents that a run gives, as those of rows are, and loops of the body
 * may run as often as an extent says: a span, which is a range of such a width. Where such
 * an extent is 0, nothing is accessed.
 *
 * Where all steps are numbers the accesses of one iteration may also lie between those of others:
 *
 *     |a|  |b|      |a|  |b|
 *       |a|  |b|      |a|  |b|
 *
 * Everything is in bytes. A term without such a form (a subscript that data gives, a quotient)
 * becomes part of r if its bounds are known; else there is no proof. A quotient, or what remains of
 * one, is part of s instead if there is no proof that way and it is the same in all iterations, as
 * the slot of a row in a circular buffer is. */
#include "passes/vectorize/independence.h"

#include "base/size.h"
#include "passes/vectorize/independence_pieces.h"

enum { DEPTH_MAX = 60, TERMS_MAX = 6, ATOMS_MAX = 6, SPANS_MAX = 4 };

/* A product of a constant and of atoms: expressions that are the same in all iterations. */
struct monomial {
        int64_t factor;
        const struct loop_expr *atoms[ATOMS_MAX];
        int atom_count;
};

/* A loop of the body whose number of iterations a run gives: 0, step, .. step * (trip - 1). */
struct span { struct monomial step, trip; };

struct form {
        bool known;
        struct monomial steps[INDEPENDENT_LOOPS_MAX];     /* There is one for each loop; factor 0:
                                                           * it does not move with the loop. */
        struct monomial terms[TERMS_MAX];         /* They are the same in all iterations. */
        int term_count;
        struct span spans[SPANS_MAX];
        int span_count;
        int64_t low, high;
};

/* Memory that is one buffer, or may be. */
struct written {
        struct form form;
        struct pieces pieces;           /* These are the accesses of one iteration, apart. */
        bool accessed;
        struct written *next;
};

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
        bool fixed;                     /* Quotients that are the same in all iterations are part of
                                         * s. */
        bool *quotients;                /* Set: there are such quotients. */
};

static void *find(const struct map *map, const void *key)
{
        return map_get(map, (const char *)&key, sizeof key);
}
static void put(struct map *map, const void *key, void *value)
{
        map_set(map, (const char *)&key, sizeof key, value);
}

/* ---- products of what is the same in all iterations ---- */

static struct monomial constant(int64_t factor) { return (struct monomial){ .factor = factor }; }

/* Does b have each atom of a, as often? */
static bool has_atoms(const struct monomial *a, const struct monomial *b)
{
        bool taken[ATOMS_MAX] = { false };
        for (int i = 0; i < a->atom_count; i++) {
                int k = 0;
                while (k < b->atom_count &&
                       (taken[k] || !loop_expr_same(a->atoms[i], b->atoms[k])))
                        k++;
                if (k == b->atom_count)
                        return false;
                taken[k] = true;
        }
        return true;
}

static bool same_atoms(const struct monomial *a, const struct monomial *b)
{
        return a->atom_count == b->atom_count && has_atoms(a, b);
}

static bool same_monomial(const struct monomial *a, const struct monomial *b)
{
        return a->factor == b->factor && (!a->factor || same_atoms(a, b));
}

static bool multiply(struct monomial *a, const struct monomial *b)
{
        if (!a->factor || !b->factor) {
                *a = constant(0);
                return true;
        }
        if (a->atom_count + b->atom_count > ATOMS_MAX)
                return false;
        for (int i = 0; i < b->atom_count; i++)
                a->atoms[a->atom_count++] = b->atoms[i];
        return int_mul(a->factor, b->factor, &a->factor);
}

/* Adds products of the same atoms. */
static bool add_up(struct monomial *a, const struct monomial *b)
{
        if (!b->factor)
                return true;
        if (!a->factor)
                *a = *b;
        else if (!same_atoms(a, b) || !int_add(a->factor, b->factor, &a->factor))
                return false;
        if (!a->factor)
                *a = constant(0);
        return true;
}

/* ---- subscripts ---- */

static struct form form_of_range(struct loop_range r)
{
        return (struct form){ .known = r.low != INT64_MIN && r.high != INT64_MAX,
                              .low = r.low,
                              .high = r.high };
}

static void add_term(struct form *f, const struct monomial *term)
{
        if (!term->factor)
                return;
        for (int i = 0; i < f->term_count; i++)
                if (same_atoms(&f->terms[i], term)) {
                        f->known &= int_add(f->terms[i].factor, term->factor, &f->terms[i].factor);
                        return;
                }
        if (f->term_count == TERMS_MAX)
                f->known = false;
        else
                f->terms[f->term_count++] = *term;
}

static void add_span(struct form *f, const struct span *span)
{
        if (f->span_count == SPANS_MAX)
                f->known = false;
        else
                f->spans[f->span_count++] = *span;
}

static struct form sum(struct form a, struct form b)
{
        a.known &= b.known;
        for (int k = 0; k < INDEPENDENT_LOOPS_MAX; k++)
                a.known = a.known && add_up(&a.steps[k], &b.steps[k]);
        for (int i = 0; i < b.term_count; i++)
                add_term(&a, &b.terms[i]);
        for (int i = 0; i < b.span_count; i++)
                add_span(&a, &b.spans[i]);
        a.known &= int_add(a.low, b.low, &a.low);
        a.known &= int_add(a.high, b.high, &a.high);
        return a;
}

static struct form product(struct form a, int64_t factor)
{
        int64_t low = factor < 0 ? a.high : a.low, high = factor < 0 ? a.low : a.high;
        for (int k = 0; k < INDEPENDENT_LOOPS_MAX; k++)
                a.known &= int_mul(a.steps[k].factor, factor, &a.steps[k].factor);
        for (int i = 0; i < a.term_count; i++)
                a.known &= int_mul(a.terms[i].factor, factor, &a.terms[i].factor);
        for (int i = 0; i < a.span_count; i++)
                a.known &= factor >= 0 &&
                           int_mul(a.spans[i].step.factor, factor, &a.spans[i].step.factor);
        a.known &= int_mul(low, factor, &a.low);
        a.known &= int_mul(high, factor, &a.high);
        return a;
}

/* Returns the form times what is the same in all iterations and not negative; a range becomes a
 * span. */
static struct form scaled(struct form a, const struct monomial *by)
{
        if (!by->atom_count)
                return product(a, by->factor);
        int64_t width;
        struct form f = { .known = a.known && int_sub(a.high, a.low, &width) };
        if (!f.known)
                return f;
        for (int k = 0; k < INDEPENDENT_LOOPS_MAX; k++) {
                f.steps[k] = a.steps[k];
                f.known = f.known && multiply(&f.steps[k], by);
        }
        for (int i = 0; i < a.term_count && f.known; i++) {
                f.known = multiply(&a.terms[i], by);
                add_term(&f, &a.terms[i]);
        }
        for (int i = 0; i < a.span_count && f.known; i++) {
                f.known = multiply(&a.spans[i].step, by);
                add_span(&f, &a.spans[i]);
        }
        struct monomial low = constant(a.low);
        f.known = f.known && multiply(&low, by) && width < INT64_MAX;
        add_term(&f, &low);
        if (width && f.known)
                add_span(&f, &(struct span){ *by, constant(width + 1) });
        return f;
}

static struct form form_of(const struct proof *p, const struct loop_expr *e, int depth);

/* Is it an index of literals and variables from outside of the loops? */
static bool is_outside(const struct proof *p, const struct loop_expr *e, int depth)
{
        if (depth > DEPTH_MAX || e->type.element != E_INDEX || e->type.lanes != 1 ||
            e->op == LOOP_LOAD || e->op == LOOP_CALL || e->op == LOOP_TILE_ENTRY)
                return false;
        if (e->op == LOOP_VARIABLE)
                return !find(p->own, e->variable);
        for (int i = 0; i < e->arity; i++)
                if (!e->args[i] || !is_outside(p, e->args[i], depth + 1))
                        return false;
        return true;
}

/* Splits what is_outside into a constant and atoms. */
static bool monomial_of(const struct loop_expr *e, struct monomial *m, int depth)
{
        struct monomial other;
        int64_t factor;
        *m = constant(1);
        if (loop_is_int(e, &factor)) {
                m->factor = factor;
        } else if (e->op == LOOP_MUL && depth < DEPTH_MAX) {
                return monomial_of(e->args[0], m, depth + 1) &&
                       monomial_of(e->args[1], &other, depth + 1) && multiply(m, &other);
        } else {
                m->atoms[m->atom_count++] = e;
        }
        return true;
}

/* Finds how often a loop runs at most: from a literal to what is the same in all iterations. */
static bool trip_of(const struct proof *p, const struct loop_stmt *s, struct monomial *m)
{
        int64_t from, to;
        if (!loop_is_int(s->a, &from))
                return false;
        if (loop_is_int(s->b, &to)) {
                *m = constant(to > from ? (to - from + s->step - 1) / s->step : 0);
                return true;
        }
        return from >= 0 && is_outside(p, s->b, 0) && loop_bounds_of(p->bounds, s->b).low >= 0 &&
               monomial_of(s->b, m, 0);
}

static struct form form_of_loop(const struct proof *p, const struct loop_stmt *loop,
                                const struct loop_expr *e)
{
        struct span span = { constant(loop->step), { 0 } };
        int64_t from;
        struct form f = { .known = true };
        if (!loop_is_int(loop->a, &from) || loop_is_int(loop->b, &(int64_t){ 0 }) ||
            !trip_of(p, loop, &span.trip))
                return form_of_range(loop_bounds_of(p->bounds, e));
        f.low = f.high = from;
        add_span(&f, &span);
        return f;
}

static struct form form_of_variable(const struct proof *p, const struct loop_expr *e, int depth)
{
        const struct loop_variable *v = e->variable;
        for (int k = 0; k < p->count; k++)
                if (v == p->loops[k]->variable) {
                        struct form f = { .known = true };
                        f.steps[k] = constant(p->loops[k]->step);
                        return sum(f, form_of(p, p->loops[k]->a, depth + 1));
                }
        struct form outside = { .known = true };
        const struct loop_stmt *let = find(p->own, v);
        if (!let) {
                struct monomial term = constant(1);
                term.atoms[term.atom_count++] = e;
                add_term(&outside, &term);
                return outside;
        }
        return let->kind == STMT_LET   ? form_of(p, let->a, depth + 1)
               : let->kind == STMT_FOR ? form_of_loop(p, let, e)
                                       : form_of_range(loop_bounds_of(p->bounds, e));
}

static struct form form_of_product(const struct proof *p, const struct loop_expr *e, int depth)
{
        int64_t factor;
        struct form outside = { .known = true };
        struct monomial m;
        for (int i = 0; i < 2; i++)
                if (loop_is_int(e->args[i], &factor))
                        return product(form_of(p, e->args[1 - i], depth), factor);
        if (is_outside(p, e, 0) && monomial_of(e, &m, 0)) {
                add_term(&outside, &m);
                return outside;
        }
        for (int i = 0; i < 2; i++)
                if (is_outside(p, e->args[i], 0) &&
                    loop_bounds_of(p->bounds, e->args[i]).low >= 0 &&
                    monomial_of(e->args[i], &m, 0)) {
                        const struct form f = scaled(form_of(p, e->args[1 - i], depth), &m);
                        if (f.known)
                                return f;
                }
        return form_of_range(loop_bounds_of(p->bounds, e));
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

static struct form form_of_quotient(const struct proof *p, const struct loop_expr *e)
{
        struct form f = { .known = true };
        struct monomial term;
        const bool is_same = is_outside(p, e, 0) && monomial_of(e, &term, 0);
        *p->quotients |= is_same;
        if (!is_same || !p->fixed)
                return form_of_range(loop_bounds_of(p->bounds, e));
        add_term(&f, &term);
        return f;
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
        case LOOP_DIV: case LOOP_REM: return form_of_quotient(p, e);
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
        bool same = a->known && b->known;
        for (int k = 0; k < INDEPENDENT_LOOPS_MAX && same; k++)
                same = same_monomial(&a->steps[k], &b->steps[k]);
        struct form difference = *a;
        for (int i = 0; i < b->term_count && same; i++) {
                struct monomial term = b->terms[i];
                term.factor = -term.factor;
                add_term(&difference, &term);
        }
        same = same && difference.known;
        for (int i = 0; i < difference.term_count && same; i++)
                same = difference.terms[i].factor == 0;
        return same;
}

/* Makes the range of `to` that of both; returns false where it has no room for them. */
static bool join_spans(struct form *to, const struct form *from)
{
        for (int i = 0; i < from->span_count; i++) {
                int k = 0;
                while (k < to->span_count &&
                       (!same_monomial(&to->spans[k].step, &from->spans[i].step) ||
                        !same_atoms(&to->spans[k].trip, &from->spans[i].trip)))
                        k++;
                if (k == to->span_count)
                        add_span(to, &from->spans[i]);
                else if (to->spans[k].trip.factor < from->spans[i].trip.factor)
                        to->spans[k].trip.factor = from->spans[i].trip.factor;
        }
        return to->known;
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
        pieces_add(&w->pieces, f.low, f.high);
        p->failed |= !join_spans(&w->form, &f);
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

/* What moves a subscript: a loop, whose iterations must lie apart, or a span within one. */
struct mover { struct monomial step, trip; bool apart, counted; };

/* Is a at least as much as b, where atoms are 1 at least? Atoms that b has beyond those of a count
 * with their bounds. */
static bool at_least(const struct proof *p, const struct monomial *a, const struct monomial *b)
{
        struct monomial shared = constant(b->factor);
        for (int i = 0; i < b->atom_count; i++) {
                struct monomial more = shared;
                more.atoms[more.atom_count++] = b->atoms[i];
                if (has_atoms(&more, a)) {
                        shared = more;
                        continue;
                }
                const int64_t high = loop_bounds_of(p->bounds, b->atoms[i]).high;
                if (high == INT64_MAX || !int_mul(shared.factor, high, &shared.factor))
                        return false;
        }
        return a->factor >= shared.factor;
}

/* Adds the reach of a mover to the width of what is within one of its steps. */
static bool widen(const struct proof *p, struct monomial *width, const struct mover *m)
{
        struct monomial reach = m->step, trip = m->trip;
        if (!m->counted)
                return false;
        if (!reach.atom_count && !trip.atom_count && !width->atom_count)
                return int_mul(reach.factor, trip.factor - 1, &reach.factor) &&
                       int_add(width->factor, reach.factor, &width->factor);
        if (!multiply(&reach, &trip))
                return false;
        if (at_least(p, &m->step, width)) {
                *width = reach;
                return true;
        }
        return add_up(width, &reach);
}

/* Is each atom of the steps 1 at least, or how often a loop runs, so that nothing is accessed where
 * it is 0? */
static bool steps_are_positive(const struct proof *p, const struct mover *movers, int count)
{
        for (int i = 0; i < count; i++)
                for (int a = 0; a < movers[i].step.atom_count; a++) {
                        struct monomial atom = constant(1);
                        atom.atoms[atom.atom_count++] = movers[i].step.atoms[a];
                        bool positive = loop_bounds_of(p->bounds, atom.atoms[0]).low >= 1;
                        for (int k = 0; k < count && !positive; k++)
                                positive = has_atoms(&atom, &movers[k].trip);
                        if (!positive)
                                return false;
                }
        return true;
}

/* Takes the mover of the smallest step from those that are left: of the fewest atoms, then the
 * least factor. */
static struct mover take_smallest(struct mover *movers, int left)
{
        int at = 0;
        for (int i = 1; i < left; i++) {
                const struct monomial *a = &movers[i].step, *b = &movers[at].step;
                if (a->atom_count < b->atom_count ||
                    (a->atom_count == b->atom_count && a->factor < b->factor))
                        at = i;
        }
        const struct mover m = movers[at];
        for (; at + 1 < left; at++)
                movers[at] = movers[at + 1];
        return m;
}

static bool lie_apart(const struct proof *p, const struct form *f)
{
        struct mover movers[INDEPENDENT_LOOPS_MAX + SPANS_MAX];
        struct monomial width = constant(0);
        int count = 0;
        if (!int_sub(f->high, f->low, &width.factor))
                return false;
        for (int i = 0; i < f->span_count; i++)
                movers[count++] = (struct mover){ f->spans[i].step, f->spans[i].trip, false, true };
        for (int k = 0; k < p->count; k++) {
                struct mover m = { f->steps[k], constant(0), true, false };
                m.step.factor = m.step.factor < 0 ? -m.step.factor : m.step.factor;
                m.counted = trip_of(p, p->loops[k], &m.trip);
                if (p->count == 1 || m.trip.atom_count || m.trip.factor != 1)
                        movers[count++] = m;
        }
        if (!steps_are_positive(p, movers, count))
                return false;
        for (int left = count; left > 0; left--) {
                const struct mover m = take_smallest(movers, left);
                if (m.apart && !at_least(p, &m.step, &width))
                        return false;
                if (left > 1 && !widen(p, &width, &m))
                        return false;
        }
        return true;
}

/* Do the pieces that an iteration accesses lie between those of others, where all steps are
 * numbers? */
static bool lie_between(const struct proof *p, const struct written *w)
{
        struct mover movers[INDEPENDENT_LOOPS_MAX];
        struct pieces pieces = w->pieces;
        int count = 0;
        for (int k = 0; k < p->count; k++) {
                struct mover m = { w->form.steps[k], constant(0), true, false };
                m.step.factor = m.step.factor < 0 ? -m.step.factor : m.step.factor;
                m.counted = trip_of(p, p->loops[k], &m.trip);
                if (!m.counted || m.step.atom_count || m.trip.atom_count)
                        return false;
                if (m.trip.factor != 1)
                        movers[count++] = m;
        }
        for (int left = count; left > 0; left--) {
                const struct mover m = take_smallest(movers, left);
                if (!pieces_repeat(&pieces, m.step.factor, m.trip.factor))
                        return false;
        }
        return !w->form.span_count;
}

static bool prove(const struct loop_bounds *bounds, struct loop_stmt *const *loops, int count,
                  bool may_fail, bool fixed, bool *quotients)
{
        struct proof p = { .arena = arena_new(),
                           .bounds = bounds,
                           .loops = loops,
                           .count = count,
                           .may_fail = may_fail,
                           .fixed = fixed,
                           .quotients = quotients };
        struct loop_block *body = loops[0]->body;
        p.own = map_new(p.arena);
        p.written = map_new(p.arena);
        put(p.own, loops[0]->variable, loops[0]);
        loop_block_walk(body, find_own, NULL, &p);
        for (int k = 0; count > 1 && k < count; k++) {
                struct monomial trip;
                p.failed |= !trip_of(&p, loops[k], &trip) || trip.factor < 1;
        }
        loop_block_walk(body, find_written, NULL, &p);
        loop_block_walk(body, check_store, check_load, &p);
        for (const struct written *w = p.first; w; w = w->next)
                p.failed = p.failed || !(lie_apart(&p, &w->form) || lie_between(&p, w));
        arena_free(p.arena);
        return !p.failed;
}

bool loops_are_independent(const struct loop_bounds *bounds, struct loop_stmt *const *loops,
                           int count, bool may_fail)
{
        bool quotients = false;
        return prove(bounds, loops, count, may_fail, false, &quotients) ||
               (quotients && prove(bounds, loops, count, may_fail, true, &quotients));
}
