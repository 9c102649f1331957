/* SPDX-License-Identifier: MIT */
/* store_weights: weights of contractions are kept in floats of fewer bits, and widened where they
 * are read.
 *
 *   %1 = dot(%0, @w)            ->       %1 = dot(%0, cast(@w rounded) to=f32)
 *   %2 = gather(@t, %i)         ->       %2 = cast(gather(@t rounded, %i)) to=f32
 *
 * Floats of 8 bits have a step for each output, its largest weight divided by the largest number of
 * the type:
 *
 *   %1 = dot(%0, @w)            ->       %1 = mul(dot(%0, cast(@w / steps, rounded) to=f32), broadcast(@steps))
 *
 * Weights are rounded to the nearest number, halves to even; subnormal numbers are kept. Weights
 * stay as they are where a finite number would become infinite, where 8 bits would have to hold
 * what is not finite, and in depthwise convolutions, which have few. layout takes the cast into
 * packed kernels, fuse into other ones: a model takes less memory, and a product that waits for its
 * weights takes less time. */
#include "passes/quantize/quantize.h"
#include "passes/quantize/weights.h"

#include <float.h>
#include <math.h>

#include "passes/simplify/simplify.h"

/* ---- floats of 8 bits ---- */

/* Returns the number nearest to x, which is finite; the largest one for what is larger. */
static unsigned char code_of(const struct element_code *f, double x)
{
        double size = fabs(x);
        int exponent = 1 - f->bias;
        if (size > 0 && ilogb(size) > exponent)
                exponent = ilogb(size);
        if (size >= element_code_number(f, f->largest))
                return (unsigned char)(f->largest | (unsigned)(signbit(x) != 0) << 7);
        unsigned units = (unsigned)nearbyint(ldexp(size, f->fraction - exponent)),
                 below = (unsigned)(exponent - 1 + f->bias) << f->fraction;
        return (unsigned char)((units + below) | (unsigned)(signbit(x) != 0) << 7);
}

/* ---- steps ---- */

/* Returns a bit for each dimension of w that has steps of its own: those of the outputs. */
static unsigned kept_by(const struct use *u)
{
        const struct op *op = u->user;
        if (op->code != OP_dot)
                return op->code == OP_convolve || op_int(op, "axis") == 0;
        int count;
        const int64_t *contracted = op_ints(op, "contract_b", &count);
        unsigned kept = (1u << u->value->type->rank) - 1;
        for (int i = 0; i < count; i++)
                kept &= ~(1u << contracted[i]);
        return kept;
}

/* A walk goes over the elements in order; `at` is the number of an element's step. */
struct walk { const struct type *t; int64_t index[RANK_MAX], strides[RANK_MAX], at; };

static struct walk walk_from(const struct type *t, unsigned kept, dim_t *dims, int *rank)
{
        struct walk w = { .t = t };
        int64_t stride = 1;
        *rank = 0;
        for (int d = 0; d < t->rank; d++)
                if (kept >> d & 1)
                        dims[(*rank)++] = t->dims[d];
        for (int d = t->rank - 1; d >= 0; d--)
                if (kept >> d & 1) {
                        w.strides[d] = stride;
                        stride *= type_extent(t, d);
                }
        return w;
}

static void walk_on(struct walk *w)
{
        for (int d = w->t->rank - 1; d >= 0; d--) {
                w->at += w->strides[d];
                if (++w->index[d] < type_extent(w->t, d))
                        return;
                w->index[d] = 0;
                w->at -= w->strides[d] * type_extent(w->t, d);
        }
}

/* Finds what is stored for c. Returns false where 8 bits cannot hold it. */
static bool encode(struct module *m, struct constant *c, enum element e, unsigned kept,
                   struct stored_weights *s)
{
        const struct type *t = c->value.type;
        const struct element_code *f = element_code(e);
        int64_t count = type_elements(t);
        dim_t dims[RANK_MAX];
        int rank;
        const struct walk from = walk_from(t, kept, dims, &rank);
        const struct type *rows = type_tensor(m, E_F32, rank, dims);
        float *steps = constant_room(m, (size_t)type_bytes(rows));
        unsigned char *codes = constant_room(m, (size_t)count);
        for (int64_t i = 0; i < type_elements(rows); i++)
                steps[i] = 0;
        struct walk w = from;
        for (int64_t i = 0; i < count; i++, walk_on(&w)) {
                float size = fabsf(constant_float(c, i));
                if (!isfinite(size))
                        return false;
                steps[w.at] = size > steps[w.at] ? size : steps[w.at];
        }
        for (int64_t i = 0; i < type_elements(rows); i++) {
                double step = steps[i] / element_code_number(f, f->largest);
                steps[i] = step < FLT_MIN ? 1 : (float)step;
        }
        w = from;
        for (int64_t i = 0; i < count; i++, walk_on(&w))
                codes[i] = code_of(f, (double)constant_float(c, i) / (double)steps[w.at]);
        *s = (struct stored_weights){ .numbers = constant_dense(m, type_with_element(m, t, e),
                                                                codes, c->name),
                                      .steps = constant_dense(m, rows, steps, c->name),
                                      .kept = kept };
        return true;
}

/* ---- floats of 16 bits ---- */

static bool round_to(struct module *m, struct constant *c, enum element e, struct stored_weights *s)
{
        *s = (struct stored_weights){ .numbers = constant_cast(m, c, e) };
        return weights_fit(c, e);
}

/* ---- where they are read ---- */

static struct value *rows_of(struct builder *b, struct value *table, const struct op *gather)
{
        struct value *operands[] = { table, op_operand(gather, 1) };
        return gather->code == OP_gather
                       ? value_build(b, OP_gather, operands, 2, gather->attrs, NULL)
                       : table;
}

/* Builds x times its steps. */
static struct value *scaled(struct builder *b, struct value *x, const struct stored_weights *s,
                            const struct op *user)
{
        int64_t dims[RANK_MAX];
        int rank = 0;
        struct value *steps = s->steps;
        if (user->code == OP_gather && steps->type->rank)
                steps = build_gather(b, steps, op_operand(user, 1), 0);
        for (int d = 0; d < RANK_MAX && steps; d++)
                if (user->code == OP_gather || s->kept >> d & 1)
                        dims[rank++] = d;
        steps = steps ? build_broadcast(b, steps, x->type, dims) : NULL;
        return build_binary(b, OP_mul, x, steps);
}

bool weights_widen(struct op *user, const struct stored_weights *s, struct pass_context *context)
{
        struct builder b = builder_before(user, context->diag);
        struct value *w = rows_of(&b, s->numbers, user), *y = NULL;
        w = w ? build_cast(&b, w, E_F32) : NULL;
        w = w && s->steps ? scaled(&b, w, s, user) : w;
        if (!w)
                return false;
        if (user->code == OP_gather)
                y = w;
        else
                op_set_operand(user, 1, w);
        if (user->code != OP_gather && s->steps)         /* The steps stand behind the sums. */
                y = (user->code == OP_dot ? rewrite_dot_scaled : rewrite_convolve_scaled)(&b, user,
                                                                                          context);
        if (y) {
                value_replace(op_result(user), y);
                op_erase(user);
        }
        return true;
}

/* ---- which ---- */

/* Returns what keeps a reader of weights in f32, part of a sentence; NULL: nothing does.
 * op->number: --keep-float names it. */
static const char *obstacle_of(const struct use *u)
{
        const struct op *op = u->user;
        return op->number              ? "--keep-float says so"
               : op_is_depthwise(op)   ? "it is depthwise, and has few weights"
               : op->code == OP_gather ? NULL
               : u->index != 1         ? "its weights are multiplied from the left"
               : op_result(op)->type->element != E_F32 ? "what it makes is not of f32" : NULL;
}

struct storing {
        struct function *f;
        struct pass_context *context;
        const struct quantize_policy *policy;
        struct arena *arena;
        struct constant **weights;
        int count;
};

static bool keep_named(struct storing *q)
{
        int count;
        const struct calibrated *known = calibrated_values(q->arena, q->f, &count);
        const bool *keep = keep_float_find(q->arena, q->policy, known, count, q->context->diag);
        if (!keep)
                return false;
        for (int i = 0; i < count; i++)
                if (keep[i] && known[i].value->kind == VALUE_RESULT)
                        known[i].value->op->number = 1;
        return true;
}

static void keep_ends(const struct storing *q)
{
        struct op *first = NULL, *last = NULL;
        for (struct op *op = region_walk(&q->f->body, NULL); op;
             op = region_walk(&q->f->body, op)) {
                bool reads = false;
                for (int i = 0; i < q->count && op->operand_count > 1; i++)
                        reads |=
                                op_operand(op, 1) == &q->weights[i]->value && op->code != OP_gather;
                first = first || !reads ? first : op;
                last = reads ? op : last;
        }
        if (first && q->policy->first)
                first->number = 1;
        if (last && q->policy->last)
                last->number = 1;
}

/* ---- the pass ---- */

/* Stores the weights. Returns 1; 0: they stay as they are; -1 after an error. */
static int store(const struct storing *q, struct constant *c)
{
        enum element e = q->policy->weights->element;
        const struct op *reader = c->value.uses->user;
        const char *obstacle = c->value.type->element == E_F32 ? NULL : "they are not of f32";
        struct stored_weights s;
        unsigned kept = ~0u;
        for (const struct use *u = c->value.uses; u && !obstacle; u = u->next) {
                obstacle = obstacle_of(u);
                kept &= kept_by(u);
        }
        if (!obstacle && !(element_code(e) ? encode(q->f->module, c, e, kept, &s)
                                           : round_to(q->f->module, c, e, &s)))
                obstacle = element_code(e) ? "they are not all finite" : "one of them is too large";
        if (obstacle)
                diag_note(q->context->diag, "weights of %s (%s) stay as they are: %s",
                          reader->location ? reader->location : "an operation",
                          op_info[reader->code].name, obstacle);
        if (obstacle && q->policy->kept)
                q->policy->kept(q->policy->runner, reader, obstacle);
        for (struct use *u = obstacle ? NULL : c->value.uses, *next; u; u = next) {
                next = u->next;
                if (!weights_widen(u->user, &s, q->context))
                        return -1;
        }
        return !obstacle;
}

int pass_store_weights(struct function *f, struct pass_context *context)
{
        struct storing q = { .f = f, .context = context, .policy = context->quantize };
        if (!q.policy || q.policy->layers || !q.policy->weights ||
            !weights_are_floats(q.policy->weights)) {
                diag_error(context->diag, EXIT_USAGE,
                           "pass store_weights wants --quantize-weights=f16 or another type of "
                           "floats");
                return -1;
        }
        if (f != module_entry(f->module))
                return 0;               /* Weights of all functions are stored with the first. */
        q.arena = arena_new();
        q.weights = weights_find(q.arena, f, &context->limits, &q.count);
        bool fine = true;
        for (q.f = f; q.f && fine; q.f = q.f->next) {
                for (struct op *op = region_walk(&q.f->body, NULL); op;
                     op = region_walk(&q.f->body, op))
                        op->number = 0;
                fine = keep_named(&q);
                if (fine)
                        keep_ends(&q);
        }
        q.f = f;
        int stored = 0;
        for (int i = 0; i < q.count && fine; i++) {
                int one = store(&q, q.weights[i]);
                fine = one >= 0;
                stored += one;
        }
        arena_free(q.arena);
        if (fine && context->notes)
                text_add(context->notes, "%d of %d constants", stored, q.count);
        for (; f && fine; f = f->next)
                pass_dce(f, context);
        return fine ? stored : -1;
}
