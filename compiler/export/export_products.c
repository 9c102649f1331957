/* SPDX-License-Identifier: MIT */
/* The contractions are convolve and dot. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "compiler/export/exporter.h"

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* Returns the element that a node adds up in: integers in that of the sums, small ones never in
 * their own. */
static enum element summed_in(const struct op *op)
{
        enum element own = op_result(op)->type->element;
        bool preset = op_int(op, "accumulator") == E_COMPUTE;
        return preset && element_is_float(own) ? own : op_accumulator(op);
}

/* ---- convolve ---- */

static struct made *mirrored_constant(struct export *e, const struct constant *w, int64_t groups,
                                      const dim_t *dims)
{
        const struct type *t = w->value.type;
        size_t each = (size_t)element_info[t->element].bytes;
        int64_t outputs = type_extent(t, 0) / groups, inputs = type_extent(t, 1), window = 1;
        const char *from = constant_data(w);
        char *to = arena_array(e->arena, (size_t)type_elements(t) + 1, each);
        for (int d = 2; d < t->rank; d++)
                window *= type_extent(t, d);
        for (int64_t i = 0; i < groups * outputs * inputs * window; i++) {
                int64_t k = i % window, input = i / window % inputs,
                        output = i / window / inputs % outputs,
                        group = i / window / inputs / outputs,
                        at = ((group * inputs + input) * outputs + output) * window + window - 1 -
                             k;
                memcpy(to + (size_t)at * each, from + (size_t)i * each, each);
        }
        return export_dense(e, export_base(e, w->name),
                            type_tensor(e->m, t->element, t->rank, dims), to);
}

/* Returns [M, C / groups, window] as [C, M / groups, window backwards], which ConvTranspose
 * reads. */
static struct made *mirrored(struct export *e, const struct value *w, int64_t groups)
{
        const struct type *t = w->type;
        int rank = t->rank;
        int64_t perm[RANK_MAX + 1], starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
        dim_t split[RANK_MAX + 1], merged[RANK_MAX];
        split[0] = dim_of(groups);
        split[1] = dim_of(type_extent(t, 0) / groups);
        for (int d = 1; d < rank; d++)
                split[d + 1] = t->dims[d];
        for (int d = 0; d <= rank; d++)
                perm[d] = d == 1 ? 2 : d == 2 ? 1 : d;
        merged[0] = dim_of(groups * type_extent(t, 1));
        merged[1] = split[1];
        for (int d = 0; d < rank; d++) {
                steps[d] = d < 2 ? 1 : -1;
                if (d < 2)
                        continue;
                merged[d] = t->dims[d];
                starts[d] = dim_extent(merged[d]) - 1;
        }
        if (value_is_constant(w) && w->constant->kind != CONSTANT_SPLAT)
                return mirrored_constant(e, w->constant, groups, merged);
        struct made *made = export_reshape(e, export_value(e, w), rank + 1, split);
        made = export_reshape(e, export_transpose(e, made, perm), rank, merged);
        return export_slice(e, made, starts, steps, merged);
}

struct window {
        int rank; /* There are so many spatial dimensions. */
        const int64_t *strides, *dilations, *spread;
        int64_t pads[2 * RANK_MAX], groups;
};

static struct window window_of(const struct op *op)
{
        struct window w = { .rank = op_result(op)->type->rank - 2, .groups = op_int(op, "groups") };
        w.strides = op_ints(op, "strides", NULL);
        w.dilations = op_ints(op, "dilations", NULL);
        w.spread = op_ints(op, "input_dilations", NULL);
        memcpy(w.pads, op_ints(op, "pads", NULL), 2 * (size_t)w.rank * sizeof *w.pads);
        return w;
}

/* Finds pads and output_padding of a ConvTranspose that is this convolution; returns false where
 * there are none. */
static bool transposed_pads(const struct op *op, const struct window *w, int64_t *pads,
                            int64_t *more)
{
        const dim_t *kernel = op_operand(op, 1)->type->dims + 2;
        if (op_all_ones(op, "input_dilations") || !op_all_ones(op, "strides"))
                return false;
        for (int d = 0; d < w->rank; d++) {
                int64_t reach = (dim_extent(kernel[d]) - 1) * w->dilations[d],
                        low = reach - w->pads[d], high = reach - w->pads[w->rank + d];
                more[d] = most(0, -high);
                pads[d] = low;
                pads[w->rank + d] = most(0, high);
                if (low < 0 || more[d] >= most(w->spread[d], w->dilations[d]) ||
                    dim_is(op_operand(op, 0)->type->dims[d + 2], 0))
                        return false;
        }
        return true;
}

/* Puts zeros between the elements along spatial dimensions, as input_dilations say. */
static struct made *spread_out(struct export *e, struct made *x, const struct window *w)
{
        for (int d = 2; d < w->rank + 2; d++) {
                const struct type *t = x->type;
                int64_t apart = w->spread[d - 2], pads[2 * RANK_MAX + 2] = { 0 },
                        starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
                dim_t split[RANK_MAX + 1], merged[RANK_MAX];
                if (apart == 1 || dim_is(t->dims[d], 0) || t->rank == RANK_MAX)
                        continue;
                for (int k = 0; k < t->rank; k++) {
                        split[k + (k > d)] = merged[k] = t->dims[k];
                        steps[k] = 1;
                }
                split[d + 1] = dim_of(1);
                x = export_reshape(e, x, t->rank + 1, split);
                pads[t->rank + 1 + d + 1] = apart - 1;
                split[d + 1] = dim_of(apart);
                x = export_binary(e, "Pad", type_tensor(e->m, t->element, t->rank + 1, split), x,
                                  export_numbers(e, pads, 2 * (t->rank + 1)));
                merged[d] = dim_of(dim_extent(merged[d]) * apart);
                x = export_reshape(e, x, t->rank, merged);
                merged[d] = dim_of(dim_extent(merged[d]) - (apart - 1));
                x = export_slice(e, x, starts, steps, merged);
        }
        return x;
}

/* Takes off what negative pads say. */
static struct made *cropped(struct export *e, struct made *x, struct window *w)
{
        return export_crop(e, x, 2, w->rank, w->pads, w->pads + w->rank);
}

static void window_attributes(struct export *e, const struct window *w, const int64_t *strides,
                              const int64_t *pads)
{
        export_ints(e, "strides", strides, w->rank);
        export_ints(e, "dilations", w->dilations, w->rank);
        export_ints(e, "pads", pads, 2 * w->rank);
        export_int(e, "group", w->groups);
}

/* Writes a convolution; the bias is NULL, or one number for each output. */
static struct made *convolution(struct export *e, const struct op *op, struct made *bias)
{
        struct window w = window_of(op);
        int64_t pads[2 * RANK_MAX], more[RANK_MAX];
        enum element sums = summed_in(op), computed = element_is_float(sums) ? sums : E_F64;
        const struct type *to = type_with_element(e->m, op_result(op)->type, computed);
        struct made *x = export_cast(e, export_value(e, op_operand(op, 0)), computed), *y;
        if (transposed_pads(op, &w, pads, more)) {
                struct made *kernel =
                        export_cast(e, mirrored(e, op_operand(op, 1), w.groups), computed);
                y = export_node(e, "ConvTranspose", to, (struct made *[]){ x, kernel, bias },
                                bias ? 3 : 2);
                window_attributes(e, &w, w.spread, pads);
                export_ints(e, "output_padding", more, w.rank);
        } else {
                struct made *kernel = export_cast(e, export_value(e, op_operand(op, 1)), computed);
                x = cropped(e, spread_out(e, x, &w), &w);
                y = export_node(e, "Conv", to, (struct made *[]){ x, kernel, bias }, bias ? 3 : 2);
                window_attributes(e, &w, w.strides, w.pads);
        }
        return export_cast(e, y, op_result(op)->type->element);
}

void write_convolve(struct export *e, const struct op *op, const struct plan *plan)
{
        (void)plan;
        if (op_result(op)->type->rank < 3)
                export_refuse(e, op, "no spatial dimensions");
        else
                export_result(e, op, 0, convolution(e, op, NULL));
}

/* Returns whether `add` is the sum of an operation `code`, which makes floats and is read nowhere
 * else, and of one number for each index of `axis`. Then one node is wanted for both. */
static bool want_biased(struct export *e, const struct op *add, enum opcode code, int axis,
                        struct plan *plan)
{
        for (int i = 0; i < 2; i++) {
                struct value *y = op_operand(add, i);
                if (!op_is(y, code) || !value_has_one_use(y) || y->type->rank <= axis ||
                    !element_is_float(y->type->element) ||
                    op_int(y->op, "accumulator") != E_COMPUTE ||
                    !export_per_axis(e, op_operand(add, !i), &plan->bias) ||
                    (plan->bias.axis != axis && (plan->bias.axis >= 0 || plan->bias.source)))
                        continue;
                plan->bias.axis = axis;
                plan->product = y->op;
                plan->wants[0] = op_operand(y->op, 0);
                plan->wants[1] = op_operand(y->op, 1);
                plan->wants[2] = (struct value *)(uintptr_t)plan->bias.source;
                plan->want_count = export_per_axis_known(&plan->bias) ? 2 : 3;
                return true;
        }
        return false;
}

/* Finds number n, of which n * step is the bias to the bit; returns false where there is none. */
static bool is_whole(float bias, float step, int32_t *number)
{
        float n = rintf(bias / step);
        if (!(step >= FLT_MIN && fabsf(n) < 0x1p31f) || n * step != bias ||
            (bias == 0 && signbit(bias)))
                return false;
        *number = (int32_t)n;
        return true;
}

/* Makes numbers from..to - 1 in steps of their scales' product; whoever wrote the model may have
 * rounded that otherwise. */
static bool make_whole(const struct per_axis *bias, float step, int64_t from, int64_t to,
                       int32_t *numbers, float *steps)
{
        const float tries[] = { step, nextafterf(step, 0), nextafterf(step, INFINITY) };
        for (size_t k = 0; k < sizeof tries / sizeof *tries; k++) {
                int64_t i = from;
                while (i < to &&
                       is_whole((float)export_per_axis_number(bias, i), tries[k], &numbers[i]))
                        steps[i++] = tries[k];
                if (i == to)
                        return true;
        }
        return false;
}

/* Returns the bias as whole numbers of steps, which are the scale of x times the scale of w, if it
 * is nothing else: runtimes add such a bias to their sums of integers. axis_w is the dimension of w
 * that is the bias's. */
static struct made *whole_bias(struct export *e, const struct plan *plan, int64_t count, int axis_w)
{
        struct per_axis x, w;
        bool fine = export_per_axis_known(&plan->bias) &&
                    export_decoded_scale(e, plan->wants[0], &x) && x.axis < 0 &&
                    export_decoded_scale(e, plan->wants[1], &w) &&
                    (w.axis < 0 || w.axis == axis_w);
        int32_t *numbers = arena_array(e->arena, (size_t)count + 1, sizeof *numbers);
        float *steps = arena_array(e->arena, (size_t)count + 1, sizeof *steps);
        int64_t alike = fine && w.axis >= 0 ? 1 : count;        /* So many numbers share a step. */
        for (int64_t i = 0; i < count && fine; i += alike) {
                float step = (float)export_per_axis_number(&x, 0) *
                             (float)export_per_axis_number(&w, i);
                fine = make_whole(&plan->bias, step, i, i + alike, numbers, steps);
        }
        if (!fine || !count)
                return NULL;
        const dim_t dims[1] = { dim_of(count) };
        const char *name = plan->bias.source ? plan->bias.source->constant->name : NULL;
        struct made *operands[2] = {
                export_dense(e, export_base(e, name), type_tensor(e->m, E_I32, 1, dims), numbers),
                export_dense(e, "c", type_tensor(e->m, E_F32, w.axis >= 0, dims), steps)
        };
        const struct op *own = e->op;
        e->op = NULL;                   /* It vanishes when the model is read. */
        struct made *bias = export_node(e, "DequantizeLinear", type_tensor(e->m, E_F32, 1, dims),
                                        operands, 2);
        if (w.axis >= 0)
                export_int(e, "axis", 0);
        e->op = own;
        return bias;
}

/* Returns the bias; `axis` is that of the result. */
static struct made *bias_of(struct export *e, const struct plan *plan, int axis, int axis_w)
{
        const struct type *t = op_result(plan->product)->type;
        int64_t count = type_extent(t, axis);
        struct made *whole = t->element == E_F32 ? whole_bias(e, plan, count, axis_w) : NULL;
        return whole ? whole : export_per_axis_made(e, &plan->bias, t->element, count);
}

bool match_convolve_bias(struct export *e, const struct op *op, struct plan *plan)
{
        return op_result(op)->type->rank > 2 && want_biased(e, op, OP_convolve, 1, plan);
}

void write_convolve_bias(struct export *e, const struct op *op, const struct plan *plan)
{
        export_result(e, op, 0, convolution(e, plan->product, bias_of(e, plan, 1, 0)));
}

/* ---- products of bytes ---- */

static bool want_bytes(struct export *e, const struct op *op, struct plan *plan, int axis_w)
{
        struct value *x = export_centered(e, op_operand(op, 0), &plan->zero),
                     *w = export_centered(e, op_operand(op, 1), &plan->zero_w);
        if (!x || !w || op_result(op)->type->element != E_I32 || op_accumulator(op) != E_I32 ||
            plan->zero.axis >= 0 || (plan->zero_w.axis >= 0 && plan->zero_w.axis != axis_w))
                return false;
        plan->wants[plan->want_count++] = x;
        plan->wants[plan->want_count++] = w;
        for (int i = 0; i < 2; i++) {
                const struct per_axis *zero = i ? &plan->zero_w : &plan->zero;
                if (!export_per_axis_known(zero))
                        plan->wants[plan->want_count++] = (struct value *)(uintptr_t)zero->source;
        }
        return true;
}

static bool is_none(const struct per_axis *zero) { return !zero->source && zero->number == 0; }

static struct made *of_bytes(struct export *e, const struct op *op, const struct plan *plan,
                             const char *name, struct made *x, struct made *w)
{
        bool none_w = is_none(&plan->zero_w), none = none_w && is_none(&plan->zero);
        struct made *operands[4] = { x, w };
        if (!none)
                operands[2] = export_per_axis_made(e, &plan->zero, x->type->element, 0);
        if (!none_w)
                operands[3] = export_per_axis_made(e, &plan->zero_w, w->type->element, 0);
        return export_node(e, name, op_result(op)->type, operands, none ? 2 : none_w ? 3 : 4);
}

bool match_convolve_integer(struct export *e, const struct op *op, struct plan *plan)
{
        return op_result(op)->type->rank > 2 && op_all_ones(op, "input_dilations") &&
               want_bytes(e, op, plan, 0);
}

void write_convolve_integer(struct export *e, const struct op *op, const struct plan *plan)
{
        struct window w = window_of(op);
        struct made *x = cropped(e, export_value(e, plan->wants[0]), &w);
        struct made *y = of_bytes(e, op, plan, "ConvInteger", x, export_value(e, plan->wants[1]));
        window_attributes(e, &w, w.strides, w.pads);
        export_result(e, op, 0, y);
}

/* ---- dot ---- */

struct sides {
        int batches, contracted, free_a, free_b;
        int64_t perm_a[RANK_MAX], perm_b[RANK_MAX]; /* They are batch, free, contracted; and batch,
                                                     * contracted, free. */
};

/* Appends the dimensions of a type that are in neither list to perm; returns how many there are. */
static int add_free(const struct type *t, const int64_t *batch, int batches,
                    const int64_t *contract, int contracted, int64_t *perm)
{
        int count = 0;
        for (int d = 0; d < t->rank; d++) {
                bool taken = false;
                for (int i = 0; i < batches; i++)
                        taken |= batch[i] == d;
                for (int i = 0; i < contracted; i++)
                        taken |= contract[i] == d;
                if (!taken)
                        perm[count++] = d;
        }
        return count;
}

static struct sides sides_of(const struct op *op)
{
        struct sides s = { .batches = 0 };
        const int64_t *batch_a = op_ints(op, "batch_a", &s.batches),
                      *batch_b = op_ints(op, "batch_b", NULL),
                      *contract_a = op_ints(op, "contract_a", &s.contracted),
                      *contract_b = op_ints(op, "contract_b", NULL);
        int64_t *a = s.perm_a, *b = s.perm_b;
        for (int i = 0; i < s.batches; i++) {
                *a++ = batch_a[i];
                *b++ = batch_b[i];
        }
        s.free_a =
                add_free(op_operand(op, 0)->type, batch_a, s.batches, contract_a, s.contracted, a);
        for (int i = 0; i < s.contracted; i++) {
                a[s.free_a + i] = contract_a[i];
                *b++ = contract_b[i];
        }
        s.free_b =
                add_free(op_operand(op, 1)->type, batch_b, s.batches, contract_b, s.contracted, b);
        return s;
}

/* Returns whether they are two matrices, which Gemm multiplies, transposed or not. */
static bool is_gemm(const struct op *op, const struct sides *s)
{
        return s->batches == 0 && s->contracted == 1 && s->free_a == 1 && s->free_b == 1 &&
               op_operand(op, 0)->type->rank == 2 && op_operand(op, 1)->type->rank == 2;
}

static struct made *gemm(struct export *e, const struct op *op, struct made *a, struct made *b,
                         struct made *bias)
{
        const struct type *to = type_with_element(e->m, op_result(op)->type, a->type->element);
        bool trans_a = op_ints(op, "contract_a", NULL)[0] == 0,
             trans_b = op_ints(op, "contract_b", NULL)[0] == 1;
        if (!trans_a && !trans_b && !bias)
                return export_binary(e, "MatMul", to, a, b);
        struct made *y = export_node(e, "Gemm", to, (struct made *[]){ a, b, bias }, bias ? 3 : 2);
        if (trans_a)
                export_int(e, "transA", 1);
        if (trans_b)
                export_int(e, "transB", 1);
        return y;
}

/* Multiplies operands brought to [batch.., rows, inner] and [batch.., inner, columns]. */
static struct made *matmul(struct export *e, const struct op *op, const struct sides *s,
                           struct made *a, struct made *b)
{
        dim_t dims[RANK_MAX + 2];
        const struct type *to = type_with_element(e->m, op_result(op)->type, a->type->element);
        a = export_transpose(e, a, s->perm_a);
        b = export_transpose(e, b, s->perm_b);
        const dim_t *da = a->type->dims, *db = b->type->dims;
        int n = s->batches, inner_a = n + s->free_a, inner_b = n + s->contracted;
        bool plain_b = s->contracted == 1 && s->free_b == 1;
        if (plain_b && (s->free_a == 1 || (n == 0 && s->free_a > 0)))
                return export_binary(e, "MatMul", to, a, b); /* It multiplies rows of all batches by
                                                              * one matrix, too. */
        const dim_t rows = dims_product(e->m, inner_a - n, da + n),
                    inner = dims_product(e->m, a->type->rank - inner_a, da + inner_a),
                    columns = dims_product(e->m, b->type->rank - inner_b, db + inner_b);
        memcpy(dims, da, (size_t)n * sizeof *dims);
        dims[n] = rows;
        dims[n + 1] = inner;
        a = export_reshape(e, a, n + 2, dims);
        dims[n] = inner;
        dims[n + 1] = columns;
        b = export_reshape(e, b, n + 2, dims);
        dims[n] = rows;
        struct made *y =
                export_binary(e, "MatMul", type_tensor(e->m, to->element, n + 2, dims), a, b);
        return export_reshape(e, y, to->rank, to->dims);
}

void write_dot(struct export *e, const struct op *op, const struct plan *plan)
{
        struct sides s = sides_of(op);
        enum element sums = summed_in(op);
        (void)plan;
        if (s.batches + 2 > RANK_MAX) {
                export_refuse(e, op, "too many batch dimensions");
                return;
        }
        struct made *a = export_cast(e, export_value(e, op_operand(op, 0)), sums),
                    *b = export_cast(e, export_value(e, op_operand(op, 1)), sums);
        struct made *y = is_gemm(op, &s) ? gemm(e, op, a, b, NULL) : matmul(e, op, &s, a, b);
        export_result(e, op, 0, export_cast(e, y, op_result(op)->type->element));
}

bool match_dot_bias(struct export *e, const struct op *op, struct plan *plan)
{
        if (op_result(op)->type->rank != 2 || !want_biased(e, op, OP_dot, 1, plan))
                return false;
        const struct sides s = sides_of(plan->product);
        return is_gemm(plan->product, &s);
}

void write_dot_bias(struct export *e, const struct op *op, const struct plan *plan)
{
        struct made *a = export_value(e, plan->wants[0]), *b = export_value(e, plan->wants[1]);
        int columns = op_ints(plan->product, "contract_b", NULL)[0] == 0;
        export_result(e, op, 0, gemm(e, plan->product, a, b, bias_of(e, plan, 1, columns)));
}

/* Matches products as MatMulInteger has them: rows by columns, each batch by itself, or all by one
 * matrix. */
bool match_dot_integer(struct export *e, const struct op *op, struct plan *plan)
{
        const struct sides s = sides_of(op);
        bool plain = s.contracted == 1 && s.free_b == 1 &&
                     (s.free_a == 1 || (s.batches == 0 && s.free_a > 0));
        for (int d = 0; d < op_operand(op, 0)->type->rank; d++)
                plain &= s.perm_a[d] == d;
        for (int d = 0; d < op_operand(op, 1)->type->rank; d++)
                plain &= s.perm_b[d] == d;
        return plain && want_bytes(e, op, plan, s.batches ? -1 : 1);
}

void write_dot_integer(struct export *e, const struct op *op, const struct plan *plan)
{
        struct made *a = export_value(e, plan->wants[0]), *b = export_value(e, plan->wants[1]);
        export_result(e, op, 0, of_bytes(e, op, plan, "MatMulInteger", a, b));
}
