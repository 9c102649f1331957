/* SPDX-License-Identifier: MIT */
/* This file imports Gradient of ai.onnx.preview.training. Its attributes name values of the graph,
 * y and those that y is a function of (xs and zs); its operands are what these are to be, which may
 * be other values. Its results are the derivatives of the sum of y by the xs. The names count as
 * names that the node reads (onnx_order.c). */
#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_model.h"
#include "front/onnx/onnx_texts.h"
#include "ir/adjoint/adjoint.h"

/* The names of one attribute, and what they stand for. */
struct named { const bytes_t *names; struct value **values; int count; };

static bool named_read(struct onnx_import *im, struct onnx_node *n, const char *attribute,
                       struct named *named)
{
        if (!onnx_strings(im, n, attribute, &named->names, &named->count))
                return false;
        named->values = arena_array(im->arena, (size_t)named->count + 1, sizeof *named->values);
        for (int i = 0; i < named->count; i++) {
                const struct onnx_entry *entry = onnx_scope_find(im->scope, named->names[i]);
                if (!entry)
                        return onnx_invalid(im, n, "attribute %s: there is no value '%s'",
                                            attribute, SAFE(im, named->names[i]));
                if (entry->state != NAME_KNOWN)
                        return onnx_unsupported(im, n, "value '%s' is not supported",
                                                SAFE(im, named->names[i]));
                named->values[i] = entry->value;
                const struct region *region = value_region(entry->value);
                if (region && region != im->b.region)
                        return onnx_unsupported(im, n, "value '%s' is of the graph around this one",
                                                SAFE(im, named->names[i]));
        }
        return true;
}

static bool is_replaced(const struct op *op)
{
        for (int i = 0; i < op->result_count; i++)
                if (op->results[i].scratch)
                        return true;
        return false;
}

static bool reads_replaced(struct onnx_import *im, const struct op *op)
{
        for (int i = 0; i < op->operand_count; i++)
                if (op_operand(op, i) && op_operand(op, i)->scratch)
                        return true;
        int count = 0;
        struct value **inside = op->region_count ? op_captures(im->arena, op, &count) : NULL;
        for (int i = 0; i < count; i++)
                if (inside[i]->scratch)
                        return true;
        return false;
}

/* Builds what y depends on once more, from the operands, and returns that y. */
static struct value *computed_again(struct onnx_import *im, struct onnx_node *n,
                                    const struct named *xs, const struct named *zs,
                                    struct value *y)
{
        struct op *last = im->b.region->last;
        for (int i = 0; i < n->input_count; i++) {
                const struct named *of = i < xs->count ? xs : zs;
                struct value *v = of->values[i < xs->count ? i : i - xs->count];
                v->scratch = v == n->inputs[i] ? NULL : n->inputs[i];
        }
        struct op *op = im->b.region->first;
        for (bool more = last != NULL; more; more = op != last, op = op->next)
                if (!is_replaced(op) && reads_replaced(im, op)) {
                        struct op *copy = op_clone(&im->b, op);
                        for (int i = 0; i < op->result_count; i++)
                                op->results[i].scratch = &copy->results[i];
                }
        struct value *made = y->scratch ? y->scratch : y;
        for (int i = 0; i < n->input_count; i++)
                (i < xs->count ? xs->values[i] : zs->values[i - xs->count])->scratch = NULL;
        for (op = im->b.region->first; op; op = op->next)
                for (int i = 0; i < op->result_count; i++)
                        op->results[i].scratch = NULL;
        return made;
}

static bool refuse(struct onnx_import *im, struct onnx_node *n, const struct sweep *s)
{
        for (int i = 0; i < s->obstacle_count; i++) {
                const struct op *op = s->obstacles[i].op;
                onnx_unsupported(im, n, "operation %s of node '%s' has no derivative: %s",
                                 op_info[op->code].name, op->location ? op->location : "",
                                 s->obstacles[i].why);
        }
        return false;
}

bool onnx_import_gradient(struct onnx_import *im, struct onnx_node *n)
{
        struct named xs, zs, ys;
        if (!named_read(im, n, "xs", &xs) || !named_read(im, n, "zs", &zs) ||
            !named_read(im, n, "y", &ys))
                return false;
        if (ys.count != 1 || xs.count < 1)
                return onnx_invalid(im, n, "attributes xs and y have %d and %d names, want one of "
                                           "y, and of xs", xs.count, ys.count);
        if (n->input_count != xs.count + zs.count || n->output_count > xs.count)
                return onnx_invalid(im, n, "%d inputs and %d outputs, want %d and %d",
                                    n->input_count, n->output_count, xs.count + zs.count,
                                    xs.count);
        for (int i = 0; i < n->input_count; i++) {
                const struct value *v = i < xs.count ? xs.values[i] : zs.values[i - xs.count];
                if (!n->inputs[i] || n->inputs[i]->type != v->type)
                        return onnx_invalid(im, n, "input %d is not of the type of the value that "
                                                   "it stands for, %s", i,
                                            compose_text(im->c, v->type));
                if (i < xs.count && !element_is_float(v->type->element))
                        return onnx_invalid(im, n, "'%s' is %s, want floats",
                                            SAFE(im, xs.names[i]), compose_text(im->c, v->type));
        }
        struct value *y = computed_again(im, n, &xs, &zs, ys.values[0]);
        if (!element_is_float(y->type->element))
                return onnx_invalid(im, n, "'%s' is %s, want floats", SAFE(im, ys.names[0]),
                                    compose_text(im->c, y->type));
        struct value *seed = build_like(&im->b, y, 1),
                     **made = arena_array(im->arena, (size_t)xs.count, sizeof *made);
        struct sweep s = { .b = &im->b, .arena = im->arena };
        const struct gradient g = { .ys = &y,
                                    .seeds = &seed,
                                    .y_count = 1,
                                    .xs = n->inputs,
                                    .x_count = xs.count,
                                    .made = made };
        if (!seed || !gradient_build(&s, &g))
                return refuse(im, n, &s);
        for (int i = 0; i < n->output_count; i++)
                if (!onnx_output(n, i, made[i]))
                        return false;
        return true;
}
