/* SPDX-License-Identifier: MIT */
/* This is advice about memory, which nothing depends on. */
#ifndef WINDOWS_SYS_MMAN_H
#define WINDOWS_SYS_MMAN_H

#define MADV_DONTNEED 0
static inline int madvise(void *at, size_t bytes, int advice)
{
        return (void)at, (void)bytes, advice;
}

#endif
