/* SPDX-License-Identifier: MIT */
/* The generated run function returns these codes: fail_codes.def as names and as texts. */
#ifndef IR_LOOP_FAIL_CODES_H
#define IR_LOOP_FAIL_CODES_H

enum fail_code {
#define FAIL(name, value, doc) FAIL_##name = value,
#include "ir/loop/fail_codes.def"
};

/* Returns the text of a code, "a pointer is null"; of an unknown one "no code of this version". */
const char *fail_text(int code);

#endif
