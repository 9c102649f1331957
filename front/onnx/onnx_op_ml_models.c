/* SPDX-License-Identifier: MIT */
/* This file imports linear models and support-vector machines of ai.onnx.ml. What is said of
 * classes follows onnxruntime, by whose results exporters check what they write. */
#include "base/size.h"
#include "front/onnx/onnx_ml.h"
#include "front/compose/compose_arithmetic.h"

/* ---- linear models ---- */

/* Returns x W + b, `outputs` columns, as the attributes coefficients and intercepts say, or NULL
 * after an error. */
static struct value *linear(struct onnx_import *im, struct onnx_node *n, int64_t outputs,
                            const float *intercepts, int intercept_count)
{
        struct value *x = onnx_ml_rows(im, n);
        const float *coefficients;
        int count;
        if (!x || !onnx_ml_floats(im, n, "coefficients", true, &coefficients, &count))
                return NULL;
        if (count % outputs || count / outputs != value_extent(x, 1) ||
            (intercept_count && intercept_count != outputs)) {
                onnx_invalid(
                        im, n, "%d coefficients and %d intercepts for %lld scores of %lld features",
                        count, intercept_count, (long long)outputs, (long long)value_extent(x, 1));
                return NULL;
        }
        struct value *bias =
                intercept_count ? compose_matrix_of(im->c, 1, outputs, intercepts) : NULL;
        return compose_scores(im->c, x, outputs, coefficients, bias);
}

bool onnx_import_linear_regressor(struct onnx_import *im, struct onnx_node *n)
{
        const float *intercepts;
        int64_t targets;
        int count, post;
        if (!onnx_int_range(im, n, "targets", 1, 1, NUMBER_MAX, &targets) ||
            !onnx_ml_post(im, n, &post) ||
            !onnx_ml_floats(im, n, "intercepts", false, &intercepts, &count))
                return false;
        if (targets == 1 && post != POST_NONE)
                return onnx_unsupported(im, n, "post_transform of one target");
        struct value *y = linear(im, n, targets, intercepts, count);
        return onnx_output(n, 0, y ? onnx_post_transform(im, y, post) : NULL);
}

/* There is a score for each class, or one for two classes: then it is the second class above 0. */
bool onnx_import_linear_classifier(struct onnx_import *im, struct onnx_node *n)
{
        const float *intercepts;
        int64_t multi;
        struct ml_labels labels;
        int count, post;
        if (!onnx_ml_labels(im, n, "classlabels_ints", &labels) ||
            !onnx_ml_floats(im, n, "intercepts", true, &intercepts, &count) ||
            !onnx_ml_post(im, n, &post) || !onnx_int(im, n, "multi_class", 0, &multi))
                return false;
        if (count != labels.count && !(count == 1 && labels.count == 2))
                return onnx_invalid(im, n, "%d intercepts for %d classes", count, labels.count);
        struct value *y = linear(im, n, count, intercepts, count);
        if (!y)
                return false;
        if (count == labels.count)
                return onnx_ml_best(im, n, y, &labels) &&
                       onnx_output(n, 1, onnx_post_transform(im, y, post));
        struct value *second =
                compose_with(im->c, OP_gt, compose_reshape(im->c, y, 1, y->type->dims), 0);
        return onnx_ml_label(im, n, compose_cast(im->c, second, E_I32), &labels) &&
               onnx_output(n, 1, onnx_ml_two(im, n, y, post, false));
}

/* ---- support-vector machines ---- */

struct svm {
        struct compose_machine of;
        int vector_numbers, coefficient_count, rho_count;
};

static bool vectors_read(struct onnx_import *im, struct onnx_node *n, struct svm *m)
{
        static const char *const kernels[] = { "LINEAR", "POLY", "RBF", "SIGMOID", NULL };
        const float *parameters;
        int count;
        if (!onnx_choice(im, n, "kernel_type", kernels, KERNEL_LINEAR, &m->of.kernel) ||
            !onnx_ml_floats(im, n, "kernel_params", false, &parameters, &count) ||
            !onnx_ml_floats(im, n, "support_vectors", false, &m->of.vectors, &m->vector_numbers) ||
            !onnx_ml_floats(im, n, "coefficients", true, &m->of.coefficients,
                            &m->coefficient_count) ||
            !onnx_ml_floats(im, n, "rho", true, &m->of.rho, &m->rho_count))
                return false;
        if (count && count != 3)
                return onnx_invalid(im, n, "kernel_params has %d values, want 3", count);
        if (count) {
                m->of.gamma = parameters[0];
                m->of.coef0 = parameters[1];
                m->of.degree = parameters[2];
        }
        return true;
}

/* Returns the kernel function of each row of x and each of `count` vectors, <N x count>, or NULL
 * after an error. */
static struct value *kernels_of(struct onnx_import *im, const struct onnx_node *n,
                                const struct svm *m, struct value *x, int64_t count)
{
        if (m->vector_numbers % count || m->vector_numbers / count != value_extent(x, 1)) {
                onnx_invalid(im, n, "%d numbers of %lld vectors for %lld features",
                             m->vector_numbers, (long long)count, (long long)value_extent(x, 1));
                return NULL;
        }
        return compose_kernels(im->c, &m->of, x, count);
}

bool onnx_import_svm_regressor(struct onnx_import *im, struct onnx_node *n)
{
        struct svm m = { 0 };
        struct value *x = onnx_ml_rows(im, n);
        int64_t vectors, one_class;
        int post;
        if (!x || !vectors_read(im, n, &m) ||
            !onnx_int_range(im, n, "n_supports", 0, 0, NUMBER_MAX, &vectors) ||
            !onnx_int(im, n, "one_class", 0, &one_class) || !onnx_ml_post(im, n, &post))
                return false;
        if (post != POST_NONE)
                return onnx_unsupported(im, n, "post_transform");
        struct value *like = vectors ? kernels_of(im, n, &m, x, vectors) : x;
        if (!like)
                return false;
        if (m.coefficient_count != value_extent(like, 1))
                return onnx_invalid(im, n, "%d coefficients, want %lld", m.coefficient_count,
                                    (long long)value_extent(like, 1));
        struct value *y = compose_scores(im->c, like, 1, m.of.coefficients,
                                         compose_matrix_of(im->c, 1, 1, m.of.rho));
        if (one_class && y)
                y = compose_select(im->c, compose_with(im->c, OP_gt, y, 0),
                                   build_like(&im->b, y, 1), build_like(&im->b, y, -1));
        return onnx_output(n, 0, y);
}

/* A machine without vectors has a linear score for each class. */
static bool linear_machine(struct onnx_import *im, struct onnx_node *n,
                           const struct svm *m, struct value *x,
                           const struct ml_labels *labels, int post, bool probable)
{
        bool positive = true;
        int classes = labels->count;
        if (m->coefficient_count % classes || m->coefficient_count / classes != value_extent(x, 1))
                return onnx_invalid(im, n, "%d coefficients for %d classes of %lld features",
                                    m->coefficient_count, classes, (long long)value_extent(x, 1));
        for (int k = 0; k < m->coefficient_count; k++)
                positive &= m->of.coefficients[k] >= 0;
        struct value *y =
                compose_scores(im->c, x, classes, m->of.coefficients,
                               compose_matrix_of(im->c, 1, 1, m->of.rho));
        struct value *best = y ? compose_arg_reduce(im->c, y, REDUCE_max, 1, false) : NULL;
        if (best && classes == 2 &&
            !probable) { /* The second one is taken also where the higher score is above a bound. */
                const int64_t axis = 1;
                struct value *most = compose_reduce(im->c, REDUCE_max, y, &axis, 1, E_COMPUTE);
                best = compose_select(
                        im->c,
                        compose_with(im->c, positive ? OP_ge : OP_gt, most, positive ? 0.5 : 0),
                        build_like(&im->b, best, 1), best);
        }
        return onnx_ml_label(im, n, best, labels) &&
               onnx_output(n, 1, onnx_post_transform(im, y, post));
}

/* Reads the classes, and where the vectors of each begin. Returns false after an error. */
static bool pairs_read(struct onnx_import *im, struct onnx_node *n, int classes,
                       struct compose_pairs *p)
{
        enum {
                CLASSES_MAX = 100
        }; /* The matrix of pairs is half so many times as large as the coefficients. */
        const int64_t *each;
        int count;
        if (!onnx_ints(im, n, "vectors_per_class", &each, &count))
                return false;
        *p = (struct compose_pairs){ .classes = classes, .count = classes * (classes - 1) / 2 };
        if (classes > CLASSES_MAX)
                return onnx_unsupported(im, n, "%d classes, at most %d are supported", classes,
                                        CLASSES_MAX);
        if (count && count != classes)
                return onnx_invalid(im, n, "vectors_per_class has %d values for %d classes", count,
                                    classes);
        p->first = arena_array(im->arena, (size_t)classes + 1, sizeof *p->first);
        for (int i = 0; i < count; i++) {
                if (each[i] < 0 || !int_add(p->vectors, each[i], &p->vectors) ||
                    p->vectors > NUMBER_MAX)
                        return onnx_invalid(im, n, "vectors_per_class holds %lld",
                                            (long long)each[i]);
                p->first[i + 1] = p->vectors;
        }
        return true;
}

/* The label is that of the class which wins most pairs, the first of equal ones. Scores are
 * probabilities of classes where the sigmoids of pairs are given, else the scores of pairs; for
 * two classes, -s and s, or as onnx_ml_two has them where they are transformed. */
bool onnx_import_svm_classifier(struct onnx_import *im, struct onnx_node *n)
{
        struct svm m = { 0 };
        struct compose_pairs p;
        const float *a, *b;
        struct ml_labels labels;
        int post, a_count, b_count;
        struct value *x = onnx_ml_rows(im, n);
        if (!x || !onnx_ml_labels(im, n, "classlabels_ints", &labels) || !vectors_read(im, n, &m) ||
            !pairs_read(im, n, labels.count, &p) || !onnx_ml_post(im, n, &post) ||
            !onnx_ml_floats(im, n, "prob_a", false, &a, &a_count) ||
            !onnx_ml_floats(im, n, "prob_b", false, &b, &b_count))
                return false;
        if (labels.count < 2)
                return onnx_unsupported(im, n, "one class");
        if (a_count != b_count || (a_count && a_count != p.count))
                return onnx_invalid(im, n, "prob_a and prob_b have %d and %d values for %d pairs",
                                    a_count, b_count, p.count);
        if (!p.vectors)
                return linear_machine(im, n, &m, x, &labels, post, a_count > 0);
        if (m.coefficient_count / (p.classes - 1) != p.vectors ||
            m.coefficient_count % (p.classes - 1) || m.rho_count != p.count)
                return onnx_invalid(
                        im, n, "%d coefficients and %d rho for %d classes and %lld vectors",
                        m.coefficient_count, m.rho_count, p.classes, (long long)p.vectors);
        struct value *like = kernels_of(im, n, &m, x, p.vectors),
                     *scores = like ? compose_pair_scores(im->c, &m.of, &p, like) : NULL;
        if (!scores || !onnx_ml_best(im, n, compose_pair_votes(im->c, &p, scores), &labels))
                return false;
        if (a_count) {
                struct value *r = compose_pair_probabilities(im->c, &p, scores, a, b);
                scores = r ? compose_coupled(im->c, &p, r) : NULL;
                return onnx_output(n, 1, scores ? onnx_post_transform(im, scores, post) : NULL);
        }
        return onnx_output(n, 1,
                           p.classes == 2 ? onnx_ml_two(im, n, scores, post, post == POST_NONE)
                                          : onnx_post_transform(im, scores, post));
}
