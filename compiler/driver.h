/* SPDX-License-Identifier: MIT */
/* One run of dnncc: options in, files out. main.c holds only main(). */
#ifndef COMPILER_DRIVER_H
#define COMPILER_DRIVER_H

#include "base/text.h"
#include "codegen/printer.h"
#include "compiler/files.h"
#include "compiler/options.h"
#include "passes/manager.h"

struct model_facts;                     /* front/import.h */

struct run {
        struct arena *arena;
        struct options options;
        struct diag diag;
        struct pass_context context;
        struct pipeline_state state;
        struct module *common;          /* what the state's module is a copy of, with --max-ram; or
                                         * NULL */
        /* of --target, the least first: context and state are for the last, and there is a program
         * for each of the others */
        const struct target **targets;
        int target_count;
        struct print_program *lesser;       /* [target_count - 1]; NULL before there are programs */
        struct module **lesser_modules; /* that these live in */
        struct outputs *outputs;
        unsigned char *bytes;           /* of the model */
        size_t length;
        const char *output;             /* path of the main output; NULL: standard output */
        const char *prefix;             /* --name, or made from the output's name */
        struct list dependencies;
        struct report_state *states;    /* with --report: before the first pass and after each
                                         * (report.h) */
        int state_count;
        const char *against;            /* text of --report-against; or NULL */
        struct report_float *floats;    /* with --report: quantized layers that stay in floats */
        int float_count;
        bool floats_known;              /* these have been looked for */
        const struct report_bench *bench;       /* with --report and --bench: what was measured */
};

enum exit_code driver_main(int argc, char **argv);
enum exit_code driver_run(const struct options *options); /* all but reading the command line */

/* Options as passes and printers are told them (prepare.c): limits; targets and the context;
 * where outputs go and what symbols begin with. False after an error. */
bool set_limits(struct run *run);
bool prepare_context(struct run *run);
bool choose_names(struct run *run);

/* --dim and --input on the symbols of a .dnn text (bind.c). Symbols stay open with --emit=ir
 * only. */
bool bind_symbols(struct module *m, const struct options *options, struct arena *arena,
                  struct diag *diag);

/* The program's ports, SPACE_INPUT or SPACE_OUTPUT, in their order. */
const struct loop_buffer **run_ports(const struct run *run, struct arena *arena, int space,
                                     int *count);

/* the output depends on this file, which no output may replace */
void run_depends(struct run *run, const char *path);

/* --quantize (quantization.c): context.quantize, when the model is read; and the passes that go
 * with it, of a list or NULL, the default. NULL after an error. */
bool quantization_read(struct run *run);
const char *quantization_passes(struct run *run, const char *list);

/* --remarks, --explain (remarks.c): context.remarks, where they are wanted; and writes them,
 * where asked for */
bool remarks_prepare(struct run *run);
bool remarks_put(struct run *run);

/* --region (regions.c): context.regions */
bool regions_parse(struct run *run);

/* The model (read.c): the state's module, or of a .loops text its program. */
bool read_model(struct run *run);
bool read_schedules(struct run *run);   /* the file of --schedule, which --tune writes instead */
/* Reads an ONNX model as the options say; with facts, which may be NULL, what it says of itself,
 * even where false is returned after errors. */
bool read_onnx(struct run *run, struct model_facts *facts);
/* --info (info.c): on standard output; true also where the model cannot be compiled */
bool model_info(struct run *run);

/* Writes what --emit asks for, and the dependency file (emit.c). */
bool emit_outputs(struct run *run);
/* -MD: the output and those beside it (or NULL) depend on all that was read */
bool emit_depfile(struct run *run, const char *const beside[2]);
/* --report, with what else it is given by then */
bool emit_report(struct run *run);
/* The planned program by its target's printer. Beside it, under the same stem and each when it is
 * not NULL: the header (else its text goes into the code), and the weights that are not inline. */
bool emit_code(struct run *run, const char *stem, FILE *code, FILE *header, FILE *weights);
/* FOLDER/STEM.c and what belongs to it, in a folder that is thrown away: false after an error.
 * And that the files will be there (temporary_expect). */
bool emit_into(struct run *run, const char *folder, const char *stem);
void emit_expect(const struct run *run, const char *folder, const char *stem);

/* All passes, for all targets, within --max-ram as far as that can be (budget.c). */
bool compile_within(struct run *run, const struct pipeline_options *pipeline);
void compile_forget(struct run *run);   /* modules and programs */

/* the planned program of a target */
struct loop_program *run_program(const struct run *run, int target);

/* what compiles generated code where --cc says nothing */
#define CC_PRESET "cc -O2"

/* --tune (tune.c): the module is scheduled; writes the file of --schedule */
bool tune(struct run *run);

/* Compiles a planned program with `cc` and runs it on dense ports in the program's order; *code:
 * what the run ended with (compiled.c). False after an error. */
bool compiled_run(struct run *run, struct loop_program *p, const char *cc,
                  const void *const *inputs, void *const *outputs, int *code);
/* the same for --check: see struct pipeline_options; runner: the struct run */
const char *compiled_check(void *runner, struct loop_program *p, const struct target *t,
                           const void *const *inputs, void *const *outputs, int *code);

/* The compiled program `./COMMAND` in the folder, by --runner where that is given: the status.
 * And what is said of it where it is not 0: false then. */
int program_run(const struct run *run, struct arena *arena, const char *folder,
                const char *command);
bool program_ran(struct run *run, const char *option, int status);

/* --bench (bench.c): the program is planned */
bool bench(struct run *run);

/* every --test DIR, and --run DIR (test_run.c): false after an error */
bool test_all(struct run *run);
bool test_write(struct run *run, const char *dir);
/* what the program reads from one, in its order, in the module or the arena; NULL after an error */
const void **test_inputs(struct run *run, struct arena *arena, struct module *m, const char *dir);

#endif
