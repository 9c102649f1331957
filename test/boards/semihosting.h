/* SPDX-License-Identifier: MIT */
/* Semihosting: what a debugger, or QEMU, does for a program on a board. Arm M-profile by BKPT 0xAB,
 * RISC-V by the triple slli, ebreak, srai. board.h's files and text by it, for start-up code. */
#ifndef TEST_BOARDS_SEMIHOSTING_H
#define TEST_BOARDS_SEMIHOSTING_H
#include "board.h"

enum { SYS_OPEN = 1, SYS_CLOSE = 2, SYS_WRITE0 = 4, SYS_WRITE = 5, SYS_READ = 6, SYS_EXIT_EXTENDED = 0x20,
       MODE_READ = 1, MODE_WRITE = 5, APPLICATION_EXIT = 0x20026 };

static uintptr_t host(uintptr_t operation, const void *argument)
{
#if defined(__arm__)
        register uintptr_t r0 __asm__("r0") = operation;
        register const void *r1 __asm__("r1") = argument;
        __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
        return r0;
#elif defined(__riscv)
        register uintptr_t a0 __asm__("a0") = operation;
        register const void *a1 __asm__("a1") = argument;
        /* The three must be of 4 bytes each and lie on one page. */
        __asm__ volatile(".p2align 4\n.option push\n.option norvc\n"
                         "slli zero, zero, 0x1f\nebreak\nsrai zero, zero, 7\n.option pop"
                         : "+r"(a0) : "r"(a1) : "memory");
        return a0;
#else
#error "no semihosting for this machine"
#endif
}

static _Bool move(const char *path, uintptr_t mode, const void *data, size_t size)
{
        size_t length = 0;
        while (path[length])
                length++;
        const uintptr_t open[] = { (uintptr_t)path, mode, length };
        const uintptr_t file = host(SYS_OPEN, open);
        if (file == UINTPTR_MAX)
                return 0;
        const uintptr_t block[] = { file, (uintptr_t)data, size };
        const uintptr_t left = host(mode == MODE_READ ? SYS_READ : SYS_WRITE, block);
        host(SYS_CLOSE, &file);
        return left == 0;
}

_Bool board_load(const char *path, void *to, size_t size) { return move(path, MODE_READ, to, size); }
_Bool board_save(const char *path, const void *from, size_t size) { return move(path, MODE_WRITE, from, size); }
void board_say(const char *text) { host(SYS_WRITE0, text); }

static void leave(int status)
{
        const uintptr_t block[] = { APPLICATION_EXIT, (uintptr_t)status };
        host(SYS_EXIT_EXTENDED, block);
        for (;;) { }
}

/* ---- the stack: arm.ld, riscv.ld say where it lies ---- */

extern uint32_t data_load[], data_begin[], data_end[], bss_begin[], bss_end[], stack_limit[], stack_top[];
#define PAINT 0xC5C5C5C5u

static void memory_begin(void)
{
        const uint32_t *from = data_load;
        for (uint32_t *p = data_begin; p < data_end; p++)
                *p = *from++;
        for (volatile uint32_t *p = bss_begin; p < bss_end; p++)
                *p = 0;
}

size_t board_stack_used(uintptr_t from)
{
        const uint32_t *p = stack_limit;
        while (p < stack_top && *p == PAINT)
                p++;
        return from - (uintptr_t)p;
}

__attribute__((noinline)) void count_begin(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void count_end(void) { __asm__ volatile("" ::: "memory"); }
#endif
