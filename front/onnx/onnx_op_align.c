/* SPDX-License-Identifier: MIT */
/* These com.microsoft operators align two sequences: BifurcationDetector, DynamicTimeWarping. The
 * length of a result is the one that the model declares, as for NonZero. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_align.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_sort.h"

/* The operand is costs [rows, columns], or these as one sample; the result is the path, i32 [2,
 * points]. */
bool onnx_import_dynamic_time_warping(struct onnx_import *im, struct onnx_node *n)
{
        struct value *costs = n->inputs[0];
        struct compose_path path;
        int64_t count;

        if (!onnx_want_element(im, n, 0, E_F32) || !onnx_want_rank(im, n, 0, 2, 3))
                return false;
        if (value_rank(costs) == 3 && value_extent(costs, 0) != 1)
                return onnx_invalid(im, n, "the costs are %s, want one matrix",
                                    compose_text(im->c, costs->type));
        if (!type_elements(costs->type))
                return onnx_invalid(im, n, "the costs are %s, want at least one",
                                    compose_text(im->c, costs->type));
        costs = compose_reshape(im->c, costs, 2, costs->type->dims + value_rank(costs) - 2);
        if (!costs || !compose_warp(im->c, costs, &path) ||
            !onnx_how_many(im, n, path.flags, E_I32, 2, 1, &count))
                return false;
        struct value *at = compose_positions(im->c, path.flags, count);
        struct value *points = at ? build_gather(&im->b, path.points, at, 1) : NULL;
        return onnx_output(n, 0, compose_cast(im->c, points, E_I32));
}

/* Returns the current tokens, and those of the prediction up to where it leaves the source. */
static struct value *merged_tokens(struct onnx_import *im, struct onnx_node *n)
{
        struct value *source = n->inputs[0], *items[2] = { n->inputs[1], onnx_input(n, 3) };
        const int64_t start = value_extent(source, 0) + 1 - value_extent(items[1], 0);
        int64_t stated, count;
        bool known;

        if (!onnx_operand_int(im, n, 2, 0, &stated, &known))
                return NULL;
        if (start < 0 || !value_extent(items[1], 0) || (known && stated != start)) {
                onnx_invalid(im, n, "the prediction is %s, for a source %s%s",
                             compose_text(im->c, items[1]->type), compose_text(im->c, source->type),
                             known ? " from where it says" : "");
                return NULL;
        }
        const dim_t length = items[0]->type->dims[0];
        struct value *flags[2] = { constant_number(im->m, type_tensor(im->m, E_BOOL, 1, &length),
                                                   1),
                                   compose_bifurcation(im->c, source, items[1], start) };
        struct value *tokens = compose_concat(im->c, items, 2, 0);
        struct value *kept = tokens && flags[1] ? compose_concat(im->c, flags, 2, 0) : NULL;
        if (!kept || !onnx_how_many(im, n, kept, E_I64, 1, 0, &count))
                return NULL;
        struct value *at = compose_positions(im->c, kept, count);
        return at ? build_gather(&im->b, tokens, at, 0) : NULL;
}

/* The operands are the tokens of a source, the current ones, where in the source the last call's
 * suffix ended, and a prediction; the results are the tokens with what was predicted right, and
 * where the suffix of these ends in the source. */
bool onnx_import_bifurcation_detector(struct onnx_import *im, struct onnx_node *n)
{
        int64_t least, most;

        for (int i = 0; i < 4; i++)
                if (!onnx_want_element(im, n, i, E_I64) ||
                    (i != 2 && !onnx_want_rank(im, n, i, 1, 1)))
                        return false;
        if (!onnx_int_range(im, n, "min_ngram_size", 1, 1, NUMBER_MAX, &least) ||
            !onnx_int_range(im, n, "max_ngram_size", 3, 1, NUMBER_MAX, &most))
                return false;
        if (least > most)
                return onnx_invalid(im, n, "n-grams of %lld to %lld tokens", (long long)least,
                                    (long long)most);
        struct value *previous = onnx_scalar(im, n, 2);
        struct value *tokens = previous && onnx_input(n, 3) ? merged_tokens(im, n) : n->inputs[1];
        if (!previous || !tokens)
                return false;
        onnx_output(n, 0, tokens);
        if (!onnx_wants(n, 1))
                return true;
        struct value *at = compose_suffix(im->c, n->inputs[0], tokens, least, most);
        return onnx_output(
                n, 1,
                compose_reshape(im->c, at, value_rank(n->inputs[2]), n->inputs[2]->type->dims));
}
