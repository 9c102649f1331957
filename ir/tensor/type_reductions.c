/* SPDX-License-Identifier: MIT */
/* Type rules of contractions and reductions. */
#include "ir/tensor/type_rules.h"

/* ---- dot ---- */

/* Checks the lists batch_* and contract_* of one operand together: their dimensions are distinct,
 * and in range; *used: a bit per dimension named. */
static bool dot_dims(const struct op *op, const char *batch_name, const char *contract_name,
                     int rank, uint32_t *used, struct diag *diag)
{
        int batch_count, contract_count;
        const int64_t *batch = op_ints(op, batch_name, &batch_count);
        const int64_t *contract = op_ints(op, contract_name, &contract_count);
        if (!rule_distinct(op, batch_name, batch, batch_count, rank, diag) ||
            !rule_distinct(op, contract_name, contract, contract_count, rank, diag))
                return false;
        *used = 0;
        for (int i = 0; i < batch_count; i++)
                *used |= UINT32_C(1) << batch[i];
        for (int i = 0; i < contract_count; i++) {
                if (*used >> contract[i] & 1)
                        return rule_fail(op, diag, "dimension %d is in both %s and %s",
                                         (int)contract[i], batch_name, contract_name);
                *used |= UINT32_C(1) << contract[i];
        }
        return true;
}

static bool dot_pairs(struct module *m, const struct op *op, const char *name_a, const char *name_b,
                      struct diag *diag)
{
        int count_a, count_b;
        const int64_t *a = op_ints(op, name_a, &count_a), *b = op_ints(op, name_b, &count_b);
        if (count_a != count_b)
                return rule_fail(op, diag, "%s and %s have %d and %d values, want equal numbers",
                                 name_a, name_b, count_a, count_b);
        for (int i = 0; i < count_a; i++) {
                dim_t x = operand_type(op, 0)->dims[a[i]], y = operand_type(op, 1)->dims[b[i]];
                if (!dim_equal(x, y))
                        return rule_fail(op, diag,
                                         "dimension %d of a is %s, dimension %d of b is %s, want "
                                         "equal extents",
                                         (int)a[i], rule_dim(m, x), (int)b[i], rule_dim(m, y));
        }
        return true;
}

/* Finds the element type of a contraction: its operands have the same, or with an accumulator of
 * its own two integer types. */
static bool contraction_element(struct module *m, const struct op *op, enum element *e,
                                struct diag *diag)
{
        const struct type *a = operand_type(op, 0), *b = operand_type(op, 1);
        bool both = element_is_integer(a->element) && element_is_integer(b->element) &&
                    op_int(op, "accumulator") != E_COMPUTE;
        if (a->element != b->element && !both)
                return rule_fail(op, diag, "operands are %s and %s, want equal elements",
                                 rule_type(m, a), rule_type(m, b));
        return rule_accumulator(op, a->element, false, e, diag);
}

bool type_dot(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *a = operand_type(op, 0), *b = operand_type(op, 1);
        uint32_t used_a, used_b;
        enum element e;
        dim_t dims[2 * RANK_MAX];
        int rank = 0, batch_count;
        if (!contraction_element(m, op, &e, diag) ||
            !dot_dims(op, "batch_a", "contract_a", a->rank, &used_a, diag) ||
            !dot_dims(op, "batch_b", "contract_b", b->rank, &used_b, diag) ||
            !dot_pairs(m, op, "batch_a", "batch_b", diag) ||
            !dot_pairs(m, op, "contract_a", "contract_b", diag))
                return false;
        const int64_t *batch = op_ints(op, "batch_a", &batch_count);
        for (int i = 0; i < batch_count; i++)
                dims[rank++] = a->dims[batch[i]];
        for (int i = 0; i < a->rank; i++)
                if (!(used_a >> i & 1))
                        dims[rank++] = a->dims[i];
        for (int i = 0; i < b->rank; i++)
                if (!(used_b >> i & 1))
                        dims[rank++] = b->dims[i];
        return rule_shape(m, op, e, rank, dims, diag);
}

/* ---- windows ---- */

/* Returns the extent after dilation: there are gaps of d - 1 between elements; 0 stays 0. */
static dim_t dilated(struct module *m, dim_t extent, int64_t d)
{
        return dim_binary(m, DIM_SUB, dim_binary(m, DIM_MUL, extent, dim_of(d)), dim_of(d - 1));
}

/* Returns floor((x + low + high - window) / stride) + 1, or 0 where that is negative; x and window
 * are already dilated. It is computed as (x + (low + high - window + stride)) / stride: SUB stops
 * at 0, so the same holds for symbols. */
dim_t rule_positions(struct module *m, dim_t x, int64_t window, int64_t stride, int64_t pads)
{
        int64_t k = pads - window + stride;
        return dim_binary(m, DIM_DIV,
                          dim_binary(m, k >= 0 ? DIM_ADD : DIM_SUB, x, dim_of(k >= 0 ? k : -k)),
                          dim_of(stride));
}

bool type_convolve(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0), *w = operand_type(op, 1);
        int spatial = x->rank - 2;
        enum element e;
        if (x->rank < 2 || w->rank != x->rank)
                return rule_fail(op, diag, "operands are %s and %s, want equal ranks of at least 2",
                                 rule_type(m, x), rule_type(m, w));
        if (!contraction_element(m, op, &e, diag))
                return false;
        const int64_t *strides = rule_ints(m, op, "strides", spatial, 1, STEP_MAX, diag);
        const int64_t *dilations =
                strides ? rule_ints(m, op, "dilations", spatial, 1, STEP_MAX, diag) : NULL;
        const int64_t *gaps =
                dilations ? rule_ints(m, op, "input_dilations", spatial, 1, STEP_MAX, diag) : NULL;
        const int64_t *pads =
                gaps ? rule_ints(m, op, "pads", 2 * spatial, -STEP_MAX, STEP_MAX, diag) : NULL;
        int64_t groups = op_int(op, "groups");
        if (!pads)
                return false;
        if (groups < 1 || groups > STEP_MAX)
                return rule_fail(op, diag, "groups is %lld, want 1 to %d", (long long)groups,
                                 STEP_MAX);
        if (!dim_equal(x->dims[1], dim_binary(m, DIM_MUL, w->dims[1], dim_of(groups))))
                return rule_fail(op, diag, "x has %s channels, want %s in each of %lld groups",
                                 rule_dim(m, x->dims[1]), rule_dim(m, w->dims[1]),
                                 (long long)groups);
        if (groups > 1 && (!dim_is_static(w->dims[0]) || type_extent(w, 0) % groups))
                return rule_fail(op, diag, "%s result channels do not divide into %lld groups",
                                 rule_dim(m, w->dims[0]), (long long)groups);
        dim_t dims[RANK_MAX] = { x->dims[0], w->dims[0] };
        for (int i = 0; i < spatial; i++) {
                if (!dim_is_static(w->dims[2 + i]))
                        return rule_fail(op, diag,
                                         "operand w is %s, want a window of known extents",
                                         rule_type(m, w));
                dims[2 + i] = rule_positions(m, dilated(m, x->dims[2 + i], gaps[i]),
                                             dim_extent(dilated(m, w->dims[2 + i], dilations[i])),
                                             strides[i], pads[i] + pads[spatial + i]);
        }
        return rule_shape(m, op, e, x->rank, dims, diag);
}

/* Checks the result of a window. A given result may have more positions than the formula (a ceil
 * mode) as long as each window starts inside x or the padding before it; elements outside x do not
 * count. */
static bool window_result(struct module *m, struct op *op, enum element e, struct diag *diag)
{
        const struct type *x = operand_type(op, 0), *given = op->results[0].type;
        const int64_t *window = rule_ints(m, op, "window", x->rank, 1, STEP_MAX, diag);
        const int64_t *strides =
                window ? rule_ints(m, op, "strides", x->rank, 1, STEP_MAX, diag) : NULL;
        const int64_t *dilations =
                strides ? rule_ints(m, op, "dilations", x->rank, 1, STEP_MAX, diag) : NULL;
        const int64_t *pads =
                dilations ? rule_ints(m, op, "pads", 2 * x->rank, -STEP_MAX, STEP_MAX, diag) : NULL;
        dim_t dims[RANK_MAX];
        if (!pads)
                return false;
        for (int i = 0; i < x->rank; i++) {
                dims[i] = rule_positions(m, x->dims[i], (window[i] - 1) * dilations[i] + 1,
                                         strides[i], pads[i] + pads[x->rank + i]);
                if (!given || given->kind != TYPE_TENSOR || given->rank != x->rank ||
                    !dim_is_static(dims[i]) || !dim_is_static(x->dims[i]) ||
                    !dim_is_static(given->dims[i]))
                        continue;
                int64_t reach = type_extent(x, i) + pads[i],
                        most = reach > 0 ? (reach - 1) / strides[i] + 1 : 0;
                if (type_extent(given, i) > dim_extent(dims[i]) && type_extent(given, i) <= most)
                        dims[i] = given->dims[i];
        }
        return rule_shape(m, op, e, x->rank, dims, diag);
}

bool type_reduce_window(struct module *m, struct op *op, struct diag *diag)
{
        enum element e;
        bool any = reducer_takes_any((enum reducer)op_int(op, "kind"));
        return rule_accumulator(op, operand_type(op, 0)->element, any, &e, diag) &&
               window_result(m, op, e, diag);
}

bool type_arg_window(struct module *m, struct op *op, struct diag *diag)
{
        return window_result(m, op, E_I64, diag);
}

/* ---- reductions along axes ---- */

/* Returns x without the dimensions of `axes` (a bit each), or with 1 in their place. */
static const struct type *without_axes(struct module *m, const struct type *x, enum element e,
                                       uint32_t axes, bool keep)
{
        dim_t dims[RANK_MAX];
        int rank = 0;
        for (int i = 0; i < x->rank; i++)
                if (!(axes >> i & 1))
                        dims[rank++] = x->dims[i];
                else if (keep)
                        dims[rank++] = dim_of(1);
        return type_tensor(m, e, rank, dims);
}

bool type_reduce(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0), *given = op->results[0].type;
        dim_t count = operand_type(op, 1)->dims[0];
        int64_t axes[RANK_MAX];
        uint32_t mask = 0;
        bool known = false;
        enum element e;
        if (!rule_accumulator(op, x->element, reducer_takes_any((enum reducer)op_int(op, "kind")),
                              &e, diag))
                return false;
        if (dim_is_static(count) && dim_extent(count) > x->rank)
                return rule_fail(op, diag, "axes has %lld values, want at most %d",
                                 (long long)dim_extent(count), x->rank);
        if (dim_is_static(count) &&
            !rule_operand_ints(op, 1, (int)dim_extent(count), axes, &known, diag))
                return false;
        if (!known) {
                given = rule_given(m, op, (int)e, -1, diag);
                if (given && given->rank > x->rank)
                        return rule_fail(op, diag, "result is %s, want at most %d dimensions",
                                         rule_type(m, given), x->rank);
                return given;
        }
        if (!rule_distinct(op, "axes", axes, (int)dim_extent(count), x->rank, diag))
                return false;
        for (int i = 0; i < dim_extent(count); i++)
                mask |= UINT32_C(1) << axes[i];
        /* The axes may have been found out later: the type given for run-time axes may have kept
         * them. */
        if (given && given == without_axes(m, x, e, mask, true))
                return true;
        return rule_result(m, op, 0, without_axes(m, x, e, mask, false), diag);
}
