/* SPDX-License-Identifier: MIT */
/* Makes a stream, and what it reads, a program of one launch. */
#include <string.h>

#include "base/size.h"
#include "codegen/machines/machine_program.h"
#include "codegen/machines/machines.h"
#include "codegen/machines/meter.h"
#include "ir/loop/stream.h"

struct launch_program {
        struct machine_program *p;
        const struct loop_function *stream;
        int64_t end, align;             /* This many bytes of memory are taken, and segments begin
                                         * at multiples of `align`. */
        int64_t *addresses;             /* The stream's parameters have these addresses, one after
                                         * the other from PROGRAM_PAGE on. */
};

static struct segment *add_segment(struct launch_program *l, const char *name,
                                       enum segment_kind kind, int64_t bytes, const void *content)
{
        struct segment *s = &l->p->segments[l->p->count++];
        *s = (struct segment){
                .kind = kind, .address = l->end, .bytes = bytes, .content = content
        };
        strncpy(s->name, name, SEGMENT_NAME - 1);
        if (kind != SEGMENT_EXPECT)
                l->end = round_up(l->end + bytes, l->align);
        return s;
}

static void add_argument(struct launch_program *l, const struct loop_buffer *x,
                         const struct launch_argument *a, int64_t *address)
{
        int64_t bytes = x->extent * element_info[x->element].bytes;
        enum segment_kind kind = x->access == ACCESS_OUT     ? SEGMENT_OUTPUT
                                 : x->access == ACCESS_INOUT ? SEGMENT_SCRATCH
                                 : a->constant && a->content ? SEGMENT_CONSTANT
                                                             : SEGMENT_INPUT;
        *address = l->end;
        if (!bytes)
                return;
        add_segment(l, x->name, kind, bytes, a->content);
        if (a->expect && x->access != ACCESS_IN)
                add_segment(l, x->name, SEGMENT_EXPECT, bytes, a->expect)->address = *address;
}

static bool launch_program_begin(struct launch_program *l, struct machine_program *p,
                          const struct loop_function *stream,
                          const struct launch_argument *arguments, int64_t align,
                          struct arena *arena, struct diag *diag)
{
        const int most = 2 * stream->buffer_count + 2;
        *l = (struct launch_program){ .p = p,
                                      .stream = stream,
                                      .end = PROGRAM_PAGE,
                                      .align = align,
                                      .addresses =
                                              arena_array(arena, (size_t)stream->buffer_count + 1,
                                                          sizeof *l->addresses) };
        if (most > SEGMENTS_MOST) {
                diag_error(diag, EXIT_UNSUPPORTED,
                           "stream %s has more buffers than a program has segments", stream->name);
                return false;
        }
        p->segments = arena_array(arena, (size_t)most, sizeof *p->segments);
        for (int k = 0; k < stream->buffer_count; k++)
                add_argument(l, stream->buffers[k], &arguments[k], &l->addresses[k]);
        return true;
}

static bool launch_program_end(struct launch_program *l, struct arena *arena, struct diag *diag)
{
        l->p->dram_bytes = round_up(l->end, PROGRAM_PAGE);
        if (l->p->dram_bytes > PROGRAM_MEMORY_MOST) {
                diag_error(diag, EXIT_BUDGET,
                           "stream %s reaches %lld bytes of memory, and the machine %lld",
                           l->stream->name, (long long)l->p->dram_bytes,
                           (long long)PROGRAM_MEMORY_MOST);
                return false;
        }
        return program_begin(l->p, arena, diag);
}

/* ---- for any machine ---- */

static bool begin(struct isa *isa, const struct machine *m, struct diag *diag)
{
        const char *why = isa_begin(isa, machine_instructions(m), m);
        if (why)
                diag_error(diag, EXIT_UNSUPPORTED, "machine %s: %s", m->name, why);
        return !why;
}

bool machine_encode(const struct loop_function *stream, const int64_t *addresses, int64_t lists,
                    struct arena *arena, struct machine_code *code, struct diag *diag)
{
        const struct machine_driver *driver = machine_driver(stream->machine);
        struct isa isa;
        struct meter m;
        if (!begin(&isa, stream->machine, diag) ||
            !driver->encode(&isa, stream, addresses, lists, arena, code, diag) ||
            !meter_run(&isa, code->instructions, code->count, &m, NULL, diag))
                return false;
        code->cycles = m.cycles;
        return true;
}

bool machine_launch_program(struct machine_program *p, const struct loop_function *stream,
                            const struct launch_argument *arguments, struct arena *arena,
                            struct machine_code *code, struct diag *diag)
{
        const struct machine_driver *driver = machine_driver(stream->machine);
        struct launch_program l;
        *p = (struct machine_program){ .count = 0 };
        if (!begin(&p->isa, stream->machine, diag) ||
            !launch_program_begin(&l, p, stream, arguments, machine_align_most(stream->machine),
                                  arena, diag) ||
            !driver->encode(&p->isa, stream, l.addresses, l.end, arena, code, diag))
                return false;
        if (code->list_count)
                add_segment(&l, "micro_ops", SEGMENT_MICRO_OPS,
                            code->list_count * p->isa.set->list_bytes, code->lists);
        add_segment(&l, "code", SEGMENT_CODE, code->count * p->isa.set->bytes, code->instructions);
        return launch_program_end(&l, arena, diag);
}

bool machine_launch_write(const struct loop_function *stream,
                          const struct launch_argument *arguments, bool as_text, struct text *out,
                          struct diag *diag)
{
        struct arena *arena = arena_new();
        struct machine_program p;
        struct machine_code code;
        bool fine = machine_launch_program(&p, stream, arguments, arena, &code, diag);
        if (fine)
                (as_text ? assembly_print : exchange_write)(&p, out);
        arena_free(arena);
        return fine;
}

/* ---- C that drives a machine ---- */

/* Returns the bytes of the largest element that transfers move between the parameter and a
 * memory. */
int64_t machine_align(const struct loop_function *stream, const struct loop_buffer *parameter)
{
        const struct machine *m = stream->machine;
        int64_t align = machine_driver(m)->align;
        for (const struct loop_stmt *s = align ? NULL : stream->body->first; s; s = s->next) {
                if (s->kind != STMT_TRANSFER || (s->buffer != parameter && s->source != parameter))
                        continue;
                const int memory = loop_transfer_loads(s) ? s->buffer->memory : m->stored;
                const int64_t bytes = machine_element_bytes(&m->memories[memory]);
                align = bytes > align ? bytes : align;
        }
        return align ? align : 1;
}

int64_t machine_align_most(const struct machine *m)
{
        int64_t align = PROGRAM_ALIGN;
        for (int k = 0; k < MACHINE_MEMORIES && !machine_driver(m)->align; k++) {
                const int64_t bytes = machine_element_bytes(&m->memories[k]);
                align = bytes > align ? bytes : align;
        }
        return align;
}
