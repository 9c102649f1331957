/* SPDX-License-Identifier: MIT */
/* Prints C that drives a machine: main calls a stream as it calls a kernel, and the function that
 * is called gives instructions to the machine.
 *
 *     workspace   the caller's, as always: the machine reads and writes values there
 *     program     the caller's, too, filled by PREFIX_prepare once memory is known:
 *
 *         struct prepared      which program it is, and where it lies
 *         constant             each that streams read, in the machine's layout, at a multiple of
 *                              the largest element
 *         ..
 *         lists of places      of each launch
 *         instructions         of each launch, with the addresses that memory has
 *
 * Instructions are compiled for a workspace at address 0 and the program after it, so that two
 * numbers relocate them to wherever both lie. A buffer that is not in the workspace at a place that
 * the machine can address (inputs, outputs, and what loops of main choose) is copied to a place of
 * its own after it, and back. There are no globals and nothing is allocated. c_machine_text.c
 * prints it. */
#include "codegen/c_machine.h"

#include <string.h>

#include "base/sha256.h"

/* ---- places ---- */

static int64_t *program_take(struct c_machine *m, int64_t *place, int64_t bytes)
{
        *place = m->program_size;
        m->program_size = round_up(m->program_size + bytes, m->align);
        return place;
}

static int64_t place_of_constant(struct c_writer *w, struct loop_buffer *root)
{
        struct c_machine *m = w->machine;
        for (int k = 0; k < m->constant_count; k++)
                if (m->constants[k].buffer == root)
                        return m->constants[k].at;
        ARENA_GROW(w->arena, m->constants, m->constant_count);
        struct c_machine_constant *c = &m->constants[m->constant_count++];
        c->buffer = root;
        return *program_take(m, &c->at, loop_buffer_bytes(root));
}

static void stage(struct c_writer *w, struct c_argument *a, int64_t bytes)
{
        a->is_staged = true;
        a->at = w->workspace_size;
        w->workspace_size = round_up(w->workspace_size + bytes, w->machine->align);
}

/* Finds where the machine sees an argument: relative to the start of the workspace, or of the
 * program. */
static void place_argument(struct c_writer *w, struct c_launch *l, int k)
{
        struct loop_stmt *call = l->call;
        const struct loop_buffer *parameter = call->function->buffers[k];
        const int64_t align = machine_align(call->function, parameter);
        struct c_argument *a = &l->arguments[k];
        int64_t offset = 0, moved = 0;
        struct loop_buffer *root = loop_buffer_root(call->buffers[k], &offset);
        const bool known =
                !call->offsets || !call->offsets[k] || loop_is_int(call->offsets[k], &moved);
        offset = offset * element_info[root->element].bytes +
                 moved * element_info[call->buffers[k]->element].bytes;
        a->bytes = loop_buffer_bytes(parameter);
        if (root->space == SPACE_CONSTANT && known && offset % align == 0) {
                a->at = place_of_constant(w, root) + offset;
                a->in_program = true;
        } else if (root->space == SPACE_WORKSPACE && !root->region && known && root->offset >= 0 &&
                   (root->offset + offset) % align == 0) {
                a->at = root->offset + offset;
        } else {
                stage(w, a, a->bytes);
        }
}

static void find_launch(struct loop_stmt *s, void *context)
{
        struct c_writer *w = context;
        struct c_machine *m = w->machine;
        if (s->kind != STMT_CALL || s->function->kind != FUNCTION_STREAM)
                return;
        ARENA_GROW(w->arena, m->launches, m->launch_count);
        struct c_launch *l = &m->launches[m->launch_count++];
        *l = (struct c_launch){ .call = s };
        l->arguments =
                arena_array(w->arena, (size_t)s->function->buffer_count + 1, sizeof *l->arguments);
        for (int k = 0; k < s->function->buffer_count; k++)
                place_argument(w, l, k);
}

static struct c_launch *c_machine_launch(struct c_writer *w, const struct loop_stmt *call)
{
        for (int k = 0; k < w->machine->launch_count; k++)
                if (w->machine->launches[k].call == call)
                        return &w->machine->launches[k];
        return NULL;
}

/* ---- instructions ---- */

static bool encode(struct c_writer *w, struct c_launch *l, struct sha256 *sha)
{
        struct c_machine *m = w->machine;
        const struct loop_function *f = l->call->function;
        int64_t *addresses = arena_array(w->arena, (size_t)f->buffer_count + 1, sizeof *addresses);
        for (int k = 0; k < f->buffer_count; k++)
                addresses[k] =
                        l->arguments[k].at + (l->arguments[k].in_program ? w->workspace_size : 0);
        if (!machine_encode(f, addresses, w->workspace_size + m->program_size, w->arena, &l->code,
                            w->diag)) {
                w->failed = true;
                return false;
        }
        const int64_t bytes = l->code.count * m->isa.set->bytes;
        program_take(m, &l->lists_at, l->code.list_count * 4);
        program_take(m, &l->instructions_at, bytes);
        sha256_update(sha, l->code.instructions, (size_t)bytes);
        sha256_update(sha, l->code.lists, (size_t)l->code.list_count * 4);
        return true;
}

static bool check(struct c_writer *w)
{
        const char *name = w->options->target->name;
        if (!machine_driver(w->machine->machine))
                c_fail(w, EXIT_UNSUPPORTED,
                       "there is no C for machine %s: --emit=program writes what it runs, --exact "
                       "keeps all in C",
                       w->machine->machine->name);
        else if (w->level_count > 1)
                c_fail(w, EXIT_USAGE,
                       "target %s hands work to a machine: it stands in no list of targets", name);
        else if (w->p->region_count)
                c_fail(w, EXIT_USAGE,
                       "target %s does not take --region: the machine has to reach all memory",
                       name);
        return !w->failed;
}

static const struct machine *machine_of(const struct c_writer *w)
{
        for (int i = 0; i < w->level_count; i++)
                for (const struct loop_function *k = w->levels[i].p->kernels; k; k = k->next)
                        if (k->kind == FUNCTION_STREAM)
                                return k->machine;
        return NULL;
}

bool c_machine_begin(struct c_writer *w)
{
        const struct machine *machine = machine_of(w);
        struct sha256 sha;
        if (!machine)
                return true;
        struct c_machine *m = w->machine = ARENA_NEW(w->arena, struct c_machine);
        *m = (struct c_machine){ .machine = machine };
        if (!check(w))
                return false;
        /* Where the machine does not fit, the first launch reports that. */
        isa_begin(&m->isa, machine_instructions(machine), machine);
        m->name = m->isa.set->machine->name;
        m->align = machine_align_most(machine);
        m->program_size = round_up(C_PREPARED_BYTES, m->align);
        w->workspace_align = w->workspace_align > m->align ? w->workspace_align : m->align;
        w->workspace_size = round_up(w->workspace_size ? w->workspace_size : 1, m->align);
        loop_walk_mains(w->p, find_launch, NULL, w);
        sha256_init(&sha);
        sha256_update(&sha, w->p->source, strlen(w->p->source));
        for (int k = 0; k < m->launch_count && encode(w, &m->launches[k], &sha); k++)
                ;
        sha256_hex(&sha, m->digest);
        m->digest[16] = 0;
        const int64_t most = PROGRAM_MEMORY_MOST - PROGRAM_PAGE - 2 * m->align;
        if (!w->failed && (m->program_size > most || w->workspace_size > most - m->program_size))
                c_fail(w, EXIT_BUDGET,
                       "workspace and program take %lld bytes, more than machine %s can address: "
                       "%lld",
                       (long long)(w->workspace_size + m->program_size), machine->name,
                       (long long)PROGRAM_MEMORY_MOST);
        w->copies_memory = true;
        return !w->failed;
}

/* ---- names ---- */

void c_machine_reserve(struct c_writer *w)
{
        static const char *const words[] = { "prepared",         "place",        "put_words",
                                             "put_instructions", "is_reachable", "launch",
                                             "program",          "device" };
        static const char *const functions[] = { "address", "flush", "invalidate", "launch",
                                                 "wait" };
        static const char *const macros[] = { "PROGRAM_SIZE", "PROGRAM_ALIGN", "PROGRAM_DEFINE" };
        if (!w->machine)
                return;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                c_reserve(w, words[i]);
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
                c_reserve(w, arena_printf(w->arena, "dnncc_%s_%s", w->machine->name, functions[i]));
        for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
                c_reserve(w, c_macro(w, macros[i]));
        c_reserve(w, arena_printf(w->arena, "%s_prepare", w->options->prefix));
}

void c_machine_names(struct c_writer *w)
{
        for (int k = 0; w->machine && k < w->machine->launch_count; k++) {
                struct c_launch *l = &w->machine->launches[k];
                const char *name = l->call->function->name;
                l->name = c_global(w, name);
                l->code_name = c_global(w, arena_printf(w->arena, "%.18s_code", name));
                l->lists_name = c_global(w, arena_printf(w->arena, "%.18s_lists", name));
        }
}

void c_machine_locals(struct c_writer *w)
{
        static const char *const words[] = { "program", "device", "prepared" };
        for (size_t i = 0; w->machine && i < sizeof words / sizeof *words; i++)
                names_reserve(w->locals, words[i]);
}

/* ---- calls ---- */

static void put_copy(struct c_writer *w, const struct c_launch *l, int k, bool back)
{
        const struct loop_stmt *s = l->call;
        const struct c_argument *a = &l->arguments[k];
        const char *there = a->at ? arena_printf(w->arena, "(unsigned char *)workspace + %lld",
                                                 (long long)a->at)
                                  : "workspace";
        c_put(w, "memcpy(");
        if (!back)
                c_put(w, "%s," C_SOFT, there);
        c_put(w, "%s", c_use(w, s->buffers[k]));
        if (s->offsets && s->offsets[k]) {
                c_put(w, " +" C_SOFT);
                c_operand(w, s->offsets[k], C_SUM);
        }
        if (back)
                c_put(w, "," C_SOFT "%s", there);
        c_put(w, "," C_SOFT "%lld);", (long long)a->bytes);
        c_end(w);
}

void c_machine_call(struct c_writer *w, const struct loop_stmt *s)
{
        const struct c_launch *l = c_machine_launch(w, s);
        const struct loop_function *f = s->function;
        if (!l) {
                c_fail(w, EXIT_INTERNAL, "a stream is called that main does not call");
                return;
        }
        /* What a stream does not write of a result must stay as it was. */
        for (int k = 0; k < f->buffer_count; k++)
                if (l->arguments[k].is_staged && l->arguments[k].bytes)
                        put_copy(w, l, k, false);
        c_line(w, "status = %s(device, prepared.at, workspace);", l->name);
        c_line(w, "if (status) {");
        w->indent++;
        c_line(w, "memset(program, 0, sizeof prepared);         /* The machine may still be at "
                  "work: prepare has to be called again. */");
        c_line(w, "return status;");
        w->indent--;
        c_line(w, "}");
        for (int k = 0; k < f->buffer_count; k++)
                if (l->arguments[k].is_staged && l->arguments[k].bytes &&
                    f->buffers[k]->access != ACCESS_IN)
                        put_copy(w, l, k, true);
        w->uses_status = true;
}
