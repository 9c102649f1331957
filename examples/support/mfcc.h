/* SPDX-License-Identifier: MIT */
/* Mel-frequency cepstral coefficients: what a short window of sound is, in a few numbers, as networks for speech are trained on.
 *
 *     window -> Hann -> |FFT| -> triangles evenly spaced in mel -> log(x + 1e-6) -> cosine transform
 *
 * These are the formulas of TensorFlow's tf.signal (stft, linear_to_mel_weight_matrix, mfccs_from_log_mel_spectrograms). */
#ifndef SUPPORT_MFCC_H
#define SUPPORT_MFCC_H

#include <stddef.h>

enum { MFCC_MOST_POINTS = 2048, MFCC_MOST_BANDS = 128 };

struct mfcc {
        float rate;                     /* samples in a second */
        int window, points;             /* samples, and the power of 2 that they are filled up to with zeros */
        int bands, coefficients;        /* triangles, and how many numbers are kept */
        float low, high;                /* Hz: where the first triangle begins, the last one ends */
};

/* `settings->window` samples become `settings->coefficients` numbers; -1: settings that cannot be */
int mfcc_compute(const struct mfcc *settings, const float *samples, float *coefficients);

#endif
