/* SPDX-License-Identifier: MIT */
/* Fuse, halos: what is computed once is stored once, inside the zeros (or zero points) that a
 * contraction wants around it.
 *
 *   %2 = max(%1, 0.0)                           %2 = max(%1, 0.0)
 *   %3 = pad(%2, 0.0, [0, 0, 1, 1, 0])          %3 = pad(%2, 0.0, [0, 0, 1, 1, 0])
 *   %4 = convolve_packed(%3, @v)         ->     %4 = convolve_packed(%3, @v)
 *   %5 = convolve_packed(%2, @w)                %s = slice(%3, [0, 0, 1, 1, 0], 1)
 *                                               %5 = convolve_packed(%s, @w)
 *
 * Where several pads surround a value, one takes their place, with the largest amounts of all; the
 * others become slices of it. A pad around a concat becomes a pad around each part. The pad then
 * becomes the root of its producer's kernel (fuse.c), and each slice is part of the address in the
 * kernel that reads it. */
#include "passes/fuse/fuse.h"

#include <string.h>

#include "ir/tensor/packed_multiply.h"
#include "ir/tensor/relation.h"

/* Returns whether op is a halo; lows: how many elements it puts in front of its operand in each
 * dimension, *number: what they are. */
static bool halo_lows(const struct op *op, int64_t lows[RANK_MAX], double *number)
{
        const struct value *v = relation_surrounds(op, lows) ? op_operand(op, 1) : NULL;
        return v && value_is_splat(v, number);
}

static bool is_contracted(const struct use *u) { return fuse_is_packed(u->user) && u->index == 0; }

/* Is every use of v by packed contractions, directly, through slices, or as part of a concat?
 * *contracted: there is such a contraction. */
static bool is_for_contractions(const struct value *v, int depth, bool *contracted)
{
        enum { DEPTH_MAX = 2 };         /* Deeper nests are not looked for: concats of concats are
                                         * flat. */
        for (const struct use *u = v->uses; u; u = u->next) {
                if (u->user->code == OP_slice)
                        for (const struct use *w = op_result(u->user)->uses; w; w = w->next)
                                *contracted |= is_contracted(w);
                else if (is_contracted(u))
                        *contracted = true;
                else if (u->user->code != OP_concat || depth == DEPTH_MAX ||
                         !is_for_contractions(op_result(u->user), depth + 1, contracted))
                        return false;
        }
        return true;
}

bool fuse_is_halo(const struct op *op)
{
        int64_t lows[RANK_MAX];
        double number;
        bool contracted = false;
        return halo_lows(op, lows, &number) &&
               is_for_contractions(op_result(op), 0, &contracted) && contracted;
}

/* Does the pad put zeros only behind the channels of each position, and are the channels whole
 * words? */
static bool are_words(const struct op *pad, const struct op *contraction, int64_t low)
{
        const struct type *x = op_operand(pad, 0)->type, *around = op_result(pad)->type;
        return low == 0 && contraction->code == OP_convolve_packed && dim_is(around->dims[1], 1) &&
               type_extent(x, x->rank - 1) %
                               packed_group(around, op_operand(contraction, 1)->type) ==
                       0;
}

bool fuse_is_border(const struct op *op)
{
        int64_t lows[RANK_MAX];
        double number;
        if (!halo_lows(op, lows, &number) || number != 0)
                return false;
        for (const struct use *u = op_result(op)->uses; u; u = u->next)
                if (!is_contracted(u))
                        return false;
        for (int d = 0; d < 2; d++)
                if (!relation_keeps(op, 0, d))
                        return false;
        const int last = op_result(op)->type->rank - 1;
        const struct use *u = op_result(op)->uses;
        return u && (relation_keeps(op, 0, last) || are_words(op, u->user, lows[last]));
}

bool fuse_is_decoded(const struct op *op, const struct target *target, bool singles)
{
        int64_t lows[RANK_MAX];
        double number;
        if (!halo_lows(op, lows, &number) || !op_is_static(op))
                return false;
        for (const struct use *u = op_result(op)->uses; u; u = u->next) {
                const bool packed = is_contracted(u) && u->user->code == OP_convolve_packed &&
                                    u->user->region == op->region;
                const struct multiply *m =
                        packed ? packed_multiply_widest(u->user, target, SUMS_IN_VECTORS)
                               : NULL;
                if (!m || !(multiply_takes_strips(m) || (singles && m->channels == 1)))
                        return false;
        }
        const int last = op_result(op)->type->rank - 1;
        return op_result(op)->uses && relation_keeps(op, 0, 0) && relation_keeps(op, 0, 1) &&
               relation_keeps(op, 0, last);
}

bool fuse_is_moved_border(const struct op *op)
{
        if (op->code != OP_pad || !value_has_one_use(op_result(op)))
                return false;
        const struct op *user = op_result(op)->uses->user;
        return user->code == OP_reshape && user->region == op->region &&
               value_has_one_use(op_result(user)) &&
               op_result(user)->uses->user->code == OP_transpose;
}

/* Finds the union of all halos around v: the elements it has in front, its extents, and its number.
 * Returns false if there is no halo, or if they have several numbers. */
static bool unite_halos(const struct value *v, int64_t lows[RANK_MAX], dim_t dims[RANK_MAX],
                        double *number)
{
        bool any = false;
        if (!type_is_static_from(v->type, 1))
                return false;
        int64_t highs[RANK_MAX] = { 0 };
        memset(lows, 0, RANK_MAX * sizeof *lows);
        for (const struct use *u = v->uses; u; u = u->next) {
                int64_t own[RANK_MAX];
                double other;
                if (!fuse_is_halo(u->user) || u->user->region != v->op->region)
                        continue;
                halo_lows(u->user, own, &other);
                if (any && other != *number)
                        return false;
                *number = other;
                any = true;
                for (int d = 0; d < v->type->rank; d++) {
                        const struct type *around = op_result(u->user)->type;
                        int64_t high = dim_equal(around->dims[d], v->type->dims[d])
                                               ? 0
                                               : type_extent(around, d) - type_extent(v->type, d) -
                                                         own[d];
                        lows[d] = own[d] > lows[d] ? own[d] : lows[d];
                        highs[d] = high > highs[d] ? high : highs[d];
                }
        }
        for (int d = 0; d < v->type->rank; d++)
                dims[d] = lows[d] || highs[d]
                                  ? dim_of(lows[d] + type_extent(v->type, d) + highs[d])
                                  : v->type->dims[d];
        return any;
}

/* Makes every user of v but the halo itself read a slice of the halo at `starts`, each one a slice
 * of its own. */
static bool read_slices(struct value *v, struct op *halo, const int64_t *starts, struct builder *b)
{
        int64_t steps[RANK_MAX];
        for (int d = 0; d < RANK_MAX; d++)
                steps[d] = 1;
        for (;;) {
                const struct use *u = v->uses;
                while (u && u->user == halo)
                        u = u->next;
                if (!u)
                        return true;
                struct op *user = u->user;
                b->before = user;
                b->location = user->location;
                struct value *part = build_slice(b, op_result(halo), starts, steps, v->type->dims);
                for (int i = 0; part && i < user->operand_count; i++)
                        if (op_operand(user, i) == v)
                                op_set_operand(user, i, part);
                if (!part)
                        return false;
        }
}

static bool share_halo(struct value *v, const int64_t lows[RANK_MAX], const dim_t dims[RANK_MAX],
                       double number, struct builder *b)
{
        struct op *op = v->op;
        *b = (struct builder){ .m = b->m,
                               .region = op->region,
                               .before = op->next,
                               .location = op->location,
                               .diag = b->diag };
        struct value *operands[] = { v, build_scalar(b, v->type->element, number),
                                     constant_ints(b->m, lows, v->type->rank) };
        const struct type *type = type_tensor(b->m, v->type->element, v->type->rank, dims);
        struct op *halo = op_build(b, OP_pad, operands, 3, NULL, &type, 0);
        if (!halo)
                return false;
        /* Smaller halos become slices of the large one. */
        for (struct use *u = v->uses, *next; u; u = next) {
                int64_t own[RANK_MAX], starts[RANK_MAX];
                struct op *pad = u->user;
                next = u->next;
                if (pad == halo || !fuse_is_halo(pad) || pad->region != op->region)
                        continue;
                halo_lows(pad, own, &number);
                for (int d = 0; d < v->type->rank; d++)
                        starts[d] = lows[d] - own[d];
                if (op_result(pad)->type == type)
                        value_replace(op_result(pad), op_result(halo));
                else if (!read_slices(op_result(pad), halo, starts, b))
                        return false;
                op_erase(pad);
        }
        return read_slices(v, halo, lows, b);
}

/* ---- concats ---- */

/* pad(concat(x, y)) = concat(pad(x), pad(y)): each part is stored in its halo, at its place in the
 * concat. That needs parts that lie one after the other in memory. */
static bool push_halo(struct op *concat, struct builder *b)
{
        struct value *v = op_result(concat);
        struct op *halo = v->uses->user;
        int64_t lows[RANK_MAX];
        dim_t dims[RANK_MAX];
        int axis = (int)op_int(concat, "axis"), rank = v->type->rank;
        struct value **parts =
                arena_array(b->m->arena, (size_t)concat->operand_count, sizeof *parts);
        double number;
        halo_lows(halo, lows, &number);
        memcpy(dims, op_result(halo)->type->dims, (size_t)rank * sizeof *dims);
        for (int i = 0; i < concat->operand_count; i++) {
                struct value *x = op_operand(concat, i);
                bool here = x->kind == VALUE_RESULT && x->op->region == concat->region;
                b->before = here ? x->op->next : concat;
                b->location = here ? x->op->location : concat->location;
                dims[axis] = x->type->dims[axis];
                struct value *operands[] = { x, op_operand(halo, 1),
                                             constant_ints(b->m, lows, rank) };
                parts[i] = value_build(b, OP_pad, operands, 3, NULL,
                                       type_tensor(b->m, x->type->element, rank, dims));
        }
        b->before = halo;
        b->location = concat->location;
        struct value *whole = build_concat(b, parts, concat->operand_count, axis);
        if (!whole)
                return false;
        value_replace(op_result(halo), whole);
        op_erase(halo);
        op_erase(concat);
        return true;
}

/* ---- all of it ---- */

int fuse_share_halos(struct region *region, struct diag *diag)
{
        int rewrites = 0;
        struct builder b = { .m = region->function->module, .diag = diag };
        int64_t lows[RANK_MAX];
        dim_t dims[RANK_MAX];
        double number;
        for (struct op *op = region->last, *previous; op; op = previous) {
                previous = op->previous;
                struct value *v = op->result_count == 1 ? op_result(op) : NULL;
                if (!v || !op_is_stack(op) || !unite_halos(v, lows, dims, &number))
                        continue;
                int axis = (int)op_int(op, "axis");
                if (!dim_equal(dims[axis], v->type->dims[axis]))
                        continue;
                if ((!value_has_one_use(v) && !share_halo(v, lows, dims, number, &b)) ||
                    !push_halo(op, &b))
                        return -1;
                rewrites++;
        }
        for (struct op *op = region->first; op; op = op->next) {
                bool computed =
                        fuse_is_elementwise(op) || fuse_is_anchor(op) || op->code == OP_transpose;
                if (op->result_count != 1 || !computed || value_has_one_use(op_result(op)) ||
                    !unite_halos(op_result(op), lows, dims, &number))
                        continue;
                if (!share_halo(op_result(op), lows, dims, number, &b))
                        return -1;
                rewrites++;
        }
        return rewrites;
}
