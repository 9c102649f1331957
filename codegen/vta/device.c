/* SPDX-License-Identifier: MIT */
/* The simulator as the device of generated code: runtime/dnncc_vta.h, and the five functions of
 * codegen/vta/driver.c. A launch runs at once; wait says how it ended. */
#include "runtime/dnncc_vta.h"

#include <stdlib.h>

#include "codegen/vta/check.h"
#include "codegen/vta/device_memory.h"
#include "codegen/vta/simulate.h"

struct dnncc_vta {
        struct vta v;
        struct vta_simulator *simulator;
        struct device_memory memory;
        unsigned long long cycles;
        enum device_end ended;
};

uint64_t dnncc_vta_address(void *device, const void *memory, size_t bytes);
int dnncc_vta_flush(void *device, const void *memory, size_t bytes);
int dnncc_vta_invalidate(void *device, void *memory, size_t bytes);
int dnncc_vta_launch(void *device, uint64_t instructions, uint32_t count);
int dnncc_vta_wait(void *device, uint64_t cycles);

struct dnncc_vta *dnncc_vta_new(const char *sizes, size_t bytes)
{
        struct diag diag = { .silent = true };
        struct dnncc_vta *d = calloc(1, sizeof *d);
        if (!d || !vta_begin_sizes(&d->v, sizes ? sizes : "", &diag) ||
            !device_memory_begin(&d->memory, bytes)) {
                free(d);
                return NULL;
        }
        d->simulator = vta_simulator_new(&d->v, 0, 0xa5);
        return d;
}

void dnncc_vta_free(struct dnncc_vta *device)
{
        if (!device)
                return;
        vta_simulator_free(device->simulator);
        device_memory_end(&device->memory);
        free(device);
}

void *dnncc_vta_memory(struct dnncc_vta *device, size_t bytes)
{
        return device_memory_take(&device->memory, bytes);
}
const char *dnncc_vta_message(const struct dnncc_vta *device) { return device->memory.message; }
unsigned long long dnncc_vta_cycles(const struct dnncc_vta *device) { return device->cycles; }

uint64_t dnncc_vta_address(void *device, const void *memory, size_t bytes)
{
        const struct dnncc_vta *d = device;
        return device_memory_address(&d->memory, memory, bytes);
}

/* one memory, no caches */
int dnncc_vta_flush(void *device, const void *memory, size_t bytes) { return dnncc_vta_address(device, memory, bytes) == UINT64_MAX; }
int dnncc_vta_invalidate(void *device, void *memory, size_t bytes) { return dnncc_vta_address(device, memory, bytes) == UINT64_MAX; }

int dnncc_vta_launch(void *device, uint64_t instructions, uint32_t count)
{
        struct dnncc_vta *d = device;
        struct device_memory *m = &d->memory;
        struct diag diag = device_memory_diag(m, "vta");
        const bool fine = instructions <= m->bytes &&
                          vta_launch(d->simulator, m->at, (int64_t)m->bytes, (int64_t)instructions,
                                     count, VTA_WORK_MOST, &diag);
        d->ended = device_memory_ended(m, fine, &diag);
        return 0;
}

int dnncc_vta_wait(void *device, uint64_t cycles)
{
        struct dnncc_vta *d = device;
        d->cycles += cycles;
        return (int)d->ended;
}
