/* SPDX-License-Identifier: MIT */
/* Prints types and expressions of Loop IR. A literal gets a suffix exactly where the reader
 * (loop_parse_expr.c) could not tell its type. */
#include "ir/loop/loop_printer.h"

#include <string.h>

char *loop_type_text(struct arena *arena, struct loop_type type)
{
        const char *element = element_info[type.element].text;
        if (type.lanes != 1)
                return arena_printf(arena, "%sx%d%s", element, type.lanes, type.tile ? "tile" : "");
        return arena_printf(arena, "%s", element);
}

void print_type(struct loop_printer *p, struct loop_type type)
{
        const char *element = element_info[type.element].text;
        if (type.lanes != 1)
                text_add(p->out, "%sx%d%s", element, type.lanes, type.tile ? "tile" : "");
        else
                text_add(p->out, "%s", element);
}

void print_number(struct loop_printer *p, enum element e, union scalar value)
{
        if (element_is_float(e)) {
                if (!p->numbers)
                        p->numbers = arena_new();
                text_add(p->out, "%s", text_number(p->numbers, value.f, e != E_F64));
        } else if (e == E_BOOL)
                text_add(p->out, "%s", value.u ? "true" : "false");
        else if (element_info[e].class == CLASS_SINT)
                text_add(p->out, "%lld", value.i);
        else
                text_add(p->out, "%llu", value.u);
}

/* ---- what the reader can tell ---- */

/* Is it the type that the reader gives a literal without another hint? */
static bool is_default(const struct loop_printer *p, struct loop_type type)
{
        int form = type.element == E_BOOL ? E_BOOL : E_INDEX;
        if (element_is_float(type.element))
                form = E_F32;
        struct loop_type preset = LOOP_TYPE(form);
        if (p->fallback.lanes && form != E_BOOL &&
            (form != E_F32 || element_is_float(p->fallback.element)))
                preset = p->fallback;
        return loop_type_same(type, preset);
}

/* Finds the operands that give each other a type: `count` of them, from `first` on. */
static bool shares_types(enum loop_opcode op, int *first, int *count)
{
        *first = op == LOOP_SELECT ? 1 : 0;
        *count = op == LOOP_SELECT ? 2 : op < LOOP_CAST ? loop_op_info[op].arity : 0;
        return op < LOOP_RAMP;
}

/* Does the text of e tell its type? */
static bool says_type(const struct loop_expr *e)
{
        int first, count;
        if (e->op == LOOP_LITERAL)
                return false;
        if (!shares_types(e->op, &first, &count) || loop_op_info[e->op].result == RESULT_BOOL)
                return true;
        for (int i = first; i < first + count; i++)
                if (says_type(e->args[i]))
                        return true;
        return false;
}

/* ---- expressions ---- */

/* The reader knows the type of an expression where it stands, or does not. SILENT: it does not, and
 * no part of the expression tells its type (so that says_type looks at every node only once). */
enum known { UNKNOWN, SILENT, KNOWN };

/* least: the precedence below which e needs parentheses. */
static void print_expr(struct loop_printer *p, const struct loop_expr *e, enum known known,
                       int least);

static void print_literal(struct loop_printer *p, const struct loop_expr *e, enum known known)
{
        print_number(p, e->type.element, e->literal);
        if (known == KNOWN || is_default(p, e->type))
                return;
        text_add(p->out, ":");
        print_type(p, e->type);
}

/* Finds the same for the operands of e. When none of those that share a type tells it, the first is
 * written with a suffix if it needs one, and so tells it. */
static void known_operands(const struct loop_printer *p, const struct loop_expr *e,
                           enum known known, enum known *operands)
{
        int first, count;
        bool shares = shares_types(e->op, &first, &count);
        operands[0] = operands[1] = operands[2] = UNKNOWN;
        if (e->op == LOOP_RAMP || e->op == LOOP_LANE)
                operands[1] = KNOWN;
        if (!shares)
                return;
        if (loop_op_info[e->op].result == RESULT_BOOL)
                known = UNKNOWN;
        for (int i = first; known == UNKNOWN && i < first + count; i++)
                if (says_type(e->args[i]))
                        known = KNOWN;
        if (known == UNKNOWN)
                known = SILENT;
        for (int i = first; i < first + count; i++) {
                bool said = i > first && !is_default(p, e->args[i]->type);
                operands[i] = said ? KNOWN : known;
        }
}

/* Prints what stands behind the name in a load of words: <16 u32 of 4>. */
static void print_words(struct loop_printer *p, const struct loop_expr *e)
{
        text_add(p->out, "<");
        if (e->type.lanes > 1)
                text_add(p->out, "%d ", e->type.lanes);
        text_add(p->out, "%s of %d>", element_info[e->type.element].text, e->group);
}

static void print_place(struct loop_printer *p, const struct loop_buffer *b, int lanes,
                        const struct loop_expr *words, const struct loop_expr *index,
                        const struct loop_expr *mask)
{
        bool program = b->space <= SPACE_VIEW;
        text_add(p->out, "%c%s", program ? '@' : '%', b->name);
        if (words)
                print_words(p, words);
        else if (lanes > 1 && index->type.lanes == 1)
                text_add(p->out, "<%d>", lanes);
        text_add(p->out, "[");
        print_expr(p, index, index->type.lanes == 1 ? KNOWN : UNKNOWN, 0);
        if (mask) {
                text_add(p->out, ", ");
                print_expr(p, mask, KNOWN, 0);
        }
        text_add(p->out, "]");
}

static void print_call(struct loop_printer *p, const struct loop_expr *e)
{
        text_add(p->out, "%s(", e->function->name);
        for (int i = 0; i < e->arity; i++) {
                text_add(p->out, i ? ", " : "");
                print_expr(p, e->args[i], i > 0 ? KNOWN : UNKNOWN, 0);
        }
        text_add(p->out, ")");
}

static void print_op(struct loop_printer *p, const struct loop_expr *e, enum known known, int least)
{
        const struct loop_op_info *info = &loop_op_info[e->op];
        enum known operands[3];
        known_operands(p, e, known, operands);
        if (info->form == FORM_CALL) {
                text_add(p->out, "%s", info->text);
                if (e->op == LOOP_RAMP || e->op == LOOP_SPLAT)
                        text_add(p->out, "<%d>", e->type.lanes);
                text_add(p->out, "(");
                for (int i = 0; i < e->arity; i++) {
                        text_add(p->out, i ? ", " : "");
                        print_expr(p, e->args[i], operands[i], 0);
                }
                text_add(p->out, ")");
                return;
        }
        bool parentheses = info->precedence < least;
        text_add(p->out, parentheses ? "(" : "");
        if (info->form == FORM_PREFIX) {
                /* -(5) is no literal. */
                bool literal = e->args[0]->op == LOOP_LITERAL;
                text_add(p->out, literal ? "%s(" : "%s", info->text);
                print_expr(p, e->args[0], operands[0], info->precedence);
                text_add(p->out, literal ? ")" : "");
        } else {
                print_expr(p, e->args[0], operands[0], info->precedence);
                text_add(p->out, " %s ", info->text);
                print_expr(p, e->args[1], operands[1], info->precedence + 1);
        }
        text_add(p->out, parentheses ? ")" : "");
}

static void print_expr(struct loop_printer *p, const struct loop_expr *e, enum known known,
                       int least)
{
        switch (e->op) {
        case LOOP_LITERAL:
                print_literal(p, e, known);
                break;
        case LOOP_VARIABLE:
                text_add(p->out, "%%%s", e->variable->name);
                break;
        case LOOP_TILE_ENTRY:
                text_add(p->out, "%%%s{%lld, %d}", e->variable->name, e->literal.i, e->column);
                break;
        case LOOP_LOAD:
                print_place(p, e->buffer, e->type.lanes, e->group ? e : NULL, e->args[0],
                            e->args[1]);
                break;
        case LOOP_CALL:
                print_call(p, e);
                break;
        case LOOP_CAST: case LOOP_BITCAST:
                text_add(p->out, "%s%s(", e->op == LOOP_BITCAST ? "bits_" : "",
                         element_info[e->type.element].text);
                print_expr(p, e->args[0], UNKNOWN, 0);
                text_add(p->out, ")");
                break;
        default:
                print_op(p, e, known, least);
        }
}

void print_expression(struct loop_printer *p, const struct loop_expr *e, bool known)
{
        print_expr(p, e, known ? KNOWN : UNKNOWN, 0);
}

void loop_print_expr(struct text *out, const struct loop_expr *e)
{
        struct loop_printer p = { .out = out };
        print_expr(&p, e, UNKNOWN, 0);
        arena_free(p.numbers);
}
