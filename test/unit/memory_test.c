/* SPDX-License-Identifier: MIT */
/* Workspaces; weights files in memory: whole, aligned, read only, or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/dnncc_runtime.h"

typedef const void *getter(const char *path, size_t *bytes);
static getter *const getters[] = { dnncc_weights_map, dnncc_weights_load };

static char path[] = "/tmp/memory_test.XXXXXX";

static int set_up(void **state)
{
        (void)state;
        int file = mkstemp(path);
        return file < 0 ? -1 : close(file);
}

static int tear_down(void **state)
{
        (void)state;
        return unlink(path);
}

static unsigned char byte_at(size_t i) { return (unsigned char)(i * 37 + i / 251); }

/* a head that says `said`, then bytes up to `real` */
static void write_weights(uint64_t magic, uint64_t said, size_t real)
{
        struct dnncc_weights_head head = { magic, DNNCC_WEIGHTS_FORMAT, said, 0, { 1, 2, 3, 4 } };
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(&head, 1, real < sizeof head ? real : sizeof head, file), real < sizeof head ? real : sizeof head);
        for (size_t i = sizeof head; i < real; i++)
                putc(byte_at(i), file);
        assert_int_equal(fclose(file), 0);
}

static int end_of_writer(unsigned char *weights)
{
        pid_t child = fork();
        if (child == 0) {
                setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
                signal(SIGSEGV, SIG_DFL);         /* cmocka's own handler would go on */
                weights[70] = 1;
                _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        return status;
}

static void whole_files(void **state)
{
        static const size_t sizes[] = { 64, 128, 4096, 4160, (2u << 20) - 64, 2u << 20, (5u << 20) + 64 };
        (void)state;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                write_weights(DNNCC_WEIGHTS_MAGIC, sizes[s], sizes[s]);
                for (size_t g = 0; g < 2; g++) {
                        size_t bytes = 0, page = (size_t)sysconf(_SC_PAGESIZE);
                        const unsigned char *weights = getters[g](path, &bytes);
                        assert_non_null(weights);
                        assert_int_equal(bytes, sizes[s]);
                        assert_int_equal((uintptr_t)weights % (2u << 20), 0);
                        for (size_t i = sizeof(struct dnncc_weights_head); i < bytes; i++)
                                if (weights[i] != byte_at(i))
                                        fail_msg("byte %zu of %zu", i, bytes);
                        assert_true(!(s == 1) || WIFSIGNALED(end_of_writer((unsigned char *)(uintptr_t)weights)));
                        dnncc_weights_unmap(weights, bytes);
                        /* nothing of it is left */
                        for (size_t i = 0; i < bytes; i += page)
                                assert_int_equal(msync((unsigned char *)(uintptr_t)weights + i, page, MS_ASYNC), -1);
                }
        }
        dnncc_weights_unmap(NULL, 0);
}

static void assert_refused(const char *which, int error)
{
        for (size_t g = 0; g < 2; g++) {
                size_t bytes = 0;
                errno = 0;
                assert_null(getters[g](which, &bytes));
                assert_int_equal(errno, error);
        }
}

static void refused_files(void **state)
{
        (void)state;
        assert_refused("/tmp/there/is/no/such/file", ENOENT);
        assert_refused("/tmp", EINVAL);
        assert_refused("/dev/zero", EINVAL);
        write_weights(DNNCC_WEIGHTS_MAGIC, 0, 0);
        assert_refused(path, EINVAL);
        write_weights(DNNCC_WEIGHTS_MAGIC, 63, 63);
        assert_refused(path, EINVAL);
        write_weights(DNNCC_WEIGHTS_MAGIC, 4096, 4095);
        assert_refused(path, EINVAL);
        write_weights(DNNCC_WEIGHTS_MAGIC, 4096, 4097);
        assert_refused(path, EINVAL);
        write_weights(__builtin_bswap64(DNNCC_WEIGHTS_MAGIC), 4096, 4096);
        assert_refused(path, EINVAL);
        char fifo[sizeof path + 8];
        snprintf(fifo, sizeof fifo, "%s.fifo", path);
        assert_int_equal(mkfifo(fifo, 0600), 0);
        assert_refused(fifo, EINVAL);             /* and does not wait for a writer */
        unlink(fifo);
}

/* no descriptor is lost, on either way */
static void many_times(void **state)
{
        (void)state;
        struct rlimit before, few;
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        few = before;
        few.rlim_cur = 32;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        for (int good = 0; good < 2; good++) {
                write_weights(DNNCC_WEIGHTS_MAGIC, 4096, good ? 4096 : 4000);
                for (int i = 0; i < 100; i++) {
                        size_t bytes;
                        const void *weights = getters[i % 2](path, &bytes);
                        assert_true(!weights == !good);
                        dnncc_weights_unmap(weights, bytes);
                }
        }
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void workspaces(void **state)
{
        static const size_t sizes[] = { 0, 1, 4096, 4097, (2u << 20) + 1, 9u << 20 };
        (void)state;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                unsigned char *workspace = dnncc_workspace_new(sizes[s]);
                assert_non_null(workspace);
                assert_int_equal((uintptr_t)workspace % (2u << 20), 0);
                memset(workspace, 1, sizes[s]);
                dnncc_workspace_free(workspace, sizes[s]);
                assert_int_equal(msync(workspace, 1, MS_ASYNC), -1);
        }
        dnncc_workspace_free(NULL, 0);
        const size_t huge[] = { SIZE_MAX, SIZE_MAX - 4096, SIZE_MAX - (2u << 20), SIZE_MAX / 2 };
        for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
                errno = 0;
                assert_null(dnncc_workspace_new(huge[i]));
                assert_int_equal(errno, ENOMEM);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(workspaces),
                cmocka_unit_test(whole_files),
                cmocka_unit_test(refused_files),
                cmocka_unit_test(many_times),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
