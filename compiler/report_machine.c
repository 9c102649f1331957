/* SPDX-License-Identifier: MIT */
/* --report and --stats say what a machine has to do, and what stays on the processor; models that
 * give it nothing are an error. */
#include "compiler/report.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "codegen/machines/machines.h"

static bool is_contraction(const struct op *op)
{
        return op_info[op->code].traits & TRAIT_CONTRACTION;
}

/* Returns the next contraction behind `last`, the first where that is NULL, or NULL where there is
 * none. */
static const struct op *next_contraction(const struct region *region, const struct op *last)
{
        do
                last = region_walk(region, last);
        while (last && !is_contraction(last));
        return last;
}

static int count_quantized(const struct module *m)
{
        int count = 0;
        for (const struct function *f = m ? m->functions : NULL; f; f = f->next)
                for (const struct op *op = next_contraction(&f->body, NULL); op;
                     op = next_contraction(&f->body, op))
                        count += report_multiplies_bytes(op);
        return count;
}

bool report_machine_has_work(struct run *run)
{
        const struct options *o = &run->options;
        const struct machine *m = target_accelerator(run->context.target);
        const bool wanted = m && !o->exact && !o->passes && o->level >= 2 && run->state.module &&
                            run->state.program && !writes_ranges(o);
        const struct calls calls = wanted ? report_calls(run) : (struct calls){ .count = 0 };
        bool launches = !wanted;
        for (int i = 0; i < calls.count; i++)
                launches |= report_is_launch(calls.items[i]);
        if (launches)
                return true;
        const int count = count_quantized(run->state.module);
        if (count)
                diag_warning(&run->diag,
                             "nothing runs on machine %s: %d quantized convolutions and products "
                             "stay in C (--report says why)",
                             m->name, count);
        else
                diag_error(&run->diag, EXIT_UNSUPPORTED,
                           "nothing of the model is for machine %s: it has no convolution or "
                           "product of bytes, which is what the machine computes; "
                           "--quantize makes some, --target=%s is plain C",
                           m->name, run->context.target->base->name);
        return count > 0;
}

double report_machine_cycles(const struct loop_function *kernel)
{
        const bool runs = kernel->kind == FUNCTION_STREAM && machine_driver(kernel->machine);
        struct arena *scratch = runs ? arena_new() : NULL;
        struct machine_measure measure;
        struct diag silent = { .silent = true };
        const double cycles = scratch && machine_measure(kernel, scratch, &measure, &silent)
                                      ? (double)measure.whole.cycles
                                      : -1;
        arena_free(scratch);
        return cycles;
}

/* ---- JSON ---- */

static void put_memories(FILE *out, const struct machine *m, const char *name,
                         const int64_t *numbers, int64_t stored)
{
        fprintf(out, ", \"%s\": {", name);
        for (int k = 0; k < MACHINE_MEMORIES && m->memories[k].name; k++) {
                fputs(k ? ", " : "", out);
                json_string(out, m->memories[k].name);
                fprintf(out, ": %" PRId64,
                        numbers[k] + (stored >= 0 && k == m->stored ? stored : 0));
        }
        fputs("}", out);
}

static void put_part(FILE *out, const struct machine *m, const struct machine_part *p)
{
        fprintf(out,
                "\"cycles\": %" PRId64 ", \"serial\": %" PRId64 ", \"products\": %" PRId64
                ", \"utilization\": %.4f",
                p->cycles, p->serial, p->products,
                p->cycles ? (double)p->products / (double)p->cycles : 0.0);
        json_member(out, ", ", "bound", p->bound);
        fprintf(out, ", \"instructions\": %" PRId64 ", \"micro_ops\": %" PRId64, p->instructions,
                p->places);
        put_memories(out, m, "bytes", p->loaded, p->stored);
        put_memories(out, m, "least", p->least, p->least_stored);
        put_memories(out, m, "used", p->used, -1);
        fputs("}", out);
}

/* Returns the nodes that read a constant, or NULL. */
static const char *reader_of(const struct module *m, const void *data)
{
        for (const struct function *f = m && data ? m->functions : NULL; f; f = f->next)
                for (const struct op *op = region_walk(&f->body, NULL); op;
                     op = region_walk(&f->body, op))
                        for (int k = 0; k < op->operand_count; k++) {
                                const struct value *v = op_operand(op, k);
                                if (v && value_is_constant(v) &&
                                    constant_data(v->constant) == data && op->location)
                                        return op->region->owner && op->region->owner->location
                                                       ? op->region->owner->location
                                                       : op->location;
                        }
        return NULL;
}

static const char *location_of(const struct module *m, const struct loop_stmt *call,
                               const struct loop_buffer *parameter)
{
        for (int k = 0; k < call->function->buffer_count; k++)
                if (call->function->buffers[k] == parameter) {
                        const struct loop_buffer *root = loop_buffer_root(call->buffers[k], NULL);
                        const char *reader = root->location ? NULL : reader_of(m, root->data);
                        return root->location ? root->location
                               : root->port   ? root->port
                               : reader       ? reader
                                              : root->name;
                }
        return loop_call_location(call);
}

static void put_launch(FILE *out, const struct module *m, const struct loop_stmt *call, int number,
                       const struct machine_measure *measure)
{
        fprintf(out, "{\"call\": %d, ", number);
        json_member(out, "", "kernel", call->function->name);
        json_member(out, ", ", "location", loop_call_location(call));
        fputs(", \"layers\": [", out);
        for (int k = 0; k < measure->part_count; k++) {
                json_member(out, k ? ",\n      {" : "\n      {", "location",
                            location_of(m, call, measure->parts[k].result));
                fputs(", ", out);
                put_part(out, call->function->machine, &measure->parts[k]);
        }
        fputs("],\n      ", out);
        put_part(out, call->function->machine, &measure->whole);
}

static void add_part(struct machine_part *sum, const struct machine_part *p)
{
        sum->cycles += p->cycles;
        sum->serial += p->serial;
        sum->products += p->products;
        sum->instructions += p->instructions;
        sum->places += p->places;
        sum->stored += p->stored;
        sum->least_stored += p->least_stored;
        for (int k = 0; k < MACHINE_MEMORIES; k++) {
                sum->loaded[k] += p->loaded[k];
                sum->least[k] += p->least[k];
                sum->used[k] = p->used[k] > sum->used[k] ? p->used[k] : sum->used[k];
        }
        sum->bound = !sum->bound || !strcmp(sum->bound, p->bound) ? p->bound : "different things";
}

/* Measures all launches; returns false where there are none, or none can be measured. */
static bool measure_all(struct run *run, const struct calls *calls, struct machine_measure *all,
                        struct machine_part *sum)
{
        const struct machine *m = target_accelerator(run->context.target);
        const struct machine_driver *d = m ? machine_driver(m) : NULL;
        int launches = 0;
        *sum = (struct machine_part){ 0 };
        for (int i = 0; d && i < calls->count; i++) {
                struct diag silent = { .silent = true };
                if (!report_is_launch(calls->items[i]))
                        continue;
                if (!machine_measure(calls->items[i]->function, run->arena, &all[i], &silent))
                        return false;
                add_part(sum, &all[i].whole);
                launches++;
        }
        return launches > 0;
}

static double share_of_machine(const struct calls *calls, int *launched)
{
        double on = 0;
        *launched = 0;
        for (int i = 0; i < calls->count; i++)
                if (report_is_launch(calls->items[i])) {
                        on += calls->items[i]->function->flops;
                        ++*launched;
                }
        return calls->flops > 0 ? on / calls->flops : 0;
}

static void put_processor(FILE *out, const struct calls *calls, const char **why)
{
        const char *before = "\n      {";
        fputs(",\n    \"processor\": [", out);
        for (int i = 0; i < calls->count; i++) {
                const struct loop_stmt *call = calls->items[i];
                if (report_is_launch(call))
                        continue;
                fprintf(out, "%s\"call\": %d, \"flops\": %.0f", before, i, call->function->flops);
                json_member(out, ", ", "location", loop_call_location(call));
                json_member(out, ", ", "why", why[i]);
                fputs("}", out);
                before = ",\n      {";
        }
        fputs("]", out);
}

void report_machine_json(struct run *run, FILE *out)
{
        const struct machine *m = target_accelerator(run->context.target);
        const struct calls calls = report_calls(run);
        struct machine_part sum;
        struct machine_measure *all = arena_array(run->arena, (size_t)calls.count + 1, sizeof *all);
        int launched;
        if (!m)
                return;
        const bool measured = measure_all(run, &calls, all, &sum);
        const struct placement placement = report_placement(run, &calls);
        json_member(out, ",\n  \"accelerator\": {", "machine", m->name);
        int64_t sizes[MACHINE_MEMORIES];
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                sizes[k] = m->memories[k].bytes;
        put_memories(out, m, "memories", sizes, -1);
        fprintf(out, ", \"flops_share\": %.6f", share_of_machine(&calls, &launched));
        node_shares_json(out, placement.nodes);
        fprintf(out, ", \"launch_count\": %d, \"kernels_on_processor\": %d,\n    \"network\": ",
                launched, calls.count - launched);
        if (measured) {
                fputs("{", out);
                put_part(out, m, &sum);
        } else {
                fputs("null", out);
        }
        fputs(",\n    \"launches\": [", out);
        const char *before = "\n    ";
        for (int i = 0; i < calls.count && measured; i++)
                if (report_is_launch(calls.items[i])) {
                        fputs(before, out);
                        put_launch(out, run->state.module, calls.items[i], i, &all[i]);
                        before = ",\n    ";
                }
        fputs("]", out);
        put_processor(out, &calls, placement.why);
        fputs("}", out);
}

/* ---- --stats ---- */

static void say_part(const char *what, const struct machine_part *p)
{
        int64_t loaded = 0, least = 0;
        for (int k = 0; k < MACHINE_MEMORIES; k++) {
                loaded += p->loaded[k];
                least += p->least[k];
        }
        fprintf(stderr,
                "stats: %-10s %9" PRId64 " cycles, %5.1f %% products, bound by %s; read %" PRId64
                " (%.2f of the least), written %" PRId64 "\n",
                what, p->cycles, p->cycles ? 100.0 * (double)p->products / (double)p->cycles : 0.0,
                p->bound, loaded, least ? (double)loaded / (double)least : 1.0, p->stored);
}

void report_machine_stats(struct run *run)
{
        const struct machine *m = target_accelerator(run->context.target);
        const struct calls calls = report_calls(run);
        struct machine_part sum;
        struct machine_measure *all = arena_array(run->arena, (size_t)calls.count + 1, sizeof *all);
        int launched, number = 0;
        if (!m)
                return;
        const struct placement placement = report_placement(run, &calls);
        const double share = share_of_machine(&calls, &launched);
        fprintf(stderr,
                "stats: machine    %s: %d launches, %.2f %% of the products; %d kernels stay on "
                "the processor\n",
                m->name, launched, 100 * share, calls.count - launched);
        node_shares_say(stderr, placement.nodes, m->name);
        fputs("\n", stderr);
        if (measure_all(run, &calls, all, &sum)) {
                for (int i = 0; i < calls.count; i++)
                        for (int k = 0; k < all[i].part_count; k++)
                                say_part(arena_printf(run->arena, "layer %d", ++number),
                                         &all[i].parts[k]);
                say_part("all", &sum);
                fprintf(stderr,
                        "stats: program    %" PRId64 " instructions, %" PRId64
                        " micro-ops; one by one %" PRId64 " cycles; used",
                        sum.instructions, sum.places, sum.serial);
                for (int k = 0; k < MACHINE_MEMORIES && m->memories[k].name; k++)
                        fprintf(stderr, " %s %" PRId64 "/%" PRId64, m->memories[k].name,
                                sum.used[k], m->memories[k].bytes);
                fputs("\n", stderr);
        }
        for (int i = 0; i < calls.count; i++) {
                const char *location = loop_call_location(calls.items[i]),
                           *summary = calls.items[i]->function->summary;
                if (!report_is_launch(calls.items[i]))
                        fprintf(stderr, "stats: in C       %s, %.*s: %s\n",
                                location ? location : calls.items[i]->function->name,
                                (int)(summary ? strcspn(summary, " ,") : 0), summary ? summary : "",
                                placement.why[i]);
        }
}
