/* SPDX-License-Identifier: MIT */
/* This is FIPS 180-4, by the processor's own instructions where it has them: a compilation hashes
 * all of the model. */
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>
#endif

static const uint32_t round_constant[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2,
};

static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

/* ---- blocks of 64 bytes ---- */

static void add_block(uint32_t state[8], const unsigned char *p)
{
        uint32_t w[64];
        for (int i = 0; i < 16; i++, p += 4)
                w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
        for (int i = 16; i < 64; i++) {
                uint32_t a = w[i - 15], b = w[i - 2];
                w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
                       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
        }
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
        for (int i = 0; i < 64; i++) {
                uint32_t t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                              ((e & f) ^ (~e & g)) + round_constant[i] + w[i];
                uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                              ((a & b) ^ (a & c) ^ (b & c));
                h = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
        }
        state[0] += a; state[1] += b; state[2] += c; state[3] += d;
        state[4] += e; state[5] += f; state[6] += g; state[7] += h;
}

static void add_blocks(uint32_t state[8], const unsigned char *p, size_t count)
{
        for (; count; count--, p += 64)
                add_block(state, p);
}

#if defined(__x86_64__) && defined(__GNUC__)
/* Returns whether the processor has the instructions. It is asked once: a virtual machine takes
 * microseconds to answer. */
static bool has_instructions(void)
{
        static enum { UNKNOWN, NO, YES } answer;
        unsigned a, b, c, d;
        if (answer == UNKNOWN) {
                bool has_sse4_1 = __get_cpuid(1, &a, &b, &c, &d) && c & bit_SSE4_1;
                answer = has_sse4_1 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA ? YES
                                                                                              : NO;
        }
        return answer == YES;
}

/* Adds blocks, four rounds in an iteration. The instructions want the state as the vectors f, e, b,
 * a and h, g, d, c. */
__attribute__((target("sha,sse4.1")))
static void add_blocks_by_instructions(uint32_t state[8], const unsigned char *p, size_t count)
{
        const __m128i big_endian =
                _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
        __m128i feba = _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
        __m128i hgdc = _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);
        for (; count; count--, p += 64) {
                __m128i x = feba, y = hgdc, w[16];
#pragma GCC unroll 16
                for (int i = 0; i < 16; i++) {
                        if (i < 4)
                                w[i] = _mm_shuffle_epi8(
                                        _mm_loadu_si128(
                                                (const __m128i *)(const void *)(p + 16 * i)),
                                        big_endian);
                        else
                                w[i] = _mm_sha256msg2_epu32(
                                        _mm_add_epi32(_mm_sha256msg1_epu32(w[i - 4], w[i - 3]),
                                                      _mm_alignr_epi8(w[i - 1], w[i - 2], 4)),
                                        w[i - 1]);
                        __m128i k = _mm_loadu_si128(
                                (const __m128i *)(const void *)(round_constant + 4 * i));
                        __m128i sum = _mm_add_epi32(w[i], k);
                        y = _mm_sha256rnds2_epu32(y, x, sum);
                        x = _mm_sha256rnds2_epu32(x, y, _mm_shuffle_epi32(sum, 0x0e));
                }
                feba = _mm_add_epi32(feba, x);
                hgdc = _mm_add_epi32(hgdc, y);
        }
        uint32_t high[4], low[4];
        _mm_storeu_si128((__m128i *)(void *)high, feba);
        _mm_storeu_si128((__m128i *)(void *)low, hgdc);
        const uint32_t mixed[8] = { high[3], high[2], low[3], low[2],
                                    high[1], high[0], low[1], low[0] };
        memcpy(state, mixed, sizeof mixed);
}
#else
static bool has_instructions(void) { return false; }
#define add_blocks_by_instructions add_blocks
#endif

/* ---- any bytes ---- */

void sha256_init(struct sha256 *sha)
{
        *sha = (struct sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                           0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 },
                                .plain = !has_instructions() };
}

void sha256_update(struct sha256 *sha, const void *data, size_t bytes)
{
        void (*absorb)(uint32_t *, const unsigned char *, size_t) =
                sha->plain ? add_blocks : add_blocks_by_instructions;
        const unsigned char *p = data;
        size_t held = sha->length % 64;
        sha->length += bytes;
        if (!bytes)
                return;                 /* data may be NULL then. */
        if (held) {
                size_t take = bytes < 64 - held ? bytes : 64 - held;
                memcpy(sha->block + held, p, take);
                p += take;
                bytes -= take;
                if (held + take < 64)
                        return;
                absorb(sha->state, sha->block, 1);
        }
        absorb(sha->state, p, bytes / 64);
        if (bytes % 64)
                memcpy(sha->block, p + bytes / 64 * 64, bytes % 64);
}

void sha256_hex(struct sha256 *sha, char hex[65])
{
        uint64_t bits = sha->length * 8;
        static const unsigned char padding[64] = { 0x80 };
        unsigned char length[8];
        for (int i = 0; i < 8; i++)
                length[i] = (unsigned char)(bits >> (56 - 8 * i));
        size_t held = sha->length % 64;
        sha256_update(sha, padding, held < 56 ? 56 - held : 120 - held);
        sha256_update(sha, length, 8);
        for (int i = 0; i < 8; i++)
                sprintf(hex + 8 * i, "%08x", sha->state[i]);
}
