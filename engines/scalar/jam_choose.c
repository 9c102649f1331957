/* SPDX-License-Identifier: MIT */
/* This is the choice of jam: what the words of a schedule ask for in a nest, and which words take
 * the least time, as cost/scalars.c predicts it. */
#include "passes/vectorize/jam.h"

#include "cost/scalars.h"
#include "passes/vectorize/independence.h"
#include "passes/vectorize/vectorize.h"

#include <string.h>

#define WORTH .8 /* A nest is jammed only if it then takes less than this share of the time that it
                  * takes as it is. */
/* More sums of integers do not fit into registers, and each product is a lot of code. */
enum { SUMS_MOST = 5, WHOLE_SUMS_MOST = 4, SUMS_WIDEST = 8, WHOLE_TERMS_MOST = 2, TERMS_MOST = 4 };
enum { LOADS_MOST = 16, UNKNOWN_TRIP = 8 };
/* Less than two vectors of floats are not worth a loop. */
enum { ROW_LEAST = 8, ROW_MOST = 256 };

static int64_t trip_of(const struct loop_stmt *loop)
{
        int64_t from, trip = vectorize_trip(loop, &from);
        return trip;
}

/* ---- what is read ---- */

struct survey {
        const struct jam_nest *nest;
        const struct target *target;
        const struct loop_expr *loads[LOADS_MOST]; /* The sums contain these loads. */
        int load_count, products;
        bool good, floats, narrow;
        const struct loop_stmt *innermost; /* This is the loop around the last sum. */
        const struct loop_bounds *bounds;
        double steps; /* All loops of the sums together have this many iterations. */
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

/* Records a statement of the sums in the survey, which is good only if every set adds a product to
 * its own variable. */
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
                e->good &= !jam_depends(e->survey->nest, s->a, e->v) &&
                           !jam_depends(e->survey->nest, s->b, e->v);
}

static bool is_independent(const struct survey *survey, struct loop_stmt *loop)
{
        return trip_of(loop) > 1 && loops_are_independent(survey->bounds, &loop, 1, false);
}

/* Are iterations independent, and do loops inside begin and end alike in all of them? */
static bool may_jam(const struct survey *survey, struct loop_stmt *loop)
{
        struct even e = { survey, loop->variable, true };
        loop_block_walk(loop->body, look_at_loop, NULL, &e);
        return e.good && is_independent(survey, loop);
}

/* ---- times ---- */

/* Counts the loads of one iteration; those that differ between results side by side count once for
 * each of these. */
static double loads_of(const struct survey *s, const struct jam *jam, bool by_column)
{
        double loads = 0;
        const struct jam_nest *nest = s->nest;
        for (int i = 0; i < s->load_count; i++) {
                const struct loop_expr *load = s->loads[i];
                bool by_sum = jam->along >= 0 &&
                              jam_depends(nest, load, nest->loops[jam->along]->variable),
                     moves = jam->column >= 0 &&
                             jam_depends(nest, load, nest->loops[jam->column]->variable);
                if (moves == by_column)
                        loads += by_sum ? jam->sums : 1;
        }
        return loads;
}

/* Does one sum add up many products of whole numbers that lie side by side? C compilers make
 * vectors of these. */
static bool is_reduction(const struct survey *s, const struct jam *jam)
{
        int64_t step;
        bool all = jam->sums == 1 && s->products == 1 && !s->floats && s->narrow &&
                   scalars_reduce(trip_of(s->innermost), s->target);
        for (int i = 0; i < s->load_count && all; i++)
                all = jam_step(s->nest, s->loads[i]->args[0], s->innermost->variable, &step) &&
                      step == 1;
        return all;
}

/* Returns the cycles of one iteration of the sums side by side, in one column. */
static double iteration_cycles(const struct survey *s, const struct jam *jam)
{
        if (is_reduction(s, jam))
                return scalars_reduction_cost(s->load_count, s->target);
        struct scalar_step step = { .sums = (double)(jam->sums * s->products),
                                    .floats = s->floats,
                                    .loads = loads_of(s, jam, false) + loads_of(s, jam, true) };
        step.held = step.sums + 1 + s->load_count;
        return scalars_step_cost(&step, s->target);
}

/* Returns the same in a column of accumulator rows. */
static double row_cycles(const struct survey *s, const struct jam *jam)
{
        struct scalar_row row = { .results = jam->sums,
                                  .columns = jam->columns,
                                  .terms = jam->terms,
                                  .loads = loads_of(s, jam, true),
                                  .held = loads_of(s, jam, false),
                                  .floats = s->floats,
                                  .narrow = jam->narrow };
        return scalars_row_cost(&row, s->target);
}

/* Returns the cycles of an iteration of a sum, on average. */
static double cycles(const struct survey *s, const struct jam *jam)
{
        const struct jam_nest *nest = s->nest;
        struct jam one = *jam;
        one.sums = 1;
        int64_t all = jam->along < 0 ? 1 : trip_of(nest->loops[jam->along]), rest = all % jam->sums;
        double edge = (iteration_cycles(s, jam) * (double)(all / jam->sums) +
                       iteration_cycles(s, &one) * (double)rest) /
                      (double)all;
        if (jam->column < 0)
                return edge;
        double columns = (double)trip_of(nest->loops[jam->column]),
               computed = (double)(jam->row_count * jam->columns),
               left = columns - (double)jam->taken;
        double cost = (computed * row_cycles(s, jam) / jam->sums + left * edge) / columns;
        return left > 0 ? cost * scalars_edge_factor(s->target) : cost;
}

/* ---- what words ask for ---- */

/* Accumulator rows may take `count` columns from `first` on. The best rows are multiples of `unit`;
 * `most` sums fit on the stack, and the innermost loop of the sums iterates `iterations` times.
 * any: there are such columns; repeat: a column may be computed twice. */
struct middle { int64_t first, count, unit, most, iterations; bool any, repeat; };

struct search {
        struct survey survey;
        bool may[JAM_DEPTH_MAX];        /* Iterations of this loop may be computed side by side. */
        struct middle middle;
        bool wide;                      /* Choices that are hardly ever better count as well, for
                                         * --tune. */
        struct jam_choice *list;        /* It lists the best ways, best first. */
        int count;
};

/* Is each load contiguous along v or the same for all columns, and is the store contiguous? */
static bool are_neighbours(const struct survey *s, const struct loop_variable *v)
{
        int64_t step;
        bool some = false;
        for (int i = 0; i < s->load_count; i++) {
                if (!jam_step(s->nest, s->loads[i]->args[0], v, &step) || (step != 0 && step != 1))
                        return false;
                some |= step == 1;
        }
        return some && jam_step(s->nest, s->nest->store->a, v, &step) && step == 1;
}

/* Returns the number of elements that a vector holds, of the smallest among those that are read or
 * added up; rows are multiples of that. */
static int64_t unit_of(const struct survey *s, const struct loop_variable *v)
{
        int64_t step, bytes = element_info[s->nest->sum->variable->type.element].bytes;
        for (int i = 0; i < s->load_count; i++) {
                int64_t own = element_info[s->loads[i]->buffer->element].bytes;
                if (own < bytes && jam_step(s->nest, s->loads[i]->args[0], v, &step) && step)
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

/* May a column be computed twice? It has the same result again if nothing that is read lies where
 * the result is stored. */
static bool may_repeat(const struct jam_nest *nest)
{
        struct reading r = { nest->store->buffer, false };
        loop_block_walk(nest->leaf, NULL, look_at_load, &r);
        return !r.found;
}

static struct middle find_middle(const struct survey *s)
{
        const struct jam_nest *nest = s->nest;
        struct loop_stmt *column = nest->loops[nest->depth - 1];
        struct middle m = { .unit = 1 };
        if (nest->plain < nest->depth || !jam_innermost(nest) ||
            !are_neighbours(s, column->variable) ||
            !is_independent(s, column) || !jam_middle(nest, column, &m.first, &m.count))
                return m;
        m.any = true;
        m.unit = unit_of(s, column->variable);
        m.repeat = may_repeat(nest);
        m.most = target_stack_bytes(s->target) /
                 element_info[nest->sum->variable->type.element].bytes;
        m.iterations = jam_iterations(nest, column->variable, m.first);
        return m;
}

/* Sets *jam to accumulator rows as `w` asks for them. Returns false where the nest cannot be
 * computed so. */
static bool take_row(const struct search *s, const struct schedule_scalar *w, struct jam *jam)
{
        const struct middle *m = &s->middle;
        const struct jam_nest *nest = s->survey.nest;
        const int64_t columns = w->accumulators, rest = m->count % columns;
        jam->column = nest->depth - 1;
        if (!m->any || columns > m->count || columns > m->most / jam->sums ||
            jam->along == jam->column ||
            (jam->along >= 0 && trip_of(nest->loops[jam->along]) % jam->sums))
                return false;
        if (w->overlap && (!m->repeat || !rest))
                return false;
        if (w->terms > 1 && (!m->iterations || m->iterations % w->terms))
                return false;
        jam->columns = (int)columns;
        jam->first = m->first;
        jam->row_count = m->count / columns + w->overlap;
        jam->taken = w->overlap ? m->count : m->count - rest;
        jam->iterations = m->iterations;
        jam->terms = w->terms;
        jam->narrow = s->survey.narrow;
        return true;
}

/* Sets *jam to what words ask for. Returns false where the nest cannot be computed so. */
static bool take_words(const struct search *s, const struct schedule_scalar *w, struct jam *jam)
{
        const struct jam_nest *nest = s->survey.nest;
        *jam = (struct jam){ .along = -1, .column = -1, .sums = w->sums, .columns = 1, .terms = 1 };
        if (w->sums > 1) {
                jam->along = w->along;
                if (w->along >= nest->depth || !s->may[w->along] ||
                    w->sums > trip_of(nest->loops[w->along]))
                        return false;
        }
        return w->accumulators ? take_row(s, w, jam) : !w->overlap && w->terms == 1;
}

static bool search_begin(struct search *s, const struct jam_nest *nest,
                         const struct target *target, const struct loop_bounds *bounds)
{
        *s = (struct search){ .count = 0 };
        if (!survey_nest(&s->survey, target, bounds, nest))
                return false;
        for (int d = 0; d < nest->depth; d++)
                s->may[d] = d < nest->plain && may_jam(&s->survey, nest->loops[d]);
        s->middle = find_middle(&s->survey);
        return true;
}

/* ---- the search ---- */

/* Adds words to the list, after those that are no worse. The nest as it is ranks as if it took
 * less, because what is hardly better is not worth its code. */
static void try(struct search *s, struct schedule_scalar words)
{
        struct jam jam;
        if (!take_words(s, &words, &jam))
                return;
        const bool plain = jam.along < 0 && jam.column < 0;
        const double time = cycles(&s->survey, &jam), rank = plain ? WORTH * time : time;
        int at = s->count;
        for (int i = 0; i < s->count; i++)
                if (!memcmp(&s->list[i].words, &words, sizeof words))
                        return;
        while (at && s->list[at - 1].rank > rank)
                at--;
        if (at == JAM_CHOICES)
                return;
        s->count += s->count < JAM_CHOICES;
        memmove(&s->list[at + 1], &s->list[at], (size_t)(s->count - at - 1) * sizeof *s->list);
        s->list[at] = (struct jam_choice){ words, time * s->survey.steps, rank };
}

/* Tries numbers of sums that divide a loop's iterations; where none does, some are left. */
static void try_sums(struct search *s, struct schedule_scalar words)
{
        const struct jam_nest *nest = s->survey.nest;
        int most = s->wide            ? SUMS_WIDEST
                   : s->survey.floats ? SUMS_MOST
                                      : WHOLE_SUMS_MOST;
        for (words.along = 0; words.along < nest->depth; words.along++) {
                int64_t trip = trip_of(nest->loops[words.along]);
                bool divides = false;
                for (int sums = 2; sums <= most; sums++)
                        divides |= trip % sums == 0;
                for (words.sums = 2; words.sums <= most; words.sums++)
                        if (s->wide || !divides || trip % words.sums == 0)
                                try(s, words);
        }
}

static void try_width(struct search *s, struct schedule_scalar words, int64_t columns)
{
        int64_t most = s->middle.most / words.sums;
        if (columns < ROW_LEAST || columns > most || columns > ROW_MOST)
                return;
        int terms = !s->survey.floats ? WHOLE_TERMS_MOST
                    : words.sums == 1 ? JAM_TERMS_MAX
                                      : TERMS_MOST;
        words.accumulators = (int)columns;
        for (words.terms = 1; words.terms <= terms; words.terms++)
                try(s, words);
}

/* Tries rows that leave some columns, and rows that take all, the last of which begins earlier. */
static void try_widths(struct search *s, struct schedule_scalar words)
{
        const struct middle *m = &s->middle;
        for (int64_t rows = 1; rows <= m->count / ROW_LEAST + 1; rows++) {
                int64_t units = m->count / rows / m->unit;
                words.overlap = 0;
                try_width(s, words, units * m->unit);
                words.overlap = 1;
                if (rows > 1)
                        try_width(s, words, (units + 1) * m->unit);
        }
}

static void try_accumulators(struct search *s, struct schedule_scalar words)
{
        if (!s->middle.any)
                return;
        try_widths(s, words);
        for (words.along = 0; words.along < s->survey.nest->depth - 1; words.along++)
                for (words.sums = 2; words.sums <= SUMS_MOST; words.sums++)
                        try_widths(s, words);
}

static void search_all(struct search *s, struct jam_choice list[JAM_CHOICES])
{
        const struct schedule_scalar plain = schedule_preset(SCHEDULE_scalar).scalar;
        s->list = list;
        try(s, plain);
        try_sums(s, plain);
        try_accumulators(s, plain);
}

int jam_choices(const struct jam_nest *nest, const struct target *target,
                const struct loop_bounds *bounds, bool wide, struct jam_choice list[JAM_CHOICES])
{
        struct search search;
        if (!search_begin(&search, nest, target, bounds))
                return 0;
        search.wide = wide;
        search_all(&search, list);
        return search.count;
}

bool jam_can(const struct jam_nest *nest, const struct target *target,
             const struct loop_bounds *bounds, const struct schedule_scalar *words)
{
        struct search search;
        struct jam jam;
        return search_begin(&search, nest, target, bounds) && take_words(&search, words, &jam);
}

bool jam_choose(const struct jam_nest *nest, const struct target *target,
                const struct loop_bounds *bounds, const struct schedule_scalar *words,
                struct jam *jam)
{
        struct search search;
        struct jam_choice list[JAM_CHOICES];
        if (!search_begin(&search, nest, target, bounds))
                return false;
        if (!words || !take_words(&search, words, jam)) {
                search_all(&search, list);
                take_words(&search, &list[0].words, jam);
        }
        return jam->sums > 1 || jam->columns > 1;
}
