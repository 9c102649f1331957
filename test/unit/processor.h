/* SPDX-License-Identifier: MIT */
/* What a unit test leaves out because of this processor is counted, and said at the end of the program as pytest says it. */
#ifndef TEST_UNIT_PROCESSOR_H
#define TEST_UNIT_PROCESSOR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/cpu.h"
#include "codegen/targets.h"

enum { LACKS_MAX = 32, FEATURE_MAX = 32 };
static struct { char feature[FEATURE_MAX]; int cases; } lacks[LACKS_MAX];
static int lacks_count;

/* the first feature of the list that this processor lacks */
static inline void first_missing(const char *list, char feature[FEATURE_MAX])
{
        for (size_t length; *list; list += length + (list[length] == ',')) {
                length = strcspn(list, ",");
                snprintf(feature, FEATURE_MAX, "%.*s", (int)length, list);
                if (!cpu_has(feature))
                        return;
        }
}

/* Another machine whose code runs here all the same; test/support/processor.py reads this table, too. ROOT stands
 * for the folder of the sources, where tests run. A Cortex-M55 is a board, and its C library newlib. */
struct emulator { const char *machine, *cc, *run; };
static const struct emulator emulators[] = {
        { "defined(__aarch64__)", "aarch64-linux-gnu-gcc", "qemu-aarch64 -cpu max" },
        { "defined(__ARMEL__)", "arm-linux-gnueabihf-gcc", "qemu-arm -cpu max" },
        { "defined(__ARM_FEATURE_MVE)", "arm-none-eabi-gcc @ROOT/test/support/cortex_m55.flags -TROOT/test/support/cortex_m55.ld", "ROOT/test/support/cortex_m55.sh" },
        { "defined(__ARM_FEATURE_DSP)", "arm-linux-gnueabihf-gcc -mthumb", "qemu-arm -cpu max" },
        { "defined(__thumb", "arm-linux-gnueabihf-gcc -mthumb", "qemu-arm -cpu max" },
        { "defined(__riscv_mul)", "riscv32-linux-gnu-gcc", "qemu-riscv32" },
        { "defined(__riscv)", "clang-16 --target=riscv64-linux-gnu -march=rv64gcv -fno-vectorize -fno-slp-vectorize", "qemu-riscv64 -cpu rv64,v=true,vext_spec=v1.0,vlen=256" },
};

/* What `run` takes more, where registers of vectors are of any length: how many bytes. */
#define EMULATED_LENGTH ",sve-default-vector-length=%d"
#define EMULATED_BITS ",vlen=%d"        /* of RISC-V, which counts bits of a register; two of them are a vector */

/* `text` with the folder for ROOT */
static inline const char *placed(const char *text)
{
        char *whole = calloc(1, 8192), *to = whole, folder[2048];
        if (!whole || !getcwd(folder, sizeof folder))
                abort();
        for (const char *root; (root = strstr(text, "ROOT")); text = root + 4)
                to += snprintf(to, 4096, "%.*s%s", (int)(root - text), text, folder);
        strcpy(to, text);
        return whole;
}

/* NULL: nothing stands for a machine of the target's kind */
static inline const struct emulator *emulator_of(const struct target *t)
{
        enum { COUNT = sizeof emulators / sizeof *emulators };
        static struct emulator found[COUNT];
        const char *machine = target_machine(t);
        for (size_t i = 0; machine && i < COUNT; i++)
                if (!strncmp(machine, emulators[i].machine, strlen(emulators[i].machine))) {
                        if (!found[i].machine)
                                found[i] = (struct emulator){ emulators[i].machine, placed(emulators[i].cc), placed(emulators[i].run) };
                        return &found[i];
                }
        return NULL;
}

static inline bool can_emulate(const struct target *t)
{
        const struct emulator *e = emulator_of(t);
        char command[256];
        if (!e)
                return false;
        snprintf(command, sizeof command, "command -v %.*s >/dev/null && command -v %.*s >/dev/null",
                 (int)strcspn(e->cc, " "), e->cc, (int)strcspn(e->run, " "), e->run);
        return system(command) == 0;
}

/* Can code for it run here? If not, what the test leaves out is one case. */
static inline bool runs_here(const struct target *t)
{
        char feature[FEATURE_MAX];
        int i = 0;
        if (target_runs_here(t) || can_emulate(t))
                return true;
        if (!target_attribute(t))
                return false;           /* of another kind, no better or worse than this one */
        first_missing(target_attribute(t), feature);
        while (i < lacks_count && strcmp(lacks[i].feature, feature) != 0)
                i++;
        if (i == lacks_count && lacks_count < LACKS_MAX)
                strcpy(lacks[lacks_count++].feature, feature);
        if (i < LACKS_MAX)
                lacks[i].cases++;
        return false;
}

/* the line, where there is something to say; returns code */
static inline int say_left_out(int code)
{
        int cases = 0;
        for (int i = 0; i < lacks_count; i++)
                cases += lacks[i].cases;
        if (cases)
                printf("left out because of this processor: %d cases (", cases);
        for (int i = 0; i < lacks_count; i++)
                printf("%d need %s%s", lacks[i].cases, lacks[i].feature, i + 1 < lacks_count ? ", " : ")\n");
        return code;
}

#endif
