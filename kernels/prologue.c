/* SPDX-License-Identifier: MIT */
/* A prologue computes what a contraction reads, once for a strip of its positions.
 *
 *      x --normalize, max--> strip --contract--> sums --epilogue--> y
 *
 *                  low   columns of x
 *                +-----+--------------+-----+
 *                |  0  |      0       |  0  |
 *      strip     +-----+--------------+-----+
 *      [block]   |  0  | f(x[row, ..])|  0  |
 *      [row]     |  0  |              |  0  |
 *      [column]  +-----+--------------+-----+
 *      [lane]
 *
 * For each strip of (rows of) tiles, before its panels, the kernel computes the element-wise
 * operations before the contraction on all that the strip reads, into memory of the task's own that
 * stays in the second-level cache. Where x has zeros (or another constant) around it, these are
 * stored around what is computed. Neighbouring strips both compute the few rows that windows of
 * both read. Where the window is one position wide, the strip holds only the positions that strides
 * meet, without gaps.
 *
 * With no operations to compute, the same code gathers x (schedule.pack). Where the multiply
 * decodes words of bytes of x, the strip holds these as they are decoded, an element for each word,
 * and the constant around them likewise; where words are vectors, they are copied as such. Floats
 * of small cores are copied in vectors, too, and rows of positions that lie side by side at
 * once.
 *
 * A tile reads the same line of each of its positions at a time. Where these would be lines of few
 * sets of the first-level cache (those of rows of 1,024 floats are all of one), positions lie a
 * line further apart (cache_sets_pitch, ir/target/cache_sets.h). */
#include "ir/target/cache_sets.h"
#include "ir/target/engine.h"
#include "ir/tensor/packed_multiply.h"
#include "ir/tensor/relation.h"
#include "kernels/kernel_state.h"

/* A side is one of the spatial dimensions of the strip. */
struct side {
        int64_t low, made;              /* The halo has `low` positions before what is computed,
                                         * which is `made` positions. */
        int64_t extent;                 /* The side has this many positions, with the halo on both
                                         * sides or, if `close`, those that strides meet. */
        int64_t stride, reach;          /* The window has this stride and this reach. */
        int64_t held;                   /* The strip holds this many of the positions at a time. */
        bool close;                     /* The strip holds only the positions that strides meet. */
};

struct prologue {
        struct value *value;            /* This value is computed. */
        struct op *pad;                 /* This pad surrounds it with a constant; NULL: there is
                                         * none. */
        union scalar halo;              /* The pad has this constant. */
        struct side sides[2];
        /* `blocks` is the number of blocks; block, unit and size count the elements of one block,
         * of a row (or position) of the strip, and of the whole strip. */
        int64_t blocks, block, unit, size;
        int64_t lanes;                  /* A block has this many lanes. */
        int64_t stored;                 /* The strip has this many elements for them: as many, or
                                         * as many words as they are. */
        int64_t pitch;                  /* The next position begins this many elements further. */
        int word;                       /* Words of this many elements are copied, or decoded; 0:
                                         * elements are computed. */
        bool plain;                     /* They are copied as the single elements that they are. */
        struct access x;                /* Words come from here. */
        struct loop_expr **index, *at;  /* This index is written, and stored at `at`. */
        /* The strip holds these columns. */
        struct loop_expr *first_column, *end_column;
        struct loop_expr *slot;         /* The row that is written is this one of the circular
                                         * buffer. */
        struct lane_part part;
};

bool prologue_has_halo(const struct prologue *p) { return p->pad; }
struct value *prologue_value(const struct prologue *p) { return p->value; }
struct access *prologue_access(struct prologue *p) { return p->word ? &p->x : NULL; }

/* Is the pad one of the spatial dimensions only, with one constant? */
static bool find_halo(struct prologue *p, struct op *pad)
{
        int64_t low[RANK_MAX];
        int last = op_result(pad)->type->rank - 1;
        if (!relation_surrounds(pad, low) || !value_is_splat(op_operand(pad, 1), NULL))
                return false;
        for (int d = 0; d <= last; d++)
                if (d >= 2 && d < last)
                        p->sides[d - 2].low = low[d];
                else if (!relation_keeps(pad, 0, d))
                        return false;
        p->pad = pad;
        p->halo = constant_element(op_operand(pad, 1)->constant, 0);
        p->value = op_operand(pad, 0);
        return true;
}

/* Are elements of x floats that are multiplied on a small core? They need not be computed. */
static bool are_plain(const struct kernel_state *s, const struct multiply *words)
{
        return words && element_is_float(words->sum) && words->channels == 1 &&
               target_engine(s->target)->single_sums;
}

/* Finds where what the strip holds lies, and the words that are copied. */
static bool find_words(struct kernel_state *s, struct prologue *p, const struct multiply *m)
{
        const int last = p->value->type->rank - 1;
        if (!access_read(s->region, p->value, &p->x) || p->x.stride[last] != 1)
                return false;
        p->word = p->plain && p->lanes % s->lanes == 0 ? s->lanes : m->channels;
        return true;
}

/* Returns the pitch of positions of `stored` elements. */
static int64_t pitch_of(int64_t stored, enum element e, const struct target *target)
{
        const int64_t bytes = element_info[e].bytes;
        return cache_sets_pitch(target, stored * bytes) / bytes;
}

bool prologue_find(struct kernel_state *s)
{
        struct value *x = op_operand(s->op, 0);
        const struct type *t = x->type;
        bool reads = s->op->code == OP_convolve_packed || s->op->code == OP_convolve_lanes;
        const struct multiply *words =
                s->op->code == OP_convolve_packed
                        ? packed_multiply(s->op, s->target, SUMS_IN_VECTORS)
                        : NULL;
        const bool copies = words && multiply_in_strips(words),
                   decodes = copies && words->x.decode;
        const struct multiply *m = words && (copies || s->lanes == 1) ? words : s->multiply;
        if (!reads || !m || t->element != m->x.memory || t->rank > 5)
                return false;
        struct prologue *p = ARENA_NEW(s->arena, struct prologue);
        p->value = x;
        p->stored = p->lanes = type_extent(t, t->rank - 1);
        p->plain = are_plain(s, words);
        if (copies && p->lanes % m->channels)
                return false;
        p->stored = decodes ? p->lanes / m->channels : p->lanes;
        p->pitch = pitch_of(p->stored, decodes ? m->x.word : t->element, s->target);
        bool padded = emit_local(s->e, x)->inside && x->op->code == OP_pad;
        if (padded && !find_halo(p, x->op))
                return false;
        if ((copies || p->plain) && !find_words(s, p, m) && copies)
                return false;
        s->decoded = decodes;
        s->prologue = p;
        return true;
}

int64_t prologue_part(const struct kernel_state *s)
{
        const int64_t part = s->schedule.strip_columns, last = s->spatial_count - 1;
        return s->prologue && last == 1 && !s->spatial[1].open &&
                               part < divide_up(s->spatial[1].extent, s->schedule.columns)
                       ? part
                       : 0;
}

/* Returns the columns that a strip holds at a time. */
static int64_t held_columns(const struct kernel_state *s, const struct side *side)
{
        const struct tiling tiles =
                tiling_even(s->spatial[s->spatial_count - 1].extent, s->schedule.columns);
        const int64_t positions = prologue_part(s) * tiles.size;
        return !positions     ? side->extent
               : side->close ? positions
                             : (positions - 1) * side->stride + side->reach;
}

void prologue_spatial(struct kernel_state *s)
{
        struct prologue *p = s->prologue;
        const int64_t *strides = op_ints(s->op, "strides", NULL),
                      *dilations = op_ints(s->op, "dilations", NULL);
        int64_t step = s->x.stride[s->rank - 1] = 1;
        step = p->pitch;
        for (int d = s->spatial_count - 1; d >= 0; d--) {
                struct spatial *along = &s->spatial[d];
                struct side *side = &p->sides[d];
                side->made = type_extent(p->value->type, 2 + d);
                side->stride = strides[d];
                side->reach = (along->window - 1) * dilations[d] + 1;
                side->close = along->window == 1 && !p->pad;
                side->extent = side->close ? along->extent
                                           : type_extent(op_operand(s->op, 0)->type, 2 + d);
                side->held = side->extent;
                if (d > 0 && d == s->spatial_count - 1)
                        side->held = held_columns(s, side);
                along->x_step = side->close ? step : step * strides[d];
                along->x_window = step * dilations[d];
                s->x.stride[2 + d] = step;
                step *= side->held;
        }
}

void prologue_memory(struct kernel_state *s, int64_t blocks)
{
        struct prologue *p = s->prologue;
        bool one = s->spatial_count == 1;
        const struct tiling *tiling = one ? &s->column : &s->row;
        const struct side *side = &p->sides[0];
        int64_t strip = s->schedule.strip, share = divide_up(tiling->count, s->schedule.row_tasks);
        int64_t length = (strip && strip < share ? strip : share) * tiling->size;
        length = length < tiling->extent ? length : tiling->extent;
        if (!side->close)
                length = (length - 1) * side->stride + side->reach;
        p->unit = one ? p->pitch : s->x.stride[2];
        /* An odd number of units keeps blocks out of the same sets of a cache. */
        p->block = (length * p->unit / p->pitch | 1) * p->pitch;
        p->blocks = blocks;
        p->size = blocks * p->block;
        s->x.stride[0] = s->x.offset = 0;
        s->x.stride[1] = p->block;
        const enum element element = s->decoded ? s->multiply->x.word : p->value->type->element;
        const int64_t all = s->schedule.row_tasks * s->schedule.panel_tasks * p->size;
        if (s->strip && s->strip->element == element) {
                s->xs = s->strip;
                s->xs->extent = all > s->xs->extent ? all : s->xs->extent;
                return;
        }
        s->xs = emit_scratch(s->e, "strip", element, all);
}

/* Returns the columns of x that a strip holds at a time by the schedule. */
static int64_t held_by_schedule(const struct op *op, const struct relation *r)
{
        const struct schedule_registers *s = schedule_registers(op->schedule);
        const struct along columns = r->along[3];
        const int64_t all = type_extent(op_result(op)->type, 3),
                      reach = (columns.window - 1) * columns.dilation + 1;
        const struct tiling tiles = tiling_even(all, s->columns);
        const bool close = columns.window == 1;
        const int64_t part = s->strip_columns < tiles.count ? s->strip_columns : 0,
                      positions = part ? part * tiles.size : all;
        return close ? positions
               : part ? (positions - 1) * columns.scale + reach
                      : type_extent(op_operand(op, 0)->type, 3);
}

int64_t prologue_bytes(const struct op *op, const struct target *target)
{
        const struct type *x = op_operand(op, 0)->type;
        const struct multiply *m = op->code == OP_convolve_packed
                                           ? packed_multiply(op, target, SUMS_IN_VECTORS)
                                           : NULL;
        const bool decodes = m && m->x.decode,
                   gathers = m && target_lanes(target, E_F32) == 1;
        if (!decodes && !gathers && (op->code != OP_convolve_packed || x->element != E_F32) &&
            (op->code != OP_convolve_lanes || x->element != E_F32))
                return 0;
        struct relation r;
        relation_of(op, 0, &r);
        const int last = x->rank - 1;
        const struct along rows = r.along[2];
        const enum element element = decodes ? m->x.word : x->element;
        const int64_t lanes = type_extent(x, last) / (decodes ? m->channels : 1),
                      pitch = pitch_of(lanes, element, target);
        int64_t row = pitch * held_by_schedule(op, &r);
        int64_t size = (((rows.window - 1) * rows.dilation + 1) * row / pitch | 1) * pitch;
        size *= op->code == OP_convolve_packed ? type_extent(x, 1) : 1;
        return size * element_info[element].bytes;
}

/* ---- one strip ---- */

/* Fills words with the halo's constant. */
static void fill_words(struct kernel_state *s, struct loop_expr *at, struct loop_expr *count)
{
        struct emit *e = s->e;
        const struct multiply *m = s->multiply;
        union scalar bytes = { .u = (s->prologue->halo.u & 0xff) * 0x01010101u };
        struct loop_expr *word = loop_literal(s->arena, LOOP_TYPE(E_U32), bytes);
        word = loop_call(s->arena, loop_library_find(e->library, m->x.decode, E_U32), &word);
        word = emit_let(e, "constant", word);
        struct loop_expr *i = emit_for(e, "halo", number(e, 0), count);
        emit_store(e, s->xs, plus(e, at, i), word);
        emit_end(e);
}

static void fill(struct kernel_state *s, struct loop_expr *at, struct loop_expr *count)
{
        if (s->decoded) {
                fill_words(s, at, count);
                return;
        }
        const struct prologue *p = s->prologue;
        const int lanes = p->word ? p->word : s->lanes;
        state_fill(s, s->xs, at, count, p->lanes % lanes ? 1 : lanes, p->halo);
}

/* Returns the index of x whose value is stored at number k of a side. */
static struct loop_expr *side_index(struct kernel_state *s, const struct side *side,
                                    struct loop_expr *k)
{
        return side->close ? times(s->e, k, side->stride) : minus(s->e, k, number(s->e, side->low));
}

static bool write_vector(struct kernel_state *s, int rows, int columns)
{
        (void)rows;
        (void)columns;
        struct prologue *p = s->prologue;
        const struct state_vector v = { p->value, p->index, NULL, p->part };
        return state_write_vector(s, &v, s->xs, p->at);
}

static struct loop_buffer *words_buffer(struct kernel_state *s)
{
        return s->slots ? s->slots->buffer : emit_parameter(s->e, s->prologue->x.value);
}

/* Returns where the words of one position begin. */
static struct loop_expr *words_start(struct kernel_state *s, struct loop_expr *const *index)
{
        const struct prologue *p = s->prologue;
        struct emit *e = s->e;
        struct loop_expr *from = access_start(e, &p->x);
        if (s->slots)
                from = plus(e, from, times(e, p->slot, s->slot));
        for (int d = 0; d + 1 < s->rank; d++)
                from = plus(e, from, state_times(s, index[d], p->x.stride[d], p->x.pitch[d]));
        return from;
}

/* Copies elements from..to of what begins at `start`, `by` at a time. */
static void copy_plain(struct kernel_state *s, struct loop_expr *start, struct loop_expr *from,
                       struct loop_expr *to, int by, struct loop_expr *at)
{
        struct emit *e = s->e;
        struct loop_expr *i = emit_for(e, "word", from, to);
        emit_loop(e, by, false);
        struct loop_expr *x = plus(e, start, i);
        emit_store(e, s->xs, plus(e, at, i),
                   by > 1 ? loop_load_vector(s->arena, words_buffer(s), x, by, NULL)
                          : loop_load(s->arena, words_buffer(s), x));
        emit_end(e);
}

/* Writes the words of one position, at `at`. */
static void write_words(struct kernel_state *s, struct loop_expr **index, struct loop_expr *at)
{
        struct prologue *p = s->prologue;
        struct emit *e = s->e;
        struct loop_expr *from = words_start(s, index);
        if (p->plain) {
                copy_plain(s, from, number(e, 0), number(e, p->lanes), p->word, at);
                return;
        }
        struct loop_expr *word = emit_for(e, "word", number(e, 0), number(e, p->lanes / p->word));
        emit_store(e, s->xs, plus(e, at, times(e, word, s->decoded ? 1 : p->word)),
                   state_decoded(s, &s->multiply->x, words_buffer(s),
                                 plus(e, from, times(e, word, p->word)), 1));
        emit_end(e);
}

/* Do the positions of a row lie side by side, in memory as in the strip? */
static bool is_dense(const struct kernel_state *s)
{
        const struct prologue *p = s->prologue;
        const struct side *side = &p->sides[s->spatial_count - 1];
        const int last = s->rank - 2;
        return p->plain && p->word && s->rank == s->spatial_count + 3 &&
               (!side->close || side->stride == 1) && access_is_known(&p->x, last) &&
               p->x.stride[last] == p->lanes && p->pitch == p->lanes;
}

/* Copies positions from..to of a row, the first of them to `at`. */
static void write_dense(struct kernel_state *s, struct loop_expr **index, struct loop_expr *from,
                        struct loop_expr *to, struct loop_expr *at)
{
        struct prologue *p = s->prologue;
        struct emit *e = s->e;
        const int last = s->rank - 2;
        index[last] = side_index(s, &p->sides[s->spatial_count - 1], from);
        struct loop_expr *start = emit_let(e, "from", words_start(s, index)),
                         *count = times(e, minus(e, to, from), p->lanes), *whole = count;
        if (p->lanes % s->lanes)
                whole = emit_let(e, "whole",
                                 minus(e, count, emit_op_int(e, LOOP_REM, count, s->lanes)));
        copy_plain(s, start, number(e, 0), whole, s->lanes, at);
        if (whole != count)
                copy_plain(s, start, whole, count, 1, at);
}

/* Writes one position, at `at`; `index` is its index but for the last spatial dimensions. */
static bool write_position(struct kernel_state *s, struct loop_expr **index,
                           struct loop_expr *position, struct loop_expr *at)
{
        struct prologue *p = s->prologue;
        struct emit *e = s->e;
        int last = s->rank - 2;
        if (s->rank == 5 && s->spatial_count == 1) {      /* Two dimensions are iterated as one. */
                bool apart = emit_local(e, p->value)->splits >> last & 1 ||
                             p->sides[0].stride != 1 || p->sides[1].stride != 1;
                int64_t columns = p->sides[1].extent;
                index[last - 1] = apart ? times(e, emit_op_int(e, LOOP_DIV, position, columns),
                                                p->sides[0].stride)
                                        : number(e, 0);
                index[last] = apart ? times(e, emit_op_int(e, LOOP_REM, position, columns),
                                            p->sides[1].stride)
                                    : position;
        } else {
                index[last] = side_index(s, &p->sides[s->spatial_count - 1], position);
        }
        if (p->word) {
                write_words(s, index, at);
                return true;
        }
        p->index = index;
        p->at = at;
        return state_vectors(s, p->lanes, &p->part, 1, 1, write_vector);
}

static bool write_row(struct kernel_state *s, int d, struct loop_expr **index, struct loop_expr *k,
                      struct loop_expr *at);

/* Writes numbers from..to of a side, the first of them at `at`: halo, computed positions, halo. */
static bool write_side(struct kernel_state *s, int d, struct loop_expr **index,
                       struct loop_expr *from, struct loop_expr *to, struct loop_expr *at)
{
        struct prologue *p = s->prologue;
        struct emit *e = s->e;
        const struct side *side = &p->sides[d];
        bool last = d == s->spatial_count - 1, before = p->pad && side->low;
        bool after = p->pad && side->low + side->made < side->extent;
        int64_t unit = last ? p->pitch : p->unit;
        struct loop_expr *begin = before ? maximum(e, from, number(e, side->low)) : from;
        struct loop_expr *end = after ? minimum(e, to, number(e, side->low + side->made)) : to;
        if (before)
                fill(s, at, times(e, minus(e, minimum(e, begin, to), from), unit));
        bool good = true;
        if (last && is_dense(s)) {
                struct loop_expr *start = before ? emit_let(e, "begin", begin) : begin;
                write_dense(s, index, start, end,
                            plus(e, at, times(e, minus(e, start, from), unit)));
        } else {
                struct loop_expr *k = emit_for(e, last ? "column" : "row", begin, end);
                struct loop_expr *here =
                        emit_let(e, "at", plus(e, at, times(e, minus(e, k, from), unit)));
                good = last ? write_position(s, index, k, here) : write_row(s, d, index, k, here);
                emit_end(e);
        }
        if (after) {
                begin = emit_let(e, "behind", maximum(e, from, end));
                fill(s, plus(e, at, times(e, minus(e, begin, from), unit)),
                     times(e, minus(e, to, begin), unit));
        }
        return good;
}

/* Writes row k of side d, at `at`. */
static bool write_row(struct kernel_state *s, int d, struct loop_expr **index, struct loop_expr *k,
                      struct loop_expr *at)
{
        struct prologue *p = s->prologue;
        struct emit *e = s->e;
        index[2 + d] = side_index(s, &p->sides[d], k);
        if (s->slots)
                p->slot = emit_let(e, "slot",
                                   emit_op_int(e, LOOP_REM,
                                               plus(e, index[2 + d], number(e, s->slot_first)),
                                               s->slots->kept));
        return write_side(s, d + 1, index, p->first_column, p->end_column, at);
}

/* Finds the columns that the tiles of a row read. */
static void find_columns(struct kernel_state *s)
{
        struct prologue *p = s->prologue;
        struct emit *e = s->e;
        const struct side *side = &p->sides[1];
        p->first_column = number(e, 0);
        p->end_column = number(e, side->extent);
        if (!s->first_tile)
                return;
        struct loop_expr *first = state_tile_start(s, &s->column, s->first_tile),
                         *end = state_tile_start(s, &s->column, s->end_tile);
        if (!side->close) {
                first = times(e, first, side->stride);
                end = plus(e, times(e, end, side->stride), number(e, side->reach - side->stride));
        }
        p->first_column = emit_let(e, "first_column", first);
        p->end_column = emit_let(e, "end_column", end);
}

bool prologue_write(struct kernel_state *s, struct loop_expr *from, struct loop_expr *to,
                    struct loop_expr *first_block)
{
        struct prologue *p = s->prologue;
        struct emit *e = s->e;
        const struct side *side = &p->sides[0];
        bool one = s->spatial_count == 1;
        const struct tiling *tiling = one ? &s->column : &s->row;
        struct loop_expr *first = state_tile_start(s, tiling, from),
                         *end = state_tile_start(s, tiling, to);
        if (!side->close) {
                first = times(e, first, side->stride);
                end = plus(e, times(e, end, side->stride), number(e, side->reach - side->stride));
        }
        first = emit_let(e, "first", first);
        end = emit_let(e, "last", end);
        find_columns(s);
        struct loop_expr *start = emit_let(e, "start", times(e, s->task, p->size));
        struct loop_expr *block = emit_for(e, "block", number(e, 0), number(e, p->blocks));
        struct loop_expr *index[RANK_MAX] = { s->image, plus(e, first_block, block) };
        struct loop_expr *at = emit_let(e, "at", plus(e, start, times(e, block, p->block)));
        bool good = write_side(s, 0, index, first, end, at);
        emit_end(e);
        struct loop_expr *x = minus(e, start, times(e, first, p->unit));
        if (!one)
                x = minus(e, x, times(e, p->first_column, p->pitch));
        s->x_start = emit_let(e, "x_start", minus(e, x, times(e, first_block, p->block)));
        return good;
}
