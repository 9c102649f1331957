/* SPDX-License-Identifier: MIT */
/* --info says what is in a model, what stands in the way of compiling it, and the command that
 * would do it. The model is imported as ever, and what that complains of is listed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "compiler/driver.h"
#include "front/import.h"
#include "ir/lower/lower_emit.h"

enum { INFO_TEXT = 1, INFO_JSON, INFO_NAMES, INFO_TOKENS };

struct info {
        struct model_facts facts;
        const char **missing;           /* They are what the import complained of, a line each. */
        int missing_count;
        double products;                /* It counts products that are added up in a run; it is -1
                                         * before all dimensions are known. */
};

/* Counts the products of contractions; those in bodies of loops count once. */
static double products_of(const struct module *m)
{
        double products = 0;
        for (const struct function *f = m->functions; f; f = f->next)
                for (const struct op *op = region_walk(&f->body, NULL); op;
                     op = region_walk(&f->body, op))
                        if (op_info[op->code].traits & TRAIT_CONTRACTION)
                                products += op_flops(op) / 2;
        return products;
}

/* Adds the messages of a captured text, which are "info: error: MESSAGE" each. */
static void add_missing(struct run *run, struct info *info, const char *said)
{
        for (const char *line = said, *end; *line; line = *end ? end + 1 : end) {
                const char *text = strstr(line, "error: ");
                end = line + strcspn(line, "\n");
                if (!text || text > end)
                        continue;
                text += strlen("error: ");
                ARENA_GROW(run->arena, info->missing, info->missing_count);
                char *missing = arena_printf(run->arena, "%.*s", (int)(end - text), text);
                diag_unmark(missing);
                info->missing[info->missing_count++] = missing;
        }
}

/* ---- as text ---- */

static void put_ports(const char *head, const struct model_port *ports, int count)
{
        for (int i = 0; i < count; i++)
                printf("%-12s%s: %s\n", i ? "" : head, ports[i].name, ports[i].type);
}

static void put_text(const struct run *run, const struct info *info)
{
        const struct model_facts *f = &info->facts;
        printf("%-12s%s\n", "model", run->diag.subject);
        for (int i = 0; i < f->opset_count; i++)
                printf("%-12s%s\n", i ? "" : "opsets", f->opsets[i]);
        put_ports("inputs", f->inputs, f->input_count);
        put_ports("outputs", f->outputs, f->output_count);
        for (int i = 0; i < f->operator_count; i++)
                printf("%-12s%s: %d%s\n", i ? "" : "operators", f->operators[i].name,
                       f->operators[i].count, f->operators[i].supported ? "" : ", not supported");
        printf("%-12s%" PRId64 "\n", "parameters", f->parameters);
        if (info->products < 0)
                printf("%-12snot known before it can be compiled\n", "products");
        else
                printf("%-12s%.0f\n", "products", info->products);
        for (int i = 0; i < info->missing_count; i++)
                printf("%-12s%s\n", i ? "" : "missing", info->missing[i]);
        printf("%-12s%s\n", "command", f->command);
}

/* ---- as JSON ---- */

static void put_port_list(const char *name, const struct model_port *ports, int count)
{
        printf(",\n  \"%s\": [", name);
        for (int i = 0; i < count; i++) {
                json_member(stdout, i ? ", {" : "{", "name", ports[i].name);
                json_member(stdout, ", ", "type", ports[i].type);
                printf("}");
        }
        printf("]");
}

static void put_texts(const char *name, const char *const *texts, int count)
{
        printf(",\n  \"%s\": [", name);
        for (int i = 0; i < count; i++) {
                fputs(i ? ", " : "", stdout);
                json_string(stdout, texts[i]);
        }
        printf("]");
}

static void put_json(const struct run *run, const struct info *info)
{
        const struct model_facts *f = &info->facts;
        json_member(stdout, "{\n  ", "model", run->diag.subject);
        put_texts("opsets", f->opsets, f->opset_count);
        put_port_list("inputs", f->inputs, f->input_count);
        put_port_list("outputs", f->outputs, f->output_count);
        printf(",\n  \"operators\": [");
        for (int i = 0; i < f->operator_count; i++) {
                json_member(stdout, i ? ", {" : "{", "name", f->operators[i].name);
                printf(", \"count\": %d, \"supported\": %s}", f->operators[i].count,
                       f->operators[i].supported ? "true" : "false");
        }
        printf("],\n  \"parameters\": %" PRId64 ",\n  \"products\": ", f->parameters);
        printf(info->products < 0 ? "null" : "%.0f", info->products);
        put_texts("missing", info->missing, info->missing_count);
        json_member(stdout, ",\n  ", "command", f->command);
        printf("\n}\n");
}

/* ---- as names ---- */

static void put_names(const struct run *run, const struct info *info)
{
        (void)run;
        for (int i = 0; i < info->facts.name_count; i++)
                printf("%s %s\n", info->facts.names[i].kind, info->facts.names[i].name);
}

/* ---- as tokens ---- */

/* Writes what is no printable character of ASCII, a blank or a backslash as \xHH. */
static void put_escaped(const char *text, size_t length)
{
        for (size_t i = 0; i < length; i++) {
                const unsigned char c = (unsigned char)text[i];
                if (c > ' ' && c < 0x7f && c != '\\')
                        putchar(c);
                else
                        printf("\\x%02x", c);
        }
}

static void put_tokens(const struct run *run, const struct info *info)
{
        static const char *const kinds[] = { [TOKEN_NORMAL] = "normal", [TOKEN_BYTE] = "byte",
                                             [TOKEN_CONTROL] = "control", [TOKEN_WHOLE] = "whole" };
        const struct model_vocabulary *v = info->facts.vocabulary;
        (void)run;
        printf("tokens %d\nbegin %d\nend %d\nspace %d\n", v->count, v->begin, v->end, v->space);
        for (int i = 0; i < v->count; i++) {
                printf("%.9g %s ", v->tokens[i].score, kinds[v->tokens[i].kind]);
                put_escaped(v->tokens[i].text, v->tokens[i].length);
                putchar('\n');
        }
}

bool model_info(struct run *run)
{
        static void (*const puts_as[])(const struct run *run, const struct info *info) = {
                [INFO_TEXT] = put_text, [INFO_JSON] = put_json, [INFO_NAMES] = put_names,
                [INFO_TOKENS] = put_tokens,
        };
        struct info info = { .facts = { .arena = run->arena }, .products = -1 };
        char *said = NULL;
        size_t length = 0;
        struct diag own = run->diag;
        if (!(own.stream = open_memstream(&said, &length)))
                memory_exhausted();
        run->diag.stream = own.stream;
        bool fine = read_facts(run, &info.facts);
        if (fine)
                info.products = products_of(run->state.module);
        fclose(own.stream);
        run->diag.stream = NULL;
        if (!info.facts.known || run->diag.code == EXIT_USAGE) {
                diag_say_again(&run->diag, said);
                free(said);
                return false;
        }
        add_missing(run, &info, said);
        free(said);
        if (run->options.info == INFO_TOKENS && !info.facts.vocabulary) {
                diag_error(&run->diag, EXIT_UNSUPPORTED, "--info=tokens: the model has no "
                                                         "vocabulary that is known here");
                return false;
        }
        run->diag.errors = 0;
        run->diag.code = EXIT_OK;
        puts_as[run->options.info](run, &info);
        return true;
}
