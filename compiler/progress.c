/* SPDX-License-Identifier: MIT */
#include "compiler/progress.h"

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "compiler/process.h"

enum { TEXT_MAX = 256, WIDTH_PRESET = 80 };
#define FIRST_SECOND 1.0                /* On a terminal the line is there from this second on. */
#define PLAIN_SECONDS 10.0              /* Elsewhere a line comes that often. */
#define CLEAR "\r\033[K"

/* It is changed while SIGALRM is held only: the timer draws from it. */
static struct {
        bool on, terminal, drawn;
        double start, next;             /* They are when it was begun, and when the next plain line
                                         * is due. */
        double end;                     /* It is when all will be done; a negative number is not
                                         * known. */
        char text[TEXT_MAX];
        struct sigaction before;
} line;

static void hold(bool held)
{
        static sigset_t before;
        sigset_t alarm;
        if (!held) {
                sigprocmask(SIG_SETMASK, &before, NULL);
                return;
        }
        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        sigprocmask(SIG_BLOCK, &alarm, &before);
}

/* ---- drawing: all of it a signal handler may do ---- */

struct drawing { char text[2 * TEXT_MAX]; size_t length; };

static void add(struct drawing *d, const char *text)
{
        for (; *text && d->length < sizeof d->text - 2; text++)
                d->text[d->length++] = *text;
}

static void add_number(struct drawing *d, int64_t number)
{
        char digits[24], *p = digits + sizeof digits;
        *--p = 0;
        do
                *--p = (char)('0' + number % 10);
        while (number /= 10);
        add(d, p);
}

/* Adds "45 s", "2 min 10 s", or "3 h 5 min". */
static void add_time(struct drawing *d, int64_t seconds)
{
        int64_t large = seconds >= 3600 ? 3600 : 60;
        if (seconds >= 60) {
                add_number(d, seconds / large);
                add(d, large == 60 ? " min " : " h ");
        }
        add_number(d, large == 60 ? seconds % 60 : seconds % 3600 / 60);
        add(d, large == 60 ? " s" : " min");
}

static size_t terminal_width(void)
{
        struct winsize size;
        return !ioctl(2, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : WIDTH_PRESET;
}

static void draw(double now)
{
        struct drawing d = { .length = 0 };
        size_t start = 0;
        if (line.terminal) {
                add(&d, CLEAR);
                start = d.length;
        }
        add(&d, line.text);
        if (line.end >= 0) {
                add(&d, ", ");
                add_time(&d, line.end > now ? (int64_t)(line.end - now + .5) : 0);
                add(&d, " left");
        }
        size_t width = terminal_width() - 1;    /* The last column makes some terminals go on
                                                 * below. */
        if (line.terminal && d.length - start > width)
                d.length = start + width;
        if (!line.terminal) {           /* The same line again says nothing. */
                static struct drawing said;
                if (d.length == said.length && !memcmp(d.text, said.text, d.length))
                        return;
                said = d;
                d.text[d.length++] = '\n';
        }
        line.drawn = line.terminal;
        if (write(2, d.text, d.length) < 0)
                line.drawn = false;
}

static void tick(int number)
{
        double now = clock_wall();
        (void)number;
        if (!line.on || !*line.text || now < line.next)
                return;
        line.next = line.terminal ? now : line.next + PLAIN_SECONDS;
        draw(now);
}

static void clear(void)
{
        if (line.drawn && write(2, CLEAR, strlen(CLEAR)) < 0)
                return;
        line.drawn = false;
}

/* Keeps what is drawn out of a message (diag_speaking). */
static void make_room(bool speaking)
{
        if (speaking) {
                hold(true);
                clear();
        } else {
                hold(false);
        }
}

/* ---- what is said of it ---- */

static void set_timer(double seconds)
{
        struct itimerval timer = { .it_value.tv_usec = (int)(seconds * 1e6),
                                   .it_interval.tv_usec = (int)(seconds * 1e6) };
        setitimer(ITIMER_REAL, &timer, NULL);
}

void progress_begin(const char *what, const struct diag *diag)
{
        const char *kind = getenv("TERM");
        struct sigaction action = { .sa_handler = tick, .sa_flags = SA_RESTART };
        if (diag->verbosity < 0 || line.on)
                return;
        line.on = true;
        line.terminal = isatty(2) && !(kind && !strcmp(kind, "dumb"));
        line.start = clock_wall();
        line.next = line.start + (line.terminal ? FIRST_SECOND : PLAIN_SECONDS);
        line.end = -1;
        snprintf(line.text, sizeof line.text, "%s", what);
        sigfillset(&action.sa_mask);
        sigaction(SIGALRM, &action, &line.before);
        diag_speaking = make_room;
        if (line.terminal)
                process_last_words(CLEAR);
        set_timer(.25);
}

void progress_step(int64_t done, int64_t total, const char *format, ...)
{
        va_list list;
        if (!line.on)
                return;
        double now = clock_wall(), passed = now - line.start;
        hold(true);
        char *text = line.text + strcspn(line.text, ":");         /* It is behind what was begun. */
        size_t room = sizeof line.text - (size_t)(text - line.text);
        int head = snprintf(text, room, ": ");
        va_start(list, format);
        vsnprintf(text + head, room - (size_t)head, format, list);
        va_end(list);
        line.end = done > 0 && done <= total ? now + passed / (double)done * (double)(total - done)
                                             : -1;
        hold(false);
}

void progress_left(double seconds)
{
        hold(true);
        line.end = clock_wall() + seconds;
        hold(false);
}

void progress_end(void)
{
        if (!line.on)
                return;
        set_timer(0);
        hold(true);
        clear();
        line.on = false;
        diag_speaking = NULL;
        process_last_words(NULL);
        sigaction(SIGALRM, &line.before, NULL);
        hold(false);
}
