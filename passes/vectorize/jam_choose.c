/* jam, the choice: which loops, and how many iterations at a time.
 *
 * Times are cost/scalars.c's; where columns are neighbours, of vectors of four of them, as C
 * compilers make. */
#include "passes/vectorize/jam.h"

#include "cost/scalars.h"
#include "passes/vectorize/independence.h"
#include "passes/vectorize/vectorize.h"

#define WORTH .8 /* of the time as it is */
enum { LANES = 4, SUMS_MOST = 16 };      /* of a vector that C compilers make; sums of a tile */
enum { ROWS_MOST = 5, WHOLE_ROWS_MOST = 4 }; /* of integers more do not fit into registers */
enum { LOADS_MOST = 16, UNKNOWN_TRIP = 8 };

static int64_t trip_of(const struct loop_stmt *loop)
{
        int64_t from, trip = vectorize_trip(loop, &from);
        return trip;
}

/* ---- what is read ---- */

struct survey {
        const struct jam_nest *nest;
        const struct target *target;
        struct map *lets; /* by variable: its definition, an expression */
        const struct loop_expr *loads[LOADS_MOST]; /* in the sums */
        int load_count, products;
        bool good, floats;
        const struct loop_bounds *bounds;
        double steps; /* turns of all loops of the sums */
};

static const struct loop_expr *definition_of(const struct survey *s, const struct loop_variable *v)
{
        return map_get(s->lets, (const char *)&v, sizeof v);
}

static bool depends(const struct survey *s, const struct loop_expr *e,
                    const struct loop_variable *v)
{
        if (e->op == LOOP_VARIABLE) {
                const struct loop_expr *definition = definition_of(s, e->variable);
                return e->variable == v || (definition && depends(s, definition, v));
        }
        for (int i = 0; i < e->arity; i++)
                if (e->args[i] && depends(s, e->args[i], v))
                        return true;
        return false;
}

/* e = *step * v + something else; false: it may be otherwise */
static bool step_of(const struct survey *s, const struct loop_expr *e,
                    const struct loop_variable *v, int64_t *step)
{
        int64_t a, b, factor;
        *step = 0;
        if (!depends(s, e, v))
                return true;
        if (e->op == LOOP_VARIABLE && e->variable != v)
                return step_of(s, definition_of(s, e->variable), v, step);
        *step = 1;
        if (e->op == LOOP_VARIABLE)
                return true;
        if (e->op == LOOP_MUL && loop_is_int(e->args[1], &factor))
                return step_of(s, e->args[0], v, &a) && !__builtin_mul_overflow(a, factor, step);
        if ((e->op != LOOP_ADD && e->op != LOOP_SUB) || !step_of(s, e->args[0], v, &a) ||
            !step_of(s, e->args[1], v, &b))
                return false;
        return !(e->op == LOOP_ADD ? __builtin_add_overflow(a, b, step)
                                   : __builtin_sub_overflow(a, b, step));
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

static void take_let(struct loop_stmt *stmt, void *context)
{
        struct survey *s = context;
        if (stmt->kind == STMT_LET)
                map_set(s->lets, (const char *)&stmt->variable, sizeof stmt->variable, stmt->a);
}

static void take_loop(struct survey *s, const struct loop_stmt *loop)
{
        struct loop_range from = loop_bounds_of(s->bounds, loop->a),
                          to = loop_bounds_of(s->bounds, loop->b);
        bool known = from.low != INT64_MIN && to.high != INT64_MAX && to.high > from.low;
        s->steps *= known ? (double)(to.high - from.low) : UNKNOWN_TRIP;
}

/* sum + a * b, in every turn */
static void take_sum(struct loop_stmt *stmt, void *context)
{
        struct survey *s = context;
        const struct loop_expr *sum = stmt->a;
        if (stmt->kind == STMT_LET)
                loop_expr_walk(stmt->a, take_load, s);
        if (stmt->kind == STMT_FOR)
                take_loop(s, stmt);
        if (stmt->kind != STMT_SET)
                return;
        bool is_product = sum->op == LOOP_ADD && sum->args[1]->op == LOOP_MUL &&
                          sum->args[0]->op == LOOP_VARIABLE &&
                          sum->args[0]->variable == stmt->variable;
        s->good &= is_product;
        s->floats &= element_is_float((enum element)sum->type.element);
        s->products++;
        if (is_product)
                loop_expr_walk(sum->args[1], take_load, s);
}

static bool survey_nest(struct survey *s, struct arena *arena, const struct target *target,
                        const struct loop_bounds *bounds, const struct jam_nest *nest)
{
        *s = (struct survey){ .nest = nest,
                              .target = target,
                              .lets = map_new(arena),
                              .bounds = bounds,
                              .good = true,
                              .floats = true,
                              .steps = 1 };
        loop_block_walk(nest->loops[0]->body, take_let, NULL, s);
        for (struct loop_stmt *stmt = nest->leaf->first; stmt; stmt = stmt->next)
                if (stmt->kind == STMT_FOR) {
                        take_loop(s, stmt);
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

/* Iterations are independent, and loops inside begin and end alike in all of them. */
static bool may_jam(const struct survey *survey, struct loop_stmt *loop)
{
        struct even e = { survey, loop->variable, true };
        loop_block_walk(loop->body, look_at_loop, NULL, &e);
        return e.good && trip_of(loop) > 1 && loops_are_independent(survey->bounds, &loop, 1);
}

/* ---- times ---- */

static bool are_neighbours(const struct survey *s, const struct jam *jam)
{
        const struct jam_nest *nest = s->nest;
        int64_t step;
        if (jam->column != nest->depth - 1 || !nest->sum || !s->floats)
                return false;
        const struct loop_variable *v = nest->loops[jam->column]->variable;
        const struct loop_expr *value = nest->store->b;
        bool as_it_is = value->op == LOOP_VARIABLE && value->variable == nest->sum->variable;
        if (nest->store->buffer->element != nest->sum->variable->type.element ||
            !(as_it_is || nest->apart) || !step_of(s, nest->store->a, v, &step) || step != 1)
                return false;
        for (int i = 0; i < s->load_count; i++)
                if (!step_of(s, s->loads[i]->args[0], v, &step) || (step != 0 && step != 1) ||
                    (step && s->loads[i]->buffer->element != nest->store->buffer->element))
                        return false;
        return true;
}

/* cycles of one step of all sums of a tile */
static double step_cycles(const struct survey *s, const struct jam *jam, int rows, int columns)
{
        const struct jam_nest *nest = s->nest;
        bool vectors = jam->neighbours && columns % LANES == 0;
        int across = vectors ? columns / LANES : columns;
        struct scalar_step step = { .sums = (double)(rows * across * s->products),
                                    .floats = s->floats };
        step.held = step.sums + 1;
        for (int i = 0; i < s->load_count; i++) {
                double times = 1;
                bool by_column = jam->column >= 0 &&
                                 depends(s, s->loads[i], nest->loops[jam->column]->variable);
                if (jam->row >= 0 && depends(s, s->loads[i], nest->loops[jam->row]->variable))
                        times *= rows;
                if (by_column)
                        times *= across;
                step.loads += times;
                step.spread += vectors && !by_column ? times : 0;
                step.held += by_column ? across : 1;
        }
        return scalars_step_cost(&step, s->target);
}

/* cycles of a result */
static double cycles(const struct survey *s, const struct jam *jam)
{
        const struct jam_nest *nest = s->nest;
        int64_t all = jam->row < 0 ? 1 : trip_of(nest->loops[jam->row]), rest = all % jam->rows;
        double tiles = step_cycles(s, jam, jam->rows, jam->columns) * (double)(all / jam->rows),
               last = step_cycles(s, jam, 1, jam->columns) * (double)rest;
        bool again = jam->neighbours && nest->store->b->op != LOOP_VARIABLE;
        return s->steps * (tiles + last) / (double)(all * jam->columns) +
               (again ? scalars_again_cost(s->target) : 0);
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
        for (jam.row = 0; jam.row < (jam.column < 0 ? search->survey->nest->depth : jam.column);
             jam.row++) {
                int64_t trip = trip_of(search->survey->nest->loops[jam.row]);
                bool divides = false;
                for (int rows = 2; rows <= most; rows++)
                        divides |= trip % rows == 0;
                for (jam.rows = 2; jam.rows <= most && good[jam.row]; jam.rows++)
                        if (jam.rows * jam.columns <= SUMS_MOST &&
                            (trip % jam.rows == 0 || (!divides && jam.rows < trip)))
                                try(search, jam);
        }
}

static void try_columns(struct search *search, struct jam jam, bool good[])
{
        static const int widths[] = { 4, 8 };
        int64_t trip = trip_of(search->survey->nest->loops[jam.column]);
        jam.neighbours = are_neighbours(search->survey, &jam);
        for (int i = 0; i < 2 && jam.neighbours; i++) {
                struct jam wide = jam;
                wide.columns = widths[i];
                if (trip % wide.columns)
                        break;
                try(search, wide);
                try_rows(search, wide, good);
        }
}

bool jam_choose(const struct jam_nest *nest, const struct target *target,
                const struct loop_bounds *bounds, struct jam *jam)
{
        struct arena *scratch = arena_new();
        struct survey survey;
        struct jam none = { .row = -1, .column = -1, .rows = 1, .columns = 1 };
        bool good = survey_nest(&survey, scratch, target, bounds, nest);
        struct search search = { .survey = &survey, .best = none };
        if (good) {
                bool may[JAM_DEPTH_MAX];
                for (int d = 0; d < nest->depth; d++)
                        may[d] = may_jam(&survey, nest->loops[d]);
                search.cost = WORTH * cycles(&survey, &none);
                try_rows(&search, none, may);
                struct jam columns = none;
                columns.column = nest->depth - 1;
                if (may[columns.column])
                        try_columns(&search, columns, may);
                *jam = search.best;
                good = jam->rows * jam->columns > 1;
        }
        arena_free(scratch);
        return good;
}
