/* Fuse, halos: what is computed once is stored once, inside the zeros that a contraction wants around it.
 *
 *   %2 = max(%1, 0.0)                           %2 = max(%1, 0.0)
 *   %3 = pad(%2, 0.0, [0, 0, 1, 1, 0])          %3 = pad(%2, 0.0, [0, 0, 1, 1, 0])
 *   %4 = convolve_packed(%3, @v)         ->     %4 = convolve_packed(%3, @v)
 *   %5 = convolve_packed(%2, @w)                %s = slice(%3, [0, 0, 1, 1, 0], 1)
 *                                               %5 = convolve_packed(%s, @w)
 *
 * Where several pads surround a value, one does: the largest amounts of each, the others are slices of it. The pad then
 * becomes the root of its producer's kernel (fuse.c), and each slice is part of the address in the kernel that reads it. */
#include "passes/fuse.h"

#include <string.h>

static bool is_zero(const struct value *v)
{
        double number;
        return !v || (value_is_splat(v, &number) && number == 0);
}

static bool halo_lows(const struct op *op, int64_t lows[RANK_MAX])
{
        int count;
        if (op->code != OP_pad || op_int(op, "mode") != 0 || !is_zero(op_operand(op, 1)) ||
            !value_ints(op_operand(op, 2), lows, RANK_MAX, &count))
                return false;
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type;
        for (int d = 0; d < y->rank; d++)
                if (lows[d] < 0 || y->dims[d] < lows[d] + x->dims[d])
                        return false;
        return true;
}

static bool is_contracted(const struct use *u) { return fuse_is_packed(u->user) && u->index == 0; }

bool fuse_is_halo(const struct op *op)
{
        int64_t lows[RANK_MAX];
        bool contracted = false;
        if (!halo_lows(op, lows))
                return false;
        for (const struct use *u = op_result(op)->uses; u; u = u->next) {
                if (u->user->code == OP_slice)
                        for (const struct use *v = op_result(u->user)->uses; v; v = v->next)
                                contracted |= is_contracted(v);
                else if (is_contracted(u))
                        contracted = true;
                else
                        return false;
        }
        return contracted;
}

/* The union of all halos around v: amounts below and extents of the result. False when there is none. */
static bool unite_halos(const struct value *v, int64_t lows[RANK_MAX], dim_t dims[RANK_MAX])
{
        bool any = false;
        int64_t highs[RANK_MAX] = { 0 };
        memset(lows, 0, RANK_MAX * sizeof *lows);
        for (const struct use *u = v->uses; u; u = u->next) {
                int64_t own[RANK_MAX];
                if (!fuse_is_halo(u->user) || u->user->region != v->op->region)
                        continue;
                halo_lows(u->user, own);
                any = true;
                for (int d = 0; d < v->type->rank; d++) {
                        int64_t high = op_result(u->user)->type->dims[d] - v->type->dims[d] - own[d];
                        lows[d] = own[d] > lows[d] ? own[d] : lows[d];
                        highs[d] = high > highs[d] ? high : highs[d];
                }
        }
        for (int d = 0; d < v->type->rank; d++)
                dims[d] = lows[d] + v->type->dims[d] + highs[d];
        return any;
}

/* every user of v but the halo itself reads a slice of it at starts, one of its own */
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

static bool share_halo(struct value *v, const int64_t lows[RANK_MAX], const dim_t dims[RANK_MAX], struct builder *b)
{
        struct op *op = v->op;
        *b = (struct builder){ .m = b->m, .region = op->region, .before = op->next, .location = op->location,
                               .diag = b->diag };
        struct value *operands[] = { v, build_scalar(b, v->type->element, 0), constant_ints(b->m, lows, v->type->rank) };
        const struct type *type = type_tensor(b->m, v->type->element, v->type->rank, dims);
        struct op *halo = op_build(b, OP_pad, operands, 3, NULL, &type, 0);
        if (!halo)
                return false;
        for (struct use *u = v->uses, *next; u; u = next) {     /* smaller halos are parts of it */
                int64_t own[RANK_MAX], starts[RANK_MAX];
                struct op *pad = u->user;
                next = u->next;
                if (pad == halo || !fuse_is_halo(pad) || pad->region != op->region)
                        continue;
                halo_lows(pad, own);
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

int fuse_share_halos(struct region *region, struct diag *diag)
{
        int rewrites = 0;
        struct builder b = { .m = region->function->module, .diag = diag };
        for (struct op *op = region->first; op; op = op->next) {
                int64_t lows[RANK_MAX];
                dim_t dims[RANK_MAX];
                bool computed = fuse_is_elementwise(op) || fuse_is_anchor(op) || op->code == OP_transpose;
                if (op->result_count != 1 || !computed || value_has_one_use(op_result(op)) ||
                    !unite_halos(op_result(op), lows, dims))
                        continue;
                if (!share_halo(op_result(op), lows, dims, &b))
                        return -1;
                rewrites++;
        }
        return rewrites;
}
