/* SPDX-License-Identifier: MIT */
#include "compiler/farm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "compiler/cache.h"
#include "compiler/farm_line.h"
#include "compiler/process.h"

enum { GREETING = 30, WAIT = 1 };       /* They are seconds: for all workers to say what they are,
                                         * and between two looks at what is late. */
#define LATE 2.                         /* A piece is late that takes so many times as long as those
                                         * that are done. */

/* ---- workers ---- */

static void send_numbered(struct line *line, int to, enum farm_kind kind, int64_t piece,
                          const struct text *bytes)
{
        struct text all = { 0 };
        text_add_bytes(&all, (const char *)&piece, sizeof piece);
        if (bytes->length)
                text_add_bytes(&all, bytes->data, bytes->length);
        line_send(line, to, kind, all.data, all.length);
        text_free(&all);
}

/* Takes the number off a piece or a result. */
static bool read_numbered(const struct message *m, int64_t *piece, const char **bytes,
                          size_t *length)
{
        if (m->length < sizeof *piece)
                return false;
        memcpy(piece, m->bytes, sizeof *piece);
        *bytes = m->bytes + sizeof *piece;
        *length = m->length - sizeof *piece;
        return true;
}

/* Makes pieces until there are no more. */
static bool serve(struct line *line, const struct farm_work *work)
{
        struct message m;
        bool fine = true, made = false;
        while (fine && !process_stopped()) {
                int64_t piece;
                const char *bytes;
                size_t length;
                if (!line_receive(line, WAIT, &m))
                        continue;
                if (m.kind == FARM_END)
                        break;
                if (m.kind != FARM_PIECE || !read_numbered(&m, &piece, &bytes, &length))
                        continue;
                struct text result = { 0 };
                fine = work->make(work->context, piece, bytes, length, &result) &&
                       result.length + sizeof piece <= FARM_BYTES_MOST;
                if (fine)
                        send_numbered(line, 0, FARM_RESULT, piece, &result);
                else
                        line_send(line, 0, FARM_STRUCK, farm_said(), strlen(farm_said()));
                text_free(&result);
                made = true;
        }
        if (made && work->leave)
                work->leave(work->context);
        return fine;
}

static int serve_as_child(void *work, struct line *line)
{
        farm_hush();
        farm_greet(line);
        return serve(line, work) ? EXIT_OK : EXIT_INTERNAL;
}

/* ---- the coordinator ---- */

struct worker {
        bool here;                      /* It can be given work. */
        bool greeted;
        int64_t piece;                  /* It makes this one; -1: none. */
        double since;
        char *name;                     /* "HOST, process 123"; NULL: it has not said so. */
};

struct piece {
        bool done, given_up;
        int tries;                      /* So many workers were lost that made it. */
        int makers;                     /* So many make it now. */
        struct text bytes, result;
};

struct farm {
        const struct farm_work *work;
        struct diag *diag;
        struct line *line;
        struct worker *workers;         /* Number k has place k + 1. */
        int count;
        struct piece *pieces;
        int64_t proposed, next, room;   /* next: is taken next. */
        bool dry;                       /* There was no piece to propose, and nothing was taken
                                         * since. */
        bool failed;
        bool made;                      /* Something was made here. */
        double spent;                   /* It is the sum of the seconds of done pieces, */
        int64_t timed;                  /* of which there are so many. */
};

static const char *name_of(const struct farm *f, int k)
{
        return f->workers[k].name ? f->workers[k].name : "not heard of yet";
}

static int workers_here(const struct farm *f)
{
        int count = 0;
        for (int k = 0; k < f->count; k++)
                count += f->workers[k].here;
        return count;
}

/* Strikes a worker off; the reason is a sentence's end. `ended`: its piece may have ended it. */
static void lose(struct farm *f, int k, bool ended, const char *reason)
{
        struct worker *w = &f->workers[k];
        if (!w->here)
                return;
        w->here = false;
        if (w->piece < 0) {
                diag_warning(f->diag, "worker %d (%s) %s", k + 1, name_of(f, k), reason);
                return;
        }
        struct piece *p = &f->pieces[w->piece];
        p->makers--;
        p->tries += ended;
        if (!p->done && !p->makers && p->tries >= FARM_TRIES) {
                p->given_up = true;
                diag_warning(f->diag,
                             "worker %d (%s) %s; piece %" PRId64 " has ended %d workers, and is "
                             "given up",
                             k + 1, name_of(f, k), reason, w->piece + 1, p->tries);
        } else {
                diag_warning(f->diag, "worker %d (%s) %s: its piece, number %" PRId64 ", is %s",
                             k + 1, name_of(f, k), reason, w->piece + 1,
                             p->done ? "done already" : "made by another");
        }
        w->piece = -1;
}

static void strike(struct farm *f, int k, const struct message *m)
{
        struct arena *arena = arena_new();
        size_t length = 0;              /* The first line says it. */
        while (length < m->length && m->bytes[length] != '\n')
                length++;
        lose(f, k, false,
             length ? arena_printf(arena, "cannot work and is struck off (%s)",
                                   text_argument_part(arena, m->bytes, length))
                    : "cannot work and is struck off");
        arena_free(arena);
}

/* Learns which build a worker is, and which command it does; another one is an error. */
static void meet(struct farm *f, int k, const struct message *m)
{
        struct worker *w = &f->workers[k];
        const char *own = sources_digest();
        struct arena *arena = arena_new();
        const size_t digest = m->length ? strcspn(m->bytes, "\n") : 0;
        const char *command = digest < m->length ? m->bytes + digest + 1 : "";
        const size_t length = strcspn(command, "\n");
        const char *name = command[length] ? command + length + 1 : command;
        free(w->name);
        w->name = memory_alloc(4 * strlen(name) + 1);
        strcpy(w->name, text_argument(arena, name));
        w->greeted = true;
        if (digest != strlen(own) || memcmp(m->bytes, own, digest)) {
                diag_error(f->diag, EXIT_USAGE,
                           "worker %d (%s) is another build of dnncc: its sources have the digest "
                           "%.16s, those here %.16s; install the same one on all machines",
                           k + 1, w->name, text_argument_part(arena, m->bytes, digest), own);
                f->failed = true;
        } else if (length != strlen(farm_command()) || memcmp(command, farm_command(), length)) {
                diag_error(f->diag, EXIT_USAGE,
                           "worker %d (%s) was started with another command line than rank 0: all "
                           "processes that mpirun or srun starts together must have the same",
                           k + 1, w->name);
                f->failed = true;
        }
        arena_free(arena);
}

static void finish_piece(struct farm *f, int k, const struct message *m)
{
        struct worker *w = &f->workers[k];
        int64_t number;
        const char *bytes;
        size_t length;
        if (!read_numbered(m, &number, &bytes, &length) || number != w->piece || number < 0)
                return;                 /* It was struck off before, or was asked nothing. */
        struct piece *p = &f->pieces[number];
        w->piece = -1;
        p->makers--;
        f->spent += clock_wall() - w->since;
        f->timed++;
        if (p->done)
                return;
        p->done = true;
        if (length)
                text_add_bytes(&p->result, bytes, length);
        text_free(&p->bytes);
}

static void listen(struct farm *f, double seconds)
{
        struct message m;
        if (!line_receive(f->line, seconds, &m))
                return;
        const int k = m.from - 1;
        if (k < 0 || k >= f->count) {
                for (int i = 0; i < f->count && m.kind == FARM_LOST; i++)
                        lose(f, i, true, "is out of reach: what carries messages has ended");
                return;
        }
        switch (m.kind) {
        case FARM_HELLO: meet(f, k, &m); break;
        case FARM_RESULT: finish_piece(f, k, &m); break;
        case FARM_STRUCK: strike(f, k, &m); break;
        case FARM_LOST: lose(f, k, true, "was lost"); break;
        case FARM_PIECE: case FARM_END: break;
        }
}

/* Waits until all workers have said what they are, so that nothing runs before. */
static void greet_all(struct farm *f)
{
        const double end = clock_wall() + GREETING;
        int missing = f->count;
        while (missing && !f->failed && clock_wall() < end && !process_stopped()) {
                listen(f, WAIT);
                missing = 0;
                for (int k = 0; k < f->count; k++)
                        missing += f->workers[k].here && !f->workers[k].greeted;
        }
        for (int k = 0; k < f->count && !f->failed && !process_stopped(); k++)
                if (!f->workers[k].greeted)
                        lose(f, k, false, "did not come in time and is struck off");
}

/* Asks for one more piece. */
static bool propose(struct farm *f)
{
        if (f->dry)
                return false;
        if (f->proposed == f->room) {
                f->room = f->room ? 2 * f->room : 64;
                f->pieces = memory_resize(f->pieces, (size_t)f->room * sizeof *f->pieces);
        }
        struct piece *p = &f->pieces[f->proposed];
        *p = (struct piece){ 0 };
        f->dry = !f->work->propose(f->work->context, f->proposed, &p->bytes);
        f->proposed += !f->dry;
        if (f->dry)
                text_free(&p->bytes);
        return !f->dry;
}

/* Returns a piece that nobody makes; -1: there is none. */
static int64_t waiting_piece(struct farm *f)
{
        for (int64_t i = f->next; i < f->proposed; i++)
                if (!f->pieces[i].done && !f->pieces[i].given_up && !f->pieces[i].makers)
                        return i;
        return propose(f) ? f->proposed - 1 : -1;
}

/* Returns the piece that is late longest, and that one worker alone makes; -1: there is none. */
static int64_t late_piece(const struct farm *f)
{
        const double now = clock_wall();
        double most = f->timed ? LATE * f->spent / (double)f->timed : 0;
        int64_t late = -1;
        for (int k = 0; k < f->count && f->work->twice && f->timed; k++) {
                const struct worker *w = &f->workers[k];
                if (w->here && w->piece >= 0 && !f->pieces[w->piece].done &&
                    f->pieces[w->piece].makers == 1 && now - w->since > most) {
                        most = now - w->since;
                        late = w->piece;
                }
        }
        return late;
}

static void hand_out(struct farm *f)
{
        for (int k = 0; k < f->count; k++) {
                struct worker *w = &f->workers[k];
                if (!w->here || !w->greeted || w->piece >= 0)
                        continue;
                int64_t piece = waiting_piece(f);
                if (piece < 0)
                        piece = late_piece(f);
                if (piece < 0)
                        return;
                w->piece = piece;
                w->since = clock_wall();
                f->pieces[piece].makers++;
                send_numbered(f->line, k + 1, FARM_PIECE, piece, &f->pieces[piece].bytes);
        }
}

static void take_in_order(struct farm *f)
{
        while (!f->failed && f->next < f->proposed) {
                struct piece *p = &f->pieces[f->next];
                if (!p->done && !p->given_up)
                        return;
                f->failed = !f->work->take(f->work->context, f->next,
                                           p->given_up ? NULL
                                                       : p->result.data ? p->result.data : "",
                                           p->result.length);
                text_free(&p->result);
                text_free(&p->bytes);
                f->next++;
                f->dry = false;
        }
}

/* Without workers, makes a piece here. */
static void make_here(struct farm *f, int64_t piece)
{
        struct piece *p = &f->pieces[piece];
        if (p->tries) {
                p->given_up = true;     /* It may end this process, too. */
                return;
        }
        f->made = true;
        p->done = f->work->make(f->work->context, piece, p->bytes.data ? p->bytes.data : "",
                                p->bytes.length, &p->result);
        p->given_up = !p->done;
}

static void coordinate(struct farm *f)
{
        greet_all(f);
        while (!f->failed && !process_stopped()) {
                take_in_order(f);
                if (f->failed)
                        break;
                hand_out(f);
                if (!workers_here(f)) {
                        int64_t piece = waiting_piece(f);
                        if (piece < 0)
                                break;
                        make_here(f, piece);
                        continue;
                }
                if (f->next == f->proposed)
                        break;          /* Nobody makes anything, and there is nothing to make. */
                listen(f, WAIT);
        }
        for (int k = 0; k < f->count; k++)
                line_send(f->line, k + 1, FARM_END, NULL, 0);
        if (f->made && f->work->leave)
                f->work->leave(f->work->context);
}

int farm_workers(int jobs) { return farm_line() ? line_workers(farm_line()) : jobs; }

enum farm_end farm_run(const struct farm_work *work, int jobs, struct diag *diag)
{
        struct line *inherited = farm_line();
        if (inherited && line_place(inherited)) {
                bool fine = serve(inherited, work);
                farm_close();
                return fine ? FARM_SERVED : FARM_FAILED;
        }
        struct farm f = { .work = work, .diag = diag };
        f.line = inherited ? inherited : line_fork(jobs, serve_as_child, (void *)work);
        if (!f.line) {
                diag_error(diag, EXIT_IO, "cannot start %d processes", jobs);
                return FARM_FAILED;
        }
        f.count = line_workers(f.line);
        f.workers = memory_alloc((size_t)f.count * sizeof *f.workers);
        for (int k = 0; k < f.count; k++)
                f.workers[k] = (struct worker){ .here = true, .piece = -1 };
        coordinate(&f);
        if (inherited)
                farm_close();
        else
                line_close(f.line);
        bool fine = !f.failed && !process_stopped();
        for (int64_t i = 0; i < f.proposed; i++) {
                text_free(&f.pieces[i].bytes);
                text_free(&f.pieces[i].result);
        }
        for (int k = 0; k < f.count; k++)
                free(f.workers[k].name);
        free(f.workers);
        free(f.pieces);
        return fine ? FARM_DONE : FARM_FAILED;
}
