/* SPDX-License-Identifier: MIT */
/* What the simulated devices of generated code share (device.c here and of codegen/unified): memory
 * that both the processor and the machine see, and what is said of a launch. An address of the
 * machine is a place in that memory. */
#ifndef CODEGEN_VTA_DEVICE_MEMORY_H
#define CODEGEN_VTA_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"

struct device_memory {
        unsigned char *block, *at;      /* at: within the block, at a multiple of a page; the machine's address 0 */
        size_t bytes, taken;
        FILE *said;                     /* what diagnostics of a launch are written to; NULL: there is no such file */
        char message[256];              /* of the last launch; "" when it was well */
};

enum device_end { DEVICE_FINE, DEVICE_TIMEOUT, DEVICE_LOST };     /* what wait returns */

/* Zeros, rounded up to pages. False: no memory, or more than a machine has. Ended, too, when it has
 * not begun (all zeros). */
bool device_memory_begin(struct device_memory *m, size_t bytes);
void device_memory_end(struct device_memory *m);
/* pages that nobody has yet; NULL: there are too few */
void *device_memory_take(struct device_memory *m, size_t bytes);
/* UINT64_MAX: these bytes do not lie in it */
uint64_t device_memory_address(const struct device_memory *m, const void *memory, size_t bytes);

/* Around a launch: where its diagnostics go; then what it ended with, of which the message is
 * kept. */
struct diag device_memory_diag(struct device_memory *m, const char *subject);
enum device_end device_memory_ended(struct device_memory *m, bool fine, const struct diag *diag);

#endif
