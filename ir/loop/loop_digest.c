/* SPDX-License-Identifier: MIT */
/* Computes a digest of a kernel or a task, of everything but names, by which equal ones are found.
 * Its own variables are numbered in order of declaration, buffers by position, and those that it
 * allocates behind these. And the mark of a program's state, of which names are a part. */
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "ir/loop/stream.h"
#include "ir/target/schedule.h"

struct numbering { int variables, buffers; };

static void number_declared(struct loop_stmt *s, void *context)
{
        struct numbering *n = context;
        if (s->kind == STMT_FOR || s->kind == STMT_LET || s->kind == STMT_VAR)
                s->variable->number = n->variables++;
        else if (s->kind == STMT_ALLOC)
                s->buffer->number = n->buffers++;
}

int loop_number_variables(const struct loop_function *f)
{
        struct numbering n = { f->scalar_count, f->buffer_count };
        for (int i = 0; i < f->scalar_count; i++)
                f->scalars[i]->number = i;
        for (int i = 0; i < f->buffer_count; i++)
                f->buffers[i]->number = i;
        loop_block_walk(f->body, number_declared, NULL, &n);
        return n.variables;
}

static void add_number(struct text *out, int64_t number)
{
        text_add_bytes(out, (const char *)&number, sizeof number);
}

static void add_small(struct text *out, int a, int b, int c, int d)
{
        const short numbers[] = { (short)a, (short)b, (short)c, (short)d };
        text_add_bytes(out, (const char *)numbers, sizeof numbers);
}

static void add_type(struct text *out, struct loop_type type)
{
        add_small(out, type.element, type.lanes, type.tile, 0);
}

static void digest_expr(struct text *out, const struct loop_expr *x)
{
        add_small(out, x ? (int)x->op : -1, x ? x->arity : 0, x ? x->column : 0, x ? x->group : 0);
        if (!x)
                return;
        add_type(out, x->type);
        if (x->op == LOOP_LITERAL || x->op == LOOP_TILE_ENTRY)
                add_number(out, x->literal.i);
        if (x->op == LOOP_VARIABLE || x->op == LOOP_TILE_ENTRY)
                add_number(out, x->variable->number);
        if (x->op == LOOP_LOAD)
                add_number(out, x->buffer->number);
        if (x->op == LOOP_CALL)
                add_number(out, (int64_t)(intptr_t)x->function);
        for (int i = 0; i < x->arity; i++)
                digest_expr(out, x->args[i]);
}

static void add_registers(struct text *out, struct tile_range r)
{
        add_small(out, r.first, r.count, 0, 0);
}

static void digest_tiles(struct text *out, const struct loop_stmt *s)
{
        const struct loop_tiles *t = &s->tiles;
        add_small(out, t->positions, t->vectors, t->rows, t->depth);
        add_small(out, t->lanes, t->word, t->group, t->first);
        add_small(out, t->column, t->columns, t->warp_group, t->swizzle);
        add_small(out, t->transposed, t->prefetched, 0, 0);
        add_number(out, t->step);
        add_number(out, t->jump);
        add_registers(out, t->sums);
        add_registers(out, t->x);
        add_registers(out, t->w);
        add_number(out, (int64_t)(intptr_t)s->function);
}

static void digest_stream(struct text *out, const struct loop_stmt *s)
{
        const struct loop_transfer *t = s->transfer;
        add_number(out, s->source ? s->source->number : -1);
        add_small(out, s->queue.from, s->queue.to, 0, 0);
        const struct loop_activation *a = s->activation;
        for (int i = 0; a && i < 5; i++)
                add_number(out, (int64_t[]){ a->add, a->shift, a->low, a->high, a->lanes }[i]);
        if (!t)
                return;
        add_number(out, t->step);
        digest_expr(out, t->rows);
        digest_expr(out, t->columns);
        for (int i = 0; i < 4; i++)
                digest_expr(out, t->pad[i]);
}

static void digest_block(struct text *out, const struct loop_block *block)
{
        for (const struct loop_stmt *s = block ? block->first : NULL; s; s = s->next) {
                const struct loop_variable *v = s->variable;
                add_small(out, (int)s->kind, (int)s->for_kind, s->code, s->streaming);
                add_number(out, s->step);
                add_small(out, (int)s->barrier, s->vector, 0, 0);
                if (v) {
                        add_number(out, v->number);
                        add_type(out, v->type);
                        add_small(out, v->rows, v->columns, s->row, s->column);
                        add_small(out, v->warps, v->base ? v->base->number : -1, 0, 0);
                        add_registers(out, v->registers);
                        if (v->schedule)
                                schedule_print_words(out, v->schedule);
                }
                add_number(out, s->buffer ? s->buffer->number : -1);
                add_number(out, s->weights ? s->weights->number : -1);
                add_number(out, s->source ? s->source->number : -1);
                if (s->kind == STMT_ALLOC) {
                        add_small(out, (int)s->buffer->element, (int)s->buffer->space, 0, 0);
                        add_number(out, s->buffer->extent);
                        add_small(out, s->buffer->memory, s->buffer->place_count, 0, 0);
                        for (int i = 0; i < s->buffer->place_count; i++)
                                add_number(out, s->buffer->places[i]);
                }
                if (loop_is_of_stream(s))
                        digest_stream(out, s);
                if (s->kind == STMT_TILES || loop_is_of_tiles(s))
                        digest_tiles(out, s);
                digest_expr(out, s->a);
                digest_expr(out, s->b);
                digest_expr(out, s->c);
                digest_block(out, s->body);
                digest_block(out, s->other);
        }
        add_small(out, -2, 0, 0, 0);
}

void loop_digest(const struct loop_function *f, struct text *scratch, char hex[65])
{
        loop_number_variables(f);
        scratch->length = 0;
        add_number(scratch, (int64_t)(intptr_t)f->machine);
        for (int i = 0; i < f->buffer_count; i++) {
                const struct loop_buffer *b = f->buffers[i];
                add_small(scratch, (int)b->element, (int)b->access, 0, 0);
                add_number(scratch, b->extent);
                add_number(scratch, b->alias_class);
        }
        for (int i = 0; i < f->scalar_count; i++) {
                add_type(scratch, f->scalars[i]->type);
                add_number(scratch, f->scalars[i]->low);
                add_number(scratch, f->scalars[i]->high);
        }
        if (f->external)
                text_add(scratch, "%s", f->external);
        for (int i = 0; i < f->external_count; i++)
                add_number(scratch, f->external_extents[i]);
        digest_block(scratch, f->body);
        struct sha256 sha;
        sha256_init(&sha);
        sha256_update(&sha, scratch->data, scratch->length);
        sha256_hex(&sha, hex);
}

uint64_t loop_state_mark(const struct loop_program *p, const char *version)
{
        struct sha256 sha;
        char hex[65];
        sha256_init(&sha);
        sha256_update(&sha, version, strlen(version) + 1);
        sha256_update(&sha, p->source, strlen(p->source) + 1);
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                if (b->space != SPACE_STATE)
                        continue;
                const char *line = arena_printf(p->arena, "%s %s %s %lld %s", b->port, b->next_port,
                                                element_info[b->element].text, (long long)b->extent,
                                                loop_shape_text(p->arena, b));
                sha256_update(&sha, line, strlen(line) + 1);
        }
        for (int i = loop_first_kept(p); i < p->extent_count; i++)
                sha256_update(&sha, p->extents[i].name, strlen(p->extents[i].name) + 1);
        sha256_hex(&sha, hex);
        hex[15] = 0;
        return (uint64_t)strtoull(hex, NULL, 16) << 4 | 1;
}
