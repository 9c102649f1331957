/* SPDX-License-Identifier: MIT */
/* Memory on huge pages begins where a huge page can begin.
 *
 * A file's pages are huge where its file system has large folios and nobody read it before in small
 * pieces; the advice asks for that. Memory without a file gets them from any system that has them
 * at all. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE                     /* It declares madvise and MAP_ANONYMOUS. */
#endif
#include "dnncc_runtime.h"

#include <errno.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

/* ---- Windows: large pages are for processes with a privilege, so there are none ---- */

static void *failed(int error)
{
        errno = error;
        return NULL;
}

void *dnncc_workspace_new(size_t bytes)
{
        void *workspace =
                VirtualAlloc(NULL, bytes ? bytes : 1, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
        return workspace ? workspace : failed(ENOMEM);
}

void dnncc_workspace_free(void *workspace, size_t bytes)
{
        (void)bytes;
        if (workspace)
                VirtualFree(workspace, 0, MEM_RELEASE);
}

static bool read_some(HANDLE file, unsigned char *to, size_t bytes)
{
        for (size_t done = 0; done < bytes;) {
                DWORD part = bytes - done < 1 << 30 ? (DWORD)(bytes - done) : 1 << 30, got = 0;
                if (!ReadFile(file, to + done, part, &got, NULL) || !got)
                        return false;
                done += got;
        }
        return true;
}

/* Opens the file, when its head says what it is and its size is right; else returns
 * INVALID_HANDLE_VALUE. */
static HANDLE open_weights(const char *path, size_t *bytes)
{
        struct dnncc_weights_head head;
        LARGE_INTEGER size, start = { .QuadPart = 0 };
        HANDLE file =
                CreateFileA(path, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
        if (file == INVALID_HANDLE_VALUE) {
                errno = GetLastError() == ERROR_ACCESS_DENIED ? EACCES : ENOENT;
                return file;
        }
        if (GetFileType(file) == FILE_TYPE_DISK && GetFileSizeEx(file, &size) &&
            read_some(file, (unsigned char *)&head, sizeof head) &&
            head.magic == DNNCC_WEIGHTS_MAGIC && head.bytes == (uint64_t)size.QuadPart &&
            head.bytes <= SIZE_MAX && SetFilePointerEx(file, start, NULL, FILE_BEGIN)) {
                *bytes = (size_t)head.bytes;
                return file;
        }
        CloseHandle(file);
        errno = EINVAL;
        return INVALID_HANDLE_VALUE;
}

const void *dnncc_weights_map(const char *path, size_t *bytes)
{
        HANDLE file = open_weights(path, bytes);
        if (file == INVALID_HANDLE_VALUE)
                return NULL;
        HANDLE mapping = CreateFileMappingA(file, NULL, PAGE_READONLY, 0, 0, NULL);
        const void *weights = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, *bytes) : NULL;
        if (mapping)
                CloseHandle(mapping);
        CloseHandle(file);
        return weights ? weights : failed(ENOMEM);
}

const void *dnncc_weights_load(const char *path, size_t *bytes)
{
        HANDLE file = open_weights(path, bytes);
        if (file == INVALID_HANDLE_VALUE)
                return NULL;
        void *weights = dnncc_workspace_new(*bytes);
        DWORD before;
        bool filled = weights && read_some(file, weights, *bytes) &&
                      VirtualProtect(weights, *bytes, PAGE_READONLY, &before);
        CloseHandle(file);
        if (filled || !weights)
                return weights;
        dnncc_workspace_free(weights, *bytes);
        return failed(EIO);
}

void dnncc_weights_unmap(const void *weights, size_t bytes)
{
        MEMORY_BASIC_INFORMATION what;
        if (!weights || !VirtualQuery(weights, &what, sizeof what))
                return;
        if (what.Type == MEM_MAPPED)
                UnmapViewOfFile(weights);
        else
                dnncc_workspace_free((void *)(uintptr_t)weights, bytes);
}

#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HUGE_PAGE = 2 << 20 };                /* x86-64 and arm64 with pages of 4 KB have these;
                                              * elsewhere it is just an alignment. */

/* Returns that much memory of our own, all zeros, at a multiple of HUGE_PAGE, or MAP_FAILED when
 * there is none. */
static void *reserve(size_t bytes)
{
        size_t page = (size_t)sysconf(_SC_PAGESIZE), length = (bytes + page - 1) / page * page;
        if (length < bytes || length > SIZE_MAX - HUGE_PAGE) {
                errno = ENOMEM;
                return MAP_FAILED;
        }
        unsigned char *all = mmap(NULL, length + HUGE_PAGE, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (all == MAP_FAILED)
                return all;
        size_t before = (HUGE_PAGE - (uintptr_t)all % HUGE_PAGE) % HUGE_PAGE;
        if (before)
                munmap(all, before);
        munmap(all + before + length, HUGE_PAGE - before);
#ifdef MADV_HUGEPAGE
        madvise(all + before, length, MADV_HUGEPAGE);
#endif
        return all + before;
}

void *dnncc_workspace_new(size_t bytes)
{
        void *workspace = reserve(bytes ? bytes : 1);
        return workspace == MAP_FAILED ? NULL : workspace;
}

void dnncc_workspace_free(void *workspace, size_t bytes)
{
        if (workspace)
                munmap(workspace, bytes ? bytes : 1);
}

/* ---- weights ---- */

/* Opens the file, when its head says what it is and its size is right; else returns -1. */
static int open_weights(const char *path, size_t *bytes)
{
        struct dnncc_weights_head head;
        struct stat st;
        int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);   /* It returns for a pipe, too. */
        if (fd < 0)
                return -1;
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
            pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
            head.magic == DNNCC_WEIGHTS_MAGIC && head.bytes == (uint64_t)st.st_size &&
            head.bytes <= SIZE_MAX) {
                *bytes = (size_t)head.bytes;
                return fd;
        }
        close(fd);
        errno = EINVAL;
        return -1;
}

static bool read_all(int fd, unsigned char *to, size_t bytes)
{
        for (size_t done = 0; done < bytes;) {
                ssize_t got = pread(fd, to + done, bytes - done, (off_t)done);
                if (got == 0)
                        errno = EINVAL;           /* The file has become shorter. */
                if (got == 0 || (got < 0 && errno != EINTR))
                        return false;
                done += got > 0 ? (size_t)got : 0;
        }
        return true;
}

static bool fill(void *memory, int fd, size_t bytes, bool copy)
{
        if (copy)
                return read_all(fd, memory, bytes) && mprotect(memory, bytes, PROT_READ) == 0;
        if (mmap(memory, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
                return false;
#ifdef MADV_HUGEPAGE
        madvise(memory, bytes, MADV_HUGEPAGE);
#endif
        return true;
}

static const void *get_weights(const char *path, size_t *bytes, bool copy)
{
        int fd = open_weights(path, bytes);
        void *memory = fd < 0 ? MAP_FAILED : reserve(*bytes);
        bool filled = memory != MAP_FAILED && fill(memory, fd, *bytes, copy);
        int error = errno;
        if (memory != MAP_FAILED && !filled)
                munmap(memory, *bytes);
        if (fd >= 0)
                close(fd);
        errno = error;
        return filled ? memory : NULL;
}

const void *dnncc_weights_map(const char *path, size_t *bytes)
{
        return get_weights(path, bytes, false);
}
const void *dnncc_weights_load(const char *path, size_t *bytes)
{
        return get_weights(path, bytes, true);
}

void dnncc_weights_unmap(const void *weights, size_t bytes)
{
        if (weights)
                munmap((void *)(uintptr_t)weights, bytes);
}

/* The texts are those of the compiler's own table (test/unit/run_codes_test.c compares them). */
const char *dnncc_error_text(int code)
{
        switch (code) {
        case 0: return "no error";
        case -1: return "a pointer is null";
        case -2: return "a pointer is not aligned for its type";
        case -3: return "a run-time index is out of range";
        case -4: return "a run-time extent, axis or amount does not fit the declared shape";
        case -5: return "the weights are not those of this build";
        case -6: return "the system does not let this process use the processor's tiles";
        case -7: return "there is no code for this processor";
        case -8: return "there is no device, or no driver";
        case -9: return "this device has not been prepared";
        case -10: return "a device cannot be prepared while a stream is captured";
        case -11: return "a pointer is to other memory than the device's";
        case -12: return "the device has too little shared memory";
        case -13:
                return "the device refused a launch or a copy, or what it was given ended in an "
                       "error";
        case -14:
                return "the device cannot reach memory: beyond its addresses, at no multiple that "
                       "it wants, or in two places at once";
        case -15: return "the device was not done in time";
        case -16: return "the device is gone, or stopped with an error";
        case -17: return "a text is longer than its room";
        case -18: return "the state, or the record of steps, is of another build, or is damaged";
        case -19: return "the state has no room for more";
        case -20: return "an image cannot be decoded, or has other extents";
        case -21: return "a constant is not what it was";
        case -22: return "a run on the file's own input gives other results";
        case -23: return "a C function of the program's did not return 0";
        case -24: return "a library could not compute a contraction";
        default: return "no code of this version";
        }
}
#endif
