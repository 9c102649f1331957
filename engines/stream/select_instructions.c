/* SPDX-License-Identifier: MIT */
/* select_instructions: a nest around a step becomes an instruction. As many of its loops as the
 * instruction has counters are run by these; the others become a micro-op list, as short as
 * possible. Two steps that touch one element of sums, one of them writing, are at least as far
 * apart as the machine's pipeline is long (limits.apart).
 *
 *     for %o = 0 to 4 {                         for %y = 0 to 14 count {
 *       for %y = 0 to 14 {                        for %x = 0 to 14 count {
 *         for %x = 0 to 14 {             ->         for %k = 0 to 9 list {
 *           for %k = 0 to 9 { product .. }            for %o = 0 to 4 list { product .. }
 *
 * Sums wrap, so products may come in any order; so may operations, unless they read sums that
 * others of them write. A loop that continues where another one ends is joined to it. Where no
 * order keeps steps apart, or a loop is too long for a counter and a list, the loop is executed
 * here: the nest becomes several. Exact. */
#include "engines/stream/stream_passes.h"

#include <string.h>

struct folding {
        struct arena *arena;            /* This arena lives as long as the pass. */
        const struct machine *m;
        struct flat_writer to;
        struct map *known;              /* Finds a struct arrangement by the shape of a nest. */
        int count;
};

/* Loop number order[k] is the k-th; counters run the first `counted` loops. */
struct arrangement { bool found; int counted, order[NEST_MAX]; };

/* ---- orders that are permitted ---- */

/* Computes between which elements an operand lies. */
static void range_of(const struct flat_step *n, int operand, int64_t *low, int64_t *high)
{
        *low = *high = n->at[operand];
        for (int k = 0; k < n->loop_count; k++) {
                int64_t reach = (n->loops[k].count - 1) * n->loops[k].add[operand];
                *(reach < 0 ? low : high) += reach;
        }
}

/* Is each sum computed from the one in the same place, once? */
static bool is_in_place(const struct flat_step *n)
{
        bool same = n->at[0] == n->at[1];
        for (int k = 0; k < n->loop_count; k++)
                same &= n->loops[k].add[0] == n->loops[k].add[1] && n->loops[k].add[0];
        return same;
}

/* Is the step an operation on two elements of sums? */
static bool reads_sums(const struct flat_step *n)
{
        return (n->s->kind == STMT_APPLY && n->s->source) ||
               (n->s->kind == STMT_ACTIVATE && n->s->buffer->memory == n->s->source->memory &&
                !is_in_place(n));
}

/* Does the step return to sums that it replaces? */
static bool replaces_again(const struct flat_step *n)
{
        for (int k = 0; k < n->loop_count; k++)
                if (n->s->kind == STMT_PRODUCT && n->s->code && !n->loops[k].add[0])
                        return true;
        return false;
}

static bool may_reorder(const struct flat_step *n)
{
        int64_t low, high, from, to;
        if (replaces_again(n))
                return false;
        if (!reads_sums(n))
                return true;
        range_of(n, 0, &low, &high);
        range_of(n, 1, &from, &to);
        return to < low || from > high;
}

/* Does the outer loop continue where the inner one ends? */
static bool continues(const struct nest_loop *outer, const struct nest_loop *inner)
{
        for (int k = 0; k < OPERANDS; k++)
                if (outer->add[k] != inner->count * inner->add[k])
                        return false;
        return true;
}

static void drop_loop(struct flat_step *n, int k)
{
        memmove(&n->loops[k], &n->loops[k + 1], (size_t)(n->loop_count - k - 1) * sizeof *n->loops);
        n->loop_count--;
}

static bool join_one(struct flat_step *n, bool any)
{
        for (int o = 0; o < n->loop_count; o++)
                for (int i = 0; i < n->loop_count; i++)
                        if (i != o && (any || i == o + 1) &&
                            continues(&n->loops[o], &n->loops[i])) {
                                n->loops[i].count *= n->loops[o].count;
                                drop_loop(n, o);
                                return true;
                        }
        return false;
}

static void simplify(struct flat_step *n)
{
        for (int k = n->loop_count - 1; k >= 0; k--)
                if (n->loops[k].count == 1)
                        drop_loop(n, k);
        while (join_one(n, may_reorder(n)))
                ;
}

/* ---- arrangements ---- */

static bool can_count(const struct folding *f, const struct flat_step *n, int k)
{
        if (n->loops[k].count > f->m->limits.count)
                return false;
        for (int i = 0; i < OPERANDS; i++) {
                const struct loop_buffer *b = flat_operand(n->s, i);
                if (b && (n->loops[k].add[i] < 0 ||
                          n->loops[k].add[i] >= machine_depth(&f->m->memories[b->memory])))
                        return false;
        }
        return true;
}

static int64_t list_length(const struct flat_step *n, const struct arrangement *a)
{
        int64_t length = 1;
        for (int k = a->counted; k < n->loop_count; k++) {
                length *= n->loops[a->order[k]].count;
                if (length > INT32_MAX)
                        return length;
        }
        return length;
}

enum { APART_MOST = 8 };

/* Walks the steps in their order, and checks that they are far enough apart. */
static bool is_apart(const struct folding *f, const struct flat_step *n,
                     const struct arrangement *a)
{
        int64_t before[APART_MOST], index[NEST_MAX] = { 0 }, at[2] = { n->at[0], n->at[1] };
        int apart = f->m->limits.apart < APART_MOST ? f->m->limits.apart - 1 : APART_MOST, held = 0;
        for (int k = 0; k >= 0;) {
                for (int i = 0; i < held; i++)
                        if (before[i] == at[0] || (reads_sums(n) && before[i] == at[1]))
                                return false;
                held += held < apart;
                for (int i = held - 1; i > 0; i--)
                        before[i] = before[i - 1];
                if (held)
                        before[0] = at[0];
                for (k = n->loop_count - 1; k >= 0; k--) {
                        const struct nest_loop *loop = &n->loops[a->order[k]];
                        for (int i = 0; i < 2; i++)
                                at[i] += loop->add[i];
                        if (++index[k] < loop->count)
                                break;
                        for (int i = 0; i < 2; i++)
                                at[i] -= loop->count * loop->add[i];
                        index[k] = 0;
                }
        }
        return true;
}

/* Orders the loops that are not counted: those in which the sum stays the same are outermost, so
 * that it returns late. */
static void order_list(const struct flat_step *n, struct arrangement *a)
{
        bool counted[NEST_MAX] = { false };
        int next = a->counted;
        for (int k = 0; k < a->counted; k++)
                counted[a->order[k]] = true;
        for (int moves = 0; moves < 2; moves++)
                for (int k = 0; k < n->loop_count; k++)
                        if (!counted[k] && (n->loops[k].add[0] != 0) == (moves == 1))
                                a->order[next++] = k;
}

static void try_arrangement(const struct folding *f, const struct flat_step *n,
                            const struct arrangement *a, struct arrangement *best)
{
        int64_t length = list_length(n, a);
        if (length <= f->m->limits.list && (!best->found || length < list_length(n, best)) &&
            is_apart(f, n, a)) {
                *best = *a;
                best->found = true;
        }
}

/* Tries all choices of counted loops, with one counter more each time. */
static void try_counters(const struct folding *f, const struct flat_step *n, struct arrangement *a,
                         struct arrangement *best)
{
        if (a->counted == f->m->limits.counters || a->counted == n->loop_count) {
                struct arrangement whole = *a;
                order_list(n, &whole);
                try_arrangement(f, n, &whole, best);
                return;
        }
        for (int k = 0; k < n->loop_count; k++) {
                bool taken = !can_count(f, n, k);
                for (int i = 0; i < a->counted; i++)
                        taken |= a->order[i] == k;
                if (taken)
                        continue;
                a->order[a->counted++] = k;
                try_counters(f, n, a, best);
                a->counted--;
        }
        struct arrangement whole = *a;
        order_list(n, &whole);
        try_arrangement(f, n, &whole, best);
}

static struct arrangement arrange(const struct folding *f, const struct flat_step *n)
{
        struct arrangement best = { 0 }, a = { 0 };
        if (may_reorder(n)) {
                try_counters(f, n, &a, &best);
                return best;
        }
        for (int k = 0; k < n->loop_count; k++)
                a.order[k] = k;
        for (int k = 0; k <= n->loop_count && k <= f->m->limits.counters; k++) {
                if (k && !can_count(f, n, k - 1))
                        break;
                a.counted = k;
                try_arrangement(f, n, &a, &best);
        }
        return best;
}

/* Finds the arrangement once for all nests of a shape. */
static struct arrangement arrange_once(struct folding *f, const struct flat_step *n)
{
        int64_t key[4 + NEST_MAX * (OPERANDS + 1)] = { 0 };
        int length = 0;
        key[length++] = n->s->kind;
        key[length++] = n->loop_count;
        key[length++] = reads_sums(n) ? n->at[1] - n->at[0] : INT64_MAX;
        for (int k = 0; k < n->loop_count; k++) {
                key[length++] = n->loops[k].count;
                for (int i = 0; i < OPERANDS; i++)
                        key[length++] = n->loops[k].add[i];
        }
        struct arrangement *known =
                map_get(f->known, (const char *)key, (size_t)length * sizeof *key);
        if (!known) {
                known = ARENA_NEW(f->arena, struct arrangement);
                *known = arrange(f, n);
                map_set(f->known, (const char *)key, (size_t)length * sizeof *key, known);
        }
        return *known;
}

/* ---- writing ---- */

static void fold(struct folding *f, struct flat_step n);

/* Returns the loop to execute: one that returns to the same sums, otherwise the shortest; the
 * outermost where the order matters. */
static int loop_to_run(const struct flat_step *n)
{
        int best = 0;
        for (int k = 1; k < n->loop_count && may_reorder(n); k++) {
                bool same = n->loops[k].add[0] == 0, best_same = n->loops[best].add[0] == 0;
                if (same != best_same ? same : n->loops[k].count < n->loops[best].count)
                        best = k;
        }
        return best;
}

static void run_loop(struct folding *f, const struct flat_step *n)
{
        int k = loop_to_run(n);
        for (int64_t i = 0; i < n->loops[k].count; i++) {
                struct flat_step part = *n;
                for (int o = 0; o < OPERANDS; o++)
                        part.at[o] += i * n->loops[k].add[o];
                drop_loop(&part, k);
                fold(f, part);
        }
}

static void fold(struct folding *f, struct flat_step n)
{
        simplify(&n);
        struct arrangement a = arrange_once(f, &n);
        if (!a.found && n.loop_count) {
                run_loop(f, &n);
                return;
        }
        struct flat_step to = n;
        for (int k = 0; k < n.loop_count; k++) {
                to.loops[k] = n.loops[a.order[k]];
                to.loops[k].kind = k < a.counted ? FOR_COUNT : FOR_LIST;
        }
        flat_step_write(&f->to, &to);
        f->count++;
}

static void take_over(struct loop_block *to, struct loop_stmt *s)
{
        s->next = NULL;
        *to->end = s;
        to->end = &s->next;
}

static int fold_stream(struct loop_program *p, struct loop_function *stream,
                       struct loop_buffer *const *memories)
{
        struct folding f = { .arena = arena_new(),
                             .m = stream->machine,
                             .to = { .arena = p->arena,
                                     .f = stream,
                                     .out = loop_block_new(p->arena),
                                     .letter = 'u' } };
        f.known = map_new(f.arena);
        memcpy(f.to.memories, memories, sizeof f.to.memories);
        for (struct loop_stmt *s = stream->body->first, *next; s; s = next) {
                struct flat_step step;
                next = s->next;
                const struct loop_stmt *inner = s;
                while (inner->kind == STMT_FOR)
                        inner = inner->body->first;
                bool serial = s == inner || s->for_kind == FOR_SERIAL;
                if (!loop_is_step(inner) || !flat_step_read(f.m, s, NULL, &step))
                        take_over(f.to.out, s);
                else if (serial)
                        fold(&f, step);
                else
                        flat_step_write(&f.to, &step);
        }
        stream->body = f.to.out;
        arena_free(f.arena);
        return f.count;
}

int pass_select_instructions(struct loop_program *p, struct pass_context *context)
{
        int count = 0;
        for (struct loop_function *f = p->kernels; f; f = f->next) {
                struct loop_buffer *memories[MACHINE_MEMORIES];
                if (f->kind != FUNCTION_STREAM)
                        continue;
                if (!flat_memories(f, memories)) {
                        diag_error(context->diag, EXIT_USAGE,
                                   "stream %s still has loops: flatten comes before "
                                   "select_instructions",
                                   f->name);
                        return -1;
                }
                count += fold_stream(p, f, memories);
        }
        return count;
}
