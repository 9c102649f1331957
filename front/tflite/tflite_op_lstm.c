/* SPDX-License-Identifier: MIT */
/* UNIDIRECTIONAL_SEQUENCE_LSTM, whose variables are h and c. */
#include "front/tflite/tflite_helpers.h"

#include <math.h>

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_lstm.h"

/* These are the numbers of operands; those of the four parts follow each other in the order of enum
 * compose_lstm_part. */
enum {
        LSTM_X = 0,
        LSTM_W = 1,
        LSTM_R = 5,
        LSTM_PEEPHOLE = 9,
        LSTM_BIAS = 12,
        LSTM_PROJECTION = 16,
        LSTM_H = 18,
        LSTM_C = 19,
        LSTM_NORM = 20
};

/* Lists what is not supported: of integers the plain LSTM is. */
static bool check_kind(struct tflite_import *im, const struct tflite_node *n)
{
        static const struct {
                int first, count;
                const char *what;
        } kinds[] = {
                { LSTM_PEEPHOLE, 3, "peephole weights of integers" },
                { LSTM_PROJECTION, 2, "a projection of integers" },
                { LSTM_NORM, 4, "layer normalization of integers" },
        };
        const bool integer = !tflite_is_float(n->inputs[LSTM_X]);
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds && integer; k++)
                for (int i = 0; i < kinds[k].count; i++)
                        if (tflite_tensor(n, kinds[k].first + i))
                                return tflite_unsupported(im, "%s", kinds[k].what);
        if (TFLITE_OPTIONS(n, UnidirectionalSequenceLSTMOptions)->fused != FUSED_TANH)
                return tflite_unsupported(im, "another activation than tanh");
        for (int i = 0; i < LSTM_PARTS; i++)
                if (!tflite_tensor(n, LSTM_BIAS + i) && (i || tflite_tensor(n, LSTM_W)))
                        return tflite_invalid(im, "operand %d, a bias, is missing", LSTM_BIAS + i);
        return true;
}

/* Returns the number of the operand that is the peephole weights of a gate. */
static int peephole_of(int part) { return LSTM_PEEPHOLE + (part == LSTM_PART_OUTPUT ? 2 : part); }

/* Checks that operand i, where it is there, has one number for each cell, or each output. */
static bool check_vector(struct tflite_import *im, const struct tflite_node *n, int i,
                         int64_t count)
{
        const struct value *v = tflite_input(n, i);
        return !v || (value_rank(v) == 1 && value_extent(v, 0) == count) ||
               tflite_invalid(im, "operand %d is %s, want %lld numbers", i,
                              compose_text(im->c, v->type), (long long)count);
}

/* Checks shapes, by those of the states. */
static bool check_shapes(struct tflite_import *im, const struct tflite_node *n)
{
        if (!tflite_want_rank(im, n, LSTM_X, 3) || !tflite_want_rank(im, n, LSTM_H, 2) ||
            !tflite_want_rank(im, n, LSTM_C, 2))
                return false;
        const int64_t inputs = value_extent(n->inputs[LSTM_X]->value, 2),
                      cells = value_extent(n->inputs[LSTM_C]->value, 1),
                      outputs = value_extent(n->inputs[LSTM_H]->value, 1);
        const bool time_major = TFLITE_OPTIONS(n, UnidirectionalSequenceLSTMOptions)->time_major;
        const int64_t batch = value_extent(n->inputs[LSTM_X]->value, time_major);
        const struct value *projection = tflite_input(n, LSTM_PROJECTION);
        if (value_extent(n->inputs[LSTM_H]->value, 0) != batch ||
            value_extent(n->inputs[LSTM_C]->value, 0) != batch)
                return tflite_invalid(im, "the states are not of %lld sequences, as the input is",
                                      (long long)batch);
        for (int k = 0; k < LSTM_PARTS; k++) {
                const struct value *w = tflite_input(n, LSTM_W + k),
                                   *r = tflite_input(n, LSTM_R + k);
                if (!w && !r && !k)
                        continue;
                if (!w || !r || value_rank(w) != 2 || value_rank(r) != 2 ||
                    value_extent(w, 0) != cells || value_extent(w, 1) != inputs ||
                    value_extent(r, 0) != cells || value_extent(r, 1) != outputs)
                        return tflite_invalid(im,
                                              "the weights of part %d are not of %lld cells, "
                                              "%lld inputs and %lld outputs",
                                              k, (long long)cells, (long long)inputs,
                                              (long long)outputs);
                if (!check_vector(im, n, LSTM_BIAS + k, cells) ||
                    (k != LSTM_PART_CELL && !check_vector(im, n, peephole_of(k), cells)) ||
                    !check_vector(im, n, LSTM_NORM + k, cells))
                        return false;
        }
        if (projection && (value_rank(projection) != 2 || value_extent(projection, 0) != outputs ||
                           value_extent(projection, 1) != cells))
                return tflite_invalid(im, "the projection is not of %lld cells and %lld outputs",
                                      (long long)cells, (long long)outputs);
        return check_vector(im, n, LSTM_PROJECTION + 1, outputs) &&
               (projection || outputs == cells ||
                tflite_invalid(im, "the output state has not %lld elements", (long long)cells));
}

/* Reads what an LSTM of integers has beside its tensors. */
static bool read_integers(struct tflite_import *im, struct tflite_node *n, struct compose_lstm *l)
{
        enum { HIDDEN = 4, POWER_MOST = -9 };
        const double fraction = 1.0 / 4096, half = 1.0 / 32768;
        float x, h, c, hidden;
        int64_t zero;
        if (n->intermediate_count <= HIDDEN || !n->intermediates[HIDDEN])
                return tflite_invalid(im, "%d intermediates, want 5", n->intermediate_count);
        if (!tflite_affine(im, n->inputs[LSTM_X], &x, &zero) ||
            !tflite_affine(im, n->inputs[LSTM_C], &c, &zero) ||
            !tflite_affine(im, n->inputs[LSTM_H], &h, &l->h_zero) ||
            !tflite_affine(im, n->intermediates[HIDDEN], &hidden, &l->hidden_zero))
                return false;
        l->cell_power = (int)roundf(log2f(c));
        if (fabsf(log2f(c) - (float)l->cell_power) > 1e-3f || l->cell_power > POWER_MOST ||
            l->cell_power < -15)
                return tflite_unsupported(im, "a cell state of scale %g", (double)c);
        for (int k = 0; k < LSTM_PARTS; k++) {
                float w, r;
                if (!l->gates[k].w)
                        continue;
                if (!tflite_affine(im, n->inputs[LSTM_W + k], &w, &zero) ||
                    !tflite_affine(im, n->inputs[LSTM_R + k], &r, &zero))
                        return false;
                const float of_x = w * x, of_h = r * h;
                const float by_x = of_x / (float)fraction, by_h = of_h / (float)fraction;
                l->gates[k].by_x = compose_multiplier_of((double)by_x);
                l->gates[k].by_h = compose_multiplier_of((double)by_h);
        }
        const float by_hidden = (float)(half / (double)hidden * half);
        l->hidden = compose_multiplier_of((double)by_hidden);
        l->most = (int64_t)fmin(l->clip / (double)c, INT16_MAX);
        l->x = tflite_centered(im, n->inputs[LSTM_X]);
        return l->x != NULL;
}

/* Returns x with the batch behind the steps, or back. */
static struct value *exchanged(struct tflite_import *im, struct value *x)
{
        return x ? compose_transpose(im->c, x, (const int64_t[]){ 1, 0, 2 }) : NULL;
}

bool tflite_import_lstm(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_UnidirectionalSequenceLSTMOptions *o =
                TFLITE_OPTIONS(n, UnidirectionalSequenceLSTMOptions);
        struct compose_lstm l = { .x = n->inputs[LSTM_X]->value,
                                  .h = n->inputs[LSTM_H] ? n->inputs[LSTM_H]->value : NULL,
                                  .c = n->inputs[LSTM_C] ? n->inputs[LSTM_C]->value : NULL,
                                  .clip = (double)o->cell_clip,
                                  .h_clip = (double)o->proj_clip,
                                  .projection = tflite_input(n, LSTM_PROJECTION),
                                  .projection_bias = tflite_input(n, LSTM_PROJECTION + 1),
                                  .integer = !tflite_is_float(n->inputs[LSTM_X]) };
        if (!l.h || !l.c)
                return tflite_invalid(im, "a state is missing");
        if (!check_kind(im, n) || !check_shapes(im, n))
                return false;
        const enum element weights = l.integer ? E_I8 : E_F32;
        for (int k = 0; k < LSTM_PARTS; k++) {
                struct compose_lstm_gate *g = &l.gates[k];
                *g = (struct compose_lstm_gate){ .w = tflite_input(n, LSTM_W + k),
                                                 .r = tflite_input(n, LSTM_R + k),
                                                 .bias = tflite_input(n, LSTM_BIAS + k),
                                                 .norm = tflite_input(n, LSTM_NORM + k) };
                if (k != LSTM_PART_CELL)
                        g->peephole = tflite_input(n, peephole_of(k));
                if (g->w && (value_element(g->w) != weights || value_element(g->r) != weights))
                        return tflite_no_element(im, n, LSTM_W + k);
        }
        for (int i = 0; i < n->input_count && !l.integer; i++)
                if (tflite_input(n, i) && value_element(tflite_input(n, i)) != E_F32)
                        return tflite_no_element(im, n, i);
        if (l.integer && (n->inputs[LSTM_X]->type->element != E_I8 || value_element(l.h) != E_I8 ||
                          value_element(l.c) != E_I16))
                return tflite_no_element(im, n, LSTM_X);
        if (l.integer && !read_integers(im, n, &l))
                return false;
        if (!o->time_major)
                l.x = exchanged(im, l.x);
        struct value *h, *c, *y = l.x ? compose_lstm(im->c, &l, &h, &c) : NULL;
        if (!y)
                return false;
        n->inputs[LSTM_H]->value = h;
        n->inputs[LSTM_C]->value = c;
        return tflite_output(im, n, 0, o->time_major ? y : exchanged(im, y));
}
