#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/driver.h"
#include "compiler/import/onnx.h"

/* ---- sizes ---- */

static int64_t buffer_bytes(const struct loop_buffer *b)
{
        return (b->splat ? 1 : b->extent) * element_info[b->element].bytes;
}

static bool is_stored_constant(const struct loop_buffer *b) { return b->space == SPACE_CONSTANT; }
static bool is_workspace(const struct loop_buffer *b) { return b->space == SPACE_WORKSPACE; }

static int64_t sum_bytes(const struct loop_program *p, bool (*counts)(const struct loop_buffer *))
{
        int64_t sum = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next)
                if (counts(b))
                        sum += buffer_bytes(b);
        return sum;
}

static int larger_first(const void *x, const void *y)
{
        int64_t a = buffer_bytes(*(struct loop_buffer *const *)x), b = buffer_bytes(*(struct loop_buffer *const *)y);
        return a < b ? 1 : a > b ? -1 : strcmp((*(struct loop_buffer *const *)x)->name, (*(struct loop_buffer *const *)y)->name);
}

/* "conv1 802816, t4 401408, ...": the five largest */
static char *largest(struct run *run, bool (*counts)(const struct loop_buffer *))
{
        int count = 0;
        for (struct loop_buffer *b = run->state.program->buffers; b; b = b->next)
                count += counts(b);
        struct loop_buffer **list = arena_array(run->arena, (size_t)count + 1, sizeof *list);
        count = 0;
        for (struct loop_buffer *b = run->state.program->buffers; b; b = b->next)
                if (counts(b))
                        list[count++] = b;
        qsort(list, (size_t)count, sizeof *list, larger_first);
        struct text text = { 0 };
        for (int i = 0; i < count && i < 5; i++)
                text_add(&text, "%s%s %" PRId64, i ? ", " : "", list[i]->name, buffer_bytes(list[i]));
        char *copy = arena_string(run->arena, text.data ? text.data : "none");
        text_free(&text);
        return copy;
}

bool report_budgets(struct run *run)
{
        const struct loop_program *p = run->state.program;
        const struct options *o = &run->options;
        int64_t constants = sum_bytes(p, is_stored_constant);
        if (o->max_ram >= 0 && p->workspace_size > o->max_ram)
                diag_error(&run->diag, EXIT_BUDGET, "the workspace takes %" PRId64 " bytes, --max-ram allows %" PRId64
                           "; largest: %s", p->workspace_size, o->max_ram, largest(run, is_workspace));
        if (o->max_consts >= 0 && constants > o->max_consts)
                diag_error(&run->diag, EXIT_BUDGET, "the constants take %" PRId64 " bytes, --max-consts allows %" PRId64
                           "; largest: %s", constants, o->max_consts, largest(run, is_stored_constant));
        return run->diag.code != EXIT_BUDGET;
}

/* The kernel calls of main in the order of its text, those under control flow included, each once. */
struct calls { struct arena *arena; const struct loop_stmt **items; int count; double flops; };

static void add_call(struct loop_stmt *s, void *context)
{
        struct calls *calls = context;
        if (s->kind != STMT_CALL)
                return;
        ARENA_GROW(calls->arena, calls->items, calls->count);
        calls->items[calls->count++] = s;
        calls->flops += s->function->flops;
}

static struct calls list_calls(struct run *run)
{
        struct calls calls = { .arena = run->arena };
        loop_block_walk(run->state.program->main->body, add_call, NULL, &calls);
        return calls;
}

static int count_kernels(const struct loop_program *p)
{
        int count = 0;
        for (const struct loop_function *k = p->kernels; k; k = k->next)
                count++;
        return count;
}

void report_stats(struct run *run)
{
        const struct loop_program *p = run->state.program;
        struct calls calls = list_calls(run);
        fprintf(stderr, "stats: workspace  %" PRId64 " bytes, live peak %" PRId64 " (%.3fx)\n", p->workspace_size,
                p->live_peak, p->live_peak ? (double)p->workspace_size / (double)p->live_peak : 1.0);
        fprintf(stderr, "stats: constants  %" PRId64 " bytes\n", sum_bytes(p, is_stored_constant));
        fprintf(stderr, "stats: kernels    %d for %d calls, %.1f MFLOP\n", count_kernels(p), calls.count, calls.flops * 1e-6);
}

/* ---- --report: JSON, described in docs/interface.md ---- */

static void put_string(FILE *out, const char *text)
{
        fputc('"', out);
        for (; text && *text; text++) {
                unsigned char c = (unsigned char)*text;
                if (c < ' ' || c > '~')
                        fprintf(out, "\\u%04x", c);
                else
                        fprintf(out, c == '"' || c == '\\' ? "\\%c" : "%c", c);
        }
        fputc('"', out);
}

static void put_member(FILE *out, const char *before, const char *name, const char *text)
{
        fprintf(out, "%s\"%s\": ", before, name);
        put_string(out, text);
}

/* What a call touches if it touches all of its parameters once. */
static void put_bytes(FILE *out, const struct loop_stmt *call)
{
        const struct loop_function *kernel = call->function;
        int64_t read = 0, constants = 0, written = 0;
        for (int i = 0; i < kernel->buffer_count; i++) {
                const struct loop_buffer *parameter = kernel->buffers[i];
                int64_t bytes = parameter->extent * element_info[parameter->element].bytes;
                read += parameter->access & ACCESS_IN ? bytes : 0;
                written += parameter->access & ACCESS_OUT ? bytes : 0;
                constants += loop_buffer_root(call->buffers[i], NULL)->space == SPACE_CONSTANT ? bytes : 0;
        }
        fprintf(out, ", \"flops\": %.0f, \"read\": %" PRId64 ", \"constants\": %" PRId64 ", \"written\": %" PRId64,
                kernel->flops, read, constants, written);
}

static void put_call(FILE *out, const struct loop_stmt *call, struct arena *arena)
{
        const struct loop_function *kernel = call->function;
        const char *summary = kernel->summary ? kernel->summary : "", *schedule = strstr(summary, "; ");
        int length = (int)(schedule ? schedule - summary : (ptrdiff_t)strlen(summary));
        put_member(out, "    {", "kernel", kernel->name);
        put_member(out, ", ", "location", kernel->location);
        put_member(out, ", ", "summary", arena_printf(arena, "%.*s", length, summary));
        put_member(out, ", ", "schedule", schedule ? schedule + 2 : "");
        put_bytes(out, call);
        fputs(", \"buffers\": [", out);
        for (int i = 0; i < kernel->buffer_count; i++) {
                fputs(i ? ", " : "", out);
                put_string(out, call->buffers[i]->name);
        }
        fputs("]}", out);
}

void report_json(struct run *run, FILE *out)
{
        const struct loop_program *p = run->state.program;
        struct calls calls = list_calls(run);
        const char *model = p->name ? p->name : "";
        put_member(out, "{\n  ", "dnncc", DNNCC_VERSION);
        put_member(out, ", ", "model", text_safe(run->arena, model, strlen(model)));
        put_member(out, ", ", "source", p->source);
        put_member(out, ",\n  ", "options", p->command);
        put_member(out, ", ", "target", run->context.target->name);
        fprintf(out, ", \"vector_bytes\": %d,\n", target_vector_bytes(run->context.target));
        fprintf(out, "  \"workspace\": %" PRId64 ", \"live_peak\": %" PRId64 ", \"constants\": %" PRId64 ",\n", p->workspace_size,
                p->live_peak, sum_bytes(p, is_stored_constant));
        fprintf(out, "  \"kernels\": %d, \"flops\": %.0f,\n  \"calls\": [", count_kernels(p), calls.flops);
        for (int i = 0; i < calls.count; i++) {
                fputs(i ? ",\n" : "\n", out);
                put_call(out, calls.items[i], run->arena);
        }
        fputs("\n  ]\n}\n", out);
}

/* ---- the tables as text ---- */

void report_passes(void)
{
        static const char *const level[] = { "tensor", "lower", "loop" };
        for (int i = 0; i < pass_count; i++)
                printf("%-10s %-6s %c  %s\n", passes[i].name, level[passes[i].level], passes[i].class == CLASS_E ? 'E' : 'R',
                       passes[i].doc);
}

void report_operations(void)
{
        puts("operations of the Tensor IR:");
        for (int i = 0; i < OPCODE_COUNT; i++)
                printf("  %-16s %s%s%s\n", op_info[i].name, op_info[i].doc, op_info[i].formula ? ": " : "",
                       op_info[i].formula ? op_info[i].formula : "");
        puts("\nONNX operators:");
        const struct onnx_row *rows;
        int count = onnx_rows(&rows);
        for (int i = 0; i < count; i++) {
                printf("  %s%s%-24s opset %d", rows[i].domain, *rows[i].domain ? "." : "", rows[i].op, rows[i].since);
                if (rows[i].until < 999)
                        printf("..%d", rows[i].until);
                putchar('\n');
        }
}

void report_limits(void)
{
#define LIMIT(name, preset, doc) printf("%-18s %14lld  %s\n", #name, (long long)(preset), doc);
#include "passes/limits.def"
}
