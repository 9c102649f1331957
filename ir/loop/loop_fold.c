/* SPDX-License-Identifier: MIT */
/* Makes operations of Loop IR. What is known of integers and subscripts is computed on the way, so
 * that lowerings may write the general form; floating-point operations stay as they are. */
#include "ir/loop/loop.h"

#include <math.h>
#include <string.h>

#include "base/size.h"

static enum element element_of(const struct loop_expr *e) { return e->type.element; }
static bool is_signed(enum element e) { return element_info[e].class == CLASS_SINT; }
static bool is_literal(const struct loop_expr *e) { return e->op == LOOP_LITERAL; }
static bool is_value(const struct loop_expr *e, int64_t value)
{
        return is_literal(e) && e->literal.i == value;
}

/* ---- arithmetic on literals ---- */

static uint64_t divide(enum element e, union scalar x, union scalar y)
{
        if (!y.u)
                return 0;
        if (!is_signed(e))
                return x.u / y.u;
        return y.i == -1 ? 0 - x.u : (uint64_t)(x.i / y.i);
}

static uint64_t remainder_of(enum element e, union scalar x, union scalar y)
{
        if (!y.u)
                return 0;
        if (!is_signed(e))
                return x.u % y.u;
        return y.i == -1 ? 0 : (uint64_t)(x.i % y.i);
}

/* Computes an operation; x and y are of element e, an integer type or bool. */
static uint64_t compute(enum loop_opcode op, enum element e, union scalar x, union scalar y)
{
        uint64_t width = 8 * (uint64_t)element_info[e].bytes;
        bool less = is_signed(e) ? x.i < y.i : x.u < y.u, equal = x.u == y.u;
        switch (op) {
        case LOOP_ADD: return x.u + y.u;
        case LOOP_SUB: return x.u - y.u;
        case LOOP_MUL: return x.u * y.u;
        case LOOP_DIV: return divide(e, x, y);
        case LOOP_REM: return remainder_of(e, x, y);
        case LOOP_SHL: return y.u < width ? x.u << y.u : 0;
        case LOOP_SHR: return y.u >= width ? 0 : is_signed(e) ? (uint64_t)(x.i >> y.u) : x.u >> y.u;
        case LOOP_LT: return less;
        case LOOP_LE: return less || equal;
        case LOOP_GT: return !less && !equal;
        case LOOP_GE: return !less;
        case LOOP_EQ: return equal;
        case LOOP_NE: return !equal;
        case LOOP_AND: return x.u & y.u;
        case LOOP_XOR: return x.u ^ y.u;
        case LOOP_OR: return x.u | y.u;
        case LOOP_MIN: case LOOP_MIN_ORDERED: return less ? x.u : y.u;
        case LOOP_MAX: case LOOP_MAX_ORDERED: return less ? y.u : x.u;
        case LOOP_NEG: return 0 - x.u;
        case LOOP_NOT: return e == E_BOOL ? !x.u : ~x.u;
        default: return 0;
        }
}

/* These operations have identities, for integers and bool, and `compute` can do them. */
static bool is_computed(enum loop_opcode op) { return op <= LOOP_MAX_ORDERED; }
static bool is_comparison(enum loop_opcode op) { return op >= LOOP_LT && op <= LOOP_NE; }

/* ---- subscripts ---- */

/* Splits e into base + constant; base is NULL for a literal. */
static struct loop_expr *split_sum(struct loop_expr *e, int64_t *constant)
{
        int64_t value;
        *constant = 0;
        if (loop_is_int(e, constant))
                return NULL;
        if ((e->op == LOOP_ADD || e->op == LOOP_SUB) && loop_is_int(e->args[1], &value) &&
            value != INT64_MIN) {
                *constant = e->op == LOOP_ADD ? value : -value;
                return e->args[0];
        }
        return e;
}

static struct loop_expr *add_constant(struct arena *arena, struct loop_expr *base, int64_t constant)
{
        if (!base)
                return loop_index(arena, constant);
        if (!constant)
                return base;
        bool minus = constant < 0 && constant != INT64_MIN;
        return loop_node(arena, minus ? LOOP_SUB : LOOP_ADD, base->type, base,
                         loop_index(arena, minus ? -constant : constant), NULL);
}

/* Simplifies sums of subscripts: constants gather at the outer end, and x + 1 - x is 1. Returns
 * NULL if nothing is gained. */
static struct loop_expr *simplify_sum(struct arena *arena, bool minus, struct loop_expr *a,
                                      struct loop_expr *b)
{
        int64_t ca, cb, c;
        struct loop_expr *x = split_sum(a, &ca), *y = split_sum(b, &cb);
        if (!(minus ? int_sub(ca, cb, &c) : int_add(ca, cb, &c)))
                return NULL;
        if (minus && x && y && loop_expr_same(x, y))
                return loop_index(arena, c);
        if (!y)
                return add_constant(arena, x, c);
        if (!x && !minus)
                return add_constant(arena, y, c);
        if (!x)
                return y == b ? NULL
                              : loop_node(arena, LOOP_SUB, b->type, loop_index(arena, c), y, NULL);
        if (x == a && y == b)
                return NULL;
        return add_constant(arena,
                            loop_node(arena, minus ? LOOP_SUB : LOOP_ADD, a->type, x, y, NULL), c);
}

/* Simplifies x op literal where x is itself an operation with a literal: (x * 2) * 3, (x / 2) / 3,
 * (x * 6) / 2, min(min(x, 3), 5). */
static struct loop_expr *simplify_nested(struct arena *arena, enum loop_opcode op,
                                         struct loop_expr *a, int64_t value)
{
        int64_t inner, product;
        if (a->arity != 2 || !loop_is_int(a->args[1], &inner))
                return NULL;
        struct loop_expr *x = a->args[0];
        bool positive = inner > 0 && value > 0;
        if (op == LOOP_MUL && a->op == LOOP_MUL && int_mul(inner, value, &product))
                return loop_op(arena, LOOP_MUL, x, loop_index(arena, product), NULL);
        if (op == LOOP_DIV && a->op == LOOP_DIV && positive && int_mul(inner, value, &product))
                return loop_op(arena, LOOP_DIV, x, loop_index(arena, product), NULL);
        if (op == LOOP_DIV && a->op == LOOP_MUL && positive && inner % value == 0)
                return loop_op(arena, LOOP_MUL, x, loop_index(arena, inner / value), NULL);
        if (op == LOOP_REM && a->op == LOOP_MUL && positive && inner % value == 0)
                return loop_index(arena, 0);
        if ((op == LOOP_MIN && a->op == LOOP_MIN && inner <= value) ||
            (op == LOOP_MAX && a->op == LOOP_MAX && inner >= value))
                return a;
        if ((op == LOOP_MIN && a->op == LOOP_MIN) || (op == LOOP_MAX && a->op == LOOP_MAX))
                return loop_op(arena, op, x, loop_index(arena, value), NULL);
        return NULL;
}

static struct loop_expr *simplify_index(struct arena *arena, enum loop_opcode op,
                                        struct loop_expr *a, struct loop_expr *b)
{
        int64_t value, constant;
        if (op == LOOP_ADD || op == LOOP_SUB)
                return simplify_sum(arena, op == LOOP_SUB, a, b);
        if (!loop_is_int(b, &value))
                return NULL;
        if (is_comparison(op)) {                        /* x - 2 >= 0 becomes x >= 2. */
                struct loop_expr *x = split_sum(a, &constant);
                if (!x || x == a || !int_sub(value, constant, &value))
                        return NULL;
                return loop_node(arena, op, LOOP_TYPE(E_BOOL), x, loop_index(arena, value), NULL);
        }
        return simplify_nested(arena, op, a, value);
}

/* ---- integers and bool ---- */

static struct loop_expr *zero_like(struct arena *arena, const struct loop_expr *e)
{
        return loop_literal(arena, e->type, (union scalar){ .u = 0 });
}

/* Simplifies x op literal where that is x, or a literal. Returns NULL if it is neither. */
static struct loop_expr *simplify_identity(struct arena *arena, enum loop_opcode op,
                                           struct loop_expr *x, struct loop_expr *literal)
{
        bool zero = is_value(literal, 0), one = is_value(literal, 1);
        bool ones = element_of(x) == E_BOOL ? one : is_value(literal, -1);
        switch (op) {
        case LOOP_ADD: case LOOP_SUB: case LOOP_XOR: case LOOP_SHL: case LOOP_SHR:
                return zero ? x : NULL;
        case LOOP_OR:
                return zero ? x : ones && element_of(x) == E_BOOL ? literal : NULL;
        case LOOP_AND:
                return zero ? literal : ones ? x : NULL;
        case LOOP_MUL:
                return zero ? literal : one ? x : NULL;
        case LOOP_DIV:
                return zero ? literal : one ? x : NULL;
        case LOOP_REM:
                return zero || one ? zero_like(arena, x) : NULL;
        default:
                return NULL;
        }
}

/* Simplifies x op x. */
static struct loop_expr *simplify_equal(struct arena *arena, enum loop_opcode op,
                                        struct loop_expr *x)
{
        struct loop_type type = LOOP_VECTOR(E_BOOL, x->type.lanes);
        switch (op) {
        case LOOP_MIN: case LOOP_MAX: case LOOP_MIN_ORDERED: case LOOP_MAX_ORDERED:
        case LOOP_AND: case LOOP_OR:
                return x;
        case LOOP_SUB: case LOOP_XOR:
                return zero_like(arena, x);
        case LOOP_EQ: case LOOP_LE: case LOOP_GE:
                return loop_literal(arena, type, (union scalar){ .u = 1 });
        case LOOP_NE: case LOOP_LT: case LOOP_GT:
                return loop_literal(arena, type, (union scalar){ .u = 0 });
        default:
                return NULL;
        }
}

static bool is_commutative(enum loop_opcode op)
{
        switch (op) {
        case LOOP_ADD: case LOOP_MUL: case LOOP_AND: case LOOP_OR: case LOOP_XOR:
        case LOOP_MIN: case LOOP_MAX: case LOOP_EQ: case LOOP_NE:
                return true;
        default:
                return false;
        }
}

/* Simplifies an operation on two operands of one integer type or bool. Returns NULL if it stays. */
static struct loop_expr *simplify_binary(struct arena *arena, enum loop_opcode op,
                                         struct loop_expr *a, struct loop_expr *b)
{
        struct loop_expr *simple = NULL;
        if (is_literal(b))
                simple = simplify_identity(arena, op, a, b);
        else if (is_literal(a) && is_value(a, 0) &&
                 (op == LOOP_DIV || op == LOOP_REM || op == LOOP_SHL || op == LOOP_SHR))
                simple = a;
        if (!simple && loop_expr_same(a, b))
                simple = simplify_equal(arena, op, a);
        if (!simple && element_of(a) == E_INDEX && a->type.lanes == 1)
                simple = simplify_index(arena, op, a, b);
        return simple;
}

static struct loop_expr *simplify_unary(enum loop_opcode op, struct loop_expr *a)
{
        return (op == LOOP_NEG || op == LOOP_NOT) && a->op == op ? a->args[0] : NULL;
}

static struct loop_type result_type(enum loop_opcode op, const struct loop_expr *a,
                                    const struct loop_expr *b)
{
        switch (loop_op_info[op].result) {
        case RESULT_SAME: return a->type;
        case RESULT_BOOL: return LOOP_VECTOR(E_BOOL, a->type.lanes);
        default:
                if (op == LOOP_INTERLEAVE_LOW || op == LOOP_INTERLEAVE_HIGH)
                        return a->type;
                return op == LOOP_SELECT ? b->type : LOOP_TYPE(a->type.element);
        }
}

struct loop_expr *loop_op(struct arena *arena, enum loop_opcode op, struct loop_expr *a,
                          struct loop_expr *b, struct loop_expr *c)
{
        int arity = loop_op_info[op].arity;
        b = arity > 1 ? b : NULL;
        c = arity > 2 ? c : NULL;
        if (!a || (arity > 1 && !b) || (arity > 2 && !c))
                return NULL;
        struct loop_type type = result_type(op, a, b);
        if (op == LOOP_SELECT) {
                if (is_literal(a) && a->type.lanes == 1)
                        return a->literal.u ? b : c;
                if (loop_expr_same(b, c))
                        return b;
        }
        enum element e = element_of(a);
        bool whole = loop_is_compute(e) && !element_is_float(e) && is_computed(op);
        if (!whole || (b && !loop_type_same(a->type, b->type)))
                return loop_node(arena, op, type, a, b, c);
        if (is_literal(a) && (!b || is_literal(b))) {
                uint64_t bits = compute(op, e, a->literal, b ? b->literal : a->literal);
                return loop_literal(arena, type, element_wrap(type.element, bits));
        }
        if (b && is_literal(a) && is_commutative(op)) {
                struct loop_expr *swap = a;
                a = b;
                b = swap;
        }
        struct loop_expr *simple = b ? simplify_binary(arena, op, a, b) : simplify_unary(op, a);
        return simple ? simple : loop_node(arena, op, type, a, b, c);
}

struct loop_expr *loop_splat(struct arena *arena, int lanes, struct loop_expr *a)
{
        if (!a || lanes == 1)
                return a;
        return loop_node(arena, LOOP_SPLAT, LOOP_VECTOR(a->type.element, lanes),
                         a, NULL, NULL);
}

struct loop_expr *loop_ramp(struct arena *arena, int lanes, struct loop_expr *a,
                            struct loop_expr *step)
{
        if (!a || !step)
                return NULL;
        return loop_node(arena, LOOP_RAMP, LOOP_VECTOR(a->type.element, lanes), a,
                         step, NULL);
}

/* ---- conversions ---- */

static void float_to_integer(enum element to, double f, union scalar *value)
{
        int width = 8 * element_info[to].bytes;
        double high = ldexp(1.0, is_signed(to) ? width - 1 : width);
        double low = is_signed(to) ? -high : 0;
        if (isnan(f))
                value->u = 0;
        else if (f <= low)
                *value = element_wrap(to, is_signed(to) ? UINT64_C(1) << (width - 1) : 0);
        else if (f >= high)
                *value = element_wrap(to, (is_signed(to) ? UINT64_C(1) << (width - 1) : 0) - 1);
        else if (is_signed(to))
                value->i = (long long)f;
        else
                value->u = (unsigned long long)f;
}

/* Converts a literal to another type. Returns false where that would round: as_double of the
 * interpreter needs the number itself. */
static bool convert_literal(enum element from, enum element to, union scalar literal,
                            union scalar *value)
{
        if (to == E_BOOL) {
                value->u = element_is_float(from) ? literal.f != 0 : literal.u != 0;
                return true;
        }
        if (!element_is_float(to)) {
                *value = element_wrap(to, literal.u);
                if (element_is_float(from))
                        float_to_integer(to, literal.f, value);
                return true;
        }
        double number = literal.f;
        if (!element_is_float(from)) {
                number = is_signed(from) ? (double)literal.i : (double)literal.u;
                /* Beyond 2^53 the number may have been rounded already. */
                if (fabs(number) > 9007199254740992.0)
                        return false;
        }
        uint64_t storage;
        element_store(to, &storage, 0, (union scalar){ .f = number });
        *value = element_load(to, &storage, 0);
        return value->f == number || isnan(number);
}

/* Is x known to be in 0..*most, because it is bits that were widened, shifted down or masked? */
static bool is_counted(const struct loop_expr *x, uint64_t *most)
{
        uint64_t other;
        int64_t by;
        switch (x->op) {
        case LOOP_LITERAL:
                *most = x->literal.u;
                return !is_signed(element_of(x)) || x->literal.i >= 0;
        case LOOP_SPLAT: return is_counted(x->args[0], most);
        case LOOP_CAST: {
                const struct element_info *from = &element_info[element_of(x->args[0])];
                *most = from->bytes < 8 ? (UINT64_C(1) << 8 * from->bytes) - 1 : UINT64_MAX;
                return from->class == CLASS_UINT &&
                       from->bytes < element_info[element_of(x)].bytes;
        }
        case LOOP_SHR:
                if (!is_counted(x->args[0], most))
                        return false;
                *most >>= loop_is_int(x->args[1], &by) && by > 0 && by < 64 ? by : 0;
                return true;
        case LOOP_AND:
                if (!is_counted(x->args[0], most))
                        return is_counted(x->args[1], most);
                *most = is_counted(x->args[1], &other) && other < *most ? other : *most;
                return true;
        default: return false;
        }
}

/* Returns what a cast narrows without effect, because x is no larger than its type holds; else
 * NULL. */
static struct loop_expr *narrowed_in_vain(const struct loop_expr *cast)
{
        const struct element_info *narrow = &element_info[element_of(cast)];
        struct loop_expr *x = cast->op == LOOP_CAST ? cast->args[0] : NULL;
        uint64_t most;
        bool less = x && narrow->class == CLASS_UINT && loop_is_compute(element_of(x)) &&
                    narrow->bytes < element_info[element_of(x)].bytes;
        return less && is_counted(x, &most) && !(most >> 8 * narrow->bytes) ? x : NULL;
}

bool loop_is_round(const struct loop_expr *e)
{
        return e->op == LOOP_CALL && !strcmp(e->function->name, "round");
}

bool loop_is_rounded(const struct loop_expr *e)
{
        if (e->op == LOOP_ADD) {
                const struct loop_expr *by =
                        e->args[1]->op == LOOP_SPLAT ? e->args[1]->args[0] : e->args[1];
                return by->op == LOOP_LITERAL && by->literal.f == trunc(by->literal.f) &&
                       loop_is_rounded(e->args[0]);
        }
        return loop_is_round(e);
}

/* Rewrites f32(i32(u8(e)) - k), where e is rounded, to min(max(e, 0), 255) - k; an e that is NaN is
 * 0. Returns NULL for other values. */
static struct loop_expr *restored(struct arena *arena, enum element to, struct loop_expr *a)
{
        int64_t less = 0;
        bool shifted = (a->op == LOOP_SUB || a->op == LOOP_ADD) && loop_is_int(a->args[1], &less);
        const struct loop_expr *wide = shifted ? a->args[0] : a,
                               *bytes = wide->op == LOOP_CAST && element_of(wide) == E_I32
                                                ? wide->args[0]
                                                : wide;
        if (to != E_F32 || bytes->op != LOOP_CAST || element_of(bytes) != E_U8 ||
            element_of(bytes->args[0]) != E_F32 || bytes->type.lanes != 1 ||
            (shifted && (wide == bytes || less < -UINT8_MAX || less > UINT8_MAX)) ||
            !loop_is_rounded(bytes->args[0]))
                return NULL;
        struct loop_expr *e = bytes->args[0];
        e = loop_op(arena, LOOP_MAX_ORDERED, e, loop_float(arena, E_F32, 0), NULL);
        e = loop_op(arena, LOOP_MIN_ORDERED, e, loop_float(arena, E_F32, UINT8_MAX), NULL);
        return shifted ? loop_op(arena, a->op, e, loop_float(arena, E_F32, (double)less), NULL) : e;
}

struct loop_expr *loop_cast(struct arena *arena, enum element to, struct loop_expr *a)
{
        if (!a || element_of(a) == to)
                return a;
        struct loop_expr *inside = restored(arena, to, a);
        if (inside)
                return inside;
        struct loop_expr *plain = narrowed_in_vain(a);
        if (plain && element_of(plain) == to)
                return plain;
        if (plain && element_info[element_of(plain)].bytes == 4 && element_is_float(to))
                a = loop_cast(arena, E_I32, plain);     /* More processors can convert these. */
        enum element from = element_of(a);
        union scalar value;
        struct loop_type type = LOOP_VECTOR(to, a->type.lanes);
        if (is_literal(a) && convert_literal(from, to, a->literal, &value))
                return loop_literal(arena, type, value);
        /* A conversion from f16 to bf16 goes through f32, and one of scalars from i8 to
         * i16 through i32. */
        bool direct = a->type.lanes > 1 && loop_is_narrow_integer(from) &&
                      loop_is_narrow_integer(to);
        if (!direct && !loop_is_compute(from) && !loop_is_compute(to))
                return loop_cast(arena, to, loop_cast(arena, element_info[from].compute, a));
        return loop_node(arena, LOOP_CAST, type, a, NULL, NULL);
}

struct loop_expr *loop_bitcast(struct arena *arena, enum element to, struct loop_expr *a)
{
        if (!a || element_of(a) == to)
                return a;
        return loop_node(arena, LOOP_BITCAST, LOOP_VECTOR(to, a->type.lanes), a,
                         NULL, NULL);
}
