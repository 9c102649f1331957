/* SPDX-License-Identifier: MIT */
/* Defines the relations that ops.def names, and answers questions about them. */
#include "ir/tensor/relation.h"

#include "ir/tensor/ops.h"

enum { SPATIAL = 2 };                   /* Spatial dimensions begin with this one. */

static const struct type *operand_type(const struct op *op, int i)
{
        return op_operand(op, i)->type;
}

static struct along all(void) { return (struct along){ .kind = ALONG_ALL, .from = -1 }; }

static struct along affine(int from, int64_t scale, int64_t low)
{
        return (struct along){ .kind = ALONG_AFFINE, .from = from, .scale = scale, .low = low,
                               .window = 1, .dilation = 1, .spread = 1 };
}

static struct along same(int from) { return affine(from, 1, 0); }
static struct along some(int from) { return (struct along){ .kind = ALONG_SOME, .from = from }; }

/* ---- nothing in particular, each element's own, all ---- */

bool relate_unknown(const struct op *op, int operand, struct relation *r)
{
        (void)op;
        (void)operand;
        (void)r;
        return false;
}

bool relate_same(const struct op *op, int operand, struct relation *r)
{
        for (int d = 0; d < operand_type(op, operand)->rank; d++)
                r->along[d] = same(d);
        return true;
}

bool relate_all(const struct op *op, int operand, struct relation *r)
{
        for (int d = 0; d < operand_type(op, operand)->rank; d++)
                r->along[d] = all();
        return true;
}

/* ---- moves ---- */

bool relate_in_order(const struct op *op, int operand, struct relation *r)
{
        (void)op;
        (void)operand;
        r->in_order = true;
        return true;
}

bool relate_transpose(const struct op *op, int operand, struct relation *r)
{
        const int64_t *perm = op_ints(op, "perm", NULL);
        for (int d = 0; d < operand_type(op, operand)->rank; d++)
                r->along[perm[d]] = same(d);
        return true;
}

bool relate_broadcast(const struct op *op, int operand, struct relation *r)
{
        const struct type *x = operand_type(op, operand), *y = op_result(op)->type;
        const int64_t *dims = op_ints(op, "dims", NULL);
        for (int k = 0; k < x->rank; k++)
                r->along[k] = dim_equal(x->dims[k], y->dims[dims[k]])
                                      ? same((int)dims[k])
                                      : (struct along){ .kind = ALONG_FIRST, .from = -1 };
        return true;
}

bool relate_slice(const struct op *op, int operand, struct relation *r)
{
        int64_t starts[RANK_MAX], steps[RANK_MAX];
        int count;
        bool known = value_ints(op_operand(op, 1), starts, RANK_MAX, &count) &&
                     value_ints(op_operand(op, 2), steps, RANK_MAX, &count);
        for (int d = 0; d < operand_type(op, operand)->rank; d++)
                r->along[d] = known ? affine(d, steps[d], starts[d]) : some(d);
        return true;
}

/* Where a mode mirrors, repeats or wraps, no formula here describes the elements that are
 * needed. */
bool relate_pad(const struct op *op, int operand, struct relation *r)
{
        const struct type *x = operand_type(op, operand), *y = op_result(op)->type;
        int64_t low[RANK_MAX];
        int count;
        bool known = value_ints(op_operand(op, 2), low, RANK_MAX, &count);
        for (int d = 0; d < x->rank; d++) {
                bool plain = known && (!op_int(op, "mode") ||
                                       (low[d] == 0 && dim_equal(x->dims[d], y->dims[d])));
                r->along[d] = plain ? affine(d, 1, -low[d]) : some(d);
        }
        return true;
}

bool relate_concat(const struct op *op, int operand, struct relation *r)
{
        int64_t axis = op_int(op, "axis"), before = 0;
        relate_same(op, operand, r);
        for (int i = 0; i < operand && before >= 0; i++) {
                dim_t extent = operand_type(op, i)->dims[axis];
                before = dim_is_static(extent) ? before + dim_extent(extent) : -1;
        }
        r->along[axis] = before >= 0 ? affine((int)axis, 1, -before) : some((int)axis);
        return true;
}

/* ---- gathers: operand 1 holds the indices ---- */

static struct along table(int from) { return (struct along){ .kind = ALONG_TABLE, .from = from }; }

bool relate_gather(const struct op *op, int operand, struct relation *r)
{
        int axis = (int)op_int(op, "axis"), rank = operand_type(op, 1)->rank;
        for (int d = 0; d < operand_type(op, operand)->rank; d++)
                if (operand)
                        r->along[d] = same(axis + d);
                else if (d == axis)
                        r->along[d] = table(rank ? axis : -1);
                else
                        r->along[d] = same(d < axis ? d : d - 1 + rank);
        return true;
}

bool relate_gather_elements(const struct op *op, int operand, struct relation *r)
{
        int axis = (int)op_int(op, "axis");
        relate_same(op, operand, r);
        if (!operand)
                r->along[axis] = table(axis);
        return true;
}

/* The result's dimensions are those of the indices but for the tuples, followed by those of what a
 * tuple names. */
bool relate_gather_nd(const struct op *op, int operand, struct relation *r)
{
        const struct type *indices = operand_type(op, 1);
        int shared = (int)op_int(op, "batch_dims"), rank = indices->rank - 1;
        int behind = shared + (int)type_extent(indices, rank), from = shared < rank ? shared : -1;
        relate_same(op, operand, r);
        if (operand)
                r->along[rank] = all();
        for (int d = shared; d < operand_type(op, 0)->rank && !operand; d++)
                r->along[d] = d < behind ? table(from) : same(d - behind + rank);
        return true;
}

/* ---- windows ---- */

/* Returns row d of strides and dilations, and of pads and input dilations where the operation has
 * them. */
static struct along window(const struct op *op, int from, int d, int64_t extent, bool padded,
                           bool spread)
{
        return (struct along){ .kind = ALONG_AFFINE,
                               .from = from,
                               .scale = op_ints(op, "strides", NULL)[d],
                               .low = padded ? -op_ints(op, "pads", NULL)[d] : 0,
                               .window = extent,
                               .dilation = op_ints(op, "dilations", NULL)[d],
                               .spread = spread ? op_ints(op, "input_dilations", NULL)[d] : 1 };
}

bool relate_window(const struct op *op, int operand, struct relation *r)
{
        for (int d = 0; d < operand_type(op, operand)->rank; d++)
                r->along[d] = window(op, d, d, op_ints(op, "window", NULL)[d], true, false);
        return true;
}

bool relate_convolve(const struct op *op, int operand, struct relation *r)
{
        const struct type *w = operand_type(op, 1);
        relate_all(op, operand, r);
        r->along[0] = same(operand);
        if (operand)
                return true;
        if (op_int(op, "groups") != 1)
                r->along[1] = some(1);
        for (int d = SPATIAL; d < w->rank; d++)
                r->along[d] = dim_is_static(w->dims[d])
                                      ? window(op, d, d - SPATIAL, type_extent(w, d), true, true)
                                      : some(d);
        return true;
}

/* Finds the relation of a blocked tensor's spatial dimensions; the first one's window is w's
 * dimension `first`. */
static void relate_blocks(const struct op *op, int first, struct relation *r)
{
        const struct type *w = operand_type(op, 1);
        for (int d = 0; d < operand_type(op, 0)->rank - SPATIAL - 1; d++)
                r->along[SPATIAL + d] =
                        window(op, SPATIAL + d, d, type_extent(w, first + d), false, false);
}

/* Panels, vectors and lanes of the weights are outputs: the blocks and lanes of the result. */
static bool relate_panels(const struct op *op, struct relation *r)
{
        int rank = operand_type(op, 1)->rank, lanes = op_result(op)->type->rank - 1;
        r->along[op->code == OP_convolve_winograd ? 1 : 0] = some(1);
        r->along[rank - 2] = r->along[rank - 1] = some(lanes);
        return true;
}

bool relate_convolve_packed(const struct op *op, int operand, struct relation *r)
{
        relate_all(op, operand, r);
        if (operand)
                return relate_panels(op, r);
        r->along[0] = same(0);
        if (op_int(op, "groups") != 1)
                r->along[1] = some(1);
        relate_blocks(op, 2, r);
        return true;
}

bool relate_neighbours(const struct op *op, int operand, struct relation *r)
{
        relate_same(op, operand, r);
        const int last = operand_type(op, operand)->rank - 1;
        r->along[last - 1].window = op_int(op, "count");
        r->along[last] = (struct along){ .kind = ALONG_FIRST, .from = -1 };
        return true;
}

bool relate_gather_panels(const struct op *op, int operand, struct relation *r)
{
        const int rank = operand_type(op, 1)->rank;
        for (int d = 0; d < operand_type(op, operand)->rank; d++)
                r->along[d] = operand             ? same(d)
                              : d == 0 || d == 4 ? table(rank ? 0 : -1)
                                                 : some(rank);
        return true;
}

bool relate_dot_blocks(const struct op *op, int operand, struct relation *r)
{
        enum { X, W, STEPS, SUMS };
        relate_all(op, operand, r);
        if (operand == X || operand == STEPS || operand == SUMS) {
                r->along[0] = same(0);
                r->along[2] = same(2);
        } else {
                int rank = operand_type(op, operand)->rank;
                r->along[0] = r->along[rank - 2] = r->along[rank - 1] = some(3);
        }
        return true;
}

bool relate_convolve_lanes(const struct op *op, int operand, struct relation *r)
{
        int lanes = op_result(op)->type->rank - 1;
        relate_all(op, operand, r);
        if (operand) {
                r->along[0] = same(1);
                r->along[operand_type(op, 1)->rank - 1] = same(lanes);
                return true;
        }
        r->along[0] = same(0);
        r->along[1] = same(1);
        r->along[lanes] = same(lanes);
        relate_blocks(op, 1, r);
        return true;
}

/* All elements of a tile of the result need the same elements. */
bool relate_convolve_winograd(const struct op *op, int operand, struct relation *r)
{
        relate_all(op, operand, r);
        if (operand)
                return relate_panels(op, r);
        r->along[0] = same(0);
        for (int d = SPATIAL; d < operand_type(op, 0)->rank - 1; d++)
                r->along[d] = some(d);
        return true;
}

/* ---- sums along dimensions ---- */

/* The result's dimensions are batch, free of a, free of b. */
bool relate_dot(const struct op *op, int operand, struct relation *r)
{
        static const char *const named[2][2] = { { "batch_a", "contract_a" },
                                                 { "batch_b", "contract_b" } };
        int batch, count, free = 0;
        const int64_t *dims = op_ints(op, named[operand][0], &batch);
        for (int d = 0; d < operand_type(op, operand)->rank; d++)
                r->along[d] = same(-1);
        for (int i = 0; i < batch; i++)
                r->along[dims[i]] = same(i);
        dims = op_ints(op, named[operand][1], &count);
        for (int i = 0; i < count; i++)
                r->along[dims[i]] = all();
        if (operand)
                free = operand_type(op, 0)->rank - batch - count;
        for (int d = 0; d < operand_type(op, operand)->rank; d++)
                if (r->along[d].kind == ALONG_AFFINE && r->along[d].from < 0)
                        r->along[d] = same(batch + free++);
        return true;
}

/* Reduced dimensions may be kept, with an extent of 1. */
bool relate_reduce(const struct op *op, int operand, struct relation *r)
{
        const struct type *x = operand_type(op, operand);
        int64_t axes[RANK_MAX];
        int count, left = 0;
        if (!value_ints(op_operand(op, 1), axes, RANK_MAX, &count))
                return false;
        bool kept = op_result(op)->type->rank == x->rank;
        relate_same(op, operand, r);
        for (int i = 0; i < count; i++)
                r->along[axes[i]] = all();
        for (int d = 0; d < x->rank; d++)
                if (r->along[d].kind == ALONG_AFFINE)
                        r->along[d] = same(kept ? d : left++);
        return true;
}

/* ---- queries ---- */

bool relation_of(const struct op *op, int operand, struct relation *r)
{
        const struct op_info *info = &op_info[op->code];
        *r = (struct relation){ .in_order = false };
        if (operand >= op->operand_count || !op_operand(op, operand))
                return false;
        bool shape = operand < info->operand_count && info->operands[operand].kind == OPERAND_SHAPE;
        return (shape ? relate_all : info->relation)(op, operand, r);
}

int relation_source(const struct op *op, int operand, int d)
{
        struct relation r;
        const struct type *x, *y = op_result(op)->type;
        if (!relation_of(op, operand, &r) || r.in_order)
                return -1;
        x = operand_type(op, operand);
        for (int k = 0; k < x->rank; k++)
                if (along_is(&r.along[k], d) && dim_equal(x->dims[k], y->dims[d]))
                        return k;
        return -1;
}

unsigned relation_depends(const struct op *op, int operand)
{
        struct relation r;
        unsigned depends = 0;
        const bool free = op_info[op->code].traits & TRAIT_FREE;
        if (!relation_of(op, operand, &r) || r.in_order)
                return ~0u;
        for (int k = 0; k < operand_type(op, operand)->rank; k++) {
                const struct along *a = &r.along[k];
                if (a->kind == ALONG_TABLE)
                        for (int j = 0; a->from >= 0 && j < operand_type(op, 1)->rank; j++)
                                depends |= 1u << (a->from + j);
                else if (a->from >= 0)
                        depends |= 1u << a->from;
                else if (a->kind == ALONG_SOME)
                        depends = ~0u;
                /* Of a window one element is moved: which one, other dimensions say. */
                if (a->kind == ALONG_AFFINE && a->window > 1 && free)
                        depends = ~0u;
        }
        return depends;
}

bool relation_reads_once(const struct op *op, int operand)
{
        struct relation r;
        const struct type *y = op_result(op)->type;
        unsigned used = 0;
        if (!relation_of(op, operand, &r))
                return false;
        for (int k = 0; k < operand_type(op, operand)->rank && !r.in_order; k++) {
                const struct along *a = &r.along[k];
                bool once = a->kind == ALONG_AFFINE && a->window == 1;
                if (!once && a->kind != ALONG_ALL && a->kind != ALONG_FIRST)
                        return false;
                used |= once ? 1u << a->from : 0;
        }
        for (int d = 0; d < y->rank && !r.in_order; d++)
                if (!dim_is(y->dims[d], 1) && !(used >> d & 1))
                        return false;
        return true;
}

bool relation_moves(const struct op *op, struct relation *r)
{
        const struct type *y = op_result(op)->type;
        if (!(op_info[op->code].traits & TRAIT_FREE) || !relation_of(op, 0, r) || r->in_order ||
            operand_type(op, 0)->rank != y->rank)
                return false;
        for (int k = 0; k < y->rank; k++) {
                const struct along *a = &r->along[k];
                if (a->kind != ALONG_AFFINE || a->window != 1 || a->spread != 1)
                        return false;
                /* Where only a run knows extents, the most elements of the shortest x are inside,
                 * or all of them. */
                dim_t x = operand_type(op, 0)->dims[k];
                const struct module *m = op_module(op);
                int64_t extent = dim_least(m, x), count = dim_bound(m, y->dims[a->from]);
                int64_t last = a->low + a->scale * (count - 1);
                bool inside = a->low >= 0 && a->low < extent && last >= 0 && last < extent;
                bool all = a->low == 0 && a->scale == 1 && dim_equal(x, y->dims[a->from]);
                if (count && !inside && !all)
                        return false;
        }
        return true;
}

bool relation_surrounds(const struct op *op, int64_t lows[RANK_MAX])
{
        struct relation r;
        if (op->code != OP_pad || op_int(op, "mode") || !relation_of(op, 0, &r))
                return false;
        const struct type *x = operand_type(op, 0), *y = op_result(op)->type;
        for (int d = 0; d < y->rank; d++) {
                int64_t more;
                lows[d] = -r.along[d].low;
                if (r.along[d].kind != ALONG_AFFINE || lows[d] < 0 ||
                    !dim_exceeds(op_module(op), y->dims[d], x->dims[d], &more) || more < lows[d])
                        return false;
        }
        return true;
}

bool relation_surrounds_zeros(const struct op *op, int64_t lows[RANK_MAX])
{
        double number;
        return relation_surrounds(op, lows) &&
               value_is_splat(op_operand(op, 1), &number) && number == 0;
}
