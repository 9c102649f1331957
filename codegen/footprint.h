/* SPDX-License-Identifier: MIT */
/* What generated C takes of a small processor: bytes of code, and of stack. Both are known before a
 * C compiler has seen it, so code is an estimate, and the stack a bound that leaves room for what
 * compilers do (test/boards holds both against gcc's). */
#ifndef CODEGEN_FOOTPRINT_H
#define CODEGEN_FOOTPRINT_H

#include "codegen/inside.h"
#include "ir/target/target.h"

/* The stack is bytes + words * (bytes of a pointer); library_words are those of what compilers call
 * from the deepest function, and no part of stack_words. */
struct footprint { int64_t code, stack_bytes, stack_words, library_words; };

/* A program that is printed for a target. inside: which kernels may name constants themselves;
 * NULL: none. */
struct footprint_of {
        const struct loop_program *p;
        const struct target *target;
        const struct inside *inside;
};
/* Returns what a kernel takes, or a main without what it calls. */
struct footprint footprint_function(const struct footprint_of *of, const struct loop_function *f);
/* Returns what a program takes: the code of all functions; the stack of run, of the kernel with the
 * deepest one, and of what that calls. */
struct footprint footprint_program(const struct footprint_of *of);
/* Returns the bytes of stack on a machine with pointers of that many bytes. */
static inline int64_t footprint_stack(struct footprint f, int pointer)
{
        return f.stack_bytes + f.stack_words * pointer;
}

#endif
