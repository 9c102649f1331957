/* SPDX-License-Identifier: MIT */
/* Chooses the order of steps, and for it what is kept in activation memory and where it lies.
 * Blocks of branches that meet again have many orders: those of least peak are searched as for
 * kernels (passes/memory/arrange_search.h). Where everything fits in one of these orders, or near
 * one, nothing is moved. Otherwise heuristics and a search try orders, heights of slices and rows
 * to keep, and those that move the least are taken. */
#include "codegen/sections/sections.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/size.h"
#include "passes/memory/arrange_search.h"

/* ---- orders ---- */

static void add_makers(struct arena *arena, const struct network *n, struct step_graph *g, int step,
                       int volume)
{
        const struct volume *v = &n->volumes[volume];
        for (int i = 0; i < v->part_count; i++)
                add_makers(arena, n, g, step, v->parts[i]);
        if (!v->part_count)
                step_before(g, arena, step, v->maker);
}

static struct step_graph graph_of(struct arena *arena, const struct network *n)
{
        struct step_graph g = { .count = n->step_count };
        g.steps = arena_array(arena, (size_t)n->step_count + 1, sizeof *g.steps);
        for (int k = 0; k < n->step_count; k++) {
                for (int i = 0; i < n->steps[k].input_count; i++)
                        add_makers(arena, n, &g, k, n->steps[k].inputs[i]);
                for (int i = 0; i < n->steps[k].before_count; i++)
                        step_before(&g, arena, k, n->steps[k].before[i]);
        }
        for (int i = 0; i < n->volume_count; i++) {
                const struct volume *v = &n->volumes[i];
                if (!v->needed || volume_is_concat(v))
                        continue;
                struct resident r = { .bytes = volume_room(n, v, v->rows, false) };
                r.steps = arena_array(arena, (size_t)v->reader_count + 1, sizeof *r.steps);
                r.steps[r.step_count++] = v->maker;
                for (int k = 0; k < v->reader_count; k++) {
                        bool again = false;
                        for (int j = 0; j < r.step_count; j++)
                                again |= r.steps[j] == v->readers[k];
                        if (!again)
                                r.steps[r.step_count++] = v->readers[k];
                }
                if (r.step_count > 1)
                        step_graph_resident(&g, arena, r);
                else
                        g.steps[v->maker].own += r.bytes;
        }
        return g;
}

/* ---- a plan ---- */

static struct section_plan plan_new(struct network *n, int64_t memory, const int *order,
                                    const char *name)
{
        struct section_plan p = { .n = n,
                                  .arena = n->arena,
                                  .memory = memory,
                                  .order = order,
                                  .order_name = name,
                                  .slice_rows = 1,
                                  .chosen_by = "none" };
        int *time = arena_array(n->arena, (size_t)n->step_count + 1, sizeof *time);
        for (int t = 0; t < n->step_count; t++)
                time[order[t]] = t;
        p.time = time;
        p.kept = arena_array(n->arena, (size_t)n->storage_count + 1, sizeof *p.kept);
        p.tails = arena_array(n->arena, (size_t)n->storage_count + 1, sizeof *p.tails);
        p.until = arena_array(n->arena, (size_t)n->storage_count + 1, sizeof *p.until);
        p.again = arena_array(n->arena, (size_t)n->storage_count + 1, sizeof *p.again);
        p.agains = arena_array(n->arena, (size_t)n->storage_count + 1, sizeof *p.agains);
        p.low = arena_array(n->arena, (size_t)n->storage_count + 1, sizeof *p.low);
        p.offsets = arena_array(n->arena, (size_t)n->storage_count + 1, sizeof *p.offsets);
        p.slices = arena_array(n->arena, (size_t)n->step_count + 1, sizeof *p.slices);
        residency_keep_all(&p);
        residency_count(&p);
        return p;
}

struct searching {
        struct section_plan *best;      /* NULL: there is none yet. */
        int64_t heuristics[HEURISTIC_COUNT];
};

/* Takes p if it can be placed and moves less than the best. Returns false where it cannot be
 * placed. */
static bool consider(struct searching *s, struct section_plan *p, enum volumes_effort effort)
{
        if (!volumes_place(p, effort))
                return false;
        if (s->best && s->best->gathered + s->best->scattered <= p->gathered + p->scattered)
                return true;
        s->best = ARENA_NEW(p->arena, struct section_plan);
        *s->best = *p;
        const struct residency rows = residency_new(p->arena, p);
        s->best->kept = rows.kept;
        s->best->until = rows.until;
        s->best->again = rows.again;
        s->best->low =
                arena_copy(p->arena, p->low, (size_t)p->n->storage_count * sizeof *p->low + 1);
        s->best->offsets = arena_copy(p->arena, p->offsets,
                                      (size_t)p->n->storage_count * sizeof *p->offsets + 1);
        s->best->tails =
                arena_copy(p->arena, p->tails, (size_t)p->n->storage_count * sizeof *p->tails + 1);
        s->best->agains = arena_copy(p->arena, p->agains,
                                     (size_t)p->n->storage_count * sizeof *p->agains + 1);
        s->best->slices =
                arena_copy(p->arena, p->slices, (size_t)p->n->step_count * sizeof *p->slices + 1);
        return true;
}

/* Keeps less and less until p can be placed; p holds the result. Returns its traffic, or -1. */
static int64_t search_rows(struct searching *s, struct section_plan *p, const int64_t *away,
                           int tries)
{
        enum { ROUNDS = 6 };
        struct residency start = residency_new(p->arena, p);
        for (int round = 0; round < ROUNDS; round++) {
                const int64_t room = p->memory - p->memory / 48 * round;
                int64_t least = INT64_MAX;
                for (int h = 0; h < HEURISTIC_COUNT; h++) {
                        if (!residency_choose(p, room, h))
                                continue;
                        const int64_t now = p->gathered + p->scattered;
                        p->chosen_by = heuristic_names[h];
                        if (consider(s, p, VOLUMES_SIMPLY) &&
                            (s->heuristics[h] < 0 || now < s->heuristics[h]))
                                s->heuristics[h] = now;
                        if (now < least) {
                                least = now;
                                residency_save(&start, p);
                        }
                }
                if (least == INT64_MAX)
                        return -1;
                residency_load(p, &start);
                p->chosen_by = "search";
                if (residency_search(p, room, away, tries) && consider(s, p, VOLUMES_QUICKLY))
                        return p->gathered + p->scattered;
        }
        return -1;
}

/* Plans slices, because not everything fits. Each order and height of slices is tried a little, and
 * the best of them more. */
static void search_slices(struct searching *s, struct section_plan *plans, int plan_count)
{
        static const int64_t heights[] = { 1, 2, 4 };
        enum { HEIGHTS = sizeof heights / sizeof *heights, LITTLE = 12, MUCH = 800 };
        int64_t least = INT64_MAX,
                *away = arena_array(plans->arena, (size_t)plans->n->volume_count + 1, sizeof *away);
        int best = -1;
        for (int k = 0; k < plan_count * HEIGHTS; k++) {
                struct section_plan *p = &plans[k / HEIGHTS];
                p->slice_rows = heights[k % HEIGHTS];
                p->traffic_bound = traffic_bound(p, away);
                const int64_t found = search_rows(s, p, away, LITTLE);
                if (found >= 0 && found < least) {
                        least = found;
                        best = k;
                }
        }
        struct section_plan *p = &plans[best < 0 ? 0 : best / HEIGHTS];
        p->slice_rows = best < 0 ? 1 : heights[best % HEIGHTS];
        p->traffic_bound = traffic_bound(p, away);
        if (best >= 0) {
                search_rows(s, p, away, MUCH);
        /* Everything is computed in slices of one row. */
        } else if (!s->best) {
                p->chosen_by = "none kept";
                residency_keep_all(p);
                memset(p->kept, 0, (size_t)p->n->storage_count * sizeof *p->kept);
                residency_count(p);
                consider(s, p, VOLUMES_WELL);
        }
}

/* Returns the bytes that are enough where nothing is kept. */
static int64_t least_memory(struct network *n, const int *order)
{
        struct section_plan p = plan_new(n, INT64_MAX / 2, order, "");
        memset(p.kept, 0, (size_t)n->storage_count * sizeof *p.kept);
        p.slice_rows = 1;
        p.memory = residency_use(&p, NULL);
        return p.memory;
}

static void give_ddr(struct section_plan *p)
{
        const struct network *n = p->n;
        p->ddr = arena_array(p->arena, (size_t)n->storage_count + 1, sizeof *p->ddr);
        for (int s = 0; s < n->storage_count; s++) {
                p->ddr[s] = -1;
                if (p->low[s] >= n->storages[s].rows)
                        continue;
                p->ddr[s] = p->ddr_bytes;
                p->ddr_bytes += round_up(n->storages[s].channels * n->storages[s].rows *
                                                 overlay_row(n->overlay, n->storages[s].columns),
                                         STORAGE_ALIGN);
        }
}

/* ---- orders near the best ---- */

/* Moves a random step to another place. */
static void move_step(const struct step_graph *g, int *order, uint64_t *random)
{
        const uint64_t r = random_next(random) >> 16;
        const int at = (int)((r >> 1) % (uint64_t)g->count),
                  left = 1 + (int)((random_next(random) >> 16) % (uint64_t)g->count);
        if (r & 1)
                step_move(g, order, at, left < g->count - at ? at + left : g->count - 1);
        else
                step_move(g, order, at, left < at ? at - left : 0);
}

/* Tries orders near the best, which fits by bytes but cannot be placed: others that fit by bytes,
 * one moved step at a time. */
static void search_orders(struct searching *s, struct network *n, int64_t memory,
                          const struct step_graph *g, const int *best)
{
        enum { TRIES = 2000, STEPS = 1000000 };
        const int tries =
                n->step_count && STEPS / n->step_count < TRIES ? STEPS / n->step_count : TRIES;
        const size_t bytes = (size_t)n->step_count * sizeof *best + 1;
        uint64_t random = RANDOM_START;
        int *order = arena_copy(n->arena, best, bytes);
        for (int k = 0; k < tries && !s->best; k++) {
                int *other = arena_copy(n->arena, order, bytes);
                move_step(g, other, &random);
                const int64_t peak = arrange_peak(g, other);
                if (peak > memory || !memcmp(other, order, bytes - 1))
                        continue;
                order = other;
                struct section_plan p = plan_new(n, memory, order, "near the best");
                p.peak = peak;
                consider(s, &p, VOLUMES_QUICKLY);
        }
}

struct section_plan *plan_commands(struct network *n, int64_t memory, struct diag *diag)
{
        const struct step_graph g = graph_of(n->arena, n);
        int *model = arena_array(n->arena, (size_t)n->step_count + 1, sizeof *model), *best;
        int64_t bound;
        for (int k = 0; k < n->step_count; k++)
                model[k] = k;
        best = arena_copy(n->arena, model, (size_t)n->step_count * sizeof *model + 1);
        const int64_t best_peak = arrange_search(&g, best, &bound, NULL),
                      model_peak = arrange_peak(&g, NULL);
        int *blocks = arena_copy(n->arena, model, (size_t)n->step_count * sizeof *model + 1);
        order_blocks(n, blocks);
        const struct { const int *order; const char *name; int64_t peak; } orders[] = {
                { best, "best", best_peak }, { blocks, "blocks", arrange_peak(&g, blocks) }, { model, "model", model_peak }
        };

        enum { ORDERS = sizeof orders / sizeof *orders };
        struct searching s = { .heuristics = { -1, -1, -1 } };
        for (int k = 0; k < ORDERS; k++) {
                struct section_plan p = plan_new(n, memory, orders[k].order, orders[k].name);
                p.peak = orders[k].peak;
                if (p.peak <= memory && !s.best)
                        consider(&s, &p, VOLUMES_WELL);
        }
        if (!s.best && best_peak <= memory)
                search_orders(&s, n, memory, &g, best);
        struct section_plan plans[ORDERS];
        int count = 0;
        for (int k = 0; k < ORDERS; k++) {
                bool again = false;     /* This is an earlier order by another name. */
                for (int j = 0; j < k; j++)
                        again |= !memcmp(orders[j].order, orders[k].order,
                                         (size_t)n->step_count * sizeof *model);
                if (again)
                        continue;
                plans[count] = plan_new(n, memory, orders[k].order, orders[k].name);
                plans[count++].peak = orders[k].peak;
        }
        if (!(s.best && !(s.best->gathered + s.best->scattered)))
                search_slices(&s, plans, count);
        if (!s.best) {
                const int64_t least = least_memory(n, best);
                diag_error(diag, EXIT_BUDGET,
                           "the commands need %" PRId64
                           " bytes of activation memory, and there are %" PRId64
                           "\n  %-9s --activation-memory=%" PRId64
                           ", with all volumes in DDR; %" PRId64 " to use no DDR",
                           least, memory, "try", least, best_peak);
                return NULL;
        }
        memcpy(s.best->heuristics, s.heuristics, sizeof s.heuristics);
        s.best->best_peak = best_peak;
        s.best->model_peak = model_peak;
        s.best->best_bound = bound;
        give_ddr(s.best);
        return s.best;
}
