/* SPDX-License-Identifier: MIT */
/* Branch and bound over placings, for each stretch of time that shares nothing with the others.
 *
 * In some best placing nothing can be pushed down; sorted by offset, each item then lies on what is
 * below it. So the search puts one item after the other, offsets never falling, each on the skyline
 * of those before:
 *
 *       |   +---+               sections: stretches of time in which the same items are in
 *       |   | d | next          use; floor[] of a section is where its skyline is. What is
 *       |   +---+---+           still to come in a section lies above its floor and above
 *       |   |  c    |---+       the offset reached: a bound that cuts off most branches.
 *       |   +-----+-+   |       An item that could lie wholly below the next one's offset
 *       +---------------- time  would have come before it.
 *
 * An item of several spans is put on the skyline in each of its sections; gaps that open behind a
 * span that ends are not filled, so where there are such items the search proves nothing. */
#include "passes/memory/place_search.h"

#include <stdlib.h>
#include <string.h>

enum { ITEMS_MAX = 256, STEPS_MAX = 30000000 };

struct part { int section; int64_t start, end; };         /* A part is what an item takes in a
                                                           * section. */
struct piece {                          /* A piece is an item of the stretch. */
        int item;
        struct part *parts;
        int part_count;
        bool placed;
};

struct search {
        const struct item *items;
        struct piece pieces[ITEMS_MAX];
        int count, sections;
        int64_t *floor, *left;          /* Each section has its skyline, and the bytes still to
                                         * come. */
        int64_t offsets[ITEMS_MAX], found[ITEMS_MAX];
        int64_t bound, best;            /* The search stops at `bound`, and looks for less than
                                         * `best`. */
        int64_t steps;                  /* This many steps are left. */
        bool any;                       /* A placing has been found. */
};

static int64_t lowest(struct search *s, const struct piece *p, int64_t from)
{
        for (int i = 0; i < p->part_count; i++) {
                int64_t offset = s->floor[p->parts[i].section] - p->parts[i].start;
                from = offset > from ? offset : from;
        }
        s->steps -= p->part_count;
        return from;
}

static bool is_hopeless(struct search *s, int64_t from)
{
        s->steps -= s->sections / 8;
        for (int i = 0; i < s->sections; i++)
                if (s->left[i] && (s->floor[i] > from ? s->floor[i] : from) + s->left[i] >= s->best)
                        return true;
        return false;
}

static void put(struct search *s, struct piece *p, int64_t offset, int64_t *saved)
{
        for (int i = 0; i < p->part_count; i++) {
                const struct part *part = &p->parts[i];
                saved[i] = s->floor[part->section];
                s->floor[part->section] = offset + part->end;
                s->left[part->section] -= part->end - part->start;
        }
        p->placed = true;
}

static void take_back(struct search *s, struct piece *p, const int64_t *saved)
{
        for (int i = 0; i < p->part_count; i++) {
                s->floor[p->parts[i].section] = saved[i];
                s->left[p->parts[i].section] += p->parts[i].end - p->parts[i].start;
        }
        p->placed = false;
}

struct choice { int64_t offset; double weight; int piece; };

static int by_offset(const void *x, const void *y)
{
        const struct choice *a = x, *b = y;
        if (a->offset != b->offset)
                return a->offset < b->offset ? -1 : 1;
        return a->weight < b->weight ? 1 : a->weight > b->weight ? -1 : a->piece - b->piece;
}

/* Finds the pieces that may come next, at offsets from `from` on. */
static int find_choices(struct search *s, int64_t from, struct choice *choices)
{
        int64_t least = INT64_MAX;      /* A piece that may come next ends here at the lowest. */
        int count = 0, kept = 0;
        for (int i = 0; i < s->count; i++) {
                const struct piece *p = &s->pieces[i];
                if (p->placed)
                        continue;
                const struct item *item = &s->items[p->item];
                int64_t offset = lowest(s, p, from);
                least = offset + item->bytes < least ? offset + item->bytes : least;
                choices[count++] =
                        (struct choice){ offset,
                                         (double)item->bytes * (item->last - item->first + 1), i };
        }
        for (int i = 0; i < count; i++)
                if (choices[i].offset < least &&
                    choices[i].offset + s->items[s->pieces[choices[i].piece].item].bytes < s->best)
                        choices[kept++] = choices[i];
        qsort(choices, (size_t)kept, sizeof *choices, by_offset);
        return kept;
}

/* Places the `left` pieces that remain, where `top` is reached. Recursion is bounded by
 * ITEMS_MAX. */
static void descend(struct search *s, int left, int64_t from, int64_t top)
{
        if (!left) {
                s->best = top;
                s->any = true;
                memcpy(s->found, s->offsets, (size_t)s->count * sizeof *s->found);
                return;
        }
        if (is_hopeless(s, from))
                return;
        struct choice *choices = memory_alloc((size_t)left * sizeof *choices);
        int count = find_choices(s, from, choices);
        for (int i = 0; i < count && s->steps > 0 && s->best > s->bound; i++) {
                struct piece *p = &s->pieces[choices[i].piece];
                int64_t offset = choices[i].offset, end = offset + s->items[p->item].bytes;
                if (end >= s->best)
                        continue;
                int64_t *saved = memory_alloc((size_t)p->part_count * sizeof *saved);
                put(s, p, offset, saved);
                s->offsets[choices[i].piece] = offset;
                descend(s, left - 1, offset, end > top ? end : top);
                take_back(s, p, saved);
                free(saved);
        }
        free(choices);
}

/* ---- stretches ---- */

static int by_number(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

/* Finds the sections: they begin where a span begins, or behind one that ends. */
static int find_sections(const struct search *s, int *begins)
{
        int count = 0, distinct = 0;
        for (int i = 0; i < s->count; i++) {
                const struct item *item = &s->items[s->pieces[i].item];
                for (int k = 0; k < item->span_count; k++) {
                        begins[count++] = item->spans[k].first;
                        begins[count++] = item->spans[k].last + 1;
                }
        }
        qsort(begins, (size_t)count, sizeof *begins, by_number);
        for (int i = 0; i < count; i++)
                if (!i || begins[i] != begins[i - 1])
                        begins[distinct++] = begins[i];
        return distinct;
}

static int find_section(const int *begins, int count, int time)
{
        int low = 0, high = count;
        while (low < high) {
                int middle = (low + high) / 2;
                *(begins[middle] < time ? &low : &high) =
                        begins[middle] < time ? middle + 1 : middle;
        }
        return low;
}

static int by_lowest_start(const void *x, const void *y)
{
        const struct span *a = x, *b = y;
        return a->start < b->start ? -1 : a->start > b->start;
}

static int by_highest_end(const void *x, const void *y)
{
        const struct span *a = x, *b = y;
        return a->end > b->end ? -1 : a->end < b->end;
}

/* Finds in each section the lowest start or, with `tops`, the highest end of the spans there. In
 * the order of these, each span takes the sections that no other has taken. */
static void find_edges(const struct search *s, struct span *spans, int count, const int *begins,
                       bool tops, struct part *edges, int *next)
{
        qsort(spans, (size_t)count, sizeof *spans, tops ? by_highest_end : by_lowest_start);
        for (int k = 0; k <= s->sections; k++)
                next[k] = k;
        for (int i = 0; i < count; i++) {
                int end = find_section(begins, s->sections, spans[i].last + 1);
                int k = skip_done(next, find_section(begins, s->sections, spans[i].first));
                for (; k < end; k = skip_done(next, k)) {
                        *(tops ? &edges[k].end : &edges[k].start) =
                                tops ? spans[i].end : spans[i].start;
                        next[k] = k + 1;
                }
        }
}

static void find_parts(struct search *s, struct arena *arena, const int *begins)
{
        int *next = arena_array(arena, (size_t)s->sections + 1, sizeof *next);
        for (int i = 0; i < s->count; i++) {
                struct piece *p = &s->pieces[i];
                const struct item *item = &s->items[p->item];
                struct span *spans =
                        arena_copy(arena, item->spans, (size_t)item->span_count * sizeof *spans);
                p->parts = arena_array(arena, (size_t)s->sections, sizeof *p->parts);
                for (int tops = 0; tops < 2; tops++)
                        find_edges(s, spans, item->span_count, begins, tops, p->parts, next);
                for (int k = 0; k < s->sections; k++) {
                        if (!p->parts[k].end)
                                continue;
                        s->left[k] += p->parts[k].end - p->parts[k].start;
                        p->parts[p->part_count++] =
                                (struct part){ k, p->parts[k].start, p->parts[k].end };
                }
        }
}

/* Looks for better offsets for the items of one stretch, where it takes *size or more. Returns
 * false if it is unknown whether less than s->best is possible. */
static bool search_stretch(struct search *s, struct arena *arena)
{
        int spans = 0;
        bool plain = true;
        for (int i = 0; i < s->count; i++) {
                const struct item *item = &s->items[s->pieces[i].item];
                spans += item->span_count;
                plain = plain && item->span_count == 1;
        }
        int *begins = arena_array(arena, 2 * (size_t)spans, sizeof *begins);
        s->sections = find_sections(s, begins);
        s->floor = arena_array(arena, (size_t)s->sections, sizeof *s->floor);
        s->left = arena_array(arena, (size_t)s->sections, sizeof *s->left);
        find_parts(s, arena, begins);
        s->steps = STEPS_MAX;
        descend(s, s->count, 0, 0);
        return s->best <= s->bound || (plain && s->steps > 0);
}

static int by_first(const void *x, const void *y)
{
        const struct item *a = *(const struct item *const *)x, *b = *(const struct item *const *)y;
        return a->first != b->first ? a->first - b->first : a->number - b->number;
}

bool place_search(const struct item *items, int count, int64_t bound, int64_t *size,
                  int64_t *offsets)
{
        struct arena *arena = arena_new();
        const struct item **list = arena_array(arena, (size_t)count, sizeof *list);
        struct search *s = ARENA_NEW(arena, struct search);
        for (int i = 0; i < count; i++)
                list[i] = &items[i];
        qsort(list, (size_t)count, sizeof *list, by_first);
        int64_t reached = 0, least = bound;     /* reached: the bytes that the stretches so far
                                                 * take; least: the bytes that no placing is
                                                 * below. */
        for (int from = 0, to = 0; from < count; from = to) {
                int last = list[from]->last;
                int64_t top = 0;
                for (to = from; to < count && (to == from || list[to]->first <= last); to++) {
                        last = list[to]->last > last ? list[to]->last : last;
                        int64_t end = offsets[list[to] - items] + list[to]->bytes;
                        top = end > top ? end : top;
                }
                if (top > least && to - from <= ITEMS_MAX) {
                        *s = (struct search){
                                .items = items, .count = to - from, .bound = least, .best = top
                        };
                        for (int i = 0; i < s->count; i++)
                                s->pieces[i].item = (int)(list[from + i] - items);
                        bool sure = search_stretch(s, arena);
                        for (int i = 0; i < s->count && s->any; i++)
                                offsets[s->pieces[i].item] = s->found[i];
                        top = s->best;
                        /* The other stretches need not be better than this one. */
                        least = sure && top > least ? top : least;
                }
                reached = top > reached ? top : reached;
        }
        *size = reached;
        arena_free(arena);
        return reached <= least;
}
