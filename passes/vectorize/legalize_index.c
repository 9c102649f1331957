/* SPDX-License-Identifier: MIT */
/* Writes subscripts as sums with one constant, which comes last:
 *
 *     ((%h + %i) * 58 + %q + 3) * 16 + %c + 2    ->    %h * 928 + %i * 928 + %q * 16 + %c + 50
 *
 * so that all accesses of an unrolled loop are one register and a distance. gcc gives (%q + 3) * 16
 * and (%q + 4) * 16 a register each, and runs out of registers. Arithmetic of subscripts never
 * overflows: every order gives the same. */
#include "passes/vectorize/legalize.h"

enum { TERMS_MAX = 16 };

struct sum {
        int count;
        struct { struct loop_expr *factor; int64_t multiple; } terms[TERMS_MAX];
        int64_t constant;
        bool failed;
};

static void add_term(struct sum *s, struct loop_expr *factor, int64_t multiple)
{
        int i = 0;
        while (i < s->count && !loop_expr_same(s->terms[i].factor, factor))
                i++;
        if (i == TERMS_MAX) {
                s->failed = true;
                return;
        }
        if (i == s->count) {
                s->terms[s->count].factor = factor;
                s->terms[s->count++].multiple = 0;
        }
        s->failed |= __builtin_add_overflow(s->terms[i].multiple, multiple, &s->terms[i].multiple);
}

static void add_multiple(struct sum *s, struct loop_expr *e, int64_t multiple)
{
        int64_t value;
        if (s->failed)
                return;
        if (loop_is_int(e, &value)) {
                s->failed = __builtin_mul_overflow(value, multiple, &value) ||
                            __builtin_add_overflow(s->constant, value, &s->constant);
        } else if (e->op == LOOP_ADD || e->op == LOOP_SUB) {
                add_multiple(s, e->args[0], multiple);
                add_multiple(s, e->args[1], e->op == LOOP_ADD ? multiple : -multiple);
        } else if (e->op == LOOP_MUL &&
                   (loop_is_int(e->args[1], &value) || loop_is_int(e->args[0], &value))) {
                int other = loop_is_int(e->args[1], &value) ? 0 : 1;
                s->failed = __builtin_mul_overflow(value, multiple, &value);
                add_multiple(s, e->args[other], value);
        } else {
                add_term(s, e, multiple);
        }
}

struct loop_expr *legalize_sum(struct arena *arena, struct loop_expr *e)
{
        struct sum sum = { 0 };
        if (e->type.lanes > 1 || e->type.element != E_INDEX ||
            (e->op != LOOP_ADD && e->op != LOOP_SUB && e->op != LOOP_MUL))
                return e;
        add_multiple(&sum, e, 1);
        if (sum.failed)
                return e;
        struct loop_expr *all = NULL;
        for (int i = 0; i < sum.count; i++) {
                if (!sum.terms[i].multiple)
                        continue;
                struct loop_expr *multiple = loop_index(arena, sum.terms[i].multiple);
                struct loop_expr *term =
                        loop_op(arena, LOOP_MUL, sum.terms[i].factor, multiple, NULL);
                all = all ? loop_node(arena, LOOP_ADD, e->type, all, term, NULL) : term;
        }
        struct loop_expr *constant = loop_index(arena, sum.constant);
        struct loop_expr *better = all ? loop_op(arena, LOOP_ADD, all, constant, NULL) : constant;
        return loop_expr_same(better, e) ? e : better;
}
