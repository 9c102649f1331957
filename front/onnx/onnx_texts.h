/* SPDX-License-Identifier: MIT */
/* Texts (ONNX's strings) are bytes for the module, in one extent more than the model has: UTF-8,
 * and zeros behind it (front/compose/compose_texts.h). While the graph is imported a tensor of
 * texts is of element E_STRING and of the model's shape, so that checks of ranks and declarations
 * hold for it, and no operation makes or reads it:
 *
 *     words                     <3 x string>              %words, <3 x 64 x u8>
 *     y = StringConcat(words)   <3 x string>              operations on bytes
 *     z = Gather(y, i)          the importer of Gather moves <3 x i64>, numbers that stand for the
 *                               texts; what it makes of them gathers the texts
 *
 * onnx_texts.def says which operators take texts. */
#ifndef FRONT_ONNX_ONNX_TEXTS_H
#define FRONT_ONNX_ONNX_TEXTS_H

#include "front/onnx/onnx.h"

enum { TEXT_BYTES_PRESET = 64 };        /* An input's text has so many bytes, its NUL included. */

/* Returns whether v, which may be NULL, is a tensor of texts. */
bool onnx_is_texts(const struct value *v);
/* Returns the bytes of texts, [shape, width] of u8. */
struct value *onnx_texts_bytes(const struct value *texts);
/* Returns bytes as texts, or NULL where they are NULL. */
struct value *onnx_texts_new(struct onnx_import *im, struct value *bytes);
/* Return values, all of texts or none of them, along a new dimension, or one behind the other along
 * one that they have; NULL after an error. Texts get the largest of their widths. */
struct value *onnx_texts_stack(struct onnx_import *im, struct value *const *values, int count,
                               int axis);
struct value *onnx_texts_concat(struct onnx_import *im, struct value *const *values, int count,
                                int axis);
/* Returns a constant of `count` texts of this shape, or NULL after an error, which begins with
 * `what`. The width is that of the longest, with `more` zeros behind it, and at least 1. */
struct value *onnx_texts_constant(struct onnx_import *im, const char *what, int rank,
                                  const int64_t *extents, const ProtobufCBinaryData *texts,
                                  size_t count, int64_t more);
/* Returns a TensorProto of texts in the same way. */
struct value *onnx_texts_read(struct onnx_import *im, const Onnx__TensorProto *t, const char *what,
                              int64_t more);
/* Reads an attribute of texts; an absent one gives NULL and 0. */
bool onnx_strings(struct onnx_import *im, struct onnx_node *n, const char *name,
                  const ProtobufCBinaryData **texts, int *count);
/* Calls the importer of n's row. It is an error where a text is not what the operator takes. */
bool onnx_texts_import(struct onnx_import *im, struct onnx_node *n);
/* Sets *bytes to how many bytes texts of the input have by --text-bytes. */
bool onnx_texts_width(struct onnx_import *im, const char *name, int64_t *bytes);
/* Checks the names of --text-bytes after all inputs are there. */
bool onnx_check_texts_used(struct onnx_import *im);

#endif
