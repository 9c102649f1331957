/* SPDX-License-Identifier: MIT */
/* Weights for Winograd's algorithm: G w H^T of each window, in double, rounded once.
 *
 * With strides, a window is split into its phases first: phase p of s has taps p, p + s, p + 2 s,
 * .., with a zero behind the last one where others have one more.
 *
 * Errors are those of the algorithm with each step rounded to float, against the same without
 * rounding: a multiplication and an addition are rounded once, as by targets that fuse them. */
#include "passes/layout/winograd_weights.h"
#include "ir/tensor/ops.h"

#include <math.h>
#include <string.h>

enum { BATCH = WINOGRAD_BATCH, SIZE = WINOGRAD_SIZE_MAX, WINDOW = WINOGRAD_WINDOW_MAX };
typedef float windows[WINDOW][WINDOW][BATCH];
typedef double square[SIZE][SIZE][BATCH];

bool winograd_weights_of(const struct op *packed, const int64_t *tile, struct winograd_weights *w)
{
        const int dims = winograd_dims(packed), missing = WINOGRAD_DIMS - dims;
        const struct type *type = op_operand(packed, 1)->type;
        const int64_t *strides = op_ints(packed, "strides", NULL);
        int64_t window[WINOGRAD_DIMS];
        const struct value *given = op_operand(packed, 1);
        *w = (struct winograd_weights){ .type = type,
                                        .w = value_is_constant(given) ? given->constant : NULL,
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

/* Returns a number between -1 and 1 that is drawn for weight number `at`. */
static float drawn_weight(int64_t at)
{
        uint32_t x = (uint32_t)at * 2654435761u;
        x = (x ^ x >> 15) * 2246822519u;
        return (float)((double)(x ^ x >> 13) / 0x1p31 - 1);
}

/* Loads the taps at `at` of a batch of outputs; c is NULL: they are drawn. */
static void load_taps(const struct constant *c, int64_t at, float *taps)
{
        if (!c) {
                for (int l = 0; l < BATCH; l++)
                        taps[l] = drawn_weight(at + l);
                return;
        }
        if (c->kind != CONSTANT_SPLAT && c->value.type->element == E_F32) {
                memcpy(taps, (const char *)constant_data(c) + (size_t)at * sizeof(float),
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

/* Computes G w H^T for a batch of windows. */
static void transform_windows(const struct winograd_square *f, windows w, double u[][BATCH])
{
        const struct winograd *down = &f->along[0], *across = &f->along[1];
        double rows[SIZE][WINDOW][BATCH] = { 0 };
        for (int a = 0; a < down->size; a++)
                for (int j = 0; j < across->window; j++)
                        for (int i = 0; i < down->window; i++)
                                for (int l = 0; l < BATCH; l++)
                                        rows[a][j][l] += down->weights[a][i] * (double)w[i][j][l];
        for (int a = 0; a < down->size; a++)
                for (int b = 0; b < across->size; b++, u++) {
                        memset(*u, 0, sizeof *u);
                        for (int j = 0; j < across->window; j++)
                                for (int l = 0; l < BATCH; l++)
                                        (*u)[l] += across->weights[b][j] * rows[a][j][l];
                }
}

struct value *winograd_transform(struct module *m, const struct winograd_weights *w,
                                 int64_t outputs, int64_t width)
{
        const int64_t lanes = type_extent(w->type, w->type->rank - 1),
                      panels = divide_up(outputs, width),
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
                        double squares[SIZE * SIZE][BATCH];
                        float *to = u + (n / width * channels + i) * width + n % width;
                        load_windows(w, n, i % w->channels, i / w->channels, some);
                        transform_windows(&w->f, some, squares);
                        for (int e = 0; e < w->f.elements; e++, to += u_step)
                                for (int l = 0; l < BATCH; l++)
                                        to[l] = (float)squares[e][l];
                }
        struct value *transformed = constant_dense(m, type, u, NULL);
        transformed->constant->name = w->w->name;
        return transformed;
}

/* ---- errors ---- */

enum { TILES = 8 };                     /* So many tiles are looked at. */

/* Products of all tiles, with each step rounded to float, and as they are. */
struct sample {
        const struct winograd_weights *w;
        uint32_t random;
        square rounded[TILES], exact[TILES];
};

static double step_of(double a, double k, double b, bool rounds)
{
        const double sum = a + k * b;
        return rounds ? (double)(float)sum : sum;
}

/* Computes a line's results of `lanes` numbers each, in place. */
static void apply_line(const struct winograd_line *line, double values[][BATCH], int lanes,
                       bool rounds)
{
        double all[WINOGRAD_VALUES_MAX][BATCH];
        memcpy(all, values, (size_t)line->count * sizeof *all);
        for (int i = 0; i < line->step_count; i++) {
                const struct winograd_step *s = &line->steps[i];
                for (int l = 0; l < lanes; l++)
                        all[line->count + i][l] =
                                step_of(all[s->a][l], s->k, all[s->b][l], rounds);
        }
        for (int i = 0; i < line->results; i++)
                memcpy(values[i], all[line->result[i]], sizeof *all);
}

static void apply_lines(const struct winograd_line *down, const struct winograd_line *across,
                        square s, int lanes, bool rounds)
{
        for (int j = 0; j < across->count; j++) {
                double column[SIZE][BATCH];
                for (int i = 0; i < down->count; i++)
                        memcpy(column[i], s[i][j], sizeof *column);
                apply_line(down, column, lanes, rounds);
                for (int i = 0; i < down->results; i++)
                        memcpy(s[i][j], column[i], sizeof *column);
        }
        for (int i = 0; i < down->results; i++)
                apply_line(across, s[i], lanes, rounds);
}

/* Fills a square with random numbers of which half are 0. */
static void fill(struct sample *s, square x)
{
        for (int i = 0; i < s->w->f.along[0].size; i++)
                for (int j = 0; j < s->w->f.along[1].size; j++)
                        for (int t = 0; t < TILES; t++) {
                                s->random = s->random * 1664525u + 1013904223u;
                                const double at = (double)(s->random >> 8) / (1 << 23) - 1;
                                x[i][j][t] = at > 0 ? at : 0;
                        }
}

static void add_channel(struct sample *s, int64_t channel, int64_t phase)
{
        const struct winograd *down = &s->w->f.along[0], *across = &s->w->f.along[1];
        windows w;
        square x = { 0 }, v;
        double u[SIZE * SIZE][BATCH];
        load_windows(s->w, 0, channel, phase, w);
        transform_windows(&s->w->f, w, u);
        fill(s, x);
        memcpy(v, x, sizeof v);
        apply_lines(&down->input, &across->input, x, TILES, true);
        apply_lines(&down->input, &across->input, v, TILES, false);
        for (int e = 0; e < s->w->f.elements; e++) {
                const int i = e / across->size, j = e % across->size;
                double near[BATCH];
                for (int l = 0; l < BATCH; l++)
                        near[l] = (double)(float)u[e][l];
                for (int t = 0; t < TILES; t++) {
                        double *sum = s->rounded[t][i][j], *exact = s->exact[t][i][j];
                        for (int l = 0; l < BATCH; l++) {
                                sum[l] = step_of(sum[l], x[i][j][t], near[l], true);
                                exact[l] = step_of(exact[l], v[i][j][t], u[e][l], false);
                        }
                }
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
                apply_lines(&down->output, &across->output, s.rounded[t], BATCH, true);
                apply_lines(&down->output, &across->output, s.exact[t], BATCH, false);
                for (int y = 0; y < down->tile; y++)
                        for (int z = 0; z < across->tile; z++)
                                for (int l = 0; l < BATCH; l++) {
                                        const double sum = s.exact[t][y][z][l];
                                        const double off = fabs(s.rounded[t][y][z][l] - sum);
                                        error = off > error ? off : error;
                                        most = fabs(sum) > most ? fabs(sum) : most;
                                }
        }
        return most > 0 ? error / most : 0;
}
