/* --tune: measures schedules where they run, in the whole model, and writes what is better to the
 * file of --schedule.
 *
 * Every operation of one kind (schedule_book_key) has a best schedule so far, at first the one that
 * the cost model chooses. A round makes one move (schedule_move) on the best of all kinds at once,
 * compiles the model with --profile, and runs it and the model of the first schedules in turn,
 * twice. A kind keeps the move when its kernels are more than 3 % faster for it both times,
 * measured against the first schedules of the same turn. A last round compiles all that was kept
 * together, and what is not faster there goes: among so many moves some are better by luck. Nothing
 * starts that would not be done in time (limit tune_seconds); with no time at all the file lists
 * the first schedules and their neighbours, predicted only. Stopped by a signal, it writes what was
 * kept by then, if anything was. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "compiler/driver.h"
#include "compiler/process.h"
#include "kernels/kernels.h"
#include "schedule/book.h"
#include "schedule/schedule.h"

enum { TURNS = 2 };
#define BETTER .97                      /* of the time */

struct kind {
        const char *key;
        const struct op *op;            /* the first of them, of */
        int count;
        struct schedule first, best, tried;
        bool moved;                     /* in this round */
        double ratio;                   /* of the best schedule's time to the first one's */
        double time[2][TURNS];          /* first and tried, seconds of all its kernels */
};

struct tuning {
        struct run *run;
        struct arena *arena;
        struct schedule_machine machine;
        const char *folder;             /* of the programs; NULL: nothing is measured */
        struct kind *kinds;
        int kind_count;
        int *kind_of_unit;              /* scheduled kernels in order; -1: of several
                                         * contractions */
        int unit_count;
        double end;                     /* nothing starts that would not be done by then */
        double round, measuring;        /* seconds that the longest round took so far; of them,
                                         * without builds */
        bool late;                      /* the last round was not measured */
};

/* ---- what there is to tune ---- */

static bool is_fusion(const struct op *op) { return op && op->code == OP_fusion; }

static int find_kind(struct tuning *t, struct op *op)
{
        const char *key = schedule_book_key(t->arena, t->run->state.module, op);
        for (int i = 0; i < t->kind_count; i++)
                if (!strcmp(t->kinds[i].key, key)) {
                        t->kinds[i].count++;
                        return i;
                }
        ARENA_GROW(t->arena, t->kinds, t->kind_count);
        struct kind *kind = &t->kinds[t->kind_count];
        *kind = (struct kind){ .key = key, .op = op, .count = 1, .ratio = 1, .first = *op->schedule };
        kind->best = kind->first;
        return t->kind_count++;
}

/* Kernels run in the order of their operations (lower.h). */
static void find_units(struct tuning *t, struct function *f)
{
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                if (is_fusion(op->region->owner))
                        continue;
                struct region *region = is_fusion(op) ? op->regions[0] : NULL;
                struct op *contraction = kernels_contraction(region, op);
                if (!contraction || !contraction->schedule || (!region && contraction != op))
                        continue;
                bool several = region && contraction->next &&
                               kernels_contraction(NULL, contraction->next);
                for (struct op *next = contraction->next; region && next && !several;
                     next = next->next)
                        several = kernels_contraction(NULL, next) == next;
                ARENA_GROW(t->arena, t->kind_of_unit, t->unit_count);
                t->kind_of_unit[t->unit_count++] = several ? -1 : find_kind(t, contraction);
        }
}

/* ---- files and programs ---- */

static const char *path_in(const struct tuning *t, const char *name)
{
        return arena_printf(t->arena, "%s/%s", t->folder, name);
}

/* for the reader: what these operations make, and what the first schedule is predicted to cost */
static void write_about(const struct tuning *t, FILE *out, const struct kind *kind)
{
        const char *type = type_text(t->arena, t->run->state.module, op_result(kind->op)->type);
        const char *where = kind->op->location ? kind->op->location : "";
        const char *why = kind->op->schedule->why;
        fprintf(out, "; makes %d times %s, first in '%s'%s%s\n", kind->count, type,
                text_safe(t->arena, where, strlen(where)), why ? "; " : "", why ? why : "");
}

/* all that a round could try */
static void write_neighbours(const struct tuning *t, FILE *out, const struct kind *kind)
{
        for (int move = 0; move < schedule_move_count; move++) {
                struct schedule s = kind->first;
                if (schedule_move(kind->op, &t->machine, move, &s))
                        fprintf(out, ";   or %s\n", schedule_words(t->arena, &s));
        }
}

static void write_book(const struct tuning *t, FILE *out, bool tried)
{
        fputs(SCHEDULE_BOOK_HEAD, out);
        fprintf(out, "; %s, --threads=%d\n", t->machine.target->name, t->machine.threads);
        for (int i = 0; i < t->kind_count; i++) {
                const struct kind *kind = &t->kinds[i];
                const struct schedule *s = tried && kind->moved ? &kind->tried : &kind->best;
                write_about(t, out, kind);
                fprintf(out, "%s: %s", kind->key, schedule_words(t->arena, s));
                if (!tried && kind->ratio < 1)
                        fprintf(out, "    ; %.3f of the time of %s", kind->ratio,
                                schedule_words(t->arena, &kind->first));
                fputs("\n", out);
                if (!t->folder)
                        write_neighbours(t, out, kind);
        }
}

/* An error, unless somebody asked to stop: what runs then fails for that. */
static bool give_up(struct tuning *t, enum exit_code code, const char *why)
{
        if (!process_stopped())
                diag_error(&t->run->diag, code, "--tune: %s", why);
        return false;
}

static bool cannot_write(struct tuning *t)
{
        return give_up(t, EXIT_IO,
                       arena_printf(t->arena, "cannot write in %s: %s", t->folder, strerror(errno)));
}

/* All memory lies on huge pages: which ones a program's own constants get is luck, worth more than
 * most moves. */
static const char harness[] =
        "#include <stdio.h>\n#include <stdlib.h>\n#include <sys/mman.h>\n#include <time.h>\n#include \"%s.h\"\n"
        "enum { CALLS = %d, RUNS = 15, WEIGHTS = 2, HUGE_PAGE = 1 << 21 };\n"
        "static double at, spent[CALLS][RUNS];\nstatic int run;\n"
        "static double now(void)\n{\n        struct timespec t;\n        clock_gettime(%s, &t);\n"
        "        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;\n}\n"
        "void dnncc_profile(int kernel);\n"
        "void dnncc_profile(int kernel)\n{\n        double t = now();\n"
        "        if (kernel >= 0 && kernel < CALLS)\n                spent[kernel][run] += t - at;\n        at = now();\n}\n"
        "static int order(const void *a, const void *b)\n{\n"
        "        const double *x = a, *y = b;\n        return (*x > *y) - (*x < *y);\n}\n"
        "static void *memory(size_t bytes)\n{\n        void *p = NULL;\n"
        "        if (posix_memalign(&p, HUGE_PAGE, bytes + 64))\n                exit(1);\n"
        "#ifdef MADV_HUGEPAGE\n        madvise(p, bytes + 64, MADV_HUGEPAGE);\n#endif\n        return p;\n}\n"
        "static void read_weights(const char *program, void *weights, size_t bytes)\n{\n        char path[4096];\n"
        "        snprintf(path, sizeof path, \"%%s.weights\", program);\n        FILE *in = fopen(path, \"rb\");\n"
        "        if (!in || fread(weights, 1, bytes, in) != bytes)\n                exit(1);\n        fclose(in);\n}\n"
        "int main(int argc, char **argv)\n{\n"
        "        const struct dnncc_model_1 *m = tuned_describe();\n"
        "        void *region[8] = { 0 }, *data[2][256] = { { 0 } };\n"
        "        for (unsigned r = 0; argc && r < m->region_count && r < 8; r++) {\n"
        "                region[r] = memory((size_t)m->regions[r].size);\n"
        "                if (m->regions[r].kind == WEIGHTS)\n"
        "                        read_weights(argv[0], region[r], (size_t)m->regions[r].size);\n        }\n"
        "        for (int o = 0; o < 2; o++)\n"
        "                for (unsigned k = 0; k < (o ? m->output_count : m->input_count) && k < 256; k++) {\n"
        "                        const struct dnncc_tensor_1 *x = &(o ? m->outputs : m->inputs)[k];\n"
        "                        float *f = data[o][k] = calloc(1, (size_t)x->bytes + 64);\n"
        "                        for (size_t i = 0; f && x->type == 1 && i < x->bytes / sizeof *f; i++)\n"
        "                                f[i] = (float)(i %% 101) * 0.01f - 0.5f;\n"
        "                }\n"
        "        for (int warm = 1; warm >= 0; warm--)\n"
        "                for (run = 0; run < (warm ? 2 : RUNS); run++) {\n"
        "                        for (int k = 0; k < CALLS; k++)\n                                spent[k][run] = 0;\n"
        "                        if (m->run(region, (const void *const *)data[0], data[1], NULL))\n"
        "                                return 2;\n"
        "                }\n"
        "        for (int k = 0; k < CALLS; k++) {\n"
        "                qsort(spent[k], RUNS, sizeof **spent, order);\n"
        "                printf(\"%%.9f\\n\", spent[k][RUNS / 2]);\n"
        "        }\n"
        "        return 0;\n}\n";

/* Compiles the model with the schedules of FOLDER/NAME.schedule to the program FOLDER/NAME, in a
 * process of its own: this one's memory stays as it is. */
static bool build(struct tuning *t, const char *name)
{
        const char *suffix = target_printer(t->run->context.target)->suffix;
        struct options o = t->run->options;
        o.tune = 0;
        o.schedule = path_in(t, arena_printf(t->arena, "%s.schedule", name));
        o.output = path_in(t, arena_printf(t->arena, "%s%s", name, suffix));
        o.report = path_in(t, arena_printf(t->arena, "%s.json", name));
        o.name = "tuned";
        o.weights = WEIGHTS_FILE;
        o.profile = o.quiet = 1;
        o.depfile = 0;
        o.depfile_name = o.print_after = o.print_before = o.dump_dir = NULL;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0)
                _exit(driver_run(&o));
        int status = -1;
        while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
                continue;
        if (status)
                return give_up(t, EXIT_INTERNAL, "compiling with other schedules failed");
        const char *cc = o.cc ? o.cc : CC_PRESET,
                   *threads = o.threads > 1 ? " -ldnncc_runtime -lpthread" : "";
        char *command = arena_printf(t->arena, "cd %s && %s -I. -o %s %s_main.c %s%s%s", t->folder,
                                     cc, name, name, name, suffix, threads);
        return !command_run(command) ||
               give_up(t, EXIT_IO, arena_printf(t->arena, "cannot compile with '%s' (--cc)", cc));
}

/* indices of the scheduled kernels among all calls, from the report; the number of all calls */
static int read_calls(struct tuning *t, const char *name, int *calls)
{
        FILE *in = fopen(path_in(t, arena_printf(t->arena, "%s.json", name)), "r");
        char line[16384];
        int count = 0, units = 0;
        while (in && fgets(line, sizeof line, in)) {
                if (strncmp(line, "    {\"kernel\"", 13))
                        continue;
                const char *schedule = strstr(line, "\"schedule\": \"");
                if (schedule && schedule[13] != '"' && units < t->unit_count)
                        calls[units++] = count;
                count++;
        }
        if (in)
                fclose(in);
        return units == t->unit_count ? count : -1;
}

static bool write_harness(struct tuning *t, const char *name, int calls)
{
        FILE *out = fopen(path_in(t, arena_printf(t->arena, "%s_main.c", name)), "w");
        if (!out)
                return cannot_write(t);
        /* one thread's own time does not count what else the machine does */
        fprintf(out, harness, name, calls,
                t->machine.threads > 1 ? "CLOCK_MONOTONIC" : "CLOCK_THREAD_CPUTIME_ID");
        return !fclose(out) || cannot_write(t);
}

/* runs the program; adds the times of each kind's kernels */
static bool measure(struct tuning *t, const char *name, int which, int turn, const int *calls,
                    int call_count)
{
        FILE *in = popen(arena_printf(t->arena, "%s/%s", t->folder, name), "r");
        double *times = arena_array(t->arena, (size_t)call_count, sizeof *times);
        bool good = in;
        for (int i = 0; i < call_count && good; i++)
                good = fscanf(in, "%lf", &times[i]) == 1;
        if ((in && pclose(in)) || !good)
                return give_up(t, EXIT_INTERNAL, "the compiled program failed");
        for (int i = 0; i < t->kind_count; i++)
                t->kinds[i].time[which][turn] = 0;
        for (int u = 0; u < t->unit_count; u++)
                if (t->kind_of_unit[u] >= 0)
                        t->kinds[t->kind_of_unit[u]].time[which][turn] += times[calls[u]];
        return true;
}

static bool write_schedules(struct tuning *t, const char *name, bool tried)
{
        FILE *out = fopen(path_in(t, arena_printf(t->arena, "%s.schedule", name)), "w");
        if (!out)
                return cannot_write(t);
        write_book(t, out, tried);
        return !fclose(out) || cannot_write(t);
}

/* ---- rounds ---- */

static bool try_move(struct tuning *t, int move)
{
        bool any = false;
        for (int i = 0; i < t->kind_count; i++) {
                struct kind *kind = &t->kinds[i];
                kind->tried = kind->best;
                kind->moved = schedule_move(kind->op, &t->machine, move, &kind->tried);
                any |= kind->moved;
        }
        return any;
}

/* the best of all kinds; false when that is what they began with */
static bool try_best(struct tuning *t)
{
        bool any = false;
        for (int i = 0; i < t->kind_count; i++) {
                struct kind *kind = &t->kinds[i];
                kind->tried = kind->best;
                kind->moved = kind->ratio < 1;
                any |= kind->moved;
        }
        return any;
}

/* of the time of the first schedule, in the worse turn */
static double worse_ratio(const struct kind *kind)
{
        double worst = 0;
        for (int turn = 0; turn < TURNS; turn++) {
                double ratio = kind->time[1][turn] / kind->time[0][turn];
                worst = ratio > worst ? ratio : worst;
        }
        return worst;
}

static void tell(const struct tuning *t, const struct kind *kind)
{
        if (t->run->diag.verbosity > 0)
                fprintf(stderr, "tune: %s: %s, %.3f of the first\n", kind->key,
                        schedule_words(t->arena, &kind->best), kind->ratio);
}

static void keep_better(struct tuning *t)
{
        for (int i = 0; i < t->kind_count; i++) {
                struct kind *kind = &t->kinds[i];
                if (!kind->moved || !(worse_ratio(kind) < BETTER * kind->ratio))
                        continue;
                kind->best = kind->tried;
                kind->ratio = worse_ratio(kind);
                tell(t, kind);
        }
}

/* after a round of all that was kept */
static void keep_confirmed(struct tuning *t)
{
        for (int i = 0; i < t->kind_count; i++) {
                struct kind *kind = &t->kinds[i];
                if (!kind->moved)
                        continue;
                kind->ratio = t->late ? 1 : worse_ratio(kind);
                if (!(kind->ratio < BETTER)) {
                        kind->best = kind->first;
                        kind->ratio = 1;
                }
                tell(t, kind);
        }
}

static double seconds(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* one round: the program of the schedules tried, and the first one, in turn */
static bool time_tried(struct tuning *t, int *calls, int count)
{
        double begin = seconds();
        t->late = begin + t->round > t->end;
        if (t->late)
                return true;
        if (!write_schedules(t, "tried", true) || !build(t, "tried") ||
            read_calls(t, "tried", calls) < 0)
                return false;
        double built = seconds();
        t->late = built + t->measuring > t->end;
        for (int turn = 0; turn < TURNS && !t->late; turn++)
                if (!measure(t, "first", 0, turn, calls, count) ||
                    !measure(t, "tried", 1, turn, calls, count))
                        return false;
        double done = seconds();
        t->round = done - begin > t->round ? done - begin : t->round;
        t->measuring = done - built > t->measuring ? done - built : t->measuring;
        return true;
}

static bool tune_in(struct tuning *t)
{
        int *calls = arena_array(t->arena, (size_t)t->unit_count + 1, sizeof *calls), count;
        double start = seconds();
        t->end = start + (double)t->run->context.limits.tune_seconds;
        /* the harness needs the number of calls before the first program is linked: a guess, then
         * the report's */
        if (!write_schedules(t, "first", false) || !write_harness(t, "first", 1 << 14) ||
            !build(t, "first"))
                return false;
        if ((count = read_calls(t, "first", calls)) < 0)
                return give_up(t, EXIT_INTERNAL, "the report lists other kernels than the schedules");
        count = count < 1 << 14 ? count : 1 << 14;
        if (!write_harness(t, "tried", 1 << 14))
                return false;
        t->round = seconds() - start;           /* a build is most of it */
        /* time for it, and for the last one */
        for (int move = 0; move < schedule_move_count && !t->late && !process_stopped() &&
                           seconds() + 2 * t->round < t->end;
             move++) {
                if (!try_move(t, move))
                        continue;
                if (!time_tried(t, calls, count))
                        return false;
                if (!t->late)
                        keep_better(t);
        }
        if (!try_best(t))
                return true;
        if (!time_tried(t, calls, count))
                return false;
        keep_confirmed(t);
        return true;
}

static bool tune_in_folder(struct tuning *t)
{
        const char *const endings[] = { "",   target_printer(t->run->context.target)->suffix,
                                        ".h", ".json", ".schedule", "_main.c", ".weights" };
        enum { ENDING_COUNT = sizeof endings / sizeof *endings };
        char folder[] = "/tmp/dnncc-tune-XXXXXX";
        int temporaries = temporaries_count();
        if (!temporary_folder(folder))
                return give_up(t, EXIT_IO,
                               arena_printf(t->arena, "cannot make a folder: %s", strerror(errno)));
        t->folder = arena_string(t->arena, folder);
        for (int i = 0; i < 2 * ENDING_COUNT; i++)
                temporary_expect(path_in(t, arena_printf(t->arena, "%s%s",
                                                         i % 2 ? "first" : "tried",
                                                         endings[i / 2])));
        process_stop_softly(true);
        bool fine = tune_in(t);
        process_stop_softly(false);
        temporaries_remove(temporaries);
        return fine;
}

static bool has_better(const struct tuning *t)
{
        for (int i = 0; i < t->kind_count; i++)
                if (t->kinds[i].ratio < 1)
                        return true;
        return false;
}

bool tune(struct run *run)
{
        struct tuning t = { .run = run, .arena = run->arena,
                            .machine = { run->context.target, run->context.threads } };
        if (!target_has_vectors(run->context.target) || run->options.exact) {
                diag_error(
                        &run->diag, EXIT_USAGE,
                        "--tune wants a target with vectors, and no --exact: nothing is scheduled");
                return false;
        }
        find_units(&t, run->state.module->functions);
        bool fine = !run->context.limits.tune_seconds || tune_in_folder(&t);
        int stopped = process_stopped();
        FILE *out = (stopped ? has_better(&t) : fine)
                            ? outputs_open(run->outputs, run->options.schedule, &run->diag)
                            : NULL;
        if (out)
                write_book(&t, out, false);
        fine = out && outputs_commit(run->outputs, &run->diag);
        if (stopped)
                process_end(stopped);
        return fine;
}
