/* SPDX-License-Identifier: MIT */
/* A letter is decoded at its first byte, and its case looked up in a table of two levels. Texts
 * whose letters keep their number of bytes would be changed in place; some letters do not, so each
 * byte of the result is put where the bytes in front of it end. What is no UTF-8 stays as it is. */
#include "front/compose/compose_regex.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_window.h"

#include <stdlib.h>
#include <string.h>

struct letters { int first, last, step, add; };
static const struct letters lower[] = {
#define LOWER(first, last, step, add) { first, last, step, add },
#define UPPER(first, last, step, add)
#include "front/compose/case_letters.def"
}, upper[] = {
#define LOWER(first, last, step, add)
#define UPPER(first, last, step, add) { first, last, step, add },
#include "front/compose/case_letters.def"
};
enum {
        LOWER_COUNT = sizeof lower / sizeof *lower,
        UPPER_COUNT = sizeof upper / sizeof *upper,
        PAGE = 64,
        PAGES = 0x20000 / PAGE          /* No letter beyond has another case. */
};

/* ---- for patterns ---- */

static bool has(const struct regex_range *ranges, int count, int code)
{
        for (int k = 0; k < count; k++)
                if (code >= ranges[k].low && code <= ranges[k].high)
                        return true;
        return false;
}

struct regex_range *compose_case_fold(struct arena *arena, struct regex_range *ranges, int *count)
{
        /* Three letters may be one: k, K and the sign of kelvin. */
        for (int before = -1; before != *count;) {
                before = *count;
                for (int k = 0; k < LOWER_COUNT + UPPER_COUNT; k++) {
                        const struct letters *l = k < LOWER_COUNT ? &lower[k]
                                                                  : &upper[k - LOWER_COUNT];
                        for (int code = l->first; code <= l->last; code += l->step) {
                                const bool in = has(ranges, *count, code),
                                           other = has(ranges, *count, code + l->add);
                                if (in == other)
                                        continue;
                                const int added = in ? code + l->add : code;
                                ARENA_GROW(arena, ranges, *count);
                                ranges[(*count)++] = (struct regex_range){ added, added };
                        }
                }
        }
        return ranges;
}


/* Makes the tables: pages [PAGES] says where the page of a letter begins in numbers, i32, which
 * are what is added to a letter. */
static void make_tables(struct compose *c, const struct letters *letters, int count,
                        struct value **pages, struct value **numbers)
{
        static const int64_t page_count = PAGES;
        int32_t *starts = constant_room(c->m, PAGES * sizeof *starts), *all = NULL;
        int64_t used = 1;               /* Page 0 has no letters. */
        memset(starts, 0, PAGES * sizeof *starts);
        for (int k = 0; k < count; k++)
                for (int code = letters[k].first; code <= letters[k].last; code += letters[k].step)
                        if (!starts[code / PAGE])
                                starts[code / PAGE] = (int32_t)(used++ * PAGE);
        const int64_t extent = used * PAGE;
        all = constant_room(c->m, (size_t)extent * sizeof *all);
        memset(all, 0, (size_t)extent * sizeof *all);
        for (int k = 0; k < count; k++)
                for (int code = letters[k].first; code <= letters[k].last; code += letters[k].step)
                        all[starts[code / PAGE] + code % PAGE] = letters[k].add;
        *pages = constant_dense(c->m, type_static(c->m, E_I32, 1, &page_count), starts, NULL);
        *numbers = constant_dense(c->m, type_static(c->m, E_I32, 1, &extent), all, NULL);
}

static struct value *bits(struct compose *c, struct value *x, double mask)
{
        return compose_with(c, OP_and, x, mask);
}
static struct value *with_bits(struct compose *c, struct value *x, double bits)
{
        return compose_with(c, OP_or, x, bits);
}

/* A text's bytes as code points, all i32 (flags are bool) of the shape of the bytes. */
struct decoded {
        struct value *byte[4];          /* These are the bytes at a place, and behind it. */
        struct value *code;             /* A code point begins here, or it is 0. */
        struct value *bytes;            /* It has so many bytes. */
};

/* Returns whether `more` bytes that continue a code point follow. */
static struct value *continued(struct compose *c, const struct decoded *d, int more)
{
        struct value *all = NULL;
        for (int k = 1; k <= more; k++) {
                struct value *one = compose_with(c, OP_eq, bits(c, d->byte[k], 0xC0), 0x80);
                all = all ? both(c, all, one) : one;
        }
        return all;
}

static bool decode(struct compose *c, struct value *x, struct decoded *d)
{
        static const int first[] = { 0, 0xC0, 0xE0, 0xF0 }, end[] = { 0x80, 0xE0, 0xF0, 0xF8 };
        for (int k = 0; k < 4; k++) {
                struct value *shifted = k ? compose_texts_shift(c, x, k) : x;
                if (!(d->byte[k] = compose_cast(c, shifted, E_I32)))
                        return false;
        }
        struct value *ascii = compose_with(c, OP_lt, d->byte[0], 0x80),
                     *zero = build_like(c->b, d->byte[0], 0);
        d->code = compose_select(c, ascii, d->byte[0], zero);
        d->bytes = compose_cast(c, compose_with(c, OP_gt, d->code, 0), E_I32);
        for (int more = 1; more < 4; more++) {
                struct value *code = bits(c, d->byte[0], 0x3F >> more);
                for (int k = 1; k <= more; k++) {
                        struct value *low = bits(c, d->byte[k], 0x3F);
                        code = add(c, times(c, code, 64), low);
                }
                struct value *fits = compose_with(c, OP_ge, d->byte[0], first[more]);
                fits = both(c, fits, compose_with(c, OP_lt, d->byte[0], end[more]));
                fits = both(c, fits, continued(c, d, more));
                d->code = compose_select(c, fits, code, d->code);
                struct value *count = build_like(c->b, zero, more + 1);
                d->bytes = compose_select(c, fits, count, d->bytes);
        }
        return d->code && d->bytes;
}

/* Returns byte k of the UTF-8 of a code point that has `bytes` of them. */
static struct value *encoded(struct compose *c, struct value *code, struct value *bytes, int k)
{
        static const int lead[] = { 0, 0xC0, 0xE0, 0xF0 };
        struct value *y = code;
        for (int more = k > 1 ? k : 1; more < 4; more++) {
                struct value *shift = build_like(c->b, code, 6 * (more - k));
                struct value *part = compose_binary(c, OP_shr, code, shift);
                part = k ? with_bits(c, bits(c, part, 0x3F), 0x80) : with_bits(c, part, lead[more]);
                y = compose_select(c, compose_with(c, OP_gt, bytes, more), part, y);
        }
        return compose_cast(c, y, E_U8);
}

/* ---- for constants ---- */

/* Returns the letter's other case. */
static int changed_letter(const struct letters *letters, int count, int code)
{
        for (int k = 0; k < count; k++)
                if (code >= letters[k].first && code <= letters[k].last &&
                    (code - letters[k].first) % letters[k].step == 0)
                        return code + letters[k].add;
        return code;
}

/* Reads a code point of `left` bytes at most; returns how many it has: 1 where it is none. */
static int read_letter(const unsigned char *p, int64_t left, int *code)
{
        const int more = p[0] < 0xC0 ? 0 : p[0] < 0xE0 ? 1 : p[0] < 0xF0 ? 2 : p[0] < 0xF8 ? 3 : 0;
        *code = more ? p[0] & (0x3F >> more) : p[0] < 0x80 ? p[0] : 0;
        for (int k = 1; k <= more; k++) {
                if (k >= left || (p[k] & 0xC0) != 0x80) {
                        *code = 0;
                        return 1;
                }
                *code = *code << 6 | (p[k] & 0x3F);
        }
        return more + 1;
}

static struct value *constant_case(struct compose *c, const struct value *x, bool to_upper)
{
        static const unsigned char lead[] = { 0, 0xC0, 0xE0, 0xF0 };
        const int last = value_rank(x) - 1;
        const int64_t width = compose_texts_width(x), room = width + width / 2,
                      texts = type_elements(x->type) / width;
        const bool splat = x->constant->kind == CONSTANT_SPLAT;
        unsigned char *rows = constant_room(c->m, (size_t)(texts * room)),
                      *text = arena_alloc(c->arena, (size_t)width);
        dim_t dims[RANK_MAX];
        memset(rows, 0, (size_t)(texts * room));
        for (int64_t i = 0; i < texts; i++) {
                unsigned char *to = rows + i * room;
                for (int64_t k = 0; k < width; k++)
                        text[k] = ((const unsigned char *)constant_data(
                                x->constant))[splat ? 0 : i * width + k];
                for (int64_t at = 0, length; at < width && text[at]; at += length) {
                        int code;
                        length = read_letter(text + at, width - at, &code);
                        const int other =
                                changed_letter(to_upper ? upper : lower,
                                               to_upper ? UPPER_COUNT : LOWER_COUNT, code);
                        if (other == code) {
                                memcpy(to, text + at, (size_t)length);
                                to += length;
                                continue;
                        }
                        const int more = other < 0x80 ? 0 : other < 0x800 ? 1
                                                          : other < 0x10000 ? 2 : 3;
                        *to++ = (unsigned char)(lead[more] | (other >> 6 * more));
                        for (int k = more - 1; k >= 0; k--)
                                *to++ = (unsigned char)(0x80 | ((other >> 6 * k) & 0x3F));
                }
        }
        memcpy(dims, x->type->dims, (size_t)last * sizeof *dims);
        dims[last] = dim_of(room);
        return constant_dense(c->m, type_tensor(c->m, E_U8, last + 1, dims), rows, NULL);
}

/* ---- for texts of a run ---- */

struct value *compose_texts_case(struct compose *c, struct value *x, bool to_upper)
{
        struct decoded d;
        struct value *pages, *numbers;
        const int rank = x ? value_rank(x) : 1, last = rank - 1;
        if (!x || !type_elements(x->type))
                return x;
        if (value_is_constant(x))
                return constant_case(c, x, to_upper);
        const int64_t width = compose_texts_width(x), room = width + width / 2;
        make_tables(c, to_upper ? upper : lower, to_upper ? UPPER_COUNT : LOWER_COUNT, &pages,
                    &numbers);
        if (!decode(c, x, &d))
                return NULL;
        /* What is added to the code point, and how many bytes the sum has. */
        struct value *page = clamp(c, compose_with(c, OP_div, d.code, PAGE), 0, PAGES - 1);
        page = page ? build_gather(c->b, pages, page, 0) : NULL;
        struct value *place = add(c, page, bits(c, d.code, PAGE - 1));
        struct value *added = place ? build_gather(c->b, numbers, place, 0) : NULL;
        struct value *far = compose_with(c, OP_ge, d.code, PAGES * PAGE);
        added = added ? compose_select(c, far, build_like(c->b, added, 0), added) : NULL;
        struct value *changed = compose_with(c, OP_ne, added, 0);
        struct value *code = add(c, d.code, added), *bytes = NULL;
        static const int least[] = { 0, 0x80, 0x800, 0x10000 };
        for (int k = 0; k < 4; k++) {
                struct value *one = compose_cast(c, compose_with(c, OP_ge, code, least[k]), E_I32);
                bytes = bytes ? add(c, bytes, one) : one;
        }
        /* Bytes of a code point that is changed belong to its first one. */
        struct value *owned = NULL;
        struct value *old = changed ? compose_select(c, changed, d.bytes,
                                                     build_like(c->b, d.bytes, 0))
                                    : NULL;
        old = compose_cast(c, old, E_U8);
        for (int k = 1; k < 4; k++) {
                struct value *before = compose_texts_shift(c, old, -k);
                struct value *one = compose_with(c, OP_gt, before, k);
                owned = owned ? compose_binary(c, OP_or, owned, one) : one;
        }
        struct value *own = compose_cast(c, compose_with(c, OP_ne, x, 0), E_I32);
        own = own ? compose_select(c, owned, build_like(c->b, own, 0), own) : NULL;
        bytes = compose_select(c, changed, bytes, own);
        if (!bytes)
                return NULL;
        struct value *at = compose_cumulate(c, bytes, REDUCE_sum, last, true, false);
        /* Each place has up to four bytes; those that are too many go behind the end. */
        struct value *places[4], *updates[4];
        for (int k = 0; k < 4; k++) {
                struct value *there = compose_with(c, OP_gt, bytes, k);
                struct value *next = plus(c, at, k);
                places[k] = next ? compose_select(c, there, next,
                                                  build_like(c->b, next, (double)room))
                                 : NULL;
                updates[k] = encoded(c, code, bytes, k);
                if (!k)
                        updates[k] = compose_select(c, changed, updates[k], x);
                if (!places[k] || !updates[k])
                        return NULL;
        }
        struct value *indices = compose_concat(c, places, 4, last);
        struct value *all = compose_concat(c, updates, 4, last);
        dim_t dims[RANK_MAX];
        memcpy(dims, x->type->dims, (size_t)rank * sizeof *dims);
        dims[last] = dim_of(room + 1);
        const struct type *to = compose_type(c, E_U8, rank, dims);
        struct value *zeros = to ? constant_number(c->m, to, 0) : NULL;
        if (!zeros || !indices || !all)
                return NULL;
        struct value *y = compose_scatter(c, zeros, indices, all, last, SCATTER_REPLACE);
        return y ? compose_part(c, y, last, 0, room) : NULL;
}
