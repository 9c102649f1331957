/* SPDX-License-Identifier: MIT */
/* What the fuse pass knows of the operations of a region before candidate fusions form. */
#include "passes/fuse/candidates.h"

bool fusing_is_move(const struct fusing *f, const struct op *op)
{
        if (f->members[op->number].decoded || f->members[op->number].packs)
                return true;
        switch (op->code) {
        case OP_broadcast: case OP_iota: case OP_transpose: case OP_neighbours:
                return true;
        case OP_slice:                  /* A slice with run-time bounds can fail, and then should do
                                         * so once, in a kernel of its own. */
                return value_is_constant(op_operand(op, 1)) && value_is_constant(op_operand(op, 2));
        case OP_pad:
                return fusing_is_any_border(f, op);
        case OP_reshape:                /* The operand is moved anyway, so the reshape is no view
                                         * that would be lost. */
                return f->vectors &&
                       (op_is(op_operand(op, 0), OP_transpose) ||
                        op_is(op_operand(op, 0), OP_broadcast) ||
                        (op_operand(op, 0)->op &&
                         fusing_is_any_border(f, op_operand(op, 0)->op))) &&
                       value_has_one_use(op_operand(op, 0));
        default:
                return false;
        }
}

bool fusing_can_join(const struct fusing *f, const struct op *op)
{
        if (op->result_count != 1 || !type_is_bound(op_module(op), op->results[0].type))
                return false;
        return fuse_is_elementwise(op) || fuse_is_anchor(op) || fusing_is_move(f, op) ||
               fuse_is_halo(op) || fuse_is_known_gather(op);
}

/* Does op cost little for each element? A division of indices does where it is the same for a whole
 * row. */
static bool is_cheap(const struct op *op)
{
        bool divides = op->code == OP_div || op->code == OP_rem || op->code == OP_mod;
        const struct value *x = divides ? op_operand(op, 0) : NULL;
        bool once = divides && op_is(x, OP_iota) && op_int(x->op, "axis") != x->type->rank - 1;
        return op->code == OP_broadcast ||
               (fuse_is_elementwise(op) && !(op_info[op->code].traits & TRAIT_COSTLY) &&
                (!divides || once));
}

/* Do element-wise operations alone read op's result? Moving decoded values costs nothing then. */
static bool is_read_by_maps(const struct op *op)
{
        for (const struct use *u = op->results[0].uses; u; u = u->next)
                if (!fuse_is_elementwise(u->user))
                        return false;
        return true;
}

static void find_decoded(const struct region *region, struct member *members)
{
        for (const struct op *op = region->first; op; op = op->next) {
                bool moves = op->code == OP_reshape || fuse_is_known_gather(op);
                bool decoded = op->code == OP_iota || (op->operand_count && is_cheap(op)) ||
                               (moves && is_read_by_maps(op));
                for (int i = 0; i < op->operand_count && decoded; i++) {
                        const struct value *x = op_operand(op, i);
                        decoded = x->kind == VALUE_CONSTANT ||
                                  (x->kind == VALUE_RESULT && x->op->region == region &&
                                   members[x->op->number].decoded);
                }
                members[op->number].decoded = decoded;
        }
}

/* Finds the operations between decoded weights and packed contractions that can compute them, where
 * nobody else reads what is between. */
static void find_packs(const struct region *region, const struct fusing *f)
{
        const struct engine *engine = target_engine(f->target);
        for (const struct op *op = region->first; op; op = op->next) {
                const struct value *v = engine->decoded ? engine->decoded(op, f->target) : NULL,
                                   *w = v ? op_operand(op, 1) : NULL;
                bool alone = v && v->op->region == region && f->members[v->op->number].decoded;
                for (const struct value *x = w; alone && x != v; x = op_operand(x->op, 0))
                        alone = value_has_one_use(x) && x->op->region == region;
                for (const struct value *x = w; alone && x != v; x = op_operand(x->op, 0))
                        f->members[x->op->number].packs = true;
        }
}

static void find_widening(const struct region *region, struct member *members)
{
        for (const struct op *op = region->first; op; op = op->next) {
                const struct widening w = fuse_widening(op);
                for (int i = 0; i < w.count; i++)
                        members[w.ops[i]->number].widens = true;
                if (w.count && w.pad)
                        members[w.pad->number].widens = true;
        }
}

static void find_summed(const struct region *region, struct member *members)
{
        for (const struct op *op = region->first; op; op = op->next) {
                bool *summed = &members[op->number].summed;
                if (op->result_count != 1 ||
                    !fuse_has_rows(region->function->module, op_result(op)->type) ||
                    !fuse_is_row_operation(op))
                        continue;
                *summed = op->code == OP_reduce && value_is_constant(op_operand(op, 1));
                for (int i = 0; i < op->operand_count && !*summed && op->code != OP_reduce; i++) {
                        const struct value *x = op_operand(op, i);
                        *summed = x->kind == VALUE_RESULT && x->op->region == region &&
                                  members[x->op->number].summed;
                }
        }
}

/* ---- packed contractions ---- */

/* Does v stay in its contraction's kernel, since only element-wise operations or a single halo read
 * it? */
static bool stays(const struct fusing *f, const struct value *v)
{
        if (rows_normalize(v))
                return false;
        for (const struct use *u = v->uses; u; u = u->next)
                if (!fuse_is_elementwise(u->user) || u->user->region != v->op->region)
                        return value_has_one_use(v) &&
                               (fusing_is_turn(f, u->user) ||
                                (fuse_is_halo(u->user) && !fusing_is_border(f, u->user)));
        return true;
}

static void find_homes(const struct region *region, const struct fusing *f)
{
        struct member *members = f->members;
        for (const struct op *op = region->first; op; op = op->next) {
                struct member *member = &members[op->number];
                if (member->widens)
                        continue;
                if (fuse_is_packed(op))
                        member->home = op;
                member->epilogue = op_info[op->code].traits & TRAIT_CONTRACTION;
                bool continues = fuse_is_elementwise(op) || fusing_is_turn(f, op) ||
                                 (fuse_is_halo(op) && !fusing_is_border(f, op));
                for (int i = 0; i < op->operand_count && continues; i++) {
                        const struct value *x = op_operand(op, i);
                        if (!x || x->kind != VALUE_RESULT || x->op->region != region ||
                            !members[x->op->number].stays)
                                continue;
                        const struct op *home = members[x->op->number].home;
                        member->epilogue |= members[x->op->number].epilogue;
                        if (home && (!member->home || home->number > member->home->number))
                                member->home = home;
                }
                member->stays = (member->home || member->epilogue) && stays(f, op_result(op));
        }
}

/* Operations that decode bytes for another kernel's epilogue become part of that kernel, so that
 * bytes lie between the kernels. */
static void leave_bytes(const struct region *region, struct member *members)
{
        for (const struct op *op = region->first; op; op = op->next) {
                const struct member *at = &members[op->number];
                for (int i = 0; i < op->operand_count && at->home && fuse_is_elementwise(op); i++) {
                        struct op *ops[WIDENING_MAX];
                        int count = fuse_decoding(op_operand(op, i), region, ops);
                        bool apart = count && members[ops[0]->number].home != at->home;
                        for (int k = 0; k < count && apart; k++)
                                members[ops[k]->number].home = NULL;
                }
        }
}

void fusing_find_members(const struct region *region, const struct fusing *f)
{
        find_decoded(region, f->members);
        find_packs(region, f);
        find_widening(region, f->members);
        find_summed(region, f->members);
        find_homes(region, f);
        leave_bytes(region, f->members);
}
