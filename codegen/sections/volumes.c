/* SPDX-License-Identifier: MIT */
/* Finds places in activation memory, as XFDNN does: volumes one after the other by time, each as
 * low as possible; or alternately from the bottom and from the top; or the largest first. Where
 * none of these fits, the search of passes/memory/place.h is used. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "codegen/sections/sections.h"

struct placing {
        struct arena *arena;
        struct item *items;             /* They are indexed by number. */
        struct item **list;
        int count;
        bool *there;                    /* For each storage, whether there are kept rows, a tail,
                                         * and a tail that is there again. */
};

static int by_time(const void *x, const void *y)
{
        const struct item *a = *(struct item *const *)x, *b = *(struct item *const *)y;
        return a->first != b->first ? a->first - b->first : a->number - b->number;
}

static int by_size(const void *x, const void *y)
{
        const struct item *a = *(struct item *const *)x, *b = *(struct item *const *)y;
        return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : a->number - b->number;
}

static bool place_by(struct placing *p, int (*order)(const void *x, const void *y), int64_t limit,
                     enum place_side side)
{
        qsort(p->list, (size_t)p->count, sizeof *p->list, order);
        place_within(p->list, p->count, limit, side);
        for (int i = 0; i < p->count; i++)
                if (p->items[i].offset < 0)
                        return false;
        return true;
}

/* ---- items to place ---- */

static struct item *add_item(struct placing *p, int spans)
{
        ARENA_GROW(p->arena, p->items, p->count);
        p->items[p->count] = (struct item){ .spans = arena_array(p->arena, (size_t)spans + 1,
                                                                 sizeof(struct span)),
                                            .number = p->count };
        return &p->items[p->count++];
}

static void add_span(struct item *item, struct span span)
{
        struct span *spans = (struct span *)(uintptr_t)item->spans;
        item->first = !item->span_count || span.first < item->first ? span.first : item->first;
        item->last = !item->span_count || span.last > item->last ? span.last : item->last;
        item->bytes = span.end > item->bytes ? span.end : item->bytes;
        spans[item->span_count++] = span;
}

enum part { PART_KEPT, PART_TAIL, PART_AGAIN, PARTS };

/* Adds an item for rows of a storage; returns false where there are no such rows. */
static bool add_storage(struct placing *p, const struct section_plan *plan, int number,
                        enum part part)
{
        const struct network *n = plan->n;
        const struct section_storage *s = &n->storages[number];
        const int64_t rows = part == PART_KEPT ? plan->kept[number] : s->rows - plan->kept[number],
                      plane = rows * overlay_row(n->overlay, s->columns);
        bool any = false;
        for (int k = 0; k < s->leaf_count; k++) {
                int last;
                any |= part == PART_KEPT   ? rows > 0
                       : part == PART_TAIL ? leaf_tail(plan, s->leaves[k].volume, &last) > 0
                                           : leaf_again(plan, s->leaves[k].volume) > 0;
        }
        if (!any)
                return false;
        struct item *item = add_item(p, s->leaf_count);
        for (int k = 0; k < s->leaf_count; k++) {
                const int64_t start = s->leaves[k].channel * plane;
                int first, last, end;
                const int64_t there = leaf_tail(plan, s->leaves[k].volume, &end);
                leaf_life(plan, s->leaves[k].volume, &first, &last);
                if ((part == PART_TAIL && !there) ||
                    (part == PART_AGAIN && !leaf_again(plan, s->leaves[k].volume)))
                        continue;
                first = part == PART_AGAIN ? plan->again[number] : first;
                last = part == PART_TAIL ? end : last;
                add_span(item,
                         (struct span){ start,
                                        start + volume_channels(n, &n->volumes[s->leaves[k].volume],
                                                                false) *
                                                        plane,
                                        first, last });
        }
        item->bytes = round_up(item->bytes, overlay_align(n->overlay));
        /* A storage occupies its buffers as long as any part of it is there. */
        if (n->overlay->buffer_bytes) {
                item->span_count = 1;
                *(struct span *)(uintptr_t)item->spans =
                        (struct span){ 0, item->bytes, item->first, item->last };
        }
        return true;
}

/* Adds items for a step's slices; returns their number. */
static int add_slices(struct placing *p, const struct section_plan *plan, int step)
{
        const struct section_step *s = &plan->n->steps[step];
        const struct slice_room room = plan_slice_room(plan, step);
        int count = 0;
        for (int i = 0; i < 3; i++)
                for (int k = 0; k < (i < 2 ? room.turns[i] > 0 : room.turns[i]); k++, count++) {
                        const struct volume *v =
                                &plan->n->volumes[i < 2 ? s->inputs[i] : s->output];
                        const int64_t rows = i < 2 ? room.turns[i] * room.rows[i] : room.rows[i];
                        const int64_t bytes = volume_room(plan->n, v, rows, true);
                        add_span(add_item(p, 1),
                                 (struct span){ 0, bytes, plan->time[step], plan->time[step] });
                }
        return count;
}

static void take_offsets(struct placing *p, struct section_plan *plan)
{
        const struct network *n = plan->n;
        int at = 0;
        plan->used = 0;
        for (int k = 0; k < p->count; k++)
                plan->used = p->items[k].offset + p->items[k].bytes > plan->used
                                     ? p->items[k].offset + p->items[k].bytes
                                     : plan->used;
        for (int s = 0; s < n->storage_count; s++)
                for (int part = 0; part < PARTS; part++)
                        (part == PART_KEPT   ? plan->offsets
                         : part == PART_TAIL ? plan->tails
                                             : plan->agains)[s] =
                                p->there[PARTS * s + part] ? p->items[at++].offset : -1;
        for (int k = 0; k < n->step_count; k++) {
                const struct slice_room room = plan_slice_room(plan, k);
                for (int i = 0; i < 3; i++)
                        for (int j = 0; j < (i < 2 ? room.turns[i] > 0 : room.turns[i]); j++)
                                plan->slices[k][i][j] = p->items[at++].offset;
        }
}

bool volumes_place(struct section_plan *plan, enum volumes_effort effort)
{
        static const struct {
                const char *name;
                int (*order)(const void *x, const void *y);
                enum place_side side;
        } ways[] = { { "bottom", by_time, PLACE_LOW },
                     { "top", by_time, PLACE_BOTH_ENDS },
                     { "size", by_size, PLACE_LOW } };
        struct placing p = { .arena = arena_new() };
        const int64_t peak = residency_use(plan, NULL);
        p.there = arena_array(p.arena, PARTS * (size_t)plan->n->storage_count + 1, sizeof *p.there);
        for (int s = 0; s < plan->n->storage_count; s++)
                for (int part = 0; part < PARTS; part++)
                        p.there[PARTS * s + part] = add_storage(&p, plan, s, (enum part)part);
        for (int k = 0; k < plan->n->step_count; k++)
                add_slices(&p, plan, k);
        p.list = arena_array(p.arena, (size_t)p.count + 1, sizeof *p.list);
        for (int i = 0; i < p.count; i++)
                p.list[i] = &p.items[i];
        bool fine = peak <= plan->memory, proved;
        plan->placed_by = NULL;
        for (size_t k = 0; k < sizeof ways / sizeof *ways && fine && !plan->placed_by; k++)
                if (place_by(&p, ways[k].order, plan->memory, ways[k].side))
                        plan->placed_by = ways[k].name;
        if (fine && !plan->placed_by) {
                fine = effort != VOLUMES_SIMPLY &&
                       place_items(p.items, p.count, peak,
                                   effort == VOLUMES_WELL ? PLACE_WELL : PLACE_QUICKLY,
                                   &proved) <= plan->memory;
                plan->placed_by = "search";
        }
        if (fine)
                take_offsets(&p, plan);
        arena_free(p.arena);
        return fine;
}
