/* What generated code calls when it was compiled with --threads=N: a pool of threads.
 *
 * Link with libdnncc_runtime.a and -lpthread, or compile runtime/threads.c into the program: C11 and POSIX threads.
 * Nothing has to be called before a model runs. No environment variable is read.
 *
 * A system without POSIX threads provides dnncc_parallel itself: hand the indices to its own threads and wait for
 * them, or just
 *
 *     void dnncc_parallel(void (*task)(void *arg, int index, int count), void *arg, int count)
 *     {
 *             for (int i = 0; i < count; i++)
 *                     task(arg, i, count);
 *     }
 *
 * A model gives the same bits whatever threads run it. */
#ifndef DNNCC_RUNTIME_H
#define DNNCC_RUNTIME_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls task(arg, index, count) once for each index in 0 .. count - 1, in any order and on any threads, the caller's
 * among them, and returns when all have returned. Tasks never wait for each other. May be called from several threads at
 * the same time and from inside a task: whoever finds the pool in use runs its own tasks one after the other. */
void dnncc_parallel(void (*task)(void *arg, int index, int count), void *arg, int count);

/* The same with all members running at once, so that they may meet in dnncc_team_barrier(index, count). Refuses, having
 * called nothing, when the pool is in use, when there are fewer processors than members, and when the threads cannot be
 * had: the caller then goes another way. A system that has no such thing returns false always. */
bool dnncc_team(void (*task)(void *arg, int index, int count), void *arg, int count);
void dnncc_team_barrier(int index, int count);

/* ---- for the program around the model; none of it has to be called ---- */

/* Ends all threads, for an exit without leaks; the next dnncc_parallel starts new ones. Waits for a dnncc_parallel of
 * another thread. Never from inside a task. */
void dnncc_threads_shutdown(void);

/* true: each thread of the pool runs on a processor of its own, none on the one the caller is running on. The caller's
 * own thread is left alone: pin it first. false (at the start): the system decides. Returns whether it can be done.
 * Threads of the pool begin with the processors that the first caller of dnncc_parallel may run on. */
bool dnncc_threads_pin(bool pin);

/* How long a thread without work looks for more before it sleeps; 50 at the start. Waking it takes about as long. */
void dnncc_threads_spin(int microseconds);

/* After fork() the child begins with an empty pool. Inside a task only exec and _exit may follow fork(). */

#ifdef __cplusplus
}
#endif

#endif
