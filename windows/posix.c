/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <windows.h>

#include <sys/ioctl.h>
#include <sys/random.h>

#undef fopen
#undef fclose

/* ---- the C library: arguments are no patterns, and bytes are what is written ---- */

extern int _dowildcard;
int _dowildcard = 0;

__attribute__((constructor)) static void bytes_alone(void)
{
        _set_fmode(_O_BINARY);
        for (int fd = 0; fd < 3; fd++)
                _setmode(fd, _O_BINARY);
}

/* ---- files ---- */

static int fail(DWORD error)
{
        errno = error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND ||
                                error == ERROR_INVALID_NAME
                        ? ENOENT
                : error == ERROR_ACCESS_DENIED || error == ERROR_SHARING_VIOLATION ? EACCES
                                                                                   : EIO;
        return -1;
}

static int stat_of(HANDLE file, struct posix_stat *st)
{
        BY_HANDLE_FILE_INFORMATION info;
        *st = (struct posix_stat){ .st_nlink = 1 };
        if (GetFileType(file) != FILE_TYPE_DISK) {
                st->st_mode = S_IFCHR;
                return 0;
        }
        if (!GetFileInformationByHandle(file, &info))
                return fail(GetLastError());
        DWORD a = info.dwFileAttributes;
        st->st_mode = a & FILE_ATTRIBUTE_REPARSE_POINT ? S_IFLNK
                      : a & FILE_ATTRIBUTE_DIRECTORY   ? S_IFDIR
                                                       : S_IFREG;
        st->st_dev = info.dwVolumeSerialNumber;
        st->st_ino = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow;
        st->st_size = (int64_t)((uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow);
        st->st_nlink = info.nNumberOfLinks;
        return 0;
}

static int stat_path(const char *path, struct posix_stat *st, DWORD flags)
{
        HANDLE file = CreateFileA(path, FILE_READ_ATTRIBUTES,
                                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                                  OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | flags, NULL);
        if (file == INVALID_HANDLE_VALUE)
                return fail(GetLastError());
        int result = stat_of(file, st);
        CloseHandle(file);
        return result;
}

int posix_stat(const char *path, struct posix_stat *st) { return stat_path(path, st, 0); }
int posix_lstat(const char *path, struct posix_stat *st)
{
        return stat_path(path, st, FILE_FLAG_OPEN_REPARSE_POINT);
}
int posix_fstat(int fd, struct posix_stat *st) { return stat_of((HANDLE)_get_osfhandle(fd), st); }

int posix_rename(const char *from, const char *to)
{
        return MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING) ? 0 : fail(GetLastError());
}

ssize_t pread(int fd, void *into, size_t bytes, off_t offset)
{
        if (_lseeki64(fd, offset, SEEK_SET) != offset)
                return -1;
        return _read(fd, into, (unsigned)bytes);
}

/* ---- streams ---- */

FILE *posix_fopen(const char *path, const char *mode)
{
        return fopen(strcmp(path, "/dev/null") ? path : "NUL", mode);
}

ssize_t getline(char **line, size_t *room, FILE *file)
{
        size_t length = 0;
        for (int c = 0; c != '\n' && (c = fgetc(file)) != EOF; length++) {
                if (length + 2 > *room) {
                        char *larger = realloc(*line, *room = 2 * *room + 128);
                        if (!larger)
                                return -1;
                        *line = larger;
                }
                (*line)[length] = (char)c;
                (*line)[length + 1] = 0;
        }
        return length ? (ssize_t)length : -1;
}

enum { KEPT_MAX = 64 };
static struct { FILE *file; char **text; size_t *length; } kept[KEPT_MAX];

static int kept_at(const FILE *file)
{
        for (int i = 0; i < KEPT_MAX; i++)
                if (kept[i].file == file)
                        return i;
        return -1;
}

FILE *open_memstream(char **text, size_t *length)
{
        int at = kept_at(NULL), fd = -1;
        char *path = _tempnam(NULL, "dnncc");
        if (path && at >= 0)
                fd = _open(path, _O_RDWR | _O_CREAT | _O_EXCL | _O_TEMPORARY | _O_BINARY,
                           _S_IREAD | _S_IWRITE);
        free(path);
        if (fd < 0)
                return NULL;
        kept[at].file = _fdopen(fd, "w+b");
        kept[at].text = text;
        kept[at].length = length;
        return kept[at].file;
}

int posix_fclose(FILE *file)
{
        int at = file ? kept_at(file) : -1;
        if (at < 0)
                return fclose(file);
        long length = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
        char *text = calloc((size_t)(length < 0 ? 0 : length) + 1, 1);
        rewind(file);
        bool fine = length >= 0 && text && fread(text, 1, (size_t)length, file) == (size_t)length;
        kept[at].file = NULL;
        *kept[at].text = text;
        *kept[at].length = fine ? (size_t)length : 0;
        return fclose(file) || !fine ? EOF : 0;
}

/* ---- the machine ---- */

int getentropy(void *into, size_t bytes)
{
        unsigned number;
        for (unsigned char *at = into; bytes; bytes--) {
                if (rand_s(&number))
                        return -1;
                *at++ = (unsigned char)number;
        }
        return 0;
}

int ioctl(int fd, int what, struct winsize *size)
{
        CONSOLE_SCREEN_BUFFER_INFO info;
        (void)what;
        if (!GetConsoleScreenBufferInfo((HANDLE)_get_osfhandle(fd), &info))
                return -1;
        size->ws_col = (unsigned short)(info.srWindow.Right - info.srWindow.Left + 1);
        size->ws_row = (unsigned short)(info.srWindow.Bottom - info.srWindow.Top + 1);
        return 0;
}

/* ---- a timer ---- */

static CRITICAL_SECTION held;
static HANDLE timer;
static void (*volatile on_alarm)(int);

__attribute__((constructor)) static void begin(void) { InitializeCriticalSection(&held); }

int sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
        if (before)
                *before = 0;
        if (how == SIG_BLOCK || (set && *set))
                EnterCriticalSection(&held);
        else
                LeaveCriticalSection(&held);
        return 0;
}

int sigaction(int number, const struct sigaction *now, struct sigaction *before)
{
        (void)number;
        if (before)
                *before = (struct sigaction){ .sa_handler = on_alarm };
        if (now)
                on_alarm = now->sa_handler;
        return 0;
}

static void CALLBACK ring(void *context, BOOLEAN fired)
{
        (void)context, (void)fired;
        EnterCriticalSection(&held);
        if (timer && on_alarm)
                on_alarm(SIGALRM);
        LeaveCriticalSection(&held);
}

int setitimer(int which, const struct itimerval *value, struct itimerval *before)
{
        DWORD period =
                (DWORD)(value->it_interval.tv_sec * 1000 + value->it_interval.tv_usec / 1000);
        HANDLE old = timer;
        (void)which, (void)before;
        timer = NULL;
        if (old)
                (void)DeleteTimerQueueTimer(NULL, old, INVALID_HANDLE_VALUE);
        return !period || CreateTimerQueueTimer(&timer, NULL, ring, NULL, period, period,
                                                WT_EXECUTEDEFAULT)
                       ? 0
                       : -1;
}
