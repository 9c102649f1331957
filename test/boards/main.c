/* SPDX-License-Identifier: MIT */
/* Runs a model on the test vectors that boards.py has laid out, SET/input_K.bin, and writes
 * SET/output_K.bin. ports.h, of boards.py, has the model's header, `workspace`, the arrays of its
 * ports, RUN, which calls it, and SETS; with --step BEGIN and STEP, too. The first run is the one
 * that is measured: in steps, if there are some. */
#include "board.h"

#include "ports.h"

static const char *const sets[] = { SETS };

static _Bool each(const struct port *ports, int set, _Bool (*move)(const char *, void *, size_t))
{
        for (; ports->at; ports++) {
                char path[64];
                int at = 0;
                for (const char *p = sets[set]; *p; p++)
                        path[at++] = *p;
                path[at++] = '/';
                for (const char *p = ports->file; *p; p++)
                        path[at++] = *p;
                path[at] = 0;
                if (!move(path, ports->at, ports->size))
                        return 0;
        }
        return 1;
}

static _Bool save(const char *path, void *from, size_t size) { return board_save(path, from, size); }

static void say(const char *name, size_t value)
{
        char digits[24];
        int at = 23;
        digits[at] = 0;
        digits[--at] = '\n';
        do {
                digits[--at] = (char)('0' + value % 10);
        } while (value /= 10);
        board_say(name);
        board_say(&digits[at]);
}

/* Bytes of stack below this function's frame. */
__attribute__((noinline)) static size_t measured(int *code)
{
        uintptr_t frame = 0;
#if defined(__arm__)
        __asm__ volatile("mov %0, sp" : "=r"(frame));
#elif defined(__riscv)
        __asm__ volatile("mv %0, sp" : "=r"(frame));
#endif
        board_stack_paint();
        count_begin();
#ifdef STEP
        *code = BEGIN;
        if (*code == 0)
                *code = 1;
        while (*code > 0) {
                count_end();
                count_begin();
                *code = STEP;
        }
#else
        *code = RUN;
#endif
        count_end();
        return board_stack_used(frame);
}

int main(void)
{
        for (int set = 0; set < (int)(sizeof sets / sizeof *sets); set++) {
                int code = 0;
                if (!each(inputs, set, board_load))
                        return 2;
                if (set == 0)
                        say("stack ", measured(&code));
                else
                        code = RUN;
                if (code) {
                        say("error ", (size_t)-code);
                        return 3;
                }
                if (!each(outputs, set, save))
                        return 2;
        }
        return 0;
}
