/* SPDX-License-Identifier: MIT */
/* This file writes reductions along axes, and what is made of them: means, Softmax. */
#include <math.h>
#include <string.h>

#include "compiler/export/exporter.h"

/* ---- what a reduction is ---- */

enum element export_reduced_in(const struct op *op)
{
        enum element own = op_operand(op, 0)->type->element;
        enum reducer kind = (enum reducer)op_int(op, "kind");
        if (own == E_BOOL)
                return kind == REDUCE_max || kind == REDUCE_min ? E_U8 : E_I32;
        if (element_is_float(own) && op_int(op, "accumulator") == E_COMPUTE)
                return own;
        if ((kind == REDUCE_max || kind == REDUCE_min) && (own == E_I8 || own == E_U8))
                return own;
        return op_accumulator(op);
}

/* Returns the set of its axes, or 0 where they are not known, or there are none. */
static unsigned axes_of(const struct op *reduce)
{
        int64_t axes[RANK_MAX];
        unsigned set = 0;
        int count;
        if (!value_ints(op_operand(reduce, 1), axes, RANK_MAX, &count))
                return 0;
        for (int i = 0; i < count; i++)
                set |= 1u << axes[i];
        return set;
}

/* Returns x's type with extents of 1 along axes. */
static const struct type *kept_type(struct module *m, const struct type *x, unsigned axes)
{
        dim_t dims[RANK_MAX];
        for (int d = 0; d < x->rank; d++)
                dims[d] = axes >> d & 1 ? dim_of(1) : x->dims[d];
        return type_tensor(m, x->element, x->rank, dims);
}

/* Returns whether v, of the dimensions that axes leave of x, is spread over all of x's again. */
static bool is_spread_back(const struct op *broadcast, const struct type *x, unsigned axes)
{
        const int64_t *dims = op_ints(broadcast, "dims", NULL);
        const struct type *from = op_operand(broadcast, 0)->type, *to = op_result(broadcast)->type;
        int kept = 0;
        if (!type_same_dims(to, x))
                return false;
        for (int d = 0; d < x->rank; d++)
                if (!(axes >> d & 1) && (kept == from->rank || dims[kept++] != d))
                        return false;
        return kept == from->rank;
}

/* Returns whether v, of the dimensions that axes leave, is wanted for nothing but that: then nodes
 * keep the axes. */
static bool is_kept(const struct value *v, const struct type *x, unsigned axes)
{
        bool all = v->uses != NULL && axes;
        for (const struct use *u = v->uses; u && all; u = u->next)
                all = u->user->code == OP_broadcast && is_spread_back(u->user, x, axes);
        return all;
}

/* ---- along axes ---- */

static struct made *reduction(struct export *e, const struct op *op, const char *name,
                              struct made *axes, const struct type *to, bool kept)
{
        enum element computed = export_reduced_in(op);
        struct made *x = export_cast(e, export_value(e, op_operand(op, 0)), computed);
        struct made *y =
                export_binary(e, name, type_with_element(e->m, to, computed), x, axes);
        export_int(e, "keepdims", kept);
        if (dim_is(axes->type->dims[0], 0))
                export_int(e, "noop_with_empty_axes", 1);
        return export_cast(e, y, op_result(op)->type->element);
}

static const char *name_of(const struct op *op)
{
        static const char *const names[] = {
                [REDUCE_sum] = "ReduceSum", [REDUCE_prod] = "ReduceProd",
                [REDUCE_max] = "ReduceMax", [REDUCE_min] = "ReduceMin",
        };
        return names[op_int(op, "kind")];
}

void write_reduce(struct export *e, const struct op *op, const struct plan *plan)
{
        const struct type *x = op_operand(op, 0)->type, *to = op_result(op)->type;
        unsigned axes = axes_of(op);
        bool kept = is_kept(op_result(op), x, axes);
        (void)plan;
        if (kept)
                to = type_with_element(e->m, kept_type(e->m, x, axes), to->element);
        struct made *list = export_value(e, op_operand(op, 1));
        export_result(e, op, 0,
                      reduction(e, op, name_of(op), list, to, kept || to->rank == x->rank));
}

/* Matches select(axes < 0, axes + rank, axes), as the importer writes them. */
bool match_reduce_listed(struct export *e, const struct op *op, struct plan *plan)
{
        const struct value *axes = op_operand(op, 1);
        double zero, rank;
        (void)e;
        if (!op_is(axes, OP_select) || !op_is(op_operand(axes->op, 0), OP_lt) ||
            !op_is(op_operand(axes->op, 1), OP_add))
                return false;
        struct value *given = op_operand(axes->op, 2);
        const struct op *less = op_operand(axes->op, 0)->op, *add = op_operand(axes->op, 1)->op;
        plan->wants[0] = op_operand(op, 0);
        plan->wants[1] = given;
        plan->want_count = 2;
        return op_operand(less, 0) == given && value_is_splat(op_operand(less, 1), &zero) &&
               zero == 0 && op_operand(add, 0) == given &&
               value_is_splat(op_operand(add, 1), &rank) && rank == op_operand(op, 0)->type->rank;
}

void write_reduce_listed(struct export *e, const struct op *op, const struct plan *plan)
{
        const struct type *to = op_result(op)->type;
        export_result(e, op, 0,
                      reduction(e, op, name_of(op), export_value(e, plan->wants[1]), to,
                                to->rank == op_operand(op, 0)->type->rank));
}

/* ---- means ---- */

/* Returns the sum of which v is the mean, in floats, or NULL where there is none. */
static const struct op *sum_of_mean(const struct value *v)
{
        double count, wanted = 1;
        const struct value *divided =
                v->kind == VALUE_RESULT ? export_divided(v->op, &count) : NULL;
        if (!divided || !op_is(divided, OP_reduce))
                return NULL;
        const struct op *sum = divided->op;
        const struct type *x = op_operand(sum, 0)->type;
        unsigned axes = axes_of(sum);
        for (int d = 0; d < x->rank; d++)
                wanted *= axes >> d & 1 ? (double)type_extent(x, d) : 1;
        bool fits = axes && op_int(sum, "kind") == REDUCE_sum && element_is_float(x->element) &&
                    op_int(sum, "accumulator") == E_COMPUTE && count == wanted && wanted > 0 &&
                    value_has_one_use(divided);
        return fits ? sum : NULL;
}

static bool want_reduced(const struct op *reduce, struct plan *plan)
{
        if (!reduce)
                return false;
        plan->product = reduce;
        plan->wants[0] = op_operand(reduce, 0);
        plan->wants[1] = op_operand(reduce, 1);
        plan->want_count = 2;
        return true;
}

/* Writes a mean; over the spatial dimensions of images, kept, it is the pool that every runtime
 * has. */
static struct made *mean(struct export *e, const struct op *sum, const struct plan *plan,
                         const struct type *to, bool kept)
{
        int rank = op_operand(sum, 0)->type->rank;
        if (kept && rank > 3 && axes_of(sum) == (1u << rank) - 4)
                return export_unary(e, "GlobalAveragePool", to, export_value(e, plan->wants[0]));
        return reduction(e, sum, "ReduceMean", export_value(e, plan->wants[1]), to, kept);
}

bool match_mean(struct export *e, const struct op *op, struct plan *plan)
{
        (void)e;
        return want_reduced(sum_of_mean(op_result(op)), plan);
}

void write_mean(struct export *e, const struct op *op, const struct plan *plan)
{
        const struct type *x = op_operand(plan->product, 0)->type;
        unsigned axes = axes_of(plan->product);
        bool kept = is_kept(op_result(op), x, axes);
        const struct type *to = kept ? kept_type(e->m, x, axes) : op_result(op)->type;
        export_result(e, op, 0, mean(e, plan->product, plan, to, kept));
}

/* ---- axes that stay as extents of 1 ---- */

bool match_keep(struct export *e, const struct op *op, struct plan *plan)
{
        const struct value *v = op_operand(op, 0);
        const struct op *reduce = op_is(v, OP_reduce) ? v->op : sum_of_mean(v);
        if (!reduce || !axes_of(reduce) || !value_has_one_use(v))
                return false;
        const struct type *kept = kept_type(e->m, op_operand(reduce, 0)->type, axes_of(reduce));
        return type_same_dims(kept, op_result(op)->type) && want_reduced(reduce, plan);
}

void write_keep(struct export *e, const struct op *op, const struct plan *plan)
{
        const struct op *reduce = plan->product;
        const struct type *to = op_result(op)->type;
        export_result(e, op, 0,
                      !op_is(op_operand(op, 0), OP_reduce)
                              ? mean(e, reduce, plan, to, true)
                              : reduction(e, reduce, name_of(reduce),
                                          export_value(e, plan->wants[1]), to, true));
}

/* ---- Softmax ---- */

/* Finds *of, which is reduced along one axis, then goes through an operation (OP_yield: none) and
 * is spread back, as v. Returns the axis, or -1. */
static int spread_reduction(const struct value *v, enum reducer kind, enum opcode through,
                            struct value **of)
{
        if (!op_is(v, OP_broadcast))
                return -1;
        const struct value *reduced = op_operand(v->op, 0);
        const struct op *spread = v->op;
        if (through != OP_yield && !op_is(reduced, through))
                return -1;
        reduced = through != OP_yield ? op_operand(reduced->op, 0) : reduced;
        if (!op_is(reduced, OP_reduce) || op_int(reduced->op, "kind") != kind ||
            op_int(reduced->op, "accumulator") != E_COMPUTE)
                return -1;
        *of = op_operand(reduced->op, 0);
        unsigned axes = axes_of(reduced->op);
        if (!axes || axes & (axes - 1) || !is_spread_back(spread, (*of)->type, axes))
                return -1;
        int axis = 0;
        while (!(axes >> axis & 1))
                axis++;
        return axis;
}

/* Returns x of v = x - max x, along axis, or NULL where it is none. */
static struct value *shifted_by_largest(const struct value *v, int axis)
{
        struct value *x;
        if (!op_is(v, OP_sub) ||
            spread_reduction(op_operand(v->op, 1), REDUCE_max, OP_yield, &x) != axis)
                return NULL;
        return op_operand(v->op, 0) == x && element_is_float(x->type->element) ? x : NULL;
}

/* Matches exp(x - max x) / sum(exp(x - max x)), or exp(x - max x) times the reciprocal of the
 * sum. */
bool match_softmax(struct export *e, const struct op *op, struct plan *plan)
{
        bool product = op->code == OP_mul;
        (void)e;
        for (int i = 0; i <= product; i++) {
                struct value *y = op_operand(op, i), *exponentials;
                int axis = spread_reduction(op_operand(op, !i), REDUCE_sum,
                                            product ? OP_reciprocal : OP_yield, &exponentials);
                if (axis < 0 || y != exponentials || !op_is(y, OP_exp))
                        continue;
                plan->wants[0] = shifted_by_largest(op_operand(y->op, 0), axis);
                plan->want_count = 1;
                plan->axis = axis;
                return plan->wants[0] != NULL;
        }
        return false;
}

/* Matches y - log(sum(exp y)), where y = x - max x. */
bool match_log_softmax(struct export *e, const struct op *op, struct plan *plan)
{
        struct value *exponentials;
        int axis = spread_reduction(op_operand(op, 1), REDUCE_sum, OP_log, &exponentials);
        (void)e;
        if (axis < 0 || !op_is(exponentials, OP_exp) ||
            op_operand(exponentials->op, 0) != op_operand(op, 0))
                return false;
        plan->wants[0] = shifted_by_largest(op_operand(op, 0), axis);
        plan->want_count = 1;
        plan->axis = axis;
        return plan->wants[0] != NULL;
}

static void write_along_axis(struct export *e, const struct op *op, const struct plan *plan,
                             const char *name)
{
        struct made *x = export_value(e, plan->wants[0]);
        struct made *y = export_unary(e, name, x->type, x);
        export_int(e, "axis", plan->axis);
        export_result(e, op, 0, y);
}

void write_softmax(struct export *e, const struct op *op, const struct plan *plan)
{
        write_along_axis(e, op, plan, "Softmax");
}

void write_log_softmax(struct export *e, const struct op *op, const struct plan *plan)
{
        write_along_axis(e, op, plan, "LogSoftmax");
}

/* ---- LayerNormalization ---- */

/* Returns whether v is the mean of *x along the last axis, spread back. */
static bool is_mean_of(const struct value *v, struct value **x)
{
        const struct op *sum = op_is(v, OP_broadcast) ? sum_of_mean(op_operand(v->op, 0)) : NULL;
        if (!sum)
                return false;
        *x = op_operand(sum, 0);
        unsigned last = 1u << ((*x)->type->rank - 1);
        return axes_of(sum) == last && is_spread_back(v->op, (*x)->type, last);
}

/* Returns whether v is reciprocal(sqrt(an addition)). */
static bool is_inverse_root(const struct value *v)
{
        return op_is(v, OP_reciprocal) && op_is(op_operand(v->op, 0), OP_sqrt) &&
               op_is(op_operand(op_operand(v->op, 0)->op, 0), OP_add);
}

/* Returns whether v is 1 / sqrt(mean(y * y) + epsilon) along the last axis, spread back. */
static bool is_inverse_deviation(const struct value *v, const struct value *y, double *epsilon)
{
        const struct value *root = op_is(v, OP_broadcast) ? op_operand(v->op, 0) : NULL;
        if (!root || !is_inverse_root(root))
                return false;
        const struct op *add = op_operand(op_operand(root->op, 0)->op, 0)->op;
        const struct op *sum = sum_of_mean(op_operand(add, 0));
        unsigned last = 1u << (y->type->rank - 1);
        if (!sum || axes_of(sum) != last || !is_spread_back(v->op, y->type, last) ||
            !value_is_splat(op_operand(add, 1), epsilon))
                return false;
        const struct value *square = op_operand(sum, 0);
        return op_is(square, OP_mul) && op_operand(square->op, 0) == y &&
               op_operand(square->op, 1) == y;
}

/* Returns x of (x - mean x) / sqrt(variance + epsilon), as a product, or NULL. */
static struct value *standardized(const struct value *v, double *epsilon)
{
        struct value *x;
        for (int i = 0; i < 2 && op_is(v, OP_mul); i++) {
                const struct value *y = op_operand(v->op, i);
                if (y->type->rank && y->type->element == E_F32 && op_is(y, OP_sub) &&
                    is_mean_of(op_operand(y->op, 1), &x) && op_operand(y->op, 0) == x &&
                    is_inverse_deviation(op_operand(v->op, !i), y, epsilon))
                        return x;
        }
        return NULL;
}

/* Returns whether v is one known number for each index of the last axis. */
static bool is_parameter(struct export *e, const struct value *v, struct per_axis *p)
{
        if (!export_per_axis(e, v, p) || !export_per_axis_known(p))
                return false;
        bool fits = p->axis == v->type->rank - 1 || (p->axis < 0 && !p->source);
        p->axis = v->type->rank - 1;
        return fits;
}

/* Returns x of what is standardized, times a scale, or as it is. */
static struct value *scaled(struct export *e, const struct value *v, struct plan *plan)
{
        struct value *x = NULL;
        for (int i = 0; i < 2 && !x && op_is(v, OP_mul); i++) {
                const struct value *y = op_operand(v->op, i);
                if (value_has_one_use(y) && is_parameter(e, op_operand(v->op, !i), &plan->scale))
                        x = standardized(y, &plan->epsilon);
        }
        if (x)
                return x;
        plan->scale = (struct per_axis){ .number = 1, .axis = v->type->rank - 1 };
        return standardized(v, &plan->epsilon);
}

bool match_layer_norm(struct export *e, const struct op *op, struct plan *plan)
{
        struct value *x = op->code == OP_mul ? scaled(e, op_result(op), plan) : NULL;
        for (int i = 0; i < 2 && !x && op->code == OP_add; i++) {
                const struct value *y = op_operand(op, i);
                if (value_has_one_use(y) && op_is(y, OP_mul) &&
                    is_parameter(e, op_operand(op, !i), &plan->bias))
                        x = scaled(e, y, plan);
                plan->has_bias = x != NULL;
        }
        plan->wants[0] = x;
        plan->want_count = 1;
        return x != NULL;
}

void write_layer_norm(struct export *e, const struct op *op, const struct plan *plan)
{
        struct made *x = export_value(e, plan->wants[0]);
        int64_t count = type_extent(x->type, x->type->rank - 1);
        struct made *operands[3] = { x, export_per_axis_made(e, &plan->scale, E_F32, count) };
        if (plan->has_bias)
                operands[2] = export_per_axis_made(e, &plan->bias, E_F32, count);
        struct made *y =
                export_node(e, "LayerNormalization", x->type, operands, plan->has_bias ? 3 : 2);
        export_float(e, "epsilon", (float)plan->epsilon);
        export_result(e, op, 0, y);
}
