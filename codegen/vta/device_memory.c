/* SPDX-License-Identifier: MIT */
#include "codegen/vta/device_memory.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/vta/vta.h"

bool device_memory_begin(struct device_memory *m, size_t bytes)
{
        if ((uint64_t)bytes > (uint64_t)VTA_DRAM_MOST)
                return false;
        *m = (struct device_memory){ .bytes = (bytes + VTA_PAGE - 1) / VTA_PAGE * VTA_PAGE, .taken = VTA_PAGE };   /* nothing lies in the first page */
        m->block = calloc(m->bytes / VTA_PAGE + 1, VTA_PAGE);
        if (!m->block)
                return false;
        m->at = m->block + (VTA_PAGE - (uintptr_t)m->block % VTA_PAGE) % VTA_PAGE;
        m->said = tmpfile();
        return true;
}

void device_memory_end(struct device_memory *m)
{
        if (m->said)
                fclose(m->said);
        free(m->block);
}

void *device_memory_take(struct device_memory *m, size_t bytes)
{
        if (m->taken > m->bytes || bytes > m->bytes - m->taken)
                return NULL;
        void *memory = m->at + m->taken;
        m->taken += (bytes + VTA_PAGE - 1) / VTA_PAGE * VTA_PAGE;
        return memory;
}

uint64_t device_memory_address(const struct device_memory *m, const void *memory, size_t bytes)
{
        const uintptr_t first = (uintptr_t)m->at, at = (uintptr_t)memory;
        return at < first || at - first > m->bytes || bytes > m->bytes - (at - first) ? UINT64_MAX
                                                                                      : at - first;
}

struct diag device_memory_diag(struct device_memory *m, const char *subject)
{
        memset(m->message, 0, sizeof m->message);
        if (m->said)
                rewind(m->said);
        return (struct diag){ .subject = subject, .stream = m->said, .silent = !m->said };
}

enum device_end device_memory_ended(struct device_memory *m, bool fine, const struct diag *diag)
{
        if (!fine && m->said) {
                rewind(m->said);
                if (fgets(m->message, sizeof m->message, m->said))
                        m->message[strcspn(m->message, "\n")] = 0;
        }
        return fine ? DEVICE_FINE : diag->code == EXIT_BUDGET ? DEVICE_TIMEOUT : DEVICE_LOST;
}
