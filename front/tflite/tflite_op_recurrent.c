/* SPDX-License-Identifier: MIT */
/* Operators with variables, which are state: SVDF and the LSTM. */
#include "front/tflite/tflite_helpers.h"

#include <string.h>

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

/* ---- SVDF: rows of a memory of features, weighted in time ---- */

struct svdf {
        struct tflite_tensor *x, *feature, *time, *bias, *state, *y;
        int64_t batch, filters, memory, units, rank;
};

static bool svdf_read(struct tflite_import *im, struct tflite_node *n, struct svdf *s)
{
        *s = (struct svdf){ .x = n->inputs[0],
                            .feature = n->inputs[1],
                            .time = n->inputs[2],
                            .bias = tflite_tensor(n, 3),
                            .state = n->inputs[4],
                            .y = n->outputs[0] };
        s->rank = TFLITE_OPTIONS(n, SVDFOptions)->rank;
        if (!tflite_want_rank(im, n, 0, 2) || !tflite_want_rank(im, n, 1, 2) ||
            !tflite_want_rank(im, n, 2, 2) || !tflite_want_rank(im, n, 4, 2))
                return false;
        s->batch = value_extent(s->x->value, 0);
        s->filters = value_extent(s->feature->value, 0);
        s->memory = value_extent(s->time->value, 1);
        if (s->rank < 1 || s->filters % s->rank || s->memory < 1 ||
            value_extent(s->time->value, 0) != s->filters ||
            value_extent(s->feature->value, 1) != value_extent(s->x->value, 1) ||
            value_extent(s->state->value, 0) != s->batch ||
            value_extent(s->state->value, 1) != s->filters * s->memory)
                return tflite_invalid(im,
                                      "an input %s, features %s, time %s, state %s and rank "
                                      "%lld do not fit each other",
                                      compose_text(im->c, s->x->value->type),
                                      compose_text(im->c, s->feature->value->type),
                                      compose_text(im->c, s->time->value->type),
                                      compose_text(im->c, s->state->value->type),
                                      (long long)s->rank);
        s->units = s->filters / s->rank;
        return true;
}

/* Puts the newest features, [batch, filters], at the end of the memory, and returns it as [batch,
 * filters, memory]; the state becomes what the next run begins with. */
static struct value *remember(struct tflite_import *im, struct svdf *s, struct value *newest)
{
        struct compose *c = im->c;
        const dim_t dims[3] = { dim_of(s->batch), dim_of(s->filters), dim_of(s->memory) };
        const dim_t last[3] = { dims[0], dims[1], dim_of(1) };
        const dim_t flat[2] = { dims[0], dim_of(s->filters * s->memory) };
        struct value *past = compose_reshape(c, s->state->value, 3, dims), *now = NULL;
        newest = compose_reshape(c, newest, 3, last);
        if (!past || !newest)
                return NULL;
        if (s->memory == 1) {
                now = newest;
        } else {
                past = compose_part(c, past, 2, 0, s->memory - 1);
                now = past ? compose_concat(c, (struct value *[]){ past, newest }, 2, 2) : NULL;
        }
        if (!now)
                return NULL;
        struct value *zeros =
                constant_number(im->m, type_tensor(im->m, value_element(now), 3, last), 0);
        struct value *next = zeros;
        if (s->memory > 1) {
                struct value *rest = compose_part(c, now, 2, 1, s->memory - 1);
                next = rest ? compose_concat(c, (struct value *[]){ rest, zeros }, 2, 2) : NULL;
        }
        s->state->value = compose_reshape(c, next, 2, flat);
        return s->state->value ? now : NULL;
}

/* Returns the memory times the weights in time, summed up over it and the filters of a unit. */
static struct value *in_time(struct tflite_import *im, const struct svdf *s, struct value *now,
                             struct value *time)
{
        struct compose *c = im->c;
        const int64_t memory[1] = { 2 };
        const dim_t grouped[3] = { dim_of(s->batch), dim_of(s->units), dim_of(s->rank) };
        struct value *product =
                mul(c, now, compose_spread(c, time, now->type, (const int64_t[]){ 1, 2 }));
        struct value *sum = compose_reduce(c, REDUCE_sum, product, memory, 1, E_COMPUTE);
        sum = compose_reshape(c, sum, 3, grouped);
        sum = compose_reduce(c, REDUCE_sum, sum, memory, 1, E_COMPUTE);
        return compose_with_bias(c, sum, s->bias ? s->bias->value : NULL);
}

static struct value *svdf_float(struct tflite_import *im, struct svdf *s)
{
        struct value *newest =
                compose_dot(im->c, s->x->value, s->feature->value, 0, 1, 1, E_COMPUTE);
        struct value *now = newest ? remember(im, s, newest) : NULL;
        return now ? in_time(im, s, now, s->time->value) : NULL;
}

static struct value *svdf_quantized(struct tflite_import *im, struct svdf *s)
{
        struct compose *c = im->c;
        float scale[5];
        int64_t zero[5];
        const struct tflite_tensor *all[5] = { s->x, s->feature, s->state, s->time, s->y };
        for (int i = 0; i < 5; i++)
                if (!tflite_affine(im, all[i], &scale[i], &zero[i]))
                        return NULL;
        const float first = scale[0] * scale[1], second = scale[2] * scale[3];
        const float to_state = first / scale[2], to_result = second / scale[4];
        const struct compose_multiplier m1 = compose_multiplier_of((double)to_state),
                                        m2 = compose_multiplier_of((double)to_result);
        struct value *x = tflite_centered(im, s->x), *w = compose_cast(c, s->feature->value, E_I32);
        struct value *sum = x && w ? compose_dot(c, x, w, 0, 1, 1, E_I32) : NULL;
        struct value *newest = compose_rescale(
                c, sum,
                &(struct compose_rescale){ { &m1, 1, 0 }, 0, INT16_MIN, INT16_MAX, E_I16, false });
        struct value *now = newest ? remember(im, s, newest) : NULL;
        struct value *time = compose_cast(c, s->time->value, E_I32);
        sum = now && time ? in_time(im, s, compose_cast(c, now, E_I32), time) : NULL;
        return compose_rescale(c, sum,
                               &(struct compose_rescale){
                                       { &m2, 1, 0 }, zero[4], INT8_MIN, INT8_MAX, E_I8, false });
}

bool tflite_import_svdf(struct tflite_import *im, struct tflite_node *n)
{
        const int64_t fused = TFLITE_OPTIONS(n, SVDFOptions)->fused;
        struct svdf s;
        if (!svdf_read(im, n, &s))
                return false;
        if (tflite_is_float(s.x) && tflite_is_float(s.feature))
                return tflite_output(im, n, 0, tflite_activated(im, svdf_float(im, &s), fused));
        if (s.x->type->element != E_I8 || s.state->type->element != E_I16 ||
            s.y->type->element != E_I8)
                return tflite_no_element(im, n, 0);
        /* The reference ignores the activation of integers, which the range has taken. */
        return tflite_output(im, n, 0, svdf_quantized(im, &s));
}
