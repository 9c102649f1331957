/* SPDX-License-Identifier: MIT */
/* What the processor this program runs on can do, and how another program asks for it. */
#ifndef CODEGEN_CPU_H
#define CODEGEN_CPU_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ir/target/target.h"

/* All of a comma list of features as compilers name them ("avx2,fma"), switched on by the operating
 * system, too. */
bool cpu_has(const char *features);
/* Of the registers of vectors of any length, as SVE has them, or of two, as RISC-V's targets take
 * them; 0: it has none. */
int cpu_vector_bytes(void);
/* Is it one of these? Of a machine with several kinds of cores: is one of them? */
bool cpu_is(const struct processor *processors);
/* The same of the machine that this text of Linux describes, /proc/cpuinfo on ARM. */
bool cpu_is_listed(FILE *text, const struct processor *processors);
/* How another program asks for one of `capabilities`, by its bit, and the bits of the program: what
 * macOS calls it, or NULL; the bit that Linux on RISC-V tells it in (riscv_hwprobe), or -1. */
const char *cpu_sysctl(unsigned word, int bit);
int cpu_probe(unsigned word, int bit);
enum { CPU_PROBE_CALL = 258, CPU_PROBE_KEY = 4 };         /* riscv_hwprobe, and IMA_EXT_0 */
/* Is it of the kind that a target's `machine` asks for, in so many words at its beginning? */
bool cpu_is_kind(const char *machine);

/* Answers of CPUID, and what of them must be set: eax, ebx, ecx, edx. Leaves up to 13 are there
 * where leaf 1 says that XGETBV is. */
enum { CPU_LEAVES = 4 };
enum { CPU_SECOND_WORD = 32 };
struct cpu_leaf { uint32_t leaf, subleaf, bits[4]; };
struct cpu_needs {
        struct cpu_leaf leaves[CPU_LEAVES];       /* the first is leaf 1 */
        int count;
        uint32_t saved;                 /* of XCR0: registers that the operating system must save */
        uint64_t capabilities;          /* of ARM and RISC-V, as Linux has them:
                                         * getauxval(AT_HWCAP), and from CPU_SECOND_WORD on
                                         * AT_HWCAP2 */
        unsigned word;                  /* of the programs that those are for: 32 or 64 bits */
};
extern const struct cpu_needs cpu_needs_none;
/* Adds what the features of a list need. False: nothing is known of one of them. */
bool cpu_needs(const char *features, struct cpu_needs *needs);

/* The first releases of compilers that know all features of a list; 0: any, or nothing is known. Of
 * clang releases before that do with a flag, which defines a macro; or NULL. */
struct cpu_compilers { int gcc, clang; const char *flag, *macro; };
struct cpu_compilers cpu_compilers(const char *features);

#endif
