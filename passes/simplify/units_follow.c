/* SPDX-License-Identifier: MIT */
/* Follows units from a contraction that reads them, back to what makes them and forward to all that
 * reads them (units.h). */
#include "ir/tensor/relation.h"
#include "passes/simplify/units.h"

#include <string.h>

enum {
        MEMBERS_MAX = 4096, /* So many values are followed at most. */
        IDS_MAX = 1 << 22 /* So many indices, or elements of a reshape, are at most. */
};
enum { NO_UNITS = -1, NOT_FOLLOWED = -2 };

/* ---- contractions ---- */

static bool is_weights(const struct value *v)
{
        return value_is_constant(v) && !v->constant->varies && v->type->element == E_F32 &&
               type_is_static(v->type);
}

/* Is op a convolution without groups, or a product by a matrix, whose weights are constant? */
static bool is_contraction(const struct op *op)
{
        int batch, contracted;
        if (op->code == OP_convolve)
                return op_int(op, "groups") == 1 && is_weights(op_operand(op, 1));
        if (op->code != OP_dot || !is_weights(op_operand(op, 1)) ||
            op_operand(op, 1)->type->rank != 2)
                return false;
        op_ints(op, "batch_a", &batch);
        op_ints(op, "contract_a", &contracted);
        return batch == 0 && contracted == 1;
}

bool units_is_depthwise(const struct op *op)
{
        return op_is_depthwise(op) && is_weights(op_operand(op, 1));
}

int units_weights_dim(const struct op *op, bool made)
{
        if (op->code == OP_convolve)
                return made ? 0 : 1;
        int contracted = (int)op_ints(op, "contract_b", NULL)[0];
        return made ? 1 - contracted : contracted;
}

static int read_dim(const struct op *op)
{
        return op->code == OP_convolve ? 1 : (int)op_ints(op, "contract_a", NULL)[0];
}

static int made_dim(const struct op *op)
{
        return op->code == OP_convolve ? 1 : op_result(op)->type->rank - 1;
}

void units_around(const struct type *t, int d, int64_t *outer, int64_t *inner)
{
        *outer = *inner = 1;
        for (int k = 0; k < t->rank; k++)
                if (k != d)
                        *(k < d ? outer : inner) *= type_extent(t, k);
}

static bool is_zero_at(const struct constant *c, int64_t i, int64_t extent, int64_t outer,
                       int64_t inner)
{
        for (int64_t o = 0; o < outer; o++)
                for (int64_t k = 0; k < inner; k++)
                        if (constant_float(c, (o * extent + i) * inner + k) != 0)
                                return false;
        return true;
}

void units_zeros(const struct constant *c, int d, bool *zero)
{
        const int64_t extent = type_extent(c->value.type, d);
        int64_t outer, inner;
        units_around(c->value.type, d, &outer, &inner);
        for (int64_t i = 0; i < extent; i++)
                zero[i] = is_zero_at(c, i, extent, outer, inner);
}

static bool has_zeros(const struct op *op, int d)
{
        const struct constant *c = op_operand(op, 1)->constant;
        const int64_t extent = type_extent(c->value.type, d);
        int64_t outer, inner;
        bool found = false;
        units_around(c->value.type, d, &outer, &inner);
        for (int64_t i = 0; i < extent && !found; i++)
                found = is_zero_at(c, i, extent, outer, inner);
        return found;
}

/* ---- reshapes ---- */

/* Consecutive dimensions first .. end - 1 of one shape have as many elements as others of another
 * shape, and no part of them has. */
struct group {
        int first[2], end[2];
};

/* Finds the group of dimension d of the shape number `side`. Returns false if an extent in it is 0,
 * or none that is known. */
static bool group_of(const struct type *const shape[2], int side, int d, struct group *g)
{
        int at[2] = { 0, 0 };
        while (at[side] <= d) {
                int64_t product[2] = { 1, 1 };
                memcpy(g->first, at, sizeof at);
                if (at[!side] < shape[!side]->rank &&
                    dim_equal(shape[0]->dims[at[0]], shape[1]->dims[at[1]])) {
                        at[0]++;
                        at[1]++;
                        continue;
                }
                do {
                        int k = at[0] < shape[0]->rank && product[0] <= product[1] ? 0 : 1;
                        k = at[k] < shape[k]->rank ? k : !k;
                        if (at[k] >= shape[k]->rank || !dim_is_static(shape[k]->dims[at[k]]) ||
                            dim_is(shape[k]->dims[at[k]], 0))
                                return false;
                        product[k] *= type_extent(shape[k], at[k]++);
                } while (product[0] != product[1]);
        }
        memcpy(g->end, at, sizeof at);
        return true;
}

/* Returns the outermost (step 1) or innermost (step -1) dimension of the group in this shape whose
 * extent is not 1, or -1. */
static int edge(const struct type *shape, const struct group *g, int side, int step)
{
        int d = step > 0 ? g->first[side] : g->end[side] - 1;
        while (d >= g->first[side] && d < g->end[side] && dim_is(shape->dims[d], 1))
                d += step;
        return d >= g->first[side] && d < g->end[side] ? d : -1;
}

static int64_t elements_behind(const struct type *shape, const struct group *g, int side, int d)
{
        int64_t count = 1;
        for (int k = d + 1; k < g->end[side]; k++)
                count *= type_extent(shape, k);
        return count;
}

/* The elements of a group from one multiple of `step` to the next have one index in both
 * dimensions: (element / inner) % extent. */
struct walk {
        int64_t elements, step, inner[2], extent[2];
};

static bool walk_of(const struct type *const shape[2], const int dims[2], struct walk *w)
{
        struct group g, other;
        if (!group_of(shape, 0, dims[0], &g) || !group_of(shape, 1, dims[1], &other) ||
            memcmp(&g, &other, sizeof g))
                return false;
        *w = (struct walk){ .elements = 1 };
        for (int i = 0; i < 2; i++) {
                if (!dim_is_static(shape[i]->dims[dims[i]]))
                        return false;
                w->extent[i] = type_extent(shape[i], dims[i]);
                w->inner[i] = elements_behind(shape[i], &g, i, dims[i]);
        }
        for (int k = g.first[0]; k < g.end[0]; k++)
                w->elements *= type_extent(shape[0], k);
        w->step = common_divisor(w->inner[0], w->inner[1]);
        return w->elements / w->step <= IDS_MAX;
}

/* Returns the dimension of the other shape of a reshape that has these units. */
static int reshaped_dim(const struct op *op, int side, int d)
{
        const struct type *const shape[2] = { op_operand(op, 0)->type, op_result(op)->type };
        struct group g;
        struct walk w;
        if (!group_of(shape, side, d, &g))
                return NOT_FOLLOWED;
        int other = edge(shape[side], &g, side, 1) == d    ? edge(shape[!side], &g, !side, 1)
                    : edge(shape[side], &g, side, -1) == d ? edge(shape[!side], &g, !side, -1)
                    : edge(shape[!side], &g, !side, 1) == edge(shape[!side], &g, !side, -1)
                            ? edge(shape[!side], &g, !side, 1)
                            : -1;
        const int dims[2] = { side ? other : d, side ? d : other };
        return other >= 0 && walk_of(shape, dims, &w) ? other : NOT_FOLLOWED;
}

/* ---- which dimension has the units ---- */

/* Finds where a slice begins along d, or how far a pad moves its operand. Returns false where units
 * cannot be followed. */
static bool offset_along(const struct op *op, int d, int64_t *offset)
{
        int64_t lows[RANK_MAX], steps[RANK_MAX];
        int count;
        if (!dim_is_static(op_operand(op, 0)->type->dims[d]) ||
            !dim_is_static(op_result(op)->type->dims[d]))
                return false;
        if (op->code == OP_pad) {
                if (op_int(op, "mode") || !value_ints(op_operand(op, 2), lows, RANK_MAX, &count))
                        return false;
                *offset = lows[d];
                return true;
        }
        if (!value_ints(op_operand(op, 1), lows, RANK_MAX, &count) ||
            !value_ints(op_operand(op, 2), steps, RANK_MAX, &count) || steps[d] != 1)
                return false;
        *offset = lows[d];
        return true;
}

static bool is_index_for_index(const struct op *op)
{
        return op_info[op->code].traits & TRAIT_ELEMENTWISE || op->code == OP_broadcast ||
               op->code == OP_transpose || op->code == OP_reduce || op->code == OP_reduce_window ||
               op->code == OP_gather;
}

/* Returns the dimension of the operand that has the units of the result's dimension d. */
static int dimension_in(const struct op *op, int operand, int d)
{
        struct relation r;
        int64_t offset;
        if (!op_operand(op, operand))
                return NO_UNITS;
        switch (op->code) {
        case OP_convolve: return units_is_depthwise(op) && d == 1 ? 1 - operand : NOT_FOLLOWED;
        case OP_concat:
                return dim_is_static(op_operand(op, operand)->type->dims[d]) ? d : NOT_FOLLOWED;
        case OP_slice:
        case OP_pad: return operand ? NO_UNITS : offset_along(op, d, &offset) ? d : NOT_FOLLOWED;
        case OP_reshape: return reshaped_dim(op, 1, d);
        default: break;
        }
        int source = is_index_for_index(op) ? relation_source(op, operand, d) : NOT_FOLLOWED;
        if (source != NO_UNITS)
                return source;
        return relation_of(op, operand, &r) && !(relation_depends(op, operand) & 1u << d)
                       ? NO_UNITS
                       : NOT_FOLLOWED;
}

/* Returns the dimension of the result that has the units of the operand's dimension d. */
static int dimension_out(const struct op *op, int operand, int d)
{
        const int rank = op_result(op)->type->rank;
        if (op->code == OP_reshape)
                return reshaped_dim(op, 0, d);
        if (op->code == OP_convolve && operand)
                return NOT_FOLLOWED;
        for (int k = 0; k < rank; k++)
                if (dimension_in(op, operand, k) == d)
                        return k;
        return NOT_FOLLOWED;
}

static bool is_partial(const struct op *op, int d)
{
        return (op->code == OP_concat && d == op_int(op, "axis") && op->operand_count > 1) ||
               ((op->code == OP_slice || op->code == OP_pad) &&
                !dim_equal(op_operand(op, 0)->type->dims[d], op_result(op)->type->dims[d]));
}

/* ---- members ---- */

struct place {
        const void *of;
        intptr_t operand;
}; /* It has no padding: it is a key. */

/* A constant is a member of each operation that reads it: what one reader keeps is nothing to the
 * others. */
static struct place place_of(const struct value *v, const struct op *op, int operand)
{
        return value_is_constant(v) ? (struct place){ .of = op, .operand = operand }
                                    : (struct place){ .of = v, .operand = -1 };
}

static struct member *find(const struct units *u, const struct value *v, const struct op *op,
                           int operand)
{
        struct place p = place_of(v, op, operand);
        return map_get(u->by_place, (const char *)&p, sizeof p);
}

struct member *units_operand(const struct units *u, const struct op *op, int i)
{
        return op_operand(op, i) ? find(u, op_operand(op, i), op, i) : NULL;
}

struct member *units_result(const struct units *u, const struct op *op)
{
        return find(u, op_result(op), op, -1);
}

struct member *units_read(const struct units *u, const struct op *op)
{
        struct member *m = is_contraction(op) ? units_operand(u, op, 0) : NULL;
        return m && m->dim == read_dim(op) ? m : NULL;
}

struct member *units_made(const struct units *u, const struct op *op)
{
        struct member *m = is_contraction(op) ? units_result(u, op) : NULL;
        return m && m->dim == made_dim(op) ? m : NULL;
}

/* Pins m. Where all indices of what is linked are linked, that pins everything. */
static void pin(struct units *u, struct member *m)
{
        m->pinned = true;
        u->failed |= !u->partial;
}

static void reach(struct units *u, struct value *v, int d, const struct op *op, int operand)
{
        struct place p = place_of(v, op, operand);
        struct member *m = map_get(u->by_place, (const char *)&p, sizeof p);
        if (m) {
                u->failed |= m->dim != d;
                return;
        }
        const bool possible = v->type->kind == TYPE_TENSOR && dim_is_static(v->type->dims[d]);
        u->failed |= !possible || u->member_count >= MEMBERS_MAX;
        if (u->failed)
                return;
        m = ARENA_NEW(u->arena, struct member);
        *m = (struct member){
                .v = v, .dim = d, .extent = type_extent(v->type, d), .first = u->total
        };
        u->total += m->extent;
        u->failed |= u->total > IDS_MAX;
        ARENA_GROW(u->arena, u->members, u->member_count);
        u->members[u->member_count++] = m;
        map_set(u->by_place, (const char *)&p, sizeof p, m);
        if ((v->type->element != E_F32 && v->type->element != E_BOOL) ||
            (value_is_constant(v) && (v->constant->varies || !type_is_static(v->type))))
                pin(u, m);
}

static void note(struct units *u, struct op *op, int d)
{
        u->partial |= is_partial(op, d);
        if (map_get(u->noted, (const char *)&op, sizeof op))
                return;
        map_set(u->noted, (const char *)&op, sizeof op, op);
        ARENA_GROW(u->arena, u->ops, u->op_count);
        u->ops[u->op_count++] = op;
}

/* Follows m to what its value is made of. */
static void follow_back(struct units *u, struct member *m)
{
        struct op *op = m->v->kind == VALUE_RESULT ? m->v->op : NULL;
        bool follows =
                op && op->region == u->region && op->result_count == 1 && op->operand_count > 0;
        if (follows && is_contraction(op) && m->dim == made_dim(op)) {
                note(u, op, m->dim);
                return;
        }
        for (int i = 0; follows && i < op->operand_count; i++)
                follows = dimension_in(op, i, m->dim) != NOT_FOLLOWED;
        if (!follows) {
                pin(u, m);
                return;
        }
        note(u, op, m->dim);
        for (int i = 0; i < op->operand_count; i++) {
                int in = dimension_in(op, i, m->dim);
                if (in >= 0)
                        reach(u, op_operand(op, i), in, op, i);
        }
}

/* Follows m to all that reads its value. */
static void follow_forward(struct units *u, struct member *m)
{
        for (struct use *use = m->v->uses; use && !u->failed && !m->pinned; use = use->next) {
                struct op *op = use->user;
                bool near = op->region == u->region && op->result_count == 1;
                if (near && is_contraction(op) && use->index == 0 && m->dim == read_dim(op)) {
                        note(u, op, m->dim);
                        continue;
                }
                int out = near ? dimension_out(op, use->index, m->dim) : NOT_FOLLOWED;
                if (out < 0) {
                        pin(u, m);
                        return;
                }
                note(u, op, out);
                reach(u, op_result(op), out, op, -1);
        }
}

/* Has a contraction among the operations filters, or channels that it reads, of zeros? */
static bool finds_zeros(const struct units *u)
{
        bool found = false;
        for (int i = 0; i < u->op_count && !found; i++) {
                const struct op *op = u->ops[i];
                found = (units_made(u, op) && has_zeros(op, units_weights_dim(op, true))) ||
                        (units_read(u, op) && has_zeros(op, units_weights_dim(op, false))) ||
                        (units_is_depthwise(op) && has_zeros(op, 0));
        }
        return found;
}

bool units_follow(struct units *u, struct op *reader)
{
        struct value *x = op_operand(reader, 0);
        if (!is_contraction(reader) || value_is_constant(x))
                return false;
        u->by_place = map_new(u->arena);
        u->noted = map_new(u->arena);
        reach(u, x, read_dim(reader), reader, 0);
        for (int i = 0; i < u->member_count && !u->failed; i++) {
                struct member *m = u->members[i];
                if (m->pinned || value_is_constant(m->v))
                        continue;
                follow_back(u, m);
                follow_forward(u, m);
        }
        if (u->failed || u->members[0]->pinned)
                return false;
        if (!finds_zeros(u))
                return false;
        int sorted = 0;
        for (struct op *op = u->region->first; op && sorted < u->op_count; op = op->next)
                if (map_get(u->noted, (const char *)&op, sizeof op))
                        u->ops[sorted++] = op;
        return true;
}

/* ---- links ---- */

static void link_reshape(const struct op *op, const struct member *from, const struct member *to,
                         link_visitor visit, void *context)
{
        const struct type *const shape[2] = { op_operand(op, 0)->type, op_result(op)->type };
        const int dims[2] = { from->dim, to->dim };
        struct walk w;
        if (!walk_of(shape, dims, &w))
                return;
        for (int64_t e = 0; e < w.elements; e += w.step)
                visit(context, e / w.inner[0] % w.extent[0], e / w.inner[1] % w.extent[1]);
}

void units_links(const struct units *u, const struct op *op, int i, link_visitor visit,
                 void *context)
{
        const struct member *from = units_operand(u, op, i), *to = units_result(u, op);
        int64_t low = 0, each = 1;
        if (!from || !to || units_read(u, op) == from)
                return;
        if (op->code == OP_reshape) {
                link_reshape(op, from, to, visit, context);
                return;
        }
        if (op->code == OP_concat && to->dim == op_int(op, "axis"))
                for (int k = 0; k < i; k++)
                        low += type_extent(op_operand(op, k)->type, to->dim);
        if ((op->code == OP_slice || op->code == OP_pad) && offset_along(op, to->dim, &low))
                low = op->code == OP_slice ? -low : low;
        if (op->code == OP_convolve && i == 0)
                each = to->extent / from->extent;
        for (int64_t k = 0; k < from->extent * each; k++)
                if (k + low >= 0 && k + low < to->extent)
                        visit(context, k / each, k + low);
}
