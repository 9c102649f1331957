/* SPDX-License-Identifier: MIT */
/* SparseAttention of com.microsoft is grouped attention over a cache, of which heads see some
 * blocks. */
#include <math.h>

#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_attention.h"

/* Returns which blocks the blocks of queries see, given as rows of column numbers in compressed
 * form, as 0 or -inf, f32 [layouts, blocks, blocks]. */
static struct value *pattern_read(struct onnx_import *im, struct onnx_node *n)
{
        const struct value *starts = n->inputs[5], *columns = n->inputs[6];

        if (!onnx_want_integer(im, n, 5) || !onnx_want_integer(im, n, 6) ||
            !onnx_want_rank(im, n, 5, 2, 2) || !onnx_want_rank(im, n, 6, 2, 2))
                return NULL;
        if (!value_is_constant(starts) || !value_is_constant(columns)) {
                onnx_unsupported(im, n, "blocks that only a run knows");
                return NULL;
        }
        const int64_t layouts = value_extent(starts, 0), most = value_extent(columns, 1);
        const int64_t blocks = value_extent(starts, 1) - 1;
        const dim_t dims[3] = { dim_of(layouts), dim_of(blocks), dim_of(blocks) };
        if (layouts < 1 || blocks < 1 || value_extent(columns, 0) != layouts) {
                onnx_invalid(im, n, "rows %s of columns %s", compose_text(im->c, starts->type),
                             compose_text(im->c, columns->type));
                return NULL;
        }
        const struct type *t = compose_type(im->c, E_F32, 3, dims);
        if (!t)
                return NULL;
        const int64_t count = type_elements(t);
        float *hidden = constant_room(im->m, (size_t)count * sizeof *hidden);
        for (int64_t i = 0; i < count; i++)
                hidden[i] = -INFINITY;
        for (int64_t row = 0; row < layouts * blocks; row++) {
                const int64_t layout = row / blocks, at = row + layout;
                const int64_t first = constant_element(starts->constant, at).i;
                const int64_t end = constant_element(starts->constant, at + 1).i;
                for (int64_t i = first; i < end; i++) {
                        const bool within = first >= 0 && end <= most;
                        const int64_t column =
                                within ? constant_element(columns->constant, layout * most + i).i
                                       : -1;
                        if (column < 0 || column >= blocks) {
                                onnx_invalid(im, n, "a row sees a block %lld of %lld",
                                             (long long)column, (long long)blocks);
                                return NULL;
                        }
                        hidden[row * blocks + column] = 0;
                }
        }
        return constant_dense(im->m, t, hidden, NULL);
}

/* Returns whether the keys of all sequences are known to be as many. No text says what onnxruntime
 * means by other batches. */
static bool lengths_are_equal(const struct value *lengths)
{
        const int64_t count = type_elements(lengths->type);

        for (int64_t i = 1; i < count; i++)
                if (!value_is_constant(lengths) || constant_element(lengths->constant, i).i !=
                                                           constant_element(lengths->constant, 0).i)
                        return false;
        return true;
}

/* The operands are query, key, value, past_key, past_value, block_row_indices, block_col_indices,
 * total_sequence_length, key_total_sequence_lengths, cos_cache, sin_cache. */
bool onnx_import_sparse_attention(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_grouped_attention a = { .q = n->inputs[0],
                                               .k = onnx_input(n, 1),
                                               .v = onnx_input(n, 2),
                                               .past_k = onnx_input(n, 3),
                                               .past_v = onnx_input(n, 4),
                                               .causal = true };
        struct value *same[7] = { a.q, a.k, a.v, a.past_k, a.past_v, onnx_input(n, 9),
                                  onnx_input(n, 10) };
        struct compose_attended result = { .y = NULL };
        int64_t rotary, interleaved;
        float scale;

        if (!onnx_want_inputs(im, n, 1u << 0 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 8) ||
            !onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 3, 3) ||
            !onnx_want_rank(im, n, 3, 4, 4) || !onnx_want_integer(im, n, 8) ||
            !onnx_want_rank(im, n, 9, 2, 2) || !onnx_want_rank(im, n, 10, 2, 2) ||
            !onnx_same_element(im, n, same, 7) ||
            !onnx_int_required(im, n, "num_heads", &a.heads) ||
            !onnx_int_range(im, n, "num_heads", 0, 1, NUMBER_MAX, &a.heads) ||
            !onnx_int_required(im, n, "kv_num_heads", &a.groups) ||
            !onnx_int_range(im, n, "kv_num_heads", 0, 1, NUMBER_MAX, &a.groups) ||
            !onnx_int_required(im, n, "sparse_block_size", &a.pattern_block) ||
            !onnx_int_range(im, n, "sparse_block_size", 0, 1, NUMBER_MAX, &a.pattern_block) ||
            !onnx_int_range(im, n, "do_rotary", 0, 0, 1, &rotary) ||
            !onnx_int_range(im, n, "rotary_interleaved", 0, 0, 1, &interleaved) ||
            !onnx_float(im, n, "scale", 0, &scale) || !(a.pattern = pattern_read(im, n)))
                return false;
        if (!lengths_are_equal(n->inputs[8]))
                return onnx_unsupported(im, n, "sequences whose lengths only a run knows");
        if (rotary && (!same[5] || !same[6]))
                return onnx_invalid(im, n, "do_rotary without cos_cache and sin_cache");
        a.keys = value_extent(a.past_k, 2);
        if (a.keys > value_extent(a.pattern, 1) * a.pattern_block)
                return onnx_invalid(im, n, "blocks %s of %lld for a cache of %lld",
                                    compose_text(im->c, a.pattern->type),
                                    (long long)a.pattern_block, (long long)a.keys);
        a.cosine = rotary ? same[5] : NULL;
        a.sine = rotary ? same[6] : NULL;
        a.interleaved = interleaved;
        a.scale = scale;
        a.last = compose_with(im->c, OP_sub, n->inputs[8], 1);
        if (!a.last || !compose_grouped_attention(im->c, &a, &result))
                return false;
        onnx_output(n, 1, result.k);
        onnx_output(n, 2, result.v);
        return onnx_output(n, 0, result.y);
}
