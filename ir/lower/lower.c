/* SPDX-License-Identifier: MIT */
/* Lowering, the context of one kernel: it holds open blocks, names, statements, and the elements of
 * values.
 *
 *      for i0 { ...            scopes: kernel <- for i0 <- for i1; each has a block that grows
 *        let v = ...           an element that does not depend on i1 is computed here, once
 *        for i1 { ...          joins the block of i0 when it closes, so after v
 *
 * emit_element is the heart: a value computed in this kernel is written out by its element function
 * where it is read, any other is loaded. */
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

static void emit_too_large(struct emit *e)
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

/* ---- elements ---- */

/* Can a variable of that scope be used here? Scopes beside this one may be open, too
 * (emit_outward). */
bool emit_sees(const struct emit *e, const struct scope *scope)
{
        const struct scope *s = e->scope;
        while (s->depth > scope->depth)
                s = s->parent;
        return s == scope;
}

static struct loop_variable *find_memo(const struct emit *e, struct local *local, bool computed,
                                       struct loop_expr *const *index)
{
        for (struct memo **at = &local->memos, *m; (m = *at);) {
                if (m->scope->closed) {
                        *at = m->next;
                        continue;
                }
                at = &m->next;
                bool same = m->computed == computed && emit_sees(e, m->scope);
                for (int d = 0; same && d < local->value->type->rank; d++)
                        same = loop_expr_same(m->index[d], index[d]);
                if (same)
                        return m->variable;
        }
        return NULL;
}

static void add_memo(struct emit *e, struct local *local, bool computed,
                     struct loop_expr *const *index, struct loop_variable *variable)
{
        struct memo *m = ARENA_NEW(e->arena, struct memo);
        *m = (struct memo){ .computed = computed, .variable = variable, .scope = e->scope,
                            .next = local->memos };
        m->index = arena_copy(e->arena, index, (size_t)local->value->type->rank * sizeof *index);
        local->memos = m;
}

/* Returns the parameter that v is loaded from; *made: this call has made it. */
static struct loop_buffer *parameter_of(struct emit *e, struct local *local, bool *made)
{
        const struct value *v = local->value;
        *made = !local->parameter;
        if (local->parameter)
                return local->parameter;
        struct loop_buffer *b = local->parameter = ARENA_NEW(e->arena, struct loop_buffer);
        b->name = emit_name(e, local->role ? local->role : "x");
        b->element = element_storage(v->type->element);
        b->extent = type_most_elements(e->m, v->type);
        b->space = SPACE_PARAMETER;
        b->access = ACCESS_IN;
        b->offset = -1;
        int count = e->input_count;
        ARENA_GROW(e->arena, e->inputs, count);
        ARENA_GROW(e->arena, e->parameters, count);
        e->inputs[count] = (struct value *)(uintptr_t)v;
        e->parameters[count] = b;
        e->input_count++;
        return b;
}

struct loop_buffer *emit_parameter(struct emit *e, const struct value *v)
{
        bool made;
        struct local *local = emit_local(e, v);
        local->mixed = local->elsewhere = true;
        return parameter_of(e, local, &made);
}

struct loop_buffer *emit_scratch(struct emit *e, const char *name, enum element element,
                                 int64_t elements)
{
        struct loop_buffer *b = ARENA_NEW(e->arena, struct loop_buffer);
        *b = (struct loop_buffer){ .name = emit_name(e, name),
                                   .element = element,
                                   .extent = elements,
                                   .space = SPACE_PARAMETER,
                                   .access = ACCESS_INOUT,
                                   .offset = -1 };
        ARENA_GROW(e->arena, e->scratch, e->scratch_count);
        e->scratch[e->scratch_count++] = b;
        return b;
}

static struct loop_expr *load(struct emit *e, struct local *local, struct loop_expr *const *index)
{
        const struct value *v = local->value;
        struct loop_expr *position = emit_position(e, v->type->rank, v->type->dims, index);
        int64_t at;
        if (v->kind == VALUE_CONSTANT && loop_is_int(position, &at) && at >= 0 &&
            at < type_elements(v->type))
                return loop_literal(e->arena, LOOP_TYPE(element_storage(v->type->element)),
                                    constant_element(v->constant, at));
        bool made;
        parameter_of(e, local, &made);
        if (made) {
                local->read = position;
                local->nest = e->nest;
        }
        local->mixed =
                local->mixed || local->nest != e->nest || !loop_expr_same(local->read, position);
        return loop_load(e->arena, local->parameter, position);
}

struct overlap { struct emit *e; struct loop_expr *const *at; int count; };

static void mark_overlap(struct loop_expr *x, void *context)
{
        const struct overlap *o = context;
        for (int i = 0; x->op == LOOP_LOAD && i < o->e->input_count; i++) {
                struct local *local = emit_local(o->e, o->e->inputs[i]);
                if (o->e->parameters[i] != x->buffer)
                        continue;
                bool same = false;
                for (int k = 0; k < o->count; k++)
                        same |= loop_expr_same(x->args[0], o->at[k]);
                local->overlaps = same && !local->elsewhere;
                local->elsewhere |= !same;
        }
}

void emit_mark_all_overlaps(struct emit *e, const struct loop_block *block,
                            struct loop_expr *const *at, int count)
{
        struct overlap overlap = { e, at, count };
        loop_block_walk((struct loop_block *)(uintptr_t)block, NULL, mark_overlap, &overlap);
}

void emit_mark_overlaps(struct emit *e, const struct loop_block *block, const struct loop_expr *at)
{
        emit_mark_all_overlaps(e, block, (struct loop_expr *const *)&at, 1);
}

void emit_define(struct emit *e, const struct value *v, struct loop_expr *const *index,
                 struct loop_variable *variable)
{
        add_memo(e, emit_local(e, v), false, index, variable);
}

/* Counts the nodes of x, up to room, without those of subscripts: whether a value gets a name
 * decides how sums of products are rounded, and may not depend on where it lies. */
static int expr_size(const struct loop_expr *x, int room)
{
        int size = x->type.element != E_INDEX;
        for (int i = 0; i < x->arity && size < room; i++)
                if (x->args[i])
                        size += expr_size(x->args[i], room - size);
        return size;
}

struct loop_expr *emit_circular_position(struct emit *e, const struct value *v,
                                         const struct emit_circular *circular,
                                         struct loop_expr *const *index)
{
        const struct type *t = v->type;
        struct loop_expr *at[RANK_MAX];
        dim_t dims[RANK_MAX];
        memcpy(at, index, (size_t)t->rank * sizeof *at);
        memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
        at[0] = emit_int(e, 0);
        dims[0] = dim_of(1);
        dims[circular->rows] = dim_of(circular->kept);
        if (circular->kept < type_extent(t, circular->rows))
                at[circular->rows] = emit_remainder(e, index[circular->rows], circular->kept);
        if (circular->from) {
                at[circular->columns] =
                        emit_op(e, LOOP_SUB, index[circular->columns], circular->from);
                dims[circular->columns] = dim_of(circular->width);
        }
        return emit_position(e, t->rank, dims, at);
}

void emit_read_circular(struct emit *e, const struct value *v, const struct emit_circular *circular)
{
        struct local *local = emit_local(e, v);
        local->inside = false;
        local->circular = circular;
}

static struct loop_expr *write_out(struct emit *e, struct local *local,
                                   struct loop_expr *const *index)
{
        const struct value *v = local->value;
        if (local->circular)
                return loop_load(e->arena, local->circular->buffer,
                                 emit_circular_position(e, v, local->circular, index));
        if (!local->inside)
                return load(e, local, index);
        if (++e->work > EMIT_WORK_MAX || e->depth >= EMIT_DEPTH_MAX)
                emit_too_large(e);
        if (e->failed)
                return emit_number(e, element_storage(v->type->element), 0);
        e->depth++;
        struct loop_expr *x = op_info[v->op->code].element(e, v->op, v->index, index);
        e->depth--;
        return x;
}

static struct loop_expr *placed_element(struct emit *e, const struct local *local,
                                        struct loop_expr *const *index)
{
        return loop_load(e->arena, local->place->buffer,
                         emit_at(e, local->place, local->value->type->rank, index));
}

/* Returns an element of the value that is kept in rows. */
static struct loop_expr *kept_element(struct emit *e, struct local *local,
                                      struct loop_expr *const *index)
{
        struct loop_expr *at[RANK_MAX];
        if (rows_begin(e, index, at))
                rows_end(e, at, write_out(e, local, at));
        return rows_load(e, index);
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

static struct loop_expr *element(struct emit *e, const struct value *v,
                                 struct loop_expr *const *index, bool computed)
{
        enum element stored = element_storage(v->type->element),
                     compute = element_info[stored].compute;
        computed = computed && compute != stored;
        if (v->kind == VALUE_CONSTANT && v->constant->kind == CONSTANT_SPLAT) {
                struct loop_expr *x =
                        loop_literal(e->arena, LOOP_TYPE(stored), constant_element(v->constant, 0));
                return computed ? loop_cast(e->arena, compute, x) : x;
        }
        struct local *local = emit_local(e, v);
        bool moves = local->inside && op_info[v->op->code].traits & TRAIT_FREE;
        struct scope *saved =
                local->inside && !moves ? emit_outward(e, v->type->rank, index) : e->scope;
        bool hoisted = e->scope != saved;
        struct loop_variable *known = local->memos ? find_memo(e, local, computed, index) : NULL;
        struct loop_variable *as_stored =
                !known && computed && local->memos ? find_memo(e, local, false, index) : NULL;
        struct loop_expr *x = known       ? loop_use(e->arena, known)
                            : as_stored ? loop_use(e->arena, as_stored)
                            : local->place ? placed_element(e, local, index)
                            : v == e->rows.kept ? kept_element(e, local, index)
                                                : write_out(e, local, index);
        if (!known && computed)
                x = loop_cast(e->arena, compute, x);
        bool large = !emit_is_leaf(x) && local->inside &&
                     expr_size(x, EMIT_INLINE_MAX + 1) > EMIT_INLINE_MAX;
        if (!known && (local->uses > 1 || hoisted || large) && x->op != LOOP_LITERAL) {
                const char *name = "v";
                if (local->parameter)
                        name = arena_printf(e->arena, "%si", local->parameter->name);
                struct loop_variable *variable =
                        x->op == LOOP_VARIABLE ? x->variable : bind(e, name, x);
                add_memo(e, local, computed, index, variable);
                x = loop_use(e->arena, variable);
        }
        e->scope = saved;
        return x;
}

struct loop_expr *emit_element(struct emit *e, const struct value *v,
                               struct loop_expr *const *index)
{
        return element(e, v, index, false);
}

struct loop_expr *emit_compute(struct emit *e, const struct value *v,
                               struct loop_expr *const *index)
{
        return element(e, v, index, true);
}

/* Returns the f32 that x stands for, the bits of an element that has a decoder. */
static struct loop_expr *decoded(struct emit *e, enum element stored, struct loop_expr *x)
{
        struct loop_function *decode =
                loop_library_find(e->library, element_code(stored)->decoder, E_U32);
        return loop_call(e->arena, decode, (struct loop_expr *[]){ loop_cast(e->arena, E_U32, x) });
}

struct loop_expr *emit_as(struct emit *e, enum element to, const struct value *v,
                          struct loop_expr *const *index)
{
        enum element stored = v->type->element;
        if (element_code(stored))
                return loop_cast(e->arena, to, decoded(e, stored, emit_element(e, v, index)));
        if (element_is_integer(stored) && element_info[stored].compute != to)
                return loop_cast(e->arena, to, emit_element(e, v, index));
        return loop_cast(e->arena, to, emit_compute(e, v, index));
}

/* Returns how often a formula mentions variable c. */
static int mentions(const char *formula, char c)
{
        int count = 0;
        const char *letters = "abcdefghijklmnopqrstuvwxyz0123456789_";
        for (const char *p = formula; *p; p++) {
                size_t length = strspn(p, letters);
                count += length == 1 && *p == c;
                p += length ? length - 1 : 0;
        }
        return count;
}

struct loop_expr *emit_formula(struct emit *e, const char *formula, struct loop_expr *const *args,
                               int count)
{
        struct loop_expr *named[3], *x;
        for (int i = 0; i < count; i++)
                named[i] = mentions(formula, (char)('x' + i)) > 1 ? emit_let(e, "v", args[i])
                                                                  : args[i];
        x = e->failed ? NULL : loop_formula(e->arena, e->library, formula, named, count, e->diag);
        if (x)
                return x;
        e->failed = true;               /* loop_formula has reported it. */
        return args[0];
}
