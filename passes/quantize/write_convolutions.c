/* SPDX-License-Identifier: MIT */
/* quantize_products: builds convolutions, and tables that rows are gathered from, with rounded
 * weights.
 *
 *   one step for all    convolve(x, i8(@w) * scales); simplify moves the scales behind the sums
 *   of an output        cast(gather(i8(@t), i)) * gather(scales, i)
 *   blocks              the same with operations that decode blocks (ir/tensor/block_weights.h);
 *                       a block of a convolution is of what a window sees, in the order of its
 *                       weights
 *
 * With --quantize=dynamic there is a step for each image, with numbers as products have them:
 *
 *   step = max |x| / 127 of an image, q = u8(round(x * (1 / step)) + 128)
 *   y = f32(convolve(q - 128, i8(@w))) * (step * scale) */
#include "ir/tensor/affine_numbers.h"
#include "passes/quantize/quantize_products.h"

#include <string.h>

static struct builder before(const struct products *q, struct op *op)
{
        struct builder b = builder_before(op, q->context->diag);
        b.fold = fold_op;               /* Constants fold as when a model is read. */
        b.fold_context = q->context;
        return b;
}

static bool is_whole(const struct rounded *r) { return r->bits == 8 && r->block == r->inner; }

/* Returns the zero points of blocks, [outputs, blocks]. */
static struct value *block_zeros(struct builder *b, const struct rounded *r)
{
        const size_t count = (size_t)(r->outputs * r->blocks);
        unsigned char *data = constant_room(b->m, count);
        memcpy(data, r->zero, count);
        return r->zeros ? constant_dense(
                                  b->m,
                                  type_tensor(b->m, E_U8, 2,
                                              (dim_t[]){ dim_of(r->outputs), dim_of(r->blocks) }),
                                  data, "zeros")
                        : NULL;
}

static bool replace(struct op *op, struct value *y)
{
        if (!y)
                return false;
        value_replace(op_result(op), y);
        op_erase(op);
        return true;
}

/* ---- convolutions ---- */

static struct value *shaped(struct builder *b, struct value *v, const struct type *t)
{
        return v ? build_reshape(b, v, t->rank, t->dims) : NULL;
}

static struct value *decoded(struct builder *b, const struct rounded *r, const struct value *w)
{
        const struct type *t = w->type;
        const char *name = w->constant->name;
        struct builder own = *b;
        own.fold = NULL;                /* The constant stays small. */
        if (is_whole(r)) {
                struct value *bytes = shaped(b, rounded_bytes(b, r, false, name), t),
                             *scales = rounded_over(b, rounded_numbers(b, r, false), t, 0),
                             *zeros = r->zeros ? rounded_over(b, rounded_numbers(b, r, true), t, 0)
                                               : NULL;
                return build_dequantize(&own, bytes, scales, zeros);
        }
        const struct block_weights blocks = rounded_blocks(b, r, name);
        struct value *bytes = block_weights_sorted(b->m, &blocks, blocks.numbers->constant);
        struct value *zeros = block_zeros(b, r);
        return shaped(&own, build_block_rows(&own, &blocks, bytes, blocks.scales, zeros), t);
}

static struct value *of_whole_numbers(struct builder *b, const struct rounded *r, struct op *op)
{
        static const int64_t images[] = { 0 };
        const struct type *to = op_result(op)->type;
        struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        int64_t inner[RANK_MAX];
        for (int d = 1; d < x->type->rank; d++)
                inner[d - 1] = d;
        struct value *most = build_reduce(b, REDUCE_max, build_unary(b, OP_abs, x), inner,
                                          x->type->rank - 1),
                     *step = most ? build_binary(b, OP_div, most, build_like(b, most, 127)) : NULL,
                     *by = step ? build_unary(b, OP_reciprocal, step) : NULL;
        if (!by)
                return NULL;
        struct value *middle = build_scalar(b, E_U8, 128),
                     *numbers = build_binary(b, OP_mul, x, build_broadcast(b, by, x->type, images));
        numbers = build_centered(b, build_rounded(b, numbers, middle, E_U8), middle, E_I32);
        struct value *bytes = shaped(b, rounded_bytes(b, r, false, w->constant->name), w->type);
        struct attr attrs[ATTR_MAX];
        memcpy(attrs, op->attrs, sizeof *attrs * (size_t)op_info[op->code].attr_count);
        attr_set(attrs, op->code, "accumulator", E_I32);
        struct value *sums =
                numbers && bytes ? value_build(b, op->code, (struct value *[]){ numbers, bytes }, 2,
                                               attrs, type_with_element(b->m, to, E_I32))
                                 : NULL;
        if (!sums)
                return NULL;
        struct value *y = build_cast(b, sums, E_F32),
                     *scale = rounded_over(b, rounded_numbers(b, r, false), y->type, 1),
                     *steps = build_broadcast(b, step, y->type, images);
        return build_binary(b, OP_mul, y, build_binary(b, OP_mul, steps, scale));
}

bool convolution_write(const struct products *q, const struct product *p, const struct rounded *r)
{
        struct builder b = before(q, p->op);
        if (q->policy->dynamic)
                return replace(p->op, of_whole_numbers(&b, r, p->op));
        struct value *w = decoded(&b, r, op_operand(p->op, 1));
        if (w)
                op_set_operand(p->op, 1, w);
        return w;
}

/* ---- tables ---- */

static void make_table(struct builder *b, struct product *p, const struct rounded *r)
{
        const char *name = op_operand(p->op, 0)->constant->name;
        if (is_whole(r)) {
                p->bytes = rounded_bytes(b, r, false, name);
                p->steps = rounded_numbers(b, r, false);
                p->zeros = r->zeros ? rounded_numbers(b, r, true) : NULL;
        } else {
                const struct block_weights w = rounded_blocks(b, r, name);
                p->bytes = block_weights_sorted(b->m, &w, w.numbers->constant);
                p->steps = w.scales;
                p->zeros = block_zeros(b, r);
        }
}

bool table_write(const struct products *q, struct product *p, const struct rounded *r)
{
        struct op *op = p->op;
        struct builder b = before(q, op);
        if (p->same && p->same->bytes) {
                p->bytes = p->same->bytes;
                p->steps = p->same->steps;
                p->zeros = p->same->zeros;
        } else {
                make_table(&b, p, r);
        }
        const struct rounded scheme = product_scheme(q->policy, p);
        const struct type *to = op_result(op)->type;
        const struct type *from = op_operand(op, 1)->type;
        const dim_t count = dims_product(b.m, from->rank, from->dims);
        struct value *at = build_reshape(&b, op_operand(op, 1), 1, &count),
                     *rows = build_gather(&b, p->bytes, at, 0),
                     *steps = build_gather(&b, p->steps, at, 0),
                     *zeros = p->zeros ? build_gather(&b, p->zeros, at, 0) : NULL, *y;
        if (!rows || !steps || (p->zeros && !zeros))
                return false;
        if (is_whole(&scheme)) {
                steps = rounded_over(&b, steps, rows->type, 0);
                zeros = zeros ? rounded_over(&b, zeros, rows->type, 0) : NULL;
                y = build_dequantize(&b, rows, steps, zeros);
        } else {
                const struct block_weights w =
                        block_weights_of(p->outputs, p->inner, scheme.bits, scheme.block);
                y = build_block_rows(&b, &w, rows, steps, zeros);
        }
        return replace(op, shaped(&b, y, to));
}
