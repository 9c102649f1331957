/* SPDX-License-Identifier: MIT */
/* MatMulNBits of com.microsoft multiplies by weights of few bits in blocks
 * (ir/tensor/block_weights.h), with x as it is or, with accuracy_level 4, rounded. These operations
 * are what the importer makes of that node, so it comes back as it was, but for the order of
 * numbers in their bytes and for zero points that are floats. */
#include <string.h>

#include "compiler/export/exporter.h"
#include "ir/tensor/block_weights.h"

enum { ROUNDED = 4 };                   /* It is an accuracy_level. */

struct found {
        struct block_weights w;         /* Its numbers are in the order in which they are
                                         * multiplied. */
        struct value *x;                /* It is [.., inner]. */
        unsigned char *zeros;           /* They are zero points as the node has them, or NULL. */
};

/* ---- what they are made of ---- */

static struct value *behind_reshapes(struct value *v)
{
        while (op_is(v, OP_reshape))
                v = op_operand(v->op, 0);
        return v;
}

/* Returns a constant of so many elements, perhaps reshaped, or NULL. */
static struct value *constant_of(struct value *v, int64_t count)
{
        v = behind_reshapes(v);
        return value_is_constant(v) && type_elements(v->type) == count ? v : NULL;
}

static struct value *operand_of(struct value *v, enum opcode code, int operand)
{
        return v && op_is(v, code) ? op_operand(v->op, operand) : NULL;
}

static bool is_number(const struct value *v, double wanted)
{
        double number;
        return v && value_is_splat(v, &number) && number == wanted;
}

/* Returns whether v is a constant, perhaps spread, that is index / divide % wrap * by for each
 * index along an axis. */
static bool counts(struct export *e, const struct value *v, int axis, int64_t divide, int64_t wrap,
                   int64_t by)
{
        struct per_axis p;
        if (!v || !export_per_axis(e, v, &p) || !export_per_axis_known(&p) ||
            (p.source && p.axis != axis))
                return false;
        for (int64_t i = 0; i < type_extent(v->type, axis); i++)
                if (export_per_axis_number(&p, i) != (double)(i / divide % wrap * by))
                        return false;
        return true;
}

/* Returns x of the numbers of `bits` bits, by turns along an axis, x >> shifts & mask. */
static struct value *shifted(struct export *e, struct value *v, int axis, int bits)
{
        struct value *x = operand_of(v, OP_and, 0);
        if (!x || !op_is(x, OP_shr) ||
            !is_number(op_operand(v->op, 1), (double)((1 << bits) - 1)) ||
            !counts(e, op_operand(x->op, 1), axis, 1, 8 / bits, bits))
                return NULL;
        return op_operand(x->op, 0);
}

/* Reads zero points as the node has them, [outputs, bytes], from such, from [outputs, blocks] of
 * their bytes (gathered), or of a byte each. */
static bool read_zeros(struct export *e, struct found *f, struct value *v)
{
        const int64_t blocks = f->w.blocks, bytes = divide_up(blocks * f->w.bits, 8),
                      per = 8 / f->w.bits;
        v = behind_reshapes(v);
        struct value *packed = shifted(e, v, 1, f->w.bits),
                     *gather = operand_of(packed, OP_gather, 0);
        if (gather && counts(e, op_operand(packed->op, 1), 0, per, bytes, 1) &&
            gather->type->rank == 2 && op_int(packed->op, "axis") == 1)
                v = constant_of(gather, f->w.outputs * bytes);
        else
                v = constant_of(packed ? packed : v, f->w.outputs * blocks);
        if (!v || v->type->element != E_U8)
                return false;
        f->zeros = arena_array(e->arena, (size_t)(f->w.outputs * bytes) + 1, 1);
        for (int64_t o = 0; o < f->w.outputs; o++)
                for (int64_t b = 0; b < blocks; b++) {
                        int64_t at = gather ? o * bytes + b / per : o * blocks + b,
                                shift = b % per * f->w.bits;
                        unsigned byte = (unsigned)constant_element(v->constant, at).u;
                        unsigned number = (packed ? byte >> shift : byte) & ((1u << f->w.bits) - 1);
                        f->zeros[o * bytes + b / per] |= (unsigned char)(number << shift);
                }
        return true;
}

/* Returns v, or what it is a reshape of, where rows are whole in that, too. */
static struct value *with_rows(struct value *v, int64_t inner)
{
        struct value *x = behind_reshapes(v);
        return x->type->rank && dim_is(x->type->dims[x->type->rank - 1], inner) ? x : v;
}

/* Reads x without the zeros behind each row, as whole rows. */
static bool read_rows(struct found *f, struct value *v)
{
        const int64_t whole = f->w.blocks * f->w.block;
        v = behind_reshapes(v);
        int last = v->type->rank - 1;
        if (v->type->element != E_F32 || last < 0 || !dim_is(v->type->dims[last], whole))
                return false;
        f->x = v;
        f->w.inner = whole;
        if (!op_is(v, OP_pad) || !is_number(op_operand(v->op, 1), 0))
                return true;
        struct value *x = op_operand(v->op, 0);
        int64_t low[RANK_MAX], inner = type_extent(x->type, last);
        int count;
        bool behind = value_ints(op_operand(v->op, 2), low, RANK_MAX, &count) && inner <= whole &&
                      divide_up(inner, f->w.block) == f->w.blocks;
        for (int d = 0; behind && d <= last; d++)
                behind = !low[d] && (d == last || dim_equal(x->type->dims[d], v->type->dims[d]));
        if (behind) {
                f->x = with_rows(x, inner);
                f->w.inner = inner;
        }
        return true;
}

/* Returns whether the node may have such a block, of whole bytes. */
static bool is_block(const struct block_weights *w)
{
        return (w->bits == 2 || w->bits == 4 || w->bits == 8) && w->block >= BLOCK_LEAST &&
               !(w->block & (w->block - 1));
}

/* ---- x as it is ---- */

/* Finds a product; root is the product, or a reshape of it. */
static bool find_product(struct export *e, const struct op *root, struct found *f)
{
        const struct op *op = behind_reshapes(op_result(root))->op;
        struct block_product p;
        if (!op || !block_product_find(op, &p) || !p.scaled || !is_block(&p.w))
                return false;
        f->w = p.w;
        f->w.numbers = constant_of(p.w.numbers, p.w.outputs * p.w.blocks * p.w.bytes);
        f->w.scales = constant_of(p.w.scales, p.w.outputs * p.w.blocks);
        if (!f->w.numbers || f->w.numbers->type->element != E_U8 || !f->w.scales ||
            f->w.scales->type->element != E_F32)
                return false;
        const double middle = (double)(1 << (f->w.bits - 1));
        if (!is_number(p.zero, p.negated ? -middle : middle)) {
                struct value *zero = p.negated
                                             ? NULL
                                             : operand_of(block_weights_spread(p.zero), OP_cast, 0);
                if (!zero || !read_zeros(e, f, zero))
                        return false;
        }
        return read_rows(f, p.x);
}

/* ---- x rounded ---- */

/* Returns x of cast(round(x * spread 1 / (max |x| / 127))), or NULL. */
static struct value *rounded(struct value *v)
{
        v = operand_of(operand_of(behind_reshapes(v), OP_cast, 0), OP_round, 0);
        struct value *x = operand_of(v, OP_mul, 0),
                     *step = operand_of(operand_of(operand_of(v, OP_mul, 1), OP_broadcast, 0),
                                        OP_reciprocal, 0),
                     *most = NULL;
        double count;
        if (step && (op_is(step, OP_div) || op_is(step, OP_mul)))
                most = export_divided(step->op, &count);
        if (!x || !most || count != 127 || !op_is(most, OP_reduce) ||
            op_int(most->op, "kind") != REDUCE_max)
                return NULL;
        return operand_of(op_operand(most->op, 0), OP_abs, 0) == x ? x : NULL;
}

/* Finds the same product of rounded numbers. */
static bool find_rounded(struct export *e, const struct op *root, struct found *f)
{
        enum { X, W, STEPS, SUMS, SCALES, ZEROS };
        const struct op *op = behind_reshapes(op_result(root))->op;
        if (!op || op->code != OP_dot_blocks || op->operand_count > BLOCKS_OUTER)
                return false;
        const struct packed_bits p = packed_bits_of(op);
        const int64_t outputs = op_int(op, "outputs");
        struct value *x = rounded(op_operand(op, X));
        f->w = (struct block_weights){ .outputs = outputs,
                                       .blocks = p.blocks,
                                       .bytes = p.bytes,
                                       .bits = p.bits,
                                       .block = p.block };
        f->w.numbers = constant_of(op_operand(op, W), outputs * p.blocks * p.bytes);
        f->w.scales = constant_of(op_operand(op, SCALES), outputs * p.blocks);
        bool plain =
                p.vectors == 1 && p.lanes == 1 && dim_is(op_operand(op, W)->type->dims[0], outputs);
        if (!x || !plain || !is_block(&f->w) || !f->w.numbers || !f->w.scales ||
            f->w.scales->type->element != E_F32)
                return false;
        if (op_operand(op, ZEROS) ? !read_zeros(e, f, op_operand(op, ZEROS))
                                  : op_int(op, "zero") != 1 << (p.bits - 1))
                return false;
        return read_rows(f, x);
}

/* ---- the node ---- */

static bool want_found(struct plan *plan, const struct found *f)
{
        plan->wants[0] = f->x;
        plan->want_count = 1;
        return true;
}

bool match_product_nbits(struct export *e, const struct op *op, struct plan *plan)
{
        struct found f = { .x = NULL };
        return find_product(e, op, &f) && want_found(plan, &f);
}

bool match_rounded_nbits(struct export *e, const struct op *op, struct plan *plan)
{
        struct found f = { .x = NULL };
        return find_rounded(e, op, &f) && want_found(plan, &f);
}

/* Packs numbers: those of a place in the bytes are neighbours, and become those of a byte again. */
static struct made *packed_numbers(struct export *e, const struct block_weights *w)
{
        const dim_t dims[] = { dim_of(w->outputs), dim_of(w->blocks), dim_of(w->bytes) };
        const struct constant *c = w->numbers->constant;
        const int64_t count = w->outputs * w->blocks * w->bytes, per = 8 / w->bits;
        const unsigned mask = (1u << w->bits) - 1;
        const unsigned char *from = constant_data(c);
        unsigned char *to = arena_array(e->arena, (size_t)count, 1);
        for (int64_t i = 0; i < count; i += w->bytes)
                for (int64_t k = 0; k < w->block; k++) {
                        unsigned byte = from[c->kind == CONSTANT_SPLAT ? 0 : i + k % w->bytes];
                        unsigned number = byte >> (k / w->bytes * w->bits) & mask;
                        to[i + k / per] |= (unsigned char)(number << (k % per * w->bits));
                }
        return export_dense(e, export_base(e, c->name), type_tensor(e->m, E_U8, 3, dims), to);
}

static struct made *scales_made(struct export *e, const struct block_weights *w)
{
        const dim_t dims[] = { dim_of(w->outputs), dim_of(w->blocks) };
        const struct constant *c = w->scales->constant;
        float *data = arena_array(e->arena, (size_t)(w->outputs * w->blocks), sizeof *data);
        for (int64_t i = 0; i < w->outputs * w->blocks; i++)
                data[i] = (float)constant_element(c, i).f;
        return export_dense(e, export_base(e, c->name), type_tensor(e->m, E_F32, 2, dims), data);
}

static struct made *zeros_made(struct export *e, const struct found *f)
{
        const dim_t dims[] = { dim_of(f->w.outputs),
                               dim_of(divide_up(f->w.blocks * f->w.bits, 8)) };
        return f->zeros ? export_dense(e, "zeros", type_tensor(e->m, E_U8, 2, dims), f->zeros)
                        : NULL;
}

static void write_nbits(struct export *e, const struct op *op, const struct found *f, int accuracy)
{
        const struct block_weights *w = &f->w;
        struct made *x = export_value(e, f->x);
        dim_t dims[RANK_MAX];
        memcpy(dims, x->type->dims, (size_t)x->type->rank * sizeof *dims);
        dims[x->type->rank - 1] = dim_of(w->outputs);
        struct made *numbers = packed_numbers(e, w), *scales = scales_made(e, w),
                    *zeros = zeros_made(e, f), *operands[] = { x, numbers, scales, zeros };
        struct made *y =
                export_node(e, "MatMulNBits", type_tensor(e->m, E_F32, x->type->rank, dims),
                            operands, zeros ? 4 : 3);
        export_domain(e, "com.microsoft");
        export_int(e, "K", w->inner);
        export_int(e, "N", w->outputs);
        export_int(e, "bits", w->bits);
        export_int(e, "block_size", w->block);
        if (accuracy)
                export_int(e, "accuracy_level", accuracy);
        const struct type *to = op_result(op)->type;
        export_result(e, op, 0, export_reshape(e, y, to->rank, to->dims));
}

void write_product_nbits(struct export *e, const struct op *op, const struct plan *plan)
{
        struct found f = { .x = NULL };
        (void)plan;
        if (find_product(e, op, &f))
                write_nbits(e, op, &f, 0);
}

void write_rounded_nbits(struct export *e, const struct op *op, const struct plan *plan)
{
        struct found f = { .x = NULL };
        (void)plan;
        if (find_rounded(e, op, &f))
                write_nbits(e, op, &f, ROUNDED);
}
