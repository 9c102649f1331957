/* SPDX-License-Identifier: MIT */
/* Lowering, the elements of values. emit_element is the heart: a value computed in this kernel is
 * written out by its element function where it is read, any other is loaded. An element that is
 * read several times, or is computed outside of a loop around its reader, has a name. */
#include <string.h>

#include "ir/lower/lower_emit.h"

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
        bool large = local->inside && expr_size(x, EMIT_INLINE_MAX + 1) > EMIT_INLINE_MAX;
        if (!known && (local->uses > 1 || hoisted || large) && x->op != LOOP_LITERAL) {
                const char *name = "v";
                if (local->parameter)
                        name = arena_printf(e->arena, "%si", local->parameter->name);
                struct loop_variable *variable = emit_let(e, name, x)->variable;
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
