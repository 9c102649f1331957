/* SPDX-License-Identifier: MIT */
#include "ir/tensor/block_weights.h"

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

struct value *block_weights_spread(const struct value *v)
{
        struct value *x = operand_of(v, OP_broadcast, 0);
        return x && has_dims(v->op, "dims", (const int64_t[]){ 0, 1 }, 2) ? x : NULL;
}

/* Returns what x >> shifts & mask takes numbers of `bits` bits out of, along dimension 2: x before
 * it is spread, or NULL. */
static struct value *bytes_of(const struct value *v, int bits)
{
        const struct value *mask = operand_of(v, OP_and, 1);
        double number;
        if (!mask || !value_is_splat(mask, &number) || number != (1 << bits) - 1)
                return NULL;
        v = op_operand(v->op, 0);
        const struct value *by = operand_of(v, OP_shr, 1),
                           *shifts = operand_of(by, OP_broadcast, 0);
        if (!shifts || !value_is_constant(shifts) || type_elements(shifts->type) != 8 / bits ||
            !has_dims(by->op, "dims", (const int64_t[]){ 2 }, 1))
                return NULL;
        for (int k = 0; k < 8 / bits; k++)
                if (constant_element(shifts->constant, k).u != (uint64_t)(k * bits))
                        return NULL;
        v = op_operand(v->op, 0);
        return op_is(v, OP_broadcast) && has_dims(v->op, "dims", (const int64_t[]){ 0, 1, 3 }, 3)
                       ? op_operand(v->op, 0)
                       : NULL;
}

bool block_product_find(const struct op *op, struct block_product *p)
{
        static const int64_t inner[] = { 1, 2, 3 };
        if (op->code != OP_dot || op_accumulator(op) != E_F32)
                return false;
        const struct value *w = op_operand(op, 1);
        p->x = op_operand(op, 0);
        if (p->x->type->rank != 4 || p->x->type->element != E_F32 || w->type->rank != 4 ||
            w->type->element != E_F32 || op_result(op)->type->element != E_F32 ||
            !type_is_static(w->type) || !has_dims(op, "contract_a", inner, 3) ||
            !has_dims(op, "contract_b", inner, 3))
                return false;
        const int64_t per = type_extent(w->type, 2);
        if (per < 1 || per > 4 || 8 % per)
                return false;
        const int bits = (int)(8 / per);
        p->w = block_weights_of(type_extent(w->type, 0), 0, bits, per * type_extent(w->type, 3));
        p->w.blocks = type_extent(w->type, 1);
        p->w.inner = p->w.blocks * p->w.block;
        p->scaled = op_is(w, OP_mul);
        p->w.scales = p->scaled ? block_weights_spread(op_operand(w->op, 1)) : NULL;
        const struct value *centered = p->scaled ? op_operand(w->op, 0) : w;
        /* simplify adds a number's negative. */
        p->negated = op_is(centered, OP_add);
        const enum opcode code = p->negated ? OP_add : OP_sub;
        struct value *number = operand_of(operand_of(centered, code, 0), OP_cast, 0);
        p->zero = operand_of(centered, code, 1);
        p->w.numbers = number && bits < 8 ? bytes_of(number, bits) : number;
        return p->w.numbers && p->zero && (p->w.scales || !p->scaled);
}
