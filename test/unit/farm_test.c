/* SPDX-License-Identifier: MIT */
/* Farms of processes: results in one order, whatever becomes of workers. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "compiler/farm.h"
#include "compiler/farm_line.h"
#include "compiler/process.h"

/* What all processes of a test see. */
static struct { int started, ended; int makes[4096]; pid_t last; } *shared;

struct job {
        int64_t count;
        size_t length;                  /* Pieces and results have so many bytes more. */
        void (*trouble)(int64_t piece, int make);       /* make: how often the piece was made before. */
        int64_t taken, given_up;
        int64_t stop;                   /* take fails at this piece; -1: at none. */
        bool steps;                     /* Each piece wants the result of the one before. */
};

static char *bytes_of(int64_t piece, size_t length)
{
        char *bytes = malloc(length + 1);
        for (size_t i = 0; i < length; i++)
                bytes[i] = (char)(piece * 7 + (int64_t)i * 13);
        return bytes;
}

static bool propose(void *context, int64_t piece, struct text *out)
{
        struct job *job = context;
        if (piece >= job->count || (job->steps && piece > job->taken))
                return false;
        char *bytes = bytes_of(piece, job->length);
        text_add(out, "%d ", (int)piece * 3);
        text_add_bytes(out, bytes, job->length);
        free(bytes);
        return true;
}

static bool make(void *context, int64_t piece, const char *bytes, size_t length, struct text *result)
{
        struct job *job = context;
        char *more = bytes_of(piece, job->length);
        char head[32];
        const size_t at = (size_t)sprintf(head, "%d ", (int)piece * 3);
        if (length != at + job->length || memcmp(bytes, head, at) || memcmp(bytes + at, more, job->length))
                abort();
        if (job->trouble)
                job->trouble(piece, __atomic_fetch_add(&shared->makes[piece], 1, __ATOMIC_SEQ_CST));
        if (piece == 0)
                shared->last = getpid();
        text_add(result, "%d ", (int)piece * 5);
        text_add_bytes(result, more, job->length);
        free(more);
        return job->count != -2;
}

static bool take(void *context, int64_t piece, const char *result, size_t length)
{
        struct job *job = context;
        assert_int_equal(piece, job->taken);
        job->taken++;
        if (!result) {
                job->given_up++;
                return true;
        }
        char *more = bytes_of(piece, job->length);
        char head[32];
        const size_t at = (size_t)sprintf(head, "%d ", (int)piece * 5);
        assert_int_equal(length, at + job->length);
        assert_memory_equal(result, head, at);
        assert_memory_equal(result + at, more, job->length);
        free(more);
        return piece != job->stop;
}

static struct diag diag;
static char *said;
static size_t said_length;

static enum farm_end run(struct job *job, int workers, bool twice)
{
        const struct farm_work work = { job, propose, make, take, twice, NULL };
        memset(shared, 0, sizeof *shared);
        diag = (struct diag){ .stream = open_memstream(&said, &said_length) };
        enum farm_end end = farm_run(&work, workers, &diag);
        fclose(diag.stream);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);       /* No child is left. */
        return end;
}

static void jitter(int64_t piece, int number) { usleep((useconds_t)((piece * 7919 + number) % 5 * 1000)); }

static void test_order(void **state)
{
        (void)state;
        for (int workers = 1; workers <= 8; workers += 7) {
                struct job job = { .count = 200, .length = 100, .trouble = jitter, .stop = -1 };
                assert_int_equal(run(&job, workers, false), FARM_DONE);
                assert_int_equal(job.taken, 200);
                assert_int_equal(diag.warnings + diag.errors, 0);
                for (int i = 0; i < 200; i++)
                        assert_int_equal(shared->makes[i], 1);
                free(said);
        }
}

static void test_edges(void **state)
{
        (void)state;
        struct job none = { .count = 0, .stop = -1 }, few = { .count = 2, .stop = -1 };
        assert_int_equal(run(&none, 3, false), FARM_DONE);
        free(said);
        const double start = clock_wall();
        assert_int_equal(run(&few, 16, false), FARM_DONE);        /* The rest ends at once. */
        assert_true(clock_wall() - start < 2);
        assert_int_equal(few.taken, 2);
        free(said);
        struct job steps = { .count = 40, .steps = true, .stop = -1 };
        assert_int_equal(run(&steps, 4, false), FARM_DONE);
        assert_int_equal(steps.taken, 40);
        free(said);
        struct job stops = { .count = 100, .trouble = jitter, .stop = 10 };
        assert_int_equal(run(&stops, 4, false), FARM_FAILED);
        assert_int_equal(stops.taken, 11);
        free(said);
}

/* Both ends write more than sockets hold before either reads. */
static void test_large(void **state)
{
        (void)state;
        struct job job = { .count = 12, .length = 3 << 20, .stop = -1 };
        assert_int_equal(run(&job, 3, false), FARM_DONE);
        assert_int_equal(job.taken, 12);
        free(said);
}

static void dies_once(int64_t piece, int number)
{
        if (piece % 10 == 3 && !number)
                raise(SIGKILL);
}

static void dies_always(int64_t piece, int number)
{
        (void)number;
        if (piece == 5)
                raise(SIGKILL);
}

static void all_die(int64_t piece, int number)
{
        (void)piece;
        (void)number;
        if (getpid() != shared->started)
                raise(SIGKILL);
}

static void test_lost(void **state)
{
        (void)state;
        struct job job = { .count = 40, .trouble = dies_once, .stop = -1 };
        assert_int_equal(run(&job, 6, false), FARM_DONE);
        assert_int_equal(job.taken, 40);
        assert_int_equal(job.given_up, 0);
        assert_int_equal(diag.warnings, 4);
        assert_non_null(strstr(said, "was lost: its piece, number 4, is made by another"));
        free(said);
        struct job bad = { .count = 20, .trouble = dies_always, .stop = -1 };
        assert_int_equal(run(&bad, 5, false), FARM_DONE);
        assert_int_equal(bad.given_up, 1);
        assert_int_equal(shared->makes[5], FARM_TRIES);
        assert_non_null(strstr(said, "piece 6 has ended 3 workers, and is given up"));
        free(said);
        /* What ended no worker is made here. */
        struct job here = { .count = 20, .trouble = all_die, .stop = -1 };
        shared->started = 0;
        const struct farm_work work = { &here, propose, make, take, false, NULL };
        memset(shared, 0, sizeof *shared);
        shared->started = getpid();
        diag = (struct diag){ .silent = true };
        assert_int_equal(farm_run(&work, 2, &diag), FARM_DONE);
        assert_int_equal(here.taken, 20);
        assert_int_equal(here.given_up, 2);
}

static bool make_struck(void *context, int64_t piece, const char *bytes, size_t length, struct text *result)
{
        if (piece == 7 && !__atomic_fetch_add(&shared->started, 1, __ATOMIC_SEQ_CST)) {
                fprintf(stderr, "no compiler here\nand more\n");
                return false;
        }
        return make(context, piece, bytes, length, result);
}

static void test_struck(void **state)
{
        (void)state;
        struct job job = { .count = 20, .stop = -1 };
        const struct farm_work work = { &job, propose, make_struck, take, false, NULL };
        memset(shared, 0, sizeof *shared);
        diag = (struct diag){ .stream = open_memstream(&said, &said_length) };
        assert_int_equal(farm_run(&work, 3, &diag), FARM_DONE);
        fclose(diag.stream);
        assert_int_equal(job.taken, 20);
        assert_int_equal(diag.warnings, 1);
        assert_non_null(strstr(said, "cannot work and is struck off (no compiler here): its piece, number 8"));
        free(said);
}

static void sleeps_once(int64_t piece, int number)
{
        if (piece == 2 && !number)
                sleep(30);
}

/* A slow worker's piece is made by another as well. */
static void test_late(void **state)
{
        (void)state;
        struct job job = { .count = 10, .trouble = sleeps_once, .stop = -1 };
        const double start = clock_wall();
        assert_int_equal(run(&job, 3, true), FARM_DONE);
        assert_true(clock_wall() - start < 10);
        assert_int_equal(job.taken, 10);
        assert_int_equal(shared->makes[2], 2);
        free(said);
}

enum { HANG = 60 };                     /* It is in seconds. */

static void hangs(int64_t piece, int number)
{
        (void)piece;
        (void)number;
        sleep(HANG);
}

static int coordinate(void *context)
{
        struct job job = { .count = 10, .trouble = hangs, .stop = -1 };
        const struct farm_work work = { &job, propose, make, take, false, NULL };
        (void)context;
        return (int)farm_run(&work, 3, &diag);
}

/* Workers end with the coordinator, whatever ends it. */
static void test_coordinator_ends(void **state)
{
        (void)state;
#ifdef __linux__
        static const int signals[] = { SIGKILL, SIGTERM, SIGINT };
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
                int alive[2];
                char byte;
                memset(shared, 0, sizeof *shared);
                assert_int_equal(pipe(alive), 0);         /* Each process of the farm has its end. */
                pid_t child = process_start(coordinate, NULL);
                close(alive[1]);
                while (__atomic_load_n(&shared->makes[0], __ATOMIC_SEQ_CST) == 0)
                        usleep(1000);
                const double start = clock_wall();
                kill(child, signals[i]);
                assert_int_equal(read(alive[0], &byte, 1), 0);
                assert_true(clock_wall() - start < HANG / 2);   /* A loaded machine takes its time. */
                int status = process_join(child, HANG / 2);
                assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
                close(alive[0]);
        }
#endif
}

static int greet_falsely(void *context, struct line *line)
{
        struct message m;
        line_send(line, 0, FARM_HELLO, context, strlen(context));
        while (!line_receive(line, 1, &m) || m.kind != FARM_END)
                assert_int_not_equal(m.kind, FARM_PIECE);
        return 0;
}

/* Frames that no worker of ours sends. */
static int send_nonsense(void *context, struct line *line)
{
        const int64_t numbers[] = { -1, 5, INT64_MAX };
        (void)context;
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
                line_send(line, 0, FARM_RESULT, &numbers[i], sizeof numbers[i]);
        line_send(line, 0, FARM_RESULT, "abc", 3);
        line_send(line, 0, (enum farm_kind)99, NULL, 0);
        line_send(line, 0, FARM_STRUCK, NULL, 0);
        return 0;
}

static void test_lines(void **state)
{
        (void)state;
        struct line *line = line_fork(2, greet_falsely, (char *)"0123\nhost, process 1");
        struct message m;
        int hellos = 0;
        assert_int_equal(line_place(line), 0);
        assert_int_equal(line_workers(line), 2);
        while (hellos < 2) {
                assert_true(line_receive(line, 5, &m));
                assert_int_equal(m.kind, FARM_HELLO);
                assert_int_equal(m.length, 20);
                hellos++;
        }
        line_send(line, 1, FARM_END, NULL, 0);
        assert_true(line_receive(line, 5, &m));
        assert_true(m.kind == FARM_LOST && m.from == 1);
        line_send(line, 1, FARM_PIECE, "x", 1);           /* It goes nowhere. */
        line_close(line);
        line = line_fork(1, send_nonsense, NULL);
        int frames = 0;
        while (line_receive(line, 5, &m) && m.kind != FARM_LOST)
                frames++;
        assert_int_equal(frames, 6);
        line_close(line);
        static const char *const wrong[] = { "", "1", "3 1", "x 1 2", "3 -1 2", "3 5 2", "3 0 0", "3 1 2 x", "999 1 2" };
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                setenv(FARM_VARIABLE, wrong[i], 1);
                assert_null(line_inherit());
        }
        unsetenv(FARM_VARIABLE);
        assert_null(line_inherit());
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_order), cmocka_unit_test(test_edges), cmocka_unit_test(test_large),
                cmocka_unit_test(test_lost), cmocka_unit_test(test_struck), cmocka_unit_test(test_late),
                cmocka_unit_test(test_coordinator_ends), cmocka_unit_test(test_lines),
        };
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        signal(SIGPIPE, SIG_IGN);
        process_begin();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
