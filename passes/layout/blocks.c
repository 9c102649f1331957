/* SPDX-License-Identifier: MIT */
/* Layout of dot_blocks: bytes that hold several numbers each, in words of a multiply.
 *
 *      w <outputs x blocks x bytes x 1 x 1>, scales <outputs x blocks x 1 x 1>
 *        ->
 *      w <panels x blocks x bytes / group x vectors x lanes * group>,
 *      scales <panels x blocks x vectors x lanes>
 *
 * A word of the multiply is `group` bytes; one number out of each of these bytes is again a word,
 * of `group` numbers. So unpacking is a shift and a mask of whole vectors, and weights stay as
 * small as the model has them.
 *
 * A product of floats by such weights, whose numbers are decoded in front of a dot, becomes a
 * dot_blocks of floats, by words of one byte:
 *
 *   dot(x [rows, blocks, numbers of a byte, bytes],
 *       (cast(byte >> shift & mask) - zero) * scale) contract_a=[1, 2, 3] contract_b=[1, 2, 3]
 */
#include "ir/tensor/block_weights.h"
#include "passes/layout/layout.h"

enum { SCALES = 4, ZEROS };

/* Reorders <outputs x blocks x n x 1 ..> to <panels x blocks x n / group x vectors x lanes *
 * group>. */
static struct value *in_panels(struct layout *l, struct value *v, int64_t vectors, int64_t lanes,
                               int64_t group)
{
        static const int64_t perm[] = { 0, 3, 4, 1, 2, 5 };
        const dim_t *d = v->type->dims;
        int64_t panels = divide_up(dim_extent(d[0]), vectors * lanes), blocks = dim_extent(d[1]),
                words = type_elements(v->type) / (dim_extent(d[0]) * blocks) / group;
        struct value *x = layout_reshape(&l->b, v, 3,
                                         (dim_t[]){ d[0], dim_of(blocks), dim_of(words * group) });
        x = x ? layout_pack(&l->b, x,
                            (dim_t[]){ dim_of(panels * vectors * lanes), dim_of(blocks),
                                       dim_of(words * group) },
                            6,
                            (dim_t[]){ dim_of(panels), dim_of(vectors), dim_of(lanes),
                                       dim_of(blocks), dim_of(words), dim_of(group) },
                            perm)
              : NULL;
        if (v->type->rank == 4)         /* Scales have a number for each output, so there are no
                                         * words to split. */
                return layout_reshape(&l->b, x, 4,
                                      (dim_t[]){ dim_of(panels), dim_of(blocks), dim_of(vectors),
                                                 dim_of(lanes) });
        return layout_reshape(&l->b, x, 5,
                              (dim_t[]){ dim_of(panels), dim_of(blocks), dim_of(words),
                                         dim_of(vectors), dim_of(lanes * group) });
}

/* Do the zeros behind the last output take little memory? */
static bool stays_small(const struct packed_bits *p, int64_t outputs, int64_t panel)
{
        enum { SHARE = 32, BYTES = 4096 };
        int64_t more = round_up(outputs, panel) - outputs;
        return SHARE * more <= outputs || more * p->blocks * p->bytes <= BYTES;
}

/* Returns the number of rows for which weights are packed. Where a run gives it, and where several
 * functions may read the weights, that is one, so that there is one copy: it is a single row whose
 * time is that of reading them. */
static int64_t fewest_rows(const struct layout *l, const struct op *op)
{
        return op_is_static(op) && !l->m->functions->next
                       ? type_extent(op_operand(op, 0)->type, 2)
                       : 1;
}

/* Returns the multiply of a dot_blocks, whose weights are numbers of `bits` bits, or NULL. */
static const struct multiply *multiply_of(const struct layout *l, const struct op *op, int bits)
{
        const bool floats = op_operand(op, 0)->type->element == E_F32;
        const struct multiply *m =
                floats ? multiply_in_vectors(l->context, E_F32, E_U8, 0)
                       : multiply_in_vectors(l->context, E_I8, E_U8, block_weights_limit(bits));
        return m && (m->body != NULL) != floats && (!floats || m->channels == 1) ? m : NULL;
}

/* Packs the operands of op and builds the product, whose result is `logical`'s rows. */
static bool build_packed(struct layout *l, struct op *op, struct value *logical, int batch)
{
        const struct packed_bits p = packed_bits_of(op);
        const struct multiply *m = multiply_of(l, op, p.bits);
        bool zeros = op_operand(op, ZEROS);
        if (!m)
                return layout_refuse(l, REMARK_layout_multiply);
        if (p.lanes != 1 || p.vectors != 1 || p.bytes % m->channels)
                return layout_refuse(l, REMARK_layout_padding);
        if (!value_is_constant(op_operand(op, 1)) || !value_is_constant(op_operand(op, SCALES)) ||
            (zeros && !value_is_constant(op_operand(op, ZEROS))))
                return layout_refuse(l, REMARK_layout_packing);
        for (int i = BLOCKS_OUTER; i < op->operand_count; i++)
                if (!value_is_constant(op_operand(op, i)))
                        return layout_refuse(l, REMARK_layout_packing);
        struct value *operands[BLOCKS_OPERANDS];
        int64_t outputs = op_int(op, "outputs"),
                vectors = multiply_few(l->context->target, m, outputs, fewest_rows(l, op));
        if (!stays_small(&p, outputs, vectors * m->outputs))
                return layout_refuse(l, REMARK_layout_padding);
        for (int i = 0; i < op->operand_count; i++) {
                struct value *v = op_operand(op, i);
                operands[i] = v && (i == 1 || i >= SCALES) ? in_panels(l, v, vectors, m->outputs,
                                                                       i == 1 ? m->channels : 1)
                                                           : v;
                if (v && !operands[i])
                        return false;
        }
        struct value *y =
                value_build(&l->b, OP_dot_blocks, operands, op->operand_count, op->attrs, NULL);
        *layout_form(l, logical) = (struct form){ .rows = y, .batch = batch, .free = 1 };
        l->failed |= !y;
        return y != NULL;
}

bool layout_dot_blocks(struct layout *l, struct op *op)
{
        return build_packed(l, op, op_result(op), 2);
}

/* ---- decoded numbers in front of a dot ---- */

/* Returns v, where it is a constant of so many elements, or NULL. */
static struct value *constant_of(struct value *v, int64_t elements)
{
        return value_is_constant(v) && type_elements(v->type) == elements ? v : NULL;
}

/* Returns the constant [outputs, blocks] that v is, or what its cast is of, or NULL. */
static struct value *of_blocks(struct layout *l, struct value *v, const struct block_weights *w)
{
        v = v && op_is(v, OP_cast) ? op_operand(v->op, 0) : v;
        return v ? constant_of(layout_decoded(l, v), w->outputs * w->blocks) : NULL;
}

/* Makes the scales constants, which are 1 where a scale for all blocks is behind the product. */
static bool find_scales(struct layout *l, struct block_product *p)
{
        const int64_t dims[] = { p->w.outputs, p->w.blocks };
        p->w.scales = p->scaled ? of_blocks(l, p->w.scales, &p->w)
                                : constant_number(l->m, type_static(l->m, E_F32, 2, dims), 1);
        return p->w.scales && element_info[p->w.scales->type->element].compute == E_F32;
}

/* Makes the numbers constant bytes. */
static bool find_bytes(struct block_product *p)
{
        struct value *v = p->w.numbers;
        v = op_is(v, OP_reshape) ? op_operand(v->op, 0) : v;
        p->w.numbers = constant_of(v, p->w.outputs * p->w.blocks * p->w.bytes);
        return p->w.numbers && v->type->element == E_U8;
}

/* Finds the zero points: one of all numbers, or w.zeros, constants of u8 or f32. */
static bool find_zeros(struct layout *l, struct block_product *p, int64_t *of_all)
{
        double number;
        *of_all = 0;
        if (value_is_splat(p->zero, &number)) {
                number = p->negated ? -number : number;
                if (!(number >= 0 && number <= UINT8_MAX))
                        return false;
                *of_all = (int64_t)number;
                return (double)*of_all == number;
        }
        struct value *zeros = of_blocks(l, block_weights_spread(p->zero), &p->w);
        const bool floats = zeros && zeros->type->element == E_F32;
        if (!floats && (!zeros || p->negated || zeros->type->element != E_U8))
                return false;
        p->w.zeros = p->negated ? layout_decoded(l, build_unary(&l->b, OP_neg, zeros)) : zeros;
        return value_is_constant(p->w.zeros);
}

/* From so many rows on, decoding all weights once takes less time where registers hold few sums
 * and totals (128 rows by 768 x 3072 and back: 13.4 ms to 16.1 with 16 registers; 16 rows 2.9 to
 * 2.4). */
enum { DECODED_ONCE_ROWS = 64, FEW_REGISTERS = 16 };

static bool decodes_once(const struct layout *l, const struct op *op)
{
        return target_vector_registers(l->context->target) <= FEW_REGISTERS &&
               op_is_static(op) && type_extent(op_operand(op, 0)->type, 0) >= DECODED_ONCE_ROWS;
}

bool layout_block_product(struct layout *l, struct op *op)
{
        enum { X, W, COUNT = ZEROS + 1 };
        struct block_product p;
        int64_t zero;
        if (target_lanes(l->context->target, E_F32) == 1 || !block_product_find(op, &p) ||
            type_is_empty(p.x->type) || type_is_empty(op_operand(op, 1)->type) ||
            decodes_once(l, op) || !find_scales(l, &p) || !find_bytes(&p) ||
            !find_zeros(l, &p, &zero))
                return false;
        const dim_t of_block[] = { dim_of(p.w.outputs), dim_of(p.w.blocks), dim_of(1), dim_of(1) };
        const dim_t bytes[] = { of_block[0], of_block[1], dim_of(p.w.bytes), dim_of(1), dim_of(1) };
        const dim_t rows[] = { dim_of(1), dim_of(1), p.x->type->dims[0], dim_of(p.w.inner) };
        struct value *operands[COUNT] = { NULL };
        operands[X] = layout_reshape(&l->b, p.x, 4, rows);
        operands[W] = layout_reshape(&l->b, p.w.numbers, 5, bytes);
        operands[SCALES] = layout_reshape(&l->b, p.w.scales, 4, of_block);
        operands[ZEROS] = p.w.zeros ? layout_reshape(&l->b, p.w.zeros, 4, of_block) : NULL;
        struct attr *attrs = attrs_new(l->m, OP_dot_blocks);
        attr_set(attrs, OP_dot_blocks, "outputs", p.w.outputs);
        attr_set(attrs, OP_dot_blocks, "zero", zero);
        struct value *y = value_build(&l->b, OP_dot_blocks, operands, COUNT, attrs, NULL);
        return y && build_packed(l, y->op, op_result(op), 0);
}
