/* The scheduled lowering of convolve_packed: GEMM and convolution by one register tile.
 *
 *                    V * 16 outputs of a panel
 *                  +--------+--------+
 *      positions   | acc    | acc    |     acc{p, j} += splat(x[position p, channel k]) * w[k, vector j]
 *      rows *      | {0,0}  | {0,1}  |
 *      columns     | acc    | acc    |     for every channel and window offset k, in the order of w's memory:
 *                  | {1,0}  | {1,1}  |     a panel is read from front to back
 *                  +--------+--------+
 *
 * The loops from outside: tasks, images, outer spatial dimensions, groups, strips of rows, panels, rows of tiles,
 * tiles; then the sums; then the epilogue on each vector of the tile, as the element functions of the fusion say
 * it. A dimension that tiles do not divide is cut into tiles of two sizes that differ by one, so no edge is slow.
 * The blocking is that of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008),
 * applied to direct convolution as in Georganas et al., arXiv 1808.05567. */
#include <string.h>

#include "ir/loop_vector.h"
#include "ir/lower_emit.h"
#include "schedule/access.h"
#include "schedule/schedule.h"

enum { PANEL_LANES = 16, WINDOW_MAX = 8, SUMS_MAX = WINDOW_MAX + 2 };

/* A dimension in tiles: the first `large` of them have `size` elements, the others one less. */
struct cut { int64_t extent, count, large; int size; };

static struct cut cut_evenly(int64_t extent, int most)
{
        struct cut cut = { .extent = extent, .count = (extent + most - 1) / most };
        cut.size = (int)((extent + cut.count - 1) / cut.count);
        cut.large = extent - cut.count * (cut.size - 1);
        return cut;
}

struct spatial {
        int64_t extent;                 /* positions of the result */
        int64_t window;
        int64_t x_step, x_window;       /* in x, from one position, one offset of the window, to the next */
        int64_t y_step;                 /* where the result is stored */
};

struct packed {
        struct emit *e;
        struct arena *arena;
        struct schedule schedule;
        int lanes;                      /* of a native vector */
        bool has_fma;
        const struct op *op;
        const struct region *region;
        struct value *result;           /* in the index space of op: before the moves at the end */
        struct access x, y;
        struct op *pad;
        struct loop_buffer *xs, *ws, *ys;
        int rank;                       /* of x and y */
        int spatial_count;
        struct spatial spatial[RANK_MAX];
        struct cut row, column;         /* of the last two spatial dimensions */
        int64_t groups, blocks, channels, inner;          /* blocks of x and their channels, in a group */
        int64_t outputs;                /* stored, of a group: with those that pad a block */
        int64_t vectors, panels, panel_size;      /* vectors of 16 in a panel; panels of a group; elements of w */
        /* where the loops are */
        struct loop_expr *image, *group, *panel, *part, *tile_number, *position[RANK_MAX];
};

/* ---- what can be scheduled ---- */

struct op *schedule_contraction(const struct region *region, struct op *op)
{
        for (op = region ? region->first : op; op; op = region ? op->next : NULL)
                if (op->code == OP_convolve_packed)
                        return op;
        return NULL;
}

static struct op *find_contraction(const struct kernel_request *request)
{
        return schedule_contraction(request->region, (struct op *)(uintptr_t)request->op);
}

static bool wants(const struct kernel_request *request)
{
        const struct op *op = find_contraction(request);
        return op && op->schedule;
}

/* Can the spatial dimensions run as one? Then they become that one. */
static void flatten(struct packed *p)
{
        struct spatial one = p->spatial[p->spatial_count - 1];
        unsigned splits = emit_local(p->e, p->result)->splits;
        for (int d = p->spatial_count - 1; d >= 0; d--) {
                const struct spatial *s = &p->spatial[d];
                bool last = d == p->spatial_count - 1;
                if (s->window != 1 || (!last && splits >> (2 + d + 1) & 1) ||
                    (!last && s->extent > 1 && (s->x_step != one.x_step * one.extent ||
                                                s->y_step != one.y_step * one.extent)))
                        return;
                if (!last)
                        one.extent *= s->extent;
        }
        p->spatial[0] = one;
        p->spatial_count = 1;
}

/* the spatial dimensions as the loops see them */
static void find_spatial(struct packed *p)
{
        const struct type *y = op_result(p->op)->type, *w = op_operand(p->op, 1)->type;
        const int64_t *strides = op_ints(p->op, "strides", NULL);
        const int64_t *dilations = op_ints(p->op, "dilations", NULL);
        p->spatial_count = p->rank - 3;
        for (int d = 0; d < p->spatial_count; d++)
                p->spatial[d] = (struct spatial){
                        .extent = y->dims[2 + d], .window = w->dims[2 + d],
                        .x_step = p->x.stride[2 + d] * strides[d],
                        .x_window = p->x.stride[2 + d] * dilations[d],
                        .y_step = p->y.stride[2 + d] };
        if (p->schedule.flat)
                flatten(p);
}

static bool is_float(const struct value *v) { return v->type->element == E_F32; }

static bool prepare(struct packed *p, const struct kernel_request *request)
{
        const struct value *y = op_result(p->op);
        struct access w;
        if (!schedule_parse(p->op, &p->schedule, p->e->diag)) {
                p->e->failed = true;
                return false;
        }
        if (!is_float(op_operand(p->op, 0)) || !is_float(y) || !is_float(request->results[0]) ||
            !type_elements(op_operand(p->op, 0)->type) ||
            !access_read(p->region, op_operand(p->op, 0), &p->x) ||
            !access_read(p->region, op_operand(p->op, 1), &w) || w.value != op_operand(p->op, 1) ||
            !access_store(p->region, request->results[0], &p->result, &p->y, &p->pad) ||
            !type_same_dims(p->result->type, y->type) || p->y.stride[p->rank - 1] != 1)
                return false;
        const struct type *wt = op_operand(p->op, 1)->type;
        p->groups = op_int(p->op, "groups");
        p->blocks = wt->dims[1];
        p->inner = wt->dims[wt->rank - 3];
        p->channels = op_int(p->op, "channels");
        p->outputs = y->type->dims[1] / p->groups * op_int(p->op, "block");
        p->vectors = wt->dims[wt->rank - 2];
        p->panels = wt->dims[0] / p->groups;
        p->panel_size = type_elements(wt) / wt->dims[0];
        int tile = p->schedule.vectors * p->lanes;      /* whole vectors of 16 that divide a panel */
        if (tile % PANEL_LANES || p->vectors % (tile / PANEL_LANES))
                return false;
        find_spatial(p);
        int k = p->spatial_count;
        p->column = cut_evenly(p->spatial[k - 1].extent, p->schedule.columns);
        p->row = cut_evenly(k > 1 ? p->spatial[k - 2].extent : 1, p->schedule.rows);
        return p->schedule.split * p->row.size * p->column.size <= TILE_MAX &&
               p->schedule.vectors <= TILE_MAX;
}

/* ---- small pieces ---- */

static struct loop_expr *number(struct packed *p, int64_t value) { return emit_int(p->e, value); }

static struct loop_expr *plus(struct packed *p, struct loop_expr *a, struct loop_expr *b)
{
        return emit_op(p->e, LOOP_ADD, a, b);
}

static struct loop_expr *times(struct packed *p, struct loop_expr *a, int64_t b)
{
        return emit_op_int(p->e, LOOP_MUL, a, b);
}

static struct loop_expr *minimum(struct packed *p, struct loop_expr *a, struct loop_expr *b)
{
        return emit_op(p->e, LOOP_MIN, a, b);
}

static struct loop_stmt *statement(struct packed *p, enum loop_stmt_kind kind)
{
        return loop_append(p->arena, p->e->scope->block, kind);
}

/* the loop over the tiles from..to of a cut that have this size; *at: where a tile begins */
static bool open_tiles(struct packed *p, const struct cut *cut, bool large, const char *name,
                       struct loop_expr *from, struct loop_expr *to, struct loop_expr **tile,
                       struct loop_expr **at)
{
        if (large ? !cut->large : cut->large == cut->count)
                return false;
        if (large && cut->large < cut->count)
                to = minimum(p, to, number(p, cut->large));
        if (!large && cut->large)
                from = emit_op(p->e, LOOP_MAX, from, number(p, cut->large));
        *tile = emit_for(p->e, name, from, to);
        *at = times(p, *tile, large ? cut->size : cut->size - 1);
        *at = plus(p, *at, number(p, large ? 0 : cut->large));
        return true;
}

static int tile_size(const struct cut *cut, bool large) { return large ? cut->size : cut->size - 1; }

/* ---- the sums ---- */

/* One loop of a sum: the window offsets, blocks and channels that an output adds up. */
struct sum_loop { const char *name; int64_t extent, x_step, number_step; };

struct tile {
        int rows, columns, vectors;
        struct loop_variable *sums;     /* [split * rows * columns][vectors] */
        struct loop_expr *x_base, *w_base, *prefetch_base;
};

static struct loop_expr *splat_of(struct packed *p, struct loop_expr *a)
{
        return loop_splat(p->arena, p->lanes, a);
}

/* the products of one channel at one offset: number `k` in the panel, `turn` in the unrolled body */
static void add_products(struct packed *p, const struct tile *t, struct loop_expr *x_at,
                         struct loop_expr *w_at, int64_t x_add, int64_t w_add, int set)
{
        const struct spatial *last = &p->spatial[p->spatial_count - 1], *rows = last - 1;
        struct loop_expr *w[TILE_MAX];
        for (int j = 0; j < t->vectors; j++) {
                struct loop_expr *at = plus(p, w_at, number(p, w_add + j * p->lanes));
                w[j] = emit_let(p->e, "w", loop_load_vector(p->arena, p->ws, at, p->lanes, NULL));
        }
        for (int i = 0; i < t->rows * t->columns; i++) {
                int64_t at = x_add + (i % t->columns) * last->x_step;
                at += t->rows > 1 ? i / t->columns * rows->x_step : 0;
                struct loop_expr *x = loop_load(p->arena, p->xs, plus(p, x_at, number(p, at)));
                x = emit_let(p->e, "a", splat_of(p, x));
                for (int j = 0; j < t->vectors; j++) {
                        int row = set * t->rows * t->columns + i;
                        struct loop_expr *sum = loop_tile_entry(p->arena, t->sums, row, j);
                        struct loop_stmt *s = statement(p, STMT_SET);
                        s->variable = t->sums;
                        s->row = row;
                        s->column = j;
                        s->a = p->has_fma ? loop_op(p->arena, LOOP_FMA, x, w[j], sum)
                                          : plus(p, sum, emit_op(p->e, LOOP_MUL, x, w[j]));
                }
        }
}

static void add_prefetch(struct packed *p, const struct tile *t, struct loop_expr *done)
{
        for (int i = 0; i < p->schedule.prefetch; i++) {
                struct loop_stmt *s = statement(p, STMT_PREFETCH);
                s->buffer = p->ws;
                s->a = plus(p, plus(p, t->prefetch_base, done), number(p, i * PANEL_LANES));
                s->code = 1;
        }
}

/* The loops, then the innermost one unrolled. All terms are multiples of the innermost index' step. */
static void write_sum(struct packed *p, const struct tile *t, const struct sum_loop *loops, int count,
                      struct loop_expr *x_at, int64_t first)
{
        struct loop_expr *w_number = number(p, first);  /* of the channel and offset in the panel */
        int64_t width = p->vectors * PANEL_LANES;
        int opened = 0, unroll = p->schedule.unroll;
        for (int i = 0; i + 1 < count; i++, opened++) {
                struct loop_expr *k = emit_for(p->e, loops[i].name, number(p, 0),
                                               number(p, loops[i].extent));
                x_at = emit_let(p->e, "xi", plus(p, x_at, times(p, k, loops[i].x_step)));
                w_number = plus(p, w_number, times(p, k, loops[i].number_step));
        }
        const struct sum_loop *last = &loops[count - 1];
        int64_t whole = last->extent - last->extent % unroll, w_step = last->number_step * width;
        struct loop_expr *w_at = plus(p, t->w_base, times(p, w_number, width));
        for (int64_t from = 0; from < last->extent; from += from < whole ? whole : 1) {
                bool turns = from < whole;
                struct loop_expr *k = number(p, from);
                if (turns && whole > unroll) {
                        k = emit_for(p->e, last->name, number(p, 0), number(p, whole));
                        emit_loop(p->e, unroll, false);
                }
                struct loop_expr *x = emit_let(p->e, "xk", plus(p, x_at, times(p, k, last->x_step)));
                struct loop_expr *w = emit_let(p->e, "wk", plus(p, w_at, times(p, k, w_step)));
                for (int u = 0; u < (turns ? unroll : 1); u++)
                        add_products(p, t, x, w, u * last->x_step, u * w_step,
                                     (int)(from + u) % p->schedule.split);
                if (turns && p->schedule.prefetch && last->number_step == 1) {
                        int64_t each = p->schedule.prefetch * PANEL_LANES;
                        struct loop_expr *done = plus(p, times(p, w_number, each / unroll),
                                                      times(p, k, each / unroll));
                        add_prefetch(p, t, done);
                }
                if (turns && whole > unroll)
                        emit_end(p->e);
        }
        while (opened-- > 0)
                emit_end(p->e);
}

/* blocks from..from + count of x, each `inner` channels; number: where they begin in the panel */
static void write_sums_of(struct packed *p, const struct tile *t, int64_t from, int64_t count,
                          int64_t inner)
{
        struct sum_loop loops[SUMS_MAX];
        int n = 0;
        int64_t step = p->inner;
        for (int d = p->spatial_count - 1; d >= 0; d--)
                step *= p->spatial[d].window;
        int64_t block_step = step;
        if (count > 1)
                loops[n++] = (struct sum_loop){ "c", count, p->x.stride[1], step };
        for (int d = 0; d < p->spatial_count; d++) {
                const struct spatial *s = &p->spatial[d];
                step /= s->window;
                if (s->window > 1)
                        loops[n++] = (struct sum_loop){ "k", s->window, s->x_window, step };
        }
        if (inner > 1 || !n)
                loops[n++] = (struct sum_loop){ "i", inner, p->x.stride[p->rank - 1], 1 };
        struct loop_expr *x_at = plus(p, t->x_base, number(p, from * p->x.stride[1]));
        write_sum(p, t, loops, n, x_at, from * block_step);
}

static void write_sums(struct packed *p, const struct tile *t)
{
        int64_t whole = p->channels / p->inner, rest = p->channels % p->inner;
        if (whole)
                write_sums_of(p, t, 0, whole, p->inner);
        if (rest)
                write_sums_of(p, t, whole, 1, rest);
        int entries = t->rows * t->columns;
        for (int set = 1; set < p->schedule.split; set++)
                for (int i = 0; i < entries * t->vectors; i++) {
                        int row = i / t->vectors, column = i % t->vectors;
                        struct loop_stmt *s = statement(p, STMT_SET);
                        s->variable = t->sums;
                        s->row = row;
                        s->column = column;
                        s->a = plus(p, loop_tile_entry(p->arena, t->sums, row, column),
                                    loop_tile_entry(p->arena, t->sums, set * entries + row, column));
                }
}

/* ---- the epilogue ---- */

/* index of the vector j of the tile at spatial position i; all but the lane */
static void vector_index(struct packed *p, struct loop_expr *vector, int i, int j, int columns,
                         struct loop_expr **index, struct loop_expr **first_lane)
{
        int64_t block = op_int(p->op, "block"), in_block = block / PANEL_LANES;
        int64_t per_group = op_result(p->op)->type->dims[1] / p->groups;
        struct loop_expr *n = plus(p, vector, number(p, j * p->lanes / PANEL_LANES));
        struct loop_expr *within = number(p, j * p->lanes % PANEL_LANES);
        for (int d = 0; d < p->rank; d++)
                index[d] = number(p, 0);
        index[0] = p->image;
        index[1] = times(p, p->group, per_group);
        if (per_group == 1) {
                within = plus(p, times(p, n, PANEL_LANES), within);
        } else {
                index[1] = plus(p, index[1], emit_op_int(p->e, LOOP_DIV, n, in_block));
                n = emit_op_int(p->e, LOOP_REM, n, in_block);
                within = plus(p, times(p, n, PANEL_LANES), within);
        }
        int first = p->rank - 1 - p->spatial_count;
        for (int d = 0; d < p->spatial_count; d++)
                index[first + d] = p->position[d];
        int last = p->rank - 2;
        index[last] = plus(p, index[last], number(p, i % columns));
        if (p->spatial_count > 1)
                index[last - 1] = plus(p, index[last - 1], number(p, i / columns));
        *first_lane = within;
}

/* what the fusion makes of a vector of sums, stored; live: how many of its lanes are outputs */
static bool write_vector(struct packed *p, struct loop_expr *sum, struct loop_expr **index,
                         struct loop_expr *first_lane, int live)
{
        struct emit *e = p->e;
        struct loop_block *scalar = emit_aside(e);
        struct loop_variable *lane = loop_variable_new(p->arena, "lane", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        struct loop_variable *value = loop_variable_new(p->arena, "sum", LOOP_TYPE(E_F32), VARIABLE_LET);
        lane->number = value->number = e->scope->depth;
        index[p->rank - 1] = loop_use(p->arena, lane);
        emit_define(e, op_result(p->op), index, value);
        struct loop_expr *result = emit_element(e, p->result, index);
        struct loop_expr *at = number(p, p->y.offset);
        for (int d = 0; d < p->rank; d++)
                at = plus(p, at, times(p, index[d], p->y.stride[d]));
        emit_store(e, p->ys, at, result);
        emit_mark_overlaps(e, scalar, at);
        emit_end(e);
        const struct vector_substitution known = { value, sum };
        const struct vector_request request = {
                .arena = p->arena, .lane = lane, .base = first_lane, .lanes = p->lanes,
                .mask = live < p->lanes ? vector_mask(p->arena, p->lanes, number(p, live)) : NULL,
                .substitutions = &known, .substitution_count = 1 };
        return vector_block(&request, scalar, e->scope->block);
}

static bool write_epilogue(struct packed *p, const struct tile *t, int live)
{
        struct loop_expr *vector = plus(p, times(p, p->panel, p->vectors), p->part);
        vector = emit_let(p->e, "vector", vector);
        for (int i = 0; i < t->rows * t->columns; i++)
                for (int j = 0; j < t->vectors; j++) {
                        struct loop_expr *index[RANK_MAX], *first_lane;
                        vector_index(p, vector, i, j, t->columns, index, &first_lane);
                        int left = live - j * p->lanes;
                        if (left > 0 && !write_vector(p, loop_tile_entry(p->arena, t->sums, i, j),
                                                      index, first_lane, left))
                                return false;
                }
        return true;
}

/* ---- tiles ---- */

/* live: outputs of the tile that exist */
static bool write_tile(struct packed *p, int rows, int columns, int live)
{
        struct emit *e = p->e;
        struct tile t = { .rows = rows, .columns = columns, .vectors = (live + p->lanes - 1) / p->lanes };
        if (t.vectors > p->schedule.vectors)
                t.vectors = p->schedule.vectors;
        struct loop_expr *x = number(p, p->x.offset);
        x = plus(p, x, times(p, p->image, p->x.stride[0]));
        x = plus(p, x, times(p, p->group, p->blocks * p->x.stride[1]));
        for (int d = 0; d < p->spatial_count; d++)
                x = plus(p, x, times(p, p->position[d], p->spatial[d].x_step));
        t.x_base = emit_let(e, "x_at", x);
        struct loop_expr *panel = plus(p, times(p, p->group, p->panels), p->panel);
        struct loop_expr *w = plus(p, times(p, panel, p->panel_size), times(p, p->part, PANEL_LANES));
        t.w_base = emit_let(e, "w_at", w);
        if (p->schedule.prefetch) {
                int64_t chunk = p->panel_size / p->schedule.unroll / (p->vectors * PANEL_LANES) *
                                p->schedule.prefetch * PANEL_LANES;
                struct loop_expr *next = minimum(p, plus(p, panel, number(p, 1)),
                                                 number(p, p->panels * p->groups - 1));
                int64_t room = p->panel_size - chunk > 0 ? p->panel_size - chunk : 0;
                struct loop_expr *skip = minimum(p, times(p, p->tile_number, chunk), number(p, room));
                t.prefetch_base = emit_let(e, "next", plus(p, times(p, next, p->panel_size), skip));
        }
        t.sums = emit_var(e, "acc", (struct loop_type){ E_F32, (uint8_t)p->lanes }, NULL);
        t.sums->rows = p->schedule.split * rows * columns;
        t.sums->columns = t.vectors;
        write_sums(p, &t);
        return write_epilogue(p, &t, live);
}

/* all tiles of the rows from..to for the outputs of p->panel, p->part */
static bool write_rows(struct packed *p, struct loop_expr *from, struct loop_expr *to, int live)
{
        bool one = p->spatial_count == 1, good = true;
        struct loop_expr *row = number(p, 0), *column = number(p, 0);
        for (int r = 1; r >= 0 && good; r--) {
                if (!one && !open_tiles(p, &p->row, r, "row", from, to, &row,
                                        &p->position[p->spatial_count - 2]))
                        continue;
                if (one && !r)
                        continue;
                for (int c = 1; c >= 0 && good; c--) {
                        struct loop_expr *begin = one ? from : number(p, 0);
                        struct loop_expr *end = one ? to : number(p, p->column.count);
                        if (!open_tiles(p, &p->column, c, "column", begin, end, &column,
                                        &p->position[p->spatial_count - 1]))
                                continue;
                        struct loop_expr *before = emit_op(p->e, LOOP_SUB, one ? column : row, from);
                        p->tile_number = one ? before : plus(p, times(p, before, p->column.count), column);
                        good = write_tile(p, tile_size(&p->row, r), tile_size(&p->column, c), live);
                        emit_end(p->e);
                }
                if (!one)
                        emit_end(p->e);
        }
        return good;
}

/* the panel's outputs, a tile's width at a time; the last may be narrower */
static bool write_panel(struct packed *p, struct loop_expr *from, struct loop_expr *to, int64_t outputs)
{
        int width = p->schedule.vectors * p->lanes, whole = (int)(outputs / width);
        bool good = true;
        if (whole) {
                p->part = emit_for(p->e, "part", number(p, 0), number(p, whole));
                p->part = times(p, p->part, width / PANEL_LANES);
                good = write_rows(p, from, to, width);
                emit_end(p->e);
        }
        int live = (int)(outputs - (int64_t)whole * width);
        if (live && good) {
                p->part = number(p, whole * width / PANEL_LANES);
                good = write_rows(p, from, to, live);
        }
        return good;
}

static bool write_panels(struct packed *p, struct loop_expr *from, struct loop_expr *to,
                         struct loop_expr *first, struct loop_expr *end)
{
        int64_t width = p->vectors * PANEL_LANES, whole = p->outputs / width;
        bool good = true;
        if (whole) {
                struct loop_expr *stop = whole < p->panels ? minimum(p, end, number(p, whole)) : end;
                p->panel = emit_for(p->e, "panel", first, stop);
                good = write_panel(p, from, to, width);
                emit_end(p->e);
        }
        if (whole < p->panels && good) {
                struct loop_expr *start = emit_op(p->e, LOOP_MAX, first, number(p, whole));
                p->panel = emit_for(p->e, "panel", start, end);
                good = write_panel(p, from, to, p->outputs % width);
                emit_end(p->e);
        }
        return good;
}

/* ---- the kernel ---- */

/* share number k of n of `extent`: from, to */
static void share_out(struct packed *p, struct loop_expr *k, int n, int64_t extent,
                      struct loop_expr **from, struct loop_expr **to)
{
        *from = number(p, 0);
        *to = number(p, extent);
        if (n == 1)
                return;
        *from = emit_let(p->e, "from", emit_op_int(p->e, LOOP_DIV, times(p, k, extent), n));
        struct loop_expr *after = times(p, plus(p, k, number(p, 1)), extent);
        *to = emit_let(p->e, "to", emit_op_int(p->e, LOOP_DIV, after, n));
}

static bool write_strips(struct packed *p, struct loop_expr *from, struct loop_expr *to,
                         struct loop_expr *first, struct loop_expr *end, int64_t rows)
{
        int64_t strip = p->schedule.strip;
        if (!strip || strip >= rows)
                return write_panels(p, from, to, first, end);
        struct loop_expr *at = emit_for(p->e, "strip", from, to);
        emit_loop(p->e, strip, false);
        struct loop_expr *stop = minimum(p, plus(p, at, number(p, strip)), to);
        bool good = write_panels(p, at, emit_let(p->e, "strip_end", stop), first, end);
        emit_end(p->e);
        return good;
}

/* dimension d of the padded result, and what is left of it: all that lies outside the contraction's result */
static void write_halo(struct packed *p)
{
        const struct type *y = op_result(p->pad)->type, *x = op_operand(p->pad, 0)->type;
        int64_t low[RANK_MAX], stride = type_elements(y);
        int count;
        union scalar value = constant_element(op_operand(p->pad, 1)->constant, 0);
        struct loop_expr *fill = loop_literal(p->arena, LOOP_TYPE(y->element), value);
        value_ints(op_operand(p->pad, 2), low, RANK_MAX, &count);
        struct loop_expr *base = number(p, 0);
        int opened = 0;
        /* outer dimensions run over all of x, inner ones are filled whole */
        for (int d = 0; d < y->rank; d++) {
                stride /= y->dims[d];
                int64_t from[2] = { 0, low[d] + x->dims[d] }, to[2] = { low[d], y->dims[d] };
                for (int side = 0; side < 2; side++) {
                        if (from[side] == to[side])
                                continue;
                        struct loop_expr *i = emit_for(p->e, "halo", number(p, from[side] * stride),
                                                       number(p, to[side] * stride));
                        emit_store(p->e, p->ys, plus(p, base, i), fill);
                        emit_end(p->e);
                }
                bool more = false;
                for (int k = d + 1; k < y->rank; k++)
                        more |= x->dims[k] != y->dims[k];
                if (!more)
                        break;
                struct loop_expr *i = emit_for(p->e, "i", number(p, low[d]), number(p, low[d] + x->dims[d]));
                base = plus(p, base, times(p, i, stride));
                opened++;
        }
        while (opened-- > 0)
                emit_end(p->e);
}

static bool write_all(struct packed *p)
{
        struct emit *e = p->e;
        int rows = p->schedule.row_tasks, panels = p->schedule.panel_tasks, opened = 0;
        bool one = p->spatial_count == 1;
        int64_t row_count = one ? p->column.count : p->row.count;
        if (p->pad)
                write_halo(p);
        struct loop_expr *task = emit_for(e, "task", number(p, 0), number(p, (int64_t)rows * panels));
        emit_loop(e, 1, rows * panels > 1);
        struct loop_expr *from, *to, *first, *end;
        share_out(p, panels > 1 ? emit_op_int(e, LOOP_DIV, task, panels) : task, rows, row_count, &from, &to);
        share_out(p, rows > 1 ? emit_op_int(e, LOOP_REM, task, panels) : task, panels, p->panels, &first, &end);
        p->image = emit_for(e, "image", number(p, 0), number(p, op_operand(p->op, 0)->type->dims[0]));
        for (int d = 0; d < p->spatial_count - 2; d++, opened++)
                p->position[d] = emit_for(e, "plane", number(p, 0), number(p, p->spatial[d].extent));
        p->group = emit_for(e, "group", number(p, 0), number(p, p->groups));
        bool good = write_strips(p, from, to, first, end, row_count);
        for (opened += 3; opened > 0; opened--)
                emit_end(e);
        return good;
}

static bool write_packed(struct emit *e, const struct kernel_request *request,
                         struct loop_buffer *buffer)
{
        const struct target *target = e->options->target;
        struct packed p = { .e = e, .arena = e->arena, .op = find_contraction(request),
                            .region = request->region, .ys = buffer,
                            .lanes = target_lanes(target, E_F32), .has_fma = target_has_fma(target) };
        p.rank = op_result(p.op)->type->rank;
        if (p.lanes == 1 || p.lanes > PANEL_LANES || !prepare(&p, request))
                return false;
        p.xs = emit_parameter(e, p.x.value);
        p.ws = emit_parameter(e, op_operand(p.op, 1));
        return write_all(&p) && !e->failed;
}

const struct kernel_scheduler schedule_kernels = { wants, write_packed };
