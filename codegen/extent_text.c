/* SPDX-License-Identifier: MIT */
#include "codegen/extent_text.h"

static void add_extent(struct text *out, const struct loop_expr *e, bool nested)
{
        static const char *const infix[] = { [LOOP_ADD] = " + ", [LOOP_SUB] = " - ",
                                             [LOOP_MUL] = " * ", [LOOP_DIV] = " / " };
        bool call = e->op == LOOP_MIN || e->op == LOOP_MAX;
        if (e->op == LOOP_LITERAL)
                text_add(out, "%lld", (long long)e->literal.i);
        if (e->op == LOOP_VARIABLE)
                text_add(out, "%s", e->variable->name);
        if (e->arity != 2)
                return;
        text_add(out, "%s", call ? loop_op_info[e->op].text : "");
        text_add(out, "%s", call || nested ? "(" : "");
        add_extent(out, e->args[0], !call);
        text_add(out, "%s", call ? ", " : infix[e->op]);
        add_extent(out, e->args[1], !call);
        text_add(out, "%s", call || nested ? ")" : "");
}

char *extent_text(struct arena *arena, const struct loop_expr *extent)
{
        struct text text = { 0 };
        add_extent(&text, extent, false);
        char *copy = arena_string(arena, text.data);
        text_free(&text);
        return copy;
}
