/* Parallel loops: the body becomes a task that takes a range of the iterations, and what it uses of
 * the kernel travels in a struct.
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
 * Each thread computes what the plain loop would: the bits do not depend on how many there are. */
#include "codegen/c_writer.h"

#include <string.h>

static const char runtime[] =
        "/* Calls task(arg, index, count) for each index below count, on threads: dnncc_runtime.h, or the\n"
        " * program's own. */\n"
        "extern void dnncc_parallel(void (*task)(void *arg, int index, int count), void *arg, int count);\n"
        "\n"
        "/* where part b of c begins in a iterations */\n"
        "static inline ptrdiff_t part_begin(ptrdiff_t a, int b, int c)\n"
        "{\n"
        "        return a / c * b + a % c * b / c;\n"
        "}\n";

/* ---- what the body uses of the kernel ---- */

struct capture {
        struct loop_buffer *buffer;     /* one of the two */
        struct loop_variable *variable;
        struct c_name *outer, *inner;
};
struct captures {
        struct arena *arena;
        struct map *known;              /* captured, or the body's own */
        struct capture *items;
        size_t count;
};

static void capture(struct captures *c, struct loop_buffer *buffer, struct loop_variable *variable)
{
        const void *object = buffer ? (const void *)buffer : (const void *)variable;
        if (!object || map_get(c->known, (const char *)&object, sizeof object))
                return;
        map_set(c->known, (const char *)&object, sizeof object, c);
        ARENA_GROW(c->arena, c->items, c->count);
        c->items[c->count++] = (struct capture){ .buffer = buffer, .variable = variable };
}

static void find_own(struct loop_stmt *s, void *context)
{
        struct captures *c = context;
        const void *own = s->kind == STMT_FOR || s->kind == STMT_LET || s->kind == STMT_VAR
                                  ? (const void *)s->variable
                          : s->kind == STMT_ALLOC ? (const void *)s->buffer
                                                  : NULL;
        if (own)
                map_set(c->known, (const char *)&own, sizeof own, c);
}

static void find_buffer(struct loop_stmt *s, void *context)
{
        if (s->buffer)
                capture(context, loop_buffer_root(s->buffer, NULL), NULL);
        if (s->weights)
                capture(context, s->weights, NULL);
}

static void find_operand(struct loop_expr *e, void *context)
{
        if (e->op == LOOP_LOAD)
                capture(context, loop_buffer_root(e->buffer, NULL), NULL);
        else if (e->op == LOOP_VARIABLE)
                capture(context, NULL, e->variable);
}

/* Parameters come in their order; those that the body does not use are not printed. */
static void find_captures(struct captures *c, const struct loop_function *kernel,
                          const struct loop_stmt *loop)
{
        const void *counter = loop->variable;
        map_set(c->known, (const char *)&counter, sizeof counter, c);
        for (int i = 0; i < kernel->buffer_count; i++)
                capture(c, kernel->buffers[i], NULL);
        for (int i = 0; i < kernel->scalar_count; i++)
                capture(c, NULL, kernel->scalars[i]);
        loop_block_walk(loop->body, find_own, NULL, c);
        loop_block_walk(loop->body, find_buffer, find_operand, c);
}

static const void *object_of(const struct capture *c)
{
        return c->buffer ? (const void *)c->buffer : (const void *)c->variable;
}

/* while the task is printed they have names of their own */
static void rename_all(struct c_writer *w, struct captures *captures)
{
        for (size_t i = 0; i < captures->count; i++) {
                struct capture *c = &captures->items[i];
                c->outer = c_name(w, object_of(c));
                c->inner = c_name_set(w, object_of(c),
                                      c_local(w, c->buffer ? c->buffer->name : c->variable->name));
        }
}

static void restore_all(struct c_writer *w, struct captures *captures)
{
        for (size_t i = 0; i < captures->count; i++) {
                const void *object = object_of(&captures->items[i]);
                map_set(w->names, (const char *)&object, sizeof object, captures->items[i].outer);
        }
}

/* "const f32 *", "float " */
static const char *type_of(struct c_writer *w, const struct capture *c)
{
        const struct loop_buffer *b = c->buffer;
        if (!b)
                return arena_printf(w->arena, "%s ", c_value_type(w, c->variable->type));
        if (b->space != SPACE_PARAMETER)
                return arena_printf(w->arena, "%s *", element_info[b->element].c_type);
        return arena_printf(w->arena, "%s%s *", b->access == ACCESS_IN ? "const " : "",
                            c_memory_type(w, b->element));
}

/* ---- the range of iterations ---- */

struct range {
        bool literal;
        int64_t begin, count;           /* when literal */
        struct loop_variable *begin_variable, *count_variable;   /* else: of the kernel */
};

static struct range range_of(struct c_writer *w, const struct loop_stmt *s)
{
        struct range r = { 0 };
        int64_t end;
        if (loop_is_int(s->a, &r.begin) && loop_is_int(s->b, &end)) {
                r.literal = true;
                r.count = end > r.begin ? (end - r.begin + s->step - 1) / s->step : 0;
                return r;
        }
        const char *name = s->variable->name;
        r.begin_variable = loop_variable_new(w->arena, arena_printf(w->arena, "%s_begin", name),
                                             LOOP_TYPE(E_INDEX), VARIABLE_LET);
        r.count_variable = loop_variable_new(w->arena, arena_printf(w->arena, "%s_count", name),
                                             LOOP_TYPE(E_INDEX), VARIABLE_LET);
        return r;
}

static void put_range(struct c_writer *w, const struct loop_stmt *s, const struct range *r)
{
        const char *type = c_type(E_INDEX);
        c_declare(w, r->begin_variable);
        c_declare(w, r->count_variable);
        c_put(w, "const %s %s = ", type, c_use(w, r->begin_variable));
        c_expression(w, s->a);
        c_put(w, ";");
        c_end(w);
        c_put(w, "const %s %s = ", type, c_use(w, r->count_variable));
        c_put(w, s->step == 1 ? "" : "(");
        c_operand(w, s->b, C_SUM);
        c_put(w, " -" C_SOFT "%s", c_use(w, r->begin_variable));
        if (s->step != 1)
                c_put(w, " + %lld) / %lld", (long long)s->step - 1, (long long)s->step);
        c_put(w, ";");
        c_end(w);
}

/* where the part begins, in the task */
static void put_bound(struct c_writer *w, const struct loop_stmt *s, const struct range *r,
                      const char *part, const char *parts)
{
        if (!r->literal)
                c_put(w, "%s + ", c_use(w, r->begin_variable));
        else if (r->begin)
                c_put(w, "%lld + ", (long long)r->begin);
        if (s->step != 1)
                c_put(w, "%lld *" C_SOFT, (long long)s->step);
        c_put(w, "part_begin(");
        if (r->literal)
                c_put(w, "%lld", (long long)r->count);
        else
                c_put(w, "%s", c_use(w, r->count_variable));
        c_put(w, "," C_SOFT "%s," C_SOFT "%s)", part, parts);
}

/* ---- the task ---- */

struct task { const char *name, *arguments, *arg, *part, *parts; };

static void put_loop(struct c_writer *w, const struct loop_stmt *s, const struct range *r,
                     const struct task *task)
{
        c_declare(w, s->variable);
        const char *name = c_use(w, s->variable);
        const char *end = c_local(w, arena_printf(w->arena, "%s_end", name));
        c_put(w, "const %s %s = ", c_type(E_INDEX), end);
        put_bound(w, s, r, arena_printf(w->arena, "%s + 1", task->part), task->parts);
        c_put(w, ";");
        c_end(w);
        c_put(w, "for (%s %s = ", c_type(E_INDEX), name);
        put_bound(w, s, r, task->part, task->parts);
        c_put(w, ";" C_SOFT "%s < %s;" C_SOFT "%s", name, end, name);
        c_put(w, s->step == 1 ? "++) {" : " += %lld) {", (long long)s->step);
        c_end(w);
        c_block(w, s->body);
        c_line(w, "}");
}

static void put_struct(struct c_writer *w, const struct captures *captures, const struct task *task)
{
        c_line(w, "struct %s {", task->arguments);
        w->indent++;
        for (size_t i = 0; i < captures->count; i++)
                if (captures->items[i].inner->used)
                        c_line(w, "%s%s;", type_of(w, &captures->items[i]),
                               captures->items[i].inner->text);
        w->indent--;
        c_line(w, "};");
        c_line(w, "%s", "");
}

static void put_task(struct c_writer *w, const struct captures *captures, const struct task *task,
                     const struct text *body, bool any)
{
        if (any)
                put_struct(w, captures, task);
        c_line(w, "static %svoid %s(void *%s, int %s, int %s)", c_attribute(w), task->name,
               task->arg, task->part, task->parts);
        c_line(w, "{");
        w->indent++;
        const char *arguments = c_local(w, "arguments");
        if (any)
                c_line(w, "const struct %s *const %s = %s;", task->arguments, arguments, task->arg);
        else
                c_line(w, "(void)%s;", task->arg);
        for (size_t i = 0; i < captures->count; i++) {
                const struct capture *c = &captures->items[i];
                bool alone = c->buffer && c->buffer->space == SPACE_PARAMETER &&
                             c->buffer->alias_class == 0;
                if (c->inner->used)
                        c_line(w, "%s%s%s%s = %s->%s;", c->buffer ? "" : "const ", type_of(w, c),
                               alone ? "restrict " : "", c->inner->text, arguments, c->inner->text);
        }
        w->indent--;
        text_add_bytes(w->out, body->data, body->length);
        c_line(w, "}");
        c_line(w, "%s", "");
}

/* Into w->tasks; whether it has arguments. */
static bool define_task(struct c_writer *w, const struct loop_stmt *s, const struct range *r,
                        struct captures *captures, struct task *task)
{
        struct names *locals = w->locals;
        struct text *out = w->out, body = { 0 };
        int indent = w->indent;
        w->locals = names_new(w->arena);
        task->arg = c_local(w, "arg");
        task->part = c_local(w, "part");
        task->parts = c_local(w, "parts");
        rename_all(w, captures);
        w->out = &body;
        w->indent = 1;
        put_loop(w, s, r, task);
        bool any = false;
        for (size_t i = 0; i < captures->count; i++)
                any |= captures->items[i].inner->used;
        w->out = &w->tasks;
        w->indent = 0;
        put_task(w, captures, task, &body, any);
        restore_all(w, captures);
        w->locals = locals;
        w->out = out;
        w->indent = indent;
        text_free(&body);
        return any;
}

/* ---- the kernel's side ---- */

static void put_arguments(struct c_writer *w, const struct captures *captures,
                          const struct task *task, const char *name)
{
        const char *lead = " ";
        c_put(w, "struct %s %s = {", task->arguments, name);
        for (size_t i = 0; i < captures->count; i++)
                if (captures->items[i].inner->used) {
                        c_put(w, "%s%s", lead, c_use(w, object_of(&captures->items[i])));
                        lead = "," C_SOFT;
                }
        c_put(w, " };");
        c_end(w);
}

static void put_launch(struct c_writer *w, const struct range *r, const struct task *task,
                       const char *arguments)
{
        int threads = w->options->threads;
        c_put(w, "%s(%s," C_SOFT "%s%s," C_SOFT, c_flush_parallel(w), task->name,
              arguments ? "&" : "", arguments ? arguments : "NULL");
        if (r->literal) {
                c_put(w, "%d);", r->count < threads ? (int)r->count : threads);
        } else {
                const char *count = c_use(w, r->count_variable);
                c_put(w, "%s < %d ? (int)%s : %d);", count, threads, count, threads);
        }
        c_end(w);
}

bool c_parallel(struct c_writer *w, const struct loop_stmt *s)
{
        struct range r = range_of(w, s);
        if (w->options->threads < 2 || (r.literal && r.count < 2))
                return false;
        const char *kernel = c_name(w, w->kernel)->text;
        struct task task = {
                .name = c_global(w, arena_printf(w->arena, "%s_task", kernel)),
                .arguments = c_global(w, arena_printf(w->arena, "%s_arguments", kernel)),
        };
        struct captures captures = { .arena = w->arena, .known = map_new(w->arena) };
        find_captures(&captures, w->kernel, s);
        if (!r.literal) {
                put_range(w, s, &r);
                capture(&captures, NULL, r.begin_variable);
                capture(&captures, NULL, r.count_variable);
        }
        bool any = define_task(w, s, &r, &captures, &task);
        const char *arguments = any ? c_local(w, "arguments") : NULL;
        if (any)
                put_arguments(w, &captures, &task, arguments);
        put_launch(w, &r, &task, arguments);
        w->threads_level = w->uses_threads ? w->threads_level : w->level;         /* levels are printed upwards */
        w->uses_threads = true;
        return true;
}

void c_parallel_reserve(struct c_writer *w)
{
        if (w->options->threads < 2)
                return;
        c_reserve(w, "dnncc_parallel");
        c_reserve(w, "part_begin");
        names_reserve(w->globals, "c");           /* a parameter of part_begin */
}

void c_parallel_top(struct c_writer *w, struct text *out)
{
        if (!w->uses_threads)
                return;
        text_add(out, "\n");
        c_level_open(w, out, w->threads_level);
        text_add(out, "%s", runtime);
        c_flush_tasks(w, out);
        c_level_close(w, out, w->threads_level);
}
