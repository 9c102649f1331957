/* SPDX-License-Identifier: MIT */
/* Tensor IR is written for other tools: --emit=dot is a drawing for Graphviz, and --emit=json is
 * JSON. Values are called as in the IR's text. */
#include "compiler/emit.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "ir/target/schedule.h"
#include "ir/tensor/tensor_text.h"

struct graph {
        FILE *out;
        struct module *m;
        struct arena *arena;
        int next;
        const char *of;                 /* Names of nodes begin with this: the function, where there
                                         * are several. */
};

static bool is_named(const struct value *v) { return v->name && *v->name; }

static const char *name_of(struct graph *g, const struct value *v)
{
        if (v->kind == VALUE_CONSTANT)
                return v->constant->name ? arena_printf(g->arena, "@%s", v->constant->name) : "";
        return is_named(v) ? arena_printf(g->arena, "%%%s", v->name)
                           : arena_printf(g->arena, "%%%d", v->number);
}

/* Numbers what has no name, in the order of the text. */
static void number_values(struct graph *g, struct region *region)
{
        for (int i = 0; i < region->argument_count; i++)
                if (!is_named(&region->arguments[i]))
                        region->arguments[i].number = g->next++;
        for (struct op *op = region->first; op; op = op->next) {
                for (int i = 0; i < op->result_count; i++)
                        if (!is_named(&op->results[i]))
                                op->results[i].number = g->next++;
                for (int i = 0; i < op->region_count; i++)
                        if (op->regions[i])
                                number_values(g, op->regions[i]);
        }
}

/* ---- dot ---- */

/* Returns the elements of a constant without a name: one for all, or a list. */
static const char *elements_text(struct graph *g, const struct constant *c)
{
        struct text text = { 0 };
        int64_t count = c->kind == CONSTANT_SPLAT ? 1 : type_elements(c->value.type);
        for (int64_t i = 0; i < count; i++) {
                text_add(&text, i ? ", " : "");
                literal_print(&text, g->arena, c->value.type->element, constant_data(c), (size_t)i);
        }
        const char *copy = arena_string(g->arena, text.data ? text.data : "");
        text_free(&text);
        return copy;
}

static const char *constant_text(struct graph *g, const struct constant *c)
{
        return c->name ? name_of(g, &c->value) : elements_text(g, c);
}

static const char *schedule_of(struct graph *g, const struct op *op)
{
        struct text text = { 0 };
        schedule_print(&text, op->schedule);
        const char *copy = arena_string(g->arena, text.data);
        text_free(&text);
        return copy;
}

static void put_label(struct graph *g, const struct op *op)
{
        fprintf(g->out, "%s", op_info[op->code].name);
        if (op->code == OP_fusion)
                for (const struct op *inner = op->regions[0]->first; inner && inner->next;
                     inner = inner->next)
                        fprintf(g->out, "\\l  %s", op_info[inner->code].name);
        for (int i = 0; i < op->operand_count; i++)
                if (op_operand(op, i) && value_is_constant(op_operand(op, i)))
                        fprintf(g->out, "\\l%s", constant_text(g, op_operand(op, i)->constant));
        if (op->schedule)
                fprintf(g->out, "\\l%s", schedule_of(g, op));
        fputs("\\l", g->out);
}

/* Returns the operation, directly in `region`, that v comes from; NULL stands for an argument or a
 * constant. */
static const struct op *origin(const struct value *v, const struct region *region)
{
        const struct op *op = v->kind == VALUE_RESULT ? v->op : NULL;
        while (op && op->region != region)
                op = op->region->owner;
        return op;
}

static void put_edge(struct graph *g, const struct value *v, const struct op *user)
{
        if (!v || value_is_constant(v))
                return;
        fprintf(g->out, "  \"%s%s\" -> \"%sop%d\" [label=\"%s\"];\n", g->of,
                v->kind == VALUE_RESULT
                        ? arena_printf(g->arena, "op%d", origin(v, user->region)->number)
                        : name_of(g, v),
                g->of, user->number, type_text(g->arena, g->m, v->type));
}

static void put_operation(struct graph *g, const struct op *op)
{
        fprintf(g->out, "  \"%sop%d\" [label=\"", g->of, op->number);
        put_label(g, op);
        fputs("\"", g->out);
        if (op->location)
                fprintf(g->out, ", tooltip=\"%s\"",
                        text_literal(g->arena, op->location, strlen(op->location)));
        fputs("];\n", g->out);
        for (int i = 0; i < op->operand_count; i++)
                put_edge(g, op_operand(op, i), op);
        int count = 0;
        struct value **captures = op->region_count ? op_captures(g->arena, op, &count) : NULL;
        for (int i = 0; i < count; i++)
                put_edge(g, captures[i], op);
}

/* Writes a function, where operations with regions are one node. One of several functions is a
 * cluster. */
static void put_function_dot(struct graph *g, struct function *f)
{
        const bool several = g->m->functions->next;
        int number = 0;
        g->of = several ? arena_printf(g->arena, "%s/", f->name) : "";
        if (several)
                fprintf(g->out, "  subgraph \"cluster_%s\" {\n  label=\"%s\";\n", f->name,
                        f->name);
        g->next = 0;
        number_values(g, &f->body);
        for (struct op *op = f->body.first; op; op = op->next)
                op->number = number++;
        for (int i = 0; i < f->body.argument_count; i++)
                fprintf(g->out, "  \"%s%s\" [shape=ellipse];\n", g->of,
                        name_of(g, &f->body.arguments[i]));
        for (const struct op *op = f->body.first; op; op = op->next)
                put_operation(g, op);
        if (several)
                fputs("  }\n", g->out);
}

bool write_dot_graph(struct run *run, const struct emit_files *files)
{
        FILE *out = files->out;
        struct module *m = run->state.module;
        struct graph g = { .out = out, .m = m, .arena = arena_new() };
        module_settle_constants(m);
        fprintf(out,
                "digraph \"%s\" {\n  node [shape=box, fontname=monospace];\n  edge "
                "[fontname=monospace, fontsize=10];\n",
                m->name);
        for (struct function *f = m->functions; f; f = f->next)
                put_function_dot(&g, f);
        fputs("}\n", out);
        arena_free(g.arena);
        return true;
}

/* ---- JSON ---- */

static void put_type(struct graph *g, const struct type *t)
{
        if (t->kind != TYPE_TENSOR) {
                json_member(g->out, "{", t->kind == TYPE_SEQUENCE ? "sequence" : "optional",
                            type_text(g->arena, g->m, t->of));
                fputs("}", g->out);
                return;
        }
        json_member(g->out, "{", "element", element_info[t->element].text);
        fputs(", \"shape\": [", g->out);
        for (int i = 0; i < t->rank; i++) {
                fputs(i ? ", " : "", g->out);
                if (dim_is_static(t->dims[i]))
                        fprintf(g->out, "%" PRId64, type_extent(t, i));
                else
                        json_string(g->out, dim_text(g->arena, g->m, t->dims[i]));
        }
        fputs("]}", g->out);
}

static void put_value(struct graph *g, const char *before, const struct value *v)
{
        json_member(g->out, before, "name", name_of(g, v));
        fputs(", \"type\": ", g->out);
        put_type(g, v->type);
}

/* Writes a name, null where an optional operand is missing, and for a constant without a name its
 * elements: one for all, or a list. */
static void put_operand(struct graph *g, const struct value *v)
{
        if (!v) {
                fputs("null", g->out);
                return;
        }
        if (!value_is_constant(v) || v->constant->name) {
                json_string(g->out, name_of(g, v));
                return;
        }
        fputs("{\"type\": ", g->out);
        put_type(g, v->type);
        fputs(", \"elements\": ", g->out);
        json_string(g->out, elements_text(g, v->constant));
        fputs("}", g->out);
}

static void put_attribute(struct graph *g, const struct attr_info *info, const struct attr *a)
{
        fputs("\"", g->out);
        fputs(info->name, g->out);
        fputs("\": ", g->out);
        switch (info->kind) {
        case ATTR_INT:
                fprintf(g->out, "%" PRId64, a->i);
                break;
        case ATTR_INTS:
                for (int i = 0; i < a->count; i++)
                        fprintf(g->out, "%s%" PRId64, i ? ", " : "[", a->ints[i]);
                fputs(a->count ? "]" : "[]", g->out);
                break;
        case ATTR_ENUM:
                json_string(g->out, info->names[a->i]);
                break;
        case ATTR_ELEMENT:
                json_string(g->out, a->i == E_COMPUTE ? "" : element_info[a->i].text);
                break;
        case ATTR_TEXT:
                json_string(g->out, a->text);
                break;
        }
}

static void put_region(struct graph *g, const struct region *region, int indent);

static void put_op(struct graph *g, const struct op *op, int indent)
{
        const struct op_info *info = &op_info[op->code];
        fprintf(g->out, "%*s", indent, "");
        json_member(g->out, "{", "op", info->name);
        fputs(", \"operands\": [", g->out);
        for (int i = 0; i < op->operand_count; i++) {
                fputs(i ? ", " : "", g->out);
                put_operand(g, op_operand(op, i));
        }
        fputs("], \"attributes\": {", g->out);
        for (int i = 0; i < info->attr_count; i++) {
                fputs(i ? ", " : "", g->out);
                put_attribute(g, &info->attrs[i], &op->attrs[i]);
        }
        fputs("}, \"results\": [", g->out);
        for (int i = 0; i < op->result_count; i++) {
                put_value(g, i ? ", {" : "{", &op->results[i]);
                fputs("}", g->out);
        }
        fputs("]", g->out);
        if (op->schedule)
                json_member(g->out, ", ", "schedule", schedule_of(g, op));
        if (op->location)
                json_member(g->out, ", ", "location", op->location);
        if (op->region_count)
                fputs(", \"regions\": [", g->out);
        for (int i = 0; i < op->region_count; i++) {
                fputs(i ? ",\n" : "\n", g->out);
                put_region(g, op->regions[i], indent + 2);
        }
        fputs(op->region_count ? "]}" : "}", g->out);
}

/* Recursion goes as deep as regions are nested, NESTING_MAX at most. */
static void put_region(struct graph *g, const struct region *region, int indent)
{
        fprintf(g->out, "%*s{\"arguments\": [", indent, "");
        for (int i = 0; i < region->argument_count; i++) {
                put_value(g, i ? ", {" : "{", &region->arguments[i]);
                if (!region->owner)
                        json_member(g->out, ", ", "port", region->function->input_ports[i].name);
                fputs("}", g->out);
        }
        fputs("], \"operations\": [\n", g->out);
        for (const struct op *op = region->first; op; op = op->next) {
                put_op(g, op, indent + 2);
                fputs(op->next ? ",\n" : "\n", g->out);
        }
        fprintf(g->out, "%*s]}", indent, "");
}

static void put_function_json(struct graph *g, struct function *f)
{
        g->next = 0;
        number_values(g, &f->body);
        json_member(g->out, "    {", "name", f->name);
        fputs(", \"outputs\": [", g->out);
        for (int i = 0; i < f->output_count; i++) {
                fputs(i ? ", " : "", g->out);
                json_string(g->out, f->output_ports[i].name);
        }
        fputs("], \"body\":\n", g->out);
        put_region(g, &f->body, 6);
        fputs(f->next ? "},\n" : "}\n", g->out);
}

bool write_json_graph(struct run *run, const struct emit_files *files)
{
        FILE *out = files->out;
        struct module *m = run->state.module;
        struct graph g = { .out = out, .m = m, .arena = arena_new() };
        module_settle_constants(m);
        fprintf(out, "{\n  \"dnn\": %d, ", TENSOR_VERSION);
        json_member(out, "", "module", m->name);
        json_member(out, ", ", "source", m->source);
        json_member(out, ", ", "passes", m->passes_done);
        fputs(",\n  \"symbols\": [", out);
        for (int i = 0; i < m->symbol_count; i++) {
                json_member(out, i ? ", {" : "{", "name", m->symbols[i].name);
                fprintf(out, ", \"bound\": %" PRId64 "}", m->symbols[i].bound);
        }
        fputs("],\n  \"constants\": [", out);
        bool first = true;
        for (struct constant *c = m->constants; c; c = c->next) {
                if (!c->name)
                        continue;
                put_value(&g, first ? "\n    {" : ",\n    {", &c->value);
                fputs("}", out);
                first = false;
        }
        fputs("\n  ],\n  \"functions\": [\n", out);
        for (struct function *f = m->functions; f; f = f->next)
                put_function_json(&g, f);
        fputs("  ]\n}\n", out);
        arena_free(g.arena);
        return true;
}
