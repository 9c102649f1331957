/* SPDX-License-Identifier: MIT */
/* The whole compiler: an ONNX model becomes C for a target. The first byte says which, and with
 * what else; the model is behind it. */
#include "test/fuzz/fuzz.h"

#include <string.h>

#include "codegen/targets.h"

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *bytes, size_t size, const uint8_t *other,
                                 size_t other_size, uint8_t *result, size_t room, unsigned seed);

/* These go with a target; the byte counts through them first. Where a model has no dimension N, that
 * is an error. */
static const char *const more[] = { "-O2", "--exact", "--max-ram=64K", "--requantize=integer",
                                    "--dim=N=1..8" };
enum { MORE = sizeof more / sizeof *more };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
        if (!size)
                return 0;
        int targets = 0;
        while (target_at(targets))
                targets++;
        char target[64] = "--target=";
        strncat(target, target_at(bytes[0] / MORE % targets)->name, sizeof target - 16);
        const char *const options[] = { target, more[bytes[0] % MORE], "--name=model", "-o", "-",
                                        NULL };
        fuzz_run(bytes + 1, size - 1, options);
        return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed)
{
        enum { TARGETS = 8 };
        if (!size || seed % TARGETS == 0) {
                bytes[0] = (uint8_t)(seed / TARGETS);
                return size ? size : 1;
        }
        return 1 + fuzz_mutate_model(bytes + 1, size - 1, room - 1, seed);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *bytes, size_t size, const uint8_t *other,
                                 size_t other_size, uint8_t *result, size_t room, unsigned seed)
{
        if (!size || !other_size)
                return 0;
        result[0] = bytes[0];
        return 1 + fuzz_cross_models(bytes + 1, size - 1, other + 1, other_size - 1, result + 1,
                                     room - 1, seed);
}
