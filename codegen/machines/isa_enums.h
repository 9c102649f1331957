/* SPDX-License-Identifier: MIT */
/* Declares the numbers of a machine's rows, and its struct of an instruction. This is included by
 * the machine's header, which defines ISA_ROWS, the file of rows; ISA(name), the name after
 * the machine's; ISA_INSTRUCTION, the struct's name; and ISA_ANY, the name of the function
 * that converts it to struct instruction. */
enum {
#define STAGE(id, name) ISA(STAGE_##id),
#include ISA_ROWS
        ISA(STAGES), ISA(STAGE_NONE) = -1, ISA(STAGE_OTHER) = -2
};
enum {
#define MEMORY(id, name, stage) ISA(id),
#include ISA_ROWS
        ISA(MEMORIES)
};
enum {
#define FORM(id, after) ISA(FORM_##id),
#include ISA_ROWS
        ISA(FORMS)
};
enum {
#define OPCODE(id, name, form, stage, run) ISA(OPCODE_##id),
#include ISA_ROWS
        ISA(OPCODES)
};
enum {
#define OPERATION(id, name) ISA(OPERATION_##id),
#include ISA_ROWS
        ISA(OPERATIONS)
};
enum {
#define FIELD(form, id, word, width, sign, says) ISA(FIELD_##id),
#include ISA_ROWS
        ISA(FIELDS)
};
enum {
#define CLASS(id, name, busy) ISA(CLASS_##id),
#include ISA_ROWS
        ISA(CLASSES)
};

/* These functions perform the instructions. */
#define OPCODE(id, name, form, stage, run) void run(struct running *r, const struct instruction *i);
#include ISA_ROWS

/* Only the fields of an instruction's form have a meaning. */
struct ISA_INSTRUCTION {
#define FIELD(form, id, word, width, sign, says) int64_t id;
#include ISA_ROWS
};
static inline const struct ISA_INSTRUCTION *ISA_INSTRUCTION(const struct instruction *i)
{
        return (const struct ISA_INSTRUCTION *)(const void *)i;
}
/* Converts to the struct that all machines share. */
static inline struct instruction ISA_ANY(const struct ISA_INSTRUCTION *i)
{
        struct instruction all = { { 0 } };
        memcpy(&all, i, sizeof *i);
        return all;
}
