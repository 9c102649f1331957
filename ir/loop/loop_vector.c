/* SPDX-License-Identifier: MIT */
/* Vectors from scalars: finds which variables differ from lane to lane and what may not be
 * reordered, and writes statements. */
#include "ir/loop/loop_vectorizer.h"

#include <string.h>

/* ---- what varies ---- */

struct lane_binding *lane_binding_of(const struct vectorizer *v,
                                     const struct loop_variable *variable)
{
        int n = variable->number;
        return n >= 0 && n < v->count && v->bindings[n].variable == variable ? &v->bindings[n]
                                                                             : NULL;
}

static struct lane_binding *bind(struct vectorizer *v, struct loop_variable *variable, bool inside)
{
        ARENA_GROW(v->arena, v->bindings, v->count);
        v->bindings[v->count] = (struct lane_binding){ .variable = variable, .inside = inside };
        variable->number = v->count;
        return &v->bindings[v->count++];
}

static void declare(struct loop_stmt *s, void *context)
{
        if (s->kind == STMT_FOR || s->kind == STMT_LET || s->kind == STMT_VAR)
                bind(context, s->variable, true);
}

static bool varies(const struct vectorizer *v, const struct loop_expr *e)
{
        if (e->variable) {
                const struct lane_binding *b = lane_binding_of(v, e->variable);
                if (b && b->varies)
                        return true;
        }
        for (int i = 0; i < e->arity; i++)
                if (e->args[i] && varies(v, e->args[i]))
                        return true;
        return false;
}

static bool mark(struct vectorizer *v, const struct loop_variable *variable, bool it_varies)
{
        struct lane_binding *b = lane_binding_of(v, variable);
        bool news = it_varies && b && !b->varies;
        if (news)
                b->varies = true;
        return news;
}

/* Goes over the statements once; under: a condition around them varies. Returns true when it found
 * something new. */
static bool mark_block(struct vectorizer *v, const struct loop_block *block, bool under)
{
        bool news = false;
        for (const struct loop_stmt *s = block->first; s; s = s->next) {
                if (s->kind == STMT_LET || s->kind == STMT_VAR)
                        news |= mark(v, s->variable, s->a && varies(v, s->a));
                else if (s->kind == STMT_SET)
                        news |= mark(v, s->variable, under || varies(v, s->a));
                bool condition = (s->kind == STMT_IF && varies(v, s->a)) ||
                                 (s->kind == STMT_FOR && (varies(v, s->a) || varies(v, s->b)));
                if (s->body)
                        news |= mark_block(v, s->body, under || condition);
                if (s->other)
                        news |= mark_block(v, s->other, under || condition);
        }
        return news;
}

/* ---- what must stay in order ----
 *
 * The scalar code does all for one lane, then all for the next; vectors do each thing for all
 * lanes. Both give the same result when no lane reads or writes what another one writes: every
 * buffer that is stored to has one subscript wherever it, or a buffer that may overlap it, is
 * touched (that subscript moves with the lane: see the store); or all its subscripts are the lane
 * plus multiples of a number that is at least the number of lanes. */

struct touches {
        const struct vector_request *request;
        const struct loop_buffer **buffers;       /* The body stores to these buffers. */
        const struct loop_expr **subscripts;
        size_t count;
        struct arena *arena;
        bool good;
};

static bool may_be_one(const struct loop_buffer *a, const struct loop_buffer *b)
{
        bool parameters = a->space == SPACE_PARAMETER && b->space == SPACE_PARAMETER;
        return a == b || (parameters && a->alias_class > 0 && a->alias_class == b->alias_class);
}

/* Splits e into factor * lane + a multiple of *multiple (0: nothing is added). */
static bool split_lane(const struct vector_request *request, const struct loop_expr *e,
                       int64_t *factor, int64_t *multiple)
{
        int64_t f[2], m[2], number;
        *factor = e->op == LOOP_VARIABLE && e->variable == request->lane;
        *multiple = 0;
        switch (e->op) {
        case LOOP_VARIABLE:
                if (!*factor)
                        *multiple = loop_bounds_of(request->bounds, e).multiple;
                return e->variable->kind == VARIABLE_LOOP ||
                       e->variable->kind == VARIABLE_PARAMETER;
        case LOOP_LITERAL:
                return loop_is_int(e, multiple);
        case LOOP_ADD:
                if (!split_lane(request, e->args[0], &f[0], &m[0]) ||
                    !split_lane(request, e->args[1], &f[1], &m[1]))
                        return false;
                *factor = f[0] + f[1];
                *multiple = common_divisor(m[0], m[1]);
                return true;
        case LOOP_MUL:
                if (!split_lane(request, e->args[0], &f[0], &m[0]))
                        return false;
                if (!loop_is_int(e->args[1], &number))
                        return split_lane(request, e->args[1], &f[1], &m[1]) && !f[0] && !f[1] &&
                               !__builtin_mul_overflow(m[0], m[1], multiple);
                return !__builtin_mul_overflow(f[0], number, factor) &&
                       !__builtin_mul_overflow(m[0], number, multiple);
        default:
                return false;
        }
}

static int active_lanes(const struct vector_request *request)
{
        return request->active ? request->active : request->lanes;
}

/* Do two lanes never meet at this subscript? */
static bool is_apart(const struct vector_request *request, const struct loop_expr *subscript,
                     int64_t *multiple)
{
        int64_t factor;
        return request->lane && split_lane(request, subscript, &factor, multiple) && factor == 1 &&
               (*multiple == 0 || *multiple >= active_lanes(request));
}

static void note_touch(struct touches *t, const struct loop_buffer *b,
                       const struct loop_expr *subscript)
{
        int64_t m[2];
        for (size_t i = 0; i < t->count && t->good; i++)
                if (may_be_one(t->buffers[i], b) && !loop_expr_same(t->subscripts[i], subscript))
                        t->good = is_apart(t->request, t->subscripts[i], &m[0]) &&
                                  is_apart(t->request, subscript, &m[1]) &&
                                  ((!m[0] && !m[1]) ||
                                   common_divisor(m[0], m[1]) >= active_lanes(t->request));
}

static void touch_store(struct loop_stmt *s, void *context)
{
        struct touches *t = context;
        if (s->kind != STMT_STORE)
                return;
        note_touch(t, s->buffer, s->a);
        ARENA_GROW(t->arena, t->buffers, t->count);
        ARENA_GROW(t->arena, t->subscripts, t->count);
        t->buffers[t->count] = s->buffer;
        t->subscripts[t->count++] = s->a;
}

static void touch_load(struct loop_expr *e, void *context)
{
        if (e->op == LOOP_LOAD)
                note_touch(context, e->buffer, e->args[0]);
}

static bool lanes_are_apart(const struct vector_request *request, struct loop_block *body)
{
        struct touches t = { .request = request, .arena = request->arena, .good = true };
        loop_block_walk(body, touch_store, NULL, &t);
        loop_block_walk(body, NULL, touch_load, &t);
        return t.good;
}

/* ---- statements ---- */

static bool write_block(struct vectorizer *v, const struct loop_block *block);

static struct loop_stmt *append(struct vectorizer *v, const struct loop_stmt *like)
{
        struct loop_stmt *s = loop_append(v->arena, v->out, like->kind);
        s->step = like->step;
        s->for_kind = like->for_kind;
        s->row = like->row;
        s->column = like->column;
        s->streaming = like->streaming;
        s->code = like->code;
        s->buffer = like->buffer;
        return s;
}

static struct loop_variable *twin(struct vectorizer *v, const struct loop_variable *variable,
                                  struct loop_type type)
{
        struct loop_variable *new =
                loop_variable_new(v->arena, variable->name, type, variable->kind);
        new->rows = variable->rows;
        new->columns = variable->columns;
        return new;
}

static void know(struct vectorizer *v, const struct loop_variable *variable,
                 struct loop_range range)
{
        if (v->request->bounds && loop_type_same(variable->type, LOOP_TYPE(E_INDEX)))
                loop_bounds_set(v->request->bounds, variable, range);
}

static bool write_let(struct vectorizer *v, const struct loop_stmt *s)
{
        struct lane_value value = lane_expr(v, s->a);
        bool variable = value.e->op == LOOP_VARIABLE && value.e->variable->kind != VARIABLE_VAR;
        bool leaf = variable || value.e->op == LOOP_LITERAL;
        bool subscripts = value.e->type.lanes > 1 && value.e->op == LOOP_CAST &&
                          value.e->type.element == E_INDEX;
        if (subscripts)                 /* Subscripts stay in the type that they were computed
                                         * in. */
                value.e = value.e->args[0];
        if (!leaf) {
                struct loop_stmt *let = append(v, s);
                let->variable = twin(v, s->variable, value.e->type);
                let->a = value.e;
                know(v, let->variable, loop_bounds_of(v->request->bounds, value.e));
                value.e = loop_use(v->arena, let->variable);
        }
        if (subscripts)
                value.e = loop_cast(v->arena, E_INDEX, value.e);
        lane_binding_of(v, s->variable)->value = value;
        return !v->failed;
}

static bool write_var(struct vectorizer *v, const struct loop_stmt *s)
{
        struct lane_binding *b = lane_binding_of(v, s->variable);
        struct loop_type type = s->variable->type;
        struct loop_expr *initial = NULL;
        if (type.lanes != 1)
                return lane_refuse(v);
        if (s->a)
                initial = b->varies ? lane_vector(v, lane_expr(v, s->a)) : lane_expr(v, s->a).e;
        struct loop_stmt *var = append(v, s);
        var->variable = twin(v, s->variable,
                             LOOP_VECTOR(type.element, b->varies ? v->lanes : 1));
        var->a = initial;
        b->value = (struct lane_value){ .e = loop_use(v->arena, var->variable) };
        return !v->failed;
}

static bool write_set(struct vectorizer *v, const struct loop_stmt *s)
{
        const struct lane_binding *b = lane_binding_of(v, s->variable);
        struct loop_expr *old = b ? b->value.e : NULL;
        if (!old || (old->op != LOOP_VARIABLE && old->op != LOOP_TILE_ENTRY) || b->value.step)
                return lane_refuse(v);
        struct lane_value value = lane_expr(v, s->a);
        bool vector = old->type.lanes > 1;
        if (!vector && (!is_uniform(value) || v->conditional))
                return lane_refuse(v);
        struct loop_stmt *set = loop_append(v->arena, v->out, STMT_SET);
        set->variable = old->variable;
        set->row = s->variable->rows ? s->row : (int)old->literal.i;
        set->column = s->variable->rows ? s->column : old->column;
        set->a = vector ? lane_vector(v, value) : value.e;
        /* Lanes that are not active keep their value. */
        if (v->conditional || (v->mask && !b->inside)) {
                struct loop_expr *before = loop_expr_copy(v->arena, old);
                if (s->variable->rows)
                        before = loop_tile_entry(v->arena, old->variable, s->row, s->column);
                set->a = loop_op(v->arena, LOOP_SELECT, loop_expr_copy(v->arena, v->mask), set->a,
                                 before);
        }
        return !v->failed;
}

static bool write_store(struct vectorizer *v, const struct loop_stmt *s)
{
        struct lane_value index = lane_expr(v, s->a), value = lane_expr(v, s->b);
        bool contiguous = index.e->type.lanes == 1 && index.step == 1;
        if (s->c || (v->lanes > 1 && (is_uniform(index) || (!contiguous && !v->request->scatters))))
                return lane_refuse(v);
        struct loop_expr *stored = v->lanes > 1 ? lane_vector(v, value) : value.e;
        struct loop_stmt *store = append(v, s);
        store->a = v->lanes > 1 ? lane_subscript(v, index) : index.e;
        store->b = stored;
        store->c = loop_expr_copy(v->arena, v->mask);
        return !v->failed;
}

/* Is e the same when it is computed again, because nothing in it may be set in between? */
static bool is_lasting(const struct loop_expr *e)
{
        bool variable = e->op == LOOP_VARIABLE && e->variable->kind == VARIABLE_VAR;
        if (variable || e->op == LOOP_LOAD || e->op == LOOP_TILE_ENTRY)
                return false;
        for (int i = 0; i < e->arity; i++)
                if (!is_lasting(e->args[i]))
                        return false;
        return true;
}

/* Which lanes take part in a loop that begins or ends at different iterations in them. All do
 * between the two numbers. */
struct taking_part { struct loop_expr *begun, *going; int64_t all_from, all_to; };

/* Makes one short loop for all lanes, in which each takes part in its own iterations. Returns false
 * if that is too long. */
static bool join_bounds(struct vectorizer *v, const struct loop_stmt *s, struct lane_value *from,
                        struct lane_value *to, struct taking_part *part)
{
        struct loop_range a = loop_bounds_of(v->request->bounds, s->a),
                          b = loop_bounds_of(v->request->bounds, s->b);
        bool known = a.low > INT64_MIN && b.high < INT64_MAX &&
                     a.low >= b.high - VECTOR_JOINED_MAX && a.low < b.high;
        if (!known || s->step != 1 || !is_lasting(s->a) || !is_lasting(s->b))
                return false;
        part->all_from = a.high;
        part->all_to = b.low;
        if (!is_uniform(*from)) {
                part->begun =
                        loop_op(v->arena, LOOP_GE, loop_use(v->arena, s->variable), s->a, NULL);
                from->e = loop_index(v->arena, a.low);
        }
        if (!is_uniform(*to)) {
                part->going =
                        loop_op(v->arena, LOOP_LT, loop_use(v->arena, s->variable), s->b, NULL);
                to->e = loop_index(v->arena, b.high);
        }
        return true;
}

/* Restricts the lanes to those for which this condition holds (NULL: it does); *none: it is known
 * to hold for none of them. */
static bool restrict_lanes(struct vectorizer *v, const struct loop_expr *condition, bool *none)
{
        if (!condition)
                return true;
        struct lane_value value = lane_expr(v, condition);
        if (is_uniform(value) && value.e->op == LOOP_LITERAL) {
                *none |= !value.e->literal.u;
                return !v->failed;
        }
        if (is_uniform(value))          /* The value is not known as a vector. */
                return lane_refuse(v);
        lane_mask(v, value.e, true);
        return v->conditional = true;
}

/* Writes the body once, at this value of the counter. */
static bool write_round(struct vectorizer *v, const struct loop_stmt *s, struct loop_expr *counter,
                        const struct taking_part *part)
{
        struct loop_expr *mask = v->mask;
        bool conditional = v->conditional;
        int64_t at;
        bool known = loop_is_int(counter, &at), none = false;
        lane_binding_of(v, s->variable)->value = (struct lane_value){ .e = counter };
        bool good = restrict_lanes(v, known && at >= part->all_from ? NULL : part->begun, &none) &&
                    restrict_lanes(v, known && at < part->all_to ? NULL : part->going, &none) &&
                    (none || write_block(v, s->body));
        v->mask = mask;
        v->conditional = conditional;
        return good;
}

/* Is the loop a few iterations of a few statements? They are written one after the other, as for
 * windows. */
static bool is_short(const struct loop_stmt *s, const struct loop_expr *a,
                     const struct loop_expr *b, int64_t *from, int64_t *to)
{
        enum { ROUNDS = 5, STATEMENTS = 4 };
        int statements = 0;
        if (!loop_is_int(a, from) || !loop_is_int(b, to) || s->step != 1 ||
            s->for_kind != FOR_SERIAL || *to - *from > ROUNDS)
                return false;
        for (const struct loop_stmt *t = s->body->first; t; t = t->next)
                if (t->body || ++statements > STATEMENTS)
                        return false;
        return true;
}

static bool write_for(struct vectorizer *v, const struct loop_stmt *s)
{
        struct lane_value from = lane_expr(v, s->a), to = lane_expr(v, s->b);
        struct loop_block *outer = v->out;
        struct taking_part part = { 0 };
        int64_t first, last;
        if (v->failed)
                return false;
        if ((!is_uniform(from) || !is_uniform(to)) && !join_bounds(v, s, &from, &to, &part))
                return lane_refuse(v);
        if (v->lanes > 1 && is_short(s, from.e, to.e, &first, &last)) {
                for (; first < last; first++)
                        if (!write_round(v, s, loop_index(v->arena, first), &part))
                                return false;
                return true;
        }
        struct loop_stmt *loop = append(v, s);
        loop->a = from.e;
        loop->b = to.e;
        loop->variable = twin(v, s->variable, s->variable->type);
        know(v, loop->variable, loop_bounds_for(v->request->bounds, from.e, to.e, s->step));
        v->out = loop->body;
        bool good = write_round(v, s, loop_use(v->arena, loop->variable), &part);
        v->out = outer;
        return good;
}

static bool write_while(struct vectorizer *v, const struct loop_stmt *s)
{
        struct loop_block *outer = v->out;
        v->pinned = true;
        struct lane_value condition = lane_expr(v, s->a);
        v->pinned = false;
        if (!is_uniform(condition) || v->conditional)   /* The loop might not end where no lane is
                                                         * active. */
                return lane_refuse(v);
        struct loop_stmt *loop = append(v, s);
        loop->a = condition.e;
        v->out = loop->body;
        bool good = write_block(v, s->body);
        v->out = outer;
        return good;
}

/* Writes an if whose condition is the same in all lanes. */
static bool write_branch(struct vectorizer *v, const struct loop_stmt *s,
                         struct loop_expr *condition)
{
        struct loop_block *outer = v->out;
        struct loop_stmt *branch = append(v, s);
        branch->a = condition;
        v->out = branch->body;
        bool good = write_block(v, s->body);
        if (good && s->other) {
                v->out = branch->other = loop_block_new(v->arena);
                good = write_block(v, s->other);
        }
        v->out = outer;
        return good;
}

/* Writes both sides one after the other, each for the lanes that take it. */
static bool write_both(struct vectorizer *v, const struct loop_stmt *s, struct loop_expr *condition)
{
        bool conditional = v->conditional, good = true;
        for (int k = 0; good && k < (s->other ? 2 : 1); k++) {
                struct loop_expr *outer = lane_mask(v, condition, !k);
                v->conditional = true;
                good = write_block(v, k ? s->other : s->body);
                v->mask = outer;
                v->conditional = conditional;
        }
        return good;
}

static bool write_if(struct vectorizer *v, const struct loop_stmt *s)
{
        struct lane_value condition = lane_expr(v, s->a);
        if (v->failed)
                return false;
        /* The condition is that of the iterations behind the last whole vector. */
        if (is_uniform(condition) && condition.e->op == LOOP_LITERAL) {
                const struct loop_block *taken = condition.e->literal.u ? s->body : s->other;
                return !taken || write_block(v, taken);
        }
        if (is_uniform(condition))
                return write_branch(v, s, condition.e);
        /* A variable that the first side sets may be part of the condition. */
        return write_both(v, s, s->other ? lane_named(v, "chosen", condition.e) : condition.e);
}

static bool write_stmt(struct vectorizer *v, const struct loop_stmt *s)
{
        switch (s->kind) {
        case STMT_FOR: return write_for(v, s);
        case STMT_WHILE: return write_while(v, s);
        case STMT_IF: return write_if(v, s);
        case STMT_LET: return write_let(v, s);
        case STMT_VAR: return write_var(v, s);
        case STMT_SET: return write_set(v, s);
        case STMT_STORE: return write_store(v, s);
        case STMT_FAIL:
                append(v, s);
                return !v->conditional || lane_refuse(v);
        case STMT_PREFETCH: case STMT_KEEP: return true;
        default: return lane_refuse(v);
        }
}

static bool write_block(struct vectorizer *v, const struct loop_block *block)
{
        for (const struct loop_stmt *s = block->first; s; s = s->next)
                if (!write_stmt(v, s))
                        return false;
        return !v->failed;
}

/* ---- all ---- */

bool vector_block(const struct vector_request *request, const struct loop_block *body,
                  struct loop_block *out)
{
        struct vectorizer v = { .request = request,
                                .arena = request->arena,
                                .lanes = request->lanes,
                                .out = out,
                                .mask = request->mask };
        struct loop_block block = *body;
        if (!lanes_are_apart(request, &block))
                return false;
        if (request->lane) {
                struct lane_binding *lane =
                        bind(&v, (struct loop_variable *)(uintptr_t)request->lane, false);
                lane->varies = v.lanes > 1;
                lane->value = (struct lane_value){ request->base, v.lanes > 1 };
        }
        for (int i = 0; i < request->substitution_count; i++) {
                const struct vector_substitution *s = &request->substitutions[i];
                struct lane_binding *b =
                        bind(&v, (struct loop_variable *)(uintptr_t)s->variable, false);
                b->varies = s->value->type.lanes > 1;
                b->value = (struct lane_value){ .e = s->value };
        }
        loop_block_walk(&block, declare, NULL, &v);
        while (mark_block(&v, &block, false))
                ;
        return write_block(&v, &block);
}

/* ---- squares ----
 *
 * Interleaving the first half of the rows with the second moves the highest bit of the column's
 * number to the end of the row's, and that of the row's to the end of the column's: after as many
 * rounds as there are bits they have changed places. */

static struct loop_expr *let(struct arena *arena, struct loop_block *out, const char *name,
                             struct loop_expr *e)
{
        struct loop_stmt *s = loop_append(arena, out, STMT_LET);
        s->variable = loop_variable_new(arena, name, e->type, VARIABLE_LET);
        s->a = e;
        return loop_use(arena, s->variable);
}

void vector_transpose(struct arena *arena, struct loop_expr **rows, int count,
                      struct loop_block *out)
{
        struct loop_expr *next[LANES_MAX];
        for (int i = 0; i < count; i++)
                rows[i] = let(arena, out, "row", rows[i]);
        for (int round = 1; round < count; round *= 2) {
                for (int i = 0; i < count; i++) {
                        enum loop_opcode op = i % 2 ? LOOP_INTERLEAVE_HIGH : LOOP_INTERLEAVE_LOW;
                        struct loop_expr *a = rows[i / 2], *b = rows[(i + count) / 2];
                        next[i] = let(arena, out, "mixed",
                                      loop_op(arena, op, loop_expr_copy(arena, a),
                                              loop_expr_copy(arena, b), NULL));
                }
                for (int i = 0; i < count; i++)
                        rows[i] = next[i];
        }
}

/* ---- names ---- */

struct renaming { struct arena *arena; struct map *taken; };

static const char *free_name(struct renaming *r, const char *name)
{
        enum { NAME_MAX_LENGTH = 31 };
        size_t length = strlen(name);
        if (!map_get(r->taken, name, length))
                return name;
        while (length > 1 && name[length - 1] >= '0' && name[length - 1] <= '9')
                length--;
        length = length < NAME_MAX_LENGTH - 6 ? length : NAME_MAX_LENGTH - 6;
        for (int n = 2;; n++) {
                const char *other = arena_printf(r->arena, "%.*s%d", (int)length, name, n);
                if (!map_get(r->taken, other, strlen(other)))
                        return other;
        }
}

static void rename_declared(struct loop_stmt *s, void *context)
{
        struct renaming *r = context;
        bool buffer = s->kind == STMT_ALLOC;
        if (!buffer && s->kind != STMT_FOR && s->kind != STMT_LET && s->kind != STMT_VAR)
                return;
        const char **name = buffer ? &s->buffer->name : &s->variable->name;
        *name = free_name(r, *name);
        map_set(r->taken, *name, strlen(*name), s);
}

void loop_function_rename(struct arena *arena, struct loop_function *f)
{
        struct renaming r = { arena, map_new(arena) };
        for (int i = 0; i < f->buffer_count; i++)
                map_set(r.taken, f->buffers[i]->name, strlen(f->buffers[i]->name), f);
        for (int i = 0; i < f->scalar_count; i++)
                map_set(r.taken, f->scalars[i]->name, strlen(f->scalars[i]->name), f);
        loop_block_walk(f->body, rename_declared, NULL, &r);
}
