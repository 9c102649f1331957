/* SPDX-License-Identifier: MIT */
/* Under --profile this prints a function that times each launch of run, and a table of the
 * launches.
 *
 * Run is captured as a graph with an event after each launch, so that the host's time is not
 * measured, and replayed; the least time of each launch is kept. Under --profile no launch begins
 * before the preceding one has ended. */
#include "codegen/cuda_writer.h"

#include <string.h>

#include "engines/grid/launch_cost.h"

enum { REPLAYS = 10 };

struct row { const struct loop_function *f; const struct loop_stmt *phase; const char *location; };
struct rows { struct c_writer *w; struct row *list; int count; bool flows; };

static void note_call(struct loop_stmt *s, void *context)
{
        struct rows *r = context;
        r->flows |= s->kind == STMT_FOR || s->kind == STMT_WHILE || s->kind == STMT_IF;
        if (s->kind != STMT_CALL)
                return;
        for (const struct loop_stmt *phase = s->function->body->first; phase; phase = phase->next) {
                if (!grid_lanes(phase->body))
                        continue;
                ARENA_GROW(r->w->arena, r->list, r->count);
                r->list[r->count++] = (struct row){ s->function, phase, loop_call_location(s) };
        }
}

static struct rows find_rows(struct c_writer *w)
{
        struct rows r = { .w = w };
        loop_walk_mains(w->p, note_call, NULL, &r);
        return r;
}

bool cuda_profile_check(struct c_writer *w)
{
        if (!w->options->profile)
                return true;
        struct rows r = find_rows(w);
        if (w->p->entry_count > 1)
                c_fail(w, EXIT_UNSUPPORTED, "--profile: on target %s it is for one entry",
                       w->options->target->name);
        else if (r.flows)
                c_fail(w, EXIT_UNSUPPORTED,
                       "--profile: on target %s it wants a model without control flow",
                       w->options->target->name);
        return !r.flows && w->p->entry_count == 1;
}

void cuda_profile_header(struct c_writer *w)
{
        if (!w->options->profile)
                return;
        const char *prefix = w->options->prefix;
        text_add(w->out, "\n/* profile times each launch. It takes run's arguments behind room for "
                         "the microseconds of each launch, captures the\n"
                         " * stream, which therefore must not be the default one, and waits for "
                         "it. A table says in the same order what each launch\n"
                         " * is: its kernel, the nodes of the model, the grid, the registers that "
                         "its schedule counted on (0: it has none), the bytes\n"
                         " * of shared memory of a block, the blocks that a multiprocessor has at "
                         "a time, and the microseconds that were predicted. */\n");
        c_line(w, "#define %s %d", c_macro(w, "LAUNCHES"), find_rows(w).count);
        text_add(w->out,
                 "struct %s_launch {\n"
                 "        const char *kernel, *location;\n"
                 "        int blocks, threads, registers, shared, resident;\n"
                 "        double waves, microseconds;\n"
                 "};\n"
                 "extern const struct %s_launch %s_launches[];\n",
                 prefix, prefix, prefix);
        c_run_prototype(
                w, arena_printf(w->arena, "int %s_profile(float *microseconds," C_SOFT, prefix));
        c_put(w, ";");
        c_end(w);
}

void cuda_profile_top(struct c_writer *w, struct text *out)
{
        if (!w->options->profile)
                return;
        text_add(out, "\n/* While profile captures, this is the event of the next launch; "
                      "otherwise it is NULL. */\nstatic "
                      "cudaEvent_t *profiled;\n");
}

static void put_table(struct c_writer *w, const struct rows *r)
{
        const char *prefix = w->options->prefix;
        text_add(w->out, "\nconst struct %s_launch %s_launches[] = {\n", prefix, prefix);
        w->indent = 1;
        const bool cold = grid_is_cold(w->target, w->p);
        for (int i = 0; i < r->count; i++) {
                const struct row *row = &r->list[i];
                const struct grid_cost c = grid_cost_of(w->target, row->f, row->phase, cold);
                const char *location = row->location ? row->location : "";
                c_put(w,
                      "{ \"%s\"," C_SOFT "\"%s\"," C_SOFT "%lld, %lld, %d, %lld, %d, %.3g, %.4g },",
                      c_name(w, row->f)->text, text_literal(w->arena, location, strlen(location)),
                      (long long)c.blocks, (long long)(c.warps * c.lanes), c.registers,
                      (long long)c.shared, c.resident, c.waves, c.seconds * 1e6);
                c_end(w);
        }
        if (!r->count)
                c_line(w, "{ \"\", \"\", 0, 0, 0, 0, 0, 0, 0 },");
        w->indent = 0;
        text_add(w->out, "};\n");
}

static const char begin[] =
        "        cudaEvent_t events[%s + 1];\n"
        "        cudaGraph_t graph = NULL;\n"
        "        cudaGraphExec_t exec = NULL;\n"
        "        int made = 0, result = %s;\n"
        "        while (made <= %s && cudaEventCreate(&events[made]) == cudaSuccess)\n"
        "                made++;\n"
        "        if (made > %s && cudaStreamBeginCapture((cudaStream_t)stream, "
        "cudaStreamCaptureModeThreadLocal) == cudaSuccess) {\n"
        "                profiled = events + 1;\n"
        "                result = cudaEventRecordWithFlags(events[0], (cudaStream_t)stream, "
        "cudaEventRecordExternal) == cudaSuccess ? 0 : %s;\n"
        "                if (!result)\n"
        "                        result = ";
static const char end[] =
        "                profiled = NULL;\n"
        "                if (cudaStreamEndCapture((cudaStream_t)stream, &graph) != cudaSuccess || "
        "cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess)\n"
        "                        result = result ? result : %s;\n"
        "        }\n"
        "        for (int i = 0; i < %d && !result; i++) {\n"
        "                if (cudaGraphLaunch(exec, (cudaStream_t)stream) != cudaSuccess || "
        "cudaStreamSynchronize((cudaStream_t)stream) != cudaSuccess)\n"
        "                        result = %s;\n"
        "                for (int k = 0; k < %s && !result; k++) {\n"
        "                        float milliseconds = 0;\n"
        "                        if (cudaEventElapsedTime(&milliseconds, events[k], events[k + 1]) "
        "!= cudaSuccess)\n"
        "                                result = %s;\n"
        "                        if (!i || milliseconds * 1000 < microseconds[k])\n"
        "                                microseconds[k] = milliseconds * 1000;\n"
        "                }\n"
        "        }\n"
        "        if (exec)\n"
        "                cudaGraphExecDestroy(exec);\n"
        "        if (graph)\n"
        "                cudaGraphDestroy(graph);\n"
        "        while (made > 0)\n"
        "                cudaEventDestroy(events[--made]);\n"
        "        return result;\n"
        "}\n";

void cuda_profile(struct c_writer *w)
{
        if (!w->options->profile)
                return;
        const struct rows r = find_rows(w);
        const char *launches = c_macro(w, "LAUNCHES"), *error = c_macro(w, "ERROR_LAUNCH");
        put_table(w, &r);
        text_add(w->out, "\n");
        c_run_prototype(w, arena_printf(w->arena, "int %s_profile(float *microseconds," C_SOFT,
                                        w->options->prefix));
        c_end(w);
        text_add(w->out, "{\n");
        if (!w->options->unchecked)
                text_add(w->out, "        if (!microseconds)\n                return %s;\n",
                         c_macro(w, "ERROR_NULL"));
        text_add(w->out, begin, launches, error, launches, launches, error);
        c_put(w, "%s_run(", w->options->prefix);
        c_run_arguments(w);
        c_put(w, ");");
        c_end(w);
        text_add(w->out, end, error, REPLAYS, error, launches, error);
}
