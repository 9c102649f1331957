/* SPDX-License-Identifier: MIT */
/* vectorize: loops of the canonical lowering become loops over vectors of the target's own width.
 *
 *     for %i = 0 to 50 {                              for %i = 0 to 48 step 16 {
 *       store %y[%i] = max(%x[%i], 0.0)      ->         store %y[%i] = max(%x<16>[%i], 0.0)
 *     }                                               }
 *                                                     let %rest : boolx16 = ramp<16>(0:i32, 1)
 *                                                                             < splat<16>(2)
 *                                                     store %y[48] = max(%x<16>[48, %rest], 0.0)
 *                                                                             mask %rest
 *
 * A loop is vectorized where it stands, with the loops inside it inside the vectors; the iterations
 * that remain are a vector under a mask, or scalar where masks are missing or costly. Loops whose
 * body compares their variable are split (split.c), reductions along the loop get vectors of
 * partial results (reduce.c), transposes are computed in squares (transpose.c). In every nest the
 * form of least predicted cost wins, the scalar one included.
 *
 * Exact to the bit but for sums of floats and, among equal zeros, their extremes: with --exact
 * these stay. */
#include "passes/vectorize/vectorize.h"

#include "cost/code.h"
#include "passes/vectorize/averages.h"
#include "passes/vectorize/legalize.h"

/* ---- is it native? ---- */

struct survey { const struct vectorizing *v; bool good; };

static void look(struct survey *s, const struct loop_expr *e)
{
        struct loop_expr *legal;
        if (!s->good || !e)
                return;
        legal = legalize_expr(&(struct legalization){ s->v->scratch, s->v->target, NULL },
                              loop_expr_copy(s->v->scratch, e));
        s->good = legalize_is_native(s->v->scratch, s->v->target, legal);
}

/* Is it a store of a value that was converted to a type without vectors? */
static bool is_converted(const struct vectorizing *v, const struct loop_stmt *s)
{
        return s->kind == STMT_STORE && s->b->type.lanes > 1 && s->b->op == LOOP_CAST &&
               s->a->type.lanes == 1 && s->b->args[0]->type.element != E_INDEX &&
               !capability_of_type(v->target, s->b->type);
}

static void look_at_stmt(struct loop_stmt *stmt, void *context)
{
        struct survey *s = context;
        bool vector = stmt->variable && stmt->variable->type.lanes > 1;
        if (is_converted(s->v, stmt)) {         /* The statement is stored lane by lane, after its
                                                 * operand has been computed as a vector. */
                look(s, stmt->b->args[0]);
                return;
        }
        look(s, stmt->b);
        look(s, stmt->c);
        if (stmt->kind != STMT_STORE)
                look(s, stmt->a);
        else if (stmt->b->type.lanes > 1 && stmt->a->type.lanes == 1)
                s->good = s->good && capability_of_store(s->v->target, stmt);
        if (vector && !capability_of_type(s->v->target, stmt->variable->type))
                s->good = false;
}

bool vectorize_is_native(const struct vectorizing *v, struct loop_block *block)
{
        struct survey s = { v, true };
        loop_block_walk(block, look_at_stmt, NULL, &s);
        return s.good;
}

/* ---- parts of a loop ---- */

int64_t vectorize_trip(const struct loop_stmt *loop, int64_t *from)
{
        int64_t to;
        bool known = loop->kind == STMT_FOR && loop->for_kind == FOR_SERIAL && loop->step == 1 &&
                     loop_is_int(loop->a, from) && loop_is_int(loop->b, &to);
        return known && to > *from ? to - *from : 0;
}

bool vectorize_body(const struct vectorizing *v, const struct loop_stmt *loop, int lanes,
                    struct loop_expr *base, struct loop_expr *mask,
                    const struct vector_substitution *substitutions, int count,
                    struct loop_block *out)
{
        const struct vector_request request = { .arena = v->arena,
                                                .lane = loop->variable,
                                                .base = base,
                                                .lanes = lanes,
                                                .mask = mask,
                                                .active = mask ? v->active : 0,
                                                .substitutions = substitutions,
                                                .substitution_count = count,
                                                .bounds = v->bounds,
                                                .open = v->open,
                                                .constants = v->constants };
        if (!vector_block(&request, loop->body, out))
                return false;
        if (target_narrow(v->target))
                narrow_widen(v->arena, out);
        return lanes == 1 || vectorize_is_native(v, out);
}

struct loop_stmt *vectorize_loop(const struct vectorizing *v, const struct loop_stmt *like,
                                 int64_t from, int64_t to, int64_t step, struct loop_block *out)
{
        return vectorize_open_loop(v, like, loop_index(v->arena, from), loop_index(v->arena, to),
                                   step, out);
}

struct loop_expr *vectorize_mask(const struct vectorizing *v, struct loop_expr *count,
                                 struct loop_block *out)
{
        struct loop_stmt *let = loop_append(v->arena, out, STMT_LET);
        let->a = vector_mask(v->arena, v->lanes, count);
        let->variable = loop_variable_new(v->arena, "rest", let->a->type, VARIABLE_LET);
        return loop_use(v->arena, let->variable);
}

/* ---- what remains ---- */

void vectorize_append(struct loop_block *out, const struct loop_block *more)
{
        if (!more->first)
                return;
        *out->end = more->first;
        out->end = more->end;
}

struct loop_block *vectorize_cheaper(const struct vectorizing *v, struct loop_block *a,
                                     struct loop_block *b)
{
        if (!a || !b)
                return a ? a : b;
        return cost_of_code(v->target, v->bounds, b) < cost_of_code(v->target, v->bounds, a) ? b
                                                                                             : a;
}

static struct loop_block *map_range(const struct vectorizing *v, const struct loop_stmt *loop,
                                    int64_t from, int64_t trip);

/* Returns the rest in shorter vectors; NULL: there are none, or it does not fill one. */
static struct loop_block *shorter_rest(const struct vectorizing *v, const struct loop_stmt *loop,
                                       int64_t from, int64_t count)
{
        struct vectorizing shorter = *v;
        int least = target_lanes(v->target, E_F32);
        shorter.lanes = narrow_lanes(v, loop, v->lanes);
        if (shorter.lanes < least)
                shorter.lanes = least;
        return v->lanes > least && count >= shorter.lanes ? map_range(&shorter, loop, from, count)
                                                          : NULL;
}

struct loop_block *vectorize_rest(const struct vectorizing *v, const struct loop_stmt *loop,
                                  int64_t from, int64_t count,
                                  const struct vector_substitution *vectors,
                                  const struct vector_substitution *scalars, int substitutions)
{
        struct loop_block *masked = loop_block_new(v->arena), *single = loop_block_new(v->arena);
        struct loop_expr *mask = vectorize_mask(v, loop_index(v->arena, count), masked);
        struct vectorizing some = *v;
        some.active = (int)count;
        if (!vectorize_body(&some, loop, v->lanes, loop_index(v->arena, from), mask, vectors,
                            substitutions, masked))
                masked = NULL;
        struct loop_stmt *rest =
                count > 1 ? vectorize_loop(v, loop, from, from + count, 1, single) : NULL;
        struct loop_expr *at =
                rest ? loop_use(v->arena, rest->variable) : loop_index(v->arena, from);
        if (!vectorize_body(v, loop, 1, at, NULL, scalars, substitutions,
                            rest ? rest->body : single))
                single = NULL;
        struct loop_block *shorter = substitutions ? NULL : shorter_rest(v, loop, from, count);
        return vectorize_cheaper(v, vectorize_cheaper(v, single, shorter), masked);
}

/* ---- maps ---- */

/* Writes iterations that do not depend on each other; returns NULL where they do. */
static struct loop_block *map_range(const struct vectorizing *v, const struct loop_stmt *loop,
                                    int64_t from, int64_t trip)
{
        int64_t whole = trip / v->lanes * v->lanes;
        struct loop_block *out = loop_block_new(v->arena);
        bool good = trip > 0;
        if (good && whole > v->lanes) {
                struct loop_stmt *strips =
                        vectorize_loop(v, loop, from, from + whole, v->lanes, out);
                good = vectorize_body(v, loop, v->lanes, loop_use(v->arena, strips->variable), NULL,
                                      NULL, 0, strips->body);
        } else if (good && whole) {
                good = vectorize_body(v, loop, v->lanes, loop_index(v->arena, from), NULL, NULL, 0,
                                      out);
        }
        if (!good || whole == trip)
                return good ? out : NULL;
        struct loop_block *rest =
                vectorize_rest(v, loop, from + whole, trip - whole, NULL, NULL, 0);
        if (!rest)
                return NULL;
        vectorize_append(out, rest);
        return out;
}

static struct loop_block *map_loop(const struct vectorizing *v, const struct loop_stmt *loop)
{
        int64_t from, trip = vectorize_trip(loop, &from);
        return trip > 1 ? map_range(v, loop, from, trip) : NULL;
}

/* Writes one loop for each range in which comparisons of the loop's variable have one answer. */
static struct loop_block *map_ranges(const struct vectorizing *v, const struct loop_stmt *loop)
{
        int64_t places[VECTORIZE_BREAKS_MAX], from, trip = vectorize_trip(loop, &from),
                                                    to = from + trip;
        int count = trip > 1 ? vectorize_breaks(loop, from, to, places) : 0;
        struct loop_block *out = loop_block_new(v->arena);
        for (int i = 0; i <= count; i++) {
                int64_t next = i < count ? places[i] : to;
                struct loop_block *part = count ? map_range(v, loop, from, next - from) : NULL;
                if (!part)
                        return NULL;
                vectorize_append(out, part);
                from = next;
        }
        return out;
}

/* ---- choice ---- */

static struct loop_stmt *append_copy(const struct vectorizing *v, const struct loop_stmt *s,
                                     struct loop_block *out)
{
        struct loop_stmt *copy = loop_append(v->arena, out, STMT_LET), **next = out->end;
        *copy = *s;
        copy->next = NULL;
        out->end = next;
        return copy;
}

/* Returns the block with partial results for its reductions; *changed: it has some. */
static struct loop_block *with_partial_results(const struct vectorizing *v,
                                               const struct loop_block *block, bool *changed)
{
        struct loop_block *out = loop_block_new(v->arena);
        for (const struct loop_stmt *s = block->first; s; s = s->next) {
                struct loop_block *split =
                        s->kind == STMT_FOR ? vectorize_partial_results(v, s) : NULL;
                *changed |= split != NULL;
                if (split) {
                        vectorize_append(out, split);
                        continue;
                }
                struct loop_stmt *copy = append_copy(v, s, out);
                if (s->body)
                        copy->body = with_partial_results(v, s->body, changed);
                if (s->other)
                        copy->other = with_partial_results(v, s->other, changed);
        }
        return out;
}

/* Returns the loop as vectors over it, or NULL. */
static struct loop_block *best_map(const struct vectorizing *v, const struct loop_stmt *loop)
{
        struct loop_stmt split = *loop;
        bool is_split = false;
        struct loop_block *best = vectorize_cheaper(v, map_loop(v, loop), map_ranges(v, loop));
        if (!best)
                return NULL;
        split.body = with_partial_results(v, loop->body, &is_split);
        return is_split ? vectorize_cheaper(v, best, map_loop(v, &split)) : best;
}

/* Returns the loop in vectors of more lanes than there are of f32, where that is cheaper than
 * `best`; else returns `best`. */
static struct loop_block *best_narrow(const struct vectorizing *v, const struct loop_stmt *loop,
                                      struct loop_block *best)
{
        struct vectorizing wide = *v;
        if (!target_narrow(v->target))
                return best;
        loop = narrow_loop(v, loop);
        wide.lanes = narrow_lanes(v, loop, LANES_MAX);
        for (; wide.lanes > v->lanes; wide.lanes = narrow_lanes(v, loop, wide.lanes)) {
                best = vectorize_cheaper(v, best, best_map(&wide, loop));
                best = vectorize_cheaper(v, best, vectorize_transpose(&wide, loop));
                best = vectorize_cheaper(v, best, vectorize_turns(&wide, loop));
        }
        return best;
}

/* Statements are new; expressions that stay are shared. */
struct loop_block *vectorize_best(const struct vectorizing *v, const struct loop_block *block,
                                  bool *changed)
{
        struct loop_block *out = loop_block_new(v->arena);
        struct vectorizing usual = *v;
        usual.lanes = target_lanes(v->target, E_F32);
        v = &usual;
        for (const struct loop_stmt *s = block->first; s; s = s->next) {
                struct loop_block *kept = loop_block_new(v->arena), *best;
                struct loop_stmt *copy = append_copy(v, s, kept);
                bool inside = false;
                if (s->body)
                        copy->body = vectorize_best(v, s->body, &inside);
                if (s->other)
                        copy->other = vectorize_best(v, s->other, &inside);
                best = kept;
                struct loop_block *ranges =
                        s->kind == STMT_FOR ? vectorize_open_ranges(v, s) : NULL;
                if (ranges) {
                        best = ranges;
                } else if (s->kind == STMT_FOR) {
                        best = vectorize_cheaper(v, best, best_map(v, s));
                        best = vectorize_cheaper(v, best, vectorize_reduction(v, s));
                        best = vectorize_cheaper(v, best, vectorize_transpose(v, s));
                        best = vectorize_cheaper(v, best, vectorize_turns(v, s));
                        best = best_narrow(v, s, best);
                        best = vectorize_cheaper(v, best, vectorize_open_map(v, s));
                        best = vectorize_cheaper(v, vectorize_open_rows(v, s), best);
                }
                *changed |= inside || best != kept;
                vectorize_append(out, best);
        }
        return out;
}

struct calling { const struct loop_function *f; bool *others; };

static void look_at_call(struct loop_stmt *s, void *context)
{
        const struct calling *c = context;
        for (int i = 0; s->kind == STMT_CALL && s->function == c->f && i < c->f->buffer_count; i++)
                c->others[i] |= loop_buffer_root(s->buffers[i], NULL)->space != SPACE_CONSTANT;
}

/* Finds the parameters that are constants in all calls. */
static struct map *constants_of(struct loop_program *p, struct arena *scratch,
                                const struct loop_function *f)
{
        struct calling c = {
                f, arena_array(scratch, (size_t)f->buffer_count + 1, sizeof *c.others)
        };
        struct map *constants = map_new(scratch);
        loop_walk_mains(p, look_at_call, NULL, &c);
        for (int i = 0; i < f->buffer_count; i++)
                if (!c.others[i])
                        map_set(constants, (const char *)&f->buffers[i], sizeof(void *),
                                f->buffers[i]);
        return constants;
}

/* Are all elements that the kernel reads and writes of f32? */
static bool is_of_floats(const struct loop_function *f)
{
        for (int i = 0; i < f->buffer_count; i++)
                if (f->buffers[i]->element != E_F32)
                        return false;
        return true;
}

/* Returns the target whose vectors the kernel's loops may become: a core that multiplies bytes as
 * words may have wide vectors for floats, which flush denormal numbers. */
static const struct target *target_of(const struct loop_function *f,
                                      const struct pass_context *context)
{
        const struct target *t = context->target, *wide = t->wide;
        return wide && target_lanes(t, E_F32) == 1 && target_has_fma(wide) && !context->exact &&
                               is_of_floats(f)
                       ? wide
                       : t;
}

int pass_vectorize(struct loop_program *p, struct pass_context *context)
{
        int count = 0;
        struct vectorizing v = { .arena = p->arena,
                                 .scratch = arena_new(),
                                 .exact = context->exact };
        for (struct loop_function *f = p->kernels; f; f = f->next) {
                bool changed = false;
                v.target = target_of(f, context);
                v.lanes = target_lanes(v.target, E_F32);
                if (f->kind == FUNCTION_STREAM || f->external || v.lanes == 1)
                        continue;
                v.kernel = f;
                v.open = p->extent_count && f->scalar_count;
                v.constants = v.open ? constants_of(p, v.scratch, f) : NULL;
                v.bounds = loop_bounds_new(v.scratch, f);
                v.averages = averages_find(v.scratch, f);
                struct loop_block *best = vectorize_best(&v, f->body, &changed);
                if (!changed)
                        continue;
                f->body = best;
                loop_function_rename(p->arena, f);
                count++;
        }
        arena_free(v.scratch);
        return count;
}
