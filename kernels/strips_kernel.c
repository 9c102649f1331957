/* SPDX-License-Identifier: MIT */
/* This is the scheduled lowering of a chain of contractions and pools, a strip of rows at a time:
 *
 *      x  --expand-->  strip  --depthwise-->  strip  --project-->  y
 *
 *                     +--------------+ row 0
 *        kept from    |  . . . . . . |
 *        the strip    |  . . . . . . |
 *        before       +--------------+ kept
 *        made now     |  . . . . . . |
 *                     |  . . . . . . |
 *                     +--------------+
 *
 * For rows r0..r1 of y, what lies between two contractions is as many rows as these need, in memory
 * of the kernel's own that stays in the second-level cache. Of the rows that the wide contraction
 * reads, those that the strip before has read, too, are moved to the front; no row is computed
 * twice, except at the border of two tasks.
 *
 * One contraction may be wide (it has a window, a stride or a halo along the rows); the others are
 * pointwise. Each is written by its own lowering; those before the wide one, and those whose tiles
 * do not divide a strip, use tiles of one row. Tasks have equal shares of the rows, each split into
 * strips. Two words of the last contraction's schedule count: strip (rows of the result) and
 * row_tasks. */
#include "kernels/kernel_state.h"
#include "kernels/layer_chain.h"

enum { ROWS = LAYER_CHAIN_ROWS, COLUMNS = ROWS + 1, LANES = ROWS + 2 };

/* A strip lies between two contractions: [rows][blocks][columns][lanes], for each task. */
struct strip {
        const struct type *type;        /* The whole value that the second contraction reads has
                                         * this type. */
        const struct layer_chain_link *before;
        struct loop_buffer *buffer;
        int64_t rows, row, block, size; /* There are `rows` rows; row, block and size count the
                                         * elements of a row, of a block in it, and of all rows. */
        int64_t low[RANK_MAX];          /* This is the halo before the first contraction's result;
                                         * its rows may be left out. */
        struct loop_expr *start;        /* The task's part begins at this index. */
};

struct strips {
        struct emit *e;
        struct layer_chain chain;
        struct kernel_state *states[LAYER_CHAIN_MAX];
        struct strip between[LAYER_CHAIN_MAX];          /* between[i] lies between links i - 1 and
                                                         * i. */
        int64_t strip;                  /* A strip has this many rows of the result. */
        /* `rows` is the number of rows of the result, `rows_made` that of what the wide contraction
         * reads, without its halo. */
        int64_t rows, rows_made;
        int64_t tile;                   /* All tiles divide this many rows of the result; tasks do
                                         * not split them. */
        int64_t stride, reach;          /* The wide contraction has this stride and this reach. */
        int tasks;
};

/* ---- preparation ---- */

static void find_strip(struct strips *s, int i)
{
        struct strip *b = &s->between[i];
        int count;
        b->type = op_operand(s->chain.links[i].op, 0)->type;
        b->before = &s->chain.links[i - 1];
        if (b->before->pad)
                value_ints(op_operand(b->before->pad, 2), b->low, RANK_MAX, &count);
        b->low[ROWS] += layer_chain_low(s->chain.links[i].op);
        b->rows = i > s->chain.wide ? s->strip : (s->strip - 1) * s->stride + s->reach;
        /* An odd number of columns keeps blocks out of the same sets of a cache. */
        b->block = (type_extent(b->type, COLUMNS) | 1) * type_extent(b->type, LANES);
        b->row = type_extent(b->type, 1) * b->block;
        b->size = b->rows * b->row;
}

static void set_access(const struct strip *b, struct access *access)
{
        access->stride[1] = b->block;
        access->stride[ROWS] = b->row;
        access->stride[COLUMNS] = type_extent(b->type, LANES);
        access->stride[LANES] = 1;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
        int64_t multiple = a;
        while (multiple % b)
                multiple += a;
        return multiple;
}

static bool prepare_state(struct strips *s, int i, const struct kernel_request *request)
{
        const struct layer_chain_link *link = &s->chain.links[i];
        struct kernel_state common;
        if (!state_begin(&common, s->e, request->region, link->op) ||
            (link->result->type->element != E_F32 && link->result->type->element != E_F16))
                return false;
        bool in_tiles = i >= s->chain.wide && s->strip % common.schedule.rows == 0 &&
                        s->rows % common.schedule.rows == 0;
        common.schedule.rows = in_tiles ? common.schedule.rows : 1;
        s->tile = common_multiple(s->tile, common.schedule.rows);
        common.schedule.flat = common.schedule.strip = 0;
        common.result = link->result;
        common.between = i + 1 < s->chain.count;
        if (i)
                set_access(&s->between[i], &common.x);
        else if (!access_read(request->region, op_operand(link->op, 0), &common.x))
                return false;
        if (common.between)
                set_access(&s->between[i + 1], &common.y);
        else
                common.y = s->chain.y;
        common.pad = common.between ? NULL : link->pad;
        struct kernel_state *state = s->states[i] = kernels_prepare(&common);
        return state && !state->write_all && state->y.stride[LANES] == 1 &&
               (!i || type_extent(s->between[i].type, LANES) % state->lanes == 0);
}

static bool prepare_strips(struct strips *s, const struct kernel_request *request)
{
        const struct layer_chain *chain = &s->chain;
        const struct op *last = chain->links[chain->count - 1].op,
                        *wide = chain->links[chain->wide].op;
        const struct schedule_registers *schedule = schedule_registers(last->schedule);
        if (!schedule)
                return false;
        s->rows = type_extent(op_result(last)->type, ROWS);
        s->strip = schedule->strip && schedule->strip < s->rows ? schedule->strip : s->rows;
        s->tasks = schedule->row_tasks;
        s->tile = 1;
        s->stride = chain->wide ? layer_chain_stride(wide) : 1;
        s->reach = chain->wide ? layer_chain_reach(wide) : 1;
        s->rows_made = chain->wide ? type_extent(chain->links[chain->wide - 1].result->type, ROWS)
                                   : s->rows;
        for (int i = 1; i < chain->count; i++)
                find_strip(s, i);
        for (int i = 0; i < chain->count; i++)
                if (!prepare_state(s, i, request))
                        return false;
        return true;
}

/* Allocates the memory of all strips. */
static void find_memory(struct strips *s, struct loop_buffer *result)
{
        struct emit *e = s->e;
        for (int i = 0; i < s->chain.count; i++) {
                struct kernel_state *state = s->states[i];
                struct strip *b = &s->between[i];
                state->ws = state->op->operand_count > 1
                                    ? emit_parameter(e, op_operand(state->op, 1))
                                    : NULL;
                if (i)
                        b->buffer = emit_scratch(e, "strip", b->type->element, s->tasks * b->size);
                state->xs = i ? b->buffer : emit_parameter(e, state->x.value);
                state->ys = result;
                if (i)
                        s->states[i - 1]->ys = b->buffer;
        }
}

/* ---- halos ---- */

static void fill(struct strips *s, const struct strip *b, struct loop_expr *at, int64_t count)
{
        state_fill(s->states[0], b->buffer, at, number(s->e, count),
                   target_lanes(s->e->options->target, E_F32),
                   constant_element(op_operand(b->before->pad, 1)->constant, 0));
}

/* Fills the halo left and right of the columns, in all rows, once: nothing else is ever stored
 * there. */
static void write_sides(struct strips *s, const struct strip *b)
{
        struct emit *e = s->e;
        int64_t lanes = type_extent(b->type, LANES), low = b->low[COLUMNS];
        int64_t made = low + type_extent(b->before->result->type, COLUMNS),
                all = type_extent(b->type, COLUMNS);
        if (dim_is(b->before->result->type->dims[COLUMNS], all))
                return;
        struct loop_expr *i =
                emit_for(e, "i", number(e, 0), number(e, b->rows * type_extent(b->type, 1)));
        struct loop_expr *at = emit_let(e, "at", plus(e, b->start, times(e, i, b->block)));
        if (low)
                fill(s, b, at, low * lanes);
        if (made < all)
                fill(s, b, plus(e, at, number(e, made * lanes)), (all - made) * lanes);
        emit_end(e);
}

/* Fills halo rows from..to of what the wide contraction reads; `first` is the row at the front of
 * the strip. */
static void fill_rows(struct strips *s, const struct strip *b, struct loop_expr *from,
                      struct loop_expr *to, struct loop_expr *first)
{
        struct emit *e = s->e;
        struct loop_expr *row = emit_for(e, "outside", from, to);
        struct loop_expr *at = times(e, emit_op(e, LOOP_SUB, row, first), b->row);
        fill(s, b, emit_let(e, "at", plus(e, b->start, at)), b->row);
        emit_end(e);
}

/* ---- strips ---- */

/* Moves the rows that the strip before has read, too, to the front. */
static void keep_rows(struct strips *s, const struct strip *b)
{
        struct emit *e = s->e;
        int lanes = target_lanes(e->options->target, E_F32);
        int64_t shift = s->strip * s->stride * b->row;
        struct loop_expr *i =
                emit_for(e, "kept", number(e, 0), number(e, (s->reach - s->stride) * b->row));
        emit_loop(e, lanes, false);
        struct loop_expr *to = plus(e, b->start, i);
        struct loop_expr *kept =
                loop_load_vector(e->arena, b->buffer, plus(e, to, number(e, shift)), lanes, NULL);
        emit_store(e, b->buffer, to, kept);
        emit_end(e);
}

/* Computes which rows *from..*to of what the wide contraction reads are made for this strip,
 * without its halo. */
static void open_wide(struct strips *s, struct loop_expr *again, struct loop_expr *row,
                      struct loop_expr *end, struct loop_expr **first, struct loop_expr **from,
                      struct loop_expr **to)
{
        struct emit *e = s->e;
        const struct strip *b = &s->between[s->chain.wide];
        struct loop_expr *fresh = *first = emit_let(e, "first", times(e, row, s->stride));
        if (s->reach > s->stride) {
                emit_if(e, again);
                keep_rows(s, b);
                emit_end(e);
                struct loop_expr *kept = plus(e, *first, number(e, s->reach - s->stride));
                fresh = emit_let(e, "fresh", loop_op(e->arena, LOOP_SELECT, again, kept, *first));
        }
        struct loop_expr *last = plus(e, times(e, end, s->stride), number(e, s->reach - s->stride));
        last = emit_let(e, "last", last);
        int64_t low = b->low[ROWS], made = low + s->rows_made;
        if (low && b->before->pad)
                fill_rows(s, b, fresh, minimum(e, last, number(e, low)), *first);
        if (made < type_extent(b->type, ROWS))
                fill_rows(s, b, maximum(e, fresh, number(e, made)), last, *first);
        struct loop_expr *lower = number(e, low);
        *from = emit_let(e, "from", maximum(e, emit_op(e, LOOP_SUB, fresh, lower), number(e, 0)));
        *to = emit_let(e, "to",
                       minimum(e, emit_op(e, LOOP_SUB, last, lower), number(e, s->rows_made)));
}

/* Writes rows row..end of the result; `again`: the task has written a strip of this image
 * before. */
static bool write_strip(struct strips *s, struct loop_expr *again, struct loop_expr *row,
                        struct loop_expr *end)
{
        struct emit *e = s->e;
        struct loop_expr *first = row, *from = row, *to = end;
        int wide = s->chain.wide;
        if (wide)
                open_wide(s, again, row, end, &first, &from, &to);
        for (int i = 0; i < s->chain.count; i++) {
                struct kernel_state *state = s->states[i],
                             *next = i + 1 < s->chain.count ? s->states[i + 1] : NULL;
                const struct strip *b = &s->between[i + 1];
                struct loop_expr *f = i < wide ? from : row;
                if (next) {     /* The row at the front of the strip is stored and read here. */
                        struct loop_expr *front = i + 1 == wide ? first : f;
                        struct loop_expr *start =
                                emit_op(e, LOOP_SUB, b->start, times(e, front, b->row));
                        start = emit_let(e, "at", start);
                        int64_t low = b->low[ROWS] * b->row +
                                      b->low[COLUMNS] * type_extent(b->type, LANES);
                        state->y_start = plus(e, start, number(e, low));
                        next->x_start =
                                plus(e, start, number(e, layer_chain_low(next->op) * b->row));
                }
                struct loop_expr *first_tile = emit_op_int(e, LOOP_DIV, f, state->schedule.rows);
                struct loop_expr *end_tile =
                        emit_op_int(e, LOOP_DIV, i < wide ? to : end, state->schedule.rows);
                if (!state->write(state, first_tile, end_tile, number(e, 0),
                                  number(e, state->panels)))
                        return false;
        }
        return true;
}

static bool write_task(struct strips *s, struct loop_expr *task)
{
        struct emit *e = s->e;
        struct kernel_state *last = s->states[s->chain.count - 1];
        struct loop_expr *from, *to;
        state_share(e, task, s->tasks, s->rows / s->tile, &from, &to);
        from = times(e, from, s->tile);
        to = times(e, to, s->tile);
        if (last->pad)
                state_halo(last, task, s->tasks, ROWS);
        for (int i = 1; i < s->chain.count; i++) {
                s->between[i].start = emit_let(e, "start", times(e, task, s->between[i].size));
                write_sides(s, &s->between[i]);
        }
        struct loop_expr *image = emit_for(e, "image", number(e, 0),
                                           emit_extent(e, op_result(last->op)->type, 0));
        for (int i = 0; i < s->chain.count; i++)
                s->states[i]->image = image;
        bool one = s->tasks == 1 && s->strip == s->rows;
        struct loop_expr *row = emit_for(e, "row", from, one ? number(e, 1) : to);
        emit_loop(e, s->strip, false);
        struct loop_expr *end = plus(e, row, number(e, s->strip));
        if (s->rows % (s->strip * s->tasks))
                end = minimum(e, end, to);
        bool good = write_strip(s, emit_op(e, LOOP_GT, row, from), row, emit_let(e, "end", end));
        emit_end(e);
        emit_end(e);
        return good;
}

bool strips_kernel(struct emit *e, const struct kernel_request *request, struct loop_buffer *buffer)
{
        struct strips s = { .e = e };
        if (!layer_chain_find(request->region, (struct op *)(uintptr_t)request->op,
                              request->results[0], &s.chain) ||
            !prepare_strips(&s, request))
                return false;
        find_memory(&s, buffer);
        struct kernel_state *first = s.states[0], *last = s.states[s.chain.count - 1];
        first->x_start = access_start(e, &first->x);
        last->y_start = access_start(e, &last->y);
        struct loop_expr *task = emit_for(e, "task", number(e, 0), number(e, s.tasks));
        emit_loop(e, 1, s.tasks > 1);
        bool good = write_task(&s, task);
        emit_end(e);
        return good && !e->failed;
}
