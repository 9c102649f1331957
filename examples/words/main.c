/* SPDX-License-Identifier: MIT */
/* Says which of ten words is spoken in the loudest second of a sound.
 *
 *     words yes.wav ..
 *
 * The network computes in bytes, and the second before it becomes bytes, too: 49 windows of 30 ms, ten coefficients of each. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "mfcc.h"
#include "net.h"
#include "wav.h"

enum { RATE = 16000, MOST = 60 * RATE, STRIDE = RATE / 50, WINDOWS = 49, COEFFICIENTS = 10, WORDS = NET_OUTPUT_ELEMS };

static const char *const words[WORDS] = { "down", "go", "left", "no", "off", "on", "right", "stop", "up", "yes",
                                          "(silence)", "(another word)" };
static const struct mfcc settings = { .rate = RATE, .window = 480, .points = 512, .bands = 40, .coefficients = COEFFICIENTS,
                                      .low = 20, .high = 4000 };

/* They are the network's: a byte is round(number / step) + zero. */
static const float step = 0.5847029f;
static const int zero = 83;

/* Loads at most a minute of a file, with a second of silence behind it. */
static const char *load(const char *path, float **samples, size_t *count)
{
        struct wav wav;
        const char *error = wav_open(&wav, path);
        *samples = error ? NULL : calloc(MOST + RATE, sizeof **samples);
        if (error)
                return error;
        if (!*samples)
                error = "not enough memory";
        else if (wav.rate != RATE)
                error = "the network is for 16000 samples a second (sox in.wav -r 16000 out.wav)";
        else
                *count = wav_read(&wav, *samples, MOST);
        wav_close(&wav);
        return error;
}

/* Returns where the second begins that has the most energy, in steps of a stride. */
static size_t loudest(const float *samples, size_t count)
{
        size_t best = 0;
        double energy = 0, most = 0;
        for (size_t i = 0; i < count + STRIDE; i++) {
                if (i >= RATE && (i - RATE) % STRIDE == 0 && energy > most * 1.0001 + 1e-9) {
                        most = energy;
                        best = i - RATE;
                }
                energy += (double)samples[i] * samples[i] - (i >= RATE ? (double)samples[i - RATE] * samples[i - RATE] : 0);
        }
        return best;
}

/* Prepares the second, as loud as can be, as the network wants it. */
static void prepare(const float *second, int8_t input[NET_INPUT_ELEMS])
{
        float most = 0, sound[RATE], numbers[COEFFICIENTS];
        for (int i = 0; i < RATE; i++)
                most = second[i] > most ? second[i] : most;
        for (int i = 0; i < RATE; i++)
                sound[i] = most > 0 ? second[i] / most : 0;
        for (int w = 0; w < WINDOWS; w++) {
                mfcc_compute(&settings, sound + w * STRIDE, numbers);
                for (int c = 0; c < COEFFICIENTS; c++) {
                        long n = lrintf(numbers[c] / step) + zero;
                        input[w * COEFFICIENTS + c] = (int8_t)(n < -128 ? -128 : n > 127 ? 127 : n);
                }
        }
}

static const char *recognize(const char *path)
{
        NET_WORKSPACE_DEFINE(workspace);
        int8_t input[NET_INPUT_ELEMS], output[WORDS];
        float *samples;
        size_t count = 0;
        const char *error = load(path, &samples, &count);
        if (!error) {
                size_t begin = loudest(samples, count);
                int best = 0;
                prepare(samples + begin, input);
                if (net_run(workspace, input, output))
                        error = "the network does not run";
                for (int k = 1; k < WORDS; k++)
                        if (output[k] > output[best])
                                best = k;
                if (!error)
                        printf("%s: %s %.2f\n", path, words[best], (output[best] + 128) / 256.0);
        }
        free(samples);
        return error;
}

int main(int count, char **arguments)
{
        int wrong = 0;
        for (int i = 1; i < count; i++) {
                const char *error = recognize(arguments[i]);
                if (error)
                        fprintf(stderr, "words: %s: %s\n", arguments[i], error);
                wrong |= error != NULL;
        }
        if (count < 2)
                fprintf(stderr, "usage: words SOUND..        WAV, 16000 samples a second\n");
        return count < 2 ? 1 : wrong ? 2 : 0;
}
