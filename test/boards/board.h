/* SPDX-License-Identifier: MIT */
/* What main.c asks of the machine that it runs on. Bare metal: arm.c or riscv.c, and semihosting.h,
 * by which QEMU gives access to files of the host; user mode: hosted.c. */
#ifndef TEST_BOARDS_BOARD_H
#define TEST_BOARDS_BOARD_H
#include <stddef.h>
#include <stdint.h>

int main(void);

/* Files, by paths relative to where the emulator was started: true where all `size` bytes moved. */
_Bool board_load(const char *path, void *to, size_t size);
_Bool board_save(const char *path, const void *from, size_t size);
void board_say(const char *text);               /* to standard output */

/* board_stack_paint fills the stack below its caller's frame, board_stack_used then says how many
 * bytes below `from` have been written to. Hosted there is no paint, and 0. */
void board_stack_paint(void);
size_t board_stack_used(uintptr_t from);

/* Between these two the emulator's plugin counts (test/bench/instructions.c). */
void count_begin(void);
void count_end(void);
#endif
