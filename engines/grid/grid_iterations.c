/* SPDX-License-Identifier: MIT */
/* grid, iterations: a compiler must not move a load before a store that may go to the same place,
 * and it has to assume this of all parameters of a kernel. So a lane that has several iterations
 * computes the values of all of them before it stores any: then their loads are under way at the
 * same time.
 *
 *     for %iteration = 0 to 8 {                      alloc %values : f32[8]
 *       let %k : index = %iteration * 32 + %lane     for %iteration = 0 to 8 unroll {
 *       store %y[%k] = %x[%k] * %b[%k]                 let %k : index = %iteration * 32 + %lane
 *     }                                                store %values[%iteration] = %x[%k] * %b[%k]
 *                                          ->        }
 *                                                    for %iteration2 = 0 to 8 unroll {
 *                                                      let %k2 : index = %iteration2 * 32 + %lane
 *                                                      store %y[%k2] = %values[%iteration2]
 *                                                    }
 *
 * Only iterations that are independent of each other may be written so. Exact: no value changes. */
#include "engines/grid/grid_iterations.h"

#include "passes/vectorize/jam.h"

static struct loop_stmt *last_of(const struct loop_block *block)
{
        struct loop_stmt *s = block->first;
        while (s && s->next)
                s = s->next;
        return s;
}

/* Returns the first of the stores that end such a body; NULL where the body has another form. */
static struct loop_stmt *stores_of(const struct loop_block *body)
{
        struct loop_stmt *s = body->first;
        while (s && s->kind == STMT_LET)
                s = s->next;
        if (s && s->kind == STMT_IF && !s->next && !s->other)
                return stores_of(s->body);
        for (const struct loop_stmt *store = s; store; store = store->next)
                if (store->kind != STMT_STORE || store->c || store->a->type.lanes != 1)
                        return NULL;
        return s;
}

bool grid_iterations_can(const struct loop_block *body) { return stores_of(body) != NULL; }

struct needed { const struct loop_variable *variable; bool found; };

static void find_use(struct loop_expr *e, void *context)
{
        struct needed *use = context;
        use->found |= e->op == LOOP_VARIABLE && e->variable == use->variable;
}

/* Removes values of the block that no later statement uses. */
static void drop_unused(struct loop_block *block)
{
        for (bool again = true; again;) {
                again = false;
                for (struct loop_stmt **at = &block->first; *at; at = &(*at)->next) {
                        struct needed use = { .variable = (*at)->variable };
                        struct loop_block rest = { .first = (*at)->next, .end = block->end };
                        if ((*at)->kind == STMT_IF)
                                drop_unused((*at)->body);
                        if ((*at)->kind != STMT_LET)
                                continue;
                        loop_block_walk(&rest, NULL, find_use, &use);
                        if (use.found)
                                continue;
                        *at = (*at)->next;
                        again = true;
                        break;
                }
        }
        struct loop_stmt *last = last_of(block);
        block->end = last ? &last->next : &block->first;
}

static struct loop_stmt *open_iterations(struct arena *arena, struct loop_block *block,
                                         int64_t count)
{
        struct loop_stmt *loop = loop_append(arena, block, STMT_FOR);
        loop->variable = loop_variable_new(arena, "iteration", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        loop->for_kind = FOR_UNROLL;
        loop->a = loop_index(arena, 0);
        loop->b = loop_index(arena, count);
        return loop;
}

static void append(struct loop_block *block, struct loop_stmt *s)
{
        s->next = NULL;
        *block->end = s;
        block->end = &s->next;
}

static void copy_block(struct jam_copy *copy, const struct loop_block *body, struct loop_block *out)
{
        struct loop_stmt *last = last_of(body);
        jam_range(copy, body->first, last->kind == STMT_IF ? last : NULL, out);
        if (last->kind != STMT_IF)
                return;
        struct loop_stmt *condition = loop_append(copy->arena, out, STMT_IF);
        condition->a = jam_expr(copy, last->a, 0);
        copy_block(copy, last->body, condition->body);
}

/* Writes a loop over iterations with a copy of the body; *stores is the first store of the copy. */
static struct loop_stmt *copy_iterations(struct arena *arena, const struct loop_variable *iteration,
                                         int64_t count, const struct loop_block *body,
                                         struct loop_block *lane, struct loop_stmt **stores)
{
        struct loop_stmt *loop = open_iterations(arena, lane, count);
        struct jam_copy *copy = jam_copy_new(arena, 1);
        copy->all = true;
        jam_copy_set(copy, iteration, 0, loop_use(arena, loop->variable));
        copy_block(copy, body, loop->body);
        *stores = stores_of(loop->body);
        return loop;
}

/* Allocates memory of a lane, in the block, for the values that a store has in all iterations. */
static struct loop_buffer *new_values(struct arena *arena, const struct loop_stmt *store,
                                      int64_t count, struct loop_block *block)
{
        struct loop_buffer *values = ARENA_NEW(arena, struct loop_buffer);
        *values = (struct loop_buffer){ .name = "values",
                                        .element = store->buffer->element,
                                        .extent = count,
                                        .space = SPACE_STACK,
                                        .offset = -1,
                                        .access = ACCESS_INOUT };
        loop_append(arena, block, STMT_ALLOC)->buffer = values;
        return values;
}

void grid_iterations_write(struct arena *arena, struct loop_variable *iteration, int64_t count,
                           struct loop_block *body, struct loop_block *lane)
{
        struct loop_block *computing = loop_block_new(arena), *storing = loop_block_new(arena);
        struct loop_stmt *to, *from,
                *compute = copy_iterations(arena, iteration, count, body, computing, &to),
                *put = copy_iterations(arena, iteration, count, body, storing, &from);
        for (; to; to = to->next, from = from->next) {
                to->buffer = new_values(arena, to, count, lane);
                to->a = loop_use(arena, compute->variable);
                from->b = loop_load(arena, to->buffer, loop_use(arena, put->variable));
        }
        drop_unused(compute->body);
        drop_unused(put->body);
        append(lane, compute);
        append(lane, put);
}
