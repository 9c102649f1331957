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
 * in the way: what needs all rows at once, as norms and attention do. Resizes, transposed
 * convolutions and shuffles are none: a row of theirs needs some rows, only fewer or others; and a
 * global pool at the end of a range takes rows as they come. A contraction keeps its schedule of
 * register tiles, unless it is computed in patches: then it is computed one by one, which counts
 * as computing again. Everything else is computed by its canonical nest: results stay the same to
 * the bit, but where a contraction has no register tiles any more, which may add up in another
 * order. */
#include <limits.h>

#include "kernels/circular_buffers.h"
#include "kernels/kernels.h"
#include "passes/fuse/join.h"
#include "passes/memory/arrange.h"
#include "passes/pass.h"

enum {
        RANGE_MAX = 32,                 /* A range has this many operations at most. */
        ONE_BY_ONE = 8                  /* What register tiles compute takes about so many times as
                                         * long one by one. */
};

/* The struct measures a range as one kernel: the bytes of its circular buffers (and of what is
 * prepared for it) with whole rows, and with the narrowest patches. INT64_MAX: it cannot be one
 * kernel. */
struct range { int64_t whole, narrow; };

/* The best way to go on from an operation: the range that begins there ends with operation `last`,
 * in patches of `patch` columns; `again` is what it and all ranges behind it compute again, and
 * `joins` how many kernels they join. last < 0: there is no way. */
struct way { int last; int64_t patch; double again; int joins; };

struct streaming {
        struct region *region;
        struct pass_context *context;
        struct arena *arena;
        struct op **ops;
        int count;
        int64_t *entering, *made;       /* Each operation has the bytes that exist before it and are
                                         * needed later, and the bytes of its results. */
        int *last;                      /* Each operation has the number of the last reader of its
                                         * results; INT_MAX: the function returns them. */
        const struct op **obstacle;     /* Each operation has the one that keeps a longer range from
                                         * beginning there, or NULL. */
        struct range (*ranges)[RANGE_MAX];        /* ranges[p][q - p] is the range p..q; a range of
                                                   * one operation has no buffers. */
        int64_t *least;                 /* Each operation has the fewest bytes with which it and all
                                         * behind it can run. */
        struct way *ways;
        int64_t budget;                 /* --max-ram leaves this many bytes to the region. */
        int64_t enough;                 /* This many bytes may be in use. */
};

/* ---- what is in use ---- */

/* Returns the operation of the region that op is, or is inside of. */
static struct op *outermost(const struct streaming *s, struct op *op)
{
        while (op->region != s->region)
                op = op->region->owner;
        return op;
}

/* Returns the number of v's last reader. A reshape is another name for its operand. */
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

/* Finds `entering`, `made` and `last`, in the order of the operations. Results of the function lie
 * in the caller's memory. */
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

/* The operations from *op on are copies of a kernel's. A value that is handed on inside (the kernel
 * may be several that were joined before) becomes a circular buffer. Returns the copy of the
 * kernel's result, and sets *op to the operation behind the copies. */
static struct op *mark_inside(const struct op *kernel, struct op **op)
{
        const struct op *inside = kernel->code == OP_fusion ? kernel->regions[0]->first : kernel;
        const struct op *end = kernel->code == OP_fusion ? kernel->regions[0]->last : kernel->next;
        struct op *made = NULL;
        for (bool follows = false; inside != end; inside = inside->next, *op = (*op)->next) {
                bool heavy = op_info[(*op)->code].traits & (TRAIT_CONTRACTION | TRAIT_REDUCTION);
                if (schedule_scalar((*op)->schedule))
                        (*op)->schedule = NULL; /* That schedule is for all rows at once. */
                if (heavy && follows && op_operand(*op, 0)->kind == VALUE_RESULT)
                        circular_mark(op_operand(*op, 0)->op);
                follows |= heavy;
                if (kernel->code != OP_fusion || op_result(inside) == op_operand(end, 0))
                        made = *op;
        }
        return made;
}

/* Does it compute from constants alone, as what decodes weights does? Then it stays apart, in front
 * of the kernel of its range. */
static bool prepares(const struct op *op)
{
        bool all = op->operand_count > 0;
        for (int i = 0; i < op->operand_count; i++)
                all = all && op_operand(op, i)->kind == VALUE_CONSTANT;
        return all;
}

/* Can it be in a range? Reshapes can, but neither first nor last. */
static bool is_inner(const struct op *op) { return op->code == OP_reshape || is_kernel(op); }
static bool is_end(const struct op *op) { return is_kernel(op) && !prepares(op); }

/* Is its result another order of elements that are in memory already? */
static bool is_view(const struct op *op)
{
        return op->code == OP_transpose || op->code == OP_reshape || op->code == OP_neighbours;
}

/* Builds a kernel of the operations p..q, beside them. What they hand on to each other lies in
 * circular buffers; what only moves elements is read through. */
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
                if (i + 1 < count && !is_view(kernels[i]))
                        circular_mark(made);
        }
        return joined;
}

/* Returns the bytes of the results of p..q that stay apart, because constants alone make them. */
static int64_t prepared(const struct streaming *s, int p, int q)
{
        int64_t bytes = 0;
        for (int i = p; i < q; i++)
                bytes += prepares(s->ops[i]) ? s->made[i] : 0;
        return bytes;
}

/* Measures the range p..q. Returns false if it cannot be one kernel, nor can any longer range that
 * begins with p. */
static bool measure(struct streaming *s, int p, int q)
{
        const struct op *unused = NULL;
        struct circular_cost whole, narrow;
        struct op *joined = join(s, p, q);
        bool good = joined && circular_cost(joined, s->context->target, &whole, &s->obstacle[p]);
        if (good) {
                circular_set_patch(joined, 1);
                bool patches =
                        !s->context->whole_rows &&
                        circular_cost(joined, s->context->target, &narrow, &unused) &&
                        narrow.bytes < whole.bytes;
                int64_t aside = prepared(s, p, q);
                s->ranges[p][q - p] =
                        (struct range){ aside + whole.bytes,
                                        aside + (patches ? narrow.bytes : whole.bytes) };
        }
        if (joined)
                op_erase(joined);
        return good;
}

/* Returns the bytes in use while p..q run as one kernel. */
static int64_t bytes_with(const struct streaming *s, int p, int q, int64_t buffers)
{
        return s->entering[p] + s->made[q] + buffers;
}

/* Finds the ranges that begin with p: none of their operations but the last hands a result to an
 * operation outside, and one of them alone takes too much memory. */
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

/* Finds, from the last operation on, the fewest bytes with which p and all behind it can run. */
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

/* Finds the widest patches with which the kernel's buffers take no more than `room` bytes. All
 * patches are about as wide. */
static int64_t widest_patch(struct op *kernel, const struct target *target, int64_t room,
                            struct circular_cost *cost)
{
        const struct op *unused = NULL;
        int64_t columns = circular_columns(kernel), low = 1, high = columns - 1;
        while (low < high) {
                int64_t middle = (low + high + 1) / 2;
                circular_set_patch(kernel, middle);
                bool fits = circular_cost(kernel, target, cost, &unused) && cost->bytes <= room;
                *(fits ? &low : &high) = fits ? middle : middle - 1;
        }
        int64_t count = divide_up(columns, low), patch = divide_up(columns, count);
        circular_set_patch(kernel, patch);
        circular_cost(kernel, target, cost, &unused);
        return patch;
}

/* Sets *way to the range p..q followed by the best way behind it. Returns false if that takes too
 * many bytes. */
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
                        widest_patch(joined, s->context->target,
                                     s->enough - bytes_with(s, p, q, prepared(s, p, q)),
                                     &cost);
                way->again += cost.again + (ONE_BY_ONE - 1) * cost.slower;
                op_erase(joined);
        }
        return true;
}

/* Finds the ways from the last operation on: within enough bytes, those that compute least again,
 * then those that join the fewest kernels. */
static void find_ways(struct streaming *s)
{
        s->enough = larger(s->least[0], s->budget);
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

/* Has it a schedule that is for all rows at once? */
static bool loses_schedule(const struct op *kernel)
{
        const struct op *op = kernel->code == OP_fusion ? kernel->regions[0]->first : kernel;
        const struct op *end = kernel->code == OP_fusion ? kernel->regions[0]->last : kernel->next;
        bool loses = false;
        for (; op != end; op = op->next)
                loses |= schedule_scalar(op->schedule) != NULL;
        return loses;
}

static int64_t replace(const struct streaming *s, int p, const struct way *way)
{
        const struct op *unused = NULL;
        struct circular_cost cost = { 0 };
        struct op *joined = join(s, p, way->last), *last = s->ops[way->last];
        if (!joined)
                return -1;
        for (int i = p; i <= way->last; i++)
                s->context->one_by_one |= loses_schedule(s->ops[i]);
        if (way->patch) {
                circular_set_patch(joined, way->patch);
                circular_cost(joined, s->context->target, &cost, &unused);
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
        /* Operations behind it can do with less. */
        const struct op *most = NULL, *obstacle = NULL;
        for (int p = 0; p < s->count && s->least[p] == s->enough; p = s->ways[p].last + 1) {
                most = s->ops[p];
                /* What is in memory as a whole was made before. */
                obstacle = s->obstacle[p] ? s->obstacle[p] : obstacle;
        }
        if (s->enough > s->budget) {
                s->context->obstacle =
                        arena_printf(s->region->function->module->arena, "where '%s' runs%s%s%s",
                                     name_of(most), obstacle ? ": '" : "",
                                     obstacle ? name_of(obstacle) : "",
                                     obstacle ? "' needs all rows at once" : "");
                diag_note(s->context->diag, "streaming ends at %lld bytes, %s",
                          (long long)(s->enough + s->context->max_ram - s->budget),
                          s->context->obstacle);
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

static struct streaming prepare(struct arena *arena, struct region *region, int count,
                                int64_t budget, struct pass_context *context)
{
        size_t room = (size_t)count + 1;
        return (struct streaming){ .region = region,
                                   .context = context,
                                   .budget = budget,
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

/* Fills `ops` with the operations of s in their order, but each just before the first one that
 * needs it. */
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

static int stream_region(struct region *region, int64_t budget, struct pass_context *context);

/* Does the same in the bodies of loops and branches. While one runs, what was made before, and what
 * the loop makes, is there as a whole. */
static int stream_bodies(const struct streaming *s)
{
        int count = 0;
        for (int i = 0; i < s->count; i++) {
                const struct op *op = s->ops[i];
                const int64_t left = s->budget - s->entering[i] - s->made[i];
                for (int k = 0; !op_is_kernel(op) && k < op->region_count; k++) {
                        int joins = stream_region(op->regions[k], left, s->context);
                        if (joins < 0)
                                return -1;
                        count += joins;
                }
        }
        return count;
}

static int stream_region(struct region *region, int64_t budget, struct pass_context *context)
{
        int count = 0;
        for (const struct op *op = region->first; op != region->last; op = op->next)
                count++;
        if (!count)
                return 0;
        struct arena *arena = arena_new();
        struct streaming s = prepare(arena, region, count, budget, context),
                         other = prepare(arena, region, count, budget, context);
        count = 0;
        for (struct op *op = region->first; op != region->last; op = op->next)
                s.ops[count++] = op;
        cut(&s);
        if (s.enough > budget || s.ways[0].again > 0) {
                order_by_need(&s, other.ops);
                cut(&other);
                if (other.enough < s.enough ||
                    (other.enough == s.enough && other.ways[0].again < s.ways[0].again)) {
                        s = other;
                        for (int i = 0; i < s.count; i++)
                                op_move_before(s.ops[i], region->last);
                }
                number(&s);
        }
        context->again += s.ways[0].again;
        const int inside = stream_bodies(&s);
        count = inside < 0 ? -1 : stream(&s);
        arena_free(arena);
        return count < 0 ? count : inside + count;
}

int pass_stream(struct function *f, struct pass_context *context)
{
        /* Circular buffers are for rows of known extents. */
        if (context->max_ram < 0 || module_has_extents(f->module))
                return 0;
        return stream_region(&f->body, context->max_ram, context);
}
