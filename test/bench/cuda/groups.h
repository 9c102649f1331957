/* SPDX-License-Identifier: MIT */
/* The instructions of sm_90a that programs of the bench measure: products of a group of four warps, barriers in shared memory, bulk copies. */
#ifndef BENCH_GROUPS_H
#define BENCH_GROUPS_H
#include <stdint.h>

#define LEAF static __device__ __forceinline__

LEAF unsigned shared_at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
LEAF void copy_async(void *to, const void *from)
{
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_at(to)), "l"(from) : "memory");
}
LEAF void copy_commit(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }
#define copy_wait(left) asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory")
LEAF void barrier_begin(uint64_t *b, unsigned arrivals)
{
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_at(b)), "r"(arrivals) : "memory");
}
LEAF void barrier_expect(uint64_t *b, unsigned bytes)
{
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_at(b)), "r"(bytes) : "memory");
}
LEAF void barrier_arrive(uint64_t *b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_at(b)) : "memory"); }
/* at the barrier in the same place of another block of the cluster */
LEAF void barrier_arrive_at(uint64_t *b, unsigned rank)
{
        asm volatile("{\n.reg .b32 at;\nmapa.shared::cluster.u32 at, %0, %1;\nmbarrier.arrive.release.cluster.shared::cluster.b64 _, [at];\n}"
                     ::"r"(shared_at(b)), "r"(rank) : "memory");
}
/* when this thread's copies so far have arrived, which the barrier counts as one of its arrivals */
LEAF void barrier_arrive_copied(uint64_t *b)
{
        asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_at(b)) : "memory");
}
LEAF bool barrier_passed(uint64_t *b, unsigned parity)
{
        unsigned passed;
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(passed) : "r"(shared_at(b)), "r"(parity) : "memory");
        return passed;
}
/* bounded: a barrier that is never passed makes results wrong, not a hang */
LEAF void barrier_wait(uint64_t *b, unsigned parity)
{
        for (unsigned turn = 0; turn < 20000000 && !barrier_passed(b, parity); turn++)
                ;
}
LEAF void copy_bulk(void *to, const void *from, unsigned bytes, uint64_t *b)
{
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     ::"r"(shared_at(to)), "l"(from), "r"(bytes), "r"(shared_at(b)) : "memory");
}
LEAF void copy_bulk_to(void *to, const void *from, unsigned bytes, uint64_t *b, unsigned blocks)
{
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;"
                     ::"r"(shared_at(to)), "l"(from), "r"(bytes), "r"(shared_at(b)), "h"((uint16_t)blocks) : "memory");
}
LEAF void fence_barriers(void) { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
LEAF void fence_units(void) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
LEAF void cluster_barrier(void)
{
        asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
LEAF unsigned cluster_rank(void)
{
        unsigned r;
        asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
        return r;
}
LEAF void units_begin(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
LEAF void units_commit(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int LEFT> LEAF void units_wait(void) { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory"); }
template <int COUNT> LEAF void registers_more(void) { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT)); }
template <int COUNT> LEAF void registers_less(void) { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT)); }

/* Matrices in shared memory, both of which have products side by side:
 *
 *      swizzled    rows of 128 bytes, chunk c of row r at c ^ (r % 8)
 *      plain       eight rows of 16 bytes, one after the other, are a core matrix; `across` bytes from one such to the next 16 bytes
 *                  of the same rows, `down` bytes to the next eight rows */
LEAF uint64_t matrix_swizzled(const void *p)
{
        return (uint64_t)(shared_at(p) >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
LEAF uint64_t matrix_plain(const void *p, unsigned across, unsigned down)
{
        return (uint64_t)(shared_at(p) >> 4 & 0x3fff) | (uint64_t)(across >> 4) << 16 | (uint64_t)(down >> 4) << 32;
}

#define T10(t) "%" #t "0,%" #t "1,%" #t "2,%" #t "3,%" #t "4,%" #t "5,%" #t "6,%" #t "7,%" #t "8,%" #t "9,"
#define T0 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,"
#define LIST4 "%0,%1,%2,%3"
#define LIST32 T0 T10(1) T10(2) "%30,%31"
#define LIST64 T0 T10(1) T10(2) T10(3) T10(4) T10(5) "%60,%61,%62,%63"
#define LIST96 T0 T10(1) T10(2) T10(3) T10(4) T10(5) T10(6) T10(7) T10(8) "%90,%91,%92,%93,%94,%95"
#define LIST128 T0 T10(1) T10(2) T10(3) T10(4) T10(5) T10(6) T10(7) T10(8) T10(9) T10(10) T10(11) "%120,%121,%122,%123,%124,%125,%126,%127"
#define D4(c, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define D32(c, i) D4(c, i), D4(c, i + 4), D4(c, i + 8), D4(c, i + 12), D4(c, i + 16), D4(c, i + 20), D4(c, i + 24), D4(c, i + 28)
#define D64(c, i) D32(c, i), D32(c, i + 32)
#define D96(c, i) D64(c, i), D32(c, i + 64)
#define D128(c, i) D64(c, i), D64(c, i + 64)
#define AS_F(x) "+f"(x)
#define AS_R(x) "+r"(x)
/* d = a b, or d += a b where `add`; M: what stands behind the signs, for halves */
#define WGMMA(NAME, COUNT, SHAPE, SUM, AS, A, B, P, TAIL) \
        LEAF void NAME(SUM d[COUNT], uint64_t x, uint64_t w, int add) \
        { \
                asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" B ", 0;\nwgmma.mma_async.sync.aligned." SHAPE " {" LIST##COUNT "}, %" A ", %" P \
                             ", p" TAIL ";\n}" \
                             : D##COUNT(AS, 0) : "l"(x), "l"(w), "r"(add)); \
        }
WGMMA(wgmma_bf16_8, 4, "m64n8k16.f32.bf16.bf16", float, AS_F, "4", "6", "5", ", 1, 1, 0, 0")
WGMMA(wgmma_bf16_64, 32, "m64n64k16.f32.bf16.bf16", float, AS_F, "32", "34", "33", ", 1, 1, 0, 0")
WGMMA(wgmma_bf16_128, 64, "m64n128k16.f32.bf16.bf16", float, AS_F, "64", "66", "65", ", 1, 1, 0, 0")
WGMMA(wgmma_bf16_192, 96, "m64n192k16.f32.bf16.bf16", float, AS_F, "96", "98", "97", ", 1, 1, 0, 0")
WGMMA(wgmma_bf16_256, 128, "m64n256k16.f32.bf16.bf16", float, AS_F, "128", "130", "129", ", 1, 1, 0, 0")
WGMMA(wgmma_f16_64, 32, "m64n64k16.f32.f16.f16", float, AS_F, "32", "34", "33", ", 1, 1, 0, 0")
WGMMA(wgmma_tf32_64, 32, "m64n64k8.f32.tf32.tf32", float, AS_F, "32", "34", "33", ", 1, 1")
WGMMA(wgmma_s8_64, 32, "m64n64k32.s32.s8.s8", int, AS_R, "32", "34", "33", "")
WGMMA(wgmma_u8_64, 32, "m64n64k32.s32.u8.s8", int, AS_R, "32", "34", "33", "")

/* x in registers, of 16 channels; w across: rows of 128 bytes, each of a channel, chunk c of row r at c ^ (r % 8); `next` bytes to the same rows of the next 64 outputs */
LEAF uint64_t matrix_across(const void *p, unsigned next)
{
        return (uint64_t)(shared_at(p) >> 4 & 0x3fff) | (uint64_t)(next >> 4) << 16 | 64ull << 32 | 1ull << 62;
}
#define WGMMA_ACROSS(NAME, COUNT, SHAPE, A0, A1, A2, A3, P) \
        LEAF void NAME(float d[COUNT], const unsigned x[4], uint64_t w) \
        { \
                asm volatile("wgmma.mma_async.sync.aligned." SHAPE " {" LIST##COUNT "}, {%" A0 ", %" A1 ", %" A2 ", %" A3 "}, %" P ", 1, 1, 1, 1;" \
                             : D##COUNT(AS_F, 0) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(w)); \
        }
WGMMA_ACROSS(wgmma_f16_across_64, 32, "m64n64k16.f32.f16.f16", "32", "33", "34", "35", "36")
WGMMA_ACROSS(wgmma_f16_across_128, 64, "m64n128k16.f32.f16.f16", "64", "65", "66", "67", "68")
WGMMA_ACROSS(wgmma_bf16_across_256, 128, "m64n256k16.f32.bf16.bf16", "128", "129", "130", "131", "132")
#endif
