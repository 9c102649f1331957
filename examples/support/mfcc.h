/* SPDX-License-Identifier: MIT */
/* Mel-frequency cepstral coefficients say in a few numbers what a short window of sound is, as
 * networks for speech are trained on.
 *
 *     window -> Hann -> |FFT| -> triangles evenly spaced in mel -> log(x + 1e-6) -> cosine transform
 *
 * These are the formulas of TensorFlow's tf.signal (stft, linear_to_mel_weight_matrix,
 * mfccs_from_log_mel_spectrograms). */
#ifndef SUPPORT_MFCC_H
#define SUPPORT_MFCC_H

#include <stddef.h>

enum { MFCC_MOST_POINTS = 2048, MFCC_MOST_BANDS = 128 };

struct mfcc {
        float rate;                     /* It is samples in a second. */
        int window, points;             /* They are samples, and the power of 2 that they are filled
                                         * up to with zeros. */
        int bands, coefficients;        /* There are so many triangles, and so many numbers are
                                         * kept. */
        float low, high;                /* They are in Hz: where the first triangle begins, and the
                                         * last one ends. */
};

/* Makes `settings->coefficients` numbers of `settings->window` samples; returns -1 for settings
 * that cannot be. */
int mfcc_compute(const struct mfcc *settings, const float *samples, float *coefficients);

#endif
