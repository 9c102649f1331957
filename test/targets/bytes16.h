/* SPDX-License-Identifier: MIT */
/* What the compiler of a made-up core has: vectors of 16 bytes, in GNU C. */
#pragma GCC system_header
#include <stdint.h>

#define VECTOR(name, type, bytes) typedef type name __attribute__((vector_size(bytes)))
VECTOR(f32x4, float, 16);
VECTOR(i32x4, int32_t, 16);
VECTOR(u32x4, uint32_t, 16);
VECTOR(i16x8, int16_t, 16);
VECTOR(u16x8, uint16_t, 16);
VECTOR(h16x8, _Float16, 16);
VECTOR(i8x16, int8_t, 16);
VECTOR(u8x16, uint8_t, 16);
/* parts of vectors, for conversions */
VECTOR(i16x4, int16_t, 8);
VECTOR(u16x4, uint16_t, 8);
VECTOR(i8x8, int8_t, 8);
VECTOR(u8x8, uint8_t, 8);
VECTOR(i8x4, int8_t, 4);
VECTOR(u8x4, uint8_t, 4);
