/* SPDX-License-Identifier: MIT */
/* Bounds of subscripts, by interval arithmetic and greatest common divisors. Infinities are
 * INT64_MIN and INT64_MAX; a bound that leaves the range of int64_t becomes infinite. */
#include "ir/loop/loop_bounds.h"

struct loop_bounds { struct arena *arena; struct map *ranges; };

enum { DEPTH_MAX = 200 };               /* Expressions are looked at to this depth. */
static const int64_t least = INT64_MIN, most = INT64_MAX;
static const struct loop_range unknown = { INT64_MIN, INT64_MAX, 1 };

/* ---- arithmetic ---- */

static int64_t bound_sum(int64_t a, int64_t b, int64_t overflow)
{
        int64_t sum;
        if (a == least || a == most || b == least || b == most)
                return overflow;
        return __builtin_add_overflow(a, b, &sum) ? overflow : sum;
}

static int64_t negate(int64_t a) { return a == least ? most : a == most ? least : -a; }

static int64_t divisor(int64_t a, int64_t b)
{
        a = a == least ? 1 : a < 0 ? -a : a;
        b = b == least ? 1 : b < 0 ? -b : b;
        return common_divisor(a, b);
}

static int64_t times(int64_t a, int64_t b)
{
        int64_t product;
        if (!a || !b)
                return 0;
        bool wide = a == least || a == most || b == least || b == most;
        if (wide || __builtin_mul_overflow(a, b, &product))
                return (a < 0) == (b < 0) ? most : least;
        return product;
}

static struct loop_range sum_of(struct loop_range a, struct loop_range b)
{
        return (struct loop_range){ bound_sum(a.low, b.low, least), bound_sum(a.high, b.high, most),
                                    divisor(a.multiple, b.multiple) };
}

static struct loop_range negative_of(struct loop_range a)
{
        return (struct loop_range){ negate(a.high), negate(a.low), a.multiple };
}

static struct loop_range product_of(struct loop_range a, struct loop_range b)
{
        const int64_t corners[] = { times(a.low, b.low), times(a.low, b.high), times(a.high, b.low),
                                    times(a.high, b.high) };
        struct loop_range r = { corners[0], corners[0], times(a.multiple, b.multiple) };
        for (int i = 1; i < 4; i++) {
                r.low = corners[i] < r.low ? corners[i] : r.low;
                r.high = corners[i] > r.high ? corners[i] : r.high;
        }
        if (r.low == most || r.high == least)           /* The range lies beyond int64_t
                                                         * altogether. */
                return unknown;
        r.multiple = r.multiple == most ? 1 : r.multiple;
        return r;
}

static struct loop_range quotient_of(struct loop_range a, struct loop_range b)
{
        if (b.low < 1)
                return unknown;
        /* Each end is nearest to 0 where b is largest. */
        int64_t low = a.low < 0 ? b.low : b.high, high = a.high < 0 ? b.high : b.low;
        bool whole = b.low == b.high && a.multiple % b.low == 0;
        return (struct loop_range){ a.low == least ? least : a.low / low,
                                    a.high == most ? most : a.high / high,
                                    whole ? a.multiple / b.low : 1 };
}

static struct loop_range rest_of(struct loop_range a, struct loop_range b)
{
        if (b.low < 1 || b.high == most)
                return unknown;
        int64_t last = b.high - 1;
        return (struct loop_range){ a.low >= 0 ? 0 : a.low > -last ? a.low : -last,
                                    a.high <= 0 ? 0 : a.high < last ? a.high : last,
                                    b.low == b.high ? divisor(a.multiple, b.low) : 1 };
}

/* Returns the bounds of bits of numbers without a sign: they have as many bits as the longer
 * number. */
static struct loop_range bits_of(struct loop_range a, struct loop_range b)
{
        int64_t all = 0, high = a.high > b.high ? a.high : b.high;
        if (a.low < 0 || b.low < 0 || high >= INT64_C(1) << 61)
                return unknown;
        while (all < high)
                all = 2 * all + 1;
        return (struct loop_range){ 0, all, 1 };
}

/* Returns the bounds of one of two values; for min and max both ends are known better. */
static struct loop_range choice_of(enum loop_opcode op, struct loop_range a, struct loop_range b)
{
        bool smaller = op == LOOP_MIN || op == LOOP_MIN_ORDERED;
        bool larger = op == LOOP_MAX || op == LOOP_MAX_ORDERED;
        bool low_a = larger ? a.low > b.low : a.low < b.low;
        bool high_a = smaller ? a.high < b.high : a.high > b.high;
        return (struct loop_range){ low_a ? a.low : b.low, high_a ? a.high : b.high,
                                    divisor(a.multiple, b.multiple) };
}

static struct loop_range number_range(int64_t n)
{
        return (struct loop_range){ n, n, n == least ? 1 : n < 0 ? -n : n };
}

static bool is_number(struct loop_range r) { return r.low == r.high; }

/* Returns the bounds of a comparison: a number where the ranges decide it. */
static struct loop_range comparison_of(enum loop_opcode op, struct loop_range a,
                                       struct loop_range b)
{
        static const struct loop_range open = { 0, 1, 1 };
        switch (op) {
        case LOOP_GT: case LOOP_LE: {
                struct loop_range r = comparison_of(LOOP_LT, b, a);
                return op == LOOP_GT || !is_number(r) ? r : number_range(!r.low);
        }
        case LOOP_GE: case LOOP_NE: {
                struct loop_range r = comparison_of(op == LOOP_GE ? LOOP_LT : LOOP_EQ, a, b);
                return is_number(r) ? number_range(!r.low) : r;
        }
        case LOOP_LT:
                return a.high < b.low ? number_range(1) : a.low >= b.high ? number_range(0) : open;
        default:
                return a.high < b.low || b.high < a.low ? number_range(0)
                       : is_number(a) && is_number(b)   ? number_range(1)
                                                        : open;
        }
}

/* Returns the bounds of an operation on bits, which are known of numbers alone. */
static struct loop_range bits_of_numbers(enum loop_opcode op, struct loop_range a,
                                         struct loop_range b)
{
        if (!is_number(a) || !is_number(b) || a.low < 0 || b.low < 0)
                return unknown;
        switch (op) {
        case LOOP_SHR: return number_range(b.low < 63 ? a.low >> b.low : 0);
        case LOOP_AND: return number_range(a.low & b.low);
        default: return number_range(a.low | b.low);
        }
}

/* ---- expressions ---- */

static struct loop_range range_of_type(enum element e)
{
        int width = 8 * element_info[e].bytes;
        if (e == E_BOOL)
                return (struct loop_range){ 0, 1, 1 };
        bool is_signed = element_info[e].class == CLASS_SINT;
        if (width >= 64 || !element_is_integer(e))
                return is_signed ? unknown : (struct loop_range){ 0, most, 1 };
        return (struct loop_range){ is_signed ? -(INT64_C(1) << (width - 1)) : 0,
                                    (INT64_C(1) << (is_signed ? width - 1 : width)) - 1, 1 };
}

static struct loop_range range_of(const struct loop_bounds *bounds, const struct loop_expr *e,
                                  int depth);

static struct loop_range computed(const struct loop_bounds *bounds, const struct loop_expr *e,
                                  int depth)
{
        struct loop_range r[3];
        for (int i = 0; i < e->arity; i++)
                r[i] = range_of(bounds, e->args[i], depth + 1);
        switch (e->op) {
        case LOOP_ADD: return sum_of(r[0], r[1]);
        case LOOP_SUB: return sum_of(r[0], negative_of(r[1]));
        case LOOP_NEG: return negative_of(r[0]);
        case LOOP_MUL: return product_of(r[0], r[1]);
        case LOOP_DIV: return quotient_of(r[0], r[1]);
        case LOOP_REM:
                return is_number(r[0]) && is_number(r[1]) && r[1].low > 0
                               ? number_range(r[0].low % r[1].low)
                               : rest_of(r[0], r[1]);
        case LOOP_SHR: case LOOP_AND: case LOOP_OR: return bits_of_numbers(e->op, r[0], r[1]);
        case LOOP_LT: case LOOP_LE: case LOOP_GT: case LOOP_GE: case LOOP_EQ: case LOOP_NE:
                return comparison_of(e->op, r[0], r[1]);
        case LOOP_XOR: return bits_of(r[0], r[1]);
        case LOOP_MIN: case LOOP_MAX: case LOOP_MIN_ORDERED: case LOOP_MAX_ORDERED:
                return choice_of(e->op, r[0], r[1]);
        case LOOP_SELECT:
                return is_number(r[0]) ? r[r[0].low ? 1 : 2] : choice_of(e->op, r[1], r[2]);
        case LOOP_CAST: return r[0];
        default: return unknown;
        }
}

static struct loop_range range_of(const struct loop_bounds *bounds, const struct loop_expr *e,
                                  int depth)
{
        enum element element = e->type.element;
        struct loop_range type = range_of_type(element), r;
        int64_t value;
        if (e->type.lanes != 1 || depth > DEPTH_MAX ||
            (!element_is_integer(element) && element != E_BOOL))
                return unknown;
        if (loop_is_int(e, &value))
                return number_range(value);
        if (e->op == LOOP_VARIABLE) {
                const struct loop_range *known =
                        bounds ? map_get(bounds->ranges, (const char *)&e->variable,
                                         sizeof e->variable)
                               : NULL;
                if (!known && e->variable->kind == VARIABLE_PARAMETER && e->variable->high)
                        return (struct loop_range){ e->variable->low, e->variable->high, 1 };
                return known ? *known : type;
        }
        bool from_float =
                e->op == LOOP_CAST && element_is_float(e->args[0]->type.element);
        if (e->op > LOOP_CAST || from_float)
                return type;
        r = computed(bounds, e, depth);
        /* The operation cannot wrap, or may. */
        return r.low >= type.low && r.high <= type.high ? r : type;
}

struct loop_range loop_bounds_of(const struct loop_bounds *bounds, const struct loop_expr *e)
{
        return range_of(bounds, e, 0);
}

struct loop_range loop_bounds_for(const struct loop_bounds *bounds, const struct loop_expr *from,
                                  const struct loop_expr *to, int64_t step)
{
        struct loop_range a = loop_bounds_of(bounds, from), b = loop_bounds_of(bounds, to);
        struct loop_range r = { a.low, bound_sum(b.high, -1, most), divisor(a.multiple, step) };
        if (a.low == a.high && r.high != most && r.high >= a.low)
                r.high -= (r.high - a.low) % step;        /* The result is the last value that the
                                                           * steps from a known first one reach. */
        return r;
}

/* ---- functions ---- */

void loop_bounds_set(struct loop_bounds *bounds, const struct loop_variable *v,
                     struct loop_range range)
{
        struct loop_range *r = ARENA_NEW(bounds->arena, struct loop_range);
        *r = range;
        map_set(bounds->ranges, (const char *)&v, sizeof v, r);
}

/* Adds a declaration; they come in order, so a variable is declared before it is used. */
static void declare(struct loop_stmt *s, void *context)
{
        struct loop_bounds *bounds = context;
        if (s->kind == STMT_FOR)
                loop_bounds_set(bounds, s->variable, loop_bounds_for(bounds, s->a, s->b, s->step));
        else if (s->kind == STMT_LET && s->a->type.lanes == 1 &&
                 !element_is_float(s->a->type.element))
                loop_bounds_set(bounds, s->variable, loop_bounds_of(bounds, s->a));
}

static struct loop_bounds *bounds_of_nothing(struct arena *arena)
{
        struct loop_bounds *bounds = ARENA_NEW(arena, struct loop_bounds);
        bounds->arena = arena;
        bounds->ranges = map_new(arena);
        return bounds;
}

struct loop_bounds *loop_bounds_new(struct arena *arena, const struct loop_function *f)
{
        struct loop_bounds *bounds = bounds_of_nothing(arena);
        loop_block_walk(f->body, declare, NULL, bounds);
        return bounds;
}

struct loop_bounds *loop_bounds_called(struct arena *arena, const struct loop_function *f,
                                       const struct loop_range *scalars)
{
        struct loop_bounds *bounds = bounds_of_nothing(arena);
        for (int i = 0; i < f->scalar_count; i++)
                if (f->scalars[i]->type.lanes == 1 &&
                    !element_is_float(f->scalars[i]->type.element))
                        loop_bounds_set(bounds, f->scalars[i], scalars[i]);
        loop_block_walk(f->body, declare, NULL, bounds);
        return bounds;
}

struct loop_bounds *loop_bounds_launched(struct arena *arena, const struct loop_bounds *kernel,
                                         const struct loop_stmt *launch)
{
        struct loop_function *task = launch->function;
        struct loop_bounds *bounds = bounds_of_nothing(arena);
        for (int i = 0; i < loop_scalar_count(launch); i++) {
                struct loop_type type = task->scalars[i]->type;
                if (type.lanes == 1 && !element_is_float(type.element))
                        loop_bounds_set(bounds, task->scalars[i],
                                        loop_bounds_of(kernel, launch->scalars[i]));
        }
        loop_bounds_set(bounds, task->scalars[task->scalar_count - 1],
                        loop_bounds_for(kernel, launch->a, launch->b, launch->step));
        loop_block_walk(task->body, declare, NULL, bounds);
        return bounds;
}
