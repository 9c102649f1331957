/* SPDX-License-Identifier: MIT */
/* Reports on commands: layer by layer, in total, and what stays on the host. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "codegen/sections/sections.h"
#include "ir/lower/lower_emit.h"
#include "ir/loop/nodes.h"

/* ---- layers ---- */

/* A step's commands do this. `read` and `written` are the bytes that they touch; `gathered` and
 * `scattered` count bytes of the step's result. An input has no commands, but its volume may be
 * gathered. */
struct layer {
        const char *command;            /* The step has a command of this name; NULL: it has
                                         * none. */
        int commands;
        int64_t first, last;            /* These are the first and the last slot. */
        int64_t steps, products;        /* The array does this many steps and products. */
        int64_t read, written, gathered, scattered;     /* All count bytes. */
};

static struct layer *maker_of(const struct network *n, struct layer *layers,
                              const struct storage_leaf *leaf)
{
        const int maker = n->volumes[leaf->volume].maker;
        if (maker >= 0 && n->steps[maker].kind == STEP_INPUT)
                layers[maker].command = command_info[COMMAND_XNInput].name;
        return maker >= 0 ? &layers[maker] : NULL;
}

/* Counts the copy of rows of some channels of a storage for each layer that makes such channels. */
static void count_copy(const struct section_plan *p, struct layer *layers,
                       const struct machine_command *c)
{
        const struct network *n = p->n;
        const int64_t row = overlay_row(n->overlay, c->field[FIELD_w]),
                      plane = row * c->field[FIELD_h];
        const int64_t rows = c->field[FIELD_last] - c->field[FIELD_first] + 1;
        for (int k = 0; k < n->storage_count; k++) {
                const struct section_storage *s = &n->storages[k];
                const int64_t at = c->field[FIELD_ddroff] - p->ddr[k], from = at / plane,
                              end = from + c->field[FIELD_c];
                if (p->ddr[k] < 0 || at < 0 || from >= s->channels ||
                    s->rows * overlay_row(n->overlay, s->columns) != plane)
                        continue;
                for (int i = 0; i < s->leaf_count; i++) {
                        const int64_t first = s->leaves[i].channel,
                                      last = first + n->volumes[s->leaves[i].volume].channels;
                        const int64_t both =
                                (last < end ? last : end) - (first > from ? first : from);
                        struct layer *l = both > 0 ? maker_of(n, layers, &s->leaves[i]) : NULL;
                        if (l)
                                *(c->code == COMMAND_XNGather ? &l->gathered : &l->scattered) +=
                                        both * rows * row;
                }
                return;
        }
}

/* Returns the layers, by step. */
static struct layer *find_layers(const struct section_plan *p, const struct command_list *list)
{
        const struct network *n = p->n;
        struct layer *layers = arena_array(p->arena, (size_t)n->step_count + 1, sizeof *layers);
        struct map *by_name = map_new(p->arena);
        for (int k = 0; k < n->step_count; k++) {
                const struct section_step *s = &n->steps[k];
                if (s->kind == STEP_UPLOAD || s->kind == STEP_INPUT)
                        continue;
                map_set(by_name, s->name, strlen(s->name), &layers[k]);
                if (s->kind != STEP_CONV)
                        continue;
                layers[k].steps = step_array_steps(n, s, true);
                layers[k].products = step_positions(n, s) * n->volumes[s->output].channels *
                                     s->weight_inputs * s->rows.kernel * s->columns.kernel;
        }
        for (int i = 0; i < list->count; i++) {
                const struct machine_command *c = &list->items[i];
                struct layer *l = c->name && !command_info[c->code].comment
                                          ? map_get(by_name, c->name, strlen(c->name))
                                          : NULL;
                if (c->code == COMMAND_XNGather || c->code == COMMAND_XNScatter)
                        count_copy(p, layers, c);
                if (!l)
                        continue;
                l->first = l->commands ? l->first : c->slot;
                l->last = c->slot;
                /* Copies are XNMaxPool commands, too, and do not name the layer. */
                l->command = l->command && c->code == COMMAND_XNMaxPool
                                     ? l->command
                                     : command_info[c->code].name;
                l->commands++;
                l->read += command_bytes(c, n->overlay, false);
                l->written += command_bytes(c, n->overlay, true);
        }
        return layers;
}

static double utilization(const struct network *n, const struct layer *l)
{
        const double all = (double)l->steps * n->overlay->channels * n->overlay->channels;
        return l->steps ? (double)l->products / all : 0;
}

/* ---- the host ---- */

struct host { struct node_uses *uses; struct node_shares nodes; double products, all; };

/* Counts the nodes, and the products, of the module. */
static struct host find_host(const struct module *m, const struct network *n)
{
        struct host h = { .uses = node_uses_new(n->arena) };
        int next = 0;
        for (const struct op *op = module_entry(m)->body.first; op; op = op->next) {
                const bool host = next < n->host_count && n->host[next] == op;
                next += host;
                if (op->code == OP_yield || op_info[op->code].traits & TRAIT_FREE)
                        continue;
                const double products =
                        op_info[op->code].traits & TRAIT_CONTRACTION ? op_flops(op) / 2 : 0;
                h.all += products;
                h.products += host ? products : 0;
                node_uses_add(h.uses, op->location ? op->location : op_info[op->code].name, !host,
                              host);
        }
        h.nodes = node_uses_count(h.uses);
        return h;
}

static double products_share(const struct host *h)
{
        return h->all > 0 ? 1 - h->products / h->all : 1;
}

/* Prints one line about all that the machine does not compute. */
static void remark_host(const struct host *h, struct diag *diag)
{
        enum { NAMED = 8 };
        struct text names = { 0 };
        const int count = h->nodes.all - h->nodes.machine;
        int named = 0;
        for (const struct node_use *use = node_uses_first(h->uses); use; use = use->next)
                if (use->processor && named++ < NAMED)
                        text_add(&names, "%s%s", named > 1 ? ", " : "", use->name);
        if (count)
                diag_warning(diag, "sections: %d node%s stay%s on the host, or parts of them: %s%s",
                             count, count == 1 ? "" : "s", count == 1 ? "s" : "", names.data,
                             count > NAMED ? ", ..." : "");
        text_free(&names);
}

/* ---- the whole report ---- */

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

struct figures { int64_t slots; int commands[COMMAND_COUNT]; };

static struct figures count_commands(const struct command_list *list)
{
        struct figures f = { .slots = commands_slots(list) };
        for (int k = 0; k < list->count; k++)
                f.commands[list->items[k].code]++;
        return f;
}

static void say_stats(const struct section_plan *p, const struct figures *f, const struct host *h)
{
        const char *heuristic;
        const int64_t least = best_heuristic(p, &heuristic), all = p->gathered + p->scattered;
        fprintf(stderr,
                "stats: activations %" PRId64 " of %" PRId64 " bytes, live peak %" PRId64
                "; order %s (the model's %" PRId64 ", the best %" PRId64 ", none below %" PRId64
                "), placed by %s\n",
                p->used, p->memory, p->peak, p->order_name, p->model_peak, p->best_peak,
                p->best_bound, p->placed_by);
        fprintf(stderr,
                "stats: ddr        %" PRId64 " bytes gathered, %" PRId64
                " scattered, none below %" PRId64,
                p->gathered, p->scattered, p->traffic_bound);
        if (all && p->traffic_bound)
                fprintf(stderr, " (%.3fx)", (double)all / (double)p->traffic_bound);
        if (least >= 0)
                fprintf(stderr, "; kept by %s, by heuristic %s %" PRId64, p->chosen_by, heuristic,
                        least);
        fprintf(stderr, "; %" PRId64 " bytes of it\n", p->ddr_bytes);
        fprintf(stderr,
                "stats: array      %" PRId64 " steps, %" PRId64
                " without copies of volumes of few channels, which %d have\n",
                p->array_steps, p->array_steps_once, p->replicated);
        fprintf(stderr, "stats: commands   %" PRId64 " slots:", f->slots);
        for (int k = 0; k < COMMAND_COUNT; k++)
                if (f->commands[k] && !command_info[k].comment)
                        fprintf(stderr, " %s %d", command_info[k].name, f->commands[k]);
        fputs("\n", stderr);
        node_shares_say(stderr, h->nodes, p->n->overlay->name);
        fprintf(stderr, "; %.2f %% of the products\n", 100 * products_share(h));
}

static void say_layers(const struct section_plan *p, const struct layer *layers)
{
        for (int t = 0; t < p->n->step_count; t++) {
                const struct section_step *s = &p->n->steps[p->order[t]];
                const struct layer *l = &layers[p->order[t]];
                if (!l->command)
                        continue;
                fprintf(stderr, "stats: layer      %s %s: %d in slots %" PRId64 " to %" PRId64 ", ",
                        s->name, l->command, l->commands, l->first, l->last);
                if (l->steps)
                        fprintf(stderr, "%" PRId64 " steps of the array, %.1f %% of it, ", l->steps,
                                100 * utilization(p->n, l));
                fprintf(stderr,
                        "read %" PRId64 ", written %" PRId64 "; of its result gathered %" PRId64
                        ", scattered %" PRId64 "\n",
                        l->read, l->written, l->gathered, l->scattered);
        }
}

static void report_layers(FILE *out, const struct section_plan *p, const struct layer *layers)
{
        const char *before = "\n    {";
        for (int t = 0; t < p->n->step_count; t++) {
                const struct layer *l = &layers[p->order[t]];
                if (!l->command)
                        continue;
                fprintf(out, "%s\"name\": ", before);
                json_string(out, p->n->steps[p->order[t]].name);
                fprintf(out,
                        ", \"command\": \"%s\", \"commands\": %d, \"first\": %" PRId64
                        ", \"last\": %" PRId64 ", \"steps\": %" PRId64 ", \"products\": %" PRId64
                        ", \"utilization\": %.4f, \"read\": %" PRId64 ", \"written\": %" PRId64
                        ", \"gathered\": %" PRId64 ", \"scattered\": %" PRId64 "}",
                        l->command, l->commands, l->first, l->last, l->steps, l->products,
                        utilization(p->n, l), l->read, l->written, l->gathered, l->scattered);
                before = ",\n    {";
        }
}

static void report(FILE *out, const struct section_plan *p, const struct figures *f,
                   const struct host *h, const struct layer *layers, const char *version)
{
        const char *heuristic;
        const int64_t least = best_heuristic(p, &heuristic);
        fprintf(out, "{\n  \"dnncc\": \"%s\",\n  \"machine\": \"%s\",\n", version,
                p->n->overlay->name);
        fprintf(out,
                "  \"memory\": {\"activations\": %" PRId64 ", \"used\": %" PRId64
                ", \"live_peak\": %" PRId64 ", \"placed_by\": \"%s\", \"ddr\": %" PRId64 "},\n",
                p->memory, p->used, p->peak, p->placed_by, p->ddr_bytes);
        fprintf(out,
                "  \"order\": {\"name\": \"%s\", \"model\": %" PRId64 ", \"best\": %" PRId64
                ", \"bound\": %" PRId64 "},\n",
                p->order_name, p->model_peak, p->best_peak, p->best_bound);
        fprintf(out,
                "  \"traffic\": {\"gathered\": %" PRId64 ", \"scattered\": %" PRId64
                ", \"bound\": %" PRId64 ", \"chosen_by\": \"%s\", "
                "\"heuristic\": \"%s\", \"heuristic_bytes\": %" PRId64 ", \"slice_rows\": %" PRId64
                "},\n",
                p->gathered, p->scattered, p->traffic_bound, p->chosen_by, heuristic,
                least < 0 ? 0 : least, p->slice_rows);
        fprintf(out,
                "  \"array\": {\"steps\": %" PRId64 ", \"once\": %" PRId64
                ", \"replicated\": %d},\n",
                p->array_steps, p->array_steps_once, p->replicated);
        fprintf(out, "  \"slots\": %" PRId64 ",\n", f->slots);
        fprintf(out, "  \"products_share\": %.6f", products_share(h));
        node_shares_json(out, h->nodes);
        fputs(",\n  \"commands\": {", out);
        bool first = true;
        for (int k = 0; k < COMMAND_COUNT; k++)
                if (f->commands[k]) {
                        fprintf(out, "%s\"%s\": %d", first ? "" : ", ", command_info[k].name,
                                f->commands[k]);
                        first = false;
                }
        fputs("},\n  \"layers\": [", out);
        report_layers(out, p, layers);
        fputs("]\n}\n", out);
}

void commands_say(const struct module *m, const struct section_plan *p,
                  const struct command_list *list, const struct sections_options *options,
                  struct diag *diag)
{
        const struct figures f = count_commands(list);
        const struct host h = find_host(m, p->n);
        const struct layer *layers = find_layers(p, list);
        remark_host(&h, diag);
        if (options->stats) {
                say_layers(p, layers);
                say_stats(p, &f, &h);
        }
        if (options->report)
                report(options->report, p, &f, &h, layers, options->version);
}
