/* SPDX-License-Identifier: MIT */
/* hoist: what a loop computes again and again is computed once, before it.
 *
 *   %r = loop(none, none, %h) steps=9 {(%i, %a)           %1 = exp(%w)
 *     %1 = exp(%w)                                        %r = loop(none, none, %h) steps=9 {(%i, %a)
 *     %2 = add(%a, %1)                             ->       %2 = add(%a, %1)
 *     yield(%2)                                             yield(%2)
 *   }                                                     }
 *
 * Innermost loops come first, so an operation leaves as many loops as it can. An operation that
 * costs only index arithmetic where it is read (broadcast, iota, reshape) goes out only with its
 * readers. An operation that can fail (by run-time positions) stays unless the loop runs at least
 * once: nothing may fail that would not have run. Operations with regions stay.
 *
 * Besides, a carried value that every iteration hands on is what it was at first, a row of a splat
 * is a splat, a gather by the iteration's number becomes a scan, and a loop of at most one
 * iteration becomes its body. Exact: the same operations on the same values. */
#include "passes/pass.h"

enum { STAYS, FREE_TO_GO, GOES };       /* The number of an operation says whether it leaves the
                                         * loop. */

/* ---- what leaves ---- */

/* Are some of op's positions known only at run time, so that it can fail? */
static bool can_fail(const struct op *op)
{
        const struct op_info *info = &op_info[op->code];
        if (op->code == OP_gather || op->code == OP_gather_elements || op->code == OP_gather_nd ||
            op->code == OP_scatter)
                return true;
        for (int i = 0; i < op->operand_count && i < info->operand_count && !info->formula; i++)
                if (info->operands[i].kind == OPERAND_SHAPE &&
                    !value_is_constant(op_operand(op, i)))
                        return true;
        return false;
}

static bool is_free_where_read(const struct op *op)
{
        return op->code == OP_broadcast || op->code == OP_iota || op->code == OP_reshape;
}

static bool is_free_to_go(const struct op *op, const struct region *body, bool runs)
{
        if (!(op_info[op->code].traits & TRAIT_PURE) || op->region_count || (can_fail(op) && !runs))
                return false;
        for (int i = 0; i < op->operand_count; i++) {
                const struct value *v = op_operand(op, i);
                bool along = v && v->kind == VALUE_RESULT && v->op->region == body &&
                             v->op->number == FREE_TO_GO;
                if (v && ((value_is_inside(v, body) && !along) || region_counts(body, v->type)))
                        return false;
        }
        for (int i = 0; i < op->result_count; i++)
                if (region_counts(body, op->results[i].type))
                        return false;
        return true;
}

static bool goes(const struct op *op)
{
        if (op->number != FREE_TO_GO || !is_free_where_read(op))
                return op->number == FREE_TO_GO;
        for (const struct use *u = op_result(op)->uses; u; u = u->next)
                if (u->user->region == op->region && u->user->number == GOES)
                        return true;
        return false;
}

static int hoist_from(struct op *loop, bool runs)
{
        struct region *body = loop->regions[0];
        int moved = 0;
        for (struct op *op = body->first; op; op = op->next)
                op->number = is_free_to_go(op, body, runs) ? FREE_TO_GO : STAYS;
        for (struct op *op = body->last; op; op = op->previous)
                if (goes(op))
                        op->number = GOES;
        for (struct op *op = body->first, *next; op; op = next) {
                next = op->next;
                if (op->number != GOES)
                        continue;
                op_move_before(op, loop);
                moved++;
        }
        return moved;
}

/* ---- what is carried and scanned for nothing ---- */

static int drop_constant_parts(struct op **op, struct arena *arena, struct diag *diag)
{
        struct op_loop loop = op_loop(*op);
        struct op_loop_kept kept = op_loop_all(arena, &loop);
        int dropped = 0;
        for (int i = 0; i < loop.carried; i++) {
                if (loop.next[i].value != &loop.held[i])
                        continue;
                value_replace(&loop.held[i], loop.first[i].value);
                value_replace(&loop.last[i], loop.first[i].value);
                /* The last carried value stays where the loop would have no results. */
                kept.carried[i] = loop.carried + loop.stacked - dropped == 1;
                dropped++;
        }
        for (int i = 0; i < loop.scanned; i++) {
                const struct value *x = loop.scans[i].value;
                if (!value_is_constant(x) || x->constant->kind != CONSTANT_SPLAT)
                        continue;
                value_replace(&loop.rows[i],
                              constant_splat((*op)->region->function->module, loop.rows[i].type,
                                             constant_data(x->constant)));
                kept.scanned[i] = false;
                dropped++;
        }
        if (dropped && !(*op = op_loop_keep(*op, &kept, diag)))
                return -1;
        return dropped;
}

/* ---- rows by number ---- */

/* Does op gather, in iteration i, row i of a value from outside the loop? Its index need not be
 * read, nor checked. */
static bool is_row(const struct op *op, const struct op_loop *loop)
{
        if (op->code != OP_gather || op_operand(op, 1) != loop->number || op_int(op, "axis") != 0)
                return false;
        const struct value *x = op_operand(op, 0);
        return !value_is_inside(x, op->region) && type_is_static(x->type) &&
               type_extent(x->type, 0) >= loop->steps;
}

/* Builds the first rows of what op gathers from, as many as the loop has iterations. */
static struct value *scanned_rows(struct builder *b, const struct op *op,
                                  const struct op_loop *loop)
{
        static const int64_t zeros[RANK_MAX];
        int64_t ones[RANK_MAX];
        dim_t dims[RANK_MAX];
        struct value *x = op_operand(op, 0);
        for (int d = 0; d < x->type->rank; d++) {
                ones[d] = 1;
                dims[d] = dim_of(d ? type_extent(x->type, d) : loop->steps);
        }
        return build_slice(b, x, zeros, ones, dims);
}

static int scan_rows(struct op **op, struct arena *arena, struct diag *diag)
{
        struct op_loop loop = op_loop(*op);
        struct op_loop_kept kept = op_loop_all(arena, &loop);
        struct builder b = { .m = (*op)->region->function->module,
                             .region = (*op)->region,
                             .before = *op,
                             .location = (*op)->location,
                             .diag = diag };
        struct op **gathers = NULL;
        int count = 0, first = loop.scanned;
        if (loop.trip || loop.go)
                return 0;
        for (struct op *inner = (*op)->regions[0]->first; inner; inner = inner->next)
                if (is_row(inner, &loop)) {
                        ARENA_GROW(arena, gathers, count);
                        gathers[count++] = inner;
                        ARENA_GROW(arena, kept.more, kept.more_count);
                        kept.more[kept.more_count++] = scanned_rows(&b, inner, &loop);
                }
        if (!count)
                return 0;
        if (!(*op = op_loop_keep(*op, &kept, diag)))
                return -1;
        loop = op_loop(*op);
        for (int i = 0; i < count; i++) {
                value_replace(op_result(gathers[i]), &loop.rows[first + i]);
                op_erase(gathers[i]);
        }
        return count;
}

/* ---- loops that are none ---- */

static struct value *with_row(struct builder *b, struct value *row, const struct type *stack)
{
        return build_reshape(b, row, stack->rank, stack->dims);
}

/* Puts the body of a loop of one iteration in the loop's place. */
static void unroll_once(struct op *op, struct builder *b)
{
        struct op_loop loop = op_loop(op);
        value_replace(loop.number, build_scalar(b, E_I64, 0));
        for (int i = 0; i < loop.carried; i++)
                value_replace(&loop.held[i], loop.first[i].value);
        for (int i = 0; i < loop.scanned; i++) {
                const struct type *t = loop.rows[i].type;
                value_replace(&loop.rows[i],
                              build_reshape(b, loop.scans[i].value, t->rank, t->dims));
        }
        for (struct op *inner = op->regions[0]->first, *next; inner != loop.yield; inner = next) {
                next = inner->next;
                op_move_before(inner, op);
        }
        for (int i = 0; i < loop.carried; i++)
                value_replace(&loop.last[i], loop.next[i].value);
        for (int i = 0; i < loop.stacked; i++)
                value_replace(&loop.stacks[i],
                              with_row(b, loop.stacked_rows[i].value, loop.stacks[i].type));
        op_erase(op);
}

static void skip(struct op *op, struct builder *b)
{
        struct op_loop loop = op_loop(op);
        for (int i = 0; i < loop.carried; i++)
                value_replace(&loop.last[i], loop.first[i].value);
        for (int i = 0; i < loop.stacked; i++)
                value_replace(&loop.stacks[i], constant_number(b->m, loop.stacks[i].type, 0));
        op_erase(op);
}

static bool is_static_type(const struct op_loop *loop)
{
        for (int i = 0; i < loop->stacked; i++)
                if (!type_is_static(loop->stacks[i].type))
                        return false;
        return true;
}

/* ---- all loops, innermost first ---- */

static int hoist_region(struct region *region, struct arena *arena, struct pass_context *context)
{
        int rewrites = 0;
        for (struct op *op = region->first, *next; op && rewrites >= 0; op = next) {
                next = op->next;
                int inside = 0;
                for (int i = 0; !op_is_kernel(op) && i < op->region_count && inside >= 0; i++) {
                        int more = hoist_region(op->regions[i], arena, context);
                        inside = more < 0 ? -1 : inside + more;
                }
                if (inside < 0)
                        return -1;
                rewrites += inside;
                if (op->code != OP_loop)
                        continue;
                struct op_loop loop = op_loop(op);
                struct builder b = { .m = region->function->module,
                                     .region = region,
                                     .before = op,
                                     .location = op->location,
                                     .diag = context->diag };
                if (!loop.trip && loop.steps == 0 && is_static_type(&loop)) {
                        skip(op, &b);
                        rewrites++;
                } else if (!loop.trip && !loop.go && loop.steps == 1) {
                        unroll_once(op, &b);
                        rewrites++;
                } else {
                        int dropped = drop_constant_parts(&op, arena, context->diag);
                        int scanned = dropped < 0 ? -1 : scan_rows(&op, arena, context->diag);
                        if (scanned < 0)
                                return -1;
                        rewrites += dropped + scanned +
                                    hoist_from(op, !loop.trip && !loop.go && loop.steps > 0);
                }
        }
        return rewrites;
}

int pass_hoist(struct function *f, struct pass_context *context)
{
        struct arena *arena = arena_new();
        int rewrites = hoist_region(&f->body, arena, context);
        arena_free(arena);
        return rewrites;
}
