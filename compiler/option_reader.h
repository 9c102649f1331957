/* SPDX-License-Identifier: MIT */
/* What programs do with a table of options (options.def, vta/options.def): read a command line,
 * print help. */
#ifndef COMPILER_OPTION_READER_H
#define COMPILER_OPTION_READER_H

#include <stddef.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/memory.h"

struct list { const char **items; int count; };

/* The field that an option sets is: FLAG an int, 1; SET_n an int, n; TEXT a const char *;
 * PERHAPS the same, what stands behind =, or ""; LIST a struct list; SIZE an int64_t of bytes;
 * COUNT an int from 1 to 256; NUMBER an int64_t from 1 on, WHOLE from 0 on; CHOICE an int or an
 * enum, the value of one of the reader's choices. */
enum option_kind {
        OPTION_FLAG,
        OPTION_SET_0,
        OPTION_SET_1,
        OPTION_SET_2,
        OPTION_SET_3,
        OPTION_TEXT,
        OPTION_PERHAPS,
        OPTION_LIST,
        OPTION_SIZE,
        OPTION_COUNT,
        OPTION_NUMBER,
        OPTION_WHOLE,
        OPTION_CHOICE
};

/* how the head of a generated file says an option (options_canonical) */
enum option_said { SAID_NOT, SAID_VALUE, SAID_NAMES, SAID_SAFE, SAID_PATH };

/* a word that an option of kind CHOICE takes, and what its field is then */
struct option_choice {
        const char *field;              /* the option's, as struct option has it */
        const char *word;
        int value;
};

struct option {
        const char *text, *argument;    /* argument NULL: it takes none */
        enum option_kind kind;
        size_t field;                   /* offset in the struct that is filled */
        const char *doc;
        const char *commands;           /* those that it is for, with blanks between; NULL: the
                                         * program has none */
        const char *name;               /* of the field; NULL where no option is a CHOICE */
        enum option_said said;
};

struct option_reader {
        const struct option *table;
        int count;
        const struct option_choice *choices;      /* of all options, until field is NULL; NULL where
                                                   * none is a CHOICE */
        void *fields;                   /* the struct */
        struct arena *arena;
        struct diag *diag;
};

/* Reads argv[*at], which begins with a hyphen, as "--name=x", "--name x", "-o x" or "-ox", and
 * sets its field; *at moves to the last word read. Strings are not copied. NULL after one
 * EXIT_USAGE error. */
const struct option *option_read(const struct option_reader *reader, int argc, char **argv,
                                 int *at);

/* the choice of an option that has this value, or this word of `length` letters; NULL: none */
const struct option_choice *option_choice_of(const struct option_choice *choices,
                                             const struct option *option, int value);
const struct option_choice *option_choice_called(const struct option_choice *choices,
                                                 const struct option *option, const char *word,
                                                 size_t length);

/* a row of --help, its doc wrapped from the column on; what stands between an option and its
 * argument in help and manuals */
void option_print(const char *text, const char *argument, const char *doc, int column);
const char *option_mark(const char *text, const char *argument);

/* a member of "options" in --help=json, with the table's own words (options_json.c); group,
 * commands: or NULL */
struct option_words { const char *group, *text, *argument, *kind, *field, *commands, *doc; };
void option_json(const struct option_words *words, bool first);

#endif
