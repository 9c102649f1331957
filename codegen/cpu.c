/* SPDX-License-Identifier: MIT */
/* Finds features of x86 by CPUID (Intel's manual, volume 2A) and XGETBV; of ARM by what Linux
 * reports (its Documentation/arm64/elf_hwcaps.rst, arch/arm/include/uapi/asm/hwcap.h), or macOS
 * ("Determining instruction set characteristics"); of RISC-V by what Linux reports
 * (Documentation/arch/riscv/hwprobe.rst; before 6.4 arch/riscv/include/uapi/asm/hwcap.h). */
#include "codegen/cpu.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#define IS_X86 1
#else
#define IS_X86 0
#endif
#if (defined(__aarch64__) || defined(__arm__)) && defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#define IS_ARM 1
#else
#define IS_ARM 0
#endif
#if defined(__riscv) && __riscv_xlen == 64 && defined(__linux__)
#include <sys/auxv.h>
extern long syscall(long number, ...);
#define IS_RISCV 1
#else
#define IS_RISCV 0
#endif
#if defined(__aarch64__) && defined(__APPLE__)
extern int sysctlbyname(const char *name, void *old, size_t *old_size, void *new, size_t new_size);
#define IS_APPLE 1
#else
#define IS_APPLE 0
#endif

enum cpu_register { EAX, EBX, ECX, EDX };
/* The operating system saves these registers: those of SSE and AVX; mask and 512-bit registers as
 * well; and tiles as well. */
enum { NOTHING = 0, YMM = 0x06, ZMM = 0xe6, TILES = 0x600e6 };

/* gcc and clang are the first releases that know the feature (from their release notes); 0: all
 * releases that know the functions' attribute, or nothing is known. */
static const struct feature {
        const char *name;
        uint32_t leaf, subleaf;
        uint8_t reg, bit;
        uint32_t saved;
        int gcc, clang;
} features[] = {
        { "sse2", 1, 0, EDX, 26, NOTHING, 0, 0 },   { "fma", 1, 0, ECX, 12, YMM, 0, 0 },
        { "f16c", 1, 0, ECX, 29, YMM, 0, 0 },       { "bmi", 7, 0, EBX, 3, NOTHING, 0, 0 },
        { "bmi2", 7, 0, EBX, 8, NOTHING, 0, 0 },    { "avx2", 7, 0, EBX, 5, YMM, 0, 0 },
        { "avx512f", 7, 0, EBX, 16, ZMM, 0, 0 },    { "avx512dq", 7, 0, EBX, 17, ZMM, 5, 0 },
        { "avx512bw", 7, 0, EBX, 30, ZMM, 5, 0 },   { "avx512vl", 7, 0, EBX, 31, ZMM, 5, 0 },
        { "amx-bf16", 7, 0, EDX, 22, TILES, 11, 11 }, { "amx-tile", 7, 0, EDX, 24, TILES, 11, 11 },
        { "amx-int8", 7, 0, EDX, 25, TILES, 11, 11 }, { "avx512bf16", 7, 1, EAX, 5, ZMM, 10, 9 },
        { "avx512fp16", 7, 0, EDX, 23, ZMM, 0, 14 },
        { "avx512vnni", 7, 0, ECX, 11, ZMM, 8, 6 }, { "avxvnni", 7, 1, EAX, 4, YMM, 11, 12 },
};

/* The word is part of a capability, because the same bit means one thing in 64-bit programs, and
 * another in 32-bit ones. */
static const struct capability {
        const char *name;
        uint8_t word, bit;
        int gcc, clang;
        const char *flag, *macro;
        const char *sysctl;
        int probe;                      /* It is 1 + the bit. */
} capabilities[] = {
        { "fullfp16", 64, 10, 8, 0, NULL, NULL, "hw.optional.arm.FEAT_FP16", 0 },
        { "dotprod", 64, 20, 8, 0, NULL, NULL, "hw.optional.arm.FEAT_DotProd", 0 },
        { "fp16fml", 64, 23, 8, 0, NULL, NULL, "hw.optional.arm.FEAT_FHM", 0 },
        { "i8mm", 64, CPU_SECOND_WORD + 13, 10, 11, NULL, NULL, "hw.optional.arm.FEAT_I8MM", 0 },
        { "bf16", 64, CPU_SECOND_WORD + 14, 10, 11, NULL, NULL, "hw.optional.arm.FEAT_BF16", 0 },
        { "sve", 64, 22, 10, 16, "-march=armv8-a+sve", "__ARM_FEATURE_SVE", NULL, 0 },
        { "neon", 32, 12, 0, 0, NULL, NULL, NULL, 0 }, { "vfp4", 32, 16, 0, 0, NULL, NULL, NULL, 0 },
        { "arch=+v", 64, 'V' - 'A', 14, 18, "-march=rv64gcv", "__riscv_vector", NULL, 1 + 2 },
};

static const struct capability *capability_of(unsigned word, int bit)
{
        for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++)
                if (capabilities[i].word == word && capabilities[i].bit == bit)
                        return &capabilities[i];
        return NULL;
}

const char *cpu_sysctl(unsigned word, int bit)
{
        const struct capability *c = capability_of(word, bit);
        return c ? c->sysctl : NULL;
}

int cpu_probe(unsigned word, int bit)
{
        const struct capability *c = capability_of(word, bit);
        return c ? c->probe - 1 : -1;
}

static bool read_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t registers[4])
{
#if IS_X86
        return __get_cpuid_count(leaf, subleaf, &registers[EAX], &registers[EBX], &registers[ECX],
                                 &registers[EDX]) != 0;
#else
        (void)leaf, (void)subleaf, (void)registers;
        return false;
#endif
}

/* Returns XCR0, which says what the operating system saves. */
static uint32_t saved_registers(void)
{
        uint32_t registers[4], low = 0;
        if (!read_cpuid(1, 0, registers) || !(registers[ECX] >> 27 & 1))
                return 0;
#if IS_X86
        uint32_t high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
#endif
        return low;
}

const struct cpu_needs cpu_needs_none = { .leaves = { { .leaf = 1 } }, .count = 1 };

static bool add_need(struct cpu_needs *needs, const struct feature *f)
{
        int i = 0;
        while (i < needs->count &&
               (needs->leaves[i].leaf != f->leaf || needs->leaves[i].subleaf != f->subleaf))
                i++;
        if (i == CPU_LEAVES)
                return false;
        if (i == needs->count)
                needs->leaves[needs->count++] = (struct cpu_leaf){ f->leaf, f->subleaf, { 0 } };
        needs->leaves[i].bits[f->reg] |= UINT32_C(1) << f->bit;
        needs->saved |= f->saved;
        return true;
}

static bool is_called(const char *feature, const char *name, size_t length)
{
        return strlen(feature) == length && !memcmp(feature, name, length);
}

static bool add_feature(struct cpu_needs *needs, const char *name, size_t length)
{
        for (size_t i = 0; i < sizeof features / sizeof *features; i++)
                if (is_called(features[i].name, name, length))
                        return add_need(needs, &features[i]);
        for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++)
                if (is_called(capabilities[i].name, name, length)) {
                        needs->capabilities |= UINT64_C(1) << capabilities[i].bit;
                        needs->word = capabilities[i].word;
                        return true;
                }
        return false;
}

static void at_least(int *version, int needed) { *version = *version < needed ? needed : *version; }

struct cpu_compilers cpu_compilers(const char *list)
{
        struct cpu_compilers c = { 0 };
        for (; *list; list += *list == ',') {
                size_t length = strcspn(list, ",");
                for (size_t i = 0; i < sizeof features / sizeof *features; i++)
                        if (is_called(features[i].name, list, length)) {
                                at_least(&c.gcc, features[i].gcc);
                                at_least(&c.clang, features[i].clang);
                        }
                for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++)
                        if (is_called(capabilities[i].name, list, length)) {
                                at_least(&c.gcc, capabilities[i].gcc);
                                at_least(&c.clang, capabilities[i].clang);
                                if (capabilities[i].flag) {
                                        c.flag = capabilities[i].flag;
                                        c.macro = capabilities[i].macro;
                                }
                        }
                list += length;
        }
        return c;
}

bool cpu_needs(const char *list, struct cpu_needs *needs)
{
        for (; *list; list += *list == ',') {
                size_t length = strcspn(list, ",");
                if (!add_feature(needs, list, length))
                        return false;
                list += length;
        }
        return true;
}

/* ---- the kind of processor ---- */

static bool is_one_of(const struct processor *p, const char *vendor, int family, int model)
{
        for (; p->vendor; p++)
                if (!strcmp(p->vendor, vendor) && p->family == family && p->first <= model &&
                    model <= p->last)
                        return true;
        return false;
}

/* Returns what stands after the colon if the line is about the field; otherwise NULL. */
static const char *field_of(const char *line, const char *name)
{
        const size_t length = strlen(name);
        const char *rest =
                line + length + (strncmp(line, name, length) ? 0 : strspn(line + length, " \t"));
        return strncmp(line, name, length) || *rest != ':' ? NULL
                                                           : rest + 1 + strspn(rest + 1, " \t");
}

/* Linux prints for each core its implementer, its architecture, and last its part number
 * (arch/arm64/kernel/cpuinfo.c). */
bool cpu_is_listed(FILE *text, const struct processor *processors)
{
        char line[256], vendor[16] = "";
        int family = 0;
        while (fgets(line, sizeof line, text)) {
                const char *implementer = field_of(line, "CPU implementer"),
                           *part = field_of(line, "CPU part"),
                           *architecture = field_of(line, "CPU architecture");
                if (implementer)
                        snprintf(vendor, sizeof vendor, "%.*s",
                                 (int)strcspn(implementer, " \t\r\n"), implementer);
                if (architecture)
                        family = (int)strtol(architecture, NULL, 0);
                if (part && is_one_of(processors, vendor, family, (int)strtol(part, NULL, 0)))
                        return true;
        }
        return false;
}

/* Family and model continue in other bits (CPUID in Intel's manual, volume 2A; AMD's manual, volume
 * 3, appendix E): families from 15 on, and models of families 6 and from 15 on. */
static bool is_by_cpuid(const struct processor *processors)
{
        uint32_t first[4], leaf[4];
        char vendor[13] = "";
        if (!read_cpuid(0, 0, first) || !read_cpuid(1, 0, leaf))
                return false;
        memcpy(vendor, &first[EBX], 4);
        memcpy(vendor + 4, &first[EDX], 4);
        memcpy(vendor + 8, &first[ECX], 4);
        int family = leaf[EAX] >> 8 & 15, model = leaf[EAX] >> 4 & 15;
        if (family == 6 || family == 15)
                model |= leaf[EAX] >> 12 & 0xf0;
        if (family == 15)
                family += leaf[EAX] >> 20 & 0xff;
        return is_one_of(processors, vendor, family, model);
}

/* macOS reports no part number, so the implementer must be enough. */
static bool is_by_maker(const struct processor *processors)
{
        return processors->vendor && !strcmp(processors->vendor, "0x61");
}

bool cpu_is(const struct processor *processors)
{
        if (IS_APPLE)
                return is_by_maker(processors);
        FILE *text = IS_ARM ? fopen("/proc/cpuinfo", "r") : NULL;
        const bool is = text ? cpu_is_listed(text, processors) : is_by_cpuid(processors);
        if (text)
                fclose(text);
        return is;
}

bool cpu_is_kind(const char *machine)
{
        static const char arm[] = "defined(__aarch64__)", riscv[] = "defined(__riscv)";
        return ((IS_ARM || IS_APPLE) && sizeof(void *) == 8 &&
                !strncmp(machine, arm, sizeof arm - 1)) ||
               (IS_RISCV && !strncmp(machine, riscv, sizeof riscv - 1));
}

static uint64_t read_capabilities(void)
{
#if IS_ARM
        return (uint64_t)getauxval(AT_HWCAP2) << CPU_SECOND_WORD | (uint32_t)getauxval(AT_HWCAP);
#elif IS_RISCV
        struct { int64_t key; uint64_t value; } answer = { CPU_PROBE_KEY, 0 };
        uint64_t has = 0;
        if (syscall(CPU_PROBE_CALL, &answer, (size_t)1, (size_t)0, (void *)NULL, 0u) ||
            answer.key != CPU_PROBE_KEY)
                return getauxval(AT_HWCAP);
        for (int bit = 0; bit < 64; bit++)
                if (cpu_probe(64, bit) >= 0)
                        has |= (answer.value >> cpu_probe(64, bit) & 1) << bit;
        return has;
#elif IS_APPLE
        uint64_t has = 0;
        for (int bit = 0; bit < 64; bit++) {
                int is = 0;
                size_t size = sizeof is;
                if (cpu_sysctl(64, bit) && !sysctlbyname(cpu_sysctl(64, bit), &is, &size, NULL, 0))
                        has |= (uint64_t)(is != 0) << bit;
        }
        return has;
#else
        return 0;
#endif
}

/* The call is made by number (Documentation/arm64/sve.rst), because older headers lack its name. */
int cpu_vector_bytes(void)
{
#if IS_ARM
        enum { GET_LENGTH = 51, LENGTH_BITS = 0xffff };
        const int length = prctl(GET_LENGTH);
        return length < 0 ? 0 : length & LENGTH_BITS;
#elif IS_RISCV
        /* The register vlenb is read by number, because older assemblers lack its name. */
        unsigned long bytes = 0;
        if (cpu_has("arch=+v"))
                __asm__("csrr %0, 0xc22" : "=r"(bytes));
        return (int)(2 * bytes);
#else
        return 0;
#endif
}

bool cpu_has(const char *list)
{
        struct cpu_needs needs = cpu_needs_none;
        if (!cpu_needs(list, &needs))
                return false;
        if (needs.capabilities)
                return needs.word == 8 * sizeof(void *) &&
                       (read_capabilities() & needs.capabilities) == needs.capabilities;
        if ((saved_registers() & needs.saved) != needs.saved)
                return false;
        for (int i = 0; i < needs.count; i++) {
                uint32_t has[4];
                if (!read_cpuid(needs.leaves[i].leaf, needs.leaves[i].subleaf, has))
                        return false;
                for (int r = 0; r < 4; r++)
                        if ((has[r] & needs.leaves[i].bits[r]) != needs.leaves[i].bits[r])
                                return false;
        }
        return true;
}
