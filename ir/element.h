/* SPDX-License-Identifier: MIT */
/* Element types: the table of elements.def as an enum and descriptors. */
#ifndef IR_ELEMENT_H
#define IR_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum element {
#define ELEMENT(name, text, c, bytes, onnx, class, compute) E_##name,
#include "ir/elements.def"
        ELEMENT_COUNT
};

enum element_class { CLASS_FLOAT, CLASS_SINT, CLASS_UINT, CLASS_BOOL, CLASS_OTHER };

struct element_info {
        const char *text, *c_type;
        int bytes, onnx;
        enum element_class class;
        enum element compute;
};

extern const struct element_info element_info[ELEMENT_COUNT];

bool element_from_text(const char *text, size_t length, enum element *element);
/* Returns false for an unknown number. */
bool element_from_onnx(int number, enum element *element);

static inline bool element_is_float(enum element e) { return element_info[e].class == CLASS_FLOAT; }
/* Is e a float that is only bits until it is converted to f32? */
static inline bool element_is_small(enum element e)
{
        return element_is_float(e) && element_info[e].compute != e;
}
static inline bool element_is_integer(enum element e)
{
        return element_info[e].class == CLASS_SINT || element_info[e].class == CLASS_UINT;
}
static inline bool element_is_stored(enum element e)
{
        return element_info[e].bytes > 0 && e != E_INDEX;
}
/* Returns the type under which Loop IR loads and stores e. */
static inline enum element element_storage(enum element e)
{
        return element_info[e].class == CLASS_OTHER ? element_info[e].compute : e;
}

/* The struct describes a float of 8 bits that is only moved (class OTHER), but that cast converts
 * to f32: it has a sign, an exponent and a fraction. Codes beyond the largest finite number's are
 * infinite or NaN. */
struct element_code {
        int fraction, bias;
        unsigned largest;
        const char *decoder;            /* This function in ir/library/bits.loop decodes it. */
};
const struct element_code *element_code(enum element e);   /* Returns NULL for other types. */
/* Decodes a finite number. */
double element_code_number(const struct element_code *c, unsigned bits);
bool element_codes_finite(const struct element_code *c, const unsigned char *codes, int64_t count);

/* A scalar is one element of any stored type, widened: floats are in f, signed integers in i,
 * unsigned integers and bool in u. */
union scalar { double f; long long i; unsigned long long u; };
union scalar element_load(enum element e, const void *data, size_t index);
/* Stores value, rounded to nearest even. */
void element_store(enum element e, void *data, size_t index, union scalar value);
union scalar element_wrap(enum element e, uint64_t bits);  /* Returns an integer or bool with
                                                            * these bits. */

#endif
