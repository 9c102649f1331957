/* SPDX-License-Identifier: MIT */
/* Texts are split where flags say: part number p begins behind as many flags. */
#include "front/compose/compose_texts.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_sort.h"
#include "front/compose/compose_window.h"

#include <string.h>

/* Returns x with an extent of 1 behind its own. */
static struct value *with_last(struct compose *c, struct value *x)
{
        dim_t dims[RANK_MAX];
        if (!x)
                return NULL;
        if (value_rank(x) >= RANK_MAX) {
                compose_unsupported(c, "texts of rank %d", value_rank(x));
                return NULL;
        }
        memcpy(dims, x->type->dims, (size_t)value_rank(x) * sizeof *dims);
        dims[value_rank(x)] = dim_of(1);
        return compose_reshape(c, x, value_rank(x) + 1, dims);
}

/* Returns the places of the first `count` flags of each text, i32 [shape, count], of flags [shape,
 * width]; the width where there are fewer. */
static struct value *places_of(struct compose *c, struct value *flags, int64_t count)
{
        const int last = value_rank(flags) - 1;
        struct value *so_far = compose_cumulate(c, compose_cast(c, flags, E_I32), REDUCE_sum, last,
                                                false, false);
        struct value *pair[2] = { so_far ? with_last(c, so_far) : NULL, NULL };
        pair[1] = compose_iota(c, E_I32, count);
        if (!compose_broadcast(c, pair, 2))
                return NULL;
        struct value *before = compose_binary(c, OP_le, pair[0], pair[1]);
        const int64_t along = last;
        return compose_reduce(c, REDUCE_sum, compose_cast(c, before, E_I32), &along, 1, E_COMPUTE);
}

/* Finds where runs of flags begin, and the first places behind them. */
static bool runs_of(struct compose *c, struct value *flags, struct value **begins,
                    struct value **ends)
{
        struct value *bytes = compose_cast(c, flags, E_U8);
        struct value *before = compose_with(c, OP_ne, compose_texts_shift(c, bytes, -1), 0);
        *begins = both(c, flags, inverse(c, before));
        *ends = both(c, before, inverse(c, flags));
        return *begins && *ends;
}

static struct value *count_of(struct compose *c, struct value *flags)
{
        const int64_t last = value_rank(flags) - 1;
        return compose_reduce(c, REDUCE_sum, compose_cast(c, flags, E_I32), &last, 1, E_COMPUTE);
}

/* Fails at run time where a count is larger than `parts`. */
static bool finish(struct compose *c, struct compose_split *s, struct value *x,
                   struct value *start, struct value *end, struct value *count, int64_t parts)
{
        int64_t axes[RANK_MAX];
        struct value *number = compose_iota(c, E_I32, parts);
        struct value *there = compose_binary(c, OP_lt, number, with_last(c, count));
        struct value *length = compose_with(c, OP_max, sub(c, end, start), 0);
        if (!length)
                return false;
        length = compose_select(c, there, length, build_like(c->b, length, 0));
        struct value *texts = compose_texts_parts(c, x, start, length);
        struct value *most = compose_reduce(c, REDUCE_max, count, axes,
                                            compose_axes_from(0, value_rank(count), axes),
                                            E_COMPUTE);
        s->texts = compose_checked(c, texts, compose_with(c, OP_le, most, (double)parts));
        s->counts = compose_cast(c, count, E_I64);
        return s->texts && s->counts;
}

int64_t compose_split_most(const struct value *x, int64_t delimiter, int64_t most)
{
        const int64_t width = compose_texts_width(x),
                      parts = delimiter ? width / delimiter + 1 : (width + 1) / 2;
        if (!type_elements(x->type))
                return 0;
        return most >= 0 && most < parts ? most + 1 : parts;
}

/* Returns where bytes are parts of white space, as Unicode has it. */
static struct value *spaces(struct compose *c, struct value *x)
{
        static const struct { unsigned char first, second, low, high; } wide[] = {
                { 0xE1, 0x9A, 0x80, 0x80 }, { 0xE2, 0x80, 0x80, 0x8A }, { 0xE2, 0x80, 0xA8, 0xA9 },
                { 0xE2, 0x80, 0xAF, 0xAF }, { 0xE2, 0x81, 0x9F, 0x9F }, { 0xE3, 0x80, 0x80, 0x80 },
        };
        struct value *next = compose_texts_shift(c, x, 1), *third = compose_texts_shift(c, x, 2);
        struct value *control = compose_with(c, OP_ge, x, 9);
        control = both(c, control, compose_with(c, OP_le, x, 13));
        struct value *separator = compose_with(c, OP_ge, x, 28);
        separator = both(c, separator, compose_with(c, OP_le, x, 32));
        struct value *one = either(c, control, separator);
        struct value *two = compose_with(c, OP_eq, next, 0x85);
        two = either(c, two, compose_with(c, OP_eq, next, 0xA0));
        two = both(c, two, compose_with(c, OP_eq, x, 0xC2));
        struct value *three = NULL;
        for (size_t k = 0; k < sizeof wide / sizeof *wide; k++) {
                struct value *all = compose_with(c, OP_eq, x, wide[k].first);
                all = both(c, all, compose_with(c, OP_eq, next, wide[k].second));
                all = both(c, all, compose_with(c, OP_ge, third, wide[k].low));
                all = both(c, all, compose_with(c, OP_le, third, wide[k].high));
                three = three ? either(c, three, all) : all;
        }
        two = compose_cast(c, two, E_U8);
        three = compose_cast(c, three, E_U8);
        struct value *any = compose_binary(c, OP_or, two, three);
        struct value *behind_two = compose_texts_shift(c, two, -1);
        any = compose_binary(c, OP_or, any, behind_two);
        for (int k = 1; k < 3; k++) {
                struct value *behind = compose_texts_shift(c, three, -k);
                any = compose_binary(c, OP_or, any, behind);
        }
        return either(c, one, compose_with(c, OP_ne, any, 0));
}

bool compose_texts_words(struct compose *c, struct value *x, int64_t most, int64_t parts,
                         struct compose_split *s)
{
        struct value *letter = inverse(c, spaces(c, x));
        letter = both(c, letter, compose_with(c, OP_ne, x, 0));
        struct value *begins, *ends;
        if (!runs_of(c, letter, &begins, &ends))
                return false;
        struct value *start = places_of(c, begins, parts), *end = places_of(c, ends, parts);
        struct value *count = count_of(c, begins);
        if (most >= 0 && count && end) {
                /* The last part has all that is left. */
                struct value *last = compose_with(c, OP_eq, compose_iota(c, E_I32, parts),
                                                  (double)most);
                struct value *length = with_last(c, compose_texts_length(c, x));
                count = compose_with(c, OP_min, count, (double)(most + 1));
                end = compose_select(c, last, length, end);
        }
        return start && end && count && finish(c, s, x, start, end, count, parts);
}

/* Returns where the text [length] begins in x, bool of x's shape. */
static struct value *begins_here(struct compose *c, struct value *x, const unsigned char *text,
                                 int64_t length)
{
        struct value *all = NULL;
        for (int64_t k = 0; k < length; k++) {
                struct value *at = k ? compose_texts_shift(c, x, k) : x;
                struct value *one = compose_with(c, OP_eq, at, text[k]);
                all = all ? both(c, all, one) : one;
        }
        return all;
}

struct value *compose_texts_apart(struct compose *c, struct value *flags, struct value *lengths)
{
        if (!flags || !lengths)
                return NULL;
        const struct type *t = flags->type;
        const int64_t width = type_extent(t, t->rank - 1), count = type_elements(t) / width;
        const dim_t flat[] = { dim_of(count), dim_of(width) };
        struct value *rows[2] = { compose_reshape(c, flags, 2, flat),
                                  compose_reshape(c, lengths, 2, flat) };
        for (int k = 0; k < 2; k++)
                if (!(rows[k] = compose_transpose(c, rows[k], (const int64_t[]){ 1, 0 })))
                        return NULL;
        struct value *begin = constant_number(
                c->m, type_tensor(c->m, E_I32, 1, (const dim_t[]){ dim_of(count) }), 0);
        const struct compose_loop_parts parts = { .first = &begin, .scans = rows, .steps = width,
                                                  .carried = 1, .scanned = 2, .stacked = 1 };
        struct compose_loop loop;
        if (!compose_loop_open(c, &parts, &loop))
                return NULL;
        struct value *at = compose_cast(c, loop.number, E_I32);
        struct value *good = both(c, loop.rows[0],
                                  compose_binary(c, OP_le, &loop.held[0], at));
        struct value *end = add(c, loop.rows[1], at);
        struct value *yielded[2] = { compose_select(c, good, end, &loop.held[0]), good };
        if (!compose_loop_close(c, &loop, yielded))
                return NULL;
        struct value *taken = compose_transpose(c, &loop.op->results[1], (const int64_t[]){ 1, 0 });
        return compose_reshape(c, taken, t->rank, t->dims);
}

/* Does a text end as it begins, so that it may lie upon itself? */
static bool has_border(const unsigned char *text, int64_t length)
{
        for (int64_t k = 1; k < length; k++)
                if (!memcmp(text, text + k, (size_t)(length - k)))
                        return true;
        return false;
}

bool compose_texts_split(struct compose *c, struct value *x, const unsigned char *delimiter,
                         int64_t length, int64_t most, int64_t parts, struct compose_split *s)
{
        struct value *taken = begins_here(c, x, delimiter, length);
        if (taken && has_border(delimiter, length))
                taken = compose_texts_apart(
                        c, taken, constant_number(c->m, type_with_element(c->m, x->type, E_I32),
                                                  (double)length));
        if (!taken)
                return false;
        struct value *count = count_of(c, taken), *places = places_of(c, taken, parts);
        struct value *all = compose_texts_length(c, x);
        if (!count || !places || !all)
                return false;
        if (most >= 0)
                count = compose_with(c, OP_min, count, (double)most);
        const int last = value_rank(places) - 1;
        struct value *starts[2] = { build_like(c->b, compose_part(c, places, last, 0, 1), 0),
                                    parts > 1 ? plus(c, compose_part(c, places, last, 0, parts - 1),
                                                     (double)length)
                                              : NULL };
        struct value *start = parts > 1 ? compose_concat(c, starts, 2, last) : starts[0];
        struct value *number = compose_iota(c, E_I32, parts);
        struct value *inner = compose_binary(c, OP_lt, number, with_last(c, count));
        struct value *end = compose_select(c, inner, places, with_last(c, all));
        count = plus(c, count, 1);
        return start && end && count && finish(c, s, x, start, end, count, parts);
}

/* ---- tokens ---- */

/* Returns running sums of what `flags` marks, i32 [shape, width + 1]: element k has those before
 * byte k. */
static struct value *sums_before(struct compose *c, struct value *flags)
{
        const int last = value_rank(flags) - 1;
        struct value *all = compose_cumulate(c, compose_cast(c, flags, E_I32), REDUCE_sum, last,
                                             false, false);
        struct value *parts[2] = { NULL, all };
        if (!all)
                return NULL;
        parts[0] = compose_part(c, build_like(c->b, all, 0), last, 0, 1);
        return compose_concat(c, parts, 2, last);
}

/* Returns the places of bytes, i32 of x's shape. */
static struct value *places(struct compose *c, const struct value *x)
{
        return build_iota(c->b, type_with_element(c->m, x->type, E_I32), value_rank(x) - 1);
}

/* Puts the tokens that begin at flags, and end in front of places `end` (i32), into s. */
static bool tokens_at(struct compose *c, struct value *x, struct value *flags, struct value *end,
                      const struct compose_tokens *t, struct compose_split *s)
{
        const int last = value_rank(x) - 1;
        if (t->least_letters > 1) {
                /* Letters begin at bytes that continue no other. */
                struct value *begins = compose_with(c, OP_and, x, 0xC0);
                begins = compose_with(c, OP_ne, begins, 0x80);
                begins = both(c, begins, compose_with(c, OP_ne, x, 0));
                struct value *sums = begins ? sums_before(c, begins) : NULL;
                if (!sums)
                        return false;
                struct value *upto = compose_gather_elements(c, sums, end, last);
                struct value *letters =
                        sub(c, upto, compose_part(c, sums, last, 0, compose_texts_width(x)));
                flags = both(c, flags,
                             compose_with(c, OP_ge, letters, (double)t->least_letters));
        }
        struct value *start = flags ? places_of(c, flags, t->parts) : NULL;
        if (!start)
                return false;
        struct value *at = compose_with(c, OP_min, start, (double)(compose_texts_width(x) - 1));
        struct value *behind = at ? compose_gather_elements(c, end, at, last) : NULL;
        return behind && finish(c, s, x, start, behind, count_of(c, flags), t->parts);
}

bool compose_texts_matches(struct compose *c, struct value *x, const struct compose_automaton *a,
                           const struct compose_tokens *t, struct compose_split *s)
{
        struct value *lengths = compose_texts_match_lengths(c, x, a);
        struct value *flags = compose_with(c, OP_gt, lengths, 0);
        flags = compose_texts_apart(c, flags, lengths);
        struct value *end = lengths ? add(c, lengths, places(c, x)) : NULL;
        return flags && end && tokens_at(c, x, flags, end, t, s);
}

bool compose_texts_between(struct compose *c, struct value *x, const struct compose_automaton *a,
                           const struct compose_tokens *t, struct compose_split *s)
{
        const int last = value_rank(x) - 1;
        struct value *lengths = compose_texts_match_lengths(c, x, a);
        struct value *flags = compose_with(c, OP_gt, lengths, 0);
        flags = compose_texts_apart(c, flags, lengths);
        struct value *place = places(c, x), *begins, *ends;
        if (!flags || !lengths || !place)
                return false;
        /* Separators cover bytes up to where the last one of them ends. */
        struct value *end = compose_select(c, flags, add(c, lengths, place),
                                           build_like(c->b, place, 0));
        struct value *covered = compose_cumulate(c, end, REDUCE_max, last, false, false);
        struct value *token = compose_binary(c, OP_le, covered, place);
        token = both(c, token, compose_with(c, OP_ne, x, 0));
        if (!token || !runs_of(c, token, &begins, &ends))
                return false;
        struct value *width = build_like(c->b, place, (double)compose_texts_width(x));
        end = compose_cumulate(c, compose_select(c, ends, place, width), REDUCE_min, last, false,
                               true);
        /* A run ends behind where it begins. */
        return end && tokens_at(c, x, begins, end, t, s);
}
