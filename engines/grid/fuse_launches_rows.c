/* SPDX-License-Identifier: MIT */
/* fuse_launches, rows: where clusters of blocks have whole rows of a product
 * (engines/grid/warps_row_clusters.c), a kernel that has a warp for each of these rows
 * (grid_rows.c; norms, for instance) continues where the product's warps store them.
 *
 *     kernel @product(.., %y) {                      kernel @both(.., %b, %z) {
 *       for %tile = 0 to 8 gpu_cluster {               for %tile = 0 to 8 gpu_cluster {
 *         ...                                            ...
 *         for %member = 0 to 8 gpu_block {               for %member = 0 to 8 gpu_block {
 *           for %warp = 0 to 3 gpu_warp {                  for %warp = 0 to 3 gpu_warp {
 *             ...                                            ...
 *             let %line : index = ..                         let %line : index = ..
 *             ... taken[%k] = ..                             ... taken[%k] = ..
 *             for %lane = 0 to 32 gpu_lane {                 let %i : index = %line
 *               ... store %y[%line * 768 + %k]       ->      ... %sum + %taken[%k]
 *                                = %taken[%k]                store %z[%i * 768 + %k] = ..
 *     kernel @norm(%y, %b, %z) {
 *       for %block = 0 to 128 gpu_block {
 *         for %warp = 0 to 1 gpu_warp {
 *           let %i : index = %block
 *           ... %sum + %y[%i * 768 + %k]
 *           store %z[%i * 768 + %k] = ..
 *
 * A warp of the later kernel may read only its own row of the product. Rows that other kernels
 * read, too, are still stored. */
#include "engines/grid/fuse_launches.h"

#include <string.h>

#include "engines/grid/launch_cost.h"
#include "ir/loop/loop_bounds.h"
#include "ir/loop/loop_vector.h"
#include "ir/lower/lower_emit.h"

/* ---- places of rows ---- */

/* Splits a sum into row * length + within, where is_row recognizes the row. Returns false where the
 * sum has another form. */
struct place {
        struct arena *arena;
        int64_t length;
        const struct loop_expr *row;
        struct loop_expr *within;
        bool several;
};

static void split(struct place *p, struct loop_expr *e)
{
        int64_t factor;
        if (e->op == LOOP_ADD) {
                split(p, e->args[0]);
                split(p, e->args[1]);
        } else if (e->op == LOOP_MUL && e->args[0]->op == LOOP_VARIABLE &&
                   loop_is_int(e->args[1], &factor) && factor == p->length) {
                p->several |= p->row != NULL;
                p->row = e->args[0];
        } else {
                p->within = p->within ? loop_op(p->arena, LOOP_ADD, p->within, e, NULL) : e;
        }
}

static bool split_place(struct arena *arena, struct loop_expr *at, int64_t length, struct place *p)
{
        *p = (struct place){ .arena = arena, .length = length };
        split(p, at);
        if (!p->within)
                p->within = loop_index(arena, 0);
        return p->row && !p->several;
}

/* ---- rows that clusters store ---- */

struct row_store {
        struct loop_block *block;       /* The loop over lanes which stores a row is the last
                                         * statement of this block. */
        struct loop_stmt **at;          /* That loop stands here. */
        struct loop_buffer *taken;      /* The warp holds the row in this memory. */
        const struct loop_expr *line;   /* The row has this number. */
        int64_t length;
};

struct touching { const struct loop_buffer *buffer; int stores, others; };

static void touch_stmt(struct loop_stmt *s, void *context)
{
        struct touching *t = context;
        const bool store = s->kind == STMT_STORE && s->buffer == t->buffer && !s->c;
        t->stores += store;
        t->others += !store &&
                     (s->buffer == t->buffer || s->weights == t->buffer || s->source == t->buffer);
}

static void touch_expr(struct loop_expr *e, void *context)
{
        struct touching *t = context;
        t->others += e->buffer == t->buffer;
}

static struct touching touches(struct loop_block *block, const struct loop_buffer *b)
{
        struct touching t = { .buffer = b };
        loop_block_walk(block, touch_stmt, touch_expr, &t);
        return t;
}

/* Returns the store that the loop over lanes ends with. */
static const struct loop_stmt *store_of(const struct loop_stmt *lanes)
{
        const struct loop_stmt *s = lanes;
        while (s && s->body)
                for (s = s->body->first; s && s->next;)
                        s = s->next;
        return s && s->kind == STMT_STORE ? s : NULL;
}

static bool find_store(struct arena *arena, struct loop_block *block, const struct loop_buffer *y,
                       struct row_store *r)
{
        for (struct loop_stmt **at = &block->first; *at; at = &(*at)->next) {
                struct loop_stmt *s = *at;
                if (!s->body || !touches(s->body, y).stores)
                        continue;
                if (s->kind != STMT_FOR || s->for_kind != FOR_GPU_LANE)
                        return !s->other && find_store(arena, s->body, y, r);
                const struct loop_stmt *store = store_of(s);
                const struct loop_expr *value = store ? store->b : NULL;
                struct place p;
                if (!value || store->buffer != y || value->op != LOOP_LOAD ||
                    value->type.lanes != 1 || value->buffer->space != SPACE_STACK || s->next)
                        return false;
                r->block = block;
                r->at = at;
                r->taken = value->buffer;
                int64_t length = 0;
                const struct loop_expr *first =
                        store->a->op == LOOP_ADD ? store->a->args[0] : store->a;
                if (first->op != LOOP_MUL || !loop_is_int(first->args[1], &length) ||
                    !split_place(arena, store->a, length, &p) ||
                    !loop_expr_same(p.within, value->args[0]))
                        return false;
                r->line = p.row;
                r->length = length;
                return true;
        }
        return false;
}

/* Finds the rows of y that the last blocks of f's clusters store, and that no other statement
 * touches. */
static bool find_rows(struct arena *arena, const struct loop_function *f,
                      const struct loop_buffer *y, struct row_store *r)
{
        struct loop_stmt *cluster = loop_is_grid(f) ? f->body->first : NULL, *blocks;
        if (!cluster || cluster->next || cluster->for_kind != FOR_GPU_CLUSTER || f->can_fail ||
            f->scalar_count)
                return false;
        for (blocks = cluster->body->first; blocks->next;)
                blocks = blocks->next;
        const struct touching all = touches(f->body, y);
        return all.stores == 1 && !all.others && blocks->body &&
               find_store(arena, blocks->body, y, r);
}

/* ---- the kernel that continues with them ---- */

struct follower {
        struct arena *arena;
        struct loop_stmt *warps;
        struct loop_stmt *at;           /* This let says which row a warp has. */
        const struct loop_buffer *x;
        int64_t length;
        struct loop_bounds *bounds;
        struct loop_buffer *taken;      /* This buffer is read instead of x; NULL: the kernel is
                                         * only examined. */
        bool other;                     /* The kernel reads something else of x than its row. */
};

static bool is_variable(const struct loop_expr *e, const struct loop_variable *v)
{
        return e->op == LOOP_VARIABLE && e->variable == v;
}

/* Is the expression block * warps + warp? */
static bool is_number(const struct loop_expr *e, const struct loop_stmt *block,
                      const struct loop_stmt *warps)
{
        const int64_t count = warps->b->literal.i;
        int64_t factor;
        if (count == 1)
                return is_variable(e, block->variable);
        return e->op == LOOP_ADD && e->args[0]->op == LOOP_MUL &&
               is_variable(e->args[0]->args[0], block->variable) &&
               loop_is_int(e->args[0]->args[1], &factor) && factor == count &&
               is_variable(e->args[1], warps->variable);
}

struct using { const struct loop_variable *variable; int count; };

static void count_use(struct loop_expr *e, void *context)
{
        struct using *u = context;
        u->count += is_variable(e, u->variable);
}

static int uses_of(struct loop_block *block, const struct loop_variable *v)
{
        struct using u = { .variable = v };
        loop_block_walk(block, NULL, count_use, &u);
        return u.count;
}

static bool find_follower(struct arena *arena, const struct loop_function *f,
                          const struct loop_buffer *x, int64_t length, struct follower *w)
{
        const struct loop_stmt *block = launches_phase(f);
        struct loop_stmt *warps = block ? block->body->first : NULL, *s;
        if (!launches_is_warps(warps) || warps->next)
                return false;
        for (s = warps->body->first; s && !(s->kind == STMT_LET && is_number(s->a, block, warps));)
                s = s->next;
        if (!s || uses_of(block->body, block->variable) != 1 ||
            uses_of(block->body, warps->variable) != (warps->b->literal.i > 1))
                return false;
        *w = (struct follower){ .arena = arena,
                                .warps = warps,
                                .at = s,
                                .x = x,
                                .length = length,
                                .bounds = loop_bounds_new(arena, f) };
        return true;
}

struct naming { const struct follower *w; const struct loop_variable *variable; bool found; };

static void find_name(struct loop_stmt *s, void *context)
{
        struct naming *n = context;
        n->found |= s->kind == STMT_LET && s->variable == n->variable &&
                    is_variable(s->a, n->w->at->variable);
}

/* Is the variable the row's number, or another name of it? */
static bool is_row(const struct follower *w, const struct loop_variable *v)
{
        struct naming n = { .w = w, .variable = v };
        loop_block_walk(w->warps->body, find_name, NULL, &n);
        return n.found || v == w->at->variable;
}

static void read_row(struct loop_expr *e, void *context)
{
        struct follower *w = context;
        struct place p;
        if (e->buffer != w->x)
                return;
        if (e->op != LOOP_LOAD || e->type.lanes != 1 || e->group ||
            !split_place(w->arena, e->args[0], w->length, &p) || !is_row(w, p.row->variable)) {
                w->other = true;
                return;
        }
        const struct loop_range within = loop_bounds_of(w->bounds, p.within);
        w->other |= within.low < 0 || within.high >= w->length;
        if (w->taken) {
                e->args[0] = p.within;
                e->buffer = w->taken;
        }
}

static void read_rows(struct follower *w, struct loop_block *block);

/* Handles a condition that bounds the column. */
static void read_there(struct follower *w, const struct loop_stmt *s)
{
        int64_t end;
        if (s->a->op != LOOP_LT || s->a->args[0]->op != LOOP_VARIABLE ||
            !loop_is_int(s->a->args[1], &end)) {
                read_rows(w, s->body);
                return;
        }
        const struct loop_range before = loop_bounds_of(w->bounds, s->a->args[0]);
        struct loop_range there = before;
        there.high = there.high < end ? there.high : end - 1;
        loop_bounds_set(w->bounds, s->a->args[0]->variable, there);
        read_rows(w, s->body);
        loop_bounds_set(w->bounds, s->a->args[0]->variable, before);
}

static void read_rows(struct follower *w, struct loop_block *block)
{
        for (struct loop_stmt *s = block ? block->first : NULL; s; s = s->next) {
                struct loop_expr *const exprs[] = { s->a, s->b, s->c };
                for (int i = 0; i < 3; i++)
                        if (exprs[i])
                                loop_expr_walk(exprs[i], read_row, w);
                w->other |= s->buffer == w->x || s->weights == w->x || s->source == w->x;
                if (s->kind == STMT_IF)
                        read_there(w, s);
                else
                        read_rows(w, s->body);
                read_rows(w, s->other);
        }
}

/* ---- the joined kernel ---- */

static bool fits(const struct launches *a, const struct loop_function *f)
{
        const struct grid_cost cost = grid_cost_of(a->target, f, f->body->first, a->cold);
        return cost.shared <= target_gpu(a->target)->shared_bytes && cost.resident > 0;
}

/* Describes both kernels, before the product's schedule. */
static void describe(struct arena *arena, const struct loop_function *maker,
                     const struct loop_function *reader, struct loop_function *f)
{
        const char *schedule = maker->summary ? strstr(maker->summary, "; ") : NULL;
        launches_describe(arena, maker, reader, f);
        f->name = maker->name;
        if (schedule && reader->summary)
                f->summary = arena_printf(arena, "%.*s, %s%s", (int)(schedule - maker->summary),
                                          maker->summary, reader->summary, schedule);
}

static struct loop_function *join(struct launches *a, const struct loop_function *maker,
                                  const struct loop_buffer *y, const struct loop_function *reader,
                                  const struct loop_buffer *x, bool stored)
{
        struct arena *arena = a->p->arena;
        struct loop_function *m = kernel_copy(arena, maker), *f = kernel_copy(arena, reader);
        struct loop_buffer *made = m->buffers[launches_argument(maker, y)],
                           *read = f->buffers[launches_argument(reader, x)];
        struct row_store rows;
        struct follower w;
        if (!find_rows(arena, m, made, &rows) || !find_follower(arena, f, read, rows.length, &w))
                return NULL;
        w.taken = rows.taken;
        read_rows(&w, w.warps->body);
        w.at->a = (struct loop_expr *)(uintptr_t)rows.line;
        struct loop_stmt **to = stored ? &(*rows.at)->next : rows.at;
        *to = w.warps->body->first;
        rows.block->end = w.warps->body->end;
        f->body = m->body;
        for (int i = 0; i < f->buffer_count; i++)
                f->buffers[i]->alias_class = 0;
        launches_parameters(arena, m, stored ? NULL : made, f, read);
        loop_function_rename(arena, f);
        describe(arena, maker, reader, f);
        f->flops = maker->flops + reader->flops;
        f->again = maker->again + reader->again;
        return fits(a, f) ? f : NULL;
}

static struct loop_function *join_stored(struct launches *a, const struct loop_function *maker,
                                         const struct loop_buffer *y,
                                         const struct loop_function *reader,
                                         const struct loop_buffer *x)
{
        return join(a, maker, y, reader, x, true);
}

static struct loop_function *join_alone(struct launches *a, const struct loop_function *maker,
                                        const struct loop_buffer *y,
                                        const struct loop_function *reader,
                                        const struct loop_buffer *x)
{
        return join(a, maker, y, reader, x, false);
}

/* Does the reader read argument number `at` by rows, and no other argument that is the same
 * buffer? */
static bool reads_rows(struct arena *arena, const struct loop_stmt *reader, int at,
                       const struct loop_buffer *y, int64_t length)
{
        const struct loop_buffer *x = reader->function->buffers[at];
        struct follower w;
        for (int i = 0; i < reader->function->buffer_count; i++)
                if (i != at && loop_buffer_root(reader->buffers[i], NULL) ==
                                       loop_buffer_root(reader->buffers[at], NULL))
                        return false;
        if (x->access != ACCESS_IN || x->element != y->element || x->extent != y->extent ||
            !find_follower(arena, reader->function, x, length, &w))
                return false;
        read_rows(&w, w.warps->body);
        return !w.other;
}

bool launches_rows(struct launches *a, const struct loop_stmt *maker)
{
        const struct loop_function *f = maker->function;
        struct loop_buffer *y = NULL;
        struct row_store rows;
        int read_at;
        for (int i = 0; i < f->buffer_count; i++) {
                if (f->buffers[i]->access != ACCESS_IN && y)
                        return false;
                y = f->buffers[i]->access == ACCESS_OUT ? f->buffers[i] : y;
        }
        if (f->kind != FUNCTION_KERNEL || !y || launches_has_offsets(maker) ||
            !find_rows(a->p->arena, f, y, &rows))
                return false;
        const int made_at = launches_argument(f, y);
        struct loop_buffer *made = maker->buffers[made_at];
        struct loop_stmt *reader = made->space == SPACE_VIEW || launches_has_views(a->p, made)
                                           ? NULL
                                           : launches_reader(maker, made, &read_at);
        if (!reader || launches_has_offsets(reader) ||
            !reads_rows(a->p->arena, reader, read_at, y, rows.length))
                return false;
        const bool stored = made->space != SPACE_WORKSPACE || launches_uses(a->p, made) > 2;
        struct loop_function *both =
                launches_joined(a, f, y, reader->function, reader->function->buffers[read_at],
                                stored ? join_stored : join_alone);
        if (!both)
                return false;
        launches_call(a, maker, stored ? -1 : made_at, reader, read_at, both);
        if (!stored)
                launches_drop(a->p, made);
        return true;
}
