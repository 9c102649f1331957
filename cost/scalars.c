/* What a step of several sums of scalars is predicted to cost, on a small core.
 *
 *      issue      products, sums, loads, what is spilled, the turn of the loop, so many in a cycle
 *      wait       of a sum for the one before: floats the latency, integers one cycle
 *      ports      one product and one sum in a cycle
 *
 * whichever is longest. Set by hand, not fitted; what counts is which of two forms is faster. */
#include "cost/scalars.h"

#include "ir/rates.h"

double scalars_step_cost(const struct scalar_step *step, const struct target *t)
{
        double registers = rate_scalar_registers(t),
               spilled = step->held > registers ? step->held - registers : 0,
               loads = step->loads + step->spread * (rate_scalar_spread(t) - 1);
        double issue = (2 * step->sums + loads * (step->floats ? 1 : rate_scalar_integer(t)) +
                        rate_scalar_spilled(t) * spilled + rate_scalar_turn(t)) /
                       rate_scalar_issue(t),
               wait = step->floats ? rate_latency(t) : 1;
        double longest = issue > wait ? issue : wait;
        return longest > step->sums ? longest : step->sums;
}

double scalars_again_cost(const struct target *t) { return rate_scalar_again(t); }
