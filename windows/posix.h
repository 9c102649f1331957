/* SPDX-License-Identifier: MIT */
/* These are what POSIX has and Windows has not, as far as dnncc uses it. The header is included in
 * front of every source there (Makefile), so that these say nothing of it. windows_process.c and
 * windows_beneath.c take the place of compiler/process.c and base/beneath.c, and windows_private.c
 * that of base/private.c. */
#ifndef WINDOWS_POSIX_H
#define WINDOWS_POSIX_H

#define _CRT_RAND_S
#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>

/* ---- files: with numbers that tell them apart, and 64 bits of size ---- */

#undef stat
#undef fstat
#undef ino_t
#define ino_t uint64_t
struct posix_stat { dev_t st_dev; uint64_t st_ino; unsigned st_mode, st_nlink; int64_t st_size; };
int posix_stat(const char *path, struct posix_stat *st);
int posix_lstat(const char *path, struct posix_stat *st);
int posix_fstat(int fd, struct posix_stat *st);
/* It replaces what is there, too. */
int posix_rename(const char *from, const char *to);
#define stat posix_stat
#define lstat posix_lstat
#define fstat posix_fstat
#define rename posix_rename
#define realpath(path, resolved) _fullpath(resolved, path, 0)
#define S_IFLNK 0xA000
#define S_ISLNK(mode) (((mode) & S_IFMT) == S_IFLNK)

#define O_NONBLOCK 0
#define O_CLOEXEC _O_NOINHERIT
#define mkdir(path, mode) _mkdir(path)
static inline int fchmod(int fd, int mode) { return (void)fd, (void)mode, 0; }
ssize_t pread(int fd, void *into, size_t bytes, off_t offset);

/* ---- streams and memory ---- */

FILE *posix_fopen(const char *path, const char *mode);            /* It knows /dev/null. */
/* The text is there when it is closed. */
FILE *open_memstream(char **text, size_t *length);
int posix_fclose(FILE *file);
ssize_t getline(char **line, size_t *room, FILE *file);
#define fopen posix_fopen
#define fclose posix_fclose
/* It is aligned to 16 bytes, enough for any number. */
#define aligned_alloc(alignment, bytes) malloc(bytes)

/* ---- signals: those of a timer alone, in a thread that waits while they are blocked ---- */

#define SIGALRM 14
#define SIGPIPE 13
#define SIGXFSZ 25
#define SA_RESTART 0
typedef int sigset_t;
struct sigaction { void (*sa_handler)(int); sigset_t sa_mask; int sa_flags; };
enum { SIG_BLOCK, SIG_SETMASK };
static inline int sigfillset(sigset_t *set) { return *set = 1, 0; }
static inline int sigemptyset(sigset_t *set) { return *set = 0, 0; }
static inline int sigaddset(sigset_t *set, int number) { return (void)number, *set = 1, 0; }
int sigprocmask(int how, const sigset_t *set, sigset_t *before);  /* It takes SIG_BLOCK and back. */
/* It takes SIGALRM. */
int sigaction(int number, const struct sigaction *now, struct sigaction *before);
enum { ITIMER_REAL };
struct itimerval { struct timeval it_interval, it_value; };
int setitimer(int which, const struct itimerval *value, struct itimerval *before);

#endif
