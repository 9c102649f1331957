/* SPDX-License-Identifier: MIT */
#include "compiler/options.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/suggest.h"
#include "base/text.h"

static const struct option option_table[] = {
#define OPTION(text, argument, kind, field, doc) { text, argument, OPTION_##kind, offsetof(struct options, field), doc, NULL },
#include "compiler/options.def"
};
enum { ROWS = sizeof option_table / sizeof *option_table };

bool options_parse(struct options *options, int argc, char **argv, struct arena *arena,
                   struct diag *diag)
{
        *options = (struct options){ .level = 2, .threads = 1, .max_ram = -1, .max_consts = -1, .activation_memory = -1, .target = "generic" };
        const struct option_reader reader = { option_table, ROWS, options, arena, diag };
        bool only_files = false;
        int apart = 0;                  /* the word behind an option whose argument would stand behind = */
        for (int i = 1; i < argc; i++) {
                const char *word = argv[i];
                if (!only_files && !strcmp(word, "--")) {
                        only_files = true;
                        continue;
                }
                if (only_files || word[0] != '-' || !word[1]) {
                        if (options->model) {
                                diag_error(diag, EXIT_USAGE,
                                           "one model at a time: '%s' is a second one%s",
                                           text_argument(arena, word),
                                           apart ? arena_printf(arena,
                                                                ". The argument of %s stands "
                                                                "behind =: %s=%s",
                                                                argv[apart - 1], argv[apart - 1],
                                                                text_argument(arena, argv[apart]))
                                                 : "");
                                return false;
                        }
                        options->model = word;
                        continue;
                }
                const struct option *option = option_read(&reader, argc, argv, &i);
                if (!option)
                        return false;
                if (option->kind == OPTION_PERHAPS && !strcmp(option->text, argv[i]) &&
                    i + 1 < argc && argv[i + 1][0] != '-')
                        apart = i + 1;
        }
        return true;
}

/* ---- help ---- */

enum { HELP_COLUMN = 30 };

/* "The model" is asked for as "model", in any case */
static bool is_topic(const char *title, const char *topic)
{
        const char *word = strrchr(title, ' ') ? strrchr(title, ' ') + 1 : title;
        return !strcasecmp(word, topic) || !strcasecmp(title, topic);
}

bool options_help(const char *topic, struct arena *arena, struct diag *diag)
{
        static const struct { const char *title; int first; } groups[] = {
#define GROUP(title) { title, __LINE__ },
#define OPTION(...)
#include "compiler/options.def"
        };
        static const int lines[] = {
#define GROUP(title)
#define OPTION(...) __LINE__,
#include "compiler/options.def"
        };
        enum { GROUPS = sizeof groups / sizeof *groups };
        struct suggest known = suggest_new(arena, topic, strlen(topic));
        bool found = !*topic;
        for (int g = 0; g < GROUPS; g++) {
                const char *word = strrchr(groups[g].title, ' ') ? strrchr(groups[g].title, ' ') + 1 : groups[g].title;
                char *lower = arena_string(arena, word);
                for (char *p = lower; *p; p++)
                        *p = (char)tolower((unsigned char)*p);
                suggest_add(&known, lower);
                found |= is_topic(groups[g].title, topic);
        }
        if (!found) {
                diag_error(diag, EXIT_USAGE, "--help=%s: no group of options is called so%s", text_argument(arena, topic),
                           suggest_text(&known, true));
                return false;
        }
        if (!*topic)
                puts("usage: dnncc [options] MODEL\n\n"
                     "Compiles a neural network (MODEL: .onnx, .dnn, .loops, a pipe, or - for "
                     "standard input) to C99.\n");
        for (int g = 0; g < GROUPS; g++) {
                if (*topic && !is_topic(groups[g].title, topic))
                        continue;
                printf("%s:\n", groups[g].title);
                for (int i = 0; i < ROWS; i++)
                        if (lines[i] > groups[g].first && (g + 1 == GROUPS || lines[i] < groups[g + 1].first))
                                option_print(option_table[i].text, option_table[i].argument, option_table[i].doc, HELP_COLUMN);
        }
        if (!*topic)
                puts("\nExit codes: 0 ok, 1 usage, 2 cannot read or write, 3 invalid model, 4 unsupported,\n"
                     "5 budget exceeded, 70 internal error. --help=TOPIC shows one group.");
        return true;
}

/* " --dim NAME=N" */
static void add_binding(struct text *text, struct arena *arena, const char *option,
                        const char *value)
{
        const char *equal = strrchr(value, '=');
        text_add(text, " %s %s", option,
                 text_safe(arena, value, equal ? (size_t)(equal - value) : strlen(value)));
        if (equal)
                text_add(text, "=%s", text_safe(arena, equal + 1, strlen(equal + 1)));
}

static const char *remark(const char *text) { return text_is_remark(text, strlen(text)) ? text : "?"; }

/* by which ranges, is a path; the type of weights has been checked, or an error is to come */
static void add_quantization(struct text *text, const struct options *o)
{
        if (o->quantize)
                text_add(text, " --quantize%s%s", *o->quantize ? "=" : "",
                         *o->quantize && strcmp(o->quantize, QUANTIZE_DYNAMIC) ? "FILE" : o->quantize);
        if (o->quantize_weights)
                text_add(text, " --quantize-weights=%s", remark(o->quantize_weights));
        if (o->calibrate && !writes_ranges(o))
                text_add(text, " --calibrate=PATH");
        if (o->samples && !writes_ranges(o))
                text_add(text, " --samples=%" PRId64, o->samples);
        if (o->observer)
                text_add(text, " --observer=%s", remark(o->observer));
        if (o->activations)
                text_add(text, " --activations=%s", remark(o->activations));
        if (o->quantize_steps)
                text_add(text, " --quantize-steps=%s", remark(o->quantize_steps));
}

enum element options_precision(const struct options *options)
{
        static const enum element elements[] = { E_F32, E_BF16, E_F16, E_TF32 };        /* as --precision has them */
        return elements[options->precision];
}

char *options_canonical(struct arena *arena, const struct options *options)
{
        struct text text = { 0 };
        text_add(&text, "-O%d", options->level);
        if (strcmp(options->target, "generic")) /* names of the table */
                text_add(&text, " --target=%s", options->target);
        if (options->sizes)
                text_add(&text, " --sizes=%s", options->sizes);
        if (options->weights > WEIGHTS_INLINE)
                text_add(&text, " --weights=%s",
                         options->weights == WEIGHTS_FILE ? "file" : "incbin");
        if (options->threads > 1)
                text_add(&text, " --threads=%d", options->threads);
        if (options->precision)
                text_add(&text, " --precision=%s", element_info[options_precision(options)].text);
        if (options->requantize)
                text_add(&text, " --requantize=%s", options->requantize == REQUANTIZE_SHIFT ? "shift" : "integer");
        add_quantization(&text, options);
        if (options->partition == PARTITION_MACHINE)
                text_add(&text, " --partition=machine");
        if (options->goal == GOAL_MEMORY)
                text_add(&text, " --goal=memory");
        if (options->activation_memory >= 0)
                text_add(&text, " --activation-memory=%" PRId64, options->activation_memory);
        if (options->max_ram >= 0)
                text_add(&text, " --max-ram=%" PRId64, options->max_ram);
        static const struct { const char *text; size_t field; } lists[] = {
                { "--dim", offsetof(struct options, dims) }, { "--input", offsetof(struct options, inputs) },
                { "--output", offsetof(struct options, outputs) }, { "--keep", offsetof(struct options, keep) },
                { "--limit", offsetof(struct options, limits) },
                { "--keep-float", offsetof(struct options, keep_float) },
                { "--quantize-port", offsetof(struct options, quantize_ports) },
        };
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
                const struct list *list = (const void *)((const char *)options + lists[i].field);
                for (int j = 0; j < list->count; j++)
                        add_binding(&text, arena, lists[i].text, list->items[j]);
        }
        for (int i = 0; i < options->regions.count; i++)
                text_add(&text, " --region=%s", options->regions.items[i]);         /* checked */
        static const struct { const char *text; size_t field; } flags[] = {
                { "--exact", offsetof(struct options, exact) }, { "--assume-finite", offsetof(struct options, assume_finite) },
                { "--unchecked", offsetof(struct options, unchecked) }, { "--no-alias", offsetof(struct options, no_alias) },
                { "--fast-libm", offsetof(struct options, fast_libm) },
                { "--flush-denormals", offsetof(struct options, flush_denormals) },
                { "--no-descriptor", offsetof(struct options, no_descriptor) },
        };
        for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
                if (*(const int *)(const void *)((const char *)options + flags[i].field))
                        text_add(&text, " %s", flags[i].text);
        if (options->profile)
                text_add(&text, *options->profile ? " --profile=%s" : " --profile%s",
                         text_safe(arena, options->profile, strlen(options->profile)));
        if (options->passes && *options->passes)        /* names from a table and commas, or an
                                                         * error to come */
                text_add(&text, " --passes=%s",
                         text_is_remark(options->passes, strlen(options->passes)) ? options->passes
                                                                                  : "?");
        char *copy = arena_string(arena, text.data);
        text_free(&text);
        return copy;
}
