/* SPDX-License-Identifier: MIT */
/* The simulator is the device of generated code. A launch runs at once; wait returns how it ended.
 * The processor and the machine see the same memory: an address of the machine is an offset in
 * it. */
#ifndef CODEGEN_MACHINES_MACHINE_DEVICE_H
#define CODEGEN_MACHINES_MACHINE_DEVICE_H

#include "codegen/machines/instruction_set.h"

struct device;
/* Makes a machine of the named sizes, with this many bytes of memory; returns NULL where it
 * cannot. */
struct device *device_new(const struct instruction_set *set, const char *sizes, size_t bytes);
void device_free(struct device *d);                     /* `d` may be NULL. */
void *device_take(struct device *d, size_t bytes);      /* Returns pages that are not in use; NULL:
                                                         * there are too few. */
const char *device_message(const struct device *d);     /* Returns the error of the last launch; ""
                                                         * where it succeeded. */
unsigned long long device_cycles(const struct device *d);
/* Returns the machine's address; UINT64_MAX: the bytes do not lie in its memory. */
uint64_t device_address(const struct device *d, const void *memory, size_t bytes);
int device_launch(struct device *d, uint64_t instructions, uint32_t count);
int device_wait(struct device *d, uint64_t cycles);

/* This defines the functions that runtime/dnncc_NAME.h declares, but for dnncc_NAME_new, and the
 * five functions that generated code calls, which its header declares. There is one memory, and no
 * caches. */
#define DEVICE_FUNCTIONS(name)                                                                    \
        uint64_t name##_address(void *device, const void *memory, size_t bytes);                  \
        int name##_flush(void *device, const void *memory, size_t bytes);                         \
        int name##_invalidate(void *device, void *memory, size_t bytes);                          \
        int name##_launch(void *device, uint64_t instructions, uint32_t count);                   \
        int name##_wait(void *device, uint64_t cycles);                                           \
        void name##_free(struct name *device) { device_free((struct device *)device); }           \
        void *name##_memory(struct name *device, size_t bytes)                                    \
        {                                                                                         \
                return device_take((struct device *)device, bytes);                               \
        }                                                                                         \
        const char *name##_message(const struct name *device)                                     \
        {                                                                                         \
                return device_message((const struct device *)device);                             \
        }                                                                                         \
        unsigned long long name##_cycles(const struct name *device)                               \
        {                                                                                         \
                return device_cycles((const struct device *)device);                              \
        }                                                                                         \
        uint64_t name##_address(void *device, const void *memory, size_t bytes)                   \
        {                                                                                         \
                return device_address(device, memory, bytes);                                     \
        }                                                                                         \
        int name##_flush(void *device, const void *memory, size_t bytes)                          \
        {                                                                                         \
                return device_address(device, memory, bytes) == UINT64_MAX;                       \
        }                                                                                         \
        int name##_invalidate(void *device, void *memory, size_t bytes)                           \
        {                                                                                         \
                return device_address(device, memory, bytes) == UINT64_MAX;                       \
        }                                                                                         \
        int name##_launch(void *device, uint64_t instructions, uint32_t count)                    \
        {                                                                                         \
                return device_launch(device, instructions, count);                                \
        }                                                                                         \
        int name##_wait(void *device, uint64_t cycles) { return device_wait(device, cycles); }

#endif
