/* SPDX-License-Identifier: MIT */
/* The table of machines (ir/machine.h), and their programs. */
#ifndef CODEGEN_MACHINES_H
#define CODEGEN_MACHINES_H

#include "base/diag.h"
#include "base/text.h"
#include "ir/loop.h"
#include "ir/machine.h"

extern const struct machine *const machines[];           /* NULL behind the last */

/* What a stream's parameter holds before a launch and after it; NULL: zeros, and nobody says. constant: it is never anything else. */
struct launch_argument { const void *content, *expect; bool constant; };

/* A launch of a stream that the passes on streams made, with all it reads: as text, or as the file that executors take. Appends to out;
 * false after one error. */
typedef bool launch_writer(const struct loop_function *stream, const struct launch_argument *arguments, bool as_text, struct text *out,
                           struct diag *diag);
/* The machine with other sizes, as dnncc-vta --sizes has them; NULL after an EXIT_USAGE error: it has no such, or none at all. */
typedef const struct machine *machine_sizer(struct arena *arena, const char *sizes, struct diag *diag);
const struct machine *machine_sized(struct arena *arena, const struct machine *machine, const char *sizes, struct diag *diag);
/* the table with one machine in place of that of its name */
const struct machine *const *machines_with(struct arena *arena, const struct machine *machine);
launch_writer machine_launch_write;       /* of the stream's machine */

#endif
