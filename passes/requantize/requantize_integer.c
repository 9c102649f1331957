/* requantize_integer: quantized layers by integers alone, for machines without floats.
 *
 *   sums of products        a whole multiplier and a shift, the same byte where there is one for every
 *                           sum (requantize); else the one for which fewest sums become another byte
 *   sums of bytes           average pools, means: of integers, exact, then the same
 *   of one tensor           a table of 256, the same bytes
 *   of two                  a whole factor for each; halves may go to the other side
 *   of sums and bytes       the same: residual sums behind a layer
 *   softmax of bytes        a table of exponentials, and a division
 *
 * It approximates: a byte may be off by one where the graph's own floats decide beside a half, or where
 * a sum of floats is no exact one. What stays in floats is named in a warning. */
#include <math.h>
#include <string.h>

#include "passes/requantize/requantize.h"
#include "passes/simplify/ranges.h"

/* ---- sums of decoded bytes ---- */

/* sum(cast(x: i32) * c) = cast(sum(x)) * c, of windows or whole dimensions; 1: done, 0: it stays */
static int sum_whole(struct op *op, struct pass_context *context)
{
        bool window = op->code == OP_reduce_window;
        if ((!window && op->code != OP_reduce) || op_int(op, "kind") != REDUCE_sum ||
            op_result(op)->type->element != E_F32 || !type_is_static(op_operand(op, 0)->type))
                return 0;
        struct value *v = op_operand(op, 0), *factor = NULL;
        if (op_is(v, OP_mul) && value_is_splat(op_operand(v->op, 1), NULL)) {
                factor = op_operand(v->op, 1);
                v = op_operand(v->op, 0);
        }
        struct value *x = op_is(v, OP_cast) ? op_operand(v->op, 0) : NULL;
        if (!x || !element_is_integer(x->type->element) || element_info[x->type->element].bytes > 4 ||
            whole_largest(whole_range_of(x)) * (double)type_elements(x->type) > INT32_MAX)
                return 0;
        struct builder b = builder_before(op, context->diag);
        struct attr attrs[ATTR_MAX];
        struct value *operands[] = { build_cast(&b, x, E_I32), window ? NULL : op_operand(op, 1) };
        memcpy(attrs, op->attrs, sizeof *attrs * (size_t)op_info[op->code].attr_count);
        attr_set(attrs, op->code, "accumulator", E_COMPUTE);
        struct value *sum = value_build(&b, op->code, operands, window ? 1 : 2, attrs,
                                        type_with_element(b.m, op_result(op)->type, E_I32));
        sum = build_cast(&b, sum, E_F32);
        if (factor && sum)
                sum = build_binary(&b, OP_mul, sum,
                                   constant_splat(b.m, sum->type, factor->constant->data));
        if (!sum)
                return -1;
        value_replace(op_result(op), sum);
        op_erase(op);
        return 1;
}

/* ---- bytes ---- */

static int encode_whole(struct op *op, struct pass_context *context)
{
        if (op->code != OP_cast)
                return 0;
        int done = requantize_sum(op, context, true);
        done = done ? done : requantize_bytes(op, context);
        done = done ? done : requantize_terms(op, context);
        return done ? done : requantize_softmax(op, context);
}

/* ---- what stays ---- */

static bool is_of_floats(const struct op *op)
{
        bool floats = false;
        for (int i = 0; i < op->operand_count; i++)
                floats |= op_operand(op, i) && op_operand(op, i)->type->kind == TYPE_TENSOR &&
                          element_is_float(op_operand(op, i)->type->element);
        for (int i = 0; i < op->result_count; i++)
                floats |= op->results[i].type->kind == TYPE_TENSOR &&
                          element_is_float(op->results[i].type->element);
        return floats && op->code != OP_yield && !(op_info[op->code].traits & TRAIT_FREE);
}

static void name_rest(const struct function *f, struct diag *diag)
{
        enum { NAMED = 8 };
        struct text names = { 0 };
        const char *last = NULL;
        int count = 0;
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                const char *name = op->location ? op->location : op_info[op->code].name;
                if (!is_of_floats(op) || (last && !strcmp(last, name)))
                        continue;
                if (count < NAMED)
                        text_add(&names, "%s%s", count ? ", " : "", name);
                last = name;
                count++;
        }
        if (count)
                diag_warning(diag, "requantize_integer: %d node%s stay%s in floats: %s%s", count,
                             count == 1 ? "" : "s", count == 1 ? "s" : "", names.data,
                             count > NAMED ? ", ..." : "");
        text_free(&names);
}

/* ---- the pass ---- */

static int each_op(struct function *f, struct pass_context *context,
                   int (*rewrite)(struct op *op, struct pass_context *context))
{
        int rewrites = 0;
        for (struct op *op = region_walk(&f->body, NULL), *next; op && rewrites >= 0; op = next) {
                next = region_walk(&f->body, op);
                int done = rewrite(op, context);
                rewrites = done < 0 ? -1 : rewrites + done;
        }
        return rewrites;
}

int pass_requantize_integer(struct function *f, struct pass_context *context)
{
        int sums = each_op(f, context, sum_whole),
            bytes = sums < 0 ? -1 : each_op(f, context, encode_whole);
        if (bytes < 0 || pass_dce(f, context) < 0)
                return -1;
        name_rest(f, context->diag);
        return sums + bytes;
}
