/* The interpreter's loop. Everything that could be undefined in C is defined here: slots are 64
 * bits of unsigned arithmetic, conversions saturate by comparison first, memory is read and written
 * by memcpy after a check. */
#include <float.h>
#include <string.h>

#include "ir/interp_code.h"

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
        uint16_t storage;
        element_store(e, &storage, 0, (union scalar){ .f = value });
        return storage;
}

/* rounded once: what a double cannot hold becomes a sticky last bit */
static uint64_t store_integer(enum element e, bool negative, uint64_t magnitude)
{
        double value = (double)magnitude;
        if (magnitude >> 53)
                value = 2048 * (double)(magnitude >> 11 | ((magnitude & 2047) != 0));
        return store_small(e, negative ? -value : value);
}

/* toward zero, NaN to 0 */
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
        int64_t step[2][NEST_DEPTH_MAX]; /* bytes from one iteration to the next, per access and
                                          * loop */
        const unsigned char *first[2];
};

static bool add_product(int64_t *sum, int64_t a, int64_t b)
{
        int64_t product;
        return !__builtin_mul_overflow(a, b, &product) &&
               !__builtin_add_overflow(*sum, product, sum);
}

/* How often each loop runs: INTERP_OK with *total, the product; 0 when any runs not at all. */
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

/* The first element of access k and the way on from it; false where any subscript is out of range.
 * The lowest and the highest are reached by some iteration each. */
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
        for (int l = 0; l < nest->depth; l++) /* |stride| < extent now */
                range->step[k][l] = d->mask ? range->step[k][l] * d->bytes : 0;
        range->first[k] = d->data + (int64_t)(first & d->mask) * d->bytes;
        return true;
}

#define F32_MEMORY float
#define F64_MEMORY double
#define I8_MEMORY int8_t
#define U8_MEMORY uint8_t

/* The two innermost loops are run here, those around them by counting up their own counters. */
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
#include "ir/interp_ops.def"

/* ---- lanes ---- */

/* halves pairwise: with 4 lanes (0 + 2) + (1 + 3) */
#define HALVES(field, expression)                                                                                      \
        for (int n = i->lanes; n > 1;) {                                                                               \
                int half = (n + 1) / 2;                                                                                \
                for (int l = 0; l + half < n; l++) {                                                                   \
                        const union slot x = r[i->b + l], y = r[i->b + l + half];                                      \
                        r[i->b + l].field = expression;                                                                \
                }                                                                                                      \
                n = half;                                                                                              \
        }                                                                                                              \
        r[i->a] = r[i->b];                                                                                             \
        NEXT

static bool overlap(const struct descriptor *x, const struct descriptor *y)
{
        uintptr_t a = (uintptr_t)x->data, b = (uintptr_t)y->data;
        if (a == b)
                return x->bytes != y->bytes;
        return a < b ? b - a < (uintptr_t)x->extent * (uintptr_t)x->bytes
                     : a - b < (uintptr_t)y->extent * (uintptr_t)y->bytes;
}

/* ---- the loop ---- */

#define TYPE_d double
#define TYPE_f float
#define TYPE_i int64_t
#define TYPE_u uint64_t
#define LANES for (int l = 0; l < i->lanes; l++)
#define SPEND(cost)                                                                                                    \
        do {                                                                                                           \
                spent += (uint64_t)(cost);                                                                             \
                if (spent > limit)                                                                                     \
                        goto out_of_steps;                                                                             \
        } while (0)
#define JUMP_IF(condition)                                                                                             \
        do {                                                                                                           \
                if (condition)                                                                                         \
                        next = code + i->e;                                                                            \
        } while (0)

/* A jump of its own after every instruction lets the processor learn what follows what: half as
 * much again faster than a switch in a loop. */
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
#include "ir/interp_instructions.def"
        };
        const struct instruction *const code = interp->code, *next = code, *i;
        union slot *const r = interp->slots;
        struct descriptor *const descriptors = interp->descriptors;
        const uint64_t limit = max_steps ? max_steps : UINT64_MAX / 2;
        uint64_t spent = 0;
        int result = INTERP_OK;
        NEXT;

#define CONVERT(name, to, from, expression)                                                                            \
        CASE(I_##name)                                                                                                 \
        {                                                                                                              \
                const TYPE_##from a = r[i->b].from;                                                                    \
                r[i->a].to = expression;                                                                               \
                NEXT;                                                                                                  \
        }                                                                                                              \
        CASE(V_##name)                                                                                                 \
        {                                                                                                              \
                const union slot *a_ = r + i->b;                                                                       \
                union slot *to_ = r + i->a;                                                                            \
                for (int l = 0, lanes = i->lanes; l < lanes; l++) {                                                    \
                        const TYPE_##from a = a_[l].from;                                                              \
                        to_[l].to = expression;                                                                        \
                }                                                                                                      \
                NEXT;                                                                                                  \
        }
#define UNARY(op, kind, to, from, expression) CONVERT(op##_##kind, to, from, expression)
#define BINARY(op, kind, to, from, expression)                                                                         \
        CASE(I_##op##_##kind)                                                                                          \
        {                                                                                                              \
                const TYPE_##from a = r[i->b].from, b = r[i->c].from;                                                  \
                r[i->a].to = expression;                                                                               \
                NEXT;                                                                                                  \
        }                                                                                                              \
        CASE(V_##op##_##kind)                                                                                          \
        {                                                                                                              \
                const union slot *a_ = r + i->b, *b_ = r + i->c;                                                       \
                union slot *to_ = r + i->a;                                                                            \
                for (int l = 0, lanes = i->lanes; l < lanes; l++) {                                                    \
                        const TYPE_##from a = a_[l].from, b = b_[l].from;                                              \
                        to_[l].to = expression;                                                                        \
                }                                                                                                      \
                NEXT;                                                                                                  \
        }
#define OF_THREE(name, to, from, expression)                                                                           \
        CASE(I_##name)                                                                                                 \
        {                                                                                                              \
                const TYPE_##from a = r[i->b].from, b = r[i->c].from, c = r[i->d].from;                                \
                r[i->a].to = expression;                                                                               \
                NEXT;                                                                                                  \
        }                                                                                                              \
        CASE(V_##name)                                                                                                 \
        {                                                                                                              \
                const union slot *a_ = r + i->b, *b_ = r + i->c, *c_ = r + i->d;                                       \
                union slot *to_ = r + i->a;                                                                            \
                for (int l = 0, lanes = i->lanes; l < lanes; l++) {                                                    \
                        const TYPE_##from a = a_[l].from, b = b_[l].from, c = c_[l].from;                              \
                        to_[l].to = expression;                                                                        \
                }                                                                                                      \
                NEXT;                                                                                                  \
        }
#define TERNARY(op, kind, to, from, expression) OF_THREE(op##_##kind, to, from, expression)
#define FUSED(name, field, expression) OF_THREE(name, field, field, expression)
#define COMPARE(op, kind, from, operator)                                                                              \
        CASE(I_##op##_##kind)                                                                                          \
        r[i->a].u = r[i->b].from operator r[i->c].from;                                                                \
        NEXT;                                                                                                          \
        CASE(I_UNLESS_##op##_##kind)                                                                                   \
        JUMP_IF(!(r[i->b].from operator r[i->c].from));                                                                \
        NEXT;                                                                                                          \
        CASE(V_##op##_##kind)                                                                                          \
        {                                                                                                              \
                const union slot *a_ = r + i->b, *b_ = r + i->c;                                                       \
                union slot *to_ = r + i->a;                                                                            \
                for (int l = 0, lanes = i->lanes; l < lanes; l++)                                                      \
                        to_[l].u = a_[l].from operator b_[l].from;                                                     \
                NEXT;                                                                                                  \
        }
#define MEMORY(name, type, field, widened)                                                                             \
        CASE(I_LOAD_##name)                                                                                            \
        {                                                                                                              \
                const struct descriptor *d = &descriptors[i->d];                                                       \
                const uint64_t at = r[i->b].u + r[i->c].u * (uint64_t)i->e;                                            \
                type m;                                                                                                \
                if (at >= (uint64_t)d->extent)                                                                         \
                        goto out_of_range;                                                                             \
                memcpy(&m, d->data + (at & d->mask) * sizeof m, sizeof m);                                             \
                r[i->a].field = widened;                                                                               \
                NEXT;                                                                                                  \
        }                                                                                                              \
        CASE(I_STORE_##name)                                                                                           \
        {                                                                                                              \
                const struct descriptor *d = &descriptors[i->d];                                                       \
                const uint64_t at = r[i->b].u + r[i->c].u * (uint64_t)i->e;                                            \
                const type m = (type)r[i->a].field;                                                                    \
                if (at >= (uint64_t)d->extent)                                                                         \
                        goto out_of_range;                                                                             \
                memcpy(d->data + at * sizeof m, &m, sizeof m);                                                         \
                NEXT;                                                                                                  \
        }                                                                                                              \
        CASE(V_LOAD_##name)                                                                                            \
        {                                                                                                              \
                const struct descriptor *d = &descriptors[i->d];                                                       \
                for (int l = 0, lanes = i->lanes; l < lanes; l++) {                                                    \
                        const uint64_t at = i->e == GATHER ? r[i->b + l].u : r[i->b].u + (uint64_t)l;                  \
                        type m = 0;                                                                                    \
                        if (i->c < 0 || r[i->c + l].u) {                                                               \
                                if (at >= (uint64_t)d->extent)                                                         \
                                        goto out_of_range;                                                             \
                                memcpy(&m, d->data + (at & d->mask) * sizeof m, sizeof m);                             \
                        }                                                                                              \
                        r[i->a + l].field = widened;                                                                   \
                }                                                                                                      \
                NEXT;                                                                                                  \
        }                                                                                                              \
        CASE(V_STORE_##name)                                                                                           \
        {                                                                                                              \
                const struct descriptor *d = &descriptors[i->d];                                                       \
                for (int l = 0, lanes = i->lanes; l < lanes; l++) {                                                    \
                        const uint64_t at = i->e == GATHER ? r[i->b + l].u : r[i->b].u + (uint64_t)l;                  \
                        const type m = (type)r[i->a + l].field;                                                        \
                        if (i->c >= 0 && !r[i->c + l].u)                                                               \
                                continue;                                                                              \
                        if (at >= (uint64_t)d->extent)                                                                 \
                                goto out_of_range;                                                                     \
                        memcpy(d->data + at * sizeof m, &m, sizeof m);                                                 \
                }                                                                                                      \
                NEXT;                                                                                                  \
        }                                                                                                              \
        CASE(V_LOAD_RUN_##name)                                                                                        \
        {                                                                                                              \
                const struct descriptor *d = &descriptors[i->d];                                                       \
                const uint64_t at = r[i->b].u, extent = (uint64_t)d->extent;                                           \
                const int lanes = i->lanes;                                                                            \
                union slot *to_ = r + i->a;                                                                            \
                if (at >= extent || (uint64_t)lanes > extent - at)                                                     \
                        goto out_of_range;                                                                             \
                const unsigned char *from_ = d->data + (at & d->mask) * sizeof(type);                                  \
                const size_t stride = d->mask ? sizeof(type) : 0;                                                      \
                for (int l = 0; l < lanes; l++) {                                                                      \
                        type m;                                                                                        \
                        memcpy(&m, from_ + (size_t)l * stride, sizeof m);                                              \
                        to_[l].field = widened;                                                                        \
                }                                                                                                      \
                NEXT;                                                                                                  \
        }                                                                                                              \
        CASE(V_STORE_RUN_##name)                                                                                       \
        {                                                                                                              \
                const struct descriptor *d = &descriptors[i->d];                                                       \
                const uint64_t at = r[i->b].u, extent = (uint64_t)d->extent;                                           \
                const int lanes = i->lanes;                                                                            \
                const union slot *from_ = r + i->a;                                                                    \
                if (at >= extent || (uint64_t)lanes > extent - at)                                                     \
                        goto out_of_range;                                                                             \
                unsigned char *to_ = d->data + at * sizeof(type);                                                      \
                for (int l = 0; l < lanes; l++) {                                                                      \
                        const type m = (type)from_[l].field;                                                           \
                        memcpy(to_ + (size_t)l * sizeof m, &m, sizeof m);                                              \
                }                                                                                                      \
                NEXT;                                                                                                  \
        }
#define FOLD(op, kind, field, expression)                                                                              \
        CASE(FOLD_##op##_##kind)                                                                                       \
        {                                                                                                              \
                const union slot *x_ = r + i->b;                                                                       \
                TYPE_##field s = r[i->a].field;                                                                        \
                for (int l = 0, lanes = i->lanes; l < lanes; l++) {                                                    \
                        const TYPE_##field x = x_[l].field;                                                            \
                        s = expression;                                                                                \
                }                                                                                                      \
                r[i->a].field = s;                                                                                     \
                NEXT;                                                                                                  \
        }
#define NEST(name, kind, type, field, loads, ...)                                                                      \
        CASE(N_##name)                                                                                                 \
        {                                                                                                              \
                const struct nest *nest = &interp->nests[i->a];                                                        \
                struct nest_range range;                                                                               \
                uint64_t total;                                                                                        \
                if (count_nest(nest, r, &range, limit - spent, &total))                                                \
                        goto out_of_steps;                                                                             \
                spent += total;                                                                                        \
                if (!total)                                                                                            \
                        NEXT;                                                                                          \
                for (int k = 0; k < loads; k++)                                                                        \
                        if (!place_access(nest, k, r, descriptors, &range))                                            \
                                goto out_of_range;                                                                     \
                r[nest->accumulator].field = run_##name((type)r[nest->accumulator].field, &range, nest->depth);        \
                NEXT;                                                                                                  \
        }
#include "ir/interp_ops.def"

        CASE(I_MOVE)
        r[i->a] = r[i->b];
        NEXT;
        CASE(V_MOVE)
        LANES
        r[i->a + l] = r[i->b + l];
        NEXT;
        CASE(I_SELECT)
        r[i->a] = r[i->b].u ? r[i->c] : r[i->d];
        NEXT;
        CASE(V_SELECT)
        LANES
        r[i->a + l] = r[i->b + l].u ? r[i->c + l] : r[i->d + l];
        NEXT;
        CASE(I_INDEX)
        r[i->a].u = r[i->b].u + r[i->c].u * (uint64_t)i->e;
        NEXT;
        CASE(V_SPLAT)
        LANES
        r[i->a + l] = r[i->b];
        NEXT;
        CASE(V_INTERLEAVE_LOW)
        LANES
        r[i->a + l] = r[(l % 2 ? i->c : i->b) + l / 2];
        NEXT;
        CASE(V_INTERLEAVE_HIGH)
        LANES
        r[i->a + l] = r[(l % 2 ? i->c : i->b) + (i->lanes + l) / 2];
        NEXT;
        CASE(V_RAMP)
        LANES
        r[i->a + l].u = r[i->b].u + (uint64_t)l * r[i->c].u;
        NEXT;
        CASE(V_RAMP_F32)
        LANES
        r[i->a + l].f = r[i->b].f + (float)l * r[i->c].f;
        NEXT;
        CASE(V_RAMP_F64)
        LANES
        r[i->a + l].d = r[i->b].d + l * r[i->c].d;
        NEXT;
        CASE(H_ADD_F32) HALVES(f, x.f + y.f);
        CASE(H_ADD_F64) HALVES(d, x.d + y.d);
        CASE(H_ADD_I32) HALVES(i, (int32_t)(uint32_t)(x.u + y.u));
        CASE(H_ADD_U32) HALVES(u, (uint32_t)(x.u + y.u));
        CASE(H_ADD_I64) HALVES(u, x.u + y.u);
        CASE(H_MIN_F32) HALVES(f, y.f < x.f || y.f != y.f ? y.f : x.f);
        CASE(H_MIN_F64) HALVES(d, y.d < x.d || y.d != y.d ? y.d : x.d);
        CASE(H_MIN_I64) HALVES(i, y.i < x.i ? y.i : x.i);
        CASE(H_MIN_U64) HALVES(u, y.u < x.u ? y.u : x.u);
        CASE(H_MAX_F32) HALVES(f, y.f > x.f || y.f != y.f ? y.f : x.f);
        CASE(H_MAX_F64) HALVES(d, y.d > x.d || y.d != y.d ? y.d : x.d);
        CASE(H_MAX_I64) HALVES(i, y.i > x.i ? y.i : x.i);
        CASE(H_MAX_U64) HALVES(u, y.u > x.u ? y.u : x.u);

        CASE(I_BIND)
        {
                struct descriptor *to = &descriptors[i->a];
                const struct descriptor *from = &descriptors[i->b];
                to->data = from->data;
                to->mask = from->mask;
                to->extent = from->extent;
                NEXT;
        }
        CASE(I_BIND_PART)
        {
                struct descriptor *to = &descriptors[i->a];
                const struct descriptor *from = &descriptors[i->b];
                const int64_t at = r[i->c].i;
                if (at < 0 || at > from->extent || from->extent - at < r[i->d].i)
                        goto out_of_range;
                to->data = from->mask ? from->data + at * from->bytes : from->data;
                to->mask = from->mask;
                to->extent = from->extent - at;
                NEXT;
        }
        CASE(I_ALLOC)
        {
                const struct descriptor *d = &descriptors[i->a];
                const size_t bytes = (size_t)d->extent * (size_t)d->bytes;
                SPEND(bytes / GARBAGE_BYTES_PER_STEP);
                memset(d->data, GARBAGE, bytes);
                NEXT;
        }
        CASE(I_FAIL)
        result = i->a;
        goto leave;
        CASE(I_RETURN)
        SPEND(i->d);
        next = code + r[i->a].i;
        NEXT;
        CASE(I_END)
        spent += (uint64_t)i->d;
        goto leave;
        CASE(I_JUMP)
        next = code + i->e;
        NEXT;
        CASE(I_JUMP_FALSE)
        JUMP_IF(!r[i->b].u);
        NEXT;
        CASE(I_JUMP_TRUE)
        JUMP_IF(r[i->b].u);
        NEXT;
        CASE(I_LOOP_BEGIN)
        r[i->a] = r[i->b];
        JUMP_IF(r[i->b].i >= r[i->c].i);
        NEXT;
        CASE(I_LOOP)
        SPEND(i->d);
        r[i->a].u++;
        JUMP_IF(r[i->a].i < r[i->c].i);
        NEXT;
        CASE(I_LOOP_STEP)
        {
                int64_t after;
                SPEND(i->d);
                if (__builtin_add_overflow(r[i->a].i, r[i->b].i, &after))
                        NEXT;
                r[i->a].i = after;
                JUMP_IF(after < r[i->c].i);
                NEXT;
        }
        CASE(I_STRIP_BEGIN)
        {
                int64_t last;
                if (__builtin_sub_overflow(r[i->c].i, r[i->d].i, &last))
                        last = INT64_MIN;
                r[i->a] = r[i->b];
                r[i->a + 1].i = last;
                JUMP_IF(r[i->a].i >= last);
                NEXT;
        }
        CASE(I_JUMP_OVERLAP)
        JUMP_IF(overlap(&descriptors[i->b], &descriptors[i->c]));
        NEXT;
        CASE(I_REPEAT)
        SPEND(i->d);
        next = code + i->e;
        NEXT;
        CASE(I_CALL)
        SPEND(1);
        r[i->a].i = next - code;
        next = code + i->e;
        NEXT;
        CASE(I_NONE)
        CASE(I_VECTOR)
        CASE(I_LABEL)
        result = INTERP_OUT_OF_RANGE; /* never in code */
        goto leave;
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
