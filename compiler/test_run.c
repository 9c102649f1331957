/* SPDX-License-Identifier: MIT */
/* With --test DIR the program runs on DIR/input_K.pb and must give DIR/output_K.pb (TensorProto
 * files, in port order), or .npy. With --run DIR it runs on the same, and DIR/output_K.npy is what
 * it gives.
 *
 * By default the interpreter runs it; with --cc=CMD the generated C (compiled.c) does, with --jit
 * LLVM (jit.c). Equal are
 * 8-bit integers within 1, other integers and bool exactly, floats within 1e-3 |want| + 1e-4
 * max|want| or 2e-7 (sigmoids of common runtimes are multiples of 2^-24), NaN and infinities alike.
 * Each of several targets is tested; compiled code of one that this processor does not have is
 * passed over. --run is about the best. Of several entries the data is of the first, or of the one
 * that ENTRY=DIR names: files have the numbers of its model's inputs and outputs. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "codegen/targets.h"
#include "compiler/driver.h"
#include "compiler/jit.h"
#include "front/import.h"
#include "compiler/npz.h"
#include "compiler/progress.h"
#include "ir/loop/fail_codes.h"

struct test {
        struct run *run;
        struct arena *arena;
        struct module *m;               /* It holds the tensors read. */
        const char *option, *dir, *name;          /* They are --test or --run, the folder, and what
                                                   * messages call it. */
        enum drawn_inputs drawn;        /* dnncc makes the inputs, and prints what outputs are. */
        int target;                     /* It is an index of run->targets. */
        int input_count, output_count;
        struct loop_buffer **inputs, **outputs;
        const void **given;
        void **got;
        int *input_numbers;             /* Each input has this number in the model; -1: none. */
        int *numbers;                   /* Each output has this number in the model; -1: none. */
        int64_t *extents;               /* The program's extents have these values, -1 before they
                                         * are known. */
};

static size_t port_bytes(const struct loop_buffer *b)
{
        return (size_t)b->extent * (size_t)element_info[b->element].bytes;
}

/* Returns what messages call the port: names of several entries' buffers have numbers. */
static const char *port_name(const struct test *t, const struct loop_buffer *b)
{
        return t->run->state.program->entry_count == 1 || !b->port
                       ? b->name
                       : text_safe(t->arena, b->port, strlen(b->port));
}

static int64_t port_extent(const struct test *t, const struct loop_buffer *b, int d)
{
        return loop_port_extent(t->run->state.program, b, d, t->extents);
}

/* Returns the shape of b, with extents that are not known yet at their bounds. */
static const char *port_text(struct test *t, const struct loop_buffer *b)
{
        const struct loop_program *p = t->run->state.program;
        int64_t dims[RANK_MAX], values[EXTENTS_MAX];
        for (int i = 0; i < p->extent_count; i++)
                values[i] = t->extents[i] < 0 ? p->extents[i].variable->high : t->extents[i];
        if (b->is_text)
                return arena_printf(t->arena, "texts, %s with their bytes",
                                    type_text(t->arena, t->m, b->type));
        if (!b->type)
                return element_info[b->element].text;
        for (int d = 0; d < b->type->rank; d++)
                dims[d] = loop_port_extent(p, b, d, values);
        return type_text(t->arena, t->m,
                         type_static(t->m, b->type->element, b->type->rank, dims));
}

/* ---- extents of a run ---- */

static int extent_of(const struct test *t, const struct loop_expr *e)
{
        return e->op == LOOP_VARIABLE ? loop_extent_number(t->run->state.program, e->variable) : -1;
}

/* Takes the values of extents from a port's file: each dimension that is an extent, or a term of
 * one that is not known yet, says its value. Returns false after an error. */
static bool take_extents(struct test *t, const struct loop_buffer *b, const char *file, int rank,
                         const int64_t *dims)
{
        const struct loop_program *p = t->run->state.program;
        for (int d = 0; b->extents && rank == b->type->rank && d < rank; d++) {
                int64_t told;
                const int i = loop_port_tells(p, b, d, dims[d], t->extents, &told);
                if (i < 0)
                        continue;
                const struct loop_variable *v = p->extents[i].variable;
                if (told < v->low || told > v->high) {
                        diag_error(&t->run->diag, EXIT_INVALID,
                                   "%s: dimension %d, '%s', is %" PRId64 ", want %" PRId64
                                   " to %" PRId64,
                                   file, d, p->extents[i].name, dims[d], v->low, v->high);
                        return false;
                }
                t->extents[i] = told;
        }
        return true;
}

/* Have these dimensions the port's shape in this run? */
static bool port_fits(const struct test *t, const struct loop_buffer *b, int rank,
                      const int64_t *dims)
{
        bool fits = !b->type || rank == b->type->rank;
        for (int d = 0; fits && b->type && d < rank; d++)
                fits = port_extent(t, b, d) == dims[d];
        return fits;
}

static int64_t port_elements(const struct test *t, const struct loop_buffer *b)
{
        return loop_port_elements(t->run->state.program, b, t->extents);
}

/* ---- state that grows ---- */

/* Returns how many elements of state the run reads, or leaves behind: files have these alone,
 * dense, and memory has each extent at its bound. */
static int64_t held_elements(const struct test *t, const struct loop_buffer *b)
{
        int64_t count = 1;
        for (int d = 0; d < b->type->rank; d++)
                count *= port_extent(t, b, d);
        return count;
}

/* Returns how many elements a port's file has. */
static int64_t file_elements(const struct test *t, const struct loop_buffer *b)
{
        return b->space == SPACE_STATE && b->extents ? held_elements(t, b) : port_elements(t, b);
}

/* Copies these elements from a file's bytes to memory, or the other way round. */
static void copy_held(const struct test *t, const struct loop_buffer *b, unsigned char *memory,
                      unsigned char *dense, bool to_memory)
{
        const size_t bytes = (size_t)element_info[b->element].bytes;
        for (int64_t i = 0, count = held_elements(t, b); i < count; i++) {
                int64_t rest = i, at = 0, stride = 1;
                for (int d = b->type->rank - 1; d >= 0; d--) {
                        at += rest % port_extent(t, b, d) * stride;
                        rest /= port_extent(t, b, d);
                        stride *= type_extent(b->type, d);
                }
                unsigned char *in = memory + (size_t)at * bytes, *out = dense + (size_t)i * bytes;
                memcpy(to_memory ? in : out, to_memory ? out : in, bytes);
        }
}

/* Returns what a file has, as it lies in memory. */
static const void *laid_out(struct test *t, const struct loop_buffer *b, const void *dense)
{
        if (!dense || b->space != SPACE_STATE || !b->extents)
                return dense;
        unsigned char *memory = arena_alloc(t->arena, port_bytes(b));
        copy_held(t, b, memory, (unsigned char *)(uintptr_t)dense, true);
        return memory;
}

/* Returns what lies in memory behind a run, as a file has it. */
static void *dense_of(struct test *t, const struct loop_buffer *b, void *memory)
{
        if (b->space != SPACE_STATE || !b->extents)
                return memory;
        unsigned char *dense = arena_alloc(t->arena, port_bytes(b) + 1);
        copy_held(t, b, memory, dense, false);
        return dense;
}

/* ---- texts ---- */

/* Adds a code point as UTF-8, where it is one; `at` has room for 4 bytes. Returns how many bytes it
 * has. */
static size_t put_code_point(unsigned char *at, uint32_t c)
{
        if (c < 0x80) {
                at[0] = (unsigned char)c;
                return 1;
        }
        static const unsigned char lead[] = { 0, 0xc0, 0xe0, 0xf0 };
        size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        at[0] = (unsigned char)(lead[more] | (c >> 6 * more));
        for (size_t k = 1; k <= more; k++)
                at[k] = (unsigned char)(0x80 | ((c >> 6 * (more - k)) & 0x3f));
        return more + 1;
}

/* Returns texts as the bytes of buffer b, or NULL after an error: one has no room. The texts have
 * `width` elements each, bytes or, where is_wide, code points in little endian. */
static const void *lay_texts(struct test *t, const char *path, const struct loop_buffer *b,
                             const unsigned char *texts, int64_t width, bool is_wide)
{
        const int64_t room = type_extent(b->type, b->type->rank - 1);
        unsigned char *rows = arena_alloc(t->arena, port_bytes(b) + 1),
                      *row = memory_alloc((size_t)width * 4 + 1);
        for (int64_t i = 0; i < b->extent / room; i++) {
                size_t length = 0;
                for (int64_t k = 0; k < width; k++) {
                        const unsigned char *at = texts + (i * width + k) * (is_wide ? 4 : 1);
                        uint32_t c = !is_wide ? *at
                                              : at[0] | (uint32_t)at[1] << 8 |
                                                        (uint32_t)at[2] << 16 |
                                                        (uint32_t)at[3] << 24;
                        if (!c)
                                break;
                        if (is_wide)
                                length += put_code_point(row + length, c & 0x1fffff);
                        else
                                row[length++] = (unsigned char)c;
                }
                if ((int64_t)length >= room) {
                        diag_error(&t->run->diag, EXIT_INVALID,
                                   "%s: text %" PRId64 " has %zu bytes, '%s' has room for %" PRId64
                                   " and a NUL: " DIAG_HINT("--text-bytes=%zu"),
                                   path_base(path), i, length, port_name(t, b), room - 1,
                                   length + 1);
                        free(row);
                        return NULL;
                }
                memcpy(rows + i * room, row, length);
        }
        free(row);
        return rows;
}

/* Returns whether extents are those of buffer b's texts, of any number of bytes. */
static bool texts_fit(const struct loop_buffer *b, int rank, const int64_t *extents)
{
        bool fits = rank == b->type->rank;
        for (int d = 0; fits && d < rank - 1; d++)
                fits = dim_is(b->type->dims[d], extents[d]);
        return fits;
}

/* Returns an .npy file as dense bytes of buffer b, or NULL after an error. */
static const void *read_array(struct test *t, const char *path, const struct loop_buffer *b)
{
        struct diag *diag = &t->run->diag;
        unsigned char *bytes;
        size_t length;
        struct array a;
        if (!file_read(path, t->run->context.limits.file_bytes, &bytes, &length, diag))
                return NULL;
        const char *wrong = npy_read(bytes, length, &a);
        const void *data = NULL;
        bool known = !wrong && take_extents(t, b, path_base(path), a.rank, a.dims);
        bool fits = known && a.element == npy_element(loop_buffer_element(b)) &&
                    port_fits(t, b, a.rank, a.dims) &&
                    a.bytes == (size_t)file_elements(t, b) *
                                       (size_t)element_info[b->element].bytes;
        if (known && a.text && b->is_text && texts_fit(b, a.rank, a.dims)) {
                data = lay_texts(t, path, b, a.data, a.text, a.element == E_U32);
        } else if (fits && !a.text && !b->is_text) {
                void *room = arena_alloc(t->arena, port_bytes(b));
                data = memcpy(room, a.data, a.bytes);
        } else if (wrong)
                diag_error(diag, EXIT_INVALID, "%s cannot be read: %s", path_base(path), wrong);
        else if (known)
                diag_error(diag, EXIT_INVALID, "%s holds %s, the model's '%s' is %s",
                           path_base(path), array_text(t->arena, &a), port_name(t, b),
                           port_text(t, b));
        free(bytes);
        return data;
}

static const void *dense_bytes(struct test *t, const struct value *v)
{
        if (v->constant->kind != CONSTANT_SPLAT)
                return constant_data(v->constant);
        const size_t bytes = (size_t)element_info[v->type->element].bytes,
                     count = (size_t)type_elements(v->type);
        char *dense = arena_alloc(t->arena, count * bytes + 1);
        for (size_t i = 0; i < count; i++)
                memcpy(dense + i * bytes, constant_data(v->constant), bytes);
        return dense;
}

/* Returns DIR/kind_K.npy or .pb as dense bytes of buffer b, or NULL after an error. */
static const void *read_tensor(struct test *t, const char *kind, int k, const struct loop_buffer *b)
{
        struct stat st;
        const char *path = arena_printf(t->arena, "%s/%s_%d.npy", t->dir, kind, k);
        if (!stat(path, &st))
                return read_array(t, path, b);
        path = arena_printf(t->arena, "%s/%s_%d.pb", t->dir, kind, k);
        bool is_text;
        struct value *v = onnx_tensor_file(t->m, path, &t->run->context, &is_text);
        if (!v)
                return NULL;
        int64_t dims[RANK_MAX];
        dims_extents(dims, v->type->rank, v->type->dims);
        if (is_text && b->is_text && texts_fit(b, v->type->rank, dims))
                return lay_texts(t, path, b, dense_bytes(t, v), dims[v->type->rank - 1], false);
        if (!take_extents(t, b, path_base(path), v->type->rank, dims))
                return NULL;
        /* A file may have the same elements in another shape, where its shape says nothing. */
        bool fits = b->extents ? port_fits(t, b, v->type->rank, dims)
                               : type_elements(v->type) == b->extent;
        if (is_text || b->is_text || v->type->element != loop_buffer_element(b) || !fits) {
                diag_error(&t->run->diag, EXIT_INVALID, "%s_%d.pb holds %s, the model's '%s' is %s",
                           kind, k, type_text(t->arena, t->m, v->type), port_name(t, b),
                           port_text(t, b));
                return NULL;
        }
        const void *bytes = dense_bytes(t, v);
        if (!b->extents)
                return bytes;
        void *room = arena_alloc(t->arena, port_bytes(b));
        return memcpy(room, bytes,
                      (size_t)file_elements(t, b) * (size_t)element_info[b->element].bytes);
}

/* Gives each output its number in the model: in a program, state comes first. */
static void number_outputs(struct test *t)
{
        for (int k = 0; k < t->input_count; k++)
                t->input_numbers[k] = k;
        if (t->run->state.program->entry_count > 1 && run_function(t->run)) {
                entry_numbers(run_function(t->run), t->inputs, t->input_count, false,
                              t->input_numbers);
                entry_numbers(run_function(t->run), t->outputs, t->output_count, true,
                              t->numbers);
                return;
        }
        bool *taken = arena_array(t->arena, (size_t)t->output_count + 1, sizeof *taken);
        for (int k = 0; k < t->output_count; k++) {
                const int number = t->outputs[k]->next_number;
                t->numbers[k] = -1;
                /* Where there are several entries, the number may be that in another one. */
                if (t->outputs[k]->space == SPACE_STATE && number < t->output_count &&
                    !taken[number])
                        taken[t->numbers[k] = number] = true;
        }
        for (int k = 0, number = 0; k < t->output_count; k++) {
                if (t->numbers[k] >= 0)
                        continue;
                while (taken[number])
                        number++;
                t->numbers[k] = number++;
        }
}

static void collect_ports(struct test *t)
{
        const struct loop_program *p = t->run->state.program;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                t->input_count += loop_is_input(b) && loop_port_is_of(p, b);
                t->output_count += loop_is_output(b) && loop_port_is_of(p, b);
        }
        t->inputs = arena_array(t->arena, (size_t)t->input_count, sizeof *t->inputs);
        t->outputs = arena_array(t->arena, (size_t)t->output_count, sizeof *t->outputs);
        t->input_numbers = arena_array(t->arena, (size_t)t->input_count,
                                       sizeof *t->input_numbers);
        t->numbers = arena_array(t->arena, (size_t)t->output_count, sizeof *t->numbers);
        t->given = arena_array(t->arena, (size_t)t->input_count, sizeof *t->given);
        t->got = arena_array(t->arena, (size_t)t->output_count, sizeof *t->got);
        t->extents = arena_array(t->arena, (size_t)p->extent_count + 1, sizeof *t->extents);
        for (int i = 0; i < p->extent_count; i++)
                t->extents[i] = -1;
        int in = 0, out = 0;
        for (struct loop_buffer *b = p->buffers; b; b = b->next) {
                if (loop_is_input(b) && loop_port_is_of(p, b))
                        t->inputs[in++] = b;
                if (loop_is_output(b) && loop_port_is_of(p, b))
                        t->outputs[out++] = b;
        }
        number_outputs(t);
        for (int k = 0; k < t->output_count; k++)
                t->got[k] = arena_alloc(t->arena, port_bytes(t->outputs[k]));
}

/* ---- two ways to run ---- */

static bool run_interpreter(struct test *t)
{
        struct diag *diag = &t->run->diag;
        struct interp *interp = interp_new(run_program(t->run, t->target), false,
                                           (uint64_t)t->run->context.limits.total_bytes, diag);
        if (!interp)
                return false;
        interp_set_extents(interp, t->extents);
        int code = interp_run(interp, t->given, t->got, 0, NULL);
        interp_get_extents(interp, t->extents);
        interp_free(interp);
        if (code != INTERP_OK)
                diag_error(diag, EXIT_INTERNAL, "%s %s: the run ended with code %d: %s", t->option,
                           t->name, code, fail_text(code));
        return code == INTERP_OK;
}

static bool run_jit(struct test *t)
{
        int code;
        if (!jit_run(t->run, run_program(t->run, t->target), t->run->targets[t->target], t->extents,
                     (const void *const *)t->given, t->got, &code))
                return false;
        if (code)
                diag_error(&t->run->diag, EXIT_INTERNAL, "%s %s: the run ended with code %d: %s",
                           t->option, t->name, code, fail_text(code));
        return code == 0;
}

static bool run_compiled(struct test *t)
{
        struct diag *diag = &t->run->diag;
        int code;
        const char *cc = t->run->options.cc;
        if (t->run->target_count > 1) {
                char *prefix = arena_string(t->arena, t->run->prefix);
                for (char *p = prefix; *p; p++)
                        *p = (char)toupper((unsigned char)*p);
                cc = arena_printf(t->arena, "%s -D%s_LEVEL=%d", cc, prefix, t->target);
        }
        if (!compiled_run(t->run, t->run->state.program, cc, t->extents,
                          (const void *const *)t->given, t->got, &code))
                return false;
        if (code)
                diag_error(diag, EXIT_INTERNAL,
                           "%s %s: the compiled program ended with code %d: %s", t->option, t->name,
                           code, fail_text(code));
        return code == 0;
}

static bool run_test(struct test *t)
{
        const struct options *o = &t->run->options;
        return (o->jit ? run_jit : o->cc ? run_compiled : run_interpreter)(t);
}

/* ---- comparing ---- */

static double as_number(enum element e, const void *data, int64_t i)
{
        union scalar s = element_load(e, data, (size_t)i);
        return element_is_float(e)                   ? s.f
               : element_info[e].class == CLASS_SINT ? (double)s.i
                                                     : (double)s.u;
}

/* Returns "[0, 3, 17]". */
static char *coordinates(struct test *t, const struct loop_buffer *b, int64_t i)
{
        struct text text = { 0 };
        int64_t at[RANK_MAX] = { 0 };
        for (int d = b->type->rank - 1; d >= 0; d--) {
                at[d] = i % port_extent(t, b, d);
                i /= port_extent(t, b, d);
        }
        text_add(&text, "[");
        for (int d = 0; d < b->type->rank; d++)
                text_add(&text, "%s%" PRId64, d ? ", " : "", at[d]);
        text_add(&text, "]");
        char *copy = arena_string(t->arena, text.data);
        text_free(&text);
        return copy;
}

/* Returns a text that begins at an offset, which has a NUL, as it can be printed. */
static const char *shown_text(struct test *t, const void *texts, int64_t offset)
{
        const char *text = (const char *)texts + offset;
        return text_safe(t->arena, text, strlen(text));
}

static bool compare(struct test *t, int k, const void *want)
{
        const struct loop_buffer *b = t->outputs[k];
        double largest = 0, error = 0;
        int64_t first = -1, wrong = 0, count = file_elements(t, b);
        for (int64_t i = 0; i < count; i++) {
                double w = fabs(as_number(b->element, want, i));
                if (isfinite(w) && w > largest)
                        largest = w;
        }
        for (int64_t i = 0; i < b->extent && b->is_text; i++)
                if (((const char *)want)[i] != ((const char *)t->got[k])[i]) {
                        const int64_t room = type_extent(b->type, b->type->rank - 1);
                        diag_error(&t->run->diag, EXIT_INTERNAL,
                                   "--test %s: output '%s': text %" PRId64
                                   " is \"%s\", want \"%s\"",
                                   t->name, port_name(t, b), i / room,
                                   shown_text(t, t->got[k], i / room * room),
                                   shown_text(t, want, i / room * room));
                        return false;
                }
        for (int64_t i = 0; i < count; i++) {
                double w = as_number(b->element, want, i), g = as_number(b->element, t->got[k], i);
                double allowed =
                        element_is_float(b->element) ? fmax(1e-3 * fabs(w) + 1e-4 * largest, 2e-7)
                        : element_is_integer(b->element) && element_info[b->element].bytes == 1 ? 1
                                                                                                : 0;
                double difference = w == g || (isnan(w) && isnan(g)) ? 0 : fabs(w - g);
                if (difference > error)
                        error = difference;
                if (difference == 0 || (isfinite(w) && difference <= allowed))
                        continue;
                wrong++;
                if (first < 0)
                        first = i;
        }
        if (wrong) {
                diag_error(&t->run->diag, EXIT_INTERNAL,
                           "--test %s: output '%s': %" PRId64 " of %" PRId64
                           " elements differ, first %s: %.9g, want %.9g",
                           t->name, port_name(t, b), wrong, count, coordinates(t, b, first),
                           as_number(b->element, t->got[k], first),
                           as_number(b->element, want, first));
                return false;
        }
        printf("test %s: output '%s': %" PRId64
               " elements equal, largest difference %.3g of %.3g\n",
               t->name, port_name(t, b), count, error, largest);
        return true;
}

static bool test_target(struct test *t)
{
        struct run *run = t->run;
        const struct target *target = run->targets[t->target];
        bool fine = true;
        if (run->target_count > 1)
                t->name = arena_printf(t->arena, "%s for %s", path_base(t->dir), target->name);
        if (run->target_count > 1 && (run->options.cc || run->options.jit) &&
            !target_runs_here(target)) {
                printf("test %s: passed over: this processor has no %s\n", t->name, target->name);
                return true;
        }
        fine = run_test(t);
        loop_next_extents(t->run->state.program, t->extents, t->extents);
        for (int k = 0; k < t->output_count && fine; k++) {
                if (t->numbers[k] < 0)
                        continue;
                t->got[k] = dense_of(t, t->outputs[k], t->got[k]);
                const void *want = read_tensor(t, "output", t->numbers[k], t->outputs[k]);
                fine = want && compare(t, k, want);
        }
        return fine;
}

/* Is each dimension of a port a number, or an extent itself? */
static bool is_plain(const struct test *t, const struct loop_buffer *b)
{
        bool plain = true;
        for (int d = 0; b->extents && d < b->type->rank; d++)
                plain = plain && (b->extents[d]->op == LOOP_LITERAL ||
                                  extent_of(t, b->extents[d]) >= 0);
        return plain;
}

/* Is input k state that the entry has no file of: it begins anew, with zeros of no rows? */
static bool begins(const struct test *t, int k)
{
        struct stat st;
        const char *path = arena_printf(t->arena, "%s/input_%d", t->dir, t->input_numbers[k]);
        return t->inputs[k]->space == SPACE_STATE && t->run->state.program->entry_count > 1 &&
               (t->input_numbers[k] < 0 ||
                (stat(arena_printf(t->arena, "%s.npy", path), &st) &&
                 stat(arena_printf(t->arena, "%s.pb", path), &st)));
}

/* Reads the inputs, with which both begin. */
static bool read_inputs(struct test *t)
{
        bool fine = true;
        collect_ports(t);
        /* Terms of extents are known when those files were read that tell the extents. */
        for (int i = 0; i < 2 * t->input_count && fine; i++) {
                const int k = i % t->input_count;
                const struct loop_buffer *b = t->inputs[k];
                if (is_plain(t, b) != (i < t->input_count))
                        continue;
                if (t->drawn)
                        t->given[k] = drawn_input(t->run, t->drawn, k, b);
                else if (begins(t, k))
                        t->given[k] = arena_array(t->arena, port_bytes(b) + 1, 1);
                else
                        t->given[k] = laid_out(
                                t, b, read_tensor(t, "input", t->input_numbers[k], b));
                fine = t->given[k] != NULL;
        }
        const struct loop_program *p = t->run->state.program;
        for (int i = 0; i < p->extent_count && fine; i++)
                if (t->extents[i] < 0)  /* No input tells it. */
                        t->extents[i] = p->extents[i].kept && p->entry_count > 1
                                                ? 0
                                                : p->extents[i].variable->high;
        return fine;
}

static void forget(struct test *t)
{
        module_free(t->m);
        arena_free(t->arena);
}

static struct test test_new(struct run *run, const char *option, const char *dir)
{
        return (struct test){ .run = run, .arena = arena_new(), .m = module_new("test"),
                              .option = option, .dir = dir, .name = path_base(dir) };
}

const void **test_inputs(struct run *run, struct arena *arena, struct module *m, const char *dir)
{
        struct test t = { .run = run, .arena = arena, .m = m, .option = "--test", .dir = dir,
                          .name = path_base(dir) };
        return read_inputs(&t) ? t.given : NULL;
}

/* Says which entry is run, of each target's program. */
static void run_at(struct run *run, int entry)
{
        for (int i = 0; i < run->target_count; i++)
                run_program(run, i)->at = entry;
}

static bool test_run(struct run *run, const char *dir)
{
        const int entry = entry_named(run, "--test", &dir);
        if (entry < 0)
                return false;
        struct test t = test_new(run, "--test", dir);
        run_at(run, entry);
        bool fine = read_inputs(&t);
        for (t.target = 0; t.target < run->target_count && fine; t.target++)
                fine = test_target(&t);
        run_at(run, 0);
        forget(&t);
        return fine;
}

static bool write_outputs(struct test *t)
{
        struct run *run = t->run;
        loop_next_extents(run->state.program, t->extents, t->extents);
        for (int k = 0; k < t->output_count; k++) {
                const struct loop_buffer *b = t->outputs[k];
                if (t->numbers[k] < 0)
                        continue;
                t->got[k] = dense_of(t, b, t->got[k]);
                int64_t extents[RANK_MAX] = { b->extent };
                for (int d = 0; b->type && d < b->type->rank; d++)
                        extents[d] = port_extent(t, b, d);
                if (t->drawn) {
                        drawn_output(port_name(t, b), b, extents, file_elements(t, b), t->got[k]);
                        continue;
                }
                FILE *file = outputs_open(run->outputs,
                                          arena_printf(t->arena, "%s/output_%d.npy", t->dir,
                                                       t->numbers[k]),
                                          &run->diag);
                if (!file)
                        return false;
                npy_write(file, loop_buffer_element(b), b->type ? b->type->rank : 1, extents,
                          t->got[k],
                          (size_t)file_elements(t, b) * (size_t)element_info[b->element].bytes,
                          b->is_text);
        }
        return outputs_commit(run->outputs, &run->diag);
}

bool test_write(struct run *run, const char *dir)
{
        const int entry = entry_named(run, "--run", &dir);
        if (entry < 0)
                return false;
        struct test t = test_new(run, "--run", dir);
        t.drawn = drawn_inputs(dir);
        t.target = run->target_count - 1;
        run_at(run, entry);
        bool fine = read_inputs(&t) && run_test(&t) && write_outputs(&t);
        run_at(run, 0);
        forget(&t);
        return fine;
}

bool test_all(struct run *run)
{
        const struct list *tests = &run->options.tests;
        bool fine = true;
        progress_begin("test", &run->diag);
        for (int i = 0; i < tests->count; i++) {
                progress_step(i, tests->count, "set %d of %d, %s", i + 1, tests->count,
                              text_argument(run->arena, path_base(tests->items[i])));
                fine &= test_run(run, tests->items[i]);
        }
        progress_end();
        return fine;
}
