/* SPDX-License-Identifier: MIT */
/* --tune measures schedules where they run, in the whole model, and writes what is better to the
 * file of --schedule.
 *
 * Every operation of one kind (schedule_book_key) has a best schedule so far, at first the one that
 * the cost model chooses. A round makes one move (schedule_move) on the best of all kinds at once,
 * compiles the model with --profile (harness.h), and runs it and the model of the first schedules
 * alternately, twice. A kind keeps the move when its kernels are more than 3 % faster for it both
 * times, measured against the first schedules of the same turn; none tries a schedule a second
 * time, whatever moves lead to it. A last round compiles all that was kept together, and what is
 * not faster there goes: among so many moves some are better by luck; then what is left is measured
 * once more, so that the last line can say what all of it gives. Nothing starts that would not be
 * done in time (limit tune_seconds); with no time at all the file lists the first schedules and
 * their neighbours, predicted only. Stopped by a signal, it writes what was kept by then; where
 * nothing was, the file stays what it was, and where there was none, it lists the first schedules.
 *
 * With --jit all of this is in one process: the models of the first and of the tried schedules are
 * compiled here, and their code is timed where it is (jit_time.c). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "compiler/harness.h"
#include "compiler/process.h"
#include "compiler/progress.h"
#include "compiler/report.h"
#include "kernels/kernels.h"
#include "schedule/book.h"
#include "schedule/schedule_choice.h"

enum { TURNS = 2, RUNS = 15 };
#define BETTER .97                      /* A schedule is faster that takes less than this part of
                                         * the time. */

struct kind {
        const char *key;
        const struct op *op;            /* It is the first of `count` operations of this kind. */
        int count;
        struct schedule first, best, tried;
        bool moved;                     /* It moved in this round. */
        struct schedule *known;         /* Rounds have tried these schedules. */
        int known_count;
        double ratio;                   /* It is the best schedule's time divided by the first
                                         * one's. */
        double time[2][TURNS];          /* They are the seconds of all its kernels, with the first
                                         * schedule and with the one tried. */
};

struct tuning {
        struct run *run;
        struct arena *arena;
        struct schedule_machine machine;
        struct harness harness;         /* Where it has no folder nothing is measured. */
        struct kind *kinds;
        int kind_count;
        int *kind_of_unit;              /* Each scheduled kernel has its kind here, in order; -1
                                         * stands for one of several contractions. */
        int unit_count;
        int *calls;                     /* They are the units' numbers among all calls of
                                         * kernels. */
        int call_count;
        struct run *runs[2];            /* With --jit: the first program and the one tried; or
                                         * NULL. */
        double whole[2][TURNS];         /* They are the seconds of a run, first and tried. */
        double end;                     /* Nothing starts that would not be done by then. */
        double round, measuring;        /* They are the seconds that the longest round took so far,
                                         * and its part without builds. */
        bool late;                      /* The last round was not measured. */
        bool measured;                  /* The whole model was measured with all that is kept. */
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
        *kind = (struct kind){
                .key = key, .op = op, .count = 1, .ratio = 1, .first = *op->schedule
        };
        kind->best = kind->first;
        return t->kind_count++;
}

/* Finds the units. Kernels run in the order of their operations (lower.h). */
static void find_units(struct tuning *t, struct function *f)
{
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                if (is_fusion(op->region->owner))
                        continue;
                struct region *region = is_fusion(op) ? op->regions[0] : NULL;
                const struct target *target = t->run->context.target;
                struct op *contraction = kernels_contraction(region, op, target);
                if (!contraction || !contraction->schedule || (!region && contraction != op))
                        continue;
                bool several = region && contraction->next &&
                               kernels_contraction(NULL, contraction->next, target);
                for (struct op *next = contraction->next; region && next && !several;
                     next = next->next)
                        several = kernels_contraction(NULL, next, target) == next;
                ARENA_GROW(t->arena, t->kind_of_unit, t->unit_count);
                t->kind_of_unit[t->unit_count++] = several ? -1 : find_kind(t, contraction);
        }
}

/* ---- entries ---- */

/* Where there is one entry of known extents, there is no program, which says so much of others. */
static int entry_count(const struct tuning *t)
{
        return t->run->state.program ? t->run->state.program->entry_count : 1;
}

static void go_to(struct tuning *t, int at)
{
        if (t->run->state.program)
                t->run->state.program->at = at;
}

/* ---- files and programs ---- */

/* Writes for the reader what these operations make, and what the first schedule is predicted to
 * cost. */
static void write_about(const struct tuning *t, FILE *out, const struct kind *kind)
{
        const char *type = type_text(t->arena, t->run->state.module, op_result(kind->op)->type);
        const char *where = kind->op->location ? kind->op->location : "";
        const char *why = kind->op->schedule->why;
        fprintf(out, "; makes %d times %s, first in '%s'%s%s\n", kind->count, type,
                text_safe(t->arena, where, strlen(where)), why ? "; " : "", why ? why : "");
}

/* Makes a move of what is best so far, to a schedule that was not tried yet. */
static bool move_kind(struct tuning *t, struct kind *kind, int move)
{
        kind->tried = kind->best;
        if (!schedule_move(kind->op, &t->machine, move, &kind->tried) ||
            schedule_equal(&kind->tried, &kind->first))
                return false;
        for (int i = 0; i < kind->known_count; i++)
                if (schedule_equal(&kind->tried, &kind->known[i]))
                        return false;
        ARENA_GROW(t->arena, kind->known, kind->known_count);
        kind->known[kind->known_count++] = kind->tried;
        return true;
}

/* Writes all that a first round could try. */
static void write_neighbours(struct tuning *t, FILE *out, struct kind *kind)
{
        for (int move = 0; move < schedule_move_count; move++)
                if (move_kind(t, kind, move))
                        fprintf(out, ";   or %s\n", schedule_words(t->arena, &kind->tried));
}

static void write_book(struct tuning *t, FILE *out, bool tried)
{
        fputs(SCHEDULE_BOOK_HEAD, out);
        fprintf(out, "; %s, --threads=%d\n", t->machine.target->name, t->machine.threads);
        for (int i = 0; i < t->kind_count; i++) {
                struct kind *kind = &t->kinds[i];
                const struct schedule *s = tried && kind->moved ? &kind->tried : &kind->best;
                write_about(t, out, kind);
                fprintf(out, "%s: %s", kind->key, schedule_words(t->arena, s));
                if (!tried && kind->ratio < 1)
                        fprintf(out, "    ; %.3f of the time of %s", kind->ratio,
                                schedule_words(t->arena, &kind->first));
                fputs("\n", out);
                if (!t->harness.folder)
                        write_neighbours(t, out, kind);
        }
}

static void close_here(struct tuning *t, int which)
{
        if (!t->runs[which])
                return;
        driver_close(t->runs[which]);
        free(t->runs[which]);
        t->runs[which] = NULL;
}

static int compile_in_child(void *options) { return driver_run(options); }

/* Reads the indices of the scheduled kernels among all calls, and the number of these, from the
 * report. */
static bool read_calls(struct tuning *t, const char *name)
{
        FILE *in = fopen(harness_path(&t->harness, name, ".json"), "r");
        char line[16384];
        int units = 0;
        t->call_count = 0;
        while (in && fgets(line, sizeof line, in)) {
                if (strncmp(line, "    {\"kernel\"", 13))
                        continue;
                const char *schedule = strstr(line, "\"schedule\": \"");
                if (schedule && schedule[13] != '"' && units < t->unit_count)
                        t->calls[units++] = t->call_count;
                t->call_count++;
        }
        if (in)
                fclose(in);
        return units == t->unit_count ||
               harness_fail(&t->harness, EXIT_INTERNAL,
                            "the report lists other kernels than the schedules");
}

/* Finds the same in a program of this process. */
static bool note_calls(struct tuning *t, struct run *of)
{
        const struct calls calls = report_calls(of);
        int units = 0;
        for (int i = 0; i < calls.count; i++) {
                struct call_cost cost;
                report_call_cost(of, calls.items[i], &cost);
                if (cost.schedule && *cost.schedule && units < t->unit_count)
                        t->calls[units++] = i;
        }
        t->call_count = calls.count;
        return units == t->unit_count ||
               harness_fail(&t->harness, EXIT_INTERNAL,
                            "the program calls other kernels than the schedules");
}

/* Compiles in this process, where the program of this name was before. */
static bool build_here(struct tuning *t, const char *name, struct options o)
{
        const int which = !strcmp(name, "tried");
        struct run *own = memory_alloc(sizeof *own);
        o.run = "zeros";                /* It writes no file. */
        o.output = o.report = o.profile = NULL;
        bool fine = driver_compile(own, &o) && note_calls(t, own);
        for (int at = 0; at < entry_count(t) && fine; at++) {
                go_to(t, at);
                own->state.program->at = at;
                fine = harness_compile_here(&t->harness, name, own, t->call_count,
                                            t->machine.threads == 1);
        }
        go_to(t, 0);
        close_here(t, which);
        t->runs[which] = own;
        return fine || harness_fail(&t->harness, own->diag.code ? own->diag.code : EXIT_INTERNAL,
                                    "compiling with other schedules failed");
}

/* Compiles the model with the schedules of NAME.schedule to the program NAME, in a process of its
 * own: this one's memory stays as it is. */
static bool build(struct tuning *t, const char *name)
{
        const struct harness *h = &t->harness;
        struct options o = t->run->options;
        o.tune = 0;
        o.schedule = harness_path(h, name, ".schedule");
        o.output = harness_path(h, name, target_printer(t->run->context.target)->suffix);
        o.report = harness_path(h, name, ".json");
        o.name = "tuned";
        o.weights = WEIGHTS_FILE;
        o.profile = "";
        o.quiet = 1;
        o.depfile = 0;
        o.runner = NULL;
        o.depfile_name = o.print_after = o.print_before = o.dump_dir = NULL;
        o.remarks = o.explain = NULL;   /* They are about what the user asked for, once. */
        if (h->jit)
                return build_here(t, name, o);
        if (process_run(compile_in_child, &o))
                return harness_fail(h, EXIT_INTERNAL, "compiling with other schedules failed");
        bool fine = read_calls(t, name);
        for (int at = 0; at < entry_count(t) && fine; at++) {
                go_to(t, at);
                fine = harness_compile(h, name, "tuned", t->call_count, t->machine.threads == 1);
        }
        go_to(t, 0);
        return fine;
}

/* Writes what the entry reads: extents that a run gives are at their bounds. */
static bool write_inputs(struct tuning *t)
{
        const struct function *f = run_function(t->run);
        const struct region *body = &f->body;
        for (int k = 0, file = 0; k < body->argument_count; k++) {
                const struct type *type = body->arguments[k].type;
                const struct loop_buffer input = { .element = type->element,
                                                   .extent = type_most_elements(f->module, type),
                                                   .type = type,
                                                   .is_text = f->input_ports[k].is_text };
                if (!f->input_ports[k].next &&    /* State begins as zeros. */
                    !harness_input(&t->harness, file++, k, &input, NULL))
                        return false;
        }
        return true;
}

/* Runs the program of each entry, and adds the times of each kind's kernels. */
static bool measure(struct tuning *t, const char *name, int which, int turn)
{
        struct harness_times times;
        bool fine = true;
        t->whole[which][turn] = 0;
        for (int i = 0; i < t->kind_count; i++)
                t->kinds[i].time[which][turn] = 0;
        for (int at = 0; at < entry_count(t) && fine; at++) {
                go_to(t, at);
                fine = write_inputs(t) &&
                       harness_run(&t->harness, name, 0, RUNS, false, t->call_count, &times);
                t->whole[which][turn] += fine ? times.median : 0;
                /* Calls of other entries take no time in this one. */
                for (int u = 0; u < t->unit_count && fine; u++)
                        if (t->kind_of_unit[u] >= 0)
                                t->kinds[t->kind_of_unit[u]].time[which][turn] +=
                                        times.calls[t->calls[u]];
        }
        go_to(t, 0);
        return fine;
}

static bool write_schedules(struct tuning *t, const char *name, bool tried)
{
        FILE *out = fopen(harness_path(&t->harness, name, ".schedule"), "w");
        if (!out)
                return harness_cannot_write(&t->harness);
        write_book(t, out, tried);
        return !fclose(out) || harness_cannot_write(&t->harness);
}

/* ---- rounds ---- */

static bool try_move(struct tuning *t, int move)
{
        bool any = false;
        for (int i = 0; i < t->kind_count; i++) {
                struct kind *kind = &t->kinds[i];
                kind->moved = move_kind(t, kind, move);
                any |= kind->moved;
        }
        return any;
}

/* Tries the best of all kinds; returns false where that is what they began with. */
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

/* Returns the part of the first schedule's time that the one tried takes, in the worse turn. */
static double worse_ratio(const struct kind *kind)
{
        double worst = 0;
        for (int turn = 0; turn < TURNS; turn++) {
                double ratio = kind->time[1][turn] / kind->time[0][turn];
                worst = ratio > worst ? ratio : worst;
        }
        return worst;
}

static void say_kept(const struct tuning *t, const struct kind *kind)
{
        if (t->run->diag.verbosity > 0)
                diag_say(&t->run->diag, "tune: %s: %s, %.3f of the first\n", kind->key,
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
                say_kept(t, kind);
        }
}

/* Keeps what is faster after a round of all that was kept. */
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
                say_kept(t, kind);
        }
}

/* Does one round: runs the program of the schedules tried, and the first one, alternately. */
static bool time_tried(struct tuning *t)
{
        double begin = clock_wall();
        t->late = begin + t->round > t->end;
        if (t->late)
                return true;
        if (!write_schedules(t, "tried", true) || !build(t, "tried"))
                return false;
        double built = clock_wall();
        t->late = built + t->measuring > t->end;
        for (int turn = 0; turn < TURNS && !t->late; turn++)
                if (!measure(t, "first", 0, turn) || !measure(t, "tried", 1, turn))
                        return false;
        double done = clock_wall();
        t->round = done - begin > t->round ? done - begin : t->round;
        t->measuring = done - built > t->measuring ? done - built : t->measuring;
        return true;
}

static int kept_count(const struct tuning *t)
{
        int count = 0;
        for (int i = 0; i < t->kind_count; i++)
                count += t->kinds[i].ratio < 1;
        return count;
}

/* Returns the part of the whole model's time that is left, by the kernels that are faster. */
static double gain_so_far(const struct tuning *t)
{
        double less = 0;
        for (int i = 0; i < t->kind_count; i++)
                if (t->kinds[i].ratio < 1)
                        less += t->kinds[i].time[0][0] * (1 - t->kinds[i].ratio);
        return t->whole[0][0] > 0 ? 1 - less / t->whole[0][0] : 1;
}

/* Counts the moves that change anything, at first. */
static int count_moves(struct tuning *t)
{
        int count = 0;
        for (int move = 0; move < schedule_move_count; move++)
                count += try_move(t, move);
        for (int i = 0; i < t->kind_count; i++)
                t->kinds[i].known_count = 0;
        return count;
}

static void tell_progress(const struct tuning *t, int done, int count)
{
        double left = t->end - clock_wall(), needed = t->round * (count - done + 1);
        progress_step(done, count, "%d of %d moves, %d kept, %.3f of the time", done, count,
                      kept_count(t), gain_so_far(t));
        progress_left(needed < left ? needed : left);
}

static bool try_moves(struct tuning *t)
{
        int count = count_moves(t), done = 0;
        /* There is time for it, and for the last one. */
        for (int move = 0; move < schedule_move_count && !t->late && !process_stopped() &&
                           clock_wall() + 2 * t->round < t->end;
             move++) {
                if (!try_move(t, move))
                        continue;
                tell_progress(t, done++, count);
                if (!time_tried(t))
                        return false;
                if (!t->late)
                        keep_better(t);
        }
        return true;
}

static double least(const double times[TURNS])
{
        double best = times[0];
        for (int i = 1; i < TURNS; i++)
                best = times[i] < best ? times[i] : best;
        return best;
}

/* Tells the time of the whole model with what was kept, measured with exactly that, and without. */
static void tell_whole(const struct tuning *t)
{
        int count = kept_count(t);
        const char *path = text_argument(t->arena, t->run->options.schedule);
        double before = 1e3 * least(t->whole[0]), after = 1e3 * least(t->whole[1]);
        if (t->run->diag.verbosity < 0)
                return;
        if (!count)
                diag_say(&t->run->diag,
                         "tune: nothing was gained: no schedule that was tried is faster than the "
                         "first ones, "
                         "which %s lists%s\n",
                         path,
                         t->late ? "; there was no time for more (--limit tune_seconds)" : "");
        else if (!t->measured)
                diag_say(&t->run->diag,
                         "tune: %d of %d kinds of kernels are faster by %s; the whole model was "
                         "not measured with "
                         "them: there was no time for it (--limit tune_seconds)\n",
                         count, t->kind_count, path);
        else
                diag_say(&t->run->diag,
                         "tune: %d of %d kinds of kernels are faster by %s: the whole model took "
                         "%.3f ms before "
                         "and takes %.3f ms after, %.3f of the time\n",
                         count, t->kind_count, path, before, after, after / before);
}

/* Measures all that was kept together and, where some of it was not faster there, what is left. */
static bool confirm(struct tuning *t)
{
        bool again = false;
        int tried;
        t->measured = true;
        do {
                tried = kept_count(t);
                if (!try_best(t))
                        break;
                progress_step(0, 0, "measuring the %d kept of %d kinds", tried, t->kind_count);
                if (!time_tried(t))
                        return false;
                t->measured = !t->late;
                if (t->measured || !again)
                        keep_confirmed(t);
                again = true;
        } while (t->measured && kept_count(t) < tried);
        return true;
}

static bool tune_in(struct tuning *t)
{
        const double start = clock_wall();
        t->end = start + (double)t->run->context.limits.tune_seconds;
        progress_step(0, 0, "compiling the model as it is");
        if (!write_schedules(t, "first", false) || !build(t, "first"))
                return false;
        t->round = clock_wall() - start;        /* A build is most of it. */
        return try_moves(t) && confirm(t);
}

/* Makes the program that tells which entries there are, and extents. */
static bool lower_entries(struct run *run)
{
        const struct lower_options plain = { .views = false };
        struct module *m = run->state.module;
        if (!module_has_extents(m) && !module_has_entries(m))
                return true;
        run->state.program = lower_module(m, NULL, run->context.library, &plain, &run->diag);
        return run->state.program != NULL;
}

static bool tune_in_folder(struct tuning *t)
{
        t->calls = arena_array(t->arena, (size_t)t->unit_count + 1, sizeof *t->calls);
        if (!lower_entries(t->run) || !harness_begin(&t->harness, t->run, "--tune"))
                return false;
        harness_expect(&t->harness, "first");
        harness_expect(&t->harness, "tried");
        process_stop_softly(true);
        progress_begin("tune", &t->run->diag);
        bool fine = tune_in(t);
        progress_end();
        process_stop_softly(false);
        harness_end(&t->harness);
        close_here(t, 0);
        close_here(t, 1);
        return fine;
}

bool tune(struct run *run)
{
        struct tuning t = { .run = run,
                            .arena = run->arena,
                            .machine = { .target = run->context.target,
                                         .threads = run->context.threads,
                                         .lower = &run->context.lower,
                                         .library = run->context.library } };
        const struct engine *engine = target_engine(run->context.target);
        harness_choose(run);
        if (engine->launches || engine->schedule) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--tune wants a target whose kernels run on the processor, as generic "
                           "or x86-64: those for %s do not",
                           run->context.target->name);
                return false;
        }
        if (engine->vectors && run->context.exact) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--tune times schedules, and exact code for %s follows none: not with "
                           "--exact",
                           run->context.target->name);
                return false;
        }
        if (run->context.limits.tune_seconds && !harness_runs(run, "--tune"))
                return false;
        for (struct function *f = run->state.module->functions; f; f = f->next)
                if (!f->general)        /* Code for likely extents keeps its schedules. */
                        find_units(&t, f);
        const bool tunes = run->context.limits.tune_seconds != 0;
        bool fine = !tunes || tune_in_folder(&t);
        int stopped = process_stopped();
        bool wanted = stopped ? kept_count(&t) || access(run->options.schedule, F_OK) : fine;
        FILE *out = wanted
                            ? outputs_open(run->outputs, run->options.schedule, &run->diag)
                            : NULL;
        if (out)
                write_book(&t, out, false);
        if (!stopped) {
                /* A signal no longer comes between the file and what is said of it: the process
                 * ends by itself from here. */
                sigset_t before;
                process_hold_signals(&before);
        }
        fine = out && outputs_commit(run->outputs, &run->diag);
        if (stopped)
                process_end(stopped);
        if (fine && tunes)
                tell_whole(&t);
        return fine;
}
