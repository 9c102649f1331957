/* SPDX-License-Identifier: MIT */
/* Tensor IR becomes a graph of nodes. From the last operation to the first it is decided which form
 * each that is needed takes (a form may be several operations, which are then not needed by
 * themselves); then they are written in their order. */
#include "compiler/export/export_file.h"

#include <inttypes.h>
#include <setjmp.h>
#include <string.h>

const struct node_row export_rows[OPCODE_COUNT] = {
#define ONE(op, name, elements) [OP_##op] = { .onnx = name, .set = elements, .write = write_one },
#define OWN(op, doc) [OP_##op] = { .write = write_##op },
#define NONE(op, reason) [OP_##op] = { .why = reason },
#include "compiler/export/export_nodes.def"
};

/* There is one row for each operation, no more and no less. */
enum {
#define ONE(op, ...) ROW_OF_##op,
#define OWN(op, ...) ROW_OF_##op,
#define NONE(op, ...) ROW_OF_##op,
#include "compiler/export/export_nodes.def"
        ROW_COUNT
};
_Static_assert((int)ROW_COUNT == (int)OPCODE_COUNT,
               "export_nodes.def has a row for each operation");

static const struct form {
        enum opcode root;
        bool (*match)(struct export *e, const struct op *op, struct plan *plan);
        void (*write)(struct export *e, const struct op *op, const struct plan *plan);
} forms[] = {
#define FORM(op, name, doc) { OP_##op, match_##name, write_##name },
#include "compiler/export/export_nodes.def"
};

/* ---- which form ---- */

static void want(struct value *v)
{
        if (v && v->kind == VALUE_RESULT && v->op->number == 0)
                v->op->number = WANTED;
}

/* Calls match. A form that wants a number where a run gives an extent does not match. */
static bool matches(struct export *e, const struct form *form, const struct op *op,
                    struct plan *plan)
{
        jmp_buf out;
        jmp_buf *const outer = dim_watch(&out);
        volatile bool fine = false;
        if (!setjmp(out))
                fine = form->match(e, op, plan);
        dim_watch(outer);
        return fine;
}

static struct plan plan_of(struct export *e, const struct op *op)
{
        struct plan plan = { .write = NULL };
        enum { MORE = 3 }; /* A form may want so many values more. */
        plan.wants = arena_array(e->arena, (size_t)op->operand_count + MORE, sizeof *plan.wants);
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
                if (forms[i].root != op->code)
                        continue;
                if (matches(e, &forms[i], op, &plan)) {
                        plan.write = forms[i].write;
                        return plan;
                }
                plan = (struct plan){ .wants = plan.wants };
        }
        plan.write = export_rows[op->code].write;
        plan.want_count = op->operand_count;
        for (int i = 0; i < op->operand_count; i++)
                plan.wants[i] = op_operand(op, i);
        if (op_info[op->code].traits & TRAIT_ELEMENTWISE)
                plan_elementwise(e, op, &plan);
        return plan;
}

/* Recursion goes as deep as regions are nested, NESTING_MAX at most. */
static void plan_region(struct export *e, const struct region *region)
{
        for (struct op *op = region->last; op; op = op->previous) {
                if (op->number != WANTED && op->code != OP_yield)
                        continue;
                ARENA_GROW(e->arena, e->plans, e->plan_count);
                struct plan plan = plan_of(e, op);
                e->plans[e->plan_count] = plan;
                op->number = PLANNED + e->plan_count++;
                for (int i = 0; i < plan.want_count; i++)
                        want(plan.wants[i]);
                for (int i = 0; i < op->region_count; i++)
                        plan_region(e, op->regions[i]);
        }
}

/* ---- operations without a form ---- */

void export_refuse(struct export *e, const struct op *op, const char *why)
{
        enum { LISTED = 20 };
        const char *name = op_info[op->code].name;
        const char *text =
                arena_printf(e->arena, "%s%s%s%s (%s)", name, op->location ? " of '" : "",
                             op->location ? op->location : "", op->location ? "'" : "", why);
        if (++e->refused_count <= LISTED)
                e->refused = e->refused ? arena_printf(e->arena, "%s, %s", e->refused, text) : text;
}

static bool is_fine(struct export *e)
{
        if (e->refused)
                diag_error(e->diag, EXIT_UNSUPPORTED, "%d operation%s no form in ONNX: %s%s",
                           e->refused_count, e->refused_count == 1 ? " has" : "s have", e->refused,
                           e->refused_count > 20 ? ", .." : "");
        return !e->refused;
}

/* ---- writing ---- */

struct made *export_value(struct export *e, const struct value *v)
{
        if (!v)
                return NULL;
        if (v->kind != VALUE_CONSTANT)
                return v->scratch;
        struct value *held = &v->constant->value;
        bool splat = v->constant->kind == CONSTANT_SPLAT; /* It may be a node of this graph. */
        if (splat)
                return export_constant(e, v->constant);
        if (!held->scratch)
                held->scratch = export_constant(e, v->constant);
        return held->scratch;
}

void export_result(struct export *e, const struct op *op, int result, struct made *made)
{
        (void)e;
        op->results[result].scratch = made;
}

static void write_op(struct export *e, const struct op *op)
{
        const struct plan plan = e->plans[op->number - PLANNED];
        e->op = op;
        jmp_buf out;
        jmp_buf *const outer = dim_watch(&out);
        if (setjmp(out))
                export_refuse(e, op, "its form wants an extent as a number, which a run gives");
        else if (plan.write)
                plan.write(e, op, &plan);
        else
                export_refuse(e, op, export_rows[op->code].why);
        dim_watch(outer);
        for (int i = 0; i < op->result_count; i++) /* These are results of what was refused. */
                if (!op->results[i].scratch)
                        export_result(e, op, i, export_made(e, "refused", op->results[i].type));
}

void export_region(struct export *e, const struct region *region)
{
        for (const struct op *op = region->first; op; op = op->next)
                if (op->number >= PLANNED)
                        write_op(e, op);
}

struct graph *export_graph_new(struct export *e, const char *name)
{
        struct graph *g = ARENA_NEW(e->arena, struct graph);
        g->name = name;
        g->nodes_end = &g->nodes;
        return g;
}

/* Writes the outputs. Each has to be a value that a node of this graph makes, once. */
void write_yield(struct export *e, const struct op *op, const struct plan *plan)
{
        (void)plan;
        struct graph *g = e->graph;
        bool outermost = !op->region->owner;
        const struct port *ports = op->region->function->output_ports;
        int given = g->output_count; /* The writer of the operation that owns the region has given
                                      * so many. */
        g->output_count += op->operand_count;
        struct made **outputs = arena_array(e->arena, (size_t)g->output_count + 1, sizeof *outputs);
        for (int i = 0; i < given; i++)
                outputs[i] = g->outputs[i];
        g->outputs = outputs;
        for (int i = 0; i < op->operand_count; i++) {
                const struct value *v = op_operand(op, i);
                struct made *made = export_value(e, v);
                bool inside = v->kind == VALUE_RESULT && v->op->region == op->region;
                if (!inside || made->named)
                        made = export_unary(e, "Identity", made->type, made);
                made->named = true;
                if (outermost)
                        made->name = ports[i].name;
                outputs[given + i] = made;
        }
}

/* ---- the entry point ---- */

static bool is_plain(struct export *e, const struct type *t, const struct port *port)
{
        if (t->kind == TYPE_TENSOR && element_is_stored(t->element) && !port->is_text)
                return true;
        diag_error(e->diag, EXIT_UNSUPPORTED, "'%s' is %s, which --emit=onnx does not write",
                   text_safe(e->arena, port->name, strlen(port->name)),
                   port->is_text ? "of texts" : type_text(e->arena, e->m, t));
        return false;
}

/* Returns whether the text is UTF-8, as names of protobuf are. */
static bool is_utf8(const char *text)
{
        const unsigned char *p = (const unsigned char *)text;
        while (*p) {
                int more = *p < 0x80                 ? 0
                           : *p >= 0xc2 && *p < 0xe0 ? 1
                           : *p >= 0xe0 && *p < 0xf0 ? 2
                           : *p >= 0xf0 && *p < 0xf5 ? 3
                                                     : -1;
                bool over = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ||
                            (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90);
                if (more < 0 || over)
                        return false;
                for (p++; more; more--, p++)
                        if ((*p & 0xc0) != 0x80)
                                return false;
        }
        return true;
}

/* Returns the model's own names where they are fit and different, else such as are made of them. */
static const char *port_name(struct export *e, const char *name)
{
        if (*name && is_utf8(name) && export_name_take(e, name))
                return name;
        return export_name(e, e->names, text_safe(e->arena, name, strlen(name)));
}

static bool name_ports(struct export *e, struct function *f, struct graph *g)
{
        struct region *body = &f->body;
        g->input_count = body->argument_count;
        g->inputs = arena_array(e->arena, (size_t)g->input_count + 1, sizeof *g->inputs);
        for (int i = 0; i < body->argument_count; i++) {
                struct value *v = &body->arguments[i];
                if (!is_plain(e, v->type, &f->input_ports[i]))
                        return false;
                struct made *made = ARENA_NEW(e->arena, struct made);
                *made = (struct made){ port_name(e, f->input_ports[i].name), v->type, true };
                v->scratch = g->inputs[i] = made;
        }
        struct port *ports = arena_array(e->m->arena, (size_t)f->output_count + 1, sizeof *ports);
        for (int i = 0; i < f->output_count; i++) {
                if (!is_plain(e, op_operand(body->last, i)->type, &f->output_ports[i]))
                        return false;
                ports[i].name = port_name(e, f->output_ports[i].name);
        }
        f->output_ports = ports;
        return true;
}

/* Clears scratch, which has no owner between passes. */
static void forget(struct function *f)
{
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                for (int i = 0; i < op->result_count; i++)
                        op->results[i].scratch = NULL;
                for (int i = 0; i < op->region_count; i++)
                        for (int k = 0; k < op->regions[i]->argument_count; k++)
                                op->regions[i]->arguments[k].scratch = NULL;
        }
        for (int i = 0; i < f->body.argument_count; i++)
                f->body.arguments[i].scratch = NULL;
        for (struct constant *c = f->module->constants; c; c = c->next)
                c->value.scratch = NULL;
}

int64_t export_bytes(const struct module *m)
{
        int64_t sum = 0;
        for (const struct constant *c = m->constants; c; c = c->next)
                if (c->kind != CONSTANT_SPLAT && c->value.uses &&
                    !int_add(sum, (int64_t)constant_held_bytes(c), &sum))
                        return INT64_MAX;
        return sum;
}

static bool export_function(FILE *out, struct export *e, struct function *f,
                            const struct export_options *options)
{
        struct graph *g = export_graph_new(e, export_plain(e, *e->m->name ? e->m->name : f->name));
        e->graph = g;
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op))
                op->number = 0;
        if (!name_ports(e, f, g))
                return false;
        plan_region(e, &f->body);
        export_region(e, &f->body);
        if (!is_fine(e))
                return false;
        export_write(out, e, g, options);
        return true;
}

bool export_model(FILE *out, struct module *m, const struct export_options *options,
                  struct diag *diag)
{
        struct arena *arena = arena_new();
        struct export e = { .arena = arena,
                            .m = m,
                            .diag = diag,
                            .names = map_new(arena),
                            .node_names = map_new(arena),
                            .small = map_new(arena) };
        e.initializers_end = &e.initializers;
        struct function *f = module_entry(m);
        bool fine = f && !f->next;
        module_settle_constants(m);
        for (int i = 0; i < m->symbol_count; i++)
                if (m->symbols[i].counted) {
                        diag_error(diag, EXIT_UNSUPPORTED,
                                   "the data of a run say dimension '%s', which --emit=onnx does "
                                   "not write; declare the shape in the model (value_info)",
                                   text_safe(arena, m->symbols[i].name,
                                             strlen(m->symbols[i].name)));
                        arena_free(arena);
                        return false;
                }
        if (fine)
                fine = export_function(out, &e, f, options);
        else
                diag_error(diag, EXIT_UNSUPPORTED,
                           "--emit=onnx writes modules of one function, this one has %s",
                           f ? "more" : "none");
        for (; f; f = f->next)
                forget(f);
        arena_free(arena);
        return fine;
}
