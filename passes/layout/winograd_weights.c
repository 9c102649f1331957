/* SPDX-License-Identifier: MIT */
/* Weights for Winograd's algorithm: G w H^T of each window, in double, rounded once.
 *
 * With strides, a window is split into its phases first: phase p of s has taps p, p + s, p + 2 s,
 * .., with a zero behind the last one where others have one more. */
#include "passes/layout/winograd_weights.h"
#include "ir/tensor/ops.h"

#include <math.h>
#include <string.h>

enum { BATCH = WINOGRAD_BATCH, SIZE = WINOGRAD_SIZE_MAX, WINDOW = WINOGRAD_WINDOW_MAX };
typedef float windows[WINDOW][WINDOW][BATCH];
typedef float square[SIZE][SIZE][BATCH];

bool winograd_weights_of(const struct op *packed, const int64_t *tile, struct winograd_weights *w)
{
        const int dims = winograd_dims(packed), missing = WINOGRAD_DIMS - dims;
        const struct type *type = op_operand(packed, 1)->type;
        const int64_t *strides = op_ints(packed, "strides", NULL);
        int64_t window[WINOGRAD_DIMS];
        *w = (struct winograd_weights){ .w = op_operand(packed, 1)->constant,
                                        .channels = op_int(packed, "channels"),
                                        .blocks = type_extent(type, 1),
                                        .inner = type_extent(type, type->rank - 3),
                                        .run = type_extent(type, type->rank - 2) *
                                               type_extent(type, type->rank - 1) };
        for (int d = 0; d < WINOGRAD_DIMS; d++) {
                w->taps[d] = d < missing ? 1 : type_extent(type, 2 + d - missing);
                w->stride[d] = d < missing ? 1 : strides[d - missing];
                window[d] = divide_up(w->taps[d], w->stride[d]);
        }
        return winograd_find_square(tile, window, &w->f);
}

static float weight_at(const struct constant *c, int64_t at)
{
        const struct element_code *code = element_code(c->value.type->element);
        union scalar x = constant_element(c, at);
        return (float)(code ? element_code_number(code, (unsigned)x.u) : x.f);
}

/* Loads the taps at `at` of a batch of outputs. */
static void load_taps(const struct constant *c, int64_t at, float *taps)
{
        if (c->kind == CONSTANT_DENSE && c->value.type->element == E_F32) {
                memcpy(taps, (const char *)c->data + (size_t)at * sizeof(float),
                       BATCH * sizeof(float));
                return;
        }
        for (int l = 0; l < BATCH; l++) /* The elements have fewer bits, or are all one number. */
                taps[l] = weight_at(c, at + l);
}

/* Loads the windows of one channel and phase, of outputs from n on. */
static void load_windows(const struct winograd_weights *w, int64_t n, int64_t channel,
                         int64_t phase, windows to)
{
        const int64_t panel = n / w->run * w->blocks + channel / w->inner;
        const int64_t first = panel * w->taps[0] * w->taps[1];
        for (int i = 0; i < w->f.along[0].window; i++)
                for (int j = 0; j < w->f.along[1].window; j++) {
                        const int64_t row = i * w->stride[0] + phase / w->stride[1],
                                      column = j * w->stride[1] + phase % w->stride[1],
                                      tap = first + row * w->taps[1] + column;
                        if (row < w->taps[0] && column < w->taps[1])
                                load_taps(w->w,
                                          (tap * w->inner + channel % w->inner) * w->run +
                                                  n % w->run,
                                          to[i][j]);
                        else
                                memset(to[i][j], 0, sizeof to[i][j]);
                }
}

/* Computes G w H^T for a batch of windows; the elements of u are u_step floats apart. */
static void transform_windows(const struct winograd_square *f, windows w, float *u, int64_t u_step)
{
        const struct winograd *down = &f->along[0], *across = &f->along[1];
        double rows[SIZE][WINDOW][BATCH] = { 0 };
        for (int a = 0; a < down->size; a++)
                for (int j = 0; j < across->window; j++)
                        for (int i = 0; i < down->window; i++)
                                for (int l = 0; l < BATCH; l++)
                                        rows[a][j][l] += down->weights[a][i] * (double)w[i][j][l];
        for (int a = 0; a < down->size; a++)
                for (int b = 0; b < across->size; b++, u += u_step) {
                        double sum[BATCH] = { 0 };
                        for (int j = 0; j < across->window; j++)
                                for (int l = 0; l < BATCH; l++)
                                        sum[l] += across->weights[b][j] * rows[a][j][l];
                        for (int l = 0; l < BATCH; l++)
                                u[l] = (float)sum[l];
                }
}

struct value *winograd_transform(struct module *m, const struct winograd_weights *w,
                                 int64_t outputs, int64_t width)
{
        const struct type *old = w->w->value.type;
        const int64_t lanes = type_extent(old, old->rank - 1), panels = divide_up(outputs, width),
                      phases = w->stride[0] * w->stride[1], channels = phases * w->channels;
        dim_t dims[] = { dim_of(w->f.elements), dim_of(panels), dim_of(channels),
                         dim_of(width / lanes), dim_of(lanes) };
        const struct type *type = type_tensor(m, E_F32, 5, dims);
        const int64_t u_step = type_elements(type) / w->f.elements;
        float *u = constant_room(m, (size_t)type_bytes(type));
        if (panels * width > outputs)
                memset(u, 0, (size_t)type_bytes(type));
        for (int64_t n = 0; n < outputs; n += BATCH)
                for (int64_t i = 0; i < channels; i++) {
                        windows some;
                        load_windows(w, n, i % w->channels, i / w->channels, some);
                        transform_windows(&w->f, some,
                                          u + (n / width * channels + i) * width + n % width,
                                          u_step);
                }
        struct value *transformed = constant_dense(m, type, u, NULL);
        transformed->constant->name = w->w->name;
        return transformed;
}

/* ---- errors ---- */

enum { TILES = 8 }; /* So many tiles are looked at. */

struct sample {
        const struct winograd_weights *w;
        uint32_t random;
        square products[TILES];
        double sums[TILES][SIZE][SIZE][BATCH]; /* of the results */
};

/* Computes a line's results of `lanes` numbers each, in place. */
static void apply_line(const struct winograd_line *line, float values[][BATCH], int lanes)
{
        float all[WINOGRAD_VALUES_MAX][BATCH];
        memcpy(all, values, (size_t)line->count * sizeof *all);
        for (int i = 0; i < line->step_count; i++) {
                const struct winograd_step *s = &line->steps[i];
                for (int l = 0; l < lanes; l++)
                        all[line->count + i][l] =
                                (float)((double)all[s->a][l] + s->k * (double)all[s->b][l]);
        }
        for (int i = 0; i < line->results; i++)
                memcpy(values[i], all[line->result[i]], sizeof *all);
}

static void apply_lines(const struct winograd_line *down, const struct winograd_line *across,
                        square s, int lanes)
{
        for (int j = 0; j < across->count; j++) {
                float column[SIZE][BATCH];
                for (int i = 0; i < down->count; i++)
                        memcpy(column[i], s[i][j], sizeof *column);
                apply_line(down, column, lanes);
                for (int i = 0; i < down->results; i++)
                        memcpy(s[i][j], column[i], sizeof *column);
        }
        for (int i = 0; i < down->results; i++)
                apply_line(across, s[i], lanes);
}

/* Fills a square with random numbers of which half are 0. */
static void fill(struct sample *s, square x)
{
        for (int i = 0; i < s->w->f.along[0].size; i++)
                for (int j = 0; j < s->w->f.along[1].size; j++)
                        for (int t = 0; t < TILES; t++) {
                                s->random = s->random * 1664525u + 1013904223u;
                                const float at = (float)(s->random >> 8) / (float)(1 << 23) - 1;
                                x[i][j][t] = at > 0 ? at : 0;
                        }
}

/* Adds one channel's share of the results of tile t in double. */
static void add_plainly(struct sample *s, int t, windows w, square x)
{
        const struct winograd *down = &s->w->f.along[0], *across = &s->w->f.along[1];
        for (int y = 0; y < down->tile; y++)
                for (int z = 0; z < across->tile; z++)
                        for (int i = 0; i < down->window; i++)
                                for (int j = 0; j < across->window; j++)
                                        for (int l = 0; l < BATCH; l++)
                                                s->sums[t][y][z][l] += (double)x[y + i][z + j][t] *
                                                                       (double)w[i][j][l];
}

static void add_channel(struct sample *s, int64_t channel, int64_t phase)
{
        const struct winograd *down = &s->w->f.along[0], *across = &s->w->f.along[1];
        const int elements = s->w->f.elements;
        windows w;
        square x;
        float u[SIZE * SIZE][BATCH];
        load_windows(s->w, 0, channel, phase, w);
        transform_windows(&s->w->f, w, *u, BATCH);
        fill(s, x);
        for (int t = 0; t < TILES; t++)
                add_plainly(s, t, w, x);
        apply_lines(&down->input, &across->input, x, TILES);
        for (int t = 0; t < TILES; t++)
                for (int e = 0; e < elements; e++) {
                        const int i = e / across->size, j = e % across->size;
                        float *sum = s->products[t][i][j];
                        for (int l = 0; l < BATCH; l++)
                                sum[l] = (float)((double)sum[l] +
                                                 (double)x[i][j][t] * (double)u[e][l]);
                }
}

double winograd_error(const struct winograd_weights *w)
{
        const struct winograd *down = &w->f.along[0], *across = &w->f.along[1];
        struct sample s = { .w = w, .random = 1 };
        double error = 0, most = 0;
        for (int64_t phase = 0; phase < w->stride[0] * w->stride[1]; phase++)
                for (int64_t c = 0; c < w->channels; c++)
                        add_channel(&s, c, phase);
        for (int t = 0; t < TILES; t++) {
                apply_lines(&down->output, &across->output, s.products[t], BATCH);
                for (int y = 0; y < down->tile; y++)
                        for (int z = 0; z < across->tile; z++)
                                for (int l = 0; l < BATCH; l++) {
                                        const double sum = s.sums[t][y][z][l];
                                        const double off =
                                                fabs((double)s.products[t][y][z][l] - sum);
                                        error = off > error ? off : error;
                                        most = fabs(sum) > most ? fabs(sum) : most;
                                }
        }
        return most > 0 ? error / most : 0;
}
