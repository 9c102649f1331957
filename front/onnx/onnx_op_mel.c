/* SPDX-License-Identifier: MIT */
/* MelWeightMatrix makes triangles over the bins of a spectrum, as many as bands of the mel
 * scale. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_fourier.h"

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
        struct compose_mel in = { .known = known[0] && known[1] };
        in.bands = onnx_scalar(im, n, 0);
        in.size = onnx_scalar(im, n, 1);
        in.rate = onnx_scalar(im, n, 2);
        in.low = onnx_scalar(im, n, 3);
        in.high = onnx_scalar(im, n, 4);
        return in.bands && in.size && in.rate && in.low && in.high &&
               onnx_output(n, 0, compose_mel_weights(im->c, &in, to, e));
}
