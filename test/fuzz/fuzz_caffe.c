/* SPDX-License-Identifier: MIT */
/* The reader of Caffe's networks, as text and as bytes, and the importers of their layers. Weights stand in the network itself. */
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
        static const char *const options[] = { "-O1", "--format=caffe", "--emit=ir", "-o", "-",
                                               NULL };
        fuzz_run(bytes, size, options);
        return 0;
}
