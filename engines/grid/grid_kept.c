/* SPDX-License-Identifier: MIT */
/* grid, kept: several loops over the iterations of a row load the same elements in the same lanes
 * again, and weights are loaded only when the sums are known; each of these loads has to be waited
 * for. So a lane loads all that it will need at the beginning, all loads under way at the same
 * time, and keeps it.
 *
 *     for %k = 0 to 768 {                        for %k = 0 to 768 {
 *       set %sum = %sum + %x[%i * 768 + %k]        store %kept[..] = %x[%i * 768 + %k]
 *     }                                          }
 *     ..                                         for %k2 = 0 to 768 {
 *     for %j = 0 to 768 {                          store %kept2[..] = %b[%k2]
 *       store %y[%i * 768 + %j] =          ->    }
 *           %x[%i * 768 + %j] * %v * %b[%j]      for %k = 0 to 768 {
 *     }                                            set %sum = %sum + %kept[..]
 *                                                }
 *                                                ..
 *                                                for %j = 0 to 768 {
 *                                                  store %y[%i * 768 + %j] =
 *                                                      %kept[..] * %v * %kept2[..]
 *                                                }
 *
 * The index `..`, which of the lane's elements it is, is set by the writer of iterations
 * (grid_rows.c). The pass looks at the loops up to the first one that stores, and in them at loads
 * that are always executed. All are loads of parameters, so no statement in between changes an
 * element. An element that only the first loop loads is not kept. Exact: no value changes. */
#include "engines/grid/grid_kept.h"

#include "engines/grid/grid_iterations.h"

enum { LOADS_MAX = 8 };

struct load { struct loop_buffer *from, *memory; struct loop_expr *at; bool again; };

struct keeping {
        const struct grid_row *row;
        struct arena *arena;
        struct loop_variable *k;                /* It stands for the variables of all loops. */
        struct loop_variable *own;
        const struct loop_stmt *first, *loop;   /* `first` is the first loop, `loop` the one that is
                                                 * being examined. */
        int64_t side;                           /* A lane has this many neighbours of the first
                                                 * loop. */
        struct load loads[LOADS_MAX];
        int count;
};

struct declaring { const struct loop_variable *variable; bool found; };

static void find_declared(struct loop_stmt *s, void *context)
{
        struct declaring *d = context;
        d->found |= s->variable == d->variable &&
                    (s->kind == STMT_LET || s->kind == STMT_VAR || s->kind == STMT_FOR);
}

static bool is_declared(const struct grid_row *row, const struct loop_variable *v)
{
        struct declaring d = { .variable = v };
        loop_block_walk((struct loop_block *)(uintptr_t)row->body, find_declared, NULL, &d);
        return d.found;
}

/* Returns the index in terms of the variable that all loops share; NULL where it is not known at
 * the beginning. *varies: the index depends on the iteration. */
static struct loop_expr *place_of(const struct keeping *k, const struct loop_expr *at, bool *varies)
{
        if (at->op == LOOP_VARIABLE) {
                *varies |= at->variable == k->loop->variable;
                return at->variable == k->loop->variable ? loop_use(k->arena, k->k)
                       : is_declared(k->row, at->variable) ? NULL : loop_expr_copy(k->arena, at);
        }
        if (at->op == LOOP_LOAD)
                return NULL;
        struct loop_expr *copy = arena_copy(k->arena, at, sizeof *at);
        for (int i = 0; i < at->arity; i++)
                if (at->args[i] && !(copy->args[i] = place_of(k, at->args[i], varies)))
                        return NULL;
        return copy;
}

/* Returns e's entry among the loads, or a new one after the last; NULL where e cannot be kept. */
static struct load *find(struct keeping *k, const struct loop_expr *e)
{
        bool varies = false;
        struct loop_expr *at = NULL;
        struct load *load = k->loads;
        if (e->op == LOOP_LOAD && e->buffer->space == SPACE_PARAMETER && e->type.lanes == 1 &&
            !e->group && !e->args[1])
                at = place_of(k, e->args[0], &varies);
        if (!at || !varies)
                return NULL;
        while (load < k->loads + k->count &&
               (load->from != e->buffer || !loop_expr_same(load->at, at)))
                load++;
        if (load == k->loads + LOADS_MAX)
                return NULL;
        if (load == k->loads + k->count)
                *load = (struct load){ .from = e->buffer, .at = at };
        return load;
}

static void collect(struct keeping *k, struct loop_expr *e)
{
        const bool lazy = e->op == LOOP_SELECT || e->op == LOOP_AND || e->op == LOOP_OR;
        struct load *load = find(k, e);
        if (load) {
                k->count += load == k->loads + k->count;
                load->again |= k->loop != k->first;
        }
        for (int i = 0; i < e->arity && !(lazy && i); i++)
                if (e->args[i])
                        collect(k, e->args[i]);
}

static void replace(struct loop_expr *e, void *context)
{
        struct keeping *k = context;
        const struct load *load = find(k, e);
        if (load && load < k->loads + k->count && load->memory) {
                e->buffer = load->memory;
                e->args[0] = loop_use(k->arena, k->own);
        }
}

static bool is_alike(const struct keeping *k, const struct loop_stmt *s)
{
        return s->kind == STMT_FOR && grid_row_trip(s) == grid_row_trip(k->first) &&
               loop_expr_same(s->a, k->first->a) && grid_row_side(k->row, s) == k->side;
}

/* Does the loop's body consist of statements that are always executed, without loops or
 * conditions? */
static bool is_plain(const struct loop_stmt *s)
{
        const struct loop_stmt *last = s->body->first;
        while (last && last->kind != STMT_FOR && last->kind != STMT_IF)
                last = last->next;
        return !last;
}

static void find_store(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->kind == STMT_STORE;
}

/* Visits the loops that may read what is kept. */
static void each_loop(struct keeping *k, void (*visit)(struct keeping *k))
{
        bool stored = false;
        for (struct loop_stmt *s = k->row->body->first; s && !stored; s = s->next) {
                struct loop_stmt copy = *s;
                struct loop_block alone = { .first = &copy, .end = &copy.next };
                copy.next = NULL;
                loop_block_walk(&alone, find_store, NULL, &stored);
                if (s->kind != STMT_FOR || !is_plain(s) ||
                    (stored && !grid_iterations_can(s->body)))
                        continue;
                if (!k->first) {
                        k->first = s;
                        k->side = grid_row_side(k->row, s);
                }
                if (is_alike(k, s)) {
                        k->loop = s;
                        visit(k);
                }
        }
}

static void collect_loop(struct keeping *k)
{
        for (const struct loop_stmt *s = k->loop->body->first; s; s = s->next) {
                struct loop_expr *const exprs[] = { s->a, s->b, s->c };
                for (int i = 0; i < 3; i++)
                        if (exprs[i])
                                collect(k, exprs[i]);
        }
}

static void replace_loop(struct keeping *k) { loop_block_walk(k->loop->body, NULL, replace, k); }

static void keep(struct keeping *k, struct load *load, struct grid_kept *kept)
{
        struct arena *arena = k->arena;
        load->memory = ARENA_NEW(arena, struct loop_buffer);
        *load->memory = (struct loop_buffer){ .name = "kept",
                                              .element = load->from->element,
                                              .extent = kept->elements * GRID_LANES,
                                              .space = SPACE_LANES,
                                              .offset = -1,
                                              .access = ACCESS_INOUT };
        loop_append(arena, kept->memory, STMT_ALLOC)->buffer = load->memory;
        struct loop_stmt *loop = loop_append(arena, kept->loops, STMT_FOR);
        loop->variable = loop_variable_new(arena, "k", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        loop->a = loop_expr_copy(arena, k->first->a);
        loop->b = loop_expr_copy(arena, k->first->b);
        struct loop_stmt *store = loop_append(arena, loop->body, STMT_STORE);
        struct keeping back = { .row = k->row,
                                .arena = arena,
                                .k = loop->variable,
                                .loop = &(struct loop_stmt){ .variable = k->k } };
        store->buffer = load->memory;
        store->a = loop_use(arena, kept->own);
        store->b = loop_load(arena, load->from, place_of(&back, load->at, &(bool){ false }));
}

struct grid_kept grid_kept_write(const struct grid_row *row)
{
        struct arena *arena = row->arena;
        struct keeping k = { .row = row,
                             .arena = arena,
                             .k = loop_variable_new(arena, "k", LOOP_TYPE(E_INDEX), VARIABLE_LOOP),
                             .own = loop_variable_new(arena, "own", LOOP_TYPE(E_INDEX),
                                                      VARIABLE_LET) };
        struct grid_kept kept = { .own = k.own,
                                  .memory = loop_block_new(arena),
                                  .loops = loop_block_new(arena) };
        each_loop(&k, collect_loop);
        const int64_t elements = k.first ? grid_row_trip(k.first) / GRID_LANES : 0;
        if (elements < 2 || grid_row_trip(k.first) % GRID_LANES)
                return kept;
        kept.elements = elements;
        int64_t all = 0;
        for (struct load *load = k.loads; load < k.loads + k.count; load++)
                if (load->again && elements <= GRID_ITERATIONS_MAX &&
                    all + elements <= GRID_KEPT_MOST) {
                        keep(&k, load, &kept);
                        all += elements;
                }
        kept.side = all ? k.side : 0;
        k.first = NULL;
        if (all)
                each_loop(&k, replace_loop);
        return kept;
}

struct using { const struct loop_variable *variable; bool found; };

static void find_use(struct loop_expr *e, void *context)
{
        struct using *u = context;
        u->found |= e->variable == u->variable;
}

bool grid_kept_has(const struct grid_kept *kept, const struct loop_stmt *loop)
{
        struct using u = { .variable = kept->own };
        loop_block_walk(loop->body, NULL, find_use, &u);
        return u.found;
}
