/* The lowering of a kernel that computes several large tensors, each from the one before, without room for any of them: rows of the
 * last result are computed one after the other, and what lies between is made row by row as it is needed.
 *
 *      x ---convolve---> ring ---pool---> ring ---convolve---> y        for row of y:
 *                        . . .            . . .                           first ring:  rows that were not made yet, up to the last one
 *                        . . .            . . .                                        that the second ring's new rows need
 *                        . . .                                            second ring: up to the last one that this row of y needs
 *                                                                         this row of y
 *
 * Turns begin before the first row of the result, so that rings fill row by row. A ring has as many rows as are needed at once; row k of its tensor is at k modulo that. No row is computed twice, and every element
 * is computed as by the canonical nest, so results are the same to the bit. Which rows of one tensor a row of another needs is
 * followed through the operations between them: rows * scale + low .. rows * scale + high. Element-wise operations, windows, pads,
 * slices, concats of other dimensions keep rows apart; reductions over rows (global pools, norms), products of matrices and
 * whatever changes the shape do not. Dimension ROWS is the first spatial one of [N, C, spatial]. */
#include "schedule/rings.h"

#include <string.h>

#include "schedule/schedule.h"

enum { ROWS = 2, RINGS_MAX = 32, SCALE_MAX = 1 << 12, FAR_MAX = 1 << 24 };

struct need { bool any, all; int64_t scale, low, high; }; /* any: of some rows; all: unknown which */

struct ring {
        struct value *value;
        int64_t rows, kept;             /* of the tensor, of the ring */
        struct need reads[RINGS_MAX];   /* by a row of this one, of each before it */
        struct loop_buffer *buffer;
        struct loop_variable *made;     /* rows so far */
        struct loop_expr *reach;        /* rows that there are to be behind this turn, if there are so many */
};

struct rings {
        struct ring list[RINGS_MAX];    /* the last is the kernel's result */
        int count;
        int64_t before;                 /* turns before the first row of the result: rings fill row by row, too */
        double scale;
        const struct op *obstacle;
};

static bool is_ring(const struct op *op) { return op->schedule && !strncmp(op->schedule, "ring=1", 6); }

void rings_mark(struct op *op) { op->schedule = "ring=1"; }

bool rings_wanted(const struct kernel_request *request)
{
        for (const struct op *op = request->region ? request->region->first : NULL; op; op = op->next)
                if (is_ring(op))
                        return true;
        return false;
}

/* ---- which rows of its operands a row of a result needs ---- */

static struct need unknown(void) { return (struct need){ .any = true, .all = true }; }

/* Windows beyond these bounds are not followed, so that no sum here overflows. */
static struct need window_need(struct need n, int64_t window, int64_t stride, int64_t dilation, int64_t low)
{
        if (window < 1 || window > FAR_MAX || stride > SCALE_MAX || dilation > FAR_MAX || low > FAR_MAX || low < -FAR_MAX)
                return unknown();
        n.low = n.low * stride - low;
        n.high = n.high * stride - low + (window - 1) * dilation;
        n.scale *= stride;
        return n.scale > SCALE_MAX || n.low < -FAR_MAX || n.high > FAR_MAX ? unknown() : n;
}

static struct need convolve_need(const struct op *op, struct need n)
{
        if (op_ints(op, "input_dilations", NULL)[0] != 1)
                return unknown();
        return window_need(n, op_operand(op, 1)->type->dims[ROWS], op_ints(op, "strides", NULL)[0], op_ints(op, "dilations", NULL)[0],
                           op_ints(op, "pads", NULL)[0]);
}

static struct need slice_need(const struct op *op, struct need n)
{
        int64_t starts[RANK_MAX], steps[RANK_MAX];
        int count;
        if (!value_ints(op_operand(op, 1), starts, RANK_MAX, &count) || !value_ints(op_operand(op, 2), steps, RANK_MAX, &count) ||
            steps[ROWS] < 1)
                return unknown();
        return window_need(n, 1, steps[ROWS], 1, -starts[ROWS]);
}

static struct need pad_need(const struct op *op, struct need n)
{
        int64_t low[RANK_MAX];
        int count;
        if (op_int(op, "mode") || !value_ints(op_operand(op, 2), low, RANK_MAX, &count))
                return unknown();
        return window_need(n, 1, 1, 1, low[ROWS]);
}

static struct need operand_need(const struct op *op, int operand, struct need n)
{
        const struct type *x = op_operand(op, operand)->type, *y = op_result(op)->type;
        if (n.all || y->rank <= ROWS || x->rank != y->rank)
                return unknown();
        if (op_info[op->code].traits & TRAIT_ELEMENTWISE)
                return n;
        switch (op->code) {
        case OP_convolve: return operand ? unknown() : convolve_need(op, n);
        case OP_slice: return operand ? unknown() : slice_need(op, n);
        case OP_pad: return operand ? unknown() : pad_need(op, n);
        case OP_concat: return op_int(op, "axis") == ROWS ? unknown() : n;
        case OP_transpose: return op_ints(op, "perm", NULL)[ROWS] == ROWS ? n : unknown();
        case OP_broadcast: return op_ints(op, "dims", NULL)[ROWS] == ROWS && x->dims[ROWS] == y->dims[ROWS] ? n : unknown();
        case OP_reduce_window:
                return window_need(n, op_ints(op, "window", NULL)[ROWS], op_ints(op, "strides", NULL)[ROWS],
                                   op_ints(op, "dilations", NULL)[ROWS], op_ints(op, "pads", NULL)[ROWS]);
        default: return unknown();
        }
}

/* false: two ways that do not go together */
static bool add_need(struct need *to, struct need n)
{
        if (!to->any)
                *to = n;
        else if (to->all || n.all)
                *to = unknown();
        else if (to->scale != n.scale)
                return false;
        to->low = n.low < to->low ? n.low : to->low;
        to->high = n.high > to->high ? n.high : to->high;
        return true;
}

/* What ring number `to` reads of those before it: backwards through the operations of the region. */
static bool find_reads(struct rings *r, int to, const struct region *region, struct need *needs)
{
        struct ring *ring = &r->list[to];
        int number = 0, ring_of = r->count - 1;
        for (struct op *op = region->first; op; op = op->next) {
                op->number = number++;
                needs[op->number] = (struct need){ 0 };
        }
        struct op *start = ring->value->op;
        needs[start->number] = (struct need){ .any = true, .scale = 1 };
        for (const struct op *op = region->last; op; op = op->previous) {
                while (ring_of >= 0 && r->list[ring_of].value->op->number > op->number)
                        ring_of--;
                const struct need n = needs[op->number];
                bool is_other = op != start && ring_of >= 0 && r->list[ring_of].value->op == op;
                if (!n.any || op->code == OP_yield)
                        continue;
                if (is_other) {
                        if (n.all)
                                r->obstacle = r->obstacle ? r->obstacle : start;
                        ring->reads[ring_of] = n;
                        continue;
                }
                for (int i = 0; i < op->operand_count; i++) {
                        const struct value *x = op_operand(op, i);
                        if (!x || x->kind != VALUE_RESULT || x->op->region != region)
                                continue;
                        struct need wanted = operand_need(op, i, n);
                        if (wanted.all)
                                r->obstacle = op;
                        if (!add_need(&needs[x->op->number], wanted))
                                return false;
                }
        }
        for (int i = 0; i < to; i++) {
                if (ring->reads[i].all)
                        return false;
                r->scale *= ring->reads[i].scale > 1 ? (double)ring->reads[i].scale : 1;
        }
        return r->scale <= SCALE_MAX;   /* of all rings: what they reach stays small */
}

/* Rows that each ring must reach when the result reaches `rows`: below 0 and beyond its end where the windows do. */
static void find_reach(const struct rings *r, int64_t rows, int64_t *reach)
{
        reach[r->count - 1] = rows;
        for (int i = r->count - 2; i >= 0; i--) {
                bool any = false;
                reach[i] = 0;
                for (int k = i + 1; k < r->count; k++) {
                        const struct need *n = &r->list[k].reads[i];
                        int64_t end = n->scale * (reach[k] - 1) + n->high + 1;
                        if (n->any)
                                reach[i] = !any || end > reach[i] ? end : reach[i];
                        any |= n->any;
                }
        }
}

static int64_t limit(int64_t rows, int64_t most) { return rows < 0 ? 0 : rows < most ? rows : most; }

/* Turns before the first row of the result in which some ring gets rows. */
static void find_before(struct rings *r)
{
        enum { BEFORE_MAX = 4096 };
        int64_t reach[RINGS_MAX];
        for (bool any = true; any && r->before < BEFORE_MAX; r->before += any) {
                find_reach(r, -r->before, reach);
                any = false;
                for (int i = 0; i + 1 < r->count; i++)
                        any |= reach[i] > 0;
        }
}

/* Runs through all turns to see how many rows of each ring are needed at once. */
static void find_kept(struct rings *r)
{
        int64_t made[RINGS_MAX] = { 0 }, reach[RINGS_MAX], wanted[RINGS_MAX];
        find_before(r);
        for (int64_t row = -r->before; row < r->list[r->count - 1].rows; row++) {
                find_reach(r, row + 1, reach);
                for (int i = 0; i < r->count; i++) {
                        wanted[i] = limit(reach[i], r->list[i].rows);
                        wanted[i] = wanted[i] > made[i] ? wanted[i] : made[i];
                }
                for (int i = 0; i + 1 < r->count; i++)
                        for (int k = i + 1; k < r->count; k++) {
                                const struct need *n = &r->list[k].reads[i];
                                int64_t first = n->scale * made[k] + n->low;
                                int64_t kept = wanted[i] - (first > 0 ? first : 0);
                                if (n->any && kept > r->list[i].kept)
                                        r->list[i].kept = kept;
                        }
                memcpy(made, wanted, (size_t)r->count * sizeof *made);
        }
        for (int i = 0; i + 1 < r->count; i++) {
                struct ring *ring = &r->list[i];
                ring->kept = ring->kept < 1 ? 1 : ring->kept < ring->rows ? ring->kept : ring->rows;
        }
}

static bool add_ring(struct rings *r, struct value *v)
{
        if (r->count == RINGS_MAX || v->type->rank <= ROWS || !type_is_static(v->type) || !type_elements(v->type) ||
            (r->count && r->list[0].value->type->dims[0] != v->type->dims[0])) {
                r->obstacle = v->op;
                return false;
        }
        r->list[r->count++] = (struct ring){ .value = v, .rows = v->type->dims[ROWS] };
        return true;
}

static bool find_rings(struct rings *r, const struct region *region, struct value *result)
{
        int count = 0;
        bool good = true;
        for (struct op *op = region->first; op; op = op->next, count++)
                if (is_ring(op) && op_result(op) != result)
                        good = good && add_ring(r, op_result(op));
        good = good && result->kind == VALUE_RESULT && result->op->region == region && add_ring(r, result);
        struct arena *arena = arena_new();
        struct need *needs = arena_array(arena, (size_t)count + 1, sizeof *needs);
        for (int i = r->count - 1; i > 0 && good; i--)
                good = find_reads(r, i, region, needs);
        arena_free(arena);
        if (good)
                find_kept(r);
        return good;
}

static int64_t ring_elements(const struct ring *ring)
{
        const struct type *t = ring->value->type;
        return type_elements(t) / t->dims[0] / t->dims[ROWS] * ring->kept;
}

int64_t rings_bytes(const struct op *fusion, const struct op **obstacle)
{
        struct rings r = { .scale = 1 };
        const struct kernel_request request = { .region = fusion->code == OP_fusion ? fusion->regions[0] : NULL };
        int64_t bytes = 0;
        if (!rings_wanted(&request))
                return 0;
        if (!find_rings(&r, request.region, op_operand(request.region->last, 0))) {
                *obstacle = r.obstacle;
                return -1;
        }
        for (int i = 0; i + 1 < r.count; i++)
                bytes += ring_elements(&r.list[i]) * element_info[r.list[i].value->type->element].bytes;
        return bytes;
}

/* ---- writing ---- */

/* how many rows each ring is to reach when the result has row + 1 */
static void write_reach(struct emit *e, struct rings *r, struct loop_expr *row)
{
        r->list[r->count - 1].reach = emit_op_int(e, LOOP_ADD, row, 1);
        for (int i = r->count - 2; i >= 0; i--) {
                struct loop_expr *reach = NULL;
                for (int k = i + 1; k < r->count; k++) {
                        const struct need *n = &r->list[k].reads[i];
                        if (!n->any)
                                continue;
                        struct loop_expr *end = emit_op_int(e, LOOP_MUL, r->list[k].reach, n->scale);
                        end = emit_op_int(e, LOOP_ADD, end, n->high + 1 - n->scale);
                        reach = reach ? emit_op(e, LOOP_MAX, reach, end) : end;
                }
                r->list[i].reach = emit_let(e, "reach", reach ? reach : emit_int(e, 0));
        }
}

/* a row of a value, stored into a buffer that has `kept` rows */
static void write_row(struct emit *e, const struct ring *ring, struct loop_buffer *buffer, struct loop_expr *image,
                      struct loop_expr *row, bool whole)
{
        static const char *const names[] = { "n", "c", "row", "i3", "i4", "i5" };
        const struct type *t = ring->value->type;
        struct loop_expr *index[RANK_MAX];
        for (int d = 0; d < t->rank; d++)
                index[d] = d == 0 ? image : d == ROWS ? row : emit_for(e, d < 6 ? names[d] : "i", emit_int(e, 0), emit_int(e, t->dims[d]));
        struct loop_expr *value = emit_element(e, ring->value, index);
        struct loop_expr *position = whole ? emit_position(e, t->rank, t->dims, index)
                                           : emit_ring_position(e, ring->value, ring->kept, index);
        emit_store(e, buffer, position, value);
        for (int d = 1; d < t->rank; d++)
                if (d != ROWS)
                        emit_end(e);
}

bool rings_kernel(struct emit *e, const struct kernel_request *request, struct loop_buffer *buffer)
{
        struct rings r = { .scale = 1 };
        if (!find_rings(&r, request->region, request->results[0]))
                return false;
        struct ring *last = &r.list[r.count - 1];
        for (int i = 0; i + 1 < r.count; i++)
                r.list[i].buffer = emit_scratch(e, "ring", r.list[i].value->type->element, ring_elements(&r.list[i]));
        struct loop_expr *image = emit_for(e, "image", emit_int(e, 0), emit_int(e, last->value->type->dims[0]));
        for (int i = 0; i + 1 < r.count; i++)
                r.list[i].made = emit_var(e, "made", LOOP_TYPE(E_INDEX), emit_int(e, 0));
        struct loop_expr *row = emit_for(e, "y_row", emit_int(e, -r.before), emit_int(e, last->rows));
        write_reach(e, &r, row);
        for (int i = 0; i + 1 < r.count; i++) {
                struct ring *ring = &r.list[i];
                struct loop_expr *end = emit_let(e, "end", emit_op_int(e, LOOP_MIN, ring->reach, ring->rows));
                struct loop_expr *made = emit_for(e, "row", loop_use(e->arena, ring->made), end);
                write_row(e, ring, ring->buffer, image, made, false);
                emit_end(e);
                emit_set(e, ring->made, emit_op(e, LOOP_MAX, loop_use(e->arena, ring->made), end));
                emit_read_ring(e, ring->value, ring->buffer, ring->kept);
        }
        if (r.before)
                emit_if(e, emit_op_int(e, LOOP_GE, row, 0));
        write_row(e, last, buffer, image, row, true);
        if (r.before)
                emit_end(e);
        emit_end(e);
        emit_end(e);
        return !e->failed;
}
