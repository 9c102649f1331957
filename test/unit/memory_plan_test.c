/* SPDX-License-Identifier: MIT */
/* Placing and ordering against brute force, on random small cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "passes/memory/arrange_search.h"
#include "passes/memory/place.h"
#include "passes/remark.h"

static uint64_t state = 88172645463325252u;
static int draw(int count)
{
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return (int)(state % (uint64_t)count);
}

/* ---- placing ---- */

enum { ITEMS = 6, TIMES = 7 };

static bool meet(const struct item *a, const struct item *b)
{
        for (int i = 0; i < a->span_count; i++)
                for (int k = 0; k < b->span_count; k++) {
                        const struct span *s = &a->spans[i], *t = &b->spans[k];
                        if (s->first <= t->last && t->first <= s->last && a->offset + s->start < b->offset + t->end &&
                            b->offset + t->start < a->offset + s->end)
                                return true;
                }
        return false;
}

static int64_t check_places(const struct item *items, int count)
{
        int64_t size = 0;
        for (int i = 0; i < count; i++) {
                assert_true(items[i].offset >= 0 && items[i].offset % STORAGE_ALIGN == 0);
                for (int k = 0; k < i; k++)
                        assert_false(meet(&items[i], &items[k]));
                if (items[i].offset + items[i].bytes > size)
                        size = items[i].offset + items[i].bytes;
        }
        return size;
}

/* Can items from k on be placed below `limit`? Every offset is tried. */
static bool fits(struct item *items, int count, int k, int64_t limit)
{
        if (k == count)
                return true;
        for (items[k].offset = 0; items[k].offset + items[k].bytes <= limit; items[k].offset += STORAGE_ALIGN) {
                bool free = true;
                for (int i = 0; i < k && free; i++)
                        free = !meet(&items[i], &items[k]);
                if (free && fits(items, count, k + 1, limit))
                        return true;
        }
        return false;
}

static int64_t live_peak(const struct item *items, int count)
{
        int64_t peak = 0;
        for (int t = 0; t < TIMES; t++) {
                int64_t sum = 0;
                for (int i = 0; i < count; i++)
                        for (int k = 0; k < items[i].span_count; k++)
                                if (items[i].spans[k].first <= t && t <= items[i].spans[k].last)
                                        sum += items[i].spans[k].end - items[i].spans[k].start;
                peak = sum > peak ? sum : peak;
        }
        return peak;
}

/* of one span, or of two that lie one above the other */
static void make_item(struct item *item, struct span *spans, int number, bool several)
{
        *item = (struct item){ .spans = spans, .span_count = several && !draw(3) ? 2 : 1, .number = number, .first = TIMES };
        for (int k = 0; k < item->span_count; k++) {
                spans[k].start = item->bytes;
                spans[k].end = item->bytes += (1 + draw(4)) * STORAGE_ALIGN;
                spans[k].first = draw(TIMES);
                spans[k].last = spans[k].first + draw(TIMES - spans[k].first);
                item->first = spans[k].first < item->first ? spans[k].first : item->first;
                item->last = spans[k].last > item->last ? spans[k].last : item->last;
        }
}

static void place_random(int rounds, bool several)
{
        for (int round = 0; round < rounds; round++) {
                struct item items[ITEMS], brute[ITEMS];
                struct span spans[ITEMS][2];
                int count = 1 + draw(ITEMS);
                for (int i = 0; i < count; i++)
                        make_item(&items[i], spans[i], i, several);
                memcpy(brute, items, sizeof brute);
                bool proved;
                int64_t bound = live_peak(items, count), size = place_items(items, count, bound, PLACE_WELL, &proved), best = bound;
                assert_int_equal(size, check_places(items, count));
                while (!fits(brute, count, 0, best))
                        best += STORAGE_ALIGN;
                assert_int_equal(size, best);
                assert_true(proved || several || size > bound);
                if (!several)
                        assert_true(proved);
        }
}

static void test_places(void **test) { (void)test; place_random(1000, false); }
static void test_parts(void **test) { (void)test; place_random(200, true); }

/* The smallest known case where the sum of what is in use cannot be reached: the search has to prove it. */
static void test_fragmented(void **test)
{
        (void)test;
        int found = 0;
        for (int round = 0; round < 100; round++) {
                struct item items[40];
                struct span spans[40][2];
                for (int i = 0; i < 40; i++) {
                        make_item(&items[i], spans[i], i, false);
                        spans[i][0].last = spans[i][0].first + draw(3);
                        spans[i][0].last = items[i].last = spans[i][0].last < TIMES ? spans[i][0].last : TIMES - 1;
                }
                bool proved;
                int64_t bound = live_peak(items, 40), size = place_items(items, 40, bound, PLACE_WELL, &proved);
                assert_int_equal(size, check_places(items, 40));
                assert_true(size <= bound + bound / 10);
                found += size == bound;
        }
        assert_true(found >= 95);
}

static void test_within(void **test)
{
        (void)test;
        for (int round = 0; round < 200; round++) {
                struct item items[ITEMS], *list[ITEMS], kept[ITEMS];
                struct span spans[ITEMS][2];
                int64_t limit = draw(12) * STORAGE_ALIGN;
                int count = 0;
                for (int i = 0; i < ITEMS; i++) {
                        make_item(&items[i], spans[i], i, true);
                        list[i] = &items[i];
                }
                int64_t size = place_within(list, ITEMS, limit, PLACE_LOW);
                for (int i = 0; i < ITEMS; i++)
                        if (items[i].offset >= 0)
                                kept[count++] = items[i];
                assert_int_equal(check_places(kept, count), size);
                assert_true(size <= limit);
        }
}

/* ---- orders ---- */

enum { STEPS = 8, PIECES = 2, VALUES = STEPS * PIECES };

struct graph {
        struct step_graph g;
        struct step steps[STEPS];
        struct resident residents[VALUES];
        int before[STEPS][STEPS], uses[VALUES][STEPS], touches[STEPS][VALUES];
        struct in_place in_places[STEPS][VALUES];
};

static void touch(struct graph *r, int step, int value)
{
        r->uses[value][r->residents[value].step_count++] = step;
        r->touches[step][r->steps[step].resident_count++] = value;
}

/* Each step but a few makes a value that later ones read, in one piece or in two that are read apart, as what is split is; it may lie on
 * any that it reads and that is as large. */
static void make_graph(struct graph *r, int count, int sparse)
{
        memset(r, 0, sizeof *r);
        r->g = (struct step_graph){ r->steps, count, r->residents, count * PIECES };
        for (int i = 0; i < count; i++) {
                r->steps[i] = (struct step){ .before = r->before[i], .residents = r->touches[i], .own = draw(4) ? 0 : draw(5),
                                             .in_places = r->in_places[i] };
                for (int k = 0; k < PIECES; k++)
                        r->residents[i * PIECES + k] = (struct resident){ k && draw(3) ? 0 : 1 + draw(5), r->uses[i * PIECES + k], 0 };
        }
        for (int i = 0; i < count; i++) {
                struct step *s = &r->steps[i];
                const struct resident *own = &r->residents[i * PIECES];
                for (int k = 0; k < PIECES; k++)
                        touch(r, i, i * PIECES + k);
                for (int k = 0; k < i; k++) {
                        if (draw(sparse))
                                continue;
                        r->before[i][s->before_count++] = k;
                        int pieces = 1 + draw(3);         /* the one, the other, or both */
                        for (int piece = 0; piece < PIECES; piece++)
                                if (pieces >> piece & 1) {
                                        int value = k * PIECES + piece;
                                        touch(r, i, value);
                                        if (r->residents[value].bytes == own->bytes && !own[1].bytes)
                                                s->in_places[s->in_place_count++] = (struct in_place){ value, own->bytes, 0 };
                                }
                }
        }
}

static int64_t least_peak(const struct graph *r, int *order, unsigned done, int at)
{
        if (at == r->g.count)
                return arrange_peak(&r->g, order);
        int64_t least = INT64_MAX;
        for (int i = 0; i < r->g.count; i++) {
                bool ready = !(done >> i & 1);
                for (int k = 0; k < r->steps[i].before_count && ready; k++)
                        ready = done >> r->before[i][k] & 1;
                if (!ready)
                        continue;
                order[at] = i;
                int64_t peak = least_peak(r, order, done | 1u << i, at + 1);
                least = peak < least ? peak : least;
        }
        return least;
}

static void test_orders(void **test)
{
        (void)test;
        for (int round = 0; round < 500; round++) {
                struct graph r;
                int order[STEPS], brute[STEPS], count = 2 + draw(STEPS - 1), place[STEPS];
                make_graph(&r, count, 2 + draw(4));
                for (int i = 0; i < count; i++)
                        order[i] = i;
                int64_t bound, found = arrange_search(&r.g, order, &bound, NULL);
                assert_int_equal(found, least_peak(&r, brute, 0, 0));
                assert_int_equal(bound, found);
                assert_int_equal(found, arrange_peak(&r.g, order));
                for (int i = 0; i < count; i++)
                        place[order[i]] = i;
                for (int i = 0; i < count; i++)
                        for (int k = 0; k < r.steps[i].before_count; k++)
                                assert_true(place[r.before[i][k]] < place[i]);
        }
}

/* where the plan without sharing is the smaller one, nothing lies on its operand; no small program is known where it is */
static void test_smaller(void **test)
{
        (void)test;
        struct remarks remarks = { .arena = arena_new() };
        remark_note(&remarks, (struct remark){ .reason = REMARK_plan_in_place, .made_by = "a", .read_by = "k" });
        remark_note(&remarks, (struct remark){ .reason = REMARK_plan_later, .made_by = "b", .read_by = "k" });
        remarks_change(&remarks, REMARK_plan_in_place, REMARK_plan_smaller);
        assert_int_equal(remarks.items[0].reason, REMARK_plan_smaller);
        assert_int_equal(remarks.items[1].reason, REMARK_plan_later);
        assert_string_equal(remarks.items[0].made, "");
        arena_free(remarks.arena);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_places), cmocka_unit_test(test_parts), cmocka_unit_test(test_fragmented),
                cmocka_unit_test(test_within), cmocka_unit_test(test_orders), cmocka_unit_test(test_smaller),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
