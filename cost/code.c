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
 * The same sums count work in products (COUNT_WORK), for any target: a product and its addition are
 * 1, and so is each other operation, load or store; those on a vector are as many as its lanes.
 * Conversions between integers and subscripts are 0, quotients WORK_DIVIDE, functions of the
 * library as many as they have products. On a Cortex-M4 code takes 0.9 to 2.8 instructions for 1.
 *
 * And they count what a core without vectors executes (code_count) and its code (code_bytes). These
 * counts are fitted, as code.h says.
 *
 * The costs were set by hand, for a core that executes two simple operations at a time. They are
 * not fitted, because the alternatives differ by more than the errors: whole loops of vectors or of
 * scalars, masks or single iterations at their ends. The cost of a single loop may be wrong by a
 * factor of two. */
#include "cost/code.h"

#include <math.h>

#include "ir/target/rates.h"
#include "ir/loop/capability.h"

enum { UNKNOWN_TRIP = 8, DEPTH_MAX = 30, WORK_DIVIDE = 4 };

struct code {
        enum code_count count;
        const struct target *target;
        const struct loop_bounds *bounds;
        struct loop_bounds *run;        /* The same, of one run: they follow its iterations. NULL:
                                         * code of all runs is priced. */
        double around;                  /* A block of one run is executed so often. */
};

static double cost_of_function(const struct code *c, const struct loop_function *f, int depth);
static double count_expr(const struct code *c, const struct loop_expr *e, int depth);
static double cost_of_expr(const struct code *c, const struct loop_expr *e, int depth);

/* Are all instructions of interest? */
static bool executes(const struct code *c)
{
        return c->count == COUNT_NONE || c->count == COUNT_INSTRUCTIONS || c->count == COUNT_CODE;
}

/* Returns the cost of beginning a loop, or of a condition; and that of an iteration. */
static double begin_of(const struct code *c)
{
        return executes(c) ? rate_code_loop(c->target) : c->count == COUNT_WORK;
}

static double iteration_of(const struct code *c)
{
        return executes(c) ? rate_code_iteration(c->target)
                        : c->count == COUNT_BRANCHES || c->count == COUNT_WORK;
}

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
        if (c->count)
                return count_expr(c, e, depth);
        double cost = cost_of_op(c, e, depth);
        for (int i = 0; i < e->arity; i++)
                cost += cost_of_expr(c, e->args[i], depth);
        return cost;
}

static double cost_of_block(const struct code *c, const struct loop_block *block, int depth);

/* ---- instructions of scalars ----
 *
 * A core without vectors that starts one instruction in a cycle: what a C compiler makes of
 * expressions. Addresses are in loads and stores, conversions of narrow integers too; a product
 * whose sum is taken is one instruction where the core has that. */

/* Returns how many 32-bit registers a value takes. */
static double words_of(struct loop_type type)
{
        return element_info[type.element].bytes > 4 ? 2 : 1;
}

static bool is_narrow_with_sign(enum element e)
{
        return element_info[e].class == CLASS_SINT && element_info[e].bytes < 4;
}

/* In code a call takes so many instructions, and one of floats so many times as many bytes. */
static const double CALL = 4, FLOAT = 2;

/* Returns the instructions of an operation, without its operands. */
static double instructions_of(const struct code *c, const struct loop_expr *e, int depth)
{
        const struct target *t = c->target;
        const enum element element = e->arity ? e->args[0]->type.element : e->type.element;
        switch (e->op) {
        case LOOP_LITERAL: case LOOP_VARIABLE: case LOOP_TILE_ENTRY: case LOOP_BITCAST: return 0;
        case LOOP_LOAD:
                return words_of(e->type) *
                       (is_narrow_with_sign(e->type.element) ? rate_code_signed(t)
                                                             : rate_code_operation(t));
        case LOOP_CALL: return cost_of_function(c, e->function, depth + 1);
        case LOOP_CAST:
                if (element_is_float(element) || element_is_float(e->type.element))
                        break;
                return words_of(e->type) - 1;
        case LOOP_MIN: case LOOP_MAX: case LOOP_MIN_ORDERED: case LOOP_MAX_ORDERED:
                if (!element_is_float(element))
                        return rate_code_extreme(t) * words_of(e->type);
                break;
        case LOOP_DIV: case LOOP_REM:
                if (c->count == COUNT_CODE)
                        return CALL;
                return rate_code_divide(t) * (element_is_float(element) ? rate_code_float(t) : 1);
        case LOOP_ADD:
                if (!element_is_float(element) && words_of(e->type) == 1 &&
                    (e->args[0]->op == LOOP_MUL || e->args[1]->op == LOOP_MUL))
                        return rate_code_accumulate(t) - rate_code_operation(t);
                break;
        case LOOP_SPLAT:                /* Products take single floats as they are. */
                return element_is_float(element) ? 0 : rate_code_operation(t);
        default: break;
        }
        if (e->type.lanes > 1)
                return rate_code_operation(t);
        double times = element_is_float(element) ? rate_code_float(t)
                       : words_of(e->type) > 1   ? rate_code_long(t)
                                                 : 1;
        if (c->count == COUNT_CODE)     /* What a core has not is a call. */
                times = fmin(times, CALL) * (element_is_float(element) ? FLOAT : 1);
        return rate_code_operation(t) * times;
}

/* ---- work ---- */

static void count_product(struct loop_expr *e, void *count)
{
        *(double *)count += e->op == LOOP_MUL || e->op == LOOP_FMA;
}

static double products_of_function(const struct loop_function *f)
{
        double count = 0;
        loop_block_walk(f->body, NULL, count_product, &count);
        return count > 1 ? count : 1;
}

/* Does the operation add a product to something? Both are one. */
static bool adds_product(const struct loop_expr *e)
{
        return (e->op == LOOP_ADD || e->op == LOOP_SUB) &&
               (e->args[0]->op == LOOP_MUL || e->args[1]->op == LOOP_MUL);
}

static double work_of_op(const struct loop_expr *e)
{
        switch (e->op) {
        case LOOP_LITERAL: case LOOP_VARIABLE: case LOOP_TILE_ENTRY: case LOOP_BITCAST:
        case LOOP_SPLAT: case LOOP_RAMP: case LOOP_LANE: return 0;
        case LOOP_CAST:
                return element_is_float(e->type.element) ||
                                       element_is_float(e->args[0]->type.element)
                               ? e->type.lanes
                               : 0;
        case LOOP_DIV: case LOOP_REM: return WORK_DIVIDE * e->type.lanes;
        case LOOP_CALL: return products_of_function(e->function) * e->type.lanes;
        default: return adds_product(e) ? 0 : e->type.lanes;
        }
}

static double work_of_expr(const struct code *c, const struct loop_expr *e, int depth)
{
        double work = work_of_op(e);
        for (int i = 0; i < e->arity; i++)
                work += cost_of_expr(c, e->args[i], depth);
        return work;
}

static double count_expr(const struct code *c, const struct loop_expr *e, int depth)
{
        if (c->count == COUNT_WORK)
                return work_of_expr(c, e, depth);
        const struct capability *row = capability_of(c->target, e);
        const bool known = row && row->cycles > 0 && (row->op >= LOOP_CALL || e->type.lanes > 1);
        int bits, shift;
        if (row && row->op == CAN_SATURATE)
                return row->cycles * executes(c) +
                       count_expr(c, capability_saturated(e, &bits, &shift), depth);
        double count = 0;
        if (c->count == COUNT_LOADS)
                count = e->op == LOOP_LOAD ? words_of(e->type) : 0;
        else if (executes(c))
                count = known ? (double)row->cycles : instructions_of(c, e, depth);
        for (int i = 0; i < e->arity; i++)
                count += cost_of_expr(c, e->args[i], depth);
        return count;
}

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
        struct loop_range a = loop_bounds_of(c->bounds, s->a), b = loop_bounds_of(c->bounds, s->b);
        /* Of what whole steps leave, half a step remains on average. */
        if ((a.low < a.high || b.low < b.high) && is_whole(s->a, &step) &&
            !loop_is_int(s->b, &number))
                return (double)step / (double)(2 * s->step);
        if (a.low == INT64_MIN || b.high == INT64_MAX)
                return UNKNOWN_TRIP;
        double n = ((double)b.high - (double)a.low) / (double)s->step;
        return n > 0 ? n : 0;
}

/* ---- loops of one run ----
 *
 * Where a loop's variable decides how long loops inside it are, or which side of an if runs, its
 * iterations cost different amounts: the first, the last and some in between are priced. */

enum { SAMPLES = 6, SAMPLES_RESUMED = 2 };

struct dependence { struct map *variables; bool found; };

static void note_use(struct loop_expr *e, void *context)
{
        struct dependence *d = context;
        d->found |= e->variable &&
                    map_get(d->variables, (const char *)&e->variable, sizeof e->variable);
}

static bool depends(struct dependence *d, struct loop_expr *e)
{
        d->found = false;
        if (e)
                loop_expr_walk(e, note_use, d);
        return d->found;
}

/* Do variables that are noted, or what follows from them, decide what runs in the block? */
static bool decides(struct dependence *d, const struct loop_block *block)
{
        for (const struct loop_stmt *s = block ? block->first : NULL; s; s = s->next) {
                if (s->kind == STMT_FOR || s->kind == STMT_IF || s->kind == STMT_LAUNCH) {
                        if (depends(d, s->a) || depends(d, s->b))
                                return true;
                } else if (s->kind == STMT_LET && depends(d, s->a)) {
                        map_set(d->variables, (const char *)&s->variable, sizeof s->variable, d);
                }
                if (decides(d, s->body) || decides(d, s->other))
                        return true;
        }
        return false;
}

/* Do iterations of the loop cost different amounts? */
static bool does_vary(const struct loop_stmt *s)
{
        struct arena *scratch = arena_new();
        struct dependence d = { map_new(scratch), false };
        map_set(d.variables, (const char *)&s->variable, sizeof s->variable, &d);
        const bool varies = decides(&d, s->body);
        arena_free(scratch);
        return varies;
}

/* Returns the cost of all `count` iterations of a loop that begins at `from`, of which `most` are
 * priced between the first and the last. */
static double cost_of_sampled(const struct code *c, const struct loop_stmt *s, int64_t from,
                              int64_t count, int64_t most, int depth)
{
        double inside = 0, ends = 0;
        const int64_t between = count > 2 ? count - 2 : 0,
                      samples = between < most ? between : most;
        for (int64_t i = 0; i < samples + (count > 1 ? 2 : 1); i++) {
                const int64_t at = !i ? 0 : i == samples + 1 ? count - 1
                                                             : 1 + (i - 1) * (count - 2) / samples;
                const int64_t value = from + at * s->step;
                loop_bounds_set(c->run, s->variable, (struct loop_range){ value, value, 1 });
                const double cost = iteration_of(c) +
                                    cost_of_block(c, s->body, depth);
                if (at && at < count - 1)
                        inside += cost;
                else
                        ends += cost;
        }
        return ends + (samples > 0 ? inside * (double)(count - 2) / (double)samples : 0);
}

/* Returns the cost of a loop that goes on where it ended the last time, as those over rows of
 * circular buffers do: all its iterations together are those of the range of its start. */
static double cost_of_resumed(const struct code *c, const struct loop_stmt *s, int depth)
{
        const struct loop_range all = loop_bounds_of(c->run, s->a);
        const double count = (double)(all.high - all.low) / (double)s->step;
        struct code inside = *c;
        inside.around = count > 1 ? count : 1;
        if (does_vary(s))
                return cost_of_sampled(&inside, s, all.low, (int64_t)count, SAMPLES_RESUMED,
                                       depth) / c->around;
        loop_bounds_set(c->run, s->variable, loop_bounds_for(c->run, s->a, s->b, s->step));
        return count / c->around * (iteration_of(c) + cost_of_block(&inside, s->body, depth));
}

static bool is_resumed(const struct code *c, const struct loop_stmt *s)
{
        const struct loop_range all = loop_bounds_of(c->run, s->a);
        return s->a->op == LOOP_VARIABLE && s->a->variable->kind == VARIABLE_VAR &&
               all.low > INT64_MIN && all.high < INT64_MAX && all.high > all.low;
}

/* Returns the cost of the iterations of a loop of one run. */
static double cost_of_loop(const struct code *outside, const struct loop_stmt *s, int depth)
{
        struct code inside = *outside;
        const struct code *c = &inside;
        if (is_resumed(c, s))
                return cost_of_resumed(c, s, depth);
        const struct loop_range a = loop_bounds_of(c->run, s->a), b = loop_bounds_of(c->run, s->b);
        if (a.low < a.high || b.low < b.high) {
                const double count = trip(c, s);
                loop_bounds_set(c->run, s->variable, loop_bounds_for(c->run, s->a, s->b, s->step));
                inside.around *= count > 1 ? count : 1;
                return count * (iteration_of(c) + cost_of_block(c, s->body, depth));
        }
        const int64_t count = b.low > a.low ? (b.low - a.low + s->step - 1) / s->step : 0;
        if (!count)
                return 0;
        inside.around *= (double)count;
        if (does_vary(s))
                return cost_of_sampled(c, s, a.low, count, SAMPLES, depth);
        loop_bounds_set(c->run, s->variable,
                        (struct loop_range){ a.low, a.low + (count - 1) * s->step, 1 });
        return (double)count *
               (iteration_of(c) + cost_of_block(c, s->body, depth));
}

/* ---- statements ---- */

static double cost_of_iterations(const struct code *c, double iterations,
                                 const struct loop_block *body, int depth)
{
        return iterations * (iteration_of(c) + cost_of_block(c, body, depth));
}

/* Copies the bounds of the variables of a launch's range to those of its task. */
struct launched { const struct loop_bounds *kernel; struct loop_bounds *task; };

static void keep_bounds(struct loop_expr *e, void *context)
{
        const struct launched *l = context;
        if (e->op == LOOP_VARIABLE)
                loop_bounds_set(l->task, e->variable, loop_bounds_of(l->kernel, e));
}

/* Returns the cost of a loop around the task. */
static double cost_of_launch(const struct code *c, const struct loop_stmt *s, int depth)
{
        struct arena *scratch = arena_new();
        struct code inside = *c;
        struct launched launched = { c->bounds, loop_bounds_launched(scratch, c->bounds, s) };
        inside.bounds = launched.task;
        double cost;
        if (c->run && c->count != COUNT_CODE) {
                const struct loop_function *task = s->function;
                const struct loop_stmt loop = { .kind = STMT_FOR,
                                                .variable = task->scalars[task->scalar_count - 1],
                                                .a = s->a,
                                                .b = s->b,
                                                .step = s->step,
                                                .body = task->body };
                inside.run = launched.task;
                loop_expr_walk(s->a, keep_bounds, &launched);
                loop_expr_walk(s->b, keep_bounds, &launched);
                cost = cost_of_loop(&inside, &loop, depth);
        } else {
                const double iterations = c->count == COUNT_CODE ? 1 : trip(c, s);
                cost = cost_of_iterations(&inside, iterations, s->function->body, depth);
        }
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

static double count_store(const struct code *c, const struct loop_stmt *s)
{
        const bool counts = executes(c) || c->count == COUNT_STORES;
        if (c->count == COUNT_WORK)
                return s->b->type.lanes;
        return counts ? words_of(s->b->type) : 0;
}

/* Do bounds decide a condition? */
static bool is_decided(const struct code *c, const struct loop_expr *condition, bool *value)
{
        const struct loop_range r = loop_bounds_of(c->bounds, condition);
        *value = r.low;
        return r.low == r.high;
}

static double cost_of_stmt(const struct code *c, const struct loop_stmt *s, int depth)
{
        double cost = cost_of_expr(c, s->a, depth) + cost_of_expr(c, s->b, depth) +
                      cost_of_expr(c, s->c, depth);
        const double begin = begin_of(c);
        bool value;
        switch (s->kind) {
        case STMT_LET:
                if (c->run && s->a->type.lanes == 1 && !element_is_float(s->a->type.element))
                        loop_bounds_set(c->run, s->variable, loop_bounds_of(c->run, s->a));
                return cost;
        case STMT_FOR:
                if (c->count == COUNT_CODE)
                        return cost + begin + cost_of_iterations(c, 1, s->body, depth);
                if (c->run)
                        return cost + begin + cost_of_loop(c, s, depth);
                return cost + begin + cost_of_iterations(c, trip(c, s), s->body, depth);
        case STMT_LAUNCH: return cost + begin + cost_of_launch(c, s, depth);
        case STMT_WHILE:
                return cost + cost_of_iterations(c, c->count == COUNT_CODE ? 1 : UNKNOWN_TRIP,
                                                 s->body, depth);
        case STMT_IF:
                if (c->count != COUNT_CODE && is_decided(c, s->a, &value))
                        return cost + cost_of_block(c, value ? s->body : s->other, depth);
                return cost + begin + cost_of_block(c, s->body, depth) +
                       (s->other ? cost_of_block(c, s->other, depth) : 0);
        case STMT_STORE:
                return cost + (c->count ? count_store(c, s) : cost_of_store(c->target, s));
        default: return cost;
        }
}

static double cost_of_block(const struct code *c, const struct loop_block *block, int depth)
{
        double cost = 0;
        for (const struct loop_stmt *s = block ? block->first : NULL; s; s = s->next)
                cost += cost_of_stmt(c, s, depth);
        return cost;
}

static double cost_of_function(const struct code *c, const struct loop_function *f, int depth)
{
        const struct code inside = { .count = c->count, .target = c->target };
        return depth < DEPTH_MAX ? cost_of_block(&inside, f->body, depth) : 0;
}

double cost_of_code(const struct target *target, const struct loop_bounds *bounds,
                    const struct loop_block *block)
{
        return cost_of_block(&(struct code){ COUNT_NONE, target, bounds, NULL, 1 }, block, 0);
}

double cost_of_call(const struct target *target, const struct loop_function *kernel,
                    const struct loop_range *scalars, double constants)
{
        struct arena *scratch = arena_new();
        struct loop_bounds *run = loop_bounds_called(scratch, kernel, scalars);
        const double cost =
                cost_of_block(&(struct code){ COUNT_NONE, target, run, run, 1 }, kernel->body, 0);
        arena_free(scratch);
        return fmax(cost, constants / rate_l2(target));
}

/* Sets the bounds of a variable that holds indices: all values that it gets, in order. */
static void note_values(struct loop_stmt *s, void *context)
{
        struct loop_bounds *run = context;
        const struct loop_variable *v = s->variable;
        if ((s->kind != STMT_VAR && s->kind != STMT_SET) || !s->a ||
            v->type.element != E_INDEX || v->type.lanes != 1)
                return;
        struct loop_range r = loop_bounds_of(run, s->a);
        const struct loop_range before =
                loop_bounds_of(run, &(struct loop_expr){ .op = LOOP_VARIABLE, .type = v->type,
                                                         .variable = s->variable });
        if (s->kind == STMT_SET) {
                r.low = before.low < r.low ? before.low : r.low;
                r.high = before.high > r.high ? before.high : r.high;
        }
        r.multiple = 1;
        loop_bounds_set(run, v, r);
}

double code_count(enum code_count what, const struct target *target,
                  const struct loop_function *kernel, const struct loop_range *scalars)
{
        struct arena *scratch = arena_new();
        struct loop_bounds *run = loop_bounds_called(scratch, kernel, scalars);
        loop_block_walk(kernel->body, note_values, NULL, run);
        const double count =
                cost_of_block(&(struct code){ what, target, run, run, 1 }, kernel->body, 0);
        arena_free(scratch);
        return count;
}

double code_bytes(const struct target *target, const struct loop_function *f)
{
        return rate_code_bytes(target) *
               cost_of_block(&(struct code){ COUNT_CODE, target, NULL, NULL, 1 }, f->body, 0);
}

double cost_of_work(struct loop_bounds *run, const struct loop_block *block)
{
        return cost_of_block(&(struct code){ COUNT_WORK, NULL, run, run, 1 }, block, 0);
}

double cost_of_kernel_work(const struct loop_function *kernel)
{
        struct arena *scratch = arena_new();
        const double work = cost_of_work(loop_bounds_new(scratch, kernel), kernel->body);
        arena_free(scratch);
        return work;
}

int64_t code_stack_words(const struct target *target)
{
        return (int64_t)rate_stack_function(target);
}
