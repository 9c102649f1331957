/* SPDX-License-Identifier: MIT */
/* dnncc-run-tests runs commands of a shell, those of a file's lines, in many processes:
 *
 *      dnncc-run-tests LIST JOBS               in so many of this machine
 *      mpirun -n 8 dnncc-run-tests LIST        on the machines that mpirun has
 *
 * Each says in one line how it ended, in the order of the list, and where it failed what it wrote.
 * A worker that is lost costs its command, which another one runs again. The exit code is 0 where
 * all commands ended so. `make check-all JOBS=mpi` writes such a list of its tests. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/captured.h"
#include "compiler/farm.h"
#include "compiler/process.h"

struct tests { char **commands; int64_t count, failed; };

static int run_command(void *command)
{
        execl("/bin/sh", "sh", "-c", (char *)command, (char *)NULL);
        return 127;
}

static bool propose(void *context, int64_t piece, struct text *out)
{
        const struct tests *t = context;
        if (piece >= t->count)
                return false;
        text_add_bytes(out, t->commands[piece], strlen(t->commands[piece]));
        return true;
}

static bool make(void *context, int64_t piece, const char *bytes, size_t length, struct text *result)
{
        struct text command = { 0 };
        (void)context;
        (void)piece;
        text_add_bytes(&command, bytes, length);
        bool fine = captured_run(run_command, command.data, result);
        text_free(&command);
        return fine;
}

static bool take(void *context, int64_t piece, const char *result, size_t length)
{
        struct tests *t = context;
        const struct captured c = captured_read(result, length);
        t->failed += c.code != 0;
        printf("%s %8.2f s  %s\n", c.code ? "FAILED" : "passed", c.seconds, t->commands[piece]);
        if (c.code) {
                fwrite(c.out, 1, c.out_length, stdout);
                fwrite(c.errors, 1, c.errors_length, stdout);
                printf("exit code %d\n", c.code);
        }
        return !fflush(stdout);
}

/* Reads the lines that are neither empty nor begin with #. */
static bool read_list(struct tests *t, const char *path)
{
        FILE *in = fopen(path, "r");
        char *line = NULL;
        size_t room = 0;
        ssize_t length;
        if (!in) {
                fprintf(stderr, "dnncc-run-tests: error: cannot read %s: %s\n", path, strerror(errno));
                return false;
        }
        while ((length = getline(&line, &room, in)) > 0) {
                line[strcspn(line, "\n")] = 0;
                if (!*line || *line == '#')
                        continue;
                t->commands = memory_resize(t->commands, (size_t)(t->count + 1) * sizeof *t->commands);
                t->commands[t->count++] = strcpy(memory_alloc(strlen(line) + 1), line);
        }
        free(line);
        fclose(in);
        return true;
}

int main(int argc, char **argv)
{
        struct tests t = { 0 };
        struct diag diag = { .subject = "dnncc-run-tests" };
        const struct farm_work work = { &t, propose, make, take, false, NULL };
        const int jobs = argc == 3 ? atoi(argv[2]) : 1;
        signal(SIGPIPE, SIG_IGN);
        process_begin();
        if ((argc != 2 && argc != 3) || jobs < 1) {
                fprintf(stderr, "usage: dnncc-run-tests LIST [JOBS]\n");
                return EXIT_USAGE;
        }
        if (!farm_enter(argc, argv, "dnncc-run-tests", &diag))
                return (int)diag.code;
        if (!farm_is_worker() && !read_list(&t, argv[1]))
                return EXIT_IO;
        const enum farm_end end = farm_run(&work, jobs, &diag);
        if (end == FARM_SERVED)
                return 0;
        printf("%" PRId64 " of %" PRId64 " passed\n", t.count - t.failed, t.count);
        for (int64_t i = 0; i < t.count; i++)
                free(t.commands[i]);
        free(t.commands);
        return end != FARM_DONE || t.failed ? 1 : 0;
}
