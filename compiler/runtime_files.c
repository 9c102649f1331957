/* SPDX-License-Identifier: MIT */
/* Files of the runtime travel inside dnncc: what --bench and --tune compile needs none that is
 * installed, and none for another processor. */
#include "compiler/harness.h"

#include <string.h>

#include "compiler/process.h"

static const char *const header_text[] = {
#include "runtime_header.inc"
        NULL
};
static const char *const trace_text[] = {
#include "runtime_trace.inc"
        NULL
};
static const char *const threads_text[] = {
        "#ifdef __GNUC__\n#pragma weak dnncc_parallel  /* --cc may bring one */\n#endif\n",
#include "runtime_threads.inc"
        NULL
};
static const struct { const char *name; const char *const *lines; } files[] = {
        { "dnncc_runtime.h", header_text }, { RUNTIME_TRACE, trace_text }, { RUNTIME_THREADS, threads_text },
};
enum { FILES = sizeof files / sizeof *files };

void runtime_expect(const struct harness *h)
{
        for (int i = 0; i < FILES; i++)
                temporary_expect(harness_path(h, files[i].name, ""));
}

static bool write_lines(const struct harness *h, const char *path, const char *const *lines)
{
        FILE *out = fopen(path, "w");
        for (; *lines && out; lines++)
                fputs(*lines, out);
        return (out && !fclose(out)) || harness_cannot_write(h);
}

bool runtime_write(const struct harness *h, const char *name)
{
        bool fine = true;
        for (int i = 0; i < FILES && fine; i++)
                if (!i || !strcmp(files[i].name, name))
                        fine = write_lines(h, harness_path(h, files[i].name, ""), files[i].lines);
        return fine;
}
