/* SPDX-License-Identifier: MIT */
/* What is gathered and scattered in any case, in an order of steps.
 *
 * At the time of a step, all volumes that it touches and all that later steps need are somewhere: live(t) bytes, of which activation memory
 * has no more than it holds. Let away(v) be bytes of v that are not there at some time of its life. Then
 *
 *      for each t: the sum of away(v), of all v that live at t, >= live(t) - memory;       0 <= away(v) <= bytes of v
 *
 * Each such byte is scattered, unless the host wrote it into DDR, and gathered at least once, unless the host takes it from there. So no plan
 * moves less than the least sum of away(v) * (1 or 2). That is a linear program whose columns are intervals of time: a flow from where v
 * begins to where it ends, with arcs back for what is away without need (Ahuja, Magnanti, Orlin, Network Flows, 1993, 9.6). It is solved by
 * shortest augmenting paths. */
#include <string.h>

#include "codegen/sections/sections.h"

struct arc { int from, to; int64_t room, cost; int volume; };     /* arc k ^ 1 is the way back */

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
                f->arcs[f->arc_count++] = back ? (struct arc){ to, from, 0, -cost, -1 } : (struct arc){ from, to, room, cost, volume };
        }
}

/* shortest paths from node 0, by rounds over all arcs */
static bool find_path(struct flow *f, int to)
{
        for (int i = 0; i < f->nodes; i++)
                f->distance[i] = INT64_MAX;
        f->distance[0] = 0;
        for (bool changed = true; changed;) {
                changed = false;
                for (int k = 0; k < f->arc_count; k++) {
                        const struct arc *a = &f->arcs[k];
                        if (!a->room || f->distance[a->from] == INT64_MAX || f->distance[a->from] + a->cost >= f->distance[a->to])
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

int64_t traffic_bound(const struct section_plan *p, int64_t *away)
{
        const struct network *n = p->n;
        const int times = n->step_count, sink = times + 2;
        struct arena *scratch = arena_new();
        struct flow f = { .arena = scratch, .nodes = times + 3 };
        f.distance = arena_array(scratch, (size_t)f.nodes, sizeof *f.distance);
        f.by = arena_array(scratch, (size_t)f.nodes, sizeof *f.by);
        int64_t *live = arena_array(scratch, (size_t)times + 2, sizeof *live), sum = 0, cost = 0;
        for (int i = 0; i < n->volume_count; i++) {
                const struct volume *v = &n->volumes[i];
                int first, last;
                away[i] = 0;
                if (!v->needed || volume_is_concat(v))
                        continue;
                leaf_life(p, i, &first, &last);
                const int64_t bytes = v->rows * row_bytes(n, v);
                bool uploaded = false, read = false;
                for (int k = 0; k < v->reader_count; k++) {
                        uploaded |= n->steps[v->readers[k]].kind == STEP_UPLOAD;
                        read |= n->steps[v->readers[k]].kind != STEP_UPLOAD;
                }
                live[first] += bytes;
                live[last + 1] -= bytes;
                add_arc(&f, first + 1, last + 2, bytes, (n->steps[v->maker].kind != STEP_INPUT) + (read && !uploaded), i);
        }
        int64_t before = 0;
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
                if (f.arcs[k].volume >= 0)
                        away[f.arcs[k].volume] = f.arcs[k ^ 1].room;
        arena_free(scratch);
        return cost;
}
