/* SPDX-License-Identifier: MIT */
/* Finds what a command can compute in quantized Tensor IR as shift_scales writes it:
 *
 *   y = bound((convolve(x, w) + bias) >> n)                              XNConv
 *   y = bound((sum of windows of x, or of all of it, * k + c) >> n)      XNAvgPool
 *   y = bound((x * k + z * l + c) >> n)                                  XNEltwise
 *   y = reduce_window max of x                                           XNMaxPool
 *   y = concat of volumes by channels                                    no command
 *
 * The x and z of XNEltwise are bytes, or a layer's sums of up to 16 bits. n, k, l, c and bias may
 * differ from channel to channel. The rounding half is part of what is added, so that >> rounds
 * down. */
#include <string.h>

#include "codegen/sections/sections.h"
#include "ir/tensor/ops.h"
#include "passes/requantize/requantize.h"
#include "passes/simplify/ranges.h"

enum { TERMS = 2, DEPTH = 8, CHANNEL = 1 };

/* The sum is term[0] * factor[0] + term[1] * factor[1] + added, by channel. */
struct sum {
        struct arena *arena;
        int64_t channels;
        const struct value *term[TERMS];
        int64_t *factor[TERMS], *added;
        int count;
};

static int64_t channels_of(const struct type *t)
{
        return t->rank > CHANNEL ? type_extent(t, CHANNEL) : 1;
}

static const struct op *op_of(const struct value *v)
{
        return v->kind == VALUE_RESULT ? v->op : NULL;
}

/* Adds the numbers of a constant, by channel and times `by`, to `numbers`. Returns false where v is
 * no such constant. */
static bool add_numbers(const struct value *v, int64_t channels, int64_t by, int64_t *numbers)
{
        struct spread s;
        int along = CHANNEL;
        if (!spread_find(v, &along, &s) || (s.stride && along != CHANNEL) ||
            !element_is_integer(v->type->element))
                return false;
        for (int64_t i = 0; i < channels; i++)
                numbers[i] += by * spread_number(&s, i).i;
        return true;
}

static bool is_sum_of_integers(const struct value *v)
{
        return v->type->kind == TYPE_TENSOR && element_is_integer(v->type->element) &&
               element_info[v->type->element].bytes == 4;
}

static bool add_terms(struct sum *s, const struct value *v, int64_t sign, int depth)
{
        const struct op *op = op_of(v);
        if (op && depth < DEPTH && is_sum_of_integers(v) &&
            (op->code == OP_add || op->code == OP_sub)) {
                const int64_t second = op->code == OP_sub ? -sign : sign;
                for (int i = 0; i < 2; i++) {
                        const struct value *x = op_operand(op, i);
                        if (!add_numbers(x, s->channels, i ? second : sign, s->added) &&
                            !add_terms(s, x, i ? second : sign, depth + 1))
                                return false;
                }
                return true;
        }
        if (s->count == TERMS)
                return false;
        int64_t *factor = arena_array(s->arena, (size_t)s->channels + 1, sizeof *factor);
        s->factor[s->count] = factor;
        s->term[s->count] = v;
        for (int i = 0; op && op->code == OP_mul && i < 2; i++)
                if (add_numbers(op_operand(op, i), s->channels, sign, factor)) {
                        s->term[s->count++] = op_operand(op, 1 - i);
                        return true;
                }
        for (int64_t i = 0; i < s->channels; i++)
                factor[i] = sign;
        s->count++;
        return true;
}

/* ---- operands ---- */

static bool keeps_numbers(const struct op *op)
{
        const enum element to = op_result(op)->type->element;
        if (op->code != OP_cast || !element_is_integer(to) ||
            !element_is_integer(op_operand(op, 0)->type->element))
                return false;
        struct whole_range all = whole_range_of_element(to), is = whole_range_of(op_operand(op, 0));
        return is.low >= all.low && is.high <= all.high;
}

/* Makes v, the value of a volume plus an offset, input i of the step. */
static bool read_volume(struct network *n, const struct value *v, struct section_step *s, int i)
{
        int64_t offset = 0;
        for (const struct op *op; (op = op_of(v));) {
                double number;
                if (keeps_numbers(op)) {
                        v = op_operand(op, 0);
                } else if (is_sum_of_integers(v) && (op->code == OP_add || op->code == OP_sub) &&
                           value_is_splat(op_operand(op, 1), &number)) {
                        offset += (int64_t)(op->code == OP_sub ? -number : number);
                        v = op_operand(op, 0);
                } else {
                        break;
                }
        }
        s->inputs[i] = network_volume(n, v);
        s->offsets[i] = offset;
        return s->inputs[i] >= 0;
}

/* Decides which number is stored as 0: a step that relies on zeros around what it reads does.
 * Returns false where another step has decided otherwise. */
static bool wants_zero(struct network *n, int volume, int64_t offset, bool padded)
{
        struct volume *v = &n->volumes[network_root(n, volume)];
        if (v->padded && padded && v->zero != -offset)
                return false;
        if (!v->padded && (padded || !v->zero))
                v->zero = -offset;
        v->padded |= padded;
        return true;
}

/* ---- steps ---- */

struct bounds { int64_t low, high; };

static bool find_window(const struct op *op, int d, int rank, const char *kernel, struct window *w)
{
        const int64_t *pads = op_ints(op, "pads", NULL), *steps = op_ints(op, "strides", NULL),
                      *dilations = op_ints(op, "dilations", NULL);
        w->kernel =
                kernel ? op_ints(op, kernel, NULL)[d] : type_extent(op_operand(op, 1)->type, d + 2);
        w->step = steps[d];
        w->dilation = dilations[d];
        w->pad = pads[d];
        return w->pad >= 0 && pads[d + rank] >= 0;
}

static bool find_pool(const struct op *op, struct section_step *s)
{
        const int64_t *window = op_ints(op, "window", NULL), *steps = op_ints(op, "strides", NULL);
        return window[0] == 1 && window[1] == 1 && steps[1] == 1 &&
               find_window(op, 2, 4, "window", &s->rows) &&
               find_window(op, 3, 4, "window", &s->columns) && s->rows.dilation == 1 &&
               s->columns.dilation == 1;
}

static int64_t *numbers_new(struct network *n, int64_t count, int64_t all)
{
        int64_t *numbers = arena_array(n->arena, (size_t)count + 1, sizeof *numbers);
        for (int64_t i = 0; i < count; i++)
                numbers[i] = all;
        return numbers;
}

/* Sets the numbers of a layer that computes y = bound(sum >> shift). */
static bool set_numbers(struct network *n, struct section_step *s, const struct sum *sum,
                        int64_t *shift, struct bounds bounds)
{
        const int64_t count = sum->channels;
        int64_t *none = numbers_new(n, count, 0), *one = numbers_new(n, count, 1);
        const bool conv = s->kind == STEP_CONV;
        for (int64_t i = 0; i < count; i++)
                if (shift[i] < 0 || shift[i] > 31 || (conv && sum->factor[0][i] != 1))
                        return false;
        s->low = bounds.low;
        s->high = bounds.high;
        s->bias = sum->added;
        s->preshift = conv ? shift : none;
        s->scale[0] = conv ? one : sum->factor[0];
        s->scale[1] = sum->count > 1 ? sum->factor[1] : none;
        s->postshift = conv ? none : shift;
        return true;
}

/* Adds s, of which all but its result is known, to the network. */
static bool add_step(struct network *n, const struct section_step *s, const struct value *y)
{
        for (int i = 0; i < s->input_count; i++)
                if (!wants_zero(n, s->inputs[i], s->offsets[i], s->padded))
                        return false;
        const bool bounded = s->kind != STEP_MAX;
        const int volume =
                bounded ? network_volume_within(
                                  n, y, (struct whole_range){ (double)s->low, (double)s->high })
                        : network_volume(n, y);
        if (volume < 0)
                return false;
        n->volumes[volume].maker = n->step_count;
        struct section_step *made = network_step(n, s->kind, s->op);
        const char *name = made->name;
        *made = *s;
        made->name = name;
        made->output = volume;
        return true;
}

/* Do windows reach beyond what the step reads? */
static bool is_padded(const struct network *n, const struct section_step *s, const struct value *y)
{
        const struct volume *x = &n->volumes[s->inputs[0]];
        const bool plane = y->type->rank == 4;
        const struct { const struct window *w; int64_t extent, made;
        } along[] = { { &s->rows, x->rows, plane ? type_extent(y->type, 2) : 1 },
                      { &s->columns, x->columns, plane ? type_extent(y->type, 3) : 1 } };
        bool padded = false;
        for (int i = 0; i < 2; i++) {
                const struct window *w = along[i].w;
                padded |= w->pad ||
                          (along[i].made - 1) * w->step + (w->kernel - 1) * w->dilation + 1 >
                                  along[i].extent;
        }
        return padded;
}

static bool find_convolution(struct network *n, const struct op *op, const struct sum *sum,
                             int64_t *shift, struct bounds bounds, const struct value *y)
{
        struct section_step s = { .kind = STEP_CONV, .op = op, .input_count = 1 };
        const struct value *w = op_operand(op, 1);
        if (w->type->rank != 4 || !value_is_constant(w) || !element_is_integer(w->type->element) ||
            whole_range_of(w).low < INT8_MIN || whole_range_of(w).high > INT8_MAX ||
            !op_all_ones(op, "input_dilations") || whole_sum_bound(op) > INT32_MAX ||
            !find_window(op, 0, 2, NULL, &s.rows) || !find_window(op, 1, 2, NULL, &s.columns) ||
            !read_volume(n, op_operand(op, 0), &s, 0))
                return false;
        s.weights = w->constant;
        s.weight_inputs = type_extent(w->type, 1);
        s.padded = is_padded(n, &s, y);
        return set_numbers(n, &s, sum, shift, bounds) && add_step(n, &s, y);
}

static bool find_average(struct network *n, const struct op *op, const struct sum *sum,
                         int64_t *shift, struct bounds bounds, const struct value *y)
{
        struct section_step s = { .kind = STEP_AVERAGE, .op = op, .input_count = 1 };
        const struct type *x = op_operand(op, 0)->type;
        int64_t axes[RANK_MAX];
        int count;
        if (op_int(op, "kind") != REDUCE_sum || x->rank != 4 ||
            !read_volume(n, op_operand(op, 0), &s, 0))
                return false;
        if (op->code == OP_reduce) {
                if (!value_ints(op_operand(op, 1), axes, RANK_MAX, &count) || count != 2 ||
                    axes[0] + axes[1] != 5 || axes[0] * axes[1] != 6)
                        return false;
                s.rows = (struct window){ type_extent(x, 2), 1, 0, 1 };
                s.columns = (struct window){ type_extent(x, 3), 1, 0, 1 };
        } else if (!find_pool(op, &s)) {
                return false;
        }
        s.padded = is_padded(n, &s, y);
        return set_numbers(n, &s, sum, shift, bounds) && add_step(n, &s, y);
}

static bool find_sum_of_two(struct network *n, const struct op *op, const struct sum *sum,
                            int64_t *shift, struct bounds bounds, const struct value *y)
{
        struct section_step s = { .kind = sum->count == 2 ? STEP_ADD : STEP_AVERAGE,
                                  .op = op,
                                  .input_count = sum->count };
        s.rows = s.columns = (struct window){ 1, 1, 0, 1 };
        for (int i = 0; i < sum->count; i++) {
                const struct value *x = sum->term[i];
                pattern_find(n, x);     /* The term may be the sums of a layer that only this one
                                         * reads. */
                if (!read_volume(n, x, &s, i) || !type_same_dims(x->type, y->type))
                        return false;
        }
        return set_numbers(n, &s, sum, shift, bounds) && add_step(n, &s, y);
}

static bool find_maximum(struct network *n, const struct op *op, const struct value *y)
{
        struct section_step s = { .kind = STEP_MAX, .op = op, .input_count = 1 };
        if (y->type->rank != 4 || !find_pool(op, &s) || !read_volume(n, op_operand(op, 0), &s, 0) ||
            s.offsets[0])
                return false;
        const int made = network_volume(n, y);
        if (made < 0)
                return false;
        /* The result has the zero of what is read. */
        n->volumes[made].same = network_root(n, s.inputs[0]);
        return add_step(n, &s, y);
}

/* ---- bounds, shifts ---- */

static const struct value *take_bounds(const struct value *v, struct bounds *b)
{
        double number;
        for (const struct op *op; (op = op_of(v)) && (op->code == OP_min || op->code == OP_max);) {
                const int i = value_is_splat(op_operand(op, 1), &number)   ? 1
                              : value_is_splat(op_operand(op, 0), &number) ? 0
                                                                           : -1;
                if (i < 0)
                        break;
                if (op->code == OP_min)
                        b->high = (int64_t)number < b->high ? (int64_t)number : b->high;
                else
                        b->low = (int64_t)number > b->low ? (int64_t)number : b->low;
                v = op_operand(op, 1 - i);
        }
        return v;
}

bool pattern_find(struct network *n, const struct value *v)
{
        const struct op *op = op_of(v);
        const struct value *x = v;
        if (!op || v->type->kind != TYPE_TENSOR || !element_is_integer(v->type->element) ||
            !type_is_static(v->type))
                return false;
        if (op->code == OP_reduce_window && op_int(op, "kind") == REDUCE_max)
                return find_maximum(n, op, v);
        if (network_is_made(n, v))
                return true;
        struct bounds bounds = { INT32_MIN, INT32_MAX };
        const bool byte = element_info[v->type->element].bytes == 1;
        if (byte && op->code != OP_cast)
                return false;
        if (byte)
                x = op_operand(op, 0);
        x = take_bounds(x, &bounds);
        const struct whole_range all = whole_range_of_element(v->type->element),
                                 narrow = { INT16_MIN, INT16_MAX };
        const struct whole_range within = byte ? all : narrow;
        if (!is_sum_of_integers(x) || (double)bounds.low < within.low ||
            (double)bounds.high > within.high || bounds.low > bounds.high)
                return false;
        struct sum sum = { .arena = n->arena, .channels = channels_of(x->type) };
        sum.added = numbers_new(n, sum.channels, 0);
        int64_t *shift = numbers_new(n, sum.channels, 0);
        if (op_is(x, OP_shr)) {
                if (!add_numbers(op_operand(x->op, 1), sum.channels, 1, shift))
                        return false;
                x = op_operand(x->op, 0);
        }
        if (!add_terms(&sum, x, 1, 0) || !sum.count)
                return false;
        const struct op *inner = op_of(sum.term[0]);
        if (sum.count == 1 && inner && inner->code == OP_convolve)
                return find_convolution(n, inner, &sum, shift, bounds, v);
        if (sum.count == 1 && inner &&
            (inner->code == OP_reduce || inner->code == OP_reduce_window))
                return find_average(n, inner, &sum, shift, bounds, v);
        return find_sum_of_two(n, x->kind == VALUE_RESULT ? x->op : op, &sum, shift, bounds, v);
}
