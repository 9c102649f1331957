/* SPDX-License-Identifier: MIT */
/* This is the interpreter's loop. Everything that could be undefined in C is defined here: slots
 * are 64 bits of unsigned arithmetic, conversions saturate by comparison first, memory is read and
 * written by memcpy after a check. */
#include <float.h>
#include <string.h>

#include "ir/interp/interp_code.h"

/* Every operation rounds to its own type, and a product is rounded before it is added. */
_Static_assert(FLT_EVAL_METHOD == 0, "the interpreter needs float arithmetic in float");
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

enum { GARBAGE = 0xa5, GARBAGE_BYTES_PER_STEP = 64 };

static int64_t divide(int64_t a, int64_t b)
{
        if (!b)
                return 0;
        return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static uint32_t float_bits(float f)
{
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        return bits;
}

static float float_from_bits(uint32_t bits)
{
        float f;
        memcpy(&f, &bits, sizeof f);
        return f;
}

static double load_small(enum element e, uint64_t bits)
{
        uint16_t storage = (uint16_t)bits;
        return element_load(e, &storage, 0).f;
}

static uint64_t store_small(enum element e, double value)
{
        union { uint16_t half; uint32_t word; } storage = { .word = 0 };
        element_store(e, &storage, 0, (union scalar){ .f = value });
        return e == E_TF32 ? storage.word : storage.half;
}

/* Converts an integer with one rounding: bits that a double cannot hold become a sticky last
 * bit. */
static uint64_t store_integer(enum element e, bool negative, uint64_t magnitude)
{
        double value = (double)magnitude;
        if (magnitude >> 53)
                value = 2048 * (double)(magnitude >> 11 | ((magnitude & 2047) != 0));
        return store_small(e, negative ? -value : value);
}

/* Rounds toward zero, and NaN to 0. */
static int64_t saturate_signed(double x, int width)
{
        int64_t most = (int64_t)(UINT64_MAX >> (65 - width));
        double bound = (double)(UINT64_C(1) << (width - 1));
        if (x != x)
                return 0;
        return x >= bound ? most : x < -bound ? -most - 1 : (int64_t)x;
}

static uint64_t saturate_unsigned(double x, int width)
{
        if (!(x > 0))
                return 0;
        return x >= 2 * (double)(UINT64_C(1) << (width - 1)) ? UINT64_MAX >> (64 - width)
                                                             : (uint64_t)x;
}

/* ---- nests ---- */

struct nest_range {
        uint64_t count[NEST_DEPTH_MAX];
        int64_t step[2][NEST_DEPTH_MAX]; /* An access moves this many bytes from one iteration of a
                                          * loop to the next. */
        const unsigned char *first[2];
};

static bool add_product(int64_t *sum, int64_t a, int64_t b)
{
        int64_t product;
        return !__builtin_mul_overflow(a, b, &product) &&
               !__builtin_add_overflow(*sum, product, sum);
}

/* Finds how often each loop runs. Returns INTERP_OK with *total, the product, which is 0 when a
 * loop does not run. */
static int count_nest(const struct nest *nest, const union slot *r, struct nest_range *range,
                      uint64_t limit, uint64_t *total)
{
        *total = 1;
        for (int l = 0; l < nest->depth; l++) {
                const struct nest_loop *loop = &nest->loops[l];
                int64_t start = r[loop->start].i, end = r[loop->end].i;
                range->count[l] = end > start ? (uint64_t)end - (uint64_t)start : 0;
                if (loop->step != 1 && range->count[l])
                        range->count[l] = (range->count[l] - 1) / (uint64_t)loop->step + 1;
                if (!range->count[l]) {
                        *total = 0;
                        return INTERP_OK;
                }
        }
        for (int l = 0; l < nest->depth; l++)
                if (__builtin_mul_overflow(*total, range->count[l], total) || *total > limit)
                        return INTERP_OUT_OF_STEPS;
        return INTERP_OK;
}

/* Finds the first element of access k, and the steps from it; returns false where any subscript is
 * out of range. Some iterations reach the lowest and the highest subscript. */
static bool place_access(const struct nest *nest, int k, const union slot *r,
                         const struct descriptor *d, struct nest_range *range)
{
        const struct nest_access *access = &nest->access[k];
        uint64_t first = r[access->base].u;
        d += access->descriptor;
        for (int l = 0; l < nest->depth; l++)
                first += (uint64_t)access->stride[l] * r[nest->loops[l].start].u;
        int64_t low = (int64_t)first, high = low;
        for (int l = 0; l < nest->depth; l++) {
                int64_t stride = 0;
                if (range->count[l] > 1 &&
                    (!add_product(&stride, access->stride[l], nest->loops[l].step) ||
                     !add_product(stride < 0 ? &low : &high, stride,
                                  (int64_t)(range->count[l] - 1))))
                        return false;
                range->step[k][l] = stride;
        }
        if (low < 0 || high >= d->extent)
                return false;
        for (int l = 0; l < nest->depth; l++) /* stride| < extent holds here. */
                range->step[k][l] = d->mask ? range->step[k][l] * d->bytes : 0;
        range->first[k] = d->data + (int64_t)(first & d->mask) * d->bytes;
        return true;
}

#define F32_MEMORY float
#define F64_MEMORY double
#define I8_MEMORY int8_t
#define U8_MEMORY uint8_t

/* The two innermost loops are run here, those around them by incrementing their own counters. */
#define NEST(name, kind, type, field, loads, X, Y, expression)                                                         \
        static type run_##name(type s, const struct nest_range *range, int depth)                                      \
        {                                                                                                              \
                const bool two = loads > 1, square = depth > 1;                                                        \
                const int inner = depth - 1, outer = square ? depth - 2 : 0;                                           \
                const int64_t step_p = range->step[0][inner], step_q = two ? range->step[1][inner] : 0;                \
                const int64_t row_p = range->step[0][outer], row_q = two ? range->step[1][outer] : 0;                  \
                const uint64_t columns = range->count[inner], rows = square ? range->count[outer] : 1;                 \
                const unsigned char *p = range->first[0], *q = two ? range->first[1] : p;                              \
                uint64_t done[NEST_DEPTH_MAX] = { 0 };                                                                 \
                for (;;) {                                                                                             \
                        const unsigned char *at_p = p, *at_q = q;                                                      \
                        for (uint64_t row = rows;;) {                                                                  \
                                const unsigned char *x_ = at_p, *y_ = at_q;                                            \
                                for (uint64_t n = columns;;) {                                                         \
                                        X##_MEMORY x;                                                                  \
                                        Y##_MEMORY y;                                                                  \
                                        memcpy(&x, x_, sizeof x);                                                      \
                                        memcpy(&y, y_, sizeof y);                                                      \
                                        (void)y;                                                                       \
                                        s = expression;                                                                \
                                        if (!--n)                                                                      \
                                                break;                                                                 \
                                        x_ += step_p;                                                                  \
                                        y_ += step_q;                                                                  \
                                }                                                                                      \
                                if (!--row)                                                                            \
                                        break;                                                                         \
                                at_p += row_p;                                                                         \
                                at_q += row_q;                                                                         \
                        }                                                                                              \
                        int l = depth - 3;                                                                             \
                        for (; l >= 0 && ++done[l] == range->count[l]; l--) {                                          \
                                p -= range->step[0][l] * (int64_t)(range->count[l] - 1);                               \
                                q -= two ? range->step[1][l] * (int64_t)(range->count[l] - 1) : 0;                     \
                                done[l] = 0;                                                                           \
                        }                                                                                              \
                        if (l < 0)                                                                                     \
                                return s;                                                                              \
                        p += range->step[0][l];                                                                        \
                        q += two ? range->step[1][l] : 0;                                                              \
                }                                                                                                      \
        }
#include "ir/interp/interp_ops.def"

/* ---- descriptors ---- */

static bool overlap(const struct descriptor *x, const struct descriptor *y)
{
        uintptr_t a = (uintptr_t)x->data, b = (uintptr_t)y->data;
        if (a == b)
                return x->bytes != y->bytes;
        return a < b ? b - a < (uintptr_t)x->extent * (uintptr_t)x->bytes
                     : a - b < (uintptr_t)y->extent * (uintptr_t)y->bytes;
}

/* ---- the loop ---- */

/* A jump of its own after every instruction lets the processor predict which instruction follows
 * which: that is half as fast again as a switch in a loop. */
#define CASE(name) label_##name:
#define NEXT                                                                                                           \
        do {                                                                                                           \
                i = next++;                                                                                            \
                __extension__({ goto *labels[i->code]; });                                                             \
        } while (0)

int interp_execute(struct interp *interp, uint64_t max_steps, uint64_t *steps)
{
        static const void *const labels[INSTRUCTION_COUNT] = {
#define INSTRUCTION(name) [name] = __extension__ &&label_##name,
#include "ir/interp/interp_instructions.def"
        };
        const struct instruction *const code = interp->code, *next = code, *i;
        union slot *const r = interp->slots;
        struct descriptor *const descriptors = interp->descriptors;
        const uint64_t limit = max_steps ? max_steps : UINT64_MAX / 2;
        uint64_t spent = 0;
        int result = INTERP_OK;
        NEXT;
#include "ir/interp/interp_cases.def"

out_of_steps:
        result = INTERP_OUT_OF_STEPS;
        goto leave;
out_of_range:
        result = INTERP_OUT_OF_RANGE;
leave:
        if (steps)
                *steps = spent;
        return result;
}
