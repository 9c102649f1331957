/* SPDX-License-Identifier: MIT */
/* Reads JPEG images: baseline and extended sequential with Huffman codes (ITU-T T.81), which
 * cameras and most programs write.
 *
 *     SOI  DQT..  SOF0  DHT..  SOS  bits of blocks ..  EOI       a block: 8 x 8 coefficients of one component
 *
 * Components that have fewer samples than the image (4:2:0, say) are interpolated linearly between
 * the centres of samples. Nothing in the file is trusted: each block takes 2 bits at least, so that
 * memory is at most a multiple of the file's size. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jpeg.h"

/* ---- segments; p: of `size` bytes behind the marker and the length ---- */

static const char *read_quantization(struct decoder *d, const unsigned char *p, int size)
{
        while (size > 0) {
                int wide = p[0] >> 4, table = p[0] & 15, need = wide ? 129 : 65;
                if (wide > 1 || table > 3 || size < need)
                        return "a quantization table is damaged";
                for (int k = 0; k < 64; k++)
                        d->steps[table][k] = wide ? (float)(p[1 + 2 * k] << 8 | p[2 + 2 * k]) : (float)p[1 + k];
                p += need;
                size -= need;
        }
        return NULL;
}

static const char *read_codes(struct decoder *d, const unsigned char *p, int size)
{
        while (size > 0) {
                int kind = p[0] >> 4, table = p[0] & 15, total = 0, code = 0;
                if (kind > 1 || table > 3 || size < 17)
                        return "a table of codes is damaged";
                struct huffman *h = &d->codes[kind][table];
                *h = (struct huffman){ .known = 1 };
                for (int length = 1; length <= 16; length++) {
                        h->offset[length] = total;
                        h->first[length] = code;
                        h->count[length] = p[length];
                        total += p[length];
                        code += p[length];
                        if (code > 1 << length)
                                return "a table of codes is damaged";
                        code *= 2;
                }
                if (total > 256 || size < 17 + total)
                        return "a table of codes is damaged";
                memcpy(h->symbols, p + 17, (size_t)total);
                p += 17 + total;
                size -= 17 + total;
        }
        return NULL;
}

static const char *read_frame(struct decoder *d, const unsigned char *p, int size)
{
        if (d->count || size < 6 || p[0] != 8 || size < 6 + 3 * p[5])
                return d->count ? "it has several frames" : "a frame's head is damaged, or not of 8 bits";
        int count = p[5], blocks = 0;
        d->height = p[1] << 8 | p[2];
        d->width = p[3] << 8 | p[4];
        if ((count != 1 && count != 3) || !d->width || !d->height)
                return "it has no pixels, or neither one nor three components";
        for (int i = 0; i < count; i++) {
                struct component *c = &d->components[i];
                *c = (struct component){ .id = p[6 + 3 * i], .across = p[7 + 3 * i] >> 4, .down = p[7 + 3 * i] & 15,
                                          .table = p[8 + 3 * i] };
                if (c->across < 1 || c->across > 4 || c->down < 1 || c->down > 4 || c->table > 3)
                        return "a frame's head is damaged";
                if (count == 1)
                        c->across = c->down = 1;                /* One component has all of its
                                                                 * samples. */
                d->most_across = c->across > d->most_across ? c->across : d->most_across;
                d->most_down = c->down > d->most_down ? c->down : d->most_down;
                blocks += c->across * c->down;
        }
        d->units_across = (d->width + 8 * d->most_across - 1) / (8 * d->most_across);
        d->units_down = (d->height + 8 * d->most_down - 1) / (8 * d->most_down);
        if ((d->width + d->most_across * 8.0) * (d->height + d->most_down * 8.0) > IMAGE_MOST_PIXELS)
                return "the image is too large";
        d->count = count;
        if ((double)d->units_across * d->units_down * blocks / 4 > (double)(d->end - d->at))
                return "it ends early";
        for (int i = 0; i < count; i++) {
                struct component *c = &d->components[i];
                c->width = (d->width * c->across + d->most_across - 1) / d->most_across;
                c->height = (d->height * c->down + d->most_down - 1) / d->most_down;
                c->stride = 8 * c->across * d->units_across;
                c->samples = malloc((size_t)c->stride * 8 * (size_t)c->down * (size_t)d->units_down);
                if (!c->samples)
                        return "not enough memory";
        }
        return NULL;
}

static const char *read_scan(struct decoder *d, const unsigned char *p, int size)
{
        struct component *scanned[3];
        int count = size > 0 ? p[0] : 0;
        if (count < 1 || count > d->count || size < 4 + 2 * count)
                return d->count ? "a scan's head is damaged" : "a scan without a frame";
        for (int i = 0; i < count; i++) {
                struct component *c = d->components, *last = c + d->count;
                while (c < last && (c->id != p[1 + 2 * i] || c->scanned))
                        c++;
                if (c == last)
                        return "a scan of a component that the frame does not have, or for the second time";
                c->scanned = 1;
                c->dc_table = p[2 + 2 * i] >> 4;
                c->ac_table = p[2 + 2 * i] & 15;
                if (c->dc_table > 3 || c->ac_table > 3 || !d->codes[0][c->dc_table].known || !d->codes[1][c->ac_table].known ||
                    d->steps[c->table][0] == 0)
                        return "a scan needs a table that the file does not define";
                scanned[i] = c;
        }
        return jpeg_scan(d, scanned, count);
}

/* ---- the image ---- */

/* Returns a component where the image's pixel x, y has its centre. */
static float sample(const struct decoder *d, const struct component *c, int x, int y)
{
        if (c->across == d->most_across && c->down == d->most_down)
                return c->samples[(size_t)y * c->stride + x];
        float u = ((float)x + 0.5f) * (float)c->across / (float)d->most_across - 0.5f;
        float v = ((float)y + 0.5f) * (float)c->down / (float)d->most_down - 0.5f;
        u = u < 0 ? 0 : u > (float)(c->width - 1) ? (float)(c->width - 1) : u;
        v = v < 0 ? 0 : v > (float)(c->height - 1) ? (float)(c->height - 1) : v;
        int left = (int)u, top = (int)v, right = left + (left < c->width - 1), bottom = top + (top < c->height - 1);
        const unsigned char *a = c->samples + (size_t)top * c->stride, *b = c->samples + (size_t)bottom * c->stride;
        u -= (float)left;
        v -= (float)top;
        return (1 - v) * ((1 - u) * a[left] + u * a[right]) + v * ((1 - u) * b[left] + u * b[right]);
}

static unsigned char to_byte(float v)
{
        return v < 0 ? 0 : v > 254.5f ? 255 : (unsigned char)(v + 0.5f);
}

static const char *assemble(const struct decoder *d, struct image *image)
{
        for (int i = 0; i < d->count; i++)
                if (!d->components[i].scanned)
                        return "it ends early";
        const char *error = d->count ? image_new(image, d->width, d->height) : "it has no frame";
        for (int y = 0; !error && y < d->height; y++)
                for (int x = 0; x < d->width; x++) {
                        unsigned char *p = image->pixels + 3 * ((size_t)y * d->width + x);
                        float v[3] = { 0, 128, 128 };
                        for (int i = 0; i < d->count; i++)
                                v[i] = sample(d, &d->components[i], x, y);
                        float blue = v[1] - 128, red = v[2] - 128;
                        p[0] = to_byte(d->rgb ? v[0] : v[0] + 1.402f * red);
                        p[1] = to_byte(d->rgb ? v[1] : v[0] - 0.344136286f * blue - 0.714136286f * red);
                        p[2] = to_byte(d->rgb ? v[2] : v[0] + 1.772f * blue);
                }
        return error;
}

static const char *decode(struct decoder *d)
{
        for (;;) {
                while (d->at < d->end && *d->at != 0xff)        /* This is what is left of a
                                                                 * scan. */
                        d->at++;
                while (d->at < d->end && *d->at == 0xff)
                        d->at++;
                if (d->at == d->end)
                        return "it ends early";
                int marker = *d->at++;
                if (marker == 0xd9)
                        return NULL;
                if (marker == 0 || marker == 1 || (marker >= 0xd0 && marker <= 0xd8))
                        continue;                               /* These stand alone. */
                int size = d->end - d->at < 2 ? 0 : d->at[0] << 8 | d->at[1];
                if (size < 2 || size > d->end - d->at)
                        return "it ends early";
                const unsigned char *p = d->at + 2;
                const char *error = NULL;
                d->at += size;
                size -= 2;
                if (marker == 0xdb)
                        error = read_quantization(d, p, size);
                else if (marker == 0xc4)
                        error = read_codes(d, p, size);
                else if (marker == 0xc0 || marker == 0xc1)
                        error = read_frame(d, p, size);
                else if (marker >= 0xc2 && marker <= 0xcf && marker != 0xc8 && marker != 0xcc)
                        error = "it is JPEG of another kind than baseline (progressive, say)";
                else if (marker == 0xda)
                        error = read_scan(d, p, size);
                else if (marker == 0xdd && size >= 2)
                        d->restart = p[0] << 8 | p[1];
                else if (marker == 0xee && size >= 12 && !memcmp(p, "Adobe", 5))
                        d->rgb = p[11] == 0;
                if (error)
                        return error;
        }
}

const char *jpeg_decode(const unsigned char *bytes, size_t count, struct image *image)
{
        *image = (struct image){ 0, 0, NULL };
        struct decoder *d = calloc(1, sizeof *d);
        if (!d)
                return "not enough memory";
        for (int i = 0; i < 64; i++)
                d->cosine[i / 8][i % 8] = (float)((i % 8 ? 0.5 : sqrt(0.125)) * cos((2 * (i / 8) + 1) * (i % 8) * 3.14159265358979 / 16));
        d->at = bytes;
        d->end = bytes + count;
        const char *error = count < 2 ? "it ends early" : decode(d);
        if (!error)
                error = assemble(d, image);
        for (int i = 0; i < 3; i++)
                free(d->components[i].samples);
        free(d);
        return error;
}
