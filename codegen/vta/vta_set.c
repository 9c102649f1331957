/* SPDX-License-Identifier: MIT */
/* The code that all machines share handles VTA's instructions by these tables. */
#include "codegen/vta/vta.h"

#define ISA_RULES "codegen/vta/vta_rules.def"
#include "codegen/machines/isa_tables.h"

enum { ARRAY, OPERATIONS, LOADS, BUS, STORES, NOTHING = -1 };
static const struct isa_class classes[VTA_CLASSES] = {
#define CLASS(id, name, busy) { name, busy },
#include "codegen/vta/vta_isa.def"
};

static int64_t bytes_of(const struct isa *isa, const struct instruction *i)
{
        return isa->bytes[vta_instruction(i)->memory];
}

const struct instruction_set vta_set = {
        .machine = &machine_vta,
        .magic = "VTAPROG1",
        .bytes = VTA_BYTES,
        ISA_TABLES,
        .last = VTA_OPCODE_FINISH,
        .classes = classes, .class_count = VTA_CLASSES, .products = VTA_CLASS_PRODUCT,
        .busy = { [ARRAY] = "array", [OPERATIONS] = "operations", [LOADS] = "loads of compute",
                  [BUS] = "read bus", [STORES] = "stores" },
        .bus = BUS,
        .stage_word = "stage",
        .queues = { "load to compute", "compute to store", "compute to load", "store to compute" },
        .list_form = VTA_FORM_MICRO_OP, .list_bytes = VTA_MICRO_OP_BYTES,
        .list_size = sizeof(struct vta_micro_op),
        .order = vta_order, .breaks = vta_breaks, .check = vta_check, .cost = vta_cost,
        .work = vta_work,
        .bytes_of = bytes_of, .fits = vta_fits, .resize = vta_resize, .sizes = vta_sizes,
        .configuration = vta_configuration,
};
