/* SPDX-License-Identifier: MIT */
/* Start-up code of a Cortex-M under QEMU: vectors, coprocessors, memory, main; a fault says its
 * registers and exits with 70. */
#include "semihosting.h"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

void reset(void);

static void number(uint32_t value)
{
        char text[] = " 00000000";
        for (int i = 8; i > 0; i--, value >>= 4)
                text[i] = "0123456789abcdef"[value & 15];
        board_say(text);
}

__attribute__((used)) static void fault_report(void)
{
        uint32_t exception;
        __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
        board_say("fault: IPSR CFSR HFSR MMFAR BFAR");
        number(exception);
        for (uint32_t at = 0xE000ED28u; at <= 0xE000ED38u; at += at == 0xE000ED2Cu ? 8 : 4)
                number(REGISTER(at));
        board_say("\n");
        leave(70);
}

/* on a stack of its own: what faults may be the stack */
__attribute__((naked)) static void fault(void)
{
        __asm__ volatile(".syntax unified\nldr r0, =stack_top\nmov sp, r0\nbl fault_report\n.ltorg\n");
}

/* naked: a C loop may push a register after it has read sp, and then paint over it */
__attribute__((naked, noinline)) void board_stack_paint(void)
{
        __asm__ volatile(".syntax unified\nldr r0, =stack_limit\nldr r1, =0xC5C5C5C5\nmov r2, sp\n"
                         "1: cmp r0, r2\nbhs 2f\nstr r1, [r0]\nadds r0, #4\nb 1b\n2: bx lr\n.ltorg\n");
}

void reset(void)
{
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
        REGISTER(0xE000ED88u) |= 0xFu << 20;    /* CPACR: floats and vectors */
        __asm__ volatile("dsb\nisb" ::: "memory");
#endif
        memory_begin();
#if __ARM_ARCH >= 8 && __ARM_ARCH_ISA_THUMB == 2
        __asm__ volatile("msr msplim, %0" ::"r"(stack_limit));  /* an overflow is a fault */
        REGISTER(0xE000ED24u) |= 7u << 16;
#endif
        leave(main());
}

typedef void (*handler)(void);
__attribute__((section(".vectors"), used)) static const struct {
        uint32_t *stack;
        handler reset, others[14];
} table = { stack_top, reset, { fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault } };
