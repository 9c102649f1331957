/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "passes/layout/layout_spectra.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOWS = 32 };                  /* This many windows are transformed side by side. */

/* Reads windows first to first + count - 1 of w <.. x rows x columns>, side by side, where row r of
 * the dilated window is taken, into `size` columns. */
static void read_row(const struct spectral *s, int64_t first, int64_t count, int64_t row, double *x)
{
        const int last = s->dims - 1;
        const int64_t size = s->size[last], columns = s->window[last],
                      taps = columns * (s->dims > 1 ? s->window[0] : 1);
        const float *w = constant_data(s->w->constant);
        memset(x, 0, 2 * (size_t)(size * WINDOWS) * sizeof *x);
        for (int64_t j = 0; j < columns; j++)
                for (int64_t i = 0; i < count; i++)
                        x[j * s->dilation[last] * WINDOWS + i] =
                                (double)w[(first + i) * taps + row * columns + j];
}

/* The real part of a window's frequency is stored at `at`, the imaginary one `apart` behind it. */
struct place { float *at; int64_t apart; };

static struct place place_of(const struct spectral *s, float *const data[2], int64_t window,
                             int64_t frequency, int64_t frequencies)
{
        const int64_t output = window / s->channels % s->outputs, channel = window % s->channels,
                      group = window / s->channels / s->outputs;
        if (s->channels == 1)
                return (struct place){ data[0] + window * frequencies + frequency,
                                       data[1] - data[0] };
        const int64_t row = (frequency * s->groups + group) * s->channels + channel;
        return (struct place){ data[0] + row * 2 * s->outputs + output, s->outputs };
}

/* Stores a line of frequencies, of which `kept` count, of the windows side by side. */
static void store_line(const struct spectral *s, float *const data[2], int64_t first, int64_t count,
                       const double *y, int64_t size, int64_t kept, int64_t from, int64_t step,
                       int64_t frequencies)
{
        for (int64_t k = 0; k < kept; k++)
                for (int64_t i = 0; i < count; i++) {
                        const struct place p =
                                place_of(s, data, first + i, from + k * step, frequencies);
                        p.at[0] = (float)y[k * WINDOWS + i];
                        p.at[p.apart] = (float)-y[(size + k) * WINDOWS + i];
                }
}

/* Transforms some windows: along the columns of each row, and then along rows. */
static void transform_windows(const struct spectral *s, float *const data[2], int64_t first,
                              int64_t count)
{
        const int last = s->dims - 1;
        const int64_t columns = s->size[last], rows = s->dims > 1 ? s->size[0] : 1;
        /* The half is along the last dimension where channels are separate, else the first. */
        const bool separate = s->channels == 1;
        const int64_t kept_columns = separate || s->dims == 1 ? columns / 2 + 1 : columns,
                      kept_rows = s->dims > 1 && !separate ? rows / 2 + 1 : rows;
        const struct spectrum_plan across = spectrum_plan(columns), down = spectrum_plan(rows);
        const int64_t longest = columns > rows ? columns : rows,
                      frequencies = kept_rows * kept_columns;
        double *x = memory_alloc((size_t)(2 * longest * WINDOWS) * sizeof *x),
               *y = memory_alloc((size_t)(2 * longest * WINDOWS) * sizeof *y),
               *all = memory_alloc((size_t)(2 * rows * kept_columns * WINDOWS) * sizeof *all);
        const int64_t window_rows = s->dims > 1 ? s->window[0] : 1;
        for (int64_t r = 0; r < window_rows; r++) {
                read_row(s, first, count, r, x);
                const double *line = spectrum_in_double(&across, WINDOWS, x, y);
                if (s->dims == 1) {
                        store_line(s, data, first, count, line, columns, kept_columns, 0, 1,
                                   frequencies);
                        continue;
                }
                for (int64_t k = 0; k < kept_columns; k++)
                        for (int part = 0; part < 2; part++)
                                memcpy(all + ((2 * k + part) * rows + r * s->dilation[0]) * WINDOWS,
                                       line + (part * columns + k) * WINDOWS,
                                       WINDOWS * sizeof *all);
        }
        for (int64_t k = 0; k < kept_columns && s->dims > 1; k++) {
                memcpy(x, all + 2 * k * rows * WINDOWS, 2 * (size_t)(rows * WINDOWS) * sizeof *x);
                const double *line = spectrum_in_double(&down, WINDOWS, x, y);
                store_line(s, data, first, count, line, rows, kept_rows, k, kept_columns,
                           frequencies);
        }
        free(x);
        free(y);
        free(all);
}

void spectral_weights(struct layout *l, const struct spectral *s, struct value *parts[2])
{
        const bool separate = s->channels == 1;
        const int half = separate ? s->dims - 1 : 0;
        dim_t dims[RANK_MAX];
        int rank = 0;
        if (separate) {
                dims[rank++] = dim_of(s->groups);
                dims[rank++] = dim_of(s->outputs);
        }
        for (int d = 0; d < s->dims; d++)
                dims[rank++] = dim_of(d == half ? s->size[d] / 2 + 1 : s->size[d]);
        if (!separate) {
                dims[rank++] = dim_of(s->groups);
                dims[rank++] = dim_of(s->channels);
                dims[rank++] = dim_of(2 * s->outputs);
        }
        const struct type *t = type_tensor(l->m, E_F32, rank, dims);
        float *data[2] = { NULL, NULL };
        for (int part = 0; part < (separate ? 2 : 1); part++)
                data[part] = constant_room(l->m, (size_t)type_bytes(t));
        const int64_t windows = s->groups * s->outputs * s->channels;
        for (int64_t first = 0; first < windows; first += WINDOWS)
                transform_windows(s, data, first,
                                  windows - first < WINDOWS ? windows - first : WINDOWS);
        parts[1] = NULL;
        for (int part = 0; part < (separate ? 2 : 1); part++)
                parts[part] = constant_dense(l->m, t, data[part], s->w->constant->name);
}
