/* SPDX-License-Identifier: MIT */
/* Finds the four numbers of a plan, and the buffers in use when most bytes are. */
#include <stdlib.h>
#include <string.h>

#include "passes/memory/arrange.h"
#include "passes/memory/plan.h"

static int by_bytes(const void *x, const void *y)
{
        const struct plan_resident *a = x, *b = y;
        if (a->bytes != b->bytes)
                return a->bytes < b->bytes ? 1 : -1;
        return a->buffer->number - b->buffer->number;
}

/* Returns the bytes of s that are in use by statement `time`. */
static int64_t bytes_at(const struct storage *s, int time)
{
        int64_t bytes = 0;
        for (int i = 0; i < s->span_count; i++)
                if (s->spans[i].first <= time && time <= s->spans[i].last)
                        bytes += s->spans[i].end - s->spans[i].start;
        return bytes;
}

static const struct storage *find_root(const struct storage *s, int64_t *at)
{
        for (*at = 0; s->into; s = s->into)
                *at += s->at;
        return s;
}

/* Is s an operand that a result is written over by statement `time`? Then the result stands for
 * it. */
static bool is_overwritten(const struct lifetimes *alone, const struct lifetimes *shared,
                           const struct storage *s, int time)
{
        int64_t at, other_at;
        const struct storage *root = find_root(&shared->storages[s->buffer->number], &at);
        for (int i = 0; i < alone->count && s->last == time; i++) {
                const struct storage *other = &alone->storages[i];
                bool born = other != s && other->first <= time && bytes_at(other, time);
                if (born && find_root(&shared->storages[i], &other_at) == root)
                        for (int k = 0; k < other->span_count; k++)
                                if (other->spans[k].first == time &&
                                    other_at + other->spans[k].start < at + s->bytes &&
                                    at < other_at + other->spans[k].end)
                                        return true;
        }
        return false;
}

static void find_residents(struct arena *arena, struct plan_facts *facts,
                           const struct lifetimes *alone, const struct lifetimes *shared, int peak)
{
        for (int i = 0; i < alone->count; i++) {
                const struct storage *s = &alone->storages[i];
                int64_t bytes = bytes_at(s, peak);
                if (!bytes || is_overwritten(alone, shared, s, peak))
                        continue;
                ARENA_GROW(arena, facts->residents, facts->resident_count);
                facts->residents[facts->resident_count++] =
                        (struct plan_resident){ s->buffer, bytes };
        }
        if (facts->resident_count)
                qsort(facts->residents, (size_t)facts->resident_count, sizeof *facts->residents,
                      by_bytes);
}

/* Counts down to the statement with a number. */
struct countdown { int left; const struct loop_stmt *found; };

static void count_down(struct loop_stmt *s, void *context)
{
        struct countdown *c = context;
        if (!c->left--)
                c->found = s;
}

/* Returns the nodes of the statement: equal kernels are shared, and name the nodes of one call, but
 * the result names its own. */
static const char *find_nodes(const struct loop_program *p, int time)
{
        struct countdown c = { .left = time };
        loop_block_walk(loop_main(p)->body, count_down, NULL, &c);
        if (!c.found || c.found->kind != STMT_CALL)
                return NULL;
        const struct loop_function *kernel = c.found->function;
        for (int i = 0; i < kernel->buffer_count; i++)
                if (kernel->buffers[i]->access == ACCESS_OUT && c.found->buffers[i]->location)
                        return c.found->buffers[i]->location;
        return kernel->location;
}

struct plan_facts plan_find_facts(struct arena *arena, struct loop_program *p, bool shares)
{
        struct plan_facts facts = { .live_peak = loop_entry_at(p)->live_peak,
                                    .size = loop_entry_at(p)->workspace_size };
        for (int i = 0; i < p->region_count; i++)
                facts.size += p->regions[i].size;
        struct lifetimes alone = lifetimes_find(arena, p), shared = lifetimes_planned(arena, p);
        int peak = 0;
        lifetimes_live(&shared, &peak);
        find_residents(arena, &facts, &alone, &shared, peak);
        facts.where = find_nodes(p, peak);
        facts.largest = lifetimes_largest(&alone, p);
        facts.proved = facts.size == facts.live_peak;
        if (!facts.proved && !p->region_count)
                plan_size(p, shares, PLACE_WELL, &facts.proved);
        facts.best = facts.best_found = facts.live_peak;
        struct step_graph g;
        if (arrange_graph(arena, p, shares, &g)) {
                facts.best_found = arrange_best(arena, &g, &facts.best);
                facts.best = facts.largest > facts.best ? facts.largest : facts.best;
                /* Statements inside a loop are counted as if nothing there lay on an operand: this
                 * order, as it is planned, may need less. */
                facts.best_found =
                        facts.live_peak < facts.best_found ? facts.live_peak : facts.best_found;
                facts.best = facts.best_found < facts.best ? facts.best_found : facts.best;
        }
        return facts;
}
