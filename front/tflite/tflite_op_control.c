/* SPDX-License-Identifier: MIT */
/* IF and WHILE, whose branches, conditions and bodies are other subgraphs of the model. A subgraph
 * is imported anew for each node that calls it; it sees its inputs and the variables alone.
 * Variables that it may assign are further results of the node. A branch that is known at compile
 * time stands in the node's place. */
#include "front/tflite/tflite_helpers.h"

#include <inttypes.h>

#include "base/text.h"

/* ---- calls of subgraphs ---- */

/* What a node gives a subgraph: values, and handles of variables, whose values are NULL. */
struct given {
        struct tflite_tensor *const *tensors;
        struct value **values;
        int count;
};

/* Makes what is given the inputs of the subgraph at hand. */
static bool bind_inputs(struct tflite_import *im, const struct given *g)
{
        const int count = g->count;
        const struct flat_span *inputs = &im->graph.table.inputs;
        if (!tflite_tensor_numbers(im, inputs, 0, "input") ||
            !tflite_tensor_numbers(im, &im->graph.table.outputs, 0, "output"))
                return false;
        if (inputs->count != count)
                return tflite_error(im, "a subgraph has %" PRId64 " inputs, and is called with %d",
                                    inputs->count, count);
        for (int i = 0; i < count; i++) {
                struct tflite_tensor *t = &im->graph.tensors[flat_i32(inputs, i)];
                if (t->is_handle && !g->values[i]) {
                        t->variable = g->tensors[i]->variable;
                        continue;
                }
                if (!t->type)
                        return tflite_list_refused(im, t);
                if (!g->values[i] || t->value || t->type->element != value_element(g->values[i]))
                        return tflite_error(im, "input '%s' of a subgraph is called with %s",
                                            t->safe,
                                            g->values[i] ? compose_text(im->c, g->values[i]->type)
                                                         : "a variable");
                t->value = g->values[i];
                t->is_constant = t->is_variable = false;
        }
        for (int i = 0; i < im->graph.tensor_count; i++)
                if (im->graph.tensors[i].is_variable)
                        return refusals_add(&im->refusals,
                                            "tensor '%s' is a variable of a subgraph that IF or "
                                            "WHILE calls, which is not supported",
                                            im->graph.tensors[i].safe);
        return true;
}

/* Imports the nodes of the subgraph at hand, and finds what it gives; a handle of a variable is
 * none. */
static bool import_nodes(struct tflite_import *im, struct value **results, int count)
{
        const struct flat_span *outputs = &im->graph.table.outputs;
        tflite_list_unknown(im);
        for (int i = 0; i < im->graph.operator_count; i++)
                if (!tflite_import_node(im, i))
                        return false;
        if (im->refusals.count)
                return false;
        if (outputs->count != count)
                return tflite_error(im, "a subgraph has %" PRId64 " outputs, want %d",
                                    outputs->count, count);
        for (int i = 0; i < count; i++) {
                struct tflite_tensor *t = &im->graph.tensors[flat_i32(outputs, i)];
                results[i] = NULL;
                if (t->is_handle)
                        continue;
                if (!t->type)
                        return tflite_list_refused(im, t);
                if (!tflite_constant(im, t))
                        return false;
                if (!(results[i] = t->value))
                        return tflite_error(im, "output '%s' of a subgraph is made by no node",
                                            t->safe);
        }
        return true;
}

/* Makes a subgraph that a node calls the one at hand. */
static bool read_called(struct tflite_import *im, int64_t number)
{
        if (!tflite_read_subgraph(im, number, map_new(im->arena)))
                return false;
        im->called += im->graph.operator_count + im->graph.tensor_count;
        return im->called <= im->context->limits.nodes ||
               tflite_over_limit(im, "operators and tensors of subgraphs that are called", "nodes",
                                 im->context->limits.nodes);
}

/* Builds what the subgraph makes of these values in the region at hand. */
static bool call(struct tflite_import *im, int64_t number, const struct given *g,
                 struct value **results, int result_count)
{
        const struct limits *limits = &im->context->limits;
        if (number < 1 || number >= im->model.subgraphs.count)
                return tflite_invalid(im, "subgraph %" PRId64 " of %" PRId64, number,
                                      im->model.subgraphs.count);
        if (im->nesting >= compose_min(limits->nesting, NESTING_MAX / 2))
                return tflite_over_limit(im, "nested subgraphs", "nesting", limits->nesting);
        const struct tflite_graph outer = im->graph;
        const struct tflite_node *node = im->node;
        const char *location = im->b.location;
        im->nesting++;
        bool ok = read_called(im, number);
        im->node = NULL;
        ok = ok && bind_inputs(im, g) && import_nodes(im, results, result_count);
        im->nesting--;
        im->graph = outer;
        im->node = node;
        im->b.location = location;
        return ok;
}

/* Finds the operands from `first` on. */
static bool operands(struct tflite_import *im, const struct tflite_node *n, int first,
                     struct given *g)
{
        g->count = n->input_count - first;
        g->tensors = n->inputs + first;
        g->values = arena_array(im->arena, (size_t)g->count + 1, sizeof *g->values);
        for (int i = 0; i < g->count; i++) {
                const struct tflite_tensor *t = g->tensors[i];
                if (!t || (t->is_handle && !t->variable))
                        return tflite_invalid(im, "operand %d is missing", i + first);
                g->values[i] = t->value;
        }
        return true;
}

/* Returns a condition as a scalar. */
static struct value *condition(struct tflite_import *im, struct value *v)
{
        if (value_element(v) == E_BOOL && type_is_static(v->type) && type_elements(v->type) == 1)
                return compose_reshape(im->c, v, 0, NULL);
        tflite_invalid(im, "the condition is %s, want one bool", compose_text(im->c, v->type));
        return NULL;
}

/* Makes these the outputs; one that is a handle is that of the operand of its number. */
static bool set_outputs(struct tflite_import *im, struct tflite_node *n,
                        struct value *const *values)
{
        for (int i = 0; i < n->output_count; i++) {
                struct tflite_tensor *t = n->outputs[i];
                if (!values[i] != t->is_handle ||
                    (t->is_handle && n->output_count != n->input_count))
                        return tflite_unsupported(im, "output %d, a handle of a variable", i);
                if (t->is_handle)
                        t->variable = n->inputs[i]->variable;
                else if (!tflite_output(im, n, i, values[i]))
                        return false;
        }
        return true;
}

/* ---- variables that subgraphs may assign ---- */

struct touched {
        struct tflite_variable **variables;
        int count;
        bool *seen; /* Subgraphs that were looked at, or will be. */
        int64_t *next; /* They are these, in that order. */
        int next_count;
        bool assigns; /* A node of theirs assigns a variable. */
};

static void touch(struct tflite_import *im, struct touched *t, struct tflite_variable *v)
{
        for (int i = 0; i < t->count; i++)
                if (t->variables[i] == v)
                        return;
        ARENA_GROW(im->arena, t->variables, t->count);
        t->variables[t->count++] = v;
}

static void look_at(struct tflite_import *im, struct touched *t, int64_t number)
{
        if (number < 1 || number >= im->model.subgraphs.count || t->seen[number])
                return; /* What is wrong is said where it is called. */
        t->seen[number] = true;
        t->next[t->next_count++] = number;
}

/* Looks at node i of the subgraph at hand. */
static bool touch_by_node(struct tflite_import *im, struct touched *t, int i)
{
        const struct tflite_Operator *o = &im->graph.operators[i];
        const struct tflite_row *row = tflite_row_find(tflite_code(&im->codes[o->opcode_index]));
        struct tflite_IfOptions two = { 0 };
        struct tflite_WhileOptions loop = { 0 };
        if (!row)
                return true;
        t->assigns |= row->import == tflite_import_assign_variable;
        if (row->import == tflite_import_var_handle) {
                if (!tflite_import_node(im, i))
                        return false;
                const int32_t number = o->outputs.count ? flat_i32(&o->outputs, 0) : -1;
                if (number >= 0 && im->graph.tensors[number].variable)
                        touch(im, t, im->graph.tensors[number].variable);
        }
        if (!o->builtin_options || o->builtin_options_type != row->options)
                return true;
        if (row->import == tflite_import_if) {
                if (!flat_read(&im->file, &tflite_info_IfOptions, o->builtin_options, &two))
                        return false;
                look_at(im, t, two.then_subgraph);
                look_at(im, t, two.else_subgraph);
        } else if (row->import == tflite_import_while) {
                if (!flat_read(&im->file, &tflite_info_WhileOptions, o->builtin_options, &loop))
                        return false;
                look_at(im, t, loop.cond_subgraph);
                look_at(im, t, loop.body_subgraph);
        }
        return true;
}

/* Finds the variables of these two subgraphs and of all that they call, and gives them values.
 * Where none is assigned there are none. */
static bool find_touched(struct tflite_import *im, const struct given *g, int64_t one,
                         int64_t other, struct touched *t)
{
        const struct tflite_graph outer = im->graph;
        const struct tflite_node *node = im->node;
        const char *location = im->b.location;
        const size_t graphs = (size_t)im->model.subgraphs.count;
        bool ok = true;
        *t = (struct touched){ .seen = arena_array(im->arena, graphs, sizeof *t->seen),
                               .next = arena_array(im->arena, graphs, sizeof *t->next) };
        for (int i = 0; i < g->count; i++)
                if (g->tensors[i]->is_handle)
                        touch(im, t, g->tensors[i]->variable);
        look_at(im, t, one);
        look_at(im, t, other);
        for (int k = 0; k < t->next_count && ok; k++) {
                ok = read_called(im, t->next[k]);
                for (int i = 0; i < im->graph.operator_count && ok; i++)
                        ok = touch_by_node(im, t, i);
        }
        im->graph = outer;
        im->node = node;
        im->b.location = location;
        for (int i = 0; i < t->count && ok; i++)
                ok = tflite_begin_variable(im, t->variables[i]);
        if (!t->assigns)
                t->count = 0;
        return ok;
}

/* Returns the values that the variables have. */
static struct value **values_of(struct tflite_import *im, const struct touched *t)
{
        struct value **values = arena_array(im->arena, (size_t)t->count + 1, sizeof *values);
        for (int i = 0; i < t->count; i++)
                values[i] = t->variables[i]->value;
        return values;
}

static void assign(const struct touched *t, struct value *const *values)
{
        for (int i = 0; i < t->count; i++)
                t->variables[i]->value = values[i];
}

/* ---- IF ---- */

/* Builds a branch in a region of the operation: its results, then the variables. */
static bool branch(struct tflite_import *im, struct op *op, int which, int64_t number,
                   const struct given *g, const struct touched *t)
{
        struct region *outer = im->b.region;
        const int count = op->result_count - t->count;
        struct value **yields = arena_array(im->arena, (size_t)op->result_count, sizeof *yields),
                     **before = values_of(im, t);
        im->b.region = op_add_region(op, which);
        bool ok = call(im, number, g, yields, count);
        for (int i = 0; i < count && ok; i++)
                if (!yields[i])
                        ok = tflite_unsupported(im, "output %d, a handle of a variable", i);
        for (int i = 0; i < t->count; i++)
                yields[count + i] = t->variables[i]->value;
        ok = ok && build_yield(&im->b, yields, op->result_count);
        assign(t, before);
        im->b.region = outer;
        return ok;
}

bool tflite_import_if(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_IfOptions *o = TFLITE_OPTIONS(n, IfOptions);
        const int64_t numbers[] = { o->then_subgraph, o->else_subgraph };
        struct value *c = n->inputs[0]->value ? condition(im, n->inputs[0]->value) : NULL;
        struct given g;
        struct touched t;
        if (!n->inputs[0]->value)
                return tflite_invalid(im, "the condition is a variable");
        for (int i = 0; i < n->output_count; i++)
                if (n->outputs[i]->is_handle)
                        return tflite_unsupported(im, "output %d, a handle of a variable", i);
        if (!c || !operands(im, n, 1, &g))
                return false;
        struct value **results =
                arena_array(im->arena, (size_t)n->output_count + 1, sizeof *results);
        if (value_is_constant(c))
                return call(im, numbers[!constant_element(c->constant, 0).u], &g, results,
                            n->output_count) &&
                       set_outputs(im, n, results);
        if (!find_touched(im, &g, numbers[0], numbers[1], &t))
                return false;
        const int count = n->output_count + t.count;
        const struct type **types = arena_array(im->arena, (size_t)count + 1, sizeof *types);
        if (!count)
                return true;
        for (int i = 0; i < count; i++)
                types[i] = c->type;     /* Any type will do: the regions say which it is. */
        struct op *op = op_build_results(&im->b, OP_if, &c, 1, NULL, types, count, 2);
        if (!op)
                return false;
        const bool first = branch(im, op, 0, numbers[0], &g, &t);
        if (!first && !im->refusals.count)
                return false;
        if (!branch(im, op, 1, numbers[1], &g, &t) || !first)
                return false;
        for (int i = 0; i < count; i++) {
                const struct type *one = op_operand(op->regions[0]->last, i)->type,
                                  *other = op_operand(op->regions[1]->last, i)->type;
                if (one != other)
                        return tflite_unsupported(im,
                                                  "output %d is %s in one branch and %s in the "
                                                  "other",
                                                  i, compose_text(im->c, one),
                                                  compose_text(im->c, other));
                op->results[i].type = one;
                if (i < n->output_count)
                        results[i] = &op->results[i];
                else
                        t.variables[i - n->output_count]->value = &op->results[i];
        }
        return op_infer(im->m, op, im->diag) && set_outputs(im, n, results);
}

/* ---- WHILE ---- */

/* Returns what the subgraph of the condition says of these values. */
static struct value *goes_on(struct tflite_import *im, const struct tflite_node *n,
                             const struct given *g)
{
        const int64_t number = TFLITE_OPTIONS(n, WhileOptions)->cond_subgraph;
        struct value *c;
        if (!call(im, number, g, &c, 1))
                return NULL;
        if (!c)
                tflite_invalid(im, "the condition is a variable");
        return c ? condition(im, c) : NULL;
}

/* Writes what a loop carries: the values, then the variables. Returns how many they are. */
static int carry(const struct given *g, const struct touched *t, struct value **carried)
{
        int count = 0;
        for (int i = 0; i < g->count; i++)
                if (g->values[i])
                        carried[count++] = g->values[i];
        for (int i = 0; i < t->count; i++)
                carried[count++] = t->variables[i]->value;
        return count;
}

/* Takes what a loop carries apart; entry i is `held` + i. */
static void uncarry(struct given *g, const struct touched *t, struct value *held)
{
        for (int i = 0; i < g->count; i++)
                if (g->values[i])
                        g->values[i] = held++;
        for (int i = 0; i < t->count; i++)
                t->variables[i]->value = held++;
}

/* Builds an iteration: *yielded is whether another one follows, and what it goes on with. */
static bool iteration(struct tflite_import *im, const struct tflite_node *n,
                      const struct compose_loop *loop, const struct given *first,
                      const struct touched *t, struct value **yielded)
{
        const int64_t number = TFLITE_OPTIONS(n, WhileOptions)->body_subgraph;
        const size_t bytes = (size_t)first->count * sizeof *first->values;
        struct given held = { first->tensors, arena_copy(im->arena, first->values, bytes),
                              first->count };
        struct given next = { first->tensors, arena_copy(im->arena, first->values, bytes),
                              first->count };
        uncarry(&held, t, loop->held);
        if (!call(im, number, &held, next.values, next.count))
                return false;
        for (int i = 0; i < next.count; i++)
                if (!next.values[i] != !held.values[i])
                        return tflite_unsupported(im, "value %d, a handle of a variable", i);
        if (!(yielded[0] = goes_on(im, n, &next)))
                return false;
        const int count = carry(&next, t, yielded + 1);
        for (int i = 0; i < count; i++)
                if (yielded[1 + i]->type != loop->held[i].type)
                        return tflite_unsupported(im, "value %d is %s, and %s after an iteration",
                                                  i, compose_text(im->c, loop->held[i].type),
                                                  compose_text(im->c, yielded[1 + i]->type));
        return true;
}

bool tflite_import_while(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_WhileOptions *o = TFLITE_OPTIONS(n, WhileOptions);
        struct given g;
        struct touched t;
        struct value *go;
        if (n->output_count != n->input_count)
                return tflite_invalid(im, "%d operands and %d outputs", n->input_count,
                                      n->output_count);
        if (!operands(im, n, 0, &g) ||
            !find_touched(im, &g, o->cond_subgraph, o->body_subgraph, &t) ||
            !(go = goes_on(im, n, &g)))
                return false;
        if (value_is_constant(go) && !constant_element(go->constant, 0).u)
                return set_outputs(im, n, g.values);
        const size_t most = (size_t)g.count + (size_t)t.count;
        struct value **first = arena_array(im->arena, most + 1, sizeof *first),
                     **yielded = arena_array(im->arena, most + 1, sizeof *yielded);
        struct compose_loop loop;
        const struct compose_loop_parts parts = {
                .go = go, .first = first, .carried = carry(&g, &t, first), .steps = INT64_MAX
        };
        if (!compose_loop_open(im->c, &parts, &loop))
                return false;
        if (!iteration(im, n, &loop, &g, &t, yielded))
                return compose_loop_close(im->c, &loop, NULL);
        if (value_is_constant(go) && value_is_constant(yielded[0]) &&
            constant_element(yielded[0]->constant, 0).u) {
                compose_loop_close(im->c, &loop, NULL);
                return tflite_invalid(im, "its condition always holds, so it never ends");
        }
        if (!compose_loop_close(im->c, &loop, yielded))
                return false;
        uncarry(&g, &t, loop.op->results);
        return set_outputs(im, n, g.values);
}
