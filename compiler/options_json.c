/* SPDX-License-Identifier: MIT */
/* --help=json: the options, and the codes that runs end with, for programs that drive dnncc. Rows as they
 * stand in options.def and fail_codes.def. */
#include "compiler/json.h"
#include "compiler/options.h"

static void put_option(const char *group, const char *text, const char *argument, const char *kind,
                       const char *field, const char *doc, bool first)
{
        json_member(stdout, first ? "\n    {" : ",\n    {", "option", text);
        if (argument)
                json_member(stdout, ", ", "argument", argument);
        json_member(stdout, ", ", "kind", kind);
        json_member(stdout, ", ", "field", field);
        json_member(stdout, ", ", "group", group);
        json_member(stdout, ", ", "doc", doc);
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
#define OPTION(text, argument, kind, field, doc) put_option(group, text, argument, #kind, #field, doc, first), first = false;
#include "compiler/options.def"
        fputs("],\n  \"run_codes\": [", stdout);
        first = true;
#define FAIL(name, value, doc) put_code(#name, value, doc, first), first = false;
#include "ir/fail_codes.def"
        puts("]\n}");
}
