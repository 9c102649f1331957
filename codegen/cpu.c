/* Features of x86 by CPUID (Intel's manual, volume 2A) and XGETBV; other processors have none of them. */
#include "codegen/cpu.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#define IS_X86 1
#else
#define IS_X86 0
#endif

enum cpu_register { EAX, EBX, ECX, EDX };
/* registers that the operating system saves: SSE and AVX; mask and 512-bit registers, too; and tiles */
enum { NOTHING = 0, YMM = 0x06, ZMM = 0xe6, TILES = 0x600e6 };

static const struct feature { const char *name; uint32_t leaf; uint8_t reg, bit; uint32_t saved; } features[] = {
        { "sse2", 1, EDX, 26, NOTHING },        { "fma", 1, ECX, 12, YMM },
        { "f16c", 1, ECX, 29, YMM },            { "bmi", 7, EBX, 3, NOTHING },
        { "bmi2", 7, EBX, 8, NOTHING },         { "avx2", 7, EBX, 5, YMM },
        { "avx512f", 7, EBX, 16, ZMM },         { "avx512dq", 7, EBX, 17, ZMM },
        { "avx512bw", 7, EBX, 30, ZMM },        { "avx512vl", 7, EBX, 31, ZMM },
        { "lzcnt", 0x80000001, ECX, 5, NOTHING },
        { "amx-bf16", 7, EDX, 22, TILES },      { "amx-tile", 7, EDX, 24, TILES },
        { "avx512bf16", 0x10007, EAX, 5, ZMM }, /* leaf 7, subleaf 1 */
};

static bool read_cpuid(uint32_t leaf, uint32_t registers[4])
{
#if IS_X86
        uint32_t subleaf = leaf < 0x80000000 ? leaf >> 16 : 0;  /* written into the upper half */
        return __get_cpuid_count(leaf < 0x80000000 ? leaf & 0xffff : leaf, subleaf, &registers[EAX], &registers[EBX], &registers[ECX], &registers[EDX]) != 0;
#else
        (void)leaf, (void)registers;
        return false;
#endif
}

/* XCR0, which says what the operating system saves */
static uint32_t saved_registers(void)
{
        uint32_t registers[4], low = 0;
        if (!read_cpuid(1, registers) || !(registers[ECX] >> 27 & 1))
                return 0;
#if IS_X86
        uint32_t high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
#endif
        return low;
}

static bool has_feature(const char *name, size_t length)
{
        uint32_t registers[4];
        for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
                const struct feature *f = &features[i];
                if (strlen(f->name) == length && !memcmp(f->name, name, length))
                        return read_cpuid(f->leaf, registers) && (registers[f->reg] >> f->bit & 1) &&
                               (saved_registers() & f->saved) == f->saved;
        }
        return false;
}

bool cpu_has(const char *list)
{
        for (; *list; list += *list == ',') {
                size_t length = strcspn(list, ",");
                if (!has_feature(list, length))
                        return false;
                list += length;
        }
        return true;
}
