/* vectorize: what code costs. Only for choosing between forms of the same loops, so that a rough
 * scale will do: cycles of a processor that does about two simple operations at a time. Arithmetic
 * of subscripts hides in addresses. */
#include "passes/vectorize/vectorize.h"

#include "ir/spelling.h"

enum { UNKNOWN_TRIP = 8, DEPTH_MAX = 30 };

static double cost_of_function(const struct loop_function *f, int depth);

/* what a masked load costs; a store twice that */
static double cost_of_mask(const struct vectorizing *v)
{
        return v && v->target && !target_has_masks(v->target) ? 2 : 0.5;
}

/* the operation itself */
static double cost_of_op(const struct vectorizing *v, const struct loop_expr *e, int depth)
{
        bool vector = e->type.lanes > 1;
        switch (e->op) {
        case LOOP_LITERAL: case LOOP_VARIABLE: case LOOP_TILE_ENTRY: case LOOP_BITCAST: return 0;
        case LOOP_LOAD:
                if (e->args[0]->type.lanes > 1)
                        return 1.2 * e->type.lanes;
                return e->args[1] ? cost_of_mask(v) : 0.5;
        case LOOP_CALL: return cost_of_function(e->function, depth + 1);
        case LOOP_DIV: case LOOP_REM: return vector ? 8 : 4;
        case LOOP_MIN: case LOOP_MAX: return 1.5;        /* NaN takes an instruction or two */
        case LOOP_INTERLEAVE_LOW: case LOOP_INTERLEAVE_HIGH: return 1;
        case LOOP_SUM_LANES: case LOOP_MAX_LANES: case LOOP_MIN_LANES: return 8;
        default: return 0.5;
        }
}

static double cost_of_expr(const struct vectorizing *v, const struct loop_expr *e, int depth)
{
        if (!e || (e->type.element == E_INDEX && e->type.lanes == 1 && e->op != LOOP_LOAD))
                return 0;
        double cost = cost_of_op(v, e, depth);
        for (int i = 0; i < e->arity; i++)
                cost += cost_of_expr(v, e->args[i], depth);
        return cost;
}

static double cost_of_block(const struct vectorizing *v, const struct loop_block *block, int depth);

static double trip(const struct vectorizing *v, const struct loop_stmt *s)
{
        const struct loop_bounds *bounds = v ? v->bounds : NULL;
        struct loop_range a = loop_bounds_of(bounds, s->a), b = loop_bounds_of(bounds, s->b);
        if (a.low == INT64_MIN || b.high == INT64_MAX)
                return UNKNOWN_TRIP;
        double n = ((double)b.high - (double)a.low) / (double)s->step;
        return n > 0 ? n : 0;
}

/* a loop around the task */
static double cost_of_launch(const struct vectorizing *v, const struct loop_stmt *s, int depth)
{
        struct arena *scratch = arena_new();
        struct vectorizing inside = *v;
        inside.bounds = loop_bounds_launched(scratch, v->bounds, s);
        double cost = trip(v, s) * (1 + cost_of_block(&inside, s->function->body, depth));
        arena_free(scratch);
        return cost;
}

static double cost_of_stmt(const struct vectorizing *v, const struct loop_stmt *s, int depth)
{
        double cost = cost_of_expr(v, s->a, depth) + cost_of_expr(v, s->b, depth) +
                      cost_of_expr(v, s->c, depth);
        switch (s->kind) {
        case STMT_FOR: return cost + 2 + trip(v, s) * (1 + cost_of_block(v, s->body, depth));
        case STMT_LAUNCH: return cost + 2 + cost_of_launch(v, s, depth);
        case STMT_WHILE: return cost + UNKNOWN_TRIP * (1 + cost_of_block(v, s->body, depth));
        case STMT_IF:
                return cost + 2 + cost_of_block(v, s->body, depth) +
                       (s->other ? cost_of_block(v, s->other, depth) : 0);
        case STMT_STORE:
                if (s->a->type.lanes > 1)
                        return cost + 1.5 * s->b->type.lanes;
                if (v && v->target && s->b->type.lanes > 1 &&
                    !spelling_of_type(v->target, s->b->type))
                        return cost + 10 + 3 * s->b->type.lanes;        /* lane by lane */
                return cost + (s->c ? 2 * cost_of_mask(v) : 1);
        default: return cost;
        }
}

static double cost_of_block(const struct vectorizing *v, const struct loop_block *block, int depth)
{
        double cost = 0;
        for (const struct loop_stmt *s = block->first; s; s = s->next)
                cost += cost_of_stmt(v, s, depth);
        return cost;
}

static double cost_of_function(const struct loop_function *f, int depth)
{
        return depth < DEPTH_MAX ? cost_of_block(NULL, f->body, depth) : 0;
}

double vectorize_cost(const struct vectorizing *v, const struct loop_block *block)
{
        return cost_of_block(v, block, 0);
}
