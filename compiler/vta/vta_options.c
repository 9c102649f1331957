/* SPDX-License-Identifier: MIT */
#include "compiler/vta/vta_options.h"

#include <stddef.h>
#include <string.h>

#include "base/json.h"
#include "base/suggest.h"
#include "base/text.h"
#include "codegen/machines/machines.h"
#include "codegen/machines/simulator.h"
#include "compiler/option_reader.h"
#include "compiler/options.h"

static const struct option option_table[] = {
#define OPTION(text, argument, kind, field, commands, doc) { text, argument, OPTION_##kind, offsetof(struct vta_options, field), doc, commands, NULL, SAID_NOT },
#include "compiler/vta/vta_options.def"
};
enum { ROWS = sizeof option_table / sizeof *option_table };

static const struct { const char *name, *doc; } command_table[COMMANDS] = {
#define COMMAND(id, name, doc) { name, doc },
#include "compiler/vta/vta_options.def"
};

static bool is_listed(const char *words, const char *word)
{
        const char *at = strstr(words, word);
        return at && (at == words || at[-1] == ' ') && strchr(" ", at[strlen(word)]);
}

/* ---- reading ---- */

static bool set_command(struct vta_options *o, const char *word, struct arena *arena,
                        struct diag *diag)
{
        struct suggest known = suggest_new(arena, word, strlen(word));
        for (int k = 0; k < COMMANDS; k++) {
                suggest_add(&known, command_table[k].name);
                if (!strcmp(word, command_table[k].name)) {
                        o->command = (enum vta_command)k;
                        return true;
                }
        }
        diag_error(diag, EXIT_USAGE, "no command is called '%s'%s", text_argument(arena, word),
                   suggest_text(&known, true));
        return false;
}

static bool take_option(const struct option_reader *reader, const struct vta_options *o, int argc,
                        char **argv, int *at)
{
        const struct option *option = option_read(reader, argc, argv, at);
        if (!option)
                return false;
        if (!*option->commands ||
            (o->command != COMMANDS && is_listed(option->commands, command_table[o->command].name)))
                return true;
        diag_error(reader->diag, EXIT_USAGE, "%s is an option of these commands only: %s",
                   option->text, option->commands);
        return false;
}

bool vta_options_parse(struct vta_options *o, int argc, char **argv, struct arena *arena,
                       struct diag *diag)
{
        *o = (struct vta_options){
                .command = COMMANDS, .sizes = "", .poison = 0xa5, .steps = WORK_MOST, .most = 20
        };
        const struct option_reader reader = { option_table, ROWS, NULL, o, arena, diag };
        for (int k = 1; k < argc; k++) {
                bool word = argv[k][0] != '-' || !argv[k][1];
                if (!word) {
                        if (!take_option(&reader, o, argc, argv, &k))
                                return false;
                } else if (o->command == COMMANDS) {
                        if (!set_command(o, argv[k], arena, diag))
                                return false;
                } else if (o->file) {
                        diag_error(diag, EXIT_USAGE, "one file at a time: '%s' is a second one",
                                   text_argument(arena, argv[k]));
                        return false;
                } else {
                        o->file = argv[k];
                }
        }
        if (o->help && *o->help && strcmp(o->help, "json")) {
                diag_error(diag, EXIT_USAGE, "--help=%s: it is --help, or --help=json",
                           text_argument(arena, o->help));
                return false;
        }
        if (o->help || o->short_help || o->version)
                return true;
        if (!o->file)
                diag_error(diag, EXIT_USAGE,
                           o->command == COMMANDS
                                   ? "no command given: dnncc-vta COMMAND FILE, see --help"
                                   : "no file given: dnncc-vta %s FILE, see --help",
                           o->command == COMMANDS ? "" : command_table[o->command].name);
        else if (o->poison > 255)
                diag_error(diag, EXIT_USAGE, "--poison wants a byte, 0 to 255");
        else
                return true;
        return false;
}

/* ---- saying ---- */

enum { COLUMN = 26 };

void vta_options_help(void)
{
        puts("usage: dnncc-vta COMMAND [options] FILE\n\n"
             "Runs, checks and translates programs for VTA, and for a machine with a unified "
             "buffer (FILE: an\n"
             "exchange file, assembly text, or - for standard input).\n\nCommands:");
        for (int k = 0; k < COMMANDS; k++)
                option_print(command_table[k].name, NULL, command_table[k].doc, COLUMN);
        puts("\nOptions:");
        for (int k = 0; k < ROWS; k++)
                option_print(option_table[k].text, option_table[k].argument, option_table[k].doc,
                             COLUMN);
        puts("\nExit codes: 0 ok, 1 usage, 2 cannot read or write, 3 invalid file or a rule is "
             "broken, 5 more\n"
             "steps than allowed, 70 memory is not as expected.");
}

void vta_options_json(void)
{
        bool first = true;
        json_member(stdout, "{\n  ", "version", DNNCC_VERSION);
        fputs(",\n  \"commands\": [", stdout);
        for (int k = 0; k < COMMANDS; k++) {
                json_member(stdout, k ? ",\n    {" : "\n    {", "command", command_table[k].name);
                json_member(stdout, ", ", "doc", command_table[k].doc);
                fputs("}", stdout);
        }
        fputs("],\n  \"options\": [", stdout);
#define OPTION(text, argument, kind, field, commands, doc) \
        option_json(&(struct option_words){ NULL, text, argument, #kind, #field, commands, doc }, first), first = false;
#include "compiler/vta/vta_options.def"
        puts("]\n}");
}

/* Writes text, where a hyphen is a minus sign in names of options, and a dash elsewhere. */
static void put_roff(FILE *out, const char *text)
{
        for (; *text; text++)
                fprintf(out, *text == '-' ? "\\-" : "%c", *text);
}

void vta_options_man(FILE *out)
{
        fputs(".TH DNNCC-VTA 1 \"\" \"dnncc " DNNCC_VERSION
              "\" \"User Commands\"\n.SH NAME\ndnncc\\-vta \\- run, check and translate programs "
              "for "
              "accelerators\n.SH SYNOPSIS\n.B dnncc\\-vta\n\\fICOMMAND\\fR [\\fIoptions\\fR] "
              "\\fIFILE\\fR\n.SH DESCRIPTION\nFILE is an "
              "exchange file (.vta), assembly text (.vta.s), or \\- for standard input.\n.SH "
              "COMMANDS\n",
              out);
        for (int k = 0; k < COMMANDS; k++)
                fprintf(out, ".TP\n.B %s\n%s\n", command_table[k].name, command_table[k].doc);
        fputs(".SH OPTIONS\n", out);
        for (int k = 0; k < ROWS; k++) {
                const struct option *o = &option_table[k];
                fputs(".TP\n.B ", out);
                put_roff(out, o->text);
                if (o->argument)
                        fprintf(out, "%s%s", option_mark(o->text, o->argument), o->argument);
                fputs("\n", out);
                put_roff(out, o->doc);
                if (*o->commands && strcmp(o->commands, "run check dump assemble cycles"))
                        fprintf(out, " (%s)", o->commands);
                fputs("\n", out);
        }
        fputs(".SH RULES\nWhat\n.B check\nholds programs to. Without those marked with a star "
              "nothing can run them.\n",
              out);
        for (int n = 0; machines[n]; n++) {
                const struct instruction_set *set = machine_instructions(machines[n]);
                fprintf(out, ".SS Rules of %s\n", machines[n]->name);
                for (int k = 0; k < set->rule_count; k++)
                        fprintf(out, ".TP\n.B %s%s\n%s\n", set->rules[k].name,
                                set->rules[k].must ? " *" : "", set->rules[k].text);
        }
        fputs(".SH EXIT STATUS\n0 ok, 1 usage, 2 cannot read or write, 3 invalid file or a rule is "
              "broken, 5 more steps than allowed, 70 "
              "memory is not as expected.\n.SH SEE ALSO\n.BR dnncc (1), docs/accelerators.md\n",
              out);
}
