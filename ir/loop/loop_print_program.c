/* SPDX-License-Identifier: MIT */
/* Prints programs as Loop IR text: entries, buffers with their numbers, then the functions. */
#include "ir/loop/loop_printer.h"

#include <math.h>
#include <string.h>

#include "base/sha256.h"
#include "ir/loop/loop_grid.h"
#include "ir/loop/stream.h"
#include "ir/target/schedule.h"
#include "ir/tensor/tensor_text.h"

enum { LIST_ELEMENTS = 16, FILE_ALIGN = 16 };

/* ---- constants ---- */

static bool bits_survive(enum element e, const void *data, size_t index)
{
        unsigned char stored[16] = { 0 };
        size_t bytes = (size_t)element_info[e].bytes;
        union scalar value = element_load(e, data, index);
        if (element_is_float(e) && isnan(value.f))
                value.f = (double)NAN;                  /* The word stands for this NaN. */
        element_store(e, stored, 0, value);
        return !memcmp(stored, (const char *)data + index * bytes, bytes);
}

static size_t data_count(const struct loop_buffer *b)
{
        return b->splat ? 1 : (size_t)b->extent;
}

static size_t data_bytes(const struct loop_buffer *b)
{
        return data_count(b) * (size_t)element_info[b->element].bytes;
}

static bool is_in_file(const struct loop_buffer *b, const struct tensor_print *options)
{
        return b->space == SPACE_CONSTANT && options && options->blob && !options->elide &&
               data_count(b) > LIST_ELEMENTS;
}

static size_t align_offset(size_t offset)
{
        return round_up(offset, FILE_ALIGN);
}

static void print_data(struct loop_printer *p, const struct loop_buffer *b,
                       const struct tensor_print *options)
{
        size_t count = data_count(b);
        bool plain = count <= LIST_ELEMENTS;
        for (size_t i = 0; plain && i < count; i++)
                plain = bits_survive(b->element, b->data, i);
        text_add(p->out, b->splat ? " = splat " : " = ");
        if (plain) {
                text_add(p->out, b->splat ? "" : "[");
                for (size_t i = 0; i < count; i++) {
                        text_add(p->out, i ? ", " : "");
                        print_number(p, b->element, element_load(b->element, b->data, i));
                }
                text_add(p->out, b->splat ? "" : "]");
        } else if (options && options->elide && count > LIST_ELEMENTS)
                text_add(p->out, "...");
        else if (is_in_file(b, options)) {
                p->file_offset = align_offset(p->file_offset);
                text_add(p->out, "file %zu", p->file_offset);
                p->file_offset += data_bytes(b);
        } else {
                text_add(p->out, "hex \"");
                hex_print(p->out, b->data, data_bytes(b));
                text_add(p->out, "\"");
        }
}

/* Prints the bytes of all constants that go to the file, and the line that names it. */
static void print_file(struct loop_printer *p, const struct loop_program *program,
                       const struct tensor_print *options)
{
        static const char zeros[FILE_ALIGN];
        bool any = false;
        p->file_offset = options && options->blob ? options->blob->length : 0;
        for (const struct loop_buffer *b = program->buffers; b; b = b->next) {
                if (!is_in_file(b, options))
                        continue;
                any = true;
                text_add_bytes(options->blob, zeros,
                               align_offset(options->blob->length) - options->blob->length);
                text_add_bytes(options->blob, b->data, data_bytes(b));
        }
        if (!any)
                return;
        struct sha256 sha;
        char hex[65];
        sha256_init(&sha);
        sha256_update(&sha, options->blob->data, options->blob->length);
        sha256_hex(&sha, hex);
        text_add(p->out, "data ");
        quoted_print(p->out, options->file_name);
        text_add(p->out, " sha256 \"%s\" bytes %zu\n", hex, options->blob->length);
}

/* ---- buffers and programs ---- */

static void print_entry_number(struct loop_printer *p, const struct loop_buffer *b)
{
        if (b->entry)
                text_add(p->out, " entry %d", b->entry);
}

static void print_port(struct loop_printer *p, const struct loop_buffer *b)
{
        quoted_print(p->out, b->port);
        print_entry_number(p, b);
        text_add(p->out, b->is_text ? " text" : "");
        if (b->is_text && b->space == SPACE_INPUT && b->offset >= 0)
                text_add(p->out, " offset %lld", (long long)b->offset);
}

/* Prints that the buffer is the record of its entry's runs. */
static void print_record(struct loop_printer *p, const struct loop_buffer *b)
{
        const struct loop_entry *e = &p->program->entries[b->entry];
        if (e->record == b)
                text_add(p->out, " record %lld most %lld", (long long)e->step,
                         (long long)e->step_most);
}

static void print_buffer(struct loop_printer *p, const struct loop_buffer *b,
                         const struct tensor_print *options)
{
        text_add(p->out, "buffer @%s : %s[%lld]", b->name, element_info[b->element].text,
                 (long long)b->extent);
        switch (b->space) {
        case SPACE_INPUT:
                text_add(p->out, " input ");
                print_port(p, b);
                break;
        case SPACE_OUTPUT:
                text_add(p->out, " output ");
                print_port(p, b);
                break;
        case SPACE_STATE:
                text_add(p->out, " state ");
                print_port(p, b);
                text_add(p->out, " next ");
                quoted_print(p->out, b->next_port);
                text_add(p->out, " %d", b->next_number);
                break;
        case SPACE_CONSTANT:
                text_add(p->out, " constant");
                break;
        case SPACE_WORKSPACE:
                text_add(p->out, " workspace");
                print_entry_number(p, b);
                if (b->region)
                        text_add(p->out, " region %d", b->region);
                if (b->offset >= 0)
                        text_add(p->out, " offset %lld", (long long)b->offset);
                print_record(p, b);
                break;
        case SPACE_VIEW:
                text_add(p->out, " view @%s + %lld", b->view_of->name, (long long)b->view_offset);
                break;
        default:
                break;
        }
        if (b->type) {
                text_add(p->out, " shape <");
                for (int i = 0; i < b->type->rank; i++)
                        text_add(p->out, "%s%lld", i ? " x " : "",
                                 (long long)type_extent(b->type, i));
                if (b->type->element != b->element)
                        text_add(p->out, "%s%s", b->type->rank ? " x " : "",
                                 element_info[b->type->element].text);
                text_add(p->out, ">");
        }
        for (int i = 0; b->extents && i < b->type->rank; i++) {
                text_add(p->out, i ? ", " : " extents [");
                print_expression(p, b->extents[i], true);
        }
        text_add(p->out, b->extents ? "]" : "");
        if (b->location)
                text_add(p->out, " node \"%s\"", b->location);
        if (b->space == SPACE_CONSTANT)
                print_data(p, b, options);
        text_add(p->out, "\n");
}

static void find_new(struct loop_stmt *s, void *context)
{
        int *version = context;
        enum loop_stmt_kind kind = s->kind;
        if (kind == STMT_LAUNCH && s->in_order)
                *version = 12;
        else if (kind == STMT_IMAGE)
                *version = *version > 10 ? *version : 10;
        else if (s->barrier || s->vector || (kind == STMT_LET && s->variable->base) ||
                 (kind == STMT_PREFETCH && (s->step != 1 || s->code == 3)) ||
                 kind == STMT_LAUNCH_WAIT)
                *version = *version > 5 ? *version : 5;
        else if (*version < 4 && kind == STMT_FOR && loop_for_is_grid(s->for_kind))
                *version = 4;
        if (*version < 3 && (kind == STMT_TILES || kind == STMT_MULTIPLY || kind == STMT_UNLOAD ||
                             kind == STMT_KEEP))
                *version = 3;
}

static void find_narrow(struct loop_expr *e, void *context)
{
        int *version = context;
        if (loop_computes_narrow(e))
                *version = *version > 6 ? *version : 6;
}

static void find_likely(struct loop_stmt *s, void *context)
{
        int *version = context;
        if (s->kind == STMT_IF && s->likely)
                *version = *version > 11 ? *version : 11;
}

static bool has_entry_lines(const struct loop_program *p)
{
        return p->entry_count > 1 || strcmp(p->entries[0].name, "main") != 0;
}

/* Returns the least version that has all that the program holds. */
static int version_of(const struct loop_program *program)
{
        int version = program->extent_count ? 7 : has_entry_lines(program) ? 5 : 1;
        for (const struct loop_buffer *b = program->buffers; b; b = b->next)
                version = b->space == SPACE_STATE ? 8 : version;
        if (loop_first_kept(program) < program->extent_count)
                version = 8;
        for (int i = 0; i < program->extent_count; i++)
                if (program->extents[i].counted)
                        version = 9;
        for (const struct loop_function *k = program->kernels; k; k = k->next)
                if (k->kind == FUNCTION_STREAM)
                        version = version > 4 ? version : 4;
                else
                        loop_block_walk(k->body, find_new, find_narrow, &version);
        for (int i = 0; i < program->entry_count; i++)
                loop_block_walk(program->entries[i].main->body, find_likely, NULL, &version);
        for (int i = 0; i < program->entry_count; i++)
                version = program->entries[i].record ? 12 : version;
        for (const struct loop_function *k = program->kernels; k; k = k->next)
                version = k->external ? 13 : version;
        return version;
}

void loop_print(struct text *out, const struct loop_program *program,
                const struct tensor_print *options)
{
        struct loop_printer p = { .out = out, .program = program };
        text_add(out, "loop %d\nprogram \"%s\" source \"%s\"", version_of(program), program->name,
                 program->source);
        if (program->command[0])
                text_add(out, " command \"%s\"", program->command);
        if (program->within[0])
                text_add(out, " within \"%s\"", program->within);
        if (program->passes_done[0])
                text_add(out, " passes \"%s\"", program->passes_done);
        if (program->planned)
                text_add(out, " workspace %lld align %lld live %lld",
                         (long long)loop_workspace_size(program),
                         (long long)program->workspace_align, (long long)loop_live_peak(program));
        text_add(out, "\n");
        for (int i = 0; i < program->entry_count && has_entry_lines(program); i++) {
                const struct loop_entry *e = &program->entries[i];
                text_add(out, "entry @%s", e->name);
                if (program->planned)
                        text_add(out, " workspace %lld live %lld", (long long)e->workspace_size,
                                 (long long)e->live_peak);
                text_add(out, "\n");
        }
        for (int i = 0; i < program->extent_count; i++) {
                text_add(out, "extent %%%s ", program->extents[i].variable->name);
                quoted_print(out, program->extents[i].name);
                print_bounds(&p, program->extents[i].variable);
                text_add(out, program->extents[i].counted ? " counted\n"
                              : program->extents[i].kept  ? " kept\n"
                                                          : "\n");
        }
        for (int e = 0; e < program->entry_count; e++)
                for (int i = loop_first_kept(program); i < program->extent_count; i++) {
                        const struct loop_entry *entry = &program->entries[e];
                        if (!loop_next_extent(entry, i))
                                continue;
                        text_add(out, "next ");
                        if (has_entry_lines(program))
                                text_add(out, "@%s ", entry->name);
                        text_add(out, "%%%s = ", program->extents[i].variable->name);
                        print_expression(&p, loop_next_extent(entry, i), true);
                        text_add(out, "\n");
                }
        for (int i = 0; i < program->region_count; i++) {
                const struct loop_region *r = &program->regions[i];
                text_add(out, "region \"%s\" limit %lld align %lld section \"%s\" size %lld\n",
                         r->name, (long long)r->limit, (long long)r->align, r->section,
                         (long long)r->size);
        }
        print_file(&p, program, options);
        for (const struct loop_buffer *b = program->buffers; b; b = b->next)
                print_buffer(&p, b, options);
        for (const struct loop_function *f = program->kernels; f; f = f->next)
                print_function(&p, f);
        for (int i = 0; i < program->entry_count; i++) {
                p.entry = has_entry_lines(program) ? &program->entries[i] : NULL;
                print_function(&p, program->entries[i].main);
        }
        arena_free(p.numbers);
}
