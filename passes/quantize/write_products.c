/* SPDX-License-Identifier: MIT */
/* quantize_products: builds products with rounded weights.
 *
 *   one step for all    dot(x, i8(@w) * scales), as the importer builds DequantizeLinear
 *   of an output        (ir/tensor/affine_numbers.h); simplify moves the scales behind the sums
 *   blocks              as it builds MatMulNBits (ir/tensor/block_weights.h)
 *
 * With --quantize=dynamic, where x becomes bytes, they are
 *
 *   step = max |x| / 127 of a row, q = u8(round(x * (1 / step)) + 128)
 *   y = f32(dot(q - 128, i8(@w) - zeros)) * (step * scale)
 *
 * or those of MatMulNBits with accuracy_level 4. */
#include "ir/tensor/affine_numbers.h"
#include "passes/quantize/quantize_products.h"

#include <string.h>

/* ---- x and y as matrices ---- */

/* Returns x as [rows, inner], its contracted dimensions in their order. */
static struct value *rows_of(struct builder *b, const struct op *op, int64_t inner)
{
        int count, rank = 0;
        int64_t perm[RANK_MAX];
        dim_t rows[RANK_MAX];
        struct value *x = op_operand(op, 0);
        const int64_t *contracted = op_ints(op, "contract_a", &count);
        for (int d = 0; d < x->type->rank; d++) {
                bool free = true;
                for (int i = 0; i < count; i++)
                        free &= contracted[i] != d;
                if (!free)
                        continue;
                rows[rank] = x->type->dims[d];
                perm[rank++] = d;
        }
        memcpy(perm + rank, contracted, sizeof *perm * (size_t)count);
        return build_reshape(b, build_transpose(b, x, perm), 2,
                             (dim_t[]){ dims_product(b->m, rank, rows), dim_of(inner) });
}

/* Pads each row of x with zeros, up to `extent` elements. */
static struct value *padded(struct builder *b, struct value *x, int64_t extent)
{
        if (!x || dim_is(x->type->dims[1], extent))
                return x;
        struct value *operands[] = { x, build_scalar(b, E_F32, 0),
                                     constant_ints(b->m, (int64_t[]){ 0, 0 }, 2) };
        const dim_t dims[] = { x->type->dims[0], dim_of(extent) };
        return value_build(b, OP_pad, operands, 3, NULL, type_tensor(b->m, E_F32, 2, dims));
}

/* Builds dot(x, w) of matrices, [rows, inner] by [outputs, inner], or by [inner, outputs]: `along`
 * is w's inner dimension. */
static struct value *product_of(struct builder *b, struct value *x, struct value *w, int64_t along,
                                enum element sums)
{
        static const int64_t inner[] = { 1 };
        struct attr *attrs = attrs_new(b->m, OP_dot);
        attr_set_ints(b->m, attrs, OP_dot, "contract_a", inner, 1);
        attr_set_ints(b->m, attrs, OP_dot, "contract_b", &along, 1);
        if (sums != E_F32)
                attr_set(attrs, OP_dot, "accumulator", sums);
        return x && w ? value_build(b, OP_dot, (struct value *[]){ x, w }, 2, attrs, NULL) : NULL;
}

/* ---- constants ---- */

struct value *rounded_numbers(struct builder *b, const struct rounded *r, bool zeros)
{
        const dim_t dims[] = { dim_of(r->outputs) };
        size_t count = (size_t)r->outputs;
        void *data = constant_room(b->m, count * (zeros ? 1 : sizeof *r->scales));
        memcpy(data, zeros ? (void *)r->zero : (void *)r->scales,
               count * (zeros ? 1 : sizeof *r->scales));
        return constant_dense(b->m, type_tensor(b->m, zeros ? E_U8 : E_F32, 1, dims), data,
                              zeros ? "zeros" : "scales");
}

/* Returns the bytes, [outputs, inner], or transposed [inner, outputs]; they are u8, or i8 where
 * there are no zero points. */
struct value *rounded_bytes(struct builder *b, const struct rounded *r, bool turned,
                            const char *name)
{
        const dim_t dims[] = { dim_of(turned ? r->inner : r->outputs),
                               dim_of(turned ? r->outputs : r->inner) };
        unsigned char *bytes = constant_room(b->m, (size_t)(r->outputs * r->inner));
        for (int64_t o = 0; o < r->outputs; o++)
                for (int64_t k = 0; k < r->inner; k++)
                        bytes[turned ? k * r->outputs + o : o * r->inner + k] =
                                (unsigned char)(r->numbers[o * r->inner + k] ^
                                                (r->zeros ? 0 : 128));
        return constant_dense(b->m, type_tensor(b->m, r->zeros ? E_U8 : E_I8, 2, dims), bytes,
                              name);
}

/* Packs numbers of `bits` bits: each row has `each` of them in `to` bytes. */
static struct value *packed(struct builder *b, const unsigned char *numbers, int64_t rows,
                            int64_t each, int bits, int rank, const dim_t *dims, const char *name)
{
        const int64_t bytes = type_elements(type_tensor(b->m, E_U8, rank, dims)), to = bytes / rows,
                      per = 8 / bits;
        unsigned char *data = constant_room(b->m, (size_t)bytes);
        memset(data, 0, (size_t)bytes);
        for (int64_t r = 0; r < rows; r++)
                for (int64_t i = 0; i < each; i++)
                        data[r * to + i / per] |=
                                (unsigned char)(numbers[r * each + i] << (i % per * bits));
        return constant_dense(b->m, type_tensor(b->m, E_U8, rank, dims), data, name);
}

struct block_weights rounded_blocks(struct builder *b, const struct rounded *r, const char *name)
{
        struct block_weights w = block_weights_of(r->outputs, r->inner, r->bits, r->block);
        const dim_t numbers[] = { dim_of(r->outputs), dim_of(w.blocks), dim_of(w.bytes) },
                    scales[] = { dim_of(r->outputs), dim_of(w.blocks) },
                    zeros[] = { dim_of(r->outputs), dim_of(divide_up(w.blocks * r->bits, 8)) };
        size_t count = (size_t)(r->outputs * w.blocks) * sizeof *r->scales;
        float *data = constant_room(b->m, count);
        memcpy(data, r->scales, count);
        w.numbers = packed(b, r->numbers, r->outputs, r->inner, r->bits, 3, numbers, name);
        w.scales = constant_dense(b->m, type_tensor(b->m, E_F32, 2, scales), data, "scales");
        if (r->zeros)
                w.zeros = packed(b, r->zero, r->outputs, w.blocks, r->bits, 2, zeros, "zeros");
        return w;
}

/* ---- forms ---- */

struct value *rounded_over(struct builder *b, struct value *v, const struct type *t, int along)
{
        return v ? build_broadcast(b, v, type_with_element(b->m, t, v->type->element),
                                   (const int64_t[]){ along })
                 : NULL;
}

static struct value *decoded_product(struct builder *b, const struct rounded *r, struct value *x,
                                     const char *name)
{
        struct value *bytes = rounded_bytes(b, r, false, name),
                     *scales = rounded_over(b, rounded_numbers(b, r, false), bytes->type, 0),
                     *zeros = r->zeros
                                      ? rounded_over(b, rounded_numbers(b, r, true), bytes->type, 0)
                                      : NULL;
        return product_of(b, x, build_dequantize(b, bytes, scales, zeros), 1, E_F32);
}

static struct value *whole_product(struct builder *b, const struct rounded *r, struct value *x,
                                   const char *name)
{
        static const int64_t inner[] = { 1 }, outer[] = { 0 };
        struct value *most = build_reduce(b, REDUCE_max, build_unary(b, OP_abs, x), inner, 1),
                     *step = most ? build_binary(b, OP_div, most, build_like(b, most, 127)) : NULL,
                     *by = step ? build_unary(b, OP_reciprocal, step) : NULL;
        if (!by)
                return NULL;
        x = build_binary(b, OP_mul, x, build_broadcast(b, by, x->type, outer));
        struct value *middle = build_scalar(b, E_U8, 128);
        x = build_centered(b, build_rounded(b, x, middle, E_U8), middle, E_I32);
        struct value *bytes = rounded_bytes(b, r, true, name),
                     *zeros = r->zeros
                                      ? rounded_over(b, rounded_numbers(b, r, true), bytes->type, 1)
                                      : NULL;
        struct value *w = zeros ? build_centered(b, bytes, zeros, E_I32) : bytes;
        struct value *sums = product_of(b, x, w, 0, E_I32);
        if (!sums)
                return NULL;
        struct value *y = build_cast(b, sums, E_F32);
        struct value *scale = rounded_over(b, rounded_numbers(b, r, false), y->type, 1),
                     *steps = build_broadcast(b, step, y->type, outer);
        return build_binary(b, OP_mul, y, build_binary(b, OP_mul, steps, scale));
}

/* Builds x / factors, as products. */
static struct value *divided(struct builder *b, struct value *x, const float *factors)
{
        if (!x || !factors)
                return x;
        const dim_t *inner = x->type->dims + 1;
        float *data = constant_room(b->m, (size_t)dim_extent(*inner) * sizeof *data);
        for (int64_t k = 0; k < dim_extent(*inner); k++)
                data[k] = 1 / factors[k];
        struct value *c = constant_dense(b->m, type_tensor(b->m, E_F32, 1, inner), data, "factors");
        return build_binary(b, OP_mul, x, rounded_over(b, c, x->type, 1));
}

bool product_write(const struct products *q, const struct product *p, const struct rounded *r,
                   const float *factors)
{
        struct op *op = p->op;
        struct builder b = builder_before(op, q->context->diag);
        b.fold = fold_op;               /* Constants fold as when a model is read. */
        b.fold_context = q->context;
        const char *name = op_operand(op, 1)->constant->name;
        const struct type *to = op_result(op)->type;
        struct value *x = divided(&b, rows_of(&b, op, p->inner), factors), *y;
        if (r->bits == 8 && r->block == p->inner) {
                y = x ? (q->policy->dynamic ? whole_product : decoded_product)(&b, r, x, name)
                      : NULL;
        } else {
                struct block_weights w = rounded_blocks(&b, r, name);
                x = padded(&b, x, w.blocks * w.block);
                y = !x ? NULL
                       : (q->policy->dynamic ? build_rounded_block_product
                                             : build_block_product)(&b, &w, x);
        }
        y = build_reshape(&b, y, to->rank, to->dims);
        if (!y)
                return false;
        value_replace(op_result(op), y);
        op_erase(op);
        return true;
}
