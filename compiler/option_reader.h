/* SPDX-License-Identifier: MIT */
/* Programs do this with a table of options (options.def, vta/options.def): read a command line,
 * print help. */
#ifndef COMPILER_OPTION_READER_H
#define COMPILER_OPTION_READER_H

#include <stddef.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/memory.h"

struct list { const char **items; int count; };

/* The kind says what the field that an option sets is. FLAG is an int, 1; SET_n is an int, n; TEXT
 * is a const char *; PERHAPS is the same, what stands behind =, or ""; LIST is a struct list; SIZE
 * is an int64_t of bytes; COUNT is an int from 1 to 256; NUMBER is an int64_t from 1 on, WHOLE from
 * 0 on; CHOICE is an int or an enum, the value of one of the reader's choices. */
enum option_kind {
        OPTION_FLAG,
        OPTION_SET_0,
        OPTION_SET_1,
        OPTION_SET_2,
        OPTION_SET_3,
        OPTION_SET_4,
        OPTION_TEXT,
        OPTION_PERHAPS,
        OPTION_LIST,
        OPTION_SIZE,
        OPTION_COUNT,
        OPTION_NUMBER,
        OPTION_WHOLE,
        OPTION_CHOICE
};

/* This says how the head of a generated file states an option (options_canonical). */
enum option_said { SAID_NOT, SAID_READ, SAID_VALUE, SAID_NAMES, SAID_SAFE, SAID_PATH };

/* This is a word that an option of kind CHOICE takes, and the value that its field gets. */
struct option_choice {
        const char *field;              /* It is the option's, as struct option has it. */
        const char *word;
        int value;
};

struct option {
        const char *text, *argument;    /* Where argument is NULL the option takes none. */
        enum option_kind kind;
        size_t field;                   /* It is the offset in the struct that is filled. */
        const char *doc;
        const char *commands;           /* The option is for these commands, with blanks between; it
                                         * is NULL where the program has no commands. */
        const char *name;               /* It is the field's name; NULL where no option is a
                                         * CHOICE. */
        enum option_said said;
};

struct option_reader {
        const struct option *table;
        int count;
        const struct option_choice *choices;      /* These are the choices of all options, until
                                                   * field is NULL; it is NULL where no option is a
                                                   * CHOICE. */
        void *fields;                   /* It is the struct that is filled. */
        struct arena *arena;
        struct diag *diag;
};

/* Reads argv[*at], which begins with a hyphen, as "--name=x", "--name x", "-o x" or "-ox", and sets
 * its field; *at moves to the last word read. Strings are not copied. Returns NULL after one
 * EXIT_USAGE error. */
const struct option *option_read(const struct option_reader *reader, int argc, char **argv,
                                 int *at);

/* These return the choice of an option that has this value, or this word of `length` letters, or
 * NULL where there is none. */
const struct option_choice *option_choice_of(const struct option_choice *choices,
                                             const struct option *option, int value);
const struct option_choice *option_choice_called(const struct option_choice *choices,
                                                 const struct option *option, const char *word,
                                                 size_t length);

/* option_print prints a row of --help, its doc wrapped from the column on. option_mark returns what
 * stands between an option and its argument in help and manuals. */
void option_print(const char *text, const char *argument, const char *doc, int column);
const char *option_mark(const char *text, const char *argument);

/* option_json writes a member of "options" in --help=json, with the table's own words
 * (options_json.c); group and commands may be NULL. */
struct option_words { const char *group, *text, *argument, *kind, *field, *commands, *doc; };
void option_json(const struct option_words *words, bool first);

#endif
