/* SPDX-License-Identifier: MIT */
/* Computes the moments of what layers multiply. The sampler's program gives the values that layers
 * read; rows are gathered from them, 64 at a time, in panels of 8 features, so that a tile of
 * products is a small loop over neighbours:
 *
 *      panel   | row 0: x[0] .. x[7] | row 1: x[0] .. x[7] | .. |     one for each 8 features
 *      tile    products[i .. i + 4][j .. j + 8] += sum over the rows of panel i by panel j
 *
 * One program serves all layers. Where the products of all do not fit into --limit moment_bytes, it
 * runs on the samples again for the next ones. */
#include "passes/calibrate/moments.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "passes/calibrate/sampler.h"
#include "passes/simplify/ranges.h"

enum { ROWS = 64, PANEL = 8, TILE = 4, ROWS_LEAST = 1024 };

/* ---- rows ---- */

/* A view says where the rows of a layer lie in the value that it reads. */
struct view {
        const struct type *x;
        int64_t groups, depth, places;  /* places is the number of rows of one sample; where a run
                                         * says how many they are, at the bound until it does. */
        int64_t most;                   /* x has at most this many elements. */
        /* A product has this many elements behind the dimension that is summed over. */
        int64_t inner;
        /* These fields are of a convolution; else spatial is -1. */
        int spatial;
        const dim_t *window, *result;
        const int64_t *strides, *dilations, *spread, *pads;
        int64_t channels, taps;         /* A group has this many channels, and the window this many
                                         * elements. */
        int64_t *offsets;               /* [taps]: where the window's elements lie in a channel of
                                         * x; -1: zero. */
};

static struct view view_of(struct arena *arena, const struct op *op)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type,
                          *y = op_result(op)->type;
        struct view v = { .x = x, .groups = 1, .inner = 1, .spatial = -1,
                          .most = type_most_elements(op->region->function->module, x) };
        if (op->code == OP_dot) {
                const int64_t along = op_ints(op, "contract_a", NULL)[0];
                v.depth = type_extent(x, along);
                v.places = v.most / v.depth;
                for (int d = (int)along + 1; d < x->rank; d++)
                        v.inner *= type_extent(x, d);
                return v;
        }
        v.spatial = x->rank - 2;
        v.groups = op_int(op, "groups");
        v.window = w->dims + 2;
        v.result = y->dims + 2;
        v.strides = op_ints(op, "strides", NULL);
        v.dilations = op_ints(op, "dilations", NULL);
        v.spread = op_ints(op, "input_dilations", NULL);
        v.pads = op_ints(op, "pads", NULL);
        v.channels = type_extent(w, 1);
        v.depth = type_elements(w) / type_extent(w, 0);
        v.taps = v.depth / v.channels;
        v.places = type_elements(y) / type_extent(y, 1);
        v.offsets = arena_array(arena, (size_t)v.taps, sizeof *v.offsets);
        return v;
}

/* Returns where a window's element lies in a channel of x, or -1. */
static int64_t offset_of(const struct view *v, int64_t place, int64_t tap)
{
        int64_t offset = 0, step = 1;
        for (int d = v->spatial; d-- > 0;
             place /= dim_extent(v->result[d]), tap /= dim_extent(v->window[d])) {
                int64_t at = place % dim_extent(v->result[d]) * v->strides[d] +
                             tap % dim_extent(v->window[d]) * v->dilations[d] - v->pads[d];
                if (at < 0 || at % v->spread[d] || at / v->spread[d] >= type_extent(v->x, d + 2))
                        return -1;
                offset += at / v->spread[d] * step;
                step *= type_extent(v->x, d + 2);
        }
        return offset;
}

static void gather(const struct view *v, const float *x, int64_t place, int64_t group, float *row)
{
        if (v->spatial < 0) {
                const float *from = x + place / v->inner * v->depth * v->inner + place % v->inner;
                for (int64_t k = 0; k < v->depth; k++)
                        row[k] = from[k * v->inner];
                return;
        }
        int64_t area = 1, results = 1;
        for (int d = 0; d < v->spatial; d++) {
                area *= type_extent(v->x, d + 2);
                results *= dim_extent(v->result[d]);
        }
        for (int64_t t = 0; t < v->taps; t++)
                v->offsets[t] = offset_of(v, place % results, t);
        const float *from =
                x + (place / results * type_extent(v->x, 1) + group * v->channels) * area;
        for (int64_t c = 0; c < v->channels; c++, from += area)
                for (int64_t t = 0; t < v->taps; t++)
                        *row++ = v->offsets[t] < 0 ? 0 : from[v->offsets[t]];
}

/* ---- sums over rows ---- */

struct item {
        struct view view;
        const char *location;
        double times;                   /* The operation runs this often for a sample, as far as
                                         * that is known. */
        int value;                      /* The item reads the program's value with this number. */
        int same;                       /* An earlier item with this number sees the same rows; -1:
                                         * there is none. */
        bool products;                  /* Its products are computed. */
        uint64_t below;                 /* Rows whose hash is below this one count. */
        uint64_t seen;                  /* There have been this many rows so far, of one group. */
        struct moments m;
};

struct moments_run {
        struct arena *arena;
        struct pass_context *context;
        struct sampled *sampled;
        struct item *items;
        int count;
        int first, end;                 /* Items from `first` to before `end` are in memory. */
        struct arena *memory;           /* These items have their memory here. */
        float *whole;                   /* A value lies here as it comes. */
        float *row, *block;             /* row has `depth` elements; block is [depth /
                                         * PANEL][ROWS][PANEL]. */
        int64_t fill;                   /* The block has this many rows. */
};

/* Computes one tile: 4 features of panel a by all of panel b. */
static void add_tile(const float *a, const float *b, int64_t rows, float sums[TILE][PANEL])
{
        memset(sums, 0, TILE * sizeof *sums);
        for (int64_t r = 0; r < rows; r++, a += PANEL, b += PANEL)
                for (int i = 0; i < TILE; i++)
                        for (int j = 0; j < PANEL; j++)
                                sums[i][j] += a[i] * b[j];
}

/* Adds the block's rows to products[i][j], where panel j is not before panel i. */
static void add_block(struct moments_run *r, const struct item *t, int64_t group)
{
        const int64_t depth = t->m.depth;
        float *products = (float *)t->m.products + group * depth * depth, sums[TILE][PANEL];
        for (int64_t i = 0; i < depth; i += TILE)
                for (int64_t j = i / PANEL * PANEL; j < depth; j += PANEL) {
                        add_tile(r->block + i / PANEL * ROWS * PANEL + i % PANEL,
                                 r->block + j * ROWS, r->fill, sums);
                        for (int64_t k = i; k < depth && k < i + TILE; k++)
                                for (int64_t l = j; l < depth && l < j + PANEL; l++)
                                        products[k * depth + l] += sums[k - i][l - j];
                }
        r->fill = 0;
}

static void add_row(struct moments_run *r, struct item *t, int64_t group)
{
        const int64_t depth = t->m.depth;
        double *sums = (double *)t->m.sums + group * depth,
               *magnitudes = (double *)t->m.magnitudes + group * depth,
               *squares = (double *)t->m.squares + group * depth;
        float *largest = (float *)t->m.largest + group * depth;
        for (int64_t k = 0; k < depth; k++) {
                float x = r->row[k], size = fabsf(x);
                sums[k] += (double)x;
                magnitudes[k] += (double)size;
                squares[k] += (double)x * (double)x;
                largest[k] = size > largest[k] ? size : largest[k];
        }
        if (!t->products)
                return;
        for (int64_t k = 0; k < depth; k++)
                r->block[k / PANEL * ROWS * PANEL + r->fill * PANEL + k % PANEL] = r->row[k];
        if (++r->fill == ROWS)
                add_block(r, t, group);
}

/* Returns a hash (SplitMix64), so that the rows that are taken have no pattern of the image's. */
static uint64_t hash(uint64_t x)
{
        x += UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

/* Adds the contents of `whole`: all rows of one sample, of one iteration. */
static void add_whole(struct moments_run *r, struct item *t)
{
        int64_t rows = 0;
        memset(r->block, 0, (size_t)round_up(t->m.depth, PANEL) * ROWS * sizeof *r->block);
        for (int64_t g = 0; g < t->m.groups; g++) {
                rows = 0;
                for (int64_t p = 0; p < t->view.places; p++) {
                        if (hash(t->seen + (uint64_t)p) > t->below)
                                continue;
                        gather(&t->view, r->whole, p, g, r->row);
                        add_row(r, t, g);
                        rows++;
                }
                if (r->fill)
                        add_block(r, t, g);
        }
        t->m.rows += rows;
        t->seen += (uint64_t)t->view.places;
}

static bool fail(struct moments_run *r, const struct item *t, int64_t sample, int64_t element)
{
        diag_error(r->context->diag, EXIT_INVALID,
                   "sample number %" PRId64 ": %s multiplies a NaN, element %" PRId64, sample + 1,
                   t->location ? t->location : "a layer", element);
        return false;
}

/* take is the sampled_take of a run. Infinite numbers (masks) count as 0. */
static bool take(void *context, int64_t sample, int value, int64_t total, int64_t from,
                 const void *data, int64_t count)
{
        struct moments_run *r = context;
        const struct item *first = NULL;
        for (int i = r->first; i < r->end && !first; i++)
                first = r->items[i].value == value ? &r->items[i] : NULL;
        if (!first)
                return true;            /* Other items read it. */
        const struct type *type = first->view.x;
        for (int64_t k = 0; k < count; k++) {
                const union scalar number = element_load(type->element, data, (size_t)k);
                float x = element_is_float(type->element) ? (float)number.f : (float)number.i;
                if (isnan(x))
                        return fail(r, first, sample, from + k);
                r->whole[from + k] = isinf(x) ? 0 : x;
        }
        if (from + count < total)
                return true;
        for (int i = r->first; i < r->end; i++) {
                struct item *t = &r->items[i];
                if (t->value != value || t->same >= r->first)
                        continue;
                if (t->view.spatial < 0)
                        t->view.places = total / t->view.depth;
                add_whole(r, t);
        }
        return true;
}

/* ---- as many items as there is memory for ---- */

static double bytes_of(const struct item *t)
{
        double depth = (double)t->m.depth;
        return t->products ? (double)t->m.groups * depth * depth * (double)sizeof(float) : 0;
}

static void give_memory(struct moments_run *r, struct item *t)
{
        size_t count = (size_t)t->m.groups * (size_t)t->m.depth;
        if (t->same >= r->first)
                return;
        t->m.sums = arena_array(r->memory, count, sizeof(double));
        t->m.magnitudes = arena_array(r->memory, count, sizeof(double));
        t->m.squares = arena_array(r->memory, count, sizeof(double));
        t->m.largest = arena_array(r->memory, count, sizeof(float));
        if (t->products)
                t->m.products = arena_array(r->memory, count * (size_t)t->m.depth, sizeof(float));
}

/* Fills in the products that panels in front of the diagonal leave out. */
static void mirror(const struct item *t)
{
        const int64_t depth = t->m.depth;
        for (int64_t g = 0; t->products && g < t->m.groups; g++) {
                float *products = (float *)t->m.products + g * depth * depth;
                for (int64_t i = 0; i < depth; i++)
                        for (int64_t j = 0; j < i; j++)
                                products[i * depth + j] = products[j * depth + i];
        }
}

static bool make_batch(struct moments_run *r, int first)
{
        double left = (double)r->context->limits.moment_bytes;
        int64_t most = 0, depth = 0;
        arena_free(r->memory);
        r->memory = arena_new();
        r->first = r->end = first;
        for (; r->end < r->count; r->end++) {
                struct item *t = &r->items[r->end];
                double bytes = t->same >= first ? 0 : bytes_of(t);
                if (r->end > first && bytes > left)
                        break;
                left -= bytes;
                give_memory(r, t);
                most = t->view.most > most ? t->view.most : most;
                depth = t->m.depth > depth ? t->m.depth : depth;
        }
        r->whole = arena_array(r->memory, (size_t)most, sizeof *r->whole);
        r->row = arena_array(r->memory, (size_t)depth, sizeof *r->row);
        r->block = arena_array(r->memory, (size_t)round_up(depth, PANEL) * ROWS, sizeof *r->block);
        if (!r->context->sampler->run(r->sampled, take, r))
                return false;
        for (int i = r->first; i < r->end; i++) {
                struct item *t = &r->items[i];
                if (t->same >= r->first)
                        t->m = r->items[t->same].m;
                else
                        mirror(t);
        }
        return true;
}

const struct moments *moments_of(struct moments_run *r, int i)
{
        return (i >= r->first && i < r->end) || make_batch(r, i) ? &r->items[i].m : NULL;
}

/* ---- before and after ---- */

/* Is it known where rows lie? Of a product, how many there are may be the run's. */
static bool has_rows(const struct op *op)
{
        const struct type *x = op_operand(op, 0)->type;
        if (op->code == OP_convolve || op->region->owner)
                return type_is_static(x) && type_is_static(op_result(op)->type);
        for (int d = (int)op_ints(op, "contract_a", NULL)[0]; d < x->rank; d++)
                if (!dim_is_static(x->dims[d]))
                        return false;
        return true;
}

bool moments_possible(const struct op *op)
{
        if ((op->code != OP_convolve && op->code != OP_dot) || whole_outputs(op) < 0)
                return false;
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        return (element_is_float(x->element) || element_info[x->element].bytes <= 4) &&
               type_is_static(w) && has_rows(op) && !type_is_empty(x) && !type_is_empty(w) &&
               !type_is_empty(op_result(op)->type);
}

/* Returns the number of a value among those that are looked at, to which it is added if it is
 * new. */
static int number_of(struct value **values, int *count, struct value *v)
{
        int i = 0;
        while (i < *count && values[i] != v)
                i++;
        values[i] = v;
        *count += i == *count;
        return i;
}

static bool same_rows(const struct op *a, const struct op *b)
{
        return a->code == OP_dot && b->code == OP_dot && op_operand(a, 0) == op_operand(b, 0) &&
               *op_ints(a, "contract_a", NULL) == *op_ints(b, "contract_a", NULL);
}

/* Returns the number of iterations of the loops around op; a loop that may end early counts 1. */
static double times_of(const struct op *op)
{
        double times = 1;
        for (op = op->region->owner; op; op = op->region->owner)
                if (op->code == OP_loop && !op_operand(op, 0) && !op_operand(op, 1))
                        times *= (double)op_int(op, "steps");
        return times;
}

static void choose_rows(struct moments_run *r, struct item *t, bool products)
{
        const struct limits *limits = &r->context->limits;
        double most = fmax((double)limits->moment_rows * (double)t->m.depth, ROWS_LEAST),
               all = t->times * (double)t->view.places *
                     (double)r->context->sampler->count(r->sampled);
        t->products = products && bytes_of(&(struct item){ .products = true, .m = t->m }) <=
                                          (double)limits->moment_bytes;
        t->below = !t->products || all <= most ? UINT64_MAX : (uint64_t)(most / all * 0x1p64);
}

struct moments_run *moments_begin(struct pass_context *context, struct op *const *ops, int count,
                                  bool products)
{
        const struct sampler *sampler = context->sampler;
        if (!sampler || !count)
                return NULL;
        struct arena *arena = arena_new();
        struct moments_run *r = ARENA_NEW(arena, struct moments_run);
        struct value **values = arena_array(arena, (size_t)count, sizeof *values);
        int value_count = 0;
        *r = (struct moments_run){ .arena = arena, .context = context, .count = count };
        r->items = arena_array(arena, (size_t)count, sizeof *r->items);
        for (int i = 0; i < count; i++) {
                struct item *t = &r->items[i];
                *t = (struct item){ .view = view_of(arena, ops[i]),
                                    .location = ops[i]->location,
                                    .times = times_of(ops[i]),
                                    .same = -1 };
                t->value = number_of(values, &value_count, op_operand(ops[i], 0));
                t->m.groups = t->view.groups;
                t->m.depth = t->view.depth;
                for (int k = 0; k < i && t->same < 0; k++)
                        t->same = same_rows(ops[k], ops[i]) ? k : -1;
        }
        r->sampled = sampler->begin(sampler->runner, ops[0]->region->function->module, values,
                                    value_count);
        if (!r->sampled) {
                moments_end(r);
                return NULL;
        }
        for (int i = 0; i < count; i++)
                choose_rows(r, &r->items[i], products);
        return r;
}

void moments_end(struct moments_run *r)
{
        if (!r)
                return;
        if (r->sampled)
                r->context->sampler->end(r->sampled);
        arena_free(r->memory);
        arena_free(r->arena);
}
