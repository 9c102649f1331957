/* SPDX-License-Identifier: MIT */
/* fuse_launches, apart: two kernels that do not depend on each other become one, where one of them
 * is so small that all of its blocks run at once. The last blocks do the small kernel's work.
 *
 *     kernel @large(%x, %y) {                  kernel @both(%a, %b, %x, %y) {
 *       for %block = 0 to 768 gpu_block {        for %block = 0 to 769 gpu_block {
 *         for %warp = 0 to 4 gpu_warp {            for %warp = 0 to 4 gpu_warp {
 *           ... store %y[..] = ..                    if %block < 768 {
 *     kernel @small(%a, %b) {             ->           ... store %y[..] = ..
 *       for %block = 0 to 4 gpu_block {              } else {
 *         for %warp = 0 to 1 gpu_warp {                let %number = (%block - 768) * 4 + %warp
 *           ... store %b[..] = ..                      ... store %b[..] = ..
 *
 * The call of both stands where the earlier one stood: nothing between the two calls writes what
 * the later one reads, or touches what it writes. */
#include "ir/loop/loop_grid.h"
#include "ir/loop/loop_vector.h"
#include "ir/lower/lower_emit.h"
#include "engines/grid/fuse_launches.h"

/* NEAR is how many calls after one are looked at; MOST is how many kernels become one. */
enum { NEAR = 16, MOST = 8 };

/* Returns the only loop over warps of a kernel whose blocks do nothing else; NULL where they do. */
static struct loop_stmt *warps_of(const struct loop_function *f)
{
        const struct loop_stmt *phase =
                f->kind == FUNCTION_KERNEL && loop_is_grid(f) ? f->body->first : NULL;
        struct loop_stmt *warps = phase && !phase->next && phase->for_kind == FOR_GPU_BLOCK
                                          ? phase->body->first
                                          : NULL;
        return launches_is_warps(warps) && !warps->next ? warps : NULL;
}

static bool is_small(const struct launches *a, const struct loop_function *f)
{
        return !f->can_fail &&
               loop_phase_most(f->body->first) <= target_gpu(a->target)->multiprocessors;
}

static struct loop_function *join(struct launches *a, const struct loop_function *later,
                                  const struct loop_buffer *y, const struct loop_function *earlier,
                                  const struct loop_buffer *x);

/* Returns how many kernels f was joined from. */
static int kernels_in(const struct launches *a, const struct loop_function *f)
{
        for (int i = 0; i < a->pair_count; i++)
                if (a->pairs[i].made == f && a->pairs[i].join == join)
                        return kernels_in(a, a->pairs[i].maker) + kernels_in(a, a->pairs[i].reader);
        return 1;
}

/* ---- the joined kernel ---- */

static struct loop_expr *op(struct arena *arena, enum loop_opcode code, struct loop_expr *a,
                            int64_t b)
{
        return loop_op(arena, code, a, loop_index(arena, b), NULL);
}

static void let(struct arena *arena, struct loop_block *block, struct loop_variable *v,
                struct loop_expr *value)
{
        struct loop_stmt *s = loop_append(arena, block, STMT_LET);
        s->variable = v;
        v->kind = VARIABLE_LET;
        s->a = value;
}

/* Writes the work of the small kernel's warps into blocks of the large kernel, from block `first`
 * on. */
static void put_small(struct arena *arena, const struct loop_function *small,
                      const struct loop_stmt *block, const struct loop_stmt *warps,
                      struct loop_expr *first,
                      struct loop_block *out)
{
        struct loop_stmt *own = warps_of(small);
        const int64_t of_block = own->b->literal.i, sharing = warps->b->literal.i;
        struct loop_expr *all = op(arena, LOOP_MUL, small->body->first->b, of_block);
        int64_t count;
        struct loop_variable *number =
                loop_variable_new(arena, "number", LOOP_TYPE(E_INDEX), VARIABLE_LET);
        struct loop_expr *from = op(arena, LOOP_MUL,
                                    loop_op(arena, LOOP_SUB, loop_use(arena, block->variable),
                                            loop_expr_copy(arena, first), NULL),
                                    sharing);
        let(arena, out, number,
            loop_op(arena, LOOP_ADD, from, loop_use(arena, warps->variable), NULL));
        if (!loop_is_int(all, &count) || count % sharing) {
                struct loop_stmt *there = loop_append(arena, out, STMT_IF);
                there->a = loop_op(arena, LOOP_LT, loop_use(arena, number),
                                   loop_expr_copy(arena, all), NULL);
                out = there->body;
        }
        let(arena, out, small->body->first->variable,
            op(arena, LOOP_DIV, loop_use(arena, number), of_block));
        let(arena, out, own->variable, op(arena, LOOP_REM, loop_use(arena, number), of_block));
        *out->end = own->body->first;
        out->end = own->body->end;
}

static struct loop_function *join(struct launches *a, const struct loop_function *later,
                                  const struct loop_buffer *y, const struct loop_function *earlier,
                                  const struct loop_buffer *x)
{
        struct arena *arena = a->p->arena;
        struct loop_function *m = kernel_copy(arena, later), *f = kernel_copy(arena, earlier);
        const bool swapped =
                !is_small(a, m) ||
                (is_small(a, f) &&
                 loop_phase_most(f->body->first) < loop_phase_most(m->body->first));
        struct loop_function *large = swapped ? m : f, *small = swapped ? f : m;
        struct loop_stmt *block = large->body->first, *warps = warps_of(large),
                         *own = warps_of(small);
        const int64_t sharing = warps->b->literal.i;
        struct loop_expr *first = block->b,
                         *all = op(arena, LOOP_MUL, loop_expr_copy(arena, small->body->first->b),
                                   own->b->literal.i);
        struct loop_block *body = loop_block_new(arena);
        struct loop_stmt *which = loop_append(arena, body, STMT_IF);
        which->a = loop_op(arena, LOOP_LT, loop_use(arena, block->variable),
                           loop_expr_copy(arena, first), NULL);
        which->body = warps->body;
        which->other = loop_block_new(arena);
        put_small(arena, small, block, warps, first, which->other);
        warps->body = body;
        block->b = loop_op(arena, LOOP_ADD, loop_expr_copy(arena, first),
                           op(arena, LOOP_DIV, op(arena, LOOP_ADD, all, sharing - 1), sharing),
                           NULL);
        f->body = large->body;
        launches_scalars(arena, m, f);
        launches_parameters(arena, m, y, f, x);
        loop_function_rename(arena, f);
        launches_describe(arena, later, earlier, f);
        f->flops = later->flops + earlier->flops;
        f->again = later->again + earlier->again;
        return f;
}

/* ---- which calls ---- */

/* Does `other` touch a buffer that the call writes? */
static bool touches(const struct loop_stmt *call, const struct loop_stmt *other)
{
        for (int i = 0; i < call->function->buffer_count; i++)
                for (int k = 0; k < other->function->buffer_count; k++)
                        if (call->function->buffers[i]->access != ACCESS_IN &&
                            loop_buffer_root(call->buffers[i], NULL) ==
                                    loop_buffer_root(other->buffers[k], NULL))
                                return true;
        return false;
}

/* May the two calls change places? */
static bool may_pass(const struct loop_stmt *call, const struct loop_stmt *other)
{
        return !touches(other, call) && !touches(call, other);
}

/* Finds the place of a later call that can be joined with this one; NULL where there is none. */
static struct loop_stmt **find_other(const struct launches *a, struct loop_stmt *earlier)
{
        struct loop_stmt **at = &earlier->next;
        for (int k = 0; k < NEAR && *at && (*at)->kind == STMT_CALL; k++, at = &(*at)->next) {
                struct loop_stmt *later = *at, *s = earlier;
                if (!warps_of(later->function) || later->function->can_fail ||
                    launches_has_offsets(later) ||
                    (!is_small(a, later->function) && !is_small(a, earlier->function)) ||
                    kernels_in(a, earlier->function) + kernels_in(a, later->function) > MOST)
                        continue;
                while (s != later && may_pass(later, s))
                        s = s->next;
                if (s == later)
                        return at;
        }
        return NULL;
}

bool launches_apart(struct launches *a, struct loop_stmt *earlier)
{
        if (!warps_of(earlier->function) || launches_has_offsets(earlier))
                return false;
        struct loop_stmt **at = find_other(a, earlier);
        if (!at)
                return false;
        struct loop_stmt *later = *at;
        launches_call(a, later, -1, earlier, -1,
                      launches_joined(a, later->function, NULL, earlier->function, NULL, join));
        *at = later->next;
        return true;
}
