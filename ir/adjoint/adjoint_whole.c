/* SPDX-License-Identifier: MIT */
/* Adjoints of operations whose elements are computed all together: scatters and spectra. */
#include "ir/adjoint/adjoint.h"
#include "ir/tensor/ops.h"
#include "ir/tensor/spectrum.h"

struct scattered {
        struct builder *b;
        const struct op *op;
        struct value *x, *indices, *updates, *y, *d;
};

/* Returns a scatter like op of other values. */
static struct value *scatter_like(const struct scattered *c, struct value *x, struct value *updates,
                                  int kind)
{
        struct attr *attrs = attrs_new(c->b->m, OP_scatter);
        if (!x || !updates)
                return NULL;
        attr_set(attrs, OP_scatter, "kind", kind);
        attr_set(attrs, OP_scatter, "axis", op_int(c->op, "axis"));
        return value_build(c->b, OP_scatter, (struct value *[]){ x, c->indices, updates }, 3,
                           attrs, NULL);
}

/* Returns, for each update, the element of v, of y's shape, that it goes to. */
static struct value *at_updates(const struct scattered *c, struct value *v)
{
        struct builder *b = c->b;
        const int axis = (int)op_int(c->op, "axis");
        const struct type *updates = c->updates->type;
        if (!v)
                return NULL;
        if (axis < 0)
                return value_build(b, OP_gather_nd, (struct value *[]){ v, c->indices }, 2, NULL,
                                   NULL);
        int64_t dims[RANK_MAX];
        for (int i = 0; i < RANK_MAX; i++)
                dims[i] = i;
        struct attr *attrs = attrs_new(b->m, OP_gather_elements);
        attr_set(attrs, OP_gather_elements, "axis", axis);
        struct value *indices = build_broadcast(
                b, c->indices, type_with_element(b->m, updates, c->indices->type->element), dims);
        return indices ? value_build(b, OP_gather_elements, (struct value *[]){ v, indices }, 2,
                                     attrs, NULL)
                       : NULL;
}

/* Which of several updates replaced an element is found by scattering their numbers. */
static struct value *replacing(const struct scattered *c)
{
        struct builder *b = c->b;
        const struct type *t = c->updates->type;
        dim_t all = dim_of(type_elements(t));
        struct value *number = build_reshape(
                b, build_iota(b, type_tensor(b->m, E_I64, 1, &all), 0), t->rank, t->dims);
        struct value *none = constant_number(b->m, type_with_element(b->m, c->x->type, E_I64), -1);
        struct value *won = at_updates(c, scatter_like(c, none, number, 0));
        struct value *d = at_updates(c, c->d);
        return build_select(b, build_binary(b, OP_eq, won, number), d, build_like(b, d, 0));
}

/* Returns the shares of equal ones: x and updates that are y's element get d by their number. */
static bool flow_extremes(struct sweep *s, const struct scattered *c)
{
        struct builder *b = c->b;
        const enum element e = c->x->type->element;
        struct value *kept = build_binary(b, OP_eq, c->x, c->y),
                     *taken = build_binary(b, OP_eq, c->updates, at_updates(c, c->y));
        struct value *kept_count = build_cast(b, kept, e), *taken_count = build_cast(b, taken, e),
                     *count = scatter_like(c, kept_count, taken_count, 1 + REDUCE_sum);
        struct value *share = build_binary(b, OP_div, c->d, count), *there = at_updates(c, share);
        if (!share || !there)
                return false;
        return (!sweep_wants(s, c->x) ||
                sweep_flow(s, c->x,
                           build_select(b, kept, share, build_like(b, share, 0)))) &&
               (!sweep_wants(s, c->updates) ||
                sweep_flow(s, c->updates,
                           build_select(b, taken, there, build_like(b, there, 0))));
}

/* y = x * u1 * u2 ..: the derivative by a factor is the product of the others, as of reduce
 * prod. */
static bool flow_products(struct sweep *s, const struct scattered *c)
{
        struct builder *b = c->b;
        const enum element e = c->x->type->element;
        struct value *zero_x = build_binary(b, OP_eq, c->x, build_like(b, c->x, 0)),
                     *zero_u = build_binary(b, OP_eq, c->updates, build_like(b, c->updates, 0));
        struct value *nonzero_x = build_select(b, zero_x, build_like(b, c->x, 1), c->x),
                     *nonzero_u = build_select(b, zero_u, build_like(b, c->updates, 1), c->updates),
                     *others = scatter_like(c, nonzero_x, nonzero_u, 1 + REDUCE_prod);
        struct value *count_x = build_cast(b, zero_x, e), *count_u = build_cast(b, zero_u, e),
                     *zeros = scatter_like(c, count_x, count_u, 1 + REDUCE_sum);
        if (!others || !zeros)
                return false;
        struct value *one = build_binary(b, OP_eq, zeros, build_like(b, zeros, 1)),
                     *none = build_binary(b, OP_eq, zeros, build_like(b, zeros, 0));
        struct value *sides[] = { c->x, c->updates }, *zero[] = { zero_x, zero_u };
        for (int i = 0; i < 2; i++) {
                struct value *v = sides[i];
                if (!sweep_wants(s, v))
                        continue;
                struct value *product = i ? at_updates(c, others) : others,
                             *without = i ? at_updates(c, none) : none,
                             *with_one = i ? at_updates(c, one) : one,
                             *d = i ? at_updates(c, c->d) : c->d;
                struct value *lone = build_binary(b, OP_and, zero[i], with_one);
                struct value *quotient = build_binary(b, OP_div, product, v),
                             *rest = build_select(b, lone, product, build_like(b, product, 0)),
                             *factor = build_select(b, without, quotient, rest);
                if (!sweep_flow(s, v, build_binary(b, OP_mul, d, factor)))
                        return false;
        }
        return true;
}

bool adjoint_scatter(struct sweep *s, const struct op *op)
{
        const struct scattered c = { .b = s->b,
                                     .op = op,
                                     .x = op_operand(op, 0),
                                     .indices = op_operand(op, 1),
                                     .updates = op_operand(op, 2),
                                     .y = op_result(op),
                                     .d = sweep_of(s, op_result(op)) };
        const int64_t kind = op_int(op, "kind");
        if (kind == 1 + REDUCE_prod)
                return flow_products(s, &c);
        if (kind == 1 + REDUCE_max || kind == 1 + REDUCE_min)
                return flow_extremes(s, &c);
        const bool replaces = kind == 0;
        if (replaces && sweep_wants(s, c.updates) && !type_is_static(c.updates->type))
                return sweep_refuse(s, op, "its extents are known at run time only");
        if (sweep_wants(s, c.x) &&
            !sweep_flow(s, c.x,
                        replaces ? scatter_like(&c, c.d, sweep_zeros(s, c.updates->type), 0) : c.d))
                return false;
        return !sweep_wants(s, c.updates) ||
               sweep_flow(s, c.updates, replaces ? replacing(&c) : at_updates(&c, c.d));
}

/* ---- spectra ---- */

/* Returns x, the last of whose axes has the spectrum's first half, times 2 where an element stands
 * for its mirror image, too. */
static struct value *with_mirror_images(struct builder *b, struct value *x, int axis,
                                        int64_t length)
{
        const struct type *t = x->type;
        struct value *at = build_iota(b, type_with_element(b->m, t, E_I64), axis),
                     *zero = build_like(b, at, 0), *middle = build_like(b, at, (double)length / 2);
        struct value *alone = build_binary(b, OP_eq, at, zero);
        if (length % 2 == 0)
                alone = build_binary(b, OP_or, alone, build_binary(b, OP_eq, at, middle));
        struct value *twice = build_binary(b, OP_add, x, x);
        return build_select(b, alone, x, twice);
}

/* The transform is linear, and symmetric but for the halves: its adjoint is the one of the other
 * sign. Of real numbers the real part counts; zeros stand where a half has been left out. */
bool adjoint_spectrum(struct sweep *s, const struct op *op)
{
        struct builder *b = s->b;
        struct value *x = op_operand(op, 0), *d = sweep_of(s, op_result(op));
        const bool inverse = op_int(op, "inverse"), half = op_int(op, "half");
        struct spectrum_request r = { .inverse = !inverse, .parts = spectrum_parts(op) };
        const int64_t *axes = op_ints(op, "axes", &r.count);
        const int64_t none[RANK_MAX] = { 0 };
        double elements = 1;
        if (!op_is_static(op))
                return sweep_refuse(s, op, "its extents are known at run time only");
        for (int i = 0; i < r.count; i++) {
                r.axes[i] = (int)axes[i];
                elements *= (double)spectrum_plan_of(op, i).extent;
        }
        const int last = r.axes[r.count - 1];
        if (half && inverse) {
                r.half = true;
        } else if (half) {
                dim_t dims[RANK_MAX];
                memcpy(dims, d->type->dims, (size_t)d->type->rank * sizeof *dims);
                dims[last] = x->type->dims[last];
                d = adjoint_placed_at(b, d, none, type_tensor(b->m, d->type->element,
                                                              d->type->rank, dims));
        }
        d = d ? build_spectrum(b, d, &r) : NULL;
        if (!d)
                return false;
        struct value *size = build_like(b, d, elements);
        d = build_binary(b, inverse ? OP_div : OP_mul, d, size);
        if (half && inverse && d)
                d = with_mirror_images(b, d, last, op_int(op, "length"));
        return sweep_flow(s, x, adjoint_placed_at(b, d, none, x->type));
}
