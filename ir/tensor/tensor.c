/* SPDX-License-Identifier: MIT */
/* Tensor IR: builds and changes modules, functions and operations. Every use of a value is in that
 * value's list, so that replacing a value costs its uses and erasing an operation its operands. */
#include "ir/tensor/tensor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/store.h"

/* ---- modules and functions ---- */

struct module *module_new(const char *name)
{
        struct arena *arena = arena_new();
        struct module *m = ARENA_NEW(arena, struct module);
        m->arena = arena;
        m->store = store_new();
        m->name = arena_string(arena, name);
        m->command = m->within = m->passes_done = "";
        m->functions_end = &m->functions;
        m->constants_end = &m->constants;
        m->constant_names = names_new(arena);
        m->types = map_new(arena);
        return m;
}

void module_free(struct module *m)
{
        if (!m)
                return;
        store_free(m->store);
        arena_free(m->arena);
}

struct function *function_new(struct module *m, const char *name)
{
        struct function *f = ARENA_NEW(m->arena, struct function);
        f->name = arena_string(m->arena, name);
        f->module = m;
        f->names = names_new(m->arena);
        f->body.function = f;
        *m->functions_end = f;
        m->functions_end = &f->next;
        return f;
}

/* Uses point into the array of arguments, so it must not move: all the room is taken at once (for a
 * body a large allocation, whose pages are not touched). If it is full, memory counts as
 * exhausted. */
enum { BODY_ROOM = 1 << 16, NESTED_ROOM = 1 << 8 };

void region_reserve(struct region *region, int count)
{
        assert(!region->arguments);
        region->arguments = arena_array(region->function->module->arena, (size_t)count,
                                        sizeof *region->arguments);
        region->argument_room = count;
}

static struct value *add_argument(struct region *region, const struct type *type, const char *name,
                                  const char *fallback)
{
        if (!region->arguments)
                region_reserve(region, region->owner ? NESTED_ROOM : BODY_ROOM);
        if (region->argument_count == region->argument_room)
                memory_exhausted();
        int number = region->argument_count++;
        struct value *v = &region->arguments[number];
        *v = (struct value){
                .kind = VALUE_ARGUMENT, .type = type, .index = number, .region = region
        };
        v->name = text_identifier(region->function->names, name ? name : "",
                                  name ? strlen(name) : 0, fallback);
        return v;
}

struct value *function_add_input(struct function *f, const char *name, const struct type *type)
{
        ARENA_GROW(f->module->arena, f->input_ports, f->body.argument_count);
        f->input_ports[f->body.argument_count] =
                (struct port){ .name = arena_string(f->module->arena, name) };
        return add_argument(&f->body, type, name, "input");
}

int function_input(const struct function *f, const char *name)
{
        for (int i = 0; i < f->body.argument_count; i++)
                if (!strcmp(f->input_ports[i].name, name))
                        return i;
        return -1;
}

int function_next_of(const struct function *f, int input)
{
        const char *next = f->input_ports ? f->input_ports[input].next : NULL;
        for (int i = 0; next && i < f->output_count; i++)
                if (!strcmp(f->output_ports[i].name, next))
                        return i;
        return -1;
}

bool function_keep(struct function *f, int symbol, dim_t next)
{
        for (int i = 0; i < f->next_count; i++)
                if (f->next_extents[i].symbol == symbol)
                        return dim_equal(f->next_extents[i].next, next);
        dim_keep(f->module, symbol);
        ARENA_GROW(f->module->arena, f->next_extents, f->next_count);
        f->next_extents[f->next_count++] = (struct next_extent){ symbol, next };
        return true;
}

void function_expect(struct function *f, struct function *general, int symbol, int64_t extent)
{
        f->general = general;
        ARENA_GROW(f->module->arena, f->likely, f->likely_count);
        f->likely[f->likely_count++] = (struct likely_extent){ symbol, extent };
}

dim_t function_dim(const struct function *f, dim_t d)
{
        if (dim_is_static(d))
                return d;
        const struct dim_expr e = *dim_term(f->module, d);
        if (e.kind != DIM_SYMBOL)
                return dim_binary(f->module, e.kind, function_dim(f, e.a), function_dim(f, e.b));
        for (int i = 0; i < f->likely_count; i++)
                if (f->likely[i].symbol == e.symbol)
                        return dim_of(f->likely[i].extent);
        return d;
}

int function_state_of(const struct function *f, int output)
{
        for (int i = 0; i < f->body.argument_count; i++)
                if (function_next_of(f, i) == output)
                        return i;
        return -1;
}

struct value *region_add_argument(struct region *region, const struct type *type, const char *name)
{
        return add_argument(region, type, name, "argument");
}

/* ---- uses ---- */

static void use_link(struct use *use, struct value *value)
{
        use->value = value;
        if (!value)
                return;
        use->next = value->uses;
        use->previous = &value->uses;
        if (use->next)
                use->next->previous = &use->next;
        value->uses = use;
}

static void use_unlink(struct use *use)
{
        if (!use->value)
                return;
        *use->previous = use->next;
        if (use->next)
                use->next->previous = use->previous;
        use->value = NULL;
        use->next = NULL;
        use->previous = NULL;
}

void op_set_operand(struct op *op, int index, struct value *value)
{
        assert(index >= 0 && index < op->operand_count);
        use_unlink(&op->operands[index]);
        use_link(&op->operands[index], value);
}

void value_replace(struct value *old, struct value *new)
{
        struct use *first = old->uses, *last = NULL;
        if (old == new || !first)
                return;
        for (struct use *u = first; u; u = u->next) {
                u->value = new;
                last = u;
        }
        last->next = new->uses;
        if (last->next)
                last->next->previous = &last->next;
        first->previous = &new->uses;
        new->uses = first;
        old->uses = NULL;
}

bool value_has_one_use(const struct value *v)
{
        return v->uses && !v->uses->next;
}

struct value *value_without_floor(struct value *v)
{
        double number;
        for (int i = 0; op_is(v, OP_max) && i < 2; i++)
                if (value_is_splat(op_operand(v->op, i), &number))
                        return op_operand(v->op, !i);
        return v;
}

int value_use_count(const struct value *v)
{
        int count = 0;
        for (const struct use *u = v->uses; u; u = u->next)
                count++;
        return count;
}

bool op_is(const struct value *v, enum opcode code)
{
        return v->kind == VALUE_RESULT && v->op->code == code;
}

bool value_is_inside(const struct value *v, const struct region *region)
{
        for (const struct region *r = value_region(v); r; r = r->owner ? r->owner->region : NULL)
                if (r == region)
                        return true;
        return false;
}

static bool dim_has(const struct module *m, dim_t d, int symbol)
{
        if (dim_is_static(d))
                return false;
        const struct dim_expr *e = dim_term(m, d);
        return e->kind == DIM_SYMBOL ? e->symbol == symbol
                                     : dim_has(m, e->a, symbol) || dim_has(m, e->b, symbol);
}

bool region_counts(const struct region *region, const struct type *t)
{
        const struct module *m = region->function->module;
        if (t->kind != TYPE_TENSOR || !type_is_counted(m, t))
                return false;
        for (const struct op *op = region->first; op; op = op->next)
                for (int d = 0; op->code == OP_counted && d < t->rank; d++)
                        if (dim_has(m, t->dims[d],
                                    dim_term(m, op->results[0].type->dims[0])->symbol))
                                return true;
        return false;
}

/* ---- operations ---- */

static struct op *op_new(struct module *m, enum opcode code, int operand_count, int result_count,
                         int region_count)
{
        struct op *op = ARENA_NEW(m->arena, struct op);
        op->code = code;
        op->operand_count = operand_count;
        op->operands = arena_array(m->arena, (size_t)operand_count, sizeof *op->operands);
        op->result_count = result_count;
        op->results = arena_array(m->arena, (size_t)result_count, sizeof *op->results);
        op->region_count = region_count;
        op->regions = arena_array(m->arena, (size_t)region_count, sizeof *op->regions);
        for (int i = 0; i < operand_count; i++) {
                op->operands[i].user = op;
                op->operands[i].index = i;
        }
        for (int i = 0; i < result_count; i++)
                op->results[i] = (struct value){ .kind = VALUE_RESULT, .op = op, .index = i };
        return op;
}

static void op_insert(struct op *op, struct region *region, struct op *before)
{
        op->region = region;
        op->next = before;
        op->previous = before ? before->previous : region->last;
        *(op->previous ? &op->previous->next : &region->first) = op;
        *(before ? &before->previous : &region->last) = op;
}

static void op_remove(struct op *op)
{
        struct region *region = op->region;
        *(op->previous ? &op->previous->next : &region->first) = op->next;
        *(op->next ? &op->next->previous : &region->last) = op->previous;
        op->next = op->previous = NULL;
}

static int region_depth(const struct region *region)
{
        int depth = 0;
        for (; region->owner && depth <= NESTING_MAX; region = region->owner->region)
                depth++;
        return depth;
}

struct op *op_build_results(struct builder *b, enum opcode code, struct value *const *operands,
                            int operand_count, const struct attr *attrs,
                            const struct type *const *types, int result_count, int region_count)
{
        struct module *m = b->m;
        struct diag fallback = { 0 }, *diag = b->diag ? b->diag : &fallback;
        struct region *region = b->before ? b->before->region : b->region;
        if (region_count && region_depth(region) >= NESTING_MAX) {
                diag_error(diag, EXIT_INVALID, "%s: operations are nested more than %d deep",
                           op_info[code].name, NESTING_MAX);
                return NULL;
        }
        struct op *op = op_new(m, code, operand_count, result_count, region_count);
        for (int i = 0; i < operand_count; i++)
                use_link(&op->operands[i], operands[i]);
        for (int i = 0; i < result_count; i++)
                op->results[i].type = types ? types[i] : NULL;
        op->attrs = attrs ? arena_copy(m->arena, attrs,
                                       (size_t)op_info[code].attr_count * sizeof *attrs)
                          : attrs_new(m, code);
        op->location = b->location;
        op_insert(op, region, b->before);
        if (!op_infer(m, op, diag)) {
                op_erase(op);
                return NULL;
        }
        return op;
}

struct op *op_build(struct builder *b, enum opcode code, struct value *const *operands,
                    int operand_count, const struct attr *attrs, const struct type *const *types,
                    int region_count)
{
        return op_build_results(b, code, operands, operand_count, attrs, types,
                                op_info[code].result_count, region_count);
}

struct value *value_build(struct builder *b, enum opcode code, struct value *const *operands,
                          int operand_count, const struct attr *attrs, const struct type *type)
{
        struct op *op = op_build(b, code, operands, operand_count, attrs, &type, 0);
        if (!op)
                return NULL;
        bool constant = b->fold && op_info[code].traits & TRAIT_PURE && op->result_count == 1 &&
                        (type_is_static(op_result(op)->type) ||
                         op_info[code].traits & TRAIT_ELEMENTWISE);
        for (int i = 0; i < operand_count && constant; i++)
                constant = op_operand(op, i) && value_is_constant(op_operand(op, i));
        struct value *folded = constant ? b->fold(b, op, b->fold_context) : NULL;
        if (!folded)
                return op_result(op);
        op_erase(op);
        return folded;
}

struct region *op_add_region(struct op *op, int index)
{
        assert(index >= 0 && index < op->region_count && !op->regions[index]);
        struct region *region = ARENA_NEW(op->region->function->module->arena, struct region);
        region->owner = op;
        region->function = op->region->function;
        op->regions[index] = region;
        return region;
}

/* Returns the first operation in op's regions from number `from` on, or NULL. */
static struct op *first_inside(const struct op *op, int from)
{
        for (int i = from; i < op->region_count; i++)
                if (op->regions[i] && op->regions[i]->first)
                        return op->regions[i]->first;
        return NULL;
}

static struct op *walk(const struct region *region, const struct op *last, bool all)
{
        if (!last)
                return region->first;
        struct op *inside = all || last->code != OP_external ? first_inside(last, 0) : NULL;
        while (!inside) {
                if (last->next)
                        return last->next;
                if (last->region == region)
                        return NULL;
                const struct region *left = last->region;
                last = left->owner;
                int number = 0;
                while (last->regions[number] != left)
                        number++;
                inside = first_inside(last, number + 1);
        }
        return inside;
}

struct op *region_walk(const struct region *region, const struct op *last)
{
        return walk(region, last, false);
}

struct op *region_walk_all(const struct region *region, const struct op *last)
{
        return walk(region, last, true);
}

static void drop_operands(struct op *op)
{
        for (int i = 0; i < op->operand_count; i++)
                use_unlink(&op->operands[i]);
        op->dead = true;
}

void op_erase(struct op *op)
{
        for (int i = 0; i < op->region_count; i++)
                for (struct op *o = op->regions[i] ? region_walk_all(op->regions[i], NULL) : NULL;
                     o; o = region_walk_all(op->regions[i], o))
                        drop_operands(o);
        drop_operands(op);
        for (int i = 0; i < op->result_count; i++)
                assert(!op->results[i].uses);
        op_remove(op);
}

void op_move_before(struct op *op, struct op *where)
{
        if (op == where)
                return;
        op_remove(op);
        op_insert(op, where->region, where);
}

/* ---- copies ---- */

static struct value *mapped(struct value *v)
{
        return v && v->scratch ? v->scratch : v;
}

void region_clone_operations(struct builder *b, const struct region *from)
{
        for (const struct op *op = from->first; op; op = op->next) {
                struct op *copy = op_clone(b, op);
                for (int i = 0; i < op->result_count; i++)
                        op->results[i].scratch = &copy->results[i];
        }
        for (int i = 0; i < from->argument_count; i++)
                from->arguments[i].scratch = NULL;
        for (const struct op *op = from->first; op; op = op->next)
                for (int i = 0; i < op->result_count; i++)
                        op->results[i].scratch = NULL;
}

void region_clone(struct builder *b, const struct region *from, struct region *to)
{
        struct builder inside = { .m = b->m,
                                  .region = to,
                                  .location = b->location,
                                  .diag = b->diag };
        for (int i = 0; i < from->argument_count; i++)
                from->arguments[i].scratch =
                        region_add_argument(to, from->arguments[i].type, from->arguments[i].name);
        region_clone_operations(&inside, from);
}

struct op *op_clone(struct builder *b, const struct op *op)
{
        struct op *copy =
                op_new(b->m, op->code, op->operand_count, op->result_count, op->region_count);
        for (int i = 0; i < op->operand_count; i++)
                use_link(&copy->operands[i], mapped(op->operands[i].value));
        for (int i = 0; i < op->result_count; i++)
                copy->results[i].type = op->results[i].type;
        copy->attrs = arena_copy(b->m->arena, op->attrs,
                                 (size_t)op_info[op->code].attr_count * sizeof *op->attrs);
        copy->location = op->location;
        copy->schedule = op->schedule;
        op_insert(copy, b->before ? b->before->region : b->region, b->before);
        for (int i = 0; i < op->region_count; i++)
                if (op->regions[i])
                        region_clone(b, op->regions[i], op_add_region(copy, i));
        return copy;
}

static bool defined_inside(const struct value *v, const struct op *op)
{
        for (const struct region *region = value_region(v); region && region->owner;
             region = region->owner->region)
                if (region->owner == op)
                        return true;
        return false;
}

struct value **op_captures(struct arena *arena, const struct op *op, int *count)
{
        struct arena *own = arena_new();
        struct map *seen = map_new(own);
        struct value **captures = NULL;
        *count = 0;
        for (int i = 0; i < op->region_count; i++)
                for (struct op *o = op->regions[i] ? region_walk_all(op->regions[i], NULL) : NULL;
                     o; o = region_walk_all(op->regions[i], o))
                        for (int k = 0; k < o->operand_count; k++) {
                                struct value *v = op_operand(o, k);
                                if (!v || defined_inside(v, op) ||
                                    map_get(seen, (const char *)&v, sizeof v))
                                        continue;
                                map_set(seen, (const char *)&v, sizeof v, v);
                                ARENA_GROW(arena, captures, *count);
                                captures[(*count)++] = v;
                        }
        arena_free(own);
        return captures;
}

/* ---- attributes by name ---- */

static int attr_number(enum opcode code, const char *name)
{
        const struct op_info *info = &op_info[code];
        for (int i = 0; i < info->attr_count; i++)
                if (!strcmp(info->attrs[i].name, name))
                        return i;
        assert(!"no attribute of this name in the operation's row");
        abort();
}

struct attr *attrs_new(struct module *m, enum opcode code)
{
        const struct op_info *info = &op_info[code];
        struct attr *attrs = arena_array(m->arena, (size_t)info->attr_count, sizeof *attrs);
        for (int i = 0; i < info->attr_count; i++)
                attrs[i].i = info->attrs[i].preset;
        return attrs;
}

int64_t op_int(const struct op *op, const char *name)
{
        return op->attrs[attr_number(op->code, name)].i;
}

const char *op_text(const struct op *op, const char *name)
{
        return op->attrs[attr_number(op->code, name)].text;
}

enum element op_accumulator(const struct op *op)
{
        int64_t asked = op_int(op, "accumulator");
        enum element element =
                asked == E_COMPUTE ? op_operand(op, 0)->type->element : (enum element)asked;
        return element_info[element].compute;
}

const int64_t *op_ints(const struct op *op, const char *name, int *count)
{
        const struct attr *a = &op->attrs[attr_number(op->code, name)];
        if (count)
                *count = a->count;
        return a->ints;
}

bool op_is_depthwise(const struct op *op)
{
        return op->code == OP_convolve && op_int(op, "groups") > 1 &&
               dim_is(op_operand(op, 1)->type->dims[1], 1);
}

bool op_all_ones(const struct op *op, const char *name)
{
        int count;
        const int64_t *values = op_ints(op, name, &count);
        for (int i = 0; i < count; i++)
                if (values[i] != 1)
                        return false;
        return true;
}

bool op_is_stack(const struct op *op)
{
        if (op->code != OP_concat)
                return false;
        for (int d = 0; d < op_int(op, "axis"); d++)
                if (!dim_is(op_result(op)->type->dims[d], 1))
                        return false;
        return true;
}

void attr_set(struct attr *attrs, enum opcode code, const char *name, int64_t value)
{
        attrs[attr_number(code, name)].i = value;
}

void attr_set_ints(struct module *m, struct attr *attrs, enum opcode code, const char *name,
                   const int64_t *values, int count)
{
        struct attr *a = &attrs[attr_number(code, name)];
        a->count = count;
        a->ints = arena_copy(m->arena, values, (size_t)count * sizeof *values);
}

void attr_set_text(struct module *m, struct attr *attrs, enum opcode code, const char *name,
                   const char *text)
{
        attrs[attr_number(code, name)].text = arena_string(m->arena, text);
}

/* ---- binding symbols ---- */

struct binding { struct module *m; dim_t *dims; struct map *types; struct arena *arena; };

static dim_t bind_dim(const struct binding *b, dim_t d)
{
        return dim_is_static(d) ? d : b->dims[~d.code];
}

static const struct type *bind_type(struct binding *b, const struct type *t)
{
        struct type *bound = map_get(b->types, (const char *)&t, sizeof t);
        if (bound)
                return bound;
        if (t->kind != TYPE_TENSOR) {
                /* The recursion is at most NESTING_MAX deep. */
                bound = (struct type *)type_wrap(b->m, t->kind, bind_type(b, t->of));
        } else {
                dim_t dims[RANK_MAX];
                for (int i = 0; i < t->rank; i++)
                        dims[i] = bind_dim(b, t->dims[i]);
                bound = (struct type *)type_tensor(b->m, t->element, t->rank, dims);
        }
        map_set(b->types, (const char *)&t, sizeof t, bound);
        return bound;
}

static void bind_function(struct binding *b, struct function *f)
{
        for (int i = 0; i < f->body.argument_count; i++)
                f->body.arguments[i].type = bind_type(b, f->body.arguments[i].type);
        for (struct op *op = region_walk_all(&f->body, NULL); op;
             op = region_walk_all(&f->body, op)) {
                for (int i = 0; i < op->result_count; i++)
                        op->results[i].type = bind_type(b, op->results[i].type);
                for (int i = 0; i < op->region_count; i++)
                        for (int k = 0; op->regions[i] && k < op->regions[i]->argument_count; k++)
                                op->regions[i]->arguments[k].type =
                                        bind_type(b, op->regions[i]->arguments[k].type);
        }
}

bool module_bind(struct module *m, const int64_t *extents, struct diag *diag)
{
        for (int i = 0; i < m->symbol_count; i++)
                if (extents[i] > m->symbols[i].bound) {
                        diag_error(diag, EXIT_INVALID, "dimension %s is at most %lld, not %lld",
                                   dim_text(m->arena, m, dim_symbol(m, m->symbols[i].name, 0)),
                                   (long long)m->symbols[i].bound, (long long)extents[i]);
                        return false;
                }
        struct arena *arena = arena_new();
        struct binding b = { .m = m, .types = map_new(arena), .arena = arena };
        int count = m->dim_count;
        b.dims = arena_array(arena, (size_t)count, sizeof *b.dims);
        for (int i = 0; i < count; i++) {               /* A term's parts come before it. */
                struct dim_expr e = m->dims[i];
                if (e.kind == DIM_SYMBOL)
                        b.dims[i] = extents[e.symbol] >= 0 ? dim_of(extents[e.symbol])
                                                           : (dim_t){ ~(int64_t)i };
                else
                        b.dims[i] = dim_binary(m, e.kind, bind_dim(&b, e.a), bind_dim(&b, e.b));
        }
        for (struct constant *c = m->constants; c; c = c->next)
                c->value.type = bind_type(&b, c->value.type);
        for (struct function *f = m->functions; f; f = f->next)
                bind_function(&b, f);
        arena_free(arena);
        for (struct function *f = m->functions; f; f = f->next)
                for (struct op *op = region_walk_all(&f->body, NULL); op;
                     op = region_walk_all(&f->body, op))
                        if (!op_infer(m, op, diag))
                                return false;
        return true;
}
