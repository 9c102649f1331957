/* SPDX-License-Identifier: MIT */
/* Tensors become constants. Blocks are multiplied in the bits that they have: a product reads them
 * as weights in blocks, as MatMulNBits has them (compose_matmul_blocks); rows of a table are
 * decoded once they have been gathered. */
#include "front/gguf/gguf.h"

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

/* ---- blocks ---- */

static float float_of_half(uint16_t half) { return element_load(E_F16, &half, 0).f; }

/* The constants of a matrix in blocks. */
struct parts {
        struct gguf_blocks_kind kind;
        int64_t blocks; /* So many runs has a row. */
        int bits; /* A number takes 4 bits or 8. */
        unsigned char *numbers;
        uint16_t *halves; /* Scales are f16; or they are floats. */
        float *scales, *zeros;
};

/* Writes run number r of the tensor. A scale of 0 has a minimum nonetheless, so such a run has
 * other numbers: (0 - 1) * minimum. */
static void write_run(struct parts *p, const struct gguf_block *b, int run, int64_t r)
{
        const int count = p->kind.run, bytes = count * p->bits / 8;
        unsigned char *to = p->numbers + r * bytes;
        const int shift = (1 << (p->bits - 1)) - p->kind.center;
        const unsigned char *from = b->numbers + run * count;
        float scale = float_of_half(b->d) * (float)b->scales[run], zero = 0;
        bool constant = false;
        if (p->zeros) {
                const float minimum = float_of_half(b->m) * (float)b->minima[run];
                constant = scale == 0;
                zero = constant ? 1 : minimum / scale;
                scale = constant ? minimum : scale;
                p->zeros[r] = zero;
        }
        if (p->halves)
                p->halves[r] = b->d;
        else
                p->scales[r] = scale;
        for (int k = 0; k < count; k++) {
                const int number = constant ? 0 : from[k] + (p->zeros ? 0 : shift);
                if (p->bits == 8)
                        to[k] = (unsigned char)number;
                else
                        to[k / 2] = (unsigned char)(k % 2 ? to[k / 2] | number << 4 : number);
        }
}

static struct parts take_apart(struct gguf_import *im, const struct gguf_tensor *t)
{
        struct parts p = { .kind = gguf_blocks_kind(t->type) };
        const int64_t count = t->bytes / t->type->bytes;
        const int runs = t->type->numbers / p.kind.run;
        const size_t all = (size_t)(count * runs);
        p.blocks = t->extents[0] / p.kind.run;
        p.bits = p.kind.bits > 4 ? 8 : 4;
        p.numbers = constant_room(im->m, all * (size_t)(p.kind.run * p.bits / 8));
        if (p.kind.nested || p.kind.minima)
                p.scales = constant_room(im->m, all * sizeof *p.scales);
        else
                p.halves = constant_room(im->m, all * sizeof *p.halves);
        if (p.kind.minima)
                p.zeros = constant_room(im->m, all * sizeof *p.zeros);
        for (int64_t i = 0; i < count; i++) {
                struct gguf_block b;
                gguf_block_take_apart(t->type, t->data + i * t->type->bytes, &b);
                for (int run = 0; run < runs; run++)
                        write_run(&p, &b, run, i * runs + run);
        }
        return p;
}

static struct value *block_product(struct gguf_import *im, struct value *x,
                                   const struct gguf_tensor *t)
{
        const struct parts p = take_apart(im, t);
        const int64_t inner = t->extents[0], outputs = t->extents[1];
        const int64_t bytes[3] = { outputs, p.blocks, p.kind.run * p.bits / 8 };
        const struct type *of_bytes = compose_type_static(im->c, E_U8, 3, bytes),
                          *halves = compose_type_static(im->c, E_F16, 2, bytes),
                          *floats = compose_type_static(im->c, E_F32, 2, bytes);
        if (!of_bytes || !halves || !floats)
                return NULL;
        struct compose_matmul_blocks m = {
                .x = x,
                .numbers = constant_dense(im->m, of_bytes, p.numbers, t->safe),
                .scales = p.halves ? constant_dense(im->m, halves, p.halves, NULL)
                                   : constant_dense(im->m, floats, p.scales, NULL),
                .zeros = p.zeros ? constant_dense(im->m, floats, p.zeros, NULL) : NULL,
                .inner = inner,
                .outputs = outputs,
                .block = p.kind.run,
                .bits = p.bits,
                .rounds = true
        };
        return compose_matmul_blocks(im->c, &m);
}

struct value *gguf_product_by(struct gguf_import *im, struct value *x, struct gguf_tensor *t,
                              int64_t outputs)
{
        if (!x || !want_extents(im, t, value_extent(x, 2), outputs))
                return NULL;
        if (t->type->form == GGUF_BLOCKS)
                return block_product(im, x, t);
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
