/* SPDX-License-Identifier: MIT */
/* A list of commands is a text. Each line has the arguments of one, as a shell would take them, but
 * that nothing is replaced: blanks stand between words, '..' and "..", and a backslash before a
 * character, keep blanks. A # where a word would begin starts a comment; empty lines say nothing.
 *
 *      # the zoo
 *      resnet50.onnx --target=x86-64-v3 -o resnet50.c
 *      'my model.onnx' -o model.c -MD            # blanks in a name */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "compiler/batch.h"

enum { ERRORS_MOST = 20 };

struct reader {
        struct run *run;
        struct batch_list *list;
        const char *text;
        size_t length, at, line_start;
        int line;
        char **front;
        int front_count;
};

static bool fail_at(struct reader *r, int line, int column, const char *what)
{
        struct diag *diag = &r->run->diag;
        diag->place = arena_printf(r->run->arena, "line " DIAG_LINE("%d"), line);
        diag_error(diag, EXIT_USAGE, "column %d: %s", column, what);
        diag->place = NULL;
        return false;
}

static int column_of(const struct reader *r, size_t at) { return (int)(at - r->line_start) + 1; }

/* ---- words ---- */

static bool at_end(const struct reader *r)
{
        return r->at == r->length || r->text[r->at] == '\n';
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* Reads the word that begins here. */
static bool read_word(struct reader *r, struct batch_word *word)
{
        const size_t start = r->at;
        struct text text = { 0 };
        char quote = 0;
        while (!at_end(r) && (quote || !is_blank(r->text[r->at]))) {
                char c = r->text[r->at++];
                if (!c) {
                        text_free(&text);
                        return fail_at(r, r->line, column_of(r, r->at - 1),
                                       "a list is a text, and this is a NUL");
                }
                if (quote && c == quote) {
                        quote = 0;
                } else if (!quote && (c == '\'' || c == '"')) {
                        quote = c;
                } else {
                        /* In "..", a backslash stands for itself but before these two. */
                        if (c == '\\' && quote != '\'' && !at_end(r) &&
                            (!quote || r->text[r->at] == '"' || r->text[r->at] == '\\'))
                                c = r->text[r->at++];
                        text_add_bytes(&text, &c, 1);
                }
        }
        *word = (struct batch_word){ arena_string(r->run->arena, text.data ? text.data : ""),
                                     column_of(r, start) };
        text_free(&text);
        return !quote || fail_at(r, r->line, column_of(r, start), "a quote is not closed");
}

static bool read_line(struct reader *r, struct batch_line *line)
{
        struct arena *arena = r->run->arena;
        *line = (struct batch_line){ .number = r->line };
        bool fine = true;
        while (fine) {
                while (!at_end(r) && is_blank(r->text[r->at]))
                        r->at++;
                if (at_end(r) || r->text[r->at] == '#')
                        break;
                ARENA_GROW(arena, line->words, line->count);
                fine = read_word(r, &line->words[line->count++]);
        }
        while (!at_end(r))
                r->at++;
        return fine;
}

/* ---- what a line says ---- */

char **batch_arguments(struct arena *arena, const struct batch_line *line, char **front,
                       int front_count, int *argc)
{
        char **words = arena_array(arena, (size_t)(front_count + line->count) + 2, sizeof *words);
        *argc = 0;
        words[(*argc)++] = arena_string(arena, "dnncc");
        for (int i = 0; i < front_count; i++)
                words[(*argc)++] = front[i];
        for (int i = 0; i < line->count; i++)
                words[(*argc)++] = arena_string(arena, line->words[i].text);
        return words;
}

/* Returns the column of the word that options_parse does not take: those in front of it are fine,
 * and all that end behind it are not. */
static int wrong_column(struct reader *r, const struct batch_line *line, int argc, char **argv)
{
        struct options options;
        int fine = 1;
        for (int n = 1; n < argc; n++) {
                struct diag silent = { .silent = true };
                if (options_parse(&options, n, argv, r->run->arena, &silent))
                        fine = n;
        }
        const int word = fine - 1 - r->front_count;
        return word >= 0 && word < line->count ? line->words[word].column : 1;
}

/* Returns what options_parse says of arguments that it does not take. */
static const char *said_of(struct arena *arena, int argc, char **argv)
{
        struct options options;
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        if (!out)
                memory_exhausted();
        struct diag aside = { .subject = "", .stream = out };
        options_parse(&options, argc, argv, arena, &aside);
        fclose(out);
        const char *start = strstr(text, "error: ");
        char *said = arena_string(arena, start ? start + strlen("error: ") : text);
        said[strcspn(said, "\n")] = 0;
        diag_unmark(said);
        free(text);
        return said;
}

static bool wants_help(const struct options *o)
{
        return o->help || o->short_help || o->version || o->help_passes || o->help_ops;
}

/* Returns the column of the first word that is this text, or has it behind "=" or "-o". */
static int column_of_word(const struct batch_line *line, const char *text)
{
        for (int i = 0; i < line->count && text; i++) {
                const char *word = line->words[i].text, *equal = strchr(word, '=');
                if (!strcmp(word, text) || (equal && !strcmp(equal + 1, text)) ||
                    (!strncmp(word, "-o", 2) && !strcmp(word + 2, text)))
                        return line->words[i].column;
        }
        return 1;
}

static bool check_line(struct reader *r, int number, struct map *outputs)
{
        const struct batch_line *line = &r->list->lines[number];
        struct arena *arena = r->run->arena;
        struct options o;
        int argc;
        char **argv = batch_arguments(arena, line, r->front, r->front_count, &argc);
        struct diag attempt = { .silent = true };
        if (!options_parse(&o, argc, argv, arena, &attempt))
                return fail_at(r, line->number, wrong_column(r, line, argc, argv),
                               said_of(arena, argc, argv));
        if (o.batch || o.jobs != options_preset.jobs)
                return fail_at(r, line->number, column_of_word(line, o.batch ? o.batch : NULL),
                               "--batch and --jobs are for the command that reads the list, not "
                               "for a line of it");
        if (o.model && !strcmp(o.model, "-"))
                return fail_at(r, line->number, column_of_word(line, "-"),
                               "a line of a list cannot read standard input");
        if (!o.model && !o.merge.count && !wants_help(&o))
                return fail_at(r, line->number, line->words[0].column, "no model given");
        if (!o.output || !strcmp(o.output, "-"))
                return true;
        const struct batch_line *same = map_get(outputs, o.output, strlen(o.output));
        if (same)
                return fail_at(r, line->number, column_of_word(line, o.output),
                               arena_printf(arena, "line %d writes %s, too", same->number,
                                            text_argument(arena, o.output)));
        map_set(outputs, o.output, strlen(o.output), &r->list->lines[number]);
        return true;
}

/* ---- the list ---- */

static void read_lines(struct reader *r)
{
        struct batch_list *list = r->list;
        struct arena *arena = r->run->arena;
        struct map *outputs = map_new(arena);           /* The line that writes each. */
        while (r->at < r->length && r->run->diag.errors < ERRORS_MOST) {
                struct batch_line line;
                r->line++;
                r->line_start = r->at;
                if (read_line(r, &line) && line.count) {
                        ARENA_GROW(arena, list->lines, list->count);
                        list->lines[list->count++] = line;
                        check_line(r, list->count - 1, outputs);
                }
                r->at += r->at < r->length;
        }
}

bool batch_list_read(struct run *run, const char *path, char **front, int front_count,
                     struct batch_list *list)
{
        unsigned char *bytes;
        size_t length;
        struct diag *diag = &run->diag;
        *list = (struct batch_list){ .name = strcmp(path, "-") ? text_argument(run->arena, path)
                                                               : "standard input" };
        diag->subject = list->name;
        if (!file_read(path, run->context.limits.file_bytes, &bytes, &length, diag))
                return false;
        struct reader r = { .run = run, .list = list, .text = (const char *)bytes,
                            .length = length, .front = front, .front_count = front_count };
        read_lines(&r);
        free(bytes);
        diag->subject = "dnncc";
        return !diag->errors;
}
