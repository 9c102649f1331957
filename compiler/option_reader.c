/* SPDX-License-Identifier: MIT */
#include "compiler/option_reader.h"

#include <string.h>

#include "base/size.h"
#include "base/suggest.h"
#include "base/text.h"

enum { COUNT_MAX = 256, HELP_WIDTH = 100 };

/* ---- values ---- */

static bool refuse(const struct option_reader *r, const struct option *option, const char *wanted,
                   const char *value)
{
        diag_error(r->diag, EXIT_USAGE, "%s wants %s, not '%s'", option->text, wanted,
                   text_argument(r->arena, value));
        return false;
}

static bool is_of(const struct option_choice *choice, const struct option *option)
{
        return !strcmp(choice->field, option->name);
}

const struct option_choice *option_choice_of(const struct option_choice *choices,
                                             const struct option *option, int value)
{
        for (; choices->field; choices++)
                if (is_of(choices, option) && choices->value == value)
                        return choices;
        return NULL;
}

const struct option_choice *option_choice_called(const struct option_choice *choices,
                                                 const struct option *option, const char *word,
                                                 size_t length)
{
        for (; choices->field; choices++)
                if (is_of(choices, option) && strlen(choices->word) == length &&
                    !strncmp(choices->word, word, length))
                        return choices;
        return NULL;
}

static bool set_choice(const struct option_reader *r, const struct option *option,
                       const char *value, void *field)
{
        const struct option_choice *chosen =
                option_choice_called(r->choices, option, value, strlen(value));
        struct suggest known = suggest_new(r->arena, value, strlen(value));
        if (chosen) {
                *(int *)field = chosen->value;
                return true;
        }
        for (const struct option_choice *c = r->choices; c->field; c++)
                if (is_of(c, option))
                        suggest_add(&known, c->word);
        diag_error(r->diag, EXIT_USAGE, "%s wants one of %s, not '%s'%s", option->text,
                   option->argument, text_argument(r->arena, value), suggest_text(&known, false));
        return false;
}

static bool set_number(const struct option_reader *r, const struct option *option,
                       const char *value, void *field)
{
        int64_t number, least = option->kind == OPTION_WHOLE ? 0 : 1;
        bool counts = option->kind == OPTION_COUNT;
        if (!int_parse(value, &number) || number < least || (counts && number > COUNT_MAX))
                return refuse(r, option,
                              counts  ? arena_printf(r->arena, "a number from 1 to %d", COUNT_MAX)
                              : least ? "a number from 1 on"
                                      : "a number from 0 on",
                              value);
        if (counts)
                *(int *)field = (int)number;
        else
                *(int64_t *)field = number;
        return true;
}

static bool set_size(const struct option_reader *r, const struct option *option, const char *value,
                     int64_t *field)
{
        uint64_t bytes;
        if (!size_parse(value, &bytes))
                return refuse(r, option, "a size such as 64K, 64KiB or 1M", value);
        *field = (int64_t)bytes;
        return true;
}

static bool set_field(const struct option_reader *r, const struct option *option, const char *value)
{
        void *field = (char *)r->fields + option->field;
        switch (option->kind) {
        case OPTION_FLAG:
                *(int *)field = 1;
                return true;
        case OPTION_SET_0: case OPTION_SET_1: case OPTION_SET_2: case OPTION_SET_3:
        case OPTION_SET_4:
                *(int *)field = (int)option->kind - OPTION_SET_0;
                return true;
        case OPTION_TEXT:
                *(const char **)field = value;
                return true;
        case OPTION_PERHAPS:
                *(const char **)field = value ? value : "";
                return true;
        case OPTION_LIST: {
                struct list *list = field;
                ARENA_GROW(r->arena, list->items, list->count);
                list->items[list->count++] = value;
                return true;
        }
        case OPTION_SIZE:
                return set_size(r, option, value, field);
        case OPTION_COUNT: case OPTION_NUMBER: case OPTION_WHOLE:
                return set_number(r, option, value, field);
        case OPTION_CHOICE: return set_choice(r, option, value, field);
        }
        return false;
}

/* ---- words ---- */

/* Returns whether it is one of -O0, -O1, .. for -O4 or -Ofast. */
static bool is_level(const struct option *o, const char *word)
{
        return o->kind >= OPTION_SET_0 && o->kind <= OPTION_SET_3 && o->text[1] != '-' &&
               !strncmp(o->text, word, 2) && strlen(o->text) == 3;
}

static const struct option *unknown(const struct option_reader *r, const char *word)
{
        struct suggest known = suggest_new(r->arena, word, strcspn(word, "="));
        bool level = false;             /* For -O4, one of the options that begin so, which set one
                                         * field to a number, is meant. */
        for (int i = 0; i < r->count; i++)
                level |= is_level(&r->table[i], word);
        if (level)
                known.wanted = arena_printf(r->arena, "%.2s", word);
        for (int i = 0; i < r->count; i++)
                if (!level || is_level(&r->table[i], word))
                        suggest_add(&known, r->table[i].text);
        if (level)
                known.near = NULL;
        const char *hint = suggest_text(&known, false);
        diag_error(r->diag, EXIT_USAGE, "unknown option '%s'%s", text_argument(r->arena, word),
                   *hint ? hint : ": see --help");
        return NULL;
}

/* Returns the option, or NULL where there is none. *value is NULL where the argument must
 * follow. */
static const struct option *find(const struct option_reader *r, const char *word,
                                 const char **value)
{
        for (int i = 0; i < r->count; i++) {
                const struct option *o = &r->table[i];
                size_t length = strlen(o->text);
                *value = NULL;
                if (strncmp(word, o->text, length))
                        continue;
                if (!word[length])
                        return o;
                if (!o->argument || (!strncmp(o->text, "--", 2) && word[length] != '='))
                        continue;
                *value = word + length + (word[length] == '=');
                return o;
        }
        return NULL;
}

const struct option *option_read(const struct option_reader *r, int argc, char **argv, int *at)
{
        const char *value;
        const struct option *option = find(r, argv[*at], &value);
        if (!option)
                return unknown(r, argv[*at]);
        if (option->argument && !value && option->kind != OPTION_PERHAPS) {
                if (*at + 1 == argc) {
                        diag_error(r->diag, EXIT_USAGE, "%s wants %s", option->text,
                                   option->argument);
                        return NULL;
                }
                value = argv[++*at];
        }
        return set_field(r, option, value) ? option : NULL;
}

/* ---- help ---- */

const char *option_mark(const char *text, const char *argument)
{
        return !argument || *argument == '['              ? ""
               : text[1] == '-' && !strchr(argument, '=') ? "="
                                                          : " ";
}

/* Prints text in lines, each from the column on. */
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

void option_print(const char *text, const char *argument, const char *doc, int column)
{
        int used = printf("  %s%s%s", text, option_mark(text, argument), argument ? argument : "");
        if (used < column)
                printf("%*s", column - used, "");
        else
                printf("\n%*s", column, "");
        print_wrapped(doc, column);
}
