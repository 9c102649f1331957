/* SPDX-License-Identifier: MIT */
/* The scores of linear models and of support-vector machines are products of rows. */
#include "front/compose/compose_machine.h"
#include "front/compose/compose_arithmetic.h"

#include <string.h>

struct value *compose_matrix_of(struct compose *c, int64_t rows, int64_t columns,
                                const float *values)
{
        size_t bytes = (size_t)(rows * columns) * sizeof *values;
        void *data = constant_room(c->m, bytes);
        memcpy(data, values, bytes);
        return constant_dense(
                c->m,
                type_tensor(c->m, E_F32, 2, (const dim_t[]){ dim_of(rows), dim_of(columns) }),
                data, NULL);
}

struct value *compose_scores(struct compose *c, struct value *x, int64_t outputs,
                             const float *values, struct value *bias)
{
        const int64_t turned[] = { 1, 0 };
        struct value *w = compose_transpose(
                c, compose_matrix_of(c, outputs, value_extent(x, 1), values), turned);
        struct value *y = w ? compose_matmul(c, x, w) : NULL;
        return y && bias ? add(c, y, bias) : y;
}

/* Returns exp(-gamma |x - v|^2) for each row x and vector v. */
static struct value *radial(struct compose *c, struct value *x, struct value *vectors,
                            float gamma)
{
        const dim_t rows[] = { dim_of(value_extent(x, 0)), dim_of(1), dim_of(value_extent(x, 1)) };
        const int64_t axis = 2;
        struct value *apart = sub(c, compose_reshape(c, x, 3, rows), vectors),
                     *square = mul(c, apart, apart);
        struct value *sum =
                square ? compose_reduce(c, REDUCE_sum, square, &axis, 1, E_COMPUTE) : NULL;
        return compose_unary(c, OP_exp, times(c, sum, -(double)gamma));
}

struct value *compose_kernels(struct compose *c, const struct compose_machine *m, struct value *x,
                              int64_t count)
{
        if (m->kernel == KERNEL_RBF)
                return compose_type(c, E_F32, 3,
                                    (const dim_t[]){ dim_of(value_extent(x, 0)), dim_of(count),
                                                     dim_of(value_extent(x, 1)) })
                               ? radial(c, x,
                                        compose_matrix_of(c, count, value_extent(x, 1), m->vectors),
                                        m->gamma)
                               : NULL;
        struct value *y = compose_scores(c, x, count, m->vectors, NULL);
        if (m->kernel == KERNEL_LINEAR)
                return y;
        y = plus(c, times(c, y, m->gamma), m->coef0);
        if (m->kernel == KERNEL_SIGMOID)
                return compose_unary(c, OP_tanh, y);
        return m->degree == 2   ? mul(c, y, y)
               : m->degree == 3 ? mul(c, mul(c, y, y), y)
                                : compose_with(c, OP_pow, y, m->degree);
}

struct value *compose_pair_scores(struct compose *c, const struct compose_machine *m,
                                  const struct compose_pairs *p, struct value *like)
{
        float *rows = arena_array(c->arena, (size_t)(p->count * p->vectors), sizeof *rows);
        int pair = 0;
        for (int i = 0; i < p->classes; i++)
                for (int j = i + 1; j < p->classes; j++, pair++) {
                        for (int64_t v = p->first[i]; v < p->first[i + 1]; v++)
                                rows[pair * p->vectors + v] =
                                        m->coefficients[(j - 1) * p->vectors + v];
                        for (int64_t v = p->first[j]; v < p->first[j + 1]; v++)
                                rows[pair * p->vectors + v] = m->coefficients[i * p->vectors + v];
                }
        return compose_scores(c, like, p->count, rows, compose_matrix_of(c, 1, p->count, m->rho));
}

struct value *compose_pair_votes(struct compose *c, const struct compose_pairs *p,
                                 struct value *scores)
{
        float *rows = arena_array(c->arena, (size_t)p->classes * (size_t)p->count, sizeof *rows),
              *lost = arena_array(c->arena, (size_t)p->classes, sizeof *lost);
        int pair = 0;
        for (int i = 0; i < p->classes; i++)
                for (int j = i + 1; j < p->classes; j++, pair++) {
                        rows[i * p->count + pair] = 1;
                        rows[j * p->count + pair] = -1;
                        lost[j]++;
                }
        struct value *won = compose_cast(c, compose_with(c, OP_gt, scores, 0), E_F32);
        return won ? compose_scores(c, won, p->classes, rows,
                                    compose_matrix_of(c, 1, p->classes, lost))
                   : NULL;
}

/* Returns column k of x <N x many>, as <N x 1>. */
static struct value *column(struct compose *c, struct value *x, int64_t k)
{
        return compose_part(c, x, 1, k, 1);
}

static struct value *sum_of_row(struct compose *c, struct value *x)
{
        const int64_t axis = 1;
        return x ? compose_keep(c, compose_reduce(c, REDUCE_sum, x, &axis, 1, E_COMPUTE),
                                x->type, &axis, 1)
                 : NULL;
}

/* Returns p after one round over all classes of its search; its product with Q is qp, and p's with
 * that pqp. rows[i] is row i of Q, <N x classes>. */
static struct value *searched(struct compose *c, const struct compose_pairs *pairs,
                              struct value *const *rows, struct value *p, struct value *qp,
                              struct value *pqp)
{
        for (int i = 0; i < pairs->classes && p && qp && pqp; i++) {
                float *one = arena_array(c->arena, (size_t)pairs->classes, sizeof *one);
                one[i] = 1;
                struct value *own = column(c, rows[i], i), *at = column(c, qp, i);
                struct value *step = divide(c, sub(c, pqp, at), own),
                             *scale = plus(c, step, 1);
                struct value *grown =
                        mul(c, step, add(c, mul(c, step, own), times(c, at, 2)));
                p = divide(
                        c,
                        add(c, p, mul(c, step, compose_matrix_of(c, 1, pairs->classes, one))),
                        scale);
                pqp = divide(c, divide(c, add(c, pqp, grown), scale), scale);
                qp = divide(c, add(c, qp, mul(c, step, rows[i])), scale);
        }
        return p;
}

/* Returns probabilities of classes from those of pairs: p minimizes p Q p, where Q[i][i] is the sum
 * over j of r[j][i]^2, and Q[i][j] is -r[j][i] r[i][j]. It is found by coordinate descent until no
 * class is off by more than 0.005 / classes, in at most 100 rounds (T.-F. Wu, C.-J. Lin, R. C.
 * Weng: Probability Estimates for Multi-class Classification by Pairwise Coupling, 2004; algorithm
 * 2). A row that has converged stays as it is. */
struct value *compose_coupled(struct compose *c, const struct compose_pairs *pairs,
                              struct value *r)
{
        enum { ROUNDS = 100 };
        int k = pairs->classes, pair = 0;
        const int64_t axis = 1;
        struct value **of = arena_array(c->arena, (size_t)k * (size_t)k, sizeof *of),
                     **rows = arena_array(c->arena, (size_t)k, sizeof *rows),
                     **row = arena_array(c->arena, (size_t)k, sizeof *row);
        for (int i = 0; i < k; i++)
                for (int j = i + 1; j < k; j++, pair++) {
                        of[i * k + j] = column(c, r, pair);
                        of[j * k + i] = compose_from(c, OP_sub, 1, of[i * k + j]);
                }
        for (int i = 0; i < k; i++) {
                struct value *own = NULL;
                for (int j = 0; j < k; j++) {
                        if (j == i)
                                continue;
                        struct value *square = mul(c, of[j * k + i], of[j * k + i]);
                        own = own ? add(c, own, square) : square;
                        row[j] = compose_unary(c, OP_neg,
                                               mul(c, of[j * k + i], of[i * k + j]));
                        if (!row[j])
                                return NULL;
                }
                row[i] = own;
                rows[i] = own ? build_concat(c->b, row, k, 1) : NULL;
                if (!rows[i])
                        return NULL;
        }
        struct value *start = constant_number(c->m, rows[0]->type, 1 / (double)k),
                     *yielded[2] = { NULL, NULL };
        const struct compose_loop_parts parts = { .trip = compose_integer(c, E_I64, ROUNDS),
                                                  .go = compose_integer(c, E_BOOL, 1),
                                                  .steps = ROUNDS,
                                                  .first = &start,
                                                  .carried = 1 };
        struct compose_loop loop;
        if (!compose_loop_open(c, &parts, &loop))
                return NULL;
        struct value *p = &loop.held[0];
        for (int i = 0; i < k; i++)
                row[i] = sum_of_row(c, mul(c, rows[i], p));
        struct value *qp = row[k - 1] ? build_concat(c->b, row, k, 1) : NULL,
                     *pqp = sum_of_row(c, mul(c, p, qp));
        struct value *off = compose_unary(c, OP_abs, sub(c, qp, pqp));
        off = off ? compose_reduce(c, REDUCE_max, off, &axis, 1, E_COMPUTE) : NULL;
        struct value *on = compose_with(c, OP_ge, off, 0.005 / k),
                     *next = searched(c, pairs, rows, p, qp, pqp);
        if (on && next) {
                const int64_t all = 0;
                yielded[0] = compose_reduce(c, REDUCE_max, on, &all, 1, E_COMPUTE);
                yielded[1] = compose_select(
                        c, compose_spread(c, on, p->type, (const int64_t[]){ 0 }), next, p);
        }
        return compose_loop_close(c, &loop, yielded) ? &loop.op->results[0] : NULL;
}

struct value *compose_pair_probabilities(struct compose *c, const struct compose_pairs *p,
                                         struct value *scores, const float *a, const float *b)
{
        struct value *at = add(c, mul(c, scores, compose_matrix_of(c, 1, p->count, a)),
                               compose_matrix_of(c, 1, p->count, b));
        return clamp(c, compose_unary(c, OP_sigmoid, compose_unary(c, OP_neg, at)),
                     1e-7, 1 - 1e-7);
}
