/* SPDX-License-Identifier: MIT */
/* Traces of runs are written as chrome://tracing and Perfetto read them: a list of events in JSON.
 *
 *      thread 1   | conv1 | conv2                 | pool |
 *      worker 1             | conv2       |
 *      workspace  |#######|##########              ######|
 *
 * There is a slice for each call of a kernel, and for the share of it that a thread of the pool
 * had; counters are bytes in use, and bytes read and written.
 *
 * Events are noted in memory and written a block at a time. The time that this file takes is in no
 * slice: one begins when the call before it has been noted. The format lets the closing bracket be
 * missing, so all blocks that were written can be read where a program never comes to
 * dnncc_trace_close. */
#include "dnncc_runtime.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { EVENTS = 4096, SHARES_MAX = 1024, WORKERS_MAX = 256, THREADS_MAX = 512 };
enum { WORKER_THREADS = 1000 };         /* Worker i is this + i in the trace. */

/* This is a call of a kernel (where kernel < 0 a run begins), or a worker's share of it. */
struct event { int kernel, thread; bool is_share; int64_t begun, ended; };

struct dnncc_trace {
        FILE *out;
        const struct dnncc_kernel_1 *kernels;
        int count, event_count;
        int64_t start;
        bool named[WORKER_THREADS + WORKERS_MAX + 1];
        struct event events[EVENTS];
};

/* These are shares of workers that no kernel has come for yet, the last SHARES_MAX of them; one
 * whose caller is NULL is none. */
static struct share { const void *caller; int index; int64_t begun, ended; } shares[SHARES_MAX];
static int next_share, waiting, thread_count;
static atomic_flag lock = ATOMIC_FLAG_INIT;        /* It locks the shares, and what is noted and
                                                    * written. */

static _Thread_local int thread;                   /* It is the thread's number, from 1 on; at 0 it
                                                    * has none yet. */
static _Thread_local int64_t begun, share_begun;

static int64_t now(void)
{
        struct timespec t;
        timespec_get(&t, TIME_UTC);
#ifdef CLOCK_MONOTONIC
        clock_gettime(CLOCK_MONOTONIC, &t);
#endif
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void enter(void)
{
        while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) {
        }
}
static void leave(void) { atomic_flag_clear_explicit(&lock, memory_order_release); }

/* ---- events ---- */

static void put_string(FILE *out, const char *text)
{
        putc('"', out);
        for (const char *c = text ? text : ""; *c; c++) {
                if (*c == '"' || *c == '\\')
                        putc('\\', out);
                if ((unsigned char)*c < ' ')
                        fprintf(out, "\\u%04x", (unsigned)*c);
                else
                        putc(*c, out);
        }
        putc('"', out);
}

/* Writes the time called NAME, in thousandths: the format counts microseconds. It has no locale's
 * comma. */
static void put_time(FILE *out, const char *name, int64_t nanoseconds)
{
        fprintf(out, ",\"%s\":%" PRId64 ".%03d", name, nanoseconds / 1000,
                (int)(nanoseconds % 1000));
}

/* Names a thread before its first event. */
static void put_thread(struct dnncc_trace *t, int number)
{
        if (t->named[number])
                return;
        t->named[number] = true;
        bool is_worker = number > WORKER_THREADS;
        fprintf(t->out,
                ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%d,\"args\":{\"name\":"
                "\"%s %d\"}}",
                number, is_worker ? "worker" : "thread",
                is_worker ? number - WORKER_THREADS : number);
}

static void put_run(const struct dnncc_trace *t, const struct event *e)
{
        fprintf(t->out, ",\n{\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":%d,\"name\":\"run\"",
                e->thread);
        put_time(t->out, "ts", e->begun - t->start);
        fputs("}", t->out);
}

static void put_slice(const struct dnncc_trace *t, const struct event *e)
{
        const struct dnncc_kernel_1 *k = &t->kernels[e->kernel];
        FILE *out = t->out;
        fprintf(out,
                ",\n{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":1,\"tid\":%d,\"name\":", e->thread);
        put_string(out, k->name);
        put_time(out, "ts", e->begun - t->start);
        put_time(out, "dur", e->ended - e->begun);
        fputs(",\"args\":{\"nodes\":", out);
        put_string(out, k->nodes);
        fprintf(out, ",\"operations\":%.0f,\"bytes\":%" PRIu64 ",\"workspace\":%" PRIu64 "}}",
                k->flops, k->bytes, k->workspace);
}

static void put_counter(const struct dnncc_trace *t, const struct event *e, const char *name,
                        uint64_t bytes)
{
        fprintf(t->out, ",\n{\"ph\":\"C\",\"pid\":1,\"id\":%d,\"name\":\"%s\"", e->thread, name);
        put_time(t->out, "ts", e->begun - t->start);
        fprintf(t->out, ",\"args\":{\"bytes\":%" PRIu64 "}}", bytes);
}

static void write_events(struct dnncc_trace *t)
{
        for (int i = 0; i < t->event_count; i++) {
                const struct event *e = &t->events[i];
                put_thread(t, e->thread);
                if (e->kernel < 0) {
                        put_run(t, e);
                        continue;
                }
                put_slice(t, e);
                if (e->is_share)
                        continue;
                put_counter(t, e, "workspace", t->kernels[e->kernel].workspace);
                put_counter(t, e, "read and written", t->kernels[e->kernel].bytes);
        }
        t->event_count = 0;
}

static void note(struct dnncc_trace *t, struct event e)
{
        if (t->event_count == EVENTS)
                write_events(t);
        t->events[t->event_count++] = e;
}

/* Notes the shares of this thread's workers as those of the kernel. */
static void note_shares(struct dnncc_trace *t, int kernel)
{
        for (int i = 0; i < SHARES_MAX && waiting; i++) {
                /* The oldest comes first. */
                struct share *share = &shares[(next_share + i) % SHARES_MAX];
                if (share->caller != &errno)
                        continue;
                share->caller = NULL;
                waiting--;
                if (share->index > 0 && share->index <= WORKERS_MAX && share->begun >= t->start)
                        note(t, (struct event){ kernel, WORKER_THREADS + share->index, true,
                                                share->begun, share->ended });
        }
}

/* ---- what programs call ---- */

struct dnncc_trace *dnncc_trace_open(const char *path, const struct dnncc_kernel_1 *kernels,
                                     int count)
{
        struct dnncc_trace *t = calloc(1, sizeof *t);
        if (!t)
                return NULL;
        t->out = fopen(path, "w");
        if (!t->out) {
                int error = errno;
                free(t);
                errno = error;
                return NULL;
        }
        t->kernels = kernels;
        t->count = count;
        t->start = now();
        fputs("[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":"
              "\"dnncc\"}}",
              t->out);
        return t;
}

void dnncc_trace_kernel(struct dnncc_trace *t, int kernel)
{
        int64_t end = now();
        if (!t)
                return;
        enter();
        if (!thread)
                thread = thread_count < THREADS_MAX ? ++thread_count
                                                    : THREADS_MAX; /* The last ones share a row. */
        if (kernel < 0)
                note(t, (struct event){ kernel, thread, false, end, end });
        else if (kernel < t->count && begun >= t->start)
                note(t, (struct event){ kernel, thread, false, begun, end });
        if (kernel >= 0 && kernel < t->count)
                note_shares(t, kernel);
        leave();
        begun = now();
}

void dnncc_trace_share(const void *caller, int index, bool begins)
{
        if (begins) {
                share_begun = now();
                return;
        }
        int64_t end = now();
        enter();
        waiting += !shares[next_share].caller;
        shares[next_share] = (struct share){ caller, index, share_begun, end };
        next_share = (next_share + 1) % SHARES_MAX;
        leave();
}

bool dnncc_trace_close(struct dnncc_trace *t)
{
        if (!t)
                return false;
        write_events(t);
        fputs("\n]\n", t->out);
        bool failed = ferror(t->out);
        failed |= fclose(t->out) != 0;
        free(t);
        return !failed;
}
