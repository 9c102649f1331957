/* SPDX-License-Identifier: MIT */
/* Nothing computes in these types: floats of 8 and 4 bits, integers of 4 and 2. Each is a byte
 * (elements.def), made and read by bitcasts and the arithmetic here, element by element, so that
 * kernels take the conversion in.
 *
 *      sign  exponent  fraction                value
 *        s   0         f                       f * 2^(1 - bias - fraction bits)
 *        s   e         f                       1.f * 2^(e - bias)
 *
 * Where the formats differ (in infinities, and in which codes are NaN) they follow their
 * definitions: OCP's OFP8 and MX, and for "uz" what Graphcore and AMD published, which has no
 * negative zero, whose code is the only NaN. */
#include "front/compose/compose.h"

#include <math.h>

#include "front/compose/compose_arithmetic.h"

struct format {
        enum element element;
        int exponent, fraction;         /* These are numbers of bits. */
        int bias;
        unsigned largest;               /* It is the code of the largest finite number. */
        unsigned beyond;                /* It is the code of what is larger, and of NaN in all but
                                         * e5m2; at 0 there is no such code, and the largest number
                                         * stands for it. */
        bool infinite, unsigned_zero;
};

static const struct format formats[] = {
        { E_F8E4M3,   4, 3, 7,  0x7e, 0x7f, false, false },
        { E_F8E4M3UZ, 4, 3, 8,  0x7f, 0x80, false, true },
        { E_F8E5M2,   5, 2, 15, 0x7b, 0x7c, true,  false },
        { E_F8E5M2UZ, 5, 2, 16, 0x7f, 0x80, false, true },
        { E_F4E2M1,   2, 1, 1,  0x07, 0,    false, false },
};
enum { F32_FRACTION = 23, F32_BIAS = 127 };

static const struct format *format_of(enum element e)
{
        for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
                if (formats[i].element == e)
                        return &formats[i];
        return NULL;
}

static bool is_narrow(enum element e) { return element_info[e].class == CLASS_OTHER; }

int compose_narrow_bits(enum element e)
{
        return !is_narrow(e)                                 ? 8 * element_info[e].bytes
               : e == E_I2 || e == E_U2                      ? 2
               : e == E_I4 || e == E_U4 || e == E_F4E2M1 ? 4
                                                             : 8;
}

enum element compose_plain_element(enum element e)
{
        return !is_narrow(e) ? e : format_of(e) || e == E_F8E8M0 ? E_F32 : element_storage(e);
}

struct value *compose_extent_less(struct compose *c, enum element e, dim_t extent, int fewer)
{
        if (dim_is_static(extent))
                return build_scalar(c->b, e, (double)dim_extent(extent) - fewer);
        return compose_cast(c, compose_with(c, OP_sub, compose_extent(c, extent), fewer), e);
}

struct value *compose_as_bits(struct compose *c, struct value *x, enum element to)
{
        struct attr *attrs = attrs_new(c->m, OP_bitcast);
        attr_set(attrs, OP_bitcast, "to", to);
        return x ? value_build(c->b, OP_bitcast, &x, 1, attrs, NULL) : NULL;
}

static struct value *like(struct compose *c, struct value *x, double number)
{
        return x ? build_like(c->b, x, number) : NULL;
}

/* Returns an integer of 8 bits with the value that its lowest bits have, as integers of fewer
 * bits wrap. */
static struct value *wrapped(struct compose *c, struct value *x, enum element e)
{
        int unused = 8 - compose_narrow_bits(e);
        return compose_with(c, OP_shr, compose_with(c, OP_shl, x, unused), unused);
}

/* ---- to numbers ---- */

/* Returns the numbers that codes u, in u32, stand for. */
static struct value *decode_float(struct compose *c, const struct format *f, struct value *u)
{
        unsigned sign = 1u << (f->exponent + f->fraction);
        struct value *size = compose_with(c, OP_and, u, sign - 1), *x;
        struct value *least =
                times(c, compose_cast(c, size, E_F32), ldexp(1, 1 - f->bias - f->fraction));
        x = compose_with(c, OP_shl, size, F32_FRACTION - f->fraction);
        x = compose_as_bits(c, plus(c, x, ldexp(F32_BIAS - f->bias, F32_FRACTION)), E_F32);
        x = compose_select(c, compose_with(c, OP_lt, size, 1 << f->fraction), least, x);
        if (f->infinite)
                x = compose_select(c, compose_with(c, OP_eq, size, f->beyond), like(c, x, INFINITY),
                                   x);
        struct value *chosen = compose_unary(c, OP_neg, x);
        x = compose_select(c, compose_with(c, OP_ge, u, sign), chosen, x);
        if (!f->beyond)
                return x;
        struct value *nan = f->unsigned_zero ? compose_with(c, OP_eq, u, f->beyond)
                                             : compose_with(c, OP_gt, size,
                                                            f->infinite ? f->beyond : f->largest);
        return compose_select(c, nan, like(c, x, NAN), x);
}

/* Returns the powers of two whose exponents u has. */
static struct value *decode_exponent(struct compose *c, struct value *u)
{
        struct value *x = compose_with(c, OP_shl, u, F32_FRACTION);
        x = compose_select(c, compose_with(c, OP_eq, u, 0), like(c, x, 1 << (F32_FRACTION - 1)), x);
        x = compose_as_bits(c, x, E_F32);
        return compose_select(c, compose_with(c, OP_eq, u, 0xff), like(c, x, NAN), x);
}

/* Returns x in the type that compose_plain_element says. */
static struct value *decode(struct compose *c, struct value *x)
{
        enum element e = value_element(x), storage = element_storage(e);
        const struct format *f = format_of(e);
        if (element_code(e))
                return build_cast(c->b, x, E_F32);
        x = compose_as_bits(c, x, storage);
        if (compose_plain_element(e) != E_F32)
                return wrapped(c, x, e); /* The unused bits of the byte may be anything. */
        x = compose_cast(c, x, E_U32);
        return f ? decode_float(c, f, x) : decode_exponent(c, x);
}

/* ---- from numbers ---- */

/* Rounds to nearest, ties to even: the code is the number in units of its last place, plus the
 * codes below its power of two. */
static struct value *encode_float(struct compose *c, const struct format *f, struct value *x,
                                  bool saturate)
{
        unsigned sign = 1u << (f->exponent + f->fraction), fields = f->largest >> f->fraction,
                 rest = f->largest & ((1u << f->fraction) - 1);
        double largest = ldexp((1u << f->fraction) + rest, (int)fields - f->bias - f->fraction);
        int least = F32_BIAS + 1 - f->bias; /* It is the exponent in f32 of a number whose exponent
                                             * is 1 in the format. */
        struct value *negative = compose_with(c, OP_ge, compose_as_bits(c, x, E_U32), 0x80000000u),
                     *size = compose_unary(c, OP_abs, x);
        size = compose_with(c, OP_min, size, saturate || !f->beyond ? largest : 4 * largest);
        struct value *exponent =
                compose_with(c, OP_shr, compose_as_bits(c, size, E_U32), F32_FRACTION);
        exponent = compose_with(c, OP_max, exponent, least);
        struct value *units = compose_with(
                c, OP_shl, compose_from(c, OP_sub, 2 * F32_BIAS + f->fraction, exponent),
                F32_FRACTION);
        units = compose_unary(c, OP_round, mul(c, size, compose_as_bits(c, units, E_F32)));
        struct value *below =
                compose_with(c, OP_shl, compose_with(c, OP_sub, exponent, least), f->fraction);
        struct value *code = add(c, compose_cast(c, units, E_U32), below);
        if (f->beyond)
                code = compose_select(c, compose_with(c, OP_gt, code, f->largest),
                                      like(c, code, f->beyond), code);
        struct value *signs = f->unsigned_zero ? compose_binary(c, OP_and, negative,
                                                                compose_with(c, OP_ne, code, 0))
                                               : negative;
        code = compose_select(c, signs, compose_with(c, OP_or, code, sign), code);
        struct value *nan = compose_unary(c, OP_is_nan, x);
        return compose_select(c, nan,
                              like(c, code,
                                   f->infinite ? f->beyond | 1u << (f->fraction - 1)
                                   : f->beyond ? f->beyond
                                               : sign),
                              code);
}

static struct value *encode_exponent(struct compose *c, struct value *x,
                                     const struct compose_conversion *how)
{
        struct value *bits = compose_as_bits(c, x, E_U32);
        struct value *exponent =
                compose_with(c, OP_and, compose_with(c, OP_shr, bits, F32_FRACTION), 0xff);
        struct value *fraction = compose_with(c, OP_and, bits, (1 << F32_FRACTION) - 1),
                     *more = NULL;
        double half = 1 << (F32_FRACTION - 1);
        if (how->round == ROUND_UP)
                more = compose_with(c, OP_gt, fraction, 0);
        if (how->round == ROUND_NEAREST) { /* A tie goes up, but not from denormals. */
                struct value *normal = compose_with(c, OP_gt, exponent, 0),
                             *tie = compose_binary(c, OP_and,
                                                   compose_with(c, OP_eq, fraction, half), normal);
                more = compose_binary(c, OP_or, compose_with(c, OP_gt, fraction, half), tie);
        }
        if (!more)
                return exponent;
        more = compose_binary(c, OP_and, more,
                              compose_with(c, OP_lt, exponent, how->saturate ? 0xfe : 0xff));
        return add(c, exponent, compose_cast(c, more, E_U32));
}

static struct value *encode(struct compose *c, struct value *x, enum element e,
                            const struct compose_conversion *how)
{
        const struct format *f = format_of(e);
        if (compose_plain_element(e) != E_F32)
                return compose_as_bits(
                        c,
                        wrapped(c, compose_cast(c, compose_cast(c, x, E_I32), element_storage(e)),
                                e),
                        e);
        x = compose_cast(c, x, E_F32);
        x = f ? encode_float(c, f, x, how->saturate) : encode_exponent(c, x, how);
        return compose_as_bits(c, compose_cast(c, x, E_U8), e);
}

struct value *compose_convert(struct compose *c, struct value *x, enum element to,
                              const struct compose_conversion *how)
{
        if (!x || value_element(x) == to)
                return x;
        if (is_narrow(value_element(x)))
                x = decode(c, x);
        return !x || !is_narrow(to) ? (x ? build_cast(c->b, x, to) : NULL) : encode(c, x, to, how);
}

bool compose_integer_range(enum element e, double *least, double *most)
{
        bool is_signed = element_info[element_storage(e)].class == CLASS_SINT;
        if (!is_narrow(e) || compose_plain_element(e) == E_F32)
                return false;
        *least = is_signed ? -ldexp(1, compose_narrow_bits(e) - 1) : 0;
        *most = ldexp(1, compose_narrow_bits(e) - is_signed) - 1;
        return true;
}

struct value *compose_cast(struct compose *c, struct value *x, enum element e)
{
        return compose_convert(c, x, e, &(struct compose_conversion){ .saturate = true });
}

enum element compose_wide_element(enum element e) { return e == E_F16 || e == E_BF16 ? E_F32 : e; }

struct value *compose_wide(struct compose *c, struct value *x)
{
        return x ? compose_cast(c, x, compose_wide_element(value_element(x))) : NULL;
}
