/* SPDX-License-Identifier: MIT */
#include "runtime/dnncc_vta.h"

#include "codegen/machines/machine_device.h"
#include "codegen/vta/vta.h"

struct dnncc_vta *dnncc_vta_new(const char *sizes, size_t bytes)
{
        return (struct dnncc_vta *)device_new(&vta_set, sizes ? sizes : "", bytes);
}

DEVICE_FUNCTIONS(dnncc_vta)
