/* stream: kernels that hand large tensors on become one kernel that passes them on row by row, until memory is enough.
 *
 *   %1 = fusion(%0, @w) { ... convolve ... }                      %2 = fusion(%0, @w, @v) {
 *   %2 = fusion(%1, @v) { ... convolve ... }          ->            ... %1 = ... schedule="ring=1"
 *                                                                   ... convolve(%1, @v) ... }
 *
 * Only under --max-ram, and for targets without vectors (the others have strips). Where the most bytes are in use, by the order of the
 * operations, one of the values that are there, and that one kernel makes and one kernel reads, becomes a ring of rows inside a
 * kernel of both (schedule/rings.c): the one that lowers the peak most, or, where none does, several in a row at once. So it goes on until the peak is within the budget, or nothing
 * lowers it any more: then (with -v) it says what is in the way, which is what needs all rows at once, as global pools, norms and
 * attention do. Nothing is computed twice, and every element as before: results stay the same to the bit. */
#include <string.h>

#include "passes/join.h"
#include "passes/pass.h"
#include "schedule/rings.h"

enum { JOINS_MAX = 12 };                /* that are tried at once */

struct streaming {
        struct region *region;
        struct arena *arena;
        struct op *gone[2 * JOINS_MAX]; /* replaced by a kernel of both, for a try */
        int gone_count;
        int64_t peak, spots;            /* the most bytes in use, and at how many operations */
        const struct op *at;            /* the first of these */
        const struct op *obstacle;
};

/* ---- what is in use ---- */

/* the operation of the region that an operation is, or is inside of */
static struct op *outermost(const struct streaming *s, struct op *op)
{
        while (op->region != s->region)
                op = op->region->owner;
        return op;
}

static bool is_gone(const struct streaming *s, const struct op *op)
{
        for (int i = 0; i < s->gone_count; i++)
                if (s->gone[i] == op)
                        return true;
        return false;
}

/* A reshape is another name for its operand. */
static void find_last_use(const struct streaming *s, const struct value *v, int *last, bool *leaves)
{
        for (const struct use *u = v->uses; u; u = u->next) {
                struct op *user = outermost(s, u->user);
                if (is_gone(s, user))
                        continue;
                *leaves |= user->code == OP_yield;
                *last = user->number > *last ? user->number : *last;
                if (user->code == OP_reshape)
                        find_last_use(s, op_result(user), last, leaves);
        }
}

/* The peak, in the order of the operations; results of the function are the caller's memory. */
static void find_peak(struct streaming *s)
{
        int count = 0;
        for (struct op *op = s->region->first; op; op = op->next)
                op->number = count++;
        int64_t *change = arena_array(s->arena, (size_t)count + 2, sizeof *change), live = 0;
        for (const struct op *op = s->region->first; op; op = op->next) {
                for (int i = 0; i < op->result_count && !is_gone(s, op) && op->code != OP_reshape; i++) {
                        int last = op->number;
                        bool leaves = false;
                        find_last_use(s, &op->results[i], &last, &leaves);
                        int64_t bytes = leaves ? 0 : type_bytes(op->results[i].type);
                        change[op->number] += bytes;
                        change[last + 1] -= bytes;
                }
                const struct op *unused = NULL;
                int64_t rings = is_gone(s, op) ? 0 : rings_bytes(op, &unused);
                change[op->number] += rings > 0 ? rings : 0;
                change[op->number + 1] -= rings > 0 ? rings : 0;
        }
        s->peak = -1;
        for (const struct op *op = s->region->first; op; op = op->next) {
                live += change[op->number];
                if (live > s->peak) {
                        s->peak = live;
                        s->spots = 0;
                        s->at = op;
                }
                s->spots += live == s->peak;
        }
}

/* ---- joining ---- */

static bool is_kernel(const struct op *op)
{
        return op->result_count == 1 && op_result(op)->type->kind == TYPE_TENSOR && (op->code == OP_fusion || op_info[op->code].element) &&
               op->code != OP_reshape;
}

/* the one kernel that reads v, or NULL */
static struct op *only_reader(const struct streaming *s, const struct value *v)
{
        struct op *reader = NULL;
        for (const struct use *u = v->uses; u; u = u->next) {
                struct op *user = outermost(s, u->user);
                if (is_gone(s, user))
                        continue;
                if ((reader && user != reader) || user->code == OP_yield)
                        return NULL;
                reader = user;
        }
        return reader && is_kernel(reader) ? reader : NULL;
}

/* the operation inside the joined kernel that makes what `first` handed on */
static struct op *find_between(const struct op *first, const struct op *joined)
{
        int number = 0;
        if (first->code == OP_fusion)
                for (const struct op *op = first->regions[0]->first; op != op_operand(first->regions[0]->last, 0)->op; op = op->next)
                        number++;
        struct op *between = joined->regions[0]->first;
        while (number-- > 0)
                between = between->next;
        return between;
}

/* a kernel of both, v a ring inside it; NULL: that cannot be */
static struct op *try_ring(struct streaming *s, struct value *v, struct op *reader, struct pass_context *context)
{
        struct op *first = v->op;
        if (first->code == OP_fusion && op_operand(first->regions[0]->last, 0)->kind != VALUE_RESULT)
                return NULL;
        struct op *joined = kernel_join((struct op *const[]){ first, reader }, 2, context->diag);
        if (!joined)
                return NULL;
        rings_mark(find_between(first, joined));
        if (rings_bytes(joined, &s->obstacle) >= 0)
                return joined;
        op_erase(joined);
        return NULL;
}

/* whether s came down to less than before */
static bool is_lower(const struct streaming *s, int64_t peak, int64_t spots)
{
        return s->peak < peak || (s->peak == peak && s->spots < spots);
}

/* A kernel of `first` and the one that reads it stands for both, which are still there; NULL: that cannot be. */
static struct op *join_next(struct streaming *s, struct op *first, struct pass_context *context)
{
        struct op *second = s->gone_count + 2 <= 2 * JOINS_MAX ? only_reader(s, op_result(first)) : NULL;
        struct op *joined = second ? try_ring(s, op_result(first), second, context) : NULL;
        if (!joined)
                return NULL;
        value_replace(op_result(second), op_result(joined));
        s->gone[s->gone_count++] = first;
        s->gone[s->gone_count++] = second;
        return joined;
}

/* Joins `op` and what follows, one after the other, `most` times; how many of these joins lower the peak most (0: none do). *peak, *spots: what has
 * been reached, and is now. All is as before then. */
static int try_joins(struct streaming *s, struct op *op, int most, const struct op *at, struct pass_context *context, int64_t *peak,
                     int64_t *spots)
{
        struct op *joined[JOINS_MAX];
        int count = 0, best = 0;
        while (count < most && (joined[count] = join_next(s, count ? joined[count - 1] : op, context))) {
                if (s->gone[s->gone_count - 1]->number >= at->number) {
                        find_peak(s);
                        if (is_lower(s, *peak, *spots)) {
                                *peak = s->peak;
                                *spots = s->spots;
                                best = count + 1;
                        }
                }
                count++;
        }
        while (count-- > 0) {
                value_replace(op_result(joined[count]), op_result(s->gone[--s->gone_count]));
                s->gone_count--;
                op_erase(joined[count]);
        }
        return best;
}

/* Of the kernels that run before or at the peak, the one that, joined with up to `most` that follow it, lowers the peak most. False:
 * none does. */
static bool lower_peak(struct streaming *s, int most, struct pass_context *context)
{
        const struct op *at = s->at;
        struct op *best = NULL;
        int joins = 0;
        int64_t peak = s->peak, spots = s->spots;
        s->obstacle = NULL;
        for (struct op *op = s->region->first; op != at->next; op = op->next) {
                int found = is_kernel(op) ? try_joins(s, op, most, at, context, &peak, &spots) : 0;
                best = found ? op : best;
                joins = found ? found : joins;
        }
        for (struct op *op = best; joins-- > 0;) {
                op = join_next(s, op, context);
                op_erase(s->gone[1]);
                op_erase(s->gone[0]);
                s->gone_count = 0;
        }
        find_peak(s);
        return best != NULL;
}

int pass_stream(struct function *f, struct pass_context *context)
{
        int count = 0;
        if (context->max_ram < 0 || target_lanes(context->target, E_F32) > 1)
                return 0;
        struct streaming s = { .region = &f->body, .arena = arena_new() };
        find_peak(&s);
        while (s.peak > context->max_ram && (lower_peak(&s, 1, context) || lower_peak(&s, JOINS_MAX, context)))
                count++;
        if (s.peak > context->max_ram)
                diag_note(context->diag, "streaming ends at %lld bytes, where '%s' runs%s%s%s", (long long)s.peak,
                          s.at->location ? s.at->location : op_info[s.at->code].name, s.obstacle ? ": '" : "",
                          !s.obstacle ? "" : s.obstacle->location ? s.obstacle->location : op_info[s.obstacle->code].name,
                          s.obstacle ? "' needs all rows at once" : "");
        arena_free(s.arena);
        return count;
}
