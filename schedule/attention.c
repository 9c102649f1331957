/* The scheduled lowering of attention, and of any two products with rows between them:
 *
 *      scores = q k', scaled and masked      <groups x rows x columns>       for a group (a head) and a block of its rows:
 *      shares = softmax(scores)                                               |  scores of the block, into memory of the
 *      y      = shares v                     <groups x rows x depth>          |  kernel's own; row by row, shares in their
 *                                                                             v  place; y of the block
 *
 * The products are written by their own lowering (packed.c), tile by tile of rows; what is between them by the element functions
 * of its operations, as loops over rows (ir/lower_rows.c) that vectorize does. A block of scores stays in the second cache, and no
 * workspace holds all of them. Where shares are not divided by their sum, but the result is, the sums of a block are kept, too.
 *
 * Of the second product's schedule count: strip (tiles of rows in a block; 0: all), row_tasks. */
#include "schedule/attention.h"

#include "schedule/stage.h"

enum { GROUP = 1, ROW = 2, COLUMN = 3, RANK = 4 };

/* ---- what it is ---- */

/* Does v depend on op? */
static bool depends(const struct region *region, const struct value *v, const struct op *op, int depth)
{
        enum { DEPTH_MAX = 100 };
        if (v->kind != VALUE_RESULT || v->op->region != region)
                return false;
        if (v->op == op || depth == DEPTH_MAX)
                return true;
        for (int i = 0; i < v->op->operand_count; i++)
                if (depends(region, op_operand(v->op, i), op, depth + 1))
                        return true;
        return false;
}

static bool find_products(const struct region *region, struct attention *a)
{
        int count = 0;
        for (struct op *op = region->first; op != region->last; op = op->next) {
                if (op->result_count != 1 || !type_is_static(op_result(op)->type))
                        return false;
                if (!(op_info[op->code].traits & TRAIT_CONTRACTION))
                        continue;
                const struct type *y = op_result(op)->type;
                if (op->code != OP_convolve_packed || count == 2 || y->rank != RANK || y->dims[0] != 1 ||
                    y->dims[GROUP] != op_int(op, "groups") || y->element != E_F32 ||
                    op_operand(op, 0)->type->element != E_F32 || op_operand(op, 1)->type->element != E_F32)
                        return false;
                *(count++ ? &a->second : &a->first) = op;
        }
        const struct type *scores = count == 2 ? op_result(a->first)->type : NULL, *y = count == 2 ? op_result(a->second)->type : NULL;
        return scores && scores->dims[GROUP] == y->dims[GROUP] && scores->dims[ROW] == y->dims[ROW];
}

/* down the element-wise operations that one after the other are all that reads the first product */
static void find_scores(const struct region *region, struct attention *a)
{
        a->scores = op_result(a->first);
        while (value_has_one_use(a->scores)) {
                struct op *user = a->scores->uses->user;
                bool alone = op_info[user->code].traits & TRAIT_ELEMENTWISE && op_result(user)->type->element == E_F32;
                for (int i = 0; i < user->operand_count && alone; i++)
                        alone = op_operand(user, i) == a->scores || !depends(region, op_operand(user, i), a->first, 0);
                if (!alone || op_result(user) == a->shares)
                        return;
                a->scores = op_result(user);
        }
}

/* one number for each row, rows in its last dimension */
static bool is_per_row(const struct attention *a, const struct value *v)
{
        int64_t rows = a->scores->type->dims[ROW];
        int last = v->type->rank - 1;
        while (last > 0 && v->type->dims[last] == 1)
                last--;
        return v->type->rank && v->type->dims[last] == rows && v->type->element == E_F32 &&
               type_elements(v->type) == rows * a->scores->type->dims[GROUP];
}

/* What is between scores and shares may be rows, what follows the second product element-wise; there they meet only in per_row. */
static bool check_operations(const struct region *region, struct attention *a)
{
        for (const struct op *op = region->first; op != region->last; op = op->next) {
                bool elementwise = op_info[op->code].traits & TRAIT_ELEMENTWISE;
                bool moves = op->code == OP_broadcast || op->code == OP_reshape;
                if (op == a->first || op == a->second || !depends(region, op_result(op), a->first, 0))
                        continue;
                if (!depends(region, op_result(op), a->second, 0)) {
                        if (!elementwise && !moves && op->code != OP_reduce)
                                return false;
                        continue;
                }
                for (int i = 0; i < op->operand_count; i++) {
                        struct value *v = op_operand(op, i);
                        if (!depends(region, v, a->first, 0) || depends(region, v, a->second, 0))
                                continue;
                        v = op_is(v, OP_broadcast) ? op_operand(v->op, 0) : v;
                        if (!elementwise || !is_per_row(a, v) || (a->per_row && a->per_row != v))
                                return false;
                        a->per_row = v;
                }
        }
        return true;
}

bool attention_find(const struct region *region, struct value *result, struct attention *a)
{
        struct op *pad;
        *a = (struct attention){ 0 };
        if (!find_products(region, a))
                return false;
        a->shares = op_operand(a->second, 0);
        if (depends(region, op_operand(a->second, 1), a->first, 0) || !depends(region, a->shares, a->first, 0))
                return false;
        find_scores(region, a);
        return a->shares != a->scores && a->shares->type == a->scores->type && check_operations(region, a) &&
               access_store(region, result, &a->result, &a->y, &pad) && !pad && depends(region, a->result, a->second, 0) &&
               type_same_dims(a->result->type, op_result(a->second)->type) && a->result->type->element == E_F32;
}

/* ---- the kernel ---- */

struct block {
        struct emit *e;
        struct attention a;
        const struct region *region;
        struct stage *first, *second;
        int64_t width, rows;            /* of the memory for a block */
        int tasks;
        int64_t tiles;                  /* of rows in a block */
        struct emit_place scores, per_row;
        struct loop_expr *group, *from, *to;      /* rows */
};

static struct stage *prepare_product(struct block *b, const struct op *op)
{
        struct stage common;
        bool first = op == b->a.first;
        if (!stage_begin(&common, b->e, b->region, op))
                return NULL;
        const struct access strip = { .stride = { 0, 0, b->width, 1 } };
        if (!first) {
                b->tiles = common.schedule.strip;
                b->tasks = common.schedule.row_tasks;
        }
        common.schedule.row_tasks = common.schedule.panel_tasks = 1;
        common.schedule.flat = common.schedule.strip = 0;
        common.between = first;
        common.result = first ? b->a.scores : b->a.result;
        common.x = common.y = strip;
        if (first ? !access_read(b->region, op_operand(op, 0), &common.x) : (common.y = b->a.y).stride[COLUMN] != 1)
                return NULL;
        struct stage *s = packed_prepare(&common);
        return s && s->spatial_count == 1 && !s->write_all ? s : NULL;
}

static bool prepare(struct block *b)
{
        b->width = attention_width(&b->a);
        b->first = prepare_product(b, b->a.first);
        b->second = b->first ? prepare_product(b, b->a.second) : NULL;
        if (!b->second)
                return false;
        const struct cut *one = &b->first->column, *other = &b->second->column;
        if (!b->tiles || b->tiles > one->count)
                b->tiles = one->count;
        b->rows = b->tiles * one->size;
        return one->count == other->count && one->size == other->size && one->large == other->large;
}

static void find_memory(struct block *b, struct loop_buffer *result)
{
        struct emit *e = b->e;
        b->scores = (struct emit_place){ .buffer = emit_scratch(e, "scores", E_F32, b->tasks * b->rows * b->width),
                                    .stride = { 0, 0, b->width, 1 } };
        if (b->a.per_row) {
                const struct type *t = b->a.per_row->type;
                int row = t->rank - 1;
                while (t->dims[row] == 1)
                        row--;
                b->per_row.buffer = emit_scratch(e, "per_row", E_F32, b->tasks * b->rows);
                b->per_row.stride[row] = 1;
        }
        b->first->xs = emit_parameter(e, b->first->x.value);
        b->first->ws = emit_parameter(e, op_operand(b->a.first, 1));
        b->first->ys = b->second->xs = b->scores.buffer;
        b->second->ws = emit_parameter(e, op_operand(b->a.second, 1));
        b->second->ys = result;
}

/* shares in the place of the scores */
static bool write_rows(struct block *b)
{
        struct emit *e = b->e;
        struct loop_expr *index[RANK] = { number(e, 0), b->group, NULL, NULL };
        int64_t columns = b->a.scores->type->dims[COLUMN], rows = b->a.scores->type->dims[ROW];
        emit_local(e, b->a.scores)->place = &b->scores;
        rows_find(e, b->region, b->a.shares, &b->scores);
        if (e->rows.along != 1u << COLUMN || !rows_end_with(e, b->region, b->a.scores, b->a.shares))
                return false;
        e->rows.groups[e->rows.group_count++] = (struct loop_group){ COLUMN, COLUMN, columns };
        index[ROW] = emit_for(e, "row", b->from, b->to);
        index[COLUMN] = emit_for(e, "j", number(e, 0), number(e, columns));
        struct loop_expr *share = emit_element(e, b->a.shares, index);
        emit_store(e, b->scores.buffer, emit_at(e, &b->scores, RANK, index), share);
        emit_end(e);
        emit_local(e, b->a.shares)->place = &b->scores;
        if (b->a.per_row) {
                const struct type *t = b->a.per_row->type;
                struct loop_expr *at[RANK_MAX];
                emit_reindex(e, 2, (dim_t[]){ b->a.scores->type->dims[GROUP], rows }, index + GROUP, t->rank, t->dims, at);
                struct loop_expr *x = emit_element(e, b->a.per_row, at);
                emit_store(e, b->per_row.buffer, emit_at(e, &b->per_row, t->rank, at), x);
                emit_local(e, b->a.per_row)->place = &b->per_row;
        }
        emit_end(e);
        bool once = e->rows.written <= 1;       /* what is kept lies where the scores were */
        e->rows = (struct rows){ 0 };
        return once;
}

/* the first row of a tile */
static struct loop_expr *row_of(struct block *b, struct loop_expr *tile)
{
        struct emit *e = b->e;
        const struct cut *cut = &b->first->column;
        if (cut->large == cut->count)
                return minimum(e, times(e, tile, cut->size), number(e, cut->extent));
        return plus(e, times(e, tile, cut->size - 1), minimum(e, tile, number(e, cut->large)));
}

static bool write_block(struct block *b, struct loop_expr *tile, struct loop_expr *end, struct loop_expr *task)
{
        struct emit *e = b->e;
        b->from = emit_let(e, "from_row", row_of(b, tile));
        b->to = emit_let(e, "to_row", row_of(b, end));
        struct loop_expr *start = emit_op(e, LOOP_SUB, times(e, task, b->rows), b->from);
        b->per_row.start = b->a.per_row ? emit_let(e, "first", start) : NULL;
        b->scores.start = emit_let(e, "start", times(e, b->per_row.start ? b->per_row.start : start, b->width));
        b->first->group = b->second->group = b->group;
        b->first->image = b->second->image = number(e, 0);
        b->first->x_start = number(e, b->first->x.offset);
        b->first->y_start = b->second->x_start = b->scores.start;
        b->second->y_start = number(e, b->second->y.offset);
        return b->first->write(b->first, tile, end, number(e, 0), number(e, b->first->panels)) && write_rows(b) &&
               b->second->write(b->second, tile, end, number(e, 0), number(e, b->second->panels));
}

bool attention_kernel(struct emit *e, const struct kernel_request *request, struct loop_buffer *buffer)
{
        struct block b = { .e = e, .region = request->region };
        if (!attention_find(request->region, request->results[0], &b.a) || !prepare(&b))
                return false;
        for (const struct op *op = b.region->first; op != b.region->last; op = op->next)
                emit_local(e, op_result(op))->splits = ~0u;       /* indices stay apart: places need them so */
        find_memory(&b, buffer);
        int64_t tiles = b.first->column.count, blocks = (tiles + b.tiles - 1) / b.tiles;
        struct loop_expr *task = emit_for(e, "task", number(e, 0), number(e, b.tasks)), *from, *to;
        emit_loop(e, 1, b.tasks > 1);
        stage_share(e, task, b.tasks, b.a.scores->type->dims[GROUP] * blocks, &from, &to);
        struct loop_expr *unit = emit_for(e, "unit", from, to);
        bool one = b.a.scores->type->dims[GROUP] == 1;  /* then element functions say 0 */
        b.group = one ? number(e, 0) : emit_let(e, "group", emit_op_int(e, LOOP_DIV, unit, blocks));
        struct loop_expr *in_group = blocks > 1 ? emit_op_int(e, LOOP_REM, unit, blocks) : number(e, 0);
        struct loop_expr *tile = emit_let(e, "tile", times(e, in_group, b.tiles));
        struct loop_expr *end = emit_let(e, "end", minimum(e, plus(e, tile, number(e, b.tiles)), number(e, tiles)));
        bool good = write_block(&b, tile, end, task);
        emit_end(e);
        emit_end(e);
        return good && !e->failed;
}
