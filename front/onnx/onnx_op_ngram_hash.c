/* SPDX-License-Identifier: MIT */
/* These com.microsoft operators hash the last words of each position: NGramHashMapping, and
 * VarlenNGramHashMapping, whose sequences lie one after the other. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_packed.h"

/* A hash of the last n words of each position, for n from 2 to `size`, is
 *
 *     (word(t) * multiplier(0) ^ ... ^ word(t - n + 1) * multiplier(n - 1)) mod vocabulary + offset
 *
 * for each head of that n, which has a vocabulary size and an offset of its own. */
struct ngram_hash {
        int64_t size, heads;
        struct value *ids;              /* The words are [batch, length] or, packed, [rows]. */
        struct value *multipliers, *vocabularies;
        struct value *past;             /* The words before are [batch, size - 1]; NULL stands for
                                         * `missing`. */
        struct value *offsets;          /* NULL stands for 0. */
        struct value *ends;             /* History begins anew behind this word, a scalar; where it
                                         * is NULL it does behind none. */
        struct value *segments;         /* History begins anew where these numbers, of the words'
                                         * shape, change; where it is NULL it does not. */
        struct value *missing;          /* This word, a scalar, stands for those which are not
                                         * seen. */
        int64_t pad;                    /* This word stands for what is not captured. */
};

/* A hash sees so far back: words[j] are those j places before, and begins[j] is true where a
 * segment begins behind words[j] (NULL: nowhere). All are matrices of one shape. */
struct ngram_words {
        struct value **words, **begins;
};

/* Checks that operand i is of the words' type and has `count` elements, or at least as many. */
static bool hash_numbers(struct onnx_import *im, struct onnx_node *n, int i, int64_t count,
                         bool at_least)
{
        const struct value *v = onnx_input(n, i);
        if (!v)
                return true;
        const int64_t there = type_elements(v->type);
        return onnx_want_element(im, n, i, value_element(n->inputs[0])) &&
               onnx_want_rank(im, n, i, 1, 1) &&
               (there == count || (at_least && there > count) ||
                onnx_invalid(im, n, "operand %d has %lld numbers, want %lld", i, (long long)there,
                             (long long)count));
}

/* Reads the node's attributes and operands: words, multipliers, vocabularies, (limits of packed
 * sequences,) earlier words, offsets, the last word of a text, segments. */
static bool hash_read(struct onnx_import *im, struct onnx_node *n, bool packed,
                      struct ngram_hash *h)
{
        const int past = 3 + packed, offsets = 4 + packed, last = 5 + packed, segments = 6 + packed;
        const int rank = packed ? 1 : 2;
        int64_t reset;

        *h = (struct ngram_hash){ .ids = n->inputs[0],
                                  .multipliers = n->inputs[1],
                                  .vocabularies = n->inputs[2],
                                  .past = onnx_input(n, past),
                                  .offsets = onnx_input(n, offsets),
                                  .segments = onnx_input(n, segments) };
        const enum element e = value_element(h->ids);
        if (!onnx_int_required(im, n, "max_ngram_size", &h->size) ||
            !onnx_int_range(im, n, "max_ngram_size", 2, 2, im->c->limits->unrolled_steps,
                            &h->size) ||
            !onnx_int_required(im, n, "n_head_per_ngram", &h->heads) ||
            !onnx_int_range(im, n, "n_head_per_ngram", 1, 1, NUMBER_MAX, &h->heads) ||
            !onnx_int_required(im, n, "pad_id", &h->pad) ||
            !onnx_int_range(im, n, "reset_on_eos", 0, 0, NUMBER_MAX, &reset) ||
            !onnx_want_rank(im, n, 0, rank, rank) || !hash_numbers(im, n, 1, h->size, true) ||
            !hash_numbers(im, n, 2, (h->size - 1) * h->heads, false) ||
            !hash_numbers(im, n, offsets, (h->size - 1) * h->heads, false))
                return false;
        if (e != E_I32 && e != E_I64)
                return onnx_invalid(im, n, "words of %s, want i32 or i64", element_info[e].text);
        if (h->segments && (value_element(h->segments) != E_I32 ||
                            !type_same_dims(h->segments->type, h->ids->type)))
                return onnx_invalid(im, n, "numbers of segments are %s for words %s",
                                    compose_text(im->c, h->segments->type),
                                    compose_text(im->c, h->ids->type));
        h->missing = onnx_input(n, last) ? onnx_scalar(im, n, last)
                                         : compose_integer(im->c, e, h->pad);
        h->ends = reset && onnx_input(n, last) ? h->missing : NULL;
        return h->missing != NULL;
}

/* Checks that operand i is [sequences, size - 1], of element e, or absent. */
static bool past_fits(struct onnx_import *im, struct onnx_node *n, int i, enum element e,
                      int64_t sequences, int64_t size)
{
        const struct value *v = onnx_input(n, i);
        return !v || (value_element(v) == e && value_rank(v) == 2 &&
                      value_extent(v, 0) == sequences && value_extent(v, 1) == size - 1) ||
               onnx_invalid(im, n, "what was before is %s, want <%lld x %lld x %s>",
                            compose_text(im->c, v->type), (long long)sequences,
                            (long long)(size - 1), element_info[e].text);
}

/* Returns rows [batch, length], and `extent` copies of the scalar in front of each. */
static struct value *led_by(struct onnx_import *im, struct value *scalar, struct value *rows,
                            int64_t extent)
{
        dim_t dims[2] = { rows->type->dims[0], dim_of(extent) };
        const struct type *t = compose_type(im->c, value_element(rows), 2, dims);
        struct value *parts[2] = { t ? compose_spread(im->c, scalar, t, NULL) : NULL, rows };
        return parts[0] ? compose_concat(im->c, parts, 2, 1) : NULL;
}

/* Returns whether a segment begins at a position, with size - 1 times false in front. */
static struct value *segment_begins(struct onnx_import *im, const struct ngram_hash *h)
{
        const int64_t length = value_extent(h->ids, 1);
        struct value *no = compose_integer(im->c, E_BOOL, 0);
        dim_t dims[2] = { h->ids->type->dims[0], dim_of(1) };

        if (length < 2) {
                struct value *never = constant_number(
                        im->m, type_with_element(im->m, h->ids->type, E_BOOL), 0);
                return led_by(im, no, never, h->size - 1);
        }
        struct value *left = compose_part(im->c, h->segments, 1, 0, length - 1);
        struct value *right = compose_part(im->c, h->segments, 1, 1, length - 1);
        struct value *parts[2] = {
                constant_number(im->m, compose_type(im->c, E_BOOL, 2, dims), 0),
                compose_binary(im->c, OP_ne, left, right)
        };
        return parts[1] ? led_by(im, no, compose_concat(im->c, parts, 2, 1), h->size - 1) : NULL;
}

/* Returns x op y, with y [numbers] along a last dimension that x [batch, length] gets. */
static struct value *of_heads(struct onnx_import *im, enum opcode code, struct value *x,
                              struct value *y)
{
        dim_t dims[3] = { x->type->dims[0], x->type->dims[1],
                          value_rank(x) == 3 ? x->type->dims[2] : dim_of(1) };
        x = compose_reshape(im->c, x, 3, dims);
        return compose_binary(im->c, code, x, y);
}

static struct value *any_of(struct onnx_import *im, struct value *x, struct value *y)
{
        return x && y ? compose_binary(im->c, OP_or, x, y) : x ? x : y;
}

static struct ngram_words words_new(struct onnx_import *im, const struct ngram_hash *h)
{
        const size_t count = (size_t)h->size;
        return (struct ngram_words){ arena_array(im->arena, count, sizeof(struct value *)),
                                     arena_array(im->arena, count, sizeof(struct value *)) };
}

/* Returns the hashes [.., (size - 1) * heads] of words [..], or NULL after an error. */
static struct value *hashes_of(struct onnx_import *im, const struct ngram_hash *h,
                               const struct ngram_words *from)
{
        struct value *mixed = NULL, *cut = NULL;
        struct value **hashes = arena_array(im->arena, (size_t)h->size - 1, sizeof *hashes);

        for (int64_t j = 0; j < h->size; j++) {
                struct value *words = from->words[j];
                if (!words)
                        return NULL;
                if (j && h->ends)
                        cut = any_of(im, cut, compose_binary(im->c, OP_eq, words, h->ends));
                cut = any_of(im, cut, from->begins[j]);
                struct value *seen = cut ? compose_select(im->c, cut, h->missing, words) : words;
                struct value *term = mul(im->c, seen, compose_pick(im->c, h->multipliers, 0, j));
                mixed = mixed ? compose_binary(im->c, OP_xor, mixed, term) : term;
                if (!mixed)
                        return NULL;
                if (!j)
                        continue;
                struct value *sizes =
                        compose_part(im->c, h->vocabularies, 0, (j - 1) * h->heads, h->heads);
                hashes[j - 1] = of_heads(im, OP_mod, mixed, sizes);
        }
        struct value *y = compose_concat(im->c, hashes, (int)h->size - 1, 2);
        return y && h->offsets ? of_heads(im, OP_add, y, h->offsets) : y;
}

bool onnx_import_ngram_hash_mapping(struct onnx_import *im, struct onnx_node *n)
{
        struct ngram_hash h;
        struct value *begins = NULL;

        if (!hash_read(im, n, false, &h) ||
            !past_fits(im, n, 3, value_element(h.ids), value_extent(h.ids, 0), h.size))
                return false;
        const int64_t before = h.size - 1, length = value_extent(h.ids, 1);
        const struct ngram_words from = words_new(im, &h);
        struct value *both[2] = { h.past, h.ids };
        struct value *all = h.past ? compose_concat(im->c, both, 2, 1)
                                   : led_by(im, h.missing, h.ids, before);
        if (!all || (h.segments && !(begins = segment_begins(im, &h))))
                return false;
        for (int64_t j = 0; j < h.size; j++) {
                from.words[j] = compose_part(im->c, all, 1, before - j, length);
                if (j && begins)
                        from.begins[j] = compose_part(im->c, begins, 1, before - j + 1, length);
        }
        return onnx_output(n, 0, hashes_of(im, &h, &from)) &&
               (!onnx_wants(n, 1) ||
                onnx_output(n, 1, compose_part(im->c, all, 1, length, before)));
}

/* ---- VarlenNGramHashMapping ---- */

/* Returns what was before each sequence, [sequences, size - 1, 1], which is v, or copies of
 * `other`, a scalar or a number for each sequence. */
static struct value *packed_past(struct onnx_import *im, const struct compose_packed *p,
                                 const struct ngram_hash *h, struct value *v, struct value *other)
{
        const dim_t dims[3] = { dim_of(p->sequences), dim_of(h->size - 1), dim_of(1) };
        const int64_t first = 0;
        const struct type *t = compose_type(im->c, value_element(other), 3, dims);
        return v ? compose_reshape(im->c, v, 3, dims)
                 : t ? compose_spread(im->c, other, t, &first) : NULL;
}

/* Returns what was before each sequence once its first 1, 2, .. capacity words have been appended,
 * and the pad for states that are not captured. */
static struct value *packed_states(struct onnx_import *im, const struct compose_packed *p,
                                   const struct ngram_hash *h, struct value *ids,
                                   struct value *past, struct value *counts, int64_t capacity)
{
        struct value **states = arena_array(im->arena, (size_t)capacity, sizeof *states);
        const dim_t dims[3] = { dim_of(p->sequences), dim_of(1), dim_of(h->size - 1) };
        struct value *most = compose_binary(im->c, OP_min, p->lengths, counts);
        struct value *unused = compose_integer(im->c, value_element(ids), h->pad);
        for (int64_t i = 0; most && i < capacity; i++) {
                struct value *count = compose_with(im->c, OP_min, p->lengths, (double)(i + 1));
                struct value *state = compose_packed_append(im->c, p, ids, past, count);
                state = compose_reshape(im->c, state, 3, dims);
                struct value *taken = compose_with(im->c, OP_gt, most, (double)i);
                taken = compose_reshape(
                        im->c, taken, 3,
                        (const dim_t[]){ dim_of(p->sequences), dim_of(1), dim_of(1) });
                if (!(states[i] = compose_select(im->c, taken, state, unused)))
                        return NULL;
        }
        return most ? compose_concat(im->c, states, (int)capacity, 1) : NULL;
}

/* Sets begins[j] for segments [rows, 1] and those of earlier rows. */
static void packed_begins(struct onnx_import *im, const struct compose_packed *p,
                          const struct ngram_hash *h, struct value *segments, struct value *past,
                          struct value **begins)
{
        struct value *right = segments;
        for (int64_t j = 1; right && j < h->size; j++) {
                struct value *left = compose_packed_before(im->c, p, segments, past, j);
                begins[j] = compose_binary(im->c, OP_ne, left, right);
                right = left;
        }
}

/* Returns the last size - 1 numbers of each sequence and of what was before it. */
static struct value *packed_present(struct onnx_import *im, const struct compose_packed *p,
                                    const struct ngram_hash *h, struct value *x,
                                    struct value *past)
{
        const dim_t dims[2] = { dim_of(p->sequences), dim_of(h->size - 1) };
        return compose_reshape(im->c, compose_packed_append(im->c, p, x, past, p->lengths), 2,
                               dims);
}

bool onnx_import_packed_ngram_hash(struct onnx_import *im, struct onnx_node *n)
{
        struct ngram_hash h;
        struct compose_packed p;
        struct value *counts;
        int64_t capacity;

        if (!hash_read(im, n, true, &h) ||
            !onnx_packed_read(im, n, 3, value_extent(h.ids, 0), &p) ||
            !past_fits(im, n, 4, value_element(h.ids), p.sequences, h.size) ||
            !past_fits(im, n, 8, E_I32, p.sequences, h.size) ||
            !onnx_captures_read(im, n, 9, p.sequences, &capacity, &counts))
                return false;
        const dim_t dims[2] = { dim_of(p.rows), dim_of(1) };
        const struct ngram_words from = words_new(im, &h);
        struct value *ids = compose_reshape(im->c, h.ids, 2, dims);
        struct value *past = packed_past(im, &p, &h, h.past, h.missing);
        struct value *segments = NULL, *older = NULL;
        if (!ids || !past)
                return false;
        for (int64_t j = 0; j < h.size; j++)
                from.words[j] = compose_packed_before(im->c, &p, ids, past, j);
        if (h.segments) {
                /* Earlier rows are of the segment that a sequence begins with. */
                struct value *first = build_gather(&im->b, h.segments, p.begins, 0);
                older = packed_past(im, &p, &h, onnx_input(n, 8), first);
                segments = compose_reshape(im->c, h.segments, 2, dims);
                if (!older || !segments)
                        return false;
                packed_begins(im, &p, &h, segments, older, from.begins);
        }
        struct value *y = hashes_of(im, &h, &from);
        if (!y)
                return false;
        y = compose_reshape(im->c, y, 2, (const dim_t[]){ dims[0], y->type->dims[2] });
        if (onnx_wants(n, 2) && !segments)
                return onnx_unsupported(im, n, "segments at the end, where none are given");
        return onnx_output(n, 0, y) &&
               (!onnx_wants(n, 1) || onnx_output(n, 1, packed_present(im, &p, &h, ids, past))) &&
               (!onnx_wants(n, 2) ||
                onnx_output(n, 2, packed_present(im, &p, &h, segments, older))) &&
               (!onnx_wants(n, 3) ||
                (capacity ? onnx_output(
                                    n, 3, packed_states(im, &p, &h, ids, past, counts, capacity))
                          : onnx_unsupported(im, n, "states to capture, with a capacity of 0")));
}
