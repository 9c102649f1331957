/* SPDX-License-Identifier: MIT */
/* Where the target has vectors, operations in f16 or bf16 compute in f32.
 *
 *   %1 = convolve(%0, @w) : f16                  %1 = convolve(cast(%0) to=f32, cast(@w) to=f32) : f32
 *   %2 = max(%1, 0.0) : f16             ->       %2 = max(%1, 0.0) : f32
 *   yield(%2)                                    yield(cast(%2) to=f16)
 *
 * Such an operation means f32, rounded once behind it; roundings between two operations are left
 * out, as nothing is multiplied faster for them than f32 is (where something is, `precision` rounds
 * again). Weights stay in 16 bits, and are widened where they are read. */
#include "passes/quantize/precision.h"

struct widening {
        struct module *m;
        struct pass_context *context;
        struct arena *arena;
        struct value **widened;         /* The scratch of these values is the same value in f32. */
        int count;
};

static bool is_narrow(const struct value *v)
{
        return v->type->kind == TYPE_TENSOR &&
               (v->type->element == E_F16 || v->type->element == E_BF16);
}

/* Returns the value that v was before it was rounded; NULL: it was not rounded. */
static struct value *before_rounding(const struct value *v)
{
        return is_narrow(v) && op_is(v, OP_cast) && op_operand(v->op, 0)->type->element == E_F32
                       ? op_operand(v->op, 0)
                       : NULL;
}

static bool is_computed(const struct op *op)
{
        bool bits = op->code == OP_cast || op->code == OP_bitcast;
        return op->code == OP_convolve || op->code == OP_dot || op->code == OP_reduce ||
               op->code == OP_reduce_window ||
               (op_info[op->code].traits & TRAIT_ELEMENTWISE && !bits);
}

/* Does op move what was rounded, or a constant that others spread? */
static bool is_moved(const struct op *op)
{
        switch (op->code) {
        case OP_reshape:
        case OP_transpose:
        case OP_broadcast:
        case OP_slice:
        case OP_pad:
        case OP_concat: break;
        default: return false;
        }
        for (int i = 0; i < op->operand_count; i++)
                if (before_rounding(op_operand(op, i)) ||
                    (op->code == OP_broadcast && value_is_constant(op_operand(op, i))))
                        return true;
        return false;
}

static struct value *in_f32(struct widening *w, struct builder *b, struct value *v, bool weights)
{
        if (!is_narrow(v))
                return v;
        if (v->scratch)
                return v->scratch;
        struct value *wide = before_rounding(v);
        if (!wide && value_is_constant(v) && v->constant->kind == CONSTANT_SPLAT)
                wide = constant_number(w->m, type_with_element(w->m, v->type, E_F32),
                                       constant_element(v->constant, 0).f);
        else if (!wide && value_is_constant(v) && !weights)
                wide = constant_cast(w->m, v->constant, E_F32);
        if (wide) {
                v->scratch = wide;
                ARENA_GROW(w->arena, w->widened, w->count);
                w->widened[w->count++] = v;
        }
        return wide ? wide : build_cast(b, v, E_F32);
}

static bool widen(struct widening *w, struct op *op)
{
        struct value *y = op_result(op),
                     **operands =
                             arena_array(w->arena, (size_t)op->operand_count, sizeof *operands);
        struct builder b = builder_before(op, w->context->diag);
        for (int i = 0; i < op->operand_count; i++) {
                struct value *v = op_operand(op, i);
                bool weights = op_info[op->code].traits & TRAIT_CONTRACTION && i == 1 && v &&
                               type_most_elements(w->m, v->type) >=
                                       w->context->limits.weight_elements;
                operands[i] = v ? in_f32(w, &b, v, weights) : NULL;
                if (v && !operands[i])
                        return false;
        }
        struct value *wide = value_build(&b, op->code, operands, op->operand_count, op->attrs,
                                         type_with_element(w->m, y->type, E_F32));
        struct value *rounded = wide ? build_cast(&b, wide, y->type->element) : NULL;
        if (!rounded)
                return false;
        value_replace(y, rounded);
        op_erase(op);
        return true;
}

int precision_widen(struct function *f, struct pass_context *context)
{
        struct widening w = { .m = f->module, .context = context, .arena = arena_new() };
        int count = 0;
        bool failed = false, computes = false;
        for (struct op *op = region_walk(&f->body, NULL); op && !computes;
             op = region_walk(&f->body, op))
                computes = op->result_count == 1 && is_narrow(op_result(op)) &&
                           (op->code == OP_convolve || op->code == OP_dot);
        for (struct op *op = computes ? region_walk(&f->body, NULL) : NULL, *next; op && !failed;
             op = next) {
                next = region_walk(&f->body, op);
                if (op->result_count != 1 || op->region_count || !is_narrow(op_result(op)) ||
                    !(is_computed(op) || is_moved(op)))
                        continue;
                failed = !widen(&w, op);
                count++;
        }
        for (int i = 0; i < w.count; i++)
                w.widened[i]->scratch = NULL;
        arena_free(w.arena);
        return failed ? -1 : count;
}
