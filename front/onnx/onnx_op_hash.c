/* SPDX-License-Identifier: MIT */
/* com.microsoft operators on numbers of words: MurmurHash3, NGramRepeatBlock. */
#include <math.h>

#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

/* x op number, of u32 */
static struct value *with(struct onnx_import *im, enum opcode code, struct value *x,
                          uint32_t number)
{
        struct value *y = compose_integer(im->c, E_U32, number);
        return x && y ? compose_binary(im->c, code, x, compose_spread(im->c, y, x->type, NULL))
                      : NULL;
}

static struct value *rotated(struct onnx_import *im, struct value *x, uint32_t bits)
{
        struct value *high = with(im, OP_shl, x, bits);
        struct value *low = with(im, OP_shr, x, 32 - bits);
        return high && low ? compose_binary(im->c, OP_or, high, low) : NULL;
}

/* x ^ (x >> bits) */
static struct value *folded(struct onnx_import *im, struct value *x, uint32_t bits)
{
        struct value *low = with(im, OP_shr, x, bits);
        return low ? compose_binary(im->c, OP_xor, x, low) : NULL;
}

/* The hash h goes on with a word k: MurmurHash3_x86_32 by Appleby (public domain). */
static struct value *hashed(struct onnx_import *im, struct value *h, struct value *k)
{
        k = with(im, OP_mul, rotated(im, with(im, OP_mul, k, 0xcc9e2d51), 15), 0x1b873593);
        h = h && k ? rotated(im, compose_binary(im->c, OP_xor, h, k), 13) : NULL;
        return with(im, OP_add, with(im, OP_mul, h, 5), 0xe6546b64);
}

/* The words of the elements of x, of 4 or 8 bytes, the lower one first; how many. */
static int words_of(struct onnx_import *im, struct value *x, struct value *words[2])
{
        const enum element e = value_element(x);

        if (element_info[e].bytes == 4) {
                words[0] = e == E_U32 ? x : compose_as_bits(im->c, x, E_U32);
                return 1;
        }
        x = e == E_U64 ? x : compose_as_bits(im->c, x, E_U64);
        words[0] = compose_cast(im->c, x, E_U32);
        struct value *half = compose_integer(im->c, E_U64, 32);
        x = x && half ? compose_binary(im->c, OP_shr, x, compose_spread(im->c, half, x->type, NULL))
                      : NULL;
        words[1] = compose_cast(im->c, x, E_U32);
        return 2;
}

/* The hash of the bytes of each element */
bool onnx_import_murmur_hash(struct onnx_import *im, struct onnx_node *n)
{
        const enum element e = value_element(n->inputs[0]);
        struct value *words[2], *h;
        int64_t positive, seed;

        if (!onnx_int_range(im, n, "positive", 1, 0, 1, &positive) ||
            !onnx_int_range(im, n, "seed", 0, INT32_MIN, UINT32_MAX, &seed))
                return false;
        if (e != E_F32 && e != E_F64 && e != E_I32 && e != E_U32 && e != E_I64 && e != E_U64)
                return onnx_unsupported(im, n, "an input of %s", element_info[e].text);
        const int count = words_of(im, n->inputs[0], words);
        h = constant_number(im->m, type_with_element(im->m, n->inputs[0]->type, E_U32),
                            (double)(uint32_t)seed);
        for (int i = 0; i < count && h; i++)
                h = hashed(im, h, words[i]);
        h = with(im, OP_xor, h, (uint32_t)(4 * count));
        h = with(im, OP_mul, folded(im, h, 16), 0x85ebca6b);
        h = with(im, OP_mul, folded(im, h, 13), 0xc2b2ae35);
        h = folded(im, h, 16);
        return onnx_output(n, 0, positive || !h ? h : compose_as_bits(im->c, h, E_I32));
}

/* Scores of words that would end a sequence of ngram_size words which is there already: -inf */
bool onnx_import_ngram_repeat_block(struct onnx_import *im, struct onnx_node *n)
{
        struct value *ids = n->inputs[0], *scores = n->inputs[1], *same = NULL;
        int64_t size;

        if (!onnx_want_element(im, n, 0, E_I64) || !onnx_want_rank(im, n, 0, 2, 2) ||
            !onnx_want_element(im, n, 1, E_F32) || !onnx_want_rank(im, n, 1, 2, 2) ||
            !onnx_int_required(im, n, "ngram_size", &size) ||
            !onnx_int_range(im, n, "ngram_size", 0, 1, NUMBER_MAX, &size))
                return false;
        if (value_extent(ids, 0) != value_extent(scores, 0))
                return onnx_invalid(im, n, "words %s and scores %s",
                                    compose_text(im->c, ids->type),
                                    compose_text(im->c, scores->type));
        const int64_t length = value_extent(ids, 1), places = length - size + 1;
        if (places < 1)
                return onnx_output(n, 0, scores);
        if (size > im->c->limits->unrolled_steps)
                return onnx_unsupported(im, n, "ngram_size %lld", (long long)size);
        for (int64_t i = 0; i + 1 < size; i++) { /* word i of each place, beside the last ones */
                struct value *there = compose_part(im->c, ids, 1, i, places);
                struct value *last = compose_part(im->c, ids, 1, places + i, 1);
                struct value *both[2] = { there, last };
                if (!there || !last || !compose_broadcast(im->c, both, 2))
                        return false;
                struct value *equal = compose_binary(im->c, OP_eq, both[0], both[1]);
                same = same ? compose_binary(im->c, OP_and, same, equal) : equal;
        }
        struct value *words = compose_part(im->c, ids, 1, size - 1, places);
        if (!words || (size > 1 && !same))
                return false;
        const struct type *t = type_with_element(im->m, words->type, E_F32);
        struct value *never = constant_number(im->m, t, -INFINITY);
        struct value *most =
                same ? compose_select(im->c, same, never, constant_number(im->m, t, INFINITY))
                     : never;
        return onnx_output(n, 0,
                           compose_scatter(im->c, scores, words, most, 1, 1 + REDUCE_min));
}
