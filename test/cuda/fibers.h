/* SPDX-License-Identifier: MIT */
/* What executor.cpp, leaves.cpp and runtime.cpp know of each other. */
#ifndef EXECUTOR_FIBERS_H
#define EXECUTOR_FIBERS_H
#include "executor.h"

struct executor_block;
struct executor_warp_state;
struct executor_thread {
        void *sp;                       /* of a thread that waits */
        struct executor_block *block;
        struct executor_warp_state *warp;
        uint3 index;
        int number;                     /* within the block */
        const char *what;               /* it waits for */
        int line;
        void *operand;                  /* of a warp instruction */
        struct leaf_state *leaves;      /* copies and products under way; NULL: none ever */
};
extern struct executor_thread *executor_self;   /* NULL outside of kernels */

/* other threads go on; this one is taken up again when all that can have had a turn */
void executor_spin(void);
unsigned char *executor_shared(void);
/* leaves.cpp: the thread has ended; what is under way arrives */
void leaves_end(struct executor_thread *thread);
/* runtime.cpp: "workspace + 12" */
const char *executor_where(const void *address);
#endif
