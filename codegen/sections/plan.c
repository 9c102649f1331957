/* SPDX-License-Identifier: MIT */
/* Orders of steps, and for each what is kept in activation memory and where it lies. Blocks of branches that meet again have many orders:
 * those of least peak are looked for as for kernels (passes/memory/arrange_search.h). Where all fits in one of these, nothing is moved; else
 * the order, the height of slices and the rows kept that move least are taken, of what heuristics and a search find. */
#include "codegen/sections/sections.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "passes/memory/arrange_search.h"

/* ---- orders ---- */

static void add_before(struct arena *arena, struct step *s, int step)
{
        for (int i = 0; i < s->before_count; i++)
                if (s->before[i] == step)
                        return;
        ARENA_GROW(arena, s->before, s->before_count);
        s->before[s->before_count++] = step;
}

static void add_makers(struct arena *arena, const struct network *n, struct step *s, int volume)
{
        const struct volume *v = &n->volumes[volume];
        for (int i = 0; i < v->part_count; i++)
                add_makers(arena, n, s, v->parts[i]);
        if (!v->part_count)
                add_before(arena, s, v->maker);
}

static struct step_graph graph_of(struct arena *arena, const struct network *n)
{
        struct step_graph g = { .count = n->step_count };
        g.steps = arena_array(arena, (size_t)n->step_count + 1, sizeof *g.steps);
        g.residents = arena_array(arena, (size_t)n->volume_count + 1, sizeof *g.residents);
        for (int k = 0; k < n->step_count; k++) {
                for (int i = 0; i < n->steps[k].input_count; i++)
                        add_makers(arena, n, &g.steps[k], n->steps[k].inputs[i]);
                for (int i = 0; i < n->steps[k].before_count; i++)
                        add_before(arena, &g.steps[k], n->steps[k].before[i]);
        }
        for (int i = 0; i < n->volume_count; i++) {
                const struct volume *v = &n->volumes[i];
                if (!v->needed || volume_is_concat(v))
                        continue;
                struct resident r = { .bytes = round_up(v->rows * row_bytes(n, v), STORAGE_ALIGN) };
                r.steps = arena_array(arena, (size_t)v->reader_count + 1, sizeof *r.steps);
                r.steps[r.step_count++] = v->maker;
                for (int k = 0; k < v->reader_count; k++) {
                        bool again = false;
                        for (int j = 0; j < r.step_count; j++)
                                again |= r.steps[j] == v->readers[k];
                        if (!again)
                                r.steps[r.step_count++] = v->readers[k];
                }
                if (r.step_count < 2) {
                        g.steps[v->maker].own += r.bytes;
                        continue;
                }
                for (int k = 0; k < r.step_count; k++) {
                        struct step *s = &g.steps[r.steps[k]];
                        ARENA_GROW(arena, s->residents, s->resident_count);
                        s->residents[s->resident_count++] = g.resident_count;
                }
                g.residents[g.resident_count++] = r;
        }
        return g;
}

/* ---- a plan ---- */

static struct section_plan plan_new(struct network *n, int64_t memory, const int *order, const char *name)
{
        struct section_plan p = { .n = n, .arena = n->arena, .memory = memory, .order = order, .order_name = name, .slice_rows = 1, .chosen_by = "none" };
        int *time = arena_array(n->arena, (size_t)n->step_count + 1, sizeof *time);
        for (int t = 0; t < n->step_count; t++)
                time[order[t]] = t;
        p.time = time;
        p.kept = arena_array(n->arena, (size_t)n->storage_count + 1, sizeof *p.kept);
        p.low = arena_array(n->arena, (size_t)n->storage_count + 1, sizeof *p.low);
        p.offsets = arena_array(n->arena, (size_t)n->storage_count + 1, sizeof *p.offsets);
        p.slices = arena_array(n->arena, (size_t)n->step_count + 1, sizeof *p.slices);
        for (int s = 0; s < n->storage_count; s++)
                p.kept[s] = n->storages[s].rows;
        for (int k = 0; k < HEURISTIC_COUNT; k++)
                p.heuristics[k] = -1;
        residency_count(&p);
        return p;
}

struct searching {
        struct section_plan *best;      /* NULL: none yet */
        int64_t heuristics[HEURISTIC_COUNT];
};

static void consider(struct searching *s, struct section_plan *p)
{
        if (!volumes_place(p) || (s->best && s->best->gathered + s->best->scattered <= p->gathered + p->scattered))
                return;
        s->best = ARENA_NEW(p->arena, struct section_plan);
        *s->best = *p;
        s->best->kept = arena_copy(p->arena, p->kept, (size_t)p->n->storage_count * sizeof *p->kept + 1);
        s->best->low = arena_copy(p->arena, p->low, (size_t)p->n->storage_count * sizeof *p->low + 1);
        s->best->offsets = arena_copy(p->arena, p->offsets, (size_t)p->n->storage_count * sizeof *p->offsets + 1);
        s->best->slices = arena_copy(p->arena, p->slices, (size_t)p->n->step_count * sizeof *p->slices + 1);
}

/* Less and less is kept until it can be placed. */
static void search_rows(struct searching *s, struct section_plan *p, const int64_t *away)
{
        enum { ROUNDS = 6 };
        bool found = false;
        for (int round = 0; round < ROUNDS && !found; round++) {
                const int64_t room = p->memory - p->memory / 48 * round;
                int64_t least = INT64_MAX, *start = arena_copy(p->arena, p->kept, (size_t)p->n->storage_count * sizeof *p->kept + 1);
                for (int h = 0; h < HEURISTIC_COUNT; h++) {
                        if (!residency_choose(p, room, h))
                                continue;
                        const int64_t now = p->gathered + p->scattered;
                        p->chosen_by = heuristic_names[h];
                        if (volumes_place(p)) {
                                if (p->heuristics[h] < 0 || now < p->heuristics[h])
                                        p->heuristics[h] = now;
                                consider(s, p);
                        }
                        if (now < least) {
                                least = now;
                                memcpy(start, p->kept, (size_t)p->n->storage_count * sizeof *p->kept);
                        }
                }
                if (least == INT64_MAX)
                        return;
                memcpy(p->kept, start, (size_t)p->n->storage_count * sizeof *p->kept);
                residency_search(p, room, away);
                p->chosen_by = "search";
                found = volumes_place(p);
                if (found)
                        consider(s, p);
        }
}

static void merge_heuristics(struct searching *s, const struct section_plan *p)
{
        for (int h = 0; h < HEURISTIC_COUNT; h++)
                if (p->heuristics[h] >= 0 && (s->heuristics[h] < 0 || p->heuristics[h] < s->heuristics[h]))
                        s->heuristics[h] = p->heuristics[h];
}

/* Nothing fits whole: slices. */
static void search_slices(struct searching *s, struct section_plan *p)
{
        static const int64_t heights[] = { 1, 2, 4, 8 };
        int64_t *away = arena_array(p->arena, (size_t)p->n->volume_count + 1, sizeof *away);
        p->traffic_bound = traffic_bound(p, away);
        for (size_t k = 0; k < sizeof heights / sizeof *heights; k++) {
                p->slice_rows = heights[k];
                search_rows(s, p, away);
        }
        if (!s->best) {                 /* all of it in slices of a row */
                p->slice_rows = 1;
                p->chosen_by = "none kept";
                memset(p->kept, 0, (size_t)p->n->storage_count * sizeof *p->kept);
                residency_count(p);
                consider(s, p);
        }
        merge_heuristics(s, p);
}

/* bytes that are enough where nothing is kept */
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
                if (p->kept[s] >= n->storages[s].rows)
                        continue;
                p->ddr[s] = p->ddr_bytes;
                p->ddr_bytes += round_up(n->storages[s].channels * n->storages[s].rows * n->storages[s].columns * n->machine->number_bytes,
                                         STORAGE_ALIGN);
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
        const int64_t best_peak = arrange_search(&g, best, &bound, NULL), model_peak = arrange_peak(&g, NULL);
        const struct { const int *order; const char *name; int64_t peak; } orders[] = { { best, "best", best_peak }, { model, "model", model_peak } };
        struct searching s = { .heuristics = { -1, -1, -1 } };
        for (int k = 0; k < 2; k++) {
                struct section_plan p = plan_new(n, memory, orders[k].order, orders[k].name);
                p.peak = orders[k].peak;
                if (p.peak <= memory && !s.best)
                        consider(&s, &p);
        }
        for (int k = 0; k < 2 && !(s.best && !s.best->ddr && !(s.best->gathered + s.best->scattered)); k++) {
                struct section_plan p = plan_new(n, memory, orders[k].order, orders[k].name);
                p.peak = orders[k].peak;
                search_slices(&s, &p);
        }
        if (!s.best) {
                const int64_t least = least_memory(n, best);
                diag_error(diag, EXIT_BUDGET, "the commands need %" PRId64 " bytes of activation memory, and there are %" PRId64
                                              "\n  %-9s --activation-memory=%" PRId64 ", with all volumes in DDR; %" PRId64 " for none in DDR",
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
