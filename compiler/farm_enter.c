/* SPDX-License-Identifier: MIT */
/* dnncc is not linked with MPI, and starts none where it was not started beside others. mpirun and
 * srun say in variables how many processes they started; then a command that has pieces for a farm
 * becomes dnncc-mpi (farm_mpi.c), which speaks MPI and starts dnncc again:
 *
 *      mpirun -n 2 dnncc ..  ->  rank 0: dnncc-mpi  <- MPI ->  rank 1: dnncc-mpi
 *                                  |         |                        |
 *                          coordinator    worker 1                 worker 2
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256.h"
#include "compiler/cache.h"
#include "compiler/farm.h"
#include "compiler/farm_line.h"

#define MESSENGER "dnncc-mpi"
#define PACKAGES "openmpi-bin and libopenmpi-dev"

extern char **environ;
static struct line *line;
static char command[65];                /* It is a digest of the command line. */

const char *farm_command(void) { return command; }
bool farm_is_open(void) { return line != NULL; }
bool farm_is_worker(void) { return line && line_place(line); }
struct line *farm_line(void) { return line; }

void farm_close(void)
{
        if (line)
                line_close(line);
        line = NULL;
}

void farm_greet(struct line *to)
{
        char host[256] = "";
        struct text hello = { 0 };
        gethostname(host, sizeof host - 1);
        text_add(&hello, "%s\n%s\n%s, process %ld", sources_digest(), command, host,
                 (long)getpid());
        line_send(to, 0, FARM_HELLO, hello.data, hello.length);
        text_free(&hello);
}

void farm_forget(void) { line = NULL; }

void farm_leave(void)
{
        if (farm_is_worker())
                line_send(line, 0, FARM_STRUCK, farm_said(), strlen(farm_said()));
        farm_close();
}

/* ---- what a worker says ---- */

static FILE *hushed;

void farm_hush(void)
{
        hushed = tmpfile();
        if (hushed) {
                fflush(stderr);
                dup2(fileno(hushed), 2);
        }
}

const char *farm_said(void)
{
        static char text[1024];
        fflush(stderr);
        ssize_t length = hushed ? pread(fileno(hushed), text, sizeof text - 1, 0) : 0;
        text[length > 0 ? length : 0] = 0;
        return text;
}

/* ---- becoming dnncc-mpi ---- */

/* Returns how many processes were started together, 1 without a launcher. */
static long processes_started(const char **launcher)
{
        static const struct { const char *variable, *launcher; } known[] = {
                { "OMPI_COMM_WORLD_SIZE", "mpirun" },       /* Open MPI */
                { "PMI_SIZE", "mpirun" },                   /* MPICH and what comes of it */
                { "SLURM_STEP_NUM_TASKS", "srun" },         /* Slurm */
        };
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
                const char *text = getenv(known[i].variable);
                if (text && strtol(text, NULL, 10) > 0) {
                        *launcher = known[i].launcher;
                        return strtol(text, NULL, 10);
                }
        }
        return 1;
}

const char *farm_option(int argc, char **argv)
{
        static const char *const options[] = { "--batch", "--calibrate" };
        for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
                for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
                        const size_t length = strlen(options[k]);
                        if (!strncmp(argv[i], options[k], length) &&
                            (!argv[i][length] || argv[i][length] == '='))
                                return options[k];
                }
        return NULL;
}

/* Returns the path of this program, where the system says it, or the word that started it. */
static const char *own_path(struct arena *arena, const char *word)
{
        char path[4096];
        ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
        if (length <= 0)
                return word;
        path[length] = 0;
        return arena_string(arena, path);
}

/* Becomes dnncc-mpi: it lies beside this program, in ../lib/dnncc, or on PATH. */
static bool become_messenger(int argc, char **argv, const char *option, const char *launcher,
                             long count, struct diag *diag)
{
        struct arena *arena = arena_new();
        const char *own = own_path(arena, argv[0]), *slash = strrchr(own, '/');
        char **words = arena_array(arena, (size_t)argc + 2, sizeof *words);
        words[0] = MESSENGER;
        words[1] = (char *)(uintptr_t)own;
        for (int i = 1; i < argc; i++)
                words[i + 1] = argv[i];
        if (slash) {
                const int length = (int)(slash - own);
                execv(arena_printf(arena, "%.*s/" MESSENGER, length, own), words);
                execv(arena_printf(arena, "%.*s/../lib/dnncc/" MESSENGER, length, own), words);
        }
        execvp(MESSENGER, words);
        if (errno == ENOENT)
                diag_error(diag, EXIT_UNSUPPORTED,
                           "%s in %ld processes of %s wants " MESSENGER
                           ", which make builds where MPI is: Debian's packages are " PACKAGES,
                           option, count, launcher);
        else
                diag_error(diag, EXIT_IO, "cannot run " MESSENGER ": %s", strerror(errno));
        arena_free(arena);
        return false;
}

/* Forgets the launcher: what this process starts is no process of MPI, and may start some. */
static void leave_launcher(void)
{
        static const char *const begins[] = { "OMPI_", "PMIX_", "PMI_", "MPI_", "HYDI_",
                                              "SLURM_STEP_" };
        for (char **at = environ; *at;) {
                char name[128];
                const size_t length = strcspn(*at, "=");
                bool gone = false;
                for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
                        gone |= !strncmp(*at, begins[i], strlen(begins[i]));
                gone &= strncmp(*at, "OMPI_ALLOW_", strlen("OMPI_ALLOW_")) && length < sizeof name;
                if (gone) {
                        memcpy(name, *at, length);
                        name[length] = 0;
                        unsetenv(name);         /* The next one is here now. */
                } else {
                        at++;
                }
        }
}

static void note_command(int argc, char **argv)
{
        struct sha256 sha;
        sha256_init(&sha);
        for (int i = 1; i < argc; i++)
                sha256_update(&sha, argv[i], strlen(argv[i]) + 1);
        sha256_hex(&sha, command);
}

bool farm_enter(int argc, char **argv, const char *what, struct diag *diag)
{
        const char *launcher = NULL;
        line = line_inherit();
        if (!line) {
                const long count = what ? processes_started(&launcher) : 1;
                return count < 2 || become_messenger(argc, argv, what, launcher, count, diag);
        }
        leave_launcher();
        note_command(argc, argv);
        if (farm_is_worker()) {
                int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
                dup2(nowhere, 1);
                farm_hush();
                farm_greet(line);
        }
        return true;
}
