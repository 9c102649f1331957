/* SPDX-License-Identifier: MIT */
/* Prints expressions. Every expression is total and without side effects, and so is what is printed
 * here. */
#include "codegen/c_writer.h"

#include <math.h>
#include <string.h>

static enum element element_of(const struct loop_expr *e) { return e->type.element; }
static enum element_class class_of(const struct loop_expr *e)
{
        return element_info[e->type.element].class;
}
static bool is_wide(enum element e) { return e == E_I64 || e == E_U64 || e == E_INDEX; }

static struct c_shape shape(int precedence) { return (struct c_shape){ precedence, false }; }
static struct c_shape primary(void) { return shape(C_PRIMARY); }

/* ---- literals ---- */

const char *c_literal(struct arena *arena, enum element e, union scalar value)
{
        switch (e) {
        case E_F32: return arena_printf(arena, "%sf", text_number(arena, value.f, true));
        case E_F64: return text_number(arena, value.f, false);
        case E_F16: case E_BF16: {
                unsigned char bits[2];
                element_store(e, bits, 0, value);
                return arena_printf(arena, "0x%04x", (unsigned)(bits[0] | bits[1] << 8));
        }
        case E_TF32: {
                unsigned char bits[4];
                element_store(e, bits, 0, value);
                return arena_printf(arena, "0x%02x%02x%02x%02xu", bits[3], bits[2], bits[1],
                                    bits[0]);
        }
        case E_I32: case E_I64: case E_INDEX:
                if (value.i == (e == E_I32 ? INT32_MIN : INT64_MIN))
                        return e == E_I32 ? "INT32_MIN" : e == E_I64 ? "INT64_MIN" : "PTRDIFF_MIN";
                return arena_printf(arena, "%lld", value.i);
        case E_I8: case E_I16: return arena_printf(arena, "%lld", value.i);
        case E_U8: case E_U16: case E_BOOL: return arena_printf(arena, "%llu", value.u);
        default: return arena_printf(arena, "%lluu", value.u);
        }
}

/* NaN and infinities have no literal, so they are made from their bits. */
static void put_bits(struct c_writer *w, enum element e, double value)
{
        float narrow = (float)value;
        uint32_t bits32;
        uint64_t bits64;
        memcpy(&bits32, &narrow, sizeof bits32);
        memcpy(&bits64, &value, sizeof bits64);
        bool is_f32 = e == E_F32;
        const char *name = c_helper(w, HELPER_BITS, e, is_f32 ? E_U32 : E_U64);
        if (is_f32)
                c_put(w, "%s(0x%08lxu", name, (unsigned long)bits32);
        else
                c_put(w, "%s(0x%016llxu", name, (unsigned long long)bits64);
        w->calls++;
        c_put(w, " /* %s */)", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
}

static struct c_shape put_literal(struct c_writer *w, const struct loop_expr *e)
{
        enum element t = element_of(e);
        if (class_of(e) == CLASS_FLOAT && !element_is_small(t) && !isfinite(e->literal.f)) {
                put_bits(w, t, e->literal.f);
                return shape(C_PRIMARY);
        }
        const char *text = c_literal(w->arena, t, e->literal);
        c_put(w, "%s", text);
        return (struct c_shape){ *text == '-' ? C_UNARY : C_PRIMARY, is_wide(t) };
}

/* ---- operands and calls ---- */

void c_operand(struct c_writer *w, const struct loop_expr *e, int least)
{
        size_t start = w->line.length;
        if (c_expression(w, e).precedence < least) {
                c_insert(w, start, "(");
                c_put(w, ")");
        }
}

/* Does the same where C must see our type: literals may be narrower than 64 bits. */
static void put_wide(struct c_writer *w, const struct loop_expr *e, int least, bool cast_narrow)
{
        size_t start = w->line.length;
        struct c_shape printed = c_expression(w, e);
        bool cast = cast_narrow && printed.narrow;
        if (printed.precedence < (cast ? C_UNARY : least)) {
                c_insert(w, start, "(");
                c_put(w, ")");
        }
        if (cast)
                c_insert(w, start, arena_printf(w->arena, "(%s)", c_type_here(w, element_of(e))));
}

static struct c_shape put_call(struct c_writer *w, const char *name, const struct loop_expr *e,
                               int count)
{
        w->calls++;
        c_put(w, "%s(", name);
        for (int i = 0; i < count; i++) {
                if (i)
                        c_put(w, "," C_SOFT);
                c_expression(w, e->args[i]);
        }
        c_put(w, ")");
        return shape(C_PRIMARY);
}

static struct c_shape put_helper(struct c_writer *w, enum c_helper h, const struct loop_expr *e)
{
        return put_call(w, c_helper(w, h, element_of(e), E_F32), e, e->arity);
}

static bool is_narrow(const struct loop_expr *e)
{
        if (e->op == LOOP_SELECT)
                return is_narrow(e->args[1]) && is_narrow(e->args[2]);
        return e->op == LOOP_LITERAL && is_wide(element_of(e));
}

/* Returns how tightly the left operand of an operator must bind. This is stricter than C's grammar
 * where compilers warn. */
static int least_left(enum loop_opcode op)
{
        int own = loop_op_info[op].precedence;
        return own >= C_SUM ? own : own >= C_COMPARISON && own != 8 ? C_SUM : C_UNARY;
}

static struct c_shape put_infix(struct c_writer *w, const struct loop_expr *e, const char *operator)
{
        const struct loop_expr *a = e->args[0], *b = e->args[1];
        int own = loop_op_info[e->op].precedence, left = least_left(e->op);
        bool shift = e->op == LOOP_SHL || e->op == LOOP_SHR;
        /* Brackets are left out, as in a & b & c. */
        bool same_bitwise = own < C_COMPARISON && a->op == e->op;
        bool wide = is_wide(element_of(a)) && is_narrow(a) && (shift || is_narrow(b));
        union scalar negated = b->literal;
        bool negative = e->op == LOOP_ADD && b->op == LOOP_LITERAL && element_of(b) == E_INDEX &&
                        b->literal.i < 0 && b->literal.i != INT64_MIN;
        put_wide(w, a, same_bitwise ? own : left, wide);
        c_put(w, " %s" C_SOFT, negative ? "-" : operator);
        if (negative) {
                negated.i = -negated.i;
                c_put(w, "%s", c_literal(w->arena, E_INDEX, negated));
        } else {
                put_wide(w, b, own >= C_SUM ? own + 1 : left, false);
        }
        return shape(own);
}

/* Prints a logical operation of bools: as &, unless an if decides by it, or both sides contain
 * calls, which clang takes for a mistyped &&. Nothing here has side effects. */
static struct c_shape put_logical(struct c_writer *w, const struct loop_expr *e, bool decides)
{
        int calls = w->calls;
        w->decides = decides && e->op != LOOP_XOR;
        c_operand(w, e->args[0], C_UNARY);
        bool left_calls = w->calls != calls;
        size_t middle = w->line.length;
        calls = w->calls;
        w->decides = decides && e->op != LOOP_XOR;
        c_operand(w, e->args[1], C_UNARY);
        bool logical = (decides || (left_calls && w->calls != calls)) && e->op != LOOP_XOR;
        bool is_and = e->op == LOOP_AND || e->op == LOOP_MIN || e->op == LOOP_MIN_ORDERED;
        const char *operator = is_and ? "&&" : e->op == LOOP_XOR ? "^" : "||";
        c_insert(w, middle, arena_printf(w->arena, " %.*s" C_SOFT, logical ? 2 : 1, operator));
        return shape(logical ? C_LOGICAL : C_BITWISE);
}

/* ---- operations ---- */

static bool is_safe_divisor(const struct loop_expr *e)
{
        return e->op == LOOP_LITERAL && e->literal.i != 0 &&
               (e->literal.i != -1 || class_of(e) == CLASS_UINT);
}

static bool is_safe_shift(const struct loop_expr *e)
{
        return e->op == LOOP_LITERAL &&
               e->literal.u < 8 * (uint64_t)element_info[element_of(e)].bytes;
}

/* Prints an operator in front of its operand, so that no two signs meet. */
static void put_signed(struct c_writer *w, const char *operator, const struct loop_expr *a,
                       bool cast_narrow)
{
        c_put(w, "%s", operator);
        const size_t start = w->line.length;
        put_wide(w, a, C_UNARY, cast_narrow);
        if (w->line.data[start] == '-') {
                c_insert(w, start, "(");
                c_put(w, ")");
        }
}

static struct c_shape put_arithmetic(struct c_writer *w, const struct loop_expr *e)
{
        static const enum c_helper signed_helper[] = {
                [LOOP_ADD] = HELPER_ADD, [LOOP_SUB] = HELPER_SUB, [LOOP_MUL] = HELPER_MUL,
                [LOOP_DIV] = HELPER_DIV, [LOOP_REM] = HELPER_REM, [LOOP_SHL] = HELPER_SHL,
                [LOOP_SHR] = HELPER_SHR,
        };
        static const enum c_helper unsigned_helper[] = {
                [LOOP_DIV] = HELPER_DIV_UNSIGNED,
                [LOOP_REM] = HELPER_REM_UNSIGNED,
                [LOOP_SHL] = HELPER_SHL_UNSIGNED,
                [LOOP_SHR] = HELPER_SHR_UNSIGNED,
        };
        enum element t = element_of(e);
        bool is_signed = class_of(e) == CLASS_SINT, plain = false;
        switch (e->op) {
        case LOOP_DIV: case LOOP_REM: plain = is_safe_divisor(e->args[1]); break;
        case LOOP_SHL: plain = !is_signed && is_safe_shift(e->args[1]); break;
        case LOOP_SHR:
                plain = is_safe_shift(e->args[1]) &&
                        (!is_signed || t == E_INDEX || w->dialect->is_device);
                break;
        default: plain = !is_signed || t == E_INDEX; break;
        }
        if (class_of(e) == CLASS_FLOAT) {
                w->computes_floats = true;
                plain = e->op != LOOP_REM && e->op != LOOP_SHL && e->op != LOOP_SHR;
                if (!plain)
                        c_fail(w, EXIT_INTERNAL, "%s of floats", loop_op_info[e->op].text);
                /* A product must not become part of an fma. */
                if (e->op == LOOP_MUL && w->dialect->is_device)
                        return put_call(w, t == E_F32 ? "__fmul_rn" : "__dmul_rn", e, 2);
        }
        /* Checkers take 0 - x for an operation without effect. */
        const bool negates = e->op == LOOP_SUB && t == E_INDEX && e->args[0]->op == LOOP_LITERAL &&
                             !e->args[0]->literal.i;
        if (negates) {
                put_signed(w, "-", e->args[1], is_wide(t));
                return shape(C_UNARY);
        }
        if (plain)
                return put_infix(w, e, loop_op_info[e->op].text);
        return put_helper(w, is_signed ? signed_helper[e->op] : unsigned_helper[e->op], e);
}

static struct c_shape put_comparison(struct c_writer *w, const struct loop_expr *e)
{
        w->computes_floats |= class_of(e->args[0]) == CLASS_FLOAT;
        return put_infix(w, e, loop_op_info[e->op].text);
}

static struct c_shape put_unary(struct c_writer *w, const struct loop_expr *e)
{
        const struct loop_expr *a = e->args[0];
        enum element t = element_of(e);
        if (e->op == LOOP_NEG && class_of(e) == CLASS_SINT && t != E_INDEX)
                return put_helper(w, HELPER_NEG, e);
        w->computes_floats |= class_of(e) == CLASS_FLOAT;
        bool is_not = t == E_BOOL;
        put_signed(w, e->op == LOOP_NEG ? "-" : is_not ? "!" : "~", a, is_wide(t));
        return shape(is_not ? C_NOT : C_UNARY);
}

static struct c_shape put_extreme(struct c_writer *w, const struct loop_expr *e)
{
        static const enum c_helper number[] = { HELPER_MIN, HELPER_MAX, HELPER_MIN, HELPER_MAX };
        static const enum c_helper floating[] = {
                HELPER_MIN_NAN, HELPER_MAX_NAN, HELPER_MIN_ORDERED, HELPER_MAX_ORDERED
        };
        bool is_float = class_of(e) == CLASS_FLOAT;
        w->computes_floats |= is_float;
        return put_helper(w, (is_float ? floating : number)[e->op - LOOP_MIN], e);
}

/* Beside a narrow number without a sign, a literal says that it has none. */
static void put_arm(struct c_writer *w, const struct loop_expr *arm, int least)
{
        const enum element e = element_of(arm);
        c_operand(w, arm, least);
        if (arm->op == LOOP_LITERAL && arm->type.lanes == 1 && element_info[e].bytes < 4 &&
            element_info[e].class == CLASS_UINT)
                c_put(w, "u");
}

struct c_shape c_choice(struct c_writer *w, const struct loop_expr *e)
{
        c_operand(w, e->args[0], C_COMPARISON);
        c_put(w, " ?" C_SOFT);
        put_arm(w, e->args[1], C_LOGICAL);
        c_put(w, " :" C_SOFT);
        put_arm(w, e->args[2], C_TERNARY);
        return (struct c_shape){ C_TERNARY, is_narrow(e) };
}

/* Returns the name of a library function that an operation needs. */
static const char *library_name(struct c_writer *w, const char *name, enum element element)
{
        struct loop_function *f = w->p->library ? loop_library_find(w->p->library, name, element)
                                                : NULL;
        if (!f)
                c_fail(w, EXIT_INTERNAL, "the library has no %s of %s", name,
                       element_info[element].text);
        w->computes_floats = true;
        return f ? c_function(w, f) : name;
}

const struct loop_expr *c_place(struct c_writer *w, struct loop_buffer *b,
                                const struct loop_expr *index)
{
        if (w->dialect->place)
                return w->dialect->place(w, b, index);
        c_put(w, "%s", c_use(w, b));
        return index;
}

void c_element(struct c_writer *w, struct loop_buffer *b, const struct loop_expr *index)
{
        int64_t offset = 0;
        const char *pointer;
        if (c_pointer_place(w, index, &pointer, &offset)) {
                c_put(w, "%s[%lld]", pointer, (long long)offset);
                return;
        }
        /* In run, views have names of their own. */
        if (!w->in_run)
                b = loop_buffer_root(b, &offset);
        const struct loop_expr *at = c_place(w, b, index);
        c_put(w, "[");
        if (offset)
                c_put(w, "%lld +" C_SOFT, (long long)offset);
        c_operand(w, at, offset ? C_SUM : C_ANY);
        c_put(w, "]");
}

static struct c_shape put_load(struct c_writer *w, const struct loop_expr *e)
{
        c_element(w, e->buffer, e->args[0]);
        if (element_of(e) != E_BOOL)
                return primary();
        c_put(w, " != 0");
        return shape(C_COMPARISON);
}

/* ---- conversions ---- */

static struct c_shape put_cast(struct c_writer *w, const char *type, const struct loop_expr *a)
{
        c_put(w, "(%s)", type);
        c_operand(w, a, C_UNARY);
        return shape(C_UNARY);
}

static struct c_shape put_from_small(struct c_writer *w, enum element to, const struct loop_expr *a)
{
        struct loop_expr as_f32 = { .op = LOOP_CAST, .type = LOOP_TYPE(E_F32), .arity = 1 };
        struct loop_expr converted = {
                .op = LOOP_CAST, .type = LOOP_TYPE(to), .arity = 1, .args = { &as_f32 }
        };
        as_f32.args[0] = (struct loop_expr *)(uintptr_t)a;
        if (to == E_F32)
                return put_call(w,
                                library_name(w,
                                             arena_printf(w->arena, "%s_to_f32",
                                                          element_info[element_of(a)].text),
                                             E_U32),
                                &as_f32, 1);
        return c_expression(w, &converted);
}

/* The conversion rounds once: from f32 where it holds the number exactly, otherwise from f64, where
 * 64-bit integers are rounded to odd first. */
static struct c_shape put_to_small(struct c_writer *w, enum element to, const struct loop_expr *a)
{
        enum element from = element_of(a);
        int bytes = from == E_BOOL ? 1 : element_info[from].bytes;
        bool wide = from != E_F32 && bytes > 2, cast = from != E_F32 && from != E_F64 && bytes < 8;
        bool odd = bytes == 8 && from != E_F64;
        const char *name = arena_printf(w->arena, "%s_to_%s", wide ? "f64" : "f32",
                                        element_info[to].text);
        w->calls++;
        c_put(w, "(%s)%s(", element_info[to].c_type, library_name(w, name, wide ? E_F64 : E_F32));
        if (odd)
                c_put(w, "%s(",
                      c_helper(w,
                               class_of(a) == CLASS_UINT ? HELPER_ODD_F64 : HELPER_ODD_F64_SIGNED,
                               E_F64, E_F64));
        if (cast)
                put_cast(w, wide ? "double" : "float", a);
        else
                c_expression(w, a);
        c_put(w, odd ? "))" : ")");
        return shape(C_UNARY);
}

/* Returns whether e is the complement of small numbers: computed wide, cut, and widened again. A
 * mask says the same, and spares gcc's warning of comparisons with a promoted complement. */
static bool is_narrowed_complement(const struct loop_expr *e)
{
        const struct loop_expr *a = e->args[0], *inner = a->op == LOOP_CAST ? a->args[0] : a;
        const enum element to = element_of(e), from = element_of(a);

        return inner != a && inner->op == LOOP_NOT && element_of(inner) == to &&
               (to == E_U32 || to == E_U64) && (from == E_U8 || from == E_U16);
}

static struct c_shape put_conversion(struct c_writer *w, const struct loop_expr *e)
{
        const struct loop_expr *a = e->args[0];
        enum element to = element_of(e), from = element_of(a);
        if (to == from)
                return c_expression(w, a);
        if (element_is_small(from))
                return put_from_small(w, to, a);
        if (element_is_small(to))
                return put_to_small(w, to, a);
        bool to_float = element_is_float(to), from_float = element_is_float(from);
        w->computes_floats |= to_float || from_float;
        if (to == E_BOOL) {
                c_operand(w, a, C_SUM);
                c_put(w, " != %s", from == E_F32 ? "0.0f" : from_float ? "0.0" : "0");
                return shape(C_COMPARISON);
        }
        if (is_narrowed_complement(e)) {
                c_operand(w, a->args[0], C_UNARY);
                c_put(w, " &" C_SOFT "%s", from == E_U8 ? "255u" : "65535u");
                return shape(C_BITWISE);
        }
        if (to_float || !from_float)
                return put_cast(w, c_type_here(w, to), a);
        if (to == E_INDEX)
                c_put(w, "(%s)", c_type_here(w, to));
        enum element integer = to == E_INDEX ? E_I64 : to;
        enum c_helper h = element_info[integer].class == CLASS_UINT ? HELPER_SATURATE_UNSIGNED
                                                                    : HELPER_SATURATE;
        put_call(w, c_helper(w, h, integer, from), e, 1);
        return shape(to == E_INDEX ? C_UNARY : C_PRIMARY);
}

/* A bitcast between integers, or to the bits of small floats, is a conversion; between floats and
 * integers the bytes are copied. */
static struct c_shape put_bitcast(struct c_writer *w, const struct loop_expr *e)
{
        const struct loop_expr *a = e->args[0];
        enum element to = element_of(e), from = element_of(a);
        bool to_float = to == E_F32 || to == E_F64, from_float = from == E_F32 || from == E_F64;
        if (to_float == from_float)
                return to == from ? c_expression(w, a) : put_cast(w, c_type_here(w, to), a);
        enum element bits = element_info[to].bytes == 4 ? E_U32 : E_U64;
        const char *name = c_helper(w, HELPER_BITS, to_float ? to : bits, to_float ? bits : from);
        bool cast = !to_float && to != bits;
        w->calls++;
        c_put(w, "%s%s(", cast ? arena_printf(w->arena, "(%s)", c_type_here(w, to)) : "", name);
        if (to_float && from != bits)
                put_cast(w, c_type(bits), a);
        else
                c_expression(w, a);
        c_put(w, ")");
        return shape(cast ? C_UNARY : C_PRIMARY);
}

/* ---- deep expressions ---- */

enum { NEST_MAX = 50 };                 /* C99 guarantees 63 levels of brackets. */

/* Returns how deep brackets nest in e at most; the last arm of a select needs none. */
static int nest_of(const struct loop_expr *e)
{
        int most = 0;
        for (int i = 0; i < e->arity; i++) {
                int nest = e->args[i] ? nest_of(e->args[i]) + !(e->op == LOOP_SELECT && i == 2) : 0;
                most = nest > most ? nest : most;
        }
        return most;
}

bool c_is_deep(const struct loop_expr *e)
{
        return nest_of(e) > NEST_MAX;
}

static bool has_load(const struct loop_expr *e)
{
        if (e->op == LOOP_LOAD)
                return true;
        for (int i = 0; i < e->arity; i++)
                if (e->args[i] && has_load(e->args[i]))
                        return true;
        return false;
}

/* Names deep parts of an expression. A part may be computed early unless a condition prevents it
 * from reading where it must not. */
static int split(struct c_writer *w, const struct loop_expr *e, bool conditional)
{
        int most = 0;
        for (int i = 0; i < e->arity; i++) {
                if (!e->args[i])
                        continue;
                bool arm = e->op == LOOP_SELECT && i > 0;
                int nest = split(w, e->args[i], conditional || arm) + !(arm && i == 2);
                most = nest > most ? nest : most;
        }
        if (most < NEST_MAX || (conditional && has_load(e)))
                return most;
        const char *name = c_local(w, "part");
        c_put(w, "const %s %s = ", c_value_type(w, e->type), name);
        c_expression(w, e);
        c_put(w, ";");
        c_end(w);
        c_name_set(w, e, name);
        w->has_parts = true;
        return 0;
}

void c_split(struct c_writer *w, const struct loop_expr *e)
{
        if (c_is_deep(e))
                split(w, e, false);
}

/* ---- all expressions ---- */

static struct c_shape put_expression(struct c_writer *w, const struct loop_expr *e)
{
        const bool decides = w->decides;
        struct c_shape vector;
        w->decides = false;
        /* The lane belongs to a vector that a lane of the device has loaded. */
        if (e->op == LOOP_LANE && w->dialect->is_device && e->args[0]->op == LOOP_VARIABLE) {
                c_put(w, "%s.at[%lld]", c_use(w, e->args[0]->variable),
                      (long long)e->args[1]->literal.i);
                return primary();
        }
        if (c_vector(w, e, &vector))
                return vector;
        switch (e->op) {
        case LOOP_ADD:
        case LOOP_SUB:
        case LOOP_MUL:
        case LOOP_DIV:
        case LOOP_REM:
        case LOOP_SHL:
        case LOOP_SHR: return put_arithmetic(w, e);
        case LOOP_LT: case LOOP_LE: case LOOP_GT: case LOOP_GE: case LOOP_EQ: case LOOP_NE:
                return put_comparison(w, e);
        case LOOP_AND: case LOOP_XOR: case LOOP_OR:
                return element_of(e) == E_BOOL ? put_logical(w, e, decides)
                                               : put_infix(w, e, loop_op_info[e->op].text);
        case LOOP_NEG: case LOOP_NOT:
                return put_unary(w, e);
        case LOOP_MIN: case LOOP_MAX: case LOOP_MIN_ORDERED: case LOOP_MAX_ORDERED:
                return element_of(e) == E_BOOL ? put_logical(w, e, decides) : put_extreme(w, e);
        case LOOP_SELECT: return c_choice(w, e);
        case LOOP_FMA:
                if (w->dialect->is_device)
                        return put_call(w, element_of(e) == E_F32 ? "__fmaf_rn" : "__fma_rn", e, 3);
                return put_call(w,
                                library_name(w, element_of(e) == E_F32 ? "fma_f32" : "fma_f64",
                                             element_of(e)),
                                e, 3);
        case LOOP_CAST: return put_conversion(w, e);
        case LOOP_BITCAST: return put_bitcast(w, e);
        case LOOP_LITERAL: return put_literal(w, e);
        case LOOP_VARIABLE: c_put(w, "%s", c_use(w, e->variable)); return primary();
        case LOOP_TILE_ENTRY:
                c_put(w, "%s", c_tile_entry(w, e->variable, e->literal.i, e->column));
                return primary();
        case LOOP_LOAD: return put_load(w, e);
        case LOOP_CALL: return put_call(w, c_function(w, e->function), e, e->arity);
        default:
                c_fail(w, EXIT_UNSUPPORTED, "target %s has no %s", w->target->name,
                       loop_op_info[e->op].text);
                return primary();
        }
}

struct c_shape c_expression(struct c_writer *w, const struct loop_expr *e)
{
        struct c_name *part = w->has_parts ? map_get(w->names, (const char *)&e, sizeof e) : NULL;
        if (part) {
                c_put(w, "%s", part->text);
                return primary();
        }
        if (w->depth > EXPR_DEPTH_MAX) {
                c_fail(w, EXIT_INTERNAL, "an expression nests more than %d deep", EXPR_DEPTH_MAX);
                return primary();
        }
        w->depth++;
        struct c_shape printed = put_expression(w, e);
        w->depth--;
        return printed;
}
