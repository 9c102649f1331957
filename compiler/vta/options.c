/* SPDX-License-Identifier: MIT */
#include "compiler/vta/options.h"

#include <stddef.h>
#include <string.h>

#include "base/size.h"
#include "base/suggest.h"
#include "base/text.h"
#include "codegen/vta/check.h"
#include "compiler/options.h"

enum option_kind { FLAG, TEXT, NUMBER };

struct option {
        const char *text, *argument;
        enum option_kind kind;
        size_t field;
        const char *commands, *doc;
};
static const struct option option_table[] = {
#define OPTION(text, argument, kind, field, commands, doc) { text, argument, kind, offsetof(struct vta_options, field), commands, doc },
#include "compiler/vta/options.def"
};
enum { OPTION_COUNT = sizeof option_table / sizeof *option_table };

static const struct { const char *name, *doc; } command_table[COMMANDS] = {
#define COMMAND(id, name, doc) { name, doc },
#include "compiler/vta/options.def"
};

static bool is_listed(const char *words, const char *word)
{
        const char *at = strstr(words, word);
        return at && (at == words || at[-1] == ' ') && strchr(" ", at[strlen(word)]);
}

/* ---- reading ---- */

static bool set_option(struct vta_options *o, const struct option *option, const char *value, struct arena *arena, struct diag *diag)
{
        char *field = (char *)o + option->field;
        int64_t number;
        switch (option->kind) {
        case FLAG:
                *(int *)(void *)field = 1;
                return true;
        case TEXT:
                *(const char **)(void *)field = value;
                return true;
        case NUMBER:
                if (!int_parse(value, &number) || number < 0) {
                        diag_error(diag, EXIT_USAGE, "%s wants a number from 0 on, not '%s'", option->text, text_argument(arena, value));
                        return false;
                }
                *(int64_t *)(void *)field = number;
                return true;
        }
        return false;
}

/* "--seed=3", "--seed 3", "-o x", "-ox" */
static const struct option *find_option(const char *word, const char **value)
{
        for (int k = 0; k < OPTION_COUNT; k++) {
                const struct option *o = &option_table[k];
                size_t length = strlen(o->text);
                bool wide = o->text[1] == '-';
                *value = NULL;
                if (!strcmp(word, o->text))
                        return o;
                if (!o->argument || strncmp(word, o->text, length) || (wide && word[length] != '='))
                        continue;
                *value = word + length + (word[length] == '=');
                return o;
        }
        return NULL;
}

static bool set_command(struct vta_options *o, const char *word, struct arena *arena, struct diag *diag)
{
        struct suggest known = suggest_new(arena, word, strlen(word));
        for (int k = 0; k < COMMANDS; k++) {
                suggest_add(&known, command_table[k].name);
                if (!strcmp(word, command_table[k].name)) {
                        o->command = (enum vta_command)k;
                        return true;
                }
        }
        diag_error(diag, EXIT_USAGE, "no command is called '%s'%s", text_argument(arena, word), suggest_text(&known, true));
        return false;
}

static bool take_option(struct vta_options *o, int argc, char **argv, int *at, struct arena *arena, struct diag *diag)
{
        const char *value;
        const struct option *option = find_option(argv[*at], &value);
        if (!option) {
                struct suggest known = suggest_new(arena, argv[*at], strcspn(argv[*at], "="));
                for (int k = 0; k < OPTION_COUNT; k++)
                        suggest_add(&known, option_table[k].text);
                const char *hint = suggest_text(&known, false);
                diag_error(diag, EXIT_USAGE, "unknown option '%s'%s", text_argument(arena, argv[*at]), *hint ? hint : ": see --help");
                return false;
        }
        if (*option->commands && (o->command == COMMANDS || !is_listed(option->commands, command_table[o->command].name))) {
                diag_error(diag, EXIT_USAGE, "%s stands behind a command that it is for: %s", option->text, option->commands);
                return false;
        }
        if (option->argument && !value && *at + 1 == argc) {
                diag_error(diag, EXIT_USAGE, "%s wants %s", option->text, option->argument);
                return false;
        }
        if (option->argument && !value)
                value = argv[++*at];
        return set_option(o, option, value, arena, diag);
}

bool vta_options_parse(struct vta_options *o, int argc, char **argv, struct arena *arena, struct diag *diag)
{
        *o = (struct vta_options){ .command = COMMANDS, .sizes = "", .poison = 0xa5, .steps = VTA_WORK_MOST, .most = 20 };
        for (int k = 1; k < argc; k++) {
                bool word = argv[k][0] != '-' || !argv[k][1];
                if (!word) {
                        if (!take_option(o, argc, argv, &k, arena, diag))
                                return false;
                } else if (o->command == COMMANDS) {
                        if (!set_command(o, argv[k], arena, diag))
                                return false;
                } else if (o->file) {
                        diag_error(diag, EXIT_USAGE, "one file at a time: '%s' is a second one", text_argument(arena, argv[k]));
                        return false;
                } else {
                        o->file = argv[k];
                }
        }
        if (o->help || o->version)
                return true;
        if (!o->file)
                diag_error(diag, EXIT_USAGE, o->command == COMMANDS ? "no command given: dnncc-vta COMMAND FILE, see --help"
                                                                    : "no file given: dnncc-vta %s FILE, see --help",
                           o->command == COMMANDS ? "" : command_table[o->command].name);
        else if (o->poison > 255)
                diag_error(diag, EXIT_USAGE, "--poison wants a byte, 0 to 255");
        else
                return true;
        return false;
}

/* ---- saying ---- */

enum { COLUMN = 22, WIDTH = 100 };

static void print_row(const char *text, const char *argument, const char *doc)
{
        const char *mark = !argument ? "" : text[1] == '-' ? "=" : " ";
        int at = printf("  %s%s%s", text, mark, argument ? argument : "");
        printf("%*s", at < COLUMN ? COLUMN - at : 1, "");
        for (at = COLUMN; *doc; doc += *doc == ' ') {
                int length = (int)strcspn(doc, " ");
                if (at > COLUMN && at + 1 + length > WIDTH)
                        at = printf("\n%*s", COLUMN, "") - 1;
                at += printf("%s%.*s", at > COLUMN ? " " : "", length, doc);
                doc += length;
        }
        putchar('\n');
}

void vta_options_help(void)
{
        puts("usage: dnncc-vta COMMAND [options] FILE\n\n"
             "Runs, checks and translates programs for VTA (FILE: an exchange file, assembly text, or - for\nstandard input).\n\nCommands:");
        for (int k = 0; k < COMMANDS; k++)
                print_row(command_table[k].name, NULL, command_table[k].doc);
        puts("\nOptions:");
        for (int k = 0; k < OPTION_COUNT; k++)
                print_row(option_table[k].text, option_table[k].argument, option_table[k].doc);
        puts("\nExit codes: 0 ok, 1 usage, 2 cannot read or write, 3 invalid file or a rule is broken, 5 more\n"
             "steps than allowed, 70 memory is not as expected.");
}

/* a hyphen is a minus sign in names of options, and a dash elsewhere */
static void put_roff(FILE *out, const char *text)
{
        for (; *text; text++)
                fprintf(out, *text == '-' ? "\\-" : "%c", *text);
}

void vta_options_man(FILE *out)
{
        fputs(".TH DNNCC-VTA 1 \"\" \"dnncc " DNNCC_VERSION "\" \"User Commands\"\n.SH NAME\ndnncc\\-vta \\- run, check and translate programs for "
              "the accelerator VTA\n.SH SYNOPSIS\n.B dnncc\\-vta\n\\fICOMMAND\\fR [\\fIoptions\\fR] \\fIFILE\\fR\n.SH DESCRIPTION\nFILE is an "
              "exchange file (.vta), assembly text (.vta.s), or \\- for standard input.\n.SH COMMANDS\n", out);
        for (int k = 0; k < COMMANDS; k++)
                fprintf(out, ".TP\n.B %s\n%s\n", command_table[k].name, command_table[k].doc);
        fputs(".SH OPTIONS\n", out);
        for (int k = 0; k < OPTION_COUNT; k++) {
                const struct option *o = &option_table[k];
                fputs(".TP\n.B ", out);
                put_roff(out, o->text);
                if (o->argument)
                        fprintf(out, "%s%s", o->text[1] == '-' ? "=" : " ", o->argument);
                fputs("\n", out);
                put_roff(out, o->doc);
                if (*o->commands && strcmp(o->commands, "run check dump assemble cycles"))
                        fprintf(out, " (%s)", o->commands);
                fputs("\n", out);
        }
        fputs(".SH RULES\nWhat\n.B check\nholds programs to. Without those marked with a star nothing can run them.\n", out);
        for (int k = 0; k < VTA_RULES; k++)
                fprintf(out, ".TP\n.B %s%s\n%s\n", vta_rules[k].name, vta_rules[k].must ? " *" : "", vta_rules[k].text);
        fputs(".SH EXIT STATUS\n0 ok, 1 usage, 2 cannot read or write, 3 invalid file or a rule is broken, 5 more steps than allowed, 70 "
              "memory is not as expected.\n.SH SEE ALSO\n.BR dnncc (1), docs/accelerators.md\n", out);
}
