/* SPDX-License-Identifier: MIT */
/* What editors show of .dnn and .loops files, from the tables: `editor vim-dnn`, `vim-loops`
 * print syntax files of Vim, `dnn`, `loops` grammars as TextMate, VS Code and others read them,
 * `extension` the package.json of a VS Code extension. */
#include <stdio.h>
#include <string.h>

#include "compiler/options.h"
#include "ir/loop/loop.h"
#include "ir/tensor/tensor.h"

/* words of one kind, for both languages; NULL ends them */
enum kind { KEYWORD, OPERATION, ATTRIBUTE, TYPE, LITERAL, KIND_COUNT };
static const struct { const char *vim, *scope;
} looks[KIND_COUNT] = {
        [KEYWORD] = { "Statement", "keyword.control" },
        [OPERATION] = { "Function", "support.function" },
        [ATTRIBUTE] = { "Identifier", "variable.parameter" },
        [TYPE] = { "Type", "storage.type" },
        [LITERAL] = { "Constant", "constant.language" },
};
static const char *const kind_names[KIND_COUNT] = { "Keyword", "Operation", "Attribute", "Type",
                                                    "Literal" };

static const char *const tensor_keywords[] = { "dnn",    "module", "source", "command", "passes",
                                               "within", "const",  "func",   "yield",   "file",
                                               "hex",    "splat",  "else",   NULL };
static const char *const loop_keywords[] = {
        "loop",   "program",  "source", "passes",   "region", "buffer", "kernel",
        "task",   "function", "main",   "for",      "to",     "while",  "if",
        "else",   "let",      "var",    "set",      "store",  "call",   "launch",
        "fail",   "return",   "alloc",  "prefetch", "keep",   "tiles",  "multiply",
        "unload", "scale",    "take",   "give",     "copy",   "commit", "wait",
        "settle", "command",  "file",   "hex",      "splat",  NULL
};
static const char *const loop_attributes[] = {
        "input",    "output",    "workspace",   "constant",  "view",     "shape",     "offset",
        "size",     "limit",     "align",       "section",   "class",    "in",        "out",
        "inout",    "parallel",  "gpu_cluster", "gpu_block", "gpu_warp", "gpu_lane",  "nowait",
        "syncwarp", "streaming", "mask",        "step",      "stack",    "live",      "flops",
        "again",    "error",     "by",          "depth",     "group",    "positions", "vectors",
        "rows",     "lanes",     "word",        "jump",      "shared",    "thread",    "schedule",
        NULL
};
static const char *const literals[] = { "none", "true", "false", "inf", "nan", NULL };

/* Each word once: printed with what stands before it, `before` the first and `between` the
 * others. */
struct words { const char *between, *seen[512]; int count; };

static void put(struct words *w, const char *word)
{
        for (int i = 0; i < w->count; i++)
                if (!strcmp(w->seen[i], word))
                        return;
        if (!(strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") ==
              strlen(word)) ||
            w->count == 512)
                return;
        printf("%s%s", w->count ? w->between : "", word);
        w->seen[w->count++] = word;
}

static void put_all(struct words *w, const char *const *list)
{
        for (; *list; list++)
                put(w, *list);
}

static void put_words(struct words *w, enum kind kind, bool loops)
{
        if (kind == KEYWORD)
                put_all(w, loops ? loop_keywords : tensor_keywords);
        if (kind == ATTRIBUTE && loops)
                put_all(w, loop_attributes);
        if (kind == LITERAL)
                put_all(w, literals);
        if (kind == LITERAL && loops) {
#define FAIL(name, ...) put(w, #name);
#include "ir/loop/fail_codes.def"
        }
        for (int e = 0; kind == TYPE && e < ELEMENT_COUNT; e++)
                put(w, element_info[e].text);
        for (int i = 0; i < OPCODE_COUNT && !loops; i++) {
                for (int k = 0; k < op_info[i].region_count && kind == KEYWORD; k++)
                        put(w, op_info[i].regions[k]);
                for (int k = 0; k < op_info[i].attr_count && kind == LITERAL; k++)
                        if (op_info[i].attrs[k].kind == ATTR_ENUM)
                                put_all(w, op_info[i].attrs[k].names);
                if (kind == OPERATION && i != OP_yield)
                        put(w, op_info[i].name);
                for (int k = 0; k < op_info[i].attr_count && kind == ATTRIBUTE; k++)
                        put(w, op_info[i].attrs[k].name);
        }
        if (kind == ATTRIBUTE && !loops)
                put(w, "schedule");
        if (kind == OPERATION && loops) {
#define LOOP_OP(name, text, ...) put(w, text);
#include "ir/loop/loop_ops.def"
        }
}

/* ---- Vim ---- */

static void print_vim(bool loops)
{
        const char *name = loops ? "loops" : "dnn";
        printf("\" Vim syntax file: %s of dnncc %s, made from its tables\n"
               "if exists(\"b:current_syntax\")\n  finish\nendif\nsetlocal iskeyword=@,48-57,_\n\n",
               loops ? "Loop IR" : "Tensor IR", DNNCC_VERSION);
        for (int k = 0; k < KIND_COUNT; k++) {
                struct words w = { .between = " " };
                printf("syntax keyword %s%s ", name, kind_names[k]);
                put_words(&w, (enum kind)k, loops);
                putchar('\n');
        }
        printf("syntax match %sValue \"[%%@][A-Za-z0-9_.]\\+\"\n"
               "syntax match %sNumber "
               "\"\\v<\\d+(\\.\\d+)?(e[-+]?\\d+)?>|<0x[0-9a-f]+(\\.[0-9a-f]+)?(p[-+]?\\d+)?>\"\n"
               "syntax region %sText start=+\"+ skip=+\\\\.+ end=+\"+ oneline\n"
               "syntax match %sComment \";.*$\"\n\n",
               name, name, name, name);
        for (int k = 0; k < KIND_COUNT; k++)
                printf("highlight default link %s%s %s\n", name, kind_names[k], looks[k].vim);
        printf("highlight default link %sValue Normal\nhighlight default link %sNumber "
               "Number\nhighlight default link %sText String\n"
               "highlight default link %sComment Comment\nlet b:current_syntax = \"%s\"\n",
               name, name, name, name, name);
}

/* ---- TextMate ---- */

static void print_rule(const char *scope, const char *name, const char *match)
{
        printf("    { \"name\": \"%s.%s\", \"match\": \"%s\" },\n", scope, name, match);
}

static void print_grammar(bool loops)
{
        const char *name = loops ? "loops" : "dnn";
        printf("{\n  \"name\": \"%s\",\n  \"scopeName\": \"source.%s\",\n  \"fileTypes\": "
               "[\"%s\"],\n  \"patterns\": [\n",
               loops ? "dnncc Loop IR" : "dnncc Tensor IR", name, name);
        print_rule("comment.line.semicolon", name, ";.*$");
        print_rule("string.quoted.double", name, "\\\"(\\\\\\\\.|[^\\\"\\\\\\\\])*\\\"");
        print_rule("variable.other", name, "[%@][A-Za-z0-9_.]+");
        for (int k = 0; k < KIND_COUNT; k++) {
                struct words w = { .between = "|" };
                printf("    { \"name\": \"%s.%s\", \"match\": \"\\\\b(", looks[k].scope, name);
                put_words(&w, (enum kind)k, loops);
                puts(")\\\\b\" },");
        }
        printf("    { \"name\": \"constant.numeric.%s\", \"match\": "
               "\"\\\\b(0x[0-9a-f]+(\\\\.[0-9a-f]+)?(p[-+]?\\\\d+)?|\\\\d+(\\\\.\\\\d+)?(e[-+]?"
               "\\\\d+)?)\\\\b\" }\n"
               "  ]\n}\n",
               name);
}

static void print_extension(void)
{
        puts("{\n  \"name\": \"dnncc\",\n  \"displayName\": \"dnncc IR\",\n  \"description\": "
             "\"Tensor IR (.dnn) and Loop IR (.loops) of dnncc\",\n"
             "  \"publisher\": \"dnncc\",\n  \"version\": \"" DNNCC_VERSION
             "\",\n  \"license\": \"MIT\",\n  \"engines\": { \"vscode\": \"^1.40.0\" },\n"
             "  \"contributes\": {\n    \"languages\": [\n"
             "      { \"id\": \"dnn\", \"extensions\": [\".dnn\"] },\n      { \"id\": \"loops\", "
             "\"extensions\": [\".loops\"] }\n    ],\n"
             "    \"grammars\": [\n"
             "      { \"language\": \"dnn\", \"scopeName\": \"source.dnn\", \"path\": "
             "\"./dnn.tmLanguage.json\" },\n"
             "      { \"language\": \"loops\", \"scopeName\": \"source.loops\", \"path\": "
             "\"./loops.tmLanguage.json\" }\n    ]\n  }\n}");
}

int main(int argc, char **argv)
{
        const char *what = argc == 2 ? argv[1] : "";
        if (!strcmp(what, "vim-dnn") || !strcmp(what, "vim-loops"))
                print_vim(!strcmp(what, "vim-loops"));
        else if (!strcmp(what, "dnn") || !strcmp(what, "loops"))
                print_grammar(!strcmp(what, "loops"));
        else if (!strcmp(what, "extension"))
                print_extension();
        else if (!strcmp(what, "vim-detect"))
                puts("autocmd BufNewFile,BufRead *.dnn setfiletype dnn\nautocmd BufNewFile,BufRead "
                     "*.loops setfiletype loops");
        else
                return 1;
        return 0;
}
