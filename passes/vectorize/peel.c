/* SPDX-License-Identifier: MIT */
/* peel: the first iteration of a loop stands before it, where it computes less than the others.
 *
 *                                                            %0 = slice(%x, row 0), as a row
 *   %r, %ys = loop(none, none, 0.0, %x) steps=9 {            %1 = add(%0, 0.0)                   what would be dot(0.0, @w)
 *     (%i, %h, %row)                                         %r, %rest = loop(none, none, %1, slice(%x, rows 1..)) steps=8 {
 *     %1 = dot(%h, @w)                              ->         ...
 *     %2 = add(%row, %1)                                     }
 *     yield(%2, %2)                                          %ys = concat(%1 as a row, %rest)
 *   }
 *
 * It does so where a product with constant weights, all finite, reads a value that is zero at
 * first: the state of recurrent networks. In a long loop one product of many is not worth the code.
 * Exact: the same operations on the same values. */
#include "passes/pass.h"

#include <math.h>

enum { STEPS_MOST = 100 };

static bool is_zero(const struct value *v)
{
        double number;
        return value_is_splat(v, &number) && number == 0;
}

/* Is op a product by finite weights, which is zero where x, its first operand, is? */
static bool is_product(const struct op *op)
{
        const struct value *w = op->code == OP_dot ? op_operand(op, 1) : NULL;
        if (!w || !value_is_constant(w) || w->type->element != E_F32 ||
            op_result(op)->type->element != E_F32)
                return false;
        for (int64_t i = 0; i < type_elements(w->type); i++)
                if (!isfinite(constant_element(w->constant, i).f))
                        return false;
        return true;
}

static bool is_multiplied(const struct value *v)
{
        for (const struct use *u = v->uses; u; u = u->next)
                if (!u->index && is_product(u->user))
                        return true;
        return false;
}

static bool is_worth_it(const struct op *op)
{
        const struct op_loop parts = op_loop(op), *loop = &parts;
        if (loop->trip || loop->go || loop->steps < 2 || loop->steps > STEPS_MOST ||
            loop->number->uses)
                return false;
        for (int i = 0; i < loop->scanned + loop->stacked; i++)
                if (!type_is_static(i < loop->scanned ? loop->scans[i].value->type
                                                      : loop->stacks[i - loop->scanned].type))
                        return false;
        for (const struct op *inner = loop->yield->region->first; inner; inner = inner->next)
                if (inner->code == OP_counted)  /* A symbol is counted once. */
                        return false;
        for (int i = 0; i < loop->carried; i++)
                if (is_zero(loop->first[i].value) && is_multiplied(&loop->held[i]))
                        return true;
        return false;
}

/* Returns rows from..from + count of x. */
static struct value *slice_rows(struct builder *b, struct value *x, int64_t from, int64_t count)
{
        int64_t starts[RANK_MAX] = { from }, ones[RANK_MAX];
        dim_t dims[RANK_MAX];
        for (int d = 0; d < x->type->rank; d++) {
                ones[d] = 1;
                dims[d] = dim_of(d ? type_extent(x->type, d) : count);
        }
        return build_slice(b, x, starts, ones, dims);
}

/* Of the rows that a loop takes one by one, first_row returns the first, as a row, and other_rows
 * all others. */
static struct value *first_row(struct builder *b, struct value *x, bool backward,
                               const struct type *row)
{
        return build_reshape(b, slice_rows(b, x, backward ? type_extent(x->type, 0) - 1 : 0, 1),
                             row->rank, row->dims);
}

static struct value *other_rows(struct builder *b, struct value *x, bool backward)
{
        return slice_rows(b, x, backward ? 0 : 1, type_extent(x->type, 0) - 1);
}

/* Copies the body in front of the loop; afterwards the scratch of what the loop yields is what the
 * first iteration yields. */
static bool write_first(struct op *op, const struct op_loop *loop, struct builder *b)
{
        const int64_t *backward = op_ints(op, "scan_backward", NULL);
        for (int i = 0; i < loop->carried; i++)
                loop->held[i].scratch = loop->first[i].value;
        for (int i = 0; i < loop->scanned; i++)
                if (!(loop->rows[i].scratch =
                              first_row(b, loop->scans[i].value, backward[i], loop->rows[i].type)))
                        return false;
        for (struct op *inner = op->regions[0]->first; inner != loop->yield; inner = inner->next) {
                const struct value *x = inner->operand_count ? op_operand(inner, 0) : NULL;
                if (x && x->scratch && is_zero(x->scratch) && is_product(inner)) {
                        op_result(inner)->scratch = build_like(b, op_result(inner), 0);
                        continue;
                }
                struct op *copy = op_clone(b, inner);
                for (int i = 0; i < inner->result_count; i++)
                        inner->results[i].scratch = &copy->results[i];
        }
        return true;
}

static void forget(struct op *op, const struct op_loop *loop)
{
        for (int i = 0; i < loop->carried + loop->scanned; i++)
                loop->held[i].scratch = NULL;
        for (struct op *inner = op->regions[0]->first; inner; inner = inner->next)
                for (int i = 0; i < inner->result_count; i++)
                        inner->results[i].scratch = NULL;
}

static struct value *yielded(const struct use *u)
{
        return u->value->scratch ? u->value->scratch : u->value;
}

/* Makes the loop begin with its second iteration. */
static bool shorten(struct op *op, const struct op_loop *loop, struct builder *b)
{
        const int64_t *backward = op_ints(op, "scan_backward", NULL);
        for (int i = 0; i < loop->scanned; i++) {
                struct value *rest = other_rows(b, loop->scans[i].value, backward[i]);
                if (!rest)
                        return false;
                op_set_operand(op, loop->scans[i].index, rest);
        }
        for (int i = 0; i < loop->carried; i++)
                op_set_operand(op, loop->first[i].index, yielded(&loop->next[i]));
        attr_set(op->attrs, OP_loop, "steps", loop->steps - 1);
        return true;
}

/* Puts the first iteration's row into what the loop stacks. */
static bool stack(struct op *op, const struct op_loop *loop, struct builder *b, int i)
{
        struct value *rest = &loop->stacks[i];
        const struct type *all = rest->type;
        dim_t dims[RANK_MAX] = { dim_of(1) };
        for (int d = 1; d < all->rank; d++)
                dims[d] = all->dims[d];
        struct value *row = build_reshape(b, yielded(&loop->stacked_rows[i]), all->rank, dims);
        bool backward = op_ints(op, "stack_backward", NULL)[i];
        dims[0] = dim_of(type_extent(all, 0) - 1);
        rest->type = type_tensor(b->m, all->element, all->rank, dims);
        struct value *joined = row ? build_concat(b,
                                                  (struct value *[]){ backward ? rest : row,
                                                                      backward ? row : rest },
                                                  2, 0)
                                   : NULL;
        if (!joined)
                return false;
        value_replace(rest, joined);
        op_set_operand(joined->op, backward ? 0 : 1, rest);
        return true;
}

static bool peel(struct op *op, struct pass_context *context)
{
        struct op_loop loop = op_loop(op);
        struct builder b = builder_before(op, context->diag);
        bool good = write_first(op, &loop, &b) && shorten(op, &loop, &b);
        b.before = op->next;
        for (int i = 0; i < loop.stacked && good; i++)
                good = stack(op, &loop, &b, i);
        forget(op, &loop);
        return good;
}

int pass_peel(struct function *f, struct pass_context *context)
{
        int peeled = 0;
        for (struct op *op = region_walk(&f->body, NULL), *next; op; op = next) {
                next = region_walk(&f->body, op);
                if (op->code != OP_loop || !is_worth_it(op))
                        continue;
                if (!peel(op, context))
                        return -1;
                peeled++;
        }
        return peeled;
}
