/* stream: kernels that hand large tensors on become one kernel that passes them on row by row, until memory is enough.
 *
 *   %1 = fusion(%0, @w) { ... convolve ... }                      %2 = fusion(%0, @w, @v) {
 *   %2 = fusion(%1, @v) { ... convolve ... }          ->            ... %1 = ... schedule="ring=1"
 *                                                                   ... convolve(%1, @v) ... }
 *
 * Only under --max-ram, and for targets without vectors (the others have strips). Where the most bytes are in use, by the order of the
 * operations, one of the values that are there, and that one kernel makes and one kernel reads, becomes a ring of rows inside a
 * kernel of both (schedule/rings.c): the one that lowers the peak most. So it goes on until the peak is within the budget, or nothing
 * lowers it any more: then (with -v) it says what is in the way, which is what needs all rows at once, as global pools, norms and
 * attention do. Nothing is computed twice, and every element as before: results stay the same to the bit. */
#include <string.h>

#include "passes/join.h"
#include "passes/pass.h"
#include "schedule/rings.h"

struct streaming {
        struct region *region;
        struct arena *arena;
        const struct op *without[2];    /* replaced, but not gone yet */
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

static bool is_gone(const struct streaming *s, const struct op *op) { return op == s->without[0] || op == s->without[1]; }

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

/* the peak if `joined` stood for `first` and `second` */
static void find_peak_with(struct streaming *s, struct op *first, struct op *second, struct op *joined)
{
        value_replace(op_result(second), op_result(joined));
        s->without[0] = first;
        s->without[1] = second;
        find_peak(s);
        s->without[0] = s->without[1] = NULL;
        value_replace(op_result(joined), op_result(second));
}

/* Of the values in use at the peak, the one whose ring lowers it most. False: none does. */
static bool lower_peak(struct streaming *s, struct pass_context *context)
{
        const struct streaming before = *s;
        struct value *best = NULL;
        int64_t peak = s->peak, spots = s->spots;
        s->obstacle = NULL;
        for (struct op *op = s->region->first; op && op->number <= before.at->number; op = op->next) {
                struct op *reader = is_kernel(op) ? only_reader(s, op_result(op)) : NULL;
                if (!reader || reader->number < before.at->number)
                        continue;
                struct op *joined = try_ring(s, op_result(op), reader, context);
                if (!joined)
                        continue;
                find_peak_with(s, op, reader, joined);
                if (is_lower(s, peak, spots)) {
                        best = op_result(op);
                        peak = s->peak;
                        spots = s->spots;
                }
                op_erase(joined);
                find_peak(s);           /* numbers as before */
        }
        if (!best)
                return false;
        struct op *first = best->op, *second = only_reader(s, best), *joined = try_ring(s, best, second, context);
        value_replace(op_result(second), op_result(joined));
        op_erase(second);
        op_erase(first);
        find_peak(s);
        return true;
}

int pass_stream(struct function *f, struct pass_context *context)
{
        int count = 0;
        if (context->max_ram < 0 || target_lanes(context->target, E_F32) > 1)
                return 0;
        struct streaming s = { .region = &f->body, .arena = arena_new() };
        find_peak(&s);
        while (s.peak > context->max_ram && lower_peak(&s, context))
                count++;
        if (s.peak > context->max_ram)
                diag_note(context->diag, "streaming ends at %lld bytes, where '%s' runs%s%s%s", (long long)s.peak,
                          s.at->location ? s.at->location : op_info[s.at->code].name, s.obstacle ? ": '" : "",
                          !s.obstacle ? "" : s.obstacle->location ? s.obstacle->location : op_info[s.obstacle->code].name,
                          s.obstacle ? "' needs all rows at once" : "");
        arena_free(s.arena);
        return count;
}
