/* SPDX-License-Identifier: MIT */
/* The rules of simplify.def that bring operations together where a move (reshape, transpose,
 * gather) stands between them. */
#include "cost/scalars.h"
#include "passes/simplify/ranges.h"
#include "passes/simplify/simplify.h"

#include <math.h>
#include <string.h>

/* ---- the same elements under other extents ---- */

/* A block is consecutive dimensions of x, [x_first, x_end), that become [y_first, y_end) of y: as
 * few of them as possible. */
struct block { int x_first, x_end, y_first, y_end; };

/* Finds the blocks of a reshape between static types with elements. Returns their number, at most 2
 * * RANK_MAX. */
static int reshape_blocks(const struct type *x, const struct type *y, struct block *blocks)
{
        int count = 0;
        for (int i = 0, j = 0; i < x->rank || j < y->rank;) {
                struct block *block = &blocks[count++];
                *block = (struct block){ .x_first = i, .y_first = j };
                int64_t in_x = i < x->rank ? type_extent(x, i++) : 1,
                        in_y = j < y->rank ? type_extent(y, j++) : 1;
                while (in_x != in_y)
                        if (in_x < in_y)
                                in_x *= type_extent(x, i++);
                        else
                                in_y *= type_extent(y, j++);
                block->x_end = i;
                block->y_end = j;
        }
        return count;
}

/* Makes a broadcast onto type x one onto type y, with the same elements: finds its operand's
 * extents, and the dimensions they go to. Returns false if the operand has only a part of a
 * block. */
static bool broadcast_onto(const struct op *broadcast, const struct type *y, int *rank, dim_t *dims,
                           int64_t *to)
{
        const struct type *source = op_operand(broadcast, 0)->type, *x = broadcast->results[0].type;
        const int64_t *onto = op_ints(broadcast, "dims", NULL);
        struct block blocks[2 * RANK_MAX];
        int count = reshape_blocks(x, y, blocks), k = 0;
        *rank = 0;
        for (int i = 0; i < count; i++) {
                int64_t whole = 1, own = 1;
                for (int d = blocks[i].x_first; d < blocks[i].x_end; d++)
                        whole *= type_extent(x, d);
                for (; k < source->rank && onto[k] < blocks[i].x_end; k++)
                        own *= type_extent(source, k);
                if (own != 1 && own != whole)
                        return false;
                for (int d = blocks[i].y_first; own != 1 && d < blocks[i].y_end; d++) {
                        dims[*rank] = y->dims[d];
                        to[(*rank)++] = d;
                }
        }
        return true;
}

/* Do operations of these traits and broadcasts alone read v? With `reshaped`, a reshape may read
 * it, too, if operations of those traits read that. */
static bool read_by(const struct value *v, const struct op *op, unsigned traits, unsigned reshaped)
{
        for (const struct use *u = v->uses; u; u = u->next) {
                const struct op *user = u->user;
                bool reads = op_info[user->code].traits & traits || user->code == OP_broadcast;
                if (user->region != op->region ||
                    !(reads || (reshaped && user->code == OP_reshape &&
                                read_by(op_result(user), op, reshaped, 0))))
                        return false;
        }
        return true;
}

static bool is_reduced(const struct value *v)
{
        for (const struct use *u = v->uses; u; u = u->next)
                if (u->user->code == OP_reduce && u->index == 0)
                        return true;
        return false;
}

/* Is v made of indices and numbers alone? */
static bool is_of_indices(const struct value *v, int depth)
{
        enum { DEPTH_MAX = 8 };
        if (value_is_splat(v, NULL) || op_is(v, OP_iota))
                return true;
        bool good =
                v->kind == VALUE_RESULT && depth < DEPTH_MAX &&
                (op_info[v->op->code].traits & TRAIT_ELEMENTWISE || v->op->code == OP_broadcast);
        for (int i = 0; good && i < v->op->operand_count; i++)
                good = is_of_indices(op_operand(v->op, i), depth + 1);
        return good;
}

/* Does v bring runs of results of a contraction, which nothing else reads, to other places? */
static bool moves_results(const struct value *v)
{
        const struct value *x = op_is(v, OP_transpose) ? op_operand(v->op, 0) : NULL;
        const int64_t *perm = x ? op_ints(v->op, "perm", NULL) : NULL;
        return x && x->kind == VALUE_RESULT && op_info[x->op->code].traits & TRAIT_CONTRACTION &&
               value_has_one_use(x) && perm[x->type->rank - 1] == x->type->rank - 1;
}

/* Does v begin a kernel? It does if its operation computes something or a reduction reads it, and
 * if element-wise operations (in its shape or under other extents) and reductions alone read it:
 * they can be one kernel. */
static bool starts_kernel(const struct value *v, const struct op *op)
{
        static const unsigned computes = TRAIT_ELEMENTWISE | TRAIT_CONTRACTION | TRAIT_REDUCTION;
        if (value_is_constant(v) || (v->kind == VALUE_RESULT && v->op->region != op->region) ||
            is_of_indices(v, 0))
                return false;
        return ((v->kind == VALUE_RESULT && op_info[v->op->code].traits & computes) ||
                is_reduced(v) || moves_results(v)) &&
               read_by(v, op, TRAIT_ELEMENTWISE | TRAIT_REDUCTION, TRAIT_ELEMENTWISE);
}

/* Returns the dimension of y, another shape of as many elements as x, whose indices run as those
 * along an axis of x do, again and again; -1: there is none. */
static int axis_in_form(const struct type *x, int axis, const struct type *y)
{
        struct block blocks[2 * RANK_MAX];
        int count = reshape_blocks(x, y, blocks), i = 0, d;
        while (i < count && blocks[i].x_end <= axis)
                i++;
        if (i == count)
                return -1;
        for (d = axis + 1; d < blocks[i].x_end; d++)
                if (!dim_is(x->dims[d], 1))
                        return -1;
        for (d = blocks[i].y_end - 1; d > blocks[i].y_first && dim_is(y->dims[d], 1);)
                d--;
        return d >= blocks[i].y_first && type_extent(x, axis) &&
                               type_extent(y, d) % type_extent(x, axis) == 0
                       ? d
                       : -1;
}

/* Indices along dimensions of `from` that should run along dimensions of `to`: dimension d of the
 * operand at hand is from's number axes[d]. */
struct indices { const struct type *from, *to; int axes[RANK_MAX]; };

static struct indices all_indices(const struct type *from, const struct type *to)
{
        struct indices x = { .from = from, .to = to };
        for (int d = 0; d < from->rank; d++)
                x.axes[d] = d;
        return x;
}

static struct indices below_broadcast(const struct op *broadcast, const struct indices *x)
{
        struct indices below = *x;
        const int64_t *dims = op_ints(broadcast, "dims", NULL);
        for (int d = 0; d < op_operand(broadcast, 0)->type->rank; d++)
                below.axes[d] = x->axes[dims[d]];
        return below;
}

/* Returns the dimension of `to` that runs as the iota v does. */
static int axis_of(const struct value *v, const struct indices *x)
{
        int64_t axis = op_int(v->op, "axis");
        int whole = x->axes[axis];
        return dim_equal(v->type->dims[axis], x->from->dims[whole])
                       ? axis_in_form(x->from, whole, x->to)
                       : -1;
}

static bool indices_have_form(const struct value *v, const struct indices *x)
{
        if (value_is_constant(v))
                return true;
        if (v->op->code == OP_iota)
                return axis_of(v, x) >= 0;
        struct indices below = v->op->code == OP_broadcast ? below_broadcast(v->op, x) : *x;
        for (int i = 0; i < v->op->operand_count; i++)
                if (!indices_have_form(op_operand(v->op, i), &below))
                        return false;
        return true;
}

/* Builds the same values from indices along dimensions of `to`. */
static struct value *indices_in_form(struct builder *b, struct value *v, const struct indices *x)
{
        const struct type *type = type_with_element(b->m, x->to, v->type->element);
        struct value *operands[OPERAND_ROW_MAX];
        if (value_is_constant(v))
                return constant_splat(b->m, type, constant_data(v->constant));
        if (v->op->code == OP_iota) {
                int64_t extent = type_extent(v->type, op_int(v->op, "axis"));
                int d = axis_of(v, x);
                struct value *index = build_iota(b, type, d),
                             *period = constant_number(b->m, type, (double)extent);
                return dim_is(type->dims[d], extent) || !index
                               ? index
                               : value_build(b, OP_rem, (struct value *[]){ index, period }, 2,
                                             NULL, NULL);
        }
        struct indices below = v->op->code == OP_broadcast ? below_broadcast(v->op, x) : *x;
        for (int i = 0; i < v->op->operand_count; i++)
                if (!(operands[i] = indices_in_form(b, op_operand(v->op, i), &below)))
                        return NULL;
        return v->op->code == OP_broadcast ? operands[0]
                                           : value_build(b, v->op->code, operands,
                                                         v->op->operand_count, v->op->attrs, NULL);
}

/* Can v take type `to`, the shape that a reshape had before, without work where it is read? */
static bool has_form(const struct value *v, const struct type *to, const struct op *op)
{
        if (value_is_constant(v) || op_is(v, OP_broadcast) ||
            (op_is(v, OP_reshape) && type_same_dims(op_operand(v->op, 0)->type, to)))
                return true;
        const struct indices indices = all_indices(v->type, to);
        return is_of_indices(v, 0) ? indices_have_form(v, &indices) : !starts_kernel(v, op);
}

static struct value *in_form(struct builder *b, struct value *v, const struct type *to)
{
        dim_t dims[RANK_MAX];
        int64_t onto[RANK_MAX];
        int rank;
        const struct type *type = type_with_element(b->m, to, v->type->element);
        if (value_is_splat(v, NULL))
                return constant_splat(b->m, type, constant_data(v->constant));
        if (value_is_constant(v))
                return constant_reshaped(b->m, v->constant, to->rank, to->dims);
        const struct indices indices = all_indices(v->type, to);
        if (is_of_indices(v, 0) && indices_have_form(v, &indices))
                return indices_in_form(b, v, &indices);
        if (op_is(v, OP_broadcast) && broadcast_onto(v->op, to, &rank, dims, onto))
                return build_broadcast(b, build_reshape(b, op_operand(v->op, 0), rank, dims), type,
                                       onto);
        return build_reshape(b, op_is(v, OP_reshape) ? op_operand(v->op, 0) : v, to->rank,
                             to->dims);
}

/* The producer of x can then be fused with op. Only one operand may qualify, or two reshapes would
 * take turns for ever. */
struct value *rewrite_reshape_below(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *operands[OPERAND_ROW_MAX];
        const struct type *form = NULL, *t = op->results[0].type;
        if (!type_is_static(t) || type_elements(t) == 0)
                return NULL;
        for (int i = 0; i < op->operand_count && !form; i++) {
                struct value *v = op_operand(op, i);
                if (op_is(v, OP_reshape) && starts_kernel(op_operand(v->op, 0), op))
                        form = op_operand(v->op, 0)->type;
        }
        for (int i = 0; form && i < op->operand_count; i++)
                if (!has_form(op_operand(op, i), form, op))
                        return NULL;
        for (int i = 0; form && i < op->operand_count; i++)
                if (!(operands[i] = in_form(b, op_operand(op, i), form)))
                        return NULL;
        if (!form)
                return NULL;
        struct value *y = value_build(b, op->code, operands, op->operand_count, op->attrs, NULL);
        return y ? build_reshape(b, y, t->rank, t->dims) : NULL;
}

/* Returns the only one of these dimensions that is not of extent 1; -1: there is none, or
 * several. */
static int only_large(const struct type *t, int first, int end)
{
        int found = -1;
        for (int d = first; d < end; d++)
                if (!dim_is(t->dims[d], 1)) {
                        if (found >= 0)
                                return -1;
                        found = d;
                }
        return found;
}

/* Gives a reduction the shape in which its operand was made, when that has the dimensions that are
 * reduced, and when all other readers can take that shape, too. */
struct value *rewrite_reduce_reshape(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *v = op_operand(op, 0);
        unsigned mask, inner = 0;
        if (!op_is(v, OP_reshape) || !type_is_static(v->type) || type_elements(v->type) == 0 ||
            !simplify_axes(op, &mask) ||
            !read_by(op_operand(v->op, 0), op,
                     TRAIT_ELEMENTWISE | TRAIT_REDUCTION | TRAIT_CONTRACTION,
                     TRAIT_ELEMENTWISE | TRAIT_REDUCTION))
                return NULL;
        struct value *x = op_operand(v->op, 0);
        struct block blocks[2 * RANK_MAX];
        int count = reshape_blocks(x->type, v->type, blocks);
        for (int i = 0; i < count; i++) {
                const struct block *block = &blocks[i];
                unsigned within = ((1u << block->y_end) - 1) & ~((1u << block->y_first) - 1);
                int from = only_large(x->type, block->x_first, block->x_end),
                    to = only_large(v->type, block->y_first, block->y_end);
                if (!(mask & within))
                        continue;
                if (from < 0 || to < 0 || !(mask >> to & 1))
                        return NULL;
                inner |= 1u << from;
        }
        struct value *y = inner ? simplify_reduce(b, op, x, inner) : NULL;
        return y ? build_reshape(b, y, op_result(op)->type->rank, op_result(op)->type->dims) : NULL;
}

/* ---- gathers ---- */

/* Are the indices first, first + step, ... and in range? The step of a single index is 1. */
static bool evenly_spaced(const struct value *indices, int64_t extent, int64_t *first,
                          int64_t *step)
{
        int64_t count = type_elements(indices->type), last = 0;
        *first = 0;
        *step = 1;
        for (int64_t i = 0; i < count; i++) {
                int64_t at = constant_element(indices->constant, i).i;
                if (at < -extent || at >= extent)
                        return false;
                at += at < 0 ? extent : 0;
                if (i == 0)
                        *first = at;
                else if (i == 1)
                        *step = at - last;
                else if (at - last != *step)
                        return false;
                last = at;
        }
        return count > 0 && *step != 0;
}

/* Makes a gather a slice, which can be a view, and which its readers can read through. */
struct value *rewrite_gather_constant(struct builder *b, struct op *op,
                                      struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0), *indices = op_operand(op, 1);
        int axis = (int)op_int(op, "axis");
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
        dim_t sizes[RANK_MAX];
        if (!value_is_constant(indices) ||
            !evenly_spaced(indices, type_extent(x->type, axis), &starts[axis], &steps[axis]))
                return NULL;
        for (int d = 0; d < x->type->rank; d++) {
                sizes[d] = d == axis ? dim_of(type_elements(indices->type)) : x->type->dims[d];
                steps[d] = d == axis ? steps[d] : 1;
        }
        struct value *part = build_slice(b, x, starts, steps, sizes);
        return part ? build_reshape(b, part, op->results[0].type->rank, op->results[0].type->dims)
                    : NULL;
}

/* ---- contractions ---- */

/* Nothing is done where it changes the order of the dimensions that remain, which is the
 * result's. */
struct value *rewrite_dot_transpose(struct builder *b, struct op *op, struct pass_context *context)
{
        static const char *const names[2][2] = { { "batch_a", "contract_a" },
                                                 { "batch_b", "contract_b" } };
        (void)context;
        for (int i = 0; i < 2; i++) {
                struct value *x = op_operand(op, i),
                             *operands[] = { op_operand(op, 0), op_operand(op, 1) };
                if (!op_is(x, OP_transpose))
                        continue;
                const int64_t *perm = op_ints(x->op, "perm", NULL);
                int64_t last = -1, dims[RANK_MAX];
                unsigned taken = 0;
                struct attr attrs[ATTR_MAX];
                memcpy(attrs, op->attrs, sizeof *attrs * (size_t)op_info[OP_dot].attr_count);
                for (int n = 0; n < 2; n++) {
                        int count;
                        const int64_t *old = op_ints(op, names[i][n], &count);
                        for (int k = 0; k < count; k++) {
                                taken |= 1u << old[k];
                                dims[k] = perm[old[k]];
                        }
                        attr_set_ints(b->m, attrs, OP_dot, names[i][n], dims, count);
                }
                bool ordered = true;
                for (int d = 0; d < x->type->rank; d++)
                        if (!(taken >> d & 1)) {
                                ordered &= perm[d] > last;
                                last = perm[d];
                        }
                if (!ordered)
                        continue;
                operands[i] = op_operand(x->op, 0);
                return value_build(b, OP_dot, operands, 2, attrs, op->results[0].type);
        }
        return NULL;
}

struct value *dot_turned(struct builder *b, struct op *op, int64_t contracted)
{
        struct value *w = op_operand(op, 1);
        int batch, count;
        const int64_t *contract = op_ints(op, "contract_b", &count);
        op_ints(op, "batch_b", &batch);
        if (!value_is_constant(w) || value_is_splat(w, NULL) || batch || w->type->rank != 2 ||
            count != 1 || contract[0] == contracted)
                return NULL;
        struct value *turned = constant_packed(b->m, w->constant, w->type->dims, 2, w->type->dims,
                                               (const int64_t[]){ 1, 0 });
        struct attr attrs[ATTR_MAX];
        memcpy(attrs, op->attrs, sizeof *attrs * (size_t)op_info[OP_dot].attr_count);
        attr_set_ints(b->m, attrs, OP_dot, "contract_b", &contracted, 1);
        return value_build(b, OP_dot, (struct value *[]){ op_operand(op, 0), turned }, 2, attrs,
                           op->results[0].type);
}

/* Is this one row of many integers? C compilers add up vectors of their products. */
static bool is_one_sum(const struct op *op, const struct target *target)
{
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type;
        return element_is_integer(y->element) && type_is_static(x) &&
               type_elements(x) == whole_products(op) && scalars_reduce(whole_products(op), target);
}

/* Without vectors several outputs are computed side by side (jam): the weights for one channel
 * should lie side by side. The weights of one sum should do so where the sum is left to the C
 * compiler. */
struct value *rewrite_dot_rows(struct builder *b, struct op *op, struct pass_context *context)
{
        return target_engine(context->target)->vectors
                       ? NULL
                       : dot_turned(b, op, is_one_sum(op, context->target));
}

/* Returns the dimension of the result that dimension d of operand i becomes, for a dot or a
 * convolution's weights; -1: it is contracted. */
static int result_dim(const struct op *dot, int i, int64_t d)
{
        if (dot->code == OP_convolve)
                return d == 0 ? 1 : -1;
        static const char *const names[2][2] = { { "batch_a", "contract_a" },
                                                 { "batch_b", "contract_b" } };
        const struct type *x = op_operand(dot, i)->type;
        int batches, contracted, at = 0;
        const int64_t *batch = op_ints(dot, names[i][0], &batches),
                      *contract = op_ints(dot, names[i][1], &contracted);
        unsigned taken = 0;
        for (int k = 0; k < batches; k++) {
                if (batch[k] == d)
                        return k;
                taken |= 1u << batch[k];
        }
        for (int k = 0; k < contracted; k++)
                taken |= 1u << contract[k];
        if (taken >> d & 1)
                return -1;
        for (int k = 0; k < d; k++)
                at += !(taken >> k & 1);
        return i == 0 ? batches + at
                      : dot->results[0].type->rank - (x->rank - batches - contracted) + at;
}

struct value *simplify_result_factor(struct builder *b, const struct op *dot, int i,
                                     struct value *factor)
{
        const struct type *t = dot->results[0].type;
        dim_t dims[RANK_MAX];
        int64_t to[RANK_MAX], onto[RANK_MAX], last = -1;
        int rank = 0;
        if (value_is_splat(factor, NULL))
                return constant_splat(b->m, t, constant_data(factor->constant));
        struct value *source = simplify_spread_source(b, factor, onto);
        if (!source)
                return NULL;
        for (int k = 0; k < source->type->rank; k++) {
                if (dim_is(source->type->dims[k], 1))
                        continue;
                int64_t d = result_dim(dot, i, onto[k]);
                if (d <= last)
                        return NULL;
                dims[rank] = source->type->dims[k];
                to[rank++] = last = d;
        }
        source = value_is_constant(source)
                         ? constant_reshaped(b->m, source->constant, rank, dims)
                         : build_reshape(b, source, rank, dims);
        return build_broadcast(b, source, t, to);
}

/* May operand i have no elements to add up? A run may give how many there are. */
static bool may_add_none(const struct op *op, int i)
{
        const struct type *t = op_operand(op, i)->type;
        int count = 0;
        const int64_t *contracted =
                op->code == OP_dot ? op_ints(op, i ? "contract_b" : "contract_a", &count) : NULL;
        bool none = !contracted && !type_is_static(t);
        for (int k = 0; k < count; k++)
                none = none || !dim_is_static(t->dims[contracted[k]]);
        return none;
}

/* Moves a factor of all products of a sum behind it, where an epilogue multiplies the sum at no
 * cost. A sum of no products is 0, even where the factor is infinite, as the inverse sum of a
 * softmax of no columns is. */
static struct value *scale_sums(struct builder *b, struct op *op, int first)
{
        const struct type *t = op->results[0].type;
        if (!type_is_bound(b->m, t) || !element_is_float(t->element))
                return NULL;
        for (int i = first; i < 2; i++) {
                struct value *product = op_operand(op, i),
                             *operands[] = { op_operand(op, 0), op_operand(op, 1) };
                if (!op_is(product, OP_mul) || !value_has_one_use(product) ||
                    product->type->element != t->element ||
                    !type_most_elements(b->m, product->type))
                        continue;
                for (int j = 0; j < 2; j++) {
                        double number;
                        const bool finite = value_is_splat(op_operand(product->op, j), &number) &&
                                            isfinite(number);
                        struct value *factor =
                                finite || !may_add_none(op, i)
                                        ? simplify_result_factor(b, op, i,
                                                                 op_operand(product->op, j))
                                        : NULL;
                        if (!factor)
                                continue;
                        operands[i] = op_operand(product->op, 1 - j);
                        return build_binary(b, OP_mul,
                                            value_build(b, op->code, operands, 2, op->attrs, t),
                                            factor);
                }
        }
        return NULL;
}

struct value *rewrite_dot_scaled(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return scale_sums(b, op, 0);
}

/* Returns the dimension of a dot's first operand that meets dimension d of the second; -1: there is
 * none. */
static int met_dim(const struct op *dot, int64_t d)
{
        static const char *const names[][2] = { { "batch_a", "batch_b" },
                                                { "contract_a", "contract_b" } };
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                int count;
                const int64_t *a = op_ints(dot, names[i][0], &count),
                              *b = op_ints(dot, names[i][1], NULL);
                for (int k = 0; k < count; k++)
                        if (b[k] == d)
                                return (int)a[k];
        }
        return -1;
}

/* Builds a factor of the second operand as one of the first; NULL: it varies along columns, or its
 * dimensions come in another order. */
static struct value *factor_of_first(struct builder *b, const struct op *dot, struct value *factor)
{
        dim_t dims[RANK_MAX];
        int64_t to[RANK_MAX], onto[RANK_MAX], last = -1;
        int rank = 0;
        struct value *source = simplify_spread_source(b, factor, onto);
        if (!source || value_is_constant(source))
                return NULL;
        for (int k = 0; k < source->type->rank; k++) {
                if (dim_is(source->type->dims[k], 1))
                        continue;
                int64_t d = met_dim(dot, onto[k]);
                if (d <= last)
                        return NULL;
                dims[rank] = source->type->dims[k];
                to[rank++] = last = d;
        }
        source = build_reshape(b, source, rank, dims);
        return source ? build_broadcast(b, source, op_operand(dot, 0)->type, to) : NULL;
}

struct value *rewrite_bytes_scaled(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0), *y = op_operand(op, 1);
        if (!op_is(y, OP_mul) || !value_has_one_use(y) || y->type->element != E_F32 ||
            x->type->element != E_F32 || !type_is_static(x->type) || !type_is_static(y->type) ||
            type_elements(x->type) >= type_elements(y->type))
                return NULL;
        for (int j = 0; j < 2; j++) {
                struct value *w = op_operand(y->op, 1 - j);
                const struct value *bytes = op_is(w, OP_cast) ? op_operand(w->op, 0) : NULL;
                if (!bytes || value_is_constant(bytes) ||
                    !element_is_integer(bytes->type->element) ||
                    element_info[bytes->type->element].bytes != 1)
                        continue;
                struct value *s = factor_of_first(b, op, op_operand(y->op, j)),
                             *scaled = s ? build_binary(b, OP_mul, x, s) : NULL;
                if (scaled)
                        return value_build(b, OP_dot, (struct value *[]){ scaled, w }, 2, op->attrs,
                                           op_result(op)->type);
        }
        return NULL;
}

struct value *rewrite_convolve_scaled(struct builder *b, struct op *op,
                                      struct pass_context *context)
{
        (void)context;
        return scale_sums(b, op, 1);
}

/* y [.., G, S, D] repeated as [.., G * times, S, D], each index along `dim` several times: keys and
 * values that a group of heads shares. */
struct repeated { struct value *y; int dim; dim_t times; };

/* Is v = reshape(broadcast y), where the broadcast adds one dimension behind `dim`, and the reshape
 * makes the two one? */
static bool repeats_of(struct builder *b, struct value *v, struct repeated *r)
{
        if (!op_is(v, OP_reshape) || !op_is(op_operand(v->op, 0), OP_broadcast) ||
            !type_most_elements(b->m, v->type))
                return false;
        const struct op *broadcast = op_operand(v->op, 0)->op;
        const struct type *x = op_operand(broadcast, 0)->type, *wide = broadcast->results[0].type;
        const int64_t *onto = op_ints(broadcast, "dims", NULL);
        dim_t dims[RANK_MAX];
        unsigned put_in = 0;
        for (int d = 0; d < wide->rank; d++)
                put_in |= (unsigned)(!dim_is(wide->dims[d], 1)) << d;
        for (int k = 0; k < x->rank; k++)
                if (dim_equal(x->dims[k], wide->dims[onto[k]]))
                        put_in &= ~(1u << onto[k]);
        if (wide->rank != v->type->rank + 1 || __builtin_popcount(put_in) != 1 || put_in == 1)
                return false;
        r->dim = __builtin_ctz(put_in) - 1;
        r->times = wide->dims[r->dim + 1];
        for (int d = 0; d < v->type->rank; d++) {
                dims[d] = wide->dims[d + (d > r->dim)];
                const dim_t all =
                        d == r->dim ? dim_binary(b->m, DIM_MUL, dims[d], r->times) : dims[d];
                if (!dim_equal(v->type->dims[d], all))
                        return false;
        }
        return (r->y = build_reshape(b, op_operand(broadcast, 0), v->type->rank, dims)) != NULL;
}

/* Makes the heads of a group rows of one product. It looks through a transpose, which dot_transpose
 * would separate from the rest. */
struct value *rewrite_dot_repeated(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0), *v = op_operand(op, 1);
        const int64_t *perm = op_is(v, OP_transpose) ? op_ints(v->op, "perm", NULL) : NULL;
        const struct type *t = op->results[0].type;
        struct repeated r;
        int count;
        const int64_t *batch_a = op_ints(op, "batch_a", &count),
                      *batch_b = op_ints(op, "batch_b", &count);
        if (!count || !repeats_of(b, perm ? op_operand(v->op, 0) : v, &r))
                return NULL;
        int64_t head = batch_a[count - 1], repeated = batch_b[count - 1];
        if ((perm ? perm[repeated] : repeated) != r.dim || head + 1 == x->type->rank ||
            result_dim(op, 0, head + 1) != count)
                return NULL;
        dim_t dims[RANK_MAX], results[RANK_MAX];
        memcpy(dims, x->type->dims, sizeof *dims * (size_t)x->type->rank);
        memcpy(results, t->dims, sizeof *results * (size_t)t->rank);
        dims[head] = results[count - 1] = r.y->type->dims[r.dim];
        dims[head + 1] = results[count] = dim_binary(b->m, DIM_MUL, results[count], r.times);
        struct value *operands[] = { build_reshape(b, x, x->type->rank, dims),
                                     perm ? build_transpose(b, r.y, perm) : r.y };
        struct value *y = value_build(b, OP_dot, operands, 2, op->attrs,
                                      type_tensor(b->m, t->element, t->rank, results));
        return y ? build_reshape(b, y, t->rank, t->dims) : NULL;
}
