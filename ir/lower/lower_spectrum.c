/* SPDX-License-Identifier: MIT */
/* Lowering of spectrum: lines along an axis are transformed in two buffers of the kernel's own,
 * which hold the real parts of all elements and behind them the imaginary ones. Several lines lie
 * side by side where they are short, or where they do in memory, so that the loops over them have
 * vectors; a single line has them along the elements of a transform. */
#include "ir/lower/lower_emit.h"
#include "ir/lower/spectrum_emit.h"
#include "ir/tensor/spectrum.h"

#include <string.h>

enum {
        LINES = 16,                     /* So many lines are transformed at a time, */
        LINE_SHORT = 256,               /* of those that lie one behind the other if they have
                                         * fewer elements than this, */
        LINES_MOST = 1 << 17            /* and no more elements together than this. */
};

/* Where the elements that an axis transforms lie: a value, or memory between two axes. */
struct side {
        const struct value *value;      /* NULL: it is memory. */
        struct loop_buffer *memory;
        dim_t dims[RANK_MAX];           /* These are the dimensions but for parts. */
        int parts;
        int parts_at;                   /* They lie in front of this dimension. */
};

struct lines {
        struct emit *e;
        const struct op *op;
        struct spectrum_plan plan;
        enum element element;
        int axis, rank;                 /* rank: without the parts. */
        int64_t table;                  /* The axis's table begins there. */
        bool inverse, half;
        double scale;
        struct side from, to;
        int64_t count;                  /* So many lines lie side by side in the buffers. */
        bool along_inner;               /* They are neighbours in dimensions behind the axis; or in
                                         * those before it. */
        struct loop_expr *before, *behind; /* So many lines are there, before the axis and behind
                                            * it. */
        bool is_real;                   /* The imaginary parts in `at` are 0, and not there. */
        bool is_apart;                  /* Lines that are transformed together have buffers of
                                         * their own, so that others may be at the same time. */
        bool each_nest;                 /* Each nest does all lines; or all nests do some. */
        struct loop_expr *outer, *inner; /* These are the indices of the first line. */
        struct loop_expr *base;         /* The buffers of these lines begin there. */
        int opened;                     /* So many scopes are open for them. */
        struct loop_buffer *at, *other; /* The data is in `at`. */
};

static struct loop_expr *add(struct lines *l, struct loop_expr *a, struct loop_expr *b)
{
        return emit_op(l->e, LOOP_ADD, a, b);
}

static struct loop_expr *times(struct lines *l, struct loop_expr *a, int64_t by)
{
        return emit_op_int(l->e, LOOP_MUL, a, by);
}

static struct loop_expr *open_loop(struct lines *l, const char *name, int64_t from, int64_t to)
{
        return emit_for(l->e, name, emit_int(l->e, from), emit_int(l->e, to));
}

/* Returns the product of some dimensions of a side. */
static struct loop_expr *extents(struct lines *l, const dim_t *dims, int first, int end)
{
        struct loop_expr *all = emit_int(l->e, 1);
        for (int d = first; d < end; d++)
                all = emit_op(l->e, LOOP_MUL, all, emit_dim(l->e, dims[d]));
        return all;
}

/* ---- the sides ---- */

/* Returns the index of element `at` of line number `line` of those that lie side by side, as
 * positions before, along, and behind the axis. */
static void find_index(struct lines *l, struct loop_expr *at, struct loop_expr *line,
                       struct loop_expr *index[3])
{
        index[0] = l->along_inner ? l->outer : add(l, l->outer, line);
        index[1] = at;
        index[2] = l->along_inner ? add(l, l->inner, line) : l->inner;
}

/* Returns a position in dimensions first to end - 1, where the parts lie in front of parts_at. */
static struct loop_expr *with_part(struct lines *l, const struct side *side, int first, int end,
                                   struct loop_expr *at, int part)
{
        struct loop_expr *behind = extents(l, side->dims, side->parts_at, end);
        struct loop_expr *before = emit_int(l->e, part), *rest = at;
        if (side->parts_at == end) {
                before = add(l, times(l, at, side->parts), before);
                rest = emit_int(l->e, 0);
        } else if (side->parts_at > first) {
                before = add(l, times(l, emit_op(l->e, LOOP_DIV, at, behind), side->parts), before);
                rest = emit_op(l->e, LOOP_REM, at, behind);
        }
        return add(l, emit_op(l->e, LOOP_MUL, before, behind), rest);
}

/* Returns where a part lies in the memory of a side. */
static struct loop_expr *position(struct lines *l, const struct side *side,
                                  struct loop_expr *const index[3], int part)
{
        struct loop_expr *all = extents(l, side->dims, l->axis + 1, l->rank), *before = index[0],
                         *behind = index[2];
        if (side->parts > 1 && side->parts_at <= l->axis) {
                before = with_part(l, side, 0, l->axis, before, part);
        } else if (side->parts > 1) {
                behind = with_part(l, side, l->axis + 1, l->rank, behind, part);
                all = times(l, all, side->parts);
        }
        before = emit_op(l->e, LOOP_MUL, before, emit_dim(l->e, side->dims[l->axis]));
        return add(l, emit_op(l->e, LOOP_MUL, add(l, before, index[1]), all), behind);
}

/* Returns the index in dims of a flat one in dimensions first to end - 1, but for parts. */
static void split_index(struct lines *l, const struct side *side, int first, int end,
                        struct loop_expr *at, struct loop_expr **index)
{
        dim_t flat = dim_of(1);
        for (int d = first; d < end; d++)
                flat = dim_binary(op_module(l->op), DIM_MUL, flat, side->dims[d]);
        emit_reindex(l->e, 1, &flat, &at, end - first, side->dims + first, index + first);
}

static struct loop_expr *load_part(struct lines *l, struct loop_expr *const index[3], int part)
{
        const struct side *from = &l->from;
        struct loop_expr *all[RANK_MAX], *full[RANK_MAX];
        if (part >= from->parts)
                return NULL;
        if (!from->value ||
            (!emit_local(l->e, from->value)->inside && !value_is_constant(from->value))) {
                struct loop_buffer *b =
                        from->value ? emit_parameter(l->e, from->value) : from->memory;
                return loop_load(l->e->arena, b, position(l, from, index, part));
        }
        split_index(l, from, 0, l->axis, index[0], all);
        all[l->axis] = index[1];
        split_index(l, from, l->axis + 1, l->rank, index[2], all);
        for (int d = 0; d < l->rank; d++)
                full[d + (d >= from->parts_at)] = all[d];
        full[from->parts_at] = emit_int(l->e, part);
        return emit_element(l->e, from->value, full);
}

static void store_parts(struct lines *l, struct loop_expr *const index[3], struct complex_expr y)
{
        for (int part = 0; part < l->to.parts; part++)
                emit_store(l->e, l->to.memory, position(l, &l->to, index, part),
                           part ? y.im : y.re);
}

/* ---- the buffers ---- */

static struct loop_expr *part_at(struct lines *l, struct loop_expr *at, int part)
{
        return part ? add(l, at, emit_int(l->e, l->plan.size * l->count)) : at;
}

static struct complex_expr load(struct lines *l, struct loop_buffer *b, struct loop_expr *at)
{
        at = add(l, l->base, at);
        struct complex_expr x = { emit_let(l->e, "x", loop_load(l->e->arena, b, at)), NULL };
        if (!l->is_real)
                x.im = emit_let(l->e, "x", loop_load(l->e->arena, b, part_at(l, at, 1)));
        return x;
}

static void store(struct lines *l, struct loop_buffer *b, struct loop_expr *at,
                  struct complex_expr y)
{
        struct loop_expr *zero = loop_float(l->e->arena, l->element, 0);
        at = add(l, l->base, at);
        emit_store(l->e, b, at, y.re ? y.re : zero);
        if (!l->is_real)
                emit_store(l->e, b, part_at(l, at, 1), y.im ? y.im : zero);
}

static struct complex_expr swapped(struct complex_expr x)
{
        return (struct complex_expr){ x.im, x.re };
}

static struct complex_expr entries(struct lines *l, int64_t first, struct loop_expr *index,
                                   int64_t apart)
{
        const struct value *table = op_operand(l->op, 1);
        struct loop_expr *re = add(l, emit_int(l->e, l->table + first), index),
                         *im = add(l, emit_int(l->e, l->table + first + apart), index);
        struct complex_expr w = { emit_let(l->e, "w", emit_element(l->e, table, &re)), NULL };
        w.im = emit_let(l->e, "w", emit_element(l->e, table, &im));
        return w;
}

static void turn(struct lines *l)
{
        struct loop_buffer *at = l->at;
        l->at = l->other;
        l->other = at;
        l->is_real = false;
}

/* ---- lines ---- */

/* Opens the loop over lines of this number, `count` at a time, and sets the number of a turn and
 * the first line of it: the last ones may be done twice. */
static void open_some(struct lines *l, const char *name, struct loop_expr *all, int64_t count,
                      struct loop_expr **turn, struct loop_expr **first)
{
        int64_t known;
        if (count == 1) {
                *turn = *first = emit_for(l->e, name, emit_int(l->e, 0), all);
        } else if (loop_is_int(all, &known)) {
                *turn = open_loop(l, name, 0, divide_up(known, count));
                *first = times(l, *turn, count);
                if (known % count)
                        *first = emit_let(l->e, "first",
                                          emit_op_int(l->e, LOOP_MIN, *first, known - count));
        }
        l->opened++;
}

static void open_lines(struct lines *l)
{
        struct loop_expr *outer, *inner, *turns = l->behind;
        int64_t known;
        open_some(l, "outer", l->before, l->along_inner ? 1 : l->count, &outer, &l->outer);
        open_some(l, "inner", l->behind, l->along_inner ? l->count : 1, &inner, &l->inner);
        if (l->along_inner && l->count > 1 && loop_is_int(l->behind, &known))
                turns = emit_int(l->e, divide_up(known, l->count));
        l->base = emit_int(l->e, 0);
        if (l->is_apart)
                l->base = times(l, add(l, emit_op(l->e, LOOP_MUL, outer, turns), inner),
                                2 * l->plan.size * l->count);
}

static void close_lines(struct lines *l)
{
        for (; l->opened; l->opened--)
                emit_end(l->e);
}

static void open_nest(struct lines *l)
{
        if (l->each_nest)
                open_lines(l);
}

static void close_nest(struct lines *l)
{
        if (l->each_nest)
                close_lines(l);
}

/* ---- passes ---- */

/* Writes the transforms of a pass for one p, whose twiddles are w; apart: from one element of the
 * transform to the next. */
static void write_transform(struct lines *l, int radix, const struct complex_expr *w,
                            struct loop_expr *from, int64_t apart, struct loop_expr *to,
                            int64_t to_apart)
{
        struct complex_expr x[SPECTRUM_RADIX_MAX] = { { NULL, NULL } }, y[SPECTRUM_RADIX_MAX];
        for (int k = 0; k < radix; k++)
                x[k] = load(l, l->at, add(l, from, emit_int(l->e, k * apart)));
        spectrum_emit(l->e, radix, x, y);
        l->is_real = false;
        for (int k = 0; k < radix; k++)
                store(l, l->other, add(l, to, emit_int(l->e, k * to_apart)),
                      k && w ? spectrum_product(l->e, y[k], w[k]) : y[k]);
}

/* Writes the first pass of a single line, along p, and puts what it gives in order. */
static void write_first_pass(struct lines *l, int radix, int64_t m)
{
        struct complex_expr w[SPECTRUM_RADIX_MAX];
        open_nest(l);
        struct loop_expr *p = open_loop(l, "p", 0, m);
        for (int k = 1; k < radix; k++)
                w[k] = entries(l, 2 * m * (k - 1), p, m);
        write_transform(l, radix, w, p, m, p, m);
        emit_end(l->e);
        close_nest(l);
        turn(l);
        for (int part = 0; part < 2; part++) {
                open_nest(l);
                p = open_loop(l, "p", 0, m);
                struct loop_expr *k = open_loop(l, "k", 0, radix);
                struct loop_expr *from = part_at(l, add(l, times(l, k, m), p), part),
                                 *to = part_at(l, add(l, times(l, p, radix), k), part);
                emit_store(l->e, l->other, add(l, l->base, to),
                           loop_load(l->e->arena, l->at, add(l, l->base, from)));
                emit_end(l->e);
                emit_end(l->e);
                close_nest(l);
        }
        turn(l);
}

static void write_pass(struct lines *l, int pass, int64_t s, int64_t m)
{
        struct complex_expr w[SPECTRUM_RADIX_MAX];
        const int radix = l->plan.radix[pass];
        const int64_t first = spectrum_table_at(&l->plan, pass);
        open_nest(l);
        struct loop_expr *p = open_loop(l, "p", 0, m), *q = NULL;
        if (l->each_nest) /* Loops that are perfectly nested become one. */
                q = open_loop(l, "q", 0, s);
        for (int k = 1; k < radix && m > 1; k++)
                w[k] = entries(l, first + 2 * m * (k - 1), p, m);
        if (!q)
                q = open_loop(l, "q", 0, s);
        write_transform(l, radix, m > 1 ? w : NULL, add(l, times(l, p, s), q), s * m,
                        add(l, times(l, p, s * radix), q), s);
        emit_end(l->e);
        emit_end(l->e);
        close_nest(l);
        turn(l);
}

static void write_passes(struct lines *l)
{
        int64_t s = l->count, m = l->plan.size;
        for (int i = 0; i < l->plan.passes; i++) {
                const int radix = l->plan.radix[i];
                m /= radix;
                if (s == 1 && m > 1)
                        write_first_pass(l, radix, m);
                else
                        write_pass(l, i, s, m);
                s *= radix;
        }
}

/* ---- what the lines are, and become ---- */

static bool is_convolved(const struct lines *l) { return spectrum_is_convolved(&l->plan); }

/* Writes elements first .. end - 1 of the lines into the buffer; mirrored: element i is the
 * conjugate of n - i. */
static void load_elements(struct lines *l, int64_t first, int64_t end, bool mirrored)
{
        struct loop_expr *index[3];
        if (first >= end)
                return;
        open_nest(l);
        struct loop_expr *i = open_loop(l, "i", first, end), *at = i;
        if (mirrored)
                at = emit_op(l->e, LOOP_SUB, emit_int(l->e, l->plan.extent), i);
        struct loop_expr *line = open_loop(l, "line", 0, l->count);
        struct complex_expr c = { NULL, NULL };
        if (is_convolved(l))
                c = entries(l, spectrum_table_at(&l->plan, l->plan.passes), i, l->plan.extent);
        find_index(l, at, line, index);
        struct complex_expr x = { load_part(l, index, 0), NULL };
        x.im = load_part(l, index, 1);
        x.re = emit_let(l->e, "x", x.re);
        x.im = x.im ? emit_let(l->e, "x", x.im) : NULL;
        if (mirrored && x.im)
                x.im = loop_op(l->e->arena, LOOP_NEG, x.im, NULL, NULL);
        if (l->inverse)
                x = swapped(x);
        if (is_convolved(l))
                x = spectrum_product(l->e, x, c);
        store(l, l->at, add(l, times(l, i, l->count), line), x);
        emit_end(l->e);
        emit_end(l->e);
        close_nest(l);
}

/* Writes zeros behind the elements of a convolution. */
static void load_zeros(struct lines *l)
{
        const struct complex_expr zero = { NULL, NULL };
        open_nest(l);
        const int64_t begin = l->plan.extent * l->count, end = l->plan.size * l->count;
        store(l, l->at, open_loop(l, "i", begin, end), zero);
        emit_end(l->e);
        close_nest(l);
}

/* Multiplies by the transform of 1 / c; the parts change places, which makes of the next transform
 * the inverse one. */
static void multiply_by_filter(struct lines *l)
{
        const int64_t n = l->plan.extent, size = l->plan.size;
        open_nest(l);
        struct loop_expr *i = open_loop(l, "i", 0, size);
        const struct complex_expr f =
                entries(l, spectrum_table_at(&l->plan, l->plan.passes) + 2 * n, i, size);
        struct loop_expr *line = open_loop(l, "line", 0, l->count);
        struct loop_expr *at = add(l, times(l, i, l->count), line);
        store(l, l->other, at, swapped(spectrum_product(l->e, load(l, l->at, at), f)));
        emit_end(l->e);
        emit_end(l->e);
        close_nest(l);
        turn(l);
}

static struct loop_expr *scaled(struct lines *l, struct loop_expr *a)
{
        return l->scale == 1
                       ? a
                       : emit_op(l->e, LOOP_MUL, a, loop_float(l->e->arena, l->element, l->scale));
}

static void store_elements(struct lines *l)
{
        struct loop_expr *index[3];
        const int64_t end = dim_extent(l->to.dims[l->axis]);
        open_nest(l);
        struct loop_expr *i = open_loop(l, "i", 0, end);
        struct loop_expr *line = open_loop(l, "line", 0, l->count);
        struct complex_expr c = { NULL, NULL };
        if (is_convolved(l))
                c = entries(l, spectrum_table_at(&l->plan, l->plan.passes), i, l->plan.extent);
        find_index(l, i, line, index);
        struct complex_expr y = load(l, l->at, add(l, times(l, i, l->count), line));
        if (is_convolved(l))
                y = spectrum_product(l->e, swapped(y), c);
        if (l->inverse)
                y = swapped(y);
        y.re = scaled(l, y.re);
        y.im = scaled(l, y.im);
        store_parts(l, index, y);
        emit_end(l->e);
        emit_end(l->e);
        close_nest(l);
}

static void write_lines(struct lines *l)
{
        const int64_t n = l->plan.extent;
        const bool folded = l->inverse && l->half;
        l->is_real = l->from.parts == 1 && !l->inverse && !is_convolved(l) && l->plan.size > 1;
        load_elements(l, 0, folded ? n / 2 + 1 : n, false);
        load_elements(l, n / 2 + 1, folded ? n : 0, true);
        if (is_convolved(l)) {
                load_zeros(l);
                write_passes(l);
                multiply_by_filter(l);
        }
        write_passes(l);
        store_elements(l);
}

/* Returns how many of `lines` lie side by side, whatever the number of threads: it decides which
 * operations have vectors. A divisor leaves none to be done twice, which would have to wait for
 * others; launches are for divisors alone. */
static int64_t lines_at_once(const struct lines *l, int64_t lines)
{
        int64_t count = lines < LINES ? lines : LINES;
        while (count > 1 && lines % count && (l->each_nest || count > LINES / 2))
                count--;
        if (count > 1 && lines % count && !l->each_nest)
                count = LINES;
        return count < 1 || count * l->plan.size > LINES_MOST ? 1 : count;
}

static void write_axis(struct lines *l)
{
        const struct module *m = op_module(l->op);
        int64_t outer = -1, inner = -1, room;
        l->before = extents(l, l->from.dims, 0, l->axis);
        l->behind = extents(l, l->from.dims, l->axis + 1, l->rank);
        (void)loop_is_int(l->before, &outer);
        (void)loop_is_int(l->behind, &inner);
        l->along_inner = inner != 1;
        l->each_nest = emit_is_launched(l->e);
        l->is_apart = l->each_nest || l->e->options->threads > 1;
        l->count = l->along_inner                                    ? lines_at_once(l, inner)
                   : l->plan.size < LINE_SHORT && outer >= LINES / 2 ? lines_at_once(l, outer)
                                                                     : 1;
        room = 2 * l->plan.size * l->count;
        if (l->is_apart) {
                room = 2 * l->plan.size;
                for (int d = 0; d < l->rank; d++)
                        room *= d == l->axis ? 1 : dim_bound(m, l->from.dims[d]);
        }
        l->at = emit_scratch(l->e, "lines", l->element, room);
        l->other = emit_scratch(l->e, "passes", l->element, room);
        if (!l->each_nest)
                open_lines(l);
        write_lines(l);
        if (!l->each_nest)
                close_lines(l);
}

/* ---- axes ---- */

static struct side side_of(const struct op *op, const struct value *v, struct loop_buffer *memory)
{
        const struct type *t = v->type;
        const int parts = spectrum_parts(op);
        struct side side = {
                .value = v, .memory = memory, .parts = (int)type_extent(t, parts), .parts_at = parts
        };
        for (int d = 0; d < t->rank; d++)
                if (d != parts)
                        side.dims[d - (d > parts)] = t->dims[d];
        return side;
}

static void write_spectrum(struct emit *e, const struct op *op, struct loop_buffer *y)
{
        int count;
        const int64_t *axes = op_ints(op, "axes", &count);
        const bool inverse = op_int(op, "inverse"), half = op_int(op, "half");
        const struct type *t = op_operand(op, 0)->type;
        struct side from = side_of(op, op_operand(op, 0), NULL);
        const struct side to = side_of(op, op_result(op), y);
        /* The half is the last axis: the last to be completed, and the first to be left out. */
        for (int step = 0; step < count; step++) {
                const int number = inverse ? step : count - 1 - step;
                struct lines l = { .e = e,
                                   .op = op,
                                   .plan = spectrum_plan_of(op, number),
                                   .element = t->element,
                                   .axis = (int)axes[number] - (axes[number] > spectrum_parts(op)),
                                   .rank = t->rank - 1,
                                   .inverse = inverse,
                                   .half = half && number == count - 1,
                                   .from = from };
                for (int i = 0; i < number; i++) {
                        const struct spectrum_plan plan = spectrum_plan_of(op, i);
                        l.table += spectrum_table_extent(&plan);
                }
                l.scale = inverse ? 1 / (double)l.plan.extent : 1;
                if (step == count - 1) {
                        l.to = to;
                } else {
                        l.to = from;
                        l.to.value = NULL;
                        l.to.parts = 2;
                        l.to.parts_at = 0;
                        l.to.dims[l.axis] = to.dims[l.axis];
                        int64_t all = 2;
                        for (int d = 0; d < l.rank; d++)
                                all *= dim_bound(op_module(op), l.to.dims[d]);
                        l.to.memory = emit_scratch(e, "between", t->element, all);
                }
                write_axis(&l);
                from = l.to;
        }
}

struct loop_expr *element_spectrum(struct emit *e, const struct op *op, int result,
                                   struct loop_expr *const *index)
{
        (void)result;
        struct loop_buffer *y = emit_place_whole(e, op);
        struct scope *saved = emit_prologue(e);
        if (!type_is_empty(op_result(op)->type))
                write_spectrum(e, op, y);
        emit_resume(e, saved);
        return emit_load_whole(e, op, index);
}
