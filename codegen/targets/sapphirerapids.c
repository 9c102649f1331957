/* SPDX-License-Identifier: MIT */
/* This is Xeon since 2023, with tiles (AMX) for sums of products of bf16 and of 8-bit integers. A
 * tile is 16 rows of 64 bytes; eight of them hold, at their best, 2 by 2 tiles of sums, two of
 * positions and two of weights: a product takes sixteen cycles, 1024 operations on bf16 each
 * cycle. */
#include "ir/loop/capability.h"

#include "codegen/targets/x86.h"

extern const struct target target_x86_64_v4_fp16, target_sapphirerapids;

#define PRODUCTS(x, w, instruction) ROW(CAN_TILE_MULTIPLY, x, instruction "($0, $1, $2)", .to = E_##w)

static const struct c_spelling spellings[] = {
        /* gcc's intrinsics do not declare that they read memory; the barrier makes earlier stores
         * visible to them. */
        ROW(CAN_TILES, F32, "shape_tiles($0)",
            "void shape_tiles(const unsigned char *shape)\n"
            "{\n"
            "        __asm__ volatile (\"\" : : : \"memory\");\n"
            "        _tile_loadconfig(shape);\n"
            "}"),
        ROW(CAN_TILES_END, F32, "end_tiles()",
            "void end_tiles(void)\n"
            "{\n"
            "        _tile_release();\n"
            "        __asm__ volatile (\"\" : : : \"memory\");\n"
            "}"),
        ROW(CAN_TILE_ZERO, F32, "_tile_zero($0)"),
        ROW(CAN_TILE_LOAD, F32, "_tile_loadd($0, $1, $2)"),
        ROW(CAN_TILE_STORE, F32, "_tile_stored($0, $1, $2)"),
        PRODUCTS(BF16, BF16, "_tile_dpbf16ps"),
        PRODUCTS(I8, I8, "_tile_dpbssd"), PRODUCTS(I8, U8, "_tile_dpbsud"), PRODUCTS(U8, I8, "_tile_dpbusd"), PRODUCTS(U8, U8, "_tile_dpbuud"),
        { .op = CAN_END }
};

/* A word has `channels_` channels, and a row has 16 words; each channel of a word has a sum of its
 * own until all 16 are added. */
#define TILES(called, channels_, x_, w_, sum_, ...) \
        { .name = called, .positions = 16, .outputs = 16, .depth = 16, .channels = channels_, \
          .x = X86_OPERAND(x_, sum_, TILE), .w = X86_OPERAND(w_, sum_, TILE), .sum = E_##sum_, \
          .body = "add_product", .instructions = 1, .registers = 8, __VA_ARGS__ }

static const struct multiply multiplies[] = {
        TILES("amx_bf16", 2, BF16, BF16, F32, .order = ORDER_APART, .flushes = true),
        TILES("amx_int8", 4, I8, I8, I32, .order = ORDER_EXACT),
        TILES("amx_int8", 4, I8, U8, I32, .order = ORDER_EXACT),
        TILES("amx_int8", 4, U8, I8, I32, .order = ORDER_EXACT),
        TILES("amx_int8", 4, U8, U8, I32, .order = ORDER_EXACT),
        { 0 }
};

/* LDTILECFG reads this layout: palette 1, the only one there is. */
static const struct tile_shapes tile_shapes = { .bytes = 64, .first = 1, .row_bytes_at = 16,
                                                .rows_at = 48, .rows = 16, .row_bytes = 64 };

const struct target target_sapphirerapids = {
        .name = "sapphirerapids",
        .doc = "Xeon since 2023: what x86-64-v4-fp16 has, tiles for bf16 and 8-bit integers (AMX), "
               "larger caches",
        .base = &target_x86_64_v4_fp16,
        .engine = &engine_tile,
        .multiplies = multiplies,
        .tile_shapes = &tile_shapes,
        .l1_bytes = 49152,
        .l2_bytes = 2097152,
        .attribute = "amx-tile,amx-bf16,amx-int8,avx512fp16,avx512bf16,avx512vnni,avx512f,avx512bw,"
                     "avx512dq,avx512vl,avx2,fma,bmi,bmi2,f16c",
        .gcc_attribute = "amx-tile,amx-bf16,amx-int8,avx512bf16,avx512vnni,avx512f,avx512bw,"
                         "avx512dq,avx512vl,avx2,fma,bmi,bmi2,f16c",
        C_SPELLINGS(spellings),
};
