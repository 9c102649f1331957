/* SPDX-License-Identifier: MIT */
/* grid: brings kernels into grid form (ir/loop/loop_grid.h), for targets that run it: each
 * iteration gets a lane.
 *
 *     for %c = 0 to 8 {                        for %b = 0 to 49 gpu_block {
 *       let %bias : f32 = %b[%c]                 for %w = 0 to 4 gpu_warp {
 *       for %i = 0 to 784 {                        for %l = 0 to 32 gpu_lane {
 *         store %y[%c * 784 + %i] = ..               let %at = (%b * 4 + %w) * 32 + %l
 *       }                                  ->        let %c : index = %at / 784
 *     }                                              let %bias : f32 = %b[%c]
 *                                                    let %i : index = %at % 784
 *                                                    store %y[%c * 784 + %i] = ..
 *                                                  }
 *                                                }
 *                                              }
 *
 * Loops that are perfectly nested, apart from values and checks between them, and proved
 * independent (independence.c) become one. Neighbouring iterations of the innermost loop get
 * neighbouring lanes; where there are many, a lane has a word of them (grid_side.c), or several
 * (grid_iterations.c). Each loop of a kernel is a phase of its own. A statement without such a loop
 * runs in one lane, unchanged; so do statements that share a variable or memory on the stack.
 * Reductions over rows get a warp each (grid_rows.c). A value that loads nothing which the kernel
 * writes is computed in each phase that reads it.
 *
 * How often a loop runs may be what scalars of the kernel say, extents that a run gives: then so
 * are the blocks of the launch, whose last lanes are left out by a condition.
 *
 * Exact to the bit, except for sums along rows: every element is computed as before, by one lane. A
 * fail is recorded, and other lanes go on. Each lane of a loop repeats the checks that stand before
 * the loop, so that no launch is needed for them. A kernel that fails with two codes runs in one
 * lane, which keeps their order. */
#include "base/size.h"
#include "engines/grid/grid_iterations.h"
#include "engines/grid/grid_rows.h"
#include "engines/grid/grid_side.h"
#include "passes/vectorize/averages.h"
#include "passes/vectorize/independence.h"
#include "passes/vectorize/vectorize.h"

enum { WARPS = 4 };                     /* A block has this many warps, where there are enough of
                                         * them for all multiprocessors. */

/* The statements from `first` to `last` must run in one phase. */
struct group { int first, last; };

struct mapping {
        struct loop_program *p;
        struct arena *scratch;
        struct loop_function *kernel;
        const struct loop_bounds *bounds;
        const struct gpu *gpu;
        const struct map *averages;
        bool exact;
        struct loop_stmt **stmts;       /* These are the statements of the kernel's body, without
                                         * the values that are copied. */
        struct loop_stmt **values;      /* These values are copied, in order. */
        int count, value_count;
        bool ordered;                   /* It matters which fail comes first. */
        struct loop_block checks;       /* Checks that no phase has done yet; the lanes of the next
                                         * phase may do them. */
        struct loop_block *out;
};

/* ---- what a statement uses ---- */

struct usage {
        const struct loop_variable *variable;
        const struct loop_buffer *buffer;
        bool found;
};

static void use_in_expr(struct loop_expr *e, void *context)
{
        struct usage *u = context;
        u->found |= (u->variable && e->variable == u->variable) ||
                    (u->buffer && e->buffer == u->buffer);
}

static void use_in_stmt(struct loop_stmt *s, void *context)
{
        struct usage *u = context;
        u->found |= (u->variable && s->variable == u->variable) ||
                    (u->buffer && s->buffer == u->buffer);
}

static struct loop_block alone(struct loop_stmt *s, struct loop_stmt *copy)
{
        *copy = *s;
        copy->next = NULL;
        return (struct loop_block){ .first = copy, .end = &copy->next };
}

static bool uses(struct loop_stmt *s, const struct loop_stmt *declaration)
{
        bool buffer = declaration->kind == STMT_ALLOC;
        struct usage u = { buffer ? NULL : declaration->variable,
                           buffer ? declaration->buffer : NULL, false };
        struct loop_stmt copy;
        struct loop_block block = alone(s, &copy);
        loop_block_walk(&block, use_in_stmt, use_in_expr, &u);
        return u.found;
}

/* ---- values that any phase may compute ---- */

struct reading { const struct loop_function *f; bool same; };

static void is_lasting(struct loop_expr *e, void *context)
{
        struct reading *r = context;
        if (e->op == LOOP_TILE_ENTRY ||
            (e->op == LOOP_VARIABLE && e->variable->kind == VARIABLE_VAR))
                r->same = false;
        if (e->op != LOOP_LOAD)
                return;
        const struct loop_buffer *b = e->buffer;
        r->same &= b->space == SPACE_PARAMETER && b->access == ACCESS_IN;
        for (int i = 0; r->same && b->alias_class && i < r->f->buffer_count; i++)
                if (r->f->buffers[i]->alias_class == b->alias_class &&
                    r->f->buffers[i]->access != ACCESS_IN)
                        r->same = false;
}

static bool is_value(const struct mapping *m, struct loop_stmt *s)
{
        struct reading r = { m->kernel, s->kind == STMT_LET };
        if (r.same)
                loop_expr_walk(s->a, is_lasting, &r);
        return r.same;
}

static void copy_operands(struct loop_stmt *s, void *context)
{
        struct arena *arena = context;
        s->a = loop_expr_copy(arena, s->a);
        s->b = loop_expr_copy(arena, s->b);
        s->c = loop_expr_copy(arena, s->c);
}

struct renaming { const struct loop_variable *from; struct loop_variable *to; };

static void rename_use(struct loop_expr *e, void *context)
{
        const struct renaming *r = context;
        if (e->variable == r->from)
                e->variable = r->to;
}

/* Puts copies of the values that the block uses before it, each in a variable of its own. */
static void put_values(struct mapping *m, struct loop_block *block)
{
        struct arena *arena = m->p->arena;
        loop_block_walk(block, copy_operands, NULL, arena);
        for (int i = m->value_count; i-- > 0;) {
                struct loop_stmt *value = m->values[i];
                struct usage u = { .variable = value->variable };
                loop_block_walk(block, NULL, use_in_expr, &u);
                if (!u.found)
                        continue;
                struct loop_block with = { .end = &with.first };
                struct loop_stmt *let = loop_append(arena, &with, STMT_LET);
                let->variable = loop_variable_new(arena, value->variable->name,
                                                  value->variable->type, VARIABLE_LET);
                let->a = loop_expr_copy(arena, value->a);
                loop_block_walk(block, NULL, rename_use,
                                &(struct renaming){ value->variable, let->variable });
                let->next = block->first;
                block->first = let;
                if (!let->next)
                        block->end = &let->next;
        }
}

/* ---- a phase ---- */

static struct loop_stmt *open_loop(struct mapping *m, struct loop_block *block, const char *name,
                                   enum loop_for_kind kind, int64_t count)
{
        struct loop_stmt *s = loop_append(m->p->arena, block, STMT_FOR);
        s->variable = loop_variable_new(m->p->arena, name, LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        s->for_kind = kind;
        s->a = loop_index(m->p->arena, 0);
        s->b = loop_index(m->p->arena, count);
        return s;
}

static struct loop_expr *op(struct mapping *m, enum loop_opcode op, struct loop_expr *a, int64_t b)
{
        return loop_op(m->p->arena, op, a, loop_index(m->p->arena, b), NULL);
}

static struct loop_expr *counter(struct mapping *m, const struct loop_stmt *loop)
{
        int64_t count;
        return loop_is_int(loop->b, &count) && count == 1
                       ? loop_index(m->p->arena, 0)
                       : loop_use(m->p->arena, loop->variable);
}

/* Returns the number of the iteration that a lane does; of its `iterations`, the one that
 * `iteration` counts (NULL: it has one). */
static struct loop_expr *number_of(struct mapping *m, const struct loop_stmt *block,
                                   const struct loop_stmt *warp, const struct loop_stmt *lane,
                                   struct loop_variable *iteration, int64_t iterations)
{
        struct arena *arena = m->p->arena;
        struct loop_expr *first =
                loop_op(arena, LOOP_ADD, op(m, LOOP_MUL, counter(m, block), warp->b->literal.i),
                        counter(m, warp), NULL);
        if (iteration)
                first = loop_op(arena, LOOP_ADD, op(m, LOOP_MUL, first, iterations),
                                loop_use(arena, iteration), NULL);
        return loop_op(arena, LOOP_ADD, op(m, LOOP_MUL, first, GRID_LANES), counter(m, lane), NULL);
}

/* Writes checks that no lanes have done as a phase of their own. */
static void put_serial(struct mapping *m, struct loop_block *body);

static void put_checks(struct mapping *m)
{
        struct loop_block *checks = loop_block_new(m->p->arena);
        *checks = m->checks;
        m->checks = (struct loop_block){ 0 };
        if (checks->first)
                put_serial(m, checks);
}

/* Writes statements that run in one lane or, where they are a row, in one warp. */
static void put_serial(struct mapping *m, struct loop_block *body)
{
        put_checks(m);
        struct loop_stmt *block = open_loop(m, m->out, "block", FOR_GPU_BLOCK, 1);
        struct loop_stmt *warp = open_loop(m, block->body, "warp", FOR_GPU_WARP, 1);
        const struct grid_row row = { m->p->arena, m->bounds, m->averages, m->exact, body };
        if (grid_row_is_for_warp(&row))
                body = warp->body = grid_row_write(&row);
        else
                open_loop(m, warp->body, "lane", FOR_GPU_LANE, 1)->body = body;
        put_values(m, body);
}

/* This many iterations: `most`, or as many as `open` says, `most` at most. */
struct trip { int64_t most; struct loop_expr *open; };

static struct loop_expr *trip_expr(struct mapping *m, const struct trip *t)
{
        return t->open ? loop_expr_copy(m->p->arena, t->open) : loop_index(m->p->arena, t->most);
}

static struct trip product(struct mapping *m, struct trip a, struct trip b)
{
        struct trip all = { .most = a.most * b.most };
        if (a.open || b.open)
                all.open = a.most == 1 && !a.open ? b.open
                           : b.most == 1 && !b.open
                                   ? a.open
                                   : loop_op(m->p->arena, LOOP_MUL, trip_expr(m, &a),
                                             trip_expr(m, &b), NULL);
        return all;
}

static struct loop_expr *divided_up(struct mapping *m, struct loop_expr *e, int64_t by)
{
        return by == 1 ? e : op(m, LOOP_DIV, op(m, LOOP_ADD, e, by - 1), by);
}

/* Puts values that every phase may compute in place of their variables. */
static struct loop_expr *in_scalars(struct mapping *m, struct loop_expr *e)
{
        if (e->op == LOOP_VARIABLE)
                for (int i = 0; i < m->value_count; i++)
                        if (m->values[i]->variable == e->variable)
                                return in_scalars(m, m->values[i]->a);
        struct loop_expr *copy = arena_copy(m->p->arena, e, sizeof *e);
        for (int i = 0; i < e->arity; i++)
                copy->args[i] = e->args[i] ? in_scalars(m, e->args[i]) : NULL;
        return copy;
}

static void find_other(struct loop_expr *e, void *found)
{
        *(bool *)found |= e->type.element != E_INDEX || e->op == LOOP_LOAD || e->op == LOOP_CALL ||
                          (e->op == LOOP_VARIABLE && e->variable->kind != VARIABLE_PARAMETER);
}

/* Returns how often a loop runs: a number, or what scalars of the kernel say. most 0: that is not
 * known before the kernel runs. */
static struct trip trip_of(struct mapping *m, const struct loop_stmt *s)
{
        int64_t from, to;
        bool other = false;
        if (!loop_is_int(s->a, &from))
                return (struct trip){ 0 };
        if (loop_is_int(s->b, &to))
                return (struct trip){ to <= from ? 0 : (to - from + s->step - 1) / s->step, NULL };
        struct loop_expr *end = in_scalars(m, s->b);
        loop_expr_walk(end, find_other, &other);
        const struct loop_range r = loop_bounds_of(NULL, end);
        if (other || r.low == INT64_MIN || r.high == INT64_MAX || r.high <= from)
                return (struct trip){ 0 };
        if (r.low < from)
                end = op(m, LOOP_MAX, end, from);
        if (from)
                end = op(m, LOOP_SUB, end, from);
        return (struct trip){ (r.high - from + s->step - 1) / s->step,
                              divided_up(m, end, s->step) };
}

/* Is s a condition around a fail? Every lane that repeats it finds the same. */
static bool is_check(const struct loop_stmt *s)
{
        return s->kind == STMT_IF && !s->other && s->body->first &&
               s->body->first->kind == STMT_FAIL && !s->body->first->next;
}

/* Returns the loop that ends the body of another one, after values and checks only; NULL where the
 * body holds more. */
static struct loop_stmt *inner_loop(const struct loop_stmt *loop)
{
        struct loop_stmt *s = loop->body->first;
        while (s && (s->kind == STMT_LET || is_check(s)))
                s = s->next;
        return s && s->kind == STMT_FOR && !s->next ? s : NULL;
}

/* Finds the loops from s inward that become one. Returns 0 where iterations depend on each
 * other. */
static int find_nest(struct mapping *m, struct loop_stmt *s,
                     struct loop_stmt *nest[INDEPENDENT_LOOPS_MAX])
{
        int count = 0;
        int64_t total = 1;
        for (; s && count < INDEPENDENT_LOOPS_MAX; s = inner_loop(s)) {
                int64_t times = trip_of(m, s).most, all;
                if (!times || !int_mul(total, times, &all) ||
                    all > (int64_t)GRID_BLOCKS_MAX * GRID_LANES)
                        break;
                total = all;
                nest[count++] = s;
        }
        while (count && !loops_are_independent(m->bounds, nest, count, !m->ordered))
                count--;
        return count;
}

static struct trip trip_of_nest(struct mapping *m, struct loop_stmt *const *nest, int count)
{
        struct trip total = { 1, NULL };
        for (int k = 0; k < count; k++)
                total = product(m, total, trip_of(m, nest[k]));
        return total;
}

/* Writes the variables of the loops, computed from the number of the iteration, and their
 * bodies. */
static void put_iteration(struct mapping *m, struct loop_stmt *const *nest, int count,
                          struct loop_variable *at, struct loop_block *body)
{
        struct arena *arena = m->p->arena;
        for (int k = 0; k < count; k++) {
                int64_t from = 0;
                const struct trip times = trip_of(m, nest[k]),
                                  inner = trip_of_nest(m, nest + k + 1, count - k - 1);
                loop_is_int(nest[k]->a, &from);
                struct loop_expr *index = loop_op(arena, LOOP_DIV, loop_use(arena, at),
                                                  trip_expr(m, &inner), NULL);
                if (k)
                        index = loop_op(arena, LOOP_REM, index, trip_expr(m, &times), NULL);
                struct loop_stmt *let = loop_append(arena, body, STMT_LET);
                let->variable = nest[k]->variable;
                let->variable->kind = VARIABLE_LET;
                let->a = op(m, LOOP_ADD, op(m, LOOP_MUL, index, nest[k]->step), from);
                for (struct loop_stmt *s = nest[k]->body->first, *next; s; s = next) {
                        next = s->next;
                        if (k + 1 < count && s == nest[k + 1])
                                break;
                        s->next = NULL;
                        *body->end = s;
                        body->end = &s->next;
                }
        }
}

/* Returns the warps of a block: few, so that all multiprocessors have some. */
static int64_t warps_of(const struct mapping *m, int64_t total)
{
        int64_t warps = total / m->gpu->multiprocessors;
        return warps < 1 ? 1 : warps > WARPS ? WARPS : warps;
}

/* Begins iteration number `at` of `total`; where `most` is more, or a run says how many there are,
 * a condition leaves the rest out. */
static struct loop_block *begin_iteration(struct mapping *m, struct loop_block *block,
                                          struct loop_variable *at, struct loop_expr *number,
                                          struct trip total, int64_t most)
{
        struct loop_stmt *let = loop_append(m->p->arena, block, STMT_LET);
        let->variable = at;
        let->a = number;
        if (most <= total.most && !total.open)
                return block;
        struct loop_stmt *inside = loop_append(m->p->arena, block, STMT_IF);
        inside->a = loop_op(m->p->arena, LOOP_LT, loop_use(m->p->arena, at), trip_expr(m, &total),
                            NULL);
        return inside->body;
}

/* Returns the iterations of a lane: several where that leaves no block with fewer, and all
 * multiprocessors enough blocks, and where an iteration only stores values. */
static int64_t iterations_of(const struct mapping *m, struct loop_stmt *const *nest, int count,
                             int64_t total)
{
        enum { MOST = 8, BLOCKS = 8 };  /* BLOCKS is the least number of blocks of a
                                         * multiprocessor. */
        int64_t iterations = MOST;
        for (int k = 0; k + 1 < count; k++)
                for (const struct loop_stmt *s = nest[k]->body->first; s != nest[k + 1];
                     s = s->next)
                        if (s->kind != STMT_LET)
                                return 1;
        while (iterations > 1 && (total % (GRID_LANES * WARPS * iterations) ||
                                  total / (GRID_LANES * WARPS * iterations) <
                                          (int64_t)BLOCKS * m->gpu->multiprocessors))
                iterations /= 2;
        return grid_iterations_can(nest[count - 1]->body) ? iterations : 1;
}

/* Writes several iterations per lane. Neighbouring iterations get neighbouring lanes, and a warp's
 * iterations follow each other. */
static void put_iterations(struct mapping *m, struct loop_stmt *const *nest, int count,
                           int64_t total, int64_t iterations)
{
        struct arena *arena = m->p->arena;
        struct loop_stmt *block = open_loop(m, m->out, "block", FOR_GPU_BLOCK,
                                            total / (GRID_LANES * WARPS * iterations));
        struct loop_stmt *warp = open_loop(m, block->body, "warp", FOR_GPU_WARP, WARPS);
        struct loop_stmt *lane = open_loop(m, warp->body, "lane", FOR_GPU_LANE, GRID_LANES);
        struct loop_variable *iteration =
                loop_variable_new(arena, "iteration", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        struct loop_variable *at = loop_variable_new(arena, "at", LOOP_TYPE(E_INDEX), VARIABLE_LET);
        struct loop_block *body = begin_iteration(
                m, loop_block_new(arena), at,
                number_of(m, block, warp, lane, iteration, iterations),
                (struct trip){ total, NULL }, total);
        put_iteration(m, nest, count, at, body);
        put_values(m, body);
        grid_iterations_write(arena, iteration, iterations, body, lane->body);
}

/* Returns how many neighbours a lane has. Every scheduler must still have enough warps: with fewer,
 * loads would wait for memory one after the other. */
static int64_t side_of(const struct mapping *m, struct loop_stmt *const *nest, int count,
                       int64_t total)
{
        enum { SCHEDULERS = 4, ENOUGH = 4 };      /* A multiprocessor has this many schedulers, and
                                                   * one of them has enough with this many warps. */
        return grid_side_of(m->scratch, m->bounds, nest[count - 1], total,
                            (int64_t)m->gpu->multiprocessors * SCHEDULERS * ENOUGH * GRID_LANES);
}

static void put_lanes(struct mapping *m, struct loop_stmt *const *nest, int count)
{
        struct trip total = trip_of_nest(m, nest, count);
        const int64_t side = side_of(m, nest, count, total.most);
        if (side > 1 && grid_side_write(m->p->arena, nest[count - 1], side))
                total = trip_of_nest(m, nest, count);
        const int64_t iterations = side > 1 || m->checks.first || total.open
                                           ? 1
                                           : iterations_of(m, nest, count, total.most);
        if (iterations > 1) {
                put_iterations(m, nest, count, total.most, iterations);
                return;
        }
        int64_t lanes = total.most < GRID_LANES ? total.most : GRID_LANES,
                warps = warps_of(m, divide_up(total.most, GRID_LANES)),
                blocks = divide_up(total.most, lanes * warps);
        struct loop_stmt *block = open_loop(m, m->out, "block", FOR_GPU_BLOCK, blocks);
        if (total.open)
                block->b = divided_up(m, trip_expr(m, &total), lanes * warps);
        struct loop_stmt *warp = open_loop(m, block->body, "warp", FOR_GPU_WARP, warps);
        struct loop_stmt *lane = open_loop(m, warp->body, "lane", FOR_GPU_LANE, lanes);
        struct loop_variable *at =
                loop_variable_new(m->p->arena, "at", LOOP_TYPE(E_INDEX), VARIABLE_LET);
        struct loop_block *body =
                begin_iteration(m, lane->body, at, number_of(m, block, warp, lane, NULL, 1), total,
                                blocks * warps * lanes);
        for (struct loop_stmt *s = m->checks.first, *next; s; s = next) {
                next = s->next;
                s->next = NULL;
                *body->end = s;
                body->end = &s->next;
        }
        m->checks = (struct loop_block){ 0 };
        put_iteration(m, nest, count, at, body);
        put_values(m, body);
}

/* Gives each iteration, which is a row, a warp. */
static void put_rows(struct mapping *m, struct loop_stmt *const *nest, int count,
                     const struct grid_row *row)
{
        struct arena *arena = m->p->arena;
        const struct trip total = trip_of_nest(m, nest, count);
        int64_t warps = warps_of(m, total.most), blocks = divide_up(total.most, warps);
        put_checks(m);
        struct loop_stmt *block = open_loop(m, m->out, "block", FOR_GPU_BLOCK, blocks);
        if (total.open)
                block->b = divided_up(m, trip_expr(m, &total), warps);
        struct loop_stmt *warp = open_loop(m, block->body, "warp", FOR_GPU_WARP, warps);
        struct loop_variable *at = loop_variable_new(arena, "at", LOOP_TYPE(E_INDEX), VARIABLE_LET);
        struct loop_expr *number = loop_op(
                arena, LOOP_ADD, op(m, LOOP_MUL, counter(m, block), warps), counter(m, warp), NULL);
        struct loop_block *body = begin_iteration(m, warp->body, at, number, total, blocks * warps);
        nest[count - 1]->body = grid_row_write(row);
        put_iteration(m, nest, count, at, body);
        put_values(m, body);
}

static bool put_parallel(struct mapping *m, struct loop_stmt *loop)
{
        struct loop_stmt *nest[INDEPENDENT_LOOPS_MAX];
        int count = loop->kind == STMT_FOR ? find_nest(m, loop, nest) : 0;
        const struct trip total = trip_of_nest(m, nest, count);
        const struct grid_row row = { m->p->arena, m->bounds, m->averages, m->exact,
                                      count ? nest[count - 1]->body : NULL };
        if (count && grid_row_is_for_warp(&row))
                put_rows(m, nest, count, &row);
        else if (count && total.most > 1)
                put_lanes(m, nest, count);
        else
                return false;
        return true;
}

/* ---- kernels ---- */

/* May every lane of a later phase repeat this check, because it reads nothing that the kernel
 * changes? */
static bool is_lasting_check(const struct mapping *m, const struct loop_stmt *s)
{
        struct reading r = { m->kernel, is_check(s) };
        if (r.same)
                loop_expr_walk(s->a, is_lasting, &r);
        return r.same;
}

static void find_codes(struct loop_stmt *s, void *context)
{
        int *codes = context;
        if (s->kind == STMT_FAIL && s->code != codes[0])
                codes[codes[0] ? 1 : 0] = s->code;
}

static bool declares(const struct loop_stmt *s)
{
        return s->kind == STMT_LET || s->kind == STMT_VAR || s->kind == STMT_ALLOC;
}

static void read_kernel(struct mapping *m)
{
        int codes[2] = { 0, 0 };
        loop_block_walk(m->kernel->body, find_codes, NULL, codes);
        m->ordered = codes[1] != 0;
        for (struct loop_stmt *s = m->kernel->body->first; s; s = s->next) {
                bool value = is_value(m, s);
                /* A value must not use what a phase computes for itself. */
                for (int i = 0; value && i < m->count; i++)
                        value = !declares(m->stmts[i]) || !uses(s, m->stmts[i]);
                if (value) {
                        ARENA_GROW(m->scratch, m->values, m->value_count);
                        m->values[m->value_count++] = s;
                } else {
                        ARENA_GROW(m->scratch, m->stmts, m->count);
                        m->stmts[m->count++] = s;
                }
        }
}

/* Returns the end of the statements that must run in one phase with those from `first` on, because
 * they share something. */
static int group_end(const struct mapping *m, int first)
{
        int last = first;
        if (m->ordered)
                return m->count;
        for (int i = first; i <= last; i++)
                for (int k = m->count; declares(m->stmts[i]) && k-- > last + 1;)
                        if (uses(m->stmts[k], m->stmts[i])) {
                                last = k;
                                break;
                        }
        return last + 1;
}

static void map_kernel(struct mapping *m)
{
        read_kernel(m);
        m->out = loop_block_new(m->p->arena);
        for (int first = 0, end; first < m->count; first = end) {
                end = group_end(m, first);
                if (end == first + 1 && end < m->count && is_lasting_check(m, m->stmts[first])) {
                        if (!m->checks.first)
                                m->checks.end = &m->checks.first;
                        *m->checks.end = m->stmts[first];
                        m->checks.end = &m->stmts[first]->next;
                        m->stmts[first]->next = NULL;
                        continue;
                }
                if (end == first + 1 && put_parallel(m, m->stmts[first]))
                        continue;
                struct loop_block *body = loop_block_new(m->p->arena);
                for (int i = first; i < end; i++) {
                        m->stmts[i]->next = NULL;
                        *body->end = m->stmts[i];
                        body->end = &m->stmts[i]->next;
                }
                put_serial(m, body);
        }
        m->kernel->body = m->out;
        loop_function_rename(m->p->arena, m->kernel);
}

int pass_grid(struct loop_program *p, struct pass_context *context)
{
        int count = 0;
        const struct gpu *gpu = target_gpu(context->target);
        for (struct loop_function *k = p->kernels; k && gpu; k = k->next) {
                if (k->kind != FUNCTION_KERNEL || loop_is_grid(k))
                        continue;
                struct mapping m = { .p = p,
                                     .scratch = arena_new(),
                                     .kernel = k,
                                     .gpu = gpu,
                                     .exact = context->exact };
                m.averages = averages_find(m.scratch, k);
                m.bounds = loop_bounds_new(m.scratch, k);
                map_kernel(&m);
                arena_free(m.scratch);
                count++;
        }
        return count;
}
