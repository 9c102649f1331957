/* SPDX-License-Identifier: MIT */
/* Prints functions of the math library for which a device has instructions. They equal the formula
 * to the bit or, if the function is not exact, within its stated error. The result for NaN is
 * corrected to that of the formula. */
#include "codegen/cuda_writer.h"

#include <string.h>

static const struct { const char *name, *text;
} functions[] = {
        { "f32_to_f16",
          "static __device__ inline uint32_t %s(float x)\n"
          "{\n"
          "        uint32_t half;\n"
          "#if __CUDA_ARCH__ < 800\n"
          "        asm(\"{ .reg .b16 h; cvt.rn.f16.f32 h, %%1; cvt.u32.u16 %%0, h; }\" : "
          "\"=r\"(half) : \"f\"(x));\n"
          "#else   /* This is four times as fast as the conversion of one number, but ptxas only "
          "takes it from compute capability 8.0 on. */\n"
          "        asm(\"cvt.rn.f16x2.f32 %%0, %%1, %%2;\" : \"=r\"(half) : \"f\"(0.0f), "
          "\"f\"(x));\n"
          "#endif\n"
          "        const uint32_t bits = __float_as_uint(x);\n"
          "        return x != x ? (bits >> 16 & 32768u) | 32256u | (bits >> 13 & 1023u) : half;\n"
          "}\n" },
        { "f16_to_f32",
          "static __device__ inline float %s(uint32_t bits)\n"
          "{\n"
          "        float x;\n"
          "        asm(\"cvt.f32.f16 %%0, %%1;\" : \"=f\"(x) : \"h\"((uint16_t)bits));\n"
          "        return (bits & 32767u) > 31744u ? __uint_as_float((bits & 32768u) << 16 | (bits "
          "& 32767u) << 13 | 2143289344u) : x;\n"
          "}\n" },
        { "exp_share",
          "static __device__ inline float %s(float x)\n"
          "{\n"
          "        float share;\n"
          "        asm(\"ex2.approx.ftz.f32 %%0, %%1;\" : \"=f\"(share) : \"f\"(x * 1.442695f));\n"
          "        return share;\n"
          "}\n" },
        { "larger",
          "static __device__ inline float %s(float x, float y) { return fmaxf(x, y); }\n" },
};

const char *cuda_library(struct c_writer *w, const struct loop_function *f, const char *name)
{
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
                if (!strcmp(functions[i].name, f->name) && f->result.lanes == 1)
                        return arena_printf(w->arena, "#ifndef CUDA_CPU\n%s",
                                            arena_printf(w->arena, functions[i].text, name));
        return NULL;
}
