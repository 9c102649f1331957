/* SPDX-License-Identifier: MIT */
#include "ir/tensor/block_weights.h"

/* ---- shorthands, which hand NULL on ---- */

static struct value *with(struct builder *b, enum opcode code, struct value *x, double number)
{
        return x ? build_binary(b, code, x, build_like(b, x, number)) : NULL;
}

static struct value *spread(struct builder *b, struct value *v, const struct type *over,
                            const int64_t *dims)
{
        return v ? build_broadcast(b, v, type_with_element(b->m, over, v->type->element), dims)
                 : NULL;
}

/* Is x a table, which should stay small? The operations that decode it are not folded. */
static bool is_table(const struct block_weights *w) { return value_is_constant(w->numbers); }

/* ---- bits ---- */

struct value *build_bits_apart(struct builder *b, struct value *x, int64_t bits, int at)
{
        int64_t dims[RANK_MAX];
        dim_t extents[RANK_MAX + 1];
        unsigned char shifts[8];
        const int64_t per = 8 / bits, along[1] = { at };
        int rank = x ? x->type->rank : 0;

        if (!x || rank >= RANK_MAX)
                return NULL;
        for (int d = 0; d < rank; d++) {
                dims[d] = d + (d >= at);
                extents[dims[d]] = x->type->dims[d];
        }
        extents[at] = dim_of(per);
        for (int64_t i = 0; i < per; i++)
                shifts[i] = (unsigned char)(i * bits);
        const struct type *t = type_tensor(b->m, E_U8, rank + 1, extents);
        struct value *shift = constant_dense(b->m, type_static(b->m, E_U8, 1, &per),
                                             arena_copy(b->m->arena, shifts, (size_t)per), NULL);
        x = spread(b, x, t, dims);
        shift = spread(b, shift, t, along);
        return with(b, OP_and, build_binary(b, OP_shr, x, shift), (double)((1 << bits) - 1));
}

struct value *block_weights_sorted(struct module *m, const struct block_weights *w,
                                   const struct constant *c)
{
        const unsigned char *from = constant_data(c);
        const int64_t count = type_elements(c->value.type), per = 8 / w->bits;
        const unsigned mask = (1u << w->bits) - 1;
        unsigned char *to = constant_room(m, (size_t)count);

        for (int64_t i = 0; i < count; i += w->bytes) {
                for (int64_t j = 0; j < w->bytes; j++)
                        to[i + j] = 0;
                for (int64_t k = 0; k < w->block; k++) {
                        unsigned byte = from[c->kind == CONSTANT_SPLAT ? 0 : i + k / per];
                        unsigned number = byte >> (k % per * w->bits) & mask;
                        to[i + k % w->bytes] |= (unsigned char)(number << (k / w->bytes * w->bits));
                }
        }
        return constant_dense(m, c->value.type, to, c->name);
}

/* ---- with x as it is ---- */

struct value *build_in_blocks(struct builder *b, const struct block_weights *w, struct value *x)
{
        const int64_t per = 8 / w->bits, perm[4] = { 0, 1, 3, 2 };

        if (!x)
                return NULL;
        const dim_t rows = type_product(b->m, x->type, 0, x->type->rank - 1);
        if (is_table(w))
                return build_reshape(
                        b, x, 4,
                        (dim_t[]){ rows, dim_of(w->blocks), dim_of(per), dim_of(w->bytes) });
        x = build_reshape(b, x, 4,
                          (dim_t[]){ rows, dim_of(w->blocks), dim_of(w->bytes), dim_of(per) });
        return x ? build_transpose(b, x, perm) : NULL;
}

/* Spreads v, [outputs, blocks], over the weights [outputs, blocks, numbers of a byte, bytes], as
 * f32. */
static struct value *over_weights(struct builder *b, const struct block_weights *w,
                                  struct value *v, const struct type *t)
{
        v = v ? build_cast(b, v, E_F32) : NULL;
        if (!v || !w->group)
                return spread(b, v, t, (const int64_t[]){ 0, 1 });
        return build_gather(b, v, w->group, 1);
}

/* Returns constant zero points, [outputs, blocks], a byte each. */
static struct value *known_zeros(struct module *m, const struct block_weights *w)
{
        const struct constant *c = w->zeros->constant;
        const unsigned char *from = constant_data(c);
        const int64_t dims[] = { w->outputs, w->blocks }, per = 8 / w->bits,
                      bytes = divide_up(w->blocks, per);
        const unsigned mask = (1u << w->bits) - 1;
        unsigned char *to = constant_room(m, (size_t)(w->outputs * w->blocks));
        for (int64_t o = 0; o < w->outputs; o++)
                for (int64_t k = 0; k < w->blocks; k++) {
                        const int64_t at = c->kind == CONSTANT_SPLAT ? 0 : o * bytes + k / per;
                        to[o * w->blocks + k] =
                                (unsigned char)(from[at] >> k % per * w->bits & mask);
                }
        return constant_dense(m, type_static(m, E_U8, 2, dims), to, c->name);
}

/* Unpacks zero points that have the bits of the weights: [outputs, bytes] becomes [outputs,
 * blocks]. */
static struct value *unpacked_zeros(struct builder *b, const struct block_weights *w)
{
        const int64_t per = 8 / w->bits;

        if (per == 1)
                return w->zeros;
        if (value_is_constant(w->zeros))
                return known_zeros(b->m, w);
        int32_t *bytes = constant_room(b->m, (size_t)w->blocks * sizeof *bytes);
        unsigned char *shifts = constant_room(b->m, (size_t)w->blocks);
        for (int64_t i = 0; i < w->blocks; i++) {
                bytes[i] = (int32_t)(i / per);
                shifts[i] = (unsigned char)(i % per * w->bits);
        }
        struct value *at =
                constant_dense(b->m, type_static(b->m, E_I32, 1, &w->blocks), bytes, "zero_bytes");
        struct value *shift =
                constant_dense(b->m, type_static(b->m, E_U8, 1, &w->blocks), shifts, "zero_shifts");
        struct value *v = build_gather(b, w->zeros, at, 1);
        shift = v ? spread(b, shift, v->type, (const int64_t[]){ 1 }) : NULL;
        v = shift ? build_binary(b, OP_shr, v, shift) : NULL;
        return with(b, OP_and, v, (double)((1 << w->bits) - 1));
}

/* Decodes the weights: [outputs, blocks, numbers of a byte, bytes]. */
static struct value *decoded(struct builder *b, const struct block_weights *w)
{
        struct value *x = w->numbers, *zero = w->zeros, *scale;

        if (w->bits == 8)
                x = build_reshape(b, x, 4,
                                  (dim_t[]){ dim_of(w->outputs), dim_of(w->blocks), dim_of(1),
                                             dim_of(w->bytes) });
        else
                x = build_bits_apart(b,
                                     is_table(w) ? block_weights_sorted(b->m, w, x->constant) : x,
                                     w->bits, 2);
        if (!x)
                return NULL;
        const struct type *t = x->type;
        x = build_cast(b, x, E_F32);
        if (zero) {
                zero = zero->type->element == E_U8 ? unpacked_zeros(b, w) : zero;
                zero = over_weights(b, w, zero, t);
                x = zero ? build_binary(b, OP_sub, x, zero) : NULL;
        } else {
                x = with(b, OP_sub, x, (double)(1 << (w->bits - 1)));
        }
        scale = over_weights(b, w, w->scales, t);
        return x && scale ? build_binary(b, OP_mul, x, scale) : NULL;
}

struct value *build_block_rows(struct builder *b, const struct block_weights *w,
                               struct value *bytes, struct value *scales, struct value *zeros)
{
        static const int64_t along[] = { 0, 1 };
        if (!bytes || !scales)
                return NULL;
        const dim_t rows = bytes->type->dims[0];
        struct value *x = w->bits == 8 ? build_reshape(b, bytes, 4,
                                                       (dim_t[]){ rows, dim_of(w->blocks),
                                                                  dim_of(1), dim_of(w->bytes) })
                                       : build_bits_apart(b, bytes, w->bits, 2);
        x = x ? build_cast(b, x, E_F32) : NULL;
        x = x && zeros ? build_binary(b, OP_sub, x,
                                      spread(b, build_cast(b, zeros, E_F32), x->type, along))
                       : with(b, OP_sub, x, (double)(1 << (w->bits - 1)));
        x = x ? build_binary(b, OP_mul, x, spread(b, scales, x->type, along)) : NULL;
        x = x ? build_reshape(b, x, 2, (dim_t[]){ rows, dim_of(w->blocks * w->block) })
              : NULL;
        if (!x || w->inner == w->blocks * w->block)
                return x;
        return build_slice(b, x, (const int64_t[]){ 0, 0 }, (const int64_t[]){ 1, 1 },
                           (const dim_t[]){ rows, dim_of(w->inner) });
}

struct value *build_block_product(struct builder *b, const struct block_weights *w, struct value *x)
{
        const int64_t inner[3] = { 1, 2, 3 };

        x = build_in_blocks(b, w, x);
        struct builder own = *b;
        if (is_table(w))
                own.fold = NULL;
        struct value *table = decoded(&own, w);
        struct attr *attrs = attrs_new(b->m, OP_dot);
        attr_set_ints(b->m, attrs, OP_dot, "contract_a", inner, 3);
        attr_set_ints(b->m, attrs, OP_dot, "contract_b", inner, 3);
        return x && table ? value_build(b, OP_dot, (struct value *[]){ x, table }, 2, attrs, NULL)
                          : NULL;
}

/* ---- with x rounded ---- */

bool block_weights_sum_fits(int64_t block)
{
        enum { LARGEST = 127 * 255 };
        return block <= INT32_MAX / LARGEST;
}

/* Returns v, [outputs, n], as [outputs, n, 1, 1]. */
static struct value *of_outputs(struct builder *b, struct value *v)
{
        const dim_t dims[] = { v->type->dims[0], v->type->dims[1], dim_of(1), dim_of(1) };
        return build_reshape(b, v, 4, dims);
}

struct value *build_rounded_block_product(struct builder *b, const struct block_weights *w,
                                          struct value *x)
{
        enum { X, W, STEPS, SUMS, SCALES, ZEROS, OUTER, MINIMA, COUNT };
        static const int64_t inner[] = { 2 }, outer[] = { 0, 1 };
        const dim_t rows = type_product(b->m, x->type, 0, x->type->rank - 1);
        const dim_t scales[] = { dim_of(w->outputs), dim_of(w->blocks), dim_of(1), dim_of(1) },
                    bytes[] = { dim_of(w->outputs), dim_of(w->blocks), dim_of(w->bytes), dim_of(1),
                                dim_of(1) };
        struct value *operands[COUNT] = { NULL }, *table = w->numbers;

        x = build_reshape(b, x, 3, (dim_t[]){ rows, dim_of(w->blocks), dim_of(w->block) });
        struct value *most = x ? build_reduce(b, REDUCE_max, build_unary(b, OP_abs, x), inner, 1)
                               : NULL,
                     *steps = with(b, OP_div, most, 127);
        if (!steps)
                return NULL;
        x = build_binary(b, OP_mul, x,
                         spread(b, build_unary(b, OP_reciprocal, steps), x->type, outer));
        x = x ? build_cast(b, build_unary(b, OP_round, x), E_I8) : NULL;
        struct value *sums =
                x ? build_reduce(b, REDUCE_sum, build_cast(b, x, E_I32), inner, 1) : NULL;
        operands[X] = build_reshape(
                b, x, 4,
                (dim_t[]){ dim_of(1), dim_of(1), rows, dim_of(w->blocks * w->block) });
        if (w->bits < 8)
                table = block_weights_sorted(b->m, w, table->constant);
        operands[W] = build_reshape(b, table, 5, bytes);
        operands[STEPS] = build_reshape(
                b, steps, 4, (dim_t[]){ dim_of(1), dim_of(1), rows, dim_of(w->blocks) });
        operands[SUMS] = build_reshape(
                b, sums, 4, (dim_t[]){ dim_of(1), dim_of(1), rows, dim_of(w->blocks) });
        operands[SCALES] = build_reshape(b, w->scales, 4, scales);
        operands[ZEROS] = w->minima  ? build_reshape(b, w->zeros, 4, scales)
                          : w->zeros ? build_reshape(b, unpacked_zeros(b, w), 4, scales)
                                     : NULL;
        if (w->outer)
                operands[OUTER] = of_outputs(b, w->outer);
        if (w->minima)
                operands[MINIMA] = of_outputs(b, w->minima);
        const int count = w->minima ? COUNT : w->outer ? MINIMA : OUTER;
        for (int i = 0; i < count; i++)
                if (!operands[i] && (i != ZEROS || w->zeros))
                        return NULL;
        struct attr *attrs = attrs_new(b->m, OP_dot_blocks);
        attr_set(attrs, OP_dot_blocks, "outputs", w->outputs);
        if (!operands[ZEROS])
                attr_set(attrs, OP_dot_blocks, "zero", w->center);
        struct value *y = value_build(b, OP_dot_blocks, operands, count, attrs, NULL);
        return build_reshape(b, y, 2, (dim_t[]){ rows, dim_of(w->outputs) });
}
