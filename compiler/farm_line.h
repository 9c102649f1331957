/* SPDX-License-Identifier: MIT */
/* A line carries frames between the processes of a farm. There are two kinds, which these six
 * functions do not tell apart: sockets to children of this process (line_fork), and one socket to
 * the program that carries frames on by MPI (line_inherit, farm_mpi.c). */
#ifndef COMPILER_FARM_LINE_H
#define COMPILER_FARM_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler/farm_frame.h"

struct line;

struct message {
        int from;
        enum farm_kind kind;
        const char *bytes;              /* They stay until the next message is received. */
        size_t length;
};

/* Starts so many workers, children that run body(context, line) and end with its result. Returns
 * the coordinator's line, or NULL, with errno. */
struct line *line_fork(int workers, int (*body)(void *context, struct line *line), void *context);
/* Returns the line that FARM_VARIABLE hands to this process, or NULL where there is none. */
struct line *line_inherit(void);

int line_place(const struct line *line);
int line_workers(const struct line *line);
/* Queues a frame, and sends as much as there is room for: the rest goes while line_receive waits.
 * What is for a worker that is lost goes nowhere. */
void line_send(struct line *line, int to, enum farm_kind kind, const void *bytes, size_t length);
/* Waits so many seconds for a message. A worker that has ended is FARM_LOST; for a worker, the end
 * of the coordinator is FARM_END. Returns false where none came, or a signal asked to stop. */
bool line_receive(struct line *line, double seconds, struct message *m);
/* Closes the line, which ends children that still run. */
void line_close(struct line *line);

#endif
