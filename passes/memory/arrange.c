/* SPDX-License-Identifier: MIT */
/* arrange: the order of the statements of main.
 *
 *   call @wide(@x, @a)                   call @wide(@x, @a)
 *   call @wide(@x, @b)                   call @narrow(@a, @c)
 *   call @narrow(@a, @c)        ->       call @wide(@x, @b)
 *   call @narrow(@b, @d)                 call @narrow(@b, @d)
 *   call @join(@c, @d, @y)               call @join(@c, @d, @y)
 *
 * Where memory is the goal (--goal=memory, --max-ram), the statements get the order that needs the
 * fewest bytes at once, as the plan will count them: with views, results that lie on operands, and
 * the scratch of schedules (arrange_search.c says how it is found); of several such orders, one
 * that can be planned well. Otherwise results are read soon after they are made: each statement
 * comes just before the first one that needs it, if bytes then wait for fewer statements in all and
 * no more of them are in use at once.
 *
 * Statements keep the order of their reads and writes of each byte, so results are the same to the
 * bit. (Where two statements can fail, another one may be the first to do so.) */
#include "passes/memory/arrange.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "passes/pass.h"
#include "passes/memory/plan.h"

/* ---- the graph ---- */

/* A piece is the bytes of one root that are touched by the same statements. */
struct piece { int64_t start, end; int written, *readers, reader_count, *steps, step_count; };

struct part_touch { int64_t start, end; bool read, written; int step; };

struct root {
        struct loop_buffer *buffer;
        struct part_touch *touches;
        int touch_count;
        int whole;                      /* The steps of the resident with this number are all that
                                         * touch the root; -1: there is none. */
};

struct building {
        struct arena *arena, *scratch;
        struct step_graph *g;
        struct root *roots;
        int root_count;
        int *step_of;                   /* Each statement has the number of its step. */
        int *seen;                      /* Each step has 1 + the number of the last step that has it
                                         * before itself. */
};

static bool can_move(const struct loop_stmt *s)
{
        return s->kind == STMT_CALL || s->kind == STMT_IF || s->kind == STMT_FOR ||
               s->kind == STMT_WHILE;
}

static void note_touch(const struct touch *t, void *context)
{
        struct building *b = context;
        if ((t->root->space != SPACE_WORKSPACE && !loop_is_output(t->root)) || t->end == t->start)
                return;
        struct root *r = &b->roots[t->root->number];
        ARENA_GROW(b->scratch, r->touches, r->touch_count);
        r->touches[r->touch_count++] =
                (struct part_touch){ t->start, t->end, t->read, t->written, b->step_of[t->time] };
}

static void add_before(struct building *b, int step, int before)
{
        struct step *s = &b->g->steps[step];
        if (before < 0 || before == step || b->seen[before] == step + 1)
                return;
        b->seen[before] = step + 1;
        ARENA_GROW(b->arena, s->before, s->before_count);
        s->before[s->before_count++] = before;
}

static int by_value(const void *x, const void *y)
{
        int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
        return a < b ? -1 : a > b;
}

static int cut_root(struct building *b, const struct root *r, struct piece **pieces)
{
        int64_t *bounds = arena_array(b->scratch, 2 * (size_t)r->touch_count, sizeof *bounds);
        int count = 0, distinct = 0;
        for (int i = 0; i < r->touch_count; i++) {
                bounds[count++] = r->touches[i].start;
                bounds[count++] = r->touches[i].end;
        }
        qsort(bounds, (size_t)count, sizeof *bounds, by_value);
        for (int i = 0; i < count; i++)
                if (!i || bounds[i] != bounds[i - 1])
                        bounds[distinct++] = bounds[i];
        *pieces = arena_array(b->scratch, (size_t)distinct, sizeof **pieces);
        for (int i = 0; i + 1 < distinct; i++)
                (*pieces)[i] =
                        (struct piece){ .start = bounds[i], .end = bounds[i + 1], .written = -1 };
        return distinct - 1;
}

static void touch_piece(struct building *b, struct piece *p, const struct part_touch *t)
{
        add_before(b, t->step, p->written);
        if (t->written) {
                for (int i = 0; i < p->reader_count; i++)
                        add_before(b, t->step, p->readers[i]);
                p->reader_count = 0;
                p->written = t->step;
        } else {
                ARENA_GROW(b->scratch, p->readers, p->reader_count);
                p->readers[p->reader_count++] = t->step;
        }
        if (!p->step_count || p->steps[p->step_count - 1] != t->step) {
                ARENA_GROW(b->arena, p->steps, p->step_count);
                p->steps[p->step_count++] = t->step;
        }
}

static int add_resident(struct building *b, struct resident resident)
{
        step_graph_resident(b->g, b->arena, resident);
        return b->g->resident_count - 1;
}

static bool same_steps(const struct piece *a, const struct piece *b)
{
        return a->step_count == b->step_count &&
               !memcmp(a->steps, b->steps, (size_t)a->step_count * sizeof *a->steps);
}

static int by_int(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

/* Adds a resident of no bytes, which dies when all of the root does. Returns its number. */
static int add_whole(struct building *b, const struct root *r)
{
        struct resident whole = { 0 };
        whole.steps = arena_array(b->arena, (size_t)r->touch_count, sizeof *whole.steps);
        for (int i = 0; i < r->touch_count; i++)
                whole.steps[whole.step_count++] = r->touches[i].step;
        qsort(whole.steps, (size_t)whole.step_count, sizeof *whole.steps, by_int);
        int distinct = 0;
        for (int i = 0; i < whole.step_count; i++)
                if (!i || whole.steps[i] != whole.steps[i - 1])
                        whole.steps[distinct++] = whole.steps[i];
        whole.step_count = distinct;
        return add_resident(b, whole);
}

static void build_root(struct building *b, struct root *r)
{
        struct piece *pieces;
        int count = cut_root(b, r, &pieces);
        for (int i = 0; i < r->touch_count; i++) {
                const struct part_touch *t = &r->touches[i];
                int low = 0, high = count;
                while (high - low > 1)
                        *(pieces[(low + high) / 2].start <= t->start ? &low : &high) =
                                (low + high) / 2;
                for (; low < count && pieces[low].start < t->end; low++)
                        touch_piece(b, &pieces[low], t);
        }
        r->whole = -1;
        if (r->buffer->space != SPACE_WORKSPACE)
                return;
        for (int k = 0, next; k < count; k = next) {
                for (next = k + 1; next < count && pieces[next].step_count &&
                                   same_steps(&pieces[k], &pieces[next]);
                     next++)
                        ;
                int64_t bytes = storage_bytes(pieces[next - 1].end - pieces[k].start);
                if (pieces[k].step_count > 1)
                        add_resident(b, (struct resident){ bytes, pieces[k].steps,
                                                           pieces[k].step_count });
        }
        r->whole = add_whole(b, r);
}

/* ---- what runs inside a step, and what it may lie on ---- */

/* Gives each step the largest number of bytes in use while it runs that no other step uses. */
static void add_own(struct building *b, struct loop_program *p)
{
        struct lifetimes l = lifetimes_find(b->scratch, p);
        int64_t *live = arena_array(b->scratch, (size_t)l.statements + 1, sizeof *live), sum = 0;
        for (int i = 0; i < l.count; i++)
                for (int k = 0; k < l.storages[i].span_count; k++) {
                        const struct span *s = &l.storages[i].spans[k];
                        if (b->step_of[s->first] != b->step_of[s->last])
                                continue;
                        live[s->first] += s->end - s->start;
                        live[s->last + 1] -= s->end - s->start;
                }
        for (int t = 0; t < l.statements; t++) {
                struct step *step = &b->g->steps[b->step_of[t]];
                sum += live[t];
                step->own = sum > step->own ? sum : step->own;
        }
}

static void add_in_place(struct building *b, int step, const struct loop_stmt *call)
{
        const struct loop_function *kernel = call->function;
        struct step *s = &b->g->steps[step];
        for (int out = 0; out < kernel->buffer_count; out++) {
                struct touch y = touch_argument(call, out, 0);
                int64_t bytes = storage_bytes(y.end - y.start);
                bool may = (kernel->buffers[out]->access & ACCESS_OUT) &&
                           kernel->buffers[out]->alias_class > 0 &&
                           y.root->space == SPACE_WORKSPACE && y.start % STORAGE_ALIGN == 0 &&
                           !call->offsets;
                for (int in = 0; in < kernel->buffer_count && may; in++) {
                        struct touch x = touch_argument(call, in, 0);
                        const struct root *r = &b->roots[x.root->number];
                        bool alone =
                                x.root->space == SPACE_WORKSPACE && x.root != y.root && !x.start &&
                                r->whole >= 0 &&
                                x.end == x.root->extent * element_info[x.root->element].bytes &&
                                x.end == y.end - y.start;
                        if (kernel->buffers[in]->access != ACCESS_IN ||
                            kernel->buffers[in]->alias_class != kernel->buffers[out]->alias_class ||
                            !alone)
                                continue;
                        for (int i = 0; i < kernel->buffer_count && alone; i++)
                                alone = i == in ||
                                        loop_buffer_root(call->buffers[i], NULL) != x.root;
                        if (!alone)
                                continue;
                        ARENA_GROW(b->arena, s->in_places, s->in_place_count);
                        s->in_places[s->in_place_count++] =
                                (struct in_place){ r->whole, bytes, out };
                }
        }
}

bool arrange_graph(struct arena *arena, struct loop_program *p, bool shares, struct step_graph *g)
{
        struct building b = { .arena = arena, .scratch = arena_new(), .g = g };
        int statements = statements_count(loop_main(p)->body), time = 0;
        *g = (struct step_graph){ 0 };
        b.step_of = arena_array(b.scratch, (size_t)statements + 1, sizeof *b.step_of);
        for (const struct loop_stmt *s = loop_main(p)->body->first; s; s = s->next) {
                if (!can_move(s)) {
                        arena_free(b.scratch);
                        return false;
                }
                for (int end = time + 1 + statements_count(s->body) + statements_count(s->other);
                     time < end; time++)
                        b.step_of[time] = g->count;
                g->count++;
        }
        g->steps = arena_array(arena, (size_t)g->count + 1, sizeof *g->steps);
        b.seen = arena_array(b.scratch, (size_t)g->count + 1, sizeof *b.seen);
        add_own(&b, p);
        for (struct loop_buffer *buffer = p->buffers; buffer; buffer = buffer->next)
                buffer->number = b.root_count++;
        b.roots = arena_array(b.scratch, (size_t)b.root_count + 1, sizeof *b.roots);
        for (struct loop_buffer *buffer = p->buffers; buffer; buffer = buffer->next)
                b.roots[buffer->number] = (struct root){ .buffer = buffer, .whole = -1 };
        touches_walk(b.scratch, p, note_touch, &b);
        for (int i = 0; i < b.root_count; i++)
                if (b.roots[i].touch_count)
                        build_root(&b, &b.roots[i]);
        int step = 0;
        for (const struct loop_stmt *s = loop_main(p)->body->first; s; s = s->next, step++)
                if (shares && s->kind == STMT_CALL)
                        add_in_place(&b, step, s);
        arena_free(b.scratch);
        return true;
}

int64_t arrange_best(struct arena *arena, const struct step_graph *g, int64_t *bound)
{
        int *order = arena_array(arena, (size_t)g->count + 1, sizeof *order);
        for (int i = 0; i < g->count; i++)
                order[i] = i;
        return arrange_search(g, order, bound, NULL);
}

/* ---- what is made is read soon ---- */

/* Returns the sum, over all bytes that wait, of the steps that they wait for. */
static double waiting(const struct step_graph *g, const int *order, int *position)
{
        double sum = 0;
        for (int i = 0; i < g->count; i++)
                position[order[i]] = i;
        for (int i = 0; i < g->resident_count; i++) {
                const struct resident *r = &g->residents[i];
                int first = g->count, last = 0;
                for (int k = 0; k < r->step_count; k++) {
                        int at = position[r->steps[k]];
                        first = at < first ? at : first;
                        last = at > last ? at : last;
                }
                sum += r->step_count ? (double)r->bytes * (last - first) : 0;
        }
        return sum;
}

struct need { int step, depth; };        /* depth: the length of the longest path of steps that ends
                                          * with this one. */

static int deepest_first(const void *x, const void *y)
{
        const struct need *a = x, *b = y;
        return a->depth != b->depth ? (a->depth > b->depth ? -1 : 1) : a->step - b->step;
}

/* Lists what each step needs, the end of the longest path first: results that are made from
 * constants alone, or early, then come late. */
static struct need **find_needs(const struct step_graph *g, struct arena *arena)
{
        struct need **needs = arena_array(arena, (size_t)g->count + 1, sizeof *needs);
        int *depth = arena_array(arena, (size_t)g->count + 1, sizeof *depth);
        for (int i = 0; i < g->count; i++) {
                const struct step *s = &g->steps[i];
                needs[i] = arena_array(arena, (size_t)s->before_count + 1, sizeof **needs);
                for (int k = 0; k < s->before_count; k++) {
                        needs[i][k] = (struct need){ s->before[k], depth[s->before[k]] };
                        depth[i] = depth[i] > needs[i][k].depth ? depth[i] : needs[i][k].depth + 1;
                }
                if (s->before_count > 1)
                        qsort(needs[i], (size_t)s->before_count, sizeof **needs, deepest_first);
        }
        return needs;
}

void arrange_by_need(const struct step_graph *g, struct arena *arena, int *order)
{
        struct need **needs = find_needs(g, arena);
        int *stack = arena_array(arena, (size_t)g->count + 1, sizeof *stack);
        /* Each step has the position of the need that is looked at next. */
        int *next = arena_array(arena, (size_t)g->count + 1, sizeof *next);
        /* Each step has 1 when it is on the stack, and 2 when it is in the order. */
        char *state = arena_array(arena, (size_t)g->count + 1, 1);
        char *needed = arena_array(arena, (size_t)g->count + 1, 1);
        int count = 0;
        for (int i = 0; i < g->count; i++)
                for (int k = 0; k < g->steps[i].before_count; k++)
                        needed[g->steps[i].before[k]] = 1;
        for (int root = 0; root < g->count; root++) {
                int depth = 0;
                if (!needed[root])
                        stack[depth++] = root;
                while (depth) {
                        int step = stack[depth - 1], most = g->steps[step].before_count;
                        while (next[step] < most && state[needs[step][next[step]].step])
                                next[step]++;
                        if (next[step] < most) {
                                stack[depth] = needs[step][next[step]++].step;
                                state[stack[depth++]] = 1;
                        } else {
                                order[count++] = step;
                                state[step] = 2;
                                depth--;
                        }
                }
        }
}

/* ---- all ---- */

struct arranging {
        struct loop_program *p;
        struct pass_context *context;
        struct step_graph g;
        struct loop_stmt **statements;  /* The statements are in the order that they had at
                                         * first. */
        int *order, *best;              /* `order` is looked at, and `best` is the best so far. */
        int64_t size, peak;             /* The best order has this planned size and peak, in
                                         * bytes. */
};

static void put_in_order(const struct arranging *a, const int *order)
{
        struct loop_block *body = loop_main(a->p)->body;
        body->end = &body->first;
        for (int i = 0; i < a->g.count; i++) {
                *body->end = a->statements[order[i]];
                body->end = &a->statements[order[i]]->next;
        }
        *body->end = NULL;
}

static int64_t planned(const struct arranging *a, const int *order, enum place_effort effort)
{
        bool proved;
        put_in_order(a, order);
        return plan_size(a->p, a->context->lower.views, effort, &proved);
}

/* Keeps the order if it is better: the order with the fewest bytes in use may not be the one that
 * is planned with the fewest, so the plan decides, and then the peak. */
static void try_order(struct arranging *a)
{
        int64_t peak = arrange_peak(&a->g, a->order), size = planned(a, a->order, PLACE_QUICKLY);
        if (a->size >= 0 && (size > a->size || (size == a->size && peak >= a->peak)))
                return;
        a->size = size;
        a->peak = peak;
        memcpy(a->best, a->order, (size_t)a->g.count * sizeof *a->best);
}

/* One of the orders with the same peak may be planned better than another. From the best order on,
 * a random step moves elsewhere, as long as fewer bytes are in use at once than the plan takes so
 * far. */
static void walk_orders(struct arranging *a, struct arena *arena, int64_t enough)
{
        enum { TRIES = 256, STEPS_MAX = 1024 };
        uint64_t random = RANDOM_START, count = (uint64_t)a->g.count;
        int *kept = arena_copy(arena, a->best, (size_t)count * sizeof *kept);
        for (int i = 0; i < TRIES && a->size > enough && count <= STEPS_MAX; i++) {
                memcpy(a->order, kept, (size_t)count * sizeof *kept);
                int from = (int)(random_next(&random) % count),
                    to = (int)(random_next(&random) % count);
                if (!step_move(&a->g, a->order, from, to) ||
                    arrange_peak(&a->g, a->order) >= a->size)
                        continue;
                memcpy(kept, a->order, (size_t)count * sizeof *kept);
                try_order(a);
        }
}

/* Tries the model's order, the order by need, what the search makes of the better of these, and
 * orders near that one. */
static void arrange_for_memory(struct arranging *a, struct arena *arena, int64_t *work)
{
        enum { QUICK_STEPS = 64 };      /* Stretches of more steps are not searched quickly. */
        size_t bytes = (size_t)a->g.count * sizeof *a->order;
        int64_t bound, least = INT64_MAX;
        int *own = arena_copy(arena, a->order, bytes),
            *need = arena_array(arena, (size_t)a->g.count, sizeof *need);
        a->size = -1;
        try_order(a);
        arrange_by_need(&a->g, arena, need);
        if (arrange_peak(&a->g, need) < a->peak) {
                memcpy(a->order, need, bytes);
                try_order(a);
        }
        if (work && (a->g.count > QUICK_STEPS || *work <= 0))
                return;
        arrange_search(&a->g, a->order, &bound, work);
        int *found = arena_copy(arena, a->order, bytes);
        try_order(a);
        if (work)
                return;
        walk_orders(a, arena, bound);
        const int *orders[] = { arena_copy(arena, a->best, bytes), found, own };
        for (int i = 0; i < 3 && a->size > bound && least > bound; i++) {
                int64_t size = planned(a, orders[i], PLACE_WELL);
                if (size < least)
                        memcpy(a->best, orders[i], bytes);
                least = size < least ? size : least;
        }
}

static void arrange_for_speed(struct arranging *a, struct arena *arena)
{
        int *position = arena_array(arena, (size_t)a->g.count, sizeof *position);
        arrange_by_need(&a->g, arena, a->order);
        if (arrange_peak(&a->g, a->order) <= arrange_peak(&a->g, NULL) &&
            waiting(&a->g, a->order, position) < waiting(&a->g, a->best, position))
                memcpy(a->best, a->order, (size_t)a->g.count * sizeof *a->best);
}

int arrange_statements(struct loop_program *p, struct pass_context *context, int64_t *work)
{
        struct arena *arena = arena_new();
        struct arranging a = { .p = p, .context = context };
        int moved = 0;
        if (arrange_graph(arena, p, context->lower.views, &a.g) && a.g.count > 2) {
                size_t count = (size_t)a.g.count;
                a.statements = arena_array(arena, count, sizeof *a.statements);
                a.order = arena_array(arena, count, sizeof *a.order);
                a.best = arena_array(arena, count, sizeof *a.best);
                int i = 0;
                for (struct loop_stmt *s = loop_main(p)->body->first; s; s = s->next, i++) {
                        a.statements[i] = s;
                        a.order[i] = a.best[i] = i;
                }
                if (context->memory)
                        arrange_for_memory(&a, arena, work);
                else
                        arrange_for_speed(&a, arena);
                put_in_order(&a, a.best);
                for (i = 0; i < a.g.count; i++)
                        moved += a.best[i] != i;
        }
        arena_free(arena);
        return moved;
}

int pass_arrange(struct loop_program *p, struct pass_context *context)
{
        int moved = 0;
        for (p->at = 0; p->at < p->entry_count; p->at++)
                moved += arrange_statements(p, context, NULL);
        p->at = 0;
        return moved;
}

int64_t arrange_enough(struct loop_program *p, const struct pass_context *context)
{
        struct arena *arena = arena_new();
        struct step_graph g;
        int64_t least = INT64_MAX;
        if (arrange_graph(arena, p, context->lower.views, &g)) {
                least = arrange_peak(&g, NULL);
                if (context->memory)
                        arrange_best(arena, &g, &least);
        }
        arena_free(arena);
        return least;
}
