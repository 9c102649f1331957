/* SPDX-License-Identifier: MIT */
/* Layout of convolutions: convolve becomes convolve_packed or, depthwise, convolve_lanes.
 *
 *   groups        few channels of several groups become one group, a block has the channels of one
 *                 group, or each output of a channel reads a copy of it (groups.c)
 *   volumes       windows of 1 x 3 x 3 are windows of 3 x 3 over more images, so that Winograd's
 *                 algorithm can have them (layout_volumes.c)
 *   transposed    (input_dilations): output s * q + r sums every s-th weight only, so each r is a
 *                 convolution of its own, and the results lie interleaved in the whole */
#include "passes/layout/layout.h"
#include "passes/layout/neighbours.h"
#include "passes/simplify/ranges.h"

#include <string.h>

enum { SPATIAL_MAX = 6, PHASES_MAX = 64 };

struct convolution {
        struct layout *l;
        const struct op *op;
        struct value *x, *w;            /* Both are in the logical form: x is [N, C, S..], w is [M,
                                         * C / groups, K..]. */
        const struct multiply *multiply;
        int64_t groups, block;          /* A block of x has this many channels, before blocks are
                                         * padded to whole words. */
        bool own;                       /* A block has the channels, or the outputs, of one
                                         * group. */
        int spatial;
        const int64_t *strides, *dilations; /* Each is of all spatial dimensions of x in blocks. */
};

static bool is_depthwise(const struct convolution *c)
{
        return c->groups > 1 && dim_is(c->w->type->dims[1], 1) &&
               dim_is(c->w->type->dims[0], c->groups) && !(c->multiply && c->multiply->streams);
}

/* ---- groups ---- */

/* Pads single channels up to whole blocks: there are zeros for the channels behind the last. */
static void pad_groups(struct convolution *c)
{
        const int64_t groups = round_up(c->groups, c->l->block);
        const int rank = c->w->type->rank;
        dim_t padded[RANK_MAX];
        int64_t perm[RANK_MAX];
        for (int d = 0; d < rank; d++) {
                padded[d] = dim_of(d ? type_extent(c->w->type, d) : groups);
                perm[d] = d;
        }
        c->w = layout_pack(&c->l->b, c->w, padded, rank, padded, perm);
        c->groups = groups;
}

/* Brings the groups to a form that a kernel takes: one group, whole blocks, or single channels.
 * Returns false if that would cost too much. */
static bool bring_groups(struct convolution *c)
{
        int64_t channels = type_extent(c->w->type, 1),
                outputs = type_extent(c->w->type, 0) / c->groups;
        if (c->groups == 1 || c->own || is_depthwise(c) ||
            (channels % c->l->block == 0 && outputs % c->l->block == 0))
                return true;
        const bool streams = c->multiply->streams;
        if (streams && channels == 1 && outputs == 1 && c->groups % c->l->block &&
            value_is_constant(c->w))
                pad_groups(c);
        if (channels == 1 && outputs > 1) {
                c->x = layout_repeat_channels(&c->l->b, c->x, outputs);
                c->groups *= outputs;
                return true;
        }
        int64_t merged = layout_merged_groups(c->l, c->groups, channels, outputs,
                                       streams ? c->l->block : LAYOUT_MERGED_MAX);
        if (!merged)
                return false;
        c->w = layout_merge_groups(&c->l->b, c->w, c->groups, merged);
        c->groups /= merged;
        return true;
}

/* ---- operands ---- */

/* Returns x in blocks where it has few channels: they stay as they are, in blocks of one channel,
 * or in one block of all where x comes from [N, S.., C]. */
static struct value *few_channels(struct layout *l, struct value *x)
{
        int rank = x->type->rank;
        dim_t dims[RANK_MAX];
        bool channels_last = op_is(x, OP_transpose);
        const int64_t *perm = channels_last ? op_ints(x->op, "perm", NULL) : NULL;
        for (int d = 0; channels_last && d < rank; d++)
                channels_last = perm[d] == (d == 0 ? 0 : d == 1 ? rank - 1 : d - 1);
        memcpy(dims, x->type->dims, (size_t)rank * sizeof *dims);
        dims[rank] = dim_of(channels_last ? dim_extent(dims[1]) : 1);
        dims[1] = dim_of(channels_last ? 1 : dim_extent(dims[1]));
        return layout_reshape(&l->b, channels_last ? op_operand(x->op, 0) : x, rank + 1, dims);
}

/* Returns the same for words, and for hardware tiles, whose rows are the channels of a row of the
 * window: [N, 1, S.., C] with C padded to whole words. A cast to fewer bits is done where elements
 * are moved. */
static struct value *grouped_channels(struct layout *l, struct value *x, int group)
{
        int rank = x->type->rank;
        dim_t dims[RANK_MAX];
        int64_t perm[RANK_MAX] = { 0 },
                missing = round_up(type_extent(x->type, 1), group) - type_extent(x->type, 1);
        const enum element e = x->type->element;
        bool rounded = element_is_small(e) && op_is(x, OP_cast) &&
                       op_operand(x->op, 0)->type->element == E_F32;
        x = rounded ? op_operand(x->op, 0) : x;
        for (int d = 1; d < rank; d++)
                perm[d] = d + 1 < rank ? d + 1 : 1;
        x = layout_transpose(&l->b, x, perm);
        if (!x)
                return NULL;
        memcpy(dims + 2, x->type->dims + 1, (size_t)(rank - 1) * sizeof *dims);
        dims[0] = x->type->dims[0];
        dims[1] = dim_of(1);
        x = layout_reshape(&l->b, x, rank + 1, dims);
        return layout_halo(&l->b, rounded ? build_cast(&l->b, x, e) : x, rank,
                           (int64_t[]){ 0, missing }, 1);
}

/* Puts w's channels into as many blocks as x has, each padded with zeros up to `inner` channels. */
static struct value *words_of_blocks(struct layout *l, struct value *w, int64_t blocks,
                                     int64_t channels, int64_t inner)
{
        const int rank = w->type->rank;
        dim_t padded[RANK_MAX], dims[RANK_MAX], whole[RANK_MAX];
        int64_t perm[RANK_MAX];
        memcpy(padded, w->type->dims, (size_t)rank * sizeof *padded);
        memcpy(whole, padded, sizeof padded);
        memcpy(dims + 2, padded + 1, (size_t)(rank - 1) * sizeof *dims);
        padded[1] = dim_of(blocks * channels);
        dims[0] = padded[0];
        dims[1] = dim_of(blocks);
        dims[2] = dim_of(channels);
        for (int d = 0; d <= rank; d++)
                perm[d] = d;
        w = layout_pack(&l->b, w, padded, rank + 1, dims, perm);
        dims[2] = dim_of(inner);
        w = w ? layout_pack(&l->b, w, dims, rank + 1, dims, perm) : NULL;
        whole[1] = dim_of(blocks * inner);
        return w ? layout_reshape(&l->b, w, rank, whole) : NULL;
}

/* Packs w [M, C / groups, K..] as panels [P, blocks, K.., inner / channels of a word, vectors,
 * lanes * channels of a word]. stored: the outputs of a group, with those that pad a block. */
static struct value *pack_panels(struct layout *l, struct value *w, const struct multiply *m,
                                 int64_t groups, int64_t blocks, int64_t inner, int64_t stored,
                                 int64_t positions)
{
        const dim_t *old = w->type->dims;
        struct schedule_product product = { .groups = groups,
                                            .positions = positions,
                                            .outputs = stored,
                                            .channels = blocks * inner };
        for (int d = 2; d < w->type->rank; d++)
                product.channels *= dim_extent(old[d]);
        int64_t vectors = multiply_panel(l->context->target, m, &product);
        int window = w->type->rank - 2;
        int64_t outputs = dim_extent(old[0]) / groups, panel = vectors * m->outputs;
        int64_t panels = divide_up(stored, panel);
        dim_t split[RANK_MAX] = { dim_of(groups), dim_of(outputs), old[1] };
        dim_t padded[RANK_MAX] = { dim_of(groups), dim_of(panels * panel), dim_of(blocks * inner) };
        int pair = m->channels, pairs = pair > 1;
        dim_t dims[RANK_MAX] = { dim_of(groups),     dim_of(panels), dim_of(vectors),
                                 dim_of(m->outputs), dim_of(blocks), dim_of(inner / pair),
                                 dim_of(pair) };
        int64_t perm[RANK_MAX] = { 0, 1, 4 };
        for (int d = 0; d < window; d++) {
                split[3 + d] = padded[3 + d] = dims[6 + pairs + d] = old[2 + d];
                perm[3 + d] = 6 + pairs + d;
        }
        const int64_t inside[] = { 5, 2, 3, 6 };
        memcpy(perm + 3 + window, inside, sizeof inside);
        struct value *packed = layout_reshape(&l->b, w, 3 + window, split);
        packed = packed ? layout_pack(&l->b, packed, padded, 6 + pairs + window, dims, perm) : NULL;
        if (!packed)
                return NULL;
        int rank = 6 + window;
        memcpy(dims, packed->type->dims, (size_t)rank * sizeof *dims);
        dims[1] = dim_of(dim_extent(dims[1]) * groups);
        dims[rank - 1] = dim_of(dim_extent(dims[rank - 1]) * pair);
        return layout_reshape(&l->b, packed, rank - 1, dims + 1);
}

/* Packs depthwise weights: [C, 1, K..] becomes [C / 16, K.., 16]. */
static struct value *pack_lanes(struct layout *l, struct value *w, int64_t lanes)
{
        dim_t dims[RANK_MAX] = { w->type->dims[0] };
        int spatial = w->type->rank - 2;
        memcpy(dims + 1, w->type->dims + 2, (size_t)spatial * sizeof *dims);
        w = layout_reshape(&l->b, w, 1 + spatial, dims);
        return w ? layout_split(&l->b, w, 0, lanes) : NULL;
}

/* ---- the operation ---- */

/* Returns how many channels a block of results has, where a group has this many outputs. */
static int64_t block_of(const struct convolution *c, int64_t outputs)
{
        return c->own || is_last(c->l, op_result(c->op)) ? outputs : c->l->block;
}

/* Builds the contraction of x, in blocks with its halo, by w (all of c's weights, or those of a
 * phase). */
static struct value *contract(const struct convolution *c, struct value *x, struct value *w)
{
        struct layout *l = c->l;
        bool lanes = is_depthwise(c);
        enum opcode code = lanes ? OP_convolve_lanes : OP_convolve_packed;
        struct attr *attrs = attrs_new(l->m, code);
        attr_set_ints(l->m, attrs, code, "strides", c->strides, c->spatial);
        attr_set_ints(l->m, attrs, code, "dilations", c->dilations, c->spatial);
        /* Vectors of floats hold such sums exactly. */
        bool bytes = lanes && element_is_integer(c->x->type->element) &&
                     !target_engine(l->context->target)->single_sums;
        attr_set(attrs, code, "accumulator", bytes ? E_F32 : op_int(c->op, "accumulator"));
        if (!x || !w)
                return NULL;
        if (lanes) {
                w = pack_lanes(l, w, type_extent(x->type, x->type->rank - 1));
        } else {
                int64_t outputs = type_extent(w->type, 0) / c->groups, block = block_of(c, outputs);
                int64_t stored = layout_blocks(outputs, block) * block;
                int64_t positions = type_most_elements(l->m, op_result(c->op)->type) /
                                    type_extent(op_result(c->op)->type, 1);
                int64_t inner = type_extent(x->type, x->type->rank - 1),
                        blocks = type_extent(x->type, 1) / c->groups;
                attr_set(attrs, code, "groups", c->groups);
                /* These multiplies take whole blocks: there are zeros behind the channels. */
                bool whole = c->multiply->registers || c->multiply->sum == E_I32;
                attr_set(attrs, code, "channels", whole ? blocks * inner : type_extent(w->type, 1));
                attr_set(attrs, code, "outputs", outputs);
                attr_set(attrs, code, "block", block);
                attr_set(attrs, code, "limit", multiply_limit(op_operand(c->op, 1)));
                if (blocks > 1 && inner > c->block)
                        w = words_of_blocks(l, w, blocks, c->block, inner);
                w = !w ? NULL
                       : pack_panels(l, w, c->multiply, c->groups, blocks, inner, stored,
                                     positions);
                w = layout_crossed(l, w, c->multiply, attrs);
        }
        w = w ? value_build(&l->b, code, (struct value *[]){ x, w }, 2, attrs, NULL) : NULL;
        return bytes ? build_cast(&l->b, w, op_result(c->op)->type->element) : w;
}

/* ---- transposed convolution ---- */

/* The struct describes a phase of one dimension: output s * q + r, with q below `count`, is the sum
 * over t below `taps` of weight first + s * t times x at q - low + t. `high` is how far x is read
 * behind its end. */
struct phase { int64_t first, taps, low, high; };

/* more: by so much the count of a phase's outputs is larger than the extent of x. */
static struct phase phase_of(int64_t r, int64_t step, int64_t pad, int64_t window, int64_t more)
{
        int64_t turn = (pad - r) % step;
        struct phase p = { .first = turn < 0 ? turn + step : turn };
        p.low = (pad - r - p.first) / step;
        p.taps = p.first < window ? (window - p.first + step - 1) / step : 0;
        p.high = more + p.taps - 1 - p.low;
        return p;
}

struct phases {
        const struct convolution *c;
        const int64_t *steps, *pads;
        dim_t count[SPATIAL_MAX];       /* Every phase has this many positions. */
        int64_t more[SPATIAL_MAX];      /* These are so many more than x has. */
        bool good;                      /* This is a number in each dimension. */
        int64_t low[SPATIAL_MAX];       /* The halo that serves all phases has this many elements in
                                         * front of x. */
        struct value *x;                /* The operand is x with that halo. */
};

static struct phase phase_in(const struct phases *p, int d, int64_t r)
{
        const struct convolution *c = p->c;
        return phase_of(r, p->steps[d], p->pads[d], type_extent(c->w->type, 2 + d), p->more[d]);
}

static struct value *contract_phase(const struct phases *p, const int64_t *r)
{
        struct builder *b = &p->c->l->b;
        struct value *w = p->c->w;
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX], from[RANK_MAX] = { 0 }, ones[RANK_MAX];
        dim_t dims[RANK_MAX], part[RANK_MAX];
        bool none = false;
        memcpy(dims, w->type->dims, (size_t)w->type->rank * sizeof *dims);
        memcpy(part, p->x->type->dims, (size_t)p->x->type->rank * sizeof *part);
        for (int d = 0; d < RANK_MAX; d++)
                steps[d] = ones[d] = 1;
        for (int d = 0; d < p->c->spatial; d++) {
                struct phase phase = phase_in(p, d, r[d]);
                starts[2 + d] = phase.first;
                steps[2 + d] = p->steps[d];
                dims[2 + d] = dim_of(phase.taps);
                from[2 + d] = p->low[d] - phase.low;
                part[2 + d] = dim_binary(p->c->l->m, DIM_ADD, p->count[d],
                                         dim_of(phase.taps ? phase.taps - 1 : 0));
                none |= !phase.taps;
        }
        if (none) {                     /* No weight of the phase meets an element of x. */
                memcpy(part + 2, p->count, (size_t)p->c->spatial * sizeof *part);
                int64_t outputs = type_extent(w->type, 0) / p->c->groups,
                        block = block_of(p->c, outputs);
                if (!is_depthwise(p->c)) {      /* Results of convolve_packed lie as x does. */
                        part[1] = dim_of(p->c->groups * layout_blocks(outputs, block));
                        part[p->x->type->rank - 1] = dim_of(block);
                }
                enum element e = op_result(p->c->op)->type->element;
                return constant_number(b->m, type_tensor(b->m, e, p->x->type->rank, part), 0);
        }
        struct value *weights = layout_slice(b, w, starts, steps, dims);
        return contract(p->c, build_slice(b, p->x, from, ones, part), weights);
}

/* Joins the phases along a new dimension or, where the images are known, along theirs. */
static struct value *join_phases(struct builder *b, struct value **parts, int count)
{
        for (int i = 0; i < count && parts[i] && !dim_is_static(parts[i]->type->dims[0]); i++) {
                const struct type *t = parts[i]->type;
                dim_t dims[RANK_MAX] = { dim_of(1) };
                memcpy(dims + 1, t->dims, (size_t)t->rank * sizeof *dims);
                parts[i] = build_reshape(b, parts[i], t->rank + 1, dims);
        }
        return build_concat(b, parts, count, 0);
}

/* Interleaves the phases: parts <P * N x C/16 x Q.. x 16> (or <P x N x ..>), one phase after the
 * other, become <N x C/16 x (Q * s).. x 16>, cut to the extents of y. */
static struct value *interleave(const struct phases *p, struct value *parts, const struct type *y)
{
        struct builder *b = &p->c->l->b;
        int spatial = p->c->spatial;
        dim_t dims[RANK_MAX];
        int64_t perm[RANK_MAX] = { spatial, spatial + 1 };
        for (int d = 0; d < spatial; d++) {
                dims[d] = dim_of(p->steps[d]);
                dims[spatial + 2 + d] = p->count[d];
                perm[2 + 2 * d] = spatial + 2 + d;
                perm[3 + 2 * d] = d;
        }
        const dim_t *part = parts->type->dims + !dim_is_static(y->dims[0]);
        dims[spatial] = y->dims[0];
        dims[spatial + 1] = part[1];
        dims[2 * spatial + 2] = part[spatial + 2];
        perm[2 * spatial + 2] = 2 * spatial + 2;
        struct value *v = build_transpose(b, build_reshape(b, parts, 2 * spatial + 3, dims), perm);
        dims[0] = y->dims[0];
        dims[1] = part[1];
        for (int d = 0; d < spatial; d++)
                dims[2 + d] = dim_binary(b->m, DIM_MUL, p->count[d], dim_of(p->steps[d]));
        dims[2 + spatial] = part[spatial + 2];
        v = build_reshape(b, v, spatial + 3, dims);
        memcpy(dims + 2, y->dims + 2, (size_t)spatial * sizeof *dims);
        return v ? layout_slice_to(b, v, dims) : NULL;
}

static struct phases phases_of(const struct convolution *c)
{
        const struct type *y = op_result(c->op)->type;
        struct phases p = { .c = c,
                            .steps = op_ints(c->op, "input_dilations", NULL),
                            .pads = op_ints(c->op, "pads", NULL),
                            .good = true };
        for (int d = 0; d < c->spatial; d++) {
                dim_t whole = dim_binary(c->l->m, DIM_ADD, y->dims[2 + d], dim_of(p.steps[d] - 1));
                p.count[d] = dim_binary(c->l->m, DIM_DIV, whole, dim_of(p.steps[d]));
                p.good &= dim_difference(c->l->m, p.count[d], c->x->type->dims[2 + d], &p.more[d]);
        }
        return p;
}

/* Builds a transposed convolution of x, which is in blocks, phase by phase. */
static struct value *contract_phases(const struct convolution *c, struct value *x)
{
        const struct type *y = op_result(c->op)->type;
        struct phases p = phases_of(c);
        int64_t halo[2 * SPATIAL_MAX] = { 0 }, total = 1;
        for (int d = 0; d < c->spatial; d++) {
                total *= p.steps[d];
                for (int64_t r = 0; r < p.steps[d]; r++) {
                        struct phase phase = phase_in(&p, d, r);
                        if (!phase.taps)
                                continue;
                        p.low[d] = phase.low > p.low[d] ? phase.low : p.low[d];
                        int64_t *high = &halo[c->spatial + d];
                        *high = phase.high > *high ? phase.high : *high;
                }
        }
        memcpy(halo, p.low, (size_t)c->spatial * sizeof *halo);
        p.x = layout_halo(&c->l->b, x, 2, halo, c->spatial);
        struct value *parts[PHASES_MAX];
        int64_t r[SPATIAL_MAX] = { 0 };
        for (int64_t i = 0; p.x && i < total; i++) {
                parts[i] = contract_phase(&p, r);
                for (int d = c->spatial - 1; d >= 0 && ++r[d] == p.steps[d]; d--)
                        r[d] = 0;
        }
        struct value *all = p.x ? join_phases(&c->l->b, parts, (int)total) : NULL;
        return all ? interleave(&p, all, y) : NULL;
}

/* Do all phases read the same elements of x? Then few outputs are computed with all phases in one
 * convolution, as outputs of it. Fills in *p. */
static bool phases_alike(const struct convolution *c, struct phases *p)
{
        for (int d = 0; d < c->spatial; d++) {
                struct phase first = phase_in(p, d, 0);
                p->low[d] = first.low;
                for (int64_t r = 0; r < p->steps[d]; r++) {
                        struct phase phase = phase_in(p, d, r);
                        if (!phase.taps || phase.taps != first.taps || phase.low != first.low)
                                return false;
                }
        }
        return c->groups == 1 && type_extent(c->w->type, 0) < c->l->block;
}

static struct value *weights_of_phases(const struct convolution *c, const struct phases *p,
                                       int64_t total)
{
        struct builder b = c->l->b;
        struct value *parts[PHASES_MAX];
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX] = { 1, 1 }, r[SPATIAL_MAX] = { 0 };
        dim_t dims[RANK_MAX] = { c->w->type->dims[0], c->w->type->dims[1] };
        b.fold = fold_op;
        b.fold_context = c->l->context;
        for (int64_t i = 0; i < total; i++) {
                for (int d = 0; d < c->spatial; d++) {
                        struct phase phase = phase_in(p, d, r[d]);
                        starts[2 + d] = phase.first;
                        steps[2 + d] = p->steps[d];
                        dims[2 + d] = dim_of(phase.taps);
                }
                parts[i] = layout_slice(&b, c->w, starts, steps, dims);
                for (int d = c->spatial - 1; d >= 0 && ++r[d] == p->steps[d]; d--)
                        r[d] = 0;
        }
        return build_concat(&b, parts, (int)total, 0);
}

/* Builds that convolution, and returns the logical value of its result. */
static struct value *contract_phases_at_once(const struct convolution *c, struct value *x,
                                             const struct phases *p)
{
        struct builder *b = &c->l->b;
        const struct type *y = op_result(c->op)->type;
        int64_t halo[2 * SPATIAL_MAX], total = 1, perm[RANK_MAX] = { 0, 1 + c->spatial };
        dim_t dims[RANK_MAX] = { y->dims[0] }, split[RANK_MAX] = { y->dims[0] };
        for (int d = 0; d < c->spatial; d++) {
                struct phase phase = phase_in(p, d, 0);
                halo[d] = phase.low;
                halo[c->spatial + d] = phase.high;
                total *= p->steps[d];
                split[1 + d] = dim_of(p->steps[d]);
                dims[2 + d] = split[2 + c->spatial + d] = p->count[d];
                perm[2 + 2 * d] = 2 + c->spatial + d;
                perm[3 + 2 * d] = 1 + d;
        }
        dims[1] = dim_of(total * type_extent(y, 1));
        split[1 + c->spatial] = y->dims[1];
        struct value *w = weights_of_phases(c, p, total);
        struct value *v = contract(c, layout_halo(b, x, 2, halo, c->spatial), w);
        v = v ? layout_unblock(b, v, type_tensor(b->m, y->element, y->rank, dims)) : NULL;
        v = build_transpose(b, build_reshape(b, v, 2 * c->spatial + 2, split), perm);
        dims[1] = y->dims[1];
        for (int d = 0; d < c->spatial; d++)
                dims[2 + d] = dim_binary(b->m, DIM_MUL, p->count[d], dim_of(p->steps[d]));
        v = build_reshape(b, v, y->rank, dims);
        return v ? layout_slice_to(b, v, y->dims) : NULL;
}

/* ---- all of it ---- */

/* Pads the channels of a block up to whole words: zeros multiply what is added. */
static struct value *whole_words(struct layout *l, struct value *x, int group)
{
        int last = x ? x->type->rank - 1 : 0;
        int64_t inner = x ? type_extent(x->type, last) : 0,
                missing = round_up(inner, group) - inner;
        return missing ? layout_halo(&l->b, x, last, (int64_t[]){ 0, missing }, 1) : x;
}

bool layout_lanes_sum(const struct layout *l, const struct op *depthwise)
{
        enum element x = op_operand(depthwise, 0)->type->element;
        return !element_is_integer(x) ||
               (layout_bytes(l, depthwise) && whole_in_floats(depthwise));
}

/* Returns what multiplies x by w; NULL: the convolution is computed in its own shape. */
static const struct multiply *layout_multiply(const struct layout *l, const struct op *op,
                                              const struct value *w)
{
        enum element x = op_operand(op, 0)->type->element;
        if (element_is_integer(x))
                return layout_bytes(l, op);
        return op_result(op)->type->element == E_F32
                       ? multiply_in(l->context, x, w->type->element)
                       : NULL;
}

/* Depthwise convolutions of floats may stay canonical nests, which need no multiply. */
static bool needs_multiply(const struct layout *l, const struct op *op)
{
        return !layout_is_depthwise(op) ||
               !target_engine(l->context->target)->canonical_depthwise ||
               op_operand(op, 0)->type->element != E_F32 || op_result(op)->type->element != E_F32;
}

/* Returns the number of channels in a word, or in a step of a warp. Memory has zeros behind the
 * last channel. */
static int whole_group(const struct convolution *c)
{
        return is_depthwise(c)                    ? 1
               : multiply_takes_rows(c->multiply) ? multiply_row(c->multiply)
                                                  : c->multiply->channels;
}

bool layout_has_phases(const struct op *convolve)
{
        int spatial;
        const int64_t *steps = op_ints(convolve, "input_dilations", &spatial);
        int64_t total = 1;
        for (int d = 0; d < spatial && total <= PHASES_MAX; d++)
                total *= steps[d];
        return total <= PHASES_MAX && op_all_ones(convolve, "strides") &&
               op_all_ones(convolve, "dilations");
}

bool layout_is_depthwise(const struct op *convolve)
{
        return op_is_depthwise(convolve) &&
               dim_is(op_operand(convolve, 1)->type->dims[0], op_int(convolve, "groups"));
}

bool layout_is_direct(const struct op *convolve)
{
        return op_all_ones(convolve, "input_dilations");
}

bool layout_convolve(struct layout *l, struct op *op)
{
        struct value *w = layout_decoded(l, op_operand(op, 1));
        struct convolution c = { .l = l,
                                 .op = op,
                                 .x = op_operand(op, 0),
                                 .w = layout_is_depthwise(op) ? w : layout_stored(l, w),
                                 .groups = op_int(op, "groups"),
                                 .strides = op_ints(op, "strides", NULL),
                                 .dilations = op_ints(op, "dilations", NULL),
                                 .spatial = op_operand(op, 0)->type->rank - 2 };
        bool whole = op_all_ones(op, "input_dilations");
        const struct type *result = op_result(op)->type;
        const struct schedule_product product = {
                .groups = c.groups,
                .positions = type_most_elements(l->m, result) / type_extent(result, 1),
                .outputs = type_extent(result, 1) / c.groups,
                .channels = type_elements(c.w->type) / type_extent(c.w->type, 0)
        };
        c.multiply = multiply_of_product(l->context, layout_multiply(l, op, c.w), &product);
        if (c.multiply && c.multiply->registers && !op_is_static_inside(op))
                c.multiply = multiply_in_vectors(l->context, c.multiply->x.memory,
                                                 c.multiply->w.memory,
                                                 multiply_limit(op_operand(op, 1)));
        if (!c.multiply && needs_multiply(l, op))
                return layout_refuse(l, REMARK_layout_multiply);
        if (is_depthwise(&c) && !layout_lanes_sum(l, op))
                return layout_refuse(l, REMARK_layout_sums);
        if (c.spatial < 1 || c.spatial > SPATIAL_MAX)
                return layout_refuse(l, REMARK_layout_window);
        if (layout_stays(op))
                return layout_refuse(l,
                                     is_depthwise(&c) ? REMARK_layout_plain : REMARK_layout_stays);
        struct phases p = phases_of(&c);
        if (!whole && !(p.good && layout_has_phases(op)))
                return layout_refuse(l, REMARK_layout_phases);
        c.own = layout_has_own_blocks(l, op);
        if (!bring_groups(&c))
                return layout_refuse(l, REMARK_layout_groups);
        if (is_depthwise(&c) && !layout_is_depthwise(op))
                c.w = w;                /* Channels were repeated: lanes widen no weights. */
        bool few = !c.own && !is_depthwise(&c) && !blocks_of(c.x) &&
                   type_extent(c.x->type, 1) < l->block;
        int group = whole_group(&c);
        struct neighbours near = { 0 };
        const bool nears = few && layout_wants_neighbours(l->context->target, op, group);
        if (nears) {
                if (!layout_neighbours(l, op, c.w, group, &near))
                        near.x = NULL;
                c.w = near.w;
                c.strides = near.strides;
                c.dilations = near.dilations;
        }
        struct value *x =
                nears   ? near.x
                : c.own ? layout_groups(l, c.x, c.groups)
                : few && group > 1 ? grouped_channels(l, c.x, group)
                : few            ? few_channels(l, c.x)
                : is_depthwise(&c)
                        ? layout_blocked_as(l, c.x,
                                            /* x may be new, the rows of a matrix; then the result
                                             * knows its layout. */
                                            is_last(l, op_result(op)))
                        : layout_blocked(l, c.x);
        c.block = x ? type_extent(x->type, x->type->rank - 1) : 0;
        if (!few)
                x = whole_words(l, x, group);
        if (x && !is_depthwise(&c))
                x = build_cast(&l->b, x, multiply_reads(l->context, c.multiply));
        struct value *y;
        const bool images = layout_is_of_images(l, op) && !nears && !few && x;
        if (images) {
                x = layout_as_images(l, x);
                c.w = layout_window_of_image(l, c.w);
                c.spatial--;
                c.strides++;
                c.dilations++;
        }
        if (!whole && phases_alike(&c, &p)) {
                y = contract_phases_at_once(&c, x, &p);
                l->failed |= !y;
                if (y)                  /* The result is in its own shape. */
                        value_replace(op_result(op), y);
                return layout_refuse(l, REMARK_layout_at_once);
        }
        if (whole)
                y = contract(&c,
                             nears    ? x
                             : images ? layout_halo_of_images(l, x, op)
                                      : layout_halo(&l->b, x, 2, op_ints(op, "pads", NULL),
                                                    c.spatial),
                             c.w);
        else
                y = contract_phases(&c, x);
        if (y && near.turned)
                y = layout_turned_back(l, y);
        if (images && y)
                y = layout_from_images(l, y, op_result(op)->type);
        if (c.own)
                y = layout_from_groups(l, y, op_result(op));
        layout_form(l, op_result(op))->blocks = y;
        l->failed |= !y;
        return y != NULL;
}
