/* SPDX-License-Identifier: MIT */
/* shift_scales: the scales of quantized layers become powers of two, for machines that can only
 * shift.
 *
 *   y = bound(round(f32(s + bias) * m) + zero)    ->    y = bound((s' + bias') >> n)
 *
 * s' is the sum with weights that are w * m * 2^n, rounded to bytes (shift_weights.h). There is one
 * n for each block of 16 outputs (on a wider machine, for as many as it has); bias' holds the zero
 * point and a half. Bytes of other branches are multiplied by a byte, k / 2^n, and where there are
 * both, the layer's sum is first brought to steps of 2^-n:
 *
 *   y = bound((((s' + bias') >> n') + q * k + c) >> n)
 *
 * n' may be 0, and c goes into bias' where there is room.
 *
 * A branch that is a layer itself, whose bytes nothing else reads, is added as its sum, which is
 * rounded once less. Means and sums of windows are whole numbers that are multiplied by a byte,
 * too.
 *
 * It approximates: weights lose up to half a step, on which the outputs' error depends; a warning
 * says how much. Where there are samples (--calibrate), each weight goes the way that changes sums
 * least on these. The result is ordinary: integers alone, and the same bits on every target,
 * because the pass sees the graph before anything is done for one target. */
#include <math.h>
#include <string.h>

#include "passes/requantize/requantize.h"
#include "passes/requantize/shift_weights.h"
#include "passes/requantize/terms.h"
#include "passes/simplify/ranges.h"

enum { FACTOR_MOST = 127, SHIFT_MOST = 15, SHIFT_OF_SUMS = 7 };

/* The figure has the errors of the whole function. */
struct figure {
        int layers;
        double signal, error, worst;    /* worst is the largest error / signal of a layer. */
        const char *name;               /* That layer has this name. */
};

/* A layer is the line factor * s + added of its sums s, perhaps between bounds. */
struct layer {
        struct op *product;             /* The product is a convolve or a dot. */
        int along;                      /* Its outputs lie along this dimension; in the weights it
                                         * is whole_outputs. */
        int64_t outputs;
        double *factors, *added, zero;  /* zero: the zero point of x, where it is not subtracted. */
        const struct op *inside;        /* This operation makes bytes of the layer alone, and the
                                         * line's op reads them; or NULL. */
        double low, high;
        struct shifted_weights weights;        /* The weights of its factors times 2^shift of the
                                                * parts. */
};

/* A branch is a whole number that is multiplied by a byte; `zero` is the number that stands for
 * 0. */
struct branch {
        struct value *value;
        int source;
        double zero;
};

/* The parts of y = bound(round(one + the layers + the branches)). */
struct parts {
        int block;                      /* This many outputs have one shift. */
        int layer_count, branch_count, shift; /* shift: layers and branches are brought to steps of
                                               * 2^-shift. */
        bool narrow;                    /* Sums of layers have 16 bits before others are added
                                         * (pass_context.narrow_sums). */
        struct layer layers[TERMS_SOURCES];
        struct branch branches[TERMS_SOURCES];
};

static double decibels(double error_to_signal) { return -10 * log10(error_to_signal); }

/* ---- what a source is ---- */

static int64_t window_elements(const struct op *op)
{
        int count;
        const int64_t *extents = op_ints(op, "window", &count);
        int64_t elements = 1;
        for (int i = 0; i < count; i++)
                elements *= extents[i];
        return elements;
}

/* Returns the zero point of bytes, or of sums of bytes, as far as the operation that makes them
 * tells; else 0. */
static double zero_of(struct arena *arena, const struct value *v)
{
        struct terms own;
        double count = 1;
        for (const struct op *op; v->kind == VALUE_RESULT; v = op_operand(op, 0)) {
                op = v->op;
                const struct type *x = op->operand_count ? op_operand(op, 0)->type : NULL;
                const bool window = op->code == OP_reduce_window,
                           sum = (window || op->code == OP_reduce) &&
                                 op_int(op, "kind") == REDUCE_sum;
                if (terms_find(arena, op, &own))
                        return own.zero * count;
                if (op->code != OP_reshape && op->code != OP_transpose && op->code != OP_slice &&
                    op->code != OP_pad && op->code != OP_reduce && !window &&
                    (op->code != OP_cast || element_is_float(x->element)))
                        return 0;
                if (sum && window)
                        count *= (double)window_elements(op);
                else if (sum)
                        count *= (double)type_elements(x) / (double)type_elements(v->type);
        }
        return 0;
}

/* Does all that is computed from v end in op? */
static bool leads_to(const struct value *v, const struct op *op)
{
        while (value_has_one_use(v) && v->uses->user != op && v->uses->user->result_count == 1)
                v = op_result(v->uses->user);
        return value_has_one_use(v) && v->uses->user == op;
}

/* Finds the sums of a layer, and what is added to each; *along: as spread_find has it. */
static bool find_layer(struct arena *arena, struct value *v, int *along, struct layer *l)
{
        enum { SUMMANDS = 4 };
        struct spread summands[SUMMANDS];
        double signs[SUMMANDS];
        int count = 0;
        const struct op *op = v->kind == VALUE_RESULT ? v->op : NULL;
        for (int i = 1; op && (op->code == OP_add || op->code == OP_sub) && count < SUMMANDS;
             i = 1) {
                while (i >= (op->code == OP_sub) &&
                       !spread_find(op_operand(op, i), along, &summands[count]))
                        i--;
                if (i < (op->code == OP_sub))
                        return false;
                signs[count++] = op->code == OP_sub ? -1 : 1;
                v = op_operand(op, 1 - i);
                op = v->kind == VALUE_RESULT ? v->op : NULL;
        }
        if (!op || (op->code != OP_convolve && op->code != OP_dot) || v->type->element != E_I32)
                return false;
        const struct value *w = op_operand(op, 1);
        if (whole_outputs(op) < 0 || !value_is_constant(w) || !type_is_static(w->type) ||
            !element_is_integer(w->type->element) || whole_sum_bound(op) > INT32_MAX)
                return false;
        *l = (struct layer){ .product = v->op, .zero = zero_of(arena, op_operand(op, 0)) };
        l->along = op->code == OP_convolve ? 1 : v->type->rank - 1;
        l->outputs = type_extent(w->type, whole_outputs(op));
        if ((*along >= 0 && *along != l->along) || !dim_is(v->type->dims[l->along], l->outputs))
                return false;
        l->factors = arena_array(arena, (size_t)l->outputs, sizeof *l->factors);
        l->added = arena_array(arena, (size_t)l->outputs, sizeof *l->added);
        for (int64_t i = 0; i < l->outputs; i++)
                for (int k = 0; k < count; k++)
                        l->added[i] += signs[k] * (double)spread_number(&summands[k], i).i;
        return true;
}

/* Returns the line's numbers at place i of its dimension. */
static const struct line *line_at(const struct terms *t, int64_t i)
{
        return &t->lines[t->places > 1 ? i : 0];
}

/* Finds source k of t, the line that op rounds, where it is a layer's sums. */
static bool find_sums(struct arena *arena, const struct op *op, struct terms *t, int k,
                      struct layer *l)
{
        if (!find_layer(arena, t->sources[k], &t->along, l) || !leads_to(op_result(l->product), op))
                return false;
        for (int64_t i = 0; i < l->outputs; i++) {
                l->factors[i] = line_at(t, i)->of[k];
                l->added[i] *= l->factors[i];
        }
        return true;
}

/* Finds source k of t, where it is bytes that a layer makes for op alone. */
static bool find_inside(struct arena *arena, const struct op *op, struct terms *t, int k,
                        struct layer *l)
{
        struct value *v = t->sources[k];
        struct terms own;
        if (t->places > 1 || v->kind != VALUE_RESULT || !terms_find(arena, v->op, &own) ||
            own.source_count != 1 || !find_layer(arena, own.sources[0], &own.along, l) ||
            (t->along >= 0 && t->along != l->along) || !leads_to(op_result(l->product), op))
                return false;
        const double by = t->lines[0].of[k];
        for (int64_t i = 0; i < l->outputs; i++) {
                const struct line *line = line_at(&own, i);
                l->factors[i] = by * line->of[0];
                l->added[i] = by * line->one + l->factors[i] * l->added[i];
        }
        l->inside = v->op;              /* Bounds are included: quantizers leave out a Relu where
                                         * the byte's own end is one. */
        l->low = fmin(by * own.low, by * own.high);
        l->high = fmax(by * own.low, by * own.high);
        return true;
}

static bool is_byte(const struct value *v) { return element_info[v->type->element].bytes == 1; }

static struct branch branch_of(struct arena *arena, const struct terms *t, int k)
{
        double zero = t->zeros[k] != 0 ? t->zeros[k] : zero_of(arena, t->sources[k]);
        return (struct branch){ t->sources[k], k, zero };
}

/* Finds the layers and branches of the line t; the last layer whose bytes op alone reads is one of
 * them, as its sums. Returns false if the line contains something else. */
static bool find_parts(struct arena *arena, const struct op *op, struct terms *t, struct parts *p)
{
        bool inside = false;
        *p = (struct parts){ .block = p->block, .narrow = p->narrow };
        for (int k = t->source_count - 1; k >= 0; k--) {
                struct layer *l = &p->layers[p->layer_count];
                if (!is_byte(t->sources[k])) {
                        if (find_sums(arena, op, t, k, l))
                                p->layer_count++;
                        else if (whole_largest(requantize_range(t->sources[k])) <= WHOLE_IN_FLOATS)
                                p->branches[p->branch_count++] = branch_of(arena, t, k);
                        else
                                return false;
                } else if (t->source_count > 1 && !inside && find_inside(arena, op, t, k, l)) {
                        inside = true;
                        p->layer_count++;
                } else {
                        p->branches[p->branch_count++] = branch_of(arena, t, k);
                }
        }
        return true;
}

/* ---- shifts ---- */

static bool find_weights(struct arena *arena, struct parts *p)
{
        for (struct layer *l = p->layers; l < p->layers + p->layer_count; l++) {
                const struct op *op = l->product;
                double *factors = arena_array(arena, (size_t)l->outputs, sizeof *factors);
                for (int64_t i = 0; i < l->outputs; i++)
                        factors[i] = ldexp(l->factors[i], p->shift);
                if (!shifted_weights_find(arena, op, factors, !p->shift, l->zero, p->block,
                                          &l->weights))
                        return false;
        }
        return true;
}

/* Finds the steps that layers and branches are brought to: as fine as a byte's factors allow, and
 * no finer than the weights of layers. Returns false if a factor is too large. */
static bool find_shift(struct arena *arena, const struct terms *t, struct parts *p)
{
        double most = 0;
        int exponent;
        if (p->layer_count == 1 && !p->branch_count)
                return find_weights(arena, p);
        for (int k = 0; k < p->branch_count; k++)
                for (int64_t i = 0; i < t->places; i++)
                        most = fmax(most, fabs(t->lines[i].of[p->branches[k].source]));
        if (!isfinite(most))
                return false;
        frexp((FACTOR_MOST + 0.5) / fmax(most, ldexp(1, -SHIFT_MOST)), &exponent);
        /* Sums of 16 bits hold 256 steps. */
        const int finest = p->narrow && p->layer_count ? SHIFT_OF_SUMS : SHIFT_MOST;
        p->shift = !p->branch_count ? SHIFT_OF_SUMS : exponent - 1 < finest ? exponent - 1 : finest;
        while (p->shift >= 1 && !find_weights(arena, p))
                p->shift--;
        return p->shift >= 1;
}

/* ---- the rewrite ---- */

/* A sum is a value that is built, with the largest magnitude that it can have at any place. */
struct sum {
        struct value *value;
        double most;
};

static struct value *whole_numbers(struct builder *b, const struct type *like, int along,
                                   struct arena *arena, const double *numbers, int64_t count,
                                   const char *name)
{
        int32_t *whole = arena_array(arena, (size_t)count, sizeof *whole);
        for (int64_t i = 0; i < count; i++)
                whole[i] = (int32_t)numbers[i];
        return spread_build(b, like, along, E_I32, whole, count, name);
}

/* Builds the layer's product with these numbers for weights. */
static struct value *product_with(struct builder *b, const struct op *op, int8_t *numbers)
{
        const struct value *w = op_operand(op, 1);
        struct attr attrs[ATTR_MAX];
        memcpy(attrs, op->attrs, sizeof *attrs * (size_t)op_info[op->code].attr_count);
        struct value *operands[] = { op_operand(op, 0),
                                     constant_dense(b->m, type_with_element(b->m, w->type, E_I8),
                                                    arena_copy(b->m->arena, numbers,
                                                               (size_t)type_elements(w->type)),
                                                    w->constant->name) };
        return value_build(b, op->code, operands, 2, attrs, op_result(op)->type);
}

/* Builds (s' + bias') >> n, in steps of 2^-shift. bias' has what is added to all where there is
 * nothing else, or `more`, for each place of t (NULL: nothing). The value is NULL where there is
 * none, or after an error. */
static struct sum shifted_layer(struct builder *b, struct arena *arena, const struct terms *t,
                                const struct parts *p, const struct layer *l, const double *more,
                                struct figure *figure)
{
        const bool alone = !p->shift;
        const struct op *op = l->product;
        const struct shifted_weights *s = &l->weights;
        struct sum sum = { 0 };
        double *biases = arena_array(arena, (size_t)l->outputs, sizeof *biases);
        bool shifted = false;
        const double operand = whole_largest(whole_range_of(op_operand(op, 0)));
        for (int64_t i = 0; i < l->outputs; i++) {
                double added = ldexp(l->added[i] + (alone ? line_at(t, i)->one : 0), p->shift) +
                               s->lost[i];
                biases[i] = rint(ldexp(added, s->shifts[i])) +
                            (s->shifts[i] ? ldexp(0.5, s->shifts[i]) : 0) +
                            (more ? ldexp(more[t->places > 1 ? i : 0], s->shifts[i]) : 0);
                shifted |= s->shifts[i] != 0;
                const double most = s->magnitudes[i] * operand + fabs(biases[i]);
                if (!(most < INT32_MAX))
                        return sum;
                sum.most = fmax(sum.most, ldexp(most, -s->shifts[i]) + 1);
        }
        const struct type *type = op_result(op)->type;
        const char *location = b->location;
        b->location = op->location;
        struct value *v = product_with(b, op, s->numbers);
        v = build_binary(b, OP_add, v,
                         whole_numbers(b, type, l->along, arena, biases, l->outputs, "bias"));
        if (shifted)
                v = build_binary(
                        b, OP_shr, v,
                        spread_build(b, type, l->along, E_I32, s->shifts, l->outputs, "shift"));
        const bool narrow = p->narrow && !alone;
        const double low = l->inside ? rint(ldexp(l->low, p->shift)) : INT16_MIN,
                     high = l->inside ? rint(ldexp(l->high, p->shift)) : INT16_MAX;
        if ((l->inside || narrow) && v)
                v = build_binary(b, OP_max, v,
                                 constant_number(b->m, type, narrow ? fmax(low, INT16_MIN) : low));
        if ((l->inside || narrow) && v)
                v = build_binary(
                        b, OP_min, v,
                        constant_number(b->m, type, narrow ? fmin(high, INT16_MAX) : high));
        b->location = location;
        sum.value = v;
        figure->layers++;
        figure->signal += s->signal;
        figure->error += s->error;
        if (s->error > figure->worst * s->signal) {
                figure->worst = s->error / s->signal;
                figure->name = op->location;
        }
        return sum;
}

static double factor_of(const struct terms *t, const struct parts *p, const struct branch *q,
                        int64_t i)
{
        return rint(ldexp(t->lines[i].of[q->source], p->shift));
}

/* Builds branch * factor, times 2^shift. */
static struct sum multiplied(struct builder *b, struct arena *arena, const struct terms *t,
                             const struct parts *p, const struct branch *branch)
{
        struct sum sum = { 0 };
        double *factors = arena_array(arena, (size_t)t->places, sizeof *factors);
        const double most = whole_largest(requantize_range(branch->value));
        for (int64_t i = 0; i < t->places; i++) {
                factors[i] = factor_of(t, p, branch, i);
                sum.most = fmax(sum.most, fabs(factors[i]) * most);
        }
        struct value *x = build_cast(b, branch->value, E_I32);
        sum.value = build_binary(
                b, OP_mul, x,
                whole_numbers(b, t->type, t->along, arena, factors, t->places, "factor"));
        return sum;
}

/* Returns what is added to the sum of all parts, half a step included, in steps of 2^-shift. */
static double *offsets_of(struct arena *arena, const struct terms *t, const struct parts *p)
{
        double *added = arena_array(arena, (size_t)t->places, sizeof *added);
        for (int64_t i = 0; i < t->places; i++) {
                double exact = ldexp(t->lines[i].one, p->shift);
                for (const struct branch *q = p->branches; q < p->branches + p->branch_count; q++)
                        exact += (ldexp(t->lines[i].of[q->source], p->shift) -
                                  factor_of(t, p, q, i)) *
                                 q->zero;
                added[i] = rint(exact) + ldexp(0.5, p->shift);
        }
        return added;
}

/* Returns a layer whose bias can take what is added: ((s >> n) + c) is (s + (c << n)) >> n where
 * the layer is not bounded before. -1: there is none, or its sums have no room for that. */
static int host_of(const struct terms *t, const struct parts *p, const double *added)
{
        for (int k = 0; k < p->layer_count; k++) {
                const struct layer *l = &p->layers[k];
                const struct shifted_weights *s = &l->weights;
                const double operand = whole_largest(whole_range_of(op_operand(l->product, 0)));
                bool room = !l->inside;
                for (int64_t i = 0; i < l->outputs && room; i++) {
                        const double own = fabs(ldexp(l->added[i], p->shift) + s->lost[i]) + 1 +
                                           fabs(added[t->places > 1 ? i : 0]);
                        room = s->magnitudes[i] * operand + ldexp(own, s->shifts[i]) < INT32_MAX;
                }
                if (room)
                        return k;
        }
        return -1;
}

/* Builds the sum of all parts, with what is added, brought to whole steps. */
static struct value *shifted_parts(struct builder *b, struct arena *arena, const struct terms *t,
                                   const struct parts *p, struct figure *figure)
{
        struct sum all = { 0 };
        double *added = p->shift ? offsets_of(arena, t, p) : NULL;
        const int host = added ? host_of(t, p, added) : -1;
        for (int k = 0; k < p->layer_count + p->branch_count; k++) {
                struct sum one =
                        k < p->layer_count
                                ? shifted_layer(b, arena, t, p, &p->layers[k],
                                                k == host ? added : NULL, figure)
                                : multiplied(b, arena, t, p, &p->branches[k - p->layer_count]);
                if (!one.value)
                        return NULL;
                all.value = k ? build_binary(b, OP_add, all.value, one.value) : one.value;
                all.most += one.most;
        }
        if (!p->shift)
                return all.value;
        struct value *v = all.value;
        for (int64_t i = 0; i < t->places; i++)
                if (!(all.most + (host < 0 ? fabs(added[i]) : 0) < INT32_MAX))
                        return NULL;
        if (host < 0)
                v = build_binary(
                        b, OP_add, v,
                        whole_numbers(b, t->type, t->along, arena, added, t->places, "offset"));
        return v ? build_binary(b, OP_shr, v, constant_number(b->m, v->type, p->shift)) : NULL;
}

/* ---- plans ---- */

struct plan {
        struct op *op;                  /* The operation makes bytes. */
        struct terms terms;
        struct parts parts;
};

/* Finds a plan for each operation that makes bytes of a line. */
static struct plan *find_plans(struct arena *arena, const struct function *f, int outputs,
                               bool narrow, int *count)
{
        enum { BLOCK = 16 };
        int ops = 0;
        *count = 0;
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op))
                ops++;
        struct op **all = arena_array(arena, (size_t)ops, sizeof *all);
        struct plan *plans = arena_array(arena, (size_t)ops, sizeof *plans);
        ops = 0;
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op))
                all[ops++] = op;
        /* The loop goes from the last layer to the first, so that an addition takes in the layer
         * before it. */
        while (ops-- > 0) {
                struct plan *p = &plans[*count];
                p->parts.narrow = narrow;
                bool inside = false;
                for (const struct plan *q = plans; q < p && !inside; q++)
                        for (int k = 0; k < q->parts.layer_count; k++)
                                inside |= q->parts.layers[k].inside == all[ops];
                p->op = all[ops];
                p->parts.block = outputs > BLOCK ? outputs : BLOCK;
                *count += !inside && terms_find(arena, p->op, &p->terms) &&
                          find_parts(arena, p->op, &p->terms, &p->parts) &&
                          find_shift(arena, &p->terms, &p->parts);
        }
        return plans;
}

/* Finds the numbers by samples. Returns false after an error. */
static bool learn(struct arena *arena, struct plan *plans, int count, struct pass_context *context)
{
        int layers = 0;
        struct layer **all = arena_array(arena, (size_t)count * TERMS_SOURCES, sizeof *all);
        struct op **ops = arena_array(arena, (size_t)count * TERMS_SOURCES, sizeof *ops);
        for (struct plan *p = plans; p < plans + count; p++)
                for (int k = 0; k < p->parts.layer_count; k++)
                        if (moments_possible(p->parts.layers[k].product)) {
                                ops[layers] = p->parts.layers[k].product;
                                all[layers++] = &p->parts.layers[k];
                        }
        if (!context->sampler || !layers)
                return true;
        struct moments_run *run = moments_begin(context, ops, layers, true);
        bool fine = run != NULL;
        for (int i = 0; i < layers && fine; i++) {
                const struct moments *m = moments_of(run, i);
                fine = m != NULL;
                if (m)
                        shifted_weights_learn(&all[i]->weights, m);
        }
        moments_end(run);
        return fine;
}

static bool apply(struct arena *arena, const struct plan *p, struct pass_context *context,
                  struct figure *figure)
{
        struct builder b = builder_before(p->op, context->diag);
        const struct figure before = *figure;
        struct value *y =
                terms_byte(&b, &p->terms, shifted_parts(&b, arena, &p->terms, &p->parts, figure));
        if (!y) {
                *figure = before;
                return false;
        }
        value_replace(op_result(p->op), y);
        op_erase(p->op);
        return true;
}

/* ---- the pass ---- */

/* Names the layers whose sums become floats, in a warning. */
static void name_rest(const struct function *f, const struct figure *figure, struct diag *diag)
{
        enum { NAMED = 8 };
        struct text rest = { 0 };
        int count = 0;
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                const struct value *v =
                        (op->code == OP_convolve || op->code == OP_dot) ? op_result(op) : NULL;
                while (v && v->type->element == E_I32 && value_has_one_use(v) &&
                       (v->uses->user->code == OP_add || v->uses->user->code == OP_sub))
                        v = op_result(v->uses->user);
                if (v && v->type->element == E_I32 && value_has_one_use(v) &&
                    v->uses->user->code == OP_cast && count++ < NAMED)
                        text_add(&rest, "%s%s", count > 1 ? ", " : "",
                                 op->location ? op->location : op_info[op->code].name);
        }
        if (figure->layers)
                diag_warning(diag,
                             "shift_scales: weights of %d layer%s by powers of two, signal to "
                             "error %.1f dB, least "
                             "%.1f dB%s%s",
                             figure->layers, figure->layers == 1 ? "" : "s",
                             decibels(figure->error / figure->signal), decibels(figure->worst),
                             figure->name ? " of " : "", figure->name ? figure->name : "");
        if (count)
                diag_warning(diag, "shift_scales: %d layer%s: %s%s", count,
                             count == 1 ? " keeps its scale" : "s keep their scales", rest.data,
                             count > NAMED ? ", ..." : "");
        text_free(&rest);
}

int pass_shift_scales(struct function *f, struct pass_context *context)
{
        struct figure figure = { 0 };
        int count = 0, rewrites = 0;
        for (struct op *op = region_walk(&f->body, NULL), *next; op && rewrites >= 0; op = next) {
                next = region_walk(&f->body, op);
                int done = requantize_windows(op, context);
                rewrites = done < 0 ? -1 : rewrites + done;
        }
        struct arena *arena = arena_new();
        struct plan *plans = find_plans(arena, f, context->shifted, context->narrow_sums, &count);
        bool fine = rewrites >= 0 && learn(arena, plans, count, context);
        for (int i = 0; i < count && fine; i++) {
                rewrites += apply(arena, &plans[i], context, &figure);
                fine = !context->diag->code;
        }
        arena_free(arena);
        if (!fine || pass_dce(f, context) < 0)
                return -1;
        name_rest(f, &figure, context->diag);
        return rewrites;
}
