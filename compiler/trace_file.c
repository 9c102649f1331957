/* SPDX-License-Identifier: MIT */
/* --profile=FILE gives generated code the table of kernel calls, and, with --bench, the program
 * what writes the trace: the runtime's trace_file.c (runtime_files.c). */
#include "compiler/trace.h"

#include <string.h>

#include "compiler/process.h"
#include "compiler/report.h"
#include "passes/memory/lifetimes.h"

bool trace_wanted(const struct options *o) { return o->profile && *o->profile; }

/* ---- the table ---- */

struct table {
        struct run *run;
        struct print_kernel *kernels;
        int count, statements;
        const int64_t *live;
};

static void note_statement(struct loop_stmt *s, void *context)
{
        struct table *t = context;
        int statement = t->statements++;
        if (s->kind != STMT_CALL)
                return;
        ARENA_GROW(t->run->arena, t->kernels, t->count);
        t->kernels[t->count++] =
                (struct print_kernel){ s->function->name, loop_call_location(s), s->function->flops,
                                       report_call_bytes(s), t->live[statement] };
}

void trace_table(struct run *run, struct print_options *options)
{
        struct loop_program *p = run->state.program;
        int peak;
        struct table t = { .run = run };
        for (p->at = 0; p->at < p->entry_count; p->at++) {
                struct lifetimes l = lifetimes_planned(run->arena, p);
                t.live = lifetimes_live(&l, &peak);
                t.statements = 0;
                loop_block_walk(loop_main(p)->body, note_statement, NULL, &t);
        }
        p->at = 0;
        options->trace = run->options.profile;
        options->kernels = t.kernels;
        options->kernel_count = t.count;
}

bool trace_is_possible(struct run *run)
{
        if (!trace_wanted(&run->options) || !target_engine(run->context.target)->launches)
                return true;
        diag_error(&run->diag, EXIT_USAGE,
                   "--profile=FILE is for what runs on a processor, not with a GPU, whose "
                   "launches --profile alone times");
        return false;
}

/* ---- for --bench ---- */

void trace_expect(const struct harness *h) { temporary_expect(harness_path(h, TRACE_WRITTEN, "")); }

bool trace_write_sources(const struct harness *h) { return runtime_write(h, RUNTIME_TRACE); }

bool trace_copy(const struct harness *h, FILE *out)
{
        struct run *run = h->run;
        FILE *in = fopen(harness_path(h, TRACE_WRITTEN, ""), "rb");
        if (!in)
                return harness_fail(
                        h, EXIT_INTERNAL,
                        run->options.runner
                                ? "the program's file '" TRACE_WRITTEN
                                  "' with the trace is not in its folder: "
                                  "a --runner that runs it elsewhere has to bring it back"
                                : "the compiled program wrote no trace");
        char block[4096];
        for (size_t got; (got = fread(block, 1, sizeof block, in)) > 0;)
                fwrite(block, 1, got, out);
        fclose(in);
        return true;
}
