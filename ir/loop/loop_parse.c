/* SPDX-License-Identifier: MIT */
/* Parses programs of Loop IR text. Any bytes give a program that the verifier passes, or one
 * error. */
#include "ir/loop/loop_parser.h"

#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "base/size.h"
#include "ir/tensor/tensor_text.h"

struct program_reader {
        struct loop_parser p;
        blob_reader read_blob;
        void *context;
        const unsigned char *file;      /* The constants' file is here; NULL: none was named. */
        size_t file_bytes;
};

/* ---- constants ---- */

static bool parse_element_literal(struct loop_parser *p, enum element e, void *data, size_t index)
{
        union scalar value;
        bool negative = loop_lex_accept(p, "-");
        struct loop_token token = p->token;
        if (token.kind != TOKEN_NUMBER && token.kind != TOKEN_WORD)
                return loop_lex_error(p, "want a number, found %s", loop_lex_shown(p));
        if (token.kind == TOKEN_WORD && !loop_lex_is(p, "nan") && !loop_lex_is(p, "inf") &&
            !loop_lex_is(p, "true") && !loop_lex_is(p, "false"))
                return loop_lex_error(p, "want a number, found %s", loop_lex_shown(p));
        if (!loop_lex_literal(p, &token, negative, e, &value))
                return false;
        element_store(e, data, index, value);
        loop_lex_next(p);
        return !p->failed;
}

/* Reads "[1.0, 2.0]", count elements. */
static bool parse_list(struct loop_parser *p, struct loop_buffer *b)
{
        size_t room = 0, count = 0, bytes = (size_t)element_info[b->element].bytes;
        unsigned char *data = NULL;
        if (!loop_lex_expect(p, "["))
                return false;
        while (!loop_lex_is(p, "]") && !p->failed) {
                if (count && !loop_lex_expect(p, ","))
                        return false;
                if (count == room) {
                        unsigned char *grown = arena_array(p->arena, room ? 2 * room : 16, bytes);
                        if (count)
                                memcpy(grown, data, count * bytes);
                        data = grown;
                        room = room ? 2 * room : 16;
                }
                if (!parse_element_literal(p, b->element, data, count++))
                        return false;
        }
        if (count != (size_t)b->extent)
                return loop_lex_error(p, "a constant has %zu elements, want %lld", count,
                                      (long long)b->extent);
        b->data = data ? data : arena_alloc(p->arena, bytes);
        return loop_lex_expect(p, "]");
}

static bool check_bools(struct loop_parser *p, const struct loop_buffer *b, size_t bytes)
{
        for (size_t i = 0; b->element == E_BOOL && i < bytes; i++)
                if (((const unsigned char *)b->data)[i] > 1)
                        return loop_lex_error(p, "a bool is neither 0 nor 1");
        return true;
}

static bool parse_hex(struct loop_parser *p, struct loop_buffer *b, size_t bytes)
{
        if (p->token.kind != TOKEN_STRING || p->token.length % 2 || p->token.length / 2 != bytes)
                return loop_lex_error(p, "want %zu bytes in hex", bytes);
        unsigned char *data = arena_alloc(p->arena, bytes);
        if (!hex_parse(p->token.start, bytes, data))
                return loop_lex_error(p, "a bad hex digit");
        b->data = data;
        loop_lex_next(p);
        return !p->failed && check_bools(p, b, bytes);
}

static bool parse_in_file(struct program_reader *r, struct loop_buffer *b, size_t bytes)
{
        struct loop_parser *p = &r->p;
        int64_t offset;
        if (!r->file)
                return loop_lex_error(p, "no 'data' line names the file of constants");
        if (!loop_lex_int(p, "an offset", 0, INT64_MAX, &offset))
                return false;
        if ((uint64_t)offset > r->file_bytes || r->file_bytes - (size_t)offset < bytes)
                return loop_lex_error(p, "constant @%s leaves the file of constants", b->name);
        b->data = r->file + offset;
        if ((uintptr_t)b->data % (size_t)element_info[b->element].bytes)
                b->data = arena_copy(p->arena, b->data, bytes);
        return check_bools(p, b, bytes);
}

static bool parse_data(struct program_reader *r, struct loop_buffer *b)
{
        struct loop_parser *p = &r->p;
        size_t bytes = (size_t)element_info[b->element].bytes;
        if (!loop_lex_expect(p, "="))
                return false;
        b->splat = loop_lex_accept(p, "splat");
        if (!b->splat)
                bytes *= (size_t)b->extent;
        if (loop_lex_accept(p, "hex"))
                return parse_hex(p, b, bytes);
        if (loop_lex_accept(p, "file"))
                return parse_in_file(r, b, bytes);
        if (!b->splat)
                return parse_list(p, b);
        void *data = arena_alloc(p->arena, bytes);
        b->data = data;
        return parse_element_literal(p, b->element, data, 0);
}

static bool take_name(struct loop_parser *p, const char *name)
{
        if (!text_is_identifier(name))
                return loop_lex_error(p, "'%s' cannot be a name here",
                                      text_safe(p->arena, name, strlen(name)));
        return names_reserve(p->program->names, name) ||
               loop_lex_error(p, "'%s' (case ignored) is taken", name);
}

/* ---- extents ---- */

/* Reads " in [1, 512]" behind an index, or nothing. */
static bool parse_bounds(struct loop_parser *p, struct loop_variable *v)
{
        if (!loop_lex_accept(p, "in"))
                return true;
        if (!loop_type_same(v->type, LOOP_TYPE(E_INDEX)))
                return loop_lex_error(p, "bounds are of an index");
        return loop_lex_expect(p, "[") && loop_lex_int(p, "a bound", 0, INT32_MAX, &v->low) &&
               loop_lex_expect(p, ",") && loop_lex_int(p, "a bound", 1, INT32_MAX, &v->high) &&
               loop_lex_expect(p, "]") &&
               (v->low <= v->high || loop_lex_error(p, "bounds without a number between them"));
}

/* Reads extent %n "N" in [1, 512]. */
static bool parse_extent(struct loop_parser *p)
{
        struct loop_program *program = p->program;
        struct loop_extent e = { 0 };
        char *name;
        if (program->extent_count == EXTENTS_MAX)
                return loop_lex_error(p, "there are more than %d extents", EXTENTS_MAX);
        if (!loop_lex_expect(p, "%") || !(name = loop_lex_word(p, "a name")) ||
            !take_name(p, name) || !(e.name = loop_lex_string(p, "an extent's name")))
                return false;
        e.variable =
                loop_variable_new(p->arena, name, LOOP_TYPE(E_INDEX), VARIABLE_PARAMETER);
        if (!parse_bounds(p, e.variable))
                return false;
        if (!e.variable->high)
                return loop_lex_error(p, "want the bounds of extent %%%s", name);
        e.counted = loop_lex_accept(p, "counted");
        e.kept = !e.counted && loop_lex_accept(p, "kept");
        ARENA_GROW(p->arena, program->extents, program->extent_count);
        program->extents[program->extent_count++] = e;
        return true;
}

/* Declares the program's extents in the function that is being read, which is a main. */
static bool declare_extents(struct loop_parser *p)
{
        for (int i = 0; i < p->program->extent_count; i++) {
                struct loop_variable *v = p->program->extents[i].variable;
                if (!loop_declare(p, v->name, v, NULL))
                        return false;
        }
        return true;
}

/* Reads next %p = %p + %n, with the entry's name in front where there are several. */
static bool parse_next_extent(struct loop_parser *p)
{
        struct loop_program *program = p->program;
        const char *name;
        int entry = 0, i = 0;
        if (loop_lex_accept(p, "@")) {
                if (!(name = loop_lex_word(p, "an entry's name")))
                        return false;
                while (entry < program->entry_count && strcmp(program->entries[entry].name, name))
                        entry++;
                if (entry == program->entry_count)
                        return loop_lex_error(p, "there is no entry '%s'", name);
        }
        if (!loop_lex_expect(p, "%") || !(name = loop_lex_word(p, "a name")))
                return false;
        while (i < program->extent_count && strcmp(program->extents[i].variable->name, name) != 0)
                i++;
        if (i == program->extent_count || !program->extents[i].kept ||
            loop_next_extent(&program->entries[entry], i))
                return loop_lex_error(p, "there is no extent '%s' without a next value", name);
        struct loop_function *none = loop_function_new(p->arena, FUNCTION_MAIN, "");
        loop_parse_function_start(p, none);
        struct loop_expr *next = declare_extents(p) && loop_lex_expect(p, "=")
                                         ? loop_parse_expr(p, LOOP_TYPE(E_INDEX))
                                         : NULL;
        if (next)
                loop_extent_next(program, entry, i, next);
        return next;
}

/* ---- buffers ---- */

/* Reads "<1 x 28 x 28>"; an element type stands behind the extents where the buffer's own only
 * holds its bits. */
static bool parse_shape(struct loop_parser *p, struct loop_buffer *b)
{
        struct type *type = ARENA_NEW(p->arena, struct type);
        int64_t dims[RANK_MAX];
        type->kind = TYPE_TENSOR;
        type->element = b->element;
        if (!loop_lex_expect(p, "<"))
                return false;
        while (!loop_lex_is(p, ">") && !p->failed) {
                if (type->rank && !loop_lex_expect(p, "x"))
                        return false;
                if (p->token.kind == TOKEN_WORD) {
                        if (!loop_parse_element(p, &type->element))
                                return false;
                        break;
                }
                if (type->rank == RANK_MAX)
                        return loop_lex_error(p, "a shape has more than %d dimensions", RANK_MAX);
                if (!loop_lex_int(p, "a dimension", 0, INT32_MAX, &dims[type->rank++]))
                        return false;
        }
        type->dims = arena_copy(p->arena, dims, (size_t)type->rank * sizeof *dims);
        b->type = type;
        return loop_lex_expect(p, ">");
}

/* Reads "extents [%n, 64]" behind a shape. */
static bool parse_extents(struct loop_parser *p, struct loop_buffer *b)
{
        if (!b->type || !b->type->rank || !loop_lex_accept(p, "extents"))
                return true;
        b->extents = arena_array(p->arena, (size_t)b->type->rank, sizeof *b->extents);
        loop_parse_function_start(p, p->program->entries[0].main);
        if (!declare_extents(p) || !loop_lex_expect(p, "["))
                return false;
        for (int i = 0; i < b->type->rank; i++)
                if ((i && !loop_lex_expect(p, ",")) ||
                    !(b->extents[i] = loop_parse_expr(p, LOOP_TYPE(E_INDEX))))
                        return false;
        return loop_lex_expect(p, "]");
}

static bool parse_view(struct loop_parser *p, struct loop_buffer *b)
{
        if (!loop_lex_expect(p, "@"))
                return false;
        b->view_of = p->token.kind == TOKEN_WORD
                             ? map_get(p->buffers, p->token.start, p->token.length)
                             : NULL;
        if (!b->view_of)
                return loop_lex_error(p, "no buffer before this one is called %s",
                                      loop_lex_shown(p));
        loop_lex_next(p);
        return loop_lex_expect(p, "+") &&
               loop_lex_int(p, "an offset", 0, EXTENT_MAX, &b->view_offset);
}

/* Reads "record 65536 most 4096": the buffer is the record of its entry's runs. */
static bool parse_record(struct loop_parser *p, struct loop_buffer *b)
{
        struct loop_entry *entry = &p->program->entries[b->entry];
        if (!loop_lex_accept(p, "record"))
                return true;
        if (entry->record)
                return loop_lex_error(p, "entry %s has two records", entry->name);
        entry->record = b;
        return loop_lex_int(p, "the work of a step", 1, INT32_MAX, &entry->step) &&
               loop_lex_expect(p, "most") &&
               loop_lex_int(p, "an amount of work", 1, INT64_MAX, &entry->step_most);
}

static bool parse_workspace(struct loop_parser *p, struct loop_buffer *b)
{
        int64_t region = 0;
        if (loop_lex_accept(p, "region") && !loop_lex_int(p, "a region", 1, 1000, &region))
                return false;
        b->region = (int)region;
        return (!loop_lex_accept(p, "offset") ||
                loop_lex_int(p, "an offset", 0, INT64_MAX, &b->offset)) &&
               parse_record(p, b);
}

/* Reads "entry 1" of a port or a place in the workspace; entry 0 is not written. */
static bool parse_entry_number(struct loop_parser *p, struct loop_buffer *b)
{
        int64_t number = 0;
        if (loop_lex_accept(p, "entry") &&
            !loop_lex_int(p, "an entry's number", 1, p->program->entry_count - 1, &number))
                return false;
        b->entry = (int)number;
        return true;
}

static bool parse_port(struct loop_parser *p, struct loop_buffer *b)
{
        if (!(b->port = loop_lex_string(p, "a port's name")) || !parse_entry_number(p, b))
                return false;
        b->is_text = loop_lex_accept(p, "text");
        return !b->is_text || b->space != SPACE_INPUT || !loop_lex_accept(p, "offset") ||
               loop_lex_int(p, "an offset", 0, INT64_MAX, &b->offset);
}

static bool parse_state(struct loop_parser *p, struct loop_buffer *b)
{
        int64_t number = 0;
        if (!(b->port = loop_lex_string(p, "a port's name")) || !parse_entry_number(p, b) ||
            !loop_lex_expect(p, "next") || !(b->next_port = loop_lex_string(p, "a port's name")) ||
            !loop_lex_int(p, "an output's number", 0, INT32_MAX, &number))
                return false;
        b->next_number = (int)number;
        return true;
}

static bool parse_space(struct loop_parser *p, struct loop_buffer *b)
{
        static const char *const words[] = { [SPACE_INPUT] = "input",
                                             [SPACE_OUTPUT] = "output",
                                             [SPACE_STATE] = "state",
                                             [SPACE_CONSTANT] = "constant",
                                             [SPACE_WORKSPACE] = "workspace",
                                             [SPACE_VIEW] = "view" };
        int space = SPACE_INPUT;
        while (space <= SPACE_VIEW && !loop_lex_accept(p, words[space]))
                space++;
        b->space = (enum loop_space)space;
        switch (space) {
        case SPACE_INPUT:
        case SPACE_OUTPUT:
                return parse_port(p, b);
        case SPACE_STATE: return parse_state(p, b);
        case SPACE_CONSTANT: return true;
        case SPACE_WORKSPACE: return parse_entry_number(p, b) && parse_workspace(p, b);
        case SPACE_VIEW: return parse_view(p, b);
        default: return loop_lex_error(p, "want a space, found %s", loop_lex_shown(p));
        }
}

/* Reads "f32[784]". */
static bool parse_storage(struct loop_parser *p, enum element *e, int64_t *extent)
{
        return loop_parse_element(p, e) &&
               (element_is_stored(*e) ||
                loop_lex_error(p, "there are no buffers of %s", element_info[*e].text)) &&
               loop_lex_expect(p, "[") && loop_lex_int(p, "an extent", 0, EXTENT_MAX, extent) &&
               loop_lex_expect(p, "]");
}

static bool parse_buffer(struct program_reader *r)
{
        struct loop_parser *p = &r->p;
        struct loop_buffer *b = ARENA_NEW(p->arena, struct loop_buffer);
        b->offset = -1;
        if (!loop_lex_expect(p, "@") || !(b->name = loop_lex_word(p, "a name")) ||
            !take_name(p, b->name) || !loop_lex_expect(p, ":") ||
            !parse_storage(p, &b->element, &b->extent) || !parse_space(p, b) ||
            (loop_lex_accept(p, "shape") && !parse_shape(p, b)) || !parse_extents(p, b) ||
            (loop_lex_accept(p, "node") && !(b->location = loop_lex_name(p))) ||
            (b->space == SPACE_CONSTANT && !parse_data(r, b)))
                return false;
        *p->program->buffers_end = b;
        p->program->buffers_end = &b->next;
        map_set(p->buffers, b->name, strlen(b->name), b);
        return true;
}

/* ---- functions ---- */

static bool parse_buffer_parameter(struct loop_parser *p, struct loop_function *f, const char *name)
{
        int64_t extent, alias_class = 0;
        enum element e;
        enum loop_access access = ACCESS_IN;
        if (loop_lex_accept(p, "out"))
                access = ACCESS_OUT;
        else if (loop_lex_accept(p, "inout"))
                access = ACCESS_INOUT;
        else if (!loop_lex_expect(p, "in"))
                return false;
        if (f->scalar_count)
                return loop_lex_error(p, "buffer parameters come before scalar ones");
        if (!parse_storage(p, &e, &extent) ||
            (loop_lex_accept(p, "class") &&
             !loop_lex_int(p, "an alias class", 1, INT32_MAX, &alias_class)))
                return false;
        struct loop_buffer *b = loop_parameter_add(p->arena, f, name, e, extent, access);
        b->alias_class = (int)alias_class;
        return loop_declare(p, name, NULL, b);
}

static bool parse_parameter(struct loop_parser *p, struct loop_function *f)
{
        char *name = NULL;
        if (!loop_lex_expect(p, "%") || !(name = loop_lex_word(p, "a name")) ||
            !loop_lex_expect(p, ":"))
                return false;
        struct loop_type type;
        bool buffer = loop_lex_is(p, "in") || loop_lex_is(p, "out") || loop_lex_is(p, "inout");
        if (buffer)
                return parse_buffer_parameter(p, f, name);
        if (!loop_parse_type(p, &type))
                return false;
        struct loop_variable *v = loop_scalar_add(p->arena, f, name, type);
        return parse_bounds(p, v) && loop_declare(p, name, v, NULL);
}

static bool parse_flops(struct loop_parser *p, double *flops)
{
        char digits[64];
        if (p->token.kind != TOKEN_NUMBER || p->token.length >= sizeof digits)
                return loop_lex_error(p, "want a number, found %s", loop_lex_shown(p));
        memcpy(digits, p->token.start, p->token.length);
        digits[p->token.length] = 0;
        *flops = strtod(digits, NULL);
        if (*flops > 1e300)
                return loop_lex_error(p, "a number is out of range");
        loop_lex_next(p);
        return !p->failed;
}

/* Reads NAME(N, ..) behind `external`. */
static bool parse_external(struct loop_parser *p, struct loop_function *f)
{
        int64_t *extents = NULL;
        if (!(f->external = loop_lex_word(p, "the name of a C function")) ||
            !loop_lex_expect(p, "("))
                return false;
        for (bool more = !loop_lex_is(p, ")"); more; more = loop_lex_accept(p, ",")) {
                ARENA_GROW(p->arena, extents, f->external_count);
                if (!loop_lex_int(p, "an extent", 0, INT64_MAX, &extents[f->external_count++]))
                        return false;
        }
        f->external_extents = extents;
        f->can_fail = true;
        return loop_lex_expect(p, ")");
}

static bool parse_kernel(struct loop_parser *p, enum loop_function_kind kind)
{
        char *name = NULL, *location;
        if (!loop_lex_expect(p, "@") || !(name = loop_lex_word(p, "a name")) || !take_name(p, name))
                return false;
        struct loop_function *f = loop_function_new(p->arena, kind, name);
        loop_parse_function_start(p, f);
        if (!loop_lex_expect(p, "("))
                return false;
        for (bool more = !loop_lex_is(p, ")"); more; more = loop_lex_accept(p, ","))
                if (!parse_parameter(p, f))
                        return false;
        if (!loop_lex_expect(p, ")") || (kind == FUNCTION_STREAM && !loop_parse_machine(p)) ||
            (kind == FUNCTION_KERNEL && loop_lex_accept(p, "external") && !parse_external(p, f)) ||
            (loop_lex_accept(p, "flops") && !parse_flops(p, &f->flops)) ||
            (loop_lex_accept(p, "again") && !parse_flops(p, &f->again)))
                return false;
        if (loop_lex_is(p, "{")) {
                f->summary = loop_lex_remark(p, &location);
                f->location = location;
        }
        if (!loop_parse_block(p, f->body))
                return false;
        *p->program->kernels_end = f;
        p->program->kernels_end = &f->next;
        map_set(p->kernels, f->name, strlen(f->name), f);
        return true;
}

/* ---- programs ---- */

static bool parse_head(struct program_reader *r)
{
        struct loop_parser *p = &r->p;
        int64_t version;
        if (!loop_lex_expect(p, "loop") || !loop_lex_int(p, "a version", 0, INT32_MAX, &version))
                return false;
        if (version < 1 || version > LOOP_VERSION)
                return loop_lex_error(p, "this is version %lld of the format, 1 to %d are known",
                                      (long long)version, LOOP_VERSION);
        p->version = (int)version;
        char *name = NULL, *source = NULL;
        if (!loop_lex_expect(p, "program") || !(name = loop_lex_name(p)) ||
            !loop_lex_expect(p, "source") || !(source = loop_lex_string(p, "the source's digest")))
                return false;
        if (strlen(source) > 64 || strspn(source, "0123456789abcdef") != strlen(source))
                return loop_lex_error(p, "the source's digest is not up to 64 hex digits");
        p->program->name = name;
        memcpy(p->program->source, source, strlen(source) + 1);
        if (loop_lex_accept(p, "command") && !(p->program->command = loop_lex_name(p)))
                return false;
        if (loop_lex_accept(p, "within") && !(p->program->within = loop_lex_name(p)))
                return false;
        if (loop_lex_accept(p, "passes") && !(p->program->passes_done = loop_lex_name(p)))
                return false;
        if (!loop_lex_accept(p, "workspace"))
                return true;
        struct loop_entry *entry = &p->program->entries[0];
        p->program->planned = true;
        return loop_lex_int(p, "a size", 0, INT64_MAX, &entry->workspace_size) &&
               loop_lex_expect(p, "align") &&
               loop_lex_int(p, "an alignment", 1, 4096, &p->program->workspace_align) &&
               loop_lex_expect(p, "live") &&
               loop_lex_int(p, "a size", 0, INT64_MAX, &entry->live_peak);
}

/* Reads entry @NAME, with a plan: workspace N live N. The first one takes the place of the entry
 * that a new program has. */
static bool parse_entry(struct loop_parser *p, bool first)
{
        struct loop_program *program = p->program;
        char *name;
        if (!loop_lex_expect(p, "@") || !(name = loop_lex_word(p, "a name")))
                return false;
        for (int i = 0; i < program->entry_count; i++)
                if (!first && !strcmp(program->entries[i].name, name))
                        return loop_lex_error(p, "two entries are called %s", name);
        if (first)
                program->entry_count = 0;
        struct loop_entry *entry = loop_entry_add(program, name);
        return !program->planned ||
               (loop_lex_expect(p, "workspace") &&
                loop_lex_int(p, "a size", 0, INT64_MAX, &entry->workspace_size) &&
                loop_lex_expect(p, "live") &&
                loop_lex_int(p, "a size", 0, INT64_MAX, &entry->live_peak));
}

/* Reads the entries. There are no lines where the only one is called main; the head has the largest
 * of their sizes. */
static bool parse_entries(struct loop_parser *p)
{
        struct loop_program *program = p->program;
        const int64_t size = loop_workspace_size(program), peak = loop_live_peak(program);
        for (bool first = true; loop_lex_accept(p, "entry"); first = false)
                if (!parse_entry(p, first))
                        return false;
        if (loop_workspace_size(program) != size || loop_live_peak(program) != peak)
                return loop_lex_error(p, "the workspace is not that of the largest entry");
        return true;
}

/* Reads main {, or for each of several entries: main @NAME {. */
static bool parse_main(struct loop_parser *p, const struct loop_entry *entry)
{
        char *name;
        if (!loop_lex_expect(p, "main"))
                return false;
        if (p->program->entry_count > 1 || strcmp(entry->name, "main") != 0) {
                if (!loop_lex_expect(p, "@") || !(name = loop_lex_word(p, "an entry's name")))
                        return false;
                if (strcmp(name, entry->name) != 0)
                        return loop_lex_error(p, "this is main of %s, want that of %s", name,
                                              entry->name);
        }
        loop_parse_function_start(p, entry->main);
        return declare_extents(p) && loop_parse_block(p, entry->main->body);
}

/* Reads data "FILE" sha256 "HEX" bytes N. */
static bool parse_file(struct program_reader *r)
{
        struct loop_parser *p = &r->p;
        struct sha256 sha;
        char hex[65], *name, *digest = NULL;
        int64_t bytes;
        const void *data = NULL;
        if (!(name = loop_lex_string(p, "a file's name")) || !loop_lex_expect(p, "sha256") ||
            !(digest = loop_lex_string(p, "a digest")) || !loop_lex_expect(p, "bytes") ||
            !loop_lex_int(p, "a size", 1, INT64_MAX, &bytes))
                return false;
        const char *shown = text_safe(p->arena, name, strlen(name));
        if (!r->read_blob)
                return loop_lex_error(p, "constants in a file ('%s') are not allowed here", shown);
        if (!r->read_blob(r->context, name, &data, &r->file_bytes) || !data)
                return loop_lex_error(p, "cannot read the constants in '%s'", shown);
        r->file = data;
        if (r->file_bytes != (uint64_t)bytes)
                return loop_lex_error(p, "'%s' has %zu bytes, want %lld", shown, r->file_bytes,
                                      (long long)bytes);
        sha256_init(&sha);
        sha256_update(&sha, data, r->file_bytes);
        sha256_hex(&sha, hex);
        return !strcmp(hex, digest) ||
               loop_lex_error(p, "'%s' is not the file this text was written with", shown);
}

/* Reads region "NAME" limit N align N section "NAME" size N. */
static bool parse_region(struct loop_parser *p)
{
        struct loop_program *program = p->program;
        struct loop_region r = { 0 };
        if (program->region_count == REGIONS_MAX)
                return loop_lex_error(p, "there are more than %d regions", REGIONS_MAX);
        if (!(r.name = loop_lex_name(p)) || !loop_lex_expect(p, "limit") ||
            !loop_lex_int(p, "a size", 0, INT64_MAX, &r.limit) || !loop_lex_expect(p, "align") ||
            !loop_lex_int(p, "an alignment", 1, 4096, &r.align) || !loop_lex_expect(p, "section") ||
            !(r.section = loop_lex_name(p)) || !loop_lex_expect(p, "size") ||
            !loop_lex_int(p, "a size", 0, INT64_MAX, &r.size))
                return false;
        ARENA_GROW(p->arena, program->regions, program->region_count);
        program->regions[program->region_count++] = r;
        return true;
}

static bool accept_kind(struct loop_parser *p, enum loop_function_kind *kind)
{
        *kind = loop_lex_is(p, "task")     ? FUNCTION_TASK
                : loop_lex_is(p, "stream") ? FUNCTION_STREAM
                                           : FUNCTION_KERNEL;
        return loop_lex_accept(p, *kind == FUNCTION_TASK     ? "task"
                                  : *kind == FUNCTION_STREAM ? "stream"
                                                             : "kernel");
}

static bool parse_program(struct program_reader *r)
{
        struct loop_parser *p = &r->p;
        if (!parse_head(r))
                return false;
        if (!parse_entries(p))
                return false;
        while (loop_lex_accept(p, "extent"))
                if (!parse_extent(p))
                        return false;
        while (loop_lex_accept(p, "next"))
                if (!parse_next_extent(p))
                        return false;
        while (loop_lex_accept(p, "region"))
                if (!parse_region(p))
                        return false;
        if (loop_lex_accept(p, "data") && !parse_file(r))
                return false;
        while (loop_lex_accept(p, "buffer"))
                if (!parse_buffer(r))
                        return false;
        for (enum loop_function_kind kind; accept_kind(p, &kind);)
                if (!parse_kernel(p, kind))
                        return false;
        for (int i = 0; i < p->program->entry_count; i++)
                if (!parse_main(p, &p->program->entries[i]))
                        return false;
        return p->token.kind == TOKEN_END ||
               loop_lex_error(p, "there is more behind main: %s", loop_lex_shown(p));
}

struct loop_program *loop_parse(struct arena *arena, const char *text, size_t length,
                                blob_reader read_blob, void *context,
                                const struct loop_library *library, struct diag *diag)
{
        struct program_reader r = { .p = { .arena = arena, .diag = diag, .kind = TEXT_PROGRAM },
                                    .read_blob = read_blob,
                                    .context = context };
        r.p.program = loop_program_new(arena, "", library);
        r.p.overloads = library ? library->overloads : map_new(arena);
        r.p.buffers = map_new(arena);
        r.p.kernels = map_new(arena);
        loop_lex_start(&r.p, text, length);
        if (!parse_program(&r) || r.p.failed)
                return NULL;
        return loop_verify_program(r.p.program, EXIT_INVALID, diag) ? r.p.program : NULL;
}
