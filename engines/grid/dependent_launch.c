/* SPDX-License-Identifier: MIT */
/* dependent_launch: kernels in grid form begin before the preceding launches have ended
 * (programmatic dependent launch; CUDA C Programming Guide), on targets whose devices have that.
 *
 *     for %b = 0 to 96 gpu_block {               for %b = 0 to 96 gpu_block {
 *       ..                                         ..
 *       for %w = 0 to 8 gpu_warp {                 for %w3 = 0 to 8 gpu_warp nowait {
 *         copy %xs[..] = %x[..] of 8                 prefetch %w2[..] 3 of 2048
 *       }                                          }
 *       ..                                  ->     prefetch %bias[0] 1 of 768
 *       for %w = 0 to 8 gpu_warp {                 launch_wait
 *         multiply %acc += .. * %w2[..]            launch_dependents
 *       ..                                         for %w = 0 to 8 gpu_warp {
 *       store %y[..] = .. + %bias[..]                copy %xs[..] = %x[..] of 8
 *
 * Before launch_wait stand copies of constants, prefetches of weights into registers, and
 * prefetches of small buffers to L2. So a launch hides its first instructions and the arrival of
 * its weights. A phase waits before its first statement that touches anything but constants, and
 * its threads all wait; a phase that ends has therefore been preceded by the end of all phases
 * before it, and nothing but constants is read or written too early. Every phase waits once, in its
 * first loop over blocks.
 *
 * A parameter that is read while other launches may write it gets an alias class of its own:
 * `restrict` would let a compiler load it through the read-only cache, before the wait. Exact:
 * prefetches and waits have no meaning for values. */
#include <string.h>

#include "engines/grid/launch_cost.h"
#include "ir/loop/loop_grid.h"
#include "ir/loop/loop_vector.h"
#include "passes/pass.h"

struct launching {
        struct loop_program *p;
        const struct target *target;
        struct arena *scratch;
        struct loop_function *f;
        int count;                      /* This many phases wait. */
};

/* ---- which parameters are constant ---- */

/* This is known of a parameter of a kernel over all calls of main: every argument is constant;
 * every argument is an input of the model. */
struct argument {
        const struct loop_function *f;
        const struct loop_buffer *parameter;
        bool constant, input;
};

static void look_at_call(struct loop_stmt *s, void *context)
{
        struct argument *a = context;
        if (s->kind != STMT_CALL || s->function != a->f)
                return;
        for (int i = 0; i < s->function->buffer_count; i++)
                if (s->function->buffers[i] == a->parameter) {
                        const enum loop_space space = loop_buffer_root(s->buffers[i], NULL)->space;
                        a->constant &= space == SPACE_CONSTANT;
                        a->input &= space == SPACE_INPUT;
                }
}

static struct argument argument_of(const struct launching *l, const struct loop_buffer *parameter)
{
        const bool reads = parameter->access == ACCESS_IN;
        struct argument a = { l->f, parameter, reads, reads };
        loop_walk_mains(l->p, look_at_call, NULL, &a);
        return a;
}

static bool is_constant(const struct launching *l, const struct loop_buffer *parameter)
{
        return argument_of(l, parameter).constant;
}

/* ---- where a phase waits ---- */

struct touching { const struct launching *l; bool found; };

static void look_at_buffer(struct touching *t, struct loop_buffer *b)
{
        b = b ? loop_buffer_root(b, NULL) : NULL;
        t->found |= b && b->space == SPACE_PARAMETER && !is_constant(t->l, b);
}

static void look_at_stmt(struct loop_stmt *s, void *context)
{
        struct touching *t = context;
        t->found |= s->kind == STMT_FAIL;
        if (s->kind == STMT_ALLOC)
                return;
        look_at_buffer(t, s->buffer);
        look_at_buffer(t, s->weights);
        look_at_buffer(t, s->source);
}

static void look_at_expr(struct loop_expr *e, void *context) { look_at_buffer(context, e->buffer); }

/* Does s read or write anything but constants, or fail? */
static bool touches(const struct launching *l, const struct loop_stmt *s)
{
        struct loop_stmt alone = *s;
        struct loop_block block = { .first = &alone, .end = &alone.next };
        struct touching t = { .l = l };
        alone.next = NULL;
        loop_block_walk(&block, look_at_stmt, look_at_expr, &t);
        return t.found;
}

/* ---- weights that are prefetched into registers ---- */

/* Every block reads the weights of this product of one row once; `warps` is the loop over warps
 * around it. */
struct row_product { struct loop_stmt *warps, *product; };

static bool find_row_product(const struct launching *l, struct loop_stmt *first,
                             struct row_product *r)
{
        for (r->warps = first; r->warps; r->warps = r->warps->next) {
                if (r->warps->kind != STMT_FOR || r->warps->for_kind != FOR_GPU_WARP)
                        continue;
                r->product = r->warps->body->first;
                while (r->product && r->product->kind == STMT_LET && !touches(l, r->product))
                        r->product = r->product->next;
                if (r->product && r->product->kind == STMT_MULTIPLY &&
                    r->product->tiles.rows == 1 && r->product->variable->warps &&
                    is_constant(l, loop_buffer_root(r->product->weights, NULL)))
                        return true;
        }
        return false;
}

/* A twin is a variable, and its copy for the loop before the wait. */
struct twin { const struct loop_variable *of; struct loop_variable *variable; struct twin *next; };

static struct loop_variable *twin_of(const struct twin *twins, const struct loop_variable *v)
{
        while (twins && twins->of != v)
                twins = twins->next;
        return twins ? twins->variable : NULL;
}

static struct twin *add_twin(const struct launching *l, struct names *names, struct twin *twins,
                             const struct loop_variable *v)
{
        struct twin *t = ARENA_NEW(l->scratch, struct twin);
        const char *name =
                arena_string(l->p->arena, text_identifier(names, v->name, strlen(v->name), "v"));
        *t = (struct twin){ v, loop_variable_new(l->p->arena, name, v->type, v->kind), twins };
        return t;
}

static void use_twins(struct loop_expr *e, void *context)
{
        struct loop_variable *v = e->op == LOOP_VARIABLE ? twin_of(context, e->variable) : NULL;
        if (v)
                e->variable = v;
}

static struct loop_expr *copy_for_twins(const struct launching *l, struct twin *twins,
                                        const struct loop_expr *e)
{
        struct loop_expr *copy = loop_expr_copy(l->p->arena, e);
        loop_expr_walk(copy, use_twins, twins);
        return copy;
}

/* Writes a loop over warps that prefetches what each warp's product reads of its weights, after
 * copies of the lets that say where they are. */
static void prefetch_weights(const struct launching *l, struct loop_block *block,
                             const struct row_product *r)
{
        struct names *names = loop_names_of(l->scratch, l->f);
        struct twin *twins = add_twin(l, names, NULL, r->warps->variable);
        struct loop_stmt *loop = loop_append(l->p->arena, block, STMT_FOR), *product = r->product;
        loop->variable = twins->variable;
        loop->for_kind = FOR_GPU_WARP;
        loop->barrier = BARRIER_NONE;
        loop->a = loop_expr_copy(l->p->arena, r->warps->a);
        loop->b = loop_expr_copy(l->p->arena, r->warps->b);
        for (const struct loop_stmt *s = r->warps->body->first; s != product; s = s->next) {
                struct loop_stmt *let = loop_append(l->p->arena, loop->body, STMT_LET);
                let->a = copy_for_twins(l, twins, s->a);
                twins = add_twin(l, names, twins, s->variable);
                let->variable = twins->variable;
        }
        struct loop_stmt *prefetch = loop_append(l->p->arena, loop->body, STMT_PREFETCH);
        prefetch->buffer = product->weights;
        prefetch->a = copy_for_twins(l, twins, product->b);
        prefetch->code = 3;
        prefetch->step = (int64_t)product->tiles.depth * product->tiles.group *
                         product->variable->type.lanes;
        product->tiles.prefetched = true;
}

/* ---- buffers that are prefetched to L2 ---- */

struct prefetching {
        const struct launching *l;
        struct loop_block *block;
        const struct loop_buffer **seen;
        int count;
};

/* Prefetches a buffer that is loaded or copied after the wait: a constant of at most as many bytes
 * as the cost model permits, or an input of the model. An input need not be there yet: what is
 * written later is seen in L2 all the same. Weights that are copied are left out: their copies
 * stand before the wait, or a prefetch gained nothing. */
static void prefetch_buffer(struct prefetching *p, struct loop_buffer *b, bool is_copied)
{
        b = b ? loop_buffer_root(b, NULL) : NULL;
        if (!b || b->space != SPACE_PARAMETER)
                return;
        const int64_t bytes = b->extent * element_info[b->element].bytes / COPY_BYTES * COPY_BYTES;
        const struct argument a = argument_of(p->l, b);
        bool done = !bytes ||
                    !((a.constant && grid_prefetches_constant(p->l->target, bytes, is_copied)) ||
                      (a.input && grid_prefetches_input(p->l->target, bytes, is_copied)));
        for (int i = 0; i < p->count; i++)
                done |= p->seen[i] == b;
        if (done)
                return;
        ARENA_GROW(p->l->scratch, p->seen, p->count);
        p->seen[p->count++] = b;
        struct loop_stmt *prefetch = loop_append(p->l->p->arena, p->block, STMT_PREFETCH);
        prefetch->buffer = b;
        prefetch->a = loop_index(p->l->p->arena, 0);
        prefetch->code = 1;
        prefetch->step = bytes / element_info[b->element].bytes;
}

static void prefetch_loaded(struct loop_expr *e, void *context)
{
        if (e->op == LOOP_LOAD)
                prefetch_buffer(context, e->buffer, false);
}

static void prefetch_copied(struct loop_stmt *s, void *context)
{
        prefetch_buffer(context, s->source, true);
}

/* ---- phases ---- */

static bool waits(const struct loop_block *block)
{
        bool found = false;
        for (const struct loop_stmt *s = block->first; s; s = s->next)
                found |= s->kind == STMT_LAUNCH_WAIT;
        return found;
}

static void wait_in_block(struct launching *l, struct loop_block *body)
{
        struct loop_block added = { .end = &added.first };
        struct loop_stmt **at = &body->first;
        while (*at && !touches(l, *at))
                at = &(*at)->next;
        struct loop_block behind = { .first = *at, .end = body->end };
        struct row_product row;
        if (find_row_product(l, behind.first, &row))
                prefetch_weights(l, &added, &row);
        struct prefetching p = { .l = l, .block = &added };
        loop_block_walk(&behind, prefetch_copied, prefetch_loaded, &p);
        loop_append(l->p->arena, &added, STMT_LAUNCH_WAIT);
        loop_append(l->p->arena, &added, STMT_LAUNCH_DEPENDENTS);
        *added.end = behind.first;
        *at = added.first;
        if (!behind.first)
                body->end = added.end;
        l->count++;
}

static void wait_in_phase(struct launching *l, struct loop_stmt *phase)
{
        struct loop_stmt *block = phase;
        if (!grid_lanes(phase->body))   /* The phase does nothing, and is not launched. */
                return;
        if (phase->for_kind == FOR_GPU_CLUSTER)
                for (block = phase->body->first;
                     block && (block->kind != STMT_FOR || block->for_kind != FOR_GPU_BLOCK);)
                        block = block->next;
        if (block && !waits(block->body))
                wait_in_block(l, block->body);
}

static void set_alias_classes(const struct launching *l)
{
        int classes = 0;
        for (int i = 0; i < l->f->buffer_count; i++)
                classes = l->f->buffers[i]->alias_class > classes ? l->f->buffers[i]->alias_class
                                                                  : classes;
        for (int i = 0; i < l->f->buffer_count; i++) {
                struct loop_buffer *b = l->f->buffers[i];
                if (!b->alias_class && b->access == ACCESS_IN && !is_constant(l, b))
                        b->alias_class = ++classes;
        }
}

int pass_dependent_launch(struct loop_program *p, struct pass_context *context)
{
        struct launching l = { .p = p, .target = context->target, .scratch = arena_new() };
        if (target_has_dependent_launch(context->target))
                for (l.f = p->kernels; l.f; l.f = l.f->next) {
                        if (!loop_is_grid(l.f))
                                continue;
                        for (struct loop_stmt *s = l.f->body->first; s; s = s->next)
                                if (s->kind == STMT_FOR && loop_for_is_phase(s->for_kind))
                                        wait_in_phase(&l, s);
                        set_alias_classes(&l);
                }
        arena_free(l.scratch);
        return l.count;
}
