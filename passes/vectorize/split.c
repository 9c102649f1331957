/* SPDX-License-Identifier: MIT */
/* vectorize: finds where a loop is split, so that comparisons of the loop's variable have one
 * answer in each part.
 *
 *     for %j = 0 to 34 {                                             for %j = 0 to 1 { store %y[%j] = 0.0 }
 *       let %v = select(%j >= 1 & %j < 33, %x[%j - 1], 0.0)    ->    for %j = 1 to 33 { store %y[%j] = %x[%j - 1] }
 *       store %y[%j] = %v                                            for %j = 33 to 34 { store %y[%j] = 0.0 }
 *     }
 *
 * This file finds the places; the answers fold once the range of %j is known
 * (ir/loop/loop_vector_expr.c). */
#include "passes/vectorize/vectorize.h"

struct search {
        const struct loop_stmt *loop;
        int64_t from, to, *places;
        int count;                      /* VECTORIZE_BREAKS_MAX + 1: there are too many. */
};

/* A line is factor * variable + constant. */
struct line { int64_t factor, constant; };

static const struct loop_expr *definition_of(const struct loop_stmt *loop,
                                             const struct loop_variable *variable)
{
        for (const struct loop_stmt *s = loop->body->first; s; s = s->next)
                if (s->kind == STMT_LET && s->variable == variable)
                        return s->a;
        return NULL;
}

static bool line_of(const struct search *s, const struct loop_expr *e, struct line *line)
{
        struct line a, b;
        *line = (struct line){ 0, 0 };
        if (loop_is_int(e, &line->constant))
                return true;
        if (e->op == LOOP_VARIABLE) {
                const struct loop_expr *definition = definition_of(s->loop, e->variable);
                line->factor = 1;
                return e->variable == s->loop->variable ||
                       (definition && line_of(s, definition, line));
        }
        if ((e->op != LOOP_ADD && e->op != LOOP_SUB && e->op != LOOP_MUL) ||
            !line_of(s, e->args[0], &a) || !line_of(s, e->args[1], &b))
                return false;
        if (e->op == LOOP_MUL)
                return !b.factor && !__builtin_mul_overflow(a.factor, b.constant, &line->factor) &&
                       !__builtin_mul_overflow(a.constant, b.constant, &line->constant);
        if (e->op == LOOP_ADD)
                return !__builtin_add_overflow(a.factor, b.factor, &line->factor) &&
                       !__builtin_add_overflow(a.constant, b.constant, &line->constant);
        return !__builtin_sub_overflow(a.factor, b.factor, &line->factor) &&
               !__builtin_sub_overflow(a.constant, b.constant, &line->constant);
}

static void add_place(struct search *s, int64_t place)
{
        int at = 0;
        if (place <= s->from || place >= s->to || s->count > VECTORIZE_BREAKS_MAX)
                return;
        while (at < s->count && s->places[at] < place)
                at++;
        if (at < s->count && s->places[at] == place)
                return;
        if (s->count++ == VECTORIZE_BREAKS_MAX)
                return;
        for (int i = s->count - 1; i > at; i--)
                s->places[i] = s->places[i - 1];
        s->places[at] = place;
}

/* Adds the first value where the line is at least `least`, or where it is no longer. */
static void add_crossing(struct search *s, struct line line, int64_t least)
{
        enum { LARGEST = INT32_MAX };   /* The bound is far beyond any extent where that matters. */
        if (line.constant > LARGEST || line.constant < -LARGEST || line.factor > LARGEST ||
            line.factor < -LARGEST)
                return;
        int64_t distance = least - line.constant, factor = line.factor;
        if (factor > 0)
                add_place(s, distance > 0 ? divide_up(distance, factor) : distance / factor);
        else if (factor < 0 && distance <= 0)
                add_place(s, distance / factor + 1);
}

/* Adds the places where a quotient by a literal changes, which are its multiples, and so does the
 * remainder; only where these are few, as in subscripts that wrap around. */
static void look_at_division(struct search *s, const struct loop_expr *e)
{
        enum { SELDOM = 3 };
        struct line line;
        int64_t n;
        if (e->args[0]->type.element != E_INDEX || !loop_is_int(e->args[1], &n) ||
            !line_of(s, e->args[0], &line) || line.factor < 0 || line.factor > n || n > INT32_MAX ||
            s->to > INT32_MAX || line.constant > INT32_MAX)
                return;
        int64_t first = line.factor * s->from + line.constant,
                last = line.factor * (s->to - 1) + line.constant;
        bool seldom = first >= 0 && last / n - first / n <= SELDOM;
        for (int64_t place = (first / n + 1) * n; seldom && place <= last; place += n)
                add_crossing(s, line, place);
}

static void look(struct loop_expr *e, void *context)
{
        struct search *s = context;
        struct line a, b;
        if (e->op == LOOP_DIV || e->op == LOOP_REM)
                look_at_division(s, e);
        bool compares = e->op >= LOOP_LT && e->op <= LOOP_NE,
             extreme = e->op == LOOP_MIN || e->op == LOOP_MAX;
        if ((!compares && !extreme) || e->args[0]->type.element != E_INDEX ||
            !line_of(s, e->args[0], &a) || !line_of(s, e->args[1], &b))
                return;
        struct line difference = { a.factor - b.factor, a.constant - b.constant };
        if (e->op != LOOP_GT && e->op != LOOP_LE)
                add_crossing(s, difference, 0);
        if (compares && e->op != LOOP_LT && e->op != LOOP_GE)
                add_crossing(s, difference, 1);
}

int vectorize_breaks(const struct loop_stmt *loop, int64_t from, int64_t to,
                     int64_t places[VECTORIZE_BREAKS_MAX])
{
        struct search s = { .loop = loop, .from = from, .to = to, .places = places };
        loop_block_walk(loop->body, NULL, look, &s);
        return s.count > VECTORIZE_BREAKS_MAX ? 0 : s.count;
}
