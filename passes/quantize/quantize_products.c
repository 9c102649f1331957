/* SPDX-License-Identifier: MIT */
/* quantize_products: products and convolutions by constant weights keep their weights in few bits,
 * as --quantize-weights says, and with --quantize=dynamic multiply bytes, in steps found at run
 * time. Tables that rows are gathered from are kept in few bits, too.
 *
 *   %1 = dot(%0, @w)           ->       %1 = dot(%0, i8(@w) * scales)        ; scales of each output, or block
 *   %2 = gather(@t, %i)        ->       %2 = gather(i8(@t), %i) * gather(scales, %i)
 *
 * It builds the operations that the importer builds for DequantizeLinear, MatMulInteger and
 * MatMulNBits, so that the rules of simplify and all kernels treat them like those of quantized
 * models. A product whose weights are in few bits already is none of floats, and stays as it is.
 * Moments of all products are computed before the first one changes; then products are written one
 * after the other, each in memory of its own. */
#include "passes/quantize/quantize_products.h"

#include "passes/quantize/layer_weights.h"

/* ---- which products ---- */

static int64_t extent_along(const struct type *t, const int64_t *dims, int count)
{
        int64_t extent = 1;
        for (int i = 0; i < count; i++)
                extent *= type_extent(t, dims[i]);
        return extent;
}

/* Returns why weights w stay as they are, whatever reads them; NULL: there is no reason. */
static const char *obstacle_of_weights(const struct value *w, const struct products *q)
{
        if (w->constant->kind == CONSTANT_SPLAT)
                return "its weights are all the same";
        if (type_elements(w->type) < q->context->limits.weight_elements)
                return "it has few weights (--limit weight_elements)";
        return constant_is_finite(w->constant) ? NULL : "its weights are not all finite";
}

/* Returns why a dot or a convolution stays as it is; finds its outputs, too. */
static const char *obstacle_of_product(struct product *p, const struct products *q)
{
        const struct op *op = p->op;
        const struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        if (w->constant->kind == CONSTANT_SPLAT)
                return "its weights are all the same";
        if (x->type->element != E_F32 || w->type->element != E_F32)
                return "what it multiplies is not of f32";
        if (type_is_empty(x->type))
                return "it multiplies nothing";
        if (op->code == OP_convolve) {
                p->outputs = type_extent(w->type, 0);
        } else {
                int batch, inner;
                const int64_t *contracted = op_ints(op, "contract_b", &inner);
                op_ints(op, "batch_b", &batch);
                if (batch || !inner || inner == w->type->rank)
                        return "it is no product of matrices";
                p->outputs = type_elements(w->type) / extent_along(w->type, contracted, inner);
        }
        const char *why = obstacle_of_weights(w, q);
        if (why)
                return why;
        p->inner = type_elements(w->type) / p->outputs;
        if (op_is_depthwise(op))
                return "it is depthwise, and has few weights";
        if (q->policy->dynamic && !block_weights_sum_fits(p->inner))
                return "a sum of so many products may not fit into i32";
        const struct rounded scheme = product_scheme(q->policy, p);
        if (q->policy->dynamic && op->code == OP_convolve &&
            (scheme.bits != 8 || scheme.zeros || scheme.block < p->inner))
                return "with --quantize=dynamic weights of convolutions are s8, a step for each "
                       "output (--quantize-weights=s8)";
        return NULL;
}

static const char *obstacle_of_table(struct product *p, const struct products *q)
{
        const struct value *table = op_operand(p->op, 0);
        const char *why = obstacle_of_weights(table, q);
        if (why)
                return why;
        if (op_int(p->op, "axis") != 0 || table->type->rank < 2)
                return "it gathers other than rows";
        p->outputs = type_extent(table->type, 0);
        p->inner = type_elements(table->type) / p->outputs;
        return NULL;
}

static bool is_product(const struct op *op)
{
        return (op->code == OP_dot || op->code == OP_convolve) &&
               value_is_constant(op_operand(op, 1)) &&
               element_is_float(op_result(op)->type->element);
}

static bool is_table(const struct op *op)
{
        return op->code == OP_gather && value_is_constant(op_operand(op, 0)) &&
               op_result(op)->type->element == E_F32;
}

static void find_products(struct products *q)
{
        int count = 0;
        for (const struct op *op = region_walk(&q->f->body, NULL); op;
             op = region_walk(&q->f->body, op))
                count += is_product(op) || is_table(op);
        q->items = arena_array(q->arena, (size_t)count + 1, sizeof *q->items);
        for (struct op *op = region_walk(&q->f->body, NULL); op;
             op = region_walk(&q->f->body, op)) {
                if (!is_product(op) && !is_table(op))
                        continue;
                struct product *p = &q->items[q->count++];
                *p = (struct product){ .op = op };
                p->obstacle = is_table(op) ? obstacle_of_table(p, q) : obstacle_of_product(p, q);
                for (int i = 0; i + 1 < q->count && is_table(op) && !p->obstacle && !p->same; i++)
                        if (is_table(q->items[i].op) &&
                            op_operand(q->items[i].op, 0) == op_operand(op, 0))
                                p->same = &q->items[i];
        }
}

/* ---- --keep-float ---- */

static bool keep_named(struct products *q)
{
        int count;
        const struct calibrated *known = calibrated_values(q->arena, q->f, &count);
        const bool *keep = keep_float_find(q->arena, q->policy, known, count, q->context->diag);
        if (!keep)
                return false;
        for (int i = 0; i < count; i++)
                for (int k = 0; k < q->count; k++) {
                        struct product *p = &q->items[k];
                        bool makes = known[i].value == op_result(p->op),
                             reads = known[i].value->kind == VALUE_ARGUMENT &&
                                     known[i].value == op_operand(p->op, 0);
                        if (makes)
                                p->name = known[i].name;
                        if (keep[i] && (makes || reads) && !p->obstacle)
                                p->obstacle = "--keep-float says so";
                }
        return true;
}

static void keep_ends(struct products *q)
{
        struct product *first = NULL, *last = NULL;
        for (int i = 0; i < q->count; i++) {
                if (q->items[i].obstacle || is_table(q->items[i].op))
                        continue;
                first = first ? first : &q->items[i];
                last = &q->items[i];
        }
        if (first && q->policy->first)
                first->obstacle = "it is the first one, which is kept so";
        if (last && q->policy->last)
                last->obstacle = "it is the last one, which is kept so";
}

/* ---- the pass ---- */

static int report(const struct products *q)
{
        int rounded = 0;
        for (int i = 0; i < q->count; i++) {
                const struct product *p = &q->items[i];
                rounded += !p->obstacle;
                if (!p->obstacle)
                        continue;
                diag_note(q->context->diag, "%s (%s) stays in floats: %s",
                          p->op->location ? p->op->location : "a product",
                          op_info[p->op->code].name, p->obstacle);
                if (q->policy->kept)
                        q->policy->kept(q->policy->runner, p->op, p->obstacle);
        }
        if (q->context->notes)
                text_add(q->context->notes, "%d of %d products", rounded, q->count);
        return rounded;
}

/* Begins the moments of products, where steps need them and there are samples. */
static bool look_at_samples(struct products *q, struct moments_run **run)
{
        const bool *steps = q->policy->steps;
        struct op **ops = arena_array(q->arena, (size_t)q->count + 1, sizeof *ops);
        int count = 0;
        for (int i = 0; i < q->count; i++) {
                struct product *p = &q->items[i];
                bool seen = !p->obstacle && p->name && moments_possible(p->op) &&
                            (p->op->code == OP_dot ||
                             (p->op->code == OP_convolve && op_int(p->op, "groups") == 1 &&
                              steps[STEP_gptq]));
                p->moments = seen ? count : -1;
                if (p->moments >= 0)
                        ops[count++] = p->op;
        }
        if (!q->context->sampler || !count || (!steps[STEP_gptq] && !steps[STEP_awq]))
                return true;
        *run = moments_begin(q->context, ops, count, steps[STEP_gptq]);
        return *run;
}

static bool quantize_one(const struct products *q, struct product *p, const struct moments *m)
{
        if (p->same && p->same->bytes)
                return table_write(q, p, NULL);
        struct products here = *q;
        here.arena = arena_new();
        const enum opcode code = p->op->code;
        float *weights = product_weights(here.arena, p),
              *factors = m && q->policy->steps[STEP_awq] && code == OP_dot
                                 ? product_scale_inputs(&here, p, weights, m)
                                 : NULL;
        struct rounded *r = product_round(&here, p, weights);
        if (m && m->products && q->policy->steps[STEP_gptq])
                product_round_columns(&here, p, weights, m, factors, r);
        bool fine = code == OP_dot        ? product_write(&here, p, r, factors)
                    : code == OP_convolve ? convolution_write(&here, p, r)
                                          : table_write(&here, p, r);
        arena_free(here.arena);
        return fine;
}

static bool quantize(struct products *q)
{
        find_products(q);
        if (!keep_named(q))
                return false;
        keep_ends(q);
        struct moments_run *run = NULL;
        bool fine = look_at_samples(q, &run);
        for (int i = 0; i < q->count && fine; i++) {
                struct product *p = &q->items[i];
                const struct moments *m =
                        run && p->moments >= 0 ? moments_of(run, p->moments) : NULL;
                fine = p->obstacle || ((m || !run || p->moments < 0) && quantize_one(q, p, m));
        }
        moments_end(run);
        return fine;
}

int pass_quantize_products(struct function *f, struct pass_context *context)
{
        struct products q = {
                .f = f, .m = f->module, .context = context, .policy = context->quantize
        };
        if (!q.policy || q.policy->layers ||
            (q.policy->weights && weights_are_floats(q.policy->weights))) {
                diag_error(context->diag, EXIT_USAGE,
                           "pass quantize_products wants --quantize-weights=TYPE of integers, or "
                           "--quantize=dynamic");
                return -1;
        }
        q.arena = arena_new();
        int rounded = -1;
        if (quantize(&q))
                rounded = report(&q);
        arena_free(q.arena);
        if (rounded >= 0)
                pass_dce(f, context);
        return rounded;
}
