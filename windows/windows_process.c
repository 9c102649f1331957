/* SPDX-License-Identifier: MIT */
/* This is compiler/process.h where there is neither fork nor a shell: commands are not run, and a
 * caller that would run one runs the interpreter or says that it cannot (process_commands). What is
 * unfinished goes when the console says so, too. */
#include "compiler/process.h"

#include <errno.h>
#include <windows.h>

#include "base/diag.h"
#include "base/memory.h"
#include "base/text.h"

const bool process_commands = false;

bool process_reads_pipe(const char *path)
{
        (void)path;
        return false;
}

struct temporary { char *path; bool folder; };
static struct temporary *list;
static int count, room;
static volatile bool soft;
static volatile int stopped;
static const char *volatile last_words;

static void remove_from(int first)
{
        for (int i = count - 1; i >= first; i--)
                if (list[i].folder)
                        _rmdir(list[i].path);
                else
                        _unlink(list[i].path);
}

static void remove_all(void) { remove_from(0); }

void process_hold_signals(sigset_t *before) { sigprocmask(SIG_BLOCK, NULL, before); }
void process_release_signals(const sigset_t *before) { sigprocmask(SIG_SETMASK, before, NULL); }
void process_last_words(const char *text) { last_words = text; }
void process_stop_softly(bool softly) { soft = softly; }
int process_stopped(void) { return stopped; }

/* ---- ends ---- */

void process_end(int number)
{
        const char *words = last_words;
        last_words = NULL;
        if (words && _write(2, words, (unsigned)strlen(words)) < 0)
                errno = 0;              /* There is nobody to tell. */
        remove_all();
        _exit(128 + number);
}

/* It is called in a thread of its own. */
static BOOL WINAPI on_console(DWORD event)
{
        int number = event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT ? SIGINT : SIGTERM;
        sigset_t before;
        if (soft && !stopped) {
                stopped = number;
                return TRUE;
        }
        process_hold_signals(&before);
        process_end(number);
        return TRUE;
}

static void on_signal(int number) { process_end(number); }

void process_begin(void)
{
        static const int endings[] = { SIGABRT, SIGSEGV, SIGFPE, SIGILL };
        count = 0;
        soft = false;
        stopped = 0;
        memory_cleanup = remove_all;
        SetConsoleCtrlHandler(on_console, TRUE);
        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
                signal(endings[i], on_signal);
}

/* ---- what is registered ---- */

static void add(const char *path, bool folder)
{
        if (count == room) {
                room = room ? 2 * room : 16;
                list = memory_resize(list, (size_t)room * sizeof *list);
        }
        list[count++] = (struct temporary){ strcpy(memory_alloc(strlen(path) + 1), path), folder };
}

int temporary_file(char *pattern)
{
        sigset_t before;
        process_hold_signals(&before);
        int fd = mkstemp(pattern), error = errno;
        if (fd >= 0)
                add(pattern, false);
        process_release_signals(&before);
        errno = error;
        return fd;
}

/* Puts a name of its own in place of the six X. */
bool temporary_folder(char *pattern)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
        sigset_t before;
        bool made = false;
        process_hold_signals(&before);
        for (int turn = 0; turn < 100 && !made; turn++) {
                for (char *at = pattern + strlen(pattern) - 6; *at; at++) {
                        unsigned number;
                        rand_s(&number);
                        *at = letters[number % (sizeof letters - 1)];
                }
                made = !_mkdir(pattern);
                if (!made && errno != EEXIST)
                        break;
        }
        int error = errno;
        if (made)
                add(pattern, true);
        process_release_signals(&before);
        errno = error;
        return made;
}

char *temporary_workshop(struct arena *arena, const char *what, struct diag *diag)
{
        char place[MAX_PATH + 1];
        DWORD length = GetTempPathA(sizeof place, place);
        char *folder = arena_printf(arena, "%sdnncc-%s-XXXXXX",
                                    length && length < sizeof place ? place : "./", what);
        if (temporary_folder(folder))
                return folder;
        diag_error(diag, EXIT_IO, "cannot make a folder in %s: %s", text_argument(arena, place),
                   strerror(errno));
        return NULL;
}

void temporary_expect(const char *path)
{
        sigset_t before;
        process_hold_signals(&before);
        add(path, false);
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

int temporaries_count(void) { return count; }

void temporaries_remove(int first)
{
        sigset_t before;
        process_hold_signals(&before);
        remove_from(first);
        while (count > first)
                free(list[--count].path);
        process_release_signals(&before);
}

/* ---- commands: none ---- */

int command_run(const char *command) { return (void)command, -1; }
int command_run_within(const char *command, double seconds)
{
        return (void)command, (void)seconds, -1;
}
int process_run(int (*body)(void *context), void *context) { return (void)body, (void)context, -1; }
bool command_open(const char *command, struct command *c)
{
        return (void)command, (void)c, errno = ENOSYS, false;
}
int command_close(struct command *c) { return (void)c, -1; }
