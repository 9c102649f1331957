/* SPDX-License-Identifier: MIT */
/* Prints the functions of MMA of single warps in CUDA C, of copies into shared memory, and of sums
 * in fragments; cuda_product_calls.c prints their calls. Each instruction stands in a small
 * function with its PTX; code that runs the text on a processor (CUDA_CPU) defines that function in
 * C++.
 *
 *     float acc[2][4][4] = { { { 0.0f } } };                     a lane's part of 32 x 32 sums
 *     copy_async(xs + .., there ? x + .. : x, there);
 *     multiply_f16_2x4x2(acc, xs + .., 40, ws + ..);
 *     unload_4(sums + .., 40, acc[0]); */
#include "codegen/cuda_writer.h"

#include <string.h>

static const char copies[] =
        "/* Copies 16 bytes into shared memory, or zeros where `there` is false. They have arrived "
        "when their group has been\n"
        " * waited for. */\n"
        "static __device__ __forceinline__ void copy_async(void *shared, const void *global, bool "
        "there)\n"
        "{\n"
        "#if __CUDA_ARCH__ < 800\n"
        "        *(uint4 *)shared = there ? *(const uint4 *)global : make_uint4(0, 0, 0, 0);\n"
        "#else\n"
        "        asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16, %2;\" "
        "::\"r\"((unsigned)__cvta_generic_to_shared(shared)),\n"
        "                     \"l\"(global), \"r\"(there ? 16 : 0) : \"memory\");\n"
        "#endif\n"
        "}\n";
static const char groups[] = /* These are for groups of copies, also where a group is empty. */
        "#if __CUDA_ARCH__ < 800\n"
        "#define copy_commit()\n"
        "#define copy_wait(left)\n"
        "#else\n"
        "#define copy_commit() asm volatile(\"cp.async.commit_group;\" ::: \"memory\")\n"
        "#define copy_wait(left) asm volatile(\"cp.async.wait_group %0;\" ::\"n\"(left) : "
        "\"memory\")\n"
        "#endif\n"
        "#endif\n";

static const char load[] =
        "\n"
        "#ifndef CUDA_CPU\n"
        "/* Loads four matrices of 8 rows of 16 bytes. Lane l gives the address of row l % 8 of "
        "matrix l / 8, and gets 4 bytes of\n"
        " * row l / 4 of each matrix. */\n"
        "static __device__ __forceinline__ void load_matrices(uint32_t r[4], const void *row)\n"
        "{\n"
        "        asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, "
        "[%4];\"\n"
        "                     : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3])\n"
        "                     : \"r\"((unsigned)__cvta_generic_to_shared(row)) : \"memory\");\n"
        "}\n"
        "#endif\n";

static const char load_transposed[] =
        "\n"
        "#ifndef CUDA_CPU\n"
        "/* Does the same for elements of 16 bits with rows and columns exchanged: lane l gets "
        "element l / 4 of rows l % 4 * 2\n"
        " * and l % 4 * 2 + 1. */\n"
        "static __device__ __forceinline__ void load_matrices_transposed(uint32_t r[4], const void "
        "*row)\n"
        "{\n"
        "        asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, "
        "[%4];\"\n"
        "                     : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3])\n"
        "                     : \"r\"((unsigned)__cvta_generic_to_shared(row)) : \"memory\");\n"
        "}\n"
        "#endif\n";

/* These functions pack two sums into a word of x, the first in the lower bits. */
static const struct pair { enum element e; const char *text;
} pairs[] = {
        { E_F16, "\n"
                 "#ifndef CUDA_CPU\n"
                 "/* Packs two numbers in f16, the first in the lower bits. */\n"
                 "static __device__ __forceinline__ uint32_t pair_f16(float low, float high)\n"
                 "{\n"
                 "        uint32_t pair;\n"
                 "#if __CUDA_ARCH__ < 800\n"
                 "        asm(\"{ .reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; "
                 "mov.b32 %0, {l, h}; }\" : \"=r\"(pair) : \"f\"(low), \"f\"(high));\n"
                 "#else\n"
                 "        asm(\"cvt.rn.f16x2.f32 %0, %1, %2;\" : \"=r\"(pair) : \"f\"(high), "
                 "\"f\"(low));\n"
                 "#endif\n"
                 "        return pair;\n"
                 "}\n"
                 "#endif\n" },
        { E_BF16, "\n"
                  "#ifndef CUDA_CPU\n"
                  "/* Packs two numbers in bf16, the first in the lower bits. */\n"
                  "static __device__ __forceinline__ uint32_t pair_bf16(float low, float high)\n"
                  "{\n"
                  "        uint32_t pair;\n"
                  "        asm(\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : \"=r\"(pair) : \"f\"(high), "
                  "\"f\"(low));\n"
                  "        return pair;\n"
                  "}\n"
                  "#endif\n" },
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

/* These are the instructions, by the name of the multiply in the target's table; later rows need a
 * later compute capability. */
#define MMA(shape, types, d) \
        "        asm(\"mma.sync.aligned." shape ".row.col." types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n" \
        "            : \"+" d "\"(d[0]), \"+" d "\"(d[1]), \"+" d "\"(d[2]), \"+" d "\"(d[3])\n" \
        "            : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]));\n"
#define LEAF(name, about, sum, body)                                                               \
        "\n#ifndef CUDA_CPU\n/* d += a b, for " about ". */\n"                                     \
        "static __device__ __forceinline__ void " name "(" sum                                     \
        " d[4], const uint32_t a[4], const uint32_t b[2])\n{\n" body "}\n#endif\n"

static const struct leaf { const char *name, *text;
} leaves[] = {
        { "mma_f16",
          LEAF("mma_f16", "16 x 16 by 16 x 8 numbers in f16, with sums in f32", "float",
               "#if __CUDA_ARCH__ < 800\n"
               "        for (int k = 0; k < 2; k++)\n"
               "                asm(\"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, "
               "%2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};\"\n"
               "                    : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3])\n"
               "                    : \"r\"(a[2 * k]), \"r\"(a[2 * k + 1]), \"r\"(b[k]));\n"
               "#else\n" MMA("m16n8k16", "f32.f16.f16.f32", "f") "#endif\n") },
        { "mma_bf16", LEAF("mma_bf16", "16 x 16 by 16 x 8 numbers in bf16, with sums in f32",
                           "float", MMA("m16n8k16", "f32.bf16.bf16.f32", "f")) },
        { "mma_s8", LEAF("mma_s8", "16 x 32 by 32 x 8 bytes with signs, and sums in i32", "int32_t",
                         MMA("m16n8k32", "s32.s8.s8.s32", "r")) },
        { "mma_u8",
          LEAF("mma_u8", "16 x 32 by 32 x 8 bytes, of which those of b have signs, and sums in i32",
               "int32_t", MMA("m16n8k32", "s32.u8.s8.s32", "r")) },
        { "mma_tf32", LEAF("mma_tf32", "16 x 8 by 8 x 8 numbers of 11 bits, with sums in f32",
                           "float", MMA("m16n8k8", "f32.tf32.tf32.f32", "f")) },
        { "mma_f32", /* It calls mma_tf32, whose row must therefore stand before it. */
          "\n/* high_part is the first 11 bits of a float, rounded to nearest (but never to "
          "infinity), so that low parts have both\n"
          " * signs and what is left out adds up to nothing. low_part is the next 11 bits. */\n"
          "static __device__ __forceinline__ uint32_t high_part(uint32_t x)\n"
          "{\n"
          "        const uint32_t nearest = x + 0x1000u;\n"
          "        return ((nearest & 0x7f800000u) == 0x7f800000u ? x : nearest) & 0xffffe000u;\n"
          "}\n"
          "static __device__ __forceinline__ uint32_t low_part(uint32_t x)\n"
          "{\n"
          "        return __float_as_uint(__uint_as_float(x) - __uint_as_float(high_part(x))) & "
          "0xffffe000u;\n"
          "}\n"
          "/* d += a b, for 16 x 8 by 8 x 8 floats as sums of two parts each; the product of both "
          "low parts is left out. Matrix\n"
          " * units cut off what a sum has no bits for, always towards zero, so they add up few "
          "products only, and the addition\n"
          " * to d rounds to nearest. */\n"
          "static __device__ __forceinline__ void mma_f32(float d[4], const uint32_t a[4], const "
          "uint32_t b[2])\n"
          "{\n"
          "        const uint32_t a_high[4] = { high_part(a[0]), high_part(a[1]), high_part(a[2]), "
          "high_part(a[3]) },\n"
          "                       a_low[4] = { low_part(a[0]), low_part(a[1]), low_part(a[2]), "
          "low_part(a[3]) },\n"
          "                       b_high[2] = { high_part(b[0]), high_part(b[1]) }, b_low[2] = { "
          "low_part(b[0]), low_part(b[1]) };\n"
          "        float few[4] = { 0, 0, 0, 0 };\n"
          "        mma_tf32(few, a_low, b_high);\n"
          "        mma_tf32(few, a_high, b_low);\n"
          "        mma_tf32(few, a_high, b_high);\n"
          "        for (int i = 0; i < 4; i++)\n"
          "                d[i] += few[i];\n"
          "}\n" },
};
enum { LEAVES = sizeof leaves / sizeof *leaves };

static bool is_used(const struct cuda_writer *cuda, const char *name)
{
        for (int k = 0; k < cuda->product_count; k++)
                if (cuda->products[k].multiply && !strcmp(cuda->products[k].multiply->name, name))
                        return true;
        return false;
}

static const struct leaf *leaf_of(const struct multiply *m)
{
        for (int i = 0; m && i < LEAVES; i++)
                if (!strcmp(leaves[i].name, m->name))
                        return &leaves[i];
        return NULL;
}

bool cuda_has_leaf(const struct multiply *m) { return leaf_of(m) != NULL; }

/* ---- functions of a shape ---- */

/* Returns a name that says how many fragments of positions, fragments of outputs and MMA of
 * channels there are, or what the element of the sums is. */
const char *cuda_product_name(struct c_writer *w, const struct cuda_product *p)
{
        if (p->multiply && multiply_by_warp_group(p->multiply))
                return p->of_sums ? arena_printf(w->arena, "multiply_%s_warp_group_of_sums_%dx%d",
                                                 p->multiply->name + strlen("wgmma_"), p->vectors,
                                                 p->depth)
                                  : arena_printf(w->arena, "multiply_%s_warp_group_%d",
                                                 p->multiply->name + strlen("wgmma_"), p->vectors);
        return p->multiply
                       ? arena_printf(w->arena, "multiply_%s_%dx%dx%d%s%s",
                                      p->multiply->name +
                                              (cuda_product_in_rows(p) ? 0 : strlen("mma_")),
                                      p->rows, p->vectors, p->depth,
                                      p->transposed ? "_transposed" : "",
                                      p->of_sums ? "_of_sums" : "")
                       : arena_printf(w->arena, "%s_%s%s_%d", p->scales ? "scale" : "unload",
                                      p->row ? "row_" : "", element_info[p->sum].text, p->vectors);
}

const char *cuda_product_use(struct c_writer *w, struct cuda_product p)
{
        struct cuda_writer *cuda = w->cuda;
        for (int i = 0; i < cuda->product_count; i++)
                if (cuda->products[i].multiply == p.multiply && cuda->products[i].sum == p.sum &&
                    cuda->products[i].rows == p.rows && cuda->products[i].vectors == p.vectors &&
                    cuda->products[i].depth == p.depth &&
                    cuda->products[i].transposed == p.transposed &&
                    cuda->products[i].scales == p.scales && cuda->products[i].row == p.row &&
                    cuda->products[i].of_sums == p.of_sums)
                        return cuda_product_name(w, &p);
        ARENA_GROW(w->arena, cuda->products, cuda->product_count);
        cuda->products[cuda->product_count++] = p;
        return cuda_product_name(w, &p);
}

static bool loads_transposed(const struct cuda_product *p)
{
        return p->transposed && element_info[p->multiply->w.memory].bytes == 2;
}

/* Loads words of w for vectors j and, if it exists, j + 1 of outputs. */
static void put_words(struct text *out, const struct cuda_product *p)
{
        const int group = p->multiply->channels;
        if (p->transposed && !loads_transposed(p)) {
                text_add(out,
                         "#pragma unroll\n"
                         "                        for (int i = 0; i < 4; i++) {\n"
                         "                                const int vector = j + i / 2 < %d ? j + "
                         "i / 2 : j, channel = %s;\n"
                         "                                memcpy(b + i, w + ((k * 2 + channel / 4) "
                         "* %d + vector) * %d + channel %% 4 * 8 + lane / 4, 4);\n"
                         "                        }\n",
                         p->vectors, p->of_sums ? "lane % 4 * 2 + i % 2" : "lane % 4 + i % 2 * 4",
                         p->vectors, 8 * group);
                return;
        }
        if (p->vectors % 2)
                text_add(out,
                         "                        const int vector = j + (j < %d ? lane / 16 : "
                         "0);\n",
                         p->vectors - 1);
        else
                text_add(out, "                        const int vector = j + lane / 16;\n");
        text_add(out,
                 "                        load_matrices%s(b, w + ((k * 2 + lane / 8 %% 2) * %d + "
                 "vector) * %d + lane %% 8 * %d);\n",
                 p->transposed ? "_transposed" : "", p->vectors, 8 * group, group);
}

/* Loads x of MMA number k for all rows into `a`: from memory, or from sums, whose fragments have
 * the layout of x. */
static void put_multiplied(struct text *out, const struct cuda_product *p)
{
        text_add(out, "                uint32_t a[%d][4];\n#pragma unroll\n", p->rows);
        if (!p->of_sums)
                text_add(out,
                         "                for (int i = 0; i < %d; i++)\n                        "
                         "load_matrices(a[i], rows + i * 16 * step + k * %d);\n",
                         p->rows, multiply_row(p->multiply));
        else if (element_info[p->multiply->x.memory].bytes == 2)
                text_add(out,
                         "                for (int i = 0; i < %d; i++)\n"
                         "#pragma unroll\n"
                         "                        for (int r = 0; r < 4; r++) {\n"
                         "                                const float *const two = x[i][k * 2 + r "
                         "/ 2] + r %% 2 * 2;\n"
                         "                                a[i][r] = pair_%s(two[0], two[1]);\n"
                         "                        }\n",
                         p->rows, element_info[p->multiply->x.memory].text);
        else
                text_add(out,
                         "                for (int i = 0; i < %d; i++)\n"
                         "#pragma unroll\n"
                         "                        for (int r = 0; r < 4; r++)\n"
                         "                                a[i][r] = __float_as_uint(x[i][k][r %% 2 "
                         "* 2 + r / 2]);\n",
                         p->rows);
}

static void put_product(struct c_writer *w, struct text *out, const struct cuda_product *p)
{
        const struct multiply *m = p->multiply;
        const char *of = element_info[m->x.memory].c_type, *by = element_info[m->w.memory].c_type;
        /* A loop is unrolled as far as registers have room for its operands. */
        const int row = multiply_row(m), group = m->channels,
                  most = m->instructions > 1 && !p->of_sums ? 2 : p->depth;
        text_add(out,
                 "\n/* Adds products to a warp's sums of %d positions and %d outputs: x is %s, w "
                 "is [%d][%d][%d][%d]. */\n",
                 p->rows * 16, p->vectors * 8,
                 p->of_sums ? "other sums"
                            : arena_printf(w->arena, "rows of %d channels, `step` elements apart",
                                           p->depth * row),
                 p->depth * 2, p->vectors, p->transposed ? group : 8, p->transposed ? 8 : group);
        text_add(out, "static __device__ __forceinline__ void %s(%s sums[%d][%d][4], ",
                 cuda_product_name(w, p), element_info[m->sum].c_type, p->rows, p->vectors);
        if (p->of_sums)
                text_add(out, "const float x[%d][%d][4], const %s *w)\n", p->rows,
                         p->depth * row / m->outputs, by);
        else
                text_add(out, "const %s *x, int step, const %s *w)\n", of, by);
        text_add(out, "{\n        const int lane = (int)threadIdx.x;\n");
        if (!p->of_sums)
                text_add(out,
                         "        const %s *const rows = x + lane %% 16 * step + lane / 16 * %d;\n",
                         of, group);
        text_add(out, "#pragma unroll %d\n        for (int k = 0; k < %d; k++) {\n",
                 p->depth < most ? p->depth : most, p->depth);
        put_multiplied(out, p);
        text_add(out,
                 "#pragma unroll\n"
                 "                for (int j = 0; j < %d; j += 2) {\n"
                 "                        uint32_t b[4];\n",
                 p->vectors);
        put_words(out, p);
        text_add(out,
                 "#pragma unroll\n"
                 "                        for (int i = 0; i < %d; i++) {\n"
                 "                                %s(sums[i][j], a[i], b);\n",
                 p->rows, m->name);
        if (p->vectors % 2)
                text_add(out, "                                if (j < %d)\n        ",
                         p->vectors - 1);
        text_add(out,
                 "                                %s(sums[i][j + 1], a[i], b + 2);\n"
                 "                        }\n"
                 "                }\n"
                 "        }\n"
                 "}\n",
                 m->name);
}

/* These functions multiply words of 16 bytes, for each element. */
static const char sixteen[] =
        "\n/* These 16 bytes are loaded by one instruction. */\n"
        "struct __align__(16) sixteen { uint32_t word[4]; };\n"
        "/* Loads every 32nd of a warp's words, which are the lane's own. */\n"
        "static __device__ __forceinline__ void load_own(struct sixteen *own, int words, const "
        "void *from)\n"
        "{\n"
        "#pragma unroll\n"
        "        for (int k = 0; k < words; k++)\n"
        "                own[k] = ((const struct sixteen *)from)[k * 32 + threadIdx.x];\n"
        "}\n";

static const struct { enum element e; const char *text;
} by_words[] = {
        { E_F16, "\n#ifndef CUDA_CPU\n"
                 "static __device__ __forceinline__ float float_of_half(uint16_t bits)\n"
                 "{\n"
                 "        float x;\n"
                 "        asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(x) : \"h\"(bits));\n"
                 "        return x;\n"
                 "}\n"
                 "#endif\n"
                 "static __device__ __forceinline__ float by_words_f16(struct sixteen x, struct "
                 "sixteen w)\n"
                 "{\n"
                 "        float sum = 0.0f;\n"
                 "        for (int i = 0; i < 4; i++) {\n"
                 "                sum += float_of_half((uint16_t)x.word[i]) * "
                 "float_of_half((uint16_t)w.word[i]);\n"
                 "                sum += float_of_half((uint16_t)(x.word[i] >> 16)) * "
                 "float_of_half((uint16_t)(w.word[i] >> 16));\n"
                 "        }\n"
                 "        return sum;\n"
                 "}\n" },
        { E_BF16, "static __device__ __forceinline__ float by_words_bf16(struct sixteen x, struct "
                  "sixteen w)\n"
                  "{\n"
                  "        float sum = 0.0f;\n"
                  "        for (int i = 0; i < 4; i++) {\n"
                  "                sum += __uint_as_float(x.word[i] << 16) * "
                  "__uint_as_float(w.word[i] << 16);\n"
                  "                sum += __uint_as_float(x.word[i] & 0xffff0000u) * "
                  "__uint_as_float(w.word[i] & 0xffff0000u);\n"
                  "        }\n"
                  "        return sum;\n"
                  "}\n" },
        { E_F32, "static __device__ __forceinline__ float by_words_f32(struct sixteen x, struct "
                 "sixteen w)\n"
                 "{\n"
                 "        float sum = 0.0f;\n"
                 "        for (int i = 0; i < 4; i++)\n"
                 "                sum += __uint_as_float(x.word[i]) * __uint_as_float(w.word[i]);\n"
                 "        return sum;\n"
                 "}\n" },
};
enum { BY_WORDS = sizeof by_words / sizeof *by_words };

static void put_row_product(struct c_writer *w, struct text *out, const struct cuda_product *p)
{
        const struct multiply *m = p->multiply;
        const char *of = element_info[m->x.memory].c_type;
        text_add(out,
                 "\n/* Adds products to sums of %d rows and 8 outputs: x is rows of %d channels, "
                 "`step` elements apart, and w is [%d][8][%d]. A\n"
                 " * lane has the words of its output at every fourth place. */\n"
                 "static __device__ __forceinline__ void %s(%s sums[%d][1], const %s *x, int step, "
                 "const struct sixteen w[%d])\n"
                 "{\n"
                 "        x += threadIdx.x / 8 * %d;\n"
                 "#pragma unroll\n"
                 "        for (int k = 0; k < %d; k++)\n"
                 "#pragma unroll\n"
                 "                for (int i = 0; i < %d; i++)\n"
                 "                        sums[i][0] += by_words_%s(*(const struct sixteen *)(x + "
                 "i * step + k * %d), w[k]);\n"
                 "}\n",
                 p->rows, p->depth * multiply_row(m), p->depth * m->depth, m->channels,
                 cuda_product_name(w, p), element_info[m->sum].c_type, p->rows, of, p->depth,
                 m->channels, p->depth, p->rows, element_info[m->x.memory].text, multiply_row(m));
}

static void put_row_unload(struct c_writer *w, struct text *out, const struct cuda_product *p)
{
        const char *sum = element_info[p->sum].c_type;
        text_add(out,
                 "\n/* Stores a row of a warp's sums, of which lanes have parts that are added up "
                 "first. */\n"
                 "static __device__ __forceinline__ void %s(%s *y, const %s sums[%d])\n"
                 "{\n"
                 "        __syncwarp();\n"
                 "        %s all = sums[0] + __shfl_xor_sync(~0u, sums[0], 16);\n"
                 "        all += __shfl_xor_sync(~0u, all, 8);\n"
                 "        if (threadIdx.x < 8)\n"
                 "                y[threadIdx.x] = all;\n"
                 "        __syncwarp();\n"
                 "}\n",
                 cuda_product_name(w, p), sum, sum, p->vectors, sum);
}

static void put_unload(struct c_writer *w, struct text *out, const struct cuda_product *p)
{
        const char *sum = element_info[p->sum].c_type, *pair = p->sum == E_F32 ? "float2" : "int2";
        text_add(
                out,
                "\n/* Stores 16 positions of a warp's sums where its lanes can read them. */\n"
                "static __device__ __forceinline__ void %s(%s *y, int step, const %s sums[%d][4])\n"
                "{\n"
                "        %s *const to = y + threadIdx.x / 4 * step + threadIdx.x %% 4 * 2;\n"
                "        __syncwarp();\n"
                "#pragma unroll\n"
                "        for (int j = 0; j < %d; j++) {\n"
                "                *(%s *)(to + j * 8) = make_%s(sums[j][0], sums[j][1]);\n"
                "                *(%s *)(to + step * 8 + j * 8) = make_%s(sums[j][2], "
                "sums[j][3]);\n"
                "        }\n"
                "        __syncwarp();\n"
                "}\n",
                cuda_product_name(w, p), sum, sum, p->vectors, sum, p->vectors, pair, pair, pair,
                pair);
}

static void put_scale(struct c_writer *w, struct text *out, const struct cuda_product *p)
{
        const char *sum = element_info[p->sum].c_type;
        text_add(out,
                 "\n/* Multiplies 16 positions of a warp's sums by a factor for each position. */\n"
                 "static __device__ __forceinline__ void %s(%s sums[%d][4], const %s *factors)\n"
                 "{\n"
                 "        const %s low = factors[threadIdx.x / 4], high = factors[threadIdx.x / 4 "
                 "+ 8];\n"
                 "#pragma unroll\n"
                 "        for (int j = 0; j < %d; j++)\n"
                 "                for (int i = 0; i < 4; i++)\n"
                 "                        sums[j][i] *= i < 2 ? low : high;\n"
                 "}\n",
                 cuda_product_name(w, p), sum, p->vectors, sum, sum, p->vectors);
}

static void put_function_of(struct c_writer *w, struct text *out, const struct cuda_product *p)
{
        if (p->multiply && multiply_by_warp_group(p->multiply))
                return;                 /* It is printed by cuda_warp_group.c. */
        if (p->multiply)
                (cuda_product_in_rows(p) ? put_row_product : put_product)(w, out, p);
        else
                (p->scales ? put_scale : p->row ? put_row_unload : put_unload)(w, out, p);
}

void cuda_products_top(struct c_writer *w, struct text *out)
{
        const struct cuda_writer *cuda = w->cuda;
        bool loads = false, transposed = false;
        if (cuda->copies || cuda->groups)
                text_add(out, "\n#ifndef CUDA_CPU\n%s%s", cuda->copies ? copies : "", groups);
        for (int i = 0; i < LEAVES; i++) {
                const char *name = leaves[i].name;
                if (!is_used(cuda, name) &&
                    !(!strcmp(name, "mma_tf32") && is_used(cuda, "mma_f32")))
                        continue;
                text_add(out, "%s%s", loads ? "" : load, leaves[i].text);
                loads = true;
        }
        for (int k = 0; k < cuda->product_count; k++)
                transposed |= cuda->products[k].multiply && loads_transposed(&cuda->products[k]);
        text_add(out, "%s", transposed ? load_transposed : "");
        for (int i = 0; i < PAIRS; i++)
                for (int k = 0; k < cuda->product_count; k++)
                        if (cuda->products[k].of_sums &&
                            cuda->products[k].multiply->x.memory == pairs[i].e) {
                                text_add(out, "%s", pairs[i].text);
                                break;
                        }
        bool words = false;
        for (int i = 0; i < BY_WORDS; i++)
                for (int k = 0; k < cuda->product_count; k++)
                        if (cuda->products[k].multiply &&
                            cuda_product_in_rows(&cuda->products[k]) &&
                            cuda->products[k].multiply->x.memory == by_words[i].e) {
                                text_add(out, "%s%s", words ? "" : sixteen, by_words[i].text);
                                words = true;
                                break;
                        }
        cuda_warp_group_top(w, out);
        for (int k = 0; k < cuda->product_count; k++)
                put_function_of(w, out, &cuda->products[k]);
}
