/* SPDX-License-Identifier: MIT */
/* winograd: 3 x 3 convolutions are computed tile by tile of their result, with fewer products
 * (ir/tensor/winograd_tiles.h), where that is faster.
 *
 *   %1 = pad(%0, 0.0, [0, 0, 1, 1, 0])                    %1 = pad(%0, 0.0, [0, 0, 1, 1, 0])
 *          : <1 x 4 x 16 x 16 x 16>                              : <1 x 4 x 18 x 18 x 16>
 *   %2 = convolve_packed(%1, @w)                    ->    %2 = convolve_winograd(%1, @w transformed) tile=4 rows=14 columns=14
 *          : <1 x 4 x 14 x 14 x 16>                              : <1 x 4 x 14 x 14 x 16>
 *
 * The pad grows until all tiles lie in it. Weights are transformed here, in double, and grow by
 * (tile + 2)^2 / 9. Which tile, or none, is a matter of predicted time
 * (schedule/choose_winograd.c), and of --limit winograd_percent: weights that save most for a byte
 * come first. Convolutions that a file of schedules has a schedule for stay as they are. Class R:
 * errors are larger than those of plain sums, 1e-5 of the largest result at tile=4 and 512
 * channels; an infinity or a NaN spreads over its tile. Convolutions whose results are taken as
 * integers stay as they are. Tiles take memory, and need all rows at once: where that is more than
 * --max-ram, there are no tiles (compiler/budget.c). */
#include "cost/winograd_cost.h"
#include "ir/tensor/relation.h"
#include "ir/tensor/winograd_tiles.h"
#include "passes/layout/layout.h"
#include "passes/layout/winograd.h"
#include "schedule/book.h"
#include "schedule/schedule_choice.h"

#include <stdlib.h>
#include <string.h>

/* ---- weights ---- */

enum { BATCH = 16 };                    /* This many windows are transformed together. */
typedef float windows[WINOGRAD_WINDOW][WINOGRAD_WINDOW][BATCH];

/* Computes G w G^T for a batch of windows; the elements of u are u_step floats apart. */
static void transform_windows(const struct winograd *f, windows w, float *u, int64_t u_step)
{
        double rows[WINOGRAD_SIZE_MAX][WINOGRAD_WINDOW][BATCH];
        for (int a = 0; a < f->size; a++) {
                const double *g = f->window[a];
                for (int j = 0; j < WINOGRAD_WINDOW; j++)
                        for (int l = 0; l < BATCH; l++)
                                rows[a][j][l] = g[0] * (double)w[0][j][l] +
                                                g[1] * (double)w[1][j][l] +
                                                g[2] * (double)w[2][j][l];
        }
        for (int a = 0; a < f->size; a++)
                for (int b = 0; b < f->size; b++, u += u_step) {
                        const double *g = f->window[b];
                        for (int l = 0; l < BATCH; l++)
                                u[l] = (float)(g[0] * rows[a][0][l] + g[1] * rows[a][1][l] +
                                               g[2] * rows[a][2][l]);
                }
}

static float weight_at(const struct constant *c, int64_t at)
{
        const struct element_code *code = element_code(c->value.type->element);
        union scalar x = constant_element(c, at);
        return (float)(code ? element_code_number(code, (unsigned)x.u) : x.f);
}

/* Loads a batch of windows from element `at` on; an offset of the window lies `step` elements
 * behind the one before. */
static void load_windows(const struct constant *c, int64_t at, int64_t step, windows w)
{
        for (int k = 0; k < WINOGRAD_WINDOW * WINOGRAD_WINDOW; k++) {
                float *lanes = w[k / WINOGRAD_WINDOW][k % WINOGRAD_WINDOW];
                if (c->kind == CONSTANT_DENSE && c->value.type->element == E_F32)
                        memcpy(lanes,
                               (const char *)c->data + (size_t)(at + k * step) * sizeof(float),
                               sizeof **w);
                else                    /* The elements have fewer bits, or are all one number. */
                        for (int l = 0; l < BATCH; l++)
                                lanes[l] = weight_at(c, at + k * step + l);
        }
}

/* Transforms w [panels, blocks, 3, 3, inner, vectors, lanes] to [elements, panels, channels,
 * vectors, lanes], with `outputs` in all. In both, whole batches of outputs lie side by side. */
static struct value *transform_weights(struct module *m, const struct constant *c,
                                       const struct winograd *f, int64_t channels, int64_t outputs,
                                       int64_t width)
{
        const dim_t *old = c->value.type->dims;
        int64_t inner = dim_extent(old[4]), run = dim_extent(old[5]) * dim_extent(old[6]),
                panels = divide_up(outputs, width);
        dim_t dims[] = { dim_of(f->size * f->size), dim_of(panels), dim_of(channels),
                         dim_of(width / dim_extent(old[6])), old[6] };
        const struct type *type = type_tensor(m, E_F32, 5, dims);
        int64_t u_step = type_elements(type) / dim_extent(dims[0]);
        float *u = constant_room(m, (size_t)type_bytes(type));
        if (panels * width > outputs)
                memset(u, 0, (size_t)type_bytes(type));
        for (int64_t n = 0; n < outputs; n += BATCH)
                for (int64_t i = 0; i < channels; i++) {
                        int64_t panel = n / run * dim_extent(old[1]) + i / inner;
                        int64_t from = (panel * 9 * inner + i % inner) * run + n % run;
                        windows w;
                        load_windows(c, from, inner * run, w);
                        transform_windows(f, w, u + (n / width * channels + i) * width + n % width,
                                          u_step);
                }
        struct value *transformed = constant_dense(m, type, u, NULL);
        transformed->constant->name = c->name;
        return transformed;
}

/* ---- the input ---- */

/* Returns x with at least this many rows and columns, and zeros behind it. Where x is a pad, that
 * pad is made larger. */
static struct value *extend(struct builder *b, struct value *x, dim_t rows, dim_t columns)
{
        int64_t low[RANK_MAX] = { 0 }, more;
        const dim_t wanted[] = { rows, columns };
        dim_t dims[5];
        memcpy(dims, x->type->dims, sizeof dims);
        for (int d = 0; d < 2; d++)
                if (!dim_difference(b->m, dims[2 + d], wanted[d], &more) || more < 0)
                        dims[2 + d] = wanted[d];
        if (dim_equal(dims[2], x->type->dims[2]) && dim_equal(dims[3], x->type->dims[3]))
                return x;
        if (op_is(x, OP_pad) && relation_surrounds_zeros(x->op, low))
                x = op_operand(x->op, 0);
        else
                memset(low, 0, sizeof low);
        const struct type *type = type_tensor(b->m, x->type->element, 5, dims);
        struct value *operands[] = { x, build_scalar(b, x->type->element, 0),
                                     constant_ints(b->m, low, 5) };
        return value_build(b, OP_pad, operands, 3, NULL, type);
}

/* ---- the pass ---- */

static bool can_be_tiled(const struct op *op, const struct target *target)
{
        const struct op *owner = op->region->owner;
        if (op->code != OP_convolve_packed || op->schedule ||
            (owner && owner->code == OP_fusion))
                return false;
        const struct value *x = op_operand(op, 0), *w = op_operand(op, 1), *y = op_result(op);
        int64_t line = schedule_winograd_line(packed_lanes(x->type, w->type), target);
        return x->type->rank == 5 && dim_is(w->type->dims[2], WINOGRAD_WINDOW) &&
               dim_is(w->type->dims[3], WINOGRAD_WINDOW) && x->type->element == E_F32 &&
               y->type->element == E_F32 && value_is_constant(w) &&
               type_extent(x->type, 4) % line == 0 && op_int(op, "block") % line == 0 &&
               line % BATCH == 0 && packed_panel(x->type, w->type) % line == 0 &&
               op_int(op, "groups") == 1 && !layout_becomes_whole(y) &&
               op_all_ones(op, "strides") && op_all_ones(op, "dilations") &&
               !type_is_empty(y->type);
}

static bool replace(struct op *op, const struct winograd *f, const struct pass_context *context)
{
        struct module *m = op->region->function->module;
        struct builder b = { .m = m,
                             .region = op->region,
                             .before = op,
                             .location = op->location,
                             .diag = context->diag };
        const dim_t *y = op_result(op)->type->dims;
        dim_t whole[2];
        for (int d = 0; d < 2; d++)
                whole[d] = dim_binary(m, DIM_ADD, dim_round_up(m, y[2 + d], f->tile),
                                      dim_of(WINOGRAD_WINDOW - 1));
        struct value *x = extend(&b, op_operand(op, 0), whole[0], whole[1]);
        const struct type *w = op_operand(op, 1)->type;
        int64_t line = schedule_winograd_line(packed_lanes(op_operand(op, 0)->type, w),
                                              context->target),
                outputs = dim_extent(y[1]) * dim_extent(y[4]);
        struct value *u =
                transform_weights(m, op_operand(op, 1)->constant, f, op_int(op, "channels"),
                                  outputs, schedule_winograd_panel(outputs / line) * line);
        struct attr *attrs = attrs_new(m, OP_convolve_winograd);
        attr_set(attrs, OP_convolve_winograd, "tile", f->tile);
        attr_set(attrs, OP_convolve_winograd, "rows",
                 dim_is_static(y[2]) ? dim_extent(y[2]) : 0);
        attr_set(attrs, OP_convolve_winograd, "columns",
                 dim_is_static(y[3]) ? dim_extent(y[3]) : 0);
        attr_set(attrs, OP_convolve_winograd, "outputs", op_int(op, "outputs"));
        attr_set(attrs, OP_convolve_winograd, "block", op_int(op, "block"));
        struct value *result = x ? value_build(&b, OP_convolve_winograd, (struct value *[]){ x, u },
                                               2, attrs, op_result(op)->type)
                                 : NULL;
        if (!result)
                return false;
        value_replace(op_result(op), result);
        op_erase(op);
        return true;
}

/* Has the file of schedules one for the convolution itself? */
static bool stays_direct(const struct op *op, const struct pass_context *context)
{
        return context->book && schedule_book_find(context->book, op->region->function->module, op);
}

/* Orders choices: those that save most cycles for a byte come first; of equals the first operation,
 * with the smaller tile. */
static int by_worth(const void *a, const void *b)
{
        const struct winograd_choice *x = a, *y = b;
        double d = y->gain / y->bytes - x->gain / x->bytes;
        return d > 0                    ? 1
               : d < 0                  ? -1
               : x->number != y->number ? x->number - y->number
                                        : x->tile - y->tile;
}

void winograd_afford(struct winograd_choice *choices, int count, double room)
{
        if (count)
                qsort(choices, (size_t)count, sizeof *choices, by_worth);
        for (int i = 0; i < count; i++) {
                struct winograd_choice *c = &choices[i], *before = NULL;
                for (int k = 0; k < i && !before; k++)
                        before = choices[k].op == c->op && choices[k].tile ? &choices[k] : NULL;
                double bytes = c->bytes - (before ? before->bytes : 0);
                if (bytes > room || (before && c->gain <= before->gain)) {
                        c->tile = 0;
                        continue;
                }
                room -= bytes;
                if (before)
                        before->tile = 0;
        }
}

double winograd_constants(const struct module *m)
{
        double bytes = 0;
        for (const struct constant *c = m->constants; c; c = c->next)
                bytes += c->kind == CONSTANT_DENSE && c->value.uses
                                 ? (double)type_bytes(c->value.type)
                                 : 0;
        return bytes;
}

/* Returns by how many bytes weights grow, which are f32 when they are transformed. */
static double growth_of(const struct winograd *f, const struct type *w)
{
        double count = (double)type_elements(w);
        return (winograd_growth(f) + 1) * count * element_info[E_F32].bytes -
               count * element_info[w->element].bytes;
}

static struct winograd_choice *find_choices(struct function *f, const struct pass_context *context,
                                   int *count)
{
        const struct schedule_machine machine = { .target = context->target,
                                                  .threads = context->lower.threads };
        struct winograd_choice *choices = NULL;
        int numbers = *count = 0;
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                int number = numbers++;
                bool tiled = can_be_tiled(op, context->target) && !stays_direct(op, context);
                for (int tile = 2; tile <= WINOGRAD_TILE_MAX && tiled; tile += 2) {
                        double gain = schedule_winograd_gain(op, tile, &machine);
                        const struct winograd *w = winograd_find(tile);
                        if (gain <= 0)
                                continue;
                        ARENA_GROW(f->module->arena, choices, *count);
                        choices[(*count)++] = (struct winograd_choice){
                                op, tile, number, gain,
                                growth_of(w, op_operand(op, 1)->type)
                        };
                }
        }
        return choices;
}

int pass_winograd(struct function *f, struct pass_context *context)
{
        int count, replaced = 0;
        if (!target_engine(context->target)->vectors || context->exact || context->direct)
                return 0;
        struct winograd_choice *choices = find_choices(f, context, &count);
        winograd_afford(choices, count, winograd_constants(f->module) *
                                                (double)context->limits.winograd_percent / 100);
        for (int i = 0; i < count; i++) {
                if (!choices[i].tile)
                        continue;
                if (module_wants_sweep(f->module))
                        module_drop_constants(f->module);
                if (!replace(choices[i].op, winograd_find(choices[i].tile), context))
                        return -1;
                replaced++;
        }
        pass_dce(f, context);
        return replaced;
}
