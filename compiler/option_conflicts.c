/* SPDX-License-Identifier: MIT */
/* Some options do not go together (option_conflicts.def). */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "compiler/options.h"

enum kind { CONFLICT, WANTS, ONE_TARGET, ONE_ENTRY };

static const struct row {
        enum kind kind;
        const char *option;             /* It has terms with | between, as the next two have. */
        const char *others, *unless;    /* In WANTS, `unless` has those that it wants. */
        const char *reason;
} rows[] = {
#define CONFLICT(option, others, unless, reason) { CONFLICT, option, others, unless, reason },
#define WANTS(option, others, reason) { WANTS, option, "", others, reason },
#define ONE_TARGET(option, reason) { ONE_TARGET, option, "", "", reason },
#define ONE_ENTRY(option) { ONE_ENTRY, option, "", "", "" },
#include "compiler/option_conflicts.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- whether an option is given ---- */

struct term {
        const char *at;
        size_t length;
};

/* Returns the first of "a|b|c"; *rest is behind it. */
static struct term next(const char **rest)
{
        struct term t = { *rest, strcspn(*rest, "|") };
        *rest += t.length + ((*rest)[t.length] == '|');
        return t;
}

/* Returns whether the value is such a text: "FILE.html" is any that ends in .html; "FILE" is any
 * that is not among the words of "[=FILE|dynamic]". */
static bool is_such_text(const char *value, const char *argument, const char *wanted, size_t length)
{
        const char *dot = memchr(wanted, '.', length);
        size_t tail = dot ? (size_t)(wanted + length - dot) : 0, all = strlen(value);
        const char *word = *value ? strstr(argument, value) : NULL;
        bool is_word = word && strchr("=|", word[-1]) && strchr("|]", word[all]);
        return *value && !is_word && all > tail &&
               (!dot || !strncmp(value + all - tail, dot, tail));
}

static bool text_given(const char *value, const char *preset, const struct option *row,
                       const char *wanted, size_t length)
{
        if (!value || (preset && !strcmp(value, preset)))
                return false;
        if (!wanted)
                return true;
        if (isupper((unsigned char)*wanted))
                return is_such_text(value, row->argument, wanted, length);
        return strlen(value) == length && !strncmp(value, wanted, length);
}

static bool given(const struct options *o, struct term t)
{
        size_t length = 0;
        while (length < t.length && !strchr("= ", t.at[length]))
                length++;
        const struct option *row = options_row(t.at, length);
        const char *wanted = length < t.length ? t.at + length + 1 : NULL;
        const void *field = (const char *)o + row->field,
                   *preset = (const char *)&options_preset + row->field;
        length = wanted ? t.length - length - 1 : 0;
        switch (row->kind) {
        case OPTION_TEXT:
        case OPTION_PERHAPS:
                return text_given(*(const char *const *)field, *(const char *const *)preset, row,
                                  wanted, length);
        case OPTION_LIST: return ((const struct list *)field)->count > 0;
        case OPTION_SIZE:
        case OPTION_NUMBER:
        case OPTION_WHOLE: return *(const int64_t *)field != *(const int64_t *)preset;
        case OPTION_CHOICE:
                return wanted ? *(const int *)field ==
                                        option_choice_called(options_choices, row, wanted, length)
                                                ->value
                              : *(const int *)field != *(const int *)preset;
        case OPTION_FLAG:
        case OPTION_COUNT:
        case OPTION_SET_0:
        case OPTION_SET_1:
        case OPTION_SET_2:
        case OPTION_SET_3:
        case OPTION_SET_4: return *(const int *)field != *(const int *)preset;
        }
        return false;
}

/* Returns the first that is given; its length is 0 where none is. */
static struct term given_of(const struct options *o, const char *terms)
{
        while (*terms) {
                struct term t = next(&terms);
                if (given(o, t))
                        return t;
        }
        return (struct term){ terms, 0 };
}

/* ---- what is said ---- */

/* Returns "a, b or c". */
static const char *choice_text(struct arena *arena, const char *terms)
{
        const char *all = "";
        for (int i = 0; *terms; i++) {
                struct term t = next(&terms);
                all = arena_printf(arena, "%s%s%.*s", all,
                                   !i       ? ""
                                   : *terms ? ", "
                                            : " or ",
                                   (int)t.length, t.at);
        }
        return all;
}

static const char *sentence(struct arena *arena, const struct row *r, const char *option,
                            const char *other)
{
        switch (r->kind) {
        case WANTS:
                return arena_printf(arena, "%s wants %s: %s", option, choice_text(arena, r->unless),
                                    r->reason);
        case ONE_TARGET: return arena_printf(arena, "%s is for one target: %s", option, r->reason);
        case CONFLICT:
                return arena_printf(arena, "%s %s: not with %s%s%s", option, r->reason, other,
                                    *r->unless ? ", unless with " : "",
                                    choice_text(arena, r->unless));
        case ONE_ENTRY: return arena_printf(arena, "%s: not with several --entry", option);
        }
        return "";
}

static const char *term_text(struct arena *arena, struct term t)
{
        return arena_printf(arena, "%.*s", (int)t.length, t.at);
}

bool options_agree(const struct options *options, int targets, struct arena *arena,
                   struct diag *diag)
{
        for (const struct row *r = rows; r < rows + ROWS; r++) {
                struct term option = given_of(options, r->option),
                            other = given_of(options, r->others);
                bool clash = r->kind == ONE_TARGET ? targets > 1
                             : r->kind == WANTS    ? true
                                                   : other.length > 0;
                if (!option.length || !clash || given_of(options, r->unless).length)
                        continue;
                diag_error(diag, EXIT_USAGE, "%s",
                           sentence(arena, r, term_text(arena, option), term_text(arena, other)));
                return false;
        }
        return true;
}

const char *options_for_one_entry(const struct options *options, struct arena *arena)
{
        for (const struct row *r = rows; r < rows + ROWS; r++) {
                struct term option = given_of(options, r->option);
                if (r->kind == ONE_ENTRY && option.length)
                        return term_text(arena, option);
        }
        return NULL;
}

const char **options_conflicts(struct arena *arena)
{
        const char **all = arena_array(arena, ROWS + 1, sizeof *all);
        for (int i = 0; i < ROWS; i++)
                all[i] = sentence(arena, &rows[i], choice_text(arena, rows[i].option),
                                  choice_text(arena, rows[i].others));
        return all;
}
