/* SPDX-License-Identifier: MIT */
/* Prints programmatic dependent launch in CUDA C: the statements that the pass dependent_launch has
 * put before a kernel's first statement that touches more than constants.
 *
 *     load_own(own, 8, w2 + ..);      weights of a product of rows, into registers of each lane
 *     bring(b, 3072);                 a constant, from memory to L2
 *     launch_wait();                  until the preceding launch has ended
 *     launch_dependents();            the next launch may begin, where there is room for its blocks
 *     y[at] = x[at] + b[at] + ... */
#include "codegen/cuda_writer.h"

void cuda_launch_wait(struct c_writer *w)
{
        w->cuda->phase->waits = true;
        c_line(w, "launch_wait();");
}

void cuda_prefetch(struct c_writer *w, const struct loop_stmt *s)
{
        const int64_t bytes = s->step * element_info[s->buffer->element].bytes;
        int64_t at;
        if (s->code == 3) {
                cuda_load_weights(w, s->buffer, s->a, bytes);
                return;
        }
        /* One lane prefetches a single cache line: there is no instruction for it. */
        if (s->code != 1 || s->step == 1)
                return;
        w->cuda->prefetches = true;
        c_put(w, "bring(");
        if (loop_is_int(s->a, &at) && !at)
                c_put(w, "%s", c_use(w, s->buffer));
        else
                cuda_place(w, s->buffer, s->a);
        c_put(w, "," C_SOFT "%lld);", (long long)bytes);
        c_end(w);
}

bool cuda_launches_dependent(const struct c_writer *w)
{
        bool all = w->cuda->phase_count > 0;
        for (int i = 0; i < w->cuda->phase_count; i++)
                all &= w->cuda->phases[i].waits;
        return all;
}

static const char leaves[] = "\n"
                             "#ifndef CUDA_CPU\n"
                             "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900\n"
                             "#error \"launches wait inside kernels: compile this file for GPUs "
                             "from Hopper on (-arch=sm_90)\"\n"
                             "#endif\n"
                             "/* launch_dependents lets the launch behind this one begin. "
                             "launch_wait waits until the launch in front has ended and\n"
                             " * what it wrote is seen. */\n"
                             "static __device__ __forceinline__ void launch_dependents(void) { asm "
                             "volatile(\"griddepcontrol.launch_dependents;\"); }\n"
                             "static __device__ __forceinline__ void launch_wait(void) { asm "
                             "volatile(\"griddepcontrol.wait;\" ::: \"memory\"); }\n"
                             "#endif\n";

static const char bring[] =
        "#ifndef CUDA_CPU\n"
        "static __device__ __forceinline__ void bring_share(const void *from, unsigned bytes) { "
        "asm volatile(\"cp.async.bulk.prefetch.L2.global [%0], %1;\" ::\"l\"(from), \"r\"(bytes)); "
        "}\n"
        "#endif\n"
        "/* Brings memory to the second-level cache, if its address is a multiple of 16: each "
        "block brings its share. */\n"
        "static __device__ __forceinline__ void bring(const void *from, unsigned bytes)\n"
        "{\n"
        "        const unsigned share = (bytes / gridDim.x + 128) / 128 * 128, at = blockIdx.x * "
        "share;\n"
        "        if (threadIdx.x + threadIdx.y == 0 && at < bytes && (uintptr_t)from % 16 == 0)\n"
        "                bring_share((const char *)from + at, bytes - at < share ? bytes - at : "
        "share);\n"
        "}\n";

void cuda_dependent_launch_top(struct c_writer *w, struct text *out)
{
        bool waits = false;
        for (int i = 0; i < w->cuda->phase_count; i++)
                waits |= w->cuda->phases[i].waits;
        if (waits)
                text_add(out, "%s", leaves);
        if (w->cuda->prefetches)
                text_add(out, "%s", bring);
}
