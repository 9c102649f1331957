/* SPDX-License-Identifier: MIT */
/* This is the scheduled lowering of convolve_winograd, a batch of tiles at a time:
 *
 *      x  --B^T x B-->  V [elements][tiles][channels]
 *                       M [elements][tiles][outputs]  = V * U
 *      y  <--A^T M A--  M
 *
 * The input's transform takes each tile, a vector of channels at a time. The products are a GEMM
 * for each of the elements, in register tiles. The output's transform takes each tile, a vector of
 * outputs at a time; then comes the epilogue.
 *
 * Weights U are read from front to back, once for each batch: element by element, panel by panel,
 * over all tiles of the batch. So a batch has as many tiles as let V and M stay in the second-level
 * cache; where U is larger than that cache, all tiles are one batch.
 *
 * Where windows of 2 x 2 results are the only reader of these (a pool), they are stored instead,
 * computed from a tile's results that stay in the first-level cache.
 *
 * Threads share batches (row_tasks): each has a V and M of its own. Or, for images of few tiles,
 * there is one batch, and threads share first its tiles, then panels, then tiles again
 * (panel_tasks).
 *
 * Where a run gives the images, batches are of equal size, of at most as many tiles as the schedule
 * says, and what is left behind whole register tiles of a batch goes through smaller ones. */
#include "engines/vector/vector_engine.h"
#include "ir/lower/winograd_emit.h"
#include "kernels/contract.h"

enum { POOL = 2 };                      /* A window of results has this many rows and columns. */

/* A matrix [elements][tiles][count] lies in memory of the kernel's own. */
struct matrix { struct loop_buffer *buffer; int64_t tile, element; struct loop_expr *start; };

struct tiles {
        /* It stands first, because functions of the kernel state get a pointer to it. It has the
         * target's own vector width, for the transforms. */
        struct kernel_state s;
        const struct target *wide;      /* The target of the products has the width that the
                                         * schedule asks for. */
        struct winograd_square f;
        int elements;                   /* A square has this many elements. */
        int tile[WINOGRAD_DIMS];        /* A tile has this many rows and columns of results. */
        int64_t stride[WINOGRAD_DIMS];
        bool image_has_rows;            /* A signal has columns alone: it is one row. */
        int64_t rows, columns, all;     /* An image has rows by columns tiles, all images have
                                         * `all`: where a run gives extents, at most. */
        struct loop_expr *open_rows, *open_columns;     /* A run gives so many; NULL: it does
                                                         * not. */
        struct tiling batch, block;     /* `batch` splits all tiles into batches, `block` the tiles
                                         * of a large batch into register tiles. */
        /* `width` is the outputs of a panel, `panel_size` the elements of w in it, `panels` the
         * panels of an element. */
        int64_t channels, width, panel_size, panels;
        int64_t phases;                 /* The channels are those of so many phases of x. */
        struct matrix v, m;
        struct loop_expr *open;         /* A run gives this many tiles, `all` at most; NULL: there
                                         * are `all`. */
        struct loop_expr *open_blocks;  /* They are so many register tiles. */
        struct loop_expr *first, *count;          /* The batch has these tiles. */
        const struct product *product;  /* Register tiles are written of this product. */
        /* The following members describe the square that is transformed: */
        struct loop_expr *image, *row, *column;   /* the first result of its tile is at this image,
                                                   * row and column, */
        struct loop_expr *from, *to;              /* and the square lies here in memory. */
        struct loop_expr *block_index, *lane;
        struct loop_buffer *square;     /* These results of a tile are what windows are computed
                                         * from; each task has its own. */
        struct loop_expr *task;
};

static int tasks_of(const struct tiles *t)
{
        return t->s.schedule.row_tasks * t->s.schedule.panel_tasks;
}
static bool has_phases(const struct tiles *t) { return t->s.schedule.panel_tasks > 1; }

static struct loop_expr *load(struct tiles *t, struct loop_buffer *buffer, struct loop_expr *at)
{
        return loop_load_vector(t->s.arena, buffer, at, t->s.lanes, NULL);
}

/* ---- tiles ---- */

static struct loop_expr *columns_of(const struct tiles *t)
{
        return t->open_columns ? t->open_columns : number(t->s.e, t->columns);
}

/* Returns the tiles of an image. */
static struct loop_expr *image_of(const struct tiles *t)
{
        struct emit *e = t->s.e;
        return emit_op(e, LOOP_MUL, t->open_rows ? t->open_rows : number(e, t->rows),
                       columns_of(t));
}

/* Opens the loop over tiles from..to of the batch; *tile is the tile's number in the batch. */
static void open_tiles(struct tiles *t, struct loop_expr *from, struct loop_expr *to,
                       struct loop_expr **tile)
{
        struct emit *e = t->s.e;
        *tile = emit_for(e, "tile", from, to);
        struct loop_expr *number = emit_let(e, "number", plus(e, t->first, *tile));
        const bool one = t->open && dim_is(op_result(t->s.op)->type->dims[0], 1);
        struct loop_expr *columns = columns_of(t), *image = image_of(t);
        t->image = one ? emit_int(e, 0) : emit_let(e, "image", emit_op(e, LOOP_DIV, number, image));
        number = one ? number : emit_op(e, LOOP_REM, number, image);
        t->row = emit_op(e, LOOP_DIV, number, columns);
        t->row = t->image_has_rows ? emit_let(e, "row", times(e, t->row, t->tile[0]))
                                   : emit_int(e, 0);
        t->column =
                emit_let(e, "column", times(e, emit_op(e, LOOP_REM, number, columns), t->tile[1]));
}

static struct loop_expr *in_matrix(struct tiles *t, const struct matrix *m, struct loop_expr *tile,
                                   struct loop_expr *k)
{
        struct emit *e = t->s.e;
        return plus(e, plus(e, m->start, times(e, tile, m->tile)), k);
}

static int element_number(const struct tiles *t, int row, int column)
{
        return row * t->f.along[1].size + column;
}

/* ---- the input's transform ---- */

/* Returns how far apart two places of x are, at whole numbers of rows and columns. */
static struct loop_expr *in_image(struct tiles *t, struct loop_expr *row, struct loop_expr *column)
{
        struct emit *e = t->s.e;
        struct loop_expr *at = times(e, column, t->s.x.stride[t->s.rank - 2]);
        return t->image_has_rows ? plus(e, state_x_along(&t->s, row, 2), at) : at;
}

static struct loop_expr *load_input(void *context, int row, int column)
{
        struct tiles *t = context;
        struct emit *e = t->s.e;
        struct loop_expr *at = in_image(t, number(e, row * t->stride[0]),
                                        number(e, column * t->stride[1]));
        return load(t, t->s.xs, plus(e, t->from, at));
}

static bool store_input(void *context, int row, int column, struct loop_expr *value)
{
        struct tiles *t = context;
        int64_t at = element_number(t, row, column) * t->v.element;
        emit_store(t->s.e, t->v.buffer, plus(t->s.e, t->to, number(t->s.e, at)), value);
        return true;
}

static void write_input(struct tiles *t, struct loop_expr *from, struct loop_expr *to)
{
        struct emit *e = t->s.e;
        const struct winograd *down = &t->f.along[0], *across = &t->f.along[1];
        const struct winograd_values values = { &down->input, &across->input, down->size,
                                                across->size, load_input,     store_input,
                                                t,            t->s.has_fma };
        int64_t inner = type_extent(op_operand(t->s.op, 0)->type, t->s.rank - 1),
                lanes = t->s.lanes, channels = t->channels / t->phases;
        struct loop_expr *tile;
        open_tiles(t, from, to, &tile);
        t->s.image = t->image;
        struct loop_expr *x = plus(e, state_x_image(&t->s),
                                   in_image(t, times(e, t->row, t->stride[0]),
                                            times(e, t->column, t->stride[1])));
        x = emit_let(e, "x_at", x);
        struct loop_expr *phase = NULL;
        if (t->phases > 1) {
                phase = emit_for(e, "phase", number(e, 0), number(e, t->phases));
                x = plus(e, x, in_image(t, emit_op_int(e, LOOP_DIV, phase, t->stride[1]),
                                        emit_op_int(e, LOOP_REM, phase, t->stride[1])));
                x = emit_let(e, "x_at", x);
        }
        struct loop_expr *c = emit_for(e, "c", number(e, 0), number(e, divide_up(channels, lanes)));
        struct loop_expr *block = emit_op_int(e, LOOP_DIV, c, inner / lanes);
        struct loop_expr *within = times(e, emit_op_int(e, LOOP_REM, c, inner / lanes), lanes);
        t->from = emit_let(e, "from",
                           plus(e, plus(e, x, state_x_along(&t->s, block, 1)), within));
        struct loop_expr *to_channel = times(e, c, lanes);
        if (phase)
                to_channel = plus(e, times(e, phase, channels), to_channel);
        t->to = emit_let(e, "to", in_matrix(t, &t->v, tile, to_channel));
        winograd_emit(e, &values);
        if (phase)
                emit_end(e);
        emit_end(e);
        emit_end(e);
}

/* ---- products ---- */

/* It is the register tile of `size` tiles from number `tile` on, by outputs from `part` on of panel
 * number `panel` of element number `element`; `product` is the panel's number among those of all
 * elements. */
struct product { struct loop_expr *element, *panel, *product, *part, *block, *tile; int size; };

static void write_product(struct tiles *t, const struct product *p)
{
        struct emit *e = t->s.e;
        struct kernel_state products = t->s;
        state_set_width(&products, t->wide);
        struct tile tile = { .s = &products,
                             .xs = t->v.buffer,
                             .rows = 1,
                             .columns = p->size,
                             .vectors = t->s.schedule.vectors,
                             .column_step = t->v.tile,
                             .width = t->width };
        struct loop_expr *v = in_matrix(t, &t->v, p->tile, times(e, p->element, t->v.element));
        v = emit_let(e, "v_at", v);
        struct loop_expr *w = plus(e, times(e, p->product, t->panel_size), p->part);
        tile.w_base = emit_let(e, "w_at", w);
        struct loop_expr *last = number(e, t->elements * t->panels - 1);
        tile_prefetch(&tile, minimum(e, plus(e, p->product, number(e, 1)), last), p->block,
                      t->panel_size);
        tile_open(&tile);
        tile_add(&tile,
                 &(struct sum_loop){
                         .name = "c", .extent = t->channels, .x_step = 1, .number_step = 1 },
                 1, v, 0);
        tile_join(&tile);
        struct loop_expr *output = plus(e, times(e, p->panel, tile.width), p->part);
        struct loop_expr *m =
                in_matrix(t, &t->m, p->tile, plus(e, times(e, p->element, t->m.element), output));
        m = emit_let(e, "m_at", m);
        for (int i = 0; i < p->size; i++)
                for (int j = 0; j < tile.vectors; j++)
                        emit_store(e, t->m.buffer,
                                   plus(e, m, number(e, i * t->m.tile + j * products.lanes)),
                                   loop_tile_entry(t->s.arena, tile.sums, i, j));
}

/* Writes a register tile where a run gives the number of tiles. */
static bool write_open_product(struct kernel_state *s, int rows, int columns)
{
        (void)rows;
        struct tiles *t = (struct tiles *)s;
        struct product p = *t->product;
        const struct schedule_registers schedule = s->schedule;
        p.tile = s->position[0];
        p.block = s->tile_number;
        p.size = columns;
        if (columns < s->column.size)
                s->schedule = tile_schedule(&(struct tile){
                        .s = s, .rows = 1, .columns = columns, .vectors = s->schedule.vectors });
        write_product(t, &p);
        s->schedule = schedule;
        return true;
}

/* Writes all tiles of a batch whose number a run gives. */
static void write_open_blocks(struct tiles *t, const struct product *p)
{
        t->product = p;
        t->s.spatial_count = 1;
        t->s.row = tiling_even(1, 1);
        t->s.column = t->block;
        t->s.open = t->s.open_tiles = t->count;
        state_each_tile(&t->s, number(t->s.e, 0), t->s.open_tiles, write_open_product);
}

/* Writes all tiles of the batch in register tiles of two sizes. A batch has block.count of them,
 * the first ones large: as many as the tiles that are left when all have the smaller size. */
static void write_blocks(struct tiles *t, struct product *p)
{
        struct emit *e = t->s.e;
        int small = t->block.size - 1;
        struct loop_expr *large = emit_op(e, LOOP_SUB, t->count, number(e, t->block.count * small));
        large = emit_let(e, "large", large);
        p->block = emit_for(e, "block", number(e, 0), large);
        p->tile = times(e, p->block, t->block.size);
        p->size = t->block.size;
        write_product(t, p);
        emit_end(e);
        bool all_large = t->block.large == t->block.count && t->batch.large == t->batch.count;
        if (all_large || !small)
                return;
        p->block = emit_for(e, "block", large, number(e, t->block.count));
        p->tile = plus(e, times(e, p->block, small), large);
        p->size = small;
        write_product(t, p);
        emit_end(e);
}

static void write_products(struct tiles *t, struct loop_expr *from, struct loop_expr *to)
{
        struct emit *e = t->s.e;
        struct product p = { .product = emit_for(e, "product", from, to) };
        int64_t step = t->s.schedule.vectors * target_lanes(t->wide, E_F32);
        p.element = emit_let(e, "element", emit_op_int(e, LOOP_DIV, p.product, t->panels));
        p.panel = emit_let(e, "panel", emit_op_int(e, LOOP_REM, p.product, t->panels));
        p.part = times(e, emit_for(e, "part", number(e, 0), number(e, t->width / step)), step);
        if (t->open)
                write_open_blocks(t, &p);
        else
                write_blocks(t, &p);
        emit_end(e);
        emit_end(e);
}

/* ---- the output's transform ---- */

static struct loop_expr *load_product(void *context, int row, int column)
{
        struct tiles *t = context;
        int64_t at = element_number(t, row, column) * t->m.element;
        return load(t, t->m.buffer, plus(t->s.e, t->from, number(t->s.e, at)));
}

/* Opens a condition where, and only where, number i of the `tile` results along a dimension may lie
 * after the last one. */
static bool open_edge(struct tiles *t, int tile, struct loop_expr *at, int i, dim_t dim)
{
        struct module *m = op_module(t->s.op);
        if (dim_is_static(dim)) {
                int64_t extent = dim_extent(dim), rest = extent % tile;
                if (!rest || i < rest || extent < tile)
                        return false;
        } else if (!i || dim_equal(dim, dim_round_up(m, dim, tile))) {
                return false;
        }
        emit_if(t->s.e, emit_op(t->s.e, LOOP_LT, at, emit_dim(t->s.e, dim)));
        return true;
}

static struct loop_expr *in_square(struct tiles *t, int i, int j)
{
        struct emit *e = t->s.e;
        int64_t at = (int64_t)(i * t->tile[1] + j) * t->s.lanes;
        return plus(e, times(e, t->task, t->tile[0] * t->tile[1] * t->s.lanes), number(e, at));
}

static bool store_output(void *context, int i, int j, struct loop_expr *value)
{
        struct tiles *t = context;
        struct emit *e = t->s.e;
        const struct type *y = op_result(t->s.op)->type;
        const int last = t->s.rank - 2;
        struct loop_expr *index[RANK_MAX] = { t->image, t->block_index,
                                              plus(e, t->row, number(e, i)) };
        index[last] = plus(e, t->column, number(e, j));
        bool row = t->image_has_rows && open_edge(t, t->tile[0], index[2], i, y->dims[2]),
             column = open_edge(t, t->tile[1], index[last], j, y->dims[last]);
        const struct state_vector v = { t->s.result, index, value, { t->lane, t->s.lanes, NULL } };
        bool good = t->s.pool ? state_write_vector(&t->s, &v, t->square,
                                                   minus(e, in_square(t, i, j), t->lane))
                              : state_store(&t->s, value, index, t->lane, t->s.lanes);
        for (int opened = row + column; opened > 0; opened--)
                emit_end(e);
        return good;
}

/* Writes the windows of the results in the square. */
static void write_windows(struct tiles *t)
{
        struct emit *e = t->s.e;
        struct kernel_state *s = &t->s;
        const struct type *y = op_result(s->pool)->type;
        enum reducer kind = (enum reducer)op_int(s->pool, "kind");
        const int rows = t->tile[0] / POOL, columns = t->tile[1] / POOL;
        for (int n = 0; n < rows * columns; n++) {
                int i = n / columns, j = n % columns;
                struct loop_expr *index[RANK_MAX] = {
                        t->image, t->block_index,
                        plus(e, emit_op_int(e, LOOP_DIV, t->row, POOL), number(e, i)),
                        plus(e, emit_op_int(e, LOOP_DIV, t->column, POOL), number(e, j))
                };
                bool row = open_edge(t, rows, index[2], i, y->dims[2]),
                     column = open_edge(t, columns, index[3], j, y->dims[3]);
                struct loop_expr *best =
                        loop_splat(s->arena, s->lanes,
                                   emit_identity(e, kind, s->multiply->sum, s->multiply->sum));
                for (int k = 0; k < POOL * POOL; k++) {
                        struct loop_expr *args[] = { best, load(t, t->square,
                                                                in_square(t, POOL * i + k / POOL,
                                                                          POOL * j + k % POOL)) };
                        best = emit_formula(e, reducer_info[kind].formula, args, 2);
                }
                emit_store(e, s->ys, plus(e, state_y(s, index), t->lane), best);
                for (int opened = row + column; opened > 0; opened--)
                        emit_end(e);
        }
}

static bool write_output(struct tiles *t, struct loop_expr *from, struct loop_expr *to)
{
        struct emit *e = t->s.e;
        const struct type *y = op_result(t->s.op)->type;
        const int64_t most[] = { t->image_has_rows ? dim_bound(op_module(t->s.op), y->dims[2]) : 1,
                                 dim_bound(op_module(t->s.op), y->dims[t->s.rank - 2]) };
        int rows = most[0] < t->tile[0] ? (int)most[0] : t->tile[0];
        int columns = most[1] < t->tile[1] ? (int)most[1] : t->tile[1];
        const struct winograd *down = &t->f.along[0], *across = &t->f.along[1];
        const struct winograd_values values = { &down->output, &across->output, rows,
                                                columns,       load_product,    store_output,
                                                t,             t->s.has_fma };
        int64_t block = op_int(t->s.op, "block"), lanes = t->s.lanes;
        struct loop_expr *tile;
        open_tiles(t, from, to, &tile);
        t->block_index = emit_for(e, "block", number(e, 0), number(e, type_extent(y, 1)));
        t->lane = emit_for(e, "lane", number(e, 0), number(e, block));
        emit_loop(e, lanes, false);
        struct loop_expr *output = plus(e, times(e, t->block_index, block), t->lane);
        t->from = emit_let(e, "from", in_matrix(t, &t->m, tile, output));
        bool good = winograd_emit(e, &values);
        if (t->s.pool)
                write_windows(t);
        for (int opened = 3; opened > 0; opened--)
                emit_end(e);
        return good;
}

/* ---- the kernel state ---- */

static struct loop_expr *divided_up(struct emit *e, struct loop_expr *a, int64_t b)
{
        return emit_op_int(e, LOOP_DIV, plus(e, a, number(e, b - 1)), b);
}

/* Sets the tiles of batch number `batch` of `batches`. */
static void set_batch(struct tiles *t, struct loop_expr *batch, struct loop_expr *batches)
{
        struct emit *e = t->s.e;
        if (t->open) {                  /* Batches are of whole register tiles but for the last. */
                const int size = t->block.size;
                struct loop_expr *next =
                        emit_op(e, LOOP_MUL, plus(e, batch, number(e, 1)), t->open_blocks);
                t->first = emit_op(e, LOOP_MUL, batch, t->open_blocks);
                t->first = times(e, emit_op(e, LOOP_DIV, t->first, batches), size);
                t->first = emit_let(e, "first", t->first);
                next = times(e, emit_op(e, LOOP_DIV, next, batches), size);
                t->count = emit_let(e, "count", minus(e, minimum(e, next, t->open), t->first));
                return;
        }
        struct loop_expr *large = number(e, t->batch.large);
        t->first = plus(e, times(e, batch, t->batch.size - 1), minimum(e, batch, large));
        t->first = emit_let(e, "first", t->first);
        t->count = number(e, t->batch.size);
        if (t->batch.large < t->batch.count) {
                struct loop_expr *small =
                        loop_cast(t->s.arena, E_INDEX, emit_op(e, LOOP_GE, batch, large));
                t->count = emit_let(e, "count", emit_op(e, LOOP_SUB, t->count, small));
        }
}

/* Writes batches, which tasks share. */
static bool write_batches(struct tiles *t)
{
        struct emit *e = t->s.e;
        struct loop_expr *from, *to, *batches = number(e, t->batch.count);
        if (t->open) {
                t->open_blocks = emit_let(e, "blocks", divided_up(e, t->open, t->block.size));
                batches = divided_up(e, t->open_blocks, t->batch.size / t->block.size);
                batches = emit_let(e, "batches", batches);
        }
        struct loop_expr *task = emit_for(e, "task", number(e, 0), number(e, tasks_of(t)));
        emit_loop(e, 1, tasks_of(t) > 1);
        t->task = task;
        t->v.start = times(e, task, t->elements * t->v.element);
        t->m.start = times(e, task, t->elements * t->m.element);
        state_share_of(e, task, tasks_of(t), batches, &from, &to);
        if (t->s.pad)
                state_halo(&t->s, task, tasks_of(t), 2);
        set_batch(t, emit_for(e, "batch", from, to), batches);
        write_input(t, number(e, 0), t->count);
        write_products(t, number(e, 0), number(e, t->elements * t->panels));
        bool good = write_output(t, number(e, 0), t->count);
        emit_end(e);
        emit_end(e);
        return good;
}

/* Opens the loop over tasks that share `extent`. */
static void open_phase(struct tiles *t, struct loop_expr *extent, struct loop_expr **from,
                       struct loop_expr **to)
{
        struct emit *e = t->s.e;
        struct loop_expr *task = emit_for(e, "task", number(e, 0), number(e, tasks_of(t)));
        emit_loop(e, 1, true);
        t->task = task;
        state_share_of(e, task, tasks_of(t), extent, from, to);
}

/* Writes one batch, whose phases tasks share. */
static bool write_phases(struct tiles *t)
{
        struct emit *e = t->s.e;
        struct loop_expr *from, *to;
        t->v.start = t->m.start = t->first = number(e, 0);
        t->count = t->open ? t->open : number(e, t->all);
        open_phase(t, t->count, &from, &to);
        write_input(t, from, to);
        emit_end(e);
        open_phase(t, number(e, t->elements * t->panels), &from, &to);
        write_products(t, from, to);
        emit_end(e);
        open_phase(t, t->count, &from, &to);
        if (t->s.pad)
                state_halo(&t->s, t->task, tasks_of(t), 2);
        bool good = write_output(t, from, to);
        emit_end(e);
        return good;
}

static bool write_all(struct kernel_state *s)
{
        struct tiles *t = (struct tiles *)s;
        struct emit *e = s->e;
        const struct type *y = op_result(s->op)->type;
        const int last = s->rank - 2;
        if (t->image_has_rows && !dim_is_static(y->dims[2]))
                t->open_rows =
                        emit_let(e, "rows", divided_up(e, emit_extent(e, y, 2), t->tile[0]));
        if (!dim_is_static(y->dims[last]))
                t->open_columns =
                        emit_let(e, "columns", divided_up(e, emit_extent(e, y, last), t->tile[1]));
        if (!type_is_static(y))
                t->open = emit_let(e, "all",
                                   emit_op(e, LOOP_MUL, emit_extent(e, y, 0), image_of(t)));
        return has_phases(t) ? write_phases(t) : write_batches(t);
}

/* Allocates a matrix. Its elements lie an odd number of cache lines apart: at powers of two they
 * would all map to the same sets of the first-level cache. */
static struct matrix new_matrix(struct tiles *t, const char *name, int64_t count)
{
        const int line = target_line(t->s.target, t->s.multiply->sum);
        struct matrix m = { .tile = round_up(count, line) };
        int64_t lines = t->batch.size * m.tile / line;
        m.element = (lines | 1) * line;
        m.buffer = emit_scratch(t->s.e, name, t->s.multiply->sum,
                                (has_phases(t) ? 1 : tasks_of(t)) * t->elements * m.element);
        return m;
}

/* Are these windows of 2 x 2 results, each within a tile? */
static bool can_pool(const struct tiles *t, const struct op *pool)
{
        if (!t->image_has_rows || t->tile[0] % POOL || t->tile[1] % POOL)
                return false;
        const int64_t *window = op_ints(pool, "window", NULL),
                      *strides = op_ints(pool, "strides", NULL),
                      *pads = op_ints(pool, "pads", NULL);
        const struct type *x = op_operand(pool, 0)->type;
        for (int d = 0; d < x->rank; d++) {
                int64_t extent = d == 2 || d == 3 ? POOL : 1;
                if (window[d] != extent || strides[d] != extent || pads[d] || pads[x->rank + d] ||
                    (extent > 1 && (!dim_is_static(x->dims[d]) || type_extent(x, d) % extent)))
                        return false;
        }
        return op_result(pool)->type->element == x->element && op_all_ones(pool, "dilations");
}

struct kernel_state *winograd_prepare(const struct kernel_state *common)
{
        struct tiles *t = ARENA_NEW(common->arena, struct tiles);
        const struct op *op = common->op;
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type,
                          *w = op_operand(op, 1)->type;
        t->s = *common;
        t->wide = common->target;
        state_set_width(&t->s, common->e->options->target);
        t->s.write_all = write_all;
        t->f = winograd_of(op);
        t->elements = t->f.elements;
        t->image_has_rows = winograd_dims(op) == WINOGRAD_DIMS;
        for (int d = 0; d < WINOGRAD_DIMS; d++)
                t->tile[d] = t->f.along[d].tile;
        const int64_t *strides = op_ints(op, "strides", NULL);
        t->stride[0] = t->image_has_rows ? strides[0] : 1;
        t->stride[1] = strides[winograd_dims(op) - 1];
        t->phases = winograd_phases(op);
        t->rows = t->image_has_rows
                          ? divide_up(dim_bound(op_module(op), y->dims[2]), t->tile[0])
                          : 1;
        t->columns = divide_up(dim_bound(op_module(op), y->dims[y->rank - 2]), t->tile[1]);
        t->all = dim_bound(op_module(op), y->dims[0]) * t->rows * t->columns;
        t->panels = type_extent(w, 1);
        t->channels = type_extent(w, 2);
        t->width = type_extent(w, 3) * type_extent(w, 4);
        t->panel_size = t->channels * t->width;
        /* Blocks and panels must be whole vectors, and panels whole register tiles. */
        int lanes = t->s.lanes;
        if (t->width % (t->s.schedule.vectors * target_lanes(t->wide, E_F32)) ||
            type_extent(x, x->rank - 1) % lanes || type_extent(y, y->rank - 1) % lanes ||
            t->s.x.stride[x->rank - 1] != 1 || (t->phases > 1 && t->channels / t->phases % lanes) ||
            (t->s.pool && !can_pool(t, t->s.pool)))
                return NULL;
        int64_t batch = t->s.schedule.tile_batch;
        t->batch = tiling_even(t->all,
                              batch && !has_phases(t) && batch < t->all ? (int)batch : (int)t->all);
        t->block = tiling_even(t->batch.size, t->s.schedule.columns);
        if (!type_is_static(y))         /* A batch is whole register tiles, also at the bound. */
                t->batch.size = (int)round_up(t->batch.size, t->block.size);
        if (t->s.schedule.split * t->block.size > TILE_MAX || t->s.schedule.vectors > TILE_MAX)
                return NULL;
        t->v = new_matrix(t, "v", round_up(t->channels, lanes));
        t->m = new_matrix(t, "m", t->panels * t->width);
        if (t->s.pool) {
                t->s.between = true;
                t->square = emit_scratch(t->s.e, "square", t->s.multiply->sum,
                                         (int64_t)tasks_of(t) * t->tile[0] * t->tile[1] * lanes);
        }
        return &t->s;
}
