/* SPDX-License-Identifier: MIT */
/* What it takes to make a byte of a sum.
 *
 *      floats      the operations of the model, a conversion to floats and one back among them; a
 *                  rounding takes ROUNDING of them, as the library has it, and a conversion that
 *                  saturates SATURATION. In vectors, where the target has some.
 *      integers    widened, multiplied, added, shifted, of 64 bits, and EVEN more where halves go to
 *                  even numbers; two bounds, and narrowed. One by one: vectors of such are rare,
 *                  and slow.
 *
 * Counted in what gcc -O2 makes of it for x86-64, not fitted; what counts is which of two is
 * less. */
#include "cost/bytes.h"

#include "ir/target/rates.h"

enum { ROUNDING = 8, SATURATION = 5, LONG = 4, EVEN = 5, SIMPLE = 4 };

double bytes_cost_of_floats(int operations, const struct target *t)
{
        double lanes = (double)target_vector_bytes(t) / element_info[E_F32].bytes,
               each = lanes > 1 ? 1 / lanes : rate_code_float(t);
        return (operations + ROUNDING + SATURATION) * each * rate_code_operation(t);
}

double bytes_cost_of_integers(bool even, const struct target *t)
{
        int operations = LONG + (even ? EVEN : 0);
        return (operations * rate_code_long(t) + SIMPLE) * rate_code_operation(t);
}
