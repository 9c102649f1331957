/* SPDX-License-Identifier: MIT */
/* --flush-denormals: numbers too small for a full mantissa count as 0 while the model computes,
 * because each costs a processor hundreds of cycles.
 *
 *     const unsigned control = flush_denormals();
 *     status = run_x86_64_v4(workspace, x, y);
 *     restore_denormals(control);
 *
 * The compiler knows nothing of this state: a function that is not inlined keeps its arithmetic
 * between the two calls. Every thread has a state of its own, so tasks do the same. */
#include "codegen/c_writer.h"
#include "ir/loop/loop_build.h"

/* This is printed for programs of a target with such a register. */
static const char top[] =
        "/* Denormal numbers count as 0 while run computes: %s, and restored afterwards. */\n"
        "#if %s\n"
        "#include %s\n"
        "#define NOT_INLINE __attribute__((noinline))\n"
        "static inline void restore_denormals(%s control) { %s }\n"
        "static inline %s flush_denormals(void)\n"
        "{\n"
        "        %s control;\n"
        "        %s\n"
        "        restore_denormals(control | %s);\n"
        "        return control;\n"
        "}\n"
        "#else\n"
        "#define NOT_INLINE\n"
        "static inline %s flush_denormals(void) { return 0; }\n"
        "static inline void restore_denormals(%s control) { (void)control; }\n"
        "#endif\n";

static const char tasks[] =
        "\n"
        "/* Each task sets and restores them, too, on whatever thread it runs. */\n"
        "struct flushed { void (*task)(void *arg, int index, int count); void *arg; };\n"
        "static void run_flushed(void *arg, int index, int count)\n"
        "{\n"
        "        const struct flushed *const flushed = arg;\n"
        "        const %s control = flush_denormals();\n"
        "        flushed->task(flushed->arg, index, count);\n"
        "        restore_denormals(control);\n"
        "}\n"
        "static NOT_INLINE void parallel_flushed(void (*task)(void *arg, int index, int count), "
        "void *arg, int count)\n"
        "{\n"
        "        struct flushed flushed = { task, arg };\n"
        "        dnncc_parallel(run_flushed, &flushed, count);\n"
        "}\n";

static bool flushes(const struct c_writer *w) { return w->options->flush_denormals; }

void c_flush_reserve(struct c_writer *w)
{
        static const char *const words[] = { "flush_denormals", "restore_denormals",
                                             "NOT_INLINE",      "flushed",
                                             "run_flushed",     "parallel_flushed" };
        for (size_t i = 0; flushes(w) && i < sizeof words / sizeof *words; i++)
                c_reserve(w, words[i]);
        if (flushes(w))
                names_reserve(w->globals, "control");
}

static void find_float_vector(struct loop_expr *e, void *found)
{
        *(bool *)found |= e->type.lanes > 1 && e->type.element == E_F32;
}

/* Does the level compute with vectors of f32 on a target that flushes denormal numbers there? */
static bool has_flushed_vectors(const struct c_level *level)
{
        bool found = false;
        if (!target_flushes(level->target))
                return false;
        for (const struct loop_function *k = level->p->kernels; k && !found; k = k->next)
                loop_block_walk(k->body, NULL, find_float_vector, &found);
        return found;
}

void c_flush_rules(struct c_writer *w)
{
        if (flushes(w))
                text_add(w->out, " *\n * Denormal numbers count as 0 in it; the processor's state "
                                 "is the caller's again when it returns.\n");
        for (int i = 0; i < w->level_count && !flushes(w); i++)
                if (has_flushed_vectors(&w->levels[i]))
                        text_add(w->out, " *\n * Denormal numbers count as 0 in vectors of %s.\n",
                                 w->levels[i].target->name);
}

void c_flush_top(struct c_writer *w, struct text *out)
{
        if (!flushes(w))
                return;
        const struct target *t = w->options->target;
        const struct float_control *c = target_control(t);
        text_add(out, "\n");
        text_add(out, top, c->name, target_machine(t), target_include(t), c->type, c->write,
                 c->type, c->type, c->read, c->bits, c->type, c->type);
}

void c_flush_begin(struct c_writer *w)
{
        if (!flushes(w))
                return;
        c_line(w, "int status;");
        c_line(w, "const %s control = flush_denormals();",
               target_control(w->options->target)->type);
}

void c_flush_end(struct c_writer *w)
{
        if (!flushes(w))
                return;
        c_line(w, "restore_denormals(control);");
        c_line(w, "return status;");
}

const char *c_flush_attribute(const struct c_writer *w) { return flushes(w) ? "NOT_INLINE " : ""; }

void c_flush_tasks(struct c_writer *w, struct text *out)
{
        if (flushes(w))
                text_add(out, tasks, target_control(w->options->target)->type);
}

const char *c_flush_parallel(const struct c_writer *w)
{
        return flushes(w) ? "parallel_flushed" : "dnncc_parallel";
}
