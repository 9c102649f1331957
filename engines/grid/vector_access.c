/* SPDX-License-Identifier: MIT */
/* vector_access: elements that a lane of a kernel in grid form loads or stores side by side become
 * one access, of 16 bytes, or 8, 4 or 2.
 *
 *     let %a : f32 = %x[%i * 4] + ..                  let %word : f32x4 = %x<4>[%i * 4]
 *     ..                                              let %a : f32 = lane(%word, 0) + ..
 *     let %d : f32 = %x[%i * 4 + 3] + ..       ->     ..
 *     store %y[%i * 4] = %a                           let %d : f32 = lane(%word, 3) + ..
 *     ..                                              store %y[%i * 4] = %a vector 4
 *                                                     ..
 *
 * Loads are combined within a sequence of lets, so that nothing is stored between them, and never
 * out of an operand that may not be evaluated. Stores are combined where they follow each other and
 * store values computed before. Subscripts are compared as sums (ir/loop/loop_place.h). Bounds
 * prove that the first subscript is a multiple of the number of elements; main's calls prove that
 * the buffer begins at a multiple of COPY_BYTES bytes; ports of the model do, because the generated
 * code asks that of its caller. Exact. */
#include "engines/grid/private_memory.h"
#include "ir/loop/loop_bounds.h"
#include "ir/loop/loop_grid.h"
#include "ir/loop/loop_place.h"
#include "passes/pass.h"

/* LOADS_MAX is the most loads of a sequence of lets; expressions nested deeper than DEPTH_MAX are
 * not looked into. */
enum { LOADS_MAX = 256, DEPTH_MAX = 40 };

struct load { struct loop_expr *e; struct loop_stmt **before; struct loop_place at; bool taken; };
struct loads { struct load all[LOADS_MAX]; int count; };

struct accesses {
        struct loop_program *p;
        struct arena *scratch;
        struct loop_function *f;
        const struct loop_bounds *bounds;
        struct names *names;
        const struct loop_stmt *lanes;  /* This loop over lanes is looked at. */
        int count;                      /* It counts the vector loads and stores that were made. */
};

/* ---- alignment ---- */

struct calls { const struct loop_function *f; int parameter; int64_t bytes; bool aligned; };

static void look_at_call(struct loop_stmt *s, void *context)
{
        struct calls *c = context;
        int64_t offset = 0, more = 0;
        if (s->kind != STMT_CALL || s->function != c->f)
                return;
        loop_buffer_root(s->buffers[c->parameter], &offset);
        if (s->offsets && s->offsets[c->parameter] && !loop_is_int(s->offsets[c->parameter], &more))
                c->aligned = false;
        c->aligned &= (offset + more) * c->bytes % COPY_BYTES == 0;
}

/* Does b begin at a multiple of COPY_BYTES bytes, in all calls? */
static bool is_aligned(const struct accesses *a, const struct loop_buffer *b)
{
        if (loop_space_is_shared(b->space) || private_to_warp(a->lanes, b))
                return true;
        for (int i = 0; i < a->f->buffer_count; i++)
                if (a->f->buffers[i] == b) {
                        struct calls calls = { a->f, i, element_info[b->element].bytes, true };
                        loop_walk_mains(a->p, look_at_call, NULL, &calls);
                        return calls.aligned;
                }
        return false;
}

/* Returns how many elements of b from `index` on may be one access, of `there` that are side by
 * side; 1: each is accessed by itself. */
static int vector_of(const struct accesses *a, const struct loop_buffer *b,
                     const struct loop_expr *index, int there)
{
        int count = COPY_BYTES / element_info[b->element].bytes;
        while (count > there)
                count /= 2;
        if (count < 2 || !is_aligned(a, b))
                return 1;
        const int64_t multiple = loop_bounds_of(a->bounds, index).multiple;
        while (count > 1 && multiple % count)
                count /= 2;
        return count;
}

static bool has_load(const struct loop_expr *e)
{
        bool found = e->op == LOOP_LOAD;
        for (int i = 0; i < e->arity && !found; i++)
                found = e->args[i] && has_load(e->args[i]);
        return found;
}

/* ---- loads ---- */

/* Finds the loads that are always executed, in the order in which they stand. `before` is the place
 * in the block's list before the let. */
static void find_loads(struct loads *l, struct loop_expr *e, struct loop_stmt **before, int depth)
{
        const bool lazy = e->op == LOOP_SELECT || e->op == LOOP_AND || e->op == LOOP_OR;
        if (depth > DEPTH_MAX)
                return;
        if (e->op == LOOP_LOAD && e->type.lanes == 1 && e->type.element != E_BOOL &&
            e->type.element == e->buffer->element && !e->group && l->count < LOADS_MAX &&
            !has_load(e->args[0]))
                l->all[l->count++] = (struct load){ e, before, loop_place_of(e->args[0]), false };
        for (int i = 0; i < e->arity && e->op != LOOP_LOAD && !(lazy && i); i++)
                if (e->args[i])
                        find_loads(l, e->args[i], before, depth + 1);
}

/* Returns a load of the element `distance` after that of `first`, or NULL. */
static struct load *load_behind(struct loads *l, const struct load *first, int64_t distance)
{
        for (struct load *x = l->all; x < l->all + l->count; x++)
                if (x->e->buffer == first->e->buffer &&
                    loop_place_follows(&first->at, &x->at, distance))
                        return x;
        return NULL;
}

/* Makes a let of `count` elements, of which all loads of these elements become lanes. It stands
 * before the first load's let. */
static struct loop_stmt *load_vector(struct accesses *a, struct loads *l, const struct load *first,
                                     int count)
{
        struct arena *arena = a->p->arena;
        struct loop_buffer *b = first->e->buffer;
        struct loop_block one = { .end = &one.first };
        struct loop_stmt *let = loop_append(arena, &one, STMT_LET);
        const char *name = arena_string(arena, text_identifier(a->names, "word", 4, "word"));
        let->variable =
                loop_variable_new(arena, name, LOOP_VECTOR(b->element, count), VARIABLE_LET);
        let->a = loop_load_vector(arena, b, first->e->args[0], count, NULL);
        for (struct load *x = l->all; x < l->all + l->count; x++)
                for (int k = 0; k < count && !x->taken; k++)
                        if (x->e->buffer == b && loop_place_follows(&first->at, &x->at, k)) {
                                *x->e = *loop_node(arena, LOOP_LANE, x->e->type,
                                                   loop_use(arena, let->variable),
                                                   loop_index(arena, k), NULL);
                                x->taken = true;
                        }
        a->count++;
        return let;
}

/* Combines loads in the lets that begin at *run. Returns the place after them. */
static struct loop_stmt **load_vectors(struct accesses *a, struct loop_stmt **run)
{
        struct arena *scratch = arena_new();
        struct loads *l = ARENA_NEW(scratch, struct loads);
        struct loop_stmt **end = run;
        for (; *end && (*end)->kind == STMT_LET; end = &(*end)->next)
                find_loads(l, (*end)->a, end, 0);
        for (struct load *x = l->all; x < l->all + l->count; x++) {
                int there = x->taken ? 0 : 1;
                for (const struct load *next; there && there < COPY_BYTES &&
                                              (next = load_behind(l, x, there)) && next > x &&
                                              !next->taken;)
                        there++;
                const int count = there > 1 ? vector_of(a, x->e->buffer, x->e->args[0], there) : 1;
                if (count < 2)
                        continue;
                struct loop_stmt *let = load_vector(a, l, x, count), **at = x->before, *of = *at;
                let->next = of;
                *at = let;
                /* Loads of the same let, whose place in the list has moved. */
                for (struct load *y = l->all; y < l->all + l->count; y++)
                        if (y->before == at)
                                y->before = &let->next;
                end = end == at ? &let->next : end;
        }
        arena_free(scratch);
        return end;
}

/* ---- stores ---- */

static bool stores_behind(const struct loop_stmt *s, const struct loop_stmt *first,
                          int64_t distance)
{
        if (!s || s->kind != STMT_STORE || s->c || s->b->type.lanes != 1 ||
            s->buffer != first->buffer || has_load(s->b))
                return false;
        const struct loop_place at = loop_place_of(s->a), from = loop_place_of(first->a);
        return loop_place_follows(&from, &at, distance);
}

/* Combines the stores of one access that begins with s. Returns the last of them, which is s where
 * it stays alone. */
static struct loop_stmt *store_vector(struct accesses *a, struct loop_stmt *s)
{
        int there = 0;
        for (const struct loop_stmt *t = s;
             !s->vector && there < COPY_BYTES && stores_behind(t, s, there); t = t->next)
                there++;
        const int count = s->buffer->element != E_BOOL && there > 1
                                  ? vector_of(a, s->buffer, s->a, there)
                                  : 1;
        if (count > 1) {
                s->vector = count;
                a->count++;
        }
        for (int i = s->vector; i > 1; i--)
                s = s->next;
        return s;
}

/* ---- the pass ---- */

static void look_at_block(struct accesses *a, struct loop_block *block)
{
        struct loop_stmt **at = &block->first;
        while (*at) {
                struct loop_stmt *s = *at;
                const struct loop_stmt *const outer = a->lanes;
                if (a->lanes && s->kind == STMT_LET) {
                        at = load_vectors(a, at);
                        continue;
                }
                if (a->lanes && s->kind == STMT_STORE)
                        s = store_vector(a, s);
                a->lanes = s->kind == STMT_FOR && s->for_kind == FOR_GPU_LANE ? s : outer;
                if (s->body)
                        look_at_block(a, s->body);
                if (s->other)
                        look_at_block(a, s->other);
                a->lanes = outer;
                at = &s->next;
        }
        block->end = at;
}

int pass_vector_access(struct loop_program *p, struct pass_context *context)
{
        struct accesses a = { .p = p, .scratch = arena_new() };
        (void)context;
        for (a.f = p->kernels; a.f; a.f = a.f->next) {
                if (!loop_is_grid(a.f))
                        continue;
                a.bounds = loop_bounds_new(a.scratch, a.f);
                a.names = loop_names_of(a.scratch, a.f);
                look_at_block(&a, a.f->body);
        }
        arena_free(a.scratch);
        return a.count;
}
