/* SPDX-License-Identifier: MIT */
#include "codegen/vta/stream.h"

#include <inttypes.h>

#include "codegen/vta/check.h"

static void find(struct vta_stream *s, int stage, int64_t from)
{
        struct vta_next *next = &s->next[stage];
        for (next->number = from; next->number < s->count; next->number++)
                if (!vta_decode(s->v, s->bytes + next->number * VTA_BYTES, &next->instruction) &&
                    (int)vta_stage_of(&next->instruction) == stage)
                        return;
        next->number = -1;
}

/* why it runs nowhere, whatever memory and micro-ops hold; NULL: it may */
static const char *wrong(const struct vta *v, const unsigned char *bytes)
{
        struct vta_instruction i;
        const char *why = vta_decode(v, bytes, &i);
        if (why)
                return why;
        for (int f = 0; f < VTA_FLAGS; f++)
                if (vta_queue(&i, f) == -1)
                        return vta_rules[VTA_RULE_flags].text;
        if (vta_form_of(i.opcode) != VTA_FORM_MOVE)
                return NULL;
        enum vta_rule unsafe = vta_unsafe_move(v, &i, INT64_MAX);
        return unsafe == VTA_RULE_sram || unsafe == VTA_RULE_memory ? vta_rules[unsafe].text : NULL;
}

bool vta_stream_begin(struct vta_stream *s, const struct vta *v, const unsigned char *bytes, int64_t count, struct diag *diag)
{
        *s = (struct vta_stream){ v, bytes, count, { { .number = 0 } } };
        for (int64_t k = 0; k < count; k++) {
                const char *why = wrong(v, bytes + k * VTA_BYTES);
                if (why) {
                        diag_error(diag, EXIT_INVALID, "instruction %" PRId64 " cannot run: %s", k, why);
                        return false;
                }
        }
        for (int stage = 0; stage < VTA_STAGES; stage++)
                find(s, stage, 0);
        return true;
}

void vta_stream_advance(struct vta_stream *s, int stage) { find(s, stage, s->next[stage].number + 1); }
