/* Control flow: If. A branch that is known at compile time stands in the node's place and the other
 * one is never looked at, which is how exporters guard code for other shapes. */
#include "compiler/import/onnx_model.h"

/* The condition as a scalar; NULL after an error. */
static struct value *condition(struct onnx_import *im, struct onnx_node *n)
{
        struct value *c = n->inputs[0];
        if (c->type->element != E_BOOL || !type_is_static(c->type) || type_elements(c->type) != 1) {
                onnx_invalid(im, n, "the condition is %s, want one bool", type_text(im->arena, im->m, c->type));
                return NULL;
        }
        return build_reshape(&im->b, c, 0, NULL);
}

/* What the branches yield, which must have the same static types. */
static bool check_branches(struct onnx_import *im, struct onnx_node *n, struct op *op)
{
        const struct op *yields[] = { op->regions[0]->last, op->regions[1]->last };
        for (int i = 0; i < op->result_count; i++) {
                const struct type *t = op_operand(yields[0], i)->type, *other = op_operand(yields[1], i)->type;
                if (t != other)
                        return onnx_unsupported(im, n, "output %d is %s in one branch and %s in the other", i,
                                                type_text(im->arena, im->m, t), type_text(im->arena, im->m, other));
                op->results[i].type = t;
        }
        return true;
}

static bool run_time_if(struct onnx_import *im, struct onnx_node *n, struct value *c,
                        const Onnx__GraphProto *const *branches)
{
        int count = (int)branches[0]->n_output;
        if (branches[0]->n_output != branches[1]->n_output)
                return onnx_invalid(im, n, "the branches have %zu and %zu outputs", branches[0]->n_output,
                                    branches[1]->n_output);
        if (n->output_count > count)
                return onnx_invalid(im, n, "%d outputs, its branches have %d", n->output_count, count);
        const struct type **types = arena_array(im->arena, (size_t)count, sizeof *types);
        for (int i = 0; i < count; i++)
                types[i] = c->type;             /* any, until the branches have said what they yield */
        struct op *op = op_build_results(&im->b, OP_if, &c, 1, NULL, types, count, 2);
        if (!op)
                return false;
        bool ok = true;
        for (int i = 0; i < 2; i++)
                op_add_region(op, i);
        for (int i = 0; i < 2; i++) /* the second one too when the first is not supported: its nodes are listed */
                if (!onnx_subgraph(im, branches[i], op->regions[i], NULL, 0)) {
                        if (!im->model->skip)
                                return false;
                        ok = false;
                }
        if (!ok) {
                im->model->skip = true;
                return false;
        }
        if (!check_branches(im, n, op) || !op_infer(im->m, op, im->diag))
                return false;
        for (int i = 0; i < n->output_count; i++)
                n->outputs[i] = &op->results[i];
        return true;
}

bool onnx_import_if(struct onnx_import *im, struct onnx_node *n)
{
        const Onnx__GraphProto *branches[] = { onnx_graph_attribute(im, n, "then_branch"), NULL };
        branches[1] = branches[0] ? onnx_graph_attribute(im, n, "else_branch") : NULL;
        struct value *c = branches[1] ? condition(im, n) : NULL;
        int64_t number;
        if (!c)
                return false;
        if (!value_is_constant(c))
                return run_time_if(im, n, c, branches);
        number = (int64_t)constant_element(c->constant, 0).u;
        return onnx_inline_graph(im, branches[number ? 0 : 1], NULL, 0, n->outputs, n->output_count);
}
