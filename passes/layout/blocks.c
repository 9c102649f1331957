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

/* Returns the multiply of such rows by bytes of numbers, or NULL. */
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
        *layout_form(l, logical) = (struct form){ .rows = y, .batch = batch, .free = 1 };
        l->failed |= !y;
        return y != NULL;
}

bool layout_dot_blocks(struct layout *l, struct op *op)
{
        return build_packed(l, op, op_result(op), 2);
}

/* ---- decoded numbers in front of a dot ---- */

static struct value *operand_of(const struct value *v, enum opcode code, int operand)
{
        return v && op_is(v, code) ? op_operand(v->op, operand) : NULL;
}

static bool has_dims(const struct op *op, const char *name, const int64_t *wanted, int count)
{
        int n;
        const int64_t *dims = op_ints(op, name, &n);
        bool equal = n == count;
        for (int i = 0; i < count && equal; i++)
                equal = dims[i] == wanted[i];
        return equal;
}

/* Returns v, where it is a constant of so many elements, or NULL. */
static struct value *constant_of(struct value *v, int64_t elements)
{
        return value_is_constant(v) && type_elements(v->type) == elements ? v : NULL;
}

/* Returns the constant that is broadcast over all numbers of each block of w, or what its cast is
 * of, or NULL. */
static struct value *of_blocks(struct layout *l, const struct value *v, const struct type *w)
{
        struct value *c = operand_of(v, OP_broadcast, 0);
        if (!c || !has_dims(v->op, "dims", (const int64_t[]){ 0, 1 }, 2))
                return NULL;
        c = layout_decoded(l, operand_of(c, OP_cast, 0) ? operand_of(c, OP_cast, 0) : c);
        return constant_of(c, type_extent(w, 0) * type_extent(w, 1));
}

/* Returns the constant bytes of byte >> shift & mask, of numbers of `bits` bits, or NULL. */
static struct value *bytes_of(struct value *v, int bits)
{
        const int64_t bytes = type_elements(v->type) * bits / 8;
        const struct value *mask = operand_of(v, OP_and, 1);
        double number;
        if (bits < 8) {
                if (!mask || !value_is_splat(mask, &number) || number != (1 << bits) - 1)
                        return NULL;
                v = op_operand(v->op, 0);
                struct value *shifts = operand_of(operand_of(v, OP_shr, 1), OP_broadcast, 0);
                if (!shifts || !constant_of(shifts, 8 / bits) ||
                    !has_dims(op_operand(v->op, 1)->op, "dims", (const int64_t[]){ 2 }, 1))
                        return NULL;
                for (int k = 0; k < 8 / bits; k++)
                        if (constant_element(shifts->constant, k).u != (uint64_t)(k * bits))
                                return NULL;
                v = op_operand(v->op, 0);
                if (!op_is(v, OP_broadcast) ||
                    !has_dims(v->op, "dims", (const int64_t[]){ 0, 1, 3 }, 3))
                        return NULL;
                v = op_operand(v->op, 0);
        } else if (op_is(v, OP_reshape)) {
                v = op_operand(v->op, 0);
        }
        return v->type->element == E_U8 ? constant_of(v, bytes) : NULL;
}

/* From so many rows on, decoding all weights once takes less time where registers hold few sums
 * and totals (128 rows by 768 x 3072 and back: 13.9 ms to 16.1 with 16 registers; 16 rows 4.1 to
 * 2.5). */
enum { DECODED_ONCE_ROWS = 64, FEW_REGISTERS = 16 };

struct decoded { struct value *bytes, *scales, *zeros; int64_t zero; int bits; };

/* Finds what w decodes, [outputs, blocks, numbers of a byte, bytes]. */
static bool find_decoded(struct layout *l, struct value *w, struct decoded *d)
{
        /* A scale for all blocks of an output is behind the product. */
        const bool scaled = op_is(w, OP_mul);
        const struct value *centered = scaled ? op_operand(w->op, 0) : w;
        const int64_t per = type_extent(w->type, 2);
        const int64_t of_block[] = { type_extent(w->type, 0), type_extent(w->type, 1) };
        if (per < 1 || per > 4 || 8 % per)
                return false;
        /* simplify adds a number's negative. */
        const bool added = op_is(centered, OP_add);
        struct value *number =
                operand_of(operand_of(centered, added ? OP_add : OP_sub, 0), OP_cast, 0);
        const struct value *zero = operand_of(centered, added ? OP_add : OP_sub, 1);
        double of_all;
        *d = (struct decoded){ .bits = (int)(8 / per),
                               .scales = scaled ? of_blocks(l, op_operand(w->op, 1), w->type)
                                                : constant_number(l->m,
                                                                  type_static(l->m, E_F32, 2,
                                                                              of_block),
                                                                  1) };
        d->bytes = number ? bytes_of(number, d->bits) : NULL;
        if (!d->bytes || !d->scales || !zero ||
            element_info[d->scales->type->element].compute != E_F32)
                return false;
        if (value_is_splat(zero, &of_all)) {
                of_all = added ? -of_all : of_all;
                if (!(of_all >= 0 && of_all <= UINT8_MAX))
                        return false;
                d->zero = (int64_t)of_all;
                return (double)d->zero == of_all;
        }
        d->zeros = of_blocks(l, zero, w->type);
        if (!d->zeros || (d->zeros->type->element != E_F32 &&
                          (added || d->zeros->type->element != E_U8)))
                return false;
        if (added)
                d->zeros = layout_decoded(l, build_unary(&l->b, OP_neg, d->zeros));
        return value_is_constant(d->zeros);
}

bool layout_block_product(struct layout *l, struct op *op)
{
        enum { X, W, COUNT = ZEROS + 1 };
        static const int64_t inner[] = { 1, 2, 3 };
        struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        struct decoded d;
        if (x->type->rank != 4 || x->type->element != E_F32 || w->type->rank != 4 ||
            w->type->element != E_F32 || !type_is_static(w->type) || type_is_empty(w->type) ||
            type_is_empty(x->type) || target_lanes(l->context->target, E_F32) == 1 ||
            (target_vector_registers(l->context->target) <= FEW_REGISTERS &&
             dim_bound(l->m, x->type->dims[0]) >= DECODED_ONCE_ROWS && op_is_static(op)) ||
            op_accumulator(op) != E_F32 || op_result(op)->type->element != E_F32 ||
            !has_dims(op, "contract_a", inner, 3) || !has_dims(op, "contract_b", inner, 3) ||
            !find_decoded(l, w, &d))
                return false;
        const int64_t outputs = type_extent(w->type, 0), blocks = type_extent(w->type, 1),
                      bytes = type_extent(w->type, 3), all = blocks * bytes * (8 / d.bits);
        const dim_t of_block[] = { dim_of(outputs), dim_of(blocks), dim_of(1), dim_of(1) };
        struct value *operands[COUNT] = { NULL };
        operands[X] = layout_reshape(
                &l->b, x, 4, (dim_t[]){ dim_of(1), dim_of(1), x->type->dims[0], dim_of(all) });
        operands[W] = layout_reshape(
                &l->b, d.bytes, 5,
                (dim_t[]){ dim_of(outputs), dim_of(blocks), dim_of(bytes), dim_of(1), dim_of(1) });
        operands[SCALES] = layout_reshape(&l->b, d.scales, 4, of_block);
        operands[ZEROS] = d.zeros ? layout_reshape(&l->b, d.zeros, 4, of_block) : NULL;
        struct attr *attrs = attrs_new(l->m, OP_dot_blocks);
        attr_set(attrs, OP_dot_blocks, "outputs", outputs);
        attr_set(attrs, OP_dot_blocks, "zero", d.zero);
        struct value *y = value_build(&l->b, OP_dot_blocks, operands, COUNT, attrs, NULL);
        return y && build_packed(l, y->op, op_result(op), 0);
}
