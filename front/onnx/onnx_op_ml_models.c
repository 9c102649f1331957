/* SPDX-License-Identifier: MIT */
/* The scores of linear models and support-vector machines of ai.onnx.ml are products of rows; what
 * is said of classes follows onnxruntime, by whose results exporters check what they write. */
#include <string.h>

#include "base/size.h"
#include "front/onnx/onnx_ml.h"
#include "front/compose/compose_arithmetic.h"

/* Returns the rows of x times the transposed matrix of values, which has `outputs` rows of as many
 * columns as x has features; plus bias, unless that is NULL. */
static struct value *scores_of(struct onnx_import *im, struct value *x, int64_t outputs,
                               const float *values, struct value *bias)
{
        const int64_t turned[] = { 1, 0 };
        struct value *w = compose_transpose(
                im->c, onnx_ml_matrix(im, outputs, value_extent(x, 1), values), turned);
        struct value *y = w ? compose_matmul(im->c, x, w) : NULL;
        return y && bias ? add(im->c, y, bias) : y;
}

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
        return scores_of(im, x, outputs, coefficients,
                         intercept_count ? onnx_ml_matrix(im, 1, outputs, intercepts) : NULL);
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

enum kernel { KERNEL_LINEAR, KERNEL_POLY, KERNEL_RBF, KERNEL_SIGMOID };
struct machine_of_vectors {
        int kernel;
        float gamma, coef0, degree;
        const float *vectors, *coefficients, *rho;
        int vector_numbers, coefficient_count, rho_count;
};

static bool vectors_read(struct onnx_import *im, struct onnx_node *n, struct machine_of_vectors *m)
{
        static const char *const kernels[] = { "LINEAR", "POLY", "RBF", "SIGMOID", NULL };
        const float *parameters;
        int count;
        if (!onnx_choice(im, n, "kernel_type", kernels, KERNEL_LINEAR, &m->kernel) ||
            !onnx_ml_floats(im, n, "kernel_params", false, &parameters, &count) ||
            !onnx_ml_floats(im, n, "support_vectors", false, &m->vectors, &m->vector_numbers) ||
            !onnx_ml_floats(im, n, "coefficients", true, &m->coefficients, &m->coefficient_count) ||
            !onnx_ml_floats(im, n, "rho", true, &m->rho, &m->rho_count))
                return false;
        if (count && count != 3)
                return onnx_invalid(im, n, "kernel_params has %d values, want 3", count);
        if (count) {
                m->gamma = parameters[0];
                m->coef0 = parameters[1];
                m->degree = parameters[2];
        }
        return true;
}

/* Returns exp(-gamma |x - v|^2) for each row x and vector v. */
static struct value *radial(struct onnx_import *im, struct value *x, struct value *vectors,
                            float gamma)
{
        const dim_t rows[] = { dim_of(value_extent(x, 0)), dim_of(1), dim_of(value_extent(x, 1)) };
        const int64_t axis = 2;
        struct value *apart = sub(im->c, compose_reshape(im->c, x, 3, rows), vectors),
                     *square = mul(im->c, apart, apart);
        struct value *sum =
                square ? compose_reduce(im->c, REDUCE_sum, square, &axis, 1, E_COMPUTE) : NULL;
        return compose_unary(im->c, OP_exp, times(im->c, sum, -(double)gamma));
}

/* Returns the kernel function of each row of x and each of `count` vectors, <N x count>, or NULL
 * after an error. */
static struct value *kernels_of(struct onnx_import *im, const struct onnx_node *n,
                                const struct machine_of_vectors *m, struct value *x, int64_t count)
{
        if (m->vector_numbers % count || m->vector_numbers / count != value_extent(x, 1)) {
                onnx_invalid(im, n, "%d numbers of %lld vectors for %lld features",
                             m->vector_numbers, (long long)count, (long long)value_extent(x, 1));
                return NULL;
        }
        if (m->kernel == KERNEL_RBF)
                return compose_type(im->c, E_F32, 3,
                                    (const dim_t[]){ dim_of(value_extent(x, 0)), dim_of(count),
                                                     dim_of(value_extent(x, 1)) })
                               ? radial(im, x,
                                        onnx_ml_matrix(im, count, value_extent(x, 1), m->vectors),
                                        m->gamma)
                               : NULL;
        struct value *y = scores_of(im, x, count, m->vectors, NULL);
        if (m->kernel == KERNEL_LINEAR)
                return y;
        y = plus(im->c, times(im->c, y, m->gamma), m->coef0);
        if (m->kernel == KERNEL_SIGMOID)
                return compose_unary(im->c, OP_tanh, y);
        return m->degree == 2   ? mul(im->c, y, y)
               : m->degree == 3 ? mul(im->c, mul(im->c, y, y), y)
                                : compose_with(im->c, OP_pow, y, m->degree);
}

bool onnx_import_svm_regressor(struct onnx_import *im, struct onnx_node *n)
{
        struct machine_of_vectors m = { 0 };
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
        struct value *y = scores_of(im, like, 1, m.coefficients, onnx_ml_matrix(im, 1, 1, m.rho));
        if (one_class && y)
                y = compose_select(im->c, compose_with(im->c, OP_gt, y, 0),
                                   build_like(&im->b, y, 1), build_like(&im->b, y, -1));
        return onnx_output(n, 0, y);
}

/* Each pair of classes, i < j, in the order (0, 1), (0, 2), .., (1, 2), .., has a score, which is
 * positive for i. Row j - 1 of the coefficients has those of the vectors of class i that speak for
 * it against j, row i those of class j against i.
 *
 *     vectors of     A   A   B   C   C      a column of the product's matrix for each pair:
 *     row 0         BA  BA  AB  AC  AC      AB: row 0 of A and of B
 *     row 1         CA  CA  CB  BC  BC      AC: row 1 of A, row 0 of C    BC: row 1 of B, C */
struct pairs {
        int classes, count;
        int64_t vectors, *first;        /* They are the number of all vectors, and of each class the
                                         * first one; first[classes] is their end. */
};

static struct value *pair_scores(struct onnx_import *im, const struct machine_of_vectors *m,
                                 const struct pairs *p, struct value *like)
{
        float *rows = arena_array(im->arena, (size_t)(p->count * p->vectors), sizeof *rows);
        int pair = 0;
        for (int i = 0; i < p->classes; i++)
                for (int j = i + 1; j < p->classes; j++, pair++) {
                        for (int64_t v = p->first[i]; v < p->first[i + 1]; v++)
                                rows[pair * p->vectors + v] =
                                        m->coefficients[(j - 1) * p->vectors + v];
                        for (int64_t v = p->first[j]; v < p->first[j + 1]; v++)
                                rows[pair * p->vectors + v] = m->coefficients[i * p->vectors + v];
                }
        return scores_of(im, like, p->count, rows, onnx_ml_matrix(im, 1, p->count, m->rho));
}

/* Returns how many pairs each class wins, as floats. In a pair i, j, i has 1 where it wins, else
 * j. */
static struct value *votes(struct onnx_import *im, const struct pairs *p, struct value *scores)
{
        float *rows = arena_array(im->arena, (size_t)p->classes * (size_t)p->count, sizeof *rows),
              *lost = arena_array(im->arena, (size_t)p->classes, sizeof *lost);
        int pair = 0;
        for (int i = 0; i < p->classes; i++)
                for (int j = i + 1; j < p->classes; j++, pair++) {
                        rows[i * p->count + pair] = 1;
                        rows[j * p->count + pair] = -1;
                        lost[j]++;
                }
        struct value *won = compose_cast(im->c, compose_with(im->c, OP_gt, scores, 0), E_F32);
        return won ? scores_of(im, won, p->classes, rows, onnx_ml_matrix(im, 1, p->classes, lost))
                   : NULL;
}

/* Returns column k of x <N x many>, as <N x 1>. */
static struct value *column(struct onnx_import *im, struct value *x, int64_t k)
{
        return compose_part(im->c, x, 1, k, 1);
}

static struct value *sum_of_row(struct onnx_import *im, struct value *x)
{
        const int64_t axis = 1;
        return x ? compose_keep(im->c, compose_reduce(im->c, REDUCE_sum, x, &axis, 1, E_COMPUTE),
                                x->type, &axis, 1)
                 : NULL;
}

/* Returns p after one round over all classes of its search; its product with Q is qp, and p's with
 * that pqp. rows[i] is row i of Q, <N x classes>. */
static struct value *searched(struct onnx_import *im, const struct pairs *pairs,
                              struct value *const *rows, struct value *p, struct value *qp,
                              struct value *pqp)
{
        for (int i = 0; i < pairs->classes && p && qp && pqp; i++) {
                float *one = arena_array(im->arena, (size_t)pairs->classes, sizeof *one);
                one[i] = 1;
                struct value *own = column(im, rows[i], i), *at = column(im, qp, i);
                struct value *step = divide(im->c, sub(im->c, pqp, at), own),
                             *scale = plus(im->c, step, 1);
                struct value *grown =
                        mul(im->c, step, add(im->c, mul(im->c, step, own), times(im->c, at, 2)));
                p = divide(
                        im->c,
                        add(im->c, p, mul(im->c, step, onnx_ml_matrix(im, 1, pairs->classes, one))),
                        scale);
                pqp = divide(im->c, divide(im->c, add(im->c, pqp, grown), scale), scale);
                qp = divide(im->c, add(im->c, qp, mul(im->c, step, rows[i])), scale);
        }
        return p;
}

/* Returns probabilities of classes from those of pairs: p minimizes p Q p, where Q[i][i] is the sum
 * over j of r[j][i]^2, and Q[i][j] is -r[j][i] r[i][j]. It is found by coordinate descent until no
 * class is off by more than 0.005 / classes, in at most 100 rounds (T.-F. Wu, C.-J. Lin, R. C.
 * Weng: Probability Estimates for Multi-class Classification by Pairwise Coupling, 2004; algorithm
 * 2). A row that has converged stays as it is. */
static struct value *coupled(struct onnx_import *im, const struct pairs *pairs, struct value *r)
{
        enum { ROUNDS = 100 };
        int k = pairs->classes, pair = 0;
        const int64_t axis = 1;
        struct value **of = arena_array(im->arena, (size_t)k * (size_t)k, sizeof *of),
                     **rows = arena_array(im->arena, (size_t)k, sizeof *rows),
                     **row = arena_array(im->arena, (size_t)k, sizeof *row);
        for (int i = 0; i < k; i++)
                for (int j = i + 1; j < k; j++, pair++) {
                        of[i * k + j] = column(im, r, pair);
                        of[j * k + i] = compose_from(im->c, OP_sub, 1, of[i * k + j]);
                }
        for (int i = 0; i < k; i++) {
                struct value *own = NULL;
                for (int j = 0; j < k; j++) {
                        if (j == i)
                                continue;
                        struct value *square = mul(im->c, of[j * k + i], of[j * k + i]);
                        own = own ? add(im->c, own, square) : square;
                        row[j] = compose_unary(im->c, OP_neg,
                                               mul(im->c, of[j * k + i], of[i * k + j]));
                        if (!row[j])
                                return NULL;
                }
                row[i] = own;
                rows[i] = own ? build_concat(&im->b, row, k, 1) : NULL;
                if (!rows[i])
                        return NULL;
        }
        struct value *start = constant_number(im->m, rows[0]->type, 1 / (double)k),
                     *yielded[2] = { NULL, NULL };
        const struct compose_loop_parts parts = { .trip = compose_integer(im->c, E_I64, ROUNDS),
                                                  .go = compose_integer(im->c, E_BOOL, 1),
                                                  .steps = ROUNDS,
                                                  .first = &start,
                                                  .carried = 1 };
        struct compose_loop loop;
        if (!compose_loop_open(im->c, &parts, &loop))
                return NULL;
        struct value *p = &loop.held[0];
        for (int i = 0; i < k; i++)
                row[i] = sum_of_row(im, mul(im->c, rows[i], p));
        struct value *qp = row[k - 1] ? build_concat(&im->b, row, k, 1) : NULL,
                     *pqp = sum_of_row(im, mul(im->c, p, qp));
        struct value *off = compose_unary(im->c, OP_abs, sub(im->c, qp, pqp));
        off = off ? compose_reduce(im->c, REDUCE_max, off, &axis, 1, E_COMPUTE) : NULL;
        struct value *on = compose_with(im->c, OP_ge, off, 0.005 / k),
                     *next = searched(im, pairs, rows, p, qp, pqp);
        if (on && next) {
                const int64_t all = 0;
                yielded[0] = compose_reduce(im->c, REDUCE_max, on, &all, 1, E_COMPUTE);
                yielded[1] = compose_select(
                        im->c, compose_spread(im->c, on, p->type, (const int64_t[]){ 0 }), next, p);
        }
        return compose_loop_close(im->c, &loop, yielded) ? &loop.op->results[0] : NULL;
}

/* Returns the probabilities of pairs, by Platt's sigmoid 1 / (1 + exp(a s + b)), kept away from 0
 * and 1. */
static struct value *pair_probabilities(struct onnx_import *im, const struct pairs *p,
                                        struct value *scores, const float *a, const float *b)
{
        struct value *at = add(im->c, mul(im->c, scores, onnx_ml_matrix(im, 1, p->count, a)),
                               onnx_ml_matrix(im, 1, p->count, b));
        return clamp(im->c, compose_unary(im->c, OP_sigmoid, compose_unary(im->c, OP_neg, at)),
                     1e-7, 1 - 1e-7);
}

/* A machine without vectors has a linear score for each class. */
static bool linear_machine(struct onnx_import *im, struct onnx_node *n,
                           const struct machine_of_vectors *m, struct value *x,
                           const struct ml_labels *labels, int post, bool probable)
{
        bool positive = true;
        int classes = labels->count;
        if (m->coefficient_count % classes || m->coefficient_count / classes != value_extent(x, 1))
                return onnx_invalid(im, n, "%d coefficients for %d classes of %lld features",
                                    m->coefficient_count, classes, (long long)value_extent(x, 1));
        for (int k = 0; k < m->coefficient_count; k++)
                positive &= m->coefficients[k] >= 0;
        struct value *y =
                scores_of(im, x, classes, m->coefficients, onnx_ml_matrix(im, 1, 1, m->rho));
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
static bool pairs_read(struct onnx_import *im, struct onnx_node *n, int classes, struct pairs *p)
{
        enum {
                CLASSES_MAX = 100
        }; /* The matrix of pairs is half so many times as large as the coefficients. */
        const int64_t *each;
        int count;
        if (!onnx_ints(im, n, "vectors_per_class", &each, &count))
                return false;
        *p = (struct pairs){ .classes = classes, .count = classes * (classes - 1) / 2 };
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
        struct machine_of_vectors m = { 0 };
        struct pairs p;
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
                     *scores = like ? pair_scores(im, &m, &p, like) : NULL;
        if (!scores || !onnx_ml_best(im, n, votes(im, &p, scores), &labels))
                return false;
        if (a_count) {
                struct value *r = pair_probabilities(im, &p, scores, a, b);
                scores = r ? coupled(im, &p, r) : NULL;
                return onnx_output(n, 1, scores ? onnx_post_transform(im, scores, post) : NULL);
        }
        return onnx_output(n, 1,
                           p.classes == 2 ? onnx_ml_two(im, n, scores, post, post == POST_NONE)
                                          : onnx_post_transform(im, scores, post));
}
