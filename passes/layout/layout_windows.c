/* SPDX-License-Identifier: MIT */
/* Layout, windows: the extremes and sums of a window of several dimensions are computed along one
 * dimension after the other.
 *
 *   %1 = reduce_window(%0) window=[1, 1, 5, 5]      ->      %1 = reduce_window(%0) window=[1, 1, 5, 1]
 *                                                           %2 = reduce_window(%1) window=[1, 1, 1,
 *                                                           5]
 *
 * That takes 4 + 4 operations for each result instead of 24. It is done for steps of 1 only, which
 * leave no result out, and where the value between stays in the second cache: to write and read it
 * again must cost less than what is saved. Sums are added up in another order. */
#include "cost/room.h"
#include "passes/layout/layout.h"
#include "passes/simplify/simplify.h"

enum { SAVED_MIN = 12 };        /* Splitting pays where it saves at least this many operations for
                                 * each result. */

/* Returns the first dimension along which the window has more than one element; -1: nothing is
 * gained by doing the others first. */
static int dimension_apart(const int64_t *window, int rank)
{
        int first = -1;
        int64_t others = 1;
        for (int d = rank - 1; d >= 0; d--) {
                if (window[d] == 1)
                        continue;
                if (first >= 0 && __builtin_mul_overflow(others, window[first], &others))
                        return -1;
                first = d;
        }
        double saved = first < 0 ? 0
                                 : (double)others * (double)window[first] - (double)others -
                                           (double)window[first];
        return saved >= SAVED_MIN ? first : -1;
}

static bool is_separable(const struct layout *l, const struct op *op)
{
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type;
        int64_t kind = op_int(op, "kind");
        bool taken = kind == REDUCE_max || kind == REDUCE_min ||
                     (kind == REDUCE_sum && y->element == E_F32);
        return taken && !simplify_is_average_of_bytes(op) && op_all_ones(op, "strides") &&
               (l->open || op_is_static(op)) &&
               type_most_bytes(l->m, x) <= room_part(l->context->target);
}

/* Builds the windows of op along dimensions from..to of x alone. */
static struct value *reduce_along(struct layout *l, const struct op *op, struct value *x, int from,
                                  int to)
{
        static const struct { const char *name; int64_t none; int times; } all[] = {
                { "window", 1, 1 }, { "strides", 1, 1 }, { "dilations", 1, 1 }, { "pads", 0, 2 },
        };
        struct attr *attrs = attrs_new(l->m, op->code);
        int rank = x->type->rank;
        attr_set(attrs, op->code, "kind", op_int(op, "kind"));
        attr_set(attrs, op->code, "accumulator", op_int(op, "accumulator"));
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
                const int64_t *old = op_ints(op, all[i].name, NULL);
                int64_t values[2 * RANK_MAX];
                for (int k = 0; k < all[i].times * rank; k++)
                        values[k] = k % rank >= from && k % rank < to ? old[k] : all[i].none;
                attr_set_ints(l->m, attrs, op->code, all[i].name, values, all[i].times * rank);
        }
        return value_build(&l->b, op->code, &x, 1, attrs, NULL);
}

void layout_windows(struct layout *l, struct region *region)
{
        for (struct op *op = region->first, *next; op && !l->failed; op = next) {
                next = op->next;
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++)
                        layout_windows(l, op->regions[i]);
                int rank, apart;
                if (op->code != OP_reduce_window || !is_separable(l, op))
                        continue;
                const int64_t *window = op_ints(op, "window", &rank);
                apart = dimension_apart(window, rank);
                if (apart < 0)
                        continue;
                l->b = (struct builder){ .m = l->m,
                                         .region = region,
                                         .before = op,
                                         .location = op->location,
                                         .diag = l->b.diag };
                struct value *y = reduce_along(l, op, op_operand(op, 0), 0, apart + 1);
                y = y ? reduce_along(l, op, y, apart + 1, rank) : NULL;
                l->failed |= !y;
                if (y) {
                        value_replace(op_result(op), y);
                        op_erase(op);
                }
        }
}
