/* Compiling within --max-ram: first as without it, then, where that takes too much, again with ever more done about it. What fits first
 * is taken: who asks for little less than speed would take loses little of it. */
#include <inttypes.h>

#include "compiler/report.h"

/* What a try does: each also what those before it do. */
enum { FOR_SPEED, IN_ORDER, DIRECT, IN_ROWS, UNBLOCKED };
static const char *const doings[] = {
        [IN_ORDER] = "in the order of least memory", [DIRECT] = "without Winograd's algorithm",
        [IN_ROWS] = "with rows passed on", [UNBLOCKED] = "without blocked tensors",
};

/* One module up to the passes that are of one target, then one for each. */
static bool compile_targets(struct run *run, struct pipeline_options pipeline)
{
        bool tensors_only = pipeline.part == PIPELINE_TENSOR;
        pipeline.part = PIPELINE_SHARED;
        if (!pipeline_run(&run->state, &pipeline, &run->context))
                return false;
        if (tensors_only)
                return true;
        struct c_program *lesser = arena_array(run->arena, (size_t)run->target_count, sizeof *lesser);
        struct pipeline_options of_target = pipeline;
        of_target.part = PIPELINE_OF_TARGET;
        of_target.observe = NULL;       /* the report is about the best one */
        for (int i = 0; i + 1 < run->target_count; i++) {
                struct run own = *run;  /* as if there were no other target */
                own.context.target = own.context.lower.target = run->targets[i];
                own.context.book = NULL;
                own.state.module = module_copy(run->state.module);
                of_target.label = run->targets[i]->name;
                of_target.runner = &own;
                if (!pipeline_run(&own.state, &of_target, &own.context))
                        return false;
                lesser[i] = (struct c_program){ own.state.program, run->targets[i] };
        }
        of_target.label = run->context.target->name;
        of_target.observe = pipeline.observe;
        of_target.runner = run;
        if (!pipeline_run(&run->state, &of_target, &run->context))
                return false;
        run->lesser = lesser;
        return true;
}

/* the most that a target's program takes */
static int64_t most_ram(const struct run *run)
{
        int64_t most = 0;
        for (int i = 0; i < run->target_count; i++) {
                int64_t ram = report_ram(run_program(run, i));
                most = ram > most ? ram : most;
        }
        return most;
}

static bool has_winograd(const struct region *region)
{
        for (struct op *op = region_walk(region, NULL); op; op = region_walk(region, op))
                if (op->code == OP_convolve_winograd)
                        return true;
        return false;
}

/* Can doing this change what came of the try before it? */
static bool is_promising(struct run *run, int doing)
{
        bool blocked = target_lanes(run->context.target, E_F32) > 1 && !run->context.exact;
        switch (doing) {
        case IN_ORDER:                  /* the least that any order of these kernels takes is known */
                return !run->context.memory && report_memory(run).best <= run->options.max_ram;
        case DIRECT:
                return has_winograd(&run->state.module->functions->body);
        default:
                return doing != UNBLOCKED || blocked;
        }
}

/* what is tried, and what came of it */
struct outcome { struct pass_context context; struct pipeline_state state; struct c_program *lesser; int64_t ram; };

static bool compile_so(struct run *run, const struct pipeline_options *pipeline, int doing)
{
        run->context.memory |= doing >= IN_ORDER;
        run->context.direct = doing >= DIRECT;
        run->context.max_ram = doing >= IN_ROWS ? run->options.max_ram : -1;
        run->context.unblocked = doing >= UNBLOCKED;
        report_forget(run);
        return run->target_count > 1 ? compile_targets(run, *pipeline) : pipeline_run(&run->state, pipeline, &run->context);
}

bool compile_within(struct run *run, const struct pipeline_options *pipeline)
{
        int64_t budget = run->options.max_ram;
        const struct module *model = run->state.module;
        if (budget < 0)
                return compile_so(run, pipeline, FOR_SPEED);
        if (!model || *model->passes_done || pipeline->part == PIPELINE_TENSOR)   /* no way back, or nothing to measure */
                return compile_so(run, pipeline, IN_ROWS);
        struct pass_context fresh = run->context;
        struct outcome best = { .ram = -1 };
        for (int doing = FOR_SPEED; doing <= UNBLOCKED && (best.ram < 0 || best.ram > budget); doing++) {
                if (best.ram >= 0) {
                        if (!is_promising(run, doing))
                                continue;
                        diag_note(&run->diag, "this takes %" PRId64 " bytes: compiled again %s", most_ram(run), doings[doing]);
                }
                run->context = fresh;
                run->state = (struct pipeline_state){ .module = module_copy(model) };
                if (!compile_so(run, pipeline, doing))
                        return false;
                if (!run->state.program)
                        return true;    /* --passes end before */
                if (best.ram < 0 || most_ram(run) < best.ram)
                        best = (struct outcome){ run->context, run->state, run->lesser, most_ram(run) };
        }
        run->context = best.context;
        run->state = best.state;
        run->lesser = best.lesser;
        return true;
}
