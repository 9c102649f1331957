/* SPDX-License-Identifier: MIT */
/* How candidate fusions form: an operation joins the candidate of its users, or begins one, by the
 * rules that fuse.c states. */
#include "passes/fuse/candidates.h"

#include "ir/tensor/relation.h"

enum { PRODUCTS_MOST = 2 };             /* A kernel adds up at most this many products of the same
                                         * rows. */

/* Element i of its operand goes into element i (in the halo, or turned) of its result, and nowhere
 * else. */
static bool keeps_index(const struct fusing *f, const struct op *op)
{
        return fuse_is_elementwise(op) || op->code == OP_pad || fusing_is_turn(f, op);
}

/* A packed contraction reads its weights as they lie, and rows of channels at any stride. An
 * operand that would have to be read element by element is better copied once. */
static bool packed_accepts(const struct fusing *f, const struct op *op, int operand)
{
        int last = op_result(op)->type->rank - 1;
        if (operand == 1)
                return f->members[op->number].packs;
        return operand == 0 && (op->code == OP_slice || op->code == OP_neighbours ||
                                fusing_is_border(f, op) ||
                                (op->code == OP_transpose && relation_keeps(op, 0, last)));
}

/* Are these the bytes that a single row is multiplied by (the keys of a cache)? Each byte is then
 * widened once, where it is read. */
static bool is_row_of_bytes(const struct op *dot, const struct op *op, int operand)
{
        const struct type *x =
                operand == 1 && dot->code == OP_dot ? op_operand(dot, 0)->type : NULL;
        int batches, contracted;
        if (!x || !type_is_static(x) || op->code != OP_cast ||
            element_info[op_operand(op, 0)->type->element].bytes != 1)
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

/* Is op a product of the same rows as the candidate's, by weights that both decode where they read
 * them? Then one launch computes both, and neither result is stored for the other. */
static bool is_twin(const struct fusing *f, const struct candidate *candidate, const struct op *op)
{
        const struct op *other = candidate->product;
        if (!f->launches || !other || candidate->products == PRODUCTS_MOST ||
            op->code != OP_dot || op_operand(op, 0) != op_operand(other, 0) ||
            !type_same_dims(op_result(op)->type, op_result(other)->type) ||
            !type_same_dims(op_operand(op, 1)->type, op_operand(other, 1)->type) ||
            op_int(op, "accumulator") != op_int(other, "accumulator"))
                return false;
        const struct op *const both[] = { op, other };
        for (int i = 0; i < 2; i++) {
                const struct value *w = op_operand(both[i], 1);
                if (w->kind != VALUE_RESULT || w->op->region != op->region ||
                    !f->members[w->op->number].decoded)
                        return false;
        }
        return true;
}

static void begin_products(struct candidate *candidate, const struct op *op)
{
        if (op->code != OP_dot)
                return;
        candidate->product = op;
        candidate->products++;
}

/* May op join user's candidate, as far as this one use goes? Returns REMARK_fuse_joined, or the
 * reason why not. */
static enum remark_reason accepts(const struct fusing *f, const struct op *user,
                                  const struct op *op, int operand)
{
        const struct member *at = &f->members[user->number];
        bool widens = f->members[op->number].widens;
        if (fuse_reads_indices(user))
                return operand == 1 && (fusing_is_move(f, op) || fuse_is_elementwise(op))
                               ? REMARK_fuse_joined : REMARK_fuse_indices;
        if (!fusing_can_join(f, user))
                return REMARK_fuse_row_reader;
        if (user->code == OP_gather && operand == 1)      /* Indices are computed once. */
                return REMARK_fuse_indices;
        if (type_is_empty(user->results[0].type))
                return REMARK_fuse_empty;
        if (at->widens && !widens && operand == 0)
                return REMARK_fuse_narrow;
        if (user->code == OP_neighbours)        /* They are words, read as they lie in memory. */
                return REMARK_fuse_packed;
        if (fuse_is_packed(user) || fusing_is_border(f, user))
                return packed_accepts(f, op, operand) ? REMARK_fuse_joined : REMARK_fuse_packed;
        if (widens && (at->widens || operand == 0))
                return REMARK_fuse_joined;
        if (fusing_is_move(f, op)) {
                /* Operands that are positions (axes) are read as they are. */
                bool data = op_info[user->code].operand_count <= operand ||
                            op_info[user->code].operands[operand].kind != OPERAND_SHAPE;
                return data ? REMARK_fuse_joined : REMARK_fuse_where;
        }
        if (fuse_is_anchor(op))
                return !keeps_index(f, user) || !at->identity ? REMARK_fuse_index
                       : at->candidate->anchored && !is_twin(f, at->candidate, op)
                               ? REMARK_fuse_second_sum
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

/* Begins a candidate that has no anchor but this reduction: it stores one element for each row. */
static void begin_rows(struct candidate *candidate, const struct op *op)
{
        const struct type *x = op->operand_count ? op_operand(op, 0)->type : NULL;
        if (op->code != OP_reduce || !fuse_has_rows(op_module(op), x) ||
            !rows_reduce(op, x, &candidate->along) || !candidate->along)
                return;
        candidate->shape = x;
        candidate->reduced = true;
}

static bool needed_per_row(const struct member *m)
{
        return m->per_row || (m->candidate->reduced && m->identity);
}

/* Does op compute, from reductions along the rows of user's candidate, what user needs once for a
 * row? *along: the dimensions of the rows. */
static bool is_per_row(const struct fusing *f, const struct op *user, const struct op *op,
                       unsigned *along)
{
        const struct member *at = &f->members[user->number];
        const struct candidate *candidate = at->candidate;
        const struct type *shape = candidate->shape;
        unsigned reduced;
        if (!f->members[op->number].summed || !fuse_is_row_operation(op) || candidate->home ||
            (candidate->anchored && !candidate->along))
                return false;
        if (!needed_per_row(at))
                *along = at->along_row ? repeats_along(user, shape) : 0;
        else if (!fuse_is_row_operation(user) || user->code == OP_reduce)
                return false;
        else
                *along = candidate->along;
        if (!*along || (candidate->along && candidate->along != *along))
                return false;
        return op->code != OP_reduce || (rows_reduce(op, shape, &reduced) && reduced == *along);
}

/* Decides about a value that several loops over a row would compute again: allowed are cheap ones,
 * and one that the candidate then keeps (joined). */
static enum remark_reason may_repeat(struct candidate *candidate, const struct op *op,
                                     struct member *joined)
{
        enum { LOOP_KEPT = 2 };
        if (!(joined->loops & (joined->loops - 1)))
                return REMARK_fuse_joined;
        if (!joined->along_row || !candidate->along)
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
        if (candidate->kept || op_result(op)->type != candidate->root->results[0].type)
                return REMARK_fuse_loops;
        candidate->kept = op;
        joined->loops = LOOP_KEPT;
        return REMARK_fuse_joined;
}

/* Adds to `joined` how op's element is needed by this one use. */
static void add_use(const struct fusing *f, const struct op *user, struct member *joined)
{
        const struct member *at = &f->members[user->number];
        bool reduces = user->code == OP_reduce && needed_per_row(at);
        joined->identity &= keeps_index(f, user) && at->identity;
        joined->along_row &= (fuse_is_elementwise(user) && at->along_row) || reduces;
        joined->loops |= at->loops;
        joined->repeated |= at->repeated || op_info[user->code].traits & TRAIT_CONTRACTION ||
                            user->code == OP_broadcast || user->code == OP_reduce_window ||
                            user->code == OP_arg_window;
}

/* Adds op to the candidate as an operation per row: it is computed before the loops over the row
 * that need it. Returns false where that cannot be. */
static bool join_rows(struct candidate *candidate, const struct op *op, unsigned along,
                      struct member *joined)
{
        enum { LOOP_FIRST = 4, LOOPS_MAX = 28 };
        if (joined->home || candidate->loop_count == LOOPS_MAX)
                return false;
        candidate->along = along;
        candidate->anchored = true;
        joined->identity = joined->along_row = joined->repeated = false;
        joined->per_row = true;
        joined->loops = op->code == OP_reduce ? LOOP_FIRST << candidate->loop_count++ : 1;
        return true;
}

/* The struct holds the state of an operation while its readers are asked whether it may join their
 * candidate. */
struct joining {
        struct candidate *candidate;
        struct member member;           /* The operation will have these facts in the candidate. */
        unsigned rows;                  /* Each dimension along which it is computed once per row
                                         * has a bit; 0: it is not. */
        bool others;                    /* A reader needs it elsewhere than once per row. */
        bool several_maps;              /* Several operations that are not element-wise read it,
                                         * each at an index of its own. */
        const struct op *decided;       /* This reader was looked at last. */
};

/* Collects what all readers of op ask of it. Returns REMARK_fuse_joined, or why they are not of one
 * candidate or which of them wants it stored. */
static enum remark_reason find_readers(const struct fusing *f, struct op *op, struct joining *j)
{
        unsigned along;
        for (const struct use *u = op->results[0].uses; u; u = u->next) {
                struct op *user = u->user;
                j->decided = user;
                if (user->code == OP_yield || user->region != op->region)
                        return user->code == OP_yield ? REMARK_fuse_result : REMARK_fuse_region;
                const struct member *at = &f->members[user->number];
                if (!at->candidate)
                        return fuse_is_view(user) ? REMARK_fuse_reader_view
                                                  : REMARK_fuse_reader_alone;
                if (j->candidate && at->candidate != j->candidate)
                        return REMARK_fuse_several_kernels;
                j->candidate = at->candidate;
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
        return j->candidate ? REMARK_fuse_joined : REMARK_fuse_alone;
}

static enum remark_reason can_join(const struct fusing *f, struct op *op, struct joining *j)
{
        struct candidate *candidate = j->candidate;
        if (candidate->size >= f->limit)
                return REMARK_fuse_limit;
        if (j->rows && j->others)
                return REMARK_fuse_again;
        if (!j->rows && !fusing_can_join(f, op))
                return fuse_is_view(op) ? REMARK_fuse_view : REMARK_fuse_alone;
        if (j->member.home && (!j->member.identity || candidate->home != j->member.home))
                return REMARK_fuse_epilogue;
        if (op->code == OP_gather && f->members[candidate->root->number].epilogue)
                return REMARK_fuse_gather;
        if (j->rows && !join_rows(candidate, op, j->rows, &j->member))
                return REMARK_fuse_row_loops;
        const bool moves = fusing_is_move(f, op);
        enum remark_reason again = j->rows || moves ? REMARK_fuse_joined
                                                    : may_repeat(candidate, op, &j->member);
        if (again != REMARK_fuse_joined)
                return again;
        return !j->several_maps || moves || (candidate->along && j->member.along_row)
                       ? REMARK_fuse_joined : REMARK_fuse_several_indices;
}

static bool join(const struct fusing *f, struct op *op)
{
        struct joining j = { .member = f->members[op->number] };
        struct member *member = &f->members[op->number];
        j.member.identity = j.member.along_row = true;
        /* A pad that memory holds is always the root of its candidate. */
        member->why = op->code == OP_pad && !fusing_is_any_border(f, op) ? REMARK_fuse_halo
                                         : find_readers(f, op, &j);
        if (member->why == REMARK_fuse_joined)
                member->why = can_join(f, op, &j);
        member->decided = j.decided;
        if (member->why != REMARK_fuse_joined)
                return false;
        j.member.why = REMARK_fuse_joined;
        if (j.several_maps)
                j.member.map = op;
        j.member.candidate = j.candidate;
        f->members[op->number] = j.member;
        j.candidate->size++;
        if (!j.candidate->anchored && j.member.identity)
                begin_rows(j.candidate, op);
        j.candidate->anchored |= fuse_is_anchor(op);
        begin_products(j.candidate, op);
        return true;
}

void fusing_form_candidates(struct region *region, const struct fusing *f, struct arena *arena)
{
        for (struct op *op = region->last; op; op = op->previous) {
                struct member *member = &f->members[op->number];
                bool known = fusing_can_join(f, op);
                /* Operations for which no candidate is tried have this reason. */
                member->why = fuse_is_view(op) ? REMARK_fuse_view : REMARK_fuse_alone;
                if (((known || member->summed) && join(f, op)) ||
                    (!known && !fuse_reads_indices(op)))
                        continue;
                member->candidate = ARENA_NEW(arena, struct candidate);
                *member->candidate = (struct candidate){ .root = op,
                                                         .home = member->home,
                                                         .size = 1,
                                                         .anchored = fuse_is_anchor(op),
                                                         .shape = op->results[0].type };
                member->identity = true;
                member->along_row = fuse_is_elementwise(op);
                begin_products(member->candidate, op);
                begin_rows(member->candidate, op);
                member->loops = 1;
                member->map = op;
        }
}
