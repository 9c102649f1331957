/* SPDX-License-Identifier: MIT */
/* Writes attention by fragments of warps (FlashAttention-2): a block of the grid computes some rows
 * of a group (a head).
 *
 *     queries of the block       for each block of keys, a warp with its rows:
 *         +---------+                scores = q k'
 *         | warp 0  |                best, shares        each lane, for its part of the scores
 *         | warp 1  |                sums = sums * exp(best before - best) + shares v
 *         | ..      |
 *         +---------+
 *
 * Keys and values come in blocks of `keys`; two blocks lie in shared memory, and the next one is
 * copied while the current one is multiplied.
 *
 * Scores, shares and sums stay in the warp's fragments (`take`, `give`, MMA whose x are sums:
 * ir/loop/loop_tiles.h); only what the four lanes of a row have found goes through shared memory.
 *
 * The softmax is computed online, block by block of keys, as in kernels/attention_kernel.c (Milakov
 * and Gimelshein, arXiv 1805.02867; Dao, arXiv 2307.08691), and blocks that the mask hides are
 * skipped as there. The element functions of the fusion compute what scores and sums become. Keys
 * and values are not packed: copies of 16 bytes put the words of keys where MMA reads them, and
 * values are read transposed.
 *
 * Products of matrices (dot), of as many rows and keys as a run gives, go the same way, but for
 * their operands: lanes compute these and store them in shared memory. */
#include "engines/grid/grid_engine.h"
#include "engines/grid/attention_block.h"
#include "ir/tensor/packed_multiply.h"

#include <float.h>
#include <math.h>

/* ---- what fits ---- */

static const struct multiply *multiply_of(const struct op *op, const struct target *target)
{
        const struct multiply *m = packed_multiply(op, target, SUMS_IN_TILES);
        return m && m->x.source == SOURCE_WARP ? m : NULL;
}

/* Returns the multiply for products of matrices. */
static const struct multiply *multiply_of_matrices(const struct attention *a,
                                                   const struct target *target)
{
        const enum element x = op_operand(a->first, 0)->type->element;
        const struct multiply *m;
        if (op_operand(a->first, 1)->type->element != x ||
            op_operand(a->second, 1)->type->element != x)
                return NULL;
        for (int i = 0; (m = multiply_at(target, i)); i++)
                if (m->x.source == SOURCE_WARP && m->sum == E_F32 && m->x.memory == x &&
                    m->w.memory == x)
                        return m;
        return NULL;
}

/* Do the products of matrices have the dimensions that are computed so? */
static bool are_matrices(const struct attention *a)
{
        const struct type *scores = a->scores->type, *k = op_operand(a->first, 1)->type,
                          *v = op_operand(a->second, 1)->type;
        int count_a, count_b;
        op_ints(a->first, "batch_a", &count_a);
        op_ints(a->second, "batch_b", &count_b);
        return scores->rank == RANK && count_a == 2 && count_b == 2 && k->rank == RANK &&
               v->rank == RANK &&
               (a->shares == a->multiplied ||
                (op_is(a->multiplied, OP_cast) &&
                 op_operand(a->multiplied->op, 0) == a->shares)) &&
               dim_is_static(scores->dims[0]) && dim_is_static(scores->dims[GROUP]);
}

bool attention_tile_of(const struct attention *a, const struct target *target,
                       const struct schedule_grid *s, struct attention_tile *t)
{
        const bool matrices = a->first->code == OP_dot;
        if (s->warp_group)
                return !matrices && attention_group_of(a, target, s, t);
        const struct multiply *m = matrices ? multiply_of_matrices(a, target)
                                            : multiply_of(a->first, target);
        const struct type *x = op_operand(a->first, 0)->type, *scores = a->scores->type;
        if (matrices ? !m || !are_matrices(a)
                     : !m || multiply_of(a->second, target) != m || m->sum != E_F32 ||
                               !dim_equal(x->dims[GROUP], scores->dims[GROUP]) ||
                               !dim_equal(x->dims[ROW], scores->dims[ROW]))
                return false;
        const dim_t depth = x->dims[matrices ? *op_ints(a->first, "contract_a", NULL) : COLUMN];
        if (!dim_is_static(depth) || !dim_is_static(op_result(a->second)->type->dims[COLUMN]))
                return false;
        *t = (struct attention_tile){ .rows = s->tile,
                                      .warps = s->warps,
                                      .parts = s->parts,
                                      .keys = s->keys,
                                      .depth = (int)dim_extent(depth),
                                      .width = (int)type_extent(op_result(a->second)->type, COLUMN),
                                      .fragment = m->positions,
                                      .lanes = m->outputs,
                                      .group = m->channels,
                                      .bytes = element_info[m->x.memory].bytes };
        const int of_warp = t->rows / t->warps;
        if (t->keys <= 0)
                return false;
        t->iterations = divide_up(dim_bound(op_module(a->first), scores->dims[COLUMN]),
                                  attention_tile_keys(t));
        return t->rows > 0 && t->rows % t->warps == 0 && of_warp % t->fragment == 0 &&
               of_warp <= GRID_LANES && attention_tile_warps(t) <= GRID_WARPS_MAX &&
               t->group * t->bytes == COPY_BYTES && t->keys % multiply_row(m) == 0 &&
               t->fragment == TILE_OWN_ROWS && t->lanes == TILE_OWN_LANES &&
               t->depth % multiply_row(m) == 0 && t->width % t->lanes == 0 &&
               t->keys / t->lanes <= TILE_MAX && t->width / t->lanes <= TILE_MAX &&
               t->depth / t->group <= TILE_MAX && t->keys / t->group <= TILE_MAX &&
               attention_tile_shared(t) <= GRID_SHARED_MAX;
}

const struct multiply *attention_tile_multiply(const struct attention *a,
                                               const struct target *target,
                                               const struct attention_tile *t)
{
        return t->warp_group                ? attention_group_multiply(a, target)
               : a->first->code == OP_dot ? multiply_of_matrices(a, target)
                                           : multiply_of(a->first, target);
}

int64_t attention_tile_shared(const struct attention_tile *t)
{
        enum { ALLOCATIONS = 9, ALIGN = 128, OF_ROW = 3 + 2 * TILE_ROW_LANES };
        if (t->warp_group)
                return attention_group_shared(t);
        const int64_t operands = t->rows * query_row(t) + (int64_t)attention_tile_stages(t) *
                                                                  attention_tile_keys(t) *
                                                                  (t->depth + t->width),
                      rows = (int64_t)t->rows * t->parts;
        return operands * t->bytes + rows * (OF_ROW + (t->parts > 1 ? joined_row(t) : 0)) * 4 +
               ALLOCATIONS * ALIGN;
}

/* ---- the kernel ---- */

static struct loop_expr *part_of_warp(struct block *b)
{
        return emit_op_int(b->e, LOOP_DIV, b->warp, b->t.warps);
}

/* ---- products ---- */

struct loop_stmt *attention_multiply(struct block *b, struct loop_variable *sums,
                                     struct loop_buffer *x, struct loop_expr *at,
                                     struct loop_buffer *w, int depth)
{
        struct loop_stmt *s = on_tile(b, STMT_MULTIPLY, sums, x, at);
        s->weights = w;
        const int64_t stage = w->extent / b->stages;
        s->b = times(b->e, emit_op_int(b->e, LOOP_REM, b->number, b->stages), stage);
        if (b->t.parts > 1)
                s->b = plus(b->e, s->b, times(b->e, part_of_warp(b), stage / b->t.parts));
        s->tiles.depth = depth / b->t.group;
        s->tiles.group = b->t.group;
        s->function = loop_library_find(b->e->library, b->multiply->body, b->multiply->x.word);
        return s;
}

/* Multiplies the warp's queries by the keys of an iteration. */
static void multiply_keys(struct block *b)
{
        const int64_t row = query_row(&b->t);
        struct loop_stmt *s = attention_multiply(b, b->tile, b->qs,
                                                 times(b->e, in_block(b, first_of_warp(b)), row),
                                                 b->ks, b->t.depth);
        s->tiles.step = row;
        s->tiles.jump = b->t.fragment * row;
}

/* Multiplies the shares by the values of an iteration. */
static void multiply_values(struct block *b)
{
        attention_multiply(b, b->acc, NULL, loop_use(b->e->arena, b->tile), b->vs, b->t.keys)
                ->tiles.transposed = true;
}


/* ---- a block ---- */

/* Finds the iterations *from..*to whose keys some row of the block sees. */
static void find_iterations(struct block *b, struct loop_expr **from, struct loop_expr **to)
{
        struct emit *e = b->e;
        const int64_t columns = columns_of(b), all = b->t.iterations;
        const int keys = attention_tile_keys(&b->t);
        const bool low = b->band.low > 1 - b->band.rows, high = b->band.high < columns - 1;
        *from = number(e, 0);
        *to = number(e, all);
        if (b->open_columns && all > 1)
                *to = emit_let(e, "to_iteration",
                               emit_op_int(e, LOOP_DIV,
                                           plus(e, b->open_columns, number(e, keys - 1)), keys));
        if (all == 1 || (!low && !high) || b->by_elements)
                return;
        struct loop_expr *first = b->first,
                         *end = minimum(e, plus(e, b->first, number(e, b->t.rows)),
                                        number(e, rows_of(b)));
        /* The mask repeats: a block that crosses its end needs the keys of all rows. */
        if (b->band.rows < rows_of(b)) {
                struct loop_expr *last = emit_let(e, "last_row", minus(e, end, number(e, 1)));
                struct loop_expr *within =
                        emit_op(e, LOOP_EQ, emit_op_int(e, LOOP_DIV, first, b->band.rows),
                                emit_op_int(e, LOOP_DIV, last, b->band.rows));
                within = emit_let(e, "within", within);
                first = emit_let(e, "band_from",
                                 loop_op(e->arena, LOOP_SELECT, within,
                                         emit_op_int(e, LOOP_REM, first, b->band.rows),
                                         number(e, 0)));
                end = plus(e, emit_op_int(e, LOOP_REM, last, b->band.rows), number(e, 1));
                end = emit_let(
                        e, "band_to",
                        loop_op(e->arena, LOOP_SELECT, within, end, number(e, b->band.rows)));
        }
        if (low) {
                struct loop_expr *least =
                        maximum(e, plus(e, first, number(e, b->band.low)), number(e, 0));
                *from = emit_let(e, "from_iteration",
                                 minimum(e, emit_op_int(e, LOOP_DIV, least, keys), number(e, all)));
        }
        if (high) {
                struct loop_expr *most =
                        maximum(e, plus(e, end, number(e, b->band.high + keys - 1)), number(e, 0));
                *to = emit_let(e, "to_iteration",
                               minimum(e, emit_op_int(e, LOOP_DIV, most, keys), number(e, all)));
        }
}

static void begin_block(struct block *b, struct loop_expr *from, struct loop_expr *to)
{
        struct emit *e = b->e;
        begin_warps(b);
        attention_copy_queries(b);
        emit_if(e, emit_op(e, LOOP_LT, from, to));
        attention_copy_keys(b, from);
        if (!is_alone(b))
                attention_copy_values(b, from);
        emit_end(e);
        if (!is_alone(b))
                attention_begin_rows(b);
        emit_end(e);
        add(b, STMT_COMMIT);
        if (is_alone(b)) {
                begin_warps(b);
                attention_copy_values(b, from);
                emit_end(e);
                add(b, STMT_COMMIT);
        }
        add(b, STMT_WAIT)->code = is_alone(b);
}

struct loop_variable *attention_new_tile(struct block *b, const char *name, int outputs)
{
        struct loop_type type = LOOP_VECTOR(E_F32, b->t.lanes);
        type.tile = true;
        struct loop_variable *v = emit_var(b->e, name, type, NULL);
        v->rows = rows_of_warp(b);
        v->columns = outputs / b->t.lanes;
        v->warps = attention_tile_warps(&b->t);
        return v;
}

static void write_iterations(struct block *b, struct loop_expr *from, struct loop_expr *to)
{
        struct emit *e = b->e;
        const struct attention_tile *t = &b->t;
        b->number = emit_for(e, "iteration", from, to);
        b->tile = attention_new_tile(b, "tile", t->keys);
        begin_warps(b);
        if (!is_alone(b)) {
                struct loop_expr *next = emit_let(e, "next", plus(e, b->number, number(e, 1)));
                emit_if(e, emit_op(e, LOOP_LT, next, to));
                attention_copy_keys(b, next);
                attention_copy_values(b, next);
                emit_end(e);
        }
        b->key_at = times(e, b->number, attention_tile_keys(t));
        if (t->parts > 1)
                b->key_at = plus(e, b->key_at, times(e, part_of_warp(b), t->keys));
        b->key_at = emit_let(e, "first_key", b->key_at);
        multiply_keys(b);
        attention_scores(b);
        attention_shares(b);
        attention_rows(b);
        if (!is_alone(b))
                on_tile(b, STMT_SCALE, b->acc, b->factor, first_of_warp(b));
        if (is_alone(b)) {
                emit_end(e);
                add(b, STMT_WAIT);
                begin_warps(b);
        }
        multiply_values(b);
        if (is_alone(b) && t->parts > 1)
                attention_leave_part(b);
        emit_end(e);
        if (!is_alone(b))
                wait_for_all(b);
        emit_end(e);
        if (!is_alone(b) && t->parts > 1) {
                begin_warps(b);
                attention_leave_part(b);
                emit_end(e);
        }
}

static struct loop_buffer *shared(struct block *b, const char *name, enum element element,
                                  int64_t extent)
{
        struct loop_buffer *s = ARENA_NEW(b->e->arena, struct loop_buffer);
        *s = (struct loop_buffer){ .name = emit_name(b->e, name),
                                   .element = element,
                                   .extent = extent,
                                   .space = SPACE_SHARED,
                                   .offset = -1,
                                   .access = ACCESS_INOUT };
        add(b, STMT_ALLOC)->buffer = s;
        return s;
}

static void find_memory(struct block *b)
{
        const struct attention_tile *t = &b->t;
        const enum element element = b->multiply->x.memory;
        b->qs = shared(b, "qs", element, t->rows * (t->warp_group ? t->depth : query_row(t)));
        b->stages = attention_tile_stages(t);
        const int64_t keys = (int64_t)b->stages * attention_tile_keys(t),
                      rows = (int64_t)t->rows * t->parts;
        b->ks = shared(b, "ks", element, keys * t->depth);
        b->vs = shared(b, "vs", element, keys * t->width);
        b->best = shared(b, "bests", E_F32, rows);
        b->sum = (struct emit_place){ .buffer = shared(b, "sums", E_F32, rows),
                                      .start = times(b->e, b->first, -1) };
        const struct type *sum = b->a.sum ? b->a.sum->type : NULL;
        int d = sum ? sum->rank - 1 : ROW;
        while (d > 0 && sum && dim_is(sum->dims[d], 1))
                d--;
        b->sum.stride[b->by_elements ? ROW : d] = 1;
        b->factor = is_alone(b) && t->parts == 1 ? NULL : shared(b, "factors", E_F32, rows);
        b->parts = shared(b, "parts", E_F32, rows * TILE_ROW_LANES);
        b->part_sums = shared(b, "part_sums", E_F32, rows * TILE_ROW_LANES);
        b->joined = t->parts > 1 ? shared(b, "joined", E_F32, rows * joined_row(t)) : NULL;
}

bool attention_warps_kernel(struct emit *e, const struct kernel_request *request,
                            const struct attention *a, struct loop_buffer *buffer)
{
        struct block b = { .e = e, .a = *a, .result = buffer };
        const struct target *target = e->options->target;
        const struct schedule_grid *words = schedule_grid(a->second->schedule);
        b.by_elements = a->first->code == OP_dot;
        if (!words || request->result_count != 1 || (!a->sum && !(b.by_elements && a->powers)) ||
            !attention_tile_of(a, target, words, &b.t) ||
            (!b.by_elements && !attention_operands(&b, request->region)))
                return false;
        const struct type *scores = a->scores->type;
        b.open_rows = dim_is_static(scores->dims[ROW])
                              ? NULL
                              : emit_dim_in_scalars(e, scores->dims[ROW]);
        b.open_columns = dim_is_static(scores->dims[COLUMN])
                                 ? NULL
                                 : emit_dim_in_scalars(e, scores->dims[COLUMN]);
        b.multiply = attention_tile_multiply(a, target, &b.t);
        b.band = attention_band(a);
        b.query = b.by_elements ? NULL : emit_parameter(e, b.q.value);
        b.key = b.by_elements ? NULL : emit_parameter(e, b.k.value);
        b.value = b.by_elements ? NULL : emit_parameter(e, b.v.value);
        for (const struct op *op = request->region->first; op != request->region->last;
             op = op->next)
                /* Indices are not merged, because the places of lanes need one per dimension. */
                emit_local(e, op_result(op))->splits = ~0u;
        const int64_t groups = type_extent(scores, GROUP), images = type_extent(scores, 0);
        struct loop_expr *down = b.open_rows
                                         ? emit_op_int(e, LOOP_DIV,
                                                       plus(e, b.open_rows,
                                                            number(e, b.t.rows - 1)),
                                                       b.t.rows)
                                         : number(e, divide_up(rows_of(&b), b.t.rows));
        struct loop_expr *block = emit_grid_open(e, "b", FOR_GPU_BLOCK,
                                                 times(e, down, groups * images)),
                         *from, *to;
        struct loop_expr *iteration = emit_op(e, LOOP_REM, block, down);
        /* Blocks whose rows see the most keys come first, so that the last wave is short. */
        if (!b.open_rows && b.band.high < columns_of(&b) - 1)
                iteration = minus(e, minus(e, down, number(e, 1)), iteration);
        b.first = emit_let(e, "first", times(e, iteration, b.t.rows));
        b.group = emit_let(e, "group", emit_op(e, LOOP_DIV, block, down));
        b.image = number(e, 0);
        if (images > 1) {
                b.image = emit_let(e, "image", emit_op_int(e, LOOP_DIV, b.group, groups));
                b.group = emit_let(e, "group", emit_op_int(e, LOOP_REM, b.group, groups));
        }
        b.acc = attention_new_tile(&b, "acc", b.t.width);
        find_memory(&b);
        find_iterations(&b, &from, &to);
        if (b.t.warp_group) {
                attention_group_iterations(&b, from, to);
        } else {
                begin_block(&b, from, to);
                write_iterations(&b, from, to);
        }
        attention_results(&b);
        emit_end(e);
        return warps_move_values_in(e->scope->block) && !e->failed;
}
