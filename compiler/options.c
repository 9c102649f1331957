/* SPDX-License-Identifier: MIT */
#include "compiler/options.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/size.h"
#include "base/suggest.h"
#include "base/text.h"

/* PERHAPS: text behind =, or "" */
enum option_kind { FLAG, SET_0, SET_1, SET_2, SET_3, TEXT, PERHAPS, LIST, SIZE, COUNT, NUMBER, CHOICE };

enum { COUNT_MAX = 256 };

struct option {
        const char *text, *argument;
        enum option_kind kind;
        size_t field;
        const char *doc;
};

static const struct option option_table[] = {
#define OPTION(text_, argument, kind, field, doc) { text_, argument, kind, offsetof(struct options, field), doc },
#include "compiler/options.def"
};
enum { OPTION_COUNT = sizeof option_table / sizeof *option_table };

static void *field_of(struct options *options, const struct option *option)
{
        return (char *)options + option->field;
}

/* the index of the value among the words "a|b|c" of a choice; -1 after an error */
static int choice_of(const struct option *option, const char *value, struct arena *arena,
                     struct diag *diag)
{
        struct suggest known = suggest_new(arena, value, strlen(value));
        int which = 0;
        for (const char *p = option->argument; *p; which++) {
                size_t length = strcspn(p, "|");
                if (strlen(value) == length && !strncmp(p, value, length))
                        return which;
                suggest_add(&known, arena_printf(arena, "%.*s", (int)length, p));
                p += length + (p[length] == '|');
        }
        diag_error(diag, EXIT_USAGE, "%s wants one of %s, not '%s'%s", option->text,
                   option->argument, text_argument(arena, value), suggest_text(&known, false));
        return -1;
}

static void unknown_option(const char *word, struct arena *arena, struct diag *diag)
{
        struct suggest known = suggest_new(arena, word, strcspn(word, "="));
        for (int i = 0; i < OPTION_COUNT; i++)
                suggest_add(&known, option_table[i].text);
        const char *hint = suggest_text(&known, false);
        diag_error(diag, EXIT_USAGE, "unknown option '%s'%s", text_argument(arena, word),
                   *hint ? hint : ": see --help");
}

static bool set_option(struct options *options, const struct option *option, const char *value,
                       struct arena *arena, struct diag *diag)
{
        void *field = field_of(options, option);
        switch (option->kind) {
        case FLAG:
                *(int *)field = 1;
                return true;
        case SET_0: case SET_1: case SET_2: case SET_3:
                *(int *)field = (int)option->kind - SET_0;
                return true;
        case TEXT:
                *(const char **)field = value;
                return true;
        case PERHAPS:
                *(const char **)field = value ? value : "";
                return true;
        case LIST: {
                struct list *list = field;
                ARENA_GROW(arena, list->items, list->count);
                list->items[list->count++] = value;
                return true;
        }
        case SIZE: {
                uint64_t bytes;
                if (!size_parse(value, &bytes)) {
                        diag_error(diag, EXIT_USAGE, "%s wants a size such as 64K, 64KiB or 1M, not '%s'",
                                   option->text, text_argument(arena, value));
                        return false;
                }
                *(int64_t *)field = (int64_t)bytes;
                return true;
        }
        case COUNT: {
                int64_t count;
                if (!int_parse(value, &count) || count < 1 || count > COUNT_MAX) {
                        diag_error(diag, EXIT_USAGE, "%s wants a number from 1 to %d, not '%s'",
                                   option->text, COUNT_MAX, text_argument(arena, value));
                        return false;
                }
                *(int *)field = (int)count;
                return true;
        }
        case NUMBER:
                if (!int_parse(value, field) || *(int64_t *)field < 1) {
                        diag_error(diag, EXIT_USAGE, "%s wants a number from 1 on, not '%s'",
                                   option->text, text_argument(arena, value));
                        return false;
                }
                return true;
        case CHOICE: {
                int which = choice_of(option, value, arena, diag);
                if (which >= 0)
                        *(int *)field = which;
                return which >= 0;
        }
        }
        return false;
}

/* "--name=x", "--name x", "-o x", "-ox"; *value NULL when the argument must follow. NULL: no such
 * option. */
static const struct option *find_option(const char *word, const char **value)
{
        for (int i = 0; i < OPTION_COUNT; i++) {
                const struct option *o = &option_table[i];
                size_t length = strlen(o->text);
                if (strncmp(word, o->text, length))
                        continue;
                *value = NULL;
                if (!word[length])
                        return o;
                if (!o->argument)
                        continue;
                if (!strncmp(o->text, "--", 2) && word[length] != '=')
                        continue;
                *value = word + length + (word[length] == '=');
                return o;
        }
        return NULL;
}

bool options_parse(struct options *options, int argc, char **argv, struct arena *arena,
                   struct diag *diag)
{
        *options = (struct options){ .level = 2, .threads = 1, .max_ram = -1, .max_consts = -1, .target = "generic" };
        bool only_files = false;
        for (int i = 1; i < argc; i++) {
                const char *word = argv[i], *value;
                                if (!only_files && !strcmp(word, "--")) {
                        only_files = true;
                        continue;
                }
                if (only_files || word[0] != '-' || !word[1]) {
                        if (options->model) {
                                diag_error(diag, EXIT_USAGE,
                                           "one model at a time: '%s' is a second one",
                                           text_argument(arena, word));
                                return false;
                        }
                        options->model = word;
                        continue;
                }
                const struct option *option = find_option(word, &value);
                if (!option) {
                        unknown_option(word, arena, diag);
                        return false;
                }
                if (option->argument && !value && option->kind != PERHAPS) {
                        if (i + 1 == argc) {
                                diag_error(diag, EXIT_USAGE, "%s wants %s", option->text,
                                           option->argument);
                                return false;
                        }
                        value = argv[++i];
                }
                if (!set_option(options, option, value, arena, diag))
                        return false;
        }
        return true;
}

/* ---- help ---- */

enum { HELP_COLUMN = 30, HELP_WIDTH = 100 };

/* in lines, each from the column on */
static void print_wrapped(const char *text, int column)
{
        int at = column;
        while (*text) {
                int length = (int)strcspn(text, " ");
                if (at > column && at + 1 + length > HELP_WIDTH) {
                        printf("\n%*s", column, "");
                        at = column;
                }
                printf("%s%.*s", at > column ? " " : "", length, text);
                at += length + (at > column);
                text += length;
                text += *text == ' ';
        }
        putchar('\n');
}

static void print_option(const struct option *o)
{
        const char *arg = o->argument ? o->argument : "";
        const char *mark = !*arg || *arg == '[' ? "" : o->text[1] == '-' && !strchr(arg, '=') ? "=" : " ";
        int used = printf("  %s%s%s", o->text, mark, arg);
        if (used < HELP_COLUMN)
                printf("%*s", HELP_COLUMN - used, "");
        else
                printf("\n%*s", HELP_COLUMN, "");
        print_wrapped(o->doc, HELP_COLUMN);
}

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
                     "Compiles a neural network (MODEL: .onnx, .dnn, .loops, or - for standard input) to C99.\n");
        for (int g = 0; g < GROUPS; g++) {
                if (*topic && !is_topic(groups[g].title, topic))
                        continue;
                printf("%s:\n", groups[g].title);
                for (int i = 0; i < OPTION_COUNT; i++)
                        if (lines[i] > groups[g].first && (g + 1 == GROUPS || lines[i] < groups[g + 1].first))
                                print_option(&option_table[i]);
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
        static const enum element elements[] = { E_F32, E_BF16, E_F16 };        /* as --precision has them */
        return elements[options->precision];
}

char *options_canonical(struct arena *arena, const struct options *options)
{
        struct text text = { 0 };
        text_add(&text, "-O%d", options->level);
        if (strcmp(options->target, "generic")) /* names of the table */
                text_add(&text, " --target=%s", options->target);
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
        if (options->goal == GOAL_MEMORY)
                text_add(&text, " --goal=memory");
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
                { "--profile", offsetof(struct options, profile) },
        };
        for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
                if (*(const int *)(const void *)((const char *)options + flags[i].field))
                        text_add(&text, " %s", flags[i].text);
        if (options->passes && *options->passes)        /* names from a table and commas, or an
                                                         * error to come */
                text_add(&text, " --passes=%s",
                         text_is_remark(options->passes, strlen(options->passes)) ? options->passes
                                                                                  : "?");
        char *copy = arena_string(arena, text.data);
        text_free(&text);
        return copy;
}
