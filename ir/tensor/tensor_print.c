/* SPDX-License-Identifier: MIT */
/* Prints Tensor IR; the grammar is in tensor_text.h. The text reads back to the same module, with
 * constants shared as before, so that a run from a dump gives the same C. */
#include "ir/tensor/tensor_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "ir/target/schedule.h"

struct printer {
        struct text *out;
        struct module *m;
        const struct tensor_print *options;
        struct arena *arena;
        size_t offset;                  /* The next constant has this offset in the constants'
                                         * file. */
        int next;                       /* The next result without a name gets this number. */
};

/* ---- constants ---- */

enum { FILE_ALIGNMENT = 64, LIST_ELEMENTS = 8 };

static void print_value(struct printer *p, const struct constant *c)
{
        enum element e = c->value.type->element;
        if (c->kind == CONSTANT_SPLAT) {
                literal_print(p->out, p->arena, e, c->held, 0);
                return;
        }
        int64_t count = type_elements(c->value.type);
        text_add(p->out, "[");
        for (int64_t i = 0; i < count; i++) {
                text_add(p->out, i ? ", " : "");
                literal_print(p->out, p->arena, e, c->held, (size_t)i);
        }
        text_add(p->out, "]");
}

static void print_positions(struct printer *p, const struct sparse *s)
{
        text_add(p->out, "[");
        for (int64_t i = 0; i < s->count; i++) {
                text_add(p->out, "%s%lld = ", i ? ", " : "", (long long)s->positions[i]);
                literal_print(p->out, p->arena, s->element, s->values, (size_t)i);
        }
        text_add(p->out, "]");
}

/* Returns how many values the constant is printed by. */
static int64_t listed_count(const struct constant *c)
{
        return c->kind == CONSTANT_SPARSE ? c->sparse->count : type_elements(c->value.type);
}

/* Returns the bytes of positions, which stand in front of the values. */
static size_t position_bytes(const struct constant *c)
{
        return c->sparse ? (size_t)c->sparse->count * sizeof *c->sparse->positions : 0;
}

static bool in_file(const struct printer *p, const struct constant *c)
{
        return p->options && p->options->blob && !p->options->elide &&
               listed_count(c) > LIST_ELEMENTS;
}

static size_t align_offset(size_t offset)
{
        return round_up(offset, FILE_ALIGNMENT);
}

static void print_constant(struct printer *p, struct constant *c)
{
        text_add(p->out, "const @%s : ", c->name);
        type_print(p->out, p->m, c->value.type);
        text_add(p->out, c->kind == CONSTANT_SPARSE ? " = sparse " : " = ");
        if (listed_count(c) <= LIST_ELEMENTS) {
                if (c->kind == CONSTANT_SPARSE)
                        print_positions(p, c->sparse);
                else
                        print_value(p, c);
                text_add(p->out, "\n");
                return;
        }
        if (c->kind == CONSTANT_SPARSE)
                text_add(p->out, "%lld ", (long long)c->sparse->count);
        if (p->options && p->options->elide) {
                text_add(p->out, "...");
        } else if (in_file(p, c)) {
                p->offset = align_offset(p->offset);
                text_add(p->out, "file %zu", p->offset);
                p->offset += constant_held_bytes(c);
        } else {
                text_add(p->out, "hex \"");
                if (c->kind == CONSTANT_SPARSE)
                        hex_print(p->out, c->sparse->positions, position_bytes(c));
                hex_print(p->out, c->sparse ? c->sparse->values : c->held,
                          constant_held_bytes(c) - position_bytes(c));
                text_add(p->out, "\"");
        }
        text_add(p->out, "\n");
}

/* Prints the bytes of all constants that go to the file, and the line that names it. */
static void print_file(struct printer *p)
{
        static const char zeros[FILE_ALIGNMENT];
        struct text *blob = p->options->blob;
        bool any = false;
        p->offset = blob->length;
        for (const struct constant *c = p->m->constants; c; c = c->next) {
                if (!c->name || !in_file(p, c))
                        continue;
                any = true;
                text_add_bytes(blob, zeros, align_offset(blob->length) - blob->length);
                if (c->kind == CONSTANT_SPARSE)
                        text_add_bytes(blob, (const char *)c->sparse->positions, position_bytes(c));
                text_add_bytes(blob, c->sparse ? c->sparse->values : c->held,
                               constant_held_bytes(c) - position_bytes(c));
        }
        if (!any)
                return;
        struct sha256 sha;
        char hex[65];
        sha256_init(&sha);
        sha256_update(&sha, blob->data, blob->length);
        sha256_hex(&sha, hex);
        text_add(p->out, "data ");
        quoted_print(p->out, p->options->file_name);
        text_add(p->out, " sha256 \"%s\" bytes %zu\n", hex, blob->length);
}

/* ---- operations ---- */

static void print_name(struct printer *p, const struct value *v)
{
        if (v->kind == VALUE_CONSTANT)
                text_add(p->out, "@%s", v->constant->name);
        else if (v->name && text_is_name(v->name))
                text_add(p->out, "%%%s", v->name);
        else
                text_add(p->out, "%%%d", v->number);
}

/* Returns the type that a bare literal among op's operands has, or NULL. */
static const struct type *bare_type(const struct op *op)
{
        if (!(op_info[op->code].traits & TRAIT_ELEMENTWISE))
                return NULL;
        for (int i = op->operand_count - 1; i >= 0; i--)
                if (op_operand(op, i) && !value_is_constant(op_operand(op, i)))
                        return op_operand(op, i)->type;
        return NULL;
}

static void print_operand(struct printer *p, const struct op *op, const struct value *v)
{
        if (!v) {
                text_add(p->out, "none");
                return;
        }
        if (!value_is_constant(v) || v->constant->name) {
                print_name(p, v);
                return;
        }
        if (v->constant->kind != CONSTANT_SPLAT || v->type != bare_type(op)) {
                type_print(p->out, p->m, v->type);
                text_add(p->out, " ");
        }
        print_value(p, v->constant);
}

static void print_operands(struct printer *p, const struct op *op)
{
        int count = 0, printed = 0;
        if (op->region_count && !op_info[op->code].operand_count) {
                struct value **captures = op_captures(p->arena, op, &count);
                for (int i = 0; i < count; i++)
                        if (!value_is_constant(captures[i]) || captures[i]->constant->name) {
                                text_add(p->out, printed++ ? ", " : "");
                                print_name(p, captures[i]);
                        }
                return;
        }
        for (int i = 0; i < op->operand_count; i++) {
                text_add(p->out, i ? ", " : "");
                print_operand(p, op, op_operand(op, i));
        }
}

static void print_attr(struct printer *p, const struct attr_info *info, const struct attr *a)
{
        bool preset = a->i == info->preset && info->kind != ATTR_TEXT;
        if (info->kind == ATTR_INTS) {
                preset = true;
                for (int i = 0; i < a->count; i++)
                        preset = preset && a->ints[i] == info->preset;
        }
        if (preset)
                return;
        text_add(p->out, " %s=", info->name);
        switch (info->kind) {
        case ATTR_INT:
                text_add(p->out, "%lld", (long long)a->i);
                break;
        case ATTR_INTS:
                for (int i = 0; i < a->count; i++)
                        text_add(p->out, "%s%lld", i ? ", " : "[", (long long)a->ints[i]);
                text_add(p->out, "]");
                break;
        case ATTR_ENUM:
                text_add(p->out, "%s", info->names[a->i]);
                break;
        case ATTR_ELEMENT:
                text_add(p->out, "%s", element_info[a->i].text);
                break;
        case ATTR_TEXT:
                text_add(p->out, "%s", a->text);
                break;
        }
}

/* Prints the location as a comment. It is safe text; if it were not, it still could not end its
 * line or its quotes. */
static void print_location(struct printer *p, const struct op *op)
{
        if (!op->location)
                return;
        text_add(p->out, "    ; \"");
        for (const char *c = op->location; *c; c++) {
                if ((unsigned char)*c < ' ' || *c == '"' || (unsigned char)*c > '~')
                        text_add(p->out, "\\x%02x", (unsigned char)*c);
                else
                        text_add_bytes(p->out, c, 1);
        }
        text_add(p->out, "\"");
}

/* Prints %a: TYPE, %b: TYPE, ...; ports: the model's names for them, or NULL. */
static void print_arguments(struct printer *p, const struct region *region,
                            const struct port *ports)
{
        for (int i = 0; i < region->argument_count; i++) {
                struct value *v = &region->arguments[i];
                if (!v->name || !text_is_name(v->name))
                        v->number = p->next++;
                text_add(p->out, i ? ", " : "");
                print_name(p, v);
                if (ports) {
                        text_add(p->out, " ");
                        quoted_print(p->out, ports[i].name);
                        text_add(p->out, ports[i].is_text ? " text" : "");
                        if (ports[i].next) {
                                text_add(p->out, " next ");
                                quoted_print(p->out, ports[i].next);
                        }
                        if (ports[i].grows)
                                text_add(p->out, " along %d to %s", ports[i].along,
                                         dim_text(p->arena, p->m, ports[i].rows));
                }
                text_add(p->out, ": ");
                type_print(p->out, p->m, v->type);
        }
}

static void print_region_head(struct printer *p, const struct region *region)
{
        text_add(p->out, " {");
        if (!region || !region->argument_count)
                return;
        text_add(p->out, "(");
        print_arguments(p, region, NULL);
        text_add(p->out, ")");
}

static void print_ops(struct printer *p, const struct region *region, int indent);

static void print_op(struct printer *p, struct op *op, int indent)
{
        const struct op_info *info = &op_info[op->code];
        text_add(p->out, "%*s", indent, "");
        for (int i = 0; i < op->result_count; i++) {
                struct value *v = &op->results[i];
                if (!v->name || !text_is_name(v->name))
                        v->number = p->next++;
                text_add(p->out, i ? ", " : "");
                print_name(p, v);
        }
        text_add(p->out, "%s%s(", op->result_count ? " = " : "", info->name);
        print_operands(p, op);
        text_add(p->out, ")");
        for (int i = 0; i < info->attr_count; i++)
                print_attr(p, &info->attrs[i], &op->attrs[i]);
        if (op->schedule) {
                text_add(p->out, " schedule=\"");
                schedule_print(p->out, op->schedule);
                text_add(p->out, "\"");
        }
        for (int i = 0; i < op->result_count; i++) {
                text_add(p->out, i ? ", " : " : ");
                type_print(p->out, p->m, op->results[i].type);
        }
        if (op->region_count)
                print_region_head(p, op->regions[0]);
        print_location(p, op);
        text_add(p->out, "\n");
        for (int i = 0; i < op->region_count; i++) {
                if (op->regions[i])
                        print_ops(p, op->regions[i], indent + 2);
                text_add(p->out, "%*s}", indent, "");
                if (i + 1 < op->region_count) {
                        text_add(p->out, " else");
                        print_region_head(p, op->regions[i + 1]);
                }
                text_add(p->out, "\n");
        }
}

/* Prints the operations. The recursion is as deep as regions are nested, NESTING_MAX at most. */
static void print_ops(struct printer *p, const struct region *region, int indent)
{
        for (struct op *op = region->first; op; op = op->next)
                print_op(p, op, indent);
}

static void print_function(struct printer *p, const struct function *f)
{
        text_add(p->out, "func @%s(", f->name);
        p->next = 0;
        print_arguments(p, &f->body, f->input_ports);
        text_add(p->out, ") -> (");
        for (int i = 0; i < f->output_count; i++) {
                text_add(p->out, i ? ", " : "");
                quoted_print(p->out, f->output_ports[i].name);
                text_add(p->out, f->output_ports[i].is_text ? " text" : "");
        }
        text_add(p->out, ")");
        for (int i = 0; i < f->next_count; i++) {
                text_add(p->out, i ? ", " : " next ");
                symbol_print(p->out, p->m->symbols[f->next_extents[i].symbol].name);
                text_add(p->out, " = %s", dim_text(p->arena, p->m, f->next_extents[i].next));
        }
        if (f->general)
                text_add(p->out, " likely @%s", f->general->name);
        for (int i = 0; i < f->likely_count; i++) {
                text_add(p->out, i ? ", " : " ");
                symbol_print(p->out, p->m->symbols[f->likely[i].symbol].name);
                text_add(p->out, " = %lld", (long long)f->likely[i].extent);
        }
        text_add(p->out, " {\n");
        print_ops(p, &f->body, 2);
        text_add(p->out, "}\n");
}

void tensor_print(struct text *out, struct module *m, const struct tensor_print *options)
{
        struct printer p = { .out = out, .m = m, .options = options, .arena = arena_new() };
        module_settle_constants(m);
        text_add(out, "dnn %d\nmodule \"%s\"", TENSOR_VERSION, m->name);
        if (m->source[0])
                text_add(out, " source \"%s\"", m->source);
        if (m->command[0])
                text_add(out, " command \"%s\"", m->command);
        if (m->within[0])
                text_add(out, " within \"%s\"", m->within);
        if (m->passes_done[0])
                text_add(out, " passes \"%s\"", m->passes_done);
        text_add(out, "\n");
        if (options && options->blob)
                print_file(&p);
        for (int i = 0; i < m->symbol_count; i++) {
                text_add(out, "symbol ");
                symbol_print(out, m->symbols[i].name);
                if (m->symbols[i].at_run)
                        text_add(out, " in [%lld, %lld]%s\n", (long long)m->symbols[i].least,
                                 (long long)m->symbols[i].bound,
                                 m->symbols[i].counted ? " counted" : "");
                else
                        text_add(out, " <= %lld\n", (long long)m->symbols[i].bound);
        }
        for (struct constant *c = m->constants; c; c = c->next)
                if (c->name)
                        print_constant(&p, c);
        for (const struct function *f = m->functions; f; f = f->next)
                print_function(&p, f);
        arena_free(p.arena);
}
