/* SPDX-License-Identifier: MIT */
/* Rows of a target's table are written like this (ir/loop/capability.h): the operation, the element
 * or elements, the text, and the definition of a function that the text calls. */
#ifndef CODEGEN_TARGETS_ROWS_H
#define CODEGEN_TARGETS_ROWS_H

#include "codegen/c_spelling.h"

#define ROW(operation, e, ...) { .op = operation, .element = E_##e, .text = __VA_ARGS__ }
#define OP(operation, e, ...) ROW(LOOP_##operation, e, __VA_ARGS__)
#define CONVERT(operation, from, result, ...) \
        { .op = LOOP_##operation, .element = E_##from, .to = E_##result, .text = __VA_ARGS__ }
/* The conversion rounds to the nearest, half to even, and saturates; NaN becomes 0. */
#define ROUNDED(from, result, ...) \
        { .op = CAN_CAST_ROUNDED, .element = E_##from, .to = E_##result, .text = __VA_ARGS__ }
/* It does the same, by one instruction more than a conversion takes. */
#define ROUNDED_BEFORE(from, result, ...) \
        { .op = CAN_CAST_ROUNDED, .element = E_##from, .to = E_##result, .calls = true, .text = __VA_ARGS__ }
#define MATH(name, e, ...) { .op = LOOP_CALL, .element = E_##e, .function = name, .text = __VA_ARGS__ }
/* It loads words of `count` elements of type e, in 32 bits. */
#define LOAD_WORDS(e, count, ...) ROW(CAN_LOAD_WORDS, U32, __VA_ARGS__, .to = E_##e, .level = count)

/* Prefetches to level n, by the function `call` of an address and a hint. */
#define PREFETCH_BY(n, name, call, hint) \
        { .op = CAN_PREFETCH, .level = n, .text = name "($0, $1)", \
          .definition = "void " name "(const void *base, ptrdiff_t bytes)\n" \
                        "{\n" \
                        "        " call "((const char *)((uintptr_t)base + (uintptr_t)bytes), " hint ");\n" \
                        "}" }

/* gcc must not order instructions before registers are allocated, nor build addresses of constants
 * by two instructions each. Further options, which keep copies of vectors from living in loops that
 * fill all registers, are used where counts of instructions justify it (docs/arm.md). */
#define ARM_GCC "no-schedule-insns,no-ipa-cp"
/* Targets for 64-bit ARM that have no base among these have these fields. */
#define ARM64_PROCESSOR \
        .compilers = "gcc or clang for 64-bit ARM (aarch64)", .gcc_optimize = ARM_GCC, \
        .control = &(const struct float_control){ "FZ of the caller's FPCR", "0x1000000u", "unsigned long long", \
                                                  "__asm__ volatile(\"mrs %0, fpcr\" : \"=r\"(control));", \
                                                  "__asm__ volatile(\"msr fpcr, %0\" : : \"r\"(control));" }

#endif
