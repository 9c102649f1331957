/* SPDX-License-Identifier: MIT */
/* com.microsoft, tables that are kept in few bits: MatMulNBits, GatherBlockQuantized. A model holds
 * them packed to be small, so the bytes stay as they are; what decodes them stands in front of what
 * reads it, where fuse takes it into the kernel (ir/tensor/block_weights.h).
 *
 * Where a MatMulNBits permits (accuracy_level 4) and --exact does not forbid it, what is multiplied
 * by the table is rounded to 8 bits, and products of blocks are whole numbers. */
#include "compiler/import/onnx_helpers.h"
#include "ir/tensor/block_weights.h"

enum { ROUNDED = 4 };                   /* an accuracy_level */

/* a power of two of at least 16; 0 where that is allowed, and means all of a dimension */
static bool block_size(struct onnx_import *im, struct onnx_node *n, int64_t preset, bool whole,
                       int64_t *block)
{
        if (!onnx_int_range(im, n, "block_size", preset, 0, NUMBER_MAX, block))
                return false;
        if ((*block >= BLOCK_LEAST && !(*block & (*block - 1))) || (!*block && whole))
                return true;
        return onnx_invalid(im, n, "block_size is %lld, want a power of two of at least %d",
                            (long long)*block, BLOCK_LEAST);
}

/* ---- MatMulNBits ---- */

struct product {
        struct block_weights w;         /* scales and zeros: once by_outputs has seen them */
        enum element e;                 /* of a, the scales and the bias */
        bool rounds;                    /* a may be rounded to 8 bits */
};

static bool want_dims(struct onnx_import *im, const struct onnx_node *n, int input, int rank,
                      const dim_t *dims)
{
        const struct value *v = n->inputs[input];
        bool fits = value_rank(v) == rank;

        for (int d = 0; d < rank && fits; d++)
                fits = dim_is(dims[d], value_extent(v, d));
        return fits || onnx_invalid(im, n, "operand %d is %s, want %s", input,
                                    type_text(im->arena, im->m, v->type),
                                    type_text(im->arena, im->m,
                                              type_tensor(im->m, value_element(v), rank, dims)));
}

/* operand `input`, [outputs, width] or the same numbers in one dimension (as models once had it) */
static struct value *by_outputs(struct onnx_import *im, const struct onnx_node *n, int input,
                                const struct product *p, int64_t width)
{
        const dim_t dims[2] = { dim_of(p->w.outputs), dim_of(width) };
        struct value *v = n->inputs[input];

        if (value_rank(v) == 1 && value_extent(v, 0) == p->w.outputs * width)
                return compose_reshape(im->c, v, 2, dims);
        return want_dims(im, n, input, 2, dims) ? v : NULL;
}

static bool product_read(struct onnx_import *im, struct onnx_node *n, struct product *p)
{
        int64_t accuracy, prepacked, inner, outputs, bits, block;

        if (!onnx_int_required(im, n, "K", &inner) ||
            !onnx_int_range(im, n, "K", 0, 1, NUMBER_MAX, &inner) ||
            !onnx_int_required(im, n, "N", &outputs) ||
            !onnx_int_range(im, n, "N", 0, 1, NUMBER_MAX, &outputs) ||
            !onnx_int_range(im, n, "bits", 4, 2, 8, &bits) ||
            !block_size(im, n, 0, false, &block) ||
            !onnx_int_range(im, n, "accuracy_level", 0, 0, 4, &accuracy) ||
            !onnx_int_range(im, n, "weight_prepacked", 0, 0, 2, &prepacked))
                return false;
        if (bits != 2 && bits != 4 && bits != 8)
                return onnx_unsupported(im, n, "bits = %lld", (long long)bits);
        if (prepacked)
                return onnx_unsupported(im, n, "weights that are packed for a device");
        p->w = block_weights_of(outputs, inner, (int)bits, block);
        p->w.numbers = n->inputs[1];
        p->e = value_element(n->inputs[0]);
        p->rounds = accuracy == ROUNDED && !im->context->exact;
        return true;
}

static bool product_operands(struct onnx_import *im, struct onnx_node *n, const struct product *p)
{
        const struct value *a = n->inputs[0], *zero = onnx_input(n, 3);
        const dim_t packed[3] = { dim_of(p->w.outputs), dim_of(p->w.blocks), dim_of(p->w.bytes) };

        if (p->e == E_F64)
                return onnx_invalid(im, n, "operand 0 is of f64");
        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 1, RANK_MAX) ||
            !onnx_want_element(im, n, 1, E_U8) || !onnx_want_element(im, n, 2, p->e) ||
            !onnx_want_element(im, n, 4, E_I32) || !onnx_want_element(im, n, 5, p->e) ||
            !want_dims(im, n, 1, 3, packed))
                return false;
        if (value_extent(a, value_rank(a) - 1) != p->w.inner)
                return onnx_invalid(im, n, "operand 0 is %s, want %lld columns",
                                    type_text(im->arena, im->m, a->type), (long long)p->w.inner);
        if (zero && value_element(zero) != E_U8 && value_element(zero) != p->e)
                return onnx_invalid(im, n, "operand 3 is of %s, want u8 or %s",
                                    element_info[value_element(zero)].text,
                                    element_info[p->e].text);
        return !onnx_input(n, 5) || want_dims(im, n, 5, 1, (const dim_t[]){ dim_of(p->w.outputs) });
}

/* which block's scale each number has; says so where an operand does */
static bool read_groups(struct onnx_import *im, struct onnx_node *n, struct product *p)
{
        struct value *v = onnx_input(n, 4);
        int64_t whole = p->w.blocks * p->w.block;

        if (!v)
                return true;
        if (value_rank(v) != 1 || (value_extent(v, 0) != p->w.inner && value_extent(v, 0) != whole))
                return onnx_invalid(im, n, "operand 4 is %s, want %lld or %lld numbers",
                                    type_text(im->arena, im->m, v->type), (long long)p->w.inner,
                                    (long long)whole);
        if (!value_is_constant(v))
                return onnx_unsupported(im, n, "a run-time g_idx");
        int32_t *groups = constant_room(im->m, (size_t)whole * sizeof *groups);
        for (int64_t i = 0; i < whole; i++) {
                int64_t group = i < value_extent(v, 0) ? constant_element(v->constant, i).i : 0;
                if (group < 0 || group >= p->w.blocks)
                        return onnx_invalid(im, n, "g_idx holds %lld, want 0 to %lld",
                                            (long long)group, (long long)p->w.blocks - 1);
                groups[i] = (int32_t)group;
        }
        v = constant_dense(
                im->m, type_tensor(im->m, E_I32, 2, (const dim_t[]){ dim_of(1), dim_of(whole) }),
                groups, "groups");
        v = build_in_blocks(&im->b, &p->w, v);
        p->w.group = v ? compose_reshape(im->c, v, 3, v->type->dims + 1) : NULL;
        return p->w.group != NULL;
}

/* scales, and zero points in the bits of the weights or as floats */
static bool read_scales(struct onnx_import *im, struct onnx_node *n, struct product *p)
{
        const struct value *zero = onnx_input(n, 3);

        p->w.scales = by_outputs(im, n, 2, p, p->w.blocks);
        if (!p->w.scales || !zero)
                return p->w.scales;
        bool packed = value_element(zero) == E_U8;
        p->w.zeros = by_outputs(im, n, 3, p, packed ? divide_up(p->w.blocks * p->w.bits, 8) : p->w.blocks);
        return p->w.zeros;
}

/* All is known that is to be multiplied in whole numbers, sums of a block are, and zero points do
 * not take much more memory in bytes than they do in the model. */
static bool multiplies_whole(const struct onnx_node *n, const struct product *p)
{
        enum { SHARE = 20 };
        const struct value *zero = onnx_input(n, 3);
        const struct type *a = n->inputs[0]->type;
        bool zeros = !zero || (value_is_constant(zero) && value_element(zero) == E_U8);
        int64_t bytes = p->w.bytes + element_info[p->e].bytes;
        return p->rounds && type_is_static(a) && type_elements(a) && !p->w.group &&
               value_is_constant(p->w.numbers) && value_is_constant(n->inputs[2]) && zeros &&
               block_weights_sum_fits(p->w.block) &&
               (!zero || SHARE * (8 - p->w.bits) <= 8 * bytes);
}

bool onnx_import_matmul_nbits(struct onnx_import *im, struct onnx_node *n)
{
        struct product p;
        dim_t dims[RANK_MAX];

        if (!product_read(im, n, &p) || !product_operands(im, n, &p) || !read_groups(im, n, &p))
                return false;
        int rank = value_rank(n->inputs[0]);
        for (int d = 0; d < rank; d++)
                dims[d] = dim_of(d + 1 < rank ? value_extent(n->inputs[0], d) : p.w.outputs);
        if (!compose_type(im->c, p.e, rank, dims) ||
            !compose_type(
                    im->c, E_F32, 3,
                    (const dim_t[]){ dim_of(p.w.outputs), dim_of(p.w.blocks), dim_of(p.w.block) }))
                return false;
        struct value *x = compose_wide(im->c, n->inputs[0]);
        x = x ? compose_fitted(im->c, x, rank - 1, p.w.blocks * p.w.block) : NULL;
        if (!x || !read_scales(im, n, &p))
                return false;
        struct value *y = (multiplies_whole(n, &p) ? build_rounded_block_product
                                                   : build_block_product)(&im->b, &p.w, x);
        if (onnx_input(n, 5))
                y = compose_binary(im->c, OP_add, y, compose_wide(im->c, n->inputs[5]));
        return onnx_output(n, 0, compose_reshape(im->c, compose_cast(im->c, y, p.e), rank, dims));
}

/* ---- GatherBlockQuantized ---- */

struct table {
        struct value *data;             /* numbers, or bytes of several along the last dimension */
        struct value *indices;          /* in range, from 0 on */
        struct value *outside;          /* which of those given were not, or NULL */
        enum element e;                 /* of the numbers, as the model says */
        int64_t bits, block, length;    /* length: of the quantized dimension, in numbers */
        int rank, gather, quantize;     /* of data; axes */
};

/* constant numbers of 4 bits, two of a row in a byte again */
static struct value *packed_rows(struct onnx_import *im, const struct constant *c)
{
        const struct type *t = c->value.type;
        const int64_t width = type_extent(t, t->rank - 1), bytes = divide_up(width, 2),
                      rows = width ? type_elements(t) / width : 0;
        const unsigned char *from = c->data;
        unsigned char *to = constant_room(im->m, (size_t)(rows * bytes));
        dim_t dims[RANK_MAX];

        for (int d = 0; d < t->rank; d++)
                dims[d] = dim_of(d + 1 < t->rank ? type_extent(t, d) : bytes);
        for (int64_t r = 0; r < rows; r++)
                for (int64_t i = 0; i < bytes; i++) {
                        const unsigned char *pair =
                                c->kind == CONSTANT_SPLAT ? from : from + r * width + 2 * i;
                        bool two = 2 * i + 1 < width;
                        unsigned high = two ? pair[c->kind == CONSTANT_SPLAT ? 0 : 1] & 15u : 0;
                        to[r * bytes + i] = (unsigned char)((pair[0] & 15u) | high << 4);
                }
        return constant_dense(im->m, type_tensor(im->m, E_U8, t->rank, dims), to, c->name);
}

static bool table_read(struct onnx_import *im, struct onnx_node *n, struct table *t)
{
        const enum element e = value_element(n->inputs[0]), plain = compose_plain_element(e);
        int64_t gather, quantize;

        *t = (struct table){ .data = n->inputs[0], .e = e, .rank = value_rank(n->inputs[0]) };
        if (e != E_U8 && e != E_I4 && e != E_U4 && (plain != E_F32 || plain == e || e == E_F8E8M0))
                return onnx_invalid(im, n, "operand 0 is of %s", element_info[e].text);
        if (!onnx_int(im, n, "gather_axis", 0, &gather) ||
            !onnx_int(im, n, "quantize_axis", 1, &quantize) ||
            !onnx_axis(im, n, gather, t->rank, &t->gather) ||
            !onnx_axis(im, n, quantize, t->rank, &t->quantize) ||
            !block_size(im, n, 128, plain == E_F32, &t->block) ||
            !onnx_int_range(im, n, "bits", 4, 2, 8, &t->bits))
                return false;
        if (plain != E_F32 && t->bits != 2 && t->bits != 4 && t->bits != 8)
                return onnx_invalid(im, n, "bits is %lld, want 2, 4 or 8", (long long)t->bits);
        if (e != E_U8) {
                if (plain != E_F32 && t->bits != 4)
                        return onnx_invalid(im, n, "bits is %lld for numbers of %s",
                                            (long long)t->bits, element_info[e].text);
                t->bits = 8;
        } else if (t->gather || t->quantize != t->rank - 1 || t->gather == t->quantize) {
                return onnx_unsupported(im, n,
                                        "bytes gathered along axis %d, in blocks along axis %d",
                                        t->gather, t->quantize);
        }
        t->length = value_extent(t->data, t->quantize) * (8 / t->bits);
        t->block = t->block ? t->block : compose_max(t->length, 1);
        if (compose_narrow_bits(e) == 4 && value_is_constant(t->data) && t->gather != t->rank - 1) {
                t->data = packed_rows(im, t->data->constant);
                t->bits = 4;
        }
        return true;
}

/* the scales (operand 2), or zero points (operand 3) in `bits` bits, fit the table */
static bool fits_table(struct onnx_import *im, const struct onnx_node *n, const struct table *t,
                       int input, int64_t bits)
{
        const struct type *own = n->inputs[input]->type, *data = n->inputs[0]->type;
        const int64_t blocks = divide_up(t->length, t->block);
        bool fits = own->rank == t->rank, repeats = compose_plain_element(t->e) == E_F32;

        for (int d = 0; d < t->rank && fits; d++)
                fits = d == t->quantize ? dim_is(own->dims[d], divide_up(blocks * bits, 8))
                                        : dim_equal(own->dims[d], data->dims[d]) ||
                                                  (dim_is(own->dims[d], 1) && repeats);
        return fits || onnx_invalid(im, n, "operand %d is %s for data %s in blocks of %lld", input,
                                    type_text(im->arena, im->m, own),
                                    type_text(im->arena, im->m, data), (long long)t->block);
}

/* indices in -extent .. extent - 1 as ones from 0 on; others are 0, and marked */
static bool table_indices(struct onnx_import *im, struct onnx_node *n, struct table *t)
{
        const double extent = (double)value_extent(t->data, t->gather);
        struct value *i = n->inputs[1];

        if (value_element(i) != E_I32 && value_element(i) != E_I64)
                return onnx_invalid(im, n, "operand 1 is of %s, want i32 or i64",
                                    element_info[value_element(i)].text);
        struct value *right = compose_with(im->c, OP_ge, i, extent);
        struct value *outside =
                compose_binary(im->c, OP_or, compose_with(im->c, OP_lt, i, -extent), right);
        double all;
        i = compose_below_zero(im->c, i, compose_with(im->c, OP_add, i, extent));
        if (!(outside && value_is_splat(outside, &all) && all == 0)) {
                t->outside = outside;
                i = compose_select(im->c, outside,
                                   compose_integer(im->c, value_element(n->inputs[1]), 0), i);
        }
        t->indices = i;
        return i != NULL;
}

/* numbers of `bits` bits along the last dimension, `width` of them, from the bytes x */
static struct value *unpacked_rows(struct onnx_import *im, struct value *x, int64_t bits,
                                   int64_t width)
{
        dim_t dims[RANK_MAX];
        int rank = x ? value_rank(x) : 0;

        x = build_bits_apart(&im->b, x, bits, rank);
        for (int d = 0; x && d < rank; d++)
                dims[d] = dim_of(d + 1 < rank ? value_extent(x, d)
                                              : value_extent(x, d) * value_extent(x, rank));
        x = compose_reshape(im->c, x, rank, dims);
        return x ? compose_fitted(im->c, x, rank - 1, width) : NULL;
}

/* each index along axis `times` times, in the end `extent` of them */
static struct value *repeated(struct onnx_import *im, struct value *v, int axis, int64_t times,
                              int64_t extent)
{
        int64_t dims[RANK_MAX];
        dim_t wide[RANK_MAX + 1];
        int rank = v ? value_rank(v) : 0;

        if (!v || value_extent(v, axis) == 1)
                return v;
        for (int d = 0; d < rank; d++) {
                dims[d] = d + (d > axis);
                wide[dims[d]] = dim_of(value_extent(v, d));
        }
        wide[axis + 1] = dim_of(times);
        const struct type *t = type_tensor(im->m, value_element(v), rank + 1, wide);
        const struct type *own = v->type;
        v = compose_spread(im->c, v, t, dims);
        for (int d = 0; d < rank; d++)
                wide[d] = dim_of(type_extent(own, d) * (d == axis ? times : 1));
        v = compose_reshape(im->c, v, rank, wide);
        return v ? compose_fitted(im->c, v, axis, extent) : NULL;
}

/* the rows that the indices say, of v, which has the table's dimensions, or 1 instead */
static struct value *rows(struct onnx_import *im, const struct table *t, struct value *v)
{
        const int more = value_rank(t->indices) - 1;
        dim_t dims[RANK_MAX];

        if (!v || value_extent(v, t->gather) != 1 || value_extent(t->data, t->gather) == 1)
                return v ? build_gather(&im->b, v, t->indices, t->gather) : NULL;
        for (int d = 0; d < t->rank + more; d++)
                dims[d] = dim_of(d < t->gather           ? value_extent(v, d)
                                 : d <= t->gather + more ? 1
                                                         : value_extent(v, d - more));
        return compose_reshape(im->c, v, t->rank + more, dims);
}

/* the scales or zero points v, in `bits` bits, of the rows: over the result `to`, as f32 */
static struct value *over_rows(struct onnx_import *im, const struct table *t, struct value *v,
                               int64_t bits, const struct type *to)
{
        const int at = t->quantize + (t->quantize > t->gather ? value_rank(t->indices) - 1 : 0);

        if (t->quantize == t->gather) {
                struct table blocks = *t;
                blocks.data = v;
                blocks.indices = compose_with(im->c, OP_div, t->indices, (double)t->block);
                v = blocks.indices ? rows(im, &blocks, v) : NULL;
        } else {
                v = rows(im, t, v);
                if (bits < 8)
                        v = unpacked_rows(im, v, bits, divide_up(t->length, t->block));
                v = repeated(im, v, at, t->block, type_extent(to, at));
        }
        v = compose_cast(im->c, v, E_F32);
        return v ? build_broadcast_numpy(&im->b, v, to->rank, to->dims) : NULL;
}

/* the numbers of the rows as f32, less their zero points, times their scales; NULL after an error */
static struct value *decoded_rows(struct onnx_import *im, struct onnx_node *n,
                                  const struct table *t, const struct type *to)
{
        struct value *x = rows(im, t, t->data), *zero = onnx_input(n, 3);

        if (t->bits < 8)                /* so that the last dimension is one of the table's */
                x = unpacked_rows(im, x, t->bits, type_extent(to, to->rank - 1));
        if (x && value_element(x) != t->e)
                x = compose_as_bits(im->c, x, t->e);
        x = compose_cast(im->c, x, E_F32);
        if (zero)
                zero = over_rows(im, t, zero, t->e == E_U8 ? t->bits : 8, to);
        if (onnx_input(n, 3))
                x = zero ? compose_binary(im->c, OP_sub, x, zero) : NULL;
        else if (t->e == E_U8)
                x = compose_with(im->c, OP_sub, x, (double)(1 << (t->bits - 1)));
        struct value *scale = over_rows(im, t, n->inputs[2], 8, to);
        return scale ? compose_binary(im->c, OP_mul, x, scale) : NULL;
}

bool onnx_import_gather_block_quantized(struct onnx_import *im, struct onnx_node *n)
{
        const struct type *data = n->inputs[0]->type, *own = n->inputs[1]->type;
        const enum element e = value_element(n->inputs[2]);
        struct value *zero = onnx_input(n, 3);
        struct table t;
        dim_t dims[RANK_MAX + 1];
        int rank = 0;

        if (e == E_F64)
                return onnx_invalid(im, n, "operand 2 is of f64");
        if (!onnx_want_float(im, n, 2) || !onnx_want_rank(im, n, 0, 1, RANK_MAX) ||
            !table_read(im, n, &t) || !fits_table(im, n, &t, 2, 8))
                return false;
        if (zero && compose_plain_element(t.e) == E_F32)
                return onnx_invalid(im, n, "zero points of numbers of %s", element_info[t.e].text);
        if (zero && (!onnx_same_element(im, n, (struct value *[]){ n->inputs[0], zero }, 2) ||
                     !fits_table(im, n, &t, 3, t.e == E_U8 ? t.bits : 8)))
                return false;
        if (data->rank + own->rank > RANK_MAX)  /* one more than the result has */
                return onnx_unsupported(im, n, "operands of ranks %d and %d", data->rank,
                                        own->rank);
        for (int d = 0; d < t.gather; d++)
                dims[rank++] = dim_of(d == t.quantize ? t.length : type_extent(data, d));
        for (int d = 0; d < own->rank; d++)
                dims[rank++] = own->dims[d];
        for (int d = t.gather + 1; d < t.rank; d++)
                dims[rank++] = dim_of(d == t.quantize ? t.length : type_extent(data, d));
        const struct type *to = compose_type(im->c, E_F32, rank, dims);
        if (!to || !table_indices(im, n, &t))
                return false;
        const struct builder folds = im->b;
        im->b.fold = NULL;              /* the table was to be small */
        struct value *y = decoded_rows(im, n, &t, to);
        im->b.fold = folds.fold;
        y = compose_cast(im->c, y, e);
        if (y && t.outside) {
                int64_t along[RANK_MAX];
                for (int d = 0; d < own->rank; d++)
                        along[d] = t.gather + d;
                struct value *outside = compose_spread(im->c, t.outside, y->type, along);
                y = compose_select(im->c, outside, build_like(&im->b, y, 0), y);
        }
        return onnx_output(n, 0, y);
}
