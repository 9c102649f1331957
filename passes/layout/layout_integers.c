/* SPDX-License-Identifier: MIT */
/* Layout, whole numbers: contractions of integers become contractions of floats where these are
 * exact, and weights that their reader would decode are decoded here.
 *
 *   %1 = sub(cast(%0: i8) to=i16, 3)                    %1 = sub(cast(%0: i8) to=i16, 3)
 *   %2 = convolve(%1, @w) accumulator=i32       ->      %2 = convolve(cast(%1), @w as f32)
 *                                                       %3 = cast(%2) to=i32
 *
 * A float holds every whole number up to 2^24: where no sum of an output's products can be larger,
 * whatever their order, it is exact, and multiply-adds of floats are what targets with vectors do
 * best. Panels of weights are read in whole vectors again and again, so they are of the elements
 * that are multiplied; where rows are few, weights are read once, and stay narrow. Products of
 * 8-bit integers are left alone where the target has a multiply for them. */
#include "passes/layout/layout.h"
#include "passes/simplify/ranges.h"


enum { DEPTH_MAX = 8 };

/* Computes the constant that v is, where it only decodes integer constants, whatever its size.
 * NULL: it does something else, or would take too long. */
static struct value *decoded(struct builder *b, struct value *v, int depth)
{
        if (value_is_constant(v))       /* Floats of fewer bits stay as they are. */
                return (element_is_float(v->type->element) &&
                        element_info[v->type->element].bytes < 4) ||
                                       element_code(v->type->element)
                               ? NULL
                               : v;
        if (v->kind != VALUE_RESULT || depth == DEPTH_MAX)
                return NULL;
        const struct op *op = v->op;
        struct value *operands[OPERAND_ROW_MAX];
        bool moves = op->code == OP_reshape || op->code == OP_transpose;
        if (!moves && !(op_info[op->code].traits & TRAIT_ELEMENTWISE))
                return NULL;
        for (int i = 0; i < op->operand_count; i++) {
                struct value *x = op_operand(op, i);
                bool spread = op_is(x, OP_broadcast) && value_is_constant(op_operand(x->op, 0));
                operands[i] = spread ? x : decoded(b, x, depth + 1);
                if (!operands[i])
                        return NULL;
        }
        struct value *y = value_build(b, op->code, operands, op->operand_count, op->attrs,
                                      moves ? v->type : NULL);
        return y && value_is_constant(y) ? y : NULL;
}

bool layout_becomes_whole(const struct value *v)
{
        for (const struct use *u = v->uses; u; u = u->next)
                if (u->user->code == OP_cast &&
                    element_is_integer(op_result(u->user)->type->element))
                        return true;
        return false;
}

struct value *layout_decoded(struct layout *l, struct value *v)
{
        struct pass_context context = *l->context;
        struct builder b = l->b;
        context.limits.fold_bytes = context.limits.fold_total_bytes = INT64_MAX / 2;
        b.fold = fold_op;
        b.fold_context = &context;
        struct value *known = decoded(&b, v, 0);
        l->context->fold_steps = context.fold_steps;
        return known ? known : v;
}

/* Are all these codes of floats finite? */
static bool all_finite(const struct constant *c, const struct element_code *code)
{
        return element_codes_finite(code, constant_data(c),
                                    c->kind == CONSTANT_SPLAT ? 1 : type_elements(c->value.type));
}

struct value *layout_stored(const struct layout *l, struct value *w)
{
        struct value *narrow = op_is(w, OP_cast) ? op_operand(w->op, 0) : w;
        enum element e = narrow->type->element;
        return w->type->element == E_F32 && value_is_constant(narrow) &&
                               multiply_in(l->context, E_F32, e) &&
                               (!element_code(e) || all_finite(narrow->constant, element_code(e)))
                       ? narrow
                       : w;
}

/* ---- whole numbers ---- */

static bool is_whole(const struct layout *l, const struct op *op)
{
        return op->result_count == 1 && whole_outputs(op) >= 0 &&
               element_is_integer(op_result(op)->type->element) &&
               (l->open || op_is_static(op)) &&
               type_is_static(op_operand(op, 1)->type) && type_elements(op_operand(op, 1)->type);
}

const struct multiply *layout_bytes(const struct layout *l, const struct op *op)
{
        enum { WORD = 4 };              /* With fewer channels in a word, the multiply is no faster
                                         * than floats. */
        const struct multiply *m = multiply_of_bytes(l->context, op);
        bool constant = value_is_constant(op_operand(op, 1));
        return m && (constant || m->channels >= WORD || !whole_in_floats(op)) ? m : NULL;
}

int64_t layout_row_of(const struct multiply *m, int64_t channels)
{
        int64_t row = (int64_t)m->channels * m->depth;
        return round_up(channels, channels < row ? m->channels : row);
}

static bool multiply_floats(struct layout *l, struct op *op)
{
        l->b = (struct builder){ .m = l->m,
                                 .region = op->region,
                                 .before = op,
                                 .location = op->location,
                                 .diag = l->b.diag };
        struct value *x = op_operand(op, 0),
                     *w = layout_decoded(l, build_cast(&l->b, op_operand(op, 1), E_F32));
        bool exact = value_is_constant(w)
                             ? whole_largest(whole_range_of(x)) *
                                               whole_largest_sum(l->arena, w, whole_outputs(op)) <=
                                       WHOLE_IN_FLOATS
                             : op->code == OP_dot && whole_in_floats(op);
        if (!exact)
                return false;
        struct attr *attrs = attrs_new(l->m, op->code);
        for (int i = 0; i < op_info[op->code].attr_count; i++)
                attrs[i] = op->attrs[i];
        attr_set(attrs, op->code, "accumulator", E_COMPUTE);
        struct value *y =
                value_build(&l->b, op->code, (struct value *[]){ build_cast(&l->b, x, E_F32), w },
                            2, attrs, NULL);
        /* An integer sum wraps, but the conversion of a float does not. */
        y = build_cast(&l->b, build_cast(&l->b, y, E_I32), op_result(op)->type->element);
        if (!y)
                return false;
        value_replace(op_result(op), y);
        op_erase(op);
        return true;
}

void layout_whole(struct layout *l, struct region *region)
{
        if (!target_engine(l->context->target)->float_schedules)
                return;                 /* Floats would be no faster. */
        for (struct op *op = region->first, *next; op; op = next) {
                next = op->next;
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++)
                        layout_whole(l, op->regions[i]);
                if ((op->code == OP_convolve || op->code == OP_dot) && is_whole(l, op) &&
                    !layout_bytes(l, op))
                        multiply_floats(l, op);
        }
}
