/* SPDX-License-Identifier: MIT */
/* Adjoints of contractions are contractions:
 *
 *      y = dot(a, b)             d a: dot(d y, b) over what b has free;  d b: dot(d y, a)
 *      y = convolve(x, w)        d x: convolve(d y with zeros between, w turned around), whose
 *                                     channels of x and of y have changed places
 *                                d w: convolve(x, d y), where batch and channels have changed
 *                                     places, strides are dilations and dilations strides; a dot
 *                                     where the window is one element, and sums of products where
 *                                     each channel has its own output */
#include "ir/adjoint/adjoint.h"
#include "ir/tensor/ops.h"

/* ---- dot ---- */

/* The dimensions of an operand of a dot, by what they are. */
struct side {
        const int64_t *batch, *contract;
        int64_t free[RANK_MAX];
        int batches, contracts, frees;
};

static struct side side_of(const struct op *op, int operand)
{
        struct side side = { .frees = 0 };
        uint32_t used = 0;
        side.batch = op_ints(op, operand ? "batch_b" : "batch_a", &side.batches);
        side.contract = op_ints(op, operand ? "contract_b" : "contract_a", &side.contracts);
        for (int i = 0; i < side.batches; i++)
                used |= UINT32_C(1) << side.batch[i];
        for (int i = 0; i < side.contracts; i++)
                used |= UINT32_C(1) << side.contract[i];
        for (int d = 0; d < op_operand(op, operand)->type->rank; d++)
                if (!(used >> d & 1))
                        side.free[side.frees++] = d;
        return side;
}

/* Where the dimensions of operand `to` lie in the product of d y and the other operand: batch, then
 * the free ones of `to` and those contracted, in the other's order; the other way round where the
 * other operand is the product's first. Returns whether each lies where it is to be. */
static bool places_in_product(const struct side *own, const struct side *other, bool other_first,
                              int64_t *places)
{
        const int frees = own->batches + (other_first ? own->contracts : 0),
                  contracts = own->batches + (other_first ? 0 : own->frees);
        bool in_place = true;
        for (int i = 0; i < own->batches; i++)
                places[own->batch[i]] = i;
        for (int i = 0; i < own->frees; i++)
                places[own->free[i]] = frees + i;
        for (int i = 0; i < own->contracts; i++) {
                int64_t before = 0;
                for (int k = 0; k < own->contracts; k++)
                        before += other->contract[k] < other->contract[i];
                places[own->contract[i]] = contracts + before;
        }
        for (int i = 0; i < own->batches + own->frees + own->contracts; i++)
                in_place = in_place && places[i] == i;
        return in_place;
}

/* Builds the derivative by operand `to`: d y times the other operand, over its free dimensions, in
 * the order that needs no transpose where there is one. */
static struct value *dot_by(struct builder *b, const struct op *op, int to, struct value *d)
{
        const struct side own = side_of(op, to), other = side_of(op, !to);
        struct value *x = op_operand(op, to), *by = op_operand(op, !to);
        int64_t batch[RANK_MAX], over[RANK_MAX], places[RANK_MAX];
        const bool other_first = !places_in_product(&own, &other, false, places) &&
                                 places_in_product(&own, &other, true, places);
        for (int i = 0; i < own.batches; i++)
                batch[i] = i;
        for (int i = 0; i < other.frees; i++)
                over[i] = own.batches + (to ? 0 : own.frees) + i;
        struct attr *attrs = attrs_new(b->m, OP_dot);
        attr_set_ints(b->m, attrs, OP_dot, other_first ? "batch_b" : "batch_a", batch, own.batches);
        attr_set_ints(b->m, attrs, OP_dot, other_first ? "batch_a" : "batch_b", other.batch,
                      own.batches);
        attr_set_ints(b->m, attrs, OP_dot, other_first ? "contract_b" : "contract_a", over,
                      other.frees);
        attr_set_ints(b->m, attrs, OP_dot, other_first ? "contract_a" : "contract_b", other.free,
                      other.frees);
        d = build_cast(b, d, by->type->element);
        struct value *operands[] = { other_first ? by : d, other_first ? d : by };
        struct value *product = d ? value_build(b, OP_dot, operands, 2, attrs, NULL) : NULL;
        if (!other_first)
                places_in_product(&own, &other, false, places);
        return build_cast(b, build_transpose(b, product, places), x->type->element);
}

bool adjoint_dot(struct sweep *s, const struct op *op)
{
        struct value *d = sweep_of(s, op_result(op));
        for (int i = 0; i < 2; i++) {
                struct value *x = op_operand(op, i);
                if (sweep_wants(s, x) && !sweep_flow(s, x, dot_by(s->b, op, i, d)))
                        return false;
        }
        return true;
}

/* ---- convolve ---- */

/* The numbers of a convolution, per spatial dimension. */
struct window {
        int spatial;
        int64_t groups;
        const int64_t *strides, *dilations, *gaps, *pads;
};

static struct window window_of(const struct op *op)
{
        return (struct window){ .spatial = op_result(op)->type->rank - 2,
                                .groups = op_int(op, "groups"),
                                .strides = op_ints(op, "strides", NULL),
                                .dilations = op_ints(op, "dilations", NULL),
                                .gaps = op_ints(op, "input_dilations", NULL),
                                .pads = op_ints(op, "pads", NULL) };
}

static struct value *convolved(struct builder *b, struct value *x, struct value *w,
                               const struct window *n)
{
        struct attr *attrs = attrs_new(b->m, OP_convolve);
        if (!x || !w)
                return NULL;
        attr_set_ints(b->m, attrs, OP_convolve, "strides", n->strides, n->spatial);
        attr_set_ints(b->m, attrs, OP_convolve, "dilations", n->dilations, n->spatial);
        attr_set_ints(b->m, attrs, OP_convolve, "input_dilations", n->gaps, n->spatial);
        attr_set_ints(b->m, attrs, OP_convolve, "pads", n->pads, 2 * n->spatial);
        attr_set(attrs, OP_convolve, "groups", n->groups);
        return value_build(b, OP_convolve, (struct value *[]){ x, w }, 2, attrs, NULL);
}

/* Splits dimension d of v, of extent groups * rest, into two and brings them to the places `perm`
 * says, then joins the two dimensions from `joined` on. */
static struct value *regrouped(struct builder *b, struct value *v, int d, int64_t groups,
                               const int64_t *perm, int joined)
{
        dim_t dims[RANK_MAX + 1];
        const struct type *t = v->type;
        for (int i = 0, to = 0; i < t->rank; i++)
                if (i == d) {
                        dims[to++] = dim_of(groups);
                        dims[to++] = dim_binary(b->m, DIM_DIV, t->dims[i], dim_of(groups));
                } else {
                        dims[to++] = t->dims[i];
                }
        v = build_transpose(b, build_reshape(b, v, t->rank + 1, dims), perm);
        if (!v)
                return NULL;
        memcpy(dims, v->type->dims, (size_t)(t->rank + 1) * sizeof *dims);
        dims[joined] = dim_binary(b->m, DIM_MUL, dims[joined], dims[joined + 1]);
        memmove(dims + joined + 1, dims + joined + 2,
                (size_t)(t->rank - joined - 1) * sizeof *dims);
        return build_reshape(b, v, t->rank, dims);
}

/* Returns w [groups x M, C, window] as [groups x C, M, window], the window turned around. */
static struct value *turned(struct builder *b, struct value *w, int64_t groups)
{
        int64_t perm[RANK_MAX + 1];
        const int rank = w->type->rank;
        for (int d = 2; d < rank; d++)
                w = adjoint_reversed(b, w, d);
        for (int i = 0; i <= rank; i++)
                perm[i] = i == 1 ? 2 : i == 2 ? 1 : i;
        return w ? regrouped(b, w, 0, groups, perm, 0) : NULL;
}

/* Element i of x with gaps meets tap k of the output o where i = o * stride + k * dilation - pad;
 * counted from the window's end, that is a convolution of d y with gaps of the strides. */
static struct value *convolve_by_x(struct builder *b, const struct op *op, struct value *d)
{
        struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        struct window n = window_of(op), back = n;
        int64_t pads[2 * RANK_MAX];
        const int spatial = n.spatial;
        for (int i = 0; i < spatial; i++) {
                int64_t reach = (type_extent(w->type, 2 + i) - 1) * n.dilations[i],
                        outputs = type_extent(d->type, 2 + i),
                        dilated = outputs ? (outputs - 1) * n.strides[i] + 1 : 0,
                        extent = type_extent(x->type, 2 + i);
                pads[i] = reach - n.pads[i];
                pads[spatial + i] =
                        (extent - 1) * n.gaps[i] + 1 + reach - dilated - pads[i];
        }
        back.strides = n.gaps;
        back.gaps = n.strides;
        back.pads = pads;
        d = build_cast(b, d, x->type->element);
        w = turned(b, w, n.groups);
        return convolved(b, d, w, &back);
}

static struct value *convolve_by_w(struct builder *b, const struct op *op, struct value *d)
{
        struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        struct window n = window_of(op), back = n;
        int64_t pads[2 * RANK_MAX], swap[RANK_MAX], split[RANK_MAX + 1];
        const int spatial = n.spatial, rank = spatial + 2;
        for (int i = 0; i < rank; i++)
                swap[i] = i < 2 ? 1 - i : i;
        /* x [N, groups x C, ..] becomes [C, groups x N, ..]. */
        for (int i = 0; i <= rank; i++)
                split[i] = i == 0 ? 2 : i == 2 ? 0 : i;
        for (int i = 0; i < spatial; i++) {
                int64_t extent = type_extent(x->type, 2 + i),
                        dilated = extent ? (extent - 1) * n.gaps[i] + 1 : 0,
                        outputs = type_extent(d->type, 2 + i),
                        reach = outputs ? (outputs - 1) * n.strides[i] + 1 : 0,
                        taps = type_extent(w->type, 2 + i);
                pads[i] = n.pads[i];
                pads[spatial + i] = (taps - 1) * n.dilations[i] + reach - dilated - n.pads[i];
        }
        back.strides = n.dilations;
        back.dilations = n.strides;
        back.pads = pads;
        d = build_transpose(b, build_cast(b, d, x->type->element), swap);
        x = regrouped(b, x, 1, n.groups, split, 1);
        return build_transpose(b, convolved(b, x, d, &back), swap);
}

/* ---- depthwise ---- */

/* Has each channel one output of its own, and few taps? As a convolution by d y with a group for
 * each channel, its gradient would use one lane of a vector. */
static bool has_own_outputs(const struct op *op)
{
        enum { TAPS_MOST = 64 };
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        const int64_t groups = op_int(op, "groups");
        return op_is_depthwise(op) && dim_is(w->dims[0], groups) &&
               (x->element == E_F32 || x->element == E_F64) &&
               type_elements(w) <= TAPS_MOST * groups && op_all_ones(op, "input_dilations");
}

/* Returns x with the pads of a convolution whose outputs are d y's. */
static struct value *padded(struct builder *b, struct value *x, const struct type *w,
                            const struct type *d, const struct window *n)
{
        int64_t low[RANK_MAX] = { 0 };
        dim_t dims[RANK_MAX];
        for (int i = 0; i < 2; i++)
                dims[i] = x->type->dims[i];
        for (int i = 0; i < n->spatial; i++) {
                low[2 + i] = n->pads[i];
                dims[2 + i] = dim_of((type_extent(w, 2 + i) - 1) * n->dilations[i] +
                                     (type_extent(d, 2 + i) - 1) * n->strides[i] + 1);
        }
        return adjoint_placed_at(b, x, low,
                                 type_tensor(b->m, x->type->element, x->type->rank, dims));
}

/* Returns the gradient of tap k of all channels, <C>: the sum of products of d y and of what the
 * tap met, dw[c, k] = sum over n, o of x[n, c, o * stride + k * dilation] * d y[n, c, o]. */
static struct value *tap_by_w(struct builder *b, struct value *x, struct value *d,
                              const struct type *w, const struct window *n, int64_t k)
{
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX] = { 1, 1 }, axes[RANK_MAX] = { 0 };
        for (int i = n->spatial - 1; i >= 0; k /= type_extent(w, 2 + i), i--) {
                starts[2 + i] = k % type_extent(w, 2 + i) * n->dilations[i];
                steps[2 + i] = n->strides[i];
                axes[1 + i] = 2 + i;
        }
        struct value *met = build_slice(b, x, starts, steps, d->type->dims);
        return build_reduce(b, REDUCE_sum, build_binary(b, OP_mul, met, d), axes, 1 + n->spatial);
}

static struct value *depthwise_by_w(struct sweep *s, const struct op *op, struct value *d)
{
        struct builder *b = s->b;
        const struct type *w = op_operand(op, 1)->type;
        const struct window n = window_of(op);
        const int64_t taps = type_elements(w) / n.groups;
        struct value **made = arena_array(s->arena, (size_t)taps, sizeof *made);
        d = build_cast(b, d, op_operand(op, 0)->type->element);
        struct value *x = d ? padded(b, op_operand(op, 0), w, d->type, &n) : NULL;
        for (int64_t k = 0; k < taps; k++) {
                struct value *sum = x ? tap_by_w(b, x, d, w, &n, k) : NULL;
                made[k] = build_reshape(b, sum, 2, (dim_t[]){ dim_of(n.groups), dim_of(1) });
                if (!made[k])
                        return NULL;
        }
        return build_reshape(b, build_concat(b, made, (int)taps, 1), w->rank, w->dims);
}

/* ---- windows of one element ---- */

/* Is it a product of positions by a matrix? Then so is its gradient. */
static bool is_product(const struct op *op)
{
        const struct window n = window_of(op);
        bool one = n.groups == 1 && op_all_ones(op, "strides") &&
                   op_all_ones(op, "input_dilations");
        for (int i = 0; i < n.spatial; i++)
                one = one && type_extent(op_operand(op, 1)->type, 2 + i) == 1 && !n.pads[i] &&
                      !n.pads[n.spatial + i];
        return one;
}

/* Returns v [N, C, spatial] as [N x positions, C]. */
static struct value *rows_of(struct builder *b, struct value *v)
{
        int64_t perm[RANK_MAX];
        const int rank = v->type->rank;
        for (int d = 0; d < rank; d++)
                perm[d] = d == 0 ? 0 : d + 1 < rank ? d + 1 : 1;
        const dim_t dims[] = { dim_of(type_elements(v->type) / type_extent(v->type, 1)),
                               v->type->dims[1] };
        return build_reshape(b, build_transpose(b, v, perm), 2, dims);
}

/* dw[m, c] = sum over positions p of d y[p, m] * x[p, c]. */
static struct value *product_by_w(struct builder *b, const struct op *op, struct value *d)
{
        struct value *x = op_operand(op, 0);
        const struct type *w = op_operand(op, 1)->type;
        const int64_t first = 0;
        struct attr *attrs = attrs_new(b->m, OP_dot);
        d = build_cast(b, d, x->type->element);
        struct value *left = d ? rows_of(b, d) : NULL, *right = left ? rows_of(b, x) : NULL;
        attr_set_ints(b->m, attrs, OP_dot, "contract_a", &first, 1);
        attr_set_ints(b->m, attrs, OP_dot, "contract_b", &first, 1);
        if (!right)
                return NULL;
        struct value *operands[] = { left, right };
        return build_reshape(b, value_build(b, OP_dot, operands, 2, attrs, NULL), w->rank, w->dims);
}

bool adjoint_convolve(struct sweep *s, const struct op *op)
{
        struct value *x = op_operand(op, 0), *w = op_operand(op, 1),
                     *d = sweep_of(s, op_result(op));
        if (!op_is_static(op))
                return sweep_refuse(s, op, "its extents are known at run time only");
        if (x->type->rank == RANK_MAX)
                return sweep_refuse(s, op, "it has too many dimensions");
        if (type_is_empty(op_result(op)->type) || type_is_empty(x->type))
                return true;
        return (!sweep_wants(s, x) || sweep_flow(s, x, convolve_by_x(s->b, op, d))) &&
               (!sweep_wants(s, w) ||
                sweep_flow(s, w, has_own_outputs(op) ? depthwise_by_w(s, op, d)
                                 : is_product(op) ? product_by_w(s->b, op, d)
                                                  : convolve_by_w(s->b, op, d)));
}
