/* SPDX-License-Identifier: MIT */
/* These operators of ai.onnx.ml are what pipelines do to features before a model, and to scores
 * behind it. */
#include "front/onnx/onnx_ml.h"
#include "front/onnx/onnx_texts.h"
#include "front/compose/compose_texts.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

#include <math.h>

static int64_t features_of(const struct value *x)
{
        return value_rank(x) ? value_extent(x, value_rank(x) - 1) : 1;
}

/* Reads an attribute that has a float for each feature, or one for all, over x; *v is NULL where it
 * is absent. */
static bool per_feature(struct onnx_import *im, struct onnx_node *n, const char *name,
                        const struct value *x, struct value **v)
{
        const float *values;
        int count;
        *v = NULL;
        if (!onnx_ml_floats(im, n, name, false, &values, &count))
                return false;
        if (!count)
                return true;
        if (count != 1 && count != features_of(x))
                return onnx_invalid(im, n, "%s has %d values for %lld features", name, count,
                                    (long long)features_of(x));
        *v = compose_cast(im->c, compose_matrix_of(im->c, 1, count, values), value_element(x));
        *v = *v ? compose_reshape(im->c, *v, count > 1, (const dim_t[]){ dim_of(count) }) : NULL;
        return *v != NULL;
}

bool onnx_import_scaler(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = onnx_ml_numbers(im, n), *offset, *scale;
        if (!x || !per_feature(im, n, "offset", x, &offset) ||
            !per_feature(im, n, "scale", x, &scale))
                return false;
        x = offset ? sub(im->c, x, offset) : x;
        x = scale ? mul(im->c, x, scale) : x;
        return onnx_output(n, 0, compose_cast(im->c, x, E_F32));
}

/* A row is divided by its largest number, by the sum of its magnitudes, or by the root of the sum
 * of its squares; where that is 0 it stays. */
bool onnx_import_normalizer(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const norms[] = { "MAX", "L1", "L2", NULL };
        struct value *x = onnx_want_rank(im, n, 0, 1, 2) ? onnx_ml_numbers(im, n) : NULL;
        int which;
        if (!x || !onnx_choice(im, n, "norm", norms, 0, &which))
                return false;
        const int64_t axis = value_rank(x) - 1;
        struct value *part = which == 0   ? x
                             : which == 1 ? compose_unary(im->c, OP_abs, x)
                                          : mul(im->c, x, x);
        struct value *norm =
                compose_reduce(im->c, which ? REDUCE_sum : REDUCE_max, part, &axis, 1, E_COMPUTE);
        norm = which == 2 ? compose_unary(im->c, OP_sqrt, norm) : norm;
        struct value *none = compose_with(im->c, OP_eq, norm, 0);
        norm = none ? compose_select(im->c, none, build_like(&im->b, norm, 1), norm) : NULL;
        norm = norm ? compose_unreduce(im->c, norm, x->type, &axis, 1) : NULL;
        return onnx_output(n, 0, norm ? compose_cast(im->c, divide(im->c, x, norm), E_F32) : NULL);
}

/* Numbers that are the one to be replaced, which may be NaN, become what is given for their
 * feature. */
bool onnx_import_imputer(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *with = NULL, *gone;
        const int64_t *integers;
        int64_t replaced;
        float number;
        int count;
        if (!onnx_ints(im, n, "imputed_value_int64s", &integers, &count) ||
            !onnx_int(im, n, "replaced_value_int64", 0, &replaced) ||
            !onnx_float(im, n, "replaced_value_float", 0, &number))
                return false;
        if (value_element(x) == E_I64) {
                if (count != 1 && count != features_of(x))
                        return onnx_invalid(im, n,
                                            "imputed_value_int64s has %d values for %lld features",
                                            count, (long long)features_of(x));
                with = compose_reshape(im->c, constant_ints(im->m, integers, count), count > 1,
                                       (const dim_t[]){ dim_of(count) });
                gone = compose_binary(im->c, OP_eq, x, compose_integer(im->c, E_I64, replaced));
        } else {
                if (!onnx_want_float(im, n, 0) ||
                    !per_feature(im, n, "imputed_value_floats", x, &with))
                        return false;
                if (!with)
                        return onnx_invalid(im, n, "attribute imputed_value_floats is missing");
                gone = isnan(number) ? compose_unary(im->c, OP_is_nan, x)
                                     : compose_with(im->c, OP_eq, x, number);
        }
        return onnx_output(n, 0, with ? compose_select(im->c, gone, with, x) : NULL);
}

/* The features of all inputs lie side by side, of each so many as are stated: what it has more is
 * cut off, what it lacks is 0. */
bool onnx_import_feature_vectorizer(struct onnx_import *im, struct onnx_node *n)
{
        const int64_t *extents;
        int count;
        struct value **parts = arena_array(im->arena, (size_t)n->input_count, sizeof *parts);
        if (!onnx_ints(im, n, "inputdimensions", &extents, &count))
                return false;
        if (count != n->input_count)
                return onnx_invalid(im, n, "inputdimensions has %d values for %d inputs", count,
                                    n->input_count);
        for (int i = 0; i < count; i++) {
                if (!n->inputs[i])
                        return onnx_invalid(im, n, "input %d is required", i);
                if (!onnx_want_rank(im, n, i, 1, 2))
                        return false;
                if (extents[i] < 0 || extents[i] > NUMBER_MAX)
                        return onnx_invalid(im, n, "inputdimensions holds %lld",
                                            (long long)extents[i]);
                struct value *x = compose_cast(im->c, n->inputs[i], E_F32);
                if (x && value_rank(x) == 1)
                        x = compose_reshape(
                                im->c, x, 2,
                                (const dim_t[]){ dim_of(1), dim_of(value_extent(x, 0)) });
                if (!x || !compose_type(im->c, E_F32, 2,
                                        (const dim_t[]){ dim_of(value_extent(x, 0)),
                                                         dim_of(extents[i]) }))
                        return false;
                parts[i] = compose_fitted(im->c, x, 1, extents[i]);
                if (!parts[i])
                        return false;
        }
        return onnx_output(n, 0, compose_concat(im->c, parts, count, 1));
}

/* Returns which of the attribute cats_strings each text of operand 0 is, and -1 for none; sets
 * *categories to the numbers of all. */
static struct value *numbers_of_texts(struct onnx_import *im, struct onnx_node *n,
                                      const int64_t **categories, int *count)
{
        const ProtobufCBinaryData *texts;
        if (!onnx_strings(im, n, "cats_strings", &texts, count))
                return NULL;
        const int64_t extent = *count;
        int64_t *numbers = arena_array(im->arena, (size_t)*count + 1, sizeof *numbers);
        for (int k = 0; k < *count; k++)
                numbers[k] = k;
        *categories = numbers;
        struct value *keys =
                onnx_texts_constant(im, "cats_strings", 1, &extent, texts, (size_t)*count, 0);
        return keys ? compose_texts_find(im->c, onnx_texts_bytes(n->inputs[0]),
                                         onnx_texts_bytes(keys), false)
                    : NULL;
}

/* The result is 1 in the place of the category that x is. Where x is none, all are 0 or, where the
 * attribute zeros is 0, the run ends. */
bool onnx_import_one_hot_encoder(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        const int64_t *categories;
        int64_t zeros;
        int count, rank = value_rank(x);
        dim_t dims[RANK_MAX + 1];
        if (!onnx_ints(im, n, "cats_int64s", &categories, &count) ||
            !onnx_int_range(im, n, "zeros", 1, 0, 1, &zeros))
                return false;
        if (onnx_is_texts(x)) {         /* They are known by their numbers. */
                if (count)
                        return onnx_invalid(im, n, "the categories of texts are numbers");
                if (!(x = numbers_of_texts(im, n, &categories, &count)))
                        return false;
        } else if (onnx_has(n, "cats_strings")) {
                return onnx_invalid(im, n, "the categories of numbers are texts");
        } else if (!onnx_ml_numbers(im, n)) {
                return false;
        }
        if (count < 1)
                return onnx_invalid(im, n, "attribute cats_int64s is missing");
        if (rank == RANK_MAX)
                return onnx_unsupported(im, n, "rank %d, at most %d are supported", rank + 1,
                                        RANK_MAX);
        for (int d = 0; d < rank; d++)
                dims[d] = dim_of(value_extent(x, d));
        dims[rank] = dim_of(1);
        x = compose_reshape(im->c, compose_cast(im->c, x, E_I64), rank + 1, dims);
        dims[rank] = dim_of(count);
        if (!x || !compose_type(im->c, E_F32, rank + 1, dims))
                return false;
        struct value *is = compose_binary(im->c, OP_eq, x, constant_ints(im->m, categories, count)),
                     *y = compose_cast(im->c, is, E_F32);
        if (y && !zeros) {
                const int64_t axis = rank;
                struct value *found = compose_reduce(im->c, REDUCE_max, y, &axis, 1, E_COMPUTE);
                struct value *place =
                        found ? compose_cast(im->c, compose_from(im->c, OP_sub, 1, found), E_I64)
                              : NULL;
                struct value *one = constant_number(
                        im->m, type_tensor(im->m, E_F32, 1, (const dim_t[]){ dim_of(1) }), 1);
                struct value *all = place ? build_gather(&im->b, one, place, 0)
                                          : NULL; /* Place 1 lies behind the end of `one`. */
                y = all ? mul(im->c, y, compose_unreduce(im->c, all, y->type, &axis, 1)) : NULL;
        }
        return onnx_output(n, 0, y);
}

/* Makes a map from labels to scores for each row: it is the scores, where those of label k are
 * column k. */
bool onnx_import_zip_map(struct onnx_import *im, struct onnx_node *n)
{
        const int64_t *integers;
        int count;
        const Onnx__AttributeProto *strings = onnx_attribute(n, "classlabels_strings");
        if (!onnx_want_rank(im, n, 0, 1, 2) || !onnx_want_element(im, n, 0, E_F32) ||
            !onnx_ints(im, n, "classlabels_int64s", &integers, &count))
                return false;
        int64_t labels = strings && strings->n_strings ? (int64_t)strings->n_strings : count;
        if (labels != features_of(n->inputs[0]))
                return onnx_invalid(im, n, "%lld labels for %lld scores", (long long)labels,
                                    (long long)features_of(n->inputs[0]));
        return onnx_output(n, 0, n->inputs[0]);
}
