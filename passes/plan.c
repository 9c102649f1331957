/* plan: every workspace buffer gets an offset.
 *
 * main is walked in order; a buffer lives from the first statement that mentions it (or a view of it) to the last. One that
 * a loop mentions lives through the whole loop, unless every iteration writes all of it before it reads any. Where a kernel
 * may overwrite an operand (equal positive alias classes) that dies there, result and operand become one storage.
 *
 *      offset                              storages are placed one by one where they fit below everything that is alive at
 *        |   +---------+                   the same time (a strip packing of rectangles, time by bytes):
 *        |   |    c    |---+               largest first, longest first and by first use, lowest gap and best gap;
 *        |   +-----+---+ d |               the smallest of these plans wins.
 *        |   |  a  | b |---+
 *        +------------------- time
 *
 * The sum of live bytes at the worst moment, live_peak, bounds every plan from below. */
#include "passes/pass.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

enum { BUFFER_ALIGN = 16 };

struct storage {
        struct loop_buffer *buffer;     /* root */
        int64_t bytes;                  /* rounded up to BUFFER_ALIGN */
        int first, last;                /* statement numbers */
        int block;                      /* the one in which its first mention writes all of it, and all others lie; or -1 */
        struct storage *merged;         /* lives in another one's memory */
        int64_t offset, best_offset;
};

struct planner {
        struct arena *arena;
        struct storage *storages;
        int count;
        int time;
        int open[BLOCK_DEPTH_MAX + 2], depth, blocks;     /* numbers of the open blocks, innermost last */
};

static struct storage *representative(struct storage *s)
{
        while (s->merged)
                s = s->merged;
        return s;
}

static struct storage *storage_of(struct planner *plan, struct loop_buffer *buffer)
{
        struct loop_buffer *root = loop_buffer_root(buffer, NULL);
        return root->space == SPACE_WORKSPACE ? &plan->storages[root->number] : NULL;
}

static bool is_open(const struct planner *plan, int block)
{
        for (int d = 0; d < plan->depth; d++)
                if (plan->open[d] == block)
                        return true;
        return false;
}

/* whole: written from the first element to the last */
static void mention(struct planner *plan, struct loop_buffer *buffer, int now, bool whole)
{
        struct storage *s = buffer ? storage_of(plan, buffer) : NULL;
        if (!s)
                return;
        if (s->first < 0) {
                s->first = now;
                s->block = whole ? plan->open[plan->depth - 1] : -1;
        } else if (s->block >= 0 && !is_open(plan, s->block)) {
                s->block = -1;
        }
        s->last = now;
}

/* ---- lifetimes ---- */

struct walk { struct planner *plan; int now; };

static void visit_load(struct loop_expr *e, void *context)
{
        struct walk *w = context;
        if (e->op == LOOP_LOAD)
                mention(w->plan, e->buffer, w->now, false);
}

static void mention_arguments(struct planner *plan, const struct loop_stmt *call, int now)
{
        for (int written = 0; written < 2; written++)     /* operands are read before results are written */
                for (int i = 0; i < call->function->buffer_count; i++) {
                        const struct loop_buffer *parameter = call->function->buffers[i];
                        struct loop_buffer *argument = call->buffers[i];
                        bool moves = call->offsets && call->offsets[i];
                        if ((parameter->access == ACCESS_OUT) == written)
                                mention(plan, argument, now, written && !moves && argument->space == SPACE_WORKSPACE &&
                                                                     argument->extent == parameter->extent);
                }
}

/* Statements [from, time) are a loop. What it found written, or leaves for its next iteration, lives through all of it. */
static void close_loop(struct planner *plan, int from)
{
        for (int i = 0; i < plan->count; i++) {
                struct storage *s = &plan->storages[i];
                if (s->last < from || (s->first >= from && s->block >= 0))
                        continue;
                if (s->first > from)
                        s->first = from;
                s->last = plan->time - 1;
        }
}

static void walk_block(struct planner *plan, struct loop_block *block)
{
        plan->open[plan->depth++] = plan->blocks++;
        for (struct loop_stmt *s = block ? block->first : NULL; s; s = s->next) {
                int now = plan->time++;
                struct walk w = { plan, now };
                struct loop_expr *exprs[] = { s->a, s->b, s->c };
                for (int i = 0; i < 3; i++)
                        if (exprs[i])
                                loop_expr_walk(exprs[i], visit_load, &w);
                mention(plan, s->buffer, now, false);
                if (s->kind == STMT_CALL)
                        mention_arguments(plan, s, now);
                walk_block(plan, s->body);
                walk_block(plan, s->other);
                if (s->kind == STMT_FOR || s->kind == STMT_WHILE)
                        close_loop(plan, now);
        }
        plan->depth--;
}

/* ---- in place ---- */

/* no other argument of the call lies in this storage: another view of it might be read elsewhere than where it is written */
static bool only_reader(struct planner *plan, const struct loop_stmt *call, int argument, const struct storage *storage)
{
        for (int i = 0; i < call->function->buffer_count; i++) {
                struct storage *s = i == argument ? NULL : storage_of(plan, call->buffers[i]);
                if (s && representative(s) == storage)
                        return false;
        }
        return true;
}

static void merge_in_place(struct planner *plan, const struct loop_block *block, int *time)
{
        for (const struct loop_stmt *s = block ? block->first : NULL; s; s = s->next) {
                int now = (*time)++;
                for (int out = 0; s->kind == STMT_CALL && out < s->function->buffer_count; out++) {
                        const struct loop_buffer *result = s->function->buffers[out];
                        struct storage *to = storage_of(plan, s->buffers[out]);
                        if (!(result->access & ACCESS_OUT) || result->alias_class <= 0 || !to || to->merged ||
                            to->first != now || s->buffers[out]->space != SPACE_WORKSPACE)
                                continue;
                        for (int in = 0; in < s->function->buffer_count; in++) {
                                const struct loop_buffer *operand = s->function->buffers[in];
                                if (operand->access != ACCESS_IN || operand->alias_class != result->alias_class ||
                                    s->buffers[in]->space != SPACE_WORKSPACE)
                                        continue;
                                struct storage *from = representative(storage_of(plan, s->buffers[in]));
                                if (from->last != now || from == to || from->bytes != to->bytes ||
                                    !only_reader(plan, s, in, from))
                                        continue;
                                to->merged = from;
                                from->last = to->last;
                                break;
                        }
                }
                merge_in_place(plan, s->body, time);
                merge_in_place(plan, s->other, time);
        }
}

/* ---- placing ---- */

static int by_size(const void *x, const void *y)
{
        const struct storage *a = *(struct storage *const *)x, *b = *(struct storage *const *)y;
        if (a->bytes != b->bytes)
                return a->bytes < b->bytes ? 1 : -1;
        return a->first != b->first ? (a->first < b->first ? -1 : 1) : a->buffer->number - b->buffer->number;
}

static int by_length(const void *x, const void *y)
{
        const struct storage *a = *(struct storage *const *)x, *b = *(struct storage *const *)y;
        int p = a->last - a->first, q = b->last - b->first;
        return p != q ? (p < q ? 1 : -1) : by_size(x, y);
}

static int by_first_use(const void *x, const void *y)
{
        const struct storage *a = *(struct storage *const *)x, *b = *(struct storage *const *)y;
        return a->first != b->first ? (a->first < b->first ? -1 : 1) : by_size(x, y);
}

/* Puts list[at] below or between those of placed[], sorted by offset, that are alive with it; keeps placed sorted. */
static int64_t place(struct storage *s, struct storage **placed, int count, bool best_gap)
{
        int64_t end = 0, found = -1, found_gap = INT64_MAX;
        for (int i = 0; i < count; i++) {
                const struct storage *o = placed[i];
                if (o->last < s->first || s->last < o->first)
                        continue;
                int64_t gap = o->offset - end;
                if (gap >= s->bytes && gap < found_gap) {
                        found = end;
                        found_gap = gap;
                        if (!best_gap)
                                break;
                }
                if (o->offset + o->bytes > end)
                        end = o->offset + o->bytes;
        }
        s->offset = found >= 0 ? found : end;
        int i = count;
        for (; i > 0 && placed[i - 1]->offset > s->offset; i--)
                placed[i] = placed[i - 1];
        placed[i] = s;
        return s->offset + s->bytes;
}

/* A long program: storages come by first use, and those that ended before are forgotten, so that only the living are
 * looked at. */
static int64_t place_all(struct storage **list, int count, struct storage **placed, bool best_gap, bool by_time)
{
        int64_t size = 0;
        int kept = 0;
        for (int i = 0; i < count; i++) {
                if (by_time) {
                        int alive = 0;
                        for (int j = 0; j < kept; j++)
                                if (placed[j]->last >= list[i]->first)
                                        placed[alive++] = placed[j];
                        kept = alive;
                }
                int64_t top = place(list[i], placed, kept++, best_gap);
                if (top > size)
                        size = top;
        }
        return size;
}

static int64_t live_peak(struct planner *plan, int statements)
{
        int64_t *change = arena_array(plan->arena, (size_t)statements + 2, sizeof *change), live = 0, peak = 0;
        for (int i = 0; i < plan->count; i++) {
                const struct storage *s = &plan->storages[i];
                if (s->merged || s->first < 0)
                        continue;
                change[s->first] += s->bytes;
                change[s->last + 1] -= s->bytes;
        }
        for (int t = 0; t < statements + 1; t++) {
                live += change[t];
                if (live > peak)
                        peak = live;
        }
        return peak;
}

static int64_t place_best(struct planner *plan)
{
        static const struct { int (*order)(const void *, const void *); bool best_gap, by_time; } tries[] = {
                { by_first_use, true, true }, { by_first_use, false, true }, { by_size, false, false },
                { by_size, true, false }, { by_length, false, false }, { by_length, true, false },
        };
        enum { LONG_PROGRAM = 4000 };
        struct storage **list = arena_array(plan->arena, (size_t)plan->count, sizeof *list);
        struct storage **placed = arena_array(plan->arena, (size_t)plan->count + 1, sizeof *placed);
        int count = 0;
        for (int i = 0; i < plan->count; i++)
                if (!plan->storages[i].merged && plan->storages[i].first >= 0)
                        list[count++] = &plan->storages[i];
        int64_t best = -1;
        for (size_t t = 0; t < sizeof tries / sizeof *tries; t++) {
                if (count > LONG_PROGRAM && !tries[t].by_time)
                        continue;
                qsort(list, (size_t)count, sizeof *list, tries[t].order);
                int64_t size = place_all(list, count, placed, tries[t].best_gap, tries[t].by_time);
                if (best >= 0 && size >= best)
                        continue;
                best = size;
                for (int i = 0; i < count; i++)
                        list[i]->best_offset = list[i]->offset;
        }
        return best < 0 ? 0 : best;
}

int pass_plan(struct loop_program *p, struct pass_context *context)
{
        struct planner plan = { .arena = arena_new() };
        for (struct loop_buffer *b = p->buffers; b; b = b->next)
                if (b->space == SPACE_WORKSPACE)
                        b->number = plan.count++;
        plan.storages = arena_array(plan.arena, (size_t)plan.count, sizeof *plan.storages);
        int64_t total = 0;
        for (struct loop_buffer *b = p->buffers; b; b = b->next) {
                if (b->space != SPACE_WORKSPACE)
                        continue;
                int64_t bytes;
                if (!int_mul(b->extent, element_info[b->element].bytes, &bytes) || !int_add(bytes, BUFFER_ALIGN - 1, &bytes) ||
                    !int_add(total, bytes, &total) || total > context->limits.total_bytes) {
                        diag_error(context->diag, EXIT_INVALID,
                                   "the intermediate tensors take more than %lld bytes: raise with --limit total_bytes=N",
                                   (long long)context->limits.total_bytes);
                        arena_free(plan.arena);
                        return -1;
                }
                plan.storages[b->number] = (struct storage){ .buffer = b, .bytes = bytes / BUFFER_ALIGN * BUFFER_ALIGN,
                                                             .first = -1, .last = -1, .block = -1 };
        }
        walk_block(&plan, p->main->body);
        int statements = plan.time, time = 0;
        if (context->lower.views)       /* off at -O0 */
                merge_in_place(&plan, p->main->body, &time);
        p->live_peak = live_peak(&plan, statements);
        p->workspace_size = place_best(&plan);
        p->workspace_align = target_workspace_align(context->target);
        for (int i = 0; i < plan.count; i++) {
                struct storage *s = &plan.storages[i];
                s->buffer->offset = s->first < 0 ? 0 : representative(s)->best_offset;
        }
        p->planned = true;
        arena_free(plan.arena);
        return plan.count;
}
