/* SPDX-License-Identifier: MIT */
/* Constants, what passes its operands on, calls of functions, branches and loops. A function is
 * built anew for each node that calls it. */
#include "front/tensorflow/tensorflow_helpers.h"

bool tf_import_const(struct tf_import *im, struct tf_node *n)
{
        const Tf__AttrValue *a = tf_attr(n, "value");
        if (!a || a->value_case != TF__ATTR_VALUE__VALUE_TENSOR)
                return tf_invalid(im, "it has no value");
        if (a->tensor->dtype == TF_STRING) {
                tf_make(im, n, 0)->texts = a->tensor;
                return true;
        }
        struct value *v = tf_constant(im, a->tensor, n->g->name);
        if (v && element_is_float(value_element(v)) && im->nesting == 0)
                im->parameters += type_elements(v->type);
        return tf_output(im, n, 0, v);
}

/* The variant 1 passes several on. */
bool tf_import_identity(struct tf_import *im, struct tf_node *n)
{
        for (int i = 0; i < (tf_variant(n) ? n->input_count : 1); i++) {
                tf_make(im, n, i);
                n->outputs[i] = n->inputs[i];
        }
        return true;
}

static bool give(struct tf_import *im, struct tf_node *n, const struct tf_tensor *results,
                 int count)
{
        for (int i = 0; i < count; i++) {
                tf_make(im, n, i);
                n->outputs[i] = results[i];
        }
        return true;
}

bool tf_import_call(struct tf_import *im, struct tf_node *n)
{
        const bytes_t *name = tf_function(n, "f");
        struct tf_tensor *results;
        int count;
        if (!name)
                return tf_invalid(im, "it names no function");
        return tf_call(im, *name, n->inputs, n->input_count, &results, &count) &&
               give(im, n, results, count);
}

/* ---- branches ---- */

/* Returns a condition as a scalar: a number is true where it is not 0. */
static struct value *condition(struct tf_import *im, const struct tf_tensor *t)
{
        struct value *v = t->value;
        if (v && type_is_static(v->type) && type_elements(v->type) == 1 &&
            (v = compose_reshape(im->c, v, 0, NULL)))
                return value_element(v) == E_BOOL ? v : compose_with(im->c, OP_ne, v, 0);
        tf_invalid(im, "the condition is no number");
        return NULL;
}

/* Builds a branch in a region of the operation. */
static bool branch(struct tf_import *im, struct tf_node *n, struct op *op, int which, bytes_t name)
{
        struct region *outer = im->b.region;
        struct tf_tensor *results;
        int count;
        im->b.region = op_add_region(op, which);
        bool ok = tf_call(im, name, n->inputs + 1, n->input_count - 1, &results, &count);
        struct value **yields =
                arena_array(im->arena, (size_t)op->result_count + 1, sizeof *yields);
        if (ok && count != op->result_count)
                ok = tf_invalid(im, "the branches have %d and %d results", op->result_count, count);
        for (int i = 0; ok && i < count; i++)
                if (!(yields[i] = results[i].value))
                        ok = tf_unsupported(im, "result %d, which is no tensor of numbers", i);
        ok = ok && build_yield(&im->b, yields, op->result_count);
        im->b.region = outer;
        return ok;
}

bool tf_import_if(struct tf_import *im, struct tf_node *n)
{
        const bytes_t *names[] = { tf_function(n, "then_branch"), tf_function(n, "else_branch") };
        struct value *c = condition(im, &n->inputs[0]);
        struct tf_tensor *results;
        int count;
        if (!c || !names[0] || !names[1])
                return c ? tf_invalid(im, "it names no functions") : false;
        if (value_is_constant(c))
                return tf_call(im, *names[!constant_element(c->constant, 0).u], n->inputs + 1,
                               n->input_count - 1, &results, &count) &&
                       give(im, n, results, count);
        const struct tf_graph *f = tf_find_function(im, *names[0]);
        count = f ? (int)f->function->signature->n_output_arg : 0;
        if (!count)
                return tf_unsupported(im, "branches without results");
        const struct type **types = arena_array(im->arena, (size_t)count, sizeof *types);
        for (int i = 0; i < count; i++)
                types[i] = c->type;     /* Any type will do: the regions say which it is. */
        struct op *op = op_build_results(&im->b, OP_if, &c, 1, NULL, types, count, 2);
        if (!op)
                return false;
        const bool first = branch(im, n, op, 0, *names[0]);
        if (!first && !im->refusals.count)
                return false;
        if (!branch(im, n, op, 1, *names[1]) || !first)
                return false;
        for (int i = 0; i < count; i++) {
                const struct type *one = op_operand(op->regions[0]->last, i)->type,
                                  *other = op_operand(op->regions[1]->last, i)->type;
                if (one != other)
                        return tf_unsupported(im, "result %d is %s in one branch and %s in the "
                                                  "other",
                                              i, compose_text(im->c, one),
                                              compose_text(im->c, other));
                op->results[i].type = one;
                tf_output(im, n, i, &op->results[i]);
        }
        return op_infer(im->m, op, im->diag);
}

/* ---- loops ---- */

/* Returns what the function of the condition says of these values. */
static struct value *goes_on(struct tf_import *im, bytes_t name, struct tf_tensor *given, int count)
{
        struct tf_tensor *results;
        int result_count;
        if (!tf_call(im, name, given, count, &results, &result_count))
                return NULL;
        if (result_count != 1) {
                tf_invalid(im, "its condition has %d results", result_count);
                return NULL;
        }
        return condition(im, &results[0]);
}

/* Builds an iteration: *yielded is whether another one follows, and what it goes on with. Handles
 * of variables stay what they are. */
static bool iteration(struct tf_import *im, struct tf_node *n, const bytes_t *names[2],
                      const struct compose_loop *loop, struct value **yielded)
{
        const size_t bytes = (size_t)n->input_count * sizeof *n->inputs;
        struct tf_tensor *held = arena_copy(im->arena, n->inputs, bytes), *next;
        int count, carried = 0;
        for (int i = 0; i < n->input_count; i++)
                if (held[i].value)
                        held[i].value = &loop->held[carried++];
        if (!tf_call(im, *names[1], held, n->input_count, &next, &count))
                return false;
        if (count != n->input_count)
                return tf_invalid(im, "its body has %d results, want %d", count, n->input_count);
        if (!(yielded[0] = goes_on(im, *names[0], next, count)))
                return false;
        carried = 0;
        for (int i = 0; i < count; i++) {
                if (!next[i].value && !held[i].value && next[i].variable == held[i].variable)
                        continue;
                if (!next[i].value || !held[i].value)
                        return tf_unsupported(im, "value %d, a handle of a variable", i);
                if (next[i].value->type != held[i].value->type)
                        return tf_unsupported(im, "value %d is %s, and %s after an iteration", i,
                                              compose_text(im->c, held[i].value->type),
                                              compose_text(im->c, next[i].value->type));
                yielded[++carried] = next[i].value;
        }
        return true;
}

bool tf_import_while(struct tf_import *im, struct tf_node *n)
{
        const bytes_t *names[2] = { tf_function(n, "cond"), tf_function(n, "body") };
        struct value **first = arena_array(im->arena, (size_t)n->input_count + 1, sizeof *first),
                     **yielded = arena_array(im->arena, (size_t)n->input_count + 2,
                                             sizeof *yielded);
        struct value *go;
        struct compose_loop loop;
        int carried = 0;
        if (!names[0] || !names[1])
                return tf_invalid(im, "it names no functions");
        if (!(go = goes_on(im, *names[0], n->inputs, n->input_count)))
                return false;
        if (value_is_constant(go) && !constant_element(go->constant, 0).u)
                return give(im, n, n->inputs, n->input_count);
        for (int i = 0; i < n->input_count; i++)
                if (n->inputs[i].value)
                        first[carried++] = n->inputs[i].value;
        const struct compose_loop_parts parts = {
                .go = go, .first = first, .carried = carried, .steps = INT64_MAX
        };
        if (!compose_loop_open(im->c, &parts, &loop))
                return false;
        if (!iteration(im, n, names, &loop, yielded))
                return compose_loop_close(im->c, &loop, NULL);
        if (value_is_constant(go) && value_is_constant(yielded[0]) &&
            constant_element(yielded[0]->constant, 0).u) {
                compose_loop_close(im->c, &loop, NULL);
                return tf_invalid(im, "its condition always holds, so it never ends");
        }
        if (!compose_loop_close(im->c, &loop, yielded))
                return false;
        carried = 0;
        for (int i = 0; i < n->input_count; i++) {
                tf_make(im, n, i);
                n->outputs[i] = n->inputs[i];
                if (n->inputs[i].value)
                        n->outputs[i].value = &loop.op->results[carried++];
        }
        return true;
}
