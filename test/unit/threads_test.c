/* SPDX-License-Identifier: MIT */
/* The pool of threads: every index once, whoever else calls, at any time of its life. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/dnncc_runtime.h"

enum { MANY = 5000, MEMBERS = 300 };      /* more members than the pool ever has threads */

struct counts { atomic_int of[MEMBERS]; int count; atomic_int wrong; };

static void count_one(void *arg, int index, int count)
{
        struct counts *c = arg;
        if (count != c->count || index < 0 || index >= count)
                atomic_fetch_add(&c->wrong, 1);
        else
                atomic_fetch_add(&c->of[index], 1);
}

static int run_once(int count)            /* errors */
{
        struct counts c = { .count = count };
        dnncc_parallel(count_one, &c, count);
        int errors = c.wrong;
        for (int i = 0; i < MEMBERS; i++)
                errors += c.of[i] != (i < count);
        return errors;
}

static void sleep_microseconds(long n)
{
        nanosleep(&(struct timespec){ n / 1000000, n % 1000000 * 1000 }, NULL);
}

static void every_index_runs_once(void **state)
{
        (void)state;
        for (int count = -1; count <= 9; count++)
                assert_int_equal(run_once(count), 0);
        for (int i = 0; i < MANY; i++)
                assert_int_equal(run_once(i % 4 + 1), 0);
}

static void more_parts_than_threads(void **state)
{
        (void)state;
        assert_int_equal(run_once(MEMBERS), 0);
        dnncc_threads_shutdown();
}

/* Workers go to sleep after 50 microseconds: pauses around that find them on the way. */
static void workers_fall_asleep(void **state)
{
        (void)state;
        for (int i = 0; i < 300; i++) {
                assert_int_equal(run_once(3), 0);
                sleep_microseconds(i % 150);
        }
        dnncc_threads_spin(0);
        for (int i = 0; i < MANY; i++)
                assert_int_equal(run_once(3), 0);
        dnncc_threads_spin(50);
}

/* Plain memory: what the caller wrote before is seen by the tasks, what they wrote by the caller. */
struct sums { int64_t in[64], out[64]; };

static void add(void *arg, int index, int count)
{
        struct sums *s = arg;
        for (int i = 64 * index / count; i < 64 * (index + 1) / count; i++)
                s->out[i] += s->in[63 - i];
}

static void memory_is_seen(void **state)
{
        (void)state;
        struct sums s = { { 0 }, { 0 } };
        int64_t want = 0;
        for (int i = 0; i < MANY; i++) {
                for (int k = 0; k < 64; k++)
                        s.in[k] = i + k;
                dnncc_parallel(add, &s, 3);
        }
        for (int i = 0; i < MANY; i++)
                want += i;
        for (int k = 0; k < 64; k++)
                assert_true(s.out[k] == want + (int64_t)MANY * (63 - k));
}

static void nest(void *arg, int index, int count)
{
        (void)index, (void)count;
        atomic_fetch_add((atomic_int *)arg, run_once(5));
}

static void nested_calls_run(void **state)
{
        (void)state;
        atomic_int errors = 0;
        for (int i = 0; i < 200; i++)
                dnncc_parallel(nest, &errors, 4);
        assert_int_equal(errors, 0);
}

static void *call_often(void *arg)
{
        for (int i = 0; i < MANY; i++)
                atomic_fetch_add((atomic_int *)arg, run_once(i % 3 + 1));
        return NULL;
}

static void concurrent_callers_run(void **state)
{
        (void)state;
        pthread_t threads[3];
        atomic_int errors = 0;
        for (int i = 0; i < 3; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, call_often, &errors), 0);
        for (int i = 0; i < 50; i++)
                dnncc_threads_shutdown();         /* between calls of the others */
        for (int i = 0; i < 3; i++)
                pthread_join(threads[i], NULL);
        assert_int_equal(errors, 0);
}

static int threads_now(void)
{
        char line[128];
        int n = -1;
        FILE *file = fopen("/proc/self/status", "r");
        while (file && fgets(line, sizeof line, file))
                if (!strncmp(line, "Threads:", 8))
                        n = atoi(line + 8);
        if (file)
                fclose(file);
        return n;
}

static void shutdown_and_restart(void **state)
{
        (void)state;
        dnncc_threads_shutdown();
        dnncc_threads_shutdown();
        int before = threads_now();
        for (int i = 0; i < 30; i++) {
                assert_int_equal(run_once(i % 4 + 1), 0);
                if (i == 3)
                        assert_int_equal(threads_now(), before < 0 ? -1 : before + 3);
                if (i % 3 == 0 && i != 0)
                        dnncc_threads_shutdown();
        }
        dnncc_threads_shutdown();
        assert_int_equal(threads_now(), before);
}

static void pinning(void **state)
{
        (void)state;
        bool can = dnncc_threads_pin(true);
        assert_int_equal(run_once(4), 0);
        assert_int_equal(dnncc_threads_pin(true), can);
        assert_int_equal(run_once(6), 0);
        dnncc_threads_pin(false);
        assert_int_equal(run_once(6), 0);
}

static void fork_begins_anew(void **state)
{
        (void)state;
#ifdef __SANITIZE_THREAD__
        skip();                         /* it knows no threads after fork() */
#endif
        assert_int_equal(run_once(4), 0);
        pid_t child = fork();
        if (child == 0) {
                int errors = run_once(4);
                dnncc_threads_shutdown();
                _exit(errors != 0);
        }
        int status = -1;
        assert_true(child > 0 && waitpid(child, &status, 0) == child);
        assert_int_equal(status, 0);
        assert_int_equal(run_once(4), 0);
}

/* ---- teams ---- */

enum { STEPS = 2000 };
struct relay { int value[2][8]; atomic_int wrong, calls; };

/* Each step reads what all wrote in the step before: a barrier that leaks shows. */
static void relay(void *arg, int index, int count)
{
        struct relay *r = arg;
        atomic_fetch_add(&r->calls, 1);
        for (int step = 0; step < STEPS; step++) {
                r->value[step % 2][index] = step;
                dnncc_team_barrier(index, count);
                for (int i = 0; i < count; i++)
                        if (r->value[step % 2][i] != step)
                                atomic_fetch_add(&r->wrong, 1);
        }
}

static void teams_meet(void **state)
{
        (void)state;
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        for (int count = 1; count <= 8; count++) {
                struct relay r = { .wrong = 0 };
                bool ran = dnncc_team(relay, &r, count);
                assert_int_equal(r.wrong, 0);
                assert_int_equal(r.calls, ran ? count : 0);
                if (count == 1 || count > processors)
                        assert_int_equal(ran, count == 1);
                else if (!ran)
                        print_message("no team of %d\n", count);      /* the process may have fewer */
        }
        assert_int_equal(run_once(4), 0);
}

static void team_inside(void *arg, int index, int count)
{
        (void)index, (void)count;
        struct relay r = { .wrong = 0 };
        if (dnncc_team(relay, &r, 2) || r.calls)
                atomic_fetch_add((atomic_int *)arg, 1);
}

static void nested_teams_are_refused(void **state)
{
        (void)state;
        atomic_int wrong = 0;
        dnncc_parallel(team_inside, &wrong, 2);
        assert_int_equal(wrong, 0);
}

static int end_threads(void **state)
{
        (void)state;
        dnncc_threads_shutdown();
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_index_runs_once), cmocka_unit_test(more_parts_than_threads),
                cmocka_unit_test(workers_fall_asleep), cmocka_unit_test(memory_is_seen),
                cmocka_unit_test(nested_calls_run), cmocka_unit_test(concurrent_callers_run),
                cmocka_unit_test(shutdown_and_restart), cmocka_unit_test(pinning),
                cmocka_unit_test(fork_begins_anew), cmocka_unit_test(teams_meet),
                cmocka_unit_test(nested_teams_are_refused),
        };
        return cmocka_run_group_tests(tests, NULL, end_threads);
}
