/* The four numbers of a plan, and who is there when most bytes are in use. */
#include <stdlib.h>
#include <string.h>

#include "passes/arrange.h"
#include "passes/plan.h"

static int by_bytes(const void *x, const void *y)
{
        const struct plan_resident *a = x, *b = y;
        if (a->bytes != b->bytes)
                return a->bytes < b->bytes ? 1 : -1;
        return a->buffer->number - b->buffer->number;
}

/* bytes of s in use by statement `time` */
static int64_t bytes_at(const struct storage *s, int time)
{
        int64_t bytes = 0;
        for (int i = 0; i < s->span_count; i++)
                if (s->spans[i].first <= time && time <= s->spans[i].last)
                        bytes += s->spans[i].end - s->spans[i].start;
        return bytes;
}

/* An operand that a result is written over, right then: the result is there. */
static bool is_overwritten(const struct lifetimes *shared, const struct storage *s, int time)
{
        const struct storage *t = &shared->storages[s->buffer->number];
        if (s->last != time)
                return false;
        if (t->into && bytes_at(t, time) == 0 && t->last == time)
                return true;            /* it lies where the result is */
        for (int i = 0; i < shared->count; i++)
                if (shared->storages[i].into == t && shared->storages[i].first == time)
                        return true;    /* the result lies where it was */
        return false;
}

static void find_residents(struct arena *arena, struct plan_facts *facts, const struct lifetimes *alone,
                           const struct lifetimes *shared, int peak)
{
        for (int i = 0; i < alone->count; i++) {
                const struct storage *s = &alone->storages[i];
                int64_t bytes = bytes_at(s, peak);
                if (!bytes || is_overwritten(shared, s, peak))
                        continue;
                ARENA_GROW(arena, facts->residents, facts->resident_count);
                facts->residents[facts->resident_count++] = (struct plan_resident){ s->buffer, bytes };
        }
        if (facts->resident_count)
                qsort(facts->residents, (size_t)facts->resident_count, sizeof *facts->residents, by_bytes);
}

struct plan_facts plan_find_facts(struct arena *arena, struct loop_program *p, bool shares)
{
        struct plan_facts facts = { .live_peak = p->live_peak, .size = p->workspace_size };
        for (int i = 0; i < p->region_count; i++)
                facts.size += p->regions[i].size;
        struct lifetimes alone = lifetimes_find(arena, p), shared = lifetimes_find(arena, p);
        int peak = 0;
        if (shares)
                lifetimes_share(&shared, p);
        lifetimes_live(&shared, &peak);
        find_residents(arena, &facts, &alone, &shared, peak);
        facts.largest = lifetimes_largest(&alone, p);
        facts.proved = facts.size == facts.live_peak || (!p->region_count && plan_is_least(p, shares));
        facts.best = facts.best_found = facts.live_peak;
        struct step_graph g;
        if (arrange_graph(arena, p, shares, &g)) {
                int *order = arena_array(arena, (size_t)g.count + 1, sizeof *order);
                for (int i = 0; i < g.count; i++)
                        order[i] = i;
                facts.best_found = arrange_search(&g, order, &facts.best);
                facts.best = facts.largest > facts.best ? facts.largest : facts.best;
        }
        return facts;
}
