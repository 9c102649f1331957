/* SPDX-License-Identifier: MIT */
/* --calibrate is given samples of a model's inputs.
 *
 *   PATH.npz       arrays by the inputs' names, or input_K or arr_K (K counts inputs from 0); an
 *                  .npy file does for a model of one input
 *   a folder with  input_K.pb (one sample), or .npy files that are named like arrays of an .npz
 *   a folder of    such folders and .npz files
 *
 * An array is of the input's shape (one sample), or has one dimension more in front, that of
 * samples; or the input's first extent is 1, and the array's counts samples. All arrays of an .npz
 * or a folder have the same number of samples. An extent that a run gives is the array's own: those
 * of one file have one length, and other files others.
 *
 * A sample is called like its folder or file, "NAME:I" where that has arrays. They are in the order
 * of names (sample_order). */
#ifndef COMPILER_SAMPLES_H
#define COMPILER_SAMPLES_H

#include "compiler/driver.h"
#include "passes/calibrate/calibration.h"

struct samples;
/* Opens the samples at a path for the inputs of f, at most `most` where that is not 0. The output
 * depends on what is read. Returns NULL after one error, of EXIT_IO or, where there are none or not
 * such as the model takes, EXIT_INVALID. */
struct samples *samples_open(struct run *run, const char *path, const struct function *f,
                             int64_t most);
void samples_close(struct samples *s);                    /* NULL is allowed. */
int64_t samples_count(const struct samples *s);
/* Reads number i, and (*inputs)[k], dense and aligned, which stay until the next one is read.
 * Returns false after an error. */
bool samples_read(struct samples *s, int64_t i, struct sample *sample, const void *const **inputs);
/* Returns the shape that input k has in the sample read last. */
const int64_t *samples_shape(const struct samples *s, int k);

#endif
