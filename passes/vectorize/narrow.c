/* SPDX-License-Identifier: MIT */
/* vectorize: for targets whose vectors compute with elements of one or two bytes as they are
 * (`narrow` of struct target), a loop whose values are of such a type computes in it.
 *
 *     let %bi : i32 = i32(%b[%i])
 *     store %y[%i] = i8(max(i32(i8(i32(%a[%i]) + %bi)), %bi))
 *
 * becomes
 *
 *     let %bi : i8 = %b[%i]
 *     store %y[%i] = max(%a[%i] + %bi, %bi)
 *
 * Two things make an expression of a compute type one of a narrow type: it has the same value there
 * (what was converted from it, literals in range, extremes and choices of those); or it is
 * converted to it at once and depends on no bits but those that stay: sums and products of
 * integers, and one operation on floats, which rounds the same in f32 as in f16 itself (24 bits are
 * 2 * 11 + 2). Variables are narrow where all their values are. Exact to the bit.
 *
 * What comes of it is no Loop IR yet, for scalars do not compute so: the loop is made vectors of
 * (vectorize.c), and what stays scalar of these is widened again. */
#include "passes/vectorize/vectorize.h"

#include "base/text.h"

/* The variable of a narrow type that stands for another one; NULL: none does. */
struct twin { struct loop_variable *variable; };

struct narrowing {
        struct arena *arena;
        const struct target *target;
        enum element elements[ELEMENT_COUNT];     /* The target's narrow ones, shortest first. */
        int element_count;
        struct map *twins;              /* The map finds a struct twin by its variable. */
        struct map *rebuilt;            /* The map finds by expression what `rebuilt` returned,
                                         * as long as twins stay. */
        enum element tried;             /* Variables may get this type. */
        bool changed;
};

static enum element element_of(const struct loop_expr *e) { return e->type.element; }

static struct twin *twin_of(const struct narrowing *n, const struct loop_variable *v)
{
        return map_get(n->twins, (const char *)&v, sizeof v);
}

static struct loop_expr *rebuilt(struct narrowing *n, const struct loop_expr *e);

/* ---- expressions in a narrow type ---- */

/* Is every value of t one of the compute type `wide`? */
static bool is_preserved(enum element t, enum element wide)
{
        if (element_is_float(t))
                return wide == E_F32;
        return wide == E_I32 || (wide == E_U32 && element_info[t].class == CLASS_UINT);
}

static struct loop_expr *literal_as(struct narrowing *n, const struct loop_expr *e, enum element t)
{
        struct loop_expr *narrow = loop_cast(n->arena, t, loop_expr_copy(n->arena, e));
        struct loop_expr *back = narrow->op == LOOP_LITERAL
                                         ? loop_cast(n->arena, element_of(e), narrow)
                                         : narrow;
        return loop_expr_same(back, e) ? narrow : NULL;
}

typedef struct loop_expr *narrow_form(struct narrowing *n, const struct loop_expr *e,
                                      enum element t);

/* Returns e on operands that have this form from number `first` on, and are rebuilt before it;
 * NULL: one has no such form. */
static struct loop_expr *of_operands(struct narrowing *n, const struct loop_expr *e, enum element t,
                                     int first, narrow_form *form)
{
        struct loop_expr *args[3] = { 0 };
        for (int i = 0; i < e->arity; i++)
                if (!(args[i] = i < first ? rebuilt(n, e->args[i]) : form(n, e->args[i], t)))
                        return NULL;
        return loop_node(n->arena, e->op, LOOP_TYPE(t), args[0], args[1], args[2]);
}

/* Returns e, or its conversion to an integer type of more bits that has all its values; NULL: t is
 * none. */
static struct loop_expr *extended(struct narrowing *n, struct loop_expr *e, enum element t)
{
        enum element from = element_of(e);
        bool fits = loop_is_narrow_integer(from) && loop_is_narrow_integer(t) &&
                    element_info[from].bytes < element_info[t].bytes &&
                    (element_info[from].class == CLASS_UINT || element_info[t].class == CLASS_SINT);
        return from == t ? e
               : fits    ? loop_node(n->arena, LOOP_CAST, LOOP_TYPE(t), e, NULL, NULL)
                         : NULL;
}

/* Returns an expression of type t that has the same value as e; NULL: none is known. */
static struct loop_expr *same(struct narrowing *n, const struct loop_expr *e, enum element t)
{
        if (!is_preserved(t, element_of(e)) || e->type.lanes > 1)
                return NULL;
        switch (e->op) {
        case LOOP_LITERAL: return literal_as(n, e, t);
        case LOOP_VARIABLE: {
                const struct twin *twin = twin_of(n, e->variable);
                return twin && twin->variable
                               ? extended(n, loop_use(n->arena, twin->variable), t)
                               : NULL;
        }
        case LOOP_CAST: return extended(n, rebuilt(n, e->args[0]), t);
        case LOOP_SELECT: return of_operands(n, e, t, 1, same);
        case LOOP_MIN: case LOOP_MAX: case LOOP_MIN_ORDERED: case LOOP_MAX_ORDERED:
        case LOOP_AND: case LOOP_OR: case LOOP_XOR:
                return of_operands(n, e, t, 0, same);
        case LOOP_NEG: return element_is_float(t) ? of_operands(n, e, t, 0, same) : NULL;
        default: return NULL;
        }
}

/* Returns e, converted to t, by narrow operations; NULL: they do not give it. */
static struct loop_expr *converted(struct narrowing *n, const struct loop_expr *e, enum element t);

/* Returns an integer that was converted from another one, modulo 2 to the width of t. */
static struct loop_expr *reinterpreted(struct narrowing *n, const struct loop_expr *e,
                                       enum element t)
{
        enum element from = element_of(e->args[0]);
        if (from == E_I32 || from == E_U32)
                return converted(n, e->args[0], t);
        return element_is_integer(from) && element_info[from].bytes == element_info[t].bytes
                       ? loop_bitcast(n->arena, t, rebuilt(n, e->args[0]))
                       : NULL;
}

static struct loop_expr *converted(struct narrowing *n, const struct loop_expr *e, enum element t)
{
        struct loop_expr *exact = same(n, e, t);
        bool words = element_of(e) == E_I32 || element_of(e) == E_U32;
        if (exact || e->type.lanes > 1 || element_is_float(t) != (element_of(e) == E_F32))
                return exact;
        switch (e->op) {
        case LOOP_ADD: case LOOP_SUB: case LOOP_MUL:
                return element_is_float(t) ? of_operands(n, e, t, 0, same)
                       : words             ? of_operands(n, e, t, 0, converted)
                                           : NULL;
        case LOOP_DIV: return element_is_float(t) ? of_operands(n, e, t, 0, same) : NULL;
        case LOOP_AND: case LOOP_OR: case LOOP_XOR: case LOOP_NOT: case LOOP_NEG:
                return words ? of_operands(n, e, t, 0, converted) : NULL;
        case LOOP_SELECT: return words ? of_operands(n, e, t, 1, converted) : NULL;
        case LOOP_LITERAL:
                return words ? loop_literal(n->arena, LOOP_TYPE(t), element_wrap(t, e->literal.u))
                             : NULL;
        case LOOP_CAST: return words ? reinterpreted(n, e, t) : NULL;
        default: return NULL;
        }
}

/* Returns e, converted to t by way of an integer type of twice as many bits; or NULL. */
static struct loop_expr *halved(struct narrowing *n, const struct loop_expr *e, enum element t)
{
        struct loop_expr *wide = NULL;
        for (int i = 0; i < n->element_count && !wide; i++)
                if (loop_is_narrow_integer(t) && loop_is_narrow_integer(n->elements[i]) &&
                    element_info[n->elements[i]].bytes > element_info[t].bytes)
                        wide = converted(n, e, n->elements[i]);
        return wide ? loop_node(n->arena, LOOP_CAST, LOOP_TYPE(t), wide, NULL, NULL) : NULL;
}

/* ---- all expressions ---- */

/* Returns a comparison of values of a narrow type, or with 0 for a conversion to bool; or NULL. */
static struct loop_expr *compared(struct narrowing *n, const struct loop_expr *e)
{
        bool truth = e->op == LOOP_CAST;
        for (int i = 0; i < n->element_count; i++) {
                enum element t = n->elements[i];
                const struct loop_expr *x = e->args[0];
                struct loop_expr *a = truth && element_of(x) == t ? rebuilt(n, x) : same(n, x, t);
                struct loop_expr *b = truth ? loop_literal(n->arena, LOOP_TYPE(t),
                                                           (union scalar){ .u = 0 })
                                            : same(n, e->args[1], t);
                if (a && b && (a->op != LOOP_LITERAL || b->op != LOOP_LITERAL))
                        return loop_node(n->arena, truth ? LOOP_NE : e->op, e->type, a, b, NULL);
        }
        return NULL;
}

static struct loop_expr *rebuilt_once(struct narrowing *n, const struct loop_expr *e)
{
        struct loop_expr *narrow = NULL;
        if (e->op == LOOP_CAST && target_is_narrow(n->target, element_of(e)) &&
            e->type.lanes == 1) {
                narrow = converted(n, e->args[0], element_of(e));
                narrow = narrow ? narrow : halved(n, e->args[0], element_of(e));
        } else if ((e->op >= LOOP_LT && e->op <= LOOP_NE) ||
                   (e->op == LOOP_CAST && element_of(e) == E_BOOL)) {
                narrow = compared(n, e);
        }
        if (narrow)
                return narrow;
        const struct twin *twin = e->op == LOOP_VARIABLE ? twin_of(n, e->variable) : NULL;
        if (twin && twin->variable)
                return loop_cast(n->arena, element_of(e), loop_use(n->arena, twin->variable));
        struct loop_expr *copy = arena_copy(n->arena, e, sizeof *e);
        for (int i = 0; i < e->arity; i++)
                copy->args[i] = rebuilt(n, e->args[i]);
        return copy;
}

static struct loop_expr *rebuilt(struct narrowing *n, const struct loop_expr *e)
{
        struct loop_expr *done = e ? map_get(n->rebuilt, (const char *)&e, sizeof e) : NULL;
        if (!e || done)
                return done;
        done = rebuilt_once(n, e);
        map_set(n->rebuilt, (const char *)&e, sizeof e, done);
        return done;
}

/* ---- variables ---- */

static bool declares(const struct loop_stmt *s)
{
        return (s->kind == STMT_LET || s->kind == STMT_VAR) && !s->variable->rows &&
               loop_is_compute(s->variable->type.element) && s->variable->type.lanes == 1;
}

static void try_twin(struct loop_stmt *s, void *context)
{
        struct narrowing *n = context;
        struct twin *twin = declares(s) ? twin_of(n, s->variable) : NULL;
        if (!declares(s) || (twin && twin->variable) ||
            !is_preserved(n->tried, s->variable->type.element))
                return;
        if (!twin) {
                twin = ARENA_NEW(n->arena, struct twin);
                map_set(n->twins, (const char *)&s->variable, sizeof s->variable, twin);
        }
        twin->variable = loop_variable_new(n->arena, s->variable->name, LOOP_TYPE(n->tried),
                                           s->variable->kind);
}

/* Returns the twin of the variable that the statement sets; NULL: it has none. */
static struct twin *set_twin(const struct narrowing *n, const struct loop_stmt *s)
{
        bool sets = s->kind == STMT_LET || s->kind == STMT_VAR || s->kind == STMT_SET;
        struct twin *twin = sets ? twin_of(n, s->variable) : NULL;
        return twin && twin->variable ? twin : NULL;
}

static void check_twin(struct loop_stmt *s, void *context)
{
        struct narrowing *n = context;
        struct twin *twin = set_twin(n, s);
        if (!twin || twin->variable->type.element != n->tried || !s->a || same(n, s->a, n->tried))
                return;
        twin->variable = NULL;
        n->rebuilt = map_new(n->arena);
        n->changed = true;
}

/* Finds for each type the variables of which all values have it: the search begins with all, and
 * takes those away that get another value, until none does. */
static void find_twins(struct narrowing *n, struct loop_block *body)
{
        for (int i = 0; i < n->element_count; i++) {
                n->tried = n->elements[i];
                loop_block_walk(body, try_twin, NULL, n);
                do {
                        n->changed = false;
                        n->rebuilt = map_new(n->arena);
                        loop_block_walk(body, check_twin, NULL, n);
                } while (n->changed);
        }
}

/* ---- statements ---- */

static struct loop_block *rebuilt_block(struct narrowing *n, const struct loop_block *block)
{
        struct loop_block *out = loop_block_new(n->arena);
        for (const struct loop_stmt *s = block->first; s; s = s->next) {
                struct loop_stmt *copy = loop_append(n->arena, out, s->kind), **end = out->end;
                const struct twin *twin = set_twin(n, s);
                *copy = *s;
                copy->next = NULL;
                out->end = end;
                if (twin)
                        copy->variable = twin->variable;
                copy->a = twin && s->a ? same(n, s->a, twin->variable->type.element)
                                       : rebuilt(n, s->a);
                copy->b = rebuilt(n, s->b);
                copy->c = rebuilt(n, s->c);
                copy->body = s->body ? rebuilt_block(n, s->body) : NULL;
                copy->other = s->other ? rebuilt_block(n, s->other) : NULL;
        }
        return out;
}

struct loop_stmt *narrow_loop(const struct vectorizing *v, const struct loop_stmt *loop)
{
        struct narrowing n = { .arena = v->arena, .target = v->target, .twins = map_new(v->arena) };
        struct loop_stmt *copy = arena_copy(v->arena, loop, sizeof *loop);
        for (int bytes = 1; bytes <= 2; bytes++)
                for (enum element e = 0; e < ELEMENT_COUNT; e++)
                        if (target_is_narrow(v->target, e) && element_info[e].bytes == bytes)
                                n.elements[n.element_count++] = e;
        find_twins(&n, loop->body);
        n.rebuilt = map_new(v->arena);
        copy->body = rebuilt_block(&n, loop->body);
        return copy;
}

struct seen { const struct target *target; uint32_t elements; };

static void see(struct loop_expr *e, void *context)
{
        struct seen *seen = context;
        if (target_is_narrow(seen->target, element_of(e)))
                seen->elements |= UINT32_C(1) << element_of(e);
}

int narrow_lanes(const struct vectorizing *v, const struct loop_stmt *loop, int fewer)
{
        struct seen seen = { v->target, 0 };
        int lanes = 0;
        loop_block_walk(loop->body, NULL, see, &seen);
        for (enum element e = 0; e < ELEMENT_COUNT; e++)
                if (seen.elements >> e & 1 && target_lanes(v->target, e) > lanes &&
                    target_lanes(v->target, e) < fewer)
                        lanes = target_lanes(v->target, e);
        return lanes;
}

/* ---- scalars ---- */

static struct loop_expr *widened(struct arena *arena, const struct loop_expr *e)
{
        if (!e)
                return NULL;
        struct loop_expr *copy = arena_copy(arena, e, sizeof *e);
        for (int i = 0; i < e->arity; i++)
                copy->args[i] = widened(arena, e->args[i]);
        bool scalar = copy->arity && copy->args[0]->type.lanes == 1;
        return scalar && loop_computes_narrow(copy) ? loop_narrow_expand(arena, copy) : copy;
}

static void widen(struct loop_stmt *s, void *arena)
{
        s->a = widened(arena, s->a);
        s->b = widened(arena, s->b);
        s->c = widened(arena, s->c);
}

void narrow_widen(struct arena *arena, struct loop_block *block)
{
        loop_block_walk(block, widen, NULL, arena);
}
