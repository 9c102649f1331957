/* SPDX-License-Identifier: MIT */
/* MelWeightMatrix makes triangles over the bins of a spectrum, as many as bands of the mel
 * scale. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"

static const double mel_factor = 2595, mel_hertz = 700, ln10 = 2.302585092994045684;

static struct value *mel_of(struct onnx_import *im, struct value *hertz)
{
        struct value *at =
                plus(im->c,
                     compose_with(im->c, OP_div, compose_cast(im->c, hertz, E_F64), mel_hertz), 1);

        return times(im->c, compose_unary(im->c, OP_log, at), mel_factor / ln10);
}

/* Returns where the bands begin, <bands + 2 x f64>, in whole bins of the spectrum. Each has its
 * peak at the beginning of the next and ends at that after it. */
static struct value *edges(struct onnx_import *im, const struct onnx_node *n, int64_t bands)
{
        struct value *size = onnx_scalar(im, n, 1), *rate = size ? onnx_scalar(im, n, 2) : NULL,
                     *low = rate ? onnx_scalar(im, n, 3) : NULL,
                     *high = low ? onnx_scalar(im, n, 4) : NULL;

        if (!high)
                return NULL;
        low = mel_of(im, low);
        struct value *band =
                compose_with(im->c, OP_div, sub(im->c, mel_of(im, high), low), (double)bands + 2);
        struct value *mel =
                add(im->c, mul(im->c, compose_iota(im->c, E_F64, bands + 2), band), low);
        struct value *hertz = compose_unary(im->c, OP_exp, times(im->c, mel, ln10 / mel_factor));
        hertz = times(im->c, plus(im->c, hertz, -1), mel_hertz);
        struct value *bins = mul(im->c, hertz, plus(im->c, compose_cast(im->c, size, E_F64), 1));
        return compose_unary(im->c, OP_floor,
                             divide(im->c, bins, compose_cast(im->c, rate, E_F64)));
}

/* Returns edge number k of each band, over <bins x bands>. */
static struct value *edge(struct onnx_import *im, struct value *all, struct value *shift,
                          const struct type *to, int k)
{
        struct value *at = compose_iota(im->c, E_I64, type_extent(to, 1));

        at = plus(im->c, shift ? add(im->c, at, shift) : at, k);
        return at && all ? compose_spread(im->c, build_gather(&im->b, all, at, 0), to,
                                          (const int64_t[]){ 1 })
                         : NULL;
}

/* Returns 0 where run-time sizes are those of the result; else what leads outside of the edges. */
static struct value *contradiction(struct onnx_import *im, const struct onnx_node *n,
                                   const struct type *to)
{
        struct value *bands = compose_cast(im->c, onnx_scalar(im, n, 0), E_I64),
                     *size = compose_cast(im->c, onnx_scalar(im, n, 1), E_I64);
        struct value *fits = compose_with(im->c, OP_eq, bands, (double)type_extent(to, 1));

        fits = compose_binary(
                im->c, OP_and, fits,
                compose_with(im->c, OP_ge, size, 2 * ((double)type_extent(to, 0) - 1)));
        fits = compose_binary(im->c, OP_and, fits,
                              compose_with(im->c, OP_lt, size, 2 * (double)type_extent(to, 0)));
        return compose_select(im->c, fits, compose_integer(im->c, E_I64, 0),
                              compose_integer(im->c, E_I64, type_extent(to, 1) + 2));
}

/* The operands are num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz. */
bool onnx_import_mel_weight_matrix(struct onnx_import *im, struct onnx_node *n)
{
        int64_t number, bands, size;
        bool known[2];
        enum element e;

        if (!onnx_int(im, n, "output_datatype", 1, &number) ||
            !onnx_element_number(im, n, "output_datatype", number, &e) ||
            !onnx_want_integer(im, n, 0) || !onnx_want_integer(im, n, 1) ||
            !onnx_want_integer(im, n, 2) || !onnx_want_float(im, n, 3) ||
            !onnx_want_float(im, n, 4) || !onnx_operand_int(im, n, 0, 0, &bands, &known[0]) ||
            !onnx_operand_int(im, n, 1, 0, &size, &known[1]))
                return false;
        if (!element_is_float(e) && !element_is_integer(e))
                return onnx_invalid(im, n, "output_datatype is %s, want a number",
                                    element_info[e].text);
        if ((known[0] && (bands < 0 || bands > NUMBER_MAX)) ||
            (known[1] && (size < 0 || size > NUMBER_MAX)))
                return onnx_invalid(im, n, "%lld bands of a transform of %lld", (long long)bands,
                                    (long long)size);
        const struct type *to =
                known[0] && known[1]
                        ? compose_type(im->c, E_F64, 2,
                                       (const dim_t[]){ dim_of(size / 2 + 1), dim_of(bands) })
                        : onnx_declared_as(im, n, 0, e, 2);
        if (!to)
                return false;
        to = type_with_element(im->m, to, E_F64);
        struct value *shift = known[0] && known[1] ? NULL : contradiction(im, n, to);
        struct value *all = edges(im, n, type_extent(to, 1));
        struct value *left = edge(im, all, shift, to, 0), *peak = edge(im, all, shift, to, 1),
                     *right = edge(im, all, shift, to, 2);
        struct value *at = build_iota(&im->b, to, 0), *none = at ? build_like(&im->b, at, 0) : NULL;
        /* A band that begins at its peak has no rising side. */
        struct value *up = sub(im->c, at, left);
        up = divide(im->c, up, sub(im->c, peak, left));
        struct value *alone = compose_binary(im->c, OP_eq, left, peak);
        up = compose_select(im->c, alone, compose_from(im->c, OP_add, 1, none), up);
        struct value *rising = compose_binary(im->c, OP_ge, at, left);
        rising = compose_binary(im->c, OP_and, rising, compose_binary(im->c, OP_le, at, peak));
        struct value *falling = compose_binary(im->c, OP_ge, at, peak);
        falling = compose_binary(im->c, OP_and, falling, compose_binary(im->c, OP_lt, at, right));
        struct value *down = sub(im->c, right, at);
        down = divide(im->c, down, sub(im->c, right, peak));
        struct value *y =
                compose_select(im->c, falling, down, compose_select(im->c, rising, up, none));
        return onnx_output(n, 0, compose_cast(im->c, y, e));
}
