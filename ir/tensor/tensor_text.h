/* SPDX-License-Identifier: MIT */
/* The text form of Tensor IR: what its printer and its parser share.
 *
 *   text      dnn TENSOR_VERSION, module, then data, symbol, const and func lines
 *   data      data "FILE" sha256 "HEX" bytes N
 *   symbol    symbol N <= BOUND
 *   const     const @NAME : TYPE = VALUE
 *   VALUE     LITERAL (all elements equal) | [LITERAL, ...] | hex "BYTES" | file OFFSET | sparse SPARSE
 *   SPARSE    [POSITION = LITERAL, ...], other elements are zero | N hex "BYTES" | N file OFFSET: positions of
 *             8 bytes, little endian, then their values
 *   LITERAL   -0.5, 7, inf, nan, nan:0x7fc00001 (other bits), true
 *   TYPE      <DIM x ... x ELEMENT>, sequence(TYPE), optional(TYPE)
 *   DIM       extent, symbol, or one operation of + - * / max(,) min(,) on such, nested ones in parentheses
 *   func      func @NAME(%ARG "PORT": TYPE, ...) -> ("PORT", ...) { OPS }
 *   op        %NAME, ... = OP(OPERAND, ...) ATTR=VALUE ... : TYPE, ... REGION else REGION    ; "LOCATION"
 *   REGION    { OPS }, or {(%ARG: TYPE, ...) OPS }; the location stands at the end of the operation's first line
 *   OPERAND   %NAME, @NAME, none (a missing optional), TYPE VALUE, or a bare LITERAL: a splat of the last %NAME's type
 *
 * An operation with regions and no operands of its own lists the values its regions take from
 * outside, for the reader. */
#ifndef IR_TENSOR_TENSOR_TEXT_H
#define IR_TENSOR_TENSOR_TEXT_H

#include "ir/tensor/tensor.h"

enum { NAME_LENGTH = 255, LITERAL_LENGTH = 63 };

/* ---- tensor_literal.c ---- */

void literal_print(struct text *out, struct arena *arena, enum element e, const void *data,
                   size_t index);
enum literal_error { LITERAL_OK, LITERAL_MALFORMED, LITERAL_RANGE };
enum literal_error literal_parse(const char *token, enum element e, void *data, size_t index);
/* Is name made of letters, digits, _ and . behind a letter or _, and at most NAME_LENGTH long? */
bool text_is_name(const char *name);
void quoted_print(struct text *out, const char *bytes);   /* Prints "..." with \xHH. */
/* Prints bytes as hexadecimal digits. */
void hex_print(struct text *out, const void *data, size_t bytes);
/* Reads 2 * bytes digits. */
bool hex_parse(const char *hex, size_t bytes, void *data);

/* ---- types.c ---- */

void type_print(struct text *out, const struct module *m, const struct type *t);
void symbol_print(struct text *out, const char *name);

/* ---- tensor_verify.c ---- */

bool tensor_check(struct module *m, enum exit_code code, struct diag *diag);

#endif
