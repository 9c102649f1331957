/* SPDX-License-Identifier: MIT */
/* The interpreter's compiler: innermost loops in strips.
 *
 *     for %i = 0 to 1000 {                          32 iterations at a time, each operation for all of them:
 *       let %v : f32 = %x[%i] * 2.0                 V_LOAD_RUN, V_MUL_F32
 *       store %y[%i] = exp(%v)                      V_ADD_F32, ..., V_STORE_RUN
 *       set %sum = %sum + %v                        FOLD_ADD_F32: lane by lane, in order
 *     }                                             and what remains one by one
 *
 * An operation's cost is mostly that of dispatching it, so this is several times faster. The body
 * may let, store, and accumulate. Iterations may depend on each other through the accumulators
 * alone: no buffer is stored to twice, and none is stored to and loaded from unless at the very
 * same subscript, which moves with the counter. Parameters that may be one buffer are compared
 * before the loop: where they overlap without being the same, iterations run one by one. */
#include "ir/interp/interp_compile.h"

enum { STORES_MAX = 8, GUARDS_MAX = 8, CHECK_DEPTH_MAX = 200 };

struct body {
        const struct compiler *c;
        const struct loop_stmt *loop;
        const struct loop_stmt *stores[STORES_MAX];
        int store_count;
        const struct loop_buffer *guards[GUARDS_MAX][2];
        int guard_count;
        int depth;
};

static const uint16_t folds[LOOP_CAST][KIND_COUNT] = {
#define FOLD(op, kind, ...) [LOOP_##op][KIND_##kind] = FOLD_##op##_##kind,
#include "ir/interp/interp_ops.def"
};

/* ---- may it? ---- */

static bool straight(struct body *b, const struct loop_expr *e);

static bool straight_function(struct body *b, const struct loop_function *f)
{
        for (const struct loop_stmt *s = f && f->body ? f->body->first : NULL; s; s = s->next)
                if ((s->kind != STMT_LET && s->kind != STMT_RETURN) || !straight(b, s->a))
                        return false;
        return f && f->body;
}

bool function_is_straight(const struct compiler *c, const struct loop_function *f)
{
        struct body b = { .c = c };
        return straight_function(&b, f);
}

/* Is e scalar, and without control flow but select? */
static bool straight(struct body *b, const struct loop_expr *e)
{
        if (e->type.lanes != 1 || e->op == LOOP_TILE_ENTRY ||
            (e->op >= LOOP_RAMP && e->op < LOOP_CAST) ||
            (e->op == LOOP_LOAD && (e->args[1] || e->group)) || b->depth > CHECK_DEPTH_MAX)
                return false;
        b->depth++;
        bool good = e->op != LOOP_CALL || straight_function(b, called_function(b->c, e));
        for (int i = 0; good && i < e->arity; i++)
                good = !e->args[i] || straight(b, e->args[i]);
        b->depth--;
        return good;
}

/* Is e affine in the loop's counter, also through lets? *by: how much it moves with each
 * iteration. */
static bool moves_by(const struct body *b, const struct loop_expr *e, int64_t *by)
{
        int64_t x, y;
        *by = 0;
        switch (e->op) {
        case LOOP_ADD:
        case LOOP_SUB:
                if (!moves_by(b, e->args[0], &x) || !moves_by(b, e->args[1], &y))
                        return false;
                return e->op == LOOP_ADD ? !__builtin_add_overflow(x, y, by)
                                         : !__builtin_sub_overflow(x, y, by);
        case LOOP_MUL:
                if (loop_is_int(e->args[1], &y))
                        return moves_by(b, e->args[0], &x) && !__builtin_mul_overflow(x, y, by);
                return loop_is_int(e->args[0], &x) && moves_by(b, e->args[1], &y) &&
                       !__builtin_mul_overflow(x, y, by);
        case LOOP_VARIABLE:
                if (e->variable == b->loop->variable) {
                        *by = 1;
                        return true;
                }
                for (const struct loop_stmt *s = b->loop->body->first; s; s = s->next)
                        if (s->kind == STMT_LET && s->variable == e->variable)
                                return moves_by(b, s->a, by);
                return true; /* The variable is from outside the loop. */
        default: return e->op == LOOP_LITERAL;
        }
}

static const struct loop_expr *accumulated(const struct loop_stmt *s)
{
        const struct loop_variable *v = s->variable;
        const struct loop_expr *e = s->a;
        bool first = e->arity == 2 && e->args[0]->op == LOOP_VARIABLE && e->args[0]->variable == v;
        bool second =
                e->op == LOOP_ADD && e->args[1]->op == LOOP_VARIABLE && e->args[1]->variable == v;
        if (v->rows || e->type.lanes != 1 || e->op >= LOOP_CAST || (!first && !second))
                return NULL;
        return e->args[first ? 1 : 0];
}

/* Is the variable that s sets nothing but its accumulator? */
static bool only_accumulates(const struct body *b, const struct loop_stmt *s)
{
        for (const struct loop_stmt *t = b->loop->body->first; t; t = t->next) {
                const struct loop_expr *e = t == s ? accumulated(s) : t->a;
                if (!e || (t != s && t->kind == STMT_SET && t->variable == s->variable) ||
                    loop_mentions(e, s->variable) ||
                    (t->kind == STMT_STORE && loop_mentions(t->b, s->variable)))
                        return false;
        }
        return true;
}

static bool may_be_one(const struct loop_buffer *a, const struct loop_buffer *b)
{
        return a != b && a->space == SPACE_PARAMETER && b->space == SPACE_PARAMETER &&
               a->alias_class > 0 && a->alias_class == b->alias_class;
}

static bool add_guard(struct body *b, const struct loop_buffer *x, const struct loop_buffer *y)
{
        for (int g = 0; g < b->guard_count; g++)
                if (b->guards[g][0] == x && b->guards[g][1] == y)
                        return true;
        if (b->guard_count == GUARDS_MAX)
                return false;
        b->guards[b->guard_count][0] = x;
        b->guards[b->guard_count++][1] = y;
        return true;
}

static bool loads_agree(struct body *b, const struct loop_expr *e)
{
        if (e->op == LOOP_LOAD)
                for (int k = 0; k < b->store_count; k++) {
                        const struct loop_stmt *store = b->stores[k];
                        bool one = may_be_one(e->buffer, store->buffer);
                        if ((one || e->buffer == store->buffer) &&
                            (!loop_expr_same(e->args[0], store->a) ||
                             (one && !add_guard(b, e->buffer, store->buffer))))
                                return false;
                }
        for (int i = 0; i < e->arity; i++)
                if (e->args[i] && !loads_agree(b, e->args[i]))
                        return false;
        return true;
}

static bool find_stores(struct body *b)
{
        for (const struct loop_stmt *s = b->loop->body->first; s; s = s->next) {
                int64_t by;
                if (s->kind != STMT_STORE)
                        continue;
                if (b->store_count == STORES_MAX || s->c || !moves_by(b, s->a, &by) || !by ||
                    by > INT32_MAX || by < INT32_MIN)
                        return false;
                for (int k = 0; k < b->store_count; k++)
                        if (b->stores[k]->buffer == s->buffer ||
                            may_be_one(b->stores[k]->buffer, s->buffer))
                                return false;
                b->stores[b->store_count++] = s;
        }
        return true;
}

static bool fits(struct body *b)
{
        if (!b->loop->body->first || !find_stores(b))
                return false;
        for (const struct loop_stmt *s = b->loop->body->first; s; s = s->next) {
                bool good = false;
                switch (s->kind) {
                case STMT_LET: good = straight(b, s->a); break;
                case STMT_STORE:
                        good = straight(b, s->a) && straight(b, s->b) && loads_agree(b, s->b) &&
                               loads_agree(b, s->a);
                        break;
                case STMT_SET:
                        good = accumulated(s) &&
                               folds[s->a->op][kind_of(b->c, s->a->type.element)] &&
                               straight(b, s->a) && only_accumulates(b, s);
                        break;
                default: break;
                }
                if (!good || !loads_agree(b, s->a))
                        return false;
        }
        return true;
}

/* ---- is it worth it? ---- */

/* Is e at most (least: at least) *value, as far as literals, min, max and lets tell? */
static bool bound_value(struct compiler *c, const struct loop_expr *e, bool least, int depth,
                        int64_t *value)
{
        int64_t other;
        if (loop_is_int(e, value))
                return true;
        if (depth == CHECK_DEPTH_MAX)
                return false;
        if (e->op == LOOP_VARIABLE && e->variable->kind == VARIABLE_LET) {
                const struct loop_expr *definition = bound_of(c, e->variable)->definition;
                return definition && bound_value(c, definition, least, depth + 1, value);
        }
        if (e->op != (least ? LOOP_MAX : LOOP_MIN))
                return false;
        bool a = bound_value(c, e->args[0], least, depth + 1, value),
             b = bound_value(c, e->args[1], least, depth + 1, &other);
        if (b && (!a || (least ? other > *value : other < *value)))
                *value = other;
        return a || b;
}

static bool is_long(struct compiler *c, const struct loop_stmt *s, int64_t lanes)
{
        int64_t from, to, trip;
        if (!bound_value(c, s->a, true, 0, &from) || !bound_value(c, s->b, false, 0, &to))
                return true;
        return __builtin_sub_overflow(to, from, &trip) || trip / s->step >= lanes;
}

/* ---- code ---- */

static void compile_fold(struct compiler *c, const struct loop_stmt *s)
{
        struct cell lanes = compile_expr(c, accumulated(s), -1);
        if (lanes.lanes == 1)
                lanes = splat(c, lanes, c->strip, -1);
        emit(c, (struct instruction){
                        .code = folds[s->a->op][kind_of(c, s->a->type.element)],
                        .lanes = (uint16_t)c->strip,
                        .a = bound_of(c, s->variable)->value.slot,
                        .b = lanes.slot });
}

static void bind_counter(struct compiler *c, const struct loop_stmt *s)
{
        struct form form = { .count = 1, .terms = { { c->strip_counter, 1 } } };
        bind_variable(c, s->variable, (struct cell){ .slot = -1 }, new_form(c, &form));
}

bool compile_strips(struct compiler *c, const struct loop_stmt *s, int counter, struct cell start,
                    struct cell end)
{
        int lanes = c->options->strip ? c->options->strip : STRIP_LANES, one_by_one;
        struct body body = { .c = c, .loop = s };
        struct chunk chunk;
        if (c->options->plain || c->strip || c->mask.slot >= 0 || !is_long(c, s, lanes) ||
            !fits(&body))
                return false;
        one_by_one = new_label(c);
        struct cell rest = constant_int(c, (lanes - 1) * s->step),
                    advance = constant_int(c, lanes * s->step);
        if (body.guard_count)
                emit_move(c, counter, start, 1);
        chunk_open(c, &chunk, true);
        c->strip = lanes;
        c->strip_step = s->step;
        c->strip_counter = value_here(c, counter, 1);
        bind_counter(c, s);
        for (const struct loop_stmt *t = s->body->first; t; t = t->next) {
                if (t->kind == STMT_SET)
                        compile_fold(c, t);
                else
                        compile_stmt(c, t);
        }
        c->strip = 0;
        for (int g = 0; g < body.guard_count; g++)
                list_append(c, &chunk.before,
                            (struct instruction){ .code = I_JUMP_OVERLAP,
                                                  .b = descriptor_of(c, body.guards[g][0]),
                                                  .c = descriptor_of(c, body.guards[g][1]),
                                                  .e = one_by_one });
        loop_close(c, &chunk,
                   (struct instruction){ .code = I_STRIP_BEGIN,
                                         .a = counter,
                                         .b = start.slot,
                                         .c = end.slot,
                                         .d = rest.slot },
                   (struct instruction){ .code = I_LOOP_STEP,
                                         .a = counter,
                                         .b = advance.slot,
                                         .c = counter + 1 });
        emit_label(c, one_by_one);
        return true;
}
