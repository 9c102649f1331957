/* SPDX-License-Identifier: MIT */
/* Lowering decides which dimensions of a kernel's values can share a loop.
 *
 * Dimensions that nothing in the kernel tells apart share one loop: an element function gets the
 * flat position in the last of them and 0 in the others. That is the same place in memory, and most
 * operations pass it on. Some may not:
 *
 *      bias     <16>             -> broadcast to <8 x 16 x 28 x 28>, dims=[1]
 *      splits                        d=0|d=1|d=2 d=3    loops over 8, 16 and 784
 *
 * splits is a set of bits for each value: bit d is set when the element function needs the indices
 * of dimension d and of the ones before it apart. Values that are loaded split nothing, so a kernel
 * of equal shapes is one flat loop. */
#include "ir/lower/lower_emit.h"
#include "ir/tensor/relation.h"

enum { ALL_SPLIT = ~0 };

/* An index of the result goes unchanged to a dimension of an operand, and to the same dimension of
 * other operands (splits: those of all of these); or it goes elsewhere, or nowhere. */
enum goes { NOWHERE, ELSEWHERE, AS_IT_IS };
struct source { enum goes goes; int operand, dimension; unsigned splits; };

/* Do neighbours a and b of the result (dimensions between them have extent 1) go to neighbours of
 * an operand? */
static bool stay_together(const struct op *op, const struct source *a, const struct source *b)
{
        if (a->goes == NOWHERE && b->goes == NOWHERE)
                return true;
        if (a->goes != AS_IT_IS || b->goes != AS_IT_IS || a->operand != b->operand ||
            a->dimension >= b->dimension)
                return false;
        const struct type *x = op_operand(op, a->operand)->type;
        for (int d = a->dimension + 1; d <= b->dimension; d++)
                if ((a->splits | b->splits) >> d & 1 ||
                    (d < b->dimension && !dim_is(x->dims[d], 1)))
                        return false;
        return true;
}

static unsigned splits_of(const struct op *op, const struct source *sources)
{
        const struct type *y = op_result(op)->type;
        unsigned splits = 0;
        for (int d = 0, before = -1; d < y->rank; d++) {
                if (dim_is(y->dims[d], 1))
                        continue;
                if (before >= 0 && !stay_together(op, &sources[before], &sources[d]))
                        splits |= 1u << d;
                before = d;
        }
        return splits;
}

static unsigned operand_splits(struct emit *e, const struct op *op, int i)
{
        return op_operand(op, i) ? emit_local(e, op_operand(op, i))->splits : 0;
}

static unsigned all_operand_splits(struct emit *e, const struct op *op)
{
        unsigned splits = 0;
        for (int i = 0; i < op->operand_count; i++)
                splits |= operand_splits(e, op, i);
        return splits;
}

/* Does the element function take a flat position for an index that it passes on? Sums over windows
 * of plain tensors need each index apart to find borders; a result that is computed all at once has
 * no index. */
static bool takes_flat(const struct op *op)
{
        if (op_info[op->code].traits & TRAIT_CONTRACTION)
                return op->code == OP_dot || op->code == OP_convolve_packed;
        return !(op_info[op->code].traits & TRAIT_WHOLE) && op->code != OP_gather_nd;
}

/* Adds dimension k of operand i, to which the index in dimension `from` of the result goes. */
static void add_source(const struct op *op, int i, int k, const struct along *a, unsigned splits,
                       struct source *s)
{
        bool sums = op_info[op->code].traits & TRAIT_CONTRACTION;
        bool as_it_is = along_is(a, a->from) && dim_equal(op_operand(op, i)->type->dims[k],
                                                          op_result(op)->type->dims[a->from]);
        if (as_it_is && s->goes == NOWHERE)
                *s = (struct source){ AS_IT_IS, i, k, splits };
        else if (as_it_is && s->goes == AS_IT_IS && s->dimension == k && !sums)
                s->splits |= splits;
        else
                s->goes = ELSEWHERE;
}

/* Returns false if nothing is known of them. */
static bool find_sources(struct emit *e, const struct op *op, struct source sources[RANK_MAX])
{
        struct relation r;
        for (int i = 0; i < op->operand_count; i++) {
                const struct value *x = op_operand(op, i);
                if (x && !relation_of(op, i, &r))
                        return false;
                for (int k = 0; x && k < x->type->rank; k++) {
                        const struct along *a = &r.along[k];
                        if (a->kind == ALONG_AFFINE || a->kind == ALONG_SOME)
                                add_source(op, i, k, a, operand_splits(e, op, i),
                                           &sources[a->from]);
                }
        }
        if (op->code == OP_iota)
                sources[op_int(op, "axis")].goes = ELSEWHERE;
        return true;
}

unsigned op_splits(struct emit *e, const struct op *op)
{
        struct source sources[RANK_MAX] = { { .goes = NOWHERE } };
        if (op_info[op->code].traits & TRAIT_ELEMENTWISE)
                return all_operand_splits(e, op);
        if (op->code == OP_reshape)
                return operand_splits(e, op, 0) ? (unsigned)ALL_SPLIT : 0;
        return takes_flat(op) && find_sources(e, op, sources) ? splits_of(op, sources)
                                                              : (unsigned)ALL_SPLIT;
}
