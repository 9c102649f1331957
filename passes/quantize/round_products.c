/* SPDX-License-Identifier: MIT */
/* quantize_products: brings the weights of a product to steps, each to the nearest number
 * (block_step.c). */
#include "passes/quantize/block_step.h"
#include "passes/quantize/layer_weights.h"
#include "passes/quantize/quantize_products.h"

/* ---- weights as they are read ---- */

float *product_weights(struct arena *arena, const struct product *p)
{
        const struct op *op = p->op;
        const struct constant *c = op_operand(op, op->code != OP_gather)->constant;
        if (op->code != OP_dot)         /* The weights are taken in the order in which they lie. */
                return constant_numbers(arena, c);
        const struct type *t = c->value.type;
        int count, order[RANK_MAX], rank = 0;
        const int64_t *contracted = op_ints(op, "contract_b", &count);
        int64_t strides[RANK_MAX], stride = 1, index[RANK_MAX] = { 0 }, at = 0;
        for (int d = t->rank - 1; d >= 0; stride *= type_extent(t, d--))
                strides[d] = stride;
        for (int d = 0; d < t->rank; d++) {
                bool inner = false;
                for (int i = 0; i < count; i++)
                        inner |= contracted[i] == d;
                if (!inner)
                        order[rank++] = d;
        }
        for (int i = 0; i < count; i++)
                order[rank++] = (int)contracted[i];
        float *weights = arena_array(arena, (size_t)type_elements(t), sizeof *weights);
        for (int64_t i = 0; i < type_elements(t); i++) {
                weights[i] = constant_float(c, at);
                for (int k = rank - 1; k >= 0; k--) {
                        int d = order[k];
                        at += strides[d];
                        if (++index[d] < type_extent(t, d))
                                break;
                        at -= index[d] * strides[d];
                        index[d] = 0;
                }
        }
        return weights;
}

/* ---- steps ---- */

struct block rounded_block(struct arena *arena, const struct rounded *r)
{
        return (struct block){ .bits = r->bits,
                               .zeros = r->zeros,
                               .least = r->bits == 8 && !r->zeros,
                               .most = (1 << r->bits) - 1,
                               .numbers = arena_array(arena, (size_t)r->block, sizeof(float)) };
}

void rounded_open(const struct rounded *r, struct block *b, const float *w, int64_t number)
{
        int64_t from = number * r->block, count = r->inner - from;
        block_open(b, w + from, count < r->block ? count : r->block);
}

struct rounded product_scheme(const struct quantize_policy *policy, const struct product *p)
{
        const struct weights_type *type = policy->weights ? policy->weights : weights_types;
        struct rounded r = { .outputs = p->outputs, .inner = p->inner, .block = policy->block,
                             .bits = type->bits, .zeros = type->zeros };
        if (type->bits == 8 && (!r.block || r.block >= p->inner))
                r.block = p->inner;
        while (r.block / 2 >= p->inner && r.block > BLOCK_LEAST)
                r.block /= 2;
        r.blocks = divide_up(p->inner, r.block);
        return r;
}

static struct rounded *rounded_new(struct arena *arena, const struct quantize_policy *policy,
                                   const struct product *p)
{
        struct rounded *r = ARENA_NEW(arena, struct rounded);
        *r = product_scheme(policy, p);
        r->numbers = arena_array(arena, (size_t)(p->outputs * p->inner), sizeof *r->numbers);
        r->scales = arena_array(arena, (size_t)(p->outputs * r->blocks), sizeof *r->scales);
        r->zero = arena_array(arena, (size_t)(p->outputs * r->blocks), sizeof *r->zero);
        return r;
}

struct rounded *product_round(const struct products *q, const struct product *p,
                              const float *weights)
{
        struct rounded *r = rounded_new(q->arena, q->policy, p);
        struct block b = rounded_block(q->arena, r);
        for (int64_t o = 0; o < p->outputs; o++)
                for (int64_t i = 0; i < r->blocks; i++) {
                        rounded_open(r, &b, weights + o * p->inner, i);
                        struct step s = block_step(&b, q->policy->steps[STEP_search]);
                        block_round(&b, s);
                        rounded_set(r, o, i, s);
                        for (int64_t k = 0; k < b.count; k++)
                                r->numbers[o * p->inner + i * r->block + k] =
                                        (unsigned char)b.numbers[k];
                }
        return r;
}
