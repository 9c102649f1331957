/* SPDX-License-Identifier: MIT */
/* Signatures of a SavedModel: names by which programs call its graph, with names for inputs and
 * outputs. They are in the order of their names, and so are inputs and outputs. */
#ifndef FRONT_TENSORFLOW_TENSORFLOW_SIGNATURE_H
#define FRONT_TENSORFLOW_TENSORFLOW_SIGNATURE_H

#include "front/tensorflow/tensorflow.h"

/* Reads those that compute something. */
bool tf_read_signatures(struct tf_import *im);
/* Has a signature an input of that name? */
bool tf_signature_input(const struct tf_import *im, const char *name);

#endif
