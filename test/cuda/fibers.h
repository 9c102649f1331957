/* SPDX-License-Identifier: MIT */
/* What executor.cpp, leaves.cpp and runtime.cpp know of each other. */
#ifndef EXECUTOR_FIBERS_H
#define EXECUTOR_FIBERS_H
#include <vector>

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
struct executor_warp_state {
        unsigned fresh, ready, spinning;        /* lanes that have not begun, that can go on, that ask again later */
        unsigned arrived, mask;                 /* at an instruction of the warp */
        const char *what;
        struct executor_thread *lanes;
        unsigned epoch;                 /* __syncwarp passed */
        struct lane_log *log;           /* access.cpp */
};
/* the block of this one's cluster whose shared memory has an address; NULL: none */
const struct executor_block *executor_neighbour(const void *address);
/* a word of 16 bytes in shared memory: who wrote it, behind so many of its fences (leaves.cpp) */
struct executor_written { struct executor_thread *writer = NULL; unsigned fences = 0; };
struct executor_block {
        uint3 index;
        unsigned char *shared;
        int arrived, threads, left;     /* left: that have not ended */
        unsigned epoch, cluster_epoch;  /* barriers of the block passed, all and those of its cluster */
        unsigned cluster;               /* which that is */
        unsigned life;                  /* access.cpp */
        std::vector<struct executor_thread> all;
        std::vector<struct executor_warp_state> warps;
        std::vector<struct executor_written> written;
};
/* access.cpp, where it is linked: what it does when the epoch of all blocks ends, and when a warp has run to a meeting or the end */
struct executor_hooks {
        void (*launch)(const struct executor_launch *launch);
        void (*block)(struct executor_block *block);    /* its shared memory is new */
        void (*warp)(struct executor_warp_state *warp);
};
extern struct executor_hooks executor_hooks;
/* a thread reads or writes outside of instrumented text; noted where access.cpp is linked */
extern void (*executor_access)(struct executor_thread *thread, const void *address, size_t bytes, bool write);
/* the block with an address: where it begins and its bytes; NULL */
const void *executor_block_of(const void *address, size_t *bytes);

/* other threads go on; this one is taken up again when all that can have had a turn */
void executor_spin(void);
unsigned char *executor_shared(void);
/* memory.cpp: what launches may write, or not even be read */
void executor_reach(bool reached);
/* leaves.cpp: the thread has ended; what is under way arrives */
void leaves_end(struct executor_thread *thread);
/* runtime.cpp: "workspace + 12" */
const char *executor_where(const void *address);
#endif
