/* SPDX-License-Identifier: MIT */
/* Predicts the cycles that make a byte of a sum.
 *
 *      floats      the operations of the model, a conversion to floats and one back; a rounding
 *                  counts ROUNDING of them, as the library computes it, and a conversion that
 *                  saturates SATURATION; in vectors, where the target has some
 *      integers    widened, multiplied, added and shifted in 64 bits, with EVEN more operations
 *                  where halves are rounded to even numbers; two bounds, and narrowed; one number
 *                  at a time, because vectors for that are rare and slow
 *
 * The operations were counted in the code that gcc -O2 makes for x86-64, not fitted; what matters
 * is which of the two costs less. */
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
