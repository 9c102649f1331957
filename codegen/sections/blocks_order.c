/* SPDX-License-Identifier: MIT */
/* Orders the steps block by block. Where only one storage is alive between two steps, all steps
 * before this place precede all steps after it, as between blocks of branches that meet again; the
 * steps between two such places are ordered by themselves, for the least peak of their own. (An
 * order of least peak for the whole network, in contrast, may leave any block at a peak below that
 * of the highest one.) */
#include <string.h>

#include "base/size.h"
#include "codegen/sections/sections.h"
#include "passes/memory/arrange_search.h"

/* The steps of a block are nodes 1.. of its graph; node 0 touches what exists before the block, the
 * last node what exists after it. */
struct block { const struct network *n; struct arena *arena; int from, to; struct step_graph g; };

static int step_of(const struct block *b, int step)
{
        return step < b->from ? 0 : step >= b->to ? b->g.count - 1 : step - b->from + 1;
}

static void add_leaf(struct block *b, int volume)
{
        const struct volume *v = &b->n->volumes[volume];
        struct resident r = { .bytes = volume_room(b->n, v, v->rows, false) };
        r.steps = arena_array(b->arena, (size_t)v->reader_count + 1, sizeof *r.steps);
        bool *seen = arena_array(b->arena, (size_t)b->g.count, sizeof *seen);
        for (int k = -1; k < v->reader_count; k++) {
                const int step = step_of(b, k < 0 ? v->maker : v->readers[k]);
                if (!seen[step])
                        r.steps[r.step_count++] = step;
                seen[step] = true;
                if (k >= 0 && step != step_of(b, v->maker))
                        step_before(&b->g, b->arena, step, step_of(b, v->maker));
        }
        if (r.step_count < 2) {
                b->g.steps[r.steps[0]].own +=
                        r.steps[0] && r.steps[0] < b->g.count - 1 ? r.bytes : 0;
                return;
        }
        step_graph_resident(&b->g, b->arena, r);
}

static void order_block(const struct network *n, int from, int to, int *order)
{
        struct block b = { n, arena_new(), from, to, { .count = to - from + 2 } };
        int64_t bound;
        b.g.steps = arena_array(b.arena, (size_t)b.g.count, sizeof *b.g.steps);
        for (int k = 1; k < b.g.count - 1; k++) {
                step_before(&b.g, b.arena, k, 0);
                step_before(&b.g, b.arena, b.g.count - 1, k);
                const struct section_step *s = &n->steps[from + k - 1];
                for (int i = 0; i < s->before_count; i++)
                        if (s->before[i] >= from)
                                step_before(&b.g, b.arena, k, step_of(&b, s->before[i]));
        }
        for (int i = 0; i < n->volume_count; i++)
                if (n->volumes[i].needed && !volume_is_concat(&n->volumes[i]))
                        add_leaf(&b, i);
        int *own = arena_array(b.arena, (size_t)b.g.count, sizeof *own);
        for (int k = 0; k < b.g.count; k++)
                own[k] = k;
        arrange_search(&b.g, own, &bound, NULL);
        for (int k = 1; k < b.g.count - 1; k++)
                order[from + k - 1] = from + own[k] - 1;
        arena_free(b.arena);
}

/* Is only one storage alive after step k? */
static bool is_cut(const struct network *n, int k)
{
        int storage = -1;
        for (int i = 0; i < n->volume_count; i++) {
                const struct volume *v = &n->volumes[i];
                bool later = false;
                for (int r = 0; r < v->reader_count; r++)
                        later |= v->readers[r] > k;
                if (!v->needed || volume_is_concat(v) || v->maker > k || !later)
                        continue;
                if (storage >= 0 && v->storage != storage)
                        return false;
                storage = v->storage;
        }
        return true;
}

void order_blocks(const struct network *n, int *order)
{
        int from = 0;
        for (int k = 0; k < n->step_count; k++)
                if (k + 1 == n->step_count || is_cut(n, k)) {
                        order_block(n, from, k + 1, order);
                        from = k + 1;
                }
}
