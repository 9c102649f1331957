/* SPDX-License-Identifier: MIT */
/* A model is compiled within --max-ram first as without it, then, where that takes too much, again
 * with ever more done about it. The first that fits is taken, so a budget a little below what speed
 * takes costs little speed.
 *
 *   import, passes that do not depend on it --+-- copy, all other passes: too much
 *   (once)                                    +-- copy, the same in the order of least memory:
 *                                             |   too much
 *                                             +-- ...: fits
 *
 * At most the best try and the last one are kept. The module says what was done (`within "rows"`),
 * so that its dumps go on in the same way.
 *
 * Without --max-ram, a core whose instructions are counted gets the smallest of some plans with
 * rows passed on that take no more of them (`within "rows 16384"`, which names the budget). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/store.h"
#include "compiler/report.h"
#include "ir/target/rates.h"
#include "ir/target/schedule.h"

/* A try does these; each also does what those before it do. */
enum { FOR_SPEED, IN_ORDER, DIRECT, IN_ROWS, IN_PARTS, IN_LEAST, UNBLOCKED, TRIES };
static const struct { const char *name, *doing;
} tries[] = {
        [FOR_SPEED] = { "speed", "as without a budget" },
        [IN_ORDER] = { "order", "in the order of least memory" },
        [DIRECT] = { "direct", "without Winograd's algorithm and Fourier transforms" },
        [IN_ROWS] = { "rows", "with rows passed on" },
        [IN_PARTS] = { "parts", "with strips of parts of rows" },
        [IN_LEAST] = { "least", "with rows passed on in as few bytes as possible" },
        [UNBLOCKED] = { "unblocked", "without blocked tensors" },
};

/* Compiles one module up to the passes that are of one target, then one for each target. */
static bool compile_targets(struct run *run, struct pipeline_options pipeline)
{
        bool tensors_only = pipeline.part == PIPELINE_TENSOR;
        pipeline.part = PIPELINE_SHARED;
        if (!pipeline_run(&run->state, &pipeline, &run->context))
                return false;
        if (tensors_only)
                return true;
        struct print_program *lesser =
                arena_array(run->arena, (size_t)run->target_count, sizeof *lesser);
        run->lesser_modules =
                arena_array(run->arena, (size_t)run->target_count, sizeof *run->lesser_modules);
        struct pipeline_options of_target = pipeline;
        of_target.part = PIPELINE_OF_TARGET;
        of_target.resumed = true;
        of_target.observe = NULL;       /* The report is about the best one. */
        for (int i = 0; i + 1 < run->target_count; i++) {
                struct run own = *run;  /* It is as if there were no other target. */
                own.context.target = own.context.lower.target = run->targets[i];
                own.context.book = NULL;
                own.state.module = run->lesser_modules[i] = module_copy(run->state.module);
                of_target.label = run->targets[i]->name;
                of_target.runner = &own;
                if (!pipeline_run(&own.state, &of_target, &own.context))
                        return false;
                lesser[i] = (struct print_program){ own.state.program, run->targets[i] };
        }
        of_target.label = run->context.target->name;
        of_target.observe = pipeline.observe;
        of_target.runner = run;
        if (!pipeline_run(&run->state, &of_target, &run->context))
                return false;
        run->lesser = lesser;
        return true;
}

/* Returns the most bytes that a target's program takes. */
static int64_t most_ram(const struct run *run)
{
        int64_t most = 0;
        for (int i = 0; i < run->target_count; i++) {
                int64_t ram = report_ram(run_program(run, i));
                most = ram > most ? ram : most;
        }
        return most;
}

/* Is a convolution computed by Winograd's algorithm or by Fourier transforms? */
static bool has_transforms(const struct region *region)
{
        for (struct op *op = region_walk(region, NULL); op; op = region_walk(region, op))
                if (op->code == OP_convolve_winograd || op->code == OP_spectrum)
                        return true;
        return false;
}

/* Does a contraction gather what it reads in strips, or can it do so? */
static bool has_strips(const struct region *region, const struct engine *engine)
{
        for (struct op *op = region_walk(region, NULL); op; op = region_walk(region, op)) {
                const struct schedule_registers *s = schedule_registers(op->schedule);
                if (s && (engine->single_sums || (s->pack && s->strip)))
                        return true;
        }
        return false;
}

/* Returns whether doing this can change what came of the try before it. */
static bool is_promising(struct run *run, int doing)
{
        bool blocked = target_engine(run->context.target)->vectors && !run->context.exact;
        switch (doing) {
        case IN_ORDER:                  /* The least that any order of these kernels takes is
                                         * known. */
                return !run->context.memory && report_memory(run).best <= run->options.max_ram;
        case IN_PARTS:
                return has_strips(&module_entry(run->state.module)->body,
                                  target_engine(run->context.target));
        case IN_LEAST:                  /* What divides the network predicts bytes, and may err. */
                return run->options.max_ram > 0;
        case DIRECT:
                return has_transforms(&module_entry(run->state.module)->body);
        default:
                return doing != UNBLOCKED || blocked;
        }
}

/* budget: the bytes for rows that are passed on, from IN_ROWS on. */
static bool compile_so(struct run *run, const struct pipeline_options *pipeline, int doing,
                       int64_t budget)
{
        run->context.memory |= doing >= IN_ORDER;
        run->context.again = 0;
        run->context.one_by_one = false;
        if (doing >= IN_ORDER && !run->context.strip_percent)
                run->context.strip_percent = STRIP_PERCENT_LEAST;
        if (doing >= IN_PARTS)
                run->context.strip_percent = STRIP_PERCENT_MOST;
        run->context.direct = doing >= DIRECT;
        run->context.max_ram = doing == IN_LEAST  ? 0
                               : doing >= IN_ROWS ? budget
                                                  : -1;
        run->context.whole_rows = run->options.max_ram < 0;
        run->context.unblocked = doing >= UNBLOCKED;
        if (run->state.module && run->options.max_ram >= 0)
                run->state.module->within = tries[doing].name;
        else if (run->state.module && doing > FOR_SPEED)
                run->state.module->within = arena_printf(run->state.module->arena, "%s %" PRId64,
                                                         tries[doing].name, budget);
        return run->target_count > 1 ? compile_targets(run, *pipeline)
                                     : pipeline_run(&run->state, pipeline, &run->context);
}

/* This is what came of a try. */
struct outcome {
        struct pass_context context;
        struct pipeline_state state;
        struct print_program *lesser;
        struct module **lesser_modules;
        int64_t ram;
};

/* Is a outcome better than b: within the budget, with the fewest operations that take longer, or
 * else with the least memory? */
static bool is_better(const struct outcome *a, const struct outcome *b, int64_t budget)
{
        if (a->ram <= budget && b->ram <= budget)
                return a->context.again < b->context.again;
        return a->ram < b->ram;
}

static void take(struct run *run, const struct outcome *o)
{
        run->context = o->context;
        run->state = o->state;
        run->lesser = o->lesser;
        run->lesser_modules = o->lesser_modules;
}

static void forget(const struct run *run, const struct outcome *o)
{
        for (int i = 0; o->lesser_modules && i + 1 < run->target_count; i++)
                module_free(o->lesser_modules[i]);
        module_free(o->state.module);
}

void compile_forget(struct run *run)
{
        forget(run,
               &(struct outcome){ .state = run->state, .lesser_modules = run->lesser_modules });
        module_free(run->common);
        arena_free(run->state.program_arena);
}

/* Makes the tries, from what they have in common on. */
static bool search(struct run *run, struct pipeline_options pipeline)
{
        const struct outcome start = { .context = run->context, .ram = INT64_MAX };
        const int states = run->state_count;
        const int64_t budget = run->options.max_ram;
        struct outcome best = start;
        pipeline.resumed = true;
        for (int doing = FOR_SPEED; doing < TRIES; doing++) {
                /* Shorter strips may do without patches. */
                const bool patches = doing == IN_PARTS && best.context.again > 0;
                if (best.ram <= budget && !patches)
                        continue;
                if (doing > FOR_SPEED) {
                        if (!is_promising(run, doing))
                                continue;
                        diag_note(&run->diag, "this takes %" PRId64 " bytes: compiled again %s",
                                  best.ram, tries[doing].doing);
                }
                take(run, &start);
                report_forget(run, states);
                run->state.module = module_copy(run->common);
                bool fine = compile_so(run, &pipeline, doing, budget);
                struct outcome made = { run->context, run->state, run->lesser, run->lesser_modules,
                                        fine && run->state.program ? most_ram(run) : 0 };
                bool better = fine && run->state.program && is_better(&made, &best, budget);
                /* Else the one before is kept. */
                if (!fine || !run->state.program || better) {
                        forget(run, &best);
                        best = made;
                } else {
                        forget(run, &made);
                        take(run, &best);
                }
                if (!run->state.program)
                        return fine;    /* --passes end before. */
        }
        return true;
}

/* Returns the try that a dump came about by, IN_ROWS where it names none, or -1 where there is no
 * such try; *budget: the bytes that it names. */
static int find_try(const char *name, int64_t *budget)
{
        int doing = TRIES - 1;
        const char *bytes = strchr(name, ' ');
        const size_t length = bytes ? (size_t)(bytes - name) : strlen(name);
        char *end = NULL;
        while (doing >= 0 && *name &&
               (strlen(tries[doing].name) != length || strncmp(tries[doing].name, name, length)))
                doing--;
        if (bytes) {
                *budget = strtoll(bytes + 1, &end, 10);
                doing = *end || end == bytes + 1 || *budget < 0 ? -1 : doing;
        }
        return *name ? doing : IN_ROWS;
}

/* ---- without --max-ram ---- */

/* Rows without a schedule take so many times the instructions that are predicted: digits on
 * Cortex-M4 and RV32IMAFC takes 1.13 times, mnist_cnn 1.17. */
static const double ONE_BY_ONE = 1.17;

/* Compiles the module from what all tries have in common on, with rows passed on within the budget
 * (-1: for speed), and forgets what was compiled before. */
static bool compile_again(struct run *run, const struct pipeline_options *pipeline,
                          const struct outcome *start, int states, int64_t budget)
{
        forget(run, &(struct outcome){ .state = run->state });
        take(run, start);
        report_forget(run, states);
        run->state.module = module_copy(run->common);
        return compile_so(run, pipeline, budget < 0 ? FOR_SPEED : IN_ROWS, budget);
}

/* Looks for the smallest plan that takes no more instructions than the fastest, by ever smaller
 * budgets. Where tensor passes are all that is asked for, they are run once more by it. */
static bool search_rows(struct run *run, struct pipeline_options asked)
{
        enum { TRIES_MOST = 6, FAILURES = 2, PARTS = 4 };
        const struct outcome start = { .context = run->context };
        const int states = run->state_count;
        const double rows = rate_code_rows(run->context.target);
        struct pipeline_options pipeline = asked;
        int64_t best = -1, least, last = -1;
        asked.resumed = pipeline.resumed = true;
        pipeline.part = PIPELINE_WHOLE;
        take(run, &start);
        const bool fine = compile_again(run, &pipeline, &start, states, -1);
        if (!fine || !run->state.program)
                return fine;            /* --passes end before. */
        const double instructions = report_instructions(run);
        least = most_ram(run);
        int64_t budget = least - least / PARTS;
        for (int tried = 0, failed = 0;
             instructions > 0 && budget > 0 && tried < TRIES_MOST && failed < FAILURES; tried++) {
                if (!compile_again(run, &pipeline, &start, states, last = budget))
                        return false;
                const int64_t ram = most_ram(run);
                const double taken = report_instructions(run) *
                                     (run->context.one_by_one ? ONE_BY_ONE : 1);
                if (ram < least && taken >= 0 && taken <= rows * instructions) {
                        best = budget;
                        least = ram;
                        failed = 0;
                } else {
                        failed++;
                }
                budget = ram < budget ? ram : budget;
                budget -= budget / PARTS;
        }
        return (last == best && asked.part == PIPELINE_WHOLE) ||
               compile_again(run, &asked, &start, states, best);
}

/* Is a plan with rows passed on looked for where no budget asks for one? */
static bool wants_rows(const struct run *run, const struct pipeline_options *pipeline)
{
        const struct pass_context *c = &run->context;
        const bool whole = pipeline->part == PIPELINE_WHOLE ||
                           (!run->options.tune && !run->options.calibrate);
        return run->state.module && whole && run->target_count == 1 &&
               target_engine(c->target)->single_sums && rate_code_rows(c->target) > 0 &&
               !c->memory && !c->compact && !run->options.step && !run->options.passes &&
               !module_has_extents(run->state.module) && pipeline_is_common(&run->state);
}

bool compile_within(struct run *run, const struct pipeline_options *pipeline)
{
        struct module *m = run->state.module;
        const char *within = m ? m->within : run->state.program->within;
        const bool rows = run->options.max_ram < 0 && !*within && wants_rows(run, pipeline);
        int64_t budget = run->options.max_ram;
        if (budget < 0 && !rows && !strchr(within, ' '))
                return compile_so(run, pipeline, FOR_SPEED, -1);
        /* There is no way back, or nothing to measure. */
        if (!rows && (*within || !pipeline_is_common(&run->state) ||
                      pipeline->part == PIPELINE_TENSOR)) {
                int doing = find_try(within, &budget);
                if (doing < 0)
                        diag_error(&run->diag, EXIT_INVALID,
                                   "nothing that is done within --max-ram is called '%s'", within);
                return doing >= 0 && compile_so(run, pipeline, doing, budget);
        }
        struct pipeline_options common = *pipeline;
        common.part = PIPELINE_COMMON;
        if (!pipeline_run(&run->state, &common, &run->context))
                return false;
        store_trim(m->store);
        run->common = m;
        return rows ? search_rows(run, *pipeline) : search(run, *pipeline);
}
