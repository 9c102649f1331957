/* SPDX-License-Identifier: MIT */
/* VTA's tables: what all machines' code needs to know of its instructions. */
#include <inttypes.h>

#include "codegen/machines/meter.h"
#include "codegen/vta/vta.h"

#define ISA_RULES "codegen/vta/vta_rules.def"
#include "codegen/machines/isa_tables.h"

enum { ARRAY, OPERATIONS, LOADS, BUS, STORES, NOTHING = -1 };
static const struct isa_class classes[VTA_CLASSES] = {
#define CLASS(id, name, busy) { name, busy },
#include "codegen/vta/vta_isa.def"
};

static int64_t bytes_of(const struct isa *isa, const struct instruction *i) { return isa->bytes[vta_instruction(i)->memory]; }

/* ---- the meter's report ---- */

static void report(const struct isa *isa, const struct meter *m, int64_t length, struct text *out)
{
        int64_t total[2] = { 0, 0 };
        (void)isa;
        for (int k = 0; k < VTA_CLASSES; k++)
                total[k == VTA_CLASS_STORE] += m->classes[k].bytes;
        text_add(out, "instructions  %12" PRId64 "\nmicro-ops     %12" PRId64 "\nbytes read    %12" PRId64 "\nbytes written %12" PRId64 "\n\n",
                 length, m->places, total[0], total[1]);
        text_add(out, "%-10s %12s %12s %12s %12s %9s\n", "", "instructions", "steps", "bytes", "cycles", "of all");
        for (int k = 0; k < VTA_CLASSES; k++) {
                const struct meter_class *c = &m->classes[k];
                if (c->count)
                        text_add(out, "%-10s %12" PRId64 " %12" PRId64 " %12" PRId64 " %12" PRId64 " %7.1f %%\n", classes[k].name, c->count,
                                 c->steps, c->bytes, c->busy, meter_share(c->busy, m->cycles));
        }
        text_add(out, "%-10s %12s %12s %12s %12" PRId64 " %7.1f %%\n", "read bus", "", "", "", m->bus, meter_share(m->bus, m->cycles));
}

const struct instruction_set vta_set = {
        .machine = &machine_vta,
        .magic = "VTAPROG1",
        .bytes = VTA_BYTES,
        ISA_TABLES,
        .last = VTA_OPCODE_FINISH,
        .classes = classes, .class_count = VTA_CLASSES, .products = VTA_CLASS_PRODUCT,
        .busy = { [ARRAY] = "array", [OPERATIONS] = "operations", [LOADS] = "loads of compute", [BUS] = "read bus", [STORES] = "stores" },
        .bus = BUS,
        .stage_word = "stage",
        .queues = { "load to compute", "compute to store", "compute to load", "store to compute" },
        .list_form = VTA_FORM_MICRO_OP, .list_bytes = VTA_MICRO_OP_BYTES, .list_size = sizeof(struct vta_micro_op),
        .order = vta_order, .breaks = vta_breaks, .check = vta_check, .cost = vta_cost, .work = vta_work, .report = report,
        .bytes_of = bytes_of, .fits = vta_fits, .resize = vta_resize, .sizes = vta_sizes, .configuration = vta_configuration,
};
