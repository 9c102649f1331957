/* SPDX-License-Identifier: MIT */
/* Fuse, narrow values: what a contraction, a window or a transpose behind one reads lies in memory
 * as narrow as it was made.
 *
 *   %1 = cast(%0) to=i8                           %1 = cast(%0) to=i8
 *   %2 = cast(%1) to=f32                          %2 = reshape(%1)
 *   %3 = mul(%2, 0.05)                    ->      %3 = cast(%2) to=f32
 *   %4 = reshape(%3)                              %4 = mul(%3, 0.05)
 *   %5 = convolve_packed(%4, @w)                  %5 = convolve_packed(%4, @w)
 *   %6 = add(%3, %7)                              ...
 *                                                 %6 = add(mul(cast(%1), 0.05), %7)
 *
 * Tensors of quantized networks are of 8 bits between a quantization and a dequantization.
 * Element-wise operations would all join the kernel that makes these; those behind the narrowest
 * value join the reader instead (fuse.c keeps them apart, and canonical nests compute them where
 * they read; the pass prologues joins the others). Each reader has a copy of them, with reshapes in
 * front, where reshapes are views. Exact: the same operations on each element. */
#include "passes/fuse/fuse.h"

/* Is op a reshape, or an element-wise operation of operand 0 and numbers? */
static bool is_map(const struct op *op)
{
        const struct op_info *info = &op_info[op->code];
        if (op->code == OP_reshape)
                return true;
        if (!(info->traits & TRAIT_ELEMENTWISE) || info->traits & TRAIT_COSTLY ||
            !op->operand_count)
                return false;
        for (int i = 1; i < op->operand_count; i++)
                if (!value_is_splat(op_operand(op, i), NULL))
                        return false;
        return !value_is_constant(op_operand(op, 0));
}

static int bytes_of(const struct value *v) { return element_info[v->type->element].bytes; }

/* May op have a prologue? Some contractions, windows and transposes may. */
static bool is_reader(const struct op *op)
{
        bool reads = op_info[op->code].traits & TRAIT_CONTRACTION || op->code == OP_reduce_window ||
                     op->code == OP_transpose;
        if (!reads || !type_is_static_from(op_operand(op, 0)->type, 1))
                return false;
        return !fuse_is_packed(op) ||
               (op->code != OP_convolve_winograd && op_operand(op, 0)->type->element == E_F32);
}

/* Is v the result of a contraction or reduction, or computed from one element by element? It would
 * have to be stored in front of a transpose anyway. */
static bool follows_anchor(const struct value *v)
{
        while (v->kind == VALUE_RESULT && fuse_is_elementwise(v->op) && v->op->operand_count)
                v = op_operand(v->op, 0);
        return v->kind == VALUE_RESULT && fuse_is_anchor(v->op);
}

struct widening fuse_widening(const struct op *reader)
{
        struct widening w = { 0 };
        struct op *ops[WIDENING_MAX];
        int count = 0;
        if (!is_reader(reader))
                return w;
        struct value *v = op_operand(reader, 0);
        if (op_is(v, OP_pad) && v->op->region == reader->region && value_has_one_use(v) &&
            fuse_is_halo(v->op)) {
                w.pad = v->op;
                v = op_operand(v->op, 0);
        }
        int least = bytes_of(v);
        while (v->kind == VALUE_RESULT && v->op->region == reader->region && count < WIDENING_MAX &&
               is_map(v->op)) {
                ops[count++] = v->op;
                v = op_operand(v->op, 0);
                if (bytes_of(v) >= least)
                        continue;
                least = bytes_of(v);
                w.source = v;
                for (; w.count < count; w.count++)
                        w.ops[w.count] = ops[w.count];
        }
        if (w.count && reader->code == OP_transpose && !follows_anchor(w.source))
                w.count = 0;
        return w;
}

int fuse_decoding(struct value *v, const struct region *region, struct op *ops[WIDENING_MAX])
{
        int count = 0;
        while (v && v->kind == VALUE_RESULT && v->op->region == region && count < WIDENING_MAX &&
               v->op->code != OP_reshape && is_map(v->op) && value_has_one_use(v)) {
                ops[count++] = v->op;
                struct value *x = op_operand(v->op, 0);
                if (bytes_of(x) == 1 && bytes_of(v) > 1)
                        return count;
                v = x;
        }
        return 0;
}

/* Builds one of the widening operations again, for a value x of another shape. */
static struct value *rebuild(struct builder *b, const struct op *op, struct value *x)
{
        struct value *operands[OPERAND_ROW_MAX] = { x };
        if (op->code == OP_reshape)
                return x;
        for (int i = 1; i < op->operand_count; i++) {
                const struct value *number = op_operand(op, i);
                operands[i] = constant_splat(
                        b->m, type_with_element(b->m, x->type, number->type->element),
                        constant_data(number->constant));
        }
        return value_build(b, op->code, operands, op->operand_count, op->attrs, NULL);
}

static bool is_apart(const struct widening *w)
{
        for (int i = 0; i < w->count; i++)
                if (w->ops[i]->code == OP_reshape || !value_has_one_use(op_result(w->ops[i])))
                        return false;
        return true;
}

int fuse_narrow(struct region *region, struct diag *diag)
{
        int rewrites = 0;
        for (struct op *reader = region->first; reader; reader = reader->next) {
                struct widening w = fuse_widening(reader);
                if (!w.count || is_apart(&w))
                        continue;
                struct op *before = w.pad ? w.pad : reader;
                struct builder b = { .m = region->function->module,
                                     .region = region,
                                     .before = before,
                                     .location = before->location,
                                     .diag = diag };
                const struct type *type = op_operand(before, 0)->type;
                struct value *v = build_reshape(&b, w.source, type->rank, type->dims);
                for (int i = w.count - 1; i >= 0 && v; i--)
                        v = rebuild(&b, w.ops[i], v);
                if (!v)
                        return -1;
                op_set_operand(before, 0, v);
                for (int i = 0; i < w.count && !op_result(w.ops[i])->uses; i++)
                        op_erase(w.ops[i]);
                rewrites++;
        }
        return rewrites;
}
