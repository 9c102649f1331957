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

#define DNNCC_VERSION "0.1.0"
#define OPTIONS_PRESET "-O2"            /* options_canonical of no options */

enum { EMIT_C, EMIT_IR, EMIT_LOOPS, EMIT_DOT, EMIT_JSON, EMIT_ONNX, EMIT_ASSEMBLY, EMIT_PROGRAM, EMIT_COMMANDS };
enum { WEIGHTS_AUTO, WEIGHTS_INLINE, WEIGHTS_INCBIN, WEIGHTS_FILE };

enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
enum { GOAL_SPEED, GOAL_MEMORY };
enum { PARTITION_TIME, PARTITION_MACHINE };
enum { REQUANTIZE_FLOAT, REQUANTIZE_INTEGER, REQUANTIZE_SHIFT };

#define QUANTIZE_DYNAMIC "dynamic"      /* of --quantize; else a path */

struct options {
        const char *model;              /* a path, or "-" */
        const char *output, *name, *target, *sizes, *depfile_name, *external, *cc, *report, *report_against,
                *schedule, *calibrate, *run, *runner, *bench, *remarks, *explain;
        const char *profile;            /* "": calls alone; else the file of a trace */
        const char *quantize;           /* ranges; "": those of --calibrate; QUANTIZE_DYNAMIC */
        const char *quantize_weights, *observer, *activations, *quantize_steps;
        const char *passes, *print_after, *print_before, *dump_dir;
        int emit, weights, level, threads, precision, requantize, goal, partition, no_alias;
        int no_descriptor, depfile, if_changed, exact, assume_finite, unchecked, fast_libm, flush_denormals,
                no_verify, check, time_passes, stats, tune;
        const char *help;               /* "": all, "json", or a group; NULL: none is asked for */
        int color;                      /* enum below */
        int error_format;               /* 1: JSON */
        int verbose, quiet, short_help, version, help_passes, help_ops;
        int info;                       /* 1: as text, 2: as JSON; so is help */
        int64_t max_ram, max_consts;    /* -1: no budget */
        int64_t activation_memory;      /* of a machine with commands; -1: what it has */
        int64_t samples;                /* 0: all */
        int channels;                   /* enum channel_axis */
        struct list dims, inputs, outputs, keep, regions, limits, tests, merge, keep_float, quantize_ports;
};

/* that contractions may read */
enum element options_precision(const struct options *o);

/* programs of a machine: streams that main calls */
static inline bool emits_launches(const struct options *o) { return o->emit == EMIT_ASSEMBLY || o->emit == EMIT_PROGRAM; }

/* Tensor IR is what is written, in one form or another: passes stop before `lower`. */
static inline bool emits_tensors(const struct options *o)
{
        return o->emit != EMIT_C && o->emit != EMIT_LOOPS && !emits_launches(o);
}

/* --calibrate by itself: ranges are what is written. Else passes look at its samples. */
static inline bool writes_ranges(const struct options *o)
{
        return o->calibrate && !o->quantize && !o->quantize_weights && o->requantize != REQUANTIZE_SHIFT;
}

/* --test, --run, --bench: the model is run, and what --emit says is not written. */
static inline bool runs_model(const struct options *o) { return o->tests.count || o->run || o->bench; }

/* Reads argv; strings are not copied. False after one EXIT_USAGE error. */
bool options_parse(struct options *options, int argc, char **argv, struct arena *arena,
                   struct diag *diag);
/* All options, or those of a group ("code"); false: there is no such group, and an error was reported. */
bool options_help(const char *topic, struct arena *arena, struct diag *diag);
void options_json(void);                /* the tables, for programs (options_json.c) */
/* The options that shape the output, in the table's order, as text for the head of the generated
 * file: no paths, nothing that only looks inside. */
char *options_canonical(struct arena *arena, const struct options *options);

#endif
