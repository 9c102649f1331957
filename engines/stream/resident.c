/* SPDX-License-Identifier: MIT */
/* resident (part of join): a value that one stream writes and reads, and no other statement uses,
 * stays in the machine.
 *
 *     alloc %y1 : i8[65536] in ub                           alloc %v : i8[65536] in ub at 0
 *     ..                                                    ..            ; stored in %v
 *     transfer %t[0] = %y1[0] rows 1 by 256 step 0    ->
 *     alloc %x2 : i8[65536] in ub
 *     transfer %x2[0] = %t[0] rows 1 by 256 step 0
 *     product .. * %x2[..]                                  product .. * %v[..]
 *
 * Values lie in the machine's memory as they lie outside, whole (engines/stream/streams_whole.c),
 * so each buffer outside has one inside, and what was loaded once, or computed, is not loaded
 * again. Inside they are placed by the planner of workspaces (passes/memory/place.h), each from the
 * layer that first touches it to the last. Where they do not fit together, the value that takes the
 * most room for the longest time is moved outside between layers. Exact. */
#include <string.h>

#include "passes/memory/place.h"
#include "engines/stream/stream_passes.h"

/* An image is the part of the machine's memory for a buffer outside. */
struct image {
        struct loop_buffer *outside, *inside;
        bool needed;                    /* Other statements read it, too. */
        bool spilled;                   /* It leaves the machine between layers, so each layer has
                                         * an image of its own. */
        bool *there;                    /* These elements have been loaded or computed so far. */
        int first, last;                /* These layers are the first and the last that touch it. */
};

/* A resident is an alloc of the inputs' memory. */
struct resident {
        struct loop_buffer *buffer;
        struct image *image;            /* It becomes a part of this image; NULL: of none. */
        int64_t at;                     /* This many numbers of the image lie before it. */
        int first, last;
};

struct residing {
        struct loop_program *p;
        struct loop_function *f;
        const struct machine *m;
        struct arena *arena;
        int64_t numbers;                /* An element has this many numbers. */
        struct image *images;
        struct resident *residents;
        int image_count, resident_count, layer;
};

/* ---- allocs and images ---- */

static struct resident *resident_of(struct residing *r, const struct loop_buffer *b)
{
        for (int k = 0; b && k < r->resident_count; k++)
                if (r->residents[k].buffer == b)
                        return &r->residents[k];
        return NULL;
}

static struct image *image_of(struct residing *r, const struct loop_buffer *outside)
{
        for (int k = 0; k < r->image_count; k++)
                if (r->images[k].outside == outside)
                        return &r->images[k];
        return NULL;
}

static void find_allocs(struct loop_stmt *s, void *context)
{
        struct residing *r = context;
        if (s->kind != STMT_ALLOC || s->buffer->memory != r->m->inputs)
                return;
        ARENA_GROW(r->arena, r->residents, r->resident_count);
        r->residents[r->resident_count++] = (struct resident){ .buffer = s->buffer, .first = -1 };
}

/* Is s a transfer of a whole alloc? Returns its inside, its outside and the place there. */
static bool is_whole(struct residing *r, const struct loop_stmt *s, struct resident **inside,
                     struct loop_buffer **outside, int64_t *at)
{
        if (s->kind != STMT_TRANSFER)
                return false;
        const bool loads = loop_transfer_loads(s);
        int64_t from, rows, columns;
        *inside = resident_of(r, loads ? s->buffer : s->source);
        *outside = loads ? s->source : s->buffer;
        return *inside && loop_is_int(loads ? s->a : s->b, &from) && !from &&
               loop_is_int(loads ? s->b : s->a, at) && *at % r->numbers == 0 &&
               loop_is_int(s->transfer->rows, &rows) && rows == 1 &&
               loop_is_int(s->transfer->columns, &columns) &&
               columns * r->numbers == (*inside)->buffer->extent;
}

static void find_images(struct loop_stmt *s, void *context)
{
        struct residing *r = context;
        struct resident *inside;
        struct loop_buffer *outside;
        int64_t at;
        if (!is_whole(r, s, &inside, &outside, &at))
                return;
        struct image *i = image_of(r, outside);
        if (!i) {
                ARENA_GROW(r->arena, r->images, r->image_count);
                r->images[r->image_count++] = (struct image){ .outside = outside, .first = -1 };
        }
}

static void find_parts(struct loop_stmt *s, void *context)
{
        struct residing *r = context;
        struct resident *inside;
        struct loop_buffer *outside;
        int64_t at;
        if (!is_whole(r, s, &inside, &outside, &at))
                return;
        inside->image = image_of(r, outside);
        inside->at = at;
}

/* Does the stream have the form that kernels write: all transfers of the inputs' memory are of
 * whole allocs, one for each, and are loads of what nothing else writes, or stores after all
 * writes, none under a condition or in a loop? */
struct plainness { struct residing *r; struct map *moved; bool plain; };

static void check_step(struct plainness *c, const struct loop_stmt *s, bool nested)
{
        struct residing *r = c->r;
        struct resident *to = resident_of(r, s->buffer), *from = resident_of(r, s->source), *inside;
        struct loop_buffer *outside;
        int64_t at;
        if (s->kind == STMT_ALLOC) {
                c->plain &= !to || !nested;
                return;
        }
        if (to && map_get(c->moved, (const char *)&to, sizeof to))
                c->plain = false;
        if (s->kind != STMT_TRANSFER || (!to && !from))
                return;
        c->plain &= !nested && is_whole(r, s, &inside, &outside, &at) &&
                    !map_get(c->moved, (const char *)&inside, sizeof inside);
        if (c->plain)
                map_set(c->moved, (const char *)&inside, sizeof inside, inside);
}

static void check_block(struct plainness *c, const struct loop_block *block, bool nested)
{
        for (const struct loop_stmt *s = block ? block->first : NULL; s; s = s->next) {
                check_step(c, s, nested);
                const bool deeper = nested || s->kind != STMT_IF || s->a->op != LOOP_LITERAL ||
                                    !s->a->literal.i;
                check_block(c, s->body, deeper);
                check_block(c, s->other, true);
        }
}

static bool is_plain(struct residing *r)
{
        struct plainness c = { r, map_new(r->arena), true };
        check_block(&c, r->f->body, false);
        return c.plain;
}

/* ---- lifetimes ---- */

static void touch(int *first, int *last, int layer)
{
        if (*first < 0)
                *first = layer;
        *last = layer;
}

static void touch_statement(struct loop_stmt *s, void *context)
{
        struct residing *r = context;
        struct loop_buffer *const used[] = { s->buffer, s->source };
        for (int k = 0; k < 2; k++) {
                struct resident *x = s->kind == STMT_ALLOC ? NULL : resident_of(r, used[k]);
                if (x)
                        touch(&x->first, &x->last, r->layer);
                if (x && x->image)
                        touch(&x->image->first, &x->image->last, r->layer);
        }
}

static void find_lives(struct residing *r)
{
        r->layer = 0;
        for (struct loop_stmt *s = r->f->body->first; s; s = s->next, r->layer++) {
                struct loop_block one = { .first = s };
                struct loop_stmt *next = s->next;
                s->next = NULL;
                loop_block_walk(&one, touch_statement, NULL, r);
                s->next = next;
        }
}

/* ---- places ---- */

static int64_t live_peak(const struct item *items, int count, int layers, int *where)
{
        int64_t peak = 0;
        for (int t = 0; t < layers; t++) {
                int64_t live = 0;
                for (int k = 0; k < count; k++)
                        live += t >= items[k].first && t <= items[k].last ? items[k].bytes : 0;
                if (live > peak) {
                        peak = live;
                        *where = t;
                }
        }
        return peak;
}

/* Adds an item of STORAGE_ALIGN units an element, because the planner's bytes are multiples of
 * that. */
static void add_item(struct residing *r, struct item *items, int *count, int64_t extent, int first,
                     int last)
{
        struct span *span = arena_array(r->arena, 1, sizeof *span);
        const int64_t bytes = extent / r->numbers * STORAGE_ALIGN;
        *span = (struct span){ 0, bytes, first, last };
        items[*count] = (struct item){ .spans = span,
                                       .span_count = 1,
                                       .number = *count,
                                       .bytes = bytes,
                                       .first = first,
                                       .last = last };
        (*count)++;
}

/* Does the layer itself read or write it? */
static bool is_touched(const struct residing *r, const struct image *i, int layer)
{
        for (int k = 0; k < r->resident_count; k++)
                if (r->residents[k].image == i && layer >= r->residents[k].first &&
                    layer <= r->residents[k].last)
                        return true;
        return false;
}

/* Returns the image that frees most when it is spilled, among those that are live but not touched
 * in the layer; NULL: there is none. */
static struct image *costliest(struct residing *r, int layer)
{
        struct image *best = NULL;
        int64_t worth = 0;
        for (int k = 0; k < r->image_count; k++) {
                struct image *i = &r->images[k];
                const int64_t own = (i->outside->extent / r->numbers) * (i->last - i->first);
                if (i->spilled || layer < i->first || layer > i->last || own <= worth ||
                    is_touched(r, i, layer))
                        continue;
                best = i;
                worth = own;
        }
        return best;
}

static bool place(struct residing *r, struct diag *diag)
{
        const int64_t room = machine_depth(&r->m->memories[r->m->inputs]) * STORAGE_ALIGN;
        struct item *items = arena_array(r->arena, (size_t)(r->image_count + r->resident_count) + 1,
                                         sizeof *items);
        struct loop_buffer **placed = arena_array(
                r->arena, (size_t)(r->image_count + r->resident_count) + 1, sizeof *placed);
        for (;;) {
                int count = 0, where = 0;
                bool proved;
                for (int k = 0; k < r->image_count; k++)
                        if (!r->images[k].spilled) {
                                placed[count] = r->images[k].inside;
                                add_item(r, items, &count, r->images[k].inside->extent,
                                         r->images[k].first, r->images[k].last);
                        }
                for (int k = 0; k < r->resident_count; k++)
                        if ((!r->residents[k].image || r->residents[k].image->spilled) &&
                            r->residents[k].first >= 0) {
                                placed[count] = r->residents[k].buffer;
                                add_item(r, items, &count, r->residents[k].buffer->extent,
                                         r->residents[k].first, r->residents[k].last);
                        }
                const int64_t peak = live_peak(items, count, r->layer, &where);
                if (peak <= room && place_items(items, count, peak, PLACE_WELL, &proved) <= room) {
                        for (int k = 0; k < count; k++) {
                                placed[k]->place_count = 1;
                                placed[k]->places =
                                        arena_array(r->p->arena, 1, sizeof *placed[k]->places);
                                placed[k]->places[0] = items[k].offset / STORAGE_ALIGN;
                        }
                        return true;
                }
                struct image *spilled = costliest(r, where);
                if (!spilled) {
                        diag_error(
                                diag, EXIT_UNSUPPORTED,
                                "stream %s needs %lld elements of %s at a time, and there are %lld",
                                r->f->name, (long long)(peak / STORAGE_ALIGN),
                                r->m->memories[r->m->inputs].name,
                                (long long)(room / STORAGE_ALIGN));
                        return false;
                }
                spilled->spilled = true;
        }
}

/* ---- rewriting ---- */

static void move_place(struct residing *r, struct loop_buffer **b, struct loop_expr **at)
{
        struct resident *x = resident_of(r, *b);
        if (!x || !x->image || x->image->spilled)
                return;
        *b = x->image->inside;
        *at = x->at ? loop_op(r->p->arena, LOOP_ADD, *at, loop_index(r->p->arena, x->at), NULL)
                    : *at;
}

/* Were all elements there already? From now on they are. */
static bool were_there(struct image *i, int64_t first, int64_t count)
{
        bool all = true;
        for (int64_t k = first; k < first + count; k++) {
                all &= i->there[k];
                i->there[k] = true;
        }
        return all;
}

/* Does the statement become superfluous: an alloc of what is a part now, or a transfer of what is
 * there or stays? */
static bool falls_away(struct residing *r, const struct loop_stmt *s)
{
        struct resident *x = s->kind == STMT_ALLOC ? resident_of(r, s->buffer) : NULL;
        struct loop_buffer *outside;
        int64_t at;
        if (x)
                return x->image && !x->image->spilled;
        if (!is_whole(r, s, &x, &outside, &at) || x->image->spilled)
                return false;
        const bool there = were_there(x->image, at / r->numbers, x->buffer->extent / r->numbers);
        return loop_transfer_loads(s) ? there : !x->image->needed;
}

static void rewrite(struct residing *r, struct loop_block *block)
{
        struct loop_stmt **link = &block->first;
        for (struct loop_stmt *s = block->first; s; s = s->next) {
                if (s->body)
                        rewrite(r, s->body);
                if (s->other)
                        rewrite(r, s->other);
                if (falls_away(r, s)) {
                        *link = s->next;
                        continue;
                }
                if (s->kind != STMT_ALLOC) {
                        move_place(r, &s->buffer, &s->a);
                        move_place(r, &s->source, &s->b);
                }
                link = &s->next;
        }
        block->end = link;
}

static void declare_images(struct residing *r)
{
        struct loop_block *front = loop_block_new(r->p->arena);
        for (int k = 0; k < r->image_count; k++) {
                struct image *i = &r->images[k];
                if (i->spilled)
                        continue;
                struct loop_stmt *alloc = loop_append(r->p->arena, front, STMT_ALLOC);
                alloc->buffer = i->inside;
        }
        *front->end = r->f->body->first;
        if (front->first) {
                if (r->f->body->first)
                        front->end = r->f->body->end;
                r->f->body = front;
        }
}

static void mark_parameters(struct loop_stmt *s, void *context)
{
        (void)context;
        struct loop_buffer *const used[] = { s->buffer, s->source };
        for (int k = 0; k < 2; k++)
                if (used[k] && used[k]->space == SPACE_PARAMETER)
                        used[k]->number = 1;
}

/* Removes parameters that no statement touches any more. */
static void drop_parameters(struct residing *r, struct loop_stmt *call)
{
        int kept = 0;
        for (int k = 0; k < r->f->buffer_count; k++)
                r->f->buffers[k]->number = 0;
        loop_block_walk(r->f->body, mark_parameters, NULL, NULL);
        for (int k = 0; k < r->f->buffer_count; k++) {
                if (!r->f->buffers[k]->number)
                        continue;
                if (call->offsets)
                        call->offsets[kept] = call->offsets[k];
                call->buffers[kept] = call->buffers[k];
                r->f->buffers[kept++] = r->f->buffers[k];
        }
        r->f->buffer_count = kept;
}

/* ---- the workspace ---- */

static void mark_root(struct loop_buffer *b)
{
        if (b)
                loop_buffer_root(b, NULL)->number = 1;
}

static void mark_used(struct loop_stmt *s, void *context)
{
        (void)context;
        for (int k = 0; s->kind == STMT_CALL && k < s->function->buffer_count; k++)
                mark_root(s->buffers[k]);
        mark_root(s->buffer);
        mark_root(s->source);
}

static void mark_load(struct loop_expr *e, void *context)
{
        (void)context;
        mark_root(e->buffer);
}

/* Removes values that no buffer outside holds any more. */
static void drop_values(struct loop_program *p)
{
        for (struct loop_buffer *b = p->buffers; b; b = b->next)
                b->number = 0;
        loop_walk_mains(p, mark_used, mark_load, NULL);
        p->buffers_end = &p->buffers;
        for (struct loop_buffer *b = p->buffers; b; b = b->next)
                if (b->number || loop_buffer_root(b, NULL)->number ||
                    loop_buffer_root(b, NULL)->space != SPACE_WORKSPACE) {
                        *p->buffers_end = b;
                        p->buffers_end = &b->next;
                }
        *p->buffers_end = NULL;
}

/* ---- other readers ---- */

struct others { const struct loop_stmt *call; struct loop_buffer *root; bool found; };

static void find_other_use(struct loop_stmt *s, void *context)
{
        struct others *o = context;
        if (s == o->call)
                return;
        for (int k = 0; s->kind == STMT_CALL && k < s->function->buffer_count; k++)
                o->found |= loop_buffer_root(s->buffers[k], NULL) == o->root;
        o->found |= (s->buffer && loop_buffer_root(s->buffer, NULL) == o->root) ||
                    (s->source && loop_buffer_root(s->source, NULL) == o->root);
}

static void find_other_load(struct loop_expr *e, void *context)
{
        struct others *o = context;
        o->found |= e->op == LOOP_LOAD && loop_buffer_root(e->buffer, NULL) == o->root;
}

static bool is_needed(struct residing *r, const struct loop_stmt *call,
                      const struct loop_buffer *parameter)
{
        struct others o = { .call = call };
        for (int k = 0; k < r->f->buffer_count; k++)
                if (r->f->buffers[k] == parameter)
                        o.root = loop_buffer_root(call->buffers[k], NULL);
        loop_walk_mains(r->p, find_other_use, find_other_load, &o);
        return o.found || !o.root || o.root->space != SPACE_WORKSPACE;
}

/* shared: other calls pass other values for its parameters. */
static bool reside(struct loop_program *p, struct loop_stmt *call, bool shared, struct diag *diag,
                   int *count)
{
        struct loop_function *f = call->function;
        struct residing r = { .p = p,
                              .f = f,
                              .m = f->machine,
                              .arena = arena_new(),
                              .numbers = machine_element_numbers(
                                      &f->machine->memories[f->machine->inputs]) };
        loop_block_walk(f->body, find_allocs, NULL, &r);
        if (!is_plain(&r)) {
                arena_free(r.arena);
                return true;
        }
        loop_block_walk(f->body, find_images, NULL, &r);
        loop_block_walk(f->body, find_parts, NULL, &r);
        find_lives(&r);
        for (int k = 0; k < r.image_count; k++) {
                struct image *i = &r.images[k];
                i->inside = ARENA_NEW(p->arena, struct loop_buffer);
                *i->inside =
                        (struct loop_buffer){ .name = arena_printf(p->arena, "%s_inside",
                                                                   i->outside->name),
                                              .element = i->outside->element,
                                              .extent = round_up(i->outside->extent, r.numbers),
                                              .space = SPACE_MEMORY,
                                              .access = ACCESS_INOUT,
                                              .memory = r.m->inputs,
                                              .offset = -1 };
                i->there = arena_array(r.arena, (size_t)(i->inside->extent / r.numbers) + 1,
                                       sizeof *i->there);
                i->needed = shared || is_needed(&r, call, i->outside);
        }
        const bool fine = place(&r, diag);
        if (fine) {
                rewrite(&r, f->body);
                declare_images(&r);
                drop_parameters(&r, call);
                for (int k = 0; k < r.image_count; k++)
                        *count += !r.images[k].spilled && !r.images[k].needed;
        }
        arena_free(r.arena);
        return fine;
}

static void find_call(struct loop_stmt *s, void *context)
{
        struct others *o = context;
        o->found |= s != o->call && s->kind == STMT_CALL && s->function == o->call->function;
}

static void find_placed(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->kind == STMT_ALLOC && s->buffer->place_count;
}

int stream_reside(struct loop_program *p, struct diag *diag)
{
        int count = 0;
        for (struct loop_stmt *s = loop_main(p)->body->first; s; s = s->next) {
                struct others o = { .call = s };
                bool placed = false;
                if (s->kind != STMT_CALL || s->function->kind != FUNCTION_STREAM ||
                    !s->function->machine->activates)
                        continue;
                loop_block_walk(s->function->body, find_placed, NULL, &placed);
                loop_walk_mains(p, find_call, NULL, &o);
                if (!placed && !reside(p, s, o.found, diag, &count))
                        return -1;
        }
        if (count)
                drop_values(p);
        return count;
}
