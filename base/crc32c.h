/* SPDX-License-Identifier: MIT */
/* This is CRC-32C, the cyclic redundancy check of the polynomial 0x1edc6f41 (RFC 3720, B.4). */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *data, size_t bytes);

#endif
