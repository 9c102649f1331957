/* SPDX-License-Identifier: MIT */
/* Lowering, the context of one kernel: it holds open blocks, names and statements; elements of
 * values are in lower_elements.c.
 *
 *      for i0 { ...            scopes: kernel <- for i0 <- for i1; each has a block that grows
 *        let v = ...           an element that does not depend on i1 is computed here, once
 *        for i1 { ...          joins the block of i0 when it closes, so after v */
#include <string.h>

#include "ir/loop/loop_bounds.h"
#include "ir/lower/lower_emit.h"

/* ---- names ---- */

struct name {
        const char *text;
        int last;                       /* This number was tried last for this stem. */
        struct name *next;
};

static struct name *find_name(struct emit *e, const char *text, struct name ***bucket)
{
        size_t count = sizeof e->names / sizeof *e->names;
        *bucket = &e->names[text_hash(text, strlen(text)) % count];
        for (struct name *n = **bucket; n; n = n->next)
                if (!strcmp(n->text, text))
                        return n;
        return NULL;
}

/* Returns the stem with a number behind it; a long stem is cut, so that this is an identifier. */
static const char *numbered(struct emit *e, const char *stem, int number)
{
        enum { DIGITS = 10, CUT = TEXT_IDENTIFIER_MAX - 1 - DIGITS };
        const bool digit = strchr("0123456789", stem[strlen(stem) - 1]);
        const char *text = arena_printf(e->arena, digit ? "%s_%d" : "%s%d", stem, number);
        return strlen(text) <= TEXT_IDENTIFIER_MAX
                       ? text
                       : arena_printf(e->arena, "%.*s_%d", CUT, stem, number);
}

/* Returns the stem, perhaps with a number behind it; names such as i386 and j0 are C's. */
const char *emit_name(struct emit *e, const char *stem)
{
        struct name **bucket, *first = find_name(e, stem, &bucket), *taken = first;
        const char *text = stem;
        while (taken) {
                first->last = first->last ? first->last + 1 : 2;
                text = numbered(e, stem, first->last);
                taken = text_is_identifier(text) ? find_name(e, text, &bucket) : first;
        }
        struct name *n = ARENA_NEW(e->arena, struct name);
        n->text = text;
        n->next = *bucket;
        *bucket = n;
        return text;
}

/* ---- values ---- */

struct local *emit_local(struct emit *e, const struct value *v)
{
        size_t at = ((uintptr_t)v >> 4) * (size_t)0x9e3779b1;
        for (;; at++) {
                struct local **slot = &e->locals[at & (e->local_room - 1)];
                if (!*slot) {
                        *slot = ARENA_NEW(e->arena, struct local);
                        (*slot)->value = v;
                }
                if ((*slot)->value == v)
                        return *slot;
        }
}

void **emit_state(struct emit *e, const struct op *op)
{
        return &emit_local(e, &op->results[0])->state;
}

void emit_error(struct emit *e, enum exit_code code, const char *what)
{
        if (!e->failed)
                diag_error(e->diag, code, "%s: %s", e->described, what);
        e->failed = true;
}

void emit_too_large(struct emit *e)
{
        if (!e->too_large)
                emit_error(e, EXIT_UNSUPPORTED, "this fusion computes too much in one kernel");
        else if (!e->failed)
                *e->too_large = true;
        e->failed = true;
}

struct arena *emit_arena(struct emit *e) { return e->arena; }

/* ---- scopes ---- */

static struct scope *open_scope(struct emit *e, enum scope_kind kind, struct loop_block *block,
                                struct loop_stmt *stmt)
{
        struct scope *s = ARENA_NEW(e->arena, struct scope);
        s->parent = e->scope;
        s->kind = kind;
        s->depth = e->scope ? e->scope->depth + 1 : 0;
        s->block = block;
        s->stmt = stmt;
        if (s->depth > EMIT_SCOPE_MAX)
                emit_too_large(e);
        return e->scope = s;
}

static struct loop_stmt *new_stmt(struct emit *e, enum loop_stmt_kind kind)
{
        struct loop_stmt *s = ARENA_NEW(e->arena, struct loop_stmt);
        s->kind = kind;
        s->step = 1;
        return s;
}

static struct loop_stmt *append(struct loop_block *block, struct loop_stmt *s)
{
        *block->end = s;
        block->end = &s->next;
        return s;
}

void emit_start(struct emit *e)
{
        e->outermost = open_scope(e, SCOPE_KERNEL, e->kernel->body, NULL);
}

struct scope *emit_prologue(struct emit *e)
{
        struct scope *saved = e->scope;
        e->scope = e->outermost;
        return saved;
}

void emit_resume(struct emit *e, struct scope *scope) { e->scope = scope; }

/* Returns the depth of the innermost scope whose variables x mentions. */
static int expr_depth(const struct loop_expr *x)
{
        int depth = x->op == LOOP_VARIABLE ? x->variable->number : 0;
        for (int i = 0; i < x->arity; i++) {
                int d = x->args[i] ? expr_depth(x->args[i]) : 0;
                if (d > depth)
                        depth = d;
        }
        return depth;
}

/* Goes outward from here to the scope of that depth, but only out of loops that run at least once:
 * elsewhere the statements might be out of range. */
static struct scope *hoist_scope(const struct emit *e, int depth)
{
        struct scope *s = e->scope;
        while (s->depth > depth && s->kind == SCOPE_FOR && s->certain)
                s = s->parent;
        return s;
}

struct scope *emit_outward(struct emit *e, int rank, struct loop_expr *const *index)
{
        struct scope *saved = e->scope;
        int depth = 0;
        for (int d = 0; d < rank; d++)
                depth = expr_depth(index[d]) > depth ? expr_depth(index[d]) : depth;
        e->scope = hoist_scope(e, depth);
        return saved;
}

/* Can a variable of that scope be used here? Scopes beside this one may be open, too
 * (emit_outward). */
bool emit_sees(const struct emit *e, const struct scope *scope)
{
        const struct scope *s = e->scope;
        while (s->depth > scope->depth)
                s = s->parent;
        return s == scope;
}

/* ---- statements ---- */

static bool emit_is_leaf(const struct loop_expr *x)
{
        return x->op == LOOP_LITERAL || x->op == LOOP_VARIABLE;
}

static struct loop_variable *new_variable(struct emit *e, const char *stem, struct loop_type type,
                                          int kind)
{
        struct loop_variable *v = ARENA_NEW(e->arena, struct loop_variable);
        v->name = emit_name(e, stem);
        v->type = type;
        v->kind = kind;
        v->number = e->scope->depth;
        return v;
}

static struct loop_variable *bind(struct emit *e, const char *name, struct loop_expr *value)
{
        struct loop_stmt *s = append(e->scope->block, new_stmt(e, STMT_LET));
        s->variable = new_variable(e, name, value->type, VARIABLE_LET);
        s->a = value;
        return s->variable;
}

struct loop_expr *emit_let(struct emit *e, const char *name, struct loop_expr *value)
{
        return emit_is_leaf(value) ? value : loop_use(e->arena, bind(e, name, value));
}

struct loop_expr *emit_let_early(struct emit *e, const char *name, struct loop_expr *value)
{
        struct scope *saved = e->scope;
        int depth = expr_depth(value);
        while (e->scope->depth > depth)         /* The scope goes out of conditions, too: index
                                                 * arithmetic is total. */
                e->scope = e->scope->parent;
        value = emit_let(e, name, value);
        e->scope = saved;
        return value;
}

struct loop_variable *emit_var(struct emit *e, const char *name, struct loop_type type,
                               struct loop_expr *initial)
{
        struct loop_stmt *s = append(e->scope->block, new_stmt(e, STMT_VAR));
        s->variable = new_variable(e, name, type, VARIABLE_VAR);
        s->a = initial;
        return s->variable;
}

void emit_set(struct emit *e, struct loop_variable *v, struct loop_expr *value)
{
        if (value && value->op == LOOP_VARIABLE && value->variable == v)
                return;                 /* Nothing was added: it is a product of integers with 0. */
        struct loop_stmt *s = append(e->scope->block, new_stmt(e, STMT_SET));
        s->variable = v;
        s->a = value;
}

void emit_store(struct emit *e, struct loop_buffer *buffer, struct loop_expr *position,
                struct loop_expr *value)
{
        struct loop_stmt *s = append(e->scope->block, new_stmt(e, STMT_STORE));
        s->buffer = buffer;
        s->a = position;
        s->b = value;
}

void emit_copy(struct emit *e, struct loop_buffer *to, struct loop_expr *at,
               struct loop_buffer *from, struct loop_expr *place, struct loop_expr *there,
               int elements)
{
        struct loop_stmt *s = append(e->scope->block, new_stmt(e, STMT_COPY));
        s->buffer = to;
        s->a = at;
        s->source = from;
        s->b = place;
        s->c = there;
        s->code = elements;
}

void emit_image(struct emit *e, struct loop_buffer *to, const struct loop_expr *load,
                struct loop_expr *bytes, int pixels, int rows, int columns)
{
        struct loop_stmt *s = append(e->scope->block, new_stmt(e, STMT_IMAGE));
        s->buffer = to;
        s->a = emit_int(e, 0);
        s->source = load->buffer;
        s->b = load->args[0];
        s->c = bytes;
        s->code = pixels;
        s->row = rows;
        s->column = columns;
}

struct loop_expr *emit_for(struct emit *e, const char *name, struct loop_expr *from,
                           struct loop_expr *to)
{
        int64_t a, b;
        bool known = loop_is_int(from, &a) && loop_is_int(to, &b);
        bool certain = known ? b > a
                             : loop_bounds_of(e->bounds, to).low >
                                       loop_bounds_of(e->bounds, from).high;
        if (known && b == a + 1) {
                open_scope(e, SCOPE_FOR, e->scope->block, NULL)->certain = true;
                return from;
        }
        struct loop_stmt *s = new_stmt(e, STMT_FOR);
        s->body = loop_block_new(e->arena);
        s->a = from;
        s->b = to;
        open_scope(e, SCOPE_FOR, s->body, known && b <= a ? NULL : s)->certain = certain;
        s->variable = new_variable(e, name, LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        return loop_use(e->arena, s->variable);
}

struct loop_expr *emit_grid(struct emit *e, const char *name, enum loop_for_kind kind,
                            int64_t count)
{
        return emit_grid_open(e, name, kind, emit_int(e, count));
}

struct loop_expr *emit_grid_open(struct emit *e, const char *name, enum loop_for_kind kind,
                                 struct loop_expr *count)
{
        struct loop_stmt *s = new_stmt(e, STMT_FOR);
        s->body = loop_block_new(e->arena);
        s->a = emit_int(e, 0);
        s->b = count;
        s->for_kind = kind;
        open_scope(e, SCOPE_FOR, s->body, s)->certain = true;
        s->variable = new_variable(e, name, LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        return loop_use(e->arena, s->variable);
}

void emit_loop(struct emit *e, int64_t step, bool parallel)
{
        if (!e->scope->stmt)
                return;
        e->scope->stmt->step = step;
        if (parallel)
                e->scope->stmt->for_kind = FOR_PARALLEL;
}

struct loop_block *emit_aside(struct emit *e)
{
        return open_scope(e, SCOPE_ARM, loop_block_new(e->arena), NULL)->block;
}

void emit_if(struct emit *e, struct loop_expr *condition)
{
        struct loop_stmt *s = new_stmt(e, STMT_IF);
        s->body = loop_block_new(e->arena);
        s->a = condition;
        open_scope(e, SCOPE_IF, s->body, s);
}

static void close_scope(struct emit *e)
{
        e->scope->closed = true;
        e->scope = e->scope->parent;
}

void emit_end(struct emit *e)
{
        struct loop_stmt *s = e->scope->stmt;
        close_scope(e);
        if (s)
                append(e->scope->block, s);
}

void emit_fail_if(struct emit *e, struct loop_expr *condition, int code)
{
        bool never = condition->op == LOOP_LITERAL && !condition->literal.u;
        if (e->options->unchecked || never)
                return;
        emit_if(e, condition);
        append(e->scope->block, new_stmt(e, STMT_FAIL))->code = code;
        emit_end(e);
}

struct loop_expr *emit_choose(struct emit *e, struct loop_expr *condition, emit_arm arm,
                              void *context)
{
        if (condition->op == LOOP_LITERAL)
                return arm(e, context, condition->literal.u != 0);
        struct loop_block *blocks[2];
        struct loop_expr *values[2];
        for (int k = 1; k >= 0; k--) {
                blocks[k] = loop_block_new(e->arena);
                open_scope(e, SCOPE_ARM, blocks[k], NULL);
                values[k] = arm(e, context, k);
                close_scope(e);
        }
        if (!blocks[0]->first && !blocks[1]->first)
                return loop_op(e->arena, LOOP_SELECT, condition, values[1], values[0]);
        bool simple = !blocks[0]->first && values[0]->op == LOOP_LITERAL;
        struct loop_variable *v = emit_var(e, "v", values[1]->type, simple ? values[0] : NULL);
        struct loop_stmt *s = append(e->scope->block, new_stmt(e, STMT_IF));
        s->a = condition;
        s->body = blocks[1];
        s->other = simple ? NULL : blocks[0];
        for (int k = simple ? 1 : 0; k < 2; k++) {
                struct loop_stmt *set = append(blocks[k], new_stmt(e, STMT_SET));
                set->variable = v;
                set->a = values[k];
        }
        return loop_use(e->arena, v);
}
