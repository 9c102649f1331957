/* SPDX-License-Identifier: MIT */
/* parallelize: the outermost loops of kernels run on several threads.
 *
 *     for %i = 0 to 64 {                       for %i = 0 to 64 parallel {
 *       for %j = 0 to 784 { ... }      ->        for %j = 0 to 784 { ... }
 *     }                                        }
 *
 * Each thread takes a contiguous range of the iterations. Where these cannot be divided evenly, the
 * loop inside is split into chunks as well; with 2 threads:
 *
 *     for %i = 0 to 3 {                        for %part = 0 to 6 parallel {
 *       for %j = 0 to 784 { ... }      ->        let %i : index = %part / 2
 *     }                                          for %j = %part % 2 * 784 / 2 to (%part % 2 + 1) * 784 / 2 { ... }
 *                                              }
 *
 * Exact to the bit for any number of threads: every element is computed as before, by one thread.
 * It is done for loops from literal to literal that hold no `fail`, whose iterations are proved
 * independent (independence.c), and whose predicted time is worth sharing (schedule.h), but never
 * in a kernel that has a parallel loop already. Without --threads nothing happens. */
#include "cost/code.h"
#include "cost/threads_cost.h"
#include "passes/vectorize/independence.h"
#include "passes/vectorize/vectorize.h"

enum { EVEN_TRIPS = 16 };               /* This many iterations for each thread are divided evenly
                                         * enough as they are. */

struct partition { int64_t trip, inner_trip, chunks; struct loop_stmt *inner; };

static int64_t trip(const struct loop_stmt *s)
{
        int64_t from, to;
        if (!loop_is_int(s->a, &from) || !loop_is_int(s->b, &to) || to <= from)
                return 0;
        return (to - from + s->step - 1) / s->step;
}

static double cycles(const struct loop_bounds *bounds, const struct loop_stmt *loop,
                     const struct target *target)
{
        struct loop_stmt alone = *loop;
        alone.next = NULL;
        return cost_of_code(target, bounds, &(struct loop_block){ .first = &alone });
}

/* Returns the loop that is all of a body but for values that it uses, or NULL. */
static struct loop_stmt *inner_loop(const struct loop_stmt *loop)
{
        struct loop_stmt *s = loop->body->first;
        while (s && s->kind == STMT_LET)
                s = s->next;
        return s && s->kind == STMT_FOR && s->for_kind == FOR_SERIAL && !s->next ? s : NULL;
}

/* Returns how many iterations of the inner loop the busiest thread runs. */
static int64_t longest(const struct partition *partition, int64_t chunks, int threads)
{
        return divide_up(partition->trip * chunks, threads) *
               divide_up(partition->inner_trip, chunks);
}

/* Chooses into how many chunks the inner loop is split; 1 where it need not be. */
static void choose_chunks(struct partition *partition, const struct loop_stmt *loop, int threads)
{
        partition->chunks = 1;
        partition->inner = inner_loop(loop);
        partition->inner_trip = partition->inner ? trip(partition->inner) : 0;
        if (partition->trip >= EVEN_TRIPS * threads || partition->inner_trip < 2 ||
            partition->inner_trip > INT32_MAX)
                return;
        int64_t best = longest(partition, 1, threads);
        for (int64_t chunks = 2; chunks <= threads && chunks <= partition->inner_trip; chunks++) {
                int64_t now = longest(partition, chunks, threads);
                if (now >= best)
                        continue;
                best = now;
                partition->chunks = chunks;
        }
}

/* ---- rewriting ---- */

static struct loop_expr *op(struct arena *arena, enum loop_opcode op, struct loop_expr *a,
                            int64_t b)
{
        return loop_op(arena, op, a, loop_index(arena, b), NULL);
}

/* Returns the value of the loop's variable in iteration number `index`. */
static struct loop_expr *value_at(struct arena *arena, const struct loop_stmt *loop,
                                  struct loop_expr *index)
{
        int64_t from = 0;
        loop_is_int(loop->a, &from);
        return op(arena, LOOP_ADD, op(arena, LOOP_MUL, index, loop->step), from);
}

/* Returns the bound of the inner loop `ahead` chunks from here. */
static struct loop_expr *chunk_bound(struct arena *arena, const struct partition *partition,
                                     struct loop_variable *part, int ahead)
{
        struct loop_expr *chunk = op(arena, LOOP_REM, loop_use(arena, part), partition->chunks);
        struct loop_expr *scaled =
                op(arena, LOOP_MUL, op(arena, LOOP_ADD, chunk, ahead), partition->inner_trip);
        return value_at(arena, partition->inner, op(arena, LOOP_DIV, scaled, partition->chunks));
}

static void partition_loop(struct arena *arena, struct loop_stmt *loop,
                           const struct partition *partition)
{
        struct loop_variable *part =
                loop_variable_new(arena, "part", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        struct loop_expr *row = op(arena, LOOP_DIV, loop_use(arena, part), partition->chunks);
        struct loop_block *body = loop_block_new(arena);
        struct loop_stmt *let = loop_append(arena, body, STMT_LET);
        let->variable = loop->variable;
        let->variable->kind = VARIABLE_LET;
        let->a = value_at(arena, loop, row);
        let->next = loop->body->first;
        body->end = loop->body->end;
        struct loop_expr *from = chunk_bound(arena, partition, part, 0),
                         *to = chunk_bound(arena, partition, part, 1);
        partition->inner->a = from;
        partition->inner->b = to;
        loop->variable = part;
        loop->a = loop_index(arena, 0);
        loop->b = loop_index(arena, partition->trip * partition->chunks);
        loop->step = 1;
        loop->body = body;
}

/* ---- kernels ---- */

static int parallelize_loop(struct loop_program *p, const struct loop_bounds *bounds,
                            struct loop_stmt *loop, const struct pass_context *context)
{
        if (loop->kind != STMT_FOR || loop->for_kind != FOR_SERIAL)
                return 0;
        struct partition partition = { .trip = trip(loop) };
        const struct target *target = context->target;
        if (partition.trip < 1 || !shared_is_worth(cycles(bounds, loop, target), target))
                return 0;
        choose_chunks(&partition, loop, context->threads);
        struct loop_stmt *const nest[] = { loop, partition.inner };
        if (partition.chunks > 1 && !loops_are_independent(bounds, nest, 2, false))
                partition.chunks = 1;
        if (partition.trip * partition.chunks < 2 ||
            (partition.chunks == 1 && !loops_are_independent(bounds, nest, 1, false)))
                return 0;
        if (partition.chunks > 1)
                partition_loop(p->arena, loop, &partition);
        loop->for_kind = FOR_PARALLEL;
        return 1;
}

static void find_parallel(struct loop_stmt *s, void *found)
{
        *(bool *)found |=
                s->kind == STMT_FOR && s->for_kind != FOR_SERIAL && s->for_kind != FOR_UNROLL;
}

static int parallelize_kernel(struct loop_program *p, struct loop_function *kernel,
                              const struct pass_context *context)
{
        bool found = false;
        loop_block_walk(kernel->body, find_parallel, NULL, &found);
        if (found)
                return 0;
        struct arena *scratch = arena_new();
        const struct loop_bounds *bounds = loop_bounds_new(scratch, kernel);
        int count = 0;
        for (struct loop_stmt *s = kernel->body->first; s; s = s->next)
                count += parallelize_loop(p, bounds, s, context);
        arena_free(scratch);
        if (count)
                loop_function_rename(p->arena, kernel);
        return count;
}

int pass_parallelize(struct loop_program *p, struct pass_context *context)
{
        int count = 0;
        for (struct loop_function *k = p->kernels; k && context->threads > 1; k = k->next)
                if (k->kind == FUNCTION_KERNEL && !k->external)
                        count += parallelize_kernel(p, k, context);
        return count;
}
