/* SPDX-License-Identifier: MIT */
/* The executor: CUDA C text compiled and run on a CPU, for tests where there is no GPU.
 *
 *     g++ -std=c++17 -x c++ -include executor.h -c model.cu
 *
 * What the text must keep to: no <<< >>>; instructions only in leaf functions under #ifndef CUDA_CPU, all of which are declared
 * here again (`leaves`); shared memory by shared_memory(). The rest is compiled once (executor.cpp, leaves.cpp, runtime.cpp).
 *
 * A thread runs until it comes to a barrier or to an instruction of its warp, and only then is left for the next one of the warp,
 * so that a text has many legal executions: executor.h's `executor` says which one is run. A kernel without a race gives the
 * same bits in all. Shared memory begins as NaN, and memory of the device does. What no execution may do (threads that
 * wait for ever, a warp's lanes at different instructions, an access outside of all memory) ends the program with exit code
 * EXECUTOR_FOUND and one line that says where. */
#ifndef CUDA_CPU
#define CUDA_CPU 1
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
/* one access that other threads may make at the same time */
#define EXECUTOR_ATOMIC static inline __attribute__((no_sanitize("thread")))

/* ---- which execution, and what was counted ---- */

enum { WARP = 32, EXECUTOR_FOUND = 9 };
enum executor_order { FORWARDS, BACKWARDS, SHUFFLED };          /* of blocks, warps and lanes */
struct executor {
        enum executor_order order;
        bool late;                      /* a copy into shared memory arrives when it is waited for; launches when a stream is */
        bool products_late;             /* those of four warps are computed when they are waited for */
        bool cut_off;                   /* sums of products in the manner of tensor cores (sums.h) */
        unsigned seed;
        struct executor_counts {
                int64_t launches, blocks, threads, barriers, warp_instructions, mma, ldmatrix, conflicts, copied, switches;
                /* where accesses are looked at (access.cpp): of shared memory those that wait for a bank; sectors of 32 bytes of
                 * the device's memory that warps ask for, and as few as they could be */
                int64_t bank_conflicts, sectors, least_sectors;
        } counts;
};
extern struct executor executor;
void executor_execution(int number);    /* 0 .. 5: every order, at once and late */
[[noreturn]] void executor_found(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- types ---- */

struct uint3 { unsigned x, y, z; };
struct dim3 {
        unsigned x, y, z;
        constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
#define EXECUTOR_VECTOR(type, name, bytes) \
        struct __align__(2 * bytes) name##2 { type x, y; }; \
        struct __align__((bytes < 8 ? 4 : 2) * bytes) name##4 { type x, y, z, w; }; \
        static inline name##2 make_##name##2(type x, type y) { return { x, y }; } \
        static inline name##4 make_##name##4(type x, type y, type z, type w) { return { x, y, z, w }; }
EXECUTOR_VECTOR(float, float, 4)
EXECUTOR_VECTOR(int, int, 4)
EXECUTOR_VECTOR(unsigned, uint, 4)
EXECUTOR_VECTOR(double, double, 8)
EXECUTOR_VECTOR(short, short, 2)
EXECUTOR_VECTOR(unsigned short, ushort, 2)
EXECUTOR_VECTOR(signed char, char, 1)
EXECUTOR_VECTOR(unsigned char, uchar, 1)

/* of the thread that runs */
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
enum { warpSize = WARP };

/* ---- barriers and instructions of a warp ---- */

#define EXECUTOR_LINE int line = __builtin_LINE()
/* all threads whose bit is set in mask hand in what `lanes` then points to, NULL of the others; work runs once */
void executor_warp(const char *what, unsigned mask, void *operand, void (*work)(void *const lanes[WARP]), int line);
void executor_block(const char *what, int line);
int executor_lane(void);                /* of the thread that runs */

static inline void __syncthreads(EXECUTOR_LINE) { executor_block("__syncthreads", line); }
void __syncwarp(unsigned mask = ~0u, EXECUTOR_LINE);
void executor_grid(int line);
static inline void grid_barrier(unsigned *, EXECUTOR_LINE) { executor_grid(line); }

enum executor_shuffle { SHUFFLE_XOR, SHUFFLE_FROM, SHUFFLE_UP, SHUFFLE_DOWN };
uint64_t executor_shuffle(enum executor_shuffle kind, unsigned mask, uint64_t bits, int by, int width, int line);
template <class T> static inline T executor_shuffled(enum executor_shuffle kind, unsigned mask, T value, int by, int width, int line)
{
        static_assert(sizeof value <= 8, "a shuffle moves 8 bytes at most");
        uint64_t bits = 0;
        memcpy(&bits, &value, sizeof value);
        bits = executor_shuffle(kind, mask, bits, by, width, line);
        memcpy(&value, &bits, sizeof value);
        return value;
}
#define EXECUTOR_SHUFFLE(name, kind, type) \
        template <class T> static inline T name(unsigned mask, T value, type by, int width = WARP, EXECUTOR_LINE) \
        { \
                return executor_shuffled(kind, mask, value, (int)by, width, line); \
        }
EXECUTOR_SHUFFLE(__shfl_xor_sync, SHUFFLE_XOR, int)
EXECUTOR_SHUFFLE(__shfl_sync, SHUFFLE_FROM, int)
EXECUTOR_SHUFFLE(__shfl_up_sync, SHUFFLE_UP, unsigned)
EXECUTOR_SHUFFLE(__shfl_down_sync, SHUFFLE_DOWN, unsigned)
unsigned __ballot_sync(unsigned mask, int predicate, EXECUTOR_LINE);
static inline int __any_sync(unsigned mask, int predicate, EXECUTOR_LINE) { return __ballot_sync(mask, predicate, line) != 0; }
static inline int __all_sync(unsigned mask, int predicate, EXECUTOR_LINE) { return __ballot_sync(mask, predicate, line) == mask; }
static inline float shuffle_xor(float value, int mask, EXECUTOR_LINE)
{
        return executor_shuffled(SHUFFLE_XOR, ~0u, value, mask, WARP, line);
}

/* ---- leaves: what a .cu writes in PTX ---- */

/* Launches that may begin before the one in front of them has ended: memory other than weights is out of reach until a thread has waited,
 * and one must. */
void launch_dependents(void);
void launch_wait(void);
void bring_share(const void *from, unsigned bytes);

unsigned char *shared_memory(void);
/* Blocks in clusters: a barrier of all their threads; what lies in that block where `shared` lies in this one */
void executor_cluster(int line);
static inline void cluster_barrier(EXECUTOR_LINE) { executor_cluster(line); }
static inline void cluster_leave(EXECUTOR_LINE) { executor_cluster(line); }
const void *cluster_at(const void *shared, unsigned block);
float float_of_half(uint16_t h);
uint16_t half_of_float(float f);
static inline uint32_t pair_f16(float low, float high) { return half_of_float(low) | (uint32_t)half_of_float(high) << 16; }
uint16_t bf16_of_float(float f);
static inline uint32_t pair_bf16(float low, float high) { return bf16_of_float(low) | (uint32_t)bf16_of_float(high) << 16; }
/* so many bytes as one access, which is looked at as such */
template <size_t BYTES> struct executor_words { typedef uint8_t type __attribute__((vector_size(BYTES), may_alias, aligned(1))); };
#define move_words(of, to, from) (*(executor_words<sizeof(of)>::type *)(to) = *(const executor_words<sizeof(of)>::type *)(from))
/* 16 bytes into shared memory, zeros where !there; they arrive when their group is waited for */
void copy_async(void *shared, const void *global, bool there);
void copy_commit(void);
void copy_wait(int left);               /* until so many groups of this thread are under way */
/* ldmatrix: four 8 x 8 matrices of 16-bit elements; lane l gives row l % 8 of matrix l / 8 */
void load_matrices(uint32_t r[4], const void *row, EXECUTOR_LINE);
void load_matrices_transposed(uint32_t r[4], const void *row, EXECUTOR_LINE);
/* m16n8k16, d += a b, row by column */
void mma_f16(float d[4], const uint32_t a[4], const uint32_t b[2], EXECUTOR_LINE);
void mma_s8(int32_t d[4], const uint32_t a[4], const uint32_t b[2], EXECUTOR_LINE);
void mma_u8(int32_t d[4], const uint32_t a[4], const uint32_t b[2], EXECUTOR_LINE);
void mma_tf32(float d[4], const uint32_t a[4], const uint32_t b[2], EXECUTOR_LINE);
void mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2], EXECUTOR_LINE);       /* sums in f32, in order */
/* sm_90a: barriers in shared memory, bulk copies, products of a warpgroup; `shared_to_units` stands before products of what
 * threads stored */
void barrier_begin(uint64_t *b, unsigned arrivals);
void barrier_expect(uint64_t *b, unsigned bytes);
void barrier_wait(uint64_t *b, unsigned parity);
void copy_bulk(void *shared, const void *global, unsigned bytes, uint64_t *b);
void shared_to_units(void);
void wgmma_f16(float d[64], const void *x, const void *w, EXECUTOR_LINE);          /* on swizzled rows of 128 bytes */
static inline void units_begin(void) {}
void units_commit(void);                /* products since the last one are a group */
void units_wait(int left, EXECUTOR_LINE);         /* until so many groups of this thread are under way */
/* wgmma.m64nN on lines of 128 bytes, word n of line l at n ^ l % 8: d += a b, two words deep, from `word` on */
enum executor_unit { UNIT_F16, UNIT_BF16, UNIT_S8, UNIT_U8 };
void executor_multiply(enum executor_unit unit, int columns, void *d, const void *x, const void *w, int line);
#define EXECUTOR_WGMMA(name, unit, sum, n) \
        static inline void name##_##n(sum (*d)[4], const void *x, const void *w, unsigned word, EXECUTOR_LINE) \
        { \
                executor_multiply(unit, n, d, (const char *)x + 16 * word, (const char *)w + 16 * word, line); \
        }
#define EXECUTOR_WGMMAS(n) \
        EXECUTOR_WGMMA(wgmma_f16, UNIT_F16, float, n) \
        EXECUTOR_WGMMA(wgmma_bf16, UNIT_BF16, float, n) \
        EXECUTOR_WGMMA(wgmma_s8, UNIT_S8, int32_t, n) \
        EXECUTOR_WGMMA(wgmma_u8, UNIT_U8, int32_t, n)
/* the same of 16 channels, a lane's pairs by w transposed: a line of 128 bytes has 64 outputs of a channel, those of the next outputs are `next` bytes behind */
void executor_multiply_transposed(enum executor_unit unit, int columns, void *d, const uint32_t (*x)[2], const void *w, unsigned next, int line);
#define EXECUTOR_WGMMA_ACROSS(name, unit, n) \
        static inline void name##_across_##n(float (*d)[4], const uint32_t (*x)[2], const void *w, unsigned next, EXECUTOR_LINE) \
        { \
                executor_multiply_transposed(unit, n, d, x, w, next, line); \
        }
#define EXECUTOR_WGMMAS_ACROSS(n) \
        EXECUTOR_WGMMA_ACROSS(wgmma_f16, UNIT_F16, n) \
        EXECUTOR_WGMMA_ACROSS(wgmma_bf16, UNIT_BF16, n)
EXECUTOR_WGMMAS_ACROSS(64)
EXECUTOR_WGMMAS_ACROSS(128)
EXECUTOR_WGMMAS_ACROSS(192)
EXECUTOR_WGMMAS_ACROSS(256)
static inline void sums_settled(float (*)[4], int) {}
static inline void whole_sums_settled(int32_t (*)[4], int) {}
static inline void pairs_settled(uint32_t (*)[2], int) {}
EXECUTOR_WGMMAS(8)
EXECUTOR_WGMMAS(16)
EXECUTOR_WGMMAS(24)
EXECUTOR_WGMMAS(32)
EXECUTOR_WGMMAS(48)
EXECUTOR_WGMMAS(64)
EXECUTOR_WGMMAS(128)
EXECUTOR_WGMMAS(192)
EXECUTOR_WGMMAS(256)

/* ---- functions that CUDA has in every text ---- */

template <class To, class From> static inline To executor_bits(From value)
{
        static_assert(sizeof(To) == sizeof(From), "as many bits");
        To to;
        memcpy(&to, &value, sizeof to);
        return to;
}
static inline unsigned __float_as_uint(float f) { return executor_bits<unsigned>(f); }
static inline int __float_as_int(float f) { return executor_bits<int>(f); }
static inline float __uint_as_float(unsigned u) { return executor_bits<float>(u); }
static inline float __int_as_float(int i) { return executor_bits<float>(i); }
static inline long long __double_as_longlong(double d) { return executor_bits<long long>(d); }
static inline double __longlong_as_double(long long i) { return executor_bits<double>(i); }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fsqrt_rn(float a) { return sqrtf(a); }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline double __dsqrt_rn(double a) { return sqrt(a); }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static inline int __popc(unsigned a) { return __builtin_popcount(a); }
static inline int __clz(int a) { return a ? __builtin_clz((unsigned)a) : 32; }
static inline int __clzll(long long a) { return a ? __builtin_clzll((unsigned long long)a) : 64; }
static inline int __ffs(int a) { return __builtin_ffs(a); }
static inline int __mulhi(int a, int b) { return (int)((int64_t)a * b >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
template <class T> static inline T __ldg(const T *p) { return *p; }
#define EXECUTOR_MINMAX(type) \
        static inline type min(type a, type b) { return a < b ? a : b; } \
        static inline type max(type a, type b) { return a > b ? a : b; }
EXECUTOR_MINMAX(int)
EXECUTOR_MINMAX(unsigned)
EXECUTOR_MINMAX(long)
EXECUTOR_MINMAX(unsigned long)
EXECUTOR_MINMAX(long long)
EXECUTOR_MINMAX(unsigned long long)
static inline void __threadfence(void) {}
static inline void __threadfence_block(void) {}
[[noreturn]] void __trap(EXECUTOR_LINE);

#define EXECUTOR_RMW(name, expression) \
        template <class T> EXECUTOR_ATOMIC T name(T *at, T value) \
        { \
                T old = *at; \
                *at = expression; \
                return old; \
        }
EXECUTOR_RMW(atomicMin, old < value ? old : value)
EXECUTOR_RMW(atomicMax, old > value ? old : value)
EXECUTOR_RMW(atomicAdd, old + value)
EXECUTOR_RMW(atomicOr, old | value)
EXECUTOR_RMW(atomicAnd, old & value)
EXECUTOR_RMW(atomicExch, value)
template <class T> EXECUTOR_ATOMIC T atomicCAS(T *at, T expected, T value)
{
        T old = *at;
        if (old == expected)
                *at = value;
        return old;
}

#include "runtime.h"
#endif
