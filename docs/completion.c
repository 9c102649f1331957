/* SPDX-License-Identifier: MIT */
/* Completion for shells, from the tables: `completion PROGRAM SHELL` prints what make install puts
 * in place; dnncc or dnncc-vta, for bash, zsh or fish.
 *
 * An option is completed by what stands in its row of options.def: the words of a choice, files
 * where its argument is FILE or PATH, folders for DIR. Where the words stand in another table,
 * the list of sources below says which; where they are names of the model, the list of names:
 * the model is the file *.onnx on the line, and --info=names says what it calls its own. Names
 * come from a file of anybody: shells get them as texts, never as words to be expanded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "codegen/targets.h"
#include "compiler/options.h"
#include "passes/pass.h"

enum files { FILES_NONE, FILES_ANY, FILES_FOLDERS };

struct completion {
        const char *option, *argument, *doc;
        bool repeated, optional;        /* may be given again; may stand without its argument */
        const char **words;             /* NULL: none */
        int count;
        bool list;                      /* words with commas between */
        const char *names, *behind;     /* kinds of --info=names, with | between; what follows: "=",
                                         * "" */
        enum files files;
};

struct command { const char *name, *doc; };

/* what is completed */
static struct program {
        const char *name;
        char *function;                 /* of bash: _dnncc */
        const char *file, *endings[4];  /* what it reads: its name in usage, and endings */
        const struct command *commands; /* the first word is one of them; NULL: there are none */
} program;

static struct arena *arena;

static void add(struct completion *c, const char *word)
{
        ARENA_GROW(arena, c->words, c->count);
        c->words[c->count++] = word;
}

/* ---- words of other tables ---- */

static void add_targets(struct completion *c)
{
        for (int i = 0; target_at(i); i++)
                add(c, target_at(i)->name);
        add(c, "native");
        add(c, "help");
}

static void add_passes(struct completion *c)
{
        for (int i = 0; i < pass_count; i++)
                add(c, passes[i].name);
        if (!c->list)
                add(c, "all");
}

static void add_observers(struct completion *c)
{
#define OBSERVER(id, name, function, argument, doc) add(c, name);
#include "passes/calibrate/observers.def"
        add(c, "help");
}

static void add_grids(struct completion *c)
{
#define SCHEME(name, element, stored, doc) add(c, #name); add(c, #name "-symmetric");
#include "passes/calibrate/schemes.def"
        add(c, "help");
}

static void add_steps(struct completion *c)
{
#define STEP(id, ...) add(c, #id);
#include "passes/quantize/quantize_steps.def"
        add(c, "help");
}

static void add_weights(struct completion *c)
{
#define WEIGHTS(name, element, bits, zeros, block, doc) add(c, #name);
#include "passes/quantize/weights_types.def"
        add(c, "help");
}

static void add_limits(struct completion *c)
{
#define LIMIT(name, preset, doc) add(c, #name "=");
#include "passes/limits.def"
        add(c, "help");
}

static void add_layers(struct completion *c)
{
        add(c, "first");
        add(c, "last");
}

static const struct source {
        const char *option;
        void (*add)(struct completion *);
        bool list;
} sources[] = {
        { "--target", add_targets, true },         { "--passes", add_passes, true },
        { "--print-ir-after", add_passes, false }, { "--print-ir-before", add_passes, false },
        { "--observer", add_observers, false },    { "--activations", add_grids, false },
        { "--quantize-steps", add_steps, true },   { "--quantize-weights", add_weights, false },
        { "--limit", add_limits, false },          { "--keep-float", add_layers, false },
};

/* of dnncc, as sources are */
static const struct names { const char *option, *kinds, *behind; } names[] = {
        { "--dim", "dim", "=" }, { "--input", "input", "=" }, { "--output", "output|value", "" }, { "--keep", "value", "" },
        { "--quantize-port", "input|output", "=" }, { "--keep-float", "node|value", "" }, { "--explain", "node", "" },
};

/* ---- rows ---- */

static struct completion *completions;
static int completion_count;

/* FILE, "a|b|c", "[=FILE|dynamic]": words are small, what stands for something is large */
static void add_forms(struct completion *c, const char *argument)
{
        for (const char *p = argument + (c->optional ? strlen("[=") : 0); *p && *p != ']';) {
                size_t length = strcspn(p, "|]");
                const char *form = arena_printf(arena, "%.*s", (int)length, p);
                if (!strncmp(form, "FILE", 4) || !strcmp(form, "PATH"))
                        c->files = FILES_ANY;
                else if (!strcmp(form, "DIR"))
                        c->files = FILES_FOLDERS;
                else if (form[strspn(form, "abcdefghijklmnopqrstuvwxyz0123456789-")] == 0)
                        add(c, form);
                p += length + (p[length] == '|');
        }
}

/* "--info=json" is a word of the row before it, which may do without */
static bool is_form_of(const char *text, const struct completion *before)
{
        const char *equal = strchr(text, '=');
        return equal && !strncmp(text, before->option, (size_t)(equal - text)) &&
               strlen(before->option) == (size_t)(equal - text);
}

static void add_row(const char *text, const char *argument, const char *kind, const char *doc)
{
        struct completion *before = completion_count ? &completions[completion_count - 1] : NULL;
        if (before && is_form_of(text, before)) {
                before->optional = true;
                before->argument = "FORM";
                add(before, strchr(text, '=') + 1);
                return;
        }
        ARENA_GROW(arena, completions, completion_count);
        struct completion *c = &completions[completion_count++];
        *c = (struct completion){ .option = text, .argument = argument, .doc = doc,
                                  .repeated = !strcmp(kind, "LIST"),
                                  .optional = argument && *argument == '[' };
        for (size_t i = 0; i < sizeof names / sizeof *names && !program.commands; i++)
                if (!strcmp(names[i].option, text)) {
                        c->names = names[i].kinds;
                        c->behind = names[i].behind;
                }
        for (size_t i = 0; i < sizeof sources / sizeof *sources && !program.commands; i++)
                if (!strcmp(sources[i].option, text)) {
                        c->list = sources[i].list;
                        sources[i].add(c);
                        return;
                }
        if (argument)
                add_forms(c, argument);
}

static void put_words(const struct completion *c)
{
        for (int i = 0; i < c->count; i++)
                printf("%s%s", i ? " " : "", c->words[i]);
}

/* ---- bash ---- */

/* @ is the function */
static void put_template(const char *text)
{
        for (; *text; text++)
                if (*text == '@')
                        fputs(program.function, stdout);
                else
                        putchar(*text);
}

static const char bash_head[] =
        "@()\n{\n"
        "    local IFS=$'\\n' cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]} "
        "equal= list= words= files= names= end= before=\n"
        "    COMPREPLY=()\n"
        "    # --option=value is three words to bash\n"
        "    if [[ $cur == = ]]; then\n        cur= equal=1\n"
        "    elif [[ $option == = ]]; then\n        option=${COMP_WORDS[COMP_CWORD-2]} equal=1\n   "
        " fi\n"
        "    case $option in\n";
static const char bash_middle[] =
        "    *)\n        files=model ;;\n    esac\n"
        "    if [[ -n $list ]]; then\n"
        "        [[ $cur == *,* ]] && before=${cur%,*}, cur=${cur##*,}\n"
        "        [[ $cur == [+-]* ]] && before=$before${cur:0:1} cur=${cur:1}\n    fi\n";
static const char bash_tail[] =
        "    if [[ $files == model && $cur == -* ]]; then\n"
        "        COMPREPLY=($(compgen -W \"$(@_options)\" -- \"$cur\"))\n"
        "    else\n"
        "        [[ -n $words ]] && COMPREPLY=($(compgen -P \"$before\" -W \"${words// /$IFS}\" -- "
        "\"$cur\"))\n"
        "        [[ -n $names ]] && @_names\n"
        "        [[ -n $files ]] && compopt -o filenames 2>/dev/null\n"
        "        [[ $files == any ]] && COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
        "        [[ $files == folders || $files == model ]] && COMPREPLY+=($(compgen -d -- "
        "\"$cur\"))\n"
        "        [[ $files == model ]] && COMPREPLY+=($(";
static const char bash_end[] =
        "))\n"
        "    fi\n"
        "    # what goes on behind it\n"
        "    [[ -n $list || ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
        "    return 0\n}\n"
        "complete -F @ ";
static const char bash_names[] =
        "@_names()\n{\n    local i word name\n"
        "    for ((i = 1; i < ${#COMP_WORDS[*]}; i++)); do\n"
        "        word=${COMP_WORDS[i]/#\\~/$HOME}\n"
        "        [[ $word == *.onnx && -f $word ]] || continue\n"
        "        while read -r name; do\n"
        "            [[ $name == \"$cur\"* ]] && COMPREPLY+=(\"$(printf %q \"$name\")$end\")\n"
        "        done < <(\"${COMP_WORDS[0]/#\\~/$HOME}\" \"$word\" --info=names 2>/dev/null "
        "</dev/null | sed -nE \"s/^($names) //p\")\n"
        "    done\n}\n";

/* "run check" */
static void put_commands(void)
{
        for (const struct command *c = program.commands; c->name; c++)
                printf("%s%s", c == program.commands ? "" : " ", c->name);
}

static void print_bash(void)
{
        printf("# bash completion of %s, made from its tables (docs/completion.c)\n", program.name);
        put_template(bash_head);
        for (int i = 0; i < completion_count; i++) {
                const struct completion *c = &completions[i];
                if (!c->argument)
                        continue;
                printf("    %s)\n        ", c->option);
                if (c->optional)
                        fputs("[[ -z $equal ]] && files=model || ", stdout);
                fputs("{ words='", stdout);
                put_words(c);
                printf("' list=%s files=%s names='%s' end='%s'; } ;;\n", c->list ? "1" : "",
                       c->files == FILES_ANY ? "any"
                       : c->files            ? "folders"
                                             : "",
                       c->names ? c->names : "", c->names ? c->behind : "");
        }
        put_template(bash_middle);
        if (program.commands) {
                fputs("    [[ $COMP_CWORD == 1 && $cur != -* ]] && files= words='", stdout);
                put_commands();
                puts("'");
        }
        put_template(bash_tail);
        for (int i = 0; program.endings[i]; i++)
                printf("%scompgen -f -X '!*.%s' -- \"$cur\"", i ? "; " : "", program.endings[i]);
        put_template(bash_end);
        puts(program.name);
        if (!program.commands)
                put_template(bash_names);
        put_template("@_options()\n{\n    cat <<'END'\n");
        for (int i = 0; i < completion_count; i++) {
                const struct completion *c = &completions[i];
                bool equal = c->argument && !c->optional && !strncmp(c->option, "--", 2);
                printf("%s%s\n", c->option, equal ? "=" : "");
        }
        puts("END\n}");
}

/* ---- zsh ---- */

/* inside '...[ ]...' */
static void put_zsh(const char *text)
{
        for (; *text; text++)
                if (*text == '\'')
                        fputs("'\\''", stdout);
                else {
                        if (strchr("[]:\\", *text))
                                putchar('\\');
                        putchar(*text);
                }
}

/* first and last beside names of layers */
static void put_zsh_words(const struct completion *c)
{
        if (c->count)
                fputs("compadd - ", stdout), put_words(c), putchar(' ');
}

static void put_zsh_action(const struct completion *c)
{
        if (c->names)
                printf("{ %s_names \"%s\" \"%s\"; ", program.function, c->names, c->behind),
                        put_zsh_words(c), putchar('}');
        else if (c->count && c->files)
                fputs("{ _alternative \"words\\:word\\:(", stdout), put_words(c),
                        fputs(")\" \"files\\:file\\:_files\" }", stdout);
        else if (c->files)
                fputs(c->files == FILES_ANY ? "_files" : "_files -/", stdout);
        else if (c->list)
                fputs("{ compset -P \"*,\"; compset -P \"[+-]\"; compadd -qS , - ", stdout),
                        put_words(c), fputs(" }", stdout);
        else if (c->count)
                putchar('('), put_words(c), putchar(')');
        else
                putchar(' ');
}

static const char zsh_names[] = "@_names()\n{\n    local word\n    local -a found\n"
                                "    for word in $words[2,-1]; do\n"
                                "        [[ $word == *.onnx && -f ${(Q)word} ]] || continue\n"
                                "        found+=(${(f)\"$(_call_program names $words[1] $word "
                                "--info=names 2>/dev/null | sed -nE \"s/^($1) //p\")\"})\n"
                                "    done\n"
                                "    compadd ${2:+-qS} ${2:+$2} -a found\n}\n";

static void print_zsh(void)
{
        printf("#compdef %s\n# made from the tables of %s (docs/completion.c)\n", program.name,
               program.name);
        if (!program.commands)
                put_template(zsh_names);
        puts("_arguments \\");
        for (int i = 0; i < completion_count; i++) {
                const struct completion *c = &completions[i];
                bool is_long = !strncmp(c->option, "--", 2);
                printf("  '%s%s%s[", c->repeated ? "*" : "", c->option,
                       !c->argument ? "" : c->optional ? "=-" : is_long ? "=" : "+");
                put_zsh(c->doc);
                putchar(']');
                if (c->argument) {
                        fputs(c->optional ? "::" : ":", stdout);
                        put_zsh(c->argument);
                        putchar(':');
                        put_zsh_action(c);
                }
                puts("' \\");
        }
        if (program.commands) {
                fputs("  '1:COMMAND:(", stdout);
                put_commands();
                puts(")' \\");
        }
        printf("  '*:%s:_files -g \"*.(", program.file);
        for (int i = 0; program.endings[i]; i++)
                printf("%s%s", i ? "|" : "", program.endings[i]);
        puts(")\"'");
}

/* ---- fish ---- */

static void put_fish(const char *text)
{
        putchar('\'');
        for (; *text; text++) {
                if (*text == '\'' || *text == '\\')
                        putchar('\\');
                putchar(*text);
        }
        putchar('\'');
}

static const char fish_names[] =
        "function _@_names\n    set -l line (commandline -o)\n"
        "    for word in $line[2..]\n"
        "        string match -q -- '*.onnx' $word; and test -f $word; or continue\n"
        "        $line[1] $word --info=names 2>/dev/null | string replace -rf \"^($argv[1]) (.*)\" "
        "'$2'\"$argv[2]\"\n"
        "    end\nend\n";

static void print_fish(void)
{
        const char *name = program.name,
                   *behind = program.commands ? " -n 'not __fish_use_subcommand'" : "";
        printf("# fish completion of %s, made from its tables (docs/completion.c)\ncomplete -c %s "
               "-f%s -a '(for s in",
               name, name, behind);
        for (int i = 0; program.endings[i]; i++)
                printf(" .%s", program.endings[i]);
        puts("; __fish_complete_suffix $s; end)'");
        if (!program.commands)
                put_template(fish_names);
        for (const struct command *c = program.commands; c && c->name; c++) {
                printf("complete -c %s -f -n __fish_use_subcommand -a %s -d ", name, c->name);
                put_fish(c->doc);
                putchar('\n');
        }
        for (int i = 0; i < completion_count; i++) {
                const struct completion *c = &completions[i];
                bool is_long = !strncmp(c->option, "--", 2);
                printf("complete -c %s %s %s", name,
                       is_long                  ? "-l"
                       : strlen(c->option) == 2 ? "-s"
                                                : "-o",
                       c->option + (is_long ? 2 : 1));
                if (c->argument && !c->optional)
                        fputs(c->files == FILES_ANY ? " -r -F" : " -x", stdout);
                if (c->files == FILES_FOLDERS)
                        fputs(" -a '(__fish_complete_directories (string replace -r \"^-[^=]*=\" "
                              "\"\" -- (commandline -ct)))'",
                              stdout);
                if (c->count || c->names) {
                        fputs(c->list ? " -a '(__fish_append , " : " -a '", stdout);
                        if (c->names)
                                printf("(_%s_names \"%s\" \"%s\") ", program.function, c->names,
                                       c->behind);
                        put_words(c);
                        fputs(c->list ? ")'" : "'", stdout);
                }
                fputs(" -d ", stdout);
                put_fish(c->doc);
                putchar('\n');
        }
}

static void add_dnncc(void)
{
        program = (struct program){ .name = "dnncc",
                                    .file = "MODEL",
                                    .endings = { "onnx", "dnn", "loops" } };
#define OPTION(text, argument, kind, field, said, doc) add_row(text, argument, #kind, doc);
#include "compiler/options.def"
}

static void add_vta(void)
{
        static const struct command commands[] = {
#define COMMAND(id, name, doc) { name, doc },
#include "compiler/vta/vta_options.def"
                { NULL, NULL }
        };
        program = (struct program){
                .name = "dnncc-vta", .file = "FILE", .endings = { "vta", "s" }, .commands = commands
        };
#define OPTION(text, argument, kind, field, commands, doc) add_row(text, argument, #kind, doc);
#include "compiler/vta/vta_options.def"
}

int main(int argc, char **argv)
{
        static const struct { const char *name; void (*run)(void); } programs[] = {
                { "dnncc", add_dnncc }, { "dnncc-vta", add_vta } };
        static const struct { const char *name; void (*run)(void); } shells[] = {
                { "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish } };
        int done = 0;
        arena = arena_new();
        for (size_t i = 0; i < sizeof programs / sizeof *programs && argc == 3; i++)
                if (!strcmp(argv[1], programs[i].name)) {
                        programs[i].run();
                        program.function = arena_printf(arena, "_%s", program.name);
                        for (char *at = program.function; *at; at++)
                                *at = *at == '-' ? '_' : *at;
                        done++;
                }
        for (size_t i = 0; i < sizeof shells / sizeof *shells && done; i++)
                if (!strcmp(argv[2], shells[i].name)) {
                        shells[i].run();
                        done++;
                }
        arena_free(arena);
        return done == 2 ? 0 : 1;
}
