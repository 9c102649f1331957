/* SPDX-License-Identifier: MIT */
/* Windows are placed here, and convolutions made. All are the convolve operation, which has
 * strides, dilations of window and input, pads that may be negative, and groups. */
#include "front/compose/compose_window.h"

#include "base/size.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

/* ---- windows ---- */

static bool is_same(const struct compose_window *w)
{
        return w->auto_pad == PAD_SAME_UPPER || w->auto_pad == PAD_SAME_LOWER;
}

/* Places a window of PAD_SAME. Returns false where its pads depend on what a run gives. Pads are
 * numbers where places times stride are so many more than there are elements in every run, and none
 * where windows are of one element. */
static bool same_known(struct compose *c, struct compose_window *w, int d, dim_t in)
{
        const int64_t extent = compose_window_extent(w, d), stride = w->strides[d];
        const dim_t whole = dim_round_up(c->m, in, stride);
        int64_t more, *low = &w->pads[d], *high = &w->pads[w->rank + d];

        if (extent == 1)
                more = 0;
        else if (!dim_difference(c->m, whole, in, &more))
                return false;
        const int64_t total = extent == 1 ? 0 : compose_max(0, more - stride + extent);
        *low = w->auto_pad == PAD_SAME_UPPER ? total / 2 : total - total / 2;
        *high = total - *low;
        w->high[d] = *high;
        w->out[d] = dim_binary(c->m, DIM_DIV, whole, dim_of(stride));
        return true;
}

/* Places a window along a dimension whose extent a run gives. Returns false where it is static, or
 * where pads or the number of positions depend on the extent in another way than by a quotient. */
static bool place_open(struct compose *c, struct compose_window *w, int d, dim_t in, bool ceil_mode)
{
        int64_t extent = compose_window_extent(w, d), stride = w->strides[d];
        int64_t *low = &w->pads[d], *high = &w->pads[w->rank + d];
        if (dim_is_static(in))
                return false;
        if (w->auto_pad == PAD_VALID) {
                *low = *high = 0;
        }
        if (dim_least(c->m, in) + *low + *high < extent)
                return false;           /* It does not fit in every run. */
        /* A last window that hangs over the end has its place where the pad is longer by all but
         * one step. So long as it cannot begin in the pad, none is dropped; without other pads it
         * does not where the pad is shorter than the window. */
        w->high[d] = *high + (ceil_mode ? stride - 1 : 0);
        if (!*low && !*high)
                w->high[d] = compose_min(w->high[d], extent - 1);
        if (w->high[d] >= extent && ceil_mode)
                return false;
        const int64_t more = *low + w->high[d] - extent + stride;
        dim_t steps = dim_binary(c->m, more < 0 ? DIM_SUB : DIM_ADD, in,
                                 dim_of(more < 0 ? -more : more));
        w->out[d] = dim_binary(c->m, DIM_DIV, steps, dim_of(stride));
        return !dim_equal(w->out[d], DIM_NONE);
}

/* Returns how far the windows of PAD_SAME reach in all, where the extent is of a run. */
static dim_t same_reach(struct compose *c, const struct compose_window *w, int d, dim_t in)
{
        const int64_t more = compose_window_extent(w, d) - w->strides[d];
        return dim_binary(c->m, DIM_ADD, dim_round_up(c->m, in, w->strides[d]), dim_of(more));
}

/* Do the pads of PAD_SAME depend on what a run gives? They do not where windows do not overlap, as
 * those of one element. */
static bool same_varies(struct compose *c, const struct compose_window *w, int d, dim_t in)
{
        int64_t more;
        return !dim_is_static(in) && compose_window_extent(w, d) > 1 &&
               !dim_difference(c->m, dim_round_up(c->m, in, w->strides[d]), in, &more);
}

struct value *compose_window_padded(struct compose *c, struct compose_window *w, struct value *x,
                                    double fill)
{
        const int rank = w->rank + 2;
        struct value *low[RANK_MAX];
        dim_t dims[RANK_MAX];
        bool varies = false;

        for (int d = 0; d < rank; d++)
                dims[d] = x->type->dims[d];
        for (int d = 0; d < w->rank; d++)
                varies = varies || same_varies(c, w, d, dims[d + 2]);
        if (!varies || !is_same(w))
                return x;
        struct value *zero = constant_ints(c->m, (const int64_t[]){ 0 }, 1);
        for (int d = 0; d < rank; d++)
                low[d] = zero;
        for (int d = 0; d < w->rank; d++) {
                dim_t *in = &dims[d + 2];
                if (same_varies(c, w, d, *in)) {
                        if (compose_window_extent(w, d) < w->strides[d]) {
                                compose_unsupported(c, "auto_pad of windows that leave elements "
                                                       "out, over an extent %s",
                                                    dim_text(c->arena, c->m, *in));
                                return NULL;
                        }
                        const dim_t reach = same_reach(c, w, d, *in);
                        struct value *end = compose_extent(c, reach);
                        struct value *total =
                                compose_binary(c, OP_sub, end, compose_extent(c, *in));
                        total = w->auto_pad == PAD_SAME_LOWER ? plus(c, total, 1) : total;
                        total = compose_with(c, OP_shr, total, 1);
                        low[d + 2] = compose_reshape(c, total, 1, zero->type->dims);
                        *in = reach;
                        w->pads[d] = w->pads[w->rank + d] = 0;
                } else if (!same_known(c, w, d, *in)) {
                        return NULL;
                }
                if (!low[d + 2])
                        return NULL;
        }
        w->auto_pad = PAD_NOTSET;       /* All pads are numbers. */
        const struct type *to = compose_type(c, value_element(x), rank, dims);
        struct value *value = build_scalar(c->b, value_element(x), fill);
        struct value *begin = build_concat(c->b, low, rank, 0);
        return compose_pad(c, x, value, begin, PAD_CONSTANT, to);
}

bool compose_window_place(struct compose *c, struct compose_window *w, const dim_t *in,
                          bool ceil_mode)
{
        for (int d = 0; d < w->rank; d++) {
                int64_t extent = compose_window_extent(w, d), stride = w->strides[d];
                int64_t *low = &w->pads[d], *high = &w->pads[w->rank + d];
                if (is_same(w)) {
                        if (same_known(c, w, d, in[d]))
                                continue;
                        return compose_unsupported(c, "pads that depend on an extent %s, here",
                                                   dim_text(c->arena, c->m, in[d]));
                }
                if (place_open(c, w, d, in[d], ceil_mode))
                        continue;
                if (!dim_is_static(in[d]))
                        return compose_unsupported(
                                c, "a window of extent %lld%s over an extent %s of %lld or more%s",
                                (long long)extent, ceil_mode ? ", with ceil_mode" : "",
                                dim_text(c->arena, c->m, in[d]), (long long)dim_least(c->m, in[d]),
                                dim_least(c->m, in[d]) < extent
                                        ? ", which it may not fit; --dim gives a lower bound"
                                        : "");
                if (w->auto_pad == PAD_VALID)
                        *low = *high = 0;
                int64_t slack = dim_extent(in[d]) + *low + *high - extent;
                if (slack < 0)
                        return compose_invalid(c,
                                               "a window of extent %lld does not fit the padded "
                                               "extent %lld of spatial dimension %d",
                                               (long long)extent, (long long)(slack + extent), d);
                int64_t places = slack / stride + 1;
                w->high[d] = *high;
                if (ceil_mode) {
                        places = divide_up(slack, stride) + 1;
                        /* A last window that would start in the end padding is dropped. */
                        if ((places - 1) * stride >= dim_extent(in[d]) + *low)
                                places--;
                        w->high[d] = compose_max(0, (places - 1) * stride + extent -
                                                            dim_extent(in[d]) - *low);
                }
                w->out[d] = dim_of(places);
        }
        return true;
}

/* ---- convolutions ---- */

struct value *compose_convolve(struct compose *c, struct value *x, struct value *w,
                               const struct compose_window *window, int64_t groups, int accumulator)
{
        struct attr *attrs = attrs_new(c->m, OP_convolve);
        int64_t pads[2 * RANK_MAX];

        if (!x || !w)
                return NULL;
        for (int d = 0; d < window->rank; d++) {
                pads[d] = window->pads[d];
                pads[window->rank + d] = window->high[d];
        }
        attr_set_ints(c->m, attrs, OP_convolve, "strides", window->strides, window->rank);
        attr_set_ints(c->m, attrs, OP_convolve, "dilations", window->dilations, window->rank);
        attr_set_ints(c->m, attrs, OP_convolve, "pads", pads, 2 * window->rank);
        attr_set(attrs, OP_convolve, "groups", groups);
        attr_set(attrs, OP_convolve, "accumulator", accumulator);
        return value_build(c->b, OP_convolve, (struct value *[]){ x, w }, 2, attrs, NULL);
}

bool compose_conv_ranks(struct compose *c, const struct value *x, const struct value *w)
{
        int rank = value_rank(x);

        if (rank < 3)
                return compose_invalid(c, "the input is of rank %d, want at least 3", rank);
        return value_rank(w) == rank ||
               compose_invalid(c, "the weights are of rank %d, want %d as the input", value_rank(w),
                               rank);
}

bool compose_conv_place(struct compose *c, const struct value *x, const struct value *w,
                        struct compose_window *window, int64_t groups)
{
        dim_t dims[RANK_MAX];

        if (!compose_conv_ranks(c, x, w))
                return false;
        int rank = value_rank(x);
        dims_extents(window->kernel, rank - 2, w->type->dims + 2);
        if (!compose_window_place(c, window, x->type->dims + 2, false))
                return false;
        if (!dim_is(x->type->dims[1], value_extent(w, 1) * groups))
                return compose_invalid(c,
                                       "%lld channels in %lld groups for weights of %lld channels",
                                       (long long)value_extent(x, 1), (long long)groups,
                                       (long long)value_extent(w, 1));
        if (value_extent(w, 0) % groups)
                return compose_invalid(c, "%lld output channels in %lld groups",
                                       (long long)value_extent(w, 0), (long long)groups);
        dims[0] = x->type->dims[0];
        dims[1] = dim_of(value_extent(w, 0));
        for (int d = 2; d < rank; d++)
                dims[d] = window->out[d - 2];
        return compose_type(c, E_F32, rank, dims) != NULL;
}

struct value *compose_with_bias(struct compose *c, struct value *y, struct value *bias)
{
        if (!y || !bias)
                return y;
        if (value_rank(bias) != 1 || value_extent(bias, 0) != value_extent(y, 1) ||
            value_element(bias) != value_element(y)) {
                compose_invalid(c, "the bias is %s, want %lld of %s", compose_text(c, bias->type),
                                (long long)value_extent(y, 1), element_info[value_element(y)].text);
                return NULL;
        }
        return add(c, y, compose_spread(c, bias, y->type, (const int64_t[]){ 1 }));
}

struct value *compose_conv(struct compose *c, struct value *x, struct value *w, struct value *bias,
                           struct compose_window *window, int64_t groups)
{
        if (!compose_conv_ranks(c, x, w))
                return NULL;
        dims_extents(window->kernel, value_rank(x) - 2, w->type->dims + 2);
        x = compose_window_padded(c, window, x, 0);
        if (!x || !compose_conv_place(c, x, w, window, groups))
                return NULL;
        return compose_with_bias(c, compose_convolve(c, x, w, window, groups, E_COMPUTE), bias);
}

struct value *compose_move_channels(struct compose *c, struct value *x, bool to_front)
{
        int64_t perm[RANK_MAX];
        int rank = x ? value_rank(x) : 0;

        for (int d = 0; d < rank; d++)
                perm[d] = d == 0          ? 0
                          : to_front      ? (d == 1 ? rank - 1 : d - 1)
                          : d == rank - 1 ? 1
                                          : d + 1;
        return compose_transpose(c, x, perm);
}

/* Returns the state after each of the last elements. */
static struct value *causal_states(struct compose *c, struct value *whole, const struct type *kept,
                                   dim_t extent, int64_t window)
{
        struct value *slots[CAUSAL_WINDOW_MAX];

        if (!window) {
                const struct compose_slice last = { .count = 1,
                                                    .axes = { 2 },
                                                    .start_by_term = { true },
                                                    .since = { extent },
                                                    .ends = { INT64_MAX },
                                                    .steps = { 1 } };
                return compose_slice(c, whole, &last);
        }
        const int64_t length = dim_extent(extent);
        for (int64_t i = 0; i < window; i++) {
                const int64_t first = length - window + i + 1;
                slots[i] = first < 1 ? constant_number(c->m, kept, 0)
                                     : compose_part(c, whole, 2, first, type_extent(kept, 2));
                if (!slots[i])
                        return NULL;
        }
        return compose_stack(c, slots, (int)window, 0);
}

struct value *compose_causal_conv(struct compose *c, const struct compose_causal *in,
                                  struct value **state)
{
        struct value *x = in->x, *w = in->w, *past = in->past;
        const dim_t *d = x->type->dims;
        const int64_t kernel = value_extent(w, 2);

        if (!dim_is(d[1], value_extent(w, 0)) || value_extent(w, 1) != 1 || kernel < 1) {
                compose_invalid(c, "the weights are %s for an input %s", compose_text(c, w->type),
                                compose_text(c, x->type));
                return NULL;
        }
        if (kernel > NUMBER_MAX) {
                compose_unsupported(c, "a kernel of %lld", (long long)kernel);
                return NULL;
        }
        const int64_t held = (kernel - 1) * in->dilation;
        const dim_t kept[3] = { d[0], d[1], dim_of(held) };
        const dim_t whole[3] = { d[0], d[1], dim_binary(c->m, DIM_ADD, d[2], kept[2]) };
        const struct type *t = compose_type(c, value_element(x), 3, kept);
        if (!t || !compose_type(c, value_element(x), 3, whole))
                return NULL;
        if (past && in->window && value_rank(past) == 4 && value_extent(past, 0) == in->window)
                past = compose_pick(c, past, 0, in->window - 1);
        if (!past)
                past = constant_number(c->m, t, 0);
        if (past->type != t) {
                compose_invalid(c, "past_state is %s, want %s", compose_text(c, past->type),
                                compose_text(c, t));
                return NULL;
        }
        x = build_concat(c->b, (struct value *[]){ past, x }, 2, 2);
        if (!x)
                return NULL;
        const struct compose_window window = { .rank = 1,
                                               .kernel = { kernel },
                                               .strides = { 1 },
                                               .dilations = { in->dilation },
                                               .out = { d[2] } };
        struct value *y = compose_convolve(c, x, w, &window, dim_extent(d[1]), E_COMPUTE);
        y = compose_with_bias(c, y, in->bias);
        if (y && in->swish) {
                struct value *wide = compose_wide(c, y);
                wide = mul(c, wide, compose_unary(c, OP_sigmoid, wide));
                y = compose_cast(c, wide, value_element(y));
        }
        *state = y ? causal_states(c, x, t, d[2], in->window) : NULL;
        return *state ? y : NULL;
}

/* ---- transposed convolutions ----
 * The gradient of a convolution: the input is spread out by the strides, padded by the window's
 * reach less the pads, and convolved with the kernel mirrored and its channels exchanged. */

/* Returns w [C, M / groups, window] as [M, C / groups, mirrored window]. */
static struct value *mirrored(struct compose *c, struct value *w, int64_t groups)
{
        int rank = value_rank(w);
        int64_t perm[RANK_MAX + 1], starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
        dim_t split[RANK_MAX + 1], merged[RANK_MAX];

        split[0] = dim_of(groups);
        split[1] = dim_of(value_extent(w, 0) / groups);
        for (int d = 1; d < rank; d++)
                split[d + 1] = dim_of(value_extent(w, d));
        for (int d = 0; d <= rank; d++)
                perm[d] = d == 1 ? 2 : d == 2 ? 1 : d;
        merged[0] = dim_of(groups * value_extent(w, 1));
        merged[1] = split[1];
        for (int d = 0; d < rank; d++) {
                if (d >= 2) {
                        merged[d] = dim_of(value_extent(w, d));
                        starts[d] = dim_extent(merged[d]) - 1;
                }
                steps[d] = d < 2 || dim_is(merged[d], 1) ? 1 : -1;
        }
        w = compose_reshape(c, w, rank + 1, split);
        w = compose_reshape(c, compose_transpose(c, w, perm), rank, merged);
        return w ? build_slice(c->b, w, starts, steps, merged) : NULL;
}

/* Places the window along a dimension whose extent a run gives, which is not 0. Returns false where
 * it is static, or where pads depend on the extent. */
static bool transposed_open(struct compose *c, struct compose_transposed *t, int d, dim_t in)
{
        struct compose_window *w = &t->window;
        const bool same = w->auto_pad == PAD_SAME_UPPER || w->auto_pad == PAD_SAME_LOWER;
        int64_t *low = &w->pads[d], *high = &w->pads[w->rank + d],
                more = t->extra[d] + compose_window_extent(w, d) - w->strides[d];
        if (dim_is_static(in) || t->shaped || dim_least(c->m, in) < 1)
                return false;
        if (same) {                     /* The full result is so much longer than x times stride. */
                const int64_t total = compose_max(0, more);
                *low = w->auto_pad == PAD_SAME_UPPER ? total / 2 : total - total / 2;
                *high = total - *low;
                more = 0;
        } else if (w->auto_pad == PAD_VALID) {
                *low = *high = 0;
        } else {
                more -= *low + *high;
        }
        dim_t whole = dim_binary(c->m, DIM_MUL, in, dim_of(w->strides[d]));
        if (dim_least(c->m, whole) + more < 0)
                return false;
        w->out[d] = dim_binary(c->m, more < 0 ? DIM_SUB : DIM_ADD, whole,
                               dim_of(more < 0 ? -more : more));
        return !dim_equal(w->out[d], DIM_NONE);
}

/* Finds the pads from the extents wanted or auto_pad: what the full result has too much is cut, the
 * odd row at the end for PAD_SAME_UPPER, else at the start. */
static void transposed_place(struct compose *c, struct compose_transposed *t, const dim_t *in)
{
        struct compose_window *w = &t->window;

        for (int d = 0; d < w->rank; d++) {
                if (transposed_open(c, t, d, in[d]))
                        continue;
                int64_t full = w->strides[d] * (dim_extent(in[d]) - 1) + t->extra[d] +
                               compose_window_extent(w, d),
                        want;
                int64_t *low = &w->pads[d], *high = &w->pads[w->rank + d];
                if (t->shaped) {
                        want = t->shape[d];
                } else if (w->auto_pad == PAD_SAME_UPPER || w->auto_pad == PAD_SAME_LOWER) {
                        want = dim_extent(in[d]) * w->strides[d];
                } else {
                        if (w->auto_pad == PAD_VALID)
                                *low = *high = 0;
                        w->out[d] = dim_of(full - *low - *high);
                        continue;
                }
                /* A result longer than the full one has empty rows at its end; pads do not go below
                 * 0 by themselves. */
                int64_t total = compose_max(0, full - want);
                *low = w->auto_pad == PAD_SAME_UPPER ? total / 2 : total - total / 2;
                *high = total - *low;
                w->out[d] = dim_of(want);
        }
}

struct value *compose_conv_transposed(struct compose *c, struct value *x, struct value *w,
                                      struct value *bias, struct compose_transposed *t)
{
        struct compose_window *window = &t->window;
        int rank = value_rank(x);
        int64_t pads[2 * RANK_MAX], groups = t->groups;
        dim_t dims[RANK_MAX];

        if (value_extent(w, 0) != value_extent(x, 1) || value_extent(x, 1) % groups) {
                compose_invalid(c, "%lld channels in %lld groups for weights of %lld channels",
                                (long long)value_extent(x, 1), (long long)groups,
                                (long long)value_extent(w, 0));
                return NULL;
        }
        dims_extents(window->kernel, rank - 2, w->type->dims + 2);
        transposed_place(c, t, x->type->dims + 2);
        dims[0] = x->type->dims[0];
        dims[1] = dim_of(value_extent(w, 1) * groups);
        for (int d = 0; d < window->rank; d++) {
                const dim_t in = x->type->dims[d + 2];
                int64_t more;           /* The result is so much longer than x times stride. */
                if (dim_is(in, 0)) {
                        compose_invalid(c, "spatial dimension %d is of extent 0", d);
                        return NULL;
                }
                const int64_t stride = window->strides[d];
                if (!dim_difference(c->m, window->out[d],
                                    dim_binary(c->m, DIM_MUL, in, dim_of(stride)), &more))
                        more = dim_extent(window->out[d]) - dim_extent(in) * stride;
                dims[d + 2] = window->out[d];
                pads[d] = compose_window_extent(window, d) - 1 - window->pads[d];
                /* This pad makes exactly the extent wanted: (in - 1) * stride + 1 + low + high -
                 * (window - 1) == out. */
                pads[window->rank + d] = more - 1 + window->strides[d] - pads[d] +
                                         compose_window_extent(window, d) - 1;
        }
        if (!compose_type(c, value_element(x), rank, dims))
                return NULL;
        struct attr *attrs = attrs_new(c->m, OP_convolve);
        attr_set_ints(c->m, attrs, OP_convolve, "input_dilations", window->strides, window->rank);
        attr_set_ints(c->m, attrs, OP_convolve, "dilations", window->dilations, window->rank);
        attr_set_ints(c->m, attrs, OP_convolve, "pads", pads, 2 * window->rank);
        attr_set(attrs, OP_convolve, "groups", groups);
        w = mirrored(c, w, groups);
        struct value *y =
                w ? value_build(c->b, OP_convolve, (struct value *[]){ x, w }, 2, attrs, NULL)
                  : NULL;
        return compose_with_bias(c, y, bias);
}
