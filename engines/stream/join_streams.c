/* SPDX-License-Identifier: MIT */
/* join: streams that main calls one after the other become one, so that a machine is started once,
 * and loads of the next stream overlap with computations of the one before.
 *
 *     call @conv1(@x, @w1, @t)                     call @conv1_joined(@x, @w1, @t, @w2, @y)
 *     call @conv2(@t, @w2, @y)            ->
 *
 * Where the machine's memory holds activations, values that only one stream reads and writes stay
 * there (resident.c).
 *
 * Parameters are whole buffers of the program, each once: views and offsets become part of places.
 * The pass must run before `plan`, which lets buffers that are not in use at the same time share
 * memory: the buffers of one launch are in use at the same time. Exact. */
#include "ir/loop/loop_vector.h"
#include "engines/stream/stream_passes.h"


struct joining {
        struct loop_program *p;
        struct loop_function *to;
        struct loop_buffer **roots;     /* Each of its parameters has this root. */
        struct loop_buffer **own;       /* For the call that is copied, what each buffer of its
                                         * stream, by number, is now. */
        int64_t *moved;                 /* This many numbers lie before it. */
        struct loop_variable **variables;         /* It holds the copies of variables, by number. */
};

/* ---- copies ---- */

static struct loop_expr *copy_expr(struct joining *j, const struct loop_expr *e)
{
        struct loop_expr *to = arena_copy(j->p->arena, e, sizeof *e);
        if (e->op == LOOP_VARIABLE)
                to->variable = j->variables[e->variable->number];
        for (int k = 0; k < e->arity; k++)
                to->args[k] = e->args[k] ? copy_expr(j, e->args[k]) : NULL;
        return to;
}

static struct loop_expr *copy_place(struct joining *j, const struct loop_buffer *b,
                                    const struct loop_expr *at)
{
        struct loop_expr *to = copy_expr(j, at);
        int64_t moved = b ? j->moved[b->number] : 0;
        return moved ? loop_op(j->p->arena, LOOP_ADD, to, loop_index(j->p->arena, moved), NULL)
                     : to;
}

static struct loop_transfer *copy_transfer(struct joining *j, const struct loop_transfer *t)
{
        struct loop_transfer *to = arena_copy(j->p->arena, t, sizeof *t);
        to->rows = copy_expr(j, t->rows);
        to->columns = copy_expr(j, t->columns);
        for (int k = 0; k < 4; k++)
                to->pad[k] = t->pad[k] ? copy_expr(j, t->pad[k]) : NULL;
        return to;
}

static void copy_block(struct joining *j, const struct loop_block *block, struct loop_block *out);

static struct loop_block *copy_body(struct joining *j, const struct loop_block *block)
{
        struct loop_block *out = loop_block_new(j->p->arena);
        copy_block(j, block, out);
        return out;
}

static void copy_statement(struct joining *j, const struct loop_stmt *s, struct loop_block *out)
{
        struct arena *arena = j->p->arena;
        struct loop_stmt *to = loop_append(arena, out, s->kind), *next = to->next;
        *to = *s;
        to->next = next;
        to->a = s->a ? copy_place(j, s->buffer, s->a) : NULL;
        to->b = s->b ? copy_place(j, s->source, s->b) : NULL;
        to->c = s->c ? copy_place(j, s->weights, s->c) : NULL;
        to->activation =
                s->activation ? arena_copy(arena, s->activation, sizeof *s->activation) : NULL;
        to->transfer = s->transfer ? copy_transfer(j, s->transfer) : NULL;
        if (s->variable)
                to->variable = j->variables[s->variable->number] =
                        arena_copy(arena, s->variable, sizeof *s->variable);
        if (s->kind == STMT_ALLOC)
                j->own[s->buffer->number] = arena_copy(arena, s->buffer, sizeof *s->buffer);
        to->buffer = s->buffer ? j->own[s->buffer->number] : NULL;
        to->source = s->source ? j->own[s->source->number] : NULL;
        to->weights = s->weights ? j->own[s->weights->number] : NULL;
        to->body = s->body ? copy_body(j, s->body) : NULL;
        to->other = s->other ? copy_body(j, s->other) : NULL;
}

static void copy_block(struct joining *j, const struct loop_block *block, struct loop_block *out)
{
        for (const struct loop_stmt *s = block->first; s; s = s->next)
                copy_statement(j, s, out);
}

/* ---- parameters ---- */

static struct loop_buffer *parameter_of(struct joining *j, struct loop_buffer *root,
                                        enum loop_access access)
{
        struct loop_function *f = j->to;
        for (int k = 0; k < f->buffer_count; k++)
                if (j->roots[k] == root) {
                        f->buffers[k]->access |= access;
                        return f->buffers[k];
                }
        ARENA_GROW(j->p->arena, j->roots, f->buffer_count);
        j->roots[f->buffer_count] = root;
        return loop_parameter_add(j->p->arena, f, root->name, root->element, root->extent, access);
}

static void count_buffers(struct loop_stmt *s, void *count)
{
        *(int *)count += s->kind == STMT_ALLOC;
}

static void add_call(struct joining *j, const struct loop_stmt *call)
{
        struct loop_function *f = call->function;
        struct arena *scratch = arena_new();
        int variables = loop_number_variables(f), buffers = f->buffer_count;
        loop_block_walk(f->body, count_buffers, NULL, &buffers);
        j->variables = arena_array(scratch, (size_t)variables + 1, sizeof *j->variables);
        j->own = arena_array(scratch, (size_t)buffers + 1, sizeof *j->own);
        j->moved = arena_array(scratch, (size_t)buffers + 1, sizeof *j->moved);
        for (int k = 0; k < f->buffer_count; k++) {
                int64_t offset = 0;
                struct loop_buffer *root = loop_buffer_root(call->buffers[k], &j->moved[k]);
                if (call->offsets && call->offsets[k])
                        loop_is_int(call->offsets[k], &offset);
                j->own[k] = parameter_of(j, root, f->buffers[k]->access);
                j->moved[k] += offset;
        }
        /* The block is separate, so that what it allocates ends with it. */
        struct loop_stmt *scope = loop_append(j->p->arena, j->to->body, STMT_IF);
        scope->a = loop_literal(j->p->arena, LOOP_TYPE(E_BOOL), (union scalar){ .i = 1 });
        copy_block(j, f->body, scope->body);
        arena_free(scratch);
}

/* ---- calls ---- */

/* Has the stream no order yet, and is it known where its arguments lie? */
static bool can_join(const struct loop_stmt *s)
{
        struct loop_buffer *memories[MACHINE_MEMORIES];
        int64_t offset;
        if (s->kind != STMT_CALL || s->function->kind != FUNCTION_STREAM ||
            flat_memories(s->function, memories))
                return false;
        for (int k = 0; s->offsets && k < s->function->buffer_count; k++)
                if (s->offsets[k] && !loop_is_int(s->offsets[k], &offset))
                        return false;
        return true;
}

static void join_calls(struct loop_program *p, struct loop_stmt *first, const struct loop_stmt *end)
{
        const char *name = arena_printf(p->arena, "%.20s_joined", first->function->name);
        struct joining j = { .p = p, .to = loop_function_new(p->arena, FUNCTION_STREAM, name) };
        j.to->machine = first->function->machine;
        for (const struct loop_stmt *s = first; s != end; s = s->next) {
                const char *location = loop_call_location(s), *before = j.to->location;
                j.to->flops += s->function->flops;
                j.to->location = before && location
                                         ? arena_printf(p->arena, "%s, %s", before, location)
                                 : location ? location
                                            : before;
                add_call(&j, s);
        }
        loop_function_rename(p->arena, j.to);
        loop_kernel_add(p, j.to);
        first->function = j.to;
        first->location = NULL;
        first->buffers = j.roots;
        first->offsets = NULL;
        first->next = (struct loop_stmt *)(uintptr_t)end;
}

static int join_block(struct loop_program *p, struct loop_block *block)
{
        int count = 0;
        for (struct loop_stmt *s = block->first; s; s = s->next) {
                struct loop_stmt *end = s->next;
                if (s->body)
                        count += join_block(p, s->body);
                if (s->other)
                        count += join_block(p, s->other);
                if (!can_join(s))
                        continue;
                for (; end && can_join(end) && end->function->machine == s->function->machine;
                     end = end->next)
                        count++;
                if (end != s->next)
                        join_calls(p, s, end);
                if (!end)
                        block->end = &s->next;
        }
        return count;
}

static void mark_call(struct loop_stmt *s, void *context)
{
        (void)context;
        if (s->kind == STMT_CALL)
                s->function->number = 1;
}

/* Removes streams that no call uses any more. */
static void drop_streams(struct loop_program *p)
{
        for (struct loop_function *f = p->kernels; f; f = f->next)
                f->number = 0;
        loop_walk_mains(p, mark_call, NULL, NULL);
        p->kernels_end = &p->kernels;
        for (struct loop_function *f = p->kernels; f; f = f->next)
                if (f->kind != FUNCTION_STREAM || f->number) {
                        *p->kernels_end = f;
                        p->kernels_end = &f->next;
                }
        *p->kernels_end = NULL;
}

int pass_join(struct loop_program *p, struct pass_context *context)
{
        int count = 0;
        for (int i = 0; i < p->entry_count; i++)
                count += join_block(p, p->entries[i].main->body);
        if (count)
                drop_streams(p);
        const int stays = stream_reside(p, context->diag);
        return stays < 0 ? -1 : count + stays;
}
