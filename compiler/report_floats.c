/* SPDX-License-Identifier: MIT */
/* --report lists quantized layers that are computed in floats: products of decoded bytes that no
 * rule made products of integers. They are looked for once simplify has run, before constants are
 * decoded; those stay that are there when products become kernels. */
#include "compiler/report.h"

#include <string.h>

#include "passes/simplify/ranges.h"

/* Returns whether scheduled kernels or fusion have made this of a product. */
static bool is_later(const struct op *op)
{
        return op->code == OP_fusion || op->code == OP_convolve_packed ||
               op->code == OP_convolve_lanes || op->code == OP_convolve_winograd;
}

static bool has_later(const struct function *f)
{
        for (const struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op))
                if (is_later(op))
                        return true;
        return false;
}

/* Returns whether it was simplified since it was quantized, where that was done. */
static bool is_simplified(const struct run *run)
{
        bool simplified = false;
        for (int i = 0; i < run->state_count; i++) {
                const char *pass = run->states[i].pass ? run->states[i].pass->name : "";
                simplified = strcmp(pass, "quantize") != 0 &&
                             (simplified || !strcmp(pass, "simplify"));
        }
        return simplified;
}

static const char *location_of(const struct op *op) { return op->location ? op->location : ""; }

static bool is_there(const struct function *f, const struct report_float *layer)
{
        for (const struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op))
                if (!strcmp(op_info[op->code].name, layer->operation) &&
                    !strcmp(location_of(op), layer->location) &&
                    op_result(op)->type->element == E_F32)
                        return true;
        return false;
}

static bool is_known(const struct run *run, const struct op *op)
{
        for (int i = 0; i < run->float_count; i++)
                if (!strcmp(run->floats[i].location, location_of(op)) &&
                    !strcmp(run->floats[i].operation, op_info[op->code].name))
                        return true;
        return false;
}

void report_keep_float(void *runner, const struct op *op, const char *why)
{
        struct run *run = runner;
        ARENA_GROW(run->arena, run->floats, run->float_count);
        run->floats[run->float_count++] = (struct report_float){
                arena_string(run->arena, location_of(op)), op_info[op->code].name, why
        };
        run->floats_known = false;      /* Others may follow from what is quantized now. */
}

void report_find_floats(struct run *run, const struct pipeline_state *state)
{
        const struct function *f = state->program ? NULL : module_entry(state->module);
        if (!f || !is_simplified(run) || has_later(f))
                return;
        int kept = 0;
        for (int i = 0; i < run->float_count; i++)
                if (is_there(f, &run->floats[i]))
                        run->floats[kept++] = run->floats[i];
        run->float_count = kept;
        for (const struct op *op = run->floats_known ? NULL : region_walk(&f->body, NULL); op;
             op = region_walk(&f->body, op)) {
                const char *why = whole_obstacle(op, &run->context);
                if (!why || is_known(run, op))
                        continue;
                ARENA_GROW(run->arena, run->floats, run->float_count);
                run->floats[run->float_count++] =
                        (struct report_float){ arena_string(run->arena, location_of(op)),
                                               op_info[op->code].name, why };
        }
        run->floats_known = true;
}
