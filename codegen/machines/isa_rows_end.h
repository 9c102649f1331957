/* SPDX-License-Identifier: MIT */
/* This stands after the rows of a machine's instructions: see isa_rows.h. */
#undef STAGE
#undef MEMORY
#undef FORM
#undef OPCODE
#undef OPERATION
#undef FIELD
#undef ROWS
#undef CLASS
