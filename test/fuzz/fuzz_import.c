/* SPDX-License-Identifier: MIT */
/* The importer of ONNX models: protobuf, and ONNX's text form. What it makes is verified and
 * simplified. */
#include "test/fuzz/fuzz.h"

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *bytes, size_t size, const uint8_t *other,
                                 size_t other_size, uint8_t *result, size_t room, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
        static const char *const options[] = { "-O1", "--emit=ir", "-o", "-", NULL };
        fuzz_run(bytes, size, options);
        return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed)
{
        return fuzz_mutate_model(bytes, size, room, seed);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *bytes, size_t size, const uint8_t *other,
                                 size_t other_size, uint8_t *result, size_t room, unsigned seed)
{
        return fuzz_cross_models(bytes, size, other, other_size, result, room, seed);
}
