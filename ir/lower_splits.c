/* Lowering: which dimensions of a kernel's values can share a loop.
 *
 * Dimensions that nothing in the kernel tells apart share one loop: an element function gets the
 * flat position in the last of them and 0 in the others. That is the same place in memory, and most
 * operations pass it on. Which may not:
 *
 *      bias     <16>             -> broadcast to <8 x 16 x 28 x 28>, dims=[1]
 *      splits                        d=0|d=1|d=2 d=3    loops over 8, 16 and 784
 *
 * splits, a set of bits for each value: bit d is set when the element function needs the indices of
 * dimension d and of the ones before it apart. Values that are loaded split nothing, so a kernel of
 * equal shapes is one flat loop. */
#include "ir/lower_emit.h"

/* where an index of the result goes: used by the operation; unused; or dim + SOURCE * operand */
enum { ALONE = -1, ANY = -2, SOURCE = 64 };
enum { ALL_SPLIT = ~0 };

struct sources { int of[RANK_MAX]; const struct type *types[2]; unsigned splits[2]; };

/* Do neighbours a and b of the result (what lies between has extent 1) go to neighbours of an
 * operand? */
static bool stay_together(const struct sources *s, int a, int b)
{
        int from = s->of[a], to = s->of[b];
        if (from == ANY && to == ANY)
                return true;
        if (from < 0 || to < 0 || from / SOURCE != to / SOURCE || from >= to)
                return false;
        const struct type *type = s->types[from / SOURCE];
        unsigned splits = s->splits[from / SOURCE];
        for (int d = from % SOURCE + 1; d <= to % SOURCE; d++)
                if (splits >> d & 1 || (d < to % SOURCE && type->dims[d] != 1))
                        return false;
        return true;
}

static unsigned splits_of(const struct type *y, const struct sources *s)
{
        unsigned splits = 0;
        for (int d = 0, before = -1; d < y->rank; d++) {
                if (y->dims[d] == 1)
                        continue;
                if (before >= 0 && !stay_together(s, before, d))
                        splits |= 1u << d;
                before = d;
        }
        return splits;
}

/* dimension d of a slice, pad or window is the operand's as it is */
static bool is_untouched(const struct op *op, int d)
{
        int64_t values[2][RANK_MAX] = { { 0 } };
        int count;
        if (op_operand(op, 0)->type->dims[d] != op_result(op)->type->dims[d])
                return false;
        switch (op->code) {
        case OP_slice:
                return value_ints(op_operand(op, 1), values[0], RANK_MAX, &count) &&
                       values[0][d] == 0 &&
                       value_ints(op_operand(op, 2), values[1], RANK_MAX, &count) &&
                       values[1][d] == 1;
        case OP_pad:
                return value_ints(op_operand(op, 2), values[0], RANK_MAX, &count) &&
                       values[0][d] == 0;
        case OP_reduce_window: case OP_arg_window:
                return op_ints(op, "window", NULL)[d] == 1 &&
                       op_ints(op, "strides", NULL)[d] == 1 && op_ints(op, "pads", NULL)[d] == 0;
        default:
                return false;
        }
}

static unsigned operand_splits(struct emit *e, const struct op *op, int i)
{
        return i < op->operand_count && op_operand(op, i) ? emit_local(e, op_operand(op, i))->splits
                                                          : 0;
}

static unsigned all_operand_splits(struct emit *e, const struct op *op)
{
        unsigned splits = 0;
        for (int i = 0; i < op->operand_count; i++)
                splits |= operand_splits(e, op, i);
        return splits;
}

/* the result's dimensions are those of x that are not reduced, in order; extents of 1 may have been
 * put in */
static bool reduce_sources(const struct op *op, struct sources *s)
{
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type;
        int64_t axes[RANK_MAX];
        int count, k = 0;
        if (!value_ints(op_operand(op, 1), axes, RANK_MAX, &count))
                return false;
        unsigned reduced = 0;
        for (int i = 0; i < count; i++)
                reduced |= 1u << axes[i];
        for (int d = 0; d < y->rank; d++) {
                if (y->dims[d] == 1)
                        continue;
                while (k < x->rank && (reduced >> k & 1 || x->dims[k] == 1))
                        k++;
                s->of[d] = k++;
        }
        return true;
}

static void dot_sources(const struct op *op, struct sources *s)
{
        static const char *const named[2][2] = { { "batch_a", "contract_a" },
                                                 { "batch_b", "contract_b" } };
        int d;                          /* behind the batch dimensions: those are in both */
        op_ints(op, named[0][0], &d);
        for (int i = 0; i < d; i++)
                s->of[i] = ALONE;
        for (int i = 0; i < 2; i++) {
                unsigned used = 0;
                for (int k = 0, count; k < 2; k++) {
                        const int64_t *dims = op_ints(op, named[i][k], &count);
                        for (int j = 0; j < count; j++)
                                used |= 1u << dims[j];
                }
                for (int k = 0; k < s->types[i]->rank; k++)
                        if (!(used >> k & 1))
                                s->of[d++] = i * SOURCE + k;
        }
}

static void gather_sources(const struct op *op, struct sources *s)
{
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type;
        int axis = (int)op_int(op, "axis"), q = s->types[1]->rank;
        if (op->code == OP_gather_elements)
                s->splits[0] |= s->splits[1];
        for (int d = 0; d < y->rank; d++)
                if (op->code == OP_gather_elements)
                        s->of[d] = d == axis || x->dims[d] != y->dims[d] ? ALONE : d;
                else
                        s->of[d] = d < axis ? d : d < axis + q ? SOURCE + d - axis : d + 1 - q;
}

/* of a packed convolution, where each position needs the same position of x only */
static void packed_sources(const struct op *op, struct sources *s)
{
        const struct type *y = op_result(op)->type;
        for (int d = 0; d < y->rank; d++)
                s->of[d] = ALONE;
        for (int d = 2; d < y->rank - 1; d++)
                if (s->types[1]->dims[d] == 1 && op_ints(op, "strides", NULL)[d - 2] == 1)
                        s->of[d] = d;
}

/* of what only moves elements */
static void move_sources(struct emit *e, const struct op *op, struct sources *s)
{
        const struct type *y = op_result(op)->type, *x = s->types[0];
        switch (op->code) {
        case OP_transpose:
                for (int d = 0; d < y->rank; d++)
                        s->of[d] = (int)op_ints(op, "perm", NULL)[d];
                break;
        case OP_broadcast:
                for (int k = 0; k < x->rank; k++)
                        if (x->dims[k] != 1)
                                s->of[op_ints(op, "dims", NULL)[k]] = k;
                break;
        case OP_iota:
                s->of[op_int(op, "axis")] = ALONE;
                break;
        case OP_concat:
                s->splits[0] = all_operand_splits(e, op);
                for (int d = 0; d < y->rank; d++)
                        s->of[d] = d == op_int(op, "axis") ? ALONE : d;
                break;
        default:                        /* slice, pad, windows */
                for (int d = 0; d < y->rank; d++)
                        s->of[d] = is_untouched(op, d) ? d : ALONE;
                break;
        }
}

/* false: nothing is known of them */
static bool find_sources(struct emit *e, const struct op *op, struct sources *s)
{
        for (int d = 0; d < op_result(op)->type->rank; d++)
                s->of[d] = ANY;
        switch (op->code) {
        case OP_transpose: case OP_broadcast: case OP_iota: case OP_concat: case OP_slice:
        case OP_pad: case OP_reduce_window: case OP_arg_window:
                move_sources(e, op, s);
                return true;
        case OP_gather: case OP_gather_elements:
                gather_sources(op, s);
                return true;
        case OP_reduce:
                return reduce_sources(op, s);
        case OP_dot:
                dot_sources(op, s);
                return true;
        case OP_convolve_packed:
                packed_sources(op, s);
                return true;
        default:
                return false;
        }
}

unsigned op_splits(struct emit *e, const struct op *op)
{
        const struct value *first = op->operand_count > 0 ? op_operand(op, 0) : NULL;
        const struct value *second = op->operand_count > 1 ? op_operand(op, 1) : NULL;
        struct sources s = { .types = { first ? first->type : NULL, second ? second->type : NULL },
                             .splits = { operand_splits(e, op, 0), operand_splits(e, op, 1) } };
        if (op_info[op->code].traits & TRAIT_ELEMENTWISE)
                return all_operand_splits(e, op);
        if (op->code == OP_reshape)
                return s.splits[0] ? (unsigned)ALL_SPLIT : 0;
        return find_sources(e, op, &s) ? splits_of(op_result(op)->type, &s) : (unsigned)ALL_SPLIT;
}
