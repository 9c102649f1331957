/* SPDX-License-Identifier: MIT */
/* This is one run of dnncc: options go in, files come out. main.c holds only main(). */
#ifndef COMPILER_DRIVER_H
#define COMPILER_DRIVER_H

#include "base/text.h"
#include "codegen/printer.h"
#include "compiler/files.h"
#include "compiler/options.h"
#include "passes/manager.h"
#include "passes/quantize/ports.h"

struct model_facts;                     /* These two are declared in front/import.h. */
struct import_definition;
struct cache;

struct run {
        struct arena *arena;
        struct options options;
        struct diag diag;
        struct pass_context context;
        struct pipeline_state state;
        struct module *common;          /* It is what the state's module is a copy of, with
                                         * --max-ram; or NULL. */
        /* They are those of --target, the least first: context and state are for the last, and
         * there is a program for each of the others. */
        const struct target **targets;
        int target_count;
        struct print_program *lesser;       /* There are target_count - 1 of them; it is NULL before
                                             * there are programs. */
        struct module **lesser_modules; /* The lesser programs live in these modules. */
        struct outputs *outputs;
        bool given;                     /* `bytes` are the caller's model: no file is read. */
        const struct import_definition *definitions;      /* The files of --define, once they are
                                                           * read. */
        const struct import_symbol *symbols;    /* Its C functions. */
        int definition_count, symbol_count;
        struct import_weights *weights; /* They are the initializers whose derivatives --gradient
                                         * may ask for; NULL: none. */
        struct import_training *training; /* --train makes a step of nodes in these modes; NULL: no
                                           * step is made. */
        struct cache *cache;            /* It is that of --cache, or NULL (cache.h). */
        bool keeps_bytes;               /* An import leaves `bytes` for the next one. */
        bool meanings;                  /* The C that is printed defines C functions of the
                                         * integrator's, weakly, by what they mean. */
        bool quantized;                 /* Layers were quantized before inputs became state. */
        unsigned char *bytes;           /* They are the model's bytes. */
        size_t length;
        const char *output;             /* It is the path of the main output; NULL stands for
                                         * standard output. */
        const char *prefix;             /* It is --name, or made from the output's name. */
        struct list dependencies;
        struct report_state *states;    /* With --report, they are the states before the first pass
                                         * and after each (report.h). */
        int state_count;
        const char *against;            /* It is the text of --report-against, or NULL. */
        struct report_float *floats;    /* With --report, they are the quantized layers that stay in
                                         * floats. */
        int float_count;
        bool floats_known;              /* These have been looked for. */
        const struct report_bench *bench;       /* With --report and --bench, it is what was
                                                 * measured of each entry. */
};

enum exit_code driver_main(int argc, char **argv);
/* Does one command, in a process that has been prepared for commands (driver_main). */
enum exit_code driver_command(int argc, char **argv);
enum exit_code driver_run(const struct options *options); /* Does all but reading the command
                                                           * line. */

/* Compiles a model for a process that goes on: the program is run->state.program, nothing is
 * written, and signals stay as they are. The model is the last word of argv, or these bytes, then
 * the word is "-". Errors are written to the stream. The run stays where it is until driver_close,
 * which has to follow, whatever driver_open returned. */
bool driver_open(struct run *run, int argc, char **argv, const void *bytes, size_t length,
                 FILE *errors);
enum exit_code driver_close(struct run *run);
/* Compiles as these options say, as far as to a planned program. Errors are said as those of the
 * command line. driver_close follows, too. */
bool driver_compile(struct run *run, const struct options *options);

/* These tell options to passes and printers (prepare.c): limits; targets and the context; where
 * outputs go and what symbols begin with. They return false after an error. */
bool set_limits(struct run *run);
bool prepare_context(struct run *run);
bool choose_names(struct run *run);

/* Reads the bytes of the model, and imports them: as the module, or as a function of that name into
 * the module that is there (read.c). */
bool read_bytes(struct run *run);
bool import_model(struct run *run, struct model_facts *facts, const char *entry);
/* A case of likely extents: the options of --dim with these as numbers, and which they are. */
struct likely_case { struct list dims; const char **names; int64_t *extents; int count; };
struct likely { struct likely_case *cases; int count; };
/* Reads the likely extents of --dim, those with more of them first (likely_extents.c); returns
 * false after an error. */
bool likely_read(struct run *run, struct likely *l);
/* Returns the name of the function for a case of a general one, which is the last of the module
 * when it has been imported: then likely_bind makes it that. */
const char *likely_name(struct run *run, const struct function *general,
                        const struct likely_case *c);
void likely_bind(struct run *run, struct function *general, const struct likely_case *c);
void likely_last(struct module *m);     /* Puts these functions behind all entries. */
/* Imports what --entry says; reports what is for one entry alone. */
bool entries_read(struct run *run);
bool entries_check(struct run *run);
/* Returns the number of the entry of this name, of several; -1: there is none. */
int entry_called(const struct loop_program *p, const char *name, size_t length);
/* Takes ENTRY= off an option's argument, where the program has several entries. Returns the entry's
 * number, 0 without it, or -1 after an error: none is called that. */
int entry_named(struct run *run, const char *option, const char **argument);
/* Finds which inputs of f, or outputs, ports of its entry are: files have these numbers. A port
 * that is none, state of other entries, gets -1. */
void entry_numbers(const struct function *f, struct loop_buffer *const *ports, int count,
                   bool outputs, int *numbers);
/* Returns the first target whose code is for one entry of numbers without state (struct engine);
 * NULL: there is none. */
const struct target *fixed_target(const struct run *run);
/* Returns a target that is no processor, the same or one that kernels are launched on, or NULL. */
const struct target *device_target(const struct run *run);
/* Makes outputs that are the next value of state such numbers as --quantize-port makes of the
 * state. */
bool state_ports(struct run *run, struct quantized_ports *ports);
/* Returns which outputs of the first function --state makes next values; NULL after an error. */
const bool *state_outputs(struct run *run);
/* Does what --state says. */
bool state_bind(struct run *run);
/* Applies --dim and --input to the symbols of a .dnn text (bind.c). Symbols stay open with
 * --emit=ir only. */
bool bind_symbols(struct module *m, const struct options *options, struct arena *arena,
                  struct diag *diag);

/* In programs that dnncc writes to run generated code, this function returns what run is given for
 * an input whose bytes are at `data`: that address or, of texts (type 8), pointers to each. */
#define INPUT_OF \
        "static const void *input_of(const struct dnncc_tensor_1 *t, const char *data)\n{\n" \
        "        size_t count = 1;\n" \
        "        for (int d = 0; d < t->rank; d++)\n" \
        "                count *= (size_t)t->shape[d];\n" \
        "        const char **texts = t->type == 8 ? calloc(count + 1, sizeof *texts) : NULL;\n" \
        "        for (size_t i = 0; i < count && texts; i++)\n" \
        "                texts[i] = data + t->bytes / count * i;\n" \
        "        return texts ? (const void *)texts : data;\n}\n"
/* Returns the inputs or outputs of the program's entry at `at`, in their order; state is both. */
const struct loop_buffer **run_ports(const struct run *run, struct arena *arena, bool outputs,
                                     int *count);

/* Returns what the entry is a function of, as Tensor IR; NULL: there is none. */
struct function *run_function(const struct run *run);
/* Returns what the symbols of the entry begin with, in code of this prefix. */
const char *entry_symbol(const struct run *run, const char *prefix);

/* Says that the output depends on this file, which no output may replace. */
void run_depends(struct run *run, const char *path);

/* quantization_read reads --quantize into context.quantize (quantization.c), when the model is
 * read. quantization_passes returns a list of passes, or the default where it is NULL, with the
 * passes that go with these options and --port, or NULL after an error. */
bool quantization_read(struct run *run);
/* Does --quantize-port where there is --state, which is bound to the ports that come of it. */
bool quantization_of_state(struct run *run);
const char *quantization_passes(struct run *run, const char *list);

/* gradients_parse reads --gradient before the model is read, gradients_add adds the derivatives
 * that it asks for as outputs (gradient.c). */
bool gradients_parse(struct run *run);
bool gradients_add(struct run *run);
struct sweep;
/* Reports what has no derivative, in exit code 4. Returns false. */
bool gradient_refused(struct run *run, const struct sweep *s);

/* train_parse reads --train before the model is read, train_build makes the functions train, infer
 * and init of the model (train.c). */
bool train_parse(struct run *run);
bool train_build(struct run *run);

/* remarks_prepare makes context.remarks, where --remarks or --explain want them (remarks.c);
 * remarks_put writes them, where they are asked for. */
bool remarks_prepare(struct run *run);
bool remarks_put(struct run *run);

/* Reads --region into context.regions (regions.c). */
bool regions_parse(struct run *run);
/* Reads --port into context.port_layouts (port_options.c); checks that what was read has ports. */
bool port_layouts_parse(struct run *run);
bool port_layouts_check(struct run *run);

/* Reads the model (read.c): the state's module, or of a .loops text its program. */
bool read_model(struct run *run);
bool read_schedules(struct run *run);   /* Reads the file of --schedule, which --tune writes
                                         * instead. */
/* Reads a model as the options say. Where facts is not NULL, it gets what the model says of
 * itself, even where false is returned after errors. */
bool read_facts(struct run *run, struct model_facts *facts);
/* Writes --info to standard output (info.c); returns true also where the model cannot be
 * compiled. */
bool model_info(struct run *run);

/* Writes what --emit asks for, and the dependency file (emit.c). */
bool emit_outputs(struct run *run);
/* This is said where the list of passes leaves Tensor IR, and Loop IR is needed. */
extern const char emit_not_lowered[];
/* Does -MD: the output and those beside it (or NULL) depend on all that was read. */
bool emit_depfile(struct run *run, const char *const beside[2]);
/* Writes --report, which has by then what --bench measured, if that was asked for. */
bool emit_report(struct run *run);
/* Writes the planned program by its target's printer. Beside it, under the same stem and each when
 * it is not NULL, it writes the header (else its text goes into the code), and the weights that are
 * not inline. */
bool emit_code(struct run *run, const char *stem, FILE *code, FILE *header, FILE *weights);
/* emit_into writes FOLDER/STEM.c and what belongs to it, in a folder that is thrown away; it
 * returns false after an error. emit_expect says that the files will be there
 * (temporary_expect). */
bool emit_into(struct run *run, const char *folder, const char *stem);
void emit_expect(const struct run *run, const char *folder, const char *stem);

/* Runs all passes, for all targets, within --max-ram as far as that can be (budget.c). */
bool compile_within(struct run *run, const struct pipeline_options *pipeline);
void compile_forget(struct run *run);   /* Frees modules and programs. */

/* Returns the planned program of a target. */
struct loop_program *run_program(const struct run *run, int target);

/* It compiles generated code where --cc says nothing. */
#define CC_PRESET "cc -O2"

/* Does --tune (tune.c): the module is scheduled; writes the file of --schedule. */
bool tune(struct run *run);

/* Compiles a planned program with `cc` and runs it with these values of the program's extents, of
 * which the run tells the counted ones, on ports in the program's order that have room for all of
 * their elements (compiled.c). *code is what the run ended with. Returns false after an error. */
bool compiled_run(struct run *run, struct loop_program *p, const char *cc, int64_t *extents,
                  const void *const *inputs, void *const *outputs, int *code);
/* Does the same for --check, as struct pipeline_options says; runner is the struct run. */
const char *compiled_check(void *runner, struct loop_program *p, const struct target *t,
                           int64_t *extents, const void *const *inputs,
                           void *const *outputs, int *code);

/* program_run runs the compiled program `./COMMAND` in the folder, by --runner where that is given,
 * and returns its status. program_ran reports a status that is not 0, and returns false then. */
int program_run(const struct run *run, struct arena *arena, const char *folder,
                const char *command);
bool program_ran(struct run *run, const char *option, int status);

/* Does --cost (costs.c): costs_all compiles one model after the other, of which each writes its own
 * line by costs_put. */
enum exit_code costs_all(struct run *run);
bool costs_put(struct run *run);

/* Does --bench (bench.c); the program is planned. */
bool bench(struct run *run);

/* These do every --test DIR, and --run DIR (test_run.c); they return false after an error. */
bool test_all(struct run *run);
bool test_write(struct run *run, const char *dir);
/* Returns the first --test that is of the entry at `at`, or NULL. */
const char *test_of_entry(struct run *run);
/* Returns what the program reads from one, in its order, in the module or the arena; or NULL after
 * an error. */
const void **test_inputs(struct run *run, struct arena *arena, struct module *m, const char *dir);

#endif
