/* SPDX-License-Identifier: MIT */
#include "compiler/farm_line.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "compiler/process.h"

struct wire {
        int fd;
        int peer;                       /* The place at its other end; -1: frames say it. */
        pid_t child;                    /* 0: what is at the other end is no child. */
        struct text in, out;
        size_t taken, sent;             /* So much of both is done with. */
        bool ended, told;               /* The other end is closed; that was received. */
};

struct line {
        int place, workers;
        struct wire *wires;
        struct pollfd *polls;
        int count, next;                /* The next message is looked for from this wire on. */
        struct text message;
};

/* ---- one socket ---- */

static void wire_begin(struct wire *w, int fd, int peer, pid_t child)
{
        *w = (struct wire){ .fd = fd, .peer = peer, .child = child };
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static void wire_end(struct wire *w)
{
        w->ended = true;
        text_free(&w->out);
        w->sent = 0;
}

/* Drops what is done with, where that is most of it. */
static void text_drop(struct text *t, size_t *done)
{
        if (*done < t->length && *done < t->length / 2)
                return;
        if (t->length)
                memmove(t->data, t->data + *done, t->length - *done);
        t->length -= *done;
        *done = 0;
}

static void wire_flush(struct wire *w)
{
        while (!w->ended && w->sent < w->out.length) {
                ssize_t n = write(w->fd, w->out.data + w->sent, w->out.length - w->sent);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
                        return;
                if (n < 0)
                        return;         /* Reading finds its end, after what was still sent. */
                w->sent += (size_t)n;
        }
        text_drop(&w->out, &w->sent);
}

static void wire_fill(struct wire *w)
{
        static char bytes[1 << 16];
        for (int i = 0; i < 64 && !w->ended; i++) {
                ssize_t n = read(w->fd, bytes, sizeof bytes);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
                        return;
                if (n <= 0)
                        wire_end(w);
                else
                        text_add_bytes(&w->in, bytes, (size_t)n);
        }
}

/* Takes a whole frame, whose bytes go into `message`. */
static bool wire_next(struct wire *w, struct farm_frame *frame, struct text *message)
{
        const size_t left = w->in.length - w->taken;
        if (left < sizeof *frame)
                return false;
        memcpy(frame, w->in.data + w->taken, sizeof *frame);
        if (frame->length > FARM_BYTES_MOST) {
                w->in.length = w->taken;          /* No process of ours says that. */
                wire_end(w);
                return false;
        }
        if (left - sizeof *frame < frame->length)
                return false;
        message->length = 0;
        text_add_bytes(message, w->in.data + w->taken + sizeof *frame, (size_t)frame->length);
        w->taken += sizeof *frame + (size_t)frame->length;
        text_drop(&w->in, &w->taken);
        return true;
}

/* ---- lines ---- */

static struct line *line_new(int place, int workers, int wires)
{
        struct line *line = memory_alloc(sizeof *line);
        *line = (struct line){ .place = place, .workers = workers };
        line->wires = memory_alloc((size_t)wires * sizeof *line->wires);
        line->polls = memory_alloc((size_t)wires * sizeof *line->polls);
        return line;
}

static void line_free(struct line *line)
{
        for (int i = 0; i < line->count; i++) {
                close(line->wires[i].fd);
                text_free(&line->wires[i].in);
                text_free(&line->wires[i].out);
        }
        text_free(&line->message);
        free(line->wires);
        free(line->polls);
        free(line);
}

struct start {
        struct line *parent;
        int fd, place;
        int (*body)(void *context, struct line *line);
        void *context;
};

static int begin_worker(void *context)
{
        const struct start *s = context;
        const int workers = s->parent->workers;
        line_free(s->parent);           /* Other workers' sockets are not for this one. */
        struct line *line = line_new(s->place, workers, 1);
        wire_begin(&line->wires[line->count++], s->fd, 0, 0);
        int code = s->body(s->context, line);
        line_close(line);
        return code;
}

struct line *line_fork(int workers, int (*body)(void *context, struct line *line), void *context)
{
        struct line *line = line_new(0, workers, workers);
        for (int i = 0; i < workers; i++) {
                int ends[2];
                pid_t child = -1;
                if (!socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) {
                        wire_begin(&line->wires[line->count++], ends[0], i + 1, 0);
                        child = process_start(begin_worker, &(struct start){ line, ends[1], i + 1,
                                                                             body, context });
                        close(ends[1]);
                }
                if (child < 0) {
                        int error = errno;
                        line_close(line);
                        errno = error;
                        return NULL;
                }
                line->wires[i].child = child;
        }
        return line;
}

struct line *line_inherit(void)
{
        const char *text = getenv(FARM_VARIABLE);
        int fd, place, workers, end = 0;
        if (!text || sscanf(text, "%d %d %d%n", &fd, &place, &workers, &end) != 3 || text[end] ||
            place < 0 || workers < 1 || place > workers || fcntl(fd, F_GETFD) < 0)
                return NULL;
        struct line *line = line_new(place, workers, 1);
        wire_begin(&line->wires[line->count++], fd, place ? 0 : -1, 0);
        unsetenv(FARM_VARIABLE);        /* It is not for what this process starts. */
        return line;
}

int line_place(const struct line *line) { return line->place; }
int line_workers(const struct line *line) { return line->workers; }

static struct wire *wire_to(struct line *line, int to)
{
        return line->place || line->wires[0].peer < 0 ? &line->wires[0] : &line->wires[to - 1];
}

void line_send(struct line *line, int to, enum farm_kind kind, const void *bytes, size_t length)
{
        struct wire *w = wire_to(line, to);
        const struct farm_frame frame = { (uint32_t)to, kind, length };
        if (w->ended)
                return;
        text_add_bytes(&w->out, (const char *)&frame, sizeof frame);
        if (length)
                text_add_bytes(&w->out, bytes, length);
        wire_flush(w);
}

/* Finds a message that has come. */
static bool take_message(struct line *line, struct message *m)
{
        for (int i = 0; i < line->count; i++) {
                struct wire *w = &line->wires[(line->next + i) % line->count];
                struct farm_frame frame;
                if (wire_next(w, &frame, &line->message)) {
                        line->next = (line->next + i + 1) % line->count;
                        *m = (struct message){ w->peer < 0 ? (int)frame.peer : w->peer,
                                               (enum farm_kind)frame.kind, line->message.data,
                                               line->message.length };
                        return true;
                }
                if (w->ended && !w->told) {
                        w->told = true;
                        *m = (struct message){ w->peer, line->place ? FARM_END : FARM_LOST, NULL,
                                               0 };
                        return true;
                }
        }
        return false;
}

bool line_receive(struct line *line, double seconds, struct message *m)
{
        const double end = clock_wall() + seconds;
        for (;;) {
                int open = 0;
                if (take_message(line, m))
                        return true;
                for (int i = 0; i < line->count; i++) {
                        struct wire *w = &line->wires[i];
                        line->polls[i] = (struct pollfd){
                                .fd = w->ended ? -1 : w->fd,
                                .events = (short)(POLLIN | (w->sent < w->out.length ? POLLOUT : 0))
                        };
                        open += !w->ended;
                }
                const double left = end - clock_wall();
                if (left <= 0 || !open || process_stopped())
                        return false;
                /* A signal between the look at process_stopped and poll is seen soon. */
                const int wait = left < .2 ? 1 + (int)(1e3 * left) : 200;
                if (poll(line->polls, (nfds_t)line->count, wait) <= 0)
                        continue;
                for (int i = 0; i < line->count; i++) {
                        struct wire *w = &line->wires[i];
                        if (!w->ended && line->polls[i].revents)
                                wire_fill(w);
                        if (!w->ended && (line->polls[i].revents & POLLOUT))
                                wire_flush(w);
                }
        }
}

void line_close(struct line *line)
{
        const double end = clock_wall() + 5;
        struct message m;
        /* What was sent last is on its way. */
        for (int i = 0; i < line->count; i++)
                while (line->wires[i].sent < line->wires[i].out.length && clock_wall() < end &&
                       !process_stopped())
                        line_receive(line, .05, &m);
        for (int i = 0; i < line->count; i++)
                shutdown(line->wires[i].fd, SHUT_RDWR);
        for (int i = 0; i < line->count; i++)
                if (line->wires[i].child)
                        process_join(line->wires[i].child, line->wires[i].ended ? 5 : .5);
        line_free(line);
}
