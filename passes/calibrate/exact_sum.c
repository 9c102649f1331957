/* SPDX-License-Identifier: MIT */
#include "passes/calibrate/exact_sum.h"

#include <math.h>
#include <string.h>

enum { DIGIT_BITS = 4, LIMB_BITS = 64, EXPONENT_LENGTH = 8 };

static bool is_negative(const struct exact_sum *s)
{
        return s->limbs[EXACT_SUM_LIMBS - 1] >> (LIMB_BITS - 1);
}

static void negate(struct exact_sum *s)
{
        uint64_t carry = 1;
        for (int i = 0; i < EXACT_SUM_LIMBS; i++) {
                s->limbs[i] = ~s->limbs[i] + carry;
                carry = carry && !s->limbs[i];
        }
}

void exact_sum_merge(struct exact_sum *sum, const struct exact_sum *other)
{
        unsigned carry = 0;
        for (int i = 0; i < EXACT_SUM_LIMBS; i++) {
                uint64_t with;
                unsigned first = __builtin_add_overflow(sum->limbs[i], other->limbs[i], &with);
                unsigned second = __builtin_add_overflow(with, (uint64_t)carry, &sum->limbs[i]);
                carry = first | second;
        }
}

void exact_sum_add(struct exact_sum *sum, double x)
{
        int exponent;
        double mantissa = frexp(fabs(x), &exponent);      /* The mantissa has 53 bits behind the
                                                           * point. */
        if (mantissa == 0)
                return;
        uint64_t bits = (uint64_t)ldexp(mantissa, 53);
        int at = exponent - 53 - EXACT_SUM_UNIT;
        if (at < 0) {                                     /* Only zeros are shifted out. */
                bits >>= -at;
                at = 0;
        }
        struct exact_sum term = { { 0 } };
        int limb = at / LIMB_BITS, shift = at % LIMB_BITS;
        term.limbs[limb] = bits << shift;
        if (shift && limb + 1 < EXACT_SUM_LIMBS)
                term.limbs[limb + 1] = bits >> (LIMB_BITS - shift);
        if (x < 0)
                negate(&term);
        exact_sum_merge(sum, &term);
}

double exact_sum_value(const struct exact_sum *sum)
{
        struct exact_sum magnitude = *sum;
        double value = 0;
        if (is_negative(sum))
                negate(&magnitude);
        for (int i = 0; i < EXACT_SUM_LIMBS; i++)         /* The small limbs come first. */
                value += ldexp((double)magnitude.limbs[i], EXACT_SUM_UNIT + LIMB_BITS * i);
        return is_negative(sum) ? -value : value;
}

static unsigned digit_at(const struct exact_sum *s, int k)
{
        return (unsigned)(s->limbs[k / 16] >> DIGIT_BITS * (k % 16)) & 15;
}

void exact_sum_print(struct text *out, const struct exact_sum *sum)
{
        struct exact_sum magnitude = *sum;
        int first = 0, last = EXACT_SUM_DIGITS - 1;
        if (is_negative(sum))
                negate(&magnitude);
        while (last >= 0 && !digit_at(&magnitude, last))
                last--;
        while (first < last && !digit_at(&magnitude, first))
                first++;
        if (last < 0) {
                text_add(out, "0p0");
                return;
        }
        text_add(out, is_negative(sum) ? "-" : "");
        for (int k = last; k >= first; k--)
                text_add(out, "%x", digit_at(&magnitude, k));
        text_add(out, "p%d", EXACT_SUM_UNIT + DIGIT_BITS * first);
}

bool exact_sum_parse(const char *token, struct exact_sum *sum)
{
        static const char hex[] = "0123456789abcdef";
        const char *digits = token + (*token == '-');
        size_t count = strspn(digits, hex);
        int exponent = 0;
        *sum = (struct exact_sum){ { 0 } };
        if (!count || count > EXACT_SUM_DIGITS || digits[count] != 'p')
                return false;
        const char *tail = digits + count + 1, *p = tail + (*tail == '-');
        if (!*p || strspn(p, "0123456789") != strlen(p) || strlen(p) > EXPONENT_LENGTH)
                return false;
        for (; *p; p++)
                exponent = 10 * exponent + *p - '0';
        int first = (*tail == '-' ? -exponent : exponent) - EXACT_SUM_UNIT;
        if (first < 0 || first % DIGIT_BITS ||
            first / DIGIT_BITS + (int)count > EXACT_SUM_DIGITS - 1)
                return false;
        for (size_t i = 0; i < count; i++) {
                int k = first / DIGIT_BITS + (int)(count - 1 - i);
                uint64_t digit = (uint64_t)(strchr(hex, digits[i]) - hex);
                sum->limbs[k / 16] |= digit << DIGIT_BITS * (k % 16);
        }
        if (*token == '-')
                negate(sum);
        struct text again = { 0 };
        exact_sum_print(&again, sum);
        bool same = !strcmp(again.data, token);
        text_free(&again);
        return same;
}
