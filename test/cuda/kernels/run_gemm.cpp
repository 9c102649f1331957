/* SPDX-License-Identifier: MIT */
/* Runs gemm.cu (-DHOPPER: hopper.cu) on the CPU in six executions: the same bits in all, whole numbers exact, floats near double. */
#include <stdio.h>

#include <algorithm>
#include <vector>

#ifdef HOPPER
#include "hopper.cu"
#else
#include "gemm.cu"
#endif

static unsigned state = 1;
static float any(bool whole)
{
        state = state * 1664525u + 1013904223u;
        int n = (int)(state >> 16) % 2001 - 1000;
        return whole ? (float)(n % 4) : (float)n / 1000;
}

static int check(int M, int N, int K, bool whole)
{
        std::vector<uint16_t> x((size_t)M * K), w((size_t)N * K), y((size_t)M * N), first;
        std::vector<float> bias((size_t)N);
        for (auto &v : x) v = half_of_float(any(whole));
        for (auto &v : w) v = half_of_float(any(whole));
        for (auto &v : bias) v = any(whole);
#ifdef HOPPER
        std::vector<unsigned char> packed((size_t)(N + 127) / 128 * 256 * (size_t)K);
        pack(packed.data(), w.data(), N, K);
        const unsigned char *weights = packed.data();
#else
        const uint16_t *weights = w.data();
#endif
        int bad = 0;
        for (int e = 0; e < 6; e++) {
                executor_execution(e);
                std::fill(y.begin(), y.end(), 0x7e01);
                if (gemm_prepare() || gemm_run(x.data(), weights, bias.data(), y.data(), M, N, K, NULL) || cudaDeviceSynchronize()) return 1;
                if (e == 0) first = y;
                bad += first != y;
        }
        /* and as tensor cores add, which is not as near */
        executor.cut_off = !whole;
        if (gemm_run(x.data(), weights, bias.data(), y.data(), M, N, K, NULL) || cudaDeviceSynchronize()) return 1;
        executor.cut_off = false;
        double worst = 0;
        for (int m = 0; m < M; m++)
                for (int n = 0; n < N; n++) {
                        double sum = bias[n], size = fabs(sum);
                        for (int k = 0; k < K; k++) {
                                double p = (double)float_of_half(x[(size_t)m * K + k]) * float_of_half(w[(size_t)n * K + k]);
                                sum += p;
                                size += fabs(p);
                        }
                        double got = float_of_half(y[(size_t)m * N + n]), want = sum > 0 ? sum : 0;
                        double error = fabs(got - want), bound = whole ? 0 : size * 4e-6 + fabs(want) * 0.0006 + 1e-7;
                        if (whole) want = float_of_half(half_of_float((float)want)), error = fabs(got - want);
                        if (!(error <= bound)) bad++;
                        worst = error > worst ? error : worst;
                }
        printf("%4d x %4d x %4d %s: %d bad, largest error %.2g\n", M, N, K, whole ? "whole " : "floats", bad, worst);
        return bad;
}

int main(void)
{
        int bad = check(128, 128, 128, true) + check(200, 136, 192, true) + check(130, 264, 576, false) + check(49, 512, 64, false);
        printf("launches %lld blocks %lld mma %lld ldmatrix %lld (bank conflicts %lld) barriers %lld switches %lld\n",
               (long long)executor.counts.launches, (long long)executor.counts.blocks, (long long)executor.counts.mma, (long long)executor.counts.ldmatrix,
               (long long)executor.counts.conflicts, (long long)executor.counts.barriers, (long long)executor.counts.switches);
        return bad != 0;
}
