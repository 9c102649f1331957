/* SPDX-License-Identifier: MIT */
#include "passes/memory/lifetimes.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

static int64_t round_down(int64_t bytes) { return bytes / STORAGE_ALIGN * STORAGE_ALIGN; }

/* ---- touches ---- */

struct walk {
        struct arena *arena;
        void (*visit)(const struct touch *, void *);
        void *context;
        struct block_scope *scope;
        int time, now;
};

static struct touch touch_of(struct loop_buffer *b, bool read, bool written, int time)
{
        int64_t offset = 0, bytes = element_info[b->element].bytes;
        struct touch t = { .root = loop_buffer_root(b, &offset),
                           .read = read,
                           .written = written,
                           .time = time };
        t.start = offset * bytes;
        t.end = t.start + b->extent * bytes;
        return t;
}

struct touch touch_argument(const struct loop_stmt *call, int i, int time)
{
        const struct loop_buffer *parameter = call->function->buffers[i];
        struct touch t = touch_of(call->buffers[i], parameter->access & ACCESS_IN,
                                  parameter->access & ACCESS_OUT, time);
        t.fills = parameter->access == ACCESS_OUT && parameter->extent == call->buffers[i]->extent;
        if (call->offsets && call->offsets[i]) {          /* The call may touch any part of the
                                                           * buffer. */
                t.start = 0;
                t.end = t.root->extent * element_info[t.root->element].bytes;
                t.fills = false;
        }
        return t;
}

static void visit_touch(const struct walk *w, struct touch t)
{
        t.scope = w->scope;
        w->visit(&t, w->context);
}

static void visit_load(struct loop_expr *e, void *context)
{
        const struct walk *w = context;
        if (e->op == LOOP_LOAD)
                visit_touch(w, touch_of(e->buffer, true, false, w->now));
}

static void walk_call(struct walk *w, const struct loop_stmt *call)
{
        for (int i = 0; i < call->function->scalar_count; i++)
                loop_expr_walk(call->scalars[i], visit_load, w);
        for (int i = 0; call->offsets && i < call->function->buffer_count; i++)
                if (call->offsets[i])
                        loop_expr_walk(call->offsets[i], visit_load, w);
        for (int written = 0; written < 2; written++)
                for (int i = 0; i < call->function->buffer_count; i++)
                        if ((call->function->buffers[i]->access == ACCESS_OUT) == written)
                                visit_touch(w, touch_argument(call, i, w->now));
}

static void walk_block(struct walk *w, struct loop_block *block, bool loops)
{
        struct block_scope *scope = ARENA_NEW(w->arena, struct block_scope);
        *scope = (struct block_scope){ .parent = w->scope, .loops = loops, .from = w->now,
                                       .depth = w->scope ? w->scope->depth + 1 : 0 };
        w->scope = scope;
        for (struct loop_stmt *s = block ? block->first : NULL; s; s = s->next) {
                w->now = w->time++;
                struct loop_expr *exprs[] = { s->a, s->b, s->c };
                for (int i = 0; i < 3; i++)
                        if (exprs[i])
                                loop_expr_walk(exprs[i], visit_load, w);
                if (s->buffer)
                        visit_touch(w, touch_of(s->buffer, s->kind != STMT_STORE,
                                                s->kind == STMT_STORE, w->now));
                if (s->kind == STMT_CALL)
                        walk_call(w, s);
                int now = w->now;
                for (int i = 0; i < 2; i++) {
                        w->now = now;
                        walk_block(w, i ? s->other : s->body,
                                   s->kind == STMT_FOR || s->kind == STMT_WHILE);
                }
                if (s->kind == STMT_WHILE) {            /* The condition is read again behind the
                                                         * body. */
                        w->now = w->time - 1;
                        loop_expr_walk(s->a, visit_load, w);
                }
        }
        scope->to = w->time - 1;
        w->scope = scope->parent;
}

int touches_walk(struct arena *arena, const struct loop_program *p,
                 void (*visit)(const struct touch *t, void *context), void *context)
{
        struct walk w = { .arena = arena, .visit = visit, .context = context };
        walk_block(&w, loop_main(p)->body, false);
        return w.time;
}

int statements_count(const struct loop_block *block)
{
        int n = 0;
        for (const struct loop_stmt *s = block ? block->first : NULL; s; s = s->next)
                n += 1 + statements_count(s->body) + statements_count(s->other);
        return n;
}

/* ---- spans ---- */

static void note_touch(const struct touch *t, void *context)
{
        struct lifetimes *l = context;
        if (t->root->space != SPACE_WORKSPACE || t->end == t->start)
                return;
        struct storage *s = &l->storages[t->root->number];
        struct touch whole = *t;
        whole.start = round_down(t->start);
        whole.end = storage_bytes(t->end);
        whole.fills &= whole.start == t->start && (whole.end == t->end || whole.end == s->bytes);
        s->traffic += (double)(t->end - t->start);
        ARENA_GROW(l->arena, s->touches, s->touch_count);
        s->touches[s->touch_count++] = whole;
}

static struct block_scope *common_scope(struct block_scope *a, struct block_scope *b)
{
        while (a != b)
                *(a->depth > b->depth ? &a : &b) = a->depth > b->depth ? a->parent : b->parent;
        return a;
}

/* Finds the statements that count for a touch: those of the outermost loop around it inside `home`.
 * Returns false if there is no such loop; then the touch's own statement counts. */
static bool find_times(const struct touch *t, const struct block_scope *home, int *from, int *to)
{
        bool found = false;
        *from = *to = t->time;
        for (const struct block_scope *s = t->scope; s != home; s = s->parent)
                if (s->loops) {
                        *from = s->from;
                        *to = s->to;
                        found = true;
                }
        return found;
}

static int by_value(const void *x, const void *y)
{
        int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
        return a < b ? -1 : a > b;
}

static int find_bound(const int64_t *bounds, int count, int64_t bound)
{
        int low = 0, high = count;
        while (high - low > 1) {
                int middle = (low + high) / 2;
                *(bounds[middle] <= bound ? &low : &high) = middle;
        }
        return low;
}

int skip_done(int *next, int k)
{
        while (next[k] != k)
                k = next[k] = next[next[k]];
        return k;
}

/* Returns the pieces that touches cut a storage into: first and last are numbers of touches, -1
 * where there are none. In order of time each piece takes its first touch, and in the opposite
 * order its last one; pieces that have theirs are stepped over. */
static struct span *cut_pieces(struct arena *arena, const struct storage *s, int *piece_count)
{
        int64_t *bounds = arena_array(arena, 2 * (size_t)s->touch_count, sizeof *bounds);
        int count = 0, distinct = 0;
        for (int i = 0; i < s->touch_count; i++) {
                bounds[count++] = s->touches[i].start;
                bounds[count++] = s->touches[i].end;
        }
        qsort(bounds, (size_t)count, sizeof *bounds, by_value);
        for (int i = 0; i < count; i++)
                if (!i || bounds[i] != bounds[i - 1])
                        bounds[distinct++] = bounds[i];
        int *next = arena_array(arena, (size_t)distinct + 1, sizeof *next);
        struct span *pieces = arena_array(arena, (size_t)distinct, sizeof *pieces);
        for (int k = 0; k + 1 < distinct; k++)
                pieces[k] = (struct span){ bounds[k], bounds[k + 1], -1, -1 };
        for (int pass = 0; pass < 2; pass++) {
                for (int k = 0; k <= distinct; k++)
                        next[k] = k;
                for (int i = 0; i < s->touch_count; i++) {
                        int touch = pass ? s->touch_count - 1 - i : i;
                        int end = find_bound(bounds, distinct, s->touches[touch].end);
                        int k = skip_done(next,
                                          find_bound(bounds, distinct, s->touches[touch].start));
                        for (; k < end; k = skip_done(next, k)) {
                                *(pass ? &pieces[k].last : &pieces[k].first) = touch;
                                next[k] = k + 1;
                        }
                }
        }
        *piece_count = distinct - 1;
        return pieces;
}

/* Returns the innermost block in which all bytes of s are written before they are read, so that no
 * iteration leaves any to the next; NULL: only all of main is one. What one statement alone touches
 * is its scratch: it would find nothing there in the first iteration. */
static const struct block_scope *find_home(const struct storage *s, const struct span *pieces,
                                           int count)
{
        struct block_scope *home = s->touches[0].scope;
        bool scratch = true;
        for (int i = 1; i < s->touch_count; i++) {
                home = common_scope(home, s->touches[i].scope);
                scratch &= s->touches[i].time == s->touches[0].time;
        }
        if (scratch)
                return home;
        for (int k = 0; k < count; k++)
                if (pieces[k].first >= 0 && (!s->touches[pieces[k].first].fills ||
                                             s->touches[pieces[k].first].scope != home))
                        return NULL;
        return home;
}

static void add_span(struct lifetimes *l, struct storage *s, struct span span)
{
        struct span *before = s->span_count ? &s->spans[s->span_count - 1] : NULL;
        s->first = s->first < 0 || span.first < s->first ? span.first : s->first;
        s->last = span.last > s->last ? span.last : s->last;
        if (before && before->end == span.start && before->first == span.first &&
            before->last == span.last) {
                before->end = span.end;
                return;
        }
        ARENA_GROW(l->arena, s->spans, s->span_count);
        s->spans[s->span_count++] = span;
}

static void find_spans(struct lifetimes *l, struct storage *s, struct arena *arena)
{
        int count, unused;
        struct span *pieces = cut_pieces(arena, s, &count);
        const struct block_scope *home = find_home(s, pieces, count);
        for (int k = 0; k < count; k++) {
                if (pieces[k].first < 0)
                        continue;
                struct span span = pieces[k];
                find_times(&s->touches[pieces[k].first], home, &span.first, &unused);
                s->carried |= find_times(&s->touches[pieces[k].last], home, &unused, &span.last);
                add_span(l, s, span);
        }
}

struct lifetimes lifetimes_find(struct arena *arena, struct loop_program *p)
{
        struct lifetimes l = { .arena = arena };
        for (struct loop_buffer *b = p->buffers; b; b = b->next)
                if (b->space == SPACE_WORKSPACE && b->entry == p->at)
                        b->number = l.count++;
        l.storages = arena_array(arena, (size_t)l.count, sizeof *l.storages);
        for (struct loop_buffer *b = p->buffers; b; b = b->next)
                if (b->space == SPACE_WORKSPACE && b->entry == p->at)
                        l.storages[b->number] = (struct storage){
                                .buffer = b,
                                .first = -1,
                                .last = -1,
                                .bytes = storage_bytes(b->extent * element_info[b->element].bytes)
                        };
        l.statements = touches_walk(arena, p, note_touch, &l);
        struct arena *scratch = arena_new();
        for (int i = 0; i < l.count; i++)
                if (l.storages[i].touch_count)
                        find_spans(&l, &l.storages[i], scratch);
        arena_free(scratch);
        return l;
}

/* ---- sharing ---- */

static struct storage *storage_of(struct lifetimes *l, const struct touch *t)
{
        return t->root->space == SPACE_WORKSPACE ? &l->storages[t->root->number] : NULL;
}

static struct storage *representative(struct storage *s)
{
        while (s->into)
                s = s->into;
        return s;
}

/* Does no other argument of the call lie in the operand's storage? Another view of it might be read
 * elsewhere than where it is written. */
static bool only_reader(struct lifetimes *l, const struct loop_stmt *call, int operand,
                        const struct storage *storage)
{
        for (int i = 0; i < call->function->buffer_count; i++) {
                struct touch t = touch_argument(call, i, 0);
                struct storage *s = i == operand ? NULL : storage_of(l, &t);
                if (s && representative(s) == storage)
                        return false;
        }
        return true;
}

/* Are bytes start..end of s unused before `now`? */
static bool is_born(const struct storage *s, int64_t start, int64_t end, int now)
{
        for (int i = 0; i < s->span_count; i++)
                if (s->spans[i].start < end && start < s->spans[i].end && s->spans[i].first < now)
                        return false;
        return true;
}

/* Was all of s in use before `now`, and is none of it used behind? */
static bool ends(const struct storage *s, int now)
{
        for (int i = 0; i < s->span_count; i++)
                if (s->spans[i].first >= now)
                        return false;
        return s->last == now && !s->carried;
}

/* Makes the spans of `from` spans of `to`, from byte `at` on; `now` belongs to the later of the
 * two. */
static void move_spans(struct lifetimes *l, struct storage *from, struct storage *to, int64_t at)
{
        for (int i = 0; i < from->span_count; i++) {
                struct span s = from->spans[i], *same = NULL;
                s.start += at;
                s.end += at;
                for (int k = 0; k < to->span_count && !same; k++)
                        if (to->spans[k].start == s.start && to->spans[k].end == s.end &&
                            (to->spans[k].last == s.first - 1 || s.last == to->spans[k].first - 1))
                                same = &to->spans[k];
                if (same) {
                        same->first = s.first < same->first ? s.first : same->first;
                        same->last = s.last > same->last ? s.last : same->last;
                } else {
                        ARENA_GROW(l->arena, to->spans, to->span_count);
                        to->spans[to->span_count++] = s;
                }
        }
        from->span_count = 0;
        from->into = to;
        from->at = at;
        to->first = from->first < to->first ? from->first : to->first;
        to->last = from->last > to->last ? from->last : to->last;
        to->traffic += from->traffic;
        to->carried |= from->carried;
}

static enum remark_reason share(struct lifetimes *l, const struct loop_stmt *call, int operand,
                                int result, int now)
{
        struct touch x = touch_argument(call, operand, now), y = touch_argument(call, result, now);
        struct storage *to = storage_of(l, &y), *own = storage_of(l, &x);
        bool moves = call->offsets && (call->offsets[operand] || call->offsets[result]);
        if (moves)
                return REMARK_plan_turns;
        if (!to || !own)
                return REMARK_plan_port;
        if (to->into)
                return REMARK_plan_taken;
        if (x.start || storage_bytes(x.end) != own->bytes)
                return REMARK_plan_part;
        struct storage *from = representative(own);
        bool whole = !y.start && storage_bytes(y.end) == to->bytes;
        bool fits = y.start % STORAGE_ALIGN == 0 &&
                    (y.end % STORAGE_ALIGN == 0 || storage_bytes(y.end) == to->bytes);
        if (from == to)
                return REMARK_plan_taken;
        if (from->bytes != storage_bytes(y.end - y.start) || !fits)
                return REMARK_plan_size;
        if (!ends(from, now))
                return REMARK_plan_later;
        if (!is_born(to, y.start, storage_bytes(y.end), now))
                return REMARK_plan_in_use;
        if (!only_reader(l, call, operand, from))
                return REMARK_plan_twice;
        for (int i = 0; i < from->span_count; i++)
                if (from->spans[i].last == now)
                        from->spans[i].last = now - 1;
        if (whole)
                move_spans(l, to, from, 0);
        else
                move_spans(l, from, to, y.start);
        return REMARK_plan_in_place;
}

struct sharing { struct lifetimes *lifetimes; bool shares; struct remarks *remarks; int time; };

/* Makes a remark on an operand in the workspace and a result that a statement reads (which is no
 * scratch of the kernel). */
static void remark(const struct sharing *s, const struct loop_stmt *call, int operand, int result,
                   enum remark_reason why)
{
        struct touch x = touch_argument(call, operand, 0), y = touch_argument(call, result, 0);
        const struct storage *to = storage_of(s->lifetimes, &y);
        for (int i = 0; i < operand; i++)
                if (call->buffers[i] == call->buffers[operand])
                        return;
        if (storage_of(s->lifetimes, &x) && (!to || to->touch_count > 1))
                remark_note(s->remarks, (struct remark){ .reason = why,
                                                         .made = call->buffers[operand]->location,
                                                         .made_by = call->buffers[operand]->name,
                                                         .read = loop_call_location(call),
                                                         .read_by = call->function->name });
}

static void share_results(const struct sharing *s, const struct loop_stmt *call, int now)
{
        const struct loop_function *kernel = call->function;
        for (int out = 0; out < kernel->buffer_count; out++) {
                const struct loop_buffer *result = kernel->buffers[out];
                bool shared = !(result->access & ACCESS_OUT);
                for (int in = 0; in < kernel->buffer_count && (!shared || s->remarks); in++) {
                        if (kernel->buffers[in]->access != ACCESS_IN ||
                            !(result->access & ACCESS_OUT))
                                continue;
                        bool apart = result->alias_class <= 0 ||
                                     kernel->buffers[in]->alias_class != result->alias_class;
                        enum remark_reason why = !s->shares ? REMARK_plan_sharing_off
                                                 : apart    ? REMARK_plan_elsewhere
                                                 : shared   ? REMARK_plan_taken
                                                          : share(s->lifetimes, call, in, out, now);
                        shared |= why == REMARK_plan_in_place;
                        if (s->remarks)
                                remark(s, call, in, out, why);
                }
        }
}

static void share_block(struct sharing *s, const struct loop_block *block)
{
        for (const struct loop_stmt *at = block ? block->first : NULL; at; at = at->next) {
                int now = s->time++;
                if (at->kind == STMT_CALL)
                        share_results(s, at, now);
                share_block(s, at->body);
                share_block(s, at->other);
        }
}

void lifetimes_share_saying(struct lifetimes *l, struct loop_program *p, bool shares,
                            struct remarks *remarks)
{
        struct sharing s = { l, shares, remarks, 0 };
        share_block(&s, loop_main(p)->body);
}

/* Lets results lie on operands: where a kernel may overwrite an operand (equal positive alias
 * classes) that is used there for the last time, result and operand become one storage; where the
 * result is a part of a storage, the operand lies there before it is written. */
static void lifetimes_share(struct lifetimes *l, struct loop_program *p)
{
        lifetimes_share_saying(l, p, true, NULL);
}

/* Does s lie on the storage that it was joined to? Both are in use where a result is computed, so
 * without sharing they lie apart. */
static bool lies_on(const struct storage *s)
{
        const struct loop_buffer *own = s->buffer, *root = s->into->buffer;
        return own->region == root->region && own->offset == root->offset + s->at;
}

struct lifetimes lifetimes_planned(struct arena *arena, struct loop_program *p)
{
        struct lifetimes shared = lifetimes_find(arena, p);
        lifetimes_share(&shared, p);
        for (int i = 0; i < shared.count; i++)
                if (shared.storages[i].into && !lies_on(&shared.storages[i]))
                        return lifetimes_find(arena, p);
        return shared;
}

/* ---- sums ---- */

int64_t *lifetimes_live(const struct lifetimes *l, int *peak)
{
        int64_t *live = arena_array(l->arena, (size_t)l->statements + 1, sizeof *live);
        for (int i = 0; i < l->count; i++)
                for (int k = 0; k < l->storages[i].span_count; k++) {
                        const struct span *s = &l->storages[i].spans[k];
                        live[s->first] += s->end - s->start;
                        live[s->last + 1] -= s->end - s->start;
                }
        *peak = 0;
        for (int t = 0; t < l->statements; t++) {
                live[t] += t ? live[t - 1] : 0;
                if (live[t] > live[*peak])
                        *peak = t;
        }
        return live;
}

static int by_time_and_start(const void *x, const void *y)
{
        const struct touch *a = x, *b = y;
        return a->time != b->time    ? a->time - b->time
               : a->start < b->start ? -1
                                     : a->start > b->start;
}

/* Returns the bytes of results that a call could write where an operand lies, in some order of
 * main. */
static int64_t shareable(struct lifetimes *l, const struct loop_stmt *call)
{
        const struct loop_function *kernel = call->function;
        int64_t bytes = 0;
        for (int out = 0; out < kernel->buffer_count; out++) {
                struct touch y = touch_argument(call, out, 0);
                bool found = !(kernel->buffers[out]->access & ACCESS_OUT) ||
                             !kernel->buffers[out]->alias_class || !storage_of(l, &y);
                for (int in = 0; in < kernel->buffer_count && !found; in++) {
                        struct touch x = touch_argument(call, in, 0);
                        found = kernel->buffers[in]->access == ACCESS_IN && storage_of(l, &x) &&
                                kernel->buffers[in]->alias_class ==
                                        kernel->buffers[out]->alias_class;
                        bytes += found ? storage_bytes(y.end - y.start) : 0;
                }
        }
        return bytes;
}

static int64_t largest_in(struct lifetimes *l, const struct loop_block *block,
                          const int64_t *touched, int *time)
{
        int64_t largest = 0;
        for (const struct loop_stmt *s = block ? block->first : NULL; s; s = s->next) {
                int64_t here = touched[(*time)++];
                if (s->kind == STMT_CALL)
                        here -= shareable(l, s);
                int64_t body = largest_in(l, s->body, touched, time),
                        other = largest_in(l, s->other, touched, time);
                here = body > here ? body : here;
                here = other > here ? other : here;
                largest = here > largest ? here : largest;
        }
        return largest;
}

int64_t lifetimes_largest(struct lifetimes *l, const struct loop_program *p)
{
        int64_t *touched = arena_array(l->arena, (size_t)l->statements + 1, sizeof *touched);
        for (int i = 0; i < l->count; i++) {
                struct storage *s = &l->storages[i];
                struct touch *list =
                        arena_copy(l->arena, s->touches, (size_t)s->touch_count * sizeof *list);
                qsort(list, (size_t)s->touch_count, sizeof *list, by_time_and_start);
                int64_t reached = 0;
                for (int k = 0; k < s->touch_count; k++) {
                        if (!k || list[k].time != list[k - 1].time)
                                reached = 0;
                        int64_t start = list[k].start > reached ? list[k].start : reached;
                        touched[list[k].time] += list[k].end > start ? list[k].end - start : 0;
                        reached = list[k].end > reached ? list[k].end : reached;
                }
        }
        int time = 0;
        return largest_in(l, loop_main(p)->body, touched, &time);
}
