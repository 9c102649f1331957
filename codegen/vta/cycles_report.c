/* SPDX-License-Identifier: MIT */
/* What a program takes, as a table. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "codegen/vta/cycles.h"
#include "codegen/vta/program.h"

static void add_each(const struct vta_program *p, const struct vta_times *times, struct text *out)
{
        text_add(out, "%8s  %-8s %12s %12s  %s\n", "number", "stage", "start", "end", "instruction");
        for (int64_t k = 0; k < vta_program_length(p); k++) {
                struct vta_instruction i;
                vta_decode(&p->vta, vta_program_instruction(p, k), &i);
                text_add(out, "%8" PRId64 "  %-8s %12" PRId64 " %12" PRId64 "  ", k, vta_stage_names[vta_stage_of(&i)], times[k].start,
                         times[k].end);
                vta_assembly_instruction(&p->vta, p, vta_program_instruction(p, k), out);
                text_add(out, "\n");
        }
        text_add(out, "\n");
}

static void add_share(struct text *out, int64_t part, int64_t whole)
{
        text_add(out, " %7.1f %%", whole ? 100.0 * (double)part / (double)whole : 0.0);
}

static void add_classes(const struct vta_cycles *c, struct text *out)
{
        text_add(out, "%-10s %12s %12s %12s %12s %9s\n", "", "instructions", "steps", "bytes", "cycles", "of all");
        for (int k = 0; k < VTA_CLASS_COUNT; k++) {
                if (!c->count[k])
                        continue;
                text_add(out, "%-10s %12" PRId64 " %12" PRId64 " %12" PRId64 " %12" PRId64, vta_class_names[k], c->count[k], c->steps[k],
                         c->bytes[k], c->busy[k]);
                add_share(out, c->busy[k], c->cycles);
                text_add(out, "\n");
        }
        text_add(out, "%-10s %12s %12s %12s %12" PRId64, "read bus", "", "", "", c->channel);
        add_share(out, c->channel, c->cycles);
        text_add(out, "\n");
}

bool vta_report(const struct vta_program *p, bool each, struct text *out, struct diag *diag)
{
        struct vta_cycles c;
        int64_t length = vta_program_length(p), total[2] = { 0, 0 };
        struct vta_times *times = each ? memory_alloc((size_t)length * sizeof *times) : NULL;
        bool fine = vta_cycles(&p->vta, p->code->content, length, &c, times, diag);
        if (fine && each)
                add_each(p, times, out);
        free(times);
        if (!fine)
                return false;
        for (int k = 0; k < VTA_CLASS_COUNT; k++)
                total[k == VTA_CLASS_STORE] += c.bytes[k];
        text_add(out, "cycles        %12" PRId64 "\nutilization   %10.1f %%\nbound by      %12s\n", c.cycles, 100 * vta_utilization(&c), vta_bound(&c));
        text_add(out, "instructions  %12" PRId64 "\nmicro-ops     %12" PRId64 "\nbytes read    %12" PRId64 "\nbytes written %12" PRId64 "\n\n",
                 length, c.most_micro_ops, total[0], total[1]);
        add_classes(&c, out);
        return true;
}
