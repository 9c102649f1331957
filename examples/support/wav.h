/* SPDX-License-Identifier: MIT */
/* WAV files are read as a stream, from a file or from standard input, as much as is asked for. */
#ifndef SUPPORT_WAV_H
#define SUPPORT_WAV_H

#include <stddef.h>
#include <stdio.h>

struct wav {
        FILE *file;
        int channels, bytes, floats;    /* A sample has so many bytes; floats says that it is a
                                         * float. */
        long rate;                      /* It is frames in a second. */
        unsigned long left;             /* It counts frames not read yet, if the file says the
                                         * truth; writers into pipes say the most there is. */
};

/* Opens a file; "-" is standard input. It has PCM of 8, 16, 24 or 32 bits, or floats of 32. Returns
 * NULL, or what is wrong in words; then nothing is open. */
const char *wav_open(struct wav *wav, const char *path);
/* Reads the next frames as the mean of their channels, -1 to 1; returns fewer than `count` at the
 * end. */
size_t wav_read(struct wav *wav, float *samples, size_t count);
void wav_close(struct wav *wav);

#endif
