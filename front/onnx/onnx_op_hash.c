/* SPDX-License-Identifier: MIT */
/* These com.microsoft operators compute with numbers of words and of letters: MurmurHash3,
 * NGramRepeatBlock, WordConvEmbedding. */
#include <math.h>

#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_ngrams.h"
#include "front/compose/compose_window.h"

/* Returns x op number, of u32. */
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

/* Returns x ^ (x >> bits). */
static struct value *folded(struct onnx_import *im, struct value *x, uint32_t bits)
{
        struct value *low = with(im, OP_shr, x, bits);
        return low ? compose_binary(im->c, OP_xor, x, low) : NULL;
}

/* Returns the hash h after a word k, by Appleby's MurmurHash3_x86_32 (public domain). */
static struct value *hashed(struct onnx_import *im, struct value *h, struct value *k)
{
        k = with(im, OP_mul, rotated(im, with(im, OP_mul, k, 0xcc9e2d51), 15), 0x1b873593);
        h = h && k ? rotated(im, compose_binary(im->c, OP_xor, h, k), 13) : NULL;
        return with(im, OP_add, with(im, OP_mul, h, 5), 0xe6546b64);
}

/* Finds the words of the elements of x, of 4 or 8 bytes, the lower one first, and returns how many
 * there are. */
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

/* Computes the hash of the bytes of each element. */
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

/* Sets scores to -inf of words that would end a sequence of ngram_size words which is there
 * already. */
bool onnx_import_ngram_repeat_block(struct onnx_import *im, struct onnx_node *n)
{
        struct value *ids = n->inputs[0], *scores = n->inputs[1];
        int64_t size;

        if (!onnx_want_element(im, n, 0, E_I64) || !onnx_want_rank(im, n, 0, 2, 2) ||
            !onnx_want_element(im, n, 1, E_F32) || !onnx_want_rank(im, n, 1, 2, 2) ||
            !onnx_int_required(im, n, "ngram_size", &size) ||
            !onnx_int_range(im, n, "ngram_size", 0, 1, NUMBER_MAX, &size))
                return false;
        if (!dim_equal(ids->type->dims[0], scores->type->dims[0]))
                return onnx_invalid(im, n, "words %s and scores %s", compose_text(im->c, ids->type),
                                    compose_text(im->c, scores->type));
        return onnx_output(n, 0, compose_forbid_repeats(im->c, ids, scores, size, -INFINITY));
}

/* ---- WordConvEmbedding ---- */

/* Words [count, letters] of numbers of letters, 0 for none, become the largest values that filters
 * [filters, 1, window, size] find in the letters' rows [letters, size], behind tanh. A word is as
 * long as it has letters, at least the window; one that begins with none becomes zeros. */
bool onnx_import_word_conv_embedding(struct onnx_import *im, struct onnx_node *n)
{
        struct value *words = n->inputs[0], *filters = n->inputs[1], *rows = n->inputs[3];
        const int64_t last = 1;
        int64_t size, window, count;

        if (!onnx_want_element(im, n, 0, E_I32) || !onnx_want_rank(im, n, 0, 2, 2) ||
            !onnx_want_rank(im, n, 1, 4, 4) || !onnx_want_rank(im, n, 2, 1, 1) ||
            !onnx_want_rank(im, n, 3, 2, 2) || !onnx_same_element(im, n, n->inputs + 1, 3) ||
            !onnx_want_element(im, n, 1, E_F32) ||
            !onnx_int(im, n, "char_embedding_size", -1, &size) ||
            !onnx_int(im, n, "conv_window_size", -1, &window) ||
            !onnx_int(im, n, "embedding_size", -1, &count))
                return false;
        /* -1 is what the operands say. */
        size = size == -1 ? value_extent(rows, 1) : size;
        window = window == -1 ? value_extent(filters, 2) : window;
        count = count == -1 ? value_extent(filters, 0) : count;
        const int64_t letters = value_extent(words, 1);
        if (value_extent(filters, 1) != 1 || value_extent(filters, 3) != size ||
            value_extent(rows, 1) != size || value_extent(filters, 2) != window ||
            value_extent(filters, 0) != count || window < 1 || letters < window)
                return onnx_invalid(im, n, "filters %s for words %s and letters %s",
                                    compose_text(im->c, filters->type),
                                    compose_text(im->c, words->type),
                                    compose_text(im->c, rows->type));
        const dim_t number = words->type->dims[0];
        const int64_t places = letters - window + 1;
        struct value *x = build_gather(&im->b, rows, words, 0);
        x = compose_reshape(im->c, x, 4,
                            (const dim_t[]){ number, dim_of(1), dim_of(letters), dim_of(size) });
        struct compose_window w = {
                .rank = 2, .kernel = { window, size }, .strides = { 1, 1 }, .dilations = { 1, 1 }
        };
        struct value *y = x ? compose_conv(im->c, x, filters, n->inputs[2], &w, 1) : NULL;
        y = compose_reshape(im->c, y, 3, (const dim_t[]){ number, dim_of(count), dim_of(places) });
        struct value *is_letter = compose_cast(im->c, compose_with(im->c, OP_gt, words, 0), E_I32);
        struct value *length = compose_reduce(im->c, REDUCE_sum, is_letter, &last, 1, E_COMPUTE);
        length = compose_with(im->c, OP_max, length, (double)window);
        if (!y || !length)
                return false;
        const struct type *t = type_with_element(im->m, y->type, E_I32);
        struct value *end = plus(im->c, build_iota(&im->b, t, 2), (double)window);
        struct value *inside = compose_binary(
                im->c, OP_le, end, compose_spread(im->c, length, t, (const int64_t[]){ 0 }));
        struct value *never = constant_number(im->m, type_tensor(im->m, E_F32, 0, NULL), -INFINITY);
        struct value *most =
                compose_reduce(im->c, REDUCE_max, compose_select(im->c, inside, y, never),
                               (const int64_t[]){ 2 }, 1, E_COMPUTE);
        struct value *first = compose_part(im->c, words, 1, 0, 1);
        struct value *empty = compose_with(im->c, OP_eq, first, 0);
        struct value *zero = constant_number(im->m, type_tensor(im->m, E_F32, 0, NULL), 0);
        return onnx_output(n, 0,
                           compose_select(im->c, empty, zero, compose_unary(im->c, OP_tanh, most)));
}
