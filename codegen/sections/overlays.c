/* SPDX-License-Identifier: MIT */
/* These machines are like the xDNN overlays for which the XFDNN compiler writes commands: an array
 * that takes a given number of channels at once, engines for windows, for sums of two volumes and
 * for transfers beside it, and activations in memory of its own. The row of 96 channels is overlay
 * v3; rows of 32 numbers fit the samples of v2, which has 28 or 56 channels. The other two rows are
 * ours: such arrays, and such ways to lay out memory, exist, but it is not documented which go
 * together. */
#include <string.h>

#include "base/size.h"
#include "codegen/sections/sections.h"

#define USUAL .activation_bytes = INT64_C(8) << 20, .number_bytes = 2, .pool_rows = 3, .extent = 65535

const struct overlay overlays[] = {
        { "sections", .channels = 96, .unit_channels = 8, .row_numbers = 1, .plane_channels = 1,
          USUAL },
        { "sections-28", .channels = 28, .unit_channels = 4, .row_numbers = 32, .plane_channels = 1,
          USUAL },
        { "sections-56", .channels = 56, .unit_channels = 8, .row_numbers = 32, .plane_channels = 1,
          USUAL },
        { "sections-32", .channels = 32, .unit_channels = 8, .row_numbers = 1, .plane_channels = 32,
          USUAL },
        { "sections-64", .channels = 64, .unit_channels = 8, .row_numbers = 1, .plane_channels = 1,
          .buffer_bytes = 256 << 10, USUAL },
};

const struct overlay *overlay_sized(struct arena *arena, const char *sizes, struct diag *diag)
{
        struct text known = { 0 };
        const struct overlay *found = NULL;
        for (size_t k = 0; k < sizeof overlays / sizeof *overlays; k++) {
                const char *channels = arena_printf(arena, "%d", overlays[k].channels);
                text_add(&known, "%s%s", k ? ", " : "", channels);
                if (!strcmp(sizes, channels))
                        found = &overlays[k];
        }
        if (!found)
                diag_error(diag, EXIT_USAGE,
                           "--sizes of machine sections is how many channels its array takes, one "
                           "of %s, not '%s'",
                           known.data, text_argument(arena, sizes));
        text_free(&known);
        return found;
}

int64_t overlay_row(const struct overlay *o, int64_t columns)
{
        return round_up(columns, o->row_numbers) * o->number_bytes;
}

int64_t overlay_align(const struct overlay *o)
{
        return o->buffer_bytes ? o->buffer_bytes : STORAGE_ALIGN;
}

int64_t row_bytes(const struct network *n, const struct volume *v)
{
        return v->channels * overlay_row(n->overlay, v->columns);
}

int64_t volume_channels(const struct network *n, const struct volume *v, bool alone)
{
        const struct section_storage *s = &n->storages[v->storage];
        if (alone)
                return round_up(v->channels, n->overlay->plane_channels);
        if (s->units > 1)
                return round_up(s->units * s->unit_channels, n->overlay->plane_channels);
        const int64_t end = v->channel + v->channels;
        return (end < s->channels ? end : round_up(end, n->overlay->plane_channels)) - v->channel;
}

int64_t volume_room(const struct network *n, const struct volume *v, int64_t rows, bool alone)
{
        return round_up(volume_channels(n, v, alone) * rows * overlay_row(n->overlay, v->columns),
                        overlay_align(n->overlay));
}
