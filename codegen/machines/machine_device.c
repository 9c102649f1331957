/* SPDX-License-Identifier: MIT */
#include "codegen/machines/machine_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/machines/machine_program.h"
#include "codegen/machines/simulator.h"

enum { POISON = 0xa5 };                 /* The memories of the machine begin with this byte. */

struct device {
        struct isa isa;
        struct simulator *simulator;
        unsigned char *block, *at;      /* `at` is within the block, at a multiple of a page; it is
                                         * the machine's address 0. */
        size_t bytes, taken;
        FILE *said;                     /* Diagnostics of a launch are written to this file; NULL:
                                         * it could not be made. */
        char message[256];
        unsigned long long cycles;
        enum { FINE, TIMEOUT, LOST } ended;     /* Wait returns this. */
};

static size_t pages(size_t bytes)
{
        return (bytes + PROGRAM_PAGE - 1) / PROGRAM_PAGE * PROGRAM_PAGE;
}

struct device *device_new(const struct instruction_set *set, const char *sizes, size_t bytes)
{
        struct diag diag = { .silent = true };
        struct device *d =
                (uint64_t)bytes > (uint64_t)PROGRAM_MEMORY_MOST ? NULL : calloc(1, sizeof *d);
        if (!d)
                return NULL;
        d->bytes = pages(bytes);
        d->taken = PROGRAM_PAGE;        /* The first page stays unused. */
        d->block = isa_begin_sizes(&d->isa, set, sizes, &diag)
                           ? calloc(d->bytes / PROGRAM_PAGE + 1, PROGRAM_PAGE)
                           : NULL;
        if (!d->block) {
                free(d);
                return NULL;
        }
        d->at = d->block + (PROGRAM_PAGE - (uintptr_t)d->block % PROGRAM_PAGE) % PROGRAM_PAGE;
        d->said = tmpfile();
        d->simulator = simulator_new(&d->isa, 0, POISON);
        return d;
}

void device_free(struct device *d)
{
        if (!d)
                return;
        simulator_free(d->simulator);
        if (d->said)
                fclose(d->said);
        free(d->block);
        free(d);
}

void *device_take(struct device *d, size_t bytes)
{
        if (d->taken > d->bytes || bytes > d->bytes - d->taken)
                return NULL;
        void *memory = d->at + d->taken;
        d->taken += pages(bytes);
        return memory;
}

const char *device_message(const struct device *d) { return d->message; }
unsigned long long device_cycles(const struct device *d) { return d->cycles; }

uint64_t device_address(const struct device *d, const void *memory, size_t bytes)
{
        const uintptr_t first = (uintptr_t)d->at, at = (uintptr_t)memory;
        return at < first || at - first > d->bytes || bytes > d->bytes - (at - first) ? UINT64_MAX
                                                                                      : at - first;
}

int device_launch(struct device *d, uint64_t instructions, uint32_t count)
{
        struct diag diag = { .subject = d->isa.set->machine->name, .stream = d->said,
                             .silent = !d->said };
        memset(d->message, 0, sizeof d->message);
        if (d->said)
                rewind(d->said);
        const int64_t at = instructions <= d->bytes ? (int64_t)instructions : INT64_MAX;
        const bool fine = simulator_launch(d->simulator, d->at, (int64_t)d->bytes, at, count,
                                           WORK_MOST, &diag);
        if (!fine && d->said) {
                rewind(d->said);
                if (fgets(d->message, sizeof d->message, d->said))
                        d->message[strcspn(d->message, "\n")] = 0;
        }
        d->ended = fine ? FINE : diag.code == EXIT_BUDGET ? TIMEOUT : LOST;
        return 0;
}

int device_wait(struct device *d, uint64_t cycles)
{
        d->cycles += cycles;
        return (int)d->ended;
}
