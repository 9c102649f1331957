/* SPDX-License-Identifier: MIT */
/* legalize: operations that the target has no vector instruction for become operations that it has.
 *
 *   max(%v, 0.0)                         ->  max_ordered(0.0, %v): one instruction where a
 *                                            literal is no NaN
 *   select(%v < %a, %a, %v)              ->  max_ordered(%a, %v), which means just that
 *   bool(%v)                             ->  %v != 0
 *   ramp<16>(%i, 2)                      ->  splat<16>(%i) + ramp<16>(0, 2)
 *   %x<16>[ramp<16>(%i, 2)]              ->  %x<16>[index(ramp<16>(i32(%i), 2))]: subscripts of 32
 *                                            bits
 *   ramp<16>(%i, 1) < splat<16>(%n)      ->  ramp<16>(0, 1)
 *                                              < splat<16>(i32(min(max(%n - %i, -1), 16)))
 *   select(%m, %x<16>[%i], %y<16>[%i])   ->  select(%m, %x<16>[%i, %m], %y<16>[%i, ~%m]), so that
 *                                            no element is read needlessly that may lie outside
 *                                            the buffer
 *   %a % %b, pow(%a, %b), sum_lanes of a vector that the target has not: lane by lane
 *   (legalize_lanes.c)
 *
 * A prefetch that the target cannot do goes, and hardware tiles that it does not have are written
 * out (legalize_statements.c). Where there are no vectors, all else stays as it is.
 *
 * Exact to the bit. ir/loop/capability.h says which rows there are. */
#include "passes/vectorize/legalize.h"

#include <math.h>

#include "ir/loop/loop_vector.h"
#include "passes/pass.h"

static enum element element_of(const struct loop_expr *e) { return e->type.element; }

static struct loop_type vector_type(enum element e, int lanes)
{
        return LOOP_VECTOR(e, lanes);
}

/* ---- literals ---- */

static const struct loop_expr *literal_of(const struct loop_expr *e)
{
        if (e->op == LOOP_SPLAT)
                e = e->args[0];
        return e->op == LOOP_LITERAL ? e : NULL;
}

/* Returns e, or where an operand has changed, a copy with the new operands. */
static struct loop_expr *with_operands(struct arena *arena, struct loop_expr *e,
                                       struct loop_expr *const *args)
{
        bool same = true;
        for (int i = 0; i < e->arity; i++)
                same &= args[i] == e->args[i];
        if (same)
                return e;
        struct loop_expr *copy = arena_copy(arena, e, sizeof *e);
        for (int i = 0; i < e->arity; i++)
                copy->args[i] = args[i];
        return copy;
}

static bool is_zero(const struct loop_expr *e)
{
        const struct loop_expr *literal = literal_of(e);
        if (!literal)
                return false;
        return element_is_float(element_of(e))
                       ? literal->literal.f == 0 && !signbit(literal->literal.f)
                       : literal->literal.u == 0;
}

static struct loop_expr *splat_int(struct arena *arena, struct loop_type type, int64_t value)
{
        return loop_splat(arena, type.lanes, loop_int(arena, type.element, value));
}

/* ---- maxima ----
 *
 * max(a, b) is b > a ? b : a, and b where that is NaN; max_ordered(a, b) is a > b ? a : b. */

static struct loop_expr *legalize_extreme(struct arena *arena, struct loop_expr *e)
{
        struct loop_expr *a = e->args[0], *b = e->args[1];
        const struct loop_expr *first = literal_of(a), *second = literal_of(b);
        enum loop_opcode ordered = e->op == LOOP_MAX ? LOOP_MAX_ORDERED : LOOP_MIN_ORDERED;
        if (!element_is_float(element_of(e)))
                return e;
        if (second && !isnan(second->literal.f))
                return loop_node(arena, ordered, e->type, b, a, NULL);
        /* Of 0.0 and -0.0 it returns a. */
        if (first && !isnan(first->literal.f) && first->literal.f != 0)
                return loop_node(arena, ordered, e->type, a, b, NULL);
        return e;
}

/* For integers and bool the ordered operations are the same. */
static struct loop_expr *legalize_ordered(struct arena *arena, struct loop_expr *e)
{
        if (element_is_float(element_of(e)))
                return e;
        return loop_node(arena, e->op == LOOP_MAX_ORDERED ? LOOP_MAX : LOOP_MIN, e->type,
                         e->args[0], e->args[1], NULL);
}

static struct loop_expr *legalize_truth(struct arena *arena, struct loop_expr *e)
{
        if (element_of(e) != E_BOOL)
                return e;
        return loop_node(arena, e->op == LOOP_MAX ? LOOP_OR : LOOP_AND, e->type, e->args[0],
                         e->args[1], NULL);
}

/* ---- ramps: a + (0, s, 2 s, ...) ---- */

static struct loop_expr *legalize_ramp(struct arena *arena, struct loop_expr *e)
{
        enum element t = element_of(e);
        struct loop_expr *start = e->args[0], *zero;
        if (start->op == LOOP_LITERAL || !loop_is_compute(t) || element_info[t].bytes != 4)
                return e;
        /* -0.0 + x is x. */
        zero = element_is_float(t) ? loop_float(arena, t, -0.0) : loop_int(arena, t, 0);
        return loop_node(arena, LOOP_ADD, e->type, loop_splat(arena, e->type.lanes, start),
                         loop_ramp(arena, e->type.lanes, zero, e->args[1]), NULL);
}

/* ---- subscripts: index vectors as i32 vectors, modulo 2^32 ---- */

static struct loop_expr *to_i32(struct arena *arena, struct loop_expr *scalar)
{
        return loop_cast(arena, E_I32, scalar);
}

/* Returns NULL if e is no sum of products. */
static struct loop_expr *narrowed(struct arena *arena, struct loop_expr *e)
{
        struct loop_type type = vector_type(E_I32, e->type.lanes);
        struct loop_expr *a, *b;
        switch (e->op) {
        case LOOP_RAMP:
                return loop_node(arena, LOOP_RAMP, type, to_i32(arena, e->args[0]),
                                 to_i32(arena, e->args[1]), NULL);
        case LOOP_SPLAT: return loop_splat(arena, type.lanes, to_i32(arena, e->args[0]));
        case LOOP_LITERAL: return loop_literal(arena, type, element_wrap(E_I32, e->literal.u));
        case LOOP_CAST:
                if (element_of(e->args[0]) == E_I32)
                        return e->args[0];
                return element_of(e->args[0]) == E_U32 ? loop_cast(arena, E_I32, e->args[0]) : NULL;
        case LOOP_ADD: case LOOP_SUB: case LOOP_MUL:
                a = narrowed(arena, e->args[0]);
                b = narrowed(arena, e->args[1]);
                return a && b ? loop_node(arena, e->op, type, a, b, NULL) : NULL;
        default: return NULL;
        }
}

/* Narrows a subscript: what a program reads lies inside the buffer, so the lower 32 bits of a
 * subscript are enough. */
static struct loop_expr *legalize_subscript(struct arena *arena, const struct loop_buffer *b,
                                     struct loop_expr *index)
{
        if (index->type.lanes == 1 || b->extent > INT32_MAX || capability_subscripts(index))
                return index;
        struct loop_expr *narrow = narrowed(arena, index);
        return narrow ? loop_node(arena, LOOP_CAST, index->type, narrow, NULL, NULL) : index;
}

/* ---- comparisons of index vectors: start + lane * step against zero ---- */

struct linear { struct loop_expr *start; int64_t step; };

static bool linear_of(struct arena *arena, struct loop_expr *e, struct linear *out)
{
        struct linear a, b;
        switch (e->op) {
        case LOOP_RAMP:
                out->start = e->args[0];
                return loop_is_int(e->args[1], &out->step);
        case LOOP_SPLAT:
                *out = (struct linear){ e->args[0], 0 };
                return true;
        case LOOP_LITERAL:
                *out = (struct linear){ loop_index(arena, e->literal.i), 0 };
                return true;
        case LOOP_ADD: case LOOP_SUB:
                if (!linear_of(arena, e->args[0], &a) || !linear_of(arena, e->args[1], &b))
                        return false;
                out->start = loop_op(arena, e->op, a.start, b.start, NULL);
                return e->op == LOOP_ADD ? !__builtin_add_overflow(a.step, b.step, &out->step)
                                         : !__builtin_sub_overflow(a.step, b.step, &out->step);
        default: return false;
        }
}

static struct loop_expr *legalize_comparison(struct arena *arena, struct loop_expr *e)
{
        struct linear a, b;
        int64_t step, last;
        int lanes = e->type.lanes;
        if (element_of(e->args[0]) != E_INDEX || !linear_of(arena, e->args[0], &a) ||
            !linear_of(arena, e->args[1], &b) || __builtin_sub_overflow(a.step, b.step, &step) ||
            step > INT32_MAX / LANES_MAX || step < -INT32_MAX / LANES_MAX)
                return e;
        last = step * (lanes - 1);
        int64_t low = last < 0 ? last : 0, high = last < 0 ? 0 : last;
        struct loop_expr *bound = loop_op(arena, LOOP_SUB, b.start, a.start, NULL);
        bound = loop_op(arena, LOOP_MAX, bound, loop_index(arena, low - 1), NULL);
        bound = loop_op(arena, LOOP_MIN, bound, loop_index(arena, high + 1), NULL);
        return loop_node(arena, e->op, e->type,
                         loop_ramp(arena, lanes, loop_int(arena, E_I32, 0),
                                   loop_int(arena, E_I32, step)),
                         loop_splat(arena, lanes, to_i32(arena, bound)), NULL);
}

/* ---- conversions, by way of i32 and f32 ---- */

static bool is_small_integer(enum element e)
{
        return element_is_integer(e) && element_info[e].bytes < 4;
}

static struct loop_expr *through(struct arena *arena, enum element middle, struct loop_expr *e)
{
        return loop_cast(arena, element_of(e), loop_cast(arena, middle, e->args[0]));
}

/* A conversion of f32 to 8 or 16 bits saturates in the result's range. */
static struct loop_expr *saturated(struct arena *arena, struct loop_expr *e)
{
        enum element to = element_of(e);
        int bits = 8 * element_info[to].bytes;
        bool is_signed = element_info[to].class == CLASS_SINT;
        int64_t high = (INT64_C(1) << (bits - is_signed)) - 1, low = is_signed ? -high - 1 : 0;
        struct loop_expr *whole = loop_cast(arena, E_I32, e->args[0]);
        whole = loop_node(arena, LOOP_MAX, whole->type, whole, splat_int(arena, whole->type, low),
                          NULL);
        whole = loop_node(arena, LOOP_MIN, whole->type, whole, splat_int(arena, whole->type, high),
                          NULL);
        return loop_cast(arena, to, whole);
}

static struct loop_expr *legalize_cast(struct arena *arena, struct loop_expr *e)
{
        enum element from = element_of(e->args[0]), to = element_of(e);
        if (to == E_BOOL && !loop_is_compute(from))
                return through(arena, element_info[from].compute, e);
        if (to == E_BOOL && from != E_INDEX)
                return loop_node(arena, LOOP_NE, e->type, e->args[0],
                                 splat_int(arena, e->args[0]->type, 0), NULL);
        if (from == E_INDEX && (to == E_I32 || to == E_U32)) {
                struct loop_expr *narrow = narrowed(arena, e->args[0]);
                return narrow ? loop_cast(arena, to, narrow) : e;
        }
        if (is_small_integer(to) && from == E_F32)
                return saturated(arena, e);
        if ((is_small_integer(from) && (to == E_F32 || is_small_integer(to))) ||
            (is_small_integer(to) && from == E_BOOL))
                return through(arena, E_I32, e);
        if ((element_is_small(from) && to != E_F32) || (element_is_small(to) && from == E_BOOL) ||
            (element_is_small(to) && is_small_integer(from)))
                return through(arena, E_F32, e);
        return e;
}

/* ---- choices: only the chosen side is evaluated, so the others' loads are masked ---- */

/* Is e true only in lanes of `mask`? */
static bool implies(const struct loop_expr *e, const struct loop_expr *mask)
{
        return loop_expr_same(e, mask) ||
               (e->op == LOOP_AND && (implies(e->args[0], mask) || implies(e->args[1], mask)));
}

/* Does every lane of a load without a mask lie in the buffer, as far as is known? */
static bool is_inside(const struct legalization *l, const struct loop_expr *load)
{
        if (load->args[1] || load->args[0]->type.lanes > 1)
                return false;
        struct loop_range at = loop_bounds_of(l->bounds, load->args[0]);
        return at.low >= 0 &&
               at.high < load->buffer->extent - (load->type.lanes * loop_word_group(load) - 1);
}

static struct loop_expr *masked(const struct legalization *l, struct loop_expr *e,
                                struct loop_expr *mask)
{
        if (e->type.lanes != mask->type.lanes ||
            (e->op == LOOP_LOAD && e->args[1] && implies(e->args[1], mask)))
                return e;
        struct loop_expr *args[sizeof e->args / sizeof *e->args];
        for (int i = 0; i < e->arity; i++)
                args[i] = e->args[i] ? masked(l, e->args[i], mask) : NULL;
        e = with_operands(l->arena, e, args);
        if (e->op != LOOP_LOAD || is_inside(l, e))
                return e;
        struct loop_expr *both = loop_expr_copy(l->arena, mask);
        if (e->args[1])
                both = loop_node(l->arena, LOOP_AND, mask->type, e->args[1], both, NULL);
        return loop_load_vector(l->arena, e->buffer, e->args[0], e->type.lanes, both);
}

static struct loop_expr *negated(struct arena *arena, struct loop_expr *mask)
{
        return mask->op == LOOP_NOT ? mask->args[0]
                                    : loop_node(arena, LOOP_NOT, mask->type, mask, NULL, NULL);
}

/* Rewrites a choice by a < b: the smaller is min_ordered(a, b), the larger max_ordered(b, a).
 * Returns NULL if it chooses something else. */
static struct loop_expr *ordered_choice(struct arena *arena, struct loop_expr *e)
{
        const struct loop_expr *condition = e->args[0];
        bool less = condition->op == LOOP_LT, floats = element_is_float(element_of(e));
        if ((!less && condition->op != LOOP_GT) || !floats)
                return NULL;
        bool first = loop_expr_same(condition->args[0], e->args[1]) &&
                     loop_expr_same(condition->args[1], e->args[2]);
        bool second = loop_expr_same(condition->args[0], e->args[2]) &&
                      loop_expr_same(condition->args[1], e->args[1]);
        if (!first && !second)
                return NULL;
        return loop_node(arena, first == less ? LOOP_MIN_ORDERED : LOOP_MAX_ORDERED, e->type,
                         e->args[1], e->args[2], NULL);
}

static bool is_load_by(const struct loop_expr *e, const struct loop_expr *mask)
{
        return e->op == LOOP_LOAD && e->args[1] && loop_expr_same(e->args[1], mask);
}

static struct loop_expr *legalize_choice(const struct legalization *l, struct loop_expr *e)
{
        struct loop_expr *mask = e->args[0], *ordered;
        if (mask->type.lanes == 1)
                return e;
        if ((ordered = ordered_choice(l->arena, e)))
                return ordered;
        struct loop_expr *a = masked(l, e->args[1], mask);
        struct loop_expr *b = masked(l, e->args[2], negated(l->arena, mask));
        if (is_load_by(a, mask) && is_zero(b))
                return a;
        if (is_load_by(b, negated(l->arena, mask)) && is_zero(a))
                return b;
        return a == e->args[1] && b == e->args[2]
                       ? e
                       : loop_node(l->arena, LOOP_SELECT, e->type, mask, a, b);
}

/* ---- all ---- */

static struct loop_expr *legalize_load(const struct legalization *l, struct loop_expr *e)
{
        struct arena *arena = l->arena;
        if (e->group && !capability_of(l->target, e))
                return legalize_expr(l, loop_words_expand(arena, e));
        struct loop_expr *index =
                legalize_subscript(arena, e->buffer, legalize_sum(arena, e->args[0]));
        if (index == e->args[0])
                return e;
        return e->group ? loop_load_words(arena, e->buffer, index, element_of(e), e->group,
                                          e->type.lanes)
                        : loop_load_vector(arena, e->buffer, index, e->type.lanes, e->args[1]);
}

/* Rewrites e, whose operands have been rewritten. */
static struct loop_expr *rewritten(const struct legalization *l, struct loop_expr *e)
{
        struct arena *arena = l->arena;
        struct loop_expr *ordered;
        switch (e->op) {                /* These operations are rewritten even where there is a
                                         * row. */
        case LOOP_MIN: case LOOP_MAX:
                ordered = legalize_truth(arena, legalize_extreme(arena, e));
                if (ordered != e)
                        return ordered;
                break;
        case LOOP_SELECT: return legalize_choice(l, e);
        case LOOP_LOAD: return legalize_load(l, e);
        default: break;
        }
        if (capability_of(l->target, e))
                return e;
        if (loop_computes_narrow(e))
                return loop_narrow_expand(arena, e);
        switch (e->op) {
        case LOOP_MIN_ORDERED:
        case LOOP_MAX_ORDERED: return legalize_truth(arena, legalize_ordered(arena, e));
        case LOOP_LT: case LOOP_LE: case LOOP_GT: case LOOP_GE: case LOOP_EQ: case LOOP_NE:
                return legalize_comparison(arena, e);
        case LOOP_CAST: return legalize_cast(arena, e);
        case LOOP_RAMP: return legalize_ramp(arena, e);
        default: return e;
        }
}

/* Rules give ever simpler forms, so the detours through i32 end. */
struct loop_expr *legalize_expr(const struct legalization *l, struct loop_expr *e)
{
        struct loop_expr *args[sizeof e->args / sizeof *e->args];
        for (int i = 0; i < e->arity; i++)
                args[i] = e->args[i] ? legalize_expr(l, e->args[i]) : NULL;
        e = with_operands(l->arena, e, args);
        if (e->type.lanes == 1)
                return e->op == LOOP_LOAD ? legalize_load(l, e) : e;
        struct loop_expr *better = rewritten(l, e);
        return better == e ? e : legalize_expr(l, better);
}

/* ---- library functions ---- */

struct lift {
        struct arena *arena;
        struct loop_function *from, *to;
        struct map *variables;
        int lanes;
};

static struct loop_type lifted_type(const struct lift *l, struct loop_type type)
{
        return vector_type(type.element, l->lanes);
}

static struct loop_expr *lifted(const struct lift *l, const struct loop_expr *e)
{
        struct loop_expr *copy = ARENA_NEW(l->arena, struct loop_expr);
        *copy = *e;
        copy->type = lifted_type(l, e->type);
        if (e->variable) {
                copy->variable =
                        map_get(l->variables, (const char *)&e->variable, sizeof e->variable);
                if (!copy->variable)
                        return NULL;
        }
        for (int i = 0; i < e->arity; i++) {
                copy->args[i] = lifted(l, e->args[i]);
                if (!copy->args[i])
                        return NULL;
        }
        return copy;
}

static void lift_variable(const struct lift *l, const struct loop_variable *from,
                          struct loop_variable *to)
{
        map_set(l->variables, (const char *)&from, sizeof from, to);
}

struct loop_function *legalize_vectored(struct arena *arena, const struct target *t,
                                        struct loop_function *f, int lanes)
{
        struct loop_function *to = loop_function_new(arena, FUNCTION_LIBRARY, f->name);
        struct lift lift = { arena, f, to, map_new(arena), lanes };
        to->error = f->error;
        to->result = lifted_type(&lift, f->result);
        for (int i = 0; i < f->scalar_count; i++) {
                const struct loop_variable *v = f->scalars[i];
                lift_variable(&lift, v,
                              loop_scalar_add(arena, to, v->name, lifted_type(&lift, v->type)));
                if (!capability_of_type(t, lifted_type(&lift, v->type)))
                        return NULL;
        }
        for (const struct loop_stmt *s = f->body->first; s; s = s->next) {
                if (s->kind != STMT_LET && s->kind != STMT_RETURN)
                        return NULL;
                struct loop_expr *a = lifted(&lift, s->a);
                a = a ? legalize_expr(&(struct legalization){ arena, t, NULL }, a) : NULL;
                bool native =
                        a && (legalize_is_native(arena, t, a) || legalize_rare_side(arena, t, a));
                if (!native || !capability_of_type(t, a->type))
                        return NULL;
                struct loop_stmt *twin = loop_append(arena, to->body, s->kind);
                twin->a = a;
                if (s->kind != STMT_LET)
                        continue;
                twin->variable = loop_variable_new(arena, s->variable->name, a->type, VARIABLE_LET);
                lift_variable(&lift, s->variable, twin->variable);
        }
        return legalize_lanes(arena, t, to, NULL) < 0 ? NULL : to;
}

/* ---- the pass ---- */

static void find_vectors(struct loop_expr *e, void *found) { *(bool *)found |= e->type.lanes > 1; }

static bool has_vectors(const struct loop_function *f)
{
        bool found = false;
        loop_block_walk(f->body, NULL, find_vectors, &found);
        return found;
}

struct rewriting { struct legalization l; int count; };

static void rewrite(struct rewriting *r, struct loop_expr **e)
{
        struct loop_expr *better = *e ? legalize_expr(&r->l, *e) : NULL;
        r->count += better != *e;
        *e = better;
}

static void rewrite_stmt(struct loop_stmt *s, void *context)
{
        struct rewriting *r = context;
        rewrite(r, &s->a);
        rewrite(r, &s->b);
        rewrite(r, &s->c);
        if (s->kind == STMT_STORE)
                s->a = legalize_subscript(r->l.arena, s->buffer, s->a);
        if (s->kind == STMT_STORE || s->kind == STMT_PREFETCH)
                s->a = legalize_sum(r->l.arena, s->a);
}

int pass_legalize(struct loop_program *p, struct pass_context *context)
{
        struct rewriting r = { { p->arena, context->target, NULL }, 0 };
        for (struct loop_function *k = p->kernels; k; k = k->next) {
                if (k->kind == FUNCTION_STREAM)
                        continue;
                r.count += legalize_statements(p->arena, context->target, k);
                if (!has_vectors(k))
                        continue;
                r.l.bounds = loop_bounds_new(p->arena, k);
                loop_block_walk(k->body, rewrite_stmt, NULL, &r);
                int count = legalize_lanes(p->arena, context->target, k, context->diag);
                if (count < 0)
                        return -1;
                r.count += count;
        }
        return r.count;
}
