/* SPDX-License-Identifier: MIT */
/* This file imports the com.microsoft operators on packed sequences, which lie one behind the other
 * as rows of a matrix: VarlenCausalConvWithState. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_packed.h"

enum { CAPTURES_MAX = 8 };              /* It is the most that state_update_capacity may be, as the
                                         * operators' texts say. */

bool onnx_captures_read(struct onnx_import *im, struct onnx_node *n, int i, int64_t sequences,
                        int64_t *capacity, struct value **counts)
{
        *counts = NULL;
        if (!onnx_int_range(im, n, "state_update_capacity", 0, 0, CAPTURES_MAX, capacity) ||
            !onnx_want_element(im, n, i, E_I32) || !onnx_want_rank(im, n, i, 1, 1))
                return false;
        struct value *given = onnx_input(n, i);
        if ((*capacity != 0) != (given != NULL))
                return onnx_invalid(im, n, "a capacity of %lld %s counts of what is captured",
                                    (long long)*capacity, given ? "with" : "without");
        if (!given)
                return true;
        if (value_extent(given, 0) != sequences)
                return onnx_invalid(im, n, "%lld counts for %lld sequences",
                                    (long long)value_extent(given, 0), (long long)sequences);
        *counts = compose_cast(im->c, given, E_I64);
        return *counts != NULL;
}

bool onnx_packed_read(struct onnx_import *im, struct onnx_node *n, int i, int64_t rows,
                      struct compose_packed *p)
{
        return onnx_want_element(im, n, i, E_I32) && onnx_want_rank(im, n, i, 1, 1) &&
               (value_extent(n->inputs[i], 0) > 1 && rows > 0
                        ? compose_packed_read(im->c, n->inputs[i], rows, p)
                        : onnx_invalid(im, n, "no sequence"));
}

/* The operands are input [rows, channels], weight [channels, 1, kernel], limits, bias, state
 * [sequences, channels, (kernel - 1) * dilation], counts. The results are the convolution of each
 * channel by itself over the state and a sequence behind it; then the states at the ends, and the
 * rows that made them. */
bool onnx_import_packed_causal_conv(struct onnx_import *im, struct onnx_node *n)
{
        static const int64_t swap[3] = { 0, 2, 1 };
        struct value *x = n->inputs[0], *w = n->inputs[1], *state = onnx_input(n, 4), *y = NULL;
        struct value *same[4] = { x, w, onnx_input(n, 3), state }, *counts;
        struct compose_packed p;
        int64_t dilation, capacity;
        bool silu;

        if (!onnx_want_float(im, n, 0) || !onnx_same_element(im, n, same, 4) ||
            !onnx_want_rank(im, n, 0, 2, 2) || !onnx_want_rank(im, n, 1, 3, 3) ||
            !onnx_want_rank(im, n, 3, 1, 1) || !onnx_want_inputs(im, n, 1u << 4) ||
            !onnx_want_rank(im, n, 4, 3, 3) ||
            !onnx_silu(im, n, &silu) ||
            !onnx_int_range(im, n, "dilation", 1, 1, NUMBER_MAX, &dilation) ||
            !onnx_packed_read(im, n, 2, value_extent(x, 0), &p) ||
            !onnx_captures_read(im, n, 5, p.sequences, &capacity, &counts))
                return false;
        if (onnx_input(n, 6) || onnx_input(n, 7) || onnx_has(n, "group_size") ||
            onnx_has(n, "delta_offset"))
                return onnx_unsupported(im, n, "coefficients that change with the row");
        const int64_t channels = value_extent(x, 1), kernel = value_extent(w, 2);
        if (value_extent(w, 0) != channels || value_extent(w, 1) != 1 || kernel < 2 ||
            kernel > im->c->limits->unrolled_steps || value_extent(state, 0) != p.sequences ||
            value_extent(state, 1) != channels ||
            value_extent(state, 2) != (kernel - 1) * dilation ||
            (same[2] && value_extent(same[2], 0) != channels))
                return onnx_invalid(im, n, "weights %s and a state %s for rows %s",
                                    compose_text(im->c, w->type), compose_text(im->c, state->type),
                                    compose_text(im->c, x->type));
        struct value *past = compose_transpose(im->c, state, swap);
        for (int64_t tap = 0; tap < kernel; tap++) {
                struct value *rows =
                        compose_packed_before(im->c, &p, x, past, (kernel - 1 - tap) * dilation);
                struct value *factors = compose_pick(im->c, compose_pick(im->c, w, 2, tap), 1, 0);
                rows = compose_wide(im->c, rows);
                struct value *term = mul(im->c, rows, compose_wide(im->c, factors));
                y = y ? add(im->c, y, term) : term;
        }
        y = same[2] ? add(im->c, y, compose_wide(im->c, same[2])) : y;
        if (silu)
                y = mul(im->c, y, compose_unary(im->c, OP_sigmoid, y));
        if (!onnx_output(n, 0, compose_cast(im->c, y, value_element(x))))
                return false;
        struct value *end = compose_packed_append(im->c, &p, x, past, p.lengths);
        return onnx_output(n, 1, compose_transpose(im->c, end, swap)) &&
               (!onnx_wants(n, 2) ||
                (capacity ? onnx_output(n, 2, compose_packed_apart(im->c, &p, x, counts, capacity))
                          : onnx_unsupported(im, n, "states to capture, with a capacity of 0")));
}
