/* SPDX-License-Identifier: MIT */
/* The bodies of If, Loop and Scan are graphs that see the values around them. */
#include <string.h>

#include "compiler/export/exporter.h"

/* Nodes went here before a subgraph. */
struct outside {
        struct graph *graph;
        struct node *last;
        const struct op *op;
};

static struct outside enter(struct export *e, struct graph *inner)
{
        struct outside outside = { e->graph, e->last, e->op };
        e->graph = inner;
        return outside;
}

static void leave(struct export *e, const struct outside *outside)
{
        e->graph = outside->graph;
        e->last = outside->last;
        e->op = outside->op;
}

/* Makes a node of as many results as op has; its first is made with it. */
static void node_of_results(struct export *e, const struct op *op, const char *name,
                            struct made *const *operands, int count)
{
        export_result(e, op, 0, export_node(e, name, op->results[0].type, operands, count));
        for (int i = 1; i < op->result_count; i++)
                export_result(e, op, i, export_output(e, op->results[i].type));
}

void write_if(struct export *e, const struct op *op, const struct plan *plan)
{
        struct graph *branches[2];
        (void)plan;
        for (int i = 0; i < 2; i++) {
                branches[i] = export_graph_new(e, op_info[OP_if].regions[i]);
                struct outside outside = enter(e, branches[i]);
                export_region(e, op->regions[i]);
                leave(e, &outside);
        }
        struct made *c = export_value(e, op_operand(op, 0));
        node_of_results(e, op, "If", &c, 1);
        export_subgraph(e, "then_branch", branches[0]);
        export_subgraph(e, "else_branch", branches[1]);
}

/* Adds an input of the graph being written. */
static struct made *add_input(struct export *e, const char *base, const struct type *type)
{
        struct graph *g = e->graph;
        struct made *made = export_made(e, base, type);
        made->named = true;
        ARENA_GROW(e->arena, g->inputs, g->input_count);
        g->inputs[g->input_count++] = made;
        return made;
}

static void add_argument(struct export *e, struct value *argument, const char *base)
{
        argument->scratch = add_input(e, argument->name ? argument->name : base, argument->type);
}

/* Returns what a loop reads: carried values, then scanned ones. */
static struct made **values_of(struct export *e, const struct op *op, int first)
{
        struct made **values =
                arena_array(e->arena, (size_t)(first + op->operand_count), sizeof *values);
        for (int i = 2; i < op->operand_count; i++)
                values[first + i - 2] = export_value(e, op_operand(op, i));
        return values;
}

/* ---- Scan: as many iterations as there are rows ---- */

static bool is_scan(const struct op_loop *l)
{
        return !l->trip && !l->go && l->scanned && !l->number->uses && l->steps > 0;
}

static void write_scan(struct export *e, const struct op *op, const struct op_loop *l)
{
        struct graph *body = export_graph_new(e, "body");
        struct outside outside = enter(e, body);
        for (int i = 0; i < l->carried; i++)
                add_argument(e, &l->held[i], "held");
        for (int i = 0; i < l->scanned; i++)
                add_argument(e, &l->rows[i], "row");
        export_region(e, op->regions[0]);
        leave(e, &outside);
        struct made **values = values_of(e, op, 0);
        node_of_results(e, op, "Scan", values, l->carried + l->scanned);
        export_subgraph(e, "body", body);
        export_int(e, "num_scan_inputs", l->scanned);
        export_ints(e, "scan_input_directions", op_ints(op, "scan_backward", NULL), l->scanned);
        if (l->stacked)
                export_ints(e, "scan_output_directions", op_ints(op, "stack_backward", NULL),
                            l->stacked);
}

/* ---- Loop ---- */

/* Returns, in the body, row `number` of a scanned operand, counted from its end where it is scanned
 * so. */
static struct made *row_of(struct export *e, struct made *x, struct made *number, int64_t steps,
                           bool backward, const struct type *row)
{
        if (backward)
                number = export_binary(e, "Sub", number->type, export_integer(e, E_I64, steps - 1),
                                       number);
        struct made *y = export_binary(e, "Gather", row, x, number);
        export_int(e, "axis", 0);
        return y;
}

static struct graph *loop_body(struct export *e, const struct op *op, const struct op_loop *l,
                               struct made *const *scans)
{
        struct graph *body = export_graph_new(e, "body");
        const int64_t *backward = op_ints(op, "scan_backward", NULL);
        struct outside outside = enter(e, body);
        e->op = op;
        add_argument(e, l->number, "number");
        struct made *go = add_input(e, "go", type_scalar(e->m, E_BOOL));
        for (int i = 0; i < l->carried; i++)
                add_argument(e, &l->held[i], "held");
        for (int i = 0; i < l->scanned; i++)
                l->rows[i].scratch = row_of(e, scans[i], l->number->scratch, l->steps, backward[i],
                                            l->rows[i].type);
        if (!l->go) {
                struct made *on = export_unary(e, "Identity", go->type, go);
                on->named = true;
                ARENA_GROW(e->arena, body->outputs, body->output_count);
                body->outputs[body->output_count++] = on;
        }
        export_region(e, op->regions[0]);
        leave(e, &outside);
        return body;
}

/* Returns a stack that was made from its last row to its first, as it lies. */
static struct made *turned(struct export *e, struct made *stack)
{
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
        const struct type *t = stack->type;
        if (type_extent(t, 0) <= 1)
                return stack;
        for (int d = 0; d < t->rank; d++)
                steps[d] = d ? 1 : -1;
        starts[0] = type_extent(t, 0) - 1;
        return export_slice(e, stack, starts, steps, t->dims);
}

void write_loop(struct export *e, const struct op *op, const struct plan *plan)
{
        struct op_loop l = op_loop(op);
        (void)plan;
        if (is_scan(&l)) {
                write_scan(e, op, &l);
                return;
        }
        struct made **values = values_of(e, op, 2);
        struct graph *body = loop_body(e, op, &l, values + 2 + l.carried);
        values[0] = l.trip ? export_value(e, l.trip) : export_integer(e, E_I64, l.steps);
        values[1] = export_value(e, l.go);
        node_of_results(e, op, "Loop", values, 2 + l.carried);
        export_subgraph(e, "body", body);
        const int64_t *backward = op_ints(op, "stack_backward", NULL);
        for (int i = 0; i < l.stacked; i++)
                if (backward[i])
                        export_result(e, op, l.carried + i,
                                      turned(e, op->results[l.carried + i].scratch));
}
