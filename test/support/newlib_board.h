/* SPDX-License-Identifier: MIT */
/* What newlib wants to know of a board of QEMU (cortex_m55.ld), whose files and arguments are the host's, by semihosting: where memory ends, and
 * how a program begins. */
#ifndef TEST_SUPPORT_NEWLIB_BOARD_H
#define TEST_SUPPORT_NEWLIB_BOARD_H

#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int main(int count, char **words);
void initialise_monitor_handles(void);
void *_sbrk(ptrdiff_t count);
int posix_memalign(void **at, size_t align, size_t size);
void board_begin(void);
void _init(void);
void _fini(void);

void _init(void) { }
void _fini(void) { }

void *_sbrk(ptrdiff_t count)
{
        extern char end[], end_of_heap[];
        static char *at = end;
        if (count > end_of_heap - at)
                return (void *)-1;
        at += count;
        return at - count;
}

int posix_memalign(void **at, size_t align, size_t size)
{
        *at = memalign(align, size);
        return !*at;
}

void board_begin(void)
{
        enum { GET_COMMAND_LINE = 0x15, WORDS = 32 };
        static char line[4096], *words[WORDS + 1];
        struct { char *at; uint32_t size; } place = { line, sizeof line };
        register uint32_t operation __asm__("r0") = GET_COMMAND_LINE;
        register void *where __asm__("r1") = &place;
        int count = 0;
        __asm__ volatile("bkpt 0xab" : "+r"(operation) : "r"(where) : "memory");
        for (char *p = line; *p && count < WORDS;) {
                words[count++] = p;
                while (*p && *p != ' ')
                        p++;
                if (*p)
                        *p++ = 0;
        }
        initialise_monitor_handles();
        exit(main(count, words));
}

#endif
