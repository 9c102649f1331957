/* SPDX-License-Identifier: MIT */
/* This stands before the rows of a machine's instructions (codegen/vta/vta_isa.def), which hold
 * each fact once; define the macros you want, and include the rows. Encoder, decoder, assembler and
 * disassembler are made from them: isa_enums.h, isa_tables.h.
 *
 *   STAGE(id, name)             a unit that runs its own instructions in order, beside the others
 *   MEMORY(id, name, stage)     in the order of their numbers; the stage that loads it
 *   FORM(id, after)             its fields stand after those of form `after`, which it continues;
 *                               after = id: from the first bit on
 *   OPCODE(id, name, form, stage, run)
 *                               a struct isa_opcode, and the declaration of its function, which is
 *                               isa_nothing where it touches nothing; stage NONE: no stage runs it,
 *                               OTHER: another field says which
 *   OPERATION(id, name)         an operation, where one opcode has several
 *   FIELD(form, id, word, width, sign, says)
 *                               in the order of bits. No field crosses a word of 64 bits: one that
 *                               would begins in the next. INDEX(M) bits count the elements of
 *                               memory M from 0, COUNT(M) one more than that. In text, fields of
 *                               one word stand together: size=32,32; a bit is a word by itself.
 *                               `says` is the meaning of the number: NUMBER, SIZE, which is 1 or
 *                               more (rule `empty`), ADDRESS, NAMES, or WHERE, a number that exists
 *                               where another field is 1
 *   ROWS(form, id, word, M)     three fields: an operand's first element in memory M, and what the
 *                               outer and the inner counter add to it, id_row and id_column
 *   CLASS(id, name, busy)       a class that instructions are counted in, and the unit that is busy
 */
#ifndef STAGE
#define STAGE(id, name)
#endif
#ifndef MEMORY
#define MEMORY(id, name, stage)
#endif
#ifndef FORM
#define FORM(id, after)
#endif
#ifndef OPCODE
#define OPCODE(id, name, form, stage, run)
#endif
#ifndef OPERATION
#define OPERATION(id, name)
#endif
#ifndef FIELD
#define FIELD(form, id, word, width, sign, says)
#endif
#ifndef CLASS
#define CLASS(id, name, busy)
#endif
#define ROWS(form, id, word, M)                                                                    \
        FIELD(form, id, word, INDEX(M), 0, NUMBER)                                                 \
        FIELD(form, id##_row, word, INDEX(M), 0, NUMBER)                                           \
        FIELD(form, id##_column, word, INDEX(M), 0, NUMBER)
