/* SPDX-License-Identifier: MIT */
/* Writes baseline JPEG (ITU-T T.81): three components at full size, so that drawn lines stay sharp,
 * with the quantization steps and the codes for brightness that the standard gives as examples (its
 * annex K) for all three. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jpeg.h"

struct encoder {
        unsigned char *bytes;
        size_t count, room;
        unsigned long bits;             /* They are not written yet. */
        int pending, full;              /* pending counts these bits; full says that there is no
                                         * memory. */
        float cosine[8][8], steps[64];  /* They are [u][x], and the quantization steps in the order
                                         * of rows. */
        unsigned short code[2][256];
        unsigned char length[2][256];
};

static const unsigned char step_at_50[64] = {
        16, 11, 10, 16, 24, 40, 51, 61,     12, 12, 14, 19, 26, 58, 60, 55,     14, 13, 16, 24, 40, 57, 69, 56,
        14, 17, 22, 29, 51, 87, 80, 62,     18, 22, 37, 56, 68, 109, 103, 77,   24, 35, 55, 64, 81, 104, 113, 92,
        49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
};
/* They say how many codes there are of 1 to 16 bits, and what they stand for. */
static const unsigned char lengths[2][16] = { { 0, 1, 5, 1, 1, 1, 1, 1, 1 }, { 0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125 } };
static const unsigned char symbols[2][162] = {
        { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 },
        {
        0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07, 0x22, 0x71,
        0x14, 0x32, 0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52, 0xd1, 0xf0, 0x24, 0x33, 0x62, 0x72,
        0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x34, 0x35, 0x36, 0x37,
        0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59,
        0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x83,
        0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3,
        0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3,
        0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe1, 0xe2,
        0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa,
        },
};
static const int symbol_count[2] = { 12, 162 };

/* ---- bytes and bits ---- */

static void put(struct encoder *e, int byte)
{
        if (e->count == e->room) {
                size_t room = e->room ? 2 * e->room : 1 << 16;
                unsigned char *more = e->full ? NULL : realloc(e->bytes, room);
                if (!more) {
                        e->full = 1;
                        return;
                }
                e->bytes = more;
                e->room = room;
        }
        e->bytes[e->count++] = (unsigned char)byte;
}

static void put_all(struct encoder *e, const unsigned char *bytes, int count)
{
        for (int i = 0; i < count; i++)
                put(e, bytes[i]);
}

static void put_bits(struct encoder *e, unsigned bits, int count)
{
        e->bits = (e->bits << count | bits) & 0xffffff;
        for (e->pending += count; e->pending >= 8; e->pending -= 8) {
                int byte = (int)(e->bits >> (e->pending - 8) & 0xff);
                put(e, byte);
                if (byte == 0xff)
                        put(e, 0);                      /* The zero says that it is no marker. */
        }
}

/* Writes a symbol, whose low four bits are the size of the number behind it. */
static void put_number(struct encoder *e, int kind, int run, int number)
{
        int size = 0;
        for (int n = abs(number); n; n >>= 1)
                size++;
        put_bits(e, e->code[kind][run << 4 | size], e->length[kind][run << 4 | size]);
        put_bits(e, (unsigned)(number < 0 ? number + (1 << size) - 1 : number), size);
}

/* ---- segments ---- */

static void define_codes(struct encoder *e)
{
        for (int kind = 0; kind < 2; kind++) {
                int size = 19 + symbol_count[kind], code = 0, k = 0;
                put_all(e, (unsigned char[]){ 0xff, 0xc4, 0, (unsigned char)size, (unsigned char)(kind << 4) }, 5);
                put_all(e, lengths[kind], 16);
                put_all(e, symbols[kind], symbol_count[kind]);
                for (int length = 1; length <= 16; length++, code *= 2)
                        for (int i = 0; i < lengths[kind][length - 1]; i++, k++) {
                                e->code[kind][symbols[kind][k]] = (unsigned short)code++;
                                e->length[kind][symbols[kind][k]] = (unsigned char)length;
                        }
        }
}

static void put_head(struct encoder *e, const struct image *image, int quality)
{
        int scale = quality < 50 ? 5000 / quality : 200 - 2 * quality;
        put_all(e, (const unsigned char *)"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0", 20);
        put_all(e, (const unsigned char *)"\xff\xdb\0\x43\0", 5);
        for (int k = 0; k < 64; k++) {
                int step = (step_at_50[jpeg_zigzag[k]] * scale + 50) / 100;
                step = step < 1 ? 1 : step > 255 ? 255 : step;
                e->steps[jpeg_zigzag[k]] = (float)step;
                put(e, step);
        }
        put_all(e, (const unsigned char *)"\xff\xc0\0\x11\x8", 5);
        put_all(e, (unsigned char[]){ (unsigned char)(image->height >> 8), (unsigned char)image->height,
                                      (unsigned char)(image->width >> 8), (unsigned char)image->width }, 4);
        put_all(e, (const unsigned char *)"\3\1\x11\0\2\x11\0\3\x11\0", 10);
        define_codes(e);
        put_all(e, (const unsigned char *)"\xff\xda\0\x0c\3\1\0\2\0\3\0\0\x3f\0", 14);
}

/* ---- blocks ---- */

/* Transforms eight rows of eight numbers along rows, and transposes them, so that a second time
 * transforms columns. */
static void transform(float cosine[8][8], const float *from, float *to)
{
        for (int y = 0; y < 8; y++)
                for (int u = 0; u < 8; u++) {
                        float sum = 0;
                        for (int x = 0; x < 8; x++)
                                sum += from[8 * y + x] * cosine[u][x];
                        to[8 * u + y] = sum;
                }
}

/* Writes a block; *last is the first coefficient of the block before. */
static void put_block(struct encoder *e, float *a, int *last)
{
        float b[64];
        int run = 0;
        transform(e->cosine, a, b);
        transform(e->cosine, b, a);
        int first = (int)lrintf(a[0] / e->steps[0]);
        put_number(e, 0, 0, first - *last);
        *last = first;
        for (int k = 1; k < 64; k++) {
                int n = (int)lrintf(a[jpeg_zigzag[k]] / e->steps[jpeg_zigzag[k]]);
                if (!n) {
                        run++;
                        continue;
                }
                n = n > 1023 ? 1023 : n < -1023 ? -1023 : n;
                for (; run > 15; run -= 16)
                        put_bits(e, e->code[1][0xf0], e->length[1][0xf0]);
                put_number(e, 1, run, n);
                run = 0;
        }
        if (run)
                put_bits(e, e->code[1][0], e->length[1][0]);
}

/* Loads brightness and the two differences of the 8 x 8 pixels at left, top; those beyond the image
 * repeat its last ones. */
static void load_block(const struct image *image, int left, int top, float planes[3][64])
{
        for (int i = 0; i < 64; i++) {
                int x = left + i % 8, y = top + i / 8;
                x = x < image->width ? x : image->width - 1;
                y = y < image->height ? y : image->height - 1;
                const unsigned char *p = image->pixels + 3 * ((size_t)y * image->width + x);
                planes[0][i] = 0.299f * p[0] + 0.587f * p[1] + 0.114f * p[2] - 128;
                planes[1][i] = -0.168735892f * p[0] - 0.331264108f * p[1] + 0.5f * p[2];
                planes[2][i] = 0.5f * p[0] - 0.418687589f * p[1] - 0.0813124109f * p[2];
        }
}

const char *jpeg_encode(const struct image *image, int quality, unsigned char **bytes, size_t *count)
{
        *bytes = NULL;
        *count = 0;
        if (image->width > 65535 || image->height > 65535)
                return "no side of a JPEG image is longer than 65535";
        struct encoder *e = calloc(1, sizeof *e);
        if (!e)
                return "not enough memory";
        for (int i = 0; i < 64; i++)
                e->cosine[i / 8][i % 8] = (float)((i / 8 ? 0.5 : sqrt(0.125)) * cos((2 * (i % 8) + 1) * (i / 8) * 3.14159265358979 / 16));
        int last[3] = { 0, 0, 0 };
        float planes[3][64];
        put_head(e, image, quality < 1 ? 1 : quality > 100 ? 100 : quality);
        for (int top = 0; top < image->height; top += 8)
                for (int left = 0; left < image->width; left += 8) {
                        load_block(image, left, top, planes);
                        for (int c = 0; c < 3; c++)
                                put_block(e, planes[c], &last[c]);
                }
        put_bits(e, 0x7f, 7);                           /* Ones fill the last byte. */
        put_all(e, (const unsigned char *)"\xff\xd9", 2);
        const char *error = e->full ? "not enough memory" : NULL;
        if (error) {
                free(e->bytes);
        } else {
                *bytes = e->bytes;
                *count = e->count;
        }
        free(e);
        return error;
}
