/* SPDX-License-Identifier: MIT */
/* merge: kernels that are equal but for scalar constants become one, which takes these as
 * arguments.
 *
 *     kernel @first(%x: in i32[64], %y: out f32[64]) {     kernel @first(%x: in i32[64], %y: out f32[64], %scale: f32) {
 *       for %i = 0 to 64 {                                   for %i = 0 to 64 {
 *         store %y[%i] = f32(%x[%i] - 3) * 0.5                 store %y[%i] = f32(%x[%i] - 3) * %scale
 *       }                                                    }
 *     }                                              ->    }
 *     kernel @second(...) {                                main {
 *       ...  f32(%x[%i] - 3) * 0.25                          call @first(@x, @t; 0.5)
 *     }                                                      call @first(@u, @v; 0.25)
 *     main {                                               }
 *       call @first(@x, @t)
 *       call @second(@u, @v)
 *     }
 *
 * Layers of a quantized network are alike but for their scales and zero points. A number that
 * shaped a kernel earlier (a zero point of 0) has made it another kernel, so only numbers are left
 * to differ. A constant that all kernels agree on stays in place, and constants that differ alike
 * are one parameter.
 *
 * Constants become parameters where they are added, multiplied, bounds of a value, or stored, on
 * the way to a result or a float: an instruction takes those from a register as well. All others
 * stay: subscripts, conditions, divisors of integers, shifts, arguments of functions.
 *
 * Exact to the bit. Tasks are not merged, nor kernels that launch them. */
#include <string.h>

#include "passes/pass.h"

enum { PARAMETERS_MAX = 8 };

/* A slot is a constant of a kernel that may become a parameter: the node in its place, and the
 * literal that it was. */
struct slot { struct loop_expr *node, *literal; const char *role; };
struct member { struct loop_function *kernel; struct slot *slots; int count; };
/* Kernels that are equal but for what is in their slots. slots[i]: the slot of the first kernel
 * that has the values of parameter i. */
struct group {
        struct member **members;
        int count, parameter_count, slots[PARAMETERS_MAX];
};

struct merging {
        struct arena *arena, *scratch;  /* arena is the program's, scratch the pass's. */
        struct loop_variable *hole;     /* This variable stands in all slots while kernels are
                                         * compared. */
        struct member *open;            /* Slots are added to this kernel. */
};

/* ---- slots ---- */

/* Returns what a constant operand of e is called; NULL: it stays a constant, as the divisor of
 * integers does, because compilers know better than to divide by it. */
static const char *role_in(const struct loop_expr *e)
{
        switch (e->op) {
        case LOOP_ADD: case LOOP_SUB: return "offset";
        case LOOP_MUL: case LOOP_FMA: return "scale";
        case LOOP_DIV: return element_is_float(e->type.element) ? "scale" : NULL;
        case LOOP_MIN_ORDERED: case LOOP_MAX_ORDERED: return "bound";
        default: return NULL;
        }
}

static bool is_number(enum element e) { return e != E_INDEX && e != E_BOOL; }

static struct loop_expr *add_slot(struct merging *m, struct loop_expr *literal, const char *role)
{
        struct member *k = m->open;
        struct loop_expr *node =
                loop_node(m->arena, LOOP_VARIABLE, literal->type, NULL, NULL, NULL);
        node->variable = m->hole;
        ARENA_GROW(m->scratch, k->slots, k->count);
        k->slots[k->count++] = (struct slot){ node, literal, role };
        return node;
}

/* Returns e with slots for constants; it is a copy where there are any, because parts of e may
 * stand elsewhere. role: that of e itself. */
static struct loop_expr *with_slots(struct merging *m, struct loop_expr *e, const char *role)
{
        enum element element = e->type.element;
        if (!is_number(element) || e->op == LOOP_LOAD)
                return e;
        if (e->op == LOOP_LITERAL)
                return role && loop_is_compute(element) ? add_slot(m, e, role) : e;
        bool hands_on = e->op == LOOP_SPLAT || e->op == LOOP_CAST;
        struct loop_expr *copy = NULL;
        for (int i = 0; i < e->arity; i++) {
                struct loop_expr *arg =
                        with_slots(m, e->args[i], hands_on ? role : role_in(e));
                if (arg != e->args[i] && !copy)
                        copy = arena_copy(m->arena, e, sizeof *e);
                if (copy)
                        copy->args[i] = arg;
        }
        return copy ? copy : e;
}

/* Finds the slots of a statement. A variable that is an integer has none, because it may lead to a
 * subscript or a bound. */
static void find_slots(struct loop_stmt *s, void *context)
{
        bool names = s->kind == STMT_LET || s->kind == STMT_VAR || s->kind == STMT_SET;
        if (s->kind == STMT_STORE)
                s->b = with_slots(context, s->b, "value");
        else if (names && s->a && element_is_float(s->variable->type.element))
                s->a = with_slots(context, s->a, NULL);
}

static void close_slots(struct member *k)
{
        for (int i = 0; i < k->count; i++)
                *k->slots[i].node = *k->slots[i].literal;
}

/* ---- parameters ---- */

static bool are_same(const struct loop_expr *a, const struct loop_expr *b)
{
        return a->type.element == b->type.element && a->literal.u == b->literal.u;
}

/* Do two slots hold the same in every member? */
static bool go_together(const struct group *g, int one, int other)
{
        bool together = true;
        for (int i = 0; i < g->count && together; i++)
                together = are_same(g->members[i]->slots[one].literal,
                                    g->members[i]->slots[other].literal);
        return together;
}

static bool is_agreed(const struct group *g, int slot)
{
        bool agreed = true;
        for (int i = 1; i < g->count && agreed; i++)
                agreed = are_same(g->members[i]->slots[slot].literal,
                                  g->members[0]->slots[slot].literal);
        return agreed;
}

/* Returns the parameter for a slot, an existing or a new one; -1: there are too many. */
static int parameter_for(struct group *g, int slot)
{
        int p = 0;
        while (p < g->parameter_count && !go_together(g, g->slots[p], slot))
                p++;
        if (p == PARAMETERS_MAX)
                return -1;
        if (p == g->parameter_count)
                g->slots[g->parameter_count++] = slot;
        return p;
}

/* Makes the first member the kernel of all. Returns false if they differ in too much. */
static bool settle(struct merging *m, struct group *g)
{
        struct member *first = g->members[0];
        struct loop_function *f = first->kernel;
        int *parameters = arena_array(m->scratch, (size_t)first->count, sizeof *parameters);
        for (int i = 0; i < first->count; i++) {
                parameters[i] = is_agreed(g, i) ? PARAMETERS_MAX : parameter_for(g, i);
                if (parameters[i] < 0)
                        return false;
        }
        struct names *names = loop_names_of(m->scratch, f);
        struct loop_variable *variables[PARAMETERS_MAX];
        for (int p = 0; p < g->parameter_count; p++) {
                const struct slot *slot = &first->slots[g->slots[p]];
                const char *name = text_identifier(names, slot->role, strlen(slot->role), "value");
                variables[p] = loop_scalar_add(m->arena, f, name,
                                               LOOP_TYPE(slot->literal->type.element));
        }
        for (int i = 0; i < first->count; i++) {
                const struct slot *slot = &first->slots[i];
                const struct loop_expr *value = slot->literal;
                if (parameters[i] < PARAMETERS_MAX)
                        value = loop_splat(m->arena, value->type.lanes,
                                           loop_use(m->arena, variables[parameters[i]]));
                *slot->node = *value;
        }
        return true;
}

/* ---- groups ---- */

static void find_launch(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->kind == STMT_LAUNCH;
}

static bool launches(const struct loop_function *f)
{
        bool found = false;
        loop_block_walk(f->body, find_launch, NULL, &found);
        return found;
}

static void add_member(struct merging *m, struct group *g, struct member *k)
{
        ARENA_GROW(m->scratch, g->members, g->count);
        g->members[g->count++] = k;
}

/* Finds the groups of the program's kernels, in order; a group may have one kernel. */
static struct group **find_groups(struct merging *m, const struct loop_program *p, int *count)
{
        struct group **groups = NULL;
        struct map *known = map_new(m->scratch);
        struct text text = { 0 };
        for (struct loop_function *f = p->kernels; f; f = f->next) {
                if (f->kind != FUNCTION_KERNEL || f->external || launches(f))
                        continue;
                m->open = ARENA_NEW(m->scratch, struct member);
                m->open->kernel = f;
                loop_block_walk(f->body, find_slots, NULL, m);
                char digest[65];
                loop_digest(f, &text, digest);
                struct group *g = map_get(known, digest, 64);
                if (!g) {
                        g = ARENA_NEW(m->scratch, struct group);
                        map_set(known, digest, 64, g);
                        ARENA_GROW(m->scratch, groups, *count);
                        groups[(*count)++] = g;
                }
                add_member(m, g, m->open);
        }
        text_free(&text);
        return groups;
}

/* ---- calls ---- */

/* A moved kernel is one that another one stands for now; the map finds it by its address. */
struct moved { const struct group *group; const struct member *member; };
struct moving { struct arena *arena; struct map *moved; };

static void move_call(struct loop_stmt *s, void *context)
{
        const struct moving *m = context;
        const struct moved *to =
                s->kind == STMT_CALL
                        ? map_get(m->moved, (const char *)&s->function, sizeof s->function)
                        : NULL;
        if (!to)
                return;
        const struct group *g = to->group;
        struct loop_function *f = g->members[0]->kernel;
        int own = f->scalar_count - g->parameter_count;
        struct loop_expr **scalars =
                arena_array(m->arena, (size_t)f->scalar_count, sizeof *scalars);
        for (int i = 0; i < own; i++)
                scalars[i] = s->scalars[i];
        for (int p = 0; p < g->parameter_count; p++) {
                const struct loop_expr *value = to->member->slots[g->slots[p]].literal;
                scalars[own + p] = loop_literal(m->arena, LOOP_TYPE(value->type.element),
                                                value->literal);
        }
        s->scalars = scalars;
        const char *location = loop_call_location(s);
        s->function = f;
        loop_call_locate(m->arena, s, location);
}

static void move_group(struct merging *m, struct map *moved, const struct group *g)
{
        for (int i = 0; i < g->count; i++) {
                struct moved *to = ARENA_NEW(m->scratch, struct moved);
                *to = (struct moved){ g, g->members[i] };
                map_set(moved, (const char *)&g->members[i]->kernel,
                        sizeof g->members[i]->kernel, to);
        }
}

/* Drops all kernels of each group but the first. */
static void drop_moved(struct loop_program *p, const struct map *moved)
{
        p->kernels_end = &p->kernels;
        for (struct loop_function *k = p->kernels; k; k = k->next) {
                const struct moved *to = map_get(moved, (const char *)&k, sizeof k);
                if (to && to->member != to->group->members[0])
                        continue;
                *p->kernels_end = k;
                p->kernels_end = &k->next;
        }
        *p->kernels_end = NULL;
}

int pass_merge(struct loop_program *p, struct pass_context *context)
{
        (void)context;
        struct merging m = { .arena = p->arena, .scratch = arena_new() };
        struct moving moving = { p->arena, map_new(m.scratch) };
        m.hole = loop_variable_new(m.scratch, "hole", LOOP_TYPE(E_F32), VARIABLE_PARAMETER);
        m.hole->number = -1;
        int group_count = 0, count = 0;
        struct group **groups = find_groups(&m, p, &group_count);
        for (int i = 0; i < group_count; i++) {
                bool merged = groups[i]->count > 1 && settle(&m, groups[i]);
                if (merged) {
                        move_group(&m, moving.moved, groups[i]);
                        count += groups[i]->count - 1;
                }
                for (int k = 0; k < groups[i]->count && !merged; k++)
                        close_slots(groups[i]->members[k]);
        }
        loop_walk_mains(p, move_call, NULL, &moving);
        drop_moved(p, moving.moved);
        arena_free(m.scratch);
        return count;
}
