/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <string.h>

#include "wav.h"

static unsigned long little(const unsigned char *p, int bytes)
{
        unsigned long n = 0;
        while (bytes--)
                n = n << 8 | p[bytes];
        return n;
}

/* Reads and forgets: pipes cannot seek. */
static int skip(FILE *file, unsigned long count)
{
        unsigned char bytes[512];
        while (count) {
                size_t n = fread(bytes, 1, count < sizeof bytes ? count : sizeof bytes, file);
                if (!n)
                        return -1;
                count -= n;
        }
        return 0;
}

static const char *read_format(struct wav *wav, unsigned long size)
{
        unsigned char f[40] = { 0 };
        size_t most = size < sizeof f ? size : sizeof f;
        if (size < 16 || fread(f, 1, most, wav->file) != most || skip(wav->file, size - most + (size & 1)))
                return "its format is damaged";
        unsigned long kind = little(f, 2), bits = little(f + 14, 2);
        if (kind == 0xfffe && size >= 40)
                kind = little(f + 24, 2);               /* An extensible format says it there. */
        wav->channels = (int)little(f + 2, 2);
        wav->rate = (long)(little(f + 4, 4) & 0x7fffffff);
        wav->bytes = (int)bits / 8;
        wav->floats = kind == 3;
        if ((kind == 1 && bits != 8 && bits != 16 && bits != 24 && bits != 32) || (kind == 3 && bits != 32) || (kind != 1 && kind != 3))
                return "it is neither PCM nor floats of 32 bits";
        if (wav->channels < 1 || wav->channels > 64 || wav->rate < 1)
                return "its format is damaged";
        return NULL;
}

static const char *read_head(struct wav *wav)
{
        unsigned char head[12];
        if (fread(head, 1, 12, wav->file) != 12 || memcmp(head, "RIFF", 4) || memcmp(head + 8, "WAVE", 4))
                return "it is no WAV file";
        while (fread(head, 1, 8, wav->file) == 8) {
                unsigned long size = little(head + 4, 4);
                if (!memcmp(head, "data", 4)) {
                        if (!wav->channels)
                                return "it has no format";
                        wav->left = size / (unsigned long)(wav->channels * wav->bytes);
                        return NULL;
                }
                const char *error = NULL;
                if (!memcmp(head, "fmt ", 4))
                        error = read_format(wav, size);
                else if (skip(wav->file, size + (size & 1)))
                        break;
                if (error)
                        return error;
        }
        return "it has no samples";
}

const char *wav_open(struct wav *wav, const char *path)
{
        *wav = (struct wav){ .file = strcmp(path, "-") ? fopen(path, "rb") : stdin };
        const char *error = wav->file ? read_head(wav) : "cannot open it";
        if (error)
                wav_close(wav);
        return error;
}

static float decode(const struct wav *wav, const unsigned char *p)
{
        if (wav->floats) {
                uint32_t bits = (uint32_t)little(p, 4);
                float v;
                memcpy(&v, &bits, 4);
                return v > -1e6f && v < 1e6f ? v : 0;   /* It is no infinity, and it is a number. */
        }
        if (wav->bytes == 1)
                return (float)(p[0] - 128) / 128;
        double most = (double)(1UL << (8 * wav->bytes - 1)), v = (double)little(p, wav->bytes);
        return (float)((v < most ? v : v - 2 * most) / most);
}

size_t wav_read(struct wav *wav, float *samples, size_t count)
{
        unsigned char frame[64 * 4];
        size_t size = (size_t)(wav->channels * wav->bytes), n = 0;
        for (; n < count && wav->left && fread(frame, 1, size, wav->file) == size; n++, wav->left--) {
                float sum = 0;
                for (int c = 0; c < wav->channels; c++)
                        sum += decode(wav, frame + c * wav->bytes);
                samples[n] = sum / (float)wav->channels;
        }
        return n;
}

void wav_close(struct wav *wav)
{
        if (wav->file && wav->file != stdin)
                fclose(wav->file);
        wav->file = NULL;
}
