/* SPDX-License-Identifier: MIT */
/* stream: kernels that hand large tensors on become one kernel that passes them on row by row,
 * until memory is enough.
 *
 *   %1 = fusion(%0, @w) { ... convolve ... }                      %2 = fusion(%0, @w, @v) {
 *   %2 = fusion(%1, @v) { ... convolve ... }          ->            ... %1 = ... schedule="circular=1"
 *                                                                   ... convolve(%1, @v) ... }
 *
 * Only under --max-ram. The operations, in their order (or where that is not enough, each just
 * before who needs it), are cut into ranges. What the kernels of a range hand to each other are
 * circular buffers of rows inside one kernel of all (kernels/circular_buffers.c), and nothing is
 * computed twice; or, where whole rows are too much, it runs in patches, a range of columns
 * after the other, which computes the columns between them twice. While a range runs there are
 * its circular buffers, its result, and what was made before and is needed there or behind it:
 * so what a range takes does not depend on the other ones, and the cuts are found from the last
 * operation on. Of all that are within the budget, those that compute least again, then those
 * that join the fewest kernels; where none are, those that take least, and then it says what is
 * in the way: what needs all rows at once, as global pools, norms and attention do. Resizes,
 * transposed convolutions and shuffles are none: a row of theirs needs some rows, only fewer or
 * others. Every element is computed by its canonical nest: results stay the same to the bit, but
 * where a contraction had a schedule, which may add up in another order. */
#include <limits.h>

#include "kernels/circular_buffers.h"
#include "kernels/kernels.h"
#include "passes/fuse/join.h"
#include "passes/memory/arrange.h"
#include "passes/pass.h"

enum { RANGE_MAX = 32 };                /* kernels that become one */

/* kernels as one: bytes of its circular buffers (and of what is prepared for it), of whole rows,
 * and with the narrowest patches; INT64_MAX: they cannot be */
struct range { int64_t whole, narrow; };

/* The best way to go on from an operation: the range that begins there, and what it and all behind
 * it compute again and join. last < 0: there is none. */
struct way { int last; int64_t patch; double again; int joins; };

struct streaming {
        struct region *region;
        struct pass_context *context;
        struct arena *arena;
        struct op **ops;
        int count;
        int64_t *entering, *made;       /* by operation: bytes that are there before it and are
                                         * needed later on; its own */
        int *last;                      /* who reads its results last; INT_MAX: they leave */
        const struct op **obstacle;     /* why no longer range begins there, or NULL */
        struct range (*ranges)[RANGE_MAX];        /* [p][q - p]: p..q; of one kernel, no buffers */
        int64_t *least;                 /* by operation: bytes that it and all behind it cannot do
                                         * without */
        struct way *ways;
        int64_t enough;                 /* bytes that may be in use */
};

/* ---- what is in use ---- */

/* the operation of the region that an operation is, or is inside of */
static struct op *outermost(const struct streaming *s, struct op *op)
{
        while (op->region != s->region)
                op = op->region->owner;
        return op;
}

/* A reshape is another name for its operand. */
static int last_use(const struct streaming *s, const struct value *v)
{
        int last = v->op->number;
        for (const struct use *u = v->uses; u; u = u->next) {
                const struct op *user = outermost(s, u->user);
                int use = user->code == OP_yield     ? INT_MAX
                          : user->code == OP_reshape ? last_use(s, op_result(user))
                                                     : user->number;
                last = use > last ? use : last;
        }
        return last;
}

static bool is_kernel(const struct op *op)
{
        if (op->code == OP_fusion && op_operand(op->regions[0]->last, 0)->kind != VALUE_RESULT)
                return false;
        return op->result_count == 1 && op_result(op)->type->kind == TYPE_TENSOR &&
               op->code != OP_reshape && (op->code == OP_fusion || op_info[op->code].element);
}

/* In the order of the operations; results of the function are the caller's memory. */
static void find_bytes(struct streaming *s)
{
        int64_t *change = arena_array(s->arena, (size_t)s->count + 1, sizeof *change);
        for (int i = 0; i < s->count; i++) {
                const struct op *op = s->ops[i];
                s->last[i] = i;
                for (int k = 0; k < op->result_count; k++) {
                        int last = last_use(s, &op->results[k]);
                        int64_t bytes = last == INT_MAX || op->code == OP_reshape
                                                ? 0
                                                : storage_bytes(type_bytes(op->results[k].type));
                        s->made[i] += bytes;
                        change[i] += bytes;
                        change[last == INT_MAX ? i : last] -= bytes;
                        s->last[i] = last > s->last[i] ? last : s->last[i];
                }
                if (is_kernel(op))
                        s->made[i] += kernels_scratch(op, &s->context->lower, s->context->library,
                                                      s->context->diag);
        }
        for (int i = 1; i < s->count; i++)
                s->entering[i] = s->entering[i - 1] + change[i - 1];
}

/* ---- ranges ---- */

/* The operations from *op on are copies of a kernel's. What it hands on inside (where it is several
 * kernels joined before) becomes a circular buffer. Returns the copy of its result; *op: the one
 * behind. */
static struct op *mark_inside(const struct op *kernel, struct op **op)
{
        const struct op *inside = kernel->code == OP_fusion ? kernel->regions[0]->first : kernel;
        const struct op *end = kernel->code == OP_fusion ? kernel->regions[0]->last : kernel->next;
        struct op *made = NULL;
        for (bool follows = false; inside != end; inside = inside->next, *op = (*op)->next) {
                bool heavy = op_info[(*op)->code].traits & (TRAIT_CONTRACTION | TRAIT_REDUCTION);
                if (heavy && follows && op_operand(*op, 0)->kind == VALUE_RESULT)
                        circular_mark(op_operand(*op, 0)->op);
                follows |= heavy;
                if (kernel->code != OP_fusion || op_result(inside) == op_operand(end, 0))
                        made = *op;
        }
        return made;
}

/* It computes from constants alone, as weights from bytes: it stays apart, before the kernel of the
 * range that it is in. */
static bool prepares(const struct op *op)
{
        bool all = op->operand_count > 0;
        for (int i = 0; i < op->operand_count; i++)
                all = all && op_operand(op, i)->kind == VALUE_CONSTANT;
        return all;
}

/* Can it be one of several? Reshapes can, but neither first nor last. */
static bool is_inner(const struct op *op) { return op->code == OP_reshape || is_kernel(op); }
static bool is_end(const struct op *op) { return is_kernel(op) && !prepares(op); }

/* A kernel of p..q, what they hand on to each other as circular buffers; it stands beside them.
 * What only moves elements is read through. */
static struct op *join(const struct streaming *s, int p, int q)
{
        struct op *kernels[RANGE_MAX] = { NULL };
        int count = 0;
        for (int i = p; i <= q; i++)
                if (!prepares(s->ops[i]))
                        kernels[count++] = s->ops[i];
        struct op *joined = kernel_join(kernels, count, s->context->diag);
        struct op *op = joined ? joined->regions[0]->first : NULL;
        for (int i = 0; i < count && op; i++) {
                struct op *made = mark_inside(kernels[i], &op);
                if (i + 1 < count && kernels[i]->code != OP_transpose &&
                    kernels[i]->code != OP_reshape)
                        circular_mark(made);
        }
        return joined;
}

/* bytes of what stays apart */
static int64_t prepared(const struct streaming *s, int p, int q)
{
        int64_t bytes = 0;
        for (int i = p; i < q; i++)
                bytes += prepares(s->ops[i]) ? s->made[i] : 0;
        return bytes;
}

/* false: p..q cannot be one kernel, nor can more from p on */
static bool measure(struct streaming *s, int p, int q)
{
        const struct op *unused = NULL;
        struct circular_cost whole, narrow;
        struct op *joined = join(s, p, q);
        bool good = joined && circular_cost(joined, &whole, &s->obstacle[p]);
        if (good) {
                circular_set_patch(joined, 1);
                bool patches =
                        circular_cost(joined, &narrow, &unused) && narrow.bytes < whole.bytes;
                int64_t aside = prepared(s, p, q);
                s->ranges[p][q - p] =
                        (struct range){ aside + whole.bytes,
                                        aside + (patches ? narrow.bytes : whole.bytes) };
        }
        if (joined)
                op_erase(joined);
        return good;
}

/* what is in use while p..q run as one kernel */
static int64_t bytes_with(const struct streaming *s, int p, int q, int64_t buffers)
{
        return s->entering[p] + s->made[q] + buffers;
}

/* Those that begin with p: all but the last hand nothing on to others, and one of them alone is too
 * much. */
static void find_ranges(struct streaming *s, int p)
{
        int reach = p;
        int64_t most = bytes_with(s, p, p, 0);
        for (int k = 1; k < RANGE_MAX; k++)
                s->ranges[p][k].whole = s->ranges[p][k].narrow = INT64_MAX;
        for (int q = p + 1;
             q < s->count && q - p < RANGE_MAX && is_end(s->ops[p]) && is_inner(s->ops[q]); q++) {
                int64_t alone = bytes_with(s, q, q, 0);
                most = alone > most ? alone : most;
                if (!prepares(s->ops[q - 1]))
                        reach = s->last[q - 1] > reach ? s->last[q - 1] : reach;
                if (reach <= q && is_end(s->ops[q]) && most > s->context->max_ram &&
                    !measure(s, p, q))
                        break;
        }
}

/* ---- the choice ---- */

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* From the last operation on: the least that p and all behind it can do with. */
static void find_least(struct streaming *s)
{
        for (int p = s->count - 1; p >= 0; p--) {
                s->least[p] = INT64_MAX;
                for (int q = p; q < s->count && q - p < RANGE_MAX; q++) {
                        int64_t buffers = s->ranges[p][q - p].narrow;
                        if (buffers == INT64_MAX)
                                continue;
                        int64_t bytes = larger(bytes_with(s, p, q, buffers), s->least[q + 1]);
                        s->least[p] = bytes < s->least[p] ? bytes : s->least[p];
                }
        }
}

/* The widest patches of a kernel whose buffers then take no more than `room`; all are about as
 * wide. */
static int64_t widest_patch(struct op *kernel, int64_t room, struct circular_cost *cost)
{
        const struct op *unused = NULL;
        int64_t columns = circular_columns(kernel), low = 1, high = columns - 1;
        while (low < high) {
                int64_t middle = (low + high + 1) / 2;
                circular_set_patch(kernel, middle);
                bool fits = circular_cost(kernel, cost, &unused) && cost->bytes <= room;
                *(fits ? &low : &high) = fits ? middle : middle - 1;
        }
        int64_t count = divide_up(columns, low), patch = divide_up(columns, count);
        circular_set_patch(kernel, patch);
        circular_cost(kernel, cost, &unused);
        return patch;
}

/* the range p..q and the best way behind it; false: that is too much */
static bool try_range(struct streaming *s, int p, int q, struct way *way)
{
        const struct range *range = &s->ranges[p][q - p];
        const struct way *behind = &s->ways[q + 1];
        if (range->narrow == INT64_MAX || bytes_with(s, p, q, range->narrow) > s->enough ||
            behind->last < 0)
                return false;
        *way = (struct way){ .last = q, .again = behind->again, .joins = behind->joins + q - p };
        if (bytes_with(s, p, q, range->whole) > s->enough) {
                struct circular_cost cost;
                struct op *joined = join(s, p, q);
                way->patch =
                        widest_patch(joined, s->enough - bytes_with(s, p, q, prepared(s, p, q)),
                                     &cost);
                way->again += cost.again;
                op_erase(joined);
        }
        return true;
}

/* From the last operation on: with enough bytes, the fewest operations, then the fewest kernels
 * that change. */
static void find_ways(struct streaming *s)
{
        s->enough = larger(s->least[0], s->context->max_ram);
        for (int p = s->count - 1; p >= 0; p--) {
                struct way *best = &s->ways[p], way;
                best->last = -1;
                for (int q = p; q < s->count && q - p < RANGE_MAX; q++)
                        if (try_range(s, p, q, &way) &&
                            (best->last < 0 || way.again < best->again ||
                             (way.again <= best->again && way.joins < best->joins)))
                                *best = way;
        }
}

/* ---- all ---- */

static const char *name_of(const struct op *op)
{
        return op->location ? op->location : op_info[op->code].name;
}

static int64_t replace(const struct streaming *s, int p, const struct way *way)
{
        const struct op *unused = NULL;
        struct circular_cost cost = { 0 };
        struct op *joined = join(s, p, way->last), *last = s->ops[way->last];
        if (!joined)
                return -1;
        if (way->patch) {
                circular_set_patch(joined, way->patch);
                circular_cost(joined, &cost, &unused);
                diag_note(s->context->diag,
                          "'%s' runs in patches of %lld columns: %.2f %% of its operations are "
                          "computed again",
                          name_of(joined), (long long)way->patch, 100 * cost.again / cost.flops);
                if (s->context->notes)
                        text_add(s->context->notes, "%spatch=%lld of %d kernels",
                                 s->context->notes->length ? ", " : "", (long long)way->patch,
                                 way->last - p + 1);
        }
        value_replace(op_result(last), op_result(joined));
        for (int i = way->last; i >= p; i--)
                if (!prepares(s->ops[i]))
                        op_erase(s->ops[i]);
        return way->last - p;
}

static int stream(struct streaming *s)
{
        const struct op *most = NULL, *obstacle = NULL;          /* behind it, less is enough */
        for (int p = 0; p < s->count && s->least[p] == s->enough; p = s->ways[p].last + 1) {
                most = s->ops[p];
                /* what is there as a whole was made before */
                obstacle = s->obstacle[p] ? s->obstacle[p] : obstacle;
        }
        if (s->enough > s->context->max_ram) {
                s->context->obstacle =
                        arena_printf(s->region->function->module->arena, "where '%s' runs%s%s%s",
                                     name_of(most), obstacle ? ": '" : "",
                                     obstacle ? name_of(obstacle) : "",
                                     obstacle ? "' needs all rows at once" : "");
                diag_note(s->context->diag, "streaming ends at %lld bytes, %s",
                          (long long)s->enough, s->context->obstacle);
        }
        int count = 0;
        for (int p = 0; p < s->count; p = s->ways[p].last + 1)
                if (s->ways[p].last > p) {
                        int64_t joins = replace(s, p, &s->ways[p]);
                        if (joins < 0)
                                return -1;
                        count += (int)joins;
                }
        return count;
}

static struct streaming prepare(struct arena *arena, struct function *f, int count,
                                struct pass_context *context)
{
        size_t room = (size_t)count + 1;
        return (struct streaming){ .region = &f->body,
                                   .context = context,
                                   .arena = arena,
                                   .count = count,
                                   .ops = arena_array(arena, room, sizeof(struct op *)),
                                   .entering = arena_array(arena, room, sizeof(int64_t)),
                                   .made = arena_array(arena, room, sizeof(int64_t)),
                                   .last = arena_array(arena, room, sizeof(int)),
                                   .obstacle = arena_array(arena, room, sizeof(struct op *)),
                                   .ranges = arena_array(arena, room,
                                                         sizeof(struct range[RANGE_MAX])),
                                   .least = arena_array(arena, room, sizeof(int64_t)),
                                   .ways = arena_array(arena, room, sizeof(struct way)) };
}

static void number(const struct streaming *s)
{
        for (int i = 0; i < s->count; i++)
                s->ops[i]->number = i;
        s->region->last->number = s->count;
}

static void cut(struct streaming *s)
{
        number(s);
        find_bytes(s);
        for (int p = 0; p < s->count; p++)
                find_ranges(s, p);
        find_least(s);
        find_ways(s);
}

/* as they stand in s, but each operation just before the first one that needs it */
static void order_by_need(const struct streaming *s, struct op **ops)
{
        struct step_graph g = { .count = s->count,
                                .steps = arena_array(s->arena, (size_t)s->count, sizeof *g.steps) };
        int *order = arena_array(s->arena, (size_t)s->count, sizeof *order);
        for (int i = 0; i < s->count; i++)
                for (int k = 0; k < s->ops[i]->result_count; k++)
                        for (const struct use *u = s->ops[i]->results[k].uses; u; u = u->next) {
                                int user = outermost(s, u->user)->number;
                                if (user == s->count)
                                        continue;
                                ARENA_GROW(s->arena, g.steps[user].before, g.steps[user].before_count);
                                g.steps[user].before[g.steps[user].before_count++] = i;
                        }
        arrange_by_need(&g, s->arena, order);
        for (int i = 0; i < s->count; i++)
                ops[i] = s->ops[order[i]];
}

int pass_stream(struct function *f, struct pass_context *context)
{
        int count = 0;
        for (const struct op *op = f->body.first; op != f->body.last; op = op->next)
                count++;
        if (!count || context->max_ram < 0)
                return 0;
        struct arena *arena = arena_new();
        struct streaming s = prepare(arena, f, count, context),
                         other = prepare(arena, f, count, context);
        count = 0;
        for (struct op *op = f->body.first; op != f->body.last; op = op->next)
                s.ops[count++] = op;
        cut(&s);
        if (s.enough > context->max_ram || s.ways[0].again > 0) {
                order_by_need(&s, other.ops);
                cut(&other);
                if (other.enough < s.enough ||
                    (other.enough == s.enough && other.ways[0].again < s.ways[0].again)) {
                        s = other;
                        for (int i = 0; i < s.count; i++)
                                op_move_before(s.ops[i], f->body.last);
                }
                number(&s);
        }
        count = stream(&s);
        arena_free(arena);
        return count;
}
