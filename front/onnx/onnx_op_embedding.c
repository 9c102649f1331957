/* SPDX-License-Identifier: MIT */
/* These com.microsoft operators of transformers stand around attention: EmbedLayerNormalization,
 * also quantized, and gates. */
#include <string.h>

#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_norm.h"

/* Returns a table of floats, or of bytes with a scale and a zero point, as floats. */
static struct value *real_of(struct onnx_import *im, const struct compose_quantized *q)
{
        return q->scale ? compose_real(im->c, q) : q->numbers;
}

/* Returns rows of a table by i32 or i64 numbers [batch, length]. */
static struct value *embedded(struct onnx_import *im, const struct compose_quantized *table,
                              struct value *ids)
{
        struct compose_quantized rows = *table;

        rows.numbers = build_gather(&im->b, table->numbers, compose_cast(im->c, ids, E_I64), 0);
        return rows.numbers ? real_of(im, &rows) : NULL;
}

/* Returns how many elements of each row of the mask are 1, or 0 without a mask. */
static struct value *mask_ends(struct onnx_import *im, struct value *mask, struct value *ids)
{
        const dim_t rows[1] = { ids->type->dims[0] };
        const int64_t along[1] = { 1 };

        if (!mask)
                return constant_number(im->m, type_tensor(im->m, value_element(ids), 1, rows), 0);
        return compose_reduce(im->c, REDUCE_sum, mask, along, 1, E_COMPUTE);
}

/* These are tables of words, positions and segments, and what their sum is normalized with. */
struct embedding {
        struct value *ids, *segments, *mask, *positions;
        struct compose_quantized words, places, kinds, gamma, beta;
};

/* Makes result 0, rows of the tables, added up and normalized; result 1, the mask's ends; and
 * result 2, the sum. */
static bool embed(struct onnx_import *im, struct onnx_node *n, const struct embedding *e)
{
        const struct value *words = e->words.numbers, *places = e->places.numbers,
                           *kinds = e->kinds.numbers;
        struct value *integers[4] = { e->ids, e->segments, e->mask, e->positions };
        struct value *tables[5] = { e->words.numbers, e->places.numbers, e->kinds.numbers,
                                    e->gamma.numbers, e->beta.numbers };
        struct compose_layer_norm l = { .axis = 2,
                                        .centered = true,
                                        .computed = E_F32,
                                        .stash = E_F32 };
        int64_t kind;

        if (!onnx_want_integer(im, n, 0) || !onnx_same_element(im, n, integers, 4) ||
            !onnx_want_rank(im, n, 0, 2, 2) || !onnx_want_rank(im, n, 2, 2, 2) ||
            !onnx_want_rank(im, n, 3, 2, 2) || !onnx_same_element(im, n, tables, 5) ||
            !onnx_float(im, n, "epsilon", 1e-12f, &l.epsilon) ||
            !onnx_int_range(im, n, "mask_index_type", e->mask != NULL, 0, 1, &kind))
                return false;
        if (!e->segments != !kinds)
                return onnx_invalid(im, n, "segment_ids and segment_embedding go together");
        const dim_t steps = e->ids->type->dims[1];
        if (value_extent(places, 1) != value_extent(words, 1) ||
            (kinds &&
             (value_rank(kinds) != 2 || value_extent(kinds, 1) != value_extent(words, 1))) ||
            (e->mask && e->mask->type != e->ids->type) ||
            (e->segments && e->segments->type != e->ids->type) ||
            (!e->positions && value_extent(places, 0) < dim_least(im->m, steps)))
                return onnx_invalid(im, n, "tables %s and %s do not fit ids %s",
                                    compose_text(im->c, words->type),
                                    compose_text(im->c, places->type),
                                    compose_text(im->c, e->ids->type));
        if (!e->positions && value_extent(places, 0) < dim_bound(im->m, steps))
                return onnx_unsupported(im, n, "up to %lld steps, where the table has %lld "
                                               "positions; --dim gives a lower bound",
                                        (long long)dim_bound(im->m, steps),
                                        (long long)value_extent(places, 0));
        struct compose_quantized rows = e->places;
        struct value *x = embedded(im, &e->words, e->ids), *at = NULL;
        if (e->positions)
                at = embedded(im, &rows, e->positions);
        else if ((rows.numbers = compose_span(im->c, rows.numbers, 0, 0, steps)))
                at = real_of(im, &rows);
        x = x && at ? compose_binary(im->c, OP_add, x, at) : NULL;
        struct value *more = kinds ? embedded(im, &e->kinds, e->segments) : NULL;
        x = more && x ? compose_binary(im->c, OP_add, x, more) : x;
        l.scale = real_of(im, &e->gamma);
        l.bias = l.scale ? real_of(im, &e->beta) : NULL;
        if (!x || (kinds && !more) || !l.bias)
                return false;
        onnx_output(n, 2, x);
        if (onnx_wants(n, 1) && !onnx_output(n, 1, mask_ends(im, e->mask, e->ids)))
                return false;
        struct value *y = compose_layer_norm(im->c, x, &l, NULL, NULL);
        return onnx_output(n, 0, compose_cast(im->c, y, value_element(x)));
}

/* The operands are input_ids, segment_ids, word_embedding, position_embedding, segment_embedding,
 * gamma, beta, mask, position_ids; the results are output, mask_index, embedding_sum. */
bool onnx_import_embed_layer_normalization(struct onnx_import *im, struct onnx_node *n)
{
        const struct embedding e = { .ids = n->inputs[0],
                                     .segments = onnx_input(n, 1),
                                     .mask = onnx_input(n, 7),
                                     .positions = onnx_input(n, 8),
                                     .words.numbers = onnx_input(n, 2),
                                     .places.numbers = onnx_input(n, 3),
                                     .kinds.numbers = onnx_input(n, 4),
                                     .gamma.numbers = onnx_input(n, 5),
                                     .beta.numbers = onnx_input(n, 6) };

        return onnx_want_inputs(im, n, 0x6d) && onnx_want_float(im, n, 2) && embed(im, n, &e);
}

/* Imports the same of 8 bits: behind the mask stand a scale for each table, then a zero point for
 * each. */
bool onnx_import_quantized_embedding(struct onnx_import *im, struct onnx_node *n)
{
        enum { TABLES = 5, SCALES = 8, ZEROS = SCALES + TABLES };
        struct embedding e = { .ids = n->inputs[0],
                               .segments = onnx_input(n, 1),
                               .mask = onnx_input(n, 7) };
        struct compose_quantized *const tables[TABLES] = { &e.words, &e.places, &e.kinds, &e.gamma,
                                                           &e.beta };

        if (!onnx_want_inputs(im, n, 0x1b6d) || !onnx_want_8_bit(im, n, 2))
                return false;
        for (int i = 0; i < TABLES; i++) {
                tables[i]->numbers = onnx_input(n, 2 + i);
                if (!tables[i]->numbers)
                        continue;
                if (!onnx_input(n, SCALES + i) || !onnx_want_element(im, n, SCALES + i, E_F32) ||
                    !(tables[i]->scale = onnx_scalar(im, n, SCALES + i)))
                        return onnx_invalid(im, n, "table %d has no scale", i);
                struct value *same[2] = { tables[i]->numbers, onnx_input(n, ZEROS + i) };
                if (same[1] && (!onnx_same_element(im, n, same, 2) ||
                                !(tables[i]->zero = onnx_scalar(im, n, ZEROS + i))))
                        return false;
        }
        return embed(im, n, &e);
}

/* ---- gates ---- */

/* Returns x * sigmoid(x), or sigmoid(x). */
static struct value *gate_of(struct onnx_import *im, struct value *x, bool by_itself)
{
        struct value *share = compose_unary(im->c, OP_sigmoid, x);
        return by_itself && share ? mul(im->c, x, share) : share;
}

/* The result is X + Y * gate, where the product is rounded. */
bool onnx_import_gated_add(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[2] = { n->inputs[1], n->inputs[2] };

        if (!onnx_want_float(im, n, 0) || !onnx_same_element(im, n, n->inputs, 3) ||
            !compose_broadcast(im->c, v, 2))
                return false;
        if (v[0]->type != n->inputs[0]->type)
                return onnx_invalid(im, n, "operands do not broadcast to the first");
        struct value *product = mul(im->c, v[0], v[1]);
        return onnx_output(n, 0, product ? add(im->c, n->inputs[0], product) : NULL);
}

/* The result is z * sigmoid(z) of z = scale * X, or alpha * X; z and the sigmoid are rounded. */
bool onnx_import_scaled_silu(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *factor = onnx_input(n, 1);
        const enum element e = value_element(x);
        float alpha;

        if (!onnx_want_float(im, n, 0) || !onnx_float(im, n, "alpha", 1, &alpha) ||
            (factor && !(factor = onnx_scalar(im, n, 1))))
                return false;
        struct value *z = compose_wide(im->c, x);
        z = factor ? compose_binary(im->c, OP_mul, z,
                                    compose_cast(im->c, factor, compose_wide_element(e)))
                   : times(im->c, z, alpha);
        z = compose_cast(im->c, z, e);
        return onnx_output(n, 0, gate_of(im, z, true));
}

/* The result is X / root mean square * scale * activation(gate), over as many elements as scale
 * has. */
bool onnx_import_gated_rms_norm(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const names[] = { "silu", "swish", "sigmoid", NULL };
        struct value *x = n->inputs[0], *scale = n->inputs[1];
        struct compose_layer_norm l = { .computed = E_F32, .stash = E_F32 };
        const int rank = value_rank(x);
        int activation;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 1, RANK_MAX - 1) ||
            !onnx_want_rank(im, n, 1, 1, 1) || !onnx_same_element(im, n, n->inputs, 3) ||
            !onnx_float(im, n, "epsilon", 1e-5f, &l.epsilon) ||
            !onnx_choice(im, n, "activation", names, 0, &activation))
                return false;
        const int64_t size = value_extent(scale, 0), last = value_extent(x, rank - 1);
        if (n->inputs[2]->type != x->type || size < 1 || last % size)
                return onnx_invalid(im, n, "an input %s, a scale %s and a gate %s do not fit",
                                    type_text(im->arena, im->m, x->type),
                                    type_text(im->arena, im->m, scale->type),
                                    type_text(im->arena, im->m, n->inputs[2]->type));
        dim_t dims[RANK_MAX];
        memcpy(dims, x->type->dims, (size_t)rank * sizeof *dims);
        dims[rank - 1] = dim_of(last / size);
        dims[rank] = dim_of(size);
        l.scale = compose_wide(im->c, scale);
        l.axis = rank;
        struct value *rows = compose_reshape(im->c, compose_wide(im->c, x), rank + 1, dims);
        struct value *y = rows && l.scale ? compose_layer_norm(im->c, rows, &l, NULL, NULL) : NULL;
        y = y ? compose_reshape(im->c, y, rank, x->type->dims) : NULL;
        struct value *gate = gate_of(im, compose_wide(im->c, n->inputs[2]), activation < 2);
        y = y && gate ? mul(im->c, y, gate) : NULL;
        return onnx_output(n, 0, compose_cast(im->c, y, value_element(x)));
}

/* The results are decay = decay_scale * softplus(a + dt_bias) and beta = sigmoid(b). */
bool onnx_import_linear_attention_gate(struct onnx_import *im, struct onnx_node *n)
{
        struct value *a = n->inputs[0], *b = onnx_input(n, 3);
        const enum element e = value_element(a);

        if (!onnx_want_float(im, n, 0) || !onnx_want_float(im, n, 1) ||
            !onnx_want_float(im, n, 2) || (b && !onnx_want_float(im, n, 3)))
                return false;
        struct value *x[3] = { compose_wide(im->c, a), compose_wide(im->c, n->inputs[1]),
                               compose_wide(im->c, n->inputs[2]) };
        if (!x[0] || !x[1] || !x[2] || !compose_broadcast(im->c, x, 3))
                return false;
        struct value *decay = compose_unary(im->c, OP_softplus, add(im->c, x[0], x[1]));
        decay = decay ? mul(im->c, x[2], decay) : NULL;
        if (!onnx_output(n, 0, compose_cast(im->c, decay, e)))
                return false;
        if (!onnx_wants(n, 1))
                return true;
        if (!b)
                return onnx_invalid(im, n, "beta is wanted without b");
        struct value *beta = compose_unary(im->c, OP_sigmoid, compose_wide(im->c, b));
        return onnx_output(n, 1, compose_cast(im->c, beta, e));
}
