/* SPDX-License-Identifier: MIT */
/* detach: parts of something larger (operands of a concat, results of a split) get memory of their
 * own, and are copied, where the plan is smaller then.
 *
 *   buffer @c : f32[96] workspace                      buffer @c : f32[96] workspace
 *   buffer @a : f32[64] view @c[0]                     buffer @a : f32[64] workspace
 *   buffer @b : f32[32] view @c[64]                    buffer @b : f32[32] view @c[64]
 *                                             ->       buffer @a_2 : f32[64] view @c[0]
 *   call @wide(@x, @a)                                 call @wide(@x, @a)
 *   call @narrow(@a, @b)                               call @narrow(@a, @b)
 *                                                      call @copy(@a, @a_2)
 *   call @join(@c, @y)                                 call @join(@c, @y)
 *
 * Where all of @c lies is one decision; that of @a is another one then. No fewer bytes are in use
 * at any time, so only bytes that are lost in placing can be won. So nothing is tried where the
 * plan already takes no more than the lower bound of every order of the statements (where memory is
 * the goal), or than the bytes in use with this order. Otherwise the pass tries to detach all
 * parts, as if concats and splits were kernels like others; then, beginning with none and with all,
 * one part more or less, as long as the plan shrinks, or fewer bytes are copied. Where memory is
 * not the goal, nothing changes unless the plan with all parts copied is smaller. Each time the
 * statements are arranged anew, by a search whose work is at most limits.detach_steps in all.
 *
 * A part can be detached when all statements that touch it by itself come before all others that
 * touch any of it, or behind all of these, in main itself. Exact: elements are copied. */
#include <stdlib.h>
#include <string.h>

#include "passes/memory/arrange.h"
#include "passes/pass.h"
#include "passes/memory/plan.h"

enum {
        TRIES_MAX = 96,
        PARTS_MAX = 256,                /* Each try goes through the program once for each part;
                                         * with more parts nothing is tried. */
        STATEMENTS_MAX = 4096,          /* Nothing is tried in a longer program. */
        TOUCHES_MAX = 4096              /* Parts of a buffer with more touches are not looked at. */
};

struct part {
        struct loop_buffer *view, *hole;          /* hole: the place that the part had, once it has
                                                   * been detached. */
        struct loop_function *copy;
        struct loop_stmt *at;           /* The copy stands in front of this statement. */
        bool joins;                     /* The part is copied into the buffer that it is a part of,
                                         * not out of it. */
};

/* A snapshot is the program as it was: each trial changes it, and the next one begins from here. */
struct snapshot {
        struct loop_buffer *buffers, **buffers_end;       /* Copies of all buffers, in order. */
        struct loop_function **kernels_end;
        struct loop_stmt **statements;
        int count;
};

struct root_touches { struct touch *list; int count; };

struct detaching {
        struct arena *arena;
        struct loop_program *p;
        struct pass_context *context;
        struct root_touches *touches;   /* The touches of each root, by its number. */
        struct part *parts;
        int part_count, *by_size;       /* by_size: the numbers of parts, the largest first. */
        struct snapshot start;
        int64_t enough;                 /* No plan takes fewer bytes. */
        int tries;
        int64_t work;                   /* The search for orders may still do this much work. */
        /* The best result so far has these detached parts, planned bytes, and copied bytes. */
        bool *best;
        int64_t size, copied;
};

/* ---- parts ---- */

static void note_touch(const struct touch *t, void *context)
{
        struct detaching *d = context;
        struct root_touches *r = &d->touches[t->root->number];
        ARENA_GROW(d->arena, r->list, r->count);
        r->list[r->count++] = *t;
}

/* Do statements that touch bytes start..end alone all come before, or all behind, those that touch
 * more? *at: the first statement of the later ones; *joins: those that touch the part alone come
 * first. */
static bool find_copy(const struct root_touches *r, int64_t start, int64_t end, int *at,
                      bool *joins)
{
        int first[2] = { INT32_MAX, INT32_MAX }, last[2] = { -1, -1 };
        for (int i = 0; i < r->count; i++) {
                const struct touch *t = &r->list[i];
                bool alone = start <= t->start && t->end <= end;
                if (t->scope->parent)
                        return false;
                if (t->end <= start || end <= t->start)
                        continue;
                first[alone] = t->time < first[alone] ? t->time : first[alone];
                last[alone] = t->time > last[alone] ? t->time : last[alone];
        }
        *joins = last[1] < first[0];
        *at = first[!*joins];
        return last[0] >= 0 && last[1] >= 0 && (*joins || last[0] < first[1]);
}

static bool is_known(const struct detaching *d, const struct loop_buffer *view)
{
        for (int i = 0; i < d->part_count; i++) {
                const struct loop_buffer *v = d->parts[i].view;
                if (v->view_of == view->view_of && v->view_offset == view->view_offset &&
                    v->extent == view->extent)
                        return true;
        }
        return false;
}

/* Orders copies that stand in front of the same statement: those into a whole come first, into a
 * part of a part before that one is copied; those out of a whole come last, and then those out of
 * its part. */
static int by_place(const void *x, const void *y)
{
        const struct part *a = x, *b = y;
        int64_t p = loop_buffer_bytes(a->view), q = loop_buffer_bytes(b->view);
        if (a->joins != b->joins)
                return a->joins ? -1 : 1;
        return p != q ? ((p < q) == a->joins ? -1 : 1) : a->view->number - b->view->number;
}

/* Lists statements by number; nested ones are NULL. */
static struct loop_stmt **number_statements(struct arena *arena, const struct loop_program *p,
                                            int count)
{
        struct loop_stmt **list = arena_array(arena, (size_t)count + 1, sizeof *list);
        int time = 0;
        for (struct loop_stmt *s = loop_main(p)->body->first; s; s = s->next) {
                list[time] = s;
                time += 1 + statements_count(s->body) + statements_count(s->other);
        }
        return list;
}

static void find_parts(struct detaching *d)
{
        int count = 0;
        for (struct loop_buffer *b = d->p->buffers; b; b = b->next)
                b->number = count++;
        d->touches = arena_array(d->arena, (size_t)count + 1, sizeof *d->touches);
        struct loop_stmt **statements =
                number_statements(d->arena, d->p, touches_walk(d->arena, d->p, note_touch, d));
        for (struct loop_buffer *b = d->p->buffers; b; b = b->next) {
                const struct loop_buffer *root = b->view_of;
                int64_t bytes = element_info[b->element].bytes;
                struct part part = { .view = b };
                int at;
                if (b->space != SPACE_VIEW || b->entry != d->p->at ||
                    root->space != SPACE_WORKSPACE ||
                    root->element != b->element || b->extent == root->extent ||
                    d->touches[root->number].count > TOUCHES_MAX || is_known(d, b))
                        continue;
                if (!find_copy(&d->touches[root->number], b->view_offset * bytes,
                               (b->view_offset + b->extent) * bytes, &at, &part.joins))
                        continue;
                if (d->part_count == PARTS_MAX) {
                        d->part_count = 0;
                        return;
                }
                part.at = statements[at];
                ARENA_GROW(d->arena, d->parts, d->part_count);
                d->parts[d->part_count++] = part;
        }
        if (d->part_count)
                qsort(d->parts, (size_t)d->part_count, sizeof *d->parts, by_place);
}

/* ---- there and back ---- */

static struct snapshot take_snapshot(struct arena *arena, const struct loop_program *p)
{
        struct snapshot s = { .buffers_end = p->buffers_end, .kernels_end = p->kernels_end };
        int count = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next)
                count++;
        for (const struct loop_stmt *t = loop_main(p)->body->first; t; t = t->next)
                s.count++;
        s.buffers = arena_array(arena, (size_t)count + 1, sizeof *s.buffers);
        s.statements = arena_array(arena, (size_t)s.count + 1, sizeof *s.statements);
        count = s.count = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next)
                s.buffers[count++] = *b;
        for (struct loop_stmt *t = loop_main(p)->body->first; t; t = t->next)
                s.statements[s.count++] = t;
        return s;
}

static void go_back(struct loop_program *p, const struct snapshot *s)
{
        int i = 0;
        *(p->buffers_end = s->buffers_end) = NULL;
        *(p->kernels_end = s->kernels_end) = NULL;
        for (struct loop_buffer *b = p->buffers; b; b = b->next)
                *b = s->buffers[i++];
        struct loop_block *body = loop_main(p)->body;
        body->end = &body->first;
        for (i = 0; i < s->count; i++) {
                *body->end = s->statements[i];
                body->end = &s->statements[i]->next;
        }
        *body->end = NULL;
}

/* ---- detaching ---- */

/* Builds the kernel y[i] = x[i]. */
static struct loop_function *copy_kernel(struct loop_program *p, enum element e, int64_t extent)
{
        struct arena *arena = p->arena;
        struct loop_function *k = loop_function_new(arena, FUNCTION_KERNEL,
                                                    text_identifier(p->names, "copy", 4, "copy"));
        k->summary = arena_printf(arena, "copy of a part, %lld elements", (long long)extent);
        k->body = loop_block_new(arena);
        struct loop_buffer *x = loop_parameter_add(arena, k, "x", e, extent, ACCESS_IN);
        struct loop_buffer *y = loop_parameter_add(arena, k, "y", e, extent, ACCESS_OUT);
        struct loop_stmt *loop = loop_append(arena, k->body, STMT_FOR);
        loop->variable = loop_variable_new(arena, "i", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        loop->a = loop_index(arena, 0);
        loop->b = loop_index(arena, extent);
        struct loop_stmt *store = loop_append(arena, loop->body, STMT_STORE);
        store->buffer = y;
        store->a = loop_use(arena, loop->variable);
        store->b = loop_load(arena, x, loop_use(arena, loop->variable));
        return k;
}

/* Makes what a part's copy needs, once, however often the part is tried; equal kernels are
 * shared. */
static void prepare(struct detaching *d, struct part *part)
{
        const struct loop_buffer *own = part->view;
        for (int i = 0; i < d->part_count && !part->copy; i++)
                if (d->parts[i].copy && d->parts[i].view->element == own->element &&
                    d->parts[i].view->extent == own->extent)
                        part->copy = d->parts[i].copy;
        if (!part->copy)
                part->copy = copy_kernel(d->p, own->element, own->extent);
        if (part->hole)
                return;
        part->hole = ARENA_NEW(d->p->arena, struct loop_buffer);
        *part->hole = *own;
        part->hole->name = text_identifier(d->p->names, own->name, strlen(own->name), "part");
}

static void add_kernel(struct loop_program *p, struct loop_function *kernel)
{
        for (const struct loop_function *k = p->kernels; k; k = k->next)
                if (k == kernel)
                        return;
        kernel->next = NULL;
        *p->kernels_end = kernel;
        p->kernels_end = &kernel->next;
}

/* Detaches the part: views of its bytes become views of it, among them the views that detached
 * parts left behind. */
static void detach(struct detaching *d, struct part *part)
{
        struct loop_program *p = d->p;
        struct loop_buffer *own = part->view, *root = own->view_of, *hole = part->hole;
        int64_t start = own->view_offset, end = start + own->extent;
        for (struct loop_buffer *b = p->buffers; b; b = b->next)
                if (b->view_of == root && b != own && start <= b->view_offset &&
                    b->view_offset + b->extent <= end) {
                        b->view_of = own;
                        b->view_offset -= start;
                }
        own->space = SPACE_WORKSPACE;
        own->view_of = NULL;
        own->view_offset = 0;
        hole->view_of = root;
        hole->view_offset = start;
        hole->next = NULL;
        *p->buffers_end = hole;
        p->buffers_end = &hole->next;
        add_kernel(p, part->copy);
        struct loop_block one = { .end = &one.first };
        struct loop_stmt *call = loop_append(p->arena, &one, STMT_CALL),
                         **at = &loop_main(p)->body->first;
        call->function = part->copy;
        call->buffers = arena_array(p->arena, 2, sizeof *call->buffers);
        call->buffers[0] = part->joins ? own : hole;
        call->buffers[1] = part->joins ? hole : own;
        while (*at != part->at)
                at = &(*at)->next;
        call->next = *at;
        *at = call;
}

/* Detaches the parts of a set, in the program as it was. Returns the bytes that are copied. */
static int64_t detach_all(struct detaching *d, const bool *set)
{
        int64_t copied = 0;
        go_back(d->p, &d->start);
        for (int i = 0; i < d->part_count; i++)
                if (set[i]) {
                        prepare(d, &d->parts[i]);
                        detach(d, &d->parts[i]);
                        copied += loop_buffer_bytes(d->parts[i].view);
                }
        return copied;
}

/* ---- the choice ---- */

static int64_t size_of(const struct detaching *d, enum place_effort effort)
{
        bool proved;
        return plan_size(d->p, d->context->lower.views, effort, &proved);
}

/* Tries a set. Returns true if it is the best so far. */
static bool try_set(struct detaching *d, const bool *set)
{
        int64_t copied = detach_all(d, set);
        d->tries++;
        arrange_statements(d->p, d->context, &d->work);
        int64_t size = size_of(d, PLACE_QUICKLY);
        if (size > d->size || (size == d->size && copied >= d->copied))
                return false;
        d->size = size;
        d->copied = copied;
        memcpy(d->best, set, (size_t)d->part_count * sizeof *set);
        return true;
}

/* Tries one part more, or one part less, than the best set, the largest parts first, as long as
 * that is better. */
static void change_one(struct detaching *d)
{
        bool *set = arena_array(d->arena, (size_t)d->part_count, sizeof *set);
        for (int i = 0, vain = 0; vain < d->part_count && d->tries < TRIES_MAX && d->work > 0;
             i = (i + 1) % d->part_count, vain++) {
                memcpy(set, d->best, (size_t)d->part_count * sizeof *set);
                set[d->by_size[i]] = !set[d->by_size[i]];
                if (try_set(d, set))
                        vain = 0;
        }
}

static void choose(struct detaching *d)
{
        bool *all = arena_array(d->arena, (size_t)d->part_count, sizeof *all);
        for (int i = 0; i < d->part_count; i++)
                all[i] = true;
        if (d->context->memory)
                change_one(d);
        if (d->size > d->enough && d->work > 0 && try_set(d, all))
                change_one(d);
}

static void sort_by_size(struct detaching *d)
{
        d->by_size = arena_array(d->arena, (size_t)d->part_count, sizeof *d->by_size);
        for (int i = 0; i < d->part_count; i++) {
                int at = i;
                for (; at && loop_buffer_bytes(d->parts[d->by_size[at - 1]].view) <
                                     loop_buffer_bytes(d->parts[i].view);
                     at--)
                        d->by_size[at] = d->by_size[at - 1];
                d->by_size[at] = i;
        }
}

static bool has_parts(const struct loop_program *p)
{
        for (const struct loop_buffer *b = p->buffers; b; b = b->next)
                if (b->space == SPACE_VIEW && b->view_of->space == SPACE_WORKSPACE)
                        return true;
        return false;
}

static int detach_entry(struct loop_program *p, struct pass_context *context)
{
        struct arena *arena = arena_new();
        struct detaching d = { .arena = arena, .p = p, .context = context,
                               .work = context->limits.detach_steps };
        int count = 0;
        d.size = size_of(&d, PLACE_QUICKLY);
        d.enough = arrange_enough(p, context);
        bool larger = d.size > d.enough && statements_count(loop_main(p)->body) <= STATEMENTS_MAX;
        if (larger)
                d.size = size_of(&d, PLACE_WELL);       /* Plans as it will be planned: copies must
                                                         * be worth their bytes then. */
        if (larger && d.size > d.enough)
                find_parts(&d);
        if (d.part_count) {
                d.start = take_snapshot(arena, p);
                d.best = arena_array(arena, (size_t)d.part_count, sizeof *d.best);
                sort_by_size(&d);
                choose(&d);
                detach_all(&d, d.best);
                for (int i = 0; i < d.part_count; i++)
                        count += d.best[i];
                if (count)
                        arrange_statements(p, context, NULL);
        }
        arena_free(arena);
        return count;
}

int pass_detach(struct loop_program *p, struct pass_context *context)
{
        int count = 0;
        for (p->at = 0; p->at < p->entry_count && has_parts(p); p->at++)
                count += detach_entry(p, context);
        p->at = 0;
        return count;
}
