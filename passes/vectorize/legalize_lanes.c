/* SPDX-License-Identifier: MIT */
/* Lane by lane: a vector that the target has no instruction for is computed into an array on the
 * stack.
 *
 *     let %v : f32x16 = %a / %n % %m        ->    alloc %lanes : f32[16] stack
 *                                                 for %lane = 0 to 16 {
 *                                                   store %lanes[%lane] = ...
 *                                                 }
 *                                                 let %v : f32x16 = %lanes<16>[0]
 *
 * A call of a function of vectors (dot_i8x16) becomes what the function returns. Variables of a
 * type that the target has no vectors of live in such arrays all the time. Statements that are
 * written before another one see what that one sees; where a condition guards them, it is written
 * as an if. */
#include "passes/vectorize/legalize.h"

#include <string.h>

#include "ir/loop/loop_vector.h"

struct lanes {
        struct arena *arena;
        const struct target *target;
        struct diag *diag;
        struct loop_function *f;
        struct loop_block *out;         /* The block receives statements. */
        struct map *arrays;             /* The map leads from struct entry to struct loop_buffer:
                                         * the variables that live in arrays. */
        int count;
        bool failed;
};

static enum element element_of(const struct loop_expr *e) { return e->type.element; }

static struct loop_expr *settled(struct lanes *l, struct loop_expr *e);

/* ---- what the target has ---- */

static bool is_vector_call(const struct loop_expr *e)
{
        return e->op == LOOP_CALL && e->type.lanes > 1;
}

/* Has the target a row for the operation itself, without its operands? */
static bool has_row(struct arena *arena, const struct target *t, const struct loop_expr *e)
{
        bool vector = e->type.lanes > 1;
        for (int i = 0; i < e->arity; i++)
                vector |= e->args[i] && e->args[i]->type.lanes > 1;
        return !vector || e->type.tile || capability_of(t, e) ||
               (is_vector_call(e) && legalize_vectored(arena, t, e->function, e->type.lanes));
}

/* Does a row for known truth values, which has no operands, give e? */
static bool is_known(const struct target *t, const struct loop_expr *e)
{
        const struct capability *row = e->type.element == E_BOOL ? capability_of(t, e) : NULL;
        return row && row->op == CAN_TRUTHS;
}

/* Returns what stands for operand i: for a gather, its subscripts without the conversion, which is
 * no operation. */
static const struct loop_expr *operand(const struct loop_expr *e, int i)
{
        bool gather = e->op == LOOP_LOAD && i == 0 && e->args[0]->type.lanes > 1;
        const struct loop_expr *subscripts = gather ? capability_subscripts(e->args[0]) : NULL;
        return subscripts ? subscripts : e->args[i];
}

bool legalize_is_native(struct arena *arena, const struct target *t, const struct loop_expr *e)
{
        if (!has_row(arena, t, e))
                return false;
        if (is_known(t, e))
                return true;
        for (int i = 0; i < e->arity; i++)
                if (e->args[i] && !legalize_is_native(arena, t, operand(e, i)))
                        return false;
        return true;
}

int legalize_rare_side(struct arena *arena, const struct target *t, const struct loop_expr *e)
{
        if (e->op != LOOP_SELECT || e->args[0]->type.lanes == 1 || !has_row(arena, t, e) ||
            !legalize_is_native(arena, t, e->args[0]))
                return 0;
        bool first = legalize_is_native(arena, t, e->args[1]),
             second = legalize_is_native(arena, t, e->args[2]);
        return first == second ? 0 : first ? 2 : 1;
}

static bool is_native(const struct lanes *l, const struct loop_expr *e)
{
        return legalize_is_native(l->arena, l->target, e);
}

/* ---- arrays ---- */

/* Subscripts have no type in memory. */
static enum element stored(enum element e) { return e == E_INDEX ? E_I64 : e; }

static struct loop_buffer *new_array(struct lanes *l, struct loop_type type)
{
        struct loop_stmt *s = loop_append(l->arena, l->out, STMT_ALLOC);
        struct loop_buffer *b = ARENA_NEW(l->arena, struct loop_buffer);
        b->name = "lanes";
        b->element = stored(type.element);
        b->extent = type.lanes;
        b->space = SPACE_STACK;
        b->offset = -1;
        b->access = ACCESS_INOUT;
        s->buffer = b;
        l->count++;
        return b;
}

static struct loop_stmt *append_store(struct lanes *l, struct loop_buffer *b, struct loop_expr *at,
                                      struct loop_expr *value)
{
        struct loop_stmt *s = loop_append(l->arena, l->out, STMT_STORE);
        s->buffer = b;
        s->a = at;
        s->b = value;
        return s;
}

static struct loop_expr *array_entry(struct lanes *l, struct loop_buffer *b, enum element e,
                                     struct loop_expr *at)
{
        return loop_cast(l->arena, e, loop_load(l->arena, b, at));
}

struct entry { const struct loop_variable *variable; int64_t row, column; };

static struct loop_buffer *array_of(struct lanes *l, const struct loop_variable *v, int64_t row,
                                    int64_t column)
{
        struct entry key = { v, v->rows ? row : 0, v->rows ? column : 0 };
        return map_get(l->arrays, (const char *)&key, sizeof key);
}

/* ---- one lane ---- */

static struct loop_expr *lane_of(struct lanes *l, const struct loop_expr *e,
                                 const struct loop_variable *lane);
static struct loop_buffer *materialized(struct lanes *l, const struct loop_expr *e);

static struct loop_expr *use_lane(struct lanes *l, const struct loop_variable *lane)
{
        return loop_use(l->arena, (struct loop_variable *)(uintptr_t)lane);
}

static struct loop_expr *lane_of_ramp(struct lanes *l, const struct loop_expr *e,
                                      const struct loop_variable *lane)
{
        struct loop_expr *n = loop_cast(l->arena, element_of(e), use_lane(l, lane));
        struct loop_expr *offset =
                loop_op(l->arena, LOOP_MUL, n, loop_expr_copy(l->arena, e->args[1]), NULL);
        return loop_op(l->arena, LOOP_ADD, settled(l, loop_expr_copy(l->arena, e->args[0])), offset,
                       NULL);
}

static struct loop_expr *lane_of_load(struct lanes *l, const struct loop_expr *e,
                                      const struct loop_variable *lane)
{
        bool gather = e->args[0]->type.lanes > 1;
        struct loop_expr *at = lane_of(l, e->args[0], lane);
        if (!gather)
                at = loop_op(l->arena, LOOP_ADD, at, use_lane(l, lane), NULL);
        struct loop_expr *value = loop_load(l->arena, e->buffer, at);
        if (!e->args[1])
                return value;
        struct loop_expr *zero = loop_literal(l->arena, value->type, (union scalar){ .u = 0 });
        return loop_op(l->arena, LOOP_SELECT, lane_of(l, e->args[1], lane), value, zero);
}

static struct loop_expr *lane_of_variable(struct lanes *l, const struct loop_expr *e,
                                          const struct loop_variable *lane)
{
        struct loop_buffer *array = array_of(l, e->variable, e->literal.i, e->column);
        if (!array) {
                array = new_array(l, e->type);
                append_store(l, array, loop_index(l->arena, 0), loop_expr_copy(l->arena, e));
        }
        return array_entry(l, array, element_of(e), use_lane(l, lane));
}

static struct loop_expr *lane_of_interleave(struct lanes *l, const struct loop_expr *e,
                                            const struct loop_variable *lane)
{
        int64_t from = e->op == LOOP_INTERLEAVE_HIGH ? e->type.lanes / 2 : 0;
        struct loop_expr *sides[2], *odd, *zero = loop_index(l->arena, 0);
        for (int i = 0; i < 2; i++) {
                struct loop_expr *half = loop_op(l->arena, LOOP_DIV, use_lane(l, lane),
                                                 loop_index(l->arena, 2), NULL);
                half = loop_op(l->arena, LOOP_ADD, half, loop_index(l->arena, from), NULL);
                sides[i] = array_entry(l, materialized(l, e->args[i]), element_of(e), half);
        }
        odd = loop_op(l->arena, LOOP_REM, use_lane(l, lane), loop_index(l->arena, 2), NULL);
        odd = loop_op(l->arena, LOOP_EQ, odd, zero, NULL);
        return loop_op(l->arena, LOOP_SELECT, odd, sides[0], sides[1]);
}

/* Returns a lane of e. What must be computed once for all lanes is appended. */
static struct loop_expr *lane_of(struct lanes *l, const struct loop_expr *e,
                                 const struct loop_variable *lane)
{
        struct loop_expr *args[3] = { 0 };
        if (e->type.lanes == 1)
                return settled(l, loop_expr_copy(l->arena, e));
        switch (e->op) {
        case LOOP_LITERAL: return loop_literal(l->arena, LOOP_TYPE(e->type.element), e->literal);
        case LOOP_SPLAT: return lane_of(l, e->args[0], lane);
        case LOOP_RAMP: return lane_of_ramp(l, e, lane);
        case LOOP_LOAD: return lane_of_load(l, e, lane);
        case LOOP_INTERLEAVE_LOW: case LOOP_INTERLEAVE_HIGH: return lane_of_interleave(l, e, lane);
        case LOOP_VARIABLE: case LOOP_TILE_ENTRY: return lane_of_variable(l, e, lane);
        default: break;
        }
        for (int i = 0; i < e->arity; i++)
                args[i] = lane_of(l, e->args[i], lane);
        if (e->op == LOOP_CALL)
                return loop_call(l->arena, e->function, args);
        struct loop_expr *one =
                loop_node(l->arena, e->op, LOOP_TYPE(e->type.element), args[0], args[1], args[2]);
        return loop_computes_narrow(one) ? loop_narrow_expand(l->arena, one) : one;
}

/* Makes for %lane = 0 to lanes { }, which the caller appends after what lane_of appends. */
static struct loop_stmt *new_loop(struct lanes *l, int lanes)
{
        struct loop_block aside = { 0 };
        aside.end = &aside.first;
        struct loop_stmt *s = loop_append(l->arena, &aside, STMT_FOR);
        s->variable = loop_variable_new(l->arena, "lane", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        s->a = loop_index(l->arena, 0);
        s->b = loop_index(l->arena, lanes);
        return s;
}

static void append(struct lanes *l, struct loop_stmt *s)
{
        *l->out->end = s;
        l->out->end = &s->next;
}

static void fill(struct lanes *l, struct loop_buffer *array, const struct loop_expr *e)
{
        if (is_native(l, e)) {
                append_store(l, array, loop_index(l->arena, 0), loop_expr_copy(l->arena, e));
                return;
        }
        struct loop_stmt *loop = new_loop(l, e->type.lanes);
        struct loop_expr *value = lane_of(l, e, loop->variable);
        struct loop_block *outer = l->out;
        append(l, loop);
        l->out = loop->body;
        append_store(l, array, use_lane(l, loop->variable),
                     loop_cast(l->arena, array->element, value));
        l->out = outer;
}

/* Returns a new array with the elements of e, which does not change. */
static struct loop_buffer *materialized(struct lanes *l, const struct loop_expr *e)
{
        struct loop_buffer *array = new_array(l, e->type);
        fill(l, array, e);
        return array;
}

/* ---- expressions ---- */

/* Combines halves pairwise, as sum_lanes is defined: ((0 + L/2) + ...). */
static struct loop_expr *folded(struct lanes *l, struct loop_expr *e)
{
        enum loop_opcode op = e->op == LOOP_SUM_LANES   ? LOOP_ADD
                              : e->op == LOOP_MAX_LANES ? LOOP_MAX
                                                        : LOOP_MIN;
        struct loop_buffer *array = materialized(l, e->args[0]);
        struct loop_expr *parts[LANES_MAX];
        int n = e->args[0]->type.lanes;
        for (int i = 0; i < n; i++)
                parts[i] = array_entry(l, array, element_of(e), loop_index(l->arena, i));
        for (int half; n > 1; n = half) {
                half = (n + 1) / 2;
                for (int i = 0; i + half < n; i++)
                        parts[i] =
                                loop_node(l->arena, op, e->type, parts[i], parts[i + half], NULL);
        }
        return parts[0];
}

/* Returns what an expression in the body of a library function is for these arguments. */
static struct loop_expr *inlined(struct lanes *l, const struct loop_function *f,
                                 const struct loop_expr *e, struct loop_expr *const *args)
{
        for (int i = 0; e->op == LOOP_VARIABLE && i < f->scalar_count; i++)
                if (e->variable == f->scalars[i])
                        return loop_expr_copy(l->arena, args[i]);
        for (const struct loop_stmt *s = f->body->first; e->op == LOOP_VARIABLE && s; s = s->next)
                if (s->kind == STMT_LET && s->variable == e->variable)
                        return inlined(l, f, s->a, args);
        struct loop_expr *copy = arena_copy(l->arena, e, sizeof *e);
        for (int i = 0; i < e->arity; i++)
                if (e->args[i])
                        copy->args[i] = inlined(l, f, e->args[i], args);
        return copy;
}

/* Returns what the function of a call returns, which has lets alone before that. */
static const struct loop_expr *returned(const struct loop_function *f)
{
        const struct loop_stmt *s = f->body->first;
        while (s && s->kind == STMT_LET)
                s = s->next;
        return s && s->kind == STMT_RETURN ? s->a : NULL;
}

/* Writes a choice by a scalar condition, one side of which may read elements that must not be read
 * when the other one is chosen. */
static struct loop_expr *guarded(struct lanes *l, struct loop_expr *e)
{
        struct loop_block *outer = l->out;
        struct loop_stmt *var = loop_append(l->arena, outer, STMT_VAR);
        var->variable = loop_variable_new(l->arena, "chosen", e->type, VARIABLE_VAR);
        struct loop_stmt *branch = loop_append(l->arena, outer, STMT_IF);
        branch->a = e->args[0];
        branch->other = loop_block_new(l->arena);
        for (int i = 0; i < 2; i++) {
                l->out = i ? branch->other : branch->body;
                struct loop_expr *value = settled(l, e->args[1 + i]);
                struct loop_stmt *set = loop_append(l->arena, l->out, STMT_SET);
                set->variable = var->variable;
                set->a = value;
        }
        l->out = outer;
        return loop_use(l->arena, var->variable);
}

static struct loop_variable *declare(struct lanes *l, enum loop_stmt_kind kind, const char *name,
                                     struct loop_expr *value)
{
        struct loop_stmt *s = loop_append(l->arena, l->out, kind);
        s->variable = loop_variable_new(l->arena, name, value->type,
                                        kind == STMT_LET ? VARIABLE_LET : VARIABLE_VAR);
        s->a = value;
        return s->variable;
}

/* Computes one side of a choice only for the lanes that choose it, where there are any:
 *
 *     select(%c, near(%x), far(%x))    ->    let %rare : boolx16 = ~%c
 *                                            var %chosen : f32x16 = near(%x)
 *                                            if max_lanes(%rare) {
 *                                              lane by lane: where %rare, %chosen = far(%x)
 *                                            } */
static struct loop_expr *rarely(struct lanes *l, struct loop_expr *e, int side)
{
        struct loop_expr *mask = e->args[0];
        struct loop_block *outer = l->out;
        if (side == 2)
                mask = loop_op(l->arena, LOOP_NOT, mask, NULL, NULL);
        struct loop_variable *rare = declare(l, STMT_LET, "rare", mask);
        struct loop_variable *chosen = declare(l, STMT_VAR, "chosen", e->args[3 - side]);
        struct loop_expr *any =
                settled(l, loop_op(l->arena, LOOP_MAX_LANES, loop_use(l->arena, rare), NULL, NULL));
        struct loop_stmt *branch = loop_append(l->arena, outer, STMT_IF);
        branch->a = any;
        l->out = branch->body;
        struct loop_buffer *where = materialized(l, loop_use(l->arena, rare));
        struct loop_buffer *values = materialized(l, loop_use(l->arena, chosen));
        struct loop_stmt *loop = new_loop(l, e->type.lanes);
        struct loop_expr *value = lane_of(l, e->args[side], loop->variable);
        append(l, loop);
        struct loop_stmt *wanted = loop_append(l->arena, loop->body, STMT_IF);
        wanted->a = array_entry(l, where, E_BOOL, use_lane(l, loop->variable));
        l->out = wanted->body;
        append_store(l, values, use_lane(l, loop->variable),
                     loop_cast(l->arena, values->element, value));
        struct loop_stmt *set = loop_append(l->arena, branch->body, STMT_SET);
        set->variable = chosen;
        set->a = loop_load_vector(l->arena, values, loop_index(l->arena, 0), e->type.lanes, NULL);
        l->out = outer;
        return loop_use(l->arena, chosen);
}

/* Returns e in operations that the target has; the statements that this needs are appended. */
static struct loop_expr *settled(struct lanes *l, struct loop_expr *e)
{
        if (l->failed || is_native(l, e))
                return e;
        bool choice = e->op == LOOP_SELECT && e->args[0]->type.lanes == 1;
        bool reduces =
                e->op == LOOP_SUM_LANES || e->op == LOOP_MAX_LANES || e->op == LOOP_MIN_LANES;
        if (choice && (e->type.lanes == 1 || has_row(l->arena, l->target, e))) {
                struct loop_expr *copy = loop_expr_copy(l->arena, e);
                copy->args[0] = settled(l, copy->args[0]);
                return is_native(l, copy) ? copy : guarded(l, copy);
        }
        int side = legalize_rare_side(l->arena, l->target, e);
        if (side)
                return rarely(l, e, side);
        if (e->op == LOOP_LANE)
                return array_entry(l, materialized(l, e->args[0]), element_of(e), e->args[1]);
        if (has_row(l->arena, l->target, e) &&
            !(e->op == LOOP_LOAD && e->args[0]->type.lanes > 1)) {
                struct loop_expr *copy = loop_expr_copy(l->arena, e);
                for (int i = 0; i < e->arity; i++)
                        if (copy->args[i])
                                copy->args[i] = settled(l, copy->args[i]);
                return copy;
        }
        if (reduces)
                return folded(l, e);
        if (e->op == LOOP_CALL && e->type.lanes == 1 && returned(e->function))
                return settled(l, inlined(l, e->function, returned(e->function), e->args));
        return loop_load_vector(l->arena, materialized(l, e), loop_index(l->arena, 0),
                                e->type.lanes, NULL);
}

/* ---- statements ---- */

static bool has_type(const struct lanes *l, struct loop_type type)
{
        return type.lanes == 1 || capability_of_type(l->target, type);
}

static struct loop_buffer *declare_array(struct lanes *l, const struct loop_variable *v, int row,
                                         int column)
{
        struct entry key = { v, row, column };
        struct loop_buffer *array = new_array(l, v->type);
        map_set(l->arrays, (const char *)&key, sizeof key, array);
        return array;
}

static void lane_declaration(struct lanes *l, struct loop_stmt *s)
{
        struct loop_variable *v = s->variable;
        struct loop_expr *zero = loop_literal(l->arena, v->type, (union scalar){ .u = 0 });
        if (!v->rows) {
                struct loop_buffer *value = materialized(l, s->a ? s->a : zero);
                struct entry key = { v, 0, 0 };
                map_set(l->arrays, (const char *)&key, sizeof key, value);
        }
        for (int i = 0; i < v->rows * v->columns; i++)
                fill(l, declare_array(l, v, i / v->columns, i % v->columns), zero);
}

/* Sets a variable. Its lanes may depend on other lanes of the old value, so they go into a new
 * array first, and are then copied. */
static void lane_set(struct lanes *l, struct loop_stmt *s)
{
        struct loop_buffer *to = array_of(l, s->variable, s->row, s->column),
                           *from = materialized(l, s->a);
        struct loop_stmt *loop = new_loop(l, s->variable->type.lanes);
        struct loop_block *outer = l->out;
        append(l, loop);
        l->out = loop->body;
        append_store(l, to, use_lane(l, loop->variable),
                     loop_load(l->arena, from, use_lane(l, loop->variable)));
        l->out = outer;
}

/* Stores lane by lane; everything is evaluated before anything is stored. */
static void lane_store(struct lanes *l, struct loop_stmt *s)
{
        struct loop_buffer *values = materialized(l, s->b),
                           *mask = s->c ? materialized(l, s->c) : NULL;
        bool scatter = s->a->type.lanes > 1;
        struct loop_buffer *places = scatter ? materialized(l, s->a) : NULL;
        struct loop_stmt *loop = new_loop(l, s->b->type.lanes);
        struct loop_expr *start = scatter ? NULL : settled(l, s->a),
                         *lane = use_lane(l, loop->variable);
        struct loop_expr *at = scatter ? array_entry(l, places, E_INDEX, lane)
                                       : loop_op(l->arena, LOOP_ADD, start, lane, NULL);
        struct loop_block *outer = l->out;
        append(l, loop);
        l->out = loop->body;
        if (mask) {
                struct loop_stmt *branch = loop_append(l->arena, l->out, STMT_IF);
                branch->a = loop_load(l->arena, mask, use_lane(l, loop->variable));
                l->out = branch->body;
        }
        append_store(l, s->buffer, at, loop_load(l->arena, values, use_lane(l, loop->variable)));
        l->out = outer;
}

static void lane_block(struct lanes *l, struct loop_block *block);

static bool is_native_store(const struct lanes *l, const struct loop_stmt *s)
{
        if (s->b->type.lanes == 1)
                return true;
        const struct loop_expr *subscripts = capability_subscripts(s->a);
        return capability_of_store(l->target, s) &&
               (s->a->type.lanes == 1 || is_native(l, subscripts));
}

/* Returns true when the statement itself stays. */
static bool lane_stmt(struct lanes *l, struct loop_stmt *s)
{
        bool declares = s->kind == STMT_LET || s->kind == STMT_VAR;
        if ((declares || s->kind == STMT_SET) && !s->variable->type.tile &&
            !has_type(l, s->variable->type)) {
                if (declares)
                        lane_declaration(l, s);
                else
                        lane_set(l, s);
                return false;
        }
        if (s->kind == STMT_STORE && !is_native_store(l, s)) {
                lane_store(l, s);
                return false;
        }
        if (s->kind == STMT_WHILE && !is_native(l, s->a)) {
                l->failed = true;
                diag_error(l->diag, EXIT_UNSUPPORTED,
                           "%s: target %s cannot loop on such a condition on vectors", l->f->name,
                           l->target->name);
                return false;
        }
        bool scatter = s->kind == STMT_STORE && s->a->type.lanes > 1;
        s->a = s->a && !scatter ? settled(l, s->a) : s->a;
        s->b = s->b ? settled(l, s->b) : NULL;
        s->c = s->c ? settled(l, s->c) : NULL;
        return true;
}

static void lane_block(struct lanes *l, struct loop_block *block)
{
        struct loop_block *outer = l->out;
        struct loop_stmt *next, *first = block->first;
        block->first = NULL;
        block->end = &block->first;
        l->out = block;
        for (struct loop_stmt *s = first; s; s = next) {
                next = s->next;
                s->next = NULL;
                if (lane_stmt(l, s))
                        append(l, s);
                if (s->body)
                        lane_block(l, s->body);
                if (s->other)
                        lane_block(l, s->other);
        }
        l->out = outer;
}

int legalize_lanes(struct arena *arena, const struct target *t, struct loop_function *f,
                   struct diag *diag)
{
        struct lanes l = { .arena = arena,
                           .target = t,
                           .diag = diag,
                           .f = f,
                           .arrays = map_new(arena) };
        lane_block(&l, f->body);
        if (l.count)
                loop_function_rename(arena, f);
        return l.failed ? -1 : l.count;
}
