/* SPDX-License-Identifier: MIT */
/* Chooses schedules for sums of scalars. The canonical lowering writes a kernel, and jam_choose.c
 * lists the ways to compute its nest, with the time that each is predicted to take. */
#include "engines/scalar/scalar_engine.h"

#include "ir/lower/lower_emit.h"
#include "passes/vectorize/jam.h"
#include "schedule/schedule_choice.h"

/* Finds the nest of op's sum in its kernel, which is written in arena. Op has the schedule `mark`
 * while its kernel is written, and its sum then carries it, which tells the nest from others. */
static bool find_nest(const struct op *op, const struct schedule_machine *machine,
                      struct arena *arena, const struct schedule *mark,
                      struct loop_bounds **bounds, struct jam_nest *nest)
{
        struct op *marked = (struct op *)(uintptr_t)op, *owner = op->region->owner;
        const struct schedule *before = op->schedule;
        struct value **inputs, *results[] = { op_result(op) };
        struct kernel_request request = { .op = op, .results = results, .result_count = 1 };
        bool too_large = false;
        int count;
        if (!machine->library)
                return false;
        struct lower_options canonical = *machine->lower;
        canonical.scheduler = NULL;
        if (owner && owner->code == OP_fusion)
                kernel_request_fusion(arena, &request, owner);
        request.too_large = &too_large;
        marked->schedule = mark;
        struct loop_function *kernel = kernel_write(arena, machine->library, &request, &canonical,
                                                    &inputs, &count, &(struct diag){ 0 });
        marked->schedule = before;
        if (!kernel)
                return false;
        *bounds = loop_bounds_new(arena, kernel);
        return jam_find(arena, *bounds, kernel->body, mark, nest);
}

/* Lists the best ways to compute op, best first, and returns how many they are; their cycles are
 * those of all results. */
static int find_choices(const struct op *op, const struct schedule_machine *machine, bool wide,
                        struct jam_choice list[JAM_CHOICES])
{
        struct arena *arena = arena_new();
        const struct schedule mark = schedule_preset(SCHEDULE_scalar);
        struct loop_bounds *bounds;
        struct jam_nest nest;
        int count = find_nest(op, machine, arena, &mark, &bounds, &nest)
                            ? jam_choices(&nest, machine->target, bounds, wide, list)
                            : 0;
        for (int i = 0; i < count; i++)
                list[i].cycles *=
                        (double)type_most_elements(op_module(op), op_result(op)->type);
        arena_free(arena);
        return count;
}

struct schedule sums_choose(const struct op *op, const struct schedule_machine *machine,
                            struct arena *arena)
{
        struct jam_choice list[JAM_CHOICES];
        const int count = find_choices(op, machine, false, list);
        if (!count)
                return schedule_preset(SCHEDULE_scalar);
        const char *why = arena_printf(arena, "%.4g kcycles", list[0].cycles / 1000);
        if (count > 1) {
                const struct schedule next = schedule_of_scalar(list[1].words, NULL);
                why = arena_printf(arena, "%s; next: %.4g for %s", why, list[1].cycles / 1000,
                                   schedule_words(arena, &next));
        }
        return schedule_of_scalar(list[0].words, why);
}

bool sums_candidate(const struct op *op, const struct schedule_machine *machine, int n,
                    struct schedule *s)
{
        struct jam_choice list[JAM_CHOICES];
        const bool found = n < find_choices(op, machine, true, list);
        if (found)
                *s = schedule_of_scalar(list[n].words, NULL);
        return found;
}

bool sums_follow(const struct op *op, const struct schedule_machine *machine,
                 const struct schedule *s)
{
        const struct schedule one = schedule_preset(SCHEDULE_scalar);
        if (schedule_equal(s, &one))    /* The nest as it is. */
                return true;
        struct arena *arena = arena_new();
        struct loop_bounds *bounds;
        struct jam_nest nest;
        const bool can = find_nest(op, machine, arena, s, &bounds, &nest) &&
                         jam_can(&nest, machine->target, bounds, &s->scalar);
        arena_free(arena);
        return can;
}
