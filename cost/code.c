/* SPDX-License-Identifier: MIT */
/* Predicts what code of vectors and of scalars costs: cycles of one core, summed over operations,
 * to choose between forms of the same loops.
 *
 *      operations      each by its kind, unless the target's row for it says what it takes; loads
 *                      and stores by how their lanes lie in memory; the arithmetic of subscripts is
 *                      hidden in addressing
 *      calls           the function's body
 *      loops           what begins them, and their iterations: as many as bounds say, or
 *                      UNKNOWN_TRIP
 *
 * The costs were set by hand, for a core that executes two simple operations at a time. They are
 * not fitted, because the alternatives differ by more than the errors: whole loops of vectors or of
 * scalars, masks or single iterations at their ends. The cost of a single loop may be wrong by a
 * factor of two. */
#include "cost/code.h"

#include "ir/target/rates.h"
#include "ir/loop/capability.h"

enum { UNKNOWN_TRIP = 8, DEPTH_MAX = 30 };

struct code { const struct target *target; const struct loop_bounds *bounds; };

static double cost_of_function(const struct code *c, const struct loop_function *f, int depth);

/* Returns the cost of a masked load; a masked store costs twice that. */
static double cost_of_mask(const struct target *t)
{
        return t && !target_has_masks(t) ? rate_code_unmasked(t) : rate_code_masked(t);
}

static double cost_by_row(const struct capability *row, double usual)
{
        return row && row->cycles > 0 ? (double)row->cycles : usual;
}

/* Returns what operations of its kind cost, without operands. */
static double cost_of_kind(const struct code *c, const struct loop_expr *e, int depth)
{
        const struct target *t = c->target;
        bool vector = e->type.lanes > 1;
        switch (e->op) {
        case LOOP_LITERAL: case LOOP_VARIABLE: case LOOP_TILE_ENTRY: case LOOP_BITCAST: return 0;
        case LOOP_LOAD:
                if (e->args[0]->type.lanes > 1)
                        return rate_code_gather(t) * e->type.lanes;
                return e->args[1] ? cost_of_mask(t) : rate_code_operation(t);
        case LOOP_CALL: return cost_of_function(c, e->function, depth + 1);
        case LOOP_DIV: case LOOP_REM:
                return vector ? rate_code_divide_vector(t) : rate_code_divide(t);
        case LOOP_MIN: case LOOP_MAX: return rate_code_extreme(t);
        case LOOP_INTERLEAVE_LOW: case LOOP_INTERLEAVE_HIGH: return rate_code_interleave(t);
        case LOOP_SUM_LANES: case LOOP_MAX_LANES: case LOOP_MIN_LANES: return rate_code_join(t);
        default: return rate_code_operation(t);
        }
}

/* Returns the cost of the operation itself, without its operands. */
static double cost_of_op(const struct code *c, const struct loop_expr *e, int depth)
{
        double usual = cost_of_kind(c, e, depth);
        bool vector = c->target && e->arity && (e->type.lanes > 1 || e->args[0]->type.lanes > 1);
        return vector ? cost_by_row(capability_of(c->target, e), usual) : usual;
}

static double cost_of_expr(const struct code *c, const struct loop_expr *e, int depth)
{
        if (!e || (e->type.element == E_INDEX && e->type.lanes == 1 && e->op != LOOP_LOAD))
                return 0;
        double cost = cost_of_op(c, e, depth);
        for (int i = 0; i < e->arity; i++)
                cost += cost_of_expr(c, e->args[i], depth);
        return cost;
}

static double cost_of_block(const struct code *c, const struct loop_block *block, int depth);

/* Is e something / step * step? */
static bool is_whole(const struct loop_expr *e, int64_t *step)
{
        int64_t by;
        return e->op == LOOP_MUL && loop_is_int(e->args[1], step) && e->args[0]->op == LOOP_DIV &&
               loop_is_int(e->args[0]->args[1], &by) && by == *step && by > 0;
}

static double trip(const struct code *c, const struct loop_stmt *s)
{
        int64_t step, number;
        /* Of what whole steps leave, half a step remains on average. */
        if (is_whole(s->a, &step) && !loop_is_int(s->b, &number))
                return (double)step / (double)(2 * s->step);
        struct loop_range a = loop_bounds_of(c->bounds, s->a), b = loop_bounds_of(c->bounds, s->b);
        if (a.low == INT64_MIN || b.high == INT64_MAX)
                return UNKNOWN_TRIP;
        double n = ((double)b.high - (double)a.low) / (double)s->step;
        return n > 0 ? n : 0;
}

static double cost_of_iterations(const struct code *c, double iterations,
                                 const struct loop_block *body, int depth)
{
        return iterations * (rate_code_iteration(c->target) + cost_of_block(c, body, depth));
}

/* Returns the cost of a loop around the task. */
static double cost_of_launch(const struct code *c, const struct loop_stmt *s, int depth)
{
        struct arena *scratch = arena_new();
        struct code inside = *c;
        inside.bounds = loop_bounds_launched(scratch, c->bounds, s);
        double cost = cost_of_iterations(&inside, trip(c, s), s->function->body, depth);
        arena_free(scratch);
        return cost;
}

static double cost_of_store_kind(const struct target *t, const struct loop_stmt *s)
{
        if (s->a->type.lanes > 1)
                return rate_code_scatter(t) * s->b->type.lanes;
        if (t && s->b->type.lanes > 1 && !capability_of_type(t, s->b->type))
                return rate_code_lanes(t) + rate_code_lane(t) * s->b->type.lanes;
        return s->c ? 2 * cost_of_mask(t) : rate_code_store(t);
}

static double cost_of_store(const struct target *t, const struct loop_stmt *s)
{
        double usual = cost_of_store_kind(t, s);
        bool vector = t && s->b->type.lanes > 1;
        return vector ? cost_by_row(capability_of_store(t, s), usual) : usual;
}

static double cost_of_stmt(const struct code *c, const struct loop_stmt *s, int depth)
{
        double cost = cost_of_expr(c, s->a, depth) + cost_of_expr(c, s->b, depth) +
                      cost_of_expr(c, s->c, depth);
        double begin = rate_code_loop(c->target);
        switch (s->kind) {
        case STMT_FOR: return cost + begin + cost_of_iterations(c, trip(c, s), s->body, depth);
        case STMT_LAUNCH: return cost + begin + cost_of_launch(c, s, depth);
        case STMT_WHILE: return cost + cost_of_iterations(c, UNKNOWN_TRIP, s->body, depth);
        case STMT_IF:
                return cost + begin + cost_of_block(c, s->body, depth) +
                       (s->other ? cost_of_block(c, s->other, depth) : 0);
        case STMT_STORE: return cost + cost_of_store(c->target, s);
        default: return cost;
        }
}

static double cost_of_block(const struct code *c, const struct loop_block *block, int depth)
{
        double cost = 0;
        for (const struct loop_stmt *s = block->first; s; s = s->next)
                cost += cost_of_stmt(c, s, depth);
        return cost;
}

static double cost_of_function(const struct code *c, const struct loop_function *f, int depth)
{
        const struct code inside = { .target = c->target };
        return depth < DEPTH_MAX ? cost_of_block(&inside, f->body, depth) : 0;
}

double cost_of_code(const struct target *target, const struct loop_bounds *bounds,
                    const struct loop_block *block)
{
        return cost_of_block(&(struct code){ target, bounds }, block, 0);
}
