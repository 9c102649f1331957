/* SPDX-License-Identifier: MIT */
/* Prints the functions that the host calls: prepare, load, run, status. `run` only launches
 * kernels: it allocates nothing, waits for nothing, and keeps no state, so it can be captured as a
 * graph. */
#include "codegen/cuda_writer.h"

#include <string.h>

/* Prints the arguments of a kernel's call that follow the kernel's own. */
void cuda_call(struct c_writer *w, const struct loop_function *f)
{
        const char *lead = f->buffer_count + f->scalar_count ? "," C_SOFT : "";
        if (!c_can_fail(f)) {
                c_put(w, "%sstream", lead);
                return;
        }
        c_put(w, "%sstream," C_SOFT "failed," C_SOFT "calls++", lead);
        w->cuda->fails = true;
}

static const char launch[] = "\n"
                             "/* prepare was called for the devices whose byte is not 0. */\n"
                             "static volatile unsigned char prepared[64];\n"
                             "\n"
                             "static int is_prepared(void)\n"
                             "{\n"
                             "        int device;\n"
                             "        return cudaGetDevice(&device) == cudaSuccess && device >= 0 "
                             "&& device < 64 && prepared[device];\n"
                             "}\n";

static const char check[] =
        "\n"
        "/* Can kernels use this memory? Returns 0, or the error. */\n"
        "static int check(const void *memory, size_t align)\n"
        "{\n"
        "        struct cudaPointerAttributes attributes;\n"
        "        if (!memory)\n"
        "                return %s;\n"
        "        if ((uintptr_t)memory %% align != 0)\n"
        "                return %s;\n"
        "        if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {\n"
        "                (void)cudaGetLastError();\n"
        "                return %s;\n"
        "        }\n"
        "        if (attributes.type != cudaMemoryTypeDevice && attributes.type != "
        "cudaMemoryTypeManaged)\n"
        "                return %s;\n"
        "        return 0;\n"
        "}\n";

/* ---- prepare ---- */

static void put_prepare(struct c_writer *w)
{
        const struct cuda_writer *cuda = w->cuda;
        int64_t shared = 0;
        c_function_open(w, arena_printf(w->arena, "int %s_prepare(void)", w->options->prefix));
        c_line(w, "int device, major, minor%s;", cuda->shares ? ", shared" : "");
        c_line(w, "cudaStreamCaptureStatus capture;");
        c_line(w, "if (cudaGetDevice(&device) != cudaSuccess || device < 0 || device >= 64)");
        c_return_error(w, "DEVICE");
        c_line(w, "if (cudaStreamIsCapturing(NULL, &capture) != cudaSuccess || capture != "
                  "cudaStreamCaptureStatusNone)");
        c_return_error(w, "CAPTURE");
        c_line(w, "if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) "
                  "!= cudaSuccess ||");
        c_line(w, "    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) "
                  "!= cudaSuccess)");
        c_return_error(w, "DEVICE");
        c_line(w, "if (major * 10 + minor < %d)", target_gpu(w->target)->capability);
        c_return_error(w, "PROCESSOR");
        for (int i = 0; i < cuda->phase_count; i++)
                shared = cuda->phases[i].shared > shared ? cuda->phases[i].shared : shared;
        if (cuda->shares) {
                c_line(w, "if (cudaDeviceGetAttribute(&shared, "
                          "cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess ||");
                c_line(w, "    shared < %lld)", (long long)shared);
                c_return_error(w, "SHARED");
        }
        if (cuda->phase_count) {
                c_line(w, "static const struct { const void *kernel; int shared; } kernels[] = {");
                w->indent++;
                for (int i = 0; i < cuda->phase_count; i++)
                        c_line(w, "{ (const void *)%s, %lld },", cuda->phases[i].name,
                               (long long)cuda->phases[i].shared);
                w->indent--;
                c_line(w, "};");
                c_line(w, "for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)");
                w->indent++;
                c_line(w, "if (cudaFuncSetAttribute(kernels[i].kernel, "
                          "cudaFuncAttributeMaxDynamicSharedMemorySize,");
                c_line(w, "                         kernels[i].shared) != cudaSuccess)");
                c_return_error(w, "PROCESSOR");
                w->indent--;
        }
        c_line(w, "prepared[device] = 1;");
        c_line(w, "return 0;");
        c_function_close(w);
}

/* ---- load ---- */

static void put_copy(struct c_writer *w, const char *to, const char *from, const char *bytes)
{
        c_line(w, "if (cudaMemcpyAsync(%s, %s, %s,", to, from, bytes);
        c_line(w,
               "                    cudaMemcpyHostToDevice, (cudaStream_t)stream) != cudaSuccess)");
        c_return_error(w, "LAUNCH");
}

static void put_load(struct c_writer *w)
{
        enum print_weights where = w->options->weights;
        bool unchecked = w->options->unchecked;
        c_function_open(w, cuda_load_prototype(w));
        if (!w->weight_count) {
                c_line(w, where == PRINT_WEIGHTS_FILE ? "(void)weights, (void)file, (void)stream;"
                                                      : "(void)weights, (void)stream;");
                c_line(w, "return 0;");
                c_function_close(w);
                return;
        }
        if (!unchecked) {
                c_line(w, "int status = check(weights, %s);", c_macro(w, "WEIGHTS_ALIGN"));
                c_line(w, "if (status)");
                w->indent++;
                c_line(w, "return status;");
                w->indent--;
        }
        if (where == PRINT_WEIGHTS_FILE && !unchecked) {
                c_line(w, "if (!file)");
                c_return_error(w, "NULL");
                c_line(w, "if ((uintptr_t)file %% 8 != 0)");
                c_return_error(w, "ALIGNMENT");
                c_line(w, "if (!are_weights((const uint64_t *)file))");
                c_return_error(w, "WEIGHTS");
        }
        if (where == PRINT_WEIGHTS_INCBIN && !unchecked) {
                c_line(w, "if ((uintptr_t)constants_end - (uintptr_t)&constants != sizeof "
                          "constants || !are_weights(constants.head))");
                c_return_error(w, "WEIGHTS");
        }
        if (where == PRINT_WEIGHTS_INLINE) {
                c_line(w, "for (size_t at = 0; at < sizeof(struct weights); at += %d) {",
                       C_ROW_BYTES);
                w->indent++;
                c_line(w, "const size_t left = sizeof(struct weights) - at;");
                put_copy(w, "(char *)weights + at",
                         arena_printf(w->arena, "weights_rows[at / %d]", C_ROW_BYTES),
                         arena_printf(w->arena, "left < %d ? left : %d", C_ROW_BYTES, C_ROW_BYTES));
                w->indent--;
                c_line(w, "}");
        } else {
                put_copy(w, "weights", where == PRINT_WEIGHTS_FILE ? "file" : "&constants",
                         "sizeof(struct weights)");
        }
        c_line(w, "return 0;");
        c_function_close(w);
}

/* ---- run ---- */

static void put_check(struct c_writer *w, const char *memory, const char *align, bool *any)
{
        c_put(w, *any ? " ||" C_SOFT : "if (");
        c_put(w, "(status = check(%s, %s)) != 0", memory, align);
        *any = true;
}

/* Prints the check of a tensor, which may be NULL where an extent of the run is 0. */
static void put_port_check(struct c_writer *w, struct loop_buffer *b, bool *any)
{
        const char *empty = "";
        for (int d = 0; b->extents && d < b->type->rank; d++) {
                const struct loop_expr *e = b->extents[d];
                if (e->op == LOOP_VARIABLE && e->variable->low <= 0)
                        empty = arena_printf(w->arena, "%s%s%s > 0 &&" C_SOFT, empty,
                                             w->p->extents[loop_extent_number(w->p, e->variable)]
                                                             .kept
                                                     ? "*"
                                                     : "",
                                             e->variable->name);
        }
        if (!*empty) {
                put_check(w, c_use(w, b), arena_printf(w->arena, "%d", cuda_port_multiple(w, b)),
                          any);
                return;
        }
        c_put(w, *any ? " ||" C_SOFT : "if (");
        c_put(w, "(%s(status = check(%s, %d)) != 0)", empty, c_use(w, b),
              cuda_port_multiple(w, b));
        *any = true;
}

static void put_checks(struct c_writer *w)
{
        bool any = false;
        if (w->workspace_size > 0)
                put_check(w, "workspace", c_macro(w, "WORKSPACE_ALIGN"), &any);
        if (w->weight_bytes > 0)
                put_check(w, "weights", c_macro(w, "WEIGHTS_ALIGN"), &any);
        if (c_state_any(w))
                put_check(w, "state", c_macro(w, "STATE_ALIGN"), &any);
        for (int i = 0; i < w->input_count + w->output_count; i++) {
                struct loop_buffer *b =
                        i < w->input_count ? w->inputs[i] : w->outputs[i - w->input_count];
                if (b->extent)
                        put_port_check(w, b, &any);
        }
        if (!any)                       /* No tensor has elements, so nothing is checked. */
                c_put(w, "if ((status = 0) != 0");
        c_put(w, ")");
        c_end(w);
        w->indent++;
        c_line(w, "return status;");
        w->indent--;
}

/* What main's statements show of an entry. */
struct entry { struct text body; bool fails, uses_weights, uses_status; };

static struct entry entry_of(struct c_writer *w)
{
        w->cuda->fails = false;
        const struct text body = c_main_text(w);
        return (struct entry){ body, w->cuda->fails, w->uses_weights, w->uses_status };
}

static void put_run(struct c_writer *w, const struct entry *main)
{
        const struct cuda_writer *cuda = w->cuda;
        const struct text *body = &main->body;
        w->uses_weights = main->uses_weights;
        w->uses_status = main->uses_status;
        text_add(w->out, "\n");
        c_run_prototype(w, arena_printf(w->arena, "int %s_run(", w->prefix));
        c_end(w);
        c_line(w, "{");
        w->indent = 1;
        const bool checked = !w->options->unchecked;
        if (checked || w->uses_status)
                c_line(w, "int status;");
        if (checked) {
                c_line(w, "if (!is_prepared())");
                c_return_error(w, "PREPARE");
                c_run_check_extents(w);
                c_state_check(w);
                put_checks(w);
        }
        c_weights_pointer(w, w->uses_weights);
        c_run_extents(w);
        c_state_pointers(w);
        c_run_pointers(w);
        if (main->fails) {
                c_line(w,
                       "unsigned *const failed = (unsigned *)(void *)((unsigned char *)workspace + "
                       "%lld), calls = 0;",
                       (long long)cuda->status_at);
                c_line(w, "if (cudaMemsetAsync(failed, 255, sizeof *failed, (cudaStream_t)stream) "
                          "!= cudaSuccess)");
                c_return_error(w, "LAUNCH");
        }
        if (body->length)
                text_add_bytes(w->out, body->data, body->length);
        else
                c_line(w, "(void)stream;");
        c_state_end(w);
        c_line(w, "return 0;");
        c_function_close(w);
}

static void put_status(struct c_writer *w)
{
        const struct cuda_writer *cuda = w->cuda;
        c_function_open(w,
                        arena_printf(w->arena, "int %s_status(const void *workspace, void *stream)",
                                     w->options->prefix));
        if (cuda->fails) {
                c_line(w, "unsigned failed;");
                if (!w->options->unchecked) {
                        c_line(w, "if (!workspace)");
                        c_return_error(w, "NULL");
                }
                c_line(w,
                       "if (cudaMemcpyAsync(&failed, (const unsigned char *)workspace + %lld, "
                       "sizeof failed,",
                       (long long)cuda->status_at);
                c_line(w, "                    cudaMemcpyDeviceToHost, (cudaStream_t)stream) != "
                          "cudaSuccess)");
                c_return_error(w, "LAUNCH");
        } else {
                c_line(w, "(void)workspace;");
        }
        c_line(w, "if (cudaStreamSynchronize((cudaStream_t)stream) != cudaSuccess)");
        c_return_error(w, "LAUNCH");
        c_line(w, cuda->fails ? "return failed == 0xffffffffu ? 0 : -(int)(failed & 255u);"
                              : "return 0;");
        c_function_close(w);
}

/* ---- control flow of main, which the host executes ---- */

struct control { struct c_writer *w; const struct loop_stmt *around; char *list; int count; };

static void find_load(struct loop_expr *e, void *found)
{
        struct loop_buffer **read = found;
        if (e->op == LOOP_LOAD)
                *read = e->buffer;
}

static void find_call(struct loop_stmt *s, void *context)
{
        const struct loop_stmt **first = context;
        if (s->kind == STMT_CALL && !*first)
                *first = s;
}

/* Finds the nodes of the model whose result a buffer is. */
struct making { const struct loop_buffer *buffer; const char *location; };

static void find_maker(struct loop_stmt *s, void *context)
{
        struct making *m = context;
        for (int i = 0; s->kind == STMT_CALL && !m->location && i < s->function->buffer_count; i++)
                if (s->function->buffers[i]->access != ACCESS_IN &&
                    loop_buffer_root(s->buffers[i], NULL) == m->buffer)
                        m->location = loop_call_location(s);
}

static const char *made_by(const struct loop_program *p, struct loop_buffer *b)
{
        struct making m = { loop_buffer_root(b, NULL), NULL };
        loop_walk_mains(p, find_maker, NULL, &m);
        return m.location ? m.location : b->name;
}

static void check_control(struct loop_stmt *s, void *context)
{
        struct control *c = context;
        struct loop_expr *const exprs[] = { s->a, s->b, s->c };
        const struct loop_stmt *call = s->kind == STMT_CALL ? s : NULL;
        struct loop_buffer *read = NULL;
        for (int i = 0; i < 3; i++)
                if (exprs[i])
                        loop_expr_walk(exprs[i], find_load, &read);
        for (int i = 0; s->kind == STMT_CALL && i < s->function->scalar_count; i++)
                loop_expr_walk(s->scalars[i], find_load, &read);
        for (int i = 0; s->kind == STMT_CALL && s->offsets && i < s->function->buffer_count; i++)
                if (s->offsets[i])
                        loop_expr_walk(s->offsets[i], find_load, &read);
        if (!read)
                return;
        if (s->body)
                loop_block_walk(s->body, find_call, NULL, &call);
        const char *name = call ? loop_call_location(call) : NULL;
        c->list = arena_printf(c->w->arena, "%s%s%s", c->list, c->count++ ? ", " : "",
                               name ? name : made_by(c->w->p, read));
}

static bool check_main(struct c_writer *w)
{
        struct control c = { .w = w, .list = (char *)(uintptr_t)"" };
        loop_walk_mains(w->p, check_control, NULL, &c);
        if (c.count)
                c_fail(w, EXIT_UNSUPPORTED,
                       "target %s has no control flow by data that only the device knows: a "
                       "condition, a number of iterations or a "
                       "place is read around %s",
                       w->target->name, c.list);
        return !c.count;
}

/* ---- the functions together ---- */

void cuda_run(struct c_writer *w, struct text *out)
{
        if (!check_main(w))
                return;
        struct entry *entries =
                arena_array(w->arena, (size_t)w->p->entry_count, sizeof *entries);
        bool fails = false;
        for (int e = 0; e < w->p->entry_count; e++) {
                c_entry(w, e);
                entries[e] = entry_of(w);
                fails |= entries[e].fails;
        }
        w->cuda->fails = fails;
        c_weights_place(w);
        w->out = out;
        w->indent = 0;
        text_add(out, "%s", launch);
        if (!w->options->unchecked)
                text_add(out, check, c_macro(w, "ERROR_NULL"), c_macro(w, "ERROR_ALIGNMENT"),
                         c_macro(w, "ERROR_MEMORY"), c_macro(w, "ERROR_MEMORY"));
        put_prepare(w);
        put_load(w);
        for (int e = 0; e < w->p->entry_count; e++) {
                c_entry(w, e);
                if (w->p->entry_count > 1) {    /* What this entry uses has to be marked again. */
                        text_free(&entries[e].body);
                        entries[e] = entry_of(w);
                        w->out = out;
                        w->cuda->fails = fails;
                }
                put_run(w, &entries[e]);
                text_free(&entries[e].body);
        }
        c_entry(w, 0);
        put_status(w);
        cuda_profile(w);
}
