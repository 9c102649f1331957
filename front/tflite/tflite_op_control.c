/* SPDX-License-Identifier: MIT */
/* IF and WHILE, whose branches, conditions and bodies are other subgraphs of the model. A subgraph
 * is imported anew for each node that calls it; it sees its inputs alone. A branch that is known at
 * compile time stands in the node's place. */
#include "front/tflite/tflite_helpers.h"

#include <inttypes.h>

#include "base/text.h"

/* ---- calls of subgraphs ---- */

/* Makes `values` the inputs of the subgraph at hand. */
static bool bind_inputs(struct tflite_import *im, struct value *const *values, int count)
{
        const struct flat_span *inputs = &im->graph.table.inputs;
        if (!tflite_tensor_numbers(im, inputs, 0, "input") ||
            !tflite_tensor_numbers(im, &im->graph.table.outputs, 0, "output"))
                return false;
        if (inputs->count != count)
                return tflite_error(im, "a subgraph has %" PRId64 " inputs, and is called with %d",
                                    inputs->count, count);
        for (int i = 0; i < count; i++) {
                struct tflite_tensor *t = &im->graph.tensors[flat_i32(inputs, i)];
                if (!t->type)
                        return tflite_list_refused(im, t);
                if (t->value || t->type->element != value_element(values[i]))
                        return tflite_error(im, "input '%s' of a subgraph is called with %s",
                                            t->safe, compose_text(im->c, values[i]->type));
                t->value = values[i];
                t->is_constant = t->is_variable = false;
        }
        for (int i = 0; i < im->graph.tensor_count; i++)
                if (im->graph.tensors[i].is_variable)
                        return tflite_list(im, arena_printf(im->arena,
                                                            "tensor '%s' is a variable of a "
                                                            "subgraph that IF or WHILE calls, "
                                                            "which is not supported",
                                                            im->graph.tensors[i].safe));
        return true;
}

/* Imports the nodes of the subgraph at hand, and finds what it gives. */
static bool import_nodes(struct tflite_import *im, struct value **results, int count)
{
        const struct flat_span *outputs = &im->graph.table.outputs;
        tflite_list_unknown(im);
        for (int i = 0; i < im->graph.operator_count; i++)
                if (!tflite_import_node(im, i))
                        return false;
        if (im->unsupported_count)
                return false;
        if (outputs->count != count)
                return tflite_error(im, "a subgraph has %" PRId64 " outputs, want %d",
                                    outputs->count, count);
        for (int i = 0; i < count; i++) {
                struct tflite_tensor *t = &im->graph.tensors[flat_i32(outputs, i)];
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

/* Builds what the subgraph makes of these values in the region at hand. */
static bool call(struct tflite_import *im, int64_t number, struct value *const *values, int count,
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
        bool ok = tflite_read_subgraph(im, number, map_new(im->arena));
        if (ok) {
                im->called += im->graph.operator_count + im->graph.tensor_count;
                ok = im->called <= limits->nodes ||
                     tflite_over_limit(im, "operators and tensors of subgraphs that are called",
                                       "nodes", limits->nodes);
        }
        im->node = NULL;
        ok = ok && bind_inputs(im, values, count) && import_nodes(im, results, result_count);
        im->nesting--;
        im->graph = outer;
        im->node = node;
        im->b.location = location;
        return ok;
}

/* Returns the values of the operands from `first` on. */
static struct value **operands(struct tflite_import *im, const struct tflite_node *n, int first)
{
        struct value **values = arena_array(im->arena, (size_t)n->input_count, sizeof *values);
        for (int i = first; i < n->input_count; i++)
                if (!(values[i - first] = tflite_input(n, i))) {
                        tflite_invalid(im, "operand %d is missing", i);
                        return NULL;
                }
        return values;
}

/* Returns a condition as a scalar. */
static struct value *condition(struct tflite_import *im, struct value *v)
{
        if (value_element(v) == E_BOOL && type_is_static(v->type) && type_elements(v->type) == 1)
                return compose_reshape(im->c, v, 0, NULL);
        tflite_invalid(im, "the condition is %s, want one bool", compose_text(im->c, v->type));
        return NULL;
}

static bool set_outputs(struct tflite_import *im, struct tflite_node *n,
                        struct value *const *values)
{
        for (int i = 0; i < n->output_count; i++)
                if (!tflite_output(im, n, i, values[i]))
                        return false;
        return true;
}

/* ---- IF ---- */

/* Builds a branch in a region of the operation. */
static bool branch(struct tflite_import *im, struct op *op, int which, int64_t number,
                   struct value *const *values, int count)
{
        struct region *outer = im->b.region;
        struct value **yields = arena_array(im->arena, (size_t)op->result_count, sizeof *yields);
        im->b.region = op_add_region(op, which);
        const bool ok = call(im, number, values, count, yields, op->result_count) &&
                        build_yield(&im->b, yields, op->result_count);
        im->b.region = outer;
        return ok;
}

bool tflite_import_if(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_IfOptions *o = TFLITE_OPTIONS(n, IfOptions);
        const int64_t numbers[] = { o->then_subgraph, o->else_subgraph };
        struct value **values = operands(im, n, 1), *c = condition(im, n->inputs[0]->value);
        const int count = n->input_count - 1;
        if (!values || !c)
                return false;
        struct value **results = arena_array(im->arena, (size_t)n->output_count, sizeof *results);
        if (value_is_constant(c))
                return call(im, numbers[!constant_element(c->constant, 0).u], values, count,
                            results, n->output_count) &&
                       set_outputs(im, n, results);
        const struct type **types = arena_array(im->arena, (size_t)n->output_count, sizeof *types);
        for (int i = 0; i < n->output_count; i++)
                types[i] = c->type;     /* Any type will do: the regions say which it is. */
        struct op *op =
                op_build_results(&im->b, OP_if, &c, 1, NULL, types, n->output_count, 2);
        if (!op)
                return false;
        const bool first = branch(im, op, 0, numbers[0], values, count);
        if (!first && !im->unsupported_count)
                return false;
        if (!branch(im, op, 1, numbers[1], values, count) || !first)
                return false;
        for (int i = 0; i < n->output_count; i++) {
                const struct type *t = op_operand(op->regions[0]->last, i)->type,
                                  *other = op_operand(op->regions[1]->last, i)->type;
                if (t != other)
                        return tflite_unsupported(im,
                                                  "output %d is %s in one branch and %s in the "
                                                  "other",
                                                  i, compose_text(im->c, t),
                                                  compose_text(im->c, other));
                op->results[i].type = t;
                results[i] = &op->results[i];
        }
        return op_infer(im->m, op, im->diag) && set_outputs(im, n, results);
}

/* ---- WHILE ---- */

/* Returns what the subgraph of the condition says of these values. */
static struct value *goes_on(struct tflite_import *im, const struct tflite_node *n,
                             struct value *const *values)
{
        const int64_t number = TFLITE_OPTIONS(n, WhileOptions)->cond_subgraph;
        struct value *c;
        return call(im, number, values, n->input_count, &c, 1) ? condition(im, c) : NULL;
}

/* Builds an iteration: *yielded is whether another one follows, and the values for it. */
static bool iteration(struct tflite_import *im, const struct tflite_node *n,
                      const struct compose_loop *loop, struct value **yielded)
{
        const int64_t number = TFLITE_OPTIONS(n, WhileOptions)->body_subgraph;
        const int count = n->input_count;
        struct value **next = yielded + 1, **held = arena_array(im->arena, (size_t)count,
                                                                sizeof *held);
        for (int i = 0; i < count; i++)
                held[i] = &loop->held[i];
        if (!call(im, number, held, count, next, count))
                return false;
        for (int i = 0; i < count; i++)
                if (next[i]->type != held[i]->type)
                        return tflite_unsupported(im, "value %d is %s, and %s after an iteration",
                                                  i, compose_text(im->c, held[i]->type),
                                                  compose_text(im->c, next[i]->type));
        return (yielded[0] = goes_on(im, n, next)) != NULL;
}

bool tflite_import_while(struct tflite_import *im, struct tflite_node *n)
{
        const int count = n->input_count;
        struct value **values = operands(im, n, 0), *go;
        if (n->output_count != count)
                return tflite_invalid(im, "%d operands and %d outputs", count, n->output_count);
        if (!values || !(go = goes_on(im, n, values)))
                return false;
        if (value_is_constant(go) && !constant_element(go->constant, 0).u)
                return set_outputs(im, n, values);
        struct compose_loop loop;
        const struct compose_loop_parts parts = {
                .go = go, .first = values, .carried = count, .steps = INT64_MAX
        };
        struct value **yielded = arena_array(im->arena, (size_t)count + 1, sizeof *yielded);
        if (!compose_loop_open(im->c, &parts, &loop))
                return false;
        if (!iteration(im, n, &loop, yielded))
                return compose_loop_close(im->c, &loop, NULL);
        if (value_is_constant(go) && value_is_constant(yielded[0]) &&
            constant_element(yielded[0]->constant, 0).u) {
                compose_loop_close(im->c, &loop, NULL);
                return tflite_invalid(im, "its condition always holds, so it never ends");
        }
        if (!compose_loop_close(im->c, &loop, yielded))
                return false;
        for (int i = 0; i < count; i++)
                values[i] = &loop.op->results[i];
        return set_outputs(im, n, values);
}
