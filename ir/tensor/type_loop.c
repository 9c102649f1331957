/* SPDX-License-Identifier: MIT */
/* This file has the type rule of loop. */
#include "ir/tensor/type_rules.h"

/* Returns the type of a row of a stack of type t, or NULL. */
static const struct type *row_type(struct module *m, const struct type *t)
{
        return t->kind == TYPE_TENSOR && t->rank
                       ? type_tensor(m, t->element, t->rank - 1, t->dims + 1)
                       : NULL;
}

static const struct type *stack_type(struct module *m, const struct type *row, int64_t steps)
{
        dim_t dims[RANK_MAX] = { dim_of(steps) };
        if (row->kind != TYPE_TENSOR || !element_is_stored(row->element) || row->rank == RANK_MAX)
                return NULL;
        for (int d = 0; d < row->rank; d++)
                dims[d + 1] = row->dims[d];
        return type_tensor(m, row->element, row->rank + 1, dims);
}

static bool check_counts(struct module *m, struct op *op, struct diag *diag)
{
        int64_t carried = op_int(op, "carried"), values = op->operand_count - 2;
        if (op_int(op, "steps") < 0)
                return rule_fail(op, diag, "steps is %lld", (long long)op_int(op, "steps"));
        if (carried < 0 || carried > values || carried > op->result_count || !op->result_count)
                return rule_fail(op, diag, "carries %lld values, has %lld and %d results",
                                 (long long)carried, (long long)values, op->result_count);
        return rule_ints(m, op, "scan_backward", (int)(values - carried), 0, 1, diag) &&
               rule_ints(m, op, "stack_backward", op->result_count - (int)carried, 0, 1, diag);
}

static bool check_values(struct module *m, struct op *op, struct diag *diag)
{
        const struct value *trip = op_operand(op, 0), *go = op_operand(op, 1);
        int64_t carried = op_int(op, "carried"), steps = op_int(op, "steps");
        if (trip && trip->type != type_scalar(m, E_I64))
                return rule_fail(op, diag, "operand trip is %s, want <i64>",
                                 rule_type(m, trip->type));
        if (go && go->type != type_scalar(m, E_BOOL))
                return rule_fail(op, diag, "operand go is %s, want <bool>", rule_type(m, go->type));
        for (int i = 2; i < op->operand_count; i++) {
                const struct type *t = operand_type(op, i);
                if (i - 2 < carried) {
                        if (!rule_result(m, op, i - 2, t, diag))
                                return false;
                } else if (!t->rank || !dim_is(t->dims[0], steps)) {
                        return rule_fail(op, diag, "scans %s, want %lld rows", rule_type(m, t),
                                         (long long)steps);
                }
        }
        return true;
}

static bool check_arguments(struct module *m, const struct op *op, struct diag *diag)
{
        const struct region *region = op->regions[0];
        int count = op->operand_count - 1;
        if (region->argument_count != count)
                return rule_fail(op, diag, "its region has %d arguments, want %d",
                                 region->argument_count, count);
        for (int i = 0; i < count; i++) {
                const struct type *t = region->arguments[i].type,
                                  *value = i ? operand_type(op, i + 1) : NULL;
                const struct type *want = !i                              ? type_scalar(m, E_I64)
                                          : i - 1 < op_int(op, "carried") ? value
                                                                          : row_type(m, value);
                if (t != want)
                        return rule_fail(op, diag, "argument %d of its region is %s, want %s", i,
                                         rule_type(m, t), rule_type(m, want));
        }
        return true;
}

static bool check_yield(struct module *m, struct op *op, const struct op *yield, struct diag *diag)
{
        int go = op_operand(op, 1) != NULL;
        int64_t carried = op_int(op, "carried");
        if (yield->operand_count != go + op->result_count)
                return rule_fail(op, diag, "its region yields %d values, want %d",
                                 yield->operand_count, go + op->result_count);
        if (go && operand_type(yield, 0) != type_scalar(m, E_BOOL))
                return rule_fail(op, diag, "its region yields %s first, want <bool>",
                                 rule_type(m, operand_type(yield, 0)));
        for (int i = 0; i < op->result_count; i++) {
                const struct type *t = operand_type(yield, go + i);
                const struct type *result = i < carried ? t : stack_type(m, t, op_int(op, "steps"));
                if (!result)
                        return rule_fail(op, diag, "cannot stack %s", rule_type(m, t));
                if (!rule_result(m, op, i, result, diag))
                        return false;
        }
        return true;
}

/* Checks a loop. Until its region is full, the given types of stacks stand; the verifier checks
 * them again. */
bool type_loop(struct module *m, struct op *op, struct diag *diag)
{
        int64_t partial = op_int(op, "partial");
        if (partial < 0 || partial > 1)
                return rule_fail(op, diag, "partial is %lld, want 0 or 1", (long long)partial);
        const struct region *region = op->regions[0];
        if (!check_counts(m, op, diag) || !check_values(m, op, diag))
                return false;
        if (region && region->last && region->last->code == OP_yield)
                return check_arguments(m, op, diag) && check_yield(m, op, region->last, diag);
        for (int i = (int)op_int(op, "carried"); i < op->result_count; i++)
                if (!op->results[i].type)
                        return rule_fail(op, diag,
                                         "types of stacks must be given before the region");
        return true;
}
