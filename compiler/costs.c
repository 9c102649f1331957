/* SPDX-License-Identifier: MIT */
/* --cost predicts what models cost on a target, a line for each, without writing their code. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "compiler/driver.h"
#include "compiler/report.h"

static void put_text(struct run *run, const struct calls *calls, double cycles)
{
        const struct loop_program *p = run->state.program;
        printf("%s: %.0f cycles of %s, %.0f operations, %" PRId64 " bytes of constants, %" PRId64
               " of workspace, %d kernels\n",
               run->diag.subject, cycles, run->context.target->name, calls->flops,
               report_constant_bytes(p), report_ram(p), report_kernel_count(p));
}

static void put_json(struct run *run, const struct calls *calls, double cycles)
{
        const struct loop_program *p = run->state.program;
        json_member(stdout, "{", "model", run->diag.subject);
        json_member(stdout, ", ", "target", run->context.target->name);
        printf(", \"cycles\": %.0f, \"flops\": %.0f, \"constants\": %" PRId64
               ", \"workspace\": %" PRId64 ", \"kernels\": %d, \"calls\": [",
               cycles, calls->flops, report_constant_bytes(p), report_ram(p),
               report_kernel_count(p));
        for (int i = 0; i < calls->count; i++) {
                fputs(i ? ", " : "", stdout);
                report_call_json(run, stdout, calls->items[i], i, 0);
        }
        puts("]}");
}

/* ---- a table of kernels ---- */

/* What the table of a command has already, by what kernels compute: it is of all its models. */
static struct { struct arena *arena; struct map *kernels; } table;

static void table_open(void)
{
        table.arena = arena_new();
        table.kernels = map_new(table.arena);
        puts("cycles\toperations\tread\tconstants\twritten\tcomputes");
}

static void put_table(struct run *run, const struct calls *calls, double cycles)
{
        (void)cycles;
        for (int i = 0; i < calls->count; i++) {
                struct call_cost cost;
                report_call_cost(run, calls->items[i], &cost);
                const size_t length = strlen(cost.computes);
                if (!length || map_get(table.kernels, cost.computes, length))
                        continue;
                char *key = arena_copy(table.arena, cost.computes, length + 1);
                map_set(table.kernels, key, length, table.kernels);
                printf("%.0f\t%.0f\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\n", cost.cycles,
                       cost.flops, cost.read, cost.constants, cost.written, cost.computes);
        }
}

/* ---- the forms ---- */

typedef void (*cost_printer)(struct run *run, const struct calls *calls, double cycles);

/* Returns what prints the form that --cost=FORM names, or NULL. */
static cost_printer printer_of(const char *form)
{
        static const struct { const char *form; cost_printer print; } forms[] = {
                { "", put_text }, { "json", put_json }, { "table", put_table }
        };
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
                if (!strcmp(forms[i].form, form))
                        return forms[i].print;
        return NULL;
}

bool costs_put(struct run *run)
{
        const struct calls calls = report_calls(run);
        double cycles = 0;
        for (int i = 0; i < calls.count; i++)
                cycles += calls.times[i] * report_call_cycles(run, calls.items[i]);
        printer_of(run->options.cost)(run, &calls, cycles);
        return true;
}

/* ---- models ---- */

/* Compiles one model; *code becomes the first one that is no success. */
static void cost_of(const struct run *run, const char *model, enum exit_code *code)
{
        struct options own = run->options;
        own.model = model;
        own.more = (struct list){ 0 };
        const enum exit_code got = driver_run(&own);
        *code = *code == EXIT_OK ? got : *code;
}

/* Does so for the paths in a file, a line each. */
static bool costs_listed(struct run *run, const char *list, enum exit_code *code)
{
        FILE *in = strcmp(list, "-") ? fopen(list, "r") : stdin;
        char *line = NULL;
        size_t room = 0;
        ssize_t length;
        if (!in) {
                diag_error(&run->diag, EXIT_IO, "cannot read %s: %s",
                           text_argument(run->arena, list), strerror(errno));
                return false;
        }
        while ((length = getline(&line, &room, in)) > 0) {
                while (length && (line[length - 1] == '\n' || line[length - 1] == '\r'))
                        line[--length] = 0;
                if (length)
                        cost_of(run, line, code);
        }
        const bool fine = !ferror(in);
        if (!fine)
                diag_error(&run->diag, EXIT_IO, "cannot read %s", text_argument(run->arena, list));
        free(line);
        if (in != stdin)
                fclose(in);
        return fine;
}

enum exit_code costs_all(struct run *run)
{
        const struct options *o = &run->options;
        enum exit_code code = EXIT_OK;
        if (!printer_of(o->cost)) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--cost=%s: want --cost, --cost=json or --cost=table",
                           text_argument(run->arena, o->cost));
                return EXIT_USAGE;
        }
        if (printer_of(o->cost) == put_table)
                table_open();
        for (int i = 0; i <= o->more.count; i++) {
                const char *model = i ? o->more.items[i - 1] : o->model;
                if (*model != '@')
                        cost_of(run, model, &code);
                else if (!costs_listed(run, model + 1, &code)) {
                        code = EXIT_IO;
                        break;
                }
        }
        if (table.arena)
                arena_free(table.arena);
        table.arena = NULL;
        return code;
}
