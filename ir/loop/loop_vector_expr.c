/* SPDX-License-Identifier: MIT */
/* Vectors from scalars: writes expressions. Subscripts stay scalar as long as they are affine in
 * the lane. */
#include "base/size.h"
#include "ir/loop/loop_vectorizer.h"

static enum element element_of(const struct loop_expr *e) { return e->type.element; }

bool lane_refuse(struct vectorizer *v)
{
        v->failed = true;
        return false;
}

/* ---- makers ---- */

struct loop_expr *loop_expr_copy(struct arena *arena, const struct loop_expr *e)
{
        if (!e)
                return NULL;
        struct loop_expr *copy = ARENA_NEW(arena, struct loop_expr);
        *copy = *e;
        for (int i = 0; i < e->arity; i++)
                copy->args[i] = loop_expr_copy(arena, e->args[i]);
        return copy;
}

static struct lane_value scalar(struct loop_expr *e, int64_t step)
{
        return (struct lane_value){ e, step };
}

/* Refuses, and returns a value to go on with. */
static struct lane_value nothing(struct vectorizer *v)
{
        lane_refuse(v);
        return scalar(loop_index(v->arena, 0), 0);
}

static struct loop_expr *splat_of(struct vectorizer *v, struct loop_expr *e)
{
        struct loop_type type = LOOP_VECTOR(e->type.element, v->lanes);
        return e->op == LOOP_LITERAL ? loop_literal(v->arena, type, e->literal)
                                     : loop_splat(v->arena, v->lanes, e);
}

static struct loop_range range_of(const struct vectorizer *v, const struct loop_expr *e)
{
        return loop_bounds_of(v->request->bounds, e);
}

/* Returns the bounds of the value in all lanes. */
static struct loop_range range_of_lanes(const struct vectorizer *v, struct lane_value value)
{
        struct loop_range r = range_of(v, value.e);
        int64_t reach = value.step * (v->lanes - 1);
        if (reach > 0 && (r.high == INT64_MAX || !int_add(r.high, reach, &r.high)))
                r.high = INT64_MAX;
        if (reach < 0 && (r.low == INT64_MIN || !int_add(r.low, reach, &r.low)))
                r.low = INT64_MIN;
        return r;
}

static struct loop_expr *ramp(struct vectorizer *v, enum element to, struct lane_value value)
{
        return loop_ramp(v->arena, v->lanes, loop_cast(v->arena, to, value.e),
                         loop_int(v->arena, to, value.step));
}

struct loop_expr *lane_vector(struct vectorizer *v, struct lane_value value)
{
        if (value.e->type.lanes > 1)
                return value.e;
        return value.step ? ramp(v, E_INDEX, value) : splat_of(v, value.e);
}

struct loop_expr *lane_subscript(struct vectorizer *v, struct lane_value index)
{
        return index.e->type.lanes == 1 && index.step == 1 ? index.e : lane_vector(v, index);
}

struct loop_expr *vector_mask(struct arena *arena, int lanes, struct loop_expr *count)
{
        struct loop_expr *numbers =
                loop_ramp(arena, lanes, loop_int(arena, E_I32, 0), loop_int(arena, E_I32, 1));
        return loop_op(arena, LOOP_LT, numbers,
                       loop_splat(arena, lanes, loop_cast(arena, E_I32, count)), NULL);
}

/* ---- arithmetic of subscripts ---- */

/* Computes (e + l step) / n, or the remainder, for a literal n > 0, where (16 i + l) / 16 is i for
 * l < 16, or where all lanes have one quotient. */
static bool divide(struct vectorizer *v, enum loop_opcode op, struct lane_value a,
                   struct loop_expr *by, struct lane_value *result)
{
        int64_t n;
        struct loop_range r = range_of(v, a.e);
        if (!loop_is_int(by, &n) || n < 1 || a.step < 0 || r.low < 0)
                return false;
        struct loop_range all = range_of_lanes(v, a);
        if (all.low / n == all.high / n) {
                struct loop_expr *q = loop_index(v->arena, all.low / n * (op == LOOP_DIV ? 1 : n));
                *result = op == LOOP_DIV
                                  ? scalar(q, 0)
                                  : scalar(loop_op(v->arena, LOOP_SUB, a.e, q, NULL), a.step);
                return true;
        }
        bool whole = a.step % n == 0;
        int64_t left = r.multiple, other = n;
        while (other) {                 /* It divides both: the remainder of e is a multiple of it,
                                         * and so is n. */
                int64_t rest = left % other;
                left = other;
                other = rest;
        }
        bool apart = a.step * (v->lanes - 1) < left;
        if (!whole && !apart)
                return false;
        int64_t step = op == LOOP_DIV ? (whole ? a.step / n : 0) : whole ? 0 : a.step;
        *result = scalar(loop_op(v->arena, op, a.e, by, NULL), step);
        return true;
}

static bool steps(struct vectorizer *v, const struct loop_expr *e, struct lane_value a,
                  struct lane_value b, struct lane_value *result)
{
        int64_t n, step;
        switch (e->op) {
        case LOOP_ADD: step = a.step + b.step; break;
        case LOOP_SUB: step = a.step - b.step; break;
        case LOOP_MUL:
                if (!(loop_is_int(b.e, &n) && !b.step && int_mul(a.step, n, &step)) &&
                    !(loop_is_int(a.e, &n) && !a.step && int_mul(b.step, n, &step)))
                        return false;
                break;
        case LOOP_DIV: case LOOP_REM: return !b.step && divide(v, e->op, a, b.e, result);
        case LOOP_MIN: case LOOP_MAX: {
                struct loop_range x = range_of_lanes(v, a), y = range_of_lanes(v, b);
                if (x.high > y.low && y.high > x.low)
                        return false;
                *result = (x.high <= y.low) == (e->op == LOOP_MIN) ? a : b;
                return true;
        }
        default: return false;
        }
        if (step < INT32_MIN || step > INT32_MAX)
                return false;
        *result = scalar(loop_op(v->arena, e->op, a.e, b.e, NULL), step);
        return true;
}

/* ---- subscripts that are vectors: of 32 bits where they fit, so that they have the lanes of f32
 * ---- */

static bool fits_i32(const struct vectorizer *v, const struct loop_expr *e)
{
        struct loop_range r = range_of(v, e);
        return element_of(e) != E_INDEX || (r.low >= INT32_MIN && r.high <= INT32_MAX);
}

static struct loop_expr *narrow(struct vectorizer *v, struct lane_value value)
{
        struct loop_expr *e = value.e;
        if (e->type.lanes > 1)
                return e->op == LOOP_CAST && element_of(e->args[0]) == E_I32
                               ? e->args[0]
                               : loop_cast(v->arena, E_I32, e);
        return value.step ? ramp(v, E_I32, value) : splat_of(v, loop_cast(v->arena, E_I32, e));
}

/* Computes e, an operation on args, in 32 bits. Returns false where it or they may not fit. */
static bool compute_narrow(struct vectorizer *v, const struct loop_expr *e,
                           const struct lane_value *args, struct lane_value *result)
{
        struct loop_expr *operands[2] = { NULL, NULL };
        bool fits = fits_i32(v, e) && e->arity <= 2;
        for (int i = 0; fits && i < e->arity; i++)
                fits = fits_i32(v, e->args[i]);
        for (int i = 0; fits && i < e->arity; i++)
                operands[i] = narrow(v, args[i]);
        if (!fits)
                return false;
        struct loop_expr *computed = loop_op(v->arena, e->op, operands[0], operands[1], NULL);
        *result = scalar(
                element_of(e) == E_INDEX ? loop_cast(v->arena, E_INDEX, computed) : computed, 0);
        return true;
}

/* Do the bounds of a - b, in all lanes, decide a comparison? *value: its result. */
static bool is_decided(enum loop_opcode op, struct loop_range r, bool *value)
{
        bool less = r.high < 0, more = r.low > 0, zero = r.low == 0 && r.high == 0;
        switch (op) {
        case LOOP_LT: case LOOP_GE:
                *value = less == (op == LOOP_LT);
                return less || r.low >= 0;
        case LOOP_GT: case LOOP_LE:
                *value = more == (op == LOOP_GT);
                return more || r.high <= 0;
        default:
                *value = zero == (op == LOOP_EQ);
                return less || more || zero;
        }
}

/* Compares: a + l s < b + l t is a - b + l (s - t) < 0. Returns false where one of them is a vector
 * already. */
static bool compare(struct vectorizer *v, enum loop_opcode op, struct lane_value a,
                    struct lane_value b, struct lane_value *result)
{
        bool value;
        if (a.e->type.lanes > 1 || b.e->type.lanes > 1)
                return false;
        struct lane_value difference =
                scalar(loop_op(v->arena, LOOP_SUB, loop_expr_copy(v->arena, a.e),
                               loop_expr_copy(v->arena, b.e), NULL),
                       a.step - b.step);
        if (is_decided(op, range_of_lanes(v, difference), &value)) {
                *result = scalar(
                        loop_literal(v->arena, LOOP_TYPE(E_BOOL), (union scalar){ .u = value }), 0);
                return true;
        }
        if (b.step) {
                a = difference;
                b = scalar(loop_index(v->arena, 0), 0);
        }
        struct loop_expr *left = a.step ? lane_vector(v, a) : a.e,
                         *right = a.step ? lane_vector(v, b) : b.e;
        *result = scalar(loop_op(v->arena, op, left, right, NULL), 0);
        return true;
}

/* ---- masks ---- */

struct loop_expr *lane_named(struct vectorizer *v, const char *name, struct loop_expr *e)
{
        bool leaf = e->op == LOOP_LITERAL ||
                    (e->op == LOOP_VARIABLE && e->variable->kind != VARIABLE_VAR);
        if (leaf || v->pinned)
                return e;
        struct loop_stmt *s = loop_append(v->arena, v->out, STMT_LET);
        s->variable = loop_variable_new(v->arena, name, e->type, VARIABLE_LET);
        s->a = e;
        return loop_use(v->arena, s->variable);
}

struct loop_expr *lane_mask(struct vectorizer *v, struct loop_expr *condition, bool when)
{
        struct loop_expr *outer = v->mask, *mask = loop_expr_copy(v->arena, condition);
        if (!when)
                mask = loop_op(v->arena, LOOP_NOT, mask, NULL, NULL);
        if (outer)
                mask = loop_op(v->arena, LOOP_AND, loop_expr_copy(v->arena, outer), mask, NULL);
        v->mask = lane_named(v, "mask", mask);
        return outer;
}

/* ---- loads ---- */

/* Is the subscript in range, whether the load is chosen or not? */
static bool is_safe(const struct vectorizer *v, const struct loop_buffer *b,
                    struct lane_value index)
{
        const struct vector_request *request = v->request;
        const struct loop_range r = range_of_lanes(v, index);
        const bool whole = !request->open || (request->constants &&
                                              map_get(request->constants, (const char *)&b,
                                                      sizeof(void *)));
        return whole && index.e->type.lanes == 1 && r.low >= 0 && r.high < b->extent;
}

static struct lane_value load(struct vectorizer *v, const struct loop_expr *e)
{
        struct lane_value index = lane_expr(v, e->args[0]);
        bool safe = is_safe(v, e->buffer, index);
        if (e->args[1])
                return nothing(v);
        if (is_uniform(index) && (safe || !v->conditional))
                return scalar(loop_load(v->arena, e->buffer, index.e), 0);
        const struct loop_expr *mask = !v->conditional ? v->mask
                                       : safe          ? v->request->mask
                                                       : v->mask;
        struct loop_expr *loaded = loop_load_vector(v->arena, e->buffer, lane_subscript(v, index),
                                                    v->lanes, loop_expr_copy(v->arena, mask));
        /* Inside a side of a choice it would be loaded under a mask. */
        return scalar(v->choosing && !mask ? lane_named(v, "loaded", loaded) : loaded, 0);
}

/* ---- choices ---- */

/* Does it load elements that may be out of range where it is not chosen? */
static bool needs_mask(struct vectorizer *v, const struct loop_expr *e)
{
        if (e->op == LOOP_LOAD && !is_safe(v, e->buffer, lane_expr(v, e->args[0])))
                return true;
        for (int i = 0; i < e->arity; i++)
                if (e->args[i] && needs_mask(v, e->args[i]))
                        return true;
        return false;
}

/* Chooses by a condition that is the same in all lanes: only one side is computed. */
static struct lane_value choose_one(struct vectorizer *v, const struct loop_expr *e,
                                    struct loop_expr *condition)
{
        bool pinned = v->pinned;
        struct lane_value side[2];
        v->pinned = true;
        for (int k = 0; k < 2; k++)
                side[k] = lane_expr(v, e->args[1 + k]);
        bool scalars = side[0].e->type.lanes == 1 && side[1].e->type.lanes == 1 &&
                       side[0].step == side[1].step;
        for (int k = 0; k < 2 && !scalars; k++)
                side[k] = scalar(lane_vector(v, side[k]), 0);
        v->pinned = pinned;
        struct loop_expr *chosen = loop_op(v->arena, LOOP_SELECT, condition, side[0].e, side[1].e);
        return scalar(chosen, scalars ? side[0].step : 0);
}

/* Chooses lane by lane: both sides are computed, and each loads only where it is chosen. */
static struct lane_value choose_lanes(struct vectorizer *v, const struct loop_expr *e,
                                      struct loop_expr *condition)
{
        struct loop_expr *sides[2];
        bool risky[2] = { needs_mask(v, e->args[1]), needs_mask(v, e->args[2]) };
        if (risky[0] || risky[1])
                condition = lane_named(v, "chosen", condition);
        v->choosing++;
        for (int k = 0; k < 2; k++) {
                struct loop_expr *outer = v->mask;
                bool conditional = v->conditional;
                if (risky[k]) {
                        lane_mask(v, condition, !k);
                        v->conditional = true;
                }
                sides[k] = lane_vector(v, lane_expr(v, e->args[1 + k]));
                v->mask = outer;
                v->conditional = conditional;
        }
        v->choosing--;
        return scalar(loop_op(v->arena, LOOP_SELECT, condition, sides[0], sides[1]), 0);
}

static struct lane_value choose(struct vectorizer *v, const struct loop_expr *e)
{
        struct lane_value condition = lane_expr(v, e->args[0]);
        return is_uniform(condition) ? choose_one(v, e, condition.e)
                                     : choose_lanes(v, e, condition.e);
}

/* ---- conversions ---- */

static struct lane_value convert(struct vectorizer *v, const struct loop_expr *e)
{
        struct lane_value a = lane_expr(v, e->args[0]);
        enum element to = element_of(e);
        if (element_of(e->args[0]) == E_INDEX && !is_uniform(a)) {
                bool small = element_info[to].bytes <= 4 && fits_i32(v, e->args[0]);
                a = scalar(small ? narrow(v, a) : lane_vector(v, a), 0);
        }
        return scalar(e->op == LOOP_CAST ? loop_cast(v->arena, to, a.e)
                                         : loop_bitcast(v->arena, to, a.e),
                      0);
}

/* ---- expressions ---- */

static struct lane_value variable(struct vectorizer *v, const struct loop_expr *e)
{
        const struct lane_binding *b = lane_binding_of(v, e->variable);
        if (!b)
                return scalar(loop_expr_copy(v->arena, e), 0);
        if (!b->value.e)
                return nothing(v);
        struct loop_expr *copy = loop_expr_copy(v->arena, b->value.e);
        if (e->op == LOOP_TILE_ENTRY)
                copy = loop_tile_entry(v->arena, copy->variable, (int)e->literal.i, e->column);
        return scalar(copy, b->value.step);
}

static struct lane_value call(struct vectorizer *v, const struct loop_expr *e)
{
        struct lane_value args[3];
        struct loop_expr *vectors[3] = { NULL, NULL, NULL };
        bool uniform = true;
        for (int i = 0; i < e->arity; i++) {
                args[i] = lane_expr(v, e->args[i]);
                uniform = uniform && is_uniform(args[i]);
        }
        for (int i = 0; i < e->arity; i++)
                vectors[i] = uniform ? args[i].e : lane_vector(v, args[i]);
        return scalar(loop_call(v->arena, e->function, vectors), 0);
}

/* Computes an operation on subscripts. Returns false if it is computed as for all other types. */
static bool subscript(struct vectorizer *v, const struct loop_expr *e,
                      const struct lane_value *args, bool uniform, struct lane_value *result)
{
        bool scalars = args[0].e->type.lanes == 1 && (e->arity < 2 || args[1].e->type.lanes == 1);
        bool extreme = e->op == LOOP_MIN || e->op == LOOP_MAX;
        if (uniform && !extreme && !(e->op >= LOOP_LT && e->op <= LOOP_NE))
                return false;
        if (e->op == LOOP_NEG && scalars) {
                *result = scalar(loop_op(v->arena, LOOP_NEG, args[0].e, NULL, NULL), -args[0].step);
                return true;
        }
        bool compares = e->op >= LOOP_LT && e->op <= LOOP_NE;
        if (e->arity == 2 && scalars && (compares ? compare(v, e->op, args[0], args[1], result)
                                                  : steps(v, e, args[0], args[1], result)))
                return true;
        return !uniform && compute_narrow(v, e, args, result);
}

static struct lane_value operation(struct vectorizer *v, const struct loop_expr *e)
{
        struct lane_value args[3] = { { 0 } }, result;
        struct loop_expr *operands[3] = { NULL, NULL, NULL };
        bool uniform = true;
        for (int i = 0; i < e->arity; i++) {
                args[i] = lane_expr(v, e->args[i]);
                uniform = uniform && is_uniform(args[i]);
        }
        if (v->failed || (!uniform && e->op >= LOOP_RAMP))
                return nothing(v);
        if (element_of(e->args[0]) == E_INDEX && subscript(v, e, args, uniform, &result))
                return result;
        for (int i = 0; i < e->arity; i++)
                operands[i] = uniform ? args[i].e : lane_vector(v, args[i]);
        return scalar(loop_op(v->arena, e->op, operands[0], operands[1], operands[2]), 0);
}

struct lane_value lane_expr(struct vectorizer *v, const struct loop_expr *e)
{
        if (v->failed || e->type.lanes != 1)
                return nothing(v);
        switch (e->op) {
        case LOOP_LITERAL: return scalar(loop_expr_copy(v->arena, e), 0);
        case LOOP_VARIABLE: case LOOP_TILE_ENTRY: return variable(v, e);
        case LOOP_LOAD: return load(v, e);
        case LOOP_CALL: return call(v, e);
        case LOOP_CAST: case LOOP_BITCAST: return convert(v, e);
        case LOOP_SELECT: return choose(v, e);
        default: return operation(v, e);
        }
}
