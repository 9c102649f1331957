/* SPDX-License-Identifier: MIT */
/* Recognizes attention: two products, the operations on rows between them, and whether these are a
 * softmax. */
#include "kernels/attention.h"

#include "ir/lower/lower.h"
#include "ir/tensor/relation.h"

enum { GROUP = 1, ROW = 2, COLUMN = 3, RANK = 4 };

/* ---- two products ---- */

/* Does v depend on op? */
static bool depends(const struct region *region, const struct value *v, const struct op *op,
                    int depth)
{
        enum { DEPTH_MAX = 100 };
        if (v->kind != VALUE_RESULT || v->op->region != region)
                return false;
        if (v->op == op || depth == DEPTH_MAX)
                return true;
        for (int i = 0; i < v->op->operand_count; i++)
                if (depends(region, op_operand(v->op, i), op, depth + 1))
                        return true;
        return false;
}

/* Is op a product of matrices for each group, whose second operand is contracted along dimension
 * `along`? */
static bool is_plain(const struct op *op, int along)
{
        int count[4];
        if (op->code != OP_dot || op_operand(op, 0)->type->rank != RANK ||
            op_operand(op, 1)->type->rank != RANK)
                return false;
        const int64_t *a = op_ints(op, "batch_a", &count[0]),
                      *b = op_ints(op, "batch_b", &count[1]),
                      *x = op_ints(op, "contract_a", &count[2]),
                      *w = op_ints(op, "contract_b", &count[3]);
        return count[0] == 2 && count[1] == 2 && count[2] == 1 && count[3] == 1 && a[0] == 0 &&
               a[1] == GROUP && b[0] == 0 && b[1] == GROUP && x[0] == COLUMN && w[0] == along;
}

/* Is op a product of matrices for each group, of rows or keys that a run gives, whatever the order
 * of its operands' dimensions is? */
static bool is_open(const struct op *op)
{
        int batches, contracted;
        if (op->code != OP_dot || op_is_static(op))
                return false;
        for (int i = 0; i < 2; i++) {
                op_ints(op, i ? "batch_b" : "batch_a", &batches);
                op_ints(op, i ? "contract_b" : "contract_a", &contracted);
                if (batches != 2 || contracted != 1 || op_operand(op, i)->type->rank != RANK)
                        return false;
        }
        return dim_is_static(op_result(op)->type->dims[GROUP]);
}

/* Does the second product add up the columns of its first operand, and the first one a known number
 * of channels? */
static bool are_open(const struct attention *a)
{
        const int64_t channels = op_ints(a->first, "contract_a", NULL)[0],
                      *batch = op_ints(a->second, "batch_a", NULL);
        return dim_is_static(op_operand(a->first, 0)->type->dims[channels]) &&
               dim_is_static(op_result(a->second)->type->dims[COLUMN]) && batch[0] == 0 &&
               batch[1] == GROUP && op_ints(a->second, "contract_a", NULL)[0] == COLUMN;
}

static bool find_products(const struct region *region, struct attention *a)
{
        int count = 0;
        for (struct op *op = region->first; op != region->last; op = op->next) {
                if (op->result_count != 1 || !type_is_bound(op_module(op), op_result(op)->type))
                        return false;
                if (!(op_info[op->code].traits & TRAIT_CONTRACTION))
                        continue;
                const struct type *y = op_result(op)->type;
                if (count == 2 || y->rank != RANK || (!dim_is(y->dims[0], 1) && !is_open(op)) ||
                    y->element != E_F32 ||
                    (op->code != OP_convolve_packed && !is_open(op) &&
                     !is_plain(op, count == 0 ? COLUMN : ROW)) ||
                    (op->code == OP_convolve_packed &&
                     (!op_is_static(op) || !dim_is(y->dims[GROUP], op_int(op, "groups")))))
                        return false;
                *(count++ ? &a->second : &a->first) = op;
        }
        const struct type *scores = count == 2 ? op_result(a->first)->type : NULL,
                          *y = count == 2 ? op_result(a->second)->type : NULL;
        return scores && a->first->code == a->second->code &&
               is_open(a->first) == is_open(a->second) &&
               (!is_open(a->first) || are_open(a)) &&
               dim_equal(scores->dims[0], y->dims[0]) &&
               dim_equal(scores->dims[GROUP], y->dims[GROUP]) &&
               dim_equal(scores->dims[ROW], y->dims[ROW]);
}

/* Follows the first product through element-wise operations, as long as each is the only reader of
 * the one before. The last one makes the scores. */
static void find_scores(const struct region *region, struct attention *a)
{
        a->scores = op_result(a->first);
        while (value_has_one_use(a->scores)) {
                struct op *user = a->scores->uses->user;
                bool alone = op_info[user->code].traits & TRAIT_ELEMENTWISE &&
                             op_result(user)->type->element == E_F32;
                for (int i = 0; i < user->operand_count && alone; i++)
                        alone = op_operand(user, i) == a->scores ||
                                !depends(region, op_operand(user, i), a->first, 0);
                if (!alone || op_result(user) == a->shares)
                        return;
                a->scores = op_result(user);
        }
}

/* Returns the value that v is a rounded (bf16, f16, tf32) or zero-padded copy of, as hardware tiles
 * read it; v itself where it is none. */
static struct value *unrounded(struct value *v)
{
        int64_t low[RANK_MAX];
        bool padded = op_is(v, OP_pad) && relation_surrounds_zeros(v->op, low) && !low[COLUMN] &&
                      attention_same_rows(v->type, op_operand(v->op, 0)->type);
        v = padded ? op_operand(v->op, 0) : v;
        bool rounded = element_is_small(v->type->element);
        return rounded && op_is(v, OP_cast) ? op_operand(v->op, 0) : v;
}

/* Returns the value that is broadcast along the columns to make v, which gives every row of v one
 * number; NULL where v is not such a broadcast. */
static struct value *spread_of(const struct attention *a, const struct value *v)
{
        const struct type *t = op_is(v, OP_broadcast) ? op_operand(v->op, 0)->type : NULL;
        const int64_t *dims = t ? op_ints(v->op, "dims", NULL) : NULL;
        for (int d = 0; t && d < t->rank; d++)
                if (!dim_is(t->dims[d], 1) && dims[d] == COLUMN)
                        return NULL;
        return t && v->type->rank == RANK &&
                               dim_equal(v->type->dims[ROW], a->scores->type->dims[ROW])
                       ? op_operand(v->op, 0)
                       : NULL;
}

/* Has v one number per row, with the rows in its last dimension? */
static bool is_per_row(const struct attention *a, const struct value *v)
{
        const dim_t rows = a->scores->type->dims[ROW];
        const struct module *m = op_module(a->first);
        int last = v->type->rank - 1;
        while (last > 0 && dim_is(v->type->dims[last], 1))
                last--;
        return v->type->rank && (dim_is(rows, 1) || dim_equal(v->type->dims[last], rows)) &&
               v->type->element == E_F32 &&
               type_most_elements(m, v->type) ==
                       dim_bound(m, rows) * type_extent(a->scores->type, GROUP);
}

/* Checks that what depends on the scores is either between scores and shares, where it may combine
 * rows, or after the second product, where it must be element-wise. The two parts may meet only in
 * per_row. */
static bool check_operations(const struct region *region, struct attention *a)
{
        for (const struct op *op = region->first; op != region->last; op = op->next) {
                bool elementwise = op_info[op->code].traits & TRAIT_ELEMENTWISE;
                bool moves = op->code == OP_broadcast || op->code == OP_reshape;
                if (op == a->first || op == a->second ||
                    !depends(region, op_result(op), a->first, 0))
                        continue;
                if (!depends(region, op_result(op), a->second, 0)) {
                        if (!elementwise && !moves && op->code != OP_reduce &&
                            op_result(op) != a->multiplied)
                                return false;
                        continue;
                }
                for (int i = 0; i < op->operand_count; i++) {
                        struct value *v = op_operand(op, i);
                        if (!depends(region, v, a->first, 0) || depends(region, v, a->second, 0))
                                continue;
                        v = spread_of(a, v);
                        if (!elementwise || !v || !is_per_row(a, v) ||
                            (a->per_row && a->per_row != v))
                                return false;
                        a->per_row = v;
                }
        }
        return true;
}

/* ---- softmax ---- */

static struct value *reshaped(struct value *v)
{
        while (op_is(v, OP_reshape))
                v = op_operand(v->op, 0);
        return v;
}

static bool reduces_row(const struct attention *a, const struct value *v, const struct value *of,
                        enum reducer kind)
{
        unsigned along;
        return v && v->kind == VALUE_RESULT && rows_reduce(v->op, a->scores->type, &along) &&
               along == 1u << COLUMN && op_operand(v->op, 0) == of &&
               (enum reducer)op_int(v->op, "kind") == kind;
}

static bool is_exponential(const struct value *v)
{
        return op_is(v, OP_exp) || op_is(v, OP_exp_flushed);
}

/* Returns the sum of the shares where these are exp(score - largest score of the row) and the
 * second product is divided by their sum; otherwise NULL. Where all scores of a row may be -inf,
 * the largest score is clamped to the lowest finite number and the sum to at least 1, so that the
 * row's result is 0. */
static struct value *find_sum(const struct attention *a)
{
        const struct op *power = a->shares->op;
        const struct value *x = is_exponential(a->shares) ? op_operand(power, 0) : NULL;
        if (!x || !op_is(x, OP_sub) || op_operand(x->op, 0) != a->scores || !a->per_row)
                return NULL;
        struct value *largest = spread_of(a, op_operand(x->op, 1)), *inverse = reshaped(a->per_row);
        largest = largest ? reshaped(value_without_floor(reshaped(largest))) : NULL;
        struct value *sum =
                op_is(inverse, OP_reciprocal)
                        ? reshaped(value_without_floor(reshaped(op_operand(inverse->op, 0))))
                        : NULL;
        const struct value *y = op_result(a->second);
        const struct op *user = y->uses ? y->uses->user : NULL;
        if (!reduces_row(a, largest, a->scores, REDUCE_max) ||
            !reduces_row(a, sum, a->shares, REDUCE_sum) || !value_has_one_use(y) ||
            user->code != OP_mul ||
            spread_of(a, op_operand(user, op_operand(user, 0) == y)) != a->per_row)
                return NULL;
        return sum;
}

static struct value *find_powers(const struct attention *a)
{
        const bool times = op_is(a->shares, OP_mul);      /* By the reciprocal of the sum. */
        struct value *powers = times || op_is(a->shares, OP_div) ? op_operand(a->shares->op, 0)
                                                                 : NULL;
        const struct value *x =
                powers && is_exponential(powers) ? op_operand(powers->op, 0) : NULL;
        if (!x || !op_is(x, OP_sub) || op_operand(x->op, 0) != a->scores)
                return NULL;
        struct value *largest = spread_of(a, op_operand(x->op, 1)),
                     *sum = spread_of(a, op_operand(a->shares->op, 1));
        sum = sum && times ? reshaped(sum) : sum;
        if (sum && times)
                sum = op_is(sum, OP_reciprocal) ? op_operand(sum->op, 0) : NULL;
        return largest && sum && reduces_row(a, reshaped(largest), a->scores, REDUCE_max) &&
                               reduces_row(a, reshaped(sum), powers, REDUCE_sum)
                       ? powers
                       : NULL;
}

bool attention_find(const struct region *region, struct value *result, struct attention *a)
{
        struct op *pad;
        *a = (struct attention){ 0 };
        if (!find_products(region, a))
                return false;
        a->multiplied = op_operand(a->second, 0);
        a->shares = unrounded(a->multiplied);
        if (depends(region, op_operand(a->second, 1), a->first, 0) ||
            !depends(region, a->shares, a->first, 0))
                return false;
        find_scores(region, a);
        if (a->shares == a->scores || a->shares->type != a->scores->type ||
            !check_operations(region, a))
                return false;
        a->sum = find_sum(a);
        a->powers = find_powers(a);
        return access_store(region, result, &a->result, &a->y, &pad) && !pad &&
               element_is_float(a->result->type->element) &&
               depends(region, a->result, a->second, 0) &&
               type_same_dims(a->result->type, op_result(a->second)->type);
}

const struct op *attention_concat(const struct region *region, const struct value *keys)
{
        return op_is(keys, OP_concat) && keys->op->region == region &&
                               op_int(keys->op, "axis") == ROW
                       ? keys->op
                       : NULL;
}
