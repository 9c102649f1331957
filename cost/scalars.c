/* SPDX-License-Identifier: MIT */
/* Predicts what a step of several scalar sums costs on a small core: the longest of
 *
 *      issue      products, sums, loads, spills and the loop's own instructions, of which the core
 *                 issues a few in each cycle (rate_scalar_issue)
 *      wait       of a sum for the preceding sum: the latency of an addition for floats, one cycle
 *                 for integers
 *      ports      one product and one sum in each cycle
 *
 * An accumulator row is computed by vectors, which C compilers make for any machine that has some:
 * no sum waits for another, and the loop over columns begins anew in every pass. The rates were set
 * by hand, in proportion to what loops like these took on a Zen 4 compiled by gcc -O2; what matters
 * is which of two forms is faster. */
#include "cost/scalars.h"

#include "ir/target/rates.h"

static double spilled(double held, const struct target *t)
{
        double registers = rate_scalar_registers(t);
        return held > registers ? rate_scalar_spilled(t) * (held - registers) : 0;
}

double scalars_step_cost(const struct scalar_step *step, const struct target *t)
{
        double loads = step->loads * (step->floats ? 1 : rate_scalar_integer(t)),
               issue = (2 * step->sums + loads + spilled(step->held, t) +
                        rate_scalar_iteration(t)) /
                       rate_scalar_issue(t),
               wait = step->floats ? rate_latency(t) : 1;
        double longest = issue > wait ? issue : wait;
        return longest > step->sums ? longest : step->sums;
}

bool scalars_reduce(int64_t products, const struct target *t)
{
        enum { MANY = 4 };              /* Vectors are used from this many on. */
        int vector = scalars_vector_bytes(t);
        return products >= MANY * vector && products % vector == 0;
}

double scalars_reduction_cost(int loads, const struct target *t)
{
        double lanes = (double)scalars_vector_bytes(t) / element_info[E_I32].bytes,
               vector = 2 * rate_accumulator_narrow(t) + loads * rate_accumulator_load(t);
        return vector / lanes / rate_scalar_issue(t);
}

int scalars_vector_bytes(const struct target *t) { return (int)rate_accumulator_vector(t); }

double scalars_row_cost(const struct scalar_row *row, const struct target *t)
{
        double factor = row->floats   ? 1
                        : row->narrow ? rate_accumulator_narrow(t)
                                        : rate_accumulator_whole(t),
               products = 2 * factor * row->results * row->terms,
               loads = row->terms * row->loads * rate_accumulator_load(t),
               held = row->held * row->terms + row->loads + 1;
        double vector = products + loads + 2 * row->results + spilled(held, t) +
                        rate_scalar_iteration(t),
               begin = rate_accumulator_begin(t) + row->held * row->terms;
        double lanes = (double)scalars_vector_bytes(t) / element_info[E_F32].bytes;
        return (vector / lanes + begin / row->columns) / row->terms / rate_scalar_issue(t);
}

double scalars_edge_factor(const struct target *t) { return rate_accumulator_edge(t); }
