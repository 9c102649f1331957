/* SPDX-License-Identifier: MIT */
/* Records of weights are taken apart into numbers and scales: those of a product become weights in
 * blocks, as MatMulNBits has them; rows of a table are decoded once they have been gathered. */
#include "front/compose/compose_records.h"

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_quantize.h"
#include "ir/tensor/block_weights.h"

const struct compose_record_info compose_record_info[RECORDS] = {
#define RECORD(id, name, numbers, bytes, decode) { #name, id, numbers, bytes },
#include "front/compose/compose_records.def"
};

/* ---- fields of records ---- */

/* These are bytes u8 [rows, records, bytes of a record]; a field begins `at` a byte of a record. */
struct records {
        struct compose *c;
        struct value *bytes;
};

/* Returns v, of any rank from 2 on, as [rows, records, count]. */
static struct value *flat(const struct records *r, struct value *v, int64_t count)
{
        const dim_t dims[3] = { r->bytes->type->dims[0], r->bytes->type->dims[1], dim_of(count) };
        return compose_reshape(r->c, v, 3, dims);
}

static struct value *field(const struct records *r, int64_t at, int64_t count)
{
        return compose_part(r->c, r->bytes, 2, at, count);
}

/* Returns numbers of `bits` bits, [rows, records, numbers]. Of `group` bytes that follow each
 * other, the lowest bits of all come first. */
static struct value *bits_of(const struct records *r, int64_t at, int64_t count, int64_t bits,
                             int64_t group)
{
        const dim_t *lead = r->bytes->type->dims;
        const dim_t dims[4] = { lead[0], lead[1], dim_of(count / group), dim_of(group) };
        struct value *v = compose_reshape(r->c, field(r, at, count), 4, dims);

        return flat(r, build_bits_apart(r->c->b, v, bits, 3), count * 8 / bits);
}

/* Returns v [.., bytes], which are `per` bytes of each number, as u32 [rows, records, numbers]. */
static struct value *joined(const struct records *r, struct value *v, int64_t per)
{
        const int64_t count = v ? value_extent(v, 2) / per : 0;
        const dim_t *lead = r->bytes->type->dims;
        struct value *sum = NULL;

        v = compose_reshape(r->c, v, 4,
                            (const dim_t[]){ lead[0], lead[1], dim_of(count), dim_of(per) });
        v = compose_cast(r->c, v, E_U32);
        for (int64_t i = 0; v && i < per; i++) {
                struct value *byte =
                        compose_with(r->c, OP_shl, compose_pick(r->c, v, 3, i), (double)(8 * i));
                sum = i ? compose_binary(r->c, OP_or, sum, byte) : byte;
        }
        return sum;
}

static struct value *real(const struct records *r, struct value *v)
{
        return compose_cast(r->c, v, E_F32);
}

/* Returns floats of 2 bytes, f16 or bf16, as f32. */
static struct value *half(const struct records *r, int64_t at, enum element e)
{
        struct value *v = compose_cast(r->c, joined(r, field(r, at, 2), 2), E_U16);
        return v ? real(r, compose_as_bits(r->c, v, e)) : NULL;
}

static struct value *single(const struct records *r, int64_t at)
{
        struct value *v = joined(r, field(r, at, 4), 4);
        return v ? compose_as_bits(r->c, v, E_F32) : NULL;
}

static struct value *signed_bytes(const struct records *r, int64_t at, int64_t count)
{
        struct value *v = field(r, at, count);
        return v ? real(r, compose_as_bits(r->c, v, E_I8)) : NULL;
}

/* Returns v [rows, records, numbers] with each number `times` times. */
static struct value *each(const struct records *r, struct value *v, int64_t times)
{
        const dim_t *lead = r->bytes->type->dims;
        const int64_t count = v ? value_extent(v, 2) : 0;
        const dim_t dims[4] = { lead[0], lead[1], dim_of(count), dim_of(times) };

        if (!v)
                return NULL;
        v = compose_spread(r->c, v, type_tensor(r->c->m, value_element(v), 4, dims),
                           (const int64_t[]){ 0, 1, 2 });
        return flat(r, v, count * times);
}

/* Returns low + high * 2^bits, of integers. */
static struct value *with_high(const struct records *r, struct value *low, struct value *high,
                               int64_t bits)
{
        return compose_binary(r->c, OP_or, low, compose_with(r->c, OP_shl, high, (double)bits));
}

/* Returns a constant <entries x numbers x i8>, or without the second dimension where numbers is
 * 1. */
static struct value *table_of(struct compose *c, const signed char *values, int64_t entries,
                              int64_t numbers, const char *name)
{
        const dim_t dims[2] = { dim_of(entries), dim_of(numbers) };
        signed char *data = constant_room(c->m, (size_t)(entries * numbers));

        for (int64_t i = 0; i < entries * numbers; i++)
                data[i] = values[i];
        return constant_dense(c->m, type_tensor(c->m, E_I8, numbers > 1 ? 2 : 1, dims), data, name);
}

/* Returns entries of a table, as f32 [rows, records, numbers]. */
static struct value *looked_up(const struct records *r, struct value *table, struct value *at)
{
        const int64_t count = at ? value_extent(at, 2) : 0;
        const int64_t numbers = value_rank(table) > 1 ? value_extent(table, 1) : 1;

        at = compose_cast(r->c, at, E_I64);
        return at ? real(r, flat(r, build_gather(r->c->b, table, at, 0), count * numbers)) : NULL;
}

/* ---- floats, and numbers in equal steps ---- */

static struct value *decode_f32(const struct records *r) { return single(r, 0); }
static struct value *decode_f16(const struct records *r) { return half(r, 0, E_F16); }
static struct value *decode_bf16(const struct records *r) { return half(r, 0, E_BF16); }

/* Returns (numbers - zero) * the f16 at the record's front. */
static struct value *in_steps(const struct records *r, struct value *numbers, double zero)
{
        numbers = compose_with(r->c, OP_sub, real(r, numbers), zero);
        return mul(r->c, numbers, half(r, 0, E_F16));
}

static struct value *decode_q2(const struct records *r)
{
        return in_steps(r, bits_of(r, 2, 16, 2, 1), 1);
}

static struct value *decode_q4(const struct records *r)
{
        return in_steps(r, bits_of(r, 2, 16, 4, 16), 8);
}

static struct value *decode_q5(const struct records *r)
{
        struct value *low = bits_of(r, 6, 16, 4, 16);
        return in_steps(r, with_high(r, low, bits_of(r, 2, 4, 1, 1), 4), 16);
}

/* Returns numbers times the f16 at the record's front, plus the one behind it. */
static struct value *in_steps_added(const struct records *r, struct value *numbers)
{
        numbers = real(r, numbers);
        numbers = mul(r->c, numbers, half(r, 0, E_F16));
        return add(r->c, numbers, half(r, 2, E_F16));
}

static struct value *decode_q4_added(const struct records *r)
{
        return in_steps_added(r, bits_of(r, 4, 16, 4, 16));
}

static struct value *decode_q5_added(const struct records *r)
{
        struct value *low = bits_of(r, 8, 16, 4, 16);
        return in_steps_added(r, with_high(r, low, bits_of(r, 4, 4, 1, 1), 4));
}

static struct value *decode_q8(const struct records *r)
{
        return in_steps(r, signed_bytes(r, 2, 32), 0);
}

/* Returns numbers in steps: the record begins with a scale of scales, one of minima, and 8 scales
 * and 8 minima of 6 bits. Of the scales and the minima, the first four of each have their upper two
 * bits taken by the last four. */
static struct value *in_steps_of_256(const struct records *r, struct value *numbers)
{
        enum { SCALES = 4 };
        struct compose *c = r->c;
        struct value *first = field(r, SCALES, 8), *last = bits_of(r, SCALES + 8, 4, 4, 4);
        struct value *upper = compose_with(c, OP_shr, first, 6);
        struct value *parts[2], *part[2];

        first = compose_with(c, OP_and, first, 63);
        last = with_high(r, last, upper, 4);
        if (!first || !last)
                return NULL;
        for (int i = 0; i < 2; i++) {
                parts[0] = compose_part(c, first, 2, 4 * i, 4);
                parts[1] = compose_part(c, last, 2, 4 * i, 4);
                part[i] = parts[0] && parts[1] ? compose_concat(c, parts, 2, 2) : NULL;
                part[i] = real(r, part[i]);
                part[i] = mul(c, part[i], half(r, 2 * i, E_F16));
                part[i] = each(r, part[i], 32);
        }
        return sub(c, mul(c, real(r, numbers), part[0]), part[1]);
}

/* Behind these are the numbers. */
static struct value *decode_q4_of_256(const struct records *r)
{
        return in_steps_of_256(r, bits_of(r, 16, 128, 4, 32));
}

/* Behind these are the fifth bits and the lower bits of the numbers. */
static struct value *decode_q5_of_256(const struct records *r)
{
        enum { LOW = 48, HIGH = 16 };
        struct value *low = bits_of(r, LOW, 128, 4, 32);
        return in_steps_of_256(r, with_high(r, low, bits_of(r, HIGH, 32, 1, 32), 4));
}

static struct value *decode_q6_of_256(const struct records *r)
{
        enum { LOW = 0, HIGH = 128, SCALES = 192, SCALE = 208 };
        struct value *low = bits_of(r, LOW, 128, 4, 64);
        struct value *numbers = real(r, with_high(r, low, bits_of(r, HIGH, 64, 2, 32), 4));
        struct value *scales = signed_bytes(r, SCALES, 16);

        scales = mul(r->c, scales, half(r, SCALE, E_F16));
        scales = each(r, scales, 16);
        return mul(r->c, plus(r->c, numbers, -32), scales);
}

/* ---- numbers by levels ---- */

static struct value *levels_at(const struct records *r, struct value *at)
{
        static const signed char levels[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                                1,    13,   25,  38,  53,  69,  89,  113 };
        return looked_up(r, table_of(r->c, levels, 16, 1, "levels"), at);
}

static struct value *decode_levels(const struct records *r)
{
        return in_steps(r, levels_at(r, bits_of(r, 2, 16, 4, 16)), 0);
}

/* The record is a scale, the upper 2 bits of 8 scales, their lower 4 bits, and the numbers. */
static struct value *decode_levels_of_256(const struct records *r)
{
        struct value *low = bits_of(r, 4, 4, 4, 1);
        struct value *scales = real(r, with_high(r, low, bits_of(r, 2, 2, 2, 1), 4));

        scales = plus(r->c, scales, -32);
        scales = mul(r->c, scales, half(r, 0, E_F16));
        scales = each(r, scales, 32);
        return mul(r->c, levels_at(r, bits_of(r, 8, 128, 4, 16)), scales);
}

/* ---- numbers by codebooks ---- */

enum { BOOK_LEVELS = 8 };               /* A codebook has at most so many levels. */
#define CODEBOOK(name, entries, numbers, bits, ...) \
        static const unsigned short codes_##name[entries] = {
#define CODES(...) __VA_ARGS__,
#define CODEBOOK_END };
#include "front/compose/compose_codebooks.def"

enum codebook {
#define CODEBOOK(name, entries, numbers, bits, ...) BOOK_##name,
#include "front/compose/compose_codebooks.def"
        BOOKS
};

static struct value *codebook(struct compose *c, enum codebook which)
{
        static const struct {
                const char *name;
                const unsigned short *codes;
                int entries, numbers, bits;
                signed char levels[BOOK_LEVELS];
        } books[BOOKS] = {
#define CODEBOOK(name, entries, numbers, bits, ...) \
                { #name, codes_##name, entries, numbers, bits, { __VA_ARGS__ } },
#include "front/compose/compose_codebooks.def"
        };
        const int numbers = books[which].numbers, bits = books[which].bits,
                  count = books[which].entries * numbers;
        signed char *values = arena_array(c->arena, (size_t)count, sizeof *values);

        for (int i = 0; i < count; i++) {
                int code = books[which].codes[i / numbers] >> (i % numbers * bits);
                values[i] = books[which].levels[code & ((1 << bits) - 1)];
        }
        return table_of(c, values, books[which].entries, numbers, books[which].name);
}

/* Returns the signs, 1 or -1, of 8 numbers for each of the bytes v: bit i says that number i is
 * negative. Where `even`, the highest bit is not stored, and makes the number of negative ones
 * even. */
static struct value *signs_of(const struct records *r, struct value *v, bool even)
{
        const int entries = even ? 128 : 256;
        signed char values[256 * 8];

        for (int i = 0; i < entries; i++) {
                int negative = 0;
                for (int bit = 0; bit < 8; bit++) {
                        bool set = bit == 7 && even ? negative % 2 : i >> bit & 1;
                        negative += set;
                        values[8 * i + bit] = set ? -1 : 1;
                }
        }
        return looked_up(r, table_of(r->c, values, entries, 8, "signs"), v);
}

/* Returns (0.5 + number) * the f16 at the record's front * share, each `times` times. */
static struct value *half_steps(const struct records *r, struct value *v, double share,
                                int64_t times_each)
{
        v = plus(r->c, real(r, v), 0.5);
        v = mul(r->c, v, half(r, 0, E_F16));
        return each(r, times(r->c, v, share), times_each);
}

static struct value *by_book(const struct records *r, enum codebook book, struct value *at,
                             struct value *signs, struct value *scales)
{
        return mul(r->c, mul(r->c, looked_up(r, codebook(r->c, book), at), signs), scales);
}

/* Returns the signs, four times 7 bits of each number of `words`, u32. */
static struct value *signs_in_words(const struct records *r, struct value *words)
{
        const int64_t count = words ? value_extent(words, 2) : 0;
        struct value *fourth = compose_with(r->c, OP_mul, compose_iota(r->c, E_U32, 4), 7);

        words = each(r, words, 4);
        words = compose_reshape(r->c, words, 4,
                                (const dim_t[]){ r->bytes->type->dims[0], r->bytes->type->dims[1],
                                                 dim_of(count), dim_of(4) });
        words = compose_with(r->c, OP_and, compose_binary(r->c, OP_shr, words, fourth), 127);
        return signs_of(r, flat(r, words, 4 * count), true);
}

/* The record is a scale and 8 times 4 entries of the book and a word, which has signs and, in its
 * upper 4 bits, the scale of these 32 numbers. */
static struct value *decode_book2_xxs(const struct records *r)
{
        const dim_t *lead = r->bytes->type->dims;
        struct value *v =
                compose_reshape(r->c, field(r, 2, 64), 4,
                                (const dim_t[]){ lead[0], lead[1], dim_of(8), dim_of(8) });
        struct value *at = v ? flat(r, compose_part(r->c, v, 3, 0, 4), 32) : NULL;
        struct value *words = v ? flat(r, compose_part(r->c, v, 3, 4, 4), 32) : NULL;

        words = joined(r, words, 4);
        struct value *scales = half_steps(r, compose_with(r->c, OP_shr, words, 28), 0.25, 32);
        return by_book(r, BOOK_IQ2_XXS, at, signs_in_words(r, words), scales);
}

/* The record is a scale, 64 entries of the book, and 8 words as above. */
static struct value *decode_book3_xxs(const struct records *r)
{
        struct value *words = joined(r, field(r, 66, 32), 4);
        struct value *scales = half_steps(r, compose_with(r->c, OP_shr, words, 28), 0.5, 32);
        struct value *signs = signs_in_words(r, words);

        return by_book(r, BOOK_IQ3_XXS, field(r, 2, 64), signs, scales);
}

/* The record is a scale, 32 times an entry of the book in 9 bits and signs in 7, and 16 scales of 4
 * bits. */
static struct value *decode_book2_xs(const struct records *r)
{
        struct value *words = joined(r, field(r, 2, 64), 2);
        struct value *at = compose_with(r->c, OP_and, words, 511);
        struct value *signs = signs_of(r, compose_with(r->c, OP_shr, words, 9), true);

        return by_book(r, BOOK_IQ2_XS, at, signs,
                       half_steps(r, bits_of(r, 66, 8, 4, 1), 0.25, 16));
}

/* The record is a scale, 32 entries of the book, 32 bytes of signs, the upper 2 bits of the
 * entries, and 16 scales of 4 bits. */
static struct value *decode_book2_s(const struct records *r)
{
        struct value *low = compose_cast(r->c, field(r, 2, 32), E_U32);
        struct value *high = compose_cast(r->c, bits_of(r, 66, 8, 2, 1), E_U32);
        struct value *at = with_high(r, low, high, 8);
        struct value *signs = signs_of(r, field(r, 34, 32), false);

        return by_book(r, BOOK_IQ2_S, at, signs,
                       half_steps(r, bits_of(r, 74, 8, 4, 1), 0.25, 16));
}

/* ---- products ---- */

struct value *compose_matmul_records(struct compose *c, const struct compose_matmul_records *in)
{
        enum { NUMBERS = 32, SCALE = 4 };
        const int64_t blocks = divide_up(in->inner, NUMBERS), front = SCALE + in->zeros,
                      bytes = front + NUMBERS / 2;
        const struct type *t =
                compose_type_static(c, E_U8, 3, (const int64_t[]){ in->outputs, blocks, bytes });
        struct compose_matmul_blocks p = {
                .x = in->x, .inner = in->inner, .outputs = in->outputs, .block = NUMBERS, .bits = 4
        };

        if (!t)
                return NULL;
        if (value_rank(in->records) != 1 || value_extent(in->records, 0) != type_elements(t)) {
                compose_invalid(c, "the weights are %s, want %lld bytes",
                                compose_text(c, in->records->type), (long long)type_elements(t));
                return NULL;
        }
        struct records r = { c, compose_reshape(c, in->records, 3, t->dims) };
        if (!r.bytes)
                return NULL;
        const dim_t matrix[2] = { t->dims[0], t->dims[1] };
        p.scales = compose_reshape(c, single(&r, 0), 2, matrix);
        if (in->zeros)
                p.zeros = compose_reshape(c, signed_bytes(&r, SCALE, 1), 2, matrix);
        /* Numbers that are neighbours share a byte there. */
        struct value *pairs = compose_reshape(
                c, bits_of(&r, front, NUMBERS / 2, 4, NUMBERS / 2), 4,
                (const dim_t[]){ t->dims[0], t->dims[1], dim_of(NUMBERS / 2), dim_of(2) });
        if (!p.scales || (in->zeros && !p.zeros) || !pairs)
                return NULL;
        struct value *low = compose_pick(c, pairs, 3, 0);
        p.numbers = with_high(&r, low, compose_pick(c, pairs, 3, 1), 4);
        return p.numbers ? compose_matmul_blocks(c, &p) : NULL;
}

/* ---- rows of a table ---- */

struct value *compose_gather_records(struct compose *c, const struct compose_gather_records *in)
{
        static struct value *(*const decoders[RECORDS])(const struct records *) = {
#define RECORD(id, name, numbers, bytes, decode) decode,
#include "front/compose/compose_records.def"
        };
        const struct compose_record_info *info = &compose_record_info[in->kind];
        const int64_t records = in->width / info->numbers, rows = value_extent(in->data, 0);
        const int rank = value_rank(in->indices);
        const dim_t count = type_product(c->m, in->indices->type, 0, rank);
        dim_t dims[RANK_MAX + 1];

        if (value_extent(in->data, 1) != records * info->bytes) {
                compose_invalid(c, "the table is %s, want rows of %lld bytes",
                                compose_text(c, in->data->type),
                                (long long)(records * info->bytes));
                return NULL;
        }
        for (int d = 0; d < rank; d++)
                dims[d] = in->indices->type->dims[d];
        dims[rank] = dim_of(in->width);
        const struct type *to = compose_type(c, in->to, rank + 1, dims);
        if (!to || !compose_type(c, E_F32, rank + 1, dims))
                return NULL;
        struct value *at = compose_cast(c, in->indices, E_I64);
        struct value *outside = compose_with(c, OP_lt, at, 0);
        outside = compose_binary(c, OP_or, outside, compose_with(c, OP_ge, at, (double)rows));
        at = outside ? compose_select(c, outside, build_like(c->b, at, 0), at) : NULL;
        struct value *(*fold)(struct builder *, struct op *, void *) = c->b->fold;
        c->b->fold = NULL; /* Decoded constants would be larger than records, so they are not
                            * folded. */
        struct value *y = at ? build_gather(c->b, in->data, at, 0) : NULL;
        const dim_t apart[3] = { count, dim_of(records), dim_of(info->bytes) };
        const struct records r = { c, compose_reshape(c, y, 3, apart) };
        y = r.bytes ? decoders[in->kind](&r) : NULL;
        c->b->fold = fold;
        return compose_reshape(c, compose_cast(c, y, in->to), rank + 1, dims);
}
