/* SPDX-License-Identifier: MIT */
/* requantize_integer: quantized layers by integers alone, for machines without floats.
 *
 *   sums of products        a whole multiplier and a shift, with the same byte for every sum where
 *                           there is such a one (requantize); else the multiplier for which fewest
 *                           sums become another byte
 *   sums of bytes           average pools, means: sums of integers, exact, then as above
 *   bytes of one tensor     a table of 256, with the same bytes
 *   bytes of two            a whole factor for each; halves may go to the other side
 *   sums and bytes          the same: residual sums behind a layer
 *   softmax of bytes        a table of exponentials, and a division
 *
 * It approximates: a byte may be off by one where the graph's own floats decide beside a half, or
 * where a sum of floats is not exact. A warning names what stays in floats. */
#include <math.h>
#include <string.h>

#include "passes/requantize/requantize.h"
#include "passes/simplify/ranges.h"

/* ---- bytes ---- */

static int encode_whole(struct op *op, struct pass_context *context)
{
        if (op->code != OP_cast && op->code != OP_rescale)
                return 0;
        /* A rescale of any sum may be a sum's, so first it is asked whether it is one of bytes. */
        int done = op->code == OP_rescale ? requantize_bytes(op, context) : 0;
        done = done ? done : requantize_sum(op, context, true);
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
        int sums = each_op(f, context, requantize_windows),
            bytes = sums < 0 ? -1 : each_op(f, context, encode_whole);
        if (bytes < 0 || pass_dce(f, context) < 0)
                return -1;
        if (context->names_floats)
                name_rest(f, context->diag);
        return sums + bytes;
}
