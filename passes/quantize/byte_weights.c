/* SPDX-License-Identifier: MIT */
/* byte_weights: weights are kept in 8 bits, with a step and a zero point, and decoded where
 * they are read.
 *
 *   %1 = convolve(%0, @w)                      %1 = cast(@q) to=f32                            ; @q : <64 x 32 x 3 x 3 x u8>
 *                                              %2 = sub(%1, broadcast(cast(@zero) to=f32))     ; @zero : <64 x u8>
 *                                     ->       %3 = mul(%2, broadcast(@step))                  ; @step : <64 x f32>
 *                                              %4 = convolve(%0, %3)
 *
 * A row of the outermost dimension (weights of an output, a word of a dictionary) has a step of its
 * own; where rows are short, there is one step for all. Each weight changes by at most half a step,
 * where a step is (largest - least) / 255 of the row, 0 counted in; 0 stays 0. A table is decoded
 * behind the gather that takes rows of it. Nothing is folded after this, and fuse takes the
 * decoding operations into the kernel that reads the weights; for a kernel that reads packed
 * weights they are decoded in front of it. A tensor with a weight that is not finite stays as it
 * is. */
#include "passes/simplify/simplify.h"
#include "passes/quantize/weights.h"

enum { STEPS = 256, ROW_LEAST = 8 };

/* zeros and steps are <rows>, or scalars. */
struct encoded { struct value *numbers, *zeros, *steps; };

static bool encode(struct module *m, struct constant *c, struct encoded *out)
{
        const struct type *t = c->value.type;
        int64_t count = type_elements(t),
                rows = t->rank && count / type_extent(t, 0) >= ROW_LEAST ? type_extent(t, 0) : 1;
        enum element wide = element_info[t->element].compute;
        unsigned char *numbers = constant_room(m, (size_t)count),
                      *zeros = constant_room(m, (size_t)rows);
        void *steps = constant_room(m, (size_t)rows * (size_t)element_info[wide].bytes);
        for (int64_t r = 0, each = count / rows; r < rows; r++) {
                struct weight_scheme scheme;
                if (!weights_scheme(c, r * each, each, STEPS, &scheme))
                        return false;
                zeros[r] = (unsigned char)scheme.zero;
                element_store(wide, steps, (size_t)r, (union scalar){ .f = scheme.step });
                for (int64_t i = r * each; i < (r + 1) * each; i++)
                        numbers[i] = (unsigned char)weights_number(&scheme, c, i, STEPS);
        }
        int rank = rows > 1;
        out->numbers = constant_dense(m, type_with_element(m, t, E_U8), numbers, c->name);
        out->zeros = constant_dense(m, type_static(m, E_U8, rank, &rows), zeros, c->name);
        out->steps = constant_dense(m, type_static(m, wide, rank, &rows), steps, c->name);
        return true;
}

/* Spreads v, which has a number for each row, over the elements of the rows that are read: all
 * rows, or those that gather takes. */
static struct value *spread(struct builder *b, struct value *v, const struct op *gather,
                            const struct type *to)
{
        int64_t dims[RANK_MAX];
        if (gather && v->type->rank && op_int(gather, "axis") == 0)
                v = build_gather(b, v, op_operand(gather, 1), 0);
        for (int d = 0; d < RANK_MAX; d++)
                dims[d] = d;
        v = v ? build_cast(b, v, to->element) : NULL;
        return v ? build_broadcast(b, v, to, dims) : NULL;
}

/* Decodes the weights, or the rows of them that gather takes. */
static struct value *decode(struct builder *b, const struct encoded *e, const struct op *gather,
                            enum element element)
{
        enum element wide = e->steps->type->element;
        struct value *rows[] = { e->numbers, gather ? op_operand(gather, 1) : NULL };
        struct value *x =
                gather ? value_build(b, OP_gather, rows, 2, gather->attrs, NULL) : e->numbers;
        if (!x || !(x = build_cast(b, x, wide)))
                return NULL;
        struct value *zero = spread(b, e->zeros, gather, x->type);
        struct value *right = spread(b, e->steps, gather, x->type);
        x = build_binary(b, OP_mul, build_binary(b, OP_sub, x, zero), right);
        return x ? build_cast(b, x, element) : NULL;
}

/* Moves a contraction's step behind its sums, where a row has the weights of an output; returns
 * NULL where it has not. */
static struct value *scaled(struct builder *b, struct op *op, struct pass_context *context)
{
        return op->code == OP_convolve ? rewrite_convolve_scaled(b, op, context)
               : op->code == OP_dot    ? rewrite_dot_scaled(b, op, context) : NULL;
}

static bool decode_at(struct use *u, const struct encoded *e, struct pass_context *context)
{
        struct op *user = u->user, *gather = user->code == OP_gather ? user : NULL;
        struct builder b = { .m = user->region->function->module,
                             .region = user->region,
                             .before = user,
                             .location = user->location };
        struct value *decoded = decode(&b, e, gather, u->value->type->element);
        if (!decoded)
                return false;
        if (!gather)
                op_set_operand(user, u->index, decoded);
        struct value *instead = gather ? decoded : scaled(&b, user, context);
        if (instead) {
                value_replace(op_result(user), instead);
                op_erase(user);
        }
        return true;
}

/* Makes the weights of an output a row, where simplify has laid them along the outputs. */
static struct constant *by_outputs(struct function *f, struct constant *c,
                                   const struct pass_context *context)
{
        struct op *op = value_has_one_use(&c->value) ? c->value.uses->user : NULL;
        if (!op || op->code != OP_dot || target_engine(context->target)->vectors)
                return c;
        struct builder b = {
                .m = f->module, .region = op->region, .before = op, .location = op->location
        };
        struct value *y = dot_turned(&b, op, 1);
        if (!y)
                return c;
        c = op_operand(y->op, 1)->constant;
        value_replace(op_result(op), y);
        op_erase(op);
        return c;
}

int pass_byte_weights(struct function *f, struct pass_context *context)
{
        struct arena *arena = arena_new();
        int count, encoded = 0;
        struct constant **weights = weights_find(arena, f, &context->limits, &count);
        bool good = true;
        for (int i = 0; i < count; i++) {
                struct encoded e;
                if (!encode(f->module, weights[i], &e))
                        continue;
                struct constant *c = by_outputs(f, weights[i], context);
                good = c == weights[i] || encode(f->module, c, &e);
                for (struct use *u = c->value.uses, *next; u && good; u = next) {
                        next = u->next;
                        good = decode_at(u, &e, context);
                }
                encoded++;
        }
        arena_free(arena);
        pass_dce(f, context);
        return good ? encoded : -1;
}
