/* SPDX-License-Identifier: MIT */
/* Constants: their numbers lie in one piece, or are listed, where the last one stands for all that
 * are left out. */
#include "front/tensorflow/tensorflow.h"

#include <string.h>

/* The field that a type's numbers are listed in: so many, so many bytes each, of which the first
 * ones are the number's. */
struct listed { const void *numbers; size_t count, bytes; };

static struct listed listed_numbers(const Tf__Tensor *t, enum element e)
{
        switch (e) {
        case E_F32: return (struct listed){ t->float_val, t->n_float_val, sizeof(float) };
        case E_F64: return (struct listed){ t->double_val, t->n_double_val, sizeof(double) };
        case E_I64: return (struct listed){ t->int64_val, t->n_int64_val, sizeof(int64_t) };
        case E_BOOL:
                return (struct listed){ t->bool_val, t->n_bool_val, sizeof(protobuf_c_boolean) };
        case E_F16: case E_BF16:
                return (struct listed){ t->half_val, t->n_half_val, sizeof(int32_t) };
        case E_U32: return (struct listed){ t->uint32_val, t->n_uint32_val, sizeof(uint32_t) };
        case E_U64: return (struct listed){ t->uint64_val, t->n_uint64_val, sizeof(uint64_t) };
        default: return (struct listed){ t->int_val, t->n_int_val, sizeof(int32_t) };
        }
}

/* Copies number i as an element. */
static void copy_number(const struct listed *l, size_t i, enum element e, unsigned char *to)
{
        const unsigned char *from = (const unsigned char *)l->numbers + i * l->bytes;
        const size_t bytes = (size_t)element_info[e].bytes;
        uint32_t word;
        uint16_t half;
        if (e == E_BOOL) {
                *to = *(const protobuf_c_boolean *)(const void *)from != 0;
        } else if (bytes == l->bytes) {
                memcpy(to, from, bytes);
        } else {
                memcpy(&word, from, sizeof word);
                half = (uint16_t)word;
                if (bytes == 1)
                        *to = (unsigned char)word;
                else
                        memcpy(to, &half, bytes);
        }
}

/* Returns a constant of listed numbers. */
static struct value *listed_constant(struct tf_import *im, const Tf__Tensor *t,
                                     const struct type *type, const char *name)
{
        const enum element e = type->element;
        const size_t bytes = (size_t)element_info[e].bytes;
        const struct listed l = listed_numbers(t, e);
        const int64_t count = type_elements(type);
        unsigned char one[sizeof(int64_t)] = { 0 };
        if ((int64_t)l.count > count) {
                tf_invalid(im, "%zu numbers for %lld elements", l.count, (long long)count);
                return NULL;
        }
        if (l.count <= 1 && count != 1) {
                if (l.count)
                        copy_number(&l, 0, e, one);
                return constant_splat(im->m, type, one);
        }
        unsigned char *to = constant_room(im->m, (size_t)type_bytes(type) + 1);
        for (int64_t i = 0; i < count; i++) {
                const size_t from = (size_t)i < l.count ? (size_t)i : l.count - 1;
                if (l.count)
                        copy_number(&l, from, e, to + (size_t)i * bytes);
                else
                        memset(to + (size_t)i * bytes, 0, bytes);
        }
        return constant_dense(im->m, type, to, name);
}

struct value *tf_constant(struct tf_import *im, const Tf__Tensor *t, const char *name)
{
        int64_t extents[RANK_MAX];
        enum element e;
        const int rank = t->tensor_shape ? tf_extents(im, t->tensor_shape, extents) : 0;
        if (rank == -2)
                return NULL;
        if (!tf_element(t->dtype, &e)) {
                tf_unsupported(im, "a constant of type %d", t->dtype);
                return NULL;
        }
        for (int d = 0; d < rank; d++)
                if (extents[d] < 0) {
                        tf_invalid(im, "the constant has an open extent");
                        return NULL;
                }
        const struct type *type = rank < 0 ? NULL : compose_type_static(im->c, e, rank, extents);
        if (!type) {
                if (rank < 0)
                        tf_invalid(im, "the constant has no shape");
                return NULL;
        }
        const bytes_t *raw = t->n_long_data ? &im->long_data[t->long_data[0]]
                             : t->tensor_content.len ? &t->tensor_content
                                                     : NULL;
        if (!raw)
                return listed_constant(im, t, type, name);
        const int64_t bytes = type_bytes(type);
        if ((int64_t)raw->len != bytes) {
                tf_invalid(im, "the constant is %s and has %zu bytes, want %lld",
                           compose_text(im->c, type), raw->len, (long long)bytes);
                return NULL;
        }
        const void *data = raw->data;
        if (e == E_BOOL) {
                unsigned char *truth = constant_room(im->m, (size_t)bytes + 1);
                for (int64_t i = 0; i < bytes; i++)
                        truth[i] = raw->data[i] != 0;
                data = truth;
        } else if (bytes < CONSTANT_LARGE) {
                data = arena_copy(im->m->arena, raw->data, (size_t)bytes);
        }
        return constant_dense(im->m, type,
                              wire_numbers(im->m, data, (size_t)bytes,
                                           (size_t)element_info[e].bytes),
                              name);
}
