/* SPDX-License-Identifier: MIT */
/* Joined products [horizontal fusion]: products of the same rows by several constants become one,
 * where their results are heads, which lie one behind the other. Targets that launch kernels then
 * have one launch instead of several, with enough thread blocks for all multiprocessors.
 *
 *   %q = reshape(cast(add(dot(%x, @wq), @bq))) : <1 x M x 12 x 64>       %y = reshape(cast(add(dot(%x, @w), @b))) : <1 x M x 36 x 64>
 *   %k = reshape(cast(add(dot(%x, @wk), @bk))) : <1 x M x 12 x 64>  ->   %h = transpose(%y) : <1 x 36 x M x 64>
 *   %v = reshape(cast(add(dot(%x, @wv), @bv))) : <1 x M x 12 x 64>       %q = transpose(slice(%h, 0..12)), ..
 *
 * Each sum is what it was. */
#include "passes/layout/layout.h"

#include <string.h>

enum { MOST = 8, COLUMNS = 2 };         /* At most MOST products are joined; COLUMNS is the
                                         * dimension N of <1 x M x N>. */

/* The struct has the products to join. `ends` are the values that each sequence of operations
 * behind a product has been followed to; `all` is the value that stands for all of these. */
struct joined { struct op *dots[MOST]; struct value *ends[MOST]; int count; struct value *all; };

/* Is op a product of <1 x M x K> by a constant <K x N> of floats? */
static bool is_candidate(const struct op *op)
{
        int batches, contracted;
        if (op->code != OP_dot)
                return false;
        const struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        op_ints(op, "batch_a", &batches);
        const int64_t *a = op_ints(op, "contract_a", &contracted),
                      *b = op_ints(op, "contract_b", NULL);
        return !batches && contracted == 1 && x->type->rank == 3 && dim_is(x->type->dims[0], 1) &&
               a[0] == COLUMNS && type_is_static(x->type) && value_is_constant(w) &&
               w->constant->kind == CONSTANT_DENSE && w->type->rank == 2 && b[0] == 0 &&
               element_is_float(w->type->element);
}

static void find_dots(struct joined *s, struct op *first)
{
        *s = (struct joined){ 0 };
        for (struct op *op = first; op && s->count < MOST; op = op->next)
                if (is_candidate(op) && op_operand(op, 0) == op_operand(first, 0) &&
                    op_operand(op, 1)->type->element == op_operand(first, 1)->type->element &&
                    op_int(op, "accumulator") == op_int(first, "accumulator")) {
                        s->ends[s->count] = op_result(op);
                        s->dots[s->count++] = op;
                }
}

/* ---- constants side by side ---- */

/* Joins <K x N1>, <K x N2>, .. or <N1>, <N2>, ..: each row of the result has the columns of all
 * parts. */
static struct value *constants_joined(struct layout *l, struct value *const *parts, int count)
{
        const struct type *first = parts[0]->type;
        const int last = first->rank - 1;
        const int64_t rows = last ? type_extent(first, 0) : 1,
                      bytes = element_info[first->element].bytes;
        dim_t dims[2] = { first->dims[0], dim_of(0) };
        int64_t at = 0;
        dims[last] = dim_of(0);
        for (int i = 0; i < count; i++)
                dims[last] = dim_of(dim_extent(dims[last]) + type_extent(parts[i]->type, last));
        const struct type *type = type_tensor(l->m, first->element, first->rank, dims);
        char *data = constant_room(l->m, (size_t)type_bytes(type));
        for (int i = 0; i < count; i++) {
                const size_t width = (size_t)(type_extent(parts[i]->type, last) * bytes);
                for (int64_t r = 0; r < rows; r++)
                        memcpy(data + r * dim_extent(dims[last]) * bytes + at,
                               (const char *)parts[i]->constant->data + (size_t)r * width, width);
                at += (int64_t)width;
        }
        return constant_dense(l->m, type, data, parts[0]->constant->name);
}

/* ---- what follows all of them alike ---- */

/* Returns the constant with a number for each column that v broadcasts over rows, or NULL. */
static struct value *spread_constant(const struct value *v)
{
        struct value *x = op_is(v, OP_broadcast) ? op_operand(v->op, 0) : NULL;
        return x && value_is_constant(x) && x->constant->kind == CONSTANT_DENSE &&
                               x->type->rank == 1 && op_ints(v->op, "dims", NULL)[0] == COLUMNS
                       ? x
                       : NULL;
}

/* Are the operands i of the operations behind the products alike: the value followed so far, the
 * same number, or constants for each column? */
static bool operands_alike(const struct joined *s, int i)
{
        const struct value *first = op_operand(s->ends[0]->uses->user, i);
        double number, other;
        const bool chain = first == s->ends[0], splat = value_is_splat(first, &number);
        for (int k = 0; k < s->count; k++) {
                const struct value *v = op_operand(s->ends[k]->uses->user, i);
                bool alike = chain   ? v == s->ends[k]
                             : splat ? value_is_splat(v, &other) && other == number
                                     : spread_constant(v) != NULL;
                if (!alike || v->type->element != first->type->element)
                        return false;
        }
        return true;
}

/* Does the same element-wise operation follow each product, with other operands that are constant
 * along rows? */
static bool follow_alike(const struct joined *s)
{
        const struct op *first = s->ends[0]->uses ? s->ends[0]->uses->user : NULL;
        for (int k = 0; k < s->count; k++) {
                const struct op *user = s->ends[k]->uses ? s->ends[k]->uses->user : NULL;
                if (!user || !value_has_one_use(s->ends[k]) || user->code != first->code ||
                    user->result_count != 1 || user->region != first->region ||
                    !(op_info[user->code].traits & TRAIT_ELEMENTWISE) ||
                    op_result(user)->type->element != op_result(first)->type->element)
                        return false;
        }
        for (int i = 0; i < first->operand_count; i++)
                if (!operands_alike(s, i))
                        return false;
        return true;
}

/* Returns the operand that stands for operand i of all these operations. */
static struct value *operand_joined(struct layout *l, const struct joined *s, int i)
{
        struct value *parts[MOST], *first = op_operand(s->ends[0]->uses->user, i);
        const struct type *type = type_with_element(l->m, s->all->type, first->type->element);
        double number;
        if (first == s->ends[0])
                return s->all;
        if (value_is_splat(first, &number))
                return constant_number(l->m, type, number);
        for (int k = 0; k < s->count; k++)
                parts[k] = spread_constant(op_operand(s->ends[k]->uses->user, i));
        return build_broadcast(&l->b, constants_joined(l, parts, s->count), type,
                               (int64_t[]){ COLUMNS });
}

/* Follows them: builds one operation for all, where there is a value for all. */
static void go_on(struct layout *l, struct joined *s)
{
        struct value *operands[OPERAND_ROW_MAX];
        const struct op *first = s->ends[0]->uses->user;
        for (int i = 0; s->all && i < first->operand_count; i++)
                operands[i] = operand_joined(l, s, i);
        if (s->all)
                s->all = value_build(&l->b, first->code, operands, first->operand_count,
                                     first->attrs, NULL);
        for (int k = 0; k < s->count; k++)
                s->ends[k] = op_result(s->ends[k]->uses->user);
}

/* Returns how many channels a head has, as all readers of the products split them; 0: they
 * differ. */
static int64_t head_of(const struct joined *s)
{
        int64_t channels = 0;
        for (int k = 0; k < s->count; k++)
                for (const struct use *u = s->ends[k]->uses; u; u = u->next) {
                        const struct type *x = s->ends[k]->type, *y = op_result(u->user)->type;
                        if (u->user->code != OP_reshape || y->rank != 4 || !dim_is(y->dims[0], 1) ||
                            !dim_equal(y->dims[1], x->dims[1]) ||
                            (channels && !dim_is(y->dims[3], channels)))
                                return 0;
                        channels = type_extent(y, 3);
                }
        return channels;
}

static void put_heads(struct layout *l, const struct joined *s, int64_t channels)
{
        static const int64_t swap[] = { 0, 2, 1, 3 }, ones[] = { 1, 1, 1, 1 };
        const int64_t rows = type_extent(s->all->type, 1);
        struct value *heads =
                build_reshape(&l->b, s->all, 4,
                              (dim_t[]){ dim_of(1), dim_of(rows),
                                         dim_of(type_extent(s->all->type, COLUMNS) / channels),
                                         dim_of(channels) });
        heads = build_transpose(&l->b, heads, swap);
        for (int64_t k = 0, from = 0; heads && k < s->count; k++) {
                const int64_t count = type_extent(s->ends[k]->type, COLUMNS) / channels;
                struct value *own = layout_slice(
                        &l->b, heads, (int64_t[]){ 0, from, 0, 0 }, ones,
                        (dim_t[]){ dim_of(1), dim_of(count), dim_of(rows), dim_of(channels) });
                own = own ? build_transpose(&l->b, own, swap) : NULL;
                own = own ? build_reshape(&l->b, own, 3, s->ends[k]->type->dims) : NULL;
                l->failed |= !own;
                if (own)
                        value_replace(s->ends[k], own);
                from += count;
        }
        l->failed |= !heads;
}

/* Erases the products and the operations behind them, which nobody reads any more. */
static void erase_chains(const struct joined *s)
{
        for (int k = 0; k < s->count; k++)
                for (struct op *op = s->ends[k]->op, *before; op; op = before) {
                        before = NULL;
                        for (int i = 0; op != s->dots[k] && i < op->operand_count; i++)
                                if (op_operand(op, i)->kind == VALUE_RESULT &&
                                    !op_is(op_operand(op, i), OP_broadcast))
                                        before = op_operand(op, i)->op;
                        op_erase(op);
                }
}

static bool merge(struct layout *l, struct op *first)
{
        struct joined s;
        struct value *weights[MOST];
        int steps = 0;
        find_dots(&s, first);
        for (; s.count > 1 && follow_alike(&s); steps++)
                go_on(l, &s);
        const int64_t channels = s.count > 1 ? head_of(&s) : 0;
        if (!channels)
                return false;
        find_dots(&s, first);
        for (int k = 0; k < s.count; k++)
                weights[k] = op_operand(s.dots[k], 1);
        l->b = builder_before(first, l->b.diag);
        s.all = value_build(
                &l->b, OP_dot,
                (struct value *[]){ op_operand(first, 0), constants_joined(l, weights, s.count) },
                2, first->attrs, NULL);
        while (steps--)
                go_on(l, &s);
        if (s.all)
                put_heads(l, &s, channels);
        l->failed |= !s.all;
        if (!l->failed)
                erase_chains(&s);
        return !l->failed;
}

void layout_join_products(struct layout *l, struct region *region)
{
        for (struct op *op = region->first; op; op = op->next) {
                for (int i = 0; i < op->region_count; i++)
                        layout_join_products(l, op->regions[i]);
                if (is_candidate(op) && merge(l, op)) {
                        op = region->first;
                        l->b = (struct builder){ .m = l->m, .diag = l->b.diag };
                }
        }
}
