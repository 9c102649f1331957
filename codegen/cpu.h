/* SPDX-License-Identifier: MIT */
/* Tells what the processor that this program runs on can do, and how another program asks for
 * it. */
#ifndef CODEGEN_CPU_H
#define CODEGEN_CPU_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ir/target/target.h"

/* Does the processor have all features of a comma-separated list, named as compilers name them
 * ("avx2,fma")? They must also be enabled by the operating system. */
bool cpu_has(const char *features);
/* Returns the bytes of vector registers of any length: of one as in SVE, or of two as RISC-V's
 * targets use them; 0: there are none. */
int cpu_vector_bytes(void);
/* Is the processor, or one of its cores where these are of several kinds, in the list? */
bool cpu_is(const struct processor *processors);
/* Answers the same for the machine that this text of Linux describes, /proc/cpuinfo on ARM. */
bool cpu_is_listed(FILE *text, const struct processor *processors);
/* Return how another program asks for one of `capabilities`, by its bit, and by the bits of the
 * program: its name on macOS, or NULL; and the bit in which Linux on RISC-V reports it
 * (riscv_hwprobe), or -1. */
const char *cpu_sysctl(unsigned word, int bit);
int cpu_probe(unsigned word, int bit);
/* riscv_hwprobe, and IMA_EXT_0, have these numbers. */
enum { CPU_PROBE_CALL = 258, CPU_PROBE_KEY = 4 };
/* Is the processor of the kind that a target's `machine` requires, by its first words? */
bool cpu_is_kind(const char *machine);

/* CPUID is asked these leaves, and these bits must be set in its answers in eax, ebx, ecx and edx.
 * Leaves up to 13 exist where leaf 1 says that XGETBV does. */
enum { CPU_LEAVES = 4 };
enum { CPU_SECOND_WORD = 32 };
struct cpu_leaf { uint32_t leaf, subleaf, bits[4]; };
struct cpu_needs {
        struct cpu_leaf leaves[CPU_LEAVES];       /* The first one is leaf 1. */
        int count;
        uint32_t saved;                 /* The operating system must save the registers that these
                                         * bits of XCR0 stand for. */
        /* ARM and RISC-V must have these capabilities, in Linux's bits: getauxval(AT_HWCAP), and
         * from CPU_SECOND_WORD on AT_HWCAP2. */
        uint64_t capabilities;
        unsigned word;                  /* The programs that these are for have 32 or 64 bits. */
};
extern const struct cpu_needs cpu_needs_none;
/* Adds what the features of a list need. Returns false where nothing is known of one of them. */
bool cpu_needs(const char *features, struct cpu_needs *needs);

/* These are the first releases of compilers that know all features of a list; 0: any, or nothing is
 * known. Earlier releases of clang need a flag, which defines a macro; or NULL. */
struct cpu_compilers { int gcc, clang; const char *flag, *macro; };
struct cpu_compilers cpu_compilers(const char *features);

#endif
