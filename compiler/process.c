/* SPDX-License-Identifier: MIT */
#include "compiler/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/clock.h"
#include "base/diag.h"
#include "base/memory.h"
#include "base/text.h"

/* ---- standard input ---- */

bool process_reads_pipe(const char *path)
{
        enum { PATIENCE = 1000 };       /* It is in milliseconds, for a writer that opens a named
                                         * pipe after us. */
        struct stat st;
        if (stat(path, &st) || !S_ISFIFO(st.st_mode))
                return false;
        int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        bool fine = fd >= 0 && poll(&wait, 1, PATIENCE) > 0 && (wait.revents & POLLIN) &&
                    fcntl(fd, F_SETFL, 0) >= 0 && dup2(fd, 0) == 0;
        if (fd > 0)
                close(fd);
        return fine;
}

/* ---- what is registered ---- */

struct temporary { char *path; bool folder; };

/* They are changed while signals are held only, so that a handler finds them whole. */
static struct temporary *list;
static int count, room;

/* Removes what was registered; a signal handler may do no more. */
static void remove_from(int first)
{
        for (int i = count - 1; i >= first; i--)
                if (list[i].folder)
                        rmdir(list[i].path);
                else
                        unlink(list[i].path);
}

/* ---- children ---- */

/* Each child leads a process group: what it starts ends with it. These are changed while signals
 * are held only. */
enum { CHILDREN_MAX = 300, GRACE = 200, TICK_MS = 10 };
static pid_t children[CHILDREN_MAX];
static int child_count;

static bool is_group(pid_t group) { return kill(-group, 0) == 0; }

/* Ends a group. Compilers that are asked to end remove what they have in /tmp, so all are asked
 * first; those that have not ended after a while are killed. A signal handler may do this. */
static void end_group(pid_t group)
{
        for (int i = 0; i < GRACE + GRACE / 4; i++) {
                if (i == 0 || i == GRACE)
                        kill(-group, i ? SIGKILL : SIGTERM);
                kill(-group, SIGCONT);
                waitpid(group, NULL, WNOHANG);
                if (!is_group(group))
                        return;
                poll(NULL, 0, TICK_MS);
        }
}

static void end_children(void)
{
        for (int i = 0; i < child_count; i++)
                kill(-children[i], SIGTERM);    /* All end at the same time. */
        while (child_count)
                end_group(children[--child_count]);
}

static void remove_all(void)
{
        end_children();
        remove_from(0);
}

void process_hold_signals(sigset_t *before)
{
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, before);
}

void process_release_signals(const sigset_t *before)
{
        sigprocmask(SIG_SETMASK, before, NULL);
}

/* Makes room for one more, and for its path: registering it cannot fail then. */
static char *reserve(size_t length)
{
        if (count == room) {
                room = room ? 2 * room : 16;
                list = memory_resize(list, (size_t)room * sizeof *list);
        }
        return memory_alloc(length + 1);
}

static void add(char *copy, const char *path, bool folder)
{
        strcpy(copy, path);
        list[count++] = (struct temporary){ copy, folder };
}

int temporary_file(char *pattern)
{
        sigset_t before;
        process_hold_signals(&before);
        char *copy = reserve(strlen(pattern));
        int fd = mkstemp(pattern), error = errno;
        if (fd >= 0)
                add(copy, pattern, false);
        else
                free(copy);
        process_release_signals(&before);
        errno = error;
        return fd;
}

bool temporary_folder(char *pattern)
{
        sigset_t before;
        process_hold_signals(&before);
        char *copy = reserve(strlen(pattern));
        bool made = mkdtemp(pattern) != NULL;
        int error = errno;
        if (made)
                add(copy, pattern, true);
        else
                free(copy);
        process_release_signals(&before);
        errno = error;
        return made;
}

char *temporary_workshop(struct arena *arena, const char *what, struct diag *diag)
{
        const char *place = getenv("TMPDIR");
        if (!place || *place != '/')
                place = "/tmp";
        char *folder = arena_printf(arena, "%s/dnncc-%s-XXXXXX", place, what);
        if (temporary_folder(folder))
                return folder;
        diag_error(diag, EXIT_IO, "cannot make a folder in %s: %s; TMPDIR names another place",
                   text_argument(arena, place), strerror(errno));
        return NULL;
}

void temporary_expect(const char *path)
{
        sigset_t before;
        process_hold_signals(&before);
        add(reserve(strlen(path)), path, false);
        process_release_signals(&before);
}

void temporary_forget(const char *path)
{
        sigset_t before;
        process_hold_signals(&before);
        for (int i = count - 1; i >= 0; i--)
                if (!strcmp(list[i].path, path)) {
                        free(list[i].path);
                        memmove(list + i, list + i + 1, (size_t)(--count - i) * sizeof *list);
                        break;
                }
        process_release_signals(&before);
}

int temporaries_count(void)
{
        return count;
}

void temporaries_remove(int first)
{
        sigset_t before;
        process_hold_signals(&before);
        remove_from(first);
        while (count > first)
                free(list[--count].path);
        process_release_signals(&before);
}

/* ---- signals ---- */

static const struct { int number; bool asks; } endings[] = {
        /* These signals ask the process to end. */
        { SIGINT, true },   { SIGTERM, true },  { SIGHUP, true },
        /* After these it cannot go on. */
        { SIGQUIT, false }, { SIGABRT, false }, { SIGSEGV, false }, { SIGBUS, false },
        { SIGFPE, false },  { SIGILL, false },  { SIGXCPU, false }, { SIGALRM, false },
};
enum { ENDING_COUNT = sizeof endings / sizeof *endings };

static volatile sig_atomic_t soft, stopped;
static const char *volatile last_words;

void process_last_words(const char *text) { last_words = text; }

void process_end(int number)
{
        struct sigaction preset = { .sa_handler = SIG_DFL };
        const char *words = last_words;
        last_words = NULL;
        if (words && write(2, words, strlen(words)) < 0)
                errno = 0;              /* There is nobody to tell. */
        remove_all();
        sigaction(number, &preset, NULL);
        raise(number);
}

/* The signal is held until the handler returns; then it ends the process. */
static void on_signal(int number)
{
        const int error = errno;        /* The code that was interrupted looks at its own. */
        for (int i = 0; i < ENDING_COUNT; i++)
                if (endings[i].number == number && endings[i].asks && soft && !stopped) {
                        stopped = number;
                        for (int k = 0; k < child_count; k++)
                                /* Whoever waits for it goes on. */
                                kill(-children[k], SIGTERM);
                        errno = error;
                        return;
                }
        process_end(number);
        errno = error;
}

void process_begin(void)
{
        static _Alignas(16) char stack[32768]; /* Signal handlers run on it, where the other stack
                                                * has ended. */
        const stack_t other = { .ss_sp = stack, .ss_size = sizeof stack };
        struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
        sigset_t before;
        process_hold_signals(&before);
        count = child_count = 0;
        soft = stopped = 0;
        last_words = NULL;
        memory_cleanup = remove_all;
        sigaltstack(&other, NULL);
        sigfillset(&action.sa_mask);
        for (int i = 0; i < ENDING_COUNT; i++) {
                struct sigaction old;
                if (!sigaction(endings[i].number, NULL, &old) && old.sa_handler == SIG_DFL)
                        sigaction(endings[i].number, &action, NULL);
        }
        process_release_signals(&before);
}

void process_stop_softly(bool softly)
{
        soft = softly;
}

int process_stopped(void)
{
        return stopped;
}

/* ---- commands ---- */

const bool process_commands = true;

/* Forks; no child is started any more once a signal has asked to stop. The child has no handlers: a
 * signal that comes before it is another program, or has its own, removes nothing of its
 * parent's. */
static pid_t start_child(void)
{
        sigset_t before;
        pid_t child = -1;
        process_hold_signals(&before);
        if (!stopped && child_count < CHILDREN_MAX)
                child = fork();
        if (child == 0) {
                struct sigaction preset = { .sa_handler = SIG_DFL }, own;
                setpgid(0, 0);
                for (int i = 0; i < ENDING_COUNT; i++)
                        if (!sigaction(endings[i].number, NULL, &own) &&
                            own.sa_handler == on_signal)
                                sigaction(endings[i].number, &preset, NULL);
        } else if (child > 0) {
                setpgid(child, child);  /* Either process may come first. */
                children[child_count++] = child;
        }
        process_release_signals(&before);
        return child;
}

/* Returns the status, -1 where there is no child, or COMMAND_LATE where it took longer than that
 * many seconds, and is no more. */
static int wait_for(pid_t child, double seconds)
{
        int status = -1;
        bool late = false;
        double end = clock_wall() + seconds;
        /* It is never blocked: a signal between a look at `stopped` and waitpid would not be
         * seen. */
        for (int pause = 1; child > 0 && !late && !stopped; pause += pause < TICK_MS) {
                pid_t ended = waitpid(child, &status, WNOHANG);
                if (ended == child || (ended < 0 && errno != EINTR))
                        break;
                late = seconds > 0 && clock_wall() > end;
                poll(NULL, 0, pause);
        }
        if (child > 0 && (late || stopped))
                end_group(child);
        sigset_t before;
        process_hold_signals(&before);
        for (int i = 0; i < child_count; i++)
                if (children[i] == child)
                        children[i--] = children[--child_count];
        process_release_signals(&before);
        return late ? COMMAND_LATE : status;
}

static _Noreturn void become(const char *command)
{
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
}

int command_run_within(const char *command, double seconds)
{
        pid_t child = start_child();
        if (child == 0)
                become(command);
        return wait_for(child, seconds);
}

int command_run(const char *command) { return command_run_within(command, 0); }

int process_run(int (*body)(void *context), void *context)
{
        fflush(NULL);
        pid_t child = start_child();
        if (child == 0)
                _exit(body(context));
        return wait_for(child, 0);
}

/* The child's parent is `parent`, or has ended already. */
static void end_with(pid_t parent)
{
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
        if (getppid() != parent)
                _exit(128 + SIGTERM);
}

pid_t process_start(int (*body)(void *context), void *context)
{
        const pid_t parent = getpid();
        fflush(NULL);
        pid_t child = start_child();
        if (child == 0) {
                process_begin();
                end_with(parent);
                _exit(body(context));
        }
        return child;
}

int process_join(pid_t child, double seconds) { return wait_for(child, seconds); }

static void close_both(const int end[2])
{
        close(end[0]);
        close(end[1]);
}

/* Opens a pipe whose ends are none of the standard files, even where these are closed, and stay in
 * this process. */
static bool open_pipe(int end[2])
{
        int low[2];
        if (pipe(low))
                return false;
        for (int i = 0; i < 2; i++)
                end[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 3);
        close_both(low);
        if (end[0] >= 0 && end[1] >= 0)
                return true;
        close_both(end);
        return false;
}

bool command_open(const char *command, struct command *c)
{
        int in[2], out[2];
        if (!open_pipe(in))
                return false;
        if (!open_pipe(out)) {
                close_both(in);
                return false;
        }
        c->child = start_child();
        if (c->child == 0) {
                dup2(in[0], 0);
                dup2(out[1], 1);
                become(command);
        }
        close(in[0]);
        close(out[1]);
        if (c->child < 0) {
                close(in[1]);
                close(out[0]);
                return false;
        }
        c->in = fdopen(in[1], "wb");
        c->out = fdopen(out[0], "rb");
        return true;
}

int command_close(struct command *c)
{
        fclose(c->in);
        fclose(c->out);
        return wait_for(c->child, 0);
}
