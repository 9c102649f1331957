/* SPDX-License-Identifier: MIT */
/* Writes attention by warp-group MMA (attention_warps.c). A block has 64 rows for each four warps.
 * Queries, keys and values lie in swizzle lines, which the instruction reads itself: queries and
 * keys as they are, values transposed. So the scores of 64 rows read the keys once, where a warp by
 * itself reads them for its 16 rows.
 *
 *      MMA     scores 0 |          scores 1, sums 0  |          scores 2, sums 1  |  ..
 *      lanes            | shares 0                   | shares 1                   | shares 2
 *
 * While lanes compute the shares of a block of keys, the shares of the block before are multiplied
 * by its values: an iteration starts both products, and waits for the scores alone before its lanes
 * go on; shares and sums are used when all MMA is done. Keys are copied one iteration ahead of
 * values; there are two stages of each. */
#include "engines/grid/attention_block.h"

enum { STAGES = 2 };

/* ---- what fits ---- */

const struct multiply *attention_group_multiply(const struct attention *a,
                                                const struct target *target)
{
        const struct type *x = op_operand(a->first, 0)->type, *w = op_operand(a->first, 1)->type,
                          *shares = op_operand(a->second, 0)->type,
                          *values = op_operand(a->second, 1)->type;
        const int channels = MULTIPLY_SWIZZLE * COPY_BYTES / element_info[x->element].bytes;
        const struct multiply *m =
                multiply_find(target, x->element, w->element, true, TILE_OWN_LANES, channels, 0);
        return m && multiply_by_warp_group(m) && shares->element == x->element &&
                               values->element == x->element
                       ? m
                       : NULL;
}

/* Does every row see at least one key? */
static bool sees_keys(const struct attention *a)
{
        const struct band band = attention_band(a);
        return band.high >= 0 && band.rows - 1 + band.low < type_extent(a->scores->type, COLUMN);
}

bool attention_group_of(const struct attention *a, const struct target *target,
                        const struct schedule_grid *s, struct attention_tile *t)
{
        const struct multiply *m = attention_group_multiply(a, target);
        const struct type *x = op_operand(a->first, 0)->type, *scores = a->scores->type;
        if (!m || m->sum != E_F32 || element_info[x->element].bytes != 2 ||
            !dim_equal(x->dims[GROUP], scores->dims[GROUP]) ||
            !dim_equal(x->dims[ROW], scores->dims[ROW]) || s->keys <= 0 || s->parts != 1 ||
            !sees_keys(a))
                return false;
        *t = (struct attention_tile){ .rows = s->tile,
                                      .warps = s->warps,
                                      .parts = 1,
                                      .keys = s->keys,
                                      .depth = (int)type_extent(x, COLUMN),
                                      .width = (int)type_extent(op_result(a->second)->type, COLUMN),
                                      .fragment = m->positions / MULTIPLY_WARPS,
                                      .lanes = m->outputs,
                                      .group = m->channels / MULTIPLY_SWIZZLE,
                                      .bytes = element_info[x->element].bytes,
                                      .iterations = divide_up(type_extent(scores, COLUMN), s->keys),
                                      .warp_group = true };
        return t->rows > 0 && t->rows == t->warps * t->fragment && t->warps % MULTIPLY_WARPS == 0 &&
               t->warps <= GRID_WARPS_MAX && t->iterations > 1 &&
               t->keys % MULTIPLY_TRANSPOSED == 0 && t->keys <= MULTIPLY_WIDE &&
               t->width <= MULTIPLY_WIDE && t->depth % m->channels == 0 &&
               t->width % m->channels == 0 && attention_group_shared(t) <= GRID_SHARED_MAX;
}

int64_t attention_group_shared(const struct attention_tile *t)
{
        enum { ALIGN = 1024 };          /* Swizzle lines, and so all buffers, are aligned to this
                                         * many bytes. */
        const int64_t of_row = round_up((int64_t)t->rows * 4, ALIGN),
                      of_lanes = round_up((int64_t)t->rows * TILE_ROW_LANES * 4, ALIGN);
        const int64_t operands =
                (int64_t)t->rows * t->depth + STAGES * (int64_t)t->keys * (t->depth + t->width);
        return operands * t->bytes + 3 * of_row + 2 * of_lanes + ALIGN;
}

/* ---- products ---- */

static void make_lines(struct loop_stmt *s)
{
        s->tiles.swizzle = MULTIPLY_SWIZZLE;
        s->tiles.warp_group = true;
}

/* Multiplies the queries by the keys of an iteration, one line of channels after the other. */
static void multiply_keys(struct block *b, struct loop_expr *iteration)
{
        const struct attention_tile *t = &b->t;
        const int line = t->group * MULTIPLY_SWIZZLE;
        b->number = iteration;
        for (int i = 0; i < t->depth / line; i++) {
                struct loop_stmt *s = attention_multiply(
                        b, b->tile, b->qs, number(b->e, (int64_t)i * t->rows * line), b->ks, line);
                s->b = plus(b->e, s->b, number(b->e, (int64_t)i * t->keys * line));
                s->tiles.step = line;
                s->tiles.jump = t->fragment * line;
                make_lines(s);
        }
}

/* Multiplies the shares by the values of an iteration. */
static void multiply_values(struct block *b, struct loop_expr *iteration)
{
        b->number = iteration;
        struct loop_stmt *s = attention_multiply(b, b->acc, NULL, loop_use(b->e->arena, b->shares),
                                                 b->vs, b->t.keys);
        s->tiles.transposed = true;
        make_lines(s);
}

/* ---- iterations ---- */

/* Lets lanes compute the shares of an iteration's scores, while copies of keys and values are under
 * way. */
static void write_scores(struct block *b, struct loop_expr *iteration, struct loop_expr *to)
{
        struct emit *e = b->e;
        begin_warps(b);
        struct loop_expr *next = emit_let(e, "next", plus(e, iteration, number(e, 1)));
        emit_if(e, emit_op(e, LOOP_LT, next, to));
        attention_copy_keys(b, next);
        emit_end(e);
        attention_copy_values(b, iteration);
        b->key_at = emit_let(e, "first_key", times(e, iteration, b->t.keys));
        attention_scores(b);
        attention_shares(b);
        attention_rows(b);
        emit_end(e);
}

static void begin_block(struct block *b, struct loop_expr *from)
{
        begin_warps(b);
        attention_copy_queries(b);
        attention_copy_keys(b, from);
        attention_begin_rows(b);
        emit_end(b->e);
        wait_for_all(b);
}

void attention_group_iterations(struct block *b, struct loop_expr *from, struct loop_expr *to)
{
        struct emit *e = b->e;
        b->shares = attention_new_tile(b, "shares", b->t.keys);
        begin_block(b, from);
        b->tile = attention_new_tile(b, "scores", b->t.keys);
        multiply_keys(b, from);
        add(b, STMT_SETTLE);
        write_scores(b, from, to);
        begin_warps(b);
        attention_give_shares(b);
        emit_end(e);
        wait_for_all(b);
        struct loop_expr *iteration = emit_for(e, "iteration", plus(e, from, number(e, 1)), to);
        b->tile = attention_new_tile(b, "scores", b->t.keys);
        multiply_keys(b, iteration);
        multiply_values(b, minus(e, iteration, number(e, 1)));
        add(b, STMT_SETTLE)->code = 1;
        write_scores(b, iteration, to);
        add(b, STMT_SETTLE);
        begin_warps(b);
        on_tile(b, STMT_SCALE, b->acc, b->factor, first_of_warp(b));
        attention_give_shares(b);
        emit_end(e);
        wait_for_all(b);
        emit_end(e);
        multiply_values(b, minus(e, to, number(e, 1)));
        add(b, STMT_SETTLE);
}
