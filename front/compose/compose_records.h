/* SPDX-License-Identifier: MIT */
/* Weights may be kept as records of bytes, in which the scale of a block lies beside its numbers.
 * Bytes of a number are in order from the lowest. */
#ifndef FRONT_COMPOSE_COMPOSE_RECORDS_H
#define FRONT_COMPOSE_COMPOSE_RECORDS_H

#include "front/compose/compose.h"

/* ---- products ---- */

/* The result is x times the transposed weights. A record has the scale (f32), then, where `zeros`,
 * a zero point (i8; else it is 8), and 32 numbers of 4 bits in 16 bytes: number i and number i + 16
 * share a byte, the first lowest. What the last record of an output holds beyond `inner` is not
 * read. */
struct compose_matmul_records {
        struct value *x;                /* It is f32 [.., inner]. */
        struct value *records;          /* They are u8, in one dimension, output by output. */
        int64_t inner, outputs;
        bool zeros;
};
struct value *compose_matmul_records(struct compose *c, const struct compose_matmul_records *in);

/* ---- rows of a table ---- */

/* These are the kinds of records that a table may have (compose_records.def). */
enum compose_record {
#define RECORD(id, name, numbers, bytes, decode) RECORD_##name,
#include "front/compose/compose_records.def"
        RECORDS
};
struct compose_record_info {
        const char *name;
        int id;                         /* It is the number by which ggml and GatherPacked of
                                         * com.microsoft know the kind. */
        int numbers, bytes;             /* A record has so many numbers, in so many bytes. */
};
extern const struct compose_record_info compose_record_info[RECORDS];

/* The result is rows of a table, decoded, [.., width]. */
struct compose_gather_records {
        struct value *data;             /* It is u8 [rows, bytes of a row]. */
        struct value *indices;          /* They are i32 or i64; one that is no row stands for row
                                         * 0. */
        int64_t width;                  /* A row has so many numbers, a multiple of those of a
                                         * record. */
        enum compose_record kind;
        enum element to;                /* The result has this float type. */
};
struct value *compose_gather_records(struct compose *c, const struct compose_gather_records *in);

#endif
