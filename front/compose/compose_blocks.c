/* SPDX-License-Identifier: MIT */
/* These tables are kept in few bits, in blocks with a scale each. A model holds them packed to be
 * small, so the bytes stay as they are; the operations that decode them stand in front of the one
 * that reads them, where fuse takes them into its kernel (ir/tensor/block_weights.h). */
#include "front/compose/compose_quantize.h"

#include <string.h>

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "ir/tensor/block_weights.h"

/* ---- products ---- */

struct product {
        const struct compose_matmul_blocks *in;
        struct block_weights w;         /* scales and zeros are set once by_outputs has seen
                                         * them. */
};

/* Returns whether v has these extents. If not, the text of the error begins with `what`: "the
 * bias is". */
static bool want_dims(struct compose *c, const char *what, const struct value *v, int rank,
                      const dim_t *dims)
{
        bool fits = value_rank(v) == rank;

        for (int d = 0; d < rank && fits; d++)
                fits = dim_is(dims[d], value_extent(v, d));
        return fits ||
               compose_invalid(c, "%s %s, want %s", what, compose_text(c, v->type),
                               compose_text(c, type_tensor(c->m, value_element(v), rank, dims)));
}

/* Returns v, [outputs, width], or the same numbers in one dimension (as older models have them),
 * as [outputs, width]. */
static struct value *by_outputs(struct compose *c, const char *what, struct value *v,
                                const struct product *p, int64_t width)
{
        const dim_t dims[2] = { dim_of(p->w.outputs), dim_of(width) };

        if (value_rank(v) == 1 && value_extent(v, 0) == p->w.outputs * width)
                return compose_reshape(c, v, 2, dims);
        return want_dims(c, what, v, 2, dims) ? v : NULL;
}

/* Reads which block's scale each number has, where an operand says so. */
static bool read_groups(struct compose *c, struct product *p)
{
        struct value *v = p->in->groups;
        const int64_t whole = p->w.blocks * p->w.block;

        if (!v)
                return true;
        if (value_rank(v) != 1 || (value_extent(v, 0) != p->w.inner && value_extent(v, 0) != whole))
                return compose_invalid(c, "the groups are %s, want %lld or %lld numbers",
                                       compose_text(c, v->type), (long long)p->w.inner,
                                       (long long)whole);
        if (!value_is_constant(v))
                return compose_unsupported(c, "groups that only a run knows");
        int32_t *groups = constant_room(c->m, (size_t)whole * sizeof *groups);
        for (int64_t i = 0; i < whole; i++) {
                int64_t group = i < value_extent(v, 0) ? constant_element(v->constant, i).i : 0;
                if (group < 0 || group >= p->w.blocks)
                        return compose_invalid(c, "a group is %lld, want 0 to %lld",
                                               (long long)group, (long long)p->w.blocks - 1);
                groups[i] = (int32_t)group;
        }
        v = constant_dense(c->m,
                           type_tensor(c->m, E_I32, 2, (const dim_t[]){ dim_of(1), dim_of(whole) }),
                           groups, "groups");
        v = build_in_blocks(c->b, &p->w, v);
        p->w.group = v ? compose_reshape(c, v, 3, v->type->dims + 1) : NULL;
        return p->w.group != NULL;
}

/* Reads the scales, and the zero points in the bits of the weights or as floats. */
static bool read_scales(struct compose *c, struct product *p)
{
        struct value *zeros = p->in->zeros;

        p->w.scales = by_outputs(c, "the scales are", p->in->scales, p, p->w.blocks);
        if (!p->w.scales || !zeros)
                return p->w.scales;
        const bool packed = value_element(zeros) == E_U8;
        p->w.zeros = by_outputs(c, "the zero points are", zeros, p,
                                packed ? divide_up(p->w.blocks * p->w.bits, 8) : p->w.blocks);
        return p->w.zeros;
}

/* Returns whether x is to be rounded to 8 bits: all constants that products of integers need are
 * there, the sums of a block fit, and zero points do not take much more memory in bytes than in the
 * model. */
static bool multiplies_whole(const struct compose *c, const struct product *p)
{
        enum { SHARE = 20 };
        const struct compose_matmul_blocks *in = p->in;
        const struct value *zero = in->zeros;
        const struct type *x = in->x->type;
        bool zeros = !zero || (value_is_constant(zero) && value_element(zero) == E_U8);
        int64_t bytes = p->w.bytes + element_info[x->element].bytes;
        return in->rounds && !c->exact && type_most_elements(c->m, x) && !p->w.group &&
               value_is_constant(p->w.numbers) && value_is_constant(in->scales) && zeros &&
               block_weights_sum_fits(p->w.block) &&
               (!zero || SHARE * (8 - p->w.bits) <= 8 * bytes);
}

struct value *compose_matmul_blocks(struct compose *c, const struct compose_matmul_blocks *in)
{
        const enum element e = value_element(in->x);
        const int rank = value_rank(in->x);
        struct product p = { .in = in,
                             .w = block_weights_of(in->outputs, in->inner, in->bits, in->block) };
        dim_t dims[RANK_MAX];

        p.w.numbers = in->numbers;
        const dim_t packed[3] = { dim_of(p.w.outputs), dim_of(p.w.blocks), dim_of(p.w.bytes) },
                    blocks[3] = { packed[0], packed[1], dim_of(p.w.block) };
        if (!want_dims(c, "the weights are", in->numbers, 3, packed))
                return NULL;
        if (value_extent(in->x, rank - 1) != p.w.inner) {
                compose_invalid(c, "the input is %s, want %lld columns",
                                compose_text(c, in->x->type), (long long)p.w.inner);
                return NULL;
        }
        if ((in->bias && !want_dims(c, "the bias is", in->bias, 1, packed)) || !read_groups(c, &p))
                return NULL;
        for (int d = 0; d < rank; d++)
                dims[d] = d + 1 < rank ? in->x->type->dims[d] : dim_of(p.w.outputs);
        if (!compose_type(c, e, rank, dims) || !compose_type(c, E_F32, 3, blocks))
                return NULL;
        struct value *x = compose_wide(c, in->x);
        x = x ? compose_fitted(c, x, rank - 1, p.w.blocks * p.w.block) : NULL;
        if (!x || !read_scales(c, &p))
                return NULL;
        struct value *y = (multiplies_whole(c, &p) ? build_rounded_block_product
                                                   : build_block_product)(c->b, &p.w, x);
        if (in->bias)
                y = add(c, y, compose_wide(c, in->bias));
        return compose_reshape(c, compose_cast(c, y, e), rank, dims);
}

struct value *compose_matmul_nested(struct compose *c, const struct compose_matmul_nested *in)
{
        const int rank = value_rank(in->x);
        struct block_weights w = block_weights_of(in->outputs, in->inner, in->bits, in->block);
        const dim_t packed[3] = { dim_of(w.outputs), dim_of(w.blocks), dim_of(w.bytes) };
        dim_t dims[RANK_MAX];

        if (!want_dims(c, "the weights are", in->numbers, 3, packed) ||
            !want_dims(c, "the scales are", in->scales, 2, packed) ||
            (in->zeros && !want_dims(c, "the zero points are", in->zeros, 2, packed)))
                return NULL;
        if (value_extent(in->x, rank - 1) != in->inner || w.blocks * w.block != in->inner) {
                compose_invalid(c, "the input is %s, want %lld columns",
                                compose_text(c, in->x->type), (long long)in->inner);
                return NULL;
        }
        w.numbers = in->numbers;
        w.scales = in->scales;
        w.zeros = in->zeros;
        w.outer = in->outer;
        w.minima = in->minima;
        w.center = in->center;
        for (int d = 0; d < rank; d++)
                dims[d] = d + 1 < rank ? in->x->type->dims[d] : dim_of(w.outputs);
        if (!compose_type(c, E_F32, rank, dims))
                return NULL;
        return compose_reshape(c, build_rounded_block_product(c->b, &w, in->x), rank, dims);
}

/* ---- products by weights that are levels ---- */

struct value *compose_matmul_levels(struct compose *c, const struct compose_matmul_levels *in)
{
        const dim_t table[1] = { dim_of(16) }, dims[2] = { dim_of(in->outputs), dim_of(in->inner) };
        const enum element e = value_element(in->x);
        int64_t count;

        if (!compose_elements(c, 2, (const int64_t[]){ in->outputs, in->inner }, &count))
                return NULL;
        const int64_t blocks = divide_up(count, in->block);
        const dim_t bytes[1] = { dim_of(divide_up(count, 2)) }, scales[1] = { dim_of(blocks) };
        const dim_t twice[1] = { dim_of(2 * divide_up(count, 2)) };
        const dim_t spread[2] = { dim_of(blocks), dim_of(in->block) };
        if (!want_dims(c, "the weights are", in->numbers, 1, bytes) ||
            !want_dims(c, "the scales are", in->scales, 1, scales))
                return NULL;
        const struct type *wide = compose_type(c, E_F32, 2, spread);
        if (!wide || !compose_type(c, E_F32, 2, dims))
                return NULL;
        float *levels = constant_room(c->m, 16 * sizeof *levels);
        memcpy(levels, in->levels, 16 * sizeof *levels);
        struct value *w = compose_reverse(c, build_bits_apart(c->b, in->numbers, 4, 1), 1);
        w = compose_cast(c, compose_reshape(c, w, 1, twice), E_I64);
        w = w ? build_gather(c->b,
                             constant_dense(c->m, type_tensor(c->m, E_F32, 1, table), levels,
                                            "levels"),
                             compose_part(c, w, 0, 0, count), 0)
              : NULL;
        struct value *scale = compose_spread(c, compose_wide(c, in->scales), wide,
                                             (const int64_t[]){ 0 });
        scale = compose_reshape(c, scale, 1, (const dim_t[]){ dim_of(blocks * in->block) });
        scale = scale ? compose_part(c, scale, 0, 0, count) : NULL;
        w = w && scale ? compose_reshape(c, mul(c, w, scale), 2, dims) : NULL;
        if (w && in->transposed)
                w = compose_transpose(c, w, (const int64_t[]){ 1, 0 });
        struct value *x = w ? compose_wide(c, in->x) : NULL;
        return x ? compose_cast(c, compose_matmul(c, x, w), e) : NULL;
}

/* ---- rows of a table ---- */

struct table {
        const struct compose_gather_blocks *in;
        struct value *data;             /* These are numbers, or bytes of several along the last
                                         * dimension. */
        struct value *indices;          /* These are the indices, from 0 on and in range. */
        struct value *outside;          /* It says which of the operand's indices are not in range,
                                         * or is NULL. */
        enum element e;                 /* It is the type of the numbers, as the model says. */
        int64_t bits, block, length;    /* `length` is that of the quantized dimension, in
                                         * numbers. */
        int rank, gather, quantize;     /* These are the rank of data and its two axes. */
};

/* Returns constant numbers of 4 bits, each in a byte, with two neighbours of a row in a byte. */
static struct value *packed_rows(struct module *m, const struct constant *c)
{
        const struct type *t = c->value.type;
        const int64_t width = type_extent(t, t->rank - 1), bytes = divide_up(width, 2),
                      rows = width ? type_elements(t) / width : 0;
        const unsigned char *from = constant_data(c);
        unsigned char *to = constant_room(m, (size_t)(rows * bytes));
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
        return constant_dense(m, type_tensor(m, E_U8, t->rank, dims), to, c->name);
}

static void table_new(struct compose *c, const struct compose_gather_blocks *in, struct table *t)
{
        *t = (struct table){ .in = in,
                             .data = in->data,
                             .e = value_element(in->data),
                             .bits = in->bits,
                             .rank = value_rank(in->data),
                             .gather = in->gather,
                             .quantize = in->quantize };
        t->length = value_extent(t->data, t->quantize) * (8 / t->bits);
        t->block = in->block ? in->block : compose_max(t->length, 1);
        if (compose_narrow_bits(t->e) == 4 && value_is_constant(t->data) &&
            t->gather != t->rank - 1) {
                t->data = packed_rows(c->m, t->data->constant);
                t->bits = 4;
        }
}

/* Returns whether the scales, or zero points in `bits` bits, fit the table. */
static bool fits_table(struct compose *c, const struct table *t, const char *what,
                       const struct value *v, int64_t bits)
{
        const struct type *own = v->type, *data = t->in->data->type;
        const int64_t blocks = divide_up(t->length, t->block);
        bool fits = own->rank == t->rank, repeats = compose_plain_element(t->e) == E_F32;

        for (int d = 0; d < t->rank && fits; d++)
                fits = d == t->quantize ? dim_is(own->dims[d], divide_up(blocks * bits, 8))
                                        : dim_equal(own->dims[d], data->dims[d]) ||
                                                  (dim_is(own->dims[d], 1) && repeats);
        return fits ||
               compose_invalid(c, "%s %s for data %s in blocks of %lld", what, compose_text(c, own),
                               compose_text(c, data), (long long)t->block);
}

/* Makes indices from -extent to extent - 1 ones from 0 on; others become 0, and are marked. */
static bool table_indices(struct compose *c, struct table *t)
{
        const double extent = (double)value_extent(t->data, t->gather);
        struct value *i = t->in->indices;
        struct value *right = compose_with(c, OP_ge, i, extent);
        struct value *outside = compose_binary(c, OP_or, compose_with(c, OP_lt, i, -extent), right);
        double all;
        i = compose_below_zero(c, i, plus(c, i, extent));
        if (!(outside && value_is_splat(outside, &all) && all == 0)) {
                t->outside = outside;
                i = compose_select(c, outside, compose_integer(c, value_element(t->in->indices), 0),
                                   i);
        }
        t->indices = i;
        return i != NULL;
}

/* Returns the numbers of `bits` bits in the bytes x, `width` of them along the last dimension. */
static struct value *unpacked_rows(struct compose *c, struct value *x, int64_t bits, int64_t width)
{
        dim_t dims[RANK_MAX];
        int rank = x ? value_rank(x) : 0;

        x = build_bits_apart(c->b, x, bits, rank);
        for (int d = 0; x && d < rank; d++)
                dims[d] = d + 1 < rank ? x->type->dims[d]
                                       : dim_of(value_extent(x, d) * value_extent(x, rank));
        x = compose_reshape(c, x, rank, dims);
        return x ? compose_fitted(c, x, rank - 1, width) : NULL;
}

/* Returns v with each index along the axis repeated `times` times, cut to `extent` of them. */
static struct value *repeated(struct compose *c, struct value *v, int axis, int64_t times,
                              int64_t extent)
{
        int64_t dims[RANK_MAX];
        dim_t wide[RANK_MAX + 1];
        int rank = v ? value_rank(v) : 0;

        if (!v || value_extent(v, axis) == 1)
                return v;
        for (int d = 0; d < rank; d++) {
                dims[d] = d + (d > axis);
                wide[dims[d]] = v->type->dims[d];
        }
        wide[axis + 1] = dim_of(times);
        const struct type *t = type_tensor(c->m, value_element(v), rank + 1, wide);
        const struct type *own = v->type;
        v = compose_spread(c, v, t, dims);
        for (int d = 0; d < rank; d++)
                wide[d] = d == axis ? dim_of(type_extent(own, d) * times) : own->dims[d];
        v = compose_reshape(c, v, rank, wide);
        return v ? compose_fitted(c, v, axis, extent) : NULL;
}

/* Returns the rows of v that the indices say. v has the dimensions of the table, or 1 in their
 * place. */
static struct value *rows(struct compose *c, const struct table *t, struct value *v)
{
        const int more = value_rank(t->indices) - 1;
        dim_t dims[RANK_MAX];

        if (!v || value_extent(v, t->gather) != 1 || value_extent(t->data, t->gather) == 1)
                return v ? build_gather(c->b, v, t->indices, t->gather) : NULL;
        for (int d = 0; d < t->rank + more; d++)
                dims[d] = d < t->gather           ? v->type->dims[d]
                          : d <= t->gather + more ? dim_of(1)
                                                  : v->type->dims[d - more];
        return compose_reshape(c, v, t->rank + more, dims);
}

/* Returns the scales or zero points v, of `bits` bits, of the gathered rows, in f32 over the result
 * `to`. */
static struct value *over_rows(struct compose *c, const struct table *t, struct value *v,
                               int64_t bits, const struct type *to)
{
        const int at = t->quantize + (t->quantize > t->gather ? value_rank(t->indices) - 1 : 0);

        if (t->quantize == t->gather) {
                struct table blocks = *t;
                blocks.data = v;
                blocks.indices = compose_with(c, OP_div, t->indices, (double)t->block);
                v = blocks.indices ? rows(c, &blocks, v) : NULL;
        } else {
                v = rows(c, t, v);
                if (bits < 8)
                        v = unpacked_rows(c, v, bits, divide_up(t->length, t->block));
                v = repeated(c, v, at, t->block, type_extent(to, at));
        }
        v = compose_cast(c, v, E_F32);
        return v ? build_broadcast_numpy(c->b, v, to->rank, to->dims) : NULL;
}

/* Returns the numbers of the rows as f32, less their zero points, times their scales. */
static struct value *decoded_rows(struct compose *c, const struct table *t, const struct type *to)
{
        struct value *x = rows(c, t, t->data), *zero = t->in->zeros;

        if (t->bits < 8) /* Numbers lie along the last dimension, which is one of the table's. */
                x = unpacked_rows(c, x, t->bits, type_extent(to, to->rank - 1));
        if (x && value_element(x) != t->e)
                x = compose_as_bits(c, x, t->e);
        x = compose_cast(c, x, E_F32);
        if (zero)
                zero = over_rows(c, t, zero, t->e == E_U8 ? t->bits : 8, to);
        if (t->in->zeros)
                x = zero ? sub(c, x, zero) : NULL;
        else if (t->e == E_U8)
                x = compose_with(c, OP_sub, x, (double)(1 << (t->bits - 1)));
        struct value *scale = over_rows(c, t, t->in->scales, 8, to);
        return scale ? mul(c, x, scale) : NULL;
}

struct value *compose_gather_blocks(struct compose *c, const struct compose_gather_blocks *in)
{
        const struct type *data = in->data->type, *own = in->indices->type;
        struct table t;
        dim_t dims[RANK_MAX + 1];
        int rank = 0;

        table_new(c, in, &t);
        if (!fits_table(c, &t, "the scales are", in->scales, 8) ||
            (in->zeros &&
             !fits_table(c, &t, "the zero points are", in->zeros, t.e == E_U8 ? t.bits : 8)))
                return NULL;
        if (data->rank + own->rank > RANK_MAX) { /* The sum is one more than the result's rank. */
                compose_unsupported(c, "operands of ranks %d and %d", data->rank, own->rank);
                return NULL;
        }
        for (int d = 0; d < t.gather; d++)
                dims[rank++] = dim_of(d == t.quantize ? t.length : type_extent(data, d));
        for (int d = 0; d < own->rank; d++)
                dims[rank++] = own->dims[d];
        for (int d = t.gather + 1; d < t.rank; d++)
                dims[rank++] = dim_of(d == t.quantize ? t.length : type_extent(data, d));
        const struct type *to = compose_type(c, E_F32, rank, dims);
        if (!to || !table_indices(c, &t))
                return NULL;
        struct value *(*fold)(struct builder *, struct op *, void *) = c->b->fold;
        c->b->fold = NULL; /* Decoded constants would be as large as floats, so they are not
                            * folded. */
        struct value *y = decoded_rows(c, &t, to);
        c->b->fold = fold;
        y = compose_cast(c, y, value_element(in->scales));
        if (y && t.outside) {
                int64_t along[RANK_MAX];
                for (int d = 0; d < own->rank; d++)
                        along[d] = t.gather + d;
                struct value *outside = compose_spread(c, t.outside, y->type, along);
                y = compose_select(c, outside, build_like(c->b, y, 0), y);
        }
        return y;
}
