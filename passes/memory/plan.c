/* SPDX-License-Identifier: MIT */
/* plan: every workspace buffer gets a region and an offset.
 *
 *   buffer @a : f32[64] workspace                     buffer @a : f32[64] workspace offset 0
 *   buffer @b : f32[64] workspace                     buffer @b : f32[64] workspace offset 256
 *   buffer @c : f32[64] workspace              ->     buffer @c : f32[64] workspace offset 0
 *   main { call @k1(@x, @a)  call @k2(@a, @b)         ...
 *          call @k3(@b, @c)  call @k4(@c, @y) }
 *
 * lifetimes.c finds which bytes are in use when, and where a result may lie on an operand; place.c
 * does the placing. Sharing makes rectangles longer, and may in the end take more than it saves:
 * where the plan is not proved to be the least, one without sharing is tried, too.
 *
 * Regions beside the workspace (--region, in order of preference) take what fits: storages with the
 * most bytes touched for each byte they occupy first, so that a small fast memory holds what is
 * used most. All else goes to the workspace.
 *
 * Inputs of texts, which run copies before anything else, lie behind all of these.
 *
 * The sum of bytes in use at the worst moment, live_peak, bounds every plan from below. */
#include "passes/memory/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "passes/pass.h"

struct plan {
        struct arena *arena;
        struct loop_program *p;
        struct remarks *remarks;        /* The remarks may be NULL. */
        struct lifetimes lifetimes;
        struct item *items;             /* These storages have a place of their own. */
        int count, peak;
        int64_t live_peak, size;        /* At most live_peak bytes are in use at once, and the
                                         * workspace takes `size`. */
        int *region;                    /* Each storage has its region here. */
        bool proved;
};

/* ---- regions ---- */

/* Orders storages with more bytes touched for each byte first; then the smaller one. */
static int by_density(const void *x, const void *y)
{
        const struct storage *a = *(struct storage *const *)x, *b = *(struct storage *const *)y;
        double p = a->traffic / (double)a->bytes, q = b->traffic / (double)b->bytes;
        if (p < q || p > q)
                return p < q ? 1 : -1;
        return a->bytes != b->bytes ? (a->bytes < b->bytes ? -1 : 1)
                                    : a->buffer->number - b->buffer->number;
}

static struct item new_item(const struct storage *s)
{
        return (struct item){ .spans = s->spans,
                              .span_count = s->span_count,
                              .number = s->buffer->number,
                              .bytes = s->bytes,
                              .first = s->first,
                              .last = s->last,
                              .offset = -1 };
}

static void fill_regions(struct plan *plan, struct item *items)
{
        const struct lifetimes *l = &plan->lifetimes;
        struct storage **list = arena_array(plan->arena, (size_t)l->count + 1, sizeof *list);
        struct item **wanted = arena_array(plan->arena, (size_t)l->count + 1, sizeof *wanted);
        int count = 0;
        for (int i = 0; i < l->count; i++)
                if (l->storages[i].span_count)
                        list[count++] = &l->storages[i];
        qsort(list, (size_t)count, sizeof *list, by_density);
        for (int r = 0; r < plan->p->region_count; r++) {
                struct loop_region *region = &plan->p->regions[r];
                int left = 0;
                for (int i = 0; i < count; i++)
                        if (!plan->region[list[i]->buffer->number])
                                wanted[left++] = &items[list[i]->buffer->number];
                const int64_t size = place_within(wanted, left, region->limit, PLACE_LOW);
                if (size > region->size)        /* An entry before may take more. */
                        region->size = size;
                for (int i = 0; i < left; i++)
                        if (wanted[i]->offset >= 0)
                                plan->region[wanted[i]->number] = r + 1;
        }
}

/* ---- all ---- */

static void make_plan(struct plan *plan, bool shares, enum place_effort effort)
{
        plan->lifetimes = lifetimes_find(plan->arena, plan->p);
        struct lifetimes *l = &plan->lifetimes;
        if (shares || plan->remarks)
                lifetimes_share_saying(l, plan->p, shares, plan->remarks);
        int64_t *live = lifetimes_live(l, &plan->peak), bound = plan->live_peak = live[plan->peak];
        plan->items = arena_array(plan->arena, (size_t)l->count + 1, sizeof *plan->items);
        plan->region = arena_array(plan->arena, (size_t)l->count + 1, sizeof *plan->region);
        for (int i = 0; i < l->count; i++)
                plan->items[i] = new_item(&l->storages[i]);
        struct item *rest = arena_array(plan->arena, (size_t)l->count + 1, sizeof *rest);
        if (plan->p->region_count) {
                fill_regions(plan, plan->items);
                bound = 0;              /* Nothing is known of the storages that are left. */
        }
        int count = 0;
        for (int i = 0; i < l->count; i++)
                if (l->storages[i].span_count && !plan->region[i])
                        rest[count++] = plan->items[i];
        plan->size = place_items(rest, count, bound, effort, &plan->proved);
        for (int i = 0; i < count; i++)
                plan->items[rest[i].number] = rest[i];
}

static struct plan best_plan(struct arena *arena, struct loop_program *p, bool shares,
                             enum place_effort effort, struct remarks *remarks)
{
        struct plan plan = { .arena = arena, .p = p, .remarks = remarks };
        make_plan(&plan, shares, effort);
        if (!shares || plan.proved || p->region_count)
                return plan;
        struct plan apart = { .arena = arena, .p = p };
        make_plan(&apart, false, effort);
        if (apart.size < plan.size && remarks)
                remarks_change(remarks, REMARK_plan_in_place, REMARK_plan_smaller);
        return apart.size < plan.size ? apart : plan;
}

int64_t plan_size(struct loop_program *p, bool shares, enum place_effort effort, bool *proved)
{
        struct arena *arena = arena_new();
        struct plan plan = best_plan(arena, p, shares, effort, NULL);
        *proved = plan.proved;
        arena_free(arena);
        return plan.size;
}

static bool check_size(int64_t bytes, struct pass_context *context)
{
        if (bytes <= context->limits.total_bytes && bytes < INT64_MAX)
                return true;
        diag_error(context->diag, EXIT_INVALID,
                   "the workspace takes more than %lld bytes: " DIAG_HINT(
                           "raise with --limit total_bytes=N"),
                   (long long)context->limits.total_bytes);
        return false;
}

/* Checks that the sum of all bytes is a number. */
static bool check_sizes(const struct loop_program *p, struct pass_context *context)
{
        int64_t total = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                int64_t bytes;
                if (!loop_is_placed(b))
                        continue;
                if (!int_mul(b->extent, element_info[b->element].bytes, &bytes) ||
                    !int_add(bytes, STORAGE_ALIGN - 1, &bytes) || !int_add(total, bytes, &total))
                        return check_size(INT64_MAX, context);
        }
        return true;
}

/* Gives each input of texts a place from `size` on, and returns where the last one ends. */
static int64_t place_texts(struct loop_program *p, int64_t size)
{
        for (struct loop_buffer *b = p->buffers; b; b = b->next)
                if (loop_is_placed(b) && b->space == SPACE_INPUT && b->entry == p->at) {
                        b->offset = (size + STORAGE_ALIGN - 1) / STORAGE_ALIGN * STORAGE_ALIGN;
                        size = b->offset + b->extent;
                }
        return size;
}

/* Plans the entry that p->at says. Returns how many buffers it has, or -1. */
static int plan_entry(struct loop_program *p, struct pass_context *context)
{
        struct arena *arena = arena_new();
        /* Views are off at -O0. */
        struct plan plan = best_plan(arena, p, context->lower.views, PLACE_WELL, context->remarks);
        plan.size = place_texts(p, plan.size);
        if (!check_size(plan.size, context)) {
                arena_free(arena);
                return -1;
        }
        loop_entry_at(p)->workspace_size = plan.size;
        loop_entry_at(p)->live_peak = plan.live_peak;
        for (int i = 0; i < plan.lifetimes.count; i++) {
                struct storage *s = &plan.lifetimes.storages[i], *root = s;
                int64_t offset = 0;
                for (; root->into; root = root->into)
                        offset += root->at;
                s->buffer->region = plan.region[root->buffer->number];
                s->buffer->offset =
                        root->span_count ? offset + plan.items[root->buffer->number].offset : 0;
        }
        int count = plan.lifetimes.count;
        arena_free(arena);
        return count;
}

int pass_plan(struct loop_program *p, struct pass_context *context)
{
        int count = 0;
        if (!check_sizes(p, context))
                return -1;
        if (context->region_count) {
                p->regions = arena_copy(p->arena, context->regions,
                                        (size_t)context->region_count * sizeof *p->regions);
                p->region_count = context->region_count;
        }
        if (context->remarks)
                remarks_begin(context->remarks, "plan");
        for (p->at = 0; p->at < p->entry_count && count >= 0; p->at++) {
                int planned = plan_entry(p, context);
                count = planned < 0 ? -1 : count + planned;
        }
        p->at = 0;
        p->workspace_align = target_workspace_align(context->target);
        if (context->threads > 1 && p->workspace_align < CACHE_LINE)
                p->workspace_align = CACHE_LINE;          /* Threads share no line. */
        p->planned = count >= 0;
        return count;
}
