/* SPDX-License-Identifier: MIT */
/* The command line: options.def as a struct. */
#ifndef COMPILER_OPTIONS_H
#define COMPILER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/memory.h"
#include "compiler/option_reader.h"
#include "ir/element.h"
#include "passes/calibrate/calibration.h"

#define DNNCC_VERSION "0.1.0"
#define OPTIONS_PRESET "-O2"            /* options_canonical of no options */

/* ---- choices (option_choices.def) ---- */

#define CHOICES(field) typedef enum {
#define CHOICE(field, constant, word) constant,
#define END(field) } option_##field##_t;
#include "compiler/option_choices.def"
#define CHOICES_AS(field, type) typedef type option_##field##_t;
#define CHOICE_AS(field, constant, word)
#define END_AS(field)
#include "compiler/option_choices.def"

/* The words of each choice, "|c|ir|loops"; WORDS(emit), "c|ir|loops", is the argument of its row
 * in options.def. */
#define CHOICES(field) extern const char option_##field##_words[];
#define CHOICE(field, constant, word)
#define END(field)
#define CHOICES_AS(field, type) CHOICES(field)
#define CHOICE_AS(field, constant, word)
#define END_AS(field)
#include "compiler/option_choices.def"
#define WORDS(field) (option_##field##_words + 1)

/* ---- fields ---- */

/* by kind, as option_reader.h says; of the rows SET_n of one field the first declares it */
#define OPTION_FIELD_FLAG(field) int field;
#define OPTION_FIELD_SET_0(field) int field;
#define OPTION_FIELD_SET_1(field)
#define OPTION_FIELD_SET_2(field)
#define OPTION_FIELD_SET_3(field)
#define OPTION_FIELD_TEXT(field) const char *field;
#define OPTION_FIELD_PERHAPS(field) const char *field;
#define OPTION_FIELD_LIST(field) struct list field;
#define OPTION_FIELD_SIZE(field) int64_t field;
#define OPTION_FIELD_COUNT(field) int field;
#define OPTION_FIELD_NUMBER(field) int64_t field;
#define OPTION_FIELD_WHOLE(field) int64_t field;
#define OPTION_FIELD_CHOICE(field) option_##field##_t field;

struct options {
        const char *model;              /* a path, or "-" */
        int info;                       /* INFO_TEXT and the others of info.c; 0: the model is
                                         * compiled */
#define OPTION(text, argument, kind, field, said, doc) OPTION_FIELD_##kind(field)
#include "compiler/options.def"
};

/* What fields hold where an option is not given: NULL and 0, but a level, one thread, the target
 * generic, and -1 for sizes, of which 0 is one: no budget, or the memory that a machine has. */
extern const struct options options_preset;
extern const struct option_choice options_choices[];     /* option_choices.def, until field is NULL
                                                          */

#define QUANTIZE_DYNAMIC "dynamic"      /* of --quantize; else a path, or "": ranges of --calibrate */

/* Tensor IR is what is written, in one form or another: passes stop before `lower`. */
bool emits_tensors(const struct options *o);
/* of --emit, by emit_formats.def: the suffix of an output without a name, NULL: that of the
 * target's printer */
const char *emit_suffix(const struct options *o);

/* --calibrate by itself: ranges are what is written. Else passes look at its samples. */
static inline bool writes_ranges(const struct options *o)
{
        return o->calibrate && !o->quantize && !o->quantize_weights &&
               o->requantize != REQUANTIZE_SHIFT;
}

/* --test, --run, --bench: the model is run, and what --emit says is not written. */
static inline bool runs_model(const struct options *o)
{
        return o->tests.count || o->run || o->bench;
}

/* Reads argv; strings are not copied. False after one EXIT_USAGE error. */
bool options_parse(struct options *options, int argc, char **argv, struct arena *arena,
                   struct diag *diag);
/* All options, or those of a group ("code"); false: there is no such group, and an error was
 * reported. */
bool options_help(const char *topic, struct arena *arena, struct diag *diag);
void options_json(void);                /* the tables, for programs (options_json.c) */
/* The row of an option, as "--emit"; length: of its text. NULL: there is none. */
const struct option *options_row(const char *text, size_t length);
/* The options that shape the output, as text for the head of the generated file, nothing that
 * only looks inside: the level, values, what is given for names of the model, flags, and free
 * text, each in the table's order. Column `said` of options.def: VALUE as it is, NAMES words of
 * tables ("?" where it is none), SAFE any text (base/text.h), PATH a word of its own or the
 * argument's name in place of a path, NOT not at all. */
char *options_canonical(struct arena *arena, const struct options *options);

/* ---- options that do not go together (option_conflicts.c) ---- */

/* False after an EXIT_USAGE error, by option_conflicts.def; targets: how many the code is for. */
bool options_agree(const struct options *options, int targets, struct arena *arena,
                   struct diag *diag);
/* the text of each row's error, as it stands in the manual page; NULL behind the last */
const char **options_conflicts(struct arena *arena);

#endif
