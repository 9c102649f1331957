/* SPDX-License-Identifier: MIT */
/* What the fuzz targets share: one run of the compiler over bytes in memory, and mutations of ONNX
 * models that leave them models.
 *
 * A target is a program of libFuzzer: it runs dnncc's own main function on each input, under limits
 * that keep a run short. Each run must end with an exit code of the interface; an internal error
 * (70), a signal, a report of a sanitizer or a run without end is a finding. */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Runs dnncc on the bytes as its model file, with these options (NULL ends the list). Returns the
 * exit code; aborts after an internal error. */
int fuzz_run(const uint8_t *bytes, size_t size, const char *const *options);

/* Changes a model in protobuf at the level of its messages: fields are deleted, doubled, exchanged,
 * taken from elsewhere in the model, or get other numbers and names. Where the bytes are no such
 * model, libFuzzer's own mutations are all. Returns the new size, at most `room`. */
size_t fuzz_mutate_model(uint8_t *bytes, size_t size, size_t room, unsigned seed);
/* Takes one message of `other` into the model; otherwise as fuzz_mutate_model. */
size_t fuzz_cross_models(const uint8_t *bytes, size_t size, const uint8_t *other, size_t other_size,
                         uint8_t *result, size_t room, unsigned seed);

/* These are libFuzzer's. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t room);

#endif
