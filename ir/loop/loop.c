/* SPDX-License-Identifier: MIT */
/* Makes programs, functions, statements and the leaves of expressions of Loop IR, and walks them.
 * loop_fold.c makes operations. */
#include "ir/loop/loop_grid.h"
#include "ir/loop/loop_bounds.h"

#include <stdlib.h>
#include <string.h>

const struct loop_op_info loop_op_info[LOOP_CAST] = {
#define LOOP_OP(name, text, arity, form, precedence, result, doc) \
        { #name, text, arity, FORM_##form, precedence, RESULT_##result, doc },
#include "ir/loop/loop_ops.def"
};

/* ---- programs, functions, statements ---- */

struct loop_program *loop_program_new(struct arena *arena, const char *name,
                                      const struct loop_library *library)
{
        struct loop_program *p = ARENA_NEW(arena, struct loop_program);
        p->arena = arena;
        p->name = arena_string(arena, name);
        p->command = p->within = p->passes_done = "";
        p->buffers_end = &p->buffers;
        p->kernels_end = &p->kernels;
        p->library = library;
        p->names = names_new(arena);
        loop_entry_add(p, "main");
        return p;
}

void loop_entry_reserve(struct names *names)
{
        static const char *const words[] = { "state", "workspace", "weights", "error", "level",
                                             "run",   "describe",  "build",   "abi",   "h" };
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                names_reserve(names, words[i]);
}

struct loop_entry *loop_entry_add(struct loop_program *p, const char *name)
{
        ARENA_GROW(p->arena, p->entries, p->entry_count);
        struct loop_entry *entry = &p->entries[p->entry_count++];
        *entry = (struct loop_entry){ .name = arena_string(p->arena, name),
                                      .main = loop_function_new(p->arena, FUNCTION_MAIN, name) };
        return entry;
}

struct loop_variable *loop_extent_add(struct loop_program *p, const char *name, const char *model,
                                      int64_t low, int64_t high)
{
        struct loop_variable *v = loop_variable_new(
                p->arena, text_identifier(p->names, name, strlen(name), "n"), LOOP_TYPE(E_INDEX),
                VARIABLE_PARAMETER);
        v->low = low;
        v->high = high;
        ARENA_GROW(p->arena, p->extents, p->extent_count);
        p->extents[p->extent_count++] =
                (struct loop_extent){ .variable = v, .name = arena_string(p->arena, model) };
        return v;
}

bool loop_mentions(const struct loop_expr *e, const struct loop_variable *v)
{
        if (e->op == LOOP_VARIABLE && e->variable == v)
                return true;
        for (int i = 0; i < e->arity; i++)
                if (e->args[i] && loop_mentions(e->args[i], v))
                        return true;
        return false;
}

bool loop_extent_is_told(const struct loop_program *p, int i)
{
        if (!p->extents[i].counted)
                return !p->extents[i].kept;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next)
                for (int d = 0; b->extents && d < b->type->rank; d++)
                        if (loop_mentions(b->extents[d], p->extents[i].variable))
                                return true;
        return false;
}

struct mention { const struct loop_variable *variable; bool found; };
static void find_mention(struct loop_expr *e, void *context)
{
        struct mention *m = context;
        m->found |= e->op == LOOP_VARIABLE && e->variable == m->variable;
}

bool loop_extent_is_of(const struct loop_program *p, int i, int entry)
{
        struct mention m = { .variable = p->extents[i].variable };
        if (p->entry_count == 1)
                return true;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next)
                for (int d = 0; b->extents && b->entry == entry && d < b->type->rank; d++)
                        m.found |= b->space != SPACE_STATE &&
                                   loop_mentions(b->extents[d], m.variable);
        if (!m.found && !p->extents[i].counted)
                loop_block_walk(p->entries[entry].main->body, NULL, find_mention, &m);
        return m.found;
}

int loop_extents_told(const struct loop_program *p)
{
        int count = 0;
        for (int i = 0; i < p->extent_count; i++)
                count += loop_extent_is_told(p, i);
        return count;
}

int loop_entry_extents(const struct loop_program *p, int numbers[EXTENTS_MAX])
{
        const int given = loop_given_extents(p);
        int count = 0;
        for (int i = 0; i < p->extent_count; i++)
                if (loop_extent_is_told(p, i) && (i < given || p->extents[i].counted) &&
                    loop_extent_is_of(p, i, p->at))
                        numbers[count++] = i;
        return count;
}

int loop_extent_number(const struct loop_program *p, const struct loop_variable *v)
{
        for (int i = 0; i < p->extent_count; i++)
                if (p->extents[i].variable == v)
                        return i;
        return -1;
}

/* Returns the value of an index expression over the program's extents. */
static int64_t value_of(const struct loop_program *p, const struct loop_expr *e,
                        const int64_t *values)
{
        int64_t args[2] = { 0, 0 };
        for (int i = 0; i < e->arity && i < 2; i++)
                args[i] = value_of(p, e->args[i], values);
        switch (e->op) {
        case LOOP_LITERAL: return e->literal.i;
        case LOOP_ADD: return args[0] + args[1];
        case LOOP_SUB: return args[0] - args[1];
        case LOOP_MUL: return args[0] * args[1];
        case LOOP_DIV: return args[1] ? args[0] / args[1] : 0;
        case LOOP_MIN: return args[0] < args[1] ? args[0] : args[1];
        case LOOP_MAX: return args[0] > args[1] ? args[0] : args[1];
        default: break;
        }
        /* The verifier lets nothing else stand there. */
        const int extent = e->op == LOOP_VARIABLE ? loop_extent_number(p, e->variable) : -1;
        return extent >= 0 ? values[extent] : 0;
}

void loop_extent_next(struct loop_program *p, int entry, int extent, struct loop_expr *next)
{
        struct loop_entry *e = &p->entries[entry];
        if (!e->next)
                e->next = arena_array(p->arena, EXTENTS_MAX, sizeof *e->next);
        e->next[extent] = next;
        p->extents[extent].kept = true;
}

int loop_given_extents(const struct loop_program *p)
{
        int count = 0;
        while (count < p->extent_count && !p->extents[count].kept && !p->extents[count].counted)
                count++;
        return count;
}

int loop_first_kept(const struct loop_program *p)
{
        int first = p->extent_count;
        while (first && p->extents[first - 1].kept)
                first--;
        return first;
}

void loop_next_extents(const struct loop_program *p, const int64_t *values, int64_t *next)
{
        int64_t now[EXTENTS_MAX];       /* Both may be one array. */
        memcpy(now, values, (size_t)p->extent_count * sizeof *now);
        for (int i = 0; i < p->extent_count; i++) {
                const struct loop_expr *e = loop_next_extent(loop_entry_at(p), i);
                next[i] = e ? value_of(p, e, now) : now[i];
        }
}

int64_t loop_port_extent(const struct loop_program *p, const struct loop_buffer *port, int dim,
                         const int64_t *values)
{
        return port->extents ? value_of(p, port->extents[dim], values)
                             : type_extent(port->type, dim);
}

/* Finds the only extent of e that has no value; *count: e has so many, each as often as it stands
 * there. */
static int unknown_in(const struct loop_program *p, const struct loop_expr *e,
                      const int64_t *values, int *count)
{
        int found = -1;
        if (e->op == LOOP_VARIABLE) {
                const int i = loop_extent_number(p, e->variable);
                *count += i >= 0 && values[i] < 0;
                return i >= 0 && values[i] < 0 ? i : -1;
        }
        for (int k = 0; k < e->arity; k++) {
                const int i = unknown_in(p, e->args[k], values, count);
                found = i >= 0 ? i : found;
        }
        return found;
}

int loop_port_tells(const struct loop_program *p, const struct loop_buffer *port, int dim,
                    int64_t extent, const int64_t *values, int64_t *told)
{
        const struct loop_expr *e = port->extents ? port->extents[dim] : NULL;
        int64_t trial[EXTENTS_MAX];
        int count = 0;
        const int i = e ? unknown_in(p, e, values, &count) : -1;
        if (i < 0 || count != 1)
                return -1;
        *told = extent;
        if (e->op == LOOP_VARIABLE)
                return i;
        memcpy(trial, values, (size_t)p->extent_count * sizeof *trial);
        /* Terms do not fall: the least value for which this one is so large, if it is the only
         * one. */
        int64_t low = p->extents[i].variable->low, high = p->extents[i].variable->high;
        const int64_t most = high;
        while (low < high) {
                trial[i] = low + (high - low) / 2;
                if (value_of(p, e, trial) < extent)
                        low = trial[i] + 1;
                else
                        high = trial[i];
        }
        *told = trial[i] = low;
        if (value_of(p, e, trial) != extent)
                return -1;
        trial[i] = low + 1;
        return low == most || value_of(p, e, trial) != extent ? i : -1;
}

int64_t loop_port_elements(const struct loop_program *p, const struct loop_buffer *port,
                           const int64_t *values)
{
        int64_t count = 1;
        if (port->space == SPACE_STATE) /* It is not dense. */
                return port->extent;
        for (int i = 0; port->extents && i < port->type->rank; i++)
                count *= loop_port_extent(p, port, i, values);
        return port->extents ? count : port->extent;
}

struct loop_entry *loop_entry_at(const struct loop_program *p) { return &p->entries[p->at]; }

struct loop_function *loop_main(const struct loop_program *p) { return loop_entry_at(p)->main; }

int64_t loop_workspace_size(const struct loop_program *p)
{
        int64_t size = 0;
        for (int i = 0; i < p->entry_count; i++)
                size = p->entries[i].workspace_size > size ? p->entries[i].workspace_size : size;
        return size;
}

int64_t loop_live_peak(const struct loop_program *p)
{
        int64_t peak = 0;
        for (int i = 0; i < p->entry_count; i++)
                peak = p->entries[i].live_peak > peak ? p->entries[i].live_peak : peak;
        return peak;
}

int64_t loop_state_head(const struct loop_program *p)
{
        return round_up(STATE_WORD * (1 + p->extent_count - loop_first_kept(p)), STATE_ALIGN);
}

int64_t loop_state_offset(const struct loop_program *p, const struct loop_buffer *b)
{
        int64_t offset = loop_state_head(p);
        for (const struct loop_buffer *other = p->buffers; other && other != b; other = other->next)
                if (other->space == SPACE_STATE)
                        offset += round_up(other->extent * element_info[other->element].bytes,
                                           STATE_ALIGN);
        return offset;
}

int64_t loop_state_size(const struct loop_program *p)
{
        const int64_t end = loop_state_offset(p, NULL);
        return end > loop_state_head(p) ? end : 0;
}

const char *loop_shape_text(struct arena *arena, const struct loop_buffer *b)
{
        const char *text = "";
        for (int d = 0; b->type && d < b->type->rank; d++)
                text = arena_printf(arena, "%s%s%lld", text, d ? " x " : "",
                                    (long long)type_extent(b->type, d));
        return text;
}

struct loop_buffer *loop_buffer_add(struct loop_program *p, const char *name, enum element e,
                                    int64_t extent, enum loop_space space)
{
        struct loop_buffer *b = ARENA_NEW(p->arena, struct loop_buffer);
        b->name = text_identifier(p->names, name, strlen(name), "buffer");
        b->element = element_storage(e);
        b->extent = extent;
        b->space = space;
        b->entry = space == SPACE_CONSTANT || space == SPACE_STATE ? 0 : p->at;
        b->offset = -1;
        *p->buffers_end = b;
        p->buffers_end = &b->next;
        return b;
}

struct loop_function *loop_function_new(struct arena *arena, enum loop_function_kind kind,
                                        const char *name)
{
        struct loop_function *f = ARENA_NEW(arena, struct loop_function);
        f->kind = kind;
        f->name = arena_string(arena, name);
        f->body = loop_block_new(arena);
        return f;
}

void loop_kernel_add(struct loop_program *p, struct loop_function *kernel)
{
        kernel->name = text_identifier(p->names, kernel->name, strlen(kernel->name), "kernel");
        *p->kernels_end = kernel;
        p->kernels_end = &kernel->next;
}

struct loop_buffer *loop_parameter_add(struct arena *arena, struct loop_function *f,
                                       const char *name, enum element e, int64_t extent,
                                       enum loop_access access)
{
        struct loop_buffer *b = ARENA_NEW(arena, struct loop_buffer);
        b->name = arena_string(arena, name);
        b->element = element_storage(e);
        b->extent = extent;
        b->space = SPACE_PARAMETER;
        b->access = access;
        b->offset = -1;
        b->number = f->buffer_count;
        ARENA_GROW(arena, f->buffers, f->buffer_count);
        f->buffers[f->buffer_count++] = b;
        return b;
}

struct loop_variable *loop_scalar_add(struct arena *arena, struct loop_function *f,
                                      const char *name, struct loop_type type)
{
        struct loop_variable *v = loop_variable_new(arena, name, type, VARIABLE_PARAMETER);
        ARENA_GROW(arena, f->scalars, f->scalar_count);
        f->scalars[f->scalar_count++] = v;
        return v;
}

bool loop_is_grid(const struct loop_function *f)
{
        const struct loop_stmt *s = f->kind == FUNCTION_KERNEL ? f->body->first : NULL;
        return s && s->kind == STMT_FOR && loop_for_is_phase(s->for_kind);
}

int64_t loop_phase_most(const struct loop_stmt *phase)
{
        return loop_bounds_of(NULL, phase->b).high;
}

struct loop_block *loop_block_new(struct arena *arena)
{
        struct loop_block *block = ARENA_NEW(arena, struct loop_block);
        block->end = &block->first;
        return block;
}

struct loop_stmt *loop_append(struct arena *arena, struct loop_block *block,
                              enum loop_stmt_kind kind)
{
        struct loop_stmt *s = ARENA_NEW(arena, struct loop_stmt);
        s->kind = kind;
        s->step = 1;
        if (kind == STMT_FOR || kind == STMT_WHILE || kind == STMT_IF)
                s->body = loop_block_new(arena);
        *block->end = s;
        block->end = &s->next;
        return s;
}

struct loop_variable *loop_variable_new(struct arena *arena, const char *name,
                                        struct loop_type type, int kind)
{
        struct loop_variable *v = ARENA_NEW(arena, struct loop_variable);
        v->name = arena_string(arena, name);
        v->type = type;
        v->kind = kind;
        return v;
}

const char *loop_call_location(const struct loop_stmt *call)
{
        return call->location ? call->location : call->function->location;
}

void loop_call_locate(struct arena *arena, struct loop_stmt *call, const char *location)
{
        const char *of_kernel = call->function->location;
        bool same = !location || (of_kernel && !strcmp(location, of_kernel));
        call->location = same ? NULL : arena_string(arena, location);
}

struct loop_buffer *loop_buffer_root(struct loop_buffer *b, int64_t *offset)
{
        int64_t sum = 0;
        for (; b->space == SPACE_VIEW; b = b->view_of)
                sum += b->view_offset;
        if (offset)
                *offset = sum;
        return b;
}

/* ---- leaves ---- */

struct loop_expr *loop_node(struct arena *arena, enum loop_opcode op, struct loop_type type,
                            struct loop_expr *a, struct loop_expr *b, struct loop_expr *c)
{
        struct loop_expr *e = ARENA_NEW(arena, struct loop_expr);
        e->op = op;
        e->type = type;
        e->args[0] = a;
        e->args[1] = b;
        e->args[2] = c;
        e->arity = c ? 3 : b ? 2 : a ? 1 : 0;
        return e;
}

struct loop_expr *loop_literal(struct arena *arena, struct loop_type type, union scalar value)
{
        struct loop_expr *e = loop_node(arena, LOOP_LITERAL, type, NULL, NULL, NULL);
        e->literal = value;
        return e;
}

struct loop_expr *loop_int(struct arena *arena, enum element e, int64_t value)
{
        if (element_is_float(e))
                return loop_float(arena, e, (double)value);
        return loop_literal(arena, LOOP_TYPE(e), element_wrap(e, (uint64_t)value));
}

struct loop_expr *loop_index(struct arena *arena, int64_t value)
{
        return loop_literal(arena, LOOP_TYPE(E_INDEX), (union scalar){ .i = value });
}

struct loop_expr *loop_float(struct arena *arena, enum element e, double value)
{
        union scalar rounded = { .f = value };
        if (e != E_F64) {
                uint64_t storage;
                element_store(e, &storage, 0, rounded);
                rounded = element_load(e, &storage, 0);
        }
        return loop_literal(arena, LOOP_TYPE(e), rounded);
}

struct loop_expr *loop_use(struct arena *arena, struct loop_variable *variable)
{
        struct loop_expr *e = loop_node(arena, LOOP_VARIABLE, variable->type, NULL, NULL, NULL);
        e->variable = variable;
        return e;
}

struct loop_expr *loop_tile_entry(struct arena *arena, struct loop_variable *tile, int row,
                                  int column)
{
        struct loop_expr *e = loop_node(arena, LOOP_TILE_ENTRY, tile->type, NULL, NULL, NULL);
        e->variable = tile;
        e->literal.i = row;
        e->column = column;
        return e;
}

struct loop_expr *loop_load(struct arena *arena, struct loop_buffer *b, struct loop_expr *index)
{
        return index ? loop_load_vector(arena, b, index, index->type.lanes, NULL) : NULL;
}

struct loop_expr *loop_load_vector(struct arena *arena, struct loop_buffer *b,
                                   struct loop_expr *index, int lanes, struct loop_expr *mask)
{
        struct loop_type type = LOOP_VECTOR(b->element, lanes);
        struct loop_expr *e = loop_node(arena, LOOP_LOAD, type, index, mask, NULL);
        e->buffer = b;
        return e;
}

int loop_call_lanes(const struct loop_function *f, const struct loop_expr *first)
{
        bool scalar = f->scalar_count > 0 && f->result.lanes == 1;
        for (int i = 0; i < f->scalar_count; i++)
                scalar = scalar && f->scalars[i]->type.lanes == 1;
        return scalar && first->type.lanes <= LANES_MAX ? first->type.lanes : 1;
}

struct loop_expr *loop_call(struct arena *arena, struct loop_function *f,
                            struct loop_expr *const *args)
{
        int lanes = f->scalar_count && args[0] ? loop_call_lanes(f, args[0]) : 1;
        struct loop_type type = lanes > 1 ? LOOP_VECTOR(f->result.element, lanes)
                                          : f->result;
        struct loop_expr *e = loop_node(arena, LOOP_CALL, type, NULL, NULL, NULL);
        e->function = f;
        e->arity = f->scalar_count;
        for (int i = 0; i < f->scalar_count && i < 3; i++) {
                if (!args[i])
                        return NULL;
                e->args[i] = args[i];
        }
        return e;
}

/* ---- looking ---- */

bool loop_is_int(const struct loop_expr *e, int64_t *value)
{
        if (e->op != LOOP_LITERAL || e->type.lanes != 1 || !element_is_integer(e->type.element))
                return false;
        if (element_info[e->type.element].class == CLASS_UINT && e->literal.u > INT64_MAX)
                return false;
        *value = e->literal.i;
        return true;
}

bool loop_expr_same(const struct loop_expr *a, const struct loop_expr *b)
{
        if (a == b)
                return true;
        if (a->op != b->op || !loop_type_same(a->type, b->type) || a->arity != b->arity ||
            a->variable != b->variable || a->buffer != b->buffer || a->function != b->function ||
            a->column != b->column || a->group != b->group ||
            a->literal.u != b->literal.u) /* Bits are compared: 0.0 is not -0.0. */
                return false;
        for (int i = 0; i < a->arity; i++)
                if (!a->args[i] != !b->args[i] ||
                    (a->args[i] && !loop_expr_same(a->args[i], b->args[i])))
                        return false;
        return true;
}

void loop_expr_walk(struct loop_expr *e, void (*visit)(struct loop_expr *e, void *context),
                    void *context)
{
        visit(e, context);
        for (int i = 0; i < e->arity; i++)
                if (e->args[i])
                        loop_expr_walk(e->args[i], visit, context);
}

static void walk_transfer(const struct loop_transfer *t,
                          void (*visit)(struct loop_expr *e, void *context), void *context)
{
        struct loop_expr *const exprs[] = { t->rows,   t->columns, t->pad[0],
                                            t->pad[1], t->pad[2],  t->pad[3] };
        for (int i = 0; i < 6; i++)
                if (exprs[i])
                        loop_expr_walk(exprs[i], visit, context);
}

void loop_block_walk(struct loop_block *b, void (*stmt)(struct loop_stmt *s, void *context),
                     void (*expr)(struct loop_expr *e, void *context), void *context)
{
        for (struct loop_stmt *s = b->first; s; s = s->next) {
                if (stmt)
                        stmt(s, context);
                struct loop_expr *const exprs[] = { s->a, s->b, s->c };
                for (int i = 0; expr && i < 3; i++)
                        if (exprs[i])
                                loop_expr_walk(exprs[i], expr, context);
                if (expr && s->transfer)
                        walk_transfer(s->transfer, expr, context);
                int scalars = expr ? loop_scalar_count(s) : 0;
                for (int i = 0; i < scalars; i++)
                        loop_expr_walk(s->scalars[i], expr, context);
                int offsets =
                        expr && s->kind == STMT_CALL && s->offsets ? s->function->buffer_count : 0;
                for (int i = 0; i < offsets; i++)
                        if (s->offsets[i])
                                loop_expr_walk(s->offsets[i], expr, context);
                if (s->body)
                        loop_block_walk(s->body, stmt, expr, context);
                if (s->other)
                        loop_block_walk(s->other, stmt, expr, context);
        }
}

void loop_walk_mains(const struct loop_program *p, void (*stmt)(struct loop_stmt *s, void *context),
                     void (*expr)(struct loop_expr *e, void *context), void *context)
{
        for (int i = 0; i < p->entry_count; i++)
                loop_block_walk(p->entries[i].main->body, stmt, expr, context);
}

static void reserve_declared(struct loop_stmt *s, void *names)
{
        if (s->kind == STMT_FOR || s->kind == STMT_LET || s->kind == STMT_VAR)
                names_reserve(names, s->variable->name);
        else if (s->kind == STMT_ALLOC)
                names_reserve(names, s->buffer->name);
}

struct names *loop_names_of(struct arena *arena, const struct loop_function *f)
{
        struct names *names = names_new(arena);
        for (int i = 0; i < f->buffer_count; i++)
                names_reserve(names, f->buffers[i]->name);
        for (int i = 0; i < f->scalar_count; i++)
                names_reserve(names, f->scalars[i]->name);
        loop_block_walk(f->body, reserve_declared, NULL, names);
        return names;
}
