/* SPDX-License-Identifier: MIT */
/* --help=json prints the options, and the codes that runs end with, for programs that drive dnncc.
 * The rows are as they stand in options.def and fail_codes.def. */
#include "base/json.h"
#include "compiler/options.h"

void option_json(const struct option_words *o, bool first)
{
        const struct { const char *name, *value; } members[] = {
                { "argument", o->argument }, { "kind", o->kind }, { "field", o->field }, { "group", o->group },
                { "commands", o->commands }, { "doc", o->doc },
        };
        json_member(stdout, first ? "\n    {" : ",\n    {", "option", o->text);
        for (size_t i = 0; i < sizeof members / sizeof *members; i++)
                if (members[i].value)
                        json_member(stdout, ", ", members[i].name, members[i].value);
        fputs("}", stdout);
}

static void put_code(const char *name, int value, const char *doc, bool first)
{
        json_member(stdout, first ? "\n    {" : ",\n    {", "name", name);
        printf(", \"value\": %d", value);
        json_member(stdout, ", ", "doc", doc);
        fputs("}", stdout);
}

void options_json(void)
{
        const char *group = "";
        bool first = true;
        json_member(stdout, "{\n  ", "version", DNNCC_VERSION);
        fputs(",\n  \"options\": [", stdout);
#define GROUP(title) group = title;
#define OPTION(text, argument, kind, field, said, doc) \
        option_json(&(struct option_words){ group, text, argument, #kind, #field, NULL, doc }, first), first = false;
#include "compiler/options.def"
        fputs("],\n  \"run_codes\": [", stdout);
        first = true;
#define FAIL(name, value, doc) put_code(#name, value, doc, first), first = false;
#include "ir/loop/fail_codes.def"
        puts("]\n}");
}
