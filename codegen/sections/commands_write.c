/* SPDX-License-Identifier: MIT */
/* A module as command text, its parameters, and what is said of them. */
#include <inttypes.h>
#include <string.h>

#include "base/sha256.h"
#include "codegen/sections/sections.h"

/* Values get the numbers that the text of the module has. */
static void number_values(struct module *m)
{
        struct text text = { 0 };
        tensor_print(&text, m, &(struct tensor_print){ .elide = true });
        text_free(&text);
}

/* ---- what is said ---- */

/* One line about all that the machine does not compute. */
static void remark_host(const struct network *n, struct diag *diag)
{
        enum { NAMED = 8 };
        struct text names = { 0 };
        const char *last = NULL;
        int count = 0;
        for (int k = 0; k < n->host_count; k++) {
                const struct op *op = n->host[k];
                const char *name = op->location ? op->location : op_info[op->code].name;
                if ((op_info[op->code].traits & TRAIT_FREE) || (last && !strcmp(last, name)))
                        continue;
                if (count++ < NAMED)
                        text_add(&names, "%s%s", count > 1 ? ", " : "", name);
                last = name;
        }
        if (count)
                diag_warning(diag, "sections: %d node%s stay%s on the host: %s%s", count, count == 1 ? "" : "s", count == 1 ? "s" : "", names.data,
                             count > NAMED ? ", ..." : "");
        text_free(&names);
}

static int64_t best_heuristic(const struct section_plan *p, const char **name)
{
        int64_t least = -1;
        *name = "none";
        for (int h = 0; h < HEURISTIC_COUNT; h++)
                if (p->heuristics[h] >= 0 && (least < 0 || p->heuristics[h] < least)) {
                        least = p->heuristics[h];
                        *name = heuristic_names[h];
                }
        return least;
}

struct figures { int64_t slots, lines, activations; int commands[COMMAND_COUNT]; };

static struct figures count_commands(const struct command_list *list)
{
        struct figures f = { .lines = list->count };
        for (int k = 0; k < list->count; k++) {
                f.commands[list->items[k].code]++;
                if (!command_info[list->items[k].code].comment && list->items[k].slot + 1 > f.slots)
                        f.slots = list->items[k].slot + 1;
        }
        return f;
}

static void say_stats(const struct section_plan *p, const struct figures *f)
{
        const char *heuristic;
        const int64_t least = best_heuristic(p, &heuristic), all = p->gathered + p->scattered;
        fprintf(stderr, "stats: activations %" PRId64 " of %" PRId64 " bytes, live peak %" PRId64 "; order %s (the model's %" PRId64
                        ", the best %" PRId64 ", none below %" PRId64 "), placed by %s\n",
                p->used, p->memory, p->peak, p->order_name, p->model_peak, p->best_peak, p->best_bound, p->placed_by);
        fprintf(stderr, "stats: ddr        %" PRId64 " bytes gathered, %" PRId64 " scattered, none below %" PRId64, p->gathered, p->scattered,
                p->traffic_bound);
        if (all && p->traffic_bound)
                fprintf(stderr, " (%.3fx)", (double)all / (double)p->traffic_bound);
        if (least >= 0)
                fprintf(stderr, "; kept by %s, by heuristic %s %" PRId64, p->chosen_by, heuristic, least);
        fprintf(stderr, "; %" PRId64 " bytes of it\n", p->ddr_bytes);
        fprintf(stderr, "stats: array      %" PRId64 " steps, %" PRId64 " without copies of volumes of few channels, which %d have\n", p->array_steps,
                p->array_steps_once, p->replicated);
        fprintf(stderr, "stats: commands   %" PRId64 " slots:", f->slots);
        for (int k = 0; k < COMMAND_COUNT; k++)
                if (f->commands[k] && !command_info[k].comment)
                        fprintf(stderr, " %s %d", command_info[k].name, f->commands[k]);
        fprintf(stderr, "; %d nodes on the host\n", p->n->arithmetic);
}

static void report(FILE *out, const struct section_plan *p, const struct figures *f, const char *version)
{
        const char *heuristic;
        const int64_t least = best_heuristic(p, &heuristic);
        fprintf(out, "{\n  \"dnncc\": \"%s\",\n  \"machine\": \"%s\",\n", version, p->n->machine->name);
        fprintf(out, "  \"memory\": {\"activations\": %" PRId64 ", \"used\": %" PRId64 ", \"live_peak\": %" PRId64 ", \"placed_by\": \"%s\", \"ddr\": %"
                     PRId64 "},\n",
                p->memory, p->used, p->peak, p->placed_by, p->ddr_bytes);
        fprintf(out, "  \"order\": {\"name\": \"%s\", \"model\": %" PRId64 ", \"best\": %" PRId64 ", \"bound\": %" PRId64 "},\n", p->order_name,
                p->model_peak, p->best_peak, p->best_bound);
        fprintf(out, "  \"traffic\": {\"gathered\": %" PRId64 ", \"scattered\": %" PRId64 ", \"bound\": %" PRId64 ", \"chosen_by\": \"%s\", "
                     "\"heuristic\": \"%s\", \"heuristic_bytes\": %" PRId64 ", \"slice_rows\": %" PRId64 "},\n",
                p->gathered, p->scattered, p->traffic_bound, p->chosen_by, heuristic, least < 0 ? 0 : least, p->slice_rows);
        fprintf(out, "  \"array\": {\"steps\": %" PRId64 ", \"once\": %" PRId64 ", \"replicated\": %d},\n", p->array_steps, p->array_steps_once, p->replicated);
        fprintf(out, "  \"slots\": %" PRId64 ", \"host_nodes\": %d,\n  \"commands\": {", f->slots, p->n->arithmetic);
        bool first = true;
        for (int k = 0; k < COMMAND_COUNT; k++)
                if (f->commands[k]) {
                        fprintf(out, "%s\"%s\": %d", first ? "" : ", ", command_info[k].name, f->commands[k]);
                        first = false;
                }
        fputs("}\n}\n", out);
}

/* ---- the text ---- */

static void print_all(struct text *text, const struct section_plan *p, const struct command_list *list, const struct text *parameters,
                      const struct sections_options *options)
{
        char digest[65];
        struct sha256 sha;
        sha256_init(&sha);
        sha256_update(&sha, parameters->data ? parameters->data : "", parameters->length);
        sha256_hex(&sha, digest);
        text_add(text, "# dnncc %s, machine %s: 0x0 is activation memory of %" PRId64 " bytes, 0x1 DDR of %" PRId64 "; numbers of %d bytes\n",
                 options->version, p->n->machine->name, p->memory, p->ddr_bytes, p->n->machine->number_bytes);
        text_add(text, "# parameters %s sha256 %s bytes %zu\n", options->parameters_name ? options->parameters_name : "-", digest, parameters->length);
        command_templates(text);
        for (int k = 0; k < list->count; k++)
                command_print(text, &list->items[k]);
}

/* With copies of volumes where they do not put off other commands; false: the plan, which had places, has none any more. */
static bool make_commands(struct arena *arena, struct section_plan *p, struct command_list *list, struct text *parameters)
{
        const int64_t number_bytes = p->n->machine->number_bytes;
        struct text with_copies = { 0 };
        *list = commands_make(arena, p, parameters);
        commands_schedule(arena, list, number_bytes);
        if (!plan_replicate(p))
                return true;
        struct command_list other = commands_make(arena, p, &with_copies);
        commands_schedule(arena, &other, number_bytes);
        text_free(&with_copies);        /* the same parameters */
        if (count_commands(&other).slots > count_commands(list).slots)
                return plan_unite(p);
        *list = other;
        return true;
}

bool sections_write(struct module *m, const struct section_machine *machine, const struct sections_options *options, FILE *out,
                    FILE *parameters, struct diag *diag)
{
        struct arena *arena = arena_new();
        struct text text = { 0 }, data = { 0 };
        struct network *n = network_find(arena, m, machine, diag);
        if (n)
                number_values(m);
        struct section_plan *p = n ? plan_commands(n, options->memory ? options->memory : machine->activation_bytes, diag) : NULL;
        struct command_list list = { 0 };
        if (p && !make_commands(arena, p, &list, &data)) {
                diag_error(diag, EXIT_INTERNAL, "volumes that had places without copies have none any more");
                p = NULL;
        }
        if (p) {
                print_all(&text, p, &list, &data, options);
                fwrite(text.data, 1, text.length, out);
                if (parameters && data.length)
                        fwrite(data.data, 1, data.length, parameters);
                const struct figures f = count_commands(&list);
                remark_host(n, diag);
                if (options->stats)
                        say_stats(p, &f);
                if (options->report)
                        report(options->report, p, &f, options->version);
        }
        text_free(&text);
        text_free(&data);
        arena_free(arena);
        return p != NULL;
}
