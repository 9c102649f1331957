/* SPDX-License-Identifier: MIT */
/* fuse: operations that can run as one loop nest become one kernel.
 *
 *   %2 = convolve(%0, @w)                    %5 = fusion(%0, @w, @b) {
 *   %3 = broadcast(@b)                         %1 = convolve(%0, @w)
 *   %4 = add(%2, %3)                 ->        %2 = broadcast(@b)
 *   %5 = max(%4, 0.0)                          %3 = add(%1, %2)
 *                                              %4 = max(%3, 0.0)
 *                                              yield(%4) }
 *
 * From the last operation to the first, an operation joins the group of its users when all its uses
 * are in one group and joining repeats no work:
 *
 *   - element-wise operations join users that read each of their elements once: element-wise ones
 *     (same index), reductions (as a prologue), transposes and slices; never below a broadcast, a
 *     window or a contraction, which would compute an element again for every read, and never two
 *     users that read at different indices;
 *   - broadcasts, iotas, slices and transposes cost only index arithmetic and join almost any user;
 *     a broadcast or iota with several users is copied for each of them first, so that it is never
 *     stored;
 *   - gathers by constant indices (a resize) join element-wise users, but no epilogue of a
 *     contraction: they keep positions from being one loop. What they read stays outside: they may
 *     read it again;
 *   - what computes the indices of gather_elements joins it, and nothing else does;
 *   - so do element-wise operations on constants and indices alone (with gathers by constant indices
 *     and reshapes between), which decode weights that are kept in 8 bits or fewer, or say what a
 *     causal mask hides: else a copy of the weights in their full size, or the whole mask, would be
 *     stored with every run;
 *   - one contraction or reduction a group, and only where its element is stored at the index it is
 *     computed for: the element-wise rest of the group is its epilogue;
 *   - but rows (softmax, norms): what reductions along the same dimensions make of the elements of
 *     a row, and is broadcast along it again, joins with all between; so does a reduction that a
 *     row ends in. Each is computed once for a row; what several loops over the row need is
 *     computed in each of them, but for one costly value, which is kept (ir/lower/lower_rows.c).
 *
 * Packed contractions (made by layout) take more:
 *
 *   - a pad that surrounds their result with the zeros that the next one reads may be the root: the
 *     elements are stored inside the halo (halo.c sees to it that nothing else of the value is
 *     stored);
 *   - an element-wise chain is the epilogue of the last contraction it follows, not the prologue of
 *     a reduction behind it, nor part of another contraction's epilogue.
 *
 * A group whose uses are all inside has one way out, its root, so no cycle can arise. Exact: the
 * same operations in the same order on each element. reshape and concat stay outside: they are
 * views (lower.h). (But for a reshape of what a transpose or a broadcast moves anyway, where the
 * target has vectors: blocks become rows, rows become blocks, and go on.) */
#include "passes/fuse/fuse.h"

#include <string.h>

#include "ir/tensor/relation.h"
#include "passes/remark.h"

struct member {                         /* A member is what the pass knows of an operation while
                                         * groups form. */
        struct group *group;
        enum remark_reason why;         /* The reason why it is not in the group of its readers. */
        const struct op *decided;       /* This reader decided that; NULL: none did. */
        const struct op *home;          /* The operation could be part of the epilogue of this
                                         * packed contraction; NULL: of none. */
        bool epilogue;                  /* The operation is a contraction, or could be in the
                                         * epilogue of any one. */
        bool stays;                     /* The operation has a home or could be an epilogue, and all
                                         * its readers are element-wise, or a single halo. */
        bool identity;                  /* Its element i is needed once, where the root's element i
                                         * (in a halo) is stored. */
        bool repeated;                  /* An element of it may be read more than once. */
        const struct op *map;           /* The operation is read at the index of this reader:
                                         * members with the same map are read at the same index, and
                                         * computed once for it. */
        bool decoded;                   /* The operation is computed from indices and from constants
                                         * that should stay as small as they are. */
        bool widens;                    /* Its reader wants to read it narrow (fuse_narrow.c). */
        bool summed;                    /* The operation is a reduction, or is computed from one and
                                         * has no more elements. */
        bool per_row;                   /* The operation is needed once for a row. */
        bool along_row;                 /* Its element i is needed where the root's is stored, and
                                         * in loops over the root's row. */
        unsigned loops;                 /* These loops have a bit each. */
};

struct group {
        struct op *root;
        const struct op *home;          /* The root has this home. */
        int size;
        bool anchored;                  /* The kernel holds a contraction or a reduction. */
        const struct type *shape;       /* The kernel stores this shape or, where rows become one
                                         * element each, reduces it. */
        bool reduced;                   /* Rows become one element each. */
        unsigned along;                 /* Each dimension of its rows has a bit; 0: it has no
                                         * rows. */
        unsigned loop_count;            /* It has this many loops over a row. */
        const struct op *kept;          /* The values of this operation are kept while a row is
                                         * computed; NULL: of none. */
};

struct fusing {
        struct member *members;         /* The members are all operations of the region, by their
                                         * numbers. */
        int limit;                      /* A group has at most this many operations. */
        bool vectors;                   /* The target has vectors, or is a machine whose layouts
                                         * have blocks. */
        bool borders;                   /* The engine multiplies in blocks of warps, which put zeros
                                         * around what they read. */
};

/* A border is zeros that no memory holds: around what a packed contraction reads (is_border), or
 * around a value that is only moved, too (is_any_border). */
static bool is_border(const struct fusing *f, const struct op *op)
{
        return f->borders && fuse_is_border(op);
}
static bool is_any_border(const struct fusing *f, const struct op *op)
{
        return is_border(f, op) || (f->borders && fuse_is_moved_border(op));
}

static bool is_move(const struct fusing *f, const struct op *op)
{
        if (f->members[op->number].decoded)
                return true;
        switch (op->code) {
        case OP_broadcast: case OP_iota: case OP_transpose:
                return true;
        case OP_slice:                  /* A slice with run-time bounds can fail, and then should do
                                         * so once, in a kernel of its own. */
                return value_is_constant(op_operand(op, 1)) && value_is_constant(op_operand(op, 2));
        case OP_pad:
                return is_any_border(f, op);
        case OP_reshape:                /* The operand is moved anyway, so the reshape is no view
                                         * that would be lost. */
                return f->vectors &&
                       (op_is(op_operand(op, 0), OP_transpose) ||
                        op_is(op_operand(op, 0), OP_broadcast) ||
                        (op_operand(op, 0)->op && is_any_border(f, op_operand(op, 0)->op))) &&
                       value_has_one_use(op_operand(op, 0));
        default:
                return false;
        }
}

/* Its indices are constants, which have been checked, so it cannot fail. */
static bool is_known_gather(const struct op *op)
{
        return op->code == OP_gather && value_is_constant(op_operand(op, 1));
}

/* op reads each index for one element of its result: the kernel that computes the indices can join
 * the kernel of op; op itself joins no kernel before it, because a gather can fail. */
static bool reads_indices(const struct op *op)
{
        return op->code == OP_gather_elements && type_is_static(op->results[0].type) &&
               type_elements(op->results[0].type);
}

static bool can_join_any(const struct fusing *f, const struct op *op)
{
        if (op->result_count != 1 || !type_is_static(op->results[0].type))
                return false;
        return fuse_is_elementwise(op) || fuse_is_anchor(op) || is_move(f, op) ||
               fuse_is_halo(op) || is_known_gather(op);
}

/* Element i of its operand goes into element i (in the halo) of its result, and nowhere else. */
static bool keeps_index(const struct op *op)
{
        return fuse_is_elementwise(op) || op->code == OP_pad;
}

/* A packed contraction reads its weights as they lie, and rows of channels at any stride. An
 * operand that would have to be read element by element is better copied once. */
static bool packed_accepts(const struct fusing *f, const struct op *op, int operand)
{
        int last = op_result(op)->type->rank - 1;
        return operand == 0 && (op->code == OP_slice || is_border(f, op) ||
                                (op->code == OP_transpose && relation_keeps(op, 0, last)));
}

/* Are these the bytes that a single row is multiplied by (the keys of a cache)? Each byte is then
 * widened once, where it is read. */
static bool is_row_of_bytes(const struct op *dot, const struct op *op, int operand)
{
        const struct type *x =
                operand == 1 && dot->code == OP_dot ? op_operand(dot, 0)->type : NULL;
        int batches, contracted;
        if (!x || op->code != OP_cast || element_info[op_operand(op, 0)->type->element].bytes != 1)
                return false;
        const int64_t *batch = op_ints(dot, "batch_a", &batches),
                      *contract = op_ints(dot, "contract_a", &contracted);
        int64_t known = 1;
        for (int i = 0; i < batches; i++)
                known *= type_extent(x, batch[i]);
        for (int i = 0; i < contracted; i++)
                known *= type_extent(x, contract[i]);
        return type_elements(x) == known;
}

/* May op join user's group, as far as this one use goes? Returns REMARK_fuse_joined, or the reason
 * why not. */
static enum remark_reason accepts(const struct fusing *f, const struct op *user,
                                  const struct op *op, int operand)
{
        const struct member *at = &f->members[user->number];
        bool widens = f->members[op->number].widens;
        if (reads_indices(user))
                return operand == 1 && (is_move(f, op) || fuse_is_elementwise(op))
                               ? REMARK_fuse_joined : REMARK_fuse_indices;
        if (!can_join_any(f, user))
                return REMARK_fuse_row_reader;
        if (type_elements(user->results[0].type) == 0)
                return REMARK_fuse_empty;
        if (at->widens && !widens && operand == 0)
                return REMARK_fuse_narrow;
        if (fuse_is_packed(user) || is_border(f, user))
                return packed_accepts(f, op, operand) ? REMARK_fuse_joined : REMARK_fuse_packed;
        if (widens && (at->widens || operand == 0))
                return REMARK_fuse_joined;
        if (is_move(f, op)) {
                /* Operands that are positions (axes) are read as they are. */
                bool data = op_info[user->code].operand_count <= operand ||
                            op_info[user->code].operands[operand].kind != OPERAND_SHAPE;
                return data ? REMARK_fuse_joined : REMARK_fuse_where;
        }
        if (fuse_is_anchor(op))
                return !keeps_index(user) || !at->identity ? REMARK_fuse_index
                       : at->group->anchored               ? REMARK_fuse_second_sum
                                                           : REMARK_fuse_joined;
        if (op_info[user->code].traits & TRAIT_CONTRACTION &&
            !(is_row_of_bytes(user, op, operand) && !at->repeated))
                return REMARK_fuse_contracted;
        return at->repeated || !relation_reads_once(user, operand) ? REMARK_fuse_again
                                                                   : REMARK_fuse_joined;
}

/* ---- rows ---- */

/* Returns a bit for each dimension of `shape` along which a broadcast repeats values that it has
 * once for each index of the other dimensions; 0 if op is no broadcast to that shape. */
static unsigned repeats_along(const struct op *op, const struct type *shape)
{
        unsigned along = 0;
        if (op->code != OP_broadcast || !type_same_dims(op_result(op)->type, shape))
                return 0;
        for (int d = 0; d < shape->rank; d++)
                along |= (unsigned)(!dim_is(shape->dims[d], 1)) << d;
        return along & ~relation_depends(op, 0);
}

static bool is_row_operation(const struct op *op)
{
        return fuse_is_elementwise(op) || op->code == OP_reshape || op->code == OP_reduce;
}

/* Begins a group that has no anchor but this reduction: it stores one element for each row. */
static void begin_rows(struct group *group, const struct op *op)
{
        const struct type *x = op->operand_count ? op_operand(op, 0)->type : NULL;
        if (op->code != OP_reduce || !type_is_static(x) || !rows_reduce(op, x, &group->along) ||
            !group->along)
                return;
        group->shape = x;
        group->reduced = true;
}

static bool needed_per_row(const struct member *m)
{
        return m->per_row || (m->group->reduced && m->identity);
}

/* Does op compute, from reductions along the rows of user's group, what user needs once for a row?
 * *along: the dimensions of the rows. */
static bool is_per_row(const struct fusing *f, const struct op *user, const struct op *op,
                       unsigned *along)
{
        const struct member *at = &f->members[user->number];
        const struct group *group = at->group;
        const struct type *shape = group->shape;
        unsigned reduced;
        if (!f->members[op->number].summed || !is_row_operation(op) || group->home ||
            (group->anchored && !group->along))
                return false;
        if (!needed_per_row(at))
                *along = at->along_row ? repeats_along(user, shape) : 0;
        else if (!is_row_operation(user) || user->code == OP_reduce)
                return false;
        else
                *along = group->along;
        if (!*along || (group->along && group->along != *along))
                return false;
        return op->code != OP_reduce || (rows_reduce(op, shape, &reduced) && reduced == *along);
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
                bool moves = op->code == OP_reshape || is_known_gather(op);
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
                if (op->result_count != 1 || !type_is_static(op_result(op)->type) ||
                    !is_row_operation(op))
                        continue;
                *summed = op->code == OP_reduce && value_is_constant(op_operand(op, 1));
                for (int i = 0; i < op->operand_count && !*summed && op->code != OP_reduce; i++) {
                        const struct value *x = op_operand(op, i);
                        *summed = x->kind == VALUE_RESULT && x->op->region == region &&
                                  members[x->op->number].summed;
                }
        }
}

/* Decides about a value that several loops over a row would compute again: allowed are cheap ones,
 * and one that the group then keeps (joined). */
static enum remark_reason may_repeat(struct group *group, const struct op *op,
                                     struct member *joined)
{
        enum { LOOP_KEPT = 2 };
        if (!(joined->loops & (joined->loops - 1)))
                return REMARK_fuse_joined;
        if (!joined->along_row || !group->along)
                return REMARK_fuse_row_places;
        /* A contraction's epilogue computes it once. */
        for (int i = 0; i < op->operand_count; i++) {
                const struct value *x = op_operand(op, i);
                if (x->kind == VALUE_RESULT && op_info[x->op->code].traits & TRAIT_CONTRACTION &&
                    value_has_one_use(x))
                        return REMARK_fuse_row_sums;
        }
        if (!(op_info[op->code].traits & TRAIT_COSTLY))
                return REMARK_fuse_joined;
        if (group->kept || op_result(op)->type != group->root->results[0].type)
                return REMARK_fuse_loops;
        group->kept = op;
        joined->loops = LOOP_KEPT;
        return REMARK_fuse_joined;
}

/* ---- packed contractions ---- */

/* Does v stay in its contraction's kernel, since only element-wise operations or a single halo read
 * it? */
static bool stays(const struct fusing *f, const struct value *v)
{
        for (const struct use *u = v->uses; u; u = u->next)
                if (!fuse_is_elementwise(u->user) || u->user->region != v->op->region)
                        return value_has_one_use(v) && fuse_is_halo(u->user) &&
                               !is_border(f, u->user);
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
                for (int i = 0; i < op->operand_count && (fuse_is_elementwise(op) ||
                                                          (fuse_is_halo(op) && !is_border(f, op)));
                     i++) {
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

/* Adds to `joined` how op's element is needed by this one use. */
static void add_use(const struct fusing *f, const struct op *user, struct member *joined)
{
        const struct member *at = &f->members[user->number];
        bool reduces = user->code == OP_reduce && needed_per_row(at);
        joined->identity &= keeps_index(user) && at->identity;
        joined->along_row &= (fuse_is_elementwise(user) && at->along_row) || reduces;
        joined->loops |= at->loops;
        joined->repeated |= at->repeated || op_info[user->code].traits & TRAIT_CONTRACTION ||
                            user->code == OP_broadcast || user->code == OP_reduce_window ||
                            user->code == OP_arg_window;
}

/* Adds op to the group as an operation per row: it is computed before the loops over the row that
 * need it. Returns false where that cannot be. */
static bool join_rows(struct group *group, const struct op *op, unsigned along,
                      struct member *joined)
{
        enum { LOOP_FIRST = 4, LOOPS_MAX = 28 };
        if (joined->home || group->loop_count == LOOPS_MAX)
                return false;
        group->along = along;
        group->anchored = true;
        joined->identity = joined->along_row = joined->repeated = false;
        joined->per_row = true;
        joined->loops = op->code == OP_reduce ? LOOP_FIRST << group->loop_count++ : 1;
        return true;
}

/* The struct holds the state of an operation while its readers are asked whether it may join their
 * group. */
struct joining {
        struct group *group;
        struct member member;           /* The operation will have these facts in the group. */
        unsigned rows;                  /* Each dimension along which it is computed once per row
                                         * has a bit; 0: it is not. */
        bool others;                    /* A reader needs it elsewhere than once per row. */
        bool several_maps;              /* Several operations that are not element-wise read it,
                                         * each at an index of its own. */
        const struct op *decided;       /* This reader was looked at last. */
};

/* A view is a kernel of its own or, where memory is shared, none. */
static bool is_view(const struct op *op) { return op->code == OP_reshape || op->code == OP_concat; }

/* Collects what all readers of op ask of it. Returns REMARK_fuse_joined, or why they are not of one
 * group or which of them wants it stored. */
static enum remark_reason find_readers(const struct fusing *f, struct op *op, struct joining *j)
{
        unsigned along;
        for (const struct use *u = op->results[0].uses; u; u = u->next) {
                struct op *user = u->user;
                j->decided = user;
                if (user->code == OP_yield || user->region != op->region)
                        return user->code == OP_yield ? REMARK_fuse_result : REMARK_fuse_region;
                const struct member *at = &f->members[user->number];
                if (!at->group)
                        return is_view(user) ? REMARK_fuse_reader_view : REMARK_fuse_reader_alone;
                if (j->group && at->group != j->group)
                        return REMARK_fuse_several_kernels;
                j->group = at->group;
                if (is_per_row(f, user, op, &along) && (!j->rows || j->rows == along)) {
                        j->rows = along;
                        continue;
                }
                j->others = true;
                enum remark_reason why = accepts(f, user, op, u->index);
                if (why != REMARK_fuse_joined)
                        return why;
                add_use(f, user, &j->member);
                const struct op *map = fuse_is_elementwise(user) ? at->map : user;
                j->several_maps |= j->member.map && j->member.map != map;
                j->member.map = map;
        }
        j->decided = NULL;
        /* Nobody reads it. */
        return j->group ? REMARK_fuse_joined : REMARK_fuse_alone;
}

static enum remark_reason can_join(const struct fusing *f, struct op *op, struct joining *j)
{
        struct group *group = j->group;
        if (group->size >= f->limit)
                return REMARK_fuse_limit;
        if (j->rows && j->others)
                return REMARK_fuse_again;
        if (!j->rows && !can_join_any(f, op))
                return is_view(op) ? REMARK_fuse_view : REMARK_fuse_alone;
        if (j->member.home && (!j->member.identity || group->home != j->member.home))
                return REMARK_fuse_epilogue;
        if (op->code == OP_gather && f->members[group->root->number].epilogue)
                return REMARK_fuse_gather;
        if (j->rows && !join_rows(group, op, j->rows, &j->member))
                return REMARK_fuse_row_loops;
        enum remark_reason again = j->rows || is_move(f, op) ? REMARK_fuse_joined
                                                             : may_repeat(group, op, &j->member);
        if (again != REMARK_fuse_joined)
                return again;
        return !j->several_maps || is_move(f, op) || (group->along && j->member.along_row)
                       ? REMARK_fuse_joined : REMARK_fuse_several_indices;
}

static bool join(const struct fusing *f, struct op *op)
{
        struct joining j = { .member = f->members[op->number] };
        struct member *member = &f->members[op->number];
        j.member.identity = j.member.along_row = true;
        /* A pad that memory holds is always the root of its group. */
        member->why = op->code == OP_pad && !is_any_border(f, op) ? REMARK_fuse_halo
                                         : find_readers(f, op, &j);
        if (member->why == REMARK_fuse_joined)
                member->why = can_join(f, op, &j);
        member->decided = j.decided;
        if (member->why != REMARK_fuse_joined)
                return false;
        j.member.why = REMARK_fuse_joined;
        if (j.several_maps)
                j.member.map = op;
        j.member.group = j.group;
        f->members[op->number] = j.member;
        j.group->size++;
        if (!j.group->anchored && j.member.identity)
                begin_rows(j.group, op);
        j.group->anchored |= fuse_is_anchor(op);
        return true;
}

static bool is_spread(const struct fusing *f, const struct op *op)
{
        return op->code == OP_broadcast || op->code == OP_iota || is_border(f, op);
}

/* Copies broadcasts, iotas and borders, one for each user, so that each can join its user's kernel.
 * The first user keeps the original, unless that leaves the region. Users are walked in the order
 * of the program, because a dump does not hold the order of uses. */
static void split_moves(struct region *region, const struct fusing *f)
{
        for (struct op *op = region->first; op; op = op->next) {
                op->number = 0;
                for (const struct use *u = is_spread(f, op) ? op_result(op)->uses : NULL; u;
                     u = u->next)
                        op->number |= u->user->code == OP_yield || u->user->region != region;
        }
        for (struct op *user = region->first; user; user = user->next) {
                for (int i = 0; i < user->operand_count && user->code != OP_yield; i++) {
                        const struct value *v = op_operand(user, i);
                        if (!v || v->kind != VALUE_RESULT || v->op->region != region ||
                            !is_spread(f, v->op) || !v->op->number++)
                                continue;
                        struct builder b = { .m = region->function->module,
                                             .region = region,
                                             .before = user,
                                             .location = v->op->location };
                        op_set_operand(user, i, op_result(op_clone(&b, v->op)));
                }
        }
}

/* Moves the members, in their order, into the region of a fusion that takes the root's place. */
static void build_fusion(struct module *m, struct op **ops, int count, struct diag *diag)
{
        struct op *root = ops[count - 1];
        struct text location = { 0 };
        for (int i = 0; i < count; i++) {
                const char *part = ops[i]->location;
                bool known = !part;
                for (int j = 0; j < i && !known; j++)
                        known = ops[j]->location && !strcmp(ops[j]->location, part);
                if (!known)
                        text_add(&location, "%s%s", location.length ? ", " : "", part);
        }
        struct builder b = { .m = m,
                             .region = root->region,
                             .before = root,
                             .diag = diag,
                             .location = location.length ? arena_string(m->arena, location.data)
                                                         : NULL };
        text_free(&location);
        const struct type *type = root->results[0].type;
        struct op *fusion = op_build(&b, OP_fusion, NULL, 0, NULL, &type, 1);
        if (!fusion)
                return;
        value_replace(op_result(root), op_result(fusion));
        struct region *body = op_add_region(fusion, 0);
        struct builder inside = { .m = m, .region = body, .diag = diag };
        struct value *result = op_result(root);
        struct op *yield = build_yield(&inside, &result, 1);
        for (int i = 0; i < count; i++)
                op_move_before(ops[i], yield);
}

/* Forms groups from the last operation to the first, so that users come before what they use. */
static void form_groups(struct region *region, const struct fusing *f, struct arena *arena)
{
        for (struct op *op = region->last; op; op = op->previous) {
                struct member *member = &f->members[op->number];
                bool known = can_join_any(f, op);
                /* Operations for which no group is tried have this reason. */
                member->why = is_view(op) ? REMARK_fuse_view : REMARK_fuse_alone;
                if (((known || member->summed) && join(f, op)) || (!known && !reads_indices(op)))
                        continue;
                member->group = ARENA_NEW(arena, struct group);
                *member->group = (struct group){ .root = op,
                                                 .home = member->home,
                                                 .size = 1,
                                                 .anchored = fuse_is_anchor(op),
                                                 .shape = op->results[0].type };
                member->identity = true;
                member->along_row = fuse_is_elementwise(op);
                begin_rows(member->group, op);
                member->loops = 1;
                member->map = op;
        }
}

static int build_groups(struct region *region, const struct member *members, struct arena *arena,
                        int count, struct diag *diag)
{
        struct op ***lists = arena_array(arena, (size_t)count, sizeof *lists);
        int *filled = arena_array(arena, (size_t)count, sizeof *filled);
        int fused = 0;
        for (struct op *op = region->first, *next; op; op = next) {
                next = op->next;
                struct group *group = members[op->number].group;
                if (!group || group->size < 2)
                        continue;
                int at = group->root->number;
                if (!lists[at])
                        lists[at] = arena_array(arena, (size_t)group->size, sizeof **lists);
                lists[at][filled[at]++] = op;
                if (op != group->root)
                        continue;
                build_fusion(region->function->module, lists[at], group->size, diag);
                fused++;
        }
        return fused;
}

/* Makes a remark on every value between two operations: that they are one kernel, or why they are
 * two. */
static void remark_all(const struct region *region, const struct member *members,
                       struct remarks *remarks)
{
        for (const struct op *op = region->first; op; op = op->next)
                for (int r = 0; r < op->result_count; r++)
                        for (const struct use *u = op->results[r].uses; u; u = u->next) {
                                const struct member *at = &members[op->number];
                                /* A user that reads a value twice gets one remark. */
                                bool seen = u->user->code == OP_yield;
                                for (const struct use *v = op->results[r].uses; v != u; v = v->next)
                                        seen |= v->user == u->user;
                                if (!seen)
                                        remark_pair(remarks, at->why, op, u->user, at->decided);
                        }
}

static int fuse_region(struct region *region, struct pass_context *context)
{
        struct fusing f = { .limit = (int)context->limits.kernel_operations,
                            .vectors = target_engine(context->target)->blocks,
                            .borders = target_engine(context->target)->reads_borders };
        int count = 0, halos = f.borders ? 0 : fuse_share_halos(region, context->diag),
            narrow = fuse_narrow(region, context->diag);
        int fused = halos < 0 || narrow < 0 ? -1 : halos + narrow;
        for (struct op *op = region->first; op; op = op->next)
                for (int i = 0; op->code != OP_fusion && i < op->region_count; i++) {
                        int inside = fuse_region(op->regions[i], context);
                        fused = inside < 0 || fused < 0 ? -1 : fused + inside;
                }
        if (fused < 0)
                return -1;
        split_moves(region, &f);
        for (struct op *op = region->first; op; op = op->next)
                op->number = count++;
        struct arena *arena = arena_new();
        f.members = arena_array(arena, (size_t)count, sizeof *f.members);
        find_decoded(region, f.members);
        find_widening(region, f.members);
        find_summed(region, f.members);
        find_homes(region, &f);
        leave_bytes(region, f.members);
        form_groups(region, &f, arena);
        if (context->remarks)
                remark_all(region, f.members, context->remarks);
        fused += build_groups(region, f.members, arena, count, context->diag);
        arena_free(arena);
        return fused;
}

int pass_fuse(struct function *f, struct pass_context *context)
{
        if (context->remarks && f == module_entry(f->module))
                remarks_begin(context->remarks, "fuse");
        return fuse_region(&f->body, context);
}
