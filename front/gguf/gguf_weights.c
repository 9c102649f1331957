/* SPDX-License-Identifier: MIT */
/* Tensors become constants. Blocks are multiplied in the bits that they have: a product reads them
 * as weights in blocks, as MatMulNBits has them (compose_matmul_blocks); rows of a table are
 * decoded once they have been gathered. */
#include "front/gguf/gguf.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_quantize.h"
#include "front/compose/compose_records.h"
#include "front/gguf/gguf_blocks.h"

bool gguf_check_types(struct gguf_import *im)
{
        enum { NAMED = 5 };
        struct text list = { 0 };
        int count = 0;
        for (int i = 0; i < im->file.tensor_count; i++) {
                const struct gguf_tensor *t = &im->file.tensors[i];
                if (t->type && t->type->form != GGUF_NONE)
                        continue;
                const char *type =
                        t->type ? t->type->name : arena_printf(im->arena, "type %u", t->type_id);
                if (count++ < NAMED)
                        text_add(&list, "%s'%s' (%s)", count > 1 ? ", " : "", t->safe, type);
        }
        if (count > NAMED)
                text_add(&list, ", .. (%d more)", count - NAMED);
        if (count)
                gguf_unsupported(im, "tensors of types that are not supported: %s",
                                 arena_string(im->arena, list.data));
        text_free(&list);
        return !count;
}

struct gguf_tensor *gguf_tensor_find(struct gguf_import *im, int64_t layer, const char *name)
{
        const char *full =
                layer < 0 ? name : arena_printf(im->arena, "blk.%lld.%s", (long long)layer, name);
        struct gguf_tensor *t = map_get(im->file.by_tensor, full, strlen(full));
        if (t)
                t->used = true;
        return t;
}

/* Is the tensor a matrix of these extents, or a vector (rows 0)? */
static bool want_extents(struct gguf_import *im, const struct gguf_tensor *t, int64_t width,
                         int64_t rows)
{
        const int rank = rows ? 2 : 1;
        im->at = t->safe;
        if (t->rank == rank && t->extents[0] == width && (!rows || t->extents[1] == rows))
                return true;
        if (rows)
                return gguf_invalid(im, "%lld x %lld, want %lld x %lld", (long long)t->extents[0],
                                    (long long)t->extents[1], (long long)width, (long long)rows);
        return gguf_invalid(im, "%lld numbers in %d dimensions, want %lld in one",
                            (long long)t->extents[0], t->rank, (long long)width);
}

/* Returns the tensor's bytes as a constant. Large ones stay where they lie in the file. */
static struct value *bytes_of(struct gguf_import *im, const struct gguf_tensor *t, enum element e,
                              int rank, const int64_t *extents)
{
        const struct type *type = compose_type_static(im->c, e, rank, extents);
        const void *data = t->data;
        if (!type)
                return NULL;
        if (t->bytes < CONSTANT_LARGE)
                data = arena_copy(im->m->arena, t->data, (size_t)t->bytes);
        return constant_dense(im->m, type, data, t->safe);
}

static enum element element_of(const struct gguf_type *type)
{
        return type->id == GGUF_TYPE_F32   ? E_F32
               : type->id == GGUF_TYPE_F16 ? E_F16
                                           : E_BF16;
}

/* Returns floats as f32 [rows, width], or [width] where rows is 0. */
static struct value *floats_of(struct gguf_import *im, const struct gguf_tensor *t)
{
        const int64_t extents[2] = { t->extents[1], t->extents[0] };
        struct value *v = bytes_of(im, t, element_of(t->type), t->rank, extents + 2 - t->rank);
        return v && value_element(v) != E_F32 ? constant_cast(im->m, v->constant, E_F32) : v;
}

struct value *gguf_vector(struct gguf_import *im, struct gguf_tensor *t, int64_t extent)
{
        if (!t || !want_extents(im, t, extent, 0))
                return NULL;
        if (t->type->form != GGUF_FLOATS) {
                gguf_unsupported(im, "a vector of %s", t->type->name);
                return NULL;
        }
        return floats_of(im, t);
}

/* ---- blocks, with x as it is (--exact): scales and zero points in f32 ---- */

static float float_of_half(uint16_t half) { return element_load(E_F16, &half, 0).f; }

struct sub_blocks {
        const struct gguf_tensor *t;
        struct gguf_blocks_kind kind;
        int64_t blocks;                 /* So many sub-blocks has a row, */
        int64_t all;                    /* and so many the tensor. */
};

static struct sub_blocks sub_blocks_of(const struct gguf_tensor *t)
{
        struct sub_blocks r = { .t = t, .kind = gguf_blocks_kind(t->type) };
        r.blocks = t->extents[0] / r.kind.sub_block;
        r.all = r.blocks * t->extents[1];
        return r;
}

/* Takes the block apart that sub-block number r is in; returns which of its sub-blocks that is. */
static int sub_block_at(const struct sub_blocks *of, int64_t r, struct gguf_block *block)
{
        const struct gguf_type *type = of->t->type;
        const int each = type->numbers / of->kind.sub_block;
        if (r % each == 0)
                gguf_block_take_apart(type, of->t->data + r / each * type->bytes, block);
        return (int)(r % each);
}

static struct value *constant_of(struct gguf_import *im, enum element e,
                                 const struct sub_blocks *of, int64_t blocks, int64_t bytes,
                                 const void *data)
{
        const int64_t extents[3] = { of->t->extents[1], blocks, bytes };
        const struct type *t = compose_type_static(im->c, e, bytes ? 3 : 2, extents);
        return t ? constant_dense(im->m, t, data, bytes ? of->t->safe : NULL) : NULL;
}

/* A sub-block whose scale is 0 has a minimum nonetheless, so its numbers become others: (0 - 1) *
 * minimum. */
static struct value *exact_product(struct gguf_import *im, struct value *x,
                                   const struct gguf_tensor *t)
{
        const struct sub_blocks subs = sub_blocks_of(t);
        const int count = subs.kind.sub_block, bits = subs.kind.bits > 4 ? 8 : 4,
                  bytes = count * bits / 8, shift = (1 << (bits - 1)) - subs.kind.center;
        unsigned char *numbers = constant_room(im->m, (size_t)(subs.all * bytes));
        float *scales = constant_room(im->m, (size_t)subs.all * sizeof *scales),
              *zeros = subs.kind.minima ? constant_room(im->m, (size_t)subs.all * sizeof *zeros)
                                        : NULL;
        struct gguf_block b;
        for (int64_t r = 0; r < subs.all; r++) {
                const int sub_block = sub_block_at(&subs, r, &b);
                const unsigned char *from = b.numbers + sub_block * count;
                const float least = float_of_half(b.m) * (float)b.minima[sub_block];
                unsigned char *to = numbers + r * bytes;
                scales[r] = float_of_half(b.d) * (float)b.scales[sub_block];
                const bool constant = zeros && scales[r] == 0;
                if (zeros) {
                        zeros[r] = constant ? 1 : least / scales[r];
                        scales[r] = constant ? least : scales[r];
                }
                for (int k = 0; k < count; k++) {
                        const int number = constant ? 0 : from[k] + (zeros ? 0 : shift);
                        const int low = bits == 4 && k % 2 ? to[k / 2] : 0;
                        to[k * bits / 8] = (unsigned char)(low | number << (k * bits % 8));
                }
        }
        const struct compose_matmul_blocks m = {
                .x = x,
                .numbers = constant_of(im, E_U8, &subs, subs.blocks, bytes, numbers),
                .scales = constant_of(im, E_F32, &subs, subs.blocks, 0, scales),
                .zeros = zeros ? constant_of(im, E_F32, &subs, subs.blocks, 0, zeros) : NULL,
                .inner = t->extents[0],
                .outputs = t->extents[1],
                .block = count,
                .bits = bits
        };
        return m.numbers && m.scales ? compose_matmul_blocks(im->c, &m) : NULL;
}

/* ---- blocks, with x rounded: as they lie in the file, but for the order of their bits ---- */

/* A number's lower 4 bits are a plane, those above them another one, whose products are added; 8
 * bits are one. */
struct planes {
        struct sub_blocks subs;
        unsigned char *low, *high;      /* high is NULL where a number has 4 bits, or 8. */
        int low_bits, high_bits;
        unsigned char *scales, *zeros;  /* Those of sub-blocks are bytes, i8 or u8; NULL: there are
                                         * none. */
        uint16_t *outer, *minima;       /* They are f16, one for each block; */
        uint16_t *higher;               /* this is outer * 16, of the upper plane. */
        bool fits;                      /* f16 holds all of these. */
        int64_t outers;                 /* A row has so many blocks. */
};

static uint16_t times_16(uint16_t half)
{
        const union scalar n = { .f = 16 * float_of_half(half) };
        uint16_t result;
        element_store(E_F16, &result, 0, n);
        return result;
}

static void pack_sub_block(unsigned char *to, const unsigned char *numbers, int count, int shift,
                           int bits)
{
        memset(to, 0, (size_t)(count * bits / 8));
        for (int k = 0; k < count; k++) {
                const int number = numbers[k] >> shift & ((1 << bits) - 1);
                to[k * bits / 8] |= (unsigned char)(number << (k * bits % 8));
        }
}

static struct planes planes_room(struct gguf_import *im, const struct gguf_tensor *t)
{
        struct planes p = { .subs = sub_blocks_of(t), .fits = true };
        const struct gguf_blocks_kind *kind = &p.subs.kind;
        const size_t all = (size_t)p.subs.all, sub_block = (size_t)kind->sub_block;
        p.outers = t->extents[0] / t->type->numbers;
        const size_t halves = (size_t)(p.outers * t->extents[1]) * sizeof *p.outer;
        p.low_bits = kind->bits == 8 ? 8 : 4;
        p.high_bits = kind->bits - p.low_bits;
        p.low = constant_room(im->m, all * sub_block * (size_t)p.low_bits / 8);
        p.outer = constant_room(im->m, halves);
        if (p.high_bits) {
                p.high = constant_room(im->m, all * sub_block * (size_t)p.high_bits / 8);
                p.higher = constant_room(im->m, halves);
        }
        if (kind->nested || kind->minima)
                p.scales = constant_room(im->m, all);
        if (kind->minima) {
                p.zeros = constant_room(im->m, all);
                p.minima = constant_room(im->m, halves);
        }
        return p;
}

static struct planes planes_of(struct gguf_import *im, const struct gguf_tensor *t)
{
        struct planes p = planes_room(im, t);
        const struct gguf_blocks_kind *kind = &p.subs.kind;
        const int count = kind->sub_block;
        struct gguf_block b;
        for (int64_t r = 0; r < p.subs.all; r++) {
                const int sub_block = sub_block_at(&p.subs, r, &b);
                const int64_t block = r / (t->type->numbers / count);
                pack_sub_block(p.low + r * count * p.low_bits / 8, b.numbers + sub_block * count,
                               count, 0, p.low_bits);
                if (p.high)
                        pack_sub_block(p.high + r * count * p.high_bits / 8,
                                       b.numbers + sub_block * count, count, p.low_bits,
                                       p.high_bits);
                if (p.scales)
                        p.scales[r] = (unsigned char)b.scales[sub_block];
                if (p.zeros)
                        p.zeros[r] = (unsigned char)b.minima[sub_block];
                p.outer[block] = b.d;
                if (p.higher) {
                        p.higher[block] = times_16(b.d);
                        p.fits &= isfinite(float_of_half(p.higher[block])) ||
                                  !isfinite(float_of_half(b.d));
                }
                if (p.minima)
                        p.minima[block] = b.m;
        }
        return p;
}

static struct value *rounded_product(struct gguf_import *im, struct value *x,
                                     const struct gguf_tensor *t)
{
        const struct planes p = planes_of(im, t);
        const struct gguf_blocks_kind *kind = &p.subs.kind;
        if (!p.fits)
                return exact_product(im, x, t);
        struct compose_matmul_nested m = { .x = x,
                                           .inner = t->extents[0],
                                           .outputs = t->extents[1],
                                           .block = kind->sub_block,
                                           .bits = p.low_bits,
                                           .center = kind->center };
        const enum element of_scales = kind->minima ? E_U8 : E_I8;
        struct value *outer = constant_of(im, E_F16, &p.subs, p.outers, 0, p.outer);
        m.numbers = constant_of(im, E_U8, &p.subs, p.subs.blocks, kind->sub_block * p.low_bits / 8,
                                p.low);
        m.scales =
                p.scales ? constant_of(im, of_scales, &p.subs, p.subs.blocks, 0, p.scales) : outer;
        m.outer = p.scales ? outer : NULL;
        if (p.zeros) {
                m.zeros = constant_of(im, E_U8, &p.subs, p.subs.blocks, 0, p.zeros);
                m.minima = constant_of(im, E_F16, &p.subs, p.outers, 0, p.minima);
        }
        struct value *y = m.numbers && m.scales ? compose_matmul_nested(im->c, &m) : NULL;
        if (!y || !p.high)
                return y;
        outer = constant_of(im, E_F16, &p.subs, p.outers, 0, p.higher);
        m.numbers = constant_of(im, E_U8, &p.subs, p.subs.blocks, kind->sub_block * p.high_bits / 8,
                                p.high);
        m.scales = p.scales ? m.scales : outer;
        m.outer = p.scales ? outer : NULL;
        m.zeros = m.minima = NULL;
        m.bits = p.high_bits;
        m.center = 0;
        return add(im->c, y, compose_matmul_nested(im->c, &m));
}

struct value *gguf_product_by(struct gguf_import *im, struct value *x, struct gguf_tensor *t,
                              int64_t outputs)
{
        if (!x || !want_extents(im, t, value_extent(x, 2), outputs))
                return NULL;
        if (t->type->form == GGUF_BLOCKS)
                return (im->c->exact ? exact_product : rounded_product)(im, x, t);
        struct value *w = floats_of(im, t);
        return w ? compose_dot(im->c, x, w, 0, 2, 1, E_COMPUTE) : NULL;
}

struct value *gguf_product(struct gguf_import *im, struct value *x, int64_t layer, const char *name,
                           int64_t outputs)
{
        struct gguf_tensor *w = gguf_tensor_find(im, layer,
                                                 arena_printf(im->arena, "%s.weight", name)),
                           *bias = gguf_tensor_find(im, layer,
                                                    arena_printf(im->arena, "%s.bias", name));
        if (!w) {
                gguf_invalid(im, "tensor '%s.weight' is missing", name);
                return NULL;
        }
        struct value *y = gguf_product_by(im, x, w, outputs);
        if (!y || !bias)
                return y;
        struct value *b = gguf_vector(im, bias, outputs);
        return b ? add(im->c, y, compose_spread(im->c, b, y->type, (const int64_t[]){ 2 })) : NULL;
}

/* ---- rows ---- */

static bool record_of(const struct gguf_type *type, enum compose_record *kind)
{
        for (int i = 0; i < RECORDS; i++)
                if (compose_record_info[i].id == type->id) {
                        *kind = (enum compose_record)i;
                        return true;
                }
        return false;
}

struct value *gguf_rows(struct gguf_import *im, struct gguf_tensor *t, struct value *indices,
                        int64_t width)
{
        const int64_t extents[2] = { t->extents[1], t->bytes / t->extents[1] };
        struct compose_gather_records r = { .indices = indices, .width = width, .to = E_F32 };
        if (!want_extents(im, t, width, im->p.tokens))
                return NULL;
        if (t->type->form == GGUF_FLOATS) {
                const int64_t dims[2] = { t->extents[1], t->extents[0] };
                struct value *w = bytes_of(im, t, element_of(t->type), 2, dims);
                w = w ? build_gather(&im->b, w, indices, 0) : NULL;
                return compose_cast(im->c, w, E_F32);
        }
        if (!record_of(t->type, &r.kind)) {
                gguf_unsupported(im, "a table of %s", t->type->name);
                return NULL;
        }
        r.data = bytes_of(im, t, E_U8, 2, extents);
        return r.data ? compose_gather_records(im->c, &r) : NULL;
}
