/* SPDX-License-Identifier: MIT */
/* A process must not leave behind temporary files and folders, when a signal ends it, memory runs
 * out or an assertion fails. This header has these, and the commands that it runs. */
#ifndef COMPILER_PROCESS_H
#define COMPILER_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* From now on signals that end the process end its children and remove what it has registered
 * first, then end it as they always do; those that it was started to ignore stay ignored. A
 * child that begins anew forgets what its parent has registered. */
void process_begin(void);

/* They are mkstemp and mkdtemp, registered; they return -1 or false, with errno. */
int temporary_file(char *pattern);
bool temporary_folder(char *pattern);
/* Makes a registered folder for what is compiled and run, TMPDIR/dnncc-WHAT-XXXXXX, in /tmp where
 * that is not set; returns NULL after an EXIT_IO error. For commands it is a word. */
struct arena;
struct diag;
char *temporary_workshop(struct arena *arena, const char *what, struct diag *diag);
/* Registers a file of that name that is about to be made, by whomever, in a folder that is
 * registered already. */
void temporary_expect(const char *path);
/* Says that it is renamed, or removed. */
void temporary_forget(const char *path);
/* temporaries_count returns how many there are; temporaries_remove removes those registered since
 * there were `count` of them, the last first. */
int temporaries_count(void);
void temporaries_remove(int count);

/* No signal ends the process between these two. */
void process_hold_signals(sigset_t *before);
void process_release_signals(const sigset_t *before);

/* Between true and false the first SIGINT, SIGTERM or SIGHUP does not end the process but its
 * children: whoever asks process_stopped (the signal, or 0) ends it soon, by process_end. The
 * second signal ends it. */
void process_stop_softly(bool softly);
int process_stopped(void);
void process_end(int signal);
/* Sets what a signal that ends the process writes to standard error first; NULL stands for
 * nothing. */
void process_last_words(const char *text);

/* Makes path standard input where it is a pipe that another process writes to, as <(command) of a
 * shell is, and returns true. Returns false, too, where none begins to write within a second. */
bool process_reads_pipe(const char *path);

/* It says whether commands are run on this system. Where they are not, the functions below fail. */
extern const bool process_commands;

/* Runs sh -c COMMAND, in a process group of its own, and returns its status as waitpid has it, or
 * -1. Meanwhile signals end this process as ever (they do not during system()), and the command. */
int command_run(const char *command);
/* Runs the same for so many seconds at most, then ends it; with 0 it takes as long as it takes. */
enum { COMMAND_LATE = -2 };
int command_run_within(const char *command, double seconds);
/* Runs a function in a child: its result is the child's exit code. */
int process_run(int (*body)(void *context), void *context);
/* process_start runs a function in a child beside this process, which has handlers of its own
 * (process_begin) and, on Linux, ends when this process does, whatever ends it; -1: there is none.
 * process_join waits for its end as command_run_within does for a command's. */
pid_t process_start(int (*body)(void *context), void *context);
int process_join(pid_t child, double seconds);
/* command_open runs a command beside this process: it reads what is written to `in`, and `out`
 * gives what it writes. It returns false, with errno, where the command cannot be started.
 * command_close closes both, so that the command ends, and returns its status. */
struct command { pid_t child; FILE *in, *out; };
bool command_open(const char *command, struct command *c);
int command_close(struct command *c);

#endif
