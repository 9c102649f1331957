/* SPDX-License-Identifier: MIT */
/* This is the pool of threads behind dnncc_parallel.
 *
 * A worker has one word that says what it does, on a cache line of its own:
 *
 *            post              claim               done
 *     IDLE --------> POSTED ---------> RUNNING ----------> IDLE
 *      |  ^            | |
 *      |  '------------' '--- (caller) taken back: IDLE
 *      v      post
 *    ASLEEP ---------> POSTED, and a signal
 *
 * The caller posts, then works itself, then takes back what no worker has claimed yet, then waits
 * for the rest. A worker falls asleep after the time given to spinning.
 *
 * Handing work to a spinning thread and hearing that it is done costs a few transfers of that line,
 * half a microsecond. Waking one that sleeps costs the caller 10 to 15 microseconds, and it begins
 * 25 to 100 later (in a virtual machine). Taking back means that the caller waits for no thread
 * that is still waking up, or that the system does not run: this needs tasks that do not wait for
 * each other. A team is posted without it.
 *
 * There is one pool. A caller that finds it in use works alone: serial code is always right. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE                     /* It declares affinity. */
#endif
#include "dnncc_runtime.h"

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { MEMBERS_MAX = 256, WORKERS_MAX = MEMBERS_MAX - 1 };
enum { LINE = 128 };                    /* It is two cache lines: processors fetch them in pairs. */
enum { PAUSES = 32 };                   /* So many pauses are between two looks at the clock. */

enum state { IDLE, POSTED, RUNNING, ASLEEP, STOP };

struct worker {
        _Alignas(LINE) atomic_int state;
        _Alignas(LINE) pthread_t thread;
        pthread_mutex_t mutex;          /* Sleeping alone needs it. */
        pthread_cond_t wake;
};
struct member { _Alignas(LINE) atomic_uint phase; };

static struct {
        _Alignas(LINE) atomic_bool busy;          /* The thread that sets it owns all below. */
        void (*task)(void *arg, int index, int count);
        void *arg;
        int count;
        const void *caller;             /* It is the address of errno in its thread. */
        /* It is the function of dnncc_threads_observe, or NULL. */
        void (*see)(const void *caller, int index, bool begins);
        int workers, processors;
        bool pinned, watches_fork;
        atomic_int spin;                /* It is in microseconds. */
} pool = { .spin = 50 };
static struct worker workers[WORKERS_MAX];        /* Worker number i runs index i + 1. */
static struct member members[MEMBERS_MAX];        /* They are the members of the team. */

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
        __asm__ volatile("yield");
#endif
}

static int64_t nanoseconds(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t spin_end(void)
{
        return nanoseconds() +
               (int64_t)1000 * atomic_load_explicit(&pool.spin, memory_order_relaxed);
}

static enum state state_of(struct worker *w)
{
        return (enum state)atomic_load_explicit(&w->state, memory_order_acquire);
}

static bool change(struct worker *w, int from, int to)
{
        return atomic_compare_exchange_strong_explicit(&w->state, &from, to, memory_order_acq_rel,
                                                       memory_order_acquire);
}

/* ---- the worker's side ---- */

static void sleep_until_posted(struct worker *w)
{
        pthread_mutex_lock(&w->mutex);
        if (change(w, IDLE, ASLEEP))
                while (state_of(w) == ASLEEP)
                        pthread_cond_wait(&w->wake, &w->mutex);
        pthread_mutex_unlock(&w->mutex);
}

static void wait_until_posted(struct worker *w)
{
        int64_t end = spin_end();
        for (;;) {
                for (int i = 0; i < PAUSES; i++) {
                        if (state_of(w) != IDLE)
                                return;
                        pause_briefly();
                }
                if (nanoseconds() >= end)
                        break;
        }
        sleep_until_posted(w);
}

static void run_share(int index)
{
        void (*see)(const void *caller, int index, bool begins) = pool.see;
        const void *caller = pool.caller;
        if (see)
                see(caller, index, true);
        pool.task(pool.arg, index, pool.count);
        if (see)
                see(caller, index, false);
}

static void *work(void *argument)
{
        struct worker *w = argument;
        int index = (int)(w - workers) + 1;
        for (;;) {
                wait_until_posted(w);
                if (change(w, POSTED, RUNNING)) {
                        run_share(index);
                        atomic_store_explicit(&w->state, IDLE, memory_order_release);
                } else if (state_of(w) == STOP) {
                        return NULL;
                }
        }
}

/* ---- starting ---- */

static bool enter(void)
{
        return !atomic_load_explicit(&pool.busy, memory_order_relaxed) &&
               !atomic_exchange_explicit(&pool.busy, true, memory_order_acquire);
}

static void leave(void) { atomic_store_explicit(&pool.busy, false, memory_order_release); }

static void enter_at_last(void)
{
        while (!enter())
                sched_yield();
}

#ifdef _WIN32
typedef int signals;                    /* Signals do not go to threads, and there are no forks. */
static void hold_signals(signals *before) { *before = 0; }
static void let_signals(const signals *before) { (void)before; }
static bool watch_fork(void) { return true; }
#else
typedef sigset_t signals;
static void hold_signals(signals *before)
{
        signals all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, before);
}
static void let_signals(const signals *before) { pthread_sigmask(SIG_SETMASK, before, NULL); }

/* In the child of a fork there is only the thread that forked. */
static void forget_workers(void)
{
        for (int i = 0; i < pool.workers; i++)
                atomic_store(&workers[i].state, IDLE);
        pool.workers = 0;
        leave();
}
static bool watch_fork(void) { return !pthread_atfork(NULL, NULL, forget_workers); }
#endif

#if defined(__linux__)
static int count_processors(void)
{
        cpu_set_t set;
        return sched_getaffinity(0, sizeof set, &set) ? (int)sysconf(_SC_NPROCESSORS_ONLN)
                                                      : CPU_COUNT(&set);
}

/* Gives worker i the i-th processor after the caller's, of those the caller may use; or all of them
 * when not pinned. */
static bool place(int first, int end)
{
        cpu_set_t set;
        int here = sched_getcpu();
        if (here < 0 || sched_getaffinity(0, sizeof set, &set) || CPU_COUNT(&set) < 2)
                return false;
        bool placed = true;
        int processor = here;
        for (int i = 0; i < end; i++) {
                do
                        processor = (processor + 1) % CPU_SETSIZE;
                while (!CPU_ISSET(processor, &set) || processor == here);
                cpu_set_t one;
                CPU_ZERO(&one);
                CPU_SET(processor, &one);
                if (i >= first)
                        placed &= !pthread_setaffinity_np(workers[i].thread, sizeof one,
                                                          pool.pinned ? &one : &set);
        }
        return placed;
}
#else
static int count_processors(void)
{
#ifdef _WIN32
        return (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
#else
        return (int)sysconf(_SC_NPROCESSORS_ONLN);
#endif
}
static bool place(int first, int end) { (void)first, (void)end; return false; }
#endif

static bool start_worker(struct worker *w)
{
        if (pthread_mutex_init(&w->mutex, NULL))
                return false;
        if (!pthread_cond_init(&w->wake, NULL)) {
                if (!pthread_create(&w->thread, NULL, work, w))
                        return true;
                pthread_cond_destroy(&w->wake);
        }
        pthread_mutex_destroy(&w->mutex);
        return false;
}

/* Starts as many as can be had, `count` at most. Signals are for the program's own threads. */
static void start_workers(int count)
{
        signals before;
        int first = pool.workers;
        if (!pool.watches_fork)
                pool.watches_fork = watch_fork();
        hold_signals(&before);
        while (pool.workers < count && pool.workers < WORKERS_MAX &&
               start_worker(&workers[pool.workers]))
                pool.workers++;
        let_signals(&before);
        pool.processors = count_processors();
        if (pool.pinned)
                place(first, pool.workers);
}

/* ---- the caller's side ---- */

static void send(struct worker *w, enum state state)
{
        if (atomic_exchange_explicit(&w->state, (int)state, memory_order_acq_rel) != ASLEEP)
                return;
        pthread_mutex_lock(&w->mutex);  /* It is asleep for good, or not yet going to sleep. */
        pthread_mutex_unlock(&w->mutex);
        pthread_cond_signal(&w->wake);
}

/* Posts the task, and returns the number of workers that got a part. */
static int post(void (*task)(void *arg, int index, int count), void *arg, int count)
{
        int posted = count - 1 < pool.workers ? count - 1 : pool.workers;
        pool.task = task;
        pool.arg = arg;
        pool.count = count;
        pool.caller = &errno;
        for (int i = 0; i < posted; i++)
                send(&workers[i], POSTED);
        return posted;
}

static bool is_done(struct worker *w)     /* It may have gone to sleep since. */
{
        enum state state = state_of(w);
        return state != POSTED && state != RUNNING;
}

static void wait_for_all(int posted)
{
        int64_t end = 0;
        for (int i = 0; i < posted; i++)
                for (int pauses = 1; !is_done(&workers[i]); pauses++) {
                        pause_briefly();
                        if (pauses % PAUSES)
                                continue;
                        if (!end)
                                end = spin_end();
                        else if (nanoseconds() > end)
                                sched_yield();            /* There are more threads than
                                                           * processors. */
                }
}

void dnncc_parallel(void (*task)(void *arg, int index, int count), void *arg, int count)
{
        if (count < 2 || !enter()) {
                for (int i = 0; i < count; i++)
                        task(arg, i, count);
                return;
        }
        if (count - 1 > pool.workers)
                start_workers(count - 1);
        int posted = post(task, arg, count);
        task(arg, 0, count);
        for (int i = posted + 1; i < count; i++)
                task(arg, i, count);
        for (int i = 0; i < posted; i++)
                if (change(&workers[i], POSTED, IDLE))
                        task(arg, i + 1, count);
        wait_for_all(posted);
        leave();
}

/* ---- teams ---- */

bool dnncc_team(void (*task)(void *arg, int index, int count), void *arg, int count)
{
        if (count < 2) {
                if (count == 1)
                        task(arg, 0, 1);
                return true;
        }
        if (!enter())
                return false;
        if (count - 1 > pool.workers)
                start_workers(count - 1);
        bool possible = count - 1 <= pool.workers && count <= pool.processors;
        if (possible) {
                for (int i = 0; i < count; i++)
                        atomic_store_explicit(&members[i].phase, 0, memory_order_relaxed);
                int posted = post(task, arg, count);
                task(arg, 0, count);
                wait_for_all(posted);
        }
        leave();
        return possible;
}

/* Each member says where it is and looks at all others: that is one transfer of a line each way. No
 * member is ever more than one phase ahead of another. */
void dnncc_team_barrier(int index, int count)
{
        if (count < 2)
                return;
        unsigned phase = atomic_load_explicit(&members[index].phase, memory_order_relaxed) + 1;
        atomic_store_explicit(&members[index].phase, phase, memory_order_release);
        for (int i = 0; i < count; i++)
                for (unsigned pauses = 1;; pauses++) {
                        unsigned other =
                                atomic_load_explicit(&members[i].phase, memory_order_acquire);
                        if (other - phase <= 1)
                                break;
                        pause_briefly();
                        if (pauses % (PAUSES * PAUSES) == 0)
                                sched_yield();
                }
}

/* ---- for the program around the model ---- */

void dnncc_threads_shutdown(void)
{
        enter_at_last();
        for (int i = 0; i < pool.workers; i++) {
                struct worker *w = &workers[i];
                send(w, STOP);
                pthread_join(w->thread, NULL);
                pthread_cond_destroy(&w->wake);
                pthread_mutex_destroy(&w->mutex);
                atomic_store_explicit(&w->state, IDLE, memory_order_relaxed);
        }
        pool.workers = 0;
        leave();
}

bool dnncc_threads_pin(bool pin)
{
        enter_at_last();
        pool.pinned = pin;
        bool can = place(0, pool.workers);
        leave();
        return can;
}

void dnncc_threads_observe(void (*see)(const void *caller, int index, bool begins))
{
        enter_at_last();
        pool.see = see;
        leave();
}

void dnncc_threads_spin(int microseconds)
{
        atomic_store_explicit(&pool.spin, microseconds, memory_order_relaxed);
}
