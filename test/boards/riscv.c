/* SPDX-License-Identifier: MIT */
/* Start-up code of RISC-V in machine mode under QEMU (-bios none): registers, floats, memory, main;
 * a trap exits with 70. And the three functions that a compiler may call even where nothing is
 * hosted. */
#include "semihosting.h"

void board_begin(void);
void board_trap(void);

/* Zicsr is asked for here, so that -march is the name of a multilib. */
__asm__(".option push\n.option arch, +zicsr\n.section .vectors,\"ax\",@progbits\n.globl _start\n.align 2\n_start:\n"
        ".option push\n.option norelax\nla gp, __global_pointer$\n.option pop\n"
        "csrr t0, mhartid\n1: bnez t0, 1b\n"
        "la sp, stack_top\nla t0, board_trap\ncsrw mtvec, t0\n"
        "li t0, 0x6600\ncsrs mstatus, t0\n"             /* FS, VS: dirty */
        "j board_begin\n.option pop\n.text\n");

__attribute__((aligned(4))) void board_trap(void)
{
        board_say("fault: a trap\n");
        leave(70);
}

__attribute__((naked, noinline)) void board_stack_paint(void)
{
        __asm__ volatile("la t0, stack_limit\nli t1, 0xC5C5C5C5\n1: bgeu t0, sp, 2f\nsw t1, 0(t0)\naddi t0, t0, 4\nj 1b\n2: ret\n");
}

void board_begin(void)
{
        memory_begin();
        leave(main());
}

/* built with -fno-tree-loop-distribute-patterns, or each would call itself */
void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
        unsigned char *t = to;
        for (const unsigned char *f = from; size > 0; size--)
                *t++ = *f++;
        return to;
}

void *memmove(void *to, const void *from, size_t size)
{
        unsigned char *t = to;
        const unsigned char *f = from;
        if (t < f)
                return memcpy(to, from, size);
        while (size-- > 0)
                t[size] = f[size];
        return to;
}

void *memset(void *to, int byte, size_t size)
{
        unsigned char *t = to;
        while (size-- > 0)
                *t++ = (unsigned char)byte;
        return to;
}
