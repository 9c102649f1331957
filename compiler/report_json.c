/* SPDX-License-Identifier: MIT */
/* --report=FILE.json has the facts of a compilation for tools. docs/interface.md says what the
 * members mean. */
#include "compiler/report.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "compiler/harness.h"
#include "cost/code.h"
#include "engines/grid/launch_cost.h"
#include "ir/loop/loop_record.h"
#include "ir/target/rates.h"
#include "passes/memory/lifetimes.h"

/* These are the bytes that a call touches if it touches all of its parameters once. */
struct traffic { int64_t read, constants, written; };

static struct traffic traffic_of(const struct loop_stmt *call)
{
        struct traffic t = { 0 };
        for (int i = 0; i < call->function->buffer_count; i++) {
                const struct loop_buffer *parameter = call->function->buffers[i];
                int64_t bytes = parameter->extent * element_info[parameter->element].bytes;
                t.read += parameter->access & ACCESS_IN ? bytes : 0;
                t.written += parameter->access & ACCESS_OUT ? bytes : 0;
                t.constants += loop_buffer_root(call->buffers[i], NULL)->space == SPACE_CONSTANT
                                       ? bytes
                                       : 0;
        }
        return t;
}

/* Returns the next phase of a kernel that is a launch; NULL is behind the last. */
static const struct loop_stmt *next_launch(const struct loop_stmt *phase)
{
        while (phase && (!loop_for_is_phase(phase->for_kind) || !grid_lanes(phase->body)))
                phase = phase->next;
        return phase;
}

static bool is_cold(const struct run *run)
{
        return grid_is_cold(run->context.target, run_program(run, run->target_count - 1));
}

static double launched_seconds(const struct loop_function *kernel, const struct target *target,
                               bool cold)
{
        double seconds = 0;
        for (const struct loop_stmt *phase = next_launch(kernel->body->first); phase;
             phase = next_launch(phase->next))
                seconds += grid_cost_of(target, kernel, phase, cold).seconds;
        return seconds;
}

static void put_launches(FILE *out, const struct loop_function *kernel, const struct target *target,
                         bool cold)
{
        const char *comma = "";
        fputs(", \"launches\": [", out);
        for (const struct loop_stmt *phase = next_launch(kernel->body->first); phase;
             phase = next_launch(phase->next), comma = ", ") {
                const struct grid_cost c = grid_cost_of(target, kernel, phase, cold);
                fprintf(out,
                        "%s{\"blocks\": %" PRId64 ", \"threads\": %" PRId64
                        ", \"registers\": %d, \"shared\": %" PRId64
                        ", \"resident\": %d, \"waves\": %.0f, \"microseconds\": %.3f}",
                        comma, c.blocks, c.warps * c.lanes, c.registers, c.shared, c.resident,
                        c.waves, c.seconds * 1e6);
        }
        fputs("]", out);
}

/* Counts what a call executes (cost/code.h), with nothing known of arguments that main computes. */
static double counted(const struct run *run, const struct loop_stmt *call, enum code_count what)
{
        struct arena *scratch = arena_new();
        const int count = call->function->scalar_count;
        struct loop_range *scalars = arena_array(scratch, (size_t)count + 1, sizeof *scalars);
        for (int i = 0; i < count; i++)
                scalars[i] = loop_bounds_of(NULL, call->scalars[i]);
        const double n = code_count(what, run->context.target, call->function, scalars);
        arena_free(scratch);
        return n;
}

/* Do instructions say how long the call takes on the target? What a kernel that can stop executes
 * is not known: its loops go on where they were. */
static bool counts_instructions(const struct run *run, const struct loop_stmt *call)
{
        const struct loop_program *p = run->state.program;
        bool stops = false;
        for (int i = 0; i < p->entry_count; i++)
                stops |= record_is_passed(&p->entries[i], call);
        return target_engine(run->context.target)->single_sums && !stops;
}

double report_instructions(struct run *run)
{
        double sum = 0;
        for (int e = 0; e < run->state.program->entry_count; e++) {
                const struct calls own = report_entry_calls(run, e);
                for (int i = 0; i < own.count; i++) {
                        if (!counts_instructions(run, own.items[i]))
                                return -1;
                        sum += counted(run, own.items[i], COUNT_INSTRUCTIONS);
                }
        }
        return sum;
}

static void put_counts(FILE *out, const struct run *run, const struct loop_stmt *call)
{
        fprintf(out, ", \"instructions\": %.0f, \"loads\": %.0f, \"stores\": %.0f",
                counted(run, call, COUNT_INSTRUCTIONS), counted(run, call, COUNT_LOADS),
                counted(run, call, COUNT_STORES));
}

/* Predicts cycles of a core, roughly: what such code costs or, where there is a schedule, the
 * operations at the full rate of fused multiply-adds, but no less than the bytes at the rate of the
 * second cache. For a stream it is what the model of its machine says, and for a grid's launches
 * what is predicted of them. */
static double predicted_cycles(const struct loop_stmt *call, bool scheduled,
                               const struct traffic *t, const struct run *run)
{
        const struct loop_function *kernel = call->function;
        const struct target *target = run->context.target;
        double bytes = (double)(t->read + t->written) / rate_l2(target),
               cycles = report_machine_cycles(kernel);
        if (cycles >= 0)
                return cycles;
        if (target_engine(target)->launches)
                return launched_seconds(kernel, target, is_cold(run)) * target_gpu(target)->clock;
        if (counts_instructions(run, call))
                return counted(run, call, COUNT_INSTRUCTIONS) +
                       rate_code_load_wait(target) * counted(run, call, COUNT_LOADS) +
                       rate_code_branch_wait(target) * counted(run, call, COUNT_BRANCHES);
        if (scheduled) {
                cycles = kernel->flops / (2 * rate_issue(target) * target_lanes(target, E_F32));
        } else {
                struct arena *scratch = arena_new();
                cycles = cost_of_code(target, loop_bounds_new(scratch, kernel), kernel->body);
                arena_free(scratch);
        }
        return cycles > bytes ? cycles : bytes;
}

static bool is_scheduled(const struct loop_function *kernel)
{
        return kernel->summary && strstr(kernel->summary, "; ");
}

double report_call_cycles(const struct run *run, const struct loop_stmt *call)
{
        const struct traffic t = traffic_of(call);
        return predicted_cycles(call, is_scheduled(call->function), &t, run);
}

int64_t report_call_bytes(const struct loop_stmt *call)
{
        const struct traffic t = traffic_of(call);
        return t.read + t.written;
}

static void put_list(FILE *out, const char *name, const struct loop_stmt *call,
                     const char *(*text)(const struct loop_stmt *call, int i))
{
        fprintf(out, ", \"%s\": [", name);
        for (int i = 0; i < call->function->buffer_count; i++) {
                fputs(i ? ", " : "", out);
                json_string(out, text(call, i));
        }
        fputs("]", out);
}

static const char *buffer_name(const struct loop_stmt *call, int i)
{
        return call->buffers[i]->name;
}

static const char *buffer_access(const struct loop_stmt *call, int i)
{
        static const char *const
                access[] = { [ACCESS_IN] = "in", [ACCESS_OUT] = "out", [ACCESS_INOUT] = "inout" };
        return access[call->function->buffers[i]->access];
}

void report_call_cost(struct run *run, const struct loop_stmt *call, struct call_cost *cost)
{
        const struct traffic t = traffic_of(call);
        const char *summary = call->function->summary ? call->function->summary : "",
                   *schedule = strstr(summary, "; ");
        const int length = (int)(schedule ? schedule - summary : (ptrdiff_t)strlen(summary));
        *cost = (struct call_cost){ .computes = arena_printf(run->arena, "%.*s", length, summary),
                                    .schedule = schedule ? schedule + 2 : "",
                                    .flops = call->function->flops,
                                    .cycles = predicted_cycles(call, schedule, &t, run),
                                    .read = t.read,
                                    .constants = t.constants,
                                    .written = t.written };
}

void report_call_json(struct run *run, FILE *out, const struct loop_stmt *call, int number,
                      int entry)
{
        const struct loop_function *kernel = call->function;
        struct call_cost cost;
        report_call_cost(run, call, &cost);
        json_member(out, "{", "kernel", kernel->name);
        json_member(out, ", ", "location", loop_call_location(call));
        json_member(out, ", ", "summary", cost.computes);
        json_member(out, ", ", "schedule", cost.schedule);
        fprintf(out,
                ", \"flops\": %.0f, \"again\": %.0f, \"read\": %" PRId64 ", \"constants\": %" PRId64
                ", \"written\": %" PRId64 ", \"cycles\": %.0f",
                cost.flops, kernel->again, cost.read, cost.constants, cost.written, cost.cycles);
        if (counts_instructions(run, call))
                put_counts(out, run, call);
        if (target_engine(run->context.target)->launches)
                put_launches(out, kernel, run->context.target, is_cold(run));
        if (run->bench && run->bench[entry].known)
                fprintf(out, ", \"seconds\": %.9f", run->bench[entry].each.calls[number]);
        if (run->state.program->entry_count > 1)
                json_member(out, ", ", "entry", run->state.program->entries[entry].name);
        put_list(out, "buffers", call, buffer_name);
        put_list(out, "access", call, buffer_access);
        fputs("}", out);
}

static void put_calls(FILE *out, struct run *run)
{
        int number = 0;
        for (int e = 0; e < run->state.program->entry_count; e++) {
                const struct calls own = report_entry_calls(run, e);
                for (int i = 0; i < own.count; i++, number++) {
                        fputs(number ? ",\n    " : "\n    ", out);
                        report_call_json(run, out, own.items[i], number, e);
                }
        }
}

/* Writes a port as the caller sees it. */
static void put_port(FILE *out, const struct loop_buffer *b)
{
        fprintf(out, ", \"type\": %d, \"shape\": [",
                element_info[b->is_text ? E_STRING : loop_buffer_element(b)].onnx);
        for (int d = 0; b->type && d < b->type->rank - b->is_text; d++)
                fprintf(out, "%s%" PRId64, d ? ", " : "", type_extent(b->type, d));
        fputs("]", out);
}

static void put_buffers(FILE *out, const struct loop_program *p)
{
        static const char *const space[] = { [SPACE_INPUT] = "input",
                                             [SPACE_OUTPUT] = "output",
                                             [SPACE_STATE] = "state",
                                             [SPACE_CONSTANT] = "constant",
                                             [SPACE_WORKSPACE] = "workspace",
                                             [SPACE_VIEW] = "view" };
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                json_member(out, b == p->buffers ? "\n    {" : ",\n    {", "name", b->name);
                json_member(out, ", ", "space", space[b->space]);
                json_member(out, ", ", "element", element_info[b->element].text);
                fprintf(out, ", \"elements\": %" PRId64 ", \"bytes\": %" PRId64, b->extent,
                        report_buffer_bytes(b));
                if (b->port)
                        json_member(out, ", ", "port", b->port);
                if (b->location)
                        json_member(out, ", ", "location", b->location);
                if (loop_is_port(b))
                        put_port(out, b);
                if (p->entry_count > 1 && !loop_is_of_all(b))
                        json_member(out, ", ", "entry", p->entries[b->entry].name);
                if (b->space == SPACE_WORKSPACE)
                        fprintf(out, ", \"region\": %d, \"offset\": %" PRId64, b->region,
                                b->offset);
                if (b->space == SPACE_VIEW) {
                        json_member(out, ", ", "of", b->view_of->name);
                        fprintf(out, ", \"at\": %" PRId64, b->view_offset);
                }
                fputs("}", out);
        }
}

static void put_passes(FILE *out, const struct run *run)
{
        for (int i = 0; i < run->state_count; i++) {
                const struct report_state *s = &run->states[i];
                json_member(out, i ? ",\n    {" : "\n    {", "pass", s->pass ? s->pass->name : "");
                json_member(out, ", ", "level", s->loops ? "loop" : "tensor");
                fprintf(out, ", \"rewrites\": %d, \"size\": %d}", s->rewrites, s->size);
        }
}

static void put_floats(FILE *out, const struct run *run)
{
        for (int i = 0; i < run->float_count; i++) {
                const struct report_float *f = &run->floats[i];
                json_member(out, i ? ",\n    {" : "\n    {", "location", f->location);
                json_member(out, ", ", "operation", f->operation);
                json_member(out, ", ", "why", f->why);
                fputs("}", out);
        }
}

/* Writes the four numbers, the buffers that live at the peak, and the regions. */
static void put_plan(FILE *out, struct run *run)
{
        const struct loop_program *p = run->state.program;
        struct plan_facts facts = report_memory(run);
        fprintf(out,
                "\"largest_kernel\": %" PRId64 ", \"live_peak\": %" PRId64 ", \"best\": %" PRId64
                ", \"best_found\": %" PRId64 ", \"plan\": %" PRId64
                ", \"proved\": %s,\n    \"peak\": [",
                facts.largest, facts.live_peak, facts.best, facts.best_found, facts.size,
                facts.proved ? "true" : "false");
        for (int i = 0; i < facts.resident_count; i++) {
                json_member(out, i ? ",\n      {" : "\n      {", "buffer",
                            facts.residents[i].buffer->name);
                json_member(out, ", ", "location", facts.residents[i].buffer->location);
                fprintf(out, ", \"bytes\": %" PRId64 "}", facts.residents[i].bytes);
        }
        fputs("],\n    \"regions\": [", out);
        for (int i = 0; i < p->region_count; i++) {
                json_member(out, i ? ", {" : "{", "name", p->regions[i].name);
                fprintf(out, ", \"size\": %" PRId64 ", \"limit\": %" PRId64 "}", p->regions[i].size,
                        p->regions[i].limit);
        }
        fputs("],\n    ", out);
}

/* Writes what the workspace holds when: bytes from `offset` on, in use from one statement of main
 * to another (passes/memory/lifetimes.h). */
static void put_memory(FILE *out, struct run *run)
{
        struct lifetimes l = lifetimes_planned(run->arena, run->state.program);
        fputs("{", out);
        put_plan(out, run);
        fprintf(out, "\"statements\": %d, \"in_use\": [", l.statements);
        const char *before = "\n    {";
        for (int i = 0; i < l.count; i++)
                for (int k = 0; k < l.storages[i].span_count; k++) {
                        const struct storage *storage = &l.storages[i];
                        const struct span *span = &storage->spans[k];
                        json_member(out, before, "buffer", storage->buffer->name);
                        fprintf(out,
                                ", \"region\": %d, \"offset\": %" PRId64 ", \"bytes\": %" PRId64
                                ", \"from\": %d, \"to\": %d}",
                                storage->buffer->region, storage->buffer->offset + span->start,
                                span->end - span->start, span->first, span->last);
                        before = ",\n    {";
                }
        fputs("]}", out);
}

/* Writes what a core can do in a cycle: operations on f32, and bytes from the second cache and from
 * memory. */
static void put_machine(FILE *out, const struct target *target)
{
        json_member(out, "  ", "language", target_printer(target)->language);
        fprintf(out, ", \"machine\": {\"flops\": %g, \"l2\": %g, \"memory\": %g},\n",
                2 * rate_issue(target) * harness_lanes(target), rate_l2(target),
                rate_memory(target));
}

/* Writes what --bench measured. */
static void put_bench(FILE *out, const struct report_bench *b)
{
        const struct harness_times *t = &b->whole;
        fprintf(out,
                "  \"bench\": {\"seconds\": %g, \"runs\": %.0f, \"median\": %.9f, \"p5\": %.9f, "
                "\"p95\": %.9f, \"peak\": %.9g, "
                "\"with_kernels\": %.9f},\n",
                b->seconds, t->runs, t->median, t->low, t->high, t->peak, b->each.median);
}

/* Writes what is of each of several entries. */
static void put_entries(FILE *out, struct run *run)
{
        struct loop_program *p = run->state.program;
        fputs("  \"entries\": [", out);
        for (p->at = 0; p->at < p->entry_count; p->at++) {
                json_member(out, p->at ? ",\n   {" : "\n   {", "name", loop_entry_at(p)->name);
                fprintf(out, ", \"workspace\": %" PRId64 ", \"live_peak\": %" PRId64 ",\n",
                        loop_entry_at(p)->workspace_size, loop_entry_at(p)->live_peak);
                if (run->bench && run->bench[p->at].known)
                        put_bench(out, &run->bench[p->at]);
                fputs("  \"memory\": ", out);
                put_memory(out, run);
                fputs("}", out);
        }
        p->at = 0;
        fputs("\n  ],\n", out);
}

void report_json(struct run *run, FILE *out)
{
        struct loop_program *p = run->state.program;
        struct calls calls = report_calls(run);
        const char *model = p->name ? p->name : "";
        json_member(out, "{\n  ", "dnncc", DNNCC_VERSION);
        json_member(out, ", ", "model", text_safe(run->arena, model, strlen(model)));
        json_member(out, ", ", "source", p->source);
        json_member(out, ",\n  ", "options", p->command);
        json_member(out, ", ", "target", run->context.target->name);
        fprintf(out, ", \"vector_bytes\": %d,\n", target_vector_bytes(run->context.target));
        put_machine(out, run->context.target);
        if (p->entry_count > 1)
                put_entries(out, run);
        else if (run->bench)
                put_bench(out, run->bench);
        fprintf(out,
                "  \"workspace\": %" PRId64 ", \"live_peak\": %" PRId64 ", \"constants\": %" PRId64
                ",\n",
                loop_workspace_size(p), loop_live_peak(p), report_constant_bytes(p));
        fprintf(out, "  \"kernels\": %d, \"flops\": %.0f, \"again\": %.0f,\n  \"calls\": [",
                report_kernel_count(p), calls.flops, calls.again);
        put_calls(out, run);
        fputs("\n  ],\n  \"buffers\": [", out);
        put_buffers(out, p);
        fputs("\n  ],\n  \"memory\": ", out);
        p->at = report_largest_entry(p);
        put_memory(out, run);
        p->at = 0;
        fputs(",\n  \"passes\": [", out);
        put_passes(out, run);
        fputs("\n  ],\n  \"floats\": [", out);
        put_floats(out, run);
        fputs("\n  ],\n  \"remarks\": [", out);
        remarks_json(run, out);
        fputs("\n  ]", out);
        report_machine_json(run, out);
        fputs("\n}\n", out);
}
