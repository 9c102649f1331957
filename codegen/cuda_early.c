/* SPDX-License-Identifier: MIT */
/* Launches that begin before those in front of them have ended (programmatic dependent launches), on devices that have them.
 *
 *     launch_dependents();            the next launch may begin: its blocks, where there is room beside this one's
 *     copy_async(ws, w, true);        weights are there already
 *     launch_wait();                  until the launch in front has ended, and what it wrote is seen
 *     y[at] = x[at] + ...
 *
 * So a launch takes what its first instructions and its weights take less. Where a kernel waits follows from its statements: before the
 * first that touches anything but constants. All of a kernel's threads wait; what ends has therefore been preceded by all in front of it, so
 * that nothing but weights is ever read or written too early. */
#include "codegen/cuda_writer.h"

/* ---- what is constant ---- */

struct arguments { const struct loop_function *of; const struct loop_buffer *parameter; bool constant; };

static void look_at_call(struct loop_stmt *s, void *context)
{
        struct arguments *a = context;
        if (s->kind != STMT_CALL || s->function != a->of)
                return;
        for (int i = 0; i < s->function->buffer_count; i++)
                if (s->function->buffers[i] == a->parameter)
                        a->constant &= loop_buffer_root(s->buffers[i], NULL)->space == SPACE_CONSTANT;
}

/* is it, in all calls? */
static bool is_constant(const struct c_writer *w, const struct loop_function *f, const struct loop_buffer *parameter)
{
        struct arguments a = { f, parameter, parameter->access == ACCESS_IN };
        loop_block_walk(w->p->main->body, look_at_call, NULL, &a);
        return a.constant;
}

bool cuda_changes(const struct c_writer *w, const struct loop_function *f, const struct loop_buffer *parameter)
{
        return target_begins_early(w->target) && parameter->access == ACCESS_IN && !is_constant(w, f, parameter);
}

/* ---- where a kernel waits ---- */

struct touching { const struct c_writer *w; const struct loop_function *f; bool found; };

static void look_at_buffer(struct touching *t, struct loop_buffer *b)
{
        b = b ? loop_buffer_root(b, NULL) : NULL;
        for (int i = 0; b && i < t->f->buffer_count; i++)
                if (t->f->buffers[i] == b)
                        t->found |= !is_constant(t->w, t->f, b);
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

static void look_at_expr(struct loop_expr *e, void *context)
{
        look_at_buffer(context, e->buffer);
}

static bool touches(const struct c_writer *w, const struct loop_function *f, const struct loop_stmt *s)
{
        struct loop_stmt alone = *s;
        struct loop_block block = { .first = &alone, .end = &alone.next };
        struct touching t = { .w = w, .f = f };
        alone.next = NULL;
        loop_block_walk(&block, look_at_stmt, look_at_expr, &t);
        return t.found;
}

void cuda_early_block(struct c_writer *w, const struct loop_block *body)
{
        struct loop_block before = { .end = &before.first };
        struct loop_stmt *s = body->first, *last = NULL;
        while (s && !touches(w, w->kernel, s)) {
                last = s;
                s = s->next;
        }
        w->indent++;
        c_line(w, "launch_dependents();");
        w->indent--;
        if (last) {                     /* in two halves, which are one block */
                before.first = body->first;
                last->next = NULL;
                c_block(w, &before);
                last->next = s;
        }
        w->indent++;
        c_line(w, "launch_wait();");
        w->indent--;
        struct loop_block behind = { .first = s, .end = body->end };
        c_block(w, &behind);
}

static const char leaves[] =
        "\n"
        "#ifndef CUDA_CPU\n"
        "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900\n"
        "#error \"launches wait inside kernels: compile this file for GPUs from Hopper on (-arch=sm_90)\"\n"
        "#endif\n"
        "/* the launch behind this one may begin; until the one in front has ended, and what it wrote is seen */\n"
        "static __device__ __forceinline__ void launch_dependents(void) { asm volatile(\"griddepcontrol.launch_dependents;\"); }\n"
        "static __device__ __forceinline__ void launch_wait(void) { asm volatile(\"griddepcontrol.wait;\" ::: \"memory\"); }\n"
        "#endif\n";

void cuda_early_top(struct c_writer *w, struct text *out)
{
        if (target_begins_early(w->target) && w->cuda->phase_count)
                text_add(out, "%s", leaves);
}
