/* SPDX-License-Identifier: MIT */
/* Tasks: a function takes a range of the iterations, and a struct passes the arguments of its
 * launch.
 *
 *     struct conv1_arguments {
 *             const f32 *x;
 *             f32 *y;
 *     };
 *
 *     static void conv1_task(void *arg, int part, int parts)
 *     {
 *             const struct conv1_arguments *const arguments = arg;
 *             const f32 *restrict x = arguments->x;
 *             f32 *restrict y = arguments->y;
 *             const ptrdiff_t i_end = part_begin(56, part + 1, parts);
 *             for (ptrdiff_t i = part_begin(56, part, parts); i < i_end; i++) {
 *                     ...
 *             }
 *     }
 *
 *     static void conv1(const f32 *restrict x, f32 *restrict y)
 *     {
 *             struct conv1_arguments arguments = { x, y };
 *             dnncc_parallel(conv1_task, &arguments, 2);
 *     }
 *
 * Each thread computes what the plain loop would: the bits do not depend on the number of threads.
 * With one thread the kernel calls the task for the whole range. */
#include "codegen/c_writer.h"

#include <string.h>

static const char runtime[] = "/* Calls task(arg, index, count) for each index below count, on "
                              "threads. dnncc_runtime.h declares it; a program may\n"
                              " * define its own. */\n"
                              "extern void dnncc_parallel(void (*task)(void *arg, int index, int "
                              "count), void *arg, int count);\n"
                              "\n";

static const char part_begin[] = "/* Returns at which of a iterations part b of c begins. */\n"
                                 "static inline ptrdiff_t part_begin(ptrdiff_t a, int b, int c)\n"
                                 "{\n"
                                 "        return a / c * b + a % c * b / c;\n"
                                 "}\n";

/* ---- the range of iterations ---- */

struct range {
        bool literal;
        int64_t begin, count;           /* These give the range, where it is literal. */
        const char *first, *trips;      /* Otherwise these variables of the function being printed
                                         * do. */
};

static struct range range_of(struct c_writer *w, const struct loop_stmt *s, const char *name)
{
        struct range r = { 0 };
        int64_t end;
        if (loop_is_int(s->a, &r.begin) && loop_is_int(s->b, &end)) {
                r.literal = true;
                r.count = end > r.begin ? (end - r.begin + s->step - 1) / s->step : 0;
                return r;
        }
        r.first = c_local(w, arena_printf(w->arena, "%s_begin", name));
        r.trips = c_local(w, arena_printf(w->arena, "%s_count", name));
        return r;
}

static void put_range(struct c_writer *w, const struct loop_stmt *s, const struct range *r)
{
        const char *type = c_type(E_INDEX);
        c_put(w, "const %s %s = ", type, r->first);
        c_expression(w, s->a);
        c_put(w, ";");
        c_end(w);
        c_put(w, "const %s %s = ", type, r->trips);
        c_put(w, s->step == 1 ? "" : "(");
        c_operand(w, s->b, C_SUM);
        c_put(w, " -" C_SOFT "%s", r->first);
        if (s->step != 1)
                c_put(w, " + %lld) / %lld", (long long)s->step - 1, (long long)s->step);
        c_put(w, ";");
        c_end(w);
}

/* Prints where the part begins, in the task. */
static void put_bound(struct c_writer *w, const struct loop_stmt *s, const struct range *r,
                      const char *part, const char *parts)
{
        if (!r->literal)
                c_put(w, "%s + ", r->first);
        else if (r->begin)
                c_put(w, "%lld + ", (long long)r->begin);
        if (s->step != 1)
                c_put(w, "%lld *" C_SOFT, (long long)s->step);
        c_put(w, "part_begin(");
        if (r->literal)
                c_put(w, "%lld", (long long)r->count);
        else
                c_put(w, "%s", r->trips);
        c_put(w, "," C_SOFT "%s," C_SOFT "%s)", part, parts);
}

/* ---- the task ---- */

struct task {
        const struct loop_stmt *launch;
        struct loop_function *function;
        int scalars;                    /* This many scalars are passed: all but the index. */
        const char *name, *arguments, *arg, *part, *parts;
        struct range range;             /* The task has this range. */
};

static bool has_arguments(const struct task *t)
{
        return t->function->buffer_count || t->scalars || !t->range.literal;
}

static void put_loop(struct c_writer *w, const struct task *task)
{
        const struct loop_stmt *s = task->launch;
        struct loop_variable *index = task->function->scalars[task->scalars];
        c_declare(w, index);
        const char *name = c_use(w, index);
        const char *end = c_local(w, arena_printf(w->arena, "%s_end", name));
        c_put(w, "const %s %s = ", c_type(E_INDEX), end);
        put_bound(w, s, &task->range, arena_printf(w->arena, "%s + 1", task->part), task->parts);
        c_put(w, ";");
        c_end(w);
        c_put(w, "for (%s %s = ", c_type(E_INDEX), name);
        put_bound(w, s, &task->range, task->part, task->parts);
        c_put(w, ";" C_SOFT "%s < %s;" C_SOFT "%s", name, end, name);
        c_put(w, s->step == 1 ? "++) {" : " += %lld) {", (long long)s->step);
        c_end(w);
        c_block(w, task->function->body);
        c_line(w, "}");
}

/* Returns the type of a pointer: "const f32 *". */
static const char *pointer_type(struct c_writer *w, const struct loop_buffer *b)
{
        return arena_printf(w->arena, "%s%s *", b->access == ACCESS_IN ? "const " : "",
                            c_memory_type(w, b->element));
}

static void put_struct(struct c_writer *w, const struct task *task)
{
        const struct loop_function *f = task->function;
        c_line(w, "struct %s {", task->arguments);
        w->indent++;
        for (int i = 0; i < f->buffer_count; i++)
                c_line(w, "%s%s;", pointer_type(w, f->buffers[i]), c_name(w, f->buffers[i])->text);
        for (int i = 0; i < task->scalars; i++)
                c_line(w, "%s %s;", c_value_type(w, f->scalars[i]->type),
                       c_name(w, f->scalars[i])->text);
        if (!task->range.literal) {
                c_line(w, "%s %s;", c_type(E_INDEX), task->range.first);
                c_line(w, "%s %s;", c_type(E_INDEX), task->range.trips);
        }
        w->indent--;
        c_line(w, "};");
        c_line(w, "%s", "");
}

/* Prints variables for the members of the struct, with their names. */
static void put_parameters(struct c_writer *w, const struct task *task)
{
        struct loop_function *f = task->function;
        const char *arguments = c_local(w, "arguments");
        c_line(w, "const struct %s *const %s = %s;", task->arguments, arguments, task->arg);
        for (int i = 0; i < f->buffer_count; i++) {
                const char *name = c_name(w, f->buffers[i])->text;
                c_line(w, "%s%s%s = %s->%s;", pointer_type(w, f->buffers[i]),
                       f->buffers[i]->alias_class ? "" : "RESTRICT ", name, arguments, name);
        }
        for (int i = 0; i < task->scalars; i++) {
                const char *name = c_name(w, f->scalars[i])->text;
                c_line(w, "const %s %s = %s->%s;", c_value_type(w, f->scalars[i]->type), name,
                       arguments, name);
        }
        const char *const own[] = { task->range.first, task->range.trips };
        for (int i = 0; i < 2 && !task->range.literal; i++)
                c_line(w, "const %s %s = %s->%s;", c_type(E_INDEX), own[i], arguments, own[i]);
        c_unused(w, f, task->scalars);
}

static void put_task(struct c_writer *w, const struct task *task, const struct text *body)
{
        if (has_arguments(task))
                put_struct(w, task);
        c_line(w, "static %svoid %s(void *%s, int %s, int %s)", c_attribute(w), task->name,
               task->arg, task->part, task->parts);
        c_line(w, "{");
        w->indent++;
        if (has_arguments(task))
                put_parameters(w, task);
        else
                c_line(w, "(void)%s;", task->arg);
        w->indent--;
        text_add_bytes(w->out, body->data, body->length);
        c_line(w, "}");
        c_line(w, "%s", "");
}

static void name_parameters(struct c_writer *w, struct task *task)
{
        struct loop_function *f = task->function;
        task->arg = c_local(w, "arg");
        task->part = c_local(w, "part");
        task->parts = c_local(w, "parts");
        for (int i = 0; i < f->buffer_count; i++)
                c_name_set(w, f->buffers[i], c_local(w, f->buffers[i]->name));
        for (int i = 0; i < task->scalars; i++)
                c_declare(w, f->scalars[i]);
        task->range = range_of(w, task->launch, f->scalars[task->scalars]->name);
}

/* What belongs to the kernel while a function that it launches is printed. */
struct aside {
        struct names *locals;
        struct map *entries, *written;
        struct text *out;
        int indent;
};

static struct aside put_aside(struct c_writer *w, const struct loop_stmt *launch)
{
        const struct aside kernel = { w->locals, w->tile_entries, w->written, w->out, w->indent };
        w->locals = names_new(w->arena);
        w->launch = launch;
        w->task_bounds = NULL;
        return kernel;
}

static void go_on(struct c_writer *w, const struct aside *kernel)
{
        w->launch = NULL;
        w->locals = kernel->locals;
        w->tile_entries = kernel->entries;
        w->written = kernel->written;
        w->out = kernel->out;
        w->indent = kernel->indent;
}

/* Prints the task into w->tasks. */
static void define_task(struct c_writer *w, struct task *task)
{
        struct text body = { 0 };
        const struct aside kernel = put_aside(w, task->launch);
        name_parameters(w, task);
        c_find_entries(w, task->function);
        c_find_pointers(w, task->function);
        w->out = &body;
        w->indent = 1;
        put_loop(w, task);
        w->out = &w->tasks;
        w->indent = 0;
        put_task(w, task, &body);
        go_on(w, &kernel);
        text_free(&body);
}

/* ---- the kernel's side ---- */

static void put_arguments(struct c_writer *w, const struct task *task, const struct range *r,
                          const char *name)
{
        const struct loop_stmt *s = task->launch;
        const char *lead = " ";
        c_put(w, "struct %s %s = {", task->arguments, name);
        for (int i = 0; i < task->function->buffer_count; i++, lead = "," C_SOFT)
                c_put(w, "%s%s", lead, c_use(w, s->buffers[i]));
        for (int i = 0; i < task->scalars; i++, lead = "," C_SOFT) {
                c_put(w, "%s", lead);
                c_expression(w, s->scalars[i]);
        }
        if (!r->literal)
                c_put(w, "%s%s," C_SOFT "%s", lead, r->first, r->trips);
        c_put(w, " };");
        c_end(w);
}

static void put_launch(struct c_writer *w, const struct range *r, const struct task *task,
                       const char *arguments)
{
        int threads = w->options->threads;
        const char *address = arguments ? arena_printf(w->arena, "&%s", arguments) : "NULL";
        if (threads < 2) {
                c_line(w, "%s(%s," C_SOFT "0," C_SOFT "1);", task->name, address);
                return;
        }
        c_put(w, "%s(%s," C_SOFT "%s," C_SOFT, c_flush_parallel(w), task->name, address);
        if (r->literal)
                c_put(w, "%d);", r->count < threads ? (int)r->count : threads);
        else
                c_put(w, "%s < %d ? (int)%s : %d);", r->trips, threads, r->trips, threads);
        c_end(w);
}

/* ---- iterations in order: a function that takes their range ----
 *
 *     static KERNEL void conv1_part(const f32 *RESTRICT x, f32 *RESTRICT y, ptrdiff_t i_from, ptrdiff_t i_to)
 *     {
 *             for (ptrdiff_t i = i_from; i < i_to; i++) {
 *                     ...
 *             }
 *     }
 */

static void put_ordered_function(struct c_writer *w, const struct task *task,
                                 const struct text *body, const char *from, const char *to)
{
        c_put(w, "static KERNEL %svoid %s(", c_attribute(w), task->name);
        for (int i = 0; i < task->function->buffer_count; i++) {
                const struct loop_buffer *b = task->function->buffers[i];
                if (c_inside(w, task->function, i))
                        continue;
                c_put(w, "%s%s%s," C_SOFT, pointer_type(w, b),
                      b->alias_class ? "" : w->dialect->restricted, c_name(w, b)->text);
        }
        for (int i = 0; i < task->scalars; i++)
                c_put(w, "%s %s," C_SOFT, c_value_type(w, task->function->scalars[i]->type),
                      c_name(w, task->function->scalars[i])->text);
        c_put(w, "%s %s," C_SOFT "%s %s)", c_type(E_INDEX), from, c_type(E_INDEX), to);
        c_end(w);
        c_line(w, "{");
        w->indent = 1;
        c_unused(w, task->function, task->scalars);
        c_put_inside(w, task->function);
        w->indent = 0;
        text_add_bytes(w->out, body->data, body->length);
        c_line(w, "}");
        c_line(w, "%s", "");
}

/* Prints the function into w->tasks. */
static void define_ordered(struct c_writer *w, struct task *task)
{
        struct loop_function *f = task->function;
        struct loop_variable *index = f->scalars[task->scalars];
        const struct loop_stmt *s = task->launch;
        struct text body = { 0 };
        const struct aside kernel = put_aside(w, s);
        for (int i = 0; i < f->buffer_count; i++)
                c_name_set(w, f->buffers[i], c_local(w, f->buffers[i]->name));
        for (int i = 0; i < task->scalars; i++)
                c_declare(w, f->scalars[i]);
        c_declare(w, index);
        const char *name = c_use(w, index),
                   *from = c_local(w, arena_printf(w->arena, "%s_from", name)),
                   *to = c_local(w, arena_printf(w->arena, "%s_to", name));
        c_find_entries(w, f);
        c_find_pointers(w, f);
        w->out = &body;
        w->indent = 1;
        c_put(w, "for (%s %s = %s;" C_SOFT "%s < %s;" C_SOFT "%s", c_type(E_INDEX), name, from,
              name, to, name);
        c_put(w, s->step == 1 ? "++) {" : " += %lld) {", (long long)s->step);
        c_end(w);
        c_block(w, f->body);
        c_line(w, "}");
        w->out = &w->tasks;
        w->indent = 0;
        put_ordered_function(w, task, &body, from, to);
        go_on(w, &kernel);
        text_free(&body);
}

static void launch_in_order(struct c_writer *w, const struct loop_stmt *s)
{
        struct task task = {
                .launch = s,
                .function = s->function,
                .scalars = loop_scalar_count(s),
                .name = c_global(w, arena_printf(w->arena, "%s_part",
                                                 c_name(w, w->kernel)->text)),
        };
        define_ordered(w, &task);
        c_put(w, "%s(", task.name);
        for (int i = 0; i < s->function->buffer_count; i++)
                if (!c_inside(w, s->function, i))
                        c_put(w, "%s," C_SOFT, c_use(w, s->buffers[i]));
        for (int i = 0; i < task.scalars; i++) {
                c_expression(w, s->scalars[i]);
                c_put(w, "," C_SOFT);
        }
        c_expression(w, s->a);
        c_put(w, "," C_SOFT);
        c_expression(w, s->b);
        c_put(w, ");");
        c_end(w);
}

void c_launch(struct c_writer *w, const struct loop_stmt *s)
{
        if (s->in_order) {
                launch_in_order(w, s);
                return;
        }
        struct loop_function *f = s->function;
        const char *kernel = c_name(w, w->kernel)->text;
        struct task task = {
                .launch = s,
                .function = f,
                .scalars = loop_scalar_count(s),
                .name = c_global(w, arena_printf(w->arena, "%s_task", kernel)),
                .arguments = c_global(w, arena_printf(w->arena, "%s_arguments", kernel)),
        };
        struct range r = range_of(w, s, f->scalars[task.scalars]->name);
        if (!r.literal)
                put_range(w, s, &r);
        define_task(w, &task);
        const char *arguments = has_arguments(&task) ? c_local(w, "arguments") : NULL;
        if (arguments)
                put_arguments(w, &task, &r, arguments);
        put_launch(w, &r, &task, arguments);
        /* Levels are printed from the lowest up. */
        w->tasks_level = w->has_tasks ? w->tasks_level : w->level;
        w->has_tasks = true;
}

/* ---- functions that launches need ---- */

static bool may_launch(const struct c_writer *w)
{
        bool found = w->options->threads > 1;
        for (int l = 0; l < w->level_count; l++)
                for (const struct loop_function *k = w->levels[l].p->kernels; k; k = k->next)
                        found |= k->kind == FUNCTION_TASK;
        return found;
}

void c_parallel_reserve(struct c_writer *w)
{
        if (!may_launch(w))
                return;
        c_reserve(w, "dnncc_parallel");
        c_reserve(w, "part_begin");
        /* It is a parameter of part_begin. */
        names_reserve(w->globals, "c");
}

void c_parallel_top(struct c_writer *w, struct text *out)
{
        bool threads = w->options->threads > 1;
        if (!w->has_tasks)
                return;
        text_add(out, "\n");
        c_level_open(w, out, w->tasks_level);
        text_add(out, "%s%s", threads ? runtime : "", part_begin);
        if (threads)
                c_flush_tasks(w, out);
        c_level_close(w, out, w->tasks_level);
}
