/* SPDX-License-Identifier: MIT */
/* Functions of the library that a GPU has instructions for: the same bits. What runs the text on a processor has the library's own. */
#include "codegen/cuda_writer.h"

#include <string.h>

/* %s: the name. A NaN keeps the bits of its number that there is room for, which the instructions drop. */
static const struct { const char *name, *text; } functions[] = {
        { "f32_to_f16",
          "static __device__ inline uint32_t %s(float x)\n"
          "{\n"
          "        uint16_t bits;\n"
          "        asm(\"cvt.rn.f16.f32 %%0, %%1;\" : \"=h\"(bits) : \"f\"(x));\n"
          "        const uint32_t own = bits_u32(x);\n"
          "        const float size = bits_f32(own & 2147483647u);\n"
          "        return size == size ? bits : 32256u | (own >> 13 & 1023u) | (own >> 16 & 32768u);\n"
          "}\n" },
        { "f16_to_f32",
          "static __device__ inline float %s(uint32_t bits)\n"
          "{\n"
          "        float x;\n"
          "        asm(\"cvt.f32.f16 %%0, %%1;\" : \"=f\"(x) : \"h\"((uint16_t)bits));\n"
          "        const bool is_nan = bits_u32(x) << 1 > 4278190080u;\n"
          "        return is_nan ? bits_f32((bits & 32768u) << 16 | 2143289344u | (bits & 1023u) << 13) : x;\n"
          "}\n" },
};

const char *cuda_function(struct c_writer *w, const struct loop_function *f, const char *name)
{
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
                if (!strcmp(functions[i].name, f->name))
                        return arena_printf(w->arena, "#ifndef CUDA_CPU\n%s#else\n", arena_printf(w->arena, functions[i].text, name));
        return NULL;
}
