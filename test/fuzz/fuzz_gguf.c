/* SPDX-License-Identifier: MIT */
/* The reader of GGUF files, and the networks that it makes of them. */
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
        static const char *const options[] = { "-O1", "--format=gguf", "--emit=ir", "-o", "-",
                                               NULL };
        fuzz_run(bytes, size, options);
        return 0;
}
