/* SPDX-License-Identifier: MIT */
#include "runtime/dnncc_unified.h"

#include "codegen/machines/machine_device.h"
#include "codegen/unified/unified.h"

struct dnncc_unified *dnncc_unified_new(size_t bytes)
{
        return (struct dnncc_unified *)device_new(&unified_set, "", bytes);
}

DEVICE_FUNCTIONS(dnncc_unified)
