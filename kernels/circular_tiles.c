/* SPDX-License-Identifier: MIT */
/* Rows that pass through circular buffers are computed by the lowering that the schedule of their
 * contraction asks for, as whole tensors are: in register tiles, from strips of decoded words.
 *
 *      circular buffer                strip                  circular buffer
 *      . . . . . .   slot 0
 *      . . . . . .   slot 1  --gather, decode-->  . . .  --tiles-->  . . . . .  slot row % kept
 *      . . . . . .   slot 2
 *
 * A kernel state writes one row of tiles. What it reads is a value outside of the kernel, as in
 * any kernel, or a circular buffer: then a strip is gathered from the slots of its rows or, where
 * no strip is prepared (convolve_lanes of bytes), windows go from slot to slot. The halo of a value
 * is filled row by row. Strips of all values of a kernel share memory.
 *
 * What this cannot write (patches, contractions without such a schedule, rows that moves have
 * changed) keeps its canonical nest. */
#include "kernels/circular_tiles.h"

#include "ir/tensor/packed_multiply.h"
#include "ir/tensor/relation.h"

enum { ROWS = 2, COLUMNS = 3, LANES = 4, RANK = 5 };

/* ---- what is computed ---- */

/* Returns the only contraction or reduction of the value's operations, if it has a schedule of
 * register tiles. */
static const struct op *find_contraction(const struct circular_tiles *t,
                                         const struct region *region)
{
        const struct op *found = NULL;
        const struct op *op = t->before ? t->before->op->next : region->first;
        for (; op && op->code != OP_yield; op = op->next) {
                if (op_info[op->code].traits & (TRAIT_CONTRACTION | TRAIT_REDUCTION)) {
                        if (found)
                                return NULL;
                        found = op;
                }
                if (op == t->value->op)
                        return found && schedule_registers(found->schedule) ? found : NULL;
        }
        return NULL;
}

/* ---- where it lies ---- */

/* Sets the steps of a circular buffer's elements; its rows have their own starts. */
static void set_slots(struct access *access, const struct type *t, const struct emit_circular *at)
{
        int64_t lanes = type_extent(t, LANES), row = type_extent(t, COLUMNS) * lanes;
        access->stride[LANES] = 1;
        access->stride[COLUMNS] = lanes;
        access->stride[ROWS] = access->stride[0] = 0;
        access->stride[1] = at->kept * row;
}

/* Returns the elements of a row of a value, in one block of channels. */
static int64_t row_elements(const struct type *t)
{
        return type_extent(t, COLUMNS) * type_extent(t, LANES);
}

/* Are the rows of the contraction the rows of the whole value that it is stored in? */
static bool has_rows(const struct type *t, const struct access *y)
{
        int64_t row = 1;
        for (int d = ROWS + 1; d < t->rank; d++)
                row *= type_extent(t, d);
        return t->rank > ROWS && y->stride[ROWS] == row;
}

static bool find_result(struct circular_tiles *t, struct kernel_state *s)
{
        if (!access_store(s->region, t->value, &s->result, &s->y, &s->pad) ||
            !type_same_dims(s->result->type, op_result(s->op)->type) || s->y.stride[LANES] != 1 ||
            !state_can_store(t->value))
                return false;
        int64_t low[RANK_MAX] = { 0 };
        if (s->pad && !relation_surrounds(s->pad, low))
                return false;
        t->low = low[ROWS];
        if (!t->at)
                return has_rows(t->value->type, &s->y);
        if (t->at->rows != ROWS || t->at->from || t->value->type->rank != RANK ||
            (s->pad ? op_operand(s->pad, 0) != s->result || op_result(s->pad) != t->value
                    : s->result != t->value))
                return false;
        s->y.offset = 0;
        if (s->pad) {
                if (low[0] || low[1] || low[LANES] || !relation_keeps(s->pad, 0, 1) ||
                    !relation_keeps(s->pad, 0, LANES))
                        return false;
                s->y.offset = low[COLUMNS] * type_extent(t->value->type, LANES);
        }
        set_slots(&s->y, t->value->type, t->at);
        return true;
}

/* Returns the circular buffer that holds the value; NULL: none does. */
static const struct emit_circular *slots_of(const struct kernel_state *s, const struct value *v)
{
        return emit_local(s->e, v)->circular;
}

/* Sets s->slots where the access is to a circular buffer. Returns false where its rows are not
 * those of the buffer. */
static bool find_slots(struct kernel_state *s, const struct value *v, struct access *access)
{
        const struct emit_circular *at = slots_of(s, access->value);
        if (!at)
                return true;
        const struct type *base = access->value->type;
        int64_t row = 1, end = 1, rest;
        for (int d = at->rows + 1; d < base->rank; d++)
                row *= type_extent(base, d);
        if (at->from || access->stride[ROWS] != row || access->offset < 0)
                return false;
        s->slots = at;
        s->slot = row;
        s->slot_first = access->offset / row;
        rest = access->offset % row;
        for (int d = ROWS + 1; d < v->type->rank; d++)
                end += (type_extent(v->type, d) - 1) * access->stride[d];
        bool blocks = !dim_is(v->type->dims[1], 1);
        if (rest + end > row || (blocks && v != access->value))
                return false;
        access->offset = rest;
        access->stride[0] = access->stride[ROWS] = 0;
        access->stride[1] = blocks ? at->kept * row : 0;
        return true;
}

/* Finds how the contraction reads x: from a strip, or as it lies in memory. */
static bool find_operand(struct kernel_state *s)
{
        struct value *x = op_operand(s->op, 0);
        s->schedule.pack = 1;
        if (prologue_find(s)) {
                struct access *words = prologue_access(s->prologue);
                return !words || find_slots(s, prologue_value(s->prologue), words);
        }
        if (!access_read(s->region, x, &s->x) || !find_slots(s, x, &s->x))
                return false;
        return !s->slots || s->op->code == OP_convolve_lanes;
}

static bool find_weights(const struct kernel_state *s)
{
        struct access w;
        return s->op->operand_count < 2 || (access_read(s->region, op_operand(s->op, 1), &w) &&
                                            w.value == op_operand(s->op, 1));
}

bool circular_tiles_prepare(struct circular_tiles *t, struct emit *e, const struct region *region)
{
        struct kernel_state s;
        const struct op *op = find_contraction(t, region);
        if (!op || !op_is_static(op) || op_result(op)->type->rank != RANK ||
            !state_begin(&s, e, region, op))
                return false;
        s.schedule.rows = s.schedule.row_tasks = s.schedule.panel_tasks = s.schedule.strip = 1;
        s.schedule.flat = 0;
        s.strip = *t->strip;
        if (!find_weights(&s) || !find_result(t, &s) || !find_operand(&s))
                return false;
        struct kernel_state *state = kernels_prepare(&s);
        if (!state || state->write_all || state->all_rows)
                return false;
        if (state->prologue)
                *t->strip = state->xs;
        else
                state->xs = state->slots ? state->slots->buffer : emit_parameter(e, state->x.value);
        state->schedule.strip = 0;
        state->one_row = true;
        state->ws = op->operand_count > 1 ? emit_parameter(e, op_operand(op, 1)) : NULL;
        state->ys = t->at ? t->at->buffer : t->whole;
        state->between = t->at != NULL;
        state->task = number(e, 0);
        t->state = state;
        return true;
}

bool circular_tiles_schedule(const struct op *op)
{
        return schedule_registers(op->schedule) && op_result(op)->type->rank == RANK;
}

int64_t circular_tiles_strip(const struct op *op, const struct target *target)
{
        return circular_tiles_schedule(op) ? prologue_bytes(op, target) : 0;
}

/* ---- one row ---- */

static struct loop_expr *slot_start(struct kernel_state *s, struct loop_expr *row,
                                    const struct emit_circular *at, int64_t extent, int64_t size)
{
        if (at->kept < extent)
                row = emit_op_int(s->e, LOOP_REM, row, at->kept);
        return times(s->e, row, size);
}

/* Returns where the row of a window behind the one at `start` begins: rows go on at the front of
 * the buffer. */
static struct loop_expr *next_start(struct kernel_state *s, struct loop_expr *start)
{
        struct emit *e = s->e;
        struct loop_expr *next = plus(e, start, number(e, s->row_window)),
                         *size = number(e, s->slots->kept * s->slot);
        return loop_op(s->arena, LOOP_SELECT, emit_op(e, LOOP_LT, next, size), next,
                       minus(e, next, size));
}

/* Finds where each row of x begins that windows in this row read, if they are few. */
static void find_starts(struct kernel_state *s)
{
        enum { ROWS_MOST = 4 };
        const int64_t rows = s->spatial[0].window;
        s->row_starts = NULL;
        if (s->spatial_count != 2 || rows > ROWS_MOST)
                return;
        s->row_starts = arena_array(s->arena, (size_t)rows, sizeof *s->row_starts);
        s->row_starts[0] = s->row_start;
        for (int64_t i = 1; i < rows; i++)
                s->row_starts[i] = emit_let(s->e, "x_row", next_start(s, s->row_starts[i - 1]));
}

/* Finds where the first row of x begins that windows in this row read. */
static void find_start(struct kernel_state *s, struct loop_expr *row)
{
        struct emit *e = s->e;
        const int64_t *strides = op_ints(s->op, "strides", NULL),
                      *dilations = op_ints(s->op, "dilations", NULL);
        int64_t rows = type_extent(s->x.value->type, s->slots->rows);
        struct loop_expr *first = plus(e, times(e, row, strides[0]), number(e, s->slot_first));
        s->row_start = emit_let(e, "x_row", slot_start(s, first, s->slots, rows, s->slot));
        s->row_window = dilations[0] * s->slot;
        find_starts(s);
}

static void fill(struct kernel_state *s, struct loop_expr *at, int64_t count)
{
        state_fill(s, s->ys, at, number(s->e, count),
                   s->ys->element == E_F32 && count % s->lanes == 0 ? s->lanes : 1,
                   constant_element(op_operand(s->pad, 1)->constant, 0));
}

/* Fills what lies left and right of a row, or all of a row above or below. Nothing else is ever
 * stored left and right, so the first row in a slot fills that. */
static void fill_row(struct circular_tiles *t, struct loop_expr *start, bool all)
{
        struct kernel_state *s = t->state;
        struct emit *e = s->e;
        int64_t row = row_elements(t->value->type), lanes = type_extent(t->value->type, LANES),
                low = s->y.offset, end = low + type_extent(s->result->type, COLUMNS) * lanes;
        if (!all && row == end - low)
                return;
        struct loop_expr *block =
                emit_for(e, "block", number(e, 0), number(e, type_extent(t->value->type, 1)));
        struct loop_expr *at = plus(e, start, times(e, block, t->at->kept * row));
        if (all || low)
                fill(s, at, all ? row : low);
        if (!all && end < row)
                fill(s, plus(e, at, number(e, end)), row - end);
        emit_end(e);
}

/* Writes a row of tiles: of the result, from the circular buffer's slot on where there is one. */
static bool write_tiles(struct circular_tiles *t, struct loop_expr *row, struct loop_expr *slot)
{
        struct kernel_state *s = t->state;
        struct emit *e = s->e;
        s->x_start = access_start(e, &s->x);
        s->y_start = access_start(e, &s->y);
        if (slot)
                s->y_start = emit_let(e, "y_start", plus(e, s->y_start, slot));
        if (s->slots && !s->prologue)
                find_start(s, row);
        struct loop_expr *end = emit_let(e, "row_end", plus(e, row, number(e, 1)));
        return s->write(s, row, end, number(e, 0), number(e, s->panels));
}

/* Returns the condition that a row of the value lies in its halo or, where `is` is false, that the
 * row is one of the contraction's result. */
static struct loop_expr *outside(const struct circular_tiles *t, struct loop_expr *row, bool is)
{
        struct emit *e = t->state->e;
        int64_t end = t->low + type_extent(t->state->result->type, ROWS);
        struct loop_expr *above = emit_op_int(e, is ? LOOP_LT : LOOP_GE, row, t->low),
                         *below = emit_op_int(e, is ? LOOP_GE : LOOP_LT, row, end);
        return emit_op(e, is ? LOOP_OR : LOOP_AND, above, below);
}

/* Writes the row of a value that has a halo above and below. */
static bool write_between(struct circular_tiles *t, struct loop_expr *row, struct loop_expr *slot)
{
        struct kernel_state *s = t->state;
        struct emit *e = s->e;
        emit_if(e, emit_let(e, "outside", outside(t, row, true)));
        fill_row(t, slot, true);
        emit_end(e);
        emit_if(e, emit_let(e, "inside", outside(t, row, false)));
        emit_if(e, emit_op_int(e, LOOP_LT, row, t->at->kept));
        fill_row(t, slot, false);
        emit_end(e);
        bool good = write_tiles(t, emit_let(e, "at_row", minus(e, row, number(e, t->low))), slot);
        emit_end(e);
        return good;
}

bool circular_tiles_row(struct circular_tiles *t, struct loop_expr *image, struct loop_expr *row)
{
        struct kernel_state *s = t->state;
        struct emit *e = s->e;
        s->image = image;
        if (t->at) {
                const struct type *type = t->value->type;
                struct loop_expr *slot = emit_let(
                        e, "slot",
                        slot_start(s, row, t->at, type_extent(type, ROWS), row_elements(type)));
                return s->pad ? write_between(t, row, slot) : write_tiles(t, row, slot);
        }
        if (!s->pad)
                return write_tiles(t, row, NULL);
        emit_if(e, emit_op_int(e, LOOP_EQ, plus(e, row, image), 0));
        state_halo(s, number(e, 0), 1, 1);        /* The halo is filled once. */
        emit_end(e);
        struct loop_expr *inside = emit_let(e, "inside", outside(t, row, false));
        emit_if(e, inside);
        bool good = write_tiles(t, emit_let(e, "at_row", minus(e, row, number(e, t->low))), NULL);
        emit_end(e);
        return good;
}
