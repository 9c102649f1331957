/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "front/onnx/onnx.h"
#include "front/caffe/caffe.h"
#include "front/tensorflow/tensorflow.h"
#include "front/tflite/tflite.h"
#include "compiler/report.h"
#include "ir/loop/loop_bounds.h"

/* ---- sizes ---- */

int64_t report_buffer_bytes(const struct loop_buffer *b)
{
        return (b->splat ? 1 : b->extent) * element_info[b->element].bytes;
}

static bool is_stored_constant(const struct loop_buffer *b) { return b->space == SPACE_CONSTANT; }

static bool is_narrow_constant(const struct loop_buffer *b)
{
        return is_stored_constant(b) && element_info[b->element].bytes == 1;
}

static int64_t sum_bytes(const struct loop_program *p, bool (*counts)(const struct loop_buffer *))
{
        int64_t sum = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next)
                if (counts(b))
                        sum += report_buffer_bytes(b);
        return sum;
}

static int larger_first(const void *x, const void *y)
{
        int64_t a = report_buffer_bytes(*(struct loop_buffer *const *)x),
                b = report_buffer_bytes(*(struct loop_buffer *const *)y);
        return a < b   ? 1
               : a > b ? -1
                       : strcmp((*(struct loop_buffer *const *)x)->name,
                                (*(struct loop_buffer *const *)y)->name);
}

enum { LARGEST = 5 };

/* Returns the five largest constants, a line each. */
static char *largest_constants(struct run *run)
{
        int count = 0;
        struct loop_buffer **list = NULL;
        for (struct loop_buffer *b = run->state.program->buffers; b; b = b->next)
                if (is_stored_constant(b)) {
                        ARENA_GROW(run->arena, list, count);
                        list[count++] = b;
                }
        if (count)
                qsort(list, (size_t)count, sizeof *list, larger_first);
        const char *lines = "";
        for (int i = 0; i < count && i < LARGEST; i++)
                lines = arena_printf(run->arena, "%s\n  %-9s %s %" PRId64, lines,
                                     i ? "" : "largest", list[i]->name,
                                     report_buffer_bytes(list[i]));
        return arena_string(run->arena, lines);
}

/* Returns the first and the last of many nodes. */
static const char *brief_nodes(struct arena *arena, const char *nodes)
{
        const char *comma = strstr(nodes, ", "), *last = nodes;
        for (const char *p = comma; p; p = strstr(last, ", "))
                last = p + 2;
        return comma && last > comma + 2
                       ? arena_printf(arena, "%.*s .. %s", (int)(comma - nodes), nodes, last)
                       : nodes;
}

/* Returns "t4 401408 (conv1), ...", the five largest of what is in use when most is. */
static char *largest_residents(struct run *run, const struct plan_facts *facts)
{
        struct text text = { 0 };
        for (int i = 0; i < facts->resident_count && i < 5; i++) {
                const struct loop_buffer *b = facts->residents[i].buffer;
                text_add(&text, "%s%s %" PRId64, i ? ", " : "", b->name, facts->residents[i].bytes);
                if (b->location)
                        text_add(&text, " (%s)", brief_nodes(run->arena, b->location));
        }
        char *copy = arena_string(run->arena, text.data ? text.data : "none");
        text_free(&text);
        return copy;
}

int report_largest_entry(const struct loop_program *p)
{
        int most = 0;
        for (int e = 1; e < p->entry_count; e++)
                if (p->entries[e].workspace_size > p->entries[most].workspace_size)
                        most = e;
        return most;
}

/* Finds the facts of the entry that needs most. */
static struct plan_facts facts_of_largest(struct run *run)
{
        struct loop_program *p = run->state.program;
        p->at = report_largest_entry(p);
        struct plan_facts facts = report_memory(run);
        p->at = 0;
        return facts;
}

struct plan_facts report_memory(struct run *run)
{
        return plan_find_facts(run->arena, run->state.program, run->context.lower.views);
}

int64_t report_ram(const struct loop_program *p)
{
        int64_t ram = loop_workspace_size(p);
        for (int i = 0; i < p->region_count; i++)
                ram += p->regions[i].size;
        return ram + loop_state_size(p);
}

/* Returns what is in use when most is, a line for each of the five largest. */
static const char *largest_lines(struct run *run, const struct plan_facts *facts)
{
        const char *lines = "";
        for (int i = 0; i < facts->resident_count && i < LARGEST; i++) {
                const struct loop_buffer *b = facts->residents[i].buffer;
                lines = arena_printf(run->arena, "%s\n  %-9s %s %" PRId64 "%s%s%s", lines,
                                     i ? "" : "largest", b->name, facts->residents[i].bytes,
                                     b->location ? " (" : "",
                                     b->location ? brief_nodes(run->arena, b->location) : "",
                                     b->location ? ")" : "");
        }
        return lines;
}

/* Returns whether most of what it multiplies by is bytes, or fewer bits: to make bytes of floats is
 * no advice then. */
static bool is_in_bytes(const struct run *run)
{
        const struct loop_program *p = run->state.program;
        return run->options.quantize ||
               2 * sum_bytes(p, is_narrow_constant) > report_constant_bytes(p);
}

/* Reports that the workspace is too large, compiled in all ways that --max-ram knows: the least of
 * them is what is needed. */
static void report_ram_error(struct run *run, int64_t ram)
{
        struct plan_facts facts = facts_of_largest(run);
        struct arena *arena = run->arena;
        const char *obstacle = run->context.obstacle;
        diag_error(&run->diag, EXIT_BUDGET,
                   "the workspace%s %" PRId64 " bytes, --max-ram allows %" PRId64
                   "\n  %-9s %" PRId64
                   " bytes, of all ways that were tried; in any order these kernels take %" PRId64
                   " or more"
                   "%s%s%s%s\n  %-9s " DIAG_HINT("--max-ram=%" PRId64
                   ", which is enough; a smaller shape (--input, --dim)%s"),
                   loop_state_size(run->state.program)     ? ", state and regions take"
                   : run->state.program->region_count ? " and the regions take"
                                                      : " takes",
                   ram,
                   run->options.max_ram, "least", ram, facts.best,
                   facts.where ? arena_printf(arena, "\n  %-9s where '%s' runs", "most",
                                              brief_nodes(arena, facts.where))
                               : "",
                   largest_lines(run, &facts),
                   obstacle ? arena_printf(arena, "\n  %-9s streaming ends ", "rows") : "",
                   obstacle ? obstacle : "", "try", ram,
                   is_in_bytes(run) ? "" : "; --quantize: bytes for floats");
}

bool report_budgets(struct run *run)
{
        const struct loop_program *p = run->state.program;
        const struct options *o = &run->options;
        int64_t ram = report_ram(p), constants = report_constant_bytes(p);
        if (o->max_ram >= 0 && ram > o->max_ram)
                report_ram_error(run, ram);
        if (o->max_consts >= 0 && constants > o->max_consts)
                diag_error(
                        &run->diag, EXIT_BUDGET,
                        "the constants take %" PRId64 " bytes, --max-consts allows %" PRId64
                        "%s\n  %-9s " DIAG_HINT("%s"),
                        constants, o->max_consts, largest_constants(run), "try",
                        is_in_bytes(run)
                                ? arena_printf(run->arena,
                                               "--max-consts=%" PRId64
                                               ", which is enough: most of them are bytes already",
                                               constants)
                                : "--quantize-weights=TYPE (--quantize-weights=help lists them), "
                                  "or --passes=+byte_weights");
        return report_footprint(run) && run->diag.code != EXIT_BUDGET;
}

static void add_call(struct loop_stmt *s, void *context)
{
        struct calls *calls = context;
        if (s->kind != STMT_CALL)
                return;
        ARENA_GROW(calls->arena, calls->items, calls->count);
        calls->items[calls->count++] = s;
        calls->flops += s->function->flops;
        calls->again += s->function->again;
}

/* Returns how often a loop of main runs: 1 where that is not a number. */
static double trips_of(const struct loop_stmt *s)
{
        if (s->kind != STMT_FOR)
                return 1;
        const struct loop_range from = loop_bounds_of(NULL, s->a), to = loop_bounds_of(NULL, s->b);
        bool known = from.low == from.high && to.low == to.high && to.low > from.low;
        return known ? (double)divide_up(to.low - from.low, s->step) : 1;
}

/* Adds the calls of a block that runs `times` times, in the order of loop_block_walk. */
static void add_times(struct calls *calls, const struct loop_block *block, double times)
{
        for (struct loop_stmt *s = block->first; s; s = s->next) {
                if (s->kind == STMT_CALL) {
                        ARENA_GROW(calls->arena, calls->times, calls->count);
                        calls->times[calls->count] = times;
                        add_call(s, calls);
                        calls->flops += (times - 1) * s->function->flops;
                        calls->again += (times - 1) * s->function->again;
                }
                if (s->body)
                        add_times(calls, s->body, times * trips_of(s));
                if (s->other)
                        add_times(calls, s->other, times);
        }
}

struct calls report_calls(struct run *run)
{
        const struct loop_program *p = run->state.program;
        struct calls calls = { .arena = run->arena };
        for (int e = 0; e < p->entry_count; e++)
                add_times(&calls, p->entries[e].main->body, 1);
        return calls;
}

struct calls report_entry_calls(struct run *run, int entry)
{
        const struct loop_program *p = run->state.program;
        struct calls before = { .arena = run->arena }, own = { .arena = run->arena };
        for (int e = 0; e < entry; e++)
                loop_block_walk(p->entries[e].main->body, add_call, NULL, &before);
        add_times(&own, p->entries[entry].main->body, 1);
        own.first = before.count;
        return own;
}

int report_kernel_count(const struct loop_program *p)
{
        int count = 0;
        for (const struct loop_function *k = p->kernels; k; k = k->next)
                count += k->kind == FUNCTION_KERNEL;
        return count;
}

int64_t report_constant_bytes(const struct loop_program *p)
{
        return sum_bytes(p, is_stored_constant);
}

void report_stats(struct run *run)
{
        const struct loop_program *p = run->state.program;
        struct calls calls = report_calls(run);
        fprintf(stderr, "stats: workspace  %" PRId64 " bytes, live peak %" PRId64 " (%.3fx)\n",
                loop_workspace_size(p), loop_live_peak(p),
                loop_live_peak(p) ? (double)loop_workspace_size(p) / (double)loop_live_peak(p)
                                  : 1.0);
        struct plan_facts facts = facts_of_largest(run);
        fprintf(stderr, "stats: memory     LB_op %" PRId64 ", LB_order %" PRId64 ", BEST %" PRId64,
                facts.largest, facts.live_peak, facts.best);
        if (facts.best_found > facts.best)
                fprintf(stderr, " to %" PRId64, facts.best_found);
        fprintf(stderr, ", PLAN %" PRId64 " bytes%s\n", facts.size, facts.proved ? ", proved" : "");
        for (int i = 0; i < p->region_count; i++)
                fprintf(stderr, "stats: region     %s: %" PRId64 " of %" PRId64 " bytes\n",
                        p->regions[i].name, p->regions[i].size, p->regions[i].limit);
        if (loop_state_size(p))
                fprintf(stderr, "stats: state      %" PRId64 " bytes\n", loop_state_size(p));
        fprintf(stderr, "stats: peak       %s\n", largest_residents(run, &facts));
        fprintf(stderr, "stats: constants  %" PRId64 " bytes\n", report_constant_bytes(p));
        fprintf(stderr, "stats: kernels    %d for %d calls, %.1f MFLOP", report_kernel_count(p),
                calls.count, calls.flops * 1e-6);
        if (calls.again > 0)
                fprintf(stderr, ", of these %.1f (%.2f %%) computed again", calls.again * 1e-6,
                        100 * calls.again / (calls.flops - calls.again));
        fputs("\n", stderr);
        report_machine_stats(run);
}

/* ---- the tables as text ---- */

void report_passes(void)
{
        static const char *const level[] = { "tensor", "lower", "loop" };
        for (int i = 0; i < pass_count; i++)
                printf("%-17s %-6s %c  %s\n", passes[i].name, level[passes[i].level],
                       passes[i].class, passes[i].doc);
}

void report_operations(void)
{
        puts("operations of the Tensor IR:");
        for (int i = 0; i < OPCODE_COUNT; i++)
                printf("  %-16s %s%s%s\n", op_info[i].name, op_info[i].doc,
                       op_info[i].formula ? ": " : "",
                       op_info[i].formula ? op_info[i].formula : "");
        puts("\nONNX operators:");
        const struct onnx_row *rows;
        int count = onnx_rows(&rows);
        for (int i = 0; i < count; i++) {
                printf("  %s%s%-24s opset %d", rows[i].domain, *rows[i].domain ? "." : "",
                       rows[i].op, rows[i].since);
                if (rows[i].until < 999)
                        printf("..%d", rows[i].until);
                putchar('\n');
        }
        puts("\nTFLite operators:");
        const struct tflite_row *builtin;
        count = tflite_rows(&builtin);
        for (int i = 0; i < count; i++)
                printf("  %s\n", builtin[i].name);
        puts("\nCaffe layers:");
        const struct caffe_row *layers;
        count = caffe_rows(&layers);
        for (int i = 0; i < count; i++)
                if (layers[i].kind == CAFFE_IMPORTED)
                        printf("  %s\n", layers[i].type);
        puts("\nTensorFlow operators:");
        const struct tf_row *nodes;
        count = tf_rows(&nodes);
        for (int i = 0; i < count; i++)
                printf("  %s\n", nodes[i].name);
}

void report_limits(void)
{
#define LIMIT(name, preset, doc) printf("%-18s %14lld  %s\n", #name, (long long)(preset), doc);
#include "passes/limits.def"
}
