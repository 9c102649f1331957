/* SPDX-License-Identifier: MIT */
/* com.microsoft QAttention: one product of integers makes queries, keys and values of all heads;
 * then softmax(scale q k' + mask) v in floats. */
#include <float.h>
#include <math.h>

#include "compiler/import/onnx_helpers.h"
#include "front/compose/compose_softmax.h"

struct qattention {
        int64_t batch, steps, heads, size, past;        /* size: of a head; past: keys before these */
        float scale, filter;                            /* filter: what hidden scores have added */
        bool causal;
        enum element e;                                 /* of the result */
};

static bool attributes_read(struct onnx_import *im, struct onnx_node *n, struct qattention *a)
{
        int64_t causal, rotary, shares;

        if (!onnx_int_required(im, n, "num_heads", &a->heads) ||
            !onnx_int_range(im, n, "num_heads", 0, 1, NUMBER_MAX, &a->heads) ||
            !onnx_int_range(im, n, "unidirectional", 0, 0, 1, &causal) ||
            !onnx_int_range(im, n, "do_rotary", 0, 0, 1, &rotary) ||
            !onnx_int_range(im, n, "past_present_share_buffer", 0, 0, 1, &shares) ||
            !onnx_float(im, n, "scale", 0, &a->scale) ||
            !onnx_float(im, n, "mask_filter_value", -10000, &a->filter))
                return false;
        if (rotary || shares)
                return onnx_unsupported(im, n, "%s",
                                        rotary ? "do_rotary" : "past_present_share_buffer");
        a->causal = causal;
        return true;
}

static bool operands_read(struct onnx_import *im, struct onnx_node *n, struct qattention *a)
{
        const struct value *x = n->inputs[0], *w = n->inputs[1], *past = onnx_input(n, 8);

        if (!onnx_want_8_bit(im, n, 0) || !onnx_want_8_bit(im, n, 1) ||
            !onnx_want_rank(im, n, 0, 3, 3) || !onnx_want_rank(im, n, 1, 2, 2) ||
            !onnx_want_float(im, n, 2) ||
            !onnx_same_element(im, n,
                               (struct value *[]){ n->inputs[2], n->inputs[3], n->inputs[4],
                                                   onnx_input(n, 8) },
                               4))
                return false;
        a->e = value_element(n->inputs[2]);
        if (a->e == E_F64)
                return onnx_invalid(im, n, "operand 2 is of f64");
        int64_t columns = value_extent(w, 1);
        if (value_extent(w, 0) != value_extent(x, 2) || columns % 3 || columns / 3 % a->heads ||
            columns < 1)
                return onnx_invalid(im, n, "an input %s by weights %s for %lld heads",
                                    type_text(im->arena, im->m, x->type),
                                    type_text(im->arena, im->m, w->type), (long long)a->heads);
        a->batch = value_extent(x, 0);
        a->steps = value_extent(x, 1);
        a->size = columns / 3 / a->heads;
        a->past = past && value_rank(past) == 5 ? value_extent(past, 3) : 0;
        const dim_t held[5] = { dim_of(2), dim_of(a->batch), dim_of(a->heads), dim_of(a->past),
                                dim_of(a->size) };
        const struct type *t = past ? compose_type(im->c, a->e, 5, held) : NULL;
        if (past && past->type != t)
                return t && onnx_invalid(im, n, "past is %s, want %s",
                                         type_text(im->arena, im->m, past->type),
                                         type_text(im->arena, im->m, t));
        const dim_t scores[4] = { dim_of(a->batch), dim_of(a->heads), dim_of(a->steps),
                                  dim_of(a->past + a->steps) };
        return compose_type(im->c, E_F32, 4, scores) != NULL;
}

/* part 0 to 2 of the projection, [batch, steps, 3 * heads * size], as [batch, heads, steps, size] */
static struct value *part_by_heads(struct onnx_import *im, const struct qattention *a,
                                   struct value *y, int part)
{
        const int64_t width = a->heads * a->size, starts[3] = { 0, 0, part * width },
                      ones[3] = { 1, 1, 1 }, perm[4] = { 0, 2, 1, 3 };

        y = y ? build_slice(&im->b, y, starts, ones,
                            (const dim_t[]){ dim_of(a->batch), dim_of(a->steps), dim_of(width) })
              : NULL;
        y = compose_reshape(im->c, y, 4,
                            (const dim_t[]){ dim_of(a->batch), dim_of(a->steps), dim_of(a->heads),
                                             dim_of(a->size) });
        return y ? build_transpose(&im->b, y, perm) : NULL;
}

/* x behind the keys (part 0) or values (part 1) of the past */
static struct value *behind_past(struct onnx_import *im, const struct onnx_node *n, struct value *x,
                                 int part)
{
        struct value *past = onnx_input(n, 8);

        if (!past || !x)
                return x;
        past = compose_wide(im->c,
                            build_gather(&im->b, past, compose_integer(im->c, E_I64, part), 0));
        return past ? build_concat(&im->b, (struct value *[]){ past, x }, 2, 2) : NULL;
}

/* Which scores the mask hides, over t, which is [batch, steps, keys]: keys behind an end and before
 * a start of each sequence, or where it is 0. *hidden: NULL where there is none. */
static bool mask_read(struct onnx_import *im, struct onnx_node *n, const struct type *t,
                      struct value **hidden)
{
        struct value *mask = onnx_input(n, 5);
        const int64_t batch = type_extent(t, 0), keys = type_extent(t, 2);

        *hidden = NULL;
        if (!mask)
                return true;
        const dim_t *d = mask->type->dims;
        const int rank = value_rank(mask);
        if (!onnx_want_element(im, n, 5, E_I32))
                return false;
        if (rank == 1 && (dim_is(d[0], batch) || dim_is(d[0], 2 * batch))) {
                const struct type *ints = type_with_element(im->m, t, E_I32);
                struct value *key = build_iota(&im->b, ints, 2);
                mask = compose_reshape(
                        im->c, mask, 2,
                        (const dim_t[]){ dim_of(dim_extent(d[0]) / compose_max(batch, 1)),
                                         dim_of(batch) });
                for (int64_t i = 0; mask && i < value_extent(mask, 0); i++) {
                        struct value *bound =
                                build_gather(&im->b, mask, compose_integer(im->c, E_I64, i), 0);
                        bound = compose_binary(
                                im->c, i ? OP_lt : OP_ge, key,
                                compose_spread(im->c, bound, ints, (const int64_t[]){ 0 }));
                        *hidden = *hidden ? compose_binary(im->c, OP_or, *hidden, bound) : bound;
                }
                return *hidden || !batch;
        }
        bool fits = (rank == 2 && dim_is(d[0], batch) && dim_is(d[1], keys)) ||
                    (rank == 3 && dim_is(d[0], batch) && dim_equal(d[1], t->dims[1]) &&
                     dim_is(d[2], keys));
        if (!fits && rank == 2 && dim_is(d[1], 1) && (dim_is(d[0], batch) || dim_is(d[0], 1)))
                return true;            /* it says the same of all keys */
        if (!fits && rank == 4)
                return onnx_unsupported(im, n, "a mask of rank 4");
        if (!fits)
                return onnx_invalid(im, n, "the mask is %s for scores of %s",
                                    type_text(im->arena, im->m, mask->type),
                                    type_text(im->arena, im->m, t));
        const int64_t dims[2][3] = { { 0, 2 }, { 0, 1, 2 } };
        *hidden = compose_spread(im->c, compose_with(im->c, OP_le, mask, 0), t, dims[rank - 2]);
        return *hidden != NULL;
}

/* what is added to scores, over [batch, heads, steps, keys]; *mask: NULL where nothing is */
static bool mask_of(struct onnx_import *im, struct onnx_node *n, const struct qattention *a,
                    struct value **mask)
{
        const dim_t dims[4] = { dim_of(a->batch), dim_of(a->heads), dim_of(a->steps),
                                dim_of(a->past + a->steps) },
                    each[3] = { dims[0], dims[2], dims[3] };
        const struct type *t = type_tensor(im->m, E_F32, 3, each);
        struct value *hidden, *zero = constant_number(im->m, t, 0);

        *mask = NULL;
        if (!mask_read(im, n, t, &hidden))
                return false;
        if (hidden)
                *mask = compose_select(im->c, hidden, constant_number(im->m, t, a->filter), zero);
        if (a->causal && a->steps > 1) {
                const struct type *square = type_tensor(im->m, E_I64, 2, dims + 2);
                struct value *row =
                        compose_with(im->c, OP_add, build_iota(&im->b, square, 0), (double)a->past);
                struct value *ahead =
                        compose_binary(im->c, OP_lt, row, build_iota(&im->b, square, 1));
                ahead = compose_spread(im->c, ahead, t, (const int64_t[]){ 1, 2 });
                *mask = compose_select(im->c, ahead, constant_number(im->m, t, -(double)FLT_MAX),
                                       *mask ? *mask : zero);
        }
        if (!*mask)
                return !hidden && !(a->causal && a->steps > 1);
        *mask = compose_spread(im->c, *mask, type_tensor(im->m, E_F32, 4, dims),
                               (const int64_t[]){ 0, 2, 3 });
        return *mask != NULL;
}

/* keys and values, [batch, heads, keys, size] each, as they go into the next call */
static struct value *present(struct onnx_import *im, struct value *k, struct value *v,
                             enum element e)
{
        struct value *parts[2] = { k, v };
        dim_t dims[5] = { dim_of(1) };

        for (int i = 0; i < 2; i++) {
                for (int d = 0; d < 4; d++)
                        dims[d + 1] = dim_of(value_extent(parts[i], d));
                parts[i] = compose_reshape(im->c, compose_cast(im->c, parts[i], e), 5, dims);
                if (!parts[i])
                        return NULL;
        }
        return build_concat(&im->b, parts, 2, 0);
}

/* Operands input, weight, bias, input_scale, weight_scale, mask_index, input_zero_point,
 * weight_zero_point, past; results: output, present */
bool onnx_import_qattention(struct onnx_import *im, struct onnx_node *n)
{
        struct qattention a;
        struct value *mask;
        const int64_t keys[1] = { 3 }, turned[4] = { 0, 1, 3, 2 }, back[4] = { 0, 2, 1, 3 };

        if (!attributes_read(im, n, &a) || !operands_read(im, n, &a))
                return false;
        struct value *scale = compose_wide(im->c, onnx_scalar(im, n, 3));
        if (!scale || (onnx_input(n, 6) && !onnx_scalar(im, n, 6)) || !mask_of(im, n, &a, &mask))
                return false;
        struct value *x = onnx_centered_side(im, n, 0, 6, -1);
        struct value *y = onnx_matmul_to_float(im, n, x, scale, 1, 4, 7, 2);
        struct value *q = part_by_heads(im, &a, y, 0),
                     *k = behind_past(im, n, part_by_heads(im, &a, y, 1), 0),
                     *v = behind_past(im, n, part_by_heads(im, &a, y, 2), 1);
        if (!q || !k || !v || (onnx_wants(n, 1) && !onnx_output(n, 1, present(im, k, v, a.e))))
                return false;
        struct value *scores = compose_matmul(im->c, q, build_transpose(&im->b, k, turned));
        scores = compose_with(im->c, OP_mul, scores,
                              a.scale != 0 ? a.scale : 1 / sqrt((double)a.size));
        if (mask)
                scores = compose_binary(im->c, OP_add, scores, mask);
        struct value *shares = compose_softmax(im->c, scores, keys, 1, false);
        y = compose_matmul(im->c, shares, v);
        y = y ? build_transpose(&im->b, y, back) : NULL;
        y = compose_reshape(
                im->c, y, 3,
                (const dim_t[]){ dim_of(a.batch), dim_of(a.steps), dim_of(a.heads * a.size) });
        return onnx_output(n, 0, compose_cast(im->c, y, a.e));
}
