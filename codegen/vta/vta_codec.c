/* SPDX-License-Identifier: MIT */
/* What a VTA's programs are (codegen/vta/program.h), and what runs, checks and times them. */
#include <inttypes.h>

#include "codegen/vta/check.h"
#include "codegen/vta/cycles.h"
#include "codegen/vta/program.h"
#include "codegen/vta/simulate.h"

static void configuration(const struct vta_program *p, unsigned char bytes[VTA_CONFIGURATION])
{
        vta_configuration(&p->vta, bytes);
}
static void sizes(const struct vta_program *p, char text[VTA_SIZES_TEXT])
{
        vta_sizes(&p->vta, text);
}

static void print(const struct vta_program *p, const unsigned char *bytes, struct text *out)
{
        vta_assembly_instruction(&p->vta, p, bytes, out);
}

/* finish is the last, and no other is; it has no flags */
static bool check_code(const struct vta_program *p, struct diag *diag)
{
        const struct code_field *opcode = &p->vta.fields[VTA_FIELD_opcode];
        const int64_t length = vta_program_length(p);
        for (int64_t k = 0; k < length; k++) {
                const unsigned char *bytes = vta_program_instruction(p, k);
                bool last = k == length - 1,
                     finish = (bytes[0] & ((1 << opcode->width) - 1)) == VTA_OPCODE_FINISH;
                struct vta_instruction i;
                if (finish != last) {
                        diag_error(diag, EXIT_INVALID, "instruction %" PRId64 ": %s", k,
                                   last ? "the last one is not finish"
                                        : "finish stands before the last instruction");
                        return false;
                }
                if (last && (vta_decode(&p->vta, bytes, &i) || i.pop_prev || i.pop_next ||
                             i.push_prev || i.push_next)) {
                        diag_error(diag, EXIT_INVALID,
                                   "instruction %" PRId64
                                   ": finish has flags, or bits that are no field's",
                                   k);
                        return false;
                }
        }
        return true;
}

static bool run(const struct vta_program *p, unsigned char *memory, uint64_t seed,
                unsigned char poison, int64_t work, struct diag *diag)
{
        struct vta_simulator *machine = vta_simulator_new(&p->vta, seed, poison);
        bool fine = vta_launch(machine, memory, p->dram_bytes, p->code->address,
                               vta_program_length(p), work, diag);
        vta_simulator_free(machine);
        return fine;
}

const struct program_codec vta_codec = {
        .machine = &machine_vta,
        .magic = "VTAPROG1",
        .bytes = VTA_BYTES,
        .configuration = configuration,
        .sizes = sizes,
        .check_code = check_code,
        .print = print,
        .assemble = vta_assemble,
        .run = run,
        .check = vta_check,
        .report = vta_report,
};
