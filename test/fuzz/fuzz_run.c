/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "test/fuzz/fuzz.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/driver.h"

enum { ARGUMENTS_MAX = 32 };

/* A run that has no memory left calls exit, which the linker leads to __wrap_exit: what it holds is
 * lost, and the next run begins. */
static jmp_buf ended;
static int inside;

_Noreturn void __wrap_exit(int code);
_Noreturn void __real_exit(int code);

_Noreturn void __wrap_exit(int code)
{
        if (!inside)
                __real_exit(code);
        longjmp(ended, code + 1);
}

/* The library's text is parsed once, not by each run. */
struct loop_library *__wrap_loop_library_new(struct arena *arena, struct diag *diag);
struct loop_library *__real_loop_library_new(struct arena *arena, struct diag *diag);

struct loop_library *__wrap_loop_library_new(struct arena *arena, struct diag *diag)
{
        static struct loop_library *library;
        static struct arena *kept;
        (void)arena;
        if (!library) {
                kept = arena_new();
                library = __real_loop_library_new(kept, diag);
        }
        return library;
}

/* Models are much larger than what is looked for, and so are their limits. */
static const char *const limits[] = {
        "--limit=nodes=2000",           "--limit=expansion=500",
        "--limit=tensor_bytes=1048576", "--limit=sparse_bytes=65536",
        "--limit=total_bytes=16777216", "--limit=fold_steps=200000",
        "--limit=fold_total_steps=1000000", "--limit=automaton_states=200",
        "--limit=detach_steps=20000",
};

/* Returns the path of a file in memory that holds the bytes; the same one for every run. */
static const char *file_of(const uint8_t *bytes, size_t size)
{
        static int file = -1;
        static char path[64];
        if (file < 0) {
                file = memfd_create("model", MFD_CLOEXEC);
                snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        }
        if (file < 0 || ftruncate(file, 0) || pwrite(file, bytes, size, 0) != (ssize_t)size)
                abort();
        return path;
}

int fuzz_run(const uint8_t *bytes, size_t size, const char *const *options)
{
        char *arguments[ARGUMENTS_MAX] = { "dnncc", (char *)file_of(bytes, size) };
        int count = 2;
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
                arguments[count++] = (char *)limits[i];
        while (*options && count < ARGUMENTS_MAX - 1)
                arguments[count++] = (char *)*options++;
        inside = 1;
        int code = setjmp(ended);
        code = code ? code - 1 : driver_main(count, arguments);
        inside = 0;
        if (code < EXIT_OK || code > EXIT_BUDGET)
                abort();
        return code;
}
