/* SPDX-License-Identifier: MIT */
/* The instructions that the kernels use, in PTX; executor.h has each of them again. */
#ifndef CUDA_CPU
static __device__ __forceinline__ unsigned char *shared_memory(void)
{
        extern __shared__ __align__(1024) unsigned char memory[];
        return memory;
}
static __device__ __forceinline__ uint16_t half_of_float(float f)
{
        uint16_t h;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
        return h;
}
static __device__ __forceinline__ uint32_t pair_f16(float low, float high)
{
        uint32_t pair;
#if __CUDA_ARCH__ < 800
        asm("{ .reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h}; }" : "=r"(pair) : "f"(low), "f"(high));
#else
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#endif
        return pair;
}
#if __CUDA_ARCH__ >= 800
static __device__ __forceinline__ uint32_t pair_bf16(float low, float high)
{
        uint32_t pair;
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
        return pair;
}
#else
static __device__ __forceinline__ uint32_t bf16_of_float(float f)
{
        uint32_t bits = __float_as_uint(f);
        return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}
static __device__ __forceinline__ uint32_t pair_bf16(float low, float high) { return bf16_of_float(low) | bf16_of_float(high) << 16; }
#endif
static __device__ __forceinline__ float float_of_half(uint16_t h)
{
        float f;
        asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
        return f;
}
static __device__ __forceinline__ void copy_async(void *shared, const void *global, bool there)
{
#if __CUDA_ARCH__ < 800
        *(uint4 *)shared = there ? *(const uint4 *)global : make_uint4(0, 0, 0, 0);
#else
        unsigned to = (unsigned)__cvta_generic_to_shared(shared);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(there ? 16 : 0) : "memory");
#endif
}
#if __CUDA_ARCH__ < 800
static __device__ __forceinline__ void copy_commit(void) {}
#define copy_wait(left)
#else
static __device__ __forceinline__ void copy_commit(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }
#define copy_wait(left) asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory")
#endif
static __device__ __forceinline__ float shuffle_xor(float value, int mask) { return __shfl_xor_sync(~0u, value, mask); }
/* all blocks of a cooperative launch; *count begins as 0 and is left so that the next one can use it */
static __device__ __forceinline__ void grid_barrier(unsigned *count)
{
        __syncthreads();
        if (threadIdx.x == 0) {
                unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
                unsigned add = blockIdx.x + blockIdx.y + blockIdx.z == 0 ? 0x80000000u - (blocks - 1) : 1, old, now;
                asm volatile("fence.acq_rel.gpu;" ::: "memory");
                asm volatile("atom.add.release.gpu.u32 %0, [%1], %2;" : "=r"(old) : "l"(count), "r"(add) : "memory");
                do
                        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(count) : "memory");
                while (((old ^ now) & 0x80000000u) == 0);
        }
        __syncthreads();
}
static __device__ __forceinline__ void load_matrices(uint32_t r[4], const void *row)
{
        unsigned from = (unsigned)__cvta_generic_to_shared(row);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from) : "memory");
}
static __device__ __forceinline__ void mma_f16(float d[4], const uint32_t a[4], const uint32_t b[2])
{
#if __CUDA_ARCH__ < 800
        for (int k = 0; k < 2; k++)
                asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[2 * k]), "r"(a[2 * k + 1]), "r"(b[k]));
#else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}
#if defined __CUDA_ARCH_FEAT_SM90_ALL || !defined __CUDA_ARCH__
/* barriers in shared memory, and copies of whole runs that arrive at them */
static __device__ __forceinline__ void barrier_begin(uint64_t *b, unsigned arrivals)
{
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"((unsigned)__cvta_generic_to_shared(b)), "r"(arrivals) : "memory");
}
static __device__ __forceinline__ void barrier_expect(uint64_t *b, unsigned bytes)
{
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"((unsigned)__cvta_generic_to_shared(b)), "r"(bytes) : "memory");
}
static __device__ __forceinline__ void barrier_wait(uint64_t *b, unsigned parity)
{
        asm volatile("{\n.reg .pred p;\nW: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@p bra D;\nbra W;\nD:\n}"
                     ::"r"((unsigned)__cvta_generic_to_shared(b)), "r"(parity) : "memory");
}
static __device__ __forceinline__ void copy_bulk(void *shared, const void *global, unsigned bytes, uint64_t *b)
{
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     ::"r"((unsigned)__cvta_generic_to_shared(shared)), "l"(global), "r"(bytes), "r"((unsigned)__cvta_generic_to_shared(b)) : "memory");
}
/* shared memory that threads wrote is for the tensor cores from here on */
static __device__ __forceinline__ void shared_to_units(void) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
/* rows of 128 bytes, chunk c of row r at c ^ (r % 8), eight rows after eight rows */
static __device__ __forceinline__ uint64_t matrix_at(const void *shared)
{
        return (uint64_t)((unsigned)__cvta_generic_to_shared(shared) >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
static __device__ __forceinline__ void units_begin(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
static __device__ __forceinline__ void units_commit(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
#define units_wait(left) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory")
static __device__ __forceinline__ void wgmma_f16(float d[64], const void *x, const void *w)
{
        asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, 1, 1, 1, 0, 0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                       "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                       "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                       "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
                       "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
                       "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                       "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                       "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
                     : "l"(matrix_at(x)), "l"(matrix_at(w)));
}
#endif
#endif
