/* SPDX-License-Identifier: MIT */
/* The simulator as the device of generated code: runtime/dnncc_unified.h, and the five functions of
 * codegen/unified/driver.c. A launch runs at once; wait says how it ended. */
#include "runtime/dnncc_unified.h"

#include <stdlib.h>

#include "codegen/unified/unified.h"
#include "codegen/vta/check.h"
#include "codegen/vta/device_memory.h"

enum { POISON = 0xa5 };                 /* what on-chip memories begin with */

struct dnncc_unified {
        struct device_memory memory;
        unsigned long long cycles;
        enum device_end ended;
};

uint64_t dnncc_unified_address(void *device, const void *memory, size_t bytes);
int dnncc_unified_flush(void *device, const void *memory, size_t bytes);
int dnncc_unified_invalidate(void *device, void *memory, size_t bytes);
int dnncc_unified_launch(void *device, uint64_t instructions, uint32_t count);
int dnncc_unified_wait(void *device, uint64_t cycles);

struct dnncc_unified *dnncc_unified_new(size_t bytes)
{
        struct dnncc_unified *d = calloc(1, sizeof *d);
        if (!d || !device_memory_begin(&d->memory, bytes)) {
                free(d);
                return NULL;
        }
        return d;
}

void dnncc_unified_free(struct dnncc_unified *device)
{
        if (!device)
                return;
        device_memory_end(&device->memory);
        free(device);
}

void *dnncc_unified_memory(struct dnncc_unified *device, size_t bytes)
{
        return device_memory_take(&device->memory, bytes);
}
const char *dnncc_unified_message(const struct dnncc_unified *device)
{
        return device->memory.message;
}
unsigned long long dnncc_unified_cycles(const struct dnncc_unified *device)
{
        return device->cycles;
}

uint64_t dnncc_unified_address(void *device, const void *memory, size_t bytes)
{
        const struct dnncc_unified *d = device;
        return device_memory_address(&d->memory, memory, bytes);
}

/* one memory, no caches */
int dnncc_unified_flush(void *device, const void *memory, size_t bytes)
{
        return dnncc_unified_address(device, memory, bytes) == UINT64_MAX;
}
int dnncc_unified_invalidate(void *device, void *memory, size_t bytes)
{
        return dnncc_unified_address(device, memory, bytes) == UINT64_MAX;
}

int dnncc_unified_launch(void *device, uint64_t instructions, uint32_t count)
{
        struct dnncc_unified *d = device;
        struct device_memory *m = &d->memory;
        struct diag diag = device_memory_diag(m, "unified");
        struct vta_segment code = { .kind = VTA_KIND_CODE,
                                    .address = (int64_t)instructions,
                                    .bytes = (int64_t)count * UNIFIED_BYTES };
        const struct vta_program p = { .dram_bytes = (int64_t)m->bytes, .code = &code };
        bool fine = instructions <= m->bytes && (uint64_t)code.bytes <= m->bytes - instructions;
        if (fine) {
                code.content = m->at + instructions;
                fine = unified_run(&p, m->at, 0, POISON, VTA_WORK_MOST, &diag);
        } else {
                diag_error(&diag, EXIT_INVALID, "the instructions are not within memory");
        }
        d->ended = device_memory_ended(m, fine, &diag);
        return 0;
}

int dnncc_unified_wait(void *device, uint64_t cycles)
{
        struct dnncc_unified *d = device;
        d->cycles += cycles;
        return (int)d->ended;
}
