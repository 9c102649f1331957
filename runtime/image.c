/* SPDX-License-Identifier: MIT */
/* Each decoder writes rows of red, green and blue, and says before it decodes what extents the
 * image has. BMP and PNM are read here, the others by libraries. */
#include "runtime/dnncc_image.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <openjpeg.h>
#include <png.h>
#include <tiffio.h>
#include <webp/decode.h>

enum { EXTENT_MOST = 1 << 15 };         /* An image has at most so many rows, and columns. */

/* A file that is read from its begin on. */
struct file {
        const unsigned char *bytes;
        size_t length, at;
};
/* What the caller wants; rgb has the room of rows x columns x 3 bytes. */
struct want {
        unsigned char *rgb;
        size_t rows, columns;
};

static unsigned char *row_of(const struct want *want, size_t row)
{
        return want->rgb + row * want->columns * 3;
}

/* ---- JPEG ---- */

struct jpeg_failure {
        struct jpeg_error_mgr manager;
        jmp_buf leave;
};

static void jpeg_fail(j_common_ptr info)
{
        longjmp(((struct jpeg_failure *)(void *)info->err)->leave, 1);
}

static void jpeg_say_nothing(j_common_ptr info, int level)
{
        (void)info;
        (void)level;
}

static int decode_jpeg(const struct file *file, const struct want *want)
{
        struct jpeg_decompress_struct info;
        struct jpeg_failure failure;

        info.err = jpeg_std_error(&failure.manager);
        failure.manager.error_exit = jpeg_fail;
        failure.manager.emit_message = jpeg_say_nothing;
        if (setjmp(failure.leave)) {
                jpeg_destroy_decompress(&info);
                return -1;
        }
        jpeg_create_decompress(&info);
        jpeg_mem_src(&info, file->bytes, (unsigned long)file->length);
        if (jpeg_read_header(&info, TRUE) != JPEG_HEADER_OK || info.image_height != want->rows ||
            info.image_width != want->columns)
                longjmp(failure.leave, 1);
        info.out_color_space = JCS_RGB;
        jpeg_start_decompress(&info);
        while (info.output_scanline < info.output_height) {
                JSAMPROW row = row_of(want, info.output_scanline);
                jpeg_read_scanlines(&info, &row, 1);
        }
        const int damaged = info.err->num_warnings != 0;
        jpeg_finish_decompress(&info);
        jpeg_destroy_decompress(&info);
        return damaged ? -1 : 0;
}

/* ---- PNG ---- */

static void png_take(png_structp png, png_bytep to, size_t count)
{
        struct file *file = png_get_io_ptr(png);
        if (count > file->length - file->at)
                png_error(png, "the file ends");
        memcpy(to, file->bytes + file->at, count);
        file->at += count;
}

static void png_leave(png_structp png, png_const_charp text)
{
        (void)text;
        png_longjmp(png, 1);
}

static void png_ignore(png_structp png, png_const_charp text)
{
        (void)png;
        (void)text;
}

static int decode_png(const struct file *file, const struct want *want)
{
        struct file reading = *file;
        png_structp png =
                png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, png_leave, png_ignore);
        png_infop info = png ? png_create_info_struct(png) : NULL;
        png_bytep *volatile rows = NULL;

        if (!info || setjmp(png_jmpbuf(png))) {
                png_destroy_read_struct(&png, &info, NULL);
                free(rows);
                return -1;
        }
        png_set_read_fn(png, &reading, png_take);
        png_read_info(png, info);
        if (png_get_image_height(png, info) != want->rows ||
            png_get_image_width(png, info) != want->columns)
                png_error(png, "other extents");
        png_set_expand(png);
        png_set_strip_16(png);
        png_set_gray_to_rgb(png);
        png_set_strip_alpha(png);
        png_set_interlace_handling(png);
        png_read_update_info(png, info);
        if (png_get_rowbytes(png, info) != want->columns * 3)
                png_error(png, "other pixels");
        rows = malloc(want->rows * sizeof *rows);
        if (!rows)
                png_error(png, "no memory");
        for (size_t i = 0; i < want->rows; i++)
                rows[i] = row_of(want, i);
        png_read_image(png, rows);
        png_read_end(png, NULL);
        png_destroy_read_struct(&png, &info, NULL);
        free(rows);
        return 0;
}

/* ---- TIFF ---- */

static tmsize_t tiff_read(thandle_t handle, void *to, tmsize_t count)
{
        struct file *file = handle;
        size_t left = file->length - file->at;
        size_t taken = (size_t)count < left ? (size_t)count : left;
        memcpy(to, file->bytes + file->at, taken);
        file->at += taken;
        return (tmsize_t)taken;
}

static tmsize_t tiff_write(thandle_t handle, void *from, tmsize_t count)
{
        (void)handle;
        (void)from;
        (void)count;
        return -1;
}

static toff_t tiff_seek(thandle_t handle, toff_t offset, int from)
{
        struct file *file = handle;
        const toff_t base = from == SEEK_SET ? 0 : from == SEEK_CUR ? file->at : file->length;
        const toff_t to = base + offset;
        file->at = to < file->length ? (size_t)to : file->length;
        return file->at;
}

static int tiff_close(thandle_t handle)
{
        (void)handle;
        return 0;
}

static toff_t tiff_size(thandle_t handle) { return ((struct file *)handle)->length; }

static int tiff_quiet(TIFF *tiff, void *context, const char *module, const char *text, va_list more)
{
        (void)tiff;
        (void)context;
        (void)module;
        (void)text;
        (void)more;
        return 1;
}

static int read_tiff(TIFF *tiff, const struct want *want)
{
        uint32_t rows = 0, columns = 0;
        if (!TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &rows) ||
            !TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &columns) || rows != want->rows ||
            columns != want->columns)
                return -1;
        uint32_t *raster = malloc((size_t)rows * columns * sizeof *raster);
        const int good = raster && TIFFReadRGBAImageOriented(tiff, columns, rows, raster,
                                                             ORIENTATION_TOPLEFT, 1);
        for (size_t i = 0; good && i < (size_t)rows * columns; i++) {
                want->rgb[3 * i] = (unsigned char)TIFFGetR(raster[i]);
                want->rgb[3 * i + 1] = (unsigned char)TIFFGetG(raster[i]);
                want->rgb[3 * i + 2] = (unsigned char)TIFFGetB(raster[i]);
        }
        free(raster);
        return good ? 0 : -1;
}

static int decode_tiff(const struct file *file, const struct want *want)
{
        struct file reading = *file;
        TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
        if (!options)
                return -1;
        TIFFOpenOptionsSetMaxSingleMemAlloc(
                options, (tmsize_t)(want->rows * want->columns * 16 + ((size_t)1 << 20)));
        TIFFOpenOptionsSetErrorHandlerExtR(options, tiff_quiet, NULL);
        TIFFOpenOptionsSetWarningHandlerExtR(options, tiff_quiet, NULL);
        TIFF *tiff = TIFFClientOpenExt("image", "rm", &reading, tiff_read, tiff_write, tiff_seek,
                                       tiff_close, tiff_size, NULL, NULL, options);
        TIFFOpenOptionsFree(options);
        if (!tiff)
                return -1;
        int status = read_tiff(tiff, want);
        TIFFClose(tiff);
        return status;
}

/* ---- WebP ---- */

static int decode_webp(const struct file *file, const struct want *want)
{
        int columns, rows;
        if (!WebPGetInfo(file->bytes, file->length, &columns, &rows) ||
            (size_t)rows != want->rows || (size_t)columns != want->columns)
                return -1;
        return WebPDecodeRGBInto(file->bytes, file->length, want->rgb,
                                 want->rows * want->columns * 3, columns * 3)
                       ? 0
                       : -1;
}

/* ---- JPEG 2000 ---- */

static OPJ_SIZE_T wave_read(void *to, OPJ_SIZE_T count, void *context)
{
        struct file *file = context;
        size_t left = file->length - file->at;
        if (!left)
                return (OPJ_SIZE_T)-1;
        size_t taken = count < left ? count : left;
        memcpy(to, file->bytes + file->at, taken);
        file->at += taken;
        return taken;
}

static OPJ_OFF_T wave_skip(OPJ_OFF_T count, void *context)
{
        struct file *file = context;
        if (count < 0 || (uint64_t)count > file->length - file->at)
                return -1;
        file->at += (size_t)count;
        return count;
}

static OPJ_BOOL wave_seek(OPJ_OFF_T to, void *context)
{
        struct file *file = context;
        if (to < 0 || (uint64_t)to > file->length)
                return OPJ_FALSE;
        file->at = (size_t)to;
        return OPJ_TRUE;
}

/* Is it of one component or of three, each of all pixels and of 1 to 16 bits, and of these
 * extents? */
static int wave_fits(const opj_image_t *image, const struct want *want)
{
        if (image->x1 - image->x0 != want->columns || image->y1 - image->y0 != want->rows ||
            (image->numcomps != 1 && image->numcomps != 3 && image->numcomps != 4) ||
            image->color_space == OPJ_CLRSPC_SYCC || image->color_space == OPJ_CLRSPC_EYCC ||
            image->color_space == OPJ_CLRSPC_CMYK)
                return 0;
        for (unsigned i = 0; i < image->numcomps; i++) {
                const opj_image_comp_t *c = &image->comps[i];
                if (c->w != want->columns || c->h != want->rows || c->prec < 1 || c->prec > 16)
                        return 0;
        }
        return 1;
}

static void wave_take(const opj_image_t *image, const struct want *want)
{
        for (int channel = 0; channel < 3; channel++) {
                const opj_image_comp_t *c = &image->comps[image->numcomps == 1 ? 0 : channel];
                const int below = c->sgnd ? 1 << (c->prec - 1) : 0, most = (1 << c->prec) - 1;
                for (size_t i = 0; i < want->rows * want->columns; i++) {
                        int x = c->data[i] + below;
                        x = x < 0 ? 0 : x > most ? most : x;
                        want->rgb[3 * i + (size_t)channel] =
                                (unsigned char)(c->prec > 8 ? x >> (c->prec - 8) : x * 255 / most);
                }
        }
}

static int decode_wave(const struct file *file, const struct want *want)
{
        struct file reading = *file;
        opj_dparameters_t parameters;
        opj_image_t *image = NULL;
        opj_codec_t *codec = opj_create_decompress(file->bytes[0] ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
        opj_stream_t *stream = opj_stream_default_create(OPJ_TRUE);
        int status = -1;

        opj_set_default_decoder_parameters(&parameters);
        if (codec && stream) {
                opj_stream_set_user_data(stream, &reading, NULL);
                opj_stream_set_user_data_length(stream, file->length);
                opj_stream_set_read_function(stream, wave_read);
                opj_stream_set_skip_function(stream, wave_skip);
                opj_stream_set_seek_function(stream, wave_seek);
                if (opj_setup_decoder(codec, &parameters) &&
                    opj_read_header(stream, codec, &image) && wave_fits(image, want) &&
                    opj_decode(codec, stream, image) && opj_end_decompress(codec, stream) &&
                    wave_fits(image, want) && image->comps[0].data) {
                        status = 0;
                        for (unsigned i = 0; i < image->numcomps; i++)
                                status |= image->comps[i].data ? 0 : -1;
                        if (!status)
                                wave_take(image, want);
                }
        }
        if (image)
                opj_image_destroy(image);
        if (stream)
                opj_stream_destroy(stream);
        if (codec)
                opj_destroy_codec(codec);
        return status;
}

/* ---- BMP ---- */

static uint32_t little(const unsigned char *bytes, int count)
{
        uint32_t x = 0;
        for (int i = count - 1; i >= 0; i--)
                x = x << 8 | bytes[i];
        return x;
}

/* Pixels of 1, 4 or 8 bits of a palette, or of 24 or 32 bits; not compressed. Rows begin at the
 * bottom, unless their number is negative. */
static int decode_bmp(const struct file *file, const struct want *want)
{
        enum { HEADER = 14, INFO = 40 };
        const unsigned char *b = file->bytes;
        if (file->length < HEADER + INFO)
                return -1;
        const size_t begin = little(b + 10, 4), info = little(b + 14, 4), bits = little(b + 28, 2);
        const int64_t columns = (int32_t)little(b + 18, 4), rows = (int32_t)little(b + 22, 4);
        const size_t row = (want->columns * bits + 31) / 32 * 4;
        size_t colors = little(b + 46, 4);
        if (columns != (int64_t)want->columns || llabs(rows) != (int64_t)want->rows ||
            little(b + 30, 4) != 0 || info < INFO || info > file->length - HEADER ||
            (bits != 1 && bits != 4 && bits != 8 && bits != 24 && bits != 32))
                return -1;
        const unsigned char *palette = b + HEADER + info;
        colors = bits > 8 ? 0 : colors ? colors : (size_t)1 << bits;
        if (colors > 256 || colors * 4 > file->length - HEADER - info || begin > file->length ||
            row > (file->length - begin) / want->rows)
                return -1;
        for (size_t i = 0; i < want->rows; i++) {
                const unsigned char *from = b + begin + row * (rows < 0 ? i : want->rows - 1 - i);
                unsigned char *to = row_of(want, i);
                for (size_t k = 0; k < want->columns; k++) {
                        const unsigned char *pixel = from + k * bits / 8;
                        if (bits <= 8) {
                                const size_t shift = 8 - bits - k * bits % 8;
                                const size_t color = (*pixel >> shift) & ((1U << bits) - 1);
                                if (color >= colors)
                                        return -1;
                                pixel = palette + 4 * color;
                        }
                        for (size_t c = 0; c < 3; c++)
                                to[3 * k + c] = pixel[2 - c];
                }
        }
        return 0;
}

/* ---- PNM ---- */

/* Reads a number of the header, or of pixels in digits; -1: there is none. */
static int64_t pnm_number(struct file *f)
{
        int64_t x = -1;
        while (f->at < f->length) {
                const unsigned char c = f->bytes[f->at];
                if (c == '#')
                        while (f->at < f->length && f->bytes[f->at] != '\n')
                                f->at++;
                else if (c != ' ' && (c < '\t' || c > '\r'))
                        break;
                else
                        f->at++;
        }
        for (; f->at < f->length; f->at++) {
                const unsigned char c = f->bytes[f->at];
                if (c < '0' || c > '9')
                        break;
                x = 10 * (x < 0 ? 0 : x) + (c - '0');
                if (x > UINT16_MAX)
                        return -1;
        }
        return x;
}

/* Reads the next sample that is not of digits, up to `most`. Returns -1 where there is none. */
static int64_t pnm_sample(struct file *f, int64_t most)
{
        const size_t bytes = most > 255 ? 2 : 1;
        int64_t x = 0;
        if (bytes > f->length - f->at)
                return -1;
        for (size_t i = 0; i < bytes; i++)
                x = x << 8 | f->bytes[f->at++];
        return x;
}

static int decode_pnm(const struct file *file, const struct want *want)
{
        struct file f = *file;
        const int kind = file->bytes[1] - '0', channels = kind == 3 || kind == 6 ? 3 : 1;
        f.at = 2;
        const int64_t columns = pnm_number(&f), rows = pnm_number(&f);
        const int64_t most = kind == 1 || kind == 4 ? 1 : pnm_number(&f);
        if (columns != (int64_t)want->columns || rows != (int64_t)want->rows || most < 1)
                return -1;
        f.at += f.at < f.length;        /* One space stands before the pixels. */
        const size_t bits = f.at, line = (want->columns + 7) / 8;
        if (kind == 4 && line > (f.length - bits) / want->rows)
                return -1;
        for (size_t i = 0; i < want->rows * want->columns; i++) {
                for (int c = 0; c < channels; c++) {
                        const size_t row = i / want->columns, column = i % want->columns;
                        int64_t x;
                        if (kind == 4)
                                x = !(f.bytes[bits + row * line + column / 8] >> (7 - column % 8) &
                                      1);
                        else if (kind > 4)
                                x = pnm_sample(&f, most);
                        else
                                x = pnm_number(&f);
                        if (kind == 1 && x >= 0)
                                x = x <= 1 ? 1 - x : -1;
                        if (x < 0 || x > most)
                                return -1;
                        want->rgb[3 * i + (size_t)c] = (unsigned char)((x * 255 + most / 2) / most);
                }
                if (channels == 1)
                        want->rgb[3 * i + 1] = want->rgb[3 * i + 2] = want->rgb[3 * i];
        }
        return 0;
}

/* ---- which format it is ---- */

static int begins(const struct file *f, size_t at, const char *text, size_t count)
{
        return f->length >= at + count && !memcmp(f->bytes + at, text, count);
}

static int decode(const struct file *f, const struct want *want)
{
        if (begins(f, 0, "\xff\xd8\xff", 3))
                return decode_jpeg(f, want);
        if (begins(f, 0, "\x89PNG\r\n\x1a\n", 8))
                return decode_png(f, want);
        if (begins(f, 0, "II*\0", 4) || begins(f, 0, "MM\0*", 4))
                return decode_tiff(f, want);
        if (begins(f, 0, "RIFF", 4) && begins(f, 8, "WEBP", 4))
                return decode_webp(f, want);
        if (begins(f, 0, "\0\0\0\x0cjP  \r\n\x87\n", 12) || begins(f, 0, "\xff\x4f\xff\x51", 4))
                return decode_wave(f, want);
        if (begins(f, 0, "BM", 2))
                return decode_bmp(f, want);
        if (f->length > 3 && f->bytes[0] == 'P' && f->bytes[1] >= '1' && f->bytes[1] <= '6')
                return decode_pnm(f, want);
        return -1;
}

int dnncc_image_decode(const unsigned char *bytes, size_t length, int pixels, unsigned char *image,
                       int rows, int columns)
{
        enum { GRAY, RGB, BGR };
        const struct file file = { bytes, length, 0 };
        struct want want = { image, (size_t)rows, (size_t)columns };
        if (rows < 1 || columns < 1 || rows > EXTENT_MOST || columns > EXTENT_MOST ||
            pixels < GRAY || pixels > BGR)
                return -1;
        const size_t count = want.rows * want.columns;
        if (pixels == GRAY && !(want.rgb = malloc(count * 3)))
                return -1;
        const int status = decode(&file, &want);
        for (size_t i = 0; !status && pixels != RGB && i < count; i++) {
                unsigned char *p = want.rgb + 3 * i;
                const unsigned char red = p[0];
                /* The weights of ITU-R BT.601, as Pillow has them. */
                if (pixels == GRAY) {
                        image[i] = (unsigned char)((p[0] * 19595U + p[1] * 38470U + p[2] * 7471U +
                                                    0x8000U) >>
                                                   16);
                } else {
                        p[0] = p[2];
                        p[2] = red;
                }
        }
        if (pixels == GRAY)
                free(want.rgb);
        return status;
}
