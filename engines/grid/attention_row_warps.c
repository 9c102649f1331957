/* SPDX-License-Identifier: MIT */
/* Writes attention of few rows, as in a decoder's step: a block of the grid computes a row of a
 * group (a head). Each warp has keys of its own, four of them in an iteration:
 *
 *      keys         iteration 0  w0 w0 w0 w0 w1 w1 w1 w1 ..
 *                   iteration 1  w0 w0 w0 w0 w1 ..
 *      scores       a lane a key; then the warp's largest score and its shares e^(score - largest)
 *      values       a lane a channel: shares times values of the warp's keys
 *
 * KEY_LANES lanes share a key: each loads words of 16 bytes of it from memory into registers, and
 * the partial scores are added up through shared memory.
 *
 * Warps meet when all values have been copied, and when they have their sums: a factor brings each
 * warp's sums to the largest score of all, and they are added up in order.
 *
 * If there are many keys, a warp has those of some iterations in registers at a time, and `parts`
 * blocks have a share of the keys each, if they can be a cluster: each stores its largest score,
 * the sum of its shares and its products in distributed shared memory, and each combines all parts
 * for a share of the channels, scaled by e^(a part's largest score - the largest of all) (Dao et
 * al., "Flash-Decoding for long-context inference", 2023).
 *
 * Values are copied into shared memory while scores are computed, if all of them fit; otherwise
 * they are read from memory. Nothing is packed or rounded, because the kernel reads a cache of keys
 * and values once, which takes most of its time. A cache may be a concatenation of an old and a new
 * part: each key is read where it lies; if the whole cache is a result of the model, the block of
 * the group's first row also stores it. */
#include "engines/grid/grid_engine.h"
#include "engines/grid/attention_row_block.h"

#include <float.h>
#include <math.h>

/* ---- what fits ---- */

/* share_of returns the keys of a block; part_of returns the elements of its part of distributed
 * shared memory: products, the largest score, and the sum of shares. */
static int64_t share_of(const struct attention *a, const struct schedule_grid *s)
{
        return divide_up(columns_of(a), s->parts);
}
static int64_t part_of(const struct attention *a)
{
        return round_up(width_of(a) + 2, STORAGE_ALIGN / 4);
}

struct row_iterations attention_row_iterations(const struct attention *a,
                                               const struct schedule_grid *s)
{
        const int64_t all = divide_up(share_of(a, s), (int64_t)ITERATION_KEYS * s->warps),
                      room = WORDS_MOST / words_of(a);
        const int64_t times = divide_up(all, room < ITERATIONS_MOST ? room : ITERATIONS_MOST);
        return (struct row_iterations){ all, divide_up(all, times), times };
}

/* Returns the keys that a warp has room for; there may be fewer keys. */
static int64_t own_keys(const struct row_iterations *t)
{
        return t->some * t->times * ITERATION_KEYS;
}

/* Returns the bytes of shared memory of a block, without those for values. */
static int64_t shared_of(const struct attention *a, const struct schedule_grid *s)
{
        enum { ALLOCATIONS = 10, ALIGN = 128 };
        const struct row_iterations t = attention_row_iterations(a, s);
        const int64_t of_warp =
                2 * own_keys(&t) + KEY_LANES * DOTS + GRID_LANES + width_of(a) + 2 + s->warps;
        return 4 * (s->warps * of_warp + (s->parts > 1 ? part_of(a) : 0)) + ALLOCATIONS * ALIGN;
}

bool attention_row_fits(const struct attention *a, const struct target *target,
                        const struct schedule_grid *s)
{
        const struct type *k = op_operand(a->first, 1)->type;
        return a->first->code == OP_dot && a->second->code == OP_dot && a->sum &&
               k->element == E_F32 && a->shares == a->multiplied &&
               type_extent(a->scores->type, ROW) <= ROWS_MOST &&
               depth_of(a) % (KEY_LANES * WORD) == 0 && depth_of(a) <= CHANNELS_MOST &&
               width_of(a) <= CHANNELS_MOST && s->warps <= GRID_WARPS_MAX &&
               (s->parts == 1 || (s->parts <= target_gpu(target)->cluster &&
                                  share_of(a, s) * (s->parts - 1) < columns_of(a))) &&
               shared_of(a, s) <= target_gpu(target)->shared_bytes;
}

/* ---- a block ---- */

static struct loop_expr *call(struct block *b, const char *function, struct loop_expr *const *args)
{
        return loop_call(b->e->arena, loop_library_find(b->e->library, function, E_F32), args);
}

/* Returns e^x for x <= 0. */
static struct loop_expr *exponential(struct block *b, struct loop_expr *x)
{
        return call(b, "exp_negative", &x);
}

static struct loop_expr *larger(struct block *b, struct loop_expr *x, struct loop_expr *y)
{
        return call(b, "larger", (struct loop_expr *const[]){ x, y });
}

static struct loop_expr *multiply_add(struct block *b, struct loop_expr *x, struct loop_expr *y,
                                      struct loop_expr *sum)
{
        return sum ? loop_op(b->e->arena, LOOP_FMA, x, y, sum) : emit_op(b->e, LOOP_MUL, x, y);
}

static struct loop_buffer *memory(struct block *b, enum loop_space space, const char *name,
                                  int64_t extent)
{
        struct loop_buffer *s = ARENA_NEW(b->e->arena, struct loop_buffer);
        *s = (struct loop_buffer){ .name = emit_name(b->e, name),
                                   .element = E_F32,
                                   .extent = extent,
                                   .space = space,
                                   .offset = -1,
                                   .access = ACCESS_INOUT };
        add(b, STMT_ALLOC)->buffer = s;
        return s;
}

static struct loop_buffer *shared(struct block *b, const char *name, int64_t extent)
{
        return memory(b, SPACE_SHARED, name, extent);
}

/* ---- scores and shares ---- */

/* Returns where in shared memory the warp's scores, and later its shares, begin. */
static struct loop_expr *keys_at(struct block *b, struct loop_expr *warp)
{
        return times(b->e, warp, own_keys(&b->iterations));
}

/* Computes the partial scores that lanes find for the keys of round `some` of iterations. */
static void multiply_keys(struct block *b, struct loop_expr *warp, struct loop_expr *some)
{
        struct emit *e = b->e;
        const int64_t words = words_of(b->a);
        struct loop_expr *query[CHANNELS_MOST / KEY_LANES],
                *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES);
        struct loop_expr *of_iteration = emit_let(e, "of_iteration",
                                                  emit_op_int(e, LOOP_DIV, lane, KEY_LANES)),
                         *of_key = emit_let(e, "of_key", emit_op_int(e, LOOP_REM, lane, KEY_LANES));
        const struct lane_keys k = {
                memory(b, SPACE_STACK, "keys", word_at(b, b->iterations.some, 0)),
                times(e, some, b->iterations.some), emit_let(e, "channel", times(e, of_key, WORD)),
                emit_let(e, "at", plus(e, times(e, warp, ITERATION_KEYS), of_iteration))
        };
        row_load_keys(b, &k);
        for (int w = 0; w < words * WORD; w++)
                query[w] = emit_let(e, "query",
                                    load(b, b->query,
                                         plus(e, row_at(b, &b->q, b->row),
                                              channel_at(b, &k, w / WORD, w % WORD))));
        if (b->vs) {                    /* Values may arrive later. */
                const bool once = b->iterations.times > 1;
                if (once)
                        emit_if(e, less(b, some, 1));
                row_copy_values(b, thread(b, warp, lane));
                end_scopes(b, once);
        }
        struct loop_expr *i = emit_grid(e, "i", FOR_UNROLL, b->iterations.some), *dot = NULL;
        for (int w = 0; w < words * WORD; w++)
                dot = multiply_add(
                        b, query[w],
                        load(b, k.words, plus(e, times(e, i, word_at(b, 1, 0)), number(e, w))),
                        dot);
        emit_store(
                e, b->dots,
                plus(e, times(e, of_key, DOTS), plus(e, times(e, i, ITERATION_KEYS), of_iteration)),
                dot);
        emit_end(e);
        row_store_keys(b, &k);
        emit_end(e);
}

/* Adds up the score of a lane's key; a lane after the last key gets -infinity. */
static void write_score(struct block *b, struct loop_expr *warp, struct loop_expr *some)
{
        struct emit *e = b->e;
        const int64_t keys = b->iterations.some * ITERATION_KEYS;
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, keys), *sums[KEY_LANES];
        struct loop_expr *iteration = plus(e, times(e, some, b->iterations.some),
                                           emit_op_int(e, LOOP_DIV, lane, ITERATION_KEYS));
        struct loop_expr *own = emit_let(
                                 e, "own",
                                 own_at(b, iteration,
                                        plus(e, times(e, warp, ITERATION_KEYS),
                                             emit_op_int(e, LOOP_REM, lane, ITERATION_KEYS)))),
                         *key = key_of(b, own);
        struct loop_variable *score =
                emit_var(e, "score", LOOP_TYPE(E_F32), float_number(b, -INFINITY));
        int opened = 0;
        if (b->iterations.some * b->iterations.times * iteration_keys(b) > b->share)
                opened++, emit_if(e, less(b, own, b->share));
        if (b->parts * b->share > columns_of(b->a))
                opened++, emit_if(e, less(b, key, columns_of(b->a)));
        for (int i = 0; i < KEY_LANES; i++)
                sums[i] = load(b, b->dots, plus(e, lane, number(e, (int64_t)i * DOTS)));
        for (int half = KEY_LANES / 2; half; half /= 2)
                for (int i = 0; i < half; i++)
                        sums[i] = plus(e, sums[i], sums[i + half]);
        struct loop_expr *index[RANK] = { number(e, 0), b->group, b->row, key };
        struct loop_stmt *let = add(b, STMT_LET);
        let->a = sums[0];
        let->variable =
                loop_variable_new(e->arena, emit_name(e, "dot"), LOOP_TYPE(E_F32), VARIABLE_LET);
        let->variable->number = e->scope->depth;
        emit_define(e, op_result(b->a->first), index, let->variable);
        emit_set(e, score, emit_element(e, b->a->scores, index));
        end_scopes(b, opened);
        emit_store(e, b->scores, plus(e, keys_at(b, warp), plus(e, times(e, some, keys), lane)),
                   loop_use(e->arena, score));
        emit_end(e);
}

/* Returns a let of the largest of `count` scores, which is finite even if all are -infinity. It may
 * miss a NaN, which then is in its key's share and in the sum of shares. */
static struct loop_expr *largest(struct block *b, struct loop_buffer *of, struct loop_expr *from,
                                 int64_t count)
{
        struct loop_expr *all[GRID_LANES];
        for (int i = 0; i < count; i++)
                all[i] = emit_let(b->e, "one", load(b, of, plus(b->e, from, number(b->e, i))));
        for (int64_t step = 1; step < count; step *= 2)
                for (int64_t i = 0; i + step < count; i += 2 * step)
                        all[i] = larger(b, all[i], all[i + step]);
        return emit_let(b->e, "best", larger(b, all[0], float_number(b, -FLT_MAX)));
}

/* Makes shares of the warp's scores, relative to its largest score. */
static void write_shares(struct block *b, struct loop_expr *warp)
{
        struct emit *e = b->e;
        const int64_t keys = own_keys(&b->iterations),
                      lanes = keys < GRID_LANES ? keys : GRID_LANES, each = divide_up(keys, lanes);
        const bool some = keys % lanes != 0;
        struct loop_buffer *most = each > 1 ? memory(b, SPACE_STACK, "most", lanes) : NULL;
        struct loop_expr *lane, *at;
        if (most) {                     /* A lane first finds the largest of its own scores. */
                lane = emit_grid(e, "lane", FOR_GPU_LANE, lanes);
                struct loop_variable *one =
                        emit_var(e, "one", LOOP_TYPE(E_F32), float_number(b, -FLT_MAX));
                at = plus(e, times(e, emit_for(e, "i", number(e, 0), number(e, each)), lanes),
                          lane);
                if (some)
                        emit_if(e, less(b, at, keys));
                emit_set(e, one,
                         larger(b, loop_use(e->arena, one),
                                load(b, b->scores, plus(e, keys_at(b, warp), at))));
                end_scopes(b, 1 + some);
                emit_store(e, most, lane, loop_use(e->arena, one));
                emit_end(e);
        }
        lane = emit_grid(e, "lane", FOR_GPU_LANE, lanes);
        struct loop_expr *best = most ? largest(b, most, number(e, 0), lanes)
                                      : largest(b, b->scores, keys_at(b, warp), lanes);
        at = plus(e, times(e, emit_for(e, "i", number(e, 0), number(e, each)), lanes), lane);
        if (some)
                emit_if(e, less(b, at, keys));
        at = emit_let(e, "at", plus(e, keys_at(b, warp), at));
        emit_store(e, b->shares, at, exponential(b, minus(e, load(b, b->scores, at), best)));
        end_scopes(b, 1 + some);
        emit_if(e, less(b, lane, 1));
        emit_store(e, b->bests, warp, best);
        end_scopes(b, 2);
}

/* ---- sums ---- */

/* Lets one lane store a value at number `at` of the block's part of distributed shared memory. */
static void leave(struct block *b, struct loop_expr *own, int64_t at, struct loop_expr *value)
{
        struct emit *e = b->e;
        emit_if(e, less(b, own, 1));
        emit_store(e, b->partial, plus(e, times(e, b->part, part_of(b->a)), number(e, at)), value);
        emit_end(e);
}

/* Lets each warp multiply the shares of its keys by their values, a lane a channel. */
static void add_values(struct block *b, struct loop_expr *warp)
{
        struct emit *e = b->e;
        const int64_t width = width_of(b->a), parts = divide_up(width, GRID_LANES);
        const struct cache here = row_as_whole(b, b->vs, width, true),
                           *values = b->vs ? &here : &b->values;
        struct span spans[SPANS_MOST];
        struct loop_variable *sums[CHANNELS_MOST / GRID_LANES];
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES),
                         *shares[ITERATION_KEYS];
        struct loop_variable *sum = emit_var(e, "sum", LOOP_TYPE(E_F32), float_number(b, 0));
        for (int i = 0; i < parts; i++)
                sums[i] = emit_var(e, "product", LOOP_TYPE(E_F32), float_number(b, 0));
        for (int n = 0, count = row_spans(values, iteration_keys(b), 1, b->iterations.all,
                                          b->parts == 1, spans);
             n < count; n++) {
                struct loop_expr *iteration = plus(e,
                                                   emit_for(e, "iteration", number(e, 0),
                                                            number(e, spans[n].to - spans[n].from)),
                                                   number(e, spans[n].from));
                for (int k = 0; k < ITERATION_KEYS; k++)
                        shares[k] = emit_let(e, "share",
                                             load(b, b->shares,
                                                  plus(e, keys_at(b, warp),
                                                       plus(e, times(e, iteration, ITERATION_KEYS),
                                                            number(e, k)))));
                for (int k = 0; k < ITERATION_KEYS; k++) {
                        struct loop_expr *own = emit_let(
                                                 e, "own",
                                                 own_at(b, iteration,
                                                        plus(e, times(e, warp, ITERATION_KEYS),
                                                             number(e, k)))),
                                         *key = key_of(b, own);
                        const int opened = row_open_key(b, &spans[n], own, key);
                        struct loop_expr *from = row_column_at(b, spans[n].of, b->vs ? own : key);
                        emit_set(e, sum, plus(e, loop_use(e->arena, sum), shares[k]));
                        for (int i = 0; i < parts; i++) {
                                struct loop_expr *d =
                                        plus(e, lane, number(e, (int64_t)i * GRID_LANES));
                                const bool some = (i + 1) * GRID_LANES > width;
                                if (some)
                                        emit_if(e, less(b, d, width));
                                emit_set(e, sums[i],
                                         multiply_add(b, shares[k],
                                                      load(b, b->vs ? b->vs : spans[n].of->from,
                                                           plus(e, from, d)),
                                                      loop_use(e->arena, sums[i])));
                                end_scopes(b, some);
                        }
                        end_scopes(b, opened);
                }
                emit_end(e);
        }
        for (int i = 0; i < parts; i++) {
                struct loop_expr *d = plus(e, lane, number(e, (int64_t)i * GRID_LANES));
                const bool some = (i + 1) * GRID_LANES > width;
                if (some)
                        emit_if(e, less(b, d, width));
                emit_store(e, b->products, plus(e, times(e, warp, width), d),
                           loop_use(e->arena, sums[i]));
                end_scopes(b, some);
        }
        emit_if(e, less(b, lane, 1));
        emit_store(e, b->sums, warp, loop_use(e->arena, sum));
        end_scopes(b, 2);
}

/* Computes the sums that each warp makes by itself. */
static void write_products(struct block *b)
{
        struct emit *e = b->e;
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, b->warps);
        b->dots = memory(b, SPACE_STACK, "dots", KEY_LANES * DOTS);
        struct loop_expr *some = emit_for(e, "some", number(e, 0), number(e, b->iterations.times));
        multiply_keys(b, warp, some);
        write_score(b, warp, some);
        emit_end(e);
        write_shares(b, warp);
        if (b->vs) {
                emit_end(e);
                add(b, STMT_COMMIT);
                add(b, STMT_WAIT);
                warp = emit_grid(e, "warp", FOR_GPU_WARP, b->warps);
        }
        add_values(b, warp);
        emit_end(e);
}

/* Stores channel d of the result: the sum of all products over the sum of all shares, through the
 * fusion. */
static void write_result(struct block *b, struct loop_expr *d, struct loop_expr *all,
                         struct loop_expr *sum)
{
        struct emit *e = b->e;
        const struct access *y = &b->a->y;
        struct loop_expr *index[RANK] = { number(e, 0), b->group, b->row, d }, *of_sum[RANK_MAX];
        struct value *const values[] = { op_result(b->a->second), b->a->sum };
        struct loop_expr *const made[] = { all, sum };
        const struct type *t = b->a->sum->type;
        emit_reindex(e, 2,
                     (dim_t[]){ b->a->scores->type->dims[GROUP], b->a->scores->type->dims[ROW] },
                     index + GROUP, t->rank, t->dims, of_sum);
        for (int k = 0; k < 2; k++) {
                struct loop_stmt *let = add(b, STMT_LET);
                let->a = made[k];
                let->variable = loop_variable_new(e->arena, emit_name(e, k ? "shares" : "product"),
                                                  LOOP_TYPE(E_F32), VARIABLE_LET);
                let->variable->number = e->scope->depth;
                emit_define(e, values[k], k ? of_sum : index, let->variable);
        }
        const struct emit_place to = { .buffer = b->result,
                                       .start = number(e, y->offset),
                                       .stride = { 0, y->stride[GROUP], y->stride[ROW],
                                                   y->stride[COLUMN] } };
        emit_store(e, b->result, emit_at(e, &to, RANK, index),
                   emit_element(e, b->a->result, index));
}

/* Clamps channel d to the existing channels, so that bounds show that it lies in one block's part
 * of distributed shared memory. */
static struct loop_expr *channel_of(struct block *b, struct loop_expr *d)
{
        return minimum(b->e, d, number(b->e, width_of(b->a) - 1));
}

/* Returns the sum over the warps, in order, of a factor times an element of each warp; the elements
 * are `step` apart. */
static struct loop_expr *of_warps(struct block *b, struct loop_expr *const *factors,
                                  struct loop_buffer *from, struct loop_expr *at, int64_t step)
{
        struct loop_expr *all = NULL;
        for (int k = 0; k < b->warps; k++)
                all = multiply_add(b, factors[k],
                                   load(b, from, plus(b->e, at, number(b->e, k * step))), all);
        return all;
}

/* Combines the sums of the warps, relative to the largest score of all: the result, or the block's
 * part of it, a lane a channel. */
static void write_results(struct block *b)
{
        struct emit *e = b->e;
        const int64_t width = width_of(b->a);
        struct loop_expr *factors[GRID_WARPS_MAX],
                *warp = emit_grid(e, "warp", FOR_GPU_WARP, b->warps);
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, b->warps),
                         *best = largest(b, b->bests, number(e, 0), b->warps);
        emit_store(e, b->factors, plus(e, times(e, warp, b->warps), lane),
                   exponential(b, minus(e, load(b, b->bests, lane), best)));
        if (b->parts > 1)
                leave(b, thread(b, warp, lane), width, best);
        emit_end(e);
        struct loop_expr *own = thread(b, warp, emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES));
        for (int k = 0; k < b->warps; k++)
                factors[k] = emit_let(
                        e, "factor",
                        load(b, b->factors, plus(e, times(e, warp, b->warps), number(e, k))));
        struct loop_expr *sum =
                emit_let(e, "shares", of_warps(b, factors, b->sums, number(e, 0), 1));
        if (b->parts > 1)
                leave(b, own, width + 1, sum);
        struct loop_expr *i =
                emit_for(e, "i", number(e, 0), number(e, divide_up(width, lanes_of(b))));
        struct loop_expr *d = emit_let(e, "d", plus(e, times(e, i, lanes_of(b)), own));
        emit_if(e, less(b, d, width));
        struct loop_expr *all = of_warps(b, factors, b->products, d, width);
        if (b->parts > 1)
                emit_store(e, b->partial,
                           plus(e, times(e, b->part, part_of(b->a)), channel_of(b, d)), all);
        else
                write_result(b, d, all, sum);
        end_scopes(b, 3);
        row_store_values(b, warp);      /* Most warps are idle here, so they store the cache of
                                         * values. */
        emit_end(e);
}

/* Returns the value that part k stored at `at`. */
static struct loop_expr *left_by(struct block *b, int k, struct loop_expr *at)
{
        return load(b, b->partial, plus(b->e, number(b->e, k * part_of(b->a)), at));
}

/* Combines all parts, in order, for the block's share of the channels. */
static void join_parts(struct block *b, struct loop_expr *share)
{
        struct emit *e = b->e;
        const int64_t width = width_of(b->a), each = divide_up(width, b->parts);
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, b->warps);
        struct loop_expr *own = thread(b, warp, emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES));
        struct loop_expr *i =
                emit_for(e, "i", number(e, 0), number(e, divide_up(each, lanes_of(b))));
        struct loop_expr *within = emit_let(e, "within", plus(e, times(e, i, lanes_of(b)), own));
        struct loop_expr *d = emit_let(e, "d", plus(e, times(e, share, each), within));
        emit_if(e, emit_op(e, LOOP_AND, less(b, within, each), less(b, d, width)));
        struct loop_expr *bests[GRID_CLUSTER_MAX], *best = NULL, *all = NULL, *sum = NULL;
        for (int k = 0; k < b->parts; k++) {
                bests[k] = emit_let(e, "best", left_by(b, k, number(e, width)));
                best = k ? emit_op(e, LOOP_MAX, best, bests[k]) : bests[k];
        }
        best = emit_let(e, "best", best);
        for (int k = 0; k < b->parts; k++) {
                struct loop_expr *factor =
                        emit_let(e, "factor", exponential(b, minus(e, bests[k], best)));
                struct loop_expr *product = emit_op(e, LOOP_MUL, factor,
                                                    left_by(b, k, channel_of(b, d))),
                                 *shares = emit_op(e, LOOP_MUL, factor,
                                                   left_by(b, k, number(e, width + 1)));
                all = k ? plus(e, all, product) : product;
                sum = k ? plus(e, sum, shares) : shares;
        }
        write_result(b, d, all, sum);
        end_scopes(b, 4);
}

/* ---- the kernel ---- */

/* Allocates shared memory, for values only if all find room. */
static void share(struct block *b, const struct schedule_grid *s)
{
        const struct attention *a = b->a;
        const int64_t values = b->share * width_of(a);
        if (row_are_words(&b->values, width_of(a)) &&
            4 * values + shared_of(a, s) <= target_gpu(b->e->options->target)->shared_bytes)
                b->vs = shared(b, "vs", values);
        b->scores = shared(b, "scores", b->warps * own_keys(&b->iterations));
        b->shares = shared(b, "shares", b->warps * own_keys(&b->iterations));
        b->bests = shared(b, "bests", b->warps);
        b->sums = shared(b, "sums", b->warps);
        b->products = shared(b, "products", b->warps * width_of(a));
        b->factors = shared(b, "factors", b->warps * b->warps);
}

/* Opens the loops over blocks, or over clusters and their blocks; returns the number of the row
 * among those of all groups. */
static struct loop_expr *open_block(struct block *b)
{
        struct emit *e = b->e;
        const int64_t all =
                type_extent(b->a->scores->type, ROW) * type_extent(b->a->scores->type, GROUP);
        b->first = number(e, 0);
        if (b->parts == 1)
                return emit_grid(e, "b", FOR_GPU_BLOCK, all);
        struct loop_expr *cluster = emit_grid(e, "c", FOR_GPU_CLUSTER, all);
        b->partial = shared(b, "partial", b->parts * part_of(b->a));
        b->partial->space = SPACE_CLUSTER;
        b->part = emit_grid(e, "part", FOR_GPU_BLOCK, b->parts);
        b->first = emit_let(e, "first", times(e, b->part, b->share));
        return cluster;
}

static void place_block(struct block *b, struct loop_expr *block)
{
        struct emit *e = b->e;
        const int64_t rows = type_extent(b->a->scores->type, ROW),
                      groups = type_extent(b->a->scores->type, GROUP);
        b->row = rows > 1 ? emit_let(e, "r", emit_op_int(e, LOOP_REM, block, rows)) : number(e, 0);
        b->group = groups == 1 ? number(e, 0)
                   : rows > 1  ? emit_let(e, "group", emit_op_int(e, LOOP_DIV, block, rows))
                               : block;
}

bool attention_rows_kernel(struct emit *e, const struct kernel_request *request,
                           const struct attention *a, struct loop_buffer *buffer)
{
        struct block b = { .e = e, .a = a, .result = buffer };
        const struct schedule_grid *s = schedule_grid(a->second->schedule);
        struct value *keys = op_operand(a->first, 1), *values = op_operand(a->second, 1);
        if (!s || !attention_row_fits(a, e->options->target, s) ||
            !access_read(request->region, op_operand(a->first, 0), &b.q) || b.q.stride[COLUMN] != 1)
                return false;
        b.query = emit_parameter(e, b.q.value);
        if (!row_find_cache(&b, request, keys, &b.keys) ||
            !row_find_cache(&b, request, values, &b.values))
                return false;
        for (int i = 1; i < request->result_count; i++)
                if (request->results[i] != keys && request->results[i] != values)
                        return false;
        if (keys == values)
                b.values.whole = NULL;
        b.warps = s->warps;
        b.parts = s->parts;
        b.share = share_of(a, s);
        b.iterations = attention_row_iterations(a, s);
        for (const struct op *op = request->region->first; op != request->region->last;
             op = op->next)
                emit_local(e, op_result(op))->splits = ~0u;
        struct loop_expr *block = open_block(&b);
        place_block(&b, block);
        share(&b, s);
        if (b.values.whole && !b.vs)
                return false;
        write_products(&b);
        write_results(&b);
        emit_end(e);
        if (b.parts > 1) {
                struct loop_expr *share = emit_grid(e, "share", FOR_GPU_BLOCK, b.parts);
                place_block(&b, block);
                join_parts(&b, share);
                end_scopes(&b, 2);
        }
        return warps_move_values_in(e->scope->block) && !e->failed;
}
