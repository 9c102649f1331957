/* SPDX-License-Identifier: MIT */
/* Finds in which order the statements of a flat stream must run, by who touched what last. */
#ifndef IR_LOOP_STREAM_ORDER_H
#define IR_LOOP_STREAM_ORDER_H

#include "ir/loop/stream_flat.h"

/* The grounds know, for each element of the machine's memories, and for each 16 bytes of a
 * parameter, the last statement of each stage that touched it. */
struct stream_grounds;
/* Makes those of a flat stream; it numbers the stream's parameters. */
struct stream_grounds *stream_grounds_new(const struct loop_function *f);
void stream_grounds_free(struct stream_grounds *g);
/* Fills in wanted[s]: the number of the last statement of stage s that touches what this one does,
 * where one of the two writes; 0: there is none. The statement's own stage wants nothing. */
void stream_grounds_want(struct stream_grounds *g, const struct flat_step *step,
                         int64_t wanted[MACHINE_STAGES]);
/* Says that the statement has this number, 1 or more. */
void stream_grounds_mark(struct stream_grounds *g, const struct flat_step *step, int64_t number);

#endif
