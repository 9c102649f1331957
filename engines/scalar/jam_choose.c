/* SPDX-License-Identifier: MIT */
/* jam, the choice: which loops, how many iterations at a time, and which columns in strips.
 * Times are cost/scalars.c's. */
#include "passes/vectorize/jam.h"

#include "cost/scalars.h"
#include "passes/vectorize/independence.h"
#include "passes/vectorize/vectorize.h"

#define WORTH .8 /* of the time as it is */
/* of integers more do not fit into registers, and each product is a lot of code */
enum { ROWS_MOST = 5, WHOLE_ROWS_MOST = 4, WHOLE_STEPS_MOST = 2, STEPS_MOST = 4 };
enum { LOADS_MOST = 16, UNKNOWN_TRIP = 8 };
/* less than two vectors of floats are not worth a loop */
enum { STRIP_LEAST = 8, STRIP_MOST = 256 };

static int64_t trip_of(const struct loop_stmt *loop)
{
        int64_t from, trip = vectorize_trip(loop, &from);
        return trip;
}

/* ---- what is read ---- */

struct survey {
        const struct jam_nest *nest;
        const struct target *target;
        const struct loop_expr *loads[LOADS_MOST]; /* in the sums */
        int load_count, products;
        bool good, floats, narrow;
        const struct loop_stmt *innermost; /* loop around the last sum */
        const struct loop_bounds *bounds;
        double steps; /* iterations of all loops of the sums */
};

void jam_define(const struct jam_nest *nest, const struct loop_stmt *let)
{
        map_set(nest->lets, (const char *)&let->variable, sizeof let->variable, let->a);
}

const struct loop_expr *jam_definition(const struct jam_nest *nest, const struct loop_variable *v)
{
        return map_get(nest->lets, (const char *)&v, sizeof v);
}

bool jam_depends(const struct jam_nest *nest, const struct loop_expr *e,
                 const struct loop_variable *v)
{
        if (e->op == LOOP_VARIABLE) {
                const struct loop_expr *definition = jam_definition(nest, e->variable);
                return e->variable == v || (definition && jam_depends(nest, definition, v));
        }
        for (int i = 0; i < e->arity; i++)
                if (e->args[i] && jam_depends(nest, e->args[i], v))
                        return true;
        return false;
}

static bool depends(const struct survey *s, const struct loop_expr *e,
                    const struct loop_variable *v)
{
        return jam_depends(s->nest, e, v);
}

bool jam_step(const struct jam_nest *nest, const struct loop_expr *e,
              const struct loop_variable *v, int64_t *step)
{
        int64_t a, b, factor;
        *step = 0;
        if (!jam_depends(nest, e, v))
                return true;
        if (e->op == LOOP_VARIABLE && e->variable != v)
                return jam_step(nest, jam_definition(nest, e->variable), v, step);
        *step = 1;
        if (e->op == LOOP_VARIABLE)
                return true;
        if (e->op == LOOP_MUL && loop_is_int(e->args[1], &factor))
                return jam_step(nest, e->args[0], v, &a) &&
                       !__builtin_mul_overflow(a, factor, step);
        if ((e->op != LOOP_ADD && e->op != LOOP_SUB) || !jam_step(nest, e->args[0], v, &a) ||
            !jam_step(nest, e->args[1], v, &b))
                return false;
        return !(e->op == LOOP_ADD ? __builtin_add_overflow(a, b, step)
                                   : __builtin_sub_overflow(a, b, step));
}

static bool step_of(const struct survey *s, const struct loop_expr *e,
                    const struct loop_variable *v, int64_t *step)
{
        return jam_step(s->nest, e, v, step);
}

static void take_load(struct loop_expr *e, void *context)
{
        struct survey *s = context;
        if (e->op != LOOP_LOAD)
                return;
        if (s->load_count < LOADS_MOST && e->type.lanes == 1 && !e->args[1])
                s->loads[s->load_count++] = e;
        else
                s->good = false;
}

static void take_loop(struct survey *s, const struct loop_stmt *loop)
{
        struct loop_range from = loop_bounds_of(s->bounds, loop->a),
                          to = loop_bounds_of(s->bounds, loop->b);
        bool known = from.low != INT64_MIN && to.high != INT64_MAX && to.high > from.low;
        s->steps *= known ? (double)(to.high - from.low) : UNKNOWN_TRIP;
}

/* sum + a * b, in every iteration */
static void take_sum(struct loop_stmt *stmt, void *context)
{
        struct survey *s = context;
        const struct loop_expr *sum = stmt->a;
        if (stmt->kind == STMT_LET)
                loop_expr_walk(stmt->a, take_load, s);
        if (stmt->kind == STMT_FOR) {
                take_loop(s, stmt);
                s->innermost = stmt;
        }
        if (stmt->kind != STMT_SET)
                return;
        bool is_product = sum->op == LOOP_ADD && sum->args[1]->op == LOOP_MUL &&
                          sum->args[0]->op == LOOP_VARIABLE &&
                          sum->args[0]->variable == stmt->variable;
        s->good &= is_product;
        s->floats &= element_is_float(sum->type.element);
        s->products++;
        if (is_product)
                loop_expr_walk(sum->args[1], take_load, s);
        s->narrow = is_product && jam_is_narrow(sum->args[1]);
}

static bool survey_nest(struct survey *s, const struct target *target,
                        const struct loop_bounds *bounds, const struct jam_nest *nest)
{
        *s = (struct survey){ .nest = nest,
                              .target = target,
                              .bounds = bounds,
                              .good = true,
                              .floats = true,
                              .steps = 1 };
        for (struct loop_stmt *stmt = nest->leaf->first; stmt; stmt = stmt->next)
                if (stmt->kind == STMT_FOR) {
                        take_loop(s, stmt);
                        s->innermost = stmt;
                        loop_block_walk(stmt->body, take_sum, NULL, s);
                }
        return s->good && s->products;
}

/* ---- loops that may be jammed ---- */

struct even {
        const struct survey *survey;
        const struct loop_variable *v;
        bool good;
};

static void look_at_loop(struct loop_stmt *s, void *context)
{
        struct even *e = context;
        if (s->kind == STMT_FOR)
                e->good &= !depends(e->survey, s->a, e->v) && !depends(e->survey, s->b, e->v);
}

static bool is_independent(const struct survey *survey, struct loop_stmt *loop)
{
        return trip_of(loop) > 1 && loops_are_independent(survey->bounds, &loop, 1, false);
}

/* Iterations are independent, and loops inside begin and end alike in all of them. */
static bool may_jam(const struct survey *survey, struct loop_stmt *loop)
{
        struct even e = { survey, loop->variable, true };
        loop_block_walk(loop->body, look_at_loop, NULL, &e);
        return e.good && is_independent(survey, loop);
}

/* ---- times ---- */

/* loads of one iteration that differ from row to row count once for each */
static double loads_of(const struct survey *s, const struct jam *jam, bool by_column)
{
        double loads = 0;
        for (int i = 0; i < s->load_count; i++) {
                bool by_row = jam->row >= 0 &&
                              depends(s, s->loads[i], s->nest->loops[jam->row]->variable),
                     moves = jam->column >= 0 &&
                             depends(s, s->loads[i], s->nest->loops[jam->column]->variable);
                if (moves == by_column)
                        loads += by_row ? jam->rows : 1;
        }
        return loads;
}

/* Are the products of one sum many whole numbers of what lies side by side? Compilers add up
 * vectors of them. */
static bool is_reduction(const struct survey *s, const struct jam *jam)
{
        int64_t step;
        bool all = jam->rows == 1 && s->products == 1 && !s->floats && s->narrow &&
                   scalars_reduce(trip_of(s->innermost), s->target);
        for (int i = 0; i < s->load_count && all; i++)
                all = step_of(s, s->loads[i]->args[0], s->innermost->variable, &step) && step == 1;
        return all;
}

/* cycles of one iteration of the sums of some rows, in one column */
static double iteration_cycles(const struct survey *s, const struct jam *jam)
{
        if (is_reduction(s, jam))
                return scalars_reduction_cost(s->load_count, s->target);
        struct scalar_step step = { .sums = (double)(jam->rows * s->products),
                                    .floats = s->floats,
                                    .loads = loads_of(s, jam, false) + loads_of(s, jam, true) };
        step.held = step.sums + 1 + s->load_count;
        return scalars_step_cost(&step, s->target);
}

/* the same in a column of a strip */
static double strip_cycles(const struct survey *s, const struct jam *jam)
{
        struct scalar_strip strip = { .rows = jam->rows,
                                      .columns = jam->columns,
                                      .steps = jam->steps,
                                      .loads = loads_of(s, jam, true),
                                      .held = loads_of(s, jam, false),
                                      .floats = s->floats,
                                      .narrow = jam->narrow };
        return scalars_strip_cost(&strip, s->target);
}

/* cycles of an iteration of a sum, on average */
static double cycles(const struct survey *s, const struct jam *jam)
{
        const struct jam_nest *nest = s->nest;
        struct jam one = *jam;
        one.rows = 1;
        int64_t all = jam->row < 0 ? 1 : trip_of(nest->loops[jam->row]), rest = all % jam->rows;
        double edge = (iteration_cycles(s, jam) * (double)(all / jam->rows) +
                       iteration_cycles(s, &one) * (double)rest) /
                      (double)all;
        if (jam->column < 0)
                return edge;
        double columns = (double)trip_of(nest->loops[jam->column]),
               computed = (double)(jam->strips * jam->columns),
               left = columns - (double)jam->taken;
        double cost = (computed * strip_cycles(s, jam) / jam->rows + left * edge) / columns;
        return left > 0 ? cost * scalars_edge_factor(s->target) : cost;
}

/* ---- the search ---- */

struct search {
        const struct survey *survey;
        struct jam best;
        double cost;
};

static void try(struct search *search, struct jam jam)
{
        double cost = cycles(search->survey, &jam);
        if (cost >= search->cost)
                return;
        search->cost = cost;
        search->best = jam;
}

/* as many rows as divide all; where none do, there are rows left */
static void try_rows(struct search *search, struct jam jam, bool good[])
{
        int most = search->survey->floats ? ROWS_MOST : WHOLE_ROWS_MOST;
        for (jam.row = 0; jam.row < search->survey->nest->depth; jam.row++) {
                int64_t trip = trip_of(search->survey->nest->loops[jam.row]);
                bool divides = false;
                for (int rows = 2; rows <= most; rows++)
                        divides |= trip % rows == 0;
                for (jam.rows = 2; jam.rows <= most && good[jam.row]; jam.rows++)
                        if (trip % jam.rows == 0 || (!divides && jam.rows < trip))
                                try(search, jam);
        }
}

/* ---- strips ---- */

/* What is read lies side by side, or is the same for all columns. */
static bool are_neighbours(const struct survey *s, const struct loop_variable *v)
{
        int64_t step;
        bool some = false;
        for (int i = 0; i < s->load_count; i++) {
                if (!step_of(s, s->loads[i]->args[0], v, &step) || (step != 0 && step != 1))
                        return false;
                some |= step == 1;
        }
        return some && step_of(s, s->nest->store->a, v, &step) && step == 1;
}

/* columns of a strip are a multiple of that: what a vector holds of the smallest that is read */
static int64_t unit_of(const struct survey *s, const struct loop_variable *v)
{
        int64_t step, bytes = element_info[s->nest->sum->variable->type.element].bytes;
        for (int i = 0; i < s->load_count; i++) {
                int64_t own = element_info[s->loads[i]->buffer->element].bytes;
                if (own < bytes && step_of(s, s->loads[i]->args[0], v, &step) && step)
                        bytes = own;
        }
        const int vector = scalars_vector_bytes(s->target);
        return bytes < vector ? vector / bytes : 1;
}

struct reading { const struct loop_buffer *result; bool found; };

static void look_at_load(struct loop_expr *e, void *context)
{
        struct reading *r = context;
        r->found |= e->op == LOOP_LOAD &&
                    (e->buffer == r->result ||
                     (r->result->alias_class && e->buffer->alias_class == r->result->alias_class));
}

/* nothing that is read may lie where the result is: what is computed twice comes out the same */
static bool may_repeat(const struct jam_nest *nest)
{
        struct reading r = { nest->store->buffer, false };
        loop_block_walk(nest->leaf, NULL, look_at_load, &r);
        return !r.found;
}

/* of so many columns at most */
struct middle { int64_t count, unit, most; bool repeat; };

static void try_width(struct search *search, struct jam jam, const struct middle *m,
                      int64_t columns)
{
        jam.taken = jam.strips * columns < m->count ? jam.strips * columns : m->count;
        jam.columns = (int)columns;
        if (columns < STRIP_LEAST || columns > m->most || columns > m->count)
                return;
        int steps = !search->survey->floats ? WHOLE_STEPS_MOST
                    : jam.rows == 1         ? JAM_STEPS_MAX
                                            : STEPS_MOST;
        for (jam.steps = 1; jam.steps <= steps; jam.steps++)
                if (jam.steps == 1 || (jam.iterations && jam.iterations % jam.steps == 0))
                        try(search, jam);
}

/* Strips that leave some columns, and strips that take all, the last of which begins earlier. */
static void try_widths(struct search *search, struct jam jam, struct middle m)
{
        m.most /= jam.rows;
        if (m.most > STRIP_MOST)
                m.most = STRIP_MOST;
        for (jam.strips = 1; jam.strips <= m.count / STRIP_LEAST + 1; jam.strips++) {
                int64_t units = m.count / jam.strips / m.unit;
                try_width(search, jam, &m, units * m.unit);
                if (m.repeat && jam.strips > 1)
                        try_width(search, jam, &m, (units + 1) * m.unit);
        }
}

static void try_strips(struct search *search, struct jam jam, bool good[])
{
        const struct survey *s = search->survey;
        const struct jam_nest *nest = s->nest;
        jam.column = nest->depth - 1;
        struct loop_stmt *column = nest->loops[jam.column];
        struct middle m;
        if (!jam_innermost(nest) || !are_neighbours(s, column->variable) ||
            !is_independent(s, column) || !jam_middle(nest, column, &jam.first, &m.count))
                return;
        m.unit = unit_of(s, column->variable);
        m.repeat = may_repeat(nest);
        m.most = target_stack_bytes(s->target) /
                 element_info[nest->sum->variable->type.element].bytes;
        jam.iterations = jam_iterations(nest, column->variable, jam.first);
        jam.narrow = s->narrow;
        try_widths(search, jam, m);
        for (jam.row = 0; jam.row < jam.column; jam.row++)
                for (jam.rows = 2; jam.rows <= ROWS_MOST && good[jam.row]; jam.rows++)
                        if (trip_of(nest->loops[jam.row]) % jam.rows == 0)
                                try_widths(search, jam, m);
}

bool jam_choose(const struct jam_nest *nest, const struct target *target,
                const struct loop_bounds *bounds, struct jam *jam)
{
        struct survey survey;
        struct jam none = { .row = -1, .column = -1, .rows = 1, .columns = 1, .steps = 1 };
        if (!survey_nest(&survey, target, bounds, nest))
                return false;
        struct search search = { .survey = &survey, .best = none };
        bool may[JAM_DEPTH_MAX];
        for (int d = 0; d < nest->depth; d++)
                may[d] = may_jam(&survey, nest->loops[d]);
        search.cost = WORTH * cycles(&survey, &none);
        try_rows(&search, none, may);
        try_strips(&search, none, may);
        *jam = search.best;
        return jam->rows > 1 || jam->columns > 1;
}
