/* SPDX-License-Identifier: MIT */
/* outline: parallel loops become tasks, functions of the buffers and variables that they use, and
 * of the iteration.
 *
 *     kernel @scale(%x: in f32[784], %y: out f32[6272]) {      task @scale_task(%x: in f32[784], %y: out f32[6272],
 *       let %factor : f32 = %x[0]                                               %factor: f32, %m: index) {
 *       for %m = 0 to 8 parallel {                               for %i = 0 to 784 {
 *         for %i = 0 to 784 {                                      store %y[%m * 784 + %i] = %x[%i] * %factor
 *           store %y[%m * 784 + %i] = %x[%i] * %factor           }
 *         }                                             ->     }
 *       }                                                      kernel @scale(%x: in f32[784], %y: out f32[6272]) {
 *     }                                                          let %factor : f32 = %x[0]
 *                                                                launch @scale_task(%x, %y; %factor, 0 to 8)
 *                                                              }
 *
 * Parameters are the kernel's buffers, then memory it allocates, in order of use; the kernel's
 * scalars, then its variables, with the values that they have when the task is launched. A buffer
 * is to the task what it is to the kernel: access and alias class stay.
 *
 * Exact to the bit. With one thread, or fewer than two iterations, the loop stays, and runs as a
 * plain one.
 *
 * Where sums have general registers, of which there are few, a kernel that passes rows on through
 * circular buffers has a function for the rows of each buffer, which it launches in order: C
 * compilers give registers in a function as a whole, and what one nest of loops needs they spill in
 * the others.
 *
 *     for %row = %made to %end {                ->      launch @conv_task(%x, %y; %made to %end) in order
 *       ..
 *     } */
#include <string.h>

#include "ir/target/engine.h"
#include "passes/outline.h"
#include "passes/pass.h"

/* A capture is a buffer or a variable of the kernel, and what stands for it in the task. */
struct capture { struct loop_buffer *buffer, *own_buffer; struct loop_variable *variable, *own; };

struct outlining {
        struct arena *arena, *scratch;  /* arena is the program's, scratch the pass's. */
        struct map *known;              /* Captures by address; one without buffer and variable is
                                         * the body's own. */
        struct capture **list;          /* Captures in the order of their use. */
        int count;
        struct loop_function *task;
};

static struct capture *find(const struct outlining *o, const void *object)
{
        return map_get(o->known, (const char *)&object, sizeof object);
}

static struct capture *add(struct outlining *o, const void *object)
{
        struct capture *c = ARENA_NEW(o->scratch, struct capture);
        map_set(o->known, (const char *)&object, sizeof object, c);
        return c;
}

/* ---- what the body uses of the kernel ---- */

static void capture_buffer(struct outlining *o, struct loop_buffer *b)
{
        if (!b || find(o, b))
                return;
        ARENA_GROW(o->scratch, o->list, o->count);
        o->list[o->count] = add(o, b);
        o->list[o->count++]->buffer = b;
}

static void capture_variable(struct outlining *o, struct loop_variable *v)
{
        if (find(o, v))
                return;
        ARENA_GROW(o->scratch, o->list, o->count);
        o->list[o->count] = add(o, v);
        o->list[o->count++]->variable = v;
}

static void find_own(struct loop_stmt *s, void *context)
{
        if (s->kind == STMT_FOR || s->kind == STMT_LET || s->kind == STMT_VAR)
                add(context, s->variable);
        else if (s->kind == STMT_ALLOC)
                add(context, s->buffer);
}

static void find_buffers(struct loop_stmt *s, void *context)
{
        capture_buffer(context, s->buffer);
        capture_buffer(context, s->weights);
}

static void find_operand(struct loop_expr *e, void *context)
{
        if (e->op == LOOP_LOAD)
                capture_buffer(context, e->buffer);
        else if (e->op == LOOP_VARIABLE)
                capture_variable(context, e->variable);
}

/* ---- the task's parameters, and the launch's arguments ---- */

static void add_buffer(struct outlining *o, struct loop_stmt *launch, struct capture *c)
{
        const struct loop_buffer *b = c->buffer;
        int number = o->task->buffer_count;
        if (c->own_buffer)
                return;
        c->own_buffer = loop_parameter_add(o->arena, o->task, b->name, b->element, b->extent,
                                           b->space == SPACE_PARAMETER ? b->access : ACCESS_INOUT);
        c->own_buffer->alias_class = b->alias_class;
        ARENA_GROW(o->arena, launch->buffers, number);
        launch->buffers[number] = c->buffer;
}

static void add_variable(struct outlining *o, struct loop_stmt *launch, struct capture *c)
{
        int number = o->task->scalar_count;
        if (c->own)
                return;
        c->own = loop_scalar_add(o->arena, o->task, c->variable->name, c->variable->type);
        ARENA_GROW(o->arena, launch->scalars, number);
        launch->scalars[number] = loop_use(o->arena, c->variable);
}

/* Adds the kernel's parameters that the task uses, in the kernel's order. */
static void add_parameters(struct outlining *o, const struct loop_function *kernel,
                           struct loop_stmt *launch)
{
        for (int i = 0; i < kernel->buffer_count; i++)
                if (find(o, kernel->buffers[i]))
                        add_buffer(o, launch, find(o, kernel->buffers[i]));
        for (int i = 0; i < kernel->scalar_count; i++)
                if (find(o, kernel->scalars[i]))
                        add_variable(o, launch, find(o, kernel->scalars[i]));
        for (int i = 0; i < o->count; i++) {
                if (o->list[i]->buffer)
                        add_buffer(o, launch, o->list[i]);
                else
                        add_variable(o, launch, o->list[i]);
        }
}

/* ---- the body ---- */

static struct loop_buffer *buffer_in_task(const struct outlining *o, struct loop_buffer *b)
{
        const struct capture *c = b ? find(o, b) : NULL;
        return c && c->own_buffer ? c->own_buffer : b;
}

/* Returns a copy of e for the task, because the kernel may use parts of e elsewhere. */
static struct loop_expr *in_task(const struct outlining *o, const struct loop_expr *e)
{
        if (!e)
                return NULL;
        struct loop_expr *copy = arena_copy(o->arena, e, sizeof *e);
        const struct capture *c = e->variable ? find(o, e->variable) : NULL;
        if (c && c->own)
                copy->variable = c->own;
        copy->buffer = buffer_in_task(o, e->buffer);
        for (int i = 0; i < e->arity; i++)
                copy->args[i] = in_task(o, e->args[i]);
        return copy;
}

static void move_in(struct loop_stmt *s, void *context)
{
        const struct outlining *o = context;
        s->a = in_task(o, s->a);
        s->b = in_task(o, s->b);
        s->c = in_task(o, s->c);
        s->buffer = buffer_in_task(o, s->buffer);
        s->weights = buffer_in_task(o, s->weights);
}

/* ---- kernels ---- */

/* Has the loop, as far as is known, fewer than two iterations? */
static bool is_plain(const struct loop_stmt *s)
{
        int64_t from, to;
        return loop_is_int(s->a, &from) && loop_is_int(s->b, &to) &&
               (to <= from || (uint64_t)to - (uint64_t)from <= (uint64_t)s->step);
}

/* What is in the body of a loop: the variables of its own, how many statements and loops, and
 * whether it can be no function. */
struct body { struct map *own; int statements, loops; bool leaves; };

static void find_body(struct loop_stmt *s, void *context)
{
        struct body *body = context;
        body->statements++;
        body->loops += s->kind == STMT_FOR || s->kind == STMT_WHILE;
        if (s->kind == STMT_FOR || s->kind == STMT_LET || s->kind == STMT_VAR)
                map_set(body->own, (const char *)&s->variable, sizeof s->variable, body);
        body->leaves |= loop_fails(s) || s->kind == STMT_LAUNCH ||
                        (s->kind == STMT_SET &&
                         !map_get(body->own, (const char *)&s->variable, sizeof s->variable));
}

int outline_statements(const struct loop_stmt *loop)
{
        struct arena *scratch = arena_new();
        struct body body = { .own = map_new(scratch) };
        loop_block_walk(loop->body, find_body, NULL, &body);
        arena_free(scratch);
        return body.loops && !body.leaves ? body.statements : 0;
}

struct loop_function *outline_loop(struct loop_program *p, const struct loop_function *kernel,
                                   struct loop_stmt *s)
{
        const char *name = arena_printf(p->arena, "%s_task", kernel->name);
        struct outlining o = { .arena = p->arena, .scratch = arena_new() };
        struct loop_function *task = o.task = loop_function_new(
                p->arena, FUNCTION_TASK, text_identifier(p->names, name, strlen(name), "task"));
        struct loop_stmt launch = { .kind = STMT_LAUNCH, .next = s->next, .function = task,
                                    .a = s->a, .b = s->b, .step = s->step };
        o.known = map_new(o.scratch);
        struct capture *index = add(&o, s->variable);
        loop_block_walk(s->body, find_own, NULL, &o);
        loop_block_walk(s->body, find_buffers, find_operand, &o);
        add_parameters(&o, kernel, &launch);
        index->own = loop_scalar_add(p->arena, task, s->variable->name, s->variable->type);
        task->body = s->body;
        loop_block_walk(task->body, move_in, NULL, &o);
        arena_free(o.scratch);
        *s = launch;
        return task;
}

/* Outlines the loops of a block; tasks go in front of the kernel, where `at` points. */
static int outline_block(struct loop_program *p, const struct loop_function *kernel,
                         struct loop_block *block, struct loop_function ***at)
{
        int count = 0;
        for (struct loop_stmt *s = block ? block->first : NULL; s; s = s->next) {
                if (s->kind == STMT_IF) {
                        count += outline_block(p, kernel, s->body, at);
                        count += outline_block(p, kernel, s->other, at);
                } else if (s->kind == STMT_FOR && s->for_kind == FOR_PARALLEL && !is_plain(s)) {
                        struct loop_function *task = outline_loop(p, kernel, s);
                        task->next = **at;
                        **at = task;
                        *at = &task->next;
                        count++;
                }
        }
        return count;
}

/* ---- rows of circular buffers ---- */

/* Does the loop go on from where a variable says, as loops over missing rows do? */
static bool goes_on(const struct loop_stmt *s)
{
        return s->kind == STMT_FOR && s->for_kind == FOR_SERIAL && s->a->op == LOOP_VARIABLE &&
               s->a->variable->kind != VARIABLE_LET;
}

/* Is it enough work for a function of its own? */
static bool is_nest(const struct loop_stmt *s)
{
        enum { STATEMENTS_LEAST = 40 };
        return goes_on(s) && outline_statements(s) >= STATEMENTS_LEAST;
}

/* Finds the loops over rows in a block, outermost ones. */
static void find_nests(struct arena *scratch, struct loop_block *block, struct loop_stmt ***nests,
                       int *count)
{
        for (struct loop_stmt *s = block ? block->first : NULL; s; s = s->next) {
                if (is_nest(s)) {
                        ARENA_GROW(scratch, *nests, *count);
                        (*nests)[(*count)++] = s;
                } else {
                        find_nests(scratch, s->body, nests, count);
                        find_nests(scratch, s->other, nests, count);
                }
        }
}

/* Outlines the loops over rows of a kernel that has several; tasks go in front of the kernel, where
 * `at` points. */
static int outline_rows(struct loop_program *p, const struct loop_function *kernel,
                        struct loop_function ***at)
{
        struct arena *scratch = arena_new();
        struct loop_stmt **nests = NULL;
        int count = 0;
        find_nests(scratch, kernel->body, &nests, &count);
        count = count > 1 ? count : 0;
        for (int i = 0; i < count; i++) {
                struct loop_function *task = outline_loop(p, kernel, nests[i]);
                nests[i]->in_order = true;
                task->next = **at;
                **at = task;
                *at = &task->next;
        }
        arena_free(scratch);
        return count;
}

int pass_outline(struct loop_program *p, struct pass_context *context)
{
        const bool rows = target_engine(context->target)->single_sums;
        int count = 0;
        if (context->threads < 2 && !rows)
                return 0;
        for (struct loop_function **at = &p->kernels; *at; at = &(*at)->next) {
                const struct loop_function *kernel = *at;
                if (kernel->kind != FUNCTION_KERNEL)
                        continue;
                if (context->threads > 1)
                        count += outline_block(p, kernel, kernel->body, &at);
                if (rows)
                        count += outline_rows(p, kernel, &at);
        }
        return count;
}
