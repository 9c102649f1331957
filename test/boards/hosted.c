/* SPDX-License-Identifier: MIT */
/* board.h where there is an operating system, or QEMU plays one. */
#include "board.h"

#include <stdio.h>

_Bool board_load(const char *path, void *to, size_t size)
{
        FILE *file = fopen(path, "rb");
        _Bool ok = file && fread(to, 1, size, file) == size;
        return (!file || !fclose(file)) && ok;
}

_Bool board_save(const char *path, const void *from, size_t size)
{
        FILE *file = fopen(path, "wb");
        _Bool ok = file && fwrite(from, 1, size, file) == size;
        return (!file || !fclose(file)) && ok;
}

void board_say(const char *text) { fputs(text, stdout); }
void board_stack_paint(void) { }
size_t board_stack_used(uintptr_t from) { return (void)from, (size_t)0; }
__attribute__((noinline)) void count_begin(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void count_end(void) { __asm__ volatile("" ::: "memory"); }
