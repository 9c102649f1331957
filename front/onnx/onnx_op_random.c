/* SPDX-License-Identifier: MIT */
/* This file imports RandomUniform, RandomNormal, and those like another tensor; Bernoulli,
 * Multinomial, Dropout.
 *
 * The standard leaves the generator open. A node that states a seed has the numbers of numpy's
 * RandomState, as in ONNX's reference evaluator; all others, and all of them under --seed and
 * --train, have those of Philox, whose key depends on the seed, on the node, in loops on the
 * iteration, and in training on the step. */
#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_model.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_random.h"

/* Returns the key of the innermost loop's iteration, or the seed outside of loops. Nesting is
 * limited. */
static struct value *iteration_key(struct onnx_import *im, const struct onnx_iteration *inner)
{
        return inner ? compose_key(im->c, iteration_key(im, inner->outer), inner->number)
                     : im->model->seed;
}

struct value *onnx_next_key(struct onnx_import *im)
{
        struct value *number = compose_integer(im->c, E_U64, ++im->model->draws);
        return compose_key(im->c, iteration_key(im, im->model->iteration), number);
}

/* Makes the numbers of the next draw. Where `given`, the node's attribute seed is `stated`. */
static bool next_draw(struct onnx_import *im, struct onnx_node *n, bool given, double stated,
                      struct compose_draw *draw)
{
        if (given && !im->options->seed && !im->options->training) {
                if (!(stated > -4294967296.0 && stated < 4294967296.0))
                        return onnx_invalid(im, n, "seed %g, want -4294967295 to 4294967295",
                                            stated);
                *draw = (struct compose_draw){ .seed = (uint32_t)(int64_t)stated };
                return true;
        }
        if (!im->options->seed && !im->options->training && !im->model->draws)
                onnx_warning(im, n,
                             "its random numbers are the same at every run; --seed=input makes "
                             "their seed an input, --seed=N chooses one");
        draw->key = onnx_next_key(im);
        return draw->key != NULL;
}

static bool draw_by_attribute(struct onnx_import *im, struct onnx_node *n,
                              struct compose_draw *draw)
{
        float seed;
        return onnx_float(im, n, "seed", 0, &seed) &&
               next_draw(im, n, onnx_has(n, "seed"), seed, draw);
}

/* Reads the attribute dtype; where it is absent the element is the preset. */
static bool result_element(struct onnx_import *im, struct onnx_node *n, enum element preset,
                           enum element *e)
{
        int64_t number;
        *e = preset;
        return !onnx_has(n, "dtype") || (onnx_int(im, n, "dtype", 0, &number) &&
                                         onnx_element_number(im, n, "dtype", number, e));
}

/* Returns the type of the result, which is of the attribute shape, or of the input's, or NULL after
 * an error. */
static const struct type *drawn_type(struct onnx_import *im, struct onnx_node *n)
{
        const struct type *like = n->input_count ? n->inputs[0]->type : NULL;
        const int64_t *shape;
        enum element e;
        int rank;

        if (!result_element(im, n, like ? like->element : E_F32, &e))
                return NULL;
        if (!element_is_float(e)) {
                onnx_invalid(im, n, "random numbers of %s, want a float", element_info[e].text);
                return NULL;
        }
        if (like)
                return type_with_element(im->m, like, e);
        if (!onnx_has(n, "shape")) {
                onnx_invalid(im, n, "attribute 'shape' is required");
                return NULL;
        }
        return onnx_ints(im, n, "shape", &shape, &rank) ? compose_type_static(im->c, e, rank, shape)
                                                        : NULL;
}

/* The result is low + u * (high - low). */
bool onnx_import_random_uniform(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_draw draw = { 0 };
        float low, high;
        const struct type *t = drawn_type(im, n);

        if (!t || !onnx_float(im, n, "low", 0, &low) || !onnx_float(im, n, "high", 1, &high) ||
            !draw_by_attribute(im, n, &draw))
                return false;
        struct value *u = compose_uniform(im->c, &draw, t);
        struct value *y = plus(im->c, times(im->c, u, (double)high - low), low);
        return onnx_output(n, 0, compose_cast(im->c, y, t->element));
}

/* The result is mean + z * scale. */
bool onnx_import_random_normal(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_draw draw = { 0 };
        float mean, scale;
        const struct type *t = drawn_type(im, n);

        if (!t || !onnx_float(im, n, "mean", 0, &mean) || !onnx_float(im, n, "scale", 1, &scale) ||
            !draw_by_attribute(im, n, &draw))
                return false;
        struct value *z = compose_normal(im->c, &draw, t);
        struct value *y = plus(im->c, times(im->c, z, scale), mean);
        return onnx_output(n, 0, compose_cast(im->c, y, t->element));
}

bool onnx_import_bernoulli(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_draw draw = { 0 };
        enum element e;

        if (!onnx_want_float(im, n, 0) || !result_element(im, n, value_element(n->inputs[0]), &e) ||
            !draw_by_attribute(im, n, &draw))
                return false;
        return onnx_output(n, 0,
                           compose_cast(im->c, compose_bernoulli(im->c, &draw, n->inputs[0]), e));
}

bool onnx_import_multinomial(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_draw draw = { 0 };
        enum element e;
        int64_t count;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 2, 2) ||
            !result_element(im, n, E_I32, &e) ||
            !onnx_int_range(im, n, "sample_size", 1, 1, NUMBER_MAX, &count) ||
            !draw_by_attribute(im, n, &draw))
                return false;
        if (e != E_I32 && e != E_I64)
                return onnx_invalid(im, n, "classes of %s, want i32 or i64", element_info[e].text);
        if (!value_extent(n->inputs[0], 1))
                return onnx_invalid(im, n, "there are no classes");
        return onnx_output(n, 0, compose_multinomial(im->c, &draw, n->inputs[0], count, e));
}

/* ---- Dropout ---- */

static bool is_coded(enum element e)
{
        return !element_is_float(e) && compose_plain_element(e) == E_F32;
}

/* Returns v in f32, where it is a float of 8 bits, or as it is. */
static struct value *decoded(struct onnx_import *im, struct value *v)
{
        return v && is_coded(value_element(v))
                       ? compose_convert(im->c, v, E_F32, &(struct compose_conversion){ 0 })
                       : v;
}

/* Makes *y, which is what training makes of x, and the mask *kept. The ratio is the second input,
 * else `stated`. */
static bool trained(struct onnx_import *im, struct onnx_node *n, double stated, struct value **y,
                    struct value **kept)
{
        struct compose_draw draw = { 0 };
        const enum element e = value_element(n->inputs[0]);
        struct value *ratio =
                onnx_input(n, 1) ? onnx_scalar(im, n, 1) : build_scalar(&im->b, E_F32, stated);
        int64_t seed;

        if (!ratio || (!is_coded(e) && !onnx_want_float(im, n, 0)) ||
            (!is_coded(value_element(ratio)) && !onnx_want_float(im, n, 1)) ||
            !onnx_int(im, n, "seed", 0, &seed) ||
            !next_draw(im, n, onnx_has(n, "seed"), (double)seed, &draw))
                return false;
        struct value *x = decoded(im, n->inputs[0]);
        ratio = x ? decoded(im, ratio) : NULL;
        *y = ratio ? compose_dropout(im->c, &draw, x, ratio, kept) : NULL;
        if (*y && is_coded(e))
                *y = compose_convert(im->c, *y, e,
                                     &(struct compose_conversion){ .saturate = true });
        return *y != NULL;
}

/* The result is x itself in inference, with a mask of all true; a ratio of 0 is the same in
 * training. A run may tell which of both is wanted. */
bool onnx_import_dropout(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *y = x;
        const enum element mask = n->opset < 10 ? value_element(x) : E_BOOL;
        struct value *all = constant_number(im->m, type_with_element(im->m, x->type, mask), 1);
        struct value *kept = all;
        int64_t training = 0, seed;
        double ratio = 0.5;
        int count;
        bool known = true, ratio_known = true;

        if (n->opset < 12) {
                float stated;
                if (!onnx_float(im, n, "ratio", 0.5f, &stated) ||
                    (n->opset < 7 && !onnx_ignore(im, n, "is_test")))
                        return false;
                ratio = (double)stated;
        } else if (!onnx_int(im, n, "seed", 0, &seed) || !onnx_want_element(im, n, 2, E_BOOL) ||
                   !onnx_operand_int(im, n, 2, 0, &training, &known) ||
                   (onnx_input(n, 1) &&
                    !onnx_operand_numbers(im, n, 1, &ratio, 1, &count, &ratio_known))) {
                return false;
        }
        known = known || onnx_in_training(im, false) || !onnx_in_training(im, true);
        training = onnx_in_training(im, training);
        if ((training || !known) && (!ratio_known || ratio != 0)) {
                if (!trained(im, n, ratio, &y, &kept))
                        return false;
                kept = compose_cast(im->c, kept, mask);
                if (known) {
                        y = onnx_by_mode(im, (struct import_mode){ .inferred = x, .trained = y });
                        kept = onnx_by_mode(
                                im, (struct import_mode){ .inferred = all, .trained = kept });
                }
        }
        if (!known && y != x) {
                struct value *mode = onnx_scalar(im, n, 2);
                kept = onnx_select(im, mode, kept, all);
                y = onnx_select(im, mode, y, x);
        }
        if (onnx_wants(n, 1))
                onnx_output(n, 1, kept);
        return onnx_output(n, 0, y);
}
