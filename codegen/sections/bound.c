/* SPDX-License-Identifier: MIT */
/* Finds a lower bound on the bytes that are gathered and scattered, for a given order of steps.
 *
 * At the time of a step, all volumes that it touches and all that later steps need are somewhere:
 * live(t) bytes, of which activation memory has no more than it holds. The life of a volume v falls
 * into gaps, from one step that touches it to the next that reads it: gap 1 begins with the step
 * that makes v, each other one after the step that ends the one before. Let away(v, j) be the bytes
 * of v that are not in activation memory at some time of gap j. Then
 *
 *      for each t: the sum of away(v, j), over all v that live at t and their gaps,
 *                  is >= live(t) - memory;  0 <= away(v, j) <= bytes of v
 *
 * Such a byte is gathered for the step that ends the gap, once for each gap, unless the host takes
 * it from DDR; and it is scattered once for all gaps, unless the host wrote it into DDR. So no plan
 * moves less than the least sum of gathers(v, j) + scatters(v), where scatters(v) >= away(v, j) for
 * each j, hence >= the sum of share(j) * away(v, j) for any shares that add up to 1. With given
 * shares that is a linear program whose columns are intervals of time: a flow from where a gap
 * begins to where it ends, with arcs back for what is away without need (Ahuja, Magnanti, Orlin,
 * Network Flows, 1993, 9.6), which shortest augmenting paths solve. The bound is the largest for
 * three choices of shares: the first gap has all of it, the last gap has all of it, or all gaps
 * have equal shares. */
#include <stdlib.h>

#include "codegen/sections/sections.h"

/* Arc k ^ 1 is the arc back. */
struct arc { int from, to; int64_t room, cost; int volume; };

struct flow {
        struct arena *arena;
        struct arc *arcs;
        int arc_count, nodes;
        int64_t *distance;
        int *by;
};

static void add_arc(struct flow *f, int from, int to, int64_t room, int64_t cost, int volume)
{
        for (int back = 0; back < 2; back++) {
                ARENA_GROW(f->arena, f->arcs, f->arc_count);
                f->arcs[f->arc_count++] = back ? (struct arc){ to, from, 0, -cost, -1 }
                                               : (struct arc){ from, to, room, cost, volume };
        }
}

/* Finds shortest paths from node 0, in rounds over all arcs. */
static bool find_path(struct flow *f, int to)
{
        for (int i = 0; i < f->nodes; i++)
                f->distance[i] = INT64_MAX;
        f->distance[0] = 0;
        for (bool changed = true; changed;) {
                changed = false;
                for (int k = 0; k < f->arc_count; k++) {
                        const struct arc *a = &f->arcs[k];
                        if (!a->room || f->distance[a->from] == INT64_MAX ||
                            f->distance[a->from] + a->cost >= f->distance[a->to])
                                continue;
                        f->distance[a->to] = f->distance[a->from] + a->cost;
                        f->by[a->to] = k;
                        changed = true;
                }
        }
        return f->distance[to] < INT64_MAX;
}

static int64_t push_path(struct flow *f, int to)
{
        int64_t amount = INT64_MAX;
        for (int at = to; at; at = f->arcs[f->by[at]].from)
                amount = f->arcs[f->by[at]].room < amount ? f->arcs[f->by[at]].room : amount;
        for (int at = to; at; at = f->arcs[f->by[at]].from) {
                f->arcs[f->by[at]].room -= amount;
                f->arcs[f->by[at] ^ 1].room += amount;
        }
        return amount * f->distance[to];
}

enum share { SHARE_FIRST, SHARE_LAST, SHARE_EVEN, SHARE_KINDS };
enum { UNIT = 5040 };                   /* A byte costs this much. */

static int by_number(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

/* Adds an arc for each gap. */
static void add_gaps(struct flow *f, const struct section_plan *p, int volume, enum share kind)
{
        const struct network *n = p->n;
        const struct volume *v = &n->volumes[volume];
        int *times = arena_array(f->arena, (size_t)v->reader_count + 1, sizeof *times), gaps = 0;
        for (int k = 0; k < v->reader_count; k++)
                times[k] = p->time[v->readers[k]];
        if (v->reader_count)
                qsort(times, (size_t)v->reader_count, sizeof *times, by_number);
        for (int k = 0; k < v->reader_count; k++)
                if (!k || times[k] != times[k - 1])
                        times[gaps++] = times[k];
        const bool scattered = n->steps[v->maker].kind != STEP_INPUT;
        int from = p->time[v->maker];
        if (!gaps)
                times[gaps++] = from;
        for (int j = 0; j < gaps; from = times[j++] + 1) {
                const bool all = kind == SHARE_FIRST ? !j : j == gaps - 1,
                           gathered = n->steps[p->order[times[j]]].kind != STEP_UPLOAD;
                const int64_t share = kind == SHARE_EVEN ? UNIT / gaps : all ? UNIT : 0;
                add_arc(f, from + 1, times[j] + 2, v->rows * row_bytes(n, v),
                        (scattered ? share : 0) + (gathered && v->reader_count ? UNIT : 0), volume);
        }
}

static int64_t solve(const struct section_plan *p, enum share kind, int64_t *away)
{
        const struct network *n = p->n;
        const int times = n->step_count, sink = times + 2;
        struct arena *scratch = arena_new();
        struct flow f = { .arena = scratch, .nodes = times + 3 };
        f.distance = arena_array(scratch, (size_t)f.nodes, sizeof *f.distance);
        f.by = arena_array(scratch, (size_t)f.nodes, sizeof *f.by);
        int64_t *live = arena_array(scratch, (size_t)times + 2, sizeof *live), sum = 0, cost = 0,
                before = 0;
        for (int i = 0; i < n->volume_count; i++) {
                const struct volume *v = &n->volumes[i];
                int first, last;
                away[i] = 0;
                if (!v->needed || volume_is_concat(v))
                        continue;
                leaf_life(p, i, &first, &last);
                live[first] += v->rows * row_bytes(n, v);
                live[last + 1] -= v->rows * row_bytes(n, v);
                add_gaps(&f, p, i, kind);
        }
        for (int t = 0; t <= times; t++) {
                sum += live[t];
                const int64_t much = t < times && sum > p->memory ? sum - p->memory : 0;
                if (t < times)
                        add_arc(&f, t + 2, t + 1, INT64_MAX / 4, 0, -1);
                if (much > before)
                        add_arc(&f, 0, t + 1, much - before, 0, -1);
                else if (much < before)
                        add_arc(&f, t + 1, sink, before - much, 0, -1);
                before = much;
        }
        while (find_path(&f, sink))
                cost += push_path(&f, sink);
        for (int k = 0; k < f.arc_count; k += 2)
                if (f.arcs[k].volume >= 0 && f.arcs[k ^ 1].room > away[f.arcs[k].volume])
                        away[f.arcs[k].volume] = f.arcs[k ^ 1].room;
        arena_free(scratch);
        return cost / UNIT;
}

int64_t traffic_bound(const struct section_plan *p, int64_t *away)
{
        int64_t most = 0;
        for (int kind = 0; kind < SHARE_KINDS; kind++) {
                const int64_t bound = solve(p, (enum share)kind, away);
                most = bound > most ? bound : most;
        }
        return most;
}
