/* SPDX-License-Identifier: MIT */
/* A stream and what it reads as a program of one launch. */
#include <string.h>

#include "codegen/vta/encode.h"

static struct vta_segment *add_segment(struct launch_program *l, const char *name,
                                       enum vta_kind kind, int64_t bytes, const void *content)
{
        struct vta_segment *s = &l->p->segments[l->p->count++];
        *s = (struct vta_segment){
                .kind = kind, .address = l->end, .bytes = bytes, .content = content
        };
        strncpy(s->name, name, VTA_NAME - 1);
        if (kind != VTA_KIND_EXPECT)
                l->end = round_up(l->end + bytes, l->align);
        return s;
}

static void add_argument(struct launch_program *l, const struct loop_buffer *x,
                         const struct launch_argument *a, int64_t *address)
{
        int64_t bytes = x->extent * element_info[x->element].bytes;
        enum vta_kind kind = x->access == ACCESS_OUT ? VTA_KIND_OUTPUT : x->access == ACCESS_INOUT     ? VTA_KIND_SCRATCH
                             : a->constant && a->content ? VTA_KIND_CONSTANT
                                                         : VTA_KIND_INPUT;
        *address = l->end;
        if (!bytes)
                return;
        add_segment(l, x->name, kind, bytes, a->content);
        if (a->expect && x->access != ACCESS_IN)
                add_segment(l, x->name, VTA_KIND_EXPECT, bytes, a->expect)->address = *address;
}

bool launch_program_begin(struct launch_program *l, struct vta_program *p,
                          const struct loop_function *stream,
                          const struct launch_argument *arguments, int64_t align,
                          struct arena *arena, struct diag *diag)
{
        const int most = 2 * stream->buffer_count + 2;
        *l = (struct launch_program){ .p = p,
                                      .stream = stream,
                                      .end = VTA_PAGE,
                                      .align = align,
                                      .addresses =
                                              arena_array(arena, (size_t)stream->buffer_count + 1,
                                                          sizeof *l->addresses) };
        if (most > VTA_SEGMENTS_MOST) {
                diag_error(diag, EXIT_UNSUPPORTED, "stream %s has more buffers than a program has segments", stream->name);
                return false;
        }
        p->segments = arena_array(arena, (size_t)most, sizeof *p->segments);
        for (int k = 0; k < stream->buffer_count; k++)
                add_argument(l, stream->buffers[k], &arguments[k], &l->addresses[k]);
        return true;
}

void launch_program_add(struct launch_program *l, const char *name, enum vta_kind kind,
                        int64_t bytes, const void *content)
{
        add_segment(l, name, kind, bytes, content);
}

bool launch_program_end(struct launch_program *l, struct arena *arena, struct diag *diag)
{
        l->p->dram_bytes = round_up(l->end, VTA_PAGE);
        if (l->p->dram_bytes > VTA_DRAM_MOST) {
                diag_error(diag, EXIT_BUDGET,
                           "stream %s reaches %lld bytes of memory, and the machine %lld",
                           l->stream->name, (long long)l->p->dram_bytes, (long long)VTA_DRAM_MOST);
                return false;
        }
        return vta_program_begin(l->p, arena, diag);
}

/* ---- of a VTA ---- */

bool vta_stream_program(struct vta_program *p, const struct vta *v,
                        const struct loop_function *stream, const struct launch_argument *arguments,
                        struct arena *arena, struct vta_code *code, struct diag *diag)
{
        struct launch_program l;
        int64_t align = VTA_ALIGN;
        for (int k = 0; k < VTA_MEMORIES; k++)
                align = v->bytes[k] > align ? v->bytes[k] : align;
        *p = (struct vta_program){ .codec = &vta_codec, .vta = *v };
        if (!launch_program_begin(&l, p, stream, arguments, align, arena, diag) ||
            !vta_encode_stream(v, stream, l.addresses, l.end, arena, code, diag))
                return false;
        if (code->micro_op_count)
                launch_program_add(&l, "micro_ops", VTA_KIND_MICRO_OPS,
                                   code->micro_op_count * VTA_MICRO_OP_BYTES, code->micro_ops);
        launch_program_add(&l, "code", VTA_KIND_CODE, code->count * VTA_BYTES, code->instructions);
        return launch_program_end(&l, arena, diag);
}

bool vta_launch_write(const struct loop_function *stream, const struct launch_argument *arguments, bool as_text, struct text *out,
                      struct diag *diag)
{
        struct arena *arena = arena_new();
        struct vta v;
        struct vta_program p;
        struct vta_code code;
        const char *why = vta_begin(&v, stream->machine);
        if (why)
                diag_error(diag, EXIT_UNSUPPORTED, "machine %s: %s", stream->machine->name, why);
        bool fine = !why && vta_stream_program(&p, &v, stream, arguments, arena, &code, diag);
        if (fine)
                (as_text ? vta_assembly_print : vta_exchange_write)(&p, out);
        arena_free(arena);
        return fine;
}
