/* SPDX-License-Identifier: MIT */
/* Reads Tensor IR back: functions and operations. */
#include "ir/target/schedule.h"
#include "ir/tensor/tensor_reader.h"

#include <ctype.h>
#include <string.h>

/* A value's name in the function being read. Names are never reused, even behind their region's
 * end. */
struct name_entry {
        struct value *value;
        bool visible;
        struct name_entry *before;      /* This name was defined before it in the same region. */
};

/* The region being read, with the names defined in it. */
struct scope { struct region *region; struct name_entry *names; };

static bool define(struct reader *r, struct scope *scope, const char *name, struct value *v)
{
        size_t length = strlen(name);
        if (map_get(r->values, name, length))
                return reader_fail(r, "%%%s is defined twice", name);
        struct name_entry *e = ARENA_NEW(r->arena, struct name_entry);
        *e = (struct name_entry){ v, true, scope->names };
        scope->names = e;
        map_set(r->values, name, length, e);
        if (text_is_name(name))
                v->name = arena_string(r->m->arena, name);
        return true;
}

static struct value *look_up(struct reader *r)
{
        const char *name = reader_name(r, '%', "a value");
        if (!name)
                return NULL;
        struct name_entry *e = map_get(r->values, name, strlen(name));
        if (e && e->visible)
                return e->value;
        reader_fail(r, e ? "%%%s is not visible outside its region" : "%%%s is not defined", name);
        return NULL;
}

static struct value *look_up_constant(struct reader *r)
{
        const char *name = reader_name(r, '@', "a constant");
        struct value *v = name ? map_get(r->constants, name, strlen(name)) : NULL;
        if (name && !v)
                reader_fail(r, "@%s is not defined", name);
        return v;
}

/* ---- arguments of regions ---- */

struct argument {
        char *name, *port, *next;
        bool is_text, grows;
        int64_t along;
        dim_t rows;
        const struct type *type;
};

static bool read_arguments(struct reader *r, struct argument **arguments, int *count)
{
        if (!reader_expect(r, "("))
                return false;
        if (reader_accept(r, ")"))
                return true;
        do {
                struct argument a = { .name = reader_name(r, '%', "an argument") };
                if (!a.name)
                        return false;
                a.port = reader_at(r, "\"") ? reader_string(r, "an input's name") : a.name;
                if (!a.port)
                        return false;
                a.is_text = a.port != a.name && reader_accept_word(r, "text");
                if (a.port != a.name && reader_accept_word(r, "next") &&
                    !(a.next = reader_string(r, "an output's name")))
                        return false;
                a.grows = a.next && reader_accept_word(r, "along");
                if (a.grows && !reader_int(r, "an axis", 0, RANK_MAX - 1, &a.along))
                        return false;
                if (a.grows && !reader_accept_word(r, "to"))
                        return reader_fail(r, "want `to` and how many rows there are");
                if (a.grows && !reader_dim(r, &a.rows))
                        return false;
                if (!reader_expect(r, ":") || !(a.type = reader_type(r)))
                        return false;
                ARENA_GROW(r->arena, *arguments, *count);
                (*arguments)[(*count)++] = a;
        } while (reader_accept(r, ","));
        return reader_expect(r, ")");
}

/* Adds a region's arguments. A function's inputs have names of their own, their ports; arguments of
 * other regions have none. */
static bool add_arguments(struct reader *r, struct region *region, struct scope *scope,
                          const struct argument *arguments, int count)
{
        /* Passes may add some. */
        region_reserve(region, region->owner ? count : 2 * count);
        for (int i = 0; i < count; i++) {
                const struct argument *a = &arguments[i];
                struct value *v = region->owner
                                          ? region_add_argument(region, a->type, a->name)
                                          : function_add_input(region->function, a->port, a->type);
                if (!region->owner)
                        region->function->input_ports[i] =
                                (struct port){ .name = region->function->input_ports[i].name,
                                               .is_text = a->is_text, .next = a->next,
                                               .grows = a->grows, .along = (int)a->along,
                                               .rows = a->rows };
                names_reserve(region->function->names, a->name);
                v->name = NULL;                 /* The name is the text's, unless that is a
                                                 * number. */
                if (!define(r, scope, a->name, v))
                        return false;
        }
        return true;
}

/* ---- an operation as it is written ---- */

struct written {
        enum opcode code;
        int result_count, operand_count, type_count, capture_count;
        char **results;
        struct value **operands, **captures;
        const char **bare;              /* Each operand has the place of its bare literal here, or
                                         * NULL. */
        struct attr *attrs;
        bool attr_given[ATTR_MAX];
        const struct type **types;
        const char *location;
        const struct schedule *schedule;
        struct argument *arguments;     /* The first region has these arguments. */
        int argument_count;
};

static bool read_results(struct reader *r, struct written *w)
{
        while (reader_at(r, "%")) {
                char *name = reader_name(r, '%', "a result");
                if (!name)
                        return false;
                ARENA_GROW(r->arena, w->results, w->result_count);
                w->results[w->result_count++] = name;
                if (!reader_accept(r, ","))
                        return reader_expect(r, "=");
                if (!reader_at(r, "%"))
                        return reader_fail(r, "a result is missing behind the comma");
        }
        return true;
}

static bool read_opcode(struct reader *r, struct written *w)
{
        const char *word = reader_word(r, "an operation");
        return word && (opcode_from_text(word, strlen(word), &w->code) ||
                        reader_fail(r, "there is no operation %s",
                                    text_safe(r->arena, word, strlen(word))));
}

static bool ends_operand(char c) { return strchr(",() \t\r\n;", c) != NULL; }

/* Reads an operand; a bare literal is left for later, when the others' types are known. */
static bool read_operand(struct reader *r, struct value **v, const char **bare)
{
        *bare = NULL;
        *v = NULL;
        if (reader_accept_word(r, "none"))
                return true;
        if (reader_at(r, "%"))
                return (*v = look_up(r)) != NULL;
        if (reader_at(r, "@"))
                return (*v = look_up_constant(r)) != NULL;
        if (reader_at_type(r)) {
                const struct type *t = reader_type(r);
                return t && (*v = reader_value(r, t, NULL));
        }
        reader_skip(r);
        *bare = r->p;
        while (r->p < r->end && !ends_operand(*r->p))
                r->p++;
        return r->p > *bare || reader_fail(r, "an operand is missing");
}

/* Gives bare literals their type: that of the last operand that is not constant. */
static bool resolve_bare(struct reader *r, struct written *w)
{
        const struct type *type = NULL;
        for (int i = 0; i < w->operand_count; i++)
                if (w->operands[i] && !value_is_constant(w->operands[i]))
                        type = w->operands[i]->type;
        const char *behind = r->p;
        for (int i = 0; i < w->operand_count; i++) {
                if (!w->bare[i])
                        continue;
                unsigned char element[16];
                r->p = w->bare[i];
                if (!(op_info[w->code].traits & TRAIT_ELEMENTWISE) || !type ||
                    type->kind != TYPE_TENSOR || !element_is_stored(type->element))
                        return reader_fail(r, "a number without a type: write <f32> 0.5");
                if (!reader_literal(r, type->element, element, 0))
                        return false;
                if (r->p < r->end && !ends_operand(*r->p))
                        return reader_fail(r, "a number goes on in a way it cannot");
                w->operands[i] = constant_splat(r->m, type, element);
        }
        r->p = behind;
        return true;
}

static bool read_operands(struct reader *r, struct written *w)
{
        bool captures = op_info[w->code].region_count && !op_info[w->code].operand_count;
        int room = 0;
        if (!reader_expect(r, "("))
                return false;
        if (reader_accept(r, ")"))
                return true;
        do {
                ARENA_GROW(r->arena, w->operands, room);
                ARENA_GROW(r->arena, w->bare, room);
                if (!read_operand(r, &w->operands[room], &w->bare[room]))
                        return false;
                room++;
        } while (reader_accept(r, ","));
        w->operand_count = room;
        if (!reader_expect(r, ")") || !resolve_bare(r, w))
                return false;
        if (captures) {
                w->captures = w->operands;
                w->capture_count = room;
                w->operand_count = 0;
        }
        return true;
}

/* Reads a list; a number alone is a list of one. */
static bool read_ints(struct reader *r, const char *name, struct attr *a)
{
        const bool one = !reader_at(r, "[") && r->p < r->end &&
                         (*r->p == '-' || isdigit((unsigned char)*r->p));
        if (!one && !reader_expect(r, "["))
                return false;
        if (!one && reader_accept(r, "]"))
                return true;
        do {
                ARENA_GROW(r->m->arena, a->ints, a->count);
                if (!reader_int(r, name, INT64_MIN, INT64_MAX, &a->ints[a->count++]))
                        return false;
        } while (!one && reader_accept(r, ","));
        return one || reader_expect(r, "]");
}

static bool read_attr_value(struct reader *r, const struct attr_info *info, struct attr *a)
{
        enum element e;
        const char *word;
        switch (info->kind) {
        case ATTR_INT:
                return reader_int(r, info->name, INT64_MIN, INT64_MAX, &a->i);
        case ATTR_INTS:
                return read_ints(r, info->name, a);
        case ATTR_ENUM:
                if (!(word = reader_word(r, info->name)))
                        return false;
                for (a->i = 0; info->names[a->i]; a->i++)
                        if (!strcmp(info->names[a->i], word))
                                return true;
                return reader_fail(r, "%s cannot be %s", info->name,
                                   text_safe(r->arena, word, strlen(word)));
        case ATTR_ELEMENT:
                if (!(word = reader_word(r, info->name)))
                        return false;
                if (!element_from_text(word, strlen(word), &e))
                        return reader_fail(r, "%s is no element type",
                                           text_safe(r->arena, word, strlen(word)));
                a->i = e;
                return true;
        case ATTR_TEXT:
                if (!(word = reader_word(r, info->name)))
                        return false;
                a->text = arena_string(r->m->arena, word);
                return true;
        }
        return false;
}

static const struct schedule *read_schedule(struct reader *r)
{
        struct schedule schedule;
        const char *wrong, *text = reader_expect(r, "=") ? reader_remark(r, "a schedule") : NULL;
        if (!text)
                return NULL;
        if (!strcspn(text, ";")) {
                reader_fail(r, "a schedule without words");
                return NULL;
        }
        if (!schedule_parse(text, &schedule, &wrong)) {
                reader_fail(r, "a schedule cannot say '%.*s'", (int)strcspn(wrong, " "), wrong);
                return NULL;
        }
        return schedule_keep(r->m->arena, schedule);
}

/* Reads name=value ... up to the types; an operation without results ends with its last
 * attribute. */
static bool read_attrs(struct reader *r, struct written *w)
{
        const struct op_info *info = &op_info[w->code];
        w->attrs = attrs_new(r->m, w->code);
        while (w->result_count && !reader_at(r, ":") && r->p < r->end) {
                const char *name = reader_word(r, "an attribute or ':'");
                if (!name)
                        return false;
                if (!strcmp(name, "schedule") && !w->schedule) {
                        if (!(w->schedule = read_schedule(r)))
                                return false;
                        continue;
                }
                int i = 0;
                while (i < info->attr_count && strcmp(info->attrs[i].name, name))
                        i++;
                if (i == info->attr_count)
                        return reader_fail(r, "%s has no attribute %s", info->name,
                                           text_safe(r->arena, name, strlen(name)));
                if (w->attr_given[i])
                        return reader_fail(r, "%s is given twice", name);
                w->attr_given[i] = true;
                if (!reader_expect(r, "=") || !read_attr_value(r, &info->attrs[i], &w->attrs[i]))
                        return false;
        }
        return true;
}

static bool read_types(struct reader *r, struct written *w)
{
        if (!w->result_count)
                return true;
        if (!reader_expect(r, ":"))
                return false;
        do {
                const struct type *t = reader_type(r);
                if (!t)
                        return false;
                ARENA_GROW(r->arena, w->types, w->type_count);
                w->types[w->type_count++] = t;
        } while (reader_accept(r, ","));
        const struct op_info *info = &op_info[w->code];
        if (w->type_count != w->result_count)
                return reader_fail(r, "%d results have %d types", w->result_count, w->type_count);
        return info->region_count || w->result_count == info->result_count ||
               reader_fail(r, "%s has %d results, not %d", info->name, info->result_count,
                           w->result_count);
}

/* ---- building it ---- */

/* Builds the operation; a type error is reported with the line. */
static struct op *build(struct reader *r, const struct scope *scope, const struct written *w)
{
        const struct op_info *info = &op_info[w->code];
        if (!w->result_count && info->result_count) {
                reader_fail(r, "the result of %s has no name", info->name);
                return NULL;
        }
        struct builder b = { .m = r->m,
                             .region = scope->region,
                             .location = w->location,
                             .diag = r->diag };
        const char *place = r->diag->place;
        r->diag->place = reader_place(r);
        struct op *op = op_build_results(&b, w->code, w->operands, w->operand_count, w->attrs,
                                         w->types, w->result_count, info->region_count);
        r->diag->place = place;
        r->failed = !op;
        if (op)
                op->schedule = w->schedule;
        return op;
}

static bool infer_again(struct reader *r, struct op *op)
{
        const char *place = r->diag->place;
        r->diag->place = reader_place(r);
        r->failed = !op_infer(r->m, op, r->diag);
        r->diag->place = place;
        return !r->failed;
}

/* Checks the list in parentheses against the values that the regions really take from outside;
 * constants written in place are not in it. */
static bool check_captures(struct reader *r, const struct op *op, const struct written *w)
{
        int count, listed = 0;
        struct value **captures = op_captures(r->arena, op, &count);
        for (int i = 0; i < count; i++) {
                bool here = listed < w->capture_count && w->captures[listed] == captures[i];
                const struct constant *c = captures[i]->constant;
                if (here)
                        listed++;
                else if (!c || (c->name && c->kind != CONSTANT_SPLAT))
                        return reader_fail(r,
                                           "value %d that %s takes from outside is not in its list",
                                           i + 1, op_info[op->code].name);
        }
        return listed == w->capture_count ||
               reader_fail(r, "%s lists a value that it does not use, or not in this place",
                           op_info[op->code].name);
}

/* Reads the brace, and arguments if there are any. */
static bool read_region_head(struct reader *r, struct written *w)
{
        w->argument_count = 0;
        return reader_expect(r, "{") &&
               (!reader_at(r, "(") || read_arguments(r, &w->arguments, &w->argument_count));
}

static bool read_region(struct reader *r, struct region *region, const struct written *w);

static bool read_regions(struct reader *r, struct op *op, struct written *w)
{
        for (int i = 0; i < op->region_count; i++) {
                if (i && (!reader_accept_word(r, "else") || !read_region_head(r, w)))
                        return reader_fail(r, "%s has %d regions, joined by else",
                                           op_info[op->code].name, op->region_count);
                if (!read_region(r, op_add_region(op, i), w))
                        return false;
        }
        if (!infer_again(r, op))
                return false;
        return op_info[op->code].operand_count || check_captures(r, op, w);
}

static bool read_op(struct reader *r, struct scope *scope)
{
        struct written w = { 0 };
        if (!read_results(r, &w) || !read_opcode(r, &w) || !read_operands(r, &w) ||
            !read_attrs(r, &w) || !read_types(r, &w) ||
            (op_info[w.code].region_count && !read_region_head(r, &w)))
                return false;
        w.location = reader_location(r);
        struct op *op = build(r, scope, &w);
        if (!op || (op->region_count && !read_regions(r, op, &w)))
                return false;
        for (int i = 0; i < w.result_count; i++)
                if (!define(r, scope, w.results[i], &op->results[i]))
                        return false;
        return true;
}

static bool read_ops(struct reader *r, struct scope *scope)
{
        while (!reader_accept(r, "}")) {
                reader_skip(r);
                if (scope->region->last && scope->region->last->code == OP_yield)
                        return reader_fail(r, "a region goes on behind its yield");
                if (!read_op(r, scope))
                        return false;
        }
        return (scope->region->last && scope->region->last->code == OP_yield) ||
               reader_fail(r, "a region ends without a yield");
}

/* Reads a region. The recursion is as deep as regions are nested: op_build stops at NESTING_MAX. */
static bool read_region(struct reader *r, struct region *region, const struct written *w)
{
        struct scope scope = { .region = region };
        if ((w->argument_count &&
             !add_arguments(r, region, &scope, w->arguments, w->argument_count)) ||
            !read_ops(r, &scope))
                return false;
        for (struct name_entry *e = scope.names; e; e = e->before)
                e->visible = false;
        return true;
}

/* ---- functions ---- */

static bool read_outputs(struct reader *r, struct function *f)
{
        if (!reader_expect(r, "->") || !reader_expect(r, "("))
                return false;
        do {
                const char *port = reader_string(r, "an output's name");
                if (!port)
                        return false;
                ARENA_GROW(r->m->arena, f->output_ports, f->output_count);
                f->output_ports[f->output_count].is_text = reader_accept_word(r, "text");
                f->output_ports[f->output_count++].name = port;
        } while (reader_accept(r, ","));
        if (!reader_expect(r, ")"))
                return false;
        bool more = reader_accept_word(r, "next");
        for (; more; more = reader_accept(r, ","))
                if (!reader_next_extent(r, f))
                        return false;
        return true;
}

/* Reads which function's code this one is, and for which extents. */
static bool read_likely(struct reader *r, struct function *f)
{
        if (!reader_accept_word(r, "likely"))
                return true;
        const char *name = reader_name(r, '@', "a function");
        struct function *general = name ? map_get(r->functions, name, strlen(name)) : NULL;
        if (!name)
                return false;
        if (!general || general == f || general->general)
                return reader_fail(r, "func @%s cannot be likely @%s", f->name, name);
        do {
                if (!reader_likely_extent(r, f, general))
                        return false;
        } while (reader_accept(r, ","));
        return true;
}

bool reader_function(struct reader *r)
{
        const char *name = reader_name(r, '@', "the function's name");
        if (!name)
                return false;
        if (!text_is_name(name))
                return reader_fail(r, "%s is no name for a function", name);
        if (map_get(r->functions, name, strlen(name)))
                return reader_fail(r, "func @%s is defined twice", name);
        struct function *f = function_new(r->m, name);
        map_set(r->functions, name, strlen(name), f);
        r->values = map_new(r->arena);
        struct scope scope = { .region = &f->body };
        struct argument *arguments = NULL;
        int count = 0;
        if (!read_arguments(r, &arguments, &count) ||
            !add_arguments(r, &f->body, &scope, arguments, count) || !read_outputs(r, f) ||
            !read_likely(r, f) || !reader_expect(r, "{") || !read_ops(r, &scope))
                return false;
        return f->body.last->operand_count == f->output_count ||
               reader_fail(r, "func @%s yields %d values for %d outputs", f->name,
                           f->body.last->operand_count, f->output_count);
}
