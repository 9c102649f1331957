/* SPDX-License-Identifier: MIT */
#include "compiler/options.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/suggest.h"
#include "base/text.h"

#define CHOICES(field) const char option_##field##_words[] = ""
#define CHOICE(field, constant, word) "|" word
#define END(field) ;
#define CHOICES_AS(field, type) CHOICES(field)
#define CHOICE_AS(field, constant, word) "|" word
#define END_AS(field) ;
#include "compiler/option_choices.def"

static const struct option option_table[] = {
#define OPTION(text, argument, kind, field, said, doc)                                             \
        { text, argument, OPTION_##kind, offsetof(struct options, field),                          \
          doc,  NULL,     #field,        SAID_##said },
#include "compiler/options.def"
};
enum { ROWS = sizeof option_table / sizeof *option_table };

const struct option_choice options_choices[] = {
#define CHOICES(field)
#define CHOICE(field, constant, word) { #field, word, constant },
#define END(field)
#define CHOICES_AS(field, type)
#define CHOICE_AS(field, constant, word) CHOICE(field, constant, word)
#define END_AS(field)
#include "compiler/option_choices.def"
        { NULL, NULL, 0 }
};

const struct options options_preset = {
        .level = 2,
        .threads = 1,
        .jobs = 1,
        .max_ram = -1,
        .max_consts = -1,
        .max_stack = -1,
        .max_flash = -1,
        .activation_memory = -1,
        .target = "generic",
};

const struct option *options_row(const char *text, size_t length)
{
        for (int i = 0; i < ROWS; i++)
                if (strlen(option_table[i].text) == length &&
                    !strncmp(option_table[i].text, text, length))
                        return &option_table[i];
        return NULL;
}

/* ---- what --emit writes ---- */

enum stage { STAGE_MODULE, STAGE_PROGRAM };

static const struct {
        const char *suffix;
        enum stage stage;
} formats[] = {
#define EMIT(id, word, suffix, stage, files, write) { suffix, STAGE_##stage },
#include "compiler/emit_formats.def"
};

bool emits_tensors(const struct options *o) { return formats[o->emit].stage == STAGE_MODULE; }
const char *emit_suffix(const struct options *o) { return formats[o->emit].suffix; }

/* ---- reading ---- */

/* What stands behind an option that takes its argument behind = is no second model. */
static bool second_model(const char *word, const char *more, struct arena *arena,
                         struct diag *diag)
{
        diag_error(diag, EXIT_USAGE, "one model at a time: '%s' is a second one%s",
                   text_argument(arena, word), more);
        return false;
}

/* Makes an entry of each of several models, named after its file. */
static bool name_entries(struct options *o, struct arena *arena, struct diag *diag)
{
        for (int i = 0; i <= o->more.count; i++) {
                const char *stem = path_stem(arena, i ? o->more.items[i - 1] : o->model, false);
                const char *name = text_identifier(names_new(arena), stem, strlen(stem), "model");
                for (int k = 0; k < o->entries.count; k++)
                        if (!strcmp(o->entries.items[k], name)) {
                                diag_error(diag, EXIT_USAGE,
                                           "two models are called '%s': want --entry=NAME for each "
                                           "of them, in their order",
                                           name);
                                return false;
                        }
                ARENA_GROW(arena, o->entries.items, o->entries.count);
                o->entries.items[o->entries.count++] = name;
        }
        return true;
}

bool options_parse(struct options *options, int argc, char **argv, struct arena *arena,
                   struct diag *diag)
{
        *options = options_preset;
        const struct option_reader reader = { option_table, ROWS,  options_choices,
                                              options,      arena, diag };
        bool only_files = false;
        int apart = 0;                  /* It is the word behind an option whose argument would
                                         * stand behind =. */
        for (int i = 1; i < argc; i++) {
                const char *word = argv[i];
                if (!only_files && !strcmp(word, "--")) {
                        only_files = true;
                        continue;
                }
                if (only_files || word[0] != '-' || !word[1]) {
                        if (options->model && apart)
                                return second_model(
                                        word,
                                        arena_printf(arena,
                                                     ". The argument of %s stands behind =: %s=%s",
                                                     argv[apart - 1], argv[apart - 1],
                                                     text_argument(arena, argv[apart])),
                                        arena, diag);
                        if (options->model) {
                                ARENA_GROW(arena, options->more.items, options->more.count);
                                options->more.items[options->more.count++] = word;
                                continue;
                        }
                        options->model = word;
                        continue;
                }
                const struct option *option = option_read(&reader, argc, argv, &i);
                if (!option)
                        return false;
                if (option->kind == OPTION_PERHAPS && !strcmp(option->text, argv[i]) &&
                    i + 1 < argc && argv[i + 1][0] != '-' && !options->cost)
                        apart = i + 1;
        }
        return !options->more.count || options->cost || options->entries.count ||
               name_entries(options, arena, diag);
}

/* ---- help ---- */

enum { HELP_COLUMN = 30 };

/* Returns whether "The model" is asked for as "model", in any case. */
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
                const char *word = strrchr(groups[g].title, ' ') ? strrchr(groups[g].title, ' ') + 1
                                                                 : groups[g].title;
                char *lower = arena_string(arena, word);
                for (char *p = lower; *p; p++)
                        *p = (char)tolower((unsigned char)*p);
                suggest_add(&known, lower);
                found |= is_topic(groups[g].title, topic);
        }
        if (!found) {
                diag_error(diag, EXIT_USAGE, "--help=%s: no group of options is called so%s",
                           text_argument(arena, topic), suggest_text(&known, true));
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
                        if (lines[i] > groups[g].first &&
                            (g + 1 == GROUPS || lines[i] < groups[g + 1].first))
                                option_print(option_table[i].text, option_table[i].argument,
                                             option_table[i].doc, HELP_COLUMN);
        }
        if (!*topic)
                puts("\nExit codes: 0 ok, 1 usage, 2 cannot read or write, 3 invalid model, 4 "
                     "unsupported,\n"
                     "5 budget exceeded, 70 internal error. --help=TOPIC shows one group.");
        return true;
}

/* ---- the head of a generated file ---- */

/* Adds " --dim NAME=N". */
static void say_binding(struct text *text, struct arena *arena, const char *option,
                        const char *value)
{
        const char *equal = strrchr(value, '=');
        text_add(text, " %s %s", option,
                 text_safe(arena, value, equal ? (size_t)(equal - value) : strlen(value)));
        if (equal)
                text_add(text, "=%s",
                         !equal[1 + strspn(equal + 1, "0123456789.:,")]
                                 ? equal + 1
                                 : text_safe(arena, equal + 1, strlen(equal + 1)));
}

/* Returns the value where "[=FILE|dynamic]" has it as a word, as dynamic, and FILE for any other
 * value. */
static const char *path_or_word(struct arena *arena, const char *argument, const char *value)
{
        const char *name = argument + (*argument == '[' ? strlen("[=") : 0), *end;
        for (const char *p = name; *p && *p != ']'; p = end + (*end == '|')) {
                end = p + strcspn(p, "|]");
                if (strlen(value) == (size_t)(end - p) && !strncmp(value, p, (size_t)(end - p)))
                        return value;
        }
        return arena_printf(arena, "%.*s", (int)strcspn(name, "|]"), name);
}

static void say_list(struct text *text, struct arena *arena, const struct option *row,
                     const struct list *list)
{
        for (int i = 0; i < list->count; i++)
                if (row->said == SAID_SAFE)
                        say_binding(text, arena, row->text, list->items[i]);
                else
                        text_add(text, " %s=%s", row->text,
                                 row->said == SAID_PATH
                                         ? path_or_word(arena, row->argument, list->items[i])
                                         : list->items[i]);     /* It was checked. */
}

/* Adds a text that is not empty, or what stands behind = of an option that may do without. */
static void say_text(struct text *text, struct arena *arena, const struct option *row,
                     const char *value)
{
        if (*value)
                text_add(text, " %s=%s", row->text,
                         row->said == SAID_PATH    ? path_or_word(arena, row->argument, value)
                         : row->said == SAID_SAFE  ? text_safe(arena, value, strlen(value))
                         : row->said == SAID_VALUE ? value
                         : text_is_remark(value, strlen(value)) ? value
                                                                : "?");
        else if (row->kind == OPTION_PERHAPS)
                text_add(text, " %s", row->text);
}

/* Returns whether the value is the preset; inline weights are what auto makes of them. */
static bool is_preset(const struct options *o, const struct option *row, int value, int preset)
{
        return value == preset ||
               (row->field == offsetof(struct options, weights) && o->weights == WEIGHTS_INLINE);
}

static void say(struct text *text, struct arena *arena, const struct options *o,
                const struct option *row)
{
        const void *field = (const char *)o + row->field,
                   *preset = (const char *)&options_preset + row->field;
        switch (row->kind) {
        case OPTION_FLAG:
                if (*(const int *)field)
                        text_add(text, " %s", row->text);
                break;
        case OPTION_COUNT:
                if (*(const int *)field != *(const int *)preset)
                        text_add(text, " %s=%d", row->text, *(const int *)field);
                break;
        case OPTION_CHOICE:
                if (!is_preset(o, row, *(const int *)field, *(const int *)preset))
                        text_add(text, " %s=%s", row->text,
                                 option_choice_of(options_choices, row, *(const int *)field)->word);
                break;
        case OPTION_SIZE:
        case OPTION_NUMBER:
        case OPTION_WHOLE:
                if (*(const int64_t *)field != *(const int64_t *)preset)
                        text_add(text, " %s=%" PRId64, row->text, *(const int64_t *)field);
                break;
        case OPTION_TEXT:
        case OPTION_PERHAPS: {
                const char *value = *(const char *const *)field,
                           *usual = *(const char *const *)preset;
                if (value && !(usual && !strcmp(value, usual)))
                        say_text(text, arena, row, value);
                break;
        }
        case OPTION_LIST: say_list(text, arena, row, field); break;
        case OPTION_SET_0:
        case OPTION_SET_1:
        case OPTION_SET_2:
        case OPTION_SET_3:
        case OPTION_SET_4: break;
        }
}

enum { PLACES = 4 };

/* Returns where an option is stated: values, then names of the model, flags, free text. */
static int place_of(const struct option *row)
{
        return row->kind == OPTION_LIST   ? 1
               : row->kind == OPTION_FLAG ? 2
               : row->said == SAID_SAFE   ? 3
                                          : 0;
}

/* Adds the texts of an option as they were given, each with its NUL, and the number of a choice. */
static void add_given(struct text *out, const struct options *o, const struct option *row)
{
        const void *field = (const char *)o + row->field;
        const struct list *list = field;
        const char *text = row->kind == OPTION_TEXT || row->kind == OPTION_PERHAPS
                                   ? *(const char *const *)field
                                   : NULL;
        if (row->kind == OPTION_CHOICE)
                text_add(out, "%d", *(const int *)field);
        if (text)
                text_add_bytes(out, text, strlen(text) + 1);
        for (int i = 0; row->kind == OPTION_LIST && i < list->count; i++)
                text_add_bytes(out, list->items[i], strlen(list->items[i]) + 1);
}

void options_add_identity(struct text *out, const struct options *options)
{
        struct arena *arena = arena_new();
        text_add(out, "%s", options_canonical(arena, options));
        for (int i = 0; i < ROWS; i++) {
                if (option_table[i].said == SAID_NOT)
                        continue;
                text_add_bytes(out, option_table[i].text, strlen(option_table[i].text) + 1);
                add_given(out, options, &option_table[i]);
        }
        arena_free(arena);
}

char *options_canonical(struct arena *arena, const struct options *options)
{
        struct text text = { 0 };
        text_add(&text, "-O%d", options->level);
        for (int place = 0; place < PLACES; place++)
                for (int i = 0; i < ROWS; i++)
                        if (option_table[i].said > SAID_READ && place_of(&option_table[i]) == place)
                                say(&text, arena, options, &option_table[i]);
        char *copy = arena_string(arena, text.data);
        text_free(&text);
        return copy;
}
