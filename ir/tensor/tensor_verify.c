/* SPDX-License-Identifier: MIT */
/* Verifies Tensor IR: structure, order of definitions and uses, use lists, names, and every type
 * rule again. It takes linear time: one walk numbers all values, a second one checks. */
#include "ir/tensor/tensor_text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct verifier {
        struct module *m;
        struct diag *diag;
        struct arena *arena;
        struct value **values;          /* Values are found by their numbers. */
        bool *visible;                  /* The value of a number is defined before, in a region that
                                         * is still open. */
        int count;
        int64_t operands;               /* This many operands were seen in operations; use lists
                                         * must hold as many. */
        struct map *names;              /* The map has the names of values in the function at
                                         * hand. */
        bool *counted;                  /* Each counted symbol has its value here, in the function
                                         * at hand; NULL: the module has no such symbol. */
};

static bool fail(struct verifier *v, const struct function *f, const struct op *op,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));
static bool fail(struct verifier *v, const struct function *f, const struct op *op,
                 const char *format, ...)
{
        va_list list;
        va_start(list, format);
        const char *message = arena_vprintf(v->arena, format, list);
        va_end(list);
        diag_error(v->diag, EXIT_INVALID, "func @%s: %s%s%s", f ? f->name : "-",
                   op ? op_info[op->code].name : "", op ? ": " : "", message);
        return false;
}

/* ---- numbering ---- */

static void number_value(struct verifier *v, struct value *value)
{
        ARENA_GROW(v->arena, v->values, v->count);
        value->number = v->count;
        v->values[v->count++] = value;
}

static void number_values(struct verifier *v)
{
        for (struct constant *c = v->m->constants; c; c = c->next)
                number_value(v, &c->value);
        int constants = v->count;
        for (struct function *f = v->m->functions; f; f = f->next) {
                for (int i = 0; i < f->body.argument_count; i++)
                        number_value(v, &f->body.arguments[i]);
                for (struct op *op = region_walk_all(&f->body, NULL); op;
                     op = region_walk_all(&f->body, op)) {
                        for (int i = 0; i < op->result_count; i++)
                                number_value(v, &op->results[i]);
                        for (int i = 0; i < op->region_count; i++)
                                for (int k = 0;
                                     op->regions[i] && k < op->regions[i]->argument_count; k++)
                                        number_value(v, &op->regions[i]->arguments[k]);
                }
        }
        v->visible = arena_array(v->arena, (size_t)v->count, sizeof *v->visible);
        for (int i = 0; i < constants; i++)
                v->visible[i] = true;
}

/* Is value one of this module, and not of an erased operation or another module? */
static bool is_known(const struct verifier *v, const struct value *value)
{
        return value->number >= 0 && value->number < v->count && v->values[value->number] == value;
}

/* ---- values ---- */

static bool check_name(struct verifier *v, const struct function *f, const struct value *value)
{
        if (!value->name)
                return true;
        size_t length = strlen(value->name);
        if (map_get(v->names, value->name, length))
                return fail(v, f, NULL, "two values are named %%%s",
                            text_safe(v->arena, value->name, length));
        map_set(v->names, value->name, length, v);
        return true;
}

static bool check_uses(struct verifier *v)
{
        int64_t listed = 0;
        for (int i = 0; i < v->count; i++)
                for (const struct use *u = v->values[i]->uses; u; u = u->next)
                        if (u->value != v->values[i] || *u->previous != u || listed++ > v->operands)
                                return fail(v, NULL, u->user, "a list of uses is broken");
        return listed == v->operands || fail(v, NULL, NULL, "%lld uses in lists, %lld operands",
                                             (long long)listed, (long long)v->operands);
}

/* Are the constant's elements there, and the positions of a sparse one as they must be? */
static bool is_held(const struct constant *c)
{
        const struct sparse *s = c->sparse;
        if (c->kind != CONSTANT_SPARSE)
                return c->held && !s;
        return s && type_is_static(c->value.type) && s->element == c->value.type->element &&
               s->elements == type_elements(c->value.type) && s->values && s->positions &&
               s->count > 0 && s->count < s->elements &&
               sparse_first_wrong(s->positions, s->count, s->elements) == s->count;
}

static bool check_constants(struct verifier *v)
{
        struct map *names = map_new(v->arena);
        for (const struct constant *c = v->m->constants; c; c = c->next) {
                const struct type *t = c->value.type;
                if (!t || t->kind != TYPE_TENSOR || !type_is_sound(v->m, t) ||
                    !element_is_stored(t->element) || !is_held(c) ||
                    c->value.kind != VALUE_CONSTANT || c->value.constant != c ||
                    (c->kind != CONSTANT_SPLAT && !type_is_static(t)))
                        return fail(v, NULL, NULL, "a constant is broken");
                if (c->name && map_get(names, c->name, strlen(c->name)))
                        return fail(v, NULL, NULL, "two constants are named @%s", c->name);
                if (c->name)
                        map_set(names, c->name, strlen(c->name), v);
        }
        return true;
}

/* ---- counted symbols ---- */

/* Has each counted symbol of a dimension got its value? */
static bool is_known_dim(const struct verifier *v, dim_t d)
{
        if (dim_is_static(d))
                return true;
        const struct dim_expr *e = dim_term(v->m, d);
        return e->kind == DIM_SYMBOL
                       ? !v->m->symbols[e->symbol].counted || v->counted[e->symbol]
                       : is_known_dim(v, e->a) && is_known_dim(v, e->b);
}

static bool has_known_dims(const struct verifier *v, const struct type *t)
{
        bool known = true;
        for (int d = 0; v->counted && t->kind == TYPE_TENSOR && d < t->rank && known; d++)
                known = is_known_dim(v, t->dims[d]);
        return known;
}

/* ---- regions ---- */

/* Checks a region's arguments, which are visible from here on. */
static bool check_arguments(struct verifier *v, const struct function *f, const struct op *owner,
                            const struct region *region)
{
        for (int i = 0; i < region->argument_count; i++) {
                const struct value *a = &region->arguments[i];
                if (a->kind != VALUE_ARGUMENT || a->region != region || a->index != i || !a->type ||
                    !type_is_sound(v->m, a->type))
                        return fail(v, f, owner, "argument %d is broken or too large", i);
                if (!has_known_dims(v, a->type))
                        return fail(v, f, owner, "argument %d has a symbol that is counted", i);
                v->visible[a->number] = true;
                if (!check_name(v, f, a))
                        return false;
        }
        return true;
}

static void hide_arguments(struct verifier *v, const struct region *region)
{
        for (int i = 0; i < region->argument_count; i++)
                v->visible[region->arguments[i].number] = false;
}

/* ---- operations ---- */

/* Does the symbol that an operation counts have its value? In a region it has one up to the
 * region's end. */
static bool *known_symbol(const struct verifier *v, const struct op *counted)
{
        return &v->counted[dim_term(v->m, op_result(counted)->type->dims[0])->symbol];
}

/* Checks that the symbols of the operation have their values, and notes the one that it counts. */
static bool check_counted(struct verifier *v, const struct function *f, const struct op *op)
{
        if (op->code == OP_counted) {
                bool *known = known_symbol(v, op);
                if (*known)
                        return fail(v, f, op, "counts a symbol that has its value already");
                *known = true;
        }
        for (int i = 0; i < op->result_count; i++)
                if (!has_known_dims(v, op->results[i].type))
                        return fail(v, f, op, "result %d has a symbol that is counted later, or "
                                              "nowhere", i);
        for (int i = 0; i < op->operand_count; i++)
                if (op_operand(op, i) && !has_known_dims(v, op_operand(op, i)->type))
                        return fail(v, f, op, "operand %d has a symbol that is counted later, or "
                                              "nowhere", i);
        return true;
}

static void open_counted(struct verifier *v)
{
        v->counted = NULL;
        for (int i = 0; i < v->m->symbol_count; i++)
                if (v->m->symbols[i].counted && !v->counted)
                        v->counted = arena_array(v->arena, (size_t)v->m->symbol_count,
                                                 sizeof *v->counted);
}

static bool check_operands(struct verifier *v, const struct function *f, const struct op *op)
{
        for (int i = 0; i < op->operand_count; i++) {
                const struct use *u = &op->operands[i];
                if (u->user != op || u->index != i)
                        return fail(v, f, op, "operand %d does not know its place", i);
                if (!u->value)
                        continue;
                v->operands++;
                if (!is_known(v, u->value))
                        return fail(v, f, op, "operand %d is no value of this module", i);
                if (!v->visible[u->value->number])
                        return fail(
                                v, f, op,
                                "operand %d is used before it is defined, or outside its region",
                                i);
        }
        return true;
}

static bool check_op(struct verifier *v, const struct function *f, struct op *op)
{
        const struct region *region = op->region;
        if (op->dead || (op->previous ? op->previous->next : region->first) != op ||
            (op->next ? op->next->previous : region->last) != op)
                return fail(v, f, op, "is not in its region's list");
        if ((op->code == OP_yield) != (region->last == op))
                return fail(v, f, op, op->code == OP_yield ? "is not the last of its region"
                                                           : "ends a region that has no yield");
        if (!check_operands(v, f, op))
                return false;
        for (int i = 0; i < op->result_count; i++) {
                const struct value *r = &op->results[i];
                if (r->kind != VALUE_RESULT || r->op != op || r->index != i || !r->type)
                        return fail(v, f, op, "result %d is broken", i);
                if (!check_name(v, f, r))
                        return false;
        }
        return true;
}

static bool check_regions(struct verifier *v, const struct function *f, const struct op *op)
{
        for (int i = 0; i < op->region_count; i++) {
                const struct region *region = op->regions[i];
                if (!region || region->owner != op || region->function != f || !region->first)
                        return fail(v, f, op, "region %d is missing, empty, or another's", i);
                if (!check_arguments(v, f, op, region))
                        return false;
        }
        return true;
}

static void set_visible(struct verifier *v, const struct op *op, bool visible)
{
        for (int i = 0; i < op->result_count; i++)
                v->visible[op->results[i].number] = visible;
}

/* Ends op and those around it that end before `next`, which comes after it in the walk: type rules
 * look at full regions, results can be used from here on, and values that a region defines cannot
 * be used behind its end. */
static bool finish_ops(struct verifier *v, struct op *op, const struct op *next)
{
        while (op && !(next && next->region->owner == op)) {
                if (!op_infer(v->m, op, v->diag) ||
                    (v->counted && !check_counted(v, op->region->function, op)))
                        return false;
                for (int i = 0; i < op->region_count; i++)
                        hide_arguments(v, op->regions[i]);
                set_visible(v, op, true);
                if (op->next)
                        return true;
                const struct region *left = op->region;
                for (const struct op *o = left->first; o; o = o->next) {
                        set_visible(v, o, false);
                        if (o->code == OP_counted && left->owner)
                                *known_symbol(v, o) = false;
                }
                op = left->owner;
        }
        return true;
}

static int nesting(const struct op *op)
{
        int depth = 0;
        for (const struct region *r = op->region; r->owner && depth <= NESTING_MAX;
             r = r->owner->region)
                depth++;
        return depth;
}

/* Checks that state which grows has its rows along an axis that has room for them. */
static bool check_rows(struct verifier *v, const struct port *port, const struct type *t)
{
        if (!port->grows)
                return true;
        if (port->along < 0 || port->along >= t->rank || dim_is_static(port->rows))
                return false;
        const struct dim_expr *e = dim_term(v->m, port->rows);
        return e->kind == DIM_SYMBOL && v->m->symbols[e->symbol].kept &&
               e->bound <= type_extent(t, port->along);
}

/* Checks that each input that is state has a next value of its type, which is no other's. */
static bool check_state(struct verifier *v, struct function *f)
{
        for (int i = 0; i < f->body.argument_count; i++) {
                if (!f->input_ports[i].next)
                        continue;
                int next = function_next_of(f, i);
                if (next < 0)
                        return fail(v, f, NULL,
                                    "input %d is state, and no output is its next value", i);
                if (function_state_of(f, next) != i)
                        return fail(v, f, NULL, "output %d is the next value of two inputs", next);
                const struct value *now = &f->body.arguments[i],
                                   *then = op_operand(f->body.last, next);
                if (now->type != then->type || !type_is_static(now->type) ||
                    f->input_ports[i].is_text || !check_rows(v, &f->input_ports[i], now->type))
                        return fail(v, f, NULL,
                                    "input %d cannot be state: its type, or that of its next value",
                                    i);
        }
        return true;
}

/* Is a value of f, a port, as the one of the same place in the general function says? Extents of
 * outputs may be known better there or here. */
static bool is_as_general(const struct function *f, const struct type *own,
                          const struct type *general, bool output)
{
        bool good = own->kind == general->kind && own->rank == general->rank &&
                    own->element == general->element;
        for (int d = 0; good && d < own->rank; d++) {
                const dim_t want = function_dim(f, general->dims[d]);
                good = dim_equal(own->dims[d], want) ||
                       (output && !(dim_is_static(own->dims[d]) && dim_is_static(want)));
        }
        return good;
}

/* Checks that code for likely extents has the ports of the function that it is the code of. */
static bool check_likely(struct verifier *v, const struct function *f)
{
        const struct function *g = f->general;
        if (!g)
                return true;
        bool good = g->module == f->module && !g->general && f->likely_count > 0 &&
                    f->body.argument_count == g->body.argument_count &&
                    f->output_count == g->output_count;
        for (int i = 0; good && i < f->body.argument_count; i++)
                good = !strcmp(f->input_ports[i].name, g->input_ports[i].name) &&
                       is_as_general(f, f->body.arguments[i].type, g->body.arguments[i].type,
                                     false);
        for (int i = 0; good && i < f->output_count; i++)
                good = !strcmp(f->output_ports[i].name, g->output_ports[i].name) &&
                       is_as_general(f, op_operand(f->body.last, i)->type,
                                     op_operand(g->body.last, i)->type, true);
        return good || fail(v, f, NULL, "its ports are not those of func @%s", g->name);
}

static bool check_function(struct verifier *v, struct function *f)
{
        v->names = map_new(v->arena);
        open_counted(v);
        if (f->body.owner || f->body.function != f || !f->body.last ||
            f->body.last->code != OP_yield)
                return fail(v, f, NULL, "its body does not end in a yield");
        if (f->output_count != f->body.last->operand_count ||
            (f->output_count && !f->output_ports) || (f->body.argument_count && !f->input_ports))
                return fail(v, f, NULL, "%d outputs, %d values yielded", f->output_count,
                            f->body.last->operand_count);
        if (!check_arguments(v, f, NULL, &f->body))
                return false;
        for (int i = 0; i < f->body.argument_count + f->output_count; i++) {
                int output = i - f->body.argument_count;
                const struct port *port = output < 0 ? &f->input_ports[i]
                                                     : &f->output_ports[output];
                const struct value *value = output < 0 ? &f->body.arguments[i]
                                                       : op_operand(f->body.last, output);
                if (port->is_text && !type_holds_texts(value->type))
                        return fail(v, f, NULL, "%s %d is no tensor of texts",
                                    output < 0 ? "input" : "output", output < 0 ? i : output);
        }
        if (!check_state(v, f) || !check_likely(v, f))
                return false;
        for (struct op *op = region_walk_all(&f->body, NULL), *next; op; op = next) {
                if (!check_op(v, f, op) || !check_regions(v, f, op))
                        return false;
                if (op->region_count && nesting(op) >= NESTING_MAX)
                        return fail(v, f, op, "regions are nested more than %d deep", NESTING_MAX);
                next = region_walk_all(&f->body, op);
                if (!finish_ops(v, op, next))
                        return false;
        }
        hide_arguments(v, &f->body);
        return true;
}

bool tensor_check(struct module *m, enum exit_code code, struct diag *diag)
{
        struct diag inner = *diag;
        struct verifier v = { .m = m, .diag = &inner, .arena = arena_new() };
        struct map *functions = map_new(v.arena);
        number_values(&v);
        bool good = check_constants(&v), likely = false;
        for (struct function *f = m->functions; f && good; f = f->next) {
                good = !map_get(functions, f->name, strlen(f->name)) ||
                       fail(&v, f, NULL, "is there twice");
                good = good && (!likely || f->general ||
                                fail(&v, f, NULL, "stands behind code for likely extents"));
                likely |= f->general != NULL;
                map_set(functions, f->name, strlen(f->name), f);
                good = good && check_function(&v, f);
        }
        good = good && check_uses(&v);
        arena_free(v.arena);
        if (!good && !diag->errors)
                diag->code = code;
        diag->errors = inner.errors;
        return good;
}

bool tensor_verify(struct module *m, struct diag *diag)
{
        return tensor_check(m, EXIT_INTERNAL, diag);
}
