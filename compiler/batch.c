/* SPDX-License-Identifier: MIT */
/* --batch: each line of a list is a piece of a farm. A worker does it in a process of its own, so
 * that no line, whatever becomes of it, ends others; what it writes to standard output and standard
 * error comes back with its exit code, and is passed on in the order of the lines. Messages come
 * behind a line that says whose they are:
 *
 *      list.txt: line 3: exit code 4: odd.onnx -o odd.c
 *      odd.onnx: error: node 'n' (Strange): operator not supported
 *
 * and at the end stands a table on standard output. */
#include "compiler/batch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/captured.h"
#include "compiler/farm.h"
#include "compiler/process.h"
#include "compiler/progress.h"

struct outcome { int code; double seconds; };

struct batching {
        struct run *run;
        struct batch_list list;
        char **front;                   /* The options of the command line, without --batch. */
        int front_count;
        struct outcome *outcomes;
        int failed;                     /* So many lines failed; the first is `first`. */
        int first;
};

/* ---- a worker ---- */

struct command_line { int argc; char **argv; };

static int do_command(void *context)
{
        const struct command_line *c = context;
        return (int)driver_command(c->argc, c->argv);
}

/* Splits "WORD\0WORD\0" into arguments. */
static char **split(const char *bytes, size_t length, int *argc)
{
        char **argv = NULL;
        *argc = 0;
        for (size_t at = 0; at < length; at += strlen(bytes + at) + 1) {
                argv = memory_resize(argv, (size_t)(*argc + 2) * sizeof *argv);
                argv[(*argc)++] = (char *)(uintptr_t)(bytes + at);
                argv[*argc] = NULL;
        }
        return argv;
}

static bool make_line(void *context, int64_t piece, const char *bytes, size_t length,
                      struct text *result)
{
        struct command_line c;
        (void)context;
        (void)piece;
        c.argv = split(bytes, length, &c.argc);
        bool fine = captured_run(do_command, &c, result);
        free(c.argv);
        return fine;
}

/* ---- the coordinator ---- */

static bool propose_line(void *context, int64_t piece, struct text *out)
{
        struct batching *b = context;
        struct arena *arena = arena_new();
        int argc;
        if (piece == 0) {
                progress_begin("batch", &b->run->diag);
                progress_step(0, 0, "%d lines", b->list.count);
        }
        if (piece < b->list.count) {
                char **argv = batch_arguments(arena, &b->list.lines[piece], b->front,
                                              b->front_count, &argc);
                for (int i = 0; i < argc; i++)
                        text_add_bytes(out, argv[i], strlen(argv[i]) + 1);
        }
        arena_free(arena);
        return piece < b->list.count;
}

/* Adds the words of a line, as a shell takes them. */
static void put_words(FILE *out, struct arena *arena, const struct batch_line *line)
{
        for (int i = 0; i < line->count; i++)
                fprintf(out, "%s%s", i ? " " : "",
                        text_argument(arena, text_shell_word(arena, line->words[i].text)));
}

static void say_line(struct batching *b, int64_t piece, const char *errors, size_t length)
{
        const struct batch_line *line = &b->list.lines[piece];
        const int code = b->outcomes[piece].code;
        if (!code && !length)
                return;
        if (diag_speaking)
                diag_speaking(true);
        if (!diag_json) {
                struct arena *arena = arena_new();
                fprintf(stderr, "%s: line %d: exit code %d: ", b->list.name, line->number, code);
                put_words(stderr, arena, line);
                fputc('\n', stderr);
                arena_free(arena);
        }
        fwrite(errors, 1, length, stderr);
        if (diag_speaking)
                diag_speaking(false);
}

static bool take_line(void *context, int64_t piece, const char *result, size_t length)
{
        struct batching *b = context;
        const struct captured c = captured_read(result, length);
        b->outcomes[piece] = (struct outcome){ c.code, c.seconds };
        say_line(b, piece, c.errors, c.errors_length);
        if (c.out_length)
                fwrite(c.out, 1, c.out_length, stdout);
        fflush(stdout);
        if (c.code && !b->failed++)
                b->first = (int)piece;
        progress_step(piece + 1, b->list.count, "%" PRId64 " of %d lines, %d failed", piece + 1,
                      b->list.count, b->failed);
        return true;
}

static void put_table(struct batching *b)
{
        struct arena *arena = arena_new();
        printf("%6s %5s %9s  %s\n", "line", "exit", "seconds", b->list.name);
        for (int i = 0; i < b->list.count; i++) {
                printf("%6d %5d %9.2f  ", b->list.lines[i].number, b->outcomes[i].code,
                       b->outcomes[i].seconds);
                put_words(stdout, arena, &b->list.lines[i]);
                putchar('\n');
        }
        printf("%d of %d lines done", b->list.count - b->failed, b->list.count);
        if (b->failed)
                printf(", %d failed; the first is line %d, exit code %d", b->failed,
                       b->list.lines[b->first].number, b->outcomes[b->first].code);
        putchar('\n');
        arena_free(arena);
}

/* Returns the words of the command line without --batch and --jobs. */
static char **front_of(struct arena *arena, int argc, char **argv, int *count)
{
        char **words = arena_array(arena, (size_t)argc + 1, sizeof *words);
        *count = 0;
        for (int i = 1; i < argc; i++) {
                if (!strcmp(argv[i], "--batch") || !strcmp(argv[i], "--jobs"))
                        i++;
                else if (strncmp(argv[i], "--batch=", 8) && strncmp(argv[i], "--jobs=", 7))
                        words[(*count)++] = argv[i];
        }
        return words;
}

bool batch(struct run *run, int argc, char **argv)
{
        const struct options *o = &run->options;
        struct batching b = { .run = run };
        if (!process_commands) {
                diag_error(&run->diag, EXIT_UNSUPPORTED,
                           "--batch starts processes, which dnncc for Windows does not");
                return false;
        }
        if (o->model || o->output) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--batch wants models and outputs in the lines of %s: %s stands "
                           "outside of them",
                           text_argument(run->arena, o->batch),
                           text_argument(run->arena, o->model ? o->model : "-o"));
                return false;
        }
        b.front = front_of(run->arena, argc, argv, &b.front_count);
        if (!farm_is_worker() &&
            (!set_limits(run) ||
             !batch_list_read(run, o->batch, b.front, b.front_count, &b.list)))
                return false;
        b.outcomes = arena_array(run->arena, (size_t)b.list.count + 1, sizeof *b.outcomes);
        const struct farm_work work = { &b, propose_line, make_line, take_line, false, NULL };
        const int jobs = o->jobs < b.list.count ? o->jobs : b.list.count;
        enum farm_end end = farm_run(&work, jobs ? jobs : 1, &run->diag);
        progress_end();
        if (end != FARM_DONE)
                return end == FARM_SERVED;
        put_table(&b);
        if (b.failed)
                run->diag.code = (enum exit_code)b.outcomes[b.first].code;
        return !b.failed;
}
