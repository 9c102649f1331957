/* SPDX-License-Identifier: MIT */
/* These tables are made from a machine's rows, for its struct instruction_set (ISA_TABLES). Only
 * the file that defines the set includes this, after the machine's header and the definition of
 * ISA_RULES, the file of its rules. */
static const char *const isa_stages[] = {
#define STAGE(id, name) name,
#include ISA_ROWS
};
static const char *const isa_memories[] = {
#define MEMORY(id, name, stage) name,
#include ISA_ROWS
};
static const char *const isa_names[] = {
#define OPCODE(id, name, form, stage, run) name,
#include ISA_ROWS
};
static const char *const isa_operations[] = {
#define OPERATION(id, name) name,
#include ISA_ROWS
        NULL
};
static const int isa_forms[] = {
#define FORM(id, after) ISA(FORM_##after),
#include ISA_ROWS
};
static const struct isa_opcode isa_opcodes[] = {
#define OPCODE(id, name, form, stage, run) { name, ISA(FORM_##form), ISA(STAGE_##stage), run },
#include ISA_ROWS
};
static const struct code_field isa_fields[] = {
#define INDEX(M) 0, .counts = ISA(M) + 1
#define COUNT(M) 0, .counts = ISA(M) + 1, .more = 1
#define NUMBER .where = 0
#define SIZE .size = true
#define ADDRESS .address = true
#define NAMES(list, count) .names = isa_##list, .name_count = ISA(count)
#define WHERE(id) .where = ISA(FIELD_##id) + 1
#define FIELD(form, id, word, width, sign, says) { #id, word, ISA(FORM_##form), sign, width, says },
#include ISA_ROWS
};
static const struct isa_rule isa_rules[] = {
#define RULE(id, must, text) { #id, must, text },
#include ISA_RULES
};
#define ISA_TABLES                                                                                \
        .fields = isa_fields, .field_count = ISA(FIELDS), .forms = isa_forms,                     \
        .form_count = ISA(FORMS), .opcodes = isa_opcodes, .opcode_count = ISA(OPCODES),           \
        .rules = isa_rules, .rule_count = sizeof isa_rules / sizeof *isa_rules
