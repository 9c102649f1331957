/* SPDX-License-Identifier: MIT */
/* Behind the rows of a machine's instructions: isa_rows.h. */
#undef STAGE
#undef MEMORY
#undef FORM
#undef OPCODE
#undef OPERATION
#undef FIELD
#undef CLASS
