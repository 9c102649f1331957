/* SPDX-License-Identifier: MIT */
/* The reader of TensorFlow's graphs and SavedModels, and the importers of their operators. Variables in other files are not read. */
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
        static const char *const options[] = { "-O1", "--format=tensorflow", "--emit=ir", "-o", "-",
                                               NULL };
        fuzz_run(bytes, size, options);
        return 0;
}
