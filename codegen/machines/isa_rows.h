/* SPDX-License-Identifier: MIT */
/* In front of the rows of a machine's instructions (codegen/vta/vta_isa.def), each fact once;
 * define the macros you want, and include the rows. Encoder, decoder, assembler and disassembler
 * are made of these: isa_enums.h, isa_tables.h.
 *
 *   STAGE(id, name)             who runs instructions, its own in their order, beside the others
 *   MEMORY(id, name, stage)     in the order of their numbers; the stage that loads it
 *   FORM(id, after)             its fields stand behind those of the form that it goes on from;
 *                               itself: at the first bit
 *   OPCODE(id, name, form, stage, run)
 *                               what it does: struct isa_opcode; stage NONE: no stage's, OTHER:
 *                               another field says whose
 *   OPERATION(id, name)         what one opcode may do
 *   FIELD(form, id, word, width, sign, says)
 *                               in the order of bits. None crosses a word of 64: one that would
 *                               begins in the next. INDEX(M) bits count the elements of memory M
 *                               from 0, COUNT(M) one more than that. In text, words of one name
 *                               stand together: size=32,32; a bit is a word by itself. What a
 *                               number says: a NUMBER, an ADDRESS, one of NAMES, or a number that
 *                               is there where a field is 1
 *   CLASS(id, name, busy)       what instructions are counted as, and what is busy meanwhile */
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
