/* SPDX-License-Identifier: MIT */
/* quantize_products: products by constant weights keep these in few bits, as --quantize-weights says,
 * and with --quantize=dynamic multiply bytes, in steps found at run time.
 *
 *   %1 = dot(%0, @w)           ->       %1 = dot(%0, i8(@w) * scales)        ; scales of each output, or block
 *
 * It writes what the importer makes of DequantizeLinear, MatMulInteger and MatMulNBits, so that the rules
 * of simplify and all kernels do with it what they do with models that come so. What is in few bits
 * already has no products of floats, and stays as it is. Moments of all products are looked at before
 * the first one changes; then one after the other is done, in memory of its own. */
#include "passes/quantize/quantize_products.h"

#include "passes/quantize/layer_weights.h"

/* ---- which products ---- */

static int64_t extent_along(const struct type *t, const int64_t *dims, int count)
{
        int64_t extent = 1;
        for (int i = 0; i < count; i++)
                extent *= t->dims[dims[i]];
        return extent;
}

/* why a dot stays as it is; NULL: it does not */
static const char *obstacle_of(struct product *p, const struct products *q)
{
        const struct value *x = op_operand(p->op, 0), *w = op_operand(p->op, 1);
        int batch, inner;
        const int64_t *contracted = op_ints(p->op, "contract_b", &inner);
        op_ints(p->op, "batch_b", &batch);
        if (w->constant->kind != CONSTANT_DENSE)
                return "its weights are all the same";
        if (x->type->element != E_F32 || w->type->element != E_F32 || !type_is_static(x->type))
                return "what it multiplies is not of f32, or of no known shape";
        if (batch || !inner || inner == w->type->rank || !type_elements(x->type))
                return "it is no product of matrices";
        if (type_elements(w->type) < q->context->limits.weight_elements)
                return "it has few weights (--limit weight_elements)";
        if (!constant_is_finite(w->constant))
                return "its weights are not all finite";
        p->inner = extent_along(w->type, contracted, inner);
        p->outputs = type_elements(w->type) / p->inner;
        if (q->policy->dynamic && !block_weights_sum_fits(p->inner))
                return "a sum of so many products may not fit into i32";
        return NULL;
}

static void find_products(struct products *q)
{
        int count = 0;
        for (const struct op *op = q->f->body.first; op; op = op->next)
                count += op->code == OP_dot;
        q->items = arena_array(q->arena, (size_t)count + 1, sizeof *q->items);
        for (struct op *op = q->f->body.first; op; op = op->next)
                if (op->code == OP_dot && value_is_constant(op_operand(op, 1)) &&
                    element_is_float(op_result(op)->type->element)) {
                        struct product *p = &q->items[q->count++];
                        *p = (struct product){ .op = op };
                        p->obstacle = obstacle_of(p, q);
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
                if (q->items[i].obstacle)
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
                diag_note(q->context->diag, "%s (dot) stays in floats: %s",
                          p->op->location ? p->op->location : "a product", p->obstacle);
                if (q->policy->kept)
                        q->policy->kept(q->policy->runner, p->op, p->obstacle);
        }
        if (q->context->notes)
                text_add(q->context->notes, "%d of %d products", rounded, q->count);
        return rounded;
}

/* the moments of products, where steps want them and there are samples */
static bool look_at_samples(struct products *q, struct moments_run **run)
{
        const bool *steps = q->policy->steps;
        struct op **ops = arena_array(q->arena, (size_t)q->count + 1, sizeof *ops);
        int count = 0;
        for (int i = 0; i < q->count; i++) {
                struct product *p = &q->items[i];
                p->moments = !p->obstacle && p->name && moments_possible(p->op) ? count : -1;
                if (p->moments >= 0)
                        ops[count++] = p->op;
        }
        if (!q->context->sampler || !count || (!steps[STEP_gptq] && !steps[STEP_awq]))
                return true;
        *run = moments_begin(q->context, ops, count, steps[STEP_gptq]);
        return *run;
}

static bool quantize_one(const struct products *q, const struct product *p, const struct moments *m)
{
        struct products here = *q;
        here.arena = arena_new();
        float *weights = product_weights(here.arena, p),
              *factors = m && q->policy->steps[STEP_awq] ? product_scale_inputs(&here, p, weights, m) : NULL;
        struct rounded *r = product_round(&here, p, weights);
        if (m && m->products && q->policy->steps[STEP_gptq])
                product_round_columns(&here, p, weights, m, factors, r);
        bool fine = product_write(&here, p, r, factors);
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
                const struct product *p = &q->items[i];
                const struct moments *m = run && p->moments >= 0 ? moments_of(run, p->moments) : NULL;
                fine = p->obstacle || ((m || !run || p->moments < 0) && quantize_one(q, p, m));
        }
        moments_end(run);
        return fine;
}

int pass_quantize_products(struct function *f, struct pass_context *context)
{
        struct products q = { .f = f, .m = f->module, .context = context, .policy = context->quantize };
        if (!q.policy || q.policy->layers || (q.policy->weights && weights_are_floats(q.policy->weights))) {
                diag_error(context->diag, EXIT_USAGE,
                           "pass quantize_products wants --quantize-weights=TYPE of integers, or --quantize=dynamic");
                return -1;
        }
        if (f != f->module->functions)
                return 0;
        q.arena = arena_new();
        int rounded = -1;
        if (quantize(&q))
                rounded = report(&q);
        arena_free(q.arena);
        if (rounded >= 0)
                pass_dce(f, context);
        return rounded;
}
