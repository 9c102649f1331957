/* SPDX-License-Identifier: MIT */
/* precision: contractions read bf16 where that is faster, and --precision=bf16 allows it; f16 and
 * tf32 likewise.
 *
 *   %1 = max(%0, 0.0)                            %1 = cast(max(%0, 0.0)) to=bf16
 *   %2 = convolve(%1, @w)               ->       %2 = convolve(%1, @w rounded) accumulator=f32
 *   %3 = add(%1, ...)                            %3 = add(cast(%1) to=f32, ...)
 *
 * Both operands are rounded to the nearest bf16 (8 bits; f16 and tf32: 11), halves to even;
 * products are exact, and added up in f32. So the IR says what is computed. precision_choose.c
 * chooses the contractions. On targets with vectors but no multiply for such elements weights alone
 * are rounded, where reading them takes most of the time: dot(%1, cast(@w rounded) to=f32).
 *
 * A value that a contraction reads is rounded where it is made, also in front of moves, and for all
 * its readers, so that it is stored once, in half the memory. Contractions that stay in f32, and
 * the function's results, read it as it was. */
#include <string.h>

#include "passes/quantize/precision.h"
#include "passes/quantize/weights.h"

enum { MOVES_MAX = 8, SEQUENCE_MAX = 8 };

struct rounding {
        struct module *m;
        struct pass_context *context;
        struct arena *arena;
        struct value **rounded;         /* The scratch of these values is their rounded value. */
        int count;
        bool failed;
};

/* ---- values ---- */

static struct builder behind(struct rounding *r, const struct value *v)
{
        struct builder b = { .m = r->m, .diag = r->context->diag };
        b.region = v->kind == VALUE_RESULT ? v->op->region : v->region;
        b.before = v->kind == VALUE_RESULT ? v->op->next : b.region->first;
        b.location = v->kind == VALUE_RESULT ? v->op->location : NULL;
        return b;
}

/* Does op commute with rounding, because it only moves elements or takes the largest of some? */
static bool is_move(const struct op *op)
{
        switch (op->code) {
        case OP_reshape: case OP_transpose: case OP_concat: return true;
        case OP_reduce_window:
                return op_int(op, "kind") == REDUCE_max && op_int(op, "accumulator") == E_COMPUTE;
        case OP_slice:
                return value_is_constant(op_operand(op, 1)) && value_is_constant(op_operand(op, 2));
        default: return false;
        }
}

static struct value *round_value(struct rounding *r, struct value *v, int depth);

static struct value *rounded_move(struct rounding *r, struct value *v, int depth)
{
        const struct op *op = v->op;
        struct value **operands =
                arena_array(r->arena, (size_t)op->operand_count, sizeof *operands);
        int values = op->code == OP_concat ? op->operand_count : 1;
        for (int i = 0; i < op->operand_count; i++) {
                operands[i] = i < values ? round_value(r, op_operand(op, i), depth + 1)
                                         : op_operand(op, i);
                if (!operands[i])
                        return NULL;
        }
        struct builder b = behind(r, v);
        const struct type *type = op->code == OP_concat || op->code == OP_transpose
                                          ? NULL
                                          : type_with_element(r->m, v->type, r->context->precision);
        return value_build(&b, op->code, operands, op->operand_count, op->attrs, type);
}

/* Does the reader take v as it is? It does if it is a cast of ours, a contraction in f32, or takes
 * v out of the region. */
static bool keeps_f32(const struct op *user)
{
        return user->code == OP_yield || op_info[user->code].traits & TRAIT_CONTRACTION ||
               user->region_count;
}

/* Is v made by a kernel of rows (a norm), which reads more than it writes? Others may read v as it
 * was, so that it is not rounded for them. Rounding what goes on beside all layers, as residual
 * sums do, is most of what networks of norms lose. */
static bool is_of_rows(const struct value *v, int depth)
{
        if (v->kind != VALUE_RESULT || depth == SEQUENCE_MAX)
                return false;
        if (v->op->code == OP_reduce)
                return true;
        bool goes_on = op_info[v->op->code].traits & TRAIT_ELEMENTWISE ||
                       v->op->code == OP_broadcast || v->op->code == OP_reshape;
        for (int i = 0; goes_on && i < v->op->operand_count; i++)
                if (is_of_rows(op_operand(v->op, i), depth + 1))
                        return true;
        return false;
}

static void replace_readers(struct rounding *r, struct value *v, struct value *rounded)
{
        struct value *wide = NULL;
        for (struct use *u = v->uses, *next; u && !r->failed; u = next) {
                next = u->next;
                if (keeps_f32(u->user) || u->user == rounded->op)
                        continue;
                struct builder b = behind(r, rounded);
                wide = wide ? wide : build_cast(&b, rounded, E_F32);
                r->failed |= !wide;
                if (wide)
                        op_set_operand(u->user, u->index, wide);
        }
}

/* Were these numbers of that type in the model? */
static bool was_rounded(const struct value *v, enum element e)
{
        return op_is(v, OP_cast) && op_operand(v->op, 0)->type->element == e;
}

static struct value *round_value(struct rounding *r, struct value *v, int depth)
{
        if (v->scratch)
                return v->scratch;
        struct value *rounded;
        if (was_rounded(v, r->context->precision)) {
                rounded = op_operand(v->op, 0);
        } else if (v->kind == VALUE_CONSTANT && v->constant->kind != CONSTANT_SPLAT) {
                rounded = constant_cast(r->m, v->constant, r->context->precision);
        } else if (v->kind == VALUE_RESULT && depth < MOVES_MAX && is_move(v->op)) {
                rounded = rounded_move(r, v, depth);
        } else {
                struct builder b = behind(r, v);
                rounded = build_cast(&b, v, r->context->precision);
        }
        r->failed |= !rounded;
        if (rounded) {
                v->scratch = rounded;
                ARENA_GROW(r->arena, r->rounded, r->count);
                r->rounded[r->count++] = v;
        }
        return rounded;
}

/* ---- the pass ---- */

/* Makes op read its weights in half the memory, and convert them to f32; layout stores them so. */
static bool store_narrow(struct rounding *r, struct op *op)
{
        struct value *w = round_value(r, op_operand(op, 1), 0);
        return w && weights_widen(op, &(struct stored_weights){ .numbers = w }, r->context);
}

static bool round_operands(struct rounding *r, struct op *op)
{
        struct value *operands[] = { round_value(r, op_operand(op, 0), 0),
                                     round_value(r, op_operand(op, 1), 0) };
        struct builder b = { .m = r->m,
                             .diag = r->context->diag,
                             .region = op->region,
                             .before = op,
                             .location = op->location };
        struct attr attrs[ATTR_MAX];
        memcpy(attrs, op->attrs, sizeof *attrs * (size_t)op_info[op->code].attr_count);
        attr_set(attrs, op->code, "accumulator", E_F32);
        struct value *y = operands[0] && operands[1] ? value_build(&b, op->code, operands, 2, attrs,
                                                                   op_result(op)->type)
                                                     : NULL;
        if (!y)
                return false;
        value_replace(op_result(op), y);
        op_erase(op);
        return true;
}

int pass_precision(struct function *f, struct pass_context *context)
{
        const enum element e = context->precision;
        if (context->exact || !target_engine(context->target)->float_schedules)
                return 0;
        const int widened = precision_widen(f, context);
        if (widened < 0 || !element_is_small(e))
                return widened;
        const struct target *t = context->target;
        bool multiplies = multiply_for(t, e, e, true) || multiply_for(t, e, e, false);
        int contractions = precision_choose(f, context);
        if (!contractions)
                return widened;
        struct rounding r = { .m = f->module, .context = context, .arena = arena_new() };
        for (struct op *op = region_walk(&f->body, NULL), *next; op && !r.failed; op = next) {
                next = region_walk(&f->body, op);
                if (op->number)
                        r.failed |=
                                !(multiplies ? round_operands : store_narrow)(&r, op);
        }
        for (int i = 0; i < r.count; i++) {
                struct value *v = r.rounded[i], *rounded = v->scratch;
                v->scratch = NULL;
                if (!r.failed && v->kind == VALUE_RESULT && !was_rounded(v, e) && !is_of_rows(v, 0))
                        replace_readers(&r, v, rounded);
        }
        arena_free(r.arena);
        return r.failed ? -1 : widened + contractions;
}
