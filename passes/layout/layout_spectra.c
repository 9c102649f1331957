/* SPDX-License-Identifier: MIT */
/* Layout, spectra: a convolution by a long window is a product for each frequency.
 *
 *   %1 = convolve(%0, @w) pads=[4095, 0] : <1 x 1 x 65536>        4096 taps
 *     ->
 *   %1 = blocks of 8192 of %0, 4097 apart                        <16 x 1 x 1 x 8192>
 *   %2 = spectrum(%1) half=1                                     <16 x 1 x 2 x 4097>
 *   %3 = %2 times the conjugate spectrum of @w, complex
 *   %4 = spectrum(%3) inverse=1 half=1 length=8192
 *   %5 = the first 4097 of each block, one after the other [overlap-save]
 *
 * Where channels are added up they lie innermost, and each frequency is a product of matrices, of
 * both parts of all blocks by both parts of the weights (dot), so that the target's multiplies do
 * it. Weights are transformed here, in double. Extents of blocks are those of least predicted time
 * (cost/spectrum_cost.h) among products of 2, 3 and 5, as far as weights do not grow beyond
 * --limit spectrum_percent. Class R: errors are 1e-6 of the largest result, about as those of plain
 * sums; an infinity or a NaN spreads over its block. Convolutions whose results are taken as
 * integers stay as they are. Blocks take memory: where that is more than --max-ram, there are none
 * (compiler/budget.c). */
#include "cost/layout_cost.h"
#include "cost/narrow_cost.h"
#include "ir/loop/loop_vector.h"
#include "passes/layout/layout_spectra.h"
#include "passes/layout/winograd.h"

#include <string.h>

enum {
        GAIN_PERCENT = 60,              /* Transforms are worth it where they take at most so much
                                         * of the time: they move more, which others on the machine
                                         * may slow down. */
        TAPS_LEAST = 16,                /* Smaller windows are Winograd's, or too few products. */
        SIZES_MAX = 160,                /* Extents of blocks that are tried. */
        PIECES_MOST = 8                 /* A block is made of at most so many pieces. */
};

/* ---- which convolutions ---- */

static bool find_spectral(const struct layout *l, struct op *op, struct spectral *s)
{
        if (op->code != OP_convolve || !op_is_static(op))
                return false;
        *s = (struct spectral){ .op = op, .x = op_operand(op, 0), .w = op_operand(op, 1) };
        const struct type *x = s->x->type, *w = s->w->type, *y = op_result(op)->type;
        s->dims = x->rank - 2;
        if (s->dims < 1 || s->dims > 2 || type_is_empty(y) || type_is_empty(x) ||
            !value_is_constant(s->w) || s->w->constant->kind == CONSTANT_SPLAT ||
            x->element != E_F32 || w->element != E_F32 || y->element != E_F32 ||
            !op_all_ones(op, "strides") || !op_all_ones(op, "input_dilations") ||
            layout_becomes_whole(op_result(op)))
                return false;
        int64_t taps = 1;
        for (int d = 0; d < s->dims; d++)
                taps *= type_extent(w, d + 2);
        if (taps < TAPS_LEAST)
                return false;
        s->images = type_extent(x, 0);
        s->groups = op_int(op, "groups");
        s->channels = type_extent(w, 1);
        s->outputs = type_extent(w, 0) / s->groups;
        for (int d = 0; d < s->dims; d++) {
                s->in[d] = type_extent(x, d + 2);
                s->out[d] = type_extent(y, d + 2);
                s->low[d] = op_ints(op, "pads", NULL)[d];
                s->window[d] = type_extent(w, d + 2);
                s->dilation[d] = op_ints(op, "dilations", NULL)[d];
                s->reach[d] = (s->window[d] - 1) * s->dilation[d] + 1;
        }
        return l->context->limits.spectrum_percent > 0;
}

static struct spectrum_work work_of(const struct spectral *s)
{
        struct spectrum_work w = { .dims = s->dims,
                                   .blocks = s->images,
                                   .groups = s->groups,
                                   .channels = s->channels,
                                   .outputs = s->outputs };
        for (int d = 0; d < s->dims; d++) {
                w.blocks *= s->count[d];
                w.size[s->channels == 1 ? d : s->dims - 1 - d] = s->size[d];
        }
        return w;
}

/* ---- blocks ---- */

/* Lists extents of blocks along a dimension: products of 2, 3 and 5, even, up to one block for
 * all. Returns their number. */
static int list_sizes(const struct spectral *s, int d, int64_t *sizes)
{
        const int64_t least = s->reach[d] + 1, all = s->out[d] + s->reach[d] - 1;
        const int64_t most = all > least ? 2 * all : 2 * least;
        int count = 0;
        for (int64_t five = 1; five <= most; five *= 5)
                for (int64_t three = five; three <= most; three *= 3)
                        for (int64_t n = 2 * three; n <= most && n <= SPECTRUM_EXTENT_MAX; n *= 2)
                                if (n >= least && count < SIZES_MAX &&
                                    (n >= all ? n < all + all / 8 + 8
                                              : PIECES_MOST * (n - s->reach[d] + 1) >= n))
                                        sizes[count++] = n;
        return count;
}

static void set_size(struct spectral *s, int d, int64_t size)
{
        s->size[d] = size;
        s->step[d] = size - s->reach[d] + 1;
        s->count[d] = divide_up(s->out[d], s->step[d]);
}

/* Chooses the blocks of least predicted time. Returns that time; a negative number: no weights are
 * small enough. */
static double choose_sizes(const struct layout *l, struct spectral *s)
{
        int64_t sizes[2][SIZES_MAX], best[2] = { 0, 0 };
        int counts[2] = { 0, 1 };
        double least = -1;
        const double most = (double)type_bytes(s->w->type) *
                            (1 + (double)l->context->limits.spectrum_percent / 100);
        for (int d = 0; d < s->dims; d++)
                counts[d] = list_sizes(s, d, sizes[d]);
        for (int i = 0; i < counts[0]; i++)
                for (int k = 0; k < counts[1]; k++) {
                        set_size(s, 0, sizes[0][i]);
                        if (s->dims > 1)
                                set_size(s, 1, sizes[1][k]);
                        const struct spectrum_work w = work_of(s);
                        const double cycles = spectrum_cost(&w, l->context->target);
                        if (spectrum_weights(&w) > most || (least >= 0 && cycles >= least))
                                continue;
                        least = cycles;
                        memcpy(best, s->size, sizeof best);
                }
        for (int d = 0; d < s->dims && least >= 0; d++)
                set_size(s, d, best[d]);
        return least;
}

/* Returns the less of `cycles` and what Winograd's algorithm takes, where constants have room for
 * its weights. */
static double winograd_cycles(const struct layout *l, const struct op *op, double cycles)
{
        const struct type *w = op_operand(op, 1)->type;
        int64_t forms[WINOGRAD_FORMS_MAX][WINOGRAD_DIMS], window[WINOGRAD_DIMS];
        if (w->rank != 2 + WINOGRAD_DIMS || !target_engine(l->context->target)->vectors)
                return cycles;
        for (int d = 0; d < WINOGRAD_DIMS; d++)
                window[d] = type_extent(w, 2 + d);
        const double room = winograd_constants(op_module(op)) *
                            (double)l->context->limits.winograd_percent / 100;
        const int count = winograd_forms(window, forms);
        for (int i = 0; i < count; i++) {
                double growth;
                const double some =
                        narrow_winograd_cost(op, forms[i], l->context->target, &growth);
                if (some > 0 && growth <= room && some < cycles)
                        cycles = some;
        }
        return cycles;
}

/* Predicts how long the convolution takes without Fourier transforms. */
static double direct_cycles(const struct layout *l, const struct spectral *s)
{
        const struct target *target = l->context->target;
        const double taps = (double)type_elements(s->w->type) / (double)(s->groups * s->outputs);
        double products = taps * (double)type_elements(op_result(s->op)->type);
        const bool separate = s->channels == 1 && s->outputs == 1 && s->groups > 1;
        const int64_t block = l->block;
        if (!separate && s->outputs < block) {
                /* Outputs fill lanes in part, or the lanes are neighbouring positions. */
                const double window = (double)s->window[s->dims - 1];
                const double padded = (double)block / (double)s->outputs,
                             shifted = (window + (double)block - 1) / window;
                products *= s->groups == 1 && shifted < padded ? shifted : padded;
        }
        double cycles =
                spectrum_direct_cost(products, (double)type_elements(s->w->type), separate, target);
        if (s->window[s->dims - 1] <= VECTOR_JOINED_MAX) {
                const double plain = layout_plain_cost(s->op, target);
                cycles = plain < cycles ? plain : cycles;
        }
        return winograd_cycles(l, s->op, cycles);
}

/* ---- x in blocks ---- */

/* Returns x <.. x extent x ..> with dimension `at` as blocks <.. x count x size x ..>. */
static struct value *in_blocks(struct layout *l, const struct spectral *s, struct value *x, int at,
                               int d)
{
        const int64_t size = s->size[d], step = s->step[d], count = s->count[d];
        const int64_t pieces = count > 1 ? divide_up(size, step) : 1, rows = count - 1 + pieces,
                      width = count > 1 ? step : size;
        const int64_t pads[2] = { s->low[d], rows * width - s->in[d] - s->low[d] };
        struct value *parts[PIECES_MOST + 1];
        dim_t dims[RANK_MAX];
        x = layout_halo(&l->b, x, at, pads, 1);
        if (!x)
                return NULL;
        for (int i = 0; i <= x->type->rank; i++)
                dims[i] = i == at       ? dim_of(rows)
                          : i == at + 1 ? dim_of(width)
                                        : x->type->dims[i - (i > at)];
        x = layout_reshape(&l->b, x, x->type->rank + 1, dims);
        if (pieces == 1)
                return x;
        for (int64_t j = 0; j < pieces && x; j++) {
                int64_t starts[RANK_MAX] = { 0 }, ones[RANK_MAX];
                for (int i = 0; i < RANK_MAX; i++)
                        ones[i] = 1;
                starts[at] = j;
                dims[at] = dim_of(count);
                dims[at + 1] = dim_of(size - j * step < step ? size - j * step : step);
                parts[j] = layout_slice(&l->b, x, starts, ones, dims);
        }
        return x ? build_concat(&l->b, parts, (int)pieces, at + 1) : NULL;
}

/* Returns a value whose dimensions are these of v, in this order. */
static struct value *reordered(struct layout *l, struct value *v, const int64_t *perm)
{
        return v ? layout_transpose(&l->b, v, perm) : NULL;
}

/* Returns the spectrum of x: <rows x groups x 1 x 2 x frequencies> where channels are separate,
 * else <frequencies x 2 x rows x groups * channels>. */
static struct value *spectrum_of_blocks(struct layout *l, const struct spectral *s)
{
        struct spectrum_request request = { .count = s->dims, .half = true };
        const bool separate = s->channels == 1;
        struct value *x = s->x;
        int64_t perm[RANK_MAX], rows = s->images;
        dim_t dims[RANK_MAX];
        int n = 0, rank = 0;
        for (int d = 0; d < s->dims && x; d++) {
                x = in_blocks(l, s, x, 2 + 2 * d, d);
                rows *= s->count[d];
        }
        /* Dimensions are images, channels and, of each spatial one, count and size. */
        for (int d = 0; d < s->dims && !separate; d++)
                perm[n++] = 3 + 2 * d;
        perm[n++] = 0;
        for (int d = 0; d < s->dims; d++)
                perm[n++] = 2 + 2 * d;
        perm[n++] = 1;
        for (int d = 0; d < s->dims && separate; d++)
                perm[n++] = 3 + 2 * d;
        x = reordered(l, x, perm);
        if (separate) {
                dims[rank++] = dim_of(rows);
                dims[rank++] = dim_of(s->groups);
                dims[rank++] = dim_of(1);
                dims[rank++] = dim_of(1);
                request.parts = rank - 1;
        }
        for (int d = 0; d < s->dims; d++) {
                request.axes[separate ? d : s->dims - 1 - d] = rank;
                dims[rank++] = dim_of(s->size[d]);
        }
        if (!separate) {
                request.parts = rank;
                dims[rank++] = dim_of(1);
                dims[rank++] = dim_of(rows);
                dims[rank++] = dim_of(s->groups * s->channels);
        }
        return x ? build_spectrum(&l->b, layout_reshape(&l->b, x, rank, dims), &request) : NULL;
}

/* ---- products ---- */

/* Returns x at one index of dimension `at`, whose extent becomes 1. */
static struct value *part_of(struct layout *l, struct value *x, int at, int64_t index,
                             int64_t extent)
{
        int64_t starts[RANK_MAX] = { 0 }, ones[RANK_MAX];
        dim_t dims[RANK_MAX];
        if (!x)
                return NULL;
        for (int d = 0; d < x->type->rank; d++) {
                ones[d] = 1;
                dims[d] = d == at ? dim_of(extent) : x->type->dims[d];
        }
        starts[at] = index * extent;
        return layout_slice(&l->b, x, starts, ones, dims);
}

static struct value *binary(struct layout *l, enum opcode code, struct value *x, struct value *y)
{
        return x && y ? build_binary(&l->b, code, x, y) : NULL;
}

/* Returns the complex sums of products of part i of x by part k of the weights, their parts one
 * after the other along a dimension. */
static struct value *complex_sum(struct layout *l, struct value *products[2][2], int at)
{
        struct value *parts[2];
        parts[0] = binary(l, OP_sub, products[0][0], products[1][1]);
        parts[1] = binary(l, OP_add, products[0][1], products[1][0]);
        return parts[0] && parts[1] ? build_concat(&l->b, parts, 2, at) : NULL;
}

/* Returns the products of separate channels, <rows x groups x outputs x 2 x frequencies>. */
static struct value *separate_products(struct layout *l, const struct spectral *s, struct value *x)
{
        struct value *w[2], *parts[2], *products[2][2];
        const int64_t onto[] = { 1, 2, 4, 5 }, same[] = { 0, 1, 2, 3, 4, 5 };
        dim_t dims[RANK_MAX];
        spectral_weights(l, s, w);
        if (!x)
                return NULL;
        memcpy(dims, x->type->dims, (size_t)x->type->rank * sizeof *dims);
        dims[2] = dim_of(s->outputs);
        dims[3] = dim_of(1);
        const struct type *t = type_tensor(l->m, E_F32, x->type->rank, dims);
        for (int part = 0; part < 2; part++) {
                parts[part] = part_of(l, x, 3, part, 1);
                parts[part] = parts[part] ? build_broadcast(&l->b, parts[part], t, same) : NULL;
                w[part] = build_broadcast(&l->b, w[part], t, onto);
        }
        for (int i = 0; i < 2; i++)
                for (int k = 0; k < 2; k++)
                        products[i][k] = binary(l, OP_mul, parts[i], w[k]);
        return complex_sum(l, products, 3);
}

/* Returns the products of groups of channels, <frequencies x 2 x groups x rows x outputs>. */
static struct value *products(struct layout *l, const struct spectral *s, struct value *x)
{
        struct attr *attrs = attrs_new(l->m, OP_dot);
        struct value *w[2], *part[2][2];
        const int f = s->dims;          /* So many dimensions are frequencies. */
        int64_t batch_x[3], batch_w[3];
        dim_t dims[RANK_MAX];
        spectral_weights(l, s, w);
        if (!x)
                return NULL;
        memcpy(dims, x->type->dims, (size_t)x->type->rank * sizeof *dims);
        dims[f + 2] = dim_of(s->groups);
        dims[f + 3] = dim_of(s->channels);
        x = layout_reshape(&l->b, x, f + 4, dims);
        for (int d = 0; d < f; d++)
                batch_x[d] = batch_w[d] = d;
        batch_x[f] = f + 2;
        batch_w[f] = f;
        attr_set_ints(l->m, attrs, OP_dot, "batch_a", batch_x, f + 1);
        attr_set_ints(l->m, attrs, OP_dot, "batch_b", batch_w, f + 1);
        attr_set_ints(l->m, attrs, OP_dot, "contract_a", (int64_t[]){ f + 3 }, 1);
        attr_set_ints(l->m, attrs, OP_dot, "contract_b", (int64_t[]){ f + 1 }, 1);
        /* It is <frequencies x groups x 2 x rows x 2 outputs>. */
        struct value *y =
                x ? value_build(&l->b, OP_dot, (struct value *[]){ x, w[0] }, 2, attrs, NULL)
                  : NULL;
        for (int i = 0; i < 2; i++)
                for (int k = 0; k < 2; k++) {
                        struct value *v =
                                part_of(l, part_of(l, y, f + 1, i, 1), f + 3, k, s->outputs);
                        if (!v)
                                return NULL;
                        memcpy(dims, v->type->dims, (size_t)f * sizeof *dims);
                        dims[f] = dim_of(1);
                        dims[f + 1] = dim_of(s->groups);
                        dims[f + 2] = v->type->dims[f + 2];
                        dims[f + 3] = dim_of(s->outputs);
                        part[i][k] = layout_reshape(&l->b, v, f + 4, dims);
                }
        return complex_sum(l, part, f);
}

/* ---- the result ---- */

/* Returns what is right of the blocks, in order. */
static struct value *out_of_blocks(struct layout *l, const struct spectral *s, struct value *y)
{
        struct spectrum_request request = { .count = s->dims,
                                            .half = true,
                                            .inverse = true,
                                            .length = s->size[s->channels == 1 ? s->dims - 1 : 0] };
        const bool separate = s->channels == 1;
        const int first = separate ? 4 : 0;
        int64_t perm[RANK_MAX];
        dim_t dims[RANK_MAX];
        int n = 0, rank = 0, images, sizes, outputs;
        request.parts = separate ? 3 : s->dims;
        for (int d = 0; d < s->dims; d++)
                request.axes[separate ? d : s->dims - 1 - d] = first + d;
        y = y ? build_spectrum(&l->b, y, &request) : NULL;
        if (!y)
                return NULL;
        memcpy(dims, y->type->dims, (size_t)y->type->rank * sizeof *dims);
        for (int d = 0; d < s->dims; d++)
                dims[first + d] = dim_of(s->step[d]);
        y = layout_slice_to(&l->b, y, dims);
        /* separate: images, counts, groups, outputs, sizes; else sizes, groups, images, counts,
         * outputs */
        sizes = 0;
        for (int d = 0; d < s->dims && !separate; d++)
                dims[rank++] = dim_of(s->step[d]);
        int groups = rank;
        if (!separate)
                dims[rank++] = dim_of(s->groups);
        images = rank;
        dims[rank++] = dim_of(s->images);
        for (int d = 0; d < s->dims; d++)
                dims[rank++] = dim_of(s->count[d]);
        if (separate) {
                groups = rank;
                dims[rank++] = dim_of(s->groups);
        }
        outputs = rank;
        dims[rank++] = dim_of(s->outputs);
        if (separate)
                sizes = rank;
        for (int d = 0; d < s->dims && separate; d++)
                dims[rank++] = dim_of(s->step[d]);
        y = layout_reshape(&l->b, y, rank, dims);
        perm[n++] = images;
        perm[n++] = groups;
        perm[n++] = outputs;
        for (int d = 0; d < s->dims; d++) {
                perm[n++] = images + 1 + d;
                perm[n++] = sizes + d;
        }
        y = reordered(l, y, perm);
        const struct type *t = op_result(s->op)->type;
        memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
        for (int d = 0; d < s->dims; d++)
                dims[2 + d] = dim_of(s->count[d] * s->step[d]);
        y = y ? layout_reshape(&l->b, y, t->rank, dims) : NULL;
        return y ? layout_slice_to(&l->b, y, t->dims) : NULL;
}

static bool transform(struct layout *l, struct op *op)
{
        struct spectral s;
        if (!find_spectral(l, op, &s))
                return true;
        const double cycles = choose_sizes(l, &s);
        if (cycles < 0 || cycles * 100 >= direct_cycles(l, &s) * GAIN_PERCENT)
                return true;
        l->b = builder_before(op, l->b.diag);
        struct value *x = spectrum_of_blocks(l, &s);
        x = s.channels == 1 ? separate_products(l, &s, x) : products(l, &s, x);
        struct value *y = out_of_blocks(l, &s, x);
        if (y) {
                value_replace(op_result(op), y);
                op_erase(op);
        }
        return y;
}

void layout_spectra(struct layout *l, struct region *region)
{
        if (!target_engine(l->context->target)->vectors || l->context->exact ||
            l->context->direct || l->in_rows)
                return;
        for (struct op *op = region->first, *next; op && !l->failed; op = next) {
                next = op->next;
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++)
                        layout_spectra(l, op->regions[i]);
                l->failed = !transform(l, op);
        }
}
