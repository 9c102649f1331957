/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <inttypes.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "codegen/llvm/llvm_printer.h"
#include "codegen/sections/sections.h"
#include "compiler/emit.h"
#include "compiler/export/export.h"
#include "compiler/process.h"
#include "compiler/report.h"
#include "compiler/trace.h"
#include "passes/quantize/quantize.h"

/* Runs passes whichever the user chose: what nothing needs is not printed, loops run on several
 * threads, hardware tiles have numbers, and vectors their registers. After these passes nothing is
 * left to do for them. */
static bool prepare(struct run *run)
{
        bool fine = true;
        for (int i = 0; i < run->target_count && fine; i++) {
                struct loop_program *p = run_program(run, i);
                struct pass_context context = run->context;
                if (i + 1 < run->target_count)
                        context.target = run->lesser[i].target;
                fine = pass_registers(p, &context) >= 0 && pass_prune(p, &context) >= 0 &&
                       pass_steps(p, &context) >= 0 && pass_outline(p, &context) >= 0 &&
                       pass_keep(p, &context) >= 0;
        }
        return fine;
}

/* Returns what --quantize-port has made, for the header. */
static const struct print_steps *steps_of_ports(const struct run *run, int *count)
{
        const struct quantized_ports *ports =
                run->context.quantize ? run->context.quantize->ports : NULL;
        *count = ports ? ports->count : 0;
        struct print_steps *steps = arena_array(run->arena, (size_t)*count + 1, sizeof *steps);
        for (int i = 0; i < *count; i++) {
                const struct port_affine *p = &ports->items[i];
                steps[i] =
                        (struct print_steps){ p->name, p->output, p->affine.scale, p->affine.zero };
        }
        return steps;
}

static struct print_options options_of(struct run *run, const char *stem, bool header,
                                       FILE *weights)
{
        static const enum print_weights how[] = {
                [WEIGHTS_INCBIN] = PRINT_WEIGHTS_INCBIN, [WEIGHTS_FILE] = PRINT_WEIGHTS_FILE
        };
        int steps;
        struct print_options options = {
                .prefix = run->prefix,
                .version = DNNCC_VERSION,
                .header_name = header ? arena_printf(run->arena, "%s.h", stem) : NULL,
                .weights = how[run->options.weights],
                .weights_file = weights,
                .weights_name = weights ? arena_printf(run->arena, "%s.weights", stem) : NULL,
                .command = run->state.program->command,
                .descriptor = !run->options.no_descriptor,
                .unchecked = run->options.unchecked,
                .meanings = run->meanings,
                .hook = run->options.hook,
                .profile = run->options.profile != NULL,
                .fast_libm = run->options.fast_libm,
                .flush_denormals = run->options.flush_denormals,
                .steps = steps_of_ports(run, &steps),
                .threads = run->options.threads,
                .target = run->context.target,
                .lesser = run->lesser,
                .lesser_count = run->lesser ? run->target_count - 1 : 0,
        };
        options.step_count = steps;
        return options;
}

bool emit_code(struct run *run, const char *stem, FILE *code, FILE *header, FILE *weights)
{
        struct print_options options = options_of(run, stem, header != NULL, weights);
        if (!prepare(run))
                return false;
        struct print_selftest selftest;
        if (run->options.selftest) {
                if (!selftest_add(run, &selftest))
                        return false;
                options.selftest = &selftest;
        }
        if (trace_wanted(&run->options))
                trace_table(run, &options);
        return target_printer(options.target)
                ->print(code, header, run->state.program, &options, &run->diag);
}

/* These are the files that a folder gets. */
enum { CODE, HEADER, WEIGHTS, FILE_COUNT };
static char *path_in(const struct run *run, const char *folder, const char *stem, int file)
{
        const char *const endings[] = { target_printer(run->context.target)->suffix, ".h",
                                        ".weights" };
        return arena_printf(run->arena, "%s/%s%s", folder, stem, endings[file]);
}

void emit_expect(const struct run *run, const char *folder, const char *stem)
{
        for (int i = 0; i < FILE_COUNT; i++)
                temporary_expect(path_in(run, folder, stem, i));
}

bool emit_into(struct run *run, const char *folder, const char *stem)
{
        FILE *files[FILE_COUNT] = { NULL };
        int count = run->options.weights > WEIGHTS_INLINE ? FILE_COUNT : WEIGHTS;
        bool fine = true;
        struct loop_program *p = run->state.program;
        const int at = p->at;
        p->at = 0;
        run->meanings = true;
        for (int i = 0; i < count; i++)
                fine &= (files[i] = fopen(path_in(run, folder, stem, i), "wb")) != NULL;
        fine = fine && emit_code(run, stem, files[CODE], files[HEADER], files[WEIGHTS]);
        p->at = at;
        run->meanings = false;
        for (int i = 0; i < count; i++)
                fine = (!files[i] || !fclose(files[i])) && fine;
        if (!fine && !run->diag.errors)
                diag_error(&run->diag, EXIT_IO, "cannot write to %s: %s", folder, strerror(errno));
        return fine;
}

/* Returns whether constants of a model go into a file beside it: where that is asked for, or they
 * are more than one file holds. */
static bool has_data_file(const struct run *run)
{
        return run->options.emit == EMIT_ONNX &&
               (run->options.weights == WEIGHTS_FILE ||
                (run->options.weights == WEIGHTS_AUTO &&
                 export_bytes(run->state.module) > EXPORT_WITHIN));
}

/* ---- formats ---- */

bool files_of_text(struct run *run, const char *stem, const char *beside[2])
{
        (void)run, (void)stem, (void)beside;
        return true;
}

bool files_of_code(struct run *run, const char *stem, const char *beside[2])
{
        if (!run->state.program->planned) {
                diag_error(&run->diag, EXIT_USAGE,
                           "the passes given do not place the buffers: --passes must end in plan");
                return false;
        }
        if (run->output)
                beside[0] = arena_printf(run->arena, "%s.h", stem);
        if (run->options.weights > WEIGHTS_INLINE)
                beside[1] = arena_printf(run->arena, "%s.weights", stem);
        return true;
}

bool write_code(struct run *run, const struct emit_files *files)
{
        return emit_code(run, files->stem, files->out, files->beside[0], files->beside[1]);
}

bool files_of_object(struct run *run, const char *stem, const char *beside[2])
{
        if (run->output || run->options.weights != WEIGHTS_FILE)
                return files_of_code(run, stem, beside);
        diag_error(&run->diag, EXIT_USAGE, "weights in a file beside the object want -o FILE");
        return false;
}

bool write_object(struct run *run, const struct emit_files *files)
{
        static const enum llvm_format formats_of[] = { [EMIT_LLVM] = LLVM_FORMAT_TEXT,
                                                       [EMIT_BITCODE] = LLVM_FORMAT_BITCODE,
                                                       [EMIT_OBJECT] = LLVM_FORMAT_OBJECT,
                                                       [EMIT_ASM] = LLVM_FORMAT_ASM };
        FILE *header = files->beside[0];
        const struct print_options options =
                options_of(run, files->stem, header != NULL, files->beside[1]);
        return prepare(run) &&
               llvm_emit(formats_of[run->options.emit], files->out, header, run->state.program,
                         &options, run->options.triple, &run->diag);
}

bool files_of_onnx(struct run *run, const char *stem, const char *beside[2])
{
        const bool apart = has_data_file(run);
        const char *why = apart && !run->output
                                  ? "constants in a file beside the model want -o FILE"
                          : !apart && export_bytes(run->state.module) > EXPORT_WITHIN
                                  ? "more constants than an ONNX file holds: --weights=file puts "
                                    "them beside it"
                                  : NULL;
        (void)stem;
        if (why)
                diag_error(&run->diag, EXIT_USAGE, "%s", why);
        else if (apart)
                beside[0] = arena_printf(run->arena, "%s.data", run->output);
        return !why;
}

bool write_onnx(struct run *run, const struct emit_files *files)
{
        struct export_options options = { .version = DNNCC_VERSION,
                                          .data = files->beside[0],
                                          .data_name = files->paths[0] ? path_base(files->paths[0])
                                                                       : NULL };
        return export_model(files->out, run->state.module, &options, &run->diag);
}

/* Parameters stand beside the text. */
bool files_of_commands(struct run *run, const char *stem, const char *beside[2])
{
        (void)stem;
        if (run->output)
                beside[0] = arena_printf(run->arena, "%s.bin", run->output);
        return true;
}

/* Writes commands, and what --report asks for. */
bool write_commands(struct run *run, const struct emit_files *files)
{
        const struct options *o = &run->options;
        struct sections_options options = {
                .memory = o->activation_memory < 0 ? 0 : o->activation_memory,
                .parameters_name = files->paths[0] ? path_base(files->paths[0]) : NULL,
                .stats = o->stats,
                .version = DNNCC_VERSION
        };
        if (o->report && !(options.report = outputs_open(run->outputs, o->report, &run->diag)))
                return false;
        return sections_write(run->state.module, target_commands(run->context.target), &options,
                              files->out, files->beside[0], &run->diag);
}

/* Writes a text. Large constants go into a file beside one that has a name. */
static bool write_texts(struct run *run, FILE *out, bool tensors)
{
        struct text text = { 0 }, blob = { 0 };
        const char *blob_path =
                run->output ? arena_printf(run->arena, "%s.bin", run->output) : NULL;
        struct tensor_print options = { 0 };
        if (blob_path) {
                options.blob = &blob;
                options.file_name = path_base(blob_path);
        }
        if (tensors)
                tensor_print(&text, run->state.module, &options);
        else
                loop_print(&text, run->state.program, &options);
        bool fine = true;
        if (blob.length) {
                FILE *file = outputs_open(run->outputs, blob_path, &run->diag);
                fine = file != NULL;
                if (file)
                        fwrite(blob.data, 1, blob.length, file);
        }
        fwrite(text.data, 1, text.length, out);
        text_free(&text);
        text_free(&blob);
        return fine;
}

bool write_tensor_text(struct run *run, const struct emit_files *files)
{
        return write_texts(run, files->out, true);
}
bool write_loop_text(struct run *run, const struct emit_files *files)
{
        return write_texts(run, files->out, false);
}

/* ---- the dependency file ---- */

/* Prints a path with spaces, $ and # as make wants them. */
static void print_make_path(FILE *out, const char *path)
{
        for (; *path; path++) {
                if (*path == ' ' || *path == '#' || *path == '\\')
                        fputc('\\', out);
                if (*path == '$')
                        fputc('$', out);
                fputc(*path, out);
        }
}

bool emit_depfile(struct run *run, const char *const beside[2])
{
        const struct options *o = &run->options;
        if (!o->depfile && !o->depfile_name)
                return true;
        const char *path = o->depfile_name ? o->depfile_name
                                           : arena_printf(run->arena, "%s.d",
                                                          path_stem(run->arena, run->output, true));
        FILE *file = outputs_open(run->outputs, path, &run->diag);
        if (!file)
                return false;
        print_make_path(file, run->output ? run->output : "-");
        for (int i = 0; i < 2 && beside && beside[i]; i++) {
                fputc(' ', file);
                print_make_path(file, beside[i]);
        }
        fputc(':', file);
        for (int i = 0; i < run->dependencies.count; i++) {
                fputc(' ', file);
                print_make_path(file, run->dependencies.items[i]);
        }
        fputc('\n', file);
        return true;
}

bool emit_report(struct run *run)
{
        const char *path = run->options.report;
        FILE *file = path ? outputs_open(run->outputs, path, &run->diag) : NULL;
        if (file)
                (report_is_page(run) ? report_page : report_json)(run, file);
        return (file || !path) && !run->diag.errors;
}

/* Says at the end of -v what was made, how it is compiled and how it is called. */
static void note_outputs(struct run *run, const char *const beside[2])
{
        struct arena *arena = run->arena;
        const struct loop_program *p = run->state.program;
        const struct calls calls = report_calls(run);
        const char *prefix = run->prefix, *folder = path_stem(arena, run->output, true);
        char *upper = arena_string(arena, prefix);
        for (char *c = upper; *c; c++)
                *c = (char)toupper((unsigned char)*c);
        folder = arena_printf(arena, "%.*s", (int)(path_base(folder) - folder), folder);
        bool assembled = run->options.weights == WEIGHTS_INCBIN && *folder;
        diag_note(&run->diag,
                  "wrote %s and %s%s%s: %d kernels for %s, %d calls: workspace %" PRId64
                  " bytes%s, constants %" PRId64 " bytes",
                  text_argument(arena, run->output), text_argument(arena, beside[0]),
                  beside[1] ? " and " : "", beside[1] ? text_argument(arena, beside[1]) : "",
                  report_kernel_count(p), run->options.target, calls.count,
                  report_ram(p) - loop_state_size(p),
                  loop_state_size(p)
                          ? arena_printf(arena, ", state %" PRId64 " bytes", loop_state_size(p))
                          : "",
                  report_constant_bytes(p));
        diag_note(&run->diag, "compile it: cc -O2 -c%s%s %s%s", assembled ? " -I" : "",
                  assembled ? text_shell_word(arena, folder) : "",
                  text_shell_word(arena, run->output),
                  run->context.threads > 1 ? ", and link it with -ldnncc_runtime -lpthread" : "");
        diag_note(&run->diag,
                  "call it: %s_run, as %s declares it, with %s_WORKSPACE_DEFINE(memory) for a "
                  "workspace",
                  prefix, text_argument(arena, beside[0]), upper);
}

/* Hints at what else there is where --weights=auto gives one file that stands alone, and that is a
 * long text. gcc 12 -O2 on an AMD EPYC takes 0.079 s for each MB, and 11.5 bytes of memory for each
 * byte of constants; clang takes 0.027 s and 7.2 bytes. */
static void hint_at_weights(struct run *run, const char *header)
{
        enum { LARGE = 16 << 20 };
        const double gcc_seconds = 0.079e-6, gcc_memory = 11.5;
        struct stat text;
        struct arena *arena = run->arena;
        double bytes = (double)report_constant_bytes(run->state.program);
        if (run->options.weights != WEIGHTS_AUTO || bytes < LARGE || !header ||
            stat(run->output, &text))
                return;
        const char *stem = path_stem(arena, run->output, true);
        const char *folder = arena_printf(arena, "%.*s", (int)(path_base(stem) - stem), stem);
        diag_hint(&run->diag,
                  "%.0f MB of constants are %.0f MB of text, for which gcc takes some %.0f s and "
                  "%.1f GB; --weights=incbin (cc -O2 -c -I%s %s) and "
                  "--weights=file (%s_run is handed %s.weights) take a fraction of that",
                  1e-6 * bytes, 1e-6 * (double)text.st_size, gcc_seconds * bytes,
                  1e-9 * gcc_memory * bytes, *folder ? text_shell_word(arena, folder) : ".",
                  text_shell_word(arena, run->output), run->prefix, text_argument(arena, stem));
}

static const struct {
        bool (*files)(struct run *run, const char *stem, const char *beside[2]);
        bool (*write)(struct run *run, const struct emit_files *files);
} formats[] = {
#define EMIT(id, word, suffix, stage, files, write) { files, write },
#include "compiler/emit_formats.def"
};

const char emit_not_lowered[] =
        "the passes given do not lower the model: --passes must contain lower";

bool emit_outputs(struct run *run)
{
        const bool is_code = run->options.emit == EMIT_C;
        if (emits_tensors(&run->options) ? !run->state.module : !run->state.program) {
                diag_error(&run->diag, EXIT_USAGE,
                           run->state.program ? "a .loops program cannot be written as Tensor IR"
                                              : emit_not_lowered);
                return false;
        }
        const char *stem = path_stem(run->arena, run->output ? run->output : "", true);
        struct emit_files files = { .stem = path_base(stem) };
        if (!formats[run->options.emit].files(run, stem, files.paths))
                return false;
        for (int i = 0; i < 2; i++)
                if (files.paths[i] &&
                    !(files.beside[i] = outputs_open(run->outputs, files.paths[i], &run->diag)))
                        return false;
        files.out = run->output ? outputs_open(run->outputs, run->output, &run->diag) : stdout;
        bool fine = files.out && formats[run->options.emit].write(run, &files);
        fine = fine && emit_depfile(run, files.paths) && (!run->state.program || emit_report(run));
        fine = fine && outputs_commit(run->outputs, &run->diag);
        if (fine && is_code && run->output && run->diag.verbosity > 0)
                note_outputs(run, files.paths);
        if (fine && is_code)
                hint_at_weights(run, files.paths[0]);
        return fine;
}
