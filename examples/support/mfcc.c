/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "mfcc.h"

static const double pi = 3.14159265358979323846;

/* Transforms `points` complex numbers in place; their number is a power of 2 (Cooley and Tukey). */
static void fourier(double *real, double *imaginary, int points)
{
        for (int i = 1, j = 0; i < points; i++) {               /* This is the order of reversed
                                                                 * bits. */
                int bit = points >> 1;
                for (; j & bit; bit >>= 1)
                        j ^= bit;
                j ^= bit;
                if (i < j) {
                        double r = real[i], m = imaginary[i];
                        real[i] = real[j];
                        imaginary[i] = imaginary[j];
                        real[j] = r;
                        imaginary[j] = m;
                }
        }
        for (int half = 1; half < points; half *= 2)
                for (int k = 0; k < half; k++) {
                        double c = cos(pi * k / half), s = -sin(pi * k / half);
                        for (int i = k; i < points; i += 2 * half) {
                                int j = i + half;
                                double r = c * real[j] - s * imaginary[j], m = s * real[j] + c * imaginary[j];
                                real[j] = real[i] - r;
                                imaginary[j] = imaginary[i] - m;
                                real[i] += r;
                                imaginary[i] += m;
                        }
                }
}

static double mel(double hertz)
{
        return 1127 * log(1 + hertz / 700);
}

int mfcc_compute(const struct mfcc *s, const float *samples, float *coefficients)
{
        double real[MFCC_MOST_POINTS] = { 0 }, imaginary[MFCC_MOST_POINTS] = { 0 }, band[MFCC_MOST_BANDS + 1] = { 0 };
        if (s->points < 2 || s->points > MFCC_MOST_POINTS || s->points & (s->points - 1) || s->window < 1 || s->window > s->points ||
            s->bands < 1 || s->bands > MFCC_MOST_BANDS || s->coefficients > s->bands || !(s->low >= 0 && s->low < s->high))
                return -1;
        for (int i = 0; i < s->window; i++)
                real[i] = samples[i] * (0.5 - 0.5 * cos(2 * pi * i / s->window));
        fourier(real, imaginary, s->points);

        /* A frequency lies between the peaks of two triangles: band[k] falls from its peak, band[k + 1] rises to it. */
        double apart = (mel(s->high) - mel(s->low)) / (s->bands + 1);
        for (int i = 1; i <= s->points / 2; i++) {
                double at = (mel((double)i * s->rate / s->points) - mel(s->low)) / apart, size = hypot(real[i], imaginary[i]);
                if (at <= 0 || at >= s->bands + 1)
                        continue;
                int k = (int)at;
                band[k] += size * (at - k);                     /* band[s->bands] is no
                                                                 * triangle's. */
                if (k)
                        band[k - 1] += size * (k + 1 - at);
        }
        for (int k = 0; k < s->bands; k++)
                band[k] = log(band[k] + 1e-6);
        for (int c = 0; c < s->coefficients; c++) {
                double sum = 0;
                for (int k = 0; k < s->bands; k++)
                        sum += band[k] * cos(pi * c * (k + 0.5) / s->bands);
                coefficients[c] = (float)(sum * sqrt(2.0 / s->bands));
        }
        return 0;
}
