/* SPDX-License-Identifier: MIT */
/* This is SHA-256 (FIPS 180-4). */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sha256 {
        uint32_t state[8];
        uint64_t length;
        unsigned char block[64];
        bool plain;                     /* It says that the processor's instructions are not used;
                                         * the digest is the same. */
};
void sha256_init(struct sha256 *sha);
void sha256_update(struct sha256 *sha, const void *data, size_t bytes);
void sha256_hex(struct sha256 *sha, char hex[65]);       /* It finishes the digest. */

#endif
