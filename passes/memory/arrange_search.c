/* SPDX-License-Identifier: MIT */
/* The order of least peak, between cuts. A cut is a step that comes after all before it and before
 * all behind it. What is in use there is the same in every order, so the steps between two cuts are
 * ordered on their own.
 *
 * There, a state is a set of steps that have run (a downset). Its bytes in use are known from the
 * set alone, so this is a shortest path problem where the length of a path is its largest node:
 * states are taken from a heap by peak, and the first one that holds all steps has the least. A
 * step that runs within the peak reached, and leaves no more in use than before, is as good now as
 * later: it is taken at once, and no other step is tried in its place.
 *
 * Where states run out (10^6, or memory), the peak reached by then is a bound, and a beam search
 * finds an order: level by level the best few states are kept. */
#include "passes/memory/arrange_search.h"

#include <stdlib.h>
#include <string.h>

enum {
        STATES_MAX = 1000000,
        WORDS_MAX = 16000000,           /* All sets of states together have at most this many
                                         * words. */
        WORK_MAX = 100000000,           /* The search does at most this much work: each look at a
                                         * step, or at what it touches, counts 1. */
        BEAM_WORK = 50000000, BEAM_MAX = 256,
        STRETCH_MAX = 2048              /* Longer stretches are left as they are. */
};

/* ---- what a step does to memory ---- */

static bool has(const uint64_t *set, int i) { return set[i / 64] >> (i % 64) & 1; }
static void set_add(uint64_t *set, int i) { set[i / 64] |= UINT64_C(1) << (i % 64); }

/* A stretch has the steps from..to-1. Sets hold steps of it, counted from `from`; the steps in
 * front of it have run. */
struct stretch {
        const struct step_graph *g;
        int from, to, words;
        int64_t live;                   /* This many bytes are in use before the step. */
        int64_t floor;                  /* No order has a lower peak, or this one is low enough. */
        int64_t work, most_work;        /* `work` is done; states run out of it after most_work. */
        const int *last;                /* Where a whole order is walked, each resident has the
                                         * position of the last step that touches it. Else it is
                                         * NULL. */
        int at;                         /* The walk has reached this position. */
};

static bool has_run(const struct stretch *s, const uint64_t *set, int step)
{
        return step < s->from || (step < s->to && has(set, step - s->from));
}

static bool is_live(const struct stretch *s, const uint64_t *set, const struct resident *r)
{
        for (int i = 0; i < r->step_count; i++)
                if (has_run(s, set, r->steps[i]))
                        return true;
        return false;
}

/* Is r touched by `step`, but by no step that has not run? */
static bool dies(const struct stretch *s, const uint64_t *set, const struct resident *r, int step)
{
        if (s->last)
                return s->last[r - s->g->residents] <= s->at;
        for (int i = 0; i < r->step_count; i++)
                if (r->steps[i] != step && !has_run(s, set, r->steps[i]))
                        return false;
        return true;
}

static int64_t overlaid(const struct stretch *s, const uint64_t *set, int step)
{
        const struct step *p = &s->g->steps[step];
        int taken[16], count = 0, result = -1;
        int64_t bytes = 0;
        for (int i = 0; i < p->in_place_count && count < 16; i++) {
                const struct in_place *o = &p->in_places[i];
                bool free = o->result != result && dies(s, set, &s->g->residents[o->dying], step);
                for (int k = 0; k < count && free; k++)
                        free = taken[k] != o->dying;
                if (!free)
                        continue;
                taken[count++] = o->dying;
                result = o->result;
                bytes += o->bytes;
        }
        return bytes;
}

struct effect { int64_t during, after; };

/* Returns the bytes in use while a step runs, and behind it; live: those before it. */
static struct effect effect_of(struct stretch *s, const uint64_t *set, int step, int64_t live)
{
        const struct step *p = &s->g->steps[step];
        int64_t born = 0, dead = 0;
        for (int i = 0; i < p->resident_count; i++) {
                const struct resident *r = &s->g->residents[p->residents[i]];
                s->work += r->step_count;
                born += is_live(s, set, r) ? 0 : r->bytes;
                dead += dies(s, set, r, step) ? r->bytes : 0;
        }
        return (struct effect){ live + born + p->own - overlaid(s, set, step), live + born - dead };
}

static bool is_ready(struct stretch *s, const uint64_t *set, int step)
{
        const struct step *p = &s->g->steps[step];
        s->work += p->before_count;
        for (int i = p->before_count - 1; i >= 0; i--)
                if (!has_run(s, set, p->before[i]))
                        return false;
        return true;
}

/* Returns the peak of the steps from..to-1 in this order; *live: the bytes in use before them, and
 * then behind them. */
static int64_t peak_of(struct stretch *s, const int *order, int64_t *live)
{
        uint64_t *set = memory_alloc((size_t)s->words * sizeof *set);
        int64_t peak = *live;
        for (int i = s->from; i < s->to; i++) {
                int step = order ? order[i] : i;
                struct effect e = effect_of(s, set, step, *live);
                peak = e.during > peak ? e.during : peak;
                *live = e.after;
                set_add(set, step - s->from);
        }
        free(set);
        return peak;
}

/* ---- building ---- */

void step_before(struct step_graph *g, struct arena *arena, int step, int before)
{
        struct step *s = &g->steps[step];
        for (int i = 0; i < s->before_count; i++)
                if (s->before[i] == before)
                        return;
        ARENA_GROW(arena, s->before, s->before_count);
        s->before[s->before_count++] = before;
}

void step_graph_resident(struct step_graph *g, struct arena *arena, struct resident resident)
{
        const int number = g->resident_count;
        ARENA_GROW(arena, g->residents, g->resident_count);
        g->residents[g->resident_count++] = resident;
        for (int i = 0; i < resident.step_count && resident.bytes; i++) {
                struct step *s = &g->steps[resident.steps[i]];
                ARENA_GROW(arena, s->residents, s->resident_count);
                s->residents[s->resident_count++] = number;
        }
}

static bool needs(const struct step_graph *g, int step, int before)
{
        for (int i = 0; i < g->steps[step].before_count; i++)
                if (g->steps[step].before[i] == before)
                        return true;
        return false;
}

bool step_move(const struct step_graph *g, int *order, int from, int to)
{
        int at = from, step = order[from];
        for (; at > to && !needs(g, step, order[at - 1]); at--)
                order[at] = order[at - 1];
        for (; at < to && !needs(g, order[at + 1], step); at++)
                order[at] = order[at + 1];
        order[at] = step;
        return at != from;
}


/* In a whole order it is known when a resident is touched first and last, so one walk is enough. */
int64_t arrange_peak(const struct step_graph *g, const int *order)
{
        int64_t live = 0, peak = 0;
        int *position = memory_alloc(((size_t)g->count + 2 * (size_t)g->resident_count) *
                                     sizeof *position),
            *first = position + g->count, *last = first + g->resident_count;
        for (int i = 0; i < g->count; i++)
                position[order ? order[i] : i] = i;
        for (int i = 0; i < g->resident_count; i++) {
                const struct resident *r = &g->residents[i];
                first[i] = r->step_count ? g->count : -1;
                last[i] = -1;
                for (int k = 0; k < r->step_count; k++) {
                        int at = position[r->steps[k]];
                        first[i] = at < first[i] ? at : first[i];
                        last[i] = at > last[i] ? at : last[i];
                }
        }
        struct stretch s = { .g = g, .to = g->count, .last = last };
        for (s.at = 0; s.at < g->count; s.at++) {
                const int step = order ? order[s.at] : s.at;
                const struct step *p = &g->steps[step];
                int64_t born = 0, dead = 0;
                for (int i = 0; i < p->resident_count; i++) {
                        const int number = p->residents[i];
                        born += first[number] == s.at ? g->residents[number].bytes : 0;
                        dead += last[number] == s.at ? g->residents[number].bytes : 0;
                }
                int64_t during = live + born + p->own - overlaid(&s, NULL, step);
                peak = during > peak ? during : peak;
                live += born - dead;
        }
        free(position);
        return peak;
}

/* ---- states ---- */

struct state {
        uint64_t *set;
        int64_t peak, live;
        int parent, count;              /* count: this many steps have run. */
        int first_step, step_count;     /* These steps have run since the parent, in
                                         * search->steps. */
};

struct search {
        struct stretch *s;
        struct arena *arena;
        struct state *states;
        int state_count;
        int *steps, step_count;
        int *heap, heap_count;
        int *table;                     /* A hash table of sets: it holds numbers of states + 1. */
        size_t table_room;
};

static size_t hash_of(const struct search *x, const uint64_t *set)
{
        uint64_t h = 0;
        for (int i = 0; i < x->s->words; i++)
                h = ((h ^ set[i]) * UINT64_C(0x9e3779b97f4a7c15)) ^ (h >> 29);
        return (size_t)(h ^ (h >> 32)) & (x->table_room - 1);
}

/* Returns where a state of this set is in the table, or would be. */
static int *find_state(const struct search *x, const uint64_t *set)
{
        for (size_t at = hash_of(x, set);; at = (at + 1) & (x->table_room - 1))
                if (!x->table[at] || !memcmp(x->states[x->table[at] - 1].set, set,
                                             (size_t)x->s->words * sizeof *set))
                        return &x->table[at];
}

static void run_step(struct search *x, struct state *state, int step, struct effect e)
{
        ARENA_GROW(x->arena, x->steps, x->step_count);
        x->steps[x->step_count++] = step;
        state->step_count++;
        state->count++;
        state->peak = e.during > state->peak ? e.during : state->peak;
        state->live = e.after;
        set_add(state->set, step - x->s->from);
}

/* Runs steps that are as good now as later. */
static void run_free_steps(struct search *x, struct state *state)
{
        for (bool again = true; again;) {
                again = false;
                for (int i = x->s->from; i < x->s->to; i++) {
                        if (has(state->set, i - x->s->from) || !is_ready(x->s, state->set, i))
                                continue;
                        struct effect e = effect_of(x->s, state->set, i, state->live);
                        if (e.during > state->peak || e.after > state->live)
                                continue;
                        run_step(x, state, i, e);
                        again = true;
                }
                x->s->work += x->s->to - x->s->from;
        }
}

static struct state new_state(struct search *x, const struct state *parent, int number, int step)
{
        struct state state = { .parent = number,
                               .first_step = x->step_count,
                               .live = x->s->live,
                               .peak = x->s->floor };
        if (parent) {
                state = *parent;
                state.parent = number;
                state.first_step = x->step_count;
                state.step_count = 0;
        }
        state.set = arena_array(x->arena, (size_t)x->s->words, sizeof *state.set);
        if (parent)
                memcpy(state.set, parent->set, (size_t)x->s->words * sizeof *state.set);
        if (step >= 0)
                run_step(x, &state, step, effect_of(x->s, state.set, step, state.live));
        run_free_steps(x, &state);
        return state;
}

static int keep_state(struct search *x, struct state state)
{
        ARENA_GROW(x->arena, x->states, x->state_count);
        x->states[x->state_count] = state;
        return x->state_count++;
}

static void read_order(const struct search *x, int number, int *order)
{
        int at = x->s->to;
        for (; number >= 0; number = x->states[number].parent) {
                const struct state *s = &x->states[number];
                at -= s->step_count;
                memcpy(order + at, x->steps + s->first_step, (size_t)s->step_count * sizeof *order);
        }
}

/* ---- the heap: least peak first, then most steps, then least in use ---- */

static bool is_before(const struct search *x, int a, int b)
{
        const struct state *p = &x->states[a], *q = &x->states[b];
        if (p->peak != q->peak)
                return p->peak < q->peak;
        if (p->count != q->count)
                return p->count > q->count;
        return p->live != q->live ? p->live < q->live : a < b;
}

static void heap_push(struct search *x, int state)
{
        ARENA_GROW(x->arena, x->heap, x->heap_count);
        int at = x->heap_count++;
        for (; at && is_before(x, state, x->heap[(at - 1) / 2]); at = (at - 1) / 2)
                x->heap[at] = x->heap[(at - 1) / 2];
        x->heap[at] = state;
}

static int heap_pop(struct search *x)
{
        int top = x->heap[0], last = x->heap[--x->heap_count], at = 0;
        for (int child = 1; child < x->heap_count; at = child, child = 2 * at + 1) {
                if (child + 1 < x->heap_count && is_before(x, x->heap[child + 1], x->heap[child]))
                        child++;
                if (!is_before(x, x->heap[child], last))
                        break;
                x->heap[at] = x->heap[child];
        }
        x->heap[at] = last;
        return top;
}

/* Finds an order of the least peak. Returns false if it finds none; *bound is then a peak that no
 * order is below. */
static bool search_states(struct stretch *s, int *order, int64_t limit, int64_t *bound)
{
        struct search x = { .s = s, .arena = arena_new() };
        int room = WORDS_MAX / s->words < STATES_MAX ? WORDS_MAX / s->words : STATES_MAX;
        for (x.table_room = 1024; x.table_room < 2 * (size_t)room;)
                x.table_room *= 2;
        x.table = memory_alloc(x.table_room * sizeof *x.table);
        bool done = false;
        s->work = 0;
        heap_push(&x, keep_state(&x, new_state(&x, NULL, -1, -1)));
        *find_state(&x, x.states[0].set) = 1;
        while (x.heap_count && !done) {
                int number = heap_pop(&x);
                struct state state = x.states[number];
                *bound = state.peak;
                if (*find_state(&x, state.set) != number + 1)
                        continue;       /* The state has been reached with a lower peak since. */
                done = state.count == s->to - s->from;
                if (done)
                        read_order(&x, number, order);
                if (done || state.peak >= limit || x.state_count >= room ||
                    s->work > s->most_work)
                        break;
                for (int i = s->from; i < s->to; i++) {
                        if (has(state.set, i - s->from) || !is_ready(s, state.set, i))
                                continue;
                        struct state next = new_state(&x, &state, number, i);
                        int *known = find_state(&x, next.set);
                        if (*known && x.states[*known - 1].peak <= next.peak)
                                continue;
                        int kept = keep_state(&x, next);
                        *known = kept + 1;
                        heap_push(&x, kept);
                }
                s->work += s->to - s->from;
        }
        free(x.table);
        arena_free(x.arena);
        return done;
}

/* ---- beam ---- */

static int by_promise(const void *a, const void *b)
{
        const struct state *p = a, *q = b;
        if (p->peak != q->peak)
                return p->peak < q->peak ? -1 : 1;
        if (p->live != q->live)
                return p->live < q->live ? -1 : 1;
        return p->first_step - q->first_step;
}

static bool is_known(const struct stretch *s, const struct state *list, int count,
                     const struct state *state)
{
        for (int i = 0; i < count; i++)
                if (list[i].live == state->live &&
                    !memcmp(list[i].set, state->set, (size_t)s->words * sizeof *state->set))
                        return true;
        return false;
}

static void search_beam(struct stretch *s, int *order)
{
        int64_t steps = s->to - s->from, width = BEAM_WORK / (steps * steps * 8 + 1);
        width = width > BEAM_MAX ? BEAM_MAX : width < 1 ? 1 : width;
        struct search x = { .s = s, .arena = arena_new() };
        int *level = arena_array(x.arena, (size_t)width, sizeof *level), count = 1;
        level[0] = keep_state(&x, new_state(&x, NULL, -1, -1));
        while (x.states[level[0]].count < steps) {
                struct state *next = NULL;
                int next_count = 0;
                struct arena *scratch = arena_new();
                for (int k = 0; k < count; k++) {
                        struct state state = x.states[level[k]];
                        for (int i = s->from; i < s->to; i++) {
                                if (has(state.set, i - s->from) || !is_ready(s, state.set, i))
                                        continue;
                                ARENA_GROW(scratch, next, next_count);
                                next[next_count++] = new_state(&x, &state, level[k], i);
                        }
                        if (state.count == steps) {     /* The state has all steps, so it stays. */
                                ARENA_GROW(scratch, next, next_count);
                                next[next_count++] = state;
                        }
                }
                qsort(next, (size_t)next_count, sizeof *next, by_promise);
                int kept = 0;
                for (int i = 0; i < next_count && kept < width; i++)
                        if (!is_known(s, next, i, &next[i]))
                                level[kept++] = keep_state(&x, next[i]);
                count = kept;
                arena_free(scratch);
        }
        read_order(&x, level[0], order);
        arena_free(x.arena);
}

/* ---- all ---- */

/* cuts[i]: step i comes after all before it and before all behind it. */
static bool *find_cuts(struct arena *arena, const struct step_graph *g)
{
        bool *cuts = arena_array(arena, (size_t)g->count + 1, sizeof *cuts);
        /* Each step has the last step that needs it directly. */
        int *reach = arena_array(arena, (size_t)g->count + 1, sizeof *reach);
        int last_source = 0, farthest = -1;
        for (int i = 0; i < g->count; i++) {
                last_source = g->steps[i].before_count ? last_source : i;
                for (int k = 0; k < g->steps[i].before_count; k++)
                        reach[g->steps[i].before[k]] = i;
        }
        bool ends = false;              /* There has been a step that nothing follows. */
        for (int i = 0; i < g->count; i++) {
                cuts[i] = !ends && farthest <= i && last_source <= i;
                ends |= !reach[i];
                farthest = reach[i] > farthest ? reach[i] : farthest;
        }
        return cuts;
}

struct part { struct stretch s; int64_t peak; };

/* Returns the bytes that some step of a stretch needs in any case. */
static int64_t least_needed(const struct stretch *s)
{
        int64_t most = s->live;
        for (int i = s->from; i < s->to; i++) {
                const struct step *p = &s->g->steps[i];
                int64_t bytes = p->own;
                for (int k = 0; k < p->resident_count; k++)
                        bytes += s->g->residents[p->residents[k]].bytes;
                for (int k = 0; k < p->in_place_count; k++)
                        if (!k || p->in_places[k].result != p->in_places[k - 1].result)
                                bytes -= p->in_places[k].bytes;
                most = bytes > most ? bytes : most;
        }
        return most;
}

static int by_peak(const void *x, const void *y)
{
        const struct part *a = x, *b = y;
        return a->peak != b->peak ? (a->peak < b->peak ? 1 : -1) : a->s.from - b->s.from;
}

/* Looks for better orders of one part, if it needs more than `enough`. Returns a peak that no order
 * of it is below, which is at most its own. */
static int64_t improve_part(struct part *part, int *order, int64_t enough, int64_t *work)
{
        struct stretch *s = &part->s;
        int steps = s->to - s->from;
        if (part->peak <= enough || steps < 2)
                return part->peak;
        if (steps > STRETCH_MAX || (work && *work <= 0))
                return 0;
        s->most_work = work && *work < WORK_MAX ? *work : WORK_MAX;
        int64_t bound = 0, live = s->live;
        int *found = memory_alloc((size_t)s->to * sizeof *found);
        s->floor = least_needed(s) > enough ? least_needed(s) : enough;
        bool sure = search_states(s, found, part->peak, &bound);
        bool spent = work && s->work >= *work, found_any = sure || (bound < part->peak && !spent);
        if (!sure && found_any)
                search_beam(s, found);
        if (found_any) {
                int64_t peak = peak_of(s, found, &live);
                if (peak < part->peak) {
                        memcpy(order + s->from, found + s->from, (size_t)steps * sizeof *order);
                        part->peak = peak;
                }
        }
        if (work)
                *work -= s->work;
        free(found);
        return bound < part->peak ? bound : part->peak;
}

int64_t arrange_search(const struct step_graph *g, int *order, int64_t *bound, int64_t *work)
{
        struct arena *arena = arena_new();
        bool *cuts = find_cuts(arena, g);
        struct part *parts = NULL;
        int count = 0;
        int64_t live = 0, peak = 0;
        for (int from = 0, to; from < g->count; from = to) {
                for (to = from + 1; to < g->count && !cuts[to - 1]; to++)
                        ;
                struct part part = { .s = { .g = g,
                                            .from = from,
                                            .to = to,
                                            .words = (to - from) / 64 + 1,
                                            .live = live } };
                part.peak = peak_of(&part.s, order, &live);
                ARENA_GROW(arena, parts, count);
                parts[count++] = part;
        }
        qsort(parts, (size_t)count, sizeof *parts, by_peak);
        *bound = 0;
        for (int i = 0; i < count; i++) {
                int64_t least = improve_part(&parts[i], order, *bound, work);
                *bound = least > *bound ? least : *bound;
                peak = parts[i].peak > peak ? parts[i].peak : peak;
        }
        arena_free(arena);
        return peak;
}
