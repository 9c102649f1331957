/* SPDX-License-Identifier: MIT */
/* dnncc-mpi PROGRAM ARGUMENTS is what dnncc becomes under mpirun and srun (farm_enter.c). Each rank
 * starts the program as a worker, rank 0 also as the coordinator, hands each a socket, and carries
 * frames (farm_frame.h) between them:
 *
 *      coordinator, place 0 <- socket -> rank 0 <- MPI -> rank r <- socket -> worker, place r + 1
 *
 * Only this program is linked with MPI, and it does nothing else, so that it always answers: rank 0
 * and each other rank say twice a second that they are there. A rank that is silent for so many
 * seconds is lost, a worker that ends is, too; without rank 0 the others end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "compiler/farm_frame.h"

#define BEAT .5                         /* Seconds between two signs of life, */
#define SILENT 4.                       /* and without one until a rank is lost. */
#define GRACE 2.5                       /* A child that is asked to end has so many seconds. */
enum { PAUSE_MOST = 5 };                /* Milliseconds between two looks at MPI. */

static double now(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *allocate(void *block, size_t bytes)
{
        void *got = realloc(block, bytes ? bytes : 1);
        if (!got) {
                fputs("dnncc-mpi: error: out of memory\n", stderr);
                exit(5);
        }
        return got;
}

/* ---- the transport: six functions over MPI ---- */

/* What ranks send each other: where it comes from and goes to, then a frame. */
enum packet_kind { PACKET_FRAME, PACKET_BEAT, PACKET_OVER };
struct packet { uint32_t packet, from, to, kind; uint64_t length; };

struct sending { MPI_Request request; void *bytes; int to; bool beat; };
static struct sending *sendings;
static int sending_count;

static void transport_open(int *argc, char ***argv)
{
        MPI_Init(argc, argv);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

static int transport_rank(void)
{
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        return rank;
}

static int transport_size(void)
{
        int size = 1;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        return size;
}

/* Frees what has been sent. */
static void finish_sendings(void)
{
        for (int i = 0; i < sending_count; i++) {
                int done = 0;
                if (MPI_Test(&sendings[i].request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
                    !done)
                        continue;
                free(sendings[i].bytes);
                sendings[i--] = sendings[--sending_count];
        }
}

static bool beats_wait(int to)
{
        for (int i = 0; i < sending_count; i++)
                if (sendings[i].to == to && sendings[i].beat)
                        return true;
        return false;
}

/* Sends a packet and what follows it, which is copied. */
static void transport_send(int to, struct packet p, const void *bytes)
{
        const size_t length = p.packet == PACKET_FRAME ? (size_t)p.length : 0;
        struct sending s = { .to = to, .beat = p.packet == PACKET_BEAT };
        if (s.beat && beats_wait(to))
                return;                 /* It does not listen: another one does not help. */
        s.bytes = allocate(NULL, sizeof p + length);
        memcpy(s.bytes, &p, sizeof p);
        if (length)
                memcpy((char *)s.bytes + sizeof p, bytes, length);
        if (MPI_Isend(s.bytes, (int)(sizeof p + length), MPI_BYTE, to, 0, MPI_COMM_WORLD,
                      &s.request) != MPI_SUCCESS) {
                free(s.bytes);
                return;
        }
        sendings = allocate(sendings, (size_t)(sending_count + 1) * sizeof *sendings);
        sendings[sending_count++] = s;
}

/* Receives a packet, where one has come; *bytes are to be freed, the frame's follow the packet. */
static bool transport_receive(int *from, void **bytes, size_t *length)
{
        MPI_Status status;
        int there = 0, count = 0;
        if (MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS || !there)
                return false;
        MPI_Get_count(&status, MPI_BYTE, &count);
        *bytes = allocate(NULL, (size_t)count);
        *length = (size_t)count;
        *from = status.MPI_SOURCE;
        if (MPI_Recv(*bytes, count, MPI_BYTE, *from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
                    MPI_SUCCESS &&
            *length >= sizeof(struct packet))
                return true;
        free(*bytes);
        return false;
}

/* Ends MPI; where a rank was lost it cannot end with all of them, and ends what is left. */
static void transport_close(bool lost, int code)
{
        for (double end = now() + 1; sending_count && now() < end; usleep(1000))
                finish_sendings();
        if (lost)
                MPI_Abort(MPI_COMM_WORLD, code);
        MPI_Finalize();
}

/* ---- children ---- */

struct child {
        pid_t pid;
        int fd, place;
        bool ended;                     /* Its socket is closed. */
        char *in, *out;
        size_t in_length, out_length, out_done;
};
static struct child children[2];        /* The worker and, at rank 0, the coordinator. */
static int child_count;
static volatile sig_atomic_t signalled;

static void on_signal(int number) { signalled = number; }

static void start_child(char **words, int place, int workers)
{
        struct child *c = &children[child_count++];
        const pid_t parent = getpid();
        char text[64];
        int ends[2];
        *c = (struct child){ .place = place };
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
                perror("dnncc-mpi: socketpair"), exit(2);
        c->fd = ends[0];
        fcntl(ends[0], F_SETFD, FD_CLOEXEC);
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        c->pid = fork();
        if (c->pid < 0)
                perror("dnncc-mpi: fork"), exit(2);
        if (c->pid) {
                close(ends[1]);
                return;
        }
        setpgid(0, 0);                  /* What a launcher kills at once has time to tidy up. */
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
        if (getppid() != parent)
                _exit(1);
        static const int preset[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
        for (size_t i = 0; i < sizeof preset / sizeof *preset; i++)
                signal(preset[i], SIG_DFL);
        snprintf(text, sizeof text, "%d %d %d", ends[1], place, workers);
        setenv(FARM_VARIABLE, text, 1);
        if (place)
                dup2(open("/dev/null", O_RDONLY), 0);
        execvp(words[0], words);
        fprintf(stderr, "dnncc-mpi: error: cannot run %s: %s\n", words[0], strerror(errno));
        _exit(2);
}

static void flush_child(struct child *c)
{
        while (!c->ended && c->out_done < c->out_length) {
                ssize_t n = write(c->fd, c->out + c->out_done, c->out_length - c->out_done);
                if (n <= 0)
                        return;
                c->out_done += (size_t)n;
        }
        c->out_done = c->out_length = 0;
}

static void give_child(int place, struct farm_frame frame, const void *bytes)
{
        for (int i = 0; i < child_count; i++) {
                struct child *c = &children[i];
                if (c->place != place || c->ended)
                        continue;
                const size_t length = (size_t)frame.length;
                c->out = allocate(c->out, c->out_length + sizeof frame + length);
                memcpy(c->out + c->out_length, &frame, sizeof frame);
                if (length)
                        memcpy(c->out + c->out_length + sizeof frame, bytes, length);
                c->out_length += sizeof frame + length;
                flush_child(c);
        }
}

/* Reads what a child sent; returns false where it has ended. */
static bool fill_child(struct child *c)
{
        static char bytes[1 << 16];
        for (;;) {
                ssize_t n = read(c->fd, bytes, sizeof bytes);
                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return true;
                if (n <= 0)
                        return false;
                c->in = allocate(c->in, c->in_length + (size_t)n);
                memcpy(c->in + c->in_length, bytes, (size_t)n);
                c->in_length += (size_t)n;
        }
}

/* Waits for the end of a child; with a signal, and from when this process is sent one, it is asked
 * to end, then made to. Returns its exit code. */
static int end_child(struct child *c, int number)
{
        int status = 0;
        double end = 0;
        for (; waitpid(c->pid, &status, WNOHANG) == 0; usleep(5000))
                if (!end && (number || signalled)) {
                        kill(c->pid, number ? number : signalled);
                        end = now() + GRACE;
                } else if (end && now() > end) {
                        kill(-c->pid, SIGKILL);
                        waitpid(c->pid, &status, 0);
                        break;
                }
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- carrying ---- */

static int rank, size;
static bool *gone, *done;               /* These ranks are lost; these have said that it is
                                         * over. */
static double *heard;                   /* Seconds: they said something then; 0: never. */

static int rank_of(uint32_t place) { return place ? (int)place - 1 : 0; }

static void carry(const struct child *c, struct farm_frame frame, const void *bytes)
{
        const int to = rank_of(frame.peer);
        if (to < 0 || to >= size)
                return;
        if (to == rank) {
                const uint32_t place = frame.peer;
                frame.peer = (uint32_t)c->place;
                give_child((int)place, frame, bytes);
        } else {
                transport_send(to, (struct packet){ PACKET_FRAME, (uint32_t)c->place, frame.peer,
                                                    frame.kind, frame.length },
                               bytes);
        }
}

static void carry_all(struct child *c)
{
        struct farm_frame frame;
        size_t at = 0;
        while (c->in_length - at >= sizeof frame) {
                memcpy(&frame, c->in + at, sizeof frame);
                if (c->in_length - at - sizeof frame < frame.length)
                        break;
                carry(c, frame, c->in + at + sizeof frame);
                at += sizeof frame + (size_t)frame.length;
        }
        if (at)
                memmove(c->in, c->in + at, c->in_length - at);
        c->in_length -= at;
}

static void lose_worker(int place)
{
        const struct farm_frame frame = { (uint32_t)place, FARM_LOST, 0 };
        if (rank == 0)
                give_child(0, frame, NULL);
        else
                transport_send(0, (struct packet){ PACKET_FRAME, (uint32_t)place, 0, FARM_LOST, 0 },
                               NULL);
}

static void beat(double *last)
{
        if (now() - *last < BEAT)
                return;
        *last = now();
        for (int r = 0; r < size; r++)
                if (r != rank && (rank == 0 || r == 0))
                        transport_send(r, (struct packet){ .packet = PACKET_BEAT }, NULL);
}

/* Returns whether something came; *over: it was that the coordinator has ended. */
static bool receive_all(bool *over)
{
        void *bytes;
        size_t length;
        bool any = false;
        int from;
        while (!*over && transport_receive(&from, &bytes, &length)) {
                struct packet p;
                memcpy(&p, bytes, sizeof p);
                heard[from] = now();
                any |= p.packet == PACKET_FRAME;
                *over |= p.packet == PACKET_OVER && rank != 0;
                done[from] |= p.packet == PACKET_OVER;
                if (p.packet == PACKET_FRAME && p.length == length - sizeof p)
                        give_child((int)p.to,
                                   (struct farm_frame){ p.from, p.kind, p.length },
                                   (char *)bytes + sizeof p);
                free(bytes);
        }
        return any;
}

/* Looks who is silent; returns false where that is rank 0. */
static bool look_for_silent(bool *lost)
{
        for (int r = 0; r < size; r++) {
                if (r == rank || !heard[r] || gone[r] || now() - heard[r] < SILENT)
                        continue;
                if (r == 0)
                        return false;
                if (rank != 0)
                        continue;
                gone[r] = *lost = true;
                lose_worker(r + 1);
        }
        return true;
}

/* Waits for children at most so many milliseconds, and reads. */
static bool read_children(int milliseconds)
{
        struct pollfd polls[2];
        bool any = false;
        for (int i = 0; i < child_count; i++)
                polls[i] = (struct pollfd){ children[i].ended ? -1 : children[i].fd, POLLIN, 0 };
        poll(polls, (nfds_t)child_count, milliseconds);
        for (int i = 0; i < child_count; i++) {
                struct child *c = &children[i];
                if (c->ended)
                        continue;
                flush_child(c);
                if (!polls[i].revents)
                        continue;
                any = true;
                bool open = fill_child(c);
                carry_all(c);
                c->ended = !open;
                if (!open && c->place)
                        lose_worker(c->place);
        }
        return any;
}

/* Rank 0 receives what others send until each has said that it is over, so that MPI ends with
 * nothing on its way. */
static void hear_out(bool *lost)
{
        for (int left = size - 1; left > 0 && !signalled; usleep(1000)) {
                bool over = false;
                finish_sendings();
                receive_all(&over);
                look_for_silent(lost);
                left = 0;
                for (int r = 1; r < size; r++)
                        left += !gone[r] && !done[r];
        }
}

/* Carries until the coordinator has ended; returns the exit code. */
static int carry_on(bool *lost)
{
        double last = 0;
        bool over = false;
        int pause = 0;
        while (!over && !signalled) {
                bool any = read_children(pause);
                any |= receive_all(&over);
                finish_sendings();
                beat(&last);
                if (!look_for_silent(lost)) {
                        fprintf(stderr,
                                "dnncc-mpi: error: rank %d has not heard of rank 0 for %.0f "
                                "seconds, and ends\n",
                                rank, SILENT);
                        end_child(&children[0], SIGTERM);
                        _exit(1);
                }
                over |= rank == 0 && children[1].ended;
                pause = any ? 0 : pause < PAUSE_MOST ? pause + 1 : PAUSE_MOST;
        }
        int code = rank == 0 ? end_child(&children[1], 0) : 0;
        for (int r = 1; r < size && rank == 0; r++)
                if (!gone[r])
                        transport_send(r, (struct packet){ .packet = PACKET_OVER }, NULL);
        finish_sendings();
        end_child(&children[0], SIGTERM);
        if (rank == 0)
                hear_out(lost);
        else
                transport_send(0, (struct packet){ .packet = PACKET_OVER }, NULL);
        return code;
}

/* Reports a launcher that started several processes of which MPI knows one. */
static bool is_alone(void)
{
        static const char *const variables[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                                 "SLURM_STEP_NUM_TASKS" };
        char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
        int length;
        for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
                const char *started = getenv(variables[i]);
                if (!started || atoi(started) < 2)
                        continue;
                MPI_Get_library_version(version, &length);
                version[strcspn(version, ",\n")] = 0;
                fprintf(stderr,
                        "dnncc-mpi: error: %s processes were started, and MPI knows of one: it is "
                        "%s, whose own mpirun is wanted, or srun with --mpi=pmix or --mpi=pmi2\n",
                        started, version);
                transport_close(false, 1);
                return false;
        }
        return true;
}

int main(int argc, char **argv)
{
        static const int asked[] = { SIGINT, SIGTERM, SIGHUP };
        bool lost = false;
        if (argc < 2) {
                fputs("usage: mpirun -n N dnncc-mpi PROGRAM ARGUMENTS\n", stderr);
                return 1;
        }
        transport_open(&argc, &argv);
        rank = transport_rank();
        size = transport_size();
        if (size == 1 && !is_alone())
                return 1;
        for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
                sigaction(asked[i], &(struct sigaction){ .sa_handler = on_signal }, NULL);
        signal(SIGPIPE, SIG_IGN);
        gone = allocate(NULL, (size_t)size * sizeof *gone);
        done = allocate(NULL, (size_t)size * sizeof *done);
        heard = allocate(NULL, (size_t)size * sizeof *heard);
        memset(gone, 0, (size_t)size * sizeof *gone);
        memset(done, 0, (size_t)size * sizeof *done);
        memset(heard, 0, (size_t)size * sizeof *heard);
        start_child(argv + 1, rank + 1, size);
        if (rank == 0)
                start_child(argv + 1, 0, size);
        int code = carry_on(&lost);
        if (signalled) {
                signal(signalled, SIG_DFL);
                raise(signalled);
        }
        transport_close(lost, code);
        return code;
}
