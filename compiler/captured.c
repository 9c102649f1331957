/* SPDX-License-Identifier: MIT */
/* The result is a line "CODE SECONDS BYTES", so many bytes of standard output, and then what came
 * to standard error. */
#include "compiler/captured.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "compiler/farm.h"
#include "compiler/process.h"

struct capture {
        int (*body)(void *context);
        void *context;
        FILE *out, *errors;
};

static int run_captured(void *context)
{
        const struct capture *c = context;
        int nothing = open("/dev/null", O_RDONLY);
        farm_forget();
        dup2(nothing, 0);
        dup2(fileno(c->out), 1);
        dup2(fileno(c->errors), 2);
        int code = c->body(c->context);
        fflush(NULL);
        return code;
}

static void add_file(struct text *text, FILE *f)
{
        char bytes[1 << 14];
        size_t length;
        rewind(f);
        while ((length = fread(bytes, 1, sizeof bytes, f)) > 0)
                text_add_bytes(text, bytes, length);
        fclose(f);
}

bool captured_run(int (*body)(void *context), void *context, struct text *result)
{
        const double start = clock_wall();
        struct capture c = { body, context, tmpfile(), tmpfile() };
        struct text out = { 0 }, errors = { 0 };
        int status = c.out && c.errors ? process_join(process_start(run_captured, &c), 0) : -1;
        int code = status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_INTERNAL;
        if (c.out)
                add_file(&out, c.out);
        if (c.errors)
                add_file(&errors, c.errors);
        if (status >= 0 && WIFSIGNALED(status))
                text_add(&errors, "dnncc: error: this command was ended by signal %d\n",
                         WTERMSIG(status));
        else if (status < 0)
                text_add(&errors, "dnncc: error: no process could be started for this command\n");
        text_add(result, "%d %.6f %zu\n", code, clock_wall() - start, out.length);
        if (out.length)
                text_add_bytes(result, out.data, out.length);
        if (errors.length)
                text_add_bytes(result, errors.data, errors.length);
        text_free(&out);
        text_free(&errors);
        return !process_stopped();
}

struct captured captured_read(const char *result, size_t length)
{
        static const char lost[] = "dnncc: error: the workers that did this command were lost\n";
        const char *end = result && length ? memchr(result, '\n', length) : NULL;
        struct captured c = { 0 };
        if (end && sscanf(result, "%d %lf %zu", &c.code, &c.seconds, &c.out_length) == 3 &&
            c.out_length <= length - (size_t)(end + 1 - result)) {
                c.out = end + 1;
                c.errors = c.out + c.out_length;
                c.errors_length = length - (size_t)(c.errors - result);
                return c;
        }
        return (struct captured){ EXIT_INTERNAL, 0, "", lost, 0, sizeof lost - 1 };
}
