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
 * small as the model has them. */
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

bool layout_dot_blocks(struct layout *l, struct op *op)
{
        const struct packed_bits p = packed_bits_of(op);
        const struct multiply *m =
                multiply_in_vectors(l->context, E_I8, E_U8, block_weights_limit(p.bits));
        bool zeros = op_operand(op, ZEROS);
        if (!m || !m->body)
                return layout_refuse(l, REMARK_layout_multiply);
        if (p.lanes != 1 || p.vectors != 1 || p.bytes % m->channels)
                return layout_refuse(l, REMARK_layout_padding);
        if (!value_is_constant(op_operand(op, 1)) || !value_is_constant(op_operand(op, SCALES)) ||
            (zeros && !value_is_constant(op_operand(op, ZEROS))))
                return layout_refuse(l, REMARK_layout_packing);
        struct value *operands[OPERAND_ROW_MAX];
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
        *layout_form(l, op_result(op)) = (struct form){ .rows = y, .batch = 2, .free = 1 };
        l->failed |= !y;
        return y != NULL;
}
