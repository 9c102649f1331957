/* SPDX-License-Identifier: MIT */
/* The interpreter's compiler compiles subscripts. They are mostly affine in the loop variables;
 * each is summed from the outermost loop's terms inward, so that the parts that do not change in a
 * loop are computed before it, and shared. */
#include "ir/interp/interp_compile.h"

static bool add_term(struct compiler *c, struct form *form, struct cell value, int64_t coefficient)
{
        for (int t = 0; t < form->count; t++)
                if (form->terms[t].value.slot == value.slot) {
                        form->terms[t].coefficient =
                                (int64_t)((uint64_t)form->terms[t].coefficient +
                                          (uint64_t)coefficient);
                        return true;
                }
        if (form->count == TERMS_MAX) {
                for (int t = 0; t < form->count; t++)
                        /* The variable is of a nest, so no slot holds it. */
                        if (form->terms[t].value.level > c->chunk->level)
                                return false;
                struct cell sum = form_value(c, form, -1);
                *form = (struct form){ .count = 1, .terms = { { sum, 1 } } };
        }
        form->terms[form->count++] = (struct term){ value, coefficient };
        return true;
}

static bool add_form(struct compiler *c, struct form *form, const struct form *from, uint64_t scale)
{
        form->constant = (int64_t)((uint64_t)form->constant + scale * (uint64_t)from->constant);
        for (int t = 0; t < from->count; t++)
                if (!add_term(c, form, from->terms[t].value,
                              (int64_t)(scale * (uint64_t)from->terms[t].coefficient)))
                        return false;
        return true;
}

static bool add_expr(struct compiler *c, struct form *form, const struct loop_expr *e,
                     uint64_t scale)
{
        int64_t factor;
        switch (e->op) {
        case LOOP_LITERAL:
                form->constant =
                        (int64_t)((uint64_t)form->constant + scale * (uint64_t)e->literal.i);
                return true;
        case LOOP_ADD:
        case LOOP_SUB:
                return add_expr(c, form, e->args[0], scale) &&
                       add_expr(c, form, e->args[1], e->op == LOOP_ADD ? scale : 0 - scale);
        case LOOP_NEG: return add_expr(c, form, e->args[0], 0 - scale);
        case LOOP_MUL:
                if (loop_is_int(e->args[1], &factor))
                        return add_expr(c, form, e->args[0], scale * (uint64_t)factor);
                if (loop_is_int(e->args[0], &factor))
                        return add_expr(c, form, e->args[1], scale * (uint64_t)factor);
                break;
        case LOOP_VARIABLE: {
                int known = bound_of(c, e->variable)->form;
                if (known >= 0) {
                        const struct form copy = c->forms[known];
                        return add_form(c, form, &copy, scale);
                }
                break;
        }
        default: break;
        }
        return add_term(c, form,
                        e->op == LOOP_MUL ? compile_operation(c, e, -1) : compile_expr(c, e, -1),
                        (int64_t)scale);
}

int new_form(struct compiler *c, const struct form *form)
{
        c->forms = compiler_grow(c->forms, c->form_count, &c->form_room, sizeof *c->forms);
        c->forms[c->form_count] = *form;
        return c->form_count++;
}

bool form_of(struct compiler *c, const struct loop_expr *e, struct form *form)
{
        *form = (struct form){ 0 };
        return add_expr(c, form, e, 1);
}

static struct cell scaled_sum(struct compiler *c, const struct cell *sum, const struct term *term,
                              int into)
{
        const struct cell *v = &term->value;
        const struct instruction add = { .code = I_ADD_I64 }, subtract = { .code = I_SUB_I64 },
                                 multiply = { .code = I_MUL_I64 };
        if (sum && term->coefficient == 1)
                return compute(c, add, 0, into, sum, v, NULL);
        if (sum && term->coefficient == -1)
                return compute(c, subtract, 0, into, sum, v, NULL);
        if (sum && v->lanes == 1 && term->coefficient >= INT32_MIN &&
            term->coefficient <= INT32_MAX)
                return compute(c,
                               (struct instruction){ .code = I_INDEX,
                                                     .e = (int32_t)term->coefficient },
                               1, into, sum, v, NULL);
        struct cell factor = constant_int(c, term->coefficient);
        struct cell product = compute(c, multiply, 0, sum ? -1 : into, v, &factor, NULL);
        return sum ? compute(c, add, 0, into, sum, &product, NULL) : product;
}

/* Sums the scalar terms from the outermost loop's inward, so that each loop adds only its own. */
static struct cell scalar_value(struct compiler *c, const struct form *form, int into)
{
        struct form f = { .constant = form->constant };
        for (int t = 0; t < form->count; t++) {
                if (!form->terms[t].coefficient || form->terms[t].value.lanes > 1)
                        continue;
                int at = f.count++;
                for (; at > 0 && f.terms[at - 1].value.level > form->terms[t].value.level; at--)
                        f.terms[at] = f.terms[at - 1];
                f.terms[at] = form->terms[t];
        }
        int t = 1;
        struct cell sum;
        if (f.constant || !f.count) {
                sum = constant_int(c, f.constant);
                t = 0;
        } else if (f.terms[0].coefficient == 1)
                sum = f.terms[0].value;
        else
                sum = scaled_sum(c, NULL, &f.terms[0], f.count == 1 ? into : -1);
        for (; t < f.count; t++)
                sum = scaled_sum(c, &sum, &f.terms[t], t == f.count - 1 ? into : -1);
        if (into < 0)
                return sum;
        emit_move(c, into, sum, 1);
        return value_here(c, into, 1);
}

/* Returns the coefficient of the counter of the strip. */
static int64_t strip_coefficient(const struct compiler *c, const struct form *form)
{
        for (int t = 0; c->strip && t < form->count; t++)
                if (form->terms[t].value.slot == c->strip_counter.slot)
                        return form->terms[t].coefficient;
        return 0;
}

static bool has_vectors(const struct form *form)
{
        for (int t = 0; t < form->count; t++)
                if (form->terms[t].value.lanes > 1 && form->terms[t].coefficient)
                        return true;
        return false;
}

struct cell form_value(struct compiler *c, const struct form *form, int into)
{
        uint64_t stride = (uint64_t)strip_coefficient(c, form) * (uint64_t)c->strip_step;
        if (!stride && !has_vectors(form))
                return scalar_value(c, form, into);
        struct cell sum = scalar_value(c, form, -1);
        if (stride) {
                struct cell step = constant_int(c, (int64_t)stride);
                sum = compute(c, (struct instruction){ .code = V_RAMP }, c->strip, -1, &sum, &step,
                              NULL);
        }
        for (int t = 0; t < form->count; t++)
                if (form->terms[t].value.lanes > 1 && form->terms[t].coefficient)
                        sum = scaled_sum(c, &sum, &form->terms[t], -1);
        return sum;
}

/* Returns the mask of a load or store of that many lanes: its own, and that of the select around
 * it. Slot -1: there is none. */
static struct cell address_mask(struct compiler *c, const struct loop_expr *own, int lanes)
{
        struct cell mask = c->mask, mine;
        if (mask.slot >= 0 && mask.lanes != lanes) { /* This code asks whether any lane needs it. */
                struct cell copy = value_here(c, new_slots(c, mask.lanes), mask.lanes),
                            any = value_here(c, new_slots(c, 1), 1);
                emit_move(c, copy.slot, mask, mask.lanes);
                emit(c, (struct instruction){ .code = H_MAX_U64,
                                              .lanes = (uint16_t)mask.lanes,
                                              .a = any.slot,
                                              .b = copy.slot });
                mask = lanes > 1 ? splat(c, any, lanes, -1) : any;
        }
        if (!own)
                return mask;
        mine = compile_expr(c, own, -1);
        if (mask.slot < 0)
                return mine;
        return compute(c, (struct instruction){ .code = I_AND_I64 }, 0, -1, &mine, &mask, NULL);
}

/* Computes b + c * e: all but the innermost loop's part of the subscript is computed where it
 * changes. */
static void scalar_address(struct compiler *c, struct form *form, struct instruction *i)
{
        int inner = -1;
        for (int t = 0; t < form->count; t++) {
                int64_t k = form->terms[t].coefficient;
                if (form->terms[t].value.level == c->chunk->level && k >= INT32_MIN &&
                    k <= INT32_MAX && (inner < 0 || k != 1))
                        inner = t;
        }
        if (inner >= 0) {
                i->c = form->terms[inner].value.slot;
                i->e = (int32_t)form->terms[inner].coefficient;
                form->terms[inner].coefficient = 0;
        }
        i->b = scalar_value(c, form, -1).slot;
        if (inner < 0)
                i->c = i->b;
}

int compile_address(struct compiler *c, const struct loop_buffer *buffer,
                    const struct loop_expr *index, int lanes, const struct loop_expr *mask,
                    struct instruction *i)
{
        struct form form;
        *i = (struct instruction){ .d = descriptor_of(c, buffer) };
        bool is_form = !c->options->plain && index->type.lanes == 1 && form_of(c, index, &form),
             each = index->type.lanes > 1;
        uint64_t stride =
                is_form ? (uint64_t)strip_coefficient(c, &form) * (uint64_t)c->strip_step : 0;
        if (is_form && (stride || has_vectors(&form))) {
                each = stride != 1 || has_vectors(&form);
                lanes = c->strip;
        }
        struct cell lanes_on = address_mask(c, mask, lanes);
        if (lanes == 1 && lanes_on.slot < 0 && is_form) {
                scalar_address(c, &form, i);
                return 0;
        }
        i->b = !is_form ? compile_expr(c, index, -1).slot
               : each   ? form_value(c, &form, -1).slot
                        : scalar_value(c, &form, -1).slot;
        if (lanes == 1 && lanes_on.slot < 0) {
                i->c = i->b;
                return 0;
        }
        i->lanes = (uint16_t)lanes;
        i->c = lanes_on.slot;
        i->e = each ? GATHER : 0;
        return VECTOR_CODE + (each || lanes_on.slot >= 0 ? 0 : RUN_CODE);
}

int descriptor_of(struct compiler *c, const struct loop_buffer *buffer)
{
        return buffer->space == SPACE_PARAMETER ? c->parameters + buffer->number : buffer->number;
}
