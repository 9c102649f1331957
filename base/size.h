/* SPDX-License-Identifier: MIT */
/* This is the only place where sizes that a model names are added and multiplied, with checks. */
#ifndef BASE_SIZE_H
#define BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns false on overflow; *out is then undefined. */
static inline bool size_add(size_t a, size_t b, size_t *out)
{
        return !__builtin_add_overflow(a, b, out);
}
static inline bool size_mul(size_t a, size_t b, size_t *out)
{
        return !__builtin_mul_overflow(a, b, out);
}
static inline bool int_add(int64_t a, int64_t b, int64_t *out)
{
        return !__builtin_add_overflow(a, b, out);
}
static inline bool int_sub(int64_t a, int64_t b, int64_t *out)
{
        return !__builtin_sub_overflow(a, b, out);
}
static inline bool int_mul(int64_t a, int64_t b, int64_t *out)
{
        return !__builtin_mul_overflow(a, b, out);
}

/* Computes the product of rank extents, each in [0, 2^31 - 1], which is 1 for rank 0. Returns false
 * where one is out of range or the product, with zero extents counted as 1, passes 2^62: so any
 * partial product is safe too. */
bool size_elements(const int64_t *dims, int rank, int64_t *count);

/* For positive b and a that is not negative, divide_up returns how many pieces of b hold a, and
 * round_up what they hold. */
static inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t round_up(int64_t a, int64_t b) { return divide_up(a, b) * b; }
/* Returns a / b for positive b, rounded down also where a is negative. */
static inline int64_t divide_down(int64_t a, int64_t b)
{
        return a >= 0 ? a / b : -divide_up(-a, b);
}

/* Returns the greatest common divisor of numbers that are not negative; 0 of two zeros. A negative
 * number may make the result negative. */
static inline int64_t common_divisor(int64_t a, int64_t b)
{
        while (b) {
                int64_t rest = a % b;
                a = b;
                b = rest;
        }
        return a;
}

/* Reads "4096", "64K", "1M", "2G", "3T", "64k", "64KB", "64KiB": a byte count with an optional
 * unit, which is a power of 1024 however it is written. Returns false where it is malformed or too
 * big. */
bool size_parse(const char *text, uint64_t *bytes);

/* Reads a decimal int64 that fills the whole text; returns false otherwise. */
bool int_parse(const char *text, int64_t *value);
/* Reads a range that fills the whole text, "1..512", or "1..512:1,16" with likely numbers of it:
 * *least is at least 0, *most at least as large, at least 1, and at most INT32_MAX. *likely is the
 * list behind the colon, or NULL; the caller may pass NULL. */
bool int_range_parse(const char *text, int64_t *least, int64_t *most, const char **likely);
/* Reads the first number of a list, "1,16", and steps over it; *text becomes NULL behind the
 * last. */
bool int_list_next(const char **text, int64_t *value);

#endif
