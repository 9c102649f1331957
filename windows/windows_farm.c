/* SPDX-License-Identifier: MIT */
/* This is compiler/farm_line.h, and what farm_enter.c has, where dnncc starts no processes: there
 * are no workers, and no command is one of a farm. */
#include "compiler/farm.h"
#include "compiler/farm_line.h"
#include "compiler/process.h"

struct line *line_fork(int workers, int (*body)(void *context, struct line *line), void *context)
{
        return (void)workers, (void)body, (void)context, (struct line *)NULL;
}
struct line *line_inherit(void) { return NULL; }
int line_place(const struct line *line) { return (void)line, 0; }
int line_workers(const struct line *line) { return (void)line, 0; }
void line_send(struct line *line, int to, enum farm_kind kind, const void *bytes, size_t length)
{
        (void)line, (void)to, (void)kind, (void)bytes, (void)length;
}
bool line_receive(struct line *line, double seconds, struct message *m)
{
        return (void)line, (void)seconds, (void)m, false;
}
void line_close(struct line *line) { (void)line; }

bool farm_enter(int argc, char **argv, const char *what, struct diag *diag)
{
        return (void)argc, (void)argv, (void)what, (void)diag, true;
}
const char *farm_option(int argc, char **argv)
{
        return (void)argc, (void)argv, (const char *)NULL;
}
const char *farm_command(void) { return ""; }
bool farm_is_open(void) { return false; }
bool farm_is_worker(void) { return false; }
struct line *farm_line(void) { return NULL; }
void farm_greet(struct line *line) { (void)line; }
void farm_close(void) {}
void farm_leave(void) {}
void farm_forget(void) {}
void farm_hush(void) {}
const char *farm_said(void) { return ""; }

pid_t process_start(int (*body)(void *context), void *context)
{
        return (void)body, (void)context, -1;
}
int process_join(pid_t child, double seconds) { return (void)child, (void)seconds, -1; }
