/* SPDX-License-Identifier: MIT */
/* The command line is options.def as a struct. */
#ifndef COMPILER_OPTIONS_H
#define COMPILER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/memory.h"
#include "compiler/option_reader.h"
#include "front/import.h"
#include "ir/element.h"
#include "passes/calibrate/calibration.h"

#define DNNCC_VERSION "0.1.0"
#define OPTIONS_PRESET "-O2"            /* It is options_canonical of no options. */

/* ---- choices (option_choices.def) ---- */

#define CHOICES(field) typedef enum {
#define CHOICE(field, constant, word) constant,
#define END(field) } option_##field##_t;
#include "compiler/option_choices.def"
#define CHOICES_AS(field, type) typedef type option_##field##_t;
#define CHOICE_AS(field, constant, word)
#define END_AS(field)
#include "compiler/option_choices.def"

/* The words of each choice are in one string, "|c|ir|loops"; WORDS(emit), "c|ir|loops", is the
 * argument of its row in options.def. */
#define CHOICES(field) extern const char option_##field##_words[];
#define CHOICE(field, constant, word)
#define END(field)
#define CHOICES_AS(field, type) CHOICES(field)
#define CHOICE_AS(field, constant, word)
#define END_AS(field)
#include "compiler/option_choices.def"
#define WORDS(field) (option_##field##_words + 1)

/* ---- fields ---- */

/* A field is declared by its kind, as option_reader.h says; of the rows SET_n of one field the
 * first declares it. */
#define OPTION_FIELD_FLAG(field) int field;
#define OPTION_FIELD_SET_0(field) int field;
#define OPTION_FIELD_SET_1(field)
#define OPTION_FIELD_SET_2(field)
#define OPTION_FIELD_SET_3(field)
#define OPTION_FIELD_SET_4(field)
#define OPTION_FIELD_TEXT(field) const char *field;
#define OPTION_FIELD_PERHAPS(field) const char *field;
#define OPTION_FIELD_LIST(field) struct list field;
#define OPTION_FIELD_SIZE(field) int64_t field;
#define OPTION_FIELD_COUNT(field) int field;
#define OPTION_FIELD_NUMBER(field) int64_t field;
#define OPTION_FIELD_WHOLE(field) int64_t field;
#define OPTION_FIELD_CHOICE(field) option_##field##_t field;

struct options {
        const char *model;              /* It is a path, or "-". */
        struct list more;               /* Models behind the first one, for --entry. */
        int jit;                        /* It is JIT_BEST or JIT_FAST; 0: --jit is not given. */
        int info;                       /* It is INFO_TEXT or one of the others of info.c; at 0 the
                                         * model is compiled. */
#define OPTION(text, argument, kind, field, said, doc) OPTION_FIELD_##kind(field)
#include "compiler/options.def"
};

/* These are the fields of options that are not given: NULL and 0, but a level, one thread, the
 * target generic, and -1 for sizes, of which 0 is one: no budget, or the memory that a machine
 * has. */
extern const struct options options_preset;
extern const struct option_choice options_choices[];     /* They are option_choices.def, until field
                                                          * is NULL. */

#define QUANTIZE_DYNAMIC "dynamic"      /* --quantize has this, or a path, or "", which stands for
                                         * ranges of --calibrate. */

/* Returns whether Tensor IR is what is written, in one form or another: passes stop before
 * `lower`. */
bool emits_tensors(const struct options *o);
enum { JIT_BEST = 1, JIT_FAST };        /* These are the values of options.jit. */

/* Returns the suffix of an output of --emit without a name, by emit_formats.def; NULL stands for
 * that of the target's printer. */
const char *emit_suffix(const struct options *o);

/* Returns whether --calibrate stands by itself, so that ranges are what is written. Else passes
 * look at its samples. */
static inline bool writes_ranges(const struct options *o)
{
        return o->calibrate && !o->quantize && !o->quantize_weights &&
               o->requantize != REQUANTIZE_SHIFT;
}

/* Returns whether the model is run, by --test, --run or --bench, and what --emit says is not
 * written. */
static inline bool runs_model(const struct options *o)
{
        return o->tests.count || o->run || o->bench;
}

/* Reads argv; strings are not copied. Returns false after one EXIT_USAGE error. */
bool options_parse(struct options *options, int argc, char **argv, struct arena *arena,
                   struct diag *diag);
/* Prints all options, or those of a group ("code"). Returns false where there is no such group, and
 * an error was reported. */
bool options_help(const char *topic, struct arena *arena, struct diag *diag);
void options_json(void);                /* Prints the tables, for programs (options_json.c). */
/* Returns the row of an option, as "--emit", whose text has this length, or NULL where there is
 * none. */
const struct option *options_row(const char *text, size_t length);
/* Returns the options that shape the output, as text for the head of the generated file, and none
 * that only look inside: the level, values, what is given for names of the model, flags, and free
 * text, each in the table's order. The column `said` of options.def says how: VALUE as it is, NAMES
 * as words of tables ("?" where it is none), SAFE any text (base/text.h), PATH a word of its own or
 * the argument's name in place of a path, NOT and READ not at all. */
char *options_canonical(struct arena *arena, const struct options *options);
/* Adds all that options say of what is made, with texts and paths as they were given: equal runs
 * have equal bytes here. These are the rows that are not NOT; READ says what is read, or as
 * what, of which the head of a generated file says nothing. */
void options_add_identity(struct text *out, const struct options *options);

/* ---- options that do not go together (option_conflicts.c) ---- */

/* Checks the options by option_conflicts.def for code that is for so many targets. Returns false
 * after an EXIT_USAGE error. */
bool options_agree(const struct options *options, int targets, struct arena *arena,
                   struct diag *diag);
/* Returns an option that is given and does not go with several entries; NULL: all that are given
 * do. */
const char *options_for_one_entry(const struct options *options, struct arena *arena);
/* Returns the text of each row's error, as it stands in the manual page; NULL is behind the
 * last. */
const char **options_conflicts(struct arena *arena);

#endif
