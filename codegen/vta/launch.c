/* SPDX-License-Identifier: MIT */
/* A stream and what it reads as a program of one launch. */
#include <string.h>

#include "codegen/vta/encode.h"

struct building {
        struct vta_program *p;
        int64_t end, align;             /* of memory that is taken; of the largest element, too */
};

static struct vta_segment *add_segment(struct building *b, const char *name, enum vta_kind kind, int64_t bytes, const void *content)
{
        struct vta_segment *s = &b->p->segments[b->p->count++];
        *s = (struct vta_segment){ .kind = kind, .address = b->end, .bytes = bytes, .content = content };
        strncpy(s->name, name, VTA_NAME - 1);
        if (kind != VTA_KIND_EXPECT)
                b->end = round_up(b->end + bytes, b->align);
        return s;
}

static void add_argument(struct building *b, const struct loop_buffer *x, const struct launch_argument *a, int64_t *address)
{
        int64_t bytes = x->extent * element_info[x->element].bytes;
        enum vta_kind kind = x->access == ACCESS_OUT ? VTA_KIND_OUTPUT : x->access == ACCESS_INOUT     ? VTA_KIND_SCRATCH
                             : a->constant && a->content ? VTA_KIND_CONSTANT
                                                         : VTA_KIND_INPUT;
        *address = b->end;
        if (!bytes)
                return;
        add_segment(b, x->name, kind, bytes, a->content);
        if (a->expect && x->access != ACCESS_IN)
                add_segment(b, x->name, VTA_KIND_EXPECT, bytes, a->expect)->address = *address;
}

bool vta_stream_program(struct vta_program *p, const struct vta *v, const struct loop_function *stream, const struct launch_argument *arguments,
                        struct arena *arena, struct vta_code *code, struct diag *diag)
{
        struct building b = { p, VTA_PAGE, VTA_ALIGN };
        for (int k = 0; k < VTA_MEMORIES; k++)
                b.align = v->bytes[k] > b.align ? v->bytes[k] : b.align;
        int64_t *addresses = arena_array(arena, (size_t)stream->buffer_count + 1, sizeof *addresses);
        *p = (struct vta_program){ .vta = *v, .segments = arena_array(arena, 2 * (size_t)stream->buffer_count + 2, sizeof *p->segments) };
        if (2 * stream->buffer_count + 2 > VTA_SEGMENTS_MOST) {
                diag_error(diag, EXIT_UNSUPPORTED, "stream %s has more buffers than a program has segments", stream->name);
                return false;
        }
        for (int k = 0; k < stream->buffer_count; k++)
                add_argument(&b, stream->buffers[k], &arguments[k], &addresses[k]);
        if (!vta_encode_stream(v, stream, addresses, b.end, arena, code, diag))
                return false;
        if (code->micro_op_count)
                add_segment(&b, "micro_ops", VTA_KIND_MICRO_OPS, code->micro_op_count * VTA_MICRO_OP_BYTES, code->micro_ops);
        add_segment(&b, "code", VTA_KIND_CODE, code->count * VTA_BYTES, code->instructions);
        p->dram_bytes = round_up(b.end, VTA_PAGE);
        if (p->dram_bytes > VTA_DRAM_MOST) {
                diag_error(diag, EXIT_BUDGET, "stream %s reaches %lld bytes of memory, and the machine %lld", stream->name,
                           (long long)p->dram_bytes, (long long)VTA_DRAM_MOST);
                return false;
        }
        return vta_program_begin(p, arena, diag);
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
