/* SPDX-License-Identifier: MIT */
/* What the machine can do right now on the cores given: multiply-adds of floats, and reading. Clocks wander and other
 * guests of the machine interfere, so a kernel's share of the peak means something only against a peak probed beside it. */
#ifndef TEST_BENCH_PROBE_H
#define TEST_BENCH_PROBE_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PROBE_CORES = 256, PROBE_TRIES = 3 };
static int probe_cores[PROBE_CORES], probe_core_count;

static void probe_add_core(int core)
{
        if (probe_core_count < PROBE_CORES)
                probe_cores[probe_core_count++] = core;
}

static double probe_now(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- what one core does: 16 accumulators, each a variable of its own, so that they stay in registers ---- */

#define PROBE_16(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
enum { PROBE_ROUNDS = 200000 };

#ifdef __x86_64__
#include <immintrin.h>

#define PROBE_DECLARE(i) a##i = x,
#define PROBE_FMA(i) __asm__ volatile("vfmadd231ps %1, %2, %0" : "+v"(a##i) : "v"(x), "v"(y));
#define PROBE_KEEP(i) __asm__ volatile("" : : "v"(a##i));

static __attribute__((target("avx512f"))) void probe_fma_16(void)
{
        __m512 x = _mm512_set1_ps(0.37f), y = _mm512_set1_ps(-0.59f), PROBE_16(PROBE_DECLARE) last = x;
        for (int k = 0; k < PROBE_ROUNDS; k++) {
                PROBE_16(PROBE_FMA)
        }
        PROBE_16(PROBE_KEEP)
        (void)last;
}

static __attribute__((target("avx2,fma"))) void probe_fma_8(void)
{
        __m256 x = _mm256_set1_ps(0.37f), y = _mm256_set1_ps(-0.59f), PROBE_16(PROBE_DECLARE) last = x;
        for (int k = 0; k < PROBE_ROUNDS; k++) {
                PROBE_16(PROBE_FMA)
        }
        PROBE_16(PROBE_KEEP)
        (void)last;
}

/* SSE2 has no multiply-add */
#define PROBE_SSE(i) __asm__ volatile("mulps %1, %0\n\taddps %2, %0" : "+x"(a##i) : "x"(y), "x"(x));
#define PROBE_KEEP_SSE(i) __asm__ volatile("" : : "x"(a##i));
static void probe_fma_4(void)
{
        __m128 x = _mm_set1_ps(0.37f), y = _mm_set1_ps(-0.59f), PROBE_16(PROBE_DECLARE) last = x;
        for (int k = 0; k < PROBE_ROUNDS; k++) {
                PROBE_16(PROBE_SSE)
        }
        PROBE_16(PROBE_KEEP_SSE)
        (void)last;
}

static __attribute__((target("avx512f"))) uint64_t probe_sum_16(const char *p, size_t bytes)
{
        __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
        for (size_t i = 0; i + 256 <= bytes; i += 256) {
                a = _mm512_or_si512(a, _mm512_load_si512(p + i));
                b = _mm512_or_si512(b, _mm512_load_si512(p + i + 64));
                c = _mm512_or_si512(c, _mm512_load_si512(p + i + 128));
                d = _mm512_or_si512(d, _mm512_load_si512(p + i + 192));
        }
        a = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
        return (uint64_t)_mm512_reduce_or_epi64(a);
}

static uint64_t probe_sum_4(const char *p, size_t bytes)
{
        __m128i a = _mm_setzero_si128(), b = a, c = a, d = a;
        for (const __m128i *q = (const void *)p, *end = q + bytes / 64 * 4; q < end; q += 4) {
                a = _mm_or_si128(a, q[0]);
                b = _mm_or_si128(b, q[1]);
                c = _mm_or_si128(c, q[2]);
                d = _mm_or_si128(d, q[3]);
        }
        a = _mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d));
        return (uint64_t)_mm_cvtsi128_si64(a);
}
#endif

/* any machine; as good as the compiler makes it */
static void probe_fma_1(void)
{
        volatile float seed = 0.37f;
        float x = seed, a[16];
        for (int i = 0; i < 16; i++)
                a[i] = x * (float)i;
        for (int k = 0; k < PROBE_ROUNDS; k++)
                for (int i = 0; i < 16; i++)
                        a[i] = a[i] * x + 0.5f;
        for (int i = 0; i < 16; i++)
                seed = a[i];
}

static uint64_t probe_sum_1(const char *p, size_t bytes)
{
        uint64_t a = 0, b = 0, c = 0, d = 0;
        for (const uint64_t *q = (const void *)p, *end = q + bytes / 32 * 4; q < end; q += 4) {
                a |= q[0];
                b |= q[1];
                c |= q[2];
                d |= q[3];
        }
        return a | b | c | d;
}

/* ---- all cores at once ---- */

struct probe {
        int lanes;
        const char *data;               /* NULL: multiply-adds */
        size_t bytes, repeats;          /* of each core */
        atomic_int waiting;
        double rates[PROBE_CORES];
};
struct probe_part { struct probe *probe; int core; };

static uint64_t probe_sum(int lanes, const char *data, size_t bytes)
{
#ifdef __x86_64__
        if (lanes >= 4)
                return (lanes == 16 ? probe_sum_16 : probe_sum_4)(data, bytes);
#endif
        (void)lanes;
        return probe_sum_1(data, bytes);
}

/* bytes or floating operations a second */
static double probe_work(const struct probe *p, int core)
{
        double start = probe_now();
        for (size_t i = 0; p->data && i < p->repeats; i++) {
                uint64_t sum = probe_sum(p->lanes, p->data + (size_t)core * p->bytes, p->bytes);
                __asm__ volatile("" : : "r"(sum) : "memory");
        }
        if (p->data)
                return (double)(p->bytes * p->repeats) / (probe_now() - start);
#ifdef __x86_64__
        if (p->lanes >= 4) {
                (p->lanes == 16 ? probe_fma_16 : p->lanes == 8 ? probe_fma_8 : probe_fma_4)();
                return 16.0 * 2 * p->lanes * PROBE_ROUNDS / (probe_now() - start);
        }
#endif
        probe_fma_1();
        return 16.0 * 2 * PROBE_ROUNDS / (probe_now() - start);
}

static void *probe_thread(void *argument)
{
        struct probe_part *part = argument;
        struct probe *p = part->probe;
        cpu_set_t before, mine;
        sched_getaffinity(0, sizeof before, &before);
        CPU_ZERO(&mine);
        CPU_SET(probe_cores[part->core], &mine);
        sched_setaffinity(0, sizeof mine, &mine);
        for (int k = 0; k < PROBE_TRIES; k++) {
                atomic_fetch_sub(&p->waiting, 1);
                while (atomic_load(&p->waiting) > (PROBE_TRIES - 1 - k) * probe_core_count)
                        ;
                double rate = probe_work(p, part->core);
                p->rates[part->core] = rate > p->rates[part->core] ? rate : p->rates[part->core];
        }
        sched_setaffinity(0, sizeof before, &before);
        return NULL;
}

/* the best of a few tries of each core, summed, in units of 1e9 a second */
static double probe_run(struct probe *p)
{
        pthread_t threads[PROBE_CORES];
        struct probe_part parts[PROBE_CORES];
        double sum = 0;
        atomic_init(&p->waiting, PROBE_TRIES * probe_core_count);
        for (int i = 0; i < probe_core_count; i++)
                parts[i] = (struct probe_part){ p, i };
        for (int i = 1; i < probe_core_count; i++)
                if (pthread_create(&threads[i], NULL, probe_thread, &parts[i]))
                        exit(1);
        probe_thread(&parts[0]);
        for (int i = 1; i < probe_core_count; i++)
                pthread_join(threads[i], NULL);
        for (int i = 0; i < probe_core_count; i++)
                sum += p->rates[i];
        return 1e-9 * sum;
}

/* GFLOP/s, in vectors of that many floats (16, 8, 4; others: C) */
static double probe_fma(int lanes)
{
        struct probe p = { .lanes = lanes };
        return probe_run(&p);
}

/* GB/s of reading that many bytes again and again, divided among the cores */
static double probe_read(int lanes, uint64_t bytes)
{
        struct probe p = { .lanes = lanes };
        p.bytes = ((size_t)bytes / (size_t)probe_core_count + 255) / 256 * 256;
        p.repeats = ((size_t)64 << 20) / (p.bytes + 1) + 1;
        size_t all = p.bytes * (size_t)probe_core_count;
        char *data = bytes ? aligned_alloc(4096, (all + 4095) / 4096 * 4096) : NULL;
        if (!data)
                return 0;
        memset(data, 1, all);
        p.data = data;
        double rate = probe_run(&p);
        free(data);
        return rate;
}

#endif
