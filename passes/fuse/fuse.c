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
 * From the last operation to the first, an operation joins the candidate (fusion) of its users when
 * all its uses are in one candidate and joining repeats no work:
 *
 *   - element-wise operations join users that read each of their elements once: element-wise ones
 *     (same index), reductions (as a prologue), transposes and slices; never below a broadcast, a
 *     window or a contraction, which would compute an element again for every read, and never two
 *     users that read at different indices;
 *   - broadcasts, iotas, slices and transposes cost only index arithmetic and join almost any user;
 *     a broadcast or iota with several users is copied for each of them first, so that it is never
 *     stored;
 *   - gathers by indices that are inside of what they read (a resize: constant ones, or computed
 *     ones that ir/tensor/index_range.h proves) join element-wise users, but no epilogue of a
 *     contraction: they keep positions from being one loop. What they read stays outside: they may
 *     read it again;
 *   - what computes the indices of gather_elements joins it, and nothing else does;
 *   - so do element-wise operations on constants and indices alone (with gathers by constant
 *     indices and reshapes between), which decode weights that are kept in 8 bits or fewer, or say
 *     what a causal mask hides: else a copy of the weights in their full size, or the whole mask,
 *     would be stored with every run;
 *   - one contraction or reduction a candidate, and only where its element is stored at the index
 *     it is computed for: the element-wise rest of the candidate is its epilogue;
 *   - but products of the same rows by weights that are decoded where they are read (gate and up of
 *     a gated layer), for targets where each kernel is a launch: two of them;
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
 * A candidate whose uses are all inside has one way out, its root, so no cycle can arise. Exact:
 * the same operations in the same order on each element. reshape and concat stay outside: they are
 * views (lower.h). (But for a reshape of what a transpose or a broadcast moves anyway, where the
 * target has vectors: blocks become rows, rows become blocks, and go on.) */
#include "passes/fuse/candidates.h"

#include <string.h>

static bool is_spread(const struct fusing *f, const struct op *op)
{
        return op->code == OP_broadcast || op->code == OP_iota || fusing_is_border(f, op);
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

static int build_candidates(struct region *region, const struct member *members,
                            struct arena *arena, int count, struct diag *diag)
{
        struct op ***lists = arena_array(arena, (size_t)count, sizeof *lists);
        int *filled = arena_array(arena, (size_t)count, sizeof *filled);
        int fused = 0;
        for (struct op *op = region->first, *next; op; op = next) {
                next = op->next;
                struct candidate *candidate = members[op->number].candidate;
                if (!candidate || candidate->size < 2)
                        continue;
                int at = candidate->root->number;
                if (!lists[at])
                        lists[at] = arena_array(arena, (size_t)candidate->size, sizeof **lists);
                lists[at][filled[at]++] = op;
                if (op != candidate->root)
                        continue;
                build_fusion(region->function->module, lists[at], candidate->size, diag);
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
                            .target = context->target,
                            .launches = target_engine(context->target)->launches,
                            .borders = target_engine(context->target)->reads_borders,
                            .decodes = target_engine(context->target)->single_sums,
                            .singles = context->strip_percent >= STRIP_PERCENT_MOST };
        int count = 0, halos = f.borders || f.decodes ? 0 : fuse_share_halos(region, context->diag),
            narrow = fuse_narrow(region, context->diag);
        int fused = halos < 0 || narrow < 0 ? -1 : halos + narrow;
        for (struct op *op = region->first; op; op = op->next)
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++) {
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
        fusing_find_members(region, &f);
        fusing_form_candidates(region, &f, arena);
        if (context->remarks)
                remark_all(region, f.members, context->remarks);
        fused += build_candidates(region, f.members, arena, count, context->diag);
        arena_free(arena);
        return fused;
}

int pass_fuse(struct function *f, struct pass_context *context)
{
        if (context->remarks && f == module_entry(f->module))
                remarks_begin(context->remarks, "fuse");
        return fuse_region(&f->body, context);
}
