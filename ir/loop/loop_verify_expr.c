/* SPDX-License-Identifier: MIT */
/* The verifier of Loop IR checks expressions and their types. */
#include "ir/loop/loop_verify.h"

#include <math.h>
#include <string.h>

static const char *shown(struct verifier *v, struct loop_type type)
{
        return loop_type_text(v->arena, type);
}

static const enum domain op_domain[LOOP_CAST] = {
        [LOOP_ADD] = DOMAIN_NUMBER,       [LOOP_SUB] = DOMAIN_NUMBER,
        [LOOP_MUL] = DOMAIN_NUMBER,       [LOOP_DIV] = DOMAIN_NUMBER,
        [LOOP_REM] = DOMAIN_INTEGER,      [LOOP_SHL] = DOMAIN_INTEGER,
        [LOOP_SHR] = DOMAIN_INTEGER,      [LOOP_LT] = DOMAIN_ANY,
        [LOOP_LE] = DOMAIN_ANY,           [LOOP_GT] = DOMAIN_ANY,
        [LOOP_GE] = DOMAIN_ANY,           [LOOP_EQ] = DOMAIN_ANY,
        [LOOP_NE] = DOMAIN_ANY,           [LOOP_AND] = DOMAIN_LOGIC,
        [LOOP_XOR] = DOMAIN_LOGIC,        [LOOP_OR] = DOMAIN_LOGIC,
        [LOOP_NOT] = DOMAIN_LOGIC,        [LOOP_NEG] = DOMAIN_NUMBER,
        [LOOP_MIN] = DOMAIN_ANY,          [LOOP_MAX] = DOMAIN_ANY,
        [LOOP_MIN_ORDERED] = DOMAIN_ANY,  [LOOP_MAX_ORDERED] = DOMAIN_ANY,
        [LOOP_FMA] = DOMAIN_FLOAT,        [LOOP_RAMP] = DOMAIN_NUMBER,
        [LOOP_SUM_LANES] = DOMAIN_NUMBER, [LOOP_MAX_LANES] = DOMAIN_ANY,
        [LOOP_MIN_LANES] = DOMAIN_ANY, [LOOP_SELECT] = DOMAIN_ANY,
        /* These operations only move lanes; see below. */
        [LOOP_SPLAT] = DOMAIN_ANY,        [LOOP_LANE] = DOMAIN_ANY,
        [LOOP_INTERLEAVE_LOW] = DOMAIN_ANY, [LOOP_INTERLEAVE_HIGH] = DOMAIN_ANY,
};

static bool in_domain(enum domain domain, enum element e)
{
        switch (domain) {
        case DOMAIN_NUMBER: return element_is_float(e) || element_is_integer(e);
        case DOMAIN_FLOAT: return element_is_float(e);
        case DOMAIN_INTEGER: return element_is_integer(e);
        case DOMAIN_LOGIC: return element_is_integer(e) || e == E_BOOL;
        default: return true;
        }
}

static bool want_type(struct verifier *v, const struct loop_expr *e, struct loop_type type,
                      const char *what)
{
        if (loop_type_same(e->type, type))
                return true;
        return verify_error(v, "%s is %s, want %s", what, shown(v, e->type), shown(v, type));
}

static bool check_vector_op(struct verifier *v, const struct loop_expr *e)
{
        const struct loop_expr *a = e->args[0], *b = e->args[1];
        const char *name = loop_op_info[e->op].text;
        struct loop_type one = LOOP_TYPE(a->type.element);
        int64_t lane;
        if (a->type.tile || e->type.tile)
                return verify_error(v, "%s of a tile", name);
        if (e->op == LOOP_RAMP || e->op == LOOP_SPLAT) {
                if (e->type.lanes < 2 || e->type.element != a->type.element)
                        return verify_error(v, "%s gives %s", name, shown(v, e->type));
                if (e->op == LOOP_RAMP &&
                    (!want_type(v, b, one, "the step of a ramp") || b->op != LOOP_LITERAL))
                        return verify_error(v, "the step of a ramp is not a literal");
                return want_type(v, a, one, name);
        }
        if (a->type.lanes < 2)
                return verify_error(v, "%s of %s", name, shown(v, a->type));
        if (e->op == LOOP_LANE && (!loop_is_int(b, &lane) || b->type.element != E_INDEX ||
                                   lane < 0 || lane >= a->type.lanes))
                return verify_error(v, "the lane is not a literal in range");
        if (e->op == LOOP_INTERLEAVE_LOW || e->op == LOOP_INTERLEAVE_HIGH)
                return a->type.lanes % 2 ? verify_error(v, "%s of %s", name, shown(v, a->type)) :
                       want_type(v, b, a->type, name) && want_type(v, e, a->type, name);
        return want_type(v, e, one, name);
}

static bool check_op(struct verifier *v, const struct loop_expr *e)
{
        const struct loop_op_info *info = &loop_op_info[e->op];
        enum element element = e->args[0]->type.element;
        if (e->arity != info->arity)
                return verify_error(v, "%s has %d operands, want %d", info->text, e->arity,
                                    info->arity);
        bool interleaves = e->op == LOOP_INTERLEAVE_LOW || e->op == LOOP_INTERLEAVE_HIGH;
        bool moves =
                e->op == LOOP_SELECT || e->op == LOOP_SPLAT || e->op == LOOP_LANE || interleaves;
        bool computes = loop_is_compute(element) ||
                        (e->args[0]->type.lanes > 1 && loop_computes_narrow(e));
        if (!moves && (!computes || !in_domain(op_domain[e->op], element) ||
                       e->args[0]->type.tile))
                return verify_error(v, "%s is not for %s", info->text, shown(v, e->args[0]->type));
        if (e->op == LOOP_SELECT) {
                struct loop_type condition = e->args[0]->type;
                if (condition.element != E_BOOL ||
                    (condition.lanes != 1 && condition.lanes != e->type.lanes))
                        return verify_error(v, "a condition is %s", shown(v, condition));
                return e->type.tile ? verify_error(v, "select of a tile") :
                       want_type(v, e->args[1], e->type, "a side of select") &&
                       want_type(v, e->args[2], e->type, "a side of select");
        }
        if (info->result == RESULT_SPECIAL)
                return check_vector_op(v, e);
        for (int i = 1; i < e->arity; i++)
                if (!want_type(v, e->args[i], e->args[0]->type, info->text))
                        return false;
        struct loop_type result = info->result == RESULT_BOOL
                                          ? LOOP_VECTOR(E_BOOL, e->args[0]->type.lanes)
                                          : e->args[0]->type;
        return want_type(v, e, result, info->text);
}

static bool check_literal(struct verifier *v, const struct loop_expr *e)
{
        enum element element = e->type.element;
        if (e->type.tile)
                return verify_error(v, "a literal tile");
        if (element_is_float(element)) {
                uint64_t storage = 0;
                element_store(element, &storage, 0, e->literal);
                union scalar back = element_load(element, &storage, 0);
                return isnan(back.f) || back.f == e->literal.f ||
                       verify_error(v, "a literal is not exact in its type");
        }
        return element_wrap(element, e->literal.u).u == e->literal.u ||
               verify_error(v, "a literal does not fit its type");
}

bool verify_place(struct verifier *v, const struct loop_buffer *b, const struct loop_expr *index,
                  struct loop_type type, int group, const struct loop_expr *mask)
{
        int64_t at, count = (int64_t)type.lanes * (group ? group : 1);
        if ((!group && type.element != b->element) || type.tile)
                return verify_error(v, "%s of the elements of %s", shown(v, type), b->name);
        if (index->type.element != E_INDEX ||
            (index->type.lanes != 1 && index->type.lanes != type.lanes))
                return verify_error(v, "a subscript is %s", shown(v, index->type));
        if (mask && (mask->type.element != E_BOOL || mask->type.lanes != type.lanes))
                return verify_error(v, "a mask is %s", shown(v, mask->type));
        if (!mask && loop_is_int(index, &at) &&
            (at < 0 || at > b->extent || b->extent - at < count))
                return verify_error(v, "%s[%lld] is outside its %lld elements", b->name,
                                    (long long)at, (long long)b->extent);
        return true;
}

static bool check_words(struct verifier *v, const struct loop_expr *e)
{
        int bits = 8 * element_info[e->type.element].bytes,
            own = 8 * element_info[e->buffer->element].bytes;
        bool word = e->type.element == E_U32 || e->type.element == E_U64;
        bool fits = word && e->group > 1 && e->group <= WORD_GROUP_MAX && bits % e->group == 0 &&
                    (bits / e->group == own ||
                     (bits / e->group > own && element_is_integer(e->buffer->element)));
        if (!fits || e->args[1] || e->args[0]->type.lanes != 1)
                return verify_error(v, "a word of %d elements of %s", e->group, e->buffer->name);
        return true;
}

/* Returns the let that an index is, or that it is a number behind, where the let has a base. */
static const struct loop_variable *base_of(const struct loop_expr *index)
{
        const struct loop_expr *e =
                index->op == LOOP_ADD && index->arity == 2 ? index->args[0] : index;
        int64_t number;
        const bool is_place =
                e && e->op == LOOP_VARIABLE && e->variable &&
                (e == index || (index->args[1] && loop_is_int(index->args[1], &number)));
        return is_place && e->variable->base ? e->variable : NULL;
}

static bool check_base(struct verifier *v, const struct loop_buffer *b,
                       const struct loop_expr *index)
{
        const struct loop_buffer *base = base_of(index)->base;
        return base == b || verify_error(v, "an index of %s is used for %s", base->name, b->name);
}

static bool check_load(struct verifier *v, const struct loop_expr *e)
{
        if (!e->args[0])
                return verify_error(v, "a load has no subscript");
        const bool based = !e->args[1] && base_of(e->args[0]);
        return verify_buffer(v, e->buffer, ACCESS_IN) &&
               (!based || check_base(v, e->buffer, e->args[0])) &&
               (!e->group || check_words(v, e)) &&
               verify_place(v, e->buffer, e->args[0], e->type, e->group, e->args[1]);
}

static bool check_variable(struct verifier *v, const struct loop_expr *e)
{
        const struct loop_variable *x = e->variable;
        if (!x || !verify_live(v, x->name, x))
                return verify_error(v, "%%%s is not in scope", x && x->name ? x->name : "");
        if (!loop_type_same(x->type, e->type))
                return verify_error(v, "%%%s is %s, used as %s", x->name, shown(v, x->type),
                                    shown(v, e->type));
        if ((e->op == LOOP_TILE_ENTRY) != (x->rows > 0))
                return verify_error(v, "%%%s is %sa register tile", x->name, x->rows ? "" : "not ");
        if (x->rows && (e->literal.i < 0 || e->literal.i >= x->rows || e->column < 0 ||
                        e->column >= x->columns))
                return verify_error(v, "%%%s has no entry {%lld, %d}", x->name, e->literal.i,
                                    e->column);
        if (x->base && x != v->subscript)
                return verify_error(v, "%%%s is an index of %s, and used as a number", x->name,
                                    x->base->name);
        return !x->rows || verify_own(v, x);
}

static bool check_conversion(struct verifier *v, const struct loop_expr *e)
{
        struct loop_type from = e->args[0]->type;
        enum element a = from.element, b = e->type.element;
        bool good = from.lanes == e->type.lanes && !from.tile;
        if (e->op == LOOP_CAST)
                good = good && (loop_is_compute(a) || loop_is_compute(b) ||
                                (from.lanes > 1 && loop_computes_narrow(e)));
        else
                good = good && element_info[a].bytes == element_info[b].bytes && b != E_BOOL &&
                       a != E_INDEX && b != E_INDEX;
        return good ||
               verify_error(v, "no conversion from %s to %s", shown(v, from), shown(v, e->type));
}

/* lanes 1: the type stays as it is. */
static struct loop_type with_lanes(struct loop_type type, int lanes)
{
        return lanes > 1 ? LOOP_VECTOR(type.element, lanes) : type;
}

static bool check_call_expr(struct verifier *v, const struct loop_expr *e)
{
        const struct loop_function *f = e->function;
        if (!f || f->kind != FUNCTION_LIBRARY || !verify_has_function(v, f))
                return verify_error(v, "call of %s, which is not (yet) in the library",
                                    f && f->name ? f->name : "nothing");
        if (e->arity != f->scalar_count)
                return verify_error(v, "%s has %d arguments, want %d", f->name, e->arity,
                                    f->scalar_count);
        int lanes = loop_call_lanes(f, e->args[0]);
        for (int i = 0; i < e->arity; i++)
                if (!want_type(v, e->args[i], with_lanes(f->scalars[i]->type, lanes),
                               "an argument"))
                        return false;
        return want_type(v, e, with_lanes(f->result, lanes), "a call");
}

static bool check_expr(struct verifier *v, const struct loop_expr *e, int depth)
{
        if (depth > EXPR_DEPTH_MAX)
                return verify_error(v, "an expression is nested more than %d deep", EXPR_DEPTH_MAX);
        if (!e || e->arity < 0 || e->arity > 3 || !verify_sound(e->type))
                return verify_error(v, "an expression is missing or has no type");
        for (int i = 0; i < e->arity; i++) {
                const bool masked = e->op == LOOP_LOAD && e->arity > 1 && e->args[1];
                if (e->op == LOOP_LOAD && i == 0 && e->args[0] && !masked)
                        v->subscript = base_of(e->args[0]);
                if (!(e->op == LOOP_LOAD && i == 1 && !e->args[i]) &&
                    !check_expr(v, e->args[i], depth + 1))
                        return false;
                v->subscript = NULL;
        }
        switch (e->op) {
        case LOOP_LITERAL: return check_literal(v, e);
        case LOOP_VARIABLE: case LOOP_TILE_ENTRY: return check_variable(v, e);
        case LOOP_LOAD: return check_load(v, e);
        case LOOP_CALL: return check_call_expr(v, e);
        case LOOP_CAST: case LOOP_BITCAST:
                return e->arity == 1 ? check_conversion(v, e)
                                     : verify_error(v, "a conversion of %d operands", e->arity);
        default:
                return e->op < LOOP_CAST && e->arity > 0
                               ? check_op(v, e)
                               : verify_error(v, "no operation %d", (int)e->op);
        }
}

bool verify_any(struct verifier *v, const struct loop_expr *e) { return check_expr(v, e, 1); }

bool verify_subscript(struct verifier *v, const struct loop_buffer *b,
                      const struct loop_expr *index)
{
        v->subscript = index ? base_of(index) : NULL;
        const bool good = (!v->subscript || check_base(v, b, index)) && check_expr(v, index, 1);
        v->subscript = NULL;
        return good;
}

bool verify_expr(struct verifier *v, const struct loop_expr *e, struct loop_type type,
                 const char *what)
{
        return check_expr(v, e, 1) && want_type(v, e, type, what);
}
