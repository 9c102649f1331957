/* SPDX-License-Identifier: MIT */
/* A TensorProto becomes a constant. Values come as raw little-endian bytes, as a typed list, or
 * from another file; their number must be exactly what the shape says. Nothing is copied where the
 * bytes can be used as they lie: in the file, or where unpacking put large fields.
 *
 * The lists hold these: float_data f32; double_data f64; int64_data i64; uint64_data u64 and u32;
 * int32_data everything smaller, one value each, or one packed byte each for types below 8 bits. */
#include "front/onnx/onnx_model.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "front/onnx/onnx_texts.h"

enum { IN_PLACE = 1024 };               /* Fields at least this long, in bytes, are in the module's
                                         * arena (onnx_model.c). */

enum field {
        FIELD_FLOAT,
        FIELD_INT32,
        FIELD_STRING,
        FIELD_INT64,
        FIELD_DOUBLE,
        FIELD_UINT64,
        FIELD_COUNT
};

static const char *const field_names[FIELD_COUNT] = {
        [FIELD_FLOAT] = "float_data",   [FIELD_INT32] = "int32_data",
        [FIELD_STRING] = "string_data", [FIELD_INT64] = "int64_data",
        [FIELD_DOUBLE] = "double_data", [FIELD_UINT64] = "uint64_data",
};

struct reading {
        struct onnx_import *im;
        const Onnx__TensorProto *t;
        const char *what;
        bytes_t raw;
        enum element element;
        int64_t count;                  /* There are so many elements. */
        size_t bytes;                   /* Raw data would have so many bytes. */
};

static bool tensor_error(const struct reading *r, const char *text)
{
        return onnx_error(r->im, "%s: %s", r->what, text);
}

/* ---- the typed list of an element type ---- */

static enum field field_of(enum element e)
{
        switch (e) {
        case E_F32: case E_C64: return FIELD_FLOAT;
        case E_F64: case E_C128: return FIELD_DOUBLE;
        case E_I64: return FIELD_INT64;
        case E_U32: case E_U64: return FIELD_UINT64;
        case E_STRING: return FIELD_STRING;
        default: return FIELD_INT32;
        }
}

static size_t field_count(const Onnx__TensorProto *t, enum field field)
{
        switch (field) {
        case FIELD_FLOAT: return t->n_float_data;
        case FIELD_INT32: return t->n_int32_data;
        case FIELD_STRING: return t->n_string_data;
        case FIELD_INT64: return t->n_int64_data;
        case FIELD_DOUBLE: return t->n_double_data;
        case FIELD_UINT64: return t->n_uint64_data;
        default: return 0;
        }
}

/* Returns how many bits an element has in a file. */
static int element_bits(enum element e)
{
        switch (e) {
        case E_I4: case E_U4: case E_F4E2M1: return 4;
        case E_I2: case E_U2: return 2;
        case E_C64: return 64;
        case E_C128: return 128;
        default: return 8 * element_info[e].bytes;
        }
}

/* Returns how many entries the typed list has. */
static size_t list_length(const struct reading *r)
{
        int bits = element_bits(r->element);
        if (r->element == E_C64 || r->element == E_C128)
                return 2 * (size_t)r->count;
        return bits < 8 && r->element != E_STRING ? r->bytes : (size_t)r->count;
}

/* ---- values ---- */

/* Narrows int32_data or uint64_data to smaller elements. For bool, any number but 0 is true. */
static void *narrow(const struct reading *r)
{
        static const struct { int64_t least, most;
        } range[] = {
                [E_I8] = { INT8_MIN, INT8_MAX }, [E_I16] = { INT16_MIN, INT16_MAX },
                [E_U8] = { 0, UINT8_MAX },       [E_U16] = { 0, UINT16_MAX },
                [E_U32] = { 0, UINT32_MAX },     [E_F16] = { 0, UINT16_MAX },
                [E_BF16] = { 0, UINT16_MAX },    [E_BOOL] = { INT32_MIN, INT32_MAX },
                [E_F8E4M3] = { 0, UINT8_MAX },   [E_F8E4M3UZ] = { 0, UINT8_MAX },
                [E_F8E5M2] = { 0, UINT8_MAX },   [E_F8E5M2UZ] = { 0, UINT8_MAX },
                [E_F8E8M0] = { 0, UINT8_MAX },
        };
        int64_t least = range[r->element].least, most = range[r->element].most;
        int width = element_info[r->element].bytes;
        unsigned char *out = constant_room(r->im->m, r->bytes);
        for (int64_t i = 0; i < r->count; i++) {
                int64_t v =
                        r->element == E_U32 ? (int64_t)r->t->uint64_data[i] : r->t->int32_data[i];
                if (v < least || v > most) {
                        onnx_error(r->im, "%s: element %" PRId64 " is %" PRId64 ", which is no %s",
                                   r->what, i, v, element_info[r->element].text);
                        return NULL;
                }
                if (r->element == E_BOOL)
                        v = v != 0;
                for (int k = 0; k < width; k++)
                        out[i * width + k] = (unsigned char)(v >> (8 * k));
        }
        return out;
}

/* Unpacks elements of less than 8 bits, the first one in the lowest bits of its byte, into a
 * byte each. */
static const void *unpacked(const struct reading *r, const unsigned char *packed)
{
        int bits = element_bits(r->element), each = 8 / bits;
        bool is_signed = element_info[element_storage(r->element)].class == CLASS_SINT;
        unsigned char *out = arena_alloc(r->im->m->arena, (size_t)r->count + 1),
                      sign = (unsigned char)(1 << (bits - 1));
        for (int64_t i = 0; i < r->count; i++) {
                unsigned char x =
                        (unsigned char)(packed[i / each] >> (i % each * bits) & ((1 << bits) - 1));
                out[i] = is_signed ? (unsigned char)((x ^ sign) - sign) : x;
        }
        return out;
}

/* Returns the bytes that int32_data lists, or NULL after an error. */
static const unsigned char *listed_bytes(const struct reading *r)
{
        unsigned char *bytes = arena_alloc(r->im->arena, r->bytes + 1);
        for (size_t i = 0; i < r->bytes; i++) {
                int32_t x = r->t->int32_data[i];
                if (x < INT8_MIN || x > UINT8_MAX) {
                        onnx_error(r->im,
                                   "%s: element %zu of int32_data is %" PRId32 ", which is no byte",
                                   r->what, i, x);
                        return NULL;
                }
                bytes[i] = (unsigned char)x;
        }
        return bytes;
}

static const void *in_place(const struct reading *r, const void *data)
{
        return r->bytes >= IN_PLACE ? data : arena_copy(r->im->m->arena, data, r->bytes);
}

/* Returns values in host order. Raw data is little endian, so its bytes are reversed on other
 * hosts. */
static const void *raw_values(const struct reading *r, const unsigned char *data)
{
        if (element_bits(r->element) < 8)
                return unpacked(r, data);
        if (r->element == E_BOOL) {
                unsigned char *flags = constant_room(r->im->m, r->bytes);
                for (size_t i = 0; i < r->bytes; i++)
                        flags[i] = data[i] != 0;
                return flags;
        }
        return wire_numbers(r->im->m, data, r->bytes, (size_t)element_info[r->element].bytes);
}

static const void *typed_values(const struct reading *r)
{
        if (element_bits(r->element) < 8) {
                const unsigned char *packed = listed_bytes(r);
                return packed ? unpacked(r, packed) : NULL;
        }
        switch (r->element) {
        case E_F32: return in_place(r, r->t->float_data);
        case E_F64: return in_place(r, r->t->double_data);
        case E_I64: return in_place(r, r->t->int64_data);
        case E_U64: return in_place(r, r->t->uint64_data);
        case E_I32: return in_place(r, r->t->int32_data);
        default: return narrow(r);
        }
}

/* ---- checks ---- */

static bool dims_check(struct reading *r)
{
        const Onnx__TensorProto *t = r->t;
        if (t->n_dims > RANK_MAX) {
                diag_error(r->im->diag, EXIT_UNSUPPORTED, "%s: rank %zu, at most %d are supported",
                           r->what, t->n_dims, RANK_MAX);
                return false;
        }
        for (size_t i = 0; i < t->n_dims; i++)
                if (t->dims[i] < 0)
                        return onnx_error(r->im,
                                          "%s: extent %" PRId64 " of dimension %zu is negative",
                                          r->what, t->dims[i], i);
        int64_t bits;
        int width = element_bits(r->element);
        if (!size_elements(t->dims, (int)t->n_dims, &r->count) || !int_mul(r->count, width, &bits))
                return tensor_error(r, "its extents are too large");
        r->bytes = (size_t)(bits / 8 + (bits % 8 != 0));
        if ((int64_t)r->bytes > r->im->context->limits.tensor_bytes)
                return onnx_over_limit(r->im,
                                       arena_printf(r->im->arena, "%s: %zu bytes", r->what,
                                                    r->bytes),
                                       "tensor_bytes", r->im->context->limits.tensor_bytes);
        return true;
}

/* Checks that there is one source of values, of the right length. */
static bool sources_check(const struct reading *r)
{
        const Onnx__TensorProto *t = r->t;
        enum field own = field_of(r->element);
        bool external = t->has_data_location &&
                        t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
        if (t->segment)
                return tensor_error(r, "segmented tensors are not supported");
        if (t->has_data_location &&
            t->data_location != ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL &&
            t->data_location != ONNX__TENSOR_PROTO__DATA_LOCATION__DEFAULT)
                return tensor_error(r, "unknown data_location");
        for (int f = 0; f < FIELD_COUNT; f++)
                if (field_count(t, (enum field)f) && (external || r->raw.len || f != (int)own))
                        return onnx_error(r->im, "%s: unexpected %s in a tensor of %s%s", r->what,
                                          field_names[f], element_info[r->element].text,
                                          external     ? " with external data"
                                          : r->raw.len ? " with raw_data"
                                                       : "");
        if (external)
                return !r->raw.len || tensor_error(r, "raw_data in a tensor with external data");
        size_t given = field_count(t, own), want = list_length(r);
        if (r->raw.len || (t->has_raw_data && !given)) {
                if (r->element == E_STRING)
                        return tensor_error(r, "strings as raw_data");
                if (r->raw.len != r->bytes)
                        return onnx_error(r->im,
                                          "%s: raw_data has %zu bytes, its shape and type want %zu",
                                          r->what, r->raw.len, r->bytes);
        } else if (given != want)
                return onnx_error(r->im, "%s: %s has %zu entries, its shape wants %zu", r->what,
                                  field_names[own], given, want);
        return true;
}

bool onnx_tensor_read(struct onnx_import *im, const Onnx__TensorProto *t, const char *what,
                      struct value **value, const char **why)
{
        struct reading r = { .im = im, .t = t, .what = what };
        r.raw = t->has_long_data ? im->model->long_data[t->long_data] : t->raw_data;
        *value = NULL;
        *why = NULL;
        if (!t->data_type || !element_from_onnx(t->data_type, &r.element))
                return onnx_error(im, "%s: unknown element type %d", what, (int)t->data_type);
        if (!dims_check(&r) || !sources_check(&r))
                return false;
        if (r.element == E_STRING) {
                *value = onnx_texts_read(im, t, what, 0);
                return *value != NULL;
        }
        if (!element_is_stored(r.element)) {
                *why = arena_printf(im->arena, "%s: element type %s is not supported", what,
                                    element_info[r.element].text);
                return true;
        }
        const void *data;
        if (t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
                data = onnx_external(im, t, what, r.bytes);
                data = data ? raw_values(&r, data) : NULL;
        } else if (r.raw.len)
                data = raw_values(&r, in_place(&r, r.raw.data));
        else
                data = r.count ? typed_values(&r) : arena_alloc(im->m->arena, 1);
        if (!data)
                return false;
        const struct type *type = type_static(im->m, r.element, (int)t->n_dims, t->dims);
        const char *name = t->name.len ? onnx_string(im->arena, t->name) : NULL;
        *value = constant_dense(im->m, type, data, name);
        return true;
}

struct value *onnx_tensor(struct onnx_import *im, const Onnx__TensorProto *t, const char *what)
{
        struct value *value;
        const char *why;
        if (!onnx_tensor_read(im, t, what, &value, &why))
                return NULL;
        if (onnx_is_texts(value)) {
                why = arena_printf(im->arena, "%s: element type string is not supported", what);
                value = NULL;
        }
        if (!value)
                onnx_list(im, "%s", why);
        return value;
}
