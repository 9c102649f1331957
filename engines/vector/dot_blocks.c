/* SPDX-License-Identifier: MIT */
/* This is the scheduled lowering of dot_blocks: rows of whole numbers by weights in few bits,
 * blocks of which share a scale.
 *
 *      w       0xba 0xdc 0xfe 0x..         a word, in each lane
 *      & 0x0f  a    c    e    ..           by the word of x that begins the block
 *      >> 4    b    d    f    ..           by the word that lies bits.bytes numbers after that
 *
 *      sum{p, j}     i32, of one block
 *      total{p, j}   f32: each sum times the block's scales in x and in w
 *
 * Scales may be whole numbers of 8 bits, with scales of their own for several blocks; zeros, too,
 * with minima: then a row's sum times its step times these is subtracted from its total.
 *
 * Floats are multiplied by numbers less their zero points, as floats, each by itself: words are
 * single bytes then, and sums need neither steps nor a start.
 *
 * A tile is `columns` rows by `vectors` vectors of outputs. Its sums begin with what the zero
 * points subtract, which is one number for a row where all weights have the same zero point.
 * Numbers are unpacked once for all rows of a tile; totals are added up in the order of blocks, as
 * the canonical lowering does. */
#include "engines/vector/vector_engine.h"
#include "ir/tensor/block_weights.h"
#include "ir/tensor/packed_multiply.h"
#include "kernels/kernel_state.h"

enum { X, W, STEPS, SUMS, SCALES, ZEROS };
enum { ITERATION_PRODUCTS = 64 };       /* An iteration of the innermost loop has this many
                                         * products, or those of one word. */

struct blocks {
        struct kernel_state s;                 /* This is first, because functions of the kernel
                                                * state get a pointer to it. */
        struct packed_bits bits;
        int64_t width, panel_size;      /* A panel has this many outputs, and bytes of w. */
        int64_t outputs;                /* All panels together have this many outputs. */
        struct loop_buffer *steps, *sums, *scales;
        struct loop_buffer *zeros;      /* NULL: all zero points are `zero`. */
        struct loop_buffer *outer, *minima;     /* Scales of scales, and of zeros; or NULL. */
        int64_t zero;
        bool floats;                    /* x has floats. */
        struct loop_expr *centers[TILE_MAX]; /* They are the zero points of a tile's block, as
                                              * floats, where x has such. */
        struct loop_expr *panel, *part; /* The loops are in this panel, and the tile begins with
                                         * this vector. */
        int live;                       /* This many outputs of the tile exist. */
};

/* While it is written, a tile has positions by vectors. */
struct tile {
        struct blocks *b;
        int positions, vectors;
        struct loop_variable *sums, *totals;
        struct loop_expr *outer[TILE_MAX], *minima[TILE_MAX];   /* Those of the blocks at hand. */
        struct loop_expr *x_at, *row_at; /* The first row begins at these indices of x and of the
                                          * scales. */
};

static int64_t row_step(const struct blocks *b) { return b->s.spatial[0].x_step; }

/* ---- the products of a block ---- */

/* Unpacks plane number k of w: a number of each byte. */
static struct loop_expr *unpacked(struct blocks *b, struct loop_expr *w, int k)
{
        struct kernel_state *s = &b->s;
        const struct multiply_operand *as = &s->multiply->w;
        int bits = b->bits.bits, each = 8 * element_info[as->word].bytes / s->multiply->channels;
        union scalar mask = { .u = 0 }, shift = { .u = (uint64_t)(k * bits) };
        if (bits == 8)
                return w;
        for (int i = 0; i < s->multiply->channels; i++)
                mask.u |= ((UINT64_C(1) << bits) - 1) << (i * each);
        const struct loop_type type = LOOP_TYPE(as->word);
        if (k)
                w = loop_op(s->arena, LOOP_SHR, w,
                            loop_splat(s->arena, s->lanes, loop_literal(s->arena, type, shift)),
                            NULL);
        w = loop_op(s->arena, LOOP_AND, w,
                    loop_splat(s->arena, s->lanes, loop_literal(s->arena, type, mask)), NULL);
        return emit_let(s->e, "n", w);
}

/* Returns number k of each byte less its zero point, as floats. */
static struct loop_expr *centered(struct blocks *b, struct loop_expr *bytes, int k, int vector)
{
        struct kernel_state *s = &b->s;
        struct emit *e = s->e;
        const int bits = b->bits.bits;
        const struct loop_type type = LOOP_TYPE(E_U32);
        const union scalar mask = { .u = (UINT64_C(1) << bits) - 1 },
                           shift = { .u = (uint64_t)(k * bits) };
        struct loop_expr *n = bytes;
        if (k)
                n = loop_op(s->arena, LOOP_SHR, n,
                            loop_splat(s->arena, s->lanes, loop_literal(s->arena, type, shift)),
                            NULL);
        if ((k + 1) * bits < 8)         /* Above the last one there are zeros. */
                n = loop_op(s->arena, LOOP_AND, n,
                            loop_splat(s->arena, s->lanes, loop_literal(s->arena, type, mask)),
                            NULL);
        n = loop_cast(s->arena, E_F32, loop_cast(s->arena, E_I32, n));
        return emit_let(e, "n", emit_op(e, LOOP_SUB, n, b->centers[vector]));
}

/* Multiplies the numbers of byte `byte` behind w_at, in order, by floats of x. */
static void add_byte(struct tile *t, struct loop_expr *x_at, struct loop_expr *w_at, int byte)
{
        struct blocks *b = t->b;
        struct kernel_state *s = &b->s;
        struct emit *e = s->e;
        struct loop_expr *w[TILE_MAX];
        for (int j = 0; j < t->vectors; j++)
                w[j] = state_load_as(s, E_U32, "w", s->ws, w_at, byte * b->width + j * s->lanes,
                                     s->lanes);
        for (int k = 0; k < 8 / b->bits.bits; k++) {
                struct loop_expr *n[TILE_MAX];
                for (int j = 0; j < t->vectors; j++)
                        n[j] = centered(b, w[j], k, j);
                for (int i = 0; i < t->positions; i++) {
                        const int64_t at = i * row_step(b) + k * b->bits.bytes + byte;
                        struct loop_expr *x =
                                loop_load(s->arena, s->xs, plus(e, x_at, number(e, at)));
                        x = emit_let(e, "a", loop_splat(s->arena, s->lanes, x));
                        for (int j = 0; j < t->vectors; j++)
                                state_add(s, t->sums, i, j, x, n[j]);
                }
        }
}

/* Multiplies the word that begins `word` words after w_at by those of x at x_at. */
static void add_word(struct tile *t, struct loop_expr *x_at, struct loop_expr *w_at, int word)
{
        struct blocks *b = t->b;
        struct kernel_state *s = &b->s;
        struct emit *e = s->e;
        int group = s->multiply->channels;
        struct loop_expr *w[TILE_MAX];
        for (int j = 0; j < t->vectors; j++) {
                int64_t at = (word * b->width + j * s->lanes) * group;
                w[j] = emit_let(e, "w",
                                state_words(s, s->ws, plus(e, w_at, number(e, at)),
                                            s->multiply->w.word, s->lanes));
        }
        for (int k = 0; k < 8 / b->bits.bits; k++) {
                struct loop_expr *n[TILE_MAX];
                for (int j = 0; j < t->vectors; j++)
                        n[j] = unpacked(b, w[j], k);
                for (int i = 0; i < t->positions; i++) {
                        int64_t at = i * row_step(b) + k * b->bits.bytes + word * group;
                        struct loop_expr *x = state_words(s, s->xs, plus(e, x_at, number(e, at)),
                                                          s->multiply->x.word, 1);
                        x = emit_let(e, "a", loop_splat(s->arena, s->lanes, x));
                        for (int j = 0; j < t->vectors; j++)
                                state_add(s, t->sums, i, j, x, n[j]);
                }
        }
}

static void add_words(struct tile *t, struct loop_expr *x_at, struct loop_expr *w_at)
{
        struct blocks *b = t->b;
        struct emit *e = b->s.e;
        int64_t words = b->bits.bytes / b->s.multiply->channels, iteration = words,
                each = (int64_t)t->positions * t->vectors * (8 / b->bits.bits);
        while (iteration > 1 && (iteration * each > ITERATION_PRODUCTS || words % iteration))
                iteration--;
        struct loop_expr *k = emit_for(e, "k", number(e, 0), number(e, words / iteration));
        x_at = emit_let(e, "xk", plus(e, x_at, times(e, k, iteration * b->s.multiply->channels)));
        w_at = emit_let(e, "wk",
                        plus(e, w_at, times(e, k, iteration * b->s.multiply->channels * b->width)));
        for (int word = 0; word < iteration; word++)
                (b->floats ? add_byte : add_word)(t, x_at, w_at, word);
        emit_end(e);
}

/* ---- sums and totals ---- */

static struct loop_expr *of_row(struct tile *t, struct loop_buffer *buffer, struct loop_expr *block,
                                int i)
{
        struct emit *e = t->b->s.e;
        struct loop_expr *at = plus(e, t->row_at, number(e, i * t->b->bits.blocks));
        return loop_load(e->arena, buffer, plus(e, at, block));
}

static void begin_sums(struct tile *t, struct loop_expr *block)
{
        struct blocks *b = t->b;
        struct kernel_state *s = &b->s;
        t->sums = state_sums(s, t->positions, t->vectors);
        for (int i = 0; i < t->positions && !b->floats && !b->zeros && b->zero; i++) {
                struct loop_expr *start = emit_op(s->e, LOOP_MUL, of_row(t, b->sums, block, i),
                                                  emit_number(s->e, E_I32, -b->zero));
                start = emit_let(s->e, "start", loop_splat(s->arena, s->lanes, start));
                for (int j = 0; j < t->vectors; j++)
                        state_set(s, t->sums, i, j, start);
        }
}

/* Loads the zero points of a block; `at` is the index of vector 0 of the tile. */
static void load_centers(struct tile *t, struct loop_expr *at)
{
        struct blocks *b = t->b;
        struct kernel_state *s = &b->s;
        for (int j = 0; j < t->vectors; j++)
                b->centers[j] = b->zeros ? state_load_as(s, E_F32, "zero", b->zeros, at,
                                                         j * s->lanes, s->lanes)
                                         : loop_splat(s->arena, s->lanes,
                                                      emit_number(s->e, E_F32, b->zero));
}

/* Adds the sum of one position and vector, as floats, times the block's scale, to its total. */
static void add_total(struct tile *t, int i, int j, struct loop_expr *sum, struct loop_expr *scale)
{
        struct kernel_state *s = &t->b->s;
        struct loop_expr *total = loop_tile_entry(s->arena, t->totals, i, j);
        state_set(s, t->totals, i, j,
                  s->has_fma ? loop_op(s->arena, LOOP_FMA, sum, scale, total)
                             : plus(s->e, total, emit_op(s->e, LOOP_MUL, sum, scale)));
}

/* Subtracts what the minima of a block make of the sum of a row, `row` floats. */
static void take_least(struct tile *t, int i, int j, struct loop_expr *row, struct loop_expr *least)
{
        struct kernel_state *s = &t->b->s;
        struct loop_expr *total = loop_tile_entry(s->arena, t->totals, i, j);
        state_set(s, t->totals, i, j, minus(s->e, total, emit_op(s->e, LOOP_MUL, row, least)));
}

/* Loads the scales of scales, and the minima, of as many blocks as have them in common. */
static void load_outer(struct tile *t, struct loop_expr *at)
{
        struct blocks *b = t->b;
        struct kernel_state *s = &b->s;
        for (int j = 0; j < t->vectors; j++) {
                t->outer[j] = state_load_as(s, E_F32, "outer", b->outer, at, j * s->lanes,
                                            s->lanes);
                if (b->minima)
                        t->minima[j] = state_load_as(s, E_F32, "minimum", b->minima, at,
                                                     j * s->lanes, s->lanes);
        }
}

/* Adds the sums of a block of floats to the totals. */
static void add_float_sums(struct tile *t, struct loop_expr *at)
{
        struct kernel_state *s = &t->b->s;
        for (int j = 0; j < t->vectors; j++) {
                struct loop_expr *scale =
                        state_load(s, "scale", t->b->scales, at, j * s->lanes, s->lanes);
                for (int i = 0; i < t->positions; i++)
                        add_total(t, i, j, loop_tile_entry(s->arena, t->sums, i, j), scale);
        }
}

/* Converts the sums of a block to f32 and adds them to the totals; `at` is the index of vector 0 of
 * the tile in the scales. */
static void add_sums(struct tile *t, struct loop_expr *block, struct loop_expr *at)
{
        struct blocks *b = t->b;
        struct kernel_state *s = &b->s;
        struct emit *e = s->e;
        struct loop_expr *scales[TILE_MAX], *zeros[TILE_MAX];
        for (int j = 0; j < t->vectors; j++) {
                scales[j] = state_load_as(s, E_F32, "scale", b->scales, at, j * s->lanes, s->lanes);
                if (b->outer)
                        scales[j] = emit_let(e, "scale",
                                             emit_op(e, LOOP_MUL, t->outer[j], scales[j]));
                if (b->zeros)
                        zeros[j] = state_load_as(s, b->minima ? E_F32 : E_I32, "zero", b->zeros, at,
                                                 j * s->lanes, s->lanes);
                if (b->minima)
                        zeros[j] = emit_let(e, "least",
                                            emit_op(e, LOOP_MUL, t->minima[j], zeros[j]));
        }
        for (int i = 0; i < t->positions; i++) {
                struct loop_expr *step = of_row(t, b->steps, block, i), *row = NULL;
                if (b->minima)
                        row = emit_op(e, LOOP_MUL, step,
                                      loop_cast(s->arena, E_F32, of_row(t, b->sums, block, i)));
                else if (b->zeros)
                        row = of_row(t, b->sums, block, i);
                step = emit_let(e, "step", loop_splat(s->arena, s->lanes, step));
                if (row)
                        row = emit_let(e, "row", loop_splat(s->arena, s->lanes, row));
                for (int j = 0; j < t->vectors; j++) {
                        struct loop_expr *sum = loop_tile_entry(s->arena, t->sums, i, j);
                        if (row && !b->minima)
                                sum = minus(e, sum, emit_op(e, LOOP_MUL, zeros[j], row));
                        if (b->minima)
                                take_least(t, i, j, row, zeros[j]);
                        add_total(t, i, j, loop_cast(s->arena, E_F32, sum),
                                  emit_op(e, LOOP_MUL, step, scales[j]));
                }
        }
}

static bool store(struct tile *t)
{
        struct blocks *b = t->b;
        struct kernel_state *s = &b->s;
        struct emit *e = s->e;
        struct loop_expr *first =
                plus(e, times(e, b->panel, b->width), times(e, b->part, s->lanes));
        first = loop_use(s->arena, emit_var(e, "first", LOOP_TYPE(E_INDEX), first));
        for (int i = 0; i < t->positions; i++)
                for (int j = 0; j < t->vectors; j++) {
                        struct loop_expr *index[RANK_MAX];
                        state_index(s, 0, i, index);
                        if (!state_store(s, loop_tile_entry(s->arena, t->totals, i, j), index,
                                         plus(e, first, number(e, j * s->lanes)),
                                         b->live - j * s->lanes))
                                return false;
                }
        return true;
}

static bool write_tile(struct kernel_state *s, int rows, int columns)
{
        (void)rows;
        struct blocks *b = (struct blocks *)s;
        struct emit *e = s->e;
        struct tile t = { .b = b, .positions = columns, .vectors = divide_up(b->live, s->lanes) };
        struct loop_expr *extent = emit_extent(e, op_result(s->op)->type, 2);
        struct loop_expr *position =
                plus(e, emit_op(e, LOOP_MUL, s->image, extent), s->position[0]);
        t.x_at = emit_let(e, "x_at", state_x(s));
        t.row_at = emit_let(e, "row_at", times(e, position, b->bits.blocks));
        t.totals = emit_var(e, "total", LOOP_VECTOR(E_F32, s->lanes), NULL);
        t.totals->rows = columns;
        t.totals->columns = t.vectors;
        struct loop_expr *w = plus(e, times(e, b->panel, b->panel_size),
                                   times(e, b->part, s->lanes * s->multiply->channels));
        w = emit_let(e, "w_at", w);
        struct loop_expr *scale =
                plus(e, times(e, b->panel, b->width * b->bits.blocks), times(e, b->part, s->lanes));
        scale = emit_let(e, "scale_at", scale);
        struct loop_expr *block;
        if (b->outer) {
                const int64_t outers = b->bits.outers, each = b->bits.blocks / outers;
                struct loop_expr *at = plus(e, times(e, b->panel, b->width * outers),
                                            times(e, b->part, s->lanes));
                at = emit_let(e, "outer_at", at);
                struct loop_expr *outer = emit_for(e, "outer", number(e, 0), number(e, outers));
                load_outer(&t, plus(e, at, times(e, outer, b->width)));
                block = emit_for(e, "inner", number(e, 0), number(e, each));
                block = emit_let(e, "block", plus(e, times(e, outer, each), block));
        } else {
                block = emit_for(e, "block", number(e, 0), number(e, b->bits.blocks));
        }
        begin_sums(&t, block);
        scale = plus(e, scale, times(e, block, b->width));
        if (b->floats)
                load_centers(&t, scale);
        add_words(&t, plus(e, t.x_at, times(e, block, b->bits.block)),
                  plus(e, w, times(e, block, b->bits.bytes * b->width)));
        if (b->floats)
                add_float_sums(&t, scale);
        else
                add_sums(&t, block, scale);
        emit_end(e);
        if (b->outer)
                emit_end(e);
        return store(&t);
}

/* ---- panels ---- */

/* Writes `outputs` outputs of a panel, a tile's width at a time; the last tile may be narrower. */
static bool write_panel(struct blocks *b, struct loop_expr *from, struct loop_expr *to,
                        int64_t outputs)
{
        struct emit *e = b->s.e;
        int vectors = b->s.schedule.vectors;
        int64_t width = vectors * b->s.lanes, whole = outputs / width;
        bool good = true;
        if (whole) {
                b->part = times(e, emit_for(e, "part", number(e, 0), number(e, whole)), vectors);
                b->live = (int)width;
                good = state_each_tile(&b->s, from, to, write_tile);
                emit_end(e);
        }
        b->live = (int)(outputs - whole * width);
        b->part = number(e, whole * vectors);
        return good && (!b->live || state_each_tile(&b->s, from, to, write_tile));
}

static bool write_panels(struct kernel_state *s, struct loop_expr *from, struct loop_expr *to,
                         struct loop_expr *first, struct loop_expr *end)
{
        struct blocks *b = (struct blocks *)s;
        struct emit *e = s->e;
        int64_t whole = b->outputs / b->width;
        bool good = true;
        if (!b->floats) {
                b->steps = emit_parameter(e, op_operand(s->op, STEPS));
                b->sums = emit_parameter(e, op_operand(s->op, SUMS));
        }
        b->scales = emit_parameter(e, op_operand(s->op, SCALES));
        if (op_operand(s->op, ZEROS))
                b->zeros = emit_parameter(e, op_operand(s->op, ZEROS));
        if (b->bits.outers)
                b->outer = emit_parameter(e, op_operand(s->op, BLOCKS_OUTER));
        if (b->bits.minima)
                b->minima = emit_parameter(e, op_operand(s->op, BLOCKS_MINIMA));
        if (whole) {
                struct loop_expr *stop =
                        whole < s->panels ? minimum(e, end, number(e, whole)) : end;
                b->panel = emit_for(e, "panel", first, stop);
                good = write_panel(b, from, to, b->width);
                emit_end(e);
        }
        if (whole < s->panels && good) {
                b->panel = emit_for(e, "panel", maximum(e, first, number(e, whole)), end);
                good = write_panel(b, from, to, b->outputs % b->width);
                emit_end(e);
        }
        return good;
}

/* ---- the kernel state ---- */

struct kernel_state *blocks_prepare(const struct kernel_state *common)
{
        struct blocks *b = ARENA_NEW(common->arena, struct blocks);
        struct kernel_state *s = &b->s;
        *s = *common;
        b->bits = packed_bits_of(s->op);
        s->multiply = packed_bits_multiply(s->op, s->target);
        b->width = b->bits.vectors * b->bits.lanes;
        b->outputs = op_int(s->op, "outputs");
        b->panel_size = b->bits.blocks * b->bits.bytes * b->width;
        b->zero = op_int(s->op, "zero");
        b->floats = op_operand(s->op, X)->type->element == E_F32;
        s->write = write_panels;
        s->panels = type_extent(op_operand(s->op, W)->type, 0);
        s->panel_width = b->width;
        s->last_width = b->outputs - (s->panels - 1) * b->width;
        s->spatial_count = 1;
        const dim_t rows = op_result(s->op)->type->dims[2];
        s->open = dim_is_static(rows) ? NULL : emit_dim(s->e, rows);
        s->spatial[0] = (struct spatial){ .extent = dim_bound(s->e->m, rows),
                                          .window = 1,
                                          .x_step = s->x.stride[2],
                                          .y_step = s->y.stride[2] };
        state_tiling(s);
        bool fits = s->multiply && (s->multiply->body || b->floats) &&
                    s->multiply->outputs == s->lanes &&
                    b->width % (s->schedule.vectors * s->lanes) == 0 && s->x.stride[3] == 1 &&
                    s->schedule.vectors <= TILE_MAX && s->column.size <= TILE_MAX && !s->prologue;
        for (int i = STEPS; i < s->op->operand_count && fits; i++)
                fits = !op_operand(s->op, i) || !emit_local(s->e, op_operand(s->op, i))->inside;
        return fits ? s : NULL;
}
