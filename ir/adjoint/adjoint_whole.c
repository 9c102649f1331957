/* SPDX-License-Identifier: MIT */
/* Adjoints of operations whose elements are computed all together: scatters. */
#include "ir/adjoint/adjoint.h"
#include "ir/tensor/ops.h"

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
        struct value *count = scatter_like(c, build_cast(b, kept, e), build_cast(b, taken, e),
                                           1 + REDUCE_sum);
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

/* y = x * u1 * u2 ..: the derivative by a factor is the product of the others, as of reduce prod. */
static bool flow_products(struct sweep *s, const struct scattered *c)
{
        struct builder *b = c->b;
        const enum element e = c->x->type->element;
        struct value *zero_x = build_binary(b, OP_eq, c->x, build_like(b, c->x, 0)),
                     *zero_u = build_binary(b, OP_eq, c->updates, build_like(b, c->updates, 0));
        struct value *others =
                scatter_like(c, build_select(b, zero_x, build_like(b, c->x, 1), c->x),
                             build_select(b, zero_u, build_like(b, c->updates, 1), c->updates),
                             1 + REDUCE_prod);
        struct value *zeros = scatter_like(c, build_cast(b, zero_x, e), build_cast(b, zero_u, e),
                                           1 + REDUCE_sum);
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
                struct value *factor = build_select(
                        b, without, build_binary(b, OP_div, product, v),
                        build_select(b, lone, product, build_like(b, product, 0)));
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

bool adjoint_spectrum(struct sweep *s, const struct op *op)
{
        return sweep_refuse(s, op, "spectra have no derivative here");
}
