/* SPDX-License-Identifier: MIT */
/* A Loop written out, iteration after iteration. */
#include "front/onnx/onnx_looping.h"

#include <string.h>

#include "front/compose/compose_move.h"
#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_model.h"
#include "front/onnx/onnx_texts.h"

/* Returns the rank that a body declares for an input, or -1 where none is declared. */
static int declared_rank(const Onnx__GraphProto *body, size_t input)
{
        const Onnx__TypeProto *t = input < body->n_input ? body->input[input]->type : NULL;
        if (!t || t->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !t->tensor_type->shape)
                return -1;
        return t->tensor_type->shape->n_dim < RANK_MAX ? (int)t->tensor_type->shape->n_dim
                                                       : RANK_MAX;
}

struct value *onnx_loop_argument(struct onnx_import *im, struct value *v,
                                 const Onnx__GraphProto *body, size_t input)
{
        return declared_rank(body, input) == 1
                       ? build_reshape(&im->b, v, 1, (const dim_t[]){ dim_of(1) })
                       : v;
}

struct value *onnx_loop_scalar(struct onnx_import *im, struct onnx_node *n, struct value *v,
                               enum element e, const char *what)
{
        if (v->type->kind == TYPE_TENSOR && v->type->element == e && type_is_static(v->type) &&
            type_elements(v->type) == 1)
                return build_reshape(&im->b, v, 0, NULL);
        onnx_invalid(im, n, "%s is %s, want one %s", what, compose_text(im->c, v->type),
                     element_info[e].text);
        return NULL;
}

bool onnx_loop_constant(const struct value *v, int64_t *number)
{
        if (!v || !value_is_constant(v))
                return false;
        *number = constant_element(v->constant, 0).i;
        return true;
}

/* Imports iteration `step`. values[0] becomes the condition; those behind it,
 * which are carried, become the next ones; and those behind these become the rows of all stacks. */
static bool unroll_step(struct onnx_import *im, struct onnx_node *n, const struct onnx_looping *l,
                        int64_t step, struct value **values)
{
        struct value **arguments =
                arena_array(im->arena, (size_t)l->carried + 2, sizeof *arguments);
        int count = (int)l->body->n_output;
        arguments[0] = onnx_loop_argument(im, compose_integer(im->c, E_I64, step), l->body, 0);
        arguments[1] = onnx_loop_argument(im, compose_integer(im->c, E_BOOL, 1), l->body, 1);
        for (int i = 0; i < l->carried; i++)
                arguments[2 + i] = values[1 + i];
        if (!onnx_repeat_graph(im, l->body, arguments, l->carried + 2, values, count) ||
            !onnx_want_tensors(im, l->body, values, 0, 1))
                return false;
        for (int i = 1 + l->carried; i < count; i++)
                if (!onnx_is_texts(values[i]) && !onnx_want_tensors(im, l->body, values, i, 1))
                        return false;
        values[0] = onnx_loop_scalar(im, n, values[0], E_BOOL, "the body's condition");
        return values[0] != NULL;
}

/* Checks that what is carried is of the elements that it was of: an iteration may change extents
 * alone. */
static bool same_elements(struct onnx_import *im, struct onnx_node *n, const struct onnx_looping *l,
                          struct value *const *values)
{
        for (int i = 0; i < l->carried; i++) {
                const struct type *was = n->inputs[2 + i]->type, *is = values[1 + i]->type;
                if (was->kind != is->kind ||
                    (was->kind == TYPE_TENSOR && was->element != is->element))
                        return onnx_invalid(im, n, "carried value %d is %s at first and %s after "
                                                   "an iteration", i, compose_text(im->c, was),
                                            compose_text(im->c, is));
        }
        return true;
}

/* Returns the rows of one stack, which lie `apart` places apart. */
static struct value *unrolled_stack(struct onnx_import *im, struct onnx_node *n, int output,
                                    struct value *const *rows, int count, int apart)
{
        const struct type *declared = n->declared[output];
        struct value **list = arena_array(im->arena, (size_t)count, sizeof *list);
        for (int i = 0; i < count; i++) {
                list[i] = rows[i * apart];
                if (!type_same_dims(list[i]->type, list[0]->type) ||
                    list[i]->type->element != list[0]->type->element) {
                        onnx_unsupported(im, n, "output %d is of rows %s and %s", output,
                                         compose_text(im->c, list[0]->type),
                                         compose_text(im->c, list[i]->type));
                        return NULL;
                }
        }
        if (count)
                return onnx_texts_stack(im, list, count, 0);
        if (declared && declared->rank && dim_is(declared->dims[0], 0) &&
            declared->element != E_STRING)
                return constant_number(im->m, declared, 0);
        onnx_unsupported(im, n, "output %d has no rows, and its shape is not stated", output);
        return NULL;
}

bool onnx_loop_unrolled(struct onnx_import *im, struct onnx_node *n, const struct onnx_looping *l,
                     bool *runs)
{
        struct value **values = arena_array(im->arena, l->body->n_output, sizeof *values),
                     **rows = NULL;
        int64_t go = 1, steps = 0, room = 0;
        *runs = (l->trip && !value_is_constant(l->trip)) || (l->go && !value_is_constant(l->go));
        for (int i = 0; i < l->carried; i++)
                *runs |= onnx_stack_of(n->inputs[2 + i]) != NULL;
        if (*runs)
                return false;
        const struct onnx_mark mark = onnx_mark(im);
        for (int i = 0; i < l->carried; i++)
                values[1 + i] = n->inputs[2 + i];
        for (; go && (l->trips < 0 || steps < l->trips); steps++) {
                if (!unroll_step(im, n, l, steps, values) || !same_elements(im, n, l, values))
                        return false;
                if (!value_is_constant(values[0])) {
                        onnx_take_back(im, &mark);
                        *runs = true;
                        return false;
                }
                onnx_loop_constant(values[0], &go);
                if (steps == room) {
                        room = 2 * room + 8;
                        struct value **more = arena_array(
                                im->arena, (size_t)room * (size_t)(l->stacked + 1), sizeof *more);
                        if (rows)
                                memcpy(more, rows,
                                       (size_t)steps * (size_t)l->stacked * sizeof *more);
                        rows = more;
                }
                for (int i = 0; i < l->stacked; i++)
                        rows[steps * l->stacked + i] = values[1 + l->which[i]];
        }
        for (int i = 0; i < n->output_count && i < l->carried; i++)
                n->outputs[i] = values[1 + i];
        for (int i = 0; i < l->stacked; i++)
                if (!onnx_output(n, l->which[i],
                                 unrolled_stack(im, n, l->which[i], rows ? rows + i : NULL,
                                                (int)steps, l->stacked)))
                        return false;
        return true;
}
