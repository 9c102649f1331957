/* SPDX-License-Identifier: MIT */
/* Lowers a kernel that computes several large tensors, each from the one before, without memory for
 * any of them as a whole: rows of the last result are computed one after the other, and each tensor
 * between is computed row by row as it is needed.
 *
 *      x ---convolve--> buffer --pool--> buffer --convolve---> y
 *                        . . .            . . .
 *                        . . .            . . .
 *                        . . .
 *
 *      for row of y:
 *        first buffer:  the missing rows, up to the last one that new rows of the second need
 *        second buffer: the missing rows, up to the last one that this row of y needs
 *        this row of y
 *
 * Iterations begin before the first row of the result, so that buffers fill row by row. A circular
 * buffer has as many rows as are needed at once; row k of its tensor lies at k modulo their number.
 * A row of the result takes as many iterations as the longest buffer has rows for it, so that an
 * iteration computes about one row of each buffer. No row is computed twice. A row is computed in
 * register tiles where its contraction has a schedule of such (circular_tiles.c), else by the
 * canonical nest, so results are the same to the bit. Where a reduction of all positions ends the
 * kernel, rows are reduced as they come (circular_pool.c). needs.c says which rows of one tensor a
 * row of another needs; where a tensor has more rows than the one before (resizes, transposed
 * convolutions), several iterations need the same row of that one.
 *
 * Where whole rows take too much memory, the result's schedule says patch=N: the kernel does all of
 * this for N columns of the result, then for the next N. A circular buffer then has the columns
 * that one patch needs; columns that two patches need (the halo of windows) are computed for both:
 *
 *      x           buffer               y
 *                  a a a a b b . .    1 1 1|2 2 2|. .
 *
 *      patch 1:  a a a a|b . . . .        (a, b: columns that windows of 3 read)
 *      patch 2:  . . a|b b b b|. . */
#include "kernels/circular_buffers.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "ir/target/engine.h"
#include "ir/target/schedule.h"
#include "kernels/circular_pool.h"
#include "kernels/circular_tiles.h"
#include "kernels/needs.h"

/* Rows of the result are its dimension SPATIAL + ROWS. */
enum { ROWS, COLUMNS, AXES, SPATIAL = 2, BUFFERS_MAX = 32, PATCH_MOST = 1 << 30 };

struct circular_buffer {
        struct value *value;
        int dimension[AXES];            /* These dimensions of the value are its rows and its
                                         * columns, which its readers go along; 0: it has none. */
        int64_t rows, kept;             /* The value has `rows` rows, of which the buffer holds
                                         * `kept` at a time. */
        /* The value has `columns` columns, a patch `width`. Without patches both are 1, and columns
         * are treated like channels. */
        int64_t columns, width;
        int64_t computed;               /* All patches together compute this many columns. */
        int64_t least[AXES];            /* `reach` in the first iteration, in parts of a row, and
                                         * the end of the first patch's columns: later ones are
                                         * larger. */
        double flops;                   /* It takes this many floating-point operations to compute
                                         * the value once from the buffers before it. */
        struct need reads[AXES][BUFFERS_MAX];     /* A row (or column) of this buffer needs these
                                                   * rows of each buffer before it. */
        struct emit_circular at;
        struct loop_expr *from, *to;    /* The patch begins at column `from` and ends before column
                                         * `to`. */
        struct loop_variable *made;     /* This many rows are computed so far. */
        struct loop_expr *reach;        /* By the end of this iteration this many rows must be
                                         * computed, in parts of a row, and clamped to the rows of
                                         * the value. */
        struct circular_tiles tiles;    /* Its rows are computed in tiles, if tiles.state is set. */
};

struct circular_buffers {
        struct circular_buffer list[BUFFERS_MAX];       /* The last one is the kernel's result or
                                                         * what the pool reduces. */
        bool pools;                     /* All rows are reduced at the end. */
        struct circular_pool pool;
        int count;
        int64_t parts;                  /* A row of the result takes this many iterations. */
        int64_t before;                 /* The iterations of this many rows precede the first row
                                         * of the result, to fill buffers. */
        int64_t patch;                  /* This many columns of the result are computed at a time;
                                         * 0: all. */
        double scale[AXES];
        const struct op *obstacle;
        struct loop_buffer *strip;      /* All buffers' tiles share this strip; NULL: none has
                                         * one. */
};

static bool is_circular(const struct op *op)
{
        const struct schedule_circular *words = schedule_circular(op->schedule);
        return words && words->circular;
}

static void set_schedule(struct op *op, struct schedule schedule)
{
        op->schedule = schedule_keep(op->region->function->module->arena, schedule);
}

void circular_mark(struct op *op)
{
        struct schedule schedule = schedule_preset(SCHEDULE_circular);
        schedule.circular.circular = 1;
        set_schedule(op, schedule);
}

bool circular_wanted(const struct kernel_request *request)
{
        for (const struct op *op = request->region ? request->region->first : NULL; op;
             op = op->next)
                if (is_circular(op))
                        return true;
        return false;
}

int64_t circular_columns(const struct op *fusion)
{
        const struct type *y = op_result(fusion)->type;
        return y->rank > SPATIAL + COLUMNS ? type_extent(y, SPATIAL + COLUMNS) : 1;
}

void circular_set_patch(struct op *fusion, int64_t columns)
{
        struct schedule schedule = schedule_preset(SCHEDULE_circular);
        schedule.circular.patch = columns < PATCH_MOST ? (int)columns : PATCH_MOST;
        set_schedule(op_operand(fusion->regions[0]->last, 0)->op, schedule);
}

/* ---- which rows and columns are needed ---- */

/* Returns the operation to blame where op needs everything along a dimension. A contraction that
 * needs all channels is not at fault: then the last value is, which has neither rows nor
 * columns. */
static const struct op *to_blame(const struct circular_buffers *r, const struct op *op,
                                 int dimension, int axis)
{
        bool channels = op_info[op->code].traits & TRAIT_CONTRACTION && dimension != SPATIAL + axis;
        return channels ? r->list[r->count - 1].value->op : op;
}

/* Finds what buffer number `to` reads of the buffers before it, going backwards through the
 * operations of the region. */
static bool find_reads(struct circular_buffers *r, int to, int axis, const struct region *region,
                       struct need *needs)
{
        struct circular_buffer *circular = &r->list[to];
        struct need *reads = circular->reads[axis];
        int number = 0, buffer_of = r->count - 1;
        for (struct op *op = region->first; op; op = op->next) {
                op->number = number++;
                needs[op->number] = (struct need){ 0 };
        }
        struct op *start = circular->value->op;
        needs[start->number] = need_itself(circular->dimension[axis]);
        for (const struct op *op = region->last; op; op = op->previous) {
                while (buffer_of >= 0 && r->list[buffer_of].value->op->number > op->number)
                        buffer_of--;
                const struct need n = needs[op->number];
                bool is_other = op != start && buffer_of >= 0 && r->list[buffer_of].value->op == op;
                if (!n.any || op->code == OP_yield)
                        continue;
                if (is_other) {
                        int *own = &r->list[buffer_of].dimension[axis];
                        *own = *own ? *own : n.dimension;
                        reads[buffer_of] = n;
                        reads[buffer_of].all |= n.dimension != *own;
                        if (reads[buffer_of].all)
                                r->obstacle = r->obstacle ? r->obstacle : start;
                        continue;
                }
                for (int i = 0; i < op->operand_count; i++) {
                        const struct value *x = op_operand(op, i);
                        if (!x || x->kind != VALUE_RESULT || x->op->region != region)
                                continue;
                        struct need wanted = need_through(op, i, n);
                        if (wanted.all)
                                r->obstacle = to_blame(r, op, circular->dimension[axis], axis);
                        if (!need_add(&needs[x->op->number], wanted))
                                return false;
                }
        }
        for (int i = 0; i < to; i++) {
                if (reads[i].all)
                        return false;
                r->scale[axis] *= reads[i].scale > reads[i].per
                                          ? (double)reads[i].scale / (double)reads[i].per
                                          : 1;
        }
        return r->scale[axis] <= NEED_SCALE_MAX;      /* The product of all scales is bounded, so
                                                       * that rows reached stay within bounds. */
}

/* Return the first element, and the end of the elements, of an earlier buffer that elements
 * from..end of a later one need. */
static int64_t need_from(const struct need *n, int64_t from)
{
        return divide_down(n->scale * from + n->low, n->per);
}
static int64_t need_end(const struct need *n, int64_t end)
{
        return divide_down(n->scale * (end - 1) + n->high, n->per) + 1;
}

/* Computes how many rows each buffer must have, in parts of a row, when the result has `rows`. This
 * is below 0 or beyond the end where windows reach outside. */
static void find_reach(const struct circular_buffers *r, int64_t rows, int64_t *reach)
{
        const int64_t parts = r->parts;
        reach[r->count - 1] = rows;
        for (int i = r->count - 2; i >= 0; i--) {
                bool any = false;
                reach[i] = 0;
                for (int k = i + 1; k < r->count; k++) {
                        const struct need *n = &r->list[k].reads[ROWS][i];
                        if (!n->any)
                                continue;
                        int64_t end = divide_down(n->scale * (reach[k] - parts) + n->high * parts,
                                                  n->per) + parts;
                        reach[i] = !any || end > reach[i] ? end : reach[i];
                        any = true;
                }
        }
}

static int64_t limit(int64_t rows, int64_t most)
{
        return rows < 0 ? 0 : rows < most ? rows : most;
}

/* Counts the iterations before the first row of the result in which some buffer gets rows. */
static void find_before(struct circular_buffers *r)
{
        enum { BEFORE_MAX = 4096 };
        int64_t reach[BUFFERS_MAX];
        for (bool any = true; any && r->before < BEFORE_MAX; r->before += any) {
                find_reach(r, -r->before * r->parts, reach);
                any = false;
                for (int i = 0; i + 1 < r->count; i++)
                        any |= reach[i] >= r->parts;
        }
}

/* Finds how many iterations a row of the result takes: as many as the longest buffer has rows for
 * it, so that each iteration computes about one row of every buffer. */
static void find_parts(struct circular_buffers *r)
{
        enum { PARTS_MAX = 64 };
        r->parts = 1;
        for (int i = 0; i + 1 < r->count; i++) {
                int64_t parts = r->list[i].rows / r->list[r->count - 1].rows;
                r->parts = parts > r->parts ? parts : r->parts;
        }
        r->parts = r->parts < PARTS_MAX ? r->parts : PARTS_MAX;
}

/* Runs through all iterations to see how many rows of each buffer are needed at once. */
static void find_kept(struct circular_buffers *r)
{
        int64_t made[BUFFERS_MAX] = { 0 }, reach[BUFFERS_MAX], wanted[BUFFERS_MAX];
        find_parts(r);
        find_before(r);
        const int64_t first = -r->before * r->parts;
        for (int64_t part = first; part < r->list[r->count - 1].rows * r->parts; part++) {
                find_reach(r, part + 1, reach);
                for (int i = 0; i < r->count; i++) {
                        if (part == first)
                                r->list[i].least[ROWS] = reach[i];
                        wanted[i] = limit(divide_down(reach[i], r->parts), r->list[i].rows);
                        wanted[i] = wanted[i] > made[i] ? wanted[i] : made[i];
                }
                for (int i = 0; i + 1 < r->count; i++)
                        for (int k = i + 1; k < r->count; k++) {
                                const struct need *n = &r->list[k].reads[ROWS][i];
                                int64_t from = n->any ? need_from(n, made[k]) : wanted[i];
                                int64_t kept = wanted[i] - (from > 0 ? from : 0);
                                if (kept > r->list[i].kept)
                                        r->list[i].kept = kept;
                        }
                memcpy(made, wanted, (size_t)r->count * sizeof *made);
        }
        for (int i = 0; i + 1 < r->count; i++) {
                struct circular_buffer *circular = &r->list[i];
                circular->kept = circular->kept < 1                ? 1
                                 : circular->kept < circular->rows ? circular->kept
                                                                   : circular->rows;
        }
}

/* Finds the columns from..to of each buffer that the patch of the result at column `start`
 * needs. */
static void find_columns(const struct circular_buffers *r, int64_t start, int64_t *from,
                         int64_t *to)
{
        const struct circular_buffer *last = &r->list[r->count - 1];
        from[r->count - 1] = start;
        to[r->count - 1] = limit(start + r->patch, last->columns);
        for (int i = r->count - 2; i >= 0; i--) {
                bool any = false;
                from[i] = to[i] = 0;
                for (int k = i + 1; k < r->count; k++) {
                        const struct need *n = &r->list[k].reads[COLUMNS][i];
                        if (!n->any)
                                continue;
                        int64_t first = need_from(n, from[k]), end = need_end(n, to[k]);
                        from[i] = !any || first < from[i] ? first : from[i];
                        to[i] = !any || end > to[i] ? end : to[i];
                        any = true;
                }
                from[i] = from[i] > 0 ? from[i] : 0;
                to[i] = to[i] < r->list[i].columns ? to[i] : r->list[i].columns;
        }
}

/* Runs through all patches to find how many columns of each buffer a patch needs at most, and how
 * many are computed in all. */
static void find_width(struct circular_buffers *r)
{
        int64_t from[BUFFERS_MAX], to[BUFFERS_MAX];
        for (int i = 0; i < r->count; i++)
                r->list[i].width = r->patch ? 1 : r->list[i].columns;
        for (int64_t start = 0; r->patch && start < r->list[r->count - 1].columns;
             start += r->patch) {
                find_columns(r, start, from, to);
                for (int i = 0; i < r->count; i++) {
                        struct circular_buffer *circular = &r->list[i];
                        if (start == 0)
                                circular->least[COLUMNS] = to[i];
                        circular->width = to[i] - from[i] > circular->width ? to[i] - from[i]
                                                                            : circular->width;
                        circular->computed += to[i] > from[i] ? to[i] - from[i] : 0;
                }
        }
}

static bool add_circular(struct circular_buffers *r, struct value *v, double flops)
{
        const struct type *t = v->type;
        if (r->count == BUFFERS_MAX || t->rank <= SPATIAL || !type_is_static(t) ||
            !type_elements(t) ||
            (r->count && !dim_equal(r->list[0].value->type->dims[0], t->dims[0]))) {
                r->obstacle = v->op;
                return false;
        }
        r->list[r->count++] = (struct circular_buffer){ .value = v, .flops = flops };
        return true;
}

/* Returns the columns of a patch that the result's schedule asks for; 0: all. */
static int64_t find_patch(const struct op *fusion)
{
        const struct schedule_circular *words =
                schedule_circular(op_operand(fusion->regions[0]->last, 0)->op->schedule);
        int64_t patch = words ? words->patch : 0;
        return patch > 0 && patch < circular_columns(fusion) ? patch : 0;
}

/* Finds what the buffers need of each other along the rows or, with patches, the columns. It starts
 * at the result: each buffer's dimension is the one that its readers go along. */
static bool find_axis(struct circular_buffers *r, int axis, const struct region *region,
                      struct need *needs)
{
        bool good = true;
        r->list[r->count - 1].dimension[axis] = SPATIAL + axis;
        for (int i = r->count - 1; i > 0 && good; i--)
                good = r->list[i].dimension[axis] && find_reads(r, i, axis, region, needs);
        for (int i = 0; i < r->count && good; i++) {
                struct circular_buffer *circular = &r->list[i];
                good = circular->dimension[axis] &&
                       (axis == ROWS || circular->dimension[ROWS] != circular->dimension[COLUMNS]);
                *(axis == ROWS ? &circular->rows : &circular->columns) =
                        type_extent(circular->value->type, circular->dimension[axis]);
        }
        return good;
}

/* Finds the reduction that ends the kernel. Returns the value whose rows are computed one after the
 * other: what is reduced or, without a reduction, the result. */
static struct value *find_pool(struct circular_buffers *r, const struct region *region,
                               struct value *result)
{
        struct op *last = region->last;
        while (last && (last == result->op || !is_circular(last)))
                last = last->previous;
        r->pools = last && circular_pool_find(&r->pool, region, op_result(last), result);
        return r->pools ? op_result(last) : result;
}

static bool find_buffers(struct circular_buffers *r, const struct region *region,
                         struct value *result)
{
        int count = 0;
        double flops = 0;
        bool good = result->kind == VALUE_RESULT && result->op->region == region;
        *r = (struct circular_buffers){ .scale = { 1, 1 } };
        result = good ? find_pool(r, region, result) : result;
        for (struct op *op = region->first; op->code != OP_yield; op = op->next, count++) {
                flops += op_flops(op);
                if (!good || (!is_circular(op) && op_result(op) != result))
                        continue;
                good = add_circular(r, op_result(op), flops);
                flops = 0;
        }
        if (!good || r->list[r->count - 1].value != result)
                return false;
        r->patch = r->pools ? 0 : find_patch(region->owner);      /* A pool takes whole rows. */
        struct arena *arena = arena_new();
        struct need *needs = arena_array(arena, (size_t)count + 1, sizeof *needs);
        for (int i = 0; i < r->count; i++)
                r->list[i].columns = 1;
        good = find_axis(r, ROWS, region, needs) &&
               (!r->patch || find_axis(r, COLUMNS, region, needs));
        arena_free(arena);
        if (!good)
                return false;
        find_kept(r);
        find_width(r);
        if (r->pools)
                r->list[r->count - 1].kept = 1;
        return true;
}

/* Returns how many buffers are circular: all but the kernel's result. */
static int kept_buffers(const struct circular_buffers *r) { return r->count - !r->pools; }

static int64_t circular_elements(const struct circular_buffer *circular)
{
        const struct type *t = circular->value->type;
        return type_elements(t) / type_extent(t, 0) / circular->rows / circular->columns *
               circular->kept * circular->width;
}

/* Returns the floating-point operations for columns that more than one patch computes. */
static double count_again(const struct circular_buffers *r)
{
        double again = 0;
        for (int i = 0; r->patch && i + 1 < r->count; i++) {
                const struct circular_buffer *circular = &r->list[i];
                if (circular->computed > circular->columns)
                        again += circular->flops *
                                 ((double)circular->computed / (double)circular->columns - 1);
        }
        return again;
}

/* Adds the bytes of the strip that all tiles share. Patches have no tiles: then what takes longer
 * is added. */
static void add_tiles(const struct circular_buffers *r, const struct region *region,
                      const struct target *target, struct circular_cost *cost)
{
        int64_t most = 0;
        for (const struct op *op = region->first; op; op = op->next) {
                int64_t bytes = circular_tiles_strip(op, target);
                most = bytes > most ? bytes : most;
                if (r->patch && circular_tiles_schedule(op))
                        cost->slower += op_flops(op);
        }
        cost->bytes += most && !r->patch ? storage_bytes(most) : 0;
}

bool circular_cost(const struct op *fusion, const struct target *target,
                   struct circular_cost *cost, const struct op **obstacle)
{
        struct circular_buffers r;
        const struct kernel_request request = { .region = fusion->code == OP_fusion
                                                                  ? fusion->regions[0]
                                                                  : NULL };
        *cost = (struct circular_cost){ 0 };
        if (!circular_wanted(&request))
                return true;
        if (!find_buffers(&r, request.region, op_operand(request.region->last, 0))) {
                *obstacle = r.obstacle;
                return false;
        }
        for (int i = 0; i < r.count; i++) {
                cost->flops += r.list[i].flops;
                if (i < kept_buffers(&r))
                        cost->bytes +=
                                storage_bytes(circular_elements(&r.list[i]) *
                                              element_info[r.list[i].value->type->element].bytes);
        }
        add_tiles(&r, request.region, target, cost);
        cost->bytes += r.pools ? storage_bytes(circular_pool_bytes(&r.pool)) : 0;
        cost->again = count_again(&r);
        return true;
}

/* ---- writing ---- */

/* Writes (at * scale + add) / per, rounded down, where `at` is at least `least`. */
static struct loop_expr *write_share(struct emit *e, struct loop_expr *at, const struct need *n,
                                     int64_t add, int64_t least)
{
        int64_t lift = divide_up(-(least * n->scale + add), n->per);
        struct loop_expr *x = emit_op_int(e, LOOP_MUL, at, n->scale);
        if (n->per == 1 || lift < 0)
                lift = 0;
        x = emit_op_int(e, LOOP_ADD, x, add + lift * n->per);
        return emit_op_int(e, LOOP_SUB, emit_op_int(e, LOOP_DIV, x, n->per), lift);
}

/* Write need_from and need_end as Loop IR. */
static struct loop_expr *write_from(struct emit *e, const struct need *n, struct loop_expr *from)
{
        return write_share(e, from, n, n->low, 0);
}

/* `end` and `least` are in parts, of which an element has `parts`. */
static struct loop_expr *write_end(struct emit *e, const struct need *n, struct loop_expr *end,
                                   int64_t least, int64_t parts)
{
        return write_share(e, end, n, (n->high + n->per - n->scale) * parts, least);
}

/* Writes how many rows each buffer must have, in parts of a row, when the result has part + 1. */
static void write_reach(struct emit *e, struct circular_buffers *r, struct loop_expr *part)
{
        r->list[r->count - 1].reach = emit_op_int(e, LOOP_ADD, part, 1);
        for (int i = r->count - 2; i >= 0; i--) {
                struct loop_expr *reach = NULL;
                for (int k = i + 1; k < r->count; k++) {
                        const struct need *n = &r->list[k].reads[ROWS][i];
                        if (!n->any)
                                continue;
                        struct loop_expr *end =
                                write_end(e, n, r->list[k].reach, r->list[k].least[ROWS],
                                          r->parts);
                        reach = reach ? emit_op(e, LOOP_MAX, reach, end) : end;
                }
                r->list[i].reach = emit_let(e, "reach", reach ? reach : emit_int(e, 0));
        }
}

/* Writes which columns of each buffer the patch at column `start` needs, as find_columns computes
 * them. */
static void write_columns(struct emit *e, struct circular_buffers *r, struct loop_expr *start)
{
        struct circular_buffer *last = &r->list[r->count - 1];
        last->from = start;
        last->to = emit_let(e, "y_end",
                            emit_op_int(e, LOOP_MIN, emit_op_int(e, LOOP_ADD, start, r->patch),
                                        last->columns));
        for (int i = r->count - 2; i >= 0; i--) {
                struct circular_buffer *circular = &r->list[i];
                struct loop_expr *from = NULL, *to = NULL;
                for (int k = i + 1; k < r->count; k++) {
                        const struct need *n = &r->list[k].reads[COLUMNS][i];
                        if (!n->any)
                                continue;
                        struct loop_expr *first = write_from(e, n, r->list[k].from);
                        struct loop_expr *end =
                                write_end(e, n, r->list[k].to, r->list[k].least[COLUMNS], 1);
                        from = from ? emit_op(e, LOOP_MIN, from, first) : first;
                        to = to ? emit_op(e, LOOP_MAX, to, end) : end;
                }
                circular->from = emit_let(
                        e, "left", from ? emit_op_int(e, LOOP_MAX, from, 0) : emit_int(e, 0));
                circular->to = emit_let(e, "right",
                                        to ? emit_op_int(e, LOOP_MIN, to, circular->columns)
                                           : emit_int(e, 0));
        }
}

/* Prepares the tiles of buffer number i, or of the kernel's result. */
static void find_tiles(struct emit *e, struct circular_buffers *r, int i,
                       const struct region *region, struct loop_buffer *whole)
{
        struct circular_buffer *circular = &r->list[i];
        const bool is_result = i == kept_buffers(r);
        circular->tiles = (struct circular_tiles){ .value = circular->value,
                                                   .before = i ? r->list[i - 1].value : NULL,
                                                   .at = is_result ? NULL : &circular->at,
                                                   .whole = is_result ? whole : NULL,
                                                   .strip = &r->strip };
        if (!r->patch)
                circular_tiles_prepare(&circular->tiles, e, region);
}

/* Writes a row of a value (with patches, its columns in the patch) into its circular buffer, or
 * into `whole` for the kernel's result. */
static void write_row(struct emit *e, struct circular_buffer *circular,
                      struct loop_buffer *whole, struct loop_expr *image, struct loop_expr *row)
{
        if (circular->tiles.state) {
                circular_tiles_row(&circular->tiles, image, row);
                return;
        }
        static const char *const names[] = { "n", "c", "row", "column", "i4", "i5" };
        const struct type *t = circular->value->type;
        struct loop_expr *index[RANK_MAX];
        for (int d = 0; d < t->rank; d++) {
                bool part = d == circular->dimension[COLUMNS];
                index[d] = d == 0 ? image
                           : d == circular->dimension[ROWS]
                                   ? row
                                   : emit_for(e, d < 6 ? names[d] : "i",
                                              part ? circular->from : emit_int(e, 0),
                                              part ? circular->to : emit_int(e, type_extent(t, d)));
        }
        struct loop_expr *value = emit_element(e, circular->value, index);
        emit_store(e, whole ? whole : circular->at.buffer,
                   whole ? emit_position(e, t->rank, t->dims, index)
                         : emit_circular_position(e, circular->value, &circular->at, index),
                   value);
        for (int d = 1; d < t->rank; d++)
                if (d != circular->dimension[ROWS])
                        emit_end(e);
}

/* Writes the rows of a circular buffer that this iteration needs and that are not computed yet. */
static void write_circular(struct emit *e, struct circular_buffer *circular, int64_t parts,
                           struct loop_expr *image)
{
        struct loop_expr *reach = emit_op_int(e, LOOP_DIV, circular->reach, parts);
        struct loop_expr *end =
                emit_let(e, "end", emit_op_int(e, LOOP_MIN, reach, circular->rows));
        struct loop_expr *made = emit_for(e, "row", loop_use(e->arena, circular->made), end);
        write_row(e, circular, NULL, image, made);
        emit_end(e);
        emit_set(e, circular->made, emit_op(e, LOOP_MAX, loop_use(e->arena, circular->made), end));
        emit_read_circular(e, circular->value, &circular->at);
}

bool circular_kernel(struct emit *e, const struct kernel_request *request,
                     struct loop_buffer *buffer)
{
        /* The struct is in the arena, because expressions that read a circular buffer refer to it
         * until they are printed. */
        struct circular_buffers *r = ARENA_NEW(e->arena, struct circular_buffers);
        if (!find_buffers(r, request->region, request->results[0]))
                return false;
        struct circular_buffer *last = &r->list[r->count - 1];
        for (const struct op *op = request->region->first; op->code != OP_yield; op = op->next)
                /* Indices are not merged: a circular buffer needs the row by itself. */
                emit_local(e, op_result(op))->splits = ~0u;
        e->kernel->again = count_again(r);
        for (int i = 0; i < kept_buffers(r); i++)
                r->list[i].at.buffer = emit_scratch(e, "circular", r->list[i].value->type->element,
                                                    circular_elements(&r->list[i]));
        struct loop_expr *image = emit_for(e, "image", emit_int(e, 0),
                                           emit_int(e, type_extent(last->value->type, 0)));
        if (r->patch) {
                struct loop_expr *start =
                        emit_for(e, "patch", emit_int(e, 0), emit_int(e, last->columns));
                emit_loop(e, r->patch, false);
                write_columns(e, r, start);
        }
        for (int i = 0; i < kept_buffers(r); i++) {
                struct circular_buffer *circular = &r->list[i];
                circular->at = (struct emit_circular){ .buffer = circular->at.buffer,
                                               .rows = circular->dimension[ROWS],
                                               .columns = circular->dimension[COLUMNS],
                                               .kept = circular->kept,
                                               .width = circular->width,
                                               .from = circular->from };
                if (i + 1 < r->count)
                        circular->made = emit_var(e, "made", LOOP_TYPE(E_INDEX), emit_int(e, 0));
        }
        if (r->pools)
                circular_pool_begin(&r->pool, e);
        struct loop_expr *row =
                emit_for(e, "y_row", emit_int(e, -r->before), emit_int(e, last->rows));
        struct loop_expr *part = emit_for(e, "part", emit_int(e, 0), emit_int(e, r->parts));
        write_reach(e, r, emit_op(e, LOOP_ADD, emit_op_int(e, LOOP_MUL, row, r->parts), part));
        for (int i = 0; i + 1 < r->count; i++) {
                find_tiles(e, r, i, request->region, NULL);
                write_circular(e, &r->list[i], r->parts, image);
        }
        emit_end(e);
        find_tiles(e, r, r->count - 1, request->region, buffer);
        if (r->before)
                emit_if(e, emit_op_int(e, LOOP_GE, row, 0));
        /* The pass outline makes functions of loops over rows. */
        const bool loop = target_engine(e->options->target)->single_sums;
        if (loop)
                row = emit_for(e, "row", row, emit_op_int(e, LOOP_ADD, row, 1));
        write_row(e, last, r->pools ? NULL : buffer, image, row);
        if (r->pools) {
                emit_read_circular(e, last->value, &last->at);
                circular_pool_row(&r->pool, e, image, row);
        }
        for (int open = 1 + loop + (r->before > 0) + (r->patch > 0); open > 0; open--)
                emit_end(e);
        if (r->pools)
                circular_pool_end(&r->pool, e, image, buffer);
        emit_end(e);
        return !e->failed;
}
