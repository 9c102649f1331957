/* SPDX-License-Identifier: MIT */
/* The reverse sweep: which values depend on the x's, and the derivatives by them. */
#include "ir/adjoint/adjoint.h"
#include "ir/tensor/ops.h"

/* A value has a cell if and only if it depends on an x by floats, or by their bits. */
struct cell {
        struct value *derivative;
        bool is_x;                      /* It is an x: what computes it is not looked at. */
};

static struct cell *cell_of(const struct sweep *s, const struct value *v)
{
        return map_get(s->cells, (const char *)&v, sizeof v);
}

static void add_cell(struct sweep *s, const struct value *v, bool is_x)
{
        if (cell_of(s, v))
                return;
        struct cell *c = ARENA_NEW(s->arena, struct cell);
        c->is_x = is_x;
        map_set(s->cells, (const char *)&v, sizeof v, c);
}

bool sweep_wants(const struct sweep *s, const struct value *v)
{
        return v && cell_of(s, v);
}

struct value *sweep_of(const struct sweep *s, const struct value *v)
{
        const struct cell *c = cell_of(s, v);
        return c ? c->derivative : NULL;
}

bool sweep_flow(struct sweep *s, struct value *v, struct value *d)
{
        struct cell *c = cell_of(s, v);
        if (d && c)
                c->derivative = c->derivative ? build_binary(s->b, OP_add, c->derivative, d) : d;
        return d && (!c || c->derivative);
}

bool sweep_refuse(struct sweep *s, const struct op *op, const char *why)
{
        ARENA_GROW(s->arena, s->obstacles, s->obstacle_count);
        s->obstacles[s->obstacle_count++] = (struct adjoint_obstacle){ op, why };
        return true;
}

struct value *sweep_zeros(const struct sweep *s, const struct type *t)
{
        return constant_number(s->b->m, t, 0);
}

bool opcode_has_adjoint(enum opcode code)
{
        return op_info[code].adjoint != adjoint_absent;
}

bool adjoint_absent(struct sweep *s, const struct op *op)
{
        return sweep_refuse(s, op, "there is no derivative of this operation");
}

bool adjoint_formula(struct sweep *s, const struct op *op)
{
        struct value *d = sweep_of(s, op_result(op));
        for (int i = 0; i < op->operand_count; i++) {
                struct value *x = op_operand(op, i);
                const char *partial = op_info[op->code].partials[i];
                if (sweep_wants(s, x) && !partial)
                        return sweep_refuse(s, op, "it works on the bits of a float");
                if (sweep_wants(s, x) && strcmp(partial, "0") &&
                    !sweep_flow(s, x, adjoint_partial(s->b, op, i, d)))
                        return false;
        }
        return true;
}

/* ---- what depends on what ---- */

static bool is_float(const struct value *v)
{
        return v->type->kind == TYPE_TENSOR && element_is_float(v->type->element);
}

/* Does op read, itself or in its regions, a value that depends on an x? */
static bool reads_wanted(const struct sweep *s, const struct op *op)
{
        for (int i = 0; i < op->operand_count; i++)
                if (sweep_wants(s, op_operand(op, i)))
                        return true;
        int count = 0;
        struct value **inside = op->region_count ? op_captures(s->arena, op, &count) : NULL;
        for (int i = 0; i < count; i++)
                if (sweep_wants(s, inside[i]))
                        return true;
        return false;
}

/* Does op work on the bits of a float that depends on an x? Such integers have cells, so that what
 * is made of them is refused, and does not count as independent. */
static bool reads_bits(const struct sweep *s, const struct op *op)
{
        bool any = op->code == OP_bitcast;
        for (int i = 0; i < op->operand_count; i++)
                any = any || (sweep_wants(s, op_operand(op, i)) && !is_float(op_operand(op, i)));
        return any;
}

/* Gives a cell to what depends on the x's by floats, up to and with the operation `last`. */
static void find_wanted(struct sweep *s, const struct op *last)
{
        const struct op *op = last ? last->region->first : NULL;
        for (; op; op = op == last ? NULL : op->next) {
                const bool depends = reads_wanted(s, op) && !adjoint_is_shift(op);
                for (int i = 0; i < op->result_count && depends; i++) {
                        const struct value *v = &op->results[i];
                        if (is_float(v) || (reads_bits(s, op) && v->type->element != E_BOOL))
                                add_cell(s, v, false);
                }
        }
}

static void sweep_begin(struct sweep *s, struct value *const *xs, int count, const struct op *last)
{
        s->cells = map_new(s->arena);
        for (int i = 0; i < count; i++)
                if (is_float(xs[i]))
                        add_cell(s, xs[i], true);
        find_wanted(s, last);
}

bool gradient_reaches(struct arena *arena, const struct value *y, struct value *x)
{
        struct sweep s = { .arena = arena };
        sweep_begin(&s, &x, 1, y->kind == VALUE_RESULT ? y->op : NULL);
        return sweep_wants(&s, y);
}

/* ---- the sweep ---- */

static bool is_swept(const struct sweep *s, const struct op *op)
{
        bool any = false;
        for (int i = 0; i < op->result_count; i++) {
                const struct cell *c = cell_of(s, &op->results[i]);
                if (c && c->is_x)
                        return false;
                any = any || (c && c->derivative);
        }
        return any;
}

static bool sweep_back(struct sweep *s, struct op *last)
{
        const char *location = s->b->location;
        bool ok = true;
        for (struct op *op = last, *previous; op && ok; op = previous) {
                previous = op->previous;
                if (!is_swept(s, op))
                        continue;
                s->b->location = op->location;
                ok = op_info[op->code].adjoint(s, op);
        }
        s->b->location = location;
        return ok;
}

bool gradient_build(struct sweep *s, const struct gradient *g)
{
        struct op *last = s->b->before ? s->b->before->previous : s->b->region->last;
        sweep_begin(s, g->xs, g->x_count, last);
        for (int i = 0; i < g->y_count; i++)
                if (sweep_wants(s, g->ys[i]) && !sweep_flow(s, g->ys[i], g->seeds[i]))
                        return false;
        if (!sweep_back(s, last))
                return false;
        for (int i = 0; i < g->x_count; i++) {
                g->made[i] = sweep_of(s, g->xs[i]);
                if (!g->made[i])
                        g->made[i] = sweep_zeros(s, g->xs[i]->type);
        }
        return !s->obstacle_count;
}
