/* SPDX-License-Identifier: MIT */
/* Heuristics first: items are placed one by one, each at the lowest or the tightest gap where it
 * fits below and between those placed before, in several orders. Where the best of these is above
 * the bound, what reaches the top is placed earlier, again and again; and then a search
 * (place_search.c) looks for the optimum of every stretch of time on its own.
 *
 *      offset
 *        |   +---------+
 *        |   |    c    |---+         a strip packing of rectangles, time by bytes
 *        |   +-----+---+ d |
 *        |   |  a  | b |---+
 *        +------------------- time
 *
 * Everything is counted in steps, never in seconds, so that the plan is the same on every host. */
#include "passes/memory/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "passes/memory/place_search.h"

/* A block is a placed span at its own address. */
struct block { int64_t start, end; int first, last; };
/* Offsets between low and high (both exclusive) are taken. */
struct taken { int64_t low, high; };

struct placing {
        struct arena *arena;
        struct item *items, **list;
        int count;
        struct block *blocks, *fresh;   /* blocks: the placed spans, sorted by start; fresh: those
                                         * of an item that is being placed. */
        struct taken *taken;
        int block_count;
        size_t taken_room;
        int64_t *best, size;            /* Items have these offsets, and take these bytes;
                                         * INT64_MAX: there are none yet. */
        int64_t steps;                  /* This many steps are left. */
        int64_t align;                  /* Offsets are multiples of it, where spans are not
                                         * already. */
};

/* ---- one item ---- */

static int by_low(const void *x, const void *y)
{
        const struct taken *a = x, *b = y;
        return a->low != b->low    ? (a->low < b->low ? -1 : 1)
               : a->high < b->high ? -1
                                   : a->high > b->high;
}

static int find_taken(struct placing *p, const struct item *item)
{
        int count = 0;
        size_t room = (size_t)p->block_count * (size_t)item->span_count;
        if (room > p->taken_room)
                p->taken = memory_resize(p->taken, (p->taken_room = 2 * room) * sizeof *p->taken);
        for (int i = 0; i < p->block_count; i++) {
                const struct block *b = &p->blocks[i];
                if (b->last < item->first || item->last < b->first)
                        continue;
                for (int k = 0; k < item->span_count; k++) {
                        const struct span *s = &item->spans[k];
                        if (b->last >= s->first && s->last >= b->first)
                                p->taken[count++] =
                                        (struct taken){ b->start - s->end, b->end - s->start };
                }
        }
        p->steps -= p->block_count + count;
        if (item->span_count > 1 && count)      /* With a single span, blocks have come in order. */
                qsort(p->taken, (size_t)count, sizeof *p->taken, by_low);
        return count;
}

static int64_t find_offset(struct placing *p, const struct item *item, bool tight)
{
        int64_t end = 0, found = -1, found_gap = INT64_MAX;
        int count = find_taken(p, item);
        for (int i = 0; i < count; i++) {
                int64_t gap = p->taken[i].low - end;
                if (gap >= 0 && gap < found_gap) {
                        found = end;
                        found_gap = gap;
                        if (!tight)
                                break;
                }
                if (p->taken[i].high > end)
                        end = (p->taken[i].high + p->align - 1) & -p->align;
        }
        return found >= 0 ? found : end;
}

/* Returns the highest offset from which the item ends by `limit`; `limit` if there is none. */
static int64_t find_highest(struct placing *p, const struct item *item, int64_t limit)
{
        const int64_t last = limit - item->bytes;
        const int count = find_taken(p, item);
        int64_t end = 0, found = limit;
        for (int i = 0; i <= count; i++) {
                const int64_t most = i < count && p->taken[i].low < last ? p->taken[i].low : last;
                if (most >= end)
                        found = (most & -p->align) > end ? most & -p->align : end;
                if (i < count && p->taken[i].high > end)
                        end = (p->taken[i].high + p->align - 1) & -p->align;
        }
        return found;
}

static int by_start(const void *x, const void *y)
{
        const struct block *a = x, *b = y;
        return a->start != b->start ? (a->start < b->start ? -1 : 1)
               : a->end < b->end    ? -1
                                    : a->end > b->end;
}

/* Adds the item's spans to the blocks: they are merged from the end, behind blocks that start no
 * later. */
static void add_blocks(struct placing *p, const struct item *item)
{
        bool sorted = true;
        int at = p->block_count, count = item->span_count;
        for (int k = 0; k < count; k++) {
                const struct span *s = &item->spans[k];
                p->fresh[k] = (struct block){ item->offset + s->start, item->offset + s->end,
                                              s->first, s->last };
                sorted &= !k || p->fresh[k - 1].start <= p->fresh[k].start;
        }
        if (!sorted)
                qsort(p->fresh, (size_t)count, sizeof *p->fresh, by_start);
        p->block_count += count;
        for (int to = p->block_count; count;)
                p->blocks[--to] = at && p->blocks[at - 1].start > p->fresh[count - 1].start
                                          ? p->blocks[--at]
                                          : p->fresh[--count];
}

/* ---- one order ---- */

/* Forgets blocks that have ended before, which is allowed only where items come by first use. */
static void forget(struct placing *p, int before)
{
        int kept = 0;
        for (int i = 0; i < p->block_count; i++)
                if (p->blocks[i].last >= before)
                        p->blocks[kept++] = p->blocks[i];
        p->block_count = kept;
}

static int64_t place_list(struct placing *p, bool tight, bool by_time)
{
        int64_t size = 0;
        p->block_count = 0;
        for (int i = 0; i < p->count && size < p->size; i++) {
                struct item *item = p->list[i];
                if (by_time)
                        forget(p, item->first);
                item->offset = find_offset(p, item, tight);
                add_blocks(p, item);
                if (item->offset + item->bytes > size)
                        size = item->offset + item->bytes;
        }
        return size;
}

static void keep_offsets(struct placing *p, int64_t size)
{
        p->size = size;
        for (int i = 0; i < p->count; i++)
                p->best[i] = p->items[i].offset;
}

static int by_size(const void *x, const void *y)
{
        const struct item *a = *(struct item *const *)x, *b = *(struct item *const *)y;
        if (a->bytes != b->bytes)
                return a->bytes < b->bytes ? 1 : -1;
        return a->first != b->first ? a->first - b->first : a->number - b->number;
}

static int by_length(const void *x, const void *y)
{
        const struct item *a = *(struct item *const *)x, *b = *(struct item *const *)y;
        int p = a->last - a->first, q = b->last - b->first;
        return p != q ? q - p : by_size(x, y);
}

/* Orders items that are in use when most bytes are first, and of those the ones that stay longest:
 * later items have to do with the gaps. */
static int by_crowd(const void *x, const void *y)
{
        const struct item *a = *(struct item *const *)x, *b = *(struct item *const *)y;
        return a->crowd != b->crowd ? (a->crowd < b->crowd ? 1 : -1) : by_length(x, y);
}

static int by_first_use(const void *x, const void *y)
{
        const struct item *a = *(struct item *const *)x, *b = *(struct item *const *)y;
        return a->first != b->first ? a->first - b->first : by_size(x, y);
}

enum { LONG_PROGRAM = 4000 };           /* A program with more items has only the order of time,
                                         * because in other orders each item looks at all that were
                                         * placed before it. */

static void find_crowds(struct placing *p)
{
        int end = 0;
        for (int i = 0; i < p->count; i++)
                end = p->items[i].last >= end ? p->items[i].last + 1 : end;
        int64_t *live = arena_array(p->arena, (size_t)end + 1, sizeof *live);
        for (int i = 0; i < p->count; i++)
                for (int k = 0; k < p->items[i].span_count; k++) {
                        const struct span *s = &p->items[i].spans[k];
                        live[s->first] += s->end - s->start;
                        live[s->last + 1] -= s->end - s->start;
                }
        for (int t = 1; t < end; t++)
                live[t] += live[t - 1];
        for (int i = 0; i < p->count; i++) {
                struct item *item = &p->items[i];
                item->crowd = 0;
                for (int t = item->first; t <= item->last; t++)
                        item->crowd = live[t] > item->crowd ? live[t] : item->crowd;
        }
}

static void try_orders(struct placing *p, int64_t bound)
{
        static const struct {
                int (*order)(const void *, const void *);
                bool tight, by_time;
        } tries[] = {
                { by_first_use, true, true }, { by_first_use, false, true },
                { by_size, false, false },    { by_size, true, false },
                { by_length, false, false },  { by_length, true, false },
                { by_crowd, false, false },   { by_crowd, true, false },
        };
        if (p->count <= LONG_PROGRAM)
                find_crowds(p);
        for (size_t t = 0; t < sizeof tries / sizeof *tries && p->size > bound; t++) {
                if (p->count > LONG_PROGRAM && !tries[t].by_time)
                        continue;
                qsort(p->list, (size_t)p->count, sizeof *p->list, tries[t].order);
                int64_t size = place_list(p, tries[t].tight, tries[t].by_time);
                if (size < p->size)
                        keep_offsets(p, size);
        }
}

/* ---- improvement ---- */

static void move_item(struct item **list, int from, int to)
{
        struct item *item = list[from];
        memmove(list + to + 1, list + to, (size_t)(from - to) * sizeof *list);
        list[to] = item;
}

/* Places the list as it stands. Returns whether it takes at most a little more than *current; the
 * best of all placings is kept. */
static bool is_good(struct placing *p, int64_t *current, bool tight)
{
        int64_t best = p->size;
        p->size = *current + *current / 64 + 1;
        int64_t size = place_list(p, tight, false);
        bool good = size < p->size;
        p->size = best;
        if (!good)
                return false;
        *current = size;
        if (size < best)
                keep_offsets(p, size);
        return true;
}

/* Moves items that reach the top to earlier places of the order, and others anywhere, until steps
 * run out. */
static void improve(struct placing *p, int64_t bound)
{
        uint64_t random = RANDOM_START;
        struct item **kept = arena_array(p->arena, (size_t)p->count, sizeof *kept);
        qsort(p->list, (size_t)p->count, sizeof *p->list, by_size);
        memcpy(kept, p->list, (size_t)p->count * sizeof *kept);
        int64_t current = INT64_MAX / 2;
        while (p->steps > 0 && p->size > bound) {
                int high = 0, from = (int)(random_next(&random) % (uint64_t)p->count);
                if (is_good(p, &current, random_next(&random) & 1))
                        memcpy(kept, p->list, (size_t)p->count * sizeof *kept);
                else
                        memcpy(p->list, kept, (size_t)p->count * sizeof *kept);
                for (int i = 0; i < p->count; i++)
                        if (p->list[i]->offset + p->list[i]->bytes >= p->size &&
                            random_next(&random) & 1)
                                high = i;
                move_item(p->list, high, (int)(random_next(&random) % (uint64_t)(high + 1)));
                move_item(p->list, from, (int)(random_next(&random) % (uint64_t)(from + 1)));
                p->steps -= p->count;
        }
}

/* ---- all ---- */

static struct placing start(struct item *items, int count, int64_t spans)
{
        struct placing p = { .arena = arena_new(),
                             .items = items,
                             .count = count,
                             .size = INT64_MAX,
                             .align = 1 };
        p.list = arena_array(p.arena, (size_t)count + 1, sizeof *p.list);
        p.best = arena_array(p.arena, (size_t)count + 1, sizeof *p.best);
        p.blocks = arena_array(p.arena, (size_t)spans + 1, sizeof *p.blocks);
        p.fresh = arena_array(p.arena, (size_t)spans + 1, sizeof *p.fresh);
        return p;
}

static void finish(struct placing *p)
{
        free(p->taken);
        arena_free(p->arena);
}

int64_t place_items(struct item *items, int count, int64_t bound, enum place_effort effort,
                    bool *proved)
{
        /* QUICKLY: the quick effort has this fraction of the steps. */
        enum { STEPS_MAX = 20000000, STEPS_EACH = 100000, QUICKLY = 64 };
        int64_t spans = 0;
        for (int i = 0; i < count; i++)
                spans += items[i].span_count;
        struct placing p = start(items, count, spans);
        for (int i = 0; i < count; i++)
                p.list[i] = &items[i];
        try_orders(&p, bound);
        p.steps = count < STEPS_MAX / STEPS_EACH ? (int64_t)count * STEPS_EACH : STEPS_MAX;
        if (effort == PLACE_QUICKLY)
                p.steps /= QUICKLY;
        *proved = !count || p.size <= bound ||
                  (effort == PLACE_WELL && place_search(items, count, bound, &p.size, p.best));
        if (!*proved && count <= LONG_PROGRAM) {
                improve(&p, bound);
                *proved = p.size <= bound;
        }
        for (int i = 0; i < count; i++)
                items[i].offset = p.best[i];
        finish(&p);
        return count ? p.size : 0;
}

int64_t place_within(struct item *const *items, int count, int64_t limit, enum place_side side)
{
        int64_t spans = 0, size = 0;
        for (int i = 0; i < count; i++)
                spans += items[i]->span_count;
        struct placing p = start(NULL, 0, spans);
        p.align = STORAGE_ALIGN;
        for (int i = 0; i < count; i++) {
                struct item *item = items[i];
                const bool top = side == PLACE_BOTH_ENDS && i % 2;
                item->offset = item->bytes > limit ? -1
                               : top               ? find_highest(&p, item, limit)
                                                   : find_offset(&p, item, false);
                if (item->offset > limit - item->bytes)
                        item->offset = -1;
                if (item->offset < 0)
                        continue;
                add_blocks(&p, item);
                if (item->offset + item->bytes > size)
                        size = item->offset + item->bytes;
        }
        finish(&p);
        return size;
}
