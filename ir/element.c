/* SPDX-License-Identifier: MIT */
#include "ir/element.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

const struct element_info element_info[ELEMENT_COUNT] = {
#define ELEMENT(name, text, c, bytes, onnx, class, compute) \
        [E_##name] = { text, c, bytes, onnx, CLASS_##class, E_##compute },
#include "ir/elements.def"
};

bool element_from_text(const char *text, size_t length, enum element *element)
{
        for (int e = 0; e < ELEMENT_COUNT; e++)
                if (strlen(element_info[e].text) == length &&
                    !memcmp(element_info[e].text, text, length)) {
                        *element = (enum element)e;
                        return true;
                }
        return false;
}

bool element_from_onnx(int number, enum element *element)
{
        for (int e = 0; e < ELEMENT_COUNT; e++)
                if (number > 0 && element_info[e].onnx == number) {
                        *element = (enum element)e;
                        return true;
                }
        return false;
}

const struct element_code *element_code(enum element e)
{
        static const struct element_code e4m3fn = { 3, 7, 0x7e, "f8e4m3fn_to_f32" },
                                         e5m2 = { 2, 15, 0x7b, "f8e5m2_to_f32" };
        return e == E_F8E4M3 ? &e4m3fn : e == E_F8E5M2 ? &e5m2 : NULL;
}

double element_code_number(const struct element_code *c, unsigned bits)
{
        unsigned one = 1u << c->fraction, exponent = (bits & 0x7f) >> c->fraction,
                 rest = bits & (one - 1);
        double size = ldexp(exponent ? one + rest : rest,
                            (int)(exponent ? exponent : 1) - c->bias - c->fraction);
        return bits >> 7 & 1 ? -size : size;
}

bool element_codes_finite(const struct element_code *c, const unsigned char *codes, int64_t count)
{
        int64_t i = 0;
        while (i < count && (codes[i] & 0x7fu) <= c->largest)
                i++;
        return i == count;
}

/* ---- the short floats: sign, `exponent` bits, `fraction` bits; IEEE rules ---- */

enum { DOUBLE_FRACTION = 52, DOUBLE_BIAS = 1023 };

static double from_short(uint64_t bits, int exponent_bits, int fraction_bits)
{
        uint64_t sign = bits >> (exponent_bits + fraction_bits) & 1;
        uint64_t fraction = bits & ((UINT64_C(1) << fraction_bits) - 1);
        int top = (1 << exponent_bits) - 1, exponent = (int)(bits >> fraction_bits) & top;
        uint64_t wide = sign << 63;
        double value;
        if (exponent == top) {
                wide |= UINT64_C(0x7ff) << DOUBLE_FRACTION |
                        fraction << (DOUBLE_FRACTION - fraction_bits);
        } else if (exponent == 0) {                     /* The number is zero or subnormal, and
                                                         * exact in double. */
                value = ldexp((double)fraction, 2 - (1 << (exponent_bits - 1)) - fraction_bits);
                return sign ? -value : value;
        } else {
                int bias = (1 << (exponent_bits - 1)) - 1;
                wide |= (uint64_t)(exponent - bias + DOUBLE_BIAS) << DOUBLE_FRACTION;
                wide |= fraction << (DOUBLE_FRACTION - fraction_bits);
        }
        memcpy(&value, &wide, sizeof value);
        return value;
}

/* Rounds once, to nearest even; through float it would round twice. */
static uint64_t to_short(double value, int exponent_bits, int fraction_bits)
{
        uint64_t wide;
        memcpy(&wide, &value, sizeof wide);
        uint64_t sign = wide >> 63 << (exponent_bits + fraction_bits);
        uint64_t infinity = ((UINT64_C(1) << exponent_bits) - 1) << fraction_bits;
        uint64_t fraction = wide & ((UINT64_C(1) << DOUBLE_FRACTION) - 1);
        int exponent = (int)(wide >> DOUBLE_FRACTION & 0x7ff);
        if (exponent == 0x7ff) {
                if (!fraction)
                        return sign | infinity;
                uint64_t quiet = UINT64_C(1) << (fraction_bits - 1);
                return sign | infinity | quiet | fraction >> (DOUBLE_FRACTION - fraction_bits);
        }
        int bias = (1 << (exponent_bits - 1)) - 1, narrow = exponent - DOUBLE_BIAS + bias;
        int drop = DOUBLE_FRACTION - fraction_bits;
        if (narrow <= 0) {                              /* The number is subnormal in the short
                                                         * type: more bits are dropped. */
                if (!exponent || narrow < -fraction_bits)
                        return sign;
                fraction |= UINT64_C(1) << DOUBLE_FRACTION;
                drop += 1 - narrow;
                narrow = 0;
        }
        uint64_t kept = (uint64_t)narrow << fraction_bits | fraction >> drop;
        if (!narrow)
                kept = fraction >> drop;
        uint64_t rest = fraction & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1) << (drop - 1);
        if (rest > half || (rest == half && kept & 1))
                kept++;                 /* The carry may go into the exponent, which is right. */
        return sign | (kept > infinity ? infinity : kept);
}

/* ---- one element ---- */

#define LOAD(ctype, field, widened)                                     \
        do {                                                            \
                ctype x;                                                \
                memcpy(&x, p, sizeof x);                                \
                value.field = (widened)x;                               \
        } while (0)

union scalar element_load(enum element e, const void *data, size_t index)
{
        union scalar value = { .u = 0 };
        if (!element_info[e].bytes)
                return value;
        const unsigned char *p =
                (const unsigned char *)data + index * (size_t)element_info[e].bytes;
        uint16_t bits;
        switch (element_storage(e)) {
        case E_F32: case E_TF32: LOAD(float, f, double); break;
        case E_F64: LOAD(double, f, double); break;
        case E_F16: memcpy(&bits, p, 2); value.f = from_short(bits, 5, 10); break;
        case E_BF16: memcpy(&bits, p, 2); value.f = from_short(bits, 8, 7); break;
        case E_I8: LOAD(int8_t, i, long long); break;
        case E_I16: LOAD(int16_t, i, long long); break;
        case E_I32: LOAD(int32_t, i, long long); break;
        case E_I64: case E_INDEX: LOAD(int64_t, i, long long); break;
        case E_U8: case E_BOOL: LOAD(uint8_t, u, unsigned long long); break;
        case E_U16: LOAD(uint16_t, u, unsigned long long); break;
        case E_U32: LOAD(uint32_t, u, unsigned long long); break;
        case E_U64: LOAD(uint64_t, u, unsigned long long); break;
        default: break;                                 /* The element has no bytes. */
        }
        return value;
}

void element_store(enum element e, void *data, size_t index, union scalar value)
{
        size_t bytes = (size_t)element_info[e].bytes;
        if (!bytes)
                return;
        unsigned char *p = (unsigned char *)data + index * bytes;
        uint64_t bits;
        float narrow;
        switch (e) {
        case E_F32:
                narrow = (float)value.f;
                memcpy(p, &narrow, bytes);
                return;
        case E_F64:
                memcpy(p, &value.f, bytes);
                return;
        case E_F16: bits = to_short(value.f, 5, 10); break;
        case E_BF16: bits = to_short(value.f, 8, 7); break;
        case E_TF32: bits = to_short(value.f, 8, 10) << 13; break;
        case E_BOOL: bits = value.u != 0; break;
        default: bits = value.u; break; /* Integers wrap; i and u share their bits. */
        }
        for (size_t i = 0; i < bytes; i++)
                p[i] = (unsigned char)(bits >> 8 * i);
}

union scalar element_wrap(enum element e, uint64_t bits)
{
        union scalar v = { .u = bits };
        int width = 8 * element_info[e].bytes;
        if (e == E_BOOL)
                v.u = bits != 0;
        else if (width > 0 && width < 64) {
                v.u = bits & ((UINT64_C(1) << width) - 1);
                if (element_info[e].class == CLASS_SINT && v.u >> (width - 1))
                        v.u |= ~UINT64_C(0) << width;
        }
        return v;
}
