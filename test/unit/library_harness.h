/* SPDX-License-Identifier: MIT */
/* What the tests of the math library share: running one of its functions on many values, and values
 * to try. */
#ifndef TEST_UNIT_LIBRARY_HARNESS_H
#define TEST_UNIT_LIBRARY_HARNESS_H

#include <float.h>

#include "test/unit/interp_harness.h"

/* ---- calling a function of the library on many values ---- */

enum { COUNT_MAX = 400000 };
struct column {
        enum element element;
        void *data;
};

static inline void *column_new(struct harness *h, struct column *c, enum element e, size_t count)
{
        c->element = e;
        c->data = arena_array(h->arena, count, (size_t)element_info[e].bytes);
        return c->data;
}

/* out[i] = name(in[0][i], in[1][i], ...) */
static inline void call_on(struct harness *h, const char *name, const struct column *in, int arity,
                           size_t count, struct column *out)
{
        struct text text = { 0 }, head = { 0 }, call = { 0 }, main = { 0 };
        const struct loop_function *f = loop_library_find(h->library, name, in[0].element);
        if (!f)
                fail_msg("no function %s of %s", name, element_info[in[0].element].text);
        const char *result = element_info[f->result.element].text;
        const void *inputs[3];
        for (int i = 0; i < arity; i++) {
                const char *type = element_info[in[i].element].text;
                text_add(&text, "buffer @a%d : %s[%zu] input \"a%d\" shape <%zu>\n", i, type, count,
                         i, count);
                text_add(&head, "%%a%d: in %s[%zu], ", i, type, count);
                text_add(&call, "%s%%a%d[%%i]", i ? ", " : "", i);
                text_add(&main, "@a%d, ", i);
                inputs[i] = in[i].data;
        }
        text_add(&text, "buffer @y : %s[%zu] output \"y\" shape <%zu>\n", result, count, count);
        text_add(
                &text,
                "kernel @k(%s%%y: out %s[%zu]) {\nfor %%i = 0 to %zu {\n"
                "store %%y[%%i] = %s(%s)\n}\n}\n",
                head.data, result, count, count, name, call.data);
        text_add(&text, "main {\ncall @k(%s@y)\n}\n", main.data);
        void *outputs[1] = { column_new(h, out, (enum element)f->result.element, count) };
        struct loop_program *p = harness_parse(h, text.data);
        struct interp *interp = interp_new(p, false, 0, &h->diag);
        if (!interp)
                fail_msg("%s", harness_said(h));
        assert_int_equal(interp_run(interp, inputs, outputs, 0, NULL), INTERP_OK);
        interp_free(interp);
        text_free(&text);
        text_free(&head);
        text_free(&call);
        text_free(&main);
}

static inline double number(const struct column *c, size_t i)
{
        return c->element == E_F32 ? (double)((const float *)c->data)[i]
                                   : ((const double *)c->data)[i];
}

static inline void set_number(struct column *c, size_t i, double value)
{
        if (c->element == E_F32)
                ((float *)c->data)[i] = (float)value;
        else
                ((double *)c->data)[i] = value;
}

/* ---- numbers to try ---- */

static uint64_t random_state = 88172645463325252u;

static inline uint64_t random_bits(void) /* xorshift64* (Vigna) */
{
        random_state ^= random_state >> 12;
        random_state ^= random_state << 25;
        random_state ^= random_state >> 27;
        return random_state * UINT64_C(2685821657736338717);
}

static inline double random_between(double low, double high)
{
        return low + (high - low) * ldexp((double)(random_bits() >> 11), -53);
}

static inline double from_bits(uint64_t bits)
{
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
}

static inline double float_from_bits(uint32_t bits)
{
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
}

static inline double random_pattern(enum element e)
{
        return e == E_F32 ? float_from_bits((uint32_t)random_bits()) : from_bits(random_bits());
}

static const double special[] = {
        0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.0, -2.0, 2.5, -2.5, 3.0, -3.0, 0.3, -0.3,
        1e-40, -1e-40, 1e-310, -1e-310, 1.4e-45, 5e-324, -5e-324, FLT_MIN, DBL_MIN, FLT_MAX,
        -FLT_MAX, DBL_MAX, -DBL_MAX, 8388607.5, -8388607.5, 8388609.0, 16777216.0, 16777217.0,
        4503599627370495.5, 4503599627370497.0, 9007199254740993.0, 1e30, -1e30, 0.99999994,
        1.0000001, 0x1.fffffffffffffp-1, 0x1.0000000000001p0, 88.72283, 88.72284, 89.41599,
        -103.972, -103.973, -103.28, 709.782712893384, 709.7827128933841, 710.4758,
        -745.1332191019411, -745.1332191019412, 100.0, -100.0, 0.6, 1.6666666, 0.78539816339744828,
        0x1.921fb6p+0, 0x1.921fb54442d18p+0, 0x1.6ac5b262ca1ffp+849,
};
enum { SPECIAL_COUNT = sizeof special / sizeof *special };

/* All upper halves of a float (upper quarters of a double) with the rest zero and with the rest
 * random, multiples of pi/2, numbers near 1, plain numbers, special ones. */
static inline double sample(enum element e, size_t i)
{
        uint64_t upper = i & 65535, bits = e == E_F32 ? upper << 16 : upper << 48;
        if (i < 2 * 65536) {
                if (i >= 65536)
                        bits |= random_bits() >> (e == E_F32 ? 48 : 16);
                return e == E_F32 ? float_from_bits((uint32_t)bits) : from_bits(bits);
        }
        if (i % 16 == 0)
                return special[i / 16 % SPECIAL_COUNT];
        if (i % 16 == 1)
                return (double)(NAN) * (i % 32 == 1 ? 1 : -1);
        if (i % 16 == 2)
                return (double)INFINITY * (i % 32 == 2 ? 1 : -1);
        if (i % 16 == 3)
                return (double)(random_bits() >> (random_bits() % 32 + 32)) * 1.5707963267948966;
        if (i % 16 == 4)
                return 1 + ldexp(random_between(-1, 1), -(int)(random_bits() % 50));
        if (i % 16 == 5)
                return random_pattern(e);
        return random_between(-1, 1) * (double[]){ 1, 1.25, 2, 4, 8, 16, 100, 1000 }[i / 16 % 8];
}

#endif
