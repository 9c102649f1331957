/* SPDX-License-Identifier: MIT */
/* The reader of TFLite files, and the importers of their operators. */
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
        static const char *const options[] = { "-O1", "--format=tflite", "--emit=ir", "-o", "-",
                                               NULL };
        fuzz_run(bytes, size, options);
        return 0;
}
