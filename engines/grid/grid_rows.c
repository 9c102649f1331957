/* SPDX-License-Identifier: MIT */
/* grid, rows: where an iteration sums over neighbours in memory, a lane for each iteration would
 * read with gaps as long as a row, and there are few iterations. So a warp gets the iteration, and
 * each lane every 32nd iteration of each inner loop:
 *
 *     var %sum : f32 = 0.0                       var %sum : f32 = 0.0
 *     for %k = 0 to 768 {                        alloc %parts : f32[32]
 *       set %sum = %sum + %x[%i * 768 + %k]      for %lane = 0 to 32 gpu_lane {
 *     }                                            var %part : f32 = 0.0
 *     store %y[%i] = %sum                ->        for %iteration = 0 to 24 {
 *                                                    let %k : index = %iteration * 32 + %lane
 *                                                    set %part = %part + %x[%i * 768 + %k]
 *                                                  }
 *                                                  store %parts[%lane] = %part
 *                                                }
 *                                                for %l = 0 to 32 step 4 {
 *                                                  set %joined = %joined + %parts[%l]
 *                                                  .. set %joined4 = %joined4 + %parts[%l + 3]
 *                                                }
 *                                                set %sum = %sum + %joined + ..
 *                                                for %lane = 0 to 1 gpu_lane {
 *                                                  store %y[%i] = %sum
 *                                                }
 *
 * All lanes compute the statements between loops alike; loops that store do so after all values of
 * a lane (grid_iterations.c). Where neighbours are words in memory, and all lanes have equally
 * many, a lane has four of them side by side, or two, so that loads and stores of a word are one
 * instruction (engines/grid/vector_access.c), and a part of the sum for each:
 *
 *     for %iteration = 0 to 24 step 4 {
 *       let %k : index = %iteration * 32 + %lane * 4
 *       let %v : f32 = %part + %x[%i * 768 + %k]
 *       ..
 *       let %v4 : f32 = %part4 + %x[%i * 768 + %k + 3]
 *       set %part = %v
 *       ..
 *
 * An element that several loops load is loaded once (grid_kept.c). A nest of loops that is a sum
 * becomes one loop where its innermost loop is too short for a warp (grid_nests.c).
 *
 * Sums of floats are added up in another order: class R, as for reductions in vectors (reduce.c).
 * Sums of averages of bytes keep their order. */
#include "engines/grid/grid_rows.h"

#include "engines/grid/grid_iterations.h"
#include "engines/grid/grid_kept.h"
#include "engines/grid/grid_nests.h"
#include "engines/grid/grid_side.h"
#include "passes/vectorize/averages.h"
#include "passes/vectorize/independence.h"
#include "passes/vectorize/jam.h"

enum { SIDE_MOST = 4 };                 /* A lane has at most this many neighbours: 16 bytes of
                                         * f32. */
/* The parts of the lanes are added up into this many independent sums, so that not every addition
 * waits for the one before. */
enum { JOINED = 4 };

/* ---- what counts as a row ---- */

/* Goes down through loops whose bodies are values and one loop; returns the innermost. */
static struct loop_stmt *innermost(struct loop_stmt *loop)
{
        for (;;) {
                struct loop_stmt *only = NULL;
                for (struct loop_stmt *s = loop->body->first; s; s = s->next) {
                        if (s->kind == STMT_FOR && !only)
                                only = s;
                        else if (s->kind != STMT_LET)
                                return loop;
                }
                if (!only)
                        return loop;
                loop = only;
        }
}

int64_t grid_row_trip(const struct loop_stmt *s)
{
        int64_t from, to;
        bool known = s->for_kind == FOR_SERIAL && s->step == 1 && loop_is_int(s->a, &from) &&
                     loop_is_int(s->b, &to);
        return known && to > from ? to - from : 0;
}

/* Returns the most iterations of a loop with step 1 from a literal on; 0: it is no such loop, or
 * nothing bounds them. */
static int64_t trip_most(const struct grid_row *row, const struct loop_stmt *s)
{
        int64_t from;
        const int64_t high = loop_bounds_of(row->bounds, s->b).high;
        return s->for_kind == FOR_SERIAL && s->step == 1 && loop_is_int(s->a, &from) &&
                               high != INT64_MAX && high > from
                       ? high - from
                       : 0;
}

struct setting { const struct loop_variable *variable; const struct loop_stmt *let; };

static void find_let(struct loop_stmt *s, void *context)
{
        struct setting *found = context;
        if (s->kind == STMT_LET && s->variable == found->variable)
                found->let = s;
}

/* Returns by how much e grows with the variable of the loop, looking through values of its body;
 * UNKNOWN where that is not constant. */
enum { UNKNOWN = INT32_MAX, DEPTH_MAX = 16 };
static int64_t growth(const struct loop_expr *e, const struct loop_stmt *loop, int depth)
{
        int64_t factor;
        if (e->op == LOOP_LITERAL)
                return 0;
        if (depth == DEPTH_MAX)
                return UNKNOWN;
        if (e->op == LOOP_VARIABLE) {
                struct setting found = { .variable = e->variable };
                loop_block_walk(loop->body, find_let, NULL, &found);
                return e->variable == loop->variable ? 1
                       : found.let                   ? growth(found.let->a, loop, depth + 1)
                                                     : 0;
        }
        int64_t steps[3] = { 0 };
        bool grows = false;
        for (int i = 0; i < e->arity && i < 3; i++) {
                steps[i] = growth(e->args[i], loop, depth + 1);
                grows |= steps[i] != 0;
        }
        if (!grows || steps[0] == UNKNOWN || steps[1] == UNKNOWN)
                return grows ? UNKNOWN : 0;
        if (e->op == LOOP_ADD || e->op == LOOP_SUB)
                return e->op == LOOP_ADD ? steps[0] + steps[1] : steps[0] - steps[1];
        return e->op == LOOP_MUL && loop_is_int(e->args[1], &factor) ? steps[0] * factor : UNKNOWN;
}

struct loads { const struct loop_stmt *loop; int near, far; };

static void count_load(struct loop_expr *e, void *context)
{
        struct loads *loads = context;
        int64_t step = e->op == LOOP_LOAD ? growth(e->args[0], loads->loop, 0) : 0;
        loads->near += step == 1;
        loads->far += step != 1 && step != 0;
}

/* Does the loop do nothing but add to variables of the row, once in an iteration each? */
static bool reduces(const struct grid_row *row, struct loop_stmt *loop)
{
        struct loop_stmt *inner = innermost(loop);
        int sets = 0;
        for (const struct loop_stmt *s = inner->body->first; s; s = s->next) {
                const enum element e = s->variable ? s->variable->type.element : E_BOOL;
                if (s->kind == STMT_LET)
                        continue;
                if (s->kind != STMT_SET || !vectorize_accumulates(loop, s) || e == E_BOOL ||
                    averages_has(row->averages, s->variable) ||
                    (row->exact && element_is_float(e) && s->a->op == LOOP_ADD))
                        return false;
                sets++;
        }
        return sets > 0;
}

static void find_refused(struct loop_stmt *s, void *context)
{
        *(bool *)context |=
                s->kind == STMT_FAIL || s->kind == STMT_WHILE || s->kind == STMT_ALLOC ||
                (s->kind == STMT_VAR && (s->variable->rows || s->variable->type.lanes > 1));
}

bool grid_row_is_for_warp(const struct grid_row *row)
{
        bool refused = false, any = false;
        loop_block_walk((struct loop_block *)(uintptr_t)row->body, find_refused, NULL, &refused);
        for (struct loop_stmt *s = row->body->first; s && !refused; s = s->next) {
                if (s->kind == STMT_LET || s->kind == STMT_VAR || s->kind == STMT_STORE)
                        continue;
                if (s->kind != STMT_FOR)
                        return false;
                if (!reduces(row, s)) {
                        refused = !trip_most(row, s) ||
                                  !loops_are_independent(row->bounds, &s, 1, false);
                        continue;
                }
                struct loads loads = { .loop = innermost(s) };
                struct grid_nest nest;
                loop_block_walk(loads.loop->body, NULL, count_load, &loads);
                refused = loads.far || !loads.near ||
                          (trip_most(row, loads.loop) < GRID_LANES && !grid_nest_find(s, &nest));
                any = true;
        }
        return any && !refused;
}

/* ---- loops over lanes ---- */

static void append(struct loop_block *block, struct loop_stmt *s)
{
        s->next = NULL;
        *block->end = s;
        block->end = &s->next;
}

/* Returns the largest number of neighbours that divides the iterations of all lanes and that are
 * words in memory. */
int64_t grid_row_side(const struct grid_row *row, const struct loop_stmt *loop)
{
        int64_t side = grid_row_trip(loop) ? SIDE_MOST : 1;
        while (side > 1 && (grid_row_trip(loop) % (GRID_LANES * side) ||
                            !grid_side_is_words(row->arena, row->bounds, loop, side)))
                side /= 2;
        return side;
}

static struct loop_stmt *open_loop(struct arena *arena, struct loop_block *block, const char *name,
                                   enum loop_for_kind kind, int64_t count)
{
        struct loop_stmt *s = loop_append(arena, block, STMT_FOR);
        s->variable = loop_variable_new(arena, name, LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        s->for_kind = kind;
        s->a = loop_index(arena, 0);
        s->b = loop_index(arena, count);
        return s;
}

struct writing { const struct grid_row *row; struct arena *arena; struct grid_kept kept; };

static int64_t side_of(const struct writing *w, const struct loop_stmt *loop)
{
        return grid_kept_has(&w->kept, loop) ? w->kept.side : grid_row_side(w->row, loop);
}

struct saying {
        const struct loop_variable *own;
        const struct loop_expr *place;
        struct arena *arena;
};

static void say_own(struct loop_expr *e, void *context)
{
        const struct saying *s = context;
        if (e->op == LOOP_VARIABLE && e->variable == s->own)
                *e = *loop_expr_copy(s->arena, s->place);
}

/* Returns the iterations of a lane where a run says how many there are between the two. */
static struct loop_expr *iterations_of(struct arena *arena, struct loop_expr *from,
                                       struct loop_expr *to)
{
        struct loop_expr *up = loop_index(arena, GRID_LANES - 1);
        struct loop_expr *all = loop_op(arena, LOOP_SUB, loop_expr_copy(arena, to),
                                        loop_expr_copy(arena, from), NULL);
        return loop_op(arena, LOOP_DIV, loop_op(arena, LOOP_ADD, all, up, NULL),
                       loop_index(arena, GRID_LANES), NULL);
}

/* Gives the lane every 32nd iteration, from its own number on: the same number for each lane, which
 * is constant where the loop's is, so that several loads are under way. `side` neighbours of a lane
 * are consecutive iterations. */
static void share_iterations(const struct writing *w, struct loop_stmt *loop,
                             const struct loop_stmt *lane, int64_t side)
{
        struct arena *arena = w->arena;
        const int64_t count = grid_row_trip(loop);
        struct loop_variable *iteration =
                loop_variable_new(arena, "iteration", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        struct loop_expr *at = loop_op(arena, LOOP_MUL, loop_use(arena, iteration),
                                       loop_index(arena, GRID_LANES), NULL);
        struct loop_expr *first = loop_op(arena, LOOP_MUL, loop_use(arena, lane->variable),
                                          loop_index(arena, side), NULL);
        struct loop_block *body = loop_block_new(arena);
        struct loop_stmt *let = loop_append(arena, body, STMT_LET);
        let->variable = loop->variable;
        let->variable->kind = VARIABLE_LET;
        let->a = loop_op(arena, LOOP_ADD, loop_op(arena, LOOP_ADD, at, first, NULL), loop->a, NULL);
        if (!count || count % GRID_LANES) {
                struct loop_stmt *there = loop_append(arena, body, STMT_IF);
                there->a = loop_op(arena, LOOP_LT, loop_use(arena, let->variable), loop->b, NULL);
                there->body = loop->body;
        } else {
                *body->end = loop->body->first;
                body->end = loop->body->end;
        }
        struct loop_expr *place = loop_op(arena, LOOP_MUL, loop_use(arena, lane->variable),
                                          loop_index(arena, w->kept.elements), NULL);
        place = loop_op(arena, LOOP_ADD, place, loop_use(arena, iteration), NULL);
        loop_block_walk(body, NULL, say_own, &(struct saying){ w->kept.own, place, arena });
        struct loop_expr *from = loop->a;
        loop->variable = iteration;
        loop->a = loop_index(arena, 0);
        loop->b = count ? loop_index(arena, divide_up(count, GRID_LANES))
                        : iterations_of(arena, from, loop->b);
        loop->step = side;
        loop->for_kind = count && divide_up(count, GRID_LANES) <= GRID_ITERATIONS_MAX ? FOR_UNROLL
                                                                                     : FOR_SERIAL;
        loop->body = body;
}

static void set_neighbours(struct jam_copy *copy, struct loop_variable *v)
{
        for (int i = 0; i < copy->times; i++)
                jam_copy_set(copy, v, i, jam_plus(copy->arena, v, i));
}

/* Copies the statements of the block for all neighbours; `copy` holds the variables that each of
 * them has for itself. */
static struct loop_block *side_by_side(struct jam_copy *copy, struct loop_block *block)
{
        struct loop_block *all = loop_block_new(copy->arena);
        if (copy->times > 1)
                grid_side_name(copy->arena, block);
        jam_range(copy, block->first, NULL, all);
        return all;
}

/* Writes the iterations that one lane has side by side. Their first statement computes the
 * iteration, if that matters. */
static void write_side(struct arena *arena, struct loop_stmt *iterations, int64_t side)
{
        struct jam_copy *copy = jam_copy_new(arena, (int)side);
        struct loop_stmt *at = iterations->body->first;
        const bool matters = at->kind == STMT_LET && growth(at->a, iterations, 0) == GRID_LANES;
        set_neighbours(copy, iterations->variable);
        if (matters) {
                set_neighbours(copy, at->variable);
                iterations->body->first = at->next;
        }
        iterations->body = side_by_side(copy, iterations->body);
        iterations->step = side;
        if (matters) {
                at->next = iterations->body->first;
                iterations->body->first = at;
        }
}

/* Declares a variable for each part of the whole, which begins with the neutral value. */
static void declare_parts(struct arena *arena, const char *name, const struct loop_stmt *set,
                          struct loop_variable **parts, int count, struct loop_block *block)
{
        struct loop_variable *whole = set->variable;
        for (int i = 0; i < count; i++) {
                struct loop_stmt *var = loop_append(arena, block, STMT_VAR);
                var->variable = parts[i] =
                        loop_variable_new(arena, name, whole->type, VARIABLE_VAR);
                var->a = set->a->op == LOOP_ADD
                                 ? loop_literal(arena, whole->type, (union scalar){ .u = 0 })
                                 : loop_use(arena, whole);
        }
}

static struct loop_expr *join_parts(struct arena *arena, enum loop_opcode op,
                                    struct loop_variable **parts, int count)
{
        return count == 1
                       ? loop_use(arena, parts[0])
                       : loop_op(arena, op, join_parts(arena, op, parts, count / 2),
                                 join_parts(arena, op, parts + count / 2, count - count / 2), NULL);
}

/* Replaces the variable of the set by parts: each lane adds up as many as it has neighbours,
 * beginning with the neutral value; after the loop over lanes the parts of all lanes are
 * combined. */
static void put_parts(struct arena *arena, struct loop_stmt *set, struct jam_copy *copy,
                      struct loop_block *before, struct loop_stmt *lane, struct loop_block *after)
{
        struct loop_variable *whole = set->variable, *own[SIDE_MOST], *joined[JOINED];
        const enum loop_opcode op = set->a->op;
        struct loop_buffer *parts = ARENA_NEW(arena, struct loop_buffer);
        *parts = (struct loop_buffer){ .name = "parts",
                                       .element = whole->type.element,
                                       .extent = GRID_LANES,
                                       .space = SPACE_STACK,
                                       .offset = -1,
                                       .access = ACCESS_INOUT };
        loop_append(arena, before, STMT_ALLOC)->buffer = parts;
        declare_parts(arena, "part", set, own, copy->times, lane->body);
        for (int i = 0; i < copy->times; i++)
                jam_copy_set(copy, whole, i, loop_use(arena, own[i]));
        declare_parts(arena, "joined", set, joined, JOINED, after);
        struct loop_stmt *l = open_loop(arena, after, "l", FOR_UNROLL, GRID_LANES), *join;
        l->step = JOINED;
        for (int i = 0; i < JOINED; i++) {
                join = loop_append(arena, l->body, STMT_SET);
                join->variable = joined[i];
                join->a = loop_op(arena, op, loop_use(arena, joined[i]),
                                  loop_load(arena, parts, jam_plus(arena, l->variable, i)), NULL);
        }
        join = loop_append(arena, after, STMT_SET);
        join->variable = whole;
        join->a = loop_op(arena, op, loop_use(arena, whole), join_parts(arena, op, joined, JOINED),
                          NULL);
        /* This store is moved after the loop. */
        struct loop_stmt *store = loop_append(arena, after, STMT_STORE);
        store->buffer = parts;
        store->a = loop_use(arena, lane->variable);
        store->b = join_parts(arena, op, own, copy->times);
}

static void write_reduction(const struct writing *w, struct loop_stmt *loop, struct loop_block *out)
{
        struct arena *arena = w->arena;
        struct loop_block *after = loop_block_new(arena);
        struct loop_stmt *inner = innermost(loop);
        struct loop_block *lanes = loop_block_new(arena);
        struct loop_stmt *lane = open_loop(arena, lanes, "lane", FOR_GPU_LANE, GRID_LANES);
        struct jam_copy *copy = jam_copy_new(arena, (int)side_of(w, inner));
        for (struct loop_stmt *s = inner->body->first; s; s = s->next)
                if (s->kind == STMT_SET)
                        put_parts(arena, s, copy, out, lane, after);
        set_neighbours(copy, w->kept.own);
        set_neighbours(copy, inner->variable);
        inner->body = side_by_side(copy, inner->body);
        share_iterations(w, inner, lane, copy->times);
        append(lane->body, loop);
        append(out, lane);
        for (struct loop_stmt *s = after->first, *next; s; s = next) {
                next = s->next;
                append(s->kind == STMT_STORE ? lane->body : out, s);
        }
}

/* Writes iterations that store. */
static void write_iterations(const struct writing *w, struct loop_stmt *loop,
                             struct loop_stmt *lane)
{
        struct arena *arena = w->arena;
        const bool simple = grid_iterations_can(loop->body),
                   few = grid_row_trip(loop) &&
                         grid_row_trip(loop) <= GRID_LANES * GRID_ITERATIONS_MAX;
        const int64_t side = simple ? side_of(w, loop) : 1;
        if (side > 1 && !few) {
                struct jam_copy *copy = jam_copy_new(arena, (int)side);
                set_neighbours(copy, loop->variable);
                loop->body = side_by_side(copy, loop->body);
        }
        share_iterations(w, loop, lane, side);
        if (!simple || !few) {
                append(lane->body, loop);
                return;
        }
        grid_iterations_write(arena, loop->variable, loop->b->literal.i, loop->body, lane->body);
        for (struct loop_stmt *s = lane->body->first; s; s = s->next)
                if (s->kind == STMT_FOR && side > 1)
                        write_side(arena, s, side);
}

/* Writes the loads of what lanes keep. */
static void write_kept(const struct writing *w, struct loop_block *out)
{
        if (!w->kept.side)
                return;
        *out->end = w->kept.memory->first;
        out->end = w->kept.memory->end;
        struct loop_stmt *lane = open_loop(w->arena, out, "lane", FOR_GPU_LANE, GRID_LANES);
        for (struct loop_stmt *s = w->kept.loops->first, *next; s; s = next) {
                struct jam_copy *copy = jam_copy_new(w->arena, (int)w->kept.side);
                next = s->next;
                set_neighbours(copy, w->kept.own);
                set_neighbours(copy, s->variable);
                s->body = side_by_side(copy, s->body);
                share_iterations(w, s, lane, w->kept.side);
                append(lane->body, s);
        }
}

struct loop_block *grid_row_write(const struct grid_row *row)
{
        struct arena *arena = row->arena;
        struct loop_block *out = loop_block_new(arena);
        struct grid_nest nest;
        for (struct loop_stmt *s = row->body->first; s; s = s->next)
                if (s->kind == STMT_FOR && reduces(row, s) && grid_nest_find(s, &nest))
                        grid_nest_write(arena, &nest);
        const struct writing w = { row, arena, grid_kept_write(row) };
        write_kept(&w, out);
        for (struct loop_stmt *s = row->body->first, *next; s; s = next) {
                next = s->next;
                if (s->kind == STMT_LET || s->kind == STMT_VAR) {
                        append(out, s);
                } else if (s->kind == STMT_STORE) {
                        append(open_loop(arena, out, "lane", FOR_GPU_LANE, 1)->body, s);
                } else if (reduces(row, s)) {
                        write_reduction(&w, s, out);
                } else {
                        write_iterations(&w, s,
                                         open_loop(arena, out, "lane", FOR_GPU_LANE, GRID_LANES));
                }
        }
        return out;
}
