/* SPDX-License-Identifier: MIT */
/* A farm does many pieces of work, none of which waits for another, in many processes. The
 * coordinator proposes pieces, workers make them, and the coordinator takes the results in the
 * order of the pieces, whatever came first:
 *
 *      coordinator: propose 0, 1, 2 ..  --- piece --->  worker: make
 *                   take 0, 1, 2 ..     <-- result ---
 *
 * Workers are children of this process (--jobs), or run the same command line under mpirun or srun,
 * on this machine and on others (docs/many-machines.md); then all of them call farm_run with the
 * same work, which each has prepared for itself. A worker that ends, is silent or cannot work costs
 * its piece alone: another one makes that again, and without any worker left the coordinator does.
 * A piece that ended FARM_TRIES workers is given up. */
#ifndef COMPILER_FARM_H
#define COMPILER_FARM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"

enum { FARM_TRIES = 3 };

struct farm_work {
        void *context;
        /* Coordinator: writes what a worker is told of this piece, the next one; false: there is
         * none now. It is asked again when a result was taken. */
        bool (*propose)(void *context, int64_t piece, struct text *out);
        /* Worker: does the piece; false: this worker cannot work, and has said why on standard
         * error. */
        bool (*make)(void *context, int64_t piece, const char *bytes, size_t length,
                     struct text *result);
        /* Coordinator: takes the result of the next piece in order; NULL: it was given up. False:
         * nothing more is to be done. */
        bool (*take)(void *context, int64_t piece, const char *result, size_t length);
        /* Making a piece twice does no harm, so that one that takes long is given to another worker
         * as well, where there is nothing else to do. */
        bool twice;
        /* Worker, or NULL: is the last call, where something was made. */
        void (*leave)(void *context);
};

enum farm_end {
        FARM_DONE,                      /* All pieces were taken. */
        FARM_FAILED,                    /* take returned false, a signal asked to stop, or the error
                                         * was reported. */
        FARM_SERVED                     /* This process was a worker. */
};

/* Does the work in so many children or, where this process belongs to a farm of MPI, in its
 * workers. */
enum farm_end farm_run(const struct farm_work *work, int jobs, struct diag *diag);

int farm_workers(int jobs);             /* Returns how many workers farm_run would have. */

/* ---- processes that MPI starts (farm_enter.c) ---- */

/* It is the first thing that a program does. Where mpirun or srun started this process beside
 * others, and `what`, an option for messages, has pieces for them (NULL: nothing has), it becomes
 * the program that starts this one again as the coordinator and as workers; where it was started
 * so, it learns its part. Returns false after an error. */
bool farm_enter(int argc, char **argv, const char *what, struct diag *diag);
const char *farm_option(int argc, char **argv);           /* Returns dnncc's option that has
                                                           * pieces, or NULL. */
const char *farm_command(void);         /* Returns a digest of its command line. */
bool farm_is_open(void);                /* Returns whether this process belongs to a farm of MPI. */
bool farm_is_worker(void);              /* ... as a worker, which writes nothing itself. */
struct line;
struct line *farm_line(void);           /* Returns its line (farm_line.h), or NULL. */
void farm_greet(struct line *line);     /* A worker says which build it is, and where. */
/* Leaves the farm. A worker that ends without farm_run says why it could not come so far. */
void farm_close(void);
void farm_leave(void);
void farm_forget(void);                 /* A child of a worker is none. */

/* Standard error of a worker goes into a file without a name from farm_hush on; farm_said returns
 * what was said there since, in memory that stays until the next call. */
void farm_hush(void);
const char *farm_said(void);

#endif
