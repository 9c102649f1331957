/* Xeon since 2023: tiles (AMX) for sums of products of bf16 and of 8-bit integers. A tile is 16
 * rows of 64 bytes; eight of them hold, at their best, 2 by 2 tiles of sums, two of positions and
 * two of weights: sixteen cycles a product, 1024 operations on bf16 each cycle. */
#include "ir/spelling.h"

#include "codegen/targets/x86.h"

extern const struct target target_x86_64_v4, target_sapphirerapids;

#define PRODUCTS(x, w, instruction) ROW(SPELL_TILE_MULTIPLY, x, instruction "($0, $1, $2)", .to = E_##w)

static const struct spelling spellings[] = {
        /* gcc's intrinsics do not say that they read memory: what was stored before is there */
        ROW(SPELL_TILES, F32, "shape_tiles($0)",
            "void shape_tiles(const unsigned char *shape)\n"
            "{\n"
            "        __asm__ volatile (\"\" : : : \"memory\");\n"
            "        _tile_loadconfig(shape);\n"
            "}"),
        ROW(SPELL_TILES_END, F32, "end_tiles()",
            "void end_tiles(void)\n"
            "{\n"
            "        _tile_release();\n"
            "        __asm__ volatile (\"\" : : : \"memory\");\n"
            "}"),
        ROW(SPELL_TILE_ZERO, F32, "_tile_zero($0)"),
        ROW(SPELL_TILE_LOAD, F32, "_tile_loadd($0, $1, $2)"),
        ROW(SPELL_TILE_STORE, F32, "_tile_stored($0, $1, $2)"),
        PRODUCTS(BF16, BF16, "_tile_dpbf16ps"),
        PRODUCTS(I8, I8, "_tile_dpbssd"), PRODUCTS(I8, U8, "_tile_dpbsud"), PRODUCTS(U8, I8, "_tile_dpbusd"), PRODUCTS(U8, U8, "_tile_dpbuud"),
        /* the instruction takes subnormal numbers for zero: those the long way */
        CONVERT(CAST, F32, BF16, "near_bf16_from_f32x16($0)",
                "__m256i near_bf16_from_f32x16(__m512 a)\n"
                "{\n"
                "        const __m256i near = (__m256i)_mm512_cvtneps_pbh(a);\n"
                "        const __mmask16 small = _mm512_fpclass_ps_mask(a, 0x20);\n"
                "        if (!small)\n"
                "                return near;\n"
                "        const __m512i bits = _mm512_castps_si512(a), high = _mm512_srli_epi32(bits, 16);\n"
                "        const __m512i half = _mm512_add_epi32(_mm512_and_si512(high, _mm512_set1_epi32(1)), _mm512_set1_epi32(32767));\n"
                "        const __m512i up = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);\n"
                "        return _mm256_mask_mov_epi16(near, small, _mm512_cvtepi32_epi16(up));\n"
                "}"),
        { 0 }
};

const struct target target_sapphirerapids = {
        .name = "sapphirerapids",
        .doc = "Xeon since 2023: what x86-64-v4 has, tiles for bf16 and 8-bit integers (AMX), larger caches",
        .base = &target_x86_64_v4,
        .tile_registers = 8,
        .l1_bytes = 49152,
        .l2_bytes = 2097152,
        .attribute =
                "amx-tile,amx-bf16,amx-int8,avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,f16c",
        .spellings = spellings,
};
