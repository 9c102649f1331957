/* SPDX-License-Identifier: MIT */
/* The simulator as the device of generated code: runtime/dnncc_vta.h, and the five functions of codegen/vta/driver.c. Addresses are
 * places in one block of memory. A launch runs at once; wait says how it ended. */
#include "runtime/dnncc_vta.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/vta/check.h"
#include "codegen/vta/simulate.h"

enum { MESSAGE = 256, TIMEOUT = 1, LOST = 2 };

struct dnncc_vta {
        struct vta v;
        struct vta_simulator *simulator;
        unsigned char *block, *memory;  /* memory: at a multiple of a page; address 0 */
        size_t bytes, taken;
        unsigned long long cycles;
        int ended;                      /* what wait returns */
        FILE *said;                     /* what diagnostics are written to; NULL: there is no such file */
        char message[MESSAGE];
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
        if (!d || bytes > (size_t)VTA_DRAM_MOST || !vta_begin_sizes(&d->v, sizes ? sizes : "", &diag)) {
                free(d);
                return NULL;
        }
        d->bytes = (bytes + VTA_PAGE - 1) / VTA_PAGE * VTA_PAGE;
        d->taken = VTA_PAGE;            /* nothing lies in the first page */
        d->block = calloc(d->bytes / VTA_PAGE + 1, VTA_PAGE);
        if (!d->block) {
                free(d);
                return NULL;
        }
        d->memory = d->block + (VTA_PAGE - (uintptr_t)d->block % VTA_PAGE) % VTA_PAGE;
        d->simulator = vta_simulator_new(&d->v, 0, 0xa5);
        d->said = tmpfile();
        return d;
}

void dnncc_vta_free(struct dnncc_vta *device)
{
        if (!device)
                return;
        vta_simulator_free(device->simulator);
        if (device->said)
                fclose(device->said);
        free(device->block);
        free(device);
}

void *dnncc_vta_memory(struct dnncc_vta *device, size_t bytes)
{
        if (device->taken > device->bytes || bytes > device->bytes - device->taken)
                return NULL;
        void *memory = device->memory + device->taken;
        device->taken += (bytes + VTA_PAGE - 1) / VTA_PAGE * VTA_PAGE;
        return memory;
}

const char *dnncc_vta_message(const struct dnncc_vta *device) { return device->message; }
unsigned long long dnncc_vta_cycles(const struct dnncc_vta *device) { return device->cycles; }

uint64_t dnncc_vta_address(void *device, const void *memory, size_t bytes)
{
        const struct dnncc_vta *d = device;
        const uintptr_t first = (uintptr_t)d->memory, at = (uintptr_t)memory;
        return at < first || at - first > d->bytes || bytes > d->bytes - (at - first) ? UINT64_MAX : at - first;
}

/* one memory, no caches */
int dnncc_vta_flush(void *device, const void *memory, size_t bytes) { return dnncc_vta_address(device, memory, bytes) == UINT64_MAX; }
int dnncc_vta_invalidate(void *device, void *memory, size_t bytes) { return dnncc_vta_address(device, memory, bytes) == UINT64_MAX; }

int dnncc_vta_launch(void *device, uint64_t instructions, uint32_t count)
{
        struct dnncc_vta *d = device;
        struct diag diag = { .subject = "vta", .stream = d->said, .silent = !d->said };
        memset(d->message, 0, sizeof d->message);
        if (d->said)
                rewind(d->said);
        bool fine = instructions <= d->bytes &&
                    vta_launch(d->simulator, d->memory, (int64_t)d->bytes, (int64_t)instructions, count, VTA_WORK_MOST, &diag);
        if (!fine && d->said) {
                rewind(d->said);
                if (fgets(d->message, sizeof d->message, d->said))
                        d->message[strcspn(d->message, "\n")] = 0;
        }
        d->ended = fine ? 0 : diag.code == EXIT_BUDGET ? TIMEOUT : LOST;
        return 0;
}

int dnncc_vta_wait(void *device, uint64_t cycles)
{
        struct dnncc_vta *d = device;
        d->cycles += cycles;
        return d->ended;
}
