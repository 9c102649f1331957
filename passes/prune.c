/* SPDX-License-Identifier: MIT */
/* prune: statements, functions and buffers that nothing needs are removed, so that a printer prints
 * all there is.
 *
 *    buffer @t_120 : f32[32] view @t + 0                  (a view that main does not mention)
 *    kernel @decode(%x: in u8[64], %y: out f32[64]) {     kernel @decode(%x: .., %y: ..) {
 *      for %i = 0 to 64 {                                   for %i = 0 to 64 {
 *        let %far : index = %i * 4                   ->       if true {
 *        if i32(%x[%i]) >= 0 {                                  store %y[%i] = f32(%x[%i])
 *          store %y[%i] = f32(%x[%i])                         }
 *        }                                                  }
 *      }                                                  }
 *    }
 *
 * Statements: a statement that has an effect stays, and so do those that give a value to a variable
 * or to memory of the kernel's own which one of these reads, directly or through others. So an
 * unused let goes, a sum that is only added to, a loop around nothing.
 *
 * What types decide: a comparison of integers that is true or false for all values of their types
 * (u8 >= 0, also behind conversions that keep the value) becomes that literal, a select becomes its
 * side, and an if becomes `if true` around the side that is taken. Compilers would warn of them.
 *
 * The program: kernels that main does not call, tasks that no kernel launches, and constants,
 * workspace buffers and views that main does not mention, go; a view of a view becomes one of the
 * buffer that both lie in. A task loses parameters that it does not use; a kernel loses those that
 * are constants in all calls. The plan stays, too.
 *
 * Exact to the bit. */
#include <string.h>

#include "ir/loop/loop_grid.h"
#include "passes/pass.h"

struct item { struct loop_stmt *s; int parent; bool needed; };

struct pruning {
        struct arena *arena;            /* The arena is the pass's. */
        struct item *items;             /* The items are the function's statements, each before
                                         * those inside it. */
        int item_count;
        struct map *entries;            /* The map has the entries of register tiles that are
                                         * read. */
        int count;
};

/* ---- what types decide ---- */

struct range { bool known, is_signed; union scalar least, largest; };

static struct range range_of_type(enum element e)
{
        struct range r = { false, element_info[e].class == CLASS_SINT, { 0 }, { 0 } };
        int bits = e == E_BOOL ? 1 : 8 * element_info[e].bytes;
        if (bits == 0 || (!element_is_integer(e) && e != E_BOOL))
                return r;
        r.known = true;
        if (r.is_signed) {
                r.least.i = -1 - (INT64_MAX >> (64 - bits));
                r.largest.i = INT64_MAX >> (64 - bits);
        } else {
                r.largest.u = UINT64_MAX >> (64 - bits);
        }
        return r;
}

/* Returns the range of a literal, of a widened narrow integer, or of the type. */
static struct range range_of(const struct loop_expr *e)
{
        struct range r = range_of_type(e->type.element);
        if (e->op == LOOP_LITERAL && r.known) {
                r.least = r.largest = e->literal;
        } else if (e->op == LOOP_CAST && r.known) {
                struct range a = range_of_type(e->args[0]->type.element);
                if (a.known && !a.is_signed && a.largest.u <= r.largest.u)
                        r.largest = a.largest, r.least.u = 0;
                else if (a.known && a.is_signed && r.is_signed && a.largest.i <= r.largest.i)
                        r.largest = a.largest, r.least = a.least;
        }
        return r;
}

static bool always_less(struct range a, struct range b, bool or_equal)
{
        if (a.is_signed)
                return or_equal ? a.largest.i <= b.least.i : a.largest.i < b.least.i;
        return or_equal ? a.largest.u <= b.least.u : a.largest.u < b.least.u;
}

static bool is_comparison(const struct loop_expr *e)
{
        return e->op >= LOOP_LT && e->op <= LOOP_NE;
}

/* Is e a truth value that is the same whatever its operands are? *value: that value. */
static bool is_decided(const struct loop_expr *e, bool *value)
{
        if (e->op == LOOP_LITERAL && e->type.element == E_BOOL) {
                *value = e->literal.u != 0;
                return true;
        }
        if (!is_comparison(e))
                return false;
        struct range a = range_of(e->args[0]), b = range_of(e->args[1]);
        if (!a.known || !b.known)
                return false;
        bool same = loop_expr_same(e->args[0], e->args[1]);
        bool below = always_less(a, b, false), above = always_less(b, a, false);
        bool not_above = same || always_less(a, b, true),
             not_below = same || always_less(b, a, true);
        bool equal = not_above && not_below, apart = below || above;
        switch (e->op) {
        case LOOP_LT: *value = below; return below || not_below;
        case LOOP_LE: *value = not_above; return not_above || above;
        case LOOP_GT: *value = above; return above || not_above;
        case LOOP_GE: *value = not_below; return not_below || below;
        case LOOP_EQ: *value = equal; return equal || apart;
        default: *value = apart; return equal || apart;
        }
}

static void decide(struct loop_program *p, struct loop_expr **e, int *count)
{
        bool value;
        if (!*e)
                return;
        for (; (*e)->op == LOOP_SELECT && is_decided((*e)->args[0], &value); ++*count)
                *e = (*e)->args[value ? 1 : 2];
        if (is_comparison(*e) && (*e)->type.lanes == 1 && is_decided(*e, &value)) {
                *e = loop_int(p->arena, E_BOOL, value);
                ++*count;
        }
        for (int i = 0; i < (*e)->arity; i++)
                decide(p, &(*e)->args[i], count);
}

/* Decides an if whose condition is known: the side that is taken stays in a block of its own. */
static void decide_if(struct loop_program *p, struct loop_stmt *s, int *count)
{
        bool value;
        if (!is_decided(s->a, &value) || (value && !s->other))
                return;
        if (!value) {
                s->body = s->other ? s->other : loop_block_new(p->arena);
                s->a = loop_int(p->arena, E_BOOL, true);
        }
        s->other = NULL;
        ++*count;
}

struct deciding { struct loop_program *p; int *count; };

static void decide_stmt(struct loop_stmt *s, void *context)
{
        const struct deciding *d = context;
        decide(d->p, &s->a, d->count);
        decide(d->p, &s->b, d->count);
        decide(d->p, &s->c, d->count);
        for (int i = 0; i < loop_scalar_count(s); i++)
                decide(d->p, &s->scalars[i], d->count);
        for (int i = 0; s->offsets && i < s->function->buffer_count; i++)
                decide(d->p, &s->offsets[i], d->count);
        if (s->kind == STMT_IF)
                decide_if(d->p, s, d->count);
}

/* ---- what is needed ----
 *
 * variable->number, and buffer->number of memory that the function allocates, say that a needed
 * statement reads it. */

struct entry { const struct loop_variable *tile; int64_t row, column; };

static bool is_own(const struct loop_buffer *b)
{
        return loop_space_is_kernels(b->space);
}

static void list_statements(struct pruning *p, struct loop_block *block, int parent)
{
        for (struct loop_stmt *s = block ? block->first : NULL; s; s = s->next) {
                int number = p->item_count++;
                ARENA_GROW(p->arena, p->items, number);
                p->items[number] = (struct item){ .s = s, .parent = parent };
                if (s->variable)
                        s->variable->number = 0;
                if (s->kind == STMT_ALLOC)
                        s->buffer->number = 0;
                list_statements(p, s->body, number);
                list_statements(p, s->other, number);
        }
}

static void mark_operand(struct loop_expr *e, void *context)
{
        struct pruning *p = context;
        if (e->variable)
                e->variable->number = 1;
        if (e->buffer && is_own(e->buffer))
                e->buffer->number = 1;
        if (e->op == LOOP_TILE_ENTRY) {
                struct entry key = { e->variable, e->literal.i, e->column };
                map_set(p->entries, (const char *)&key, sizeof key, p);
        }
}

static void mark_operands(struct pruning *p, const struct loop_stmt *s)
{
        struct loop_expr *const exprs[] = { s->a, s->b, s->c };
        for (int i = 0; i < 3; i++)
                if (exprs[i])
                        loop_expr_walk(exprs[i], mark_operand, p);
        for (int i = 0; i < loop_scalar_count(s); i++)
                loop_expr_walk(s->scalars[i], mark_operand, p);
        for (int i = 0; s->offsets && i < s->function->buffer_count; i++)
                if (s->offsets[i])
                        loop_expr_walk(s->offsets[i], mark_operand, p);
        for (int i = 0; s->kind == STMT_LAUNCH && i < s->function->buffer_count; i++)
                if (is_own(s->buffers[i]))
                        s->buffers[i]->number = 1;
        if (s->kind == STMT_UNLOAD || s->kind == STMT_TAKE)
                s->variable->number = 1;
        if (s->kind == STMT_IMAGE && is_own(s->source))
                s->source->number = 1;
        if ((s->kind == STMT_SCALE || s->kind == STMT_GIVE) && is_own(s->buffer))
                s->buffer->number = 1;
        if (s->kind == STMT_MULTIPLY) {
                struct loop_buffer *const read[] = { s->buffer, s->weights };
                for (int i = 0; i < 2; i++)
                        if (read[i] && is_own(read[i]))
                                read[i]->number = 1;
        }
}

/* Has s an effect, as far as is known by now? */
static bool does_something(const struct pruning *p, const struct loop_stmt *s)
{
        switch (s->kind) {
        case STMT_FOR: return false;    /* The statements inside it have. */
        case STMT_IF: return s->a->op == LOOP_LITERAL;  /* Types chose which block runs; it may be
                                                         * empty. */
        case STMT_LET:
        case STMT_VAR:
        case STMT_MULTIPLY:
        case STMT_SCALE:
        case STMT_GIVE:
        case STMT_KEEP: return s->variable->number;
        case STMT_SET:
                if (s->variable->rows) {
                        struct entry key = { s->variable, s->row, s->column };
                        return map_get(p->entries, (const char *)&key, sizeof key);
                }
                return s->variable->number;
        case STMT_STORE:
        case STMT_UNLOAD:
        case STMT_TAKE:
        case STMT_ALLOC:
        case STMT_PREFETCH:
        case STMT_COPY: return !is_own(s->buffer) || s->buffer->number;
        case STMT_LAUNCH: return s->function->body->first;
        default: return true;
        }
}

static void find_needed(struct pruning *p)
{
        for (bool again = true; again;) {
                again = false;
                for (int i = p->item_count - 1; i >= 0; i--) {
                        if (p->items[i].needed || !does_something(p, p->items[i].s))
                                continue;
                        for (int k = i; k >= 0 && !p->items[k].needed; k = p->items[k].parent) {
                                p->items[k].needed = true;
                                mark_operands(p, p->items[k].s);
                        }
                        again = true;
                }
        }
}

/* ---- functions ---- */

/* Removes the statements that are not needed; `next` counts them in the order of the list. */
static void sweep(struct pruning *p, struct loop_block *block, int *next)
{
        if (!block)
                return;
        block->end = &block->first;
        for (struct loop_stmt *s = block->first; s; s = s->next) {
                bool needed = p->items[(*next)++].needed;
                sweep(p, s->body, next);
                sweep(p, s->other, next);
                if (s->other && !s->other->first)
                        s->other = NULL;
                p->count += !needed;
                if (!needed)
                        continue;
                *block->end = s;
                block->end = &s->next;
        }
        *block->end = NULL;
}

static void find_fail(struct loop_stmt *s, void *found) { *(bool *)found |= loop_fails(s); }

static int prune_function(struct loop_program *program, struct loop_function *f)
{
        struct arena *arena = arena_new();
        struct pruning p = { .arena = arena, .entries = map_new(arena) };
        int next = 0;
        loop_block_walk(f->body, decide_stmt, NULL, &(struct deciding){ program, &p.count });
        list_statements(&p, f->body, -1);
        find_needed(&p);
        sweep(&p, f->body, &next);
        f->can_fail = f->external != NULL;
        loop_block_walk(f->body, find_fail, NULL, &f->can_fail);
        arena_free(arena);
        return p.count;
}

/* ---- parameters of tasks ----
 *
 * The last scalar is the task's index. */

static void mark_buffers(struct loop_stmt *s, void *context)
{
        struct loop_buffer *used[] = { s->buffer, s->weights, s->source,
                                       s->variable ? s->variable->base : NULL };
        (void)context;
        for (size_t i = 0; i < sizeof used / sizeof *used; i++)
                if (used[i])
                        used[i]->number = 1;
        for (int i = 0; s->kind == STMT_LAUNCH && i < s->function->buffer_count; i++)
                s->buffers[i]->number = 1;
}

static void mark_load(struct loop_expr *e, void *context)
{
        (void)context;
        if (e->buffer)
                e->buffer->number = 1;
        if (e->variable)
                e->variable->number = 1;
}

/* Gives the parameters that the function uses the number 1, and the others 0. */
static void mark_used(const struct loop_function *f)
{
        for (int i = 0; i < f->buffer_count; i++)
                f->buffers[i]->number = 0;
        for (int i = 0; i < f->scalar_count; i++)
                f->scalars[i]->number = 0;
        loop_block_walk(f->body, mark_buffers, mark_load, NULL);
}

static bool is_used(const struct loop_function *task, int scalar)
{
        return scalar == task->scalar_count - 1 || task->scalars[scalar]->number;
}

static void trim_launch(struct loop_stmt *s, void *task)
{
        int count = 0;
        if (s->kind != STMT_LAUNCH || s->function != task)
                return;
        for (int i = 0; i < s->function->buffer_count; i++)
                if (s->function->buffers[i]->number)
                        s->buffers[count++] = s->buffers[i];
        count = 0;
        for (int i = 0; i < loop_scalar_count(s); i++)
                if (is_used(s->function, i))
                        s->scalars[count++] = s->scalars[i];
}

static int trim_task(struct loop_function *task)
{
        int buffers = 0, scalars = 0;
        for (int i = 0; i < task->scalar_count; i++)
                if (is_used(task, i))
                        task->scalars[scalars++] = task->scalars[i];
        for (int i = 0; i < task->buffer_count; i++)
                if (task->buffers[i]->number) {
                        task->buffers[i]->number = buffers;
                        task->buffers[buffers++] = task->buffers[i];
                }
        int count = task->buffer_count - buffers + task->scalar_count - scalars;
        task->buffer_count = buffers;
        task->scalar_count = scalars;
        return count;
}

static int prune_parameters(struct loop_function *task)
{
        bool all = true;
        mark_used(task);
        for (int i = 0; i < task->buffer_count; i++)
                all &= task->buffers[i]->number;
        for (int i = 0; i < task->scalar_count; i++)
                all &= is_used(task, i);
        for (struct loop_function *k = all ? NULL : task->next; k; k = k->next)
                loop_block_walk(k->body, trim_launch, NULL, task);
        return all ? 0 : trim_task(task);
}

/* ---- constants that kernels do not use ----
 *
 * A table of positions, for instance, that a kernel of circular buffers has in closed form. */

struct uses { const struct loop_function *kernel; int parameter; bool constants; };

static void check_argument(struct loop_stmt *s, void *context)
{
        struct uses *uses = context;
        if ((s->kind == STMT_CALL || s->kind == STMT_LAUNCH) && s->function == uses->kernel)
                uses->constants &= s->kind == STMT_CALL &&
                                   s->buffers[uses->parameter]->space == SPACE_CONSTANT;
}

static void drop_argument(struct loop_stmt *s, void *context)
{
        const struct uses *uses = context;
        if (s->kind != STMT_CALL || s->function != uses->kernel)
                return;
        for (int i = uses->parameter; i + 1 < s->function->buffer_count; i++) {
                s->buffers[i] = s->buffers[i + 1];
                if (s->offsets)
                        s->offsets[i] = s->offsets[i + 1];
        }
}

/* Drops the parameters that are constants in all calls, and that the kernel does not use. Returns
 * their number. */
static int prune_constants(struct loop_program *p, struct loop_function *kernel)
{
        int count = 0;
        mark_used(kernel);
        for (int i = kernel->buffer_count - 1; i >= 0; i--) {
                struct uses uses = { kernel, i, !kernel->buffers[i]->number };
                if (uses.constants)
                        loop_walk_mains(p, check_argument, NULL, &uses);
                if (!uses.constants)
                        continue;
                loop_walk_mains(p, drop_argument, NULL, &uses);
                kernel->buffer_count--;
                for (int k = i; k < kernel->buffer_count; k++)
                        kernel->buffers[k] = kernel->buffers[k + 1];
                count++;
        }
        for (int i = 0; i < kernel->buffer_count; i++)
                kernel->buffers[i]->number = i;
        for (int i = 0; i < kernel->scalar_count; i++)
                kernel->scalars[i]->number = i;
        return count;
}

/* ---- the program ---- */

static void mark_call(struct loop_stmt *s, void *context)
{
        (void)context;
        if (s->kind == STMT_LAUNCH)
                s->function->number = 1;
        if (s->kind != STMT_CALL)
                return;
        s->function->number = 1;
        for (int i = 0; i < s->function->buffer_count; i++)
                s->buffers[i]->number = 1;
}

static int prune_kernels(struct loop_program *p)
{
        int count = 0;
        for (struct loop_function *k = p->kernels; k; k = k->next)
                if (k->number)
                        loop_block_walk(k->body, mark_call, NULL, NULL);
        p->kernels_end = &p->kernels;
        for (struct loop_function *k = p->kernels; k; k = k->next) {
                count += !k->number;
                if (!k->number)
                        continue;
                *p->kernels_end = k;
                p->kernels_end = &k->next;
        }
        *p->kernels_end = NULL;
        return count;
}

static int settle_views(struct loop_program *p)
{
        int count = 0;
        for (struct loop_buffer *b = p->buffers; b; b = b->next) {
                if (b->space != SPACE_VIEW)
                        continue;
                int64_t offset;
                struct loop_buffer *root = loop_buffer_root(b, &offset);
                count += b->view_of != root;
                b->view_of = root;
                b->view_offset = offset;
                root->number |= b->number;
        }
        return count;
}

static int prune_buffers(struct loop_program *p)
{
        int count = 0;
        p->buffers_end = &p->buffers;
        for (struct loop_buffer *b = p->buffers; b; b = b->next) {
                bool kept = loop_is_port(b) || b->number;
                count += !kept;
                if (!kept)
                        continue;
                *p->buffers_end = b;
                p->buffers_end = &b->next;
        }
        *p->buffers_end = NULL;
        return count;
}

int prune_unreached(struct loop_program *p)
{
        for (struct loop_function *k = p->kernels; k; k = k->next)
                k->number = 0;
        for (struct loop_buffer *b = p->buffers; b; b = b->next)
                b->number = 0;
        loop_walk_mains(p, mark_call, mark_load, NULL);
        return prune_kernels(p) + settle_views(p) + prune_buffers(p);
}

int pass_prune(struct loop_program *p, struct pass_context *context)
{
        (void)context;
        int count = 0;
        for (int i = 0; i < p->entry_count; i++)
                count += prune_function(p, p->entries[i].main);
        for (struct loop_function *k = p->kernels; k; k = k->next) {
                if (k->kind != FUNCTION_STREAM)
                        count += prune_function(p, k);
                if (k->kind == FUNCTION_TASK)
                        count += prune_parameters(k);
                if (k->kind == FUNCTION_KERNEL && !k->external)
                        count += prune_constants(p, k);
        }
        return count + prune_unreached(p);
}
