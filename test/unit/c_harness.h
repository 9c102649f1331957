/* SPDX-License-Identifier: MIT */
/* For tests of the C printer: programs are read from text, printed, compiled without a warning, loaded, run, and compared
 * with the interpreter, bit for bit (any NaN equals any NaN). */
#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "codegen/c_printer.h"
#include "codegen/llvm/llvm_printer.h"
#include "codegen/targets.h"
#include "ir/interp/interp.h"
#include "passes/pass.h"
#include "test/unit/processor.h"
#include "test/descriptor.h"

#define STRICT                                                                                              \
        "-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wdouble-promotion -Wcast-align " \
        "-Wstrict-prototypes -Wmissing-prototypes -Wunused -Werror"

static char folder[64];
static struct arena *arena;
static struct loop_library *library;
static struct diag diag;

static inline int set_up(void **state)
{
        (void)state;
        arena = arena_new();
        diag.subject = "test";
        library = loop_library_new(arena, &diag);
        strcpy(folder, "/tmp/dnncc_test.XXXXXX");
        return library && mkdtemp(folder) ? 0 : -1;
}

static inline int tear_down(void **state)
{
        (void)state;
        char command[100];
        snprintf(command, sizeof command, "rm -rf %s", folder);
        arena_free(arena);
        return system(command);
}

/* ---- tools ---- */

static inline bool shell(const char *format, ...)
{
        va_list list;
        va_start(list, format);
        char *command = arena_vprintf(arena, format, list);
        va_end(list);
        bool done = system(command) == 0;
        if (!done)
                print_message("failed: %s\n", command);
        return done;
}

static inline bool have(const char *compiler)
{
        return system(arena_printf(arena, "command -v %s >/dev/null", compiler)) == 0;
}

static inline struct loop_program *parse(const char *text)
{
        struct loop_program *p = loop_parse(arena, text, strlen(text), NULL, NULL, library, &diag);
        assert_non_null(p);
        assert_true(loop_verify(p, &diag));
        return p;
}

static const char *target_name = "generic";
static const struct emulator *emulator; /* what runs the code; NULL: this processor */
static bool flushes;                    /* the target does: denormal numbers equal zeros */

static inline struct print_options options_for(const char *prefix)
{
        return (struct print_options){
                .prefix = prefix,
                .header_name = arena_printf(arena, "%s.h", prefix),
                .version = "0.1",
                .command = "-O2",
                .descriptor = true,
                .target = target_find(target_name),
        };
}

/* p as the last passes leave it for the printer; p itself stays as it is, to be run beside */
static inline struct loop_program *finished(const struct loop_program *p,
                                            const struct print_options *options)
{
        struct text text = { 0 };
        struct pass_context context = { .diag = &diag, .target = options->target,
                                        .library = library, .limits = limits_preset,
                                        .threads = options->threads };
        loop_print(&text, p, &(struct tensor_print){ 0 });
        struct loop_program *copy = parse(text.data);
        text_free(&text);
        assert_true(pass_legalize(copy, &context) >= 0 && pass_prune(copy, &context) >= 0 &&
                    pass_outline(copy, &context) >= 0);
        assert_true(loop_verify(copy, &diag));
        return copy;
}

static const struct target *printed_for;          /* by print_with, at last */

static inline bool print_with(const struct loop_program *p, const struct print_options *options)
{
        printed_for = options->target;
        FILE *c = fopen(arena_printf(arena, "%s/%s.c", folder, options->prefix), "wb");
        FILE *h = fopen(arena_printf(arena, "%s/%s.h", folder, options->prefix), "wb");
        bool done = target_printer(options->target)->print(c, h, finished(p, options), options,
                                                           &diag);
        assert_int_equal(fclose(c) | fclose(h), 0);
        return done;
}

static inline void print(const struct loop_program *p, const char *prefix)
{
        struct print_options options = options_for(prefix);
        assert_true(print_with(p, &options));
}

static inline char *slurp(const char *name)
{
        FILE *file = fopen(arena_printf(arena, "%s/%s", folder, name), "rb");
        assert_non_null(file);
        struct text text = { 0 };
        char block[4096];
        size_t n;
        while ((n = fread(block, 1, sizeof block, file)) > 0)
                text_add_bytes(&text, block, n);
        fclose(file);
        char *copy = arena_copy(arena, text.data, text.length + 1);
        text_free(&text);
        return copy;
}

/* ---- compiled models ---- */

static inline const struct dnncc_model_1 *load(const char *prefix, const char *compiler)
{
        static int serial;
        char *object = arena_printf(arena, "%s/%s_%d.so", folder, prefix, ++serial);
        if (!shell("cd %s && %s %s -fPIC -shared -I. -o %s %s.c", folder, compiler, STRICT, object,
                   prefix))
                return NULL;
        void *handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
        assert_non_null(handle);
        const struct dnncc_model_1 *(*describe)(void);
        *(void **)&describe = dlsym(handle, arena_printf(arena, "%s_describe", prefix));
        assert_non_null(describe);
        return describe();
}

enum { PORTS_MAX = 512 };
struct ports { void *inputs[PORTS_MAX], *outputs[PORTS_MAX]; int input_count, output_count; };

static inline size_t bytes_of(const struct loop_buffer *b)
{
        return (size_t)b->extent * (size_t)element_info[b->element].bytes;
}

static inline void *exact(size_t bytes)
{
        void *block = NULL;
        assert_int_equal(posix_memalign(&block, 64, bytes ? bytes : 1), 0);
        memset(block, 0xa5, bytes);
        return block;
}

static inline bool same_element(enum element e, const void *a, const void *b, size_t i)
{
        size_t size = (size_t)element_info[e].bytes;
        if (!memcmp((const char *)a + i * size, (const char *)b + i * size, size))
                return true;
        if (flushes && e == E_F32 && fabs(element_load(e, a, i).f) < FLT_MIN && fabs(element_load(e, b, i).f) < FLT_MIN)
                return true;
        return element_is_float(e) && isnan(element_load(e, a, i).f) &&
               isnan(element_load(e, b, i).f);
}

/* The model's code: 0, or an error. */
static inline int run_compiled(const struct dnncc_model_1 *model, const struct ports *ports)
{
        void *workspace = model->regions[0].size ? exact((size_t)model->regions[0].size) : NULL;
        void *const regions[] = { workspace };
        int code = model->run(regions, (const void *const *)ports->inputs, ports->outputs, NULL);
        free(workspace);
        return code;
}

/* blocks of memory as files of a program, and back: those of the inputs, or of the outputs */
static inline void exchange(const struct loop_program *p, int space, void *const *blocks, bool write)
{
        int n = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                if ((int)b->space != space)
                        continue;
                FILE *file = fopen(arena_printf(arena, "%s/%s/%d.bin", folder, space == SPACE_INPUT ? "in" : "out", n),
                                   write ? "wb" : "rb");
                assert_non_null(file);
                assert_int_equal(write ? fwrite(blocks[n], 1, bytes_of(b), file) : fread(blocks[n], 1, bytes_of(b), file),
                                 bytes_of(b));
                assert_int_equal(fclose(file), 0);
                n++;
        }
}

/* The same for code of another machine: a program of its own (test/host.c), run by its emulator. False: that gave up, by a mistake of its
 * own: QEMU 7.2 does where a translated block begins with vfcvt.rtz. */
static inline bool run_emulated(const struct loop_program *p, const char *prefix, const struct ports *ports,
                                const char *compiler)
{
        char here[4096];
        assert_non_null(getcwd(here, sizeof here));
        assert_true(shell("cd %s && mkdir -p in out && %s %s -c %s.c -o model.o && "
                          "%s -DDESCRIBE=%s_describe -static -o program %s/test/host.c model.o",
                          folder, compiler, STRICT, prefix, emulator->cc, prefix, here));
        exchange(p, SPACE_INPUT, ports->inputs, true);
        exchange(p, SPACE_OUTPUT, ports->outputs, true);
        if (!shell("cd %s && %s ./program --over in out 2>errors || { cat errors; false; }", folder, emulator->run)) {
                assert_true(shell("grep -q 'decode_save_opc: Assertion' %s/errors", folder));
                return false;
        }
        exchange(p, SPACE_OUTPUT, ports->outputs, false);
        return true;
}

/* ---- the same through LLVM (codegen/llvm/), where it is ---- */

/* Why LLVM is not there, or NULL. */
static inline const char *jit_missing(void)
{
        static bool known;
        static char *said;
        size_t length;
        if (known)
                return said;
        struct diag own = { .subject = "jit", .stream = open_memstream(&said, &length) };
        const struct loop_program *p = parse("loop 1\nprogram \"t\" source \"\"\nmain {\n}\n");
        struct llvm_jit *jit = llvm_jit_new(p, target_find("generic"), &(struct llvm_options){ .level = LLVM_LEVEL_FAST }, &own);
        fclose(own.stream);
        known = true;
        if (jit) {
                llvm_jit_free(jit);
                free(said);
                said = NULL;
        } else {
                print_message("LLVM is missing: nothing is compared with it: %s", said);
        }
        return said;
}

/* Makes room twice for each output of p. Returns their number. */
static inline int two_outputs(const struct loop_program *p, const struct loop_buffer **outputs,
                              void **want, void **got)
{
        int count = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next)
                if (b->space == SPACE_OUTPUT) {
                        outputs[count] = b;
                        want[count] = exact(bytes_of(b));
                        got[count++] = exact(bytes_of(b));
                }
        return count;
}

static inline void same_outputs(const char *who, const struct loop_buffer *const *buffers,
                                void *const *want, void *const *got, int count)
{
        for (int k = 0; k < count; k++)
                for (int64_t i = 0; i < buffers[k]->extent; i++)
                        if (!same_element(buffers[k]->element, want[k], got[k], (size_t)i)) {
                                union scalar w = element_load(buffers[k]->element, want[k],
                                                              (size_t)i);
                                union scalar g = element_load(buffers[k]->element, got[k],
                                                              (size_t)i);
                                fail_msg("%s: %s[%lld] is %llx (%g), the interpreter says %llx "
                                         "(%g)",
                                         who, buffers[k]->name, (long long)i, g.u, g.f, w.u, w.f);
                        }
}

/* p in this process by LLVM, without passes and with them, as its printer gets it for the target,
 * and what the interpreter says. False: it is not here, or the processor is another one. */
static inline bool compare_jit(const struct loop_program *p, const struct ports *given)
{
        static const char *const levels[] = { "jit=fast", "jit=best" };
        struct print_options options = options_for("model");
        options.target = printed_for;
        const struct loop_buffer *outputs[PORTS_MAX];
        void *want[PORTS_MAX], *got[PORTS_MAX];
        if (emulator || !target_runs_here(options.target) || jit_missing())
                return false;
        const int count = two_outputs(p, outputs, want, got);
        struct interp *interp = interp_new(p, false, 0, &diag);
        assert_non_null(interp);
        int code = interp_run(interp, (const void *const *)given->inputs, want, 0, NULL);
        interp_free(interp);
        for (int level = LLVM_LEVEL_FAST; level <= LLVM_LEVEL_BEST; level++) {
                if (level == LLVM_LEVEL_BEST)
                        options.threads = 3;    /* Launches are the runtime's then. */
                const struct loop_program *own = finished(p, &options);
                const struct llvm_options how = { .level = (enum llvm_level)level,
                                                  .threads = options.threads };
                struct llvm_jit *jit = llvm_jit_new(own, options.target, &how, &diag);
                assert_non_null(jit);
                assert_int_equal(
                        llvm_jit_run(jit, NULL, (const void *const *)given->inputs, got), code);
                llvm_jit_free(jit);
                if (code == 0)
                        same_outputs(levels[level], outputs, want, got, count);
        }
        for (int k = 0; k < count; k++) {
                free(want[k]);
                free(got[k]);
        }
        return true;
}

/* Both give the same code and, when it is 0, the same outputs. */
static inline void compare(const struct loop_program *p, const char *prefix, const struct ports *given,
                    const char *compiler)
{
        struct ports want = *given, got = *given;
        const struct loop_buffer *outputs[PORTS_MAX];
        static const struct loop_program *compared;       /* p is compared for several compilers */
        if (p != compared)
                compare_jit(p, given);
        compared = p;
        const struct dnncc_model_1 *model = emulator ? NULL : load(prefix, compiler);
        assert_true(model || emulator);
        for (const struct loop_buffer *b = p->buffers; b; b = b->next)
                if (b->space == SPACE_OUTPUT) {
                        outputs[want.output_count] = b;
                        want.outputs[want.output_count++] = exact(bytes_of(b));
                        got.outputs[got.output_count++] = exact(bytes_of(b));
                }
        struct interp *interp = interp_new(p, false, 0, &diag);
        assert_non_null(interp);
        int code = interp_run(interp, (const void *const *)want.inputs, want.outputs, 0, NULL);
        interp_free(interp);
        bool gave_up = false;
        if (emulator)
                gave_up = !run_emulated(p, prefix, &got, compiler);
        else
                assert_int_equal(run_compiled(model, &got), code);
        if (code == 0 && !gave_up)
                same_outputs(compiler, outputs, want.outputs, got.outputs, want.output_count);
        for (int k = 0; k < want.output_count; k++) {
                free(want.outputs[k]);
                free(got.outputs[k]);
        }
}
