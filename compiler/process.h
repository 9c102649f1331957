/* SPDX-License-Identifier: MIT */
/* What a process must not leave behind: temporary files and folders, when a signal ends it, memory
 * runs out or an assertion fails. And the commands that it runs. */
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

/* mkstemp and mkdtemp, registered; -1 or false, with errno */
int temporary_file(char *pattern);
bool temporary_folder(char *pattern);
/* A registered folder for what is compiled and run: TMPDIR/dnncc-WHAT-XXXXXX, in /tmp where that
 * is not set; NULL after an EXIT_IO error. For commands it is a word. */
struct arena;
struct diag;
char *temporary_workshop(struct arena *arena, const char *what, struct diag *diag);
/* A file of that name is about to be made, by whomever, in a folder that is registered already. */
void temporary_expect(const char *path);
/* It is renamed, or removed. */
void temporary_forget(const char *path);
/* How many there are; removes those registered since there were `count` of them, the last first. */
int temporaries_count(void);
void temporaries_remove(int count);

/* No signal ends the process in between. */
void process_hold_signals(sigset_t *before);
void process_release_signals(const sigset_t *before);

/* Between true and false the first SIGINT, SIGTERM or SIGHUP does not end the process but its
 * children: whoever asks process_stopped (the signal, or 0) ends it soon, by process_end. The
 * second one does. */
void process_stop_softly(bool softly);
int process_stopped(void);
void process_end(int signal);
/* What a signal that ends the process writes to standard error first; NULL: nothing. */
void process_last_words(const char *text);

/* Where path is a pipe that somebody writes to, as <(command) of a shell is, it becomes standard
 * input: true. False, too, where nobody begins to write in a second. */
bool process_reads_pipe(const char *path);

/* Are commands run on this system? Where they are not, the functions below fail. */
extern const bool process_commands;

/* sh -c COMMAND, in a process group of its own: its status as waitpid has it, or -1. Signals end
 * this process as ever meanwhile (they do not during system()), and it. */
int command_run(const char *command);
/* The same for so many seconds at most, then it is ended; 0: as long as it takes. */
enum { COMMAND_LATE = -2 };
int command_run_within(const char *command, double seconds);
/* A function in a child: its result is the child's exit code. */
int process_run(int (*body)(void *context), void *context);
/* The same, beside this process: what is written to `in` it reads, what it writes `out` gives.
 * False, with errno, where it cannot be started. Closed, it ends: its status. */
struct command { pid_t child; FILE *in, *out; };
bool command_open(const char *command, struct command *c);
int command_close(struct command *c);

#endif
