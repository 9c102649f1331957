/* SPDX-License-Identifier: MIT */
/* Runs examples/digits on a microcontroller, in bytes: classifies the digits of samples.h and says
 * how many are right, where the debugger or emulator shows it (semihosting). README.md says how it
 * is made. */
#include <stdint.h>

#include "../digits/samples.h"
#include "digits.h"

DIGITS_WORKSPACE_DEFINE(workspace);

enum { COUNT = sizeof samples / sizeof *samples, WRITE0 = 0x04, EXIT_EXTENDED = 0x20, STOPPED = 0x20026 };

/* ---- what a board does by its own means, a serial line perhaps ---- */

static void host(uintptr_t operation, const void *argument)
{
        register uintptr_t r0 __asm__("r0") = operation;
        register const void *r1 __asm__("r1") = argument;
        __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static int classify(const unsigned char pixels[64])
{
        static float image[DIGITS_IMAGE_ELEMS], p[DIGITS_PROBABILITIES_ELEMS];
        unsigned best = 0;
        for (unsigned i = 0; i < DIGITS_IMAGE_ELEMS; i++)
                image[i] = (float)pixels[i] / 16;
        if (digits_run(&workspace, image, p))
                return -1;
        for (unsigned k = 1; k < DIGITS_PROBABILITIES_ELEMS; k++)
                best = p[k] > p[best] ? k : best;
        return (int)best;
}

int main(void)
{
        int right = 0;
        for (int i = 0; i < COUNT; i++)
                right += classify(samples[i].pixels) == samples[i].digit;
        char line[] = "00 of 00 digits are right\n";
        line[0] = (char)('0' + right / 10);
        line[1] = (char)('0' + right % 10);
        line[6] = (char)('0' + COUNT / 10);
        line[7] = (char)('0' + COUNT % 10);
        host(WRITE0, line);
        const uintptr_t end[] = { STOPPED, right < COUNT * 9 / 10 };
        host(EXIT_EXTENDED, end);
        return 0;
}

/* ---- start-up: board.ld says what lies where ---- */

extern uint32_t stack_top[], bss_begin[], bss_end[];
void reset(void);
void reset(void)
{
        for (volatile uint32_t *p = bss_begin; p < bss_end; p++)
                *p = 0;
        (void)main();
        for (;;) { }
}

/* They are the stack, reset, NMI and hard fault; nothing else is on. */
extern const void *const vectors[];
__attribute__((section(".vectors"), used)) const void *const vectors[] = { stack_top, reset, reset, reset };
