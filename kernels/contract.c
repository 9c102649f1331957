/* SPDX-License-Identifier: MIT */
/* This is the scheduled lowering of convolve_packed: its kernel state, the loops around tiles, and
 * where outputs lie. See contract.h. */
#include "kernels/contract.h"

#include "cost/packed_cost.h"
#include "ir/tensor/packed_multiply.h"

static bool in_tiles(const struct contract *c) { return c->s.multiply->registers; }

/* ---- operands and places of the sums ---- */

struct loop_expr *contract_units(const struct contract *c, struct loop_expr *channels, int count)
{
        return channels && count > 1
                       ? emit_op_int(c->s.e, LOOP_DIV,
                                     plus(c->s.e, channels, number(c->s.e, count - 1)), count)
                       : channels;
}

struct loop_expr *contract_x(struct contract *c)
{
        struct emit *e = c->s.e;
        return plus(e, state_x(&c->s), state_x_along(&c->s, times(e, c->group, c->blocks), 1));
}

struct loop_expr *contract_panel(struct contract *c)
{
        return plus(c->s.e, times(c->s.e, c->group, c->s.panels), c->panel);
}

struct loop_expr *contract_next(struct contract *c, struct loop_expr *panel)
{
        struct emit *e = c->s.e;
        return minimum(e, plus(e, panel, number(e, 1)),
                       number(e, c->s.panels * c->groups - 1));
}

void contract_index(struct contract *c, struct loop_expr *line, int row, int column, int j,
                    struct loop_expr **index, struct loop_expr **first_lane)
{
        struct emit *e = c->s.e;
        int64_t in_block = divide_up(op_int(c->s.op, "block"), c->line),
                in_panel = c->s.panel_width / c->line,
                per_group = type_extent(op_result(c->s.op)->type, 1) / c->groups;
        int64_t first = j * c->s.lanes / c->line, within = j * c->s.lanes % c->line;
        state_index(&c->s, row, column, index);
        index[1] = times(e, c->group, per_group);
        struct loop_expr *n = number(e, first % in_block);
        if (!line && in_panel % in_block == 0) {          /* A panel is whole blocks. */
                index[1] = plus(e, index[1],
                                plus(e, times(e, c->panel, in_panel / in_block),
                                     number(e, first / in_block)));
        } else {
                n = plus(e, line ? line : times(e, c->panel, in_panel), number(e, first));
                if (per_group > 1)
                        index[1] = plus(e, index[1], emit_op_int(e, LOOP_DIV, n, in_block));
                n = per_group > 1 ? emit_op_int(e, LOOP_REM, n, in_block) : n;
        }
        *first_lane = plus(e, times(e, n, c->line), number(e, within));
}

/* ---- tiles, panels, groups ---- */

static bool write_tile(struct kernel_state *s, int rows, int columns)
{
        struct contract *c = (struct contract *)s;
        return (in_tiles(c) ? contract_tiles : contract_sums)(c, rows, columns);
}

/* Writes the panel's outputs, a tile's width at a time; the last tile may be narrower. */
static bool write_panel(struct contract *c, struct loop_expr *from, struct loop_expr *to,
                        int64_t outputs)
{
        struct emit *e = c->s.e;
        int width = c->width, whole = (int)(outputs / width);
        bool good = true;
        if (whole) {
                c->part = emit_for(e, "part", number(e, 0), number(e, whole));
                c->part = times(e, c->part, width / c->line);
                c->live = width;
                good = state_each_tile(&c->s, from, to, write_tile);
                emit_end(e);
        }
        c->live = (int)(outputs - (int64_t)whole * width);
        if (c->live && good) {
                c->part = number(e, whole * width / c->line);
                good = state_each_tile(&c->s, from, to, write_tile);
        }
        return good;
}

static bool write_panels(struct contract *c, struct loop_expr *from, struct loop_expr *to,
                         struct loop_expr *first, struct loop_expr *end)
{
        struct emit *e = c->s.e;
        int64_t width = c->s.panel_width, whole = c->outputs / width;
        bool good = true;
        if (whole) {
                struct loop_expr *stop =
                        whole < c->s.panels ? minimum(e, end, number(e, whole)) : end;
                c->panel = emit_for(e, "panel", first, stop);
                good = write_panel(c, from, to, width);
                emit_end(e);
        }
        if (whole < c->s.panels && good) {
                struct loop_expr *start = maximum(e, first, number(e, whole));
                const bool few = c->s.few_rests;
                c->panel = emit_for(e, "panel", start, end);
                c->s.few_rests = few || whole > 1;      /* Others take most of the time. */
                good = write_panel(c, from, to, c->outputs % width);
                c->s.few_rests = few;
                emit_end(e);
        }
        return good;
}

static bool write_strip(struct contract *c, struct loop_expr *from, struct loop_expr *to,
                        struct loop_expr *first, struct loop_expr *end)
{
        struct kernel_state *s = &c->s;
        struct emit *e = s->e;
        struct loop_expr *block = times(e, c->group, c->blocks);
        const int64_t part = prologue_part(s);
        if (part) {
                s->first_tile = emit_for(e, "part", number(e, 0), number(e, s->column.count));
                emit_loop(e, part, false);
                s->end_tile = emit_let(e, "part_end",
                                       minimum(e, plus(e, s->first_tile, number(e, part)),
                                               number(e, s->column.count)));
        }
        bool good = (!s->prologue || prologue_write(s, from, to, block)) &&
                    write_panels(c, from, to, first, end);
        if (part)
                emit_end(e);
        return good;
}

static bool write_strips(struct contract *c, struct loop_expr *from, struct loop_expr *to,
                         struct loop_expr *first, struct loop_expr *end)
{
        bool strips = state_open_strips(&c->s, &from, &to),
             good = write_strip(c, from, to, first, end);
        if (strips)
                emit_end(c->s.e);
        return good;
}

static bool write_groups(struct kernel_state *s, struct loop_expr *from, struct loop_expr *to,
                         struct loop_expr *first, struct loop_expr *end)
{
        struct contract *c = (struct contract *)s;
        if (in_tiles(c))
                contract_tiles_begin(c);
        else
                contract_sums_begin(c);
        c->group = s->group ? s->group
                            : emit_for(s->e, "group", number(s->e, 0), number(s->e, c->groups));
        bool good = write_strips(c, from, to, first, end);
        if (!s->group)
                emit_end(s->e);
        if (in_tiles(c))
                contract_tiles_end(c);
        return good;
}

/* ---- the kernel state ---- */

/* Returns the outputs of a line: as many as a cache line of sums has, where tiles and blocks are
 * multiples of that; otherwise as many as a vector of w. */
static int64_t line_of(const struct contract *c, int64_t tile)
{
        const struct op *op = c->s.op;
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        int64_t block = op_int(op, "block"), lanes = round_up(packed_lanes(x, w), c->s.lanes),
                line = target_line(c->s.target, c->s.multiply->sum);
        bool lines = packed_panel(x, w) % line == 0 && line % lanes == 0 && tile % line == 0 &&
                     (block % line == 0 || block == op_int(op, "outputs"));
        return lines ? line : lanes;
}

/* Sets the extents that follow from the shapes of the operands. */
static void measure(struct contract *c)
{
        const struct op *op = c->s.op;
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        c->groups = op_int(op, "groups");
        c->blocks = type_extent(w, 1);
        c->inner = type_extent(w, w->rank - 3);
        c->word = c->s.multiply->channels;
        c->words = divide_up(op_int(op, "channels"), c->word);
        c->outputs = type_extent(op_result(op)->type, 1) / c->groups * op_int(op, "block");
        c->panel_size = type_elements(w) / type_extent(w, 0);
        c->s.panels = type_extent(w, 0) / c->groups;
        c->s.panel_width = packed_panel(x, w);
        c->width = in_tiles(c) ? (int)c->s.panel_width : c->s.schedule.vectors * c->s.lanes;
        c->line = line_of(c, c->width);
        if (!in_tiles(c))               /* A hardware tile takes as long for a narrow panel as for a
                                         * full one. */
                c->s.last_width = c->outputs - (c->s.panels - 1) * c->s.panel_width;
}

/* Prepares the kernel state for a multiply; returns NULL where the contraction cannot be computed
 * by it. */
static struct kernel_state *prepare(const struct kernel_state *common,
                                    const struct multiply *multiply)
{
        struct contract *c = ARENA_NEW(common->arena, struct contract);
        c->s = *common;
        c->s.multiply = multiply;
        c->s.write = write_groups;
        c->s.enter = in_tiles(c) ? contract_tiles_enter : NULL;
        measure(c);
        bool vectors = in_tiles(c) ? c->width % c->s.lanes == 0
                                   : multiply->outputs == c->s.lanes &&
                                             contract_fits_width(c->s.op, c->s.target);
        if (!vectors || c->s.pool || c->line % c->s.lanes || c->width % c->line ||
            c->s.panel_width % c->width ||
            (c->word > 1 && !c->s.prologue && c->s.x.stride[c->s.rank - 1] != 1))
                return NULL;
        state_spatial(&c->s, 2);
        if (c->s.spatial_count > 1 && !dim_is(c->s.spatial[c->s.spatial_count - 2].x_pitch, 0))
                c->s.schedule.rows = 1;         /* Rows of a tile are known steps apart. */
        if (in_tiles(c) && !contract_tiles_read(c))
                return NULL;
        state_tiling(&c->s);
        if (c->s.open && !in_tiles(c)) {
                const struct packed_work work = packed_work_of(c->s.op, c->s.target);
                c->s.few_rests = !packed_streams(&work, c->s.target);
        }
        if (c->s.prologue)
                prologue_memory(&c->s, c->blocks);
        bool fits = in_tiles(c) ? contract_tiles_fit(c)
                                : c->s.schedule.split * c->s.row.size * c->s.column.size <=
                                                  TILE_MAX &&
                                          c->s.schedule.vectors <= TILE_MAX;
        return fits ? &c->s : NULL;
}

const struct multiply *contract_multiply(const struct op *op, const struct target *target,
                                         bool tiles)
{
        const struct type *w = op_operand(op, 1)->type;
        const struct multiply *m =
                packed_multiply(op, target, tiles ? SUMS_IN_TILES : SUMS_IN_VECTORS);
        int spatial = w->rank - 5;
        bool near = tiles && op_ints(op, "dilations", NULL)[spatial - 1] == 1, merged;
        bool fills = !m || !tiles ||
                     contract_depth(m, type_extent(w, w->rank - 3),
                                    near ? type_extent(w, 1 + spatial) : 1, &merged);
        return fills ? m : NULL;
}

bool contract_fits_width(const struct op *op, const struct target *width)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        int lanes = target_lanes(width, op_accumulator(op));
        return packed_lanes(x, w) == lanes || lanes == 1 ||
               (packed_group(x, w) == 1 && packed_panel(x, w) % lanes == 0);
}

struct kernel_state *contract_prepare(const struct kernel_state *common)
{
        struct kernel_state *s = NULL;
        for (int tiles = op_is_static_inside(common->op); tiles >= 0 && !s; tiles--) {
                const struct multiply *m =
                        contract_multiply(common->op, common->target, tiles);
                s = m ? prepare(common, m) : NULL;
        }
        return s;
}
