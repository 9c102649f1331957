/* SPDX-License-Identifier: MIT */
/* Generated code calls this when it was compiled with --threads=N: a pool of threads. There is also
 * memory for the programs around it.
 *
 * Link with libdnncc_runtime.a and -lpthread, or compile runtime/threads.c into the program: it is
 * C11 and POSIX threads. Nothing has to be called before a model runs. No environment variable is
 * read.
 *
 * A system without POSIX threads provides dnncc_parallel itself: hand the indices to its own
 * threads and wait for them, or just
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
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls task(arg, index, count) once for each index in 0 .. count - 1, in any order and on any
 * threads, the caller's among them, and returns when all have returned. Tasks never wait for each
 * other. It may be called from several threads at the same time and from inside a task: a caller
 * that finds the pool in use runs its own tasks one after the other. */
void dnncc_parallel(void (*task)(void *arg, int index, int count), void *arg, int count);

/* Does the same with all members running at once, so that they may meet in
 * dnncc_team_barrier(index, count). It refuses, having called nothing, when the pool is in use,
 * when there are fewer processors than members, and when the threads cannot be had: the caller then
 * goes another way. A system that has no such thing returns false always. */
bool dnncc_team(void (*task)(void *arg, int index, int count), void *arg, int count);
void dnncc_team_barrier(int index, int count);

/* ---- for the program around the model; none of it has to be called ---- */

/* Ends all threads, for an exit without leaks; the next dnncc_parallel starts new ones. It waits
 * for a dnncc_parallel of another thread, and is never called from inside a task. */
void dnncc_threads_shutdown(void);

/* With true, each thread of the pool runs on a processor of its own, none on the one the caller is
 * running on. The caller's own thread is left alone: pin it first. With false (which holds at the
 * start), the system decides. Returns whether it can be done. Threads of the pool begin with the
 * processors that the first caller of dnncc_parallel may run on. */
bool dnncc_threads_pin(bool pin);

/* Sets how long a thread without work looks for more before it sleeps; it is 50 at the start.
 * Waking it takes about as long. */
void dnncc_threads_spin(int microseconds);

/* After fork() the child begins with an empty pool. Inside a task only exec and _exit may follow
 * fork(). */

/* Sets a function that each thread of the pool calls before its share of a dnncc_parallel (or a
 * team) and after it: caller is the address of errno in the thread that it works for, index its own
 * number, from 1 on. NULL stands for none. It must not be called while a model runs. */
void dnncc_threads_observe(void (*see)(const void *caller, int index, bool begins));

/* ---- traces (runtime/trace.c): when which kernel ran, for chrome://tracing and
 * https://ui.perfetto.dev ---- */

/* This is a call of a kernel, as the header of a model compiled with --profile=FILE lists them. */
#ifndef DNNCC_KERNEL_1
#define DNNCC_KERNEL_1
struct dnncc_kernel_1 {
        const char *name, *nodes;       /* They are the function's name, and the nodes of the model
                                         * that it computes. */
        double flops;                   /* It counts operations on floats in a call. */
        uint64_t bytes;                 /* They are read and written by a call. */
        uint64_t workspace;             /* They are the bytes of the workspace (and regions) in use
                                         * meanwhile. */
};
#endif

/* A trace of a model is written to a file, while it runs. The program has the function that such
 * code calls hand on what it is told:
 *
 *     static struct dnncc_trace *trace;
 *     void dnncc_profile(int kernel) { dnncc_trace_kernel(trace, kernel); }
 *
 *     trace = dnncc_trace_open(MODEL_TRACE, model_kernels, MODEL_KERNEL_COUNT);
 *     dnncc_threads_observe(dnncc_trace_share);   where it has threads: the share of each
 *     ... model_run ...
 *     dnncc_trace_close(trace);
 *
 * Runs may be in several threads. dnncc_trace_open returns NULL and sets errno when the file cannot
 * be written; kernels are read until close. dnncc_trace_kernel does nothing with NULL. Events are
 * noted in memory and written in blocks; dnncc_trace_close writes the rest, after all runs, and
 * returns whether everything was written; NULL is allowed. */
struct dnncc_trace;
struct dnncc_trace *dnncc_trace_open(const char *path, const struct dnncc_kernel_1 *kernels,
                                     int count);
void dnncc_trace_kernel(struct dnncc_trace *trace, int kernel);
void dnncc_trace_share(const void *caller, int index, bool begins);
bool dnncc_trace_close(struct dnncc_trace *trace);

/* ---- memory, and what codes say (runtime/memory.c) ---- */

/* Returns what a run that returned this code says: "a pointer is null" for -1, "no error" for 0. */
const char *dnncc_error_text(int code);

/* Returns a workspace for any model that wants at most so many bytes, on huge pages where the
 * system gives them: that is 2 to 5 % faster when it does not fit the caches. Returns NULL and sets
 * errno when there is no memory. */
void *dnncc_workspace_new(size_t bytes);
/* Takes as many bytes; NULL is allowed. */
void dnncc_workspace_free(void *workspace, size_t bytes);

/* A weights file (dnncc --weights=file) begins with this, in the byte order of the machine it is
 * for. A model compares all of it with what it was written with, and returns PREFIX_ERROR_WEIGHTS
 * when anything differs. */
#define DNNCC_WEIGHTS_MAGIC 0x73747763636e6e64u         /* It reads "dnnccwts" on a little-endian
                                                         * machine. */
#define DNNCC_WEIGHTS_FORMAT 1u
struct dnncc_weights_head {
        uint64_t magic, format;
        uint64_t bytes;                 /* It is the size of the whole file. */
        uint64_t reserved;              /* It is 0. */
        uint64_t digest[4];             /* It is the digest of the build and the constants. */
};

/* These return the weights argument of run, read only, and how many bytes there are. map has the
 * file's own pages: they are read when they are needed, and shared by all who map it; the file must
 * stay as it is meanwhile. load has a copy on huge pages where the system gives them: that is 10 to
 * 20 % faster than small ones when a model reads more than the caches hold. They return NULL and
 * set errno when that cannot be done, to EINVAL when the file is no weights file of this machine's
 * byte order, or not whole. */
const void *dnncc_weights_map(const char *path, size_t *bytes);
const void *dnncc_weights_load(const char *path, size_t *bytes);
/* Takes either; NULL is allowed. */
void dnncc_weights_unmap(const void *weights, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
