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
#include "passes/layout/joined.h"

enum { COLUMNS = 2 };                   /* It is the dimension N of <1 x M x N>. */

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
               w->constant->kind != CONSTANT_SPLAT && w->type->rank == 2 && b[0] == 0 &&
               element_is_float(w->type->element);
}

static void find_dots(struct joined *s, struct op *first)
{
        *s = (struct joined){ .axis = COLUMNS, .weights = 1 };
        for (struct op *op = first; op && s->count < JOINED_MOST; op = op->next)
                if (is_candidate(op) && op_operand(op, 0) == op_operand(first, 0) &&
                    op_operand(op, 1)->type->element == op_operand(first, 1)->type->element &&
                    op_int(op, "accumulator") == op_int(first, "accumulator")) {
                        s->ends[s->count] = op_result(op);
                        s->ops[s->count++] = op;
                }
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

static bool merge(struct layout *l, struct op *first)
{
        struct joined s;
        int steps = 0;
        find_dots(&s, first);
        for (; s.count > 1 && joined_follow(&s); steps++)
                joined_step(l, &s);
        const int64_t channels = s.count > 1 ? head_of(&s) : 0;
        if (!channels)
                return false;
        find_dots(&s, first);
        joined_build(l, &s, steps);
        if (s.all)
                put_heads(l, &s, channels);
        l->failed |= !s.all;
        if (!l->failed)
                joined_erase(&s);
        return !l->failed;
}

void layout_join_products(struct layout *l, struct region *region)
{
        for (struct op *op = region->first; op; op = op->next) {
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++)
                        layout_join_products(l, op->regions[i]);
                if (is_candidate(op) && merge(l, op)) {
                        op = region->first;
                        l->b = (struct builder){ .m = l->m, .diag = l->b.diag };
                }
        }
}
