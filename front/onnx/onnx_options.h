/* SPDX-License-Identifier: MIT */
/* The options --dim and --input, where inputs of the graph are bound to them. */
#ifndef FRONT_ONNX_ONNX_OPTIONS_H
#define FRONT_ONNX_ONNX_OPTIONS_H

#include "front/onnx/onnx_model.h"

/* Reports an error of the command line; returns false. */
bool onnx_usage(struct onnx_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* Returns an option NAME=VALUE as it can be printed. */
const char *onnx_option_text(struct onnx_import *im, const char *option);
/* Reads "1x3x224x224", or "scalar". Returns false where the text is neither. */
bool onnx_shape_parse(struct arena *arena, const char *text, int64_t *dims, int *rank);

/* This is the type of a sequence or an optional, taken apart; tensor is NULL where it is another
 * one. */
struct onnx_list_type { bool optional, sequence; const Onnx__TypeProto__Tensor *tensor; };
struct onnx_list_type onnx_list_type(const Onnx__ValueInfoProto *v);
/* Returns the initializer of this name, or NULL. */
const struct onnx_entry *onnx_initializer(const struct onnx_scope *scope, bytes_t name);

/* Returns the --input option of this name that is a shape of numbers, or NULL. */
const char *onnx_option_of(struct onnx_import *im, bytes_t name);
/* Gives dimensions of inputs the names that --input has in place of numbers, as in x=Nx3, as if the
 * file had them. Returns false after an error. */
bool onnx_name_dims(struct onnx_import *im, const Onnx__GraphProto *g);
/* Applies an option --input: the given shape must fit the declared one, and binds its symbols. */
bool onnx_apply_option(struct onnx_import *im, const Onnx__ValueInfoProto *v, const char *option);
/* Checks that every --dim and --input names something of the graph. */
bool onnx_check_options_used(struct onnx_import *im, const Onnx__GraphProto *g);

#endif
