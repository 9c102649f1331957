/* SPDX-License-Identifier: MIT */
/* The reader of GGUF files, the networks that it makes of them, and their vocabularies. */
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
        static const char *const options[] = { "-O1", "--format=gguf", "--emit=ir", "-o", "-",
                                               NULL };
        static const char *const tokens[] = { "--format=gguf", "--info=tokens", NULL };
        fuzz_run(bytes, size, options);
        fuzz_run(bytes, size, tokens);
        return 0;
}
