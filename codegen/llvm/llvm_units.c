/* SPDX-License-Identifier: MIT */
/* Objects of a program for this process. Its kernels are shared among modules, each of which has a
 * context of its own, so that threads make their code at the same time:
 *
 *      module 0      main, which calls all kernels, and the kernels that are its share
 *      module 1 ..   other kernels
 *
 * What is printed of a kernel does not depend on its module, so the bits do not depend on how many
 * there are. Modules are printed one after the other; the code of one is made while the next is
 * printed. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/llvm/llvm_writer.h"
#include "ir/loop/loop_build.h"

enum { UNITS_MAX = LLVM_OBJECTS_MAX };
/* A thread more is worth its module where kernels have so many statements and expressions for it:
 * LLVM makes code of them at some 5 to 10 microseconds each (docs/measurements/jit.md), and another
 * context with its thread takes 2 ms. */
enum { NODES_LEAST = 2000 };

/* ---- shares ---- */

struct kernel { const struct loop_function *f; int64_t nodes; int unit; };

struct sharing {
        struct arena *arena;
        struct map *known;
        struct kernel *kernels;
        int count;
};

static void count_statement(struct loop_stmt *s, void *nodes)
{
        (void)s;
        ++*(int64_t *)nodes;
}

static void count_expression(struct loop_expr *e, void *nodes)
{
        (void)e;
        ++*(int64_t *)nodes;
}

static void add_kernel(struct loop_stmt *s, void *context)
{
        struct sharing *sharing = context;
        const struct loop_function *f = s->kind == STMT_CALL ? s->function : NULL;
        if (!f || map_get(sharing->known, (const char *)&f, sizeof f))
                return;
        map_set(sharing->known, (const char *)&f, sizeof f, s);
        ARENA_GROW(sharing->arena, sharing->kernels, sharing->count);
        struct kernel *k = &sharing->kernels[sharing->count++];
        *k = (struct kernel){ .f = f };
        loop_block_walk(f->body, count_statement, count_expression, &k->nodes);
}

static int larger_first(const void *x, const void *y)
{
        const struct kernel *a = x, *b = y;
        return a->nodes < b->nodes   ? 1
               : a->nodes > b->nodes ? -1
                                     : strcmp(a->f->name, b->f->name);
}

static int processors(void)
{
        const long count = sysconf(_SC_NPROCESSORS_ONLN);
        return count < 1 ? 1 : count > UNITS_MAX ? UNITS_MAX : (int)count;
}

/* Shares the kernels that main calls among at most so many units: the largest that is left goes to
 * who has least. Returns how many units there are. */
static int share_kernels(struct sharing *s, const struct loop_program *p,
                         const struct llvm_options *options)
{
        const int64_t worth = options->module_nodes ? options->module_nodes : NODES_LEAST;
        const int most = options->compilers ? options->compilers : processors();
        int64_t load[UNITS_MAX] = { 0 }, all = 0;
        s->known = map_new(s->arena);
        loop_block_walk(loop_main(p)->body, add_kernel, NULL, s);
        for (int k = 0; k < s->count; k++)
                all += s->kernels[k].nodes;
        int units = all / worth < most ? (int)(all / worth) : most;
        units = units < 1 ? 1 : units > UNITS_MAX ? UNITS_MAX : units;
        qsort(s->kernels, (size_t)s->count, sizeof *s->kernels, larger_first);
        for (int k = 0; k < s->count; k++) {
                int least = 0;
                for (int u = 1; u < units; u++)
                        if (load[u] < load[least])
                                least = u;
                s->kernels[k].unit = least;
                load[least] += s->kernels[k].nodes;
        }
        return units;
}

/* ---- printing ---- */

static void print_unit(struct llvm_writer *w, void *context)
{
        const struct sharing *s = context;
        if (w->unit == 0)
                llvm_print_main(w, LLVM_MAIN);
        for (int k = 0; k < s->count; k++)
                if (s->kernels[k].unit == w->unit)
                        llvm_function(w, (struct loop_function *)(uintptr_t)s->kernels[k].f);
}

/* Keeps in the map which unit a kernel is printed in. */
static void number_units(struct sharing *s)
{
        s->known = map_new(s->arena);
        for (int k = 0; k < s->count; k++)
                map_set(s->known, (const char *)&s->kernels[k].f, sizeof s->kernels[k].f,
                        &s->kernels[k].unit);
}

/* ---- code ---- */

struct job {
        struct llvm_module module;
        const struct target *target;
        enum llvm_level level;
        LLVMMemoryBufferRef object;
        char wrong[256];                /* Why there is none, in LLVM's words. */
        pthread_t thread;
        bool has_thread;
};

static void *make_code(void *context)
{
        struct job *job = context;
        const struct llvm_module *m = &job->module;
        char *said = NULL;
        if (!llvm_optimize(m->module, m->machine, job->target, job->level, false, job->wrong,
                           sizeof job->wrong))
                return NULL;
        if (!llvm.TargetMachineEmitToMemoryBuffer(m->machine, m->module, LLVMObjectFile, &said,
                                                  &job->object))
                return NULL;
        snprintf(job->wrong, sizeof job->wrong, "%s", said);
        llvm.DisposeMessage(said);
        job->object = NULL;
        return NULL;
}

/* Makes code beside what goes on here, or, where there is no thread for it, at once. LLVM recurses
 * as deep as expressions nest, so the thread has a stack as large as this one's usually is. */
static void start(struct job *job)
{
        enum { STACK = 8 << 20 };
        pthread_attr_t attributes;
        if (!pthread_attr_init(&attributes)) {
                pthread_attr_setstacksize(&attributes, STACK);
                job->has_thread = !pthread_create(&job->thread, &attributes, make_code, job);
                pthread_attr_destroy(&attributes);
        }
        if (!job->has_thread)
                make_code(job);
}

/* Takes the object of a job that was started; false: it has none. */
static bool finish(struct job *job, struct llvm_objects *objects, struct diag *diag)
{
        if (job->has_thread)
                pthread_join(job->thread, NULL);
        llvm_module_free(&job->module);
        if (job->object)
                objects->items[objects->count++] = job->object;
        else
                diag_error(diag, EXIT_UNSUPPORTED, "--jit: LLVM makes no code: %s", job->wrong);
        return job->object;
}

void llvm_objects_free(struct llvm_objects *objects)
{
        for (int i = 0; i < objects->count; i++)
                llvm.DisposeMemoryBuffer(objects->items[i]);
        objects->count = 0;
}

bool llvm_object_of(struct llvm_objects *objects, struct arena *arena, const struct loop_program *p,
                    const struct target *t, const struct llvm_options *options,
                    void (*print)(struct llvm_writer *w, void *context), void *context,
                    struct diag *diag)
{
        struct job job = { .target = t, .level = options->level };
        const struct llvm_unit unit = { .print = print, .context = context };
        objects->items = arena_array(arena, 1, sizeof *objects->items);
        objects->count = 0;
        if (!llvm_module(&job.module, p, t, options, &unit, diag))
                return false;
        make_code(&job);
        return finish(&job, objects, diag);
}

bool llvm_objects(struct llvm_objects *objects, struct arena *arena, const struct loop_program *p,
                  const struct target *t, const struct llvm_options *options, struct diag *diag)
{
        struct arena *own = arena_new();
        struct sharing s = { .arena = own };
        const int units = share_kernels(&s, p, options);
        struct job *jobs = arena_array(own, (size_t)units, sizeof *jobs);
        int printed = units;
        number_units(&s);
        objects->items = arena_array(arena, (size_t)units, sizeof *objects->items);
        objects->count = 0;
        bool fine = true;
        for (int u = units - 1; u >= 0 && fine; u--) {
                jobs[u] = (struct job){ .target = t, .level = options->level };
                const struct llvm_unit unit = { .number = u,
                                                .units = units > 1 ? s.known : NULL,
                                                .print = print_unit,
                                                .context = &s };
                fine = llvm_module(&jobs[u].module, p, t, options, &unit, diag);
                printed -= fine;
                if (fine && u)
                        start(&jobs[u]);
                else if (fine)
                        make_code(&jobs[u]);
        }
        for (int u = units - 1; u >= printed; u--)
                fine = finish(&jobs[u], objects, diag) && fine;
        arena_free(own);
        if (!fine)
                llvm_objects_free(objects);
        return fine;
}
