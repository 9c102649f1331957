/* SPDX-License-Identifier: MIT */
/* Layout, products: where a machine multiplies whole blocks of channels, and runs only convolutions
 * of these, other operations become such convolutions.
 *
 *   mul(reduce_window(%0) kind=sum, 7)       ->   convolve(%0, @7) groups=C          averages, of all positions or of windows
 *   dot(%0: <M x K>, @w)                     ->   convolve(%0 as <1 x K x M x 1>, @w as <N x K x 1 x 1>)
 *   convolve(%0, @w) of fewer channels than  ->   convolve(concat of slices(%0), @w in the same order)
 *   a block has
 *
 * Few channels: along each dimension the elements of x stay neighbours (keep), or the elements of a
 * step of the window become channels (space to depth), or the elements of the whole window do
 * (fold, which repeats them):
 *
 *                  channels           window         step      positions of x
 *      keep        C                  k              s         (n - 1) * s + k
 *      to depth    C * s              ceil(k / s)    1         n - 1 + ceil(k / s)
 *      fold        C * k              1              1         n
 *
 * The combination of least cycles is taken: the cycles of the machine's arithmetic or of its reads,
 * and those of the processor, which moves a byte in each. What another contraction makes is in
 * blocks already, and stays so. Element-wise operations with constants that follow on rows are
 * computed in the same form. Exact. */
#include "ir/target/machine.h"
#include "passes/layout/layout.h"

#include <math.h>
#include <string.h>

/* Returns the machine's multiply of bytes, or NULL. */
static const struct multiply *machine_multiply(const struct layout *l)
{
        const struct multiply *m = multiply_in(l->context, E_I8, E_I8);
        return m && m->streams ? m : NULL;
}

static void begin(struct layout *l, struct op *op)
{
        l->b = builder_before(op, l->b.diag);
}

static void replace(struct layout *l, struct op *op, struct value *y)
{
        l->failed |= !y;
        if (!y)
                return;
        value_replace(op_result(op), y);
        op_erase(op);
}

/* ---- rows as columns of channels ---- */

/* Returns a value [M, N] as [1, N, M, 1]. */
static struct value *upright(struct builder *b, struct value *x)
{
        static const int64_t swap[] = { 1, 0 };
        const struct op *op = op_is(x, OP_reshape) ? x->op : NULL;
        const dim_t dims[] = { dim_of(1), x->type->dims[1], x->type->dims[0], dim_of(1) };
        if (op && dim_is(x->type->dims[0], 1) && op_operand(op, 0)->type->rank == 4 &&
            !memcmp(op_operand(op, 0)->type->dims, dims, sizeof dims))
                return op_operand(op, 0);
        return layout_reshape(b, dim_is(x->type->dims[0], 1) ? x : layout_transpose(b, x, swap), 4,
                              dims);
}

static struct value *lying(struct builder *b, struct value *y)
{
        static const int64_t swap[] = { 1, 0 };
        const int64_t rows = type_extent(y->type, 2), columns = type_extent(y->type, 1);
        if (rows == 1)
                return build_reshape(b, y, 2, (dim_t[]){ dim_of(1), dim_of(columns) });
        return build_transpose(
                b, build_reshape(b, y, 2, (dim_t[]){ dim_of(columns), dim_of(rows) }), swap);
}

/* Returns the numbers of a constant [M, N] whose rows are equal, as [N]; or NULL. */
static struct value *equal_rows(struct layout *l, const struct value *x, int64_t columns)
{
        const struct constant *c = x->constant;
        const size_t row = (size_t)columns * (size_t)element_info[x->type->element].bytes;
        const char *data = constant_data(c);
        for (int64_t r = 1; r < type_elements(x->type) / columns; r++)
                if (memcmp(data, data + (size_t)r * row, row))
                        return NULL;
        return constant_dense(l->m, type_static(l->m, x->type->element, 1, &columns),
                              arena_copy(l->m->arena, data, row), c->name);
}

/* Returns an operand of a following operation in that form; NULL: it has none. */
static struct value *upright_operand(struct layout *l, struct value *v, const struct type *like)
{
        const struct type *type = type_with_element(l->m, like, v->type->element);
        const int64_t columns = type_extent(like, 1);
        double number;
        int count;
        if (value_is_splat(v, &number))
                return constant_number(l->m, type, number);
        const bool spread = op_is(v, OP_broadcast);
        const struct value *x = spread ? op_operand(v->op, 0) : v;
        const int64_t *dims = spread ? op_ints(v->op, "dims", &count) : NULL;
        if (!value_is_constant(x) || x->constant->kind == CONSTANT_SPLAT ||
            type_elements(x->type) != (spread ? 1 : type_extent(like, 2)) * columns ||
            (spread && dims[count - 1] != 1))
                return NULL;
        struct value *row = equal_rows(l, x, columns);
        return row ? build_broadcast(&l->b, row, type, (int64_t[]){ 1 }) : NULL;
}

/* Does the element-wise operations with constants that follow *old on y, which has its rows, and
 * moves *old behind them. Returns y's last result. */
static struct value *carry(struct layout *l, struct value **old, struct value *y)
{
        while (y && value_has_one_use(*old) && (*old)->uses->user->result_count == 1 &&
               op_info[(*old)->uses->user->code].traits & TRAIT_ELEMENTWISE) {
                struct op *op = (*old)->uses->user;
                struct value *operands[OPERAND_ROW_MAX];
                begin(l, op);
                for (int i = 0; i < op->operand_count; i++) {
                        struct value *v = op_operand(op, i);
                        operands[i] = v == *old ? y : v ? upright_operand(l, v, y->type) : NULL;
                        if (!operands[i])
                                return y;
                }
                y = value_build(&l->b, op->code, operands, op->operand_count, op->attrs, NULL);
                *old = op_result(op);
        }
        return y;
}

/* Puts y, in rows again, in the place of op's result, or of what follows it. */
static void replace_rows(struct layout *l, struct op *op, struct value *y)
{
        struct value *old = op_result(op);
        y = carry(l, &old, y);
        if (!y) {
                l->failed = true;
                return;
        }
        begin(l, old->op);
        y = lying(&l->b, y);
        y = y ? build_reshape(&l->b, y, old->type->rank, old->type->dims) : NULL;
        l->failed |= !y;
        if (y)                          /* The old operations are dead now, and go with all
                                         * others. */
                value_replace(old, y);
}

/* ---- products of matrices ---- */

static void convolve_rows(struct layout *l, struct op *op)
{
        static const int64_t swap[] = { 1, 0 };
        struct value *x = op_operand(op, 0), *w = layout_decoded(l, op_operand(op, 1));
        int batches, contracted;
        op_ints(op, "batch_a", &batches);
        const int64_t *a = op_ints(op, "contract_a", &contracted),
                      *b = op_ints(op, "contract_b", NULL);
        if (!multiply_of_bytes(l->context, op) || batches || contracted != 1 ||
            x->type->rank != 2 || w->type->rank != 2 || a[0] != 1 || x->type->element != E_I8 ||
            !value_is_constant(w))
                return;
        begin(l, op);
        if (b[0] == 0)
                w = layout_transpose(&l->b, w, swap);
        w = w ? layout_reshape(
                        &l->b, w, 4,
                        (dim_t[]){ w->type->dims[0], w->type->dims[1], dim_of(1), dim_of(1) })
              : NULL;
        x = upright(&l->b, x);
        struct attr *attrs = attrs_new(l->m, OP_convolve);
        attr_set(attrs, OP_convolve, "accumulator", E_I32);
        replace_rows(
                l, op,
                x && w ? value_build(&l->b, OP_convolve, (struct value *[]){ x, w }, 2, attrs, NULL)
                       : NULL);
}

/* ---- sums of windows ---- */

struct sums {
        struct value *x;                /* The operand is of bytes, as [1, C, rows, columns] for
                                         * instance. */
        double zero;                    /* This number is subtracted from each byte. */
        /* The three are of the dimensions behind C. */
        int64_t window[RANK_MAX], strides[RANK_MAX], pads[2 * RANK_MAX];
};

/* Is v the bytes x as integers, less their zero? Fills in both. */
static bool find_bytes(struct value *v, struct sums *s)
{
        s->zero = 0;
        if (op_is(v, OP_sub) && value_is_splat(op_operand(v->op, 1), &s->zero))
                v = op_operand(v->op, 0);
        if (op_is(v, OP_cast) && v->type->element == E_I32)
                v = op_operand(v->op, 0);
        s->x = v;
        return v->type->element == E_I8;
}

static bool find_reduce(const struct op *op, struct sums *s)
{
        const struct type *x = op_operand(op, 0)->type;
        struct value *axes = op_operand(op, 1);
        if (!value_is_constant(axes) || type_elements(axes->type) != x->rank - 2)
                return false;
        unsigned all = 0;
        for (int k = 0; k < x->rank - 2; k++) {
                int64_t axis = constant_element(axes->constant, k).i;
                all |= 1u << (axis < 0 ? axis + x->rank : axis);
                s->window[k] = type_extent(x, 2 + k);
                s->strides[k] = 1;
        }
        return all == (1u << x->rank) - 4;
}

static bool find_window(const struct op *op, struct sums *s)
{
        const int rank = op_operand(op, 0)->type->rank;
        const int64_t *window = op_ints(op, "window", NULL),
                      *strides = op_ints(op, "strides", NULL), *pads = op_ints(op, "pads", NULL);
        for (int d = 0; d < rank; d++) {
                if (d < 2 && (window[d] != 1 || strides[d] != 1 || pads[d] || pads[rank + d]))
                        return false;
                if (d < 2)
                        continue;
                s->window[d - 2] = window[d];
                s->strides[d - 2] = strides[d];
                s->pads[d - 2] = pads[d];
                s->pads[rank - 4 + d] = pads[rank + d];
        }
        return op_all_ones(op, "dilations");
}

/* Puts bytes that stand for zero around x. */
static struct value *surround(struct layout *l, const struct sums *s)
{
        const int spatial = s->x->type->rank - 2;
        int64_t low[RANK_MAX] = { 0 };
        dim_t dims[RANK_MAX] = { s->x->type->dims[0], s->x->type->dims[1] };
        bool none = true;
        for (int d = 0; d < spatial; d++) {
                low[2 + d] = s->pads[d];
                dims[2 + d] =
                        dim_of(type_extent(s->x->type, 2 + d) + s->pads[d] + s->pads[spatial + d]);
                none &= !s->pads[d] && !s->pads[spatial + d];
        }
        struct value *operands[] = { s->x, build_scalar(&l->b, E_I8, s->zero),
                                     constant_ints(l->m, low, spatial + 2) };
        return none ? s->x
                    : value_build(&l->b, OP_pad, operands, 3, NULL,
                                  type_tensor(l->m, E_I8, spatial + 2, dims));
}

/* Makes mul, the product of sums of windows and a byte, a convolution. */
static void convolve_windows(struct layout *l, struct op *mul)
{
        struct sums s = { 0 };
        double number = 0;
        struct value *v = NULL;
        for (int i = 0; i < 2 && !v; i++)
                if (value_is_splat(op_operand(mul, 1 - i), &number))
                        v = op_operand(mul, i);
        const bool whole = v && op_is(v, OP_reduce);
        if (!v || rint(number) != number || fabs(number) > INT8_MAX || v->type->element != E_I32 ||
            !value_has_one_use(v) || (!whole && !op_is(v, OP_reduce_window)) ||
            op_int(v->op, "kind") != REDUCE_sum || !find_bytes(op_operand(v->op, 0), &s) ||
            s.x->type->rank < 3 || s.x->type->rank > 4 || !type_is_static(s.x->type) ||
            !(whole ? find_reduce(v->op, &s) : find_window(v->op, &s)))
                return;
        const int spatial = s.x->type->rank - 2;
        const int64_t channels = type_extent(s.x->type, 1);
        dim_t dims[RANK_MAX] = { dim_of(channels), dim_of(1) };
        double elements = 1;
        for (int d = 0; d < spatial; d++)
                elements *= (double)dim_extent(dims[2 + d] = dim_of(s.window[d]));
        begin(l, mul);
        struct attr *attrs = attrs_new(l->m, OP_convolve);
        attr_set_ints(l->m, attrs, OP_convolve, "strides", s.strides, spatial);
        attr_set(attrs, OP_convolve, "groups", channels);
        attr_set(attrs, OP_convolve, "accumulator", E_I32);
        struct value *x = surround(l, &s),
                     *w = constant_number(l->m, type_tensor(l->m, E_I8, spatial + 2, dims), number);
        struct value *y =
                x ? value_build(&l->b, OP_convolve, (struct value *[]){ x, w }, 2, attrs, NULL)
                  : NULL;
        y = y && s.zero != 0
                    ? build_binary(&l->b, OP_add, y,
                                   constant_number(l->m, y->type, -elements * number * s.zero))
                    : y;
        if (whole && op_result(mul)->type->rank == 2 && y) {
                const dim_t point[] = { dim_of(1), dim_of(channels), dim_of(1), dim_of(1) };
                if (dim_is(s.x->type->dims[0], 1))
                        replace_rows(l, mul, build_reshape(&l->b, y, 4, point));
                else
                        replace(l, mul, build_reshape(&l->b, y, 2, op_result(mul)->type->dims));
                return;
        }
        replace(l, mul,
                y ? build_reshape(&l->b, y, op_result(mul)->type->rank, op_result(mul)->type->dims)
                  : NULL);
}

/* ---- few channels ---- */

enum { FEW_SPATIAL = 2, PARTS_MOST = 16 };        /* At most 2 dimensions are folded, and at most 16
                                                   * parts are copied: each is a copy in the
                                                   * code. */

/* The struct describes the folding of one dimension: x' at p holds x at p * step + m for each m <
 * times; its window has `taps` elements, `stride` apart, and x' has `positions`. */
struct folding { int64_t step, times, taps, stride, positions; };

static struct folding folding_of(int way, int64_t window, int64_t stride, int64_t results)
{
        struct folding f = { .step = 1, .times = 1, .taps = window, .stride = stride };
        if (way) {
                f.step = stride;
                f.times = way == 1 ? stride : window;
                f.taps = divide_up(window, f.times);
                f.stride = 1;
        }
        f.positions = (results - 1) * f.stride + f.taps;
        return f;
}

/* Goes each element of x to one place? Elements that are cut off have no results. */
static bool is_turned(const struct folding *f, int spatial)
{
        bool turned = true;
        for (int d = 0; d < spatial; d++)
                turned &= f[d].step == f[d].times;
        return turned;
}

/* Counts what is computed and what is moved for it: channels, offsets of the window, and positions
 * of x'. */
static void count_folded(const struct folding *f, int spatial, int64_t *channels, int64_t *taps,
                         double *positions)
{
        *taps = 1;
        *positions = 1;
        for (int d = 0; d < spatial; d++) {
                *channels *= f[d].times;
                *taps *= f[d].taps;
                *positions *= (double)f[d].positions;
        }
}

/* Returns the predicted cycles of a machine. */
static double price_of_machine(const struct layout *l, int64_t channels, int64_t outputs,
                               int64_t results, int64_t taps, double positions)
{
        enum { OPERATIONS = 5 };        /* Each sum takes these operations beside products: a reset,
                                         * a bias, a shift, two bounds. */
        const struct machine *m = target_accelerator(l->context->target);
        const int64_t blocks = divide_up(channels, m->block_in);
        const double moved = positions * (double)(blocks * m->block_in);
        const double computed = (double)(divide_up(outputs, m->block_out) * results) *
                                ((double)(taps * blocks) + OPERATIONS);
        return fmax(computed, moved / m->cycles.beat_bytes) + moved;
}

/* Returns the predicted time: cycles of a machine, or the engine's estimate. */
static double price(const struct layout *l, const struct multiply *m, const struct folding *f,
                    int spatial, int64_t images, int64_t channels, int64_t outputs, int64_t results)
{
        const int64_t before = channels;
        int64_t taps;
        double positions;
        count_folded(f, spatial, &channels, &taps, &positions);
        const struct engine *engine = target_engine(l->context->target);
        if (!engine->window_cost)
                return price_of_machine(l, channels, outputs, results, taps, positions);
        const int copies = is_turned(f, spatial) ? 0 : (int)(channels / before);
        channels = round_up(channels, multiply_row(m));
        const struct window_products w = { .positions = images * results,
                                           .outputs = outputs,
                                           .taps = taps,
                                           .channels = channels,
                                           .inputs = (double)images * positions * (double)channels,
                                           .copies = copies };
        return engine->window_cost(l->context->target, m, &w);
}

/* Builds x' where each element goes to one place: x [N, C, (P, times)..] becomes [N, times.., C,
 * P..]. */
static struct value *turned_inputs(struct layout *l, struct value *x, const struct folding *f,
                                   int spatial)
{
        int64_t high[2 * FEW_SPATIAL] = { 0 }, perm[RANK_MAX] = { 0 };
        dim_t dims[RANK_MAX] = { x->type->dims[0], x->type->dims[1] },
              to[RANK_MAX] = { dims[0], dims[1] };
        for (int d = 0; d < spatial; d++) {
                high[spatial + d] = f[d].positions * f[d].times - type_extent(x->type, 2 + d);
                dims[2 + 2 * d] = to[2 + d] = dim_of(f[d].positions);
                dims[3 + 2 * d] = dim_of(f[d].times);
                to[1] = dim_of(dim_extent(to[1]) * f[d].times);
                perm[1 + d] = 3 + 2 * d;
                perm[2 + spatial + d] = 2 + 2 * d;
        }
        perm[1 + spatial] = 1;
        x = layout_halo(&l->b, x, 2, high, spatial);
        x = x ? build_transpose(&l->b, build_reshape(&l->b, x, 2 + 2 * spatial, dims), perm) : NULL;
        return x ? build_reshape(&l->b, x, 2 + spatial, to) : NULL;
}

static struct value *folded_inputs(struct layout *l, struct value *x, const struct folding *f,
                                   int spatial)
{
        if (is_turned(f, spatial))
                return turned_inputs(l, x, f, spatial);
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX] = { 1, 1 }, high[2 * FEW_SPATIAL] = { 0 },
                parts = 1;
        dim_t dims[RANK_MAX] = { x->type->dims[0], x->type->dims[1] };
        for (int d = 0; d < spatial; d++) {
                const int64_t reach = (f[d].positions - 1) * f[d].step + f[d].times,
                              extent = type_extent(x->type, 2 + d);
                high[spatial + d] = reach > extent ? reach - extent : 0;
                steps[2 + d] = f[d].step;
                dims[2 + d] = dim_of(f[d].positions);
                parts *= f[d].times;
        }
        x = layout_halo(&l->b, x, 2, high, spatial);
        struct value **all = arena_array(l->arena, (size_t)parts, sizeof *all);
        for (int64_t k = 0; k < parts && x; k++) {
                int64_t left = k;
                for (int d = spatial - 1; d >= 0; d--) {
                        starts[2 + d] = left % f[d].times;
                        left /= f[d].times;
                }
                if (!(all[k] = build_slice(&l->b, x, starts, steps, dims)))
                        return NULL;
        }
        return x ? build_concat(&l->b, all, (int)parts, 1) : NULL;
}

/* Builds the weights for x': w [M, C, K..] becomes [M, times.. C, taps..]. */
static struct value *folded_weights(struct layout *l, struct value *w, const struct folding *f,
                                    int spatial)
{
        dim_t padded[RANK_MAX] = { w->type->dims[0], w->type->dims[1] },
              dims[RANK_MAX] = { padded[0], padded[1] }, to[RANK_MAX] = { padded[0], padded[1] };
        int64_t perm[RANK_MAX] = { 0 };
        for (int d = 0; d < spatial; d++) {
                padded[2 + d] = dim_of(f[d].taps * f[d].times);
                dims[2 + 2 * d] = to[2 + d] = dim_of(f[d].taps);
                dims[3 + 2 * d] = dim_of(f[d].times);
                to[1] = dim_of(dim_extent(to[1]) * f[d].times);
                perm[1 + d] = 3 + 2 * d;
                perm[2 + spatial + d] = 2 + 2 * d;
        }
        perm[1 + spatial] = 1;
        w = layout_pack(&l->b, w, padded, 2 + 2 * spatial, dims, perm);
        return w ? layout_reshape(&l->b, w, 2 + spatial, to) : NULL;
}

/* Does x come from another contraction, and so in blocks? Moving its elements would take the
 * processor, and another launch. */
static bool is_in_blocks(const struct value *x)
{
        while (x->kind == VALUE_RESULT && x->op->operand_count &&
               !(op_info[x->op->code].traits & TRAIT_CONTRACTION) &&
               (op_info[x->op->code].traits & TRAIT_ELEMENTWISE || x->op->code == OP_pad ||
                x->op->code == OP_reduce_window))
                x = op_operand(x->op, 0);
        return x->kind == VALUE_RESULT && op_info[x->op->code].traits & TRAIT_CONTRACTION;
}

/* Returns what multiplies x, which has fewer channels than it takes at a time, by w: a machine's
 * multiply, or that of warps; NULL: there is neither. */
static const struct multiply *multiply_of_few(const struct layout *l, const struct op *op,
                                              const struct value *w)
{
        const struct type *x = op_operand(op, 0)->type;
        const struct machine *machine = target_accelerator(l->context->target);
        const struct multiply *m = machine ? multiply_of_bytes(l->context, op)
                                           : multiply_in(l->context, x->element, w->type->element);
        if (!m || op_result(op)->type->element != m->sum)
                return NULL;
        if (machine)
                return m->streams && x->element == E_I8 && dim_is(x->dims[0], 1) &&
                                       type_extent(x, 1) < machine->block_in
                               ? m
                               : NULL;
        const struct type *y = op_result(op)->type;
        const struct schedule_product product = { .groups = 1,
                                                  .positions = type_elements(y) / type_extent(y, 1),
                                                  .outputs = type_extent(y, 1),
                                                  .channels = type_elements(w->type) /
                                                              type_extent(y, 1) };
        m = multiply_of_product(l->context, m, &product);
        return multiply_in_warps(m) && !multiply_by_warp_group(m) &&
                               type_extent(x, 1) < multiply_row(m)
                       ? m
                       : NULL;
}

static void fold_channels(struct layout *l, struct op *op)
{
        struct value *x = op_operand(op, 0), *w = layout_decoded(l, op_operand(op, 1));
        const struct type *y = op_result(op)->type;
        const int spatial = x->type->rank - 2;
        const struct multiply *multiply = multiply_of_few(l, op, w);
        if (!multiply || spatial < 1 || spatial > FEW_SPATIAL || op_int(op, "groups") != 1 ||
            !value_is_constant(w) || is_in_blocks(x) || !op_all_ones(op, "dilations") ||
            !op_all_ones(op, "input_dilations"))
                return;
        const int64_t *strides = op_ints(op, "strides", NULL), *pads = op_ints(op, "pads", NULL);
        struct folding best[FEW_SPATIAL], f[FEW_SPATIAL];
        double least = INFINITY;
        int64_t results = 1, parts = 1;
        for (int d = 0; d < spatial; d++)
                results *= type_extent(y, 2 + d);
        for (int way = 0; way < (spatial == 1 ? 3 : 9); way++) {
                for (int d = 0; d < spatial; d++)
                        f[d] = folding_of(d ? way / 3 : way % 3, type_extent(w->type, 2 + d),
                                          strides[d], type_extent(y, 2 + d));
                if (f[0].times * (spatial > 1 ? f[1].times : 1) > PARTS_MOST)
                        continue;
                const double cycles = price(l, multiply, f, spatial, type_extent(x->type, 0),
                                            type_extent(x->type, 1), type_extent(y, 1), results);
                if (cycles >= least)
                        continue;
                least = cycles;
                memcpy(best, f, sizeof best);
        }
        int64_t steps[FEW_SPATIAL];
        for (int d = 0; d < spatial; d++) {
                parts *= best[d].times;
                steps[d] = best[d].stride;
        }
        if (parts == 1)
                return;
        begin(l, op);
        struct attr *attrs = attrs_new(l->m, OP_convolve);
        attr_set_ints(l->m, attrs, OP_convolve, "strides", steps, spatial);
        attr_set(attrs, OP_convolve, "accumulator", op_int(op, "accumulator"));
        /* A cast is done while elements are moved. */
        const bool rounded = op_is(x, OP_cast) && element_is_small(x->type->element);
        const enum element element = x->type->element;
        x = layout_halo(&l->b, rounded ? op_operand(x->op, 0) : x, 2, pads, spatial);
        x = x ? folded_inputs(l, x, best, spatial) : NULL;
        x = x && rounded ? build_cast(&l->b, x, element) : x;
        w = folded_weights(l, w, best, spatial);
        replace(l, op,
                x && w ? value_build(&l->b, OP_convolve, (struct value *[]){ x, w }, 2, attrs, NULL)
                       : NULL);
}

void layout_products(struct layout *l, struct region *region)
{
        const bool machine = machine_multiply(l) != NULL;
        if (!machine && !target_engine(l->context->target)->window_cost)
                return;
        for (struct op *op = region->first, *next; op && !l->failed; op = next) {
                next = op->next;
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++)
                        layout_products(l, op->regions[i]);
                if (op->result_count != 1 || !op_result(op)->uses ||
                    !type_is_static(op_result(op)->type))
                        continue;
                if (machine && op->code == OP_mul)
                        convolve_windows(l, op);
                else if (machine && op->code == OP_dot)
                        convolve_rows(l, op);
                else if (op->code == OP_convolve)
                        fold_channels(l, op);
        }
}
