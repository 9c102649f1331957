/* SPDX-License-Identifier: MIT */
/* Values leave their regions one region after the other, innermost first; those of one region share
 * flags. On the way they have one dimension: a row of a stack for each iteration. */
#include "passes/calibrate/expose.h"

/* The group holds the values that were of one region, in the region that they have reached. */
struct group {
        struct region *in;
        struct value *ran;              /* u8 [times]: whether the region was run each time; NULL:
                                         * it always was. */
        int64_t times;
        const char *overrun;            /* A group with this loop's name has no values: `ran` are
                                         * its flags. */
};

struct exposing {
        struct exposition *e;
        struct arena *arena;
        struct module *m;
        struct function *f;
        struct diag *diag;
        int64_t most_steps;
        struct group **groups;
        int group_count;
        struct value **at;              /* Each value has here the value that stands for it so
                                         * far. */
        struct group **group_of;        /* Each value has its group; NULL: it is of the function's
                                         * body. */
        int count;
};

static struct builder at_end(const struct exposing *x, struct region *r)
{
        return (struct builder){ .m = x->m, .region = r, .before = r->last, .diag = x->diag };
}

static struct group *group_new(struct exposing *x, struct region *in)
{
        struct group *g = ARENA_NEW(x->arena, struct group);
        *g = (struct group){ .in = in, .times = 1 };
        ARENA_GROW(x->arena, x->groups, x->group_count);
        return x->groups[x->group_count++] = g;
}

static struct value *flat(struct builder *b, struct value *v)
{
        return build_reshape(b, v, 1, (const dim_t[]){ dim_of(type_elements(v->type)) });
}

/* ---- what goes out of a region ---- */

/* Finds the places of the values that leave region r: those of its groups, and their flags. Returns
 * their number. */
static int find_leaving(const struct exposing *x, const struct region *r, struct value ***slots)
{
        int count = 0;
        for (int i = 0; i < x->count; i++)
                if (x->group_of[i] && x->group_of[i]->in == r)
                        slots[count++] = &x->at[i];
        for (int i = 0; i < x->group_count; i++)
                if (x->groups[i]->in == r && x->groups[i]->ran)
                        slots[count++] = &x->groups[i]->ran;
        return count;
}

static struct value ***slots_new(const struct exposing *x)
{
        return arena_array(x->arena, (size_t)(x->count + x->group_count), sizeof(struct value **));
}

static void go_out(struct exposing *x, const struct region *from, struct region *to, int64_t times)
{
        for (int i = 0; i < x->group_count; i++)
                if (x->groups[i]->in == from) {
                        x->groups[i]->in = to;
                        x->groups[i]->times *= times;
                }
}

/* ---- branches ---- */

/* Adds flags that a branch has run to the groups that had none. */
static void flag_groups(struct exposing *x, struct region *branch)
{
        for (int i = 0; i < x->group_count; i++) {
                struct group *g = x->groups[i];
                if (g->in == branch && !g->ran)
                        g->ran = constant_number(x->m, type_static(x->m, E_U8, 1, &g->times), 1);
        }
}

/* Makes branch `which` of op one of `wider`. It yields what it did, and besides the values that
 * leave it and zeros for those that leave the other branch. */
static void widen_branch(struct exposing *x, struct op *op, struct op *wider, int which,
                         struct value ***slots, const int *counts)
{
        struct region *old = op->regions[which];
        struct builder b = { .m = x->m,
                             .region = op_add_region(wider, which),
                             .location = op->location,
                             .diag = x->diag };
        struct value **yields = arena_array(x->arena, (size_t)wider->result_count, sizeof *yields);
        int count = op->result_count, all = counts[0] + counts[1];
        for (int i = 0; i < count; i++)
                yields[i] = op_operand(old->last, i);
        for (int i = 0; i < all; i++) {
                bool own = which ? i >= counts[0] : i < counts[0];
                yields[count + i] = own ? *slots[i] : constant_number(x->m, (*slots[i])->type, 0);
        }
        struct op *yield = build_yield(&b, yields, wider->result_count), *end = old->last;
        while (old->first != end)
                op_move_before(old->first, yield);
}

static bool leave_if(struct exposing *x, struct op *op)
{
        flag_groups(x, op->regions[0]);
        flag_groups(x, op->regions[1]);
        struct value ***slots = slots_new(x), *condition = op_operand(op, 0);
        int counts[2] = { find_leaving(x, op->regions[0], slots) };
        counts[1] = find_leaving(x, op->regions[1], slots + counts[0]);
        int all = counts[0] + counts[1], results = op->result_count;
        if (!all)
                return true;
        const struct type **types = arena_array(x->arena, (size_t)(results + all), sizeof *types);
        for (int i = 0; i < results + all; i++)
                types[i] = i < results ? op->results[i].type : (*slots[i - results])->type;
        struct builder b = { .m = x->m,
                             .region = op->region,
                             .before = op,
                             .location = op->location,
                             .diag = x->diag };
        struct op *wider =
                op_build_results(&b, OP_if, &condition, 1, NULL, types, results + all, 2);
        if (!wider)
                return false;
        for (int k = 0; k < 2; k++)
                widen_branch(x, op, wider, k, slots, counts);
        for (int i = 0; i < results; i++)
                value_replace(&op->results[i], &wider->results[i]);
        for (int i = 0; i < all; i++)
                *slots[i] = &wider->results[results + i];
        for (int k = 0; k < 2; k++)
                go_out(x, op->regions[k], op->region, 1);
        op_erase(op);
        return op_infer(x->m, wider, x->diag);
}

/* ---- loops that may end early ---- */

/* May the loop end early? A loop that stacks must run all iterations, or the run fails. */
static bool may_end_early(const struct op *op)
{
        struct op_loop loop = op_loop(op);
        return (loop.trip || loop.go) && !loop.stacked;
}

/* Returns how many iterations are looked into; *more: it may run others. */
static int64_t steps_of(const struct exposing *x, const struct op_loop *loop, bool *more)
{
        int64_t trips = INT64_MAX, rows = loop->scanned || !loop->trip ? loop->steps : INT64_MAX;
        if (loop->trip && value_is_constant(loop->trip))
                trips = constant_element(loop->trip->constant, 0).i;
        trips = trips < 0 ? 0 : trips;
        const int64_t all = trips < rows ? trips : rows,
                      most = loop->scanned || all < x->most_steps ? all : x->most_steps;
        *more = loop->scanned ? loop->trip && trips > rows : all > most;
        return most;
}

/* Builds go and number < trip. */
static struct value *goes_on(struct builder *b, struct value *go, struct value *number,
                             struct value *trip)
{
        struct value *within = trip ? build_binary(b, OP_lt, number, trip) : go;
        return trip ? build_binary(b, OP_and, go, within) : go;
}

/* Takes the old loop's arguments, with `go` behind the carried ones. */
static void take_arguments(struct region *body, const struct op_loop *old)
{
        const int count = 1 + old->carried + old->scanned;
        region_reserve(body, count + 1);
        for (int i = 0; i <= count; i++) {
                struct value *argument = &old->number[i - (i > 1 + old->carried)];
                if (i == 1 + old->carried)
                        region_add_argument(body, type_scalar(body->function->module, E_BOOL),
                                            "go");
                else
                        value_replace(argument,
                                      region_add_argument(body, argument->type, argument->name));
        }
}

/* Builds the branch that does what the body does if the loop goes on; else carried values stay. */
static struct op *branch_of(struct exposing *x, struct op *op, const struct op_loop *old,
                            struct region *body)
{
        struct builder b = { .m = x->m, .region = body, .location = op->location, .diag = x->diag };
        const int carried = old->carried;
        struct value *go = &body->arguments[1 + carried],
                     *condition = goes_on(&b, go, body->arguments, old->trip),
                     **next = arena_array(x->arena, (size_t)carried + 1, sizeof *next),
                     **held = arena_array(x->arena, (size_t)carried + 1, sizeof *held);
        const struct type **types = arena_array(x->arena, (size_t)carried + 1, sizeof *types);
        for (int i = 0; i < carried; i++) {
                next[i] = old->next[i].value;
                held[i] = &body->arguments[1 + i];
                types[i] = held[i]->type;
        }
        next[carried] = old->next_go ? old->next_go->value : build_scalar(&b, E_BOOL, 1);
        held[carried] = build_scalar(&b, E_BOOL, 0);
        types[carried] = go->type;
        struct op *branch =
                condition ? op_build_results(&b, OP_if, &condition, 1, NULL, types, carried + 1, 2)
                          : NULL;
        if (!branch)
                return NULL;
        struct builder then = { .m = x->m, .region = op_add_region(branch, 0), .diag = x->diag },
                       otherwise = { .m = x->m,
                                     .region = op_add_region(branch, 1),
                                     .diag = x->diag };
        struct op *yield = build_yield(&then, next, carried + 1);
        while (op->regions[0]->first != old->yield)
                op_move_before(op->regions[0]->first, yield);
        build_yield(&otherwise, held, carried + 1);
        go_out(x, op->regions[0], then.region, 1);
        for (int i = 0; i <= carried; i++)
                next[i] = &branch->results[i];
        build_yield(&b, next, carried + 1);
        return op_infer(x->m, branch, x->diag) ? branch : NULL;
}

/* Builds the loop that runs all its iterations, the last of which may do nothing. */
static struct op *run_on(struct exposing *x, struct op *op)
{
        struct op_loop old = op_loop(op);
        struct builder b = { .m = x->m,
                             .region = op->region,
                             .before = op,
                             .location = op->location,
                             .diag = x->diag };
        const int carried = old.carried, scanned = old.scanned;
        struct value **operands =
                arena_array(x->arena, (size_t)(3 + carried + scanned), sizeof *operands);
        const struct type **types = arena_array(x->arena, (size_t)carried + 1, sizeof *types);
        struct attr *attrs = attrs_new(x->m, OP_loop);
        bool more;
        const int64_t steps = steps_of(x, &old, &more);
        for (int i = 0; i < carried; i++) {
                operands[2 + i] = old.first[i].value;
                types[i] = old.last[i].type;
        }
        operands[2 + carried] = old.go ? old.go : build_scalar(&b, E_BOOL, 1);
        types[carried] = type_scalar(x->m, E_BOOL);
        for (int i = 0; i < scanned; i++)
                operands[3 + carried + i] = old.scans[i].value;
        attr_set(attrs, OP_loop, "steps", steps);
        attr_set(attrs, OP_loop, "carried", carried + 1);
        attr_set_ints(x->m, attrs, OP_loop, "scan_backward", op_ints(op, "scan_backward", NULL),
                      scanned);
        struct op *loop = op_build_results(&b, OP_loop, operands, 3 + carried + scanned, attrs,
                                           types, carried + 1, 1);
        if (!loop)
                return NULL;
        take_arguments(op_add_region(loop, 0), &old);
        if (!branch_of(x, op, &old, loop->regions[0]))
                return NULL;
        if (more) {
                struct value *goes = goes_on(&b, &loop->results[carried],
                                             build_scalar(&b, E_I64, (double)steps), old.trip);
                struct group *g = group_new(x, op->region);
                g->ran = goes ? build_cast(&b, goes, E_U8) : NULL;
                g->ran = g->ran ? flat(&b, g->ran) : NULL;
                g->overrun = op->location ? op->location : "a loop";
        }
        for (int i = 0; i < carried; i++)
                value_replace(&op->results[i], &loop->results[i]);
        op_erase(op);
        return op_infer(x->m, loop, x->diag) && !x->diag->errors ? loop : NULL;
}

/* ---- loops ---- */

static bool leave_loop(struct exposing *x, struct op *op)
{
        struct op_loop old = op_loop(op);
        struct op_loop_kept kept = op_loop_all(x->arena, &old);
        struct region *body = op->regions[0], *around = op->region;
        struct value ***slots = slots_new(x);
        kept.row_count = find_leaving(x, body, slots);
        if (!kept.row_count)
                return true;
        kept.rows = arena_array(x->arena, (size_t)kept.row_count, sizeof *kept.rows);
        for (int i = 0; i < kept.row_count; i++)
                kept.rows[i] = *slots[i];
        go_out(x, body, around, old.steps);
        struct op *loop = op_loop_keep(op, &kept, x->diag);
        if (!loop)
                return false;
        struct builder b = { .m = x->m,
                             .region = around,
                             .before = loop->next,
                             .location = loop->location,
                             .diag = x->diag };
        for (int i = 0; i < kept.row_count; i++)
                if (!(*slots[i] =
                              flat(&b, &loop->results[loop->result_count - kept.row_count + i])))
                        return false;
        return true;
}

/* ---- all of them ---- */

/* Is a value wanted of op, or of a region inside it? */
static bool is_wanted(const struct exposing *x, const struct op *op)
{
        for (int i = 0; i < x->group_count; i++)
                for (const struct region *r = x->groups[i]->in; r && r->owner; r = r->owner->region)
                        if (r->owner == op)
                                return true;
        return false;
}

static bool leave_all(struct exposing *x, struct region *r)
{
        for (struct op *op = r->first, *next; op; op = next) {
                next = op->next;
                if (!op->region_count || !is_wanted(x, op))
                        continue;
                if (op->code == OP_loop && may_end_early(op) && !(op = run_on(x, op)))
                        return false;
                for (int k = 0; k < op->region_count; k++)
                        if (!leave_all(x, op->regions[k]))
                                return false;
                if (!(op->code == OP_loop ? leave_loop(x, op) : leave_if(x, op)))
                        return false;
        }
        return true;
}

static struct group *group_in(struct exposing *x, struct region *r)
{
        for (int i = 0; i < x->group_count; i++)
                if (x->groups[i]->in == r)
                        return x->groups[i];
        return group_new(x, r);
}

/* Is v's operation or region rebuilt? Loops and branches are, with their results and arguments;
 * readers of others stay as they are. */
static bool may_go(const struct value *v)
{
        return v->kind == VALUE_RESULT ? v->op->region_count > 0 : v->region->owner != NULL;
}

/* Puts each value into a group with the others of its region. Returns false after an error. */
static bool gather(struct exposing *x, struct value *const *values)
{
        for (int i = 0; i < x->count; i++) {
                struct value *v = values[i];
                struct region *r = value_region(v);
                if (!type_is_static(v->type)) {           /* It is of the body, and stays. */
                        x->e->values[i] = (struct exposed){ .elements = -1, .times = 1,
                                                            .flags = -1 };
                        x->at[i] = v;
                        continue;
                }
                const int64_t elements = type_elements(v->type);
                const struct type *all = type_static(x->m, v->type->element, 1, &elements);
                x->e->values[i] = (struct exposed){ .elements = elements, .times = 1, .flags = -1 };
                x->group_of[i] = r->owner ? group_in(x, r) : NULL;
                struct builder b = at_end(x, r);
                struct op *reader = r->owner || may_go(v)
                                            ? op_build(&b, OP_reshape, &v, 1, NULL, &all, 0)
                                            : NULL;
                x->at[i] = reader ? op_result(reader) : v;
        }
        return !x->diag->errors;
}

static void conclude(struct exposing *x)
{
        struct exposition *e = x->e;
        e->flags = arena_array(x->arena, (size_t)x->group_count + 1, sizeof *e->flags);
        for (int i = 0; i < x->group_count; i++) {
                const struct group *g = x->groups[i];
                for (int k = 0; k < x->count; k++)
                        if (x->group_of[k] == g) {
                                e->values[k].times = g->times;
                                e->values[k].flags = g->ran ? e->flag_count : -1;
                        }
                if (g->ran)
                        e->flags[e->flag_count++] =
                                (struct exposed_flags){ g->ran, g->times, g->overrun };
        }
        for (int k = 0; k < x->count; k++)
                e->values[k].value = x->at[k];
}

bool expose_values(struct exposition *e, struct arena *arena, struct module *m,
                   struct value *const *values, int count, int64_t most_steps, struct diag *diag)
{
        struct exposing x = { .e = e, .arena = arena, .m = m, .f = module_entry(m), .diag = diag,
                              .most_steps = most_steps, .count = count };
        *e = (struct exposition){ .values = arena_array(arena, (size_t)count + 1,
                                                        sizeof *e->values) };
        x.at = arena_array(arena, (size_t)count + 1, sizeof *x.at);
        x.group_of = arena_array(arena, (size_t)count + 1, sizeof *x.group_of);
        if (!gather(&x, values) || !leave_all(&x, &x.f->body))
                return false;
        conclude(&x);
        return true;
}
