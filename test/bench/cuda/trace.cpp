/* SPDX-License-Identifier: MIT */
/* When each kernel of a program begins and ends, by CUPTI, which the driver loads:
 *
 *      CUDA_INJECTION64_PATH=trace.so TRACE=OUT program        # lines "start end kernel", nanoseconds
 */
#include <cstdio>
#include <cstdlib>
#include <cupti.h>

static FILE *out;
static void CUPTIAPI wanted(uint8_t **buffer, size_t *size, size_t *records)
{
        *size = 8 << 20;
        *buffer = (uint8_t *)aligned_alloc(8, *size);
        *records = 0;
}
static void CUPTIAPI done(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
        CUpti_Activity *record = NULL;
        while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
                if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || record->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
                        const CUpti_ActivityKernel10 *k = (const CUpti_ActivityKernel10 *)record;
                        fprintf(out, "%llu %llu %s\n", (unsigned long long)k->start, (unsigned long long)k->end, k->name);
                }
        free(buffer);
}
static void finish(void)
{
        cuptiActivityFlushAll(1);
        fclose(out);
}
extern "C" int InitializeInjection(void)
{
        out = fopen(getenv("TRACE") ? getenv("TRACE") : "trace.txt", "w");
        if (!out)
                return 0;
        cuptiActivityRegisterCallbacks(wanted, done);
        cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
        atexit(finish);
        return 1;
}
